"""Error bars of several tables, by the law of their noise, without drawing.

A cell of a table is a weighted sum of noisy integers.  Its weights are computed here by dense least squares, and the
law of the noise by a Fourier transform on a fine lattice: a bar must hold every value within the margin of this law.
The end θ of the bar of a quotient T/B must be one that the noise in T - θB just allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.connect import connect
from ...plan.plan import Plan
from ...plan.planning import make_plan
from ...plan.strategy import Strategy
from ...plan.weighing import weighing
from ...question import query, schema, sql
from ...question.query import Statistic
from ...question.sets import cube
from ...release.pipeline import make_release
from ...release.result import Release
from ..finding import Finding, first_of
from ..room import Room
from ..tools.paper import Paper
from ..tools.script import NoOther, Script, scripted

_SHAPE = (3, 4)
_TABLES: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (0, 1))
_STRATEGIES = (
    Strategy(((), (0,), (0, 1)), (Fraction(1, 5), Fraction(3, 10), Fraction(1, 2))),
    Strategy(((0, 1),), (Fraction(1),)),
)
_BARS: tuple[tuple[str, bool], ...] = (("0.95", False), ("0.5", False), ("0.95", True))
"""The confidence of bars, and whether it is for all cells at once."""

_FINE = 256
"""Weights are rounded to one part in so many."""

_LOOKED = 8
"""How many ends of bars are looked at, at least."""

_LATTICE = 2**18
_LARGE = 1000
_NEARLY = 0.99
"""Margins are compared up to one percent, which is more than the rounding of weights changes."""

_WIDER = 1.1
"""How much wider the bar of a quotient of many rows may be: its margins are bounds that hold for all θ."""

Floats = NDArray[np.float64]


def totals(room: Room) -> Iterator[Finding]:
    """Yield whether bars of several tables are as wide as they must be: for one cell, and for all at once."""
    values = [(a, b, (3 * a + b) % 5 / 4) for a in range(_SHAPE[0]) for b in range(_SHAPE[1]) for _ in range(4 + a * b)]
    table = room.table(
        {name: [row[i] for row in values] for i, name in enumerate("abx")},
        {"a": "BIGINT", "b": "BIGINT", "x": "DOUBLE"},
    )
    columns = {"a": schema.keys(range(_SHAPE[0])), "b": schema.keys(range(_SHAPE[1])), "x": schema.number(0, 1)}
    declared = room.source(table, columns=columns).schema
    for strategy in _STRATEGIES:
        for statistic in (query.count(), query.sum("x")):
            yield _by_law(_plan(declared, (statistic,), strategy, "0.5"), table)
    for statistic in (query.mean("x"), query.proportion("x > 0.5")):
        yield _quotient(_plan(declared, (statistic,), _STRATEGIES[0], "8"), table)


def _plan(declared: schema.Schema, statistics: Sequence[Statistic], strategy: Strategy, epsilon: str) -> Plan:
    asked = sql.make_query(statistics, cube("a", "b"), None, declared)
    return make_plan(declared, asked, epsilon=epsilon, strategy=strategy)


# --- counts and sums, by the law of their noise ---


def _by_law(plan: Plan, table: Any) -> Finding:
    """Compare bars with the margins of the law, around the estimate by least squares, over some noise."""
    (statistic,), (part,) = plan.query.statistics, plan.parts
    scales = [float(scale) for scale in plan.scales(part)]
    weights, each_scale = _weights(plan, scales)
    unit = float(part.measurement.unit(plan.setting(part)))
    whole = statistic.kind == "count"
    sizes = [int(np.prod([_SHAPE[i] for i in axes])) for axes in _TABLES]
    firsts = weights[np.cumsum([0, *sizes[:-1]])]  # all cells of a table have the same law
    sure = [float(confidence) if not at_once else 1 - 0.05 / len(weights) for confidence, at_once in _BARS]
    laws = np.repeat([_margins(row, each_scale, sure) for row in firsts], sizes, axis=0).T * unit
    wrong, cells = [], 0
    for seed in range(5):
        made = _with_noise(plan, table, Random(seed))
        due = weights @ made.cells[0][0].astype(float) * unit
        for (confidence, at_once), margins in zip(_BARS, laws, strict=True):
            bars = made.at(confidence, simultaneous=at_once).estimates[str(statistic.name)]
            for x, margin, value, low, high in zip(due, margins, *bars, strict=True):
                cells += 1
                least, most = x - _NEARLY * margin, x + _NEARLY * margin
                if whole:  # the truth is a whole number
                    least, most = np.ceil(least), np.floor(most)
                if (least < low - 1e-9 or most > high + 1e-9) and least <= most:
                    wrong.append(f"{value} ({low} to {high}) where {x:.4f} ± {margin:.4f} is due, at {confidence}")
                if high - value > margin / _NEARLY + 2 * _rounded(made):
                    wrong.append(f"{value} ({low} to {high}) is too wide: ± {margin:.4f} is due, at {confidence}")
    told = f"{len(wrong)} of {cells} bars do not hold what they must, or are too wide, 0 are right{first_of(wrong)}"
    measured = len(plan.strategy.measured) if plan.strategy else 0
    return Finding(f"the bars of {statistic.text} in several tables, {measured} of them measured", not wrong, told)


def _rounded(made: Release) -> float:
    """Return how far publishing on the grid may move a cell of the largest table (claim U3)."""
    assert made.plan.several is not None
    return 2 * made.plan.several.grid(made.plan.query.statistics[0])


def _weights(plan: Plan, scales: Sequence[float]) -> tuple[Floats, Floats]:
    """Return the weight of each noisy cell in each cell of all tables by dense least squares, and its scale."""
    assert plan.strategy is not None
    measured = [_margins_of(table) for table in plan.strategy.measured]
    each = np.concatenate([np.full(len(rows), scale) for rows, scale in zip(measured, scales, strict=True)])
    root = np.sqrt(2 * np.exp(-1 / each)) / (1 - np.exp(-1 / each))
    best = np.linalg.pinv(np.concatenate(measured) / root[:, None]) / root
    return np.concatenate([_margins_of(table) for table in _TABLES]) @ best, each


def _margins_of(table: Sequence[int]) -> Floats:
    """Return the matrix that sums the cells of the largest table to those of a smaller one."""
    finest = list(product(*map(range, _SHAPE)))
    cells = list(product(*(range(_SHAPE[i]) for i in table)))
    return np.array([[float(tuple(cell[i] for i in table) == own) for cell in finest] for own in cells])


def _margins(weights: Floats, scales: Floats, sure: Sequence[float]) -> list[float]:
    """Return the least m with P(|Σ w·L| ≤ m) ≥ confidence for each confidence, from the characteristic function.

    Integer noise of a large scale is as good as continuous.
    """
    whole = scales.min() < _LARGE
    fine = _FINE if whole else _FINE / float(np.abs(weights * scales).max())
    used = np.rint(weights * fine) / fine if whole else weights
    kinds, times = np.unique(np.stack([np.abs(used), scales]), axis=1, return_counts=True)
    angles = fine * 2 * np.pi * np.arange(_LATTICE // 2 + 1) / _LATTICE
    transform = np.ones_like(angles)
    for weight, scale, often in zip(*kinds, times, strict=True):
        d = np.exp(-1 / scale)
        factor = (
            (1 - d) ** 2 / (1 - 2 * d * np.cos(weight * angles) + d * d)
            if whole
            else 1 / (1 + (weight * scale * angles) ** 2)
        )
        transform *= factor**often
    law = np.fft.irfft(transform, _LATTICE)
    both = np.cumsum(law[: _LATTICE // 2] + np.concatenate([[0.0], law[: _LATTICE // 2 : -1]]))
    return [float(np.searchsorted(both, each - 1e-9)) / fine for each in sure]


def _with_noise(plan: Plan, table: Any, random: Random, times: int = 2) -> Release:
    """Return a release whose noise is up to so many times its scale."""
    paper: Any = Paper()
    size = times * float(max(plan.scales(plan.parts[0])))
    with scripted(Script(lambda number: round(random.uniform(-size, size)))):
        return make_release(plan, connect(table, "t"), paper, entropy=NoOther())


# --- means and shares ---


def _quotient(plan: Plan, table: Any) -> Finding:
    """The ends of a bar are where the noise in the numerator less θ times the denominator has its margin (claim G2)."""
    (statistic,) = plan.query.statistics
    made = _with_noise(plan, table, Random(1), 1)
    weighed = weighing(plan, statistic)
    assert weighed is not None
    weights, scales = _weights(plan, [float(scale) for scale in plan.scales(plan.parts[0])])
    cells = [weights @ made.cells[each.part][each.cell].astype(float) for each in weighed.cells]
    tops, bottoms = (np.array([float(getattr(each, end)) for each in weighed.cells]) for end in ("top", "bottom"))
    top, bottom = (
        float(getattr(weighed, end)) + of @ np.array(cells) for end, of in (("top", tops), ("bottom", bottoms))
    )
    wrong, looked = [], 0
    _, lows, highs = made.estimates[str(statistic.name)]
    for group, ends in enumerate(zip(lows, highs, strict=True)):
        if not 0 < ends[0] < ends[1] < 1:  # a bar that reaches the public range is moved by it
            continue
        for end in ends:
            looked += 1
            own = np.concatenate([(a - end * b) * weights[group] for a, b in zip(tops, bottoms, strict=True)])
            (margin,) = _margins(own, np.tile(scales, len(tops)), [0.95])
            found = abs(top[group] - end * bottom[group]) / margin
            if found < _NEARLY or (found > _WIDER and not group):  # few rows have wider bars
                wrong.append(f"{end:.4f}, where the noise is {found:.4f} of its margin")
    told = f"{len(wrong)} of {looked} ends are not where they must be, 0 are right{first_of(wrong)}"
    return Finding(f"the bars of {statistic.text} in several tables", not wrong and looked >= _LOOKED, told)
