"""Without noise a release is the truth, and its bars are as wide as the noise that was left out: exactly.

Worlds are drawn (tools/worlds.py), and every statistic is computed a second time, from the rows (tools/truth.py).  The
noise is 0 then, so nothing is left to chance.  What noise would do to a count or a sum is found by adding to one noisy
integer after the other; its exact law then says how often the bar holds, and a bar may not be much wider either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any, get_args

from ...errors import LapwingError
from ...measure.cells import column
from ...plan.plan import Plan
from ...question import query
from ...question.query import Statistic
from ...question.schema import number
from ...release.result import Release
from ..finding import Finding, all_right
from ..room import Room
from ..tools.again import with_cells, without_noise
from ..tools.columns import DrawnColumn
from ..tools.noise import all_inside, real_tail
from ..tools.pooled import pooled
from ..tools.running import Running, connected
from ..tools.truth import missed
from ..tools.worlds import DrawnQuestion, World, draw_world

SEED = 19
_WORLDS = 192
"""Twice as many as it takes to have every statistic with both relations, for people and rows, by groups and alone."""

_CONFIDENCES = (Fraction(19, 20), Fraction(1, 2), Fraction(999, 1000))


def noiseless(room: Room) -> Iterator[Finding]:
    """Yield what releases without noise differ from the truth by, and how often their bars hold."""
    random, values, bars = Random(SEED), dict[str, list[str | None]](), list[str | None]()
    with pooled() as root:
        running = Running(room, root)
        for seed in range((8 if room.deep else 1) * _WORLDS):
            world = draw_world(1000 * SEED + seed)
            made = _answer(running, world)
            if made is None:
                continue
            rows, asked = (*world.others, *world.before), world.question.statistics
            values.setdefault(asked[0].kind, []).append(_told(missed(world, rows, made, ranks=True), world))
            alone = made.plan.several is None  # the bars of several tables are looked at in ``totals``
            for statistic in made.plan.query.statistics if alone else ():
                if statistic.is_linear and made.plan.answering(statistic):
                    fault = _bar_fault(made, statistic, random.choice(_CONFIDENCES), random.random() < 0.3)
                    bars.append(_told(fault, world))
        yield _ranks(running)
    for name, found in sorted(values.items()):
        wrong = [each for each in found if each is not None]
        yield Finding(f"{name} without noise (seed {SEED})", not wrong, all_right(wrong, len(found)))
    missing = sorted({each for each in get_args(query.StatisticKind) if each not in values})
    yield Finding("every statistic is tried without noise", not missing, f"{len(missing)} is not: {', '.join(missing)}")
    wrong = [each for each in bars if each is not None]
    yield Finding("the bars of counts and sums, by the law of their noise", not wrong, all_right(wrong, len(bars)))


def _answer(running: Running, world: World) -> Release | None:
    """Return the release of a world's question, with no noise; None if it is another kind of question, or refused."""
    if world.question.door != "release":
        return None
    table = running.table(world, (*world.others, *world.before))
    try:
        plan = running.plan(world, table)
    except LapwingError:
        return None
    assert isinstance(plan, Plan)
    return without_noise(plan, connected(table)) if plan.parts else None


def _told(fault: str | None, world: World) -> str | None:
    return None if fault is None else f"{fault}; {world}"


