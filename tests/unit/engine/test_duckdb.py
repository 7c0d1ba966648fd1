"""What is said of tables that DuckDB cannot read as they are, by public facts alone; and lazy frames."""

import gzip

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import lapwing as lw
from lapwing import errors, source_file
from lapwing.engine.connect import connect
from lapwing.question.schema import make_schema


def source(table, folder, columns=("v",), **more):
    declared = dict.fromkeys(columns, "number")
    return lw.Source(table, name="t", columns=declared, epsilon=100, ledger=folder / "l", **more)


def refusal(table, folder, columns=("v",), kind=errors.LapwingError, **more):
    """Return what a release says, which charges nothing."""
    asked = source(table, folder, columns, **more)
    with pytest.raises(kind) as caught:
        asked.release(*(lw.count(column) for column in columns), epsilon=1)
    assert asked.ledger.spent == 0
    return str(caught.value)


def csv(data, folder, name="t.csv"):
    (folder / name).write_bytes(data)
    return str(folder / name)


@pytest.mark.parametrize("data", [b"", b"v,2019\n", b"\nv\n", b"v\rw\r", b"sep=,\nv\n"])
def test_init_and_release_say_the_same_of_a_first_line(tmp_path, data):
    path = csv(data, tmp_path)
    with pytest.raises(errors.EngineError) as caught:
        source_file.describe(path, tmp_path)
    assert str(caught.value) == refusal(path, tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("t.csv", b"v;w\n1;2\n", "with a semicolon in its name"),
        ("t.csv", b"v\tw\n1\t2\n", "with a tab in its name"),
        ("t.csv", b"v|w\n1|2\n", "with a vertical bar in its name"),
        ("t.tsv", b"v,w\n1,2\n", "with a comma in its name"),
    ],
)
def test_a_file_with_another_separator_is_told(tmp_path, name, data, said):
    told = refusal(csv(data, tmp_path, name), tmp_path, kind=errors.InvalidSource)
    assert f'the column "v", which its table does not have: its table has one column, {said}. No row' in told
    assert "Is that the separator?" in told


def test_a_header_that_is_not_utf8_is_told(tmp_path):
    path = csv("größe,w\n1,2\n".encode("latin-1"), tmp_path)
    assert "not in UTF-8: say its encoding in [file]" in refusal(path, tmp_path, ["größe"])


def test_a_missing_column_of_a_frame_is_not_looked_for_with_init(tmp_path):
    said = {
        "df.columns. df.reset_index() makes an index a column.": pd.DataFrame({"V": [1]}),
        "df.columns.": pl.DataFrame({"V": [1]}),
        "table.column_names.": pa.table({"V": [1]}),
        "relation.columns.": duckdb.sql("SELECT 1 AS w"),
    }
    for advice, table in said.items():
        told = refusal(table, tmp_path, kind=errors.InvalidSource)
        assert told.endswith(f"Names are compared exactly: see {advice}")
        assert '"V"' not in told  # one could be a cell that a pivot made a name


def test_a_close_name_of_a_parquet_file_is_suggested(tmp_path):
    pl.DataFrame({"weight": [1]}).write_parquet(tmp_path / "t.parquet")
    assert 'Did you mean "weight"?' in refusal(tmp_path / "t.parquet", tmp_path, ["wieght"])


