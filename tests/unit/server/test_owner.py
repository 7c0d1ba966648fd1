"""What owners and auditors do: people, tokens, caps, the total, the ledger and its verification."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import sqlalchemy as sa

from lapwing.ledger.ledger import Ledger
from lapwing.server import ask_routes, models
from lapwing.server.access import SESSION
from lapwing.server.planning import AT_ONCE, WAITING
from lapwing.server.store import jobs

SOURCE = "/api/v1/sources/visits"


def test_an_owner_invites_an_analyst_who_asks(server):
    made = server.call("PUT", f"{SOURCE}/people/mona", "olga", {"role": "analyst", "cap": "0.5", "note": "new"})
    assert made.json == {
        "person": "mona", "roles": ["analyst"],
        "budget": {"analyst": "mona", "total": "0.5", "spent": "0", "remaining": "0.5"},
    }  # fmt: skip
    token = server.post(f"{SOURCE}/people/mona/tokens", "olga", {"days": 7})
    assert token.status == 201
    models.MadeToken(**token.json)
    server.tokens["mona"] = token.json["token"]
    assert server.get("/api/v1/me", "mona").json["roles"] == {"visits": ["analyst"]}
    assert server.release("mona").status == 200
    assert server.release("mona", epsilon="0.4").status == 409
    listed = server.get(f"{SOURCE}/people/mona/tokens", "olga")
    models.TokenList(**listed.json)
    assert [each["number"] for each in listed.json["tokens"]] == [token.json["number"]]
    assert token.json["token"] not in listed.text
    assert server.call("DELETE", f"{SOURCE}/people/mona/tokens/{token.json['number']}", "olga").json == {"changed": 1}
    assert server.get("/api/v1/me", "mona").status == 401
    people = server.get(f"{SOURCE}/people", "olga").json
    models.PersonList(**people)
    assert {each["person"] for each in people["people"]} == {"olga", "ana", "bob", "audrey", "mona"}


def test_a_cap_can_be_changed_and_what_is_spent_stays(server):
    server.release("ana")
    change = server.call("PUT", f"{SOURCE}/people/ana", "olga", {"role": "analyst", "cap": "0.5"})
    assert change.json["budget"]["remaining"] == "0"
    assert server.release("ana", epsilon="0.1").status == 409
    assert server.get(f"{SOURCE}/budget", "ana").json["mine"]["total"] == "0.5"


def test_an_analyst_needs_a_cap_and_a_name(server):
    answer = server.call("PUT", f"{SOURCE}/people/mona", "olga", {"role": "analyst"})
    assert (answer.status, answer.json["error"]) == (400, "MissingParameter")
    for name in ("Mona", "a%20b", "x" * 101, "%C3%A9"):
        assert server.call("PUT", f"{SOURCE}/people/{name}", "olga", {"role": "auditor"}).status == 400
    for body in ({"role": "operator"}, {"role": "analyst", "cap": 0.5}, {"role": "analyst", "cap": "0"}, {}):
        assert server.call("PUT", f"{SOURCE}/people/mona", "olga", body).status == 400
    assert "mona" not in server.get(f"{SOURCE}/people", "olga").text


def test_someone_who_is_removed_cannot_ask_and_keeps_what_was_charged(server):
    server.release("ana")
    assert server.call("DELETE", f"{SOURCE}/people/ana", "olga").json == {"changed": 1}
    assert server.release("ana").status == 404
    assert server.ledger.budget("ana").spent == Fraction(1, 2)
    server.call("PUT", f"{SOURCE}/people/ana", "olga", {"role": "analyst"})  # the cap is still there
    assert server.get(f"{SOURCE}/budget", "ana").json["mine"]["remaining"] == "1.5"
    assert server.call("DELETE", f"{SOURCE}/people/olga", "olga").status == 409


def test_an_owner_of_one_source_has_no_power_over_another(server):
    assert server.post(f"{SOURCE}/people/otto/tokens", "olga", {}).status == 400  # otto has no role here
    server.call("PUT", f"{SOURCE}/people/otto", "olga", {"role": "auditor"})
    token = server.post(f"{SOURCE}/people/otto/tokens", "olga", {}).json["token"]
    roles = server.get("/api/v1/me", token=token).json["roles"]
    assert roles == {"visits": ["auditor"]}  # and not the owner of secrets
    assert server.get("/api/v1/sources/secrets", token=token).status == 404
    numbers = [each["number"] for each in server.app.access.tokens("otto") if each["sources"] is None]
    assert server.call("DELETE", f"{SOURCE}/people/otto/tokens/{numbers[0]}", "olga").status == 404
    server.call("DELETE", f"{SOURCE}/people/otto", "olga")
    assert server.get("/api/v1/me", "otto").json["roles"] == {"secrets": ["owner"]}
    assert server.get("/api/v1/me", token=token).status == 401


def test_the_total_is_changed_by_an_entry_that_everyone_sees(server, folder):
    made = server.call("PUT", f"{SOURCE}/total", "olga", {"epsilon": "9.5", "note": "year two"})
    models.EntryAnswer(**made.json)
    assert (made.json["kind"], made.json["epsilon"], made.json["note"]) == ("total", "9.5", "year two")
    assert server.get(f"{SOURCE}/budget", "ana").json["epsilon"]["total"] == "9.5"
    for body in ({"epsilon": 9.5}, {"epsilon": "-1"}, {"epsilon": "1e9"}, {}, {"epsilon": "1", "by": "ana"}):
        assert server.call("PUT", f"{SOURCE}/total", "olga", {"note": "why", **body}).status == 400
    for body in ({"epsilon": "9"}, {"epsilon": "9", "note": " "}):
        assert "Say why" in server.call("PUT", f"{SOURCE}/total", "olga", body).json["message"]
    server.stop()
    assert Ledger.open(folder / "visits.ledger").total == Fraction(19, 2)


def test_a_server_starts_with_the_total_of_the_ledger(start):
    server = start()
    server.call("PUT", f"{SOURCE}/total", "olga", {"epsilon": "9.5", "note": "year two"})
    server.stop()
    assert start().release("ana").status == 200


def test_the_ledger_and_its_verification(server):
    server.release("ana")
    told = server.get(f"{SOURCE}/ledger", "audrey").json
    models.LedgerAnswer(**told)
    assert told["ledger"] == "visits"
    assert [each["kind"] for each in told["entries"]] == ["open", *["analyst"] * 3, "charge", "answer"]
    assert told["entries"][4]["answered_by"] == 6
    head = server.get(f"{SOURCE}/ledger/head", "ana").json["head"]
    assert server.get(f"{SOURCE}/ledger/verify", "audrey").json == {"entries": 6, "head": head}
    server.release("ana", epsilon="0.1")
    assert server.get(f"{SOURCE}/ledger/verify?head={head}", "olga").json["entries"] == 8
    wrong = server.get(f"{SOURCE}/ledger/verify?head={'0' * 64}", "audrey")
    assert (wrong.status, wrong.json["error"]) == (409, "LedgerError")
    assert wrong.json["message"].startswith('This head is not in the ledger "visits": ')


def test_versions_are_listed_with_their_first_time_and_their_questions(server, start, folder):
    assert server.get(f"{SOURCE}/versions", "audrey").json == {"source": "visits", "version": None, "versions": []}
    server.release("ana", epsilon="0.1")
    server.release("ana", epsilon="0.2")
    server.stop()
    file = folder / "visits.toml"
    file.write_text(f'version = "2026"\n{file.read_text()}')
    again = start()
    again.release("ana", epsilon="0.1")
    told = again.get(f"{SOURCE}/versions", "olga").json
    models.VersionList(**told)
    times = [each.time for each in again.ledger.entries() if each.kind == "charge"]
    assert told == {
        "source": "visits",
        "version": "2026",
        "versions": [
            {"version": None, "first_seen": times[0], "entries": 2},
            {"version": "2026", "first_seen": times[2], "entries": 1},
        ],
    }
    assert again.get(f"{SOURCE}/versions", "ana").status == 404


def test_an_auditor_learns_which_entry_was_edited(server, folder):
    server.release("ana")
    with sqlite3.connect(folder / "visits.ledger") as edited:
        edited.execute("UPDATE lapwing_entries SET epsilon = 1 WHERE number = 5")
    wrong = server.get(f"{SOURCE}/ledger/verify", "audrey")
    assert (wrong.status, wrong.json["error"]) == (409, "LedgerError")
    assert "entry 5: does not match its hash" in wrong.json["message"]
    assert server.release("ana").status == 503


# --- what an owner does in the name of another is counted apart ---


def as_eve(server):
    """Let the owner of visits act as eve, who is an analyst of another source; return the token."""
    server.call("PUT", f"{SOURCE}/people/eve", "olga", {"role": "analyst", "cap": "1"})
    return server.post(f"{SOURCE}/people/eve/tokens", "olga", {"days": 7}).json["token"]


def test_an_owner_cannot_use_up_the_pace_of_another_by_a_token_in_their_name(start):
    server = start(requests_per_minute=5)
    token = as_eve(server)
    assert [server.get("/api/v1/me", token=token).status for _ in range(6)] == [200] * 5 + [429]
    other = server.post(f"{SOURCE}/people/eve/tokens", "olga", {"days": 7}).json["token"]
    assert server.get("/api/v1/me", token=other).status == 429  # more tokens of that kind give no more
    assert server.get("/api/v1/me", "eve").status == 200


def test_an_owner_cannot_use_up_the_turns_of_another_by_a_token_in_their_name(server, monkeypatch):
    token, go_on, planned = as_eve(server), threading.Event(), ask_routes.planned
    small = {"sql": "SELECT COUNT(*) FROM visits", "epsilon": "1"}

    def held(served, asking):
        assert asking.rows != 7 or go_on.wait(30)
        return planned(served, asking)

    monkeypatch.setattr(ask_routes, "planned", held)
    with ThreadPoolExecutor(40) as pool:
        asked = [pool.submit(server.post, f"{SOURCE}/plan", body={**small, "rows": 7}, token=token) for _ in range(40)]
        try:
            while sum(each.done() for each in asked) < 40 - AT_ONCE - WAITING:
                threading.Event().wait(0.01)
            assert server.post(f"{SOURCE}/plan", body=small, token=token).status == 429
            assert server.post(f"{SOURCE}/plan", "eve", small).status == 200
        finally:
            go_on.set()


def test_open_jobs_and_those_that_are_kept_are_counted_for_each_source(server, monkeypatch):
    monkeypatch.setattr("lapwing.server.jobs.MOST_OPEN", 0)
    token = as_eve(server)
    asked = {"sql": "SELECT COUNT(*) FROM visits", "epsilon": "0.01"}
    refused = server.post(f"{SOURCE}/jobs", body=asked, token=token)
    assert (refused.status, "open jobs for this source" in refused.json["message"]) == (429, True)
    monkeypatch.setattr("lapwing.server.jobs.MOST_OPEN", 1)
    monkeypatch.setattr("lapwing.server.jobs.KEPT", 1)
    access = server.app.access
    row = {"person": "eve", "source": "visits", "token": "", "server": server.app.api.state.parts.jobs.server}
    with access.store.transaction(write=True) as connection:
        for job, state in (("1", "open"), ("2", "done"), ("3", "done")):
            more = {"job": job, "state": state, "question": "{}", "made": job, "changed": job}
            connection.execute(sa.insert(jobs), {**row, **more})
    assert server.post(f"{SOURCE}/jobs", body=asked, token=token).status == 429
    secrets = {"sql": "SELECT COUNT(*) FROM secrets", "epsilon": "0.01"}
    assert server.post("/api/v1/sources/secrets/jobs", "eve", secrets).status == 202
    kept = access.store.rows(sa.select(jobs.c.job).where(jobs.c.source == "visits").order_by(jobs.c.job))
    assert [each["job"] for each in kept] == ["1", "2", "3"]  # those of one source do not make room for another's


def test_sessions_are_counted_for_each_limit_of_tokens(server, monkeypatch):
    monkeypatch.setattr("lapwing.server.access.MOST_SESSIONS", 2)
    access, token = server.app.access, as_eve(server)
    mine = access.make_session("eve", server.tokens["eve"].split("_")[1])
    made = [access.make_session("eve", token.split("_")[1]) for _ in range(4)]
    assert access.caller(mine.text, SESSION).person == "eve"
    assert sum(access.caller(each.text, SESSION) is not None for each in made) == 2
