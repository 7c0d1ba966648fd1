"""PostgreSQL: a table or view of a server, read in one read-only transaction, which sees one state of it.

A URL names the server as libpq does, and behind a # the table: postgresql://lapwing@db.example/clinic#public.visits.
Cells are read by the types that the columns have: each is converted by an expression that no cell can make fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from typing import Any
from urllib.parse import unquote

from numpy.typing import NDArray

from ..errors import InvalidParameter, InvalidSource
from ..schema import Column, Key, Kind, Schema, written
from .dialect import POSTGRES
from .table import Problem, Progress, T, Table, added, interruptible, whole_columns

_SETTINGS = """
SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'; SET LOCAL standard_conforming_strings = on;
SET LOCAL enable_mergejoin = off;
SELECT set_config('work_mem', '64MB', true) WHERE pg_size_bytes(current_setting('work_mem')) < pg_size_bytes('64MB')
"""
"""Keys are few, and a merge would sort all rows by them; rows are sorted by person in little memory else."""
_CHUNK = 2**14
_PLACE = "a URL postgresql://user@host/database#table, with # in a password written as %23"

_WHOLE = ("int2", "int4", "int8")
_TEXTS = ("text", "varchar", "bpchar", "name", "uuid", "enum")
_SAFE = (
    "CASE WHEN {x} BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 "
    "THEN CASE WHEN abs({x}) < 1e-300 THEN 0e0 ELSE CAST({x} AS DOUBLE PRECISION) END END"
)
_NUMBERS = {**dict.fromkeys((*_WHOLE, "float4", "float8"), "{x}"), "numeric": _SAFE, "bool": "CAST({x} AS INTEGER)"}
_CELLS: dict[Kind, dict[str, str]] = {
    "number": _NUMBERS,
    "integer": _NUMBERS,
    "text": dict.fromkeys((*_TEXTS, *_WHOLE, "bool"), 'CAST({x} AS TEXT) COLLATE "C"'),
    "date": dict.fromkeys(("date", "timestamp", "timestamptz"), "CAST({x} AS DATE)"),
    "boolean": {"bool": "{x}", **dict.fromkeys(_WHOLE, "{x} <> 0")},
}
_PEOPLE = {
    **dict.fromkeys(_WHOLE, "{x}"),
    **dict.fromkeys(_TEXTS, 'CAST({x} AS TEXT) COLLATE "C"'),
    **dict.fromkeys(("float4", "float8", "numeric"), "NULLIF({x}, 'NaN')"),
}
"""How a cell is read, by what it is declared as and by its type; and the person.  Texts are equal only byte by byte."""

_COLUMNS = """
WITH RECURSIVE up AS (
  SELECT a.attnum, a.attname, a.atttypid AS type FROM pg_catalog.pg_attribute a
  WHERE a.attrelid = %(relation)s AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT up.attnum, up.attname, t.typbasetype FROM up JOIN pg_catalog.pg_type t ON t.oid = up.type
  WHERE t.typbasetype <> 0)
SELECT up.attname, CASE WHEN t.typtype = 'e' THEN 'enum' WHEN n.nspname = 'pg_catalog' THEN t.typname
    ELSE n.nspname || '.' || t.typname END,
  pg_catalog.has_column_privilege(%(relation)s, up.attnum, 'SELECT')
