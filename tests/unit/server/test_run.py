"""The start of a server: its port is taken first, and one that cannot be had is an error of ours."""

import errno
import socket
import sys
from contextlib import ExitStack
from types import ModuleType

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from lapwing.errors import ServerError
from lapwing.server import run
from lapwing.server.settings import settings_of

from ..cli.test_main import run as run_command


@pytest.fixture
def port():
    """A port that is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def busy():
    """A port on which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def no_application(settings):
    raise AssertionError("a source was opened")


def test_a_port_in_use_is_refused_before_a_source_is_opened_and_without_a_word_of_serving(busy, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "Application", no_application)
    source, record = str(tmp_path / "visits.toml"), str(tmp_path / "access.sqlite")
    done = run_command("serve", source, "--access", record, "--port", str(busy), status=1)
    assert "Errno" not in done.stderr
    assert done.stderr == (
        f"lapwing: Port {busy} of 127.0.0.1 is in use by another program. "
        "If it is a server of yours, stop it; else give another port, by --port.\n"
    )
    assert not list(tmp_path.iterdir())


FAILURES = {
    errno.EACCES: "You may not use port 443 of 127.0.0.1. Give a port from 1024 to 65535, by --port; "
    "a proxy in front may have port 443.",
    errno.EADDRNOTAVAIL: "This machine has no address 127.0.0.1. Give one of its addresses, by --host.",
    errno.ENETDOWN: "Nothing can listen on port 443 of 127.0.0.1. Give another --host or --port.",
}


@pytest.mark.parametrize("code", FAILURES)
def test_a_port_that_one_may_not_use_says_what_to_do(monkeypatch, code):
    class Refused(socket.socket):
        def bind(self, address):
            raise OSError(code, "raw words")

    monkeypatch.setattr(run.socket, "socket", Refused)
    with ExitStack() as taken, pytest.raises(ServerError) as error:
        run.take_port("127.0.0.1", 443, taken)
    assert str(error.value) == FAILURES[code]


def test_a_port_that_was_taken_in_between_is_refused(port):
    with ExitStack() as first, ExitStack() as second:
        one, other = (run.take_port("127.0.0.1", port, taken) for taken in (first, second))
        run.listen(one, "127.0.0.1", port)
        with pytest.raises(ServerError, match="in use by another program"):
            run.listen(other, "127.0.0.1", port)


def test_the_addresses_of_localhost_have_one_port_and_are_closed_at_the_end(port):
    with ExitStack() as taken:
        found = run.take_port("localhost", port, taken)
        assert {each.getsockname()[1] for each in found} == {port}
    assert all(each.fileno() == -1 for each in found)


def test_a_certificate_that_is_none_is_an_error_before_serving(monkeypatch, tmp_path, port):
    (tmp_path / "pem").write_text("none")
    told, given = [], {"certificate": str(tmp_path / "pem"), "key": str(tmp_path / "pem"), "names": ("a.example",)}
    monkeypatch.setattr(run, "Application", lambda settings: lambda scope, receive, send: None)
    settings = settings_of(None, {"sources": ("visits.toml",), "access": "access.sqlite", "port": port, **given})
    with pytest.raises(ServerError, match=r"^The certificate or its key cannot be used\. Give a certificate"):
        run.serve(settings, told.append)
    assert told == []


def test_the_socket_is_listening_when_serving_is_told(monkeypatch, port):
    reached = []

    class Application:
        def __init__(self, settings):
            self.sources = ["visits"]

    class Stopped(Exception):
        pass

    def tell(text):
        with socket.create_connection(("127.0.0.1", port), timeout=10):
            reached.append(text)
        raise Stopped

    monkeypatch.setattr(run, "Application", Application)
    monkeypatch.setattr(run, "_config", lambda *given: None)
    settings = settings_of(None, {"sources": ("visits.toml",), "access": "access.sqlite", "port": port})
    with pytest.raises(Stopped):
        run.serve(settings, tell)
    assert reached == [f"Serving visits on http://127.0.0.1:{port}"]


def test_what_reads_requests_does_not_depend_on_what_else_is_installed(monkeypatch, tmp_path):
    """Uvicorn takes httptools if it is there, which has no limit for headers."""
    for name in ("uvicorn.protocols.http.auto", "uvicorn.protocols.http.httptools_impl"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "httptools", ModuleType("httptools"))
    made = settings_of(None, {"sources": ["visits.toml"], "access": str(tmp_path / "access.sqlite")})

    async def application(scope, receive, send):
        raise AssertionError("a request was sent")

    assert run._config(uvicorn, application, made).http_protocol_class is H11Protocol
