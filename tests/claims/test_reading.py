"""Claim E0: a typed cell is a function of the cell and the declaration alone, whatever other cells the column has.

Tables are made by each library's own inference, with and without one odd cell more: every other typed cell must stay.
"""

from __future__ import annotations

import datetime as dt
import math
import uuid
import warnings
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lapwing as lw
from lapwing.engine import frames, reading
from lapwing.engine.connect import connect
from lapwing.engine.connection import connected
from lapwing.engine.table import Problem
from lapwing.errors import EngineError, InvalidSource
from lapwing.question.codes import KINDS
from lapwing.question.schema import make_schema
from lapwing.release.discover import plan_keys

from ..tables import distance, engine_tally, plan_of

REFUSES = (TypeError, ValueError, ArithmeticError, AttributeError, NotImplementedError, KeyError, pa.ArrowException,
           pl.exceptions.PolarsError, pl.exceptions.PanicException)  # fmt: skip
"""What libraries raise for cells that they do not take, before we see anything."""

UTC = dt.UTC
EAST = dt.timezone(dt.timedelta(hours=5))
LATE = dt.datetime(2024, 3, 1, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-5)))

BASES = {
    "small": [0, 1, 2, 5],
    "16 digits": [4111111111111111, 4111111111111112, 9007199254740991],
    "beyond 2^53": [2**53, 2**53 + 1, 2**60 + 1, -(2**53) - 1],
    "truth": [True, False, True],
    "floats": [0.0, -0.0, 1.0, 0.1, 5.5, 1e300, 2.0**53, 1e15],
    "texts": ["a", "true", "5", "5.0", "2024-03-01", "n/a", "", "é", "2"],
    "moments": [dt.datetime(2024, 3, 1, 23, 30), dt.datetime(1900, 1, 1)],
    "moments with zones": [LATE, LATE + dt.timedelta(days=40)],
    "days": [dt.date(2024, 3, 1), dt.date(1, 1, 1)],
    "decimals": [Decimal("5.00"), Decimal("0.1"), Decimal("7")],
    "nothing": [None, None],
}
ODD = [
    None, float("nan"), pd.NaT, pd.NA, "n/a", "", "5", 5, 2.5, -1, True, False, 2**53 + 1, 2**63, 2**70, float("inf"),
    Decimal("1.50"), Decimal("1e-30"), Fraction(1, 3), dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 5),
    dt.datetime(2024, 1, 1, tzinfo=UTC), dt.datetime(2024, 1, 1, tzinfo=EAST), dt.time(5), dt.timedelta(1), b"x",
    b"\xff", [1], (1, 2), {"a": 1}, 1j, np.float32(0.1), np.int8(1), np.bool_(True), np.datetime64("2024-01-01"),
    pd.Timestamp("2024-01-01", tz="UTC"), uuid.UUID(int=1), "\ud800", "\1x", object(),
]  # fmt: skip


def pandas_dtypes(cells):
    """Return the cells in every type that pandas has for them, each by its name."""
    found = {}
    names = ["infer", "int64", "int8", "uint64", "float32", "float64", "float16", "bool", "Int64", "Float64",
             "boolean", "string[python]", "string[pyarrow]", "str", "category", "datetime64[ns]", "datetime64[s]",
             "datetime64[us, America/New_York]", "int64[pyarrow]", "double[pyarrow]", "bool[pyarrow]",
             "timestamp[ms][pyarrow]", "date32[pyarrow]", "decimal128(20, 3)[pyarrow]", "Sparse[int]",
             "period[D]"]  # fmt: skip
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[name] = pd.Series(cells) if name == "infer" else pd.Series(cells).astype(name)
            except REFUSES:  # pandas does not have them in this type
                continue
    return found


def pandas_sides(series, odd, listed):
    """Yield frames with one cell more, before or after, as pandas' own ways to add one make them."""
    for first in (False, True):
        if listed:
            cells = [odd, *series.tolist()] if first else [*series.tolist(), odd]
            yield "list", first, lambda cells=cells: pd.DataFrame({"c": cells})
        yield (
            "concat",
            first,
            lambda first=first: pd.concat(
                [pd.DataFrame({"c": side}) for side in ([[odd], series] if first else [series, [odd]])],
                ignore_index=True,
            ),
        )


