"""DuckDB, the embedded engine: opens a table and runs one lowered query on it.

Types are declared, never sniffed.  A table hands over its cells (``given``, with a module for each kind of table),
columns are found by ``names``, and cells get their types by ``reading``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
from numpy.typing import NDArray

from ..errors import ConflictingParameters, InvalidParameter, InvalidSource
from ..measure.cells import Progress
from ..question.codes import Key, Kind, written
from ..question.file import AS_USUAL, File
from ..question.join import Join, own_columns
from ..question.schema import Column, Schema
from . import frames, reading
from .cells import cell_name, given_name
from .connection import connected
from .dialect import DUCKDB
from .files import files
from .frame import UNKNOWN, Frame, Relation
from .given import Handed, Readable, Wanted
from .joins import join_name, link_kind, look_ups_read, people_read
from .look_up import written_cell
from .objects import ObjectFiles
from .recognised import Recognised
from .table import DescribedField, Field, Lost, T, Table, interruptible, whole_columns

_TABLES = (
    "a path, a pandas or Polars data frame, an Arrow table, a DuckDB relation, a Spark data frame, or a URL of "
    "PostgreSQL or Spark"
)
_CHUNK = 2**16
_SMALL = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}


class DuckDBTable(Table):
    """A table that DuckDB reads: files, a data frame, or a DuckDB relation."""

    dialect = DUCKDB

    def __init__(self, given: Any, name: str, file: File = AS_USUAL) -> None:
        super().__init__(name)
        if isinstance(given, str | PathLike):
            self.given: Readable = files(fspath(given), name, file)
            return
        if file != AS_USUAL:
            raise ConflictingParameters("file", "table", "Only a table in files can be described by file.")
        if isinstance(given, duckdb.DuckDBPyRelation):
            self.given = Relation(given)
        elif frames.maker_of(given) is None:
            raise InvalidParameter(given, "table", frames.remedy(given) or _TABLES)
        elif frames.is_too_old(given):
            raise InvalidSource(
                name,
                "is a data frame of pandas 2 or older, in which one cell may change how others are read",
                "Update pandas to 3.0 or later, or name a file.",
            )
        else:
            self.given = Frame(given)

    def __repr__(self) -> str:
        return f"Table({self.given!r})"

    @property
    def is_csv(self) -> bool:  # type: ignore[override]
        return self.given.is_text

    @property
    def stored(self) -> bool:  # type: ignore[override]
        return self.given.stored

    @property
    def folder(self) -> Path | None:  # type: ignore[override]
        return self.given.folder

    @property
    def lost(self) -> Lost:
        return Lost(self.given.left_out, self.given.unreadable)

    @property
    def guesses_encoding(self) -> bool:  # type: ignore[override]
        return self.given.guesses_encoding

    def holds(self, file: Path) -> bool:
        return self.given.holds(file)

    def shares_rows_with(self, other: Table) -> bool:
        return isinstance(other, DuckDBTable) and self.given.shares_rows_with(other.given)

    def modified(self) -> datetime | None:
        return self.given.modified()

    def fields(self) -> list[Field]:
        return self.guarded("could not be opened", "Nothing was charged.", self.given.fields)

    def fields_of(self, names: Sequence[str]) -> list[Field]:
        return self._fields_of(names, None) if self.given.named_by_rows else self.fields()

    def _fields_of(self, names: Sequence[str], connection: duckdb.DuckDBPyConnection | None) -> list[Field]:
        """Return columns among which those of these names are; where each row names its cells, there are no others."""
        if self.given.named_by_rows:
            return [Field(name, "VARCHAR") for name in dict.fromkeys(names)]
        return self.given.fields(connection)

    def described(self) -> list[DescribedField]:
        return self.guarded("could not be opened", "Nothing was charged.", self.given.described)

    def check_names(self) -> None:
        self.guarded("could not be opened", "Nothing was charged.", self.given.check_names)

    def recognised(self, header: bool = True) -> Recognised | None:
        return self.guarded("could not be opened", "Nothing was charged.", lambda: self.given.recognised(header))

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        super().check(schema, columns)
        self.guarded("could not be opened", "Nothing was charged.", lambda: self._try(schema, columns))

    def _try(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse files that are not well formed, and a frame with columns of types that DuckDB does not know."""
        columns = own_columns(schema, columns)
        fields = self._fields_of(_names(schema, columns), None)
        types = self.given.check(self._wanted(schema, columns, fields))
        if types is not None and schema.person is not None:
            self.check_person(types[-1])

    def person_type(self, person: str) -> str:
        def known() -> str:
            fields = self._fields_of([person], None)
            (at,) = self.places([person], fields)
            if isinstance(self.given, ObjectFiles):
                return UNKNOWN
            if fields[at].type != UNKNOWN:
                return fields[at].type
            return (self.given.check([Wanted(at, None)]) or [UNKNOWN])[-1]

        return self.guarded("could not be opened", "Nothing was charged.", known)

    def linked_by(self, schema: Schema, type_name: str) -> str | None:
        kind = super().linked_by(schema, type_name)
        return "whole" if kind is not None and self._reads_digits(link_kind(schema)) else kind

    def _reads_digits(self, link: Kind | None) -> bool:
        """Return whether a text of digits is a whole number as a person: where there are no types."""
        return link == "integer" and self.given.is_text

    def _wanted(self, schema: Schema, columns: Sequence[str], fields: Sequence[Field]) -> list[Wanted]:
        """Return the columns to read, and that of the person."""
        names = _names(schema, columns)
        kinds = [*(schema.columns[name].kind for name in columns), None]
        return list(map(Wanted, self.places(names, fields), kinds))

    def lacking(self, column: str, names: Sequence[object]) -> tuple[str, str]:
        what, _ = super().lacking(column, names)
        why, advice = self.given.lacking(column, names)
        return what + why, advice

    def reads(self, type_name: str, kind: Kind) -> bool:
        """Return whether cells of this type have values of the kind; in a frame one cell may determine the type."""
        return type_name == UNKNOWN or reading.cell(type_name, kind) is not None

    def tells_apart(self, type_name: str) -> bool:
        return type_name == UNKNOWN or reading.person(type_name) is not None

    @contextmanager
    def opened(
        self,
        schema: Schema,
        columns: Sequence[str],
        keys: Mapping[str, str],
        progress: Progress | None,
        given: bool = False,
    ) -> Iterator[_Session]:
        with connected() as connection:
            people = people_read(schema, columns)
            link, linked = link_kind(schema), []
            for number, alone, names in people:
                other = cast(DuckDBTable, self.joined[number])
                kind = other._join(connection, join_name(number), alone, names, given, link)
                linked.append(other.linked_by(schema, kind))
            own = own_columns(schema, columns)
            kind = self._view(connection, schema, own, given, link)
            self.check_linked(schema, [self.linked_by(schema, kind), *linked])
            for number, each, names in look_ups_read(schema, columns):
                _add_look_up(connection, join_name(number), schema, each, names)
            for table, column in keys.items():
                _add_keys(connection, table, schema.columns[column])
            yield _Session(connection, progress)
            self.given.check_unchanged()

    def _join(
        self,
        connection: duckdb.DuckDBPyConnection,
        table: str,
        schema: Schema,
        columns: Sequence[str],
        given: bool,
        link: Kind | None,
    ) -> str:
        """Make a table of the person and typed cells of this one, for a join; return the type of the person.

        It is read once, here: what it is read from must not have the names of what the other tables are read from.
        """
        kind = self._view(connection, schema, columns, given, link)
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM source WHERE person IS NOT NULL")
        self.given.check_unchanged()
        connection.execute("DROP VIEW source; DROP VIEW given; DROP TABLE IF EXISTS objects")
        connection.execute("DETACH DATABASE IF EXISTS attached")
        connection.unregister("frame")
        return kind

    def _view(
        self,
        connection: duckdb.DuckDBPyConnection,
        schema: Schema,
        columns: Sequence[str],
        given: bool,
        link: Kind | None,
    ) -> str:
        """Make the view ``source``, with typed cells and the person; return the type of the person in the table."""
        fields = self._fields_of(_names(schema, columns), connection)
        cells = self.given.cells(connection, self._wanted(schema, columns, fields), fields)
        connection.execute(f"CREATE VIEW given AS SELECT * FROM {cells.sql}")
        person, kind = None, UNKNOWN
        if schema.person is not None:
            self.check_person(cells.types[-1])
            if cells.objects[-1]:
                person = "CAST({x} AS VARCHAR)"
            else:
                kind, digits = cells.types[-1], self._reads_digits(link)
                person = reading.person(kind, schema.file, linked=link is not None, digits=digits)
        _make_source(connection, schema, columns, cells, person, given)
        return kind

    def advice(self, error: BaseException) -> str:
        if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
            return "It ran out of memory (LAPWING_MEMORY, if it is set) or of space for temporary files."
        if isinstance(error, duckdb.IOException | OSError | EOFError):
            return "The file is missing, unreadable or not of its kind."
        if isinstance(error, duckdb.InterruptException):
            return "It was interrupted."
        if isinstance(error, duckdb.ConnectionException):
            return "Its connection is closed: keep the connection of a DuckDB relation open."
        return super().advice(error)


