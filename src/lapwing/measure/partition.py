"""What counts, means and variances share: the mass of a row is divided among cells, which gives several statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from ..noise.intervals import ratio_interval, tail_quantile
from ..question.query import Statistic
from .cells import Column
from .linear import root
from .measurement import Estimate, Measurement, Setting, Sums, rows_assumed
from .rounding import widened

FINE = 2**16
"""The least mass of a row in the cells of a mean or variance, so that the noise is nearly continuous."""


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
        return int(-(-FINE // self.grid.steps**self.degree)) if self.degree else 1

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
        reach = _widest_reach(self.positions, float(1 - root(confidence, groups)))
        return reach * self._relative(setting) * float(self.grid.step * self.grid.steps)

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


@lru_cache(maxsize=1024)  # a server plans bars of the same confidence again and again
def _widest_reach(positions: tuple[Fraction, ...], beyond: float) -> float:
    """Return how far the noise of the cells moves a mean, in scales, wherever between its bounds the mean lies."""
    at = np.array([[float(position)] for position in positions])
    return float(tail_quantile(np.abs(at - np.linspace(0, 1, 65)), beyond).max())
