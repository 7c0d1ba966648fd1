"""Ledgers that do not wait for the disk, for checks that are about what is written, and not about what lasts."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator

from ..finding import Finding, all_right
from .injecting import wired

_BEGINS, _WRITES = re.compile(r"\s*BEGIN\b", re.IGNORECASE), re.compile(r"\s*(INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_LOCKS = re.compile(r"\s*BEGIN\s+(IMMEDIATE|EXCLUSIVE)\b", re.IGNORECASE)


class Locks:
    """Hears which statements write in a transaction that did not lock the ledger before it read."""

    def __init__(self) -> None:
        self.writes = 0
        self.faults: list[str] = []
        self._begun: dict[int, str] = {}

    def before(self, connection: sqlite3.Connection, statement: str) -> None:
        """Remember how a transaction begins, and judge a write."""
        if _BEGINS.match(statement):
            self._begun[id(connection)] = statement
        begun = self._begun.get(id(connection))
        if begun is not None and _WRITES.match(statement):
            self.writes += 1
            self.faults += [] if _LOCKS.match(begun) else [statement]

    def after(self, connection: sqlite3.Connection, statement: str) -> None:
        """Forget a transaction that has ended."""
        if statement in ("COMMIT", "ROLLBACK"):
            self._begun.pop(id(connection), None)


def unsynced(about: str, run: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield what a check finds while no ledger waits for the disk, and whether every write was locked first."""
    locks = Locks()
    with wired(locks):
        found = list(run())
    yield from found
    yield Finding(
        f"L1: a ledger is locked before it is read, whenever something is written: {about}",
        not locks.faults and locks.writes > 0,
        all_right(locks.faults, locks.writes),
    )
