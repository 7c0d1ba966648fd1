"""What the simulations share: deterministic tables, and many releases of one table at once.

A simulated release is a release: the engine reads the table, the sampler draws the noise, ``estimates`` makes the
numbers and their bars.  Only the order differs: the table is read once, and its repetitions stand beside each other as
if they were groups, each with noise of its own.  Nothing is charged, as nothing is about anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lapwing import DiscreteLaplace, number
from lapwing.engine.connect import connect
from lapwing.measure.cells import column, draws
from lapwing.measure.measurement import Estimate
from lapwing.noise.entropy import SYSTEM
from lapwing.noise.mechanism import NINETY_FIVE
from lapwing.plan.plan import Plan
from lapwing.question.query import Statistic
from lapwing.question.schema import Column, Schema
from lapwing.release.estimate import estimates
from lapwing.release.pipeline import Tally

Floats = NDArray[np.float64]


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Data:
    """A column's declaration and its values, each a function of u in (0, 1), the rank of the row among the n."""

    column: Column
    kind: str
    low: float
    high: float

    def values(self, n: int) -> Floats:
        """Return n values inside the bounds, the same in every run."""
        return np.clip(_spread(self.kind, (np.arange(n) + 0.5) / n), self.low, self.high)


@lru_cache(maxsize=8)
def _normal(n: int) -> Floats:
    return np.array([NormalDist().inv_cdf((i + 0.5) / n) for i in range(n)])


def _spread(kind: str, u: Floats) -> Floats:
    """Return the quantiles of a distribution at u."""
    normal = _normal(len(u))
    return {
        "ages": lambda: np.rint(40 + 20 * normal),
        "incomes": lambda: np.exp(10.4 + 0.7 * normal),
        "temperature": lambda: 20 + 1.5 * normal,
        "uniform": lambda: u,
        "skewed": lambda: u**6,
        "constant": lambda: np.full_like(u, 2.5),
        "all lowest": lambda: np.zeros_like(u),
        "all highest": lambda: np.full_like(u, 100.0),
        "half at each bound": lambda: np.arange(len(u)) % 2.0,
        "a tenth at the top": lambda: (np.arange(len(u)) % 10 == 0) * 100.0,
    }[kind]()


def _data(kind: str, low: float, high: float, *, integer: bool = False) -> Data:
    return Data(number(low, high, integer=integer), kind, low, high)


DATA = {
    each.kind: each
    for each in (
        _data("ages", 0, 100, integer=True),
        _data("incomes", 0, 200_000),
        _data("temperature", 15, 25),
        _data("uniform", 0, 1),
        _data("skewed", 0, 1),
        _data("constant", -5, 10),
        _data("all lowest", 0, 100, integer=True),
        _data("all highest", -100, 100, integer=True),
        _data("half at each bound", 0, 1),
        _data("a tenth at the top", 0, 100, integer=True),
    )
}
"""Ages and incomes and temperatures, and what is hard: data at the bounds, without spread, or with the most of it."""


# ── repeated releases ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Repeated(Plan):
    """A plan whose groups are those of another, ``repetitions`` times."""

    once: Plan | None = None
    repetitions: int = 1

    @property
    def groups(self) -> int:
        """The number of groups of all repetitions."""
        assert self.once is not None
        return self.once.groups * self.repetitions

    def each_confidence(self, confidence: Fraction, simultaneous: bool) -> tuple[Fraction, int]:
        """Return what a single release goes by."""
        assert self.once is not None
        return self.once.each_confidence(confidence, simultaneous)


def read(plan: Plan, frame: pd.DataFrame) -> Tally:
    """Return the exact sums, by the engine that a release uses."""
    return Tally(connect(frame, plan.schema.name).tally(plan.schema, plan.lowered))


