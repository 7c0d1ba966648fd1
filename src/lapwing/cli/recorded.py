"""An entry of a ledger, here or on a server → what it released; nothing is read or charged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidRequest

if TYPE_CHECKING:
    from ..client.remote import RemoteSource
    from ..release.bounds import Bounds
    from ..release.discover import Discovery
    from ..release.result import Release
    from ..release.rows_per_person import RowsPerPerson
    from ..source import Source


def recorded(opened: Source | RemoteSource, entry: int) -> Release | Discovery | Bounds | RowsPerPerson:
    """Return what an entry released, or found."""
    from ..release.recall import recall
    from ..source import Source

    if not isinstance(opened, Source):
        return opened.recall(entry)
    found = recall(opened.schema, opened.ledger, entry)
    if found is None:
        advice = "Ask the same question again to complete it, at no charge."
        raise InvalidRequest(f"Entry {entry} has no answer yet", advice)
    return opened.beside(found)  # type: ignore[type-var]  # each of them is one


def recorded_release(opened: Source | RemoteSource, entry: int) -> Release:
    """Return the release of an entry; refuse one that found keys, bounds or rows per person."""
    from ..release.result import Release

    found = recorded(opened, entry)
    if not isinstance(found, Release):
        advice = f"Choose another entry; `lapwing explain` shows entry {entry}."
        raise InvalidRequest(f"Entry {entry} found keys or bounds, and is not a release of statistics", advice)
    return found
