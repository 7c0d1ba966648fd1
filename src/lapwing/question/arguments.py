"""Arguments by the names that other libraries give them: refused, with the name here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from ..errors import UnknownArgument

_ARGUMENTS = {
    "group_by": "by", "groupby": "by", "group": "by", "keys": "by", "dimensions": "by",
    "filter": "where", "condition": "where", "query": "where", "mask": "where",
    "eps": "epsilon", "budget": "epsilon", "privacy_budget": "epsilon", "privacy": "epsilon",
    "accuracy": "error", "margin": "error", "level": "confidence", "alpha": "confidence",
    "user": "analyst", "max_rows": "rows_per_person", "max_rows_per_person": "rows_per_person",
    "id": "person", "unit": "person", "privacy_unit": "person", "user_id": "person", "privacy_id": "person",
    "schema": "columns", "data": "table", "df": "table", "path": "table",
}  # fmt: skip
"""Names that other libraries use for arguments, and their names here, for calls that have them."""


P = ParamSpec("P")
R = TypeVar("R")


def by_name(call: Callable[P, R]) -> Callable[P, R]:
    """Return the call, with a check that refuses unknown arguments and suggests their names here."""
    parameters = [
        parameter for parameter in signature(call).parameters.values() if parameter.kind is not parameter.VAR_POSITIONAL
    ]
    known = [
        parameter.name for parameter in parameters if parameter.name not in ("self", "entropy", "progress", "options")
    ]
    passing = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    title = "Source" if call.__name__ == "__init__" else call.__name__

    @wraps(call)
    def checked(*args: P.args, **named: P.kwargs) -> R:
        for name in named:
            meant = _ARGUMENTS.get(name.lower(), "")
            if name not in (*known, "entropy", "progress") and (meant in known or not passing):
                raise UnknownArgument(name, title, meant if meant in known else "", known)
        return call(*args, **named)

    return checked
