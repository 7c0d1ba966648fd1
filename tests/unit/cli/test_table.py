"""The commands about a table: init, plan, release, explain."""

import json
from pathlib import Path

import pandas as pd
import pytest

import lapwing as lw

from ...tables import decided
from ..test_source import ROWS, TOML
from .test_main import run

ASKED = "SELECT ward, COUNT(*) AS n, AVG(cost) FROM visits GROUP BY ward"


@pytest.fixture
def visits(tmp_path):
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "visits.toml").write_text(TOML)
    return str(tmp_path / "visits.toml")


def test_plan_shows_the_error_and_reads_nothing(visits, tmp_path):
    (tmp_path / "visits.csv").unlink()
    text = run("plan", visits, ASKED, "--epsilon", "1", "--sql").stdout
    assert "No data was read" in text
    assert "WITH typed AS" in text
    told = json.loads(run("plan", visits, ASKED, "--epsilon", "1", "--format", "json").stdout)
    assert [column["name"] for column in told["columns"]] == ["n", "mean_cost"]
    assert told["columns"][0]["scale"] == "3"
    assert not (tmp_path / "visits.ledger").exists()


def test_plan_shows_the_sql_of_another_engine(visits):
    asked = ["plan", visits, ASKED, "--epsilon", "1", "--engine"]
    assert "-- not run here: written for bigquery" in run(*asked, "bigquery").stdout
    assert "OVER (PARTITION BY person)" in run(*asked, "spark").stdout
    assert "OVER" in json.loads(run(*asked, "postgres", "--format", "json").stdout)["sql"]
    wrong = run(*asked, "oracle", status=2)
    assert "duckdb, postgres, spark, bigquery, snowflake, trino, clickhouse" in wrong.stderr


def test_plan_finds_the_epsilon_for_an_error(visits):
    text = run("plan", visits, "SELECT COUNT(*) FROM visits", "--error", "9").stdout
    assert "need ε = 1.05" in text
    assert "There is no ledger yet: the first release makes one with ε = 2." in text


def test_release_in_every_format(visits, tmp_path):
    text = run("release", visits, ASKED, "--epsilon", "1").stdout
    assert "Charged ε = 1 as entry 2.  ε left: 1" in text
    told = json.loads(run("release", visits, ASKED, "--epsilon", "1", "--format", "json").stdout)
    assert told["repeated"] is True
    lines = run("release", visits, ASKED, "--epsilon", "1", "--format", "csv").stdout.splitlines()
    assert lines[0] == "ward,n,n_low,n_high,mean_cost,mean_cost_low,mean_cost_high,n_noise,mean_cost_noise"
    assert lines[1].split(",")[1] == str(told["rows"][0]["n"]["value"])
    out = tmp_path / "out.parquet"
    assert (
        f"Wrote {out}."
        in run("release", visits, ASKED, "--epsilon", "1", "--format", "parquet", "--output", str(out)).stderr
    )
    assert pd.read_parquet(out).n.tolist() == [row["n"]["value"] for row in told["rows"]]
    assert run("release", visits, ASKED, "--epsilon", "1", "--format", "html").stdout.startswith("<!DOCTYPE html>")
    wide = json.loads(run("release", visits, ASKED, "--epsilon", "1", "--format", "json", "--simultaneous").stdout)
    assert wide["simultaneous"] is True
    assert wide["rows"][0]["n"]["high"] > told["rows"][0]["n"]["high"]
    view = json.loads(run("release", visits, ASKED, "--epsilon", "1", "--format", "json", "--nonnegative").stdout)
    assert view["view"] == "nonnegative"


def test_plan_finds_the_epsilon_for_errors_of_single_statistics(visits):
    asked = ["plan", visits, "SELECT AVG(cost), AVG(age) AS years FROM visits", "--rows", "2000"]
    told = json.loads(run(*asked, "--error", "mean_cost=20", "--error", "years=1", "--format", "json").stdout)
    assert [column["margin"] for column in told["columns"]] == pytest.approx([20, 1], rel=0.01)
    for bad in ("nothing=1", "years=0", "=3", "x"):
        run(*asked, "--error", bad, status=2)
    run(*asked, "--error", "1", "--error", "2", status=2)


