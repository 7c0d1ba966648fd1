"""The ledger as its users meet it: entries, caps, messages, and what happens when the place fails."""

import os
import resource
import signal
import sqlite3
import threading
from contextlib import closing
from fractions import Fraction as F
from pathlib import Path

import pytest

import lapwing as lw
from lapwing import errors
from lapwing.ledger import store
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.search import charges_with

from ...claims.test_ledger import child, no_links, told


def test_a_new_ledger_has_everything_left(where):
    ledger = Ledger.open(where, epsilon=2, delta="1e-6")
    assert (ledger.total, ledger.spent, ledger.remaining) == (2, 0, 2)
    assert ledger.delta.remaining == F(1, 10**6)
    assert [entry.kind for entry in ledger.entries()] == ["open"]
    assert lw.Ledger is Ledger


def test_a_budget_lasts_when_opened_again(where):
    Ledger.open(where, epsilon=2).charge("a", "0.5")
    assert Ledger.open(where).remaining == Ledger.open(where, epsilon=2).remaining == F(3, 2)


def test_the_answer_comes_back_as_it_was_recorded(where):
    ledger = Ledger.open(where, epsilon=2)
    answer = {"rows": [{"ward": 'nörd "1"', "n": 412, "share": 0.25, "none": None}], "flag": True}
    entry = ledger.charge({"sql": "SELECT …", "version": 1}, "0.5")
    assert (entry.number, entry.answered, entry.repeated, entry.epsilon) == (2, False, False, F(1, 2))
    assert ledger.record(entry, answer) == answer
    assert ledger.record(entry, "another") == answer
    assert [(e.answered, e.answer) for e in ledger.entries(answers=True)][1] == (True, answer)
    assert [(e.answered, e.answer) for e in ledger.entries()] == [(False, None), (True, None), (False, None)]
    again = ledger.charge({"version": 1, "sql": "SELECT …"}, 0.5)
    assert (again.number, again.answer, again.repeated) == (2, answer, True)


def test_a_question_is_found_without_being_charged(where):
    ledger = Ledger.open(where, epsilon=2)
    assert ledger.find("a", 1) is None
    entry = ledger.charge("a", 1)
    assert ledger.find("a", 1).number == entry.number
    assert not ledger.find("a", 1).answered
    ledger.record(entry, 5)
    assert ledger.find("a", 1).answer == 5
    assert ledger.find("a", 2) is None
    assert ledger.spent == 1


def test_questions_are_the_same_when_their_json_is(where):
    ledger = Ledger.open(where, epsilon=2)
    same = [{9: "a", 10: "b"}, {"10": "b", "9": "a"}, {10: "b", 9: "a"}]
    assert len({ledger.charge(question, "0.1").number for question in same}) == 1
    other = [1, 1.0, True, "1", [1], (1, 2)]
    assert len({ledger.charge(question, "0.1").number for question in other}) == 6


def test_only_what_charge_returned_is_recorded(where):
    from dataclasses import replace

    ledger = Ledger.open(where, epsilon=2)
    entry = ledger.charge("a", 1)
    for thing in (None, 2, "2"):
        with pytest.raises(errors.InvalidParameter, match="entry"):
            ledger.record(thing, 1)
    assert ledger.record(replace(entry, number=2.0), 7) == 7
    assert ledger.verify() == 3


def test_null_is_an_answer(where):
    ledger = Ledger.open(where, epsilon=2)
    ledger.record(ledger.charge("a", 1), None)
    assert ledger.charge("a", 1).answered


def test_another_epsilon_delta_or_question_is_another_charge(where):
    ledger = Ledger.open(where, epsilon=2, delta="0.1")
    numbers = {
        ledger.charge("a", "0.1").number,
        ledger.charge("a", "0.2").number,
        ledger.charge("a", "0.1", "1e-9").number,
        ledger.charge("b", "0.1").number,
        ledger.charge(["a"], "0.1").number,
        ledger.charge("a", "0.10").number,
    }
    assert len(numbers) == 5


