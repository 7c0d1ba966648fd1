"""SQL as people write it: other ways to write a question have its canonical text, and nothing else does."""

import random
import time

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.auditing.tools.dressing import PLAIN, dressed, plain_text
from lapwing.question.condition import parse_condition
from lapwing.question.schema import make_schema
from lapwing.question.sql import parse
from lapwing.question.statement import read

COLUMNS = {
    "age": lw.number(0, 120, integer=True),
    "cost": lw.number(0, 5000),
    "ward": lw.keys("north", "south"),
    "sex": lw.keys("F", "M"),
    "day": "date",
}
SCHEMA = make_schema("visits", COLUMNS, "patient", 3, "add_remove", None)

SAME = {
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward": [
        "SELECT ward, COUNT(*) FROM visits GROUP BY 1",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ALL",
        "SELECT COUNT(*), ward FROM visits GROUP BY 2",
        "SELECT v.ward, COUNT(*) FROM visits v GROUP BY v.ward",
        "SELECT visits.ward, COUNT(*) FROM visits GROUP BY VISITS.WARD",
        'SELECT "v"."ward", COUNT(*) FROM "visits" AS "v" GROUP BY ward',
        "SELECT ward, COUNT(*) -- how many\nFROM visits /* all of them */ GROUP BY ward; -- done",
        "SELECT w, COUNT(*) FROM (SELECT ward AS w FROM visits) GROUP BY w",
        "SELECT u.w AS ward_name, COUNT(*) FROM (SELECT ward AS w FROM visits) AS u GROUP BY ward_name",
        "WITH u AS (SELECT * FROM visits) SELECT ward, COUNT(*) FROM u GROUP BY 1",
        "WITH u AS (SELECT ward AS a FROM visits), v AS (SELECT a AS b FROM u) SELECT b, COUNT(*) FROM v GROUP BY b",
        "SELECT ward, COUNT(*) FROM ((SELECT * FROM visits)) GROUP BY ward",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 5 ORDER BY n DESC LIMIT 3 OFFSET 1",
    ],
    "SELECT AVG(cost) FROM visits WHERE age >= 18 AND sex = 'F'": [
        "WITH u AS (SELECT * FROM visits WHERE sex = 'F') SELECT AVG(cost) FROM u WHERE age >= 18",
        "WITH visits AS (SELECT * FROM visits WHERE sex = 'F') SELECT AVG(cost) FROM visits WHERE age >= 18",
        "SELECT AVG(c) FROM (SELECT cost AS c, age FROM visits v WHERE v.sex = 'F') AS u WHERE u.age >= 18",
        "SELECT AVG(cost) FROM (SELECT *, age >= 18 AS adult FROM visits) WHERE adult AND sex = 'F'",
        "SELECT AVG(age) FROM (SELECT cost AS age, age AS cost, sex FROM visits) WHERE cost >= 18 AND sex = 'F'",
        "SELECT AVG(c) FROM (SELECT c FROM (SELECT cost AS c, age FROM visits WHERE sex = 'F') WHERE age >= 18)",
    ],
    "SELECT COUNT(DISTINCT patient) FROM visits WHERE age < 18 OR age > 65": [
        "SELECT COUNT(DISTINCT p) FROM (SELECT patient AS p FROM visits WHERE age < 18 OR age > 65)",
        "SELECT COUNT(DISTINCT patient) FROM (SELECT * FROM visits) WHERE age < 18 OR age > 65",
    ],
    "SELECT BIN(age, 0, 18, 120) AS years, COUNT(*) FROM visits WHERE (age < 18 OR cost > 1) GROUP BY years": [
        "SELECT BIN(age, 0, 18, 120) AS years, COUNT(*) FROM visits WHERE age < 18 OR cost > 1 GROUP BY 1",
        "SELECT BIN(a, 0, 18, 120), COUNT(*) FROM (SELECT age a FROM visits WHERE age < 18 OR cost > 1) GROUP BY ALL",
        "SELECT b, COUNT(*) FROM (SELECT *, BIN(age, 0, 18, 120) b FROM visits) WHERE age < 18 OR cost > 1 GROUP BY b",
    ],
}


@pytest.mark.parametrize("text", SAME)
def test_other_ways_to_write_a_question_are_that_question(text):
    asked = parse(text, SCHEMA).text
    assert {read(other, SCHEMA).query.text for other in SAME[text]} == {asked}


def test_random_questions_dressed_up_are_the_same_or_refused():
    choose, same, refused = random.Random(18), 0, []
    for _ in range(1500):
        plain = choose.choice(PLAIN)
        text = dressed(plain, choose)
        try:
            found = read(text, plain.schema).query.text
        except errors.RequestError as error:
            refused.append((text, str(error)))
            continue
        assert found == parse(plain_text(plain), plain.schema).text, text
        same += 1
    assert same > 1400, refused[:5]


