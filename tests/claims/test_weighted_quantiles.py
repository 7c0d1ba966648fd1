"""Claim W3: quantiles of rows that have weights.

The weights of rows, the distances of candidates and the counts around them are computed again, row by row, and
compared over all neighbors of small tables; the law of a release is computed as for claims Q1 to Q3.
"""

import math
from collections import Counter
from fractions import Fraction as F
from itertools import combinations_with_replacement, product

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.engine.connect import connect
from lapwing.measure import selection
from lapwing.measure.selection import Aim, ValueWeights, _between, _Rows, _spread, sorted_values
from lapwing.noise.entropy import SYSTEM, EntropyForTests
from lapwing.plan.planning import make_plan
from lapwing.question.schema import make_schema
from lapwing.question.sql import parse
from lapwing.release.estimate import estimates

from .. import statistics as stats
from ..tables import plan_of
from .test_selection import distances, few_parts, law, loss, outcome
from .test_weighted import CELL, clamped

__all__ = ["few_parts"]

FULL = 2**16
COLUMNS = {
    "x": lw.number(0, 2, integer=True),
    "w": lw.number(0, 3, integer=True),
    "key": lw.keys("a", "b"),
}
NEIGHBORS = ["add_remove", "change_one"]


def schema_of(people=True, neighbors="add_remove", columns=COLUMNS):
    return make_schema("t", columns, "person" if people else None, 2 if people else None, neighbors, None)


def selection_of(levels, people=True, neighbors="add_remove", by=(), interval=False, columns=COLUMNS):
    plan = plan_of(
        schema_of(people, neighbors, columns), lw.quantile("x", list(levels), weight="w"), by, intervals=interval
    )
    (part,) = plan.parts
    return part.measurement.selection(plan.setting(part))


def weights_of(rows, people, by):
    """Return {(group, value): weight}, row by row; rows without a value, a person or a group are left out."""
    kept = [row for row in rows if not people or row["person"] is not None]
    found = Counter()
    for row in kept:
        number = sum(each["person"] == row["person"] for each in kept)
        weight = (FULL if number <= 2 else 2 * FULL // number) if people else 1
        value, own = clamped(row["x"], 0, 2), clamped(row["w"], 0, 3) or 0
        group = {"a": 0, "b": 1}.get(row["key"]) if by else 0
        if value is not None and group is not None:
            found[group, value] += weight * own
    return found


# --- what the engine sums ---

ROW = st.fixed_dictionaries(
    {"person": st.sampled_from([None, "p", "q"]), "x": CELL, "w": CELL, "key": st.sampled_from(["a", "b", None])}
)


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(ROW, max_size=8), people=st.booleans(), by=st.booleans())
def test_W3_the_weights_are_those_of_a_loop_over_the_rows(rows, people, by):
    plan = plan_of(schema_of(people), (lw.median("x", weight="w"),), ("key",) if by else ())
    types = {"person": pa.string(), "x": pa.float64(), "w": pa.float64(), "key": pa.string()}
    table = pa.table({name: pa.array([row[name] for row in rows], each) for name, each in types.items()})
    spread = sorted_values(*connect(table, "t").tally(plan.schema, plan.lowered).own)
    places = zip(spread.groups.tolist(), spread.indices.tolist(), strict=True)
    found = dict(zip(places, spread.weights.tolist(), strict=True))
    assert found == weights_of(rows, people, by)


@pytest.mark.usefixtures("frozen_noise")
def test_W3_sums_beyond_64_bits_are_exact_and_released(tmp_path):
    rows, most = 140_000, 2**31 - 2
    connection = duckdb.connect()
    table = connection.sql(f"SELECT i AS person, i % 7 AS x, {most} - i % 2 AS w FROM range({rows}) t(i)")
    columns = {"x": lw.number(0, 9, integer=True), "w": lw.number(0, most, integer=True)}
    source = lw.Source(
        table, name="t", columns=columns, person="person", rows_per_person=1, epsilon=9, ledger=tmp_path / "t.ledger"
    )
    plan = source.plan(lw.median("x", weight="w"), lw.quantile("x", 0.9, weight="w"), epsilon=4)
    spread = sorted_values(*source._table.tally(plan.schema, plan.lowered).own)
    expected = [sum(FULL * (most - i % 2) for i in range(x, rows, 7)) for x in range(7)]
    assert sum(expected) > 2**63
    assert spread.weights.tolist() == expected
    median, upper = source.release(*plan.query.statistics, epsilon=4).estimates.values()
    assert [(int(each.low[0]), int(each.high[0])) for each in (median, upper)] == [(3, 3), (6, 6)]


# --- neighbors ---


