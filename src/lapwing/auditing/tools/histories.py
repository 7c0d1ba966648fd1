"""Random histories of a ledger: charges, answers, totals, caps and requests for caps, right and wrong ones."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

from ...ledger.ledger import Ledger
from ..room import Room
from .bookkeeping import Book
from .paired import Paired

NAMES = ("ana", "Bo b", "čen")
_NOTES = (None, "until May", "board", "n" * 200)
_WRONG_NOTES = ("", " board", "two\nlines", "n" * 201)

Call = tuple[Any, ...]
"""The name of a call, and what is given to it."""


def new(room: Room, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Paired:
    """Return a new ledger with its book."""
    return Paired(Ledger.open(room.path("ledger"), epsilon, delta), Book(epsilon, delta))


def go_on(paired: Paired, random: Random, calls: int) -> None:
    """Make random calls on a ledger and its book."""
    for _ in range(calls):
        kind = random.choice(("spend", "spend", "spend", "answer", "answer", "own", "own", "ask", "decide", "decide"))
        paired.call(*{"spend": spending, "answer": answering, "own": owning, "ask": asking, "decide": deciding}[kind](
            paired.book, random
        ))  # fmt: skip


def amount(random: Random, most: float, unit: int = 10**9) -> Fraction:
    """Return a random amount with all its decimals, or a round one."""
    if most > 0.1 and random.random() < 0.3:
        return Fraction(int(most * 10) * random.randrange(1, 3), 20)
    return Fraction(random.randrange(1, max(int(most * unit), 2)), unit)


def spending(book: Book, random: Random) -> Call:
    """Return a charge: new, repeated, exactly what is left, or a little more."""
    known = [each for each in book.lines if each.kind == "charge"]
    if known and random.random() < 0.15:
        again = random.choice(known)
        return "charge", again.question, again.epsilon, again.delta, again.analyst
    analyst = random.choice((None, *book.caps, "nobody"))
    question = {"query": f"SELECT {random.randrange(10**6)}", "version": random.choice(("1", "2", None)), "a": [1, 2.5]}
    left, epsilon = book.left(analyst), amount(random, 0.4)
    if random.random() < 0.2 and left:
        epsilon = left + random.choice((0, 1)) * Fraction(1, 10**9)
    left_delta = max(book.total_delta - book.spent_delta, Fraction(0))
    delta = random.choice((Fraction(0), amount(random, 1e-7, 10**18), left_delta))
    return "charge", question, min(epsilon, Fraction(1000)), delta, analyst


def answering(book: Book, random: Random) -> Call:
    """Return the recording of an answer, of a charge that may have one."""
    charges = [each.number for each in book.lines if each.kind == "charge"]
    if not charges:
        return spending(book, random)
    if random.random() < 0.1:
        return "record", random.choice(book.lines).number, "of what may be no charge"
    return "record", random.choice(charges), {"n": random.randrange(10**6), "m": ["é", None, 0.1]}


def owning(book: Book, random: Random) -> Call:
    """Return an entry of the owner: a total, an analyst or a cap."""
    note = random.choice(_NOTES if random.random() < 0.9 else _WRONG_NOTES)
    kind = random.choice(("set_total", "add_analyst", "set_cap", "set_cap"))
    if kind == "set_total":
        delta = random.choice((None, book.spent_delta + amount(random, 1e-7, 10**18)))
        return kind, max(book.spent + amount(random, 3) - 1, Fraction(1, 10**9)), delta, note
    name = random.choice((*NAMES, *NAMES, "", "nobody"))
    return kind, name, amount(random, 2), note


def asking(book: Book, random: Random) -> Call:
    """Return a request for a higher cap."""
    name = random.choice((*NAMES, *book.caps, *book.caps, "nobody"))
    own = book.caps.get(name, (Fraction(1), Fraction(0)))[0]
    wanted = own + random.choice((1, 10**3, 10**8, 10**9, 0, -1)) * Fraction(1, 10**9)
    reason = random.choice(("the second half", "r" * 500) if random.random() < 0.9 else ("", "r" * 501, None, "a "))
    return "request", name, max(wanted, Fraction(1, 10**9)), reason


def deciding(book: Book, random: Random) -> Call:
    """Return a decision about a request, which may not be open, or there, or one's own."""
    asked = [each for each in book.lines if each.kind == "request"]
    one = random.choice(asked) if asked and random.random() < 0.95 else book.lines[0]
    kind, note = random.choice(("grant", "grant", "decline", "withdraw")), random.choice(_NOTES)
    if kind == "decline":
        return kind, one.number, note
    if kind == "withdraw":
        return kind, one.number, random.choice((one.analyst or "ana", one.analyst or "ana", *NAMES))
    own, wanted = book.caps.get(str(one.analyst), (Fraction(1), 0))[0], one.epsilon or Fraction(1)
    least = Fraction(1, 10**9)
    cap = random.choice((None, None, wanted, wanted + least, own, own + least, (own + wanted) / 2 // least * least))
    return kind, one.number, None if cap is None else max(cap, least), note
