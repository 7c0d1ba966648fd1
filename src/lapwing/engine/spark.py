"""Spark: a data frame, a table of the active session (spark:clinic.visits), or one behind Spark Connect.

A Connect URL names the server, and after a # the table: sc://spark.example:15002/;token=…#clinic.visits.  With a URL,
the session is our own; otherwise it is the user's: none of its settings is changed, and the SQL means the same under
all settings.

Every query reads the rows once.  The rows of one person meet in one task, which counts and weighs the same rows, so
that claims E2 and K3 hold for a table that changes while it is read, and for one that is random.  There is one
exception, which Spark causes: when a machine is lost, its part is computed again.  If the rows have changed by then, a
person can count once with the old rows and once with the new ones.  Read such a table from a snapshot (a version of a
Delta or Iceberg table), or from a copy in files.
"""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidAddress, InvalidParameter, InvalidRequest, InvalidSource, MissingLibrary
from ..measure.cells import Progress, column
from ..question.codes import Key, Kind, written
from ..question.join import Join, own_columns
from ..question.schema import Column, Schema
from .cells import cell_name, given_name
from .dialect import SPARK
from .joins import join_name, look_ups_read, people_read
from .look_up import written_cell
from .reading import EXACT, MARK
from .table import Field, Problem, T, Table, added, interruptible, quiet, same_relation

_PLACE = "spark:table, or a URL sc://host:port#table of Spark Connect"
_FRAME = 'a data frame of Spark, such as spark.table("visits") or frame.to_spark()'
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging")
_WIRES = ("py4j.clientserver", "py4j.java_gateway", "root")

_WHOLE = r"tinyint|smallint|int|bigint"
_NUMBER = rf"{_WHOLE}|float|double|decimal\(\d+,-?\d+\)|boolean"
_TEXT = r"string.*|char\(\d+\)|varchar\(\d+\)"
_MICROS = "86400000000"
_DAY = (
    f"date_from_unix_date(CAST(unix_micros({{x}}) DIV {_MICROS} "
    f"- CASE WHEN MOD(unix_micros({{x}}), {_MICROS}) < 0 THEN 1 ELSE 0 END AS INT))"
)
"""The day of a moment in UTC, in every session time zone."""

_IN_YEARS = "CASE WHEN {day} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {day} END"
_STRING = "CAST({x} AS STRING)"

_CELLS: dict[Kind, dict[str, str]] = {
    "number": {_NUMBER: "{x}"},
    "integer": {_NUMBER: "{x}"},
    "text": {
        _TEXT: _STRING,
        "boolean": "CAST(CAST({x} AS INT) AS STRING)",
        _WHOLE: f"CASE WHEN {{x}} BETWEEN {1 - EXACT} AND {EXACT - 1} THEN {_STRING} END",
    },
    "date": {
        "date|timestamp_ntz": _IN_YEARS.format(day="CAST({x} AS DATE)"),
        "timestamp": _IN_YEARS.format(day=_DAY),
    },
    "boolean": {"boolean": "{x}", _WHOLE: "{x} <> 0"},
}
_PEOPLE = {
    _WHOLE: "{x}",
    r"decimal\(\d+,\d+\)": f"CASE WHEN {{x}} % 1 = 0 THEN format_number({{x}}, '0.{'#' * 38}') END",
    _TEXT: f"CASE WHEN NOT startswith({_STRING}, char({ord(MARK)})) THEN {_STRING} END",
}
_LINKED = {**_PEOPLE, _WHOLE: _STRING}
"""How a cell is read, by what it is declared as and by its type; and the person (claim E0, ``reading``), who is a text
where tables are joined.

Texts are compared byte by byte.  A setting may make a cast of a decimal write an exponent; a format does not."""


_PATIENCE = {"max_retries": 5, "max_backoff": 10_000}
"""How long to try to reach a server: 15 seconds instead of Spark's ten minutes."""


def is_spark(given: Any) -> bool:
    """Return whether this is an object of Spark; if so, Spark has been imported."""
    return type(given).__module__.startswith("pyspark.")


