"""Pages for browsers: sessions, where forms come from, and what a page tells strangers."""

import re
import sqlite3
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa

from lapwing.errors import NotSignedIn
from lapwing.server.access import SESSION, Access, invite
from lapwing.server.permissions import Role
from lapwing.server.routing import is_page
from lapwing.server.store import VERSION, AccessStore, tokens

from .conftest import CANARY

HTML = {"accept": "text/html,application/xhtml+xml"}
HERE = {"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


def look(server, path, cookie=None, **headers):
    more = {} if cookie is None else {"cookie": cookie}
    return server.get(path, headers={**HTML, **more, **headers})


def send(server, path, fields, cookie=None, **headers):
    more = {} if cookie is None else {"cookie": cookie}
    return server.post(path, body=urlencode(fields).encode(), headers={**HTML, **FORM, **HERE, **more, **headers})


def sign_in(server, who, **fields):
    answer = send(server, "/sign-in", {"token": server.tokens[who], **fields})
    assert answer.status == 303, answer.text
    return answer.headers["set-cookie"].partition(";")[0]


def csrf(server, cookie):
    return re.search('name="lapwing-csrf" content="([0-9a-f]+)"', look(server, "/", cookie).text)[1]


def pages_of(server):
    return [route for route in server.app.api.routes if is_page(route)]


def test_a_person_signs_in_by_a_token_and_sees_their_sources(server):
    cookie = sign_in(server, "ana")
    page = look(server, "/", cookie)
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "visits" in page.text
    assert "secrets" not in page.text
    assert "ana" in page.text
    source = look(server, "/sources/visits", cookie)
    for shown in ("north", "elsewhere", "from 0 to 100", "each person (patient)", server.ledger.head, "2 left"):
        assert shown.replace("2 left", "ε = 2 left") in source.text


def test_a_source_whose_ledger_cannot_be_used_is_shown_as_such_and_others_are_shown(server, folder):
    server.tokens["ana"] = invite(server.app.access, "ana", Role.AUDITOR, ["visits", "secrets"], 30).text
    cookie = sign_in(server, "ana")
    assert look(server, "/", cookie).text.count("All together") == 2
    (folder / "secrets.ledger").write_text(f"{CANARY} is no ledger")
    page = look(server, "/", cookie)
    assert page.status == 200
    assert page.text.count("All together") == 1
    assert page.text.count("This source cannot be used now.") == 1
    assert 'href="/sources/visits/ask"' in page.text
    assert look(server, "/sources/visits", cookie).status == 200
    for private in (CANARY, str(folder)):
        assert private not in page.text


def test_a_person_has_only_so_many_sessions_and_the_oldest_end(server, folder, monkeypatch):
    monkeypatch.setattr("lapwing.server.access.MOST_SESSIONS", 3)
    other = sign_in(server, "bob")
    mine = [sign_in(server, "ana") for _ in range(6)]
    kept = [cookie for cookie in mine if look(server, "/", cookie).status == 200]
    assert len(kept) == 3
    assert mine[-1] in kept
    assert look(server, "/", other).status == 200
    found = AccessStore(str(folder / "access.sqlite")).rows(sa.select(tokens.c.person).where(tokens.c.kind == SESSION))
    assert sorted(each["person"] for each in found) == ["ana", "ana", "ana", "bob"]


def test_the_cookie_is_for_this_server_alone(server, start):
    answer = send(server, "/sign-in", {"token": server.tokens["ana"]})
    parts = answer.headers["set-cookie"].split("; ")
    assert parts[0].startswith("lapwing=lapwing_")
    assert {"HttpOnly", "Path=/", "SameSite=strict", "Max-Age=43200"} == set(parts[1:])
    assert server.tokens["ana"] not in answer.text + str(answer.headers)
    proxied = start(behind_proxy=True, names=["stats.example"])
    there = {"host": "stats.example", "origin": "https://stats.example"}
    answer = send(proxied, "/sign-in", {"token": proxied.tokens["ana"]}, **there)
    parts = answer.headers["set-cookie"].split("; ")
    assert parts[0].startswith("__Host-lapwing=lapwing_")
    assert {"HttpOnly", "Path=/", "SameSite=strict", "Max-Age=43200", "Secure"} == set(parts[1:])
    assert look(proxied, "/", parts[0], host="stats.example").status == 200
    assert look(proxied, "/", parts[0].removeprefix("__Host-"), host="stats.example").status == 401


def wrong_cookies(server):
    good = sign_in(server, "ana").partition("=")[2]
    return [
        None, "lapwing=", "lapwing=x", f"lapwing={good[:-1]}{'0' if good[-1] != '0' else '1'}", f"other={good}",
        f"lapwing={server.tokens['ana']}", f"lapwing={good}; lapwing={good}", f"lapwing={good}x", "lapwing=ü",
        f"lapwing={good.upper()}", f'lapwing="{good}"', f"Lapwing={good}",
    ]  # fmt: skip


def test_T48_without_a_session_every_address_shows_the_same_page_to_sign_in(server):
    addresses = ["/", "/nosuch", "/docs", "/index.php", "/sources/visits", "/sources/nosuch", "/sources/secrets"]
    for cookie in wrong_cookies(server):
        shapes = set()
        for address in addresses:
            answer = look(server, address, cookie)
            assert answer.status == 401, (cookie, address)
            assert "set-cookie" not in answer.headers
            assert "lapwing_" not in answer.text
            body = re.sub(r'(value|href)="/[\w/]*"', "", answer.text)  # the address that was asked for
            body = re.sub(r'<p class="quiet">If you are signed in already.*?</p>', "", body, flags=re.DOTALL)
            shapes.add((answer.status, str(sorted(set(answer.headers) - {"content-length"})), body.strip()))
        assert len({shape[:2] for shape in shapes}) == 1
        assert len({re.sub(r"\s+", " ", shape[2]) for shape in shapes}) == 1
        visits, nosuch = (look(server, f"/sources/{name}", cookie) for name in ("visits", "nosuch"))
        assert visits.text.replace("visits", "nosuch") == nosuch.text


def test_a_token_is_not_a_session_and_a_session_is_not_a_token(server):
    cookie = sign_in(server, "ana")
    session = cookie.partition("=")[2]
    assert server.get("/api/v1/me", token=session).status == 401
    assert look(server, "/", f"lapwing={server.tokens['ana']}").status == 401
    assert server.get("/", "ana").status == 200  # a header works as for the API


def test_a_false_token_is_told_in_the_same_words_and_sets_no_cookie(server):
    for token in ("", "no-token", "lapwing_" + "0" * 16 + "_" + "0" * 64, server.tokens["ana"][:-1]):
        answer = send(server, "/sign-in", {"token": token})
        assert answer.status == 401
        assert str(NotSignedIn()).replace("'", "&#39;") in answer.text
        assert "set-cookie" not in answer.headers
        assert not token or token not in answer.text


def test_each_sign_in_makes_a_session_of_its_own_and_ends_the_one_before(server):
    first = sign_in(server, "ana")
    fixed = "lapwing=lapwing_" + "a" * 16 + "_" + "b" * 64
    answer = send(server, "/sign-in", {"token": server.tokens["ana"]}, cookie=fixed)
    assert answer.headers["set-cookie"].partition(";")[0] not in (fixed, first)
    assert look(server, "/", fixed).status == 401
    assert look(server, "/", first).status == 200  # another browser's
    second = send(server, "/sign-in", {"token": server.tokens["bob"]}, cookie=first)
    assert look(server, "/", first).status == 401
    assert look(server, "/", second.headers["set-cookie"].partition(";")[0]).status == 200


def test_a_session_ends_by_signing_out(server):
    cookie = sign_in(server, "ana")
    answer = send(server, "/sign-out", {"csrf": csrf(server, cookie)}, cookie)
    assert (answer.status, answer.headers["location"]) == (303, "/sign-in")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert look(server, "/", cookie).status == 401
    assert server.get("/api/v1/me", "ana").status == 200


def test_a_session_ends_with_its_token_and_with_its_person(server, folder):
    access = Access(AccessStore(str(folder / "access.sqlite")))
    cookie = sign_in(server, "ana")
    access.revoke(number=server.tokens["ana"].split("_")[1])
    assert look(server, "/", cookie).status == 401
    cookie = sign_in(server, "bob")
    access.revoke(person="bob")
    assert look(server, "/", cookie).status == 401
    cookie = sign_in(server, "olga")
    access.remove_roles("olga")
    assert "visits" not in look(server, "/", cookie).text
    assert look(server, "/sources/visits", cookie).status == 404


def test_a_session_lasts_at_most_half_a_day_and_no_longer_than_its_token(server, folder):
    access = server.app.access
    made = access.make_session("ana", server.tokens["ana"].split("_")[1])
    ends = datetime.fromisoformat(made.expires) - datetime.now(UTC)
    assert timedelta(hours=11) < ends <= timedelta(hours=12)
    soon = (datetime.now(UTC) + timedelta(minutes=5)).isoformat(timespec="seconds")
    past = (datetime.now(UTC) - timedelta(minutes=5)).isoformat(timespec="seconds")
    with sqlite3.connect(folder / "access.sqlite") as file:
        file.execute("UPDATE lapwing_tokens SET expires = ? WHERE person = 'bob'", (soon,))
    assert access.make_session("bob", server.tokens["bob"].split("_")[1]).expires == soon
    session = access.make_session("bob", server.tokens["bob"].split("_")[1])
    assert look(server, "/", f"lapwing={session.text}").status == 200
    with sqlite3.connect(folder / "access.sqlite") as file:
        file.execute("UPDATE lapwing_tokens SET expires = ? WHERE number = ?", (past, session.number))
    file.close()
    assert look(server, "/", f"lapwing={session.text}").status == 401


@pytest.mark.usefixtures("frozen_noise")
def test_a_record_without_sessions_is_brought_up_to_date(tmp_path):
    place = tmp_path / "old.sqlite"
    access = Access(AccessStore(str(place)))
    token = access.make_token("ana").text
    with sqlite3.connect(place) as file:
        file.execute("ALTER TABLE lapwing_tokens DROP COLUMN kind")
        file.execute("ALTER TABLE lapwing_tokens DROP COLUMN parent")
        file.execute("ALTER TABLE lapwing_jobs DROP COLUMN attempts")
        file.execute("UPDATE lapwing_access SET version = 2")
    file.close()
    opened = Access(AccessStore(str(place)))
    assert opened.caller(token).person == "ana"
    assert opened.make_session("ana", token.split("_")[1])
    with sqlite3.connect(place) as file:
        assert file.execute("SELECT version FROM lapwing_access").fetchall() == [(VERSION,)]
    file.close()


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
        {"origin": "https://evil.example", "sec-fetch-site": None},
        {"origin": "null", "sec-fetch-site": None},
        {"origin": "http://127.0.0.1:9999", "sec-fetch-site": None},
        {"origin": "http://127.0.0.1:9999", "sec-fetch-site": "same-site"},
        {"origin": "https://127.0.0.1:8765", "sec-fetch-site": None},
        {"origin": "http://127.0.0.1:8765.evil.example", "sec-fetch-site": "same-origin"},
        {"origin": None, "sec-fetch-site": "none"},
        {"origin": None, "sec-fetch-site": None},
    ],
)
def test_forms_of_other_sites_do_nothing(server, headers):
    cookie = sign_in(server, "ana")
    token = csrf(server, cookie)
    for path, fields in (("/sign-in", {"token": server.tokens["bob"]}), ("/sign-out", {"csrf": token})):
        answer = send(server, path, fields, cookie, **headers)
        assert answer.status == 400, path
        assert "set-cookie" not in answer.headers
        assert "was not sent from a page of this server" in answer.text
    assert look(server, "/", cookie).status == 200


