"""Tables over columns of which some form a hierarchy, such as counties within regions, that add up.

A chain is a row of columns from the coarsest to the finest: each key of one lies within one key of the column before.
A table holds at most one column of the chain, its finest: the cells by region and county are those by county.  Level 0
of the chain is the total, level l its column number l.  The keys are the nodes of a tree, which need not be balanced.

Claim U5 (tree).  For a set A of other columns let q_l = Σ 1/(σ_B²·N(B∖A)), over the measured B of level l that hold A
(N over columns outside the chain), be the precision of a node of level l, and y_l its mean, weighted by precision.
From the finest measured level up, with s and S the sums of z and V over the children of a node,
    V = 1/(q_l + 1/S),   z = V·(q_l·y_l + s/S);
then from the top down, with x and P those of the parent,
    x' = z + (V/S)·(x - s),   P' = V·(1 - V/S) + (V/S)²·P.
This x' is the least-squares estimate of each node, and P' is its variance.  Centred along A and put together as in
claim U1, they are the best linear unbiased tables; they agree along the chain and along all other columns.  A cell at
node v has the variance Σ P_A(v)·Π (1 - 1/nᵢ)/N(W∖A)².  A noisy cell of B at node u enters it with the weight of claim
U2, where K_A(u, v)/(σ_B²·N(B∖A)) takes the place of w_B(A), and K_A is the covariance of the estimates of two nodes.
Nodes that a symmetry of the tree exchanges have the same law.

Method: Hay et al. (2010); for trees that are not balanced, Cumings-Menon (2024).  Proof: docs/explanation/tables.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameter, InvalidRequest, Shown
from .tables import (
    Axes,
    EqualCells,
    Floats,
    cells,
    check_measured,
    corners,
    exact_or_float,
    margins,
    mixed,
    subsets,
    without,
)

Integers = NDArray[np.int64]

_DIGITS = 12
"""Weights are rounded to so many decimal places of the largest, so that equal ones are found."""


@dataclass(frozen=True)
class Chain:
    """Columns from the coarsest to the finest, each key of which lies within a key of the column before.

    Args:
        columns: their numbers.
        within: for each column but the first, the key (by its number) of the column before that each key lies in.
    """

    columns: Axes
    within: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "within", tuple(tuple(int(key) for key in each) for each in self.within))
        if len(self.columns) < 2 or len(self.within) != len(self.columns) - 1:
            raise InvalidParameter(self.columns, "columns", "two or more, with one list of keys for each but the first")
        above = max(self.within[0], default=-1) + 1
        for each in self.within:
            if set(each) != set(range(above)):
                asked = Shown("a list that leaves out a key")
                raise InvalidParameter(asked, "within", "for each key one of the column before, and all of those")
            above = len(each)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level."""
        return (1, max(self.within[0]) + 1, *(len(each) for each in self.within))

    def parents(self, level: int) -> Integers:
        """Return, for each node of a level, its parent at the level before."""
        if level == 1:
            return np.zeros(self.sizes[1], dtype=np.int64)
        return np.array(self.within[level - 2], dtype=np.int64)

    def order(self, level: int) -> Integers:
        """Return the nodes of a level in an order in which those of one parent are adjacent, at all levels."""
        if level <= 1:
            return np.arange(self.sizes[level])
        places = np.argsort(self.order(level - 1))
        return np.argsort(places[self.parents(level)], kind="stable")

    def level(self, table: Axes) -> int:
        """Return the finest level of the chain in a table."""
        return max((self.columns.index(i) + 1 for i in table if i in self.columns), default=0)

    def others(self, table: Axes) -> Axes:
        """Return the columns of a table outside the chain."""
        return without(table, self.columns)

    def table(self, level: int, others: Axes) -> Axes:
        """Return the table of a level and some other columns."""
        return tuple(sorted((*others, *self.columns[level - 1 : level])))

    def canonical(self, table: Axes) -> Axes:
        """Return a table without the columns that a finer one of the chain implies."""
        return self.table(self.level(table), self.others(table))

    def closure(self, tables: Iterable[Axes]) -> list[Axes]:
        """Return all tables that are sums of the given ones, the smallest first."""
        found = {
            (level, others)
            for table in tables
            for level in range(self.level(table) + 1)
            for others in subsets(self.others(table))
        }
        ordered = sorted(found, key=lambda each: (len(each[1]) + (each[0] > 0), each[0], each[1]))
        return [self.table(level, others) for level, others in ordered]

    def alike(self, level: int) -> Integers:
        """Return a number for each node of a level: nodes with the same number have the same law (claim U5)."""
        shapes = [np.zeros(self.sizes[-1], dtype=np.int64)]
        for below in range(len(self.sizes) - 1, 0, -1):
            shapes.append(_shapes(self.parents(below), shapes[-1], self.sizes[below - 1]))
        shapes.reverse()
        numbers = np.zeros(1, dtype=np.int64)
        for here in range(1, level + 1):
            pairs = np.stack([numbers[self.parents(here)], shapes[here]], axis=1)
            numbers = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        return numbers


