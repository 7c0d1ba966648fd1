"""Releases and comparisons as HTML: one page that stands alone, and what a notebook shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..measure.measurement import Estimate
from ..pages import document as parts
from ..pages.numbers import KeyHead, NumberHead, NumberTable, Row, as_rows
from ..pages.paging import SCRIPT
from ..plan.naming import about_key
from ..plan.plan import Plan
from ..plan.weighing import cannot_be_negative
from ..question.cut import WHOLE
from . import account
from .columns import KeyColumn, total_name
from .legend import legend, percent
from .noise_marks import Marks, shown_range
from .recorded import entries_text

if TYPE_CHECKING:
    from .comparison import Comparison
    from .result import Release

PAGE_ROWS = 100
"""How many rows of a table are shown at once."""

STATIC_ROWS = 300
"""A table with no more rows than this is written as it is, without pages."""

MOST_EMBEDDED = 300_000
"""An answer with more groups than this is not in its page as a whole: a browser could not open it."""


class PageParts(NamedTuple):
    """What a page shows: heading, numbers, and what there is to say about them; and whether its script is needed."""

    title: str
    header: str
    numbers: list[str]
    about: list[str]
    paged: bool

    def document(self) -> str:
        """Return the page, which stands alone."""
        pieces = [self.header, *self.numbers, *self.about]
        return parts.document(self.title, *pieces, script=SCRIPT if self.paged else "")


def release_page(release: Release) -> str:
    """Return one self-contained page of a release: what is published, the numbers, and how people are protected."""
    return release_parts(release).document()


def release_parts(release: Release, most: int | None = None) -> PageParts:
    """Return what the page of a release shows; an answer with more groups than ``most`` is not in it as a whole."""
    names = [str(each.name) for each in release.plan.query.statistics]
    title = account.heading(names, release.keys)
    embedded = MOST_EMBEDDED if most is None else most
    found = release.to_dict() if len(release) <= embedded else _first(release)
    tables, settings = _tables(release, found["rows"])
    about = [
        _answers(release),
        parts.data("lapwing-release", found),
        *([parts.data("lapwing-tables", settings)] if settings["tables"] else []),
    ]
    numbers = [*tables, parts.paragraph(*legend(release.plan), *release.about)]
    heading = f"{title}: release from {release.plan.schema.name}"
    return PageParts(heading, _header(release, title), numbers, about, bool(settings["tables"]))


def _first(release: Release) -> dict[str, Any]:
    """Return the JSON of the first groups of an answer that is too large for a page."""
    few = release.cut(limit=STATIC_ROWS) if release.shown == WHOLE else release
    return few.to_dict()


def _header(release: Release, title: str) -> str:
    plan, schema = release.plan, release.plan.schema
    recorded = "" if release.recorded_at is None else f" · {release.recorded_at[:10]}"
    entry = f" · {entries_text(release.entries)} of the ledger" if release.entries else ""
    what = "; ".join(f"{each.name}: {account.words_of(plan, each)}" for each in plan.query.statistics)
    test = [] if release.private else ["NOT PRIVATE: made with noise for tests."]
    return parts.joined(
        [
            "<header>",
            parts.paragraph(f"Release from {schema.name}{recorded}{entry}", kind="kicker"),
            f"<h1>{parts.escaped(title)}</h1>",
            parts.paragraph(*test, kind="bad"),
            parts.paragraph(
                f"{account.privacy(release)}.  Protects {release.protects}.  {account.numbers(release)}",
                kind="lead",
            ),
            parts.paragraph(account.meaning(schema, release.epsilon)),
            parts.paragraph(f"{what}."),
            "</header>",
        ]
    )


# --- the numbers ---


def _tables(release: Release, rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], dict[str, Any]]:
    """Return the tables, and what the script has to know about those that are shown page by page."""
    pieces: list[str] = []
    listed: list[dict[str, Any]] = []
    ranges = _ranges(release, len(rows))
    for number, (name, first, last) in enumerate(ranges):
        identifier, paged = f"lapwing-table-{number}", last - first > STATIC_ROWS
        numbers = _numbers(release, name, rows[first:last], whole=len(ranges) == 1)
        if len(ranges) > 1:
            pieces.append(f"<h2>{parts.escaped(name)}</h2>")
        pieces.append(numbers.html(PAGE_ROWS if paged else None, identifier))
        if paged:
            pieces.append(_pager(identifier, last - first))
            place = {"id": identifier, "first": first, "last": last, "size": PAGE_ROWS, "outer": numbers.outer}
            keys = [each.name for each in numbers.keys]
            listed.append({**place, "keys": keys, "total": numbers.total, "statistics": numbers.settings()})
    if len(ranges) > 1:
        pieces.insert(0, parts.paragraph("The tables add up.  Each of them has axes of its own.", kind="quiet"))
    if len(rows) < len(release):
        pieces.append(
            parts.paragraph(f"The first {len(rows):,} of {len(release):,} groups; export all as CSV or Parquet.")
        )
    return pieces, {
        "large": _has_large(rows, [str(each.name) for each in release.plan.query.statistics]),
        "tables": listed,
    }


def _ranges(release: Release, rows: int) -> list[tuple[str, int, int]]:
    """Return the name, and the first and last row, of each of several tables; of all rows if they are mixed."""
    several = release.plan.several
    if several is None or len(release.tables) == 1 or release.shown != WHOLE or rows < len(release):
        return [(account.heading([str(each.name) for each in release.plan.query.statistics], release.keys), 0, rows)]
    starts = several.starts.tolist()
    names = [f"By {account.listed(list(table))}" if table else "Total" for table in release.tables]
    return list(zip(names, starts, starts[1:], strict=False))


def _numbers(release: Release, name: str, rows: Sequence[Mapping[str, Any]], *, whole: bool) -> NumberTable:
    """Return a table; one of several has only the columns of its own keys."""
    columns, plan = release.key_columns, release.plan
    if not whole:
        columns = [each for each in columns if rows[0][each.name] is not None]
    statistics = number_heads(release)
    keys = [each.name for each in columns]
    return NumberTable(
        f"{name}: {len(rows):,} group{'' if len(rows) == 1 else 's'}, in the published order",
        key_heads(plan, columns),
        statistics,
        as_rows(rows, keys, [each.name for each in statistics]),
        percent(release.confidence),
        outer_columns(columns),
        total_name(columns),
    )


def key_heads(plan: Plan, columns: Sequence[KeyColumn]) -> list[KeyHead]:
    """Return the heads of the columns of keys and labels."""
    return [KeyHead(each.name, about_key(plan, each.at).get("unit") if each.is_key else None) for each in columns]


def outer_columns(columns: Sequence[KeyColumn]) -> int:
    """Return how many columns belong to the first of several keys."""
    first = columns[0].at if columns else 0
    return sum(each.at == first for each in columns) if len({each.at for each in columns if each.is_key}) > 1 else 0


def number_heads(release: Release) -> list[NumberHead]:
    """Return the heads of the columns of numbers."""
    plan, found = release.plan, []
    described = {each["name"]: each for each in release.columns}
    for statistic in plan.query.statistics:
        name = str(statistic.name)
        low, high = shown_range(plan, statistic)
        if release.view == "nonnegative" and cannot_be_negative(plan, statistic):
            low = max(low, 0.0)
        about, bare = described[name], not described[name].get("interval", True)
        found.append(NumberHead(name, about.get("unit"), low, high, bare and name in release.adding_up, bare))
    return found


def _pager(identifier: str, rows: int) -> str:
    return (
        f'<div class="pager" id="{identifier}-pager"></div><noscript><p>This browser runs no scripts: the table shows '
        f"the first {PAGE_ROWS:,} of {rows:,} groups.  All of them are in the JSON at the end of this file, and in the "
        "CSV and Parquet files that Lapwing writes.</p></noscript>"
    )


_SAFE = 2**53


def _has_large(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bool:
    """Return whether there are integers that a browser does not read exactly by itself."""
    ends = ("value", "low", "high")
    return any(
        isinstance(row[name][end], int) and abs(row[name][end]) > _SAFE
        for row in rows
        for name in names
        for end in ends
    )


# --- the questions of NIST SP 800-226 ---


def _answers(release: Release) -> str:
    """Return how people are protected, what was done to the data, and how good the numbers are."""
    plan = release.plan
    rules = account.rules(release)
    asked = plan.whole.query.text
    promised = "".join(f"<br>{parts.escaped(line)}" for line in account.NOT_PROMISED)
    return parts.joined(
        [
            parts.section("Who is protected, and how strongly", parts.facts(account.protection(release))),
            parts.section(
                "How far one person can move the numbers",
                parts.table(
                    "Sensitivity: how far one person can move what is measured", account.SENSITIVITY_HEADS,
                    account.sensitivities(plan), (0, 1, 4),
                ),
                parts.facts(account.mechanism(plan)),
            ),
            parts.section(
                "What was done to the data, by public rules",
                "<ul>" + "".join(f"<li>{parts.escaped(each)}</li>" for each in rules) + "</ul>" if rules
                else parts.paragraph("Nothing is clamped, left out or weighted down."),
                parts.paragraph("How many rows or people a rule is about is private.", kind="quiet"),
            ),
            parts.section(
                "How large the noise is",
                parts.facts([*account.accuracy(release), *account.afterwards(release)]),
            ),
            parts.section(
                "The question, and where it is recorded",
                parts.facts([("question", asked), *account.record(release)]),
                parts.details("The SQL that the engine ran", plan.sql),
            ),
            f'<aside class="box"><strong>Not promised</strong>{promised}</aside>',
            parts.paragraph(
                "The order of these questions follows NIST SP 800-226, Guidelines for Evaluating Differential Privacy "
                "Guarantees.  The numbers are in this file as JSON, in the element with the id lapwing-release.",
                kind="quiet",
            ),
        ]
    )  # fmt: skip


# --- notebooks, and comparisons ---


def release_cell(
    release: Release,
    groups: Sequence[Sequence[Any]],
    estimates: Mapping[str, Estimate],
    marks: Mapping[str, Marks],
    more: Sequence[str],
) -> str:
    """Return what a notebook shows of a release: its first groups."""
    columns, names = release.key_columns, [str(each.name) for each in release.plan.query.statistics]
    numbers = NumberTable(
        account.heading(names, release.keys), key_heads(release.plan, columns), number_heads(release),
        _rows(groups, estimates, marks), percent(release.confidence), outer_columns(columns), total_name(columns),
    )  # fmt: skip
    plan = release.plan
    head = f"Release from {plan.schema.name}, {account.privacy(release)}.  Protects {release.protects}."
    return parts.cell(
        parts.paragraph(head),
        numbers.html(),
        parts.paragraph(*more, *legend(plan), *release.about, *plan.not_counted, kind="quiet"),
    )


def _rows(groups: Sequence[Sequence[Any]], estimates: Mapping[str, Estimate], marks: Mapping[str, Marks]) -> list[Row]:
    ends = [[end.tolist() for end in (*each, marks[name])] for name, each in estimates.items()]
    return [(keys, [(v[i], a[i], b[i], mark[i]) for v, a, b, mark in ends]) for i, keys in enumerate(groups)]


def comparison_numbers(found: Comparison, most: int | None = None) -> NumberTable:
    """Return the table of a comparison, or its first rows."""
    units = {each["name"]: each.get("unit") for each in found.columns}
    heads = [NumberHead(each.name, units[each.name], float(each.low), float(each.high)) for each in found.compared]
    groups = found.texts(most)
    few = {name: Estimate(*(end[: len(groups)] for end in each)) for name, each in found.estimates.items()}
    columns = found.key_columns
    return NumberTable(
        found.what, [KeyHead(each.name) for each in columns], heads, _rows(groups, few, found.noise_marks),
        percent(found.confidence), outer_columns(columns), total_name(columns),
    )  # fmt: skip


def comparison_page(found: Comparison) -> str:
    """Return one self-contained page of a comparison."""
    return comparison_parts(found).document()


def comparison_parts(found: Comparison) -> PageParts:
    """Return what the page of a comparison shows."""
    plan, numbers = found.release.plan, comparison_numbers(found)
    facts = [
        ("comparison", found.what),
        ("question", plan.query.text),
        ("protects", found.release.protects),
        ("ε of the release", account.privacy(found.release)),
        ("post-processing", "computed from released numbers alone: nothing more was charged"),
        *account.record(found.release),
    ]
    paged = len(found) > STATIC_ROWS
    place = {"id": "lapwing-table-0", "first": 0, "last": len(found), "size": PAGE_ROWS, "outer": numbers.outer}
    keys = [each.name for each in numbers.keys]
    settings = {**place, "keys": keys, "total": numbers.total, "statistics": numbers.settings() if paged else []}
    kicker = parts.paragraph(f"From the release of {plan.schema.name}, entry {found.entry}", kind="kicker")
    shown = [
        numbers.html(PAGE_ROWS if paged else None, "lapwing-table-0"),
        _pager("lapwing-table-0", len(found)) if paged else "",
        parts.paragraph(*legend(plan), *found.notes),
    ]
    about = [
        parts.section("The question, and where it is recorded", parts.facts(facts)),
        parts.data("lapwing-release", found.to_dict()),
        parts.data("lapwing-tables", {"large": False, "tables": [settings]}) if paged else "",
    ]
    header = f"<header>{kicker}\n<h1>{parts.escaped(found.what)}</h1></header>"
    return PageParts(f"{found.what}: from {plan.schema.name}", header, shown, about, paged)


def comparison_cell(found: Comparison, most: int) -> str:
    """Return what a notebook shows of a comparison: its first rows."""
    return parts.cell(comparison_numbers(found, most).html(), parts.paragraph(*found.notes, kind="quiet"))
