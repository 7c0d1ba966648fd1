"""DuckDB, the embedded engine: opens a table and runs one lowered query on it.

Types are declared, never sniffed: CSV cells are read as text.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from glob import escape, glob, has_magic
from importlib import import_module
from itertools import takewhile
from numbers import Number
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameter, InvalidSource
from ..query import literal, quoted
from ..schema import Column, Key, Schema, written
from .dialect import DUCKDB
from .table import Problem, Progress, T, Table, interruptible, names_of, whole_columns

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "preserve_insertion_order": "false",
}
_SETTINGS = """
SET pandas_analyze_sample = 0; SET TimeZone = 'UTC'; SET disabled_optimizers = 'statistics_propagation';
SET enable_progress_bar = true; SET enable_progress_bar_print = false
"""
"""Statistics of a Parquet file leave NaN out: an optimizer that believes them would read NaN as a number."""

_PERSONS = re.compile(
    r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|VARCHAR|UUID|FLOAT|DOUBLE|ENUM.*|DECIMAL.*", re.DOTALL
)
_COPIED = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)|VARCHAR|FLOAT|DOUBLE|BOOLEAN|DATE|TIMESTAMP|DECIMAL.*")
"""Types that people may have, and those that a copy in Parquet keeps as they are."""

_SIZE = re.compile(r"[1-9]\d{0,5}(\.\d+)? ?[KMGT]i?B")
_CHUNK = 2**16
_SMALL = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}


class DuckDBTable(Table):
    """A path or glob of CSV or Parquet files, a data frame, or a DuckDB relation."""

    dialect = DUCKDB

    def __init__(self, given: Any, name: str) -> None:
        super().__init__(name)
        self._given = given
        self._lock = threading.Lock()  # a relation has one connection
        self.path: str | None = None
        if isinstance(given, str | PathLike):
            self.path = fspath(given)
            if not self.is_csv and not _is_parquet(self.path):
                raise InvalidSource(
                    name, "has a table that is neither CSV nor Parquet", "Name a file .csv, .tsv, .csv.gz or .parquet."
                )
        elif _frame_of(given) is None and not isinstance(given, duckdb.DuckDBPyRelation):
            raise InvalidParameter(
                given,
                "table",
                "a path, a pandas or Polars data frame, an Arrow table, a DuckDB relation, a Spark data frame, or a "
                "URL of PostgreSQL or Spark",
            )

    def __repr__(self) -> str:
        return f"Table({self.path or type(self._given).__name__!r})"

    @property
    def is_csv(self) -> bool:  # type: ignore[override]
        return self.path is not None and _uncompressed(self.path).endswith((".csv", ".tsv"))

    @property
    def folder(self) -> Path | None:  # type: ignore[override]
        """The folder of the file; of a glob, the one before its first part with a wildcard."""
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

    def columns(self, person: str | None = None) -> dict[str, str]:
        def describe() -> dict[str, str]:
            if isinstance(self._given, duckdb.DuckDBPyRelation):
                with self._lock:
                    return dict(zip(self._given.columns, map(str, self._given.types), strict=True))
            with self._connected(None) as connection:
                rows = connection.execute("DESCRIBE given").fetchall()
                if person is not None and self.path is not None:
                    self._check_files(connection, person)
            if _frame_of(self._given) == "pandas":
                labels = [label for label in self._given.columns if isinstance(label, str)]
                rows = [row for row in rows if row[0] in labels]
            return {str(name): str(kind) for name, kind, *_ in rows}

        found = self.guarded("could not be opened", "Nothing was charged.", describe)
        if person in found and not _PERSONS.fullmatch(found[person]):
            advice = "Make it a text or a whole number, so that no two people look the same."
            raise InvalidSource(self.name, f"has a person column of type {found[person].split('(')[0]}", advice)
        return found

    def _check_files(self, connection: duckdb.DuckDBPyConnection, person: str) -> None:
        """Refuse files in which the person column has different types: one would be converted, and lose digits."""
        if self.path is None or not _is_parquet(self.path):
            return
        kinds = "type, converted_type, logical_type::VARCHAR, scale, precision"
        asked = f"SELECT DISTINCT {kinds} FROM parquet_schema({_list(_files(self.path))}) WHERE lower(name) = lower(?)"
        found = connection.execute(asked, [person]).fetchall()
        if len(found) > 1:
            raise Problem("has files in which the person column has different types")
        if any(precision is not None and precision > 38 for *_, precision in found):
            raise Problem("has a person column with more digits than the engine keeps")

    @contextmanager
    def opened(
        self, schema: Schema, columns: Sequence[str], keys: Mapping[str, str], progress: Progress | None
    ) -> Iterator[_Session]:
        texts = [name for name in columns if schema.columns[name].kind == "text"]
        with self._connected(names_of(schema, columns), schema.person, texts) as connection:
            for table, column in keys.items():
                _add_keys(connection, table, schema.columns[column])
            yield _Session(connection, progress)

    @contextmanager
    def _connected(
        self, names: list[str] | None, person: str | None = None, texts: Sequence[str] = ()
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection with the views ``given``, the table, and ``source``, with people and texts put right."""
        with tempfile.TemporaryDirectory(prefix="lapwing-") as spill, _connect(spill) as connection:
            if self.path is not None:
                connection.execute(f"CREATE VIEW given AS SELECT * FROM {_scan(self.path)}")
            elif isinstance(self._given, duckdb.DuckDBPyRelation):
                copy = str(Path(spill) / "relation.parquet")
                with self._lock:
                    _copy(self._given, names or [], person, copy)
                connection.execute(f"CREATE VIEW given AS SELECT * FROM read_parquet({literal(copy)})")
            else:
                connection.register("given", _scannable(self._given, names, person))
            connection.execute(f"CREATE VIEW source AS SELECT * {_put_right(connection, person, texts)} FROM given")
            yield connection

    def advice(self, error: BaseException) -> str:
        if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
            return "It ran out of memory (LAPWING_MEMORY, if it is set) or of room for temporary files."
        if isinstance(error, duckdb.IOException | OSError | EOFError):
            return "The file is missing, unreadable or not of its kind."
        if isinstance(error, duckdb.InterruptException):
            return "It was interrupted."
        return super().advice(error)


