"""Backups of a ledger: taken while others write, and put back without spending twice what is known to be spent."""

import json
import shutil
import sqlite3
import stat
import subprocess
import sys
import textwrap
from contextlib import closing
from fractions import Fraction as F
from pathlib import Path

import pytest
from click.testing import CliRunner

from lapwing import errors
from lapwing.cli.main import main
from lapwing.ledger import backup
from lapwing.ledger.backup import back_up, restore
from lapwing.ledger.ledger import Ledger


def ask(ledger, question, epsilon, analyst=None):
    ledger.record(ledger.charge(question, epsilon, analyst=analyst), {"n": question})


@pytest.fixture
def ledger(where):
    made = Ledger.open(where, epsilon=2, delta="1e-6")
    made.add_analyst("ana", 1)
    ask(made, "a", "0.5", "ana")
    return made


def test_a_backup_is_the_same_ledger_and_nobody_may_write_to_it(ledger, where, tmp_path):
    copy = tmp_path / "copy.backup"
    last = back_up(ledger, copy)
    assert (last.number, last.hash) == (4, ledger.head)
    assert Ledger.open(copy).entries(answers=True) == ledger.entries(answers=True)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o400
    with pytest.raises(errors.InvalidRequest, match="already"):
        back_up(ledger, copy)
    with pytest.raises(errors.InvalidRequest, match="A backup is a file"):
        back_up(ledger, "postgresql://localhost/backup")


