"""The fields of the values that a question is made of, down to the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield everything in a value: where it is, the field of a dataclass that it belongs to, and its text."""
    yield from _leaves(value, place, "")


def _leaves(value: Any, place: str, owner: str) -> Iterator[tuple[str, str, str]]:
    inside: Iterator[tuple[Any, Any, str]]
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        yield place, owner, kind
        inside = ((each.name, getattr(value, each.name), f"{kind}.{each.name}") for each in fields(value))
    elif isinstance(value, Mapping):
        inside = ((key, each, owner) for key, each in value.items())
    elif isinstance(value, list | tuple) and any(
        is_dataclass(each) or isinstance(each, list | tuple) for each in value
    ):
        yield place, owner, f"{len(value)} values"
        inside = ((i, each, owner) for i, each in enumerate(value))
    else:
        yield place, owner, f"{type(value).__name__} {value}"
        return
    for name, each, owned in inside:
        yield from _leaves(each, f"{place}/{name}", owned)


def all_fields(value: Any) -> set[str]:
    """Return the fields of all dataclasses in a value, as ``Class.field``."""
    return {owner for _, owner, _ in leaves(value) if owner}


def differing(one: Any, other: Any) -> set[str]:
    """Return the fields in which two values differ, as ``Class.field``; of what only one of them has, the outermost."""
    first, second = ({place: (owner, text) for place, owner, text in leaves(each)} for each in (one, other))
    return {owner for place, (owner, text) in first.items() if owner and second.get(place, (owner, text))[1] != text}
