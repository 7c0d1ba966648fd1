"""What every request passes: host, size, time, pace, headers; and what is told when something fails."""

import json
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from lapwing.errors import EngineError, InvalidParameter, InvalidRequest, LedgerError, MissingParameter
from lapwing.question.statistic_json import NAMES
from lapwing.server import ask_routes
from lapwing.server.access import Access
from lapwing.server.app import Application
from lapwing.server.gate import Pace
from lapwing.server.refusals import json_bytes
from lapwing.server.settings import settings_of

from .conftest import ASKED, CANARY
from .conftest import settings as settings_for

ME = "/api/v1/me"


@pytest.mark.parametrize("host", ["evil.example", "", "127.0.0.1.evil.example", "localhost@evil", "127.0.0.1:x", None])
def test_another_host_is_refused(server, host):
    answer = server.get(ME, "ana", headers={"host": host})
    assert answer.status == 400
    told = "The server is not called by this name. Use one of its names; whoever runs it can add one: --name."
    assert answer.json["message"] == told
    assert "evil" not in answer.text + str(answer.headers)


def test_the_names_of_this_machine_are_known(server):
    for host in ("127.0.0.1", "localhost:8765", "LOCALHOST", "[::1]:99"):
        assert server.get(ME, "ana", headers={"host": host}).status == 200


def test_large_bodies_are_refused_whether_they_say_so_or_not(start):
    server = start(body_bytes=2000)
    body = json.dumps({"sql": ASKED, "epsilon": "0.1", "where": "x" * 3000}).encode()
    for headers, pieces in (
        ({}, None), ({"content-length": "10"}, [body]), ({"content-length": None}, [body[:1500], body[1500:]]),
        ({"content-length": "99999999999999999999"}, [b"x"]), ({"content-length": "-1"}, [b"x"]),
        ({"content-length": "x"}, [b"x"]), ({"content-length": "9" * 5000}, [b"x"]), ({"content-length": "²"}, [b"x"]),
        ({"content-length": ""}, [b"x"]),
    ):  # fmt: skip
        answer = server.post("/api/v1/sources/visits/plan", "ana", body, headers=headers, pieces=pieces)
        assert (answer.status, answer.json["error"]) == (413, "TooLarge"), headers
    small = {"sql": "SELECT COUNT(*) FROM visits", "epsilon": "0.1"}
    assert server.post("/api/v1/sources/visits/plan", "ana", small).status == 200


def test_a_length_that_is_given_twice_is_refused_and_ends_the_connection(server):
    answer = server.post(
        "/api/v1/sources/visits/plan",
        "ana",
        {"sql": "SELECT COUNT(*) FROM visits", "epsilon": "1"},
        headers={"transfer-encoding": "chunked"},
    )
    assert (answer.status, answer.json["error"]) == (400, "InvalidRequest")
    assert answer.headers["connection"] == "close"


def test_slow_bodies_are_refused(start):
    server = start(body_seconds=1)
    answer = server.post("/api/v1/sources/visits/plan", "ana", pieces=[b'{"sql":'] + [b" "] * 20, pause=0.2)
    assert (answer.status, answer.json["error"]) == (408, "InvalidRequest")


def test_a_token_in_an_address_is_refused_and_not_logged(server):
    token = server.tokens["ana"]
    for address in (f"{ME}?token={token}", f"{ME}?a={token}", f"/{token}", f"{ME}?access_token=x", f"{ME}/{token}/x"):
        answer = server.get(address, "ana")
        assert (answer.status, answer.json["error"]) == (400, "InvalidRequest")
        assert token not in answer.text + str(answer.headers)
    assert token.rpartition("_")[2] not in json.dumps(server.lines)


@pytest.mark.parametrize(
    "path",
    ["/nosuch", "/api/v1", "/api/v1/sources/", "/api/v1/sources/..%2f..%2fetc%2fpasswd", "/api/v1/sources/../me",
     "//evil.example/x", "/api/v1/sources/visits/", "/api/v1/sources/visits/entries/..", "/%2e%2e/%2e%2e", "/docs"],
)  # fmt: skip
def test_unknown_addresses_are_refused_without_a_redirect(server, path):
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        answer = server.call(method, path, "ana")
        assert (answer.status, answer.json["error"]) == (404, "NotAllowed")
        assert "location" not in answer.headers
        assert not any(name.startswith("access-control") for name in answer.headers)  # no CORS


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", ME, "/learn", "/api/v1/sources/visits", "/sources/visits/history", "/nosuch"]
)
def test_HEAD_is_answered_as_GET_is_but_without_a_body(server, path):
    head, full = server.call("HEAD", path, "ana"), server.get(path, "ana")
    assert (head.status, head.headers, head.body) == (full.status, full.headers, b"")
    routes = [line["route"] for line in server.lines[-2:]]
    assert [each.partition(" ")[0] for each in routes] == ["HEAD", "GET"]
    assert len({each.partition(" ")[2] for each in routes}) == 1


