"""Requests for higher caps: each call does what the reference says, and what it does not allow is refused.

Random requests, decisions and charges are made on a ledger and on a plain book beside it, and compared; the limits of
how many may be made are tried one by one.  A request that is older than a day is made with a clock of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Any

from ...errors import LapwingError
from ...ledger.ledger import Ledger
from ...ledger.store import Row, Turn, connect
from ..finding import Finding, all_right
from ..room import Room
from ..tools import histories
from ..tools.bookkeeping import MOST_A_DAY, MOST_OPEN

SEED = 31
_BAD: tuple[Any, ...] = (0, -1, float("nan"), "abc", "", True, None, 1001, Fraction(1, 3), "1e-10")


def cap_requests(room: Room) -> Iterator[Finding]:
    """Check what requests for caps do, and how many may be made."""
    yield _random(room, 12 if room.deep else 2)
    yield _decided(room)
    yield _many(room)
    yield _in_a_day(room)


def _random(room: Room, ledgers: int) -> Finding:
    faults, calls = [], 0
    for seed in range(ledgers):
        random = Random(f"{SEED} {seed}")
        paired = histories.new(room, Fraction(5), Fraction(1, 10**6))
        for name in histories.NAMES:
            paired.call("add_analyst", name, histories.amount(random, 1))
        for _ in range(60):
            made = random.choice((histories.asking, histories.deciding, histories.deciding, histories.spending))
            paired.call(*made(paired.book, random))
        histories.go_on(paired, random, 15)
        faults += paired.all_faults()
        calls += paired.calls
    return Finding(
        "L1: charges, caps and requests for caps do what a second record of them says, and are refused where it does",
        not faults,
        all_right(faults, calls),
    )


def _decided(room: Room) -> Finding:
    """Every decision about a request in every state, by everyone; what is granted can be spent, and nothing else."""
    paired = histories.new(room, Fraction(9))
    own, wanted, less, least = Fraction(1), Fraction(3), Fraction(2), Fraction(1, 10**9)
    for first in ("grant", "grant less", "decline", "withdraw"):
        name = f"{first} it"
        paired.call("add_analyst", name, own)
        paired.call("add_analyst", f"other of {name}", own)
        paired.call("charge", f"all of {name}", own, Fraction(0), name)
        paired.call("request", name, wanted, "more")
        number = len(paired.book.lines)
        paired.call("charge", f"not yet {name}", least, Fraction(0), name)
        for cap in (own, own - least, wanted + least):
            paired.call("grant", number, cap)
        paired.call("withdraw", number, f"other of {name}")
        paired.call("withdraw", number, "nobody")
        given: dict[str, tuple[Any, ...]] = {
            "grant": ("grant", number), "grant less": ("grant", number, less, "some"),
            "decline": ("decline", number, "no"), "withdraw": ("withdraw", number, name),
        }  # fmt: skip
        paired.call(*given[first])
        for again in given.values():
            paired.call(*again)
        paired.call("charge", f"the rest of {name}", less - own, Fraction(0), name)
        paired.call("charge", f"and more of {name}", wanted - own, Fraction(0), name)
    paired.call("add_analyst", "raised", own)
    paired.call("request", "raised", less, "more")
    late = len(paired.book.lines)
    paired.call("set_cap", "raised", less)
    for call in (("grant", late), ("grant", late, less), ("decline", late), ("decline", 1), ("grant", 0)):
        paired.call(*call)
    for bad in _BAD:
        paired.faults += _accepted(lambda: paired.ledger.request("raised", bad, "more"), f"a cap of {bad}")  # noqa: B023
        if bad is not None:
            paired.faults += _accepted(lambda: paired.ledger.grant(late, bad), f"granting {bad}")  # noqa: B023
    faults = paired.all_faults()
    with closing(sqlite3.connect(paired.path)) as connection:
        connection.execute("DELETE FROM lapwing_entries WHERE kind = 'request' AND number = ?", [late])
        connection.commit()
    faults += _accepted(paired.ledger.requests, "a decision about a request that is gone")
    return Finding(
        "L1: a request changes no cap, and is decided once, by the owner or by withdrawing it oneself",
        not faults,
        all_right(faults, paired.calls + 2 * len(_BAD)),
    )


def _many(room: Room) -> Finding:
    """Five may be open at once; one that is decided makes room for one; those of others do not count."""
    paired = histories.new(room, Fraction(9))
    for name in ("ana", "bob"):
        paired.call("add_analyst", name, Fraction(1))
        for _ in range(MOST_OPEN + 1):
            paired.call("request", name, Fraction(2), "more")
    mine = [each["number"] for each in paired.book.requests("ana")]
    for decision in (("withdraw", mine[0], "ana"), ("decline", mine[1]), ("grant", mine[2])):
        paired.call(*decision)
        for _ in range(2):
            paired.call("request", "ana", Fraction(3), "and more")
    while len(list(paired.book.requests("ana"))) < MOST_A_DAY:
        paired.call("request", "ana", Fraction(3), "again")
        paired.call("withdraw", len(paired.book.lines), "ana")
    for number in [each["number"] for each in paired.book.requests("ana") if each["state"] == "open"]:
        paired.call("decline", number)
    paired.call("request", "ana", Fraction(3), "one too many")
    paired.call("request", "bob", Fraction(3), "five are open")
    faults = paired.all_faults()
    return Finding("T16: five requests of one analyst may be open, and twenty made in a day", not faults,
                   all_right(faults, paired.calls))  # fmt: skip


class _Earlier(Ledger):
    """A ledger whose entries were made some time ago."""

    ago = timedelta(0)

    def _append(self, turn: Turn, **fields: Any) -> Row:
        time = (datetime.now(UTC) - self.ago).isoformat(timespec="seconds")
        return super()._append(turn, **{"time": time, **fields})


def _in_a_day(room: Room) -> Finding:
    """Requests of the last 24 hours count, and older ones do not."""
    wrong, number = [], 0
    day, minute = timedelta(days=1), timedelta(minutes=2)
    for ago, counted in ((day - minute, True), (day + minute, False), (30 * day, False), (minute, True)):
        ledger = Ledger.open(room.path("ledger"), 9)
        ledger.add_analyst("ana", 1)
        ledger.add_analyst("bob", 1)
        for made, many in ((ago, 1), (timedelta(0), MOST_A_DAY - 1)):
            earlier = _Earlier(connect(ledger.where, Fraction(1)))
            earlier.ago = made
            for _ in range(many):
                earlier.withdraw(earlier.request("ana", 2, "more").number, "ana")
        refused = bool(_accepted(lambda: ledger.request("ana", 2, "the 21st"), "")) != counted  # noqa: B023
        others = bool(_accepted(lambda: ledger.request("bob", 2, "the first"), ""))  # noqa: B023
        number += 2
        wrong += [] if refused and others and ledger.verify() else [f"{ago} ago, {counted}"]
    return Finding("T16: requests count for 24 hours", not wrong, all_right(wrong, number))


def _accepted(call: Any, what: str) -> list[str]:
    """Return what is accepted, nothing if it is refused."""
    try:
        call()
    except LapwingError:
        return []
    return [f"{what} is accepted"]
