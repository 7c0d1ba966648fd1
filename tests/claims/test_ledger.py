"""Claims L1 to L5: the budget holds under races, crashes, tampering and older copies."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from fractions import Fraction as F
from itertools import count
from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.ledger import chain, store
from lapwing.ledger.copies import are_copies
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.requests import CapRequests

RACER = """
import json, sys
from lapwing import errors
from lapwing.ledger.ledger import Ledger
ledger, name, granted = Ledger.open(sys.argv[1]), sys.argv[2], 0
for i in range(100):
    try:
        ledger.charge([name, i], "0.01")
        granted += 1
    except errors.BudgetExceeded:
        pass
print(granted)
"""

SAME = """
import json, sys
from lapwing.ledger.ledger import Ledger
ledger = Ledger.open(sys.argv[1], epsilon=1)
entry = ledger.charge("how many?", "0.1")
print(json.dumps(ledger.record(entry, {"from": sys.argv[2]})))
"""


def run_together(script: str, where: str, processes: int) -> list[str]:
    started = [
        subprocess.Popen([sys.executable, "-c", script, where, str(i)], stdout=subprocess.PIPE, text=True)
        for i in range(processes)
    ]
    outputs = [process.communicate()[0] for process in started]
    assert all(process.returncode == 0 for process in started)
    return outputs


def test_L1_T25_sixteen_processes_are_granted_exactly_the_total(where):
    ledger = Ledger.open(where, epsilon=5)
    granted = [int(output) for output in run_together(RACER, where, 16)]
    assert sum(granted) == 500
    assert (ledger.spent, ledger.remaining) == (5, 0)
    assert ledger.verify() == 501


def test_L1_threads_are_granted_exactly_the_total(where):
    ledger = Ledger.open(where, epsilon=1)
    granted = []

    def ask(name: int) -> None:
        for i in range(20):
            with suppress(errors.BudgetExceeded):
                granted.append(ledger.charge([name, i], "0.01").number)

    threads = [threading.Thread(target=ask, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == len(set(granted)) == 100
    assert ledger.remaining == 0
    ledger.verify()


def test_L1_T28_ten_tenths_fit_and_the_eleventh_is_refused(where):
    ledger = Ledger.open(where, epsilon="1")
    for i in range(10):
        ledger.charge(i, "0.1")
    with pytest.raises(errors.BudgetExceeded) as caught:
        ledger.charge(10, 0.1)
    assert str(caught.value).startswith(f'This release asks for ε = 0.1, and ledger "{ledger.where}" has 0 left of 1.')
    assert (ledger.spent, len(ledger.entries())) == (1, 11)


def test_L2_T27_many_who_ask_the_same_at_once_get_one_answer_for_one_charge(where):
    answers = run_together(SAME, where, 8)
    assert len(set(answers)) == 1
    ledger = Ledger.open(where)
    assert ledger.spent == F(1, 10)
    assert [entry.kind for entry in ledger.entries()] == ["open", "charge", "answer"]
    again = ledger.charge("how many?", 0.1)
    assert (again.repeated, again.answered, again.answer) == (True, True, json.loads(answers[0]))
    assert ledger.spent == F(1, 10)


def child(work) -> tuple[int, int]:
    """Fork; run ``work(write)`` in the child; return its process id and the end of the pipe to read."""
    receive, send = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            work(lambda line: os.write(send, (line + "\n").encode()))
        finally:
            os._exit(0)
    os.close(send)
    return process, receive


def told(receive: int) -> list[list]:
    with os.fdopen(receive) as lines:
        return [json.loads(line) for line in lines if line.endswith("\n")]


def release_for_ever(where: str, start: int):
    """Charge, answer, record and show one question after the other."""

    def work(write) -> None:
        ledger = Ledger.open(where)
        write(json.dumps(["ready", 0, 0]))
        for i in count(start):
            try:
                entry = ledger.charge(i, "0.001")
            except errors.BudgetExceeded:
                continue
            write(json.dumps(["granted", i, entry.number]))
            write(json.dumps(["shown", i, ledger.record(entry, {"n": i})]))

    return work


@pytest.mark.parametrize("kills", [200])
def test_L3_T26_kill_at_random_moments_never_unspends_sqlite(tmp_path, kills):
    check_kills(str(tmp_path / "visits.ledger"), kills)


def test_L3_kill_at_random_moments_never_unspends_postgresql(postgres):
    check_kills(postgres, 40)


def check_kills(where: str, kills: int) -> None:
    ledger = Ledger.open(where, epsilon="1.5")
    before, shown = F(0), {}
    for attempt in range(kills):
        process, receive = child(release_for_ever(where, attempt * 1000))
        seen = b""
        while seen.count(b"\n") < (3 if attempt <= kills // 20 else 1):  # at first, wait until something is shown
            seen += os.read(receive, 1)
        time.sleep(random.uniform(0, 0.03))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        lines = [json.loads(line) for line in seen.splitlines()] + told(receive)
        ledger = Ledger.open(where)  # works without any repair, and checks the chain
        assert before <= ledger.spent <= ledger.total
        before = ledger.spent
        entries = {entry.number: entry for entry in ledger.entries() if entry.kind == "charge"}
        shown |= {i: answer for kind, i, answer in lines if kind == "shown"}
        for kind, i, number in lines:
            assert kind != "granted" or entries[number].question == i
    assert shown
    assert ledger.verify() > kills // 10
    answers = {entry.question: entry.answer for entry in ledger.entries(answers=True) if entry.answered}
    assert all(answers[i] == answer for i, answer in shown.items())


def count_statements(where: str) -> int:
    """Return how many statements and commits a charge and a record take."""
    seen = []
    ledger = Ledger.open(where)
    for name in ("before_cursor_execute", "commit", "begin"):
        sa.event.listen(ledger._engine, name, lambda *_: seen.append(1))
    ledger.record(ledger.charge("counted", "0.1"), 1)
    return len(seen)


def test_L3_kill_before_every_single_step_leaves_a_charge_that_can_be_completed(where):
    ledger = Ledger.open(where, epsilon=10)
    steps = count_statements(where)
    assert steps > 10
    for step in range(steps + 2):

        def work(write, step=step) -> None:
            mine, left = Ledger.open(where), [step]

            def maybe_die(*_) -> None:
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            for name in ("before_cursor_execute", "commit", "begin"):
                sa.event.listen(mine._engine, name, maybe_die)
            entry = mine.charge(["step", step], "0.1")
            write(json.dumps(["granted", entry.number]))
            write(json.dumps(["shown", mine.record(entry, "first")]))

        spent = ledger.spent
        process, receive = child(work)
        os.waitpid(process, 0)
        lines = told(receive)
        assert ledger.spent in (spent, spent + F(1, 10))
        if lines:
            assert ledger.spent == spent + F(1, 10)
        entry = ledger.charge(["step", step], "0.1")  # asked again: completes, and costs nothing twice
        assert ledger.spent == spent + F(1, 10)
        answer = ledger.record(entry, "second")
        assert answer == ("first" if entry.answered else "second")
        if len(lines) == 2:
            assert lines[1] == ["shown", "first"] == ["shown", answer]
    ledger.verify()


def test_L3_nothing_is_removed_or_changed_by_any_call(where):
    ledger = Ledger.open(where, epsilon=3, delta="1e-6")
    steps = [
        lambda: ledger.add_analyst("ana", 1),
        lambda: ledger.charge("a", 1, "1e-7", analyst="ana"),
        lambda: ledger.record(ledger.charge("a", 1, "1e-7"), [1]),
        lambda: ledger.set_cap("ana", "0.5"),
        lambda: ledger.set_total(2),
        lambda: ledger.charge("b", "0.1"),
        lambda: ledger.request("ana", 2, "a second survey"),
        lambda: ledger.grant(8),
    ]
    before = ledger.entries()
    for step in steps:
        step()
        after = ledger.entries()
        assert [entry.hash for entry in after[: len(before)]] == [entry.hash for entry in before]
        before = after
    assert ledger.verify() == 9


def test_L1_T26_a_worker_that_was_forked_spends_the_same_budget(tmp_path):
    """The parent has used its ledgers before the fork, goes on meanwhile, and both see one file."""
    path = str(tmp_path / "a.ledger")
    first, second = Ledger.open(path, epsilon=1), Ledger.open(path)
    first.charge("before", "0.1")
    second.charge("before too", "0.1")

    def work(write) -> None:
        mine = Ledger.open(path)
        for i in range(10):
            with suppress(errors.BudgetExceeded):
                (mine, first, second)[i % 3].charge(["child", i], "0.1")
                write(json.dumps(["granted"]))

    process, receive = child(work)
    granted = 0
    for i in range(10):
        with suppress(errors.BudgetExceeded):
            (first, second)[i % 2].charge(["parent", i], "0.1")
            granted += 1
    os.waitpid(process, 0)
    assert granted + len(told(receive)) == 8
    assert Ledger.open(path).verify() == 11


def test_L1_T26_hard_links_symlinks_and_moves_are_one_ledger(tmp_path):
    path, link, symlink = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    ledger = Ledger.open(path, epsilon=1)
    link.hardlink_to(path)
    symlink.symlink_to(path)
    for i, place in enumerate((path, link, symlink)):
        Ledger.open(place).charge(i, "0.1")
    path.rename(tmp_path / "d")
    assert Ledger.open(tmp_path / "d", epsilon=1).spent == Ledger.open(link).spent == F(3, 10)
    with pytest.raises(errors.LedgerError, match="has gone"):
        ledger.charge("x", "0.1")


def test_L3_a_killed_process_leaves_all_that_was_granted_in_the_one_file(tmp_path):
    path = tmp_path / "a.ledger"
    Ledger.open(path, epsilon=1)
    process, receive = child(release_for_ever(str(path), 0))
    seen = b""
    while seen.count(b"\n") < 6:
        seen += os.read(receive, 1)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    told(receive)
    spent = Ledger.open(path).spent
    moved = tmp_path / "elsewhere"
    path.rename(moved)
    assert Ledger.open(moved, epsilon=1).spent == spent >= F(2, 1000)


MAKER = """
import sys
from lapwing.ledger.ledger import Ledger
ledger = Ledger.open(sys.argv[1], epsilon=1)
print(ledger.charge(sys.argv[2], "0.1").number)
"""


def test_L1_T25_processes_that_make_one_ledger_at_once_spend_one_budget(where):
    for turn in range(3):
        place = f"{where}{turn}" if where.endswith(".ledger") else where
        numbers = [int(output) for output in run_together(MAKER, place, 6)]
        assert sorted(numbers) == list(range(2, 8))
        assert (Ledger.open(place).spent, Ledger.open(place).verify()) == (F(6, 10), 7)
        if place == where:
            break
    else:
        assert not list(Path(where).parent.glob(".lapwing-*"))


def test_L1_nobody_makes_a_ledger_while_another_looks_whether_there_is_one(postgres, monkeypatch):
    tables, refused = store.tables, []

    def slowly(connection):
        if not refused:
            refused.append(None)
            with pytest.raises(errors.LedgerError, match="busy") as caught:
                Ledger.open(postgres, epsilon=1, wait=0.2)
            refused.append(caught.value)
        return tables(connection)

    monkeypatch.setattr(store, "tables", slowly)
    assert Ledger.open(postgres, epsilon=1).charge("a", "0.1").number == 2
    assert len(refused) == 2


@pytest.mark.parametrize("links", [True, False], ids=["with hard links", "without hard links"])
def test_L3_kill_at_every_single_step_of_making_leaves_a_whole_ledger_or_none(tmp_path, monkeypatch, links):
    """Killed before each call of the system that names something, and before each statement and commit."""
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    outcomes, taken = [], 0
    for step in range(60):
        path = tmp_path / f"{step}.ledger"

        def work(write, path=path, step=step) -> None:
            left = [step]

            def dying(call):
                def called(*arguments, **options):
                    left[0] -= 1
                    if left[0] < 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return call(*arguments, **options)

                return called

            for name in ("mkdir", "link", "replace", "rename", "fsync", "unlink", "rmdir"):
                setattr(os, name, dying(getattr(os, name)))
            os.open = dying(os.open)
            make = sa.create_engine

            def watched(*arguments, **options):
                engine = make(*arguments, **options)
                for name in ("before_cursor_execute", "commit", "begin"):
                    sa.event.listen(engine, name, dying(lambda *_: None))
                return engine

            sa.create_engine = watched
            Ledger.open(path, epsilon=1)
            write(json.dumps(["made"]))

        process, receive = child(work)
        os.waitpid(process, 0)
        finished = bool(told(receive))
        size = path.stat().st_size if path.exists() else None
        outcomes.append((finished, bool(size)))
        taken += size == 0
        if size == 0:  # the name was taken, without hard links: it is refused until someone looks
            assert not links
            with pytest.raises(errors.LedgerError, match="is an empty file"):
                Ledger.open(path, epsilon=1)
            continue
        assert Ledger.open(path, epsilon=1).verify() == 1
        if finished:
            break
    assert outcomes[0] == (False, False)
    assert (False, True) in outcomes  # killed after it had its name
    assert outcomes[-1] == (True, True)
    assert bool(taken) is not links
    names = {each.name for each in tmp_path.iterdir() if not each.name.startswith(".lapwing-")}
    assert names == {f"{step}.ledger" for step in range(len(outcomes))}


def no_links(*_, **__):
    raise PermissionError(errno.EPERM, "Operation not permitted")


# --- L4: tampering ---


@pytest.mark.parametrize("table", ["lapwing_entries", "lapwing_ledger", "lapwing_answers"])
def test_L4_a_trigger_that_swallows_what_is_written_is_found(tmp_path, table):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    entry = ledger.charge("a", "0.1")
    event = "UPDATE" if table == "lapwing_ledger" else "INSERT"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TRIGGER t BEFORE {event} ON {table} BEGIN SELECT RAISE(IGNORE); END")
        connection.commit()
    with pytest.raises(errors.LedgerError):
        ledger.record(entry, 1)
    if table != "lapwing_answers":
        with pytest.raises(errors.LedgerError):
            ledger.charge("b", "0.1")
    assert ledger.spent == F(1, 10)
    with pytest.raises(errors.LedgerError, match=r"has a trigger or a rule.*Nothing was granted.*Remove"):
        Ledger.open(path)
    with pytest.raises(errors.LedgerError, match="has a trigger or a rule"):
        ledger.verify()


def test_L4_a_ledger_that_was_set_to_keep_a_part_of_it_elsewhere_is_refused_until_it_is_set_back(tmp_path):
    path = tmp_path / "a.ledger"
    Ledger.open(path, epsilon=1).charge("a", "0.1")
    for mode in ("wal", "delete"):
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute(f"PRAGMA journal_mode = {mode}").fetchone() == (mode,)
        if mode == "wal":
            with pytest.raises(errors.LedgerError, match=r"was set to WAL mode.*Nothing was granted.*journal_mode"):
                Ledger.open(path)
    assert Ledger.open(path).spent == F(1, 10)


def test_L4_a_rule_that_swallows_what_is_written_is_found(postgres):
    ledger = Ledger.open(postgres, epsilon=1)
    with ledger._engine.begin() as connection:
        connection.exec_driver_sql("CREATE RULE r AS ON INSERT TO lapwing_entries DO INSTEAD NOTHING")
    with pytest.raises(errors.LedgerError):
        ledger.charge("a", "0.1")
    with pytest.raises(errors.LedgerError, match="has a trigger or a rule"):
        Ledger.open(postgres)


@pytest.mark.parametrize("table", ["lapwing_entries", "lapwing_ledger", "lapwing_answers"])
def test_L4_a_trigger_in_a_database_on_a_server_is_found_when_the_ledger_is_opened(postgres, table):
    ledger = Ledger.open(postgres, epsilon=1)
    assert Ledger.open(postgres).spent == 0
    with ledger._engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
        )
        connection.exec_driver_sql(f"CREATE TRIGGER t BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION nothing()")
    with pytest.raises(errors.LedgerError, match="has a trigger or a rule"):
        Ledger.open(postgres)


def test_L4_a_forged_refund_does_not_add_up(tmp_path):
    from lapwing.ledger.chain import question_key

    ledger = Ledger.open(tmp_path / "a.ledger", epsilon=1)
    ledger.charge("a", "0.5")
    with ledger._turn(write=True) as turn:
        amount = -(10**8)
        ledger._append(
            turn, kind="charge", question='"b"', key=question_key(amount, 0, '"b"'), epsilon=amount, delta=0,
            spent=turn.last["spent"] + amount,
        )  # fmt: skip
    with pytest.raises(errors.LedgerError, match="entry 3: does not add up"):
        Ledger.open(tmp_path / "a.ledger")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A finished SQLite ledger with every kind of entry."""
    path = tmp_path_factory.mktemp("kept") / "kept.ledger"
    ledger = Ledger.open(path, epsilon=3, delta="1e-6")
    ledger.add_analyst("ana", 2, note="until May")
    for i in range(4):
        entry = ledger.charge({"sql": f"SELECT {i}"}, "0.1", "1e-9", analyst="ana" if i % 2 else None)
        if i != 2:
            ledger.record(entry, {"n": i * 100})
    ledger.set_cap("ana", 1)
    ledger.set_total("2.5", note="board")
    assert ledger.verify() == 11
    for decide in (lambda asked: ledger.grant(asked, "1.5", note="less"), ledger.decline, None):
        asked = ledger.request("ana", 2, "a second survey").number
        if decide is not None:
            decide(asked)
    ledger.withdraw(asked, "ana")
    assert ledger.verify() == 17
    assert not list(path.parent.glob("kept.ledger-*"))  # all of it is in the one file
    return path


