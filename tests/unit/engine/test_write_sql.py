"""The SQL of every kind of question on every engine, kept as files, so that a changed query is a visible difference.

To rewrite them after an intended change: LAPWING_WRITE_SQL=1 make test
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import sqlglot

import lapwing as lw
from lapwing.engine.dialect import RUN, WRITTEN, dialect
from lapwing.engine.write_sql import lower
from lapwing.errors import InvalidParameter
from lapwing.release.discover import plan_keys

from ...claims.test_measure import schema_of
from ...set_tables import question as set_question
from ...tables import plan_of

FOLDER = Path(__file__).parent / "sql"

QUESTIONS = {
    "count": (False, (lw.count(),), (), None),
    "count_by_two_keys": (False, (lw.count(),), ("key", "code"), None),
    "count_by_two_keys_people": (True, (lw.count(),), ("key", "code"), None),
    "histogram": (False, (lw.histogram("x", [-2, 0, "2.5", 7]),), (), None),
    "sum_where": (False, (lw.sum("x"),), (), "x > 0 AND (yes OR day >= '2024-01-01') AND key IN ('a', 'it''s')"),
    "mean_and_count_people": (True, (lw.mean("y"), lw.count()), ("key",), None),
    "variance_and_share": (False, (lw.variance("y"), lw.proportion("x IS NULL OR x < y")), ("code",), None),
    "quantiles_by_key": (False, (lw.median("x"), lw.max("x"), lw.mean("x")), ("key",), None),
    "quantiles_people": (True, (lw.quantile("y", [0.1, 0.9]),), ("key",), "yes"),
    "weighted_quantiles": (False, (lw.median("y", weight="ABS(x)"),), (), None),
    "weighted_quantiles_people": (True, (lw.quantile("x", [0.1, 0.9], weight="ABS(y)"),), ("key",), "yes"),
    "distribution_function": (False, (lw.cdf("y", 20),), ("key",), None),
    "present_people": (True, (lw.count("day"),), (), "NOT (x = 7 AND yes)"),
    "variance_people": (True, (lw.variance("y"),), ("key",), None),
    "dates_by_month": (False, (lw.mean("e - DATE '2024-03-01'"),), ("DATE_TRUNC('month', e)",), "e <> '2024-02-29'"),
    "number_of_people": (True, (lw.people(),), ("key", "code"), "yes"),
}
SETS = {
    "cube": (False, (lw.count(),), lw.cube("key", "code")),
    "rollup_people": (True, (lw.mean("y"), lw.count()), lw.rollup("key", "code")),
    "sets_with_bins": (False, (lw.variance("y"),), lw.sets(("key", "y"), ("code",), ())),
}
KEYS = {"keys_of_text": (False, "key"), "keys_of_text_people": (True, "key"), "keys_of_integer_people": (True, "code")}


def written(engine, name):
    """Return the SQL of a question for an engine."""
    if name in KEYS:
        person, column = KEYS[name]
        plan = plan_keys(schema_of(person, 3, "add_remove"), column, epsilon=1, delta="1e-6")
        return plan.on(dialect(engine)).lowered.sql + "\n"
    if name in SETS:
        person, *question = SETS[name]
        schema, query, measured = set_question(_binned(schema_of(person, 3, "add_remove")), *question)
        to = dialect(engine)
        return to.remark + lower(schema, query, measured, to, query.sets).sql + "\n"
    person, *question = QUESTIONS[name]
    schema = schema_of(person, 3, "add_remove")
    schema = replace(schema, columns={**schema.columns, "e": lw.dates("2024-01-01", "2024-12-31")})
    return plan_of(schema, *question).to_sql(engine) + "\n"


def _binned(schema):
    """Return the schema with bins of y."""
    edges = lw.number(schema.columns["y"].low, schema.columns["y"].high, edges=["-0.5", 3, 100])
    return replace(schema, columns={**schema.columns, "y": edges})


ASKED = [*QUESTIONS, *SETS]
CASES = [(engine, name) for engine in [*RUN, *WRITTEN] for name in [*ASKED, *(KEYS if engine in RUN else ())]]


@pytest.mark.parametrize(("engine", "name"), CASES)
def test_the_sql_is_the_one_on_file(engine, name):
    sql = written(engine, name)
    file = FOLDER / engine / f"{name}.sql"
    if os.environ.get("LAPWING_WRITE_SQL"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(sql)
    assert sql == file.read_text()


@pytest.mark.parametrize(("engine", "name"), CASES)
def test_the_sql_is_sound_in_its_dialect(engine, name):
    """Parsed by a grammar of that engine; those of ``RUN`` are also run, in tests/engines."""
    for statement in sqlglot.parse(written(engine, name), read=engine):
        assert statement is not None
        assert {table.name for table in statement.find_all(sqlglot.exp.Table)} - {"source"}


@pytest.mark.parametrize("engine", WRITTEN)
def test_sql_that_was_not_run_says_so(engine):
    assert written(engine, "count").startswith("-- not run here")


def test_an_unknown_engine_is_refused_by_name():
    with pytest.raises(InvalidParameter, match="duckdb, postgres, spark, bigquery, snowflake, trino, clickhouse"):
        plan_of(schema_of(False, 1, "add_remove"), (lw.count(),)).to_sql("oracle")


def test_a_whole_table_under_change_one():
    plan = plan_of(schema_of(False, 1, "change_one"), (lw.mean("y"), lw.std("y")))
    assert "COALESCE(CASE WHEN" in plan.sql  # a missing value counts as the middle (claim P5)


def test_every_file_has_a_question():
    found = {(file.parent.name, file.stem) for file in FOLDER.rglob("*.sql")}
    assert found == set(CASES)
