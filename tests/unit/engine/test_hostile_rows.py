"""One row against the others: no row decides how another is read, whether it is there, or what a file may be."""

from __future__ import annotations

import json

import duckdb
import pandas as pd
import pyreadstat
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.engine.connect import connect
from lapwing.question.schema import make_schema
from lapwing.source_file import describe

from ...formats import workbook
from ...tables import decided

BOM = "\ufeff"


def wards(path, person=None, column="ward", kind="text", **how):
    """Return the cells of a column, and the people if there are any, in order."""
    file = lw.file(**how)
    schema = make_schema("t", {column: kind}, person, None if person is None else 1, "add_remove", None, file=file)
    table = connect(str(path), "t", file)
    table.check(schema, [column])
    with table.opened(schema, [column], {}, None) as session:
        return sorted(map(str, session._connection.execute("SELECT * FROM source").fetchall()))


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT"])
def test_collations_of_a_duckdb_file_merge_nobody(collation, tmp_path):
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(f"CREATE TABLE t (id VARCHAR COLLATE {collation}, ward VARCHAR COLLATE {collation})")
        database.execute("INSERT INTO t VALUES ('A', 'N'), ('a', 'n'), ('Á', 'ñ')")
    for column in ("ward", "id"):
        schema = make_schema("t", {column: "text"}, "id", 1, "add_remove", None)
        with connect(str(path), "t").opened(schema, [column], {}, None) as session:
            (cell, *_), *_ = session._connection.execute("DESCRIBE source").fetchall()
            number = f'SELECT COUNT(DISTINCT "{cell}"), COUNT(DISTINCT person), COUNT(*) FROM source'
            assert session._connection.execute(number).fetchall() == [(3, 3, 3)]


def test_blank_rows_of_a_sas_transport_file_are_left_out_wherever_they_are(tmp_path):
    found = []
    for last in ("n", ""):
        path = tmp_path / f"{last or 'none'}.xpt"
        pyreadstat.write_xport(pd.DataFrame({"ward": ["n", *[""] * 60, last]}), str(path), file_format_version=5)
        found.append(wards(path))
    assert found == [["('n',)", "('n',)"], ["('n',)"]]
    with pytest.raises(errors.InvalidSource, match="may be left out"):
        lw.Source(tmp_path / "n.xpt", name="t", columns={}, neighbors="change_one", public_rows=True, epsilon=1)


def test_a_byte_order_mark_is_ignored_in_every_row_of_json_lines(tmp_path):
    lines = [BOM + json.dumps({"ward": ward}) for ward in "nsn"]
    (tmp_path / "t.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert wards(tmp_path / "t.jsonl") == ["('n',)", "('n',)", "('s',)"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16le", "utf-16be"])
@pytest.mark.parametrize("quoted", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_byte_order_mark_is_ignored_in_every_row_without_a_header(encoding, quoted, end, tmp_path):
    sign = '"' if quoted else ""
    rows = [f"{BOM}{sign}{ward}{sign},{i}" for i, ward in enumerate(["n", "s", BOM, "x" * 70_000])]
    how = {"header": False, "names": ["ward", "i"], "encoding": encoding}
    every = []
    for kept in (rows, rows[1:], rows[::-1]):
        (tmp_path / "t.csv").write_text(
            end.join(kept) + end, encoding=encoding.replace("utf-16", "utf-16-"), newline=""
        )
        every.append(wards(tmp_path / "t.csv", **how))
    assert every[0] == every[2] == sorted([*every[1], "('n',)"])
    assert f"('{BOM}',)" in every[0] or r"('\ufeff',)" in every[0]


@pytest.mark.parametrize("first", ["[1]", " [", "PAR1", "BZh", "PK\x03\x04"])
def test_no_first_row_makes_json_lines_another_kind_of_file(first, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(f'{first}\n{{"ward": "n"}}\n')
    assert wards(path) == ["('n',)"]
    path.write_text("")
    assert wards(path) == []
    with pytest.raises(errors.EngineError, match="is empty"):
        describe(str(path), tmp_path)
    path.write_text('{\n"ward": "n"\n}\n')
    with pytest.raises(errors.EngineError, match="none of the first lines"):
        describe(str(path), tmp_path)


def test_a_cell_beside_the_table_is_no_column_of_a_workbook(tmp_path):
    workbook(tmp_path / "1.xlsx", {"S": [["ward", "x"], ["n", 1]]})
    workbook(tmp_path / "2.xlsx", {"S": [["ward", "x"], ["s", 2, None, "note"]]})
    assert wards(tmp_path / "*.xlsx") == ["('n',)", "('s',)"]


@pytest.mark.parametrize("cell", ["epoch", "infinity", "-infinity", "today", "now", ""])
def test_words_of_the_engine_are_no_dates(cell, tmp_path):
    (tmp_path / "t.csv").write_text(f'day,x\n01.02.2024,1\n"{cell}",2\n')
    found = wards(tmp_path / "t.csv", column="day", kind="date", dates="%d.%m.%Y")
    assert found == ["(None,)", "(datetime.date(2024, 2, 1),)"]


def test_codes_for_missing_are_no_person(tmp_path):
    with pytest.raises(errors.InvalidSource, match="which would be one person"):
        make_schema("t", {"id": lw.keys("a", missing=["0"])}, "id", 1, "add_remove", None)


def test_names_of_columns_write_nothing_but_comments(tmp_path):
    name = 'd\n[columns.ward]\nkeys = [""x""]\n#\x1b[31m'
    (tmp_path / "t.csv").write_text(f'"{name}",ward\n' + "".join(f"{i:02}.12.2024,n\n" for i in range(1, 29)))
    draft = describe(str(tmp_path / "t.csv"), tmp_path)
    assert "\x1b" not in draft.text + "".join(draft.recognised)
    (tmp_path / "t.toml").write_text(decided(draft.text))
    assert lw.Source.open(tmp_path / "t.toml").schema.columns == {}


def test_a_row_with_a_name_that_is_not_unicode_is_no_column(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"ward": "n"}\n{"\\ud800": 1}\n')
    assert describe(str(tmp_path / "t.jsonl"), tmp_path).columns == ["ward"]
