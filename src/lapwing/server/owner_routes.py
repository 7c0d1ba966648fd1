"""Routes for owners and auditors: the ledger, people, tokens, caps and the total; and for the operator."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..errors import InvalidParameter, LedgerError, MissingParameter
from ..exact import Number
from . import models
from .access import checked_person
from .asking import USUAL, Before, Most
from .parts import caller_of, parts_of, served_of
from .permissions import Permission, Role
from .refusals import Refusal, json_response, not_allowed
from .routing import RouteDeclaration
from .sources import Served, refuse_total

_SOURCE = "/api/v1/sources/{source}"
_PERSON = f"{_SOURCE}/people/{{person}}"


# --- the ledger ---


def ledger(request: Request, before: Before = None, most: Most = USUAL) -> Response:
    """Return what is left and the last entries, or the last ones before a number.

    They are as ``lapwing ledger --format json`` prints them.  Questions to another source that had the same ledger are
    left out; what they cost is in the amounts.
    """
    served = served_of(request)
    kept, page = served.ledger, served.entries(before, most)
    told = [{**each.to_dict(), "answered_by": page.answered_by.get(each.number)} for each in page.entries]
    amounts = {"epsilon": kept.budget().to_dict(), "delta": kept.delta.to_dict()}
    people = [each.to_dict() for each in kept.analysts()]
    return json_response({"ledger": served.name, **amounts, "analysts": people, "entries": told, "before": page.before})


def versions(request: Request) -> Response:
    """Return the declared version, and which ones questions were about: since when, and how many."""
    served = served_of(request)
    told = [each._asdict() for each in served.versions()]
    return json_response({"source": served.name, "version": served.schema.version, "versions": told})


def verify(request: Request, head: str | None = None) -> Response:
    """Check all hashes, sums and answers; and that a head which was kept elsewhere is among them."""
    served = served_of(request)
    try:
        return json_response({"entries": served.ledger.verify(head), "head": served.ledger.head})
    except LedgerError as error:  # what is wrong is what an auditor asks
        raise Refusal(409, "LedgerError", served.public_text(str(error))) from None


# --- people, tokens and amounts ---


def people(request: Request) -> Response:
    """Return who has a role for this source, with their budgets."""
    caps = {each.analyst: each.to_dict() for each in served_of(request).ledger.analysts()}
    found = roles_by_person(request)
    told = [{"person": name, "roles": roles, "budget": caps.get(name)} for name, roles in found.items()]
    return json_response({"people": told})


def roles_by_person(request: Request) -> dict[str, list[str]]:
    """Return the roles for this source of each person who has one."""
    found: dict[str, list[str]] = {}
    for each in parts_of(request).access.roles(served_of(request).name):
        found.setdefault(each["person"], []).append(each["role"])
    return found


def change_person(request: Request, person: str, change: models.PersonChange) -> Response:
    """Give a person a role for this source, and set their cap in the ledger."""
    served, name, role = served_of(request), checked_person(person), Role(change.role)
    if change.cap is not None:
        set_cap(served, name, change.cap, change.note)
    elif role is Role.ANALYST and served.cap(name) is None:
        raise MissingParameter("cap", "Say how much ε this analyst may spend at most.")
    parts_of(request).access.add_role(name, served.name, role)
    return json_response(_person(request, name))


def set_cap(served: Served, person: str, cap: Number, note: str | None) -> None:
    """Set the cap of a person, who may have none yet."""
    change = served.ledger.add_analyst if served.cap(person) is None else served.ledger.set_cap
    change(person, cap, note)


def remove_person(request: Request, person: str) -> Response:
    """Take all roles of a person for this source, and revoke their tokens that are limited to it."""
    parts, served = parts_of(request), served_of(request)
    name = checked_person(person)
    if name == caller_of(request).person:
        raise Refusal(409, "InvalidRequest", "You cannot remove yourself: another owner can.")
    changed = parts.access.remove_roles(name, served.name)
    for each in limited_tokens(request, name):
        parts.access.revoke(number=each["number"])
    return json_response({"changed": changed})


def tokens(request: Request, person: str) -> Response:
    """Return the tokens of a person that are limited to this source; never the token itself."""
    names = ("number", "made", "expires", "revoked", "used")
    found = limited_tokens(request, checked_person(person))
    return json_response({"tokens": [{name: each[name] for name in names} for each in found]})


def make_token(request: Request, person: str, wanted: models.TokenWanted) -> Response:
    """Make a token for a person of this source, limited to this source; it is shown once."""
    parts, served, name = parts_of(request), served_of(request), known_person(request, person)
    made = parts.access.make_token(name, wanted.days, [served.name])
    return json_response({"token": made.text, "number": made.number, "expires": made.expires}, 201)


def known_person(request: Request, person: str) -> str:
    """Return the name of someone with a role for this source; refuse others."""
    name = checked_person(person)
    if name not in roles_by_person(request):
        raise InvalidParameter(name, "person", "someone with a role for this source")
    return name


def revoke_token(request: Request, person: str, number: str) -> Response:
    """Revoke a token that is limited to this source."""
    found = {each["number"] for each in limited_tokens(request, checked_person(person))}
    if number not in found:
        raise not_allowed()
    return json_response({"changed": parts_of(request).access.revoke(number=number)})


def limited_tokens(request: Request, person: str) -> list[dict[str, Any]]:
    """Return the tokens of a person that are limited to this source: others are not this owner's to see."""
    source = request.path_params["source"]
    return [each for each in parts_of(request).access.tokens(person) if each["sources"] == [source]]


