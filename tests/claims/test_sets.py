"""Claim U6: the tables of one question are sums of the same rows, and agree with each other exactly."""

import types

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.engine.dialect import DUCKDB
from lapwing.engine.set_sql import split
from lapwing.engine.write_sql import lower
from lapwing.plan.left_out import left_out
from lapwing.question.schema import make_schema

from ..set_tables import engine_tables, margin, python_tables, question, subsets
from ..tables import make
from .test_measure import ROW

COLUMNS = {
    "x": lw.number(-2, 7, integer=True),
    "y": lw.number("-0.5", 100, edges=["-0.5", 0, "2.5", 50, 100]),
    "key": lw.keys(["a", "b"], other="rest"),
    "code": lw.keys([1, 2, 3]),
    "yes": lw.keys([False, True]),
    "day": "date",
}
TABLES = st.lists(st.sampled_from(subsets(("key", "code", "yes", "y"))), min_size=2, max_size=6, unique=True)
STATISTICS = st.sampled_from(
    [
        (lw.count(),),
        (lw.count("x"), lw.count()),
        (lw.sum("x"),),
        (lw.mean("x"), lw.count("day")),
        (lw.variance("x"), lw.sum("y"), lw.count()),
        (lw.proportion("y > 2"), lw.mean("x")),
    ]
)


def schema_of(person, k, neighbors):
    return make_schema("t", COLUMNS, "person" if person else None, k if person else None, neighbors, None)


@settings(max_examples=60)
@given(
    rows=st.lists(ROW, max_size=14),
    tables=TABLES,
    statistics=STATISTICS,
    person=st.booleans(),
    k=st.integers(1, 3),
    where=st.booleans(),
)
def test_U6_every_table_has_the_sums_of_the_rows_with_all_keys(rows, tables, statistics, person, k, where):
    asked = question(schema_of(person, k, "add_remove"), statistics, lw.sets(*tables), "code > 1" if where else None)
    table = make(rows, "arrow", None)
    found = engine_tables(asked, table)
    assert found == python_tables(asked, rows, lambda row: not where or (row["code"] is not None and row["code"] > 1))
    schema, query, _ = asked
    for large in query.tables:
        for small in query.tables:
            if set(small) < set(large):
                axes = tuple(query.by.index(name) for name in large)
                kept = [query.by.index(name) for name in small]
                summed = margin(found[large], query.shape(schema, large), axes, kept)
                assert {cell: each for cell, each in summed.items() if any(map(any, each))} == found[small]


@settings(max_examples=40)
@given(
    rows=st.lists(ROW, max_size=8),
    new=st.lists(ROW, min_size=1, max_size=4),
    tables=TABLES,
    statistics=STATISTICS,
    k=st.integers(1, 3),
    neighbors=st.sampled_from(["add_remove", "change_one"]),
)
def test_U6_one_person_moves_each_table_by_no_more_than_one_table_alone(rows, new, tables, statistics, k, neighbors):
    """By brute force: the distance of two tables with and without someone's rows is at most P1's mass."""
    asked = question(schema_of(True, k, neighbors), statistics, lw.sets(*tables))
    others = [row for row in rows if row["person"] != "p"]
    mine = [row for row in rows if row["person"] == "p"]
    changed = others + [{**row, "person": "p"} for row in new]
    pair = (others, changed) if neighbors == "add_remove" else (others + mine, changed)
    one, two = (engine_tables(asked, make(side, "arrow", None)) for side in pair)
    times = 1 if neighbors == "add_remove" else 2
    for name in one:
        for number, each in enumerate(asked[2]):
            moved = sum(
                abs(a - b)
                for cell in {*one[name], *two[name]}
                for a, b in zip(*(_cells(side[name], cell, number, each) for side in (one, two)), strict=True)
            )
            assert moved <= times * k * 2**16 * each.mass


def _cells(table, cell, number, measurement):
    return table[cell][number] if cell in table else (0,) * len(measurement.names)


def test_U6_a_result_is_split_by_table_in_whatever_order_its_rows_come():
    which, cell, rows = (np.array(each) for each in ([2, 0, 2, 0], [5, 1, 3, 0], [10, 2**40, 30, 40]))
    first, second, third = split([which, cell, rows], 3)
    assert [each.tolist() for each in first] == [[1, 0], [2**40, 40]]
    assert [each.tolist() for each in second] == [[], []]
    assert [each.tolist() for each in third] == [[5, 3], [10, 30]]
    assert split([], 2) == [[], []]


def test_U6_integers_beyond_64_bits_stay_integers():
    large = np.array([2**70, 1, 2**71], dtype=object)
    one, two = split([np.array([1, 0, 1]), np.array([0, 0, 1]), large], 2)
    assert one[1].tolist() == [1]
    assert two[1].tolist() == [2**70, 2**71]


def test_U6_the_rows_are_read_once():
    asked = question(schema_of(True, 2, "add_remove"), (lw.count(), lw.mean("x")), lw.cube("key", "code", "yes", "y"))
    schema, query, measured = asked
    lowered = lower(schema, query, measured, DUCKDB, query.sets)
    assert lowered.sql.count("FROM source") == 1
    assert lowered.tables == query.sets
    assert lowered.own == ()


def test_U6_the_plan_says_that_rows_without_a_key_are_in_no_table():
    schema, query, measured = question(schema_of(False, 1, "add_remove"), (lw.count(),), lw.cube("key", "code"))
    assert left_out(schema, query, measured) == (
        'Rows whose code is not one of 3 keys are not counted, unless the owner of the source declares other = "…".',
        "That holds in all tables, also in those without the column, so that they add up.",
    )
    plain = types.SimpleNamespace(**{**vars(query), "sets": ()})
    assert len(left_out(schema, plain, measured)) == 1
