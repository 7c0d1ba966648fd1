"""The pages for analysts and auditors in a real browser: what people do there, by mouse and by keys, light and dark."""

import re
from fractions import Fraction
from urllib.parse import urlsplit

import pytest

from ..unit.server.conftest import ASKED, CANARY
from .served import Running

pytestmark = pytest.mark.usefixtures("frozen_noise")

ASK = "/sources/visits/ask"


@pytest.fixture
def served(tmp_path):
    running = Running(tmp_path)
    yield running
    running.stop()


class Seen:
    """What a browser asked for, and what its pages held."""

    def __init__(self, context):
        self.hosts, self.texts, self.errors = set(), [], []
        context.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("console", self._told)

    def _told(self, message):
        if "Content Security Policy" in message.text or "Refused" in message.text:
            self.errors.append(message.text)

    def look(self, page):
        self.texts.append(page.content())


@pytest.fixture
def context(chromium, served):
    with chromium.new_context(accept_downloads=True) as made:
        made.seen = Seen(made)
        yield made
        assert made.seen.errors == []
        assert made.seen.hosts <= {urlsplit(served.url).netloc, ""}  # no request to another host
        assert not [text for text in made.seen.texts if CANARY in text or "canary" in text]


@pytest.fixture
def page(context, served):
    return served.sign_in(context, "ana")


def planned(page, act):
    """Do something that changes the question, and return the plan that follows."""
    act()
    page.wait_for_selector("#plan:not(.updating)")
    return page.inner_text("#plan")


def ask(page, served, epsilon, sql=ASKED):
    page.goto(f"{served.url}{ASK}")
    planned(page, lambda: page.fill("#sql", sql))
    planned(page, lambda: page.fill("#epsilon", epsilon))
    leave(page, "text=Release…")


def leave(page, selector):
    """Click what leads to another page, and wait for that."""
    with page.expect_navigation():
        page.click(selector)


def test_an_analyst_plans_releases_and_repeats_until_the_budget_is_spent(page, served, context):
    leave(page, "text=Ask visits")
    assert "ε = 1 left" in page.inner_text("main")
    first = planned(page, lambda: page.fill("#sql", ASKED))
    assert "n" in first
    small = planned(page, lambda: page.fill("#epsilon", "0.1"))
    large = planned(page, lambda: page.fill("#epsilon", "0.5"))
    errors = [float(re.search(r"n\s+± (\d+)", text)[1]) for text in (small, large)]
    assert errors[0] > 3 * errors[1]
    assert "of 1 left to you; 0.5 after it" in large
    assert page.locator("#plan .curves polyline").count() == 2
    slider = page.locator("#slider")
    moved = planned(page, lambda: slider.press("ArrowLeft"))
    assert page.input_value("#epsilon") != "0.5"
    assert moved != large
    assert served.ledger.spent == 0

    ask(page, served, "0.5")
    assert "This costs ε = 0.5 of the 1 that is left to you; 0.5 remains." in page.inner_text("main")
    assert served.ledger.spent == 0
    leave(page, "text=Release for ε = 0.5 >> nth=-1")
    page.wait_for_selector("text=Released for ε = 0.5.")
    context.seen.look(page)
    chart = page.locator("figure.chart img")
    assert chart.evaluate("each => each.complete && each.naturalWidth > 100")
    assert page.locator("td.draw svg").count() == 6  # a bar for each number
    assert re.fullmatch(r"/sources/visits/entries/\d+", urlsplit(page.url).path + urlsplit(page.url).query)
    page.reload()  # neither asks again nor says again what was charged
    assert "A recorded answer: nothing was charged." in page.inner_text("main")
    assert served.ledger.spent == Fraction(1, 2)

    ask(page, served, "0.5")  # at once, with no confirmation, and free
    assert "A recorded answer: nothing was charged." in page.inner_text("main")
    assert served.ledger.spent == Fraction(1, 2)

    ask(page, served, "0.6")
    assert "0.5 is left for you" in page.inner_text("#refusal[role=alert]")
    assert page.evaluate("document.activeElement.id") == "refusal"
    assert page.locator("#refusal a").get_attribute("href") == "/sources/visits/requests"
    page.wait_for_selector("#plan:not(.updating) .curves circle")
    assert page.evaluate(DOT_IS_LAST)
    assert page.get_attribute("#slider", "aria-valuetext") == "ε = 0.6"
    assert page.input_value("#slider") == page.get_attribute("#slider", "max")
    context.seen.look(page)
    ask(page, served, "0.5", "SELECT COUNT(*) FROM visits")
    leave(page, "#release .main")
    page.wait_for_selector("text=Released for")
    assert served.ledger.remaining > 0
    ask(page, served, "0.1")
    assert "0 is left for you" in page.inner_text("#refusal")
    assert served.ledger.spent == 1

    leave(page, "nav.source >> text=History")
    assert page.locator("tbody tr").count() == 2
    context.seen.look(page)
    leave(page, "tbody a >> nth=-1")
    assert "A recorded answer" in page.inner_text("main")
    context.seen.look(page)


DOT_IS_LAST = """() => [...document.querySelectorAll(".curves svg")].every((each) => {
  const points = each.querySelector("polyline").getAttribute("points").split(" ");
  const dot = each.querySelector("circle");
  return points.at(-1) === `${dot.getAttribute("cx")},${dot.getAttribute("cy")}`;
})"""
"""Whether the dot of each curve is at its end: what was asked is above all other values of ε that it is drawn for."""


