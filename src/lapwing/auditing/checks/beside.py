"""Data frames with one additional odd cell: every other cell must be read as before (claim E0).

A library chooses the type of a column from all of its cells.  Here pandas, Polars and Arrow build columns of many kinds
of cells by their own rules, alone and with one odd cell before or after, and each is declared as every kind.  One
question covers many columns of a wide frame: how many rows have the values that the rule for cells gives them.
"""

from __future__ import annotations

import datetime as dt
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ...errors import LapwingError
from ...question import query
from ...question.codes import KINDS
from ...question.schema import plain
from ..finding import Finding, all_right
from ..room import Room
from ..tools.asking import Asking, cells

ROWS = 12
"""Rows of every kind of cells: each cell occurs more than once, so that a misread one affects more than one row."""

TOGETHER = 100
"""The most statistics in one release."""

_EVENING = dt.datetime(2024, 3, 1, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-5)))

ODD: tuple[Any, ...] = (
    None, float("nan"), "n/a", "", 5, 2.5, True, 2**53 + 1, 2**70, float("inf"), Decimal("1.50"), dt.date(2024, 1, 1),
    dt.datetime(2024, 1, 1, 5), dt.datetime(2024, 1, 1, tzinfo=dt.UTC), b"x", b"\xff", [1], 1j, "\ud800", object(),
)  # fmt: skip
"""Cells that a person may have, some of them unexpected."""

_NO_NUMBER, _NO_TEXT, _NO_DATE = "{number} IS NULL AND {integer} IS NULL", "{text} IS NULL", "{date} IS NULL"
_NO_TRUTH, _TRUE = "{boolean} IS NULL", "{boolean}"
_TRUE_UNLESS_0 = "({boolean} AND {number} <> 0 OR NOT {boolean} AND {number} = 0)"


class _Town(str, Enum):  # noqa: UP042  # a StrEnum prints as its value
    """A text that prints as something else: the value counts."""

    HERE = "Zürich"


class Cells(NamedTuple):
    """Cells of one kind, and what is true of every row of them if they are read correctly as each kind of column."""

    cells: Any
    read: tuple[str, ...]
    categorical: bool = False


def repeated(cells: Any, rows: int) -> Any:
    """Return the given number of rows, repeating the cells; an array keeps its type."""
    return np.resize(cells, rows) if isinstance(cells, np.ndarray) else [cells[i % len(cells)] for i in range(rows)]


def _numbers(*values: object) -> str:
    return f"{{number}} IN ({', '.join(map(str, values))}) AND {{integer}} = {{number}}"


def _texts(*values: object) -> str:
    return f"{{text}} IN ({', '.join(query.literal(str(value)) for value in values)})"


def _dates(*values: str) -> str:
    return f"{{date}} IN ({', '.join(map(query.literal, values))})"


CELLS: dict[str, Cells] = {
    "whole numbers": Cells([0, 1, 2, 5], (_numbers(0, 1, 2, 5), _texts(0, 1, 2, 5), _TRUE_UNLESS_0, _NO_DATE)),
    "numbers of 16 digits": Cells(
        [4111111111111111, 4111111111111112, 2**53 - 1],
        (
            _numbers(4111111111111111, 4111111111111112, 2**53 - 1),
            _texts(4111111111111111, 4111111111111112, 2**53 - 1),
            _TRUE,
            _NO_DATE,
        ),
    ),
    "numbers from 2^53 on": Cells([2**53, 2**53 + 1, 2**60 + 1], (_numbers(2**53, 2**60), _NO_TEXT, _TRUE, _NO_DATE)),
    "truth values": Cells([True, False], (_numbers(0, 1), _texts(0, 1), _TRUE_UNLESS_0, _NO_DATE)),
    "whole floats": Cells(
        [0.0, 1.0, 5.0, 1e15], (_numbers(0, 1, 5, 10**15), _texts(0, 1, 5, 10**15), _TRUE_UNLESS_0, _NO_DATE)
    ),
    "fractions": Cells([0.1, 5.5, 1e-300], (_numbers(0.1, 5.5, "1e-300"), _NO_TEXT, _TRUE, _NO_DATE)),
    "floats of 32 bits": Cells(
        np.array([0.1, 0.7], np.float32),
        (_numbers(float(np.float32(0.1)), float(np.float32(0.7))), _NO_TEXT, _TRUE, _NO_DATE),
    ),
    "decimals": Cells([Decimal("5.00"), Decimal(7)], (_numbers(5, 7), _texts(5, 7), _TRUE, _NO_DATE)),
    "words": Cells(["a", "x y", "é"], (_NO_NUMBER, _texts("a", "x y", "é"), _NO_TRUTH, _NO_DATE)),
    "texts of an enumeration": Cells([_Town.HERE], (_NO_NUMBER, _texts("Zürich"), _NO_TRUTH, _NO_DATE)),
    "texts of numbers": Cells(["5", "5.0", " 7"], (_numbers(5, 7), _texts("5", "5.0", " 7"), _TRUE, _NO_DATE)),
    "texts of dates": Cells(["2024-03-01", "1900-01-01"], (_NO_NUMBER, _NO_TRUTH, _dates("2024-03-01", "1900-01-01"))),
    "moments": Cells(
        [dt.datetime(2024, 3, 1, 23, 30), dt.datetime(1900, 1, 1)],
        (_NO_NUMBER, _NO_TEXT, _NO_TRUTH, _dates("2024-03-01", "1900-01-01")),
    ),
    "moments with a time zone": Cells(
        [_EVENING, _EVENING + dt.timedelta(days=40)],
        (_NO_NUMBER, _NO_TEXT, _NO_TRUTH, _dates("2024-03-02", "2024-04-11")),
    ),
    "moments with nanoseconds": Cells(
        np.array(["1960-01-31T23:59:59.999999999", "2262-04-11T23:47:16.854775807"], "datetime64[ns]"),
        (_NO_NUMBER, _NO_TEXT, _NO_TRUTH, _dates("1960-01-31", "2262-04-11")),
    ),
    "days": Cells(
        [dt.date(2024, 3, 1), dt.date(1, 1, 1)],
        (_NO_NUMBER, _NO_TEXT, _NO_TRUTH, _dates("2024-03-01", "0001-01-01")),
    ),
    "categories": Cells(
        [5, "5", 7, "x"],
        ("({number} IN (5, 7) OR {text} = 'x')", _texts(5, 7, "x"), "({boolean} OR {text} = 'x')", _NO_DATE),
        categorical=True,
    ),
}