def _shapes(parents: Integers, shapes: Integers, nodes: int) -> Integers:
    """Return a number for each parent, the same if its children have the same shapes in some order."""
    order = np.lexsort((shapes, parents))
    ends = np.cumsum(np.bincount(parents, minlength=nodes))[:-1]
    texts = [part.tobytes() for part in np.split(shapes[order], ends)]
    known = {text: number for number, text in enumerate(sorted(set(texts)))}
    return np.array([known[text] for text in texts], dtype=np.int64)


# ── two passes ───────────────────────────────────────────────────────────────────────────────────────────────


class Passes(NamedTuple):
    """The tree for one set of other columns: V and S of claim U5 at each level down to the finest measured one."""

    chain: Chain
    precisions: tuple[float, ...]
    spreads: tuple[Floats, ...]
    below: tuple[Floats, ...]

    def estimate(self, means: Mapping[int, Floats]) -> list[Floats]:
        """Return the estimates of all nodes, from the means of the measured levels, with any number of columns."""
        finest = len(self.precisions) - 1
        best, sums = [np.array(means[finest], dtype=np.float64)], []
        for level in range(finest - 1, -1, -1):
            below = gathered(self.chain, level + 1, best[-1])
            sums.append(below)
            best.append(self._combined(level, means.get(level), below))
        found = [best.pop()]
        for level in range(1, finest + 1):
            parents = self.chain.parents(level)
            ratio = _ratio(self.spreads[level], self.below[level - 1][parents])
            excess = (found[-1] - sums.pop())[parents]
            found.append(best.pop() + _column(ratio, excess) * excess)
        return found

    def _combined(self, level: int, own: Floats | None, below: Floats) -> Floats:
        """Return z of claim U5."""
        precision = self.precisions[level]
        if own is None or not precision:
            return below
        if math.isinf(precision):
            return np.array(own, dtype=np.float64)
        share = _column(self.spreads[level] * precision, below)
        return np.asarray(share * own + (1 - share) * below)

    def variances(self) -> list[Floats]:
        """Return the variances of the estimates of all nodes."""
        found = [self.spreads[0]]
        for level in range(1, len(self.precisions)):
            parents = self.chain.parents(level)
            ratio = _ratio(self.spreads[level], self.below[level - 1][parents])
            found.append(self.spreads[level] * (1 - ratio) + ratio**2 * found[-1][parents])
        return found

    def covariances(self, level: int, node: int) -> list[Floats]:
        """Return the covariances of all estimates with that of one node."""
        finest = len(self.precisions) - 1
        inside = np.arange(self.chain.sizes[level]) == node
        for below in range(level + 1, finest + 1):
            inside = inside[self.chain.parents(below)]
        means = {each: np.zeros(self.chain.sizes[each]) for each in range(finest)}
        return self.estimate({**means, finest: inside * self.spreads[finest]})