def people_of(by):
    """All that one person may bring: up to two rows, or three of one kind, of every value, weight and group."""
    rows = [
        {"person": "p", "x": x, "w": w, "key": key}
        for x, w, key in product((None, 0, 2), (None, 1, 3), ("a", "b") if by else ("a",))
    ]
    return [(), *((row,) for row in rows), *combinations_with_replacement(rows, 2), *((row,) * 3 for row in rows)]


OTHERS = [
    [],
    [("q", 0, 1), ("r", 1, 2)],
    [("q", 1, 3), ("q", 1, 3), ("r", 2, 3)],
    [(name, x, 3) for name in "qrs" for x in (0, 2)],
]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("by", [(), ("key",)], ids=["one group", "groups"])
def test_W3_one_person_moves_distances_and_counts_by_what_is_charged(neighbors, by):
    """Over all groups, the lengths of the intervals in which distances move add up to at most R."""
    groups, levels = range(2 if by else 1), (F(1, 2), F(1, 10))
    farthest, widest = 0, dict.fromkeys(levels, F(0))
    for others in OTHERS:
        rest = weights_of([{"person": n, "x": x, "w": w, "key": "a"} for n, x, w in others], True, by)
        tables = [rest + weights_of(own, True, by) for own in people_of(by)]
        cells = np.array([[[table[group, x] for x in range(3)] for group in groups] for table in tables])
        for j in range(1 if neighbors == "add_remove" else len(tables)):
            farthest = max(farthest, int(np.abs(cells - cells[j]).sum(axis=(1, 2)).max()))
        for level in levels:
            off = [[distances(range(3), own, level, F(0), range(3)) for own in table] for table in cells.tolist()]
            tenths = np.array([[[int(10 * d) for d in own] for own in table] for table in off])
            for j in range(1 if neighbors == "add_remove" else len(tables)):
                reach = int(np.ptp(tenths - tenths[j], axis=2).sum(axis=1).max())
                widest[level] = max(widest[level], F(reach, 10))
    declared = {level: selection_of([level], True, neighbors, by) for level in levels}
    for level, made in declared.items():
        assert made.moved == (1 if neighbors == "add_remove" else 2) * 2 * 3 * FULL
        assert farthest == made.moved
        assert widest[level] <= made.score_range(level, True)
        assert widest[level] > made.score_range(level, True) / 2
        if neighbors == "add_remove":
            assert made.score_range(level, True) == 2 * max(level, 1 - level) * 2 * 3 * FULL


def spots_of(own, people):
    return [(group, value, weight) for (group, value), weight in weights_of(own, people, True).items() if weight]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("levels", [(F(1, 2),), (F(1, 5),), (F(1, 3), F(2, 3))], ids=str)
def test_W3_the_law_of_all_values_is_within_e_to_epsilon_for_rows(neighbors, levels, few_parts, monkeypatch):
    """Every table of up to two rows of weights 1, 3 or none on a grid of three values, and every row beside them."""
    made = selection_of(levels, False, neighbors)
    rows = [(0, x, w) for x in range(3) for w in (1, 3)]
    tables = [t for size in range(3) for t in combinations_with_replacement([*rows, None], size)]
    if len(levels) > 1:
        tables = tables[::2]
    laws = {table: law(outcome(made, [row for row in table if row]), monkeypatch) for table in tables}
    worst = 0.0
    for one, other in product(laws, laws):
        if neighbors == "add_remove":
            near = len(other) == len(one) + 1 and not Counter(one) - Counter(other)
        else:
            near = len(one) == len(other) and sum((Counter(one) - Counter(other)).values()) == 1
        if near:
            worst = max(worst, loss(laws[one], laws[other]))
    assert float(made.epsilon) / 4 < worst <= float(made.epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_W3_the_law_of_all_values_is_within_e_to_epsilon_for_people_in_groups(neighbors, few_parts, monkeypatch):
    columns = {**COLUMNS, "x": lw.number(0, 1, integer=True)}
    made = selection_of((F(1, 3),), True, neighbors, ("key",), columns=columns)
    rows = [{"person": "p", "x": x, "w": w, "key": key} for x, w, key in product((0, 1), (1, 3), "ab")]
    owned = [(), *combinations_with_replacement(rows, 2), *((row,) * 3 for row in rows)]
    others = [(0, 0, 2 * FULL), (1, 1, FULL), (1, 0, 3 * FULL)]
    laws = [law(outcome(made, [*others, *spots_of(own, True)], 2), monkeypatch) for own in owned]
    pairs = [(one, laws[0]) for one in laws] if neighbors == "add_remove" else product(laws, laws[::4])
    worst = max(loss(*pair) for pair in pairs)
    assert float(made.epsilon) / 4 < worst <= float(made.epsilon) * (1 + 1e-9)


def test_W3_a_reach_that_forgets_the_largest_weight_is_noticed(few_parts, monkeypatch):
    """The enumeration can fail: with R for weights of 1 the ratio is beyond e^ε."""
    right = selection.Selection.score_range
    monkeypatch.setattr(selection.Selection, "score_range", lambda self, *given: right(self, *given) / 3)
    made = selection_of((F(1, 2),), False)
    tables = [[(0, x, 1) for x in (0, 1, 2)], [*((0, x, 1) for x in (0, 1, 2)), (0, 2, 3)]]
    assert loss(*(law(outcome(made, rows), monkeypatch) for rows in tables)) > float(made.epsilon)


def test_W3_the_shares_add_up_to_epsilon():
    for levels in ((F(1, 2),), (F(1, 4), F(1, 2), F(3, 4)), (F(1, 10), F(9, 10))):
        made = selection_of(levels, interval=True)
        spent = made.each * made.depth + made.moved / made.scale + made.end * min(len(levels), 2)
        assert spent == made.epsilon


# --- integers of any size ---

WEIGHTED = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 50)), max_size=8)


