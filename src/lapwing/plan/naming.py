"""What the columns of an answer are called: their titles and units, as the source has them now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..question.query import Statistic

if TYPE_CHECKING:
    from .plan import Plan

_WITHOUT_UNIT = ("count", "people", "proportion", "cdf")


def about_key(plan: Plan, at: int) -> dict[str, str]:
    """Return the title and the unit of a key of the question, as far as it has them."""
    column = plan.schema.columns[plan.query.by[at]]
    return _given(column.title, column.unit)


def about_statistic(plan: Plan, statistic: Statistic) -> dict[str, str]:
    """Return the title of the column that a statistic is about, and the unit of its numbers."""
    column = plan.schema.columns.get(statistic.column or "")
    if column is None or statistic.kind == "people":
        return {}
    unit = None if statistic.kind in _WITHOUT_UNIT or statistic.times != 1 else column.unit
    if unit is not None and statistic.kind == "variance":
        unit = f"{unit}²" if unit.isalpha() else f"({unit})²"
    return _given(column.title, unit)


def _given(title: str | None, unit: str | None) -> dict[str, str]:
    return {name: text for name, text in (("title", title), ("unit", unit)) if text is not None}


def axis(name: str, about: dict[str, str], *, titled: bool = True) -> str:
    """Return the title of an axis of a chart: the name, or the title if it has one, and the unit."""
    text = about.get("title", name) if titled else name
    return f"{text} ({about['unit']})" if "unit" in about else text
