"""Spark: a data frame, a table of the active session (spark:clinic.visits), or one behind Spark Connect.

A Connect URL names the server, and behind a # the table: sc://spark.example:15002/;token=…#clinic.visits.  The session
is the user's: no setting of it is changed, and the SQL means the same whatever they are.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameter, InvalidSource
from ..schema import Column, Key, Kind, Schema, written
from .dialect import SPARK
from .table import Progress, T, Table, added, integers, interruptible

_PLACE = "spark:table, or a URL sc://host:port#table of Spark Connect"

_WHOLE = r"tinyint|smallint|int|bigint"
_NUMBER = rf"{_WHOLE}|float|double|decimal\(\d+,-?\d+\)|boolean"
_TEXT = r"string.*|char\(\d+\)|varchar\(\d+\)"
_CELLS: dict[Kind, dict[str, str]] = {
    "number": {_NUMBER: "{x}"},
    "integer": {_NUMBER: "{x}"},
    "text": {f"{_TEXT}|{_WHOLE}|boolean": "CAST({x} AS STRING)"},
    "date": {
        "date|timestamp_ntz": "{x}",
        "timestamp": "to_utc_timestamp({x}, current_timezone())",
    },
    "boolean": {"boolean": "{x}", _WHOLE: "{x} <> 0"},
}
_PEOPLE = {
    rf"{_WHOLE}|decimal\(\d+,-?\d+\)": "{x}",
    _TEXT: "CAST({x} AS STRING)",
    "float|double": "CASE WHEN NOT isnan({x}) THEN {x} END",
}
"""How a cell is read, by what it is declared as and by its type; and the person.  Texts are equal only byte by byte."""


def is_spark(given: Any) -> bool:
    """Return whether this is an object of Spark, which must have been imported to make it."""
    return type(given).__module__.startswith("pyspark.sql.")


class SparkTable(Table):
    """A data frame, or a table that a session knows by name."""

    dialect = SPARK

    def __init__(self, given: Any, name: str) -> None:
        super().__init__(name)
        self._frame: Any = None
        self._url, self._table = "", ""
        if not isinstance(given, str):
            if type(given).__name__ != "DataFrame" or getattr(given, "isStreaming", False):
                raise InvalidParameter(type(given).__name__, "table", 'a data frame: spark.table("visits") is one')
            self._frame = given
            return
        _driver()
        self._url, _, self._table = given.partition("#") if given.startswith("sc://") else ("", "", given[6:])
        if not self._table:
            raise InvalidParameter("this URL", "table", _PLACE)

    def __repr__(self) -> str:
        return f"Table({'DataFrame' if self._frame is not None else f'spark:{self._table}'!r})"

    def _given(self) -> Any:
        """Return the data frame."""
        if self._frame is not None:
            return self._frame
        sessions = _driver().SparkSession
        if self._url:
            return sessions.builder.remote(self._url).getOrCreate().table(self._table)
        return (sessions.getActiveSession() or sessions.builder.getOrCreate()).table(self._table)

    def columns(self, person: str | None = None) -> dict[str, str]:
        def describe() -> dict[str, str]:
            with _quiet():
                return {field.name: field.dataType.simpleString() for field in self._given().schema.fields}

        found = self.guarded("could not be opened", "Nothing was charged.", describe)
        if person in found and _reading(found[person], _PEOPLE) is None:
            advice = "Make it a text or a whole number, so that no two people look the same."
            raise InvalidSource(self.name, f"has a person column of type {found[person].split('<')[0]}", advice)
        return found

    def reads(self, type_name: str, kind: Kind) -> bool:
        return _reading(type_name, _CELLS[kind]) is not None

    @contextmanager
    def opened(
        self, schema: Schema, names: Sequence[str], keys: Mapping[str, str], progress: Progress | None
    ) -> Iterator[_Session]:
        with _quiet():
            frame = self._given()
            session = frame.sparkSession
            kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
            cells = []
            for name in names:
                how = _PEOPLE if name == schema.person else _CELLS[schema.columns[name].kind]
                x = SPARK.quoted(name)
                cells.append(f"{(_reading(kinds[name], how) or '').format(x=x)} AS {x}")
            prefix = f"lapwing_{token_hex(8)}_"
            views = {"given": frame, **{table: _keys(session, schema.columns[keys[table]]) for table in keys}}
            try:
                for view, made in views.items():
                    made.createOrReplaceTempView(prefix + view)
                steps = [f"source AS (SELECT {', '.join(cells) or '1 AS one'} FROM {prefix}given)"]
                steps += [f"{table} AS (SELECT key, number FROM {prefix}{table})" for table in keys]
                yield _Session(session, steps, progress)
            finally:
                for view in views:
                    session.catalog.dropTempView(prefix + view)


def _reading(type_name: str, how: Mapping[str, str]) -> str | None:
    return next((cell for kinds, cell in how.items() if re.fullmatch(kinds, type_name)), None)


def _driver() -> Any:
    """Return pyspark.sql, which only those need who have Spark."""
    try:
        return import_module("pyspark.sql")
    except ImportError:
        raise InvalidParameter("spark", "table", "readable after `pip install 'lapwing[spark]'`") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Spark's Python side from logging what this work, in this thread or one it starts, makes the engine say."""
    loggers = [logging.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]

    def ours(record: logging.LogRecord) -> bool:
        return record.thread != mine and not str(record.threadName).startswith("lapwing-engine")

    mine = threading.get_ident()
    for logger in loggers:
        logger.addFilter(ours)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(ours)


class _Session:
    """A session in which ``source`` and the keys are views."""

    def __init__(self, session: Any, steps: list[str], progress: Progress | None) -> None:
        self._session = session
        self._steps = steps
        self._progress = progress

    def integers(self, sql: str) -> list[NDArray[Any]]:
        def fetch(made: Any) -> list[NDArray[Any]]:
            table = made.toArrow()
            return [_column(table.column(i)) for i in range(table.num_columns)]

        return self._run(sql, fetch)

    def keys(self, sql: str) -> list[tuple[Key, int]]:
        def fetch(made: Any) -> list[tuple[Key, int]]:
            keys, people = made.toArrow().columns
            return list(zip(keys.to_pylist(), people.to_pylist(), strict=True))

        return self._run(sql, fetch)

    def _run(self, sql: str, fetch: Callable[[Any], T]) -> T:
        text, tag = added(sql, self._steps), f"lapwing-{token_hex(8)}"

        def work() -> T:
            self._session.addTag(tag)
            try:
                return fetch(self._session.sql(text))
            finally:
                self._session.removeTag(tag)

        def tell() -> None:
            if self._progress is not None:
                self._progress(0.0)

        return interruptible(work, tell, lambda: self._session.interruptTag(tag))


def _column(values: Any) -> NDArray[Any]:
    """Return a column of Arrow as NumPy's integers, or Python's where one is larger."""
    if str(values.type).startswith("int"):
        return np.asarray(values.to_numpy())
    return integers(values.to_pylist())


def _keys(session: Any, column: Column) -> Any:
    """Return the table of a column's public keys."""
    arrow = import_module("pyarrow")
    keys = list(map(written, column.keys or ()))
    made = session.createDataFrame(
        arrow.table({"key": arrow.array(keys), "number": arrow.array(range(len(keys)), arrow.int32())})
    )
    return made.selectExpr(f"CAST(key AS {SPARK.types[column.kind]}) AS key", "number")
