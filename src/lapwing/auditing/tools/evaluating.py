"""Expressions drawn at random: their text in SQL, and their value on a row, computed in fractions without an engine.

A value is None if it is missing, else an interval of fractions: where the product rounds to a public grid that is finer
than any that this module knows, the interval is a little wider than a point.  Where a comparison or FLOOR could go
either way inside the interval, the row is ``Unsure``, and says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

from ...question.schema import Column, dates, keys, number, plain

Cells = Mapping[str, Any]

COLUMNS: dict[str, Column] = {
    "x": number(-3, 7),
    "u": number(0, 4),
    "z": number(-3, 7, integer=True),
    "c": keys(1, 2, 9),
    "b": plain("boolean"),
    "d": dates("2019-12-30", "2021-03-02"),
    "e": dates("2020-02-27", "2020-12-31"),
    "k": keys("a", "b"),
}
TYPES = {
    "x": "DOUBLE", "u": "DOUBLE", "z": "BIGINT", "c": "BIGINT", "b": "BOOLEAN", "d": "DATE", "e": "DATE",
    "k": "VARCHAR",
}  # fmt: skip
_DAYS = [date(2019, 12, 29), date(2019, 12, 30), date(2020, 2, 29), date(2020, 12, 31), date(2021, 3, 1), date.max]
CELLS: dict[str, list[Any]] = {
    "x": [-3.0, 7.0, 0.0, 2.5, math.nan, None, math.inf, -math.inf, 1e308, -1e308, 99.5, -40.0, -1.0, 0.125, 5e-324],
    "u": [0.0, 4.0, 0.375, None, 1e300, -5.0, math.nan, 1.0],
    "z": [-3, 7, 0, 1, None, 2**62, -(2**62), 3, -40, 99],
    "c": [1, 2, 9, 3, None, -9],
    "b": [True, False, None],
    "d": [*_DAYS, date.min, None],
    "e": [*_DAYS, date.min, None],
    "k": ["a", "b", "it's", None],
}

_ROUNDED = Fraction(1, 2**20)


class Unsure(Exception):
    """The value may be this or that, by the rounding to a grid."""


class Between(NamedTuple):
    """A value between two fractions; ``whole`` says that all values of its kind are whole numbers."""

    low: Fraction
    high: Fraction
    whole: bool = False


Value = Between | None


@dataclass(frozen=True)
class DrawnExpression:
    """An expression: its text, and its value on a row."""

    text: str
    value: Callable[[Cells], Value]


@dataclass(frozen=True)
class DrawnTest:
    """A condition: its text, and whether it is true on a row; None if it is neither."""

    text: str
    holds: Callable[[Cells], bool | None]


def draw_row(random: Random) -> dict[str, Any]:
    """Return a row of difficult cells."""
    return {name: random.choice(cells) for name, cells in CELLS.items()}


def column_value(name: str, cell: Any) -> Value:
    """Return the value of a column: within its bounds, if it has some."""
    declared = COLUMNS[name]
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return None
    if declared.kind == "date":
        assert declared.first is not None
        assert declared.last is not None
        inside = declared.first <= cell <= declared.last
        return _point((cell - date(1970, 1, 1)).days, whole=True) if inside else None
    if declared.kind == "boolean":
        return _point(int(cell), whole=True)
    if declared.low is None or declared.high is None:
        return _point(cell, whole=True) if cell in (declared.keys or ()) else None
    inside = min(max(Fraction(cell), declared.low), declared.high)
    if 0 < abs(inside) < Fraction(1, 2**60):  # the nearest value of any grid
        inside = Fraction(0)
    return _point(inside, whole=declared.kind == "integer")


def draw_expression(random: Random, depth: int) -> DrawnExpression:
    """Return an expression of numbers."""
    if depth == 0 or random.random() < 0.15:
        return _leaf(random)
    draw = random.choice(_MAKERS)
    return draw(random, depth - 1)


def always() -> list[DrawnExpression]:
    """Return expressions that are tried in any case: their grids are finer than what is summed."""
    x, u, z = map(_column, "xuz")
    product = _multiplied(x, u)
    return [product, _multiplied(product, x), _multiplied(_multiplied(product, product), z)]


# --- leaves ---


def _point(value: Any, *, whole: bool = False) -> Between:
    return Between(Fraction(value), Fraction(value), whole)


def _column(name: str) -> DrawnExpression:
    return DrawnExpression(name, lambda cells: column_value(name, cells[name]))


def _constant(random: Random) -> DrawnExpression:
    value = Fraction(random.choice((-12, -1, 0, 1, 2, 3, 7, 20)), random.choice((1, 1, 1, 2, 8, 10)))
    whole = value.denominator == 1
    text = str(value.numerator) if whole else f"({value.numerator} / {value.denominator})"
    return DrawnExpression(text, lambda _: _point(value, whole=whole))


def _leaf(random: Random) -> DrawnExpression:
    if random.random() < 0.2:
        return _constant(random)
    if random.random() < 0.15:
        return _part(random)
    if random.random() < 0.1:
        return DrawnExpression("DATEDIFF('day', e, d)", _days_between)
    return _column(random.choice(("x", "u", "z", "c", "b")))


def _days_between(cells: Cells) -> Value:
    """Return the days from e to d, each at the nearest end of its range."""
    if cells["d"] is None or cells["e"] is None:
        return None
    ends = {name: (COLUMNS[name].first or date.min, COLUMNS[name].last or date.max) for name in "de"}
    last, first = (min(max(cells[name], ends[name][0]), ends[name][1]) for name in "de")
    return _point((last - first).days, whole=True)


def _part(random: Random) -> DrawnExpression:
    name, part = random.choice("de"), random.choice(("YEAR", "QUARTER", "MONTH", "DAY", "ISODOW"))
    unit = random.choice((None, "day", "week", "month", "quarter", "year"))
    inside = name if unit is None else f"DATE_TRUNC('{unit}', {name})"

    def value(cells: Cells) -> Value:
        days = column_value(name, cells[name])
        if days is None:
            return None
        day = _truncated(date(1970, 1, 1) + timedelta(days=int(days.low)), unit)
        found = {
            "YEAR": day.year, "QUARTER": (day.month + 2) // 3, "MONTH": day.month, "DAY": day.day,
            "ISODOW": day.isoweekday(),
        }  # fmt: skip
        return _point(found[part], whole=True)

    return DrawnExpression(f"EXTRACT({part} FROM {inside})", value)


def _truncated(day: date, unit: str | None) -> date:
    while unit in ("month", "quarter", "year") and day.day != 1:
        day -= timedelta(days=1)
    while (unit == "quarter" and day.month not in (1, 4, 7, 10)) or (unit == "year" and day.month != 1):
        day = _truncated(day - timedelta(days=1), "month")
    while unit == "week" and day.isoweekday() != 1:
        day -= timedelta(days=1)
    return day


# --- operations ---


def _added(values: list[Value]) -> Value:
    found = [value for value in values if value is not None]
    if len(found) < len(values):
        return None
    whole = all(value.whole for value in found)
    return Between(sum((v.low for v in found), Fraction(0)), sum((v.high for v in found), Fraction(0)), whole)


def _scaled(value: Value, factor: Fraction | int) -> Value:
    if value is None:
        return None
    ends = sorted((value.low * factor, value.high * factor))
    return Between(ends[0], ends[1], value.whole and Fraction(factor).denominator == 1)


def _sum(random: Random, depth: int) -> DrawnExpression:
    left, right = (draw_expression(random, depth) for _ in range(2))
    sign = random.choice((1, -1))
    return DrawnExpression(
        f"({left.text} {'+' if sign == 1 else '-'} {right.text})",
        lambda cells: _added([left.value(cells), _scaled(right.value(cells), sign)]),
    )


def _product(random: Random, depth: int) -> DrawnExpression:
    return _multiplied(*(draw_expression(random, depth) for _ in range(2)))


def _multiplied(left: DrawnExpression, right: DrawnExpression) -> DrawnExpression:
    def value(cells: Cells) -> Value:
        a, b = left.value(cells), right.value(cells)
        if a is None or b is None:
            return None
        ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        off = Fraction(0) if a.whole and b.whole else _ROUNDED
        return Between(min(ends) - off, max(ends) + off, a.whole and b.whole)

    return DrawnExpression(f"{left.text} * {right.text}", value)


def _quotient(random: Random, depth: int) -> DrawnExpression:
    top, bottom = (draw_expression(random, depth) for _ in range(2))
    low, high = random.choice(((-2, 2), (0, 1), (-10, -1), (3, 50)))

    def value(cells: Cells) -> Value:
        a, b = top.value(cells), bottom.value(cells)
        if a is None or b is None:
            return None
        if b.low == b.high == 0:
            return None
        if b.low <= 0 <= b.high or max(abs(b.low), abs(b.high)) < 64 * _ROUNDED:
            raise Unsure
        ends = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]
        small = min(abs(b.low), abs(b.high), Fraction(1))
        off = 4 * _ROUNDED * (high - low + max(map(abs, ends)) / small)
        within = [min(max(end, Fraction(low)), Fraction(high)) for end in (min(ends) - off, max(ends) + off)]
        return Between(within[0], within[1])

    return DrawnExpression(f"CLAMP({top.text} / {_bracketed(bottom.text)}, {low}, {high})", value)


def _bracketed(text: str) -> str:
    return f"({text})"


def _function(random: Random, depth: int) -> DrawnExpression:
    name = random.choice(("ABS", "FLOOR", "ROUND", "CLAMP", "-"))
    inner = draw_expression(random, depth)

    def value(cells: Cells) -> Value:
        found = inner.value(cells)
        if found is None:
            return None
        if name == "-":
            return _scaled(found, -1)
        if name == "ABS":
            ends = sorted((abs(found.low), abs(found.high)))
            return Between(Fraction(0) if found.low <= 0 <= found.high else ends[0], ends[1], found.whole)
        if name == "CLAMP":
            ends = [min(max(end, Fraction(-1)), Fraction(5, 2)) for end in (found.low, found.high)]
            return Between(ends[0], ends[1])
        half = Fraction(1, 2) if name == "ROUND" else Fraction(0)
        whole = {math.floor(end + half) for end in (found.low, found.high)}
        if len(whole) > 1:
            raise Unsure
        return _point(whole.pop(), whole=True)

    text = {"-": f"-({inner.text})", "CLAMP": f"CLAMP({inner.text}, -1, 2.5)"}.get(name, f"{name}({inner.text})")
    return DrawnExpression(text, value)


def _among(random: Random, depth: int) -> DrawnExpression:
    name = random.choice(("LEAST", "GREATEST", "COALESCE"))
    parts = [draw_expression(random, depth) for _ in range(random.choice((2, 3)))]

    def value(cells: Cells) -> Value:
        found = [part.value(cells) for part in parts]
        if name == "COALESCE":
            return next((each for each in found if each is not None), None)
        present = [each for each in found if each is not None]
        if len(present) < len(found):
            return None
        choose = min if name == "LEAST" else max
        ends = (choose(each.low for each in present), choose(each.high for each in present))
        return Between(*ends, all(each.whole for each in present))

    return DrawnExpression(f"{name}({', '.join(part.text for part in parts)})", value)


def _without(random: Random, depth: int) -> DrawnExpression:
    left, right = (draw_expression(random, depth) for _ in range(2))

    def value(cells: Cells) -> Value:
        a, b = left.value(cells), right.value(cells)
        return None if a is not None and b is not None and _compared(a, "=", b) else a

    return DrawnExpression(f"NULLIF(({left.text}) + 0, {right.text})", value)


def _choice(random: Random, depth: int) -> DrawnExpression:
    tests = [draw_test(random, depth) for _ in range(random.choice((1, 1, 2)))]
    ends = [draw_expression(random, depth) for _ in tests]
    last = draw_expression(random, depth) if random.random() < 0.6 else None

    def value(cells: Cells) -> Value:
        for test, end in zip(tests, ends, strict=True):
            if test.holds(cells) is True:
                return end.value(cells)
        return None if last is None else last.value(cells)

    cases = " ".join(f"WHEN {test.text} THEN {end.text}" for test, end in zip(tests, ends, strict=True))
    return DrawnExpression(f"CASE {cases}{'' if last is None else f' ELSE {last.text}'} END", value)


def _truth(random: Random, depth: int) -> DrawnExpression:
    test = draw_test(random, depth)

    def value(cells: Cells) -> Value:
        found = test.holds(cells)
        return None if found is None else _point(int(found), whole=True)

    return DrawnExpression(f"({test.text})", value)


_MAKERS: tuple[Callable[[Random, int], DrawnExpression], ...] = (
    _sum, _sum, _product, _product, _quotient, _function, _function, _among, _without, _choice, _truth,
)  # fmt: skip


# --- conditions ---


def _compared(a: Between, operator: str, b: Between) -> bool:
    """Return whether a comparison holds; whole numbers and points are compared exactly."""
    if a.high < b.low or a.low > b.high:
        return operator in (("<", "<=", "<>") if a.high < b.low else (">", ">=", "<>"))
    if a.low == a.high == b.low == b.high:
        return operator in ("=", "<=", ">=")
    raise Unsure


def draw_test(random: Random, depth: int) -> DrawnTest:
    """Return a condition on expressions, or on a text."""
    kind = random.choice(("compare", "compare", "text", "null", "not", "and", "or"))
    if kind == "text":
        return DrawnTest("k = 'a'", lambda cells: None if cells["k"] is None else cells["k"] == "a")
    if kind == "null":
        part = draw_expression(random, depth)
        return DrawnTest(f"(({part.text}) + 0) IS NULL", lambda cells: part.value(cells) is None)
    if kind in ("and", "or"):
        left, right = (draw_test(random, max(depth - 1, 0)) for _ in range(2))
        return DrawnTest(
            f"({left.text}) {kind.upper()} ({right.text})", lambda cells: _joined(kind, left, right, cells)
        )
    if kind == "not":
        inner = draw_test(random, max(depth - 1, 0))

        def opposite(cells: Cells) -> bool | None:
            found = inner.holds(cells)
            return None if found is None else not found

        return DrawnTest(f"NOT ({inner.text})", opposite)
    operator = random.choice(("=", "<>", "<", "<=", ">", ">="))
    left_side, right_side = draw_expression(random, depth), draw_expression(random, depth)

    def holds(cells: Cells) -> bool | None:
        a, b = left_side.value(cells), right_side.value(cells)
        return None if a is None or b is None else _compared(a, operator, b)

    return DrawnTest(f"({left_side.text}) + 0 {operator} ({right_side.text}) + 0", holds)


def _joined(kind: str, left: DrawnTest, right: DrawnTest, cells: Cells) -> bool | None:
    parts = [left.holds(cells), right.holds(cells)]
    decisive = kind == "or"
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive
