"""The possible rows of a made-up table: a list of rows, a declared column, or columns by name.

A row is identified by its number, from 0; the simplest rows come first.  Rows are created on demand, as a fresh copy
each time, so that the function under audit can neither change the domain nor the next table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import InvalidParameter, MissingParameter
from ...question.schema import Column

_ALLOWED = (
    "a list of the rows that may occur, a column with bounds or keys (lw.number(0, 100), lw.keys(…)), "
    "or a mapping from names to these"
)
_FIXED = (int, float, str, bytes, Fraction, date, type(None))
_HUGE = 1e308


@dataclass(frozen=True)
class Domain:
    """The rows that may occur: those of one part, or with names a dict of one value of each part."""

    parts: tuple[Sequence[Any], ...]
    names: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return math.prod(map(len, self.parts))

    def row(self, number: int) -> Any:
        """Return a fresh copy of the row with this number."""
        if self.names is None:
            return _fresh(self.parts[0][number])
        cells = []
        for part in reversed(self.parts):
            number, place = divmod(number, len(part))
            cells.append(_fresh(part[place]))
        return dict(zip(self.names, reversed(cells), strict=True))

    def earlier(self, number: int) -> Iterator[int]:
        """Yield numbers of simpler rows: with one cell that comes earlier in its part."""
        weight = 1
        for part in reversed(self.parts):
            place = number // weight % len(part)
            for below in _below(place):
                yield number - (place - below) * weight
            weight *= len(part)


def make_domain(asked: object) -> Domain:
    """Return the domain that was declared, or refuse it."""
    if isinstance(asked, Mapping) and asked:
        return Domain(tuple(map(_part, asked.values())), tuple(asked))
    return Domain((_part(asked),))


def _part(asked: object) -> Sequence[Any]:
    if isinstance(asked, Column):
        return _cells(asked)
    if isinstance(asked, range):  # may be long
        part: Sequence[Any] = asked
    elif isinstance(asked, np.ndarray) and asked.ndim:
        part = list(asked)
    elif isinstance(asked, Sequence) and not isinstance(asked, str | bytes):
        part = deepcopy(list(asked))
    else:
        raise InvalidParameter(asked, "domain", _ALLOWED)
    if not part:
        raise MissingParameter("domain", f"Give {_ALLOWED}.")
    return part


def _cells(column: Column) -> list[Any]:
    """Return what the declaration says, and then what real columns hold besides."""
    cells: list[Any] = []
    if column.low is not None and column.high is not None:
        low, high = column.low, column.high
        width = high - low
        inside = [low, high, (low + high) / 2, *(column.edges or ()), *(x for x in (0, 1) if low < x < high)]
        beyond = [low - 1, high + 1, low - width, high + width]
        make = math.floor if column.kind == "integer" else float
        cells += [make(x) for x in inside]
        cells += column.keys or ()
        cells += [None, math.nan, *(make(x) for x in beyond), math.inf, -math.inf, _HUGE, -_HUGE]
    elif column.keys is not None:
        cells += [*column.keys, _unknown(column.keys), None]
        if column.kind == "text":
            cells += ["", math.nan]  # how files and data frames write what is missing
    else:
        raise InvalidParameter(column, "domain", _ALLOWED)
    cells += [float(code) if isinstance(code, Fraction) else code for code in column.missing]
    return list({(type(cell), repr(cell)): cell for cell in cells}.values())


def _unknown(keys: Sequence[Any]) -> Any:
    """Return a key of the same type that is not listed; for truth values, only the missing one."""
    last = max(keys)
    if isinstance(last, bool):
        return None
    if isinstance(last, int):
        return last + 1
    if isinstance(last, date):
        return last + timedelta(days=1) if last < date.max else date.min
    return "unlisted" if "unlisted" not in keys else last + "."


def _fresh(cell: Any) -> Any:
    return cell if type(cell) in _FIXED or isinstance(cell, np.generic) else deepcopy(cell)


def _below(place: int) -> Iterator[int]:
    """Yield places below this one: all if there are few, else the first and then closer and closer ones."""
    if place <= 200:
        yield from range(place)
        return
    yield from range(20)
    gap = place // 2
    while gap:
        yield place - gap
        gap //= 2
