"""Claims P1 to P6: what one person can move, and what the cells give back."""

import math
from fractions import Fraction as F
from itertools import combinations, product

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.measure.kinds import measurements
from lapwing.measure.measurement import Setting, Sums
from lapwing.measure.public_n import has_public_n
from lapwing.plan.planning import make_plan
from lapwing.question.schema import Grid, make_schema, number
from lapwing.question.sql import make_query, parse

from ..tables import (
    CODES,
    DAYS,
    KEYS,
    NASTY,
    PERSONS,
    distance,
    engine_tally,
    make,
    measurement_of,
    plan_of,
    python_tally,
)  # fmt: skip

COLUMNS = {
    "x": lw.number(-2, 7, integer=True),
    "y": lw.number("-0.5", 100),
    "key": lw.keys("a", "b", other="other"),
    "code": lw.keys(1, 2),
    "day": "date",
    "yes": "boolean",
}
ROW = st.fixed_dictionaries(
    {
        "person": st.sampled_from(PERSONS),
        "x": st.sampled_from(NASTY),
        "y": st.one_of(st.sampled_from(NASTY), st.floats(-10, 120)),
        "key": st.sampled_from(KEYS),
        "code": st.sampled_from(CODES),
        "day": st.sampled_from(DAYS),
        "yes": st.sampled_from([True, False, None]),
    }
)
QUERIES = [
    ((lw.count(),), (), None),
    ((lw.count(),), ("key", "code"), None),
    ((lw.count("x"), lw.count()), ("key",), None),
    ((lw.sum("x"),), (), "x > 0"),
    ((lw.sum("y"),), ("code",), None),
    ((lw.mean("x"), lw.mean("y"), lw.count()), ("key",), "day >= '2024-01-01' OR yes"),
    ((lw.variance("x"), lw.sum("x"), lw.count()), ("key",), "NOT (x = 7)"),
    ((lw.std("y"),), (), None),
    ((lw.proportion("x > 1 OR yes"), lw.mean("x")), ("code",), None),
    ((lw.histogram("x", [-2, 0, "2.5", 7]),), ("key",), None),
]


def schema_of(person, k, neighbors):
    return make_schema("t", COLUMNS, "person" if person else None, k if person else None, neighbors, None)


@settings(max_examples=60)
@given(
    rows=st.lists(ROW, max_size=9),
    new=st.lists(ROW, min_size=1, max_size=4),
    question=st.sampled_from(QUERIES),
    person=st.booleans(),
    k=st.integers(1, 3),
    neighbors=st.sampled_from(["add_remove", "change_one"]),
)
def test_P1_P4_no_person_moves_the_cells_by_more_than_declared(
    rows, new, question, person, k, neighbors, tmp_path_factory
):
    """The engine's own tally, on neighbors over a nasty domain."""
    schema = schema_of(person, k, neighbors)
    plan = plan_of(schema, *question)
    if person:
        others = [row for row in rows if row["person"] != "p"]
        mine = [{**row, "person": "p"} for row in rows if row["person"] == "p"]
        changed = others + [{**row, "person": "p"} for row in new]
        one, two = (others, changed) if neighbors == "add_remove" else (others + mine, changed)
    else:
        one = rows if neighbors == "add_remove" else rows + new[:1]
        two = rows + (new[1:2] or new[:1] if neighbors == "change_one" else new[:1])
    tallies = [engine_tally(schema, plan, make(side, "arrow", None)) for side in (one, two)]
    n = len(two) if has_public_n(schema, plan.query) else None
    for moved, part in zip(distance(*tallies, plan.parts), plan.parts, strict=True):
        assert moved <= plan.sensitivity(part, n)


PEOPLE = [
    ((lw.people(),), (), None),
    ((lw.people(),), ("code",), None),
    ((lw.people(),), ("key", "code"), "x > 0 OR yes"),
    ((lw.people(), lw.count(), lw.mean("x")), ("key",), None),
]