def test_a_form_needs_the_text_of_its_own_session(server):
    cookie, other = sign_in(server, "ana"), sign_in(server, "bob")
    for given in ("", "0" * 64, csrf(server, other), csrf(server, cookie)[:-1], "ü"):
        assert send(server, "/sign-out", {"csrf": given}, cookie).status == 400
    twice = f"csrf={csrf(server, cookie)}&csrf=x".encode()
    assert server.post("/sign-out", body=twice, headers={**HTML, **FORM, **HERE, "cookie": cookie}).status == 400
    assert look(server, "/", cookie).status == 200


def test_the_cookie_alone_does_not_open_the_api(server):
    cookie = sign_in(server, "ana")
    ours = {"x-lapwing-csrf": csrf(server, cookie)}
    asked = {"sql": "SELECT COUNT(*) FROM visits", "epsilon": "0.1"}
    path = "/api/v1/sources/visits/release"
    for headers in ({}, {"x-lapwing-csrf": "x"}, HERE, {**ours, "origin": "https://evil.example"}, ours):
        answer = server.post(path, body=asked, headers={"cookie": cookie, **headers})
        assert (answer.status, answer.json["error"]) == (401, "NotSignedIn")
    assert server.get("/api/v1/me", headers={"cookie": cookie}).status == 401
    assert server.get("/api/v1/me", headers={"cookie": cookie, **ours}).json["person"] == "ana"
    before = server.ledger.spent
    answer = server.post(path, body=asked, headers={"cookie": cookie, **ours, **HERE})
    assert answer.status == 200, answer.text
    assert server.ledger.spent > before
    assert server.ledger.entry(answer.json["entry"]).analyst == "ana"


