"""Weighted means, with weighted sums, sums of weights and numbers of rows from the same cells.

Weight v on its column's grid, 0 ≤ v ≤ W steps, 0 if it is missing; value at i of M steps.

    cells     above Σv·i, below Σv·(M - i), missing Σv·M for rows without a value, rest Σ(W - v)·M

Claim W1 (weights).  A row of weight w moves the cells by at most w·W·M in L1, and by exactly that with ``missing`` and
``rest``; so a person whose row weights add up to at most P moves them by at most P·W·M under add_remove, and by at most
2·P·W·M under change_one.

Claim W2 (weighted mean).  The weighted mean is (above·high + below·low)/(above + below) steps, the sum of weights
(above + below + missing)/M steps, the weighted sum (above·high + below·low)/M steps.  With the mean at the share μ of
its range, the variance of its noise is 2(W/ε)²((1-μ)² + μ²)/(Σv)² of the squared range, to first order: half of that by
a centred numerator and a denominator at ε/2 each.

Proofs: docs/explanation/measure.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

from ..question.query import Statistic, StatisticKind
from ..question.schema import Grid, Schema
from .measurement import UNIT, Expectation, Setting, Sums, rows_assumed
from .partition import FINE, Partition


@dataclass(frozen=True)
class WeightedMean(Partition):
    """The mean of a column weighted by another; ``product`` is the name of what a weighted sum is about."""

    weight: str = ""
    weight_grid: Grid = UNIT
    product: str = ""
    rest: bool = False

    form: ClassVar[str] = "weighted mean"
    claim: ClassVar[str] = "W1"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"mean", "sum"})
    sums: ClassVar[Literal["second"]] = "second"
    own_names: ClassVar[tuple[str, ...]] = ("above", "below")
    positions: ClassVar[tuple[Fraction, ...]] = (Fraction(1), Fraction(0))

    @property
    def target(self) -> str:
        return f"{super().target} by {self.weight}"

    @property
    def columns(self) -> tuple[str, ...]:
        return (*super().columns, self.weight)

    @property
    def names(self) -> tuple[str, ...]:
        return (*super().names, "rest") if self.rest else super().names

    @property
    def counts_rows(self) -> bool:
        return self.rest

    @cached_property
    def fine(self) -> int:
        return -(-FINE // (self.weight_grid.high * self.grid.steps))

    @cached_property
    def mass(self) -> int:
        return self.fine * self.weight_grid.high * self.grid.steps

    def answers(self, statistic: Statistic) -> bool:
        if statistic.counts_rows:
            return self.rest
        if statistic.kind == "mean":
            return statistic.column == self.column and statistic.weight_column == self.weight
        if statistic.kind != "sum":
            return False
        return statistic.column == self.product or (statistic.column == self.weight and self.missing)

    def cells(self, sums: Sums) -> tuple[Any, ...]:
        rows, present, first, every = sums
        steps, most = self.grid.steps, self.weight_grid.high
        left = (steps * (every - present),) if self.missing else ()
        rest = (steps * (most * rows - every),) if self.rest else ()
        return tuple(self.fine * cell for cell in (first, steps * present - first, *left, *rest))

    def one_cell_sensitivity(self, schema: Schema) -> int:
        return schema.person_l1 * self.mass

    def unit(self, setting: Setting) -> Fraction:
        return self.weight_grid.step * self.grid.step / (setting.schema.row_weight * self.fine)

    def linear(self, statistic: Statistic, setting: Setting) -> tuple[Fraction, ...]:
        one = Fraction(1, setting.schema.row_weight * self.fine * self.grid.steps)
        others = len(self.names) - len(self.own_names)
        if statistic.counts_rows:
            return (one / self.weight_grid.high,) * len(self.names)
        by_weight = one * self.weight_grid.step
        if statistic.kind == "count":  # of values: the sum of their weights
            return (by_weight,) * 2 + (Fraction(0),) * others
        if statistic.column == self.weight:
            return (by_weight,) * 3 + (Fraction(0),) * (others - 1)
        steps = (self.grid.low + self.grid.steps * position for position in self.positions)
        return (*(by_weight * self.grid.step * each for each in steps), *[Fraction(0)] * others)

    def _relative(self, setting: Setting) -> float:
        return 2 * super()._relative(setting)

    def expect(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> Expectation:
        expected = super().expect(statistic, setting, confidence)
        if statistic.kind != "sum":
            return expected
        unit = max(abs(weight) for weight in self.linear(statistic, setting))
        return expected._replace(sensitivity=self.sensitivity(setting) * unit, scale=self.scale(setting) * unit)

    def assumption(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> str:
        if statistic.kind != "mean":
            return ""
        return f"{rows_assumed(setting)}, with half of the largest weight on average"

    def note(self, setting: Setting) -> str:
        return f"Rows where {self.weight} is missing have the weight 0."