class SparkTable(Table):
    """A data frame, or a table that a session knows by name."""

    dialect = SPARK
    hint = "Its session may have ended, or an expression of a view may fail on some row: the driver's log says more."

    def __init__(self, given: Any, name: str) -> None:
        super().__init__(name)
        self._frame: Any = None
        self._url, self._table = "", ""
        if not isinstance(given, str):
            kind = type(given)
            if kind.__name__ != "DataFrame" or not kind.__module__.startswith("pyspark.sql."):
                raise InvalidParameter(given, "table", _FRAME)
            self._frame = given
            return
        _driver()
        self._url, _, self._table = given.partition("#") if given.startswith("sc://") else ("", "", given[6:])
        if not self._table:
            raise InvalidAddress("table", f"Give {_PLACE}.")

    def __repr__(self) -> str:
        return f"Table({'DataFrame' if self._frame is not None else f'spark:{self._table}'!r})"

    def shares_rows_with(self, other: Table) -> bool:
        if not isinstance(other, SparkTable) or self._frame is not None or other._frame is not None:
            return super().shares_rows_with(other)
        return same_relation(*(each._table.replace("`", "").lower().split(".") for each in (self, other)))

    @contextmanager
    def _given(self) -> Iterator[Any]:
        """Yield the data frame."""
        with quiet(*_loggers()):
            if self._frame is not None:
                yield self._frame
            elif self._url:
                with remote(self._url) as session:
                    yield session.table(self._table)
            else:
                sessions = _driver().SparkSession
                yield (sessions.getActiveSession() or sessions.builder.getOrCreate()).table(self._table)

    def fields(self) -> list[Field]:
        def describe() -> tuple[bool, list[Field]]:
            with self._given() as frame:
                frame.sparkSession.sql("SELECT 1").collect()  # a frame knows its schema after its session has ended
                return frame.isStreaming, _fields(frame)

        streams, fields = self.guarded("could not be opened", "Nothing was charged.", describe)
        if streams:
            raise InvalidRequest("The table is a stream", "Give a table or a data frame that is not a stream.")
        return fields

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        super().check(schema, columns)
        odd = [name for name in columns if "${" in name]
        if odd:
            raise InvalidSource(
                self.name,
                f'has a column "{odd[0]}", whose name Spark would change: names must not contain ${{',
                "Name a view in which it is renamed.",
            )

    def reads(self, type_name: str, kind: Kind) -> bool:
        return _reading(type_name, _CELLS[kind]) is not None

    def tells_apart(self, type_name: str) -> bool:
        return _reading(type_name, _PEOPLE) is not None

    @contextmanager
    def opened(
        self,
        schema: Schema,
        columns: Sequence[str],
        keys: Mapping[str, str],
        progress: Progress | None,
        given: bool = False,
    ) -> Iterator[_Session]:
        with self._given() as frame:
            session = frame.sparkSession
            people = people_read(schema, columns)
            linked, own = bool(people), own_columns(schema, columns)
            views, cells = {"given": frame}, {"source": self._cells(frame, schema, own, given, linked)}
            for number, other, names in people:
                table = cast(SparkTable, self.joined[number])
                joined = table._in_session(session)
                views[f"given_{number}"] = joined
                cells[join_name(number)] = table._cells(joined, other, names, given, linked)
            prefix = f"lapwing_{uuid4().hex}_"
            read = {view: each.toDF(*_numbered(each)) for view, each in views.items()}  # names may differ by case alone
            read |= {table: _keys(session, schema.columns[column]) for table, column in keys.items()}
            look_ups = {join_name(number): (each, names) for number, each, names in look_ups_read(schema, columns)}
            read |= {table: _look_up(session, schema, *each) for table, each in look_ups.items()}
            try:
                for view, content in read.items():
                    content.createOrReplaceTempView(prefix + view)
                steps = [
                    f"{table} AS (SELECT {', '.join(some) or '1 AS one'} FROM {prefix}{view})"
                    for (table, some), view in zip(cells.items(), views, strict=True)
                ]
                steps += [f"{table} AS (SELECT * FROM {prefix}{table})" for table in (*keys, *look_ups)]
                yield _Session(session, steps, progress)
            finally:
                for view in read:
                    with suppress(Exception):  # a session that has ended has no views
                        session.catalog.dropTempView(prefix + view)

    def joins_with(self, other: Table) -> bool:
        """Return whether the other table can be read in the session of this one."""
        return isinstance(other, SparkTable) and other._url == self._url

    def _in_session(self, session: Any) -> Any:
        """Return the data frame in the session of another table."""
        if self._frame is None:
            return session.table(self._table)
        if self._frame.sparkSession is not session:
            raise Problem("has a joined data frame of another Spark session", "Make both in the same session.")
        return self._frame

    def _cells(self, frame: Any, schema: Schema, columns: Sequence[str], given: bool, linked: bool) -> list[str]:
        """Return the expressions for typed cells of a frame, and the person."""
        fields = _fields(frame)

        def read(name: str, how: Mapping[str, str]) -> str:
            (at,) = self.places([name], fields)
            return (_reading(fields[at].type, how) or "").format(x=f"c{at}")

        cells = [f"{read(name, _CELLS[schema.columns[name].kind])} AS {cell_name(name, SPARK)}" for name in columns]
        if given:
            cells += [f"{self._holds(name, fields)} AS {given_name(name, SPARK)}" for name in columns]
        person = _LINKED if linked else _PEOPLE
        return cells if schema.person is None else [*cells, f"{read(schema.person, person)} AS person"]

    def _holds(self, name: str, fields: Sequence[Field]) -> str:
        """Return whether a cell of a column holds anything; NaN is missing."""
        (at,) = self.places([name], fields)
        floats = fields[at].type in ("float", "double")
        return f"(c{at} IS NOT NULL{f' AND NOT isnan(c{at})' if floats else ''})"

    def advice(self, error: BaseException) -> str:
        kinds = {each.__name__ for each in type(error).__mro__}
        if "PySparkRuntimeError" in kinds and getattr(error, "getCondition", str)() == "JAVA_GATEWAY_EXITED":
            return "Spark needs Java 17 or later: install it, or let JAVA_HOME name it."
        if "AnalysisException" in kinds:
            return "This session has no such table, or the table has changed; spark.table(…) says more."
        if "SparkConnectGrpcException" in kinds or "RpcError" in kinds:
            return "The server cannot be reached, or ended the session; check the URL."
        return super().advice(error)


