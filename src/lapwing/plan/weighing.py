"""A statistic as what it is made of: noisy cells with their weights in a numerator and in a denominator (claim G1).

A count or a sum has no denominator; a mean is a sum over a count of the same cells, a proportion likewise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from ..measure.linear import Groups, Noisy, root
from ..measure.measurement import UNIT, rows_assumed
from ..measure.quotients import Slot
from ..noise.weighted import EqualDraws, margin_of
from ..question.query import Statistic

if TYPE_CHECKING:
    from .plan import Plan


class CellWeights(NamedTuple):
    """A cell of a measurement: its weight in the numerator, its weight in the denominator, the scale of its noise."""

    part: int
    cell: int
    top: Fraction
    bottom: Fraction
    scale: Fraction


class Weighing(NamedTuple):
    """EqualDraws with their weights, and what is added to the numerator and to the denominator without noise."""

    cells: tuple[CellWeights, ...]
    top: Fraction
    bottom: Fraction
    divides: bool

    def slots(self, noisy: Noisy, groups: Groups) -> list[Slot]:
        """Return the cells of some groups."""
        return [Slot(each.top, each.bottom, each.scale, 1, noisy[each.part][each.cell][groups]) for each in self.cells]


def weighing(plan: Plan, statistic: Statistic, n: int | None = None) -> Weighing | None:
    """Return what a statistic is made of, or None if it is no linear combination of cells and no quotient of two."""
    if statistic.is_linear:
        return _weighing(*_linear(plan, statistic, n), {}, Fraction(0), divides=False)
    if statistic.parts:
        (tops, top), (bottoms, bottom) = (_linear(plan, each, n) for each in statistic.parts)
        by = statistic.factor
        scaled = {key: (weight * by, scale) for key, (weight, scale) in tops.items()}
        return _weighing(scaled, top * by, bottoms, bottom, divides=True)
    if statistic.kind not in ("mean", "proportion"):
        return None
    (i,) = plan.answering(statistic)
    measurement, setting = plan.parts[i].measurement, plan.setting(plan.parts[i], n)
    total, scale = Statistic("sum", statistic.column, statistic.condition), measurement.scale(setting)
    tops = _cells(i, measurement.linear(total, setting), scale)
    if measurement.public_rows:
        return _weighing(tops, measurement.offset(total, setting), {}, Fraction(setting.rows), divides=True)
    values = Statistic("count", statistic.column or "")
    return _weighing(
        tops, Fraction(0), _cells(i, measurement.linear(values, setting), scale), Fraction(0), divides=True
    )


_Weights = dict[tuple[int, int], tuple[Fraction, Fraction]]
"""By measurement and cell: the weight, and the scale of the noise."""


def _cells(part: int, weights: Sequence[Fraction], scale: Fraction) -> _Weights:
    return {(part, cell): (weight, scale) for cell, weight in enumerate(weights) if weight}


def _linear(plan: Plan, statistic: Statistic, n: int | None) -> tuple[_Weights, Fraction]:
    """Return the weights of a count or sum, and what is added to it."""
    if not plan.answering(statistic):  # claim P5: the number of rows is public
        return {}, Fraction(plan.rows if n is None else n)
    found: _Weights = {}
    for term in plan.terms(statistic, n):
        found |= _cells(term.part, term.weights, term.scale)
    part = plan.parts[plan.answering(statistic)[0]]
    return found, part.measurement.offset(statistic, plan.setting(part, n))


def _weighing(tops: _Weights, top: Fraction, bottoms: _Weights, bottom: Fraction, *, divides: bool) -> Weighing:
    """Return each cell once, with both of its weights."""
    zero = Fraction(0)
    cells = []
    for key in sorted({*tops, *bottoms}):
        scale = (tops.get(key) or bottoms[key])[1]
        cells.append(CellWeights(*key, tops.get(key, (zero, zero))[0], bottoms.get(key, (zero, zero))[0], scale))
    return Weighing(tuple(cells), top, bottom, divides)


# --- what is public about its range ---


def public_range(plan: Plan, statistic: Statistic) -> tuple[float, float]:
    """Return the ends between which a quotient must lie, whatever the data are; infinite where there are none."""
    if statistic.kind == "proportion":
        return 0.0, 1.0
    if statistic.kind == "mean":
        return _ends(plan, statistic)
    if not statistic.parts:
        return -math.inf, math.inf
    top, bottom = statistic.parts
    low, high = _ratio_range(plan, top, bottom)
    ends = [_times(float(statistic.factor), end) for end in (low, high)]
    return min(ends), max(ends)


def _ratio_range(plan: Plan, top: Statistic, bottom: Statistic) -> tuple[float, float]:
    same = top.column is not None and top.column == bottom.column
    if bottom.kind == "count" and top.kind == "sum" and (same or bottom.counts_rows):
        low, high = _ends(plan, top)
        return (low, high) if same else (min(low, 0.0), max(high, 0.0))  # a missing value adds 0
    if bottom.counts_rows and top.kind == "count":
        return 0.0, 1.0
    lowest = [0.0 if each.kind != "sum" else _ends(plan, each)[0] for each in (top, bottom)]
    return (0.0, math.inf) if min(lowest) >= 0 else (-math.inf, math.inf)


def _ends(plan: Plan, statistic: Statistic) -> tuple[float, float]:
    column = plan.schema.columns[statistic.column or ""]
    return float(column.low or 0), float(column.high or 0)


def _times(factor: float, end: float) -> float:
    return factor * end if end else 0.0


def cannot_be_negative(plan: Plan, statistic: Statistic) -> bool:
    """Return whether it is a count, or a sum of values that are not negative."""
    column = plan.schema.columns.get(statistic.column or "")
    if statistic.kind == "sum":
        return column is not None and column.low is not None and column.low >= 0
    return statistic.is_linear


# --- before any data is read ---


def expected_margin(plan: Plan, statistic: Statistic, confidence: Fraction, groups: int) -> float:
    """Return the half-width of the bar of a ratio as ``assumption`` says; infinite if its denominator may be 0."""
    made = weighing(plan, statistic)
    if made is None:
        return math.inf
    sure = root(confidence, groups)
    top, bottom = (_assumed(plan, each) for each in statistic.parts)
    at = float(statistic.factor) * top / bottom if bottom else 0.0
    by, least = (_margin(made, *direction, sure) for direction in ((1.0, at), (0.0, 1.0)))
    return by / (abs(bottom) - least) if abs(bottom) > least else math.inf


def least_denominator(plan: Plan, statistic: Statistic, confidence: Fraction) -> float:
    """Return the margin of the denominator of a ratio, in units of the denominator that is assumed."""
    made = weighing(plan, statistic)
    bottom = abs(_assumed(plan, statistic.parts[1]))
    return math.inf if made is None or not bottom else _margin(made, 0.0, 1.0, confidence) / bottom


def _margin(made: Weighing, top: float, bottom: float, confidence: Fraction) -> float:
    cells = [EqualDraws(top * float(each.top) - bottom * float(each.bottom), each.scale) for each in made.cells]
    return margin_of(cells, confidence)


def assumption(plan: Plan, ratio: Statistic) -> str:
    """Return what ``expected_margin`` assumes, in words.

    A count, also as a sum of 0 and 1, is one of all rows: there the bar of a rate is widest.  Means assume the same.
    """
    values = [_sums_values(plan, each) for each in ratio.parts]
    counted = any(not summed and not each.counts_rows for summed, each in zip(values, ratio.parts, strict=True))
    return (
        rows_assumed(plan.setting(plan.parts[0]))
        + (", all of them counted" if counted else "")
        + (", values in the middle of their bounds" if any(values) else "")
    )


def _assumed(plan: Plan, statistic: Statistic) -> float:
    """Return what a count or sum would be."""
    if not _sums_values(plan, statistic):
        return float(plan.rows)
    low, high = _ends(plan, statistic)
    middle = (low + high) / 2
    return plan.rows * (middle or abs(high) / 2)


def _sums_values(plan: Plan, statistic: Statistic) -> bool:
    """Return whether it is a sum of values, and no count: a sum of 0 and 1 is one."""
    return statistic.kind == "sum" and plan.schema.columns[statistic.column or ""].grid != UNIT
