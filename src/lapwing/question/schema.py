"""What is public about a table: who is protected, and what each column may hold.

Nothing here is learned from the data.  The owner declares bounds, keys and types, and every later step relies on the
declaration alone: a cell that does not fit it follows a fixed rule (docs/reference/source.md), and is never an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, TypeVar

from .. import exact
from ..errors import (
    ConflictingParameters,
    InvalidBounds,
    InvalidParameter,
    InvalidRequest,
    InvalidSource,
    Shown,
    UnknownColumn,
    UselessParameter,
)
from ..exact import Number as NumberLike
from ..sensitivity import Neighbors
from .bins import bin_edges, bin_names
from .codes import (
    KINDS,
    Code,
    KeptGroups,
    Key,
    Kind,
    Within,
    is_unicode,
    listed_keys,
    listed_or_digest,
    missing_codes,
    one_kind,
    plain_key,
    refused_keys,
    within_of,
    written,
)
from .expression import Expression, Recode
from .file import AS_USUAL, File
from .join import Join
from .labels import checked_labels, shown_text, with_labels
from .noise_levels import USUAL, NoiseLevels

WEIGHT = 2**16
"""The weight of a row in a table where a person may have several: a row counts in units of 2^-16."""

MAX_ROWS_PER_PERSON = 10**6
MAX_CELLS = 2 * 10**7
MOST_BINS = 1024
"""The largest number of bins of a distribution function: each of its error bars takes some milliseconds."""

_FINEST = 2**20
_COARSEST = 2**31
_READ = ("type", "first", "last", "missing")

T = TypeVar("T")


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
    ``labels`` has a text for each key or bin, ``unit`` and ``title`` describe the column: they are shown, and are no
    part of a question.  ``first`` and ``last`` are the range of dates.  A column with an ``expression`` is not in the
    table, but computed from columns that are (``derived``).  ``within`` says in which groups of another column its keys
    lie, ``kept`` which groups a question asks for, if not all (``narrowed``).
    """

    kind: Kind
    low: Fraction | None = None
    high: Fraction | None = None
    keys: tuple[Key, ...] | None = None
    other: str | None = None
    edges: tuple[Fraction, ...] | None = None
    grid: Grid | None = None
    missing: tuple[Code, ...] = ()
    labels: tuple[str, ...] | None = None
    unit: str | None = None
    title: str | None = None
    first: date | None = None
    last: date | None = None
    expression: Expression | Recode | None = None
    within: Within | None = None
    kept: KeptGroups | None = None

    @property
    def is_computed(self) -> bool:
        """Whether its values are computed from those of other columns, as integers on its grid."""
        return self.expression is not None

    @property
    def group_keys(self) -> tuple[Key, ...] | None:
        """The keys of its groups, in their public order: keys and ``other``, or the names of bins."""
        if self.edges is not None:
            return self.asked(bin_names(self.edges, self))
        if self.keys is None or self.asked_other is None:
            return None if self.keys is None else self.asked_keys
        return (*self.asked_keys, self.asked_other)

    @property
    def group_labels(self) -> tuple[str, ...] | None:
        """The labels of its groups, in the same order; ``other`` is its own label."""
        if self.labels is None or self.asked_other is None:
            return None if self.labels is None else self.asked(self.labels)
        return (*self.asked(self.labels), self.asked_other)

    @property
    def groups(self) -> int:
        """The number of its groups."""
        if self.edges is not None:
            return len(self.asked(range(len(self.edges) - 1)))
        return len(self.asked_keys) + (self.asked_other is not None)

    @property
    def asked_keys(self) -> tuple[Key, ...]:
        """Its keys, of which a question may leave some out, without ``other``."""
        return self.asked(self.keys or ())

    @property
    def asked_other(self) -> str | None:
        """``other``, if it is asked for."""
        return self.other if self.kept is None or len(self.keys or ()) in self.kept.numbers else None

    def asked(self, groups: Sequence[T]) -> tuple[T, ...]:
        """Return those of its groups, by number, that a question asks for."""
        if self.kept is None:
            return tuple(groups)
        return tuple(groups[number] for number in self.kept.numbers if number < len(groups))

    def describe(self) -> dict[str, Any]:
        """Return the declaration for JSON, without labels; a long list of keys is replaced by its digest."""
        declaration: dict[str, Any] = {"type": self.kind}
        if self.keys is not None:
            declaration["keys"] = listed_or_digest(self.keys)
        if self.other is not None:
            declaration["other"] = self.other
        if self.low is not None and self.high is not None:
            declaration |= {"low": exact.text(self.low), "high": exact.text(self.high)}
        if self.first is not None and self.last is not None:
            declaration |= {"first": str(self.first), "last": str(self.last)}
        if self.expression is not None:
            declaration["expression"] = str(self.expression)
        if self.edges is not None:
            declaration["edges"] = [exact.text(edge) for edge in self.edges]
        if self.missing:
            declaration["missing"] = [exact.text(x) if isinstance(x, Fraction) else written(x) for x in self.missing]
        return declaration

    def read_as(self) -> str | dict[str, Any]:
        """Return what its cells are read as, for JSON, where bounds of numbers and keys do not matter."""
        described = {name: each for name, each in self.describe().items() if name in _READ}
        return described if len(described) > 1 else self.kind


