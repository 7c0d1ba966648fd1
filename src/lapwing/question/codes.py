"""Keys and codes: which values may stand in a declaration, and of which kind they are."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args, overload

import numpy as np

from .. import exact
from ..errors import InvalidParameter, InvalidRequest, Shown

Kind = Literal["text", "number", "integer", "date", "boolean"]
Key = str | int | bool | date
Code = str | date | Fraction

KINDS: tuple[Kind, ...] = get_args(Kind)

_MOST_CODES = 1000
_MOST_LISTED = 100


def refused_keys(fault: str) -> InvalidRequest:
    """Return the refusal of a list of keys."""
    return InvalidRequest(
        f"The list of keys has {fault}",
        "Give one or more different texts, whole numbers up to 2^53, truth values or dates, all of one type.",
    )


def listed_keys(values: Sequence[Any]) -> Iterable[Any]:
    """Return the keys that are given one by one, or as one list."""
    if len(values) != 1 or isinstance(values[0], Key | bytes | bytearray | memoryview):
        return values
    try:
        return tuple(values[0])
    except TypeError:  # a single object that is not a list
        return values


def plain_key(key: Any) -> Any:
    """Return a key of NumPy as the same value of Python; a moment finer or coarser than a day is not a date."""
    if isinstance(key, np.datetime64):
        return key.item() if np.datetime_data(key.dtype)[0] == "D" else key
    return key.item() if isinstance(key, np.bool_ | np.integer | np.str_) else key


def one_kind(listed: Sequence[Any]) -> Kind:
    """Return the kind of all keys; refuse a list for its first fault, and say only its type and place."""
    first: Kind | None = None
    places: dict[Any, int] = {}
    for place, key in enumerate(listed, 1):
        kind = kind_of(key)
        fault = None
        if kind is None:
            what = "a missing key" if _is_missing(key) else f"something of type {type(key).__name__}"
            fault = f"{what} in place {place}"
        elif first is not None and kind != first:
            fault = f"keys of different types ({first} in place 1, {kind} in place {place})"
        elif key in places:
            fault = f"the same key in places {places[key]} and {place}"
        if fault is not None:
            raise refused_keys(fault)
        first, places[key] = kind, place
    if first is None:
        raise refused_keys("nothing in it")
    return first


def _is_missing(key: object) -> bool:
    return key is None or type(key).__name__ in ("NAType", "NaTType") or (isinstance(key, float) and math.isnan(key))


@overload
def written(key: Key) -> str | int | bool: ...
@overload
def written(key: Key | None) -> str | int | bool | None: ...
def written(key: Key | None) -> str | int | bool | None:
    """Return a key as JSON and files store it: a date as ISO text, and None where there is none."""
    return key.isoformat() if isinstance(key, date) else key


def listed_or_digest(keys: Iterable[Key]) -> list[Any] | str:
    """Return keys for JSON; many of them as their digest."""
    listed = [written(key) for key in keys]
    if len(listed) <= _MOST_LISTED:
        return listed
    return f"{len(listed)} keys, SHA-256 {hashlib.sha256(json.dumps(listed).encode()).hexdigest()}"


def kind_of(key: object) -> Kind | None:
    """Return the kind of a key, None if it is of none."""
    if isinstance(key, bool):
        return "boolean"
    if isinstance(key, datetime):  # a moment; pandas' NaT is one too
        return None
    for kind, name in ((str, "text"), (int, "integer"), (date, "date")):
        if isinstance(key, kind):
            return name  # type: ignore[return-value]
    return None


def is_unicode(text: str) -> bool:
    """Return whether a text can be written in UTF-8."""
    try:
        text.encode()
    except UnicodeError:
        return False
    return True


def missing_codes(kind: Kind, missing: Iterable[Any], listed: Sequence[Key] = ()) -> tuple[Code, ...]:
    """Return the codes that count as missing in a column of this kind, in an order that says nothing."""
    allowed = f"a list of at most {_MOST_CODES} codes of the type {kind}"
    if isinstance(missing, str | bytes) or not isinstance(missing, Iterable):
        raise InvalidParameter(missing, "missing", allowed)
    codes: list[Any] = list(map(plain_key, missing))
    if codes and kind == "boolean":
        raise InvalidParameter(Shown("given"), "missing", "left out for truth values: declare the column as text")
    if len(codes) > _MOST_CODES:
        raise InvalidParameter(Shown(f"{len(codes)} codes"), "missing", allowed)
    if kind in ("number", "integer"):
        codes = [exact.finite(code, "missing") for code in codes]
    for code in codes:
        if isinstance(code, Fraction) and abs(code) > 10**300:
            raise InvalidParameter(Shown("a number beyond 10^300"), "missing", allowed)
        fits = isinstance(code, Fraction) or kind_of(code) == kind
        if not fits or (isinstance(code, str) and ("\0" in code or not is_unicode(code))):
            raise InvalidParameter(Shown(f"a code of type {type(code).__name__}"), "missing", allowed)
        if code in listed:
            raise InvalidParameter(code, "missing", "codes that are not among the keys")
    return tuple(sorted(set(codes)))


@dataclass(frozen=True)
class Within:
    """In which group of another column each key lies; without groups, by a public look-up."""

    parent: str
    groups: tuple[tuple[str, tuple[Key, ...]], ...] = ()


class KeptGroups(NamedTuple):
    """The groups that a condition leaves, by number, ``of`` all; whether ``every`` row that it selects is in one."""

    numbers: tuple[int, ...]
    of: int
    every: bool


def within_of(given: object, listed: Sequence[Key]) -> Within | None:
    """Return where the keys of a column lie, checked: each is in exactly one group."""
    if given is None or (isinstance(given, str) and given):
        return None if given is None else Within(str(given))
    allowed = 'a map such as {"region": {"north": ["a", "b"]}}, or the name of a column that a look-up adds'
    if not isinstance(given, Mapping) or len(given) != 1:
        raise InvalidParameter(given, "within", allowed)
    ((parent, groups),) = given.items()
    if not isinstance(parent, str) or not parent or not isinstance(groups, Mapping) or not groups:
        raise InvalidParameter(given, "within", allowed)
    found, places = [], {(type(key), key): place for place, key in enumerate(listed, 1)}
    lying: set[int] = set()
    for number, (group, keys) in enumerate(groups.items(), 1):
        if not isinstance(group, str) or not group or "\0" in group or not is_unicode(group):
            raise _refused_map(f"something in place {number} that is no text")
        if isinstance(keys, str) or not isinstance(keys, Iterable):
            raise InvalidParameter(given, "within", allowed)
        own = tuple(map(plain_key, keys))
        for key in own:
            place = places.get((type(key), key)) if isinstance(key, Key) else None
            if place is None:
                raise _refused_map(f"a key in group {number} that the column does not have")
            if place in lying:
                raise _refused_map(f"key {place} of the column twice")
            lying.add(place)
        found.append((group, own))
    if missed := set(places.values()) - lying:
        raise _refused_map(f"no group for key {min(missed)} of the column")
    return Within(parent, tuple(found))


def _refused_map(fault: str) -> InvalidRequest:
    return InvalidRequest(
        f"The map of within has {fault}",
        "Give each group, a text, the list of its keys: every key of the column, and other if it has one, once.",
    )
