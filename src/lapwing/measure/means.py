"""Means, with sums and counts from the same cells; and shares of rows, the means of conditions.

Claim P2 (mean).  The mean is (A·high + B·low)/(A + B) steps, the count (A + B)/M, the sum (A·high + B·low)/M steps: one
measurement gives all three, and the variance of the mean is half of that by a centred sum and a count at ε/2 each.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from ..question.query import StatisticKind
from .partition import Partition


@dataclass(frozen=True)
class Mean(Partition):
    """Mean, sum and count of a column, or the share and number of rows for which a condition is true."""

    form: ClassVar[str] = "mean"
    claim: ClassVar[str] = "P2"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"count", "sum", "mean", "proportion"})
    sums: ClassVar[Literal["first"]] = "first"
    own_names: ClassVar[tuple[str, ...]] = ("above", "below")
    positions: ClassVar[tuple[Fraction, ...]] = (Fraction(1), Fraction(0))

    def own_cells(self, present: Any, first: Any, second: Any) -> tuple[Any, ...]:
        return (first, self.grid.steps * present - first)
