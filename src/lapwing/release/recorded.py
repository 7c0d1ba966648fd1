"""Recorded answers: when they were recorded, and whether the table has been modified since.

The ledger knows the question, not the data: the same question about other data with the same name and version gets the
recorded answer.  The ledger keeps no fingerprint of the data, which would reveal something about them.  So the answer
says how old it is, and whether the files of the table, whose owner knows when they changed, were written since.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

_NEWER = "the source needs a new version from its owner"


class OfEntry(Protocol):
    """An answer that an entry of the ledger holds."""

    @property
    def entry(self) -> int | None: ...
    @property
    def repeated(self) -> bool: ...
    @property
    def completed(self) -> bool: ...
    @property
    def recorded_at(self) -> str | None: ...
    @property
    def modified_at(self) -> str | None: ...


class Charged(Protocol):
    """An answer that says what it cost."""

    @property
    def charged(self) -> str: ...
    @property
    def new_ledger(self) -> str | None: ...


def entries_text(entries: Sequence[int]) -> str:
    """Return which entries of the ledger are meant: "entry 2" or "entries 2 and 4"."""
    *first, last = map(str, entries)
    return f"entries {', '.join(first)} and {last}" if first else f"entry {last}"


def cost(answer: Charged) -> list[str]:
    """Return what an answer cost and what is left; and that it began the ledger, if it did."""
    return [answer.charged, *([] if answer.new_ledger is None else [answer.new_ledger])]


def charged(answer: OfEntry, spent: str, left: str) -> str:
    """Say what an answer cost and what is left."""
    if answer.completed:
        return f"Completed entry {answer.entry}, which was charged before: nothing more was charged.  {left}"
    if answer.repeated:
        old = age(answer.recorded_at, answer.modified_at)
        return f"Asked before: the recorded answer of entry {answer.entry}, at no charge.  {old}  {left}"
    return f"Charged {spent} as entry {answer.entry}.  {left}"


def modified_after(recorded_at: str | None, modified: datetime | None) -> str | None:
    """Return when the table was modified, if that was after the record; both are compared in whole seconds."""
    if recorded_at is None or modified is None:
        return None
    at = modified.astimezone(UTC).replace(microsecond=0)
    try:
        return at.isoformat() if at > datetime.fromisoformat(recorded_at) else None
    except (TypeError, ValueError):  # another program wrote the ledger
        return None


def age(recorded_at: str | None, modified_at: str | None) -> str:
    """Say how old a recorded answer is, and what to do if it is too old."""
    if recorded_at is None:
        return f"If the data has changed since then, {_NEWER}."
    made = f"It was recorded on {_shown(recorded_at)}"
    if modified_at is None:
        return f"{made}: if the data has changed since, {_NEWER}."
    return (
        f"{made}, and the table was modified after that, on {_shown(modified_at)}: it may be about older data.  "
        f'To ask the newer, {_NEWER}, such as "{modified_at[:10]}".'
    )


def _shown(time: str) -> str:
    """Return a time of the ledger, in readable form."""
    return time.replace("T", " at ").replace("+00:00", " UTC")
