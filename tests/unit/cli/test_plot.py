"""The command plot, and charts that plan and release write."""

import json
import sys

import pytest

import lapwing as lw

from ..charts.drawing import texts
from ..test_source import ROWS, TOML
from .test_main import run

pytestmark = pytest.mark.usefixtures("frozen_noise")

ASKED = "SELECT ward, COUNT(*) AS n, AVG(cost) FROM visits GROUP BY ward"


@pytest.fixture
def visits(tmp_path):
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "visits.toml").write_text(TOML)
    return str(tmp_path / "visits.toml")


def ledger(visits):
    return lw.Source.open(visits).ledger


def test_release_writes_a_chart(visits, tmp_path):
    out = tmp_path / "a.svg"
    done = run("release", visits, ASKED, "--epsilon", "1", "--output", str(out))
    assert "Wrote" in done.stderr
    assert {"north", "south", "n", "mean_cost"} <= set(texts(out.read_text()))
    spec = tmp_path / "a.vl.json"
    run("release", visits, ASKED, "--epsilon", "1", "--output", str(spec))
    made = lw.Source.open(visits).sql(ASKED, epsilon=1)
    assert json.loads(spec.read_text()) == json.loads(json.dumps(made.plot().to_dict()))
    picture = tmp_path / "a.png"
    run("release", visits, ASKED, "--epsilon", "1", "--difference", "ward=north,south", "--output", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert ledger(visits).spent == 1


def test_what_cannot_be_drawn_is_refused_before_anything_is_charged(visits, tmp_path, monkeypatch):
    cube = "SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)"
    done = run("release", visits, cube, "--epsilon", "1", "--output", str(tmp_path / "a.svg"), status=2)
    assert 'lapwing plot SOURCE ENTRY --table "' in done.stderr
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    done = run("release", visits, ASKED, "--epsilon", "1", "--output", str(tmp_path / "a.svg"), status=2)
    assert "pip install '.[plot]'" in done.stderr
    assert not (tmp_path / "visits.ledger").exists()
    assert not (tmp_path / "a.svg").exists()


def test_plot_draws_what_is_recorded_and_charges_nothing(visits, tmp_path):
    run("release", visits, ASKED, "--epsilon", "1")
    (tmp_path / "visits.csv").unlink()
    out = tmp_path / "b.svg"
    line = ["plot", visits, "2", "--statistic", "n", "--kind", "bars", "--theme", "dark", "--width", "300"]
    done = run(*line, "--confidence", "0.8", "--simultaneous", "--output", str(out))
    assert "Nothing was charged" in done.stderr
    told = texts(out.read_text())
    assert "visits, entry 2: 80 % error bars for all cells at once, ε = 1" in told
    assert "mean_cost" not in told
    assert ledger(visits).spent == 1
    again = run(*line, "--output", str(out), status=2)
    assert "exists" in again.stderr
    run(*line, "--output", str(out), "--force")


def test_plot_draws_one_of_several_tables(visits, tmp_path):
    run("release", visits, "SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)", "--epsilon", "1")
    out = str(tmp_path / "b.svg")
    assert '--table "' in run("plot", visits, "2", "--output", out, status=2).stderr
    run("plot", visits, "2", "--table", "ward", "--output", out)
    assert "north" in texts((tmp_path / "b.svg").read_text())
    run("plot", visits, "2", "--table", "", "--output", out, "--force")
    assert "Total" in texts((tmp_path / "b.svg").read_text())


COMPARISONS = {
    "--difference ward=north,south": lambda made: made.difference(by="ward", of="north", to="south"),
    "--ratio ward=north,south": lambda made: made.ratio(by="ward", of="north", to="south"),
    "--share": lambda made: made.share(),
    "--total ward": lambda made: made.total(over="ward"),
}


@pytest.mark.parametrize("options", COMPARISONS)
def test_plot_draws_comparisons_as_python_does(visits, tmp_path, options):
    made = lw.Source.open(visits).sql(ASKED, epsilon=1).at("0.9")
    out = tmp_path / "c.vl.json"
    run("plot", visits, "2", *options.split(), "--confidence", "0.9", "--output", str(out))
    chart = COMPARISONS[options](made).plot()
    assert json.loads(out.read_text()) == json.loads(json.dumps(chart.to_dict()))
    assert ledger(visits).spent == 1


def test_plot_draws_the_ledger_and_plan_draws_the_error(visits, tmp_path):
    run("release", visits, ASKED, "--epsilon", "1")
    run("plot", visits, "--ledger", "--output", str(tmp_path / "l.svg"))
    assert "Of ε = 2, 1 is spent in 1 charge, and 1 is left." in texts((tmp_path / "l.svg").read_text())
    run("plot", visits, "--ledger", "--output", str(tmp_path / "l.html"))
    assert "default-src" in (tmp_path / "l.html").read_text()
    done = run("plan", visits, ASKED, "--epsilon", "1", "--output", str(tmp_path / "p.svg"))
    assert "No data was read" in done.stdout
    assert "n: error against ε" in texts((tmp_path / "p.svg").read_text())
    done = run("plan", visits, ASKED, "--epsilon", "1", "--output", str(tmp_path / "p.svg"), status=2)
    assert "exists" in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "Give the number of an ENTRY, or --ledger"),
        (["2", "--ledger"], "Give the number of an ENTRY, or --ledger"),
        (["--ledger", "--kind", "bars"], "are for an ENTRY"),
        (["--ledger", "--share"], "are for an ENTRY"),
        (["2", "--difference", "ward=north"], "Write --difference KEY=OF,TO"),
        (["2", "--difference", "ward=north,x"], "one of north, south, harbour"),
        (["2", "--share", "--total", "ward"], "Give one of --share and --total"),
        (["2", "--output", "x.pdf"], "ends in none of .svg, .png, .vl.json, .html"),
        (["2", "--output", "visits.toml"], "ends in none of"),
        (["9", "--output", "x.svg"], "entry is the number of a release"),
        (["2", "--output", "x.svg", "--statistic", "z"], "one of"),
        (["2", "--output", "x.svg", "--width", "7"], "from 120 to 4000"),
        (["2", "--output", "x.svg", "--kind", "heatmap"], "two keys"),
        (["2", "--output", "x.svg", "--table", "zone"], "one of those that were released"),
        (["4", "--output", "x.svg"], "found keys or bounds"),
    ],
)
def test_refusals_of_plot(visits, tmp_path, monkeypatch, options, says):
    monkeypatch.chdir(tmp_path)
    run("release", visits, ASKED, "--epsilon", "1")
    run("bounds", visits, "cost", "--epsilon", "1")
    line = options if "--output" in options else [*options, "--output", "x.svg"]
    assert says in run("plot", visits, *line, status=2).stderr
    assert not (tmp_path / "x.svg").exists()
