"""Claim K4 and the traps of bounds that are not public."""

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.engine.connect import connect
from lapwing.noise.distributions import DiscreteLaplace
from lapwing.noise.entropy import EntropyForTests
from lapwing.question.schema import make_schema
from lapwing.release.bounds import Bounds, borders, edges, ends, plan_bounds, seen
from lapwing.release.pipeline import Tally
from lapwing.release.recall import recall
from lapwing.release.result import Release

from ..tables import NASTY, distance, engine_tally

PEOPLE = ["p", "q", "r", None]


def source_of(folder, table, **options):
    columns = {name: "number" for name in table.columns if name != "p"}
    given = {"name": "t", "columns": columns, "epsilon": 100, "ledger": folder / "t.ledger", **options}
    return lw.Source(table, **given)


def bounds_of(folder, values, epsilon=1, **options):
    return source_of(folder, pd.DataFrame({"x": values}), **options).bounds("x", epsilon=epsilon)


# --- K4: the histogram ---


def bin_by_hand(value, integer):
    """Return the number of the bin by its ends: (a, b] above zero, [a, b) below, and the one around zero."""
    if value is None or not math.isfinite(value):
        return None
    above, size = borders(integer), F(repr(abs(value)))
    if integer and value > 0:  # 1 and 1.4 in (0, 1], which begins at a half
        place = sum(size >= border + (F(1, 2) if border >= 1 else 0) for border in above[:-1])
    else:
        place = sum(size > border for border in above[:-1])
    return len(above) - 1 + (place if value > 0 else -place)


@pytest.mark.parametrize("kind", ["number", "integer"])
def test_K4_every_value_lies_in_the_bin_that_its_ends_say(kind):
    integer = kind == "integer"
    above = [float(border) for border in borders(integer)]
    values = [*NASTY, *above, *(-each for each in above), *(1.5 * each for each in above), 0.7, -0.7, 3e200, -3e200]
    schema = make_schema("t", {"x": kind}, None, None, "add_remove", None)
    plan = plan_bounds(schema, "x", epsilon=1)
    found = ends(integer)
    assert len(found) == plan.groups == len(edges(integer)) - 1
    assert found == sorted(found)
    by_hand = [bin_by_hand(value, integer) for value in values]
    for some in (slice(None), slice(0, None, 7), slice(3, None, 11), *(slice(i, i + 1) for i in range(20))):
        expected = Counter(number for number in by_hand[some] if number is not None)
        found_cells = engine_tally(plan.schema, plan, pd.DataFrame({"x": values[some]}))
        assert found_cells == {number: [(count,)] for number, count in expected.items()}
    for value, number in zip(values, by_hand, strict=True):
        if number is not None and abs(value) <= 10**15 and (not integer or value == math.floor(value)):
            low, high = found[number]
            assert low <= F(repr(value)) <= high or abs(value) <= 1e-9


@given(
    st.lists(st.tuples(st.sampled_from(PEOPLE), st.sampled_from(NASTY)), max_size=20),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from(["add_remove", "change_one"]),
)
@settings(max_examples=25)
def test_K4_one_person_moves_the_histogram_by_at_most_the_sensitivity(rows, most, people, neighbors):
    schema = make_schema("t", {"x": "number"}, "p" if people else None, most if people else None, neighbors, None)
    plan = plan_bounds(schema, "x", epsilon=1)
    frame = pd.DataFrame({"p": pd.Series([p for p, _ in rows], dtype=object), "x": [x for _, x in rows]}, dtype=object)
    whole = engine_tally(plan.schema, plan, frame)
    parts = [frame[frame.p != p] for p in PEOPLE[:3]] if people else [frame.drop(index=i) for i in frame.index]
    for part in parts:
        (moved,) = distance(whole, engine_tally(plan.schema, plan, part.reset_index(drop=True)), plan.parts)
        assert moved <= plan.sensitivity(plan.parts[0]) // (2 if neighbors == "change_one" else 1)
    assert plan.sensitivity(plan.parts[0]) == schema.person_l1 * (2 if neighbors == "change_one" else 1)


def made(cells, epsilon=1, kind="number", person=None):
    """Return the bounds that follow from these noisy cells."""
    schema = make_schema("t", {"x": kind}, person, None if person is None else 1, "add_remove", None)
    plan = plan_bounds(schema, "x", epsilon=epsilon)
    whole = [0] * plan.groups
    for number, value in cells.items():
        whole[number] = value
    return Bounds(Release(plan, 2, False, {"cells": [[whole]]}, F(1), None))


