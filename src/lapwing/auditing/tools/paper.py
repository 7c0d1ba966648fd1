"""A ledger on paper, for checks that ask the same question of many tables: nothing is written."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from ...ledger.entry import After, Budget, Entry

_TIME = "2000-01-01T00:00:00+00:00"


class Paper:
    """Stands for a ledger, and keeps nothing: every question is new and is granted."""

    where = "paper"
    delta = Budget(None, Fraction(1), Fraction(0))

    def find(self, question: Any, epsilon: Fraction, delta: Fraction) -> None:
        """Return no entry."""

    def charge(self, question: Any, epsilon: Fraction, delta: Fraction, analyst: str | None) -> Entry:
        """Return an entry without an answer."""
        return Entry(2, _TIME, "charge", analyst, question, epsilon, delta, None, epsilon, "")

    def record(self, entry: Entry, answer: Any) -> Any:
        """Return the answer as a ledger would."""
        return json.loads(json.dumps(answer, allow_nan=False))

    def after(self, number: int) -> After:
        """Return budgets, and a time and a head that are always the same."""
        return After(self.delta, self.delta, _TIME, "")
