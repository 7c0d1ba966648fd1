"""Routes for those who have no token yet: how one can sign in, and a token for an ID token of the provider."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from . import models
from .access import NewToken
from .openid import SignIn, number_once
from .parts import parts_of
from .permissions import Permission
from .refusals import json_response, not_signed_in
from .routing import RouteDeclaration


async def ways(request: Request) -> Response:
    """Return how one can sign in, and nothing else."""
    openid = parts_of(request).settings.openid
    told = None
    if openid is not None:
        told = {"issuer": openid.issuer, "client_id": openid.terminal, "scopes": list(openid.scopes)}
    return json_response({"token": True, "openid": told})


async def sign_in(request: Request, given: models.IdTokenGiven) -> Response:
    """Return a token of 12 hours for an ID token of the provider, once for each; why not is not said."""
    parts = parts_of(request)
    if parts.sign_in is None:
        raise not_signed_in()
    made = await parts.sign_in.run(_token, request, parts.sign_in, given.id_token)
    if made is None:
        raise not_signed_in()
    return json_response({"token": made.text, "number": made.number, "expires": made.expires}, 201)


def _token(request: Request, provider: SignIn, given: str) -> NewToken | None:
    return parts_of(request).access.sign_in(provider.person_of(given), number_once(given))


ROUTES = [
    RouteDeclaration("GET", "/api/v1/sign-in", Permission.PUBLIC, ways, models.Ways),
    RouteDeclaration("POST", "/api/v1/sign-in/openid", Permission.PUBLIC, sign_in, models.MadeToken, 201),
]
