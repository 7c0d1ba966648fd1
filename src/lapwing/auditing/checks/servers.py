"""Ledgers on a PostgreSQL server, if one is given: the ceiling, races, durability and failures, as for files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from ...errors import LedgerError
from ...ledger.ledger import Ledger
from ..finding import Finding
from ..room import Room
from ..tools import others
from ..tools.injecting import FAULTS, Failing, heard_on_server
from ..tools.pipelines import ANALYST, WAIT, Pipeline
from .aftermath import Tries, attempted, broken, judged
from .caps import compared
from .durable import KINDS, every_entry
from .ledgers import race
from .tampering import verifies


def servers(room: Room) -> Iterator[Finding]:
    """Check the ledgers of every engine that can hold some; say so if there is none."""
    places = [engine.ledger for engine in room.engines if engine.ledger is not None]
    for place in places:
        yield _durable(place())
        yield compared(place, "a ledger on PostgreSQL", *((10, 200) if room.deep else (1, 80)))
        yield _raced(place, 20 if room.deep else 3)
        yield _statements(room, place)
    told = f"{len(places)} servers were given and checked." if places else "NOT CHECKED: no --engine names a server."
    yield Finding("L1 to L3: ledgers on PostgreSQL", True, told)


def _raced(place: Callable[[], str], rounds: int) -> Finding:
    """Two processes and this one charge a new ledger at once, in three threads each; three charges fit."""
    granted, sound = [], 0
    with others.started(others.racer, 2) as racers:
        for _ in range(rounds):
            url = place()
            ledger = Ledger.open(url, "0.3")
            granted.append(sum(race(racers, "charge", url)))
            sound += ledger.spent == Fraction(3, 10) and verifies(ledger)
    return Finding(
        "L1: processes that charge a ledger on PostgreSQL concurrently are granted exactly the total",
        granted == [3] * rounds and sound == rounds,
        f"In {rounds} rounds {min(granted)} to {max(granted)} charges were granted, 3 fit; {sound} ledgers add up.",
    )


def _opened(url: str) -> Ledger:
    """Return a new ledger with an analyst."""
    ledger = Ledger.open(url, 10, "0.01", wait=WAIT)
    ledger.add_analyst(ANALYST, 2)
    return ledger


def _statements(room: Room, place: Callable[[], str]) -> Finding:
    """Fail before and after each statement that the ledger runs for a release."""
    pipeline, tally = Pipeline(room), Tries()
    (question, *_), table = pipeline.questions, pipeline.table
    clean, ledger = Failing(), _opened(place())
    with heard_on_server(clean):
        due = question(table, ledger, 1)
    for i, statement in enumerate(clean.heard, 1):
        url, before = place(), table.opens
        ledger = _opened(url)
        failing = Failing(i, after=bool(i % 2), fault=list(FAULTS)[i % len(FAULTS)])
        with heard_on_server(failing):
            outcome = attempted(lambda: question(table, ledger, 1), lambda: table.opens > before)  # noqa: B023
        again = lambda: question(table, ledger, 2)  # noqa: B023, E731
        opened = lambda: Ledger.open(url, wait=WAIT)  # noqa: B023, E731
        fault = judged(lambda: broken(outcome, opened, again, LedgerError, due))  # noqa: B023
        tally.add(f"{statement.split()[0]} (statement {i})", len(failing.heard) >= i, fault)
    return tally.finding("L3: a release whose ledger on PostgreSQL fails at any statement is charged once")


def _durable(url: str) -> Finding:
    """Return whether a ledger on PostgreSQL commits durably, at an isolation that its lock of the head fits."""
    faults: list[str] = []
    commits = 0

    def judge(connection: sa.Connection) -> None:
        nonlocal commits
        if connection.dialect.name != "postgresql":
            return
        found: dict[str, Any] = {
            name: connection.exec_driver_sql(f"SHOW {name}").scalar_one()
            for name in ("synchronous_commit", "transaction_isolation", "transaction_read_only", "fsync")
        }
        commits += 1
        if found["synchronous_commit"] in ("off", "local"):
            faults.append(f"synchronous_commit is {found['synchronous_commit']}")
        if found["transaction_isolation"] not in ("read committed", "repeatable read", "serializable"):
            faults.append(f"the isolation is {found['transaction_isolation']}")

    sa.event.listen(sa.Engine, "commit", judge)
    try:
        every_entry(lambda: Ledger.open(url, 10, "1e-6"))
    finally:
        sa.event.remove(sa.Engine, "commit", judge)
    return Finding(
        "L3: every commit of a ledger on PostgreSQL is durable",
        not faults and commits >= len(KINDS),
        f"{len(faults)} faults in {commits} commits, 0 are allowed{': ' + faults[0] if faults else ''}.",
    )