def _numbered(frame: Any) -> list[str]:
    """Return names by which no column of a frame can be taken for another."""
    return [f"c{at}" for at in range(len(frame.schema.fields))]


def _fields(frame: Any) -> list[Field]:
    """Return the names and types of the columns."""
    return [Field(field.name, field.dataType.simpleString()) for field in frame.schema.fields]


def _reading(type_name: str, how: Mapping[str, str]) -> str | None:
    return next((cell for kinds, cell in how.items() if re.fullmatch(kinds, type_name)), None)


def _driver() -> Any:
    """Return pyspark.sql, which is needed only for Spark."""
    try:
        return import_module("pyspark.sql")
    except ImportError:
        raise MissingLibrary("pyspark", "spark") from None


@contextmanager
def remote(url: str) -> Iterator[Any]:
    """Yield our own session on a server; the session builder would return any existing session, on any server."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about a pandas too new for Spark; none is needed
        policy = import_module("pyspark.sql.connect.client.retries").DefaultPolicy
        session = import_module("pyspark.sql.connect.session").SparkSession(connection=url)
    client = session.client
    client.set_retry_policies([policy(**_PATIENCE)])
    try:
        yield session
    finally:
        client.set_retry_policies([])
        with suppress(Exception):  # the server may be gone
            client.release_session()
        with suppress(Exception):
            client.close()


def _loggers() -> list[logging.Logger]:
    """Return the loggers of Spark's Python side, which repeat the engine's messages."""
    get = import_module("pyspark.logger").PySparkLogger.getLogger  # of this class, or the user's logging would fail
    return [*map(get, _LOGGERS), *map(logging.getLogger, _WIRES)]


class _Session:
    """A session in which ``source`` and the keys are views."""

    def __init__(self, session: Any, steps: list[str], progress: Progress | None) -> None:
        self._session = session
        self._steps = steps
        self._progress = progress

    def integers(self, sql: str) -> list[NDArray[Any]]:
        def fetch(result: Any) -> list[NDArray[Any]]:
            table = result.toArrow()
            return [_column(table.column(i)) for i in range(table.num_columns)]

        return self._run(sql, fetch)

    def keys(self, sql: str) -> list[tuple[Key, int]]:
        def fetch(result: Any) -> list[tuple[Key, int]]:
            keys, people = result.toArrow().columns
            return list(zip(keys.to_pylist(), people.to_pylist(), strict=True))

        return self._run(sql, fetch)

    def cells(self, sql: str) -> list[tuple[Any, ...]]:
        def fetch(result: Any) -> list[tuple[Any, ...]]:
            columns = [column.to_pylist() for column in result.toArrow().columns]
            return list(zip(*columns, strict=True))

        return self._run(sql, fetch)

    def _run(self, sql: str, fetch: Callable[[Any], T]) -> T:
        text = added(sql, self._steps)
        jobs = (_Remote if ".connect." in type(self._session).__module__ else _Local)(self._session)

        def work() -> T:
            with jobs.marked():
                return fetch(self._session.sql(text))

        def tell() -> None:
            if self._progress is not None:
                self._progress(jobs.share())

        return interruptible(work, tell, jobs.cancel)


class _Local:
    """The jobs of a query in a session of this process: one job group, from all of Spark's threads."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._name = f"lapwing-{uuid4().hex}"

    @contextmanager
    def marked(self) -> Iterator[None]:
        """Put the jobs that this thread starts into one group."""
        marks = {"spark.jobGroup.id": self._name, "spark.job.interruptOnCancel": "true"}
        context = self._session.sparkContext
        for mark, value in marks.items():
            context.setLocalProperty(mark, value)
        try:
            yield
        finally:
            with suppress(Exception):  # the session may have ended
                for mark in marks:
                    context.setLocalProperty(mark, None)

    def share(self) -> float:
        """Return the share that is done, 0 if it cannot be known."""
        with suppress(Exception):
            tracker = self._session.sparkContext.statusTracker()
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._name)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
            return _share([(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage])
        return 0.0

    def cancel(self) -> None:
        """Cancel the jobs by their group; Spark collects results in a thread that does not have the tags."""
        self._session.sparkContext.cancelJobGroup(self._name)


class _Remote:
    """The jobs of a query behind Connect: they have a tag, and Spark reports their progress to the waiting thread."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._name = f"lapwing-{uuid4().hex}"
        self._done = 0.0
        self._begun = False
        self._asked = 0
        self._thread = 0

    @contextmanager
    def marked(self) -> Iterator[None]:
        """Tag the jobs that this thread starts, and listen to their progress."""
        self._thread = threading.get_ident()
        self._session.registerProgressHandler(self._progressed)
        self._session.addTag(self._name)
        try:
            yield
        finally:
            self._session.removeTag(self._name)
            self._session.removeProgressHandler(self._progressed)

    def _progressed(self, stages: Any = None, **_: Any) -> None:
        if threading.get_ident() == self._thread:  # other threads of the session have their own queries
            with suppress(Exception):
                self._begun = self._begun or bool(stages)
                self._done = _share([(stage.num_completed_tasks, stage.num_tasks) for stage in stages or ()])

    def share(self) -> float:
        """Return the share that is done, as last reported."""
        return self._done

    def cancel(self) -> None:
        """Cancel the jobs once they have started: an interrupt is sent only once, and earlier ones may be missed."""
        self._asked += 1
        if self._begun or self._asked > 30:
            self._session.interruptTag(self._name)


def _share(stages: Sequence[tuple[int, int]]) -> float:
    """Return the share of (done, all) tasks of the stages that have begun; some of the others will be skipped."""
    begun = [(done, tasks) for done, tasks in stages if done > 0]
    return sum(done for done, _ in begun) / max(sum(tasks for _, tasks in begun), 1)


def _column(values: Any) -> NDArray[Any]:
    """Return a column of Arrow as NumPy's integers, or Python's where one is larger."""
    if str(values.type).startswith("int"):
        return np.asarray(values.to_numpy())
    return column(list(map(int, values.to_pylist())))


def _keys(session: Any, declared: Column) -> Any:
    """Return the table of a column's public keys."""
    arrow = import_module("pyarrow")
    keys = list(map(written, declared.asked_keys))
    table = session.createDataFrame(
        arrow.table({"key": arrow.array(keys), "number": arrow.array(range(len(keys)), arrow.int32())})
    )
    return table.selectExpr(f"CAST(key AS {SPARK.types[declared.kind]}) AS key", "number")


def _look_up(session: Any, schema: Schema, each: Join, names: Sequence[str]) -> Any:
    """Return the table of a public look-up."""
    arrow = import_module("pyarrow")
    content = each.content(schema)
    kinds = [schema.columns[name].kind for name in ((each.on or ("",))[0], *names)]
    titles = ["key", *(cell_name(name, SPARK) for name in names)]
    cells = [content.keys, *(content.cells[name] for name in names)]
    texts = {f"v{i}": arrow.array(list(map(written_cell, each)), arrow.string()) for i, each in enumerate(cells)}
    typed = [f"CAST(v{i} AS {SPARK.types[kind]}) AS {titles[i]}" for i, kind in enumerate(kinds)]
    return session.createDataFrame(arrow.table(texts)).selectExpr(*typed)