def test_plan_tells_what_is_left(visits):
    run("release", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "0.5")
    assert "ε left: 1.5" in run("plan", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "1").stdout


def test_weights_split_epsilon(visits):
    asked = ["plan", visits, "SELECT AVG(cost), AVG(age) FROM visits", "--epsilon", "1"]
    told = json.loads(run(*asked, "--weight", "cost=3", "--weight", "age=1", "--format", "json").stdout)
    assert {each["of"]: each["epsilon"] for each in told["measurements"]} == {"age": "0.25", "cost": "0.75"}
    for bad in ("cost", "cost=x", "=3", "ward=3", "nothing=1", "cost=0"):
        run(*asked, "--weight", bad, status=2)
    run("release", *asked[1:], "--weight", "cost=3")
    told = json.loads(run("explain", visits, "2", "--format", "json").stdout)
    assert [each["epsilon"] for each in told["plan"]["measurements"]] == ["0.25", "0.75"]


def test_a_refusal_has_status_2_and_costs_nothing(visits, tmp_path):
    for words in (
        ["release", visits, "SELECT * FROM visits", "--epsilon", "1"],
        ["release", visits, "SELECT COUNT(*) FROM read_csv('x')", "--epsilon", "1"],
        ["release", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "0"],
        ["release", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "9"],
        ["release", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "1", "--confidence", "7"],
        ["release", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "1", "--format", "parquet"],
        ["release", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "1", "--analyst", "nobody"],
        ["release", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "1", "--output", str(tmp_path / "no/where")],
        ["release", "none.toml", "SELECT COUNT(*) FROM visits", "--epsilon", "1"],
        ["plan", visits, "SELECT COUNT(*) FROM visits"],
        ["plan", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "1", "--error", "1"],
        ["explain", visits, "7"],
    ):
        run(*words, status=2)
    told = json.loads(run("ledger", visits, "--format", "json").stdout)
    assert told["epsilon"]["spent"] == "0"
    error = json.loads(run("release", visits, "SELECT 1", "--epsilon", "1", "--format", "json", status=2).stderr)
    assert error["error"] == "UnsupportedQuery"


def test_output_never_replaces_what_is_precious(visits, tmp_path):
    asked = ["release", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "1", "--output"]
    for name in ("visits.csv", "visits.toml", "visits.ledger"):
        assert "is or would become the source" in run(*asked, str(tmp_path / name), "--force", status=2).stderr
    out = tmp_path / "out.csv"
    assert "Charged ε = 1 as entry 2" in run(*asked, str(out)).stderr
    assert out.read_text().startswith("count,count_low,count_high,count_noise\n")
    assert "--force" in run(*asked, str(out), status=2).stderr
    assert "at no charge" in run(*asked, str(out), "--force").stderr
    assert (tmp_path / "visits.csv").read_text() == ROWS
    fresh = tmp_path / "fresh.csv"
    run("release", visits, "SELECT MODE(cost) FROM visits", "--epsilon", "1", "--output", str(fresh), status=2)
    assert not fresh.exists()
    (tmp_path / "glob.toml").write_text(TOML.replace("visits.csv", "*.csv").replace('"visits"', '"glob"'))
    asked = ["release", str(tmp_path / "glob.toml"), "SELECT COUNT(*) FROM glob", "--epsilon", "1", "--output"]
    assert "would become" in run(*asked, str(fresh), status=2).stderr
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "glob.toml").write_text(TOML.replace("visits.csv", "link/*.csv").replace('"visits"', '"glob"'))
    assert "would become" in run(*asked, str(fresh), status=2).stderr


def test_a_failure_has_status_1(visits, tmp_path):
    (tmp_path / "visits.csv").unlink()
    refused = run("release", visits, ASKED, "--epsilon", "1", status=1).stderr
    assert "there is no file" in refused
    assert "Nothing was charged" in refused


