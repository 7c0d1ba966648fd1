"""Quantiles, minimum and maximum: a value is chosen, instead of computed and perturbed.

One person can move a median across its whole range, so noise on the median would make it useless (claims S8 to S10).
But one person moves the *rank* of every value by at most their own weight.  So each value of the public grid is a
candidate, its distance is how many rows its rank is off, and permute-and-flip chooses: the nearer a candidate, the
more likely.  The rows at one value are spread over ``PARTS`` parts of its grid step, one after the other in an order in
which each added row leaves the earlier ones in place, so that values with many rows can be divided.

A row may have a weight of its own (``measure.weighted``): claim W3.  "Rows" are then weight.

Claim Q1 (choice).  If between neighbors the distances of all candidates change by amounts that lie within an interval
of length R, then permute-and-flip with coins e^(-ε(d - min d)/R) is ε-differentially private.

Claim Q2 (reach).  With N the weight of the rows, q from 0 to 1 and any constant c, let d(v) be the distance of
qN + c from the interval [weight below v, weight below or at v].  Rows of weight w that come or go move all distances
within an interval of length 2·max(q, 1 - q)·w; replaced rows of weight at most w on either side, within 2w.

Claim Q3 (splitting).  A level of choices, each on the rows and candidates between two values chosen before, in each
group, divides a person's weight W: at ε·w/W each for parts w of it, the level costs ε.  So do the ends of the error
bars, and the noisy counts of rows between all values chosen.  The whole measurement costs its share of ε.

Claim Q4 (rank).  With probability 1 - β, however the values lie, the m values are within
Σ over levels of R/ε·ln(nodes·candidates/β) rows of the ranks they aim at, and for each level but the last, the rows at
one place more: one row, or one in ``PARTS`` of the rows that share a value.

Claim Q5 (interval).  The error bar of a quantile holds it with at least the stated confidence, whatever the data: its
ends are values that were chosen, and counts with noise of known law show that few enough rows lie beyond them; where
they do not show it, the end is the bound of the column.

Claim W3 (weighted quantiles).  Let a row weigh w·v: w its weight of claim E2, v its own, from 0 to H steps, and 0 if it
is missing.  One person's rows weigh at most W = P·H, P the most that E2 allows.  Then Q1 to Q5 hold with ranks and
counts of weight: R is 2·max(q, 1 - q)·W, under change_one at most twice that, and the counts move by W, or by 2W.

Proofs: docs/explanation/quantiles.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..noise.entropy import Entropy
from ..noise.sampler import race
from ..noise.weighted import margins
from ..question.schema import Schema
from .cells import draws

if TYPE_CHECKING:
    from .quantiles import Quantiles

PARTS = 2**14
"""Into how many parts a grid step is divided; a value with more rows than parts has several rows in each part."""

MAX_VALUES = 2 * 10**5
"""How many quantiles a release may have, over all groups: each takes almost a millisecond."""

_REVERSED = np.array([int(f"{i:014b}"[::-1], 2) for i in range(PARTS)])
"""The order in which rows of one value take the parts of its step: halves, quarters, eighths, …"""

_USUAL = 3.0
"""A choice is rarely off by more than this many times R/ε: e^-3 is a twentieth."""

_ENDS = _COUNTS = Fraction(3, 16)
"""The shares of ε for the ends of error bars, and for the counts that confirm them."""

_SHOWN = Fraction(19, 20)
"""The confidence for which the ends of bars are placed; bars of any other confidence use the same ends."""

Column = NDArray[Any]


class ValueWeights(NamedTuple):
    """What the engine returns for quantiles, sorted by group and grid index: the weight of the rows at each index.

    Weights are int64 if all of them together fit, else Python's integers.
    """

    groups: NDArray[np.int64]
    indices: NDArray[np.int64]
    weights: Column


def sorted_values(columns: Sequence[NDArray[Any]]) -> ValueWeights:
    """Return the engine's columns in an order that does not depend on the engine."""
    group, index, weight = columns or (np.empty(0, dtype=np.int64),) * 3
    width = int(index.max()) + 1 if len(index) else 1
    if int(group.max(initial=0)) * width < 2**62:
        order = np.argsort(group.astype(np.int64) * width + index)  # several times faster than by two keys
    else:
        order = np.lexsort((index, group))
    kind = np.int64 if weight.sum(dtype=np.float64) < 2**62 else object
    group, index = (np.asarray(each, dtype=np.int64)[order] for each in (group, index))
    return ValueWeights(group, index, np.asarray(weight, dtype=kind)[order])


