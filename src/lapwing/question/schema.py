"""What is public about a table: who is protected, and what each column may hold.

Nothing here is learned from the data.  The owner declares bounds, keys and types, and every later step relies on the
declaration alone: a cell that does not fit it follows a fixed rule (docs/reference/source.md), and is never an error.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from .. import exact
from ..errors import (
    ConflictingParameters,
    InvalidBounds,
    InvalidParameter,
    InvalidRequest,
    InvalidSource,
    MissingParameter,
    Shown,
    UnknownColumn,
)
from ..exact import Number as NumberLike
from ..sensitivity import Neighbors
from .file import AS_USUAL, File

Kind = Literal["text", "number", "integer", "date", "boolean"]
Key = str | int | bool | date
Code = str | date | Fraction

KINDS: tuple[Kind, ...] = get_args(Kind)
WEIGHT = 2**16
"""The weight of a row in a table where a person may have several: a row counts in units of 2^-16."""

MAX_ROWS_PER_PERSON = 10**6
MAX_CELLS = 2 * 10**7
MOST_BINS = 1024
"""The largest number of bins of a distribution function: each of its error bars takes some milliseconds."""

_FINEST = 2**20
_COARSEST = 2**31
_WHOLE_RANGE = 2**24
_MOST_LISTED = 100
_MOST_CODES = 1000


@dataclass(frozen=True)
class Grid:
    """The public grid of a column: the values low·step, (low + 1)·step, …, high·step."""

    step: Fraction
    low: int
    high: int

    @property
    def steps(self) -> int:
        """The number of steps from the lowest to the highest value."""
        return self.high - self.low


@dataclass(frozen=True)
class Column:
    """A column that may be named in a query.

    ``grid`` is set for numbers with bounds, ``keys`` for columns to group by, ``edges`` for numbers with bins.
    A column with only a type can be used only in conditions.  ``other`` is the name under which keys that are not
    listed are counted; without it they are left out.  ``missing`` are codes such as 99: no values, but missing.
    """

    kind: Kind
    low: Fraction | None = None
    high: Fraction | None = None
    keys: tuple[Key, ...] | None = None
    other: str | None = None
    edges: tuple[Fraction, ...] | None = None
    grid: Grid | None = None
    missing: tuple[Code, ...] = ()

    @property
    def labels(self) -> tuple[Key, ...] | None:
        """The groups of this column, in their public order."""
        if self.edges is not None:
            return bin_labels(self.edges, self)
        if self.keys is None:
            return None
        return self.keys if self.other is None else (*self.keys, self.other)

    @property
    def groups(self) -> int:
        """The number of its groups."""
        if self.edges is not None:
            return len(self.edges) - 1
        return len(self.keys or ()) + (self.other is not None)

    def describe(self) -> dict[str, Any]:
        """Return the declaration for JSON; a long list of keys is replaced by its digest."""
        declaration: dict[str, Any] = {"type": self.kind}
        if self.keys is not None:
            listed = [written(key) for key in self.keys]
            declaration["keys"] = listed
            if len(listed) > _MOST_LISTED:
                digest = hashlib.sha256(json.dumps(listed).encode()).hexdigest()
                declaration["keys"] = f"{len(listed)} keys, SHA-256 {digest}"
        if self.other is not None:
            declaration["other"] = self.other
        if self.low is not None and self.high is not None:
            declaration |= {"low": exact.text(self.low), "high": exact.text(self.high)}
        if self.edges is not None:
            declaration["edges"] = [exact.text(edge) for edge in self.edges]
        if self.missing:
            declaration["missing"] = [exact.text(x) if isinstance(x, Fraction) else written(x) for x in self.missing]
        return declaration


def number(
    low: NumberLike | None = None,
    high: NumberLike | None = None,
    *,
    integer: bool = False,
    edges: Sequence[NumberLike] | None = None,
    keys: Iterable[int] | None = None,
    missing: Iterable[NumberLike] = (),
) -> Column:
    """Declare a numeric column.

    Args:
        low: the lower bound; smaller values count as this one.  Take it from what the column means, never from data.
        high: the upper bound.
        integer: the values are whole numbers.
        edges: the borders of bins, in rising order; grouping by the column then means grouping by these bins.
            Without low and high, the first and the last edge are the bounds.
        keys: whole numbers to group by, as for ``keys``, instead of edges.
        missing: codes that are no values, such as 99 and 999; they count as missing, before the bounds.
    """
    if not isinstance(integer, bool):
        raise InvalidParameter(integer, "integer", "true or false")
    borders = None if edges is None else bin_edges(edges)
    if low is None and high is None and borders is not None:
        low, high = borders[0], borders[-1]
    bounds = exact.bounds(low, high)
    if integer:
        bounds = Fraction(math.ceil(bounds[0])), Fraction(math.floor(bounds[1]))
        if bounds[0] >= bounds[1] or max(abs(bounds[0]), abs(bounds[1])) > 2**53:
            allowed = "bounds of an integer column hold two or more whole numbers, and are at most 2^53 in size"
            raise InvalidBounds(low, high, allowed)
    elif max(abs(bounds[0]), abs(bounds[1])) > 10**100 or bounds[1] - bounds[0] < Fraction(1, 10**100):
        raise InvalidBounds(low, high, "bounds of a column are at most 10^100 in size, and at least 10^-100 apart")
    listed = None if keys is None else _whole_keys(keys, borders)
    grid = _grid(*bounds, integer=integer)
    kind: Kind = "integer" if integer else "number"
    codes = _codes(kind, missing, listed or ())
    return Column(kind, bounds[0], bounds[1], listed, edges=borders, grid=grid, missing=codes)


def _whole_keys(values: Iterable[int], edges: tuple[Fraction, ...] | None) -> tuple[Key, ...]:
    listed = keys(values)
    if edges is not None:
        raise ConflictingParameters("keys", "edges", "Give the keys to group by, or the edges of bins.")
    if listed.kind != "integer":
        raise InvalidRequest(
            f"The keys of a number are of the type {listed.kind}",
            "Give whole numbers, or declare lw.keys(…).",
        )
    return listed.keys or ()


def keys(*values: Key | Iterable[Key], other: str | None = None, missing: Iterable[Key] = ()) -> Column:
    """Declare a column to group by: its public keys, in the order in which they are shown.

    Args:
        values: the keys, all of one type: text, whole numbers, truth values or dates; or one list or array of them.
        other: count keys that are not listed under this name, instead of leaving them out.
        missing: codes that are no values, such as "9"; they count as missing.
    """
    listed: tuple[Any, ...] = tuple(map(_plain_key, _listed(values)))
    kind = _one_kind(listed)
    for place, key in enumerate(listed, 1):
        if kind == "integer" and abs(key) > 2**53:
            raise _refused(f"a number beyond 2^53 in place {place}")
        if kind == "text" and ("\0" in key or not is_unicode(key)):
            raise _refused(f"a text in place {place} that is not Unicode or holds a NUL")
    if other is not None and (not isinstance(other, str) or not other or other in listed):
        raise InvalidParameter(other, "other", "a text that is not one of the keys")
    return Column(kind, keys=listed, other=other, missing=_codes(kind, missing, listed))


def _refused(fault: str) -> InvalidRequest:
    return InvalidRequest(
        f"The list of keys has {fault}",
        "Give one or more different texts, whole numbers up to 2^53, truth values or dates, all of one type.",
    )


def _listed(values: Sequence[Any]) -> Iterable[Any]:
    """Return the keys that are given one by one, or as one list."""
    if len(values) != 1 or isinstance(values[0], Key | bytes | bytearray | memoryview):
        return values
    try:
        return tuple(values[0])
    except TypeError:  # a single object that is not a list
        return values


def _plain_key(key: Any) -> Any:
    """Return a key of NumPy as the same value of Python; a moment finer or coarser than a day is not a date."""
    if isinstance(key, np.datetime64):
        return key.item() if np.datetime_data(key.dtype)[0] == "D" else key
    return key.item() if isinstance(key, np.bool_ | np.integer | np.str_) else key


def _one_kind(listed: Sequence[Any]) -> Kind:
    """Return the kind of all keys; refuse a list for its first fault, and say only its type and place."""
    first: Kind | None = None
    places: dict[Any, int] = {}
    for place, key in enumerate(listed, 1):
        kind = _kind_of(key)
        fault = None
        if kind is None:
            what = "a missing key" if _is_missing(key) else f"something of type {type(key).__name__}"
            fault = f"{what} in place {place}"
        elif first is not None and kind != first:
            fault = f"keys of different types ({first} in place 1, {kind} in place {place})"
        elif key in places:
            fault = f"the same key in places {places[key]} and {place}"
        if fault is not None:
            raise _refused(fault)
        first, places[key] = kind, place
    if first is None:
        raise _refused("nothing in it")
    return first


def _is_missing(key: object) -> bool:
    return key is None or type(key).__name__ in ("NAType", "NaTType") or (isinstance(key, float) and math.isnan(key))


def written(key: Key) -> str | int | bool:
    """Return a key as JSON and files store it: a date as ISO text."""
    return key.isoformat() if isinstance(key, date) else key


def _kind_of(key: object) -> Kind | None:
    if isinstance(key, bool):
        return "boolean"
    if isinstance(key, datetime):  # a moment; pandas' NaT is one too
        return None
    for kind, name in ((str, "text"), (int, "integer"), (date, "date")):
        if isinstance(key, kind):
            return name  # type: ignore[return-value]
    return None


def is_unicode(text: str) -> bool:
    """Return whether a text can be written in UTF-8."""
    try:
        text.encode()
    except UnicodeError:
        return False
    return True


def plain(kind: str, missing: Iterable[Key | NumberLike] = ()) -> Column:
    """Declare a column by its type alone: it can be used in conditions, but not in sums or to group by.

    Args:
        kind: text, number, integer, date or boolean.
        missing: codes that are no values, such as 99; they count as missing.
    """
    if kind not in KINDS:
        raise InvalidParameter(kind, "type", f"one of {', '.join(KINDS)}")
    return Column(kind, missing=_codes(kind, missing))


def _codes(kind: Kind, missing: Iterable[Any], listed: Sequence[Key] = ()) -> tuple[Code, ...]:
    """Return the codes that count as missing in a column of this kind, in an order that says nothing."""
    allowed = f"a list of at most {_MOST_CODES} codes of the type {kind}"
    if isinstance(missing, str | bytes) or not isinstance(missing, Iterable):
        raise InvalidParameter(missing, "missing", allowed)
    codes: list[Any] = list(map(_plain_key, missing))
    if codes and kind == "boolean":
        raise InvalidParameter(Shown("given"), "missing", "left out for truth values: declare the column as text")
    if len(codes) > _MOST_CODES:
        raise InvalidParameter(Shown(f"{len(codes)} codes"), "missing", allowed)
    if kind in ("number", "integer"):
        codes = [exact.finite(code, "missing") for code in codes]
    for code in codes:
        if isinstance(code, Fraction) and abs(code) > 10**300:
            raise InvalidParameter(Shown("a number beyond 10^300"), "missing", allowed)
        fits = isinstance(code, Fraction) or _kind_of(code) == kind
        if not fits or (isinstance(code, str) and ("\0" in code or not is_unicode(code))):
            raise InvalidParameter(Shown(f"a code of type {type(code).__name__}"), "missing", allowed)
        if code in listed:
            raise InvalidParameter(code, "missing", "codes that are not among the keys")
    return tuple(sorted(set(codes)))


def bin_edges(edges: Sequence[NumberLike]) -> tuple[Fraction, ...]:
    """Return the borders of bins, checked."""
    allowed = "two or more numbers in rising order, such as 0, 18, 65, 120"
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise InvalidParameter(edges, "edges", allowed)
    borders = tuple(exact.finite(edge, "edge") for edge in edges)
    if not borders:
        raise MissingParameter("edges", f"Give {allowed}.")
    if len(borders) < 2 or any(a >= b for a, b in pairwise(borders)) or max(map(abs, borders)) > 10**300:
        listed = Shown(", ".join(map(exact.text, borders[:5])))
        raise InvalidParameter(listed if isinstance(edges, list | tuple) else edges, "edges", allowed)
    return borders


def equal_bins(column: Column, number: int) -> tuple[Fraction, ...]:
    """Return the borders of equally wide bins between the bounds; for whole numbers none is narrower than 1."""
    assert column.low is not None
    assert column.high is not None
    low, high = column.low, column.high
    if column.kind == "integer":
        high += 1  # the last bin holds the upper bound itself
        number = min(number, int(high - low))
        return tuple(low + math.floor(i * (high - low) / number) for i in range(number + 1))
    return tuple(low + i * (high - low) / number for i in range(number + 1))


def bin_labels(edges: Sequence[Fraction], column: Column) -> tuple[str, ...]:
    """Return the names of the bins: [a, b) each, and [a, b] for the last.

    The first and the last also hold values beyond the edges; their names say so if the column's bounds reach further.
    """
    texts = [exact.text(edge) for edge in edges]
    names = [f"[{a}, {b})" for a, b in pairwise(texts)]
    names[-1] = f"[{texts[-2]}, {texts[-1]}]"
    below, above = column.low is not None and column.low < edges[0], column.high is not None and column.high > edges[-1]
    if len(names) == 1 and (below or above):
        return ("all",)
    if below:
        names[0] = f"< {texts[1]}"
    if above:
        names[-1] = f"≥ {texts[-2]}"
    return tuple(names)


def _grid(low: Fraction, high: Fraction, *, integer: bool) -> Grid:
    """Return the grid of a column: its whole values, or about 2^20 to 2^31 steps with the bounds on the grid.

    With bounds a/q and b/q the step is 2^j/q; only when b - a is above 2^31 may the bounds lie between two steps, and
    the grid then reaches beyond them by less than a step.
    """
    bottom = 1 if integer else math.lcm(low.denominator, high.denominator)
    width = int((high - low) * bottom)
    power = 0
    if not integer or width > _WHOLE_RANGE:
        while width * Fraction(2) ** -power > _COARSEST:
            power += 1
        while power <= 0 and not integer and width * 2**-power < _FINEST:
            power -= 1
    step = Fraction(2) ** power / bottom
    return Grid(step, math.floor(low / step), math.ceil(high / step))


@dataclass(frozen=True)
class Schema:
    """Everything public about a table; all queries are checked against it.

    ``every_row_counts`` is False if a row may be left out because of its content, such as a line of a CSV file that
    does not fit its header, or a row that a filter removed: the number of rows is then private under change_one too.
    """

    name: str
    columns: Mapping[str, Column]
    person: str | None = None
    rows_per_person: int = 1
    neighbors: Neighbors = "add_remove"
    version: str | None = None
    every_row_counts: bool = True
    file: File = AS_USUAL

    def column(self, asked: str) -> tuple[str, Column]:
        """Return the declared column of this name; SQL may write it in upper or lower case."""
        if not isinstance(asked, str):  # a Series or an expression, of which only the type is shown
            raise InvalidParameter(asked, "column", "the name of a declared column")
        if asked in self.columns:
            return asked, self.columns[asked]
        folded = [name for name in self.columns if name.casefold() == asked.casefold()]
        if len(folded) != 1:
            raise UnknownColumn(asked, self.name, tuple(self.columns))
        return folded[0], self.columns[folded[0]]

    @property
    def row_weight(self) -> int:
        """The weight of one row, in the units in which rows are counted."""
        return 1 if self.person is None else WEIGHT

    @property
    def person_l1(self) -> int:
        """The most that the weights of one person add up to."""
        return self.rows_per_person * self.row_weight


def make_schema(
    name: object,
    columns: Mapping[str, Column | str],
    person: str | None,
    rows_per_person: object,
    neighbors: object,
    version: object,
    every_row_counts: bool = True,
    file: File = AS_USUAL,
) -> Schema:
    """Return the schema, checked."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= 100 or name != name.strip():
        raise InvalidParameter(name, "name", "a printable text of 1 to 100 characters")
    if not isinstance(columns, Mapping):
        raise InvalidParameter(columns, "columns", "a mapping from names to declarations")
    declared = {}
    for key, column in columns.items():
        if not isinstance(key, str) or not key or "\0" in key or not is_unicode(key):
            raise InvalidParameter(key, "column name", "a text")
        if not isinstance(column, Column | str):
            raise InvalidParameter(column, f'column "{key}"', 'lw.number(…), lw.keys(…) or a type such as "date"')
        declared[key] = plain(column) if isinstance(column, str) else column
    if len({key.casefold() for key in declared}) != len(declared):
        raise InvalidSource(name, "declares two columns whose names differ only in case", "Rename one of them.")
    if neighbors not in ("add_remove", "change_one"):
        raise InvalidParameter(neighbors, "neighbors", '"add_remove" or "change_one"')
    if person is None:
        if rows_per_person not in (None, 1):
            raise InvalidSource(name, "has rows_per_person but no person", "Name the column that identifies a person.")
        rows_per_person = 1
    elif not isinstance(person, str) or not person:
        raise InvalidParameter(person, "person", "the name of a column")
    elif rows_per_person is None:
        raise InvalidSource(
            name,
            "names a person column but not rows_per_person",
            "Say how many rows of one person count in full, for example 1; people with more are weighted down to it.",
        )
    bound = exact.whole(rows_per_person, "rows_per_person", MAX_ROWS_PER_PERSON)
    if version is not None and (not isinstance(version, str) or len(version) > 200):
        raise InvalidParameter(version, "version", "a text")
    return Schema(name, declared, person, bound, neighbors, version, every_row_counts, file)