def passes(chain: Chain, precisions: Sequence[float]) -> Passes:
    """Return the tree whose levels are measured with these precisions; the last is above 0."""
    finest = len(precisions) - 1
    spreads, below = [np.full(chain.sizes[finest], 1 / precisions[finest])], []
    for level in range(finest - 1, -1, -1):
        below.append(gathered(chain, level + 1, spreads[-1]))
        known = math.isinf(precisions[level])
        spreads.append(np.zeros_like(below[-1]) if known else below[-1] / (1 + precisions[level] * below[-1]))
    return Passes(chain, tuple(precisions), tuple(reversed(spreads)), tuple(reversed(below)))


def gathered(chain: Chain, level: int, values: Floats) -> Floats:
    """Return the sums of the values of a level over the children of each node of the level before."""
    parents = chain.parents(level)
    order = np.argsort(parents, kind="stable")
    starts = np.searchsorted(parents[order], np.arange(chain.sizes[level - 1]))
    return np.asarray(np.add.reduceat(values[order], starts, axis=0))


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return V/S, and 0 where everything is known."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _column(factors: Floats, like: Floats) -> Floats:
    """Return factors for nodes in a shape that multiplies all other columns."""
    return factors.reshape(-1, *(1,) * (like.ndim - 1))


# ── the tables ───────────────────────────────────────────────────────────────────────────────────────────────


def precisions(shape: Sequence[int], chain: Chain, variances: Mapping[Axes, float], others: Axes) -> list[float]:
    """Return q_l of claim U5 for a set of other columns, down to the finest level that was measured with them."""
    found = [0.0] * len(chain.sizes)
    for table, variance in variances.items():
        held = chain.others(table)
        if set(others).issubset(held):
            count = cells(shape, without(held, others))
            found[chain.level(table)] += 1 / (variance * count) if variance else math.inf
    while found and not found[-1]:
        found.pop()
    return found


def reconstruct(
    shape: Sequence[int],
    chain: Chain,
    noisy: Mapping[Axes, NDArray[Any]],
    variances: Mapping[Axes, float],
    asked: Iterable[Axes],
) -> dict[Axes, Floats]:
    """Return each asked table from noisy ones (claim U5); all tables hold at most one column of the chain."""
    asked = list(asked)
    check_measured(noisy, variances)
    _needed(shape, chain, list(noisy))
    found: dict[tuple[int, Axes], Floats] = {}
    for others, finest in _needed(shape, chain, asked).items():
        tree = _tree(shape, chain, variances, others, finest)
        estimates = tree.estimate(_means(shape, chain, noisy, variances, others))
        for level in range(finest + 1):
            table = estimates[level]
            for place, i in enumerate(others, start=1):
                change = found[level, without(others, (i,))] - table.sum(axis=place)
                table = table + np.expand_dims(change / shape[i], place)
            found[level, others] = table
    return {table: _shaped(shape, chain, table, found) for table in asked}


def _needed(shape: Sequence[int], chain: Chain, asked: Sequence[Axes]) -> dict[Axes, int]:
    """Return each set of other columns that is needed, the smallest first, with its finest level."""
    if tuple(shape[i] for i in chain.columns) != chain.sizes[1:]:
        raise InvalidParameter(tuple(shape), "shape", f"{chain.sizes[1:]} for the columns {chain.columns}")
    found: dict[Axes, int] = {}
    for table in asked:
        if chain.canonical(table) != table:
            raise InvalidParameter(table, "table", "without a column that a finer one of its hierarchy implies")
        for others in subsets(_several(shape, chain.others(table))):
            found[others] = max(found.get(others, 0), chain.level(table))
    return dict(sorted(found.items(), key=lambda item: (len(item[0]), item[0])))


def _several(shape: Sequence[int], axes: Axes) -> Axes:
    """Return the columns that have more than one key."""
    return tuple(i for i in axes if shape[i] > 1)


def _tree(shape: Sequence[int], chain: Chain, variances: Mapping[Axes, float], others: Axes, finest: int) -> Passes:
    found = precisions(shape, chain, variances, others)
    if len(found) <= finest:
        raise InvalidRequest(
            f"No measured table has the columns {chain.table(finest, others)} together",
            "Measure a table that has them, or ask for smaller tables.",
        )
    return passes(chain, found)


