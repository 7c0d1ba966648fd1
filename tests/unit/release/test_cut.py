"""A cut of an answer: which rows it shows, in every output, and what it leaves as it was."""

import json
import random

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing import errors
from lapwing.cli.main import main
from lapwing.noise.entropy import EntropyForTests
from lapwing.question.statement import read
from lapwing.release import result

WARDS = ("south", "north", "harbour", "west", "east")
COLUMNS = {
    "ward": lw.keys(*WARDS),
    "code": lw.keys(1, 2, 10, other="rest"),
    "age": lw.number(0, 120, integer=True, edges=[0, 18, 65, 120]),
    "cost": lw.number(0, 100),
}
QUESTION = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward"


def asked(source, text, **options):
    return source.sql(text, epsilon="0.1", entropy=EntropyForTests(b"cut"), **options)


@pytest.fixture
def source(tmp_path):
    draw = random.Random(1)
    ages, costs = ([draw.randrange(100) for _ in range(500)] for _ in range(2))
    table = {
        "ward": [draw.choice(WARDS) for _ in range(500)],
        "code": [draw.choice((1, 2, 10, 11)) for _ in range(500)],
        "age": ages,
        "cost": costs,
    }
    path = tmp_path / "visits.parquet"
    pd.DataFrame(table).to_parquet(path)
    return lw.Source(path, name="visits", columns=COLUMNS, epsilon=5, ledger=tmp_path / "visits.ledger")


def value(name):
    return lambda row: row[name]["value"]


