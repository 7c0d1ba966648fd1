"""The check of failures passes on this build, and sees builds that break one promise each."""

import logging
import sqlite3
import sys
import warnings
from contextlib import ExitStack, contextmanager
from fractions import Fraction as F
from pathlib import Path

import pytest
import sqlalchemy as sa

from lapwing import errors
from lapwing.auditing.checks import aftermath, caps, durable, failures, interleaved, servers, shown
from lapwing.auditing.room import Room
from lapwing.auditing.tools.engines import engines
from lapwing.auditing.tools.injecting import Silent, wired
from lapwing.auditing.tools.listening import WORD
from lapwing.auditing.tools.pipelines import ANALYST, EPSILON, Pipeline
from lapwing.ledger import store
from lapwing.ledger.ledger import Ledger
from lapwing.release import pipeline as release


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


@pytest.fixture
def pipeline(room):
    with wired(Silent()):
        yield Pipeline(room)


def test_all_holds_on_this_build(room):
    found = list(failures.failures(room))
    assert [each for each in found if not each.passed] == []
    assert len(found) == 16
    assert sum(each.false_alarm for each in found) == 0
    assert "NOT CHECKED" in found[-1].told


# --- one failure ---


def judged(pipeline, outcome, ledger, again=2, unrecorded=None, raised=RuntimeError):
    question, opened = pipeline.questions[0], lambda: Ledger.open(ledger.where)
    return aftermath.judged(
        lambda: aftermath.broken(outcome, opened, lambda: question(pipeline.table, ledger, again), raised, unrecorded)
    )


def test_an_answer_that_is_recorded_is_sound(pipeline):
    ledger, question = pipeline.ledger(), pipeline.questions[0]
    outcome = aftermath.attempted(lambda: question(pipeline.table, ledger, 1), lambda: True)
    assert outcome.error is None
    assert judged(pipeline, outcome, ledger) is None
    other = aftermath.Outcome({"cells": [[[7]]]}, None, True)
    assert "not recorded" in judged(pipeline, other, ledger)


def test_a_failure_before_anything_is_read_is_sound_and_after_it_is_not(pipeline):
    ledger = pipeline.ledger()
    assert "0.5 is due" in judged(pipeline, aftermath.Outcome(None, RuntimeError(), True), ledger)
    assert judged(pipeline, aftermath.Outcome(None, RuntimeError(), False), ledger) is None


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ValueError(), "a ValueError was raised"),
        (RuntimeError(WORD), "the error shows 'canary-7f3a'"),
        (errors.LedgerError("t", "has 1234567", ""), "the error shows '1234567'"),
    ],
)
def test_an_error_that_reveals_something_is_found(pipeline, error, fault):
    told = judged(pipeline, aftermath.Outcome(None, error, False), pipeline.ledger(), unrecorded=[1234567])
    assert fault in told


@pytest.mark.parametrize(("said", "shown"), [(f"a log of {WORD}", WORD), ("[parameters: (1234567,)]", "1234567")])
def test_what_is_said_while_a_question_fails_is_looked_at(pipeline, said, shown):
    outcome = aftermath.Outcome(None, RuntimeError(), False, (said,))
    told = judged(pipeline, outcome, pipeline.ledger(), unrecorded=[1234567])
    assert told == f"a log, a warning or what is printed shows {shown!r}"


def test_a_number_in_a_file_beside_the_ledger_is_found(pipeline):
    ledger = pipeline.ledger()
    Path(f"{ledger.where}.dump").write_text("1234567")
    told = judged(pipeline, aftermath.Outcome(None, RuntimeError(), False), ledger, unrecorded=[1234567])
    assert told == "a file that is left shows '1234567'"


def test_logs_of_every_level_and_warnings_and_prints_are_heard():
    quiet = logging.getLogger("somebody.else")
    before = quiet.level

    def ask():
        quiet.debug("a log")
        warnings.warn("a warning", stacklevel=1)
        sys.stdout.write("a print\n")

    outcome = aftermath.attempted(ask, lambda: False)
    assert outcome.error is None
    assert all(any(each in said for said in outcome.said) for each in ("a log", "a warning", "a print"))  # in any form
    assert quiet.level == before


