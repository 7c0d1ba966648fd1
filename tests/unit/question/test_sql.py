"""SQL: what is accepted, what it means, and what is refused before any engine sees it."""

import random
import time
from datetime import date

import duckdb
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.question.condition import parse_condition
from lapwing.question.schema import make_schema
from lapwing.question.sql import make_query, parse
from lapwing.question.statement import read

from ...tables import arrow, engine_tally, plan_of

COLUMNS = {
    "x": lw.number(0, 10),
    "y": lw.number(0, 10, integer=True, edges=[0, 5, 10]),
    "key": lw.keys("a", "b"),
    "code": lw.keys(1, 2, 3),
    "day": "date",
    "yes": "boolean",
    "note": "text",
    "z": "number",
    'odd "name"': "text",
    "Cost (EUR)": lw.number(0, 2.5),
    "born": lw.dates("2020-01-01", "2024-12-31"),
}
SCHEMA = make_schema("t", COLUMNS, None, None, "add_remove", None)

ACCEPTED = {
    "select count(*) from t": 'SELECT COUNT(*) FROM "t"',
    "SELECT COUNT(x) n, SUM(x), AVG(x) FROM t": 'SELECT AVG("x"), COUNT("x"), SUM("x") FROM "t"',
    "SELECT VAR_SAMP(x), VAR_POP(x), VARIANCE(y) FROM T": 'SELECT VAR_POP("x"), VAR_SAMP("x"), VAR_SAMP("y") FROM "t"',
    "SELECT STDDEV(x), STDDEV_SAMP(x), STDDEV_POP(x) FROM t": 'SELECT STDDEV_POP("x"), STDDEV_SAMP("x") FROM "t"',
    "SELECT key, COUNT(*) FROM t GROUP BY key, code": 'SELECT COUNT(*) FROM "t" GROUP BY "key", "code"',
    "SELECT COUNT(*) FROM t GROUP BY BIN(x, 0, 2.50, 10)": 'SELECT COUNT(*) FROM "t" GROUP BY BIN("x", 0, 2.5, 10)',
    "SELECT AVG(CASE WHEN x > 5 THEN 1 ELSE 0 END) FROM t":
        'SELECT AVG(CASE WHEN "x" > 5 THEN 1 ELSE 0 END) FROM "t"',
    "SELECT COUNT(*) FROM t WHERE 5 < x AND NOT yes": 'SELECT COUNT(*) FROM "t" WHERE "x" > 5 AND "yes" <> TRUE',
    "SELECT COUNT(*) FROM t WHERE day BETWEEN DATE '2024-01-01' AND '2024-12-31'":
        'SELECT COUNT(*) FROM "t" WHERE "day" < DATE \'2025-01-01\' AND "day" >= DATE \'2024-01-01\'',
    "SELECT COUNT(*) FROM t WHERE note = 'it''s' OR note IS NOT NULL":
        'SELECT COUNT(*) FROM "t" WHERE "note" = \'it\'\'s\' OR NOT ("note" IS NULL)',
    'SELECT COUNT("odd ""name""") FROM "t"': 'SELECT COUNT("odd ""name""") FROM "t"',
    "SELECT COUNT(*) FROM t WHERE x <> y AND key NOT IN ('b', 'a')":
        'SELECT COUNT(*) FROM "t" WHERE "x" <> "y" AND NOT ("key" IN (\'a\', \'b\'))',
    "SELECT COUNT(1) FROM t;": 'SELECT COUNT(*) FROM "t"',
    "SELECT BIN(x, 0, 5, 10) AS part, key AS who, AVG(y) FROM t GROUP BY part, who":
        'SELECT AVG("y") FROM "t" GROUP BY BIN("x", 0, 5, 10), "key"',
    "SELECT AVG(CASE WHEN yes THEN 1.0 ELSE 0.0 END) FROM t":
        'SELECT AVG(CASE WHEN "yes" = TRUE THEN 1 ELSE 0 END) FROM "t"',
    "SELECT COUNT(*) FROM t WHERE z >= -1.50": 'SELECT COUNT(*) FROM "t" WHERE "z" >= -1.5',
}  # fmt: skip


