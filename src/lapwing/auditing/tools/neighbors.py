"""All small tables over a domain of difficult values, and how far one person moves their answers.

Many tables are queried at once: each is a group of one large table, with its own people.  The noise is frozen, and
that of the empty table is subtracted again, which gives the exact integers before the noise from outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.connect import connect
from ...measure.linear import Noisy
from ...measure.selection import sorted_values
from ...noise.entropy import EntropyForTests
from ...plan.plan import Plan
from ...question.query import (
    Statistic,
    cdf,
    count,
    histogram,
    max,
    mean,
    median,
    people,
    proportion,
    quantile,
    std,
    sum,
    variance,
)
from ...question.schema import keys, number, plain
from ...sensitivity import Neighbors
from ...source import Source
from ..room import Room

Row = tuple[float | None, int | None, str | None]
"""A number, a whole number and a key."""

VALUES: tuple[tuple[float | None, int | None], ...] = (
    (-3.0, -3), (7.0, 7), (0.0, 0), (2.5, 1), (math.nan, None), (None, 2**62), (math.inf, -(2**62)),
    (-math.inf, 3), (1e308, 7), (-1e308, -3), (99.5, -40), (-40.0, 99), (-1.0, -1),
)  # fmt: skip

TYPES = {
    "t": "BIGINT",
    "person": "VARCHAR",
    "x": "DOUBLE",
    "z": "BIGINT",
    "key": "VARCHAR",
    "rest": "VARCHAR",
    "u": "VARCHAR",
}
ROWS_PER_PERSON = 2
SEED = 7

Cells = NDArray[np.int64]


@dataclass(frozen=True)
class Question:
    """What is asked of every table; with ``people``, one may have several rows, else every row is one.

    With ``several``, all tables over the keys are asked.
    """

    statistics: tuple[Statistic, ...]
    by: tuple[str, ...] = ()
    where: str | None = None
    people: bool = True
    neighbors: Neighbors = "add_remove"
    several: bool = False

    def __str__(self) -> str:
        asked = ", ".join(each.text for each in self.statistics)
        where = "" if self.where is None else f" where {self.where}"
        by = f" by {'all of ' * self.several}{', '.join(self.by)}" if self.by else ""
        return f"{asked}{where}{by}, {'people' if self.people else 'rows'}, {self.neighbors}"


_ASKED: tuple[tuple[tuple[Statistic, ...], tuple[str, ...], str | None], ...] = (
    ((count(),), (), None),
    ((count(),), ("key",), None),
    ((count(),), ("rest",), None),
    ((count("x"), count("z")), (), "x > 0 OR key = 'a'"),
    ((sum("x"),), (), None),
    ((sum("z"),), ("key",), None),
    ((mean("x"),), (), None),
    ((count(), mean("x"), sum("z")), ("key",), "z < 5"),
    ((proportion("x > 2"),), (), None),
    ((variance("z"),), (), None),
    ((std("x"), mean("z")), ("key",), None),
    ((histogram("x", [-3, 0, 2.5, 7]),), (), None),
    ((cdf("z", [-3, 0, 3, 7]),), (), None),
    ((median("x"),), (), None),
    ((*quantile("z", ["0.25", "0.75"]), max("z")), ("key",), None),
    ((people(),), (), None),
    ((people(),), ("rest",), "x > 0 OR key = 'a'"),
    ((people(), mean("x")), ("key",), None),
    ((sum("x * z"),), (), None),
    ((mean("CLAMP(x / z, -2, 2)"), variance("x - z")), ("key",), None),
    ((count("NULLIF(x, z)"),), ("CASE WHEN x > z + 1 THEN 'more' ELSE 'less' END",), "x + z > -6"),
    ((mean("z", weight="ABS(x)"),), (), None),
    ((count(), mean("z", weight="ABS(x)"), sum("ABS(x)"), sum("z", weight="ABS(x)")), ("key",), "x + z > -6"),
    ((proportion("z > 1", weight="x + 3"),), ("key",), None),
    ((median("z", weight="ABS(x)"),), (), None),
    ((*quantile("x", ["0.25", "0.75"], weight="x + 3"),), ("key",), None),
)


def questions() -> Iterator[Question]:
    """Yield every kind of question, for people and rows, under both relations."""
    for statistics, by, where in _ASKED:
        for with_people in (True, False):
            if not with_people and any(each.kind == "people" for each in statistics):
                continue
            yield Question(statistics, by, where, with_people, "add_remove")
            if with_people or by or where:  # else the number of rows is public: ``public_n_moves``
                yield Question(statistics, by, where, with_people, "change_one")


PUBLIC_N = Question((sum("x"), mean("z"), variance("z"), proportion("x > 2")), people=False, neighbors="change_one")
"""A question under change_one for which the number of rows is public (claim P5)."""


def source(room: Room, table: Any, question: Question, tables: int = 1) -> Source:
    """Return a source of such a table."""
    columns = {
        "x": number(-3, 7),
        "z": number(-3, 7, integer=True),
        "key": keys("a", "b"),
        "rest": keys("a", "b", other="others"),
        "t": keys(range(tables)),
        "u": plain("text"),
    }
    described: dict[str, Any] = {"neighbors": question.neighbors, "delta": "0.01"}
    if question.people:
        described |= {"person": "person", "rows_per_person": ROWS_PER_PERSON}
    elif question.neighbors == "change_one":
        described |= {"public_rows": True}  # of Parquet it is anyway
    return room.source(table, columns=columns, **described)


def rows_of_one(people: bool, deep: bool = False) -> list[tuple[Row, ...]]:
    """Return all that one person may have; the first is nothing.  Only ``deep`` has every value with every key."""
    domain: list[Row] = [(*value, "a") for value in VALUES]
    domain += [(*value, key) for value in (VALUES if deep else VALUES[:5]) for key in ("b", None, "elsewhere")]
    if not people:
        return [(), *((row,) for row in domain)]
    few = [row for row in domain if row[:2] in VALUES[:4] and row[2] in ("a", "b")]
    return [
        (),
        *(rows for size in (1, ROWS_PER_PERSON) for rows in combinations_with_replacement(domain, size)),
        *combinations_with_replacement(few, ROWS_PER_PERSON + 1),
    ]


OTHERS: tuple[tuple[Row, ...], ...] = ((), ((0.0, 0, "a"),), ((7.0, 7, "b"), (1e308, 7, "a"), (None, None, None)))
"""What another person has meanwhile."""


@dataclass(frozen=True)
class Moved:
    """The integers of all tables: for each measurement an array (others, rows of one, cell)."""

    question: Question
    plan: Plan
    others: Sequence[tuple[Row, ...]]
    owned: Sequence[tuple[Row, ...]]
    cells: tuple[Cells, ...]

    @cached_property
    def pairs(self) -> list[Cells]:
        """For each measurement, ‖tally - tally′‖₁ of all neighbors: (others, what one has, what one has instead)."""
        found = []
        for cells in self.cells:
            if self.question.neighbors == "add_remove":
                found.append(np.abs(cells - cells[:, :1]).sum(axis=2)[:, :, None])
            else:
                own = cells[:, self._nobody :]
                found.append(np.stack([distances(each) for each in own]))
        return found

    @property
    def _nobody(self) -> int:
        """Where the rows of one begin: people may have none, but a row that is a person is there."""
        return 0 if self.question.people else 1

    @property
    def number(self) -> int:
        """How many pairs of neighbors there are."""
        return self.pairs[0].size

    def largest(self, measurement: int) -> int:
        """Return the largest distance of neighbors in one measurement."""
        return int(self.pairs[measurement].max())

    def witness(self, measurement: int) -> str:
        """Return two neighbors that are farthest apart, as text."""
        distances = self.pairs[measurement]
        others, one, two = map(int, np.unravel_index(int(distances.argmax()), distances.shape))
        if self.question.neighbors == "add_remove":
            return f"{_told(self.owned[one])} beside {_told(self.others[others])}"
        first, second = (_told(self.owned[each + self._nobody]) for each in (one, two))
        return f"{first} or {second} beside {_told(self.others[others])}"


def distances(cells: Cells) -> Cells:
    """Return the L1 distance of every two of these."""
    found = np.zeros((len(cells), len(cells)), np.int64)
    for cell in cells.T:
        if cell.any():
            found += np.abs(cell[:, None] - cell)
    return found


def _told(rows: Sequence[Row]) -> str:
    return " and ".join(str(row) for row in rows) or "nobody"


@dataclass(frozen=True)
class Tables:
    """All small tables as one, on an engine; and a table without rows."""

    room: Room
    owned: Sequence[tuple[Row, ...]]
    large: Any
    nothing: Any

    def moved(self, question: Question) -> Moved:
        """Return what one person moves, over all small tables."""
        number = len(OTHERS) * len(self.owned)
        asked = source(self.room, self.large, question, number)
        plan = source(self.room, self.large, question).plan(
            *question.statistics, by=question.by, where=question.where, epsilon=1
        )
        if any(each.chosen_values for each in plan.measured):
            by = ("t", *question.by)
            cells = _spreads(asked.plan(*question.statistics, by=by, where=question.where, epsilon=1), self.large)
        else:
            both = [frozen(each, question) for each in (asked, source(self.room, self.nothing, question, number))]
            cells = [
                np.stack([full - empty for full, empty in zip(*part, strict=True)], axis=-1)
                for part in zip(*both, strict=True)
            ]
            large = asked.plan(*question.statistics, by=("t", *question.by), where=question.where, epsilon=1)
            cells = [each // units(plan, large, i) for i, each in enumerate(cells)]
        shape = (len(OTHERS), len(self.owned), -1)
        found = tuple(each.reshape(number, -1).reshape(shape) for each in cells)
        return Moved(question, plan, OTHERS, self.owned, found)


def placed(room: Room, people: bool) -> Tables:
    """Return the tables, put into the first of the engines."""
    owned = rows_of_one(people, room.deep)
    tables = [(others, own) for others in OTHERS for own in owned]
    large, nothing = (room.table(together(each), TYPES) for each in (tables, []))
    return Tables(room, owned, large, nothing)


def frozen(asked: Source, question: Question, by: tuple[str, ...] = ("t",)) -> Noisy:
    """Return the noisy integers of all tables, with noise that is always the same."""
    options: dict[str, Any] = {"by": (*by, *question.by), "where": question.where, "epsilon": 1000}
    return asked.release(*question.statistics, **options, entropy=EntropyForTests(SEED)).cells


def public_n_moves(room: Room, question: Question, rows: int = 2) -> Moved:
    """Return what one person moves where the number of rows is public: tables of so many rows, asked one by one."""
    others = [((*value, "a"),) * (rows - 1) for value in (VALUES[0], VALUES[1], VALUES[4])]
    owned = [(), *(((*value, "a"),) for value in (VALUES if rows == 2 else VALUES[:3]))]
    asked = [source(room, room.table(together([(a, b)]), TYPES), question) for a in others for b in owned[1:]]
    plan = asked[0].plan(*question.statistics, epsilon=1, rows=rows)
    found = [frozen(each, question, ()) for each in asked]
    cells = []
    for i in range(len(plan.parts)):
        own = np.array([np.concatenate(each[i]) for each in found]).reshape(len(others), len(owned) - 1, -1)
        cells.append(np.concatenate([np.zeros_like(own[:, :1]), own], axis=1))
    return Moved(question, plan, others, owned, tuple(cells))


def together(tables: Sequence[tuple[Sequence[Row], Sequence[Row]]]) -> dict[str, list[Any]]:
    """Return one table with all rows of all tables, each with its number and people of its own."""
    rows = [
        (t, f"{t} {who}", *row, row[2], row[2])
        for t, both in enumerate(tables)
        for who, own in zip(("other", "one"), both, strict=True)
        for row in own
    ]
    return {name: [row[i] for row in rows] for i, name in enumerate(TYPES)}


def units(plan: Plan, large: Plan, number: int) -> int:
    """Return how many units of a cell in the large table are one in a small one: people may weigh more there."""
    small, more = (each.parts[number].measurement.unit(each.setting(each.parts[number])) for each in (plan, large))
    return int(small / more)


def _spreads(plan: Plan, table: Any) -> list[Cells]:
    """Return the weights by group and value that quantiles are chosen from, as the engine returns them."""
    asked = connect(table, "t")
    plan = plan.on(asked.dialect)
    found = []
    for spread in map(sorted_values, asked.tally(plan.schema, plan.lowered).own):
        places, where = np.unique(spread.indices, return_inverse=True)
        cells = np.zeros((plan.groups, len(places)), np.int64)
        np.add.at(cells, (spread.groups, where), spread.weights)
        found.append(cells)
    return found
