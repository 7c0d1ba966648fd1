"""All routes of pages."""

from __future__ import annotations

from ..routing import RouteDeclaration
from . import home, learning, signing

ROUTES: list[RouteDeclaration] = [*signing.ROUTES, *home.ROUTES, *learning.ROUTES]
