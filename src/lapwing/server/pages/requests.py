"""The page of requests for a higher cap: an analyst asks and sees what became of it; an owner grants or declines."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from ... import exact
from ...ledger.requests import LONGEST_REASON
from .. import models, request_routes
from ..parts import caller_of, served_of
from ..permissions import Permission
from ..refusals import Refusal
from ..routing import RouteDeclaration
from ..sessions import form_of
from .acting import acting
from .shell import render

_PATH = "/sources/{source}/requests"


def requests_page(request: Request) -> Response:
    """Show my requests for a higher cap, or all of them to owners and auditors."""
    return _shown(request)


def _shown(request: Request, refusal: Refusal | None = None) -> Response:
    served, caller = served_of(request), caller_of(request)
    cap = served.cap(caller.person)
    caps = {each.analyst: each for each in served.ledger.analysts()}
    listed = []
    for each in reversed(request_routes.visible_requests(request)):
        budget = caps[each.analyst]
        fields = {**each.to_dict(), "present": exact.text(budget.total), "spent": exact.text(budget.spent)}
        fields["time"] = each.time[:16].replace("T", " ") + " UTC"
        listed.append({**fields, "mine": each.analyst == caller.person, "open": each.state == "open"})
    said = form_of(request).values() if refusal is not None else {}
    return render(
        request, "requests.html", 200 if refusal is None else refusal.status, source=served.name,
        wrong="" if refusal is None else refusal.message, listed=[each for each in listed if each["open"]],
        decided=[each for each in listed if not each["open"]],
        decides=caller.may(Permission.MANAGE, served.name), asks=caller.may(Permission.ASK, served.name),
        sees_all=caller.may(Permission.AUDIT, served.name), longest=LONGEST_REASON,
        present=None if cap is None else exact.text(cap.total), cap=said.get("cap", ""),
        reason=said.get("reason", ""),
    )  # fmt: skip


def send_request(request: Request) -> Response:
    """Ask for a higher cap, by a form."""
    form = form_of(request)

    def act() -> None:
        wanted = models.CapWanted(cap=form.one("cap"), reason=form.one("reason"))
        request_routes.make_request(request, wanted)

    return acting(request, act, _here(request), _shown)


def send_withdrawal(request: Request, number: str) -> Response:
    """Take a request back, by a form."""
    return acting(request, lambda: request_routes.withdraw_request(request, number), _here(request), _shown)


def send_grant(request: Request, number: str) -> Response:
    """Grant a request, by a form."""
    form = form_of(request)

    def act() -> None:
        grant = models.Grant(cap=form.one("cap") or None, note=form.one("note") or None)
        request_routes.grant_request(request, number, grant)

    return acting(request, act, _here(request), _shown)


def send_decline(request: Request, number: str) -> Response:
    """Decline a request, by a form."""
    note = form_of(request).one("note") or None

    def act() -> None:
        request_routes.decline_request(request, number, models.Decline(note=note))

    return acting(request, act, _here(request), _shown)


def _here(request: Request) -> str:
    return _PATH.format(source=served_of(request).name)


ROUTES = [
    RouteDeclaration("GET", _PATH, Permission.DESCRIBE, requests_page, None, page=True),
    RouteDeclaration("POST", _PATH, Permission.ASK, send_request, None, page=True),
    RouteDeclaration("POST", f"{_PATH}/{{number}}/withdraw", Permission.ASK, send_withdrawal, None, page=True),
    RouteDeclaration("POST", f"{_PATH}/{{number}}/grant", Permission.MANAGE, send_grant, None, page=True),
    RouteDeclaration("POST", f"{_PATH}/{{number}}/decline", Permission.MANAGE, send_decline, None, page=True),
]