class _Session:
    """A connection on which ``source`` and the tables of keys are views and tables."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> None:
        self._connection = connection
        self._progress = progress

    def integers(self, sql: str) -> list[NDArray[Any]]:
        return self._run(sql, _columns)

    def keys(self, sql: str) -> list[tuple[Key, int]]:
        return self._run(sql, lambda made: [(key, int(people)) for key, people in made.fetchall()])

    def _run(self, sql: str, fetch: Callable[[Any], T]) -> T:
        """Run the query; tell ``progress`` the share that is done, 0 to 1."""

        def tell() -> None:
            if self._progress is not None:
                self._progress(max(self._connection.query_progress(), 0.0) / 100)

        return interruptible(lambda: fetch(self._connection.execute(sql)), tell, self._connection.interrupt)


def _columns(made: Any) -> list[NDArray[Any]]:
    """Return the columns of a result; HUGEINT would become floats as NumPy's columns."""
    names = [name for name, *_ in made.description]
    if {str(kind) for _, kind, *_ in made.description} <= _SMALL:
        found = made.fetchnumpy()
        return [np.asarray(found[name]) for name in names]
    return whole_columns(iter(lambda: made.fetchmany(_CHUNK), []))


def _connect(spill: str) -> duckdb.DuckDBPyConnection:
    config: dict[str, Any] = {**_CONFIG, "temp_directory": spill}
    limit = os.environ.get("LAPWING_MEMORY")
    if limit is not None:
        if not _SIZE.fullmatch(limit):
            raise Problem(f'cannot be read with LAPWING_MEMORY = "{limit}"', "Write a size such as 1GB.")
        config["memory_limit"] = limit
    connection = duckdb.connect(":memory:", config=config)
    connection.execute(_SETTINGS)
    return connection


def _list(files: list[str]) -> str:
    """Return paths as a list of SQL, each taken as it is."""
    return f"[{', '.join(literal(escape(file)) for file in files)}]"


def _uncompressed(path: str) -> str:
    return path.lower().removesuffix(".gz")


def _is_parquet(path: str) -> bool:
    return path.lower().endswith((".parquet", ".pq"))


def _files(path: str) -> list[str]:
    """Return the file of this name, or those that the glob names, in their order."""
    files = [path] if Path(path).exists() or not has_magic(path) else sorted(glob(path, recursive=True))  # noqa: PTH207
    if not files or not Path(files[0]).exists():
        raise Problem(f'could not be opened: there is no file "{path}"')
    return files


def _scan(path: str) -> str:
    """Return the SQL that reads the files.

    A CSV file is read by one thread, from its beginning: whoever begins in the middle must guess whether it is inside
    quotes, and one cell with line breaks in it could make thousands of rows come or go.
    """
    files = _files(path)
    if _is_parquet(path):
        return f"read_parquet({_list(files)}, union_by_name=true, hive_partitioning=false)"
    separator = "\t" if _uncompressed(path).endswith(".tsv") else ","
    heads = [_header(file, separator) for file in files]
    if any(head != heads[0] for head in heads):
        raise Problem("has files with different headers")
    names = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in heads[0])
    return (
        f"read_csv({_list(files)}, auto_detect=false, header=true, delim={literal(separator)}, "
        "quote='\"', escape='\"', "
        f"columns={{{names}}}, ignore_errors=true, strict_mode=false, hive_partitioning=false, parallel=false)"
    )


