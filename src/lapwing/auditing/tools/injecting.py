"""Failures at chosen moments: at any step of Lapwing's own code, and at any statement of a ledger in an SQLite file.

A step is a call of one of Lapwing's functions, told apart by the functions that led to it.  ``counting`` lists them;
``failing_at`` raises an error when one of them is entered or returns, and ``acting_at`` does anything else then.
``wired`` lets a listener hear each statement that any SQLite connection runs, before and after it; what the listener
raises, the statement raises.
"""

from __future__ import annotations

import inspect
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Protocol

import sqlalchemy as sa

_OWN, _AUDIT = "lapwing.", "lapwing.auditing."
_PAUSES = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Functions that pause are no steps: an error raised as they go on would skip their own handlers; no real one does."""


@dataclass(frozen=True)
class Step:
    """The first call of one of Lapwing's functions by the others before it in the path, or its return."""

    path: tuple[str, ...]
    returns: bool

    @property
    def package(self) -> str:
        """The package of the function: ledger, release, engine and so on."""
        return self.path[-1].split(".")[1]

    def __str__(self) -> str:
        name = self.path[-1].removeprefix(_OWN)
        return f"{name}, as it {'returns' if self.returns else 'is entered'}"


class _Counted:
    """Counts steps, with ``only`` those of one function; ``at`` is called with each, and may raise."""

    def __init__(self, at: Callable[[Step], None], only: str | None = None) -> None:
        self._at = at
        self._only = only
        self._known: set[Step] = set()
        self._names: dict[CodeType, str | None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" and event != "return":  # every call of everything comes here
            return
        code = frame.f_code
        try:
            name = self._names[code]
        except KeyError:
            name = self._names[code] = _name(frame)
        if name is None or (self._only is not None and name != self._only):
            return
        step = Step(_path(frame), event == "return")
        if step not in self._known:
            self._known.add(step)
            self._at(step)


def _name(frame: FrameType) -> str | None:
    """Return the name of a function of Lapwing's that does not pause; None for others."""
    return None if frame.f_code.co_flags & _PAUSES or not _is_own(frame) else _full_name(frame)


def _full_name(frame: FrameType) -> str:
    return f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}"


