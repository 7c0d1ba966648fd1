"""Claims J1 and J2: what a joined row depends on, and what one person can move through joins."""

import json
import sqlite3
from contextlib import closing
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.measure.public_n import has_public_n
from lapwing.release.pipeline import Tally

from .. import formats
from ..tables import CODES, NASTY, PERSONS, distance, make, plan_of, python_tally

COLUMNS = {
    "x": lw.number(-2, 7, integer=True),
    "y": lw.number("-0.5", 100),
    "code": lw.keys(1, 2),
    "key": lw.keys("a", "b", other="other"),
}
LOOK_UP = pd.DataFrame({"c": [1, 3, -1, 2**53], "k": ["a", "b", None, "zz"]})
OF = dict(zip(LOOK_UP["c"].tolist(), LOOK_UP["k"].where(LOOK_UP["k"].notna(), None).tolist(), strict=True))
QUERIES = [
    ((lw.count(),), (), None),
    ((lw.count(), lw.sum("x")), ("key",), None),
    ((lw.mean("y"), lw.count()), ("key",), "x > 0"),
    ((lw.people(), lw.variance("y")), ("code", "key"), None),
]
WHERE = {None: lambda row: True, "x > 0": lambda row: row["x"] is not None and row["x"] > 0}


def source_of(rows, joined, person=True, neighbors="add_remove", k=2, **options):
    """Return a source of rows; those of the same people have the columns id and there, the look-up c and k."""
    people = lw.join(joined, person="id", columns={"y": "there"})
    look_up = lw.join(LOOK_UP, public=True, on={"code": "c"}, columns={"key": "k"})
    named = {"person": "person", "rows_per_person": k} if person else {}
    columns = {name: each for name, each in COLUMNS.items() if person or name != "y"}
    joins = [people, look_up] if person else [look_up]
    return lw.Source(rows, name="t", columns=columns, neighbors=neighbors, joins=joins, **named, **options)


def people_of(rows, form="arrow"):
    table = pa.table(
        {"id": pa.array([a for a, _ in rows], pa.string()), "there": pa.array([b for _, b in rows], pa.float64())}
    )
    return table if form == "arrow" else table.to_pandas() if form == "pandas" else duckdb.connect().from_arrow(table)


def tally_of(source, plan):
    """Return {group: cells of each measurement} of the joined rows, from the engine."""
    tally = Tally(source._table.tally(source.schema, plan.on(source.dialect).lowered))
    found: dict[int, list[tuple[int, ...]]] = {}
    for number, part in enumerate(plan.parts):
        groups, columns = part.measurement.exact_cells(tally.exact(plan, number))
        for group, *cells in zip(groups.tolist(), *(column.tolist() for column in columns), strict=True):
            found.setdefault(group, [()] * len(plan.parts))[number] = tuple(cells)
    return found


def python_join(rows, joined):
    """Return the joined rows, by loops over all pairs of rows."""
    found = []
    for row in rows:
        partners = [there for person, there in joined if person is not None and person == row.get("person")]
        found += [{**row, "y": there, "key": OF.get(row["code"])} for there in partners or [None]]
    return found


ROW = st.fixed_dictionaries(
    {"person": st.sampled_from(PERSONS), "x": st.sampled_from(NASTY), "code": st.sampled_from(CODES)}
)
NAMES = ("person", "x", "code")


@settings(max_examples=60)
@given(
    rows=st.lists(ROW, max_size=9),
    joined=st.lists(st.tuples(st.sampled_from(PERSONS), st.sampled_from(NASTY)), max_size=6),
    question=st.sampled_from(QUERIES),
    k=st.integers(1, 3),
    forms=st.tuples(st.sampled_from(["arrow", "pandas", "relation"]), st.sampled_from(["arrow", "pandas", "relation"])),
)
def test_J1_J2_the_engine_joins_as_loops_over_all_pairs_of_rows_do(rows, joined, question, k, forms):
    source = source_of(make(rows, forms[0], None, NAMES), people_of(joined, forms[1]), k=k)
    plan = plan_of(source.schema, *question)
    expected = python_tally(source.schema, plan, python_join(rows, joined), lambda row: _known(row, question[2]))
    empty = [tuple(0 for _ in part.measurement.names) for part in plan.parts]
    found = tally_of(source, plan)
    assert all(found.get(group, empty) == expected.get(group, empty) for group in {*found, *expected})