@pytest.mark.parametrize("text", ACCEPTED)
def test_a_query_has_one_canonical_text_which_means_itself(text):
    found = parse(text, SCHEMA).text
    assert found == ACCEPTED[text]
    assert parse(found, SCHEMA).text == found


HOSTILE = """
SELECT * FROM t
SELECT x FROM t
SELECT DISTINCT key FROM t
SELECT COUNT(DISTINCT x) FROM t
SELECT COUNT(*), (SELECT 1) FROM t
SELECT COUNT(*) FROM t, t
SELECT COUNT(*) FROM t JOIN t AS u ON TRUE
SELECT COUNT(*) FROM s.t
SELECT COUNT(*) FROM other
SELECT COUNT(*) FROM read_csv('/etc/passwd')
SELECT COUNT(*) FROM '/etc/passwd'
SELECT COUNT(*) FROM t TABLESAMPLE (10 PERCENT)
SELECT COUNT(*) FROM t WHERE x IN (SELECT x FROM t)
SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t)
SELECT COUNT(*) FROM t; DROP TABLE t
SELECT COUNT(*) FROM t;;
SELECT /*+ hint */ COUNT(*) FROM t
SELECT COUNT(*) FROM t UNION ALL SELECT COUNT(*) FROM t
SELECT COUNT(*) FROM t QUALIFY ROW_NUMBER() OVER () = 1
SELECT COUNT(*) OVER () FROM t
SELECT SUM(x ORDER BY x) FROM t
SELECT SUM(x) + 1 FROM t
SELECT AVG(CAST(x AS VARCHAR)) FROM t
SELECT AVG(x::INT) FROM t
SELECT COUNT(*) FROM t WHERE CAST(x AS INT) = 1
SELECT COUNT(*) FROM t WHERE RANDOM() > 0.5
SELECT COUNT(*) FROM t WHERE x / 0 > 1
SELECT COUNT(*) FROM t WHERE x LIKE 'a%'
SELECT COUNT(*) FROM t WHERE note SIMILAR TO 'a'
SELECT COUNT(*) FROM t WHERE x = NULL
SELECT COUNT(*) FROM t WHERE x = 'a'
SELECT COUNT(*) FROM t WHERE key = 1
SELECT COUNT(*) FROM t WHERE day > 'yesterday'
SELECT COUNT(*) FROM t WHERE day > '2024-02-30'
SELECT COUNT(*) FROM t WHERE note
SELECT COUNT(*) FROM t WHERE 1 = 2
SELECT COUNT(*) FROM t WHERE x IS TRUE
SELECT COUNT(*) FROM t WHERE (x, y) IN ((1, 2))
SELECT COUNT(*) FROM t WHERE x = key
SELECT COUNT(*) FROM t WHERE x = ?
SELECT COUNT(*) FROM t WHERE x = $1
SELECT COUNT(*) FROM t WHERE x IN ()
SELECT COUNT(*) FROM t WHERE x + 1 IN ()
SELECT COUNT(*) FROM t WHERE ABS(x) NOT IN ()
SELECT AVG(FLOOR()) FROM t
SELECT AVG(ABS() + COALESCE()) FROM t
SELECT COUNT(*) FROM t GROUP BY x
SELECT COUNT(*) FROM t GROUP BY 1
SELECT COUNT(*) FROM t GROUP BY ROLLUP (x)
SELECT COUNT(*) FROM t GROUP BY CUBE (note)
SELECT COUNT(*) FROM t GROUP BY CUBE (key, key)
SELECT COUNT(*) FROM t GROUP BY CUBE ()
SELECT COUNT(*) FROM t GROUP BY ROLLUP key
SELECT COUNT(*) FROM t GROUP BY key ROLLUP (code)
SELECT COUNT(*) FROM t GROUP BY key GROUPING SETS ((key), ())
SELECT COUNT(*) FROM t GROUP BY key WITH ROLLUP WITH CUBE
SELECT COUNT(*) FROM t GROUP BY ROLLUP (key) WITH ROLLUP
SELECT COUNT(*) FROM t GROUP BY ROLLUP (key) WITH TOTALS
SELECT COUNT(*) FROM t GROUP BY ALL CUBE (key)
SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ((BIN(x, 0, 5, 10)), (BIN(x, 0, 10)))
SELECT MEDIAN(x) FROM t GROUP BY CUBE (key)
SELECT SUM(x) / SUM(y) FROM t GROUP BY CUBE (key)
SELECT CDF(x) FROM t GROUP BY ROLLUP (key, BIN(x, 0, 5, 10))
SELECT key, COUNT(*) FROM t GROUP BY CUBE (key) ORDER BY key
SELECT key, COUNT(*) AS n FROM t GROUP BY CUBE (key) HAVING n > 5
SELECT key, COUNT(*) FROM t GROUP BY CUBE (key) LIMIT 1
SELECT GROUPING(key), COUNT(*) FROM t GROUP BY key
SELECT GROUPING(key), COUNT(*) FROM t
SELECT GROUPING(code), COUNT(*) FROM t GROUP BY CUBE (key)
SELECT GROUPING(DISTINCT key), COUNT(*) FROM t GROUP BY CUBE (key)
SELECT GROUPING(key) + 1, COUNT(*) FROM t GROUP BY CUBE (key)
SELECT GROUPING(key) FILTER (WHERE x > 1), COUNT(*) FROM t GROUP BY CUBE (key)
SELECT GROUPING(key) FROM t GROUP BY CUBE (key)
SELECT ROLLUP(key), COUNT(*) FROM t GROUP BY key
SELECT COUNT(*) FROM t WHERE GROUPING(key) = 1 GROUP BY CUBE (key)
SELECT COUNT(*) FROM t GROUP BY key, key
SELECT COUNT(*) FROM t GROUP BY key || 'a'
SELECT COUNT(*) FROM t GROUP BY BIN(x, 3, 1)
SELECT COUNT(*) FROM t GROUP BY BIN(key, 1, 2)
SELECT COUNT(*) FROM t GROUP BY BIN(x, y, 2)
SELECT key AS k, COUNT(*) FROM t GROUP BY code
SELECT key AS n, COUNT(*) AS n FROM t GROUP BY key
SELECT key AS a, code AS A, COUNT(*) FROM t GROUP BY key, code
SELECT BIN(x, 0, 5), COUNT(*) FROM t GROUP BY BIN(x, 0, 6)
SELECT key FROM t GROUP BY key
SELECT key AS code, COUNT(*) FROM t GROUP BY code
SELECT BIN(x, 0, 5, 10) AS x, COUNT(*) FROM t GROUP BY x
SELECT key AS a, key AS b, COUNT(*) FROM t GROUP BY key
SELECT COUNT(*) AS " " FROM t
SELECT COUNT(*) FROM t WHERE x > 1e-500
SELECT MEDIAN(x, 1) FROM t
SELECT MEDIAN(DISTINCT x) FROM t
SELECT MIN(x, y) FROM t
SELECT QUANTILE_CONT(x) FROM t
SELECT QUANTILE_CONT(x, 0.5, 1) FROM t
SELECT QUANTILE_CONT(x, y) FROM t
SELECT QUANTILE_CONT(x, 1.5) FROM t
SELECT QUANTILE_CONT(x, -0.1) FROM t
SELECT QUANTILE_CONT(x, 0.12345678) FROM t
SELECT QUANTILE_CONT(x, (SELECT 0.5)) FROM t
SELECT QUANTILE_CONT(x, [0.5, 0.9]) FROM t
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x DESC) FROM t
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x, y) FROM t
SELECT PERCENTILE_CONT(x, 0.5) FROM t
SELECT MODE(x) FROM t
SELECT CDF(x) FROM t
SELECT CDF(x) FROM t GROUP BY key
SELECT CDF(x) FROM t GROUP BY BIN(x, 0, 5, 10), key
SELECT CDF(x), COUNT(*) FROM t GROUP BY BIN(x, 0, 5, 10)
SELECT CDF(x, 3) FROM t GROUP BY BIN(x, 0, 5, 10)
SELECT APPROX_COUNT_DISTINCT(x) FROM t
SELECT STRING_AGG(note) FROM t
SELECT HISTOGRAM(x) FROM t
SELECT AVG(key) FROM t
SELECT AVG(note) FROM t
SELECT COUNT(secret) FROM t
SELECT COUNT(*) FROM t FOR UPDATE
SELECT COUNT(*) INTO u FROM t
SELECT COUNT(t.*) FROM t
SELECT COUNT(* EXCLUDE (x)) FROM t
SELECT COUNT(*) FROM t PIVOT (COUNT(*) FOR key IN ('a'))
FROM t SELECT COUNT(*)
FROM t
SELECT COUNT(*)
SELECT
COUNT(*)
DROP TABLE t
COPY t TO 'x.csv'
ATTACH 'x.db'
PRAGMA database_list
SET threads = 1
INSTALL httpfs
SELECT COUNT(*) FROM t WHERE note = E'\\x41'
SELECT COUNT(*) FROM t WHERE note = $$a$$
SELECT COUNT(*) FROM t WHERE note = 'a
SELECT COUNT(*) FROM `t`.`x`
SELECT COUNT(*) FROM t WHERE [1, 2] = x
SELECT COUNT(*) FROM t WHERE list_filter([1], e -> e > 0)
SELECT COUNT(*) FROM t WHERE x BETWEEN SYMMETRIC 1 AND 2
SELECT COUNT(*) FROM t WHERE x IS DISTINCT FROM 1
SELECT COUNT(*) FROM t AT (VERSION => 1)
SELECT COLUMNS('x') FROM t
FROM t |> SELECT COUNT(*)
SELECT COUNT(*) FROM t |> WHERE x > 1
SELECT COUNT(*) FROM t WHERE note = '\ud800'
SELECT COUNT(*) FROM t WHERE note = 'a\0b'
\N{ZERO WIDTH SPACE}
SELECT COUNT(*) FROM (SELECT DISTINCT x FROM t)
SELECT COUNT(*) FROM (SELECT x FROM t GROUP BY x)
SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM t)
SELECT COUNT(*) FROM (SELECT QUANTILE_CONT(x, 0.5) AS n FROM t)
SELECT COUNT(*) FROM (SELECT x FROM t LIMIT 1)
SELECT COUNT(*) FROM (SELECT x FROM t OFFSET 1)
SELECT COUNT(*) FROM (SELECT x FROM t ORDER BY x)
SELECT COUNT(*) FROM (SELECT x FROM t QUALIFY ROW_NUMBER() OVER () = 1)
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER () AS r FROM t)
SELECT COUNT(*) FROM (SELECT x FROM t WHERE ROW_NUMBER() OVER () = 1)
SELECT COUNT(*) FROM (SELECT x FROM t WHERE x = (SELECT MAX(x) FROM t))
SELECT COUNT(*) FROM (SELECT x FROM t WHERE EXISTS (SELECT 1 FROM t))
SELECT COUNT(*) FROM (SELECT x FROM t UNION ALL SELECT x FROM t)
SELECT COUNT(*) FROM (SELECT x FROM t, t AS u)
SELECT COUNT(*) FROM (SELECT t.x FROM t JOIN t AS u ON TRUE)
SELECT COUNT(*) FROM (SELECT x FROM t TABLESAMPLE (10 PERCENT))
SELECT COUNT(*) FROM (SELECT x FROM t) TABLESAMPLE (10 PERCENT)
SELECT COUNT(*) FROM (SELECT x FROM t) PIVOT (COUNT(*) FOR x IN (1))
SELECT COUNT(*) FROM (SELECT x FROM other)
SELECT COUNT(*) FROM (SELECT x)
SELECT COUNT(*) FROM (SELECT x FROM t), t
SELECT COUNT(*) FROM (VALUES (1)) AS u(x)
SELECT COUNT(*) FROM (SELECT x FROM t) AS u(y)
SELECT COUNT(*) FROM (SELECT x > 1 FROM t)
SELECT COUNT(*) FROM (SELECT x, y AS X FROM t)
SELECT COUNT(*) FROM (SELECT *, x FROM t)
SELECT COUNT(*) FROM (SELECT * EXCLUDE (x) FROM t)
SELECT COUNT(*) FROM (SELECT u.* FROM t)
SELECT COUNT(*) FROM (SELECT x FROM t) WHERE y > 1
SELECT COUNT(*) FROM (SELECT x AS a FROM t) WHERE x > 1
SELECT SUM(x) FROM (SELECT x AS a FROM t)
SELECT COUNT(*) FROM (SELECT secret FROM t) WHERE secret > 1
SELECT COUNT(*) FROM (WITH u AS (SELECT x FROM t) SELECT x FROM u)
WITH u AS (SELECT x FROM t) SELECT COUNT(*) FROM t
WITH u AS (SELECT x FROM t), u AS (SELECT x FROM t) SELECT COUNT(*) FROM u
WITH u AS (SELECT x FROM v), v AS (SELECT x FROM t) SELECT COUNT(*) FROM u
WITH u AS (SELECT x FROM u) SELECT COUNT(*) FROM u
WITH u AS MATERIALIZED (SELECT x FROM t) SELECT COUNT(*) FROM u
WITH u(a) AS (SELECT x FROM t) SELECT SUM(a) FROM u
WITH RECURSIVE u AS (SELECT x FROM t) SELECT COUNT(*) FROM u
WITH u AS (DELETE FROM t) SELECT COUNT(*) FROM u
WITH u AS (SELECT x FROM t) DELETE FROM t
SELECT u.x FROM t
SELECT COUNT(*) FROM t AS u WHERE t.x > 1
SELECT COUNT(*) FROM t AS u(a)
SELECT COUNT(*) FROM t WHERE s.t.x > 1
SELECT COUNT(*) FROM t GROUP BY 2
SELECT COUNT(*) FROM t GROUP BY 0
SELECT COUNT(*) FROM t GROUP BY -1
SELECT COUNT(*), key FROM t GROUP BY 1.0
SELECT key, COUNT(*) FROM t GROUP BY ALL, key
SELECT key, COUNT(*) FROM t GROUP BY 1, key
SELECT x, COUNT(*) FROM t GROUP BY ALL
SELECT key, COUNT(*) FROM t GROUP BY 'key'
SELECT COUNT(*) FROM t HAVING SUM(x) > 1
SELECT COUNT(*) FROM t HAVING x > 1
SELECT COUNT(*) FROM t HAVING COUNT(*) + 1 > 1
SELECT COUNT(*) FROM t HAVING COUNT(*) > 'a'
SELECT COUNT(*) FROM t HAVING COUNT(*) > (SELECT 1)
SELECT COUNT(*) FROM t HAVING COUNT(*)
SELECT COUNT(*) FROM t HAVING RANDOM() > 0.5
SELECT key, COUNT(*) FROM t GROUP BY key HAVING code = 1
SELECT COUNT(*) FROM t ORDER BY 2
SELECT COUNT(*) FROM t ORDER BY SUM(x)
SELECT COUNT(*) FROM t ORDER BY x
SELECT COUNT(*) FROM t ORDER BY RANDOM()
SELECT COUNT(*) FROM t ORDER BY COUNT(*) + 1
SELECT COUNT(*) FROM t ORDER BY ALL
SELECT COUNT(*) FROM t ORDER BY 'count'
SELECT COUNT(*) FROM t ORDER BY COUNT(*) WITH FILL
SELECT COUNT(*) FROM t SORT BY count
SELECT COUNT(*) FROM t LIMIT -1
SELECT COUNT(*) FROM t LIMIT 1.5
SELECT COUNT(*) FROM t LIMIT x
SELECT COUNT(*) FROM t LIMIT ALL
SELECT COUNT(*) FROM t LIMIT 10 PERCENT
SELECT COUNT(*) FROM t LIMIT 1 BY key
SELECT COUNT(*) FROM t LIMIT (SELECT 1)
SELECT COUNT(*) FROM t LIMIT 9999999999999999999
SELECT COUNT(*) FROM t OFFSET -1
SELECT COUNT(*) FROM t FETCH FIRST 1 ROWS WITH TIES
SELECT COUNT(*) FROM t FETCH FIRST 1 PERCENT ROWS ONLY
SELECT COUNT(*) FROM t WHERE key = "a"
SELECT COUNT(*) FROM t /* open
SELECT COUNT() FROM t
SELECT SUM(FLOOR()) FROM t
""".strip("\n").split("\n")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_sql_is_refused_with_a_reason(text):
    with pytest.raises(errors.RequestError) as caught:
        read(text, SCHEMA)
    assert "othing was charged" in str(caught.value) or "nothing was charged" in str(caught.value)


