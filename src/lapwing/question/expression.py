"""Expressions over declared columns, as frozen values: what is computed for each row, before anything is summed.

An expression has one canonical text, which parses back to the same value: operands of + and * are sorted, constants
are combined, a difference is a sum, and an opposite a product with -1.  So a * b and b * a are one question.

A missing part makes the value missing, except where COALESCE, CASE or a condition says otherwise.  Values are those on
the public grids of columns, within their bounds (``grids``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from ..errors import UnsupportedQuery
from .spelling import literal, numeral, quoted

if TYPE_CHECKING:
    from .query import Condition

Function = Literal["ABS", "CLAMP", "COALESCE", "FLOOR", "GREATEST", "LEAST", "NULLIF", "ROUND"]
FUNCTIONS: dict[str, tuple[int, int]] = {
    "ABS": (1, 1),
    "CLAMP": (3, 3),
    "COALESCE": (1, 100),
    "FLOOR": (1, 1),
    "GREATEST": (1, 100),
    "LEAST": (1, 100),
    "NULLIF": (2, 2),
    "ROUND": (1, 1),
}
"""The functions by their names, with the least and the largest number of operands."""

Unit = Literal["DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]
UNITS: tuple[Unit, ...] = ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
"""What a date can be truncated to; a week begins on Monday."""

DatePart = Literal["DAY", "ISODOW", "MONTH", "QUARTER", "YEAR"]
PARTS: dict[DatePart, tuple[int, int] | None] = {
    "DAY": (1, 31),
    "ISODOW": (1, 7),
    "MONTH": (1, 12),
    "QUARTER": (1, 4),
    "YEAR": None,
}
"""Parts of dates, with their public ranges; ISODOW is the day of the week, 1 for Monday to 7 for Sunday."""


@dataclass(frozen=True)
class Constant:
    """A number, or a date."""

    value: Fraction | date

    def __str__(self) -> str:
        if isinstance(self.value, date):
            return literal(self.value)
        text = numeral(self.value)
        return f"({text})" if "/" in text else text


@dataclass(frozen=True)
class Named:
    """The value of a declared column."""

    column: str

    def __str__(self) -> str:
        return quoted(self.column)


@dataclass(frozen=True)
class Sum:
    """The sum of its parts; make it with ``added``."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        text = ""
        for part in self.parts:
            opposite = _opposite(part) if text else None
            if opposite is None:
                text += f" + {part}" if text else str(part)
            else:
                text += f" - {_inside(opposite)}"
        return text


