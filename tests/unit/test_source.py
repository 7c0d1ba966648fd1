"""Sources: how they are made, in Python and from a file, and what is refused."""

import re
import sqlite3
import tomllib
from datetime import date
from fractions import Fraction as F
from inspect import signature
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from lapwing import errors, source_file
from lapwing.engine.connect import public, title
from lapwing.engine.table import DescribedField
from lapwing.question.schema import MAX_CELLS, Grid
from lapwing.source_file import describe

from ..tables import FORMS, decided, make

TOML = """
name = "visits"
table = "visits.csv"
person = "patient"
rows_per_person = 3
epsilon = 2

[columns.cost]
low = 0
high = 5000

[columns.age]
low = 0
high = 120
integer = true

[columns.ward]
keys = ["north", "south", "harbour"]

[columns.admitted]
type = "date"
"""
ROWS = "patient,ward,cost,age,admitted\n" + "".join(
    f"p{i % 40},{'north' if i % 3 else 'south'},{i * 7.5},{i % 90},2024-0{1 + i % 9}-01\n" for i in range(200)
)


@pytest.fixture
def visits(tmp_path):
    (tmp_path / "visits.toml").write_text(TOML)
    (tmp_path / "visits.csv").write_text(ROWS)
    return lw.Source.open(tmp_path / "visits.toml")


def test_a_source_file_and_its_ledger_beside_it(visits, tmp_path):
    assert (visits.name, visits.ledger_place()) == ("visits", str(tmp_path / "visits.ledger"))
    answer = visits.sql("SELECT ward, COUNT(*) AS n, AVG(cost) FROM visits GROUP BY ward", epsilon=1)
    told = answer.to_dict()
    assert told["columns"][0] == {"name": "ward", "kind": "key"}
    assert told["columns"][1] == {"name": "n", "kind": "count", "scale": "3", "claim": "P2"}
    assert [row["ward"] for row in told["rows"]] == ["north", "south", "harbour"]
    assert set(told["rows"][0]["n"]) == {"value", "low", "high", "noise"}
    expected = {"source": "visits", "entry": 2, "repeated": False, "epsilon": "1", "delta": "0", "remaining": "1"}
    assert {key: told[key] for key in expected} == expected
    assert (told["rows_per_person"], told["confidence"], told["neighbors"]) == (3, "0.95", "add_remove")


