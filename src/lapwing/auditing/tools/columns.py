"""Columns drawn at random: declarations of all kinds, and the cells that occur under them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from random import Random
from typing import Any

from ...question import codes, schema
from ...question.codes import Kind
from ...question.schema import Column

_TEXTS = (
    "a", "A", "a ", "b'; DROP TABLE t; --", "''", '"', "back\\slash", "\\'", "é", "e\u0301", "x,y", "two\nlines", "%",
    "NULL", "1", "01", "true", "nord", "süd", "🦤",
)  # fmt: skip


@dataclass(frozen=True)
class DrawnColumn:
    """A column: its declaration, the cells that occur in it, and the type in which a table stores it."""

    declared: Column
    cells: tuple[Any, ...]
    stored: str


def typed(cell: Any, declared: Column, empty_is_missing: bool = False) -> Any:
    """Return a cell as it counts: a number as a fraction, None if it is missing."""
    if cell is None or (empty_is_missing and cell == ""):
        return None
    if declared.kind in ("number", "integer"):
        if not math.isfinite(float(cell)):
            return None
        cell = Fraction(float(cell))
    return None if cell in [_as_read(code) for code in declared.missing] else cell


def _as_read(code: Any) -> Any:
    """Return a code as cells are compared with it: a number as the nearest float."""
    return Fraction(float(code)) if isinstance(code, Fraction) else code


def stored_types(field: DrawnColumn) -> tuple[str, ...]:
    """Return types in which a table may store these cells, all of which are read alike."""
    usual = (field.stored,) * 3
    if field.stored == "BIGINT":
        return (*usual, "HUGEINT", "VARCHAR", "DECIMAL(38,0)", "DOUBLE")
    more = {"DOUBLE": ("VARCHAR",), "DATE": ("TIMESTAMP", "VARCHAR"), "BOOLEAN": ("VARCHAR",), "VARCHAR": ()}
    return (*usual, *more[field.stored])


def draw_field(random: Random) -> DrawnColumn:
    """Return a column of any kind."""
    return random.choice((draw_number, draw_number, draw_number, draw_keys, draw_keys, draw_plain))(random)


def with_codes(random: Random, field: DrawnColumn) -> DrawnColumn:
    """Return a column in which, now and then, a cell that occurs is a code for missing."""
    declared = field.declared
    found = {typed(cell, declared) for cell in field.cells} - {None, *(declared.keys or ())}
    if declared.kind == "boolean" or not found or random.random() < 0.7:
        return field
    code = random.choice(sorted(found))
    if isinstance(code, Fraction) and abs(code) > 10**300:
        return field
    return replace(field, declared=replace(declared, missing=(code,)))


def draw_number(random: Random) -> DrawnColumn:
    """Return a column of numbers with bounds, and some with bins or keys."""
    integer = random.random() < 0.4
    low, high = _bounds(random, integer)
    options: dict[str, Any] = {"integer": integer}
    if random.random() < 0.2:
        options["edges"] = draw_edges(random, low, high)
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


def draw_edges(random: Random, low: Fraction, high: Fraction) -> list[Fraction]:
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


def draw_keys(random: Random) -> DrawnColumn:
    """Return a column of keys, with cells that are listed and others."""
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


def draw_plain(random: Random, only: Kind | None = None) -> DrawnColumn:
    """Return a column that is declared by its type alone."""
    kind = random.choice(codes.KINDS) if only is None else only
    cells: dict[str, tuple[Any, ...]] = {
        "text": (*random.sample(_TEXTS, 5), None),
        "number": (0.5, -2.0, 0.0, 1e12, math.nan, None),
        "integer": (1, 2, 3, -4, 2**40, None),
        "boolean": (True, False, None),
        "date": (date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31), None),
    }
    stored = {"text": "VARCHAR", "number": "DOUBLE", "integer": "BIGINT", "boolean": "BOOLEAN", "date": "DATE"}[kind]
    return DrawnColumn(schema.plain(kind), cells[kind], stored)
