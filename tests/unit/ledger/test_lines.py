"""Entries as lines of a table: one line each, of a length that a table can hold."""

import json

from lapwing.ledger.entry import Entry
from lapwing.ledger.lines import what, when


def entry(kind="charge", question=None, note=None, charge=None):
    return Entry(7, "2026-11-19T04:00:00+00:00", kind, "ana", question, None, None, note, 0, "", charge=charge)


def test_a_charge_says_its_question_and_a_long_one_its_beginning():
    asked = "SELECT " + "x" * 100
    assert what(entry(question={"query": "SELECT 1"}), 70) == "SELECT 1"
    assert what(entry(question={"query": asked}), 70) == f"{asked[:69]}…"
    assert what(entry(question={"query": asked}), len(asked)) == asked


def test_a_charge_says_the_version_of_the_data_that_it_is_about():
    asked = {"query": "SELECT 1", "version": "2026-Q3"}
    assert what(entry(question=asked), 70) == "2026-Q3: SELECT 1"
    assert what(entry(question=asked), 12) == "2026-Q3: SE…"
    assert what(entry(question={"query": "SELECT 1", "version": "a\nb"}), 70) == '"a\\nb": SELECT 1'


def test_what_a_terminal_should_not_print_is_written_as_json():
    for question in ({"query": "a\x1b[2Jb"}, {"query": "a\nb"}, {"other": 1}, 5, ["a"]):
        said = what(entry(question=question), 70)
        assert (said, said.isprintable()) == (json.dumps(question), True)


def test_other_entries_say_what_they_are():
    assert what(entry("analyst", note="new"), 70) == "cap: new"
    assert what(entry("grant", charge=5), 70) == "granted, new cap (request 5)"
    assert what(entry("later"), 70) == "later"


def test_a_time_is_shown_without_its_zone():
    assert when(entry().time) == "2026-11-19 04:00:00"
