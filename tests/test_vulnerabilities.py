"""What `make vulnerabilities` says of the answers of pip-audit."""

import shutil

import pytest

from .vulnerabilities import NO_DATABASE, PINS, check, looked_up

FLAW = {"id": "PYSEC-1", "fix_versions": ["3.1"], "aliases": [], "description": "…"}
KNOWN = [{"name": "jinja2", "version": "2.4.1", "vulns": [FLAW]}]
SOUND = [{"name": "numpy", "version": "2.4.6", "vulns": []}]
SKIPPED = [{"name": "rich", "skip_reason": "Dependency not found on PyPI"}]
BAD = [{"name": "h11", "version": "0.1", "vulns": [FLAW, {**FLAW, "id": "PYSEC-2", "fix_versions": []}]}]


def said(of_known, of_pins):
    """Return the exit status and the text, by what each database answers."""
    written = []
    status = check(lambda pins, database: (of_pins if pins == PINS else of_known)[database], written.append)
    return status, "".join(written)


@pytest.mark.parametrize("nothing", [None, [], SOUND, SKIPPED])
def test_a_database_that_does_not_know_what_is_known_is_none(nothing):
    told = said({"pypi": nothing, "osv": None}, {"pypi": SOUND, "osv": SOUND})
    assert told == (0, f"{NO_DATABASE}\n")


def test_the_first_database_that_can_be_used_is_asked():
    told = said({"pypi": None, "osv": KNOWN}, {"pypi": None, "osv": SOUND})
    assert told == (0, "1 versions checked, 0 known vulnerabilities\n")


def test_a_database_that_fails_later_has_checked_nothing():
    assert said({"pypi": KNOWN, "osv": None}, {"pypi": None}) == (0, f"{NO_DATABASE}\n")


def test_what_is_vulnerable_and_what_was_not_checked_is_named():
    status, text = said({"pypi": KNOWN, "osv": None}, {"pypi": SOUND + BAD + SKIPPED})
    assert status == 1
    assert text.splitlines() == [
        "VULNERABLE: h11 0.1: PYSEC-1, fixed in 3.1",
        "VULNERABLE: h11 0.1: PYSEC-2, fixed in no version",
        "NOT CHECKED for known vulnerabilities: rich",
        "2 versions checked, 2 known vulnerabilities",
    ]


def test_a_program_that_writes_no_report_has_checked_nothing():
    assert looked_up(shutil.which("true"), PINS, "pypi") is None
    assert looked_up("/no/such/program", PINS, "pypi") is None
