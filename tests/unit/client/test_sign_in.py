"""Signing in at a terminal: with a real provider, with providers that are odd, and where the token is kept."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import uvicorn

import lapwing as lw
from lapwing.client.kept import Kept, forget_token, keep_token, kept_token
from lapwing.client.sign_in import sign_in, sign_out
from lapwing.server.access import Access
from lapwing.server.app import Application
from lapwing.server.openid_settings import OpenId
from lapwing.server.permissions import Role
from lapwing.server.store import AccessStore

from ...oidc.provider import Visitor
from ..cli.test_main import run
from ..server.conftest import folder, prepared, settings  # noqa: F401

pytestmark = pytest.mark.usefixtures("frozen_noise", "own_home")

FUTURE, PAST = "2100-01-01T00:00:00+00:00", "2020-01-01T00:00:00+00:00"
ANA = "ana@example.org"
BEGUN = {
    "device_code": "d", "user_code": "ABCD-EFGH", "verification_uri": "{url}/go", "expires_in": 60, "interval": 1,
}  # fmt: skip


@pytest.fixture
def own_home(tmp_path, monkeypatch):
    """A folder of one's own for tokens."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LAPWING_TOKEN", raising=False)
    return tmp_path / "home"


@pytest.fixture
def live(folder):  # noqa: F811
    """A function that starts a server with a provider on a port of this machine, and returns its address."""
    begun = []

    def begin(issuer, terminal="terminal"):
        way = None
        if issuer is not None:
            way = OpenId(issuer, "lapwing", "http://127.0.0.1:8765", terminal_client_id=terminal, client_secret="x")
        app = Application(settings(folder, openid=way), write=lambda line: None)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="on"))
        thread = threading.Thread(target=server.run)
        thread.start()
        begun.append((server, thread))
        while not server.started:
            threading.Event().wait(0.01)
        return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

    yield begin
    for server, thread in begun:
        server.should_exit = True
        thread.join()


def answers(issuer, *polls, **begun):
    """Let an issuer begin a sign-in, and answer polls in this order, the last one again and again."""
    left = list(polls)
    given = {**BEGUN, "verification_uri": f"{issuer.url}/go", **begun}
    issuer.said["/device"] = (200, {name: value for name, value in given.items() if value is not None})
    issuer.said["/token"] = lambda asked: left.pop(0) if len(left) > 1 else left[0]


PENDING, SLOWER = (400, {"error": "authorization_pending"}), (400, {"error": "slow_down"})


