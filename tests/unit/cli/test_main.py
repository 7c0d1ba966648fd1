import json
import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from lapwing.cli import main as cli
from lapwing.ledger.ledger import Ledger


def run(*words: str, status: int = 0):
    result = CliRunner().invoke(cli.main, list(words))
    assert result.exit_code == status, result.output
    return result


def test_every_command_has_help_with_an_example_or_a_title():
    for name in cli.main.commands:
        assert run(name, "--help").stdout.startswith(f"Usage: main {name}")
    assert set(cli.main.commands) == {
        "access", "audit", "bounds", "check", "demo", "discover", "error", "explain", "history", "init", "ledger",
        "noise", "package", "plan", "plot", "release", "request", "sensitivity", "serve", "sign-in", "sign-out",
        "sources",
    }  # fmt: skip


def summaries(group, path=()):
    longest = max(map(len, group.commands))
    for name, command in group.commands.items():
        yield " ".join((*path, name)), command.get_short_help_str(80 - 8 - longest)
        if isinstance(command, click.Group):
            yield from summaries(command, (*path, name))


def test_every_summary_fits_a_line_of_80_columns():
    assert [name for name, summary in summaries(cli.main) if summary.endswith("...")] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["release", "--nope", "x"],
            "lapwing: No such option '--nope'. Did you mean '--force'?  See `lapwing release --help`.",
        ),
        (["release"], "lapwing: Missing argument 'SOURCE'.  See `lapwing release --help`."),
        (
            ["plan", "x.toml", "a"],
            "lapwing: Give --epsilon, or --error to see the ε it needs.  See `lapwing plan --help`.",
        ),
        (["nope"], "lapwing: No such command 'nope'. Did you mean 'noise'?  See `lapwing --help`."),
        (["--nope"], "lapwing: No such option '--nope'.  See `lapwing --help`."),
        (["noise"], "lapwing: "),
    ],
)
def test_a_command_that_is_written_wrongly_is_told_in_one_voice(words, said):
    told = run(*words, status=2).stderr
    assert told.startswith(said)
    assert told.count("\n") == 1


def test_noise_draws_integers():
    lines = run("noise", "--scale", "10", "--size", "5").stdout.split()
    assert len(lines) == 5
    assert all(re.fullmatch(r"-?\d+", line) for line in lines)


def test_noise_as_json():
    told = json.loads(run("noise", "--scale", "1/3", "--size", "4", "--format", "json").stdout)
    assert told["scale"] == "1/3"
    assert (told["margin"], len(told["noise"])) == (1, 4)
    told = json.loads(run("noise", "--sensitivity", "1", "--epsilon", "1", "--format", "json").stdout)
    assert len(told["noise"]) == 1


def test_noise_on_values_keeps_whole_numbers_whole():
    words = ("--sensitivity", "1", "--epsilon", "1", "--format", "json")
    told = json.loads(run("noise", "412", "-388", "57", *words).stdout)
    assert told["scale"] == "1"
    assert len(told["rows"]) == 3
    for row in told["rows"]:
        assert row["high"] - row["value"] == row["value"] - row["low"] == 3
    told = json.loads(run("noise", "1.5", "2.0", *words).stdout)
    assert all(isinstance(row["value"], float) for row in told["rows"])


def test_noise_prints_a_table_and_never_the_value():
    result = run("noise", "123456789123456", "--sensitivity", "1000000", "--epsilon", "0.000000001")
    assert "released" in result.stdout
    assert "123456789123456" not in result.output.replace(",", "")
    assert "No ledger was charged" in result.stderr


def test_a_table_shows_the_digits_that_the_error_bar_leaves_meaning_to():
    text = run("noise", "123456789.25", "--sensitivity", "0.01", "--epsilon", "1").stdout
    assert re.search(r"123,456,789\.\d{4}", text)
    assert re.search(r" 3\d,\d{3},\d{3} ", run("noise", "33213000.5", "--sensitivity", "9999", "--epsilon", "1").stdout)


def test_a_large_public_n_needs_no_large_witness():
    told = json.loads(run("sensitivity", "mean", "-n", "1000000000", "--format", "json").stdout)
    assert told["relations"][1]["sensitivity"] == "0.000000001"
    assert told["relations"][1]["tables"] == []


