"""Counts, means and variances: a row's mass is divided among cells, so that one measurement gives several statistics.

Claim P2 (mean).  The mean is (A·high + B·low)/(A + B) steps, the count (A + B)/M, the sum (A·high + B·low)/M steps: one
measurement gives all three, and the variance of the mean is half of that by a centred sum and a count at ε/2 each.

Claim P3 (variance).  With b0, b1, b2 the three sums and N = b0 + b1 + b2 = M²n, the variance (dividing by n) is
M²·(b0·b2 - b1²/4)/N² steps², the mean low + M·(b1/2 + b2)/N steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from ..noise.intervals import ratio_interval, tail_quantile, variance_interval
from ..question.query import Statistic, StatisticKind
from .cells import Column
from .linear import root
from .measurement import Estimate, Measurement, Setting, Sums, rows_assumed
from .rounding import widened

_FINE = 2**16


@dataclass(frozen=True)
class Partition(Measurement):
    """Cells that add up to the mass of all rows with a value, and with ``missing`` of all rows."""

    positions: ClassVar[tuple[Fraction, ...]] = ()
    """Where the cells lie between the bounds: their mass-weighted average is the mean."""

    own_names: ClassVar[tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.own_names, "missing") if self.missing else self.own_names

    @property
    def counts_rows(self) -> bool:
        return self.missing or self.condition is not None

    @cached_property
    def fine(self) -> int:
        return int(-(-_FINE // self.grid.steps**self.degree)) if self.degree else 1

    @cached_property
    def mass(self) -> int:
        return self.fine * int(self.grid.steps**self.degree) if self.degree else 1

    def own_cells(self, present: Any, first: Any, second: Any) -> tuple[Any, ...]:
        """Return the cells of rows with a value, before they are multiplied."""
        raise NotImplementedError

    def cells(self, sums: Sums) -> tuple[Any, ...]:
        n, present, first, second = sums
        left = (self.grid.steps**self.degree * (n - present),) if self.missing else ()
        return tuple(self.fine * cell for cell in (*self.own_cells(present, first, second), *left))

    def linear(self, statistic: Statistic, setting: Setting) -> tuple[Fraction, ...]:
        one = Fraction(1, setting.schema.row_weight * self.mass)
        if statistic.kind == "sum":
            steps = (self.grid.low + self.grid.steps * position for position in self.positions)
            weights = [one * self.grid.step * each for each in steps]
        else:
            weights = [one] * len(self.own_names)
        return (*weights, *([one if statistic.counts_rows else Fraction(0)] if self.missing else []))

    def margin(self, statistic: Statistic, setting: Setting, confidence: Fraction, groups: int) -> float:
        """Return the half-width of the bar of a mean."""
        beyond = float(1 - root(confidence, groups))
        at = np.array([[float(position)] for position in self.positions])
        between = np.linspace(0, 1, 65)
        width = float(self.grid.step * self.grid.steps)
        return float(tail_quantile(np.abs(at - between), beyond).max()) * self._relative(setting) * width

    def _relative(self, setting: Setting) -> float:
        """Return the scale of the noise, as a share of the mass of all rows."""
        return float(self.scale(setting) / (self.mass * setting.schema.row_weight * setting.rows))

    def estimate(
        self, statistic: Statistic, noisy: Sequence[Column], setting: Setting, confidence: Fraction, groups: int
    ) -> Estimate:
        """Return a mean or proportion."""
        beyond, scale = float(1 - root(confidence, groups)), float(self.scale(setting))
        width, bottom = float(self.grid.step * self.grid.steps), float(self.grid.step * self.grid.low)
        inside = np.array(noisy[: len(self.positions)], dtype=float)
        interval = ratio_interval(inside, [float(p) for p in self.positions], scale, beyond, slack=1.0)
        return Estimate(*widened([bottom + width * each for each in interval], self, setting.schema))

    def assumption(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> str:
        if statistic.kind in ("count", "sum"):
            return ""
        if statistic.kind == "std":
            return f"{rows_assumed(setting)}, a deviation of a quarter of the range"
        return f"{rows_assumed(setting)} (less if values lie between the bounds)"


@dataclass(frozen=True)
class Count(Partition):
    """The number of rows with a value: COUNT(x)."""

    form: ClassVar[str] = "count"
    claim: ClassVar[str] = "P1"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"count"})
    sums: ClassVar[Literal["present"]] = "present"
    clamps: ClassVar[bool] = False
    own_names: ClassVar[tuple[str, ...]] = ("present",)

    def own_cells(self, present: Any, first: Any, second: Any) -> tuple[Any, ...]:
        return (present,)


@dataclass(frozen=True)
class Mean(Partition):
    """Mean, sum and count of a column, or the share and number of rows for which a condition is true."""

    form: ClassVar[str] = "mean"
    claim: ClassVar[str] = "P2"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"count", "sum", "mean", "proportion"})
    sums: ClassVar[Literal["first"]] = "first"
    own_names: ClassVar[tuple[str, ...]] = ("above", "below")
    positions: ClassVar[tuple[Fraction, ...]] = (Fraction(1), Fraction(0))

    def own_cells(self, present: Any, first: Any, second: Any) -> tuple[Any, ...]:
        return (first, self.grid.steps * present - first)


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
