"""What a server sends about budgets, entries and requests → the same values as beside the table, checked.

Texts are harmless in a terminal: printable, and not long.  What is no such value raises an error that ``link.reading``
turns into one of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

from .. import exact
from ..errors import ServerError
from ..ledger.entry import Budget, Entry
from ..ledger.listing import MOST
from ..ledger.requests import LONGEST_REASON, CapRequest
from .link import Link, reading

T = TypeVar("T")

_LONGEST_TEXT = 200

MOST_LISTED = 10**6
"""How many entries are read of one list."""


def all_entries(link: Link, *path: str) -> tuple[Mapping[str, Any], list[Entry]]:
    """Return the newest page of a list of entries, and the entries of all pages in their order.

    A page that others follow is full, its entries rise, and it begins where the next one ends: no server can go on for
    ever by saying little.
    """
    newest: Mapping[str, Any] | None = None
    pages, before = list[list[Entry]](), None
    while True:
        told = link.get(*path, before=before, most=MOST)
        newest = newest or told
        with reading():
            page, older = [entry_of(each) for each in list_of(told["entries"])], or_none(whole_of, told["before"])
            numbers = [each.number for each in page] + ([] if before is None else [before])
            if any(one >= next_ for one, next_ in pairwise(numbers)):
                raise ValueError
            pages.append(page)
            if older is None:
                return newest, [entry for page in reversed(pages) for entry in page]
            if len(page) != MOST or older != page[0].number or older < 1:
                raise ValueError
        if len(pages) * MOST > MOST_LISTED:
            advice = "They are where the ledger is, too: `lapwing ledger`."
            raise ServerError(f"The server lists more than {MOST_LISTED:,} entries", advice)
        before = older


def entry_of(told: Mapping[str, Any], answer: Any = None) -> Entry:
    """Return one entry."""
    return Entry(
        number=whole_of(told["entry"]),
        time=text_of(told.get("time", "")),
        kind=text_of(told.get("kind", "charge")),
        analyst=or_none(text_of, told.get("analyst")),
        question=told.get("question"),
        epsilon=amount_of(told.get("epsilon")),
        delta=amount_of(told.get("delta")),
        note=or_none(text_of, told.get("note")),
        spent=amount_of(told.get("spent")) or Fraction(0),
        hash=text_of(told.get("hash", "")),
        charge=or_none(whole_of, told.get("charge")),
        answer=answer,
        answered=bool(told.get("answered", answer is not None)),
    )


def cap_request_of(told: Mapping[str, Any]) -> CapRequest:
    """Return a request for a higher cap."""
    with reading():
        return CapRequest(
            whole_of(told["request"]), text_of(told["time"]), text_of(told["analyst"]), exact.rational(told["cap"]),
            text_of(told["reason"], LONGEST_REASON), text_of(told["state"]), or_none(text_of, told["decided"]),
            amount_of(told["granted"]), or_none(text_of, told["note"]),
        )  # fmt: skip


def budget_of(told: Mapping[str, Any]) -> Budget:
    """Return a total, or a cap, and what is spent of it."""
    analyst = or_none(text_of, told.get("analyst"))
    return Budget(analyst, exact.rational(told["total"]), exact.rational(told["spent"]))


def amount_of(told: object) -> Fraction | None:
    """Return an amount, if there is one."""
    return or_none(exact.rational, told)


def text_of(told: object, longest: int = _LONGEST_TEXT) -> str:
    """Return a text that is harmless in a terminal."""
    if not isinstance(told, str) or not told.isprintable() or len(told) > longest:
        raise ValueError
    return told


def whole_of(told: object) -> int:
    """Return a whole number."""
    if not isinstance(told, int) or isinstance(told, bool):
        raise TypeError
    return told


def finite_of(told: object) -> float:
    """Return a finite number."""
    return float(exact.rational(told))


def list_of(told: object) -> list[Any]:
    """Return a list."""
    if not isinstance(told, list):
        raise TypeError
    return told


def or_none(read: Callable[[Any], T], told: Any) -> T | None:
    """Return what is read, or None if nothing was sent."""
    return None if told is None else read(told)
