"""Jobs: started, asked about, cancelled without a refund; they and their answers survive a restart."""

import json
import threading
from fractions import Fraction

import pytest
import sqlalchemy as sa

from lapwing.engine.duckdb import _Session
from lapwing.engine.table import Table
from lapwing.release.pipeline import question
from lapwing.server import models
from lapwing.server.asking import Inquiry, ReleaseBody
from lapwing.server.jobs import MOST_OPEN, Jobs
from lapwing.server.lease import Lease
from lapwing.server.store import VERSION, AccessStore, format_table, jobs, servers

from .conftest import ASKED, CANARY
from .test_pages_ask import Visitor, hidden

JOBS = "/api/v1/sources/visits/jobs"


def begin(server, who="ana", epsilon="0.5", sql=ASKED):
    answer = server.post(JOBS, who, {"sql": sql, "epsilon": epsilon})
    assert answer.status == 202, answer.text
    return answer.json["job"]


def state(server, job, who="ana"):
    answer = server.get(f"{JOBS}/{job}", who)
    models.JobAnswer(**answer.json)
    return answer.json


def ended(server, job, who="ana"):
    for _ in range(2000):
        found = state(server, job, who)
        if found["state"] != "open":
            return found
        threading.Event().wait(0.01)
    raise AssertionError("the job did not end")


class Slow:
    """Holds up the reading of a table."""

    def __init__(self, monkeypatch):
        self.begun, self.go_on, tally = threading.Event(), threading.Event(), Table.tally

        def slow(*given, **named):
            self.begun.set()
            assert self.go_on.wait(30)
            return tally(*given, **named)

        monkeypatch.setattr(Table, "tally", slow)


@pytest.fixture
def slow(monkeypatch):
    made = Slow(monkeypatch)
    yield made
    made.go_on.set()


def test_a_job_is_answered_later_and_its_answer_is_that_of_the_release(server):
    job = begin(server)
    done = ended(server, job)
    assert (done["state"], done["error"]) == ("done", None)
    result = server.get(f"{JOBS}/{job}/result", "ana").json
    released = server.release("ana").json
    assert result["rows"] == released["rows"]
    assert done["entry"] == released["entry"]
    assert server.ledger.spent == Fraction(1, 2)
    assert [each["job"] for each in server.get(JOBS, "ana").json["jobs"]] == [job]


def test_of_many_jobs_the_oldest_that_ended_are_forgotten_so_that_nobody_fills_the_disk(server, folder, monkeypatch):
    monkeypatch.setattr("lapwing.server.jobs.KEPT", 3)
    server.release("ana")
    other = begin(server, "bob")
    for _ in range(6):
        ended(server, begin(server))
    kept = AccessStore(str(folder / "access.sqlite")).rows(sa.select(jobs.c.person))
    assert sorted(each["person"] for each in kept) == ["ana", "ana", "ana", "bob"]
    assert ended(server, other, "bob")["state"] == "done"
    assert server.ledger.spent == Fraction(1, 2)


def test_a_job_that_fails_tells_why_in_the_words_of_the_library(server):
    done = ended(server, begin(server, epsilon="3"))
    assert (done["state"], done["error"]) == ("failed", "BudgetExceeded")
    assert "has 2 left of 2" in done["message"]
    refused = server.get(f"{JOBS}/{done['job']}/result", "ana")
    assert (refused.status, refused.json["message"]) == (409, "The job has no answer: it is failed.")
    assert server.ledger.spent == 0
    assert server.post(JOBS, "ana", {"sql": "SELECT nonsense FROM visits", "epsilon": "1"}).status == 400


def test_a_job_that_fails_as_nobody_expected_leaves_only_its_kind_in_the_log(server, monkeypatch, caplog):
    def broken(inquiry, progress):
        raise RuntimeError(CANARY)

    monkeypatch.setattr(Inquiry, "released", broken)
    done = ended(server, begin(server))
    assert (done["state"], done["error"]) == ("failed", "ServerError")
    assert "Its log has the kind of failure." in done["message"]
    assert "RuntimeError" in caplog.text
    assert CANARY not in caplog.text + str(done)