def test_a_value_that_is_no_number_is_not_echoed():
    assert "412" not in run("noise", "-412,5", "--sensitivity", "1", "--epsilon", "1", status=2).output


def test_error_tells_lemma_1_4():
    words = ("--sensitivity", "2", "--epsilon", "0.1", "--cells", "3143", "--format", "json")
    told = json.loads(run("error", *words).stdout)
    assert told["errors"]["mean"] == 20
    assert told["errors"]["max_mean_bound"] == pytest.approx(181.06, abs=0.01)
    assert told["errors"]["max_mean"] == pytest.approx(172.61, abs=0.01)
    assert told["errors"]["simultaneous_integer_margin"] == 220
    text = run("error", "--sensitivity", "1", "--epsilon", "1").stdout
    assert "Noise of scale 1 (sensitivity 1, ε = 1)" in text
    assert "largest" not in text


def test_sensitivity_explains_an_entry():
    told = json.loads(run("sensitivity", "mean", "--low", "30", "--high", "150", "-n", "4", "--format", "json").stdout)
    assert told["claim"] == "S4"
    assert [r["sensitivity"] for r in told["relations"]] == ["60", "30"]
    assert told["relations"][1]["answers"] == ["30", "60"]
    text = run("sensitivity", "std", "-n", "1000", "--neighbors", "change_one").stdout
    assert "≈ 0.0316069613" in text
    assert "1000 rows" in text


def test_sensitivity_lists_the_catalogue():
    assert len(json.loads(run("sensitivity", "--format", "json").stdout)["catalogue"]) == 10
    assert "median" in run("sensitivity").stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["noise", "--scale", "0"], "Noise scale"),
        (["noise", "--scale", "10", "--size", "-1"], "Size -1"),
        (["noise"], "--sensitivity and --epsilon"),
        (["noise", "--scale", "1", "--epsilon", "1"], "either --scale"),
        (["noise", "5", "--scale", "1"], "With VALUEs"),
        (["noise", "nan", "--sensitivity", "1", "--epsilon", "1"], "not finite"),
        (["noise", "abc", "--sensitivity", "1", "--epsilon", "1"], "VALUE"),
        (["noise", "5", "--sensitivity", "1", "--epsilon", "1", "--confidence", "2"], "Probability"),
        (["noise", "5", "--sensitivity", "1", "--epsilom", "1"], "--epsilom"),
        (["noise", "60", "1.5", "--sensitivity", "1", "--epsilon", "1"], "all with a decimal point"),
        (["noise", "60", "--sensitivity", "0.12", "--epsilon", "1"], "the type must be public"),
        (["noise", "--scale", "1", "--size", "1000000000000000000"], "memory can hold"),
        (["error", "--sensitivity", "1", "--epsilon", "1", "--cells", "1" + "0" * 400], "from 1 to 10^18"),
        (["sensitivity", "mean", "--high", "1e400"], "Bounds"),
        (["sensitivity", "--low", "5"], "Name the sensitivity"),
        (["noise", "5", "--sensitivity", "1", "--epsilon", "0"], "0 < ε ≤ 1000"),
        (["error", "--sensitivity", "1"], "--sensitivity and --epsilon"),
        (["error", "--sensitivity", "1", "--epsilon", "1", "--cells", "0"], "cells = 0"),
        (["error", "--sensitivity", "1", "--epsilon", "1", "--confidence", "95"], "Probability"),
        (["sensitivity", "meen"], 'Did you mean "mean"'),
        (["sensitivity", "mean", "--low", "3", "--high", "2"], "Bounds"),
        (["sensitivity", "count", "--low", "3"], "does not depend on low"),
        (["sensitivity", "mean", "-n", "0"], "n = 0"),
        (["nosuch"], "No such command"),
    ],
)
def test_what_is_refused_has_status_2_and_a_reason(words, reason):
    result = run(*words, status=2)
    assert reason in result.stderr
    assert result.stdout == ""