def columns(path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def contents(path) -> list:
    with closing(sqlite3.connect(path)) as connection:
        tables = ("lapwing_ledger", "lapwing_entries", "lapwing_answers")
        return [connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in tables]


def is_refused(path, head: str | None = None) -> bool:
    try:
        Ledger.open(path).verify(head)
    except errors.LedgerError:
        return True
    return False


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.data())
def test_L4_every_edit_of_a_stored_value_is_found(kept, tmp_path, data):
    copy = tmp_path / f"{random.random()}.ledger"
    shutil.copy(kept, copy)
    table = data.draw(st.sampled_from(["lapwing_entries", "lapwing_entries", "lapwing_answers", "lapwing_ledger"]))
    column = data.draw(st.sampled_from(columns(copy, table)))
    with closing(sqlite3.connect(copy)) as connection:
        rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        rowid, value = data.draw(st.sampled_from(rows))
        if isinstance(value, int):
            new = value + data.draw(st.integers(-3, 3).filter(bool) | st.sampled_from([10**9, -(10**12)]))
        elif value:
            at = data.draw(st.integers(0, len(value) - 1))
            new = value[:at] + chr(ord(value[at]) ^ data.draw(st.integers(1, 31))) + value[at + 1 :]
        else:
            new = data.draw(st.sampled_from(["x", 1, ""]))
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, rowid))
            connection.commit()
        except sqlite3.IntegrityError:
            return  # the database itself refuses two of the same number
    assert contents(copy) != contents(kept)
    assert is_refused(copy)


