"""The entries of a ledger page by page, the newest first, and its charges by version: for ledgers that have grown long.

The table itself is read, not an index, which an edited file could lack an entry of.  Each entry that is read is checked
against its hash; whether all of them are there is for ``verify``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import sqlalchemy as sa

from . import store
from .entry import Entry, entry_of
from .ledger import Ledger
from .store import Row, Turn

MOST = 1000
"""How many entries a page has at most."""

_AT_ONCE, _LAST = 256, 2**63 - 1

Shows = Callable[[Entry], bool]
"""Whether an entry is shown; of an answer, it is called with its charge."""


class EntryPage(NamedTuple):
    """Some entries in their order, without answers."""

    entries: list[Entry]
    answered_by: dict[int, int]
    """The number of the answer, by that of the charge."""

    before: int | None
    """Give this to get the entries before these; None if there are none."""


def page_of(
    ledger: Ledger, before: int | None, most: int, *, shows: Shows = lambda entry: True, charged_to: str | None = None
) -> EntryPage:
    """Return the last ``most`` entries before a number that are shown; ``charged_to`` are the charges of an analyst."""
    columns = store.entries.c
    query = sa.select(store.entries).where(columns.number < sa.bindparam("end"))
    if charged_to is not None:
        query = query.where((columns.kind == "charge") & (columns.analyst.concat("") == charged_to))
    query = query.order_by(columns.number.desc()).limit(max(most + 1, _AT_ONCE))
    end, listed = _LAST if before is None else min(before, _LAST), list[Entry]()
    with ledger._turn() as turn:
        while len(listed) <= most:
            rows = [ledger._sound(row) for row in store.rows(turn.connection, query, end=end)]
            if not rows:
                break
            end = rows[-1]["number"]
            charges = _charges(ledger, turn, rows)
            listed += [entry_of(row) for row in rows if shows(entry_of(charges.get(row["charge"], row)))]
        kept = listed[:most][::-1]
        answers = _answers(turn, kept)
    entries = [replace(each, answered=each.number in answers) for each in kept]
    return EntryPage(entries, answers, kept[0].number if len(listed) > most else None)


def _charges(ledger: Ledger, turn: Turn, rows: list[Row]) -> dict[int, Row]:
    """Return the charges of the answers among some rows, by their numbers."""
    numbers = [row["charge"] for row in rows if row["kind"] == "answer"]
    found = sa.select(store.entries).where(store.entries.c.number.in_(numbers))
    return {row["number"]: ledger._sound(row) for row in store.rows(turn.connection, found)} if numbers else {}


def _answers(turn: Turn, entries: list[Entry]) -> dict[int, int]:
    """Return the numbers of the answers of the charges among some entries."""
    columns = store.entries.c
    numbers = [each.number for each in entries if each.kind == "charge"]
    found = sa.select(columns.charge, columns.number).where((columns.charge + 0).in_(numbers))
    found = found.where(columns.kind == "answer")
    return {row["charge"]: row["number"] for row in store.rows(turn.connection, found)} if numbers else {}


class Version(NamedTuple):
    """A version of a source, as questions name it: None if they name none."""

    version: str | None
    first_seen: str
    """When a question about it was first charged."""

    entries: int
    """How many questions about it were charged."""


def versions_of(ledger: Ledger, shows: Shows) -> list[Version]:
    """Return the versions that questions were about, in the order in which they were first seen."""
    columns, versions = store.entries.c, dict[str | None, Version]()
    charges = sa.select(store.entries).where(columns.kind == "charge").order_by(columns.number)
    with ledger._turn() as turn:
        rows = [ledger._sound(row) for row in store.rows(turn.connection, charges)]
    for entry in filter(shows, map(entry_of, rows)):
        asked = entry.question.get("version") if isinstance(entry.question, dict) else None
        name = None if asked is None else str(asked)
        known = versions.get(name, Version(name, entry.time, 0))
        versions[name] = known._replace(entries=known.entries + 1)
    return list(versions.values())
