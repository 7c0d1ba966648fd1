"""Claims W1 and W2: weighted means, with sums, sums of weights and rows from the same cells."""

from fractions import Fraction as F
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.measure.measurement import Setting, Sums
from lapwing.question.schema import make_schema

from ..tables import engine_tally, make, plan_of

COLUMNS = {"x": lw.number(-1, 2, integer=True), "y": lw.number(0, 4, integer=True), "key": lw.keys("a", "b")}
FULL = 2**16


def schema_of(people=True, k=2, neighbors="add_remove"):
    return make_schema("t", COLUMNS, "person" if people else None, k if people else None, neighbors, None)


ALL = (lw.count(), lw.mean("x", weight="y"), lw.count(weight="y"), lw.sum("x", weight="y"))
CELL = st.sampled_from([None, float("nan"), -7.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 1e308])
ROW = st.fixed_dictionaries(
    {"person": st.sampled_from([None, "p", "q"]), "x": CELL, "y": CELL, "key": st.sampled_from(["a", "b", None])}
)


def clamped(cell, low, high):
    return None if cell is None or not abs(cell) < 1.8e308 else min(max(round(cell), low), high)


def python_cells(schema, rows, by, rest=True):
    """Return {group: above, below, missing, rest}, row by row."""
    kept = [row for row in rows if schema.person is None or row["person"] is not None]
    found = {}
    for row in kept:
        number = sum(each["person"] == row["person"] for each in kept)
        weight = 1
        if schema.person is not None:
            weight = FULL if number <= schema.rows_per_person else schema.rows_per_person * FULL // number
        group = ("a", "b").index(row["key"]) if by and row["key"] is not None else None if by else 0
        if group is None:
            continue
        value, own = clamped(row["x"], -1, 2), clamped(row["y"], 0, 4) or 0
        cells = (
            [0, 0, 3 * own, 3 * (4 - own)]
            if value is None
            else [own * (value + 1), own * (2 - value), 0, 3 * (4 - own)]
        )
        before = found.setdefault(group, [0] * 4)
        found[group] = [one + weight * other for one, other in zip(before, cells, strict=True)]
    return {group: cells[: 4 if rest else 2] for group, cells in found.items()}