def test_two_charges_are_found(pipeline):
    ledger = pipeline.ledger()
    ledger.charge("another", EPSILON, analyst=ANALYST)
    ledger.charge("a third", EPSILON, analyst=ANALYST)
    outcome = aftermath.Outcome(None, RuntimeError(), False)
    assert "in 2 entries" in judged(pipeline, outcome, ledger)


def test_two_answers_for_one_charge_are_found(pipeline, monkeypatch):
    ledger = pipeline.ledger()
    monkeypatch.setattr(Ledger, "record", lambda self, entry, answer: answer)
    assert judged(pipeline, aftermath.Outcome(None, RuntimeError(), False), ledger) is not None


# --- steps and statements ---


def test_an_answer_that_is_shown_although_it_was_not_recorded_is_found(pipeline, monkeypatch):
    record = Ledger.record

    def careless(self, entry, answer):
        try:
            return record(self, entry, answer)
        except errors.LedgerError:
            return answer

    monkeypatch.setattr(Ledger, "record", careless)
    finding = failures._statements(pipeline, pipeline.questions[0], False)
    assert not finding.passed


def test_frames_that_keep_noisy_integers_are_found(pipeline, monkeypatch):
    monkeypatch.setattr(release, "_unseen", lambda work: work())
    finding = failures._statements(pipeline, pipeline.questions[0], False)
    assert not finding.passed
    assert "the error shows" in finding.told


def test_an_owner_s_entry_that_is_returned_and_not_kept_is_found(room, monkeypatch):
    total = Ledger.set_total

    def careless(self, *amounts):
        try:
            return total(self, *amounts)
        except errors.LedgerError:
            return None

    monkeypatch.setitem(failures._ACTS, "a new total", lambda ledger: careless(ledger, 5))
    with wired(Silent()):
        finding = failures._owner_statements(room)
    assert not finding.passed
    assert "an entry that was returned is not kept" in finding.told


# --- settings ---


def heard(path, *statements):
    settings = durable._Settings()
    with wired(settings, sync=True):
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("CREATE TABLE t (x)") if "CREATE" in statements else None
        for statement in (each for each in statements if each != "CREATE"):
            connection.commit() if statement == "COMMIT" else connection.execute(statement)
    return settings.faults


@pytest.mark.parametrize(
    ("statements", "fault"),
    [
        (["CREATE"], "CREATE outside a transaction"),
        (["BEGIN IMMEDIATE", "CREATE TABLE t (x)", "COMMIT"], "synchronous is 2 in journal mode delete, where 3"),
        (["PRAGMA synchronous=EXTRA", "BEGIN", "CREATE TABLE t (x)", "COMMIT"], "began with BEGIN, without a lock"),
        (["PRAGMA journal_mode=MEMORY", "BEGIN IMMEDIATE", "CREATE TABLE t (x)", "COMMIT"], "journal mode memory"),
        (["BEGIN IMMEDIATE", "CREATE TABLE t (x)", "COMMIT"], "fullfsync is 0, and 1 is due"),
    ],
)
def test_a_setting_that_is_not_durable_is_found(tmp_path, statements, fault):
    assert any(fault in each for each in heard(tmp_path / "t", *statements))


def test_settings_as_they_have_to_be_are_not_found(tmp_path):
    settings = ["PRAGMA synchronous=EXTRA", "PRAGMA fullfsync=ON"]
    assert heard(tmp_path / "t", *settings, "BEGIN IMMEDIATE", "CREATE TABLE t (x)", "COMMIT", "BEGIN", "COMMIT") == []


# --- caps ---


def own_cap_alone(self, last, mine, amount, amount_delta):
    limit = last if mine is None else {"total": mine["cap"], "spent": mine["cap_spent"]}
    if amount > limit["total"] - limit["spent"] or amount_delta > last["total_delta"] - last["spent_delta"]:
        self._refuse(amount, 0, 1, 10**9, "ε", "all")


def no_delta(self, last, mine, amount, amount_delta):
    left = min(last["total"] - last["spent"], *([] if mine is None else [mine["cap"] - mine["cap_spent"]]), 10**18)
    if amount > left:
        self._refuse(amount, 0, 1, 10**9, "ε", "all")