def _is_own(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__"))
    return name.startswith(_OWN) and not name.startswith(_AUDIT)


def _path(frame: FrameType | None) -> tuple[str, ...]:
    found = []
    while frame is not None:
        if _is_own(frame):
            found.append(_full_name(frame))
        frame = frame.f_back
    return tuple(reversed(found))


@contextmanager
def watching(watch: Callable[[FrameType, str, Any], Any]) -> Iterator[None]:
    """Call ``watch`` with every call and return, in this thread and in those that begin meanwhile."""
    here, there = sys.getprofile(), threading.getprofile()
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(here)
        threading.setprofile(there)


@contextmanager
def counting() -> Iterator[list[Step]]:
    """Yield a list to which the steps are added as they happen."""
    found: list[Step] = []
    with watching(_Counted(found.append)):
        yield found


@contextmanager
def acting_at(step: Step, act: Callable[[], None]) -> Iterator[list[Step]]:
    """Do something at a step, once; the list that is yielded has the step in it when that has happened."""
    reached: list[Step] = []

    def at(now: Step) -> None:
        if now == step and not reached:
            reached.append(now)
            act()

    with watching(_Counted(at, step.path[-1])):
        yield reached


def failing_at(step: Step, error: BaseException) -> AbstractContextManager[list[Step]]:
    """Raise an error at a step, once, likewise."""

    def fail() -> None:
        raise error

    return acting_at(step, fail)


# --- statements ---


class Listener(Protocol):
    """Hears what a connection does: a statement, COMMIT or ROLLBACK."""

    def before(self, connection: Any, statement: str) -> None: ...

    def after(self, connection: Any, statement: str) -> None: ...


class Silent:
    """Hears everything, and does nothing."""

    def before(self, connection: Any, statement: str) -> None:
        """Do nothing."""

    def after(self, connection: Any, statement: str) -> None:
        """Do nothing."""


@contextmanager
def wired(listener: Listener, *, sync: bool = False) -> Iterator[None]:
    """Let a listener hear every statement of the SQLite connections that are opened meanwhile.

    Unless ``sync``, nothing waits for the disk, which none of these failures is about and most of the time would go to.
    """

    class Cursor(sqlite3.Cursor):
        def execute(self, statement: str, *values: Any) -> Any:
            return self._heard(super().execute, statement, *values)

        def executemany(self, statement: str, values: Any, /) -> Any:
            return self._heard(super().executemany, statement, values)

        def _heard(self, run: Callable[..., Any], statement: str, *values: Any) -> Any:
            listener.before(self.connection, statement)
            if not sync and not self.connection.in_transaction:
                sqlite3.Cursor(self.connection).execute("PRAGMA synchronous=OFF")
            done = run(statement, *values)
            listener.after(self.connection, statement)
            return done

    class Connection(sqlite3.Connection):
        def cursor(self, factory: Any = None) -> Any:
            return super().cursor(Cursor)

        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            return self.cursor().execute(statement, *values)  # type: ignore[no-any-return]

        def commit(self) -> None:
            listener.before(self, "COMMIT")
            super().commit()
            listener.after(self, "COMMIT")

        def rollback(self) -> None:
            listener.before(self, "ROLLBACK")
            super().rollback()
            listener.after(self, "ROLLBACK")

    connect = sqlite3.connect

    def wire(*given: Any, **more: Any) -> Any:
        return connect(*given, **{"factory": Connection, **more})

    sqlite3.connect = wire
    try:
        yield
    finally:
        sqlite3.connect = connect


@contextmanager
def heard_on_server(listener: Listener) -> Iterator[None]:
    """Let a listener hear every statement to PostgreSQL, and each commit before it happens."""

    def before(connection: sa.Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if connection.dialect.name == "postgresql":
            listener.before(connection, statement)

    def after(connection: sa.Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if connection.dialect.name == "postgresql":
            listener.after(connection, statement)

    def commit(connection: sa.Connection) -> None:
        before(connection, None, "COMMIT")

    heard: dict[str, Callable[..., Any]] = {
        "before_cursor_execute": before,
        "after_cursor_execute": after,
        "commit": commit,
    }
    for event, hear in heard.items():
        sa.event.listen(sa.Engine, event, hear)
    try:
        yield
    finally:
        for event, hear in heard.items():
            sa.event.remove(sa.Engine, event, hear)


def setting(connection: sqlite3.Connection, name: str) -> Any:
    """Return a setting of a connection, which no listener hears."""
    return sqlite3.Cursor(connection).execute(f"PRAGMA {name}").fetchone()[0]


FAULTS = {
    "disk I/O error": sqlite3.SQLITE_IOERR,
    "database is locked": sqlite3.SQLITE_BUSY,
    "database or disk is full": sqlite3.SQLITE_FULL,
}
"""What a statement may fail with, and SQLite's code of it."""


class Failing:
    """Raises an error before or after the statement of this number, or before it and all later ones; counts them."""

    def __init__(self, number: int = 0, *, after: bool = False, ever: bool = False, fault: str = "disk I/O error"):
        self._number, self._after, self._ever, self._fault = number, after, ever, fault
        self.heard: list[str] = []

    def before(self, connection: Any, statement: str) -> None:
        self.heard.append(statement)
        due = len(self.heard) == self._number or (self._ever and 0 < self._number <= len(self.heard))
        if due and not self._after:
            raise self._error()

    def after(self, connection: Any, statement: str) -> None:
        if self._after and len(self.heard) == self._number:
            self._after = False  # once: a rollback counts as a statement of its own
            raise self._error()

    def _error(self) -> sqlite3.OperationalError:
        error = sqlite3.OperationalError(self._fault)
        error.sqlite_errorcode = FAULTS[self._fault]
        return error
