"""DuckDB, the embedded engine: opens a table and runs one lowered query on it.

Types are declared, never sniffed: CSV cells are read as text.  What DuckDB says when it fails may quote a cell, so it
is dropped: an ``EngineError`` says what the caller can know, and the log ``lapwing.engine`` the kind of failure.
"""

from __future__ import annotations

import csv
import gzip
import logging
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from fnmatch import fnmatch
from glob import escape, glob, has_magic
from importlib import import_module
from numbers import Number
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from ..errors import EngineError, InvalidParameter, InvalidSource
from ..measure import Spread
from ..query import literal, quoted
from ..schema import Column, Key, Schema, written
from .keys import LoweredKeys
from .lowering import Lowered, key_type

Progress = Callable[[float], None]

_log = logging.getLogger("lapwing.engine")
_log.addHandler(logging.NullHandler())

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

COMPLETE = "What was charged stays charged; the same question again completes it at no charge."
T = TypeVar("T")


class Counted(NamedTuple):
    """What an engine returns: the rows of sums, and for each measurement of quantiles its ``Spread``."""

    rows: list[tuple[int, ...]]
    spreads: list[Spread]


class Table:
    """Where the rows are: a path or glob of CSV or Parquet files, a data frame, or a DuckDB relation."""

    def __init__(self, given: Any, name: str) -> None:
        self.name = name
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
                given, "table", "a path, a pandas or Polars data frame, an Arrow table or a DuckDB relation"
            )

    def __repr__(self) -> str:
        return f"Table({self.path or type(self._given).__name__!r})"

    @property
    def is_csv(self) -> bool:
        """Whether the rows are lines of text, of which some may be left out."""
        return self.path is not None and _uncompressed(self.path).endswith((".csv", ".tsv"))

    def holds(self, file: Path) -> bool:
        """Return whether a file is, or if it is made will be, one of the table's."""
        if self.path is None:
            return False
        same = file.resolve() == Path(self.path).resolve()
        return same or (has_magic(self.path) and fnmatch(str(file.resolve()), str(Path(self.path).resolve())))

    def columns(self, person: str | None = None) -> dict[str, str]:
        """Return the names and types of the columns, from the files' headers or the frame's own description.

        If there is a person column, refuse a type of it in which two people could look the same.
        """

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
            raise _Problem("has files in which the person column has different types")
        if any(precision is not None and precision > 38 for *_, precision in found):
            raise _Problem("has a person column with more digits than the engine keeps")

    def tally(self, schema: Schema, lowered: Lowered, progress: Progress | None = None) -> Counted:
        """Run the query; return its integers."""
        names = list(dict.fromkeys([*lowered.columns, *([] if schema.person is None else [schema.person])]))

        def work() -> Counted:
            with self._connected(names, schema.person, _texts_of(schema, names)) as connection:
                for table, column in lowered.keys:
                    _add_keys(connection, table, schema.columns[column])
                rows, spreads = [], []
                if lowered.sums is not None:
                    found = _run(connection, lowered.sums, progress, lambda made: made.fetchall())
                    rows = [tuple(map(int, row)) for row in found]
                for sql in lowered.spreads:
                    columns = _run(connection, sql, progress, lambda made: made.fetchnumpy())
                    spreads.append(_sorted(*(columns[name] for name in ("cell", "i0", "weight"))))
                return Counted(rows, spreads)

        return self.guarded("failed while it was read", COMPLETE, work)

    def count_keys(
        self, schema: Schema, lowered: LoweredKeys, progress: Progress | None = None
    ) -> list[tuple[Key, int]]:
        """Run the query of ``lower_keys``; return the keys that occur and how many people have each."""
        names = list(dict.fromkeys([*lowered.columns, *([] if schema.person is None else [schema.person])]))

        def work() -> list[tuple[Key, int]]:
            with self._connected(names, schema.person, _texts_of(schema, names)) as connection:
                found = _run(connection, lowered.sql, progress, lambda made: made.fetchall())
                return [(key, int(count)) for key, count in found]

        return self.guarded("failed while it was read", COMPLETE, work)

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

    def guarded(self, what: str, budget: str, work: Callable[[], T]) -> T:
        """Return what ``work`` returns; turn what DuckDB or the system says into an error that tells no data."""
        try:
            return work()
        except _Problem as problem:
            failure = EngineError(self.name, str(problem), budget, "Look at what `table` names.")
        except Exception as error:  # whatever it is, its text may quote a cell
            _log.error("source %s %s: %s", self.name, what, type(error).__name__)
            failure = EngineError(self.name, what, budget, _advice(error))
        raise failure  # here, outside the handlers, so that the engine's own error is not chained to it


class _Problem(Exception):
    """Something public about the table that a message may say."""


def _connect(spill: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={**_CONFIG, "temp_directory": spill})
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
        raise _Problem(f'could not be opened: there is no file "{path}"')
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
        raise _Problem("has files with different headers")
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
        raise _Problem("has a file whose first line is not a list of different column names")
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
            raise _Problem("is a Polars data frame, for which pyarrow is needed (pip install pyarrow)") from None
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


def _texts_of(schema: Schema, names: Sequence[str]) -> list[str]:
    return [name for name in names if name in schema.columns and schema.columns[name].kind == "text"]


def _add_keys(connection: duckdb.DuckDBPyConnection, table: str, column: Column) -> None:
    """Make the table of a column's public keys."""
    keys = [written(key) for key in column.keys or ()]
    values = np.array(keys, dtype=float if column.kind == "integer" else object)
    connection.register("listed", {"key": values, "number": np.arange(len(keys), dtype=np.int32)})
    typed = f"CAST(key AS {key_type(column)}) AS key"
    connection.execute(f"CREATE TEMP TABLE {table} AS SELECT {typed}, number FROM listed")
    connection.unregister("listed")


def _sorted(group: NDArray[Any], index: NDArray[Any], weight: NDArray[Any]) -> Spread:
    """Return a spread in an order that does not depend on the engine."""
    width = int(index.max()) + 1 if len(index) else 1
    if int(group.max(initial=0)) * width < 2**62:
        order = np.argsort(group.astype(np.int64) * width + index)  # several times faster than by two keys
    else:
        order = np.lexsort((index, group))
    return Spread(*(np.asarray(each, dtype=np.int64)[order] for each in (group, index, weight)))


def _run(connection: duckdb.DuckDBPyConnection, sql: str, progress: Progress | None, fetch: Callable[[Any], T]) -> T:
    """Run the query in a thread, so that it can be interrupted; tell ``progress`` the share that is done, 0 to 1."""
    with ThreadPoolExecutor(1, "lapwing-engine") as pool:
        running = pool.submit(lambda: fetch(connection.execute(sql)))
        try:
            while wait([running], 0.1).not_done:
                if progress is not None:
                    progress(max(connection.query_progress(), 0.0) / 100)
        except BaseException:  # an interrupt from the keyboard or from outside, or a fault of ``progress``
            connection.interrupt()
            wait([running])
            raise
        return running.result()


def _advice(error: BaseException) -> str:
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return "It ran out of memory or of room for temporary files."
    if isinstance(error, duckdb.IOException | OSError | EOFError):
        return "The file is missing, unreadable or not of its kind."
    if isinstance(error, duckdb.InterruptException):
        return "It was interrupted."
    return "The kind of failure is in the log lapwing.engine."
