"""Quantiles and distribution functions through the whole way: engine, ledger, release."""

import json
import math
from collections import Counter
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.engine.connect import connect
from lapwing.measure.selection import sorted_values
from lapwing.question.schema import make_schema
from lapwing.release.recall import recall

from ...tables import FORMS, NASTY, index, make, plan_of

WHOLE = {"x": lw.number(0, 120, integer=True)}
AGES = [18, 18, 25, 40, 40, 40, 41, 60, 77, 90]


def source_of(folder, table, **options):
    columns = {**WHOLE, "g": lw.keys("a", "b", "none")} if "g" in table else WHOLE
    return lw.Source(
        table, **{"name": "t", "columns": columns, "epsilon": 1000, "ledger": folder / "t.ledger", **options}
    )


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries({"person": st.sampled_from(["p", "q", None]), "x": st.sampled_from(NASTY)}), max_size=9
    ),
    st.booleans(),
)
def test_the_engine_spreads_rows_as_a_second_road_does(rows, people):
    schema = make_schema(
        "t", {"x": lw.number(-2, 7)}, "person" if people else None, 2 if people else None, "add_remove", None
    )
    plan = plan_of(schema, [lw.median("x")])
    spread = sorted_values(*connect(make(rows, "arrow", None), "t").tally(schema, plan.lowered).own)
    kept = [row for row in rows if not people or row["person"] is not None]
    each = Counter(row["person"] for row in kept)
    expected = Counter()
    for row in kept:
        at = index(plan.parts[0].measurement, row)
        if at is not None:
            c = each[row["person"]]
            expected[at] += (2**16 if c <= 2 else 2 * 2**16 // c) if people else 1
    assert dict(zip(spread.indices.tolist(), spread.weights.tolist(), strict=True)) == dict(expected)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_table_gives_the_same_quantiles(form, tmp_path):
    rows = [{"person": str(i), "x": float(i), "key": "a"} for i in range(9) for _ in range(400)]
    source = lw.Source(
        make(rows, form, tmp_path),
        name="t",
        columns={"x": lw.number(0, 8, integer=True)},
        epsilon=100,
        ledger=tmp_path / "l",
    )
    found = source.release(lw.quantile("x", [0, 0.25, 0.5, 0.75, 1]), epsilon=100).rows[0]
    assert [cell["value"] for cell in found.values()] == [0, 2, 4, 6, 8]


def test_large_epsilon_gives_the_quantiles_themselves(tmp_path):
    table = pd.DataFrame({"x": AGES * 100, "g": (["a"] * 5 + ["b"] * 5) * 100})
    source = source_of(tmp_path, table)
    found = source.release(lw.quantile("x", [0, 0.1, 0.5, 0.75, 1]), by="g", epsilon=500).to_pandas()
    for group, own in table.groupby("g"):
        row = found[found.g == group].iloc[0]
        for level, name in ((0.1, "q0.1_x"), (0.5, "median_x"), (0.75, "q0.75_x")):
            low, high = (float(np.quantile(own.x, level, method=how)) for how in ("inverted_cdf", "higher"))
            assert low <= row[name] <= high
            assert row[f"{name}_low"] <= high
            assert low <= row[f"{name}_high"]
        assert (row.min_x, row.max_x) == (own.x.min(), own.x.max())
        assert (row.min_x_low, row.max_x_high) == (0, 120)  # no count shows that nobody is beyond


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([50] * 500, lw.number(0, 100, integer=True)),
        ([None] * 500, lw.number(0, 100, integer=True)),
        ([float("nan"), float("inf"), -float("inf")] * 100, lw.number(0, 100)),
        ([], lw.number(0, 100)),
        ([3.0], lw.number(0, 100)),
        ([0, 1] * 100, lw.number(0, 1, integer=True)),
        ([5, 6] * 100, lw.number(5, 6, integer=True)),
        ([1e300, -1e300] * 100, lw.number(-1, 1)),
        ([1e-90] * 100, lw.number(0, F(1, 10**90))),
        ([2**53, -(2**53)] * 100, lw.number(-(2**53), 2**53, integer=True)),
        ([1e99] * 100, lw.number(-(10**100), 10**100)),
    ],
)
@pytest.mark.parametrize("neighbors", ["add_remove", "change_one"])
def test_degenerate_inputs_get_an_answer_of_the_public_shape(values, column, neighbors, tmp_path):
    table = pd.DataFrame({"x": pd.Series(values, dtype=float)})
    source = source_of(tmp_path, table, columns={"x": column}, neighbors=neighbors)
    for statistics in ([lw.median("x")], lw.quantile("x", [0, "1/3", 0.5, 1]), [lw.cdf("x", 60)]):
        answer = source.release(*statistics, epsilon=2)
        for name, cell in answer.rows[0].items():
            if isinstance(cell, dict):
                assert cell["low"] <= cell["value"] <= cell["high"]
                assert name.startswith("cdf") or float(column.low) <= cell["low"]
                assert name.startswith("cdf") or cell["high"] <= float(column.high) * (1 + 1e-12)


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize("neighbors", ["add_remove", "change_one"])
def test_equal_values_are_their_own_quantiles_and_bars(neighbors, tmp_path):
    column, table = lw.number(0, 100, integer=True), pd.DataFrame({"x": [50] * 500})
    source = source_of(tmp_path, table, columns={"x": column}, neighbors=neighbors)
    found = source.release(lw.quantile("x", [0.1, 0.5, 0.9]), epsilon=20).rows[0]
    assert all(cell == {"value": 50, "low": 50, "high": 50, "noise": "low"} for cell in found.values())


