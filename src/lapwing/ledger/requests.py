"""Requests for a higher cap: an analyst asks with a reason; the owner grants it, grants less, or declines.

Each step is an entry of the ledger, under its hash.  A request changes no cap and is decided at most once: decisions
are made in a transaction that holds the ledger's lock, name the request, and no two entries may name the same one.
A reason is read by owners and auditors, so it is a short printable text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .. import exact
from ..errors import InvalidParameter, InvalidRequest, LedgerError
from ..exact import NANO, Number
from . import store
from .entry import Entry, entry_of, nano, printable
from .store import Row, Turn

if TYPE_CHECKING:
    import sqlalchemy as sa

MOST_OPEN = 5
"""How many requests of one analyst may be open at once."""

MOST_A_DAY = 20
"""How many one analyst may make in 24 hours: entries are never removed."""

LONGEST_REASON = 500

_STATES = {"grant": "granted", "decline": "declined", "withdraw": "withdrawn"}


@dataclass(frozen=True)
class CapRequest:
    """A request for a higher cap: ``state`` is open, granted, declined or withdrawn.

    ``cap`` is the one that was asked for and ``granted`` the one that was granted, at most that; ``note`` is what the
    owner said to it.
    """

    number: int
    time: str
    analyst: str
    cap: Fraction
    reason: str
    state: str = "open"
    decided: str | None = None
    granted: Fraction | None = None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the request for JSON; amounts are exact texts."""
        return {
            "request": self.number,
            "time": self.time,
            "analyst": self.analyst,
            "cap": exact.text(self.cap),
            "reason": self.reason,
            "state": self.state,
            "decided": self.decided,
            "granted": None if self.granted is None else exact.text(self.granted),
            "note": self.note,
        }


class CapRequests:
    """The part of a ledger in which analysts ask for higher caps."""

    if TYPE_CHECKING:
        from contextlib import AbstractContextManager

        def _turn(self, *, write: bool = False) -> AbstractContextManager[Turn]: ...
        def _append(self, turn: Turn, **fields: Any) -> Row: ...
        def _analyst(self, connection: sa.Connection, name: str) -> Row: ...
        def _sound(self, row: Row) -> Row: ...
        def _damaged(self, what: str) -> LedgerError: ...

    def request(self, analyst: str, cap: Number, reason: str) -> Entry:
        """Ask for a higher cap; it is recorded, and changes nothing until it is granted.

        Args:
            analyst: who asks; they have a cap already.
            cap: the one that is wanted, above the one there is.
            reason: why, for the owner and for auditors: a printable text of at most 500 characters.
        """
        amount, name = nano(cap), printable(analyst, "analyst") or ""
        why = printable(reason, "reason", LONGEST_REASON)
        with self._turn(write=True) as turn:
            mine = self._analyst(turn.connection, name)
            if amount <= mine["cap"]:
                above = exact.text(Fraction(mine["cap"], NANO))
                raise InvalidParameter(cap, "cap", f"above the {above} that you have")
            _refuse_many([each for each in self._listed(turn) if each.analyst == name])
            row = self._append(
                turn, kind="request", analyst=name, epsilon=amount, note=why, cap=mine["cap"],
                cap_spent=mine["cap_spent"],
            )  # fmt: skip
        return entry_of(row)

    def requests(self, analyst: str | None = None) -> list[CapRequest]:
        """Return all requests, or those of one analyst, in their order, with what became of them."""
        with self._turn() as turn:
            return [each for each in self._listed(turn) if analyst in (None, each.analyst)]

    def grant(self, request: int, cap: Number | None = None, note: str | None = None) -> Entry:
        """Grant an open request: the analyst's cap is now what was asked for, or the lower one given."""
        amount = None if cap is None else nano(cap)
        with self._turn(write=True) as turn:
            asked, mine = self._open_request(turn, request)
            granted = int(asked.cap * NANO) if amount is None else amount
            if not mine["cap"] < granted <= asked.cap * NANO:
                low, high = exact.text(Fraction(mine["cap"], NANO)), exact.text(asked.cap)
                if amount is None:
                    raise InvalidRequest(f"{asked.analyst} has a cap of {low} by now", "Decline the request.")
                raise InvalidParameter(cap, "cap", f"above the present {low}, and at most the {high} asked for")
            row = self._append(
                turn, kind="grant", analyst=asked.analyst, charge=asked.number, epsilon=granted,
                note=printable(note, "note"), cap=granted, cap_spent=mine["cap_spent"],
            )  # fmt: skip
        return entry_of(row)

    def decline(self, request: int, note: str | None = None) -> Entry:
        """Decline an open request: the cap stays as it is."""
        return self._end_request("decline", request, note)

    def withdraw(self, request: int, analyst: str) -> Entry:
        """Take an open request of an analyst back."""
        return self._end_request("withdraw", request, None, analyst)

    def _end_request(self, kind: str, request: int, note: str | None, analyst: str | None = None) -> Entry:
        """Decide a request without changing the cap."""
        with self._turn(write=True) as turn:
            asked, mine = self._open_request(turn, request, analyst)
            row = self._append(
                turn, kind=kind, analyst=asked.analyst, charge=asked.number, note=printable(note, "note"),
                cap=mine["cap"], cap_spent=mine["cap_spent"],
            )  # fmt: skip
        return entry_of(row)

    def _open_request(self, turn: Turn, number: int, analyst: str | None = None) -> tuple[CapRequest, Row]:
        """Return a request that nobody has decided, and the last entry of its analyst."""
        asked = next((each for each in self._listed(turn) if each.number == number), None)
        if asked is None or analyst not in (None, asked.analyst):
            raise InvalidParameter(number, "request", "the number of a request in the ledger")
        if asked.state != "open":
            raise InvalidRequest(f"Request {number} was {asked.state} before", "It stays so: make a new request.")
        return asked, self._analyst(turn.connection, asked.analyst)

    def _listed(self, turn: Turn) -> list[CapRequest]:
        """Return all requests, with what became of them."""
        listed: dict[int, CapRequest] = {}
        for row in map(self._sound, store.rows(turn.connection, store.REQUESTS)):
            if row["kind"] == "request":
                wanted = Fraction(row["epsilon"], NANO)
                listed[row["number"]] = CapRequest(row["number"], row["time"], row["analyst"], wanted, row["note"])
            elif row["charge"] not in listed:
                raise self._damaged(f"entry {row['number']}: there is no request {row['charge']}")
            else:
                granted = None if row["epsilon"] is None else Fraction(row["epsilon"], NANO)
                listed[row["charge"]] = replace(
                    listed[row["charge"]], state=_STATES[row["kind"]], decided=row["time"], granted=granted,
                    note=row["note"],
                )  # fmt: skip
        return list(listed.values())


def _refuse_many(mine: Iterable[CapRequest]) -> None:
    """Refuse one more request of someone who has too many."""
    listed = list(mine)
    if sum(each.state == "open" for each in listed) >= MOST_OPEN:
        raise InvalidRequest(f"You have {MOST_OPEN} open requests", "Wait for a decision, or withdraw one.")
    day_ago = (datetime.now(UTC) - timedelta(days=1)).isoformat(timespec="seconds")
    if sum(each.time > day_ago for each in listed) >= MOST_A_DAY:
        raise InvalidRequest(f"You have made {MOST_A_DAY} requests within 24 hours", "Ask again tomorrow.")
