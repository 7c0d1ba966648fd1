"""Pages to sign in and out: a person gives a token once, and the browser gets a session for at most 12 hours."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...errors import NotSignedIn
from ..access import SESSION, Access
from ..parts import caller_of, parts_of
from ..permissions import Permission
from ..refusals import not_allowed
from ..routing import RouteDeclaration
from ..sessions import end_session, form_of, keep_session, session_in
from .shell import local, sign_in, static_files


def show_sign_in(request: Request) -> Response:
    """Show the form that takes a token."""
    return sign_in(request.scope, next_page=request.query_params.get("next", "/"))


def take_token(request: Request) -> Response:
    """Make a session of a token, and go on to the page that was asked for."""
    parts, form = parts_of(request), form_of(request)
    caller = parts.access.caller(form.one("token"))
    goal = form.one("next", "/")
    if caller is None:
        return sign_in(request.scope, next_page=goal, status=401, wrong=str(NotSignedIn()))
    end_old(request, parts.access)
    response = RedirectResponse(local(request.scope, goal), 303)
    keep_session(response, parts.access.make_session(caller.person, caller.token), parts.settings)
    return response


def end_old(request: Request, access: Access) -> None:
    """End the session that the browser had before, if any."""
    session = session_in(request.headers, parts_of(request).settings)
    before = None if session is None else access.caller(session, SESSION)
    if before is not None and before.session is not None:
        access.revoke(number=before.session)


def end(request: Request) -> Response:
    """End the session of the browser."""
    parts, caller = parts_of(request), caller_of(request)
    if caller.session is not None:
        parts.access.revoke(number=caller.session)
    by_provider = parts.sign_in is not None and caller.session == caller.token  # made from no token
    response = RedirectResponse("/signed-out" if by_provider else "/sign-in", 303)
    end_session(response, parts.settings)
    return response


def static(request: Request, name: str) -> Response:
    """Return a style, script or picture of the pages; it holds nothing about any source."""
    found = static_files().get(name)
    if found is None:
        raise not_allowed()
    data, kind = found
    return Response(data, headers={"Cache-Control": "public, max-age=86400"}, media_type=kind)


ROUTES = [
    RouteDeclaration("GET", "/sign-in", Permission.PUBLIC, show_sign_in, None, page=True),
    RouteDeclaration("POST", "/sign-in", Permission.PUBLIC, take_token, None, page=True),
    RouteDeclaration("POST", "/sign-out", Permission.SIGNED_IN, end, None, page=True),
    RouteDeclaration("GET", "/static/{name}", Permission.PUBLIC, static, None, page=True),
]
