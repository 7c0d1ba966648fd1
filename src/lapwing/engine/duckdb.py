"""DuckDB, the embedded engine: opens a table and runs one lowered query on it.

Types are declared, never sniffed: cells of CSV files are text.  Columns are found by ``names`` and read by ``reading``;
``frames`` and ``records`` prepare what DuckDB would otherwise interpret by looking at the data.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatch
from functools import cached_property
from glob import glob, has_magic
from itertools import takewhile
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameter, InvalidSource, suggestion
from ..measure.cells import Progress
from ..question.query import literal
from ..question.schema import Column, Key, Kind, Schema, written
from . import frames, reading, records
from .dialect import DUCKDB
from .header import lacking, same_header, separator_of, uncompressed
from .parquet import check_parquet, parquet_fields, parquet_sql
from .table import Field, Problem, T, Table, interruptible, whole_columns
from .write_sql import cell_name

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "preserve_insertion_order": "false",
}
_SETTINGS = """
SET pandas_analyze_sample = 0; SET TimeZone = 'UTC'; SET disabled_optimizers = 'statistics_propagation';
SET enable_progress_bar = true; SET enable_progress_bar_print = false
"""
"""Statistics of a Parquet file ignore NaN: an optimizer that relies on them would read NaN as a number."""

_COPIED = re.compile(
    r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)|VARCHAR|FLOAT|DOUBLE|BOOLEAN|BLOB|DATE|DECIMAL.*|TIMESTAMP(_NS)?"
    r"|TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ_NS"
)
_RESTORED = ("HUGEINT", "UHUGEINT")
_MOMENTS = ("TIMESTAMP_S", "TIMESTAMP_MS")
"""Types that a copy in Parquet keeps; types that it stores as text, to be converted back to numbers; and moments whose
range is wider than Parquet's."""

_TABLES = (
    "a path, a pandas or Polars data frame, an Arrow table, a DuckDB relation, a Spark data frame, or a URL of "
    "PostgreSQL or Spark"
)
_SIZE = re.compile(r"[1-9]\d{0,5}(\.\d+)? ?[KMGT]i?B")
_CHUNK = 2**16
_UNKNOWN = ""
"""The type of a column of a data frame, before DuckDB has seen it."""


_SMALL = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}