def test_HEAD_does_what_no_other_method_does(server):
    before = server.ledger.head
    plan, unknown = (server.call("HEAD", path, "ana") for path in ("/api/v1/sources/visits/plan", "/nosuch"))
    assert plan.shape == unknown.shape
    assert server.call("HEAD", ME).status == 401
    assert server.ledger.head == before


@pytest.mark.parametrize("lost", ["access.sqlite", "visits.ledger", "secrets.ledger"])
def test_a_server_whose_people_or_ledgers_cannot_be_reached_runs_and_is_not_ready(server, folder, lost, monkeypatch):
    monkeypatch.setattr("lapwing.server.readiness._LASTS", 0)
    assert (server.get("/readyz").status, server.get("/readyz").json) == (200, {"status": "ready"})
    away = (folder / lost).rename(folder / "away")
    found = server.get("/readyz")
    assert (found.status, found.json, found.headers["cache-control"]) == (503, {"status": "not ready"}, "no-store")
    assert (server.get("/healthz").status, server.call("HEAD", "/readyz").status) == (200, 503)
    (folder / lost).unlink(missing_ok=True)
    away.rename(folder / lost)
    assert server.get("/readyz").json == {"status": "ready"}


def test_a_silent_database_is_looked_up_once_however_many_ask(server, monkeypatch):
    looks, go_on = [], threading.Event()

    def silent(access, source):
        looks.append(source)
        assert go_on.wait(30)
        return []

    monkeypatch.setattr("lapwing.server.readiness.PATIENCE", 0.05)
    monkeypatch.setattr(Access, "roles", silent)
    assert {server.get("/readyz").status for _ in range(5)} == {503}
    assert server.get("/healthz").status == 200
    go_on.set()
    assert len(looks) == 1


def test_every_response_has_the_same_safe_headers(server, start):
    answers = [server.get("/healthz"), server.get(ME), server.get(ME, "ana"), server.get("/nosuch", "ana")]
    answers.append(server.get(ME, "ana", headers={"host": "evil.example"}))
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in answer.headers
        assert "strict-transport-security" not in answer.headers
    proxied = start(behind_proxy=True, names=["stats.example"])
    answer = proxied.get(ME, "ana", headers={"host": "stats.example"})
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert proxied.get(ME, "ana").status == 400


def test_a_person_who_asks_too_often_waits(start):
    server = start(requests_per_minute=3)
    assert [server.get(ME, "ana").status for _ in range(5)] == [200, 200, 200, 429, 429]
    assert server.get(ME, "ana").headers["retry-after"] == "60"
    assert server.get(ME, "bob").status == 200


def test_the_pace_comes_back_evenly():
    pace = Pace(60)
    assert sum(pace.allows("ana", 0.0) for _ in range(100)) == 60
    assert [pace.allows("ana", now) for now in (0.5, 1.1, 1.2, 2.2)] == [False, True, False, True]
    assert sum(pace.allows("ana", 10**6) for _ in range(100)) == 60