def test_a_terminal_signs_in_with_a_real_provider_asks_and_signs_out(live, real_provider, folder, own_home):  # noqa: F811
    provider = real_provider()
    access = Access(AccessStore(str(folder / "access.sqlite")))
    access.add_role(ANA, "visits", Role.ANALYST)
    url = live(provider.issuer, "lapwing-terminal")
    words = [sys.executable, "-m", "lapwing", "--server", url, "sign-in", "--format", "json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first, second = process.stderr.readline(), process.stderr.readline()
    assert re.fullmatch(rf"Open {provider.issuer}/device and type the code [A-Z]{{4}}-[A-Z]{{4}}\n", first)
    page = Visitor(provider.issuer).approve(re.search(r"open (\S+) and", second)[1], ANA)
    assert "Success" in page
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert (json.loads(told)["person"], json.loads(told)["server"]) == (ANA, url)
    (file,) = (own_home / "lapwing" / "tokens").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert lw.connect(url).me["person"] == ANA
    planned = run(
        "--server", url, "plan", "visits", "SELECT COUNT(*) FROM visits", "--epsilon", "1", "--format", "json"
    )
    assert json.loads(planned.stdout)["epsilon"] == "1"
    token = json.loads(file.read_text())["token"]
    assert run("--server", url, "sign-out").stdout == f"Signed out of {url}.\n"
    assert not file.exists()
    with pytest.raises(lw.errors.NotSignedIn):
        lw.connect(url, token).me  # noqa: B018
    with pytest.raises(lw.errors.MissingParameter, match="sign-in"):
        lw.connect(url)
    assert run("--server", url, "sign-out").stdout == f"You were not signed in to {url}.\n"


def test_the_provider_is_asked_again_more_slowly_when_it_says_so(live, issuer):
    url, waited, told = live(issuer.url), [], []
    answers(issuer, PENDING, SLOWER, SLOWER, (200, {"id_token": issuer.token()}))
    assert sign_in(url, told.append, waited.append).person == "ana"
    assert waited == [1, 1, 6, 11]
    assert [(each.address, each.code, each.complete) for each in told] == [(f"{issuer.url}/go", "ABCD-EFGH", None)]
    forms = [asked for path, asked, _ in issuer.asked if path == "/token"]
    assert set(forms) == {
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=d&client_id=terminal"
    }
    assert not any("Authorization" in headers for path, _, headers in issuer.asked)  # no token of ours


def test_a_second_sign_in_ends_the_first(live, issuer):
    url = live(issuer.url)
    answers(issuer, (200, {"id_token": issuer.token(jti="1")}))
    sign_in(url, lambda asked: None, lambda seconds: None)
    first = kept_token(url).token
    answers(issuer, (200, {"id_token": issuer.token(jti="2")}))
    sign_in(url, lambda asked: None, lambda seconds: None)
    assert kept_token(url).token != first
    with pytest.raises(lw.errors.NotSignedIn):
        lw.connect(url, first).me  # noqa: B018
    assert lw.connect(url).me["person"] == "ana"


@pytest.mark.parametrize(
    ("poll", "why"),
    [
        ((400, {"error": "access_denied", "error_description": "canary"}), "was refused at the provider"),
        ((400, {"error": "expired_token", "error_description": "canary"}), "The code has expired"),
        ((400, {"error": "canary"}), "ended the sign-in with status 400"),
        ((400, {}), "ended the sign-in with status 400"),
        ((500, b"canary"), "answered with status 500"),
        ((200, {"id_token": None, "note": "canary"}), "gave no ID token"),
        ((200, {"id_token": "canary"}), "did not accept this sign-in"),
        ((302, b"http://127.0.0.1:1/canary"), "answered with status 302"),
    ],
)
def test_a_sign_in_that_fails_keeps_nothing_and_repeats_nothing_of_the_provider(live, issuer, own_home, poll, why):
    url = live(issuer.url)
    answers(issuer, poll)
    with pytest.raises(lw.errors.ServerError, match=why) as found:
        sign_in(url, lambda asked: None, lambda seconds: None)
    assert "canary" not in str(found.value)
    assert not own_home.exists()


@pytest.mark.parametrize(
    "odd",
    [
        {"user_code": None}, {"user_code": ""}, {"user_code": "\x1b[2J"}, {"user_code": "x" * 41}, {"user_code": 7},
        {"verification_uri": None}, {"verification_uri": "http://evil.example"}, {"verification_uri": "javascript:1"},
        {"verification_uri": "https://x/\x1b[2J"}, {"verification_uri": "https://user:p@x/"}, {"device_code": None},
        {"device_code": 7},
    ],
)  # fmt: skip
def test_only_a_code_and_an_address_that_are_harmless_are_shown(live, issuer, odd):
    url, told = live(issuer.url), []
    answers(issuer, PENDING, **odd)
    with pytest.raises(lw.errors.ServerError, match="The sign-in provider"):
        sign_in(url, told.append, lambda seconds: None)
    assert told == []


def test_an_address_with_the_code_that_cannot_be_shown_is_left_out(live, issuer):
    url, told = live(issuer.url), []
    answers(issuer, (200, {"id_token": issuer.token()}), verification_uri_complete="http://evil.example/?c=ABCD-EFGH")
    sign_in(url, told.append, lambda seconds: None)
    assert told[0].complete is None


def test_waiting_ends_when_the_provider_said_whatever_it_answers(live, issuer):
    url = live(issuer.url)
    answers(issuer, PENDING, expires_in=0.2)
    with pytest.raises(lw.errors.ServerError, match="The code has expired"):
        sign_in(url, lambda asked: None, lambda seconds: threading.Event().wait(0.05))


@pytest.mark.parametrize("odd", [{"interval": -1}, {"interval": 0}, {"interval": "1"}, {"interval": 10**400}])
def test_odd_pauses_are_neither_too_short_nor_for_ever(live, issuer, odd):
    url, waited = live(issuer.url), []
    answers(issuer, (200, {"id_token": issuer.token()}), **odd)
    sign_in(url, lambda asked: None, waited.append)
    assert all(1 <= each <= 60 for each in waited)


def test_a_server_or_a_provider_without_terminals_says_so(live, issuer):
    with pytest.raises(lw.errors.InvalidRequest, match="takes no sign-in from a terminal"):
        sign_in(live(None), lambda asked: None)
    with pytest.raises(lw.errors.InvalidRequest, match="takes no sign-in from a terminal"):
        sign_in(live(issuer.url, None), lambda asked: None)
    issuer.describe(device_authorization_endpoint=None)
    with pytest.raises(lw.errors.ServerError, match="does not let terminals sign in"):
        sign_in(live(issuer.url), lambda asked: None)


def test_the_commands_name_their_server(own_home):
    for command in ("sign-in", "sign-out"):
        assert "Name the server" in run(command, status=2).stderr
        assert "file of its own" in run("--server", "https://x", "--token-file", "f", command, status=2).stderr


def test_signing_out_of_a_server_that_is_away_deletes_the_token_and_says_until_when_it_is_valid():
    keep_token("http://127.0.0.1:1", "lapwing_x", FUTURE)
    with pytest.raises(lw.errors.ServerError, match=f"valid until {re.escape(FUTURE)}"):
        sign_out("http://127.0.0.1:1")
    assert kept_token("http://127.0.0.1:1") is None


# --- where tokens are kept ---


def test_each_server_has_a_token_of_its_own():
    for number, url in enumerate(("https://a.example", "https://b.example", "https://a.example/two")):
        keep_token(url, f"lapwing_{number}", FUTURE)
    assert kept_token("https://A.example/") == Kept("lapwing_0", FUTURE)
    assert kept_token("https://b.example") == Kept("lapwing_1", FUTURE)
    assert kept_token("https://a.example/two") == Kept("lapwing_2", FUTURE)
    assert kept_token("http://a.example") is None
    assert kept_token("https://a.example:444") is None
    forget_token("https://a.example")
    assert kept_token("https://a.example") is None
    assert "lapwing_1" not in repr(kept_token("https://b.example"))


def test_an_expired_token_is_none():
    keep_token("https://a.example", "lapwing_x", PAST)
    assert kept_token("https://a.example") is None


def test_a_token_that_others_can_read_is_refused_and_can_be_signed_out():
    file = keep_token("https://a.example", "lapwing_x", FUTURE)
    for mode in (0o640, 0o604, 0o622):
        file.chmod(mode)
        with pytest.raises(lw.errors.InvalidRequest, match="can be read by others"):
            lw.connect("https://a.example")
    assert kept_token("https://a.example", to_end=True).token == "lapwing_x"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"token": "x"}', '{"server": "https://b.example"}', "\x00", "é" * 9])
