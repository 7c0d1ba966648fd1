"""Several tables in one release: they add up exactly in every output, and every view of them has the same numbers."""

import csv
import html
import io
import json
import math
import re
from collections import defaultdict
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import product

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.cli.main import main
from lapwing.noise.entropy import EntropyForTests
from lapwing.release.recall import recall

COLUMNS = {
    "sex": lw.keys("F", "M"),
    "edu": lw.keys(1, 2, 3),
    "born": lw.keys(date(2000, 1, 1), date(2001, 1, 1)),
    "works": lw.keys(False, True),
    "hours": lw.number(0, 80, integer=True, edges=[0, 20, 80]),
    "income": lw.number(0, 5000),
}


def frame(n, seed=1):
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": draw.choice(["F", "M"], n),
            "edu": draw.choice([1, 2, 3], n),
            "born": [date(2000 + int(i), 1, 1) for i in draw.integers(0, 2, n)],
            "works": draw.choice([False, True], n),
            "hours": draw.integers(0, 81, n),
            "income": draw.uniform(0, 5000, n).round(2),
            "person": draw.integers(0, max(n // 2, 1), n),
        }
    )


def source(folder, table=None, **options):
    declared = {"columns": COLUMNS, "epsilon": 1000, "ledger": folder / "t.ledger", **options}
    return lw.Source(frame(400) if table is None else table, name="t", **declared)


def asked(of, *statistics, seed=b"several", **options):
    return of.release(*statistics, entropy=EntropyForTests(seed), **{"epsilon": 1, **options})


@pytest.fixture
def people(tmp_path):
    return source(tmp_path)


# --- what every output prints, as one dict for each row ---


def from_csv(answer):
    return list(csv.DictReader(io.StringIO(answer.to_csv())))


def from_text(answer):
    head, *lines = (re.split(r"\s{2,}", line.strip()) for line in answer.to_text().splitlines()[1:])
    return [dict(zip(head, line, strict=False)) for line in lines if len(line) == len(head)]


def from_html(answer):
    """Return the rows of all tables of the page; what is summed over has no column there."""
    page = re.sub(r"(?s)<script.*?</script>", "", answer.to_html())
    rows = []
    for table in re.findall(r'(?s)<table id="lapwing-table-.*?</table>', page):
        head, body = re.findall(r"(?s)<thead>.*?</thead>", table)[0], re.sub(r"(?s)<t(head|foot)>.*?</t\1>", "", table)
        names = [re.sub(r"(?s)<.*", "", each) for each in re.findall(r"(?s)<th [^>]*>(.*?)</th>", head)]
        for line in re.findall(r"(?s)<tr[^>]*>(.*?)</tr>", body):
            cells = [html.unescape(each) for each in re.findall(r"(?s)<t[dh](?: [^>]*)?>(.*?)</t[dh]>", line)]
            rows.append(dict.fromkeys(answer.keys, "Total") | dict(zip(names, cells, strict=True)))
    return rows


def from_json(answer):
    rows = json.loads(json.dumps(answer.to_dict()))["rows"]
    return [{name: each["value"] if isinstance(each, dict) else each for name, each in row.items()} for row in rows]


def from_parquet(answer, path):
    answer.to_parquet(path)
    return pq.read_table(path).to_pylist()


def exactly(cell):
    """Return a printed or stored number as it is, without any rounding."""
    return Fraction(Decimal(cell.replace(",", ""))) if isinstance(cell, str) else Fraction(cell)


GONE = (None, "", "Total", "(Total)")


def assert_adding_up(rows, keys, statistic, tables):
    """Sum every table over every column that some smaller table does not have; each sum is the cell there."""
    cells = defaultdict(dict)
    for row in rows:
        group = {key: str(row[key]) for key in keys if row[key] not in GONE}
        cells[frozenset(group)][tuple(sorted(group.items()))] = exactly(row[statistic])
    assert set(cells) == {frozenset(table) for table in tables}
    compared = 0
    for large, small in product(cells, cells):
        if small < large:
            sums = defaultdict(Fraction)
            for group, value in cells[large].items():
                sums[tuple(pair for pair in group if pair[0] in small)] += value
            assert dict(sums) == cells[small]
            compared += 1
    assert compared


def assert_every_output_adds_up(answer, folder, names, tables=None):
    keys = answer.keys
    outputs = {
        "csv": from_csv(answer),
        "json": from_json(answer),
        "parquet": from_parquet(answer, folder / "out.parquet"),
        "arrow": answer.to_arrow().to_pylist(),
        "polars": pl.DataFrame(answer).to_dicts(),
        "duckdb": duckdb.from_arrow(pa.table(answer)).to_arrow_table().to_pylist(),
        "rows": [{**row, **{name: row[name]["value"] for name in names}} for row in answer],
    }
    answer.to_csv(folder / "out.csv")
    assert (folder / "out.csv").read_text() == answer.to_csv()
    for name, statistic in product(outputs, names):
        assert_adding_up(outputs[name], keys, statistic, tables or answer.tables)
    for shown, statistic in product((from_text(answer), from_html(answer)), names):
        assert_shown_with_the_digits_of_the_bar(shown, answer, statistic)