def test_errors_as_json_have_one_shape():
    for text in ("noise", "noise x", "noise --scale 0", "error --sensitivity 0 --epsilon 1", "sensitivity x"):
        words = text.split()
        told = json.loads(run(*words, "--format", "json", status=2).stderr)
        assert set(told) == {"error", "message"}


def test_python_dash_m_is_the_command():
    done = subprocess.run([sys.executable, "-m", "lapwing", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("lapwing, version ")


def ledger(path, *words: str, status: int = 0):
    return run("ledger", str(path), *words, status=status)


def test_a_ledger_from_making_to_verifying(tmp_path):
    path = tmp_path / "visits.ledger"
    assert "2 left of 2" in ledger(path, "create", "--epsilon", "2").stdout
    assert "cap of ana is now 0.5" in ledger(path, "analysts", "add", "ana", "--cap", "0.5").stdout
    told = ledger(path, "analysts", "cap", "ana", "1", "--note", "more work").stdout
    assert "cap of ana is now 1 (more work)" in told
    assert "total is now 3" in ledger(path, "total", "3", "--note", "board").stdout
    opened = Ledger.open(path)
    opened.record(opened.charge("SELECT COUNT(*) FROM visits", "0.25", analyst="ana"), [412])
    opened.charge({"sql": "SELECT " + "x" * 200}, "0.5")
    text = ledger(path).stdout
    assert "2.25 left of 3" in text
    assert "SELECT COUNT(*) FROM visits" in text
    assert "by 6" in text
    head = ledger(path, "head").stdout.strip()
    assert re.fullmatch(r"[0-9a-f]{64}", head)
    assert "7 entries are sound, and the head is among them." in ledger(path, "verify", "--head", head).stdout
    assert "ana" in ledger(path, "analysts").stdout


def test_a_ledger_as_json(tmp_path):
    path = tmp_path / "visits.ledger"
    made = json.loads(ledger(path, "create", "--epsilon", "2", "--delta", "1e-6", "--format", "json").stdout)
    assert made["epsilon"] == {"total": "2", "spent": "0", "remaining": "2"}
    assert made["delta"]["remaining"] == "0.000001"
    added = json.loads(ledger(path, "analysts", "add", "ana", "--cap", "1", "--format", "json").stdout)
    assert (added["entry"], added["kind"], added["epsilon"]) == (2, "analyst", "1")
    for words in (["--format", "json"], ["show", "--format", "json"], ["--format", "json", "show"]):
        shown = json.loads(ledger(path, *words).stdout)
        assert [entry["kind"] for entry in shown["entries"]] == ["open", "analyst"]
    assert json.loads(ledger(path, "analysts", "--format", "json").stdout)["analysts"][0]["remaining"] == "1"
    assert json.loads(ledger(path, "head", "--format", "json").stdout)["head"] == shown["entries"][1]["hash"]
    assert json.loads(ledger(path, "verify", "--format", "json").stdout)["entries"] == 2


def test_a_question_cannot_hide_itself_in_the_table(tmp_path):
    path = tmp_path / "visits.ledger"
    opened = Ledger.open(path, epsilon=2)
    for question in ("SELECT [ward] FROM [visits]", "a[/b]", "\ud800", "two\nlines", "\x1b[2J", "\u202e"):
        opened.charge(question, "0.1")
    text = ledger(path).stdout
    for shown in ("SELECT [ward] FROM [visits]", "a[/b]", "\\ud800", "two\\nlines", "\\u001b[2J", "\\u202e"):
        assert shown in text
    told = json.loads(ledger(path, "--format", "json").stdout)
    assert told["entries"][3]["question"] == "\ud800"


def test_a_ledger_that_cannot_be_used_has_status_1_and_a_reason(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("something else entirely\n" * 50)
    assert "is not a ledger" in ledger(path, "verify", status=1).stderr
    assert json.loads(ledger(path, "--format", "json", status=1).stderr)["error"] == "LedgerError"
    assert "There is no ledger" in ledger(tmp_path / "none", status=2).stderr
    path = tmp_path / "b.ledger"
    ledger(path, "create", "--epsilon", "1")
    assert "rolled back" in ledger(path, "verify", "--head", "0" * 64, status=1).stderr
    assert "opened with the total" in ledger(path, "create", "--epsilon", "2", status=1).stderr