@settings(max_examples=60)
@given(
    rows=st.lists(ROW, max_size=12),
    mine=st.lists(ROW, max_size=5),
    instead=st.lists(ROW, max_size=5),
    question=st.sampled_from(PEOPLE),
    k=st.integers(1, 4),
    neighbors=st.sampled_from(["add_remove", "change_one"]),
)
def test_P7_a_person_counts_once_in_each_group_and_moves_no_more_than_declared(
    rows, mine, instead, question, k, neighbors
):
    schema = schema_of(True, k, neighbors)
    plan = plan_of(schema, *question)
    kept = {None: lambda row: True, "x > 0 OR yes": lambda row: least(row["x"], 1) or row["yes"] is True}[question[2]]
    others = [row for row in rows if row["person"] != "p"]
    sides = [[*others, *({**row, "person": "p"} for row in own)] for own in (mine, instead)]
    sides[0] = others if neighbors == "add_remove" else sides[0]
    number = [each.form for each in plan.measured].index("people")
    tallies = []
    for side in sides:
        found = engine_tally(schema, plan, make(side, "arrow", None))
        expected = python_tally(schema, plan, side, kept)
        tallies.append({group: cells[number] for group, cells in found.items() if any(cells[number])})
        assert tallies[-1] == {group: cells[number] for group, cells in expected.items() if any(cells[number])}
    moved = sum(abs(tallies[0].get(group, (0,))[0] - tallies[1].get(group, (0,))[0]) for group in set().union(*tallies))
    assert moved <= plan.sensitivity(plan.parts[number])


def least(value, bound):
    """Return whether a cell of whole numbers is above 0, which is to say: 1 or more, also where a cell is 0.5."""
    return value is not None and value == value and abs(value) != math.inf and value >= bound


@pytest.mark.parametrize("groups", range(1, 6))
@pytest.mark.parametrize("k", range(1, 5))
def test_P7_the_sensitivity_is_the_largest_move_over_all_sets_of_groups(groups, k):
    """By a second computation: every set of groups a person may be in, with exact shares."""
    sets = [set(own) for size in range(groups + 1) for own in combinations(range(groups), size)]
    shares = [[F(min(len(own), k), max(len(own), 1)) if g in own else F(0) for g in range(groups)] for own in sets]
    apart = [sum(abs(a - b) for a, b in zip(one, two, strict=True)) for one in shares for two in shares]
    for neighbors, most in (("add_remove", max(map(sum, shares))), ("change_one", max(apart))):
        columns = {"g": lw.keys(range(groups))}
        schema = make_schema("t", columns, "person", k, neighbors, None)
        plan = plan_of(schema, (lw.people(),), ("g",))
        (part,) = plan.parts
        assert plan.sensitivity(part) * part.measurement.unit(plan.setting(part)) == most


@pytest.mark.parametrize("form", ["rows", "count", "mean", "variance"])
@pytest.mark.parametrize("value", [0, 1, 4, 9])
@pytest.mark.parametrize("missing", [False, True])
def test_P1_a_row_carries_exactly_its_mass(form, value, missing):
    measurement = measurement_of(
        form, None if form == "rows" else "x", grid=Grid(F(1), -3, 6), missing=missing and form != "rows"
    )
    cells = measurement.cells(Sums(5, 5, 5 * value, 5 * value * value))
    assert sum(map(abs, cells)) == 5 * measurement.mass
    assert min(cells) >= 0
    if measurement.missing:
        assert sum(measurement.cells(Sums(5, 0, 0, 0))) == 5 * measurement.mass


def test_P1_the_sensitivity_is_attained():
    """A witness for each form: no smaller number would do."""
    schema = schema_of(True, 2, "add_remove")
    for statistic, value in ((lw.count(), 0), (lw.sum("x"), 7), (lw.mean("x"), 3), (lw.variance("x"), 5)):
        plan = plan_of(schema, (statistic,), "key")
        rows = [{"person": "p", "x": float(value), "key": "a"}, {"person": "p", "x": float(value), "key": "b"}]
        (moved,) = distance({}, python_tally(schema, plan, rows), plan.parts)
        assert moved == plan.sensitivity(plan.parts[0])
    plan = plan_of(schema_of(False, 1, "change_one"), (lw.mean("x"),), "key")
    sides = [[{"x": -2.0, "key": "a"}], [{"x": 7.0, "key": "b"}]]
    (moved,) = distance(*(python_tally(plan.schema, plan, side) for side in sides), plan.parts)
    assert moved == plan.sensitivity(plan.parts[0]) == 2 * plan.parts[0].measurement.mass


VALUES = st.lists(st.integers(0, 12), min_size=1, max_size=30)


@given(values=VALUES, low=st.integers(-20, 20))
def test_P2_mean_count_and_sum_come_back_exactly(values, low):
    measurement = measurement_of("mean", "x", grid=Grid(F(1, 3), low, low + 12))
    above, below = measurement.cells(sums(values))
    truth = [F(1, 3) * (low + v) for v in values]
    high = low + 12
    assert F(1, 3) * F(above * high + below * low, above + below) == sum(truth) / len(values)
    setting = Setting(schema_of(False, 1, "add_remove"), None, F(1), 1)
    assert weighed(measurement.linear(lw.sum("x"), setting), (above, below)) == sum(truth)
    assert weighed(measurement.linear(lw.count("x"), setting), (above, below)) == len(values)