def assert_shown_with_the_digits_of_the_bar(shown, answer, statistic):
    """People read each number rounded to the second digit of its bar, which files do not round (T: 60,001 ± 12)."""
    due = [row[statistic] for row in answer]
    assert len(shown) == len(due)
    found = sorted(zip((exactly(row[statistic]) for row in shown), (row[statistic] for row in shown), strict=True))
    ordered = sorted(due, key=lambda each: each["value"])
    for (value, text), number in zip(found, ordered, strict=True):
        width = number["high"] - number["low"]
        places = max(2 - math.ceil(math.log10(width)), 0) if width else 99
        assert abs(float(value) - number["value"]) <= 0.5 * 10**-places + 1e-9
        assert len(text.partition(".")[2]) <= places


# --- sums hold ---


@pytest.mark.parametrize("epsilon", ["0.05", "1", "30"])
def test_counts_and_sums_add_up_in_every_output(people, tmp_path, epsilon):
    answer = asked(people, lw.count(), lw.sum("hours"), lw.sum("income"), by=lw.cube("sex", "edu"), epsilon=epsilon)
    assert_every_output_adds_up(answer, tmp_path, ["count", "sum_hours", "sum_income"])


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(
    sizes=st.lists(st.integers(1, 4), min_size=2, max_size=3),
    epsilon=st.sampled_from(["0.003", "0.2", "1", "7", "300"]),
    width=st.sampled_from(["0.000001", "0.3", "1", "100000000"]),
    objective=st.sampled_from(["mean", "minimax", "cells"]),
    data=st.data(),
)
def test_random_tables_add_up_in_every_output(tmp_path_factory, sizes, epsilon, width, objective, data):
    folder = tmp_path_factory.mktemp("random")
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))
    n, names = int(draw.integers(0, 60)), "abc"[: len(sizes)]
    table = pd.DataFrame({name: draw.integers(0, size, n) for name, size in zip(names, sizes, strict=True)})
    table["x"] = draw.uniform(0, float(width), n)
    columns = {name: lw.keys(*map(int, range(size))) for name, size in zip(names, sizes, strict=True)}
    every = [
        tuple(c for c, there in zip(names, bits, strict=True) if there) for bits in product((0, 1), repeat=len(names))
    ]
    tables = data.draw(st.lists(st.sampled_from(every), min_size=2, unique=True), label="tables")
    if not any(set(a) < set(b) for a, b in product(tables, tables)):
        tables = [*tables, ()] if () not in tables else every
    weights = {table: data.draw(st.integers(1, 9)) for table in tables}
    of = source(folder, table, columns={**columns, "x": lw.number(0, width)})
    answer = asked(
        of, lw.count(), lw.sum("x"), by=lw.sets(*tables), epsilon=epsilon, weights=weights, objective=objective
    )
    assert_every_output_adds_up(answer, folder, ["count", "sum_x"])


@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(
    regions=st.lists(st.integers(0, 3), min_size=1, max_size=7),
    epsilon=st.sampled_from(["0.01", "1", "40"]),
    person=st.sampled_from([{}, {"person": "who", "rows_per_person": 2}]),
    data=st.data(),
)
def test_random_counties_add_up_to_their_regions_in_every_output(tmp_path_factory, regions, epsilon, person, data):
    folder = tmp_path_factory.mktemp("counties")
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))
    n, counties = int(draw.integers(0, 60)), [f"c{number}" for number in range(len(regions))]
    table = pd.DataFrame({"county": draw.choice(counties, n), "sex": draw.choice(["F", "M"], n)})
    table["x"], table["who"] = draw.integers(-5, 9, n), draw.integers(0, 20, n)
    within = {"region": {f"r{k}": [c for c, r in zip(counties, regions, strict=True) if r == k] for k in set(regions)}}
    columns = {"county": lw.keys(*counties, within=within), "sex": lw.keys("F", "M"), "x": lw.number(-5, 9)}
    every = [(), ("region",), ("county",), ("sex",), ("region", "sex"), ("county", "sex")]
    more = data.draw(st.lists(st.sampled_from(every), unique=True), label="tables")
    tables = [("region",), ("county",), *(each for each in more if each not in (("region",), ("county",)))]
    answer = asked(
        source(folder, table, columns=columns, **person),
        lw.count(),
        lw.sum("x"),
        by=lw.sets(*tables),
        epsilon=epsilon,
    )
    shown = [("region", *each) if "county" in each else each for each in answer.tables]
    assert_every_output_adds_up(answer, folder, ["count", "sum_x"], shown)


