"""Where a ledger is kept: its three tables, in an SQLite file or a PostgreSQL database, through one code path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DisconnectionError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from .errors import InvalidParameter, NoLedger

VERSION = 1
"""The version of the format; an unknown one is refused."""

metadata = sa.MetaData()
_whole = sa.BigInteger().with_variant(sa.Integer, "sqlite")

head = sa.Table(
    "lapwing_ledger",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", _whole, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)
entries = sa.Table(
    "lapwing_entries",
    metadata,
    sa.Column("number", _whole, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("analyst", sa.Text),
    sa.Column("question", sa.Text),
    sa.Column("key", sa.Text, unique=True),
    sa.Column("epsilon", _whole),
    sa.Column("delta", _whole),
    sa.Column("charge", _whole, unique=True),
    sa.Column("answer", sa.Text),
    sa.Column("note", sa.Text),
    sa.Column("total", _whole, nullable=False),
    sa.Column("total_delta", _whole, nullable=False),
    sa.Column("spent", _whole, nullable=False),
    sa.Column("spent_delta", _whole, nullable=False),
    sa.Column("cap", _whole),
    sa.Column("cap_spent", _whole),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Index("lapwing_entries_analyst", "analyst", "number"),
)
answers = sa.Table(
    "lapwing_answers",
    metadata,
    sa.Column("number", _whole, primary_key=True, autoincrement=False),
    sa.Column("text", sa.Text, nullable=False),
)

Row = dict[str, Any]
_inherited: list[Any] = []

HEAD = sa.select(head)
LOCKED_HEAD = HEAD.with_for_update()  # SQLite has locked the whole file already
ALL = sa.select(entries).order_by(entries.c.number)
LAST = sa.select(entries).order_by(entries.c.number.desc()).limit(1)
BY_NUMBER = sa.select(entries).where(entries.c.number == sa.bindparam("number"))
BY_KEY = sa.select(entries).where(entries.c.key == sa.bindparam("key"))
BY_CHARGE = sa.select(entries).where(entries.c.charge == sa.bindparam("charge"))
OF_ANALYST = LAST.where(entries.c.analyst == sa.bindparam("analyst"))
ANALYSTS = sa.select(entries.c.analyst).where(entries.c.kind == "analyst").distinct()
TEXT = sa.select(answers.c.text).where(answers.c.number == sa.bindparam("number"))
ADD_HEAD = sa.insert(head)
ADD_ENTRY = sa.insert(entries)
ADD_ANSWER = sa.insert(answers)
MOVE_HEAD = sa.update(head).values(number=sa.bindparam("to_number"), hash=sa.bindparam("to_hash"))


def open_connection(engine: sa.Engine, *, write: bool) -> sa.Connection:
    """Return a connection whose transaction sees one state of the ledger, and locks it when it is to write."""
    if write or engine.dialect.name == "sqlite":
        return engine.connect().execution_options(lapwing_write=write)
    return engine.connect().execution_options(isolation_level="REPEATABLE READ")


def rows(connection: sa.Connection, query: sa.Select[Any], **parameters: Any) -> list[Row]:
    """Return what a query finds, as dictionaries."""
    return [dict(row._mapping) for row in connection.execute(query, parameters)]


def connect(where: str, wait: float, *, create: bool) -> tuple[sa.Engine, str]:
    """Return an engine for a path or URL, and the text by which messages speak of it (no password)."""
    if where.startswith(("postgresql:", "postgres:")):
        return _connect_postgresql(where, wait)
    if "://" in where:
        raise InvalidParameter(where.split(":")[0], "ledger", "the path of a file or a postgresql:// URL")
    path = Path(where).expanduser()
    if not path.exists() and not create:
        raise NoLedger(where)
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        poolclass=QueuePool,  # a connection that is closed as the last one costs a checkpoint
        max_overflow=-1,
        hide_parameters=True,
        connect_args={"timeout": wait, "isolation_level": None, "check_same_thread": False},
    )

    made = path.exists()

    @sa.event.listens_for(engine, "do_connect")
    def never_anew(*_: Any) -> None:
        """Refuse a file that has gone: SQLite would make an empty one in its place."""
        if made and not path.exists():
            raise FileNotFoundError(path)

    @sa.event.listens_for(engine, "connect")
    def durable(connection: Any, record: Any) -> None:
        nonlocal made
        made = True
        connection.execute("PRAGMA synchronous=FULL")
        if path.stat().st_size == 0:  # new: never change the mode of a file that may be somebody else's
            connection.execute("PRAGMA journal_mode=WAL")
        record.info["lapwing"] = _identity(path)

    @sa.event.listens_for(engine, "checkout")
    def current(connection: Any, record: Any, proxy: Any) -> None:
        """Drop a connection whose file was replaced by another of its name, or that came through a fork."""
        if record.info["lapwing"] != _identity(path):
            if record.info["lapwing"][0] != os.getpid():
                _inherited.append(connection)  # a parent's connection must be neither used nor closed here
                record.dbapi_connection = proxy.dbapi_connection = None
            raise DisconnectionError

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        write = connection.get_execution_options().get("lapwing_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine, where


def _identity(path: Path) -> tuple[int, int, int]:
    """Return what tells a process and a file from all others."""
    found = path.stat()
    return os.getpid(), found.st_dev, found.st_ino


def _connect_postgresql(where: str, wait: float) -> tuple[sa.Engine, str]:
    try:
        url = sa.make_url(where).set(drivername="postgresql+psycopg")
        milliseconds = max(int(wait * 1000), 1)
        engine = sa.create_engine(
            url, poolclass=NullPool, hide_parameters=True, connect_args={"connect_timeout": max(int(wait), 2)}
        )
    except (SQLAlchemyError, ValueError):
        raise InvalidParameter("this URL", "ledger", "the path of a file or a postgresql:// URL") from None
    except (NoSuchModuleError, ImportError):
        raise InvalidParameter("postgresql", "ledger", "readable after `pip install 'lapwing[postgres]'`") from None

    @sa.event.listens_for(engine, "connect")
    def durable(connection: Any, _: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit = on")
            cursor.execute(f"SET lock_timeout = {milliseconds}")
        connection.commit()

    return engine, url.set(drivername="postgresql").render_as_string(hide_password=True)


AGAIN = "Try again: what was charged stays charged, and nothing is charged twice."


def plain(error: Exception) -> tuple[str, str]:
    """Return what went wrong and what to do, in our words, from the kind of the database's error."""
    text = str(getattr(error, "orig", error)).lower()
    for mark, meaning, advice in (
        ("locked", "is busy: another process holds it", AGAIN),
        ("lock timeout", "is busy: another process holds it", AGAIN),
        ("full", "cannot be written: the disk is full", f"Make room. {AGAIN}"),
        ("disk i/o", "cannot be written: the disk refuses", f"Make room, or see to the disk. {AGAIN}"),
        ("readonly", "cannot be written: it is read-only", "Make it writable, or ask its owner."),
        ("read-only", "cannot be written: it is read-only", "Make it writable, or ask its owner."),
        ("permission", "cannot be used: permission denied", "Ask its owner."),
        ("unable to open", "cannot be opened", "Is its folder there, and may it be written?"),
        ("not a database", "is not a ledger but some other file", "Give another path."),
        ("malformed", "is damaged: the file is malformed", "Restore it from a copy, and compare heads."),
        ("connect", "cannot be reached", f"Is the server running? {AGAIN}"),
    ):
        if mark in text:
            return meaning, advice
    return "cannot be used: the database refuses", f"Its words are in the log `lapwing.ledger`. {AGAIN}"
