"""Every question is rebuilt from its record: what was paid for is shown again, explained and drawn from the ledger.

The questions are those of ``test_unchanged``, and others in as many spellings; and each SQL with brackets everywhere.
"""

import json
from functools import cache
from types import SimpleNamespace
from typing import get_args

import pytest
import sqlglot
from sqlglot import exp

import lapwing as lw
from lapwing.errors import LapwingError, UnsupportedQuery
from lapwing.ledger.entry import canonical_json
from lapwing.noise.entropy import EntropyForTests
from lapwing.question.query import StatisticKind
from lapwing.question.statement import read
from lapwing.release.pipeline import question
from lapwing.release.recall import recall, recorded_plan
from lapwing.source import release_planned

from .test_unchanged import COLUMNS, PEOPLE, PYTHON, SQL, table

C = "n > 5 OR t = 'b'"
SHARE = f"AVG(CASE WHEN {C} THEN 1 ELSE 0 END)"
SAME = {
    SHARE: [
        f"AVG(IF({C}, 1, 0))",
        f"AVG((CASE WHEN ({C}) THEN (1) ELSE (0) END))",
        f"AVG(CASE WHEN {C} THEN 1.0 ELSE 2 - 2 END)",
        f"AVG(CASE WHEN {C} THEN TRUE ELSE FALSE END)",
        f"AVG(CASE WHEN {C} THEN 1 ELSE - - 0 END)",
        f"(AVG(IF(({C}), (1), (0))))",
    ],
    f"SUM(CASE WHEN {C} THEN x END)": [f"SUM(IF({C}, x, NULL))", f"SUM(x) FILTER (WHERE {C})", f"SUM(IF({C}, (x)))"],
    f"COUNT(*) FILTER (WHERE {C})": [f"(COUNT((*)) FILTER (WHERE ({C})))", f"COUNT(IF({C}, 1))"],
    "QUANTILE_CONT(n, 1/4)": ["QUANTILE_CONT((n), (1/4))", "PERCENTILE_CONT((0.25)) WITHIN GROUP (ORDER BY (n))"],
    "WEIGHTED_MEDIAN(n, w)": ["WEIGHTED_QUANTILE(n, (w), (0.5))"],
    "100 * SUM(x) / SUM(n)": ["100 * (SUM(x) / (SUM((n))))", "(100.0) * SUM(x) / NULLIF((SUM(n)), (0))"],
    f"SUM(w * CASE WHEN {C} THEN 1 ELSE 0 END) / SUM(w)": [f"(SUM(IF({C}, 1, 0) * (w))) / (SUM(w))"],
    "COUNT(DISTINCT p)": ["COUNT(DISTINCT (p))"],
    "AVG(ROUND(x, 1))": ["AVG((ROUND((x), (1))))"],
    "COUNT(*)": ["COUNT((1))", "(COUNT(*))"],
}
"""Statistics, and other ways to write them."""

