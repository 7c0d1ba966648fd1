"""A tree of counts over ordered bins, from which cumulative counts are estimated with little noise.

A tree of h levels over B bins, with branching b: a node of level l covers b^(h - l) bins in a row, those of level h
are the bins themselves.  The root is not measured, nor what would cover no bin; the last node of a level may cover
fewer bins than the others.  The nodes are the cells, level 1 first, each level from left to right.  With h = 1 the tree
is the flat histogram.

Claim D1 (mass).  A row of weight w moves the cells by exactly h·w in L1, whatever its bin.  So a person whose weights
add up to at most W moves them by at most h·W under add_remove, and by at most 2·h·W under change_one.

Claim D2 (consistency).  ``consistent`` is the least-squares estimate of the bins from noisy cells.  It is unbiased, and
no linear unbiased estimate of any combination of bins, the sum of the noisy bins themselves among them, has a smaller
variance.  ``prefix_variance`` is the average over the B cumulative counts, in units of one cell's variance.

Claim D4 (share).  Let P rows lie in the first j bins and N in all, with estimates P̂ and N̂, and let m(f) be the margin
of D3 (``noise.weighted``) for P̂ - f·N̂ as a combination of cells.  The set of all f with |P̂ - f·N̂| ≤ m(f) holds P/N with
the confidence of m, and so does a set with a larger m: ``share_interval`` takes the chords of m between 0, 1/2 and 1,
since m is convex.

Proofs: docs/explanation/tree.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import exact
from ..errors import InvalidParameter, Shown
from ..exact import Number
from ..noise.weighted import Floats, margins

MOST = 2**20
"""The largest number of bins."""

_BROADEST = 32
_LARGEST = 2**62
_AT_ONCE = 2**22
"""How many weights are held in memory at a time."""


@dataclass(frozen=True)
class Tree:
    """A tree of counts over ``bins`` ordered bins; see ``make_tree``."""

    bins: int
    branching: int
    levels: int

    def __post_init__(self) -> None:
        for name, most in (("bins", MOST), ("branching", MOST), ("levels", 20)):
            object.__setattr__(self, name, exact.whole(getattr(self, name), name, most))
        if self.levels > 1 and not 1 < self.branching ** (self.levels - 1) < self.bins:
            raise InvalidParameter(self.levels, "levels", "so few that a node of level 1 covers only some of the bins")

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of nodes of each level."""
        return tuple(-(-self.bins // self.branching ** (self.levels - level)) for level in range(1, self.levels + 1))

    @property
    def size(self) -> int:
        """The number of cells."""
        return sum(self.widths)

    @property
    def mass(self) -> int:
        """The L1 norm of what a row of weight 1 adds to the cells (claim D1)."""
        return self.levels

    def cells(self, counts: ArrayLike | Sequence[int]) -> NDArray[Any]:
        """Return the cells of one count for each bin, or of one row of counts for each bin, exactly.

        The integers are of type int64 if none can overflow, else Python's own.
        """
        array = counts if isinstance(counts, np.ndarray) else np.array(counts, dtype=object)
        if array.ndim not in (1, 2) or len(array) != self.bins or not _is_whole(array):
            asked = Shown(f"a {type(counts).__name__}")  # never the counts, which noise is meant to protect
            raise InvalidParameter(asked, "counts", f"whole numbers for {self.bins} bins")
        largest = max(abs(int(array.min())), abs(int(array.max()))) if array.size else 0
        return self._nodes(array.astype(np.int64 if largest * self.bins < _LARGEST else object))

    def consistent(self, noisy: ArrayLike) -> Floats:
        """Return the least-squares estimate of the bins from noisy cells, or from rows of them (claim D2)."""
        given = np.array(noisy, dtype=float)
        if given.ndim not in (1, 2) or len(given) != self.size:
            raise InvalidParameter(noisy, "cells", f"numbers for {self.size} cells")
        *upper, best = np.split(given.reshape(self.size, -1), np.cumsum(self.widths)[:-1])
        bests, sums = [best], []
        for own, spread in zip(reversed(upper), reversed(self._spreads), strict=True):
            below = self._gathered(best)
            best = (below + spread * own) / (1 + spread)
            bests.append(best)
            sums.append(below)
        estimate = bests.pop()
        for spread, variance in zip(self._spreads, self._variances[1:], strict=True):
            excess = (estimate - sums.pop()) / spread
            estimate = bests.pop() + variance * np.repeat(excess, self.branching, axis=0)[: len(variance)]
        return estimate.reshape(self.bins, *given.shape[1:])

    def weights(self, combinations: ArrayLike) -> Floats:
        """Return the weights with which noisy cells enter the estimate of a combination of bins (claim D2).

        Args:
            combinations: one factor for each bin, or a column of factors for each combination.
        """
        factors = np.asarray(combinations, dtype=float)
        nothing = np.zeros((self.size - self.bins, *factors.shape[1:]))
        return self._nodes(self.consistent(np.concatenate([nothing, factors])))

    @cached_property
    def prefix_variance(self) -> float:
        """The average variance of the cumulative counts, in units of the variance of one cell (claim D2)."""
        full = last = _BIN
        nodes = self.bins
        for _ in range(self.levels - 1):
            above = -(-nodes // self.branching)
            last = _measured(_joined(nodes - self.branching * (above - 1) - 1, full, last))
            full = _measured(_joined(self.branching - 1, full, full))
            nodes = above
        return _joined(nodes - 1, full, last).prefixes / self.bins

    def prefix_margin(self, edge: int, scale: Number, confidence: Number = Fraction(19, 20)) -> float:
        """Return the margin of the number of rows in the first ``edge`` bins (claim D3)."""
        return float(self.prefix_margins([edge], scale, confidence)[0])

    def prefix_margins(self, edges: Sequence[int], scale: Number, confidence: Number = Fraction(19, 20)) -> Floats:
        """Return a margin for each edge: the noise exceeds it with probability at most 1 - confidence (claim D3)."""
        ends = [exact.whole(edge, "edge", self.bins) for edge in edges]
        step = max(_AT_ONCE // self.size, 1)
        half_widths: list[float] = []
        for start in range(0, len(ends), step):
            inside = np.arange(self.bins)[:, None] < np.array(ends[start : start + step])
            half_widths += margins(self.weights(inside), scale, confidence)
        return np.array(half_widths)

    @cached_property
    def _variances(self) -> list[Floats]:
        """The variance of the best estimate of each node from what is at and below it, level by level."""
        levels = [np.ones((self.bins, 1))]
        for _ in range(self.levels - 1):
            spread = self._gathered(levels[0])
            levels.insert(0, spread / (1 + spread))
        return levels

    @cached_property
    def _spreads(self) -> list[Floats]:
        """The variance of the sum of the children's best estimates, for each node above the bins."""
        return [self._gathered(below) for below in self._variances[1:]]

    def _gathered(self, below: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of the children of each node."""
        return np.add.reduceat(below, np.arange(0, len(below), self.branching), axis=0)

    def _nodes(self, bins: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of bins under all nodes."""
        levels = [bins]
        for _ in range(self.levels - 1):
            levels.insert(0, self._gathered(levels[0]))
        return np.concatenate(levels)


def _is_whole(array: NDArray[Any]) -> bool:
    if array.dtype == object:
        return all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in array.flat)
    return array.dtype.kind in "iu"


@lru_cache(maxsize=256)
def make_tree(bins: int) -> Tree:
    """Return the tree whose cumulative counts have the smallest average variance, at the same ε (claim D2)."""
    bins = exact.whole(bins, "bins", MOST)
    return min(_trees(bins), key=lambda tree: tree.levels**2 * tree.prefix_variance)  # noise of scale h/ε


def _trees(bins: int) -> Iterator[Tree]:
    yield Tree(bins, bins, 1)
    for branching in range(2, _BROADEST + 1):
        levels = 2
        while branching ** (levels - 1) < bins:
            yield Tree(bins, branching, levels)
            levels += 1


# --- variances of all prefixes of a node's bins, summed ---


class _Node(NamedTuple):
    """What is known about a node from the noisy cells at and below it, in units of one cell's variance.

    ``shared`` and ``squares`` sum, over the prefixes of its bins, the covariance of the prefix with the whole and the
    square of that; ``prefixes`` sums the variances of the prefixes.
    """

    bins: int
    variance: float
    shared: float
    squares: float
    prefixes: float


_BIN = _Node(1, 1.0, 1.0, 1.0, 1.0)


def _joined(times: int, each: _Node, last: _Node) -> _Node:
    """Return ``times`` equal nodes and a last one, side by side."""
    first, second = times * (times - 1) / 2, times * (times - 1) * (2 * times - 1) / 6  # Σi and Σi² for i < times
    left, more = each.variance, times * each.variance
    return _Node(
        times * each.bins + last.bins,
        more + last.variance,
        each.bins * left * first + times * each.shared + last.bins * more + last.shared,
        each.bins * left**2 * second + 2 * left * each.shared * first + times * each.squares
        + last.bins * more**2 + 2 * more * last.shared + last.squares,
        each.bins * left * first + times * each.prefixes + last.bins * more + last.prefixes,
    )  # fmt: skip


def _measured(node: _Node) -> _Node:
    """Return the node when its own noisy count is known too."""
    bins, variance, shared, squares, prefixes = node
    more = 1 + variance
    return _Node(bins, variance / more, shared / more, squares / more**2, prefixes - squares / more)


def share_interval(part: Floats, whole: Floats, first: Floats, middle: Floats, last: Floats) -> tuple[Floats, Floats]:
    """Return the shares f with |part - f·whole| ≤ m(f), m linear between its values at 0, 1/2 and 1 (claim D4).

    If ``whole`` is not above the slopes of m, the set may be anything, and all shares are returned.
    """
    lows, highs = [], []
    for at, start, end in ((0.0, first, middle), (0.5, middle, last)):
        slope = 2 * (end - start)
        base = start - slope * at
        with np.errstate(all="ignore"):
            lows.append((part - base) / (whole + slope))  # part - f·whole = base + slope·f
            highs.append((part + base) / (whole - slope))
    low, high = (np.where(ends[0] <= 0.5, ends[0], ends[1]).clip(0, 1) for ends in (lows, highs))
    steep = 2 * np.maximum(np.abs(middle - first), np.abs(last - middle))
    sure = whole > steep
    return np.where(sure, low, 0.0), np.where(sure, high, 1.0)