@given(values=VALUES, low=st.integers(-20, 20))
def test_P3_variance_mean_count_and_sum_come_back_exactly(values, low):
    measurement = measurement_of("variance", "x", grid=Grid(F(1, 3), low, low + 12))
    cells = measurement.cells(sums(values))
    b0, b1, b2 = (F(cell) for cell in cells)
    n, total = len(values), b0 + b1 + b2
    truth = [F(1, 3) * (low + v) for v in values]
    mean = sum(truth) / n
    assert 12**2 * (b0 * b2 - b1**2 / 4) / total**2 / 9 == sum((v - mean) ** 2 for v in truth) / n
    assert F(1, 3) * (low + 12 * (b1 / 2 + b2) / total) == mean
    setting = Setting(schema_of(False, 1, "add_remove"), None, F(1), 1)
    assert weighed(measurement.linear(lw.sum("x"), setting), cells) == sum(truth)
    assert weighed(measurement.linear(lw.count("x"), setting), cells) == n


def sums(values):
    return Sums(len(values), len(values), sum(values), sum(v * v for v in values))


def weighed(weights, cells):
    return sum(w * c for w, c in zip(weights, cells, strict=True))


def test_P2_the_variance_of_the_mean_is_half_that_of_the_centred_split():
    """To first order, at any mean m in [L, U]: (R/nε)²·2(t² + (1-t)²) against (R/nε)²·(2 + 2·4(t - ½)²)."""
    for t in np.linspace(0, 1, 101):
        ours = 2 * (t**2 + (1 - t) ** 2)
        split = 2 * (2 * 0.5) ** 2 + 2 * (2 * abs(t - 0.5)) ** 2  # scales (R/2)/(ε/2) and 1/(ε/2), times |m - mid|
        assert split / ours == pytest.approx(2)


@pytest.mark.parametrize(("low", "high", "moved"), [(2, 9, 9), (-5, 3, 8), (-7, -1, 7)])
def test_P4_T13_one_total_under_change_one(low, high, moved):
    columns = {"x": number(low, high, integer=True)}
    schema = make_schema("t", columns, None, None, "change_one", None)
    assert plan_of(schema, (lw.sum("x"),), where="x IS NOT NULL").forecasts[0].sensitivity == moved
    worst = max(abs(a - b) for a, b in product([0, low, high], repeat=2))
    assert worst == moved


@pytest.mark.parametrize("n", [1, 2, 3])
def test_P5_whole_tables_over_a_tiny_domain_by_brute_force(n):
    """All tables of n rows over low, middle, high and missing, all their neighbors; the bound is attained."""
    schema = make_schema("t", {"x": number(0, 2, integer=True)}, None, None, "change_one", None)
    plan = plan_of(schema, (lw.mean("x"), lw.variance("x", sample=False)))
    worst = [0, 0]
    for table in product([0.0, 1.0, 2.0, None], repeat=n):
        for changed in [0.0, 1.0, 2.0, None]:
            sides = [[{"x": v} for v in t] for t in (table, (*table[:-1], changed))]
            moved = distance(*(python_tally(schema, plan, side) for side in sides), plan.parts)
            worst = [max(pair) for pair in zip(worst, moved, strict=True)]
    declared = [plan.sensitivity(part, n) for part in plan.parts]
    assert declared == [2, 4 * max(n - 1, 1)]
    assert worst == [2, 4 * (n - 1)]


def test_P5_T13_seed_001_the_scale_of_the_mean_weight():
    people = make_schema("people", {"weight": number(30, 150)}, None, None, "change_one", None)
    query = parse("SELECT AVG(weight), COUNT(*) FROM people", people)
    for n, scale in ((4, 30), (1000, F(12, 100))):
        for epsilon in (1, F(1, 10)):
            plan = make_plan(people, query, epsilon=epsilon, rows=n)
            mean, count = plan.forecasts
            assert mean.sensitivity == scale
            assert mean.scale == scale / epsilon
            assert count.sensitivity == 0


def test_P5_a_where_a_group_or_a_person_column_makes_n_private_again():
    plain = make_schema("t", {"x": number(0, 1), "key": lw.keys("a")}, None, None, "change_one", None)
    assert measurements(plain, make_query([lw.count()], (), None, plain)) == ()
    assert measurements(plain, make_query([lw.count()], (), "x > 0", plain))
    assert measurements(plain, make_query([lw.count()], "key", None, plain))
    people = make_schema("t", {"x": number(0, 1)}, "p", 1, "change_one", None)
    assert measurements(people, make_query([lw.count()], (), None, people))