def test_a_question_is_shared_between_analysts(where):
    ledger = Ledger.open(where, epsilon=2)
    ledger.add_analyst("ana", 1)
    ledger.add_analyst("bea", 1)
    ledger.record(ledger.charge("a", "0.5", analyst="ana"), 7)
    assert ledger.charge("a", "0.5", analyst="bea").answer == 7
    assert [each.spent for each in ledger.analysts()] == [F(1, 2), 0]


def test_caps_hold_under_the_total(where):
    ledger = Ledger.open(where, epsilon=1)
    ledger.add_analyst("ana", "0.3")
    ledger.add_analyst("bea", 1)
    ledger.charge("a", "0.3", analyst="ana")
    with pytest.raises(errors.BudgetExceeded) as caught:
        ledger.charge("b", "0.1", analyst="ana")
    assert str(caught.value) == (
        'This release asks for ε = 0.1, and analyst "ana" has 0 left of 0.3. No row was read and nothing was charged. '
        f"Nothing more can be asked, or see `lapwing ledger {ledger.where}`."
    )
    with pytest.raises(errors.BudgetExceeded) as caught:
        ledger.charge("b", "0.8", analyst="bea")
    assert str(caught.value) == (
        f'This release asks for ε = 0.8, and ledger "{ledger.where}" has 0.7 left of 1. No row was read and nothing '
        f"was charged. Ask for ε ≤ 0.7, or see `lapwing ledger {ledger.where}`."
    )
    ledger.charge("b", "0.7", analyst="bea")
    assert ledger.remaining == 0
    with pytest.raises(errors.InvalidParameter, match="cleo"):
        ledger.charge("c", "0.1", analyst="cleo")


def test_a_cap_can_be_lowered_below_what_is_spent_and_raised_again(where):
    ledger = Ledger.open(where, epsilon=5)
    ledger.add_analyst("ana", 2)
    ledger.charge("a", 1, analyst="ana")
    ledger.set_cap("ana", "0.5", note="leaves in May")
    assert ledger.budget("ana").remaining == 0
    with pytest.raises(errors.BudgetExceeded, match=r"0 left of 0\.5"):
        ledger.charge("b", "0.1", analyst="ana")
    ledger.set_cap("ana", 3)
    assert ledger.budget("ana").remaining == 2
    assert ledger.verify() == 5


def test_what_is_left_to_an_analyst_is_never_more_than_what_is_left_of_the_total(where):
    ledger = Ledger.open(where, epsilon=2)
    ledger.add_analyst("ana", 3)
    ledger.add_analyst("bea", "0.5")
    ledger.charge("a", "0.25", analyst="ana")
    assert [each.remaining for each in ledger.analysts()] == [F("1.75"), F("0.5")]
    assert ledger.budget("ana").to_dict()["remaining"] == "1.75"
    ledger.charge("b", "1.5")
    assert [each.remaining for each in ledger.analysts()] == [F("0.25"), F("0.25")]
    ledger.set_total(1)
    assert [each.remaining for each in ledger.analysts()] == [0, 0]


def test_the_total_is_raised_by_an_entry_of_its_own_and_never_silently(where):
    ledger = Ledger.open(where, epsilon=1)
    with pytest.raises(errors.LedgerError, match="opened with the total ε = 2, but it has 1"):
        Ledger.open(where, epsilon=2)
    with pytest.raises(errors.LedgerError, match=r"δ = 0\.1, but it has 0"):
        Ledger.open(where, delta="0.1")
    entry = ledger.set_total(2, note="board decision 7")
    assert (entry.kind, entry.epsilon, entry.note) == ("total", 2, "board decision 7")
    assert Ledger.open(where, epsilon=2).remaining == 2
    ledger.set_total("0.5")
    ledger.charge("a", "0.5")
    assert ledger.verify() == 4


