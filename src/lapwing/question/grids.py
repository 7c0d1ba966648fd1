"""An expression → the integers that are computed for a row, with public grids and bounds.

A value is missing, or an integer j on a public grid: the value j·step, low ≤ j ≤ high.  Every ``GridStep`` makes such
an integer from those of its parts.  Its grid follows from theirs and from the question alone, by interval arithmetic.

Claim X1 (bounds).  Whatever the cells hold, every step is missing or an integer from ``grid.low`` to ``grid.high``, and
no integer on the way to it is beyond 2^62 in size.

Sums are made on the largest step that divides the steps of the parts; products of integers have the product of the
steps; a quotient is rounded to a grid of 2^20 steps or more between its bounds.  A grid of more than 2^40 steps is made
coarser by a power of two, as are operands whose sum or product could be beyond 2^61: both are decided by the public
bounds.  Rounding is to the nearest, and of two to the larger.  Proof: docs/explanation/expressions.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import NoReturn

from ..errors import UnsupportedQuery
from .expression import Apply, Choose, Constant, Expression, Extract, Indicator, Named, Product, Quotient, Sum, Truncate
from .periods import FIRST_DAY, LAST_DAY, date_of, day_number, part_range, truncated
from .query import Against, Condition, negated, quoted
from .schema import Column, Grid, Schema

MOST_STEPS = 2**40
MOST_SUMMED = 2**31
"""The largest number of steps of a column that is summed: the square of an index fits into 64 bits."""

NO_BOUNDS = (
    "The owner of the source can declare low and high for it, from what the column means, or find some privately by "
    "`lapwing bounds`: without them one person could move the answer without limit."
)
_LARGEST = 2**61
_EXACT = 2**53
_FEWEST = 2**16
_QUOTIENT = 2**20
_MOST_KEYS = 1000


@dataclass(frozen=True)
class GridStep:
    """One integer of a row: an operation on integers, or a cell of a column.

    ``numbers`` are the constants of the operation, ``conditions`` those of CASE.  A date is its number of days after
    1970-01-01: missing beyond the range of its column, or, where it is subtracted from another, the nearest end.
    """

    operation: str
    grid: Grid
    parts: tuple[GridStep, ...] = ()
    numbers: tuple[int, ...] = ()
    column: str = ""
    conditions: tuple[Condition, ...] = ()
    is_date: bool = False

    @property
    def size(self) -> int:
        """The largest integer that it can be, without its sign."""
        return max(abs(self.grid.low), abs(self.grid.high))


def step_of(expression: Expression, schema: Schema, *, calendar: bool = False) -> GridStep:
    """Return how an expression is computed; ``calendar`` allows dates without a declared range."""
    if isinstance(expression, Constant):
        return _constant(expression)
    if isinstance(expression, Named):
        return cell_step(expression.column, schema.columns[expression.column], calendar=calendar)
    if isinstance(expression, Sum | Product):
        return _linear(expression, schema, calendar)
    if isinstance(expression, Quotient):
        return _quotient(expression, schema, calendar, None)
    if isinstance(expression, Indicator):
        return GridStep("case", Grid(Fraction(1), 0, 1), (_number(1), _number(0)), (), "", _both(expression.condition))
    if isinstance(expression, Choose):
        return _choice(expression, schema, calendar)
    if isinstance(expression, Extract):
        day = _day(step_of(expression.day, schema, calendar=calendar or expression.part != "YEAR"))
        low, high = part_range(expression.part, date_of(day.grid.low), date_of(day.grid.high))
        return GridStep(expression.part.lower(), Grid(Fraction(1), low, high), (day,))
    if isinstance(expression, Truncate):
        day = _day(step_of(expression.day, schema, calendar=calendar))
        ends = (day_number(truncated(expression.unit, date_of(end))) for end in (day.grid.low, day.grid.high))
        grid = Grid(Fraction(1), *ends)
        return (
            day if expression.unit == "DAY" else GridStep(f"to {expression.unit.lower()}", grid, (day,), is_date=True)
        )
    return _applied(expression, schema, calendar)


def compared(condition: Against, schema: Schema) -> tuple[GridStep, GridStep]:
    """Return both sides of a comparison as integers on one grid."""
    left, right = (step_of(each, schema, calendar=True) for each in (condition.left, condition.right))
    left, right = _alike([left, right])
    return left, right


def clamped(step: GridStep, low: Fraction, high: Fraction) -> GridStep:
    """Return the value, or the nearest bound."""
    if low > high:
        raise UnsupportedQuery("a lower bound above the upper bound", "Write CLAMP(x, 0, 100).")
    (scaled,), common = _scaled([step], (low, high))
    ends = int(low / common), int(high / common)
    grid = Grid(common, *(min(max(end, ends[0]), ends[1]) for end in (scaled.grid.low, scaled.grid.high)))
    if max(map(abs, ends)) > _LARGEST:
        _refuse_fine()
    return scaled if grid == scaled.grid else GridStep("clamp", grid, (scaled,), (grid.low, grid.high))


def coarser(step: GridStep, most: int = MOST_STEPS) -> GridStep:
    """Return the value on a grid of at most so many steps, by a power of two."""
    bits = 0
    while -(-step.grid.high >> bits) - (step.grid.low >> bits) > most:
        bits += 1
    return _coarser_by(step, bits) if bits else step


def cell_step(name: str, column: Column, *, calendar: bool = False) -> GridStep:
    """Return the value of a column: of a computed one as it is, of one of the table on its grid."""
    if column.is_computed:
        if column.grid is None:
            raise UnsupportedQuery(f"the text {quoted(name)} in an expression", "Compare it with a text.")
        return GridStep("computed", column.grid, column=name, is_date=column.kind == "date")
    if column.kind == "boolean":
        return GridStep("boolean", Grid(Fraction(1), 0, 1), column=name)
    if column.kind == "date":
        first, last = column.first or FIRST_DAY, column.last or LAST_DAY
        if column.first is None and not calendar:
            raise UnsupportedQuery(
                f"an expression of {quoted(name)}, a date without bounds",
                "The owner of the source can declare first and last for it: the dates between which it can lie.",
            )
        return GridStep("date", Grid(Fraction(1), day_number(first), day_number(last)), column=name, is_date=True)
    whole = column.kind == "integer" and column.keys is not None and len(column.keys) <= _MOST_KEYS
    if column.grid is None and whole:
        keys = [int(str(key)) for key in column.keys or ()]
        return GridStep("key", Grid(Fraction(1), min(keys), max(keys)), numbers=tuple(sorted(keys)), column=name)
    if column.grid is None:
        raise UnsupportedQuery(
            f"an expression of {quoted(name)}, which has no bounds",
            NO_BOUNDS,
        )
    step = GridStep("number", column.grid, column=name)
    if step.size > _EXACT:
        raise UnsupportedQuery(
            f"an expression of {quoted(name)}, whose bounds are close together and far from 0",
            "The owner of the source can declare bounds that reach closer to 0, or are further apart.",
        )
    return step


# --- constants, sums and products ---


def _constant(constant: Constant) -> GridStep:
    if isinstance(constant.value, date):
        day = day_number(constant.value)
        return GridStep("constant", Grid(Fraction(1), day, day), numbers=(day,), is_date=True)
    return _number(constant.value)


def _number(value: Fraction | int) -> GridStep:
    sign = (value > 0) - (value < 0)
    return GridStep("constant", Grid(abs(Fraction(value)) or Fraction(1), sign, sign), numbers=(sign,))


def _terms(expression: Expression) -> list[tuple[Fraction, tuple[Expression, ...]]]:
    """Return the terms of a sum, or of one product: a constant, and the other factors."""
    terms: list[tuple[Fraction, tuple[Expression, ...]]] = []
    for part in expression.parts if isinstance(expression, Sum) else (expression,):
        factors = part.parts if isinstance(part, Product) else (part,)
        constants = [each.value for each in factors if isinstance(each, Constant) and isinstance(each.value, Fraction)]
        others = tuple(
            each for each in factors if not (isinstance(each, Constant) and isinstance(each.value, Fraction))
        )
        terms.append((math.prod(constants, start=Fraction(1)), others))
    return terms


def _linear(expression: Sum | Product, schema: Schema, calendar: bool) -> GridStep:
    """Return a sum of products, each with a constant factor."""
    parts, factors, offset, dates = [], [], Fraction(0), Fraction(0)
    for constant, others in _terms(expression):
        if not others:
            offset += constant
        else:
            part = _product([step_of(each, schema, calendar=calendar) for each in others])
            dates += constant if part.is_date else 0
            parts.append(part)
            factors.append(constant)
    if dates not in (0, 1):
        raise UnsupportedQuery("a sum of dates", "Subtract one date from another: the result is in days.")
    if not parts:
        return _number(offset)
    if dates == 0:  # days between
        parts = [replace(each, operation="nearest date") if each.operation == "date" else each for each in parts]
    return _sum(parts, factors, offset, is_date=dates == 1)


def _product(parts: Sequence[GridStep]) -> GridStep:
    if len(parts) > 1 and any(part.is_date for part in parts):
        raise UnsupportedQuery("a product with a date", "Subtract one date from another: the result is in days.")
    product, *others = parts
    for other in others:
        while product.size * other.size > _LARGEST:
            if product.size >= other.size:
                product = _coarser_by(product, 1)
            else:
                other = _coarser_by(other, 1)
        corners = [a * b for a in (product.grid.low, product.grid.high) for b in (other.grid.low, other.grid.high)]
        grid = Grid(product.grid.step * other.grid.step, min(corners), max(corners))
        product = coarser(GridStep("product", grid, (product, other)))
    return product


def _sum(
    parts: Sequence[GridStep], factors: Sequence[Fraction], offset: Fraction, *, is_date: bool = False
) -> GridStep:
    """Return Σ factor·part + offset."""
    parts = list(parts)
    while True:
        units = [part.grid.step * factor for part, factor in zip(parts, factors, strict=True)]
        common = _gcd([*units, offset])
        whole = [int(unit / common) for unit in units]
        if sum(abs(n) * part.size for n, part in zip(whole, parts, strict=True)) + abs(offset / common) <= _LARGEST:
            break
        _make_one_coarser(parts, units)
    ends = [sorted((n * part.grid.low, n * part.grid.high)) for n, part in zip(whole, parts, strict=True)]
    moved = int(offset / common)
    if whole == [1] and not moved and common == parts[0].grid.step:
        return parts[0]
    grid = Grid(common, sum(low for low, _ in ends) + moved, sum(high for _, high in ends) + moved)
    if is_date and (grid.step != 1 or not day_number(FIRST_DAY) <= grid.low <= grid.high <= day_number(LAST_DAY)):
        raise UnsupportedQuery("a date beyond the calendar", "Add whole days, and stay within the years 1 to 9999.")
    return coarser(GridStep("sum", grid, tuple(parts), (*whole, moved), is_date=is_date))


def _make_one_coarser(parts: list[GridStep], units: Sequence[Fraction]) -> None:
    """Make the part coarser whose step has the smallest power of two; refuse if no part has steps enough."""
    finest = [i for i, part in enumerate(parts) if part.grid.steps > _FEWEST]
    if not finest:
        _refuse_fine()
    chosen = min(finest, key=lambda i: _twos(units[i]))
    parts[chosen] = _coarser_by(parts[chosen], 1)


def _refuse_fine() -> NoReturn:
    raise UnsupportedQuery(
        "an expression whose parts differ too much in size",
        "Its integers would not fit into 64 bits.  Use constants and bounds with fewer digits.",
    )


def _twos(unit: Fraction) -> int:
    """Return the power of two in a number."""
    top, bottom = abs(unit.numerator), unit.denominator
    return ((top & -top).bit_length() - 1) - ((bottom & -bottom).bit_length() - 1)


def _gcd(values: Sequence[Fraction]) -> Fraction:
    """Return the largest number of which all are integer multiples; 1 if all are 0."""
    bottom = math.lcm(*(value.denominator for value in values))
    return Fraction(math.gcd(*(int(value * bottom) for value in values)), bottom) or Fraction(1)


def _coarser_by(step: GridStep, bits: int) -> GridStep:
    """Return the value on a grid with steps 2^bits times as large."""
    low, high = step.grid.low >> bits, -(-step.grid.high >> bits)
    if step.operation == "coarser":  # once, so that rounding does not add up
        (inner,), (before, _) = step.parts, step.numbers
        low, high = inner.grid.low >> before + bits, -(-inner.grid.high >> before + bits)
        return GridStep("coarser", Grid(step.grid.step * 2**bits, low, high), (inner,), (before + bits, low))
    return GridStep("coarser", Grid(step.grid.step * 2**bits, low, high), (step,), (bits, low))


# --- quotients ---


def _quotient(quotient: Quotient, schema: Schema, calendar: bool, within: tuple[Fraction, Fraction] | None) -> GridStep:
    """Return a quotient, between the bounds of its parts, or those that CLAMP gives."""
    top, bottom = (step_of(each, schema, calendar=calendar) for each in (quotient.top, quotient.bottom))
    if top.is_date or bottom.is_date:
        raise UnsupportedQuery("a quotient with a date", "Subtract one date from another: the result is in days.")
    while True:
        low, high = within or _quotient_bounds(top, bottom)
        grid = _quotient_grid(low, high)
        ratio = top.grid.step / (bottom.grid.step * grid.step)
        a, b = ratio.numerator, ratio.denominator
        if max(2 * top.size * a + bottom.size * b, 2 * bottom.size * b) <= _LARGEST:
            return GridStep("quotient", grid, (top, bottom), (a, b, grid.low, grid.high))
        wider = max((top, bottom), key=lambda part: part.size)
        if wider.grid.steps <= _FEWEST:
            _refuse_fine()
        top, bottom = (_coarser_by(part, 1) if part is wider else part for part in (top, bottom))


def _quotient_bounds(top: GridStep, bottom: GridStep) -> tuple[Fraction, Fraction]:
    """Return the bounds of a quotient whose divisor is never 0."""
    if bottom.grid.low <= 0 <= bottom.grid.high:
        raise UnsupportedQuery(
            "a division by what may be 0",
            "Give the quotient bounds: CLAMP(a / b, 0, 100).  It is missing where the divisor is 0.",
        )
    ends = [
        (x * top.grid.step) / (y * bottom.grid.step)
        for x in (top.grid.low, top.grid.high)
        for y in (bottom.grid.low, bottom.grid.high)
    ]
    return min(ends), max(ends)


def _quotient_grid(low: Fraction, high: Fraction) -> Grid:
    """Return a grid of 2^20 to 2^21 steps between bounds, whose step is a power of two."""
    if low == high:
        return Grid(abs(low) or Fraction(1), *[(low > 0) - (low < 0)] * 2)
    step = Fraction(1)
    while (high - low) / step >= 2 * _QUOTIENT:
        step *= 2
    while (high - low) / step < _QUOTIENT:
        step /= 2
    while max(abs(low), abs(high)) / step > MOST_STEPS:
        step *= 2
    return Grid(step, math.floor(low / step), math.ceil(high / step))


# --- functions ---


def _applied(expression: Apply, schema: Schema, calendar: bool) -> GridStep:
    name = expression.function
    if name == "CLAMP":
        return _clamp(expression, schema, calendar)
    parts = [step_of(each, schema, calendar=calendar) for each in expression.parts]
    if name in ("FLOOR", "ROUND"):
        return _floor(parts[0], half=name == "ROUND")
    if name == "ABS":
        return _absolute(parts[0])
    if name == "NULLIF":
        return GridStep("without", parts[0].grid, (parts[0], *_alike(parts)), is_date=parts[0].is_date)
    alike = _alike(parts)
    lows, highs = [part.grid.low for part in alike], [part.grid.high for part in alike]
    choose = {"LEAST": (min, min), "GREATEST": (max, max), "COALESCE": (min, max)}[name]
    grid = Grid(alike[0].grid.step, choose[0](lows), choose[1](highs))
    return GridStep(name.lower(), grid, tuple(alike), is_date=parts[0].is_date)


def _clamp(expression: Apply, schema: Schema, calendar: bool) -> GridStep:
    inner, low, high = expression.parts
    if not (isinstance(low, Constant) and isinstance(high, Constant)):
        raise UnsupportedQuery("CLAMP with bounds that are no constants", "Write LEAST(GREATEST(x, a), b).")
    if not (isinstance(low.value, Fraction) and isinstance(high.value, Fraction)) or low.value > high.value:
        raise UnsupportedQuery("CLAMP with these bounds", "Write two numbers in rising order: CLAMP(x, 0, 100).")
    if isinstance(inner, Quotient):
        step = _quotient(inner, schema, calendar, (low.value, high.value))
    else:
        step = step_of(inner, schema, calendar=calendar)
    if step.is_date:
        raise UnsupportedQuery("CLAMP of a date", "Use LEAST and GREATEST.")
    return clamped(step, low.value, high.value)


def _floor(part: GridStep, *, half: bool) -> GridStep:
    """Return the whole number below, or with ``half`` the nearest."""
    part = _no_date(part)
    while True:
        a, b = part.grid.step.numerator, part.grid.step.denominator
        a, add, b = (2 * a, b, 2 * b) if half else (a, 0, b)
        low, high = ((end * a + add) // b for end in (part.grid.low, part.grid.high))
        if part.size * a + add + (abs(low) + 1) * b <= _LARGEST:
            grid = Grid(Fraction(1), low, high)
            return coarser(GridStep("floor", grid, (part,), (a, add, b, low)))
        if part.grid.steps <= _FEWEST:
            _refuse_fine()
        part = _coarser_by(part, 1)


def _absolute(part: GridStep) -> GridStep:
    low, high = _no_date(part).grid.low, part.grid.high
    least = 0 if low <= 0 <= high else min(abs(low), abs(high))
    return GridStep("abs", Grid(part.grid.step, least, part.size), (part,))


def _choice(expression: Choose, schema: Schema, calendar: bool) -> GridStep:
    ends = [then for _, then in expression.cases]
    if expression.otherwise is not None:
        ends.append(expression.otherwise)
    alike = _alike([step_of(each, schema, calendar=calendar) for each in ends])
    grid = Grid(alike[0].grid.step, min(part.grid.low for part in alike), max(part.grid.high for part in alike))
    conditions = tuple(condition for condition, _ in expression.cases)
    return GridStep("case", grid, tuple(alike), (), "", conditions, alike[0].is_date)


def _both(condition: Condition) -> tuple[Condition, Condition]:
    return condition, negated(condition)


def _alike(parts: Sequence[GridStep]) -> list[GridStep]:
    """Return values of one kind on one grid."""
    if len({part.is_date for part in parts}) > 1:
        raise UnsupportedQuery(
            "a date and a number side by side", "Compare dates with dates, and numbers with numbers."
        )
    return _scaled(parts)[0]


def _scaled(parts: Sequence[GridStep], others: Sequence[Fraction] = ()) -> tuple[list[GridStep], Fraction]:
    """Return the parts on one grid, whose step also divides other numbers."""
    parts = list(parts)
    while True:
        units = [part.grid.step if part.size else Fraction(0) for part in parts]
        common = _gcd([*units, *others])
        if all(part.size * unit / common <= _LARGEST for part, unit in zip(parts, units, strict=True)):
            break
        _make_one_coarser(parts, units)
    return [_times(part, int(unit / common), common) for part, unit in zip(parts, units, strict=True)], common


def _times(part: GridStep, factor: int, step: Fraction) -> GridStep:
    """Return the part on a grid with a smaller step."""
    grid = Grid(step, part.grid.low * factor, part.grid.high * factor)
    if part.operation == "constant":
        return replace(part, grid=grid, numbers=(part.numbers[0] * factor,))
    return part if factor == 1 else GridStep("sum", grid, (part,), (factor, 0), is_date=part.is_date)


def _day(step: GridStep) -> GridStep:
    if not step.is_date:
        raise UnsupportedQuery("a part of what is not a date", "Name a column that is declared as a date.")
    return step


def _no_date(step: GridStep) -> GridStep:
    if step.is_date:
        raise UnsupportedQuery("a date where a number is expected", "Subtract one date from another.")
    return step
