"""The client and servers that are none, or hostile: every answer is read within limits, or is one error."""

import json
import socket
import threading
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import lapwing as lw
from lapwing.client import link, remote
from lapwing.source import Source

from .conftest import ASKED


@pytest.fixture
def stranger():
    """A server that answers everything with what a test says."""

    class Handler(BaseHTTPRequestHandler):
        status, headers_, body = 200, {}, b"{}"

        def do_GET(self):
            self.seen.append((self.path, self.headers.get("Authorization")))
            self.send_response(self.status)
            for name, value in self.headers_.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(self.body)

        do_POST = do_GET  # noqa: N815  # as the library calls it

        def log_message(self, *_):
            pass

    class Fresh(Handler):
        seen = []  # noqa: RUF012

    server = HTTPServer(("127.0.0.1", 0), Fresh)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Fresh, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def described(folder):
    """What a server says about a source."""
    source = Source.open(folder / "visits.toml")
    return {**source.describe(), "engine": "duckdb"}


@pytest.mark.parametrize("body", [b"", b"<html>", b"\x80\x04cposix\nsystem\n", b"[" * 10**5, b"[]", b"{}", b"null"])
def test_T34_T47_what_is_no_answer_is_refused_and_never_run(stranger, body):
    handler, url = stranger
    handler.body = body
    with pytest.raises((lw.errors.ServerError, lw.errors.InvalidSource)):
        lw.connect(url, "lapwing_x")["visits"]
    handler.status = 500
    with pytest.raises(lw.errors.ServerError):
        lw.connect(url, "lapwing_x")["visits"]


@pytest.fixture
def dripping():
    """A function that starts a server which sends bytes, and then one byte at a time; return its address."""
    stop, threads, listening = threading.Event(), [], socket.create_server(("127.0.0.1", 0))

    def serve(begin):
        with listening.accept()[0] as connection, suppress(OSError):
            connection.recv(10**5)
            connection.sendall(begin)
            while not stop.wait(0.1):
                connection.sendall(b" ")

    def start(begin):
        threads.append(threading.Thread(target=serve, args=(begin,)))
        threads[-1].start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield start
    stop.set()
    for thread in threads:
        thread.join()
    listening.close()


@pytest.mark.parametrize(
    "begin",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: ",
        b"HTTP/1.1 400 No\r\nContent-Length: 1000\r\n\r\n",
    ],
)
def test_one_deadline_holds_for_all_bytes_of_an_answer(dripping, begin):
    ended = threading.Event()

    def ask():
        with pytest.raises(lw.errors.ServerError, match=r"did not answer within 0\.5 seconds"):
            lw.connect(dripping(begin), "lapwing_x", seconds=0.5).me  # noqa: B018
        ended.set()

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(5)
    assert ended.is_set()


@pytest.mark.parametrize("seconds", [0, -1, None, "3", True, float("nan"), float("inf"), 10**6])
def test_a_deadline_is_a_number_of_seconds(seconds):
    with pytest.raises(lw.errors.InvalidParameter, match="seconds"):
        lw.connect("https://stats.example", "lapwing_x", seconds=seconds)


def test_an_answer_that_is_too_large_is_refused(stranger, monkeypatch):
    handler, url = stranger
    monkeypatch.setattr(link, "_LARGEST", 3 * 2**20)
    handler.body = b'{"a": "' + b"x" * (3 * 2**20 - 9) + b'"}'
    assert len(lw.connect(url, "lapwing_x").me["a"]) == 3 * 2**20 - 9
    handler.body += b" "
    with pytest.raises(lw.errors.ServerError, match="is larger than 3 MiB"):
        lw.connect(url, "lapwing_x").me  # noqa: B018


ODD = "\x1b[2J\x1b]0;title\x07 a\nb\r\u202ec\x9b" + "x" * 10**5


def test_texts_of_a_server_cannot_drive_a_terminal(stranger, described):
    handler, url = stranger
    found = lw.connect(url, "lapwing_x")
    handler.body = json.dumps(described).encode()
    visits, texts = found["visits"], []

    def refused(kind, ask):
        with pytest.raises(kind) as told:
            ask()
        texts.append(str(told.value))

    handler.body = json.dumps({"job": "1", "state": "failed", "error": "EngineError", "message": ODD}).encode()
    refused(lw.errors.EngineError, lambda: visits.sql(ASKED, epsilon=1))
    handler.body = json.dumps({"job": "1", "state": ODD, "error": None, "message": None}).encode()
    refused(lw.errors.ServerError, lambda: visits.sql(ASKED, epsilon=1))
    handler.body = json.dumps({**described, "engine": ODD[:40]}).encode()
    refused(lw.errors.LapwingError, lambda: found["visits"])
    handler.status, handler.body = 400, json.dumps({"error": "BudgetExceeded", "message": ODD}).encode()
    refused(lw.errors.BudgetExceeded, lambda: found.me)
    assert texts[-1].startswith(" [2J ]0;title  a b  c xxx")
    assert texts[-1].endswith("x…")
    assert all(text.isprintable() and len(text) <= 2000 for text in texts)