def test_P5_a_missing_value_counts_as_the_middle():
    schema = make_schema("t", {"x": number(0, 10, integer=True)}, None, None, "change_one", None)
    plan = plan_of(schema, (lw.sum("x"),))
    assert engine_tally(schema, plan, make([{"x": None}, {"x": 10.0}], "arrow", None)) == {0: [(15,)]}


@pytest.mark.parametrize("person", [False, True])
def test_P1_several_cells_under_change_one_count_twice(person):
    schema = schema_of(person, 3, "change_one")
    for statistics in ((lw.mean("x"),), (lw.variance("x"),), (lw.count("x"), lw.count())):
        plan = plan_of(schema, statistics, where="x IS NOT NULL")
        (part,) = plan.parts
        assert plan.sensitivity(part) == 2 * schema.person_l1 * part.measurement.mass


def test_P1_a_total_is_bounded_by_the_end_further_from_zero():
    for low, high in ((-9, 2), (-2, 9)):
        schema = make_schema("t", {"x": number(low, high, integer=True)}, None, None, "add_remove", None)
        assert plan_of(schema, (lw.sum("x"),), where="x IS NOT NULL").forecasts[0].sensitivity == 9


def test_P5_a_share_beside_the_public_count():
    schema = make_schema("t", {"x": number(0, 1)}, None, None, "change_one", None)
    plan = plan_of(schema, (lw.count(), lw.proportion("x > 0")))
    assert [forecast.sensitivity for forecast in plan.forecasts] == [0, F(1, 1000)]


def test_P5_the_number_of_rows_is_public_only_where_none_can_be_left_out(tmp_path):
    """Lines of a CSV file may be left out, and a frame or relation may be what a filter left."""
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    frame = pd.DataFrame({"x": [1]})
    frame.to_parquet(tmp_path / "t.parquet")
    relation = duckdb.connect().sql("SELECT 1 AS x")
    csv, parquet = str(tmp_path / "t.csv"), str(tmp_path / "t.parquet")
    asked = ((csv, None, 1), (csv, False, 1), (parquet, None, 0), (parquet, False, 1), (frame, None, 1),
             (frame, True, 0), (relation, None, 1), (relation, True, 0))  # fmt: skip
    common = {"name": "t", "columns": {"x": number(0, 1)}, "neighbors": "change_one", "epsilon": 1}
    for table, said, scale in asked:
        source = lw.Source(table, public_rows=said, **common)
        assert source.plan(lw.count(), epsilon=1).forecasts[0].scale == scale
        assert source.declare(y="text").plan(lw.count(), epsilon=1).forecasts[0].scale == scale
    with pytest.raises(errors.InvalidSource, match="may be left out"):
        lw.Source(csv, public_rows=True, **common)
    with pytest.raises(errors.InvalidParameter, match="public_rows is true or false"):
        lw.Source(frame, public_rows="yes", **common)


@given(
    st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=2, unique=True),
    st.integers(1, 10**9),
    st.lists(st.fractions(F(1, 100), 100, max_denominator=100), min_size=2, max_size=2),
)
def test_P6_the_shares_add_up_to_epsilon(columns, nano, weights):
    schema = schema_of(True, 3, "add_remove")
    statistics = [lw.mean(c, share=w) for c, w in zip(columns, weights, strict=False)]
    plan = plan_of(schema, statistics, epsilon=F(nano, 10**9))
    assert sum(part.epsilon for part in plan.parts) == plan.epsilon
    for part in plan.parts:
        assert plan.scale(part) * part.epsilon == plan.sensitivity(part)


def test_T12_under_add_remove_nothing_depends_on_n():
    schema = schema_of(True, 3, "add_remove")
    for question in QUERIES:
        plan = plan_of(schema, *question)
        assert [plan.scale(part, 5) for part in plan.parts] == [plan.scale(part, 5000) for part in plan.parts]


def test_T13_the_two_relations():
    for neighbors, histogram, total in (("add_remove", 1, 7), ("change_one", 2, 14)):
        schema = schema_of(False, 1, neighbors)
        assert plan_of(schema, (lw.histogram("x", [-2, 0, 7]),)).forecasts[0].sensitivity == histogram
        assert plan_of(schema, (lw.count(),), "key").forecasts[0].sensitivity == histogram
        assert plan_of(schema, (lw.sum("x"),), "key").forecasts[0].sensitivity == total
    whole = schema_of(False, 1, "change_one")
    assert plan_of(whole, (lw.sum("x"),)).forecasts[0].sensitivity == 9
    assert plan_of(whole, (lw.count(),), where="x > 0").forecasts[0].sensitivity == 1


def test_T35_the_mass_does_not_grow_with_the_number_of_groups():
    schema = schema_of(True, 3, "add_remove")
    assert plan_of(schema, (lw.count(),), ("key", "code")).forecasts[0].sensitivity == 3
