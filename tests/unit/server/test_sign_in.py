"""How one can sign in, and a token for an ID token: for people with a role, once, and one refusal for all others."""

import threading
from datetime import datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from lapwing.errors import InvalidParameter, InvalidRequest, MissingParameter
from lapwing.server.openid_settings import ALGORITHMS, OpenId, openid_of
from lapwing.server.settings import settings_of

from .test_permissions import refused

ASKED = {"sql": "SELECT COUNT(*) FROM visits", "epsilon": "0.1"}
WAYS = "/api/v1/sign-in"
EXCHANGE = "/api/v1/sign-in/openid"


def way(issuer, **more):
    return OpenId(issuer.url, "lapwing", "http://127.0.0.1:8765", terminal_client_id="terminal", **more)


@pytest.fixture
def open_server(start, issuer):
    return start(openid=way(issuer))


def exchange(server, token, **more):
    return server.post(EXCHANGE, body={"id_token": token}, **more)


def test_how_one_can_sign_in_is_public_and_nothing_else_is(open_server, issuer, start):
    told = {"issuer": issuer.url, "client_id": "terminal", "scopes": ["openid", "email"]}
    assert open_server.get(WAYS).json == {"token": True, "openid": told}
    secret = start(openid=OpenId(issuer.url, "lapwing", "http://127.0.0.1:8765", client_secret="x"))
    assert secret.get(WAYS).json["openid"]["client_id"] is None  # a client with a secret is not for others' machines
    assert start().get(WAYS).json == {"token": True, "openid": None}


def test_somebody_with_a_role_gets_a_token_of_twelve_hours_once(open_server, issuer):
    given = issuer.token()
    answer = exchange(open_server, given)
    assert answer.status == 201
    token = answer.json["token"]
    me = open_server.get("/api/v1/me", token=token).json
    assert (me["person"], me["roles"]) == ("ana", {"visits": ["analyst"]})
    lasts = datetime.fromisoformat
    row = next(each for each in open_server.app.access.tokens("ana") if each["number"] == answer.json["number"])
    assert (lasts(row["expires"]) - lasts(row["made"])).total_seconds() == 12 * 3600
    assert open_server.post("/api/v1/sources/visits/release", body=ASKED, token=token).status == 200
    assert refused(open_server.get("/api/v1/sources/secrets", token=token))
    again = exchange(open_server, given)
    assert again.status == 401
    assert open_server.call("DELETE", "/api/v1/me/token", token=token).json == {"changed": 1}
    assert open_server.get("/api/v1/me", token=token).status == 401
    assert exchange(open_server, given).status == 401  # also not when the first is revoked


