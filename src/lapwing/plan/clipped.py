"""What a plan says about values outside the bounds of a column: how many there are, or how to ask."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .. import exact
from ..question.query import Condition, numeral, quoted

Share = tuple[float | None, float, float]
"""A share of rows: an estimate, or None if there is only a range, and the ends of a 95 % bar."""


def share_text(share: Share, of: str) -> str:
    """Return a share in words."""
    value, low, high = (None if each is None else f"{100 * each:.2g} %" for each in share)
    return f"between {low} and {high} of {of}" if value is None else f"{value} of {of} ({low} to {high})"


@dataclass(frozen=True)
class Clipped:
    """A column whose values outside its bounds count as the bounds.

    ``share`` is the share of rows that this affects, with the ends of a 95 % bar, if the ledger holds a noisy histogram
    of the column, at ``entry``.  It has no estimate if a bound lies inside a bin of the histogram that has rows.
    """

    column: str
    low: Fraction
    high: Fraction
    source: str
    where: Condition | None = None
    share: Share | None = None
    entry: int | None = None

    @property
    def question(self) -> str:
        """The SQL that asks for the share."""
        name, where = quoted(self.column), "" if self.where is None else f" WHERE {self.where}"
        beyond = f"{name} < {numeral(self.low)} OR {name} > {numeral(self.high)}"
        return f"SELECT AVG(CASE WHEN {beyond} THEN 1 ELSE 0 END) FROM {quoted(self.source)}{where}"

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        share = None if self.share is None else dict(zip(("value", "low", "high"), self.share, strict=True))
        ends = {"low": exact.text(self.low), "high": exact.text(self.high)}
        return {"column": self.column, **ends, "share": share, "entry": self.entry, "question": self.question}

    def __str__(self) -> str:
        sentence = f"{self.column} beyond {exact.text(self.low)} and {exact.text(self.high)} counts as these bounds"
        if self.share is not None:
            inside = "" if self.share[0] is not None else ", in which a bound divides a bin"
            return f"{sentence}: {share_text(self.share, 'all rows with a value')}, by entry {self.entry}{inside}."
        return f"{sentence}.  For how many rows is private; to ask: {self.question}"
