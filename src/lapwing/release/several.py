"""Noisy cells of several tables → numbers with error bars, in tables that add up (claims U1, U3, U7 and U9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measure import adding_up
from ..measure.linear import Groups, Noisy
from ..measure.measurement import Estimate
from ..measure.nonnegative import View
from ..measure.quotients import clipped, fieller
from ..measure.rounding import widened
from ..measure.tables import Axes, Floats
from ..plan.plan import Plan
from ..plan.several import SeveralTables
from ..plan.weighing import cannot_be_negative, public_range, weighing
from ..question.query import Statistic
from .cutting import numbers
from .views import nonnegative_cells, view_of

_LARGEST_SHOWN = 2.0**53


@dataclass(frozen=True, eq=False)
class SeveralEstimator:
    """The estimates of several tables.

    All tables that were released together are computed, also if the plan shows some of them: so each number is always
    the same.  ``made`` keeps what was computed, for other views of the same release.
    """

    plan: Plan
    noisy: Noisy
    confidence: Fraction
    simultaneous: bool
    made: dict[Any, Any] = field(default_factory=dict)
    combined: SeveralTables | None = None
    """The tables with those of other releases, if these are combined; ``noisy`` has their integers too."""

    @property
    def together(self) -> int:
        """How many groups in a row must be estimated at once."""
        return 1

    @property
    def _tables(self) -> SeveralTables:
        tables = self.combined or self.plan.whole.several
        assert tables is not None
        return tables

    @property
    def _sure(self) -> Fraction:
        return self.plan.whole.each_confidence(self.confidence, self.simultaneous)[0]

    def of(self, groups: Groups) -> list[Estimate]:
        """Return the estimates of all statistics for some groups."""
        shown = self.plan.several
        assert shown is not None
        chosen = shown.in_release(numbers(groups))
        return [Estimate(*(end[chosen] for end in self._all(each))) for each in self.plan.query.statistics]

    def without_negative(self, groups: Groups, *, rounded: bool) -> list[Estimate]:
        """Return the estimates; numbers that cannot be negative are those of the view without negative ones (U8).

        They have no bars.
        """
        shown = self.plan.several
        assert shown is not None
        chosen, found = shown.in_release(numbers(groups)), []
        for statistic, estimate in zip(self.plan.query.statistics, self.of(groups), strict=True):
            if not cannot_be_negative(self.plan, statistic):
                found.append(estimate)
                continue
            value = nonnegative_cells(self._tables, self.view(statistic), rounded=rounded)[chosen]
            none = np.full(len(chosen), np.nan)
            whole = rounded and value.max(initial=0) < _LARGEST_SHOWN
            found.append(Estimate(value.astype(np.int64) if whole else value, none, none))
        return found

    def view(self, statistic: Statistic) -> View:
        """Return the view of a count or sum without negative numbers."""
        key = "view", statistic
        if key not in self.made:
            self.made[key] = view_of(self._tables, self.noisy, statistic)
        found: View = self.made[key]
        return found

    def _all(self, statistic: Statistic) -> Estimate:
        """Return a statistic for all groups of all tables that were released together."""
        key = "all", statistic, self._sure
        if key not in self.made:
            self.made[key] = self._linear(statistic) if statistic.is_linear else self._by_law(statistic)
        found: Estimate = self.made[key]
        return found

    def cells(self, part: int) -> list[Floats]:
        """Return the cells of a measurement in all asked tables (claim U1)."""
        key = "cells", part
        if key not in self.made:
            self.made[key] = [self._tables.reconstructed(part, cell) for cell in self.noisy[part]]
        found: list[Floats] = self.made[key]
        return found

    # --- counts and sums ---

    def _linear(self, statistic: Statistic) -> Estimate:
        """Return a count or sum: on its public grid, so that tables add up exactly."""
        value, grid = self._published(statistic)
        margin = np.empty(len(value))
        for table, node, groups in self._laws():
            margin[groups] = self._tables.bar(statistic, table, node, grid, self._sure)
        return self._around(statistic, value, margin, grid)

    def _around(self, statistic: Statistic, value: Floats, margin: Floats, grid: float) -> Estimate:
        """Return numbers with their bars; as integers if they are shown so."""
        integers = self.plan.is_integer(statistic) and grid >= 1
        if integers:
            margin = np.ceil(margin)
        ends = value, value - margin, value + margin
        if integers and np.abs(ends).max() < _LARGEST_SHOWN:
            return Estimate(*(end.astype(np.int64) for end in ends))
        return Estimate(*ends)

    def _published(self, statistic: Statistic) -> tuple[Floats, float]:
        """Return a count or sum on a public grid, and the grid (claim U3)."""
        key = "published", statistic
        if key not in self.made:
            total = self._weighted(statistic, top=True)
            published = adding_up.add_up(self._tables.split(total), self._tables.grid(statistic), self._tables.chain)
            self.made[key] = self._tables.stacked(published.tables), published.grid
        found: tuple[Floats, float] = self.made[key]
        return found

    def _weighted(self, statistic: Statistic, *, top: bool) -> Floats:
        """Return the numerator or the denominator of a statistic, for all groups."""
        key = "weighted", statistic, top
        if key not in self.made:
            made = weighing(self.plan, statistic)
            assert made is not None
            total = np.full(self.plan.whole.groups, float(made.top if top else made.bottom))
            for each in made.cells:
                weight = float(each.top if top else each.bottom)
                if weight:
                    total += weight * self.cells(each.part)[each.cell]
            self.made[key] = total
        found: Floats = self.made[key]
        return found

    def apart(self, statistic: Statistic, axis: int, of: NDArray[np.int64], to: NDArray[np.int64]) -> Estimate | None:
        """Return a count or sum in some groups minus that in others, with other keys in one column (claim U7).

        None if the weights of this difference are not known: of other statistics, and where keys lie within others.
        """
        tables, shown = self._tables, self.plan.several
        if not statistic.is_linear or tables.chain is not None or shown is None:
            return None
        published, grid = self._published(statistic)
        value = published[shown.in_release(of)] - published[shown.in_release(to)]
        bars = [tables.bar(statistic, each, 0, grid, self._sure, axis) if axis in each else 0.0 for each in shown.asked]
        return self._around(statistic, value, np.array(bars)[shown.of(of)], grid)

    # --- means, shares, ratios, variances ---

    def _laws(self) -> Iterator[tuple[Axes, int, NDArray[np.int64]]]:
        """Yield the groups by the law of their noise: the table, a node of the hierarchy, and their numbers."""
        for table, start in zip(self._tables.asked, self._tables.starts, strict=False):
            for node, cells in self._tables.laws(table):
                yield table, node, start + cells

    def _by_law(self, statistic: Statistic) -> Estimate:
        estimate = self.quotient if weighing(self.plan, statistic) is not None else self._variance
        ends = np.empty((3, self.plan.whole.groups))
        for table, node, groups in self._laws():
            ends[:, groups] = estimate(statistic, table, node, groups)
        return Estimate(*ends)

    def quotient(self, statistic: Statistic, table: Axes, node: int, groups: NDArray[np.int64] | slice) -> Estimate:
        """Return a mean, a share or a ratio, with Fieller's set (claim G2)."""
        made = weighing(self.plan, statistic)
        assert made is not None
        sets = fieller(self._tables.slots(made, table, node), self._sure)
        top, bottom = self._weighted(statistic, top=True)[groups], self._weighted(statistic, top=False)[groups]
        ends = list(clipped(sets.bars(top, bottom), *public_range(self.plan, statistic))[:3])
        if not statistic.parts:
            (part, *_) = self.plan.answering(statistic)
            ends = widened(ends, self.plan.parts[part].measurement, self.plan.schema)
        return Estimate(*ends)

    def _variance(self, statistic: Statistic, table: Axes, node: int, groups: NDArray[np.int64]) -> Estimate:
        """Return a variance; its bar is that of Laplace noise with the same margin."""
        (part, *_) = self.plan.answering(statistic)
        cells = [cell[groups] for cell in self.cells(part)]
        setting = self._tables.alone(part, table, node, self._sure)
        return self.plan.parts[part].measurement.estimate(statistic, cells, setting, self._sure, 1)
