"""A second, plain record of a ledger, kept in fractions and in memory; what a ledger says is compared with it.

It follows the reference of the ledger, not the code: every call has one outcome, which is a line or a refusal.  Times
and hashes are taken from the ledger, since nobody else can know them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

MOST_OPEN, MOST_A_DAY, LONGEST_REASON, LONGEST = 5, 20, 500, 200

Amounts = tuple[Fraction, Fraction]
"""A cap, and what is spent of it."""


class DueRefusal(Exception):
    """What must be refused, with words that the refusal has."""


@dataclass
class Line:
    """An entry, with everything that a row of the ledger holds; ``answer`` is the answer that this line records."""

    number: int
    kind: str
    total: Fraction
    total_delta: Fraction
    spent: Fraction
    spent_delta: Fraction
    cap: Fraction | None
    cap_spent: Fraction | None
    analyst: str | None = None
    question: Any = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    charge: int | None = None
    answer: Any = None
    note: str | None = None
    time: str = ""
    hash: str = ""


@dataclass
class Book:
    """The record: its lines, what is spent of the totals, and the caps by name."""

    total: Fraction
    total_delta: Fraction = Fraction(0)
    spent: Fraction = Fraction(0)
    spent_delta: Fraction = Fraction(0)
    caps: dict[str, Amounts] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Write the first line."""
        if not self.lines:
            self.add("open", epsilon=self.total, delta=self.total_delta)

    def add(self, kind: str, **fields: Any) -> Line:
        """Write a line, with the totals and the cap as they are by now."""
        cap, spent = self.caps.get(fields.get("analyst", ""), (None, None))
        totals = self.total, self.total_delta, self.spent, self.spent_delta
        self.lines.append(Line(len(self.lines) + 1, kind, *totals, cap, spent, **fields))
        return self.lines[-1]

    # --- spending ---

    def charge(
        self, question: Any, epsilon: Fraction, delta: Fraction = Fraction(0), analyst: str | None = None
    ) -> Line:
        """Find or write a charge: it fits below the total, the cap and the total δ, or it is refused."""
        found = self.charged(question, epsilon, delta)
        if found is not None:
            return found
        limits = [(self.total - self.spent, self.total, "ledger")]
        if analyst is not None:
            cap, spent = self._cap_of(analyst)
            limits.append((cap - spent, cap, f'analyst "{analyst}"'))
        left, total, who = min(limits)
        if epsilon > left:
            raise _beyond("ε", epsilon, left, total, who)
        if delta > self.total_delta - self.spent_delta:
            raise _beyond("δ", delta, self.total_delta - self.spent_delta, self.total_delta, "ledger")
        self.spent, self.spent_delta = self.spent + epsilon, self.spent_delta + delta
        if analyst is not None:
            self.caps[analyst] = cap, spent + epsilon
        return self.add("charge", question=question, epsilon=epsilon, delta=delta, analyst=analyst)

    def charged(self, question: Any, epsilon: Fraction, delta: Fraction) -> Line | None:
        """Return the charge of a question."""
        asked = _canonical(question), epsilon, delta
        charges = (each for each in self.lines if each.kind == "charge")
        return next((each for each in charges if (_canonical(each.question), each.epsilon, each.delta) == asked), None)

    def record(self, number: int, answer: Any) -> Any:
        """Write the answer of a charge, or find the one that was first."""
        if self.lines[number - 1].kind != "charge":
            raise DueRefusal("has no such charge")
        first = self.answer_to(number)
        return (first or self.add("answer", charge=number, answer=answer)).answer

    def answer_to(self, number: int) -> Line | None:
        """Return the line that records the answer of a charge."""
        return next((each for each in self.lines if each.kind == "answer" and each.charge == number), None)

    # --- the owner ---

    def set_total(self, epsilon: Fraction, delta: Fraction | None = None, note: str | None = None) -> Line:
        """Set the totals; the total δ stays if none is given."""
        _printable(note, "note", optional=True)
        self.total, self.total_delta = epsilon, self.total_delta if delta is None else delta
        return self.add("total", epsilon=epsilon, delta=self.total_delta, note=note)

    def add_analyst(self, name: str, cap: Fraction, note: str | None = None) -> Line:
        """Give someone new a cap."""
        if name in self.caps:
            raise DueRefusal("a name not in the ledger yet")
        return self._set_cap(name, cap, note)

    def set_cap(self, name: str, cap: Fraction, note: str | None = None) -> Line:
        """Set the cap of someone who has one."""
        _printable(name, "analyst")
        if name not in self.caps:
            raise DueRefusal("one in the ledger")
        return self._set_cap(name, cap, note)

    def _set_cap(self, name: str, cap: Fraction, note: str | None) -> Line:
        _printable(name, "analyst")
        _printable(note, "note", optional=True)
        self.caps[name] = cap, self.caps.get(name, (cap, Fraction(0)))[1]
        return self.add("analyst", analyst=name, epsilon=cap, note=note)

    # --- requests ---

    def request(self, analyst: str, cap: Fraction, reason: str) -> Line:
        """Ask for a higher cap; every request that this book holds was made today."""
        _printable(analyst, "analyst")
        _printable(reason, "reason", LONGEST_REASON)
        own, _ = self._cap_of(analyst)
        if cap <= own:
            raise DueRefusal(f"cap is above the {written(own)} that you have")
        mine = [each for each in self.lines if each.kind == "request" and each.analyst == analyst]
        if sum(self.decision(each.number) is None for each in mine) >= MOST_OPEN:
            raise DueRefusal("You have 5 open requests")
        if len(mine) >= MOST_A_DAY:
            raise DueRefusal("You have made 20 requests within 24 hours")
        return self.add("request", analyst=analyst, epsilon=cap, note=reason)

    def grant(self, request: int, cap: Fraction | None = None, note: str | None = None) -> Line:
        """Grant an open request, or a part of it: above the cap there is, and at most what was asked."""
        asked = self._open_request(request)
        name, wanted = str(asked.analyst), asked.epsilon or Fraction(0)
        own, spent = self.caps[name]
        if cap is None and wanted <= own:
            raise DueRefusal(f"{name} has a cap of {written(own)} by now")
        if cap is not None and not own < cap <= wanted:
            raise DueRefusal(f"cap is above the present {written(own)}, and at most the {written(wanted)} asked for")
        _printable(note, "note", optional=True)
        self.caps[name] = wanted if cap is None else cap, spent
        return self.add("grant", analyst=name, charge=request, epsilon=self.caps[name][0], note=note)

    def decline(self, request: int, note: str | None = None) -> Line:
        """Decline an open request."""
        asked = self._open_request(request)
        _printable(note, "note", optional=True)
        return self.add("decline", analyst=asked.analyst, charge=request, note=note)

    def withdraw(self, request: int, analyst: str) -> Line:
        """Take an own open request back."""
        asked = self._open_request(request, analyst)
        return self.add("withdraw", analyst=asked.analyst, charge=request)

    def decision(self, request: int) -> Line | None:
        """Return the line that decided a request."""
        kinds = ("grant", "decline", "withdraw")
        return next((each for each in self.lines if each.kind in kinds and each.charge == request), None)

    def _open_request(self, number: int, analyst: str | None = None) -> Line:
        found = [each for each in self.lines if each.kind == "request" and each.number == number]
        if not found or analyst not in (None, found[0].analyst):
            raise DueRefusal(f"request = {number} was asked; request is the number of a request in the ledger")
        decided = self.decision(number)
        if decided is not None:
            state = {"grant": "granted", "decline": "declined", "withdraw": "withdrawn"}[decided.kind]
            raise DueRefusal(f"Request {number} was {state} before")
        return found[0]

    def _cap_of(self, name: str) -> Amounts:
        if name not in self.caps:
            raise DueRefusal(f'analyst = "{name}" was asked; analyst is a name in ledger')
        return self.caps[name]

    # --- what is told of all of it ---

    def requests(self, analyst: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the fields of every request, or of those of one analyst."""
        states = {None: "open", "grant": "granted", "decline": "declined", "withdraw": "withdrawn"}
        for each in self.lines:
            if each.kind == "request" and analyst in (None, each.analyst):
                end = self.decision(each.number)
                yield {
                    "number": each.number, "time": each.time, "analyst": each.analyst, "cap": each.epsilon,
                    "reason": each.note, "state": states[end.kind if end else None], "decided": end and end.time,
                    "granted": end and end.epsilon, "note": end and end.note,
                }  # fmt: skip

    def left(self, analyst: str | None = None) -> Fraction:
        """Return what may still be charged by someone."""
        own = [cap - spent for name, (cap, spent) in self.caps.items() if name == analyst]
        return max(min([self.total - self.spent, *own]), Fraction(0))


def written(amount: Fraction, places: int = 18) -> str:
    """Return an amount with finitely many decimals as a text, without zeros at its end."""
    whole, rest = divmod(abs(amount), 1)
    decimals = f"{int(rest * 10**places):0{places}d}".rstrip("0")
    return f"{'-' if amount < 0 else ''}{whole}{'.' if decimals else ''}{decimals}"


def _beyond(letter: str, asked: Fraction, left: Fraction, total: Fraction, who: str) -> DueRefusal:
    amounts = f"has {written(max(left, Fraction(0)))} left of {written(total)}."
    return DueRefusal(f"{letter} = {written(asked)}, and {who}", amounts)


def _printable(value: Any, name: str, longest: int = LONGEST, *, optional: bool = False) -> None:
    if value is None and optional:
        return
    fits = isinstance(value, str) and 0 < len(value) <= longest and value.isprintable()
    if not fits or value[0].isspace() or value[-1].isspace():
        raise DueRefusal(f"{name} is a printable text of 1 to {longest} characters")


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def hashes(lines: Iterable[Line]) -> set[tuple[int, str]]:
    """Return the numbers and hashes of lines: two ledgers share those that are in both."""
    return {(each.number, each.hash) for each in lines}