@pytest.mark.parametrize("number", range(1, 18))
def test_L4_every_deletion_insertion_and_exchange_is_found(kept, tmp_path, number):
    for change in (
        [f"DELETE FROM lapwing_entries WHERE number = {number}"],
        [f"DELETE FROM lapwing_entries WHERE number >= {number}"],
        [f"UPDATE lapwing_entries SET number = 99 WHERE number = {number}"],
        [
            f"UPDATE lapwing_entries SET number = -1 WHERE number = {number}",
            f"UPDATE lapwing_entries SET number = {number} WHERE number = {number % 17 + 1}",
            f"UPDATE lapwing_entries SET number = {number % 17 + 1} WHERE number = -1",
        ],
        [
            "CREATE TABLE extra AS SELECT * FROM lapwing_entries",
            f"UPDATE extra SET number = 18, key = NULL, charge = NULL WHERE number = {number}",
            "INSERT INTO lapwing_entries SELECT * FROM extra WHERE number = 18",
            "DROP TABLE extra",
        ],
        [f"DELETE FROM lapwing_answers WHERE number = {number}", "INSERT INTO lapwing_answers VALUES (77, '1')"],
        ["DELETE FROM lapwing_ledger"],
        ["INSERT INTO lapwing_ledger VALUES (2, 1, 'x')"],
    ):
        copy = tmp_path / f"{random.random()}.ledger"
        shutil.copy(kept, copy)
        with closing(sqlite3.connect(copy)) as connection:
            for statement in change:
                connection.execute(statement)
            connection.commit()
        assert is_refused(copy), change