@pytest.mark.parametrize(
    "goal",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "/sources/x/../../evil", "javascript:alert(1)",
     "/sign-out", "/nosuch", "\thttps://evil.example", "/sources/visits\r\nSet-Cookie: x=y", "/%2f/evil.example",
     "/sources//evil.example", "", "sources/visits", "/?next=//evil.example", "/api/v1/me"],
)  # fmt: skip
def test_after_signing_in_only_our_own_pages_follow(server, goal):
    answer = send(server, "/sign-in", {"token": server.tokens["ana"], "next": goal})
    assert (answer.status, answer.headers["location"]) == (303, "/")
    shown = look(server, f"/sign-in?{urlencode({'next': goal})}")
    assert 'name="next" value="/"' in shown.text
    assert "evil" not in shown.text


def test_after_signing_in_the_page_that_was_asked_for_follows(server):
    asked = look(server, "/sources/visits")
    assert 'name="next" value="/sources/visits"' in asked.text
    answer = send(server, "/sign-in", {"token": server.tokens["ana"], "next": "/sources/visits"})
    assert answer.headers["location"] == "/sources/visits"


def test_pages_cannot_be_framed_and_load_nothing_from_elsewhere(server):
    cookie = sign_in(server, "ana")
    pages = [look(server, path, cookie) for path in ("/", "/sources/visits", "/nosuch", "/sign-in")]
    pages.append(look(server, "/"))
    for page in pages:
        policy = page.headers["content-security-policy"].split("; ")
        for part in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'",
                     "script-src 'self'", "style-src 'self'"):  # fmt: skip
            assert part in policy
        assert "unsafe" not in str(policy)
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["referrer-policy"] == "same-origin"  # else a browser hides where a form comes from
        assert page.headers["cache-control"] == "no-store"
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]* src=\"/static/)", page.text)
        assert not re.search(r'(src|href|action)="(?!/[^/]|/"|#)', page.text)