def _header(file: str, separator: str) -> list[str]:
    """Return the names in the first line of a CSV file."""
    opener = gzip.open if file.lower().endswith(".gz") else open
    with opener(file, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
        names = next(csv.reader(lines, delimiter=separator), [])
    different = len({name.casefold() for name in names}) == len(names)
    if not names or not different or not all(names) or any(_NUMBER.fullmatch(name) for name in names):
        raise Problem("has a file whose first line is not a list of different column names")
    return names


_NUMBER = re.compile(r"\s*[-+]?[\d.,:/-]+\s*")
"""What is no name of a column but a number or a date: a file without a header line would show its first row."""


def _frame_of(given: Any) -> str | None:
    """Return the library that a data frame or Arrow table is of, which must have been imported to make it."""
    for library, name in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        module = sys.modules.get(library)
        if module is not None and isinstance(given, getattr(module, name)):
            return library
    return None


def _copy(relation: duckdb.DuckDBPyRelation, names: list[str], person: str | None, path: str) -> None:
    """Write the columns of a relation as Parquet; its own connection runs it, once.

    What Parquet has no type for, the largest integers for example, is written as text.
    """
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    chosen: list[Any] = [duckdb.ConstantExpression(1).alias("one")] if not names else []
    for name in names:
        column: Any = duckdb.ColumnExpression(name)
        kept = _COPIED.fullmatch(kinds[name]) and not (name == person and kinds[name].startswith("DECIMAL"))
        chosen.append(column if kept else column.cast(duckdb.sqltype("VARCHAR")).alias(name))
    relation.select(*chosen).write_parquet(path)


def _scannable(frame: Any, names: list[str] | None, person: str | None) -> Any:
    """Return the frame, or the columns of it that are named, in a form that DuckDB can scan more than once."""
    library = _frame_of(frame)
    if library == "polars":
        try:
            import_module("pyarrow")
        except ImportError:
            raise Problem("is a Polars data frame, for which pyarrow is needed (pip install pyarrow)") from None
    chosen = frame if not names else frame.select(names) if library in ("polars", "pyarrow") else frame[names]
    if library != "pandas":
        return chosen
    objects = [
        name
        for name, kind in chosen.dtypes.items()
        if isinstance(name, str) and (str(kind) == "object" or getattr(kind, "storage", None) == "python")
    ]
    return chosen.assign(**{name: _texts(chosen[name], name == person) for name in objects}) if objects else chosen


def _texts(values: Any, people: bool) -> Any:
    """Return a column of Python objects as texts, by a rule that cannot fail: what has no text is missing."""
    return np.array([_person_of(value) if people else _text_of(value) for value in values], dtype=object)


def _person_of(value: object) -> str | None:
    """Return a text that two people share if, and only if, they are equal: 1 is 1.0 but not "1"."""
    text = _text_of(value)
    if text is None or (isinstance(value, str) and text == value and not text.startswith("\1")):
        return text
    if isinstance(value, Number):
        return f"\1number {_value_of(value)}"
    return f"\1{type(value).__name__} {ascii(value) if isinstance(value, str) else text}"


def _value_of(number: Any) -> str:
    """Return one text for all numbers of one value, whatever their types."""
    try:
        whole = not hasattr(number, "as_integer_ratio")  # as NumPy's integers are
        top, bottom = (number.numerator, number.denominator) if whole else number.as_integer_ratio()
        return f"{int(top)}/{int(bottom)}"
    except Exception:  # infinite, complex, or a type of its own
        return str(number)


def _text_of(value: object) -> str | None:
    if isinstance(value, str) and value.isascii():
        return value
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))  # as in a column of whole numbers
    try:
        if value is None or bool(value != value):  # NaN and NaT are not equal to themselves, pd.NA is neither
            return None
        return str(value).encode("utf-8", "replace").decode()
    except Exception:  # a cell never chooses an error
        return None


def _put_right(connection: duckdb.DuckDBPyConnection, person: str | None, texts: Sequence[str]) -> str:
    """Return what makes missing people NULL, and numbers that are declared as text one text whatever their type.

    For a missing number pandas writes NaN, and then 5.0 for every 5 of the column.
    """
    kinds = {name: kind for name, kind, *_ in connection.execute("DESCRIBE given").fetchall()}
    found = []
    for column in dict.fromkeys([*texts, *([] if person is None else [person])]):
        name = quoted(column)
        if kinds.get(column) not in ("FLOAT", "DOUBLE"):
            continue
        if column == person:
            found.append(f"CASE WHEN NOT isnan({name}) THEN {name} END AS {name}")
        else:
            whole = f"WHEN {name} = floor({name}) AND abs({name}) < 1e15 THEN CAST(CAST({name} AS BIGINT) AS VARCHAR)"
            found.append(f"CASE WHEN isnan({name}) THEN NULL {whole} ELSE CAST({name} AS VARCHAR) END AS {name}")
    return f"REPLACE ({', '.join(found)})" if found else ""


def _add_keys(connection: duckdb.DuckDBPyConnection, table: str, column: Column) -> None:
    """Make the table of a column's public keys."""
    keys = [written(key) for key in column.keys or ()]
    values = np.array(keys, dtype=float if column.kind == "integer" else object)
    connection.register("listed", {"key": values, "number": np.arange(len(keys), dtype=np.int32)})
    typed = f"CAST(key AS {DUCKDB.types[column.kind]}) AS key"
    connection.execute(f"CREATE TEMP TABLE {table} AS SELECT {typed}, number FROM listed")
    connection.unregister("listed")