def _known(row, where):
    x = row["x"]
    return WHERE[where]({"x": None if x is None or x != x or abs(x) == float("inf") else x})


MINE = [*product((-2, 7), (1, 3))]
THERE = [-0.5, 100.0]
OTHERS = [{"person": "q", "x": 3, "code": 1}, {"person": "r", "x": 7, "code": 3}, {"person": "q", "x": 0, "code": None}]
THEIRS = [("q", 10.0), ("r", 50.0), ("r", 60.0)]


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("question", QUERIES)
def test_J1_no_person_moves_the_cells_by_more_than_declared_over_all_neighbors_of_small_tables(question, k):
    """One person has up to two rows in each of two tables; a neighbor has none of them, or any others."""
    tallies = []
    for mine in (own for size in range(3) for own in combinations_with_replacement(MINE, size)):
        for there in (own for size in range(3) for own in combinations_with_replacement(THERE, size)):
            rows = [*OTHERS, *({"person": "p", "x": x, "code": code} for x, code in mine)]
            source = source_of(
                make(rows, "arrow", None, NAMES), people_of([*THEIRS, *(("p", each) for each in there)]), k=k
            )
            tallies.append((len(mine), tally_of(source, plan_of(source.schema, *question))))
    most = {}
    for neighbors in ("add_remove", "change_one"):
        source = source_of(make(OTHERS, "arrow", None, NAMES), people_of(THEIRS), neighbors=neighbors, k=k)
        plan = plan_of(source.schema, *question)
        pairs = ((tallies[0], each) for each in tallies) if neighbors == "add_remove" else combinations(tallies, 2)
        moved = [distance(one, two, plan.parts) for (_, one), (_, two) in pairs]
        most[neighbors] = [max(each) for each in zip(*moved, strict=True)]
        assert all(far <= plan.sensitivity(part) for far, part in zip(most[neighbors], plan.parts, strict=True))
    assert all(most["add_remove"])


@pytest.mark.parametrize(("own", "joined"), [(1, 1), (1, 500), (500, 1), (40, 40), (0, 3), (3, 0)])
def test_J1_T39_a_join_that_multiplies_the_rows_of_a_person_is_bounded(own, joined):
    rows = [{"person": "p", "x": 1, "code": 1}] * own
    source = source_of(make(rows, "arrow", None, NAMES), people_of([("p", 1.0)] * joined), k=3)
    plan = plan_of(source.schema, [lw.count()])
    number = own * max(joined, 1)
    ((weight,),) = tally_of(source, plan)[0]
    assert weight == number * min(2**16, 3 * 2**16 // max(number, 1)) <= 3 * 2**16


def test_J1_rows_without_a_person_join_nothing_and_people_without_own_rows_do_not_count():
    rows = make([{"person": None, "x": 1, "code": 1}, {"person": "p", "x": 2, "code": 1}], "arrow", None, NAMES)
    source = source_of(rows, people_of([(None, 90.0), ("z", 80.0)]))
    plan = plan_of(source.schema, [lw.count("y"), lw.count()])
    assert tally_of(source, plan)[0] == [(0, 2**16)]


# --- look-ups ---


@pytest.mark.parametrize("neighbors", ["add_remove", "change_one"])
@pytest.mark.parametrize("question", [*QUERIES[:2], ((lw.mean("x"), lw.count()), (), None)])
def test_J2_a_look_up_keeps_neighbors_neighbors_over_all_small_tables_of_rows(question, neighbors):
    cells = [{"x": x, "code": code} for x, code in product((-2, 7, None), (1, 3, 2, None))]
    tables = [[{"x": 3, "code": 1}, *extra] for extra in ([], *([each] for each in cells))]
    sides = []
    for rows in tables:
        source = source_of(
            make(rows, "arrow", None, ("x", "code")), None, person=False, neighbors=neighbors,
            public_rows=True if neighbors == "change_one" else None,
        )  # fmt: skip
        plan = plan_of(source.schema, *question)
        expected = python_tally(source.schema, plan, python_join(rows, []))
        sides.append(tally_of(source, plan))
        empty = [tuple(0 for _ in part.measurement.names) for part in plan.parts]
        assert all(sides[-1].get(at, empty) == expected.get(at, empty) for at in {*sides[-1], *expected})
    assert has_public_n(source.schema, plan.query) == (neighbors == "change_one" and not question[1])
    pairs = combinations(sides[1:], 2) if neighbors == "change_one" else ((sides[0], each) for each in sides[1:])
    n = 2 if has_public_n(source.schema, plan.query) else None
    for one, two in pairs:
        for moved, part in zip(distance(one, two, plan.parts), plan.parts, strict=True):
            assert moved <= plan.sensitivity(part, n)


@pytest.mark.parametrize(
    "codes", [["1", "1"], ["1", "01"], ["1", " 1"], ["1", "1.0", "2"]], ids=["same", "zero", "space", "point"]
)
def test_J2_T39_a_look_up_with_a_key_twice_is_refused_before_the_charge(codes, tmp_path, frozen_noise):
    look_up = tmp_path / "look_up.csv"
    look_up.write_text("c,k\n" + "".join(f'"{code}",canary\n' for code in codes))
    source = lw.Source(
        pd.DataFrame({"x": [1], "y": [1], "code": [1]}), name="t", columns=COLUMNS | {"y": "text"}, epsilon=1,
        ledger=tmp_path / "l", joins=[lw.join(look_up, public=True, on={"code": "c"}, columns={"key": "k"})],
    )  # fmt: skip
    with pytest.raises(errors.InvalidSource, match="keys occur more than once") as refusal:
        source.release(lw.count(), by="key", epsilon=1)
    assert "canary" not in str(refusal.value)
    assert source.ledger.spent == 0
    source.release(lw.count(), epsilon="0.5")  # a question that does not need it


# --- every rule of joins, for each kind of table, with equal and with different cells ---


def in_sqlite(rows, folder):
    with closing(sqlite3.connect(folder / "t.sqlite")) as base:
        base.execute(f"CREATE TABLE t ({', '.join(rows.column_names)})")
        base.executemany(
            f"INSERT INTO t VALUES ({', '.join('?' * rows.num_columns)})",
            list(zip(*rows.to_pydict().values(), strict=True)),
        )
        base.commit()
    return folder / "t.sqlite"


def in_duckdb(rows, folder):
    with duckdb.connect(str(folder / "t.duckdb")) as base:
        base.register("given", rows)
        base.execute("CREATE TABLE t AS FROM given")
    return folder / "t.duckdb"


def written(ending, write):
    def make(rows, folder):
        write(rows, str(folder / f"t.{ending}"))
        return folder / f"t.{ending}"

    return make


def json_lines(rows, path):
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))


