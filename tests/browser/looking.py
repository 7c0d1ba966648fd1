"""Looks at a page of the server, light and dark, wide and narrow: pictures are kept, and what is wrong is returned.

axe-core looks at each of them too, where it is installed.
"""

from . import axe
from .conftest import LOOK, SHOTS

SIZES = (("light", 1200), ("dark", 1200), ("light", 375), ("dark", 375))


def look_at(chromium, served, who, path, name, act=lambda page: None):
    """Look at the page that a person gets at a path, or to which ``act`` leads from there; None is not signed in."""
    wrong, session = [], None
    for scheme, width in SIZES:
        size = {"width": width, "height": 900}
        context = chromium.new_context(viewport=size, color_scheme=scheme, storage_state=session)
        page = context.new_page() if who is None or session is not None else served.sign_in(context, who)
        session, asked, told = context.storage_state(), [], []
        page.on("console", lambda message, told=told: told.append(message.text))
        page.on("pageerror", lambda error, told=told: told.append(str(error)))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(f"{served.url}{path}")
        act(page)
        wrong += [f"{scheme} {width}: {each}" for each in page.evaluate(LOOK) if "is cut off" not in each]
        wrong += [f"console: {each}" for each in told]
        wrong += [f"asked for {each}" for each in asked if not each.startswith(served.url)]
        wrong += [f"{each} has no label" for each in page.evaluate(UNLABELLED)]
        if (scheme == "light") is (width == 1200):  # once in each scheme and in each width
            wrong += [f"{scheme} {width}: {each}" for each in axe.violations(page)]
        if page.locator("h1").count() != 1:
            wrong.append(f"{scheme} {width}: there is not one h1")
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"{name}-{scheme}-{width}.png", full_page=True)
        context.close()
    return wrong


UNLABELLED = """() => [...document.querySelectorAll(
    "input:not([type=hidden]), select, textarea, button, summary, svg[role]")]
  .filter((each) => !(each.labels && each.labels.length) && !each.getAttribute("aria-label")
    && !(["BUTTON", "SUMMARY"].includes(each.tagName) && each.textContent.trim()))
  .map((each) => each.outerHTML.slice(0, 80))"""
