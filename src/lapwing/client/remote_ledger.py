"""The ledger of a source on a server: what is left, and for owners and auditors every entry."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..ledger.entry import Budget, Entry, LedgerRecord
from ..ledger.plots import ledger_chart
from .answers import all_entries, budget_of, list_of, or_none, text_of, whole_of
from .link import Link, reading


@dataclass(frozen=True)
class Budgets:
    """What is left of a source: of its totals of ε and δ, and of one's own cap, ``mine``, if there is one."""

    epsilon: Budget
    delta: Budget
    mine: Budget | None

    @property
    def remaining(self) -> Fraction:
        """The ε that is left for you: of the total, or of your cap if that is less."""
        return min(each.remaining for each in (self.epsilon, self.mine) if each is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the amounts for JSON, as exact texts."""
        mine = None if self.mine is None else self.mine.to_dict()
        return {"epsilon": self.epsilon.to_dict(), "delta": self.delta.to_dict(), "mine": mine}


class RemoteLedger:
    """The ledger of a source on a server: what is left, and for owners and auditors every entry."""

    def __init__(self, link: Link, source: str) -> None:
        self._link, self._source = link, source

    def __repr__(self) -> str:
        return f"RemoteLedger({self._source!r}, {self._link.url!r})"

    def budgets(self) -> Budgets:
        """Return what is left of the totals, and of your cap."""
        told = self._link.get("sources", self._source, "budget")
        with reading():
            return Budgets(budget_of(told["epsilon"]), budget_of(told["delta"]), or_none(budget_of, told["mine"]))

    def budget(self) -> Budget:
        """Return the whole budget."""
        return self.budgets().epsilon

    @property
    def total(self) -> Fraction:
        """The ε that may ever be charged."""
        return self.budget().total

    @property
    def spent(self) -> Fraction:
        """The ε charged so far."""
        return self.budget().spent

    @property
    def remaining(self) -> Fraction:
        """The ε that may still be charged."""
        return self.budget().remaining

    @property
    def delta(self) -> Budget:
        """The total δ, and what is left of it."""
        return self.budgets().delta

    @property
    def head(self) -> str:
        """The hash of the last entry; keep it elsewhere, and give it to ``verify`` later."""
        told = self._link.get("sources", self._source, "ledger", "head")["head"]
        with reading():
            return text_of(told)

    def record(self) -> LedgerRecord:
        """Return the whole ledger at one moment: for owners and auditors."""
        told, entries = all_entries(self._link, "sources", self._source, "ledger")
        with reading():
            if not entries or entries[0].kind != "open":
                raise ValueError
            people = tuple(budget_of(each) for each in list_of(told["analysts"]))
            return LedgerRecord(
                self._source, budget_of(told["epsilon"]), budget_of(told["delta"]), people, tuple(entries)
            )

    def entries(self) -> list[Entry]:
        """Return all entries, without answers: for owners and auditors."""
        return list(self.record().entries)

    def analysts(self) -> list[Budget]:
        """Return the cap of each analyst, and what is left of it: for owners and auditors."""
        return list(self.record().analysts)

    def plot(self, *, theme: str | None = "light", width: int | None = None) -> Any:
        """Return an Altair chart of the budget over time, as that of ``Ledger``: for owners and auditors."""
        record = self.record()
        with reading():
            return ledger_chart(record.entries, record.analysts, theme, width)

    def verify(self, head: str | None = None) -> int:
        """Let the server check all entries; return their number: for owners and auditors."""
        told = self._link.get("sources", self._source, "ledger", "verify", head=head)["entries"]
        with reading():
            return whole_of(told)
