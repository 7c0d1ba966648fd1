"""The ε of real releases, measured by counting: no more than charged, and no unnecessary noise.

A release has very many public groups, and every group is an independent copy of one of two neighbors: some have a
person whom the others lack.  How often an event happens in each kind gives a lower bound on the ε of the release
(claim C1).  The events are those at which Laplace noise attains its ε, so an upper bound from the same counts must not
lie below it: otherwise the noise would be larger than needed, or the test without power.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...question import query
from ...question.schema import WEIGHT, Column, keys, number
from ...sensitivity import Neighbors
from ..finding import ALPHA, Finding, parts
from ..room import Room
from ..tools.certify import certified_epsilon, least_share, most_share

_AT_ONCE = 5_000_000
_SIDE = 2_500
_MOST_DELTA = Fraction(1, 10)
_MASS = 2**16
"""What a row adds to the cells of a mean or proportion in all, where the bounds are a power of two apart."""


class Counted(NamedTuple):
    """How often an event happened with the person and without, and in how many draws of each."""

    own: int
    draws: int
    without: int
    other_draws: int

    def plus(self, other: Counted) -> Counted:
        """Return the counts of both."""
        return Counted(*(one + another for one, another in zip(self, other, strict=True)))


def bound(room: Room) -> Iterator[Finding]:
    """Bound the ε of releases with real noise, one kind of statistic after the other."""
    yield from findings(room, 10 if room.deep else 1)


def findings(room: Room, size: float) -> Iterator[Finding]:
    """Yield what ``bound`` finds, with ``size`` times as many draws."""
    yield from parts(
        room,
        counts=lambda: _counts(room, int(500_000 * size)),
        sums=lambda: _sums(room, int(60_000 * size)),
        means=lambda: _means(room, int(60_000 * size)),
        proportions=lambda: _proportions(room, int(60_000 * size)),
        moves=lambda: _moves(room, int(60_000 * size)),
        people=lambda: _people(room, int(30_000 * size)),
        keys=lambda: _keys(room, int(30_000 * size)),
        medians=lambda: _medians(room, int(1_500 * size)),
    )


def _counts(room: Room, people: int) -> Finding:
    """A twentieth of the groups has a row."""
    found, left = Counted(0, 0, 0, 0), people
    while left:
        now = min(left, _AT_ONCE // 20)
        (cell,) = _cells(room, _one_row(now, 20), 20 * now, query.count())
        found, left = found.plus(_counted(cell >= 1, 20)), left - now
    return _finding("count, with a row more", found)


def _sums(room: Room, people: int) -> Finding:
    """The value of the row is the bound that is farther from 0."""
    column = number(-3, 2, integer=True)
    (cell,) = _cells(room, _one_row(people, 10, "-3 AS v"), 10 * people, query.sum("v"), v=column)
    return _finding("sum, with a row more", _counted(cell <= -3, 10))


def _means(room: Room, people: int) -> Iterator[Finding]:
    """A row at the upper bound moves one cell, a row in the middle moves two by half as much."""
    column = number(0, 16, integer=True)
    above, below = _cells(room, _one_row(people, 10, "16 AS v"), 10 * people, query.mean("v"), v=column)
    yield _finding("mean, with a row more at a bound", _counted(above >= _MASS, 10))
    apart = above - below >= _MASS // 2  # would be certain if both cells had the same noise
    yield _finding("mean, its two cells together", _counted(apart, 10), attained=None)
    above, below = _cells(room, _one_row(people, 10, "8 AS v"), 10 * people, query.mean("v"), v=column)
    both = (above >= _MASS // 2) & (below >= _MASS // 2)
    yield _finding("mean, with a row more in the middle", _counted(both, 10))


def _proportions(room: Room, people: int) -> Finding:
    """The row fulfils the condition."""
    rows, column = _one_row(people, 10, "1 AS v"), number(0, 1, integer=True)
    above, _ = _cells(room, rows, 10 * people, query.proportion("v >= 1"), v=column)
    return _finding("proportion, with a row more", _counted(above >= _MASS, 10))


def _moves(room: Room, people: int) -> Finding:
    """A pair of groups has one row: in its first group, and in the second one of every second pair."""
    rows = f"SELECT 2 * i + i % 2 AS g FROM range({2 * people}) t(i)"
    (cell,) = _cells(room, rows, 4 * people, query.count(), neighbors="change_one")
    moved = (cell[::2] <= 0) & (cell[1::2] >= 1)
    return _finding("histogram, with a row in another bin", _counted(moved, 2))


def _people(room: Room, people: int) -> Finding:
    """A tenth of the pairs of groups has a person with two rows in each, who counts for two rows in all."""
    rows = f"SELECT 20 * i + 18 + r % 2 AS g, i AS person FROM range({people}) t(i), range(4) s(r)"
    (cell,) = _cells(room, rows, 20 * people, query.count(), person="person")
    both = (cell[::2] >= WEIGHT) & (cell[1::2] >= WEIGHT)
    return _finding("count of people's rows, with a person more", _counted(both, 10))


def _keys(room: Room, people: int) -> Iterator[Finding]:
    """Keys with one person fewer than the threshold, or as many; and keys of a single person, shown only due to δ."""
    delta = Fraction("0.00493")  # just above P(X ≥ 5): a threshold lower by one would show e times as many as allowed
    source = room.source("none.parquet", columns={"g": "integer"})
    threshold = source.plan_keys("g", epsilon=1, delta=delta).threshold
    counts = f"{threshold - 1} + i % 2"
    rows = f"SELECT i AS g FROM range({2 * people}) t(i), range({threshold}) s(r) WHERE r < {counts}"
    yield _finding("discover, with a person more", _counted(_shown(room, rows, delta, 2 * people), 2), delta=delta)
    hits = int(np.count_nonzero(_shown(room, f"SELECT i AS g FROM range({people}) t(i)", delta, people)))
    low, high = least_share(hits, people, ALPHA / 2), most_share(hits, people, ALPHA / 2)
    told = f"{hits:,} of {people:,} were shown: the probability is from {low:.5f} to {high:.5f}"
    passed = low <= delta and high >= delta / 2
    told = f"{told}, δ = {float(delta)} allows no more, and at least half of it is expected."
    yield Finding("discover, keys of a single person", passed, told, ALPHA)


def _medians(room: Room, people: int) -> Finding:
    """A group has the value 0, every second group 0 and 1: permute-and-flip then finds 1 with e^(-1/2)/2 and 1/2."""
    rows = f"SELECT i AS g, r AS v FROM range({2 * people}) t(i), range(2) s(r) WHERE r <= i % 2"
    column = number(0, 1, integer=True)
    (cell,) = _cells(room, rows, 2 * people, query.median("v"), intervals=False, v=column)
    return _finding("median, with a row more", _counted(cell == 1, 2), attained=0.5)


def _one_row(people: int, every: int, *columns: str) -> str:
    return f"SELECT {', '.join([f'{every} * i + {every - 1} AS g', *columns])} FROM range({people}) t(i)"


def _cells(
    room: Room,
    rows: str,
    groups: int,
    statistic: query.Statistic,
    *,
    neighbors: Neighbors = "add_remove",
    person: str | None = None,
    intervals: bool = True,
    **columns: Column,
) -> list[NDArray[np.int64]]:
    """Release a statistic by the group ``g`` of rows that SQL makes, at ε = 1; return the noisy cells of the groups."""
    table = room.select(f"SELECT g // {_SIDE} AS a, g % {_SIDE} AS b, * EXCLUDE g FROM ({rows})")
    declared = {"a": keys(range(-(-groups // _SIDE))), "b": keys(range(_SIDE)), **columns}
    per_person = None if person is None else 2
    source = room.source(table, columns=declared, neighbors=neighbors, person=person, rows_per_person=per_person)
    made = source.release(statistic, by=["a", "b"], epsilon=1, intervals=intervals)
    return [cell[:groups] for cell in made.cells[0]]


def _shown(room: Room, rows: str, delta: Fraction, many: int) -> NDArray[np.bool_]:
    """Return which of so many keys ``g`` are discovered, at ε = 1."""
    source = room.source(room.select(rows), columns={"g": "integer"}, delta=_MOST_DELTA)
    found = source.discover("g", epsilon=1, delta=delta).keys
    shown = np.zeros(many, dtype=bool)
    shown[np.array(found, dtype=np.int64)] = True
    return shown


def _counted(happened: NDArray[np.bool_], every: int) -> Counted:
    """Count an event in groups of which the last of ``every`` so many has the person."""
    own = happened[every - 1 :: every]
    hits, all_hits = int(np.count_nonzero(own)), int(np.count_nonzero(happened))
    return Counted(hits, own.size, all_hits - hits, happened.size - own.size)


def _finding(what: str, found: Counted, *, delta: Fraction = Fraction(0), attained: float | None = 1) -> Finding:
    """Evaluate an event whose probability is e^attained times as high with the person, where that is known."""
    alpha = ALPHA if attained is None else ALPHA / 2  # for the lower bound, and as much for the upper bound
    least = certified_epsilon(*found, alpha, delta)
    passed = least <= 1
    told = f"{found.own:,} of {found.draws:,} draws with, {found.without:,} of {found.other_draws:,} without: "
    told += f"ε is at least {least:.4f}, and 1 was charged"
    if attained is not None:
        low = least_share(found.without, found.other_draws, alpha / 2)
        most = math.log(most_share(found.own, found.draws, alpha / 2) / low) if low else math.inf
        least = certified_epsilon(*found, alpha)
        passed = passed and least <= attained <= most
        told += f"; the event shows {least:.4f} to {most:.4f}, where exact noise shows {attained}"
    return Finding(what, passed, f"{told}.", ALPHA)