class Aim(NamedTuple):
    """The target rank: ``level`` of the weight of the rows, plus ``shift`` (in units of weight)."""

    level: Fraction
    shift: Fraction = Fraction(0)


@dataclass(frozen=True)
class Selection:
    """How the quantiles of a column are found at a given ε: it uses public parameters alone."""

    measurement: Quantiles
    schema: Schema
    grouped: bool
    epsilon: Fraction

    # --- weights ---

    @property
    def person(self) -> int:
        """The largest weight of one person: what all of their rows may have together (claims E2 and W3)."""
        return self.schema.person_l1 * self.measurement.weight_grid.high

    @property
    def row(self) -> int:
        """The largest weight of one row."""
        return self.schema.row_weight * self.measurement.weight_grid.high

    @property
    def one(self) -> Fraction:
        """What is shown as one row, or as the weight 1, in units of weight."""
        return self.schema.row_weight / self.measurement.weight_grid.step

    # --- how ε is shared ---

    @property
    def depth(self) -> int:
        """The number of levels of choices: the middle quantile first, then those on either side, then the extremes."""
        inner = len(self.measurement.inner)
        extremes = len(self.measurement.levels) - inner
        return inner.bit_length() + (min(extremes, 1) if inner else extremes)

    @property
    def each(self) -> Fraction:
        """The ε of one level of values: what the ends and the counts do not use."""
        ends = _ENDS if self.measurement.inner else 0
        return self.epsilon * (1 - ends - _COUNTS if self.measurement.interval else 1) / self.depth

    @property
    def end(self) -> Fraction:
        """The ε of one end of a bar: between two quantiles there are two ends to find."""
        return _ENDS * self.epsilon / min(len(self.measurement.inner), 2)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in the counts, in units of weight."""
        return self.moved / (_COUNTS * self.epsilon)

    @property
    def moved(self) -> int:
        """How far one person can move the counts in L1, in units of weight (claim P1)."""
        return self.person * (1 if self.schema.neighbors == "add_remove" else 2)

    def score_range(self, level: Fraction, alone: bool = False) -> Fraction:
        """Return R of claim Q2, in units of weight; ``alone`` says that no other choice divides the rows."""
        widest = 2 * max(level, 1 - level) * self.person
        if self.schema.neighbors == "add_remove":
            return widest
        return Fraction(2 * self.person) if alone and not self.grouped else 2 * widest

    # --- the target ranks ---

    @cached_property
    def inside(self) -> Fraction:
        """How far inside the rank of an extreme is, in units of weight, so that values beyond it are rarely chosen."""
        return self._rounded(float(self.score_range(Fraction(0)) / self.each) * (_USUAL + self._breadth))

    @cached_property
    def aside(self) -> Fraction:
        """How far from a quantile the ends of its bar aim, in units of weight, so that the counts can show it."""
        levels, half = self.measurement.inner, self.measurement.borders // 2
        shown = max(self.margins(level, _SHOWN, [half])[0] for level in levels)
        strayed = _USUAL * float(max(self.score_range(level) for level in levels) / self.each)
        chosen = (_USUAL + 1) * float(self.score_range(Fraction(0)) / self.end)
        return self._rounded(shown + strayed + chosen)

    @property
    def _breadth(self) -> float:
        return math.log(self.measurement.grid.steps + 1)

    def _rounded(self, weight: float) -> Fraction:
        """Return a weight, rounded up to whole rows, or to whole steps of their own weights."""
        return Fraction(math.ceil(weight / self.schema.row_weight) * self.schema.row_weight)

    # --- how good it is ---

    def promise(self, level: Fraction, confidence: Fraction, groups: int = 1) -> float:
        """Return by how many rows, or how much weight, the rank of a value is off at most (claim Q4)."""
        nodes = len(self.measurement.levels)
        candidates = self._breadth + (math.log(PARTS) if nodes > 1 else 0.0)
        beyond = math.log(groups * nodes) - math.log(1 - confidence)
        reach = self.score_range(level, True) if nodes == 1 else self.depth * self.score_range(Fraction(0))
        aimed = self.inside if level in (0, 1) else 0
        weight = float(reach / self.each) * (candidates + beyond) + float(aimed)
        return (weight + self.row * (self.depth - 1)) / float(self.one)  # with the rows at the places that divide

    def usual(self, level: Fraction, confidence: Fraction) -> float:
        """Return what ``promise`` does if the values are spread evenly; for an extreme, its target."""
        if level in (0, 1):
            return float(self.inside / self.one)
        one_choice = float(self.score_range(level, self.depth == 1) / self.each) * -math.log(1 - confidence)
        depth = math.sqrt((1 + self.depth) / 2)  # a part of the errors of earlier levels
        return one_choice * depth / float(self.one)

    def margins(self, level: Fraction, confidence: Fraction, below: Sequence[int]) -> list[float]:
        """Return how far noise moves (weight below a border) - level·N, for each number of cells below a border.

        In one direction, noise exceeds this with probability at most (1 - confidence)/4: four borders, two on either
        side, may be ends of a bar.
        """
        cells = self.measurement.borders + 1
        sure = 1 - (1 - confidence) / 2  # in both directions, so a quarter in one
        weights = [[1 - level] * number + [level] * (cells - number) for number in below]
        return margins(np.array(weights, dtype=float).T, self.scale, sure)

    # --- the choices ---

    def release(
        self, spread: ValueWeights, groups: int, entropy: Entropy, progress: Callable[[float], None] | None = None
    ) -> list[list[int]]:
        """Return the values, ends and noisy counts of all groups, as ``Quantiles.names`` lists them."""
        starts = np.searchsorted(spread.groups, np.arange(groups + 1))
        chosen, counted = [], []
        for number, (first, last) in enumerate(pairwise(starts)):
            if progress is not None and number % 100 == 0:
                progress(number / groups)
            index, weight = spread.indices[first:last], spread.weights[first:last]
            points = self._points(index, weight, entropy)
            chosen.append(points)
            if self.measurement.interval:
                counted.append(_between(index, weight, sorted(self.borders(points))))
        columns = [list(column) for column in zip(*chosen, strict=True)]
        for cell in zip(*counted, strict=True):
            noise = draws(self.scale, groups, entropy).tolist()
            columns.append([exactly + drawn for exactly, drawn in zip(cell, noise, strict=True)])
        return columns

    def borders(self, points: Sequence[Any]) -> list[Any]:
        """Return the borders between which rows are counted; a border is the index below which rows are counted."""
        levels = self.measurement.levels
        ends = iter(points[len(levels) :])
        borders = []
        for level, value in zip(levels, points, strict=False):
            if level == 0:
                borders.append(value + 1)
            elif level == 1:
                borders.append(value)
            else:
                borders += [next(ends), value, value + 1, next(ends) + 1]
        return borders

    def sides(self, level: Fraction) -> tuple[list[int], list[int]]:
        """Return which borders may be the lower and the upper end of a bar, the nearest last."""
        before = sum(1 if each == 0 else 4 for each in self.measurement.levels if each < level)
        if level in (0, 1):
            return ([], [before]) if level == 0 else ([before], [])
        return [before, before + 1], [before + 3, before + 2]

    def _points(self, index: Column, weight: Column, entropy: Entropy) -> list[int]:
        """Return the values of one group, then the ends of their bars."""
        rows = index * PARTS, weight
        if self.measurement.inner and len(self.measurement.levels) > 1:  # else no choice divides a value
            rows = _spread(index, weight, self.row)
        room = _Rows(*rows, 0, (self.measurement.grid.steps + 1) * PARTS - 1)
        values = list(self._split(room, self.measurement.inner, Fraction(0), Fraction(1), entropy))
        rooms = room.divided([place - place % PARTS + PARTS // 2 for place in values])  # half of a value to each side
        unit = self.each / self.score_range(Fraction(0), not values)
        low, high = Aim(Fraction(0), self.inside), Aim(Fraction(1), -self.inside)
        least = [rooms[0].choose(low, unit, True, entropy)] if self.measurement.levels[0] == 0 else []
        most = [rooms[-1].choose(high, unit, True, entropy)] if self.measurement.levels[-1] == 1 else []
        ends = self._ends(room, values, entropy) if self.measurement.interval else []
        return [place // PARTS for place in (*least, *values, *most, *ends)]

    def _split(
        self, room: _Rows, levels: Sequence[Fraction], low: Fraction, high: Fraction, entropy: Entropy
    ) -> Iterator[int]:
        """Yield the places for the levels: the middle one, chosen among all in the room, divides it for the others.

        The last choices need no parts: nothing is divided by them.
        """
        if not levels:
            return
        middle = len(levels) // 2
        level = (levels[middle] - low) / (high - low)
        unit = self.each / self.score_range(level, high - low == 1)
        place = room.choose(Aim(level), unit, len(levels) == 1, entropy)
        below, above = room.divided([place])
        yield from self._split(below, levels[:middle], low, levels[middle], entropy)
        yield place
        yield from self._split(above, levels[middle + 1 :], levels[middle], high, entropy)

    def _ends(self, room: _Rows, places: Sequence[int], entropy: Entropy) -> Iterator[int]:
        """Yield the lower and the upper end of each quantile's bar, from the rows between it and its neighbors."""
        if not places:
            return
        unit, aside = self.end / self.score_range(Fraction(0)), self.aside
        starts = [place - place % PARTS for place in places]
        for before, start, after in zip(
            [room.low - PARTS, *starts], starts, [*starts[1:], room.high + 1], strict=False
        ):
            below, above = room.between(before + PARTS, start), room.between(start + PARTS, after)
            yield min(below.choose(Aim(Fraction(1), -aside), unit, True, entropy), start)
            yield min(above.choose(Aim(Fraction(0), aside), unit, True, entropy), room.high)  # a room may be empty


