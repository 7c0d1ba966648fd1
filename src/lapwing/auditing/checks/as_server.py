"""A ledger that is made in a database that is there already, as on a server; SQLite stands in for the server.

A server has tables of others, and a ledger that is made there is not a file that gets its name in the end: what keeps
two processes apart is a lock, which is heard here.  A real server is tried where the audit is given one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ...errors import LapwingError, LedgerError, NoLedger
from ...ledger import store
from ...ledger.backup import back_up, restore
from ...ledger.ledger import Ledger
from ..finding import Finding, all_right
from ..room import Room
from ..tools import histories
from ..tools.bookkeeping import Book
from ..tools.paired import Paired
from ..tools.restoring import put_back

_WHERE = "postgresql://h/d"
_TABLES = {"lapwing_answers", "lapwing_entries", "lapwing_ledger"}


def as_server(room: Room) -> Iterator[Finding]:
    """Check how a ledger is made, found and put back in a database that is there already."""
    yield _made(room)
    yield _half(room)
    yield _put_back(room)


def _made(room: Room) -> Finding:
    """Only looking makes nothing, and waits for whoever makes one; making one keeps everyone else away, once."""
    wrong: list[str] = []
    path, locks = _database(room), list[str]()
    with _served(path, locks):
        wrong += _not_refused(NoLedger, "none is there", f'no ledger at "{_WHERE}"')
        wrong += [] if locks == ["shared"] and _tables(path) == {"visits"} else [f"looking: {locks}, {_tables(path)}"]
        locks.clear()
        made = Ledger.open(_WHERE, 2, "1e-6")
        wrong += [] if locks == ["shared", "alone", "shared"] else [f"making takes the locks {locks}"]
        wrong += [] if _tables(path) == {"visits", *_TABLES} else [f"making: {_tables(path)}"]
        kept, written = store.connect(_WHERE, Fraction(1)), list[str]()
        Ledger(kept)._create(Fraction(1), lambda connection: written.append("again"))
        wrong += ["another is written over it"] if written else []
        made.charge("a", 1)
        again = Ledger.open(_WHERE, 2, "1e-6")
        if (again.head, again.where, again.verify()) != (made.head, _WHERE, 2) or again.spent != 1:
            wrong.append(f"it is another one: {again.verify()} entries, {again.spent} is spent")
        wrong += _not_refused(LedgerError, "another total", "with the total ε = 3, but it has 2", 3)
    return Finding("L1: in a database with other tables, a ledger is made once, under a lock", not wrong,
                   all_right(wrong, 7))  # fmt: skip


def _half(room: Room) -> Finding:
    """What lacks a table, its head, or has another version is refused, and nothing is made in its place."""
    wrong: list[str] = []
    cases: list[tuple[Sequence[str], str]] = [
        ([f"DROP TABLE {each}"], f"is damaged: it has no table {each}") for each in sorted(_TABLES)
    ]
    cases += [
        ([f"DROP TABLE {each}" for each in sorted(_TABLES)[1:]], "is damaged: it has no table lapwing_entries"),
        (["DELETE FROM lapwing_ledger"], "is damaged: its head is missing"),
        (["UPDATE lapwing_ledger SET version = 2"], "has a format that this version of Lapwing does not know ([2])"),
        (["DELETE FROM lapwing_entries"], "is damaged: its head does not follow from its 0 entries"),
        (["INSERT INTO lapwing_ledger VALUES (2, 1, 'x')"], "has a format that this version of Lapwing does not know"),
    ]
    for statements, said in cases:
        path = _database(room)
        with _served(path, []):
            Ledger.open(_WHERE, 2)
            with closing(sqlite3.connect(path)) as connection:
                for statement in statements:
                    connection.execute(statement)
                connection.commit()
            before = path.read_bytes()
            for totals in ((), (2,)):
                wrong += _not_refused(LedgerError, statements[0], said, *totals)
            wrong += [] if path.read_bytes() == before else [f"{statements[0]}: something was written"]
    return Finding("L1: what is left of a ledger on a server is not taken for none", not wrong,
                   all_right(wrong, 2 * len(cases)))  # fmt: skip


def _put_back(room: Room) -> Finding:
    """A copy is put back where no table is, and in place of the ledger that is there."""
    wrong: list[str] = []
    paired = histories.new(room, Fraction(2))
    paired.call("charge", "open", Fraction(1, 2))
    back_up(paired.ledger, to := room.path("backup"))
    for there in (False, True):
        for head in (None, paired.book.lines[-1].hash):
            path = _database(room)
            with _served(path, []):
                here: Book | None = None
                if there:
                    restore(_WHERE, to, paired.book.lines[-1].hash)
                    Ledger.open(_WHERE).charge("later", "0.25")
                    here = put_back(paired.book, None, paired.book.lines[-1].hash).book
                    line = here.charge("later", Fraction(1, 4))
                    line.hash = Ledger.open(_WHERE).head
                due = put_back(paired.book, here, head)
                made = restore(_WHERE, to, head, write_off=True)
                for entry, line in zip(made.written_off, due.book.lines[-len(due.added) or None :], strict=False):
                    line.time, line.hash = entry.time, entry.hash
                after = Paired(Ledger.open(_WHERE), due.book)
                found = after.ledger.entries(), len(made.written_off), after.ledger.remaining
                wrong += [*after.said_in_all()]
                if found[1:] != (len(due.added), due.book.left()):
                    wrong.append(
                        f"there {there}, head {head}: {found[1:]}, and {len(due.added)}, {due.book.left()} is due"
                    )
                wrong += [] if "visits" in _tables(path) else ["a table of others is gone"]
    return Finding("L6: a copy is put back on a server, and what is lost is written off", not wrong,
                   all_right(wrong, 4))  # fmt: skip


# --- the stand-in ---


def _database(room: Room) -> Path:
    """Return a database with a table of others."""
    path = room.path("db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE visits (x)")
        connection.commit()
    return path


@contextmanager
def _served(path: Path, locks: list[str]) -> Iterator[None]:
    """Let an address of a server mean this file for a while; its advisory locks are heard."""
    connect = store.connect

    def served(where: object, wait: Fraction) -> store.Store:
        if where != _WHERE:
            return connect(where, wait)
        kept = connect(path, wait)

        @sa.event.listens_for(kept.engine, "connect")
        def hear(connection: Any, _: Any) -> None:
            connection.create_function("pg_advisory_xact_lock", 1, lambda number: locks.append("alone"))
            connection.create_function("pg_advisory_xact_lock_shared", 1, lambda number: locks.append("shared"))

        return store.Store(kept.engine, _WHERE)

    store.connect = served
    try:
        yield
    finally:
        store.connect = connect


def _tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _not_refused(kind: type[LapwingError], what: str, said: str, *totals: Any) -> Iterator[str]:
    """Yield how opening the ledger on the server is not refused by an error of this kind with these words."""
    try:
        Ledger.open(_WHERE, *totals)
    except kind as error:
        yield from [] if said in str(error) else [f"{what}: {error}"]
    except Exception as error:  # of made-up values, so its text reveals nothing
        yield f"{what}: fails with {type(error).__name__}: {error}"
    else:
        yield f"{what}: accepted"
