"""What a question in SQL means, as an expectation that is written by hand: its fields, not its canonical text alone.

``Meant`` has what is expected of several texts that mean the same.  Nothing in it is computed by the product: the
values are its frozen classes, filled in field by field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

from ...errors import LapwingError
from ...question.cut import Cut
from ...question.described import described_schema
from ...question.expression import Constant, Expression, Named, Recode
from ...question.file import AS_USUAL
from ...question.noise_levels import USUAL
from ...question.query import Compare, Condition, Query, Statistic
from ...question.schema import Column, Schema, dates, keys, number, plain
from ...question.statement import read

REGIONS = {"north": ["u", "v"], "south": ["w"]}
COLUMNS: dict[str, Any] = {
    "x": number(0, 10), "y": number(-4, 10), "z": number(0, 9, integer=True), "e": number(0, 10, edges=[0, 3, 10]),
    "k": keys("a", "b"), "m": keys(1, 2, 3), "o": keys("a", "b", other="rest"), "f": keys(False, True),
    "town": keys("u", "v", "w", within={"region": REGIONS}), "d": dates("2020-01-01", "2020-03-31"),
    "b": plain("boolean"), "s": plain("text"), "n": plain("number"), "j": plain("integer"), "q": plain("date"),
    "Cost (EUR)": number(0, 100), "order": number(0, 5), "large": number(0, 2**33, integer=True),
    "bin": number(0, 10, edges=[0, 5, 10]), "cdf": number(0, 1), "clamp": number(0, 2), "median": plain("boolean"),
}  # fmt: skip


def schema_of(columns: Mapping[str, Any] = COLUMNS, person: str | None = "p", name: str = "t") -> Schema:
    """Return a schema of these columns, with two rows per person."""
    rows = None if person is None else 2
    return described_schema(name, columns, person, rows, "add_remove", None, True, AS_USUAL, USUAL)


@dataclass(frozen=True)
class Meant:
    """The fields of the question that all of the texts ask; ``computed`` has the columns that it computes.

    ``titles`` are the keys if nothing else is said, ``cut`` is the whole answer.
    """

    texts: Sequence[str]
    statistics: tuple[Statistic, ...]
    canonical: str
    by: tuple[str, ...] = ()
    where: Condition | None = None
    edges: tuple[tuple[str, tuple[Fraction, ...]], ...] = ()
    titles: tuple[str, ...] | None = None
    sets: tuple[tuple[str, ...], ...] = ()
    grouping: tuple[tuple[str, tuple[str, ...]], ...] = ()
    computed: Mapping[str, ComputedAs] = field(default_factory=dict)
    cut: Cut = field(default_factory=lambda: Cut(None, (), None, 0))

    def faults(self, schema: Schema) -> Iterator[str]:
        """Yield for each text that means something else what differs."""
        for text in self.texts:
            try:
                query, cut = read(text, schema)
            except LapwingError as error:
                yield f"{text}: {error}"
                continue
            differing = [*self.differing(query), *([] if cut == self.cut else [f"the cut is {cut}"])]
            if differing:
                yield f"{text}: {differing[0]}"

    def differing(self, query: Query) -> Iterator[str]:
        """Yield the fields in which a question differs."""
        for name in ("statistics", "by", "where", "edges", "sets", "grouping"):
            if getattr(query, name) != getattr(self, name):
                yield f"{name} is {getattr(query, name)}"
        if query.source != "t" or query.titles != (self.by if self.titles is None else self.titles):
            yield f"the titles are {query.titles}"
        if {name: _computed(column) for name, column in query.derived} != dict(self.computed):
            yield f"it computes {query.derived}"
        if [name for name, _ in query.derived] != sorted(self.computed):
            yield "its computed columns have another order"
        if query.text != f"SELECT {self.canonical}":
            yield f"its canonical text is {query.text}"


@dataclass(frozen=True)
class ComputedAs:
    """What is expected of a column that a question computes."""

    expression: Expression | Recode
    kind: str
    low: Fraction | None = None
    high: Fraction | None = None
    keys: tuple[Any, ...] | None = None


def _computed(column: Column) -> ComputedAs | None:
    """Return what is expected of columns, None if one has more than a question can say."""
    said = {each.name for each in fields(column) if getattr(column, each.name) not in (None, ())}
    if not said <= {"kind", "low", "high", "keys", "grid", "first", "last", "expression"} or not column.expression:
        return None
    return ComputedAs(column.expression, column.kind, column.low, column.high, column.keys)


def whole(value: int, below: int = 1) -> Fraction:
    """Return a number as questions hold it."""
    return Fraction(value, below)


def constant(value: int, below: int = 1) -> Constant:
    """Return a number in an expression."""
    return Constant(Fraction(value, below))


def named(*names: str) -> tuple[Named, ...]:
    """Return columns in an expression."""
    return tuple(map(Named, names))


def compare(column: str, operator: Any, value: Any) -> Compare:
    """Return a comparison with a value; whole numbers are written as they are."""
    return Compare(column, operator, Fraction(value) if type(value) is int else value)


def statistic(kind: Any, column: str | None = None, name: str | None = None, **more: Any) -> Statistic:
    """Return a statistic with its name in the answer; all other fields are given."""
    usual = Statistic(kind, column, None, None, True, None, None, name, None, None, (), Fraction(1), None, None)
    return replace(usual, **more)
