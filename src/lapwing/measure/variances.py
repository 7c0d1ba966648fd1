"""Variances and standard deviations, with means, sums and counts from the same cells.

Claim P3 (variance).  With b0, b1, b2 the three sums and N = b0 + b1 + b2 = M²n, the variance (dividing by n) is
M²·(b0·b2 - b1²/4)/N² steps², the mean low + M·(b1/2 + b2)/N steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from ..noise.intervals import tail_quantile, variance_interval
from ..question.query import Statistic, StatisticKind
from .cells import Column
from .linear import root
from .measurement import Estimate, Setting
from .partition import Partition


@dataclass(frozen=True)
class Variance(Partition):
    """Variance, deviation, mean, sum and count of a column."""

    form: ClassVar[str] = "variance"
    claim: ClassVar[str] = "P3"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"count", "sum", "mean", "variance", "std"})
    sums: ClassVar[Literal["second"]] = "second"
    own_names: ClassVar[tuple[str, ...]] = ("low", "middle", "high")
    positions: ClassVar[tuple[Fraction, ...]] = (Fraction(0), Fraction(1, 2), Fraction(1))

    def own_cells(self, present: Any, first: Any, second: Any) -> tuple[Any, ...]:
        steps = self.grid.steps
        return (steps**2 * present - 2 * steps * first + second, 2 * (steps * first - second), second)

    def margin(self, statistic: Statistic, setting: Setting, confidence: Fraction, groups: int) -> float:
        if statistic.kind == "mean":
            return super().margin(statistic, setting, confidence, groups)
        width = float(self.grid.step * self.grid.steps)
        half_width = -math.log(float(1 - root(confidence, groups))) * self._relative(setting) * width**2
        return half_width / (width / 2) if statistic.kind == "std" else half_width

    def estimate(
        self, statistic: Statistic, noisy: Sequence[Column], setting: Setting, confidence: Fraction, groups: int
    ) -> Estimate:
        if statistic.kind == "mean":
            return super().estimate(statistic, noisy, setting, confidence, groups)
        beyond, scale = float(1 - root(confidence, groups)), float(self.scale(setting))
        width = float(self.grid.step * self.grid.steps)
        inside = np.array(noisy[:3], dtype=float)
        ends = [width**2 * each for each in variance_interval(inside, scale, beyond)]
        if statistic.sample:
            row = self.mass * setting.schema.row_weight
            rows = inside.sum(axis=0) / row
            off = float(tail_quantile(np.full((3, 1), scale / row), beyond / 20)[0])  # n is noisy too
            around = [np.maximum(rows + way * off, 2.0) for way in (0, 1, -1)]
            ends = [end * n / (n - 1) for end, n in zip(ends, around, strict=True)]
        return Estimate(*(np.sqrt(each) if statistic.kind == "std" else each for each in ends))