def test_a_look_for_jobs_that_fails_is_noted_and_repeated(start, monkeypatch, caplog):
    server, again, looks, resume = start(lease_seconds=1), threading.Event(), [], Jobs.resume

    async def fails_once(jobs):
        looks.append(jobs)
        if len(looks) == 1:
            raise RuntimeError(CANARY)
        again.set()
        return await resume(jobs)

    monkeypatch.setattr(Jobs, "resume", fails_once)
    assert again.wait(10)
    assert "RuntimeError" in caplog.text
    assert CANARY not in caplog.text
    assert server.release("ana").status == 200


def test_a_question_that_takes_long_becomes_a_job(start, slow):
    server = start(seconds=1)
    answer = server.release("ana")
    assert (answer.status, answer.json["state"]) == (202, "open")
    slow.go_on.set()
    assert ended(server, answer.json["job"])["state"] == "done"
    assert server.release("ana").json["repeated"]
    assert server.ledger.spent == Fraction(1, 2)


def test_T46_a_job_that_is_cancelled_after_its_charge_is_not_refunded(server, slow):
    job = begin(server)
    assert slow.begun.wait(10)
    assert server.call("DELETE", f"{JOBS}/{job}", "ana").json["state"] == "cancelled"
    slow.go_on.set()
    again = server.release("ana").json
    assert server.ledger.spent == Fraction(1, 2)
    assert again["entry"] == server.ledger.entries()[4].number
    assert state(server, job)["state"] == "cancelled"
    assert server.call("DELETE", f"{JOBS}/{job}", "ana").json["state"] == "cancelled"
    assert server.get(f"{JOBS}/{job}/result", "ana").status == 409


@pytest.fixture
def endless(monkeypatch):
    """The engine runs a query that ends by an interrupt alone; the next ones run as usual."""
    begun, integers = threading.Event(), _Session.integers

    def endless(session, sql):
        if begun.is_set():
            return integers(session, sql)
        begun.set()
        return session._run("SELECT sum(a.range * b.range) FROM range(10_000_000) a, range(10_000_000) b", list)

    monkeypatch.setattr("lapwing.server.jobs.LOOKED_UP_EVERY", 0.1)
    monkeypatch.setattr(_Session, "integers", endless)
    return begun


@pytest.mark.parametrize("by_another", [False, True])
def test_a_job_that_is_cancelled_is_not_computed_any_more_and_completed_free(start, endless, by_another, caplog):
    server = start()
    other = start() if by_another else server
    job = begin(server)
    assert endless.wait(10)
    ana = Visitor(server, "ana")
    number = server.ledger.entries()[-1].number
    page = ana.get("/sources/visits/history").text
    assert f'<a class="unit" href="/sources/visits/jobs/{job}">running</a>' in page
    assert "Complete it, free" not in page
    assert other.call("DELETE", f"{JOBS}/{job}", "ana").json["state"] == "cancelled"
    for _ in range(1000):
        if not server.app.api.state.parts.work.busy:
            break
        threading.Event().wait(0.01)
    assert server.app.api.state.parts.work.busy == 0
    assert [each.answered for each in server.ledger.entries()][-1:] == [False]
    page = ana.get("/sources/visits/history").text
    assert f'<a class="unit" href="/sources/visits/jobs/{job}">cancelled</a>' in page
    assert "Ask again…" in ana.get(f"/sources/visits/jobs/{job}").text
    ana.ask("confirm")
    assert f"Complete entry {number}, free?" in ana.get(ana.went).text
    done = server.release("ana").json
    assert done["entry"] == number
    assert server.ledger.spent == Fraction(1, 2)
    assert state(server, job)["state"] == "cancelled"
    assert f'href="/sources/visits/entries/{number}"' in ana.get("/sources/visits/history").text
    assert caplog.text == ""