@dataclass(frozen=True)
class Product:
    """The product of its parts; make it with ``multiplied``."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " * ".join(map(_inside, self.parts))


@dataclass(frozen=True)
class Quotient:
    """The first divided by the second; missing where the second is 0."""

    top: Expression
    bottom: Expression

    def __str__(self) -> str:
        return f"{_inside(self.top, Product)} / {_inside(self.bottom, Product)}"


@dataclass(frozen=True)
class Apply:
    """A function of its parts."""

    function: Function
    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Indicator:
    """A condition as a number: 1 if it is true, 0 if it is false, missing if it is neither."""

    condition: Condition

    def __str__(self) -> str:
        return f"({self.condition})"


@dataclass(frozen=True)
class Choose:
    """The expression of the first condition that is true, else ``otherwise``, which may be missing."""

    cases: tuple[tuple[Condition, Expression], ...]
    otherwise: Expression | None = None

    def __str__(self) -> str:
        cases = " ".join(f"WHEN {condition} THEN {then}" for condition, then in self.cases)
        return f"CASE {cases}{'' if self.otherwise is None else f' ELSE {self.otherwise}'} END"


@dataclass(frozen=True)
class Extract:
    """A part of a date, as a number."""

    part: DatePart
    day: Expression

    def __str__(self) -> str:
        return f"EXTRACT({self.part} FROM {self.day})"


@dataclass(frozen=True)
class Truncate:
    """The first day of the week, month, quarter or year of a date."""

    unit: Unit
    day: Expression

    def __str__(self) -> str:
        return f"DATE_TRUNC('{self.unit.lower()}', {self.day})"


@dataclass(frozen=True)
class Recode:
    """The text of the first condition that is true, else ``otherwise``: keys to group by."""

    cases: tuple[tuple[Condition, str], ...]
    otherwise: str | None = None

    def __str__(self) -> str:
        cases = " ".join(f"WHEN {condition} THEN {literal(text)}" for condition, text in self.cases)
        return f"CASE {cases}{'' if self.otherwise is None else f' ELSE {literal(self.otherwise)}'} END"


Expression = Constant | Named | Sum | Product | Quotient | Apply | Indicator | Choose | Extract | Truncate

_MOST_BITS = 1024

ZERO, ONE, MINUS_ONE = (Constant(Fraction(value)) for value in (0, 1, -1))


def added(parts: Iterable[Expression]) -> Expression:
    """Return the sum, in its canonical form."""
    constant, others, constants = Fraction(0), [], 0
    for part in parts:
        for each in part.parts if isinstance(part, Sum) else (part,):
            if isinstance(each, Constant) and isinstance(each.value, Fraction):
                constant, constants = constant + each.value, constants + 1
            else:
                others.append(each)
    terms = [*([_constant(constant)] if constants else []), *sorted(others, key=str)]
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def multiplied(parts: Iterable[Expression]) -> Expression:
    """Return the product, in its canonical form."""
    constant, others, constants = Fraction(1), [], 0
    for part in parts:
        for each in part.parts if isinstance(part, Product) else (part,):
            if isinstance(each, Constant) and isinstance(each.value, Fraction):
                constant, constants = constant * each.value, constants + 1
            else:
                others.append(each)
    factors = [*([_constant(constant)] if constants else []), *sorted(others, key=str)]
    return factors[0] if len(factors) == 1 else Product(tuple(factors))


def _constant(value: Fraction) -> Constant:
    """Return what constants make together; refuse more digits than one literal may have."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
        raise UnsupportedQuery("a constant with too many digits", "Use constants and fractions with fewer digits.")
    return Constant(value)


def opposite(part: Expression) -> Expression:
    """Return the expression with the other sign."""
    return _opposite(part) or multiplied((MINUS_ONE, part))


def divided(top: Expression, bottom: Expression) -> Expression:
    """Return the quotient; a constant divisor is a factor."""
    if isinstance(bottom, Constant) and isinstance(bottom.value, Fraction):
        if bottom.value == 0:
            raise UnsupportedQuery("a division by 0", "Divide by something else.")
        return multiplied((_constant(1 / bottom.value), top))
    return Quotient(top, bottom)


def parts_of(expression: Expression | Recode) -> tuple[Expression, ...]:
    """Return the expressions that an expression is directly made of, without those in its conditions."""
    if isinstance(expression, Constant | Named | Indicator | Recode):
        return ()
    if isinstance(expression, Quotient):
        return expression.top, expression.bottom
    if isinstance(expression, Extract | Truncate):
        return (expression.day,)
    if isinstance(expression, Choose):
        otherwise = () if expression.otherwise is None else (expression.otherwise,)
        return (*(then for _, then in expression.cases), *otherwise)
    return expression.parts


def conditions_of(expression: Expression | Recode) -> Iterator[Condition]:
    """Yield the conditions in an expression."""
    if isinstance(expression, Choose | Recode):
        yield from (condition for condition, _ in expression.cases)
    if isinstance(expression, Indicator):
        yield expression.condition
    for part in parts_of(expression):
        yield from conditions_of(part)


def names_in(expression: Expression | Recode) -> Iterator[str]:
    """Yield the columns that an expression names outside its conditions."""
    if isinstance(expression, Named):
        yield expression.column
    for part in parts_of(expression):
        yield from names_in(part)


def _opposite(part: Expression) -> Expression | None:
    """Return the opposite of a product with a negative factor, or of a negative constant; None for others."""
    if isinstance(part, Constant) and isinstance(part.value, Fraction):
        return Constant(-part.value) if part.value < 0 else None
    if isinstance(part, Product) and isinstance(part.parts[0], Constant):
        value = part.parts[0].value
        if isinstance(value, Fraction) and value < 0:
            return multiplied(part.parts[1:] if value == -1 else (Constant(-value), *part.parts[1:]))
    return None


def _inside(part: Expression, *more: type[Expression]) -> str:
    """Return the text of a part of a product or quotient."""
    return f"({part})" if isinstance(part, (Sum, Quotient, *more)) else str(part)