def workbook(rows, path):
    formats.workbook(Path(path), {"S": [rows.column_names, *(list(row.values()) for row in rows.to_pylist())]})


TABLES = {
    "CSV": written("csv", pa_csv.write_csv),
    "Parquet": written("parquet", pq.write_table),
    "Arrow file": written("arrow", feather.write_feather),
    "JSON lines": written("jsonl", json_lines),
    "workbook": written("xlsx", workbook),
    "SQLite": in_sqlite,
    "DuckDB file": in_duckdb,
    "DuckDB relation": lambda rows, folder: duckdb.connect().from_arrow(rows),
    "Arrow": lambda rows, folder: rows,
    "pandas": lambda rows, folder: rows.to_pandas(types_mapper=pd.ArrowDtype),
    "Polars": lambda rows, folder: pl.from_arrow(rows),
    "lazy Polars": lambda rows, folder: pl.from_arrow(rows).lazy(),
}
MADE = {"c": pa.int64(), "k": pa.string(), "v": pa.float64(), "w": pa.int64()}
DOUBLED = {
    "equal": [(1, "a", 5.0, 1), (1, "a", 5.0, 1)],
    "different": [(1, "a", 5.0, 1), (1, "b", 10.0, 2)],
    "different in one that is read": [(1, "a", 5.0, 1), (1, "a", 10.0, 1)],
    "different in one that is not read": [(1, "a", 5.0, 1), (1, "a", 5.0, 2)],
    "missing once": [(1, "a", 5.0, 1), (1, None, None, None)],
    "missing twice": [(1, None, None, None), (1, None, None, None)],
    "apart": [(1, "a", 5.0, 1), (3, "b", 1.0, 1), (1, "b", 10.0, 2)],
    "three times": [(1, "a", 5.0, 1), (1, "b", 10.0, 2), (1, "a", 5.0, 1)],
}
LOOKED_UP = {
    "x": lw.number(0, 10, integer=True),
    "code": lw.keys(1, 2, 3),
    "key": lw.keys("a", "b"),
    "y": lw.number(0, 10),
    "z": "number",
}


