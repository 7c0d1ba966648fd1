"""Pages to sign in with an account of one's organisation: to the provider, back, and to a session of our own.

What comes back is of use only in the browser that began: its cookie holds the secret from which the state, the nonce
and the verifier follow.  Whatever is wrong, the same page says so, and nothing that the provider sent is shown.  There
is no way to choose where a browser goes after it: to the first page.
"""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..access import NewToken
from ..openid import Begun, SignIn
from ..parts import parts_of
from ..permissions import Permission
from ..refusals import Refusal, not_signed_in
from ..routing import RouteDeclaration
from ..sessions import keep_session
from ..settings import Settings
from .shell import render
from .shell import sign_in as sign_in_page
from .signing import end_old

WAY = ("Sign in with your organisation's account", "/sign-in/openid")
"""The label and the address on the page to sign in."""

NOT_SIGNED_IN = (
    "You are not signed in. Begin again. If it happens again, ask the owner of a source whether you have a role there."
)
_LASTS = 600
_NO_REFERRER = {"Referrer-Policy": "no-referrer"}


async def go_to_provider(request: Request) -> Response:
    """Send the browser to the provider, and let it keep the secret of this sign-in."""
    settings, sign_in = parts_of(request).settings, _sign_in(request)
    if request.url.hostname != urlsplit(sign_in.settings.url).hostname:
        return RedirectResponse(f"{sign_in.settings.url}/sign-in/openid", 303)  # its cookie would not come back
    begun = Begun.anew()
    response = RedirectResponse(await sign_in.run(sign_in.address, begun), 303, _NO_REFERRER)
    _set(response, settings, begun.secret, _LASTS)
    return response


async def come_back(request: Request) -> Response:
    """Make a session for the one whom the provider names; whatever is wrong is told in one way."""
    parts, sign_in = parts_of(request), _sign_in(request)
    made = None
    begun, code = Begun.of_cookie(request.cookies.get(_cookie(parts.settings))), _one(request, "code")
    if begun is not None and code is not None and _is_same(_one(request, "state"), begun.state):
        try:
            made = await sign_in.run(_session, request, sign_in, begun, code)
        except Refusal as refusal:
            if refusal.status != 401:
                raise
    if made is None:
        response = sign_in_page(request.scope, next_page="/", status=401, wrong=NOT_SIGNED_IN, headers=_NO_REFERRER)
    else:
        response = render(request, "signed-in.html", headers=_NO_REFERRER)
        keep_session(response, made, parts.settings)
    _set(response, parts.settings, "", 0)
    return response


def _session(request: Request, sign_in: SignIn, begun: Begun, code: str) -> NewToken | None:
    access = parts_of(request).access
    issuers = request.query_params.getlist("iss")
    person = sign_in.person_returning(begun, code, issuers)
    if not access.has_role(person):
        return None
    end_old(request, access)
    return access.make_session(person)


async def signed_out(request: Request) -> Response:
    """Say that the session here has ended, and where the one at the provider can be ended, if it can."""
    sign_in = _sign_in(request)
    try:
        address = await sign_in.run(sign_in.leaving_address)
    except Refusal:  # the provider does not answer, so it cannot be said
        address = None
    return render(request, "signed-out.html", address=address)


def _sign_in(request: Request) -> SignIn:
    """Return the sign-in of this server; without one, its addresses are like those that do not exist."""
    found = parts_of(request).sign_in
    if found is None:
        raise not_signed_in()
    return found


def _one(request: Request, name: str) -> str | None:
    """Return a field of the address that is there once."""
    found = request.query_params.getlist(name)
    return found[0] if len(found) == 1 else None


def _is_same(given: str | None, expected: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), expected.encode())


def _cookie(settings: Settings) -> str:
    return "__Host-lapwing-openid" if settings.encrypted else "lapwing-openid"


def _set(response: Response, settings: Settings, value: str, seconds: int) -> None:
    """Set or end the cookie; unlike that of a session it comes along when the provider sends the browser back."""
    response.set_cookie(
        _cookie(settings), value, max_age=seconds, path="/", secure=settings.encrypted, httponly=True, samesite="lax"
    )


ROUTES = [
    RouteDeclaration("GET", "/sign-in/openid", Permission.PUBLIC, go_to_provider, None, page=True),
    RouteDeclaration("GET", "/sign-in/openid/return", Permission.PUBLIC, come_back, None, page=True),
    RouteDeclaration("GET", "/signed-out", Permission.PUBLIC, signed_out, None, page=True),
]