def test_what_is_no_parquet_file_is_told_by_its_bytes(tmp_path):
    def said(data):
        return refusal(csv(data, tmp_path, "t.parquet"), tmp_path, kind=errors.EngineError)

    pl.DataFrame({"v": [1]}).write_parquet(tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    assert 't.parquet" is empty, so it is not a Parquet file' in said(b"")
    for data in (b"v\n1\n", b"PAR1", b"x", whole[:-1], whole[1:]):
        assert 't.parquet" is not a Parquet file: it does not begin and end with PAR1. Nothing was' in said(data)
    assert "is an encrypted Parquet file" in said(b"PARE1234PARE")
    (tmp_path / "folder.parquet").mkdir()
    assert "has no file whose name ends in .parquet" in refusal(tmp_path / "folder.parquet", tmp_path)


def test_a_closed_connection_is_told(tmp_path):
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT 1 AS v")
    assert refusal(relation, tmp_path).endswith(
        "Its connection is closed: keep the connection of a DuckDB relation open."
    )


def test_a_pattern_or_path_that_leads_to_no_file_is_told(tmp_path):
    with pytest.raises(errors.InvalidSource, match=r"let the pattern end in one of \.csv"):
        source("c*.csv*", tmp_path)
    with pytest.raises(errors.InvalidSource, match=r"let the name end in one of \.csv"):
        source("c.docx", tmp_path)
    assert "A ~ is not expanded" in refusal("~/no such folder/t.csv", tmp_path)
    assert "No file matches this pattern" in refusal(tmp_path / "x*.csv", tmp_path)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"v": ["a"], "w": [1]}, 'the column "v" is VARCHAR in "{b}" and BIGINT in "{a}"'),
        ({"w": [1]}, '"{b}" has no column "v", which "{a}" has'),
        ({"v": [1], "w": [1], "x": [1]}, '"{b}" has a column "x" that "{a}" does not have'),
    ],
)
def test_how_parquet_files_differ_is_told(tmp_path, other, said):
    pl.DataFrame({"v": [1], "w": [1]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame(other).write_parquet(tmp_path / "b.parquet")
    told = refusal(tmp_path / "*.parquet", tmp_path)
    assert said.format(a=tmp_path / "a.parquet", b=tmp_path / "b.parquet") in told
    assert "one by one" not in told


def test_parquet_files_that_differ_only_in_how_they_store_a_column_are_refused(tmp_path):
    for name, unit in (("a", "ms"), ("b", "us")):
        pq.write_table(pa.table({"v": pa.array([0], pa.timestamp(unit))}), tmp_path / f"{name}.parquet")
    assert "different columns: the column" in refusal(tmp_path / "*.parquet", tmp_path)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (b"v\n", "has another number of columns (1, not 2) than"),
        (b"w,v\n", "has the columns in another order than"),
        (b"v,Ann\n", "has another name for column 2 than"),
    ],
)
def test_how_headers_differ_is_told_without_a_name(tmp_path, other, said):
    a, b = csv(b"v,w\n", tmp_path, "a.csv"), csv(other, tmp_path, "b.csv")
    told = refusal(tmp_path / "*.csv", tmp_path)
    assert f'has files with different headers: that of "{b}" {said} that of "{a}". Nothing was charged.' in told
    assert "Ann" not in told


def test_a_header_in_a_compressed_file_is_told_as_in_a_plain_one(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"v,2019\n0,1\n"))
    assert "lapwing init --no-header" in refusal(tmp_path / "t.csv.gz", tmp_path)


def test_people_that_are_large_floats_are_not_said_to_be_unread(tmp_path):
    frame = pd.DataFrame({"v": [1, 2], "p": pd.Series([2.0**60, "x"], dtype=object)})
    told = refusal(frame, tmp_path, person="p", rows_per_person=1, kind=errors.EngineError)
    assert "floats of 2^53 or more, in which several people look the same. Nothing was charged." in told
    assert "No row was read" not in told


@pytest.mark.parametrize(
    ("table", "remedy"),
    [
        (pd.Series([1]), "series.to_frame()"),
        (pl.Series([1]), "series.to_frame()"),
        (pa.RecordBatch.from_pydict({"v": [1]}), "pa.Table.from_batches([batch])"),
        (pa.table({"v": [1]}).to_reader(), "reader.read_all()"),
        (pyarrow.dataset.dataset(pa.table({"v": [1]})), "dataset.to_table()"),
    ],
)
def test_what_is_nearly_a_table_is_refused_with_the_way_to_one(tmp_path, table, remedy):
    with pytest.raises(errors.InvalidParameter) as caught:
        source(table, tmp_path)
    assert f"{remedy} makes one" in str(caught.value)


# --- lazy frames of Polars ---


