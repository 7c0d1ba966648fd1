"""Cells of a joint table that carry weights: all of them, or a sample where they are too many.

A table is counted from the weights of the cells, whatever the weights are.  So tables that are counted from the same
cells agree with each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tables import Axes, Floats

Integers = NDArray[np.int64]

SAMPLE = 2**17
"""How many cells are drawn from a joint table that is too large."""

_SEED = 19


@dataclass(frozen=True)
class Joint:
    """All cells of a joint table; weights have the shape of the table."""

    shape: tuple[int, ...]

    def table(self, weights: NDArray[Any], axes: Axes) -> NDArray[Any]:
        """Return the sums of the weights over all other axes."""
        return np.asarray(weights.sum(axis=tuple(axis for axis in range(len(self.shape)) if axis not in axes)))

    def scaled(self, weights: Floats, axes: Axes, factors: Floats) -> Floats:
        """Return the weights, each times the factor of the cell of a table that it is in."""
        return weights * factors.reshape([n if axis in axes else 1 for axis, n in enumerate(self.shape)])

    @property
    def codes(self) -> Integers:
        """The numbers of the keys of each cell: a row for each cell, in the order of the weights."""
        return np.indices(self.shape, dtype=np.int64).reshape(len(self.shape), math.prod(self.shape)).T


@dataclass(frozen=True, eq=False)
class Sampled:
    """Some cells of a joint table, a weight for each; a cell may occur several times."""

    shape: tuple[int, ...]
    codes: Integers
    known: dict[Axes, Integers] = field(default_factory=dict)
    """The places of the cells in the tables that were counted: they are looked at again and again."""

    def table(self, weights: NDArray[Any], axes: Axes) -> NDArray[Any]:
        """Return the sums of the weights of the cells that are in each cell of a table."""
        sizes = [self.shape[axis] for axis in axes]
        sums = np.bincount(self._places(axes), weights, math.prod(sizes)).reshape(sizes)
        return sums.astype(weights.dtype, copy=False)  # integers come as floats, exact below 2^53

    def scaled(self, weights: Floats, axes: Axes, factors: Floats) -> Floats:
        """Return the weights, each times the factor of the cell of a table that it is in."""
        return np.asarray(weights * factors.ravel()[self._places(axes)])

    def _places(self, axes: Axes) -> Integers:
        if axes not in self.known:
            self.known[axes] = places(self.codes, self.shape, axes)
        return self.known[axes]


Support = Joint | Sampled


@dataclass(frozen=True, eq=False)
class Margin:
    """A table that is counted from cells; the keys of one axis may lie within those of a coarser column.

    Args:
        axes: the axes of the cells that it has.
        place: the place of the axis with a hierarchy among them.
        nodes: for each key of that axis of the cells, the key of the table that it is in; None if these are the same.
        parents: for each key of that axis of the table, the key of the next coarser column; None if there is none.
        order: the places of the axes in the order in which they are shown; None if that is the same.
    """

    axes: Axes
    place: int = 0
    nodes: Integers | None = None
    parents: Integers | None = None
    order: Axes | None = None

    def shown(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return a counted table with its axes as they are shown."""
        return table if self.order is None else table.transpose(self.order)

    def counted(self, table: Floats) -> Floats:
        """Return a table that is shown with its axes as they are counted."""
        return table if self.order is None else table.transpose(np.argsort(self.order))

    def count(self, support: Support, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the table."""
        table = support.table(weights, self.axes)
        return table if self.nodes is None else gathered(table, self.place, self.nodes)

    def scale(self, support: Support, weights: Floats, factors: Floats) -> Floats:
        """Return the weights, each times the factor of the cell of the table that it is in."""
        fine = factors if self.nodes is None else factors.take(self.nodes, axis=self.place)
        return support.scaled(weights, self.axes, fine)

    def of(self, table: Margin) -> Margin | None:
        """Return how this table is counted from another one, None if it is not a part of that."""
        if not set(self.axes).issubset(table.axes):
            return None
        axes, nodes = tuple(table.axes.index(axis) for axis in self.axes), self.nodes
        if table.nodes is not None and table.axes[table.place] in self.axes:
            if nodes is None:
                return None  # its keys are finer
            coarser = np.zeros(table.nodes.max() + 1, dtype=np.int64)
            coarser[table.nodes] = nodes
            if (coarser[table.nodes] != nodes).any():
                return None
            nodes = coarser
        return Margin(axes, self.place, nodes)


def gathered(table: NDArray[Any], axis: int, groups: Integers) -> NDArray[Any]:
    """Return the sums along an axis over the keys of each group; no group is empty."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(groups.max() + 1))
    return np.asarray(np.add.reduceat(table.take(order, axis=axis), starts, axis=axis))


def places(codes: Integers, shape: Sequence[int], axes: Axes) -> Integers:
    """Return the number of the cell of a table that each row of codes is in."""
    found = np.zeros(len(codes), dtype=np.int64)
    for axis in axes:
        found *= shape[axis]
        found += codes[:, axis]
    return found


# ── a sample of cells ────────────────────────────────────────────────────────────────────────────────────────


def sampled(singles: Sequence[Floats], pairs: Mapping[Axes, Floats]) -> Sampled:
    """Draw cells from a tree of the pairs of columns that depend on each other most.

    It is the tree of Chow and Liu (1968): the one that is closest to a distribution with these tables of pairs.  The
    seed is fixed, so that the same tables give the same cells.

    Args:
        singles: the table of each column.
        pairs: tables of pairs of columns; where none connects two columns, they are drawn independently.
    """
    uniform = np.random.default_rng(_SEED)
    codes = np.zeros((SAMPLE, len(singles)), dtype=np.int64, order="F")  # columns are read one by one
    for column, parent in branches(len(singles), {pair: dependence(table) for pair, table in pairs.items()}):
        draws = uniform.random(SAMPLE)
        if parent is None:
            codes[:, column] = _chosen(singles[column], draws)
            continue
        table = pairs[parent, column] if parent < column else pairs[column, parent].T
        for key, chances in enumerate(table):
            rows = codes[:, parent] == key
            codes[rows, column] = _chosen(chances, draws[rows])
    return Sampled(tuple(len(single) for single in singles), codes)


def branches(columns: int, links: Mapping[Axes, float]) -> list[tuple[int, int | None]]:
    """Return each column with its parent in the tree of the strongest links, parents first."""
    found: dict[int, int | None] = {}
    while len(found) < columns:
        open_links = [pair for pair in links if (pair[0] in found) != (pair[1] in found)]
        if open_links:
            first, second = max(open_links, key=lambda pair: links[pair])
            column, parent = (second, first) if first in found else (first, second)
            found[column] = parent
        else:
            found[min(set(range(columns)) - set(found))] = None
    return list(found.items())


def dependence(table: Floats) -> float:
    """Return the mutual information of the two columns of a table."""
    total = table.sum()
    if total <= 0:
        return 0.0
    shares = table / total
    independent = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    kept = shares > 0
    return float((shares[kept] * np.log(shares[kept] / independent[kept])).sum())


def _chosen(chances: Floats, draws: Floats) -> Integers:
    """Return a key for each draw, with the given chances; all keys alike if no key has a chance."""
    sums = np.cumsum(chances if chances.sum() > 0 else np.ones_like(chances))
    last = int(np.searchsorted(sums, sums[-1]))  # the last key with a chance
    return np.asarray(np.minimum(np.searchsorted(sums, draws * sums[-1], side="right"), last))
