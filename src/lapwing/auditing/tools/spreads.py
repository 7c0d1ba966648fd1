"""What an expression is worth on its public grid, a second time: in fractions, by the rules of docs/expressions alone.

A ``Spread`` is a grid by its values: the step, the least and the largest value, and the value of each row.  Its rules
are those that are promised: sums on the largest step that divides those of their parts, products on the product of the
steps, quotients on 2^20 steps or more; no grid of more than 2^40 steps, and no integer beyond 2^61 on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from ...question.expression import (
    Apply,
    Choose,
    Constant,
    Expression,
    Extract,
    Indicator,
    Named,
    Product,
    Quotient,
    Sum,
    Truncate,
)
from ...question.query import Condition
from ...question.schema import Column

Row = Mapping[str, Any]
Value = Fraction | None
Holds = Callable[[Condition, Row], bool | None]

_ROOM = 2**61
_STEPS = 2**40
_FEWEST = 2**16


class TooFine(Exception):
    """The integers would not fit, and no part has steps enough to be made coarser."""


@dataclass(frozen=True, eq=False)
class Spread:
    """A grid with the values of rows; ``exact`` and ``bits`` say of which grid it is a coarser form, if it is one."""

    step: Fraction
    low: Fraction
    high: Fraction
    value: Callable[[Row], Value]
    is_date: bool = False
    exact: Spread | None = None
    bits: int = 0

    @property
    def steps(self) -> Fraction:
        """How many steps it has."""
        return (self.high - self.low) / self.step

    @property
    def size(self) -> Fraction:
        """Its largest integer, without the sign."""
        return max(-self.low, self.high, self.low, -self.high) / self.step


def down(value: Fraction, step: Fraction) -> Fraction:
    """Return the next value of a grid below."""
    return value // step * step


def nearest(value: Fraction, step: Fraction) -> Fraction:
    """Return the nearest value of a grid, of two the larger."""
    return down(value + step / 2, step)


def coarse(given: Spread, bits: int) -> Spread:
    """Return it on a grid 2^bits times as coarse, rounded once."""
    if not bits:
        return given
    exact, bits = given.exact or given, given.bits + bits
    step = exact.step * 2**bits

    def value(row: Row) -> Value:
        found = exact.value(row)
        return None if found is None else nearest(found, step)

    return Spread(step, down(exact.low, step), -down(-exact.high, step), value, exact=exact, bits=bits)


def fitting(given: Spread, most: int = _STEPS) -> Spread:
    """Return it on the finest grid of so many steps at the most."""
    return next(found for bits in range(2000) if (found := coarse(given, bits)).steps <= most)


def point(value: Fraction, *, is_date: bool = False) -> Spread:
    """Return a constant: one step of its own size."""
    return Spread(
        Fraction(1) if is_date else abs(value) or Fraction(1), value, value, lambda row: value, is_date=is_date
    )


def shared(units: Sequence[Fraction]) -> Fraction:
    """Return the largest number of which all are multiples, 1 if all are 0."""
    bottom = math.prod(each.denominator for each in units)
    found = Fraction(0)
    for each in units:
        a, b = int(found * bottom), int(abs(each) * bottom)
        while b:
            a, b = b, a % b
        found = Fraction(a, bottom)
    return found or Fraction(1)


def twos(unit: Fraction) -> int:
    """Return how often 2 divides a number; less than 0 if it divides the denominator."""
    found = 0
    while unit and (unit / 2**found).numerator % 2 == 0:
        found += 1
    while unit and (unit / Fraction(2) ** found).denominator % 2 == 0:
        found -= 1
    return found


def _one_coarser(parts: list[Spread], units: Sequence[Fraction]) -> None:
    rich = [i for i, part in enumerate(parts) if part.steps > _FEWEST]
    if not rich:
        raise TooFine
    least = min(twos(units[i]) for i in rich)
    at = next(i for i in rich if twos(units[i]) == least)
    parts[at] = coarse(parts[at], 1)


def added(parts: Sequence[Spread], factors: Sequence[Fraction], offset: Fraction) -> Spread:
    """Return the sum of multiples of some parts, and a number."""
    parts = list(parts)
    while True:
        units = [part.step * factor for part, factor in zip(parts, factors, strict=True)]
        step = shared([*units, offset])
        if (sum(part.size * abs(unit) for part, unit in zip(parts, units, strict=True)) + abs(offset)) / step <= _ROOM:
            break
        _one_coarser(parts, units)
    pairs = list(zip(parts, factors, strict=True))
    if len(parts) == 1 and factors[0] == 1 and offset == 0:
        return parts[0]
    low = sum((min(part.low * by, part.high * by) for part, by in pairs), offset)
    high = sum((max(part.low * by, part.high * by) for part, by in pairs), offset)

    def value(row: Row) -> Value:
        found = [part.value(row) for part, _ in pairs]
        present = [each * by for each, (_, by) in zip(found, pairs, strict=True) if each is not None]
        return sum(present, offset) if len(present) == len(found) else None

    is_date = sum(by for part, by in pairs if part.is_date) == 1
    return fitting(Spread(step, low, high, value, is_date))


def times(left: Spread, right: Spread) -> Spread:
    """Return the product of two."""
    while left.size * right.size > _ROOM:
        if right.size > left.size:
            right = coarse(right, 1)
        else:
            left = coarse(left, 1)
    one, two = left, right
    ends = [a * b for a in (one.low, one.high) for b in (two.low, two.high)]

    def value(row: Row) -> Value:
        a, b = one.value(row), two.value(row)
        return None if a is None or b is None else a * b

    return fitting(Spread(one.step * two.step, min(ends), max(ends), value))


def over(top: Spread, bottom: Spread, within: tuple[Fraction, Fraction] | None) -> Spread:
    """Return the quotient of two, between their own bounds or those that are given; None is no value."""
    while True:
        ends = within or [a / b for a in (top.low, top.high) for b in (bottom.low, bottom.high)]
        low, high = min(ends), max(ends)
        step = quotient_step(low, high)
        ratio = top.step / bottom.step / step
        a, b = ratio.numerator, ratio.denominator
        if 2 * top.size * a + bottom.size * b <= _ROOM and 2 * bottom.size * b <= _ROOM:
            break
        wider = top if top.size >= bottom.size else bottom
        if wider.steps <= _FEWEST:
            raise TooFine
        top, bottom = (coarse(top, 1), bottom) if wider is top else (top, coarse(bottom, 1))
    one, two, first, last = top, bottom, down(low, step), -down(-high, step)

    def value(row: Row) -> Value:
        a, b = one.value(row), two.value(row)
        if a is None or not b:
            return None
        size = nearest(abs(a / b), step)
        return min(max(size if (a < 0) == (b < 0) else -size, first), last)

    return Spread(step, first, last, value)


def quotient_step(low: Fraction, high: Fraction) -> Fraction:
    """Return the step of a quotient between two bounds: 2^20 steps or more, and fewer than 2^21, or 2^40 from 0."""
    if low == high:
        return abs(low) or Fraction(1)
    width = high - low
    bits = width.numerator.bit_length() - width.denominator.bit_length() - 25
    while (high - low) / Fraction(2) ** bits >= 2**21:
        bits += 1
    while max(abs(low), abs(high)) / Fraction(2) ** bits > _STEPS:
        bits += 1
    return Fraction(2) ** bits


def alike(parts: Sequence[Spread], others: Sequence[Fraction] = ()) -> list[Spread]:
    """Return values on one grid."""
    parts = list(parts)
    while True:
        units = [part.step if part.low or part.high else Fraction(0) for part in parts]
        step = shared([*units, *others])
        if all(part.size * unit / step <= _ROOM for part, unit in zip(parts, units, strict=True)):
            return [part if part.step == step else _finer(part, step) for part in parts]
        _one_coarser(parts, units)


def _finer(part: Spread, step: Fraction) -> Spread:
    return Spread(step, part.low, part.high, part.value, part.is_date)


def clamped(part: Spread, low: Fraction, high: Fraction) -> Spread:
    """Return the nearest between two bounds."""
    (scaled,) = alike([part], (low, high))
    first, last = (min(max(end, low), high) for end in (part.low, part.high))
    if max(abs(low), abs(high)) / scaled.step > _ROOM:
        raise TooFine

    def value(row: Row) -> Value:
        found = scaled.value(row)
        return None if found is None else min(max(found, low), high)

    return Spread(scaled.step, first, last, value)


def floored(part: Spread, half: Fraction) -> Spread:
    """Return the whole number below, or the nearest."""
    while True:
        a, b = part.step.numerator, part.step.denominator
        by = 2 if half else 1
        low, high = (Fraction(math.floor(end + half)) for end in (part.low, part.high))
        if part.size * a * by + (b if half else 0) + (abs(low) + 1) * b * by <= _ROOM:
            break
        if part.steps <= _FEWEST:
            raise TooFine
        part = coarse(part, 1)
    inner = part

    def value(row: Row) -> Value:
        found = inner.value(row)
        return None if found is None else Fraction(math.floor(found + half))

    return fitting(Spread(Fraction(1), low, high, value))


class Spreads:
    """Makes the spreads of expressions over some columns; ``holds`` says whether a condition is true in a row."""

    def __init__(self, columns: Mapping[str, Column], holds: Holds) -> None:
        self.columns, self.holds = columns, holds

    def of(self, expression: Expression) -> Spread:
        """Return the spread of an expression."""
        if isinstance(expression, Constant):
            number = expression.value
            return point(days(number), is_date=True) if isinstance(number, date) else point(number)
        if isinstance(expression, Named):
            return self._column(expression.column)
        if isinstance(expression, Sum | Product):
            return self._linear(expression)
        if isinstance(expression, Quotient):
            return over(self.of(expression.top), self.of(expression.bottom), None)
        if isinstance(expression, Indicator):
            return self._truth(expression.condition)
        if isinstance(expression, Choose):
            return self._choice(expression)
        if isinstance(expression, Extract | Truncate):
            return self._dated(expression)
        return self._applied(expression)

    def _column(self, name: str) -> Spread:
        column = self.columns[name]
        if column.kind == "date":
            ends = [days(each) for each in (column.first or date.min, column.last or date.max)]
            return Spread(Fraction(1), ends[0], ends[1], lambda row: _fraction(row[name]), is_date=True)
        if column.kind == "boolean":
            return Spread(Fraction(1), Fraction(0), Fraction(1), lambda row: _fraction(row[name]))
        if column.grid is None:
            listed = [Fraction(int(str(key))) for key in column.keys or ()]
            return Spread(Fraction(1), min(listed), max(listed), lambda row: _fraction(row[name]))
        grid = column.grid
        return Spread(grid.step, grid.low * grid.step, grid.high * grid.step, lambda row: _fraction(row[name]))

    def _linear(self, expression: Sum | Product) -> Spread:
        parts, factors, offset = list[Spread](), list[Fraction](), Fraction(0)
        for term in expression.parts if isinstance(expression, Sum) else (expression,):
            constant, others = Fraction(1), list[Spread]()
            for factor in term.parts if isinstance(term, Product) else (term,):
                if isinstance(factor, Constant) and isinstance(factor.value, Fraction):
                    constant *= factor.value
                else:
                    others.append(self.of(factor))
            if others:
                product = others[0]
                for each in others[1:]:
                    product = times(product, each)
                parts.append(product)
                factors.append(constant)
            else:
                offset += constant
        return added(parts, factors, offset) if parts else point(offset)

    def _truth(self, condition: Condition) -> Spread:
        def value(row: Row) -> Value:
            found = self.holds(condition, row)
            return None if found is None else Fraction(found)

        return Spread(Fraction(1), Fraction(0), Fraction(1), value)

    def _choice(self, expression: Choose) -> Spread:
        otherwise = [] if expression.otherwise is None else [expression.otherwise]
        parts = alike([self.of(each) for each in (*(then for _, then in expression.cases), *otherwise)])

        def value(row: Row) -> Value:
            for (condition, _), part in zip(expression.cases, parts, strict=False):
                if self.holds(condition, row):
                    return part.value(row)
            return parts[-1].value(row) if otherwise else None

        ends = min(part.low for part in parts), max(part.high for part in parts)
        return Spread(parts[0].step, *ends, value, parts[0].is_date)

    def _dated(self, expression: Extract | Truncate) -> Spread:
        inner = self.of(expression.day)

        def made(number: Fraction) -> Fraction:
            day = date(1970, 1, 1) + timedelta(days=int(number))
            return part_of(expression.part, day) if isinstance(expression, Extract) else start_of(expression.unit, day)

        def value(row: Row) -> Value:
            found = inner.value(row)
            return None if found is None else made(found)

        low, high = made(inner.low), made(inner.high)
        if isinstance(expression, Extract):
            most = {"DAY": 31, "ISODOW": 7, "MONTH": 12, "QUARTER": 4}.get(expression.part)
            low, high = (Fraction(1), Fraction(most)) if most else (low, high)
        return Spread(Fraction(1), low, high, value, is_date=isinstance(expression, Truncate))

    def _applied(self, expression: Apply) -> Spread:
        name = expression.function
        if name == "CLAMP":
            inner, *bounds = expression.parts
            low, high = (Fraction(each.value) for each in bounds if isinstance(each, Constant))  # type: ignore[arg-type]
            ends = low, high
            if isinstance(inner, Quotient):
                return clamped(over(self.of(inner.top), self.of(inner.bottom), ends), *ends)
            return clamped(self.of(inner), *ends)
        parts = [self.of(each) for each in expression.parts]
        if name in ("FLOOR", "ROUND"):
            return floored(parts[0], Fraction(name == "ROUND", 2))
        if name == "ABS":
            return _size(parts[0])
        if name == "NULLIF":
            return _without(parts[0], alike(parts))
        parts = alike(parts)
        lows, highs = [part.low for part in parts], [part.high for part in parts]
        low = max(lows) if name == "GREATEST" else min(lows)
        high = min(highs) if name == "LEAST" else max(highs)

        def value(row: Row) -> Value:
            found = [part.value(row) for part in parts]
            present = [each for each in found if each is not None]
            if name == "COALESCE":
                return present[0] if present else None
            return None if len(present) < len(found) else min(present) if name == "LEAST" else max(present)

        return Spread(parts[0].step, low, high, value, parts[0].is_date)


def _fraction(cell: Any) -> Value:
    if cell is None:
        return None
    return days(cell) if isinstance(cell, date) else Fraction(cell)


def _size(part: Spread) -> Spread:
    def value(row: Row) -> Value:
        found = part.value(row)
        return None if found is None else abs(found)

    least = Fraction(0) if part.low <= 0 <= part.high else min(abs(part.low), abs(part.high))
    return Spread(part.step, least, max(abs(part.low), abs(part.high)), value)


def _without(part: Spread, both: Sequence[Spread]) -> Spread:
    def value(row: Row) -> Value:
        found, first, second = part.value(row), both[0].value(row), both[1].value(row)
        return None if first is not None and first == second else found

    return Spread(part.step, part.low, part.high, value, part.is_date)


def days(day: date) -> Fraction:
    """Return the number of days after 1970-01-01."""
    return Fraction((day - date(1970, 1, 1)).days)


def part_of(part: str, day: date) -> Fraction:
    """Return a part of a date."""
    numbers = {"DAY": day.day, "ISODOW": day.isoweekday(), "MONTH": day.month, "YEAR": day.year}
    return Fraction(numbers.get(part, -(-day.month // 3)))


def start_of(unit: str, day: date) -> Fraction:
    """Return the first day of the period of a date, found one day after the other."""
    while (unit == "WEEK" and day.isoweekday() > 1) or (unit in ("MONTH", "QUARTER", "YEAR") and day.day > 1):
        day -= timedelta(days=1)
    while (unit == "QUARTER" and day.month % 3 != 1) or (unit == "YEAR" and day.month > 1):
        day = date(day.year, day.month - 1, 1)
    return days(day)
