"""Noisy cells → numbers with error bars.  Everything here is post-processing: it sees noise and public parameters only.

Claim R1 (coverage).  A count, sum, mean or proportion lies in its bar with at least the stated confidence, whatever the
data (A2, A9, A10); with ``simultaneous``, all counts, sums, means and proportions of the release do at once.  What the
bar covers is the statistic of the rows as they count: values on the column's grid and between its bounds, people with
many rows weighted down.  Bars of variances and deviations are approximate (A11).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .accuracy import ratio_interval, spread_interval, tail_quantile
from .laplace import DiscreteLaplace
from .measure import Measurement
from .plan import Part, Plan, is_counted, linear_margin, root, whole_margin
from .query import Statistic
from .tree import margins, share_interval

Noisy = Sequence[Sequence[Sequence[int]]]
"""For each measurement, for each of its cells, one noisy integer for each group."""


_MOST = 2**62
"""Whole numbers are shown as such up to here, beyond as floats."""


class Estimate(NamedTuple):
    """The values of one statistic and the ends of their error bars, one for each group."""

    value: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]


def estimates(plan: Plan, noisy: Noisy, n: int | None, confidence: Fraction, simultaneous: bool) -> list[Estimate]:
    """Return the estimates of all statistics of a plan; ``n`` is the number of rows where it is public (claim P5)."""
    sure, cells = plan.each_confidence(confidence, simultaneous)
    return [_estimate(plan, statistic, noisy, n, sure, cells) for statistic in plan.query.statistics]


def _estimate(
    plan: Plan, statistic: Statistic, noisy: Noisy, n: int | None, confidence: Fraction, cells: int
) -> Estimate:
    parts = plan.answering(statistic)
    if not parts:  # claim P5: public
        return Estimate(*(np.array([n]),) * 3)
    if statistic.kind in ("count", "sum"):
        return _linear(plan, statistic, noisy, n, confidence, cells)
    (i,) = parts
    part, own = plan.parts[i], noisy[i]
    if statistic.kind == "cdf":
        return _distribution(plan, part, own, 1 - (1 - confidence) / cells)  # bins share cells
    if statistic.level is not None:
        return _quantile(plan, statistic.level, part, own, confidence, cells)
    if part.measurement.whole:
        return _whole(plan, statistic, part.measurement, own[0][0], plan.scale(part, n), n or 0, confidence)
    beyond, scale = float(1 - root(confidence, cells)), float(plan.scale(part))
    grid = part.measurement.grid
    width, bottom = float(grid.step * grid.steps), float(grid.step * grid.low)
    if statistic.kind in ("mean", "proportion"):
        inside = np.array(own[: len(part.measurement.positions)], dtype=float)
        found = ratio_interval(inside, [float(p) for p in part.measurement.positions], scale, beyond, slack=1.0)
        return Estimate(*_rounded([bottom + width * each for each in found], part.measurement, plan))
    inside = np.array(own[:3], dtype=float)
    ends = [width**2 * each for each in spread_interval(inside, scale, beyond)]
    if statistic.sample:
        row = part.measurement.mass * plan.schema.weight
        rows = inside.sum(axis=0) / row
        off = float(tail_quantile(np.full((3, 1), scale / row), beyond / 20)[0])  # n is noisy too
        around = [np.maximum(rows + way * off, 2.0) for way in (0, 1, -1)]
        ends = [end * n / (n - 1) for end, n in zip(ends, around, strict=True)]
    return Estimate(*(np.sqrt(each) if statistic.kind == "std" else each for each in ends))


def _distribution(plan: Plan, part: Part, noisy: Sequence[Sequence[int]], confidence: Fraction) -> Estimate:
    """Return the shares of rows up to the end of each bin (claim D4), which rise from bin to bin."""
    tree, scale = part.measurement.tree, plan.scale(part)
    upto = np.cumsum(tree.consistent(np.array(noisy, dtype=float)), axis=0)
    total = upto[-1]
    inside = np.tri(tree.bins)
    margin = [np.array(margins(tree.weights((inside - share).T), scale, confidence)) for share in (0.0, 0.5, 1.0)]
    low, high = share_interval(upto, total, *(each[:, None] + 1 for each in margin))  # one step of the noise more
    value = np.where(total > 0, upto / np.where(total > 0, total, 1), 0.5).clip(0, 1)
    value = (np.maximum.accumulate(value) + np.minimum.accumulate(value[::-1])[::-1]) / 2
    value[-1], low[-1], high[-1] = 1.0, 1.0, 1.0
    ends = value, np.minimum(low, value), np.maximum(high, value)
    return Estimate(*(each.T.reshape(-1) for each in ends))


def _quantile(
    plan: Plan, level: Fraction, part: Part, noisy: Sequence[Sequence[int]], confidence: Fraction, cells: int
) -> Estimate:
    """Return a quantile and its bar (claim Q5): the nearest ends of which the counts show that they hold it."""
    measurement, selection = part.measurement, plan.selection(part)
    found = np.array(noisy, dtype=object)
    value = found[measurement.levels.index(level)]
    low, high = np.zeros_like(value), np.full_like(value, measurement.grid.steps)
    if measurement.interval:
        points = len(measurement.levels) + 2 * len(measurement.inner)
        borders = np.array(selection.borders(list(found[:points])))
        place = np.argsort(np.argsort(borders, axis=0, kind="stable"), axis=0, kind="stable")
        upto = np.cumsum(found[points:], axis=0)
        off = np.take_along_axis(upto, place, axis=0) - level * upto[-1]
        lower, upper = selection.sides(level)
        below, which = np.unique(place[[*lower, *upper]] + 1, return_inverse=True)
        margin = np.array(selection.margins(level, root(confidence, cells), below.tolist()))[which]
        margin = margin.reshape(-1, len(value))
        for i, beyond in zip(lower, margin, strict=False):
            low = np.where(off[i] + beyond < 0, borders[i], low)
        for i, beyond in zip(upper, margin[len(lower) :], strict=True):
            high = np.where(off[i] - beyond > 0, borders[i] - 1, high)
        low, high = np.minimum(low, value), np.maximum(high, value)
    return _on_grid(measurement, plan, value, low, high)


def _on_grid(measurement: Measurement, plan: Plan, *indices: NDArray[Any]) -> Estimate:
    """Return values of grid indices, and the ends of bars widened by the half step by which values were rounded."""
    grid, column = measurement.grid, plan.schema.columns[measurement.column or ""]
    if column.kind == "integer" and grid.step == 1:
        return Estimate(*((each + grid.low).astype(np.int64) for each in indices))
    found = _rounded([((each + grid.low) * grid.step).astype(float) for each in indices], measurement, plan)
    return Estimate(*(each.clip(float(column.low or 0), float(column.high or 0)) for each in found))


def _rounded(ends: list[Any], measurement: Measurement, plan: Plan) -> list[Any]:
    """Widen the bar of a mean by the half step by which values were put on the grid."""
    value, low, high = ends
    grid = measurement.grid
    if measurement.column is None or (plan.schema.columns[measurement.column].kind == "integer" and grid.step == 1):
        return ends
    half = float(grid.step) / 2
    lowest, highest = float(grid.step * grid.low), float(grid.step * grid.high)
    return [value, np.maximum(low - half, lowest), np.minimum(high + half, highest)]


def _linear(
    plan: Plan, statistic: Statistic, noisy: Noisy, n: int | None, confidence: Fraction, cells: int
) -> Estimate:
    """Return a count or sum: a weighted sum of cells."""
    terms = plan.terms(statistic, n)
    offset = _offset(plan, statistic, n)
    (i, weights, scale), *more = terms
    if not more and len(weights) == 1 and weights[0].denominator == 1:
        steps = DiscreteLaplace(scale).simultaneous_margin(cells, confidence) * int(weights[0])
        value = [each * int(weights[0]) + int(offset) for each in noisy[i][0]]
        kind = np.int64 if max(map(abs, value)) + steps < _MOST else np.float64
        return Estimate(*(np.array([each + way * steps for each in value], dtype=kind) for way in (0, -1, 1)))
    total = np.zeros(plan.groups)
    for i, weights, _ in terms:
        for weight, cell in zip(weights, noisy[i], strict=True):
            total += float(weight) * np.array(cell, dtype=float)
    total += float(offset)
    margin = linear_margin(terms, confidence, cells) * (1 + 1e-12)
    low, high = total - margin, total + margin
    if not is_counted(statistic, plan.schema) or max(np.abs(low).max(), np.abs(high).max()) >= _MOST:
        return Estimate(total, low, high)
    shown, half = np.rint(total), whole_margin(margin, plan.schema)
    if plan.schema.person is None:  # the truth is whole: the bar ends at the last whole numbers inside it
        low, high = np.minimum(np.ceil(low), shown), np.maximum(np.floor(high), shown)
    else:
        low, high = shown - half, shown + half
    return Estimate(*(each.astype(np.int64) for each in (shown, low, high)))


def _offset(plan: Plan, statistic: Statistic, n: int | None) -> Fraction:
    """Return what the cells of a whole sum leave out: n times the lower bound."""
    (first, *_) = plan.answering(statistic)
    measurement = plan.parts[first].measurement
    if statistic.kind != "sum" or not measurement.whole:
        return Fraction(0)
    return measurement.grid.step * measurement.grid.low * (n or 0)


def _whole(
    plan: Plan, statistic: Statistic, measurement: Measurement, cell: int, scale: Fraction, n: int, confidence: Fraction
) -> Estimate:
    """Return a mean, proportion, variance or deviation of a table whose number of rows is public (claim P5)."""
    grid = measurement.grid
    margin = DiscreteLaplace(scale).margin(confidence)
    if measurement.form == "whole sum":
        if n == 0:
            middle = grid.step * Fraction(grid.low + grid.high, 2)
            return _single(middle, grid.step * grid.low, grid.step * grid.high)
        ends = [grid.step * (grid.low + Fraction(cell + off, n)) for off in (0, -margin, margin)]
        ends = [min(max(each, grid.step * grid.low), grid.step * grid.high) for each in ends]
        found = [np.array([float(each)]) for each in ends]
        return Estimate(*_rounded(found, measurement, plan))
    most = grid.step**2 * Fraction(grid.steps**2, 4)
    by = n * (n - 1) if statistic.sample else n * n
    if by == 0:
        most *= 2
        value, low, high = most / 2, Fraction(0), most
    else:
        top = most * n * n / by
        value, low, high = (
            min(max(grid.step**2 * Fraction(cell + off, by), Fraction(0)), top) for off in (0, -margin, margin)
        )
    found_spread = _single(value, low, high)
    return Estimate(*(np.sqrt(each) for each in found_spread)) if statistic.kind == "std" else found_spread


def _single(*ends: Fraction) -> Estimate:
    return Estimate(*(np.array([float(each)]) for each in ends))