@dataclass(frozen=True)
class Library:
    """How a library turns a list into a column and back, concatenates columns, and makes a frame of them."""

    name: str
    make: Callable[[Sequence[Any]], Any]
    listed: Callable[[Any], list[Any]]
    join: Callable[[Sequence[Any]], Any]
    frame: Callable[[Mapping[str, Any]], Any]
    categorical: Callable[[Sequence[Any]], Any] | None = None
    missing: tuple[Any, ...] = ()
    """Its other ways to write a missing cell."""

    def column(self, kind: Cells, listed: Sequence[Any]) -> Any:
        """Return a column of cells, of the type that the library chooses; None if it refuses them."""
        if kind.categorical:
            return None if self.categorical is None else _tried(self.categorical, listed)
        return _tried(self.make, listed)

    def with_one(self, kind: Cells, own: Sequence[Any], odd: Any, first: bool) -> list[Any]:
        """Return the different columns that the library makes of cells and one more, from a list and by concatenation.

        There is none if it refuses.  What it changes by itself is left out: Arrow turns whole numbers into days if the
        column also has a date.
        """
        column, one = self.column(kind, own), _tried(self.make, [odd])
        listed = self.listed(column)
        made = [self.column(kind, [odd, *own] if first else [*own, odd])]
        if one is not None:
            made.append(_tried(self.join, [one, column] if first else [column, one]))
        found = {}
        for column in made:
            now = None if column is None else _tried(self.listed, column)
            if now is not None and (now[1:] if first else now[:-1]) == listed:
                found[type_of(column), *map(type, now)] = column
        return list(found.values())


def type_of(column: Any) -> str:
    """Return the type that a library chose for a column."""
    return str(column.type if hasattr(column, "type") else column.dtype)


