"""What notebooks show of what was found privately: keys, bounds, and rows per person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import exact
from ..pages import document as parts
from ..pages.numbers import LOW, KeyHead, NumberHead, NumberTable
from ..plan.clipped import share_text
from .legend import percent
from .recorded import cost

if TYPE_CHECKING:
    from .bounds import Bounds
    from .discover import Discovery
    from .rows_per_person import RowsPerPerson

_SHOWN = 40


def _test(private: bool) -> list[str]:
    return [] if private else ["NOT PRIVATE: made with noise for tests."]


def discovery_cell(found: Discovery) -> str:
    """Return the keys that were found, with their noisy counts."""
    plan = found.plan
    count = found.to_dict()["columns"][1]["name"]
    rows = [([each[plan.name]], [(*each[count].values(), LOW)]) for each in found.rows[:_SHOWN]]
    heads = [KeyHead(plan.name)], [NumberHead(plan.counted, low=1.0)]
    numbers = NumberTable(f"Keys of {plan.name} in {plan.schema.name}", *heads, rows, percent(found.confidence))
    more = [f"… {len(found) - _SHOWN:,} more keys: see .keys or .to_pandas()"] if len(found) > _SHOWN else []
    none = f"No key reached the threshold of {found.threshold:,} {plan.counted}."
    return parts.cell(
        parts.paragraph(f"ε = {exact.text(plan.epsilon)}, δ = {exact.text(plan.delta)}.  Protects {found.protects}."),
        numbers.html() if rows else parts.paragraph(none),
        parts.paragraph(*more, found.note, *cost(found), kind="quiet"),
    )


def bounds_cell(found: Bounds) -> str:
    """Return the bins of a column that have rows, and the bounds that hold them."""
    plan = found.release.plan
    rows = [([exact.text(a), exact.text(b)], [(value, low, high, LOW)]) for a, b, value, low, high in found.occupied]
    heads = [KeyHead("from"), KeyHead("to")], [NumberHead("rows")]
    numbers = NumberTable(f"Bounds of {found.name} in {plan.schema.name}", *heads, rows)
    lines = ["No bin is above the noise."]
    if rows:
        outside = share_text(found.outside, "the rows with a value")
        lines = [f"low = {exact.text(found.low)}, high = {exact.text(found.high)}", f"Outside: {outside}."]
    return parts.cell(
        parts.paragraph(f"ε = {exact.text(plan.epsilon)}.  Protects {found.release.protects}."),
        numbers.html() if rows else "",
        parts.paragraph(*lines),
        parts.paragraph(*_test(found.release.private), *cost(found), kind="quiet"),
    )


def rows_per_person_cell(found: RowsPerPerson) -> str:
    """Return how many people have how many rows."""
    plan = found.plan
    shown = [each for each in found.bins if each.value > plan.margin]
    rows = [([_bin(least, most)], [(value, low, high, LOW)]) for least, most, value, low, high in shown]
    numbers = NumberTable(f"Rows per person in {plan.schema.name}", [KeyHead("rows")], [NumberHead("people")], rows)
    lines = ["The number of people is not above the noise: ask with a larger ε."]
    if found.found:
        k = found.rows_per_person
        lines = [f"rows_per_person = {k:,}: {share_text(found.shares[k], 'the people')} have at most so many rows."]
    hidden = f"Bins with {plan.margin:,} people or fewer are not shown: they may be empty."
    return parts.cell(
        parts.paragraph(
            f"ε = {exact.text(plan.epsilon)}.  Protects each person ({plan.schema.person}), whatever number of rows "
            "they have."
        ),
        numbers.html() if rows else "",
        parts.paragraph(*lines),
        parts.paragraph(hidden, *_test(found.private), *cost(found), kind="quiet"),
    )


def _bin(least: int, most: int | None) -> str:
    return f"more than {least - 1:,}" if most is None else f"{most:,}" if least == most else f"{least:,} to {most:,}"
