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
from ..measure.linear import Groups, Linear, Noisy, make_linear, root
from ..measure.measurement import Estimate
from ..measure.quotients import Fieller, clipped, fieller, weighted
from ..plan.plan import Plan
from ..plan.weighing import Weighing, cannot_be_negative, public_range, weighing
from .cutting import numbers


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

    def of(self, groups: Groups) -> list[Estimate]:
        """Return the estimates of all statistics for some groups; of those in a row, multiples of ``together``.

        The last ones are kept: their noise is asked for after them.
        """
        kept = vars(self).get("_kept")
        if kept is None or not np.array_equal(kept[0], numbers(groups)):
            kept = numbers(groups), self._some(groups)
            vars(self)["_kept"] = kept
        return list(kept[1])

    def without_negative(self, groups: Groups, *, rounded: bool) -> list[Estimate]:
        """Return the estimates, of which those of numbers that cannot be negative are at least 0."""
        return [
            Estimate(*(np.maximum(end, 0) for end in each)) if cannot_be_negative(self.plan, statistic) else each
            for statistic, each in zip(self.plan.query.statistics, self.of(groups), strict=True)
        ]

    def _some(self, groups: Groups) -> list[Estimate]:
        if isinstance(groups, slice):
            return self._of(groups, slice(groups.start // self.together, groups.stop // self.together))
        blocks, at = np.unique(groups // self.together, return_inverse=True)
        if not len(blocks):
            blocks = np.arange(1)
        among = at * self.together + groups % self.together
        rows = (blocks[:, None] * self.together + np.arange(self.together)).ravel()
        return [Estimate(*(end[among] for end in each)) for each in self._of(rows, blocks)]

    def _of(self, groups: Groups, blocks: Groups) -> list[Estimate]:
        return [self._estimate(number, groups, blocks) for number in range(len(self.plan.query.statistics))]

    @cached_property
    def _sure(self) -> tuple[Fraction, int]:
        return self.plan.each_confidence(self.confidence, self.simultaneous)

    def _estimate(self, number: int, groups: Groups, blocks: Groups) -> Estimate:
        statistic = self.plan.query.statistics[number]
        parts = self.plan.answering(statistic)
        if statistic.parts:
            return self._ratio(number, groups)
        if not parts:  # claim P5: public
            return Estimate(*(np.array([self.n]),) * 3)
        if statistic.is_linear:
            return self._linear[number].estimate(self.noisy, groups)
        part = self.plan.parts[parts[0]]
        some = groups if part.measurement.groups_together == 1 else blocks
        cells = [cell[some] for cell in self.noisy[parts[0]]]
        return part.measurement.estimate(statistic, cells, self.plan.setting(part, self.n), *self._sure)

    def _ratio(self, number: int, groups: Groups) -> Estimate:
        """Return a ratio of two counts or sums (claim G2)."""
        made, sets = self._ratios[number]
        slots = made.slots(self.noisy, groups)
        bars = sets.bars(weighted(slots, made.top), weighted(slots, made.bottom, top=False))
        return Estimate(*clipped(bars, *public_range(self.plan, self.plan.query.statistics[number]))[:3])

    @cached_property
    def _ratios(self) -> dict[int, tuple[Weighing, Fieller]]:
        """Every ratio, by its number: what it is made of, and Fieller's set."""
        ratios = {}
        for number, statistic in enumerate(self.plan.query.statistics):
            made = weighing(self.plan, statistic, self.n) if statistic.parts else None
            if made is not None:
                ratios[number] = made, fieller(made.slots(self.noisy, slice(0, 1)), root(*self._sure))
        return ratios

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