def test_a_key_that_a_subquery_renames_keeps_its_new_name():
    query = read("SELECT w, COUNT(*) FROM (SELECT ward AS w FROM visits) GROUP BY w", SCHEMA).query
    assert (query.by, query.titles) == (("ward",), ("w",))


def test_a_comment_changes_nothing_in_a_condition():
    assert parse_condition("age > 5 -- AND sex = 'F'", SCHEMA) == parse_condition("age > /* 7 */ 5", SCHEMA)


def test_a_condition_in_python_hints_at_single_quotes():
    with pytest.raises(errors.UnsupportedQuery, match="single quotes hold a text: 'north'"):
        parse_condition('ward = "north"', SCHEMA)


def test_names_of_a_subquery_hide_those_of_the_source():
    text = read("SELECT SUM(age) FROM (SELECT cost AS age FROM visits WHERE age > 5)", SCHEMA).query.text
    assert text == 'SELECT SUM("cost") FROM "visits" WHERE "age" >= 6'


@pytest.mark.parametrize(
    "cut", ["HAVING count > 5", "HAVING mean_cost_low > 5 ORDER BY mean_cost DESC", "ORDER BY count, ward LIMIT 1"]
)
def test_a_cut_of_a_subquery_names_what_the_answer_has_as_without_one(cut):
    asked = "SELECT ward, COUNT(*), AVG(cost) FROM {} GROUP BY ward " + cut
    whole = read(asked.format("visits"), SCHEMA)
    assert read(asked.format("(SELECT ward, cost FROM visits)"), SCHEMA) == whole
    assert read(f"WITH v AS (SELECT * FROM visits) {asked.format('v')}", SCHEMA) == whole


def test_a_cut_of_a_subquery_names_nothing_that_the_answer_lacks():
    with pytest.raises(errors.UnsupportedQuery, match=r'unknown name "cost" in HAVING.*The answer has ward, count'):
        read("SELECT ward, COUNT(*) FROM (SELECT ward FROM visits) GROUP BY ward HAVING cost > 5", SCHEMA)


DOUBLING = "WITH a AS (SELECT age AS x FROM visits), {} SELECT SUM(x) FROM e".format(
    ", ".join(f"{new} AS (SELECT {'+'.join('x' * 40)} AS x FROM {old})" for old, new in ("ab", "bc", "cd", "de"))
)
BOMBS = {
    "brackets": "SELECT COUNT(*) FROM visits WHERE " + "(" * 10_000,
    "names of WITH": "WITH " + ", ".join(f"a{i} AS (SELECT * FROM visits)" for i in range(1000)) + " SELECT 1 FROM a1",
    "nested subqueries": "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 1000 + "visits" + ")" * 1000,
    "subqueries just too deep": "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 12 + "visits" + ")" * 12,
    "names that double": DOUBLING,
    "a long sum": "SELECT SUM(" + "+".join(["age"] * 12_000) + ") FROM visits",
    "many names in a list": "SELECT COUNT(*) FROM (SELECT age AS a FROM visits) WHERE a IN (" + "a,1," * 5500 + "1)",
    "many groups": "SELECT ward, COUNT(*) FROM visits GROUP BY " + ",".join("1" * 10_000),
    "many comments": "SELECT COUNT(*) " + "/* a */" * 10_000 + " FROM visits WHERE",
    "a long HAVING": "SELECT COUNT(*) FROM visits HAVING " + "+".join(["COUNT(*)"] * 4500) + " > 1",
    "a long ORDER BY": "SELECT COUNT(*) FROM visits ORDER BY " + "-" * 3 + ",".join(["-COUNT(*)"] * 3000),
}


@pytest.mark.parametrize("what", BOMBS)
def test_bombs_are_refused_quickly(what):
    start = time.process_time()
    with pytest.raises(errors.RequestError):
        read(BOMBS[what], SCHEMA)
    assert time.process_time() - start < 10  # a tenth of it is usual


@pytest.mark.parametrize(
    "text",
    [
        "SELECT cdf, COUNT(*) FROM t GROUP BY cdf",
        "SELECT g, COUNT(*) FROM (SELECT cdf AS g FROM t) s GROUP BY g",
        "SELECT cdf AS quantile_cont, COUNT(*) FROM t GROUP BY 1",
        "WITH cdf AS (SELECT cdf FROM t) SELECT cdf, COUNT(*) FROM cdf GROUP BY cdf",
    ],
)
def test_a_column_may_have_the_name_of_a_statistic(text):
    columns = {"cdf": lw.keys("a", "b")}
    plan = lw.Source(pd.DataFrame({"cdf": ["a"]}), name="t", columns=columns, epsilon=1).plan(text, epsilon=1)
    assert plan.query.text == 'SELECT COUNT(*) FROM "t" GROUP BY "cdf"'
