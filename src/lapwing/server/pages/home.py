"""The first page, with the sources that I may use; and the page of a source, with what is public about it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ... import exact
from ...errors import LapwingError
from ...ledger.entry import Budget
from ...release.legend import protects
from ..parts import caller_of, parts_of, served_of
from ..permissions import SERVER, Caller, Permission
from ..refusals import note
from ..routing import RouteDeclaration
from ..sources import Served
from .columns import column_shown
from .shell import has_page, open_requests, render

EXAMPLE_ROWS = 5


def home(request: Request) -> Response:
    """Show the sources that I may use, and what is left to spend."""
    caller, known = caller_of(request), parts_of(request).sources
    mine = [known[name] for name in sorted(known) if caller.may(Permission.DESCRIBE, name)]
    makes = has_page(request.scope, "/new") and caller.may(Permission.CREATE, SERVER)
    return render(request, "home.html", sources=[_card(each, caller) for each in mine], makes=makes)


def _card(served: Served, caller: Caller) -> dict[str, Any]:
    """Return what the first page shows of a source; without gauges if its ledger cannot be used."""
    try:
        left: dict[str, Any] = {"usable": True, **gauges(served, caller), "open": open_requests(served, caller)}
    except LapwingError as error:
        note(error)
        left = {"usable": False}
    return {
        "name": served.name,
        "roles": role_words(caller.roles[served.name]),
        "asks": caller.may(Permission.ASK, served.name),
        "protects": protects(served.schema),
        **left,
    }


def role_words(roles: Iterable[str]) -> str:
    """Return roles as a sentence has them: an analyst and an auditor."""
    return " and ".join(f"{'a' if each[0] not in 'aeiou' else 'an'} {each}" for each in sorted(roles))


def about(request: Request) -> Response:
    """Show what is declared about a source: columns, bounds, keys, who is protected; the table is not read."""
    served, caller = served_of(request), caller_of(request)
    columns = [column_shown(name, column) for name, column in served.description["columns"].items()]
    return render(
        request,
        "source.html",
        described=served.description,
        columns=columns,
        protects=protects(served.schema),
        asks=caller.may(Permission.ASK, served.name),
        example=shown_example(served),
        rows=EXAMPLE_ROWS,
        head=served.ledger.head,
        alone=caller.may(Permission.MANAGE, served.name) and _is_alone(request, served, caller),
        **gauges(served, caller),
    )


def _is_alone(request: Request, served: Served, caller: Caller) -> bool:
    """Return whether nobody else has a role for a source."""
    return {each["person"] for each in parts_of(request).access.roles(served.name)} == {caller.person}


def shown_example(served: Served) -> dict[str, list[Any]]:
    """Return invented rows as a page shows them; the table is not read."""
    return {name: list(map(_short, values)) for name, values in served.source.example(EXAMPLE_ROWS).items()}


def _short(value: Any) -> Any:
    """Return an invented value with few digits."""
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else value


def gauges(served: Served, caller: Caller) -> dict[str, Any]:
    """Return what is left of the total and of my cap, for the gauges of a template."""
    mine = served.cap(caller.person)
    return {"total": gauge(served.ledger.budget()), "mine": None if mine is None else gauge(mine)}


def gauge(budget: Budget) -> dict[str, Any]:
    """Return a total or a cap, what is spent and what is left, as exact texts; and the spent part of 100.

    ``bound`` says that less is left than of the cap alone, since less is left of the total.
    """
    part = Fraction(0) if not budget.total else min(Fraction(budget.spent) / Fraction(budget.total), Fraction(1))
    return {
        "total": exact.text(budget.total),
        "spent": exact.text(budget.spent),
        "remaining": exact.text(budget.remaining),
        "bound": budget.remaining < budget.total - budget.spent,
        "percent": round(float(part) * 100, 1),
    }


ROUTES = [
    RouteDeclaration("GET", "/", Permission.SIGNED_IN, home, None, page=True),
    RouteDeclaration("GET", "/sources/{source}", Permission.DESCRIBE, about, None, page=True),
]
