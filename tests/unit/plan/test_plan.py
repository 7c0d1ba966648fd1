"""What a plan says before anything is read: which parts answer a statistic, and what is expected of each."""

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