CUTS = {
    "HAVING n >= 100": (lambda row: row["n"]["value"] >= 100, None, slice(None)),
    "HAVING COUNT(*) >= 100 AND ward <> 'west'": (
        lambda row: row["n"]["value"] >= 100 and row["ward"] != "west",
        None,
        slice(None),
    ),
    "HAVING n_low > 60 OR NOT c BETWEEN 45.5 AND 70": (
        lambda row: row["n"]["low"] > 60 or not 45.5 <= row["c"]["value"] <= 70,
        None,
        slice(None),
    ),
    "HAVING ward IN ('east', 'south')": (lambda row: row["ward"] in ("east", "south"), None, slice(None)),
    "HAVING n > c": (lambda row: row["n"]["value"] > row["c"]["value"], None, slice(None)),
    "HAVING n IS NOT NULL": (None, None, slice(None)),
    "ORDER BY n": (None, value("n"), slice(None)),
    "ORDER BY 2 DESC LIMIT 3": (None, lambda row: -row["n"]["value"], slice(3)),
    "ORDER BY AVG(cost) DESC NULLS LAST LIMIT 2 OFFSET 1": (None, lambda row: -row["c"]["value"], slice(1, 3)),
    "ORDER BY ward": (None, lambda row: row["ward"], slice(None)),
    "LIMIT 2 OFFSET 1": (None, None, slice(1, 3)),
    "OFFSET 4 ROWS FETCH NEXT 3 ROWS ONLY": (None, None, slice(4, 7)),
    "LIMIT 0": (None, None, slice(0)),
    "HAVING n > 1000000": (lambda row: False, None, slice(None)),
    "HAVING n > 50 ORDER BY c LIMIT 2": (lambda row: row["n"]["value"] > 50, value("c"), slice(2)),
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_shows_the_rows_that_python_selects_from_the_whole_answer(source, cut):
    true, by, some = CUTS[cut]
    whole = asked(source, QUESTION)
    expected = [row for row in whole.rows if true is None or true(row)]
    expected = (expected if by is None else sorted(expected, key=by))[some]
    answer = asked(source, f"{QUESTION} {cut}")
    assert (answer.entry, answer.repeated, answer.answer) == (whole.entry, True, whole.answer)
    assert answer.rows == list(answer) == answer.to_dict()["rows"] == expected
    assert read(f"{QUESTION} {answer.shown.text}", source.schema).cut == answer.shown
    assert len(answer) == len(expected)


@pytest.mark.parametrize("size", [1, 2, 250_000])
def test_every_output_has_the_rows_of_the_cut(source, tmp_path, monkeypatch, size):
    monkeypatch.setattr(result, "_PIECE_ROWS", size)
    answer = asked(source, f"{QUESTION} HAVING n > 0 ORDER BY n DESC LIMIT 3")
    rows = [(row["ward"], row["n"]["value"], row["c"]["low"]) for row in answer.rows]
    assert sorted(rows, key=lambda row: -row[1]) == rows
    assert len(rows) == 3

    def picked(frame):
        return [(row["ward"], row["n"], row["c_low"]) for row in frame.to_dict("records")]

    assert picked(answer.to_pandas()) == rows
    assert picked(pl.DataFrame(answer).to_pandas()) == rows
    assert picked(pa.table(answer).to_pandas()) == rows
    assert picked(duckdb.sql("FROM answer").df()) == rows
    answer.to_csv(tmp_path / "a.csv")
    shorter = [(*row[:2], pytest.approx(row[2], rel=0.01)) for row in rows]  # a file has fewer digits
    assert picked(pd.read_csv(tmp_path / "a.csv")) == shorter
    assert (tmp_path / "a.csv").read_text() == answer.to_csv()
    answer.to_parquet(tmp_path / "a.parquet")
    assert picked(pd.read_parquet(tmp_path / "a.parquet")) == rows
    assert [key for (key,) in answer.group_keys] == answer["ward"].tolist() == [row[0] for row in rows]
    assert answer["n"].value.tolist() == answer.estimates["n"].value.tolist() == [row[1] for row in rows]
    text, page = answer.to_text(), answer.to_html()
    places = [[part.index(row[0]) for row in rows] for part in (text, page)]
    assert all(place == sorted(place) for place in places)
    assert not any(ward in text for ward in {*WARDS} - {row[0] for row in rows})
    assert '3 of 5 groups: HAVING "n" > 0 ORDER BY "n" DESC LIMIT 3' in text
    assert "3 of 5 groups: HAVING &quot;n&quot; &gt; 0" in page
    (chart,) = answer.plot("n").to_dict()["datasets"].values()
    assert [row["group"] for row in chart] == [row[0] for row in rows]


def test_a_cut_of_a_cut_starts_from_the_whole_answer(source):
    whole = asked(source, QUESTION)
    cut = whole.cut(order_by="n DESC", limit=2)
    assert cut.rows == asked(source, f"{QUESTION} ORDER BY n DESC LIMIT 2").rows
    assert cut.cut("n < 100").rows == whole.cut("n < 100").rows
    assert cut.cut().rows == whole.rows
    assert whole.cut(order_by=["n DESC", "ward"], offset=1).rows == whole.cut(order_by="2 DESC").rows[1:]
    assert cut.at("0.5").rows != cut.rows
    assert [row["ward"] for row in cut.at("0.5").rows] == [row["ward"] for row in cut.rows]


def test_a_cut_says_what_it_shows_in_json(source):
    whole = asked(source, QUESTION)
    assert whole.to_dict()["cut"] is None
    assert whole.cut("n > 5", order_by="c DESC", limit=3, offset=1).to_dict()["cut"] == {
        "having": '"n" > 5',
        "order_by": [{"name": "c", "descending": True}],
        "limit": 3,
        "offset": 1,
        "groups": 5,
    }


def test_a_cut_says_that_noise_chose_its_rows(source):
    whole = asked(source, QUESTION)
    near, ranks, bars = (
        "noise decides whether a row near the limit",
        "Ranks are those of noisy",
        "only bars for all cells",
    )

    def said(answer):
        return [words in " ".join(answer.notes) for words in (near, ranks, bars)]

    assert said(whole) == said(whole.cut(limit=2)) == said(whole.cut("ward <> 'west'", order_by="ward")) == [False] * 3
    assert said(whole.cut("n > 5")) == [True, False, True]
    assert said(whole.cut(order_by="n", limit=2)) == [False, True, True]
    assert said(whole.cut("n_low > 5", order_by="n", offset=1)) == [True, True, True]
    assert said(whole.cut("n > 5").at(simultaneous=True)) == [True, False, False]


def test_keys_are_ordered_by_their_values_and_bins_by_their_bounds(source):
    def order(text):
        return [row[next(iter(row))] for row in asked(source, text).rows]

    assert order("SELECT code, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1 DESC") == ["rest", 10, 2, 1]
    assert order("SELECT age, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1 DESC") == ["[65, 120]", "[18, 65)", "[0, 18)"]
    bins = "SELECT BIN(cost, 0, 9, 80, 100) AS b, COUNT(*) FROM visits GROUP BY 1 ORDER BY b"
    assert order(bins) == ["[0, 9)", "[9, 80)", "[80, 100]"]
    assert order("SELECT code, COUNT(*) FROM visits GROUP BY 1 HAVING code IN ('2', 'rest')") == [2, "rest"]


def test_groups_of_a_distribution_can_be_cut(source):
    text = "SELECT CDF(cost) AS f FROM visits GROUP BY ward, BIN(cost, 0, 20, 50, 100)"
    whole = asked(source, text)
    expected = sorted((row for row in whole.rows if row["f"]["value"] < 0.9), key=value("f"), reverse=True)[:4]
    cut = asked(source, f"{text} HAVING f < 0.9 ORDER BY f DESC LIMIT 4")
    assert cut.rows == expected
    (chart,) = cut.plot().to_dict()["datasets"].values()
    assert [row["k0"] for row in chart] == [r["ward"] for r in expected]


def test_numbers_beyond_64_bits_can_be_compared_and_ordered(source):
    whole = asked(source, QUESTION)
    large = whole.cut("n < 100000000000000000000000000 AND n >= 0.5 AND c <> 1.5")
    assert large.rows == [row for row in whole.rows if row["n"]["value"] >= 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"having": "m > 3"}, "The answer has ward, n, n_low"),
        ({"having": "n + 1 > 3"}, "cannot be released"),
        ({"having": 'ward = "west"'}, "single quotes hold a text: 'west'"),
        ({"having": "n > 3; DROP TABLE x"}, "cannot be released"),
        ({"having": "n > 3 ORDER BY n"}, "cannot be released"),
        ({"having": 3}, "having is a text such as"),
        ({"order_by": 3}, "order_by is a text such as"),
        ({"order_by": "n LIMIT 2"}, "cannot be released"),
        ({"order_by": "7"}, "Write a number from 1 to 3"),
        ({"limit": -1}, "limit is a whole number from 0"),
        ({"limit": 1.5}, "limit is a whole number from 0"),
        ({"offset": "a"}, "offset is a whole number from 0"),
    ],
)
def test_a_wrong_cut_is_refused(source, given, message):
    with pytest.raises(errors.RequestError, match=message):
        asked(source, QUESTION).cut(**given)


