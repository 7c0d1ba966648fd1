"""What is said before a release, and what comes: plans against releases, wanted errors, private bounds, found keys.

The noise is left out or replaced, so that bars have the width that they have for these tables, and nothing is left to
chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from random import Random
from typing import Any

import numpy as np

from ...errors import LapwingError
from ...exact import NANO
from ...measure.cells import column
from ...measure.selection import PARTS
from ...plan.plan import Forecast, Plan
from ...plan.planning import make_plan
from ...question import query
from ...question.query import Statistic
from ...question.schema import keys, number, plain
from ...release.bounds import Bounds, ends, plan_bounds, seen
from ...release.result import Release
from ..finding import Finding, all_right
from ..room import Room
from ..tools.again import with_cells, without_noise
from ..tools.noise import all_inside, whole_law
from ..tools.worlds import draw_world

SEED = 23
_ROWS = 400


def forecasts(room: Room) -> Iterator[Finding]:
    """Yield whether plans keep what they say, and whether bounds and keys are found as surely as stated."""
    random = Random(SEED)
    yield _aimed(room, random, 60 if room.deep else 4)
    yield from _expected(room)
    yield _by_formula(room)
    yield from _private_bounds(room, random)
    yield _found_keys(room, random)
    yield _median_bars(room)


# --- wanted errors ---


def _aimed(room: Room, random: Random, tries: int) -> Finding:
    """The ε of a wanted error is the smallest: its own margins are at most that error, and with less ε one is not."""
    wrong, number, seeds = [], 0, count(1000 * SEED)
    while number < tries:
        world = draw_world(next(seeds))
        asked = world.question
        columns = {name: field.declared for name, field in world.fields.items()}
        source = room.source("none.parquet", columns=columns, **world.described)
        options: dict[str, Any] = {**asked.arguments, "confidence": random.choice(("0.95", "0.5"))}
        options.pop("epsilon")
        try:
            first = source.plan(*asked.statistics, **options, epsilon=1) if asked.door == "release" else None
        except LapwingError:
            continue  # a question that is refused
        if first is None or any(each.level is not None for each in asked.statistics):
            continue
        margins = {str(each.statistic.name): each.margin for each in first.forecasts if each.margin}
        if not margins:
            continue
        aims = {name: Fraction(each * random.uniform(0.2, 5)).limit_denominator(1000) for name, each in margins.items()}
        some = {name: aims[name] for name in random.sample(list(aims), random.randrange(1, len(aims) + 1))}
        error: Any = some if random.random() < 0.7 else max(some.values())
        if error == 0 or (isinstance(error, dict) and 0 in error.values()):
            continue
        number += 1
        try:
            plan = source.plan(*asked.statistics, **options, error=error)
        except LapwingError:
            continue  # no ε is enough
        wanted = error if isinstance(error, dict) else dict.fromkeys(margins, error)
        less = _with(plan, plan.epsilon - Fraction(1, NANO))
        if not _meets(plan, wanted) or (less is not None and _meets(less, wanted)):
            wrong.append(f"ε = {plan.epsilon} at an error of {error}: {world}")
    return Finding(f"the ε of wanted errors (seed {SEED})", not wrong, all_right(wrong, tries))


def _with(plan: Plan, epsilon: Fraction) -> Plan | None:
    """Return the plan with another ε, in the same shares."""
    if epsilon <= 0:
        return None
    options: dict[str, Any] = {"confidence": plan.confidence, "rows": plan.rows, "split": plan.split}
    return make_plan(plan.schema, plan.query, epsilon=epsilon, **options)


def _meets(plan: Plan, wanted: dict[str, Fraction]) -> bool:
    margins = {str(each.statistic.name): each.margin for each in plan.forecasts}
    return all(margins[name] <= float(error) for name, error in wanted.items())


# --- expected bars ---

_STATISTICS: dict[str, tuple[Statistic, ...]] = {
    "count": (query.count(),),
    "count of values": (query.count("x"),),
    "sum": (query.sum("z"),),
    "sum of floats": (query.sum("x"),),
    "mean": (query.mean("x"),),
    "mean and count": (query.mean("z"), query.count()),
    "two columns": (query.mean("x"), query.sum("z"), query.count()),
    "proportion": (query.proportion("x > 3"),),
    "variance": (query.variance("x", sample=False), query.count("x")),
    "people": (query.people(),),
}


def _expected(room: Room) -> Iterator[Finding]:
    """Bars are as wide as the plan says where that does not depend on the rows, and elsewhere no wider.

    The rows of one group are at a bound, those of the other at both.
    """
    x = "CASE WHEN k = 'b' AND i % 2 = 0 THEN 7.0 ELSE 2.0 END"
    rows = f"SELECT i AS p, k, {x} AS x, CAST(10 * {x} AS BIGINT) AS z FROM range({_ROWS}) AS t(i)"
    groups = {None: "('b')", "k": "('a'), ('b')"}
    tables = {by: room.select(f"{rows}, (VALUES {some}) AS v(k)") for by, some in groups.items()}
    columns = {"x": number(2, 7), "z": number(20, 70, integer=True), "k": keys("a", "b")}
    people = {"person": "p", "rows_per_person": 2}
    settings: tuple[tuple[dict[str, Any], str | None], ...] = (
        ({}, "k"), (people, None), ({"neighbors": "change_one"}, None), ({"neighbors": "change_one", **people}, "k"),
    )  # fmt: skip
    for described, by in settings:
        wrong, tried = [], 0
        for what, statistics in _STATISTICS.items():
            if what == "people" and "person" not in described:
                continue
            source = room.source(tables[by], columns=columns, **described)
            plan = source.plan(*statistics, by=by, epsilon=1, rows=_ROWS)
            made = without_noise(plan, tables[by])
            tried += len(statistics)
            wrong += [f"{what}: {fault}" for each in plan.forecasts if (fault := _unexpected(made, each))]
        about = ", ".join(f"{name} {value}" for name, value in described.items()) or "rows"
        yield Finding(f"bars are as planned, {about}", not wrong, all_right(wrong, tried))


def _unexpected(made: Release, forecast: Forecast) -> str | None:
    """Return how bars differ from what the plan says, for one statistic and for all at once; None if they do not."""
    for together, margin in ((False, forecast.margin), (True, forecast.simultaneous_margin)):
        bar = made.at(simultaneous=together).estimates[str(forecast.statistic.name)]
        half = float(np.maximum(bar.high - bar.value, bar.value - bar.low).max())
        if forecast.statistic.is_linear:
            fine = abs(half - margin) <= 1e-6 * margin + (1 if bar.value.dtype.kind == "i" else 0)
        else:
            most = 1.2 if forecast.statistic.kind in ("variance", "std") else 1.05  # those are approximate (claim A11)
            fine = 0.1 * margin <= half <= most * margin + 1e-4
            below, above = float(bar.value[-1] - bar.low[-1]), float(bar.high[-1] - bar.value[-1])
            if forecast.statistic.kind in ("mean", "proportion"):  # the last group has its mean in the middle
                fine &= abs(above - below) <= 0.05 * margin + 1e-4
            if any(each.public_rows for each in made.plan.measured):
                fine &= below >= 0.95 * margin - 1e-4
        if not fine:
            return f"±{half:.6g}, where ±{margin:.6g} was expected"
    return None


# --- expected errors, by formula ---

_WIDTH = 30
_LEVELS: tuple[tuple[float, ...], ...] = ((0.5,), (0.1,), (0,), (1,), (0, 1), (0.2, 0.5, 0.7), (0, 0.3, 1))


def _by_formula(room: Room) -> Finding:
    """Errors that do not depend on the rows but on their number are those of the claims, written out again.

    Means and variances: noise of one person's rows, as a share of all rows, exceeds ln(1/β) with probability β.  A
    deviation is taken to be a quarter of the range.  Ranks: claim Q4.
    """
    columns = {"z": number(-10, _WIDTH - 10, integer=True), "k": keys("a", "b")}
    people = {"person": "p", "rows_per_person": 3}
    settings: tuple[tuple[dict[str, Any], int], ...] = (
        ({}, 1), (people, 3), ({"neighbors": "change_one", **people}, 6),
    )  # fmt: skip
    wrong, tried = [], 0
    for described, moved in settings:
        source = room.source("none.parquet", columns=columns, **described)
        for by, rows in ((None, 700), ("k", 4000)):
            unlikely = -math.log(0.05) * 2 * moved / rows
            due = {"mean": _WIDTH, "variance": _WIDTH**2, "std": 2 * _WIDTH}
            for statistic in (query.mean("z"), query.variance("z"), query.std("z")):
                (forecast,) = source.plan(statistic, by=by, epsilon="0.5", rows=rows).forecasts
                tried += 1
                if not math.isclose(forecast.margin, unlikely * due[statistic.kind], rel_tol=1e-3):
                    wrong.append(f"{statistic.text}, {described}: ±{forecast.margin:.6g}")
            for levels in _LEVELS:
                asked = [query.quantile("z", level) for level in levels]
                for interval in (True, False):
                    plan = source.plan(*asked, by=by, epsilon=1, intervals=interval)
                    for forecast, level in zip(plan.forecasts, levels, strict=True):
                        most = math.ceil(_rank(level, levels, moved, "neighbors" in described, by is None, interval))
                        tried += 1
                        if forecast.margin != most:
                            wrong.append(f"{forecast.statistic.text}, {described}: {forecast.margin} of {most} rows")
    return Finding("expected errors, by their formulas", not wrong, all_right(wrong, tried))


def _rank(level: float, levels: tuple[float, ...], moved: int, changed: bool, ungrouped: bool, interval: bool) -> float:
    """Return by how many rows the rank of a quantile is off at most, with 95 % (claim Q4), for ε = 1."""
    inner = sum(0 < each < 1 for each in levels)
    extremes = len(levels) - inner
    depth = inner.bit_length() + (min(extremes, 1) if inner else extremes)
    each = (1 - ((6 if inner else 3) / 16 if interval else 0)) / depth
    alone = len(levels) == 1
    reach = 2 * max(level, 1 - level) * moved if alone else depth * 2 * moved
    if alone and changed and ungrouped:
        reach = moved
    choices = math.log(_WIDTH + 1) + (0 if alone else math.log(PARTS)) + math.log(len(levels) / 0.05)
    inside = math.ceil(2 * moved / each * (3 + math.log(_WIDTH + 1))) if level in (0, 1) else 0
    return reach / each * choices + inside + depth - 1


# --- private bounds ---


def _private_bounds(room: Room, random: Random) -> Iterator[Finding]:
    """The noise of all bins together stays within the margin with 95 %, and hardly more; bins above it are occupied."""
    types = {"p": "BIGINT", "x": "DOUBLE", "z": "BIGINT"}
    rows: dict[str, list[Any]] = {
        "p": list(range(600)),
        "x": [0.003] * 300 + [-70.0] * 300,
        "z": [3] * 300 + [70] * 300,
    }
    table, people = room.table(rows, types), {"person": "p", "rows_per_person": 3}
    wrong, placed = [], []
    described: tuple[dict[str, Any], ...] = ({}, people, {"neighbors": "change_one", **people})
    for name, whole in (("x", False), ("z", True)):
        for how in described[whole : whole + 2]:
            epsilon = Fraction(random.choice(("1", "0.5", "3")))
            source = room.source(table, columns={"x": plain("number"), "z": plain("integer")}, **how)
            plan = plan_bounds(source.schema, name, epsilon=epsilon)
            found = Bounds(without_noise(plan, table))
            weight, bins = plan.schema.row_weight, len(ends(whole))
            moved = plan.schema.person_l1 * (2 if "neighbors" in how else 1)
            margin = int(found.margin * weight)
            sure = [float(all_inside(moved / epsilon, m, bins)) for m in (margin, margin - 1)]
            cells = [
                Bounds(with_cells(found.release, [[column([each] * bins)]])).occupied for each in (margin, margin + 1)
            ]
            fine = sure[0] >= 0.95 > sure[1] and [len(each) for each in cells] == [0, bins]
            fine &= seen(plan) >= 2 * found.margin and plan.groups == bins
            wrong += [] if fine else [f"{name}, {how}: ±{found.margin} rows holds with {sure[0]:.4f}"]
            due = (Fraction(0), Fraction(100)) if whole else (Fraction(-100), Fraction(5, 1000))
            inside = [each.value for each in found.occupied] == [300, 300] and found.outside[0] == 0
            right = inside and (found.low, found.high) == due
            placed += [] if right else [f"{name}: {found.low} to {found.high}"]
    yield Finding("empty bins of private bounds", not wrong, all_right(wrong, 4))
    yield Finding("private bounds without noise", not placed, all_right(placed, 4))


def _found_keys(room: Room, random: Random) -> Finding:
    """The bars of found keys are as wide as their noise, and a key is shown from its threshold on."""
    table = room.select("SELECT k, i AS p FROM range(6) AS t(k), range(400) AS v(i)")
    wrong = []
    described: tuple[dict[str, Any], ...] = ({}, {"person": "p", "rows_per_person": 2}, {"neighbors": "change_one"})
    for how in described:
        epsilon = Fraction(random.choice(("1", "0.5", "2")))
        confidence = Fraction(random.choice(("0.95", "0.5", "0.999")))
        source = room.source(table, columns={"k": plain("integer")}, delta="0.01", **how)
        found = source.discover("k", epsilon=epsilon, delta="0.001", confidence=confidence)
        scale = (2 if how else 1) / epsilon
        (margin,) = {each["count"]["high"] - each["count"]["value"] for each in found.rows}
        sure = [float(all_inside(scale, m, 1)) for m in (margin, margin - 1)]
        fine = sure[0] >= confidence > sure[1] and found.plan.scale == scale
        wrong += [] if fine and len(found.rows) == 6 else [f"{how}: ±{margin} holds with {sure[0]:.4f}"]
    hidden = 1e-30  # noise of 370 rows at a scale of at most 4: far below
    return Finding("the bars of found keys", not wrong, all_right(wrong, len(described)), hidden)


def _median_bars(room: Room) -> Finding:
    """An end of a median's bar counts where noise explains the rows beyond it in a quarter of the misses at most.

    Of five counts around the chosen values, rows are moved from one to the next, until the end is taken as shown.
    """
    table = room.table({"z": [5]}, {"z": "BIGINT"})
    source = room.source(table, columns={"z": number(0, 100, integer=True)})
    made = without_noise(source.plan(query.median("z"), epsilon=1), table)
    scale, wrong, half = Fraction(16, 3), [], 2000  # one row moves the counts by 1, and they have 3/16 of ε
    law = whole_law(scale, [1] * 5)
    for confidence in (Fraction(19, 20), Fraction(1, 2), Fraction(99, 100)):
        for upper in (True, False):
            moved = 0
            while moved < half:  # the median lies below 60, or above 40, by so many rows more than half
                counts = [0, half + moved, 0, 0, half - moved] if upper else [half - moved, 0, 0, half + moved, 0]
                cells = [[column([each]) for each in (50, 40, 60, *counts)]]
                bar = with_cells(made, cells).at(confidence).estimates["median_z"]
                if (bar.high[0] < 100) if upper else (bar.low[0] > 0):
                    break
                moved += 1
            beyond = float(law[len(law) // 2 + 2 * moved :].sum())  # the sum of five noises, halved, is this or more
            allowed = float(1 - confidence) / 4
            wrong += (
                [] if allowed / 3 <= beyond <= allowed * 1.001 else [f"{moved} rows: {beyond:.5f} of {allowed:.5f}"]
            )
    return Finding("the ends of a median's bar, by the law of their noise", not wrong, all_right(wrong, 6))
