"""The SQL of every kind of question, kept as files, so that a changed query is a visible difference.

To write them anew after a change that is meant: LAPWING_WRITE_SQL=1 make test
"""

import os
from pathlib import Path

import pytest

import lapwing as lw

from ..claims.test_measure import schema_of
from ..tables import plan_of

FOLDER = Path(__file__).parent / "sql"

QUESTIONS = {
    "count": (False, (lw.count(),), (), None),
    "count_by_two_keys": (False, (lw.count(),), ("key", "code"), None),
    "count_by_two_keys_people": (True, (lw.count(),), ("key", "code"), None),
    "histogram": (False, (lw.histogram("x", [-2, 0, "2.5", 7]),), (), None),
    "sum_where": (False, (lw.sum("x"),), (), "x > 0 AND (yes OR day >= '2024-01-01') AND key IN ('a', 'b')"),
    "mean_and_count_people": (True, (lw.mean("y"), lw.count()), ("key",), None),
    "variance_and_share": (False, (lw.variance("y"), lw.proportion("x IS NULL OR x < y")), ("code",), None),
    "quantiles_by_key": (False, (lw.median("x"), lw.max("x"), lw.mean("x")), ("key",), None),
    "quantiles_people": (True, (lw.quantile("y", [0.1, 0.9]),), ("key",), "yes"),
    "distribution_function": (False, (lw.cdf("y", 20),), ("key",), None),
    "present_people": (True, (lw.count("day"),), (), "NOT (x = 7 AND yes)"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_sql_is_the_one_on_file(name):
    person, *question = QUESTIONS[name]
    sql = plan_of(schema_of(person, 3, "add_remove"), *question).sql + "\n"
    file = FOLDER / f"{name}.sql"
    if os.environ.get("LAPWING_WRITE_SQL"):
        file.write_text(sql)
    assert sql == file.read_text()


def test_a_whole_table_under_change_one():
    plan = plan_of(schema_of(False, 1, "change_one"), (lw.mean("y"), lw.std("y")))
    assert "COALESCE(CASE WHEN" in plan.sql  # a missing value counts as the middle (claim P5)


def test_every_file_has_a_question():
    assert {file.stem for file in FOLDER.glob("*.sql")} == set(QUESTIONS)
