"""Signing in with an account of one's organisation, in a real browser with a real provider, which is another site."""

import socket
import threading

import pytest
import uvicorn

from lapwing.server.access import Access
from lapwing.server.app import Application
from lapwing.server.openid_settings import OpenId
from lapwing.server.permissions import Role
from lapwing.server.store import AccessStore

from ..oidc.provider import SECRET
from ..unit.server.conftest import folder, prepared, settings  # noqa: F401
from . import axe
from .conftest import SHOTS

ANA = "ana@example.org"


@pytest.fixture
def site(folder, real_provider, frozen_noise):  # noqa: F811
    """A server with pages on 127.0.0.1, and its provider on localhost: to a browser these are two sites."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    provider = real_provider(f"{url}/sign-in/openid/return")
    Access(AccessStore(str(folder / "access.sqlite"))).add_role(ANA, "visits", Role.ANALYST)
    way = OpenId(provider.issuer, "lapwing", url, client_secret=SECRET)
    app = Application(settings(folder, openid=way, port=port), write=lambda line: None)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, lifespan="on"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        threading.Event().wait(0.01)
    yield url, provider
    server.should_exit = True
    thread.join()


class Seen:
    """A browser of its own, what it complained of, and what our pages asked for."""

    def __init__(self, chromium, url, provider, **more):
        self.context = chromium.new_context(viewport={"width": 900, "height": 700}, **more)
        self.page = self.context.new_page()
        self.url, self.provider, self.complaints, self.asked = url, provider, [], []
        self.page.on("console", self._complain)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._ask)

    def _complain(self, message):
        if message.type in ("error", "warning") and self.page.url.startswith(self.url):
            self.complaints.append(message.text)

    def _ask(self, request):
        if request.frame.url.startswith(self.url) and not request.is_navigation_request():
            self.asked.append(request.url)

    def sign_in(self, name):
        """Sign in at the provider, from the page to sign in."""
        self.page.get_by_role("link", name="Sign in with your organisation's account").click()
        self.page.wait_for_url(f"{self.provider.issuer}/interaction/**")
        self.page.fill("input[name=login]", name)
        self.page.fill("input[name=password]", "any")
        self.page.click("button[type=submit]")
        self.page.get_by_role("button", name="Continue").click()


@pytest.mark.parametrize(("scheme", "scripts"), [("light", True), ("dark", False)])
def test_somebody_signs_in_and_out_in_a_browser(chromium, site, scheme, scripts):
    url, provider = site
    seen = Seen(chromium, url, provider, color_scheme=scheme, java_script_enabled=scripts)
    page = seen.page
    page.goto(f"{url}/sign-in")
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"sign-in-openid-{scheme}.png")
    assert not scripts or axe.violations(page) == []
    seen.sign_in(ANA)
    page.wait_for_url(f"{url}/")  # without a click, and without a script
    assert "visits" in page.content()
    assert ANA in page.content()
    page.screenshot(path=SHOTS / f"signed-in-openid-{scheme}.png")
    kept = {each["name"]: each for each in seen.context.cookies(url)}
    assert kept["lapwing"]["httpOnly"]
    assert kept["lapwing"]["sameSite"] == "Strict"
    assert "lapwing-openid" not in kept
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{url}/signed-out")
    page.screenshot(path=SHOTS / f"signed-out-openid-{scheme}.png")
    assert not scripts or axe.violations(page) == []
    page.goto(f"{url}/")
    assert "visits" not in page.content()
    page.goto(f"{url}/signed-out")
    page.get_by_role("link", name="Sign out of your organisation's account").click()
    page.get_by_role("button", name="Yes, sign me out").click()
    page.wait_for_url(f"{url}/sign-in")
    assert [each for each in seen.complaints if "401" not in each] == []
    assert all(each.startswith(url) for each in seen.asked)
    seen.context.close()


def test_somebody_without_a_role_is_told_so_in_a_browser(chromium, site):
    url, provider = site
    seen = Seen(chromium, url, provider)
    seen.page.goto(url)  # which asks to sign in
    seen.sign_in("mallory@example.org")
    seen.page.get_by_role("alert").wait_for()
    assert "You are not signed in." in seen.page.get_by_role("alert").inner_text()
    assert "mallory" not in seen.page.content()
    seen.page.screenshot(path=SHOTS / "not-signed-in-openid.png")
    assert seen.context.cookies(url) == []
    seen.context.close()


def test_an_answer_of_the_provider_that_is_opened_in_another_browser_is_of_no_use(chromium, site):
    """Neither does it sign in whoever stole it, nor somebody who was made to open it."""
    url, provider = site
    victim, other = (Seen(chromium, url, provider) for _ in range(2))
    answers = []
    victim.page.on("request", lambda request: answers.append(request.url) if "/return?" in request.url else None)
    victim.page.goto(f"{url}/sign-in")
    victim.sign_in(ANA)
    victim.page.wait_for_url(f"{url}/")
    other.page.goto(f"{url}/sign-in/openid")  # it has begun a sign-in of its own
    other.page.goto(answers[0])
    assert "You are not signed in." in other.page.get_by_role("alert").inner_text()
    assert not any(each["name"] == "lapwing" for each in other.context.cookies(url))
    for each in (victim, other):
        each.context.close()
