"""The page on which the Laplace mechanism is tried by hand; it knows no source, and its people are invented."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ... import exact
from ...noise.distributions import DiscreteLaplace
from ..permissions import Permission
from ..routing import RouteDeclaration
from .shell import render

EPSILONS = ("0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "5")
SENSITIVITIES = (1, 2, 3, 5, 10)
SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
HIGHEST_PAY = 100

PAY = (
    ("Ada", 48), ("Ben", 61), ("Cem", 39), ("Dora", 74), ("Emil", 52), ("Fay", 45), ("Gus", 58), ("Hana", 67),
    ("Ida", 93), ("Jan", 41), ("Kim", 55), ("Lea", 63),
)  # fmt: skip
"""Twelve invented people, and what they earn, in thousands."""


def learn(request: Request) -> Response:
    """Show the Laplace mechanism with sliders; the numbers without a script are computed here."""
    margins = [(epsilon, DiscreteLaplace(1 / exact.rational(epsilon)).margin()) for epsilon in EPSILONS]
    settings = {
        "epsilons": EPSILONS, "sensitivities": SENSITIVITIES, "sizes": SIZES, "pay": PAY, "highest": HIGHEST_PAY,
    }  # fmt: skip
    values: dict[str, Any] = {"margins": margins, "settings": json.dumps(settings), "people": PAY}
    return render(request, "learn.html", **values, highest=HIGHEST_PAY)


ROUTES = [RouteDeclaration("GET", "/learn", Permission.SIGNED_IN, learn, None, page=True)]
