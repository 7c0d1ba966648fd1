"""What the page to ask shows of a plan: the errors to expect, what it costs, and the curves; no data is read."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ... import exact
from ...plan.naming import about_statistic
from ...plan.plan import Forecast, Plan
from ..asking import PlanBody
from ..sources import Served
from .curve import curves, ladder

MOST_SHOWN = 40
"""The errors of how many tables are shown."""


def plan_shown(served: Served, body: PlanBody, left: Fraction) -> dict[str, Any]:
    """Return a plan for a template: each error, the curve, and what is left after; no data is read."""
    statistics, named = body.arguments()
    plan = served.source.plan(*statistics, epsilon=body.epsilon, rows=body.rows, **named)
    cost = plan.epsilon if plan.parts or plan.several is not None else Fraction(0)
    return {
        "statistics": [_statistic(plan, each, table) for table, each in _forecasts(plan)],
        "tables": 0 if plan.several is None else len(plan.several.asked),
        "groups": plan.groups,
        "cost": exact.text(cost),
        "left": exact.text(left),
        "after": exact.text(left - cost) if cost <= left else None,
        "percent": 100.0 if not left else round(min(float(cost / left), 1.0) * 100, 1),
        "notes": (*plan.notes, *plan.better),
        "sql": plan.sql,
        "curves": curves(plan, ladder(left)),
    }


def _forecasts(plan: Plan) -> Iterator[tuple[str, Forecast]]:
    """Yield what to expect: for each statistic, and if several tables are asked, for each in each of the first."""
    if plan.several is None:
        yield from (("", each) for each in plan.forecasts)
        return
    for table in plan.several.listed[: min(len(plan.several.asked), MOST_SHOWN)]:
        yield from ((plan.several.title(table.table), each) for each, _ in table.expected)


def _statistic(plan: Plan, forecast: Forecast, table: str) -> dict[str, Any]:
    """Return the errors of one statistic, in words."""
    unit = about_statistic(plan, forecast.statistic).get("unit") if forecast.statistic.level is None else None
    return {
        "name": str(forecast.statistic.name),
        "table": table,
        "unit": unit or "",
        "error": forecast.bar_text(forecast.margin),
        "together": forecast.bar_text(forecast.simultaneous_margin),
        "nothing": forecast.says_nothing,
        "remark": _remark(plan, forecast),
    }


def _remark(plan: Plan, forecast: Forecast) -> str:
    """Return what the error assumes, or what it is about, in words that stand alone."""
    if forecast.statistic.level is not None:
        return f"the error is {forecast.assumes}"
    if not forecast.assumes or not plan.answering(forecast.statistic):
        return forecast.assumes
    return f"assumes {forecast.assumes}"
