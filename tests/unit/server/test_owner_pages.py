"""Pages for owners and for requests: forms do what the API does, for the same people, and show every text escaped."""

import re
import tomllib
from datetime import timedelta

import pytest

from lapwing.server.pages.declaration import declaration_of

from .conftest import write_source
from .test_pages import csrf, look, send, sign_in

SOURCE = "/sources/visits"
PLACES = ("/people", "/requests", "/declaration")


def post(server, who, path, **fields):
    """Send a form as one of our own pages does."""
    cookie = sign_in(server, who)
    return send(server, f"{SOURCE}{path}", {"csrf": csrf(server, cookie), **fields}, cookie)


def shown(server, who, path):
    return look(server, f"{SOURCE}{path}", sign_in(server, who))


def test_an_owner_invites_by_a_form_and_the_token_is_shown_once(server):
    answer = post(server, "olga", "/people", person="mona", role="analyst", cap="0.5", days="7")
    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    token = re.search(r"lapwing_[0-9a-f]{16}_[0-9a-f]{64}", answer.text)[0]
    assert server.get("/api/v1/me", token=token).json["roles"] == {"visits": ["analyst"]}
    page = shown(server, "olga", "/people")
    assert "mona" in page.text
    assert token not in page.text
    number = token.split("_")[1]
    assert post(server, "olga", f"/people/mona/tokens/{number}/revoke").status == 303
    assert server.get("/api/v1/me", token=token).status == 401


def test_a_form_that_is_sent_again_makes_nothing_again(server):
    cookie = sign_in(server, "olga")
    token = csrf(server, cookie)
    server.ledger.request("ana", 3, "more")
    number = server.ledger.requests()[0].number
    ways = {
        "/people": {"person": "mona", "role": "analyst", "cap": "0.5"},
        "/people/bob/token": {},
        "/people/ana/cap": {"cap": "1.5"},
        "/total": {"total": "9", "note": "why"},
        f"/requests/{number}/grant": {"granted": "2.5"},
    }
    for path, fields in ways.items():
        once = once_of(server, cookie, path)
        first = send(server, f"{SOURCE}{path}", {"csrf": token, "once": once, **fields}, cookie)
        assert first.status in (200, 303), path
        before = server.ledger.head, len(server.app.access.tokens()), server.app.access.roles()
        again = send(server, f"{SOURCE}{path}", {"csrf": token, "once": once, "sure": "add", **fields}, cookie)
        assert (again.status, "This form was sent before" in again.text) == (409, True), path
        assert "lapwing_" not in again.text
        assert (server.ledger.head, len(server.app.access.tokens()), server.app.access.roles()) == before
    strange = {"csrf": token, "once": "x", "total": "8", "note": "y"}
    assert send(server, f"{SOURCE}/total", strange, cookie).status == 400


def once_of(server, cookie, path):
    """Return the text that the page of a form gives it."""
    page = look(server, f"{SOURCE}/{path.split('/')[1].replace('total', 'people')}", cookie).text
    return re.search('name="once" value="([0-9a-f]{32})"', page.partition(f'action="{SOURCE}{path}"')[2])[1]


def test_a_form_that_was_refused_can_be_sent_again_and_is_forgotten_after_a_day(server, monkeypatch):
    cookie = sign_in(server, "olga")
    fields = {"csrf": csrf(server, cookie), "once": once_of(server, cookie, "/total"), "note": "why"}
    assert send(server, f"{SOURCE}/total", {**fields, "total": "-1"}, cookie).status == 400
    assert send(server, f"{SOURCE}/total", {**fields, "total": "8"}, cookie).status == 303
    assert send(server, f"{SOURCE}/total", {**fields, "total": "8"}, cookie).status == 409
    monkeypatch.setattr("lapwing.server.once.KEPT", timedelta(seconds=-5))
    assert send(server, f"{SOURCE}/total", {**fields, "total": "8"}, cookie).status == 303


def test_inviting_somebody_with_a_role_asks_first_and_says_what_changed(server):
    fields = {"person": "ana", "role": "auditor", "cap": ""}
    before = server.app.access.roles(), len(server.app.access.tokens()), server.ledger.head
    page = post(server, "olga", "/people", **fields)
    assert "ana is an analyst of visits now, with a cap of ε 2." in " ".join(page.text.split())
    assert "Become an analyst and an auditor</button>" in page.text
    assert "Become an auditor only</button>" in page.text
    assert (server.app.access.roles(), len(server.app.access.tokens()), server.ledger.head) == before
    page = post(server, "olga", "/people", **fields, sure="add")
    assert "ana was an analyst of visits, and is now an analyst and an auditor." in page.text
    assert server.get("/api/v1/me", "ana").json["roles"] == {"visits": ["analyst", "auditor"]}
    page = post(server, "olga", "/people", **fields, sure="replace")
    assert "and is now an auditor." in page.text
    assert server.get("/api/v1/me", "ana").json["roles"] == {"visits": ["auditor"]}
    page = post(server, "olga", "/people", person="olga", role="auditor")
    assert "only</button>" not in page.text  # an owner stays one, or nobody might be left
    refused = post(server, "olga", "/people", person="olga", role="auditor", sure="replace")
    assert refused.status == 409
    assert server.get("/api/v1/me", "olga").json["roles"] == {"visits": ["owner"]}


