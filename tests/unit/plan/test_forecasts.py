"""What a plan expects, by formulas written out a second time: margins, sensitivities, scales, and what they assume."""

import math
from fractions import Fraction as F

import pandas as pd
import pytest

import lapwing as lw
from lapwing.measure.selection import PARTS

RANGE = 30
"""The width of the column x."""

SETTINGS = {
    "rows": ({}, 1),
    "people": ({"person": "p", "rows_per_person": 3}, 3),
    "people who may change": ({"person": "p", "rows_per_person": 3, "neighbors": "change_one"}, 6),
}
"""How a source is described, and how many rows one person moves."""


def source_of(described, **more):
    columns = {
        "x": lw.number(-10, 20, integer=True),
        "k": lw.keys("a", "b"),
        "w": lw.number(0, 4, integer=True),
        **more,
    }
    table = pd.DataFrame({"p": ["a"], "x": [1], "k": ["a"], "w": [1]})
    return lw.Source(table, name="t", columns=columns, **described)


@pytest.fixture(params=SETTINGS)
def setting(request):
    described, moved = SETTINGS[request.param]
    return source_of(described), moved


def only(plan):
    (forecast,) = plan.forecasts
    return forecast


# --- counts, sums and means ---


def test_one_statistic_alone(setting):
    source, moved = setting
    unlikely = math.log(20)  # noise of the scale 1 exceeds this with 5 %
    for rows in (500, 4000):
        told = {"epsilon": F(1, 2), "by": "k", "rows": rows}
        count, total, mean, variance, deviation = (
            only(source.plan(each, **told))
            for each in (lw.count(), lw.sum("x"), lw.mean("x"), lw.variance("x"), lw.std("x"))
        )
        assert (count.sensitivity, count.scale, count.assumes) == (moved, 2 * moved, "")
        assert count.margin == pytest.approx(2 * moved * unlikely, abs=1.5)
        assert (total.sensitivity, total.scale, total.assumes) == (20 * moved, 40 * moved, "")
        assert total.margin == pytest.approx(40 * moved * unlikely, rel=0.02)
        each = 2 * moved / rows  # the scale, as a share of all rows
        assert mean.margin == pytest.approx(each * unlikely * RANGE, rel=1e-3)
        assert mean.assumes == f"{rows:,} rows in a group (less if values lie between the bounds)"
        assert variance.margin == pytest.approx(each * unlikely * RANGE**2, rel=1e-3)
        assert variance.assumes == mean.assumes
        assert deviation.margin == pytest.approx(variance.margin / (2 * RANGE / 4))  # of a quarter of the range
        assert deviation.assumes == f"{rows:,} rows in a group, a deviation of a quarter of the range"


def test_statistics_of_a_whole_table():
    source = source_of({"neighbors": "change_one", "public_rows": True})
    for rows in (50, 4000):
        count, total, mean, variance, deviation = (
            only(source.plan(each, epsilon=F(1, 2), rows=rows))
            for each in (
                lw.count(),
                lw.sum("x"),
                lw.mean("x"),
                lw.variance("x", sample=False),
                lw.std("x", sample=False),
            )
        )
        assert (count.sensitivity, count.scale, count.margin) == (0, 0, 0)
        assert count.assumes == "the number of rows is public"
        assert (total.sensitivity, total.scale) == (RANGE, 2 * RANGE)
        assert (mean.sensitivity, mean.scale) == (F(RANGE, rows), F(2 * RANGE, rows))
        assert mean.margin == pytest.approx(2 * RANGE * math.log(20) / rows, rel=0.02)
        assert variance.sensitivity == F(RANGE**2 * (rows - 1), rows**2)
        assert variance.scale == 2 * variance.sensitivity
        assert variance.margin == pytest.approx(float(variance.scale) * math.log(20), rel=0.02)
        assert deviation.margin == pytest.approx(variance.margin / (2 * RANGE / 4))
        assert mean.assumes == variance.assumes == f"{rows:,} rows"