def test_only_one_of_many_at_once_gets_a_token_for_one_id_token(open_server, issuer):
    given, found = issuer.token(), []
    threads = [threading.Thread(target=lambda: found.append(exchange(open_server, given).status)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(found) == [201] + [401] * 7


def test_every_refusal_is_that_of_a_bad_token(open_server, issuer, start):
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    good, usual = issuer.token(), open_server.get("/api/v1/me")
    bad = {
        "somebody without a role": issuer.token(email="mallory"),
        "not verified": issuer.token(email_verified=False),
        "no address": issuer.token(email=None),
        "another client": issuer.token("lapwing"),
        "another issuer": issuer.token(iss="https://login.example"),
        "expired": issuer.token(exp=1),
        "old": issuer.token(iat=1),
        "of a browser": issuer.token(nonce="x"),
        "signed by another": issuer.token(key=other),
        "no token": "x",
        "too long": "x.y." + "z" * 20_000,
        "of ours": open_server.tokens["ana"],
        "changed": good[:-4] + "AAAA",
    }
    for why, token in bad.items():
        assert exchange(open_server, token).shape == usual.shape, why
    assert exchange(start(), good).shape == usual.shape  # a server without OpenID Connect
    assert exchange(open_server, good).status == 201


def test_who_lost_all_roles_gets_no_token(open_server, issuer):
    open_server.app.access.remove_roles("ana")
    assert exchange(open_server, issuer.token()).status == 401


def test_nothing_of_a_token_or_of_the_provider_is_logged_or_told(open_server, issuer, caplog):
    issuer.said["/keys"] = (500, {"error": "canary-of-the-provider"})
    given = issuer.token()
    answer = exchange(open_server, given)
    assert answer.status == 503
    assert answer.json["message"].startswith("The sign-in provider cannot be used now.")
    issuer.said["/keys"] = (200, {"keys": [], "note": "canary-of-the-provider"})
    exchange(open_server, given)
    told = answer.text + caplog.text + str(open_server.lines)
    assert "canary" not in told
    assert not any(part in told for part in given.split("."))
    assert "answered with status 500" in caplog.text
    assert "its key is unknown" in caplog.text


@pytest.mark.parametrize(
    "body", [None, b"", b"{", [], {}, {"id_token": None}, {"id_token": 3}, {"id_token": "x", "a": 1}]
)
def test_a_body_that_does_not_fit_is_refused(open_server, body):
    assert open_server.post(EXCHANGE, body=body).status == 400


@pytest.mark.parametrize(
    "document",
    [
        (200, {"issuer": "https://evil.example"}),
        (200, []),
        (200, b"not JSON"),
        (200, b" " * 300_000),
        (404, {}),
        (302, b"http://127.0.0.1:1/"),
    ],
)
def test_an_odd_document_of_the_provider_is_refused(open_server, issuer, document):
    issuer.said["/.well-known/openid-configuration"] = document
    assert exchange(open_server, issuer.token()).status == 503


@pytest.mark.parametrize(
    "odd",
    [
        {"jwks_uri": "http://keys.example/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": 7},
        {"jwks_uri": None},
        {"token_endpoint": None},
        {"token_endpoint": "https://user@login.example/"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"issuer": None},
    ],
)
def test_an_address_that_cannot_be_used_is_refused(open_server, issuer, odd):
    issuer.describe(**odd)
    assert exchange(open_server, issuer.token()).status == 503


def test_a_redirect_of_the_provider_is_not_followed(open_server, issuer):
    issuer.said["/keys"] = (302, f"{issuer.url}/elsewhere".encode())
    assert exchange(open_server, issuer.token()).status == 503
    assert "/elsewhere" not in [path for path, _, _ in issuer.asked]


def test_a_provider_that_cannot_be_reached_is_no_reason_to_stop(start):
    class Away:
        url = "http://127.0.0.1:1"

    server = start(openid=way(Away))
    assert exchange(server, "a.b.c").status == 401  # it is no token, so nobody is asked
    head = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIn0"
    assert exchange(server, f"{head}.e30.AAAA").status == 503
    assert server.get("/api/v1/me", "ana").status == 200


# --- settings ---

GOOD = {"issuer": "https://login.example", "client_id": "lapwing", "url": "https://stats.example"}


def test_settings_of_openid_are_read(tmp_path, monkeypatch):
    secret = tmp_path / "secret"
    secret.write_text("hush\n")
    secret.chmod(0o600)
    found = openid_of({**GOOD, "client_secret_file": "secret", "algorithms": ["ES256"], "person": "sub"}, tmp_path)
    assert (found.client_secret, found.algorithms, found.person) == ("hush", ("ES256",), "sub")
    assert found.terminal is None
    assert "hush" not in repr(found)
    assert openid_of(GOOD, tmp_path).terminal == "lapwing"
    by_variable = openid_of({**GOOD, "client_secret_variable": "HUSH"}, tmp_path, {"HUSH": "quiet"})
    assert by_variable.client_secret == "quiet"
    config = tmp_path / "serve.toml"
    config.write_text(
        'sources = ["visits.toml"]\nbehind_proxy = true\nnames = ["stats.example"]\n[openid]\n'
        + "".join(f'{name} = "{value}"\n' for name, value in GOOD.items())
        + 'client_secret_file = "secret"\n'
    )
    read = settings_of(str(config), {}).openid
    assert (read.issuer, read.client_secret) == ("https://login.example", "hush")
    assert read.returns_to == "https://stats.example/sign-in/openid/return"
    assert "hush" not in repr(settings_of(str(config), {}))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"issuer": "http://login.example"}, InvalidRequest),
        ({"issuer": "login.example"}, InvalidRequest),
        ({"issuer": "https://login.example?x"}, InvalidRequest),
        ({"issuer": "https://a:b@login.example"}, InvalidRequest),
        ({"issuer": 7}, InvalidParameter),
        ({"issuer": None}, MissingParameter),
        ({"client_id": None}, MissingParameter),
        ({"client_id": ""}, InvalidParameter),
        ({"client_id": "é"}, InvalidParameter),
        ({"url": None}, MissingParameter),
        ({"url": "https://stats.example/"}, InvalidParameter),
        ({"url": "http://stats.example"}, InvalidParameter),
        ({"url": "//stats.example"}, InvalidParameter),
        ({"person": "name"}, InvalidParameter),
        ({"algorithms": ["none"]}, InvalidParameter),
        ({"algorithms": ["HS256"]}, InvalidParameter),
        ({"algorithms": []}, InvalidParameter),
        ({"algorithms": "RS256"}, InvalidParameter),
        ({"scopes": ["email"]}, MissingParameter),
        ({"client_secret": "hush"}, InvalidParameter),
        ({"client_secret_file": "none"}, InvalidRequest),
        ({"client_secret_file": "open"}, InvalidRequest),
        ({"client_secret_file": "empty"}, InvalidRequest),
        ({"client_secret_variable": "LAPWING_NO_SUCH"}, InvalidRequest),
        ({"client_secret_file": "open", "client_secret_variable": "X"}, InvalidRequest),
        ({"isuer": "x"}, InvalidParameter),
    ],
)
def test_settings_that_are_not_safe_are_refused(tmp_path, change, error):
    (tmp_path / "open").write_text("hush")
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "empty").touch(0o600)
    said = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    with pytest.raises(error) as found:
        openid_of(said, tmp_path)
    assert "hush" not in str(found.value)


def test_a_table_that_is_none_is_refused(tmp_path):
    with pytest.raises(InvalidParameter):
        openid_of("https://login.example", tmp_path)


@pytest.mark.parametrize("url", ["https://127.0.0.1:8765", "http://127.0.0.2:8765"])
def test_the_provider_sends_browsers_to_this_server_alone(url):
    with pytest.raises(InvalidParameter, match="the address of this server"):
        settings_of(None, {"sources": ["x.toml"], "openid": OpenId("https://login.example", "lapwing", url)})
    with pytest.raises(InvalidParameter):
        settings_of(
            None,
            {"sources": ["x.toml"], "behind_proxy": True, "names": ["stats.example"],
             "openid": OpenId("https://login.example", "lapwing", "https://other.example")},
        )  # fmt: skip


def test_no_algorithm_with_a_shared_secret_can_be_allowed():
    assert not any(name.startswith("HS") or name == "none" for name in ALGORITHMS)
