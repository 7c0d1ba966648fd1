"""Claims E1 to E3: the engine's integers, against an independent implementation and over every form of table."""

import random
from fractions import Fraction as F

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.engine import connection as opened
from lapwing.engine import duckdb as engine
from lapwing.engine.connect import connect
from lapwing.engine.connection import connected
from lapwing.engine.write_sql import lower
from lapwing.measure.measurement import Sums
from lapwing.question.schema import make_schema
from lapwing.question.sql import make_query

from ..tables import FORMS, TYPES, arrow, distance, engine_tally, make, measurement_of, plan_of, python_tally
from .test_measure import QUERIES, ROW, schema_of

GRIDS = [
    lw.number(-2, 7, integer=True),
    lw.number("-0.5", 100),
    lw.number(0, "0.1"),
    lw.number("1/3", 5),
    lw.number(-(10**12), 10**12),
    lw.number(0, 2**24, integer=True),
    lw.number(0, 2**40, integer=True),
    lw.number("1e-9", "3e-9"),
    lw.number(0, "99999.99"),
]


@pytest.mark.parametrize("column", GRIDS, ids=lambda c: f"{c.kind} {c.low} to {c.high}")
def test_E1_every_cell_is_missing_or_on_the_grid_and_order_is_kept(column):
    schema = make_schema("t", {"x": column}, None, None, "add_remove", None)
    plan = plan_of(schema, (lw.mean("x"),))
    low, high = float(column.low), float(column.high)
    values = [low, high, (low + high) / 2, low - 1, high + 1, -1e308, 1e308, 5e-324, -5e-324, 0.0]
    rng = random.Random(7)
    values += [rng.uniform(low, high) for _ in range(300)]
    values += [low + (high - low) * t for t in (1e-16, 1 - 1e-16, 1e-7, 1 - 1e-7)]
    values.sort()
    found = indices(schema, plan.parts[0].measurement, values)
    assert found == sorted(found)
    assert (min(found), max(found)) == (0, column.grid.steps)
    grid = column.grid
    for value, i in zip(values, found, strict=True):
        inside = min(max(F(value), grid.low * grid.step), grid.high * grid.step)
        assert abs(grid.low + i - inside / grid.step) <= F(1, 2) + F(1, 10**6)
    assert indices(schema, plan.parts[0].measurement, [float("nan"), float("inf"), float("-inf"), None]) == [None] * 4


def indices(schema, measurement, values):
    """Run the engine's own expression of the index over values, one by one."""
    query = make_query([lw.mean("x")], (), None, schema)
    sql = lower(schema, query, [measurement]).sql
    head = sql[: sql.index("\ntally")].rstrip(",")
    connection = duckdb.connect()
    table = arrow([{"x": value} for value in values], ["x"]).rename_columns(["c_x"])
    connection.register("source", table)
    return [i for (i,) in connection.execute(f"{head} SELECT i0 FROM bounded").fetchall()]


def test_E1_bounds_lie_on_the_grid_unless_the_range_is_huge():
    for column in GRIDS:
        grid = column.grid
        assert grid.low * grid.step <= column.low
        assert grid.high * grid.step >= column.high
        assert grid.steps <= 2**31 + 1
        assert grid.steps >= 2**20 or column.kind == "integer"
        if (column.high - column.low) / grid.step <= 2**31:
            assert grid.steps * grid.step <= (column.high - column.low) * (1 + F(1, 2**29))


@settings(max_examples=80)
@given(
    rows=st.lists(ROW, max_size=12),
    question=st.sampled_from(QUERIES[:5] + QUERIES[9:]),
    person=st.booleans(),
    k=st.integers(1, 3),
)
def test_E2_E3_the_engine_agrees_with_python_on_dirty_tables(rows, question, person, k):
    schema = schema_of(person, k, "add_remove")
    plan = plan_of(schema, *question)
    where = (lambda row: row["x"] is not None and 0 < row["x"] < float("inf")) if question[2] else (lambda row: True)
    assert engine_tally(schema, plan, make(rows, "arrow", None)) == python_tally(schema, plan, rows, where)