def test_a_file_that_holds_something_else_is_no_token(text):
    file = keep_token("https://a.example", "lapwing_x", FUTURE)
    file.write_text(text)
    assert kept_token("https://a.example") is None


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path):
    file = keep_token("https://a.example", "lapwing_x", FUTURE)
    file.rename(tmp_path / "other")
    file.symlink_to(tmp_path / "other")
    assert kept_token("https://a.example") is None
    keep_token("https://a.example", "lapwing_y", FUTURE)
    assert not file.is_symlink()
    assert "lapwing_x" in (tmp_path / "other").read_text()


def test_what_comes_first_counts(tmp_path, monkeypatch):
    """An argument, a file, LAPWING_TOKEN, a sign-in: in this order."""
    url = "https://a.example"
    keep_token(url, "lapwing_kept", FUTURE)
    held = Path(tmp_path / "token")
    held.write_text("lapwing_file")
    held.chmod(0o600)
    assert lw.connect(url)._link._token == "lapwing_kept"
    monkeypatch.setenv("LAPWING_TOKEN", "lapwing_variable")
    assert lw.connect(url)._link._token == "lapwing_variable"
    assert lw.connect(url, token_file=held)._link._token == "lapwing_file"
    assert lw.connect(url, "lapwing_argument")._link._token == "lapwing_argument"
    assert os.environ["LAPWING_TOKEN"] == "lapwing_variable"


def test_a_folder_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.raises(lw.errors.InvalidRequest, match="you are not signed in"):
        keep_token("https://a.example", "lapwing_x", FUTURE)