def _names(schema: Schema, columns: Sequence[str]) -> list[str]:
    return [*columns, *([] if schema.person is None else [schema.person])]


class _Session:
    """A connection on which ``source`` and the tables of keys are views and tables."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> None:
        self._connection = connection
        self._progress = progress

    def integers(self, sql: str) -> list[NDArray[Any]]:
        return self._run(sql, _columns)

    def keys(self, sql: str) -> list[tuple[Key, int]]:
        return self._run(sql, lambda result: [(key, int(people)) for key, people in result.fetchall()])

    def cells(self, sql: str) -> list[tuple[Any, ...]]:
        return self._run(sql, lambda result: list(result.fetchall()))

    def _run(self, sql: str, fetch: Callable[[Any], T]) -> T:
        """Run the query; call ``progress`` with the share that is done, 0 to 1."""

        def tell() -> None:
            if self._progress is not None:
                self._progress(max(self._connection.query_progress(), 0.0) / 100)

        return interruptible(lambda: fetch(self._connection.execute(sql)), tell, self._connection.interrupt)


def _columns(result: Any) -> list[NDArray[Any]]:
    """Return the columns of a result; as NumPy columns, HUGEINT would become floats."""
    names = [name for name, *_ in result.description]
    if {str(kind) for _, kind, *_ in result.description} <= _SMALL:
        columns = result.fetchnumpy()
        return [np.asarray(columns[name]) for name in names]
    return whole_columns(iter(lambda: result.fetchmany(_CHUNK), []))


def _make_source(
    connection: duckdb.DuckDBPyConnection,
    schema: Schema,
    columns: Sequence[str],
    read: Handed,
    person: str | None,
    given: bool,
) -> None:
    """Make the view ``source``, with typed cells and the person, from ``given``, with the same as c0, c1, …."""
    cells = []
    for i, name in enumerate(columns):
        kind, type_name = schema.columns[name].kind, read.types[i]
        file = (
            replace(schema.file, missing=()) if read.objects[i] else schema.file
        )  # of objects, texts are gone already
        how = reading.cell(type_name, kind, file) or f"CAST(NULL AS {DUCKDB.types[kind]})"
        cells.append(f"{how.format(x=f'c{i}')} AS {cell_name(name, DUCKDB)}")
        if given:
            cells.append(f"{reading.given(type_name, file).format(x=f'c{i}')} AS {given_name(name, DUCKDB)}")
    if person is not None:
        cells.append(f"{person.format(x=f'c{len(columns)}')} AS person")
    connection.execute(f"CREATE VIEW source AS SELECT {', '.join(cells) or '1 AS one'} FROM given")


def _add_keys(connection: duckdb.DuckDBPyConnection, table: str, column: Column) -> None:
    """Make the table of a column's public keys."""
    keys = [written(key) for key in column.asked_keys]
    values = np.array(keys, dtype=float if column.kind == "integer" else object)
    connection.register("listed", {"key": values, "number": np.arange(len(keys), dtype=np.int32)})
    typed = f"CAST(key AS {DUCKDB.types[column.kind]}) AS key"
    connection.execute(f"CREATE TEMP TABLE {table} AS SELECT {typed}, number FROM listed")
    connection.unregister("listed")


def _add_look_up(
    connection: duckdb.DuckDBPyConnection, table: str, schema: Schema, each: Join, names: Sequence[str]
) -> None:
    """Make the table of a public look-up."""
    content = each.content(schema)
    kinds = [schema.columns[name].kind for name in ((each.on or ("",))[0], *names)]
    cells = [content.keys, *(content.cells[name] for name in names)]
    texts = {f"v{i}": np.array([written_cell(cell) for cell in column], dtype=object) for i, column in enumerate(cells)}
    connection.register("listed", texts)
    titles = ["key", *(cell_name(name, DUCKDB) for name in names)]
    typed = (f"CAST(v{i} AS {DUCKDB.types[kind]}) AS {titles[i]}" for i, kind in enumerate(kinds))
    connection.execute(f"CREATE TEMP TABLE {table} AS SELECT {', '.join(typed)} FROM listed")
    connection.unregister("listed")
