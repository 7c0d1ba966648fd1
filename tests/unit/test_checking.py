"""``lw.check``: whether a declaration fits its table, in words, for the owner alone."""

import gzip
import inspect
import json
from datetime import date
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.checking import WORDS, word
from lapwing.engine import fit
from lapwing.engine.fit import ColumnCounts, TableCounts

from ..tables import FORMS, make


def source_of(table, columns, **options):
    return lw.Source(table, name="t", columns=columns, **options)


def checked(table, columns, **options):
    found = lw.check(source_of(table, columns, **options))
    return found, {each.name: each for each in found.columns}, {each.column: each for each in found.advice}


# --- the words ---


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [(0, 0, "none"), (0, 9, "none"), (1, 101, "under 1 %"), (1, 100, "under 10 %"), (9, 100, "under 10 %"),
     (10, 100, "many"), (89, 100, "many"), (90, 100, "nearly all"), (10**9 - 1, 10**9, "nearly all"), (7, 7, "all")],
)  # fmt: skip
def test_a_share_is_one_of_six_words(part, whole, expected):
    assert word(part, whole) == expected


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_larger_shares_have_no_smaller_word(part, whole):
    at = WORDS.index(word(min(part, whole), whole))
    share = F(min(part, whole), whole)
    assert at == sum((share > 0, share >= F(1, 100), share >= F(1, 10), share >= F(9, 10), share == 1))


# --- what is seen ---