HEAD = "SELECT COUNT(*) FROM t WHERE "


@pytest.mark.parametrize(
    "text",
    ["(" * 5000, f"{HEAD}{'NOT ' * 5000}yes", f"{HEAD}{'(' * 300}yes{')' * 300}", "x" * 200_000,
     f"{HEAD}x = {'- ' * 3000}1", "SELECT " + "COUNT(" * 2000],
)  # fmt: skip
def test_deep_and_long_texts_are_refused_quickly(text):
    start = time.process_time()
    with pytest.raises(errors.RequestError):
        read(text, SCHEMA)
    assert time.process_time() - start < 20


def test_long_conditions_that_are_not_deep_are_accepted():
    chain = " OR ".join(f"z = {i}" for i in range(500))
    assert len(parse_condition(chain, SCHEMA).parts) == 500
    assert len(parse_condition(f"z IN ({', '.join(map(str, range(3000)))})", SCHEMA).values) == 3000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT COUNT(*) FROM t ORDER BY key", 'unknown name "key"'),
        ("SELECT QUANTILE_CONT(x) FROM t", "Write QUANTILE_CONT(x, 0.9)"),
        ("SELECT COUNT(*) FROM t GROUP BY note", "no keys"),
        ("SELECT COUNT(*) FROM t GROUP BY x", "Choose bins of it: GROUP BY BIN(x, 0, 5, 10)."),
        ('SELECT COUNT(*) FROM t GROUP BY "Cost (EUR)"', 'GROUP BY BIN("Cost (EUR)", 0, 1.25, 2.5)'),
        ("SELECT COUNT(*) FROM t GROUP BY x * x", 'GROUP BY BIN("x" * "x", 0, 50, 100)'),
        ("SELECT COUNT(*) FROM t GROUP BY born", "GROUP BY DATE_TRUNC('month', born)"),
        ("SELECT AVG(Cost (EUR)) FROM t", "without its quotes"),
        ("SELECT COUNT(*) FROM t WHERE cost(eur) > 1", 'Write "Cost (EUR)".'),
        ("SELECT COUNT(*) FROM t GROUP BY Cost (EUR)", 'Write "Cost (EUR)".'),
        ("SELECT AVG(keyy) FROM t", 'Did you mean "key"'),
        ("SELECT COUNT(*) FROM visits", 'FROM "t"'),
        ("SELECT LOWER(key) FROM t", "the function LOWER"),
        ("SELECT MEAN(x) FROM t", "Did you mean AVG?"),
        ("SELECT MEDAIN(x) FROM t", "Did you mean MEDIAN?"),
        ('SELECT COUNT(*) FROM t WHERE key = "a"', "single quotes hold a text: 'a'"),
        ("SELECT COUNT(*) FROM t WHERE key IN (\"a\", 'b')", "single quotes hold a text: 'a'"),
        ('SELECT COUNT(*) FROM (SELECT key AS k FROM t) WHERE k = "a"', "single quotes hold a text: 'a'"),
        ('SELECT key, COUNT(*) FROM t GROUP BY 1 HAVING key = "a"', "single quotes hold a text: 'a'"),
        ("SELECT COUNT(*) FROM t WHERE key = a", "A text stands in single quotes: write 'a'."),
        ("SELECT COUNT(*) FROM t WHERE b <> key", "write 'b'."),
        ("SELECT COUNT(*) FROM t WHERE key IN (a, b)", "write 'a'."),
        ("SELECT AVG(CASE WHEN key = a THEN 1 ELSE 0 END) FROM t", "write 'a'."),
        ("SELECT COUNT(*) FROM (SELECT key AS k FROM t) WHERE k = a", "write 'a'."),
        ("SELECT COUNT(*) FROM (SELECT x FROM t WHERE key = a)", "write 'a'."),
        ("SELECT key, COUNT(*) FROM t GROUP BY 1 HAVING key = a", "write 'a'."),
        ("SELECT COUNT(*) FROM t WHERE key = nots", 'Did you mean "note"?'),
        ("SELECT key, COUNT(*) FROM t", 'Add GROUP BY "key"'),
        ("SELECT COUNT(*) FROM (SELECT x FROM t LIMIT 5)", "rows of several people must not be mixed"),
        ("SELECT COUNT(*) FROM (SELECT x FROM t) WHERE y > 1", "It selects x: add the column"),
        ("SELECT COUNT(*) FROM t HAVING AVG(x) > 1", 'Add AVG("x") to SELECT'),
    ],
)
def test_a_refusal_says_what_and_what_to_do(text, message):
    with pytest.raises(errors.RequestError) as caught:
        read(text, SCHEMA)
    assert message in str(caught.value)


