"""Claim R3: a cut shows released numbers, and changes nothing else.  DuckDB selects and orders them independently."""

import random
from fractions import Fraction

import duckdb
import pandas as pd
import pytest

import lapwing as lw
from lapwing.engine.duckdb import DuckDBTable
from lapwing.noise.entropy import EntropyForTests
from lapwing.question.statement import read
from lapwing.release import result
from lapwing.release.pipeline import question

WARDS = [f"w{i}" for i in (3, 11, 2, 40, 5, 8)]
COLUMNS = {"ward": lw.keys(*WARDS), "year": lw.keys(2024, 2021, 2022), "cost": lw.number(0, 100)}
QUESTION = "SELECT ward, year, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE cost < 90 GROUP BY ward, year"
TESTS = ["n {} 12", "c {} 47.5", "n_low {} 3", "c_high {} 70", "ward {} 'w3'", "year {} 2022", "n {} c"]
ORDERS = ["n", "c DESC", "ward", "year DESC", "n_low DESC", "n DESC", "c_high"]


def asked(source, text):
    return source.sql(text, epsilon="0.2", entropy=EntropyForTests(b"cut"))


@pytest.fixture
def make(tmp_path):
    draw = random.Random(3)
    table = {
        "ward": [draw.choice(WARDS) for _ in range(300)],
        "year": [draw.choice((2021, 2022, 2024)) for _ in range(300)],
        "cost": [draw.uniform(0, 100) for _ in range(300)],
    }
    pd.DataFrame(table).to_parquet(tmp_path / "visits.parquet")
    return lambda ledger: lw.Source(
        tmp_path / "visits.parquet", name="visits", columns=COLUMNS, epsilon=5, ledger=tmp_path / ledger
    )


def random_cut(draw):
    """Return HAVING, as text, the columns that order, LIMIT and OFFSET."""
    tests = [draw.choice(TESTS).format(draw.choice(("<", "<=", ">", ">=", "=", "<>"))) for _ in range(3)]
    one, two, three = tests
    having = draw.choice(("", one, f"NOT ({one} AND {two})", f"({one} OR {two}) AND {three}"))
    order = draw.sample(ORDERS, draw.randint(0, 2))
    return having, order, draw.choice(("", "0", "1", "5", "17", "40")), draw.choice(("", "0", "2", "16", "30"))


def written(having, order, limit, offset):
    parts = ("HAVING", having), ("ORDER BY", ", ".join(order)), ("LIMIT", limit), ("OFFSET", offset)
    return " ".join(f"{word} {part}" for word, part in parts if part)


@pytest.mark.parametrize("size", [4, 250_000])
def test_R3_a_cut_is_what_another_engine_selects_from_the_released_numbers(make, monkeypatch, size):
    monkeypatch.setattr(result, "_PIECE_ROWS", size)
    source, draw = make("a.ledger"), random.Random(4)
    answer = asked(source, QUESTION)
    duckdb.register("whole", answer.to_pandas().assign(place=range(18)))
    for _ in range(60):
        having, order, limit, offset = random_cut(draw)
        selected = written(having, [*order, "place"], limit, offset).replace("HAVING", "WHERE")
        expected = duckdb.sql(f"SELECT * EXCLUDE (place) FROM whole {selected}").fetchall()
        cut = written(having, order, limit, offset)
        shown = answer.showing(read(f"{QUESTION} {cut}", source.schema).cut)
        assert list(shown.to_pandas().itertuples(index=False, name=None)) == expected, cut
        assert len(shown) == len(expected)


def test_R3_T43_neither_the_question_nor_the_engine_nor_the_record_depends_on_the_cut(make, monkeypatch):
    heard, tally = [], DuckDBTable.tally

    def listen(self, schema, lowered, progress=None):
        heard.append((lowered.sql, lowered.columns))
        return tally(self, schema, lowered, progress)

    monkeypatch.setattr(DuckDBTable, "tally", listen)
    draw, made = random.Random(5), []
    for number in range(8):
        having, order, limit, offset = random_cut(draw) if number else ("", [], "", "")
        answer = asked(make(f"{number}.ledger"), f"{QUESTION} {written(having, order, limit, offset)}")
        made.append((question(answer.plan), answer.answer, answer.remaining))
    assert all(each == made[0] for each in made)
    assert len(heard) == 8
    assert all(each == heard[0] for each in heard)


def test_R3_T27_another_cut_of_the_same_answer_is_free(make):
    source = make("a.ledger")
    cuts = "", " LIMIT 1", " HAVING n > 3", " ORDER BY n DESC LIMIT 2"
    answers = [asked(source, f"{QUESTION}{cut}") for cut in cuts]
    assert [each.repeated for each in answers] == [False, True, True, True]
    assert len({each.entry for each in answers}) == 1
    assert source.left() == Fraction(48, 10)
