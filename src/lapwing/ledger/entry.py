"""Entries and budgets as frozen values, and how questions, answers and amounts are written into the rows of a ledger.

Amounts are integers there: ε in 10^-9, δ in 10^-18.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from .. import exact
from ..errors import InvalidParameter, InvalidValue
from ..exact import ATTO, NANO, Number
from .store import Row


@dataclass(frozen=True)
class Entry:
    """One line of the record.

    ``kind`` is open, charge, answer, analyst (a name and its cap), total, or request, grant, decline and withdraw (of a
    higher cap).  ``epsilon`` and ``delta`` are what was charged, or the new cap or total, or the cap that is wanted;
    ``charge`` is the number of the charge or request that an answer or a decision is about.  Of a charge, ``answer`` is
    the recorded answer if ``answered``, and ``recorded_at`` the time of that; ``repeated`` says that this call found
    the entry instead of making it.
    """

    number: int
    time: str
    kind: str
    analyst: str | None
    question: Any
    epsilon: Fraction | None
    delta: Fraction | None
    note: str | None
    spent: Fraction
    hash: str
    charge: int | None = None
    answer: Any = None
    answered: bool = False
    repeated: bool = False
    recorded_at: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry for JSON, without its answer; amounts are exact texts."""
        return {
            "entry": self.number,
            "time": self.time,
            "kind": self.kind,
            "analyst": self.analyst,
            "question": self.question,
            "epsilon": None if self.epsilon is None else exact.text(self.epsilon),
            "delta": None if self.delta is None else exact.text(self.delta),
            "note": self.note,
            "spent": exact.text(self.spent),
            "charge": self.charge,
            "answered": self.answered,
            "hash": self.hash,
        }


@dataclass(frozen=True)
class Budget:
    """A ceiling and what is left below it; ``analyst`` is None for the whole ledger.

    ``left_of_all`` is what is left of the total of the ledger, if this is the cap of an analyst.
    """

    analyst: str | None
    total: Fraction
    spent: Fraction
    left_of_all: Fraction | None = None

    @property
    def remaining(self) -> Fraction:
        """What may still be charged; for an analyst never more than what is left of the total."""
        own = max(self.total - self.spent, Fraction(0))
        return own if self.left_of_all is None else min(own, self.left_of_all)

    def to_dict(self) -> dict[str, str]:
        """Return the amounts for JSON, as exact texts."""
        amounts = {name: exact.text(getattr(self, name)) for name in ("total", "spent", "remaining")}
        return amounts if self.analyst is None else {"analyst": self.analyst, **amounts}


@dataclass(frozen=True)
class LedgerRecord:
    """A whole ledger: its totals, the caps of its analysts, and every entry, without answers."""

    where: str
    epsilon: Budget
    delta: Budget
    analysts: tuple[Budget, ...]
    entries: tuple[Entry, ...]


class After(NamedTuple):
    """What a ledger says after a charge: what is left of ε and of δ, when the answer was recorded, and its head."""

    epsilon: Budget
    delta: Budget
    recorded_at: str | None
    head: str


def epsilon_budget(row: Row, mine: Row | None = None) -> Budget:
    """Return the budget of ε after an entry; that of an analyst, if ``mine`` is the last entry with their cap."""
    whole = Budget(None, Fraction(row["total"], NANO), Fraction(row["spent"], NANO))
    if mine is None:
        return whole
    return Budget(mine["analyst"], Fraction(mine["cap"], NANO), Fraction(mine["cap_spent"], NANO), whole.remaining)


def delta_budget(row: Row) -> Budget:
    """Return the budget of δ after an entry."""
    return Budget(None, Fraction(row["total_delta"], ATTO), Fraction(row["spent_delta"], ATTO))


def entry_of(row: Row, answer: str | None = None, *, repeated: bool = False, recorded_at: str | None = None) -> Entry:
    """Return the entry that a row holds, with the text of its answer."""
    return Entry(
        number=row["number"],
        time=row["time"],
        kind=row["kind"],
        analyst=row["analyst"],
        question=None if row["question"] is None else json.loads(row["question"]),
        epsilon=None if row["epsilon"] is None else Fraction(row["epsilon"], NANO),
        delta=None if row["delta"] is None else Fraction(row["delta"], ATTO),
        note=row["note"],
        spent=Fraction(row["spent"], NANO),
        hash=row["hash"],
        charge=row["charge"],
        answer=None if answer is None else json.loads(answer),
        answered=answer is not None,
        repeated=repeated,
        recorded_at=recorded_at,
    )


def canonical_json(value: Any, name: str) -> str:
    """Return the canonical JSON of a question or an answer: encoded and decoded once, with sorted keys."""
    try:
        return json.dumps(json.loads(json.dumps(value, allow_nan=False)), sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        holds = "texts, finite numbers, truth values, lists, and mappings from texts to these"
        kind = f"a {type(value).__name__} that JSON cannot hold"
        raise InvalidValue(kind, f"The {name} is made of {holds}.") from None


def printable(value: str | None, name: str, longest: int = 200) -> str | None:
    """Return a short printable text."""
    if value is None and name == "note":
        return None
    fits = isinstance(value, str) and 0 < len(value) <= longest
    if not isinstance(value, str) or not fits or not value.isprintable() or value != value.strip():
        raise InvalidParameter(value, name, f"a printable text of 1 to {longest} characters")
    return value


def nano(epsilon: Number) -> int:
    """Return ε in 10^-9."""
    return int(exact.epsilon(epsilon) * NANO)


def atto(delta: Number) -> int:
    """Return δ in 10^-18."""
    return int(exact.delta(delta) * ATTO)