FROM up JOIN pg_catalog.pg_type t ON t.oid = up.type JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.typbasetype = 0 ORDER BY up.attnum
"""


class PostgresTable(Table):
    """A table or view of a PostgreSQL server."""

    dialect = POSTGRES

    def __init__(self, url: str, name: str) -> None:
        super().__init__(name)
        self._driver = _driver()
        self._where, _, relation = url.partition("#")
        parts = re.findall(r'"(?:[^"]|"")+"|[^".]+', unquote(relation))
        if not 1 <= len(parts) <= 2 or ".".join(parts) != unquote(relation) or "\0" in relation:
            raise InvalidParameter("this URL", "table", _PLACE)
        names = [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts]
        self.relation = ".".join(map(POSTGRES.quoted, names))
        try:
            told = self._driver.conninfo.conninfo_to_dict(self._where)
        except self._driver.Error:
            told = None
        if told is None:  # here, outside the handler: what the driver says may hold the password
            raise InvalidParameter("this URL", "table", _PLACE)
        self._shown = f"postgresql://{told.get('host') or 'local'}/{told.get('dbname') or ''}#{relation}"

    def __repr__(self) -> str:
        return f"Table({self._shown!r})"

    def columns(self, person: str | None = None) -> dict[str, str]:
        found = self.guarded("could not be opened", "Nothing was charged.", self._described)
        if person in found and found[person] not in _PEOPLE:
            advice = "Make it a text or a whole number, so that no two people look the same."
            raise InvalidSource(self.name, f"has a person column of type {found[person]}", advice)
        return found

    def _described(self) -> dict[str, str]:
        with self._connected() as connection:
            return self._types(connection)

    def _types(self, connection: Any) -> dict[str, str]:
        """Return the types of the columns that this user may read."""
        (relation,) = connection.execute("SELECT CAST(to_regclass(%s) AS OID)", [self.relation]).fetchone()
        if relation is None:
            raise Problem(
                f"could not be opened: there is no table {self.relation}, or its schema is closed to this user"
            )
        rows = connection.execute(_COLUMNS, {"relation": relation}).fetchall()
        if not any(allowed for *_, allowed in rows):
            raise Problem(f"could not be opened: this user may not read {self.relation} (GRANT SELECT)")
        return {name: kind for name, kind, allowed in rows if allowed}

    def reads(self, type_name: str, kind: Kind) -> bool:
        return type_name in _CELLS[kind]

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        connection = self._driver.connect(self._where, connect_timeout=10, application_name="lapwing")
        with connection:
            connection.isolation_level = self._driver.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            connection.execute(_SETTINGS)
            yield connection

    @contextmanager
    def opened(
        self, schema: Schema, names: Sequence[str], keys: Mapping[str, str], progress: Progress | None
    ) -> Iterator[_Session]:
        with self._connected() as connection:
            kinds = self._types(connection)
            cells = []
            for name in names:
                how = _PEOPLE if name == schema.person else _CELLS[schema.columns[name].kind]
                x = POSTGRES.quoted(name)
                cells.append(f"{how[kinds[name]].format(x=x)} AS {x}")
            read = f"source AS (SELECT {', '.join(cells) or '1 AS one'} FROM {self.relation})"
            steps = [read.replace("%", "%%")]
            values: dict[str, Any] = {}
            for table, column in keys.items():
                steps.append(_keys(table, schema.columns[column], values))
            yield _Session(self._driver, connection, steps, values, progress)

    def advice(self, error: BaseException) -> str:
        errors = self._driver.errors
        if isinstance(error, errors.InsufficientPrivilege):
            return "The user may not read it: see how-to/postgres.md for what to grant."
        if isinstance(error, errors.QueryCanceled):
            return "It was cancelled, or took longer than the server's statement_timeout allows."
        if isinstance(error, errors.DiskFull | errors.OutOfMemory):
            return "The server ran out of memory or of room for temporary files."
        if isinstance(error, errors.OperationalError):
            return "The server cannot be reached, or ended the connection; look at the URL, the user and the password."
        return super().advice(error)


def _driver() -> Any:
    """Return psycopg, which only those need who have PostgreSQL."""
    try:
        return import_module("psycopg")
    except ImportError:
        raise InvalidParameter("postgresql", "table", "readable after `pip install 'lapwing[postgres]'`") from None


class _Session:
    """A transaction, and the steps that put ``source`` and the keys before every query."""

    def __init__(
        self, driver: Any, connection: Any, steps: list[str], values: dict[str, Any], progress: Progress | None
    ) -> None:
        self._chunked = driver.capabilities.has_stream_chunked()
        self._connection = connection
        self._steps = steps
        self._values = values
        self._progress = progress

    def integers(self, sql: str) -> list[NDArray[Any]]:
        return self._run(sql, lambda rows: whole_columns(_chunks(rows)))

    def keys(self, sql: str) -> list[tuple[Key, int]]:
        return self._run(sql, lambda rows: [(key, int(people)) for key, people in rows])

    def _run(self, sql: str, fetch: Callable[[Iterator[Any]], T]) -> T:
        """Run the query; how far the server is cannot be known."""
        text = added(sql.replace("%", "%%"), self._steps)

        def work() -> T:
            with self._connection.cursor(binary=True) as cursor:
                return fetch(cursor.stream(text, self._values, size=_CHUNK if self._chunked else 1))

        def tell() -> None:
            if self._progress is not None:
                self._progress(0.0)

        return interruptible(work, tell, self._connection.cancel_safe)


def _chunks(rows: Iterator[Any]) -> Iterator[list[Any]]:
    return iter(lambda: list(islice(rows, _CHUNK)), [])


def _keys(table: str, column: Column, values: dict[str, Any]) -> str:
    """Return the step that makes a table of public keys; add what it holds to the values.

    A text with a zero byte, which PostgreSQL does not have, cannot occur.
    """
    listed = [(written(key), i) for i, key in enumerate(column.keys or ())]
    listed = [(key, i) for key, i in listed if not (isinstance(key, str) and "\0" in key)]
    values[f"{table}_key"] = [float(key) if column.kind == "integer" else key for key, _ in listed]
    values[f"{table}_number"] = [i for _, i in listed]
    lists = f"CAST(%({table}_key)s AS {POSTGRES.types[column.kind]}[]), CAST(%({table}_number)s AS INTEGER[])"
    return f"{table} AS (SELECT key, number FROM unnest({lists}) AS listed (key, number))"
