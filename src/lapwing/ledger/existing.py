"""Whether there is a ledger at a place; nothing is made.

Only a release and the owner begin a ledger: a lost one would be replaced by a new one with the full budget.
"""

from __future__ import annotations

from fractions import Fraction

from .. import exact
from .ledger import Ledger
from .store import WAIT, connect


def is_there(where: str) -> bool:
    """Return whether there is a ledger of a known version; refuse anything else."""
    return Ledger(connect(where, Fraction(WAIT)))._exists()


def open_existing(where: str, wait: int = WAIT) -> Ledger | None:
    """Return the ledger that is there, its chain checked; None if there is none."""
    ledger = Ledger(connect(where, Fraction(wait)))
    if not ledger._exists():
        return None
    ledger._check_chain()
    return ledger


def told_place(where: str) -> str:
    """Return a path or URL as messages say it: without a user and a password."""
    return connect(where, Fraction(WAIT)).where


def told_new(what: str, ledger: Ledger) -> str:
    """Return what is said when something, such as "This release", has begun a new ledger."""
    delta = ledger.delta.total
    totals = f"the total ε = {exact.text(ledger.total)}" + (f", δ = {exact.text(delta)}" if delta else "")
    return f"{what} began a new ledger, {ledger.where}, with {totals}. If there was one before, stop and restore it."
