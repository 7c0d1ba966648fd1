"""The sources that a server serves: opened once, each with one ledger, and with a table of its own in every thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

from .. import exact
from ..errors import InvalidParameter, InvalidRequest, InvalidSource
from ..ledger.copies import are_copies
from ..ledger.entry import Budget, Entry
from ..ledger.ledger import Ledger
from ..ledger.listing import EntryPage, Version, page_of, versions_of
from ..question.schema import Schema
from ..source import Source


class Served:
    """One source; ``open_source`` opens it anew, since what reads a table is not shared by threads."""

    def __init__(self, open_source: Callable[[], Source]) -> None:
        self._open = open_source
        self._own = threading.local()
        first = open_source()
        self.name: str = first.name
        self.schema: Schema = first.schema
        self.ledger: Ledger = first.make_ledger()  # whatever its total is: the owner may have changed it
        self.where = str(self.ledger.where)
        self._description = first.describe()
        self.most: Fraction | None = None
        """The largest total ε that its owner may set; None if an administrator serves it."""
        self.file: str | None = None
        """The path of its source file, if it was opened from one."""
        self.file_text = ""
        """What that file said then; it may be edited, which changes nothing before the server starts again."""

    def opened_from(self, file: str) -> None:
        """Remember the source file, and what it says."""
        self.file = file
        with suppress(OSError, ValueError):  # it is gone already, so nobody can be shown what it said
            self.file_text = Path(file).read_text(encoding="utf-8-sig")

    @property
    def source(self) -> Source:
        """The source, for this thread alone; all of them share the ledger, and what it has seen (claim L5)."""
        found: Source | None = getattr(self._own, "source", None)
        if found is None:
            found = self._open()
            if found.schema != self.schema:  # threads would answer by different declarations
                raise InvalidSource(self.name, "has changed since the server started", "Start the server again.")
            found.ledger = self.ledger
            self._own.source = found
        return found

    @cached_property
    def description(self) -> dict[str, Any]:
        """What is public about the source, for JSON."""
        return {**self._description, "engine": self.source.dialect.name}

    def budget(self, person: str) -> dict[str, Any]:
        """Return what is left of the total, and of a person's cap, for JSON."""
        mine = self.cap(person)
        return {
            "source": self.name,
            "epsilon": self.ledger.budget().to_dict(),
            "delta": self.ledger.delta.to_dict(),
            "mine": None if mine is None else mine.to_dict(),
        }

    def cap(self, person: str) -> Budget | None:
        """Return the budget of a person; None if the ledger has no cap for this name."""
        try:
            return self.ledger.budget(person)
        except InvalidParameter:
            return None

    @property
    def identity(self) -> str:
        """What tells its ledger from others."""
        return identity_of(self.ledger)

    def has_ledger_of(self, other: Served) -> bool:
        """Return whether two sources have one ledger, or a copy of it."""
        same = os.path.realpath(self.where) == os.path.realpath(other.where)
        return same or are_copies(self.ledger, other.ledger)

    def entries(self, before: int | None, most: int, charged_to: str | None = None) -> EntryPage:
        """Return the last entries before a number; the charges alone of a person, if one is named.

        Questions to another source that had the same ledger are left out; what they cost is in the amounts.
        """
        return page_of(self.ledger, before, most, shows=self.is_asked_by, charged_to=charged_to)

    def versions(self) -> list[Version]:
        """Return the versions that questions to this source were about, the first one first."""
        return versions_of(self.ledger, self.is_asked_by)

    def is_asked_by(self, entry: Entry | None) -> bool:
        """Return whether an entry is no question to another source, which had the same ledger."""
        asked = None if entry is None else entry.question
        return not isinstance(asked, dict) or asked.get("source", self.name) == self.name

    def public_text(self, message: str) -> str:
        """Return a message with the name of the source in place of where its ledger is."""
        return message.replace(quote(self.where), self.name).replace(self.where, self.name)


def refuse_total(epsilon: object, most: Fraction | None) -> None:
    """Refuse a total above what the server allows for sources that people made."""
    if most is not None and exact.epsilon(epsilon) > most:
        raise InvalidRequest(
            f"The total of a source that was made in the browser is at most ε = {exact.text(most)}",
            "Nothing was changed. Give a smaller total; whoever runs the server sets this limit: epsilon_per_source.",
        )


def identity_of(ledger: Ledger) -> str:
    """Return what tells a ledger from others, wherever it is: the hash of its first entry."""
    first = ledger.entry(1)
    return "" if first is None else first.hash


def open_sources(openers: Iterable[Callable[[], Source]]) -> dict[str, Served]:
    """Return the sources by their names; refuse two of one name, one table with two budgets, and one ledger of two."""
    served: dict[str, Served] = {}
    for each in map(Served, openers):
        refuse_beside(served, each)
        served[each.name] = each
    return served


def refuse_beside(served: Mapping[str, Served], new: Served) -> None:
    """Refuse a source beside those that are served, if it has the name, the table or the ledger of one."""
    if new.name in served:
        raise InvalidRequest(f'Two sources are called "{new.name}"', "Give one of them another name.")
    for other in list(served.values()):
        refuse_pair(other, new)


def refuse_pair(one: Served, other: Served) -> None:
    """Refuse two sources that share a budget, or should: owners and auditors of one would have the ledger of both."""
    both = f'The sources "{one.name}" and "{other.name}"'
    if one.has_ledger_of(other):
        raise InvalidRequest(
            f"{both} have one ledger", "Whoever owns or audits one of them would see the questions to the other, and "
            "could change its total. Serve one of them; if their tables hold different people, use two ledgers.",
        )  # fmt: skip
    if one.source.shares_rows_with(other.source):
        raise InvalidRequest(
            f"{both} have one table and two ledgers", "A budget belongs to the people in the table, whatever its files "
            "are called. Serve one of them.",
        )  # fmt: skip