def test_an_unknown_column_that_is_compared_with_a_number_is_no_text_where_every_row_is_a_person():
    schema = make_schema("t", {"x": lw.number(0, 10)}, None, None, "add_remove", None)
    for text in ("unknown > 1", "unknown IS NULL", "x > 1 AND unknown = 3"):
        with pytest.raises(errors.UnknownColumn):
            parse(f"SELECT COUNT(*) FROM t WHERE {text}", schema)


def test_keys_may_have_other_names():
    assert parse("SELECT key AS Key, COUNT(*) FROM t GROUP BY key", SCHEMA).titles == ("Key",)
    query = parse("SELECT BIN(x, 0, 5, 10) AS part, key AS who, COUNT(*) FROM t GROUP BY part, who", SCHEMA)
    assert (query.by, query.titles) == (("x", "key"), ("part", "who"))


def test_quantiles_by_all_their_names_are_one_question():
    texts = [
        "QUANTILE_CONT(x, 0.9)",
        "QUANTILE_DISC(x, 0.90)",
        "quantile(x, 9/10)",
        "APPROX_QUANTILE(x, 0.9)",
        "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)",
        "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY x ASC)",
    ]
    assert len({parse(f"SELECT {text} FROM t", SCHEMA).text for text in texts}) == 1
    same = [
        ("MEDIAN(x)", "QUANTILE_CONT(x, 0.5)"),
        ("MIN(x)", "QUANTILE_CONT(x, 0)"),
        ("MAX(x)", "QUANTILE_CONT(x, 1)"),
    ]
    for one, other in same:
        assert parse(f"SELECT {one} FROM t", SCHEMA).text == parse(f"SELECT {other} FROM t", SCHEMA).text
    names = [each.name for each in make_query([lw.quantile("x", [0, 0.25, 0.5, 1])], (), None, SCHEMA).statistics]
    assert names == ["min_x", "q0.25_x", "median_x", "max_x"]


