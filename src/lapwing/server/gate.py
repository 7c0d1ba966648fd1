"""What every request passes, before any route is looked for: the name of the host, its size, its time, its token.

Without a valid token all addresses but the public ones give the same refusal, whether they exist or not.  Whatever
fails behind it is told in our own words, and every response gets the same headers.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import LapwingError
from .access import SESSION, Access
from .log import UNKNOWN, Log
from .pages.shell import is_api, refused
from .permissions import Caller
from .refusals import Refusal, failed, not_signed_in, refusal_of
from .sessions import CSRF_HEADER, csrf_of, is_csrf, is_form, is_from_here, session_in
from .settings import Settings
from .tokens import from_header, in_address
from .uploads import UPLOAD

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_CHECKS = 8
"""How many tokens are checked at once, in threads that nothing else can take."""

_YEAR = 31_536_000


class Gate:
    """The outermost part of the application."""

    def __init__(
        self, app: ASGIApp, settings: Settings, access: Access, log: Log, public: Collection[re.Pattern[str]]
    ) -> None:
        self._app, self._settings, self._access, self._log = app, settings, access, log
        self._public = tuple(public)
        self._checks = ThreadPoolExecutor(_CHECKS, thread_name_prefix="lapwing-token")
        self._pace = Pace(settings.requests_per_minute)
        encrypted = {"Strict-Transport-Security": f"max-age={_YEAR}"} if settings.encrypted else {}
        self._headers = {**_HEADERS, **encrypted}

    def close(self) -> None:
        """Take no more."""
        self._checks.shutdown(wait=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or refuse it; note it either way."""
        loop = asyncio.get_running_loop()
        method, begun, sent = scope["method"], loop.time(), _Sent(send, self._headers, scope["method"] == "HEAD")
        if method == "HEAD":
            scope = {**scope, "method": "GET"}  # answered alike, without a body
        scope["app"] = self._app  # whose routes say what a page may lead to
        refusal: Refusal | None = None
        try:
            self._check_address(scope)
            await self._check_person(scope, loop.time())
            await self._app(scope, self._limited(scope, receive), sent)
        except Refusal as error:
            refusal = error
        except LapwingError as error:
            refusal = refusal_of(error)
        except Exception as error:
            self._log.failure(_route(scope, method), type(error).__name__)
            refusal = failed()
        if refusal is not None and sent.status is None:
            response = await refused(scope, refusal)
            await response(scope, receive, sent)
        caller: Caller | None = scope.get("state", {}).get("caller")
        person = None if caller is None else caller.person
        self._log.request(person, _route(scope, method), sent.status or 500, round((loop.time() - begun) * 1000))

    def _check_address(self, scope: Scope) -> None:
        """Refuse a request to another host, one that is too large, and one with a token in its address."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _without_port(hosts[0]) not in self._settings.hosts:
            raise Refusal(
                400, "InvalidRequest", "The server is not called by this name. Use one of its names; whoever runs it "
                "can add one: --name.",
            )  # fmt: skip
        query = scope["query_string"].decode("latin-1")
        if in_address(scope["path"], [name for name, _ in parse_qsl(query, keep_blank_values=True)], query):
            raise Refusal(
                400, "InvalidRequest", "An address must not hold a token: addresses are kept in histories and logs. "
                "Send the token in the header Authorization, and revoke the one that was sent.",
            )  # fmt: skip
        if "transfer-encoding" in headers and "content-length" in headers:  # a proxy may see another end of the body
            raise Refusal(
                400, "InvalidRequest", "The request gives its length twice, by Content-Length and Transfer-Encoding.",
                {"Connection": "close"},
            )  # fmt: skip
        length = headers.get("content-length", "0")
        most, _ = self._limits(scope)
        if not re.fullmatch("[0-9]{1,18}", length) or int(length) > most:
            raise too_large(most)

    async def _check_person(self, scope: Scope, now: float) -> None:
        """Find out who calls; refuse anyone unknown, and anyone who asks too often."""
        if any(each.fullmatch(scope["path"]) for each in self._public):
            return
        headers = Headers(scope=scope)
        given = headers.getlist("authorization")
        token = from_header(given[0]) if len(given) == 1 else None
        session = None if given else self._session(scope, headers)
        look_up = (self._access.caller, token) if session is None else (self._access.caller, session, SESSION)
        caller = await asyncio.get_running_loop().run_in_executor(self._checks, *look_up)
        if caller is None:
            raise not_signed_in()
        state = scope.setdefault("state", {})
        state["caller"] = caller
        if session is not None:
            state |= {"session": session, "csrf": csrf_of(session)}
        if not self._pace.allows(caller.counted, now):
            raise Refusal(
                429, "ServerError", "You ask more often than this server allows. Nothing was read and nothing was "
                "charged. Ask again in a minute.", {"Retry-After": "60"},
            )  # fmt: skip

    def _session(self, scope: Scope, headers: Headers) -> str | None:
        """Return the session of a browser: for pages, and for the API only if one of our pages asks."""
        session = session_in(headers, self._settings)
        if session is None or not is_api(scope["path"]):
            return session
        ours = is_csrf(headers.get(CSRF_HEADER), session) and (
            scope["method"] == "GET" or is_from_here(headers, self._settings)
        )
        return session if ours else None

    def _limits(self, scope: Scope) -> tuple[int, int]:
        """Return how many bytes a request may have, and how many seconds it may take; more for tables alone.

        A form is no table wherever it is sent: it would be read into memory.
        """
        settings = self._settings
        is_upload = settings.sources_folder is not None and (scope["method"], scope["path"]) == ("POST", UPLOAD)
        if is_upload and not is_form(Headers(scope=scope)):
            return settings.upload_bytes, settings.upload_seconds
        return settings.body_bytes, settings.body_seconds

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """Return what receives the body, within the limits of size and time."""
        size = 0
        most, seconds = self._limits(scope)
        late = asyncio.get_running_loop().time() + seconds
        whole = False

        async def limited() -> Message:
            nonlocal size, whole
            if whole:
                return await receive()
            left = late - asyncio.get_running_loop().time()
            try:
                message = await asyncio.wait_for(receive(), max(left, 0.001))
            except TimeoutError:
                raise Refusal(
                    408, "InvalidRequest", "The request did not arrive in time. Nothing was read and nothing was "
                    "charged. Send it again.",
                ) from None  # fmt: skip
            if message["type"] == "http.request":
                size += len(message.get("body", b""))
                whole = not message.get("more_body", False)
            if size > most:
                raise too_large(most)
            return message

        return limited


class Pace:
    """How often each caller may ask: so many requests at once, which come back evenly within a minute."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._left: dict[str, tuple[float, float]] = {}

    def allows(self, person: str, now: float) -> bool:
        """Return whether a person may ask now, and count it."""
        left, since = self._left.get(person, (float(self._per_minute), now))
        left = min(left + (now - since) * self._per_minute / 60, float(self._per_minute))
        self._left[person] = (left - 1 if left >= 1 else left), now
        return left >= 1


class _Sent:
    """Sends a response, with the headers of every response, and remembers its status."""

    def __init__(self, send: Send, headers: dict[str, str], bare: bool = False) -> None:
        self._send, self._headers, self._bare = send, headers, bare
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
        elif self._bare:
            message = {**message, "body": b""}
        await self._send(message)


def too_large(most: int) -> Refusal:
    """Return the refusal of a request that is too large."""
    return Refusal(413, "TooLarge", f"A request has at most {most:,} bytes. Nothing was read and nothing was charged.")


def _without_port(host: str) -> str:
    """Return the name in a Host header, in lower case; [::1] keeps its brackets."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _route(scope: Scope, method: str) -> str:
    """Return the template of the route of a request; never its address."""
    route: Any = scope.get("route")
    method = method if method in ("GET", "POST", "PUT", "DELETE", "HEAD") else "OTHER"
    return f"{method} {getattr(route, 'path', UNKNOWN)}"