MORE = [
    *(f"SELECT {one} FROM t" for text, others in SAME.items() for one in (text, *others)),
    *(f"SELECT k, {one} FROM t WHERE x > 1 GROUP BY k" for one in SAME if "CDF" not in one),
    "SELECT CDF(n) FROM t GROUP BY BIN(n, 3, 10, 20)",
    "SELECT k, CDF(2 * x) FROM t GROUP BY k, BIN(2 * x, 3, 10, 20)",
    "SELECT COUNT(*) FROM t GROUP BY IF(n > 20, 'old', 'young'), FLOOR(n / 10), (flag AND x > 1)",
    "SELECT BIN((x), (-2), (1/3), 9), SUM(n) FROM t GROUP BY (1)",
    "SELECT COUNT(*) FROM t WHERE n IN ((1), (2)) AND (k) IN ('a') AND ((t)) IS NULL AND NOT (NOT (flag))",
    "SELECT COUNT(*) FROM t WHERE (x > 1) IS NULL OR (x > n) = (n > w) OR x / (1 + w) / (2 + w) / (3 + w) > 1",
    "SELECT COUNT(*) FROM t WHERE EXTRACT(ISODOW FROM d) IN (6, 7) AND d + 7 > e AND DATE_TRUNC('week', d) < e",
    "SELECT SUM(CASE x WHEN 1 THEN 2 WHEN 2 THEN IF(flag, n, w) ELSE -x END), SUM(x * -(w)) FROM t",
    "SELECT SUM(x - (n - (w - 1))), SUM(x * (n / (w + 1)) / (1 + w)) FROM t",
    f"SELECT COUNT(*) FILTER (WHERE t IN ({', '.join(map(repr, map(str, range(3000))))})) FROM t",
    f"SELECT AVG(IF(t IN ({', '.join(map(repr, map(str, range(3000))))}), 1, 0)) FROM t",
    f"SELECT COUNT(*) FROM t WHERE {' OR '.join(f'x * n BETWEEN {i} AND {i + 0.5}' for i in range(90))}",
    f"SELECT AVG({'CASE WHEN x > 1 THEN ' * 30}x{' END' * 30}) FROM t",
    f"SELECT COUNT(*) FROM t WHERE {'NOT (x > 1 AND ' * 18}x < 3{')' * 18}",
    f"SELECT AVG(x{' / (1 + w)' * 18}) FROM t",
    "SELECT SUM(flag), AVG(flag), VAR_POP(n > 5), MAX(IF(flag, n, w)) FROM t",
    "SELECT AVG(n) AS b, COUNT(*) AS a, SUM(n) AS c FROM t",
    "SELECT ROUND(100 * AVG(IF(flag, 1, 0)), 1) AS percent, 12 * (SUM(n)), ROUND(AVG(x), (2)) FROM t",
    "SELECT n, flag, COUNT(*) FROM t GROUP BY n, (flag)",
    "SELECT w, FLOOR(n / 10) * 10 AS tens, COUNT(*) FROM t GROUP BY CUBE (w, tens)",
]  # fmt: skip
IN_PYTHON = {
    **PYTHON,
    "a mean of a CASE": lambda s: s.plan(lw.mean(f"IF({C}, 1, 0)"), lw.mean("(IF(flag, 1, 0))"), epsilon=1),
    "a share": lambda s: s.plan(lw.proportion(C), lw.proportion(C, weight="w + 1"), by="k", epsilon=1),
    "a mean of a truth value": lambda s: s.plan(lw.mean("flag"), lw.sum("flag"), lw.count("flag"), epsilon=1),
    "a histogram": lambda s: s.plan(lw.histogram("x", [0, "1/3", 5]), by="k", where=C, epsilon=1),
    "people": lambda s: s.plan(lw.people(), by=["k", "band"], where="(flag)", epsilon=1),
    "keys": lambda s: s.plan(lw.count(), by=["IF(n > 20, 'old', 'young')", "(FLOOR(n / 10))"], epsilon=1),
    "sets": lambda s: s.plan(
        lw.count(), lw.proportion("x > n"), by=["z", lw.cube("IF(n > 20, 'o', 'y')", ("k", "band"))], epsilon=1
    ),
}  # fmt: skip
TEXTS = [*SQL, *MORE]
PLANS = {text: lambda source, text=text: source.plan(text, epsilon=1) for text in TEXTS} | IN_PYTHON


@cache
def source(folder="nowhere"):
    return lw.Source(table(), name="t", columns=COLUMNS, ledger=f"{folder}/l", epsilon=1000, **PEOPLE)


def short(text):
    return text if len(text) < 120 else f"{text[:100]} … {len(text)}"


@pytest.mark.parametrize("plan", PLANS.values(), ids=map(short, PLANS))
def test_T54_a_question_is_rebuilt_from_its_record(plan):
    plan = plan(source())
    record = json.loads(canonical_json(question(plan), "question"))
    again = recorded_plan(plan.schema, SimpleNamespace(question=record, epsilon=plan.epsilon, answer=None))
    assert again is not None
    assert question(again) == question(plan)
    assert again.sql == plan.sql
    assert [part.measurement for part in again.parts] == [part.measurement for part in plan.parts]
    assert {each.text for each in again.query.statistics} == {each.text for each in plan.query.statistics}


