"""The cost of quantiles: every choice and every count of a selection is recorded, on a table and on its neighbors.

The choices are made by a script instead of chance, the same for both tables.  Permute-and-flip with coins e^(-u·d)
costs at most u times the width of the interval in which the distances d of all candidates change (claim Q1), counts
cost their L1 distance over the scale of their noise, and the sum of all of these must not exceed ε.  Rows of a weighted
quantile have weights up to the largest (claim W3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import exact
from ...measure.quantiles import Quantiles
from ...measure.selection import Selection, ValueWeights
from ...noise.sampler import race
from ...plan.plan import Plan
from ...question import query
from ...question.schema import keys, number
from ..finding import Finding
from ..room import Room
from ..tools.even import Given
from ..tools.script import NoOther, Script, scripted

_VALUES, _GROUPS, _TRIES = 5, 2, 12
_HEAVIEST = 3
"""The largest weight of a row, where rows have weights."""

_CROWDS = (0, 1, 30)
"""Rows of others: in every cell of the table, or in none."""

_NEAR = 1e-9
"""Far above the rounding of float64 where the words of a race are compared."""

_LEVELS = (
    ("0.5",), ("0.1",), ("0.99",), ("0",), ("1",), ("0.25", "0.75"), ("0", "0.5", "1"), ("0", "1"),
    ("0.2", "0.5", "0.9", "1"), ("0.2", "0.4", "0.6", "0.8"), ("0", "0.1", "0.3", "0.5", "0.6", "0.7", "0.8", "0.9"),
)  # fmt: skip

_WEIGHTED = (("0.5",), ("0.1",), ("0.25", "0.75"), ("0.2", "0.4", "0.6", "0.8"))
"""The levels of weighted quantiles."""

Weights = NDArray[np.int64]
"""The weight of the rows by group and value."""


def races() -> Iterator[Finding]:
    """Of two runs, the second wins for words up to a border, found by bisection, which must be the law's; exact.

    With U and V uniform, -ln U of one candidate is the lower where V < 1 - (1 - U·e^(-γ))^m for a run of m candidates.
    """
    for unit, far in ((Fraction(1), 1), (Fraction(1, 3), 5), (Fraction(2, 10**6), 10**6)):
        worst = 0.0
        for many in (1, 2, 1000):
            sizes = np.array([1, many])
            for first in (2**58 + 1, 2**62 + 12345):
                low, high = 0, 2**63 - 1  # the second wins at low, and not at high
                while high - low > 1:
                    middle = (low + high) // 2
                    given = Given(np.array([first, middle]))
                    won, _ = race(np.array([0, far]), unit, sizes, entropy=given)
                    low, high = (middle, high) if won else (low, middle)
                due = -math.expm1(many * math.log1p(-first / 2**63 * math.exp(-far * unit)))
                worst = max(worst, abs(low / 2**63 / due - 1))
        told = f"borders are off by {worst:.1e} of themselves at most, {_NEAR:.0e} is allowed"
        yield Finding(f"the law of a choice, at a distance of {float(far * unit):.4g}", worst <= _NEAR, told)


def choices(room: Room) -> Iterator[Finding]:
    """Yield the largest cost found, for quantiles of several levels, with bars and without."""
    yield from races()
    columns = {"x": number(0, _VALUES - 1, integer=True), "g": keys(range(_GROUPS))}
    columns["w"] = number(0, _HEAVIEST, integer=True)
    for people, neighbors in ((False, "add_remove"), (False, "change_one"), (True, "add_remove"), (True, "change_one")):
        person: dict[str, Any] = {"person": "p", "rows_per_person": 2} if people else {}
        source = room.source("none.parquet", columns=columns, neighbors=neighbors, **person)
        for levels, most in (*((each, 1) for each in _LEVELS), *((each, _HEAVIEST) for each in _WEIGHTED)):
            asked, costs = query.quantile("x", list(levels), weight="w" if most > 1 else None), []
            for by, intervals in ((("g",), True), (("g",), False), ((), True), ((), False)):
                plan = source.plan(*asked, by=by, epsilon=1, intervals=intervals)
                own, groups = _selection(plan), _GROUPS if by else 1
                costs.append(max(_cost(own, *pair) for pair in _pairs(own, groups, most)))
            what = f"the cost of {'weighted ' if most > 1 else ''}quantiles {', '.join(levels)}, "
            what += f"{'people' if people else 'rows'}, {neighbors}"
            told = f"by groups {_most(costs[:2])}, alone {_most(costs[2:])} (with bars, and without)"
            yield Finding(what, max(costs) <= plan.epsilon, f"{told}, each of {exact.text(plan.epsilon)} at most")


def _selection(plan: Plan) -> Selection:
    (part,) = plan.parts
    assert isinstance(part.measurement, Quantiles)
    return part.measurement.selection(plan.setting(part))


def _most(costs: Sequence[Fraction]) -> str:
    return ", ".join(f"{float(cost):.4f}" for cost in costs)


def _pairs(own: Selection, groups: int, most: int) -> Iterator[tuple[Weights, Weights, int]]:
    """Yield tables and neighbors: drawn by seeds, and all in which a person is in one place, and in another or none.

    A row weighs up to ``most`` times what a row without a weight of its own does.
    """
    k, weight, shape = own.schema.most_rows, own.schema.row_weight, (groups, _VALUES)
    changed, nobody = own.schema.neighbors == "change_one", np.zeros(shape, np.int64)
    for seed in range(_TRIES):
        random = Random(seed)
        others = nobody.copy()
        for _ in range(random.choice((0, 2, 30, 30))):
            others[random.randrange(groups), random.randrange(_VALUES)] += weight * _own(random, most)
        first = _person(random, k, weight, groups, most) if changed else nobody
        yield others + first, others + _person(random, k, weight, groups, most), seed
    places = []
    for place in product(range(groups), (0, _VALUES // 2, _VALUES - 1)):
        there = nobody.copy()
        there[place] = k * weight * most
        places.append(there)
    pairs = combinations(places, 2) if changed else ((nobody, there) for there in places)
    for (one, other), crowd in product(pairs, _CROWDS):
        yield one + crowd * weight, other + crowd * weight, crowd


def _cost(own: Selection, table: Weights, neighbor: Weights, seed: int) -> Fraction:
    """Return what the selection costs for a table and a neighbor."""
    groups = len(table)
    one = Script(seed=seed)
    other = Script(places=one.chosen)
    cells = []
    for script, rows in ((one, table), (other, neighbor)):
        with scripted(script):
            made = own.release(_spread(rows), groups, NoOther())
        cells.append(np.array(made[len(made) - len(script.scales) // groups :]).ravel())
    cost = sum((race.cost(race_) for race, race_ in zip(one.races, other.races, strict=True)), Fraction(0))
    for a, b, scale, scale_ in zip(*cells, one.scales, other.scales, strict=True):
        cost += abs(int(a) - int(b)) / min(scale, scale_)
    return cost


def _own(random: Random, most: int) -> int:
    """Return the weight of a row, which is 1 where rows have none."""
    return 1 if most == 1 else random.randint(1, most)


def _person(random: Random, k: int, weight: int, groups: int, most: int) -> Weights:
    """Return the rows of one person: as many as count, at one value or at several."""
    found = np.zeros((groups, _VALUES), np.int64)
    places: Sequence[tuple[int, int]] = [(random.randrange(groups), random.choice((0, 4, 2))) for _ in range(k)]
    for place in places if random.random() < 0.5 else [places[0]] * k:
        found[place] += weight * _own(random, most)
    return found


def _spread(table: Weights) -> ValueWeights:
    groups, indices = np.nonzero(table)
    return ValueWeights(groups.astype(np.int64), indices.astype(np.int64), table[groups, indices])