def test_delta_is_counted_too(where):
    ledger = Ledger.open(where, epsilon=5, delta="1e-6")
    ledger.charge("a", 1, "6e-7")
    with pytest.raises(errors.BudgetExceeded, match=r"δ = 0\.0000005, and ledger"):
        ledger.charge("b", 1, "5e-7")
    ledger.charge("b", 1, "4e-7")
    assert ledger.delta.remaining == 0
    assert Ledger.open(where).spent == 2


@pytest.mark.parametrize("delta", [1, -1, "x", "1e-19", float("nan"), True])
def test_other_deltas_are_refused(tmp_path, delta):
    with pytest.raises(errors.InvalidParameter, match="δ"):
        Ledger.open(tmp_path / "a", epsilon=1).charge("a", 1, delta)


@pytest.mark.parametrize("epsilon", [0, -1, 1001, "x", float("nan"), 1e-10, True])
def test_T17_other_epsilons_are_refused(tmp_path, epsilon):
    ledger = Ledger.open(tmp_path / "a", epsilon=1)
    with pytest.raises(errors.InvalidEpsilon):
        ledger.charge("a", epsilon)
    with pytest.raises(errors.InvalidEpsilon):
        Ledger.open(tmp_path / "b", epsilon=epsilon)
    assert not (tmp_path / "b").exists()
    assert ledger.spent == 0


@pytest.mark.parametrize("thing", [object(), {1, 2}, float("nan"), [float("inf")], b"x"])
def test_what_json_cannot_hold_is_refused(tmp_path, thing):
    ledger = Ledger.open(tmp_path / "a", epsilon=1)
    with pytest.raises(errors.InvalidValue, match=r"that JSON cannot hold.*The question is made of"):
        ledger.charge(thing, 1)
    entry = ledger.charge("a", 1)
    with pytest.raises(errors.InvalidValue, match="The answer is made of"):
        ledger.record(entry, thing)
    assert ledger.record(entry, 5) == 5


@pytest.mark.parametrize("name", ["", " ana", "a\nb", "x" * 201, None, 5])
def test_names_are_printable(tmp_path, name):
    with pytest.raises(errors.InvalidParameter, match="analyst"):
        Ledger.open(tmp_path / "a", epsilon=1).add_analyst(name, 1)


def test_an_analyst_is_added_once_and_known_before_a_cap_is_set(where):
    ledger = Ledger.open(where, epsilon=1)
    with pytest.raises(errors.InvalidParameter, match="one in the ledger"):
        ledger.set_cap("ana", 1)
    ledger.add_analyst("ana", 1)
    with pytest.raises(errors.InvalidParameter, match="a name not in the ledger yet"):
        ledger.add_analyst("ana", 1)


def test_an_entry_of_another_ledger_is_not_recorded(tmp_path):
    mine, other = Ledger.open(tmp_path / "a", epsilon=1), Ledger.open(tmp_path / "b", epsilon=1)
    entry = other.charge("b", 1)
    mine.charge("a", 1)
    with pytest.raises(errors.LedgerError, match="has no such charge"):
        mine.record(entry, 1)


def test_a_password_is_never_shown(caplog):
    with pytest.raises(errors.LedgerError) as caught:
        Ledger.open("postgresql://ana:secret-4711@127.0.0.1:1/none", wait=2)
    assert "4711" not in str(caught.value) + repr(caught.value) + caplog.text
    assert 'Ledger "postgresql://127.0.0.1/none" cannot be reached' in str(caught.value)
    for url in (
        "postgresql://ana:pa@4711@127.0.0.1:1/none",
        "postgresql:///x?host=h&user=ana&password=4711",
        "postgresql://h/x?sslpassword=4711",
        "postgresql://h/x?autocommit=1",
        "postgresql://h:4711x/x",
    ):
        with pytest.raises(errors.InvalidAddress, match="it is not shown") as refused:
            Ledger.open(url)
        assert "4711" not in str(refused.value) + repr(refused.value) + caplog.text


