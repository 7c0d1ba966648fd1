"""Requests for a higher cap on the server: who may make, see and decide them, and what the ledger then says."""

import threading
from fractions import Fraction

from lapwing.server import models

SOURCE = "/api/v1/sources/visits"
REQUESTS = f"{SOURCE}/requests"


def ask(server, who="ana", cap="2.5", reason="A second survey."):
    return server.post(REQUESTS, who, {"cap": cap, "reason": reason})


def test_an_analyst_asks_and_the_owner_grants_less(server):
    made = ask(server)
    assert made.status == 201
    models.CapRequestAnswer(**made.json)
    assert (made.json["analyst"], made.json["state"], made.json["cap"]) == ("ana", "open", "2.5")
    number = made.json["request"]
    assert server.get(f"{SOURCE}/budget", "ana").json["mine"]["total"] == "2"
    granted = server.post(f"{REQUESTS}/{number}/grant", "olga", {"cap": "2.25", "note": "until May"})
    assert (granted.status, granted.json["granted"], granted.json["note"]) == (200, "2.25", "until May")
    assert server.get(f"{SOURCE}/budget", "ana").json["mine"]["total"] == "2.25"
    assert server.get(REQUESTS, "ana").json["requests"] == [granted.json]
    kinds = [each["kind"] for each in server.get(f"{SOURCE}/ledger", "audrey").json["entries"]]
    assert kinds[-2:] == ["request", "grant"]
    assert server.get(f"{SOURCE}/ledger/verify", "audrey").status == 200


def test_analysts_see_and_withdraw_only_their_own_requests(server):
    mine, other = ask(server).json["request"], ask(server, "bob").json["request"]
    assert [each["request"] for each in server.get(REQUESTS, "ana").json["requests"]] == [mine]
    for who in ("olga", "audrey"):
        assert [each["request"] for each in server.get(REQUESTS, who).json["requests"]] == [mine, other]
    for who in ("bob", "olga"):  # an owner declines instead
        assert server.call("DELETE", f"{REQUESTS}/{mine}", who).status == 404
    nothing = server.call("DELETE", f"{REQUESTS}/99999", "bob")
    assert str(server.call("DELETE", f"{REQUESTS}/{mine}", "bob").shape) == str(nothing.shape)
    assert server.call("DELETE", f"{REQUESTS}/{mine}", "ana").json["state"] == "withdrawn"
    assert server.call("DELETE", f"{REQUESTS}/{mine}", "ana").status == 409
    assert server.post(f"{REQUESTS}/{mine}/grant", "olga", {}).status == 409


def test_neither_analysts_nor_owners_of_others_decide(server):
    number = ask(server).json["request"]
    for who in ("ana", "bob", "audrey", "oscar", "otto", "eve"):
        for end in ("grant", "decline"):
            assert server.post(f"{REQUESTS}/{number}/{end}", who, {}).status == 404
    assert ask(server, "eve").status == 404
    assert server.ledger.requests()[0].state == "open"
    assert server.post(f"{REQUESTS}/{number}/decline", "olga", {"note": "not now"}).json["state"] == "declined"
    assert server.ledger.budget("ana").total == 2


def test_what_does_not_fit_is_refused(server):
    for cap, reason in (
        ("2", "no more than the cap"), ("nan", "x"), (2.5, "a float"), ("2.5", ""), ("2.5", "two\nlines"),
        ("2.5", "x" * 501), ("2.5", "\u202ereversed"), ("2.5", None),
    ):  # fmt: skip
        assert ask(server, cap=cap, reason=reason).status == 400, (cap, reason)
    assert server.post(REQUESTS, "ana", {"cap": "3", "reason": "x", "analyst": "bob"}).status == 400
    assert 'A cap must be a text, such as "0.1".' in ask(server, cap=2.5).json["message"]
    assert server.post(REQUESTS, "ana", {"epsilon": "3", "reason": "x"}).status == 400  # a cap is called cap
    number = ask(server).json["request"]
    for body in ({"cap": "2.6"}, {"cap": "1"}, {"cap": 2.2}, {"note": "a\tb"}, {"more": 1}):
        assert server.post(f"{REQUESTS}/{number}/grant", "olga", body).status == 400, body
    for _ in range(4):
        assert ask(server).status == 201
    assert "You have 5 open requests" in ask(server).json["message"]


def test_T25_of_owners_who_decide_at_once_one_does(server):
    number, told = ask(server).json["request"], []

    def decide(end, body):
        told.append(server.post(f"{REQUESTS}/{number}/{end}", "olga", body).status)

    ends = [("grant", {"cap": "2.25"}), ("grant", {}), ("decline", {})] * 3
    threads = [threading.Thread(target=decide, args=each) for each in ends]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(told) == [200] + [409] * 8
    assert server.ledger.budget("ana").total in (Fraction(9, 4), Fraction(5, 2), 2)
    server.ledger.verify()
