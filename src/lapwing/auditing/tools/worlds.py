"""Worlds drawn at random: declarations, tables, questions and neighbors, from all that a user can declare and ask.

Statistics are found by their constructors (question/query.py), and the values of their parameters by name: a new
statistic is drawn without further work, and a new parameter without values makes the check fail.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

from ...question import query, ratios
from ...question.query import Statistic
from ...question.schema import Column
from ...question.sets import KeySets, cube, rollup, sets
from .columns import (
    DrawnColumn,
    draw_edges,
    draw_field,
    draw_keys,
    draw_number,
    draw_plain,
    stored_types,
    typed,
    with_codes,
)
from .conditions import Cells, DrawnCondition, draw_condition
from .joined import NO_JOINS, DrawnJoins, draw_joins

Row = tuple[Any, ...]
"""The person, the cells of the columns in their order, and how many times the row occurs."""

FORMS = ("Parquet", "CSV", "a relation", "pandas", "Polars", "Arrow")
DOORS = ("release", "bounds", "discover", "rows_per_person")

_NAMES = ("x", "Wage €", 'quo"te', "it's", "select", "a.b", "c0", "%s {x}", "Größe", "back\\slash", "person_id", "n")
_EPSILONS = ("1", "0.1", "0.3", "2.5", "8", "0.007")
_MOST_GROUPS = 60
_ALONE = {"histogram", "cdf"}
"""Statistics that are asked for alone."""

_ADDING_UP = {"count", "sum", "mean", "variance", "std", "proportion"}
"""Statistics of which several tables can be asked."""


@dataclass(frozen=True)
class DrawnQuestion:
    """What is asked: through which door, and the arguments of that call, with the condition apart."""

    door: str
    statistics: tuple[Statistic, ...] = ()
    condition: DrawnCondition | None = None
    shares: tuple[DrawnCondition | None, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    epsilon: str = "1"

    @property
    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of the call."""
        where = {} if self.condition is None else {"where": self.condition.text}
        return {**dict(self.options), **where, "epsilon": self.epsilon}


