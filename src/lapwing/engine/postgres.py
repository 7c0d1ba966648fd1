"""PostgreSQL: a table or view of a server, read in one read-only transaction, which sees one state of it.

A URL names the server as libpq does, and after a # the table: postgresql://lapwing@db.example/clinic#public.visits.
Cells are read by the types that the columns have: each is converted by an expression that no cell can make fail.
Settings of the user or the database that could change the meaning of the SQL are reset once the table is found.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import islice, starmap
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from numpy.typing import NDArray

from ..errors import InvalidAddress, MissingLibrary
from ..measure.cells import Progress
from ..question.codes import Key, Kind, written
from ..question.join import Join, own_columns
from ..question.schema import Column, Schema
from .cells import cell_name, given_name
from .dialect import POSTGRES
from .joins import join_name, look_ups_read, people_read
from .look_up import written_cell
from .reading import EXACT, MARK
from .table import Field, Problem, T, Table, added, interruptible, quiet, same_relation, whole_columns

_SETTINGS = """
SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD';
SET LOCAL standard_conforming_strings = on; SET LOCAL transform_null_equals = off; SET LOCAL extra_float_digits = 1;
SET LOCAL enable_mergejoin = off;
SELECT set_config('work_mem', '64MB', true) WHERE pg_size_bytes(current_setting('work_mem')) < pg_size_bytes('64MB')
"""
"""The search path is PostgreSQL's own, so that no user-defined md5, floor or = replaces its own.  Views keep the names
they were created with; a function that relies on the path must set it: ALTER FUNCTION ... SET search_path.  The planner
may overestimate a list of keys and sort all rows to merge them with it; rows are sorted by person in limited memory."""

_ALIVE = {"keepalives_idle": 60, "keepalives_interval": 10, "keepalives_count": 6}
"""A server that is gone is noticed after two minutes, not hours."""

_CHUNK = 2**14
_PLACE = (
    "a URL postgresql://user@host/database#table, with #, @, /, : and ? in names and passwords written as %23 and so on"
)
_HARMLESS = {"host", "hostaddr", "port", "dbname", "user", "service", "passfile", "sslmode", "sslrootcert", "sslcert",
             "sslkey", "connect_timeout", "target_session_attrs", "channel_binding", "gssencmode"}  # fmt: skip
"""The settings of a URL that may be stored."""


_WHOLE = ("int2", "int4", "int8")
_TEXTS = ("text", "varchar", "bpchar", "name", "uuid", "enum")
_SAFE = (
    "CASE WHEN {x} BETWEEN -1.7976931348623158e308 AND 1.7976931348623158e308 "
    "THEN CASE WHEN abs({x}) < 2.5e-324 THEN 0e0 ELSE CAST({x} AS DOUBLE PRECISION) END END"
)
"""A numeric as the nearest float, or NULL; the conversion fails where that is 0 or infinite."""

_TEXT = 'CAST({x} AS TEXT) COLLATE "C"'
_DAY = "CASE WHEN CAST({x} AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN CAST({x} AS DATE) END"
_NUMBERS = {**dict.fromkeys((*_WHOLE, "float4", "float8"), "{x}"), "numeric": _SAFE, "bool": "CAST({x} AS INTEGER)"}
_CELLS: dict[Kind, dict[str, str]] = {
    "number": _NUMBERS,
    "integer": _NUMBERS,
    "text": {
        **dict.fromkeys(_TEXTS, _TEXT),
        "bool": 'CAST(CAST({x} AS INTEGER) AS TEXT) COLLATE "C"',
        **dict.fromkeys(_WHOLE, f"CASE WHEN {{x}} BETWEEN {1 - EXACT} AND {EXACT - 1} THEN {_TEXT} END"),
    },
    "date": dict.fromkeys(("date", "timestamp", "timestamptz"), _DAY),
    "boolean": {"bool": "{x}", **dict.fromkeys(_WHOLE, "{x} <> 0")},
}
_PEOPLE = {
    **dict.fromkeys(_WHOLE, "{x}"),
    **dict.fromkeys(_TEXTS, f"CASE WHEN left(CAST({{x}} AS TEXT), 1) <> chr({ord(MARK)}) THEN {_TEXT} END"),
    "numeric": "CASE WHEN {x} = floor({x}) AND {x} <> 'NaN' THEN trim_scale({x}) END",
}
_LINKED = {kind: cell if kind in _TEXTS else f'CAST({cell} AS TEXT) COLLATE "C"' for kind, cell in _PEOPLE.items()}
"""How a cell is read, by what it is declared as and by its type; and the person (claim E0, ``reading``), who is a text
where tables are joined.

