"""Entries as lines of a table, in a terminal or a notebook: when each was made, and what it says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .entry import Entry

_MEANINGS = {
    "open": "ledger created, with this total",
    "total": "new total",
    "analyst": "cap",
    "request": "asks for this cap",
    "grant": "granted, new cap",
    "decline": "declined",
    "withdraw": "withdrawn",
}
"""What entries other than charges and answers say."""


def when(time: str) -> str:
    """Return a time of a ledger as it is shown: in UTC, which the head of the column says."""
    return time.replace("T", " ").replace("+00:00", "")


def what(entry: Entry, most: int) -> str:
    """Return what an entry says, on one line: of a charge its question, in at most so many characters."""
    if entry.kind == "charge":
        asked = entry.question.get("query") if isinstance(entry.question, dict) else entry.question
        text = asked if isinstance(asked, str) and asked.isprintable() else json.dumps(entry.question)
        return text if len(text) <= most else f"{text[: most - 1]}…"
    about = "" if entry.charge is None else f" (request {entry.charge})"
    return _MEANINGS.get(entry.kind, entry.kind) + about + (f": {entry.note}" if entry.note else "")
