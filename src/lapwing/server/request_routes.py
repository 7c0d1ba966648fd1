"""Routes for requests for a higher cap: analysts ask with a reason, owners grant or decline; the ledger has it all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..errors import InvalidRequest
from ..ledger.entry import Entry
from ..ledger.requests import CapRequest
from . import models
from .asking import entry_number
from .parts import caller_of, served_of
from .permissions import Permission
from .refusals import Refusal, json_response, not_allowed
from .routing import RouteDeclaration

_REQUESTS = "/api/v1/sources/{source}/requests"
_REQUEST = f"{_REQUESTS}/{{number}}"


def requests(request: Request) -> Response:
    """Return my requests for a higher cap, or all of them for owners and auditors."""
    return json_response({"requests": [each.to_dict() for each in visible_requests(request)]})


def make_request(request: Request, wanted: models.CapWanted) -> Response:
    """Ask for a higher cap; the request is recorded in the ledger, and changes nothing until it is granted."""
    served, caller = served_of(request), caller_of(request)
    if served.cap(caller.person) is None:
        raise Refusal(409, "InvalidRequest", "You have no cap yet: ask the owner for one.")
    made = served.ledger.request(caller.person, wanted.cap, wanted.reason)
    return json_response(_one(request, made.number), 201)


def withdraw_request(request: Request, number: str) -> Response:
    """Take an open request of mine back."""
    served, caller, asked = served_of(request), caller_of(request), entry_number(number)
    if _found(request, asked).analyst != caller.person:
        raise not_allowed()
    return _decided(request, asked, lambda: served.ledger.withdraw(asked, caller.person))


def grant_request(request: Request, number: str, grant: models.Grant) -> Response:
    """Grant a request: the analyst's cap is now what was asked for, or the lower one given here."""
    served, asked = served_of(request), entry_number(number)
    return _decided(request, asked, lambda: served.ledger.grant(asked, grant.cap, grant.note))


def decline_request(request: Request, number: str, decline: models.Decline) -> Response:
    """Decline a request: the cap stays as it is."""
    served, asked = served_of(request), entry_number(number)
    return _decided(request, asked, lambda: served.ledger.decline(asked, decline.note))


def visible_requests(request: Request) -> list[CapRequest]:
    """Return the requests that the caller may see: all for owners and auditors, else their own."""
    served, caller = served_of(request), caller_of(request)
    everyone = caller.may(Permission.AUDIT, served.name)
    return served.ledger.requests(None if everyone else caller.person)


def _found(request: Request, number: int) -> CapRequest:
    """Return a request that the caller may see; refuse what is not there and what is another's in the same way."""
    found = next((each for each in visible_requests(request) if each.number == number), None)
    if found is None:
        raise not_allowed()
    return found


def _one(request: Request, number: int) -> dict[str, Any]:
    return _found(request, number).to_dict()


def _decided(request: Request, number: int, decide: Callable[[], Entry]) -> Response:
    """Decide a request; one that somebody else has decided by now stays so."""
    _found(request, number)
    try:
        decide()
    except InvalidRequest as error:
        raise Refusal(409, "InvalidRequest", str(error)) from None
    return json_response(_one(request, number))


ROUTES = [
    RouteDeclaration("GET", _REQUESTS, Permission.DESCRIBE, requests, models.CapRequestList),
    RouteDeclaration("POST", _REQUESTS, Permission.ASK, make_request, models.CapRequestAnswer, 201),
    RouteDeclaration("DELETE", _REQUEST, Permission.ASK, withdraw_request, models.CapRequestAnswer),
    RouteDeclaration("POST", f"{_REQUEST}/grant", Permission.MANAGE, grant_request, models.CapRequestAnswer),
    RouteDeclaration("POST", f"{_REQUEST}/decline", Permission.MANAGE, decline_request, models.CapRequestAnswer),
]