def simulate(
    plan: Plan, tally: Tally, repetitions: int, confidence: Fraction = NINETY_FIVE, simultaneous: bool = False
) -> list[Estimate]:
    """Return, for each statistic, the values and bars of many releases, one after the other."""
    fields = (plan.schema, plan.query, plan.epsilon, plan.parts, plan.confidence, plan.rows)
    repeated = Repeated(*fields, once=plan, repetitions=repetitions)
    public = any(each.public_rows for each in plan.measured) or plan.counts_publicly
    rows = tally.rows if public else None
    cells = [noisy(plan, tally, number, repetitions, rows) for number in range(len(plan.parts))]
    if not any(part.measurement.public_rows for part in plan.parts):
        return estimates(repeated, cells, rows, confidence, simultaneous)
    one = replace(plan, rows=max(rows or 1, 1))  # the whole-table forms look at one group only
    with patch("lapwing.measure.linear.DiscreteLaplace", _Quick):
        each = [
            estimates(one, [[[cell[i]] for cell in part] for part in cells], rows, confidence, simultaneous)
            for i in range(repetitions)
        ]
    return [Estimate(*(np.concatenate(ends) for ends in zip(*found, strict=True))) for found in zip(*each, strict=True)]


def noisy(plan: Plan, tally: Tally, number: int, repetitions: int, rows: int | None = None) -> list[NDArray[Any]]:
    """Return the cells of a measurement with noise, for one repetition after the other."""
    part = plan.parts[number]
    groups, cells = part.measurement.exact_cells(tally.exact(plan, number))
    whole = np.zeros((len(part.measurement.names), plan.groups), dtype=object)
    for cell, found in zip(whole, cells, strict=True):
        cell[groups] = found
    scale, size = plan.scale(part, rows), plan.groups * repetitions
    return [column(np.tile(cell, repetitions) + draws(scale, size, SYSTEM)) for cell in whole]


@lru_cache(maxsize=64)
def _margin(scale: Fraction, cells: int, confidence: Fraction) -> int:
    return DiscreteLaplace(scale).simultaneous_margin(cells, confidence)


class _Quick(DiscreteLaplace):
    """The same law, which computes each margin once."""

    def margin(self, confidence: Fraction = NINETY_FIVE) -> int:  # type: ignore[override]
        return _margin(self.scale, 1, confidence)

    def simultaneous_margin(self, cells: int, confidence: Fraction = NINETY_FIVE) -> int:  # type: ignore[override]
        return _margin(self.scale, cells, confidence)


# ── the truth, by another road ───────────────────────────────────────────────────────────────────────────────


def truths(plan: Plan, frame: pd.DataFrame) -> list[float]:
    """Return the statistics of the rows as they count, in floating point."""
    weights = weights_of(plan.schema, frame)
    return [_truth(plan, statistic, frame, weights) for statistic in plan.query.statistics]


def weights_of(schema: Schema, frame: pd.DataFrame) -> Floats:
    """Return how much each row counts: the rows of a person at most as much as rows_per_person (claim E2)."""
    if schema.person is None:
        return np.ones(len(frame))
    rows = frame.groupby(schema.person)[schema.person].transform("size").to_numpy()
    return np.minimum(schema.rows_per_person * schema.row_weight // rows, schema.row_weight) / schema.row_weight


def _truth(plan: Plan, statistic: Statistic, frame: pd.DataFrame, weights: Floats) -> float:
    if statistic.counts_rows:
        return float(weights.sum())
    if statistic.kind == "proportion":
        values: Floats = frame.eval(str(statistic.condition).replace('"', "`")).to_numpy(float)
    else:
        values = frame[statistic.column].to_numpy(float)
    measurement = plan.parts[plan.answering(statistic)[0]].measurement
    if measurement.fill is not None:  # a missing value counts as the middle (claim P5)
        middle = float(measurement.grid.step * (measurement.grid.low + measurement.fill))
        values = np.where(np.isnan(values), middle, values)
    there = ~np.isnan(values)
    return _weighted(statistic, values[there], weights[there])


def _weighted(statistic: Statistic, values: Floats, weights: Floats) -> float:
    n = float(weights.sum())
    if statistic.kind == "count":
        return n
    total = float((weights * values).sum())
    if statistic.kind == "sum":
        return total
    if statistic.kind in ("mean", "proportion"):
        return total / n
    variance = float((weights * (values - total / n) ** 2).sum()) / (n - 1 if statistic.sample else n)
    return variance if statistic.kind == "variance" else variance**0.5


def table_of(columns: dict[str, Sequence[float] | Floats]) -> pd.DataFrame:
    """Return a data frame."""
    return pd.DataFrame(columns)
