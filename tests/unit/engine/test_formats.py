"""Formats of files: the same integers from each, cells by themselves, and hostile files refused before the charge."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tomllib
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyreadstat
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.engine import apart, compressed
from lapwing.engine.connect import connect
from lapwing.noise.entropy import EntropyForTests
from lapwing.question.schema import make_schema
from lapwing.source_file import describe

from ... import formats
from ...formats import MAKERS, NAMES, workbook
from ...tables import decided, engine_tally, plan_of

COLUMNS = {
    "n": lw.number(-2, 4, integer=True),
    "x": lw.number(0, 100),
    "key": lw.keys("é", "b", "日本", other="rest"),
    "day": "date",
    "yes": "boolean",
}
CANARY = "canary 7351"


def described(folder, **more):
    return {"name": "t", "columns": COLUMNS, "person": "person", "rows_per_person": 3, "epsilon": 100,
            "ledger": folder / "ledger", **more}  # fmt: skip


def numbers(path, folder):
    """Return integers of many kinds from a table."""
    schema = make_schema("t", COLUMNS, "person", 3, "add_remove", None)
    rows = make_schema("t", COLUMNS, None, None, "add_remove", None)
    statistics = [lw.count(), lw.count("x"), lw.sum("x"), lw.mean("n"), lw.variance("n")]
    plans = [
        (schema, plan_of(schema, statistics, by=["key"])),
        (schema, plan_of(schema, statistics, where="day >= DATE '2024-01-05' AND NOT yes")),
        (rows, plan_of(rows, [lw.count()])),
        (rows, plan_of(rows, [lw.count(), lw.sum("x")], by=["key"], where="yes OR key = 'b'")),
    ]
    found = [engine_tally(asked, plan, str(path)) for asked, plan in plans]
    source = lw.Source(path, **described(folder))
    median = source.release(lw.median("x"), lw.quantile("n", 0.25), epsilon=5, entropy=EntropyForTests(1))
    return [*found, median.cells]


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    folder = tmp_path_factory.mktemp("usual")
    return numbers(formats.parquet(folder), folder)


@pytest.mark.parametrize("form", MAKERS)
def test_E0_all_formats_of_one_table_give_the_same_integers(form, usual, tmp_path):
    assert numbers(MAKERS[form](tmp_path), tmp_path) == usual


def test_portable_spss_files_are_read_too(tmp_path):
    path = formats.statistics("t.por")(tmp_path)
    schema = make_schema("t", {"X": lw.number(0, 100), "KEY": lw.keys("e", "b")}, "PERSON", 3, "add_remove", None)
    by_person = make_schema("t", {"x": lw.number(0, 100), "key": lw.keys("é", "b")}, "person", 3, "add_remove", None)
    found = engine_tally(schema, plan_of(schema, [lw.sum("X")], by=["KEY"]), str(path))
    plan = plan_of(by_person, [lw.sum("x")], by=["key"])
    assert found == engine_tally(by_person, plan, str(formats.parquet(tmp_path)))


def cells(path, kinds, person=None, file=None):
    """Return the typed cells of a file, in rows."""
    schema = make_schema("t", kinds, person, None if person is None else 1, "add_remove", None)
    opened = connect(str(path), "t", file or lw.file())
    opened.check(schema, list(kinds))
    with opened.opened(schema, list(kinds), {}, None) as session:
        session._connection.execute("SET preserve_insertion_order = true")
        return session._connection.execute("SELECT * FROM source").fetchall()


# --- claim E0: each cell by itself ---

ODD = [None, "", "5", 5, 5.0, 2.5, True, 2**53 + 1, 2**62, 10**30, "é", "2024-03-01", "\1x", "nan", 1e308, -0.0, b"x",
       b"\xff", [1], {"a": 1}]  # fmt: skip


def in_sqlite(values, folder):
    path = folder / f"{os.urandom(4).hex()}.sqlite"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE t (c)")
        base.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    base.close()
    return path


def in_json(values, folder):
    path = folder / f"{os.urandom(4).hex()}.jsonl"
    path.write_text("".join(json.dumps({"c": value}) + "\n" for value in values))
    return path


def in_workbook(values, folder):
    rows = [[value, "beside"] for value in values]
    return workbook(folder / f"{os.urandom(4).hex()}.xlsx", {"S": [["c", "d"], *rows]})


@pytest.mark.parametrize(
    ("make", "left_out"),
    [
        (in_sqlite, lambda cell: isinstance(cell, list | dict) or (isinstance(cell, int) and cell > 2**63)),
        (in_json, lambda cell: isinstance(cell, bytes)),
        (in_workbook, lambda cell: isinstance(cell, list | dict | bytes) or cell in ("\1x",)),
    ],
)
def test_E0_an_odd_cell_changes_no_other(make, left_out, tmp_path):
    kinds = ["number", "integer", "text", "boolean", "date"]
    own = [cell for cell in ODD if not left_out(cell)]
    alone = {kind: [cells(make([cell], tmp_path), {"c": kind}) for cell in own[:9]] for kind in kinds[:1]}
    for kind in kinds:
        together = cells(make(own, tmp_path), {"c": kind})
        backward = cells(make(own[::-1], tmp_path), {"c": kind})
        assert len(together) == len(own)
        assert [repr(row) for row in together] == [repr(row) for row in backward[::-1]]
        assert all([row] == one for row, one in zip(together, alone.get(kind, []), strict=False))


def test_E0_a_number_is_read_by_its_value_and_a_text_by_what_it_spells(tmp_path):
    values = [5, 5.0, "5", "5.0", True, 2.5, 2**53, "é"]
    for make in (in_sqlite, in_json, in_workbook):
        path = make(values, tmp_path)
        truth = 1 if make is in_sqlite else True  # SQLite has no truth values
        assert [cell for (cell,) in cells(path, {"c": "number"})] == [5, 5, 5, 5, 1, 2.5, 2**53, None], make
        assert [cell for (cell,) in cells(path, {"c": "text"})] == ["5", "5", "5", "5.0", "1", None, None, "é"]
        assert [cell for (cell,) in cells(path, {"c": "boolean"})][4] == bool(truth)


def test_E0_people_who_look_alike_in_another_type_stay_apart(tmp_path):
    """Numbers of 64 bits are whole in JSON and SQLite; a text that is not UTF-8 is someone of their own."""
    people = [1, "1", 1.0, 2**60, 2**60 + 1, None, True, 2.5]
    for make, count in ((in_json, 4), (in_sqlite, 4)):
        found = [who for _, who in cells(make(people, tmp_path), {"c": "text"}, "c")]
        assert len(set(found) - {None}) == count, make
    path = in_sqlite([], tmp_path)
    with sqlite3.connect(path) as base:
        base.execute("INSERT INTO t VALUES (CAST(x'ff41' AS TEXT)), (CAST(x'ff42' AS TEXT)), ('A'), (x'41')")
    base.close()
    assert len({who for _, who in cells(path, {"c": "text"}, "c")}) == 4
    assert [cell for (cell,) in cells(path, {"c": "text"})] == [None, None, "A", "A"]


# --- JSON lines ---


def test_a_line_that_is_no_object_is_left_out_and_the_others_stay(tmp_path):
    lines = [b'\xef\xbb\xbf{"a": 1}', b"", b"[1]", b'{"a": ', b'"a"', b'{"a": \xff}', b'{"a": 2, "a": 3}\r', b"{}",
             b'{"a": {"b": 1}}', b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}", b'{"a": ' + b"9" * 5000 + b"}",
             b'{"a": 4} x', b'{"a": NaN}', b'{"a": 5}']  # fmt: skip
    path = formats.written(b"\n".join(lines), "t.jsonl", tmp_path)
    found = [cell for (cell,) in cells(path, {"a": "number"})]
    assert found[0] == 1
    assert found[1] == 3, "the last of two names counts"
    assert found[-1] == 5
    assert [cell for cell in found if cell is not None] == [1, 3, 5]
    assert len(found) in (7, 8), "an object that is nested too deeply for Python is left out, or has no value"


def test_a_json_line_with_bytes_that_are_not_utf8_lacks_that_cell_alone(tmp_path):
    lines = [b'{"a": "\xff", "b": 1}', b'{"\xff": "x", "a": "\xc3\xa9", "b": 2}', b'{"a": "\xf0\x9f\x98\x80"}']
    path = formats.written(b"\n".join(lines), "t.jsonl", tmp_path)
    assert cells(path, {"a": "text", "b": "number"}) == [(None, 1), ("é", 2), ("😀", None)]


def test_a_json_line_of_more_than_2_mb_is_left_out_without_being_held(tmp_path):
    with (tmp_path / "t.jsonl").open("wb") as file:
        file.write(b'{"a": 1}\n{"a": "')
        for _ in range(40):
            file.write(b"x" * 2**20)
        file.write(b'"}\n{"a": 2}\n')
    assert cells(tmp_path / "t.jsonl", {"a": "number"}) == [(1.0,), (2.0,)]


def test_a_name_is_what_the_line_says_and_a_column_that_no_line_names_is_missing(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({'a"b': 1, "c.d": 2, "é": 3, "e.f": {"g": 9}}) + "\n")
    assert cells(path, {'a"b': "number", "c.d": "number", "é": "number", "nowhere": "text"}) == [(1, 2, 3, None)]
    assert [field.name for field in connect(str(path), "t").fields()] == ['a"b', "c.d", "é", "e.f"]


@pytest.mark.parametrize(("data", "said"), [(b'[{"a": 1}]', "one JSON list"), (b"", "is empty"), (b"PAR1", "Parquet")])
def test_what_is_no_json_lines_is_told(data, said, tmp_path):
    with pytest.raises(errors.EngineError, match=said):
        describe(str(formats.written(data, "t.jsonl", tmp_path)), tmp_path)


# --- workbooks ---


def test_formulas_have_their_last_value_and_errors_none(tmp_path):
    formula = {"xml": '<c r="{place}"><f>1+1</f><v>2</v></c>'}
    wrong = {"xml": '<c r="{place}" t="e"><v>#DIV/0!</v></c>'}
    runs = {"xml": '<c r="{place}" t="str"><f>HYPERLINK("http://x")</f><v>=1+1</v></c>'}
    path = workbook(tmp_path / "t.xlsx", {"S": [["a", "b"], [formula, "1"], [wrong, "2"], [runs, "3"]]})
    assert cells(path, {"a": "text", "b": "number"}) == [("2", 1), (None, 2), ("=1+1", 3)]


def test_a_row_without_values_is_left_out_wherever_it_is(tmp_path):
    rows = [["a", "b"], [1, None], [None, None], [None, 2], [None, None]]
    path = workbook(tmp_path / "t.xlsx", {"S": rows})
    assert cells(path, {"a": "number"}) == [(1,), (None,)]
    assert cells(workbook(tmp_path / "u.xlsx", {"S": [*rows, [3, 3]]}), {"a": "number"}) == [(1,), (None,), (3,)]


def test_a_table_may_begin_beside_the_first_column_but_not_below_the_first_row(tmp_path):
    path = workbook(tmp_path / "t.xlsx", {"S": [[None, "a", None, "c"], [None, 1, 2, 3]]})
    assert cells(path, {"a": "number", "c": "number"}) == [(1, 3)]
    assert [field.name for field in connect(str(path), "t").fields()] == [None, "a", None, "c"]
    below = workbook(tmp_path / "u.xlsx", {"S": [[], ["a"], [1]]})
    assert "has no names in the first row" in refusal(below, tmp_path)
    assert "has no names in the first row" in refusal(workbook(tmp_path / "e.xlsx", {"S": []}), tmp_path)


def test_of_several_sheets_one_is_named_and_only_init_shows_the_others(tmp_path):
    path = workbook(tmp_path / "t.xlsx", {"One": [["a"], [1]], "Two & 3": [["b"], [2]]})
    assert cells(path, {"b": "number"}, file=lw.file(part="Two & 3")) == [(2,)]
    told = refusal(path, tmp_path)
    assert "has 2 sheets. Nothing was charged. Name the one that is meant: part in [file], or lapwing" in told
    assert "One" not in told
    assert "Two" not in refusal(path, tmp_path, file=lw.file(part="Three"))
    with pytest.raises(errors.EngineError, match="It has: One, Two & 3"):
        describe(str(path), tmp_path)
    text = decided(describe(str(path), tmp_path, lw.file(part="One")).text)
    assert tomllib.loads(text)["file"] == {"part": "One"}


@pytest.mark.parametrize("first", [["a", 2019], ["a", "2019-01-02"], ["a", True]])
def test_a_first_row_that_may_be_one_of_the_table_is_refused_without_being_shown(first, tmp_path):
    told = refusal(workbook(tmp_path / "t.xlsx", {"S": [first, [1, 2]]}), tmp_path)
    assert "as if its first row were one of the table" in told
    assert "2019" not in told.replace("If a column is called 2019, rename it, for example to y2019", "")
    path = workbook(tmp_path / "u.xlsx", {"S": [["ann", "x"], ["bob", 1], ["ann", 2]]})
    with pytest.raises(errors.EngineError, match="occurs again below"):
        describe(str(path), tmp_path)


# --- SQLite and DuckDB ---


def made(path, *statements):
    with sqlite3.connect(path) as base:
        for statement in statements:
            base.execute(statement)
    base.close()
    return path


def test_nothing_that_is_written_in_an_sqlite_file_runs(tmp_path):
    path = made(
        tmp_path / "t.db",
        "CREATE TABLE t (a, c AS (a + 1) STORED)",
        "INSERT INTO t (a) VALUES ('1'), ('not JSON')",
        "CREATE TABLE computed (b AS (abs(a)), a)",
        "INSERT INTO computed (a) VALUES ('1')",
        "CREATE VIEW v AS SELECT 1 AS a FROM t",
        "CREATE VIRTUAL TABLE f USING fts5(a)",
        "CREATE TRIGGER w AFTER INSERT ON t BEGIN DELETE FROM t; END",
    )
    named = lw.file(part="t")
    assert cells(path, {"a": "text", "c": "number"}, file=named) == [("1", 2), ("not JSON", 1)]
    assert "is computed when it is read" in refusal(path, tmp_path, "b", file=lw.file(part="computed"))
    unsafe = made(tmp_path / "u.db", "CREATE TABLE t (a, b AS (json(a)))", "INSERT INTO t (a) VALUES ('1')")
    assert "functions in its schema that SQLite does not trust" in refusal(unsafe, tmp_path, "a")
    for part in ("v", "f"):
        assert "as a view or a virtual table" in refusal(path, tmp_path, file=lw.file(part=part))
    for part in ("f_data", "sqlite_schema", "T", 'a"; DROP TABLE t; --'):
        told = refusal(path, tmp_path, file=lw.file(part=part))
        assert "has no table" in told or "as a view or a virtual table" in told


def test_a_cell_of_an_sqlite_file_with_more_than_2_mb_is_missing(tmp_path):
    values = ["x" * 2_000_000, "x" * 2_000_001, "a\0" + "é" * 10**6, 7]
    found = [None if cell is None else len(cell) for (cell,) in cells(in_sqlite(values, tmp_path), {"c": "text"})]
    assert found == [2_000_000, None, None, 1]


def test_a_sqlite_file_is_read_while_another_program_writes(tmp_path):
    path = tmp_path / "t.sqlite"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE t (a)")
    writer.execute("INSERT INTO t VALUES (1)")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO t VALUES (2)")
    assert cells(path, {"a": "number"}) == [(1,)]
    writer.execute("COMMIT")
    assert cells(path, {"a": "number"}) == [(1,), (2,)]
    writer.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["t.sqlite"]


@pytest.mark.skipif(os.geteuid() == 0, reason="for root every folder is writable")
def test_a_sqlite_file_with_a_log_is_read_in_a_folder_that_is_not_writable(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    made(folder / "t.sqlite", "PRAGMA journal_mode = WAL", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    folder.chmod(0o500)
    try:
        assert cells(folder / "t.sqlite", {"a": "number"}) == [(1,)]
    finally:
        folder.chmod(0o700)


def test_one_table_of_a_database_is_named_and_only_init_shows_the_others(tmp_path):
    path = made(tmp_path / "t.sqlite", "CREATE TABLE visits (a)", "CREATE TABLE wards (a)")
    told = refusal(path, tmp_path)
    assert "has 2 tables" in told
    assert "wards" not in told
    with pytest.raises(errors.EngineError, match="It has: visits, wards"):
        describe(str(path), tmp_path)
    assert "has no tables" in refusal(made(tmp_path / "e.sqlite", "PRAGMA user_version = 1"), tmp_path)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as base:
        base.execute("CREATE TABLE one (a INT); CREATE SCHEMA s; CREATE TABLE s.two AS SELECT 7 AS a")
        base.execute("CREATE VIEW v AS FROM read_text('/etc/hostname'); CREATE TABLE made (a INT, b AS (error('x')))")
    path = tmp_path / "t.duckdb"
    assert "has 3 tables" in refusal(path, tmp_path)
    with pytest.raises(errors.EngineError, match=r"It has: made, one, s\.two"):
        describe(str(path), tmp_path)
    assert cells(path, {"a": "number"}, file=lw.file(part="s.two")) == [(7,)]
    assert "as a view, which would run" in refusal(path, tmp_path, file=lw.file(part="v"))
    assert "is computed when it is read" in refusal(path, tmp_path, "b", file=lw.file(part="made"))
    assert "has no table" in refusal(path, tmp_path, file=lw.file(part="two"))


def test_a_duckdb_file_that_is_open_for_writing_is_told(tmp_path):
    path = formats.duckdb_file(tmp_path)
    with duckdb.connect(str(path)) as writer:
        writer.execute("CREATE TABLE more (a INT)")
        assert "another program or connection is writing to it" in refusal(path, tmp_path, "n")
    assert "has 2 tables" in refusal(path, tmp_path, "n")


# --- Stata, SPSS, SAS ---


def survey(path, **more):
    frame = pd.DataFrame({"id": [1.0, 2.0, 3.0, 9.0], "sex": [1.0, 2.0, 9.0, None], "t": ["a", "", "é", "b"],
                          "d": [13_900_000_000.0, 1e30, -1e30, None]})  # fmt: skip
    writer = pyreadstat.write_sav if path.suffix == ".sav" else pyreadstat.write_dta
    writer(frame, str(path), column_labels={"sex": "Sex of the\nperson"},
           variable_value_labels={"sex": {1: "men", 2: 'wo"men', 9: "no answer"}}, **more)  # fmt: skip
    return path


def test_user_missing_values_empty_texts_and_impossible_dates_are_missing(tmp_path):
    path = survey(tmp_path / "t.sav", missing_ranges={"sex": [9]}, variable_format={"d": "DATE11"})
    kinds = {"sex": "number", "t": "text", "d": "date"}
    assert [row[:2] for row in cells(path, kinds)] == [(1, "a"), (2, None), (None, "é"), (None, "b")]
    assert [None if row[2] is None else row[2].year for row in cells(path, kinds)] == [2023, None, None, None]
    assert len({who for *_, who in cells(path, {"t": "text"}, "id")}) == 4, "numbers of SPSS are floats"


def test_init_writes_titles_and_labels_of_values_as_keys(tmp_path):
    for name, more in (("t.sav", {"variable_format": {"d": "DATETIME20"}}), ("t.dta", {})):
        text = decided(describe(str(survey(tmp_path / name, **more)), tmp_path).text)
        keys = r'{"1" = "men", "2" = "wo\"men", "9" = "no answer"}'
        line = f'sex = {{ keys = {keys}, title = "Sex of the person" }}'
        assert f"\n# {line}\n" in text
        (tmp_path / "made.toml").write_text(text.replace(f"# {line}", line))
        assert lw.Source.open(tmp_path / "made.toml").schema.columns["sex"].labels == ("men", 'wo"men', "no answer")
    assert tomllib.loads(text)["epsilon"] == 1


@pytest.mark.parametrize("name", ["t.sav", "t.dta"])
def test_init_offers_floats_that_are_whole_in_the_first_rows_as_whole_numbers(name, tmp_path):
    frame = pd.DataFrame({"id": [101.0, None, 10.0**12], "x": [1.0, 2.5, 3.0], "none": [None, None, float("nan")],
                          "code": [1.0, 2.0, 77.0]})  # fmt: skip
    write = pyreadstat.write_sav if name.endswith("sav") else pyreadstat.write_dta
    write(frame, str(tmp_path / name), variable_value_labels={"code": {77: "no answer"}})
    said = describe(str(tmp_path / name), tmp_path).text.partition("[columns]\n")[2].splitlines()
    assert said == [
        "# id = { low = ?, high = ?, integer = true }",
        "# x = { low = ?, high = ? }",
        "# none = { low = ?, high = ? }",
        "# code = { low = ?, high = ?, integer = true, missing = [77] }",
    ]


# --- folders ---


def hive(folder, *parts, column="x"):
    for i, part in enumerate(parts):
        (folder / part).mkdir(parents=True)
        pl.DataFrame({column: [i]}).write_parquet(folder / part / "part-0.parquet")
    return folder


def test_names_of_folders_are_columns_of_texts(tmp_path):
    (tmp_path / "outer=1").mkdir()
    folder = hive(tmp_path / "outer=1" / "t", "y=007/r=a%2Fb%20%C3%A9", "y=8/r=__HIVE_DEFAULT_PARTITION__", "y=9/r='")
    found = sorted(cells(folder, {"y": "text", "r": "text", "x": "number"}))
    assert found == [("007", "a/b é", 0), ("8", None, 1), ("9", "'", 2)]
    assert [field.name for field in connect(str(folder), "t").fields()] == ["x", "y", "r"]
    assert sorted(cells(folder / "y=*" / "*" / "*.parquet", {"y": "number"})) == [(7,), (8,), (9,)]
    assert [field.name for field in connect(str(folder / "y=8" / "*" / "*.parquet"), "t").fields()] == ["x", "r"]


def test_folders_that_name_other_columns_are_refused(tmp_path):
    said = "in folders that name different columns"
    assert said in refusal(hive(tmp_path / "a", "y=1", "z=1"), tmp_path, "x")
    assert said in refusal(hive(tmp_path / "b", "y=1", "y=1/z=1"), tmp_path, "x")
    assert said in refusal(hive(tmp_path / "c", "y=1/y=2"), tmp_path, "x")
    assert "in its files and in the names of their folders" in refusal(hive(tmp_path / "d", "x=1"), tmp_path, "x")
    assert "Rename the column" in refusal(hive(tmp_path / "e", "y=1", column="File_Index"), tmp_path, "y")
    with pytest.raises(errors.InvalidSource, match="could be taken for another"):
        lw.Source(hive(tmp_path / "f", "X=1"), name="t", columns={"x": "number"}, epsilon=1).release(
            lw.count("x"), epsilon=1
        )


def test_a_folder_holds_its_files_and_its_ledger_is_beside_it(tmp_path):
    folder = formats.parquet_folder(tmp_path)
    opened = connect(str(folder), "t")
    assert opened.folder == tmp_path
    assert opened.holds(folder / "deep0" / "new.parquet")
    assert not opened.holds(tmp_path / "new.parquet")
    assert opened.modified() is not None
    ledger = lw.Source(folder, **{**described(tmp_path), "ledger": None}).make_ledger()
    assert repr(ledger) == f"Ledger({str(tmp_path / 't.ledger')!r})"


def test_a_link_in_a_folder_is_refused_and_one_that_is_named_is_followed(tmp_path):
    path = formats.parquet(tmp_path)
    (tmp_path / "link.parquet").symlink_to(path)
    assert len(cells(tmp_path / "link.parquet", {"n": "number"})) == len(formats.ROWS)
    for target in (path, tmp_path / "nowhere", "/"):
        folder = tmp_path / os.urandom(4).hex()
        folder.mkdir()
        (folder / "part.parquet").symlink_to(target)
        assert "is a symbolic link" in refusal(folder, tmp_path, "n")
    (tmp_path / "gone.sqlite").symlink_to(tmp_path / "nowhere")
    assert "there is no file" in refusal(tmp_path / "gone.sqlite", tmp_path)


# --- which reader, and what may be said about a file ---


def test_the_format_may_be_said_and_what_a_format_does_not_need_is_refused(tmp_path):
    path = formats.sqlite(tmp_path).rename(tmp_path / "t.data")
    assert len(cells(path, {"n": "number"}, file=lw.file(format="sqlite"))) == len(formats.ROWS)
    for name, file in (("t.sqlite", {"delimiter": ";"}), ("t.parquet", {"part": "a"}), ("t.jsonl", {"quote": "'"}),
                       ("t.xlsx", {"decimal": ","}), ("t.csv", {"part": "a"}), ("t.dta", {"part": "a"})):  # fmt: skip
        with pytest.raises(errors.InvalidSource, match=f"says {next(iter(file))} about how its table is written"):
            lw.Source(name, file=lw.file(**file), **described(tmp_path))
    for name in ("t.zip", "t.csv.zip", "t.tar", "t.tgz", "*.7z"):
        with pytest.raises(errors.InvalidSource, match="in an archive, which is not unpacked"):
            lw.Source(name, **described(tmp_path))
    for name in ("t.parquet.gz", "t.sqlite.zst"):
        with pytest.raises(errors.InvalidSource, match=r"whose format|compressed as a whole"):
            lw.Source(name, **described(tmp_path))
    with pytest.raises(errors.InvalidSource, match="compressed as a whole"):
        lw.Source("t.gz", file=lw.file(format="excel"), **described(tmp_path))


@pytest.mark.parametrize("form", ["jsonl", "sqlite", "xlsx", "spss"])
def test_texts_that_mean_that_there_is_no_value_are_missing(form, tmp_path):
    path = MAKERS[form](tmp_path)
    found = cells(path, {"key": "text"}, "person", file=lw.file(missing=["b", "p1"]))
    assert ("b" in {key for key, _ in found}, "p1" in {who for _, who in found}) == (False, False)
    assert {key for key, _ in cells(path, {"key": "text"}, "person")} >= {"b", "é"}


STORED = {"parquet", "folder", "hive", "sqlite", "duckdb", "arrow", "feather, compressed", "stata", "spss",
          "spss, compressed"}  # fmt: skip


@pytest.mark.parametrize("form", MAKERS)
def test_P5_the_number_of_rows_is_public_where_no_row_can_be_left_out(form, tmp_path):
    path = MAKERS[form](tmp_path)
    common = {"name": "t", "columns": COLUMNS, "neighbors": "change_one", "epsilon": 1, "ledger": tmp_path / "l"}
    scale = lw.Source(path, **common).plan(lw.count(), epsilon=1).forecasts[0].scale
    assert (scale == 0) == (form in STORED)
    if form not in STORED:
        with pytest.raises(errors.InvalidSource, match="may be left out"):
            lw.Source(path, public_rows=True, **common)


# --- hostile files ---


def refusal(path, folder, column="v", **more):
    """Return what a release says, which charges nothing, and shows no cell."""
    columns = {column: "number"}
    source = lw.Source(path, name="t", columns=columns, epsilon=100, ledger=folder / "ledger", **more)
    with pytest.raises(errors.LapwingError) as caught:
        source.release(lw.count(column), epsilon=1)
    assert source.ledger.spent == 0
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None
    return str(caught.value)


BINARY = [form for form in MAKERS if form not in ("folder", "hive", "csv", "jsonl")]


@pytest.mark.parametrize("form", BINARY)
def test_T50_a_file_that_was_cut_off_is_refused_before_the_charge(form, tmp_path):
    path = MAKERS[form](tmp_path)
    whole = path.read_bytes()
    for size in (0, 3, len(whole) // 3 | 1, len(whole) // 2 | 1, len(whole) - len(whole) // 20 | 1):
        path.write_bytes(whole[:size])
        told = refusal(path, tmp_path, "n")
        assert "cannot be read: the file" in told, (size, told)


@pytest.mark.parametrize("form", BINARY)
def test_T50_a_file_of_another_kind_is_refused_before_the_charge(form, tmp_path):
    path = MAKERS[form](tmp_path)
    for data in (CANARY.encode() * 50, b"PK\x03\x04" + CANARY.encode() * 50, b"\0" * 5000, b"SQLite format 3\0" * 30,
                 b"ARROW1\0\0" + CANARY.encode() * 50, b"PAR1" + b"\xff" * 500 + b"PAR1", b"$FL2" + b"\0" * 500,
                 b"<stata_dta><header><release>118</release>" + b"\xff" * 500):  # fmt: skip
        path.write_bytes(data)
        refusal(path, tmp_path, "n")


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "xlsx", "sqlite", "duckdb", "arrow", "dta", "csv.gz"])
def test_T50_pipes_devices_and_folders_are_no_files(ending, tmp_path):
    os.mkfifo(tmp_path / f"pipe.{ending}")
    assert "is not a regular file" in refusal(tmp_path / f"pipe.{ending}", tmp_path)
    (tmp_path / f"zero.{ending}").symlink_to("/dev/zero")
    assert "is not a regular file" in refusal(tmp_path / f"zero.{ending}", tmp_path)
    (tmp_path / f"folder.{ending}").mkdir()
    told = refusal(tmp_path / f"folder.{ending}", tmp_path)
    assert ("is a folder" if ending != "parquet" else "has no file") in told


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.bz2", "t.csv.zst", "t.jsonl.gz"])
def test_T50_a_file_made_to_fill_the_disk_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(compressed, "SMALL", 2**20)
    path = formats.written(b"n,person\n" + b"1," + b"x" * 2**24, name, tmp_path)
    assert "becomes more than 200 times as large" in refusal(path, tmp_path, "n")


def test_T50_a_cell_far_away_or_of_a_gigabyte_ends_in_a_refusal(tmp_path):
    """Such a sheet ends the process of its reader, which is why it has one of its own."""
    far = f'<c r="XFD1048576" t="inlineStr"><is><t>{CANARY}</t></is></c>'
    row = f'<row r="1"><c r="A1" t="inlineStr"><is><t>n</t></is></c></row><row r="1048576">{far}</row>'
    sheet = f'<worksheet xmlns="{formats.MAIN}"><sheetData>{row}</sheetData></worksheet>'
    told = refusal(workbook(tmp_path / "t.xlsx", {"S": sheet}), tmp_path, "n")
    assert "so large that it takes more than 8 GB of memory" in told


def test_T50_a_workbook_with_a_cell_of_a_gigabyte_is_refused_or_read(tmp_path, monkeypatch):
    monkeypatch.setattr(apart, "_MOST_MEMORY", 2**28)
    path = workbook(tmp_path / "t.xlsx", {"S": [["n"], [1], ["x" * 2**28]]})
    assert "is damaged" in refusal(path, tmp_path, "n")


def test_T50_a_process_that_ends_early_or_says_nonsense_is_a_refusal(tmp_path, monkeypatch):
    path = formats.xlsx(tmp_path)
    for program in ("import os; os.abort()", "print('[[1', end='')", "print('{}')"):
        script = tmp_path / "script.py"
        script.write_text(program)
        monkeypatch.setattr(apart.foreign, "__file__", str(script))
        refusal(path, tmp_path, "n")


@pytest.mark.parametrize(("library", "form", "extra"), [
    ("python_calamine", "xlsx", "excel"), ("pyreadstat", "spss", "statistics"), ("pyarrow", "arrow", "arrow"),
])  # fmt: skip
def test_a_library_that_is_not_installed_is_named_with_the_command(library, form, extra, tmp_path, monkeypatch):
    path = MAKERS[form](tmp_path)
    monkeypatch.setattr(apart, "find_spec", lambda name: None if name == library else True)
    assert f"pip install '.[{extra}]'" in refusal(path, tmp_path, "n")


def test_zstandard_without_its_library_is_told(tmp_path, monkeypatch):
    path = MAKERS["csv.zst"](tmp_path)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    assert "pip install '.[zstd]'" in refusal(path, tmp_path, "n")


@pytest.mark.parametrize("form", ["parquet", "folder", "xlsx", "arrow", "duckdb", "spss", "jsonl", "ndjson.zst"])
def test_a_file_that_is_changed_while_it_is_read_is_refused(form, tmp_path):
    path = MAKERS[form](tmp_path)
    schema = make_schema("t", {"n": "number"}, None, None, "add_remove", None)
    opened = connect(str(path), "t")

    def ask(change):
        with opened.opened(schema, ["n"], {}, None) as session:
            session.integers("SELECT count(*) FROM source")
            change()

    ask(lambda: None)
    file = next(path.rglob("deep0/*.parquet")) if path.is_dir() else path
    with pytest.raises(Exception, match="changed while it was read"):
        ask(lambda: os.utime(file, (1, 1)))
    if form == "folder":
        with pytest.raises(Exception, match="changed while it was read"):
            ask(lambda: (path / "more.parquet").write_bytes(file.read_bytes()))


def test_arrow_streams_and_damaged_texts_are_refused(tmp_path):
    table = formats.table()
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert "is not an Arrow IPC file" in refusal(tmp_path / "s.arrow", tmp_path, "n")
    path = formats.arrow(tmp_path, compression="uncompressed")
    data = path.read_bytes()
    path.write_bytes(data.replace("日本".encode(), b"\xff" * 6))
    source = lw.Source(path, **described(tmp_path))
    with pytest.raises(errors.EngineError, match="is damaged or incomplete"):
        source.release(lw.count(), by="key", epsilon=1)
    assert source.ledger.spent == 0


def test_init_knows_the_types_that_a_file_describes(tmp_path):
    whole, real = "low = ?, high = ?, integer = true", "low = ?, high = ?"
    text, day, truth = "keys = [?]", 'type = "date"', "keys = [false, true]"
    known = [text, whole, real, text, day, truth]
    for form, lines in (("sqlite", known), ("duckdb", known), ("arrow", known),
                        ("spss", [text, whole, real, text, day, whole]),
                        ("jsonl", [text] * 6), ("xlsx", [text] * 6)):  # fmt: skip
        folder = tmp_path / form
        folder.mkdir()
        draft = describe(str(MAKERS[form](folder)), folder)
        said = draft.text.partition("[columns]\n")[2].splitlines()
        assert said == [f"# {name} = {{ {line} }}" for name, line in zip(NAMES, lines, strict=True)], form
        table = tomllib.loads(decided(draft.text))["table"]
        assert table.startswith("t.") or Path(table).is_absolute()


def test_files_of_a_glob_must_have_the_same_columns(tmp_path):
    for i, (one, other) in enumerate(((["a"], ["b"]), (["a", "b"], ["b", "a"]))):
        folder = tmp_path / str(i)
        folder.mkdir()
        for name, columns in (("1", one), ("2", other)):
            made(folder / f"{name}.sqlite", f"CREATE TABLE t ({', '.join(columns)})")
            pl.DataFrame({column: [1] for column in columns}).write_ipc(folder / f"{name}.arrow")
            workbook(folder / f"{name}.xlsx", {"S": [columns, [1] * len(columns)]})
        for ending in ("sqlite", "arrow", "xlsx"):
            assert "has files with different columns" in refusal(folder / f"*.{ending}", tmp_path, "a")
