"""The groups that a condition leaves: public keys and bins in which no row can be are not asked.

A group is left out only if no row of it can satisfy WHERE, whatever the row holds: that follows from the text of the
question and the declaration, so it is public.  One column is tried after the other, at values between which no
comparison with a constant changes; what the condition says of other columns may then be true or not.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, NamedTuple

from ..errors import InvalidRequest
from .codes import KeptGroups
from .derived import sources_of, with_derived
from .expression import Constant, Expression, Extract, Named, Recode, Truncate, conditions_of, parts_of
from .periods import part_of, periods, truncated
from .query import (
    Against,
    All,
    Compare,
    Condition,
    Missing,
    Not,
    OneOf,
    Query,
    Some,
    Unknown,
    columns_of,
    expressions_of,
    quoted,
)
from .schema import Column, Schema

_MOST_DAYS = 20_000
_OTHER_TEXT = "\0"
"""A text that no key and no literal is."""

_NO_GROUP = -1
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def narrowed(schema: Schema, query: Query) -> Schema:
    """Return the schema with the columns that a question computes, and for each key the groups that WHERE leaves."""
    schema = with_derived(schema, query.derived)
    if query.where is None:
        return schema
    bins, tree = dict(query.edges), query.by[-1:] if query.statistics[0].kind == "cdf" else ()
    free = [name for name in query.by if name not in tree and not _is_looked_up(name, schema)]
    keys = {name: _Groups(schema.columns[name], bins.get(name)) for name in free}
    left = {name: (set(range(each.size)), False) for name, each in keys.items()}
    stated = expressions_of(query.where)
    compared = {name for name in keys if schema.columns[name].expression in stated}
    for origin in sorted({*sources_of(schema, columns_of(query.where)), *compared}):
        for name, (numbers, every) in _left_by(_Sample(origin, schema), query.where, keys).items():
            left[name] = left[name][0] & numbers, left[name][1] or every
    columns = {name: replace(schema.columns[name], kept=_kept(name, keys[name], *each)) for name, each in left.items()}
    return replace(schema, columns={**schema.columns, **columns})


def _is_looked_up(name: str, schema: Schema) -> bool:
    """Return whether a look-up says in which of another key's groups those of this one lie, or the other way round."""
    known = ((key, each.within) for key, each in schema.columns.items() if each.within is not None)
    return any(name in (key, within.parent) for key, within in known if not within.groups)


class _Groups:
    """The groups of a key by number: of a value of its column, or of the bin that it is in."""

    def __init__(self, column: Column, bins: Sequence[Fraction] | None) -> None:
        self.edges = [float(edge) for edge in bins or column.edges or ()]
        listed = () if self.edges else column.keys or ()
        self.other = not self.edges and column.other is not None
        self.size = max(len(self.edges) - 1, 0) + len(listed) + self.other
        self._numbers: dict[Any, int] = {key: number for number, key in enumerate(listed)}

    def number(self, value: Any) -> int:
        """Return the number of the group of a value."""
        if not self.edges:
            return self._numbers.get(value, self.size - 1 if self.other else _NO_GROUP)
        return _NO_GROUP if value is None else min(max(bisect_right(self.edges, value) - 1, 0), self.size - 1)


def _kept(name: str, groups: _Groups, numbers: set[int], every: bool) -> KeptGroups | None:
    """Return which groups are left, if not all; bins stay together."""
    if not numbers:
        raise InvalidRequest(f"The condition leaves no group of {quoted(name)}", "Change the condition, or the keys.")
    chosen = range(min(numbers), max(numbers) + 1) if groups.edges else sorted(numbers)
    return KeptGroups(tuple(chosen), groups.size, every) if every or len(chosen) < groups.size else None