def test_a_full_disk_is_told_and_not_traced(visits):
    import subprocess
    import sys

    asked = [sys.executable, "-m", "lapwing", "plan", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "1"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(asked, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "could not be written" in done.stderr


@pytest.mark.usefixtures("frozen_noise")
def test_a_wrong_number_of_an_entry_lists_the_releases(visits, tmp_path):
    source = lw.Source.open(visits)
    lines = [("explain", visits, "99"), ("plot", visits, "99", "--output", str(tmp_path / "x.svg"))]
    lines.append(("package", visits, "1", "--to", str(tmp_path / "x")))
    source.release(lw.mean("cost"), by="ward", epsilon="0.1")
    for line in lines:
        listed = 'which has 2 (SELECT AVG("cost") FROM "visits" GROUP BY "ward").'
        assert listed in run(*line, status=2).stderr
    source.ledger.charge({"query": "ours", "odd": 1}, "0.1")
    for i in range(11):
        source.ledger.charge({"query": f"{i}\x1b" + "x" * 100, "split": {}}, "0.01")
    told = run("explain", visits, "99", status=2).stderr
    assert "which has 12, the last of them 6 (1�x" in told
    assert "ours" not in told
    assert "\x1b" not in told
    assert told.count("…)") == 10


def test_a_folder_that_does_not_exist_is_named(visits, tmp_path):
    asked = ["release", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "1", "--output"]
    for name in ("no/x.csv", "no/y/"):
        told = run(*asked, str(tmp_path / name), status=2).stderr
        assert "does not exist: make this folder, or give another one" in " ".join(told.split())
    (tmp_path / "file").write_text("")
    assert "is no folder" in " ".join(run(*asked, str(tmp_path / "file/x.csv"), status=2).stderr.split())
    assert not (tmp_path / "visits.ledger").exists()


def test_explain_tells_the_whole_way(visits, tmp_path):
    run("release", visits, ASKED, "--epsilon", "1")
    text = run("explain", visits, "2").stdout
    assert "sensitivity of 2500, however many rows there are: claim S4" in text
    for part in ("1. Source", "GROUP BY", "ε = 1, entry 2", "WITH typed AS", "noise scale 15000", "harbour"):
        assert part in text
    told = json.loads(run("explain", visits, "2", "--format", "json").stdout)
    assert told["plan"]["measurements"][0]["form"] == "mean"
    assert told["release"]["entry"] == 2
    (tmp_path / "visits.toml").write_text(TOML.replace("high = 5000", "high = 6000"))
    assert "has changed since" in run("explain", visits, "2", status=2).stderr


def test_explain_remembers_how_epsilon_was_split(visits):
    import lapwing as lw
    from lapwing.source import Source

    made = Source.open(visits).release(lw.mean("cost", share=3), lw.mean("age"), epsilon=1)
    told = json.loads(run("explain", visits, str(made.entry), "--format", "json").stdout)
    assert [each["epsilon"] for each in told["plan"]["measurements"]] == ["0.25", "0.75"]
    assert told["release"]["rows"][0]["mean_cost"] == made.rows[0]["mean_cost"]


def test_an_analyst_has_a_cap(visits):
    run("ledger", visits, "analysts", "add", "ana", "--cap", "0.5")
    run("release", visits, ASKED, "--epsilon", "0.4", "--analyst", "ana")
    assert (
        "ana"
        in run(
            "release", visits, "SELECT COUNT(*) FROM visits", "--epsilon", "0.4", "--analyst", "ana", status=2
        ).stderr
    )


def test_init_then_plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my visits.csv").write_text(ROWS)
    assert "lapwing plan" in run("init", "my visits.csv").stdout
    assert "patient" in (tmp_path / "my_visits.toml").read_text()
    assert "has all of these columns: nothing was added" in run("init", "my visits.csv").stdout
    assert "--force" in run("init", "my visits.csv", "--decimal", ",", status=2).stderr
    (tmp_path / "other.csv").write_text(ROWS)
    assert "--force" in run("init", "other.csv", "--output", "my_visits.toml", status=2).stderr
    run("init", "my visits.csv", "--force")
    refused = run("plan", "my_visits.toml", "SELECT COUNT(*) FROM my_visits", "--epsilon", "0.1", status=2).stderr
    assert "line 11 (person), line 16 (epsilon)" in refused
    (tmp_path / "my_visits.toml").write_text(decided((tmp_path / "my_visits.toml").read_text()))
    assert "± 30" in run("plan", "my_visits.toml", "SELECT COUNT(*) FROM my_visits", "--epsilon", "0.1").stdout
    assert "± 30" in run("release", "my_visits.toml", "SELECT COUNT(*) FROM my_visits", "--epsilon", "0.1").stdout
    run("init", "none.csv", status=1)
    run("init", "table.docx", status=2)


def test_an_output_of_an_unknown_kind_is_refused_before_anything_is_charged(visits, tmp_path):
    asked = ("release", visits, "SELECT MEDIAN(cost) FROM visits", "--epsilon", "0.1", "--output")
    assert "ends in none of .vl.json, .csv" in run(*asked, str(tmp_path / "out.ods"), status=2).stderr
    run(*asked, str(tmp_path / "out.txt"))
    assert "median_cost" in (tmp_path / "out.txt").read_text()


def test_a_table_in_place_of_a_source_is_told_what_is_missing(visits, tmp_path):
    (tmp_path / "bare.csv").write_text("a,b\n1,2\n")
    refused = run("release", str(tmp_path / "bare.csv"), "SELECT COUNT(*) FROM t", "--epsilon", "1", status=2)
    assert "lapwing init TABLE" in refused.stderr


@pytest.mark.usefixtures("frozen_noise")
def test_a_table_is_cut_on_a_terminal_alone(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("k\n" + "".join(f"{i}\n" for i in range(70)))
    (tmp_path / "t.toml").write_text(f'table = "t.csv"\nepsilon = 9\n[columns.k]\nkeys = {list(map(str, range(70)))}\n')
    asked = ["release", str(tmp_path / "t.toml"), "SELECT k, COUNT(*) FROM t GROUP BY k", "--epsilon", "1"]
    whole = run(*asked).stdout
    run(*asked, "--output", str(tmp_path / "t.txt"))
    for text in (whole, (tmp_path / "t.txt").read_text(), run("explain", asked[1], "2").stdout):
        assert "more groups" not in text
        assert text.count("±") == 70
    monkeypatch.setattr("lapwing.cli.table.rows_on_terminal", lambda: 40)
    cut = run(*asked).stdout
    assert "… 30 more groups: see .to_text(), .to_pandas() or --format csv" in cut
    assert cut.count("±") == 40


@pytest.mark.usefixtures("frozen_noise")
def test_explain_has_the_names_of_the_question(visits):
    run(
        "release",
        visits,
        'SELECT ward AS place, COUNT(*) AS "visits", AVG(cost) FROM visits GROUP BY place',
        "--epsilon",
        "1",
    )
    text = run("explain", visits, "2").stdout
    assert "COUNT(*) is shown as visits" in text
    assert "AVG" in text
    assert "is shown as mean_cost" not in text
    shown = json.loads(run("explain", visits, "2", "--format", "json").stdout)["release"]["rows"][0]
    assert list(shown) == ["place", "visits", "mean_cost"]


@pytest.mark.usefixtures("frozen_noise")
def test_a_release_is_written_as_a_workbook_with_the_numbers_that_are_shown(visits, tmp_path):
    told = json.loads(run("release", visits, ASKED, "--epsilon", "1", "--format", "json").stdout)
    out = tmp_path / "out.xlsx"
    assert "Wrote" in run("release", visits, ASKED, "--epsilon", "1", "--output", str(out)).stderr
    sheet = pd.read_excel(out, sheet_name="data", engine="openpyxl")
    assert sheet["n"].tolist() == [row["n"]["value"] for row in told["rows"]]
    assert sheet["ward"].tolist() == [row["ward"] for row in told["rows"]]
    run("release", visits, ASKED, "--epsilon", "1", "--output", str(out), status=2)
    run("release", visits, ASKED, "--epsilon", "1", "--output", str(out), "--share", "--force")
    assert pd.read_excel(out, sheet_name="data", engine="openpyxl")["n"].between(0, 1).all()


def test_rounded_says_that_it_needs_nonnegative_before_anything_is_charged(visits, tmp_path):
    assert (
        "--rounded needs --nonnegative" in run("release", visits, ASKED, "--epsilon", "1", "--rounded", status=2).stderr
    )
    assert not (tmp_path / "visits.ledger").exists()
