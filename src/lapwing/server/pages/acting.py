"""What a form of the pages asks for: done once, or its own page again with the words of the refusal."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...errors import LapwingError
from ..once import done_once
from ..parts import parts_of
from ..refusals import Refusal, refusal_of
from ..sessions import form_of

Again = Callable[[Request, Refusal], Response]
"""Shows the page of a form again, with a refusal."""


def acting(request: Request, act: Callable[[], object], goal: str, again: Again) -> Response:
    """Do what a form asks for, then go on to a page; if it is refused, show the form again and say why."""
    refusal = refused(request, act)
    return RedirectResponse(goal, 303) if refusal is None else again(request, refusal)


def refused(request: Request, act: Callable[[], object]) -> Refusal | None:
    """Do something that a form asks for, once; return why it was refused, in the words of the API."""
    try:
        with done_once(parts_of(request).access.store, form_of(request).one("once")):
            act()
    except Refusal as refusal:
        if refusal.status == 404:
            raise
        return refusal
    except LapwingError as error:
        served = parts_of(request).sources.get(request.path_params.get("source", ""))
        told = refusal_of(error, served)
        if told.status == 404:
            raise told from None
        return told
    except ValidationError:
        return Refusal(400, "InvalidRequest", "A field of this form cannot be used. Nothing was changed.")
    return None