def test_a_lazy_frame_is_read_as_the_frame_it_becomes():
    frame = pl.DataFrame({"^v$": [1.0, 5, None, 7], "v": ["1", "2", "x", "4"], "p": ["a", "a", "b", None]})
    kinds = {"v": "number", "^v$": "number", "p": "text"}
    schema = make_schema("t", kinds, "p", 1, "add_remove", None)
    for asked in ([], ["v"], ["^v$", "v", "p"]):
        rows = []
        for table in (frame, frame.lazy()):
            with connect(table, "t").opened(schema, asked, {}, None) as session:
                rows.append(session._connection.execute("SELECT * FROM source ORDER BY ALL").fetchall())
        assert rows[0] == rows[1]
        assert len(rows[0]) == 4


def test_only_the_columns_that_are_asked_for_are_collected(tmp_path, frozen_noise):
    frame = pl.LazyFrame({"v": [1, 2], "w": ["1", "x"]}).with_columns(pl.col("w").cast(pl.Int64))
    source(frame, tmp_path, ["v", "w"]).release(lw.count("v"), epsilon=1)
    source(frame, tmp_path, ["v", "w"]).release(lw.count(), epsilon=1)
    with pytest.raises(errors.EngineError, match="failed while it was read"):
        source(frame, tmp_path, ["v", "w"]).release(lw.count("w"), epsilon=1)


def test_the_rows_of_a_lazy_frame_are_not_stored(tmp_path):
    assert not source(pl.LazyFrame({"v": [1]}), tmp_path, neighbors="change_one").schema.every_row_counts


def test_a_lazy_frame_is_described_without_being_collected(tmp_path):
    def collect(rows):
        raise AssertionError

    frame = pl.LazyFrame({"v": [1]}).map_batches(collect, schema={"v": pl.Int64})
    assert "declares the column" in refusal(frame, tmp_path, ["w"])
    source(frame, tmp_path).plan(lw.count("v"), epsilon=1)


@pytest.mark.parametrize("error", [ValueError, pl.exceptions.PanicException])
def test_what_a_lazy_frame_says_when_it_fails_stays_inside(tmp_path, error, caplog):
    def fail(rows):
        raise error("canary")

    frame = pl.LazyFrame({"v": [1], "p": ["canary"]}).map_batches(fail, schema={"v": pl.Int64, "p": pl.String})
    with pytest.raises(errors.EngineError) as caught:
        source(frame, tmp_path, person="p", rows_per_person=1).release(lw.count("v"), epsilon=1)
    assert "What was charged stays charged" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "canary" not in f"{caught.value!r}{caplog.text}"


class OwnExit(BaseException):
    """What is neither an error nor an interrupt of Python's."""


@pytest.mark.parametrize(
    ("raised", "shown", "text"),
    [
        (KeyboardInterrupt, KeyboardInterrupt, ""),
        (SystemExit, SystemExit, "1"),
        (OwnExit, errors.EngineError, "could not be opened"),
    ],
)
def test_what_interrupts_a_lazy_frame_keeps_its_kind_but_not_its_text(tmp_path, raised, shown, text, monkeypatch):
    def fail(*_):
        raise raised("canary")

    monkeypatch.setattr("lapwing.engine.frames.scannable", fail)  # where a frame is looked at
    with pytest.raises(shown) as caught:
        source(pl.LazyFrame({"v": [1]}), tmp_path).release(lw.count("v"), epsilon=1)
    assert text in str(caught.value)
    assert "canary" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_people_that_are_objects_in_a_lazy_frame_are_refused_before_it_is_collected(tmp_path):
    people = pl.Series("p", [2.0**60, "x"], dtype=pl.Object)
    frame = pl.DataFrame({"v": [1, 2]}).with_columns(people).lazy()
    assert "person column holds Python objects" in refusal(frame, tmp_path, person="p", rows_per_person=1)


def test_columns_whose_long_names_begin_alike_are_read_each_by_itself(tmp_path, frozen_noise):
    names = [f"{'n' * 70}{end}" for end in ("a", "ab", "b")]
    frame = pa.table({name: [place] for place, name in enumerate(names, 1)})
    columns = {name: lw.number(0, 10) for name in names}
    made = lw.Source(frame, name="t", columns=columns, epsilon=1000, ledger=tmp_path / "t.ledger")
    found = made.release(*(lw.sum(name, name=name[-2:]) for name in names), epsilon=1000)
    assert [round(found[name[-2:]].value.item()) for name in names] == [1, 2, 3]
