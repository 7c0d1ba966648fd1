"""What can be said after a release, from its noisy integers alone: at no charge, whatever is asked and how often."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidParameter, InvalidRequest, Shown, UselessParameter
from ..measure.cells import Column
from ..measure.linear import Groups, Noisy
from ..noise.mechanism import NINETY_FIVE
from ..plan.plan import Plan
from ..plan.several import SeveralTables
from ..plan.weighing import cannot_be_negative
from ..question.cut import WHOLE
from ..question.sets import KeyTable, table_text
from ..question.statement import make_cut
from .columns import KeyColumn, key_texts
from .combining import combined, combined_cells, combined_tables
from .comparing import (
    Compared,
    GroupTables,
    axis_of,
    bounded_differences,
    differences,
    place_of,
    ratios,
    shares,
    totals,
)
from .comparison import Comparison, left
from .estimate import Estimator
from .groups import GroupKeys
from .noise_marks import UNKNOWN, Marks, marks, statistic_range
from .several import SeveralEstimator
from .views import synthetic_rows

if TYPE_CHECKING:
    from .result import Release

_SHOWN_TABLES = 20
"""How many tables an error lists."""

_SYNTHETIC = "synthetic"
"""The column of synthetic rows that says what they are."""

CLIPPED = "Negative numbers are shown as 0: do not add them up."
FITTED = (
    "Fitted to the released numbers so that none is negative and all tables add up: biased, and without error bars.  "
    "The unbiased numbers have bars."
)
"""What is said about numbers that cannot be negative: of one table, and of several."""


COMBINED = "Combined from the noisy numbers of {} of the ledger, by inverse variances."
"""What is said about numbers of several releases."""


class Afterwards:
    """The part of a release that makes other views of it, compares its numbers and marks their noise."""

    plan: Plan
    entry: int | None
    evidence: tuple[Release, ...]
    view: str
    confidence: Fraction
    simultaneous: bool
    suppress: bool
    _seen: Any

    if TYPE_CHECKING:

        @property
        def cells(self) -> Noisy: ...
        @property
        def keys(self) -> tuple[str, ...]: ...
        @property
        def _groups(self) -> Groups: ...
        @property
        def _made(self) -> dict[Any, Any]: ...
        @property
        def key_columns(self) -> list[KeyColumn]: ...
        @property
        def _estimator(self) -> Estimator | SeveralEstimator: ...

    @property
    def epsilon(self) -> Fraction:
        """The ε of the release; of combined ones the sum of theirs; 0 if nothing was charged."""
        return sum((each.plan.epsilon for each in (self, *self.evidence) if each.entry is not None), Fraction(0))

    @property
    def entries(self) -> tuple[int, ...]:
        """The numbers of the entries that the numbers come from: one, unless releases were combined."""
        return tuple(sorted(each.entry for each in (self, *self.evidence) if each.entry is not None))

    @cached_property
    def _without_bars(self) -> set[str]:
        """The names of numbers without bars: quantiles asked for without intervals, and those of fitted tables."""
        plan = self.plan
        return {
            str(each.name)
            for each in plan.query.statistics
            if any(not plan.parts[i].measurement.has_bars for i in plan.answering(each))
            or (self.view == "nonnegative" and plan.several is not None and cannot_be_negative(plan, each))
        }

    @property
    def adding_up(self) -> set[str]:
        """The names of counts and sums whose tables add up to the last digit."""
        statistics = () if self.plan.several is None else self.plan.query.statistics
        return {str(each.name) for each in statistics if each.is_linear and each.shown_text == each.text}

    # --- other views of the same numbers ---

    @property
    def tables(self) -> tuple[KeyTable, ...]:
        """The tables of the answer, each by the names of its key columns; () is the total."""
        query = self.plan.query
        names = dict(zip(query.by, query.titles or query.by, strict=True))
        return tuple(tuple(names[key] for key in table) for table in query.tables)

    def table(self, *keys: str) -> Release:
        """Return one of several tables, with its own key columns alone: ``answer.table("sex", "age")``.

        ``answer.table()`` is the total.  Its numbers are those of the whole release; it costs nothing.
        """
        places = {frozenset(table): place for place, table in enumerate(self.tables)}
        asked = frozenset(keys) if all(isinstance(key, str) for key in keys) else None
        if asked not in places or len(asked) != len(keys):
            known = ", ".join(map(table_text, self.tables[:_SHOWN_TABLES]))
            more = "" if len(self.tables) <= _SHOWN_TABLES else " …"
            shown = keys if asked is None else Shown(table_text(keys))
            raise InvalidParameter(shown, "table", f"one of those that were released: {known}{more}")
        plan, query = self.plan, self.plan.query
        if plan.several is not None:
            plan = plan.showing(replace(query, sets=(query.sets[places[asked]],), grouping=()))
        view: Release = self._seen(plan=plan, shown=WHOLE)
        return view

    def combined(self, *others: Release) -> Release:
        """Return this answer with the numbers of other releases as evidence, by inverse variances (claim U9).

        The others are of the same source and version, rows and statistics; their tables have keys of this answer.
        Each number is the best linear unbiased estimate from all that was measured, and has a bar of its own.  Entries
        are counted once.  It costs nothing.
        """
        release: Any = self
        return combined(release, others)

    @property
    def _combined(self) -> tuple[SeveralTables | None, Noisy]:
        """The tables with those of the evidence, and the noisy integers of both."""
        if not self.evidence:
            return None, self.cells
        if "combined" not in self._made:
            release: Any = self
            self._made["combined"] = combined_tables(release), combined_cells(release)
        found: tuple[SeveralTables, Noisy] = self._made["combined"]
        return found

    def cut(
        self,
        having: str | None = None,
        *,
        order_by: str | Sequence[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> Release:
        """Return some groups of the whole answer, as HAVING, ORDER BY, LIMIT and OFFSET of SQL do; ``cut()`` shows all.

        Args:
            having: a condition on columns of the answer, such as "count >= 100" or "count_low >= 100 AND ward <> 'x'".
            order_by: columns of the answer, such as "count DESC" or ["count DESC", "ward"].
            limit: how many groups to show at most.
            offset: how many to leave out before them.
        """
        query, schema = self.plan.query, self.plan.schema
        if len(query.sets) == 1:  # one of several tables
            query = replace(query, by=query.sets[0], titles=self.tables[0], sets=())
        view: Release = self._seen(
            shown=make_cut(query, schema, having=having, order_by=order_by, limit=limit, offset=offset)
        )
        return view

    def suppressed(self) -> Release:
        """Return a view without the numbers whose noise is high, or say nothing; the others are as they were."""
        view: Release = self._seen(suppress=True)
        return view

    # --- comparisons ---

    def to_rows(self, n: int | None = None) -> dict[str, list[Any]]:
        """Return synthetic rows with the released tables, as plain columns: for programs that need rows of people.

        They are made from the numbers of ``nonnegative(rounded=True)``, and no row is one of the data.  The column
        ``synthetic`` says so.  There are ``n`` of them; if not given, as many as the released total.
        """
        several = self.plan.several
        counted = [each for each in self.plan.query.statistics if each.counts_rows]
        if several is None or not counted or not isinstance(self._estimator, SeveralEstimator):
            raise InvalidRequest(
                "Synthetic rows need the number of rows in several tables",
                'Release lw.count() by=lw.cube("a", "b"), or with GROUP BY CUBE (a, b).',
            )
        keys = {each.at: each for each in self.key_columns if each.is_key}
        for key in keys.values():
            if key.name.casefold() == _SYNTHETIC:
                raise InvalidRequest(
                    f'Synthetic rows have a column "{_SYNTHETIC}", and a key has this name too',
                    f'Name the key: SELECT "{key.name}" AS another_name, ….  The recorded answer costs nothing.',
                )
        numbers = synthetic_rows(self._estimator.view(counted[0]), n)
        known = {keys[at]: found for at, found in numbers.items() if at in keys}
        columns = {each.name: [each.keys[i] for i in found.tolist()] for each, found in known.items()}
        size = max(map(len, numbers.values()), default=0)
        return {**columns, _SYNTHETIC: [True] * size}

    def difference(self, *, by: str, of: Any, to: Any) -> Comparison:
        """Return each number of the groups of one key minus that of another, such as by="sex", of="F", to="M".

        Of several tables, in each that has the key.  Bars of differences of means, proportions and ratios in one table
        are approximate (claim G3); all others hold.
        """
        return self._pair(differences, "Difference", "minus", by, of, to)

    def ratio(self, *, by: str, of: Any, to: Any) -> Comparison:
        """Return each number of the groups of one key divided by that of another."""
        return self._pair(ratios, "Ratio", "divided by", by, of, to)

    def share(self, *, within: str | Sequence[str] = ()) -> Comparison:
        """Return each count and sum as a share of its total over all groups, or over those of each key ``within``."""
        axes = self._axes(within, "within")
        names = [name for name, at in self._key_names.items() if at in axes]
        if len(axes) == len(self._shape):
            raise UselessParameter("within", "nothing is left to take a share of", "Name fewer keys.")
        what = f"Share of the total{' within each ' + ' and '.join(names) if names else ''}"
        return self._compare(lambda groups: shares(groups, axes), what, (), self._shape)

    def total(self, *, over: str | Sequence[str] = ()) -> Comparison:
        """Return the numbers of all groups of a key together, or of several keys; of all keys if none is named."""
        axes = self._axes(over, "over") or list(range(len(self._shape)))
        names = [name for name, at in self._key_names.items() if at in axes]
        shape = tuple(size for at, size in enumerate(self._shape) if at not in axes)
        what = f"Total over {' and '.join(names)}"
        return self._compare(lambda groups: totals(groups, axes), what, axes, shape)

    @property
    def _key_names(self) -> dict[str, int]:
        return {each.name: each.at for each in self.key_columns if each.is_key}

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(each.values) for each in self.key_columns if each.is_key)

    def _axes(self, asked: str | Sequence[str], parameter: str) -> list[int]:
        """Return which keys are named; refuse a release without keys, or of several tables."""
        if self.plan.several is not None:
            raise InvalidRequest(
                "The numbers of several tables share noise, and are not compared",
                "Totals are in the answer, and .difference() is possible.  For the rest, release one table by itself.",
            )
        if not self._shape:
            raise UselessParameter("A comparison", "the release has no groups", "Release the statistics by a key.")
        if not isinstance(asked, str | Sequence):
            raise InvalidParameter(asked, parameter, "the name of a key, or several")
        names = (asked,) if isinstance(asked, str) else asked
        return sorted({axis_of(self.key_columns, name, parameter) for name in names})

    def _pair(
        self, compare: Callable[..., list[Compared]], title: str, sign: str, by: str, of: Any, to: Any
    ) -> Comparison:
        axis = axis_of(self.key_columns, by, "by")
        if compare is not differences:
            self._axes(by, "by")
        places = [place_of(self.key_columns, axis, key, name) for key, name in ((of, "of"), (to, "to"))]
        if places[0] == places[1]:
            raise InvalidParameter(to, "to", "another key than of")
        name = next(each.name for each in self.key_columns if each.at == axis)
        texts = key_texts(self.key_columns, axis)
        what = f"{title} by {name}: {texts[places[0]]} {sign} {texts[places[1]]}"
        if compare is differences:
            return self._difference(axis, places, what)
        shape = tuple(size for at, size in enumerate(self._shape) if at != axis)
        return self._compare(lambda groups: compare(groups, axis, *places), what, (axis,), shape)

    def _difference(self, axis: int, places: Sequence[int], what: str) -> Comparison:
        """Return the differences of two keys of one table, or in each of several tables that has the key."""
        plan, several, groups = self.plan, self.plan.several, np.arange(self.plan.groups)
        at = GroupKeys(plan).at(groups)
        has = several is None or np.array([axis in table for table in several.asked])[several.of(groups)]
        of, to = (np.flatnonzero(has & (at[axis] == place)) for place in places)  # the other keys in one order

        def differ(sure: Fraction) -> list[Compared]:
            one, both = (
                replace(self._estimator, confidence=each, simultaneous=False) for each in (sure, 1 - (1 - sure) / 2)
            )
            found = bounded_differences(plan, both.of(slice(0, plan.groups)), one, axis, of, to)
            if several is None:
                known = differences(GroupTables(plan, self.cells, self._shape, sure), axis, *places)
                found = [next((one for one in known if one.name == each.name), each) for each in found]
            return found

        by, within = plan.query.by, () if several is None else several.levels
        gone = [axis, *(by.index(each.parent) for each in within if each.child == by[axis])]
        left_over = [each[of] for i, each in enumerate(at) if i not in gone and i in self._key_names.values()]
        return self._comparison(differ, what, gone, left_over, len(of))

    def _compare(
        self,
        compare: Callable[[GroupTables], list[Compared]],
        what: str,
        gone: Sequence[int],
        shape: tuple[int, ...],
    ) -> Comparison:
        def compared(sure: Fraction) -> list[Compared]:
            return compare(GroupTables(self.plan, self.cells, self._shape, sure))

        size = math.prod(shape)
        places = np.unravel_index(np.arange(size), shape) if shape else ()
        return self._comparison(compared, what, gone, places, size)

    def _comparison(
        self,
        compared: Callable[[Fraction], list[Compared]],
        what: str,
        gone: Sequence[int],
        places: Sequence[Column],
        size: int,
    ) -> Comparison:
        def made(confidence: Fraction, simultaneous: bool) -> list[Compared]:
            numbers = size * len(self.plan.query.statistics) if simultaneous else 1
            return compared(1 - (1 - confidence) / numbers)

        keys = left([each for each in self.key_columns if not each.summed], gone)
        release: Any = self
        found = Comparison(release, what, made, keys, places, size, self.confidence, self.simultaneous, self.suppress)
        if not found.estimates:
            names = ", ".join(str(each.name) for each in self.plan.query.statistics)
            why = f"nothing can be compared so: {names}"
            raise UselessParameter(what, why, "Counts, sums, means, proportions and ratios can be compared.")
        return found

    @property
    def noise_marks(self) -> dict[str, Marks]:
        """The mark of each number (claim G4), by the names of the statistics: an array of texts, one for each group."""
        return self._marks(self._groups)

    def _marks(self, groups: Groups) -> dict[str, Marks]:
        found = {}
        for statistic, estimate in zip(self.plan.query.statistics, self._usual.of(groups), strict=True):
            name = str(statistic.name)
            found[name] = marks(estimate, self.plan.schema.noise_levels, *statistic_range(self.plan, statistic))
            if name in self._without_bars:
                found[name][:] = UNKNOWN
        return found

    @cached_property
    def _usual(self) -> Estimator | SeveralEstimator:
        """The estimates with bars of 95 %, from which marks are made, whatever bars are shown."""
        if not self.simultaneous and self.confidence == NINETY_FIVE:
            return self._estimator
        return replace(self._estimator, confidence=NINETY_FIVE, simultaneous=False)