def test_answers_are_compared_and_downloaded(page, served, context, tmp_path):
    ask(page, served, "0.5")
    leave(page, "#release .main")
    page.wait_for_selector("figure.chart")
    with page.expect_download() as download:
        page.click("text=CSV")
    file = tmp_path / "answer.csv"
    download.value.save_as(file)
    assert file.read_text().startswith("ward,n,n_low,n_high")
    page.select_option("#compare", "ratio")
    leave(page, "text=Compare >> nth=-1")
    page.wait_for_selector("text=Ratio by ward: north divided by south")
    context.seen.look(page)
    assert served.ledger.spent == Fraction(1, 2)


def test_back_and_reload_keep_what_was_typed_and_send_no_form_again(page, served):
    ask(page, served, "0.5")
    assert "Release for ε = 0.5?" in page.inner_text("h1")
    page.reload()
    assert "Release for ε = 0.5?" in page.inner_text("h1")
    page.go_back()
    assert (page.input_value("#sql"), page.input_value("#epsilon")) == (ASKED, "0.5")
    planned(page, lambda: page.fill("#sql", f"{ASKED} LIMIT 2"))
    page.reload()
    assert page.input_value("#sql") == f"{ASKED} LIMIT 2"
    leave(page, "text=What can be asked about")
    page.go_back()
    assert page.input_value("#sql") == f"{ASKED} LIMIT 2"
    leave(page, "text=Release…")
    leave(page, "#release .main")
    page.wait_for_selector("text=Released for ε = 0.5.")
    page.go_back()
    assert page.input_value("#sql") == f"{ASKED} LIMIT 2"
    page.go_forward()
    page.wait_for_selector("text=A recorded answer: nothing was charged.")
    assert served.ledger.spent == Fraction(1, 2)


def test_words_are_completed_by_keys_alone(page, served):
    page.goto(f"{served.url}{ASK}")
    page.focus("#sql")
    page.keyboard.press("Control+A")
    page.keyboard.type("SELECT COUNT(*) FROM visits WHERE wa")
    page.wait_for_selector("#completions li")
    page.keyboard.press("ArrowDown")
    chosen = page.get_attribute("#sql", "aria-activedescendant")
    assert page.get_attribute(f"#{chosen}", "aria-selected") == "true"
    page.keyboard.press("Enter")
    page.keyboard.type(" = nor")
    page.wait_for_selector("#completions li")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("#sql") == "SELECT COUNT(*) FROM visits WHERE ward = 'north'"
    page.keyboard.type(" AND c")
    page.wait_for_selector("#completions li")
    page.keyboard.press("Escape")
    assert page.is_hidden("#completions")
    assert page.input_value("#sql").endswith(" AND c")


def test_controls_write_the_sql(page, served):
    page.goto(f"{served.url}{ASK}")
    page.wait_for_selector("#pick:not([hidden])")
    page.select_option("#pick-statistic", label="median")
    page.select_option("#pick-column", "age")
    page.select_option("#pick-by", "ward")
    page.fill("#pick-where", "age >= 18")
    plan = planned(page, lambda: page.click("#pick-write"))
    assert page.input_value("#sql") == "SELECT ward, MEDIAN(age)\nFROM visits\nWHERE age >= 18\nGROUP BY ward"
    assert "Cost" in plan
    page.select_option("#pick-statistic", label="number of rows")
    plan = planned(page, lambda: page.click("#pick-add"))
    assert "MEDIAN(age), COUNT(*)" in page.input_value("#sql")
    assert "Cost" in plan


def test_everything_is_reached_by_keys_alone(chromium, served):
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{served.url}{ASK}")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        to(page, "#token")
        page.keyboard.type(served.tokens["ana"])
        page.keyboard.press("Enter")
        page.wait_for_selector("#ask")
        to(page, "#sql")
        page.keyboard.press("Control+A")
        page.keyboard.type("SELECT COUNT(*) FROM visits;")
        to(page, "#epsilon")
        page.keyboard.press("Control+A")
        page.keyboard.type("0.25")
        to(page, "button[value=confirm]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#release")
        to(page, "#release .main")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Released for ε = 0.25.")
        assert served.ledger.spent == Fraction(1, 4)


def to(page, selector):
    """Press Tab until an element has the focus, which must be visible."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert style != "none"
            return
    raise AssertionError(f"{selector} is not reached")


def test_pages_work_without_scripts(chromium, served):
    with chromium.new_context(java_script_enabled=False) as context:
        page = served.sign_in(context, "ana")
        page.goto(f"{served.url}{ASK}")
        page.fill("#sql", ASKED)
        page.fill("#epsilon", "0.5")
        leave(page, "text=Plan >> nth=0")
        assert "of 1 left to you; 0.5 after it" in page.inner_text("#plan")
        leave(page, "text=Release…")
        leave(page, "#release .main")
        assert "Released for ε = 0.5." in page.inner_text("main")


def test_a_session_that_ended_leads_to_the_page_to_sign_in(page, served):
    page.goto(f"{served.url}{ASK}")
    page.wait_for_selector("#plan table")  # which the page asks for by itself
    served.app.access.revoke(person="ana")
    page.fill("#epsilon", "0.3")
    page.wait_for_selector("#token")
    assert "visits" not in page.inner_text("main")


def test_an_auditor_reads_and_verifies_the_ledger(context, served):
    analyst = served.sign_in(context, "ana")
    ask(analyst, served, "0.5")
    leave(analyst, "#release .main")
    leave(analyst, "text=Sign out")
    page = served.sign_in(context, "audrey")
    page.goto(f"{served.url}/sources/visits")
    head = page.inner_text("dd .head")
    leave(page, "nav.source >> text=Ledger")
    assert "ana" in page.inner_text("tbody")
    page.fill("#head", head)
    leave(page, "main button")
    page.wait_for_selector("text=Sound.")
    assert "the head that you kept is among them" in page.inner_text("main")
    context.seen.look(page)
    page.fill("#head", "0" * 64)
    leave(page, "main button")
    page.wait_for_selector("[role=alert]")
