"""What owners and auditors do: people, tokens, caps, the total, the ledger and its verification."""

import sqlite3
from fractions import Fraction

from lapwing.ledger.ledger import Ledger
from lapwing.server import models

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
        assert server.call("PUT", f"{SOURCE}/total", "olga", body).status == 400
    server.stop()
    assert Ledger.open(folder / "visits.ledger").total == Fraction(19, 2)


def test_a_server_starts_with_the_total_of_the_ledger(start):
    server = start()
    server.call("PUT", f"{SOURCE}/total", "olga", {"epsilon": "9.5"})
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
    assert wrong.json["message"].startswith('Ledger "visits" is damaged: the head that was kept is not in it')


def test_an_auditor_learns_which_entry_was_edited(server, folder):
    server.release("ana")
    with sqlite3.connect(folder / "visits.ledger") as edited:
        edited.execute("UPDATE lapwing_entries SET epsilon = 1 WHERE number = 5")
    wrong = server.get(f"{SOURCE}/ledger/verify", "audrey")
    assert (wrong.status, wrong.json["error"]) == (409, "LedgerError")
    assert "entry 5: does not match its hash" in wrong.json["message"]
    assert server.release("ana").status == 503