def test_a_distribution_function_means_the_same_in_python_and_sql():
    by_python = make_query([lw.cdf("x", [0, 5, 10])], "key", None, SCHEMA)
    by_sql = parse("SELECT key, CDF(x) FROM t GROUP BY key, BIN(x, 0, 5, 10)", SCHEMA)
    assert by_python.text == by_sql.text == parse(by_python.text, SCHEMA).text


def test_what_means_the_same_has_the_same_text():
    for one, other in (
        ("x = 5", "x IN (5)"),
        ("NOT NOT x > 1", "x > 1"),
        ("NOT x = 5", "x <> 5"),
        ("yes", "yes = TRUE"),
    ):
        assert parse_condition(one, SCHEMA) == parse_condition(other, SCHEMA)


def test_too_many_statistics_are_refused_quickly():
    with pytest.raises(errors.TooLarge, match="is 4000, and at most 100 is possible"):
        parse(f"SELECT {', '.join(['COUNT(*)'] * 4000)} FROM t", SCHEMA)


def test_statistics_are_named_apart():
    query = make_query([lw.count(), lw.count(), lw.mean("x"), lw.mean("x", name="m")], "key", None, SCHEMA)
    assert [each.name for each in query.statistics] == ["count", "count_2", "mean_x", "m"]
    with pytest.raises(errors.InvalidParameter):
        make_query([lw.count(name="a"), lw.count("x", name="A")], (), None, SCHEMA)
    with pytest.raises(errors.InvalidParameter):
        make_query([lw.count(name="key")], "key", None, SCHEMA)