@settings(max_examples=60)
@given(rows=st.lists(ROW, max_size=8), people=st.booleans(), by=st.booleans(), rest=st.booleans())
def test_W1_the_cells_are_those_of_a_second_road(rows, people, by, rest):
    schema = schema_of(people)
    plan = plan_of(schema, ALL if rest else ALL[1:2], ("key",) if by else ())
    (measured,) = plan.measured
    assert measured.names == ("above", "below", "missing", "rest")[: 4 if rest else 2]
    found = engine_tally(plan.schema, plan, make(rows, "arrow", None, ("person", "x", "y", "key")))
    fine = measured.fine
    occurring = {group: [cell // fine for cell in cells[0]] for group, cells in found.items() if any(cells[0])}
    expected = {group: cells for group, cells in python_cells(schema, rows, by, rest).items() if any(cells)}
    assert all(cell % fine == 0 for cells in found.values() for cell in cells[0])
    assert occurring == expected


@pytest.mark.parametrize("neighbors", ["add_remove", "change_one"])
@pytest.mark.parametrize("rest", [False, True], ids=["mean alone", "with rows"])
@pytest.mark.parametrize("by", [(), ("key",)], ids=["one group", "groups"])
def test_W1_one_person_moves_the_cells_by_exactly_the_sensitivity_at_most(neighbors, rest, by):
    schema = schema_of(True, 2, neighbors)
    plan = plan_of(schema, ALL if rest else ALL[1:2], by)
    (part,) = plan.parts
    rows = [
        {"person": "p", "x": x, "y": y, "key": key}
        for x, y, key in product((None, -1, 0, 2), (None, 0, 1, 4), ("a", "b") if by else ("a",))
    ]
    owned = [(), *((row,) for row in rows), *combinations_with_replacement(rows, 2)]
    owned += [(row, row, row) for row in rows]
    fine, groups = part.measurement.fine, 2 if by else 1
    tables = []
    for own in owned:
        cells = python_cells(schema, own, by, rest)
        tables.append([cell * fine for group in range(groups) for cell in cells.get(group, [0] * (4 if rest else 2))])
    array = np.array(tables, dtype=object)
    others = array[:1] if neighbors == "add_remove" else array
    farthest = max(int(np.abs(array - other).sum(axis=1).max()) for other in others)
    declared = plan.sensitivity(part)
    assert declared == (1 if neighbors == "add_remove" else 2) * 2 * FULL * part.measurement.mass
    if rest or by or neighbors == "add_remove":
        assert farthest == declared
    assert farthest <= declared


def test_W2_the_estimates_are_those_of_exact_sums():
    schema = schema_of(False)
    rows = [(x, y) for x in (-1, 0, 2, None) for y in (0, 1, 3, 4, None)]
    plan = plan_of(schema, ALL)
    (measured,) = plan.measured
    setting = Setting(plan.schema, plan.query, F(1), 1000)
    index = [(None if x is None else x + 1, y or 0) for x, y in rows]
    sums = Sums(
        len(rows), sum(w for i, w in index if i is not None), sum(w * i for i, w in index if i is not None),
        sum(w for _, w in index),
    )  # fmt: skip
    cells = measured.cells(sums)
    present = [(x, y or 0) for x, y in rows if x is not None]
    truth = {
        "count": F(len(rows)),
        "sum_y": F(sum(y or 0 for _, y in rows)),
        "sum_x_y": F(sum(x * y for x, y in present)),
    }
    for statistic in plan.query.statistics:
        if statistic.kind == "mean":
            noisy = [np.array([cell]) for cell in cells]
            estimate = measured.estimate(statistic, noisy, setting, F(19, 20), 1)
            mean = F(truth["sum_x_y"], sum(y for _, y in present))
            assert estimate.value[0] == pytest.approx(float(mean), abs=1e-12)
        else:
            weights = measured.linear(statistic, setting)
            assert sum(w * c for w, c in zip(weights, cells, strict=True)) == truth[statistic.name]


@pytest.mark.parametrize("share", [F(0), F(1, 3), F(1, 2), F(9, 10)])
def test_W2_the_variance_is_half_of_that_of_a_centred_numerator_and_a_denominator(share):
    weights, most, epsilon = F(700), F(4), F(1, 2)  # Σv and W, for a range of 1
    scale = most / epsilon
    above, below = share * weights, (1 - share) * weights

    def mean(a, b):
        return a / (a + b)

    tiny = F(1, 10**9)
    slopes = [
        (mean(above + tiny, below) - mean(above, below)) / tiny,
        (mean(above, below + tiny) - mean(above, below)) / tiny,
    ]
    variance = 2 * scale**2 * sum(slope**2 for slope in slopes)
    claimed = 2 * (most / epsilon) ** 2 * ((1 - share) ** 2 + share**2) / weights**2
    assert abs(variance / claimed - 1) < F(1, 10**6)
    half = epsilon / 2
    centred, denominator = (most / 2) / half, most / half  # the scales of Σv(x - ½) and of Σv
    usual = 2 * (centred**2 + (share - F(1, 2)) ** 2 * denominator**2) / weights**2
    assert usual == 2 * claimed
    plain = 2 * ((most / half) ** 2 + share**2 * denominator**2) / weights**2
    assert plain >= 4 * claimed


def test_the_weighted_mean_is_recognised_in_sql_and_shares_one_measurement():
    schema = schema_of(False)
    from lapwing.question.sql import parse

    text = "SELECT SUM(y * x) / SUM(y) AS m, SUM(y) AS w, SUM(x * y) AS s, COUNT(*) AS n FROM t"
    asked = parse(text, schema)
    assert asked.text == 'SELECT COUNT(*), SUM("x" * "y"), SUM("x" * "y") / SUM("y"), SUM("y") FROM "t"'
    assert parse(asked.text, schema, recorded=True).text == asked.text
    share = parse("SELECT SUM(y * CASE WHEN key = 'a' THEN 1 ELSE 0 END) / SUM(y) FROM t", schema)
    assert share.text == plan_of(schema, (lw.proportion("key = 'a'", weight="y"),)).query.text
    assert len(plan_of(schema, ALL).parts) == 1


def test_weights_need_bounds_that_are_not_negative_and_a_number_is_a_share():
    with pytest.raises(errors.UnsupportedQuery, match="negative"):
        plan_of(schema_of(), (lw.mean("y", weight="x"),))
    with pytest.raises(errors.InvalidParameter, match="share=3"):
        lw.mean("y", weight=3)
    with pytest.raises(errors.InvalidParameter, match="share="):
        lw.mean("y", weight="0.5")
