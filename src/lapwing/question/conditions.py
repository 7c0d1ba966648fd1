"""Conditions as frozen values: true, false or (for a missing cell) neither; a row counts if its condition is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .expression import Expression, Recode, conditions_of, names_in
from .spelling import Value, literal, quoted


@dataclass(frozen=True)
class Compare:
    """A column against a value, or against another column of the same type."""

    column: str
    operator: Literal["=", "<>", "<", "<=", ">", ">="]
    value: Value | None
    other: str | None = None

    def __str__(self) -> str:
        right = quoted(self.other) if self.other is not None else literal(self.value)
        return f"{quoted(self.column)} {self.operator} {right}"


@dataclass(frozen=True)
class OneOf:
    """A column against a list of values."""

    column: str
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{quoted(self.column)} IN ({', '.join(map(literal, self.values))})"


@dataclass(frozen=True)
class Missing:
    """Whether the cell is missing: NULL, or no value of the column's type."""

    column: str

    def __str__(self) -> str:
        return f"{quoted(self.column)} IS NULL"


@dataclass(frozen=True)
class Not:
    """The opposite; neither true nor false if its part is neither."""

    part: Condition

    def __str__(self) -> str:
        return f"NOT ({self.part})"


@dataclass(frozen=True)
class All:
    """All parts are true."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " AND ".join(_inside(part) for part in self.parts)


@dataclass(frozen=True)
class Some:
    """At least one part is true."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " OR ".join(_inside(part) for part in self.parts)


@dataclass(frozen=True)
class Against:
    """An expression against another, by their values on public grids."""

    left: Expression
    operator: Literal["=", "<>", "<", "<=", ">", ">="]
    right: Expression

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True)
class Unknown:
    """Whether the value of an expression is missing."""

    expression: Expression

    def __str__(self) -> str:
        return f"({self.expression}) IS NULL"


Condition = Compare | OneOf | Missing | Not | All | Some | Against | Unknown


def columns_of(condition: Condition) -> set[str]:
    """Return the columns that a condition uses."""
    if isinstance(condition, Against | Unknown):
        return {name for each in expressions_of(condition) for name in named_in(each)}
    if isinstance(condition, All | Some):
        return {name for part in condition.parts for name in columns_of(part)}
    if isinstance(condition, Not):
        return columns_of(condition.part)
    other = condition.other if isinstance(condition, Compare) else None
    return {condition.column} if other is None else {condition.column, other}


def expressions_of(condition: Condition) -> tuple[Expression, ...]:
    """Return the expressions that a condition compares."""
    if isinstance(condition, All | Some):
        return tuple(each for part in condition.parts for each in expressions_of(part))
    if isinstance(condition, Not):
        return expressions_of(condition.part)
    if isinstance(condition, Against):
        return condition.left, condition.right
    return (condition.expression,) if isinstance(condition, Unknown) else ()


def named_in(expression: Expression | Recode) -> set[str]:
    """Return the columns that an expression names, also in its conditions."""
    found = set(names_in(expression))
    return found.union(*(columns_of(condition) for condition in conditions_of(expression)))


def joined(kind: type[All] | type[Some], parts: Sequence[Condition]) -> Condition:
    """Return the parts joined, in canonical order and without repetitions."""
    flat: dict[str, Condition] = {}
    for part in parts:
        for each in part.parts if isinstance(part, kind) else (part,):
            flat[str(each)] = each
    ordered = tuple(flat[text] for text in sorted(flat))
    return ordered[0] if len(ordered) == 1 else kind(ordered)


def _inside(part: Condition) -> str:
    return f"({part})" if isinstance(part, All | Some) else str(part)


def negated(condition: Condition) -> Condition:
    """Return the opposite of a condition, in its shortest form; if one is neither true nor false, so is the other."""
    if isinstance(condition, Not):
        return condition.part
    if isinstance(condition, Compare | Against):
        return replace(condition, operator=_OPPOSITE[condition.operator])  # type: ignore[arg-type]
    return Not(condition)


TURNED: dict[str, Any] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operators with their sides exchanged."""

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
