"""One text, one meaning: what is folded away by the canonical text of a question changes nothing."""

from fractions import Fraction as F

import pandas as pd
import pytest

import lapwing as lw
from lapwing.errors import LapwingError, RequestError
from lapwing.question.grids import MOST_SUMMED, GridStep, coarser
from lapwing.question.schema import Grid, make_schema
from lapwing.question.spelling import numeral
from lapwing.question.sql import make_query, parse

COLUMNS = {
    "a": lw.number(0, 5),
    "b": lw.number(0, 5),
    "i": lw.number(-(2**50), 2**50, integer=True),
    "w": lw.number(0, 3),
    "d": "date",
    "yes": "boolean",
}
SCHEMA = make_schema("t", COLUMNS, None, None, "add_remove", None)

SAME = [
    ("WHERE a = 5", "WHERE a = 4 + 1"),
    ("WHERE a > b", "WHERE -(-a) > b"),
    ("WHERE a IS NULL", "WHERE -(-a) IS NULL"),
    ("WHERE yes", "WHERE yes = 2 - 1"),
    ("WHERE yes = FALSE", "WHERE yes = 1 - 1"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_folded_condition_is_the_plain_one(one, other):
    asked = [parse(f"SELECT COUNT(*) FROM t {where}", SCHEMA) for where in (one, other)]
    assert asked[0] == asked[1]
    for query in asked:
        assert parse(query.text, SCHEMA, recorded=True).where == query.where


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("100 * SUM(2 * w * a) / SUM(2 * w)", "SUM(200 * w * a) / SUM(2 * w)"),
        ("SUM(w * a) / SUM(w)", "SUM(3 * a * w) / SUM(3 * w)"),
        ("SUM(NULLIF(i, -3))", "SUM(NULLIF(i, -(3.0)))"),
        ("SUM(CASE WHEN a <> 5 THEN a END)", "SUM(CASE WHEN a <> 4 + 1 THEN a END)"),
    ],
)
def test_a_folded_statistic_is_the_plain_one(one, other):
    asked = [parse(f"SELECT {text} AS n FROM t", SCHEMA) for text in (one, other)]
    assert asked[0] == asked[1]
    again = parse(asked[0].text, SCHEMA, recorded=True)
    assert again.text == asked[0].text
    assert [each.kind for each in again.statistics] == [each.kind for each in asked[0].statistics]


def test_the_constant_of_weights_says_nothing(tmp_path, frozen_noise):
    frame = pd.DataFrame({"a": [1.0, 2.0], "w": [1.0, 3.0]})
    source = lw.Source(frame, name="t", columns={k: COLUMNS[k] for k in "aw"}, epsilon=10, ledger=tmp_path / "l")
    first = source.release(lw.mean("a", weight="w"), epsilon=1)
    again = source.release(lw.mean("a", weight="2 * w"), epsilon=1)
    assert again.repeated
    assert again.entry == first.entry


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM t WHERE a * 1 > 1" + " > 0" * 20,
        "SELECT COUNT(*) FROM t WHERE a * 1 IS NULL" + " IS NULL" * 20,
        "SELECT SUM(a * 1e299 * 1e299) FROM t",
        "SELECT VAR_SAMP(a * 1e200) FROM t",
        "SELECT SUM(CLAMP(a / b, 0, 1e299" + " * 1e299" * 14 + ")) FROM t",
        "SELECT 1e299 * 1e299 * SUM(a) / COUNT(*) FROM t",
        "SELECT SUM(a" + " / 1.0000000000000001" * 40 + ") FROM t",
        "SELECT COUNT(*) FROM t WHERE yes = 3 - 1",
        "SELECT COUNT(*) FROM t WHERE -(-a) > d",
    ],
)
def test_what_would_grow_or_overflow_is_refused(text):
    with pytest.raises(RequestError):
        parse(text, SCHEMA)


def test_what_is_summed_has_at_most_so_many_steps():
    fine = GridStep("number", Grid(F(1), -1, 2 * MOST_SUMMED - 1), column="i")
    assert coarser(fine, MOST_SUMMED).grid.steps <= MOST_SUMMED


def test_numbers_are_written_as_decimals_where_they_have_one():
    assert [numeral(each) for each in (F(1, 3), F(-1, 8), F(7), F(3, 250))] == ["1/3", "-0.125", "7", "0.012"]
    assert numeral(F(1, 2**1201)) == f"1/{2**1201}"


