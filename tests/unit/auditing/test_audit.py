"""The audit as a whole: verdicts, formats, exit status.  The full audit is `make audit`."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing.auditing import audit as module
from lapwing.auditing.audit import CHECKS, CheckEntry
from lapwing.auditing.finding import Finding, NoSuchPart, parts
from lapwing.auditing.room import Room
from lapwing.cli.main import main
from lapwing.errors import InvalidAddress, InvalidParameter, UselessParameter


@pytest.fixture
def few(monkeypatch):
    """Three small checks instead of all: one passes, one fails, one cannot be run."""

    def good(room):
        yield Finding("1 + 1", True, "2 of 2", 1e-9)

    def bad(room):
        yield Finding("a <b>", False, "3 & 4")
        yield Finding("never reached with --stop", True, "")

    def worse(room):
        yield Finding("before", True, "")
        raise ZeroDivisionError("oh")

    found = {
        name: CheckEntry(check, f"asks {name}?", 1) for name, check in (("good", good), ("bad", bad), ("worse", worse))
    }
    monkeypatch.setattr(module, "CHECKS", found)


def test_an_audit_of_sound_checks_passes_and_says_how_likely_a_false_alarm_is(few):
    found = lw.audit("good")
    assert found.passed
    assert found.false_alarm == 1e-9
    assert "All 1 findings are as promised" in str(found)
    assert "1.0e-09" in found.summary


def test_a_finding_that_fails_fails_the_audit_and_is_told(few):
    found = lw.audit()
    assert not found.passed
    assert [verdict.passed for verdict in found.verdicts] == [True, False, False]
    assert "FAILED in bad: a <b>\n    3 & 4" in str(found)


def test_a_check_that_cannot_run_has_failed(few):
    (verdict,) = lw.audit("worse").verdicts
    assert verdict.failures == (Finding("the check itself", False, "ZeroDivisionError: oh"),)


def test_stop_ends_at_the_first_failure(few):
    found = lw.audit(stop=True)
    assert [len(verdict.findings) for verdict in found.verdicts] == [1, 1]


def test_checks_that_were_left_out_are_named(few):
    assert lw.audit("good").not_run == ("bad", "worse")
    assert "NOT RUN: bad, worse" in lw.audit("good").to_html()
    assert lw.audit().not_run == ()


def test_an_engine_that_no_check_looks_at_is_refused():
    with pytest.raises(UselessParameter, match="one of sensitivities, replay, failures"):
        lw.audit("sampler", engine="spark")


def test_the_report_belongs_to_one_build_and_one_time(few):
    told = lw.audit("good").to_dict()
    assert len(told["versions"]["build"]) == 16
    assert told["date"].endswith("+00:00")


def test_an_interrupt_is_no_failure(few, monkeypatch):
    def interrupted(room):
        raise KeyboardInterrupt
        yield

    monkeypatch.setitem(module.CHECKS, "good", CheckEntry(interrupted, "", 1))
    assert CliRunner().invoke(main, ["audit", "--jobs", "1"]).exit_code == 130


def test_an_unknown_check_is_refused(few):
    with pytest.raises(InvalidParameter, match="one of good, bad, worse"):
        lw.audit("goods")


def test_one_part_of_a_check_runs_alone(few, monkeypatch):
    def halves(room):
        one = Finding("one", True, "")
        yield from parts(room, one=lambda: one, other=lambda: [Finding("other", True, ""), Finding("last", True, "")])

    monkeypatch.setitem(module.CHECKS, "good", CheckEntry(halves, "asks?", 1))
    found = lw.audit("bad", "good/other", jobs=2)
    assert [verdict.check for verdict in found.verdicts] == ["good/other", "bad"]
    assert [finding.what for finding in found.verdicts[0].findings] == ["other", "last"]
    assert found.verdicts[0].asks == "asks?"
    assert found.not_run == ("good", "worse")
    assert len(lw.audit("good").verdicts[0].findings) == 3
    with pytest.raises(InvalidParameter, match="part of good is one of one, other"):
        lw.audit("good/none")


def test_every_check_has_parts(tmp_path):
    for name, entry in CHECKS.items():
        with pytest.raises(NoSuchPart) as known:
            next(entry.check(Room(tmp_path, part="none")))
        assert known.value.names, name


def test_an_unknown_engine_is_refused():
    with pytest.raises(InvalidAddress, match="spark, or a URL"):
        lw.audit("replay", engine="mysql://db")


def test_progress_is_told_what_is_looked_at(few):
    told = []
    lw.audit(progress=lambda share, what: told.append((round(share, 2), what)))
    assert list(dict.fromkeys(told)) == [(0.0, "good"), (0.33, "bad"), (0.67, "worse")]


def test_checks_run_at_once_in_processes_of_their_own_and_those_that_measure_time_alone():
    told = []
    found = lw.audit("replay", "timing", jobs=2, progress=lambda share, what: told.append((share, what)))
    assert found.passed, str(found)
    assert [verdict.check for verdict in found.verdicts] == ["replay", "timing"]
    assert {what for _, what in told} >= {"replay", "timing"}
    assert all(0 <= share <= 1 for share, _ in told)


def test_a_process_that_ends_early_fails_its_check_and_stops_the_audit(monkeypatch):
    def ended(process):
        raise RuntimeError("another process of the check ended early, with status 1")

    monkeypatch.setattr(module.others, "answer", ended)
    found = lw.audit("replay", "bound", "timing", jobs=2, stop=True)
    assert {finding.what for verdict in found.verdicts for finding in verdict.findings} == {"the check itself"}
    assert "timing" in found.not_run


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"minutes": 3}, "minutes"),
        ({"deep": True, "minutes": 0}, "minutes"),
        ({"deep": True, "minutes": "3"}, "minutes"),
        ({"seed": -1}, "seed"),
        ({"seed": True}, "seed"),
        ({"jobs": 0}, "jobs"),
    ],
)
def test_how_much_is_drawn_is_checked(few, options, what):
    with pytest.raises(InvalidParameter, match=what):
        lw.audit(**options)


def test_a_deep_audit_begins_with_another_world_each_time_and_says_which(few, monkeypatch):
    seen = []

    def looked(room):
        seen.append((room.deep, room.minutes, room.seed))
        yield Finding("seen", True, "")

    monkeypatch.setitem(module.CHECKS, "good", CheckEntry(looked, "", 1))
    lw.audit("good")
    lw.audit("good", seed=77)
    lw.audit("good", deep=True, minutes=0.5, seed=3)
    lw.audit("good", deep=True)
    assert seen[:3] == [(False, 5, 0), (False, 5, 77), (True, 0.5, 3)]
    assert seen[3][:2] == (True, 5)
    assert seen[3][2] < 10**12


def test_the_command_prints_a_table_and_ends_with_1_when_something_fails(few):
    done = CliRunner().invoke(main, ["audit", "--jobs", "1"])
    assert done.exit_code == 1
    assert "FAILED in worse: the check itself" in done.output
    assert CliRunner().invoke(main, ["audit", "--only", "good"]).exit_code == 0
    assert CliRunner().invoke(main, ["audit", "--only", "none"]).exit_code == 2


def test_json_and_html_hold_every_finding(few, tmp_path):
    told = json.loads(CliRunner().invoke(main, ["audit", "--jobs", "1", "--format", "json"]).stdout)
    assert [each["check"] for each in told["checks"]] == ["good", "bad", "worse"]
    assert told["checks"][0]["findings"] == [{"what": "1 + 1", "passed": True, "told": "2 of 2", "false_alarm": 1e-9}]
    assert not told["passed"]
    page = tmp_path / "audit.html"
    done = CliRunner().invoke(main, ["audit", "--jobs", "1", "--format", "html", "--output", str(page)])
    assert done.exit_code == 1
    assert "a &lt;b&gt;" in page.read_text()
    assert "Wrote" in done.stderr


def test_a_report_for_a_folder_that_is_not_there_is_refused_before_the_checks_run(few, tmp_path):
    done = CliRunner().invoke(main, ["audit", "--output", str(tmp_path / "none" / "audit.html")])
    assert done.exit_code == 2


def test_the_build_passes_a_quick_check():
    found = lw.audit("sampler")
    assert found.passed, str(found)
    assert found.false_alarm < 1e-8


def test_every_check_has_its_place_in_the_docs():
    root = Path(__file__).parents[3]
    told, readme = ((root / page).read_text() for page in ("docs/explanation/audit.md", "README.md"))
    for name, entry in CHECKS.items():
        assert re.search(rf"^ {name} +passed +\d+ +[\d.]+   {re.escape(entry.asks)}$", readme, re.MULTILINE)
        assert f"| `{name}` |" in told
        assert f"**{name}.**" in told