BODIES = [b"", b"{", b"[]", b"null", b'{"sql": 3, "epsilon": "1"}', b'{"sql": "x", "epsilon": 0.1}', b"\xff\xfe",
          b'{"sql": "x", "epsilon": true}', b'{"sql": "x", "epsilon": "1", "analyst": "bob"}', b"[" * 20_000,
          b'{"sql": "x", "epsilon": "1", "entropy": 1}', b'{"epsilon": "1"}', b'{"sql": "x", "epsilon": "NaN"}',
          b'{"sql": "DROP TABLE visits", "epsilon": "1"}', b'{"sql": "x", "epsilon": "1", "confidence": "2"}',
          b'{"sql": "x", "statistics": [{"statistic": "count"}], "epsilon": "1"}',
          b'{"sql": "\\ud800", "epsilon": "1"}',
          b'{"statistics": [{"statistic": "count"}], "by": [[1]], "epsilon": "1"}', b'{"sql": "", "epsilon": "1"}',
          b'{"statistics": [], "epsilon": "1"}', b'{"sql": "x", "epsilon": "1e999"}']  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_what_does_not_fit_is_refused_in_our_own_words_and_costs_nothing(server, body):
    before = server.ledger.head
    for route in ("release", "plan", "jobs"):
        answer = server.post(f"/api/v1/sources/visits/{route}", "ana", body)
        assert answer.status == 400, (route, answer.text)
        assert set(answer.json) == {"error", "message"}
        assert "pydantic" not in answer.text
        assert "Traceback" not in answer.text
    assert server.ledger.head == before


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(["ward", "cost", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["tables", "a"]), inner, max_size=2),
    max_leaves=5,
)
ONE = st.dictionaries(
    st.sampled_from(["column", "condition", "weight", "q", "edges", "sample", "share", "factor", "name", "numerator"]),
    ANY | st.just({"statistic": "count"}),
    max_size=3,
).flatmap(lambda fields: st.sampled_from(NAMES).map(lambda name: {**fields, "statistic": name}))
FITTING = {
    "sql": st.sampled_from(["SELECT COUNT(*) FROM visits", "SELECT ward, AVG(cost) FROM visits GROUP BY ward"]),
    "statistics": st.lists(ONE, max_size=2),
    "epsilon": st.sampled_from(["0.1", "1e-9", 1, "1/2"]),
    "weights": st.just([["cost", "1"]]),
    "objective": st.sampled_from(["mean", "minimax"]),
    "by": st.sampled_from(["ward", ["ward"], {"tables": [["ward"], []]}]),
    "where": st.sampled_from(["age > 3", "ward = 'north'"]),
    "error": st.sampled_from(["3", {"count": "5"}]),
    "rows": st.integers(-1, 10**6),
    "rows_per_person": st.integers(-1, 5),
    "confidence": st.sampled_from(["0.9", "1", 0]),
    "intervals": st.booleans(),
}


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(body=st.fixed_dictionaries({}, optional={name: each | ANY for name, each in FITTING.items()}))
def test_no_body_makes_the_server_fail(server, body):
    text = json.dumps(body).replace("NaN", "1e999").encode()
    answer = server.post("/api/v1/sources/visits/plan", "ana", text)
    assert answer.status in (200, 400), (body, answer.text)
    assert server.ledger.spent == 0


@pytest.mark.parametrize(
    ("error", "status", "name"),
    [
        (ValueError(f"cell {CANARY}"), 500, "ServerError"),
        (MemoryError(CANARY), 500, "ServerError"),
        (EngineError("visits", f"has {CANARY} in /srv/data", "", ""), 503, "EngineError"),
        (LedgerError("/srv/visits.ledger", f"is {CANARY}", ""), 503, "LedgerError"),
    ],
)
def test_T24_whatever_fails_is_told_without_its_text(server, monkeypatch, error, status, name):
    def fail(*_):
        raise error

    monkeypatch.setattr(ask_routes, "planned", fail)
    answer = server.post("/api/v1/sources/visits/plan", "ana", {"sql": ASKED, "epsilon": "0.1"})
    assert (answer.status, answer.json["error"]) == (status, name)
    for shown in (answer.text, str(answer.headers), json.dumps(server.lines)):
        assert CANARY not in shown
        assert "/srv" not in shown
    if status == 500:
        assert type(error).__name__ in json.dumps(server.lines)


def test_a_record_of_people_that_cannot_be_read_lets_nobody_in(server, folder):
    (folder / "access.sqlite").rename(folder / "elsewhere.sqlite")
    for token in (server.tokens["ana"], server.tokens["olga"], None):
        answer = server.get(ME, token=token)
        assert (answer.status, answer.json["error"]) == (503, "AccessError")
        assert str(folder) not in answer.text
    (folder / "elsewhere.sqlite").rename(folder / "access.sqlite")
    assert server.get(ME, "ana").status == 200


