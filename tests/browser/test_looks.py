"""Every page of the server is looked at in a real browser: nothing is cut off or unlabelled, and axe-core agrees."""

import threading
from itertools import count

import pytest

from lapwing.engine.table import Table

from ..unit.server.conftest import ASKED
from ..unit.server.test_audit_page import made as made_report
from ..unit.server.test_audit_page import write as write_report
from . import axe
from .looking import look_at
from .served import Running

pytestmark = pytest.mark.usefixtures("frozen_noise")

SOURCE = "/sources/visits"
INVITED = count()


@pytest.fixture
def served(tmp_path):
    report = write_report(tmp_path, made_report(passed=False))
    running = Running(tmp_path, audit_report=report, sources_folder=str(tmp_path / "tables"))
    room = tmp_path / "tables" / "mara"
    room.mkdir(parents=True)
    (room / "clinic.csv").write_text("patient,ward,cost,day\np1,north,3,2024-01-02\np2,south,4,2024-01-03\n")
    running.ledger.request("ana", "1.5", "The second wave has <b>more</b> households.")
    running.ledger.decline(running.ledger.request("ana", 3, "x" * 300).number, "not now")
    yield running
    running.stop()


def stay(page):
    pass


def planned(page):
    page.wait_for_selector("#plan table")


def refused(page):
    planned(page)
    page.fill("#sql", "SELECT nothing FROM visits")
    page.wait_for_selector("#plan:not(.updating) .bad")


def confirmed(page):
    page.fill("#sql", ASKED)
    page.fill("#epsilon", "0.25")
    page.click("text=Release…")
    page.wait_for_selector("#release")


def compared(page):
    page.select_option("#compare", "ratio")
    page.click("text=Compare >> nth=-1")
    page.wait_for_selector("text=Ratio by ward: north divided by south")


def verified(page):
    page.click("main button")
    page.wait_for_selector("text=Sound.")


def invited(page):
    page.fill("#person", f"mona{next(INVITED)}")  # somebody new in each size: who has a role gets another page
    page.fill("#cap", "0.25")
    page.get_by_role("button", name="Invite").click()
    page.wait_for_selector("#new-token")


def checked(page):
    page.select_option("#who", "0")
    page.fill("#keys-1", "north, south")
    page.fill("#low-2", "0")
    page.fill("#high-2", "100")
    page.get_by_role("button", name="Check it").click()
    page.wait_for_url("**/check")


def mistyped(page):
    page.fill("#token", "wrong")
    page.press("#token", "Enter")
    page.wait_for_selector("#wrong")


PAGES = {
    "home": ("ana", "/", stay),
    "source": ("ana", SOURCE, stay),
    "ask": ("ana", f"{SOURCE}/ask", planned),
    "ask-refused": ("ana", f"{SOURCE}/ask", refused),
    "confirmation": ("ana", f"{SOURCE}/ask", confirmed),
    "history": ("ana", f"{SOURCE}/history", stay),
    "entry": ("olga", f"{SOURCE}/entries/{{entry}}", stay),
    "comparison": ("ana", f"{SOURCE}/entries/{{entry}}", compared),
    "ask-more": ("ana", f"{SOURCE}/requests", stay),
    "learn": ("ana", "/learn", stay),
    "ledger": ("audrey", f"{SOURCE}/ledger", verified),
    "audit": ("audrey", f"{SOURCE}/audit", stay),
    "people": ("olga", f"{SOURCE}/people", stay),
    "token": ("olga", f"{SOURCE}/people", invited),
    "requests": ("olga", f"{SOURCE}/requests", stay),
    "declaration": ("olga", f"{SOURCE}/declaration", stay),
    "new": ("mara", "/new", stay),
    "new-table": ("mara", "/new/clinic.csv", stay),
    "new-check": ("mara", "/new/clinic.csv", checked),
    "nothing": ("ana", "/sources/nosuch", stay),
    "sign-in": (None, "/sign-in", stay),
    "not-signed-in": (None, SOURCE, mistyped),
}
"""Who gets which page, and what they do there first; the pages to sign in by OpenID Connect are in test_sign_in.py."""

TOLD = {"nothing": "404", "not-signed-in": "401", "ask-refused": "400"}
"""What a browser says in its console about an answer with such a status."""


@pytest.mark.parametrize("name", PAGES)
def test_each_page_looks_right_light_and_dark_wide_and_narrow_and_is_accessible(chromium, served, name):
    who, path, act = PAGES[name]
    if "{entry}" in path:
        released = served.app.sources["visits"].source.release(ASKED, epsilon="0.5", analyst="ana")
        path = path.format(entry=released.entry)
    wrong = look_at(chromium, served, who, path, f"server-{name}", act)
    assert [each for each in wrong if name not in TOLD or TOLD[name] not in each] == []


@pytest.fixture
def held(served, monkeypatch):
    """Tables that are not read before the end of the test."""
    go_on, tally = threading.Event(), Table.tally
    monkeypatch.setattr(Table, "tally", lambda *given, **named: go_on.wait() and tally(*given, **named))
    yield
    go_on.set()


@pytest.mark.usefixtures("frozen_noise", "held")
def test_the_page_of_a_long_question_looks_right_and_is_accessible(chromium, served, monkeypatch):
    monkeypatch.setattr("lapwing.server.pages.asks.PATIENCE", 0)

    def wait(page):
        confirmed(page)
        page.click("#release .main")
        page.wait_for_url("**/jobs/*")

    assert look_at(chromium, served, "ana", f"{SOURCE}/ask", "server-job", wait) == []


def test_axe_finds_what_is_wrong_with_a_page(chromium):
    if not axe.FILE.is_file():
        pytest.skip(axe.NO_AXE)
    with chromium.new_context() as context:
        page = context.new_page()
        page.set_content("<html lang=en><title>t</title><main><h1>t</h1><p>good</p></main>")
        assert axe.violations(page) == []
        page.set_content("<title>t</title><p style='color: #ccc; background: #fff'>pale</p><input><img src='data:,'>")
        found = {each["id"] for each in axe.violations(page)}
        assert found >= {"color-contrast", "html-has-lang", "image-alt", "label"}
