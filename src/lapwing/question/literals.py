"""Literals of conditions against the declaration: a value that cannot occur is a mistake, and costs nothing yet.

A condition sees cells as they are, before bounds and keys are applied.  So a cell may hold what the declaration does
not know; but a question about it would get noise, or all rows, for its ε.  Refused are: a text that is a label, and not
a code; a code for missing; a value that is no declared key, unless ``other`` stands for such keys; a value beyond the
bounds (at a bound is fine, and asks how many values lie beyond it), or beyond all keys; a fraction that equals no whole
number.  Columns that are declared by their type alone allow every other value.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from difflib import get_close_matches
from fractions import Fraction
from math import ceil, floor
from typing import Any, NoReturn

from .. import exact
from ..errors import InvalidRequest
from .codes import Key
from .conditions import TURNED
from .expression import Expression, Recode, conditions_of
from .query import (
    Against,
    All,
    Compare,
    Condition,
    Missing,
    Not,
    OneOf,
    Some,
    Unknown,
    Value,
    expressions_of,
    literal,
    quoted,
)
from .schema import Column, Schema

_MOST_COMPARED = 2000
_SOME = 5
_EQUALITY = ("=", "<>")


def in_one_form(condition: Condition, schema: Schema) -> Condition:
    """Return a comparison as it is recorded: two columns in one order, and of whole numbers and days only >= and <.

    ``age > 17`` is ``age >= 18``.  Where the next value is beyond the bounds or all keys, the comparison stays.
    """
    if not isinstance(condition, Compare):
        return condition
    operator, value, column = condition.operator, condition.value, schema.columns[condition.column]
    if condition.other is not None and condition.other < condition.column:
        return Compare(condition.other, TURNED[operator], None, condition.column)
    after: Any = None
    if isinstance(value, Fraction) and column.kind == "integer":
        after = Fraction(floor(value) + 1 if operator in (">", "<=") else ceil(value))
    elif isinstance(value, date) and value < date.max:
        after = value + timedelta(days=operator in (">", "<="))
    low, high = _ends(column)
    if after is None or operator in _EQUALITY or (low is not None and not low <= value <= after <= high):
        return condition
    return replace(condition, operator=">=" if operator in (">", ">=") else "<", value=after)


def _ends(column: Column) -> tuple[Any, Any]:
    """Return the least and the largest value that a condition may name; None if every one may be named."""
    if column.low is not None:
        return column.low, column.high
    return (min(column.keys), max(column.keys)) if column.keys and column.other is None else (None, None)


def check_literals(condition: Condition | None, schema: Schema) -> None:
    """Refuse a condition that compares a column with a value that cannot occur in it, by its declaration."""
    if isinstance(condition, All | Some):
        for part in condition.parts:
            check_literals(part, schema)
    elif isinstance(condition, Not):
        check_literals(condition.part, schema)
    elif isinstance(condition, OneOf):
        for value in condition.values:
            _check(condition.column, schema.columns[condition.column], value, equal=True)
    elif isinstance(condition, Compare) and condition.value is not None:
        equal = condition.operator in _EQUALITY
        _check(condition.column, schema.columns[condition.column], condition.value, equal=equal)
    elif isinstance(condition, Against | Unknown):
        for expression in expressions_of(condition):
            check_expression(expression, schema)
    else:
        assert condition is None or isinstance(condition, Compare | Missing)


def check_expression(expression: Expression | Recode, schema: Schema) -> None:
    """Refuse an expression with such a condition."""
    for condition in conditions_of(expression):
        check_literals(condition, schema)


def _check(name: str, column: Column, value: Value, *, equal: bool) -> None:
    keys: tuple[Any, ...] = column.keys or ()
    if equal and value in column.missing:
        _refuse(name, value, "which counts as missing, by its declaration", f"Write {quoted(name)} IS NULL.")
    if isinstance(value, str) and value not in keys:
        refuse_label(name, column, value)
    if isinstance(value, Fraction) and column.kind == "integer" and equal and value.denominator > 1:
        _refuse(name, value, "and its values are whole numbers", "Write a whole number, or compare with < or >.")
    if equal and isinstance(value, date) and not (column.first or value) <= value <= (column.last or value):
        ends = f"{column.first} to {column.last}"
        _refuse(name, value, f"which is not from {ends}", "Write a date of its range.")
    if column.low is not None and column.high is not None:
        if not isinstance(value, Fraction) or not column.low <= value <= column.high:
            below = isinstance(value, Fraction) and value < column.low
            end = f"{exact.text(column.low)} at the least" if below else f"{exact.text(column.high)} at the most"
            ends = f"{exact.text(column.low)} to {exact.text(column.high)}"
            instead = f"Write {end}; the owner of the source can declare wider bounds."
            _refuse(name, value, f"which is beyond its bounds, {ends}", instead)
    elif keys and column.other is None:
        if equal and value not in set(keys):
            _refuse(name, value, f"which is not {_one_of(len(keys))}", _instead(value, keys))
        if not equal and not min(keys) <= value <= max(keys):
            _refuse(name, value, "which is beyond all of its keys", _instead(value, keys))


_WHOLE = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)


def code_of(spelled: Fraction | str | None, column: Column) -> Value | None:
    """Return the code that a number means among texts, or a text among whole numbers: 1 for '1', where it is one code.

    None where it could be another: if a key is no whole number in its usual spelling, or other keys are counted, too.
    """
    if isinstance(spelled, str):
        return Fraction(spelled) if column.kind == "integer" and column.keys and _WHOLE.fullmatch(spelled) else None
    if spelled is None or column.kind != "text" or not all(_WHOLE.fullmatch(str(key)) for key in column.keys or ("",)):
        return None
    return str(spelled) if column.other is None or str(spelled) in (column.keys or ()) else None


def _one_of(number: int) -> str:
    return "its one key" if number == 1 else f"one of its {number:,} keys"


def _instead(value: Value, keys: tuple[Any, ...]) -> str:
    """Return the advice for a value that is no key: the nearest key, or some of them."""
    nearest: list[Key] = []
    if isinstance(value, str):
        folded = {key.strip().casefold(): key for key in keys[:_MOST_COMPARED]}
        nearest = [folded[key] for key in get_close_matches(value.strip().casefold(), folded, n=1)]
    elif isinstance(value, Fraction | date):
        nearest = [min(keys, key=lambda key: abs(key - value))]
    some = f"{', '.join(map(_shown, keys[:_SOME]))}{', …' if len(keys) > _SOME else ''}"
    meant = f"Did you mean {_shown(nearest[0])}?" if nearest else f"The keys are {some}."
    return f'{meant}  The owner of the source can allow others, by other = "…".'


def refuse_label(name: str, column: Column, text: str) -> None:
    """Refuse a text that is a label of the column: conditions use codes."""
    if column.labels is None or text not in column.labels:
        return
    at = column.labels.index(text)
    if column.edges is not None:
        codes = column.group_keys or ()
        _refuse(name, text, "which is the label of a bin", f"Write numbers: the bin is {codes[at]}.")
    _refuse(name, text, "which is a label", f"Write the code {_shown((column.keys or ())[at])}.")


def _shown(value: Any) -> str:
    return quotable(literal(Fraction(value) if type(value) is int else value))


def _refuse(name: str, value: Value, why: str, advice: str) -> NoReturn:
    raise InvalidRequest(f"The condition compares {quotable(name)} with {_shown(value)}, {why}", advice)


def quotable(text: str) -> str:
    """Return the beginning of a part of the question, safe to print in a message."""
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain if len(plain) <= 40 else f"{plain[:37]}..."
