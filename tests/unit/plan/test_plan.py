"""What a plan says before anything is read: which parts answer a statistic, and what is expected of each."""

from fractions import Fraction

import pandas as pd
import pytest

import lapwing as lw
from lapwing.plan.plan import MOST_COMBINED

NAMES = "abcdef"


@pytest.fixture
def source():
    columns = {name: lw.number(0, 10**power) for power, name in enumerate(NAMES)}
    described = {"person": "p", "rows_per_person": 1, "columns": columns, "epsilon": 1}
    return lw.Source(pd.DataFrame({name: [0.5] for name in ("p", *NAMES)}), name="t", **described)


@pytest.mark.parametrize("text", ["SUM(b) / COUNT(*)", "SUM(b) / SUM(a)", "SUM(a) / SUM(b)"])
def test_the_forecast_of_a_ratio_is_that_of_its_first_sum(source, text):
    plan = source.plan(f"SELECT AVG(a), AVG(b), {text} FROM t", epsilon=1)
    *alone, ratio = plan.forecasts
    about = alone[1] if "(b)" in text.partition("/")[0] else alone[0]
    assert (ratio.sensitivity, ratio.scale) == (about.sensitivity, about.scale)
    assert (ratio.claim, about.claim) == ("G2", "P2")
    assert alone[0].scale != alone[1].scale


def test_the_forecast_of_a_ratio_of_counts_is_that_of_the_first(source):
    count, ratio = source.plan("SELECT COUNT(*), COUNT(*) / SUM(b) FROM t", epsilon=1).forecasts
    assert (ratio.sensitivity, ratio.scale) == (count.sensitivity, count.scale)


def test_a_count_is_combined_from_the_most_precise_parts_and_a_ratio_uses_no_others(source):
    means = ", ".join(f"AVG({name})" for name in NAMES)
    plan = source.plan(f"SELECT {means}, COUNT(*), SUM(f) / COUNT(*) FROM t", epsilon=1)
    for _ in range(2):  # also when it is asked again
        *_, count, ratio = plan.query.statistics
        total, number = ratio.parts
        assert len(plan.parts) == len(NAMES) > MOST_COMBINED == len(plan.answering(count))
        assert plan.answering(total) == [5]
        assert plan.answering(number) == plan.answering(count)
        assert plan.answering(ratio) == sorted({5, *plan.answering(count)})
    assert len(plan.terms(count)) == MOST_COMBINED


@pytest.mark.parametrize(
    ("neighbors", "rows", "factor"), [("add_remove", 1, 1), ("add_remove", 3, 3), ("change_one", 2, 4)]
)
def test_what_weighted_cells_answer_has_the_noise_of_one_person_in_its_own_unit(neighbors, rows, factor):
    columns = {"x": lw.number(-5, 10, integer=True, missing=[99]), "w": lw.number(0, 4, integer=True)}
    described = {"person": "p", "rows_per_person": rows, "neighbors": neighbors, "columns": columns}
    source = lw.Source(pd.DataFrame({"p": ["a"], "x": [1], "w": [1]}), name="t", **described)
    asked = lw.mean("x", weight="w"), lw.sum("x", weight="w"), lw.count(weight="w"), lw.count()
    plan = source.plan(*asked, epsilon=2)
    (part,) = plan.parts
    assert part.measurement.form == "weighted mean"
    assert part.measurement.names == ("above", "below", "missing", "rest")
    total, weights, count = plan.forecasts[1:]
    for forecast, most in ((total, 4 * 10), (weights, 4), (count, 1)):
        assert forecast.sensitivity == factor * most
        assert forecast.scale == Fraction(factor * most, 2)
    mean, *_ = plan.forecasts
    assert mean.assumes == "1,000 rows, with half of the largest weight on average"
    assert total.assumes == ""
    (twice,) = [source.plan(*asked, epsilon=2, rows=rows).forecasts[0].margin for rows in (2000,)]
    assert mean.margin == pytest.approx(2 * twice, rel=0.01)


def test_the_computed_columns_of_a_plan_have_their_bounds_and_steps(source):
    expression = "a / 7 + 0.1234567890123 * b"
    plan = source.plan(f"SELECT AVG(2 * a), AVG({expression}) AS m FROM t WHERE a + b > 1", epsilon=1)
    other, doubled = (each.to_dict() for each in plan.computed)
    step = doubled.pop("step")
    assert doubled == {"name": '2 * "a"', "expression": '2 * "a"', "low": "0", "high": "2"}
    assert Fraction(step) == 2 * Fraction(plan.schema.columns["a"].grid.step)
    assert set(other) == {"name", "expression", "low", "high", "step"}
    assert Fraction(other["high"]) == pytest.approx(1 / 7 + 1.234567890123)
    told = str(plan)
    assert 'Computed: 2 * "a", from 0 to 2, in steps of ' in told
    whole = lw.Source(pd.DataFrame({"n": [1]}), name="u", columns={"n": lw.number(0, 9, integer=True)}, epsilon=1)
    assert 'Computed: 3 + "n", from 3 to 12.\n' in f"{whole.plan('SELECT AVG(n + 3) FROM u', epsilon=1)}\n"


def test_a_computed_key_has_no_bounds():
    columns = {"n": lw.number(0, 9, integer=True)}
    source = lw.Source(pd.DataFrame({"n": [1]}), name="u", columns=columns, epsilon=1)
    plan = source.plan("SELECT COUNT(*) FROM u GROUP BY CASE WHEN n > 4 THEN 'high' ELSE 'low' END", epsilon=1)
    (key,) = plan.computed
    assert set(key.to_dict()) == {"name", "expression"}
    assert str(key) == f"Computed: {key.expression}."


@pytest.mark.parametrize("number", [1, 3])
def test_all_bars_at_once_share_what_may_fail_among_statistics_and_hold_for_all_groups(source, number):
    keys = lw.keys("x", "y", "z", "u")
    grouped = lw.Source(pd.DataFrame({"k": ["x"], "v": [1.0]}), name="t", columns={"k": keys, "v": lw.number(0, 1)})
    asked = (lw.count(), lw.mean("v"), lw.sum("v"))[:number]
    plan = grouped.plan(*asked, by="k", epsilon=1)
    sure = Fraction(19, 20)
    assert plan.each_confidence(sure, False) == (sure, 1)
    assert plan.each_confidence(sure, True) == (1 - Fraction(1, 20) / number, 4)
    assert all(each.margin < each.simultaneous_margin for each in plan.forecasts)