def one_too_few(self, last, mine, amount, amount_delta):
    left = min(last["total"] - last["spent"], *([] if mine is None else [mine["cap"] - mine["cap_spent"]]), 10**18)
    if amount >= left or amount_delta > last["total_delta"] - last["spent_delta"]:
        self._refuse(amount, 0, 1, 10**9, "ε", "all")


@pytest.mark.parametrize("wrong", [own_cap_alone, no_delta, one_too_few])
def test_L1_a_ledger_that_grants_otherwise_is_found(room, monkeypatch, wrong):
    monkeypatch.setattr(Ledger, "_refuse_beyond", wrong)
    (finding,) = caps.caps(room)
    assert not finding.passed


def test_the_model_is_the_budget_in_fractions():
    model = caps.Model([F(1), F(0)], caps={"ana": [F(4), F(0)]})
    assert model.charge("a", (F(3, 4), F(0)), "ana")
    assert not model.charge("b", (F(1, 2), F(0)), "ana")
    assert model.charge("a", (F(3, 4), F(0)), "nobody")
    assert not model.charge("c", (F(1, 4), F(1)), None)
    assert model.left() == (F(1, 4), 0)
    assert model.caps == {"ana": [F(4), F(3, 4)]}


# --- edited answers ---


def test_L4_a_ledger_that_shows_an_edited_answer_is_found(room, monkeypatch):
    monkeypatch.setattr("lapwing.ledger.ledger.sha256", lambda text: Same())
    (finding,) = shown.shown(room)
    assert not finding.passed
    assert "was shown" in finding.told


class Same(str):
    """A hash that is equal to all others."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = str.__hash__


def test_L2_a_ledger_that_answers_again_what_an_index_hides_is_found(room, monkeypatch):
    monkeypatch.setattr("lapwing.ledger.ledger.hidden_answer", lambda *_: None)
    monkeypatch.setattr("lapwing.ledger.store.is_whole", lambda _: True)
    (finding,) = shown.shown(room)
    assert not finding.passed


# --- servers ---


@pytest.fixture
def server(postgres, tmp_path):
    with engines([postgres]) as found:
        yield Room(tmp_path, engines=found)


def test_ledgers_on_a_server_hold_too(server):
    found = list(servers.servers(server))
    assert [each for each in found if not each.passed] == []
    assert len(found) == 5
    assert "1 servers were given" in found[-1].told


def test_commits_on_a_server_that_are_not_durable_are_found(server):
    def careless(connection):
        connection.exec_driver_sql("SET LOCAL synchronous_commit = off")

    with ExitStack() as stack:
        sa.event.listen(sa.Engine, "begin", careless)
        stack.callback(sa.event.remove, sa.Engine, "begin", careless)
        finding = servers._durable(server.engines[1].ledger())
    assert not finding.passed
    assert "synchronous_commit is off" in finding.told


# --- two who ask at once ---


def test_L2_who_is_second_and_shows_the_own_noise_is_found(room, monkeypatch):
    record = Ledger.record

    def own(self, entry, answer):
        record(self, entry, answer)
        return answer

    monkeypatch.setattr(Ledger, "record", own)
    same, rest = interleaved.interleaved(room)
    assert not same.passed
    assert rest.passed


def test_L1_a_charge_by_what_was_left_before_is_found(room, monkeypatch):
    check, turn = Ledger._refuse_beyond, Ledger._turn
    monkeypatch.setattr(Ledger, "_refuse_beyond", lambda self, last, *more: check(self, self.before, *more))

    @contextmanager
    def remembering(self, *, write=False):
        with turn(self, write=write) as found:
            self.before = found.last if not write or not hasattr(self, "before") else self.before
            yield found

    monkeypatch.setattr(Ledger, "_turn", remembering)
    same, rest = interleaved.interleaved(room)
    assert same.passed
    assert not rest.passed


def test_L3_a_ledger_that_is_half_made_is_found(room, monkeypatch):
    def in_place(file, where, wait, fill):
        file.write_bytes(b"")
        fill(store._sqlite(file, wait, "rwc"))

    with wired(Silent()):
        assert failures._making(room).passed
        monkeypatch.setattr(store, "put_new", in_place)
        assert not failures._making(room).passed