def test_rollup_by_sql_has_the_subtotals(people, tmp_path):
    text = "SELECT edu, sex, COUNT(*) AS n, GROUPING(edu, sex) AS g, GROUPING(sex) FROM t GROUP BY ROLLUP (edu, sex)"
    answer = asked(people, text)
    assert answer.tables == ((), ("edu",), ("edu", "sex"))
    assert_every_output_adds_up(answer, tmp_path, ["n"])
    assert [(row["edu"], row["sex"], row["g"]) for row in answer][:5] == [
        (None, None, 3),
        (1, None, 1),
        (2, None, 1),
        (3, None, 1),
        (1, "F", 0),
    ]
    assert [each["kind"] for each in answer.columns] == ["key", "key", "grouping", "grouping", "count"]
    assert answer.columns[2]["of"] == ["edu", "sex"]


# --- keys of every kind, and what stands for a total ---


def test_totals_are_null_in_files_and_a_word_for_people(people, tmp_path):
    keys = ("edu", "born", "works", "sex", "hours")
    answer = asked(people, lw.count(), by=lw.marginals(*keys, upto=1))
    assert len(answer) == 1 + 3 + 2 + 2 + 2 + 2
    table = answer.to_arrow()
    types = [pa.int64(), pa.date32(), pa.bool_(), pa.string(), pa.string()]
    assert [table.schema.field(key).type for key in keys] == types
    assert table.slice(0, 1).select(keys).to_pylist() == [dict.fromkeys(keys)]
    assert table.column("born").to_pylist()[4:7] == [date(2000, 1, 1), date(2001, 1, 1), None]
    assert table.column("works").to_pylist()[6:8] == [False, True]
    assert from_parquet(answer, tmp_path / "x.parquet")[5]["born"] == "2001-01-01"
    assert from_parquet(answer, tmp_path / "x.parquet")[1]["edu"] == 1
    assert answer.to_csv().splitlines()[1].startswith(",,,,,")
    assert answer.to_csv().splitlines()[6].startswith(",2001-01-01,,,,")
    assert answer.to_csv().splitlines()[8].startswith(",,true,,,")
    assert pd.read_csv(io.StringIO(answer.to_csv()))["edu"].isna().sum() == len(answer) - 3
    assert from_text(answer)[0]["edu"] == from_html(answer)[0]["edu"] == "Total"
    assert from_text(answer)[-1]["hours"] == answer.rows[-1]["hours"]
    assert json.loads(json.dumps(answer.to_dict()))["rows"][0]["edu"] is None
    assert answer["edu"].tolist() == [None, 1, 2, 3] + [None] * 8
    assert answer.group_keys[4] == (None, date(2000, 1, 1), None, None, None)


def test_labels_stand_beside_their_keys(tmp_path):
    columns = {"sex": lw.keys({"F": "women", "M": "men"}), "edu": lw.keys(1, 2, 3)}
    answer = asked(source(tmp_path, columns=columns), lw.count(), by=lw.cube("sex", "edu"))
    assert [(row["sex"], row["sex_label"]) for row in answer][:4] == [
        (None, None),
        ("F", "women"),
        ("M", "men"),
        (None, None),
    ]
    assert from_text(answer)[0]["sex_label"] == "Total"
    assert answer.to_arrow().column("sex_label").to_pylist()[:3] == [None, "women", "men"]
    assert_every_output_adds_up(answer, tmp_path, ["count"])
    assert [row["sex_label"] for row in answer.table("sex")] == ["women", "men"]


def test_a_key_named_total_is_not_taken_for_one(tmp_path):
    columns = {"sex": lw.keys("F", "M", other="Total"), "edu": lw.keys(1, 2, 3)}
    answer = asked(source(tmp_path, columns=columns), lw.count(), by=lw.cube("sex", "edu"))
    assert [row["sex"] for row in from_text(answer)][:4] == ["(Total)", "F", "M", "Total"]


def test_a_key_that_is_the_empty_text_is_not_taken_for_a_total(tmp_path):
    columns = {"sex": lw.keys("", "M", other="NULL"), "edu": lw.keys(1, 2, 3)}
    answer = asked(source(tmp_path, columns=columns), lw.count(), by=lw.cube("sex", "edu"))
    answer.to_csv(tmp_path / "x.csv")
    read = "SELECT * FROM read_csv(?, allow_quoted_nulls = false, header = true)"
    rows = duckdb.execute(read, [str(tmp_path / "x.csv")]).fetchall()
    assert [row[:2] for row in rows] == [(row["sex"], row["edu"]) for row in answer]
    assert len({row[:2] for row in rows}) == len(rows)


def test_bins_that_the_question_gives(people, tmp_path):
    text = "SELECT BIN(income, 0, 1000, 5000) AS b, sex, COUNT(*) AS n FROM t GROUP BY CUBE (b, sex)"
    answer = asked(people, text)
    assert answer.keys == ("b", "sex")
    assert_every_output_adds_up(answer, tmp_path, ["n"])
    assert len(answer.table("b")) == 2


# --- people, relations, conditions; the truth within the noise ---


