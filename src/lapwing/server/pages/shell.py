"""The frame of every page: navigation, who is signed in, and the words of refusals; and the templates.

Templates escape every text, and fail on a name that they are not given.  A page loads its style and its scripts from
this server alone, and no other script runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

from ...errors import LapwingError
from ...pages.paging import SCRIPT
from ...pages.style import PAGE, STYLE
from ...version import __version__
from ..once import new_text
from ..permissions import SERVER, Caller, Permission
from ..refusals import Refusal
from ..routing import OF_SERVER, is_page, permission_of
from ..sources import Served

HERE = Path(__file__).parent
MEDIA = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""The kinds of static files; no others are sent."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load: from this server alone, and no inline script or style."""

_HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin"}
"""Headers of pages; with no-referrer, a browser would not say that a form comes from here."""

MOST_IN_ADDRESS = 4000
"""How long the fields of a form in an address may be: proxies refuse longer ones."""

NAVIGATION = (
    ("Source", "/sources/{source}"),
    ("Ask", "/sources/{source}/ask"),
    ("History", "/sources/{source}/history"),
    ("Ledger", "/sources/{source}/ledger"),
    ("Audit", "/sources/{source}/audit"),
    ("Requests", "/sources/{source}/requests"),
    ("People", "/sources/{source}/people"),
    ("Declaration", "/sources/{source}/declaration"),
)
"""The pages of a source, in this order; those are shown that are there and that the person may use."""

_GENERAL = (("Sources", "/"), ("New source", "/new"), ("Learn", "/learn"))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=select_autoescape(default=True),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_printable,
    )  # fmt: skip
    made.globals["static"] = lambda name: f"/static/{name}?v={_versions()[name]}"
    made.globals["version"] = __version__
    made.globals["once"] = new_text
    return made


def _printable(value: object) -> object:
    """Return a text of others with what cannot be shown replaced; the template escapes it."""
    if type(value) is not str or value.isprintable():
        return value
    return "".join(c if c.isprintable() or c in _KEPT else "\ufffd" for c in value)


_KEPT = "\n\t\u200c\u200d"


