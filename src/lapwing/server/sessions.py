"""Sessions of browsers: a cookie that only the server reads, and what shows that a request comes from its own pages.

A session is a token of its own, made when a person signs in, so none that was there before becomes valid.  The cookie
alone gives nothing but pages: whatever changes something also needs a text that only our own pages hold.
"""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from .access import SESSION_HOURS, NewToken
from .permissions import Caller
from .refusals import Refusal
from .settings import Settings
from .tokens import number_of

CSRF_HEADER = "x-lapwing-csrf"
"""The header by which a script of our own pages says that it is one."""

CSRF_FIELD = "csrf"
"""The field of a form that says so."""

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 2000


def cookie_name(settings: Settings) -> str:
    """Return the name of the cookie; with TLS one that no other host and no other path can set."""
    return "__Host-lapwing" if settings.encrypted else "lapwing"


def session_in(headers: Headers, settings: Settings) -> str | None:
    """Return the session that a request brings; None if it brings none, or several."""
    name, found = cookie_name(settings), []
    for header in headers.getlist("cookie"):
        for part in header.split(";"):
            given, _, value = part.strip().partition("=")
            if given == name:
                found.append(value)
    return found[0] if len(found) == 1 and number_of(found[0]) is not None else None


def keep_session(response: Response, made: NewToken, settings: Settings) -> None:
    """Let the browser keep a session."""
    _set(response, settings, made.text, SESSION_HOURS * 3600)


def end_session(response: Response, settings: Settings) -> None:
    """Let the browser forget its session."""
    _set(response, settings, "", 0)


def _set(response: Response, settings: Settings, value: str, seconds: int) -> None:
    response.set_cookie(
        cookie_name(settings), value, max_age=seconds, path="/", secure=settings.encrypted, httponly=True,
        samesite="strict",
    )  # fmt: skip


def csrf_of(session: str) -> str:
    """Return what pages of a session hold, and others cannot know; the session does not follow from it."""
    return hmac.digest(session.encode(), b"lapwing csrf", hashlib.sha256).hex()


def is_csrf(given: str | None, session: str) -> bool:
    """Return whether a request comes from a page of its session."""
    return hmac.compare_digest((given or "").encode(), csrf_of(session).encode())


def is_from_here(headers: Headers, settings: Settings) -> bool:
    """Return whether a browser sent a request from one of our own pages; False if it does not say."""
    sites, origins, hosts = headers.getlist("sec-fetch-site"), headers.getlist("origin"), headers.getlist("host")
    if sites not in ([], ["same-origin"]) or len(origins) > 1 or not (sites or origins):
        return False
    if not origins:
        return True
    scheme = "https" if settings.encrypted else "http"
    if sites:  # the browser compared them; behind a proxy the port of the host may be another one
        return _has_host(origins[0], scheme, settings)
    return origins[0].lower() == f"{scheme}://{hosts[0]}".lower()


def _has_host(origin: str, scheme: str, settings: Settings) -> bool:
    try:
        parts = urlsplit(origin)
        host, _ = parts.hostname or "", parts.port  # a port that is no number is an error
    except ValueError:
        return False
    return parts.scheme == scheme and (f"[{host}]" if ":" in host else host) in settings.hosts


# --- forms ---


class Form:
    """The fields of a form, as texts."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._fields = fields

    def one(self, name: str, usual: str = "") -> str:
        """Return the only value of a field, without spaces around it; ``usual`` if it has none."""
        found = self.all(name)
        return found[0].strip() or usual if len(found) == 1 else usual

    def all(self, name: str) -> list[str]:
        """Return all values of a field."""
        return [value for given, value in self._fields if given == name]

    def values(self) -> dict[str, str]:
        """Return the last value of each field, to show a form again."""
        return dict(self._fields)


def form_in_address(request: Request) -> Form:
    """Return the fields that the address of a page has; nobody's session is needed to write one."""
    return Form([(name, value.replace("\r\n", "\n")) for name, value in request.query_params.multi_items()])


async def check_form(request: Request) -> None:
    """Read the form of a request; refuse one that does not come from our own pages.

    A bearer token in a header is proof enough: no browser adds it by itself.
    """
    caller: Caller | None = getattr(request.state, "caller", None)
    by_browser = caller is None or caller.session is not None
    if by_browser and not is_from_here(request.headers, request.app.state.parts.settings):
        raise _elsewhere()
    form = await _read(request)
    if caller is not None and caller.session is not None:
        given = request.headers.get(CSRF_HEADER) or form.one(CSRF_FIELD)
        if not is_csrf(given, request.state.session):
            raise _elsewhere()
    request.state.form = form


def form_of(request: Request) -> Form:
    """Return the form of a request; its route has checked where it comes from."""
    form: Form = request.state.form
    return form


def is_form(headers: Headers) -> bool:
    """Return whether a request says that it brings the fields of a form, which are read into memory."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM


async def _read(request: Request) -> Form:
    if not is_form(request.headers):
        return Form([])  # what it is, its route reads
    body = await request.body()
    try:
        fields = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        raise Refusal(400, "InvalidRequest", "The form cannot be read. Nothing was changed.") from None
    return Form([(name, value.replace("\r\n", "\n")) for name, value in fields])


def _elsewhere() -> Refusal:
    return Refusal(
        400, "InvalidRequest", "This form was not sent from a page of this server, or its session has ended. Nothing "
        "was changed and nothing was charged. Open the page again.",
    )  # fmt: skip
