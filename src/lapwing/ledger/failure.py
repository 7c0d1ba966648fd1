"""What a failure of the ledger's database means, by its type: SQLite's code, the server's SQLSTATE, the errno.

Error messages are not parsed, since they differ by version and language; they go only to the operator's log.
"""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from ..errors import LedgerError
from . import store

_log = logging.getLogger("lapwing.ledger")
_log.addHandler(logging.NullHandler())  # silent unless the operator sets up logging

_FAILURES = (SQLAlchemyError, sqlite3.Error, UnicodeError, OSError, OverflowError)
"""The errors that a database, a file system or a damaged ledger can raise."""

Meaning = tuple[str, str]
"""What is wrong with the ledger, and what to do."""

_AGAIN = "Try again: what was charged stays charged, and nothing is charged twice."
_RESTORE = "Restore it from a copy, and compare heads."

_BUSY = "is busy: another process holds it", _AGAIN
_FULL = "cannot be written: the disk is full", f"Free some space. {_AGAIN}"
_DISK = "cannot be written: the disk refuses", f"Free some space, or check the disk. {_AGAIN}"
_READ_ONLY = "cannot be written: it is read-only", "Make it writable, or ask its owner."
_FORBIDDEN = "cannot be used: permission denied", "Ask its owner."
_CLOSED = "cannot be opened", "Does its folder exist, and can you write to it?"
_BAD_PATH = "cannot be opened", "Give another path."
_GONE = "has gone", "Restore it; a new one would start at zero."
_OTHER_FILE = "is not a ledger but some other file", "Give another path."
_MALFORMED = "is damaged: the file is malformed", _RESTORE
_NO_TABLES = "is damaged: its tables are gone", _RESTORE
_UNREACHABLE = "cannot be reached", f"Is the server running? {_AGAIN}"
_CROWDED = "cannot be used: the server has no memory or connection left", _AGAIN
_REFUSED = "cannot be used: the database refuses", f"Its message is in the log `lapwing.ledger`. {_AGAIN}"

_BY_SQLITE_CODE = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_PROTOCOL: _BUSY,  # the locks could not be acquired, after many attempts
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: _DISK,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _FORBIDDEN,
    sqlite3.SQLITE_AUTH: _FORBIDDEN,
    sqlite3.SQLITE_CANTOPEN: _CLOSED,
    sqlite3.SQLITE_NOTADB: _OTHER_FILE,
    sqlite3.SQLITE_CORRUPT: _MALFORMED,
}

_BY_SQLSTATE = {
    "08": _UNREACHABLE,
    "25006": _READ_ONLY,
    "40": _BUSY,  # rolled back in favor of another transaction
    "42501": _FORBIDDEN,
    "42P01": _NO_TABLES,
    "53": _CROWDED,
    "53100": _FULL,
    "55P03": _BUSY,
    "57": _UNREACHABLE,  # it is shutting down or starting
    "57014": _BUSY,  # the server's limit on the time of a statement
    "58": _DISK,
    "XX001": _MALFORMED,
    "XX002": _MALFORMED,
}
"""By the whole SQLSTATE, or else by its class, the first two characters."""

_BY_ERRNO = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EIO: _DISK,
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ENOENT: _GONE,
    errno.ENAMETOOLONG: _BAD_PATH,
    errno.ELOOP: _BAD_PATH,
    errno.ENOTDIR: _BAD_PATH,
}


@contextmanager
def plainly(where: str, engine: sa.Engine) -> Iterator[None]:
    """Raise what failed in our own words; the message of the database or the system goes only to the operator's log."""
    try:
        yield
    except _FAILURES as error:
        _log.error("ledger %s: %s", where, error)
        raise LedgerError(where, *meaning(error, engine)) from None


@contextmanager
def transaction(where: str, engine: sa.Engine, *, write: bool) -> Iterator[sa.Connection]:
    """Run a block in one transaction, and translate its failures."""
    with plainly(where, engine), store.open_connection(engine, write=write) as connection, connection.begin():
        yield connection


def meaning(error: Exception, engine: sa.Engine) -> Meaning:
    """Return what a failure means."""
    cause = getattr(error, "orig", None) or error  # the driver's own error, without SQLAlchemy's wrapper
    if isinstance(cause, OSError):
        return _BY_ERRNO.get(cause.errno or 0, _REFUSED)
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # the primary code; the rest is a more detailed reason
        if code == sqlite3.SQLITE_ERROR and _lacks_tables(engine):
            return _NO_TABLES
        return _BY_SQLITE_CODE.get(code, _REFUSED)
    state = getattr(cause, "sqlstate", None)
    if state is None:  # no server answered
        return _UNREACHABLE if isinstance(error, OperationalError) else _REFUSED
    return _BY_SQLSTATE.get(state) or _BY_SQLSTATE.get(state[:2], _REFUSED)


def _lacks_tables(engine: sa.Engine) -> bool:
    """Return whether a table of the ledger is gone: SQLite has no separate code for that."""
    with suppress(*_FAILURES), store.open_connection(engine, write=False) as connection, connection.begin():
        return not set(store.metadata.tables) <= store.tables(connection)
    return False