def test_a_public_number_of_rows_can_be_cut(tmp_path):
    pd.DataFrame({"cost": [1.0] * 30}).to_parquet(tmp_path / "t.parquet")
    columns = {"cost": lw.number(0, 100)}
    source = lw.Source(tmp_path / "t.parquet", name="t", columns=columns, epsilon=1, neighbors="change_one")
    shown = [len(asked(source, f"SELECT COUNT(*) AS n FROM t HAVING n > {limit}")) for limit in (29, 30)]
    assert shown == [1, 0]
    assert asked(source, "SELECT COUNT(*) FROM t ORDER BY 1 LIMIT 1").rows[0]["count"]["value"] == 30


def test_a_refused_cut_in_sql_charges_nothing(source):
    for cut in ("HAVING m > 3", "ORDER BY SUM(cost)", "LIMIT 1 + 1"):
        with pytest.raises(errors.RequestError):
            asked(source, f"{QUESTION} {cut}")
    assert source.left() is None or source.left() == 5


@pytest.mark.usefixtures("frozen_noise")
def test_the_command_shows_the_cut_and_explain_the_question(source, tmp_path):
    path = tmp_path / "visits.toml"
    path.write_text(
        'name = "visits"\ntable = "visits.parquet"\nepsilon = 5\n[columns.ward]\n'
        f"keys = {json.dumps(WARDS)}\n[columns.cost]\nlow = 0\nhigh = 100\n"
    )
    text = f"{QUESTION} ORDER BY n DESC LIMIT 2"

    def run(*arguments):
        return CliRunner().invoke(main, arguments).output

    assert "All 5 groups are measured and charged once; shown of them" in run("plan", str(path), text, "--epsilon", "1")
    shown = run("release", str(path), text, "--epsilon", "1")
    assert '2 of 5 groups: ORDER BY "n" DESC LIMIT 2' in shown
    again = json.loads(run("release", str(path), f"{QUESTION} LIMIT 1", "--epsilon", "1", "--format", "json"))
    assert (again["repeated"], len(again["rows"]), again["cut"]["limit"]) == (True, 1, 1)
    explained = run("explain", str(path), str(again["entry"]))
    assert "LIMIT" not in explained
    assert all(ward in explained for ward in WARDS)