# --- what a condition means: against DuckDB itself, on random tables ---


def random_condition(rng, depth=3):
    if depth and rng.random() < 0.6:
        kind = rng.choice(["AND", "OR", "NOT"])
        if kind == "NOT":
            return (
                f"NOT {random_condition(rng, depth - 1)}"
                if rng.random() < 0.5
                else f"NOT ({random_condition(rng, depth - 1)})"
            )
        parts = [random_condition(rng, depth - 1) for _ in range(rng.choice([2, 3]))]
        joined = f" {kind} ".join(parts)
        return f"({joined})" if rng.random() < 0.5 else joined
    column, values = rng.choice(
        [("x", ["-3", "1.5", "2"]), ("y", ["1", "2", "7"]), ("key", ["'a'", "'b'"]), ("yes", ["FALSE", "TRUE"]),
         ("day", ["DATE '2024-01-01'", "DATE '2024-02-29'"])]
    )  # fmt: skip
    value, other = (values[i] for i in sorted(rng.choices(range(len(values)), k=2)))
    operator = rng.choice(["=", "<>", "<", "<=", ">", ">=", "!="])
    return rng.choice(
        [f"{column} {operator} {value}", f"{value} {operator} {column}", f"{column} IS NULL", f"{column} IS NOT NULL",
         f"{column} IN ({value}, {other})", f"{column} NOT IN ({value}, {other})", "x < y", "yes",
         f"{column} BETWEEN {value} AND {other}", f"{column} NOT BETWEEN {value} AND {other}"]
    )  # fmt: skip