def test_caps_the_total_and_removal_by_forms(server):
    assert post(server, "olga", "/people/ana/cap", cap="0.75").status == 303
    assert server.ledger.budget("ana").total * 4 == 3
    assert post(server, "olga", "/people/audrey/cap", cap="0.5").status == 303  # who had none yet
    assert post(server, "olga", "/total", total="9.5", note="year two").status == 303
    assert (server.ledger.total * 2, server.ledger.entries()[-1].note) == (19, "year two")
    for name in ("", "bob", "Ana"):
        kept = post(server, "olga", "/people/ana/remove", name=name)
        assert (kept.status, "The name does not confirm the removal" in kept.text) == (400, True)
    assert server.app.access.has_role("ana")
    assert post(server, "olga", "/people/ana/remove", name="ana").status == 303
    assert server.get("/api/v1/sources/visits", "ana").status == 404
    assert "lapwing_" in post(server, "olga", "/people/bob/token").text


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/people", {"person": "Mona", "role": "analyst", "cap": "1"}),
        ("/people", {"person": "mona", "role": "analyst"}),
        ("/people", {"person": "mona", "role": "operator"}),
        ("/people", {"person": "mona", "role": "analyst", "cap": "1", "days": "400"}),
        ("/people/ana/cap", {"cap": "<b>"}),
        ("/people/nobody/cap", {"cap": "1"}),
        ("/people/nobody/token", {}),
        ("/people/olga/remove", {"name": "olga"}),
        ("/total", {"total": "", "note": "why"}),
        ("/total", {"total": "9"}),
        ("/total", {"total": "9", "note": " "}),
        ("/total", {"total": "-1", "note": "why"}),
    ],
)
def test_what_is_refused_is_told_on_the_page_of_the_form_and_changes_nothing(server, path, fields):
    before = server.ledger.head, server.app.access.roles("visits")
    answer = post(server, "olga", path, **fields)
    assert answer.status in (400, 409)
    assert 'role="alert"' in answer.text
    assert "<h1>People of visits</h1>" in answer.text
    assert "<b>" not in answer.text
    assert (server.ledger.head, server.app.access.roles("visits")) == before


def test_a_request_is_made_and_granted_by_forms(server):
    hostile = '<script>alert(1)</script> "quoted" & {{ 7 * 7 }}'
    assert post(server, "ana", "/requests", cap="2.5", reason=hostile).status == 303
    page = shown(server, "olga", "/requests")
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    assert "{{ 7 * 7 }}" in page.text
    number = server.ledger.requests()[0].number
    assert post(server, "olga", f"/requests/{number}/grant", cap="2.25", note="until May").status == 303
    again = post(server, "olga", f"/requests/{number}/grant", cap="2.25")
    assert again.status == 409
    assert "was granted before" in again.text
    mine = shown(server, "ana", "/requests").text
    assert "granted" in mine
    assert "2.25" in mine
    assert server.ledger.budget("ana").total * 4 == 9


def test_a_request_that_does_not_fit_is_shown_again_with_what_was_said(server):
    answer = post(server, "ana", "/requests", cap="1", reason="less than I have")
    assert answer.status == 400
    assert "above the 2 that you have" in answer.text
    assert 'value="less than I have"' in answer.text
    assert post(server, "ana", "/requests", cap="3", reason="x" * 501).status == 400
    post(server, "ana", "/requests", cap="3", reason="mine")
    number = server.ledger.requests()[0].number
    assert post(server, "bob", f"/requests/{number}/withdraw").status == 404
    assert "mine" not in shown(server, "bob", "/requests").text.partition("<h2")[2].partition("Ask for")[0]
    assert post(server, "ana", f"/requests/{number}/withdraw").status == 303
    assert server.ledger.requests()[0].state == "withdrawn"


def test_pages_of_owners_are_not_there_for_others(server):
    for who in ("ana", "audrey", "oscar", "otto"):
        cookie = sign_in(server, who)
        for place in ("/people", "/declaration"):
            assert look(server, f"{SOURCE}{place}", cookie).status == 404
        text = look(server, "/", cookie).text
        assert "/people" not in text
    assert shown(server, "audrey", "/requests").status == 200
    assert "<form method" not in shown(server, "audrey", "/requests").text.partition("<main")[2]
    for place in PLACES:
        assert look(server, f"{SOURCE}{place}", sign_in(server, "otto")).status == 404