def _left_by(sample: _Sample, where: Condition, keys: Mapping[str, _Groups]) -> dict[str, tuple[set[int], bool]]:
    """Return for each key that a column decides which groups can have rows, and whether all rows are in one."""
    names = [name for name in keys if sample.of_column(name) is not None]
    values = sample.values(where, keys) if names else None
    if values is None:
        return {}
    found: dict[str, set[int]] = {name: set() for name in names}
    every = dict.fromkeys(names, not sample.column.is_computed)
    for sample.value in values:
        if sample.truth(where).most < 1:
            continue
        groups = {name: {keys[name].number(each) for each in sample.of_column(name) or ()} for name in names}
        counted = all(some != {_NO_GROUP} for some in groups.values())  # a row needs a group of each key
        for name, some in groups.items():
            every[name] &= _NO_GROUP not in some
            found[name] |= some if counted else set()
    return {name: (numbers - {_NO_GROUP}, every[name]) for name, numbers in found.items()}


class _Truth(NamedTuple):
    """What a condition may be, from ``least`` to ``most``: false is -1, neither is 0, true is 1."""

    least: int
    most: int


_ANY = _Truth(-1, 1)


class _Sample:
    """A value of one column, and what follows from it."""

    value: Any = None

    def __init__(self, origin: str, schema: Schema) -> None:
        self.origin, self.schema = origin, schema
        self.column = schema.columns[origin]
        self._sets: dict[int, frozenset[object]] = {}
        self._decided: dict[str, bool] = {}

    # --- conditions and expressions ---

    def truth(self, condition: Condition) -> _Truth:
        """Return what a condition may be."""
        if isinstance(condition, All | Some):
            parts, choose = [self.truth(part) for part in condition.parts], min if isinstance(condition, All) else max
            return _Truth(choose(part.least for part in parts), choose(part.most for part in parts))
        if isinstance(condition, Not):
            least, most = self.truth(condition.part)
            return _Truth(-most, -least)
        if isinstance(condition, Against):
            if not isinstance(condition.right, Constant):
                return _ANY
            return _joined(self.of(condition.left), _OPERATORS[condition.operator], condition.right.value)
        if isinstance(condition, Unknown):
            return _missing(self.of(condition.expression))
        values = self.of_column(condition.column)
        if isinstance(condition, Missing):
            return _missing(values)
        if isinstance(condition, OneOf):
            if id(condition) not in self._sets:
                self._sets[id(condition)] = frozenset(map(_cell, condition.values))
            return _joined(values, lambda value, known: value in known, self._sets[id(condition)])
        ordered_texts = isinstance(condition.value, str) and condition.operator not in ("=", "<>")
        if condition.other is not None or ordered_texts:
            return _ANY
        return _joined(values, _OPERATORS[condition.operator], _cell(condition.value))

    def of_column(self, name: str) -> list[Any] | None:
        """Return what a column may hold, None if that does not follow."""
        column = self.schema.columns[name]
        if name == self.origin:
            return [self.value]
        if isinstance(column.expression, Recode):
            return self._recoded(column.expression) if self._decides(name) else None
        return None if column.expression is None else self.of(column.expression)

    def _decides(self, name: str) -> bool:
        """Return whether a column is computed from this one."""
        if name not in self._decided:
            self._decided[name] = self.origin in sources_of(self.schema, [name])
        return self._decided[name]

    def of(self, expression: Expression) -> list[Any] | None:
        """Return what an expression may be, None if that does not follow."""
        if expression == self.column.expression:
            return [self.value]
        if isinstance(expression, Named):
            return self.of_column(expression.column)
        if not isinstance(expression, Extract | Truncate) or (days := self.of(expression.day)) is None:
            return None
        if isinstance(expression, Extract):
            return [None if day is None else part_of(expression.part, day) for day in days]
        return [None if day is None else truncated(expression.unit, day) for day in days]

    def _recoded(self, recode: Recode) -> list[Any]:
        """Return the texts that a recode may give."""
        found: list[Any] = []
        for condition, text in recode.cases:
            truth = self.truth(condition)
            found += [text] if truth.most == 1 else []
            if truth.least == 1:
                return found
        return [*found, recode.otherwise]

    # --- values ---

    def values(self, where: Condition, keys: Mapping[str, _Groups]) -> Iterable[Any] | None:
        """Return values of the column, one at least of each kind that matters; None if that cannot be said."""
        column, listed = self.column, self.column.keys or ()
        if column.is_computed:
            return listed if listed and self.origin in keys and not keys[self.origin].edges else None
        names = list(sources_of(self.schema, {*keys, *columns_of(where)}))
        stated = [*expressions_of(where), *(self.schema.columns[name].expression for name in names)]
        expressions = [each for each in stated if each is not None]
        conditions = [where, *(condition for each in expressions for condition in conditions_of(each))]
        limits = {_cell(value) for each in conditions for value in _compared_with(each, self.origin)}
        found = {None, *listed, *limits}
        if column.kind == "text":
            return {*found, _OTHER_TEXT}
        if column.kind == "boolean":
            return {*found, True, False}
        if column.kind != "date":
            limits |= set(keys[self.origin].edges) if self.origin in keys else set()
            beside = (math.nextafter(limit, end) for limit in limits or {0.5} for end in (-math.inf, math.inf))
            return {*found, *limits, *beside}
        found |= {_beside(day, step, listed) for day in limits or {date(2000, 1, 1)} for step in (-1, 1)}
        units = {unit for each in expressions for unit in _units(each)}
        if column.first is None or column.last is None:
            return None if units else found
        return _days(column.first, column.last, found, units)


