"""Whether two ledgers were made as one: the same ledger, a copy of it, or a copy that went on separately."""

from __future__ import annotations

from . import store
from .ledger import Ledger
from .store import Row


def are_copies(one: Ledger, other: Ledger) -> bool:
    """Return whether two ledgers have the same first entry.

    Ledgers of earlier builds begin with equal entries if they were made in one second with one total; of these, two are
    taken for one if their last entries are equal too.
    """
    mine, others = _first(one), _first(other)
    if mine["hash"] != others["hash"]:
        return False
    return mine["key"] is not None or (one.head == other.head and one.head != mine["hash"])


def _first(ledger: Ledger) -> Row:
    with ledger._turn() as turn:
        return store.rows(turn.connection, store.BY_NUMBER, number=1)[0]