def test_a_question_that_was_charged_and_has_neither_answer_nor_job_is_completed_from_the_history(server):
    ana = Visitor(server, "ana")
    asked = question(Inquiry(server.app.sources["visits"], "ana", ReleaseBody(sql=ASKED, epsilon="0.5")).plan)
    number = server.ledger.charge(asked, "0.5", analyst="ana").number
    page = ana.get("/sources/visits/history")
    assert '<span class="unit">not answered</span>' in page.text
    fields = {name: hidden(page, name) for name in ("sql", "epsilon")}
    assert 'value="confirm"' in page.text
    assert f"Complete entry {number}, free?" in ana.post("/sources/visits/ask", step="confirm", **fields).text
    assert "A recorded answer: nothing was charged." in ana.post("/sources/visits/ask", step="release", **fields).text
    assert server.ledger.spent == Fraction(1, 2)
    assert server.ledger.entry(number).answered


def test_a_job_that_is_cancelled_while_it_waits_is_never_charged(start, slow):
    server = start(at_once=1)
    first = begin(server, epsilon="0.25")
    assert slow.begun.wait(10)
    second = begin(server, epsilon="0.5")
    assert server.call("DELETE", f"{JOBS}/{second}", "ana").json["state"] == "cancelled"
    slow.go_on.set()
    assert ended(server, first)["state"] == "done"
    server.stop()
    assert server.ledger.spent == Fraction(1, 4)


def test_a_release_that_became_a_job_is_not_charged_after_it_is_cancelled(start, slow):
    server = start(at_once=1, seconds=1)
    first = begin(server, "bob", epsilon="0.25")
    assert slow.begun.wait(10)
    waits = server.release("ana")
    assert waits.status == 202
    assert server.call("DELETE", f"{JOBS}/{waits.json['job']}", "ana").json["state"] == "cancelled"
    slow.go_on.set()
    assert ended(server, first, "bob")["state"] == "done"
    server.stop()
    assert server.ledger.spent == Fraction(1, 4)


def test_a_job_that_is_cancelled_by_way_of_another_server_is_not_charged(start, slow):
    other, server = start(), start(at_once=1)
    first = begin(server, epsilon="0.25")
    assert slow.begun.wait(10)
    second = begin(server, epsilon="0.5")
    assert other.call("DELETE", f"{JOBS}/{second}", "ana").json["state"] == "cancelled"
    slow.go_on.set()
    assert ended(server, first)["state"] == "done"
    server.stop()
    assert server.ledger.spent == Fraction(1, 4)


def test_a_long_release_beyond_the_open_jobs_says_that_it_goes_on(start, slow, monkeypatch):
    monkeypatch.setattr("lapwing.server.jobs.MOST_OPEN", 1)
    server = start(seconds=1)
    begin(server, epsilon="0.25")
    answer = server.release("ana")
    assert answer.status == 429
    assert "It goes on and is charged" in answer.json["message"]
    slow.go_on.set()
    server.stop()
    assert server.ledger.spent == Fraction(3, 4)


@pytest.mark.parametrize("change", ["revoked = made", "expires = made", "sources = '[\"secrets\"]'"])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_job_is_not_charged_when_its_token_does_not_hold_any_more(start, slow, change, restarted):
    server = start(at_once=1)
    begin(server, epsilon="0.25")
    assert slow.begun.wait(10)
    second = begin(server, "bob", epsilon="0.5")
    access = server.app.access
    with access.store.transaction(write=True) as connection:
        connection.exec_driver_sql(f"UPDATE lapwing_tokens SET {change} WHERE person = 'bob'")
    if restarted:
        slow.go_on.set()
        server.stop()
        with access.store.transaction(write=True) as connection:
            connection.exec_driver_sql("UPDATE lapwing_jobs SET state = 'open' WHERE person = 'bob'")
        server = start()
    slow.go_on.set()
    server.tokens["bob"] = access.make_token("bob", 1).text
    failed = ended(server, second, "bob")
    assert (failed["state"], failed["error"]) == ("failed", "NotAllowed")
    server.stop()
    assert server.ledger.spent == Fraction(1, 4)


