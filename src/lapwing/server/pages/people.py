"""Pages for the owner of a source: people with their roles, caps and tokens; and the total."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from ... import exact
from ...errors import InvalidRequest, MissingParameter
from .. import models, owner_routes
from ..access import MOST_DAYS, USUAL_DAYS, NewToken, checked_days
from ..parts import caller_of, parts_of, served_of
from ..permissions import Permission, Role
from ..refusals import Refusal
from ..routing import RouteDeclaration
from ..sessions import form_of
from ..sources import Served
from ..store import now_text
from .acting import acting, refused
from .home import gauge, role_words
from .shell import render

_PEOPLE = "/sources/{source}/people"
_PERSON = f"{_PEOPLE}/{{person}}"
_ROLES = ("analyst", "auditor", "owner")


def people_page(request: Request) -> Response:
    """Show who has a role for this source, with caps and tokens; never a token itself."""
    return _shown(request)


def _shown(request: Request, refusal: Refusal | None = None) -> Response:
    served, caller = served_of(request), caller_of(request)
    caps = {each.analyst: gauge(each) for each in served.ledger.analysts()}
    now = now_text()
    listed = [
        {
            "person": name, "roles": roles, "cap": caps.get(name), "self": name == caller.person,
            "tokens": [
                each for each in owner_routes.limited_tokens(request, name)
                if each["revoked"] is None and each["expires"] > now
            ],
        }
        for name, roles in owner_routes.roles_by_person(request).items()
    ]  # fmt: skip
    said = form_of(request).values() if refusal is not None else {}
    return render(
        request, "people.html", 200 if refusal is None else refusal.status, source=served.name, listed=listed,
        wrong="" if refusal is None else refusal.message, total=gauge(served.ledger.budget()), roles=_ROLES,
        days=USUAL_DAYS, most_days=MOST_DAYS, said=lambda name: said.get(name, ""), told=_told(served),
    )  # fmt: skip


def _told(served: Served) -> list[str]:
    """Return which amounts let no question be answered, or less than they say."""
    total = served.ledger.budget()
    told = []
    if total.total <= total.spent:
        told.append(
            f"The total is ε {exact.text(total.total)}, and ε {exact.text(total.spent)} is spent: no question is "
            "answered until the total is above that."
        )
    for each in served.ledger.analysts():
        if each.total < each.spent:
            told.append(
                f"The cap of {each.analyst} is ε {exact.text(each.total)}, and ε {exact.text(each.spent)} is spent: no "
                f"question of {each.analyst} is answered until the cap is above that."
            )
        if each.total > total.total:
            told.append(
                f"The cap of {each.analyst} is ε {exact.text(each.total)}, above the total: the total, ε "
                f"{exact.text(total.total)}, binds."
            )
    return told


def invite_person(request: Request) -> Response:
    """Give a person a role and a token, by a form; the token is shown on the page that answers, and never again.

    An owner who names somebody with a role is asked first what that person shall be.
    """
    form = form_of(request)
    person, role, cap, sure = form.one("person"), form.one("role"), form.one("cap"), form.one("sure")
    access, source, before = parts_of(request).access, served_of(request).name, _roles(request, person)
    if before and role in _ROLES and sure not in ("add", "replace"):
        return _ask_first(request, before)
    made: list[NewToken] = []

    def act() -> None:
        if role not in _ROLES:
            raise MissingParameter("role", "Choose what this person is for the source.")
        days = checked_days(form.one("days") or str(USUAL_DAYS))
        if sure == "replace" and person == caller_of(request).person:
            raise Refusal(409, "InvalidRequest", "You cannot take a role from yourself: another owner can.")
        change = models.PersonChange(role=role, cap=cap or None, note=form.one("note") or None)  # type: ignore[arg-type]
        owner_routes.change_person(request, person, change)
        if sure == "replace":
            access.remove_roles(person, source, but=Role(role))
        made.append(access.make_token(person, days, [source]))

    refusal = refused(request, act)
    if refusal is not None:
        return _shown(request, refusal)
    return _token(request, person, made[0], (before, _roles(request, person)) if before else None)


def _roles(request: Request, person: str) -> list[str]:
    """Return the roles of a person for this source."""
    return owner_routes.roles_by_person(request).get(person, [])


def _ask_first(request: Request, before: list[str]) -> Response:
    """Ask what somebody who has a role shall be; nothing is changed yet."""
    form, served = form_of(request), served_of(request)
    person, role, cap = form.one("person"), form.one("role"), served.cap(form.one("person"))
    after = sorted({*before, role})
    return render(
        request, "invite-again.html", source=served.name, invited=person, before=role_words(before),
        after=role_words(after), alone=role_words([role]), cap_before=None if cap is None else exact.text(cap.total),
        may_replace=after != [role] and person != caller_of(request).person,
        said={name: form.one(name) for name in ("person", "role", "cap", "days", "note")},
    )  # fmt: skip


def new_token(request: Request, person: str) -> Response:
    """Make another token for a person of this source, by a form; it is shown once."""
    made: list[NewToken] = []

    def act() -> None:
        owner_routes.known_person(request, person)
        made.append(parts_of(request).access.make_token(person, USUAL_DAYS, [served_of(request).name]))

    refusal = refused(request, act)
    return _shown(request, refusal) if refusal is not None else _token(request, person, made[0])


def _token(
    request: Request, person: str, made: NewToken, change: tuple[list[str], list[str]] | None = None
) -> Response:
    """Show a token; ``change`` has the roles that the person had before and has now, if they were invited again."""
    source = served_of(request).name
    return render(
        request, "token.html", source=source, invited=person, token=made.text, expires=made.expires[:10],
        change=None if change is None else [role_words(each) for each in change],
        address=f"{'https' if parts_of(request).settings.encrypted else 'http'}://{request.headers['host']}/",
    )  # fmt: skip


def send_cap(request: Request, person: str) -> Response:
    """Set a cap, by a form."""
    form = form_of(request)

    def act() -> None:
        name = owner_routes.known_person(request, person)
        owner_routes.set_cap(served_of(request), name, form.one("cap"), form.one("note") or None)

    return acting(request, act, _here(request), _shown)


def send_removal(request: Request, person: str) -> Response:
    """Take all roles of a person, by a form that confirms the name."""

    def act() -> None:
        if form_of(request).one("name") != person:
            raise InvalidRequest("The name does not confirm the removal", f"Write {person}. Nothing was changed.")
        owner_routes.remove_person(request, person)

    return acting(request, act, _here(request), _shown)


def send_revocation(request: Request, person: str, number: str) -> Response:
    """Revoke a token, by a form."""
    return acting(request, lambda: owner_routes.revoke_token(request, person, number), _here(request), _shown)


def send_total(request: Request) -> Response:
    """Set the total, by a form."""
    form = form_of(request)

    def act() -> None:
        change = models.TotalChange(epsilon=form.one("total"), note=form.one("note") or None)
        owner_routes.set_total(request, change)

    return acting(request, act, _here(request), _shown)


def _here(request: Request) -> str:
    return _PEOPLE.format(source=served_of(request).name)


Page = Callable[..., Response]


def _form(path: str, page: Page) -> RouteDeclaration:
    return RouteDeclaration("POST", path, Permission.MANAGE, page, None, page=True)


ROUTES = [
    RouteDeclaration("GET", _PEOPLE, Permission.MANAGE, people_page, None, page=True),
    _form(_PEOPLE, invite_person),
    _form(f"{_PERSON}/token", new_token),
    _form(f"{_PERSON}/cap", send_cap),
    _form(f"{_PERSON}/remove", send_removal),
    _form(f"{_PERSON}/tokens/{{number}}/revoke", send_revocation),
    _form("/sources/{source}/total", send_total),
]