def render(
    request: Request, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """Return a page; ``values`` are what its template needs.  For owners of a source its ledger is read."""
    return _page(request.scope, template, status, dict(headers or {}), values)


async def rendered(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page as ``render`` does, in a thread that may wait for the ledger."""
    return await run_in_threadpool(render, request, template, status, **values)


def wants_page(scope: Scope) -> bool:
    """Return whether a refusal is shown to a person: in a browser, at an address that is not the API's."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return b"text/html" in accepted and not is_api(scope["path"])


def is_api(path: str) -> bool:
    """Return whether an address is for programs, whether or not there is anything; all others are for browsers."""
    return path.startswith("/api/") or path in ("/healthz", "/readyz", "/metrics")


async def refused(scope: Scope, refusal: Refusal) -> Response:
    """Return a refusal: to programs as JSON, to browsers as a page."""
    return await run_in_threadpool(_refusal_page, scope, refusal) if wants_page(scope) else refusal.response()


def _refusal_page(scope: Scope, refusal: Refusal) -> Response:
    """Return a refusal as a page; without a valid session as the page to sign in, which is the same everywhere."""
    if refusal.status == 401:
        return sign_in(scope, next_page=scope["path"], status=401, headers=refusal.headers)
    values = {"title": _TITLES.get(refusal.status, "This did not work"), "message": refusal.message}
    return _page(scope, "refused.html", refusal.status, refusal.headers, values)


_TITLES = {404: "Nothing is here for you", 409: "Refused", 429: "Too often", 500: "The server failed"}


def sign_in(
    scope: Scope, *, next_page: str, status: int = 200, headers: Mapping[str, str] | None = None, wrong: str = ""
) -> Response:
    """Return the page to sign in, whoever is signed in."""
    values = {"next_page": local(scope, next_page), "wrong": wrong, "ways": _ways(scope)}
    return _page(scope, "sign-in.html", status, dict(headers or {}), values, known=False)


def _ways(scope: Scope) -> list[tuple[str, str]]:
    """Return other ways to sign in, as labels and addresses."""
    return list(getattr(scope["app"].state, "ways_to_sign_in", ()))


def local(scope: Scope, path: str) -> str:
    """Return a path if it is one of our own pages, else that of the first page: no address of others gets through."""
    ours = path.isprintable() and "\\" not in path and any(each.path_regex.fullmatch(path) for each in _pages(scope))
    return path if ours else "/"


def moved(path: str, fields: Mapping[str, str]) -> Response | None:
    """Go on to a page that has in its address what a form asks for, so that Back and reload send no form again.

    None if that is too long for an address.
    """
    query = urlencode({name: value for name, value in fields.items() if value or name == "sql"})
    return RedirectResponse(f"{path}?{query}", 303) if len(query) <= MOST_IN_ADDRESS else None


def has_page(scope: Scope, path: str) -> bool:
    """Return whether there is a page at this form of address."""
    return any(each.path == path for each in _pages(scope))


def _pages(scope: Scope) -> list[Any]:
    """Return the routes of pages that can be looked at."""
    return [each for each in scope["app"].routes if is_page(each) and "GET" in each.methods]


def _page(
    scope: Scope, template: str, status: int, headers: dict[str, str], values: Mapping[str, Any], known: bool = True
) -> HTMLResponse:
    state = scope.get("state", {})
    caller: Caller | None = state.get("caller") if known else None
    frame = {
        "person": None if caller is None else caller.person,
        "csrf": state.get("csrf", "") if known else "",
        "here": scope["path"],
        "general": [] if caller is None else _links(scope, caller, _GENERAL, None),
        "links": [],
        "source_name": None,
    }
    source = scope.get("path_params", {}).get("source")
    if caller is not None and source is not None and caller.may(Permission.DESCRIBE, source):
        frame |= {"links": _with_requests(scope, caller, source), "source_name": source}
    text = _environment().get_template(template).render({**frame, **values})
    body = text.encode("utf-8", "replace")
    return HTMLResponse(body, status, {**_HEADERS, **headers})


def _links(
    scope: Scope, caller: Caller, wanted: tuple[tuple[str, str], ...], source: str | None
) -> list[tuple[str, str]]:
    """Return the pages of these that are there, and that a person may use."""
    there = {each.path: permission_of(each) for each in _pages(scope)}
    found = []
    for label, path in wanted:
        needs = there.get(path)
        of = SERVER if needs in OF_SERVER or source is None else source
        if needs is not None and caller.may(needs, of):
            found.append((label, path.replace("{source}", source or "")))
    return found


def _with_requests(scope: Scope, caller: Caller, source: str) -> list[tuple[str, str]]:
    """Return the pages of a source, with the number of open requests beside their own one."""
    links = _links(scope, caller, NAVIGATION, source)
    served = scope["app"].state.parts.sources.get(source)
    try:
        waiting = 0 if served is None else open_requests(served, caller)
    except LapwingError:  # its own pages say so
        waiting = 0
    return [(f"{label} ({waiting})" if waiting and label == "Requests" else label, path) for label, path in links]


def open_requests(served: Served, caller: Caller) -> int:
    """Return how many requests wait for this person to decide; 0 for those who decide none."""
    if not caller.may(Permission.MANAGE, served.name):
        return 0
    return sum(each.state == "open" for each in served.ledger.requests())


# --- static files ---


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Return the static files of the package by their names; the style of all pages goes before our own."""
    found = {}
    for file in sorted((HERE / "static").iterdir()):
        if file.suffix in MEDIA:
            data = file.read_bytes()
            if file.name == "app.css":
                data = f"{STYLE}\n{PAGE}\n".encode() + data
            found[file.name] = (data, MEDIA[file.suffix])
    found["paging.js"] = (SCRIPT.encode(), MEDIA[".js"])
    return found


@cache
def _versions() -> dict[str, str]:
    """Return a text for each static file that changes with it, so that browsers keep no old one."""
    return {name: hashlib.sha256(data).hexdigest()[:12] for name, (data, _) in static_files().items()}