def test_conditions_mean_what_sql_means():
    rng = random.Random(11)
    rows = [
        {
            "x": rng.choice([None, 1.5, 2.0, -3.0]),
            "y": rng.choice([None, 1.0, 2.0, 7.0]),
            "key": rng.choice([None, "a", "b", "c"]),
            "yes": rng.choice([None, True, False]),
            "day": rng.choice([None, date(2024, 1, 1), date(2024, 2, 29)]),
        }
        for _ in range(300)
    ]  # fmt: skip
    table = arrow(rows, ["x", "y", "key", "yes", "day"])
    columns = {"x": lw.number(-5, 5), "y": lw.number(0, 9), "key": lw.keys("a", "b"), "yes": "boolean", "day": "date"}
    schema = make_schema("t", columns, None, None, "add_remove", None)
    plain = duckdb.connect()
    plain.register("t", table)
    for _ in range(150):
        condition = random_condition(rng)
        expected = plain.execute(f"SELECT COUNT(*) FROM t WHERE {condition}").fetchone()[0]
        plan = plan_of(schema, (lw.count(),), where=condition)
        assert engine_tally(schema, plan, table) == {0: [(expected,)]}, condition


@pytest.mark.parametrize("text", ["SELECT {} FROM t", "SELECT c1 FROM (SELECT {} FROM t) AS s"])
def test_a_long_list_of_statistics_is_refused_before_it_is_worked_on(monkeypatch, text):
    """Some of that work grows with the square of its length."""
    monkeypatch.setattr("lapwing.question.sql.plain", lambda *_: pytest.fail("worked on"))
    items = ", ".join(f"COUNT(*) AS c{i}" for i in range(3000))
    with pytest.raises(errors.TooLarge, match="number of statistics is 3000, and at most 100"):
        parse(text.format(items), SCHEMA)


@pytest.mark.parametrize("name", ["x" * 201, "", " ", "a\nb", "\ud800"])
def test_a_name_that_a_ledger_would_keep_for_good_is_printable_and_not_long(name):
    for make in (lw.count, lambda **given: lw.ratio(lw.sum("x"), lw.count(), **given)):
        with pytest.raises(errors.InvalidParameter, match="a printable text of at most 200 characters"):
            make(name=name)
    for text in (f'SELECT COUNT(*) AS "{name}" FROM t', f'SELECT key AS "{name}", COUNT(*) FROM t GROUP BY key'):
        with pytest.raises(errors.RequestError):
            parse(text, SCHEMA)
    longest = "x" * 200
    assert parse(f"SELECT COUNT(*) AS {longest} FROM t", SCHEMA).statistics[0].name == longest