def neighbors(series, odd, listed):
    """Return the sides that the library makes, by how and whether the odd cell comes first."""
    found = {}
    for how, first, make in pandas_sides(series, odd, listed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[how, first] = make()["c"]
            except REFUSES:
                continue
    return found


WIDE = {
    "pandas": lambda columns: pd.DataFrame({name: column.array for name, column in columns.items()}),
    "polars": lambda columns: pl.DataFrame([column.alias(name) for name, column in columns.items()]),
    "polars, lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "arrow": lambda columns: pa.table(columns),
}
"""How columns, each of the type it has, become one frame."""


def typed(library, columns):
    """Return the typed cells of columns, as every kind, by (kind, key): many are read at once."""
    names = {f"c{i}": key for i, key in enumerate((kind, key) for kind in KINDS for key in columns)}
    frame = WIDE[library]({name: columns[key] for name, (_, key) in names.items()})
    found = read(frame, {name: kind for name, (kind, _) in names.items()})
    return {names[name]: cells for name, cells in found.items()}


def read(table, kinds):
    """Return the typed cells of a table, as texts, by column."""
    schema = make_schema("t", kinds, None, None, "add_remove", None)
    opened = connect(table, "t")
    opened.check(schema, list(kinds))
    with opened.opened(schema, list(kinds), {}, None) as session:
        session._connection.execute("SET preserve_insertion_order = true")
        found = session._connection.execute("SELECT * FROM source").fetchall()
    return {name: [shown(row[i]) for row in found] for i, name in enumerate(kinds)}


def shown(cell):
    """Return a typed cell as text; in the steps that follow NaN and infinity are missing, and -0 is 0."""
    if isinstance(cell, float):
        cell = cell + 0.0 if math.isfinite(cell) else None
    return repr(cell)


def people(series, connection):
    """Return who is the same as whom in a column, or None if it is refused."""
    made, (objects,) = frames.scannable(pd.DataFrame({"c": series}), [frames.Wanted(0, None)])
    connection.register("given", made)
    kind = connection.execute("DESCRIBE given").fetchall()[0][1]
    how = "CAST({x} AS VARCHAR)" if objects else reading.person(kind)
    if how is None:
        return None
    order = {}
    cells = connection.execute(f"SELECT {how.format(x='c0')} FROM given").fetchall()
    return [None if cell is None else order.setdefault(cell, len(order)) for (cell,) in cells]


def rest(cells, first):
    return cells[1:] if first else cells[:-1]


@pytest.mark.parametrize("base", BASES)
def test_E0_one_odd_cell_changes_no_other_in_pandas(base):
    """Types that pandas does not infer itself are tried with every second odd cell."""
    compared = 0
    for turn, (dtype, series) in enumerate(pandas_dtypes(BASES[base]).items()):
        inferred = dtype == "infer"
        sides = {
            (i, *key): side
            for i, odd in enumerate(ODD)
            if inferred or i % 2 == turn % 2
            for key, side in neighbors(series, odd, inferred).items()
        }
        before = typed("pandas", {"alone": series})
        for (kind, (odd, how, first)), cells in typed("pandas", sides).items():
            assert rest(cells, first) == before[kind, "alone"], (dtype, kind, ODD[odd], how)
            compared += 1
    assert compared > 5 * len(ODD)


@pytest.mark.parametrize("base", BASES)
def test_E0_one_odd_person_makes_no_others_one_or_two(base):
    compared = 0
    with connected() as connection:
        connection.execute("SET threads = 1")  # so that pieces of a column stay in their order
        for dtype, series in pandas_dtypes(BASES[base]).items():
            before = people(series, connection)
            for odd in ODD[::3]:
                for (how, first), side in neighbors(series, odd, dtype == "infer").items():
                    after = people(side, connection)
                    if before is not None and after is not None:  # a column of floats is refused by its type
                        assert renamed(rest(after, first)) == renamed(before), (dtype, odd, how)
                        compared += 1
    assert compared > len(ODD)


def renamed(cells):
    """Return who is the same as whom, whatever numbers they go by."""
    order = {}
    return [None if cell is None else order.setdefault(cell, len(order)) for cell in cells]


MAKE = {"polars": lambda cells: pl.Series(cells), "arrow": lambda cells: pa.table({"c": cells}).column(0)}
JOIN = {
    "polars": lambda *cells: pl.concat([pl.DataFrame({"c": each}) for each in cells], how="vertical_relaxed")["c"],
    "arrow": lambda *cells: pa.concat_tables(
        [pa.table({"c": each}) for each in cells], promote_options="permissive"
    ).column(0),
}


def sides_of(library, cells):
    """Return columns with one odd cell more, by the cell, how it was added and whether it comes first.

    What the library itself changes is left out: Arrow turns whole numbers into days if the column also has a date.
    """
    found = {}
    for i, odd in enumerate(ODD):
        for first in (False, True):
            parts = ([odd], cells) if first else (cells, [odd])
            for how, make in (("list", lambda *p: MAKE[library]([*p[0], *p[1]])), ("concat", JOIN[library])):
                try:
                    side = make(*parts)
                    listed = side.to_pylist() if library == "arrow" else side.to_list()
                except REFUSES:
                    continue
                if rest(listed, first) == cells:
                    found[i, how, first] = side
    return found


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("library", ["polars", "arrow"])
def test_E0_one_odd_cell_changes_no_other_in_polars_and_arrow(library, base):
    cells = BASES[base]
    sides = sides_of(library, cells)
    before = typed(library, {"alone": MAKE[library](cells)})
    after = typed(library, sides)
    for (kind, (odd, how, first)), cells_after in after.items():
        assert rest(cells_after, first) == before[kind, "alone"], (kind, ODD[odd], how)
    assert len(sides) > 2
    if library == "polars":
        assert typed("polars, lazy", sides) == after


def test_E0_texts_in_a_frame_in_a_file_and_in_a_relation_are_read_alike(tmp_path):
    cells = ["a", "true", "TRUE", "t", "1", "2", "-3.5", "1e3", " 7 ", "nan", "inf", "2024-03-01", "2024-03-01 23:59",
             "infinity", "", "x" * 300, "é", "10000-01-01", "0x10", "1_000"]  # fmt: skip
    table = pa.table({"c": cells})
    pq.write_table(table, tmp_path / "t.parquet")
    pq.write_table(pa.table({"c": [cell.encode() for cell in cells]}), tmp_path / "b.parquet")
    tables = [table, pd.DataFrame({"c": cells}), pd.DataFrame({"c": [*cells, 1]}), pl.DataFrame({"c": cells}),
              pd.DataFrame({"c": pd.Categorical(cells)}), pd.DataFrame({"c": pd.array(cells, dtype="string[python]")}),
              duckdb.connect().from_arrow(table), str(tmp_path / "t.parquet"), str(tmp_path / "b.parquet")]  # fmt: skip
    for kind in KINDS:
        expected = read(table, {"c": kind})["c"]
        for each in tables:
            assert read(each, {"c": kind})["c"][: len(cells)] == expected, (kind, type(each))


# --- what was seen before the claim was there, each with the one cell that did it ---

CARD = 4111111111111111
SEEN = {
    "truth values, summed": ([True] * 1000, None, lw.number(0, 1), (lw.sum("c"),), (), None),
    "truth values, as keys": ([True, False] * 500, None, lw.keys(0, 1), (lw.count(),), "c", None),
    "16 digits, as keys": ([CARD] * 1000, None, lw.keys(str(CARD)), (lw.count(),), "c", None),
    "times with a zone": ([LATE] * 1000, "n/a", lw.keys(LATE.date(), dt.date(2024, 3, 2)), (lw.count(),), "c", None),
    "2 as a truth value": ([2] * 1000, "n/a", "boolean", (lw.count(),), (), "c"),
    "float32 in WHERE": (np.full(1000, 0.1, "f4"), "n/a", lw.number(0, 1), (lw.count(),), (), "c > 0.1"),
    "1 beside its text": (pd.Categorical([1] * 999 + ["1"]), None, lw.keys("1"), (lw.count(),), "c", None),
}


@pytest.mark.parametrize("seen", SEEN)
def test_E0_what_was_seen_moves_no_more_than_declared(seen):
    cells, odd, declared, statistics, by, where = SEEN[seen]
    schema = make_schema("t", {"c": declared}, None, None, "add_remove", None)
    plan = plan_of(schema, statistics, by, where)
    side = pd.DataFrame({"c": cells})
    other = pd.concat([side, pd.DataFrame({"c": [odd]})], ignore_index=True)
    listed = pd.DataFrame({"c": [*list(cells), odd]})
    exactly = engine_tally(schema, plan, side)
    assert exactly != {}
    for neighbor in (other, listed):
        moved = distance(exactly, engine_tally(schema, plan, neighbor), plan.parts)
        assert all(m <= plan.sensitivity(part) for m, part in zip(moved, plan.parts, strict=True)), moved


@pytest.mark.parametrize("odd", [None, "n/a"])
def test_E0_discover_finds_the_same_keys_beside_a_missing_one(odd):
    schema = make_schema("t", {"c": "text"}, None, None, "add_remove", None)
    plan = plan_keys(schema, "c", epsilon=1, delta="1e-8")
    for cells in ([CARD] * 1000, [CARD] * 1000 + [odd]):
        counts = dict(connect(pd.DataFrame({"c": cells}), "t").count_keys(schema, plan.lowered))
        assert counts[str(CARD)] == 1000
        assert len(counts) <= 2


@pytest.mark.parametrize("odd", [[], ["x"], ["x", None]])
def test_E0_the_person_column_is_data_as_well(odd):
    schema = make_schema("t", {"id": lw.keys("5", "6")}, "id", 1, "add_remove", None)
    frame = pd.DataFrame({"id": [5, 6, 6, *odd]})
    assert engine_tally(schema, plan_of(schema, (lw.count(),), "id"), frame) == {0: [(2**16,)], 1: [(2**16,)]}


def test_E0_64_bit_people_with_one_missing_are_refused_and_can_be_kept_whole(tmp_path):
    """As floats, 128 people became two."""
    ids = [2**60 + i for i in range(128)]
    schema = make_schema("t", {}, "id", 1, "add_remove", None)
    plan = plan_of(schema, (lw.count(),))
    source = lw.Source(
        pd.DataFrame({"id": [*ids, None]}), name="t", person="id", rows_per_person=1, columns={}, epsilon=1,
        ledger=tmp_path / "l",
    )  # fmt: skip
    with pytest.raises(InvalidSource, match=r'has a person column of type DOUBLE.*nothing was charged.*as "Int64"'):
        source.release(lw.count(), epsilon=1)
    for whole in (pd.DataFrame({"id": ids}), pd.DataFrame({"id": pd.array([*ids, None], dtype="Int64")})):
        assert engine_tally(schema, plan, whole) == {0: [(128 * 2**16,)]}


# --- what a review found ---


@pytest.mark.parametrize("moment", [pd.Timestamp.max, pd.Timestamp.min, pd.Timestamp("1960-01-31 23:59:59.999999999")])
def test_E0_nanoseconds_are_of_their_day(moment):
    """DuckDB takes the ends of the range for infinity, and rounds toward 1970."""
    frame = pd.DataFrame({"c": [moment] * 3}).astype("datetime64[ns]")
    tables = [frame, pd.concat([frame, pd.DataFrame({"c": ["n/a"]})]), frame.astype("timestamp[ns][pyarrow]"),
              pa.table({"c": pa.array([moment.value] * 3, pa.timestamp("ns", "UTC"))})]  # fmt: skip
    for table in tables:
        assert read(table, {"c": "date"})["c"][:3] == [repr(moment.date())] * 3


def test_E0_parquet_and_relations_have_the_day_of_nanoseconds(tmp_path):
    late = pa.table({"c": pa.array([-1, -86400 * 10**9, 0, 86400 * 10**9 - 1], pa.timestamp("ns"))})
    pq.write_table(late, tmp_path / "t.parquet")
    days = [repr(dt.date(1969, 12, 31))] * 2 + [repr(dt.date(1970, 1, 1))] * 2
    for table in (str(tmp_path / "t.parquet"), duckdb.connect().from_arrow(late), late):
        assert read(table, {"c": "date"})["c"] == days


class City(str, Enum):  # noqa: UP042  # a StrEnum has another __str__
    Z = "Zürich"


class Loud(int):
    def __float__(self):
        return 99.0

    def __str__(self):
        raise SystemExit("never called")


class Deceiver:
    __class__ = str


class Failing:
    __class__ = property(lambda self: 1 / 0)


def test_E0_an_object_counts_as_the_value_of_its_base_and_its_own_methods_are_not_called():
    for cells, kind, value in (([City.Z] * 2, "text", "'Zürich'"), ([Loud(3)] * 2, "number", "3.0")):
        for odd in ([], ["x"], ["x", 1, None]):
            assert read(pd.DataFrame({"c": [*cells, *odd]}), {"c": kind})["c"][:2] == [value] * 2
    odd = np.empty(3, dtype=object)
    odd[:] = [Deceiver(), Failing(), "a"]
    for kind, last in (("text", "'a'"), ("number", "None"), ("date", "None")):
        assert read(pd.DataFrame({"c": odd}), {"c": kind})["c"] == ["None", "None", last]


def test_E0_64_bit_people_are_refused_also_where_their_floats_hide_in_objects():
    whole = pd.DataFrame({"id": [2**60 + i for i in range(128)]})
    holed = pd.DataFrame({"id": [*whole.id, None]})
    schema = make_schema("t", {}, "id", 1, "add_remove", None)
    plan = plan_of(schema, (lw.count(),))
    ways = [lambda f: f.astype(object), lambda f: f.astype(object).where(f.notna(), None),
            lambda f: f.astype("category"), lambda f: pd.concat([f, pd.DataFrame({"id": [None, "x"]})])]  # fmt: skip
    for way in ways:
        assert engine_tally(schema, plan, way(whole))[0][0][0] >= 128 * 2**16
        with pytest.raises(EngineError, match=r"floats of 2\^53 or more.*Nothing was charged"):
            connect(way(holed), "t").check(schema, [])


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool", "Int64", "datetime64[ns]", "datetime64[s]", "object"])
def test_E0_a_frame_that_runs_backward_is_read(dtype):
    frame = pd.DataFrame({"c": pd.Series([0, 1]).astype(dtype)})
    kind = "date" if dtype.startswith("date") else "number"
    assert read(frame.iloc[::-1], {"c": kind})["c"] == read(frame, {"c": kind})["c"][::-1]


def test_E0_numbers_of_many_digits_are_the_nearest_float():
    value = 2**64 + 2**63 + 2**11 + 1
    for number in (Decimal(value), Decimal("1234567890.12345678"), Decimal("0.100000000000000005")):
        for width, scale in ((38, 0), (38, 18), (18, 8)):
            kind = pd.ArrowDtype(pa.decimal128(width, scale))
            try:
                frame = pd.DataFrame({"c": pd.array([number] * 2, dtype=kind)})
            except REFUSES:
                continue
            for table in (frame, pd.concat([frame, pd.DataFrame({"c": ["n/a"]})])):
                assert read(table, {"c": "number"})["c"][:2] == [repr(float(frame.c[0]))] * 2
    wide = pa.table({"c": [Decimal("1.5"), Decimal("1e-40")]})
    assert read(wide, {"c": "number"})["c"] == ["1.5", "1e-40"]


def test_E0_a_complex_cell_beside_a_column_of_arrow_is_read():
    frame = pd.DataFrame({"c": [1] * 3, "k": pd.array(["a"] * 3, dtype=pd.ArrowDtype(pa.string()))})
    more = pd.DataFrame({"c": [1j], "k": pd.array(["a"], dtype=pd.ArrowDtype(pa.string()))})
    found = read(pd.concat([frame, more]), {"c": "number", "k": "text"})
    assert found == {"c": ["1.0"] * 3 + ["None"], "k": ["'a'"] * 4}


def test_E0_one_cell_takes_no_time():
    """Exponents of seven digits took ten seconds each, and a million unused categories half a minute."""
    schema = make_schema("t", {}, "c", 1, "add_remove", None)
    huge = pd.DataFrame({"c": [Decimal("1e999999999"), Decimal("1e-999999999"), Decimal("5.5"), 5, Decimal("5.0")]})
    assert engine_tally(schema, plan_of(schema, (lw.count(),)), huge) == {0: [(2**16,)]}
    unused = pd.Categorical(["a"], categories=["a", *map(str, range(200_000))])
    made, _ = frames.scannable(pd.DataFrame({"c": unused}), [frames.Wanted(0, "text")])
    assert len(made["c0"].cat.categories) == 1


def test_K3_people_of_many_digits_keep_their_keys_beside_a_text():
    people = [Decimal(2**80 + 12345678901 * i) for i in range(200)] * 3
    keys = ["a"] * 200 + ["b"] * 200 + ["c"] * 200
    schema = make_schema("t", {"key": "text"}, "person", 1, "add_remove", None)
    plan = plan_keys(schema, "key", epsilon=1, delta="1e-8")
    typed_people = pd.array(people, dtype=pd.ArrowDtype(pa.decimal128(38, 2)))
    frame = pd.DataFrame({"person": typed_people, "key": keys})
    more = pd.concat([frame, pd.DataFrame({"person": ["x"], "key": ["d"]})])
    before, after = (dict(connect(f, "t").count_keys(schema, plan.lowered)) for f in (frame, more))
    assert {**before, "d": 1} == after


def test_E0_a_csv_that_changes_while_it_is_read_is_no_answer(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n2\n")
    schema = make_schema("t", {"x": "number"}, None, None, "add_remove", None)
    table = connect(str(path), "t")
    table.check(schema, ["x"])
    with pytest.raises(Problem, match="changed while it was read"), table.opened(schema, ["x"], {}, None):
        path.write_text('x\n1\n"2\n3\n4"\n')
