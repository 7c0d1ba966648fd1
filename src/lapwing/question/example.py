"""Invented rows of a source, made of its declarations alone: to try questions on, before any of the budget is spent.

Nothing here can read the table: a cell is a function of the number of its row and of what is declared.  Keys occur
about equally often, and numbers lie evenly between their bounds, so statistics of these rows say nothing about the
data.  The same number of rows is always the same rows.
"""

from __future__ import annotations

import hashlib
from datetime import date, timedelta
from typing import Any

from .. import exact
from .codes import written
from .schema import Column, Schema

MOST_EXAMPLES = 10_000
"""How many rows can be invented at a time."""

_PARTS = 2**32
_DAYS = 3652
_FIRST = date(2020, 1, 1)


def example_columns(schema: Schema, rows: object) -> dict[str, list[Any]]:
    """Return invented rows as columns: that of people, and every declared column that is in a table."""
    number = exact.whole(rows, "rows", MOST_EXAMPLES)
    columns: dict[str, list[Any]] = {}
    if schema.person is not None:
        each = schema.rows_per_person or 1
        columns[schema.person] = [_person(schema, row // each + 1) for row in range(number)]
    for name, column in schema.columns.items():
        if not column.is_computed and name != schema.person:
            columns[name] = [_cell(column, _part(name, row)) for row in range(number)]
    return columns


def _part(name: str, row: int) -> int:
    """Return a number below 2^32 that looks like chance, and is the same for the same column and row."""
    return int.from_bytes(hashlib.sha256(f"{row} {name}".encode()).digest()[:4])


def _person(schema: Schema, number: int) -> str | int:
    declared = schema.columns.get(schema.person or "")
    return number if declared is not None and declared.kind == "integer" else f"person {number}"


def _cell(column: Column, part: int) -> Any:
    """Return a cell that the declaration allows."""
    if column.keys is not None:
        return written(column.keys[part * len(column.keys) // _PARTS])
    if column.grid is not None:
        value = (column.grid.low + part * (column.grid.steps + 1) // _PARTS) * column.grid.step
        low, high = column.low, column.high
        value = value if low is None or high is None else min(max(value, low), high)
        return int(value) if column.kind == "integer" else float(value)
    if column.kind == "date":
        first = column.first or _FIRST
        days = (column.last - first).days if column.last is not None else _DAYS
        return (first + timedelta(days=part * (days + 1) // _PARTS)).isoformat()
    if column.kind == "boolean":
        return part * 2 // _PARTS == 1
    if column.kind == "text":
        return f"text {part * 100 // _PARTS + 1}"
    return part * 101 // _PARTS if column.kind == "integer" else part * 1001 // _PARTS / 10
