"""Libraries that are used if the user has them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import MissingLibrary


def library(name: str, extra: str | None = None) -> Any:
    """Return an optional library, or say how to install it; ``extra`` is that of Lapwing which brings it, if any."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingLibrary(name, extra) from None
