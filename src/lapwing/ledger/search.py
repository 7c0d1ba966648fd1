"""Finding charges by a part of their question, in the database: without it, each plan would read the whole ledger.

The table itself is read, not an index (``+ 0``, and the kind, which no index has): an edited index could hide answers.
"""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from . import store
from .entry import Entry, entry_of
from .ledger import Ledger


def charges_with(ledger: Ledger, part: str) -> list[Entry]:
    """Return the charges whose question has a text in it, as canonical JSON writes it: the newest first, no answers."""
    entries = store.entries.c
    held = entries.question.contains(part, autoescape=True) & (entries.kind == "charge")
    found = sa.select(store.entries).where(held).order_by(entries.number.desc())
    of_those = (entries.charge + 0).in_(sa.select(entries.number).where(held))
    answers = sa.select(entries.charge).where(of_those & (entries.kind == "answer"))
    with ledger._turn() as turn:
        rows = [ledger._sound(row) for row in store.rows(turn.connection, found)]
        answered = set(turn.connection.scalars(answers)) if rows else set()
    return [replace(entry_of(row), answered=row["number"] in answered) for row in rows]