def columns_of(rows, times=1, kind=np.int64):
    found = Counter()
    for value, weight in rows:
        found[value] += weight
    values = sorted(found)
    return np.array(values, np.int64), np.array([found[value] * times for value in values], kind)


@given(WEIGHTED, st.fractions(0, 1, max_denominator=50), st.integers(-9, 9), st.sampled_from([1, 2**40, 2**90]))
def test_W3_the_distances_of_a_choice_are_exact_for_weights_of_any_size(rows, level, shift, times):
    seen = {}

    def race(exponents, unit, sizes, entropy):
        seen["all"] = [int(e) * unit for e, size in zip(exponents, sizes, strict=True) for _ in range(size)]
        return next(j for j, size in enumerate(sizes) if size), 0

    original, selection.race = selection.race, race
    try:
        _Rows(*columns_of(rows, times, object), 0, 6)._choose(Aim(level, F(shift * times)), F(1, 3 * times), SYSTEM)
    finally:
        selection.race = original
    expected = distances([x for x, _ in rows], [w for _, w in rows], level, shift, range(7))
    assert seen["all"] == [(d - min(expected)) / 3 for d in expected]


@given(WEIGHTED, st.sampled_from([1, 7, 50]), st.sampled_from([2**40, 2**90]))
def test_W3_large_weights_are_spread_and_counted_as_small_ones_are(rows, block, times):
    index, weight = columns_of(rows)
    _, large = columns_of(rows, times, object)
    places, shares = _spread(index, weight, block)
    far_places, far_shares = _spread(index, large, block * times)
    assert far_places.tolist() == places.tolist()
    assert far_shares.tolist() == [share * times for share in shares.tolist()]
    assert _between(index, large, [1, 3, 4]) == [cell * times for cell in _between(index, weight, [1, 3, 4])]


def test_W3_weights_stay_int64_while_all_of_them_fit():
    group, index = np.array([0, 0, 1]), np.array([2, 1, 0])
    small = sorted_values([group, index, np.array([5, 6, 7], object)])
    assert small.weights.dtype == np.int64
    assert small.weights.tolist() == [6, 5, 7]
    for weights in (np.array([2**62] * 3), np.array([2**80, 1, 2], object)):
        large = sorted_values([group, index, weights])
        assert large.weights.dtype == object
        assert large.weights.tolist() == [weights[1], weights[0], weights[2]]


def test_W3_large_integers_release_what_small_ones_do():
    made = selection_of((F(1, 4), F(1, 2)), False, by=("key",), interval=True)
    group, index = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 2])
    weight = np.array([40, 60, 50, 30, 90])
    one, other = (
        made.release(ValueWeights(group, index, weight.astype(kind)), 2, EntropyForTests(5))
        for kind in (np.int64, object)
    )
    assert one == other


# --- bars ---


