"""Routes that name the permission they need: it is checked before the body of a request is read.

A route without a permission cannot be made, and an application that holds one does not start.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..errors import LapwingError
from .permissions import SERVER, Caller, Permission
from .refusals import Refusal, not_allowed, refusal_of
from .sessions import check_form

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_REFUSALS = (400, 401, 404, 408, 409, 413, 429, 500, 503)

_TEXT: dict[str, Any] = {"content": {"text/plain": {"schema": {"type": "string"}}}}
"""What a route without a model answers."""

_AMOUNTS = {"body.epsilon": "ε", "body.cap": "A cap"}
"""Fields that are exact numbers, with what a refusal calls them."""

OF_SERVER = (Permission.PUBLIC, Permission.SIGNED_IN, Permission.OPERATE, Permission.CREATE)
"""Permissions that belong to no source."""


@dataclass(frozen=True)
class RouteDeclaration:
    """One route: what it does, at which address, who may use it, and what it answers."""

    method: str
    path: str
    needs: Permission
    endpoint: Callable[..., Any]
    answers: Any
    status: int = 200
    also: tuple[tuple[int, Any], ...] = ()
    page: bool = False
    """Whether it is for the browser: not in the OpenAPI document, and a form must come from our own pages."""


class GuardedRoute(APIRoute):
    """A route that refuses callers without its permission, before anything of the request is read."""

    def get_route_handler(self) -> Handler:
        handle, needs = super().get_route_handler(), permission_of(self)
        sends_form = is_page(self) and "GET" not in (self.methods or ())

        async def guarded(request: Request) -> Response:
            caller: Caller | None = getattr(request.state, "caller", None)
            source = SERVER if needs in OF_SERVER else request.path_params["source"]
            if needs is not Permission.PUBLIC and (caller is None or not caller.may(needs, source)):
                raise not_allowed()
            served = None
            if source != SERVER:
                served = request.app.state.parts.sources.get(source)
                if served is None:
                    raise not_allowed()
            try:
                if sends_form:
                    await check_form(request)
                return await handle(request)
            except LapwingError as error:
                raise refusal_of(error, served) from None
            except RequestValidationError as error:
                raise _unfit(error) from None
            except HTTPException as error:
                if isinstance(error.__cause__, Refusal):  # too large, or too slow
                    raise error.__cause__ from None
                raise Refusal(400, "InvalidRequest", "The request cannot be read as JSON.") from None

        return guarded


def permission_of(route: object) -> Permission:
    """Return the permission that a route needs; one that names none is an error of the program."""
    needs = getattr(getattr(route, "endpoint", None), "needs", None)
    if not isinstance(needs, Permission):
        raise RuntimeError(f"The route {getattr(route, 'path', route)!r} names no permission.")
    return needs


def is_page(route: object) -> bool:
    """Return whether a route is for the browser."""
    return getattr(getattr(route, "endpoint", None), "page", False) is True


def add_routes(app: FastAPI, routes: list[RouteDeclaration], problem: Any) -> None:
    """Add routes; ``problem`` is the model of errors."""
    for each in routes:
        each.endpoint.needs, each.endpoint.page = each.needs, each.page  # type: ignore[attr-defined]
        answers: dict[int | str, dict[str, Any]] = {} if each.answers is not None else {200: _TEXT}
        answers |= {code: {"model": model} for code, model in (*((code, problem) for code in _REFUSALS), *each.also)}
        app.router.add_api_route(
            each.path,
            each.endpoint,
            methods=[each.method],
            response_model=each.answers,
            status_code=each.status,
            response_class=Response if each.answers is None else JSONResponse,
            route_class_override=GuardedRoute,
            operation_id=each.endpoint.__name__,
            include_in_schema=not each.page,
            responses=answers,
            openapi_extra={
                "x-permission": each.needs.name.lower(),
                **({"security": []} if each.needs is Permission.PUBLIC else {}),
            },
        )


def check_routes(app: FastAPI) -> None:
    """Refuse to start with a route that is not guarded."""
    for route in app.routes:
        permission_of(route)
        if not isinstance(route, GuardedRoute):
            raise RuntimeError(f"The route {getattr(route, 'path', route)!r} is not guarded.")


def _unfit(error: RequestValidationError) -> Refusal:
    """Return which fields of a request do not fit; what was given for them is not repeated."""
    places = {".".join(str(part) for part in each["loc"][:2] if str(part).isidentifier()) for each in error.errors()}
    where = ", ".join(sorted(places))[:200]
    amount = next((name for place, name in _AMOUNTS.items() if place in places), None)
    advice = "" if amount is None else f'{amount} must be a text, such as "0.1". '
    return Refusal(
        400, "InvalidRequest", f"The request does not fit this route: see {where}. Nothing was read and nothing was "
        f"charged. {advice}The document /api/v1/openapi.json says what it takes.",
    )  # fmt: skip