def _means(
    shape: Sequence[int],
    chain: Chain,
    noisy: Mapping[Axes, NDArray[Any]],
    variances: Mapping[Axes, float],
    others: Axes,
) -> dict[int, Floats]:
    """Return the weighted mean of the measured tables of each level, summed to the other columns; nodes come first."""
    totals = precisions(shape, chain, variances, others)
    found: dict[int, Floats] = {}
    for table, given in noisy.items():
        level, held = chain.level(table), chain.others(table)
        if not set(others).issubset(held):
            continue
        kept = chain.table(level, others)
        known = variances[table] == 0
        spread = variances[table] * cells(shape, without(held, others))
        if math.isinf(totals[level]):
            if not known or level in found:
                continue
            weight = 1.0
        else:
            weight = 1 / (spread * totals[level])
        cells_here = _summed(shape, table, given, kept)
        first = np.moveaxis(cells_here, kept.index(chain.columns[level - 1]), 0) if level else cells_here[None]
        found[level] = found.get(level, 0.0) + weight * first.astype(np.float64)
    return found


def _summed(shape: Sequence[int], table: Axes, given: NDArray[Any], kept: Axes) -> NDArray[Any]:
    return margins(shape, table, exact_or_float(given), [kept])[kept]


def _shaped(shape: Sequence[int], chain: Chain, table: Axes, found: Mapping[tuple[int, Axes], Floats]) -> Floats:
    """Return a table with its axes in the order of its columns."""
    level, others = chain.level(table), chain.others(table)
    cells_here = found[level, _several(shape, others)]
    cells_here = cells_here.reshape([chain.sizes[level], *(shape[i] for i in others)])
    return np.moveaxis(cells_here, 0, table.index(chain.columns[level - 1])) if level else cells_here[0]


def variance(shape: Sequence[int], chain: Chain, variances: Mapping[Axes, float], table: Axes) -> Floats:
    """Return the variance of a cell at each node of the table's level; one number if it has no column of the chain."""
    level, others = chain.level(table), _several(shape, chain.others(table))
    total = np.zeros(chain.sizes[level])
    for axes in subsets(others):
        factor = math.prod(1 - 1 / shape[i] for i in axes) / cells(shape, without(others, axes)) ** 2
        total += factor * _tree(shape, chain, variances, axes, level).variances()[level]
    return total


def draws(
    shape: Sequence[int], chain: Chain, variances: Mapping[Axes, float], table: Axes, node: int = 0
) -> list[EqualCells]:
    """Return the weights of all noisy cells in a cell at one node, equal ones together (claim U5)."""
    level, others = chain.level(table), _several(shape, chain.others(table))
    shared = {
        axes: (
            _tree(shape, chain, variances, axes, level).covariances(level, node),
            1 / cells(shape, without(others, axes)),
        )
        for axes in subsets(others)
    }
    found: list[EqualCells] = []
    for measured, spread in variances.items():
        if spread:
            found += _draws_from(shape, chain, measured, spread, others, shared)
    return found


def _draws_from(
    shape: Sequence[int],
    chain: Chain,
    measured: Axes,
    spread: float,
    others: Axes,
    shared: Mapping[Axes, tuple[list[Floats], float]],
) -> Iterator[EqualCells]:
    """Yield the cells of one measured table."""
    held, level = chain.others(measured), chain.level(measured)
    common = tuple(i for i in others if i in held)
    rows = []
    for axes in corners(common):
        covariances, repeated = shared[axes]
        rows.append(covariances[level] * (repeated / (spread * cells(shape, without(held, axes)))))
    values = mixed(shape, common, np.array(rows))
    beyond = cells(shape, without(held, common))
    unit = float(np.abs(values).max())
    for same_keys, weights in zip(corners(common), values, strict=True):
        times = beyond * math.prod(shape[i] - 1 for i in common if i not in same_keys)
        distinct, counts = np.unique(np.rint(weights / (unit or 1.0) * 10**_DIGITS), return_counts=True)
        for weight, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            if weight and times:
                yield EqualCells(weight / 10**_DIGITS * unit, measured, times * count)
