"""Tampering with a ledger is detected (claims L4 and L5): changes to its SQLite file by anyone who can write it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ...errors import LedgerError
from ...ledger.ledger import Ledger
from ..finding import Finding
from ..room import Room


def tampered(room: Room) -> Finding:
    """Every stored value is edited, and every entry removed, doubled and moved, one at a time, in the SQLite file."""
    kept = room.path("ledger")
    ledger = Ledger.open(kept, 3, "1e-6")
    ledger.add_analyst("ana", 2, note="until May")
    ledger.record(ledger.charge({"sql": "SELECT 1"}, "0.1", "1e-9"), {"n": 100})
    ledger.charge("a second one", "0.2", analyst="ana")
    ledger.set_total(2, note="board")
    size, raw = ledger.verify(), kept.read_bytes()
    missed: list[str] = []
    tried = 0
    for changes in edits(kept, size):
        with closing(sqlite3.connect(kept)) as connection:
            for statement, values in changes:
                connection.execute(statement, values)
            connection.commit()
        tried += 1
        by_opening = all("lapwing_answers" in statement for statement, _ in changes) or _refuses_to_open(kept)
        if verifies(ledger) or not by_opening:  # only verify checks the texts of answers
            missed.append(changes[0][0])
        kept.write_bytes(raw)
    whole = ledger.verify() == size
    return Finding(
        "L4: edits, removals, insertions and moves in the file are detected",
        not missed and whole and tried > 100,
        f"{tried - len(missed)} of {tried} changes were detected{'; missed: ' + missed[0] if missed else ''}.",
    )


Change = list[tuple[str, Sequence[Any]]]
"""Statements, with their values, that change a file."""


def edits(path: Path, size: int) -> Iterator[Change]:
    """Yield changes to a ledger of so many entries: every value edited, every entry removed, moved and doubled."""
    with closing(sqlite3.connect(path)) as connection:
        for table in ("lapwing_entries", "lapwing_answers", "lapwing_ledger"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for rowid, *values in connection.execute(f"SELECT rowid, * FROM {table}").fetchall():
                for column, value in zip(columns, values, strict=True):
                    other = value + 10**6 if isinstance(value, int) else f"{value}0"
                    yield [(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", [other, rowid])]
                yield [(f"DELETE FROM {table} WHERE rowid = ?", [rowid])]
    move, numbered = "UPDATE lapwing_entries SET number = ? WHERE number = ?", range(1, size + 1)
    for i in numbered:
        yield [("DELETE FROM lapwing_entries WHERE number >= ?", [i])]
        yield [(move, [-1, i]), (move, [i, i % size + 1]), (move, [i % size + 1, -1])]
        yield [
            ("CREATE TABLE extra AS SELECT * FROM lapwing_entries WHERE number = ?", [i]),
            ("UPDATE extra SET number = ?, key = NULL, charge = NULL", [size + 1]),
            ("INSERT INTO lapwing_entries SELECT * FROM extra", []),
            ("DROP TABLE extra", []),
        ]
    yield [("INSERT INTO lapwing_answers VALUES (77, '1')", [])]


def rolled_back(room: Room) -> Finding:
    """An older copy, and a ledger whose end was cut off with its head, look sound: a head kept elsewhere shows it."""
    path, old = room.path("ledger"), room.path("ledger")
    ledger = Ledger.open(path, 1)
    ledger.charge("a", "0.5")
    first = ledger.head
    shutil.copy(path, old)
    ledger.charge("b", "0.5")
    last = ledger.head
    sound = verifies(ledger, first) and verifies(ledger, last)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM lapwing_entries WHERE number = 3")
        connection.execute("UPDATE lapwing_ledger SET number = 2, hash = ?", [first])
        connection.commit()
    found = [not verifies(Ledger.open(path), last)]
    shutil.copy(old, path)
    ledger = Ledger.open(path)  # one that remembers nothing
    found.append(not verifies(ledger, last))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TRIGGER t BEFORE INSERT ON lapwing_entries BEGIN SELECT RAISE(IGNORE); END")
        connection.commit()
    try:
        ledger.charge("c", "0.1")
        found.append(False)
    except LedgerError:
        found.append(True)
    return Finding(
        "L4: a ledger that was rolled back, or does not keep what is written, is detected",
        sound and all(found),
        f"{sum(found)} of {len(found)} were detected, and the sound one was {'' if sound else 'not '}sound.",
    )


def exchanged(room: Room) -> Finding:
    """An older copy, unchanged or with entries of its own, and another ledger replace one that is open and spent."""
    path, other, branch = (room.path("ledger") for _ in range(3))
    ledger = Ledger.open(path, 1)
    first = ledger.charge("a", "0.5")
    older = path.read_bytes()
    ledger.charge("b", "0.5")
    newer = path.read_bytes()
    Ledger.open(other, 1).charge("another", "0.1")
    branch.write_bytes(older)
    for i in range(3):
        Ledger.open(branch).charge(["later", i], "0.1")
    calls: tuple[Callable[[], Any], ...] = (
        lambda: ledger.charge("c", "0.1"), lambda: ledger.charge("a", "0.5"), lambda: ledger.record(first, 1),
        lambda: ledger.remaining, lambda: ledger.find("a", "0.5"), lambda: ledger.entries(),
        lambda: ledger.set_total(2), lambda: ledger.verify(),
    )  # fmt: skip
    refused, left_alone, goes_on = 0, 0, 0
    for raw in (older, branch.read_bytes(), other.read_bytes()):
        path.write_bytes(raw)
        refused += sum(map(_refuses, calls))
        left_alone += path.read_bytes() == raw
        path.write_bytes(newer)
        goes_on += verifies(ledger) and ledger.spent == 1
    return Finding(
        "L5: an open ledger refuses an older copy, or another ledger, in its place",
        refused == 3 * len(calls) and left_alone == goes_on == 3,
        f"{refused} of {3 * len(calls)} calls were refused, {left_alone} of 3 files stayed unchanged, and with the "
        f"newest one back the ledger went on {goes_on} of 3 times.",
    )


def verifies(ledger: Ledger, head: str | None = None) -> bool:
    """Return whether a ledger is sound."""
    try:
        ledger.verify(head)
    except LedgerError:
        return False
    return True


def _refuses_to_open(path: Path) -> bool:
    return _refuses(lambda: Ledger.open(path))


def _refuses(call: Callable[[], Any]) -> bool:
    try:
        call()
    except LedgerError:
        return True
    return False