@given(st.data())
def test_K4_while_the_noise_stays_within_its_margin_the_right_bins_are_occupied(data):
    schema = make_schema("t", {"x": "integer"}, None, None, "add_remove", None)
    plan = plan_bounds(schema, "x", epsilon="0.5")
    margin = DiscreteLaplace(2).simultaneous_margin(plan.groups, "0.95")
    truth = data.draw(st.dictionaries(st.integers(0, plan.groups - 1), st.integers(1, 4 * margin), max_size=8))
    noise = data.draw(st.lists(st.integers(-margin, margin), min_size=plan.groups, max_size=plan.groups))
    cells = {i: truth.get(i, 0) + noise[i] for i in range(plan.groups)}
    found = set(made(cells, "0.5", "integer")._occupied)
    assert found <= set(truth)
    assert {i for i, value in truth.items() if value > 2 * margin} <= found
    assert seen(plan) == 2 * margin


def test_K4_the_noise_stays_within_its_margin_as_often_as_stated():
    plan = plan_bounds(make_schema("t", {"x": "number"}, None, None, "add_remove", None), "x", epsilon="0.1")
    margin = DiscreteLaplace(10).simultaneous_margin(plan.groups, "0.95")
    noise = lw.discrete_laplace(10, (4000, plan.groups), entropy=EntropyForTests(1))
    within = np.mean((np.abs(noise) <= margin).all(axis=1))
    assert 0.94 < within < 0.97


def test_K4_the_bar_of_the_share_outside_holds():
    """Over 400 releases of one table with noise for tests; the bounds change from one to the next."""
    values = np.exp(np.linspace(-3, 9, 3000))
    schema = make_schema("t", {"x": "number"}, None, None, "add_remove", None)
    plan = plan_bounds(schema, "x", epsilon="0.2")
    (part,) = plan.parts
    tally = Tally(connect(pd.DataFrame({"x": values}), "t").tally(plan.schema, plan.lowered))
    exactly = np.zeros(plan.groups, dtype=int)
    groups, (counts,) = part.measurement.exact_cells(tally.exact(plan, 0))
    exactly[groups] = counts
    noise = lw.discrete_laplace(plan.scale(part), (400, plan.groups), entropy=EntropyForTests(3))
    held, chosen = 0, set()
    for each in noise:
        found = Bounds(Release(plan, 2, False, {"cells": [[(exactly + each).tolist()]]}, F(1), None))
        low, high = float(found.low), float(found.high)
        truth = float(np.mean((values < low) | (values > high)))
        value, least, most = found.outside
        assert value is None or least <= value <= most  # None if noise alone occupies a bin without an end
        held += least <= truth <= most
        chosen.add((low, high))
    assert len(chosen) > 3
    assert held >= 0.95 * 400


# --- what follows from it ---


def test_bounds_are_the_outer_ends_of_the_occupied_bins_and_zero_when_it_is_near():
    zero = len(borders(True)) - 1  # 0; then 0 to 1, 1 to 2, 2 to 5, 5 to 10, 10 to 20, 20 to 50, 50 to 100, 100 to 200
    for cells, low, high in (
        ({zero + 7: 999, zero + 8: 999}, 50, 200),
        ({zero + 8: 999}, 100, 200),
        ({zero + 4: 999, zero + 6: 999}, 0, 50),
        ({zero + 5: 999, zero + 7: 999}, 0, 100),
        ({zero: 999, zero + 6: 999}, 0, 50),
        ({zero: 999}, 0, 1),
        ({zero + 1: 999}, 0, 1),
        ({zero - 1: 999}, -1, 0),
        ({zero - 8: 999}, -200, -100),
        ({zero - 5: 999, zero - 7: 999}, -100, 0),
        ({zero - 7: 999, zero + 1: 999}, -100, 1),
    ):
        found = made(cells, kind="integer")
        assert (found.low, found.high) == (low, high), cells
        assert found.column() == lw.number(low, high, integer=True)
    assert (made({len(borders(False)) - 1: 999}).low, made({len(borders(False)) - 1: 999}).high) == (0, F(1, 10**9))