@pytest.mark.parametrize("neighbors", ["add_remove", "change_one"])
@pytest.mark.parametrize("person", [None, "person"])
def test_little_noise_gives_the_truth(tmp_path, neighbors, person):
    table = frame(300)
    options = {"person": person, "rows_per_person": 40} if person else {}
    of = source(tmp_path, table, neighbors=neighbors, **options)
    statistics = lw.count(), lw.sum("hours"), lw.mean("income"), lw.proportion("hours >= 40"), lw.variance("hours")
    answer = asked(of, *statistics, by=lw.cube("sex", "edu"), where="works", epsilon=900)
    answer = answer.at("0.99999")
    chosen = table[table["works"]]
    for row in answer:
        inside = chosen
        for key in ("sex", "edu"):
            inside = inside if row[key] is None else inside[inside[key] == row[key]]
        truths = {
            "count": len(inside),
            "sum_hours": inside["hours"].sum(),
            "mean_income": inside["income"].mean(),
            "proportion": (inside["hours"] >= 40).mean(),
            "variance_hours": inside["hours"].var(),
        }
        for name, truth in truths.items():
            found = row[name]
            assert found["low"] <= found["value"] <= found["high"]
            assert found["low"] - 1e-6 <= truth <= found["high"] + 1e-6
        assert row["count"]["high"] - row["count"]["low"] < (12 if person else 1)
    assert_every_output_adds_up(answer, tmp_path, ["count", "sum_hours"])


def test_no_rows_are_counted_where_the_condition_is_false(people, tmp_path):
    answer = asked(
        people, lw.count(), lw.mean("hours"), by=lw.cube("sex", "edu"), where="hours = 5 AND hours = 6", epsilon=900
    )
    assert np.abs(answer["count"].value).max() < 0.1
    assert set(answer.noise_marks["mean_hours"]) == {"no information"}
    empty = asked(source(tmp_path / "..", frame(0), ledger=tmp_path / "e.ledger"), lw.count(), by=lw.cube("sex", "edu"))
    assert len(empty) == 12


def test_rows_without_a_declared_key_are_in_no_table(tmp_path):
    table = frame(400)
    table.loc[:99, "edu"] = 9
    of = source(tmp_path, table)
    answer = asked(of, lw.count(), by=lw.cube("sex", "edu"), epsilon=400)
    assert answer.table()["count"].value.tolist() == [300]
    assert any("not one of 3 keys" in note for note in answer.notes)
    with_others = source(tmp_path, table, columns={**COLUMNS, "edu": lw.keys(1, 2, 3, other="rest")})
    answer = asked(with_others, lw.count(), by=lw.cube("sex", "edu"), epsilon=400)
    assert answer.table()["count"].value.tolist() == [400]
    assert answer.table("edu")["count"].value.tolist()[3] == 100


# --- the same numbers, however they are looked at ---


def same_numbers(one, other):
    for name in one.estimates:
        for a, b in zip(one.estimates[name], other.estimates[name], strict=True):
            assert a.tolist() == b.tolist()
    return True


def test_a_question_is_charged_once_and_recalled_as_it_was(people):
    statistics = lw.count(), lw.mean("hours"), lw.variance("hours"), lw.proportion("works")
    first = asked(people, *statistics, by=lw.cube("sex", "edu"), weights={("sex",): 7}, objective="minimax")
    left = people.left()
    options = {"weights": {("sex",): 7}, "objective": "minimax", "seed": b"other"}
    again = asked(people, *statistics, by=lw.cube("edu", "sex"), **options)
    assert same_numbers(first.table("sex"), again.table("sex"))
    assert same_numbers(first.table("edu"), again.table("edu"))
    assert again.keys == ("edu", "sex")
    for name in first.estimates:
        assert cells(first.table("sex", "edu"), name) == cells(again.table("sex", "edu"), name)
    assert again.repeated
    assert people.left() == left
    assert same_numbers(first, recall(people.schema, people.ledger, first.entry))


def test_one_table_is_a_view_with_the_numbers_of_the_release(people):
    answer = asked(people, lw.count(), lw.mean("hours"), lw.sum("income"), by=lw.cube("sex", "edu", "works"))
    whole = answer.to_pandas()
    for keys in answer.tables:
        view = answer.table(*reversed(keys))
        assert view.tables == (keys,)
        there = np.logical_and.reduce([whole[key].notna() == (key in keys) for key in ("sex", "edu", "works")])
        expected = whole[there].drop(columns=[key for key in answer.keys if key not in keys]).reset_index(drop=True)
        pd.testing.assert_frame_equal(view.to_pandas(), expected, check_dtype=False)
        assert len(view) == len(expected)
        assert view.to_dict()["query"] == answer.to_dict()["query"]
        assert view.to_dict()["tables"] == [list(keys)]
    assert answer.to_dict()["tables"][-1] == ["sex", "edu", "works"]
    assert answer.table("edu")["edu"].dtype == np.int64
    assert answer.table("edu").to_arrow().schema.field("edu").type == pa.int64()
    cut = answer.table("sex", "edu").cut(order_by="count DESC", limit=2)
    assert cut["count"].value.tolist() == sorted(answer.table("sex", "edu")["count"].value.tolist())[:-3:-1]
    assert len(cut.table("sex", "edu")) == 6
    wide = answer.table("sex").at("0.99", simultaneous=True)
    assert (wide["count"].high == answer.at("0.99", simultaneous=True)["count"].high[1:3]).all()


