"""A real server: the command, its port, its signals; killed and started again."""

import json
import signal
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import duckdb
import pytest

import lapwing as lw
from lapwing.ledger.ledger import Ledger

from .conftest import ASKED
from .processes import write_certificate


def test_a_server_from_its_start_to_its_end(serve, folder):
    server = serve()
    ana = server.connect("ana")["visits"]
    answer = ana.sql(ASKED, epsilon="0.5")
    assert ana.sql(ASKED, epsilon="0.5").rows == answer.rows
    (folder / "visits.csv").unlink()
    with pytest.raises(lw.errors.EngineError, match=r"^The table could not be read\."):
        ana.sql(ASKED, epsilon="0.25")
    status, said = server.end()
    first, *lines = said.splitlines()
    assert first == f"Serving visits on {server.url}"
    logged = [json.loads(line) for line in lines]
    requests = [(line["person"], line["status"]) for line in logged if "status" in line]
    assert requests == [("ana", 200)] * 3 + [("ana", 503)]
    (failure,) = [line for line in logged if "status" not in line]
    assert failure["log"] == "lapwing.server"
    assert "there is no file" in failure["message"]
    assert status == 0
    assert Ledger.open(folder / "visits.ledger").spent == Fraction(1, 2)


LONG = "SELECT ward, MEDIAN(cost) AS m, MEDIAN(age) AS a, AVG(cost) AS c FROM visits GROUP BY ward"


@pytest.fixture
def long(folder):
    """A table whose release takes a second."""
    duckdb.sql(
        "SELECT i AS patient, ['north', 'south', 'west'][1 + i % 3] AS ward, i % 90 AS cost, 20 + i % 60 AS age "
        "FROM range(4_000_000) AS t(i)"
    ).write_parquet(str(folder / "visits.parquet"))
    source = folder / "visits.toml"
    source.write_text(source.read_text().replace("visits.csv", "visits.parquet"))
    return folder


def charges(folder):
    return [each for each in Ledger.open(folder / "visits.ledger").entries() if each.kind == "charge"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_T56_a_signal_in_the_middle_of_a_charge_leaves_one_charge_one_answer_and_status_0(serve, long, number):
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests may run under nohup
    try:
        server = serve()
    finally:
        signal.signal(signal.SIGHUP, before)
    visits = server.connect("ana")["visits"]
    visits.left()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(visits.sql, LONG, epsilon="0.5")
        while not charges(long):
            threading.Event().wait(0.01)
        assert not asked.done()
        status, said = server.end(number)
        answer = asked.result(timeout=60)
    assert (status, len(answer.rows)) == (0, 3)
    assert [(each.epsilon, each.answered) for each in charges(long)] == [(Fraction(1, 2), True)]
    logged = [json.loads(line) for line in said.splitlines()[1:]]
    assert [each.get("status") for each in logged] == [200] * len(logged)
    assert serve().connect("ana")["visits"].sql(LONG, epsilon="0.5").rows == answer.rows
    assert len(charges(long)) == 1


def test_T56_a_client_or_proxy_that_hangs_up_in_the_middle_of_a_charge_leaves_one_charge_and_one_answer(serve, long):
    server = serve()
    body = json.dumps({"sql": LONG, "epsilon": "0.5"})
    head = f"POST /api/v1/sources/visits/release HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    head += f"Content-Type: application/json\r\nAuthorization: Bearer {server.tokens['ana']}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as link:
        link.sendall((head + body).encode())
        while not charges(long):
            threading.Event().wait(0.01)
        (charge,) = charges(long)
        assert not charge.answered
    status, said = server.end()
    assert (status, "Traceback" in said) == (0, False)
    (charge,) = charges(long)
    assert (charge.epsilon, charge.answered) == (Fraction(1, 2), True)
    again = serve().connect("ana")["visits"].sql(LONG, epsilon="0.5")
    assert (again.repeated, again.entry, len(charges(long))) == (True, charge.number, 1)


def test_a_server_started_by_nohup_stays_when_its_terminal_is_closed(serve):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        server = serve()
    finally:
        signal.signal(signal.SIGHUP, before)
    server.process.send_signal(signal.SIGHUP)
    threading.Event().wait(0.5)  # it would end in a tenth of that
    assert server.connect("ana").sources == ["visits"]
    assert server.end()[0] == 0


def test_a_request_with_two_lengths_is_refused_and_nothing_after_it_is_read(serve):
    server = serve()
    host = server.url.removeprefix("http://")
    token = server.tokens["ana"]
    first = (
        f"POST /api/v1/me HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    second = f"GET /api/v1/me HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2])), timeout=10) as link:
        link.sendall((first + second).encode())
        got = b""
        while piece := link.recv(65536):  # until the server ends the connection
            got += piece
    assert got.startswith(b"HTTP/1.1 400 ")
    assert got.count(b"HTTP/1.1") == 1
    assert b"ana" not in got


def test_what_is_no_request_leaves_one_line_of_json_in_the_log(serve):
    server = serve()
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
        link.sendall(b"no request of HTTP\r\n\r\n")
        assert link.recv(65536).startswith(b"HTTP/1.1 400 ")
    _, said = server.end()
    assert [json.loads(line)["log"] for line in said.splitlines()[1:]] == ["uvicorn.error"]


def test_a_server_that_is_killed_loses_no_charge_and_goes_on_with_its_jobs(serve, folder):
    server = serve(config="lease_seconds = 1")
    link = server.connect("ana")._link
    jobs = [
        link.post("sources", "visits", "jobs", body={"sql": ASKED, "epsilon": f"0.{place}"})["job"]
        for place in range(1, 5)
    ]
    server.end(signal.SIGKILL)
    Ledger.open(folder / "visits.ledger").verify()
    again = serve(config="lease_seconds = 1").connect("ana")
    for job in jobs:
        for _ in range(600):
            found = again._link.get("sources", "visits", "jobs", job)
            if found["state"] != "open":
                break
            threading.Event().wait(0.05)
        assert found["state"] == "done"
    ledger = Ledger.open(folder / "visits.ledger")
    charges = [each for each in ledger.entries() if each.kind == "charge"]
    assert sorted(each.epsilon for each in charges) == [Fraction(place, 10) for place in range(1, 5)]
    assert all(each.answered for each in charges)
    assert ledger.spent == 1


def test_tls_is_verified(serve, folder):
    pem, secret = write_certificate(folder)
    options = ("--certificate", str(pem), "--key", str(secret), "--name", "127.0.0.1")
    server = serve(*options, scheme="https")
    assert server.connect("ana", certificates=str(pem)).sources == ["visits"]
    with pytest.raises(lw.errors.ServerError, match="certificate is not valid"):
        server.connect("ana").sources  # noqa: B018
    assert ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED
