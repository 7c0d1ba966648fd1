"""Sign-in of a browser by OpenID Connect: a session for those with a role, and the same page whatever is wrong."""

from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from lapwing.server.openid import Begun
from lapwing.server.openid_settings import OpenId
from lapwing.server.pages.openid import NOT_SIGNED_IN

from ...oidc.provider import SECRET, Visitor
from .test_pages import csrf, look, send

BACK = "/sign-in/openid/return"
CANARY = "canary-of-the-provider"


@pytest.fixture
def server(start, issuer):
    return start(openid=OpenId(issuer.url, "lapwing", "http://127.0.0.1:8765", client_secret=SECRET))


def begin(server, **headers):
    """Begin to sign in; return the cookie, and what the provider is asked."""
    answer = look(server, "/sign-in/openid", **headers)
    assert answer.status == 303
    cookie = answer.headers["set-cookie"].partition(";")[0]
    asked = {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
    return cookie, asked


def gives(issuer, nonce, **claims):
    """Let the issuer answer a code with a token for the browser."""
    issuer.said["/token"] = (200, {"id_token": issuer.token("lapwing", nonce=nonce, **claims), "access_token": CANARY})


def session_of(answer):
    """The session that an answer lets the browser keep."""
    found = [each.partition(";")[0] for each in answer.cookies if each.startswith("lapwing=lapwing_")]
    return found[0] if found else None


def is_wrong(answer):
    """Whether an answer is the page of all refusals, and ends the sign-in that was begun."""
    assert answer.status == 401, answer.text
    assert NOT_SIGNED_IN in answer.text.replace("&#39;", "'")
    assert CANARY not in answer.text + str(answer.headers)
    (ended,) = answer.cookies
    assert ended.startswith('lapwing-openid="";')
    assert "Max-Age=0" in ended
    assert "location" not in answer.headers
    return True


def test_somebody_with_a_role_signs_in_looks_and_signs_out(server, issuer):
    assert 'href="/sign-in/openid"' in look(server, "/sign-in").text
    cookie, asked = begin(server)
    assert asked["redirect_uri"] == f"http://127.0.0.1:8765{BACK}"
    gives(issuer, asked["nonce"])
    answer = look(server, f"{BACK}?code=c&state={asked['state']}", cookie)
    assert answer.status == 200
    assert (
        '<meta http-equiv="refresh" content="0; url=/">' in answer.text
    )  # the strict cookie comes along from our page
    assert answer.headers["referrer-policy"] == "no-referrer"
    form = parse_qs(next(asked for path, asked, _ in issuer.asked if path == "/token"))
    begun = Begun(cookie.partition("=")[2])
    assert form["code_verifier"] == [begun.verifier]
    assert form["redirect_uri"] == [asked["redirect_uri"]]
    session = session_of(answer)
    home = look(server, "/", session)
    assert home.status == 200
    assert "visits" in home.text
    assert "secrets" not in home.text
    out = send(server, "/sign-out", {"csrf": csrf(server, session)}, session)
    assert (out.status, out.headers["location"]) == (303, "/signed-out")
    assert look(server, "/", session).status == 401
    assert "Sign in again" in look(server, "/signed-out").text


def test_the_way_out_of_the_provider_is_shown_if_there_is_one(start, issuer):
    issuer.describe(end_session_endpoint=f"{issuer.url}/end?x=1")
    server = start(openid=OpenId(issuer.url, "lapwing", "http://127.0.0.1:8765"))
    shown = look(server, "/signed-out").text.replace("&amp;", "&")
    assert (
        f'href="{issuer.url}/end?x=1&client_id=lapwing&post_logout_redirect_uri=http%3A%2F%2F127.0.0.1%3A8765%2Fsign-in"'
        in shown
    )
    issuer.said.clear()
    assert "Sign in again" in look(start(openid=way_of(issuer)), "/signed-out").text  # and it may be away


def way_of(issuer):
    return OpenId(issuer.url, "lapwing", "http://127.0.0.1:8765")


def test_the_cookie_of_a_sign_in_is_short_lived_and_holds_a_secret_that_is_nowhere_else(server, start, issuer):
    answer = look(server, "/sign-in/openid")
    first, *parts = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "Path=/", "SameSite=lax", "Max-Age=600"} == set(parts)
    assert first.startswith("lapwing-openid=")
    assert first.partition("=")[2] not in answer.headers["location"]
    way = OpenId(issuer.url, "lapwing", "https://stats.example")
    proxied = start(behind_proxy=True, names=["stats.example"], openid=way)
    first, *parts = look(proxied, "/sign-in/openid", host="stats.example").headers["set-cookie"].split("; ")
    assert {"HttpOnly", "Path=/", "SameSite=lax", "Max-Age=600", "Secure"} == set(parts)
    assert first.startswith("__Host-lapwing-openid=")


