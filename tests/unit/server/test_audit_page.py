"""The audit report for owners and auditors: what a real audit wrote, and files that only look like one."""

import json
import re

import pytest
from click.testing import CliRunner

from lapwing.auditing.audit import CHECKS, Audit, Verdict
from lapwing.auditing.finding import Finding
from lapwing.cli.main import main
from lapwing.errors import NOTHING_DRAWN, InvalidParameter, InvalidRequest
from lapwing.server.audit_report import MOST_BYTES, audit_report
from lapwing.server.settings import settings_of

from .conftest import settings
from .test_pages import look, sign_in

HTML = "<script>alert(1)</script>\u202e&amp;"
SHOWN = "&lt;script&gt;alert(1)&lt;/script&gt;\ufffd&amp;amp;"
PAGE = "/sources/visits/audit"


def made(passed=True, what="the law of the noise"):
    """Return what an audit of two checks wrote: one of them fails, or none."""
    findings = (Finding("a sum", True, "as declared"), Finding(what, passed, f"told of {what}", 1e-9))
    verdicts = (Verdict("sampler", findings[:1], 0.5), Verdict("laws", findings, 2.25))
    return Audit(verdicts, ("DuckDB",), False, "2026-11-18T10:20:30+00:00", 3.0).to_dict()


def write(folder, report):
    file = folder / "audit.json"
    file.write_bytes(report if isinstance(report, bytes) else json.dumps(report, ensure_ascii=False).encode())
    return str(file)


@pytest.fixture
def look_at(start, folder):
    """A function that starts the server with a report, and returns its page for a person."""

    def looked(report, who="audrey"):
        server = start(audit_report=write(folder, report))
        return look(server, PAGE, sign_in(server, who))

    return looked


def test_an_auditor_sees_verdicts_findings_date_and_build(look_at):
    report = made()
    page = look_at(report)
    assert page.status == 200
    assert "Passed: all 3 findings are as promised." in page.text
    for shown in ("sampler", "laws", "told of the law of the noise", "2026-11-18 10:20 UTC", "2.2", "1.0e-09"):
        assert shown in page.text
    assert report["versions"]["build"] in page.text
    assert "FAILED" not in page.text
    assert "Another version" not in page.text
    assert ", ".join(name for name in CHECKS if name not in ("sampler", "laws")) in page.text  # not run


def test_what_fails_comes_first_and_is_open(look_at):
    text = look_at(made(passed=False)).text
    assert "FAILED: 1 of 3 findings are not as promised." in text
    assert re.findall(r'<h2 id="check-\d">(\w+)</h2>', text) == ["laws", "sampler"]
    assert re.findall(r"<details(.*?)>", text) == [" open", ""]
    assert text.index("told of the law of the noise") < text.index("as declared")


def test_a_report_of_another_version_is_shown_as_such(look_at):
    report = made()
    report["versions"]["lapwing"] = "0.0.1"
    assert "Another version was audited:</strong> 0.0.1" in look_at(report).text


def test_without_a_report_the_page_says_how_to_make_one(server):
    text = look(server, PAGE, sign_in(server, "audrey")).text
    assert "lapwing audit --format json" in text
    assert "--audit-report audit.json" in text


@pytest.mark.parametrize(("who", "sees"), [("olga", True), ("audrey", True), ("ana", False), ("otto", False)])
def test_the_page_and_the_way_to_it_are_for_owners_and_auditors_alone(start, folder, who, sees):
    server = start(audit_report=write(folder, made()))
    cookie = sign_in(server, who)
    assert look(server, PAGE, cookie).status == (200 if sees else 404)
    assert (f'href="{PAGE}"' in look(server, "/sources/visits", cookie).text) == sees
    assert (f'The <a href="{PAGE}">audit</a> tests' in look(server, "/sources/visits/ledger", cookie).text) == sees
    assert look(server, "/sources/secrets/audit", cookie).status == (200 if who == "otto" else 404)


def test_html_in_any_text_of_the_report_is_a_text(look_at):
    report = made(passed=False, what=HTML)
    report["versions"] |= {HTML: HTML, "lapwing": HTML}
    report["engines"] = report["not_run"] = [HTML]
    report["checks"][1]["check"] = HTML
    text = look_at(report).text
    assert "<script" not in text
    assert "alert(1)</" not in text
    assert text.count(SHOWN) == 11
    assert text.count("told of ") == 1


def bent(**fields):
    return {**made(), **fields}


def bent_check(**fields):
    return bent(checks=[{**made()["checks"][0], **fields}])


def bent_finding(**fields):
    return bent_check(findings=[{**made()["checks"][0]["findings"][0], **fields}])


