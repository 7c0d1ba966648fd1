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


def version_of(entry: Entry) -> str:
    """Return the version of the data that a question names, as it is shown; nothing if it names none."""
    version = entry.question.get("version") if isinstance(entry.question, dict) else None
    text = "" if version is None else str(version)
    return text if text.isprintable() else json.dumps(text)


def what(entry: Entry, most: int) -> str:
    """Return what an entry says, on one line of so many characters: of a charge its version and its question."""
    if entry.kind == "charge":
        asked = entry.question.get("query") if isinstance(entry.question, dict) else entry.question
        text = asked if isinstance(asked, str) and asked.isprintable() else json.dumps(entry.question)
        version = version_of(entry)
        text = f"{version}: {text}" if version else text
        return text if len(text) <= most else f"{text[: most - 1]}…"
    about = "" if entry.charge is None else f" (request {entry.charge})"
    return _MEANINGS.get(entry.kind, entry.kind) + about + (f": {entry.note}" if entry.note else "")
