"""Requests that are made to harm: they are refused in our own words, cost nothing, and leave the server as it was."""

import pytest

from .conftest import ASKED

VISITS = "/api/v1/sources/visits"
BOMBS = {
    "a number of many digits": b'{"sql": "x", "epsilon": ' + b"9" * 50_000 + b"}",
    "many digits in a text": b'{"sql": "x", "epsilon": "' + b"9" * 50_000 + b'"}',
    "a large exponent": b'{"sql": "x", "epsilon": "1e999999999"}',
    "a small exponent": b'{"sql": "x", "epsilon": "1e-999999999"}',
    "a large denominator": b'{"sql": "x", "epsilon": "1/' + b"9" * 50_000 + b'"}',
    "deep lists": b'{"epsilon": "1", "by": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"epsilon": "1", "weights": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
    "deep statistics": b'{"epsilon": "1", "statistics": [' + b'{"numerator":' * 5_000 + b"1" + b"}" * 5_000 + b"]}",
    "deep brackets of SQL": b'{"epsilon": "1", "sql": "SELECT ' + b"(" * 20_000 + b"1" + b")" * 20_000 + b'"}',
    "a deep condition": b'{"epsilon": "1", "statistics": [{"statistic": "count"}], "where": "'
    + b"NOT " * 20_000 + b'age > 3"}',
    "a zero in a text": b'{"epsilon": "1", "sql": "SELECT COUNT(*) FROM visits\\u0000"}',
    "two fields of one name": b'{"sql": "x", "epsilon": "1", "epsilon": "NaN"}',
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_would_take_much_work_or_memory_is_refused(server, bomb):
    before = server.ledger.head
    for route in ("plan", "release", "jobs"):
        answer = server.post(f"{VISITS}/{route}", "ana", BOMBS[bomb])
        assert answer.status == 400, answer.text
        assert set(answer.json) == {"error", "message"}
        assert len(answer.text) < 3000
    assert server.ledger.head == before
    assert server.get(f"{VISITS}/budget", "ana").status == 200


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"])
def test_methods_that_no_route_has_are_refused_like_unknown_addresses(server, method):
    known, unknown = (server.call(method, path, "ana") for path in (f"{VISITS}/budget", "/nosuch"))
    assert known.shape == unknown.shape
    assert known.status == 404
    assert server.tokens["ana"] not in known.text + str(known.headers)
    assert server.call(method, f"{VISITS}/budget").status == 401


@pytest.mark.parametrize(
    "name", ["visits%00", "vi%CC%88sits", "%EF%BD%96isits", "visits%E2%80%8B", "VISITS", "%F0%9F%90%A6"]
)  # fmt: skip
def test_a_name_that_looks_like_a_source_is_none(server, name):
    wrong, unknown = (server.get(f"/api/v1/sources/{each}", "ana") for each in (name, "nosuch"))
    assert wrong.shape == unknown.shape
    assert wrong.status == 404


@pytest.mark.parametrize("name", ["m%C3%B6na", "..%2F..%2Fetc", "mona%0Aolga", "%F0%9F%90%A6", "Mona", "-", "a" * 200])
def test_a_name_that_no_person_can_have_is_refused(server, name):
    answer = server.call("PUT", f"{VISITS}/people/{name}", "olga", {"role": "auditor"})
    assert answer.status in (400, 404)
    assert {each["person"] for each in server.get(f"{VISITS}/people", "olga").json["people"]} == {
        "ana", "audrey", "bob", "olga"
    }  # fmt: skip


def test_two_tokens_in_one_request_are_none(server):
    both = f"Bearer {server.tokens['ana']}, Bearer {server.tokens['olga']}"
    assert (
        server.post(f"{VISITS}/plan", body={"sql": ASKED, "epsilon": "1"}, headers={"authorization": both}).status
        == 401
    )