def test_a_table_that_was_not_asked_is_refused(people):
    answer = asked(people, lw.count(), by=lw.sets(("sex", "edu"), ("edu",)))
    for wrong in (("sex",), (), ("edu", "edu"), ("age",), (1,), (("sex", "edu"),)):
        with pytest.raises(errors.InvalidParameter, match=r"one of those that were released: \(edu\), \(edu, sex\)\."):
            answer.table(*wrong)
    alone = asked(people, lw.count(), by=["sex"])
    assert alone.tables == (("sex",),)
    assert same_numbers(alone, alone.table("sex"))
    assert asked(people, lw.count()).tables == ((),)


def test_views_change_bars_and_never_values(people):
    answer = asked(people, lw.count(), lw.mean("hours"), by=lw.cube("sex", "edu"), epsilon="0.2")
    wide, all_at_once = answer.at("0.999"), answer.at(simultaneous=True)
    for other in (wide, all_at_once):
        assert (other["count"].value == answer["count"].value).all()
        assert (other["count"].low < answer["count"].low).all()
        assert (other["mean_hours"].high >= answer["mean_hours"].high).all()
    assert same_numbers(wide.at("0.95"), answer)
    shown = answer.suppressed()
    marks = answer.noise_marks["count"]
    assert [value is None for value in shown.flat()["count"]] == [mark in ("high", "no information") for mark in marks]
    assert [row["count"] for row in from_csv(shown)].count("") == sum(
        mark in ("high", "no information") for mark in marks
    )


def test_the_difference_of_two_keys_is_taken_in_each_table_that_has_them(people):
    answer = asked(people, lw.count(name="n"), lw.mean("hours", name="h"), by=lw.cube("sex", "edu"))
    gap = answer.difference(by="sex", of="F", to="M")
    rows = {(row["sex"], row["edu"]): row for row in answer.rows}
    assert [row["edu"] for row in gap.rows].count(None) == 1
    assert len(gap) == len({row["edu"] for row in gap.rows})
    sure = {(row["sex"], row["edu"]): row for row in answer.at("0.975").rows}
    for row in gap.rows:
        women, men = (rows[sex, row["edu"]] for sex in ("F", "M"))
        assert row["n"]["value"] == pytest.approx(women["n"]["value"] - men["n"]["value"])
        assert row["h"]["value"] == pytest.approx(women["h"]["value"] - men["h"]["value"])
        women, men = (sure[sex, row["edu"]]["h"] for sex in ("F", "M"))
        assert row["h"]["low"] == pytest.approx(women["low"] - men["high"])
        assert row["h"]["high"] == pytest.approx(women["high"] - men["low"])
        half = (row["n"]["high"] - row["n"]["low"]) / 2
        alone = (rows["F", row["edu"]]["n"]["high"] - rows["F", row["edu"]]["n"]["low"]) / 2
        assert alone < half < 2 * alone
    table = answer.table("sex", "edu").difference(by="sex", of="F", to="M")
    assert table.rows == [row for row in gap.rows if row["edu"] is not None]
    assert "Total" in gap.to_text()
    wide = gap.at(simultaneous=True)
    assert (wide["n"].high - wide["n"].low >= gap["n"].high - gap["n"].low).all()


def test_what_several_tables_do_not_have_is_refused_with_a_way_out(people):
    answer = asked(people, lw.count(), by=lw.cube("sex", "edu"))
    for compare in (
        lambda: answer.share(),
        lambda: answer.total(over="sex"),
        lambda: answer.ratio(by="sex", of="F", to="M"),
        lambda: answer.table("sex").ratio(by="sex", of="F", to="M"),
    ):
        with pytest.raises(errors.InvalidRequest, match="release one table by itself"):
            compare()
    with pytest.raises(errors.InvalidRequest, match=r'answer\.table\("sex", "edu"\)\.plot\(\)'):
        answer.plot()


@pytest.mark.parametrize("rounded", [False, True])
def test_the_view_without_negative_numbers_adds_up_in_every_form(people, rounded):
    answer = asked(people, lw.count(), lw.sum("hours"), lw.mean("hours"), by=lw.cube("sex", "edu"), epsilon="0.05")
    view = answer.nonnegative(rounded=rounded)
    rows = pd.read_csv(io.StringIO(view.to_csv()), dtype=str, keep_default_na=False).to_dict("records")
    for statistic in ("count", "sum_hours"):
        assert_adding_up(rows, ("sex", "edu"), statistic, [(), ("sex",), ("edu",), ("sex", "edu")])
        assert view.estimates[statistic].value.min() >= 0
        assert all(row[f"{statistic}_low"] == "" for row in rows)
    assert view["mean_hours"].low.tolist() == answer["mean_hours"].low.tolist()
    total = f"{view.table()['count'].value[0]:,}".removesuffix(".0")
    assert total in view.to_text()
    assert f"<td>{total}</td>" in view.to_html()
    assert "biased" in view.to_text()
    assert view.to_dict()["rows"][0]["count"]["low"] is None
    if rounded:
        assert view["count"].value.dtype == np.int64