def test_T12_what_is_recorded_has_the_same_shape_whatever_the_rows(tmp_path):
    shapes = set()
    for number, rows in enumerate(([], AGES, AGES * 500)):
        table = pd.DataFrame({"x": pd.Series(rows, dtype=float), "g": pd.Series(["a"] * len(rows), dtype=str)})
        source = source_of(tmp_path, table, name=f"t{number}", ledger=tmp_path / f"{number}.ledger")
        answer = source.release(lw.quantile("x", [0, 0.2, 0.8]), by="g", epsilon=1).answer
        shapes.add(json.dumps([[len(cell) for cell in cells] for cells in answer["cells"]]))
    assert len(shapes) == 1


def test_the_order_and_the_names_of_the_question_do_not_matter(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": AGES * 50}))
    one = source.release(lw.max("x"), lw.median("x"), lw.mean("x"), lw.min("x"), epsilon=1)
    two = source.sql("SELECT MIN(x) AS least, AVG(x), MEDIAN(x) AS mid, MAX(x) FROM t", epsilon=1)
    assert two.repeated
    assert source.ledger.spent == 1
    renamed = {"least": "min_x", "mid": "median_x"}
    assert {renamed.get(name, name): cell for name, cell in two.rows[0].items()} == one.rows[0]
    assert recall(source.schema, source.ledger, one.entry).rows == one.rows


def test_with_and_without_intervals_are_two_questions(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": AGES * 50}))
    bars = source.release(lw.median("x"), epsilon=1)
    bare = source.release(lw.median("x"), epsilon=1, intervals=False)
    assert bare.entry != bars.entry
    assert (bare.rows[0]["median_x"]["low"], bare.rows[0]["median_x"]["high"]) == (0, 120)
    for made in (bars, bare):
        assert recall(source.schema, source.ledger, made.entry).rows == made.rows
        assert json.loads(json.dumps(made.to_dict())) == made.to_dict()
    assert bare.plan.forecasts[0].margin < bars.plan.forecasts[0].margin


def test_bars_widen_with_confidence_and_cost_nothing(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": np.random.default_rng(1).integers(0, 121, 5000)}))
    made = source.release(lw.median("x"), epsilon=1)
    bars = [made.at(p).rows[0]["median_x"] for p in (0.5, 0.95, 0.999999)]
    assert bars[0]["low"] >= bars[1]["low"] >= bars[2]["low"]
    assert bars[0]["high"] <= bars[1]["high"] <= bars[2]["high"]
    assert source.ledger.spent == 1


def test_a_plan_for_a_wanted_rank_error(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": AGES}))
    plan = source.plan(lw.median("x", error=10))
    assert plan.forecasts[0].margin <= 10
    finer = source.plan(lw.median("x"), epsilon=plan.epsilon - F(1, 10**9))
    assert finer.forecasts[0].margin > 10
    assert source.plan("SELECT MEDIAN(x), COUNT(*) FROM t", error={"median_x": 20, "count": 5}).epsilon > 0


def test_what_cannot_be_asked_is_refused(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": AGES}))
    for q in (-0.1, 1.1, "a", math.nan, None, True, [], [0.5, 2], "1/1000001"):
        with pytest.raises(errors.RequestError):
            lw.quantile("x", q)
    with pytest.raises(errors.RequestError):
        lw.quantile("x", [0.1, 0.2], name="both")
    for statistic in (lw.median("g"), lw.cdf("g"), lw.min("y")):
        with pytest.raises(errors.RequestError):
            source.release(statistic, epsilon=1)
    for edges in (0, -1, 5000, True, [1], [2, 1], "ab"):
        with pytest.raises(errors.RequestError):
            source.release(lw.cdf("x", edges), epsilon=1)
    with pytest.raises(errors.RequestError):
        source.release(lw.median("x"), epsilon=1, intervals="no")
    with pytest.raises(errors.NoLedger):
        lw.Ledger.open(tmp_path / "t.ledger")  # nothing was charged


def test_T24_a_canary_in_a_column_of_quantiles_is_seen_nowhere(tmp_path, capfd):
    table = pd.DataFrame({"x": ["CANARY-77", "5", "7"] * 40, "g": ["a"] * 120})
    answer = source_of(tmp_path, table).release(lw.median("x"), lw.max("x"), by="g", epsilon=1)
    told = f"{answer} {answer!r} {answer.to_dict()} {answer.plan} {capfd.readouterr()} {answer.to_html()}"
    assert "CANARY" not in told + (tmp_path / "t.ledger").read_bytes().decode(errors="replace")


@pytest.mark.usefixtures("frozen_noise")
def test_a_distribution_function_reaches_one_and_is_read_from_the_ledger(tmp_path):
    table = pd.DataFrame({"x": AGES * 200, "g": ["a", "b"] * 1000})
    source = source_of(tmp_path, table)
    answer = source.release(lw.cdf("x", 121), by="g", epsilon=50)
    found = answer.to_pandas()
    assert len(found) == 3 * 121
    own = found[found.g == "a"]
    truth = [(table.x[table.g == "a"] < edge).mean() for edge in range(1, 122)]
    assert np.abs(own.cdf_x - truth).max() < 0.01
    assert own.cdf_x.is_monotonic_increasing
    assert own.cdf_x.iloc[-1] == 1
    assert recall(source.schema, source.ledger, answer.entry).to_pandas().equals(found)
    assert answer.at(simultaneous=True).to_pandas().cdf_x_low.le(found.cdf_x_low + 1e-12).all()


def test_bars_stay_between_the_bounds_and_hold_their_value(tmp_path):
    """Many rows at the upper bound, two quantiles at one value: rooms for the ends are empty."""
    groups = 400
    table = pd.DataFrame({"x": [5] * 20 * groups, "g": [i for i in range(groups) for _ in range(20)]})
    source = source_of(tmp_path, table, columns={"x": lw.number(0, 5, integer=True), "g": lw.keys(range(groups))})
    answer = source.release(lw.quantile("x", [0.25, 0.5]), by="g", epsilon=1)
    assert max(max(cell) for cell in answer.answer["cells"][0][:6]) <= 5
    for row in answer.rows:
        for cell in (row["q0.25_x"], row["median_x"]):
            assert 0 <= cell["low"] <= cell["value"] <= cell["high"] <= 5


def test_quantiles_take_arrays_and_tell_how_to_write_a_third():
    assert [each.level for each in lw.quantile("x", np.array([0.25, 0.5]))] == [F(1, 4), F(1, 2)]
    assert lw.quantile("x", "1/3").level == F(1, 3)
    with pytest.raises(errors.InvalidParameter, match="1/3"):
        lw.quantile("x", 1 / 3)
    assert lw.cdf("x", np.int64(4)).bins == 4


def test_a_distribution_function_is_plotted_as_a_curve_and_a_quantile_without_zero(tmp_path):
    table = pd.DataFrame({"x": AGES * 200, "g": ["a", "b"] * 1000})
    source = source_of(tmp_path, table)
    chart = source.release(lw.cdf("x", 60), by="g", epsilon=50).plot().to_dict()
    (points,) = chart["datasets"].values()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["area", "line"]
    assert {point["group"] for point in points} == {"a", "b", "none"}
    assert len(points) == 180
    expected = {"x": 121.0, "group": "a", "value": 1.0, "low": 1.0, "high": 1.0}
    assert {name: points[59][name] for name in expected} == expected
    bars = source.release(lw.median("x"), epsilon=1).plot().to_dict()
    assert bars["layer"][0]["encoding"]["x"]["scale"] == {"zero": False}


def test_every_limit_of_a_distribution_function_is_between_the_bounds(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": AGES * 200}))
    found = source.release(lw.cdf("x", [18, 65]), epsilon=50).to_pandas()
    assert found.x.tolist() == ["below 18", "below 65", "up to 120"]
    again = source.sql("SELECT CDF(x) FROM t GROUP BY BIN(x, 18, 65)", epsilon=50)
    assert again.repeated
    assert found.cdf_x.round(2).tolist() == [0, 0.8, 1]
    for edges in ([0, 120], [-5, 200]):
        with pytest.raises(errors.InvalidParameter, match="a limit between the bounds"):
            source.release(lw.cdf("x", edges), epsilon=1)


def test_messages_tell_what_to_do(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": AGES, "b": [True] * 10}), columns={"x": "text", "b": "boolean"})
    with pytest.raises(errors.UnsupportedQuery, match="which is not a number"):
        source.release(lw.median("x"), epsilon=1)
    with pytest.raises(errors.InvalidParameter, match="120, 65, 0"):
        lw.histogram("x", [120, 65, 0])
    with pytest.raises(errors.InvalidParameter, match=r"0\.5 for the median"):
        lw.quantile("x", 50)
    made = source_of(tmp_path, pd.DataFrame({"x": AGES})).release(lw.max("x"), epsilon=1)
    assert "Minimum and maximum of x are values some 20 rows inside." in str(made)
    with pytest.raises(errors.InvalidParameter, match="max_x"):
        made.plot("nope")


def test_too_many_quantiles_are_refused_and_long_work_tells_its_progress(tmp_path):
    columns = {"x": lw.number(0, 120), "g": lw.keys(range(3000))}
    source = source_of(tmp_path, pd.DataFrame({"x": AGES, "g": range(10)}), columns=columns)
    with pytest.raises(errors.TooLarge, match="quantiles in all groups"):
        source.plan(lw.quantile("x", [i / 100 for i in range(1, 100)]), by="g", epsilon=1)
    told = []
    source.release(lw.median("x"), by="g", epsilon=1, intervals=False, progress=told.append)
    assert len(told) >= 30
    assert all(0 <= share <= 1 for share in told)


def test_the_numbers_that_the_pages_tell(tmp_path):
    """docs/explanation/extremes.md and docs/how-to/which-statistic.md."""
    columns = {"age": lw.number(0, 120, integer=True), "income": lw.number(0, 200_000)}
    schema = make_schema("t", columns, None, None, "add_remove", None)

    def selection(statistic):
        plan = plan_of(schema, [statistic])
        return plan.parts[0].measurement.selection(plan.setting(plan.parts[0]))

    assert selection(lw.max("age")).inside == 20
    assert selection(lw.max("income")).inside == 43
    assert selection(lw.quantile("income", 0.99)).usual(F(99, 100), F(19, 20)) <= 10
    assert 60 <= selection(lw.median("income")).aside <= 80
    plan = plan_of(schema, [lw.cdf("income")])
    assert 17 <= plan.forecasts[0].margin * plan.rows <= 21
    assert lw.DiscreteLaplace(2).threshold("1e-8", 1) == 37  # docs/how-to/unknown-keys.md


@pytest.mark.parametrize(
    "asked", [(lw.min("x"), lw.max("x")), (lw.min("x"), lw.median("x"), lw.max("x")), (lw.max("x"),)]
)
@pytest.mark.usefixtures("frozen_noise")
def test_the_bar_of_a_minimum_begins_at_the_lower_bound_and_that_of_a_maximum_ends_at_the_upper(asked, tmp_path):
    rows = pd.DataFrame({"x": list(range(100, 200)) * 20})
    described = {"columns": {"x": lw.number(0, 300, integer=True)}, "epsilon": 1000, "ledger": tmp_path / "l"}
    (row,) = lw.Source(rows, name="t", **described).release(*asked, epsilon=1000).to_dict()["rows"]
    bars = {name: (cell["low"], cell["value"], cell["high"]) for name, cell in row.items()}
    if "min_x" in bars:
        assert bars["min_x"][0] == 0
        assert bars["min_x"][1:] == pytest.approx((100, 100), abs=2)
    assert bars["max_x"][2] == 300
    assert bars["max_x"][:2] == pytest.approx((199, 199), abs=2)
    assert bars.get("median_x", (149, 149, 150)) == pytest.approx((149, 149, 150), abs=2)
