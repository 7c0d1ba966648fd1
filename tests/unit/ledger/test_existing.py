"""A lost ledger: what only reads says that there is none, and makes none."""

import json
import subprocess
import sys

import pytest

import lapwing as lw
from lapwing import errors

from ..cli.test_main import run
from ..test_source import ROWS, TOML

ASKED = "SELECT COUNT(*) AS n FROM visits"
RESTORE = "restore a backup before anything is released: a new ledger would begin with the full budget"

READING = (
    ("ledger", "visits.toml"),
    ("ledger", "visits.toml", "show", "--format", "json"),
    ("ledger", "visits.toml", "verify"),
    ("ledger", "visits.toml", "head"),
    ("ledger", "visits.toml", "requests"),
    ("ledger", "visits.toml", "analysts"),
    ("ledger", "visits.toml", "backup", "copy"),
    ("ledger", "visits.toml", "total", "3"),
    ("ledger", "visits.toml", "analysts", "cap", "ana", "1"),
    ("ledger", "visits.ledger"),
    ("ledger", "visits.ledger", "verify"),
    ("explain", "visits.toml", "2"),
    ("plot", "visits.toml", "2", "--output", "two.html"),
    ("plot", "visits.toml", "--ledger", "--output", "budget.html"),
    ("package", "visits.toml", "2", "--to", "handed"),
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "visits.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_L1_a_command_that_reads_makes_no_ledger_in_place_of_a_lost_one(folder, words):
    run("release", "visits.toml", ASKED, "--epsilon", "1")
    (folder / "visits.ledger").rename(folder / "lost")
    before = sorted(folder.iterdir())
    told = run(*words, status=2)
    said = json.loads(told.stderr)["message"] if "json" in words else told.stderr
    assert 'There is no ledger at "visits.ledger"' in said
    assert RESTORE in said
    assert told.stdout == ""
    assert sorted(folder.iterdir()) == before


def test_L1_what_reads_in_python_makes_no_ledger(folder):
    source = lw.Source.open("visits.toml")
    for read in (lambda: source.ledger, source.open_ledger, lambda: lw.Ledger.open("visits.ledger")):
        with pytest.raises(errors.NoLedger, match=RESTORE):
            read()
    source.describe()
    source.example()
    assert source.left() is None
    assert source.plan(lw.count(), epsilon=1).lacking is None
    assert not (folder / "visits.ledger").exists()


def test_a_plan_claims_no_budget_that_it_does_not_know(folder):
    told = run("plan", "visits.toml", ASKED, "--epsilon", "1").stdout
    assert told.endswith("There is no ledger yet: the first release makes one with ε = 2.\n")
    assert "ε left" not in told
    assert not (folder / "visits.ledger").exists()


def test_the_backup_of_a_lost_ledger_is_put_back_after_a_command_that_reads(folder):
    run("release", "visits.toml", ASKED, "--epsilon", "1")
    head = json.loads(run("ledger", "visits.toml", "backup", "copy", "--format", "json").stdout)["head"]
    (folder / "visits.ledger").unlink()
    run("ledger", "visits.toml", "verify", status=2)
    run("ledger", "visits.toml", "restore", "copy", "--head", head)
    assert lw.Source.open("visits.toml").left() == 1


def test_owners_make_a_ledger_before_the_first_release(folder):
    source = lw.Source.open("visits.toml")
    source.make_ledger().add_analyst("ana", 1)
    assert source.make_ledger().total == source.ledger.total == 2
    (folder / "visits.ledger").unlink()
    run("ledger", "visits.toml", "analysts", "add", "bob", "--cap", "1")
    assert [each.analyst for each in lw.Source.open("visits.toml").ledger.analysts()] == ["bob"]


def test_a_postgresql_ledger_is_not_made_by_what_reads(folder, postgres):
    url = str(postgres)
    (folder / "visits.toml").write_text(f'ledger = "{url}"\n{TOML}')
    for words in (("ledger", "visits.toml", "verify"), ("ledger", url), ("explain", "visits.toml", "2")):
        assert RESTORE in run(*words, status=2).stderr
    assert "There is no ledger yet" in run("plan", "visits.toml", ASKED, "--epsilon", "1").stdout
    assert lw.Source.open("visits.toml").left() is None
    with pytest.raises(errors.NoLedger) as caught:
        lw.Ledger.open(url)
    assert "@" not in str(caught.value)
    run("release", "visits.toml", ASKED, "--epsilon", "1")
    assert lw.Source.open("visits.toml").left() == 1


def test_a_command_in_a_process_of_its_own_has_status_2(folder):
    done = subprocess.run([sys.executable, "-m", "lapwing", "ledger", "visits.toml", "verify"], check=False)
    assert done.returncode == 2
    assert not (folder / "visits.ledger").exists()
