"""Released tables → a view without negative numbers, whose tables add up, and synthetic rows from it.

Given noisy tables and their variances, and nothing else, a distribution of weights over the cells of a joint table is
chosen; every table of the view is counted from these weights:
- the total is the unbiased one, or 0 if that is negative, or a public number if there is one;
- at first the columns are independent, and the table of one column is the closest one to the unbiased table without
  negative numbers that has this total (least squares): of all weights with these tables they have the most entropy;
- then come five steps.  With z the weights before, M_A z the table A counted from them, y_A a released table and s_A
  the deviation of its cells, the weights become
      z' = argmin KL(z' ‖ z) + Σ |M_A z' - y_A|² / (2·c·s_A)   among all z' ≥ 0 with the total; c = 8.
  In four steps the sum is over the unbiased tables: those asked for, those measured, and all their parts.  In the fifth
  it is over the noisy tables as they were measured.

A step moves a cell of size m by about m/(m + c·s) of the way: what is well above the noise follows the released
numbers, and what is not stays near what the other tables say.

Claim U8 (view).  All tables of a view are ≥ 0 and multiples of one power of two (1 if ``rounded``), and the sums of a
table over any columns are the cells of its smaller table, without any rounding.  If a total is given, they have it.
A view depends on its arguments alone, and those have been released or are public: it costs no ε.

The view is biased: numbers that the noise made negative are raised, and to keep the totals others are lowered.  It has
no error bars; the unbiased tables have them.

Proof: docs/explanation/nonnegative.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import exact
from . import hierarchy
from .apportion import apportioned
from .support import SAMPLE, Integers, Joint, Margin, Support, sampled
from .tables import Axes, Floats, closure, reconstruct, table_variances

MOST_CELLS = 2**22
MOST_WORK = 2**24
"""A joint table with more cells, or more cells times tables, is represented by a sample of its cells."""

MOST_ROWS = 10**8
"""The largest number of synthetic rows."""

_STEPS = 4
"""Towards the unbiased tables; one more is towards the measured ones."""
_SLOWNESS = 8.0
"""c: how many deviations a cell must have to move half of the way in one step."""

_SWEEPS = 12
_SETTLED = 0.05
"""Tables are fitted in turn until none moves by more than this part of its deviation, or so many times."""

_ROUNDS = 30
_CLOSE = 1e-2
_LONGEST = 4.0
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
    parts = _parts(noisy, asked, chain)
    if chain:
        unbiased = hierarchy.reconstruct(shape, chain, noisy, variances, parts)
        spreads = {part: float(hierarchy.variance(shape, chain, variances, part).mean()) for part in parts}
    else:
        unbiased = reconstruct(shape, noisy, variances, parts)
        spreads = table_variances(shape, variances, parts)
    size = max(float(unbiased[()]) if total is None else float(total), 0.0)
    unit = _unit(size)
    size = round(size / unit) * unit
    finest = max((chain.level(part) for part in parts), default=0) if chain else 0
    coarse = chain.columns[: max(finest - 1, 0)] if chain else ()
    axes = tuple(sorted({axis for part in parts for axis in part} - set(coarse)))
    ways = {part: _margin(part, axes, chain, finest) for part in parts}

    def wanted(table: Axes, cells: NDArray[Any], variance: float) -> _Wanted:
        slowness = max(math.sqrt(variance), _LEAST, _FINE * size) * _SLOWNESS
        return _Wanted(ways[table], ways[table].counted(cells.astype(np.float64)), slowness)

    support, weights = _fitted(
        tuple(shape[axis] for axis in axes),
        [wanted(part, unbiased[part], spreads[part]) for part in parts],
        [wanted(part, noisy[part], variances[part]) for part in parts if part in noisy],
        size,
    )
    return View(axes, {table: ways[table] for table in asked}, support, weights, size)


def _parts(measured: Iterable[Axes], asked: Sequence[Axes], chain: hierarchy.Chain | None) -> list[Axes]:
    """Return the tables asked for, measured ones without other columns, and all their parts, the smallest first."""
    below = chain.closure if chain else closure
    columns = {column for part in below(asked) for column in part}
    return below([*asked, *(table for table in measured if columns.issuperset(table))])


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


# ── where to start ────────────────────────────────────────────────────────────────────────────────────────────────────


class _Wanted(NamedTuple):
    """How a table is counted, its unbiased cells, and how slowly the weights move towards it (c·s_A)."""

    margin: Margin
    table: Floats
    slowness: float


def _fitted(
    shape: tuple[int, ...], wanted: Sequence[_Wanted], measured: Sequence[_Wanted], total: float
) -> tuple[Support, Floats]:
    """Return the cells of the joint table and their weights."""
    cells = math.prod(shape)
    small = cells <= max(MOST_CELLS, 1) and cells * len(wanted) <= MOST_WORK
    if total <= 0:
        return (
            (Joint(shape), np.zeros(shape)) if small else (sampled([np.ones(n) for n in shape], {}), np.zeros(SAMPLE))
        )
    singles = _singles(wanted, total)
    support, weights = (_independent if small else _drawn)(singles, wanted, total)
    different = [want for want in wanted if want.table.shape and 1 not in want.table.shape]  # from each smaller one
    for _ in range(_STEPS):
        weights = _pulled(support, weights, different, total)
    return support, _pulled(support, weights, [want for want in measured if want.table.shape], total)


def _singles(wanted: Sequence[_Wanted], total: float) -> list[Floats]:
    """Return the table of each column: those of a hierarchy from the coarsest to the finest, within the coarser one."""
    found: dict[int, Floats] = {}
    for margin, table, _ in wanted:
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
    for margin, table, slowness in wanted:
        if len(margin.axes) == 2 and margin.nodes is None:
            first, second = margin.axes
            product = np.multiply.outer(singles[first], singles[second]) / total
            alone = _Wanted(Margin((0, 1)), table, slowness)
            for _ in range(_STEPS):
                product = _pulled(Joint(product.shape), product, [alone], total)
            pairs[first, second] = product
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


# ── the steps ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _pulled(support: Support, weights: Floats, tables: Sequence[_Wanted], total: float) -> Floats:
    """Return the weights after one step towards the tables wanted, the smallest of which come first.

    The minimum is found by taking one table after the other, each to its own minimum given the others: ascent in the
    blocks of the dual problem, as iterative proportional fitting is.  The parts of a table are fitted along with it,
    counted from it and not from all cells.
    """
    goals = [_goal(want, total) for want in tables]
    moved = [np.zeros(goal.shape) for goal in goals]
    blocks = _blocks(tables)
    for _ in range(_SWEEPS):
        largest = 0.0
        for margin, parts in blocks:
            before = margin.count(support, weights)
            cells, after = Joint(before.shape), before
            for place, part in parts:
                slowness, now = tables[place].slowness, part.count(cells, after)
                factors = _towards(now, moved[place], goals[place], slowness, total)
                after = part.scale(cells, after, factors)
                largest = max(largest, float(np.abs(now * (factors - 1)).max(initial=0)) / slowness)
            weights = margin.scale(support, weights, _ratio(after, before))
        if largest * _SLOWNESS <= _SETTLED:
            break
    return weights


def _blocks(tables: Sequence[_Wanted]) -> list[tuple[Margin, list[tuple[int, Margin]]]]:
    """Return the tables that are not part of another, each with its parts: their places, and how they are counted."""
    found: list[tuple[Margin, list[tuple[int, Margin]]]] = []
    seen: set[int] = set()
    for place in reversed(range(len(tables))):
        if place not in seen:
            margin = tables[place].margin
            ways = ((each, tables[each].margin.of(margin)) for each in reversed(range(place + 1)))
            parts = [(each, way) for each, way in ways if way]
            seen.update(each for each, _ in parts)
            found.append((margin, parts))
    return found[::-1]


def _towards(now: Floats, moved: Floats, goal: Floats, slowness: float, total: float) -> Floats:
    """Return what the cells of a table are multiplied with, and put into ``moved`` how far they are moved in all."""
    alive = now > _TINY  # the others stay empty
    found = nearest(np.log(now[alive]) - moved[alive], goal[alive], slowness, total)
    moved[alive] = (goal[alive] - found) / slowness
    factors = np.zeros(now.shape)
    factors[alive] = found / now[alive]
    return factors


def _ratio(wanted: Floats, now: Floats) -> Floats:
    """Return what the cells are multiplied with; empty ones stay empty."""
    return np.divide(wanted, now, out=np.zeros(now.shape), where=now > _TINY)


def _goal(want: _Wanted, total: float) -> Floats:
    """Return the unbiased table, shifted to the total of the view."""
    far = total + _FAR * want.slowness
    return np.asarray((want.table + (total - want.table.sum()) / want.table.size).clip(-far, far))


def nearest(logs: Floats, goal: Floats, slowness: float, total: float) -> Floats:
    """Return argmin KL(x ‖ e^logs) + |x - goal|²/(2·slowness) among the x ≥ 0 with this total.

    At the minimum log x + x/slowness is logs + goal/slowness + t, with one number t for all cells.  Newton's method
    finds it.
    """
    offset = logs + goal / slowness - math.log(slowness)
    found = omega(offset)
    shift = 0.0
    for _ in range(_ROUNDS):
        table = slowness * np.exp(found)
        gap = total - float(table.sum())
        if abs(gap) <= _CLOSE * min(slowness, total):
            break
        moves = 1 / (1 + table / slowness)
        slope = float((table * moves).sum())
        step = min(max(gap / slope if slope > _TINY else _LONGEST, -_LONGEST), _LONGEST)
        shift += step
        found = omega(offset + shift, found + step * moves)
    return np.asarray(slowness * np.exp(found))


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