COLUMNS = {
    "x": lw.number(0, 10),
    "code": lw.number(0, 5, integer=True),
    "key": lw.keys("a", "b"),
    "day": "date",
    "yes": "boolean",
}
ROWS = [
    {"person": f"p{i % 50}" if i % 4 else None, "x": [1.0, 20.0, -3.0, None][i % 4], "code": i % 6, "y": 0.0,
     "key": ["a", "b", "c", None][i % 4], "day": date(2024, 1, 1 + i % 28), "yes": i % 2 == 0}
    for i in range(400)
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_table_is_checked_alike(form, tmp_path):
    table = make(ROWS, form, tmp_path)
    found, columns, advice = checked(table, COLUMNS, person="person", rows_per_person=9)
    assert not found.wrong
    x, code, key = columns["x"], columns["code"], columns["key"]
    assert (x.values, x.missing, x.odd, x.below, x.above, x.broken, x.unlisted) == (
        "many", "many", "none", "many", "many", None, None,
    )  # fmt: skip
    assert (code.values, code.missing, code.below, code.above, code.broken) == ("all", "none", "none", "none", "none")
    assert (key.values, key.missing, key.below, key.unlisted) == ("many", "many", None, "many")
    assert {columns[name].values for name in ("day", "yes")} == {"all"}
    assert (found.nobody, found.beyond, found.most) == ("many", "none", 9)
    assert set(advice) == {"x", "key", "person"}
    assert "weighted down" not in str(found)


def test_the_words_are_right_at_every_share(tmp_path):
    for bad in (0, 1, 9, 10, 99, 100, 500, 899, 900, 999):
        frame = pd.DataFrame({"x": [11.0] * bad + [5.0] * (1000 - bad), "k": ["z"] * bad + ["a"] * (1000 - bad)})
        _, columns, _ = checked(frame, {"x": lw.number(0, 10), "k": lw.keys("a", "b")})
        assert columns["x"].above == columns["k"].unlisted == word(bad, 1000)


def test_people_with_too_many_rows(tmp_path):
    frame = pd.DataFrame({"p": [*range(200), 0, 0, 1], "x": 1.0})
    found, _, advice = checked(frame, {"x": lw.number(0, 10)}, person="p", rows_per_person=2)
    assert (found.nobody, found.beyond) == ("none", "under 1 %")
    assert "--rows-per-person" in advice["p"].todo
    found, _, advice = checked(frame, {"x": lw.number(0, 10)}, person="p")
    assert (found.beyond, found.most) == ("under 10 %" if 2 / 200 >= 0.01 else "under 1 %", 1)
    assert "not declared" in advice["p"].what


def test_records_that_cannot_be_read_are_told(tmp_path):
    (tmp_path / "t.csv").write_text("x,k\n" + "1,a\n" * 95 + "2\n" * 5)
    found, _, advice = checked(tmp_path / "t.csv", {"x": lw.number(0, 10)})
    assert found.left_out == "under 10 %"
    assert "Records that cannot be read, and are left out: under 10 %." in str(found)
    assert not advice[None].wrong
    (tmp_path / "t.csv").write_text("x,k\n" + "2\n" * 5)
    found, _, advice = checked(tmp_path / "t.csv", {"x": lw.number(0, 10)})
    assert found.empty
    assert advice[None].wrong


ENCODED = {
    "no encoding is said": ("t.csv", "k,x\nK\xf6ln,1\nBonn,2\n", {}, True, 'encoding = "windows-1252"'),
    "it is said to be UTF-8": ("t.csv", "k,x\nK\xf6ln,1\nBonn,2\n", {"encoding": "utf-8"}, False, "damaged"),
    "JSON lines": ("t.jsonl", '{"k": "K\xf6ln", "x": 1}\n{"k": "Bonn", "x": 2}\n', {}, True, "anew in UTF-8"),
    "compressed": ("t.csv.gz", "k,x\nK\xf6ln,1\nBonn,2\n", {}, True, "lapwing init"),
}


@pytest.mark.parametrize("case", ENCODED)
def test_cells_that_are_not_in_the_encoding_are_missing_and_wrong_where_none_is_said(case, tmp_path):
    name, text, said, wrong, todo = ENCODED[case]
    data = text.encode("latin-1")
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    columns = {"k": lw.keys("Köln", "Bonn"), "x": lw.number(0, 10)}
    found, by_name, advice = checked(tmp_path / name, columns, file=lw.file(**said))
    assert (found.left_out, by_name["k"].missing, by_name["x"].missing) == ("none", "many", "none")
    assert (advice[None].wrong, found.wrong) == (wrong, wrong)
    assert todo in advice[None].todo
    assert checked(tmp_path / name, {"x": lw.number(0, 10)})[0].advice == (), "only cells that are declared count"


def test_of_many_people_one_in_sixteen_is_looked_at_and_of_few_everyone(tmp_path, monkeypatch):
    monkeypatch.setattr(fit, "_MANY_ROWS", 1000)
    rows = [person for person in range(32_000) for _ in range(2 if person % 2 else 1)]
    found, _, _ = checked(pd.DataFrame({"p": rows, "x": 1.0}), {"x": lw.number(0, 10)}, person="p")
    assert (found.beyond, found.one_in) == ("many", 16)
    assert "People with more than 1 row: many (of one person in 16)." in str(found)
    assert found.to_dict()["people"]["one_in"] == 16
    few = pd.DataFrame({"p": [*range(9), 0] * 200, "x": 1.0})
    found, _, _ = checked(few, {"x": lw.number(0, 10)}, person="p", rows_per_person=300)
    assert (found.beyond, found.one_in) == ("many", 1)


# --- what makes every number wrong ---

WRONG = {
    "a decimal comma": (["1,5", "2,5"], lw.number(0, 10), "decimal"),
    "thousands": (["1.000,00", "2.000,00"], lw.number(0, 10_000), "decimal"),
    "a date of another form": (["31.01.2024", "28.02.2024"], "date", "dates of"),
    "words for truth values": (["ja", "nein"], "boolean", "as keys"),
    "no listed key": (["north", "south"], lw.keys("North", "South"), "lapwing discover"),
    "another unit": (["170", "180"], lw.number(1, 3), "unit"),
    "codes that are not numbers": (["NA", "."], lw.number(0, 3, integer=True), "decimal"),
    "nothing at all": ([None, ""], lw.number(0, 3), "right column"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_column_that_can_only_give_wrong_numbers(what, tmp_path):
    cells, column, todo = WRONG[what]
    path = tmp_path / "t.csv"
    pd.DataFrame({"c": cells, "other": 1}).to_csv(path, index=False)
    found, _, advice = checked(path, {"c": column, "other": "number"})
    assert found.wrong
    assert advice["c"].wrong
    assert todo in advice["c"].todo
    assert "WRONG: c: " in str(found)
    assert "other" not in advice
    frame, _, _ = checked(pd.DataFrame({"c": cells}), {"c": column})
    assert frame.wrong


def test_one_right_cell_is_enough_not_to_be_wrong(tmp_path):
    frame = pd.DataFrame({"c": ["1,5"] * 999 + ["1.5"]})
    found, columns, advice = checked(frame, {"c": lw.number(0, 10)})
    assert not found.wrong
    assert (columns["c"].values, columns["c"].odd) == ("under 1 %", "nearly all")
    assert "not a number" in advice["c"].what


def test_other_counts_what_is_not_listed():
    frame = pd.DataFrame({"k": ["x", "y"]})
    found, _, advice = checked(frame, {"k": lw.keys("a", other="rest")})
    assert not found.wrong
    assert "no cell is a listed key" in advice["k"].what
    found, _, _ = checked(pd.DataFrame({"k": ["x", "a"]}), {"k": lw.keys("a", other="rest")})
    assert not found.advice


def test_columns_that_are_not_there_and_types_that_cannot_be_read(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "when": [date(2024, 1, 1)] * 2})
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    columns = {"x": lw.number(0, 10), "gone": "text", "when": lw.number(0, 1)}
    found, seen, advice = checked(path, columns, person="who", rows_per_person=1)
    assert found.wrong
    assert set(seen) == {"x"}
    assert all(advice[name].wrong for name in ("gone", "when", "who"))
    assert "does not have" in advice["gone"].what
    assert (found.person, found.nobody) == (None, None)
    found, _, advice = checked(pd.DataFrame({"p": [None, None], "x": [1, 2]}), {}, person="p", rows_per_person=1)
    assert advice["p"].wrong


def test_a_table_without_rows_and_a_source_without_columns():
    found, columns, advice = checked(pd.DataFrame({"x": pd.Series([], dtype=float)}), {"x": lw.number(0, 1)})
    assert (found.empty, found.wrong, columns["x"].values, advice) == (True, False, "none", {})
    assert "no rows" in str(found)
    assert "fits the table" in str(lw.check(source_of(pd.DataFrame({"x": [1]}), {})))


def test_a_wide_table_is_checked_in_several_queries():
    frame = pd.DataFrame({f"c{i}": [i, i + 1] for i in range(210)} | {"p": ["a", "b"]})
    columns = {f"c{i}": lw.keys(i, i + 1) if i % 2 else lw.number(0, i + 1) for i in range(210)}
    found, seen, advice = checked(frame, columns, person="p", rows_per_person=1)
    assert (len(seen), found.wrong, advice) == (210, False, {})
    assert {each.values for each in found.columns} == {"all"}
    narrow = {name: lw.keys(-1) for name in columns}
    found, _, _ = checked(frame, narrow)
    assert sum(each.wrong for each in found.advice) == 210


def test_not_a_number_is_missing_and_infinity_is_no_value():
    frame = pd.DataFrame({"x": [np.nan] * 50 + [np.inf] * 5 + [1.0] * 45})
    _, columns, _ = checked(frame, {"x": lw.number(0, 1)})
    assert (columns["x"].missing, columns["x"].odd, columns["x"].values) == ("many", "under 10 %", "many")


def test_whole_numbers_that_are_not_whole():
    _, columns, advice = checked(pd.DataFrame({"x": [1.5, 2.0]}), {"x": lw.number(0, 9, integer=True)})
    assert columns["x"].broken == "many"
    assert "not whole" in advice["x"].what


# --- what it does not do ---


def test_it_says_first_that_it_is_private_and_shows_words_alone(tmp_path):
    frame = pd.DataFrame({"p": range(1237), "x": [*[31.337] * 37, *[0.5] * 1200], "k": "SECRET"})
    found = lw.check(source_of(frame, {"x": lw.number(0, 1), "k": lw.keys("a")}, person="p", rows_per_person=4))
    first, second, *_ = str(found).splitlines()
    assert first.startswith("PRIVATE: for the owner")
    assert "not for publication" in first
    for way in ("lapwing bounds`", "lapwing discover`", "lapwing bounds --rows-per-person`"):
        assert way in second
    told = json.dumps(found.to_dict())
    for text in (str(found), repr(found), told):
        for hidden in ("31.3", "SECRET", "1237", "1,237", "37", "1200"):
            assert hidden not in text.replace("0.1", "")
    assert json.loads(told)["publish"] is False
    assert repr(ColumnCounts(1, 2, 3, 4, 5, 6)) == "ColumnCounts(hidden)"
    assert repr(TableCounts(1, 2, 3, 4, {})) == "TableCounts(hidden)"


def test_it_needs_no_ledger_makes_none_and_charges_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": [1.0, 2.0]}).to_parquet(path)
    lw.check(source_of(path, {"x": lw.number(0, 1)}))
    lw.check(source_of(path, {"x": lw.number(0, 1)}, epsilon=1))
    assert [each.name for each in tmp_path.rglob("*")] == ["t.parquet"]


def test_it_is_no_method_of_a_source_and_has_no_analyst():
    assert not hasattr(lw.Source, "check")
    assert set(inspect.signature(lw.check).parameters) == {"source", "progress"}
    with pytest.raises(errors.RequestError, match="source"):
        lw.check("t.csv")


def test_a_damaged_file_is_one_refusal(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": ["SECRET"] * 100}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(errors.LapwingError) as refusal:
        lw.check(source_of(path, {"x": "text"}))
    assert "SECRET" not in str(refusal.value)
    with pytest.raises(errors.LapwingError, match="no file"):
        lw.check(source_of(tmp_path / "gone.csv", {"x": "text"}))