def test_what_has_no_bar_is_not_said_to_have_one(people):
    counts = asked(people, lw.count(), by=lw.cube("sex", "edu"))
    assert counts.notes[0] == "NOT PRIVATE: made with noise for tests."
    assert "95 % error bars." in counts.notes
    assert not any("% error bars" in note for note in counts.nonnegative().notes)
    assert any("without error bars" in note for note in counts.nonnegative().notes)
    both = asked(people, lw.sum("hours"), lw.mean("hours"), by=lw.cube("sex", "edu")).nonnegative()
    assert "95 % error bars; values beyond the declared bounds count as the bounds." in both.notes
    sums = asked(people, lw.sum("hours"), by=lw.cube("sex", "edu")).nonnegative()
    assert "Values beyond the declared bounds count as the bounds." in sums.notes


def test_synthetic_rows_have_the_tables_of_the_view(people):
    answer = asked(people, lw.count(), by=lw.cube("sex", "edu"))
    view, rows = answer.nonnegative(rounded=True), answer.to_rows()
    cells = pd.DataFrame(rows).groupby(["sex", "edu"]).size().to_dict()
    shown = view.table("sex", "edu").to_pandas()
    for sex, edu, count in zip(shown["sex"], shown["edu"], shown["count"], strict=True):
        assert cells.get((sex, edu), 0) == count
    assert set(rows["synthetic"]) == {True}
    assert answer.to_rows() == rows
    with pytest.raises(errors.InvalidRequest, match="several tables"):
        asked(people, lw.count(), by="sex").to_rows()


def test_synthetic_rows_of_the_total_are_as_many_as_of_the_tables(people):
    answer = asked(people, lw.count(), by=lw.cube("sex", "edu"))
    assert answer.table().to_rows(7) == {"synthetic": [True] * 7}
    assert len(answer.table().to_rows()["synthetic"]) == len(answer.to_rows()["synthetic"]) > 0


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize("name", ["synthetic", "Synthetic"])
def test_a_key_that_is_called_synthetic_is_not_overwritten(tmp_path, name):
    table = pd.DataFrame({name: ["a", "b"] * 50, "k": ["x"] * 100})
    columns = {name: lw.keys("a", "b"), "k": lw.keys("x", "y")}
    source = lw.Source(table, name="t", columns=columns, epsilon=10, ledger=tmp_path / "t.ledger")
    answer = source.release(lw.count(), by=lw.cube(name, "k"), epsilon=1)
    for n in (None, 3):
        with pytest.raises(errors.InvalidRequest, match=f'SELECT "{name}" AS another_name'):
            answer.to_rows(n)
    assert set(answer.table("k").to_rows(3)) == {"k", "synthetic"}
    other = source.sql(f'SELECT "{name}" AS another_name, k, COUNT(*) FROM t GROUP BY CUBE ({name}, k)', epsilon=1)
    assert other.repeated
    assert set(other.to_rows(3)) == {"another_name", "k", "synthetic"}


def test_one_table_has_a_chart(people):
    pytest.importorskip("altair", reason="altair is not installed here: `make install` brings it")
    answer = asked(people, lw.count(), by=lw.cube("sex", "edu"))
    chart = answer.table("sex", "edu").plot().to_dict()
    rows = chart["data"]["values"] if "values" in chart["data"] else next(iter(chart["datasets"].values()))
    assert [row["group"] for row in rows] == [f"{sex}, {edu}" for sex in "FM" for edu in (1, 2, 3)]
    assert [row["value"] for row in rows] == answer.table("sex", "edu")["count"].value.tolist()
    assert answer.table().plot().to_dict()


def test_a_table_that_was_released_is_answered_from_the_record(tmp_path):
    columns = {**COLUMNS, "sex": lw.keys("F", "M", other="?"), "edu": lw.keys(1, 2, 3, other="?")}
    of = source(tmp_path, columns=columns)
    answer = asked(of, lw.count(), lw.sum("income"), by=lw.cube("sex", "edu"))
    left = of.left()
    again = asked(of, lw.sum("income", name="s"), by=["edu"], epsilon="0.01", seed=b"other")
    assert again["s"].value.tolist() == answer.table("edu")["sum_income"].value.tolist()
    assert (again.entry, again.repeated, of.left()) == (answer.entry, True, left)
    assert asked(of, lw.count(), by=lw.rollup("sex", "edu"), epsilon="0.01").entry == answer.entry
    assert asked(of, lw.count(), by=["edu"], where="works", epsilon="0.01", seed=b"other").entry != answer.entry
    assert asked(of, lw.count(), by=["edu"], epsilon=50, seed=b"other").entry != answer.entry


