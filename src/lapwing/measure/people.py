"""The number of people in each group: COUNT(DISTINCT person).

Claim P7 (people).  Each person counts once in every group they are in.  Someone in g groups, more than
k = rows_per_person, counts k/g in each, rounded down to 2^-16.  So with G groups in all, one person moves the counts by
at most min(k, G) under add_remove, and by at most min(2k, G) under change_one.
Proof: docs/explanation/measure.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from ..question.query import Query, Statistic, StatisticKind
from ..question.schema import Schema
from .measurement import Measurement, Setting, Sums


@dataclass(frozen=True)
class People(Measurement):
    """The number of people; ``weighted`` says that someone may be in more groups than they may count in."""

    weighted: bool = False

    form: ClassVar[str] = "people"
    claim: ClassVar[str] = "P7"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"people"})
    own_sql: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True
    clamps: ClassVar[bool] = False

    @classmethod
    def of(cls, schema: Schema, query: Query) -> People:
        """Return the measurement; if people can count in all groups, they are counted in integers."""
        return cls(weighted=query.groups(schema) > schema.most_rows)

    @property
    def target(self) -> str:
        return "people"

    @property
    def name(self) -> str:
        return "people"

    @property
    def names(self) -> tuple[str, ...]:
        return ("people",)

    @property
    def counts_integers(self) -> bool:
        return not self.weighted

    def answers(self, statistic: Statistic) -> bool:
        return statistic.kind == "people"

    def row_weight(self, schema: Schema) -> int:
        """Return the weight of a person in one group."""
        return schema.row_weight if self.weighted else 1

    def cells(self, sums: Sums) -> tuple[Any, ...]:
        return (sums.rows,)

    def sensitivity(self, setting: Setting) -> int:
        schema = setting.schema
        counted_in = schema.most_rows * (1 if schema.neighbors == "add_remove" else 2)
        return min(counted_in, setting.groups) * self.row_weight(schema)

    def unit(self, setting: Setting) -> Fraction:
        return Fraction(1, self.row_weight(setting.schema))

    def linear(self, statistic: Statistic, setting: Setting) -> tuple[Fraction, ...]:
        return (self.unit(setting),)
