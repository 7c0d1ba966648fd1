"""Noisy cells → numbers with error bars.  Everything here is post-processing: it sees noise and public parameters only.

Claim R1 (coverage).  A count, sum, mean or proportion lies in its bar with at least the stated confidence, whatever the
data (A2, A9, A10); with ``simultaneous``, all counts, sums, means and proportions of the release do at once.  What the
bar covers is the statistic of the rows as they count: values on the column's grid and between its bounds, people with
many rows weighted down.  Bars of variances and deviations are approximate (A11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measure.cells import Column, column, largest
from ..measure.measurement import Measurement
from ..measure.tree import Floats, Tree, margins, share_interval
from ..noise.distributions import DiscreteLaplace
from ..noise.intervals import ratio_interval, spread_interval, tail_quantile
from ..plan.plan import Part, Plan, is_counted, linear_margin, root, whole_margin
from ..question.query import Statistic

Noisy = Sequence[Sequence[Column]]
"""For each measurement, for each of its cells, a column with one noisy integer for each group."""

_MOST = 2**62
"""Whole numbers are shown as such up to here, beyond as floats."""

_AT_ONCE = 2**16


class Estimate(NamedTuple):
    """The values of one statistic and the ends of their error bars, one for each group."""

    value: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]


def estimates(
    plan: Plan,
    noisy: Sequence[Sequence[Sequence[int] | Column]],
    n: int | None,
    confidence: Fraction,
    simultaneous: bool,
) -> list[Estimate]:
    """Return the estimates of all statistics of a plan; ``n`` is the number of rows where it is public (claim P5)."""
    columns = [[column(cell) for cell in cells] for cells in noisy]
    return Estimator(plan, columns, n, confidence, simultaneous).of(slice(0, plan.groups))


@dataclass(frozen=True, eq=False)
class Estimator:
    """The estimates of a release, for all groups or for some at a time; what depends on all is found once."""

    plan: Plan
    noisy: Noisy
    n: int | None
    confidence: Fraction
    simultaneous: bool

    @property
    def together(self) -> int:
        """How many groups in a row must be estimated at once: all bins of a tree."""
        return max((part.measurement.bins for part in self.plan.parts), default=0) or 1

    def of(self, groups: slice) -> list[Estimate]:
        """Return the estimates of all statistics for groups from a start to a stop, multiples of ``together``."""
        return [self._estimate(number, groups) for number in range(len(self.plan.query.statistics))]

    @cached_property
    def _sure(self) -> tuple[Fraction, int]:
        return self.plan.each_confidence(self.confidence, self.simultaneous)

    def _estimate(self, number: int, groups: slice) -> Estimate:
        statistic, (confidence, cells) = self.plan.query.statistics[number], self._sure
        parts = self.plan.answering(statistic)
        if not parts:  # claim P5: public
            return Estimate(*(np.array([self.n]),) * 3)
        if statistic.kind in ("count", "sum"):
            return _linear(self.plan, statistic, self.noisy, self._weighted[number], groups)
        (i,) = parts
        part = self.plan.parts[i]
        if part.measurement.bins:
            groups = slice(groups.start // part.measurement.bins, groups.stop // part.measurement.bins)
        own = [cell[groups] for cell in self.noisy[i]]
        return _estimate(self.plan, statistic, part, own, self.n, confidence, cells)

    @cached_property
    def _weighted(self) -> dict[int, _Weighted]:
        return {
            number: _weighted(self.plan, each, self.noisy, self.n, *self._sure)
            for number, each in enumerate(self.plan.query.statistics)
            if each.kind in ("count", "sum") and self.plan.answering(each)
        }


def _estimate(
    plan: Plan,
    statistic: Statistic,
    part: Part,
    own: Sequence[Column],
    n: int | None,
    confidence: Fraction,
    cells: int,
) -> Estimate:
    """Return the estimates of a statistic that is no count or sum, from the cells of its measurement."""
    if statistic.kind == "cdf":
        return _distribution(plan, part, own, 1 - (1 - confidence) / cells)  # bins share cells
    if statistic.level is not None:
        return _quantile(plan, statistic.level, part, own, confidence, cells)
    if part.measurement.whole:
        return _whole(plan, statistic, part.measurement, int(own[0][0]), plan.scale(part, n), n or 0, confidence)
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


def _distribution(plan: Plan, part: Part, noisy: Sequence[Column], confidence: Fraction) -> Estimate:
    """Return the shares of rows up to the end of each bin (claim D4), which rise from bin to bin."""
    tree = part.measurement.tree
    upto = np.cumsum(tree.consistent(np.array(noisy, dtype=float)), axis=0)
    total = upto[-1]
    margin = _share_margins(tree, plan.scale(part), confidence)
    low, high = share_interval(upto, total, *(each[:, None] + 1 for each in margin))  # one step of the noise more
    value = np.where(total > 0, upto / np.where(total > 0, total, 1), 0.5).clip(0, 1)
    value = (np.maximum.accumulate(value) + np.minimum.accumulate(value[::-1])[::-1]) / 2
    value[-1], low[-1], high[-1] = 1.0, 1.0, 1.0
    ends = value, np.minimum(low, value), np.maximum(high, value)
    return Estimate(*(each.T.reshape(-1) for each in ends))


@lru_cache(maxsize=8)
def _share_margins(tree: Tree, scale: Fraction, confidence: Fraction) -> list[Floats]:
    """Return the margins of claim D4 at each edge, for the shares 0, 1/2 and 1."""
    inside = np.tri(tree.bins)
    return [np.array(margins(tree.weights((inside - share).T), scale, confidence)) for share in (0.0, 0.5, 1.0)]


def _quantile(
    plan: Plan, level: Fraction, part: Part, noisy: Sequence[Column], confidence: Fraction, cells: int
) -> Estimate:
    """Return a quantile and its bar (claim Q5): the nearest ends of which the counts show that they hold it."""
    measurement, selection = part.measurement, plan.selection(part)
    found = np.array([cell.tolist() for cell in noisy], dtype=object)
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


class _Weighted(NamedTuple):
    """A count or sum as weighted cells: what is added to them, its margin, and whether whole numbers are shown.

    ``exactly`` says that it is a whole multiple of one cell, with a whole margin.
    """

    terms: Sequence[tuple[int, tuple[Fraction, ...], Fraction]]
    offset: Fraction
    margin: float
    exactly: bool
    whole: bool


def _weighted(
    plan: Plan, statistic: Statistic, noisy: Noisy, n: int | None, confidence: Fraction, cells: int
) -> _Weighted:
    terms, offset = plan.terms(statistic, n), _offset(plan, statistic, n)
    (i, weights, scale), *more = terms
    if not more and len(weights) == 1 and weights[0].denominator == 1:
        steps = DiscreteLaplace(scale).simultaneous_margin(cells, confidence) * int(weights[0])
        ends = [int(end) * int(weights[0]) + int(offset) for end in (noisy[i][0].min(), noisy[i][0].max())]
        return _Weighted(terms, offset, steps, True, max(map(abs, ends)) + steps < _MOST)
    margin = linear_margin(terms, confidence, cells) * (1 + 1e-12)
    found = _Weighted(terms, offset, margin, False, False)
    return found._replace(whole=is_counted(statistic, plan.schema) and _farthest(found, noisy) < _MOST)


def _farthest(sums: _Weighted, noisy: Noisy) -> float:
    """Return how far from 0 the ends of bars are at most, or a bound of it that is below the largest whole number."""
    each = [abs(float(w)) * largest(cell) for i, by, _ in sums.terms for w, cell in zip(by, noisy[i], strict=True)]
    bound = (sum(each) + abs(float(sums.offset)) + sums.margin) * (1 + 1e-9)
    if bound < _MOST:
        return bound
    starts = range(0, len(noisy[sums.terms[0][0]][0]), _AT_ONCE)
    totals = (_total(sums, noisy, slice(start, start + _AT_ONCE)) for start in starts)
    return max(float(np.abs(total + way * sums.margin).max()) for total in totals for way in (-1, 1))


def _total(sums: _Weighted, noisy: Noisy, groups: slice) -> Floats:
    total = np.zeros(len(noisy[sums.terms[0][0]][0][groups]))
    for i, weights, _ in sums.terms:
        for weight, cell in zip(weights, noisy[i], strict=True):
            total += float(weight) * cell[groups].astype(float)
    return total + float(sums.offset)


def _linear(plan: Plan, statistic: Statistic, noisy: Noisy, sums: _Weighted, groups: slice) -> Estimate:
    """Return a count or sum: a weighted sum of cells."""
    if sums.exactly:
        return _multiple(sums, noisy[sums.terms[0][0]][0], groups)
    margin, total = sums.margin, _total(sums, noisy, groups)
    low, high = total - margin, total + margin
    if not sums.whole:
        return Estimate(total, low, high)
    shown, half = np.rint(total), whole_margin(margin, plan.schema)
    if plan.schema.person is None:  # the truth is whole: the bar ends at the last whole numbers inside it
        low, high = np.minimum(np.ceil(low), shown), np.maximum(np.floor(high), shown)
    else:
        low, high = shown - half, shown + half
    return Estimate(*(each.astype(np.int64) for each in (shown, low, high)))


def _multiple(sums: _Weighted, noisy: Column, groups: slice) -> Estimate:
    """Return a whole multiple of one cell, in integers that cannot overflow."""
    weight, offset, steps = int(sums.terms[0][1][0]), int(sums.offset), int(sums.margin)
    own = noisy[groups]
    fits = max(largest(own), 1) * abs(weight) + abs(offset) + steps < 2**63
    value = own.astype(np.int64 if fits else object) * weight + offset
    kind = np.int64 if sums.whole else np.float64
    return Estimate(*((value + way * steps).astype(kind) for way in (0, -1, 1)))


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
