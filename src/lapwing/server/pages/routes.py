"""All routes of pages."""

from __future__ import annotations

from ..routing import RouteDeclaration
from . import answers, asks, audits, declaration, home, learning, new, openid, people, records, requests, signing

ROUTES: list[RouteDeclaration] = [
    *signing.ROUTES,
    *openid.ROUTES,
    *home.ROUTES,
    *asks.ROUTES,
    *answers.ROUTES,
    *records.ROUTES,
    *audits.ROUTES,
    *requests.ROUTES,
    *people.ROUTES,
    *declaration.ROUTES,
    *learning.ROUTES,
]

NEW: list[RouteDeclaration] = new.ROUTES
"""Pages of a server that has a folder for new sources."""
