"""The check for canaries passes on this build, and fails on builds that show one somewhere."""

from __future__ import annotations

import logging
import re
import sys

import pytest

from lapwing.auditing.checks import canary
from lapwing.auditing.room import Room
from lapwing.auditing.tools import listening
from lapwing.engine import write_sql
from lapwing.engine.table import Table
from lapwing.errors import EngineError
from lapwing.release.discover import KeyTally
from lapwing.release.pipeline import Tally


@pytest.fixture
def room(tmp_path):
    return canary._inner(Room(tmp_path), "private")


@pytest.fixture
def tables(tmp_path):
    """One form of the table is enough where a fault is in all of them."""
    made = canary._tables(canary._inner(Room(tmp_path), "tables"))
    del made.forms["CSV"], made.forms["relation"], made.forms["text for numbers"]
    return made


def test_T24_no_canary_is_seen_on_this_build(tmp_path):
    found = list(canary.canary(Room(tmp_path)))
    assert [each for each in found if not each.passed] == []
    assert len(found) == 13
    assert sum(each.false_alarm for each in found) < 1e-9


def test_T24_loggers_and_streams_are_as_they_were_after_listening(room, capsys):
    logger = logging.getLogger("lapwing.engine")
    before = logger.level, list(logger.handlers), list(logging.root.handlers)
    with listening.listening(room) as heard:
        logger.debug("heard")
        sys.stdout.write("said\n")
    sys.stdout.write("free\n")
    assert (logger.level, list(logger.handlers), list(logging.root.handlers)) == before
    assert any(who == "the log lapwing.engine" and "heard" in said for who, said in heard.said)  # Spark may write JSON
    assert ("what was printed", "said\n") in heard.said
    assert capsys.readouterr().out == "free\n"


@pytest.mark.parametrize(
    "said",
    [
        "x canary-7f3a y",
        "CANARY-9B2E",
        "8123456789.123457",
        "8,123,456,789",
        "8.12346e+09",
        "[8123456789]",
        "8713-05-17",
    ],
)
def test_T24_a_canary_is_found_in_its_spellings(said):
    assert listening.sightings(said)
    assert listening.sightings(said.encode("utf-16"))


@pytest.mark.parametrize("said", ["checks/canary.py", "8123456789abcdef", "0.8123456789", "81234567891", "8.12346", ""])
def test_T24_what_is_no_canary_is_not_found(said):
    assert listening.sightings(said) == []


def passed_through(self, what, budget, work):
    try:
        return work()
    except Exception as error:
        raise EngineError(self.name, what, budget, "") from error


def quoted(self, what, budget, work):
    try:
        return work()
    except Exception as error:
        failure = EngineError(self.name, what, budget, str(error))
    raise failure


@pytest.mark.parametrize("fault", [passed_through, quoted])
def test_T24_an_engine_s_error_that_is_passed_through_is_seen(fault, room, tables, monkeypatch):
    monkeypatch.setattr(Table, "guarded", fault)
    assert "Canaries were seen in 0" not in canary._failures(room, tables).told


@pytest.mark.parametrize(("tally", "shown"), [(Tally, "_sums"), (KeyTally, "_rows")], ids=["Tally", "KeyTally"])
def test_T24_a_tally_that_shows_its_numbers_is_seen(tally, shown, room, tables, monkeypatch):
    monkeypatch.setattr(tally, "__repr__", lambda self: repr(getattr(self, shown)))
    assert not canary._tallies(room, tables).passed


def test_T14_a_clamp_that_is_ignored_is_found(room, monkeypatch):
    index = write_sql._index
    monkeypatch.setattr(
        write_sql, "_index", lambda *given: re.sub(r"LEAST\(GREATEST\((\S+), \S+\), \S+\)", r"\1", index(*given))
    )
    try:
        passed = canary._clamped(room).passed
    except Exception:  # a sum that is too large for its type
        passed = False
    assert not passed


def test_T24_keys_below_the_threshold_that_are_recorded_are_seen_in_the_ledger(room, tables, monkeypatch):
    shown = KeyTally.shown

    def all_recorded(self, plan, entropy):
        return {**shown(self, plan, entropy), "below": [str(key) for key, _ in self._rows]}

    monkeypatch.setattr(KeyTally, "shown", all_recorded)
    source = tables.source(room, "Parquet")
    source.discover("key", epsilon=1, delta="1e-6")
    assert "canary-7f3a" in canary._files("asking", room, {".ledger"}).told


def test_T24_an_unknown_key_in_an_error_is_seen(room, tables, monkeypatch):
    tally = Table.tally

    def strict(self, schema, lowered, progress=None):
        if lowered.keys:
            raise EngineError(self.name, f'has the unknown key "{listening.WORD}"', "", "")
        return tally(self, schema, lowered, progress)

    monkeypatch.setattr(Table, "tally", strict)
    found = canary._answers(room, tables)
    assert not found.passed
    assert "'canary-7f3a' in a release of Parquet, which failed" in found.told
