"""What a reader has to know to judge a release, in the order of the questions of NIST SP 800-226.

Who is protected and how strongly, how far one person can move the numbers, by which mechanism, what was done to the
data by public rules, how good the numbers are, and what was done to them afterwards.  Everything is public.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from .. import exact, report
from ..plan.left_out import shown_name
from ..plan.plan import Plan, short
from ..question.cut import WHOLE
from ..question.query import Statistic, elementary
from ..question.schema import Schema
from ..version import __version__
from .legend import percent, protects
from .noise_marks import told
from .recorded import entries_text

if TYPE_CHECKING:
    from .result import Release

Facts = list[tuple[str, str]]

NOT_PROMISED = (
    "That the declared bounds, keys and the person column fit the data: they are declared by its owner.",
    "Protection from what is published elsewhere about the same people, or spent on a copy with another ledger.",
)

_RELATIONS = {
    "add_remove": "add or remove: two tables are neighbors if one has all rows of one more person",
    "change_one": "change one: two tables are neighbors if one person has other rows in one than in the other; how "
    "many people there are is not hidden",
}

_PAGES = {
    "P": "measure", "E": "measure", "R": "measure", "S": "sensitivity", "Q": "quantiles", "D": "tree", "G": "comparing",
    "U": "tables", "K": "discover", "M": "mechanism", "N": "noise", "L": "ledger", "W": "measure", "W3": "quantiles",
}  # fmt: skip


def claim_text(claim: str) -> str:
    """Return the number of a claim and the page with its proof."""
    page = _PAGES.get(claim, _PAGES.get(claim[:1]))
    return f"claim {claim}" if page is None else f"claim {claim} (docs/explanation/{page}.md)"


# --- the heading ---


def heading(names: list[str], keys: tuple[str, ...]) -> str:
    """Return what is published, as a title: "visits and cost by ward"."""
    shown = listed(names if len(names) <= _NAMED else [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"])
    return f"{shown} by {listed(list(keys))}" if keys else shown


_NAMED = 5
"""How many statistics a title names."""


def listed(words: list[str]) -> str:
    """Return "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


_WORDS = {
    "sum": "total of {}", "mean": "mean of {}", "variance": "variance of {}", "std": "standard deviation of {}",
    "histogram": "number of rows in each bin of {}", "cdf": "share of rows with {} below the end of each bin",
}  # fmt: skip
_LEVELS = {Fraction(0): "minimum of {}", Fraction(1, 2): "median of {}", Fraction(1): "maximum of {}"}


def words_of(plan: Plan, statistic: Statistic) -> str:
    """Say what a statistic is, and how it is shown."""
    times = "" if statistic.times == 1 else f", times {exact.text(statistic.times)}"
    rounded = "" if statistic.digits is None else f", rounded to {statistic.digits} digits after the point"
    return f"{_measured_words(plan, statistic)}{times}{rounded}"


def _measured_words(plan: Plan, statistic: Statistic) -> str:
    if statistic.parts:
        return " divided by the ".join(words_of(plan, part) for part in statistic.parts)
    column = plan.schema.columns.get(statistic.column or "")
    name = shown_name(str(statistic.value)) if statistic.column else ""
    unit = "" if column is None or column.unit is None else f", in {column.unit}"
    weight = "" if statistic.weight is None else f", weighted by {shown_name(statistic.weight_column or '')}"
    if statistic.kind == "people":
        return "number of people"
    if statistic.kind == "count":
        rows = "number of rows" if not name else f"number of rows with a value of {name}"
        return rows if plan.schema.person is None else f"{rows}, at most {plan.schema.rows_per_person:,} of each person"
    if statistic.kind == "proportion":
        return f"share of rows with {statistic.condition}{weight}"
    if statistic.level is not None:
        text = _LEVELS.get(statistic.level, f"quantile {exact.text(statistic.level)} of {{}}")
    else:
        text = _WORDS[statistic.kind]
    return text.replace("{}", name) + ("" if statistic.kind == "cdf" else unit) + weight


def meaning(schema: Schema, epsilon: Fraction) -> str:
    """Say what ε means for one person."""
    if not epsilon:
        return "Nothing was charged: the number of rows is public here."
    unit = "row" if schema.person is None else "person"
    change = (
        f"Whether the data of any one {unit} is in the table or not"
        if schema.neighbors == "add_remove"
        else f"Whatever the data of any one {unit} is"
    )
    times = math.exp(min(float(epsilon), 700.0))
    factor = f"{times:.3g}" if times < 1e4 else f"{times:,.0f}" if times < 1e9 else f"{times:.1e}"
    sentence = f"{change}, each possible outcome is as likely, up to a factor of e^ε = {factor}."
    most = 100 / (1 + math.exp(-min(float(epsilon), 700.0)))
    if most > _WEAK:
        return f"{sentence}  A factor as large as this promises little by itself."
    guess = "is in it" if schema.neighbors == "add_remove" else "has one of two given values"
    return (
        f"{sentence}  Someone who, before, thought it 50 % likely that a certain {unit} {guess} has reason to think it "
        f"at most {math.ceil(10 * most) / 10:.3g} % likely afterwards."
    )


_WEAK = 99.5


