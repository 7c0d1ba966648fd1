"""Claim U7: the bars of several tables, against the law of the noise by convolution and dense least squares."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.measure import adding_up
from lapwing.noise.mechanism import NINETY_FIVE
from lapwing.plan import planning
from lapwing.plan.planning import make_plan
from lapwing.plan.strategy import Strategy
from lapwing.plan.weighing import weighing
from lapwing.question.schema import make_schema
from lapwing.question.sql import make_query

from .test_tables import design, least_squares

STEP = 2.0**-10
"""Weights are rounded to this for the convolution: with |noise| up to 60 in a few draws it moves a sum by under 0.1."""


def made(statistics, shape=(2, 3), epsilon="1", strategy=None, by=None, **options):
    keys = {name: lw.keys(*range(size)) for name, size in zip("abc", shape, strict=False)}
    columns = {**keys, "x": lw.number(0, 4, integer=True), "y": lw.number(0, "2.5")}
    schema = make_schema("t", columns, None, None, options.pop("neighbors", "add_remove"), None)
    query = make_query(statistics, by or lw.cube(*list(keys)), None, schema)
    return make_plan(schema, query, epsilon=epsilon, strategy=strategy)


HALVES = Strategy(((), (0, 1)), (F(1, 4), F(3, 4)))


def law(weights, scales):
    """Return the distribution of Σ w·X on multiples of STEP: its lowest multiple, and probabilities."""
    low, masses = 0, np.ones(1)
    for weight, scale in zip(weights, scales, strict=True):
        step, most = round(weight / STEP), math.ceil(36 * scale)
        ratio = math.exp(-1 / scale)
        size = abs(step) * most
        wider = np.zeros(len(masses) + 2 * size)
        for k in range(-most, most + 1):
            at = size + k * step
            wider[at : at + len(masses)] += (1 - ratio) / (1 + ratio) * ratio ** abs(k) * masses
        low, masses = low - size, wider
    return low, masses


def holds(weights, scales, margin):
    """Return P(|Σ w·X| ≤ margin)."""
    low, masses = law(weights, scales)
    places = np.abs(np.arange(low, low + len(masses)) * STEP)
    return masses[places <= margin].sum() / masses.sum()


@pytest.mark.parametrize("table", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("confidence", [F(3, 4), F(19, 20), F(999, 1000)])
def test_U7_the_noise_of_a_cell_stays_within_its_margin_as_often_as_stated(table, confidence):
    plan = made([lw.count()], strategy=HALVES, epsilon="1.5")
    several, (count,) = plan.several, plan.query.statistics
    scales = {(): 1 / (1.5 / 4), (0, 1): 1 / (1.5 * 3 / 4)}
    ratios = {each: math.exp(-1 / scale) for each, scale in scales.items()}
    variances = {each: 2 * ratio / (1 - ratio) ** 2 for each, ratio in ratios.items()}
    matrix = design((2, 3), table) @ least_squares((2, 3), variances)
    each = [scales[()]] + [scales[0, 1]] * 6
    margin = several.noise_margin(count, table, 0, confidence)
    for weights in matrix:
        kept = np.abs(weights) > 1e-9
        found = [np.array(some)[kept] for some in (weights, each)]
        assert holds(*found, margin + 0.1) >= confidence
        assert holds(*found, 0.93 * margin - 0.2) <= confidence
        deviation = math.sqrt(float((weights**2 * [variances[()], *[variances[0, 1]] * 6]).sum()))
        assert several.deviation(count, table) == pytest.approx(deviation, rel=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from(["0.1", "1", "20"]), st.booleans())
def test_U7_the_published_number_is_within_the_bar_wherever_the_noise_is_within_its_margin(seed, epsilon, whole):
    statistic = lw.sum("x") if whole else lw.sum("y")
    plan = made([lw.count(), statistic], epsilon=epsilon, strategy=HALVES)
    several = plan.several
    rng = np.random.default_rng(seed)
    (_, total), part = plan.query.statistics, 0
    shape = several.shape
    cells = []
    for _ in plan.parts[part].measurement.names:
        exact = rng.integers(0, 10**6, shape)
        noise = rng.integers(-40, 40, 7)
        cells.append((exact, np.concatenate([[exact.sum()], exact.ravel()]) + noise))
    made_of = weighing(plan, total)
    assert {each.part for each in made_of.cells} == {part}
    noisy = sum(float(each.top) * several.reconstructed(part, cells[each.cell][1]) for each in made_of.cells)
    exact = sum(each.top * F(1) * cells[each.cell][0].astype(object) for each in made_of.cells)
    truths = [exact.sum(), *exact.sum(axis=1), *exact.sum(axis=0), *exact.ravel()]
    published = adding_up.add_up(several.split(noisy), several.grid(total))
    values = several.stacked(published.tables)
    for number, (value, true, before) in enumerate(zip(values, truths, noisy, strict=True)):
        table = several.asked[int(several.of(np.array([number]))[0])]
        off = abs(F(value) - true)
        if abs(F(before) - true) <= several.noise_margin(total, table, 0, NINETY_FIVE):
            assert float(off) <= several.bar(total, table, 0, published.grid, NINETY_FIVE) * (1 + 1e-9) + 1e-9


def test_U7_whole_numbers_have_bars_that_end_on_the_grid():
    plan = made([lw.count(), lw.sum("y")], strategy=HALVES)
    several, (count, total) = plan.several, plan.query.statistics
    for grid in (0.25, 1.0, 8.0):
        for table in several.asked:
            margin = several.noise_margin(count, table, 0, NINETY_FIVE) + 2.0 ** (len(table) - 1) * grid
            bar = several.bar(count, table, 0, grid, NINETY_FIVE)
            assert margin - max(grid, 1) < bar <= margin
            assert bar % min(grid, 1) == 0
            assert several.bar(total, table, 0, grid, NINETY_FIVE) > several.noise_margin(total, table, 0, NINETY_FIVE)


def test_U7_quotients_are_made_of_the_draws_of_both_sums():
    plan = made([lw.mean("x"), lw.proportion("x >= 2")], strategy=HALVES)
    several = plan.several
    for statistic in plan.query.statistics:
        weights = weighing(plan, statistic)
        for table in several.asked:
            slots = several.slots(weights, table)
            for ratio in (F(0), F(1, 3), F(7, 2)):
                found = sum(float(s.top - ratio * s.bottom) ** 2 * s.times * _variance(s.scale) for s in slots)
                expected = 0.0
                for cell in weights.cells:
                    scales = [
                        float(plan.parts[cell.part].measurement.scale(s))
                        for s in several.settings(plan.parts[cell.part])
                    ]
                    variances = dict(zip(several.strategy.measured, map(_variance, scales), strict=True))
                    row = (design((2, 3), table) @ least_squares((2, 3), variances))[0]
                    each = np.array([variances[()]] + [variances[0, 1]] * 6)
                    expected += float(cell.top - ratio * cell.bottom) ** 2 * float((row**2 * each).sum())
                assert found == pytest.approx(expected, rel=1e-6)


def _variance(scale):
    ratio = math.exp(-1 / float(scale))
    return 2 * ratio / (1 - ratio) ** 2


def test_U7_bars_for_all_cells_share_what_may_fail():
    plan = made([lw.count(), lw.mean("x")], strategy=HALVES)
    sure, groups = plan.each_confidence(NINETY_FIVE, True)
    assert groups == 1
    assert (1 - sure) * 2 * (1 + 2 + 3 + 6) == F(1, 20)
    view = plan.showing(plan.query)
    assert view.whole is plan


# --- how much may be asked ---

LARGE = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)


def large(*statistics, shape=LARGE, upto=3, epsilon=1, strategy=None):
    columns = {f"c{i}": lw.keys(*range(size)) for i, size in enumerate(shape)}
    x = lw.number(0, 2**20, integer=True)
    schema = make_schema("t", {**columns, "x": x}, None, None, "add_remove", None)
    query = make_query(statistics, lw.marginals(*columns, upto=upto), None, schema)
    return make_plan(schema, query, epsilon=epsilon, strategy=strategy)


def test_a_plan_has_470_tables_of_21_million_cells():
    plan = large(lw.count())
    assert plan.groups == 21_043_262
    assert sum(map(plan.length, plan.parts)) > 20_000_000
    assert len(plan.several.asked) == 470


def test_a_plan_measures_no_more_cells_than_a_ledger_holds(monkeypatch):
    sizes = {"shape": (4200, 4200), "upto": 2, "strategy": Strategy(((0, 1),), (F(1),))}
    with pytest.raises(errors.TooLarge, match="cells that are measured is 52,920,000, and at most 50,000,000"):
        large(lw.variance("x"), **sizes)
    monkeypatch.setattr(planning, "_USUAL_SCALE", F(1, 2))
    with pytest.raises(errors.TooLarge, match="cells that are measured is 35,280,000, and at most 20,000,000"):
        large(lw.mean("x"), **sizes)
