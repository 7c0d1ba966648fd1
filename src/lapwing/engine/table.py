"""What all engines share: a table that can be described and queried for integers, and errors that reveal no data.

An engine's module only connects and runs.  Its error messages may quote a cell, so they are dropped: an
``EngineError`` says what the caller may know, and the log ``lapwing.engine`` has the kind of failure.
"""

from __future__ import annotations

import logging
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import EngineError, InvalidSource, suggestion
from ..measure.cells import Progress, column
from ..question.codes import Key, Kind
from ..question.join import own_columns
from ..question.schema import Schema
from .dialect import Dialect
from .joins import link_class, look_ups_read, people_read
from .keys import LoweredKeys
from .names import places
from .recognised import Recognised
from .set_sql import split
from .write_sql import Lowered

T = TypeVar("T")

COMPLETE = "What was charged stays charged; the same question again completes it at no charge."

log = logging.getLogger("lapwing.engine")
log.addHandler(logging.NullHandler())


class Integers(NamedTuple):
    """What an engine returns: the columns of the sums (group, rows, …), and of each measurement with its own SQL."""

    sums: list[NDArray[Any]]
    own: list[list[NDArray[Any]]]


class Session(Protocol):
    """An open connection with ``source`` and the tables of keys, ready for queries."""

    def integers(self, sql: str) -> list[NDArray[Any]]:
        """Return the columns of a result: int64, or Python integers as objects if one is larger.

        There may be none if there are no rows.
        """

    def keys(self, sql: str) -> list[tuple[Key, int]]:
        """Return the rows of a result: a key, and how many people have it."""

    def cells(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a result, with their cells: of a public table alone."""


class Lost(NamedTuple):
    """How many records were left out, and how many cells are missing since their bytes are not in the encoding."""

    records: int = 0
    cells: int = 0


class Field(NamedTuple):
    """A column as the table describes it: its label, which in a frame may not be a text, and its type."""

    name: Any
    type: str


@dataclass(frozen=True)
class DescribedField:
    """A column as a table describes it, for ``lapwing init``; some formats have a title and labels of its values."""

    name: Any
    type: str
    title: str | None = None
    labels: Sequence[tuple[object, str]] = ()


class Problem(Exception):
    """Problem(what, advice): something public about the table that a message may say."""

    def __init__(self, what: str, advice: str = "Look at what `table` names.") -> None:
        super().__init__(what, advice)


class Table(ABC):
    """Where the rows are."""

    dialect: ClassVar[Dialect]
    hint: ClassVar[str] = ""
    """A possible cause, if nothing else is known."""

    folder: Path | None = None
    """The folder of its files, in which its ledger is kept; None if the rows are not in files."""

    is_csv = False
    """Whether a cell has the type that is declared, and a row may be left out because of what is in it."""

    stored = False
    """Whether the rows are kept as they are; those of a frame, a view or a relation may be the result of a filter."""

    joined: Mapping[int, Table] = MappingProxyType({})
    """The tables of the same people that are joined to this one, by the number of the join."""

    def __init__(self, name: str) -> None:
        self.name = name

    def joins_with(self, other: Table) -> bool:
        """Return whether both tables can be read at once: they are in the same engine, database or session."""
        return type(self) is type(other)

    @property
    def lost(self) -> Lost:
        """What could not be read when it was read last: private numbers, for ``lapwing check``."""
        return Lost()

    guesses_encoding = False
    """Whether it is text that is taken for UTF-8, though the source could say its encoding and does not."""

    @abstractmethod
    def fields(self) -> list[Field]:
        """Return the names and types of all columns, in their order, from the table's own description.

        Names are raw, as the table has them: they may repeat, and the labels of a frame's columns may not be texts.
        """

    def fields_of(self, names: Sequence[str]) -> list[Field]:
        """Return columns among which those of these names are, if the table has them."""
        return self.fields()

    def described(self) -> list[DescribedField]:
        """Return what the table says about its columns, for ``lapwing init``."""
        return [DescribedField(name, kind) for name, kind in self.fields()]

    def check_names(self) -> None:  # noqa: B027  # only lines of text can lack names
        """Refuse a table whose names look like cells, before they are written to a file; for ``lapwing init``."""

    def recognised(self, header: bool = True) -> Recognised | None:
        """Return how its files are written as far as it can be recognised, for ``lapwing init``; None if it is told."""
        return None

    @abstractmethod
    def opened(
        self,
        schema: Schema,
        columns: Sequence[str],
        keys: Mapping[str, str],
        progress: Progress | None,
        given: bool = False,
    ) -> AbstractContextManager[Session]:
        """Return a session with these columns, that of people, and tables of keys (of which column).

        With ``given`` it also has, for each column, whether a cell holds anything, of any type.
        """

    def advice(self, error: BaseException) -> str:
        """Return what to do about a failure, from its kind alone."""
        return f"{self.hint} The kind of failure is in Python's log lapwing.engine.".lstrip()

    def holds(self, file: Path) -> bool:
        """Return whether a file is, or if it is made will be, one of the table's."""
        return False

    def shares_rows_with(self, other: Table) -> bool:
        """Return whether both are one table, or have a file in common, as far as the names of tables and files say."""
        return repr(self) == repr(other)

    def modified(self) -> datetime | None:
        """Return when the files of the table were last modified; None if it has no files, or they cannot be reached."""
        return None

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse, before anything is charged, a table that lacks a declared column, or has one in another type."""
        people = [] if schema.person is None else [schema.person]
        own = own_columns(schema, columns)
        declared = own_columns(schema, [name for name, each in schema.columns.items() if not each.is_computed])
        fields = self.fields_of([*own, *declared, *people])
        there = {field.name for field in fields if isinstance(field.name, str)}
        if lacking := [name for name in declared if name not in there]:
            raise InvalidSource(self.name, *self.lacking(lacking[0], [field.name for field in fields]))
        types = [fields[at].type for at in self.places([*own, *people], fields)]
        for name, type_name in zip(own, types, strict=False):
            kind = schema.columns[name].kind
            if not self.reads(type_name, kind):
                raise InvalidSource(
                    self.name,
                    f'declares the column "{name}" as {kind}, but in its table it is {short(type_name)}',
                    "Declare what it is, or name a view in which it is converted.",
                )
        if people:
            self.check_person(types[-1])
        self._check_joins(schema, columns)

    def _check_joins(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse, before anything is charged, joined tables that cannot be read, or in which people look different."""
        for _, each, _ in look_ups_read(schema, columns):
            each.content(schema)
        people = people_read(schema, columns)
        for number, other, names in people:
            self.joined[number].check(other, names)
        if people:
            tables = [(self, schema.person), *((self.joined[number], other.person) for number, other, _ in people)]
            self.check_linked(schema, [each.linked_by(schema, each.person_type(str(name))) for each, name in tables])

    def person_type(self, person: str) -> str:
        """Return the type of the person column; empty if each of its cells decides."""
        fields = self.fields_of([person])
        (at,) = self.places([person], fields)
        return fields[at].type

    def linked_by(self, schema: Schema, type_name: str) -> str | None:
        """Return what people are in the person column of this type, where tables are joined."""
        return link_class(type_name)

    def check_linked(self, schema: Schema, classes: Sequence[str | None]) -> None:
        """Refuse person columns in which one person looks different, by their types alone."""
        if len({*classes} - {None}) > 1:
            raise InvalidSource(
                schema.name,
                "has a person column of whole numbers in one of its tables, and of texts in another",
                "Give the person the same type in all tables that are joined.  In a CSV file a person is a text; if it "
                f'is a whole number, declare it: [columns.{schema.person}] type = "integer".',
            )

    def places(self, wanted: Sequence[str], fields: Sequence[Field]) -> list[int]:
        """Return the positions of columns; refuse one that is missing, or could be confused with another."""
        found = []
        names = [field.name for field in fields]
        for name, at in zip(wanted, places(self.name, wanted, names), strict=True):
            if at is None:
                raise InvalidSource(self.name, *self.lacking(name, names))
            found.append(at)
        return found

    def check_person(self, type_name: str) -> None:
        """Refuse a person column of a type in which two people could look the same."""
        if self.tells_apart(type_name):
            return
        advice = "Make it a text or a whole number, so that no two people look the same."
        if _FLOAT.fullmatch(type_name):
            advice = (
                "Floats cannot distinguish large whole numbers. Make it a text or a whole number; in pandas, a column "
                'of whole numbers with a missing cell stays one as "Int64".'
            )
        raise InvalidSource(self.name, f"has a person column of type {short(type_name)}", advice)

    def lacking(self, column: str, names: Sequence[object]) -> tuple[str, str]:
        """Return what is wrong with a declared column that is not among the names, and what to do."""
        advice = f"`lapwing init` lists its columns.{suggestion(column, map(str, names))}"
        return f'declares the column "{column}", which its table does not have', advice

    def reads(self, type_name: str, kind: Kind) -> bool:
        """Return whether every cell of a column of this type can be read as declared."""
        return True

    @abstractmethod
    def tells_apart(self, type_name: str) -> bool:
        """Return whether two people always look different in a column of this type."""

    def tally(self, schema: Schema, lowered: Lowered, progress: Progress | None = None) -> Integers:
        """Run the query; return its integers."""
        queries = [*([] if lowered.sums is None else [lowered.sums]), *lowered.own]
        shares = None if progress is None else _Shares(progress, len(queries))

        def work() -> Integers:
            found = []
            with self.opened(schema, lowered.columns, dict(lowered.keys), shares) as session:
                for sql in queries:
                    found.append(session.integers(sql))
                    if shares is not None:
                        shares.done += 1
            sums = [] if lowered.sums is None else found.pop(0)
            return Integers(sums, found)

        return self.guarded("failed while it was read", COMPLETE, work)

    def tally_tables(self, schema: Schema, lowered: Lowered, progress: Progress | None = None) -> list[Integers]:
        """Run the query for several tables; return the integers of each, as ``tally`` does for one."""
        sums = self.tally(schema, lowered, progress).sums
        return [Integers(each, []) for each in split(sums, len(lowered.tables))]

    def count_keys(
        self, schema: Schema, lowered: LoweredKeys, progress: Progress | None = None
    ) -> list[tuple[Key, int]]:
        """Run the query of ``lower_keys``; return the keys that occur and how many people have each."""

        def work() -> list[tuple[Key, int]]:
            shares = None if progress is None else _Shares(progress, 1)
            with self.opened(schema, lowered.columns, {}, shares) as session:
                return session.keys(lowered.sql)

        return self.guarded("failed while it was read", COMPLETE, work)

    def guarded(self, what: str, budget: str, work: Callable[[], T]) -> T:
        """Return what ``work`` returns; turn errors of the engine or the system into one that reveals no data.

        An interrupt or an exit stays one, without its text and the frames below, whose variables hold exact integers.
        """
        failure: BaseException
        try:
            return work()
        except (InvalidSource, EngineError):
            raise  # about public facts, in our own words
        except Problem as problem:
            what, advice = problem.args
            failure = EngineError(self.name, what, budget, advice)
        except KeyboardInterrupt:
            failure = KeyboardInterrupt()
        except SystemExit:
            failure = SystemExit(1)
        except BaseException as error:  # of any kind: its text may quote a cell
            log.error("source %s %s: %s", self.name, what, type(error).__name__)
            failure = EngineError(self.name, what, budget, self.advice(error))
        raise failure  # here, outside the handlers, so that the engine's own error is not chained to it


class _Shares:
    """Receives the share of one query that is done, and reports the share of all of them, which never falls."""

    def __init__(self, progress: Progress, queries: int) -> None:
        self._progress = progress
        self._queries = queries
        self._most = 0.0
        self.done = 0

    def __call__(self, share: float) -> None:
        self._most = max(self._most, min((self.done + share) / self._queries, 1.0))
        self._progress(self._most)


_FLOAT = re.compile("float.*|real|double.*", re.IGNORECASE)


def same_relation(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two names may mean one table: where a schema is not said, it may be any."""
    most = min(len(one), len(other))
    return list(one[-most:]) == list(other[-most:])


def short(type_name: str) -> str:
    """Return a type without its brackets, which contain the values of an ENUM."""
    return re.split("[(<]", type_name)[0]


def whole_columns(chunks: Iterable[Sequence[Sequence[Any]]]) -> list[NDArray[Any]]:
    """Return the columns of rows that come in chunks, so that few are held as Python objects at once.

    If there are no rows, there are no columns.
    """
    found = [[column(list(map(int, each))) for each in zip(*rows, strict=True)] for rows in chunks]
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def added(sql: str, steps: Sequence[str]) -> str:
    """Return the SQL with steps before its own."""
    return "WITH " + ",\n".join([*steps, sql.removeprefix("WITH ")])


def interruptible(work: Callable[[], T], tell: Callable[[], None], cancel: Callable[[], None]) -> T:
    """Return what ``work`` returns, from a thread, so that it can be cancelled; call ``tell`` ten times a second."""
    with ThreadPoolExecutor(1, "lapwing-engine") as pool:
        running = pool.submit(work)
        try:
            while wait([running], 0.1).not_done:
                tell()
        except BaseException:  # an interrupt from the keyboard or from outside, or a fault of ``tell``
            patience = 0.0
            while wait([running], patience).not_done:
                with suppress(Exception):  # the engine may be gone
                    cancel()
                patience = 0.1  # then again: a query that was about to begin could not be cancelled yet
            raise
        return running.result()


@contextmanager
def quiet(*loggers: logging.Logger) -> Iterator[None]:
    """Keep a library from logging the engine's messages about work in this thread or one it starts."""
    mine = threading.get_ident()

    def others(record: logging.LogRecord) -> bool:
        return record.thread != mine and not str(record.threadName).startswith("lapwing-engine")

    for logger in loggers:
        logger.addFilter(others)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(others)
