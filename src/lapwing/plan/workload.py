"""How the variances of the tables asked for follow from the precisions of the tables that may be measured.

Claims U2 and U5 for many strategies at once, as matrices: S = G·p holds the precision of each part (a set of columns,
and with a chain a level), spreads are 1/S or those of a tree, and V = K·spreads.  Gradients are taken backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..measure.hierarchy import Chain, Integers
from ..measure.tables import Axes, Floats, closure

Gradient = Callable[[Floats], Floats]
Sets = NDArray[np.bool_]

_NOTHING = 1e-40
"""The precision of what no table measures, so that nothing is divided by 0."""

_ON_ONE_CORE = 2**18
"""Products of matrices that take at most so many multiplications are not divided among cores."""

_SPARSE = 30
"""A list of entries is faster from so many times fewer entries on."""

_AT_ONCE = 2**20
"""How many numbers are held in memory at a time."""


class Workload:
    """The tables asked for, and the tables that may be measured for them.

    Args:
        shape: the number of keys of each column.
        asked: the tables asked for.
        candidates: the tables that may be measured.
        chain: columns that lie within each other, if there are such.
    """

    needs: Sets
    """For each part of what is asked for, which candidates tell about it."""

    def __init__(
        self,
        shape: Sequence[int],
        asked: Sequence[Axes],
        candidates: Sequence[Axes],
        chain: Chain | None = None,
    ) -> None:
        self._nodes = None if chain is None else _Nodes(chain)
        levels = len(chain.sizes) if chain else 1
        alive = {i for i, keys in enumerate(shape) if keys > 1} - set(chain.columns if chain else ())
        parts = closure(tuple(i for i in table if i in alive) for table in asked)
        self._shape = len(parts), levels
        keys = np.array([shape[i] if i in alive else 1 for i in range(len(shape))], dtype=np.float64)
        small, wanted, large = (_incidence(each, keys) for each in (parts, asked, candidates))

        def apart(matrix: Floats, tables: Iterable[Axes]) -> Floats:
            """Return a row for each part and level, where only tables of this level count."""
            at = np.array([[chain.level(table) if chain else 0] for table in tables], dtype=np.int64).reshape(-1)
            spread = matrix[:, None, :] * (at == np.arange(levels)[:, None])
            return np.asarray(spread.reshape(len(parts) * levels, len(at)))

        gains = apart(_spread(small, large, keys, 1), candidates)
        centred = np.exp((small * np.log1p(-1 / np.maximum(keys, 1.5))).sum(axis=1))
        effects = apart(_spread(small, wanted, keys, 2) * centred[:, None], asked)
        self._gains, self._gains_back = _Matrix(gains.T), _Matrix(gains)
        self._effects, self._effects_back = _Matrix(effects), _Matrix(effects.T)
        self.needs = _needs(small, wanted, large, asked, candidates, chain)

        self.size = min(gains.size, _SPARSE * int(np.count_nonzero(gains))) + (
            0 if self._nodes is None else 16 * len(gains) * self._nodes.most
        )
        """How much work one strategy is."""

    def variances(self, precisions: Floats) -> tuple[Floats, Gradient]:
        """Return a row of variances for each row of precisions, and a function of gradients.

        The function takes the derivatives of any number with respect to the variances, and returns those with respect
        to the precisions, both row by row, without their minus sign.
        """
        inner = self._gains.times(precisions)
        spreads, back = _alone(inner) if self._nodes is None else self._nodes.spreads(inner.reshape(-1, *self._shape))

        def gradients(by_variance: Floats) -> Floats:
            return self._gains_back.times(back(self._effects_back.times(by_variance)))

        return self._effects.times(spreads), gradients


class _Matrix:
    """A fixed matrix that rows are multiplied with, on one core: other cores may be busy, and waiting for them is slow.

    A matrix that is mostly 0, or large, is held as a list of its entries that are not.  Others are multiplied in parts
    so small that libraries of linear algebra use one core.  Where there are several rows, a part has several, too: for
    a single row these libraries take more cores much earlier.
    """

    def __init__(self, dense: Floats) -> None:
        self._dense = np.ascontiguousarray(dense)
        self._sparse = np.count_nonzero(dense) * _SPARSE < dense.size or 2 * dense.size > _ON_ONE_CORE
        columns, self._rows = np.nonzero(dense.T)
        self._values = dense.T[columns, self._rows]
        self._filled, self._starts = np.unique(columns, return_index=True)

    def times(self, rows: Floats) -> Floats:
        """Return rows times the matrix."""
        found = np.zeros((len(rows), self._dense.shape[1]))
        size = len(self._values) if self._sparse else self._dense.size
        step = max((_AT_ONCE if self._sparse else _ON_ONE_CORE) // max(size, 1), 1)
        for first in range(0, len(rows), step):
            part = rows[first : first + step]
            if not self._sparse:
                np.matmul(part, self._dense, out=found[first : first + step])
            elif size:
                terms = np.take(part, self._rows, axis=1)
                terms *= self._values
                found[first : first + step, self._filled] = np.add.reduceat(terms, self._starts, axis=1)
        return found


def _alone(precisions: Floats) -> tuple[Floats, Gradient]:
    """Return the variances of parts that tell nothing about each other, and their gradients."""
    spreads = 1 / np.maximum(precisions, _NOTHING)
    return spreads, lambda gradient: gradient * spreads**2


def _incidence(tables: Sequence[Axes], keys: Floats) -> Sets:
    """Return a row for each table that says which columns with several keys it has."""
    rows = [[i in table and keys[i] > 1 for i in range(len(keys))] for table in tables]
    return np.array(rows, dtype=bool).reshape(-1, len(keys))


def _within(small: Sets, large: Sets) -> Sets:
    """Say which small set is in which large one."""
    return np.asarray((small.astype(np.int64) @ (~large).T.astype(np.int64)) == 0)


def _spread(small: Sets, large: Sets, keys: Floats, power: int) -> Floats:
    """Return N(large∖small)^-power where the small set is in the large one, and 0 elsewhere."""
    logs = np.log(keys)
    beyond: Floats = (large @ logs)[None, :] - (small @ logs)[:, None]
    return np.where(_within(small, large), np.exp(-power * np.maximum(beyond, 0.0)), 0.0)


def _needs(
    small: Sets, wanted: Sets, large: Sets, asked: Sequence[Axes], candidates: Sequence[Axes], chain: Chain | None
) -> Sets:
    """Return, for each part, which candidates have it at the finest level that is asked for."""
    found = _within(small, large)
    if chain:
        finest = np.where(_within(small, wanted), [chain.level(table) for table in asked], 0).max(axis=1)
        found &= np.array([chain.level(table) for table in candidates]) >= finest[:, None]
    return found


# ── the tree ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Nodes:
    """The nodes of a chain, those together that have the same law, and their mean variances (claim U5)."""

    chain: Chain

    @cached_property
    def _levels(self) -> list[tuple[Integers, Floats, Floats]]:
        """For each level: the parent of each kind of node, how many each parent has, and its part of all nodes."""
        found = [(np.zeros(1, dtype=np.int64), np.ones(1), np.ones(1))]
        above = np.zeros(1, dtype=np.int64)
        totals = np.ones(1)
        for level in range(1, len(self.chain.sizes)):
            kinds = self.chain.alike(level)
            first = np.unique(kinds, return_index=True)[1]
            parents = above[self.chain.parents(level)[first]]
            counts = np.bincount(kinds).astype(np.float64)
            found.append((parents, counts / totals[parents], counts / counts.sum()))
            above, totals = kinds, counts
        return found

    @property
    def most(self) -> int:
        """The largest number of kinds at a level."""
        return max(len(parents) for parents, _, _ in self._levels)

    def spreads(self, precisions: Floats) -> tuple[Floats, Gradient]:
        """Return the mean variance of the nodes of each level, for precisions of rows, parts and levels."""
        count = len(self._levels)
        up, below = self._up(precisions)
        variances = [up[0]]
        for level in range(1, count):
            parents = self._levels[level][0]
            ratio = up[level] / below[level - 1][..., parents]
            variances.append(up[level] * (1 - ratio) + ratio**2 * variances[-1][..., parents])
        means = np.stack(
            [(each * self._levels[level][2]).sum(axis=-1) for level, each in enumerate(variances)], axis=-1
        )

        def back(gradient: Floats) -> Floats:
            return self._back(gradient.reshape(precisions.shape), up, below, variances)

        return means.reshape(len(precisions), -1), back

    def _up(self, precisions: Floats) -> tuple[list[Floats], list[Floats]]:
        """Return V of each level, and S of each level but the last."""
        last = len(self._levels) - 1
        known = np.maximum(precisions, _NOTHING)
        up = [np.repeat(1 / known[..., last, None], len(self._levels[last][0]), axis=-1)]
        below: list[Floats] = []
        for level in range(last, 0, -1):
            parents, times, _ = self._levels[level]
            below.append(_gathered(up[-1] * times, parents))
            up.append(below[-1] / (1 + precisions[..., level - 1, None] * below[-1]))
        return up[::-1], below[::-1]

    def _back(self, gradient: Floats, up: list[Floats], below: list[Floats], variances: list[Floats]) -> Floats:
        """Return the derivatives with respect to the precisions, without their minus sign."""
        count = len(self._levels)
        by_variance = [gradient[..., level, None] * self._levels[level][2] for level in range(count)]
        by_up = [np.zeros_like(each) for each in up]
        by_below = [np.zeros_like(each) for each in below]
        for level in range(count - 1, 0, -1):
            parents = self._levels[level][0]
            given, own = below[level - 1][..., parents], by_variance[level]
            ratio, rest = up[level] / given, variances[level - 1][..., parents] / given
            by_up[level] += own * (1 - 2 * ratio + 2 * ratio * rest)
            by_below[level - 1] += _gathered(own * ratio**2 * (1 - 2 * rest), parents)
            by_variance[level - 1] += _gathered(own * ratio**2, parents)
        by_up[0] += by_variance[0]
        found = np.zeros((*gradient.shape[:-1], count))
        for level in range(count):
            pull = by_up[level] * up[level] ** 2
            found[..., level] = pull.sum(axis=-1)
            if level < count - 1:
                parents, times, _ = self._levels[level + 1]
                by_below[level] += pull / below[level] ** 2
                by_up[level + 1] += by_below[level][..., parents] * times
        return found.reshape(len(gradient), -1)


def _gathered(values: Floats, parents: Integers) -> Floats:
    """Return the sums of the values over kinds with the same parent; the parents are sorted."""
    starts = np.searchsorted(parents, np.arange(parents[-1] + 1))
    return np.asarray(np.add.reduceat(values, starts, axis=-1))
