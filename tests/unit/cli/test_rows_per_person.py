"""``lapwing bounds --rows-per-person`` and ``lapwing plan --rows-per-person``."""

import json
import tomllib

import pytest

import lapwing as lw

from .test_main import run

TOML = """
table = "t.csv"
person = "who"
epsilon = 100

[columns.x]
low = 0
high = 10
"""
ROWS = "who,x\n" + "".join(f"p{i % 400},{i % 9}\n" for i in range(600)) + "many,1\n" * 700
FIND = ["--rows-per-person", "--epsilon", "20"]


@pytest.fixture
def source(tmp_path):
    (tmp_path / "t.csv").write_text(ROWS)
    (tmp_path / "t.toml").write_text(TOML)
    return str(tmp_path / "t.toml")


@pytest.mark.usefixtures("frozen_noise")
def test_bounds_finds_rows_per_person_and_prints_the_line_to_paste(source, tmp_path):
    text = run("bounds", source, *FIND).stdout
    assert "Charged ε = 20 as entry 2." in text
    assert text.endswith("above the columns:\n\nrows_per_person = 2\n")
    told = json.loads(run("bounds", source, *FIND, "--share", "0.4", "--format", "json").stdout)
    assert (told["repeated"], told["rows_per_person"], told["toml"]) == (True, 1, "rows_per_person = 1\n")
    assert tomllib.loads(told["toml"]) == {"rows_per_person": 1}
    done = run("bounds", source, *FIND, "--format", "csv")
    assert done.stdout.startswith("least,most,people,people_low,people_high\n1,1,200,")
    assert "at no charge" in done.stderr
    shown = run("explain", source, "2").stdout
    assert "claim K5" in shown
    assert "rows_per_person = 2:" in shown
    assert json.loads(run("explain", source, "2", "--format", "json").stdout)["plan"]["sensitivity"] == 1
    assert 'SELECT COUNT(*) FROM "t"' in run("ledger", source).stdout
    (tmp_path / "t.toml").write_text(told["toml"] + TOML)
    run("release", source, "SELECT COUNT(*) FROM t", "--epsilon", "1")


def test_a_dry_run_reads_and_charges_nothing(source, tmp_path):
    (tmp_path / "t.csv").unlink()
    assert "No data was read" in run("bounds", source, *FIND, "--dry-run").stdout
    told = json.loads(run("bounds", source, *FIND, "--dry-run", "--format", "json").stdout)
    assert (told["scale"], told["bins"]) == ("0.05", 26)
    assert not (tmp_path / "t.ledger").exists()


def test_what_is_refused(source):
    assert "Give a COLUMN, or --rows-per-person" in run("bounds", source, "--epsilon", "1", status=2).stderr
    assert "Give a COLUMN, or" in run("bounds", source, "x", *FIND, status=2).stderr
    assert "--share needs" in run("bounds", source, "x", "--epsilon", "1", "--share", "0.5", status=2).stderr
    assert "share" in run("bounds", source, *FIND, "--share", "7", status=2).stderr
    assert "--rows-per-person" in run("bounds", source, "x", "--epsilon", "1", status=2).stderr
    assert "--rows-per-person" in run("plan", source, "SELECT COUNT(*) FROM t", "--epsilon", "1", status=2).stderr


SELECT = "SELECT COUNT(*), AVG(x), COUNT(DISTINCT who) FROM t"


def test_plan_shows_what_each_k_costs(source, tmp_path):
    (tmp_path / "t.csv").unlink()
    text = run("plan", source, SELECT, "--epsilon", "1", "--rows-per-person", "1,2,10").stdout
    assert "No data was read" in text
    told = json.loads(
        run("plan", source, SELECT, "--epsilon", "1", "--rows-per-person", "1,2,10", "--format", "json").stdout
    )
    assert [plan["rows_per_person"] for plan in told["plans"]] == [1, 2, 10]
    count, mean, people = ([plan["columns"][i]["margin"] for plan in told["plans"]] for i in range(3))
    assert mean[1] == pytest.approx(2 * mean[0])
    assert mean[2] == pytest.approx(10 * mean[0])
    assert count[0] < count[1] < count[2]
    assert people[0] == people[1] == people[2]
    for plan in told["plans"]:
        assert f"± {int(plan['columns'][0]['margin'])} " in text
    opened = lw.Source.open(source)
    assert opened.plan(SELECT, epsilon=1, rows_per_person=2).to_dict()["columns"] == told["plans"][1]["columns"]
    needed = json.loads(
        run("plan", source, SELECT, "--error", "9", "--rows-per-person", "1,10", "--format", "json").stdout
    )
    assert float(needed["plans"][0]["epsilon"]) < float(needed["plans"][1]["epsilon"])


def test_plans_with_a_k_that_is_none_or_useless_are_refused(source, tmp_path):
    ask = ["plan", source, "SELECT COUNT(*) FROM t", "--epsilon", "1"]
    for bad in ("0", "x", "1,,2", "1.5", "10000000", ""):
        assert "rows_per_person is a whole number" in run(*ask, "--rows-per-person", bad, status=2).stderr
    assert "shows no SQL" in run(*ask, "--rows-per-person", "1", "--sql", status=2).stderr
    (tmp_path / "t.toml").write_text('table = "t.csv"\n')
    assert "every row is one person" in run(*ask, "--rows-per-person", "1", status=2).stderr