def test_questions_that_come_at_once_are_counted_before_anything_is_awaited(start, slow, monkeypatch):
    server, check = start(at_once=1, waiting=1), Inquiry.check_cost

    def late(*given):
        threading.Event().wait(0.5)
        check(*given)

    monkeypatch.setattr(Inquiry, "check_cost", late)
    begun = [begin(server, epsilon=f"0.0{place}") for place in range(1, 7)]
    for _ in range(200):
        states = [state(server, job)["state"] for job in begun]
        if states.count("failed") == 4:
            break
        threading.Event().wait(0.01)
    assert sorted(states) == ["failed"] * 4 + ["open"] * 2


def test_open_jobs_are_limited(server, slow, monkeypatch):
    monkeypatch.setattr("lapwing.server.jobs.MOST_OPEN", 2)
    assert MOST_OPEN == 20
    begin(server, epsilon="0.01")
    begin(server, epsilon="0.02")
    answer = server.post(JOBS, "ana", {"sql": ASKED, "epsilon": "0.03"})
    assert (answer.status, answer.json["error"]) == (429, "ServerError")
    begin(server, "bob", epsilon="0.03")


def test_a_job_that_finds_no_room_fails_and_is_not_charged(start, slow):
    server = start(at_once=1, waiting=1)
    begin(server, epsilon="0.1")
    assert slow.begun.wait(10)
    second = begin(server, epsilon="0.2")
    while server.app.api.state.parts.work.busy < 2:
        threading.Event().wait(0.01)
    third = ended(server, begin(server, epsilon="0.3"))
    assert (third["state"], third["error"]) == ("failed", "ServerError")
    slow.go_on.set()
    assert ended(server, second)["state"] == "done"
    assert server.ledger.spent == Fraction(3, 10)


def test_stopping_ends_what_was_begun_and_keeps_what_waits(start, slow):
    """What is computed is recorded before the server ends; what waits was not charged, and goes on afterwards."""
    server = start(at_once=1)
    first = begin(server, epsilon="0.25")
    assert slow.begun.wait(10)
    second = begin(server, epsilon="0.5")
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    stopping.join(0.3)
    assert stopping.is_alive()  # it waits for the first
    slow.go_on.set()
    stopping.join(20)
    assert not stopping.is_alive()
    assert server.ledger.spent == Fraction(1, 4)
    other = start()
    assert state(other, first)["state"] == "done"
    assert ended(other, second)["state"] == "done"
    assert other.ledger.spent == Fraction(3, 4)
    rows = [other.get(f"{JOBS}/{job}/result", "ana").json["rows"] for job in (first, second)]
    assert rows[0] == other.release("ana", epsilon="0.25").json["rows"]
    assert rows[1] == other.release("ana", epsilon="0.5").json["rows"]
    assert other.ledger.spent == Fraction(3, 4)


def test_a_job_of_someone_who_may_not_ask_any_more_does_not_go_on(start, slow):
    server = start(at_once=1)
    begin(server, epsilon="0.25")
    assert slow.begun.wait(10)
    second = begin(server, "bob", epsilon="0.5")
    slow.go_on.set()
    server.stop()
    spent = server.ledger.spent
    server.app.access.remove_roles("bob")
    with server.app.access.store.transaction(write=True) as connection:
        connection.exec_driver_sql("UPDATE lapwing_jobs SET state = 'open', entry = NULL")
    other = start()
    other.app.access.add_role("bob", "visits", next(iter(other.app.access.caller(other.tokens["ana"]).roles["visits"])))
    assert ended(other, second, "bob")["error"] == "NotAllowed"
    assert other.ledger.spent == spent


