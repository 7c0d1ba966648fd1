"""Claims A9 to A11 and R1: error bars of what is computed from several noisy cells."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing.measure.measurement import Sums
from lapwing.noise.intervals import ratio_interval, sum_margin, tail_quantile
from lapwing.question.schema import make_schema
from lapwing.release.estimate import estimates

from .. import statistics as stats
from ..tables import plan_of

R = 60_000
"""Repetitions, as groups: each gets noise of its own."""

P = F(19, 20)


def tail_by_inversion(scales, x):
    """P(|sum| > x) from the characteristic function, by the midpoint rule, whose aliases are beyond e^-40."""
    step = 2 * math.pi / (x + 50 * sum(scales))
    u = (np.arange(400_000) + 0.5) * step
    law = np.prod([1 / (1 + (b * u) ** 2) for b in scales], axis=0)
    return 1 - 2 / math.pi * float(np.sum(np.sin(u * x) / u * law)) * step


@pytest.mark.parametrize("scales", [(1, 2), (1, 2, 3), (1, 1), (2, 2, 2), (5, 1, 1), (1, 1.0000001)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_A9_the_margin_of_a_sum_by_inverting_its_characteristic_function(scales, confidence):
    margin = sum_margin([F(s) for s in scales], F(str(confidence)))
    assert tail_by_inversion(scales, margin) == pytest.approx(1 - confidence, rel=1e-3)
    vector = tail_quantile(np.array(scales, dtype=float)[:, None], 1 - confidence)[0]
    assert margin * (1 - 1e-6) <= vector <= margin * 1.004


def test_A9_equal_scales_in_closed_form():
    for p in (0.9, 0.95, 0.999):
        two, three = (sum_margin([F(1)] * m, F(str(p))) for m in (2, 3))
        assert (1 + two / 2) * math.exp(-two) == pytest.approx(1 - p, rel=1e-4)
        assert (1 + 5 * three / 8 + three**2 / 8) * math.exp(-three) == pytest.approx(1 - p, rel=1e-4)
        assert (1 + two / 2) * math.exp(-two) <= 1 - p
    assert sum_margin([F(3)], F(1, 2)) == pytest.approx(3 * math.log(2))
    assert sum_margin([F(0), F(0)], F(1, 2)) == 0


@given(st.lists(st.fractions(F(1, 10), 10), min_size=1, max_size=4), st.integers(0, 3))
def test_A9_a_larger_scale_gives_a_larger_margin(scales, which):
    larger = list(scales)
    larger[which % len(scales)] *= 2
    assert sum_margin(larger, P) > sum_margin(scales, P)


@given(st.floats(0.001, 0.999), st.floats(0.1, 50))
def test_A9_an_integer_draw_is_within_one_of_a_real_one(u, scale):
    offset = math.log(2 / (1 + math.exp(-1 / scale)))
    assert abs(math.floor(scale * (offset - math.log(u))) + scale * math.log(u)) < 1


@pytest.mark.parametrize("t", [0.0, 0.01, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("positions", [(1.0, 0.0), (0.0, 0.5, 1.0)])
def test_A10_the_bar_holds_exactly_where_the_noise_is_within_its_margin(t, positions):
    """The same event, decided without bisection; cells of a mass that makes the bars narrow."""
    rng = np.random.default_rng()
    noise = rng.laplace(size=(len(positions), 4000))
    at = np.array(positions)[:, None]
    mass = np.array([t, 1 - t] if len(positions) == 2 else [(1 - t) ** 2, 2 * t * (1 - t), t * t])[:, None]
    _, low, high = ratio_interval(5000 * mass + noise, positions, 1.0, 0.05)
    inside = (low <= t + 1e-9) & (t - 1e-9 <= high)
    margin = tail_quantile(np.abs(at - t), 0.05)[0]
    error = np.abs(((at - t) * noise).sum(axis=0))
    assert inside[error <= margin].all()
    if 0 < t < 1:  # at the ends the bar is cut off, and holds them more often
        assert not inside[error > margin * 1.01 + 0.02].any()


def test_A10_a_group_too_small_to_say_anything_gets_the_whole_range():
    _, low, high = ratio_interval(np.array([[1.0, -5.0, 0.0], [1.0, 2.0, 0.0]]), (1.0, 0.0), 1.0, 0.05)
    assert low.tolist() == [0, 0, 0]
    assert high.tolist() == [1, 1, 1]


def repeated(statistics, values, *, k=None, neighbors="add_remove", epsilon=1, missing=0, columns=None):
    """Return a plan over R equal groups, and R noisy measurements of the same values."""
    schema = make_schema(
        "t", {**(columns or {"x": lw.number(0, 10), "y": lw.number(0, 1)}), "run": lw.keys(range(R))},
        None if k is None else "person", k, neighbors, None,
    )  # fmt: skip
    plan = plan_of(schema, statistics, "run", epsilon=epsilon)
    noisy = []
    for part in plan.parts:
        grid, weight = part.measurement.grid, schema.row_weight
        index = [math.floor((v - float(grid.low * grid.step)) / float(grid.step) + 0.5) for v in values]
        if part.measurement.condition is not None:
            index = [int(v > 5) for v in values]
        n = len(values)
        cells = part.measurement.cells(
            Sums(*(weight * s for s in (n + missing, n, sum(index), sum(i * i for i in index))))
        )
        scale = plan.scale(part)
        noisy.append([(lw.discrete_laplace(scale, R) + 0).astype(object) + cell for cell in cells])
    return plan, noisy


def bars(plan, noisy, confidence=P, simultaneous=False):
    return estimates(plan, noisy, None, confidence, simultaneous)


def holds(estimate, truth):
    return (estimate.low <= truth) & (truth <= estimate.high)


VALUES = [float(v) for v in np.linspace(0.5, 9.5, 37) ** 2 / 9.5]


def test_R1_T31_counts():
    plan, noisy = repeated([lw.count()], VALUES)
    (count,) = bars(plan, noisy)
    assert set((count.high - count.value).tolist()) == {3}
    stats.assert_covered("bars of counts", holds(count, len(VALUES)), 0.95)
    plan, noisy = repeated([lw.count(), lw.mean("x"), lw.mean("y")], [v / 10 for v in VALUES], k=3, missing=5)
    count, *_ = bars(plan, noisy)
    stats.assert_covered("bars of combined counts", holds(count, len(VALUES) + 5), 0.95)


def test_R1_T31_sums_means_and_proportions():
    truth = np.mean(VALUES)
    plan, noisy = repeated([lw.sum("x"), lw.count("x")], VALUES)
    total, _ = bars(plan, noisy)
    stats.assert_covered("bars of sums", holds(total, sum(VALUES)), 0.95)
    plan, noisy = repeated([lw.mean("x")], VALUES, k=2)
    (mean,) = bars(plan, noisy)
    stats.assert_covered("bars of means", holds(mean, truth), 0.95)
    plan, noisy = repeated([lw.mean("x"), lw.variance("x")], VALUES * 10, epsilon=3)
    mean, _ = bars(plan, noisy)
    stats.assert_covered("bars of means beside a variance", holds(mean, truth), 0.95)
    plan, noisy = repeated([lw.proportion("x > 5")], VALUES)
    (share,) = bars(plan, noisy)
    stats.assert_covered("bars of proportions", holds(share, np.mean([v > 5 for v in VALUES])), 0.95)


@pytest.mark.usefixtures("frozen_noise")
def test_the_coverage_test_rejects_bars_that_are_a_tenth_too_narrow():
    plan, noisy = repeated([lw.mean("x")], VALUES * 10)
    (mean,) = bars(plan, noisy)
    narrow = mean._replace(
        low=mean.value - 0.9 * (mean.value - mean.low), high=mean.value + 0.9 * (mean.high - mean.value)
    )
    assert not stats.covers(holds(narrow, np.mean(VALUES)), 0.95)


@pytest.mark.usefixtures("frozen_noise")
def test_A11_T31_variances():
    values = VALUES * 30
    plan, noisy = repeated([lw.variance("x", sample=False)], values)
    (spread,) = bars(plan, noisy)
    assert 0.95 <= np.mean(holds(spread, np.var(values))) < 0.99


@pytest.mark.usefixtures("frozen_noise")
def test_A11_sample_variance_at_the_edge_of_what_is_possible():
    """Half of the values at each bound: the bar is cut there, and must hold all the same."""
    for n in (4, 20, 300):
        plan, noisy = repeated([lw.variance("x")], [0.0, 10.0] * (n // 2))
        (spread,) = bars(plan, noisy)
        assert np.mean(holds(spread, np.var([0.0, 10.0] * (n // 2), ddof=1))) > 0.94


def test_R1_T33_all_groups_at_once():
    plan, noisy = repeated([lw.count(), lw.mean("x")], VALUES * 5)
    found = estimates(plan, noisy, None, P, True)  # for R groups; take them a thousand at a time, with their own root
    assert (found[0].high - found[0].low).min() > 30
    small = make_schema("t", {"run": lw.keys(range(1000))}, None, None, "add_remove", None)
    plan = plan_of(small, [lw.count()], "run")
    draws = lw.discrete_laplace(plan.scale(plan.parts[0]), (2000, 1000))
    (bar,) = estimates(plan, [[draws[0].tolist()]], None, P, True)
    margin = int(bar.high[0] - bar.value[0])
    stats.assert_covered("bars of 1,000 groups at once", np.abs(draws).max(axis=1) <= margin, 0.95)


def test_T30_the_unbiased_view_is_the_default_and_the_other_is_labelled(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"key": ["a"]})
    source = lw.Source(frame, name="t", columns={"key": lw.keys(range(2000))}, epsilon=9, ledger=tmp_path / "l")
    answer = source.release(lw.count(), by="key", epsilon="0.1")
    values = answer.estimates["count"].value
    assert (values < 0).any()
    view = answer.nonnegative()
    assert view.estimates["count"].value.tolist() == np.maximum(values, 0).tolist()
    assert (answer.to_dict()["view"], view.to_dict()["view"]) == ("unbiased", "nonnegative")
    assert "shown as 0" in str(view)
    assert "shown as 0" not in str(answer)