def test_L4_a_flipped_byte_is_found_or_changes_nothing(kept, tmp_path):
    """One bit in every fortieth byte of the file: the flip is refused, or all rows are as they were (free space)."""
    raw, good = kept.read_bytes(), contents(kept)
    copy = tmp_path / "flipped.ledger"
    harmless = 0
    for at in range(random.randrange(40), len(raw), 40):
        copy.write_bytes(raw[:at] + bytes([raw[at] ^ (1 << random.randrange(8))]) + raw[at + 1 :])
        if not is_refused(copy):
            harmless += 1
            assert contents(copy) == good, at
    assert harmless < len(raw) // 40


def test_L4_ledgers_made_at_the_same_time_begin_differently(tmp_path):
    """Otherwise one could be put in the place of another, and heads kept elsewhere would fit both."""
    made = [Ledger.open(tmp_path / f"{number}.ledger", epsilon=3) for number in range(20)]
    assert len({each.head for each in made}) == 20
    assert not are_copies(*made[:2])


def test_L4_a_ledger_of_an_earlier_build_begins_without_a_random_value_and_is_sound(tmp_path):
    """Its first entry is hashed as it was then; an edit that gives it a value is found."""
    old, time = tmp_path / "old.ledger", "2026-01-02T03:04:05+00:00"
    row = {"number": 1, "time": time, "kind": "open", "epsilon": 3 * 10**9, "delta": 0, "total": 3 * 10**9}
    row |= {"total_delta": 0, "spent": 0, "spent_delta": 0, "previous": "0" * 64}
    Ledger.open(old, epsilon=3)
    with closing(sqlite3.connect(old)) as connection, connection:
        hashed = chain.digest(row)
        connection.execute("UPDATE lapwing_entries SET key = NULL, time = ?, hash = ?", (time, hashed))
        connection.execute("UPDATE lapwing_ledger SET hash = ?", (hashed,))
    twin = shutil.copy(old, tmp_path / "twin.ledger")
    assert not are_copies(Ledger.open(old), Ledger.open(twin))  # two may have been made in that second
    ledger = Ledger.open(old, epsilon=3)
    ledger.record(ledger.charge("n", "0.5"), 7)
    assert (ledger.verify(hashed), Ledger.open(old).charge("n", "0.5").answer) == (3, 7)
    assert are_copies(ledger, Ledger.open(shutil.copy(old, tmp_path / "copy.ledger")))
    with closing(sqlite3.connect(old)) as connection, connection:
        connection.execute("UPDATE lapwing_entries SET key = 'x' WHERE number = 1")
    assert is_refused(old)


