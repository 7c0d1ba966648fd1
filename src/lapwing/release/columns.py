"""An answer as plain columns: keys and their labels, and value, low and high of each statistic; and those as CSV."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measure.cells import Column
from ..measure.measurement import Estimate
from ..plan.plan import Plan
from ..question.bins import bin_names, limit_names
from ..question.codes import Key, written
from ..question.query import ENDINGS, Query
from ..question.schema import Column as DeclaredColumn
from . import arrow
from .noise_marks import UNKNOWN


def ends(estimates: Mapping[str, Estimate], marks: Mapping[str, Column] | None = None) -> list[tuple[str, Column]]:
    """Return the columns of estimates under their names, and after all of them the marks of their noise, if given."""
    value, low, high, noise = ENDINGS
    found = [
        (f"{name}{ending}", end)
        for name, each in estimates.items()
        for ending, end in zip((value, low, high), each, strict=True)
    ]
    return [*found, *((f"{name}{noise}", mark) for name, mark in (marks or {}).items())]


_TOTAL = "Total"

_BEYOND, _MOST_PLACES = 3, 250
"""How many digits after the point files have beyond the first of the margin; and beyond which number all of them."""

_TO_QUOTE = re.compile('[,"\r\n]')
"""What is quoted in CSV."""


class KeyColumn(NamedTuple):
    """A column of keys, or of their labels: its name, which key of the question it shows, and a value for each.

    If some tables of the answer do not have the key, the last value is None, for rows that are summed over it.
    """

    name: str
    at: int
    values: tuple[Key | None, ...]
    is_label: bool = False
    summed: tuple[int, ...] = ()
    """The keys that a column of GROUPING says of each row whether it is summed over them."""

    @property
    def keys(self) -> list[Key]:
        """Its values, without that of rows that are summed over the key."""
        return [value for value in self.values if value is not None]

    @property
    def is_key(self) -> bool:
        """Whether it has keys."""
        return not self.is_label and not self.summed


def key_texts(columns: Sequence[KeyColumn], at: int) -> tuple[str, ...]:
    """Return the text of each value of a key: its code, after its label if it has one."""
    total = total_name(columns)
    mine = (each.values for each in columns if each.at == at)
    codes, *labels = ([total if value is None else str(written(value)) for value in values] for values in mine)
    if not labels:
        return tuple(codes)
    pairs = zip(labels[0], codes, strict=True)
    return tuple(code if label == code else f"{label} ({code})" for label, code in pairs)


def key_columns(plan: Plan) -> list[KeyColumn]:
    """Return the columns of an answer that say which group a row is: each key, and its label after it, if it has one.

    Those of GROUPING follow.  Labels are named like ward_label; a number follows if something else has that name.
    """
    query, bins = plan.query, dict(plan.query.edges)
    names = query.titles or query.by
    taken = {*names, *(f"{statistic.name}{ending}" for statistic in query.statistics for ending in ENDINGS)}
    used = {name.casefold() for name in taken}
    found = []
    asked = {key for table in query.tables for key in table}
    if plan.several is not None:  # a county shows its region
        asked |= {each.parent for each in plan.several.levels if each.child in asked}
    for key in (each for each in plan.keys or query.by if each in asked):
        at = query.by.index(key)
        name = names[at]
        over = () if all(key in table for table in query.tables) else (None,)
        column = plan.schema.columns[key]
        keys = column.asked(_bins(query, bins[key], key, column)) if key in bins else column.group_keys or ()
        found.append(KeyColumn(name, at, (*keys, *over)))
        if key not in bins and column.group_labels is not None:
            label, number = f"{name}_label", 1
            while label.casefold() in used:
                number += 1
                label = f"{name}_label_{number}"
            used.add(label.casefold())
            found.append(KeyColumn(label, at, (*column.group_labels, *over), is_label=True))
    for name, keys in query.grouping:
        found.append(KeyColumn(name, -1, tuple(range(2 ** len(keys))), summed=tuple(map(query.by.index, keys))))
    return found


def _bins(query: Query, edges: Sequence[Fraction], key: str, column: DeclaredColumn) -> tuple[str, ...]:
    """Return what the rows of bins are called; those of a distribution function by what their shares are of."""
    cumulated = key == query.by[-1] and query.statistics[0].kind == "cdf"
    return limit_names(edges) if cumulated else bin_names(edges, column)


def total_name(columns: Sequence[KeyColumn]) -> str:
    """Return what people read where a row is summed over a key; files have nothing there (NULL)."""
    taken = {str(key) for each in columns for key in each.keys}
    return _TOTAL if _TOTAL not in taken else f"({_TOTAL})"


def key_array(keys: Sequence[Key | None]) -> Column:
    """Return the keys of a column as Parquet stores them; if some are texts, all are.  None is NULL."""
    values = [None if key is None else written(key) for key in keys]
    if any(isinstance(value, str) for value in values):
        return np.array([None if value is None else str(value) for value in values], dtype=object)
    gone = [value is None for value in values]
    there = np.array([values[0] if value is None else value for value in values])
    return np.ma.masked_array(there, gone) if any(gone) else there


def days_or_keys(keys: Sequence[Key | None]) -> Column:
    """Return the keys of a column as Arrow stores them: as for Parquet, but dates as days."""
    return arrow.days(keys) if all(key is None or isinstance(key, date) for key in keys) else key_array(keys)


def key_values(keys: Sequence[Key | None]) -> NDArray[Any]:
    """Return keys as an array: whole numbers and truth values as such, and anything else as objects."""
    plain = {type(each) for each in keys} in ({int}, {bool})
    return np.array(keys) if plain else np.array([*keys, None], dtype=object)[:-1]


def in_files(table: Mapping[str, list[Any]], whole: Collection[str] = ()) -> dict[str, list[Any]]:
    """Return plain columns as files for people have them: no digit is far below the margin of its number.

    Those that ``whole`` names stay, because they add up; the ends of bars are rounded outward.
    """
    value, below, above, noise = ENDINGS
    columns = dict(table)
    for name in table:
        low, high, marks = (table.get(f"{name}{ending}", []) for ending in (below, above, noise))
        if not any(isinstance(each, float) for each in low):
            continue
        found = [_rounded(*each) for each in zip(table[name], low, high, marks or [""] * len(low), strict=True)]
        columns |= {f"{name}{end}": [each[i] for each in found] for i, end in enumerate((value, below, above))}
        columns |= {name: table[name]} if name in whole else {}
    return columns


def _rounded(value: Any, low: Any, high: Any, mark: str) -> tuple[Any, Any, Any]:
    """Return a number and the ends of its bar, after the point with three digits beyond the first of its margin."""
    if None in (value, low, high) or mark == UNKNOWN or not 0 < high - low < math.inf:
        return value, low, high
    places = max(_BEYOND - math.floor(math.log10((high - low) / 2)), 0)
    if places > _MOST_PLACES:
        return value, low, high
    return round(value, places), _outward(low, places, -1), _outward(high, places, 1)


def _outward(end: float, places: int, way: int) -> float:
    """Return the end of a bar, rounded down (-1) or up (1)."""
    rounded = round(end, places)
    return rounded if (rounded - end) * way >= 0 else round(rounded + way * 10.0**-places, places)


def csv_text(table: Mapping[str, list[Any]], *, header: bool = True, whole: Collection[str] = ()) -> str:
    """Return plain columns as CSV, as ``in_files`` has them; those that ``whole`` names have all of their digits."""
    table = in_files(table, whole)
    cells = ([_digits(cell) if name in whole else _csv_cell(cell) for cell in each] for name, each in table.items())
    columns = ([_field(cell) for cell in each] for each in cells)
    lines = [map(_field, table)] if header else []
    return "".join(f"{','.join(line)}\n" for line in (*lines, *zip(*columns, strict=True)))


def _field(cell: Any) -> str:
    """Return a cell as it stands in CSV: nothing for NULL, and quotes around the empty text, which is another key."""
    if cell is None:
        return ""
    text = str(cell)
    return text if text and not _TO_QUOTE.search(text) else '"' + text.replace('"', '""') + '"'


def _csv_cell(cell: Any) -> Any:
    return str(cell).lower() if isinstance(cell, bool) else written(cell)


def _digits(number: float | None) -> str | float | None:
    """Return a number with all of its digits: usual texts leave out those that are not needed to tell floats apart."""
    if number is None or Decimal(repr(number)) == Decimal(number):
        return number
    return f"{Decimal(number):f}"