@pytest.mark.parametrize("text", ["SELECT n, COUNT(*) FROM t GROUP BY n", "SELECT AVG(n) FROM t GROUP BY n"])
def test_bounds_that_make_keys_are_part_of_the_question(text):
    wider = source().declare(n=lw.number(0, 41, integer=True, missing=[99]))
    one, other = (question(each.plan(text, epsilon=1)) for each in (source(), wider))
    assert one["query"] == other["query"]
    assert one["columns"]["n"] != other["columns"]["n"]


def test_a_table_by_a_function_is_found_in_the_set_that_holds_it(tmp_path, frozen_noise):
    key = "CLAMP(FLOOR(n / 10), 0, 3)"
    held = source(tmp_path).release(lw.count(), by=lw.cube(key, "band"), epsilon=1)
    again = source(tmp_path).release(lw.count(), by=[key, "band"], epsilon="0.001")
    assert (again.entry, again.repeated) == (held.entry, True)


def test_T54_the_questions_have_every_statistic():
    asked = [plan(source()).query for plan in PLANS.values()]
    kinds = {each.kind for query in asked for each in query.statistics}
    assert kinds == {*get_args(StatisticKind)} - {"histogram"}, "which is a count by bins"


def test_T54_every_answer_is_shown_again_from_the_ledger(tmp_path):
    asked = source(tmp_path)
    for name, plan in PLANS.items():
        release = release_planned(asked, plan(asked), entropy=EntropyForTests(7))
        again = recall(asked.schema, asked.ledger, release.entry)
        assert again is not None, name
        assert again.at(release.confidence).flat() == release.cut().flat() or release.repeated, name
        assert str(question(again.plan)) == str(question(release.plan)), name


@pytest.mark.parametrize(("text", "others"), SAME.items())
def test_one_statistic_in_other_words_is_the_same_question(text, others):
    texts = {source().plan(f"SELECT {each} FROM t", epsilon=1).query.text for each in (text, *others)}
    assert len(texts) == 1


def in_brackets(text):
    """Yield a text with brackets around each of its expressions in turn, where SQL may have them."""
    tree = sqlglot.parse_one(text)
    for number, node in enumerate(tree.walk()):
        if not isinstance(node, exp.Condition) or isinstance(node, exp.Star | exp.Tuple | exp.Paren):
            continue
        fixed = isinstance(node.parent, exp.WithinGroup | exp.DataType | exp.Interval | exp.Filter)
        if (
            fixed
            or node.arg_key in ("ifs", "unit")
            or (isinstance(node.parent, exp.Extract) and node.arg_key == "this")
        ):
            continue
        other = tree.copy()
        chosen = list(other.walk())[number]
        chosen.replace(exp.Paren(this=chosen.copy()))
        yield other.sql()


@pytest.mark.parametrize("text", [text for text in TEXTS if len(text) < 500])
def test_brackets_change_nothing(text):
    schema = source().schema
    asked, tried = read(text, schema), 0
    for other in in_brackets(text):
        again, tried = read(other, schema), tried + 1
        assert again.query.text == asked.query.text, other
        assert again.cut == asked.cut, other
    assert tried >= text.count(",")


@pytest.mark.parametrize(
    "text", [f"SELECT AVG(x{' / (1 + w)' * 45}) FROM t", f"SELECT COUNT(*) FROM t WHERE x{' / (1 + w)' * 45} > 1"]
)
def test_what_could_not_be_read_from_the_record_is_refused(text):
    with pytest.raises(UnsupportedQuery, match="brackets nested too deeply"):
        source().plan(text, epsilon=1)


def test_the_condition_of_a_search_is_read_from_the_record_or_refused():
    with pytest.raises(LapwingError, match="nested too deeply"):
        source().plan_keys("t", epsilon=1, delta="1e-8", where=f"x{' / (1 + w)' * 45} > 1")