def test_W3_bars_hold_the_weighted_quantile():
    """Heavy rows at high values: the quantile of rows is another, and is not in the bars."""
    rng, times, level = np.random.default_rng(8), 1500, F(1, 2)
    x, w = rng.integers(0, 101, 250), rng.integers(1, 9, 250)
    w[x > 60] += 12
    columns = {"x": lw.number(0, 100, integer=True), "w": lw.number(0, 20, integer=True), "g": lw.keys(range(times))}
    schema = make_schema("t", columns, None, None, "add_remove", None)
    plan = plan_of(schema, [lw.quantile("x", level, weight="w")], "g", epsilon=4)
    index, weight = columns_of(zip(x.tolist(), w.tolist(), strict=True))
    spread = ValueWeights(np.repeat(np.arange(times), len(index)), np.tile(index, times), np.tile(weight, times))
    (part,) = plan.parts
    noisy = part.measurement.selection(plan.setting(part)).release(spread, times, SYSTEM)
    (bar,) = estimates(plan, [noisy], None, F(19, 20), False)
    truth = index[np.searchsorted(np.cumsum(weight), float(level * int(weight.sum())))]
    stats.assert_covered("bars of weighted quantiles", (bar.low <= truth) & (truth <= bar.high), 0.95)
    unweighted = np.median(x)
    assert np.mean((bar.low <= unweighted) & (unweighted <= bar.high)) < 0.5


# --- what is asked, and what is said ---


def test_a_weighted_quantile_has_one_text_in_python_and_sql():
    schema = schema_of()
    asked = plan_of(schema, (lw.median("x", weight="w"), lw.quantile("x", "1/3", weight="w * (x > 1)"))).query
    assert asked.text == (
        'SELECT WEIGHTED_QUANTILE("x", "w" * ("x" >= 2), 1/3), WEIGHTED_QUANTILE("x", "w", 0.5) FROM "t"'
    )
    assert parse(asked.text, schema, recorded=True).text == asked.text
    sql = "SELECT weighted_median(x, w) AS m, Weighted_Quantile(x, (x > 1) * w, 1/3) FROM t"
    assert parse(sql, schema).text == asked.text


def test_quantiles_by_each_weight_are_measured_apart():
    plan = plan_of(schema_of(), (lw.median("x", weight="w"), lw.quantile("x", 0.9, weight="w"), lw.median("x")))
    assert [each.name for each in plan.measured] == ["quantiles of x", "quantiles of x by w"]
    assert [plan.answering(each) for each in plan.query.statistics] == [[1], [1], [0]]
    assert plan.columns == ("x", "w")


def test_the_plan_speaks_of_weight():
    plan = plan_of(schema_of(), (lw.median("x", weight="w"), lw.median("x")))
    weighted, plain = plan.forecasts
    assert weighted.bar_text(weighted.margin) == f"± {weighted.margin:.4g} of weight"
    assert plain.bar_text(plain.margin).endswith(" rows")
    assert (weighted.claim, plain.claim) == ("W3", "Q1")
    assert weighted.sensitivity == 3 * plain.sensitivity
    assert weighted.scale == 3 * plain.scale
    assert math.ceil(weighted.margin / 3) == plain.margin
    assert "of x by w" in plan.parts[1].measurement.explanation(plan.setting(plan.parts[1]))


def test_errors_of_weighted_quantiles_count_weight():
    columns = {**COLUMNS, "w": lw.number(0, 300)}
    query = plan_of(schema_of(False, columns=columns), (lw.median("x", weight="w"),)).query
    plan = make_plan(schema_of(False, columns=columns), query, error=3000)
    (forecast,) = plan.forecasts
    assert 2990 < forecast.margin <= 3000
    plain = plan_of(schema_of(False), (lw.median("x"),), epsilon=plan.epsilon)
    assert plain.forecasts[0].margin == math.ceil(forecast.margin / 300)


@pytest.mark.parametrize("ask", [lw.min, lw.max, lambda x, weight: lw.quantile(x, [0.5, 1], weight=weight)])
def test_a_minimum_and_a_maximum_have_no_weights(ask):
    with pytest.raises(errors.UselessParameter, match="a minimum or a maximum does not depend on weights"):
        plan_of(schema_of(), [ask("x", weight="w")])


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("WEIGHTED_QUANTILE(x, w)", "with other arguments"),
        ("WEIGHTED_MEDIAN(x, w, 0.5)", "with other arguments"),
        ("WEIGHTED_QUANTILE(x, 0.5, w)", "a share that is not a number"),
        ("WEIGHTED_QUANTILE(x, w, 0)", "does not depend on weights"),
        ("WEIGHTED_QUANTILE(x, w - 1, 0.5)", "can be negative"),
        ("WEIGHTED_QUANTILE(x, key, 0.5)", "which is not a number"),
        ("WEIGHTED_QUANTILE(x, w, 0.5) FILTER (WHERE x > 1)", "FILTER"),
        ("QUANTILE_WEIGHTED(x, w, 0.5)", "Did you mean WEIGHTED_QUANTILE"),
    ],
)
def test_what_is_no_weighted_quantile_is_refused(sql, why):
    with pytest.raises(errors.RequestError, match=why) as caught:
        parse(f"SELECT {sql} FROM t", schema_of())
    assert "othing was charged" in str(caught.value)