@dataclass(frozen=True)
class _Rows:
    """Rows at rising places, with weights, and the candidates: the places from ``low`` to ``high``."""

    places: Column
    weights: Column
    low: int
    high: int

    def divided(self, places: Sequence[int]) -> list[_Rows]:
        """Return what is below the first of these places, from it to the second, and so on."""
        return [self.between(low, high) for low, high in pairwise([self.low, *places, self.high + 1])]

    def between(self, low: int, high: int) -> _Rows:
        """Return the rows from one place up to another, which is excluded; there is always a candidate."""
        first, last = np.searchsorted(self.places, (low, high))
        return _Rows(self.places[first:last], self.weights[first:last], low, max(low, high - 1))

    def choose(self, aim: Aim, unit: Fraction, whole: bool, entropy: Entropy) -> int:
        """Return a place by permute-and-flip with coins e^(-unit·(d - min d)); ``whole`` takes no parts of steps."""
        if whole:
            return PARTS * self._whole()._choose(aim, unit, entropy)
        return self._choose(aim, unit, entropy)

    def _whole(self) -> _Rows:
        """Return the rows at whole grid indices."""
        index = self.places // PARTS
        starts = np.flatnonzero(np.diff(index, prepend=-1))
        weights = np.add.reduceat(self.weights, starts) if len(starts) else self.weights
        return _Rows(index[starts], weights, self.low // PARTS, self.high // PARTS)

    def _choose(self, aim: Aim, unit: Fraction, entropy: Entropy) -> int:
        total = int(self.weights.sum())
        parts = math.lcm(aim.level.denominator, aim.shift.denominator)
        goal = int(parts * (aim.level * total + aim.shift))
        kind = np.int64 if parts * total + abs(goal) < 2**62 else object
        below = np.zeros(len(self.places) + 1, kind)
        below[1:] = np.cumsum(self.weights)
        off = below * parts - goal
        distances, sizes = np.empty(2 * len(self.places) + 1, kind), np.ones(2 * len(self.places) + 1, np.int64)
        distances[::2] = np.abs(off)  # of the places between rows
        distances[1::2] = np.maximum(np.maximum(off[:-1], -off[1:]), 0)  # of those where rows are
        borders = np.concatenate(([self.low - 1], self.places, [self.high + 1]))
        sizes[::2] = np.diff(borders) - 1
        distances -= distances[sizes > 0].min()
        run, number = race(np.where(sizes > 0, distances, 0), unit / parts, sizes, entropy=entropy)
        return int(borders[(run + 1) // 2]) + (number + 1 if run % 2 == 0 else 0)


def _spread(index: Column, weight: Column, block: int) -> tuple[Column, Column]:
    """Return the places of rows and their weights: the rows at an index take the parts of its step in turn.

    ``block`` is the largest weight of a row.  Adding weight at an index does not move the earlier weight.
    """
    full = (weight // block).astype(np.int64)  # at most the number of rows
    rest = weight % block
    taken = np.minimum(full + (rest > 0), PARTS)
    if len(index) == 0 or taken.max() == 1:
        return index * PARTS, weight
    which = np.repeat(np.arange(len(index)), taken)
    turn = np.arange(len(which)) - np.repeat(np.cumsum(taken) - taken, taken)
    rounds, over = np.divmod(full[which], PARTS)
    shares = block * (rounds + (turn < over)).astype(weight.dtype) + np.where(turn == over, rest[which], 0)
    places = index[which] * PARTS + _REVERSED[turn]
    order = np.argsort(places, kind="stable")
    return places[order], shares[order]


def _between(index: Column, weight: Column, borders: Sequence[int]) -> list[int]:
    """Return the weight of the rows below the first border, from it to the second, and so on."""
    upto = np.concatenate(([0], np.cumsum(weight)))
    below = [int(upto[at]) for at in np.searchsorted(index, borders)]
    return [b - a for a, b in zip([0, *below], [*below, int(upto[-1])], strict=True)]