def _person(request: Request, name: str) -> dict[str, Any]:
    roles, cap = roles_by_person(request).get(name, []), served_of(request).cap(name)
    return {"person": name, "roles": roles, "budget": None if cap is None else cap.to_dict()}


def set_total(request: Request, change: models.TotalChange) -> Response:
    """Set the total that may ever be spent, by an entry that everyone can see."""
    if not (change.note or "").strip():
        raise MissingParameter("note", "Say why the total changes: everyone who sees the ledger can read it.")
    refuse_total(change.epsilon, served_of(request).most)
    made = served_of(request).ledger.set_total(change.epsilon, change.delta, change.note)
    return json_response(made.to_dict())


# --- the server ---


async def health(request: Request) -> Response:
    """Say that the server runs."""
    return json_response({"status": "ok"})


async def ready(request: Request) -> Response:
    """Say whether the record of people and all ledgers answer; status 503 if not."""
    holds = await parts_of(request).readiness.holds()
    return json_response({"status": "ready" if holds else "not ready"}, 200 if holds else 503)


async def metrics(request: Request) -> Response:
    """Return counts of requests in the text format of Prometheus; nothing in them depends on data."""
    return Response(parts_of(request).log.metrics(), media_type="text/plain; version=0.0.4")


async def openapi(request: Request) -> Response:
    """Return the OpenAPI document of this server."""
    document: dict[str, Any] = request.app.openapi()
    for operation in [each for path in document["paths"].values() for each in path.values()]:
        operation["responses"].pop("422", None)  # FastAPI's own, which is never sent: what does not fit is 400
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    parts = {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}
    return json_response({**document, "components": parts, "security": [{"token": []}]})


ROUTES = [
    RouteDeclaration("GET", f"{_SOURCE}/ledger", Permission.AUDIT, ledger, models.LedgerAnswer),
    RouteDeclaration("GET", f"{_SOURCE}/ledger/verify", Permission.AUDIT, verify, models.Verified),
    RouteDeclaration("GET", f"{_SOURCE}/versions", Permission.AUDIT, versions, models.VersionList),
    RouteDeclaration("GET", f"{_SOURCE}/people", Permission.MANAGE, people, models.PersonList),
    RouteDeclaration("PUT", _PERSON, Permission.MANAGE, change_person, models.PersonAnswer),
    RouteDeclaration("DELETE", _PERSON, Permission.MANAGE, remove_person, models.Done),
    RouteDeclaration("GET", f"{_PERSON}/tokens", Permission.MANAGE, tokens, models.TokenList),
    RouteDeclaration("POST", f"{_PERSON}/tokens", Permission.MANAGE, make_token, models.MadeToken, 201),
    RouteDeclaration("DELETE", f"{_PERSON}/tokens/{{number}}", Permission.MANAGE, revoke_token, models.Done),
    RouteDeclaration("PUT", f"{_SOURCE}/total", Permission.MANAGE, set_total, models.EntryAnswer),
    RouteDeclaration("GET", "/healthz", Permission.PUBLIC, health, models.Health),
    RouteDeclaration("GET", "/readyz", Permission.PUBLIC, ready, models.Readiness, also=((503, models.Readiness),)),
    RouteDeclaration("GET", "/metrics", Permission.OPERATE, metrics, None),
    RouteDeclaration("GET", "/api/v1/openapi.json", Permission.SIGNED_IN, openapi, dict[str, Any]),
]
