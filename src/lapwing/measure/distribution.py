"""The distribution function of a column: the share of rows up to the end of each bin, from a tree of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..noise.weighted import Floats, margins
from ..question.query import Statistic, StatisticKind
from .cells import Column
from .measurement import Estimate, Exact, Measurement, Setting
from .tree import Tree, make_tree, share_interval

_FLAT = 50
"""Up to this many bins there is no tree: it pays off above 14 to 48 bins, depending on ε."""


@dataclass(frozen=True)
class Distribution(Measurement):
    """The rows in each node of a tree over ``bins``, the groups of the last key."""

    bins: int = 0

    form: ClassVar[str] = "tree"
    claim: ClassVar[str] = "D1"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"cdf"})
    clamps: ClassVar[bool] = False

    @property
    def tree(self) -> Tree:
        """The tree over the bins."""
        return make_tree(self.bins) if self.bins > _FLAT else Tree(self.bins, self.bins, 1)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"node {i}" for i in range(self.tree.size))

    @property
    def mass(self) -> int:
        return self.tree.mass

    def length(self, groups: int) -> int:
        return groups // self.bins

    @property
    def groups_together(self) -> int:
        return self.bins

    def exact_cells(self, exact: Exact) -> tuple[NDArray[np.int64], list[Column]]:
        """Return the cells of the tree for each group of the keys before the bins."""
        if not exact.columns:
            return super().exact_cells(exact)
        groups, rows = exact.columns
        outer, place = np.divmod(groups.astype(np.int64), self.bins)
        outer_groups, which = np.unique(outer, return_inverse=True)
        counts = np.zeros((self.bins, len(outer_groups)), dtype=rows.dtype)
        counts[place, which] = rows
        return outer_groups, list(self.tree.cells(counts))

    def margin(self, statistic: Statistic, setting: Setting, confidence: Fraction, groups: int) -> float:
        """Return the half-width of the widest bar, if rows are spread evenly."""
        edges = sorted({max(self.bins * i // 8, 1) for i in range(1, 8)})
        shares = np.arange(self.bins)[:, None] < edges
        weights = self.tree.weights(shares - np.array(edges) / self.bins)
        half_widths = margins(weights, self.scale(setting), 1 - (1 - confidence) / groups)  # bins share cells
        return max(half_widths) / (setting.schema.row_weight * setting.rows)

    def estimate(
        self, statistic: Statistic, noisy: Sequence[Column], setting: Setting, confidence: Fraction, groups: int
    ) -> Estimate:
        """Return the shares of rows up to the end of each bin (claim D4), which rise from bin to bin."""
        tree = self.tree
        upto = np.cumsum(tree.consistent(np.array(noisy, dtype=float)), axis=0)
        total = upto[-1]
        margin = _share_margins(tree, self.scale(setting), 1 - (1 - confidence) / groups)  # bins share cells
        low, high = share_interval(upto, total, *(each[:, None] + 1 for each in margin))  # plus one step of the noise
        value = np.where(total > 0, upto / np.where(total > 0, total, 1), 0.5).clip(0, 1)
        value = (np.maximum.accumulate(value) + np.minimum.accumulate(value[::-1])[::-1]) / 2
        value[-1], low[-1], high[-1] = 1.0, 1.0, 1.0
        ends = value, np.minimum(low, value), np.maximum(high, value)
        return Estimate(*(each.T.reshape(-1) for each in ends))

    def assumption(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> str:
        return f"{setting.rows:,} rows in all bins, spread evenly"

    @property
    def cells_in_words(self) -> str:
        tree = self.tree
        return f"{tree.size:,} cells, the nodes of {tree.levels} levels over {tree.bins:,} bins (claim D1)"


@lru_cache(maxsize=8)
def _share_margins(tree: Tree, scale: Fraction, confidence: Fraction) -> list[Floats]:
    """Return the margins of claim D4 at each edge, for the shares 0, 1/2 and 1."""
    inside = np.tri(tree.bins)
    return [np.array(margins(tree.weights((inside - share).T), scale, confidence)) for share in (0.0, 0.5, 1.0)]
