"""Columns that are not in the table, but computed from columns that are: declared in the source, or by a question.

A computed column is like any other to what comes after: it has a grid, and so bounds, or keys.  Those that a question
writes itself are named by their canonical text, and belong to the question (``Query.derived``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..errors import UnsupportedQuery
from .codes import Key
from .expression import Apply, Constant, Expression, Named, Product, Recode, Truncate, conditions_of
from .grids import MOST_SUMMED, GridStep, coarser, compared, step_of
from .periods import date_of, periods
from .query import (
    Against,
    All,
    Condition,
    Not,
    Some,
    Unknown,
    columns_of,
    expressions_of,
    named_in,
    quoted,
)
from .schema import Column, Grid, Schema

_LARGEST = Fraction(10**100)
_FEWER = "Use constants and bounds with fewer digits."
_MOST_VALUES = 1000
_MOST_PERIODS = 20_000


def step_for(column: Column, schema: Schema) -> GridStep:
    """Return how the integers of a computed column are computed."""
    assert column.expression is not None
    assert not isinstance(column.expression, Recode)
    return coarser(step_of(column.expression, schema), MOST_SUMMED)


def derive(expression: Expression | Recode, schema: Schema) -> Column:
    """Return a column with the values of an expression: its bounds, and its keys if they are few and public."""
    if not any(True for _ in named_in(expression)):
        raise UnsupportedQuery("an expression without a column", "Name a declared column in it.")
    for condition in conditions_of(expression):
        check_computable(condition, schema)
    if isinstance(expression, Recode):
        texts = [text for _, text in expression.cases]
        listed = dict.fromkeys(texts if expression.otherwise is None else [*texts, expression.otherwise])
        return Column("text", keys=tuple(listed), expression=expression)
    step = coarser(step_of(expression, schema), MOST_SUMMED)
    if step.is_date:
        first, last = date_of(step.grid.low), date_of(step.grid.high)
        days: tuple[Key, ...] | None = None
        if isinstance(expression, Truncate) and step.grid.steps < 366 * _MOST_PERIODS:
            found = periods(expression.unit, first, last)
            days = tuple(found) if len(found) <= _MOST_PERIODS else None
        return Column("date", keys=days, grid=step.grid, first=first, last=last, expression=expression)
    grid = _spread(step.grid)
    low, high = grid.low * grid.step, grid.high * grid.step
    if max(abs(low), abs(high)) > _LARGEST or high - low < 1 / _LARGEST:
        raise UnsupportedQuery("an expression with values beyond 10^100, or less than 10^-100 apart", _FEWER)
    if grid.step != 1:
        return Column("number", low, high, grid=grid, expression=expression)
    values = tuple(range(step.grid.low, step.grid.high + 1)) if step.grid.steps < _MOST_VALUES else None
    return Column("integer", low, high, values, grid=grid, expression=expression)


def check_computable(condition: Condition, schema: Schema) -> None:
    """Refuse a condition with an expression that cannot be computed, before anything is charged."""
    if isinstance(condition, All | Some):
        for part in condition.parts:
            check_computable(part, schema)
    elif isinstance(condition, Not):
        check_computable(condition.part, schema)
    elif isinstance(condition, Against):
        compared(condition, schema)
    elif isinstance(condition, Unknown):
        step_of(condition.expression, schema, calendar=True)
    for expression in expressions_of(condition) if isinstance(condition, Against | Unknown) else ():
        for inner in conditions_of(expression):
            check_computable(inner, schema)


def columns_in(schema: Schema, where: Condition | None, read: Iterable[str]) -> dict[str, Any]:
    """Return what a question says about the columns that it reads, where only its condition computes with them."""
    used = set() if where is None else columns_of(where)
    computes = where is not None and bool(expressions_of(where))
    if not computes and not any(schema.columns[name].is_computed for name in used):
        return {name: schema.columns[name].read_as() for name in read}
    return {name: schema.columns[name].describe() for name in {*read, *sources_of(schema, used)}}


def _spread(grid: Grid) -> Grid:
    """Return a grid of two values or more."""
    if grid.steps:
        return grid
    return Grid(grid.step, min(grid.low, 0), max(grid.high, 0)) if grid.low else Grid(grid.step, 0, 1)


def bounded(expression: Expression, low: Fraction, high: Fraction) -> Expression:
    """Return the expression, or the nearest of two bounds."""
    return Apply("CLAMP", (expression, Constant(low), Constant(high)))


def added_to(schema: Schema, expression: Expression | Recode) -> tuple[str, Schema]:
    """Return the name of an expression as a column, and the schema with that column."""
    if isinstance(expression, Named):
        return expression.column, schema
    name = str(expression)
    known = schema.columns.get(name)
    if known is not None and known.expression != expression:
        raise UnsupportedQuery(f"an expression that is also the name of the column {quoted(name)}", "Rename it.")
    if known is not None:
        return name, schema
    return name, replace(schema, columns={**schema.columns, name: derive(expression, schema)})


def added_key(schema: Schema, expression: Expression | Recode) -> tuple[str, Schema]:
    """Return the name of an expression to group by, and the schema with that column: of 10 * FLOOR(age / 10) too.

    The keys of a product that has a whole number as its step are the multiples between its bounds, if they are few.
    """
    name, schema = added_to(schema, expression)
    column = schema.columns[name]
    grid = column.grid
    if not isinstance(expression, Product) or column.keys is not None or grid is None:
        return name, schema
    if grid.step.denominator != 1 or grid.steps >= _MOST_VALUES:
        return name, schema
    step = int(grid.step)
    keys = tuple(range(grid.low * step, grid.high * step + 1, step))
    return name, replace(schema, columns={**schema.columns, name: replace(column, kind="integer", keys=keys)})


def with_values(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return those of the columns whose values can be their keys: truth values, and whole numbers if they are few.

    A number beyond its bounds is then no key, and its row is in no group.
    """
    valued: dict[str, Column] = {}
    for name, column in columns.items():
        if column.group_keys is not None or column.is_computed:
            continue
        if column.kind == "boolean":
            valued[name] = replace(column, keys=(False, True))
        elif column.kind == "integer" and column.grid is not None and column.grid.steps < _MOST_VALUES:
            valued[name] = replace(column, keys=tuple(range(column.grid.low, column.grid.high + 1)))
    return valued


def with_derived(schema: Schema, derived: Iterable[tuple[str, Column]]) -> Schema:
    """Return the schema with the columns that a question computes."""
    new = dict(derived)
    return replace(schema, columns={**schema.columns, **new}) if new else schema


def sources_of(schema: Schema, names: Iterable[str]) -> Iterator[str]:
    """Yield the columns, and those that they are computed from."""
    left, found = list(names), set()
    while left:
        name = left.pop()
        if name not in found and name in schema.columns:
            found.add(name)
            yield name
            expression = schema.columns[name].expression
            if expression is not None:
                left.extend(named_in(expression))