Texts are compared byte by byte."""

_FIND = "SELECT CAST(pg_catalog.to_regclass(%s) AS pg_catalog.oid)"
_RELATION = """
SELECT n.nspname, c.relname, c.relkind IN ('r', 'p', 'v', 'm', 'f'), c.relispopulated,
  has_schema_privilege(n.oid, 'USAGE'), has_any_column_privilege(c.oid, 'SELECT')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %s
"""
_COLUMNS = """
WITH RECURSIVE up AS (
  SELECT a.attnum, a.attname, a.atttypid AS type FROM pg_attribute a
  WHERE a.attrelid = %(relation)s AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT up.attnum, up.attname, t.typbasetype FROM up JOIN pg_type t ON t.oid = up.type WHERE t.typbasetype <> 0)
SELECT up.attname, CASE WHEN t.typtype = 'e' THEN 'enum' WHEN n.nspname = 'pg_catalog' THEN t.typname
    ELSE n.nspname || '.' || t.typname END,
  has_column_privilege(%(relation)s, up.attnum, 'SELECT')
FROM up JOIN pg_type t ON t.oid = up.type JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typbasetype = 0 ORDER BY up.attnum
"""
"""Where a table is, what it is, and the types of its columns; a domain has the type it is based on."""

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1", "/var/run/postgresql", "/run/postgresql", "/tmp")
"""Names of this machine and the usual folders of its sockets: one of them is meant if no host is said."""


class _Found(NamedTuple):
    """The full name of a table, and the types of its columns."""

    place: str
    types: dict[str, str]


class PostgresTable(Table):
    """A table or view of a PostgreSQL server."""

    dialect = POSTGRES
    hint = "An expression of a view may fail on some row: the server's log says more."

    def __init__(self, url: str, name: str) -> None:
        super().__init__(name)
        self._driver = _driver()
        self._where, _, relation = url.partition("#")
        self._names = relation_names(relation)
        self.relation = ".".join(map(POSTGRES.quoted, self._names))
        settings = self._settings(self._where)
        self._database, self._servers = _database(settings), _servers(settings)
        host, database = settings.get("host") or "local", settings.get("dbname") or ""
        if "@" in f"{host}{database}":  # a password with an unescaped character
            raise InvalidAddress("table", f"Give {_PLACE}.")
        self._shown = f"postgresql://{host}/{database}#{relation}"
        patience = settings.get("connect_timeout") or os.environ.get("PGCONNECT_TIMEOUT") or "10"
        self._options = {**_ALIVE, **settings, "connect_timeout": patience}
        self._options |= {"application_name": "lapwing", "client_encoding": "UTF8"}
        self._closed: set[str] = set()

    def _settings(self, where: str) -> dict[str, Any]:
        """Return the settings in a URL without its table."""
        try:
            return dict(self._driver.conninfo.conninfo_to_dict(where))
        except (self._driver.Error, ValueError):
            pass
        raise InvalidAddress("table", f"Give {_PLACE}.")  # outside the handler: the error may contain the password

    def __repr__(self) -> str:
        return f"Table({self._shown!r})"

    def public(self) -> str:
        """Return the URL without a password, to be stored."""
        server, mark, parameters = re.sub(r"^(\w+://[^:@/]*):[^@/]*@", r"\1@", self._where).partition("?")
        kept = "&".join(each for each in parameters.split("&") if unquote(each.partition("=")[0]) in _HARMLESS)
        url = server + mark * bool(kept) + kept
        harmless = {key: value for key, value in self._settings(self._where).items() if key in _HARMLESS}
        if self._settings(url) != harmless:
            raise InvalidAddress("table", f"Give {_PLACE}.")
        return f"{url}#{self._shown.partition('#')[2]}"

    def fields(self) -> list[Field]:
        found = self.guarded("could not be opened", "Nothing was charged.", self._described)
        return list(starmap(Field, found.items()))

    def lacking(self, column: str, names: Sequence[object]) -> tuple[str, str]:
        if column in self._closed:
            advice = f"GRANT SELECT ({POSTGRES.quoted(column)}) ON {self.relation} to it."
            return f'declares the column "{column}", which this user may not read', advice
        return super().lacking(column, names)

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse, before anything is charged, also what PostgreSQL itself would refuse before reading."""
        super().check(schema, columns)

        def try_it() -> None:
            with self.opened(schema, columns, {}, None) as session:
                session.try_it()

        self.guarded("could not be opened", "Nothing was charged.", try_it)

    def reads(self, type_name: str, kind: Kind) -> bool:
        return type_name in _CELLS[kind]

    def tells_apart(self, type_name: str) -> bool:
        return type_name in _PEOPLE

    def joins_with(self, other: Table) -> bool:
        """Return whether the other table is in the same database, read by the same user."""
        return isinstance(other, PostgresTable) and other._options == self._options

    def shares_rows_with(self, other: Table) -> bool:
        """Return whether both name one table, whoever reads it; a view of a table is not seen."""
        if not isinstance(other, PostgresTable) or not same_relation(self._names, other._names):
            return False
        return self._database == other._database and not self._servers.isdisjoint(other._servers)

    @contextmanager
    def _connected(self, joined: Sequence[PostgresTable] = ()) -> Iterator[tuple[Any, list[_Found]]]:
        """Yield a connection in its transaction, and of each table its full name and the types that may be read."""
        with quiet(logging.getLogger("psycopg")), self._driver.connect(**self._options) as connection:
            encoding = connection.info.parameter_status("server_encoding")
            if encoding != "UTF8":
                raise Problem(f"could not be opened: its database has the encoding {encoding}, and UTF8 is needed")
            connection.isolation_level = self._driver.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            tables = [(table, table._number(connection)) for table in (self, *joined)]
            connection.execute(_SETTINGS)
            yield connection, [_Found(_place(connection, at), each._types(connection, at)) for each, at in tables]

    def _number(self, connection: Any) -> int:
        """Return the number by which the server knows the table."""
        number: int | None = None
        with suppress(self._driver.errors.InsufficientPrivilege):  # on the schema
            (number,) = connection.execute(_FIND, [self.relation]).fetchone()
        if number is None:
            raise Problem(
                f"could not be opened: there is no table {self.relation}, or its schema is closed to this user",
                "Names are case-sensitive, and taken as they are written.",
            )
        return number

    def _described(self) -> dict[str, str]:
        with self._connected() as (_, (found,)):
            return found.types

    def _types(self, connection: Any, number: int) -> dict[str, str]:
        """Return the types of the columns that this user may read, and remember the names of the others."""
        rows = connection.execute(_COLUMNS, {"relation": number}).fetchall()
        self._closed = {name for name, _, allowed in rows if not allowed}
        return {name: kind for name, kind, allowed in rows if allowed}

    @contextmanager
    def opened(
        self,
        schema: Schema,
        columns: Sequence[str],
        keys: Mapping[str, str],
        progress: Progress | None,
        given: bool = False,
    ) -> Iterator[_Session]:
        people = people_read(schema, columns)
        with self._connected([cast(PostgresTable, self.joined[number]) for number, *_ in people]) as (
            connection,
            found,
        ):
            linked, own = bool(people), own_columns(schema, columns)
            read = [f"source AS ({_select(found[0], schema, own, given, linked)})"]
            for (number, other, names), there in zip(people, found[1:], strict=True):
                read.append(f"{join_name(number)} AS ({_select(there, other, names, given, linked)})")
            steps = [each.replace("%", "%%") for each in read]
            values: dict[str, Any] = {}
            for number, each, names in look_ups_read(schema, columns):
                steps.append(_look_up(join_name(number), schema, each, names, values))
            for table, column in keys.items():
                steps.append(_keys(table, schema.columns[column], values))
            yield _Session(self._driver, connection, steps, values, progress)

    def advice(self, error: BaseException) -> str:
        errors = self._driver.errors
        for kinds, hint in (
            ((errors.InsufficientPrivilege,), "The user may not read it: see how-to/postgres.md for what to grant."),
            ((errors.QueryCanceled,), "It was cancelled, or took longer than the server's statement_timeout allows."),
            ((errors.LockNotAvailable,), "Another session holds a lock on it: try again later."),
            (
                (errors.DiskFull, errors.OutOfMemory, errors.ConfigurationLimitExceeded),
                "The server ran out of memory, or of space for temporary files.",
            ),
            ((errors.ReadOnlySqlTransaction,), "It calls a function that writes, in a read-only transaction."),
            (
                (errors.UndefinedTable, errors.UndefinedFunction, errors.UndefinedObject),
                "It calls a function that relies on search_path: ALTER FUNCTION ... SET search_path.",
            ),
            (
                (errors.OperationalError,),
                "The server cannot be reached, or ended the connection; check the URL, the user and the password.",
            ),
        ):
            if isinstance(error, kinds):
                return hint
        return super().advice(error)


