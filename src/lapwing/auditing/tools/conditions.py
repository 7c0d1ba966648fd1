"""Conditions drawn at random: their text in SQL, and what they say about a row, computed without SQL.

A condition is true, false or, for a missing cell, neither (None), by the three-valued logic of SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from random import Random
from typing import Any, Literal

from ...question.query import Against, All, Compare, Condition, Missing, Not, OneOf, Some, Unknown
from ...question.schema import Column

Cells = Mapping[str, Any]
"""The typed cells of a row: None, Fraction, str, bool or date."""

_OPERATORS = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class DrawnCondition:
    """A condition: an operator, the column that it is about, values or another column, or its parts."""

    operator: str
    column: str = ""
    values: tuple[Any, ...] = ()
    other: str | None = None
    parts: tuple[DrawnCondition, ...] = ()

    def holds(self, cells: Cells) -> bool | None:
        """Return what the condition says about a row."""
        if self.operator in ("AND", "OR", "NOT"):
            return _joined(self.operator, [part.holds(cells) for part in self.parts])
        cell = cells[self.column]
        if self.operator == "IS NULL":
            return cell is None
        values = (cells[self.other],) if self.other is not None else self.values
        if cell is None or None in values:
            return None
        if self.operator == "IN":
            return cell in values
        if self.operator == "BETWEEN":
            return bool(values[0] <= cell <= values[1])
        return _compared(cell, self.operator, values[0])

    @property
    def text(self) -> str:
        """The condition in SQL."""
        name = quoted(self.column)
        if self.operator in ("AND", "OR"):
            return f" {self.operator} ".join(f"({part.text})" for part in self.parts)
        if self.operator == "NOT":
            return f"NOT ({self.parts[0].text})"
        if self.operator == "IS NULL":
            return f"{name} IS NULL"
        if self.operator == "IN":
            return f"{name} IN ({', '.join(map(literal, self.values))})"
        if self.operator == "BETWEEN":
            return f"{name} BETWEEN {literal(self.values[0])} AND {literal(self.values[1])}"
        right = literal(self.values[0]) if self.other is None else quoted(self.other)
        return f"{name} {self.operator} {right}"


def holds(condition: Condition, cells: Cells) -> bool | None:
    """Return what a condition of the product, as it was read, says about a row."""
    if isinstance(condition, All | Some):
        word = "AND" if isinstance(condition, All) else "OR"
        return _joined(word, [holds(part, cells) for part in condition.parts])
    if isinstance(condition, Not):
        return _joined("NOT", [holds(condition.part, cells)])
    if isinstance(condition, Against | Unknown):
        raise TypeError("conditions on expressions are evaluated by ``evaluating``")
    cell = cells[condition.column]
    if isinstance(condition, Missing):
        return cell is None
    if isinstance(condition, OneOf):
        return None if cell is None else cell in condition.values
    if isinstance(condition, Compare):
        right = condition.value if condition.other is None else cells[condition.other]
        return None if cell is None or right is None else _compared(cell, condition.operator, right)
    raise NotImplementedError(f"what {type(condition).__name__} means is not known here")


def _joined(operator: str, parts: Sequence[bool | None]) -> bool | None:
    if operator == "NOT":
        return None if parts[0] is None else not parts[0]
    decisive = operator == "OR"
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive


def _compared(one: Any, operator: str, two: Any) -> bool:
    return bool(
        {"=": one == two, "<>": one != two, "<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two}[
            operator
        ]
    )


def quoted(name: str) -> str:
    """Return a name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a value in SQL."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, Fraction):
        return str(int(value)) if value.denominator == 1 else repr(float(value))
    if isinstance(value, date):
        return f"DATE '{value}'"
    return "'" + str(value).replace("'", "''") + "'"


def is_askable(column: Column, operator: str, value: Any) -> bool:
    """Return whether a column may be compared with a value, as it is written: one that can occur by its declaration."""
    value = Fraction(literal(value)) if isinstance(value, Fraction) else value
    ordered = operator not in ("=", "<>", "IN")
    if column.kind == "integer" and not ordered and value.denominator != 1:
        return False
    if column.low is not None and column.high is not None:
        return bool(column.low <= value <= column.high)
    if column.keys is None or column.other is not None:
        return True
    return bool(min(column.keys) <= value <= max(column.keys)) if ordered else value in column.keys


