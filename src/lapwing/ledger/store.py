"""Where a ledger is kept: its three tables, in an SQLite file or a PostgreSQL database, through one code path.

A file gets its name only once it is a complete ledger, and never the name of an existing file.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from errno import ENOENT
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from ..errors import InvalidAddress, InvalidParameter, LedgerError, MissingLibrary, MissingParameter

WAIT = 30
"""The default number of seconds to wait for other writers."""

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

_MAKING = 7667
"""The number of the advisory lock that is held while a ledger is created on a server."""

PLACE = "the path of a file or a postgresql:// URL"
_URL = re.compile(r"postgres(ql)?(:|//)|.*(://|\bpassword\s*=)", re.IGNORECASE | re.DOTALL)
"""Probably a URL or connection settings: taken as a path, it would be shown, password included."""

ALLOWED = {"host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "options", "application_name"}
"""The parameters of a URL that do not affect the ledger's guarantees."""

HEAD = sa.select(head)
LOCKED_HEAD = HEAD.with_for_update()  # SQLite has locked the whole file already
ALL = sa.select(entries).order_by(entries.c.number)
LAST = sa.select(entries).order_by(entries.c.number.desc()).limit(1)
BY_NUMBER = sa.select(entries).where(entries.c.number == sa.bindparam("number"))
BY_HASH = sa.select(entries).where(entries.c.hash == sa.bindparam("hash"))
BY_KEY, BY_KEY_SCANNED = (
    sa.select(entries).where(key == sa.bindparam("key")) for key in (entries.c.key, entries.c.key.concat(""))
)
BY_CHARGE = sa.select(entries).where(entries.c.charge == sa.bindparam("charge"))
LATER = ALL.where(entries.c.number > sa.bindparam("number"))
OF_ANALYST = LAST.where(entries.c.analyst.concat("") == sa.bindparam("analyst"))  # from the end, without the index
REQUESTS = ALL.where(entries.c.kind.in_(("request", "grant", "decline", "withdraw")))
ANALYSTS = sa.select(entries.c.analyst.concat("")).where(entries.c.kind == "analyst").distinct()  # likewise
TEXT = sa.select(answers.c.text).where(answers.c.number == sa.bindparam("number"))
ADD_HEAD = sa.insert(head)
ADD_ENTRY = sa.insert(entries)
ADD_ANSWER = sa.insert(answers)
MOVE_HEAD = sa.update(head).values(number=sa.bindparam("to_number"), hash=sa.bindparam("to_hash"))


def open_connection(engine: sa.Engine, *, write: bool) -> sa.Connection:
    """Return a connection whose transaction sees one state of the ledger, and locks it if it will write."""
    if engine.dialect.name == "sqlite":
        return engine.connect().execution_options(lapwing_write=write)
    return engine.connect().execution_options(isolation_level="READ COMMITTED" if write else "REPEATABLE READ")


def tables(connection: sa.Connection) -> set[str]:
    """Return the names of the existing tables; on a server only a ledger's, in any schema that queries search."""
    if connection.dialect.name == "sqlite":
        return set(sa.inspect(connection).get_table_names())
    found = sa.text("SELECT to_regclass(CAST(:name AS text)) IS NOT NULL")
    return {name for name in metadata.tables if connection.scalar(found, {"name": name})}


def is_whole(connection: sa.Connection) -> bool:
    """Return whether the pages and indices of a file are intact; a server looks after its own."""
    if connection.dialect.name != "sqlite":
        return True
    return bool(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() == "ok")


_ACTING = sa.text(
    "SELECT (SELECT count(*) FROM pg_trigger WHERE tgrelid = ANY(ledger) AND NOT tgisinternal)"
    " + (SELECT count(*) FROM pg_rewrite WHERE ev_class = ANY(ledger)) FROM (SELECT ARRAY["
    f"{', '.join(f'to_regclass({name!r})' for name in metadata.tables)}]::oid[] AS ledger) AS tables"
)
"""How many triggers and rules the tables of a ledger on a server have."""