@pytest.mark.usefixtures("frozen_noise")
def test_real_looking_data(tmp_path):
    rng = np.random.default_rng(5)
    costs = rng.lognormal(6, 1, 20_000)
    found = bounds_of(tmp_path, costs, epsilon="0.5")
    assert (found.low, found.high) in ((0, 10_000), (0, 20_000))
    assert np.mean(costs > float(found.high)) < 0.001
    assert found.outside[1] <= np.mean(costs > float(found.high)) <= found.outside[2] < 0.05
    share = (
        source_of(tmp_path, pd.DataFrame({"x": costs}))
        .declare(x=found.column())
        .sql(f"SELECT {found.share} AS beyond FROM t", epsilon=10)
    )
    assert share.rows[0]["beyond"]["value"] == pytest.approx(np.mean(costs > float(found.high)), abs=0.001)


@pytest.mark.usefixtures("frozen_noise")
def test_T9_one_huge_value_is_not_chosen(tmp_path):
    found = bounds_of(tmp_path, [*np.linspace(0, 90, 5000), 1e12, -1e300, 1e-300])
    assert (found.low, found.high) == (0, 100)


def test_T9_bounds_are_charged_once_and_a_repeated_question_is_free(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": np.linspace(0, 90, 5000)}))
    first = source.bounds("x", epsilon="0.5")
    assert "Charged ε = 0.5 as entry 2.  ε left: 99.5" in str(first)
    again = source.declare(x=first.column()).bounds("X", epsilon="0.5")
    assert again.release.repeated
    assert again.to_dict()["occupied"] == first.to_dict()["occupied"]
    assert source.ledger.spent == F(1, 2)
    assert not source.bounds("x", epsilon="0.5", where="x > 1").release.repeated


@pytest.mark.parametrize(
    "values",
    [[], [None] * 500, [math.nan] * 500, [math.inf, -math.inf] * 300, [1.0, 5.0, 70.0]],
    ids=["empty", "missing", "NaN", "infinite", "few"],
)
def test_nothing_found_is_said(values, tmp_path):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=float)})
    found = source_of(tmp_path, frame).bounds("x", epsilon="0.1", entropy=EntropyForTests(2))
    assert found.occupied == []
    assert "No bin is above the noise" in str(found)
    assert "NOT PRIVATE" in str(found)
    assert (found.to_dict()["low"], found.to_dict()["outside"]) == (None, None)
    assert found.to_csv() == "low,high,count,count_low,count_high\n"
    for ask in (lambda: found.low, lambda: found.high, found.column, found.to_toml):
        with pytest.raises(errors.CannotDeclare, match="What was charged stays charged"):
            ask()


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize(
    ("value", "low", "high"), [(0.0, 0, F(1, 10**9)), (100.0, 50, 100), (-100.0, -100, -50), (1e14, 5 * 10**13, 10**14)]
)
def test_all_values_are_equal(value, low, high, tmp_path):
    found = bounds_of(tmp_path, [value] * 500)
    assert (found.low, found.high) == (low, high)
    assert found.column() == lw.number(low, high)


def test_values_beyond_the_last_border_are_in_the_last_bin_and_it_is_said(tmp_path):
    found = bounds_of(tmp_path, [1e16, 3e300] * 300)
    assert found.high == 10**15
    assert "beyond ± 10^15" in str(found)


@pytest.mark.usefixtures("frozen_noise")
def test_people_with_many_rows_count_as_rows_per_person(tmp_path):
    """One person has ten thousand rows of 10^9; they weigh as much as two rows, and are not seen."""
    frame = pd.DataFrame({"p": [0] * 10_000 + list(range(1, 1001)), "x": [1e9] * 10_000 + [50.0] * 1000})
    found = source_of(tmp_path, frame, person="p", rows_per_person=2).bounds("x", epsilon=1)
    assert (found.low, found.high) == (20, 50)
    (only,) = found.occupied
    assert only.value_low <= 1000 <= only.value_high


def test_what_was_found_is_told_in_every_form(tmp_path):
    columns = {"odd name": "integer"}
    source = source_of(tmp_path, pd.DataFrame({"odd name": [*range(101)] * 50}), columns=columns)
    found = source.bounds("odd name", epsilon=1, entropy=EntropyForTests(2))
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["low"], told["high"], told["integer"], told["delta"], told["entry"]) == ("0", "100", True, "0", 2)
    assert told["margin"] == str(DiscreteLaplace(1).simultaneous_margin(len(ends(True)), "0.95"))
    assert found.to_toml() == '[columns."odd name"]\nlow = 0\nhigh = 100\ninteger = true\n'
    (tmp_path / "t.toml").write_text('table = "t.csv"\n' + found.to_toml())
    assert lw.Source.open(tmp_path / "t.toml").schema.columns["odd name"] == found.column()
    assert found.to_csv().splitlines()[-1].startswith("50,100,")
    assert repr(found) == "Bounds('odd name', entry=2, 8 occupied bins)"
    assert found.share == 'AVG(CASE WHEN "odd name" < 0 OR "odd name" > 100 THEN 1 ELSE 0 END)'
    assert f"more than {2 * found.margin} rows" in str(found)


