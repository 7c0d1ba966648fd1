"""A real Chromium, for pages as people see them; without one these tests are skipped, and say so."""

import os
import shutil
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..conftest import NO_BROWSER
from . import axe

CHROMIUM = os.environ.get("LAPWING_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
SHOTS = Path(__file__).parents[2] / "build" / "screenshots"

LOOK = """() => {
  const wrong = [];
  for (const svg of document.querySelectorAll("svg")) {
    const box = svg.viewBox.baseVal, texts = [];
    for (const each of svg.querySelectorAll("text, path, circle")) {
      const b = each.getBBox();
      if (b.x < -0.5 || b.y < -0.5 || b.x + b.width > box.width + 0.5 || b.y + b.height > box.height + 0.5)
        wrong.push(`${each.tagName} ${each.textContent} is cut off`);
      if (each.tagName === "text") texts.push(b);
    }
    texts.sort((a, b) => a.x - b.x);
    texts.forEach((b, i) => texts.slice(0, i).forEach(a => {
      if (b.x < a.x + a.width + 2 && b.y < a.y + a.height && a.y < b.y + b.height)
        wrong.push("labels of an axis overlap");
    }));
  }
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page scrolls sideways");
  for (const each of document.querySelectorAll("th, td, p, dd, h1, h2"))
    if (each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline")
      wrong.push(`${each.tagName} is too narrow for ${each.textContent.slice(0, 40)}`);
  return [...new Set(wrong)].slice(0, 9);
}"""


@pytest.fixture(scope="module")
def chromium():
    """Return a browser for the tests of one file: its event loop would be in the way of tests of other files."""
    if CHROMIUM is None or find_spec("playwright") is None:
        pytest.skip(NO_BROWSER)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


class Browser:
    """Opens files, and keeps what the browser complains of and asks for."""

    def __init__(self, chromium):
        self.chromium, self.complaints, self.asked, self.seconds = chromium, [], [], {}

    def open(self, file, *, scheme="light", width=1200, scripts=True):
        page = self.chromium.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts
        )
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        start = time.perf_counter()
        page.goto(Path(file).as_uri(), wait_until="load")
        if scripts:
            page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
        self.seconds[scheme, width] = round(time.perf_counter() - start, 2)
        return page

    def look(self, file, name, *, most=6000):
        """Open a page light and dark, wide and narrow; keep pictures, and return what is wrong with it."""
        wrong = []
        for scheme, width in (("light", 1200), ("dark", 1200), ("light", 400), ("dark", 400)):
            page = self.open(file, scheme=scheme, width=width)
            wrong += [f"{scheme} {width}: {each}" for each in page.evaluate(LOOK)]
            height = min(page.evaluate("document.documentElement.scrollHeight"), most)
            SHOTS.mkdir(parents=True, exist_ok=True)
            clip = {"x": 0, "y": 0, "width": width, "height": height}
            if (scheme == "light") is (width == 1200):  # once in each scheme and in each width
                wrong += [f"{scheme} {width}: {each}" for each in axe.violations(page)]
            page.screenshot(path=SHOTS / f"{name}-{scheme}-{width}.png", full_page=True, clip=clip)
            page.close()
        wrong += [f"console: {each}" for each in self.complaints]
        wrong += [f"asked for {each}" for each in self.asked if not each.startswith(("file:", "data:"))]
        return wrong


@pytest.fixture
def browser(chromium):
    return Browser(chromium)