def number(
    low: NumberLike | None = None,
    high: NumberLike | None = None,
    *,
    integer: bool = False,
    edges: Sequence[NumberLike] | None = None,
    keys: Iterable[int] | Mapping[int, str] | None = None,
    missing: Iterable[NumberLike] = (),
    labels: Sequence[str] | None = None,
    unit: str | None = None,
    title: str | None = None,
) -> Column:
    """Declare a numeric column.

    Args:
        low: the lower bound; smaller values count as this one.  Take it from what the column means, never from data.
        high: the upper bound.
        integer: the values are whole numbers.
        edges: the borders of bins, in rising order; grouping by the column then means grouping by these bins.
            Without low and high, the first and the last edge are the bounds.
        keys: whole numbers to group by, as for ``keys``, instead of edges; also a mapping to their labels.
        missing: codes that are no values, such as 99 and 999; they count as missing, before the bounds.
        labels: a text for each bin or key, shown beside it.
        unit: the unit of the values, such as "hours"; it is shown, and changes no number.
        title: what the column is, in words.
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
    keys, texts = with_labels(keys, labels)
    listed = None if keys is None else _whole_keys(keys, borders)
    grid = _grid(*bounds, integer=integer)
    kind: Kind = "integer" if integer else "number"
    codes = missing_codes(kind, missing, listed or ())
    column = Column(kind, bounds[0], bounds[1], listed, edges=borders, grid=grid, missing=codes)
    return presented(column, texts, unit, title)


def presented(column: Column, labels: object, unit: object, title: object) -> Column:
    """Return the column with its labels, unit and title, checked."""
    if labels is not None and column.group_keys is None:
        raise UselessParameter("labels", "the column has neither keys nor edges", "Give the groups that they name.")
    codes = column.keys or column.group_keys or ()
    return replace(
        column,
        labels=checked_labels(labels, codes, column.other),
        unit=shown_text(unit, "unit"),
        title=shown_text(title, "title"),
    )


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


def keys(
    *values: Key | Iterable[Key] | Mapping[Any, str],
    other: str | None = None,
    missing: Iterable[Key] = (),
    labels: Sequence[str] | None = None,
    unit: str | None = None,
    title: str | None = None,
    within: str | Mapping[str, Mapping[str, Iterable[Key]]] | None = None,
) -> Column:
    """Declare a column to group by: its public keys, in the order in which they are shown.

    Args:
        values: the keys, all of one type: text, whole numbers, truth values or dates; or one list or array of them; or
            a mapping from keys to labels, such as {1: "men", 2: "women"}.
        other: count keys that are not listed under this name, instead of leaving them out.
        missing: codes that are no values, such as "9"; they count as missing.
        labels: a text for each key, shown beside it.
        unit: the unit of keys that are numbers.
        title: what the column is, in words.
        within: the column that its keys lie within, and a public map: {"region": {"north": ["a", "b"], …}}.  That
            column is then computed by the map.  The name alone says that a public look-up has the map.
    """
    first, texts = with_labels(values[0], labels) if len(values) == 1 else (None, labels)
    listed: tuple[Any, ...] = tuple(map(plain_key, listed_keys((first,) if len(values) == 1 else values)))
    kind = one_kind(listed)
    for place, key in enumerate(listed, 1):
        if kind == "integer" and abs(key) > 2**53:
            raise refused_keys(f"a number beyond 2^53 in place {place}")
        if kind == "text" and ("\0" in key or not is_unicode(key)):
            raise refused_keys(f"a text in place {place} that is not Unicode or holds a NUL")
    if other is not None and (not isinstance(other, str) or not other or other in listed):
        raise InvalidParameter(other, "other", "a text that is not one of the keys")
    column = Column(kind, keys=listed, other=other, missing=missing_codes(kind, missing, listed))
    column = replace(column, within=within_of(within, column.group_keys or ()))
    return presented(column, texts, unit, title)


def plain(
    kind: str, missing: Iterable[Key | NumberLike] = (), *, unit: str | None = None, title: str | None = None
) -> Column:
    """Declare a column by its type alone: it can be used in conditions, but not in sums or to group by.

    Args:
        kind: text, number, integer, date or boolean.
        missing: codes that are no values, such as 99; they count as missing.
        unit: the unit of the values, such as "hours".
        title: what the column is, in words.
    """
    if kind not in KINDS:
        raise InvalidParameter(kind, "type", f"one of {', '.join(KINDS)}")
    return presented(Column(kind, missing=missing_codes(kind, missing)), None, unit, title)


def dates(
    first: date | str,
    last: date | str,
    *,
    missing: Iterable[Key | NumberLike] = (),
    unit: str | None = None,
    title: str | None = None,
) -> Column:
    """Declare a date column by the dates between which it can lie: dates beyond them count as missing.

    Only where dates are subtracted from each other, such a date counts as the nearest of the two.

    Args:
        first: the first date, from what the column means, never from data.
        last: the last date.
        missing: codes that are no values, such as 1900-01-01; they count as missing.
        unit: shown beside the values.
        title: what the column is, in words.
    """
    ends = [_calendar_day(end, name) for end, name in ((first, "first"), (last, "last"))]
    if ends[0] >= ends[1]:
        raise InvalidParameter(Shown(str(ends[1])), "last", "a date after the first")
    return replace(plain("date", missing, unit=unit, title=title), first=ends[0], last=ends[1])


def _calendar_day(given: object, name: str) -> date:
    allowed = "a date, such as 2020-01-31"
    if isinstance(given, datetime) or not isinstance(given, date | str):
        raise InvalidParameter(given, name, allowed)
    if isinstance(given, date):
        return given
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise InvalidParameter(given, name, allowed) from None


def _grid(low: Fraction, high: Fraction, *, integer: bool) -> Grid:
    """Return the grid of a column: its whole values, or about 2^20 to 2^31 steps with the bounds on the grid.

    With bounds a/q and b/q the step is 2^j/q; only when b - a is above 2^31 may the bounds lie between two steps, and
    the grid then reaches beyond them by less than a step.
    """
    bottom = 1 if integer else math.lcm(low.denominator, high.denominator)
    width = int((high - low) * bottom)
    power = 0
    while width * Fraction(2) ** -power > _COARSEST:
        power += 1
    while power <= 0 and not integer and width * 2**-power < _FINEST:
        power -= 1
    step = Fraction(2) ** power / bottom
    return Grid(step, math.floor(low / step), math.ceil(high / step))


@dataclass(frozen=True)
class Schema:
    """Everything public about a table; all queries are checked against it.

    ``rows_per_person`` is None if the source names people and does not say it yet: then it can only be looked for
    (``release/rows_per_person``).

    ``every_row_counts`` is False if a row may be left out because of its content, such as a line of a CSV file that
    does not fit its header, or a row that a filter removed: the number of rows is then private under change_one too.

    ``joins`` are tables that are joined to that of the source (``join``).

    ``guesses_encoding`` is True if its files are text that is taken for UTF-8, since nothing is said about it.
    """

    name: str
    columns: Mapping[str, Column]
    person: str | None = None
    rows_per_person: int | None = 1
    neighbors: Neighbors = "add_remove"
    version: str | None = None
    every_row_counts: bool = True
    file: File = AS_USUAL
    noise_levels: NoiseLevels = USUAL
    joins: tuple[Join, ...] = ()
    guesses_encoding: bool = False

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

    def is_computed(self, asked: str) -> bool:
        """Return whether this is the name of a column of numbers or dates that are computed from others."""
        found = [column for name, column in self.columns.items() if name.casefold() == asked.casefold()]
        found = [self.columns[asked]] if asked in self.columns else found
        return any(each.is_computed and each.kind != "text" for each in found)

    @property
    def row_weight(self) -> int:
        """The weight of one row, in the units in which rows are counted."""
        return 1 if self.person is None else WEIGHT

    @property
    def most_rows(self) -> int:
        """How many rows of one person count in full; a source that does not say so is refused."""
        if self.rows_per_person is None:
            raise InvalidSource(
                self.name,
                "names a person column but not rows_per_person",
                "Say how many rows of one person count in full, for example 1; people with more are weighted down to "
                "it.  `lapwing bounds SOURCE --rows-per-person --epsilon 0.1` finds a number privately.",
            )
        return self.rows_per_person

    def counting(self, rows_per_person: object) -> Schema:
        """Return the same schema with another rows_per_person."""
        if self.person is None:
            raise UselessParameter(
                "rows_per_person", "every row is one person", "Name the person column, or leave it out."
            )
        return replace(self, rows_per_person=_most_rows(rows_per_person))

    def anew(self) -> Schema:
        """Return the same schema, whose look-ups are read again, once for all that a question needs."""
        fresh = (replace(each, reader=each.reader and each.reader.again()) for each in self.joins)
        return replace(self, joins=tuple(fresh)) if self.joins else self

    @property
    def person_l1(self) -> int:
        """The most that the weights of one person add up to."""
        return self.most_rows * self.row_weight


def _most_rows(asked: object) -> int:
    return exact.whole(asked, "rows_per_person", MAX_ROWS_PER_PERSON)


def make_schema(
    name: object,
    columns: Mapping[str, Column | str],
    person: str | None,
    rows_per_person: object,
    neighbors: object,
    version: object,
    every_row_counts: bool = True,
    file: File = AS_USUAL,
    noise_levels: NoiseLevels = USUAL,
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
    elif person in declared and declared[person].missing:
        raise InvalidSource(
            name,
            f'has codes for missing in the person column "{person}", which would be one person',
            "List them as missing of [file], for a column of texts, or make them NULL in the table.",
        )
    bound = None if rows_per_person is None else _most_rows(rows_per_person)
    if version is not None and (not isinstance(version, str) or len(version) > 200):
        raise InvalidParameter(version, "version", "a text")
    return Schema(name, declared, person, bound, neighbors, version, every_row_counts, file, noise_levels)
