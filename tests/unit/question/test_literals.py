"""Conditions with a value that cannot occur, by the declaration: refused before anything is charged."""

from datetime import date

import pandas as pd
import pytest

import lapwing as lw
from lapwing.errors import InvalidRequest, NoLedger, RequestError
from lapwing.plan.planning import make_plan
from lapwing.question.sql import parse
from lapwing.release.bounds import plan_bounds
from lapwing.release.pipeline import question
from lapwing.release.recall import recall

COLUMNS = {
    "ward": lw.keys("north", "south"),
    "region": lw.keys("north", "south", other="elsewhere"),
    "sex": lw.keys({"1": "men", "2": "women"}, other="rest"),
    "code": lw.keys({1: "men", 2: "women"}),
    "year": lw.keys(2020, 2021, 2024),
    "day": lw.keys(date(2024, 1, 1), date(2024, 2, 29)),
    "yes": lw.keys(True),
    "age": lw.number(0, 120, integer=True, edges=[0, 18, 120], labels=["child", "adult"]),
    "cost": lw.number("0.5", 500),
    "w": lw.number(0, 9, keys=[1, 2]),
    "note": "text",
    "n": "integer",
}


@pytest.fixture
def source(tmp_path):
    n = 20
    table = pd.DataFrame(
        {
            "ward": ["north"] * n,
            "region": ["north"] * n,
            "sex": ["1"] * n,
            "code": [1] * n,
            "year": [2020] * n,
            "day": [date(2024, 1, 1)] * n,
            "yes": [True] * n,
            "age": [200] * n,
            "cost": [5.0] * n,
            "w": [1] * n,
            "note": ["x"] * n,
            "n": [1] * n,
        }
    )
    return lw.Source(table, name="t", columns=COLUMNS, epsilon=9, delta="0.1", ledger=tmp_path / "t.ledger")


REFUSED = {
    "ward = 'nroth'": "compares ward with 'nroth', which is not one of its 2 keys. .* Did you mean 'north'?",
    "ward <> 'zzz'": "The keys are 'north', 'south'.  The owner of the source can allow others, by other",
    "ward IN ('north', 'Nord')": "Did you mean 'north'",
    "ward = 'NORTH '": "Did you mean 'north'",
    "ward NOT IN ('north', 'x')": "with 'x', which is not one",
    "NOT (ward = 'north' OR (age > 5 AND ward = 'east'))": "with 'east'",
    "'west' = ward": "with 'west'",
    "ward < 'a'": "with 'a', which is beyond all of its keys",
    "sex = 'men'": "compares sex with 'men', which is a label. .* Write the code '1'.",
    "sex IN ('1', 'women')": "Write the code '2'.",
    "code = 'women'": "Write the code 2.",
    "code = 3": "with 3, which is not one of its 2 keys. .* Did you mean 2?",
    "code = 1.5": "its values are whole numbers",
    "year = 2022": "Did you mean 2021?",
    "year > 2025": "beyond all of its keys. .* Did you mean 2024?",
    "day = DATE '2024-02-28'": "Did you mean DATE '2024-02-29'?",
    "yes = FALSE": "which is not its one key",
    "NOT yes OR yes = FALSE": "which is not its one key",
    "age > 200": "with 200, which is beyond its bounds, 0 to 120. .* Write 120 at the most",
    "age >= -1": "Write 0 at the least",
    "age BETWEEN 65 AND 200": "with 200",
    "age BETWEEN 65 AND 18": "BETWEEN with its larger value first. .* Write the smaller one first.",
    "age NOT BETWEEN 65 AND 18": "BETWEEN with its larger value first",
    "age = 17.5": "with 17.5, and its values are whole numbers",
    "age = 'child'": r"the label of a bin. .* the bin is \[0, 18\).",
    "cost < 0.4": "beyond its bounds, 0.5 to 500",
    "w = 10": "beyond its bounds",
    "n = 0.5": "whole numbers",
}

ALLOWED = [
    "ward = 'north'", "ward IN ('north', 'south')", "ward > 'north'", "ward IS NULL", "region = 'anything'",
    "sex = '9'", "sex = 'rest'", "code = 2", "year >= 2022", "year BETWEEN 2020 AND 2023", "day > DATE '2024-01-15'",
    "yes", "age >= 0", "age > 120", "age < 0 OR age > 120", "age > 17.5", "cost = 0.5", "cost > 499.999", "w = 5",
    "note = 'whatever'", "n > -10000000", "n > 0.5", "age > code",
]  # fmt: skip


@pytest.mark.parametrize("condition", REFUSED)
def test_a_value_that_cannot_occur_is_refused_at_every_door_and_costs_nothing(source, condition):
    asks = [
        lambda: source.plan(lw.count(), where=condition, epsilon=1),
        lambda: source.release(lw.count(), where=condition, epsilon=1),
        lambda: source.sql(f"SELECT COUNT(*) FROM t WHERE {condition}", epsilon=1),
        lambda: source.sql(f"SELECT AVG(CASE WHEN {condition} THEN 1 ELSE 0 END) FROM t", epsilon=1),
        lambda: source.release(lw.proportion(condition), epsilon=1),
        lambda: source.plan_keys("note", where=condition, epsilon=1, delta="0.01"),
        lambda: source.bounds("cost" if "cost" not in condition else "age", where=condition, epsilon=1),
    ]
    for ask in asks:
        with pytest.raises(RequestError, match=REFUSED[condition]):
            ask()
    with pytest.raises(NoLedger):  # nothing was charged: a charge would have made it
        _ = source.ledger