def test_there_are_no_websockets(server):
    sent = []

    async def send(message):
        sent.append(message)

    server._in_loop(server.app({"type": "websocket", "path": ME, "headers": []}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_the_log_has_public_facts_alone(server):
    server.release("ana", "SELECT COUNT(*) FROM visits WHERE age = 77")
    server.get("/api/v1/sources/visits/example?rows=3", "ana")
    server.get("/api/v1/hello/SECRET-WORD", "ana")
    assert [set(line) for line in server.lines] == [{"time", "person", "route", "status", "ms"}] * 3
    assert [(line["person"], line["route"], line["status"]) for line in server.lines] == [
        ("ana", "POST /api/v1/sources/{source}/release", 200),
        ("ana", "GET /api/v1/sources/{source}/example", 200),
        ("ana", "GET none", 404),
    ]
    text = json.dumps([[line["person"], line["route"]] for line in server.lines])  # a time may have any digits
    assert not any(word in text for word in ("77", "age", "SECRET-WORD", "visits", "rows=3", "lapwing_"))


def test_the_metrics_have_public_labels_alone(server):
    server.release("ana")
    server.get("/nosuch", "ana")
    text = server.get("/metrics", "oscar").text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert set(families) == {"lapwing_requests", "lapwing_start_time_seconds"}
    templates = {f"{method} {route.path}" for route in server.app.api.routes for method in route.methods} | {"GET none"}
    for sample in families["lapwing_requests"].samples:
        assert set(sample.labels) == {"route", "status"}
        assert sample.labels["route"] in templates
        assert sample.labels["status"] in ("2xx", "4xx", "5xx")
    assert not any(word in text for word in ("ana", "visits", "epsilon"))


def test_T49_no_trace_leaves_the_server(folder, monkeypatch):
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    kept = Application(settings_for(folder)).api._telemetry
    assert [kept[name] for name in ("tracing", "metrics", "logs", "auto_configure")] == [False] * 4


def test_json_that_is_sent_is_valid():
    assert json.loads(json_bytes({"a": "\udc80", "b": "é"})) == {"a": "\udc80", "b": "é"}
    with pytest.raises(ValueError, match="JSON"):
        json_bytes({"a": float("nan")})


# --- settings ---


def test_defaults_are_safe(tmp_path):
    made = settings_of(None, {"sources": ["a.toml"], "access": str(tmp_path / "a")})
    assert (made.host, made.encrypted, made.body_bytes, made.epsilon_per_question) == ("127.0.0.1", False, 10**6, None)
    assert made.hosts == {"127.0.0.1", "localhost", "[::1]"}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"host": "0.0.0.0"}, InvalidRequest),
        ({"host": "192.168.0.7"}, InvalidRequest),
        ({"host": "::"}, InvalidRequest),
        ({"host": "stats.example"}, InvalidParameter),
        ({"host": "0.0.0.0", "behind_proxy": True}, MissingParameter),
        ({"certificate": "a.pem"}, MissingParameter),
        ({"key": "a.pem"}, MissingParameter),
        ({"sources": []}, MissingParameter),
        ({"port": 70000}, InvalidParameter),
        ({"epsilon_per_question": "0.1x"}, ValueError),
        ({"at_once": 0.5}, InvalidParameter),
    ],
)
def test_what_is_unsafe_is_refused_before_the_start(tmp_path, given, error):
    with pytest.raises(error):
        settings_of(None, {"sources": ["a.toml"], "access": str(tmp_path / "a"), **given})


def test_what_is_shown_of_settings_has_no_password():
    made = settings_of(None, {"sources": ["a.toml"], "access": "postgresql://ana:hush@db.example/people"})
    assert made.access.endswith("hush@db.example/people")
    assert "hush" not in repr(made)


def test_settings_of_a_file(tmp_path):
    file = tmp_path / "serve.toml"
    file.write_text(
        'sources = ["visits.toml"]\nport = 9000\nepsilon_per_question = 0.1\naccess = "people.sqlite"\n'
        'names = ["stats.example"]\nbehind_proxy = true\nhost = "0.0.0.0"\n'
    )
    made = settings_of(str(file), {"port": 9001, "sources": (), "host": None, "behind_proxy": False})
    assert made.sources == (str(tmp_path / "visits.toml"),)
    assert (made.port, made.access, made.host) == (9001, str(tmp_path / "people.sqlite"), "0.0.0.0")
    assert made.epsilon_per_question * 10 == 1  # a tenth, not the float beside it
    assert made.hosts == {"stats.example"}
    for wrong in ("prot = 3", 'behind_proxy = "yes"', "port = 1.5", "names = 3", "host = 3", "x =", 'sources = "a"'):
        file.write_text(f'sources = ["a.toml"]\n{wrong}\n' if "sources" not in wrong else wrong)
        with pytest.raises((InvalidParameter, InvalidRequest)):
            settings_of(str(file), {})
    with pytest.raises(InvalidRequest, match="cannot be read"):
        settings_of(str(tmp_path / "no.toml"), {})