# --- when the place fails: one clear error, nothing granted ---


def test_a_file_that_is_not_there_is_not_made_without_a_total(tmp_path):
    with pytest.raises(errors.NoLedger, match="There is no ledger"):
        Ledger.open(tmp_path / "none.ledger")
    assert not (tmp_path / "none.ledger").exists()
    with pytest.raises(errors.LedgerError, match="there is no folder"):
        Ledger.open(tmp_path / "no folder" / "a.ledger", epsilon=1)
    for place in (
        "mysql://somewhere", "postgres//ana:4711@h", "host=h password=4711", "Password = 4711", "", "a\0b", None, b"x",
        5, Path("postgresql://ana:4711@h/x"),
    ):  # fmt: skip
        with pytest.raises(errors.RequestError, match="postgresql:// URL") as caught:
            Ledger.open(place, epsilon=1)
        assert "4711" not in str(caught.value)
    for place in ("~nosuchuser/x", "x" * 300):
        with pytest.raises(errors.LedgerError):
            Ledger.open(place, epsilon=1)
    for wait in (0, -1, None, "x", float("inf")):
        with pytest.raises(errors.InvalidParameter, match="wait"):
            Ledger.open(tmp_path / "a", epsilon=1, wait=wait)


def test_an_empty_postgresql_database_is_no_ledger(postgres):
    with pytest.raises(errors.NoLedger):
        Ledger.open(postgres)


def test_a_file_that_is_not_a_ledger_is_left_alone(tmp_path):
    text, database = tmp_path / "a.txt", tmp_path / "b.db"
    text.write_text("patients\n" * 100)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE visits (a)")
        connection.commit()
    for path, reason in ((text, "is not a ledger but some other file"), (database, "is not a ledger but another")):
        before = path.read_bytes()
        with pytest.raises(errors.LedgerError, match=reason):
            Ledger.open(path, epsilon=1)
        assert path.read_bytes() == before


def test_T26_nothing_is_made_into_an_empty_file(tmp_path):
    """A ledger that was spent and then truncated looks like nothing at all: it is not a place for a new one."""
    path = tmp_path / "a.ledger"
    Ledger.open(path, epsilon=1).charge("a", 1)
    path.write_bytes(b"")
    for total in (1, None):
        with pytest.raises(errors.LedgerError) as caught:
            Ledger.open(path, epsilon=total)
        assert str(caught.value) == (
            f'Ledger "{path}" is an empty file, not a ledger. Nothing was granted. If it was a ledger, restore it from '
            "a copy: a new one would start at zero. If it never was, remove it, and a new one can be made."
        )
    assert path.read_bytes() == b""
    path.unlink()
    assert Ledger.open(path, epsilon=1).remaining == 1


def test_T26_an_open_ledger_that_is_emptied_says_so(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    path.write_bytes(b"")
    with pytest.raises(errors.LedgerError, match="is damaged: its tables are gone"):
        ledger.charge("a", 1)
    assert path.read_bytes() == b""


def test_a_path_that_is_too_long_is_named(tmp_path):
    long = tmp_path / ("x" * 300)
    for total in (None, 2):
        with pytest.raises(errors.LedgerError, match=str(long)):
            Ledger.open(long, total)


def test_what_is_not_a_file_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "folder", tmp_path / "pipe", "/dev/null"):
        with pytest.raises(errors.LedgerError, match="is not a file"):
            Ledger.open(place, epsilon=1)
    (tmp_path / "text").write_text("x")
    with pytest.raises(errors.LedgerError, match="there is no folder"):
        Ledger.open(tmp_path / "text" / "a.ledger", epsilon=1)