# --- large ---


SHOWN = [
    "SELECT sex, county, COUNT(*) FROM t GROUP BY sex, county",
    "SELECT sex AS s, COUNT(*) AS n, county AS c FROM t GROUP BY sex, county",
    "SELECT county, sex, COUNT(*) FROM t GROUP BY county, sex",
    "SELECT county, SUM(x) AS total, COUNT(*) AS n FROM t GROUP BY county",
    "SELECT sex, region AS r, COUNT(*) FROM t GROUP BY sex, region HAVING count > 5 ORDER BY r DESC LIMIT 3",
    "SELECT sex, county, SUM(x) FROM t GROUP BY sex, county LIMIT 5 OFFSET 2",
    "SELECT COUNT(*) FROM t",
    "SELECT sex, county, COUNT(*) FROM t GROUP BY GROUPING SETS ((sex, county), (sex))",
    "SELECT sex, county, GROUPING(county, sex) AS g, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((sex, county), ())",
    "SELECT county, sex, region, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((county), (sex), (sex, region))",
]


@pytest.mark.parametrize("text", SHOWN)
def test_what_is_answered_from_a_set_has_the_columns_and_rows_that_were_asked(tmp_path, text):
    table = frame(300).rename(columns={"hours": "x"})
    table["county"] = table["edu"].map({1: "a", 2: "b", 3: "c"})
    within = {"region": {"north": ["a", "c"], "south": ["b", "?"]}}
    county = lw.keys("a", "b", "c", other="?", within=within)
    columns = {"county": county, "sex": lw.keys("F", "M", other="-"), "x": lw.number(0, 80)}
    tables = lw.sets(("county", "sex"), ("region", "sex"), "county", "sex", ())
    (tmp_path / "one").mkdir()
    one, other = source(tmp_path / "one", table, columns=columns), source(tmp_path, table, columns=columns)
    held = asked(one, lw.count(), lw.sum("x"), by=tables, epsilon=100)
    again, due = asked(one, text, epsilon="0.01"), asked(other, text, epsilon=100)
    assert (again.repeated, again.entry, due.repeated) == (True, held.entry, False)
    assert (list(again.flat()), list(again.rows[0])) == (list(due.flat()), list(due.rows[0]))
    assert [each["name"] for each in again.to_dict()["columns"]] == [each["name"] for each in due.to_dict()["columns"]]
    assert (again.keys, again.tables, len(again)) == (due.keys, due.tables, len(due))
    if "HAVING" not in text:
        assert again.group_keys == due.group_keys
    for name in ("count", "sum_x"):
        of = [each.name for each in again.plan.query.statistics if each.default_name == name]
        assert cells(again, *of).items() <= cells(held, name).items()


def cells(answer, name=None):
    """Return the numbers by the keys of their rows, which differ in every column; a region is left out of a county."""
    regions = {"north", "south"}
    keys = [frozenset(key) - {None} for key in answer.group_keys]
    keys = [key - regions if key & {"a", "b", "c", "?"} else key for key in keys]
    return {} if name is None else dict(zip(keys, answer[name].value.tolist(), strict=True))


def test_a_million_cells_add_up(tmp_path):
    draw = np.random.default_rng(3)
    table = pd.DataFrame({"a": draw.integers(0, 1000, 5000), "b": draw.integers(0, 1000, 5000)})
    columns = {"a": lw.keys(*range(1000)), "b": lw.keys(*range(1000))}
    answer = asked(source(tmp_path, table, columns=columns), lw.count(), by=lw.cube("a", "b"))
    assert len(answer) == 1_002_001
    cells = answer.table("a", "b")["count"].value.reshape(1000, 1000)
    assert (cells.sum(axis=1) == answer.table("a")["count"].value).all()
    assert (cells.sum(axis=0) == answer.table("b")["count"].value).all()
    assert cells.sum() == answer.table()["count"].value[0]
    answer.to_parquet(tmp_path / "parts/")
    stored = pq.read_table(tmp_path / "parts")
    assert stored.num_rows == len(answer)
    assert stored.column("count").to_pylist()[-1] == cells[-1, -1]


# --- the command line ---


@pytest.fixture
def file(tmp_path):
    table = frame(400)
    table.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.toml").write_text(
        'table = "t.parquet"\nepsilon = 20\n[columns.sex]\nkeys = ["F", "M"]\n[columns.edu]\nkeys = [1, 2, 3]\n'
        '[columns.hours]\ntype = "integer"\nlow = 0\nhigh = 80\n'
    )
    return str(tmp_path / "t.toml")


def run(*words, status=0):
    done = CliRunner().invoke(main, words)
    assert done.exit_code == status, done.output
    return done


CUBE = "SELECT sex, edu, COUNT(*) AS n, SUM(hours) AS h FROM t GROUP BY CUBE (sex, edu)"


def shares(*options, file):
    told = json.loads(run("plan", file, CUBE, "--epsilon", "1", "--format", "json", *options).stdout)
    return {tuple(each["by"]): each["share"] for each in told["tables"]}, told