def test_T16_T17_what_cannot_be_looked_for_is_refused_and_costs_nothing(tmp_path):
    columns = {"x": "number", "key": "text", "day": "date"}
    source = source_of(tmp_path, pd.DataFrame({"x": [1.0]}), columns=columns)
    for options in (
        {"column": "key"}, {"column": "day"}, {"column": "none"}, {"epsilon": 0}, {"epsilon": "x"},
        {"where": "x ** 2 > 1"}, {"analyst": "nobody"},
    ):  # fmt: skip
        with pytest.raises(errors.RequestError):
            source.bounds(**{"column": "x", "epsilon": 1, **options})
    with pytest.raises(errors.InvalidSource, match="does not have"):
        source.declare(y="number").bounds("y", epsilon=1)
    assert source.ledger.spent == 0


@pytest.mark.usefixtures("frozen_noise")
def test_a_declared_column_is_looked_at_beyond_its_bounds(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": [500.0] * 500}), columns={"x": lw.number(0, 1)})
    assert source.bounds("x", epsilon=1).high == 500
    schema = replace(source.schema, neighbors="change_one")
    assert plan_bounds(schema, "x", epsilon=1).sensitivity(plan_bounds(schema, "x", epsilon=1).parts[0]) == 2


# --- what a plan tells of values beyond the bounds ---


def test_a_plan_tells_how_to_ask_for_what_is_clipped_and_the_share_once_it_is_known(tmp_path):
    values = [*[5.0] * 900, *[150.0] * 100]  # a tenth lies beyond 100
    source = source_of(tmp_path, pd.DataFrame({"x": values}), columns={"x": lw.number(0, 100)})
    (before,) = source.plan(lw.mean("x"), epsilon=1).clipped
    assert before.share is None
    assert before.question in str(source.plan(lw.mean("x"), epsilon=1))
    asked = source.sql(before.question, epsilon=50)  # the question can be asked as it stands
    assert asked.rows[0]["proportion"]["value"] == pytest.approx(0.1, abs=0.01)
    found = source.bounds("x", epsilon=40)  # where noise of 1 in any bin has a probability of 10^-15
    (after,) = source.plan(lw.mean("x"), lw.median("x"), epsilon=1).clipped
    assert after.entry == found.entry
    value, low, high = after.share
    assert low <= 0.1 <= high
    assert value == pytest.approx(0.1, abs=0.03)
    told = source.plan(lw.mean("x"), epsilon=1)
    assert f"by entry {found.entry}." in str(told)
    assert told.to_dict()["clipped"][0]["share"]["value"] == value
    assert source.ledger.spent == 90  # plans are free


def test_a_histogram_of_other_data_says_nothing_about_this_version(tmp_path):
    table, columns = pd.DataFrame({"x": [5.0] * 900}), {"x": lw.number(0, 100)}
    source_of(tmp_path, table, columns=columns, version="1").bounds("x", epsilon=20)
    (clipped,) = source_of(tmp_path, table, columns=columns, version="2").plan(lw.sum("x"), epsilon=1).clipped
    assert clipped.share is None


def test_counts_are_not_clipped(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": [1.0]}), columns={"x": lw.number(0, 100, edges=[0, 50, 100])})
    assert source.plan(lw.count(), lw.count("x"), by="x", epsilon=1).clipped == ()


@pytest.mark.parametrize(
    ("values", "low", "high", "truth"),
    [
        ([1, 2, 3, 4, 5] * 200, 1, 5, 0),
        ([100] * 980 + [7] * 20, 100, 200, 0.02),
        ([-100] * 980 + [-7] * 20, -200, -100, 0.02),
        ([10**18] * 1000, 0, 10**15, 1),
        ([10**16] * 1000, 2 * 10**15, 10**17, 0),
        ([2 * 10**9 + 1] * 1000, 0, 2 * 10**9, 1),
        ([10**12 + 500] * 1000, 0, 10**12, 1),
        ([0] * 500 + [3] * 500, 0, 5, 0),
        ([0] * 500 + [3] * 500, 1, 5, 0.5),
    ],
)
@pytest.mark.parametrize("kind", ["number", "integer"])
def test_the_share_beyond_declared_bounds_holds_at_borders_and_far_out(values, low, high, truth, kind, tmp_path):
    table = pd.DataFrame({"x": np.array(values, dtype=float)})
    value, least, most = source_of(tmp_path, table, columns={"x": kind}).bounds("x", epsilon=50).beyond(F(low), F(high))
    assert least <= truth <= most
    assert value is None or least <= value <= most


def test_a_plan_with_a_condition_tells_no_share_of_all_rows(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": [50.0] * 900}), columns={"x": lw.number(0, 100)})
    source.bounds("x", epsilon=20)
    (clipped,) = source.plan(lw.mean("x"), where="x > 10", epsilon=1).clipped
    assert clipped.share is None
    assert clipped.question.endswith('WHERE "x" > 10')
    assert source.sql(clipped.question, epsilon=1).rows


def test_a_plan_never_fails_because_of_the_ledger(tmp_path):
    source = source_of(tmp_path, pd.DataFrame({"x": [50.0] * 900}), columns={"x": lw.number(0, 100)})
    found = source.bounds("x", epsilon=20)
    asked = source.ledger.entries()[found.entry - 1].question
    for other in ({**asked, "columns": 5}, {key: asked[key] for key in ("query", "source")}):
        source.ledger.record(source.ledger.charge(other, 1), {"cells": []})
    assert source.plan(lw.mean("x"), epsilon=1).clipped[0].entry == found.entry
    broken = source_of(tmp_path, pd.DataFrame({"x": [1.0]}), columns={"x": lw.number(0, 100)}, ledger="mysql://x")
    assert broken.plan(lw.mean("x"), epsilon=1).clipped[0].share is None
    (tmp_path / "t.ledger").write_bytes(b"no ledger at all" * 100)
    assert source.plan(lw.mean("x"), epsilon=1).clipped[0].share is None


def test_a_histogram_by_another_key_too_is_no_search_for_bounds(tmp_path):
    columns = {"x": lw.number(-(10**15), 10**15), "g": lw.keys("a", "b")}
    source = source_of(tmp_path, pd.DataFrame({"x": [1.0], "g": ["a"]}), columns=columns)
    answer = source.release(lw.histogram("x", edges(False)), by="g", epsilon=1)
    assert isinstance(recall(source.schema, source.ledger, answer.entry), Release)


@pytest.mark.parametrize(
    ("low", "high", "outside"), [(0, 100, 0), (0, 120, 0), (10, 100, 500), (0, 60, 500), (5, 60, 1000)]
)
def test_a_bound_inside_a_bin_leaves_the_bin_open(low, high, outside, tmp_path):
    """500 rows at 1.5, 500 at 80, and noise that is below a row: the bar holds what the bins cannot tell."""
    found = bounds_of(tmp_path, [1.5] * 500 + [80.0] * 500, epsilon=100)
    value, least, most = found.beyond(F(low), F(high))
    assert least <= outside / 1000 <= most
    assert 0 <= least <= most <= 1
    assert value is None or least <= value <= most


@pytest.mark.usefixtures("frozen_noise")
def test_a_bound_inside_a_bin_with_rows_gives_a_range_and_no_estimate(tmp_path):
    """605 of 1,000 rows lie between 60 and 100, in the bin that the bound 60 divides: 0 % would be wrong."""
    table = pd.DataFrame({"x": [20.0] * 395 + [80.0] * 605})
    source = source_of(tmp_path, table, columns={"x": lw.number(0, 60)})
    source.bounds("x", epsilon=100)
    (clipped,) = source.plan(lw.mean("x"), epsilon=1).clipped
    assert clipped.share[0] is None
    assert clipped.share[1] == 0
    assert clipped.share[2] == pytest.approx(0.605, abs=0.01)
    assert clipped.to_dict()["share"]["value"] is None
    assert ": between 0 % and 6" in str(clipped)
    (whole,) = source.declare(x=lw.number(0, 100)).plan(lw.mean("x"), epsilon=1).clipped
    assert whole.share[0] == 0
    assert ": 0 % of all rows with a value (0 % to " in str(whole)