def _days(first: date, last: date, found: set[Any], units: set[str]) -> Iterable[Any] | None:
    """Return days between which no comparison, period or part of a date changes; None if they are too many."""
    if (last - first).days > _MOST_DAYS:
        return None
    weeks = periods("WEEK", first, last) if "WEEK" in units else []
    steps = periods("DAY", first, last) if units & {"DAY", "ISODOW"} else [*weeks, *periods("MONTH", first, last)]
    return {None, first, last, *(day for day in (*steps, *found) if day is not None and first <= day <= last)}


def _joined(values: Sequence[Any] | None, test: Callable[[Any, Any], bool], other: Any) -> _Truth:
    """Return what a test of some value may be; of a missing value it is neither true nor false."""
    if values is None:
        return _ANY
    found = [0 if value is None else 1 if test(value, other) else -1 for value in values]
    return _Truth(min(found), max(found))


def _missing(values: Sequence[Any] | None) -> _Truth:
    if values is None:
        return _ANY
    found = [1 if value is None else -1 for value in values]
    return _Truth(min(found), max(found))


def _cell(value: Any) -> Any:
    """Return a value as cells are compared with it: numbers are floats there."""
    return float(value) if isinstance(value, Fraction) else value


def _compared_with(condition: Condition, column: str) -> Iterator[Any]:
    """Yield the values with which a condition compares a column."""
    if isinstance(condition, All | Some):
        for part in condition.parts:
            yield from _compared_with(part, column)
    elif isinstance(condition, Not):
        yield from _compared_with(condition.part, column)
    elif isinstance(condition, OneOf) and condition.column == column:
        yield from condition.values
    elif isinstance(condition, Compare) and condition.column == column and condition.other is None:
        yield condition.value


def _beside(day: date, step: int, keys: Sequence[object]) -> date:
    """Return the nearest day before or after that is no key."""
    taken = set(keys)
    while day not in (date.min, date.max):
        day += timedelta(days=step)
        if day not in taken:
            break
    return day


def _units(expression: Expression | Recode) -> Iterator[str]:
    """Yield the periods and parts of dates in an expression."""
    if isinstance(expression, Extract | Truncate):
        yield expression.part if isinstance(expression, Extract) else expression.unit
    inner = (each for condition in conditions_of(expression) for each in expressions_of(condition))
    for each in (*parts_of(expression), *inner):
        yield from _units(each)
