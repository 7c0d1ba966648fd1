"""The check of the ledger passes on this build, and fails on builds that break one promise each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from functools import partial

import pytest

from lapwing import exact, source
from lapwing.auditing.checks import charging, ledgers, tampering
from lapwing.auditing.finding import Finding
from lapwing.auditing.room import Room
from lapwing.auditing.tools import others
from lapwing.ledger import store
from lapwing.ledger.entry import nano
from lapwing.ledger.ledger import Ledger
from lapwing.noise.entropy import SYSTEM
from lapwing.release import pipeline


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def fails(promise: Callable[[Room], Finding], room: Room) -> bool:
    """Return whether the promise is found broken; an error is a failure, as for whoever runs the check."""
    try:
        return not promise(room).passed
    except Exception:
        return True


def test_L1_to_L5_hold_on_this_build(room):
    found = list(ledgers.ledgers(room))
    assert [each for each in found if not each.passed] == []
    assert len({each.what for each in found}) == len(found) == 50
    assert sum(each.false_alarm for each in found) == 0


def test_other_processes_import_this_lapwing_wherever_they_work(tmp_path):
    statuses, printed = others.commands([["--version"], ["no-such-command"]], tmp_path)
    assert statuses == [0, 2]
    assert printed.startswith(b"lapwing, version ")


def test_a_process_that_ends_early_is_said(tmp_path):
    with others.started(others.racer) as (racer,):
        others.tell(racer, ["no such race"])
        with pytest.raises(RuntimeError, match="ended early, with status 1"):
            others.answer(racer)


def test_T25_a_balance_that_is_read_before_the_transaction_is_found(room, monkeypatch):
    charge, check = Ledger.charge, Ledger._refuse_beyond

    def check_then_spend(self, question, epsilon, *more):
        with self._transaction() as connection:
            last = self._last(connection)
        check(self, last, None, nano(epsilon), 0)
        return charge(self, question, epsilon, *more)

    alone = partial(ledgers._raced, racers=())
    assert not fails(alone, room)
    monkeypatch.setattr(Ledger, "charge", check_then_spend)
    monkeypatch.setattr(Ledger, "_refuse_beyond", lambda *_: None)
    assert fails(alone, room)


def test_T28_float_budgets_are_found(room, monkeypatch):
    def in_floats(self, last, mine, amount, amount_delta):
        if last["spent"] / 10**9 + amount / 10**9 > last["total"] / 10**9:
            self._refuse(amount, 0, 1, 10**9, "ε", "all")

    monkeypatch.setattr(Ledger, "_refuse_beyond", in_floats)
    assert fails(ledgers._exact, room)


def test_T26_a_cached_balance_is_found(room, monkeypatch):
    fresh = Ledger.remaining.fget

    def cached(self):
        return self.__dict__.setdefault("_cached", fresh(self))

    monkeypatch.setattr(Ledger, "remaining", property(cached))
    assert fails(ledgers._one_budget, room)


def test_L4_a_chain_that_is_not_checked_is_found(room, monkeypatch):
    monkeypatch.setattr("lapwing.ledger.chain.digest", lambda row: row["hash"])
    assert fails(tampering.tampered, room)


def test_L5_a_ledger_that_remembers_nothing_is_found(room, monkeypatch):
    assert not fails(tampering.exchanged, room)
    monkeypatch.setattr(Ledger, "_remember", lambda *_: None)
    assert fails(tampering.exchanged, room)


def test_T26_a_ledger_made_in_place_of_an_empty_file_is_found(room, monkeypatch):
    there = store.may_be_there

    def make_room(kept):
        if kept.file.is_file() and not kept.file.stat().st_size:
            kept.file.unlink()
        return there(kept)

    assert not fails(ledgers._made_anew, room)
    monkeypatch.setattr(store, "may_be_there", make_room)
    assert fails(ledgers._made_anew, room)


def test_T25_a_ledger_that_replaces_another_is_found(room, monkeypatch):
    alone = partial(ledgers._made_at_once, racers=())
    assert not fails(alone, room)
    monkeypatch.setattr(store, "_name", lambda made, target: made.replace(target))
    assert fails(alone, room)


def test_the_user_s_own_folder_is_not_touched(room, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(room.folder / "mine"))
    assert all(each.passed for each in ledgers._unnamed(room))
    assert not (room.folder / "mine").exists()


def test_T26_a_ledger_that_forgets_the_last_charge_is_found_after_a_kill(room, monkeypatch):
    entries = Ledger.entries
    monkeypatch.setattr(Ledger, "entries", lambda self, **options: entries(self, **options)[:3])
    assert fails(ledgers._killed, room)


def test_T16_an_epsilon_of_true_is_found(room, monkeypatch):
    rational = exact.rational
    monkeypatch.setattr(exact, "rational", lambda asked: F(1) if asked is True else rational(asked))
    assert fails(charging._bad_epsilon, room)


def test_L3_a_charge_after_reading_is_found(room, monkeypatch):
    def read_first(plan, table, book, **options):
        plan = plan.on(table.dialect)
        table.tally(plan.schema, plan.lowered)
        return pipeline.make_release(plan, table, book, **options)

    monkeypatch.setattr(source, "make_release", read_first)
    assert fails(charging._charged_first, room)
    assert fails(charging._refused, room)


@pytest.mark.usefixtures("frozen_noise")
def test_T27_fresh_noise_for_a_repeated_question_is_found(room, monkeypatch):
    def fresh(plan, table, book, **options):
        made = pipeline.make_release(plan, table, book, **options)
        try:
            tally = pipeline.Tally(table.tally(made.plan.schema, made.plan.lowered))
            return replace(made, answer=pipeline._noisy(made.plan, [tally], SYSTEM))
        except Exception:
            return made

    monkeypatch.setattr(source, "make_release", fresh)
    assert fails(charging._repeated, room)
