"""A sum alone: SUM(x), if neither the number of rows nor a mean is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from ..question.query import Statistic, StatisticKind
from ..question.schema import Schema
from .measurement import Measurement, Setting, Sums


@dataclass(frozen=True)
class Total(Measurement):
    """The sum of a column, in one cell."""

    form: ClassVar[str] = "total"
    claim: ClassVar[str] = "P1"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"sum"})
    sums: ClassVar[Literal["first"]] = "first"

    @property
    def names(self) -> tuple[str, ...]:
        return ("total",)

    @property
    def mass(self) -> int:
        return max(abs(self.grid.low), abs(self.grid.high))

    def cells(self, sums: Sums) -> tuple[Any, ...]:
        return (self.grid.low * sums.present + sums.first,)

    def one_cell_sensitivity(self, schema: Schema) -> int:
        return schema.person_l1 * (max(self.grid.high, 0) - min(self.grid.low, 0))

    def linear(self, statistic: Statistic, setting: Setting) -> tuple[Fraction, ...]:
        return (self.unit(setting),)
