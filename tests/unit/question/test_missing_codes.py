"""Codes for missing: no values of their column, on every path to a number."""

import datetime as dt
from fractions import Fraction as F

import polars as pl
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.engine.dialect import RUN, WRITTEN
from lapwing.noise.entropy import EntropyForTests

ROWS = pl.DataFrame(
    {
        "hours": [10.0, 99.0, 999.0, 99.0, 30.5, None, 80.5],
        "sex": ["1", "2", "9", "1", "9", None, "3"],
        "n": [1, 2, 99, 99, 3, None, 4],
        "day": [dt.date(2024, 1, 1), dt.date(9999, 9, 9), None, dt.date(2024, 1, 1), *[dt.date(2024, 1, 2)] * 3],
    }
)
COLUMNS = {
    "hours": lw.number(0, 80, missing=[99, 999]),
    "sex": lw.keys("1", "2", missing=["9"]),
    "n": lw.plain("integer", missing=[99]),
    "day": lw.keys(dt.date(2024, 1, 1), dt.date(2024, 1, 2), missing=[dt.date(9999, 9, 9)]),
}


def answer(tmp_path, *asked, columns=COLUMNS, **options):
    """Return the exact answers: ε is so large that no noise is left."""
    name = f"t{len(list(tmp_path.iterdir()))}"
    source = lw.Source(ROWS, name=name, columns=columns, epsilon=1000, ledger=tmp_path / f"{name}.ledger")
    made = source.release(*asked, epsilon=1000, entropy=EntropyForTests(1), **options)
    return [round(float(value), 3) for each in made.estimates.values() for value in each.value]


def test_a_code_is_taken_out_before_it_could_be_clamped(tmp_path):
    assert answer(tmp_path, lw.sum("hours"), lw.count("hours")) == [pytest.approx(120.5, abs=2), 3]
    assert answer(tmp_path, lw.mean("hours")) == [pytest.approx(120.5 / 3, abs=2)]
    without = {**COLUMNS, "hours": lw.number(0, 80)}
    assert answer(tmp_path, lw.sum("hours"), columns=without) == [pytest.approx(360.5, abs=2)]


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("hours IS NULL", 4),
        ("hours IS NOT NULL", 3),
        ("hours > 0", 3),
        ("NOT hours > 0", 0),
        ("sex IS NULL", 3),
        ("sex <> '1'", 2),
        ("n IS NULL", 3),
        ("n >= 3", 2),
        ("n = hours", 0),
        ("day IS NULL", 2),
        ("day > DATE '2024-01-01'", 3),
    ],
)
def test_a_condition_holds_for_no_code(tmp_path, where, rows):
    assert answer(tmp_path, lw.count(), where=where) == [rows]


@pytest.mark.parametrize("where", ["hours = 99", "hours IN (99, 10)", "sex = '9'", "NOT sex <> '9'", "n = 99"])
def test_a_condition_that_asks_for_a_code_is_refused(tmp_path, where):
    name = where.removeprefix("NOT ").split()[0]
    with pytest.raises(errors.InvalidRequest, match=f'counts as missing.* Write "{name}" IS NULL'):
        answer(tmp_path, lw.count(), where=where)


def test_groups_and_bins_hold_no_code(tmp_path):
    assert answer(tmp_path, lw.count(), by="sex") == [2, 1]
    assert answer(tmp_path, lw.count(), by="day") == [2, 3]
    binned = {**COLUMNS, "hours": lw.number(edges=[0, 20, 1000], missing=[99, 999])}
    assert answer(tmp_path, lw.count(), by="hours", columns=binned) == [1, 2]
    other = {**COLUMNS, "sex": lw.keys("1", "2", other="rest", missing=["9"])}
    assert answer(tmp_path, lw.count(), by="sex", columns=other) == [2, 1, 4]  # missing cells are counted there, too