def test_L4_the_first_bad_entry_is_named(kept, tmp_path):
    copy = tmp_path / "a.ledger"
    shutil.copy(kept, copy)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("UPDATE lapwing_entries SET epsilon = 1 WHERE number IN (5, 7)")
        connection.commit()
    with pytest.raises(errors.LedgerError, match="is damaged: entry 5: does not match its hash"):
        Ledger.open(copy)


def test_L4_a_roll_back_is_found_by_a_head_kept_elsewhere(tmp_path):
    path, old = tmp_path / "a.ledger", tmp_path / "old"
    ledger = Ledger.open(path, epsilon=1)
    ledger.charge("a", "0.5")
    first = ledger.head
    shutil.copy(path, old)
    ledger.charge("b", "0.5")
    head = ledger.head
    assert ledger.verify(first) == ledger.verify(head) == 3
    shutil.copy(old, path)
    assert Ledger.open(path).verify() == 2  # a whole older copy is sound in itself
    with pytest.raises(errors.LedgerError, match="rolled back"):
        Ledger.open(path).verify(head)


def test_L4_a_chain_hashed_anew_still_has_to_add_up(kept, tmp_path):
    """Someone lowers what an entry cost and recomputes all hashes: the sums do not follow, unless redone as well."""
    from lapwing.ledger.chain import digest

    copy = tmp_path / "a.ledger"
    shutil.copy(kept, copy)
    with closing(sqlite3.connect(copy)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("UPDATE lapwing_entries SET epsilon = 1 WHERE number = 3")
        previous = "0" * 64
        for row in connection.execute("SELECT * FROM lapwing_entries ORDER BY number").fetchall():
            fields = dict(row) | {"previous": previous}
            previous = digest(fields)
            connection.execute(
                "UPDATE lapwing_entries SET previous = ?, hash = ? WHERE number = ?",
                (fields["previous"], previous, row["number"]),
            )
        connection.execute("UPDATE lapwing_ledger SET hash = ?", (previous,))
        connection.commit()
    with pytest.raises(errors.LedgerError, match="entry 3: does not add up"):
        Ledger.open(copy)


# --- L5: an open ledger remembers ---

CALLS = {
    "total": lambda ledger: ledger.total,
    "spent": lambda ledger: ledger.spent,
    "remaining": lambda ledger: ledger.remaining,
    "delta": lambda ledger: ledger.delta,
    "head": lambda ledger: ledger.head,
    "budget": lambda ledger: ledger.budget("ana"),
    "analysts": lambda ledger: ledger.analysts(),
    "entries": lambda ledger: ledger.entries(),
    "entry": lambda ledger: ledger.entry(1),
    "after": lambda ledger: ledger.after(2),
    "charge": lambda ledger: ledger.charge("new", "0.1"),
    "find": lambda ledger: ledger.find("a", "0.5"),
    "record": lambda ledger: ledger.record(ledger.entry_of_a, 7),
    "add_analyst": lambda ledger: ledger.add_analyst("bea", 1),
    "set_cap": lambda ledger: ledger.set_cap("ana", 2),
    "set_total": lambda ledger: ledger.set_total(9),
    "verify": lambda ledger: ledger.verify(),
    "request": lambda ledger: ledger.request("ana", 2, "more"),
    "requests": lambda ledger: ledger.requests(),
    "grant": lambda ledger: ledger.grant(1),
    "decline": lambda ledger: ledger.decline(1),
    "withdraw": lambda ledger: ledger.withdraw(1, "ana"),
}
"""Every public call that reads or writes."""


def test_the_list_of_calls_is_whole():
    calls = {*vars(Ledger), *vars(CapRequests)}
    assert set(CALLS) == {name for name in calls if not name.startswith("_")} - {"open"}


@pytest.fixture
def spent_twice(where):
    """An open ledger, and two ways to set what is stored: to what it was before its last charge, and as it is now."""
    ledger = Ledger.open(where, epsilon=1)
    ledger.add_analyst("ana", 1)
    ledger.entry_of_a = ledger.charge("a", "0.5")
    if ledger._engine.dialect.name == "sqlite":
        older, newer = f"{where}.older", f"{where}.newer"
        shutil.copy(where, older)
        ledger.charge("b", "0.5")
        shutil.copy(where, newer)
        return ledger, lambda: shutil.copy(older, where), lambda: shutil.copy(newer, where)
    before = stored(ledger)
    ledger.charge("b", "0.5")
    after = stored(ledger)
    return ledger, lambda: put(ledger, before), lambda: put(ledger, after)


def stored(ledger) -> dict:
    with ledger._engine.begin() as connection:
        return {
            name: [dict(row._mapping) for row in connection.execute(sa.select(table))]
            for name, table in store.metadata.tables.items()
        }


def put(ledger, tables: dict) -> None:
    with ledger._engine.begin() as connection:
        for name, table in store.metadata.tables.items():
            connection.execute(sa.delete(table))
            if tables[name]:
                connection.execute(sa.insert(table), tables[name])


@pytest.mark.parametrize("call", CALLS)
def test_L5_T26_no_call_takes_an_older_copy_for_the_ledger(spent_twice, call):
    ledger, put_older, put_newer = spent_twice
    put_older()
    with pytest.raises(errors.LedgerError, match="lacks entry 4 as it was seen before: an older copy"):
        CALLS[call](ledger)
    put_newer()
    assert (ledger.spent, ledger.remaining, ledger.verify()) == (1, 0, 4)  # the refused call has left nothing


@pytest.mark.parametrize("more", [1, 2, 5])
def test_L5_another_history_is_refused_whatever_its_length(tmp_path, more):
    path, older = tmp_path / "a.ledger", tmp_path / "older"
    ledger = Ledger.open(path, epsilon=1)
    shutil.copy(path, older)
    ledger.charge("a", "0.1")
    ledger.charge("b", "0.1")
    shutil.copy(older, path)
    second = Ledger.open(path)
    for i in range(more):
        second.charge(["another", i], "0.1")
    with pytest.raises(errors.LedgerError, match="lacks entry 3"):
        ledger.charge("c", "0.1")
    assert second.spent == F(more, 10)


@pytest.mark.parametrize("looks", ["charge", "entries", "find", "verify"])
def test_L5_what_others_wrote_is_remembered_by_whoever_saw_it(tmp_path, looks):
    path, older = tmp_path / "a.ledger", tmp_path / "older"
    ledger = Ledger.open(path, epsilon=1)
    ledger.add_analyst("ana", 1)
    shutil.copy(path, older)
    Ledger.open(path).charge("by someone else", 1)
    with suppress(errors.BudgetExceeded):  # a refused charge has seen it as well
        CALLS[looks](ledger)
    shutil.copy(older, path)
    with pytest.raises(errors.LedgerError, match="lacks entry 3"):
        ledger.charge("mine", 1)


def test_L5_what_was_not_committed_is_not_remembered(where):
    ledger = Ledger.open(where, epsilon=1)

    def append_and_fail() -> None:
        with ledger._turn(write=True) as turn:
            ledger._append(turn, kind="total", epsilon=10**9, delta=0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        append_and_fail()
    assert ledger.charge("a", 1).number == 2


def test_L5_threads_that_go_on_together_are_not_refused(where):
    """Readers begin before writers commit and end after: what they look for was seen before they began."""
    ledger, faults = Ledger.open(where, epsilon=100), []

    def work(name: int) -> None:
        try:
            for i in range(15):
                ledger.charge([name, i], "0.01") if name % 2 else ledger.entries()
                assert ledger.find([name, i], "0.01") is None or name % 2
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert ledger._seen == (61, ledger.head)


def test_L5_threads_that_share_a_ledger_share_what_it_saw(tmp_path):
    path, older = tmp_path / "a.ledger", tmp_path / "older"
    ledger, refused = Ledger.open(path, epsilon=1), []
    shutil.copy(path, older)
    thread = threading.Thread(target=lambda: ledger.charge("a", 1))
    thread.start()
    thread.join()
    shutil.copy(older, path)

    def ask(i: int) -> None:
        try:
            ledger.charge(["again", i], 1)
        except errors.LedgerError:
            refused.append(i)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(refused) == list(range(8))
    assert Ledger.open(path).spent == 0


def test_L5_a_forked_worker_remembers_what_its_parent_saw(tmp_path):
    path, older = tmp_path / "a.ledger", tmp_path / "older"
    ledger = Ledger.open(path, epsilon=1)
    shutil.copy(path, older)
    ledger.charge("a", 1)
    shutil.copy(older, path)

    def work(write) -> None:
        with suppress(errors.LedgerError):
            write(json.dumps(["granted", ledger.charge("b", 1).number]))

    process, receive = child(work)
    os.waitpid(process, 0)
    assert told(receive) == []


def test_L5_a_source_remembers_too(tmp_path):
    path, older = tmp_path / "a.ledger", tmp_path / "older"
    source = lw.Source(duckdb.sql("SELECT 1 AS x"), name="t", columns={"x": lw.number(0, 1)}, epsilon=1, ledger=path)
    assert (source.left(), path.exists()) == (None, False)
    source.release(lw.count(), epsilon="0.5")
    shutil.copy(path, older)
    source.release(lw.sum("x"), epsilon="0.5")
    shutil.copy(older, path)
    for call in (source.left, lambda: source.release(lw.mean("x"), epsilon="0.5"), lambda: source.declare().left()):
        with pytest.raises(errors.LedgerError, match="lacks entry 5"):
            call()
