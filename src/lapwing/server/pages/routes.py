"""All routes of pages."""

from __future__ import annotations

from ..routing import RouteDeclaration
from . import answers, asks, home, learning, records, signing

ROUTES: list[RouteDeclaration] = [
    *signing.ROUTES,
    *home.ROUTES,
    *asks.ROUTES,
    *answers.ROUTES,
    *records.ROUTES,
    *learning.ROUTES,
]