def test_a_backup_is_not_made_of_a_damaged_ledger_nor_without_the_head_that_was_kept(tmp_path):
    ledger = Ledger.open(tmp_path / "visits.ledger", epsilon=2)
    ask(ledger, "a", 1)
    with pytest.raises(errors.LedgerError, match="This head is not in the ledger"):
        back_up(ledger, tmp_path / "copy", head="0" * 64)
    with closing(sqlite3.connect(tmp_path / "visits.ledger")) as opened:
        opened.execute("UPDATE lapwing_entries SET epsilon = 1 WHERE number = 2")
        opened.commit()
    with pytest.raises(errors.LedgerError, match="entry 2: does not match its hash"):
        back_up(ledger, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_backups_taken_while_another_process_charges_are_sound(where, ledger, tmp_path):
    writing = textwrap.dedent("""
        import sys
        from lapwing.ledger.ledger import Ledger
        ledger, asked = Ledger.open(sys.argv[1]), 0
        for line in sys.stdin:
            for _ in range(8):
                ledger.record(ledger.charge(["w", asked], "0.001"), asked)
                asked += 1
            print(asked, flush=True)
    """)
    with subprocess.Popen(
        [sys.executable, "-c", writing, where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        copies = []
        for number in range(6):
            process.stdin.write("go\n")  # it charges while the copy is taken
            process.stdin.flush()
            copies.append(back_up(Ledger.open(where), tmp_path / str(number)))
            assert process.stdout.readline() == f"{8 * number + 8}\n"
        process.stdin.close()
    for number, last in enumerate(copies):
        assert 4 + 16 * number <= last.number <= 4 + 16 * (number + 1)
        assert Ledger.open(tmp_path / str(number)).verify(last.hash) == last.number
        ledger.verify(last.hash)
    assert ledger.spent == F("0.548")


def test_a_lost_ledger_comes_back_whole_with_the_head_that_was_kept(ledger, where, tmp_path):
    head = back_up(ledger, tmp_path / "copy").hash
    new = str(tmp_path / "new.ledger")
    done = restore(new, tmp_path / "copy", head)
    assert (done.entries, done.head, done.written_off) == (4, head, ())
    again = Ledger.open(new, epsilon=2)
    assert again.remaining == F(3, 2)
    assert again.find("a", "0.5").answer == {"n": "a"}
    ask(again, "b", "0.25", "ana")
    assert again.budget("ana").remaining == F(1, 4)


@pytest.mark.parametrize("head", [None, "0" * 64, "an older one"])
def test_of_a_lost_ledger_nothing_remains_unless_the_head_that_was_kept_is_the_last_of_the_copy(tmp_path, head):
    ledger = Ledger.open(tmp_path / "visits.ledger", epsilon=2, delta="1e-6")
    head = ledger.head if head == "an older one" else head
    ask(ledger, "a", "0.5")
    back_up(ledger, tmp_path / "copy")
    new = str(tmp_path / "new.ledger")
    with pytest.raises(errors.LedgerError, match="so nobody knows what was charged after the copy was taken"):
        restore(new, tmp_path / "copy", head)
    assert not Path(new).exists()
    done = restore(new, tmp_path / "copy", head, write_off=True)
    assert [(each.kind, each.epsilon, each.delta) for each in done.written_off] == [("total", F(1, 2), 0)]
    again = Ledger.open(new)
    assert (again.remaining, again.delta.remaining) == (0, 0)
    assert again.charge("a", "0.5").answer == {"n": "a"}
    with pytest.raises(errors.BudgetExceeded):
        again.charge("b", "0.1")
    assert "nobody knows" in again.entries()[-1].note


def test_an_older_copy_is_refused_in_words_and_what_it_lacks_is_written_off(ledger, where, tmp_path):
    back_up(ledger, tmp_path / "copy")
    ask(ledger, "b", "0.25", "ana")
    ask(ledger, "c", "0.5")
    ledger.add_analyst("bob", 1)
    ask(ledger, "d", "0.125", "bob")
    head = ledger.head
    with pytest.raises(errors.LedgerError) as refused:
        restore(where, tmp_path / "copy")
    told = str(refused.value)
    assert (
        "was not replaced: the copy lacks 7 of its entries, with 3 charges of ε = 7/8 in all; it does not know the "
        "analysts bob. Nothing was granted. Find a newer copy, or confirm with --write-off"
    ) in told.replace("0.875", "7/8")
    assert Ledger.open(where).head == head
    done = restore(where, tmp_path / "copy", write_off=True)
    assert [(each.kind, each.analyst) for each in done.written_off] == [("total", None), ("analyst", "ana")]
    again = Ledger.open(where)
    assert (again.spent, again.remaining, again.total) == (F("0.5"), F("0.625"), F("1.125"))
    assert again.budget("ana").remaining == F("0.25")
    with pytest.raises(errors.LedgerError, match="an older copy or another ledger was put in its place"):
        ledger.charge("e", "0.1")  # a server that has it open
    assert again.verify() == done.entries == 6


def test_a_charge_whose_answer_the_copy_lacks_counts_twice_since_it_may_be_answered_twice(ledger, where, tmp_path):
    waiting = ledger.charge("b", "0.25", analyst="ana")
    back_up(ledger, tmp_path / "copy")
    ledger.record(waiting, {"n": "seen"})
    with pytest.raises(errors.LedgerError, match="0 charges and 1 answers to charges that it has, of"):
        restore(where, tmp_path / "copy")
    restore(where, tmp_path / "copy", write_off=True)
    again = Ledger.open(where)
    assert (again.spent, again.remaining, again.budget("ana").remaining) == (F("0.75"), 1, 0)
    assert not again.charge("b", "0.25", analyst="ana").answered


def test_where_nobody_knows_what_was_answered_no_charge_gets_an_answer(ledger, tmp_path):
    waiting = ledger.charge("b", "0.25", analyst="ana")
    back_up(ledger, tmp_path / "copy")
    ledger.record(waiting, {"n": "seen"})
    done = restore(str(tmp_path / "new"), tmp_path / "copy", write_off=True)
    assert [(each.kind, each.charge) for each in done.written_off] == [("answer", waiting.number), ("total", None)]
    again = Ledger.open(tmp_path / "new")
    found = again.charge("b", "0.25", analyst="ana")
    assert found.answered
    assert set(found.answer) == {"lost"}
    assert again.record(found, {"n": "other noise"}) == found.answer
    again.verify()


def test_a_newer_copy_and_the_same_one_are_put_back_without_loss(ledger, where, tmp_path):
    back_up(ledger, tmp_path / "old")
    ask(ledger, "b", "0.25")
    head = back_up(ledger, tmp_path / "copy").hash
    assert restore(where, tmp_path / "copy").head == head
    restore(where, tmp_path / "old", write_off=True)
    with pytest.raises(errors.LedgerError, match="the copy lacks 1 of its entries, with 0 charges of ε = 0 in all"):
        restore(where, tmp_path / "copy")


def test_a_kept_head_that_neither_has_writes_everything_off(ledger, where, tmp_path):
    back_up(ledger, tmp_path / "copy")
    with pytest.raises(errors.LedgerError, match="the copy lacks the head that was kept elsewhere"):
        restore(where, tmp_path / "copy", "0" * 64)
    restore(where, tmp_path / "copy", "0" * 64, write_off=True)
    assert Ledger.open(where).remaining == 0


def test_the_copy_of_another_ledger_is_refused(ledger, where, tmp_path):
    other = Ledger.open(tmp_path / "other.ledger", epsilon=3)
    back_up(other, tmp_path / "copy")
    with pytest.raises(errors.LedgerError, match="the copy is that of another ledger"):
        restore(where, tmp_path / "copy", write_off=True)
    with pytest.raises(errors.NoLedger):
        restore(where, tmp_path / "nothing")


def test_a_damaged_ledger_is_left_alone(tmp_path):
    ledger = Ledger.open(tmp_path / "visits.ledger", epsilon=2)
    back_up(ledger, tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "visits.ledger")) as opened:
        opened.execute("DELETE FROM lapwing_entries")
        opened.commit()
    with pytest.raises(errors.LedgerError, match="move it away first"):
        restore(str(tmp_path / "visits.ledger"), tmp_path / "copy", write_off=True)


def test_a_restore_that_fails_in_the_middle_changes_nothing(ledger, where, tmp_path, monkeypatch):
    back_up(ledger, tmp_path / "copy")
    ask(ledger, "b", "0.25")
    head = ledger.head
    monkeypatch.setattr("lapwing.ledger.backup._lower_total", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        restore(where, tmp_path / "copy", write_off=True)
    assert Ledger.open(where).verify(head) == 6


def test_the_commands_copy_and_put_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = lambda *words: CliRunner().invoke(main, words)  # noqa: E731  # five calls below
    Path("visits.toml").write_text('table = "visits.csv"\nepsilon = 2\nevery_row_counts = true\n')
    ledger = Ledger.open("visits.ledger", epsilon=2)
    ask(ledger, "a", "0.5")
    head = ledger.head
    told = json.loads(run("ledger", "visits.ledger", "backup", "copy", "--format", "json").stdout)
    assert told == {"file": "copy", "entries": 3, "head": head}
    again = run("ledger", "visits.ledger", "backup", "copy2", "--head", "0" * 64)
    assert (again.exit_code, Path("copy2").exists()) == (1, False)
    shutil.move("visits.ledger", "gone")
    refused = run("ledger", "visits.ledger", "restore", "copy")
    assert refused.exit_code == 1
    assert not Path("visits.ledger").exists()
    told = run("ledger", "visits.ledger", "restore", "copy", "--write-off")
    assert told.exit_code == 0
    assert "total is now 0.5 (written off: nobody knows" in told.stdout
    assert "Write the new total into the source file too" in told.stdout
    Path("visits.ledger").unlink()
    run("ledger", "visits.ledger", "restore", "copy", "--head", head)
    assert Ledger.open("visits.ledger").head == head


def test_nobody_charges_between_the_look_at_a_ledger_and_its_replacement(ledger, where, tmp_path, monkeypatch):
    """Such a charge would be lost with the ledger that is replaced."""
    back_up(ledger, tmp_path / "copy")
    look, refused = backup._lost, []

    def late(own, copied, turn):
        lost = look(own, copied, turn)
        with pytest.raises(errors.LedgerError, match="is busy") as caught:
            Ledger.open(where, wait="0.1").charge("late", "0.1")
        refused.append(caught)
        return lost

    monkeypatch.setattr(backup, "_lost", late)
    restore(where, tmp_path / "copy")
    assert len(refused) == 1
    assert ledger.budget().spent == F(1, 2)
