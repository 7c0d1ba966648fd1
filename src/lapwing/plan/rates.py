"""Rates that are better asked as a share: a ratio of two counts of rows, where those of the first are among the others.

``COUNT(*) FILTER (WHERE u) / COUNT(*) FILTER (WHERE a)`` takes two measurements, between which ε is split; the share
``AVG(CASE WHEN u THEN 1 ELSE 0 END) FILTER (WHERE a)`` is the same number if u can only be true where a is, by one.
Whether it can is read from the text of the question alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .. import report
from ..question.asking import about
from ..question.conditions import All, Compare, Condition, OneOf, Some
from ..question.derived import added_to
from ..question.expression import ONE, ZERO, Choose, Expression, Indicator
from ..question.query import Query, Statistic, is_share, numeral
from .plan import Plan
from .planning import make_plan

_WORTH = 0.9
"""Another way to ask is named if its bar is at most this much of the first."""

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_SIDES = {"<": "<", "<=": "<", ">": ">", ">=": ">"}

_EVERY: Condition = All(())
"""What is true of every row."""


def better_ways(plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each ratio that would have a smaller bar as a share, while no other bar grows."""
    sentences = (_sentence(plan, number) for number, each in enumerate(plan.query.statistics) if each.parts)
    return tuple(sentence for sentence in sentences if sentence)


def _sentence(plan: Plan, number: int) -> str:
    ratio = plan.query.statistics[number]
    part, whole = map(_rows_of, ratio.parts)
    if part in (None, _EVERY) or whole is None or not _lies_within(part, whole):
        return ""
    inside = Choose(((part, ONE),), ZERO)
    shared = inside if whole == _EVERY else Choose(((whole, inside),))
    share = Statistic("mean", share=ratio.parts[0].share, times=ratio.factor * ratio.times)
    other = _asking_instead(plan, number, about(share, shared), shared)
    now, then = ([each.margin for each in one.forecasts] for one in (plan, other))
    now[number] *= _WORTH
    if any(margin > at_most * (1 + 1e-9) for margin, at_most in zip(then, now, strict=True)):
        return ""
    times = "" if share.times == 1 else f"{numeral(share.times)} * "
    where = "" if whole == _EVERY else f" FILTER (WHERE {whole})"
    bars = f"± {report.shown(then[number])} instead of {plan.forecasts[number].bar_text(now[number] / _WORTH)}"
    return f"{ratio.name} is a share, and as such has {bars} for the same ε: {times}AVG({inside}){where}"


def _asking_instead(plan: Plan, number: int, share: Statistic, expression: Expression) -> Plan:
    """Return the plan of the same question with a share in the place of a ratio."""
    name, schema = added_to(plan.schema, expression)
    statistics = list(plan.query.statistics)
    statistics[number] = replace(share, name=statistics[number].name)
    derived = tuple(sorted({**dict(plan.query.derived), name: schema.columns[name]}.items()))
    query: Query = replace(plan.query, statistics=tuple(statistics), derived=derived)
    return make_plan(schema, query, epsilon=plan.epsilon, confidence=plan.confidence, rows=plan.rows)


def _rows_of(part: Statistic) -> Condition | None:
    """Return the condition whose rows are counted, by COUNT or by a sum of 0 and 1; None if it is no such count."""
    if part.times != 1:
        return None
    if part.counts_rows:
        return _EVERY
    value = part.expression
    if part.kind == "sum" and isinstance(value, Indicator):
        return value.condition
    if not isinstance(value, Choose) or len(value.cases) != 1:
        return None
    counted = part.kind == "count" and value.cases[0][1] == ONE and value.otherwise is None
    return value.cases[0][0] if counted or (part.kind == "sum" and is_share(value)) else None


def _lies_within(inner: Condition, outer: Condition) -> bool:
    """Return whether the first is true only where the second is; False where that is not seen at once."""
    if inner == outer:
        return True
    if isinstance(outer, All):
        return all(_lies_within(inner, each) for each in outer.parts)
    if isinstance(inner, Some):
        return all(_lies_within(each, outer) for each in inner.parts)
    if isinstance(inner, All) and any(_lies_within(each, outer) for each in inner.parts):
        return True
    if isinstance(outer, Some):
        return any(_lies_within(inner, each) for each in outer.parts)
    return _is_listed_in(inner, outer) or _is_narrower(inner, outer)


def _is_listed_in(inner: Condition, outer: Condition) -> bool:
    """Return whether all values that the first lists are values for which the second is true."""
    if isinstance(inner, Compare) and inner.operator == "=" and inner.other is None:
        listed: tuple[Any, ...] = (inner.value,)
    elif isinstance(inner, OneOf):
        listed = inner.values
    else:
        return False
    if isinstance(outer, OneOf):
        return inner.column == outer.column and set(listed) <= set(outer.values)
    if not isinstance(outer, Compare) or inner.column != outer.column or outer.other is not None:
        return False
    if isinstance(outer.value, str) and outer.operator in _SIDES:  # the order of texts is that of the engine
        return False
    return all(_OPERATORS[outer.operator](value, outer.value) for value in listed)


def _is_narrower(inner: Condition, outer: Condition) -> bool:
    """Return whether both are a limit of one column, to one side, and the first is the narrower."""
    if not isinstance(inner, Compare) or not isinstance(outer, Compare) or inner.column != outer.column:
        return False
    if inner.operator not in _SIDES or _SIDES.get(outer.operator) != _SIDES[inner.operator]:
        return False
    if inner.other is not None or outer.other is not None or isinstance(inner.value, str):
        return False
    return _OPERATORS[_SIDES[inner.operator]](inner.value, outer.value) or (
        inner.value == outer.value and outer.operator in (inner.operator, _SIDES[inner.operator] + "=")
    )