def test_T26_a_journal_that_was_left_behind_is_not_taken_for_that_of_a_new_ledger(tmp_path):
    path, journal = tmp_path / "a.ledger", tmp_path / "a.ledger-journal"
    journal.write_bytes(b"what SQLite wrote before it was killed")
    with pytest.raises(errors.LedgerError, match="has gone, but its journal"):
        Ledger.open(path, epsilon=1)
    assert not path.exists()
    journal.unlink()
    assert Ledger.open(path, epsilon=1).remaining == 1


def test_a_journal_of_one_that_was_made_meanwhile_is_no_reason_to_refuse(tmp_path, monkeypatch):
    """Between the look and the making somebody else makes the ledger, and is writing to it."""
    path, journal = tmp_path / "a.ledger", tmp_path / "a.ledger-journal"
    first = Ledger.open(path, epsilon=1)
    there = iter([False, True])
    monkeypatch.setattr(store, "may_be_there", lambda kept: next(there))
    with first._turn(write=True) as turn:
        first._append(turn, kind="total", epsilon=10**9, delta=0)
        assert journal.exists()
        maker = threading.Thread(target=lambda: made.append(Ledger.open(path, epsilon=1)))
        made = []
        maker.start()
        maker.join(0.5)
    maker.join()
    assert [ledger.verify() for ledger in made] == [2]


def test_a_link_to_a_file_that_is_not_there_yet_leads_to_the_new_ledger(tmp_path):
    folder, link = tmp_path / "folder", tmp_path / "link.ledger"
    folder.mkdir()
    link.symlink_to(folder / "a.ledger")
    Ledger.open(link, epsilon=1).charge("a", "0.5")
    assert link.is_symlink()
    assert Ledger.open(folder / "a.ledger").remaining == F(1, 2)


