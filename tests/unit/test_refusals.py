"""Refusals are made when something is refused, and never in advance."""

import json

import pytest
from click.testing import CliRunner

from lapwing import errors
from lapwing.cli.main import main


@pytest.fixture
def made(monkeypatch):
    """The names of the errors of Lapwing that are made while the test runs."""
    names = []

    def note(error, *details):
        names.append(type(error).__name__)

    monkeypatch.setattr(errors.LapwingError, "__init__", note)
    return names


@pytest.fixture
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("person,ward,cost,age\n1,A,10.5,30\n2,B,20,70\n3,A,5,45\n")
    (tmp_path / "visits.toml").write_text(
        'table = "visits.csv"\nperson = "person"\nrows_per_person = 1\nepsilon = "10"\n'
        '[columns.ward]\nkeys = ["A", "B"]\n[columns.cost]\nlow = 0\nhigh = 100\n'
        '[columns.age]\ntype = "integer"\nlow = 0\nhigh = 120\nedges = [0, 18, 65, 120]\n'
    )


def test_a_release_that_is_granted_makes_no_error(visits, made):
    sql = "SELECT ward, COUNT(*), AVG(cost) FROM visits WHERE age >= 18 GROUP BY ward"
    asked = CliRunner().invoke(main, ["release", "visits.toml", sql, "--epsilon", "1", "--format", "json"])
    assert asked.exit_code == 0, asked.output
    assert len(json.loads(asked.stdout)["rows"]) == 2
    assert made == []


def test_an_error_that_is_raised_is_seen(visits, made):
    assert (
        CliRunner().invoke(main, ["release", "visits.toml", "SELECT COUNT(*) FROM visits", "--epsilon", "0"]).exit_code
    )
    assert made
