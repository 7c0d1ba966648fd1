"""Weights → whole numbers, so that tables which are counted from them stay close to those of the weights."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .support import Integers, Joint, Sampled, Support, places
from .tables import Axes, Floats

_SEED = 15
_ROUNDS = 200
_BATCH = 50
_FEWEST = 16
"""One row in so many is tried in a turn, and at least so few."""

_PATIENCE = 5
"""After so many rounds without a change no more are tried."""

_COLLIDING = 2**14
"""In tables with more cells, two changed rows are hardly ever in the same cell."""


def apportioned(support: Support, weights: Floats, units: int, tables: Sequence[Axes]) -> tuple[Support, Integers]:
    """Return cells and their whole numbers: ``units`` in all, in proportion to the weights.

    Each weight is rounded down.  What is missing is taken from the rests as rows, evenly, and keys of these rows are
    changed, in an order that a fixed seed gives, where that brings the tables closer to those of the weights.  So a few
    units may be in cells whose weight is 0.

    Args:
        support: the cells.
        weights: their weights; if all are 0, the cells count alike.
        units: the sum of the whole numbers.
        tables: the tables that should stay close; without any, no row is changed.
    """
    total = float(weights.sum())
    exact = weights * (units / total) if total > 0 else np.full(weights.shape, units / max(weights.size, 1))
    whole = np.floor(exact).astype(np.int64)
    rests = np.asarray(exact - whole)
    missing = units - int(whole.sum())
    if missing < 0:  # floats add up to a little more than there is
        whole, missing = _lowered(whole, -missing), 0
    picked = _picked(support, rests.ravel(), missing)
    if not tables:
        return support, whole + np.bincount(picked, minlength=whole.size).reshape(whole.shape)
    goals = {axes: support.table(rests, axes) for axes in tables}
    rows = settled(_codes(support, picked), support.shape, goals)
    if isinstance(support, Joint):
        cells = places(rows, support.shape, tuple(range(len(support.shape))))
        return support, whole + np.bincount(cells, minlength=whole.size).reshape(whole.shape)
    kept = whole > 0
    codes = np.concatenate([support.codes[kept], rows])
    return Sampled(support.shape, codes), np.concatenate([whole[kept], np.ones(len(rows), dtype=np.int64)])


def _lowered(whole: Integers, units: int) -> Integers:
    """Take a few units away from the largest cells, one each."""
    lowered = whole.ravel().copy()
    lowered[np.argsort(-lowered, kind="stable")[:units]] -= 1
    return lowered.reshape(whole.shape)


def _picked(support: Support, rests: Floats, units: int) -> Integers:
    """Return so many cells, spread evenly over the sum of the rests of all cells in order."""
    order = np.lexsort(support.codes.T[::-1]) if isinstance(support, Sampled) else np.arange(rests.size)
    sums = np.cumsum(rests[order])
    if not units or not sums[-1] > 0:
        return np.resize(order, units)
    points = (np.arange(units) + 0.5) * (sums[-1] / units)
    return np.asarray(order[np.minimum(np.searchsorted(sums, points), rests.size - 1)])


def _codes(support: Support, cells: Integers) -> Integers:
    if isinstance(support, Sampled):
        return support.codes[cells]
    return np.stack([*np.unravel_index(cells, support.shape)], axis=1).astype(np.int64).reshape(-1, len(support.shape))


def settled(rows: Integers, shape: Sequence[int], goals: dict[Axes, Floats]) -> Integers:
    """Return rows whose tables are close to the goals: single keys are changed where that lowers the squared distance.

    A changed key moves one row from cell a to cell b of each table with that column, which changes the sum of squares
    by Σ 2·(d_b - d_a + 1), where d is the table minus its goal.
    """
    if not len(rows):
        return rows
    random, rows = np.random.default_rng(_SEED), np.asfortranarray(rows)
    excess = {
        axes: np.bincount(places(rows, shape, axes), minlength=goal.size) - goal.ravel() for axes, goal in goals.items()
    }
    turns = max(math.ceil(len(rows) / _BATCH), _FEWEST)
    idle = 0
    for _ in range(_ROUNDS):
        idle += 1
        for column in range(len(shape)):
            chosen = np.unique(random.integers(0, len(rows), turns))
            before = rows[chosen]
            after = before.copy()
            after[:, column] = rows[random.integers(0, len(rows), len(chosen)), column]
            own = {axes: each for axes, each in excess.items() if column in axes}
            moves = {axes: (places(before, shape, axes), places(after, shape, axes)) for axes in own}
            change = sum((own[axes][b] - own[axes][a] + 1 for axes, (a, b) in moves.items()), np.zeros(()))
            better = (change < 0) & (before[:, column] != after[:, column])
            better &= random.random(len(chosen)) < _share(own, moves, better)
            rows[chosen[better]] = after[better]
            idle = 0 if better.any() else idle
            for axes, (a, b) in moves.items():
                np.subtract.at(own[axes], a[better], 1)
                np.add.at(own[axes], b[better], 1)
        if idle == _PATIENCE:
            break
    return rows


def _share(
    excess: dict[Axes, Floats], moves: dict[Axes, tuple[Integers, Integers]], better: NDArray[np.bool_]
) -> float:
    """Return how many of the changes that help should be made: several may help by filling the same cell.

    A share p of them changes the sum of squares by p·Σ 2·d·n + p²·Σ n² on average, where n is what all of them move.
    """
    linear = quadratic = 0.0
    for axes, each in excess.items():
        a, b = (cells[better] for cells in moves[axes])
        linear += float((each[b] - each[a]).sum())
        if each.size <= _COLLIDING:
            net = np.bincount(b, minlength=each.size) - np.bincount(a, minlength=each.size)
            quadratic += float(net @ net)
        else:
            quadratic += 2.0 * len(a)
    return -linear / quadratic if quadratic else 1.0
