"""Worlds drawn at random: declarations, tables, questions and neighbors, from all that a user can declare and ask.

Statistics are found by their constructors (question/query.py), and the values of their parameters by name: a new
statistic is drawn without further work, and a new parameter without values makes the check fail.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from random import Random
from typing import Any

from ...question import query, schema
from ...question.query import Statistic
from ...question.schema import Column, Kind
from .conditions import Cells, DrawnCondition, draw_condition

Row = tuple[Any, ...]
"""The person, the cells of the columns in their order, and how many times the row occurs."""

FORMS = ("Parquet", "CSV", "a relation", "pandas", "Polars", "Arrow")
DOORS = ("release", "bounds", "discover")

_NAMES = ("x", "Wage €", 'quo"te', "it's", "select", "a.b", "c0", "%s {x}", "Größe", "back\\slash", "person_id", "n")
_TEXTS = (
    "a", "A", "a ", "b'; DROP TABLE t; --", "''", '"', "back\\slash", "\\'", "é", "e\u0301", "x,y", "two\nlines", "%",
    "NULL", "1", "01", "true", "nord", "süd", "🦤",
)  # fmt: skip
_EPSILONS = ("1", "0.1", "0.3", "2.5", "8", "0.007")
_MOST_GROUPS = 60
_ALONE = {"histogram", "cdf"}
"""Statistics that are asked for alone."""


@dataclass(frozen=True)
class DrawnColumn:
    """A column: its declaration, the cells that occur in it, and the type in which a table stores it."""

    declared: Column
    cells: tuple[Any, ...]
    stored: str


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

    @property
    def person(self) -> str | None:
        """The column that identifies a person."""
        return self.described.get("person")

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
        asking = f"{question.door} {asked} ({options}) of {self.form}"
        return f"{asking} with {columns}; {described}; {'; '.join(rows)}; world {self.seed}"


def typed(cell: Any, declared: Column, empty_is_missing: bool = False) -> Any:
    """Return a cell as it counts: a number as a fraction, None if it is missing."""
    if cell is None or (empty_is_missing and cell == ""):
        return None
    if declared.kind in ("number", "integer"):
        return Fraction(float(cell)) if math.isfinite(float(cell)) else None
    return cell


def _shown(column: Column) -> str:
    bounds = "" if column.low is None else f" from {column.low} to {column.high}"
    edges = "" if column.edges is None else f" edges {_list(column.edges)}"
    listed = "" if column.keys is None else f" keys {_list(column.keys[:6])}"
    return f"{column.kind}{bounds}{edges}{listed}{'' if column.other is None else ' and other'}"


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
    fields = {name: _field(random) for name in names}
    if not any(field.declared.low is not None for field in fields.values()):
        fields[names[0]] = _number(random)
    if turn.grouped and not any(field.declared.groups for field in fields.values()):
        fields[random.choice([name for name in _NAMES if name not in fields])] = _keys(random)
    if turn.asks == "discover" and all(field.declared.kind == "number" for field in fields.values()):
        fields[random.choice([name for name in _NAMES if name not in fields])] = _plain(random, "text")
    described: dict[str, Any] = {"neighbors": turn.neighbors}
    form = random.choice(("Parquet",) * (20 if turn.has_public_n else 5) + FORMS)
    if turn.people:
        free = [name for name in _NAMES if name not in fields]
        described |= {"person": random.choice(free), "rows_per_person": random.choice((1, 1, 2, 3, 7))}
    elif turn.neighbors == "change_one" and form not in ("Parquet", "CSV") and random.random() < 0.6:
        described["public_rows"] = True
    if form in ("Parquet", "a relation"):
        fields = {name: replace(field, stored=random.choice(_stored(field))) for name, field in fields.items()}
    drawn = World(seed, fields, described, form, DrawnQuestion("release"), (), (), ())
    question = _question(random, drawn, turn)
    drawn = replace(drawn, fields={name: _with_borders(name, field, question) for name, field in fields.items()})
    others, before, after = _people(random, drawn)
    return replace(drawn, question=question, others=others, before=before, after=after)


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
    def has_public_n(self) -> bool:
        """Whether the number of rows may be public."""
        return not self.people and not self.grouped and self.neighbors == "change_one"

    @property
    def asks(self) -> str:
        """The name of the first statistic, or of another door."""
        asked = [*constructors(), *DOORS[1:]]
        return asked[self.number // 8 % len(asked)]


def _stored(field: DrawnColumn) -> tuple[str, ...]:
    """Return types in which a table may store these cells, all of which are read alike."""
    usual = (field.stored,) * 3
    if field.stored == "BIGINT":
        return (*usual, "HUGEINT", "VARCHAR", "DECIMAL(38,0)", "DOUBLE")
    more = {"DOUBLE": ("VARCHAR",), "DATE": ("TIMESTAMP", "VARCHAR"), "BOOLEAN": ("VARCHAR",), "VARCHAR": ()}
    return (*usual, *more[field.stored])


def _field(random: Random) -> DrawnColumn:
    return random.choice((_number, _number, _number, _keys, _keys, _plain))(random)


def _number(random: Random) -> DrawnColumn:
    integer = random.random() < 0.4
    low, high = _bounds(random, integer)
    options: dict[str, Any] = {"integer": integer}
    if random.random() < 0.2:
        options["edges"] = _edges(random, low, high)
    declared = schema.number(low, high, **options)
    return DrawnColumn(declared, _numbers(random, low, high, integer), "BIGINT" if integer else "DOUBLE")


def _bounds(random: Random, integer: bool) -> tuple[Fraction, Fraction]:
    """Return bounds anywhere: around 0, away from it, with many digits, far apart or close together."""
    shape = random.randrange(6)
    if shape == 0:
        low, width = Fraction(random.randint(-20, 20)), Fraction(random.randint(1, 30))
    elif shape == 1:
        low, width = Fraction(random.choice((2, 1000, -7, -1000))), Fraction(random.choice((1, 5, 400)))
    elif shape == 2:
        low, width = Fraction(random.randint(-(10**14), 10**14)), Fraction(random.randint(1, 10**14))
    elif shape == 3:
        low, width = Fraction(0), Fraction(random.choice((1, 10, 10**6, 2**24, 2**24 + 1, 2**40)))
    elif shape == 4:
        low = Fraction(random.randint(-(10**6), 10**6), 10 ** random.randint(1, 6))
        width = Fraction(random.randint(1, 10**9), 10 ** random.randint(1, 9))
    else:
        low, width = Fraction(-1, 3), Fraction(random.choice((1, 2)), random.choice((1, 3, 7)))
    if integer:
        low, width = Fraction(math.floor(low)), Fraction(max(math.ceil(width), 1))
    if not integer and random.random() < 0.1:
        factor = Fraction(10) ** random.choice((-12, 12))
        low, width = low * factor, width * factor
    return low, low + width


def _edges(random: Random, low: Fraction, high: Fraction) -> list[Fraction]:
    """Return borders of bins, few or many, within the bounds or not, some of them on cells."""
    chosen = {Fraction(random.randint(-1, 9), 8) for _ in range(random.choice((2, 3, 5)))}
    if random.random() < 0.3:
        chosen = {Fraction(place, 32) for place in range(random.choice((-1, 0)), random.choice((20, 33)))}
    places = sorted(chosen | {Fraction(0), Fraction(1, 2), Fraction(1)})
    return [low + place * (high - low) for place in places]


def _numbers(random: Random, low: Fraction, high: Fraction, integer: bool) -> tuple[Any, ...]:
    """Return cells: mostly the bounds, and values within, beyond and far beyond them, and none at all."""
    width = high - low
    values: list[Any] = [low, high, low, high, (low + high) / 2, low + width / 3, Fraction(0)]
    values += [low - width, high + width, low + width / 7, None]
    if integer:
        cells = [None if each is None else round(each) for each in values]
        return (*random.sample(cells, random.randint(3, 8)), *random.sample((None, 2**62, -(2**62), 0), 1))
    cells = [None if each is None else float(each) for each in values]
    odd = (math.nan, math.inf, -math.inf, 1e308, -1e308, -0.0, 5e-324, None)
    return (*random.sample(cells, random.randint(3, 8)), *random.sample(odd, random.randint(0, 2)))


def _keys(random: Random) -> DrawnColumn:
    kind = random.choice(("text", "text", "integer", "boolean", "date"))
    pool: list[Any] = list({"text": _TEXTS, "boolean": (True, False)}.get(kind, ()))
    if kind == "integer":
        pool = [0, 1, -1, 7, 2024, 2**31, 2**53, -(2**53), 10, 11]
    elif kind == "date":
        pool = [date(2024, 2, 28) + timedelta(days) for days in (0, 1, 2, 366, -40_000, 700_000)]
    number = random.randint(1, min(len(pool), 5))
    listed = random.sample(pool, number)
    other = random.choice((None, None, "all others"))
    if kind == "text" and random.random() < 0.05:
        listed = [f"key {i}" for i in range(120)]
    unlisted = [each for each in pool if each not in listed]
    cells = (*listed[:5], *listed[:2], *random.sample(unlisted, min(len(unlisted), 2)), None)
    stored = {"text": "VARCHAR", "integer": "BIGINT", "boolean": "BOOLEAN", "date": "DATE"}[kind]
    return DrawnColumn(schema.keys(listed, other=other), cells, stored)


def _plain(random: Random, only: Kind | None = None) -> DrawnColumn:
    kind = random.choice(schema.KINDS) if only is None else only
    cells: dict[str, tuple[Any, ...]] = {
        "text": (*random.sample(_TEXTS, 5), None),
        "number": (0.5, -2.0, 0.0, 1e12, math.nan, None),
        "integer": (1, 2, 3, -4, 2**40, None),
        "boolean": (True, False, None),
        "date": (date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31), None),
    }
    stored = {"text": "VARCHAR", "number": "DOUBLE", "integer": "BIGINT", "boolean": "BOOLEAN", "date": "DATE"}[kind]
    return DrawnColumn(schema.plain(kind), cells[kind], stored)


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
        others[0] = (*others[0][:-1], 10**5)
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


def constructors() -> dict[str, Callable[..., Any]]:
    """Return the functions that make statistics, by name."""
    return {
        name: function
        for name, function in inspect.getmembers(query, inspect.isfunction)
        if function.__module__ == query.__name__
        and not name.startswith("_")
        and str(inspect.signature(function).return_annotation).split(" ")[0] == Statistic.__name__
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

    def edges(self, column: str) -> Any:
        declared = self.world.fields[column].declared
        return _edges(self.random, declared.low or Fraction(0), declared.high or Fraction(1))


def _is_short(value: Any) -> bool:
    """Return whether a value may be a literal: numbers of hundreds of digits may not."""
    return value is not None and (not isinstance(value, Fraction) or abs(value) < 10**18)


_PARAMETERS: dict[str, Callable[[_Drawing, dict[str, Any]], Any]] = {
    "column": lambda d, _: d.random.choice(d.numeric),
    "weight": lambda d, _: d.random.choice((None, None, None, 1, 3, "0.5")),
    "error": lambda d, _: None,  # only a plan has it
    "name": lambda d, _: f"s{d.number}",
    "sample": lambda d, _: d.random.random() < 0.5,
    "condition": lambda d, _: d.condition(),
    "edges": lambda d, given: d.random.choice((7, 20)) if d.random.random() < 0.3 else d.edges(given["column"]),
    "q": lambda d, _: d.levels(),
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
    first = turn.asks if turn.asks != "people" or world.person is not None else "count"
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
    made = [each for i, name in enumerate(chosen) for each in _statistics(replace(drawing, number=i), name)]
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
