"""A table that stays where it is, what is public about it, and what users call: plan, release, sql.

Keys, bounds and rows per person that are not public are found privately (discover, bounds, rows_per_person), and then
declared.

A source file is TOML (docs/reference/source.md); loading one runs no code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

from . import exact, source_file
from .engine.connect import connect, connect_joins, is_url, public_rows_of
from .engine.dialect import Dialect
from .errors import InvalidParameter, LedgerError
from .exact import Number
from .ledger.existing import is_there, told_new
from .ledger.ledger import Ledger
from .ledger.of_source import LedgerOfSource
from .ledger.place import Place, beside, default, file_name
from .measure.cells import Progress
from .noise.entropy import SYSTEM, Entropy
from .noise.mechanism import NINETY_FIVE
from .plan.asked import plan_asked
from .plan.clipped import Clipped
from .plan.plan import Plan, bar_confidence
from .question.arguments import by_name
from .question.cut import WHOLE
from .question.derivation import Derivation
from .question.described import described_schema
from .question.example import example_columns
from .question.file import AS_USUAL, File
from .question.join import Join, check_joins
from .question.noise_levels import USUAL, NoiseLevels
from .question.query import Statistic
from .question.schema import Column, Schema
from .question.schema_json import describe
from .question.sets import Keys, Objective, Weights
from .question.within import check_within
from .release.bounds import Bounds, find_bounds, plan_bounds
from .release.discover import Discovery, KeyPlan, discover, plan_keys
from .release.pipeline import make_release
from .release.recall import clipped
from .release.result import Release
from .release.reuse import from_record
from .release.rows_per_person import RowsPerPerson, find_rows_per_person, people_share, plan_rows_per_person
from .sensitivity import Neighbors

A = TypeVar("A", Release, Discovery, Bounds, RowsPerPerson)


class Source(LedgerOfSource):
    """A table about people, its public description, and its budget.

    What is declared is taken as it is: keys that are spelled otherwise in the table, or bounds in another unit, give
    noise for their ε.  So ``lw.check(source)``, for the owner alone, compares it with the table before any is spent.

    Args:
        table: a path or glob of CSV or Parquet files; a pandas, Polars or Spark data frame, an Arrow table or a DuckDB
            relation; postgresql://host/database#table, spark:table, or sc://host:port#table.
        name: its name in SQL and in the ledger.
        columns: the columns that a query may name: ``lw.number(low, high)``, ``lw.keys(…)``, ``lw.dates(first, last)``,
            ``lw.expression("hours * wage")``, ``lw.recode(…)``, or a type such as "date".
        person: the column that identifies a person; without it, every row is one person.
        rows_per_person: how many rows of one person count in full; people with more are weighted down to this many.
            Without it a source with a person column answers one question alone: ``rows_per_person()``.
        neighbors: "add_remove" (default) or "change_one".
        public_rows: whether the number of rows is public, under change_one and where every row is one person; true
            for Parquet files, and for other tables only if you say so.  Never say so for rows that a filter selected.
        epsilon: the total ε that may ever be spent; needed when the ledger is new.
        delta: the total δ, which only ``discover`` spends; 0 if not given.
        ledger: an SQLite file or a postgresql:// URL.  By default ``<name>.ledger`` beside the table's files, or for
            data frames and tables on servers in ~/.local/share/lapwing: one name, one budget, wherever you work.
        version: change it when the data changes, so that recorded answers are not given for other data.  A recorded
            answer says when it was recorded, and for files whether they were modified since.
        file: how the files are written, if not as usual: ``lw.file(delimiter=";", decimal=",", encoding="latin-1")``.
        noise_levels: up to where noise is called low, and up to where medium: ``lw.noise_levels(low=0.1, medium=0.3)``.
        joins: tables that are joined to this one: ``lw.join(…)``, of the same people or public look-ups.
    """

    @by_name
    def __init__(
        self,
        table: Any,
        *,
        name: str,
        columns: Mapping[str, Column | Derivation | str],
        person: str | None = None,
        rows_per_person: int | None = None,
        neighbors: Neighbors = "add_remove",
        public_rows: bool | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        ledger: str | PathLike[str] | None = None,
        version: str | None = None,
        file: File | None = None,
        noise_levels: NoiseLevels = USUAL,
        joins: Sequence[Join] = (),
    ) -> None:
        if not isinstance(noise_levels, NoiseLevels):
            raise InvalidParameter(noise_levels, "noise_levels", "lw.noise_levels(…)")
        if file is not None and not isinstance(file, File):
            raise InvalidParameter(file, "file", "lw.file(…)")
        described = (name, columns, person, rows_per_person, neighbors, version)
        self._table = connect(table, name, file or AS_USUAL)
        every_row_counts = public_rows_of(self._table, public_rows, person, neighbors)
        self._declared = dict(columns) if isinstance(columns, Mapping) else columns
        schema = described_schema(
            *described, every_row_counts=every_row_counts, file=file or AS_USUAL, noise_levels=noise_levels
        )
        self.schema: Schema = self._joined(schema, table, joins)
        self.epsilon = None if epsilon is None else exact.epsilon(epsilon)
        self.delta = None if delta is None else exact.delta(delta)
        if ledger is not None and not isinstance(ledger, str | PathLike):
            raise InvalidParameter(ledger, "ledger", "the path of a file, or a postgresql:// URL")
        self._place = default(self._table.folder, name) if ledger is None else Place(fspath(ledger))

    def _joined(self, schema: Schema, table: Any, joins: object) -> Schema:
        """Return the schema with the joins, checked and connected."""
        if not isinstance(joins, list | tuple) or not all(isinstance(each, Join) for each in joins):
            raise InvalidParameter(joins, "joins", "a list of lw.join(…)")
        check_joins(replace(schema, joins=tuple(joins)))
        check_within(replace(schema, joins=tuple(joins)))
        connected = connect_joins(self._table, table, joins, schema.name)
        return replace(schema, joins=connected, guesses_encoding=self._table.guesses_encoding)

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Source:
        """Return the source that a TOML file describes; paths in it are relative to the file."""
        file = Path(path)
        table, declared, fields = source_file.read(fspath(path))
        fields = {"name": file.stem, **fields}
        named = "ledger" in fields
        place = fields.setdefault("ledger", file_name(str(fields["name"])))
        if isinstance(place, str) and "://" not in place:
            fields["ledger"] = str(file.parent / place)
        fields["joins"] = [replace(each, table=_beside(file, each.table)) for each in fields.pop("join", [])]
        opened = cls(_beside(file, table), columns=declared, **fields)
        if not named:
            opened._place = beside(file.parent, opened.name, file.parent / f"{opened.name}.ledger")
        return opened

    def __repr__(self) -> str:
        return f"Source({self.schema.name!r}, {self._table!r})"

    @property
    def name(self) -> str:
        """The name of the source in SQL and in the ledger."""
        return self.schema.name

    @property
    def dialect(self) -> Dialect:
        """The SQL of the engine that holds the table."""
        return self._table.dialect

    def describe(self) -> dict[str, Any]:
        """Return what is public about the source, for JSON: what is declared, and not where the table is."""
        return describe(self.schema, self._declared)

    def example(self, rows: int = 10) -> dict[str, list[Any]]:
        """Return invented rows, as columns: made of the declarations alone, to try questions on; no data is read.

        The same number of rows is always the same rows.  Their numbers say nothing about the table.
        """
        return example_columns(self.schema, rows)

    def holds(self, file: Path) -> bool:
        """Return whether a file is the ledger, is a part of the table, or would become one."""
        tables = [self._table, *self._table.joined.values()]
        return file.resolve() == Path(self._place.where).resolve() or any(each.holds(file) for each in tables)

    def shares_rows_with(self, other: Source) -> bool:
        """Return whether two sources have a private table in common, or a file of one; look-ups are public."""
        mine, others = ([each._table, *each._table.joined.values()] for each in (self, other))
        return any(one.shares_rows_with(another) for one in mine for another in others)

    @by_name
    def plan(
        self,
        *statistics: Statistic | Sequence[Statistic] | str,
        by: Keys | None = None,
        where: str | None = None,
        epsilon: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        weights: Weights | None = None,
        objective: Objective = "mean",
        confidence: Number = NINETY_FIVE,
        rows: int = 1000,
        intervals: bool = True,
        rows_per_person: int | None = None,
    ) -> Plan:
        """Return what a release would do and how accurate it would be, without reading any data; it costs nothing.

        Args:
            statistics: what to ask, such as ``lw.count()``; or one text of SQL.
            by: the key columns to group by; none if not given.  Several tables: lw.cube("sex", "age").
            where: a condition such as "age >= 65".
            epsilon: the ε of the release.
            error: the error bar that every statistic should have, or those of some statistics by name, for example
                {"count": 10, "mean_cost": 5}; the plan then has the ε that this needs.
            weights: how ε is split over columns, for example {"cost": 3, "age": 1}; equally if not given.  Of several
                tables, also how much each counts: {("sex", "age"): 4, (): 1}; a table is a tuple of its columns.
            objective: of several tables, what is made small: the "mean" of their variances, the largest one
                ("minimax"), or the mean over all cells ("cells").
            confidence: the confidence of the error bars.
            rows: the number of rows per group to assume for the error of means and similar statistics.
            intervals: False puts all of the ε of quantiles into their values, and none into error bars.
            rows_per_person: plan as if the source declared this number, to compare what each costs.
        """
        schema = self.schema if rows_per_person is None else self.schema.counting(rows_per_person)
        plan = plan_asked(
            schema, statistics, by, where, epsilon=epsilon, error=error, weights=weights, objective=objective,
            confidence=confidence, rows=rows, intervals=intervals,
        )  # fmt: skip
        ledger, lacking = self._ledger_for_plan() if plan.parts else (None, None)
        return replace(plan, clipped=_clipped(plan, ledger), lacking=lacking).on(self.dialect)

    @by_name
    def release(
        self,
        *statistics: Statistic | Sequence[Statistic] | str,
        by: Keys | None = None,
        where: str | None = None,
        epsilon: Number,
        weights: Weights | None = None,
        objective: Objective = "mean",
        analyst: str | None = None,
        confidence: Number = NINETY_FIVE,
        intervals: bool = True,
        progress: Progress | None = None,
        entropy: Entropy = SYSTEM,
    ) -> Release:
        """Release statistics: charge ε to the ledger, and return noisy numbers with error bars.

        Args:
            statistics: what to ask, such as ``lw.count(), lw.mean("age")``; or one text of SQL.
            by: the key columns to group by; every key they declare will be in the answer.
            where: a condition such as "age >= 65".
            epsilon: the privacy to spend on this release.
            weights: how ε is split over columns, and what several tables count, as for ``plan``.
            objective: what is made small for several tables, as for ``plan``.
            analyst: the analyst whose cap in the ledger it counts against.
            confidence: the confidence of the error bars; it does not change what is charged.
            intervals: False puts all of the ε of quantiles into their values; bars are then the column's bounds.
            progress: a function called with the share done so far, 0 to 1, while the engine runs.
            entropy: the source of randomness; change it only in tests.
        """
        plan = plan_asked(
            self.schema.anew(), statistics, by, where, epsilon=epsilon, weights=weights, objective=objective,
            confidence=confidence, intervals=intervals,
        )  # fmt: skip
        return release_planned(self, plan, analyst=analyst, progress=progress, entropy=entropy)

    @by_name
    def sql(self, text: str, *, epsilon: Number, analyst: str | None = None, **options: Any) -> Release:
        """Release what a SELECT asks: the same as ``release``.  HAVING, ORDER BY and LIMIT cut the released answer."""
        return self.release(text, epsilon=epsilon, analyst=analyst, **options)

    @by_name
    def discover(
        self,
        column: str,
        *,
        epsilon: Number,
        delta: Number,
        where: str | None = None,
        keys_per_person: int | None = None,
        analyst: str | None = None,
        confidence: Number = NINETY_FIVE,
        progress: Progress | None = None,
        entropy: Entropy = SYSTEM,
    ) -> Discovery:
        """Find the keys of a column that many people have, if they are not public: charge ε and δ to the ledger.

        Args:
            column: a column that is declared by its type (text, integer, date or boolean) or has keys.
            epsilon: the privacy to spend.
            delta: the probability with which the key of a single person may be shown, for example "1e-8".
            where: a condition such as "age >= 65".
            keys_per_person: for how many keys one person counts at most; rows_per_person if not given.
            analyst: the analyst whose cap in the ledger it counts against.
            confidence: the confidence of the error bars.
            progress: a function called with the share done so far, 0 to 1, while the engine runs.
            entropy: the source of randomness; change it only in tests.
        """
        sure = bar_confidence(confidence)
        plan = self.plan_keys(column, epsilon=epsilon, delta=delta, where=where, keys_per_person=keys_per_person)
        options: Any = {"analyst": analyst, "progress": progress, "entropy": entropy}
        discovery = self._spend(lambda ledger: discover(plan, self._table, ledger, **options))
        return discovery.at(sure)

    @by_name
    def plan_keys(
        self,
        column: str,
        *,
        epsilon: Number,
        delta: Number,
        where: str | None = None,
        keys_per_person: int | None = None,
    ) -> KeyPlan:
        """Return how many people a key needs for ``discover`` to find it; no data is read, and it costs nothing."""
        plan = plan_keys(
            self.schema.anew(), column, epsilon=epsilon, delta=delta, where=where, keys_per_person=keys_per_person
        )
        return plan.on(self.dialect)

    @by_name
    def bounds(
        self,
        column: str,
        *,
        epsilon: Number,
        where: str | None = None,
        analyst: str | None = None,
        progress: Progress | None = None,
        entropy: Entropy = SYSTEM,
    ) -> Bounds:
        """Find bounds of a numeric column that hold most values, if none are known: charge ε to the ledger.

        Args:
            column: a column that is declared as a number or integer; bounds that it has are ignored.
            epsilon: the privacy to spend.
            where: a condition such as "age >= 65".
            analyst: the analyst whose cap in the ledger it counts against.
            progress: a function called with the share done so far, 0 to 1, while the engine runs.
            entropy: the source of randomness; change it only in tests.
        """
        plan = plan_bounds(self.schema.anew(), column, epsilon=epsilon, where=where)
        options: Any = {"analyst": analyst, "progress": progress, "entropy": entropy}
        return self._spend(lambda ledger: find_bounds(plan, self._table, ledger, **options))

    @by_name
    def rows_per_person(
        self,
        *,
        epsilon: Number,
        share: Number = NINETY_FIVE,
        where: str | None = None,
        analyst: str | None = None,
        progress: Progress | None = None,
        entropy: Entropy = SYSTEM,
    ) -> RowsPerPerson:
        """Find how many rows most people have, if that is not known: charge ε to the ledger.

        What the source declares as rows_per_person is ignored, and a source may leave it out until it is found.

        Args:
            epsilon: the privacy to spend.
            share: the share of people who should have at most as many rows; another share of the same numbers is free.
            where: a condition such as "age >= 65".
            analyst: the analyst whose cap in the ledger it counts against.
            progress: a function called with the share done so far, 0 to 1, while the engine runs.
            entropy: the source of randomness; change it only in tests.
        """
        plan, wanted = plan_rows_per_person(self.schema.anew(), epsilon=epsilon, where=where), people_share(share)
        options: Any = {"analyst": analyst, "progress": progress, "entropy": entropy}
        found = self._spend(lambda ledger: find_rows_per_person(plan, self._table, ledger, **options))
        return found.at(wanted)

    def _spend(self, ask: Callable[[Ledger], A]) -> A:
        """Return the answer to a question; where no ledger is, one is made, and the answer, or the error, says so."""
        if self._opened_ledger is not None or is_there(self.ledger_place()):
            return self.beside(ask(self.ledger))
        new = told_new("This release", self.make_ledger())
        try:
            return ask(self.ledger).beside(self._modified(), new)
        except BaseException as error:
            error.add_note(new)
            raise

    def beside(self, answer: A) -> A:
        """Return an answer of this source; one that was recorded before the table was modified says so."""
        return answer.beside(self._modified())

    def _modified(self) -> datetime | None:
        modified = [each.modified() for each in (self._table, *self._table.joined.values())]
        return max((each for each in modified if each is not None), default=None)

    def declare(
        self, columns: Mapping[str, Column | Derivation | str] | None = None, **more: Column | Derivation | str
    ) -> Source:
        """Return a source of the same table and ledger with these columns; they replace those of the same name."""
        schema = self.schema
        if columns is not None and not isinstance(columns, Mapping):
            raise InvalidParameter(columns, "columns", "a mapping from names to declarations")
        declared = {**self._declared, **(columns or {}), **more}
        described = (declared, schema.person, schema.rows_per_person, schema.neighbors, schema.version)
        other = copy(self)
        counts = schema.every_row_counts
        other._declared = declared
        made = described_schema(
            schema.name, *described, every_row_counts=counts, file=schema.file, noise_levels=schema.noise_levels
        )
        other.schema = replace(made, joins=schema.joins, guesses_encoding=schema.guesses_encoding)
        check_joins(other.schema)
        check_within(other.schema)
        return other


def release_planned(
    source: Source,
    plan: Plan,
    *,
    analyst: str | None = None,
    progress: Progress | None = None,
    entropy: Entropy = SYSTEM,
) -> Release:
    """Release what a plan of this source says: the rest of ``Source.release``, and all of it for those with a plan."""
    plan, cut = replace(plan, shown=WHOLE), plan.shown

    def ask(ledger: Ledger | None) -> Release:
        known = None if ledger is None else from_record(plan, ledger, analyst)
        return known or make_release(plan, source._table, ledger, analyst=analyst, progress=progress, entropy=entropy)

    release = source._spend(ask) if plan.parts else source.beside(ask(None))
    return release.at(plan.confidence).showing(cut)


def _clipped(plan: Plan, ledger: Ledger | None) -> tuple[Clipped, ...]:
    """Return which columns are clamped; for how many rows, if there is a ledger that says so."""
    try:
        return clipped(plan, ledger if plan.bounded else None)
    except LedgerError:
        return clipped(plan, None)


def _beside(file: Path, table: str) -> str:
    """Return a table that a source file names: a URL, another table of one (#), or a path relative to the file."""
    return table if is_url(table) or table.startswith("#") else str(file.parent / table)