def acts_on_writing(connection: sa.Connection) -> bool:
    """Return whether there is a trigger or a rule, which could change or undo what a ledger writes."""
    if connection.dialect.name == "sqlite":
        return bool(connection.exec_driver_sql("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").scalar())
    return bool(connection.scalar(_ACTING))


def uses_second_file(connection: sa.Connection) -> bool:
    """Return whether a file was set to WAL mode: what is committed may then lie in another file (decision 5)."""
    if connection.dialect.name != "sqlite":
        return False
    return bool(connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal")


def lock_making(connection: sa.Connection, *, shared: bool) -> None:
    """On a server, wait until nobody creates a ledger, and let nobody begin; ``shared`` only to look."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock{'_shared' if shared else ''}({_MAKING})")


def rows(connection: sa.Connection, query: sa.Select[Any], **parameters: Any) -> list[Row]:
    """Return what a query finds, as dictionaries; no cursor stays open, which would keep the file locked."""
    return [dict(row) for row in connection.execute(query, parameters).mappings().all()]


def charge_of(connection: sa.Connection, key: str) -> list[Row]:
    """Return the charge of a question, if any: an index that lacks it, edited or damaged, does not hide it."""
    return rows(connection, BY_KEY, key=key) or rows(connection, BY_KEY_SCANNED, key=key)


@dataclass
class Turn:
    """One transaction: its connection, and the last entry in it."""

    connection: sa.Connection
    last: Row


@dataclass(frozen=True)
class Store:
    """A path or URL: its engine, its text in messages (no user, no password), and its file if any."""

    engine: sa.Engine
    where: str
    file: Path | None = None


def connect(where: object, wait: Fraction) -> Store:
    """Return what a path or URL names; nothing is opened or created."""
    try:
        text = os.fspath(where)  # type: ignore[call-overload]
    except TypeError:
        raise InvalidParameter(where, "ledger", PLACE) from None
    if not text:
        raise MissingParameter("ledger", f"Give {PLACE}.")
    if not isinstance(text, str) or "\0" in text:
        raise InvalidAddress("ledger", f"Give {PLACE}.")
    if text.startswith(("postgresql://", "postgres://")):
        return _connect_postgresql(text, wait)
    if _URL.match(text):
        raise InvalidAddress("ledger", f"Give {PLACE}.")
    try:
        path = Path(text).expanduser().absolute()
    except RuntimeError:
        raise LedgerError(text, "cannot be found: there is no such home folder", "Give another path.") from None
    return Store(_sqlite(path, wait, "rw"), text, path)


def _discreet(url: str | sa.URL, **options: Any) -> sa.Engine:
    """Return an engine that puts no value into a log or an error: no parameter of a statement, no row, no variable.

    A value may be an answer whose recording fails: seen in a log, it would be a second answer for one charge.
    """
    named = {"logging_name": "lapwing", "pool_logging_name": "lapwing"}
    engine = sa.create_engine(url, poolclass=NullPool, hide_parameters=True, **named, **options)
    for each in (engine, engine.pool):
        assert isinstance(each.logger, logging.Logger)  # since nothing is echoed
        each.logger.addFilter(_no_values)  # once: a filter that is there already is not added again
    return engine


def _no_values(record: logging.LogRecord) -> bool:
    """Leave out the rows that SQLAlchemy logs at DEBUG, and the tracebacks of errors: tools show their variables."""
    record.exc_info = record.exc_text = None
    return record.levelno > logging.DEBUG


def _sqlite(path: Path, wait: Fraction, mode: Literal["rw", "rwc"]) -> sa.Engine:
    """Return an engine for a file, which is created only by the mode "rwc".

    No connection outlives a call, and all that is committed is in the one file (decision 5).
    """

    def open_file() -> sqlite3.Connection:
        if mode == "rw" and not path.exists():
            raise FileNotFoundError(ENOENT, "no such file")
        uri = f"{path.as_uri()}?mode={mode}"
        return sqlite3.connect(uri, uri=True, timeout=float(wait), isolation_level=None, check_same_thread=False)

    engine = _discreet("sqlite://", creator=open_file)

    @sa.event.listens_for(engine, "connect")
    def durable(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA synchronous=EXTRA")
        connection.execute("PRAGMA fullfsync=ON")  # macOS: into the disk, not only to it

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        write = connection.get_execution_options().get("lapwing_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def may_be_there(kept: Store) -> bool:
    """Return whether a ledger may be at the place: always on a server; a file that cannot be one is refused."""
    if kept.file is None:
        return True
    try:
        found = kept.file.stat()
        for _ in range(5):  # without hard links, a ledger that is being put in place is empty for a moment
            if found.st_size:
                break
            time.sleep(0.1)
            found = kept.file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(kept.where, "is not a file", "Give the path of a file.")
    if not found.st_size:
        raise LedgerError(
            kept.where,
            "is an empty file, not a ledger",
            "If it was a ledger, restore it from a copy: a new one would start at zero. "
            "If it never was, remove it, and a new one can be made.",
        )
    return True


def put_new(file: Path, where: str, wait: Fraction, fill: Callable[[sa.Engine], None]) -> None:
    """Create a ledger in its own folder next to ``file``, and give it that name when it is complete.

    If something has the name by then, it keeps it: of two processes that do this at once, the second finds the first's.
    """
    target = file.resolve()  # a link to a file that is not there yet
    if not target.parent.is_dir():
        missing = f'cannot be made: there is no folder "{target.parent}"'
        raise LedgerError(where, missing, "Make the folder, or give another path.")
    journal = target.with_name(f"{target.name}-journal")
    if journal.exists() and not target.exists():  # if both exist now, another process was faster and writes to it
        # SQLite would use the journal for the new file, and undo what was never done to it
        raise LedgerError(
            where,
            f'has gone, but its journal "{journal}" is there',
            "Restore the ledger beside it. Remove the journal only if a new ledger may start at zero.",
        )
    with TemporaryDirectory(prefix=".lapwing-", dir=target.parent) as folder:
        made = Path(folder) / "new.ledger"
        fill(_sqlite(made, wait, "rwc"))
        with suppress(FileExistsError):
            _name(made, target)
    sync(target.parent)


def _name(made: Path, target: Path) -> None:
    """Give a file its name, which must be free."""
    try:
        os.link(made, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: an empty file holds the name until the complete one replaces it
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        try:
            made.replace(target)
        except OSError:
            target.unlink()
            raise


def sync(folder: Path) -> None:
    """Make the names in a folder durable; every commit to a ledger does the same for its own folder."""
    with suppress(PermissionError):  # a folder that may be written but not read; the first commit will sync it
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _connect_postgresql(where: str, wait: Fraction) -> Store:
    try:
        url = sa.make_url(where).set(drivername="postgresql+psycopg")
        if "@" in (url.host or "") or not set(url.query) <= ALLOWED:
            raise ValueError
    except (SQLAlchemyError, ValueError):
        allowed = f"{PLACE}, with @ in a password written as %40 and no parameters but {', '.join(sorted(ALLOWED))}"
        raise InvalidAddress("ledger", f"Give {allowed}.") from None
    milliseconds = max(int(wait * 1000), 1)
    limits = {"connect_timeout": max(int(wait), 2), "tcp_user_timeout": max(milliseconds, 2000)}
    try:
        engine = _discreet(url, connect_args=limits)
    except ImportError:
        raise MissingLibrary("psycopg", "postgres") from None

    @sa.event.listens_for(engine, "connect")
    def durable(connection: Any, _: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit = on")
            cursor.execute(f"SET lock_timeout = {milliseconds}")
        connection.commit()

    return Store(engine, f"postgresql://{url.host or 'local'}/{url.database or ''}")
