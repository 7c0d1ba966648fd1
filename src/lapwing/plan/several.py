"""Several tables in one question: the noise of each measured table, and what it does to the tables that are asked.

A row is in one cell of each table.  Every measured table gets a share of ε and noise of its own (P6); every table that
is asked is computed from all of them (U1), and published on a public grid, on which sums hold exactly (U3).

Claim U7 (bars).  A cell of a count or sum is a weighted sum of independent integer draws, whose weights U2 gives.  Its
bar is the margin of this sum (D3), and the bound of U3 for what publishing on the grid moves; where the truth is on the
grid too, it ends at the last point of the grid inside.  Means, shares and ratios
have Fieller's set of these sums (G2).  Bars for all cells of all tables at once take the union bound: the same draws
are in many cells.

Claim U9 (combine).  Tables that other releases measured of the same rows, with noise of their own, are measured tables
as well: give each release a column of its own that has one key, so that a table that several of them measured is
several tables.  Then U1, U2, U3, U5 and U7 hold as they are, with the variances of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import exact
from ..errors import UnsupportedQuery
from ..measure import adding_up, hierarchy, tables
from ..measure.cells import Column
from ..measure.hierarchy import Chain
from ..measure.measurement import Setting
from ..measure.quotients import Slot
from ..measure.tables import Axes, EqualCells, Floats
from ..noise.distributions import DiscreteLaplace
from ..noise.weighted import EqualDraws, margin_of
from ..question.query import Query, Statistic
from ..question.sets import KeyTable
from ..question.within import Level, levels
from .strategy import Strategy
from .weighing import Weighing, weighing

if TYPE_CHECKING:
    from .plan import Forecast, Part, Plan

_NOTHING: Column = np.zeros(0)

_FINEST_COUNT = 2.0**-10
"""Counts and sums of integers are published on no finer grid: with so little noise more digits say nothing."""

_SHOWN_TABLES = 40
"""How many tables a plan prints."""


@dataclass(frozen=True, eq=False)
class SeveralTables:
    """The tables of a plan: those that are asked, and those that are measured."""

    plan: Plan
    strategy: Strategy
    evidence: tuple[Evidence, ...] = ()

    # --- which tables ---

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of each key; and of the column of each other release, which has one key (claim U9)."""
        own = self.plan.query.shape(self.plan.schema)
        columns = max((each.table[-1] + 1 for each in self.evidence), default=len(own))
        return own + (1,) * (columns - len(own))

    @property
    def with_noise(self) -> tuple[Axes, ...]:
        """The tables of which there are noisy integers: those that are measured, and those of other releases."""
        return (*self.strategy.measured, *(each.table for each in self.evidence))

    @cached_property
    def asked(self) -> tuple[Axes, ...]:
        """The tables that are asked, in the order of the answer; what is shown of a release may have other orders."""
        by = self.plan.query.by
        return tuple(tuple(by.index(name) for name in table) for table in self.plan.query.sets)

    def keys(self, table: Axes) -> KeyTable:
        """Return the key columns of a table."""
        return tuple(self.plan.query.by[i] for i in table)

    @property
    def measured(self) -> tuple[KeyTable, ...]:
        """The key columns of each measured table."""
        return tuple(map(self.keys, self.strategy.measured))

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Which key columns lie within others."""
        return levels(self.plan.schema, self.plan.query)

    @cached_property
    def chain(self) -> Chain | None:
        """The key columns that lie within each other, from the coarsest to the finest; None if there are none."""
        return chain_of(self.plan.query, self.levels)

    def laws(self, table: Axes) -> list[tuple[int, NDArray[np.int64]]]:
        """Return the cells of a table by their law: a node of the hierarchy that has it, and the numbers of the cells.

        Without a hierarchy all cells have the same law (claim U2); with one, those of nodes that are alike (U5).
        """
        if self.chain is None or not (level := self.chain.level(table)):
            return [(0, np.arange(self.cells(table)))]
        place = table.index(self.chain.columns[level - 1])
        shape = [self.shape[i] for i in table]
        node = np.indices(shape, sparse=True)[place]
        kinds, nodes = np.unique(self.chain.alike(level), return_index=True)
        alike = np.broadcast_to(self.chain.alike(level)[node], shape).ravel()
        return [(first, np.flatnonzero(alike == kind)) for kind, first in zip(kinds, nodes.tolist(), strict=True)]

    def cells(self, table: Axes) -> int:
        """Return the number of cells of a table."""
        return tables.cells(self.shape, table)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The number of the first group of each asked table in the answer, and after them that of all groups."""
        return np.cumsum([0, *map(self.cells, self.asked)])

    def of(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which asked table each group of the answer belongs to."""
        return np.searchsorted(self.starts, groups, side="right") - 1

    def in_release(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers that groups of the answer have among those of all tables that were released together."""
        whole = self.plan.whole.several
        assert whole is not None
        places = [whole.asked.index(tuple(sorted(table))) for table in self.asked]
        of = self.of(groups)
        found = groups + (whole.starts[places] - self.starts[:-1])[of]
        for number, table in enumerate(self.asked):
            if whole.asked[places[number]] != table:  # its columns were asked in another order
                inside = of == number
                cells = np.arange(self.cells(table)).reshape([self.shape[i] for i in sorted(table)])
                turned = cells.transpose(np.argsort(np.argsort(table))).ravel()
                found[inside] = whole.starts[places[number]] + turned[groups[inside] - self.starts[number]]
        return found

    def stacked(self, found: dict[Axes, NDArray[Any]]) -> NDArray[Any]:
        """Return the cells of all asked tables, as the answer has them."""
        return np.concatenate([found[table].ravel() for table in self.asked])

    def split(self, cells: NDArray[Any]) -> dict[Axes, NDArray[Any]]:
        """Return the asked tables, from the cells of all of them."""
        pieces = zip(self.asked, self.starts, self.starts[1:], strict=False)
        return {table: cells[start:end].reshape([self.shape[i] for i in table]) for table, start, end in pieces}

    # --- noise ---

    def settings(self, part: Part) -> Iterator[Setting]:
        """Yield the public parameters with which each measured table is measured; their shares add up to the part's."""
        for table, share in zip(self.measured, self.strategy.shares, strict=True):
            yield Setting(self.plan.schema, self._question(table), part.epsilon * share, self.plan.rows)

    @cached_property
    def _scales(self) -> list[dict[Axes, Fraction]]:
        """For each part, the noise scale of each measured table, also of those of other releases."""
        found = []
        for number, part in enumerate(self.plan.parts):
            own = [part.measurement.scale(each) for each in self.settings(part)]
            found.append(
                dict(zip(self.with_noise, [*own, *(each.scales[number] for each in self.evidence)], strict=True))
            )
        return found

    @cached_property
    def _variances(self) -> list[dict[Axes, float]]:
        """For each part, the variance of the noise of each measured table, relative to the smallest."""
        return [_relative(scales) for scales in self._scales]

    def scale(self, part: int, table: Axes) -> Fraction:
        """Return the noise scale of a measurement in a measured table."""
        return self._scales[part][table]

    def measured_cells(self, noisy: Column) -> dict[Axes, NDArray[Any]]:
        """Return the noisy integers of each measured table, which are recorded one after the other."""
        ends = np.cumsum([self.cells(table) for table in self.with_noise])
        return {
            table: cells.reshape([self.shape[i] for i in table])
            for table, cells in zip(self.with_noise, np.split(noisy, ends[:-1]), strict=True)
        }

    def reconstructed(self, part: int, noisy: Column) -> Floats:
        """Return a cell of a measurement in all asked tables, from its noisy integers in all measured tables (U1)."""
        shaped = self.measured_cells(noisy)
        if self.chain is not None:
            return self.stacked(
                hierarchy.reconstruct(self.shape, self.chain, shaped, self._variances[part], self.asked)
            )
        return self.stacked(tables.reconstruct(self.shape, shaped, self._variances[part], self.asked))

    @cached_property
    def _draws(self) -> dict[tuple[int, Axes, int, int | None], list[EqualCells]]:
        return {}

    def draws(self, part: int, table: Axes, node: int = 0, apart: int | None = None) -> list[EqualDraws]:
        """Return the draws that are in a cell of an asked table, at a node, for one cell of a measurement.

        If a column is given, those in the difference of two cells that have different keys in it alone.
        """
        key = part, (table := tuple(sorted(table))), node, apart
        if key not in self._draws:
            known = self._variances[part]
            self._draws[key] = (
                tables.draws(self.shape, known, table, apart)
                if self.chain is None
                else hierarchy.draws(self.shape, self.chain, known, table, node)
            )
        return [EqualDraws(weight, self._scales[part][of], times) for weight, of, times in self._draws[key]]

    def slots(self, made: Weighing, table: Axes, node: int = 0, apart: int | None = None) -> list[Slot]:
        """Return what a statistic in a cell of an asked table is made of: draws, without any numbers."""
        return [
            Slot(
                each.top * Fraction(draw.weight), each.bottom * Fraction(draw.weight), draw.scale, draw.times, _NOTHING
            )
            for each in made.cells
            for draw in self.draws(each.part, table, node, apart)
        ]

    # --- counts and sums ---

    def deviation(self, statistic: Statistic, table: Axes, node: int = 0) -> float:
        """Return the standard deviation of a count or sum in a cell of a table."""
        slots = self.slots(self._linear(statistic), table, node)
        return math.sqrt(
            math.fsum(float(slot.top) ** 2 * slot.times * DiscreteLaplace(slot.scale).variance for slot in slots)
        )

    def grid(self, statistic: Statistic) -> float:
        """Return the public grid on which a count or sum is published, the same for all tables of a release."""
        if self.plan.released is not None and self.plan.released.several is not None:
            return self.plan.released.several.grid(statistic)
        if statistic not in self._grids:
            self._grids[statistic] = self._made_grid(statistic)
        return self._grids[statistic]

    @cached_property
    def _grids(self) -> dict[Statistic, float]:
        return {}

    def _made_grid(self, statistic: Statistic) -> float:
        if self._is_whole(statistic):
            return 1.0
        integer = self.plan.is_integer(statistic)
        least = {
            table: min(self.deviation(statistic, table, node) for node, _ in self.laws(table)) for table in self.asked
        }
        return max(adding_up.grid(least, 1.0 if integer else math.inf), _FINEST_COUNT if integer else 0.0)

    def _is_whole(self, statistic: Statistic) -> bool:
        """Return whether all tables are sums of whole numbers: they add up, and publishing moves none."""
        cells = self._linear(statistic).cells
        return len(self.with_noise) == 1 and len(cells) == 1 and cells[0].top == 1

    def bar(
        self, statistic: Statistic, table: Axes, node: int, grid: float, confidence: Fraction, apart: int | None = None
    ) -> float:
        """Return the half-width of the bar of a count or sum that is published on a grid (claim U7).

        If a column is given, of the difference of two cells that have different keys in it alone.
        """
        margin = self.noise_margin(statistic, table, node, confidence, apart)
        if not self._is_whole(statistic):
            margin += adding_up.bound(len(table), grid) * (1 if apart is None else 2)
        if self.plan.is_integer(statistic) and self.plan.is_truly_integer(statistic):
            return grid * math.floor(margin / grid) if grid <= 1 else float(math.floor(margin))
        return margin

    def noise_margin(
        self, statistic: Statistic, table: Axes, node: int, confidence: Fraction, apart: int | None = None
    ) -> float:
        """Return the margin of the noise in a count or sum, or in the difference of two cells."""
        slots = self.slots(self._linear(statistic), table, node, apart)
        return margin_of([EqualDraws(float(slot.top), slot.scale, slot.times) for slot in slots], confidence)

    def _linear(self, statistic: Statistic) -> Weighing:
        made = weighing(self.plan, statistic)
        assert made is not None
        return made

    # --- other statistics ---

    def alone(self, part: int, table: Axes, node: int, confidence: Fraction) -> Setting:
        """Return the parameters with which the table, measured alone by Laplace noise, would have the same margin."""
        measurement = self.plan.parts[part].measurement
        setting = self.plan.setting(self.plan.parts[part])
        scale = margin_of(self.draws(part, table, node), confidence) / -math.log(float(1 - confidence))
        return replace(setting, epsilon=Fraction(measurement.sensitivity(setting)) / Fraction(scale))

    def margin(self, statistic: Statistic, table: Axes, confidence: Fraction) -> float:
        """Return the half-width of the widest bar to expect in a table."""
        widest = max(self._margin(statistic, table, node, confidence) for node, _ in self.laws(table))
        return widest * statistic.stretch

    def _margin(self, statistic: Statistic, table: Axes, node: int, confidence: Fraction) -> float:
        if statistic.is_linear:
            return self.bar(statistic, table, node, self.grid(statistic), confidence)
        (part, *_) = self.plan.answering(statistic)
        measurement = self.plan.parts[part].measurement
        return measurement.margin(statistic, self.alone(part, table, node, confidence), confidence, 1)

    # --- in words ---

    def title(self, table: Axes) -> str:
        """Return the columns of a table as text."""
        names = self.plan.query.titles or self.plan.query.by
        return " × ".join(names[i] for i in table) or "total"

    @cached_property
    def listed(self) -> list[TableForecast]:
        """The asked tables, and those that are measured and not asked, with what to expect of them."""
        shares = dict(zip(self.strategy.measured, self.strategy.shares, strict=True))
        both = [*self.asked, *(table for table in self.strategy.measured if table not in self.asked)]
        return [TableForecast(table, shares.get(table), self._expected(table)) for table in both]

    def _expected(self, table: Axes) -> list[tuple[Forecast, float]]:
        """Return what to expect in an asked table; with each bar that of a question for this table alone."""
        if table not in self.asked:
            return []
        sure, at_once = (self.plan.each_confidence(self.plan.confidence, each)[0] for each in (False, True))
        found = []
        for each in self.plan.forecasts:
            one, alone = each.statistic, self._by_itself(each.statistic, table)
            margin, largest = (self.margin(one, table, confidence) for confidence in (sure, at_once))
            found.append((replace(each, margin=margin, simultaneous_margin=largest), alone))
        return found

    def _by_itself(self, statistic: Statistic, table: Axes) -> float:
        """Return the half-width of the bar of a question for one table, if all tables get the same part of ε."""
        parts = tuple(replace(part, epsilon=part.epsilon / len(self.asked)) for part in self.plan.parts)
        alone = replace(self.plan, query=self._question(self.keys(table)), parts=parts, strategy=None, released=None)
        return alone.margin(statistic, self.plan.confidence)

    def _question(self, table: KeyTable) -> Query:
        """Return the question for one table."""
        return replace(self.plan.query, by=table, titles=(), sets=(), grouping=())

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the tables for JSON."""
        return [
            {
                "by": list(self.keys(each.table)),
                "asked": each.table in self.asked,
                "cells": self.cells(each.table),
                "share": None if each.share is None else exact.text(each.share),
                "columns": [
                    {
                        "name": one.statistic.name,
                        "margin": _finite(one.margin),
                        "simultaneous_margin": _finite(one.simultaneous_margin),
                        "margin_alone": _finite(alone),
                    }
                    for one, alone in each.expected
                ],
            }
            for each in self.listed
        ]


class Evidence(NamedTuple):
    """A table that another release measured: its columns, and the noise scale of each part.

    The last of its columns is that of the release, which has one key (claim U9).
    """

    table: Axes
    scales: tuple[Fraction, ...]


class TableForecast(NamedTuple):
    """A table: its share of ε if it is measured; for each statistic what to expect, and the bar of the table alone."""

    table: Axes
    share: Fraction | None
    expected: list[tuple[Forecast, float]]


def several_rows(several: SeveralTables) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the tables as a plan shows them: the heads, a row for each of the first, and how many more there are."""
    statistics = [str(each.name) for each in several.plan.query.statistics]
    heads = ["table", "cells", "share of ε", *(part for name in statistics for part in (name, "one by one"))]
    rows = []
    for each in several.listed[:_SHOWN_TABLES]:
        share = "" if each.share is None else f"{float(100 * each.share):.3g} %"
        bars = [one.bar_text(bar) for one, alone in each.expected for bar in (one.margin, alone)]
        rows.append([several.title(each.table), f"{several.cells(each.table):,}", share, *bars])
    rows = [[*row, *[""] * (len(heads) - len(row))] for row in rows]
    more = len(several.listed) - len(rows)
    return heads, rows, [f"… {more:,} more tables: see .to_dict() or --format json"] if more else []


def several_line(several: SeveralTables) -> str:
    """Return what a plan says about its tables: how many are measured, and what the bars beside theirs are."""
    number, measured = len(several.asked), len(several.strategy.measured)
    return (
        f"{number} tables that add up, computed from {measured} that {'is' if measured == 1 else 'are'} measured.  "
        f'"one by one": the bars of {number} separate questions with the same ε in all.'
    )


def chain_of(query: Query, found: Sequence[Level]) -> Chain | None:
    """Return the key columns of a question that lie within each other; refuse more than one row of them."""
    if not found:
        return None
    above = {name: {each.parent for each in found if each.child == name} for name in query.by}
    names = sorted(
        (each for each in above if above[each] or any(each in some for some in above.values())),
        key=lambda each: len(above[each]),
    )
    if [len(above[name]) for name in names] != list(range(len(names))):
        raise UnsupportedQuery(
            "two hierarchies in one question for several tables", "Ask for the tables of each hierarchy separately."
        )
    numbers = {(each.child, each.parent): each.numbers for each in found}
    within = tuple(numbers[child, parent] for parent, child in pairwise(names))
    return Chain(tuple(map(query.by.index, names)), within)


def _finite(margin: float) -> float | None:
    return margin if math.isfinite(margin) else None


def _relative(scales: dict[Axes, Fraction]) -> dict[Axes, float]:
    """Return the variances of integer noise of these scales, relative to the smallest, so that none overflows."""
    smallest = min(scales.values())
    if smallest > 2**20:  # as good as continuous
        return {table: float(scale / smallest) ** 2 for table, scale in scales.items()}
    return {table: DiscreteLaplace(scale).variance for table, scale in scales.items()}


# --- the strategy in the ledger ---


def described_strategy(strategy: Strategy, by: KeyTable) -> dict[str, Any]:
    """Return a strategy as the question in the ledger has it: the columns of measured tables, and their shares."""
    return {
        "measured": [[by[i] for i in table] for table in strategy.measured],
        "shares": [exact.text(share) for share in strategy.shares],
        "version": strategy.version,
        "seed": strategy.seed,
    }


def recorded_strategy(record: Any, by: KeyTable) -> Strategy:
    """Return a strategy from its record; raise ValueError, KeyError or TypeError if it is none."""
    measured = tuple(tuple(by.index(name) for name in table) for table in record["measured"])
    return Strategy(measured, tuple(map(Fraction, record["shares"])), record["version"], record["seed"])
