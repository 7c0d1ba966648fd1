"""What the statistics of a table are, computed from its rows one by one, without an engine and without a grid.

The rules are those of docs/reference/source.md.  ``truths`` returns for every group the value that a release without
noise must show, and how far the public grid of the column may move it; ``missed`` says where a release does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...plan.plan import Plan
from ...plan.several import SeveralTables
from ...question.query import Statistic
from ...question.schema import Column
from ...question.sets import KeySets, canonical
from ...release.result import Release
from .conditions import Cells, DrawnCondition
from .worlds import Row, World, asked_keys

_WEIGHT = 2**16
_COARSE = Fraction(1, 2**19)
"""A grid has 2^20 steps or more between the bounds."""

_WHOLE = 2**24
"""Whole numbers whose bounds are at most this far apart are on the grid."""


_HALF = Fraction(1, 2)
"""Counts, and sums of whole numbers, are shown as whole numbers."""


@dataclass(frozen=True)
class Truth:
    """A value, and how far a release without noise may be off."""

    value: Fraction | float
    near: Fraction | float


@dataclass(frozen=True)
class Weighed:
    """A row that counts: its person, its cells, its group, and its weight."""

    person: Any
    cells: Cells
    group: int | None
    weight: Fraction


def edges_of(world: World, statistic: Statistic) -> tuple[Fraction, ...] | None:
    """Return the bins that a statistic asks for; None if it asks for none."""
    if statistic.kind not in ("histogram", "cdf"):
        return None
    if statistic.edges is not None:
        return statistic.edges
    declared = world.fields[statistic.column or ""].declared
    assert declared.low is not None
    assert declared.high is not None
    low, high, number = declared.low, declared.high, statistic.bins or 1
    if declared.kind == "integer":
        high, number = high + 1, min(number, int(high + 1 - low))
        return tuple(low + math.floor(i * (high - low) / number) for i in range(number + 1))
    return tuple(low + i * (high - low) / number for i in range(number + 1))


def weighed(
    world: World, rows: Sequence[Row], bins: Mapping[str, Sequence[Fraction]], by: Sequence[str]
) -> list[Weighed]:
    """Return the rows that the condition selects, with their groups and weights."""
    condition, k = world.question.condition, world.described.get("rows_per_person", 1)
    kept = []
    for row in world.joined(rows):
        cells = world.typed(row)
        if condition is not None and condition.holds(cells) is not True:
            continue
        if world.person is not None and (row[0] is None or (world.form == "CSV" and row[0] == "")):
            continue
        kept.append((row[0], cells, row[-1]))
    numbers: dict[Any, int] = {}
    for person, _, times in kept:
        numbers[person] = numbers.get(person, 0) + times
    found = []
    for person, cells, times in kept:
        weight = Fraction(1)
        if world.person is not None and numbers[person] > k:
            weight = Fraction(k * _WEIGHT // numbers[person], _WEIGHT)
        found.append(Weighed(person, cells, _group(world, cells, bins, by), weight * times))
    return found


def _group(world: World, cells: Cells, bins: Mapping[str, Sequence[Fraction]], by: Sequence[str]) -> int | None:
    at = 0
    for name in by:
        declared, cell = world.fields[name].declared, cells[name]
        edges = bins.get(name) or declared.edges
        if edges is not None:
            if cell is None:
                return None
            size, place = len(edges) - 1, sum(cell >= Fraction(float(edge)) for edge in edges[1:-1])
        else:
            listed, size = declared.keys or (), declared.groups
            if cell is not None and cell in listed:
                place = listed.index(cell)
            elif declared.other is not None:
                place = size - 1
            else:
                return None
        at = at * size + place
    return at


def truths(world: World, rows: Sequence[Row], public_n: Collection[str] = ()) -> list[list[Truth | None]]:
    """Return the truth of every statistic, in their order, for every group; None where a release may show anything.

    ``public_n`` are the columns whose missing cells count as the middle, since the number of rows is public.
    """
    return [_TRUTHS[asked.statistic.kind](asked) for asked in _asked(world, rows, public_n)]


def _asked(world: World, rows: Sequence[Row], public_n: Collection[str]) -> list[_Asked]:
    question = world.question
    by = asked_keys(question)
    first = question.statistics[0]
    edges = edges_of(world, first)
    bins: dict[str, Sequence[Fraction]] = {}
    if edges is not None:
        by, bins = (*by, first.column or ""), {first.column or "": edges}
    counted, groups = [], 0
    for table in _tables(world) or (by,):  # a row is in one group of each; a row without one of all keys is in none
        inside = [row for row in weighed(world, rows, bins, by) if row.group is not None or table == by]
        for row in inside:
            at = _group(world, row.cells, bins, table)
            counted.append(replace(row, group=None if at is None else groups + at))
        groups += math.prod(
            len(bins[name]) - 1 if name in bins else world.fields[name].declared.groups for name in table
        )
    return [
        _Asked(world, statistic, share, counted, groups, statistic.column in public_n, tuple(public_n))
        for statistic, share in zip(question.statistics, question.shares, strict=True)
    ]


def _tables(world: World) -> tuple[tuple[str, ...], ...]:
    """Return the tables of a question that asks for several, in the order of the answer."""
    by = dict(world.question.options).get("by", ())
    return canonical(by.tables)[1] if isinstance(by, KeySets) else ()


@dataclass(frozen=True)
class _Asked:
    """One statistic, and the rows that count."""

    world: World
    statistic: Statistic
    share: DrawnCondition | None
    rows: Sequence[Weighed]
    groups: int
    public_n: bool
    public_columns: tuple[str, ...] = ()

    @property
    def column(self) -> Column:
        return self.world.fields[self.statistic.column or ""].declared

    @property
    def width(self) -> Fraction:
        return (self.column.high or Fraction(0)) - (self.column.low or Fraction(0))

    @property
    def near(self) -> Fraction:
        """How far the grid may move one value."""
        column = self.column
        if column.kind == "integer" and self.width <= _WHOLE:
            return Fraction(0)
        return self.width * _COARSE

    def of(self, group: int) -> list[Weighed]:
        return [row for row in self.rows if row.group == group]

    def values(self, group: int) -> list[tuple[Fraction, Fraction]]:
        """Return the clamped values of a group, with their weights; missing ones are left out, or the middle."""
        low, high = self.column.low or Fraction(0), self.column.high or Fraction(0)
        found = []
        for row in self.of(group):
            cell = row.cells[self.statistic.column or ""]
            if cell is None and self.public_n:
                cell = (low + high) / 2 if self.near else Fraction(math.floor((low + high) / 2))
            if cell is not None:
                found.append((min(max(cell, low), high), row.weight))
        return found


def _counts(asked: _Asked) -> list[Truth | None]:
    name = asked.statistic.column
    found: list[Truth | None] = []
    for group in range(asked.groups):
        rows = [row for row in asked.of(group) if name is None or row.cells[name] is not None]
        found.append(Truth(sum((row.weight for row in rows), Fraction(0)), _HALF))
    return found


def _sums(asked: _Asked) -> list[Truth | None]:
    found: list[Truth | None] = []
    for group in range(asked.groups):
        values = asked.values(group)
        middle = asked.width / 2**10 if asked.public_n and asked.near else Fraction(0)  # it may lie between steps
        shown = _HALF if asked.column.kind == "integer" else Fraction(0)
        found.append(
            Truth(
                sum((v * w for v, w in values), Fraction(0)), shown + (asked.near + middle) * sum(w for _, w in values)
            )
        )
    return found


def _means(asked: _Asked) -> list[Truth | None]:
    found: list[Truth | None] = []
    for group in range(asked.groups):
        mean, _ = _moments(asked, group)
        found.append(None if mean is None else Truth(mean, 2 * asked.near + asked.width / 2**14 * asked.public_n))
    return found


def _moments(asked: _Asked, group: int) -> tuple[Fraction | None, Fraction]:
    """Return the mean and the variance of a group; no mean if nothing counts."""
    values = asked.values(group)
    n = sum((w for _, w in values), Fraction(0))
    if not n:
        return None, Fraction(0)
    mean = sum((v * w for v, w in values), Fraction(0)) / n
    return mean, sum((w * (v - mean) ** 2 for v, w in values), Fraction(0)) / n


def _variances(asked: _Asked) -> list[Truth | None]:
    found: list[Truth | None] = []
    for group in range(asked.groups):
        mean, variance = _moments(asked, group)
        n = sum((w for _, w in asked.values(group)), Fraction(0))
        if mean is None or (asked.statistic.sample and n < 2):
            found.append(None)
            continue
        near = 8 * asked.near * asked.width + asked.width**2 * (
            Fraction(1, 2**12) * asked.public_n + Fraction(1, 2**40)
        )
        if asked.statistic.sample:
            variance, near = variance * n / (n - 1), near * n / (n - 1)
        if asked.statistic.kind == "std":
            root = math.sqrt(variance)
            found.append(Truth(root, math.sqrt(near) if near else 0))
        else:
            found.append(Truth(variance, near))
    return found


def _shares(asked: _Asked) -> list[Truth | None]:
    found: list[Truth | None] = []
    for group in range(asked.groups):
        rows = asked.of(group)
        n = sum((row.weight for row in rows), Fraction(0))
        true = sum(
            (row.weight for row in rows if asked.share is not None and asked.share.holds(row.cells)), Fraction(0)
        )
        found.append(Truth(true / n, 0) if n else None)
    return found


def _cumulated(asked: _Asked) -> list[Truth | None]:
    """Return the share of the rows up to the end of each bin; the bins change fastest."""
    bins = len(edges_of(asked.world, asked.statistic) or ()) - 1
    counts = [Fraction(truth.value) if truth is not None else Fraction(0) for truth in _counts(_without_column(asked))]
    found: list[Truth | None] = []
    for start in range(0, asked.groups, bins):
        part = counts[start : start + bins]
        whole = sum(part)
        found += [Truth(sum(part[: i + 1]) / whole, 0) if whole else None for i in range(bins)]
    return found


def _without_column(asked: _Asked) -> _Asked:
    return _Asked(asked.world, Statistic("count", name=asked.statistic.name), None, asked.rows, asked.groups, False)


def _people(asked: _Asked) -> list[Truth | None]:
    """Return the people in each group; someone in more groups than rows_per_person counts less in each."""
    k = asked.world.described.get("rows_per_person", 1)
    groups: dict[Any, set[int]] = {}
    for row in asked.rows:
        if row.group is not None:
            groups.setdefault(row.person, set()).add(row.group)
    counts = [Fraction(0)] * asked.groups
    for own in groups.values():
        for group in own:
            counts[group] += 1 if len(own) <= k else Fraction(k * _WEIGHT // len(own), _WEIGHT)
    return [Truth(each, _HALF) for each in counts]


def _ratios(asked: _Asked) -> list[Truth | None]:
    """Return the quotients of two counts or sums, which are not rounded; nothing where the denominator is 0."""
    sides = []
    for part in asked.statistic.parts:
        one = replace(asked, statistic=part, public_n=part.column in asked.public_columns)
        rounded = part.kind != "sum" or one.column.kind == "integer"
        each = [truth or Truth(0, 0) for truth in _TRUTHS[part.kind](one)]
        sides.append([(Fraction(t.value), Fraction(t.near) - _HALF * rounded) for t in each])
    found: list[Truth | None] = []
    for (top, off_top), (bottom, off_bottom) in zip(*sides, strict=True):
        if not bottom or off_bottom * 2 > abs(bottom):
            found.append(None)
        else:
            value, by = top / bottom, abs(asked.statistic.factor)
            found.append(
                Truth(asked.statistic.factor * value, 2 * by * (off_top + abs(value) * off_bottom) / abs(bottom))
            )
    return found


def _unknown(asked: _Asked) -> list[Truth | None]:
    """Return nothing: quantiles are chosen, and have a rank instead."""
    return [None] * asked.groups


_TRUTHS: dict[str, Callable[[_Asked], list[Truth | None]]] = {
    "count": _counts,
    "histogram": lambda asked: _counts(_without_column(asked)),
    "sum": _sums,
    "mean": _means,
    "variance": _variances,
    "std": _variances,
    "proportion": _shares,
    "cdf": _cumulated,
    "people": _people,
    "quantile": _unknown,
    "ratio": _ratios,
}
"""The truth by the kind of a statistic: a kind without one makes the check fail."""


def off(shown: float, truth: Truth) -> bool:
    """Return whether a value that is shown without noise is not the truth."""
    if not math.isfinite(shown):
        return True
    apart = abs(Fraction(shown) - Fraction(truth.value))
    return apart > _allowed(truth)


def _allowed(truth: Truth) -> Fraction:
    return Fraction(truth.near) + abs(Fraction(truth.value)) / 10**9 + Fraction(1, 10**12)


def missed(world: World, rows: Sequence[Row], made: Release, *, ranks: bool = False) -> str | None:
    """Return what a release without noise shows wrongly: a value, or a bar without the truth; None if nothing.

    With ``ranks``, quantiles are looked at too: the nearest candidates must have been chosen.
    """
    public_n = {part.measurement.column or "" for part in made.plan.parts if part.measurement.public_rows}
    for asked, named in zip(_asked(world, rows, public_n), made.plan.query.statistics, strict=True):
        due, estimate = _TRUTHS[asked.statistic.kind](asked), made.estimates[str(named.name)]
        left = _left(made.plan)
        if any(row.group not in left for row in asked.rows if row.group is not None):
            return f"{named.name} has rows in a group that is not asked"
        for at, group in enumerate(left):
            value, low, high = (_end(end, at) for end in estimate)
            truth, told = due[group], f"{named.name} of group {group} is {value!r} ({low!r} to {high!r})"
            if truth is not None and made.plan.several is not None and named.is_linear:  # put on a grid (claim U3)
                truth = replace(truth, near=truth.near + _rounding(made.plan.several, named))
            if asked.statistic.kind == "quantile":
                if ranks and _rank_missed(asked, group, [Fraction(end) for end in (value, low, high)]):
                    return f"{told}, which has another rank"
            elif truth is not None and (off(value, truth) or _outside(truth, low, high)):
                return f"{told} where {float(truth.value)!r} is true"
    return None


def _left(plan: Plan) -> list[int]:
    """Return the number of each group of an answer among all groups, also those that its condition excludes."""
    found, before = list[int](), 0
    for table in plan.query.tables:
        numbers, total = [0], 1
        for name, size in zip(table, plan.query.shape(plan.schema, table), strict=True):
            kept = plan.schema.columns[name].kept
            some, of = (range(size), size) if kept is None else (kept.numbers, kept.of)
            numbers, total = [number * of + place for number in numbers for place in some], total * of
        found, before = [*found, *(before + number for number in numbers)], before + total
    return found


def _rounding(tables: SeveralTables, statistic: Statistic) -> Fraction:
    """Return how far publishing on the grid may move a cell: of tables that count, it is no more than this."""
    return Fraction(2) ** (max(map(len, tables.asked)) - 1) * Fraction(tables.grid(statistic))


def _outside(truth: Truth, low: float, high: float) -> bool:
    """Return whether a bar does not hold the truth; an end that is not there holds everything."""
    allowed, value = _allowed(truth), Fraction(truth.value)
    return (not math.isnan(low) and value < low - allowed) or (not math.isnan(high) and value > high + allowed)


def _end(ends: Any, group: int) -> float:
    """Return the end of a bar; a masked one is left open by the caller, as NaN, which is not compared."""
    return math.nan if ends[group] is np.ma.masked else float(ends[group])


def _rank_missed(asked: _Asked, group: int, estimate: Sequence[Fraction]) -> bool:
    """Return whether a quantile without noise has a wrong rank, or lies outside of its bar.

    Each of the choices before it may be off by a row; extremes aim some rows inside, and only their bars are looked at.
    """
    known, level = sorted(asked.values(group)), asked.statistic.level or Fraction(0)
    if not known:
        return False
    value, low, high = estimate
    step = asked.column.grid.step if asked.column.grid else Fraction(1)
    near = step + max(abs(known[0][0]), abs(known[-1][0])) / 10**9
    aim, due, reached = level * sum((weight for _, weight in known), Fraction(0)), known[-1][0], Fraction(0)
    below = sum((weight for each, weight in known if each < value - near), Fraction(0))
    upto = sum((weight for each, weight in known if each <= value + near), Fraction(0))
    for each, weight in known:
        reached += weight
        if reached >= aim and reached > 0:
            due = each
            break
    return (0 < level < 1 and not below - 3 <= aim <= upto + 3) or not low - near <= due <= high + near
