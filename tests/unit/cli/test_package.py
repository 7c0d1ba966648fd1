"""`lapwing package`: the recorded answer as a folder, with the options of a release, at no charge."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing.cli.main import main
from lapwing.cli.package import FORMATS
from lapwing.exports import package as packaging

pytestmark = pytest.mark.usefixtures("frozen_noise")

SQL = "SELECT k, COUNT(*) AS n, SUM(x) FROM t GROUP BY k"
SOURCE = """
name = "t"
table = "t.csv"
epsilon = 10
delta = 0.01
columns.k = { keys = ["a", "b", "c"] }
columns.x = { low = 0, high = 9 }
columns.u = { type = "text" }
"""


def run(*line):
    return CliRunner().invoke(main, [str(each) for each in line])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("k,x,u\n" + "".join(f"{'ab'[i % 2]},{i % 9},v\n" for i in range(600)))
    (tmp_path / "t.toml").write_text(SOURCE)
    assert run("release", "t.toml", SQL, "--epsilon", "1").exit_code == 0
    return tmp_path


def test_the_formats_are_those_that_can_be_written():
    assert tuple(packaging.FORMATS) == FORMATS


def test_an_entry_is_written_at_no_charge(folder):
    done = run("package", "t.toml", 2, "--to", "out")
    assert done.exit_code == 0, done.output
    assert "Wrote 10 files to out: README.txt, data.csv" in done.output
    assert "Complete registry.yaml" in done.output
    opened = lw.Source.open("t.toml")
    assert opened.left() == 9
    assert (folder / "out" / "data.csv").read_text() == opened.release(SQL, epsilon=1).to_csv()
    refused = run("package", "t.toml", 2, "--to", "out")
    assert (refused.exit_code, "out is not empty" in refused.output) == (2, True)
    done = run("package", "t.toml", 2, "--to", "out", "--force", "--only", "csv", "--format", "json")
    assert json.loads(done.output) == {"folder": "out", "entry": 2, "files": ["README.txt", "data.csv"]}


@pytest.mark.parametrize(
    ("options", "view"),
    [
        (["--confidence", "0.8", "--simultaneous"], lambda made: made.at("0.8", simultaneous=True)),
        (["--nonnegative"], lambda made: made.nonnegative()),
        (["--suppress"], lambda made: made.suppressed()),
        (["--difference", "k=a,b"], lambda made: made.difference(by="k", of="a", to="b")),
        (["--share"], lambda made: made.share()),
        (["--total", "k"], lambda made: made.total(over="k")),
    ],
)
def test_options_show_the_answer_as_those_of_a_release_do(folder, options, view):
    done = run("package", "t.toml", 2, "--to", "out", "--only", "csv", *options)
    assert done.exit_code == 0, done.output
    assert (folder / "out" / "data.csv").read_text() == view(lw.Source.open("t.toml").release(SQL, epsilon=1)).to_csv()


def test_a_safe_csv_is_asked_for(folder):
    text = SOURCE.replace('["a", "b", "c"]', '["a", "b", "=c"]').replace('"t"', '"u"')
    (folder / "u.toml").write_text(text)
    assert run("release", "u.toml", SQL.replace("FROM t", "FROM u"), "--epsilon", "1").exit_code == 0
    assert run("package", "u.toml", 2, "--to", "safe", "--safe-csv", "--only", "csv").exit_code == 0
    with (folder / "safe" / "data.csv").open() as file:
        assert [row["k"] for row in csv.DictReader(file)] == ["a", "b", "'=c"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["9", "--to", "out"], "the number of a release"),
        (["2", "--to", "out", "--only", "ods"], "is not one of"),
        (["2", "--to", "out", "--rounded"], "--rounded needs --nonnegative"),
        (["2", "--to", "out", "--nonnegative", "--share"], "biased"),
        (["2", "--to", "t.csv"], "not a folder"),
        (["2", "--to", "no/such"], "There is no folder"),
        (["2"], "--to"),
    ],
)
def test_what_cannot_be_written_is_refused(folder, line, said):
    done = run("package", "t.toml", *line)
    assert (done.exit_code, said in done.output) == (2, True), done.output
    assert not (folder / "out").exists()


def test_what_was_found_is_no_release(folder):
    assert run("discover", "t.toml", "u", "--epsilon", "1", "--delta", "0.001").exit_code == 0
    done = run("package", "t.toml", 4, "--to", "out")
    assert (done.exit_code, "is not a release" in done.output) == (2, True), done.output


def test_the_folder_of_the_table_is_refused(folder):
    (folder / "private").mkdir()
    (folder / "t.csv").rename(folder / "private" / "data.csv")
    (folder / "t.toml").write_text(SOURCE.replace("t.csv", "private/data.csv"))
    before = (folder / "private" / "data.csv").read_bytes()
    done = run("package", "t.toml", 2, "--to", "private", "--force")
    assert (done.exit_code, "has the source, its table" in done.output) == (2, True), done.output
    assert (folder / "private" / "data.csv").read_bytes() == before
