"""Typed cells in SQL: their names, when they are missing, and their index on the public grid of their column (E1)."""

from __future__ import annotations

import hashlib
from fractions import Fraction

from ..question.schema import Grid, Schema
from .dialect import DUCKDB, Dialect

_LONGEST_NAME = 61


def cell_name(name: str, to: Dialect) -> str:
    """Return the name of a column once it is typed; no other name in the SQL begins with c_.

    PostgreSQL truncates names to 63 bytes, so a longer name is replaced by its digest.
    """
    return to.quoted(f"c_{_short_name(name)}")


def given_name(name: str, to: Dialect) -> str:
    """Return the name of what says whether a cell of the table holds something, whatever that is (``fit``)."""
    return to.quoted(f"g_{_short_name(name)}")


def _short_name(name: str) -> str:
    encoded = name.encode()
    return name if len(encoded) <= _LONGEST_NAME else hashlib.sha256(encoded).hexdigest()[:32]


def in_range(name: str, schema: Schema, to: Dialect) -> str:
    """Return the typed cell, missing if it is a date before the first or after the last of its column."""
    cell, column = cell_name(name, to), schema.columns[name]
    if column.first is None or column.last is None:
        return cell
    return f"CASE WHEN {cell} BETWEEN {to.literal(column.first)} AND {to.literal(column.last)} THEN {cell} END"


def without_codes(name: str, schema: Schema, to: Dialect) -> str:
    """Return the typed cell, with NaN, infinity and the codes of its column missing."""
    cell, column = cell_name(name, to), schema.columns[name]
    tests = [to.finite.format(x=cell)] if column.kind in ("number", "integer") else []
    if column.missing:
        tests.append(f"{cell} NOT IN ({', '.join(map(to.literal, column.missing))})")
    return f"CASE WHEN {' AND '.join(tests)} THEN {cell} END" if tests else cell


def without_missing(name: str, schema: Schema, to: Dialect) -> str:
    """Return the typed cell without its codes, under its name."""
    cell, clean = cell_name(name, to), without_codes(name, schema, to)
    return cell if clean == cell else f"{clean} AS {cell}"


def grid_index(cell: str, grid: Grid, to: Dialect) -> str:
    """Return the index of a number on a grid (claim E1)."""
    low, high = to.double(grid.low * grid.step), to.double(grid.high * grid.step)
    whole = index_type(grid, to)
    coarse = max(abs(grid.low), abs(grid.high)) > 2**45  # in float64, (v - low) could be off by half a step
    if to is DUCKDB and not coarse:  # without cases it computes many cells at once
        index = _steps(f"LEAST(GREATEST({cell}, {low}), {high})", low, grid, to)
        return f"CASE WHEN {to.finite.format(x=cell)} THEN CAST({index} AS {whole}) END"
    steps = _steps(cell, low, grid, to)
    tiny = (
        f" WHEN {cell} - {low} <= {to.double(Fraction(1, 4))} THEN 0" if to.careful and grid.step > 1 else ""
    )  # the product is smaller
    beyond = f" WHEN {steps} >= {grid.steps} THEN {grid.steps}" if coarse else ""
    return (
        f"CASE WHEN {to.finite.format(x=cell)} THEN CASE WHEN {cell} <= {low} THEN 0 "
        f"WHEN {cell} >= {high} THEN {grid.steps}{tiny}{beyond} ELSE CAST({steps} AS {whole}) END END"
    )


def _steps(value: str, low: str, grid: Grid, to: Dialect) -> str:
    """Return how many steps a value lies above the lower bound, to the nearest."""
    return f"FLOOR(({value} - {low}) * {to.double(1 / grid.step)} + {to.double(Fraction(1, 2))})"


def index_type(grid: Grid, to: Dialect) -> str:
    """Return the type of an index on a grid."""
    return to.integer if grid.steps < 2**to.bits else to.big