def test_discover_and_bounds_do_not_see_a_code_and_keep_it_in_what_they_declare(tmp_path):
    frame = pl.DataFrame({"k": ["a"] * 50 + ["9"] * 60, "v": [7.0] * 40 + [999.5] * 70})
    columns = {"k": lw.plain("text", ["9"]), "v": lw.plain("number", missing=["999.5"])}
    source = lw.Source(frame, name="t", columns=columns, epsilon=100, delta="0.1", ledger=tmp_path / "l")
    found = source.discover("k", epsilon=10, delta="0.01", entropy=EntropyForTests(1))
    assert list(found.keys) == ["a"]
    assert found.column() == lw.keys("a", missing=["9"])
    assert found.to_toml() == '[columns.k]\nkeys = ["a"]\nmissing = ["9"]\n'
    bounds = source.bounds("v", epsilon=10, entropy=EntropyForTests(1))
    assert bounds.high < 20
    assert bounds.column().missing == (F("999.5"),)
    assert bounds.to_toml().endswith("missing = [999.5]\n")


def test_codes_are_part_of_the_question_in_any_order(tmp_path):
    def entry(columns, call="release", *asked, **options):
        source = lw.Source(ROWS, name="t", columns=columns, epsilon=100, delta="0.1", ledger=tmp_path / "l")
        return getattr(source, call)(*asked, epsilon=1, entropy=EntropyForTests(1), **options).entry

    first = entry(COLUMNS, "release", lw.sum("hours"))
    again = {**COLUMNS, "hours": lw.number(0, 80, missing=["999", 99.0])}
    assert entry(again, "release", lw.sum("hours")) == first
    assert entry({**COLUMNS, "hours": lw.number(0, 80, missing=[99])}, "release", lw.sum("hours")) != first
    found = {entry({"n": lw.plain("integer", codes)}, "discover", "n", delta="0.01") for codes in ([], [99], [1, 99])}
    assert len(found) == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: lw.plain("boolean", [True]),
        lambda: lw.keys(True, False, missing=[True]),
        lambda: lw.keys("1", "9", missing=["9"]),
        lambda: lw.keys(1, 9, missing=["9"]),
        lambda: lw.keys("1", missing=[9]),
        lambda: lw.keys("1", missing="9"),
        lambda: lw.number(0, 1, missing=["x"]),
        lambda: lw.number(0, 1, missing=[float("nan")]),
        lambda: lw.number(0, 1, missing=[10**301]),
        lambda: lw.number(0, 1, missing=9),
        lambda: lw.plain("date", ["2024-01-01"]),
        lambda: lw.plain("text", ["a\0"]),
        lambda: lw.plain("text", ["\ud800"]),
        lambda: lw.plain("text", [str(i) for i in range(1001)]),
    ],
)
def test_a_code_that_cannot_occur_is_refused(make):
    with pytest.raises(errors.RequestError, match="missing"):
        make()


@pytest.mark.parametrize("name", [*RUN, *WRITTEN])
def test_every_engine_takes_codes_out_by_the_same_rule(name):
    source = lw.Source(ROWS, name="t", columns={**COLUMNS, "it's": lw.plain("text", ["it's"])}, epsilon=1)
    sql = source.plan(lw.sum("hours"), by=["sex", "day"], where='"it\'s" IS NULL', epsilon=1).to_sql(name)
    assert sql.count(" NOT IN (") == 4
    assert "99" in sql


def test_a_source_file_declares_codes(tmp_path):
    (tmp_path / "t.csv").write_text("hours,sex,n,day\n")
    (tmp_path / "t.toml").write_text(
        'table = "t.csv"\n[columns.hours]\nlow = 0\nhigh = 80\nmissing = [99, 999]\n'
        '[columns.sex]\nkeys = ["1", "2"]\nmissing = ["9"]\n[columns.n]\ntype = "integer"\nmissing = [99]\n'
        "[columns.day]\nkeys = [2024-01-01, 2024-01-02]\nmissing = [9999-09-09]\n"
    )
    assert lw.Source.open(tmp_path / "t.toml").schema.columns == COLUMNS
    (tmp_path / "t.toml").write_text('table = "t.csv"\n[columns.b]\ntype = "boolean"\nmissing = [true]\n')
    with pytest.raises(errors.InvalidSource, match="declare the column as text"):
        lw.Source.open(tmp_path / "t.toml")