@pytest.mark.parametrize("c", [1, 2, 3, 4, 7, 100, 1000])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_E2_T18_T35_a_person_weighs_at_most_k_over_all_groups_and_after_where(c, k):
    schema = schema_of(True, k, "add_remove")
    rows = [{"person": "p", "x": 1.0, "key": "ab"[i % 2]} for i in range(c)]
    rows += [{"person": "p", "x": -1.0, "key": "a"}] * 50  # filtered out: they must not take weight from the others
    plan = plan_of(schema, (lw.count(),), "key", "x > 0")
    found = engine_tally(schema, plan, make(rows, "arrow", None))
    weight = sum(cells[0][0] for cells in found.values())
    assert weight == (c * 2**16 if c <= k else c * (k * 2**16 // c))
    assert k * 2**16 - c < weight <= k * 2**16 or c < k


def test_E2_rows_without_a_person_have_no_weight():
    schema = schema_of(True, 1, "add_remove")
    plan = plan_of(schema, (lw.count(),))
    rows = [{"person": None, "x": 1.0}] * 5
    assert engine_tally(schema, plan, make(rows, "arrow", None)) == {0: [(0,)]}


def test_E0_E2_a_person_column_of_floats_is_refused(tmp_path):
    """One missing id makes floats of pandas' whole numbers, and from 2^53 on floats do not tell people apart."""
    schema = make_schema("t", {"y": lw.number(0, 1)}, "x", 1, "add_remove", None)
    rows = [{"x": float("nan")}, {"x": 1.0}, {"x": 1.0}, {"x": float("inf")}]
    tables = (arrow(rows, ["x", "y"]), arrow(rows, ["x", "y"]).to_pandas(), make(rows, "parquet", tmp_path),
              make(rows, "polars", tmp_path), make(rows, "relation", tmp_path))  # fmt: skip
    for table in tables:
        with pytest.raises(errors.InvalidSource, match=r"has a person column of type DOUBLE.*as \"Int64\""):
            connect(table, "t").check(schema, [])


def test_E1_T7_nan_in_a_parquet_file_whose_statistics_leave_it_out(tmp_path):
    """pyarrow's min and max leave NaN out; one row more, with infinity, changes them."""
    columns = {"x": lw.number(0, 10, edges=[0, 5, 10])}
    rows = [{"x": float("nan")}] * 1000 + [{"x": 1.0}]
    for person, k in ((None, None), ("person", 1)):
        schema = make_schema("t", columns, person, k, "add_remove", None)
        named = [{**row, "person": str(i)} for i, row in enumerate(rows)]
        for question in (
            ((lw.mean("x"), lw.count()), (), None), ((lw.sum("x"),), (), None), ((lw.count("x"),), (), None),
            ((lw.count(),), "x", None), ((lw.count(),), (), "x >= 0"), ((lw.count(),), (), "x IS NULL"),
        ):  # fmt: skip
            plan = plan_of(schema, *question)
            sides = [make(side, "parquet", tmp_path) for side in (named, [*named, {"x": float("inf"), "person": "z"}])]
            moved = distance(*(engine_tally(schema, plan, side) for side in sides), plan.parts)
            assert all(m <= plan.sensitivity(part) for m, part in zip(moved, plan.parts, strict=True)), question


def test_E1_bounds_that_floats_hardly_tell_apart_stay_on_the_grid():
    column = lw.number("-9007199254740993.01", "-9007199254740990.49")
    schema = make_schema("t", {"x": column}, None, None, "add_remove", None)
    measurement = plan_of(schema, (lw.mean("x"),)).parts[0].measurement
    values = [-9007199254740994.0, -9007199254740993.0, -9007199254740992.0, -9007199254740991.0, -9007199254740990.0]
    assert all(0 <= i <= column.grid.steps for i in indices(schema, measurement, values))


def test_E2_people_whose_names_a_copy_could_confuse(tmp_path):
    """128-bit people of a relation stay apart; types in which people could look the same are refused."""
    columns = {"x": lw.number(0, 1)}
    schema = make_schema("t", columns, "person", 1, "add_remove", None)
    plan = plan_of(schema, (lw.count(),))
    wide = duckdb.connect().sql(
        "SELECT (1237940039285380274899124224::HUGEINT + range) AS person, 1.0 AS x FROM range(3)"
    )
    assert str(wide.types[0]) == "HUGEINT"
    assert engine_tally(schema, plan, wide) == {0: [(3 * 2**16,)]}
    interval = duckdb.connect().sql("SELECT INTERVAL 1 DAY AS person, 1.0 AS x")
    with pytest.raises(errors.InvalidSource, match="INTERVAL"):
        engine.DuckDBTable(interval, "t").check(schema, [])
    for i, kind in enumerate(("BIGINT", "DOUBLE")):
        duckdb.sql(f"SELECT 5::{kind} AS person, 1.0 AS x").write_parquet(str(tmp_path / f"{i}.parquet"))
    with pytest.raises(errors.EngineError, match="different columns"):
        engine.DuckDBTable(str(tmp_path / "*.parquet"), "t").check(schema, [])


def test_E2_objects_that_look_alike_are_different_people_and_equal_ones_are_the_same():
    import datetime
    import decimal
    import uuid

    import numpy as np
    import pandas as pd

    schema = make_schema("t", {"x": lw.number(0, 1)}, "p", 1, "add_remove", None)
    plan = plan_of(schema, (lw.count(),))
    people = [1, "1", b"x", "b'x'", "\ud800", "?", decimal.Decimal("7"), 2**80, 2**53, 2**53 + 1, uuid.UUID(int=7)]
    frame = pd.DataFrame({"p": pd.Series(people, dtype=object), "x": 1.0})
    assert engine_tally(schema, plan, frame) == {0: [(len(people) * 2**16,)]}
    one = [1, 1.0, np.int64(1), np.float32(1), decimal.Decimal("1.0"), F(1), 1 + 0j]
    frame = pd.DataFrame({"p": pd.Series(one, dtype=object), "x": 1.0})
    assert engine_tally(schema, plan, frame) == {0: [(7 * (2**16 // 7),)]}
    nobody = [True, np.bool_(True), 1 + 1j, 0.5, decimal.Decimal("0.1"), F(1, 2), float("inf"), None, pd.NaT,
              pd.NA, (1,), "\1number 1/1",
              pd.Timestamp("2024-01-01"), datetime.datetime(2024, 1, 1), np.timedelta64(1, "D")]  # fmt: skip
    frame = pd.DataFrame({"p": pd.Series(nobody, dtype=object), "x": 1.0})
    assert engine_tally(schema, plan, frame) == {0: [(0,)]}


def test_E2_files_in_which_the_person_column_differs_by_case_are_refused(tmp_path):
    for i, (name, kind) in enumerate((("P", "BIGINT"), ("p", "DOUBLE"))):
        duckdb.sql(f"SELECT 5::{kind} AS {name}, 1.0 AS x").write_parquet(str(tmp_path / f"{i}.parquet"))
    schema = make_schema("t", {}, "p", 1, "add_remove", None)
    with pytest.raises(errors.EngineError, match="different columns"):
        engine.DuckDBTable(str(tmp_path / "*.parquet"), "t").check(schema, [])


def test_E3_a_cell_with_line_breaks_in_a_large_csv_is_one_cell(tmp_path):
    """It lies where a parallel reader would start a new part, and looks like rows of its own."""
    line = "1,100,zzzzzzzzzzzz\n"
    cell = '"' + line * 8 + '"\n'
    head, rows = "a,x,note\n", 700_000
    schema = make_schema("t", {"x": lw.number(0, 100)}, None, None, "add_remove", None)
    plan = plan_of(schema, (lw.count(),))
    for at in (7_999_900, 8_000_000, 8_388_500):
        before = at // len(line)
        place = tmp_path / "t.csv"
        place.write_text(head + line * before + "7,10," + cell + line * (rows - before))
        assert engine_tally(schema, plan, str(place)) == {0: [(rows + 1,)]}


def test_a_relation_is_copied_only_as_far_as_it_is_needed():
    schema = make_schema("t", {"x": lw.number(0, 1), "i": "text"}, None, None, "add_remove", None)
    relation = duckdb.connect().sql("SELECT 1.0 AS x, INTERVAL '-1' DAY AS i")
    assert engine_tally(schema, plan_of(schema, (lw.count(),)), relation) == {0: [(1,)]}
    with pytest.raises(errors.InvalidSource, match="as text, but in its table it is INTERVAL"):
        engine.DuckDBTable(relation, "t").check(schema, ["i"])


def test_the_engine_is_set_up_as_the_claims_need_it():
    setting = "SELECT current_setting('disabled_optimizers'), current_setting('TimeZone')"
    with connected() as connection:
        assert connection.execute(setting).fetchone() == ("statistics_propagation", "UTC")
    sql = plan_of(schema_of(True, 1, "add_remove"), (lw.mean("x"),)).sql
    assert "isfinite(" in sql
    assert "MATERIALIZED" in sql


def test_a_relation_may_be_used_by_many_threads():
    import threading

    schema = make_schema("t", {"x": lw.number(0, 9)}, None, None, "add_remove", None)
    table = engine.DuckDBTable(duckdb.connect().sql("SELECT range AS x FROM range(10)"), "t")
    plan, found = plan_of(schema, (lw.count(),)), []

    def ask():
        table.fields()
        found.append(table.tally(schema, plan.lowered))

    work = [threading.Thread(target=ask) for _ in range(8)]
    for each in work:
        each.start()
    for each in work:
        each.join()
    assert [[column.tolist() for column in each.sums] for each in found] == [[[0], [10]]] * 8


def test_files_are_taken_by_their_names_as_they_are(tmp_path):
    schema = make_schema("t", {"v": lw.number(0, 9)}, None, None, "add_remove", None)
    plan = plan_of(schema, (lw.sum("v"),))
    odd = tmp_path / "v=7" / "x.tsv.d"
    odd.mkdir(parents=True)
    duckdb.sql("SELECT 3.0 AS v").write_parquet(str(odd / "[1]'.parquet"))
    (odd / "a.csv").write_text("v,w\n3,1\n")
    three = 3 * plan.parts[0].measurement.grid.step.denominator
    for name in ("[1]'.parquet", "a.csv"):
        assert engine_tally(schema, plan, str(odd / name)) == {0: [(three,)]}


CLEAN = {
    "person": ["p", "q", "r", "s"],
    "x": [None, float("nan"), float("inf"), -3.0, 0.0, 1.5, 2.5, 7.0, 1e300],
    "y": [0.1, 99.9, None, -0.5],
    "key": ["a", "b", "zz", None],
    "code": [1, 2, 3, None],
    "yes": [True, False, None],
}


@pytest.mark.parametrize("seed", range(3))
def test_E3_T3_T4_the_same_integers_in_every_form_order_and_number_of_threads(seed, tmp_path, monkeypatch):
    rng = random.Random(seed)
    rows = [{name: rng.choice(values) for name, values in CLEAN.items()} for _ in range(500)]
    schema = schema_of(True, 2, "add_remove")
    plans = [plan_of(schema, *question) for question in QUERIES]
    expected = [engine_tally(schema, plan, make(rows, "arrow", None)) for plan in plans]
    for form in FORMS:
        rng.shuffle(rows)
        monkeypatch.setitem(opened._CONFIG, "threads", str(rng.choice([1, 2, 4])))
        table = make(rows, form, tmp_path, names=list(TYPES))
        assert [engine_tally(schema, plan, table) for plan in plans] == expected, form


def test_T5_T6_sums_do_not_wrap_and_narrow_types_are_read_as_they_are():
    import pyarrow as pa

    schema = make_schema("t", {"x": lw.number(-(2**52), 2**52, integer=True)}, "p", 10**6, "add_remove", None)
    plan = plan_of(schema, (lw.variance("x"), lw.count()))
    n = 3000
    rows = pa.table({"x": pa.array([2.0**52] * n), "p": pa.array(range(n))})
    ((cells,),) = engine_tally(schema, plan, rows).values()
    steps = plan.parts[0].measurement.grid.steps
    assert cells == (0, 0, n * 2**16 * steps**2 * plan.parts[0].measurement.fine, 0)
    small = make_schema("t", {"x": lw.number(-200, 300, integer=True)}, None, None, "add_remove", None)
    mean = plan_of(small, (lw.sum("x"),))
    for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.float32(), pa.decimal128(30, 2), pa.string(), pa.uint64()):
        table = pa.table({"x": pa.array([100, 27]).cast(kind)})
        assert engine_tally(small, mean, table) == {0: [(127,)]}, kind
    flags = pa.table({"x": pa.array([True, False, True])})
    assert engine_tally(small, mean, flags) == {0: [(2,)]}


def test_T10_T19_every_public_key_in_its_public_order_whatever_the_data(tmp_path):
    columns = {"key": lw.keys("b", "a", "c")}
    for rows in ([], [{"key": "zz"}], [{"key": "a"}] * 3):
        place = tmp_path / f"{len(rows)}.ledger"
        source = lw.Source(arrow(rows, ["key"]), name="t", columns=columns, epsilon=9, ledger=place)
        assert [row["key"] for row in source.release(lw.count(), by="key", epsilon=1).rows] == ["b", "a", "c"]


def test_T14_one_outlier_counts_as_the_bound(tmp_path):
    rows = [{"x": 0.5}] * 9 + [{"x": 1e12}]
    columns = {"x": lw.number(0, 1)}
    source = lw.Source(arrow(rows, ["x"]), name="t", columns=columns, epsilon=1000, ledger=tmp_path / "l")
    ((row),) = source.release(lw.sum("x"), epsilon=1000).rows
    assert row["sum_x"]["value"] == pytest.approx(5.5, abs=0.2)


def test_every_measured_cell_of_a_measurement_has_a_slot():
    for form in ("rows", "count", "total", "mean", "variance", "whole sum", "whole variance", "people"):
        measurement = measurement_of(form, None if form == "rows" else "x")
        assert len(measurement.cells(Sums(0, 0, 0, 0))) == len(measurement.names)


def test_E3_a_limit_of_memory_changes_no_integer(tmp_path, monkeypatch):
    path = str(tmp_path / "t.parquet")
    duckdb.sql(f"COPY (SELECT hash(range) % 500000 AS p, range % 7 AS x FROM range(2000000)) TO '{path}'")
    schema = make_schema("t", {"x": lw.number(0, 6, integer=True)}, "p", 3, "add_remove", None)
    plan = plan_of(schema, (lw.count(), lw.variance("x")))
    table, found = engine.DuckDBTable(path, "t"), []
    for limit in (None, "40MB"):
        if limit is not None:
            monkeypatch.setenv("LAPWING_MEMORY", limit)
        found.append([column.tolist() for column in table.tally(schema, plan.lowered).sums])
    assert found[0] == found[1]
    with connected() as connection:
        assert connection.execute("SELECT current_setting('memory_limit')").fetchone() == ("38.1 MiB",)


@pytest.mark.parametrize("limit", ["", "much", "0GB", "-1GB", "1GB; SELECT 1"])
def test_a_limit_of_memory_that_is_no_size_is_refused_before_anything_is_charged(tmp_path, monkeypatch, limit):
    monkeypatch.setenv("LAPWING_MEMORY", limit)
    source = lw.Source(arrow([{"x": 1.0}], ["x"]), name="t", columns={"x": lw.number(0, 1)}, epsilon=1,
                       ledger=tmp_path / "t.ledger")  # fmt: skip
    with pytest.raises(errors.EngineError, match=r"Nothing was charged\. Write a size such as 1GB\."):
        source.release(lw.count(), epsilon=1)
    assert source.ledger.spent == 0
