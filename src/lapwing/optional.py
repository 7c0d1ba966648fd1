"""Libraries that are used if the user has them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import MissingLibrary


def library(name: str, install: str | None = None) -> Any:
    """Return an optional library, or say how to install it; ``install`` is the name for pip, if it differs."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingLibrary(name, install) from None