def test_no_form_works_without_the_text_of_its_session(server):
    cookie, before = sign_in(server, "olga"), server.ledger.head
    for path in ("/people", "/people/ana/remove", "/people/ana/cap", "/total", "/requests"):
        fields = {"cap": "3", "total": "9", "person": "eve", "role": "auditor", "reason": "x"}
        assert send(server, f"{SOURCE}{path}", fields, cookie).status == 400
        right = {**fields, "csrf": csrf(server, cookie)}
        assert send(server, f"{SOURCE}{path}", right, cookie, origin="https://evil.example").status == 400
    assert server.ledger.head == before
    assert "ana" in server.get("/api/v1/sources/visits/people", "olga").text


def test_the_declaration_is_shown_without_places(server, folder):
    page = shown(server, "olga", "/declaration").text
    for text in ("rows_per_person = 1", "[columns.ward]", "elsewhere"):
        assert text in page
    for text in ("visits.csv", "table =", str(folder)):
        assert text not in page
    server.release("ana")
    page = shown(server, "olga", "/declaration").text
    (asked,) = [each.time for each in server.ledger.entries() if each.kind == "charge"]
    for text in ("Questions in the ledger", "First seen (UTC)", asked[:16].replace("T", " ")):
        assert text in page


def test_the_declaration_that_is_shown_is_the_one_that_is_served(server, folder):
    file = folder / "visits.toml"
    file.write_text(file.read_text().replace("elsewhere", "edited"))
    page = shown(server, "olga", "/declaration").text
    assert "elsewhere" in page
    assert "edited" not in page


def test_the_declaration_says_the_same_as_the_file_but_for_places(tmp_path):
    text = write_source(tmp_path, "visits").read_text() + (
        '[columns."Größe \\"x\\""]\nkeys = {"1" = "one", "2" = "two"}\ntype = "integer"\n'
        "[columns.day]\nfirst = 2024-01-31\nlast = 2024-12-31\n[columns.y]\nlow = -0.10\nhigh = 1e3\n"
        "missing = [9, 99]\n"
        '[[join]]\ntable = "postgresql://u:secret@h/d#t"\ncolumns = ["age"]\nperson = "id"\n[[join]]\ntable = "b.csv"\n'
        'on = "k"\n[join.file]\ndelimiter = ";"\n[file]\ndecimal = ","\n'
    )
    text = f'ledger = "postgresql://u:secret@h/d"\n{text}'
    told = declaration_of(text)
    assert "secret" not in told
    wanted = tomllib.loads(text)
    for each in (wanted, *wanted["join"]):
        each.pop("table", None)
        each.pop("ledger", None)
    assert tomllib.loads(told) == wanted


def test_a_total_or_a_cap_that_lets_no_question_be_answered_is_said(server):
    assert 'class="box bad"' not in shown(server, "olga", "/people").text
    server.release("ana", "SELECT COUNT(*) FROM visits", "0.5")
    page = " ".join(shown(server, "olga", "/people").text.split())
    assert "ε 0.5 is spent already." in page
    assert 'class="box bad"' not in page
    assert post(server, "olga", "/total", total="0.25", note="less").status == 303
    assert post(server, "olga", "/people/ana/cap", cap="0.125").status == 303
    page = shown(server, "olga", "/people").text
    assert "The total is ε 0.25, and ε 0.5 is spent: no question is answered until the total is above that." in page
    assert "The cap of ana is ε 0.125, and ε 0.5 is spent: no question of ana is answered" in page
    assert post(server, "olga", "/people/ana/cap", cap="7").status == 303
    assert "The cap of ana is ε 7, above the total: the total, ε 0.25, binds." in shown(server, "olga", "/people").text


def test_the_page_of_a_token_says_the_address_to_send_along(server):
    assert "<code>http://127.0.0.1:8765/</code>" in post(server, "olga", "/people/bob/token").text


def test_an_owner_sees_how_many_requests_are_open_on_the_first_page_and_beside_their_link(server):
    assert "open request" not in look(server, "/", sign_in(server, "olga")).text
    assert ">Requests</a>" in shown(server, "olga", "/people").text
    assert post(server, "ana", "/requests", cap="2.5", reason="a closer look").status == 303
    assert "1 open request</a>" in look(server, "/", sign_in(server, "olga")).text
    assert ">Requests (1)</a>" in shown(server, "olga", "/people").text
    assert ">Requests (1)</a>" not in shown(server, "bob", "/requests").text  # who decides none
    assert "open request" not in look(server, "/", sign_in(server, "bob")).text
    server.ledger.decline(server.ledger.requests()[0].number)
    assert ">Requests</a>" in shown(server, "olga", "/people").text