WRONG = {
    "no JSON": (b"lapwing", "is not JSON"),
    "nothing": (b"", "is not JSON"),
    "no UTF-8": (b'{"passed": "\xff"}', "is not JSON"),
    "half": (json.dumps(made()).encode()[:-20], "is not JSON"),
    "a list": (b"[]", "is not in the right form"),
    "deep": (b"[" * 100_000, "is not JSON"),
    "a number of a million digits": (b'{"false_alarm": ' + b"9" * 10**6 + b"}", "is not JSON"),
    "a field too many": (bent(html="<b>"), "is not in the right form, see …"),
    "a field too few": (
        {name: each for name, each in made().items() if name != "deep"},
        "is not in the right form, see deep",
    ),
    "a text for a truth": (bent(passed="true"), "is not in the right form, see passed"),
    "a number for a truth": (bent(deep=1), "is not in the right form, see deep"),
    "a truth for a number": (bent(false_alarm=True), "is not in the right form, see false_alarm"),
    "a text for a number": (bent_check(seconds="1"), "is not in the right form, see checks.0.seconds"),
    "a negative number": (bent_check(seconds=-1), "is not in the right form, see checks.0.seconds"),
    "no number": (json.dumps(bent(false_alarm=float("nan"))).encode(), "is not in the right form, see false_alarm"),
    "infinitely much": (
        json.dumps(bent(false_alarm=1)).replace(": 1,", ": 1e999,").encode(),
        "is not in the right form, see false_alarm",
    ),
    "no date": (bent(date="<b>today</b>"), "is not in the right form, see date"),
    "a date without a zone": (bent(date="2026-11-18T10:20:30"), "is not in the right form, see date"),
    "a number for a date": (bent(date=10**9), "is not in the right form, see date"),
    "an object for a text": (bent_finding(told={"a": 1}), "is not in the right form, see checks.0.findings.0.told"),
    "no text": (bent_finding(what=None), "is not in the right form, see checks.0.findings.0.what"),
    "a long text": (bent_finding(told="x" * 20_001), "is not in the right form, see checks.0.findings.0.told"),
    "a number among versions": (bent(versions={"lapwing": 1}), "is not in the right form, see versions.…"),
    "versions in a list": (bent(versions=[]), "is not in the right form, see versions"),
    "no check": (bent(checks=[]), "is not in the right form, see checks"),
    "no finding": (bent_check(findings=[]), "contradicts itself"),
    "a verdict that the findings contradict": (bent_finding(passed=False), "contradicts itself, see checks.0"),
    "a verdict that the checks contradict": (bent(passed=False), "contradicts itself"),
    "many checks": (bent(checks=made()["checks"] * 51), "is not in the right form, see checks"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_report_of_another_form_is_refused_at_the_start_and_not_repeated(folder, name):
    report, why = WRONG[name]
    with pytest.raises(InvalidRequest) as refused:
        audit_report(write(folder, report))
    assert f'audit.json" {why}. {NOTHING_DRAWN} Write one with this version: lapwing audit' in str(refused.value)
    assert "<b>" not in str(refused.value)


def test_a_report_that_is_too_large_or_not_there_is_refused(folder):
    with pytest.raises(InvalidRequest, match="is larger than 8,000,000 bytes"):
        audit_report(write(folder, b" " * MOST_BYTES + b"{}"))
    for path in (folder / "nosuch.json", folder, "/dev/null/x", "a\0b"):
        with pytest.raises(InvalidRequest, match="cannot be read"):
            audit_report(str(path))


def test_a_server_with_a_bad_report_does_not_start(start, folder):
    with pytest.raises(InvalidRequest, match="is not in the right form"):
        start(audit_report=write(folder, b"{}"))


def test_the_command_takes_a_report_and_refuses_one_of_another_form(folder):
    words = ["serve", str(folder / "visits.toml"), "--access", str(folder / "access.sqlite"), "--audit-report"]
    done = CliRunner().invoke(main, [*words, write(folder, b"{}")])
    assert done.exit_code == 2
    assert "is not in the right form, see passed." in done.output


def test_the_settings_name_the_report_beside_them(folder):
    (folder / "serve.toml").write_text('sources = ["visits.toml"]\naudit_report = "audit.json"\n')
    read = settings_of(str(folder / "serve.toml"), {})
    assert read.audit_report == str(folder / "audit.json")
    assert settings_of(str(folder / "serve.toml"), {"audit_report": "mine.json"}).audit_report == "mine.json"
    assert settings(folder).audit_report is None
    with pytest.raises(InvalidParameter, match="audit_report"):
        settings_of(None, {"sources": ["x"], "audit_report": 1})