def are_askable(condition: DrawnCondition, columns: Mapping[str, Column]) -> bool:
    """Return whether all values in a condition can occur, by the declaration of their columns."""
    parts = all(are_askable(part, columns) for part in condition.parts)
    return parts and all(is_askable(columns[condition.column], condition.operator, each) for each in condition.values)


def draw_condition(
    random: Random,
    columns: Mapping[str, Column],
    values: Mapping[str, Sequence[Any]],
    depth: int = 2,
    *,
    askable: bool = True,
) -> DrawnCondition:
    """Return a condition on these columns, with literals from their possible values (typed, none missing).

    Only those that can occur, by the declaration, unless ``askable`` is False: others are refused.
    """
    shape = random.random()
    if depth and shape < 0.45:
        operator: Literal["AND", "OR", "NOT"] = random.choice(("AND", "OR", "AND", "OR", "NOT"))
        number = 1 if operator == "NOT" else random.choice((2, 2, 3))
        together = random.random() < 0.2  # several conditions about one column
        name = random.choice(list(columns))
        inside, below = ({name: columns[name]}, 0) if together else (columns, depth - 1)
        parts = [draw_condition(random, inside, values, below, askable=askable) for _ in range(number)]
        return DrawnCondition(operator, parts=tuple(parts))
    name = random.choice(list(columns))
    written = [value for value in (*values[name], *_declared(columns[name])) if value is not None]
    known, equal = (
        [value for value in written if not askable or is_askable(columns[name], operator, value)]
        for operator in ("<", "=")
    )
    alike = [each for each in columns if each != name and _family(columns[each]) == _family(columns[name])]
    if not known or not equal or shape > 0.92:
        return DrawnCondition("IS NULL", name)
    if alike and shape > 0.86:
        return DrawnCondition(random.choice(_OPERATORS), name, other=random.choice(alike))
    if shape > 0.76:
        return DrawnCondition("IN", name, tuple(random.sample(equal, min(len(equal), random.choice((1, 2, 3))))))
    if shape > 0.68 and columns[name].kind != "boolean":
        return DrawnCondition("BETWEEN", name, tuple(sorted(random.choices(known, k=2))))
    operator_ = "=" if columns[name].kind == "boolean" else random.choice(_OPERATORS)
    return DrawnCondition(operator_, name, (random.choice(equal if operator_ in ("=", "<>") else known),))


def _declared(column: Column) -> list[Any]:
    """Return the values that a declaration names; numbers only if they are the same as a float and as a decimal."""
    named = [each for each in (column.low, column.high) if each is not None]
    named += [Fraction(key) if type(key) is int else key for key in (column.keys or ())[:5]]  # type: ignore[misc]
    return [
        each
        for each in named
        if not isinstance(each, Fraction) or each == Fraction(float(each)) == Fraction(literal(each))
    ]


def _family(column: Column) -> str:
    return "number" if column.kind == "integer" else column.kind


WAYS: tuple[tuple[str, ...], ...] = (
    ("x > 1 AND y > 1 AND b", "b AND y > 1 AND x > 1", "((b) AND (x > 1)) AND y > 1", "y > 1 AND (x > 1 AND (b))"),
    ("x > 1 OR y > 1 OR b", "b OR (y > 1 OR x > 1)", "1 < x OR (b = TRUE OR 1 < y)"),
    ("(x > 1 AND y > 1) OR b", "b OR (y > 1 AND x > 1)", "x > 1 AND y > 1 OR b"),
    ("x > 1 AND (y > 1 OR b)", "(b OR y > 1) AND x > 1", "(Y > 1.0 OR B) AND X > 1e0"),
    ("NOT (x > 1 AND b)", "NOT (b AND x > 1)", "NOT ((b = TRUE) AND (NOT x <= 1))"),
    ("x BETWEEN 1 AND 3", "x >= 1 AND x <= 3", "3 >= x AND 1 <= x", "x <= 3.00 AND NOT x < 1"),
    ("k IN ('a', 'b', 'it''s')", "k IN ('it''s', 'b', 'a')", "K IN ('b', 'a', 'it''s', 'a')"),
    ("k IN ('a')", "k = 'a'", "NOT k <> 'a'", "'a' = k"),
    ("d >= DATE '2024-01-31'", "d >= '2024-01-31'", "NOT d < DATE '2024-01-31'"),
    ("x > 1", "x > 1 AND x > 1", "NOT NOT x > 1", "x>1.000"),
)
"""Conditions that are the same; the first of each names it."""