def _select(found: _Found, schema: Schema, columns: Sequence[str], given: bool, linked: bool) -> str:
    """Return the query for typed cells of a table, and the person."""

    def cell(name: str, how: Mapping[str, str]) -> str:
        return how[found.types[name]].format(x=POSTGRES.quoted(name))

    kind = {name: _CELLS[schema.columns[name].kind] for name in columns}
    cells = [f"{cell(name, how)} AS {cell_name(name, POSTGRES)}" for name, how in kind.items()]
    if given:
        cells += [
            f"{_given(found.types[name], POSTGRES.quoted(name))} AS {given_name(name, POSTGRES)}" for name in columns
        ]
    cells += [] if schema.person is None else [f"{cell(schema.person, _LINKED if linked else _PEOPLE)} AS person"]
    return f"SELECT {', '.join(cells) or '1 AS one'} FROM {found.place}"


def _given(kind: str, cell: str) -> str:
    """Return whether a cell holds anything; NaN is missing."""
    number = f" AND {cell} <> 'NaN'" if kind in ("float4", "float8", "numeric") else ""
    return f"({cell} IS NOT NULL{number})"


def _place(connection: Any, number: int) -> str:
    """Return the full name of the table, once it is known that it can be read."""
    *names, table, full, usage, select = connection.execute(_RELATION, [number]).fetchone()
    place = ".".join(map(POSTGRES.quoted, names))
    for holds, why in (
        (table, "is not a table or view"),
        (usage, f"is closed to this user (GRANT USAGE ON SCHEMA {POSTGRES.quoted(names[0])})"),
        (select, "is closed to this user (GRANT SELECT)"),
        (full, "is a materialized view without data (REFRESH MATERIALIZED VIEW)"),
    ):
        if not holds:
            raise Problem(f"could not be opened: {place} {why}", "See docs/how-to/postgres.md.")
    return place


