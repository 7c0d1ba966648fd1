"""What the columns of an answer are, in words: titles and units, as the source has them now."""

from __future__ import annotations

from ..plan.left_out import shown_name
from ..plan.plan import Plan
from ..question.query import Statistic

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
    unit = None if statistic.kind in _WITHOUT_UNIT else column.unit
    if unit is not None and statistic.kind == "variance":
        unit = f"{unit}²" if unit.isalpha() else f"({unit})²"
    return _given(column.title, unit)


def _given(title: str | None, unit: str | None) -> dict[str, str]:
    return {name: text for name, text in (("title", title), ("unit", unit)) if text is not None}


def legend(plan: Plan) -> list[str]:
    """Return a line for each column of the question that has a title or a unit."""
    asked = (statistic.column for statistic in plan.query.statistics if statistic.kind != "people")
    lines = []
    for name in dict.fromkeys((*plan.query.by, *(name for name in asked if name is not None))):
        column = plan.schema.columns[name]
        words = [
            *([] if column.title is None else [column.title]),
            *([] if column.unit is None else [f"in {column.unit}"]),
        ]
        if words:
            lines.append(f"{shown_name(name)}: {', '.join(words)}")
    return lines


def axis(name: str, about: dict[str, str], *, titled: bool = True) -> str:
    """Return the title of an axis of a chart: the name, or the title if it has one, and the unit."""
    text = about.get("title", name) if titled else name
    return f"{text} ({about['unit']})" if "unit" in about else text