def test_all_groups_at_once(setting):
    source, moved = setting
    for statistic, width in ((lw.mean("x"), RANGE), (lw.variance("x"), RANGE**2)):
        forecast = only(source.plan(statistic, by="k", epsilon=1, rows=1000))
        beyond = 1 - math.sqrt(0.95)  # two groups
        assert forecast.simultaneous_margin == pytest.approx(-math.log(beyond) * width * moved / 1000, rel=1e-3)


def test_a_ratio(setting):
    source, _ = setting
    text = "SELECT SUM(x), SUM(w), SUM(x) / SUM(w) FROM t"
    total, weights, ratio = source.plan(text, epsilon=1, rows=10**5).forecasts
    top, bottom = 5 * 10**5, 2 * 10**5  # values in the middle of their bounds
    scales = float(total.scale), float(weights.scale) * top / bottom
    spread = _margin_of_two(*scales)
    assert ratio.margin == pytest.approx(spread / (bottom - float(weights.scale) * math.log(20)), rel=0.01)
    assert ratio.assumes == "100,000 rows, values in the middle of their bounds"
    assert source.plan(text, epsilon=1, rows=5).forecasts[2].margin == math.inf
    asked = lw.sum("x"), lw.sum("w"), lw.ratio(lw.sum("x"), lw.sum("w"), factor=3)
    assert source.plan(*asked, epsilon=1, rows=10**5).forecasts[2].margin == pytest.approx(3 * ratio.margin, rel=1e-3)


def _margin_of_two(a, b):
    """Return what the sum of two Laplace variables of different scales exceeds, on either side, with 5 %."""
    low, high = 0.0, 100 * (a + b)
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        beyond = (a * a * math.exp(-middle / a) - b * b * math.exp(-middle / b)) / (a * a - b * b)
        low, high = (middle, high) if beyond > 0.05 else (low, middle)
    return high


# --- quantiles (claim Q4) ---


def due(level, levels, moved, *, twice, interval, grouped, groups=1, confidence=0.95):
    """Return by how many rows the rank of a quantile is off at most, and how far one aims inside for an extreme."""
    inner = [each for each in levels if 0 < each < 1]
    depth = len(inner).bit_length() + (min(len(levels) - len(inner), 1) if inner else len(levels) - len(inner))
    each = (1 - ((6 if inner else 3) / 16 if interval else 0)) / depth

    def widest(of, alone):
        if not twice:
            return 2 * max(of, 1 - of) * moved
        return 2 * moved if alone else 4 * max(of, 1 - of) * moved

    candidates = math.log(RANGE + 1) + (math.log(PARTS) if len(levels) > 1 else 0)
    beyond = math.log(groups * len(levels) / (1 - confidence))
    reach = widest(level, not grouped) if len(levels) == 1 else depth * widest(0, False)
    inside = math.ceil(widest(0, False) / each * (3 + math.log(RANGE + 1))) if level in (0, 1) else 0
    return reach / each * (candidates + beyond) + inside + depth - 1, inside


LEVELS = [(0.5,), (0.25,), (0,), (1,), (0, 1), (0.25, 0.5, 0.75), (0, 0.5, 1), (0.1, 0.2, 0.6, 0.9)]


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("interval", [True, False])
def test_the_rank_of_a_quantile(setting, levels, interval):
    source, moved = setting
    twice = source.schema.neighbors == "change_one"
    asked = [lw.quantile("x", level) if 0 < level < 1 else (lw.min if level == 0 else lw.max)("x") for level in levels]
    moved //= 2 if twice else 1
    for by in (None, "k"):
        forecasts = source.plan(*asked, by=by, epsilon=1, intervals=interval).forecasts
        given = {"twice": twice, "interval": interval, "grouped": by is not None}
        for forecast, level in zip(forecasts, levels, strict=True):
            most, inside = due(level, levels, moved, **given)
            sure = 1 - 0.05 / len(levels)
            all_at_once, _ = due(level, levels, moved, **given, groups=2 if by else 1, confidence=sure)
            assert forecast.margin == math.ceil(most)
            assert forecast.simultaneous_margin == math.ceil(all_at_once)
            assert forecast.assumes.startswith("in rank; usually ")
            if level in (0, 1):
                assert forecast.assumes == f"in rank; usually {inside:,}"
