"""The parts about backups, requests, lists, places, plans and sums fail on builds with one fault each.

That those of the check of ledgers pass on this build is in ``test_ledgers``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lapwing.auditing.checks import as_server, backups, cap_requests, ledger_places, limbs, listed, planned
from lapwing.auditing.finding import Finding
from lapwing.auditing.room import Room
from lapwing.auditing.tools.unsynced import unsynced
from lapwing.engine import write_sql
from lapwing.ledger import backup, copies, listing, of_source, place, requests, search
from lapwing.ledger.ledger import Ledger
from lapwing.question.schema import Schema

Part = Callable[[Room], Iterator[Finding]]


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def fails(part: Part, room: Room) -> bool:
    """Return whether a part finds something broken; an error is a failure, as for whoever runs the check."""
    try:
        return not all(each.passed for each in unsynced("a part", lambda: part(room)))
    except Exception:
        return True


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize("part", [planned.planned, limbs.limbs])
def test_a_part_without_a_ledger_passes_on_this_build(room, part):
    found = list(part(room))
    assert [each for each in found if not each.passed] == []
    assert len(found) == 3


def test_L1_a_cap_that_rises_with_the_request_is_found(room, monkeypatch):
    request = Ledger.request

    def raised(self, analyst, cap, reason):
        entry = request(self, analyst, cap, reason)
        self.set_cap(analyst, cap)
        return entry

    monkeypatch.setattr(Ledger, "request", raised)
    assert fails(cap_requests.cap_requests, room)


def test_L1_a_decision_by_someone_else_is_found(room, monkeypatch):
    withdraw = Ledger._end_request
    monkeypatch.setattr(
        Ledger, "_end_request", lambda self, kind, request, note, analyst=None: withdraw(self, kind, request, note)
    )
    assert fails(cap_requests.cap_requests, room)


def test_T16_requests_without_an_end_are_found(room, monkeypatch):
    monkeypatch.setattr(requests, "_refuse_many", lambda mine: None)
    assert fails(cap_requests.cap_requests, room)


def test_L1_a_ledger_that_is_not_locked_before_it_is_read_is_found(room, monkeypatch):
    turn = Ledger._turn
    monkeypatch.setattr(Ledger, "_turn", lambda self, *, write=False: turn(self))
    assert fails(cap_requests.cap_requests, room)


def test_L6_answers_that_are_lost_and_not_written_off_are_found(room, monkeypatch):
    lost = backup._lost

    def forgiving(ledger, copied, turn):
        found = lost(ledger, copied, turn)
        return replace(found, spent=0, caps={})

    monkeypatch.setattr(backup, "_lost", forgiving)
    assert fails(backups.backups, room)
    assert fails(backups.written_off, room)


def test_L6_a_damaged_copy_that_is_put_back_is_found(room, monkeypatch):
    monkeypatch.setattr(Ledger, "verify", lambda self, head=None: len(self.entries()))
    assert fails(backups.backups, room)


def test_L6_a_copy_that_may_be_written_to_is_found(room, monkeypatch):
    monkeypatch.setattr(Path, "chmod", lambda self, mode: os.chmod(self, 0o600))  # noqa: PTH101
    assert fails(backups.backups, room)


def test_L4_a_page_that_lacks_an_entry_is_found(room, monkeypatch):
    page_of = listing.page_of

    def shorter(*given, **more):
        page = page_of(*given, **more)
        return page._replace(entries=page.entries[1:])

    monkeypatch.setattr(listed, "page_of", shorter)
    assert fails(listed.listed, room)


def test_L4_entries_that_are_not_checked_are_found(room, monkeypatch):
    monkeypatch.setattr(Ledger, "_sound", lambda self, row: row)
    assert fails(listed.listed, room)


def test_L2_a_search_that_leaves_out_a_sign_is_found(room, monkeypatch):
    monkeypatch.setattr(listed, "charges_with", lambda ledger, part: search.charges_with(ledger, part.replace("_", "")))
    assert fails(listed.listed, room)


def test_L6_ledgers_of_one_second_that_are_taken_for_copies_are_found(room, monkeypatch):
    monkeypatch.setattr(
        listed, "are_copies", lambda one, other: copies._first(one)["hash"] == copies._first(other)["hash"]
    )
    assert fails(listed.listed, room)


def test_L1_a_ledger_made_only_to_look_at_it_is_found(room, monkeypatch):
    monkeypatch.setattr(of_source.LedgerOfSource, "open_ledger", of_source.LedgerOfSource.make_ledger)
    assert fails(ledger_places.ledger_places, room)


def test_L1_a_ledger_made_on_a_server_without_a_lock_is_found(room, monkeypatch):
    monkeypatch.setattr(Ledger, "_is_made", lambda self, connection: False)
    assert fails(as_server.as_server, room)


def test_L1_a_name_that_leads_out_of_the_folder_is_found(room, monkeypatch):
    monkeypatch.setattr(ledger_places, "file_name", lambda name: f"{name}.ledger")
    assert fails(ledger_places.ledger_places, room)


def test_L1_a_folder_that_is_open_to_others_is_found(room, monkeypatch):
    mkdir = Path.mkdir
    monkeypatch.setattr(place.Path, "mkdir", lambda self, mode=0o777, **more: mkdir(self, 0o755, **more))
    assert fails(ledger_places.ledger_places, room)


@pytest.mark.usefixtures("frozen_noise")
def test_R2_a_parameter_of_a_plan_that_is_not_used_is_found(room, monkeypatch):
    monkeypatch.setattr(Schema, "counting", lambda self, rows_per_person: self)
    assert fails(planned.planned, room)


def test_E3_parts_of_too_many_bits_are_found(room, monkeypatch):
    parted = write_sql._parted
    monkeypatch.setattr(write_sql, "_parted", lambda name, value, most, to: parted(name, value, most // 2, to))
    assert fails(limbs.limbs, room)