def test_the_result_of_a_job_never_charges_even_if_the_source_has_changed(start, folder):
    server = start()
    job = begin(server)
    assert ended(server, job)["state"] == "done"
    server.stop()
    file = folder / "visits.toml"
    file.write_text(file.read_text().replace("high = 100", "high = 90"))
    other = start()
    answer = other.get(f"{JOBS}/{job}/result", "ana")
    assert (answer.status, answer.json["error"]) == (409, "InvalidRequest")
    assert other.ledger.spent == Fraction(1, 2)


def test_what_is_kept_of_a_job_has_no_answer(server, folder):
    job = begin(server, sql="SELECT COUNT(*) FROM visits")
    ended(server, job)
    with server.app.access.store.transaction() as connection:
        row = connection.exec_driver_sql("SELECT * FROM lapwing_jobs").mappings().one()
    value = server.release("ana", "SELECT COUNT(*) FROM visits").json["rows"][0]["count"]["value"]
    assert str(value) not in json.dumps(
        {name: each for name, each in row.items() if name not in ("job", "made", "changed")}
    )


# --- several servers with one record: a job belongs to the server that lives ---


def reads(monkeypatch):
    """Count how often the table is read."""
    counted, tally = [], Table.tally

    def counting(*given, **named):
        counted.append(1)
        return tally(*given, **named)

    monkeypatch.setattr(Table, "tally", counting)
    return counted


def die(server):
    """Let a server give no sign of life any more, as one that was killed; what it had begun is held up."""
    lease = server.app.api.state.parts.jobs._lease
    lease._over.set()
    lease._thread.join()


def test_a_job_of_a_server_that_lives_is_not_taken_up_by_another_that_starts(start, monkeypatch):
    counted, slow = reads(monkeypatch), Slow(monkeypatch)
    first = start(lease_seconds=600)
    job = begin(first)
    assert slow.begun.wait(10)
    second = start(lease_seconds=1)
    for _ in range(3):
        assert second._in_loop(second.app.api.state.parts.jobs.resume()) == 0
    assert state(second, job)["state"] == "open"
    slow.go_on.set()
    assert ended(second, job)["state"] == "done"
    assert len(counted) == 1
    assert first.ledger.spent == Fraction(1, 2)


@pytest.mark.parametrize("charged", [False, True])
def test_a_job_of_a_server_that_died_is_taken_up_and_charged_once(start, slow, charged):
    first, second = start(at_once=1, lease_seconds=1), start(lease_seconds=1)
    before = begin(first, epsilon="0.25")
    assert slow.begun.wait(10)
    job = before if charged else begin(first, "bob")
    die(first)
    for _ in range(1000):
        if second.app.api.state.parts.jobs._open:
            break
        threading.Event().wait(0.01)
    slow.go_on.set()
    done = ended(second, job, "ana" if charged else "bob")
    assert done["state"] == "done"
    first.stop()  # what it still had is not its own any more
    second.stop()
    charges = [each for each in second.ledger.entries() if each.kind == "charge"]
    assert sorted(each.epsilon for each in charges) == [Fraction(1, 4)] + [Fraction(1, 2)] * (not charged)
    assert all(each.answered for each in charges)


def test_the_jobs_of_a_server_that_is_stopped_are_taken_up_by_another_at_once(start, slow):
    first, second = start(at_once=1, lease_seconds=2), start(lease_seconds=2)
    begin(first, epsilon="0.25")
    assert slow.begun.wait(10)
    waits = begin(first)
    stopping = threading.Thread(target=first.stop)
    stopping.start()
    slow.go_on.set()
    stopping.join(20)
    assert ended(second, waits)["state"] == "done"
    assert second.ledger.spent == Fraction(3, 4)


def test_jobs_that_find_no_room_when_they_are_taken_up_wait_and_do_not_fail(start, slow):
    first = start(at_once=1)
    begun = [begin(first, epsilon=f"0.0{place}") for place in range(1, 6)]
    assert slow.begun.wait(10)
    die(first)
    with first.app.access.store.transaction(write=True) as connection:
        connection.exec_driver_sql("DELETE FROM lapwing_servers")
    second = start(at_once=1, waiting=1, lease_seconds=1)
    assert [state(second, job)["state"] for job in begun] == ["open"] * 5
    slow.go_on.set()
    assert {ended(second, job)["state"] for job in begun} == {"done"}
    assert second.ledger.spent == Fraction(15, 100)