def _database(settings: Mapping[str, Any]) -> str:
    """Return the name of the database that settings mean, as libpq finds it."""
    said = settings.get("dbname") or os.environ.get("PGDATABASE")
    return str(said or settings.get("user") or os.environ.get("PGUSER") or "")


def _servers(settings: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return the hosts and ports that settings mean; this machine has one name, and a service stands for its host."""
    ports = str(settings.get("port") or os.environ.get("PGPORT") or "5432").split(",")
    found: set[tuple[str, str]] = set()
    for name in ("host", "hostaddr", "service"):
        said = settings.get(name) or os.environ.get(f"PG{name.upper()}")
        hosts = str(said).lower().split(",") if said else []
        found |= set(zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False))
    found = found or {("", port) for port in ports}
    return {("" if host in _THIS_MACHINE else host, port or "5432") for host, port in found}


def relation_names(relation: str) -> list[str]:
    """Return the names of a table, and of its schema if there are two, from what follows the # of a URL.

    Names are case-sensitive; a name in quotes may contain a dot.
    """
    text = unquote(relation)
    if not text:
        raise InvalidAddress("table", "Name the table after a #, as in postgresql://user@host/database#table.")
    parts = re.findall(r'"(?:[^"]|"")+"|[^".]+', text)
    if not 1 <= len(parts) <= 2 or ".".join(parts) != text or "\0" in text or re.search("[#@/:?]", relation):
        raise InvalidAddress("table", f"Give {_PLACE}.")
    return [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts]


def _driver() -> Any:
    """Return psycopg, which is needed only for PostgreSQL."""
    try:
        return import_module("psycopg")
    except ImportError:
        raise MissingLibrary("psycopg", "postgres") from None


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

    def cells(self, sql: str) -> list[tuple[Any, ...]]:
        return self._run(sql, list)

    def try_it(self) -> None:
        """Let the server plan how it would read the columns, and check what this user may do; no row is read."""
        self._connection.execute(f"EXPLAIN WITH {', '.join(self._steps)} SELECT * FROM source", self._values)

    def _run(self, sql: str, fetch: Callable[[Iterator[Any]], T]) -> T:
        """Run the query; its progress on the server is not known."""
        text = added(sql.replace("%", "%%"), self._steps)

        def work() -> T:
            with self._connection.cursor(binary=True) as cursor:
                return fetch(cursor.stream(text, self._values, size=_CHUNK if self._chunked else 1))

        def tell() -> None:
            if self._progress is not None:
                self._progress(0.0)

        def cancel() -> None:
            with suppress(Exception):  # it is tried again until the query has ended
                self._connection.cancel_safe(timeout=5)

        return interruptible(work, tell, cancel)


def _chunks(rows: Iterator[Any]) -> Iterator[list[Any]]:
    return iter(lambda: list(islice(rows, _CHUNK)), [])


def _keys(table: str, column: Column, values: dict[str, Any]) -> str:
    """Return the step that makes a table of public keys; add what it holds to the values.

    A key with a zero byte cannot occur in PostgreSQL.
    """
    listed = [(written(key), i) for i, key in enumerate(column.asked_keys)]
    listed = [(key, i) for key, i in listed if not (isinstance(key, str) and "\0" in key)]
    values[f"{table}_key"] = [float(key) if column.kind == "integer" else key for key, _ in listed]
    values[f"{table}_number"] = [i for _, i in listed]
    lists = f"CAST(%({table}_key)s AS {POSTGRES.types[column.kind]}[]), CAST(%({table}_number)s AS INTEGER[])"
    return f"{table} AS (SELECT key, number FROM unnest({lists}) AS listed (key, number))"


def _look_up(table: str, schema: Schema, each: Join, names: Sequence[str], values: dict[str, Any]) -> str:
    """Return the step that makes the table of a public look-up; add what it holds to the values."""
    content = each.content(schema)
    kinds = [schema.columns[name].kind for name in ((each.on or ("",))[0], *names)]
    titles = ["key", *(cell_name(name, POSTGRES) for name in names)]
    lists, cells = [], []
    for i, column in enumerate([content.keys, *(content.cells[name] for name in names)]):
        values[f"{table}_{i}"] = [written_cell(cell) for cell in column]
        lists.append(f"CAST(%({table}_{i})s AS TEXT[])")
        text = f'v{i} COLLATE "C"' if kinds[i] == "text" else f"CAST(v{i} AS {POSTGRES.types[kinds[i]]})"
        cells.append(f"{text} AS {titles[i]}".replace("%", "%%"))
    listed = ", ".join(f"v{i}" for i in range(len(lists)))
    return f"{table} AS (SELECT {', '.join(cells)} FROM unnest({', '.join(lists)}) AS listed ({listed}))"
