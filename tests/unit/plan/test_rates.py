"""One rate, however it is written, has one forecast; and the plan names the way that is answered better."""

from html import escape

import pandas as pd
import pytest

import lapwing as lw

U, A = "s = '3'", "s IN ('1', '2', '3')"
ROWS = pd.DataFrame({"r": ["a", "b"], "s": ["1", "3"], "age": [20, 70], "x": [1.5, 2.5]})
ADVICE = "q is a share, and as such has ± {} instead of ± {} for the same ε: {}"


@pytest.fixture
def plan(tmp_path):
    columns = {
        "r": lw.keys("a", "b"),
        "s": lw.keys("1", "2", "3", "4"),
        "age": lw.number(0, 120, integer=True),
        "x": lw.number(0, 10),
    }
    source = lw.Source(ROWS, name="t", columns=columns, epsilon=1, ledger=tmp_path / "t.ledger")

    def planned(*items, **more):
        return source.plan(f"SELECT r, {', '.join(items)} FROM t GROUP BY r", epsilon=1, **more)

    return planned


RATES = {
    "sums": f"100 * SUM(CASE WHEN {U} THEN 1 ELSE 0 END) / SUM(CASE WHEN {A} THEN 1 ELSE 0 END)",
    "filtered counts": f"100 * COUNT(*) FILTER (WHERE {U}) / COUNT(*) FILTER (WHERE {A})",
    "counts": f"100 * COUNT(CASE WHEN {U} THEN 1 END) / COUNT(CASE WHEN {A} THEN 1 END)",
    "a sum and a count": f"100 * SUM(CASE WHEN {U} THEN 1 ELSE 0 END) / COUNT(CASE WHEN {A} THEN 1 END)",
}


@pytest.mark.parametrize("rate", RATES.values(), ids=RATES)
def test_a_rate_has_one_forecast_however_it_is_written(plan, rate):
    (forecast,) = plan(f"{rate} AS q").forecasts
    (usual,) = plan(f"{RATES['counts']} AS q").forecasts
    assert (forecast.margin, forecast.simultaneous_margin) == (usual.margin, usual.simultaneous_margin)
    assert forecast.assumes == "1,000 rows in a group, all of them counted"


def test_the_forecast_of_a_share_of_all_rows_is_that_of_the_mean_of_its_condition(plan):
    mean, ratio = (
        plan(f"AVG(CASE WHEN {U} THEN 1 ELSE 0 END) AS m").forecasts[0],
        plan(f"COUNT(*) FILTER (WHERE {U}) / COUNT(*) AS q").forecasts[0],
    )
    assert ratio.margin == pytest.approx(mean.margin, rel=0.02)


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        ("SUM(x) / COUNT(*)", "values in the middle of their bounds"),
        (f"SUM(x) / COUNT(*) FILTER (WHERE {A})", "all of them counted, values in the middle of their bounds"),
        ("COUNT(x) / COUNT(*)", "all of them counted"),
    ],
)
def test_a_ratio_says_what_it_assumes(plan, ratio, words):
    assert plan(ratio).forecasts[0].assumes == f"1,000 rows in a group, {words}"


@pytest.mark.parametrize("rate", RATES.values(), ids=RATES)
def test_a_plan_names_the_share_that_is_answered_better(plan, rate):
    share = """100 * AVG(CASE WHEN "s" = '3' THEN 1 ELSE 0 END) FILTER (WHERE "s" IN ('1', '2', '3'))"""
    there, asked = plan(f"{rate} AS q"), plan(f"{share} AS q")
    advice = ADVICE.format("0.2996", "0.8048", share)
    assert there.better == (advice,)
    assert advice in str(there)
    assert advice in there.to_dict()["notes"]
    assert escape(advice) in there._repr_html_()
    assert asked.forecasts[0].margin == pytest.approx(0.2996, rel=1e-3)
    assert there.forecasts[0].margin == pytest.approx(0.8048, rel=1e-3)
    assert asked.better == ()


WITHIN = {
    "a value of a list": ("s = '3'", "s IN ('3', '4')"),
    "a shorter list": ("s IN ('1', '3')", "s IN ('1', '3', '4')"),
    "a list without another value": ("s IN ('1', '3')", "s <> '4'"),
    "one condition more": ("s = '3' AND age > 20", "s = '3'"),
    "the same and more": ("s = '3' AND age > 20 AND x < 3", "age > 20 AND s = '3'"),
    "a narrower limit": ("age >= 65", "age >= 18"),
    "a limit below": ("age < 18", "age <= 18"),
    "a range in a range": ("age BETWEEN 20 AND 30", "age BETWEEN 15 AND 64"),
    "a value in a range": ("age = 20", "age BETWEEN 15 AND 64"),
    "one of several": ("age = 20", "age > 60 OR age < 30"),
    "both of several": ("age = 20 OR age = 70", "age IN (20, 30, 70)"),
}
BEYOND = {
    "a value that is not listed": ("s = '4'", "s IN ('1', '3')"),
    "a longer list": ("s IN ('1', '2', '4')", "s IN ('1', '2')"),
    "another column": ("age > 20", "s = '3'"),
    "a wider limit": ("age >= 18", "age >= 65"),
    "a limit that is there too": ("age >= 18", "age > 18"),
    "the other side": ("age > 65", "age < 100"),
    "one condition less": ("s = '3'", "s = '3' AND age > 20"),
    "one of two is not": ("age = 20 OR age = 71", "age IN (20, 30, 70)"),
    "the order of texts": ("s = '3'", "s >= '1'"),
    "the opposite": ("s <> '3'", "s = '3'"),
}


@pytest.mark.parametrize(("inner", "outer"), WITHIN.values(), ids=WITHIN)
def test_rows_among_others_are_recognised(plan, inner, outer):
    (advice,) = plan(f"COUNT(*) FILTER (WHERE {inner}) / COUNT(*) FILTER (WHERE {outer}) AS q").better
    assert advice.startswith("q is a share")


@pytest.mark.parametrize(("inner", "outer"), BEYOND.values(), ids=BEYOND)
def test_rows_that_may_not_be_among_the_others_get_no_advice(plan, inner, outer):
    assert plan(f"COUNT(*) FILTER (WHERE {inner}) / COUNT(*) FILTER (WHERE {outer}) AS q").better == ()


@pytest.mark.parametrize(
    "items",
    [
        (f"COUNT(*) FILTER (WHERE {U}) / COUNT(*)",),  # nothing to gain
        ("COUNT(*) / COUNT(*)",),
        ("SUM(x) / COUNT(*)",),
        (f"SUM(CASE WHEN {U} THEN x ELSE 0 END) / SUM(CASE WHEN {A} THEN 1 ELSE 0 END)",),
        (  # both counts are asked for: a share would be a third measurement
            RATES["counts"],
            f"COUNT(*) FILTER (WHERE {U})",
            f"COUNT(*) FILTER (WHERE {A})",
        ),
    ],
)
def test_nothing_is_named_that_is_not_better(plan, items):
    assert plan(*items).better == ()
