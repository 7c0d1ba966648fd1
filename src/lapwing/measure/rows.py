"""The number of rows: COUNT(*)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from ..question.query import Statistic, StatisticKind
from .measurement import Measurement, Setting, Sums


@dataclass(frozen=True)
class Rows(Measurement):
    """The number of rows, if no other measurement counts them."""

    form: ClassVar[str] = "rows"
    claim: ClassVar[str] = "P1"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset()
    clamps: ClassVar[bool] = False

    @property
    def target(self) -> str:
        return "rows"

    @property
    def name(self) -> str:
        return "rows"

    @property
    def names(self) -> tuple[str, ...]:
        return ("rows",)

    @property
    def counts_rows(self) -> bool:
        return True

    def cells(self, sums: Sums) -> tuple[Any, ...]:
        return (sums.rows,)

    def linear(self, statistic: Statistic, setting: Setting) -> tuple[Fraction, ...]:
        return (Fraction(1, setting.schema.row_weight),)