def attempts(server, job):
    (row,) = server.app.access.store.rows(sa.select(jobs.c.attempts).where(jobs.c.job == job))
    return row["attempts"]


def test_a_job_that_ends_each_server_is_begun_three_times_and_then_fails(start, slow):
    def next_server():
        die(server)
        with server.app.access.store.transaction(write=True) as connection:
            connection.execute(sa.delete(servers))
        return start(at_once=1, lease_seconds=600)

    server = start(at_once=1, lease_seconds=600)
    job = begin(server, epsilon="0.25")
    assert slow.begun.wait(10)
    for expected in (2, 3):
        server = next_server()
        assert attempts(server, job) == expected
        assert state(server, job)["state"] == "open"
    server = next_server()
    failed = ended(server, job)
    assert (failed["state"], failed["error"]) == ("failed", "ServerError")
    assert "begun 3 times" in failed["message"]
    assert not server.app.api.state.parts.jobs._open
    slow.go_on.set()
    assert server.release("ana", epsilon="0.25").status == 200
    assert server.ledger.spent == Fraction(1, 4)


def test_a_job_that_a_stopping_server_leaves_has_lost_no_attempt(start, slow):
    server = start(at_once=1)
    begin(server, epsilon="0.25")
    assert slow.begun.wait(10)
    waits = begin(server, epsilon="0.5")
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    slow.go_on.set()
    stopping.join(20)
    assert attempts(server, waits) == 0
    other = start()
    assert ended(other, waits)["state"] == "done"
    assert attempts(other, waits) == 1


def test_the_jobs_of_an_older_record_are_kept_and_count_as_begun_once(tmp_path):
    place = tmp_path / "old.sqlite"
    store = AccessStore(str(place))
    row = {"job": "1", "person": "ana", "source": "visits", "token": "", "question": "{}", "state": "open"}
    with store.transaction(write=True) as connection:
        connection.execute(sa.insert(jobs), {**row, "server": "", "made": "", "changed": ""})
        connection.exec_driver_sql("ALTER TABLE lapwing_jobs DROP COLUMN attempts")
        connection.exec_driver_sql("UPDATE lapwing_access SET version = 3")
    opened = AccessStore(str(place))
    assert opened.rows(sa.select(jobs.c.job, jobs.c.attempts)) == [{"job": "1", "attempts": 1}]
    assert opened.rows(sa.select(format_table.c.version)) == [{"version": VERSION}]


def test_a_server_that_lives_renews_its_lease(start):
    server, seen = start(lease_seconds=3), set()
    for _ in range(3000):
        seen |= {each["until"] for each in server.app.access.store.rows(sa.select(servers))}
        if len(seen) > 2:
            break
        threading.Event().wait(0.01)
    assert len(seen) > 2
    server.stop()
    assert server.app.access.store.rows(sa.select(servers)) == []


def test_a_lease_is_by_the_clock_of_the_database(postgres):
    store = AccessStore(postgres)
    one, two = (Lease(store, name, 600) for name in ("one", "two"))
    one.begin()
    row = {"job": "1", "person": "ana", "source": "visits", "token": "", "question": "{}", "state": "open"}
    with store.transaction(write=True) as connection:
        for job, server in (("1", "one"), ("2", "two"), ("3", "")):
            connection.execute(sa.insert(jobs), {**row, "job": job, "server": server, "made": "", "changed": ""})
    left = sa.select(jobs.c.job).where(two.abandoned).order_by(jobs.c.job)
    assert [each["job"] for each in store.rows(left)] == ["2", "3"]
    one.end()
    two.renew()
    assert [each["job"] for each in store.rows(left)] == ["1", "3"]