def test_refusals_are_pages_in_the_same_words(server):
    cookie = sign_in(server, "ana")
    for path in ("/nosuch", "/sources/secrets", "/sources/nosuch", "/sources/visits/"):
        answer = look(server, path, cookie)
        assert answer.status == 404
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        told = server.get("/api/v1/sources/nosuch", "ana").json["message"]
        assert told.split(".")[0] in answer.text.replace("&#39;", "'")
        assert "secrets" not in answer.text
    assert look(server, "/sources/visits?token=x", cookie).status == 400
    address = f"/sources/{cookie.partition('=')[2]}"
    answer = look(server, address, cookie)
    assert answer.status == 400
    assert cookie.partition("=")[2] not in answer.text + str(server.lines)
    assert look(server, "/api/v1/me", cookie).headers["content-type"] == "application/json"


def test_pages_are_not_in_the_openapi_document(server):
    paths = server.get("/api/v1/openapi.json", "ana").json["paths"]
    others = {path for path in paths if not path.startswith("/api/")}
    assert others == {"/healthz", "/readyz", "/metrics"}
    assert len(pages_of(server)) > 5


def test_static_files_are_those_of_the_package(server):
    style = server.get("/static/app.css")
    assert style.status == 200
    assert style.headers["content-type"].startswith("text/css")
    for name in ("nosuch.css", "..%2fshell.py", "app.css%00", "../templates/home.html"):
        assert server.get(f"/static/{name}").status in (401, 404)


def test_T24_a_page_shows_nothing_of_the_table(server):
    for who in server.tokens:
        cookie = sign_in(server, who)
        for route in pages_of(server):
            if "GET" in route.methods:
                path = re.sub(r"\{(\w+)\}", lambda found: {"source": "visits"}.get(found[1], "6"), route.path)
                answer = look(server, path, cookie)
                no_provider = path.startswith(("/sign-in/openid", "/signed-out"))  # they are there with one alone
                asked = {400} if path.endswith("/answer") else set()  # it does not say which
                assert answer.status in ({401} if no_provider else {200, 303, 404, 409} | asked), (path, answer.text)
                for text in (CANARY, "canary", "west"):
                    assert text not in answer.text


def test_texts_of_others_are_escaped(server, monkeypatch):
    cookie = sign_in(server, "ana")
    served = server.app.sources["visits"]
    column = {**served.description["columns"]["cost"], "title": "<script>alert(1)</script>\u202e&"}
    described = {**served.description, "columns": {"<b>": column}}
    monkeypatch.setitem(served.__dict__, "description", described)
    text = look(server, "/sources/visits", cookie).text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\ufffd&amp;" in text
    assert "<b>" not in text
