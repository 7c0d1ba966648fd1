"""Claim E0, names: the column that is read is the one that is declared, or the table is refused before a charge."""

from __future__ import annotations

import unicodedata

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.engine.connect import connect
from lapwing.engine.names import folded, places
from lapwing.question.schema import make_schema

from ..tables import engine_tally, plan_of

NAMES = st.lists(
    st.sampled_from(["id", "ID", "Id", "id_1", "ID_1", "id_1_1", "x", "X", "é", "e\u0301", "É", "ﬁ", "fi"]),
    min_size=1,
    max_size=6,
)  # fmt: skip


def tables(names, folder):
    """Yield, in every form that can hold them, a table whose column number i has the one value i."""
    arrow = pa.table([pa.array([i]) for i in range(len(names))], names=names)
    yield "arrow", arrow
    yield "pandas", pd.DataFrame([list(range(len(names)))], columns=names)
    if len(set(names)) == len(names):
        yield "polars", pl.DataFrame({name: [i] for i, name in enumerate(names)})
    values = ", ".join(f'{i} AS "{name}"' for i, name in enumerate(names))
    yield "relation", duckdb.connect().sql(f"SELECT {values}")
    path = folder / "t.parquet"
    pq.write_table(arrow, path)
    yield "parquet", str(path)
    (folder / "t.csv").write_text(",".join(names) + "\n" + ",".join(map(str, range(len(names)))) + "\n")
    yield "csv", str(folder / "t.csv")


@settings(max_examples=50)
@given(names=NAMES, wanted=st.data())
def test_E0_the_declared_column_is_read_or_the_table_is_refused(names, wanted, tmp_path_factory):
    name = wanted.draw(st.sampled_from(names))
    schema = make_schema("t", {name: lw.number(0, 9, integer=True)}, None, None, "add_remove", None)
    plan = plan_of(schema, (lw.sum(name),))
    verdicts = set()
    for form, table in tables(names, tmp_path_factory.mktemp("names")):
        refusal = None
        try:
            connect(table, "t").check(schema, [name])
        except errors.InvalidSource as error:
            refusal = str(error)
        verdicts.add(refusal is None)
        if refusal is None:
            assert engine_tally(schema, plan, table) == {0: [(names.index(name),)]}, form
        else:
            assert "could be taken for another" in refusal, form
    assert len(verdicts) == 1
    assert names.count(name) == 1 or verdicts == {False}


def test_a_name_is_taken_exactly():
    assert places("t", ["id", "x"], ["x", "id"]) == [1, 0]
    assert places("t", ["ID"], ["x", "id"]) == [None]
    assert places("t", ["é"], ["e\u0301"]) == [None]
    assert folded("É") == folded(unicodedata.normalize("NFD", "é"))


@pytest.mark.parametrize(
    ("wanted", "names"),
    [("id", ["id", "ID"]), ("id", ["id", "id"]), ("ID_1", ["id", "ID", "ID_1"]), ("id_1_2", ["id", "Id", "id_1_2"]),
     ("é", ["é", "e\u0301"])],
)  # fmt: skip
def test_a_name_that_could_mean_another_column_is_refused(wanted, names):
    with pytest.raises(errors.InvalidSource, match="Rename one of the columns") as caught:
        places("t", [wanted], names)
    assert "nothing was charged" in str(caught.value)


def test_other_columns_may_have_what_names_they_like():
    assert places("t", ["age"], ["id", "ID", "age", 5, None, ("a", "b")]) == [2]


def test_E0_a_relation_whose_names_differ_by_case_is_refused_before_the_charge(tmp_path):
    """It read id for ID: one person was counted 1,000 times, with rows_per_person = 1."""
    relation = duckdb.connect().sql('SELECT range AS id, 7 AS "ID" FROM range(1000)')
    source = lw.Source(relation, name="t", person="ID", rows_per_person=1, columns={}, epsilon=1, ledger=tmp_path / "l")
    with pytest.raises(errors.InvalidSource, match="could be taken for another"):
        source.release(lw.count(), epsilon=1)
    assert source.left() in (None, 1)


def test_E0_files_of_a_glob_that_differ_in_names_or_types_are_refused(tmp_path):
    """union_by_name ignores case: 992 were counted for two people."""
    one = pa.table({"id": range(500), "ID": [1] * 500})
    for i, other in enumerate([
        pa.table({"ID": [2] * 500}),
        pa.table({"id": [1], "x": [1], "ID": [1]}),
        pa.table({"id": pa.array([1], pa.int32()), "ID": [1]}),
        pa.table({"id": [1], "Id": [1]}),
    ]):  # fmt: skip
        folder = tmp_path / str(i)
        folder.mkdir()
        pq.write_table(one, folder / "a.parquet")
        pq.write_table(other, folder / "b.parquet")
        with pytest.raises(errors.EngineError, match="has files with different columns"):
            connect(str(folder / "*.parquet"), "t").check(make_schema("t", {}, "ID", 1, "add_remove", None), [])


def test_E0_files_of_a_glob_may_have_their_columns_in_any_order(tmp_path):
    pq.write_table(pa.table({"a": [1, 2], "b": [10, 20]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": [30, 40], "a": [3, 4]}), tmp_path / "2.parquet")
    schema = make_schema("t", {"a": lw.number(0, 9, integer=True)}, "b", 1, "add_remove", None)
    assert engine_tally(schema, plan_of(schema, (lw.sum("a"),)), str(tmp_path / "*.parquet")) == {0: [(10 * 2**16,)]}