def test_a_browser_that_calls_the_server_by_another_name_is_sent_to_the_usual_one_first(server):
    answer = look(server, "/sign-in/openid", host="localhost:8765")
    assert (answer.status, answer.headers["location"]) == (303, "http://127.0.0.1:8765/sign-in/openid")
    assert "set-cookie" not in answer.headers


def test_each_sign_in_has_its_own_state_and_nonce(server):
    one, two = begin(server)[1], begin(server)[1]
    for name in ("state", "nonce", "code_challenge"):
        assert one[name] != two[name]
        assert len(one[name]) == 43


def test_an_answer_for_another_browser_is_of_no_use(server, issuer):
    """What an attacker's sign-in got does not sign in a victim, and a stolen answer does not sign in a thief."""
    cookie, asked = begin(server)
    other, _ = begin(server)
    gives(issuer, asked["nonce"])
    good = f"{BACK}?code=c&state={asked['state']}"
    for wrong in (None, other, "lapwing-openid=", "lapwing-openid=x", "lapwing-openid=" + "0" * 64, f"x{cookie}"):
        assert is_wrong(look(server, good, wrong))
    secret = cookie.partition("=")[2]
    for state in ("", "x", asked["state"][:-1], asked["state"] + "x", asked["nonce"], secret, asked["state"].upper()):
        assert is_wrong(look(server, f"{BACK}?code=c&state={state}", cookie))
    for query in (
        "", "code=c", f"state={asked['state']}", f"code=c&code=d&state={asked['state']}",
        f"code=c&state={asked['state']}&state={asked['state']}", f"code=&state={asked['state']}",
        f"code={'x' * 5000}&state={asked['state']}", f"code=c&state={asked['state']}&iss=https://evil.example",
        f"code=c&state={asked['state']}&iss={issuer.url}&iss={issuer.url}",
    ):  # fmt: skip
        assert is_wrong(look(server, f"{BACK}?{query}", cookie))
    assert not any(path == "/token" for path, _, _ in issuer.asked)  # no code left this server
    assert session_of(look(server, good, cookie))


def test_a_provider_that_names_itself_must_do_so(server, issuer):
    """Against an answer that was mixed up with that of another provider."""
    issuer.describe(authorization_response_iss_parameter_supported=True)
    cookie, asked = begin(server)
    gives(issuer, asked["nonce"])
    assert is_wrong(look(server, f"{BACK}?code=c&state={asked['state']}", cookie))
    assert session_of(look(server, f"{BACK}?code=c&state={asked['state']}&iss={issuer.url}", cookie))


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "x"}, {"nonce": None}, {"aud": "terminal"}, {"aud": ["lapwing", "x"]}, {"azp": "x"}, {"exp": 1},
        {"iat": 1}, {"iss": "https://evil.example"}, {"email": "mallory"}, {"email": None}, {"email_verified": False},
        {"email": "Ana\u212a"}, {"sub": ""},
        {"key": rsa.generate_private_key(public_exponent=65537, key_size=2048)},
    ],
)  # fmt: skip
def test_a_token_that_is_wrong_or_names_nobody_we_know_gives_the_same_page(server, issuer, claims):
    cookie, asked = begin(server)
    usual = look(server, f"{BACK}?code=c", cookie)
    gives(issuer, **{"nonce": asked["nonce"], **claims})
    answer = look(server, f"{BACK}?code=c&state={asked['state']}", cookie)
    assert is_wrong(answer)
    assert answer.shape == usual.shape