class DuckDBTable(Table):
    """A path or glob of CSV or Parquet files, a data frame, or a DuckDB relation."""

    dialect = DUCKDB

    def __init__(self, given: Any, name: str) -> None:
        super().__init__(name)
        self._given = given
        self._lock = threading.Lock()  # a relation has one connection
        self._checked: dict[str, records.Checked] = {}
        self.path: str | None = None
        if isinstance(given, str | PathLike):
            self.path = fspath(given)
            if not self.is_csv and not _is_parquet(self.path):
                what = "pattern" if has_magic(self.path) else "name"
                raise InvalidSource(
                    name,
                    "has a table that is neither CSV nor Parquet",
                    f"The {what} must end in .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .pq.",
                )
        elif frames.maker_of(given) is None and not isinstance(given, duckdb.DuckDBPyRelation):
            raise InvalidParameter(given, "table", frames.remedy(given) or _TABLES)
        elif frames.is_too_old(given):
            raise InvalidSource(
                name,
                "is a data frame of pandas 2 or older, in which one cell may change how others are read",
                "Update pandas to 3.0 or later, or name a file.",
            )

    def __repr__(self) -> str:
        return f"Table({self.path or type(self._given).__name__!r})"

    @cached_property
    def is_csv(self) -> bool:  # type: ignore[override]
        return self.path is not None and uncompressed(self.path).endswith((".csv", ".tsv"))

    @property
    def stored(self) -> bool:  # type: ignore[override]
        return self.path is not None and not self.is_csv

    @property
    def folder(self) -> Path | None:  # type: ignore[override]
        """The folder of the file; for a glob, the folder before its first part with a wildcard."""
        if self.path is None:
            return None
        path = Path(self.path)
        if not has_magic(self.path) or path.exists():
            return path.parent
        return Path(*takewhile(lambda part: not has_magic(part), path.parts))

    def holds(self, file: Path) -> bool:
        if self.path is None:
            return False
        same = file.resolve() == Path(self.path).resolve()
        return same or (has_magic(self.path) and fnmatch(str(file.resolve()), str(Path(self.path).resolve())))

    def modified(self) -> datetime | None:
        if self.path is None:
            return None
        try:
            return datetime.fromtimestamp(max(Path(file).stat().st_mtime for file in _files(self.path)), UTC)
        except (OSError, OverflowError, Problem, ValueError):
            return None

    def fields(self) -> list[Field]:
        return self.guarded("could not be opened", "Nothing was charged.", self._described)

    def _described(self, connection: duckdb.DuckDBPyConnection | None = None) -> list[Field]:
        if isinstance(self._given, duckdb.DuckDBPyRelation):
            with self._lock:
                return list(map(Field, self._given.columns, map(str, self._given.types)))
        if self.path is None:
            return [Field(label, _UNKNOWN) for label in frames.labels(self._given)]
        files = _files(self.path)
        if not _is_parquet(self.path):
            heads = [records.names(file, separator_of(self.path)) for file in files]
            return [Field(name, "VARCHAR") for name in same_header(files, heads)]
        for file in files:
            check_parquet(file)
        if connection is not None:
            return parquet_fields(connection, files)
        with _connected() as temporary:
            return parquet_fields(temporary, files)

    def check_names(self) -> None:
        if self.is_csv:
            self.guarded("could not be opened", "Nothing was charged.", self._compare_with_header)

    def _compare_with_header(self) -> None:
        """Refuse a CSV file whose header is probably a row, because its cells occur again."""
        self._described()  # refuses a first line as a release does
        file = _files(self.path or "")[0]
        if records.begins_with_a_row(file, separator_of(file)):
            raise Problem(
                f'cannot be read: the first line of the file "{file}" looks like a row, since one of its cells '
                "occurs again below",
                "Put a line with the names of the columns first.",
            )

    @property
    def _is_frame(self) -> bool:
        return self.path is None and not isinstance(self._given, duckdb.DuckDBPyRelation)

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        super().check(schema, columns)
        self.guarded("could not be opened", "Nothing was charged.", lambda: self._try(schema, columns))

    def _try(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse a CSV file that is not well formed, and a frame with columns of types that DuckDB does not know."""
        if self.is_csv:
            self._checked_files()
        elif self._is_frame:
            with _connected() as connection:
                self._register(connection, frames.empty(self._given), schema, columns)
            self._check_people(schema)

    def _check_people(self, schema: Schema) -> None:
        """Refuse a person column of objects if a float in it may stand for several people."""
        if schema.person is None:
            return
        (place,) = self.places([schema.person], self._described())
        if frames.has_large_floats(self._given, place):
            raise Problem(
                "has a person column with floats of 2^53 or more, in which several people look the same",
                'In pandas, a column of whole numbers with a missing cell stays one as "Int64".',
            )

    def _checked_files(self) -> list[records.Checked]:
        """Return the CSV files, checked; a file is read again only if it has changed."""
        path = self.path or ""
        found = {file: records.check(file, separator_of(path), self._checked.get(file)) for file in _files(path)}
        self._checked = found
        return list(found.values())

    def lacking(self, column: str, names: Sequence[object]) -> tuple[str, str]:
        """Return the problem with a possible cause, from public facts: names in a frame or a CSV file are not shown."""
        what, _ = super().lacking(column, names)
        if self.is_csv:
            why, advice = lacking(self.path or "", [str(name) for name in names])
            return what + why, advice
        if self.path is not None:
            shown = suggestion(column, map(str, names))
            return what, f"Names are compared exactly; `lapwing init` lists them.{shown}"
        where = {"pyarrow": "table.column_names", None: "relation.columns"}
        library = frames.maker_of(self._given)
        advice = f"Names are compared exactly: see {where.get(library, 'df.columns')}."
        return what, f"{advice} df.reset_index() makes an index a column." if library == "pandas" else advice

    def reads(self, type_name: str, kind: Kind) -> bool:
        """Return whether cells of this type have values of the kind; in a frame one cell may determine the type."""
        return self._is_frame or reading.cell(type_name, kind) is not None

    def tells_apart(self, type_name: str) -> bool:
        return type_name == _UNKNOWN or reading.person(type_name) is not None

    @contextmanager
    def opened(
        self, schema: Schema, columns: Sequence[str], keys: Mapping[str, str], progress: Progress | None
    ) -> Iterator[_Session]:
        with _connected() as connection:
            if self._is_frame:
                self._check_people(schema)
                self._register(connection, self._given, schema, columns)
            else:
                self._view(connection, schema, columns)
            for table, column in keys.items():
                _add_keys(connection, table, schema.columns[column])
            yield _Session(connection, progress)
            if self.is_csv:
                records.check_unchanged(list(self._checked.values()))

    def _register(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, schema: Schema, columns: Sequence[str]
    ) -> None:
        """Make the view ``source`` of a data frame."""
        fields = [Field(label, _UNKNOWN) for label in frames.labels(frame)]
        names = [*columns, *([] if schema.person is None else [schema.person])]
        kinds = [*(schema.columns[name].kind for name in columns), None]
        made, objects = frames.scannable(frame, list(map(frames.Wanted, self.places(names, fields), kinds)))
        connection.register("given", made)
        types = [str(kind) for _, kind, *_ in connection.execute("DESCRIBE given").fetchall()]
        person = None
        if schema.person is not None:
            self.check_person(types[-1])
            person = "CAST({x} AS VARCHAR)" if objects[-1] else reading.person(types[-1])
        _make_source(connection, schema, columns, types, person)

    def _view(self, connection: duckdb.DuckDBPyConnection, schema: Schema, columns: Sequence[str]) -> None:
        """Make the view ``source`` of files, or of a relation."""
        fields = self._described(connection)
        names = [*columns, *([] if schema.person is None else [schema.person])]
        places = self.places(names, fields)
        types = [fields[at].type for at in places]
        if self.path is None:
            copy = str(Path(_spill(connection)) / "relation.parquet")
            with self._lock:
                _copy(self._given, places, types, copy)
            restored = [f"CAST(c{i} AS {kind}) AS c{i}" for i, kind in enumerate(types) if kind in _RESTORED]
            replaced = f" REPLACE ({', '.join(restored)})" if restored else ""
            given = f"(SELECT *{replaced} FROM read_parquet({literal(copy)}))"
        elif self.is_csv:
            divided = [records.prepare(each, places, _spill(connection)) for each in self._checked_files()]
            chosen = ", ".join(f"c{at} AS c{i}" for i, at in enumerate(places)) or "1 AS one"
            given = f"(SELECT {chosen} FROM ({records.read_sql(divided)}))"
        else:
            given = parquet_sql(_files(self.path), [fields[at].name for at in places])
        connection.execute(f"CREATE VIEW given AS SELECT * FROM {given}")
        if schema.person is not None:
            self.check_person(types[-1])
        person = None if schema.person is None else reading.person(types[-1])
        _make_source(connection, schema, columns, types, person)

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


class _Session:
    """A connection on which ``source`` and the tables of keys are views and tables."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> None:
        self._connection = connection
        self._progress = progress

    def integers(self, sql: str) -> list[NDArray[Any]]:
        return self._run(sql, _columns)

    def keys(self, sql: str) -> list[tuple[Key, int]]:
        return self._run(sql, lambda result: [(key, int(people)) for key, people in result.fetchall()])

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


@contextmanager
def _connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection whose folder for temporary files is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="lapwing-") as spill:
        config: dict[str, Any] = {**_CONFIG, "temp_directory": spill}
        limit = os.environ.get("LAPWING_MEMORY")
        if limit is not None:
            if not _SIZE.fullmatch(limit):
                raise Problem(f'cannot be read with LAPWING_MEMORY = "{limit}"', "Write a size such as 1GB.")
            config["memory_limit"] = limit
        with duckdb.connect(":memory:", config=config) as connection:
            connection.execute(_SETTINGS)
            yield connection


