"""Several tables from one reading of the rows: the last step of the SQL, and its result split by table.

``finest`` has one row for each combination of keys that occurs (c0, c1, … are the numbers of the keys, each of its own
column) with its sums (f0, f1, …).  The tables are sums of it: integers, so each table has exactly the margins of a
larger one.

Claim U6 (one reading).  Every table has the sums of the same rows: those with a declared key in every key column of the
question, also in columns that the table leaves out.  So summing a table over a column gives the table without it.

Where an engine keeps ``finest``, each table is a SELECT of its own; elsewhere GROUPING SETS reads it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dialect import Dialect

Axes = tuple[int, ...]
"""The key columns of a table, by their numbers."""


def tables_sql(sizes: Sequence[int], tables: Sequence[Axes], sums: Sequence[str], to: Dialect) -> list[str]:
    """Return the last steps: which table, the number of the cell in it, and its sums, each as ``sums`` formats it."""
    totals = [total.format(f"COALESCE(SUM(f{j}), 0)") for j, total in enumerate(sums)]
    if to.tables == "union":
        return ["\nUNION ALL ".join(_one(which, table, sizes, totals) for which, table in enumerate(tables))]
    return _together(sizes, tables, totals, to)


def _one(which: int, table: Axes, sizes: Sequence[int], totals: Sequence[str]) -> str:
    cell = _cell(table, sizes)
    grouped = f" GROUP BY {cell}" if table else ""
    return f"SELECT {which} AS which, {cell} AS cell, {', '.join(totals)} FROM finest{grouped}"


def _cell(table: Axes, sizes: Sequence[int]) -> str:
    """Return the number of a cell: its keys' numbers are digits, the last column's the last."""
    number = f"c{table[0]}" if table else "0"
    for axis in table[1:]:
        number = f"({number}) * {sizes[axis]} + c{axis}"
    return number


def _together(sizes: Sequence[int], tables: Sequence[Axes], totals: Sequence[str], to: Dialect) -> list[str]:
    """Return the steps with GROUPING SETS: ``mask`` has a bit for each column that a row is summed over."""
    axes = sorted({axis for table in tables for axis in table})
    mask = " + ".join(f"CAST(GROUPING(c{axis}) AS {to.big}) * {2**bit}" for bit, axis in enumerate(axes)) or "0"
    names = [f"t{j}" for j in range(len(totals))]
    summed = [*(f"c{axis}" for axis in axes), f"{mask} AS mask"]
    summed += [f"{total} AS {name}" for total, name in zip(totals, names, strict=True)]
    masks = [sum(2**bit for bit, axis in enumerate(axes) if axis not in table) for table in tables]
    which = " ".join(f"WHEN {mask} THEN {at}" for at, mask in enumerate(masks))
    cells = " ".join(f"WHEN {mask} THEN {_cell(table, sizes)}" for mask, table in zip(masks, tables, strict=True))
    sets = ", ".join(f"({', '.join(f'c{axis}' for axis in table)})" for table in tables)
    grouped = f" GROUP BY GROUPING SETS ({sets})" if axes else ""
    return [
        f"summed AS (SELECT {', '.join(summed)}\n  FROM finest{grouped})",
        f"SELECT CASE mask {which} END AS which, CASE mask {cells} END AS cell, {', '.join(names)}\n  FROM summed",
    ]


def split(columns: Sequence[NDArray[Any]], tables: int) -> list[list[NDArray[Any]]]:
    """Return the columns of each table, as the SQL of a question for that table alone returns them."""
    if not columns:
        return [[] for _ in range(tables)]
    which = np.asarray(columns[0]).astype(np.min_scalar_type(tables))  # small integers are sorted in one pass
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(1, tables))
    parts = [np.split(column[order], ends) for column in columns[1:]]
    return [list(some) for some in zip(*parts, strict=True)]