@dataclass(frozen=True)
class World:
    """Declarations, a table as what one person has and what the others have, and a question.

    ``before`` and ``after`` are the rows of one person in the table and in its neighbor.
    """

    seed: int
    fields: Mapping[str, DrawnColumn]
    described: Mapping[str, Any]
    form: str
    question: DrawnQuestion
    others: tuple[Row, ...]
    before: tuple[Row, ...]
    after: tuple[Row, ...]
    joins: DrawnJoins = NO_JOINS

    @property
    def person(self) -> str | None:
        """The column that identifies a person."""
        return self.described.get("person")

    def joined(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Yield the rows that count: those of the table, or those that joins make of them."""
        return self.joins.flat(self.fields, rows, self.form == "CSV") if self.joins.names else iter(rows)

    def typed(self, row: Row) -> Cells:
        """Return the cells of a row as they count (docs/reference/source.md)."""
        return {
            name: typed(cell, field.declared, self.form == "CSV")
            for (name, field), cell in zip(self.fields.items(), row[1:-1], strict=True)
        }

    def __str__(self) -> str:
        columns = "; ".join(f"{name}: {_shown(field.declared)}" for name, field in self.fields.items())
        question = self.question
        asked = ", ".join(
            each.text if each.edges is None else f"{each.text} {_list(each.edges)}" for each in question.statistics
        )
        options = ", ".join(f"{name} = {value!r}" for name, value in question.arguments.items())
        described = ", ".join(f"{name} = {value!r}" for name, value in self.described.items())
        rows = [
            f"{what}: {_rows(each)}"
            for what, each in (("others", self.others), ("one", self.before), ("or", self.after))
        ]
        joins = f", {self.joins}," if self.joins.names else ""
        asking = f"{question.door} {asked} ({options}) of {self.form}{joins}"
        return f"{asking} with {columns}; {described}; {'; '.join(rows)}; world {self.seed}"


def _shown(column: Column) -> str:
    bounds = "" if column.low is None else f" from {column.low} to {column.high}"
    edges = "" if column.edges is None else f" edges {_list(column.edges)}"
    listed = "" if column.keys is None else f" keys {_list(column.keys[:6])}"
    codes = "" if not column.missing else f" missing {_list(column.missing)}"
    return f"{column.kind}{bounds}{edges}{listed}{'' if column.other is None else ' and other'}{codes}"


def _list(values: Sequence[Any]) -> str:
    return ", ".join(str(each) if isinstance(each, Fraction) else repr(each) for each in values)


def _rows(rows: Sequence[Row]) -> str:
    shown = [f"{row[:-1]}{'' if row[-1] == 1 else f' × {row[-1]:,}'}" for row in rows[:8]]
    return (" and ".join(shown) or "nobody") + ("" if len(rows) <= 8 else f" and {len(rows) - 8} more")


# --- declarations ---


def draw_world(seed: int) -> World:
    """Return the world of a seed; its question may be one that the source refuses.

    Seeds in a row go through all statistics, both relations, people and rows, groups and none; the rest is random.
    """
    random, turn = Random(f"world {seed}"), _Turn(seed)
    names = random.sample(_NAMES, random.choice((1, 2, 2, 3, 4)))
    fields = {name: draw_field(random) for name in names}
    if not any(field.declared.low is not None for field in fields.values()):
        fields[names[0]] = draw_number(random)
    if turn.grouped and not any(field.declared.groups for field in fields.values()):
        fields[random.choice([name for name in _NAMES if name not in fields])] = draw_keys(random)
    if turn.asks == "discover" and all(field.declared.kind == "number" for field in fields.values()):
        fields[random.choice([name for name in _NAMES if name not in fields])] = draw_plain(random, "text")
    if turn.several:
        fields |= _more_keys(Random(f"keys {seed}"), fields)
    fields = {name: with_codes(Random(f"codes {seed} {name}"), field) for name, field in fields.items()}
    described: dict[str, Any] = {"neighbors": turn.neighbors}
    form = random.choice(("Parquet",) * (20 if turn.has_public_n else 5) + FORMS)
    if turn.people:
        free = [name for name in _NAMES if name not in fields]
        described |= {"person": random.choice(free), "rows_per_person": random.choice((1, 1, 2, 3, 7))}
    elif turn.neighbors == "change_one" and form not in ("Parquet", "CSV") and random.random() < 0.6:
        described["public_rows"] = True
    if form in ("Parquet", "a relation"):
        fields = {name: replace(field, stored=random.choice(stored_types(field))) for name, field in fields.items()}
    drawn = World(seed, fields, described, form, DrawnQuestion("release"), (), (), ())
    question = _question(random, drawn, turn)
    drawn = replace(drawn, fields={name: _with_borders(name, field, question) for name, field in fields.items()})
    others, before, after = _people(random, drawn)
    joins = NO_JOINS
    if turn.joined:
        joins = draw_joins(Random(f"joins {seed}"), drawn.fields, turn.people, form == "CSV")
    return replace(drawn, question=question, others=others, before=before, after=after, joins=joins)


def _more_keys(random: Random, fields: Mapping[str, DrawnColumn]) -> dict[str, DrawnColumn]:
    """Return key columns that a question for several tables can have besides."""
    free = [name for name in _NAMES if name not in fields]
    return {name: draw_keys(random) for name in random.sample(free, random.choice((1, 1, 2)))}


def _with_borders(name: str, field: DrawnColumn, question: DrawnQuestion) -> DrawnColumn:
    """Return a column with the borders of its bins among its cells."""
    asked = [each.edges or () for each in question.statistics if each.column == name]
    borders = [border for edges in (field.declared.edges or (), *asked) for border in edges]
    if field.declared.kind == "integer":
        return replace(field, cells=(*field.cells, *(int(border) for border in borders if border.denominator == 1)))
    return replace(field, cells=(*field.cells, *map(float, borders))) if field.stored == "DOUBLE" else field


@dataclass(frozen=True)
class _Turn:
    """What a world has by its number."""

    number: int

    @property
    def people(self) -> bool:
        return self.number % 2 == 0

    @property
    def neighbors(self) -> str:
        return ("add_remove", "change_one")[self.number // 2 % 2]

    @property
    def grouped(self) -> bool:
        return self.number // 4 % 2 == 0

    @property
    def joined(self) -> bool:
        return self.number % 3 == 0

    @property
    def has_public_n(self) -> bool:
        """Whether the number of rows may be public."""
        return not self.people and not self.grouped and self.neighbors == "change_one"

    @property
    def several(self) -> bool:
        """Whether several tables are asked: in every second round of the statistics."""
        again = self.number // 8 // len(_doors()) % 2 == 1
        return again and self.grouped and self.asks in _ADDING_UP

    @property
    def asks(self) -> str:
        """The name of the first statistic, or of another door."""
        return _doors()[self.number // 8 % len(_doors())]


@cache
def _doors() -> list[str]:
    """Return the names of all statistics, and of the other doors."""
    return [*constructors(), *DOORS[1:]]


# --- tables ---

ONE = "the one"


def _people(random: Random, world: World) -> tuple[tuple[Row, ...], tuple[Row, ...], tuple[Row, ...]]:
    """Return the rows of the others, and those that one person has, or has instead."""
    size = random.choice((0, 1, 3, 3, 10, 40))
    people = [f"p{i}" for i in range(max(size // 2, 1))] + [None]
    others = [(*_row(random, world, random.choice(people)), random.choice((1,) * 12 + (2, 50))) for _ in range(size)]
    if size and random.random() < 0.5:
        cells = random.choice((others[0], *(rows[0] for rows in extremes(world))))[1:-1]
        others = [(row[0], *cells, 1) for row in others]
    if size and random.random() < 0.05:
        others[0] = (*others[0][:-1], 10**5 if world.form in ("Parquet", "a relation") else 5000)
    changed = world.described["neighbors"] == "change_one"
    if world.person is None:
        before, after = ((*_row(random, world, None), 1),), ((*_row(random, world, None), 1),)
        return tuple(others), before if changed else (), after
    return tuple(others), _owned(random, world) if changed else (), _owned(random, world)


def _row(random: Random, world: World, person: Any) -> Row:
    return person, *(random.choice(field.cells) for field in world.fields.values())


def extremes(world: World) -> Iterator[tuple[Row, ...]]:
    """Yield other rows that one person may have: as many as count, all alike, of every cell the lowest or highest."""
    number = world.described.get("rows_per_person", 1)
    for pick in (min, max):
        cells = []
        for field in world.fields.values():
            known = [cell for cell in field.cells if typed(cell, field.declared) is not None]
            inside = [cell for cell in known if field.declared.keys is None or cell in field.declared.keys]
            cells.append(pick(inside, default=None))
        yield ((ONE if world.person else None, *cells, number),)


def _owned(random: Random, world: World) -> tuple[Row, ...]:
    """Return what one person has: up to the rows that count, a few more, or far more than that."""
    k = world.described["rows_per_person"]
    number = random.choice((1, k, k, k + 1, 2 * k + 3))
    rows = [_row(random, world, ONE) for _ in range(number)]
    if random.random() < 0.4:
        rows = [rows[0]] * number
    times = [1] * number
    if random.random() < 0.2:
        times[0] = random.choice((100, 1000) if world.form != "Parquet" else (100, 1000, 200_000))
    return tuple((*row, many) for row, many in zip(rows, times, strict=True))


# --- questions ---


@cache
def constructors() -> dict[str, Callable[..., Any]]:
    """Return the functions that make statistics, by name."""
    return {
        name: function
        for module in (query, ratios)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not name.startswith("_")
        and str(inspect.signature(function).return_annotation).split(" | ")[0] == Statistic.__name__
        and "None" not in str(inspect.signature(function).return_annotation)
    }


@dataclass(frozen=True)
class _Drawing:
    """What the parameters of a statistic are drawn from."""

    random: Random
    world: World
    number: int

    @property
    def numeric(self) -> list[str]:
        return [name for name, field in self.world.fields.items() if field.declared.low is not None]

    def condition(self) -> DrawnCondition:
        columns = {name: field.declared for name, field in self.world.fields.items()}
        values = {
            name: [value for value in (typed(cell, field.declared) for cell in field.cells) if _is_short(value)]
            for name, field in self.world.fields.items()
        }
        return draw_condition(self.random, columns, values, self.random.choice((0, 1, 2, 3)))

    def levels(self) -> str | list[str]:
        known = ("0", "1", "0.5", "0.25", "0.9", "1/3", "0.001", "0.75", "0.6")
        return (
            self.random.choice(known)
            if self.random.random() < 0.5
            else self.random.sample(known, self.random.randint(2, 7))
        )

    def counted(self) -> Statistic:
        """Return a count or sum."""
        column = self.random.choice(self.numeric)
        return self.random.choice((query.count(), query.count(column), query.sum(column), query.sum(column)))

    def edges(self, column: str) -> Any:
        declared = self.world.fields[column].declared
        return draw_edges(self.random, declared.low or Fraction(0), declared.high or Fraction(1))


def _is_short(value: Any) -> bool:
    """Return whether a value may be a literal: numbers of hundreds of digits may not."""
    return value is not None and (not isinstance(value, Fraction) or abs(value) < 10**18)


_PARAMETERS: dict[str, Callable[[_Drawing, dict[str, Any]], Any]] = {
    "column": lambda d, _: d.random.choice(d.numeric),
    "share": lambda d, _: d.random.choice((None, None, None, 1, 3, "0.5")),
    "weight": lambda d, _: None,  # weighted statistics and expressions are drawn by the check ``expressions``
    "error": lambda d, _: None,  # only a plan has it
    "name": lambda d, _: f"s{d.number}",
    "sample": lambda d, _: d.random.random() < 0.5,
    "condition": lambda d, _: d.condition(),
    "edges": lambda d, given: d.random.choice((7, 20)) if d.random.random() < 0.3 else d.edges(given["column"]),
    "q": lambda d, _: d.levels(),
    "numerator": lambda d, _: d.counted(),
    "denominator": lambda d, _: d.counted(),
    "factor": lambda d, _: d.random.choice((1, 1, 100, "-0.5")),
}
"""The values of the parameters of statistics, by name."""


def _statistics(drawing: _Drawing, name: str) -> list[tuple[Statistic, DrawnCondition | None]]:
    """Return a statistic, or several at once, each with the condition of which it is the share."""
    given: dict[str, Any] = {}
    for parameter in inspect.signature(constructors()[name]).parameters.values():
        if parameter.name not in _PARAMETERS:
            raise LookupError(f"no values are known for the parameter {parameter.name} of lw.{name}")
        given[parameter.name] = _PARAMETERS[parameter.name](drawing, given)
        if parameter.name == "edges" and parameter.default is parameter.empty and isinstance(given["edges"], int):
            given["edges"] = drawing.edges(given["column"])
    if name == "count" and drawing.random.random() < 0.5:
        del given["column"]
    share = given.get("condition")
    if isinstance(share, DrawnCondition):
        given["condition"] = share.text
    if isinstance(given.get("q"), list):
        del given["name"]  # each has its own
    made = constructors()[name](**given)
    return [(each, share) for each in (made if isinstance(made, list) else [made])]


def _question(random: Random, world: World, turn: _Turn) -> DrawnQuestion:
    drawing, epsilon = _Drawing(random, world, 0), random.choice(_EPSILONS)
    condition = drawing.condition() if random.random() < (0.2 if turn.has_public_n else 0.4) else None
    alone = turn.asks in ("people", "rows_per_person") and world.person is None
    first = "count" if alone else turn.asks
    if first == "rows_per_person":
        return DrawnQuestion(first, (), condition, (), (("share", random.choice(("0.95", "0.5"))),), epsilon)
    if first == "bounds":
        return DrawnQuestion(first, (), condition, (), (("column", random.choice(drawing.numeric)),), epsilon)
    if first == "discover":
        found = [name for name, field in world.fields.items() if field.declared.kind != "number"]
        options: tuple[tuple[str, Any], ...] = (("delta", random.choice(("1e-6", "0.01"))),)
        if world.person is not None and random.random() < 0.5:
            options = (*options, ("keys_per_person", random.choice((1, 2, 5))))
        return DrawnQuestion(first, (), condition, (), (("column", random.choice(found)), *options), epsilon)
    chosen = [first]
    if first not in _ALONE and random.random() < 0.55:
        others = [
            name for name in constructors() if name not in _ALONE and (name != "people" or world.person is not None)
        ]
        chosen += random.sample(("count", *others), random.choice((1, 2, 4)))
    chosen = [name for name in chosen if not turn.several or name in _ADDING_UP]
    made = [each for i, name in enumerate(chosen) for each in _statistics(replace(drawing, number=i), name)]
    if turn.several:
        asked, shares = tuple(each for each, _ in made), tuple(share for _, share in made)
        return DrawnQuestion("release", asked, condition, shares, _tables(random, world), epsilon)
    options = (("by", _by(random, world, made[0][0]) if turn.grouped else ()),)
    if random.random() < 0.15:
        options = (*options, ("intervals", False))
    columns = sorted({each.column for each, _ in made if each.column is not None})
    if columns and first not in _ALONE and random.random() < 0.15:
        options = (*options, ("weights", {name: random.choice((1, 2, "0.5")) for name in columns}))
    asked, shares = tuple(each for each, _ in made), tuple(share for _, share in made)
    return DrawnQuestion("release", asked, condition, shares, options, epsilon)


def _by(random: Random, world: World, first: Statistic) -> tuple[str, ...]:
    binned = first.column if first.kind in ("histogram", "cdf") else None
    keys = [name for name, field in world.fields.items() if field.declared.groups and name != binned]
    chosen = random.sample(keys, min(len(keys), random.choice((1, 1, 2))))
    while math.prod(world.fields[name].declared.groups for name in chosen) > _MOST_GROUPS:
        chosen.pop()
    return tuple(chosen)


def _tables(random: Random, world: World) -> tuple[tuple[str, Any], ...]:
    """Return the options of a question for several tables: which, how much each counts, and what is made small."""
    chosen = [name for name, field in world.fields.items() if field.declared.groups]
    random.shuffle(chosen)
    chosen = sorted(chosen[:3], key=lambda name: world.fields[name].declared.groups > _MOST_GROUPS // 4)
    while len(chosen) > 1 and math.prod(world.fields[name].declared.groups for name in chosen) > _MOST_GROUPS:
        chosen.pop()
    whole = cube(*chosen).tables
    asked = random.choice((cube(*chosen), rollup(*chosen), sets(*random.sample(whole, min(len(whole), 3)))))
    options: tuple[tuple[str, Any], ...] = (("by", asked),)
    if len(asked.tables) > 1 and random.random() < 0.7:
        weights = {table: random.choice((1, 30, 1000)) for table in asked.tables}
        options = (*options, ("weights", weights), ("objective", random.choice(("mean", "minimax", "cells"))))
    return options


def asked_keys(question: DrawnQuestion) -> tuple[str, ...]:
    """Return the key columns of a question."""
    by = dict(question.options).get("by", ())
    return tuple(dict.fromkeys(name for table in by.tables for name in table)) if isinstance(by, KeySets) else by