@pytest.mark.parametrize(
    ("by", "having", "said"),
    [
        ("ward", "ward = 'North'", "compares ward with 'North', which is not one of its 2 keys. .* mean 'north'?"),
        ("ward", "COUNT(*) > 5 AND ward IN ('x', 'north')", "with 'x'"),
        ("year", "year = 2022", "Did you mean 2021?"),
        ("year", "year > 2025", "beyond all of its keys"),
        ("age", "age = '[0, 17)'", r"Did you mean '\[0, 18\)'"),
        ("ward", "ward < 'south'", None),
        ("region", "region = 'elsewhere'", None),
        ("year", "year >= 2021 OR COUNT(*) < -5", None),
    ],
)
def test_having_refuses_a_key_that_cannot_occur_in_the_answer(source, by, having, said):
    asked = f"SELECT {by}, COUNT(*) FROM t GROUP BY {by} HAVING {having}"
    if said is None:
        assert source.plan(asked, epsilon=1).groups > 1
        return
    with pytest.raises(RequestError, match=said):
        source.plan(asked, epsilon=1)


@pytest.mark.parametrize("declared", [lw.recode("ward", {"North": "n"}), lw.expression("IF(ward = 'North', 1, 0)")])
def test_a_computed_column_of_a_key_that_cannot_occur_says_which_was_meant(source, declared):
    with pytest.raises(RequestError, match=r"'North', which is not one of its 2 keys.*Did you mean 'north'"):
        source.declare(odd=declared)


SPELLED = {
    "mark = 1": "mark = '1'",
    "mark IN (1, '3')": "mark IN ('1', '3')",
    "mark <> 10": "mark <> '10'",
    "3 = mark": "'3' = mark",
    "mark = -1": "mark = '-1'",
    "NOT mark NOT IN (1, 10)": "mark IN ('1', '10')",
    "sex = 1": "sex = '1'",
    "code = '2'": "code = 2",
    "code IN ('1', 2)": "code IN (1, 2)",
    "m = 1": "m = '1'",
}


@pytest.mark.parametrize("condition", SPELLED)
def test_a_code_may_be_written_as_a_number_or_as_a_text_and_is_one_question(source, condition):
    source = source.declare(mark=lw.keys("1", "3", "10", "-1"), m=lw.recode("ward", {"north": "1", "south": "2"}))
    asked, usual = (
        [
            source.plan(lw.count(), where=where, epsilon=1).query.text,
            source.plan(f"SELECT AVG(CASE WHEN {where} THEN 1 ELSE 0 END) FROM t", epsilon=1).query.text,
        ]
        for where in (condition, SPELLED[condition])
    )
    assert asked == usual


@pytest.mark.parametrize(
    ("keys", "condition", "said"),
    [
        (lw.keys("1", "2"), "k = 3", "compares k with '3', which is not one of its 2 keys"),
        (lw.keys("1", "2", missing=["9"]), "k = 9", "with '9', which counts as missing"),
        (lw.keys("1", "01"), "k = 1", "something that is not a text"),
        (lw.keys("1", "1.0"), "k = 1", "something that is not a text"),
        (lw.keys("01067", "12045"), "k = 12045", "something that is not a text. .* Write a literal such as '12045'"),
        (lw.keys("1", "2", other="rest"), "k = 3", "something that is not a text"),
        (lw.keys("1", "2"), "k = 1.5", "which is not one of its 2 keys"),
        (lw.keys("1", "2"), "k > 1", "something that is not a text"),
        (lw.keys("1", "2"), "k BETWEEN 1 AND 2", "something that is not a text"),
        (lw.keys(1, 2), "k = '01'", "something that is not a number"),
        (lw.keys(1, 2), "k < '2'", "something that is not a number"),
        (lw.keys("a", "1"), "k = 1", "something that is not a text"),
        (lw.plain("text"), "k = 1", "something that is not a text"),
        (lw.number(0, 9), "k = '1'", "something that is not a number"),
        (lw.keys(True, False), "k = 1", "something that is not a boolean"),
    ],
)
def test_a_spelling_that_could_be_another_code_is_refused(source, keys, condition, said):
    with pytest.raises(RequestError, match=said):
        source.declare(k=keys).plan(lw.count(), where=condition, epsilon=1)


@pytest.mark.parametrize("condition", ALLOWED)
def test_a_value_that_may_occur_is_asked(source, condition):
    assert source.plan(lw.count(), where=condition, epsilon=1).groups == 1
    assert source.plan(f"SELECT COUNT(*) FROM t WHERE {condition}", epsilon=1).groups == 1


def test_the_search_for_bounds_ignores_the_bounds_of_its_own_column(source):
    with pytest.raises(InvalidRequest):
        source.plan(lw.count(), where="age > 150", epsilon=1)
    assert plan_bounds(source.schema, "age", epsilon=1, where="age > 150").groups > 1


def test_a_message_holds_no_control_character_and_not_all_of_a_long_text(source):
    for text in ("\x1b[31m", "x" * 5000):
        with pytest.raises(InvalidRequest) as caught:
            source.plan(lw.count(), where=f"ward = '{text}'", epsilon=1)
        assert "\x1b" not in str(caught.value)
        assert len(str(caught.value)) < 400


def test_an_answer_that_was_recorded_before_is_still_shown(source):
    text = 'SELECT COUNT(*), AVG(CASE WHEN "age" > 200 THEN 1 ELSE 0 END) FROM "t" WHERE "ward" = \'nroth\''
    plan = make_plan(source.schema, parse(text, source.schema, recorded=True), epsilon=1)
    entry = source.make_ledger().charge(question(plan), 1)
    source.ledger.record(entry, {"cells": [[[5] for _ in part.measurement.names] for part in plan.parts]})
    assert recall(source.schema, source.ledger, entry.number).plan.query.text == plan.query.text