def test_a_new_ledger_is_made_where_there_are_no_hard_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "a.ledger"
    made = []
    threads = [threading.Thread(target=lambda: made.append(Ledger.open(path, epsilon=1))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, ledger in enumerate(made):
        ledger.charge(i, "0.1")
    assert Ledger.open(path).spent == F(6, 10)
    assert [each.name for each in tmp_path.iterdir()] == ["a.ledger"]


def test_a_name_that_is_taken_meanwhile_is_left_alone(tmp_path, monkeypatch):
    """Between the look and the link somebody puts a file there: it stays as it is."""
    path = tmp_path / "a.ledger"
    for link in (os.link, no_links):

        def late(made, target, link=link):
            path.write_text("mine")
            link(made, target)

        monkeypatch.setattr(os, "link", late)
        with pytest.raises(errors.LedgerError, match="is not a ledger but some other file"):
            Ledger.open(path, epsilon=1)
        assert path.read_text() == "mine"
        path.unlink()
    assert list(tmp_path.iterdir()) == []


def test_a_new_ledger_has_the_rights_that_new_files_have(tmp_path):
    path = tmp_path / "a.ledger"
    before = os.umask(0o027)
    try:
        Ledger.open(path, epsilon=1)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.stat().st_nlink == 1


@pytest.mark.parametrize("name", ["a b", "50%", "a?mode=memory", "#1", "ä", "a%2fb"])
def test_odd_names_of_files_are_taken_as_they_are(tmp_path, name):
    Ledger.open(tmp_path / name, epsilon=1).charge("a", 1)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert Ledger.open(tmp_path / name).remaining == 0


def test_T26_a_postgresql_ledger_that_lost_a_table_is_not_made_anew(postgres):
    import psycopg

    ledger = Ledger.open(postgres, epsilon=1)
    ledger.charge("a", 1)
    with psycopg.connect(postgres, autocommit=True) as owner:
        for statement, reason in (
            ("DELETE FROM lapwing_ledger", "its head is missing"),
            ("DROP TABLE lapwing_ledger", "it has no table lapwing_ledger"),
            ("DELETE FROM lapwing_entries", "it has no table lapwing_ledger"),
            ("DROP TABLE lapwing_entries", "it has no table lapwing_entries"),
        ):
            owner.execute(statement)
            with pytest.raises(errors.LedgerError, match=f"is damaged: {reason}"):
                Ledger.open(postgres, epsilon=1)
            with pytest.raises(errors.LedgerError, match="is damaged"):
                ledger.charge("b", 1)


def test_T26_a_postgresql_ledger_is_found_on_the_whole_search_path(postgres):
    """A schema of the user's name, made later, comes first on the path: it is no place for a second budget."""
    import psycopg

    Ledger.open(postgres, epsilon=1).charge("a", 1)
    with psycopg.connect(postgres, autocommit=True) as owner:
        owner.execute("CREATE SCHEMA AUTHORIZATION CURRENT_USER")
    assert Ledger.open(postgres, epsilon=1).remaining == 0
    with psycopg.connect(postgres) as reader:
        assert reader.execute("SELECT count(*) FROM pg_class WHERE relname = 'lapwing_ledger'").fetchone() == (1,)


def test_an_unknown_version_is_refused(where, tmp_path):
    import sqlalchemy as sa

    ledger = Ledger.open(where, epsilon=1)
    with ledger._transaction(write=True) as connection:
        connection.execute(sa.text("UPDATE lapwing_ledger SET version = 2"))
    with pytest.raises(errors.LedgerError, match="does not know"):
        Ledger.open(where)
    with pytest.raises(errors.LedgerError):
        ledger.charge("a", 1)


def test_a_locked_ledger_says_so(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1, wait=0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(errors.LedgerError, match="is busy"):
            ledger.charge("a", 1)
        other.execute("ROLLBACK")
    assert ledger.spent == 0


def test_a_locked_postgresql_says_so(postgres):
    import psycopg

    ledger = Ledger.open(postgres, epsilon=1, wait=0.2)
    with psycopg.connect(postgres) as other:
        other.execute("SELECT * FROM lapwing_ledger FOR UPDATE")
        with pytest.raises(errors.LedgerError, match="is busy"):
            ledger.charge("a", 1)
    assert ledger.spent == 0


def test_a_full_disk_grants_nothing(tmp_path):
    """A real write error: the process may not make files larger than now."""
    path = str(tmp_path / "a.ledger")
    ledger = Ledger.open(path, epsilon=100)

    def work(write) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = os.path.getsize(path) + 20_000  # noqa: PTH202 - pathlib imports would need to read files
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        mine = Ledger.open(path)
        for i in range(100):
            try:
                mine.charge(["x" * 3000, i], "0.01")
            except errors.LedgerError as error:
                write(f'["refused", "{str(error).split(chr(34))[2][:17]}", {i}]')
                return

    process, receive = child(work)
    os.waitpid(process, 0)
    ((_, reason, granted),) = told(receive)
    assert reason == " cannot be written"[:17]
    assert ledger.spent == F(granted, 100)
    ledger.verify()
    ledger.charge("room again", "0.01")


def test_a_read_only_ledger_grants_nothing(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    path = folder / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    ledger.charge("a", "0.1")
    path.chmod(0o444)
    folder.chmod(0o555)
    for parent in [tmp_path, *tmp_path.parents]:
        if parent.stat().st_uid == os.getuid() and str(parent).startswith("/tmp/pytest"):
            parent.chmod(0o755)

    def work(write) -> None:
        if os.getuid() == 0:
            os.setuid(65534)  # root may write everything
        try:
            Ledger.open(str(path)).charge("b", "0.1")
        except errors.LedgerError as error:
            reason = str(error).replace('"', "'")
            write(f'["refused", "{reason}"]')

    process, receive = child(work)
    os.waitpid(process, 0)
    folder.chmod(0o755)
    path.chmod(0o644)
    ((_, reason),) = told(receive)
    assert "read-only" in reason or "cannot be opened" in reason
    assert Ledger.open(path).spent == F(1, 10)


def test_T26_a_file_that_is_replaced_is_seen_by_those_who_have_it_open(tmp_path):
    path, other = tmp_path / "a.ledger", tmp_path / "b.ledger"
    ledger, second = Ledger.open(path, epsilon=1), Ledger.open(other, epsilon=1)
    ledger.charge("a", "0.5")
    second.charge("b", "0.9")
    other.replace(path)
    with pytest.raises(errors.LedgerError) as caught:
        ledger.charge("c", "0.1")
    assert str(caught.value) == (
        f'Ledger "{path}" lacks entry 2 as it was seen before: an older copy or another ledger was put in its place. '
        "Nothing was granted. "
        "Put the newer one back: with an older copy, what was spent since would be spent twice."
    )
    assert Ledger.open(path).remaining == F(1, 10)


def test_T26_a_file_that_is_removed_grants_nothing(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    path.unlink()
    with pytest.raises(errors.LedgerError):
        ledger.charge("a", "0.5")
    assert not path.exists()


def test_a_forked_child_opens_connections_of_its_own(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    ledger.charge("parent", "0.1")

    def work(write) -> None:
        ledger.charge("child", "0.1")
        write('["done"]')

    process, receive = child(work)
    os.waitpid(process, 0)
    assert told(receive) == [["done"]]
    ledger.charge("parent again", "0.1")
    assert ledger.spent == F(3, 10)
    ledger.verify()


@pytest.mark.parametrize(
    ("edit", "ask"),
    [
        ("UPDATE lapwing_entries SET spent = 0 WHERE number = 5", lambda ledger: ledger.charge("new", "0.1")),
        ("UPDATE lapwing_entries SET cap = 9 WHERE number = 3", lambda it: it.charge("b", "0.1", analyst="ana")),
        ("UPDATE lapwing_entries SET epsilon = 1 WHERE number = 3", lambda ledger: ledger.charge("a", "0.1")),
        ("UPDATE lapwing_entries SET answer = 'x' WHERE number = 4", lambda ledger: ledger.charge("a", "0.1")),
        ("UPDATE lapwing_answers SET text = '8'", lambda ledger: ledger.charge("a", "0.1")),
    ],
)
def test_T26_an_edit_behind_an_open_ledger_is_found_by_the_charge_that_relies_on_it(tmp_path, edit, ask):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    ledger.add_analyst("ana", 1)
    ledger.record(ledger.charge("a", "0.1", analyst="ana"), 7)
    ledger.charge("last", "0.1")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(edit)
        connection.commit()
    with pytest.raises(errors.LedgerError, match="is damaged"):
        ask(ledger)


def test_commits_are_durable_whatever_the_server_s_default_is(where):
    ledger = Ledger.open(where, epsilon=1)
    sqlite = where.endswith(".ledger")
    if not sqlite:
        with ledger._engine.begin() as connection:
            name = connection.exec_driver_sql("SELECT current_database()").scalar()
            connection.exec_driver_sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
            connection.exec_driver_sql(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    with ledger._transaction(write=True) as connection:
        mode = connection.exec_driver_sql("PRAGMA synchronous" if sqlite else "SHOW synchronous_commit").scalar()
        assert mode == (3 if sqlite else "on")
        if not sqlite:
            assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"


def test_two_who_make_it_at_once_make_one(where):
    made = []
    threads = [threading.Thread(target=lambda: made.append(Ledger.open(where, epsilon=1))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6
    assert Ledger.open(where).verify() == 1


def test_T24_the_database_s_words_go_to_the_log_only(tmp_path, caplog):
    path = tmp_path / "a.txt"
    path.write_text("no database here, secret-4711\n" * 50)
    with pytest.raises(errors.LedgerError) as caught:
        Ledger.open(path)
    assert "sqlite" not in str(caught.value).lower()
    assert "sqlite3" in caplog.text
    assert "4711" not in caplog.text


# --- a file that was edited, while it is open and between two openings ---


def edited(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def emptied(index):
    """Return statements that make an index empty, while the rows of its table stay."""
    empty = "(SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = 'decoy')"
    change = f"UPDATE sqlite_master SET rootpage = {empty} WHERE name = '{index}'"
    return "CREATE TABLE decoy (x TEXT UNIQUE)", "PRAGMA writable_schema = ON", change


@pytest.mark.parametrize("number", [1, 2])
def test_L2_an_index_that_lacks_its_rows_gives_no_second_answer(tmp_path, number):
    path = tmp_path / "visits.ledger"
    ledger = Ledger.open(path, 2)
    ledger.record(ledger.charge("a", 1), 5)
    ledger.charge("b", "0.5")
    edited(path, *emptied(f"sqlite_autoindex_lapwing_entries_{number}"))
    with pytest.raises(errors.LedgerError, match="the file is damaged"):
        Ledger.open(path)
    if number == 1:  # of keys
        assert ledger.find("a", 1).answer == ledger.charge("a", 1).answer == 5
    else:
        with pytest.raises(errors.LedgerError, match="entry 3: the index lacks it"):
            ledger.charge("a", 1)
    assert ledger.spent == F(3, 2)


@pytest.mark.parametrize("number", [1, 2])
def test_L4_an_index_that_lacks_its_rows_hides_no_answer_from_a_search(tmp_path, number):
    path = tmp_path / "visits.ledger"
    ledger = Ledger.open(path, 2)
    ledger.record(ledger.charge({"query": "a"}, 1), 5)
    ledger.charge({"query": "b"}, "0.5")
    edited(path, *emptied(f"sqlite_autoindex_lapwing_entries_{number}"))
    assert [(each.number, each.answered) for each in charges_with(ledger, '"query":')] == [(4, False), (2, True)]


def test_L4_an_index_that_lacks_its_rows_hides_no_analyst(tmp_path):
    path = tmp_path / "visits.ledger"
    ledger = Ledger.open(path, 2)
    ledger.add_analyst("ana", 1)
    edited(path, *emptied("lapwing_entries_analyst"))
    assert [each.analyst for each in ledger.analysts()] == ["ana"]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM lapwing_entries WHERE number = 3",
        "UPDATE lapwing_entries SET charge = 77 WHERE number = 3",
        "UPDATE lapwing_entries SET charge = 4 WHERE number = 3",
    ],
)
def test_L2_an_answer_that_is_removed_while_the_ledger_is_open_is_not_given_again(tmp_path, change):
    path = tmp_path / "visits.ledger"
    ledger = Ledger.open(path, 2)
    entry = ledger.charge("a", 1)
    ledger.record(entry, 5)
    ledger.charge("b", "0.5")
    edited(path, change)
    for call in (lambda: ledger.charge("a", 1), lambda: ledger.find("a", 1), lambda: ledger.record(entry, 6)):
        with pytest.raises(errors.LedgerError, match="entry 3: is missing, or does not match its hash"):
            call()


def test_L4_an_answer_that_was_edited_is_not_listed(tmp_path):
    path = tmp_path / "visits.ledger"
    ledger = Ledger.open(path, 2)
    ledger.record(ledger.charge("a", 1), 5)
    edited(path, "UPDATE lapwing_answers SET text = '6'")
    assert [entry.answered for entry in ledger.entries()] == [False, True, False]
    with pytest.raises(errors.LedgerError, match="entry 3: its answer is not the one recorded"):
        ledger.entries(answers=True)


def test_L4_an_entry_that_was_edited_is_not_listed(tmp_path):
    path = tmp_path / "visits.ledger"
    ledger = Ledger.open(path, 2)
    ledger.charge("a", 1)
    ledger.charge("b", "0.5")
    edited(path, "UPDATE lapwing_entries SET epsilon = 1 WHERE number = 2")
    with pytest.raises(errors.LedgerError, match="entry 2: does not match its hash"):
        ledger.entries()