def test_commands_take_weights_of_tables_and_an_objective(file):
    usual, told = shares(file=file)
    assert sum(Fraction(share) for share in usual.values() if share is not None) == 1
    assert [each["by"] for each in told["tables"] if each["asked"]] == [[], ["sex"], ["edu"], ["sex", "edu"]]
    assert {column["name"] for column in told["tables"][0]["columns"]} == {"n", "h"}
    heavy, _ = shares("--weight", "(edu, sex)=1000", file=file)
    assert Fraction(heavy["sex", "edu"]) >= Fraction(usual["sex", "edu"] or 0)
    total, _ = shares("--weight", "()=100000", "--weight", "(sex)=2", "--weight", "hours=3", file=file)
    assert Fraction(total[()]) > Fraction(1, 2)
    fair, alike = (shares("--objective", each, file=file)[0] for each in ("minimax", "cells"))
    assert all(sum(Fraction(share or 0) for share in found.values()) == 1 for found in (fair, alike))
    for wrong, text in (
        ("(sex, age)=1", "does not ask for it"),
        ("(sex=1", "not a declared column"),
        ("(sex)=-1", "weight"),
    ):
        assert text in run("plan", file, CUBE, "--epsilon", "1", "--weight", wrong, status=2).stderr
    one = "SELECT sex, COUNT(*) FROM t GROUP BY sex"
    assert "one table" in run("plan", file, one, "--epsilon", "1", "--objective", "cells", status=2).stderr
    assert "one table" in run("plan", file, one, "--epsilon", "1", "--weight", "(sex)=2", status=2).stderr
    run("plan", file, CUBE, "--epsilon", "1", "--objective", "median", status=2)


def test_the_objectives_of_commands_are_those_of_python():
    from typing import get_args

    from lapwing.question.sets import Objective

    for command in ("plan", "release"):
        (option,) = (each for each in main.get_command(None, command).params if each.name == "objective")
        assert tuple(option.type.choices) == get_args(Objective)


@pytest.mark.usefixtures("frozen_noise")
def test_commands_release_print_and_explain_tables_that_add_up(file, tmp_path):
    printed = run("release", file, CUBE, "--epsilon", "1", "--objective", "minimax").stdout
    assert re.search(r"Total +Total", printed)
    csv_text = run("release", file, CUBE, "--epsilon", "1", "--objective", "minimax", "--format", "csv").stdout
    rows = pd.read_csv(io.StringIO(csv_text), dtype=str, keep_default_na=False).to_dict("records")
    tables = [(), ("sex",), ("edu",), ("sex", "edu")]
    for statistic in ("n", "h"):
        assert_adding_up(rows, ("sex", "edu"), statistic, tables)
    told = run("explain", file, "2").stdout
    assert "of all measured tables" in told
    total = re.search(r"Total +Total +([\d,.]+)", printed)[1]
    assert abs(exactly(total) - exactly(rows[0]["n"])) <= Fraction(1, 2)
    assert total in told
    out = tmp_path / "out.html"
    run("release", file, CUBE, "--epsilon", "1", "--objective", "minimax", "--output", str(out))
    assert "Total" in out.read_text()
    left = run("ledger", str(tmp_path / "t.ledger")).stdout
    for refused in (["--share"], ["--total", "sex"], ["--ratio", "sex=F,M"]):
        run("release", file, CUBE, "--epsilon", "2", *refused, status=2)
    assert run("ledger", str(tmp_path / "t.ledger")).stdout == left


def test_the_plan_says_what_is_measured(people):
    told = str(people.plan(lw.count(), by=lw.cube("sex", "edu"), epsilon=1))
    assert "4 tables that add up" in told
    assert "by table" in told
    assert re.search(r"sex × edu +6 +\d+ %", told)


def test_a_plan_says_the_error_of_each_table_as_the_answer_has_it(people):
    statistics, by = (lw.count(name="n"), lw.mean("hours", name="m")), lw.rollup("sex", "edu")
    plan = people.plan(*statistics, by=by, epsilon=2)
    answer = asked(people, *statistics, by=by, epsilon=2)
    for at_once, margin in ((answer, "margin"), (answer.at(simultaneous=True), "simultaneous_margin")):
        for table in plan.to_dict()["tables"]:
            row = at_once.table(*table["by"]).rows[0]["n"]
            assert (row["high"] - row["low"]) / 2 == pytest.approx(table["columns"][0][margin], abs=1e-6)
    expected = {tuple(each["by"]): each["columns"] for each in plan.to_dict()["tables"]}
    assert len({columns[0]["margin"] for columns in expected.values()}) == 3
    for text in (str(plan), plan._repr_html_()):
        for columns in expected.values():
            for each in columns:
                assert f"± {each['margin']:.4g}" in text
    largest = max(columns[0]["margin"] for columns in expected.values())
    assert f"up to ± {largest:.4g}" in str(plan)
