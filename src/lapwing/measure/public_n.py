"""Statistics of a table whose number of rows is public: no noise goes into n.

Claim P5 (public n).  Under change_one, when every row is a person, without WHERE and groups, n is the same in all
neighbors and needs no noise.  A missing value counts as the middle of the grid; then Σi moves by at most M and
nΣi² - (Σi)² by at most M²(n - 1), so that the mean has the sensitivity (U - L)/n and the variance (U - L)²(n - 1)/n².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from ..noise.distributions import DiscreteLaplace
from ..question.query import Query, Statistic, StatisticKind
from ..question.schema import Schema
from .cells import Column
from .measurement import Estimate, Expectation, Measurement, Setting, Sums, rows_assumed
from .rounding import widened


def has_public_n(schema: Schema, query: Query) -> bool:
    """Return whether claim P5 applies: the number of rows is public and exact."""
    every_row = schema.person is None and schema.every_row_counts and query.where is None and not query.by
    return schema.neighbors == "change_one" and every_row


@dataclass(frozen=True)
class _PublicN(Measurement):
    """A measurement of one cell, for a public n."""

    claim: ClassVar[str] = "P5"
    public_rows: ClassVar[bool] = True

    @property
    def fill(self) -> int | None:
        return self.grid.steps // 2

    def expect(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> Expectation:
        expectation = super().expect(statistic, setting, confidence)
        if statistic.kind == "sum":
            return expectation
        by = setting.rows**self.degree
        return expectation._replace(sensitivity=expectation.sensitivity / by, scale=expectation.scale / by)

    def margin(self, statistic: Statistic, setting: Setting, confidence: Fraction, groups: int) -> float:
        steps = DiscreteLaplace(self.scale(setting)).simultaneous_margin(groups, confidence)
        half_width = float(steps * self.grid.step**self.degree / Fraction(setting.rows) ** self.degree)
        return half_width / (float(self.grid.step * self.grid.steps) / 2) if statistic.kind == "std" else half_width

    def assumption(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> str:
        if statistic.kind == "sum":
            return ""
        if statistic.kind == "std":
            return f"{rows_assumed(setting)}, a deviation of a quarter of the range"
        return rows_assumed(setting)


@dataclass(frozen=True)
class PublicSum(_PublicN):
    """Sum, mean or proportion."""

    form: ClassVar[str] = "whole sum"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"sum", "mean", "proportion"})
    sums: ClassVar[Literal["first"]] = "first"

    @property
    def names(self) -> tuple[str, ...]:
        return ("total",)

    def cells(self, sums: Sums) -> tuple[Any, ...]:
        return (sums.first,)

    def sensitivity(self, setting: Setting) -> int:
        return self.grid.steps

    def linear(self, statistic: Statistic, setting: Setting) -> tuple[Fraction, ...]:
        return (self.unit(setting),)

    def offset(self, statistic: Statistic, setting: Setting) -> Fraction:
        """Return what the cell leaves out: n times the lower bound."""
        return self.grid.step * self.grid.low * setting.rows

    def estimate(
        self, statistic: Statistic, noisy: Sequence[Column], setting: Setting, confidence: Fraction, groups: int
    ) -> Estimate:
        grid, n, cell = self.grid, setting.rows, int(noisy[0][0])
        bottom, top = grid.step * grid.low, grid.step * grid.high
        if n == 0:
            return _single((bottom + top) / 2, bottom, top)
        margin = DiscreteLaplace(self.scale(setting)).margin(confidence)
        ends = [grid.step * (grid.low + Fraction(cell + off, n)) for off in (0, -margin, margin)]
        clamped = [np.array([float(min(max(each, bottom), top))]) for each in ends]
        return Estimate(*widened(clamped, self, setting.schema))


@dataclass(frozen=True)
class PublicVariance(_PublicN):
    """Variance or deviation."""

    form: ClassVar[str] = "whole variance"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"variance", "std"})
    sums: ClassVar[Literal["second"]] = "second"

    @property
    def names(self) -> tuple[str, ...]:
        return ("spread",)

    def cells(self, sums: Sums) -> tuple[Any, ...]:
        return (sums.rows * sums.second - sums.first * sums.first,)

    def sensitivity(self, setting: Setting) -> int:
        return self.grid.steps**2 * max(setting.rows - 1, 1)

    def estimate(
        self, statistic: Statistic, noisy: Sequence[Column], setting: Setting, confidence: Fraction, groups: int
    ) -> Estimate:
        grid, n, cell = self.grid, setting.rows, int(noisy[0][0])
        most = grid.step**2 * Fraction(grid.steps**2, 4)
        by = n * (n - 1) if statistic.sample else n * n
        if by == 0:
            estimate = _single(most, Fraction(0), 2 * most)
        else:
            margin, top = DiscreteLaplace(self.scale(setting)).margin(confidence), most * n * n / by
            ends = (grid.step**2 * Fraction(cell + off, by) for off in (0, -margin, margin))
            estimate = _single(*(min(max(each, Fraction(0)), top) for each in ends))
        return Estimate(*(np.sqrt(each) for each in estimate)) if statistic.kind == "std" else estimate


def _single(*ends: Fraction) -> Estimate:
    return Estimate(*(np.array([float(each)]) for each in ends))
