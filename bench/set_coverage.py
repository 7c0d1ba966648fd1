"""How often the bars of several tables hold the truth: cubes, rollups and margins, with counts, sums, means and shares.

Each measured table is read once and gets noise many times; tables are computed, published and given bars by the code
that makes a release.  The first repetition is compared with a release as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from page import table

import lapwing as lw
from lapwing.engine.connect import connect
from lapwing.measure import adding_up
from lapwing.measure.cells import draws
from lapwing.measure.measurement import Estimate
from lapwing.noise.entropy import SYSTEM
from lapwing.noise.mechanism import NINETY_FIVE
from lapwing.plan.plan import Plan
from lapwing.plan.planning import make_plan
from lapwing.plan.several import SeveralTables
from lapwing.plan.weighing import weighing
from lapwing.question.query import Statistic
from lapwing.question.schema import make_schema
from lapwing.question.sets import KeySets
from lapwing.question.sql import make_query
from lapwing.release.pipeline import Tally
from lapwing.release.several import SeveralEstimator

Floats = NDArray[np.float64]
ROWS = 50_000
LEAST, MOST = 0.945, 0.97


@dataclass(frozen=True)
class Workload:
    """Columns with their numbers of keys, the tables over them, and what is asked."""

    name: str
    sizes: dict[str, int]
    by: KeySets
    statistics: tuple[Statistic, ...]

    def plan(self) -> Plan:
        """Return the plan at ε = 1."""
        keys = {name: lw.keys(*range(size)) for name, size in self.sizes.items()}
        columns = {**keys, "x": lw.number(0, 80, integer=True), "y": lw.number(0, 5000)}
        schema = make_schema("people", columns, None, None, "add_remove", None)
        return make_plan(schema, make_query(self.statistics, self.by, None, schema), epsilon=1)

    def frame(self) -> pd.DataFrame:
        """Return the table: keys are of uneven size, and values are within their bounds."""
        draw = np.random.default_rng(19)
        keys = {name: (size * draw.beta(1.2, 1.6, ROWS)).astype(int) for name, size in self.sizes.items()}
        return pd.DataFrame({**keys, "x": draw.integers(0, 81, ROWS), "y": 5000 * draw.beta(2, 5, ROWS)})


WORKLOADS = (
    Workload("2 × 17 × 4, cube", {"a": 2, "b": 17, "c": 4}, lw.cube("a", "b", "c"), (lw.count(name="rows"),)),
    Workload(
        "5 × 8 × 2, rollup",
        {"a": 5, "b": 8, "c": 2},
        lw.rollup("a", "b", "c"),
        (lw.count(name="rows"), lw.sum("y", name="sum"), lw.mean("y", name="mean")),
    ),
    Workload(
        "2 × 5 × 7 × 4, up to 2 columns",
        {"a": 2, "b": 5, "c": 7, "d": 4},
        lw.marginals("a", "b", "c", "d", upto=2),
        (lw.proportion("x >= 40", name="share"),),
    ),
)


@dataclass(frozen=True)
class TableCoverage:
    """How often the bars of a statistic held the truth, over the cells of one table."""

    workload: str
    table: str
    statistic: str
    cells: int
    coverage: float


@dataclass(frozen=True)
class WorkloadCoverage:
    """What was found for each table and statistic, and how often all bars of a release held at once."""

    workload: str
    tables: list[TableCoverage]
    at_once: float


def covered(workload: Workload, repetitions: int) -> WorkloadCoverage:
    """Simulate so many releases of a workload."""
    plan, frame = workload.plan(), workload.frame()
    several = plan.several
    assert several is not None
    exact = exact_cells(plan, frame)
    noisy = [_noisy(plan, several, number, exact[number], repetitions) for number in range(len(plan.parts))]
    cells = [
        [np.array([several.reconstructed(number, row) for row in cell]) for cell in noisy[number]]
        for number in range(len(plan.parts))
    ]
    first = SeveralEstimator(plan, [[cell[0] for cell in some] for some in noisy], NINETY_FIVE, simultaneous=False)
    released = dict(zip(plan.query.statistics, first.of(slice(0, plan.groups)), strict=True))
    found, everything = [], np.ones(repetitions, dtype=bool)
    for statistic in plan.query.statistics:
        truth = truths(workload, several, statistic, frame)
        for simultaneous in (False, True):
            sure, _ = plan.each_confidence(NINETY_FIVE, simultaneous)
            bars = _bars(plan, several, statistic, cells, sure)
            held = (bars.low - 1e-9 <= truth) & (truth <= bars.high + 1e-9)
            if simultaneous:
                everything &= held.all(axis=1)
                continue
            assert all(np.allclose(mine[0], its) for mine, its in zip(bars, released[statistic], strict=True))
            for number, axes in enumerate(several.asked):
                inside = held[:, several.starts[number] : several.starts[number + 1]]
                each = (several.title(axes), str(statistic.name), inside.shape[1], float(inside.mean()))
                found.append(TableCoverage(workload.name, *each))
    return WorkloadCoverage(workload.name, found, float(everything.mean()))


def exact_cells(plan: Plan, frame: pd.DataFrame) -> list[list[NDArray[np.int64]]]:
    """Return, for each measurement, its exact cells in all measured tables, one after the other."""
    tallies = [Tally(each) for each in connect(frame, plan.schema.name).tally_tables(plan.schema, plan.lowered)]
    found = []
    for number, part in enumerate(plan.parts):
        tables = []
        for tally, setting in zip(tallies, plan.settings(part), strict=True):
            groups, exactly = part.measurement.exact_cells(tally.exact(plan, number))
            whole = np.zeros((len(part.measurement.names), setting.groups), dtype=np.int64)
            whole[:, groups] = np.array(exactly, dtype=np.int64)
            tables.append(whole)
        found.append(list(np.concatenate(tables, axis=1)))
    return found


def _noisy(
    plan: Plan, several: SeveralTables, number: int, exact: Sequence[NDArray[np.int64]], repetitions: int
) -> list[NDArray[np.int64]]:
    """Return the cells of a measurement in all measured tables with noise, a row for each repetition."""
    scales = plan.scales(plan.parts[number])
    sizes = [several.cells(axes) for axes in several.strategy.measured]
    found = []
    for cell in exact:
        noise = [
            draws(scale, size * repetitions, SYSTEM).reshape(repetitions, size)
            for scale, size in zip(scales, sizes, strict=True)
        ]
        found.append(cell + np.concatenate(noise, axis=1))
    return found


def _bars(
    plan: Plan, several: SeveralTables, statistic: Statistic, cells: Sequence[Sequence[Floats]], sure: Fraction
) -> Estimate:
    """Return the values and bars of a statistic, a row for each repetition."""
    made = weighing(plan, statistic)
    assert made is not None
    shape = cells[0][0].shape
    top, bottom = np.full(shape, float(made.top)), np.full(shape, float(made.bottom))
    for each in made.cells:
        top += float(each.top) * cells[each.part][each.cell]
        bottom += float(each.bottom) * cells[each.part][each.cell]
    if statistic.is_linear:
        return _published(several, statistic, top, sure)
    ends: list[Any] = []
    for number, axes in enumerate(several.asked):
        inside = slice(several.starts[number], several.starts[number + 1])
        sums = {True: top[:, inside].ravel(), False: bottom[:, inside].ravel()}
        known = {("weighted", statistic, of_top): total for of_top, total in sums.items()}
        estimator = SeveralEstimator(plan, [], sure, simultaneous=False, made=known)
        ends.append([end.reshape(shape[0], -1) for end in estimator.quotient(statistic, axes, 0, slice(None))])
    return Estimate(*(np.concatenate(some, axis=1) for some in zip(*ends, strict=True)))


def _published(several: SeveralTables, statistic: Statistic, top: Floats, sure: Fraction) -> Estimate:
    """Return a count or sum as it is published, with its bars."""
    grid = several.grid(statistic)
    values = []
    for row in top:
        published = adding_up.add_up(several.split(row), grid)
        assert published.grid == grid
        values.append(several.stacked(published.tables))
    margins = [several.bar(statistic, axes, 0, grid, sure) for axes in several.asked]
    value, margin = np.array(values), np.repeat(margins, np.diff(several.starts))
    return Estimate(value, value - margin, value + margin)


def truths(workload: Workload, several: SeveralTables, statistic: Statistic, frame: pd.DataFrame) -> Floats:
    """Return the truth for all cells of all asked tables, by pandas."""
    found = []
    grid = several.plan.schema.columns["y"].grid
    assert grid is not None
    step = float(grid.step)
    values = {"rows": np.ones(len(frame)), "sum": np.floor(frame["y"] / step + 0.5) * step, "share": frame["x"] >= 40}
    wanted = values["sum" if statistic.name == "mean" else str(statistic.name)]
    for axes in several.asked:
        keys, sizes = several.keys(axes), [several.shape[i] for i in axes]
        place = np.zeros(len(frame), dtype=int)
        for key, size in zip(keys, sizes, strict=True):
            place = place * size + frame[key].to_numpy()
        total = np.bincount(place, weights=wanted, minlength=several.cells(axes))
        number = np.bincount(place, minlength=several.cells(axes))
        found.append(total / number if statistic.kind in ("mean", "proportion") else total)
    return np.concatenate(found)


def section(found: Sequence[WorkloadCoverage], repetitions: int) -> tuple[str, bool]:
    """Return what the page says, and whether every bar holds as often as it says."""
    off = 3 * (0.05 * 0.95 / repetitions) ** 0.5
    every = [each for workload in found for each in workload.tables]
    good = all(each.coverage >= min(LEAST, 0.95 - off) for each in every)
    good &= all(workload.at_once >= min(LEAST, 0.95 - off) for workload in found)
    within = sum(LEAST <= each.coverage <= MOST for each in every)
    parts = [
        "## Coverage of 95 % error bars of several tables",
        f"{repetitions:,} simulated releases of {ROWS:,} rows at ε = 1 for each question, which asks for all of its "
        "tables at once (`python bench/coverage.py --tables`). *held*: the bar of a cell contains the truth, over all "
        "cells of the table; the standard error of a table of one cell is "
        f"{100 * (0.05 * 0.95 / repetitions) ** 0.5:.2f} points. Wanted: from {100 * LEAST:g} % to {100 * MOST:g} % in "
        f"every table; {within} of {len(every)} are.",
        table(
            ["question", "table", "statistic", "cells", "held, %"],
            [[e.workload, e.table, e.statistic, f"{e.cells:,}", f"{100 * e.coverage:.2f}"] for e in every],
        ),
        "Bars for all cells of all tables and statistics at once, by the union bound (claim U7), which is cautious "
        "where statistics share their noise:",
        table(["question", "all held, %"], [[each.workload, f"{100 * each.at_once:.2f}"] for each in found]),
    ]
    return "\n\n".join(parts), good
