"""Released tables → a view without negative numbers, whose tables add up, and synthetic rows from it.

Given noisy tables and their variances, and nothing else, a distribution of weights over the cells of a joint table is
chosen; every table of the view is counted from these weights.  It is chosen from the total up:
- the total is the unbiased one, or 0 if that is negative, or a public number if there is one;
- the table of one column is the closest one without negative numbers that has this total (least squares);
- then tables of two columns, of three and so on, where the smaller ones stay as they are.  With z the weights before,
  M_A the margins of a table A, y_A its unbiased margins and s_A their deviation, the weights become, three times over,
      z' = argmin KL(z' ‖ z) + Σ |M_A z' - y_A|² / (2·c·s_A)   (the sum over the tables of this size),
  among all z' ≥ 0 with the smaller margins of z.  c = 4.

The starting point is independence of the columns, the distribution of greatest entropy with these tables.  A step moves
a cell of size m by m/(m + c·s) of the way: what is well above the noise follows the released numbers, and what is not
stays near what the smaller tables say.

Claim U8 (view).  All tables of a view are ≥ 0 and multiples of one power of two (1 if ``rounded``), and the sums of a
table over any columns are the cells of its smaller table, without any rounding.  If a total is given, they have it.
A view depends on its arguments alone, and those have been released or are public: it costs no ε.

The view is biased: numbers that the noise made negative are raised, and to keep the totals others are lowered.  It has
no error bars; the unbiased tables have them.

Proof: docs/explanation/nonnegative.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import exact
from . import hierarchy
from .apportion import apportioned
from .support import SAMPLE, Integers, Joint, Margin, Support, sampled
from .tables import Axes, Floats, closure, component_variance, reconstruct

MOST_CELLS = 2**22
MOST_WORK = 2**26
"""A joint table with more cells, or more cells times tables, is represented by a sample of its cells."""

MOST_ROWS = 10**8
"""The largest number of synthetic rows."""

_STEPS = 3
_SLOWNESS = 4.0
"""c: how many deviations a cell must have to move half of the way in one step."""

_SWEEPS = 8
_SETTLED = 0.05
"""Tables of the same size are fitted in turn until none moves by more than this part of its deviation."""

_ROUNDS = 30
_CLOSE = 1e-2
_LONGEST = 4.0
_DEAD = -1e6
_TINY = 1e-200
"""What is smaller is nothing: so no quotient overflows."""

_LEAST = 1e-3
_FINE = 2.0**-20
"""Deviations below the first, or below this part of the total, are taken for it: the view is not finer."""

_FAR = 100.0
"""Goals are not further away from what is possible than this many deviations: noise never is."""

_LARGEST = 2.0**62
"""Totals below it are whole numbers of 64 bits; others are floats, which hold the same multiples exactly."""

_DIGITS = 15
_FINEST = 10


@dataclass(frozen=True, eq=False)
class View:
    """Weights of cells of a joint table, from which all tables without negative numbers are counted (claim U8)."""

    axes: Axes
    """The columns of the joint table: those that any table asked for has, of a hierarchy the finest."""

    asked: Mapping[Axes, Margin]
    support: Support
    weights: Floats
    total: float

    def tables(self, *, rounded: bool = False) -> dict[Axes, NDArray[Any]]:
        """Return the tables asked for: whole numbers if ``rounded``, else multiples of a small power of two."""
        unit = _unit(self.total)
        if rounded:
            whole: float = max(1.0, unit)  # more than 1 only for totals of more than 15 digits
            whole = int(whole) if self.total < _LARGEST else whole
            support, units = self._apportioned(round(self.total / whole), settle=True)
            return {table: margin.shown(margin.count(support, units)) * whole for table, margin in self.asked.items()}
        support, units = self._apportioned(round(self.total / unit))
        return {table: margin.shown(margin.count(support, units)) * unit for table, margin in self.asked.items()}

    def rows(self, n: int | None = None) -> Integers:
        """Return n synthetic rows, sorted: for each column of ``axes`` the number of a key.

        Without n there are as many as the rounded total, and their tables are the rounded ones.
        """
        size = exact.whole(round(self.total) if n is None else n, "n", MOST_ROWS, 0)
        support, units = self._apportioned(size, settle=True)
        rows = np.repeat(support.codes, units.ravel(), axis=0)
        return rows[np.lexsort(rows.T[::-1])] if rows.shape[1] else rows

    def _apportioned(self, units: int, settle: bool = False) -> tuple[Support, Integers]:
        tables = closure(margin.axes for margin in self.asked.values())[1:]
        return apportioned(self.support, self.weights, units, tables if settle else ())


def view(
    shape: Sequence[int],
    noisy: Mapping[Axes, NDArray[Any]],
    variances: Mapping[Axes, float],
    asked: Sequence[Axes],
    *,
    total: float | None = None,
    chain: hierarchy.Chain | None = None,
) -> View:
    """Return a view of released tables without negative numbers (claim U8).

    Args:
        shape: the number of keys of each column.
        noisy: the released tables, as for ``reconstruct``.
        variances: of one cell of each released table.
        asked: the tables that the view is for; each part of them must be in a released table.
        total: the sum of each table, if that is public.
        chain: columns that lie within each other; then a table has at most one of them.
    """
    parts = chain.closure(asked) if chain else closure(asked)
    if chain:
        unbiased = hierarchy.reconstruct(shape, chain, noisy, variances, parts)
        spreads = {part: float(hierarchy.variance(shape, chain, variances, part).mean()) for part in parts}
    else:
        unbiased = reconstruct(shape, noisy, variances, parts)
        spreads = {part: component_variance(shape, variances, part) for part in parts}
    size = max(float(unbiased[()]) if total is None else float(total), 0.0)
    unit = _unit(size)
    size = round(size / unit) * unit
    finest = max((chain.level(part) for part in parts), default=0) if chain else 0
    coarse = chain.columns[: max(finest - 1, 0)] if chain else ()
    axes = tuple(sorted({axis for part in parts for axis in part} - set(coarse)))
    wanted = {}
    for part in parts:
        slowness = max(math.sqrt(spreads[part]), _LEAST, _FINE * size) * _SLOWNESS
        depth = len(chain.others(part)) + chain.level(part) if chain else len(part)
        margin = _margin(part, axes, chain, finest)
        wanted[part] = _Wanted(margin, margin.counted(unbiased[part]), slowness, depth)
    support, weights = _fitted(tuple(shape[axis] for axis in axes), list(wanted.values()), size)
    return View(axes, {table: wanted[table].margin for table in asked}, support, weights, size)


def _margin(table: Axes, axes: Axes, chain: hierarchy.Chain | None, finest: int) -> Margin:
    """Return how a table is counted from cells that have these axes, and this level of the chain."""
    level = chain.level(table) if chain else 0
    if not chain or not level:
        return Margin(tuple(axes.index(axis) for axis in table))
    column, joint = chain.columns[level - 1], chain.columns[finest - 1]
    nodes = np.arange(chain.sizes[finest])
    for above in range(finest, level, -1):
        nodes = chain.parents(above)[nodes]
    fine = tuple(joint if axis == column else axis for axis in table)
    own = tuple(sorted(fine))
    return Margin(
        tuple(axes.index(axis) for axis in own),
        own.index(joint),
        None if level == finest else nodes,
        chain.parents(level) if level > 1 else None,
        tuple(own.index(axis) for axis in fine),
    )


def _unit(total: float) -> float:
    """Return the power of two on which tables of this total are published: their decimals have 15 digits at most."""
    places = _DIGITS - len(str(int(total)))
    return 2.0 ** -min(places if places >= 0 else 4 * places, _FINEST)


# ── from the total up ────────────────────────────────────────────────────────────────────────────────────────


class _Wanted(NamedTuple):
    """How a table is counted, its unbiased cells, how slowly the weights move towards it (c·s_A), and its depth.

    The depth is the number of its columns, and of coarser columns that they lie in.
    """

    margin: Margin
    table: Floats
    slowness: float
    depth: int


def _fitted(shape: tuple[int, ...], wanted: Sequence[_Wanted], total: float) -> tuple[Support, Floats]:
    """Return the cells of the joint table and their weights."""
    cells = math.prod(shape)
    small = cells <= max(MOST_CELLS, 1) and cells * len(wanted) <= MOST_WORK
    if total <= 0:
        return (
            (Joint(shape), np.zeros(shape)) if small else (sampled([np.ones(n) for n in shape], {}), np.zeros(SAMPLE))
        )
    singles = _singles(wanted, total)
    support, weights = (_independent if small else _drawn)(singles, wanted, total)
    for depth in range(2, max(want.depth for want in wanted) + 1):
        tables = [want for want in wanted if want.depth == depth and len(want.margin.axes) > 1]
        weights = _pulled(support, weights, tables)
    return support, weights


def _singles(wanted: Sequence[_Wanted], total: float) -> list[Floats]:
    """Return the table of each column: those of a hierarchy from the coarsest to the finest, within the coarser one."""
    found: dict[int, Floats] = {}
    for margin, table, *_ in wanted:
        if len(margin.axes) == 1:
            (axis,) = margin.axes
            above = np.array([total]) if margin.parents is None else found[axis]
            groups = np.zeros(len(table), dtype=np.int64) if margin.parents is None else margin.parents
            found[axis] = np.empty(len(table))
            for group, size in enumerate(above):
                keys = groups == group
                share = table[keys] - table[keys].mean() + size / keys.sum()
                found[axis][keys] = on_simplex(share, float(size)) if size > 0 else 0.0
    return [found[axis] for axis in sorted(found)]


def _independent(singles: Sequence[Floats], _: Sequence[_Wanted], total: float) -> tuple[Support, Floats]:
    """Return all cells, with the weights that independent columns have."""
    weights = np.array(total)
    for single in singles:
        weights = np.multiply.outer(weights, single / total)
    return Joint(weights.shape), weights


def _drawn(singles: Sequence[Floats], wanted: Sequence[_Wanted], total: float) -> tuple[Support, Floats]:
    """Return cells drawn by the tables of pairs of columns, each of them by itself, with the tables of one column."""
    pairs: dict[Axes, Floats] = {}
    for margin, table, slowness, depth in wanted:
        if len(margin.axes) == 2 and margin.nodes is None:
            first, second = margin.axes
            product = np.multiply.outer(singles[first], singles[second]) / total
            alone = _Wanted(Margin((0, 1)), table, slowness, depth)
            pairs[first, second] = _pulled(Joint(product.shape), product, [alone])
    support = sampled(singles, pairs)
    weights = np.full(SAMPLE, total / SAMPLE)
    for _ in range(_SWEEPS):
        for axis, single in enumerate(singles):
            weights = support.scaled(weights, (axis,), _ratio(single, support.table(weights, (axis,))))
    return support, weights


def on_simplex(values: Floats, total: float) -> Floats:
    """Return the closest table to ``values`` that is not negative and has this total."""
    falling = np.sort(values)[::-1]
    levels = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    level = float(levels[np.nonzero(falling > levels)[0][-1]])
    return np.maximum(values - level, 0.0)


# ── tables of one size ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Goal:
    """Where a table is pulled to, how slowly, and its sums along each axis, which stay."""

    margin: Margin
    table: Floats
    slowness: float
    sums: tuple[Floats, ...]


def _pulled(support: Support, weights: Floats, tables: Sequence[_Wanted]) -> Floats:
    """Return the weights after all steps towards the tables wanted, with the same smaller tables.

    The minimum of one step is found by taking one table after the other, each to its own minimum given the others:
    ascent in the blocks of the dual problem, as iterative proportional fitting is.
    """
    goals = [_goal(want.margin.count(support, weights), want) for want in tables]
    for _ in range(_STEPS):
        moved = [np.zeros(goal.table.shape) for goal in goals]
        shifts = [[np.zeros(each.shape) for each in goal.sums] for goal in goals]
        for _ in range(_SWEEPS):
            largest = 0.0
            for goal, move, shift in zip(goals, moved, shifts, strict=True):
                now = goal.margin.count(support, weights)
                factors = _ratio(nearest(now, move, goal, shift), now)
                move += np.log(factors, out=np.zeros(now.shape), where=factors > 0)
                weights = goal.margin.scale(support, weights, factors)
                largest = max(largest, float(np.abs(now * (factors - 1)).max(initial=0)) / goal.slowness)
            if largest * _SLOWNESS <= _SETTLED:
                break
    return weights


def _goal(now: Floats, want: _Wanted) -> _Goal:
    margin, slowness = want.margin, want.slowness
    sums = tuple(margin.sums(now, axis) for axis in range(now.ndim))
    far = float(now.sum()) + _FAR * slowness
    return _Goal(margin, (now + margin.centred(want.table - now)).clip(-far, far), slowness, sums)


def _ratio(wanted: Floats, now: Floats) -> Floats:
    """Return what the cells are multiplied with; empty ones stay empty."""
    return np.divide(wanted, now, out=np.zeros(now.shape), where=now > _TINY)


def nearest(now: Floats, moved: Floats, goal: _Goal, shifts: list[Floats]) -> Floats:
    """Return argmin KL(x ‖ now·e^-moved) + |x - goal|²/(2·slowness) among the tables with the goal's sums.

    At the minimum log x + x/slowness is the sum of the logarithm before, of goal/slowness and of one multiplier for
    each sum.  The multipliers are found by Newton's method, one axis after the other, beginning with ``shifts``, which
    are changed.
    """
    slowness, alive = goal.slowness, now > _TINY
    offset = np.log(now, out=np.zeros(now.shape), where=alive) - moved + goal.table / slowness - math.log(slowness)
    for axis, shift in enumerate(shifts):
        offset = offset + goal.margin.spread(shift, axis)
    offset = np.where(alive, offset, _DEAD)
    logs = omega(offset)
    for _ in range(_ROUNDS):
        largest = 0.0
        for axis, sums in enumerate(goal.sums):
            table = slowness * np.exp(logs)
            moves = 1 / (1 + table / slowness)
            gap = sums - goal.margin.sums(table, axis)
            slope = goal.margin.sums(table * moves, axis)
            step = np.clip(np.divide(gap, slope, out=np.zeros(gap.shape), where=slope > _TINY), -_LONGEST, _LONGEST)
            shifts[axis] += step
            wide = goal.margin.spread(step, axis)
            offset = offset + wide
            logs = omega(offset, logs + wide * moves)
            largest = max(largest, float(np.abs(gap).max(initial=0)))
        if largest <= _CLOSE * slowness:
            break
    return slowness * np.exp(logs)


def omega(values: Floats, near: Floats | None = None) -> Floats:
    """Return u with u + e^u = value, by Newton's method: from a point near it, or from above."""
    values = np.maximum(values, -700.0)
    found = np.where(values > 1, np.log(np.maximum(values, 1)), values) if near is None else np.maximum(near, -700.0)
    for _ in range(20):
        powers = np.exp(found)
        step = (found + powers - values) / (1 + powers)
        found = found - step
        if float(np.abs(step).max(initial=0)) < 1e-6:  # the next step would be below 1e-12
            break
    return found