@pytest.mark.parametrize(
    ("token", "status"),
    [
        ((400, {"error": "invalid_grant", "error_description": CANARY}), 401),
        ((200, {"id_token": None}), 401),
        ((200, {"id_token": {"x": CANARY}}), 401),
        ((401, {"error": "invalid_client", "error_description": CANARY}), 503),
        ((500, CANARY.encode()), 503),
        ((302, f"http://127.0.0.1:1/{CANARY}".encode()), 503),
        ((200, b"[]"), 503),
    ],
)
def test_errors_of_the_provider_are_not_repeated(server, issuer, token, status, caplog):
    cookie, asked = begin(server)
    issuer.said["/token"] = token
    answer = look(server, f"{BACK}?code=c&state={asked['state']}", cookie)
    assert answer.status == status
    assert CANARY not in answer.text + str(answer.headers) + caplog.text + str(server.lines)
    assert session_of(answer) is None


@pytest.mark.parametrize("error", ["access_denied", CANARY, "<script>alert(1)</script>", ""])
def test_what_the_provider_says_in_the_address_is_not_shown(server, error):
    cookie, asked = begin(server)
    query = f"error={error}&error_description={CANARY}&error_uri=https://evil.example&state={asked['state']}"
    answer = look(server, f"{BACK}?{query}", cookie)
    assert is_wrong(answer)
    assert "<script>" not in answer.text
    assert "evil" not in answer.text


def test_no_address_leads_elsewhere(server, issuer):
    for more in ("?next=https://evil.example", "?redirect_uri=https://evil.example", "?next=//evil.example"):
        answer = look(server, f"/sign-in/openid{more}")
        assert answer.headers["location"].startswith(f"{issuer.url}/auth?")
        assert "evil" not in answer.headers["location"]
    cookie, asked = begin(server)
    gives(issuer, asked["nonce"])
    answer = look(server, f"{BACK}?code=c&state={asked['state']}&next=https://evil.example", cookie)
    assert answer.status == 200
    assert "evil" not in answer.text


def test_a_session_that_was_there_before_is_not_used_again(server, issuer):
    """An attacker who plants a session in a browser gains nothing when its person signs in."""
    found = []
    for _ in range(2):
        cookie, asked = begin(server)
        gives(issuer, asked["nonce"])
        planted = f"{cookie}; {found[-1]}" if found else f"{cookie}; lapwing=lapwing_{'0' * 16}_{'0' * 64}"
        found.append(session_of(look(server, f"{BACK}?code=c&state={asked['state']}", planted)))
    assert found[0] != found[1]
    assert look(server, "/", found[0]).status == 401  # the one before has ended
    assert look(server, "/", found[1]).status == 200


def test_a_session_ends_with_the_roles_of_its_person(server, issuer):
    cookie, asked = begin(server)
    gives(issuer, asked["nonce"])
    session = session_of(look(server, f"{BACK}?code=c&state={asked['state']}", cookie))
    server.app.access.revoke(person="ana")
    assert look(server, "/", session).status == 401
    server.app.access.remove_roles("ana")
    cookie, asked = begin(server)
    gives(issuer, asked["nonce"])
    assert is_wrong(look(server, f"{BACK}?code=c&state={asked['state']}", cookie))


def test_a_server_without_openid_has_no_such_pages(start):
    server = start()
    assert "/sign-in/openid" not in look(server, "/sign-in").text
    usual = server.get("/nosuch").shape
    for path in ("/sign-in/openid", f"{BACK}?code=c&state=s", "/signed-out"):
        assert server.get(path).shape == usual


def test_a_provider_that_is_away_is_said(start):
    class Away:
        url = "http://127.0.0.1:1"

    answer = look(start(openid=way_of(Away)), "/sign-in/openid")
    assert answer.status == 503
    assert "The sign-in provider cannot be used now." in answer.text
    assert "set-cookie" not in answer.headers


def test_a_browser_signs_in_with_a_real_provider(start, real_provider):
    provider = real_provider()
    server = start(
        openid=OpenId(provider.issuer, "lapwing", "http://127.0.0.1:8765", client_secret=SECRET, person="sub")
    )
    for name, status in (("ana", 200), ("mallory", 401)):
        first = look(server, "/sign-in/openid")
        cookie = first.headers["set-cookie"].partition(";")[0]
        said = Visitor(provider.issuer).sign_in(first.headers["location"], name)
        address = f"{BACK}?code={said['code']}&state={said['state']}&iss={said['iss']}"
        answer = look(server, address, cookie)
        assert answer.status == status
        if status == 200:
            assert "visits" in look(server, "/", session_of(answer)).text
            assert is_wrong(look(server, address, cookie))  # the code was used
