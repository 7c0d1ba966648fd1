"""The commands about what is not public: discover, bounds, and how explain and ledger show them."""

import json
import tomllib

import pytest

import lapwing as lw

from .test_main import run

TOML = """
name = "visits"
table = "visits.csv"
person = "patient"
rows_per_person = 2
epsilon = 10
delta = 1e-6

[columns.cost]
type = "number"

[columns.diagnosis]
type = "text"
"""
ROWS = "patient,diagnosis,cost\n" + "".join(
    f"p{i},{'flu' if i % 3 else 'asthma'},{i % 900}\n" for i in range(2000)
) + "q,CANARY,31337000\n"  # fmt: skip


@pytest.fixture
def visits(tmp_path):
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "visits.toml").write_text(TOML)
    return str(tmp_path / "visits.toml")


KEYS = ["--epsilon", "1", "--delta", "1e-8"]


def test_discover_prints_keys_and_the_lines_to_paste(visits):
    text = run("discover", visits, "diagnosis", *KEYS, "--other", "rest").stdout
    assert "Charged ε = 1, δ = 0.00000001 as entry 2." in text
    assert '[columns.diagnosis]\nkeys = ["asthma", "flu"]\nother = "rest"\n' in text
    assert "CANARY" not in text
    pasted = tomllib.loads(text[text.index("[columns.") :])
    assert pasted == {"columns": {"diagnosis": {"keys": ["asthma", "flu"], "other": "rest"}}}
    told = json.loads(run("discover", visits, "diagnosis", *KEYS, "--format", "json").stdout)
    assert (told["repeated"], told["delta"], [row["diagnosis"] for row in told["rows"]]) == (
        True,
        "0.00000001",
        ["asthma", "flu"],
    )
    assert told["toml"].startswith("[columns.diagnosis]")
    done = run("discover", visits, "diagnosis", *KEYS, "--format", "csv", "--confidence", "0.99")
    assert done.stdout.splitlines()[0] == "diagnosis,count,count_low,count_high"
    assert "at no charge" in done.stderr
    wide = int(done.stdout.splitlines()[1].split(",")[3])
    assert wide > told["rows"][0]["count"]["high"]


def test_discover_with_a_condition_and_few_keys(visits):
    text = run("discover", visits, "diagnosis", *KEYS, "--where", "cost < 500", "--keys-per-person", "1").stdout
    assert "at most 1 key" in text
    empty = run("discover", visits, "diagnosis", *KEYS, "--where", "cost < 0").stdout
    assert "No key reached the threshold" in empty
    assert "[columns" not in empty
    told = json.loads(run("discover", visits, "diagnosis", *KEYS, "--where", "cost < 0", "--format", "json").stdout)
    assert (told["rows"], told["toml"]) == ([], None)


def test_a_dry_run_reads_and_spends_nothing(visits, tmp_path):
    (tmp_path / "visits.csv").unlink()
    threshold = lw.DiscreteLaplace(2).threshold("1e-8", 2)
    assert f"at least {threshold};" in run("discover", visits, "diagnosis", *KEYS, "--dry-run").stdout
    told = json.loads(run("discover", visits, "diagnosis", *KEYS, "--dry-run", "--format", "json").stdout)
    assert (told["threshold"], told["scale"], told["sensitivity"]) == (threshold, "2", 2)
    assert told["surely"] == threshold + lw.DiscreteLaplace(2).quantile("0.95")
    assert "more than 32 rows is found" in run("bounds", visits, "cost", "--epsilon", "1", "--dry-run").stdout
    assert json.loads(run("bounds", visits, "cost", "--epsilon", "1", "--dry-run", "--format", "json").stdout) == {
        "source": "visits", "column": "cost", "epsilon": "1", "seen": 32,
    }  # fmt: skip
    assert not (tmp_path / "visits.ledger").exists()


@pytest.mark.usefixtures("frozen_noise")
def test_bounds_prints_bounds_and_the_lines_to_paste(visits):
    text = run("bounds", visits, "cost", "--epsilon", "1").stdout
    assert "low = 0, high = 1000" in text
    assert "Charged ε = 1 as entry 2." in text
    assert tomllib.loads(text[text.index("[columns.") :]) == {"columns": {"cost": {"low": 0, "high": 1000}}}
    told = json.loads(run("bounds", visits, "cost", "--epsilon", "1", "--format", "json").stdout)
    assert (told["low"], told["high"], told["repeated"]) == ("0", "1000", True)
    lines = run("bounds", visits, "cost", "--epsilon", "1", "--format", "csv").stdout.splitlines()
    assert lines[0] == "low,high,count,count_low,count_high"
    assert lines[-1].startswith("500,1000,")
    assert "No bin is above" in run("bounds", visits, "cost", "--epsilon", "1", "--where", "cost < 0").stdout


