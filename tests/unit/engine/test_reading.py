"""What docs/reference/source.md says of cells, line by line: spellings, and the same table as CSV and as a frame."""

import datetime as dt
import math
import re
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.engine import reading
from lapwing.engine.connect import connect
from lapwing.question.codes import KINDS
from lapwing.question.file import AS_USUAL
from lapwing.question.schema import make_schema

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "source.md").read_text()
DAY = dt.date(2024, 3, 1)
READ = {
    "number": {"5": 5, "-5": -5, "+5": 5, "007": 7, "5.0": 5, ".5": 0.5, "5.": 5, "1e3": 1000, "1E-3": 0.001,
               "1_000": 1000},
    "date": dict.fromkeys(["2024-03-01", "2024-3-1", "2024/03/01", "2024 03 01", "2024-03-01 10:00",
                           "2024-03-01T10:00:00Z", "2024-03-01 10:00:00+05:00"], DAY),
    "boolean": {**dict.fromkeys(["true", "t", "yes", "y"], True), **dict.fromkeys(["false", "f", "no", "n"], False)},
}  # fmt: skip
MISSING = {
    "number": ["1,000", "1 000", "1'000", "1,5", "5%", "€5", "(5)", "0x10", "nan", "inf", "1e400", "True"],
    "date": ["20240301", "01.03.2024", "03/01/2024", "1 Mar 2024", "2024-03", "2024", "2024-02-30", "2024-03-01 25:00"],
    "boolean": ["on", "off", "nan", " true "],
}
NAMES = {"number": "number, integer", "date": "date", "boolean": "boolean"}


def rows(table, kinds, person=None, file=AS_USUAL):
    """Return the typed cells, and the person, of a table; in the steps that follow NaN and infinity are missing."""
    schema = make_schema("t", kinds, person, None if person is None else 1, "add_remove", None, file=file)
    opened = connect(table, "t", file)
    opened.check(schema, list(kinds))
    with opened.opened(schema, list(kinds), {}, None) as session:
        session._connection.execute("SET preserve_insertion_order = true; SET threads = 1")
        found = session._connection.execute("SELECT * FROM source").fetchall()
    return [tuple(None if isinstance(v, float) and not math.isfinite(v) else v for v in row) for row in found]


def cells(table, kind, name="x"):
    return [row[0] for row in rows(table, {name: kind})]


def tables(texts, folder):
    """Return the texts as a column of a CSV file, of a frame and of a Parquet file."""
    frame = pl.DataFrame({"x": texts})
    frame.write_csv(folder / "t.csv")
    frame.write_parquet(folder / "t.parquet")
    return folder / "t.csv", frame, frame.to_pandas(), folder / "t.parquet"


@pytest.mark.parametrize("kind", READ)
def test_the_spellings_of_the_reference_are_those_that_are_read(kind, tmp_path):
    for table in tables([*READ[kind], *MISSING[kind]], tmp_path):
        assert cells(table, kind) == [*READ[kind].values(), *[None] * len(MISSING[kind])]
    (line,) = re.findall(rf"^\| {NAMES[kind]} \| (.*\| .*) \|$", PAGE.split("### How a text is read")[1], re.MULTILINE)
    read, missing = line.split(" | ")
    assert set(re.findall("`([^`]+)`", read)) == set(READ[kind])
    assert set(re.findall("`([^`]+)`", missing)) == set(MISSING[kind])


def test_more_that_the_reference_says_of_spellings(tmp_path):
    for table in tables([" 7 ", "0", "2", "-1", "0.0", "TRUE", "No", " 2024-03-01 ", "24-03-01"], tmp_path):
        assert cells(table, "number")[:5] == [7, 0, 2, -1, 0]
        assert cells(table, "boolean")[1:7] == [False, True, True, False, True, False]
        assert cells(table, "date")[7:] == [DAY, dt.date(24, 3, 1)]
        assert cells(table, "text")[0] == " 7 "


# --- the same table as CSV ---


def csv(text, folder):
    (folder / "t.csv").write_text(text)
    return folder / "t.csv"


def test_an_empty_cell_of_a_csv_file_is_missing_and_nobody(tmp_path):
    table = csv('x,p\n,1\n"",2\nNA,3\nNULL,4\n', tmp_path)
    assert cells(table, "text") == [None, None, "NA", "NULL"]
    assert [who for _, who in rows(table, {"p": "text"}, "x")] == [None, None, "NA", "NULL"]
    frame = pl.DataFrame({"x": ["", None, "NA"], "p": [1, 2, 3]})
    frame.write_parquet(tmp_path / "t.parquet")
    for other in (frame, frame.to_pandas(), frame.lazy(), tmp_path / "t.parquet"):
        assert cells(other, "text") == ["", None, "NA"]
        assert [who for _, who in rows(other, {"p": "text"}, "x")] == ["", None, "NA"]


