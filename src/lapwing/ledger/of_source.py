"""The ledger of a source: where it is, when one is made, and that its totals are those that the source says.

What only reads makes none: a lost ledger would be replaced by a new one with the full budget.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from shlex import quote
from typing import TYPE_CHECKING

from .. import exact
from ..errors import InvalidSource, LapwingError, NoLedger, no_total
from .existing import open_existing, told_place
from .ledger import Ledger
from .store import WAIT

if TYPE_CHECKING:
    from .place import Place


class LedgerOfSource:
    """The part of a source that has its ledger."""

    if TYPE_CHECKING:
        epsilon: Fraction | None
        delta: Fraction | None
        _place: Place

        @property
        def name(self) -> str: ...

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger; NoLedger if there is none: the first release makes one, or ``make_ledger``."""
        return self._with_these_totals(self.open_ledger())

    def open_ledger(self) -> Ledger:
        """Return the ledger, whatever its totals are; NoLedger if there is none."""
        existing = open_existing(self.ledger_place())
        if existing is None:
            raise self._no_ledger()
        return existing

    def make_ledger(self) -> Ledger:
        """Return the ledger, whatever its totals are; where none is, a new one is made with those of the source."""
        existing = self._existing_ledger()
        if existing is not None:
            return existing
        if self.epsilon is None:
            raise self._no_ledger()
        self._place.make_folder()
        return Ledger.open(self.ledger_place(), self.epsilon, self.delta)

    def ledger_place(self) -> str:
        """Return where the ledger is, or would be made: a path or URL."""
        return self._place.found(self.name)

    def left(self) -> Fraction | None:
        """Return the ε that is left, or None if there is no ledger yet; this makes none."""
        existing = self._existing_ledger()
        return None if existing is None else existing.remaining

    @property
    def _opened_ledger(self) -> Ledger | None:
        """The ledger, if it was opened before: it remembers what it saw (claim L5)."""
        return vars(self).get("ledger")

    def _existing_ledger(self, wait: int = WAIT) -> Ledger | None:
        """Return the ledger, whatever its totals are; None if there is none."""
        return self._opened_ledger or open_existing(self.ledger_place(), wait)

    def _ledger_for_plan(self) -> tuple[Ledger | None, str | None]:
        """Return the ledger if there is one, and why a release would be refused if it would be; none is made."""
        existing = self._opened_ledger
        if existing is not None:
            return existing, None
        try:
            existing = self._existing_ledger(wait=1)
            if existing is None:
                return None, no_total(self.name) if self.epsilon is None else None
            return self._with_these_totals(existing), None
        except InvalidSource as refusal:
            return existing, str(refusal)
        except LapwingError:
            return None, None

    def _with_these_totals(self, opened: Ledger) -> Ledger:
        """Return the ledger; refuse one whose totals are not those that the source says."""
        if self.epsilon is not None and opened.total != self.epsilon:
            asked, has = exact.text(self.epsilon), exact.text(opened.total)
            raise InvalidSource(
                self.name,
                f"says epsilon = {asked}, but its ledger has the total {has}",
                f"Write epsilon = {has} in the source, or: `lapwing ledger {quote(opened.where)} total {asked}`.",
            )
        if self.delta is not None and opened.delta.total != self.delta:
            asked, has = exact.text(self.delta), exact.text(opened.delta.total)
            change = f"`lapwing ledger {quote(opened.where)} total {exact.text(opened.total)} --delta {asked}`"
            raise InvalidSource(
                self.name,
                f"says delta = {asked}, but its ledger has the total δ = {has}",
                f"Write delta = {has} in the source, or: {change}.",
            )
        return opened

    def _no_ledger(self) -> NoLedger:
        total = None if self.epsilon is None else exact.text(self.epsilon)
        return NoLedger(told_place(self.ledger_place()), self.name, total)