@pytest.mark.usefixtures("frozen_noise")
def test_explain_and_the_ledger_show_both(visits):
    run("discover", visits, "diagnosis", *KEYS, "--where", "NOT (cost > 5 AND cost < 9)")
    run("bounds", visits, "cost", "--epsilon", "1", "--where", "diagnosis = 'flu'")
    text = run("explain", visits, "2").stdout
    for part in (
        "SELECT DISTINCT",
        "δ = 0.00000001, entry 2",
        "ROW_NUMBER()",
        "scale 2,",
        "claims K1 and K2",
        "asthma",
    ):
        assert part in text
    assert json.loads(run("explain", visits, "2", "--format", "json").stdout)["release"]["rows"][0]["diagnosis"]
    text = run("explain", visits, "4").stdout
    assert "low = 0, high = 1000" in text
    assert "each weighs at most 2 (claim E2)" in text
    assert json.loads(run("explain", visits, "4", "--format", "json").stdout)["release"]["high"] == "1000"
    shown = run("ledger", visits).stdout
    assert "δ: 0.00000099 left of 0.000001" in shown
    assert "0.00000001" in shown
    run("explain", visits, "3", status=2)


def test_explain_refuses_when_the_source_has_changed(visits, tmp_path):
    run("discover", visits, "diagnosis", *KEYS)
    (tmp_path / "visits.toml").write_text(TOML + '\n[columns.extra]\ntype = "text"\n')
    assert "asthma" in run("explain", visits, "2").stdout
    (tmp_path / "visits.toml").write_text(TOML.replace('person = "patient"', 'person = "diagnosis"'))
    assert "has changed since" in run("explain", visits, "2", status=2).stderr


def test_a_refusal_has_status_2_and_costs_nothing(visits):
    for words in (
        ["discover", visits, "diagnosis", "--epsilon", "1"],
        ["discover", visits, "diagnosis", "--epsilon", "1", "--delta", "0"],
        ["discover", visits, "diagnosis", "--epsilon", "1", "--delta", "0.1"],
        ["discover", visits, "diagnosis", "--epsilon", "1", "--delta", "1e-5"],
        ["discover", visits, "diagnosis", "--epsilon", "11", "--delta", "1e-8"],
        ["discover", visits, "cost", *KEYS],
        ["discover", visits, "diagnosiss", *KEYS],
        ["discover", visits, "diagnosis", *KEYS, "--where", "x"],
        ["discover", visits, "diagnosis", *KEYS, "--keys-per-person", "0"],
        ["bounds", visits, "diagnosis", "--epsilon", "1"],
        ["bounds", visits, "cost", "--epsilon", "0"],
        ["bounds", visits, "cost"],
    ):
        run(*words, status=2)
    told = json.loads(run("ledger", visits, "--format", "json").stdout)
    assert (told["epsilon"]["spent"], told["delta"]["spent"]) == ("0", "0")


def test_a_name_for_others_that_was_found_is_not_taken_and_the_answer_is_shown(visits):
    assert "Give --other a name" in run("discover", visits, "diagnosis", *KEYS, "--other", "", status=2).stderr
    shown = run("discover", visits, "diagnosis", *KEYS, "--other", "flu")
    assert '"flu" is one of the keys found: give --other another name' in shown.stderr
    assert 'keys = ["asthma", "flu"]\n' in shown.stdout
    assert "other =" not in shown.stdout
    assert "at no charge" in run("discover", visits, "diagnosis", *KEYS, "--other", "rest").stdout


def test_the_total_delta_can_be_set_for_a_ledger_that_exists(visits, tmp_path):
    (tmp_path / "visits.toml").write_text(TOML.replace("delta = 1e-6\n", ""))
    refused = run("discover", visits, "diagnosis", *KEYS, status=2).stderr
    assert "total 10 --delta 0.00000001" in refused
    assert "δ = 0.000001" in run("ledger", visits, "total", "10", "--delta", "1e-6").stdout
    run("discover", visits, "diagnosis", *KEYS)
    (tmp_path / "visits.toml").write_text(TOML)
    assert "at no charge" in run("discover", visits, "diagnosis", *KEYS).stdout
    (tmp_path / "visits.toml").write_text(TOML.replace("1e-6", "1e-5"))
    assert "says delta = 0.00001" in run("discover", visits, "diagnosis", *KEYS, status=2).stderr