def _spill(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the folder for temporary files of a connection."""
    (folder,) = connection.execute("SELECT current_setting('temp_directory')").fetchall()[0]
    return str(folder)


def _make_source(
    connection: duckdb.DuckDBPyConnection,
    schema: Schema,
    columns: Sequence[str],
    types: Sequence[str],
    person: str | None,
) -> None:
    """Make the view ``source``, with typed cells and the person, from ``given``, with the same as c0, c1, …."""
    cells = []
    for i, name in enumerate(columns):
        kind = schema.columns[name].kind
        how = reading.cell(types[i], kind) or f"CAST(NULL AS {DUCKDB.types[kind]})"
        cells.append(f"{how.format(x=f'c{i}')} AS {cell_name(name, DUCKDB)}")
    if person is not None:
        cells.append(f"{person.format(x=f'c{len(columns)}')} AS person")
    connection.execute(f"CREATE VIEW source AS SELECT {', '.join(cells) or '1 AS one'} FROM given")


def _is_parquet(path: str) -> bool:
    return path.lower().endswith((".parquet", ".pq"))


def _files(path: str) -> list[str]:
    """Return the file of this name, or those that the glob names, in their order."""
    files = [path] if Path(path).exists() or not has_magic(path) else sorted(glob(path, recursive=True))  # noqa: PTH207
    if not files or not Path(files[0]).exists():
        advice = "Look at what `table` names."
        if any(part.startswith("~") for part in Path(path).parts):
            advice = "A ~ is not expanded: write the path in full, or in Python Path(…).expanduser()."
        elif has_magic(path):
            advice = "No file matches this pattern. `*` stands for a part of a name, `**` for any folders."
        raise Problem(f'could not be opened: there is no file "{path}"', advice)
    return files


def _copy(relation: duckdb.DuckDBPyRelation, places: Sequence[int], types: Sequence[str], path: str) -> None:
    """Write columns of a relation to Parquet as c0, c1, …; its own connection evaluates it, once.

    Values for which Parquet has no type, such as the largest integers, are written as text.
    """
    chosen = [duckdb.ConstantExpression(1).alias("one")] if not places else []
    for i, (at, kind) in enumerate(zip(places, types, strict=True)):
        to = None if _COPIED.fullmatch(kind) else "TIMESTAMP" if kind in _MOMENTS else "VARCHAR"
        column = f"#{at + 1}" if to is None else f"TRY_CAST(#{at + 1} AS {to})"
        chosen.append(duckdb.SQLExpression(column).alias(f"c{i}"))
    relation.select(*chosen).write_parquet(path)


def _add_keys(connection: duckdb.DuckDBPyConnection, table: str, column: Column) -> None:
    """Make the table of a column's public keys."""
    keys = [written(key) for key in column.keys or ()]
    values = np.array(keys, dtype=float if column.kind == "integer" else object)
    connection.register("listed", {"key": values, "number": np.arange(len(keys), dtype=np.int32)})
    typed = f"CAST(key AS {DUCKDB.types[column.kind]}) AS key"
    connection.execute(f"CREATE TEMP TABLE {table} AS SELECT {typed}, number FROM listed")
    connection.unregister("listed")