@pytest.mark.parametrize(
    ("value", "kind", "in_frame", "text", "in_csv"),
    [
        (True, "number", 1, "True", None),
        (True, "boolean", True, "True", True),
        (True, "text", "1", "True", "True"),
        (5.0, "text", "5", "5.0", "5.0"),
        (2**53, "text", None, str(2**53), str(2**53)),
        (DAY, "text", None, "2024-03-01", "2024-03-01"),
        (dt.datetime(2024, 3, 1, 23, 30, tzinfo=dt.timezone(-dt.timedelta(hours=5))), "date", dt.date(2024, 3, 2),
         "2024-03-01T23:30:00-05:00", DAY),
    ],
)  # fmt: skip
def test_what_counts_as_something_else_in_csv(value, kind, in_frame, text, in_csv, tmp_path):
    frame = pl.DataFrame({"x": [value]})
    frame.write_parquet(tmp_path / "t.parquet")
    tables = [frame, pd.DataFrame({"x": [value]}), pd.DataFrame({"x": [value]}, dtype=object)]
    if (value, kind) != (DAY, "text"):  # which is refused by its type
        tables.append(tmp_path / "t.parquet")
    for table in tables:
        assert cells(table, kind) == [in_frame]
    assert cells(csv(f"x,y\n{text},1\n", tmp_path), kind) == [in_csv]


def test_people_of_a_csv_file_are_texts(tmp_path):
    table = csv("p,x\n1,a\n1.0,a\n01,a\n", tmp_path)
    assert [who for _, who in rows(table, {"x": "text"}, "p")] == ["1", "1.0", "01"]
    frame = pd.DataFrame({"p": pd.Series([1, 1.0, Decimal("1.00")], dtype=object), "x": ["a"] * 3})
    assert len({who for _, who in rows(frame, {"x": "text"}, "p")}) == 1


def test_extra_fields_are_ignored_and_short_records_left_out(tmp_path):
    found = rows(csv("x,y\n1,2,3\n4\n5,6\n", tmp_path), {"x": "text", "y": "text"})
    assert sorted(found) == [("1", "2"), ("5", "6")]
    shifted = rows(csv('"g","v"\n"1","a",7\n"2","b",8\n', tmp_path), {"g": "text", "v": "number"})
    assert sorted(shifted) == [("1", None), ("2", None)]  # R's write.table


def test_a_period_is_nobody_and_a_folder_a_column(tmp_path):
    frame = pd.DataFrame({"p": pd.period_range("2024-01", periods=2, freq="M"), "x": [1, 2]})
    assert rows(frame, {"x": "number"}, "p") == [(1, None), (2, None)]
    named = frame.assign(p=frame["p"].astype(str))
    assert [who for _, who in rows(named, {"x": "number"}, "p")] == ["2024-01", "2024-02"]
    (tmp_path / "year=2024").mkdir()
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "year=2024" / "a.parquet")
    assert [field.name for field in connect(str(tmp_path / "*" / "*.parquet"), "t").fields()] == ["x", "year"]


def test_a_frame_of_an_older_pandas_is_refused(monkeypatch):
    monkeypatch.setattr(pd, "__version__", "2.3.1")
    with pytest.raises(errors.InvalidSource, match=r"Update pandas to 3\.0"):
        lw.Source(pd.DataFrame({"x": [1]}), name="t", columns={"x": "integer"}, epsilon=1)


def test_a_lazy_frame_is_not_collected_before_the_charge(tmp_path):
    frame = pl.DataFrame({"p": pl.Series(["a", 1], dtype=pl.Object), "x": [1, 2]}).lazy()
    described = {"person": "p", "rows_per_person": 1, "columns": {"x": "integer"}, "epsilon": 1}
    source = lw.Source(frame, name="t", ledger=tmp_path / "l", **described)
    with pytest.raises(errors.EngineError, match=r"Nothing was charged\. Collect it"):
        source.release(lw.count(), epsilon=1)
    assert source.ledger.spent == 0


# ── files as they are described ──────────────────────────────────────────────────────────────────────────────

