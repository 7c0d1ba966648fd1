"""What a ledger has set when it commits: claims L1 and L3 need these settings, and no kill shows that one lacks.

Every commit of an opening, a charge, an answer and an owner's entry is heard, and the settings of its connection are
read at that moment.  A loss of power cannot be tried: what SQLite and PostgreSQL promise for these settings is trusted.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator

from ...ledger.ledger import Ledger
from ...noise.entropy import EntropyForTests
from ...question.query import count
from ..finding import Finding
from ..room import Room
from ..tools.injecting import setting, wired
from ..tools.pipelines import ANALYST, canaries, source_of

_WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER)\b", re.IGNORECASE)
_LOCKS = re.compile(r"\s*BEGIN\s+(IMMEDIATE|EXCLUSIVE)\b", re.IGNORECASE)
_BEGINS = re.compile(r"\s*(BEGIN|SAVEPOINT)\b", re.IGNORECASE)
_NEEDED = {"delete": 3, "truncate": 2, "persist": 2, "wal": 2}
"""The lowest ``synchronous`` with which a commit survives a loss of power, in the journal modes in which one does."""

_AS_DUE = {"fullfsync": 1, "writable_schema": 0, "ignore_check_constraints": 0, "read_uncommitted": 0, "query_only": 0}


def durable(room: Room) -> Iterator[Finding]:
    """Check the settings of an SQLite ledger."""
    path = room.path("ledger")
    heard = _Settings()
    with wired(heard, sync=True):
        every_entry(lambda: Ledger.open(path, 10, "1e-6"))
        source = source_of(room, canaries(room))
        source.release(count(), epsilon=1, analyst=ANALYST, entropy=EntropyForTests(1))
    yield Finding(
        "L3: every commit of a ledger is synced to the disk, in a transaction that locked it first",
        not heard.faults and heard.commits >= len(KINDS) + 4,
        f"{len(heard.faults)} faults in {heard.commits} commits that write, 0 are allowed"
        f"{': ' + heard.faults[0] if heard.faults else ''}.",
    )


KINDS = ("open", "analyst", "charge", "answer", "analyst", "total")


def every_entry(opened: Callable[[], Ledger]) -> None:
    """Make an entry of every kind."""
    ledger = opened()
    ledger.add_analyst("ana", 2)
    ledger.record(ledger.charge("q", 1, "1e-7", "ana"), [1])
    ledger.set_cap("ana", 3)
    ledger.set_total(11)
    kinds = tuple(entry.kind for entry in ledger.entries())
    if kinds != KINDS:
        raise RuntimeError(f"the ledger has the entries {kinds}")


class _Settings:
    """Hears the statements of SQLite connections, and reads settings before each commit of something written."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.commits = 0
        self._since: dict[int, list[str]] = {}

    def before(self, connection: sqlite3.Connection, statement: str) -> None:
        """Judge a write outside a transaction, and a commit."""
        since = self._since.setdefault(id(connection), [])
        if _BEGINS.match(statement) or not connection.in_transaction:
            since.clear()
        if _WRITES.match(statement) and not connection.in_transaction:
            self.faults.append(f"{statement.split()[0]} outside a transaction")
        if statement == "COMMIT" and any(map(_WRITES.match, since)):
            self.commits += 1
            self.faults += self._judged(connection, since)
        since.append(statement)

    def after(self, connection: sqlite3.Connection, statement: str) -> None:
        """Forget a transaction that has ended."""
        if statement in ("COMMIT", "ROLLBACK"):
            self._since.pop(id(connection), None)

    def _judged(self, connection: sqlite3.Connection, since: list[str]) -> Iterator[str]:
        """Yield what is not as it has to be when this connection commits."""
        mode, level = setting(connection, "journal_mode"), setting(connection, "synchronous")
        if level < _NEEDED.get(mode, 9):
            yield f"synchronous is {level} in journal mode {mode}, where {_NEEDED.get(mode, 'no level')} is needed"
        for name, due in _AS_DUE.items():
            if (found := setting(connection, name)) != due:
                yield f"{name} is {found}, and {due} is due"
        if not _LOCKS.match(since[0]):
            yield f"a transaction that writes began with {since[0].split()[0]}, without a lock"