def _tried(make: Callable[[Any], Any], given: Any) -> Any:
    """Return what a library makes, or None if it refuses: then Lapwing never gets it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make(given)
        except Exception:  # of many classes, some of them the library's own
            return None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of Polars, which is no Exception
                raise
            return None


Side = tuple[str, int | None, bool]
"""The kind of cells, the number of the odd cell, and whether it comes first."""

Counted = tuple[tuple[int, ...], int]


def beside(room: Room, library: Library) -> Iterator[Finding]:
    """Yield, for every kind of cells, how far one odd cell moves the number of rows that are read correctly."""
    odd = (*ODD, *library.missing)
    alone: dict[Side, list[Any]] = {}
    sides: dict[Side, list[Any]] = {}
    for name, kind in CELLS.items():
        own = repeated(kind.cells, ROWS)
        column = library.column(kind, own)
        if column is None:
            continue
        alone[name, None, False] = [column]
        for i, cell in enumerate(odd):
            for first in (False, True) if room.deep else ((len(alone) + i) % 2 == 0,):
                if columns := library.with_one(kind, own, cell, first):
                    sides[name, i, first] = columns
    try:
        before, after = _counted(room, library, alone), _counted(room, library, sides)
    except LapwingError as error:
        yield Finding(f"{library.name}: cells beside one odd cell", False, f"a frame is refused: {error}")
        return
    for side in alone:
        name, (right, declared) = side[0], before[side]
        moved = {key: _distance(found, right) for key, (found, _) in after.items() if key[0] == name}
        worst = max(moved, key=lambda key: moved[key])
        number = sum(len(sides[key]) for key in moved)
        told = f"{moved[worst]:,} of {declared:,} declared, over {number} columns declared as {len(KINDS)} kinds"
        if moved[worst] > declared:
            told += f"; farthest beside {odd[worst[1] or 0]!a}"
        if right != (ROWS * declared, 0):
            told += f"; {right[0] / declared:g} of {ROWS} rows have their values when they are alone"
        passed = moved[worst] <= declared and right == (ROWS * declared, 0)
        yield Finding(f"{library.name}: {name} beside one odd cell", passed, told)


def blank(room: Room, library: Library) -> Iterator[Finding]:
    """Yield, for every kind of cells, whether a missing cell among them is missing in every kind of column."""
    sides: dict[Side, list[Any]] = {}
    ways = (None, math.nan, *library.missing)
    for name, kind in CELLS.items():
        own = repeated(kind.cells, ROWS)
        for number, way in enumerate(() if isinstance(own, np.ndarray) else ways):
            column = library.column(kind, [way if i % 2 else cell for i, cell in enumerate(own)])
            if column is not None:
                sides[name, number, False] = [column]
    nothing = " AND ".join(f"{{{kind}}} IS NULL" for kind in KINDS)
    wrong = []
    for (name, at, _), ((missing, _), weight) in _counted(room, library, sides, lambda _: (nothing,)).items():
        if missing != ROWS // 2 * weight:
            wrong.append(f"{name} with {ways[at or 0]!a}: {missing / weight:g} of {ROWS // 2} are missing")
    yield Finding(f"{library.name}: missing cells among others", not wrong, all_right(wrong, len(sides)))


def _distance(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


def _counted(
    room: Room,
    library: Library,
    sides: Mapping[Side, Sequence[Any]],
    read: Callable[[str], Sequence[str]] = lambda name: CELLS[name].read,
) -> dict[Side, Counted]:
    """Return, for each, the exact integers of the rows that read so and not, and how far one person may move them."""
    found: dict[Side, Counted] = {}
    drawn: dict[int, list[Any]] = {}
    for start in range(0, len(sides), TOGETHER):
        some = list(sides)[start : start + TOGETHER]
        columns: dict[str, Any] = {}
        conditions = []
        for number, side in enumerate(some):
            parts = []
            for way, column in enumerate(sides[side]):
                names = {kind: f"c{number}_{way}_{kind}" for kind in KINDS}
                columns |= dict.fromkeys(names.values(), column)
                parts += [condition.format(**names) for condition in read(side[0])]
            conditions.append(" AND ".join(parts))
        kinds = {name: plain(name.rpartition("_")[2]) for name in columns}
        asking = Asking(room, kinds, tuple(map(query.proportion, conditions)))
        made = asking.release(asking.source(library.frame(columns)))
        order = {statistic.condition: number for number, statistic in enumerate(made.plan.query.statistics)}
        if len(some) not in drawn:  # the noise depends only on the number of conditions
            others = tuple(query.proportion(f"x = {i}") for i in range(len(some)))
            drawn[len(some)] = Asking(room, {"x": "number"}, others).noise
        for part, noisy, noise in zip(made.plan.parts, cells(made), drawn[len(some)], strict=True):
            found[some[order[part.measurement.condition]]] = tuple(map(int, noisy - noise)), made.plan.sensitivity(part)
    return found


def libraries() -> Iterator[Library | str]:
    """Yield the libraries that are installed, and the names of those that are not; they are imported one by one."""
    for name, make in (("pandas", _pandas), ("polars", _polars), ("pyarrow", _arrow)):
        yield make(import_module(name)) if find_spec(name) else name


def _pandas(pandas: Any) -> Library:
    return Library(
        "pandas",
        make=pandas.Series,
        listed=lambda column: column.tolist(),
        join=lambda columns: pandas.concat(columns, ignore_index=True),
        frame=lambda columns: pandas.DataFrame({name: column.array for name, column in columns.items()}),
        categorical=lambda listed: pandas.Series(pandas.Categorical(listed)),
        missing=(pandas.NaT, pandas.NA),
    )


def _polars(polars: Any) -> Library:
    return Library(
        "Polars",
        make=polars.Series,
        listed=lambda column: column.to_list(),
        join=lambda columns: polars.concat([each.to_frame("c") for each in columns], how="vertical_relaxed")["c"],
        frame=lambda columns: polars.DataFrame([column.alias(name) for name, column in columns.items()]),
    )


def _arrow(arrow: Any) -> Library:
    def joined(columns: Sequence[Any]) -> Any:
        tables = [arrow.table({"c": each}) for each in columns]
        return arrow.concat_tables(tables, promote_options="permissive").column(0)

    return Library(
        "Arrow",
        make=lambda listed: arrow.table({"c": listed}).column(0),
        listed=lambda column: column.to_pylist(),
        join=joined,
        frame=lambda columns: arrow.table(dict(columns)),
    )
