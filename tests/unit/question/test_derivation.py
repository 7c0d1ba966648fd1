"""Columns that are computed from others: in source files and in Python."""

from datetime import date
from fractions import Fraction as F

import pytest

import lapwing as lw
from lapwing import errors
from lapwing.noise.entropy import EntropyForTests
from lapwing.release.recall import recall

TOML = """
table = "jobs.csv"
epsilon = 100

[columns]
hours = {low = 0, high = 80}
wage = {low = 0, high = 50}
nace = {type = "text"}
start = {type = "date", first = 2024-01-01, last = 2024-12-31}
pay = {expression = "hours * wage", low = 0, high = 2000, edges = [0, 500, 2000], unit = "euros"}
double = {expression = "pay * 2"}
sector = {from = "nace", recode = {A = "farming", B = "industry", C = "industry"}, other = "rest", title = "Sector"}
"""


@pytest.fixture
def jobs(tmp_path):
    rows = [(i % 90, i % 60, "ABCX"[i % 4], f"2024-{1 + i % 12:02}-15") for i in range(240)]
    lines = ["hours,wage,nace,start", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "jobs.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "jobs.toml").write_text(TOML)
    return lw.Source.open(tmp_path / "jobs.toml"), rows


def test_computed_columns_are_used_like_others(jobs):
    source, rows = jobs
    answer = source.sql(
        "SELECT SUM(pay) AS p, SUM(double) AS d FROM jobs WHERE pay > 10", epsilon=100, entropy=EntropyForTests(1)
    )
    (row,) = answer.rows
    inside = [min(min(h, 80) * min(w, 50), 2000) for h, w, *_ in rows]
    assert row["p"]["value"] == pytest.approx(sum(each for each in inside if each > 10), abs=400)
    assert row["d"]["value"] == pytest.approx(2 * sum(each for each in inside if each > 10), abs=800)
    assert source.schema.columns["double"].high == 4000


def test_recodes_and_bins_of_computed_columns_are_keys(jobs):
    source, rows = jobs
    answer = source.release(lw.count(), by=("sector", "pay"), epsilon=50, entropy=EntropyForTests(1))
    assert [row["sector"] for row in answer.rows][::2] == ["farming", "industry", "rest"]
    months = source.plan(lw.count(), by="DATE_TRUNC('month', start)", where="sector = 'industry'", epsilon=1)
    assert months.groups == 12
    counted = sum(row["count"]["value"] for row in answer.rows)
    assert counted == pytest.approx(len(rows), abs=5)


@pytest.mark.usefixtures("frozen_noise")
def test_an_answer_is_found_again_and_another_expression_is_another_question(jobs):
    source, _ = jobs
    first = source.release(lw.mean("pay"), epsilon=1)
    assert source.release(lw.mean("pay"), epsilon=1).repeated
    assert recall(source.schema, source.ledger, first.entry).to_dict()["rows"] == first.to_dict()["rows"]
    other = source.declare(pay=lw.expression("wage * hours", low=0, high=2000, edges=[0, 500, 2000], unit="euros"))
    assert other.release(lw.mean("pay"), epsilon=1).repeated
    other = source.declare(pay=lw.expression("hours + wage", low=0, high=2000, edges=[0, 500, 2000]))
    assert not other.release(lw.mean("pay"), epsilon=1).repeated
    wider = source.declare(hours=lw.number(0, 90))
    assert not wider.release(lw.mean("pay"), epsilon=1).repeated
    assert not wider.release(lw.sum("hours * wage"), epsilon=1).repeated
    assert not source.release(lw.sum("hours * wage"), epsilon=1).repeated
    assert source.sql("SELECT SUM(wage * hours) AS s FROM jobs", epsilon=1).repeated


def test_bounds_of_computed_columns_follow_their_columns(jobs):
    source, _ = jobs
    assert source.declare(hours=lw.number(0, 10)).schema.columns["pay"].high == 500
    assert source.plan(lw.sum("hours * wage"), epsilon=1).computed[0].high == F(4000)
    assert "from 0 to 4000" in str(source.plan(lw.sum("hours * wage"), epsilon=1))


@pytest.mark.parametrize(
    "column",
    [
        {"expression": "hours * unknown"}, {"expression": ""}, {"expression": "hours", "low": 1},
        {"expression": "later * 2"},
        {"expression": "hours / wage"}, {"expression": "nace * 2"}, {"expression": "hours", "type": "number"},
        {"from": "nace"}, {"from": "unknown", "recode": {"A": "x"}}, {"from": "nace", "recode": {}},
        {"from": "hours", "recode": {"A": "x"}}, {"from": "nace", "recode": {"A": 1}}, {"recode": {"A": "x"}},
        {"type": "date", "first": date(2024, 1, 1)},
        {"type": "text", "first": date(2024, 1, 1), "last": date(2025, 1, 1)},
        {"type": "date", "first": date(2024, 1, 1), "last": date(2023, 1, 1)}, {"expression": "SUM(hours)"},
    ],
)  # fmt: skip
def test_declarations_that_cannot_be_computed_are_refused(jobs, tmp_path, column):
    def toml(value):
        if isinstance(value, dict):
            return "{" + ", ".join(f"{name} = {toml(each)}" for name, each in value.items()) + "}"
        return f'"{value}"' if isinstance(value, str) else str(value)

    text = TOML + f"wrong = {toml(column)}\nlater = {{low = 0, high = 1}}\n"
    if column == {"expression": "later * 2"}:
        text = text.replace("later = {low = 0, high = 1}", 'later = {expression = "hours * 2"}')
    (tmp_path / "jobs.toml").write_text(text)
    with pytest.raises(errors.InvalidSource):
        lw.Source.open(tmp_path / "jobs.toml")


def test_bounds_and_keys_of_computed_columns_are_not_searched(jobs):
    source, _ = jobs
    with pytest.raises(errors.UnsupportedQuery, match="computed"):
        source.bounds("pay", epsilon=1)
    with pytest.raises(errors.UnsupportedQuery, match="computed"):
        source.bounds("hours", epsilon=1, where="pay > 10")
    with pytest.raises(errors.RequestError):
        source.discover("sector", epsilon=1, delta="0.001")


def test_a_plan_shows_the_scale_of_each_statistic(jobs):
    source, _ = jobs
    plan = source.plan(lw.count(), lw.sum("hours"), epsilon=1)
    assert [row[3] for row in plan.forecast_rows] == ["1", "80"]
    assert all(row[3] in str(plan) for row in plan.forecast_rows)
