"""Noisy cells → numbers with error bars.  This is post-processing: it sees noisy integers and public parameters only.

Claim R1 (coverage).  A count, sum, mean or proportion lies in its bar with at least the stated confidence, whatever the
data (A2, A9, A10); with ``simultaneous``, all counts, sums, means and proportions of the release do at once.  What the
bar covers is the statistic of the rows as they count: values on the column's grid and between its bounds, people with
many rows weighted down.  Bars of variances and deviations are approximate (A11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..measure.cells import Column, column
from ..measure.linear import Linear, Noisy, make_linear
from ..measure.measurement import Estimate
from ..plan.plan import Plan


def estimates(
    plan: Plan,
    noisy: Sequence[Sequence[Sequence[int] | Column]],
    n: int | None,
    confidence: Fraction,
    simultaneous: bool,
) -> list[Estimate]:
    """Return the estimates of all statistics of a plan; ``n`` is the number of rows if it is public (claim P5)."""
    columns = [[column(cell) for cell in cells] for cells in noisy]
    return Estimator(plan, columns, n, confidence, simultaneous).of(slice(0, plan.groups))


@dataclass(frozen=True, eq=False)
class Estimator:
    """The estimates of a release, for all groups or for some at a time; what depends on all groups is computed once."""

    plan: Plan
    noisy: Noisy
    n: int | None
    confidence: Fraction
    simultaneous: bool

    @property
    def together(self) -> int:
        """How many groups in a row must be estimated at once."""
        return max((each.groups_together for each in self.plan.measured), default=1)

    def of(self, groups: slice) -> list[Estimate]:
        """Return the estimates of all statistics for groups from a start to a stop, multiples of ``together``."""
        return [self._estimate(number, groups) for number in range(len(self.plan.query.statistics))]

    @cached_property
    def _sure(self) -> tuple[Fraction, int]:
        return self.plan.each_confidence(self.confidence, self.simultaneous)

    def _estimate(self, number: int, groups: slice) -> Estimate:
        statistic = self.plan.query.statistics[number]
        parts = self.plan.answering(statistic)
        if not parts:  # claim P5: public
            return Estimate(*(np.array([self.n]),) * 3)
        if statistic.is_linear:
            return self._linear[number].estimate(self.noisy, groups)
        part = self.plan.parts[parts[0]]
        together = part.measurement.groups_together
        cells = [cell[groups.start // together : groups.stop // together] for cell in self.noisy[parts[0]]]
        return part.measurement.estimate(statistic, cells, self.plan.setting(part, self.n), *self._sure)

    @cached_property
    def _linear(self) -> dict[int, Linear]:
        """Every count and sum, by its number."""
        linear = {}
        for number, statistic in enumerate(self.plan.query.statistics):
            if statistic.is_linear and self.plan.answering(statistic):
                terms = self.plan.terms(statistic, self.n)
                part = self.plan.parts[terms[0].part]
                offset = part.measurement.offset(statistic, self.plan.setting(part, self.n))
                integers = self.plan.is_integer(statistic), self.plan.is_truly_integer(statistic)
                linear[number] = make_linear(terms, offset, self.noisy, *self._sure, *integers)
        return linear