def test_a_job_that_never_ends_is_waited_for_a_day(stranger, described, monkeypatch):
    handler, url = stranger
    handler.body = json.dumps(described).encode()
    visits = lw.connect(url, "lapwing_x")["visits"]
    handler.body = json.dumps({"job": "1", "state": "open", "error": None, "message": None}).encode()
    hours = iter(range(100))
    monkeypatch.setattr(remote, "monotonic", lambda: next(hours) * 3600)
    monkeypatch.setattr(remote, "_POLL", timedelta())
    with pytest.raises(lw.errors.ServerError, match="is not done with the question after 1 day"):
        visits.sql(ASKED, epsilon=1)
    assert len(handler.seen) == 2 + 23


AMOUNTS = {"total": "1", "spent": "0", "remaining": "1"}
CLIPPED = {"column": "cost", "low": "0", "high": "100", "share": None, "entry": None}
RELEASED = {
    "entry": 3, "question": None, "epsilon": "1", "answer": {"cells": [[[19734592]]]}, "analyst": None,
    "repeated": False, "completed": False, "reused": False, "recorded_at": None, "modified_at": None,
    "remaining": "1", "budget": None,
    "head": "x",
}  # fmt: skip
ODD_ANSWERS = {
    "sources": [{"sources": each} for each in (5, [5], None, [{"name": {}}], [{"name": ODD}])],
    "left": [
        *({"epsilon": each, "mine": None} for each in (5, None, *({"remaining": x} for x in ("1/0", None, [1], True)))),
        *({"epsilon": AMOUNTS, "mine": each} for each in ([1], 5, {"remaining": "abc"})),
    ],
    "budget": [{"epsilon": each} for each in (5, None, [], {"total": "x", "spent": "y"}, {**AMOUNTS, "analyst": 5})],
    "history": [
        *({"entries": each} for each in (5, None, [5], [None])),
        *(
            {"entries": [{"entry": 1, **each}]}
            for each in (
                {"entry": "<b>"}, {"entry": True}, {"epsilon": "x"}, {"time": 5}, {"kind": []}, {"note": {}},
                {"analyst": ODD}, {"hash": "\x1b"}, {"charge": "2"}, {"spent": {}},
            )
        ),
    ],
    "verify": [{"entries": each} for each in ([5], None, "x", "5", 1.5, True, {})],
    "head": [{"head": each} for each in (5, None, "\x1b[2J", {})],
    "example": [{"columns": each} for each in (5, None, [], {"cost": 5})],
    "plan": [
        *({"clipped": each} for each in (5, None, [5])),
        *(
            {"clipped": [{**CLIPPED, **each}]}
            for each in (
                {"share": 5}, {"share": {"value": "x", "low": 2, "high": 3}}, {"high": "x"}, {"column": 5},
                {"column": "age"},
                {"column": "\x1b"}, {"entry": "1"}, {"share": {"value": None, "low": None, "high": 3}},
            )
        ),
    ],
    "recall": [
        {"epsilon": "x", "question": None}, {"epsilon": "1", "question": {"query": 5, "split": {}}, "answer": 5},
    ],
    "release": [
        *({**RELEASED, **each} for each in ({"answer": 5}, {"entry": "x"}, {"budget": 5}, {"recorded_at": 5})),
        {**RELEASED, "analyst": ODD}, {**RELEASED, "reused": True, "question": {"query": 5, "split": [5]}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("verb", ODD_ANSWERS)
def test_an_odd_answer_is_one_error_of_the_server(stranger, described, verb):
    handler, url = stranger
    handler.body = json.dumps(described).encode()
    found = lw.connect(url, "lapwing_x")
    visits = found["visits"]
    ask = {
        "sources": lambda: found.sources,
        "left": visits.left,
        "budget": visits.ledger.budget,
        "history": visits.history,
        "verify": visits.ledger.verify,
        "head": lambda: visits.ledger.head,
        "example": visits.example,
        "plan": lambda: visits.plan(lw.mean("cost"), epsilon=1),
        "recall": lambda: visits.recall(3),
        "release": lambda: visits.release(lw.count(), epsilon=1),
    }[verb]
    for answer in ODD_ANSWERS[verb]:
        handler.body = json.dumps(answer).encode()
        with pytest.raises(lw.errors.LapwingError, match=r"cannot be read|does not fit|can be shown|lacks") as told:
            ask()
        assert str(told.value).isprintable(), answer


def test_the_answer_that_the_odd_ones_differ_from_is_read(stranger, described):
    handler, url = stranger
    handler.body = json.dumps(described).encode()
    visits = lw.connect(url, "lapwing_x")["visits"]
    handler.body = json.dumps(RELEASED).encode()
    assert visits.release(lw.count(), epsilon=1).entry == 3


@pytest.mark.parametrize("name", ["secrets", "../../x", "<b>", "VISITS", "\x1b[2J", 5, None])
def test_a_description_of_another_source_is_refused(stranger, described, name):
    handler, url = stranger
    handler.body = json.dumps({**described, "name": name}).encode()
    with pytest.raises(lw.errors.ServerError, match="describes a different source"):
        lw.connect(url, "lapwing_x")["visits"]


def test_a_redirect_is_not_followed_with_the_token(stranger):
    handler, url = stranger
    handler.status, handler.headers_ = 302, {"Location": f"{url}/elsewhere"}
    with pytest.raises(lw.errors.ServerError):
        lw.connect(url, "lapwing_x").me  # noqa: B018
    assert [path for path, _ in handler.seen] == ["/api/v1/me"]


def test_nobody_at_the_address(stranger):
    with pytest.raises(lw.errors.ServerError, match="cannot be reached"):
        lw.connect("http://127.0.0.1:1", "lapwing_x").me  # noqa: B018