def _ranks(running: Running) -> Finding:
    """Several quantiles of tables with ties and missing cells have their ranks, with bars around them of few rows."""
    rows = tuple((str(i // 3), None if i % 7 == 0 else i * i % 53, 1) for i in range(600))
    fields = {"z": DrawnColumn(number(-10, 80, integer=True), (), "BIGINT")}
    asked = tuple(query.quantile("z", ["0", "0.05", "0.2", "0.5", "0.75", "0.9", "1"]))
    question = DrawnQuestion("release", asked, None, (None,) * len(asked), (), "400")
    settings: tuple[dict[str, Any], ...] = ({}, {"person": "p", "rows_per_person": 2, "neighbors": "change_one"})
    wrong = []
    for described in settings:
        world = World(0, fields, described, "Parquet", question, rows, (), ())
        table = running.table(world, rows)
        plan = running.plan(world, table)
        assert isinstance(plan, Plan)
        made = without_noise(plan, connected(table))
        fault = missed(world, rows, made, ranks=True)
        for statistic in plan.query.statistics:
            _, low, high = (float(end[0]) for end in made.estimates[str(statistic.name)])
            if high - low > 12 and statistic.level not in (0, 1):  # the bars of extremes end at a bound
                fault = f"{statistic.text} is in {low} to {high}"
        wrong += [] if fault is None else [fault]
    return Finding("ranks of quantiles without noise", not wrong, all_right(wrong, len(settings)))


# --- bars ---


def _bar_fault(made: Release, statistic: Statistic, confidence: Fraction, together: bool) -> str | None:
    """Return what is wrong with the bar of a count or a sum of the first group, by the exact law of its noise.

    ``together`` asks for bars that hold for all statistics, each of which may miss in its part of the cases, and for
    all groups.
    """
    name, plan = str(statistic.name), made.plan
    bar = made.at(confidence, simultaneous=together).estimates[name]
    if together:
        each = 1 - (1 - confidence) / len(plan.query.statistics)
        confidence = Fraction(math.exp(math.log(each) / plan.groups))
    made = replace(made, plan=replace(plan, query=replace(plan.query, statistics=(statistic,))))
    before = made.estimates[name]
    scales: list[Fraction] = []
    weights: list[Fraction] = []
    single = None
    for i in plan.answering(statistic):
        part = plan.parts[i]
        for place in range(len(made.cells[i])):
            step = 10**6 * max(int(plan.scale(part)), 1)
            after = _bumped(made, i, place, step).estimates[name]
            weight = abs(Fraction(float(after.value[0])) - Fraction(float(before.value[0]))) / step
            if weight * plan.scale(part) > Fraction(1, 10**3) * max(scales, default=Fraction(0)):
                weights.append(weight)
                scales.append(weight * plan.scale(part))
                single = plan.scale(part)
    half = (Fraction(float(bar.high[0])) - Fraction(float(bar.low[0]))) / 2
    whole, people = before.value.dtype.kind == "i", plan.schema.person is not None
    return _width_fault(half, scales, weights, single, whole, people, confidence)


def _bumped(made: Release, part: int, place: int, step: int) -> Release:
    """Return the release if one of its noisy integers, of the first group, were larger."""
    cells = [[each.astype(object) for each in some] for some in made.cells]
    cells[part][place][0] += step
    return with_cells(made, [[column(each) for each in some] for some in cells])


def _width_fault(
    half: Fraction,
    scales: Sequence[Fraction],
    weights: Sequence[Fraction],
    single: Fraction | None,
    shown_whole: bool,
    people: bool,
    confidence: Fraction,
) -> str | None:
    """Return what is wrong with a half-width; None if nothing is."""
    exactly = not shown_whole or (len(weights) == 1 and weights[0].denominator == 1)
    rounding = Fraction(0) if exactly else Fraction(-1, 2) if people else Fraction(1)
    less = Fraction(98, 100) * half - (0 if exactly else 2)
    if len(scales) == 1 and single is not None:
        inside = [math.floor(each / weights[0] * (1 + Fraction(1, 10**9))) for each in (half + rounding, less)]
        held, narrower = (float(all_inside(single, each, 1)) for each in (inside[0], inside[1] - 1))
    else:
        slack = sum(weights, Fraction(0))
        reach = [max(float(each), 0.0) for each in (half + rounding + slack / 10**6, less - 2 * slack)]
        held, narrower = (1 - real_tail(scales, each) for each in reach)
    fine = held >= float(confidence) * (1 - 1e-6) and narrower < float(confidence)
    return None if fine else f"±{float(half):.6g} holds with {held:.6f} of {float(confidence)}"