WHOLE = {
    "n": lw.number(0, 120, integer=True),
    "m": lw.number(0, 120, integer=True),
    "z": lw.keys(1, 2, 3),
    "i": "integer",
    "x": lw.number(0, 9),
    "d": lw.dates("2024-01-01", "2024-12-31"),
    "e": "date",
}
FORMS = {
    '"n" >= 18': ["n > 17", "n >= 18", "18 <= n", "17 < n", "NOT n < 18", "NOT n <= 17", "n > 17.5", "n > 16 + 1"],
    '"n" < 18': ["n < 18", "n <= 17", "NOT (n >= 18)", "NOT n > 17", "n < 17.5", "n <= 17.5", "18 > n"],
    '"n" < 65 AND "n" >= 18': ["n BETWEEN 18 AND 64", "n > 17 AND n <= 64", "NOT (n < 18) AND n < 65"],
    '"n" > 120': ["n > 120", "NOT n <= 120"],
    '"n" <= 120': ["n <= 120", "NOT n > 120"],
    '"n" < 0': ["n < 0", "NOT n >= 0"],
    '"n" < 1': ["n <= 0", "n < 1", "n < 0.5"],
    '"z" >= 3': ["z > 2", "z >= 3", "z > 2.5"],
    '"z" <= 3': ["z <= 3", "NOT z > 3"],
    '"i" >= -5': ["i > -6", "i >= -5", "i >= -5.5"],
    '"x" > 3': ["x > 3", "NOT x <= 3"],
    "\"d\" >= DATE '2024-03-02'": ["d > DATE '2024-03-01'", "NOT d < DATE '2024-03-02'"],
    "\"d\" < DATE '2025-01-01'": ["d <= DATE '2024-12-31'", "d < DATE '2025-01-01'"],
    "\"e\" > DATE '9999-12-31'": ["e > DATE '9999-12-31'"],
    '"m" > "n"': ["n < m", "m > n", "NOT m <= n", "NOT n >= m"],
    '"m" = "n"': ["n = m", "m = n"],
}


@pytest.mark.parametrize(("text", "spelled"), FORMS.items())
def test_a_comparison_has_one_form(text, spelled):
    schema = make_schema("t", WHOLE, None, None, "add_remove", None)
    asked = [parse(f"SELECT COUNT(*) FROM t WHERE {each}", schema) for each in spelled]
    assert {str(each.where) for each in asked} == {text}
    assert parse(asked[0].text, schema) == asked[0]  # what is recorded may be asked again


@pytest.mark.parametrize(
    "wrong", ["n >= 121", "n < 121", "n <= -1", "n > -1", "n <= 200", "n BETWEEN 5 AND 4", "z > 4"]
)
def test_a_comparison_that_cannot_be_is_refused_in_every_form(wrong):
    schema = make_schema("t", WHOLE, None, None, "add_remove", None)
    with pytest.raises(RequestError, match=r"beyond|larger value first"):
        parse(f"SELECT COUNT(*) FROM t WHERE {wrong}", schema)


FALSE = "n > 999"


@pytest.mark.parametrize(
    "text",
    [
        f"COUNT(*) FROM t WHERE {FALSE}",
        f"COUNT(*) FROM t GROUP BY CASE WHEN {FALSE} THEN 'a' ELSE 'b' END",
        f"COUNT(*) FROM t GROUP BY CASE WHEN {FALSE} THEN 1 ELSE 2 END",
        f"COUNT(*) FROM t GROUP BY CUBE (z, BIN(IF({FALSE}, 1, 2), 0, 1, 2))",
        f"SUM(IF({FALSE}, x, n)) FROM t",
        f"SUM(x) / SUM(IF({FALSE}, x, n)) FROM t",
        f"AVG(IF({FALSE}, 1, 0)) FROM t",
        f"COUNT(*) FILTER (WHERE {FALSE}) FROM t",
        f"WEIGHTED_MEDIAN(x, IF({FALSE}, x, n)) FROM t",
    ],
)
def test_a_literal_that_cannot_occur_is_refused_wherever_it_stands(text):
    schema = make_schema("t", WHOLE, None, None, "add_remove", None)
    with pytest.raises(LapwingError, match="The condition compares n with 999, which is beyond its bounds, 0 to 120"):
        parse(f"SELECT {text}", schema)


@pytest.mark.parametrize("by", [f"CASE WHEN {FALSE} THEN 'a' ELSE 'b' END", f"IF({FALSE}, 1, 2)"])
def test_a_literal_of_a_key_that_cannot_occur_is_refused_in_python(by):
    schema = make_schema("t", WHOLE, None, None, "add_remove", None)
    with pytest.raises(LapwingError, match="The condition compares n with 999"):
        make_query([lw.count()], by, None, schema)


@pytest.mark.parametrize("text", ["x / TRUE", "TRUE * x", "x + n - FALSE", "-TRUE + x", "(TRUE) + x"])
def test_a_truth_value_is_no_number_in_a_calculation(text):
    schema = make_schema("t", WHOLE, None, None, "add_remove", None)
    with pytest.raises(RequestError, match=r"a calculation with TRUE or FALSE.*Write 1 or 0"):
        parse(f"SELECT AVG({text}) FROM t", schema)