MARKS = {
    ("decimal", ","): {"1,5": 1.5, "-0,25": -0.25, "7": 7, ",5": 0.5, "5,": 5, "1,5e3": 1500, " 1,5 ": 1.5, "+2": 2},
    ("decimal", ",", "thousands", "."): {"1.234,5": 1234.5, "1.234.567": 1234567, "12": 12, "1234,5": 1234.5},
    ("thousands", ","): {"1,234.5": 1234.5, "12,345,678": 12345678, "5.5": 5.5, "1e3": 1000},
    ("thousands", " "): {"1 234": 1234, " 12 ": 12},
    ("thousands", "\u202f", "decimal", ","): {"1\u202f234,5": 1234.5},
    ("thousands", "'"): {"1'234": 1234},
    ("thousands", "_"): {"1_234": 1234},
}
NO_NUMBERS = {
    ("decimal", ","): ["1.5", "1.000,5", "1,5,5", "1_000", ",", "", "-", "e5", "1,5x", "nan", "inf", "0x1", "1 000"],
    ("decimal", ",", "thousands", "."): ["1.23", "12.34,5", "1.2345", "0.123", "1..234", ".234", "1.234.56", "1,234.5"],
    ("thousands", ","): ["1,23", "12,34,567", "0,123", ",123", "1,2345", "1.234,567", "1_000"],
    ("thousands", " "): ["1  234", "1\u00a0234", "1 23", "- 1"],
}


def typed(texts, kind, file, folder):
    """Yield how each text is read from a CSV file, and from a column of texts of a Parquet file."""
    frame = pl.DataFrame({"n": range(len(texts)), "x": texts})
    frame.write_csv(folder / "t.csv", separator=file.delimiter or ",")
    frame.write_parquet(folder / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        found = dict(rows(folder / name, {"n": "integer", "x": kind}, file=file))
        yield [found[n] for n in range(len(texts))]


@pytest.mark.parametrize("marks", MARKS)
def test_E0_numbers_are_those_spelled_with_the_declared_marks(marks, tmp_path):
    file = lw.file(**dict(zip(marks[::2], marks[1::2], strict=True)))
    spelled, others = MARKS[marks], NO_NUMBERS.get(marks, [])
    for found in typed([*spelled, *others], "number", file, tmp_path):
        assert found == [*spelled.values(), *[None] * len(others)]
    for found in typed(list(spelled), "boolean", file, tmp_path):
        assert found == [value != 0 for value in spelled.values()]


DATES = {
    "%d.%m.%Y": (
        ["01.03.2024", "1.3.2024", " 01.03.2024 "],
        ["2024-03-01", "01.03.20245", "31.02.2024", "01.03.2024x"],
    ),
    "%m/%d/%Y": (["03/01/2024", "3/1/2024"], ["13/01/2024", "03/01/2024 10:00", "3-1-2024"]),
    "%Y%m%d": (["20240301"], ["240301", "2024-03-01", "2024-0301"]),
    "%d %b %Y": (["01 Mar 2024", "1 mar 2024"], ["1 März 2024"]),
    "%d.%m.%Y %H:%M": (["01.03.2024 23:59"], ["01.03.2024", "01.03.2024 24:00"]),
    "{%d}'%m'%y": (["{01}'03'24"], ["01'03'24"]),
}


@pytest.mark.parametrize("dates", DATES)
def test_E0_dates_are_those_in_the_declared_pattern_from_end_to_end(dates, tmp_path):
    read, others = DATES[dates]
    for found in typed([*read, *others, "", "01.03.0000"], "date", lw.file(dates=dates), tmp_path):
        assert found == [*[DAY] * len(read), *[None] * (len(others) + 2)]


def test_E0_declared_texts_are_missing_in_every_kind_of_column_and_nobody(tmp_path):
    file = lw.file(missing=["NA", "", "-", "it's {x}", "5"])
    texts = ["NA", "a", "-", "it's {x}", "na", " NA", "5", "5.0"]
    for table in (tables(texts, tmp_path)[i] for i in (0, 3)):
        assert [row[0] for row in rows(table, {"x": "text"}, file=file)] == [
            None, "a", None, None, "na", " NA", None, "5.0",
        ]  # fmt: skip
        assert [row[0] for row in rows(table, {"x": "number"}, file=file)] == [*[None] * 7, 5]
        assert [row[1] for row in rows(table, {"x": "text"}, person="x", file=file)] == [
            None, "a", None, None, "na", " NA", None, "5.0",
        ]  # fmt: skip


def test_a_description_that_says_nothing_changes_no_sql():
    for type_name in ("VARCHAR", "BLOB", "JSON", "BIGINT"):
        assert reading.person(type_name, lw.file()) == reading.person(type_name)
        for kind in KINDS:
            assert reading.cell(type_name, kind, lw.file()) == reading.cell(type_name, kind)