def test_every_way_out_of_a_release_holds_the_same_numbers(visits, tmp_path):
    answer = visits.release(lw.count(name="n"), lw.mean("cost"), by="ward", epsilon=1)
    frame = answer.to_pandas()
    assert list(frame) == ["ward", "n", "n_low", "n_high", "mean_cost", "mean_cost_low", "mean_cost_high",
        "n_noise", "mean_cost_noise",
    ]  # fmt: skip
    assert frame.n.tolist() == [row["n"]["value"] for row in answer.rows] == answer.to_polars()["n"].to_list()
    assert answer.to_arrow().column("n").to_pylist() == frame.n.tolist()
    answer.to_csv(tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv").n.tolist() == frame.n.tolist()
    answer.to_parquet(tmp_path / "out.parquet")
    assert pd.read_parquet(tmp_path / "out.parquet").n.tolist() == frame.n.tolist()
    page = answer.to_html(tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text() == page
    assert page.count("<svg") == 8  # 6 bars on 2 axes
    assert not re.search(r"//\w", page)
    assert "<table" in answer._repr_html_()
    assert "harbour" in str(answer.plot("mean_cost").to_dict())
    assert "count" not in answer.plot().to_dict()


def test_the_same_numbers_at_another_confidence_cost_nothing(visits):
    answer = visits.release(lw.count(), by="ward", epsilon=1)
    wide, all_at_once = answer.at("0.999"), answer.at(simultaneous=True)
    for narrow, wider in ((answer, wide), (answer, all_at_once)):
        assert narrow.estimates["count"].value.tolist() == wider.estimates["count"].value.tolist()
        assert (narrow.estimates["count"].high < wider.estimates["count"].high).all()
    assert visits.ledger.spent == 1


def test_a_plan_reads_no_data(tmp_path):
    place = str(tmp_path / "nothing.csv")
    source = lw.Source(place, name="t", columns={"key": lw.keys("a")}, epsilon=1, ledger=tmp_path / "l")
    plan = source.plan(lw.count(), by="key", epsilon=1)
    assert plan.forecasts[0].margin == 3
    assert "± 3" in str(plan)
    with pytest.raises(errors.EngineError, match="there is no file"):
        source.release(lw.count(), by="key", epsilon=1)


def test_a_plan_answers_the_other_way_round(visits):
    for error in (5, 10, "30"):
        plan = visits.plan(lw.count(), by="ward", error=error)
        assert plan.forecasts[0].margin <= float(error)
        less = visits.plan(lw.count(), by="ward", epsilon=plan.epsilon - F(1, 10**9))
        assert less.forecasts[0].margin > float(error)
    both = visits.plan(lw.mean("cost", error=20), lw.mean("age", error=1), rows=2000)
    assert [forecast.margin for forecast in both.forecasts] == pytest.approx([20, 1], rel=0.01)
    with pytest.raises(errors.OutOfReach, match="even ε = 1000"):
        visits.plan(lw.mean("cost"), error="1e-9")


def test_weights_split_epsilon(visits):
    plan = visits.plan(lw.mean("cost", share=3), lw.mean("age"), epsilon=1)
    assert plan.split == {"mean of age": "0.25", "mean of cost": "0.75"}
    answer = visits.release(lw.mean("cost", share=3), lw.mean("age"), epsilon=1)
    assert answer.plan.split == plan.split
    assert not visits.release(lw.mean("cost"), lw.mean("age"), epsilon="0.5").repeated


def test_a_plan_for_a_million_cells_is_quick():
    import time

    source = lw.Source(pd.DataFrame({"a": [1], "b": [1]}), name="t", epsilon=1,
                       columns={"a": lw.keys(range(1000)), "b": lw.keys(range(1000))})  # fmt: skip
    start = time.process_time()
    plan = source.plan(lw.count(), by=["a", "b"], epsilon=1)
    assert plan.forecasts[0].simultaneous_margin == 17
    assert "1,000,000 groups" in str(plan)
    assert time.process_time() - start < 5


def test_the_counties_of_the_seeds():
    """3,143 counties, change_one, ε = 0.1: expected error 20, expected largest error at most 181.1."""
    source = lw.Source(pd.DataFrame({"county": [1]}), name="t", epsilon=1, neighbors="change_one",
                       columns={"county": lw.keys(range(3143))})  # fmt: skip
    (forecast,) = source.plan(lw.count(), by="county", epsilon="0.1").forecasts
    error = lw.LaplaceMechanism(forecast.sensitivity, "0.1").error
    assert (forecast.sensitivity, forecast.scale, error.mean) == (2, 20, 20)
    assert error.max_mean(3143) <= error.max_mean_bound(3143) <= 181.1


def test_the_weights_of_seed_001(tmp_path):
    people = pd.DataFrame({"weight": [40, 60, 80, 60]})
    source = lw.Source(people, name="people", columns={"weight": lw.number(30, 150)}, neighbors="change_one",
                       public_rows=True, epsilon=1, ledger=tmp_path / "l")  # fmt: skip
    answer = source.release(lw.mean("weight"), lw.count(), epsilon="0.1")
    assert answer.columns[0]["scale"] == "300"
    assert answer.rows[0]["count"] == {"value": 4, "low": 4, "high": 4, "noise": "low"}
    assert 30 <= answer.rows[0]["mean_weight"]["value"] <= 150
    free = source.release(lw.count(), epsilon=1)
    assert (free.entry, free.to_dict()["epsilon"], free.rows[0]["count"]["value"]) == (None, "0", 4)
    assert source.ledger.spent == lw.LaplaceMechanism(1, "0.1").epsilon


BAD = {
    'table = "t.csv"\nnme = "t"': "unknown field",
    'name = "t"': "names no table",
    'table = "t.docx"': "whose format the name does not tell",
    'table = 5': "is not a text",
    'table = "t.csv"\n[columns.x]': "declares nothing",
    'table = "t.csv"\n[columns.x]\nlow = 0': "Bounds 0 to nothing",
    'table = "t.csv"\n[columns.x]\nlow = 5\nhigh = 1': "low < high",
    'table = "t.csv"\n[columns.x]\nhihg = 1': 'Did you mean "high"',
    'table = "t.csv"\n[columns.x]\nkeys = []': "keys",
    'table = "t.csv"\n[columns.x]\nkeys = "abc"': "a list",
    'table = "t.csv"\n[columns.x]\nkeys = ["a", 1]': "one type",
    'table = "t.csv"\n[columns.x]\nkeys = ["a", "a"]': "different",
    'table = "t.csv"\n[columns.x]\nkeys = ["a"]\nlow = 1\nhigh = 2': "whole numbers",
    'table = "t.csv"\n[columns.x]\nkeys = ["a"]\nedges = [1, 2]': "unknown field",
    'table = "t.csv"\n[columns.x]\ntype = "float"': "one of text",
    'table = "t.csv"\n[columns.x]\nedges = [1]': "rising order",
    'table = "t.csv"\ncolumns = 5': "columns that are not tables",
    'table = "t.csv"\n[columns]\nx = 5': "is not a table",
    'table = "t.csv"\nrows_per_person = 3': "no person",
    'table = "t.csv"\nperson = "p"\nrows_per_person = 0': "a whole number from 1 to",
    'table = "t.csv"\nneighbors = "all"': "add_remove",
    'table = "t.csv"\nepsilon = 0': "ε = 0",
    'table = "t.csv"\nversion = 5': "a text",
    'table = "t.csv"\nledger = 5': "ledger",
    'table = "t.parquet"\npublic_rows = true': 'says public_rows, but protects whether a row is there ("add_remove")',
    'table = "t.parquet"\npublic_rows = true\nneighbors = "change_one"\nperson = "p"\nrows_per_person = 1':
        "says public_rows, but has a person column",
    'table = "t.csv"\npublic_rows = true\nneighbors = "change_one"': "a row of its file may be left out",
    'table = "t.parquet"\npublic_rows = 1\nneighbors = "change_one"': "public_rows is true or false",
    "table = ": "is not TOML",
    '[columns.A]\ntype = "text"\n[columns.a]\ntype = "text"\n': "names no table",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_a_bad_source_file_is_refused_with_the_reason(text, tmp_path):
    (tmp_path / "t.toml").write_text(text)
    with pytest.raises(errors.RequestError) as caught:
        lw.Source.open(tmp_path / "t.toml")
    assert BAD[text] in str(caught.value)


def test_repr_shows_no_password():
    source = lw.Source("t.csv", name="t", columns={}, ledger="postgresql://u:HUNTER2@h/db")
    assert "HUNTER2" not in repr(source)


def test_names_that_would_collide_in_a_flat_table_are_refused(visits):
    with pytest.raises(errors.InvalidParameter, match="_low"):
        visits.sql("SELECT COUNT(*) AS a, SUM(age) AS a_low FROM visits", epsilon=1)


@pytest.mark.parametrize("confidence", ["0.9999999999999999999", "1e-9", 0, 1])
def test_confidences_beyond_what_bars_are_computed_for_are_refused(visits, confidence):
    for call in (visits.plan, visits.release):
        with pytest.raises(errors.RequestError):
            call(lw.mean("cost"), epsilon=1, confidence=confidence)
    assert visits.left() is None
    assert visits.release(lw.mean("cost"), by="ward", epsilon=1, confidence="0.999999999").at(simultaneous=True).rows


def test_what_would_overflow_is_refused_before_the_charge_or_cut_after_the_noise(tmp_path):
    for low, high in ((0, "1e270"), ("-1e101", 0)):
        with pytest.raises(errors.InvalidBounds, match="at most 10\\^100"):
            lw.number(low, high)
    columns = {"x": lw.number(-(2**53), 2**53, integer=True), "y": lw.number(0, "1e100")}
    source = lw.Source(pd.DataFrame({"x": [1], "y": [2]}), name="t", columns=columns, epsilon=9, ledger=tmp_path / "l")
    answer = source.release(lw.sum("x"), epsilon="0.000000001").rows[0]["sum_x"]
    assert answer["low"] <= answer["value"] <= answer["high"]
    both = source.release(lw.sum("x"), lw.count(), lw.variance("y"), epsilon="0.000000001").rows[0]
    assert all(each["low"] <= each["value"] <= each["high"] for each in both.values())
    with pytest.raises(errors.RequestError):
        source.plan(lw.mean("x", share="1e-320"), lw.mean("y"), epsilon=1)


def test_sums_beyond_whole_numbers_are_floats_and_not_cut(tmp_path):
    columns = {"x": lw.number(0, 2**53, integer=True)}
    frame = pd.DataFrame({"x": [1.7e15] * 5000})
    source = lw.Source(frame, name="t", columns=columns, epsilon=9, ledger=tmp_path / "l")
    for statistics in ((lw.sum("x"),), (lw.sum("x"), lw.count(), lw.mean("x"))):
        answer = source.release(*statistics, epsilon=1)
        bar = answer.rows[0]["sum_x"]
        assert bar["low"] < 1.1 * 8.5e18  # 94 times the scale of the noise
        assert bar["high"] > 0.9 * 8.5e18
        assert bar["low"] <= bar["value"] <= bar["high"]
        assert "svg" in answer.to_html()


def test_bars_are_never_inside_out(tmp_path):
    frame = pd.DataFrame({"key": [i % 400 for i in range(20_000)], "x": 5})
    columns = {"key": lw.keys(range(400)), "x": lw.number(0, 10)}
    source = lw.Source(frame, name="t", columns=columns, epsilon=90, ledger=tmp_path / "l")
    for epsilon in (10, 15, 30):
        for bar in source.release(lw.count(), lw.mean("x"), by="key", epsilon=epsilon).estimates.values():
            assert (bar.low <= bar.value).all()
            assert (bar.value <= bar.high).all()


def test_a_missing_source_file_says_how_to_make_one(tmp_path):
    with pytest.raises(errors.InvalidSource, match="lapwing init"):
        lw.Source.open(tmp_path / "none.toml")


def test_columns_that_differ_by_case_alone_are_refused():
    with pytest.raises(errors.InvalidSource, match="differ only in case"):
        lw.Source("t.csv", name="t", columns={"a": "text", "A": "text"})


@pytest.mark.parametrize("table", [5, None, [1, 2], {"a": [1]}, np.zeros(3), pl.Series([1])])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(errors.InvalidParameter):
        lw.Source(table, name="t", columns={})


def test_a_table_without_a_declared_column_is_refused_before_the_charge(tmp_path):
    source = lw.Source(pd.DataFrame({"b": [1]}), name="t", columns={"a": lw.keys(1)}, epsilon=1, ledger=tmp_path / "l")
    with pytest.raises(errors.InvalidSource, match="which its table does not have"):
        source.release(lw.count(), by="a", epsilon=1)
    assert source.ledger.spent == 0


@pytest.mark.parametrize("form", [*FORMS, "lazy", "sqlite"])
def test_a_table_that_lacks_a_declared_column_is_refused_whatever_is_asked(form, tmp_path):
    rows = [{"person": "p", "x": 1.0, "key": "a"}, {"person": "q", "x": 2.0, "key": "b"}]
    table = make(rows, "polars" if form == "lazy" else "arrow" if form == "sqlite" else form, tmp_path)
    if form == "lazy":
        table = table.lazy()
    if form == "sqlite":
        with sqlite3.connect(tmp_path / "t.db") as base:
            base.execute("CREATE TABLE t (person, x, key)")
        base.close()
        table = tmp_path / "t.db"
    columns = {"x": lw.number(0, 9), "Key": lw.keys("a", "b"), "twice": lw.expression("x * 2")}
    source = lw.Source(table, name="t", columns=columns, person="person", rows_per_person=1, epsilon=9, delta="1e-3",
                       ledger=tmp_path / "l")  # fmt: skip
    asks = [
        lambda: source.sql("SELECT COUNT(*) FROM t", epsilon=1),
        lambda: source.release(lw.mean("twice"), epsilon=1),
        lambda: source.bounds("x", epsilon=1),
        lambda: source.rows_per_person(epsilon=1),
    ]
    meant = "" if form in ("csv", "csv.gz", "tsv") else '.*Did you mean "key"'  # a header may be a row
    for ask in asks:
        with pytest.raises(
            errors.InvalidSource, match=f'declares the column "Key", which its table does not have{meant}'
        ):
            ask()
    assert source.ledger.spent == 0
    assert lw.check(source).wrong


def test_too_many_cells_are_refused():
    columns = {name: lw.keys(range(5000)) for name in "ab"}
    source = lw.Source(pd.DataFrame({"a": [1], "b": [1]}), name="t", columns=columns, epsilon=1)
    with pytest.raises(errors.TooLarge, match=f"is 25,000,000, and at most {MAX_CELLS:,}"):
        source.plan(lw.count(), by=["a", "b"], epsilon=1)


def test_a_number_may_have_bounds_and_keys(tmp_path):
    frame = pd.DataFrame({"educ": [1, 2, 2, 16]})
    columns = {"educ": lw.number(1, 16, integer=True, keys=range(1, 17))}
    source = lw.Source(frame, name="t", columns=columns, epsilon=1000, ledger=tmp_path / "l")
    answer = source.release(lw.count(), by="educ", epsilon=500)
    assert [row["count"]["value"] for row in answer.rows] == [1, 2] + [0] * 13 + [1]
    assert source.release(lw.sum("educ"), epsilon=500).rows[0]["sum_educ"]["value"] == 21


def test_bins_that_hold_what_lies_beyond_their_edges_say_so(tmp_path):
    frame = pd.DataFrame({"age": [3, 25, 45, 90]})
    columns = {"age": lw.number(0, 110)}
    source = lw.Source(frame, name="t", columns=columns, epsilon=1000, ledger=tmp_path / "l")
    answer = source.sql("SELECT BIN(age, 20, 40, 60) AS years, COUNT(*) FROM t GROUP BY years", epsilon=500)
    assert [(row["years"], row["count"]["value"]) for row in answer.rows] == [("< 40", 2), ("≥ 40", 2)]
    whole = source.release(lw.histogram("age", [0, 50, 110]), epsilon=500)
    assert [row["age"] for row in whole.rows] == ["[0, 50)", "[50, 110]"]


def test_the_total_of_the_ledger_can_be_changed_in_either_order(tmp_path):
    def source(epsilon):
        return lw.Source(pd.DataFrame({"a": [1]}), name="t", columns={}, epsilon=epsilon, ledger=tmp_path / "l")

    assert source(1).make_ledger().total == 1
    with pytest.raises(errors.InvalidSource, match="Write epsilon = 1"):
        source(2).release(lw.count(), epsilon=1)
    source(2).make_ledger().set_total(2)
    assert source(2).release(lw.count(), epsilon=1).entry == 3


@pytest.mark.usefixtures("frozen_noise")
def test_a_bar_does_not_look_narrow_because_noise_leads_out_of_the_bounds(tmp_path):
    """Groups of five people: noise often makes the mean less than 0."""
    frame = pd.DataFrame({"key": list(range(500)) * 5, "x": [1.0] * 2500})
    columns = {"key": lw.keys(range(500)), "x": lw.number(0, 200_000)}
    source = lw.Source(frame, name="t", columns=columns, epsilon=9, ledger=tmp_path / "l")
    mean = source.release(lw.mean("x"), by="key", epsilon=1).estimates["mean_x"]
    assert (mean.high - mean.low).min() > 10_000
    assert mean.low.min() >= 0


def test_keys_of_every_type(tmp_path):
    frame = pd.DataFrame({"t": ["x", "y"], "i": [1, 2], "b": [True, False], "d": [date(2024, 1, 1), date(2024, 1, 2)]})
    columns = {"t": lw.keys("x", "y"), "i": lw.keys(1, 2), "b": lw.keys(True, False),
               "d": lw.keys(date(2024, 1, 1), date(2024, 1, 2))}  # fmt: skip
    source = lw.Source(frame, name="t", columns=columns, epsilon=1000, ledger=tmp_path / "l")
    for name in columns:
        answer = source.release(lw.count(), by=name, epsilon=250)
        assert [row["count"]["value"] for row in answer.rows] == [1, 1]
    assert answer.rows[0]["d"] == "2024-01-01"
    assert answer.to_csv().splitlines()[1].startswith("2024-01-01,")


def test_grids():
    assert lw.number(0, 120, integer=True).grid == Grid(lw.sensitivity.count(), 0, 120)
    grid = lw.number(0, 5000).grid
    assert (float(grid.step), grid.steps) == (1 / 256, 1_280_000)


# --- init ---


def test_init_writes_a_file_that_works_once_it_is_filled_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    odd = "SELECT 'p' AS patient, 5 AS age, 2.5 AS cost, TRUE AS ok, DATE '2024-01-01' AS day, 'x' AS \"odd 'n\"\"ame\""
    duckdb.sql(odd).write_parquet("visits.parquet")
    draft = describe("visits.parquet", Path())
    assert draft.name == "visits"
    assert draft.recognised == []
    text = draft.text.replace("person = ?", 'person = "patient"').replace("# rows_per", "rows_per")
    text = text.replace("epsilon = ?", "epsilon = 1")
    shown = {"name": "visits", "table": "visits.parquet", "person": "patient", "rows_per_person": 1, "epsilon": 1}
    assert tomllib.loads(text) == {**shown, "columns": {}}
    text = text.replace("low = ?", "low = 0").replace("high = ?", "high = 9").replace("[?]", '["x"]')
    (tmp_path / "visits.toml").write_text(re.sub(r"^# (\S.* = \{ )", r"\1", text, flags=re.MULTILINE))
    source = lw.Source.open("visits.toml")
    assert source.release(lw.count(), by="odd 'n\"ame", epsilon=1).rows
    assert source.schema.person == "patient"
    assert source.schema.columns["age"] == lw.number(0, 9, integer=True)


def test_T55_what_init_leaves_open_refuses_and_names_each_line(tmp_path):
    place = tmp_path / "t.toml"
    (tmp_path / "t.csv").write_text("p,a\n1,xx\n2,y\n")
    text = describe(str(tmp_path / "t.csv"), tmp_path).text
    lines = text.splitlines()
    person, epsilon = (lines.index(next(each for each in lines if each.startswith(f"{name} = ?"))) + 1
                       for name in ("person", "epsilon"))  # fmt: skip
    for open_text, said in (
        (text, rf"leaves open what only you can decide: line {person} \(person\), line {epsilon} \(epsilon\)"),
        (text.replace("person = ?\n", "\n"), rf"decide: line {epsilon} \(epsilon\)\."),
        (text.replace("epsilon = ?", "epsilon = 1"), rf"line {person} \(person\)\..*every row counts as one person"),
        (text.replace("person = ?", "").replace("epsilon = ?", "").replace("# a =", "a ="), r"line \d+ \(a\)\."),
    ):
        place.write_text(open_text)
        with pytest.raises(errors.InvalidSource, match=said):
            lw.Source.open(place)
    place.write_text(decided(text).replace("# a = { keys = [?] }", 'a = { keys = ["?"] } # ?') + "# b = ?\n")
    assert lw.Source.open(place).schema.columns["a"].keys == ("?",)
    assert not list(tmp_path.glob("*.ledger"))


def test_init_writes_a_line_for_each_column_of_a_csv_file_by_its_first_rows(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,d,e\n1,x,2.5,true,2024-01-01\n2,y,3,false,2024-01-02\n")
    text = describe(str(tmp_path / "t.csv"), tmp_path).text
    assert text.partition("[columns]\n")[2].splitlines() == [
        "# a = { low = ?, high = ?, integer = true }",
        "# b = { keys = [?] }",
        "# c = { low = ?, high = ? }",
        "# d = { keys = [false, true] }",
        '# e = { type = "date" }',
    ]
    assert "# public_rows = false " in text
    assert "for WHERE, COUNT(x), discover and bounds" in text


def test_init_writes_a_repeated_name_once_and_says_why(tmp_path):
    (tmp_path / "t.csv").write_text("v,w,v,X,x\n1,2,3,4,5\n")
    text = describe(str(tmp_path / "t.csv"), tmp_path).text
    assert "# v = " not in text
    for name in "vXx":
        assert text.count(f"# {name} cannot be declared: another column has the same name, up to case\n") == 1
    assert "# w = {" in text


def test_init_never_tells_what_a_cell_holds(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n31337,CANARY\n")
    assert "31337" not in describe(str(tmp_path / "t.csv"), tmp_path)[1]
    assert "CANARY" not in describe(str(tmp_path / "t.csv"), tmp_path)[1]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("bigint", "integer = true"), ("int", "integer = true"), ("decimal(10,2)", "low = ?, high = ? }"),
        ("double", "low = ?"), ("string", "keys = [?]"), ("varchar(3)", "keys = [?]"), ("boolean", "keys = [false"),
        ("timestamp_ntz", 'type = "date"'), ("timestamptz", 'type = "date"'), ("int8", "integer = true"),
        ("numeric", "low = ?"), ("bool", "keys = [false"), ("bpchar", "keys = [?]"), ("float4", "low = ?"),
    ],
)  # fmt: skip
def test_init_knows_the_types_of_all_engines(kind, told):
    assert told in source_file._column(DescribedField("c", kind), kind, ["text", "number"])
    assert "cannot be read" in source_file._column(DescribedField("c", kind), kind, [])


def test_a_source_is_named_by_its_table():
    for table, name in {
        "data/visits.2024.csv.gz": "visits", "spark:clinic.visits": "visits", "sc://spark.example:15002#clinic.visits":
        "visits", "postgresql://u:p@db.example/clinic#public.visits": "visits", "postgresql:///c#%22a.b%22": "a.b",
        "sc://spark.example:15002/;token=x#visits": "visits",
    }.items():  # fmt: skip
        assert title(table) == name


def test_a_token_is_not_written_down():
    for secret in ("token=x", "Token=x", "%74oken=x", "token =x", "authorization=Bearer x", "x-api-key=x"):
        assert public(None, f"sc://h.example/;{secret};user_id=u#t") == "sc://h.example/;user_id=u#t"
        assert public(None, f"sc://h.example/;use_ssl=true;{secret}#t") == "sc://h.example/;use_ssl=true#t"
    assert public(None, "sc://me:secret@h.example:15002#t") == "sc://h.example:15002#t"
    assert public(None, "spark:token=x") == "spark:token=x"


@pytest.mark.parametrize(
    ("call", "given", "meant"),
    [
        ("plan", "group_by", "by"),
        ("plan", "groupby", "by"),
        ("plan", "budget", "epsilon"),
        ("plan", "filter", "where"),
        ("release", "group_by", "by"),
        ("release", "eps", "epsilon"),
        ("release", "confidense", "confidence"),
        ("sql", "eps", "epsilon"),
        ("sql", "groupby", "by"),
        ("sql", "filter", "where"),
        ("discover", "filter", "where"),
        ("discover", "eps", "epsilon"),
        ("bounds", "budget", "epsilon"),
        ("plan_keys", "max_keys_per_person", "keys_per_person"),
    ],
)
def test_an_argument_of_another_name_is_refused_with_the_one_that_is_meant(visits, call, given, meant):
    asked = {"plan": lw.count(), "release": lw.count(), "sql": "SELECT COUNT(*) FROM visits"}.get(call, "cost")
    needed = {} if given in ("eps", "budget") else {"epsilon": 1}
    with pytest.raises(errors.UnknownArgument, match=f'has no argument {given} .*Did you mean "{meant}"') as caught:
        getattr(visits, call)(asked, **{given: 1}, **needed)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, errors.RequestError)
    assert visits.left() is None


@pytest.mark.parametrize(("given", "meant"), [("budget", "epsilon"), ("eps", "epsilon"), ("privacy_unit", "person")])
def test_a_source_says_what_its_arguments_are_called(given, meant):
    with pytest.raises(errors.UnknownArgument, match=f'Source has no argument {given} .*Did you mean "{meant}"'):
        lw.Source(pd.DataFrame({"x": [1]}), name="t", columns={}, **{given: 1})
    with pytest.raises(
        errors.UnknownArgument,
        match=r"Source has no argument qqq \(it has table, name, .*file, noise_levels, joins\)\. No",
    ):
        lw.Source(pd.DataFrame({"x": [1]}), name="t", columns={}, qqq=1)


def test_the_names_of_arguments_are_checked_by_tools_as_before():
    assert list(signature(lw.Source).parameters)[:3] == ["table", "name", "columns"]
    assert "by" in signature(lw.Source.release).parameters
    assert not any(each.kind is each.VAR_KEYWORD for each in signature(lw.Source.release).parameters.values())


def test_no_groups_may_be_written_as_none(visits):
    assert visits.plan(lw.count(), by=None, epsilon=1) == visits.plan(lw.count(), epsilon=1)
    assert visits.plan(lw.count(), by=(), epsilon=1) == visits.plan(lw.count(), epsilon=1)
    assert visits.plan("SELECT COUNT(*) FROM visits", by=None, epsilon=1).groups == 1


def test_a_source_without_a_total_says_how_to_give_one(tmp_path):
    frame = pd.DataFrame({"x": [0.5]})
    described = {"name": "t", "columns": {"x": lw.number(0, 1)}, "ledger": tmp_path / "t.ledger"}
    source = lw.Source(frame, **described)
    advice = r'Source "t" gives no total ε.*lw\.Source\(…, epsilon=1\) in Python, .* epsilon = 1 in a source file'
    for asked in (lambda: source.ledger, lambda: source.release(lw.count(), epsilon=1)):
        with pytest.raises(errors.NoLedger, match=advice) as caught:
            asked()
        assert "Nothing was charged" in str(caught.value)
        assert str(caught.value).startswith('Source "t" gives no total ε'), "the cause comes first"
    plan = source.plan(lw.count(), epsilon=1)
    assert re.search(advice, str(plan))
    assert re.search(advice, str(plan.lacking))
    lw.Source(frame, **described, epsilon=1).make_ledger()
    assert source.plan(lw.count(), epsilon=1).lacking is None
    assert source.ledger.total == 1