def numbers(release: Release) -> str:
    """Say which numbers have noise, and which of them have error bars."""
    exactly = release.plan.without_noise
    if len(exactly) == len(release.plan.query.statistics):
        return "The number is exact: it is public."
    bare = [each for each in release.columns if not each.get("interval", True)]
    bars = "; some have no error bars, and say so" if bare else f", and an error bar of {percent(release.confidence)}"
    if not exactly:
        return f"Every number has noise{bars}."
    return f"{without_noise(release.plan)}  Every other number has noise{bars}."


def without_noise(plan: Plan) -> str:
    """Say which numbers are exact, since they are public; nothing if all have noise."""
    names = [shown_name(each) for each in plan.without_noise]
    if not names:
        return ""
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'} exact: the number of rows is public here."


def privacy(release: Release) -> str:
    """Return ε and δ of a release."""
    return f"ε = {exact.text(release.epsilon)}, δ = 0"


# --- the questions ---


def protection(release: Release) -> Facts:
    """Return who is protected, how strongly, and what was spent in all."""
    plan, schema = release.plan, release.plan.schema
    found = [
        ("protects", protects(schema) + ("" if schema.person is None else ": the privacy unit is the person")),
        ("neighbors", _RELATIONS.get(schema.neighbors, schema.neighbors)),
        ("ε and δ", f"{privacy(release)}: pure differential privacy"),
    ]
    if release.entry is not None:
        budget = release.budget
        spent = "" if budget is None else f": ε = {exact.text(budget.spent)} of {exact.text(budget.total)} is spent"
        found.append(("composition", f"every release is charged to one ledger, and the sum of all ε is limited{spent}"))
    if len(plan.parts) > 1:
        shares = ", ".join(f"{part.measurement.name}: {short(part.epsilon)}" for part in plan.parts)
        found.append(("ε is split", shares))
    return found


def sensitivities(plan: Plan) -> list[list[str]]:
    """Return, for each statistic, what it is, how far one person moves its integers, the noise, and the claim."""
    return [
        [
            str(each.statistic.name),
            each.statistic.shown_text,
            short(each.sensitivity),
            short(each.scale) if plan.several is None else "by table",
            claim_text(each.claim),
        ]
        for each in plan.forecasts
    ]


SENSITIVITY_HEADS = ("name", "statistic", "sensitivity", "noise scale", "proof")


def mechanism(plan: Plan) -> Facts:
    """Return how noise was added, and what keeps it exact."""
    noise = (
        "integer Laplace noise (discrete Laplace, two-sided geometric), drawn exactly with cryptographic randomness "
        "(claims N1 and M1); it is added to exact integers before anything else is computed"
    )
    if any(each.level is not None for each in elementary(plan.query.statistics)):
        noise += "; quantiles are selected by permute-and-flip, with exact coins (claim Q1)"
    return [
        ("mechanism", noise),
        ("floating point", "every output lies on a public grid, whatever the data: there is no floating-point leak"),
        (
            "timing",
            "a draw takes the same steps whatever its size; how long a release takes is not hidden (SECURITY.md)",
        ),
    ]


def rules(release: Release) -> list[str]:
    """Return what was done to the data by public rules, a sentence each; how many rows it is about is private."""
    found = []
    for name in release.plan.bounded:
        column = release.plan.schema.columns[name]
        ends = " or above ".join(report.shown(_plain(each)) for each in (column.low, column.high) if each is not None)
        found.append(f"Clamped: values of {shown_name(name)} below {ends} count as these bounds.")
    return [*found, *map(str, release.plan.computed), *release.plan.not_counted]


def accuracy(release: Release) -> Facts:
    """Return what the error bars and marks mean."""
    bars = f"{percent(release.confidence)}{', for all cells at once' if release.simultaneous else ''}"
    return [
        ("error bars", f"{bars}: they cover the noise, and not errors that the data has already (claim R1)"),
        ("noise", told(release.plan.schema.noise_levels)),
    ]


def afterwards(release: Release) -> Facts:
    """Return what was computed from the noisy numbers, which costs no privacy."""
    found: Facts = []
    if release.evidence:
        found.append(
            ("combined", f"the noisy numbers of {entries_text(release.entries)}, by inverse variances (claim U9)")
        )
    if release.plan.several is not None:
        found.append(
            ("adding up", "all tables are computed from the same noisy numbers, and add up (claims U1 and U3)")
        )
    if release.view == "nonnegative":
        found.append(("not negative", "counts and sums that cannot be negative are at least 0: these are biased"))
    if release.suppress:
        found.append(("suppressed", "numbers whose noise is high or say nothing are left out"))
    if release.shown != WHOLE:
        cut = f"{len(release):,} of {release.plan.groups:,} groups: {release.shown.text}"
        found.append(("shown", cut))
    return found or [
        (
            "post-processing",
            "none beside the numbers and error bars above, which are computed from noisy integers alone (claim R1)",
        )
    ]


def record(release: Release) -> Facts:
    """Return where the release is recorded, and by what it was made."""
    schema = release.plan.schema
    found = [("source", schema.name)]
    found += [("version of the data", schema.version)] if schema.version is not None else []
    entries = [str(each) for each in release.entries]
    found.append(("ledger entry", listed(entries) if entries else "none: nothing was charged"))
    found += [("recorded", release.recorded_at)] if release.recorded_at is not None else []
    found += (
        [("chain head", f"{release.head} (hash of the ledger's last entry when this page was made)")]
        if release.head
        else []
    )
    return [*found, ("Lapwing", f"version {__version__}")]


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)
