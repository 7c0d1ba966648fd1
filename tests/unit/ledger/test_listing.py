"""Entries page by page: each once, in its order, as ``entries`` has it; and versions, as questions name them."""

import sqlite3
from contextlib import closing

import pytest

from lapwing import errors
from lapwing.ledger import listing
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.listing import page_of, versions_of


@pytest.fixture
def ledger(where):
    """Charges of two analysts about two sources, in turns; every other one has an answer."""
    opened = Ledger.open(where, epsilon=100)
    opened.add_analyst("ana", 50)
    opened.add_analyst("bea", 50)
    for number in range(12):
        asked = {"source": "visits" if number % 3 else "annex", "query": number}
        if number > 4:
            asked["version"] = "2" if number > 8 else "1"
        entry = opened.charge(asked, 1, analyst="ana" if number % 2 else "bea")
        if number % 4 < 2:
            opened.record(entry, {"cells": [number]})
    return opened


def of_visits(entry):
    return not isinstance(entry.question, dict) or entry.question["source"] == "visits"


def pages(ledger, most, **more):
    found, before = [], None
    while True:
        page = page_of(ledger, before, most, **more)
        found, before = [*page.entries, *found], page.before
        if before is None:
            return found


@pytest.mark.parametrize("most", [1, 2, 5, 1000])
@pytest.mark.parametrize("at_once", [1, 3, 256])
def test_pages_together_are_all_entries_in_their_order(ledger, monkeypatch, most, at_once):
    monkeypatch.setattr(listing, "_AT_ONCE", at_once)
    kept = ledger.entries()
    others = {each.number for each in kept if not of_visits(each)}
    shown = [each for each in kept if others.isdisjoint((each.number, each.charge))]

    def plain(entries):
        return [(each.to_dict(), each.answer) for each in entries]

    assert plain(pages(ledger, most)) == plain(kept)
    assert plain(pages(ledger, most, shows=of_visits)) == plain(shown)
    mine = [each for each in shown if each.kind == "charge" and each.analyst == "ana"]
    assert plain(pages(ledger, most, shows=of_visits, charged_to="ana")) == plain(mine)
    assert pages(ledger, most, charged_to="carl") == []


def test_a_page_names_the_answers_of_its_charges(ledger):
    page, kept = page_of(ledger, None, 1000), ledger.entries()
    assert page.answered_by == {each.charge: each.number for each in kept if each.kind == "answer"}
    assert page_of(ledger, 1, 5) == ([], {}, None)
    assert page_of(ledger, 10**30, 1).entries[0].number == kept[-1].number


def test_versions_are_in_the_order_in_which_they_were_first_seen(ledger):
    found = versions_of(ledger, of_visits)
    assert [(each.version, each.entries) for each in found] == [(None, 3), ("1", 3), ("2", 2)]
    charges = [each for each in ledger.entries() if each.kind == "charge" and of_visits(each)]
    assert [each.first_seen for each in found] == [charges[0].time, charges[3].time, charges[6].time]


def test_an_edited_entry_is_refused_by_the_page_that_has_it(tmp_path):
    ledger = Ledger.open(tmp_path / "t.ledger", epsilon=10)
    for number in range(5):
        ledger.charge({"query": number}, 1)
    with closing(sqlite3.connect(tmp_path / "t.ledger")) as edited, edited:
        edited.execute("UPDATE lapwing_entries SET note = 'x' WHERE number = 3")
    with pytest.raises(errors.LedgerError, match="entry 3: does not match its hash"):
        page_of(ledger, 5, 2)
