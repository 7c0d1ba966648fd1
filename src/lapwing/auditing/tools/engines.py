"""The available engines: DuckDB always, and those that the user names, which get temporary tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from ...engine.spark import remote
from ...errors import InvalidAddress
from ...optional import library
from ..room import Engine, Table, Types


@contextmanager
def engines(named: Sequence[str]) -> Iterator[tuple[Engine, ...]]:
    """Yield DuckDB and the engines that URLs name: postgresql://user@host/database, spark (a local one), sc://host."""
    with ExitStack() as stack:
        found = [Engine()]
        for url in named:
            if url.startswith(("postgresql://", "postgres://")):
                found.append(stack.enter_context(_postgres(url)))
            elif url == "spark" or url.startswith("sc://"):
                found.append(stack.enter_context(_spark(url)))
            else:
                raise InvalidAddress("engine", "Give spark, or a URL postgresql://user@host/database or sc://host.")
        yield tuple(found)


@contextmanager
def _postgres(url: str) -> Iterator[Engine]:
    """Yield PostgreSQL, with a schema of our own that is dropped afterwards."""
    psycopg = library("psycopg")
    schema, numbers = f"lapwing_audit_{uuid4().hex[:12]}", count()

    def place(path: str, table: Table, types: Types) -> str:
        name = f"{schema}.t{next(numbers)}"
        columns = ", ".join(f"{column} {types[column].replace('DOUBLE', 'DOUBLE PRECISION')}" for column in table)
        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {name} ({columns})")
            with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in zip(*table.values(), strict=True):
                    copy.write_row(row)
        return f"{url}#{name}"

    schemas = [schema]

    def ledger() -> str:
        schemas.append(f"{schema}_{len(schemas)}")
        connection.execute(f"CREATE SCHEMA {schemas[-1]}")
        given = sa.make_url(url)
        options = f"{given.query.get('options', '')} -csearch_path={schemas[-1]}".strip()
        return given.update_query_dict({"options": options}).render_as_string(hide_password=False)

    with _reached(psycopg.Error, lambda: psycopg.connect(url, autocommit=True, connect_timeout=10)) as connection:
        _reached(psycopg.Error, lambda: connection.execute(f"CREATE SCHEMA {schema}"))
        try:
            version = connection.info.parameter_status("server_version")
            yield Engine(f"PostgreSQL {version}", place, ledger)
        finally:
            for each in schemas:
                connection.execute(f"DROP SCHEMA {each} CASCADE")


def _reached(error: type[Exception], work: Callable[[], Any]) -> Any:
    """Return what ``work`` returns; refuse a server that fails, without its message, which may hold secrets."""
    with suppress(error), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a client that could not connect
        return work()
    allowed = "a server that can be reached, and one of PostgreSQL on which you may create a schema"
    raise InvalidAddress("engine", f"Give {allowed}.")


@contextmanager
def _spark(url: str) -> Iterator[Engine]:
    """Yield Spark: the existing session, or a new one, which is stopped afterwards."""
    sessions = library("pyspark.sql").SparkSession
    with ExitStack() as stack:
        session = sessions.getActiveSession()
        if url != "spark":
            session = stack.enter_context(remote(url))
        elif session is None:
            quiet = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}
            session = sessions.builder.master("local[2]").config(map=quiet).getOrCreate()
            stack.callback(session.stop)
        version = _reached(Exception, lambda: session.version)
        yield Engine(f"Spark {version}", lambda path, table, types: _frame(session, table, types))


def _frame(session: Any, table: Table, types: Types) -> Any:
    """Return a data frame of these rows; its values go with it, so that a server elsewhere has them too."""
    named = ", ".join(f"{column} {types[column].replace('VARCHAR', 'STRING')}" for column in table)
    return session.createDataFrame(list(zip(*table.values(), strict=True)), named)