def looked_up(rows, make, folder, main, **options):
    """Return a source that looks up a key, a number, and a column that no question reads."""
    table = pa.table(
        {name: pa.array(cells, MADE[name]) for name, cells in zip(MADE, zip(*rows, strict=True), strict=True)}
    )
    joins = [lw.join(make(table, folder), public=True, on={"code": "c"}, columns={"key": "k", "y": "v", "z": "w"})]
    return lw.Source(main, name="t", columns=LOOKED_UP, joins=joins, epsilon=9, ledger=folder / "t.ledger", **options)


@pytest.mark.parametrize("cells", DOUBLED)
@pytest.mark.parametrize("kind", TABLES)
def test_J2_T39_a_key_that_a_look_up_has_twice_is_refused_whatever_its_cells(kind, cells, tmp_path):
    source = looked_up(DOUBLED[cells], TABLES[kind], tmp_path, pd.DataFrame({"x": [1], "code": [1]}))
    with pytest.raises(errors.InvalidSource, match="1 keys occur more than once"):
        source.release(lw.sum("y"), by="key", epsilon=1)
    assert source.ledger.spent == 0


@pytest.mark.parametrize(
    "last", [(None, "b", 10.0, 2), (None, "a", 7.0, 1), (None, None, None, None), (9, "a", 5.0, 1)]
)
@pytest.mark.parametrize("kind", TABLES)
def test_J2_every_row_is_counted_once_also_where_a_look_up_has_rows_without_a_key(kind, last, tmp_path):
    main = [{"x": x, "code": code} for x, code in ((1, 1), (2, 1), (3, 2), (4, 3), (5, None))]
    rows = [(1, "a", 5.0, 1), (2, "a", 5.0, 1), (None, "a", 7.0, 1), last]
    source = looked_up(rows, TABLES[kind], tmp_path, make(main, "arrow", None, ("x", "code")))
    of = {1: {"key": "a", "y": 5.0}, 2: {"key": "a", "y": 5.0}}
    for question in ((lw.count(), lw.sum("y")), ()), ((lw.count(), lw.sum("y")), ("key",)):
        plan = plan_of(source.schema, *question)
        expected = python_tally(source.schema, plan, [{**row, **of.get(row["code"], {})} for row in main])
        assert tally_of(source, plan) == expected


THEIR_ROWS = [[], [10.0], [10.0, 10.0], [0.0, 10.0], [None, None], [None, 10.0]]


@pytest.mark.parametrize("kind", TABLES)
def test_J1_T39_a_person_with_equal_or_different_rows_in_two_tables_moves_as_far_as_declared(kind, tmp_path):
    """The cells are those of loops over all pairs of rows; a neighbor has none of the person's rows, or others."""
    columns = {"x": lw.number(0, 10, integer=True), "y": lw.number(0, 10)}

    def asked(name, own, theirs, neighbors):
        (tmp_path / name).mkdir()
        main = [{"person": "q", "x": 1}, *({"person": "p", "x": x} for x in own)]
        mates = [("q", 5.0), ("q", 5.0), *(("p", each) for each in theirs)]
        joins = [lw.join(TABLES[kind](people_of(mates), tmp_path / name), person="id", columns={"y": "there"})]
        table = make(main, "arrow", None, ("person", "x"))
        described = {"person": "person", "rows_per_person": 2, "neighbors": neighbors, "columns": columns}
        source = lw.Source(table, name="t", joins=joins, **described)
        plan = plan_of(source.schema, (lw.count(), lw.sum("y")))
        there = {row["person"]: [each for who, each in mates if who == row["person"]] for row in main}
        rows = [{**row, "y": each} for row in main for each in there[row["person"]] or [None]]
        found = tally_of(source, plan)
        assert found == python_tally(source.schema, plan, rows)
        return found, plan

    one, removed = asked("none", [], [], "add_remove")
    others = [
        asked(f"{at} {number}", own, theirs, "change_one")
        for number, own in enumerate([[3], [3, 3], [3, 7]])
        for at, theirs in enumerate(THEIR_ROWS)
    ]
    tallies, changed = [found for found, _ in others], others[0][1]
    for plan, pairs in ((removed, product([one], tallies)), (changed, combinations(tallies, 2))):
        moved = zip(*(distance(*pair, plan.parts) for pair in pairs), strict=True)
        assert [max(each) for each in moved] == [plan.sensitivity(part) for part in plan.parts]
