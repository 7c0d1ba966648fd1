"""Statistics and keys as JSON, and what this JSON asks: the same words as the functions of Python.

``lw.mean("cost", name="c")`` is {"statistic": "mean", "column": "cost", "name": "c"}; several tables, such as
``lw.cube("sex", "age")``, are {"tables": [["sex", "age"], ["sex"], ["age"], []]}.  Reading calls the functions of
Python, with their checks; it runs no other code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from .. import exact
from ..errors import InvalidParameter, Shown
from . import query
from .query import Statistic
from .ratios import ratio
from .sets import Keys, KeySets, KeyTable, sets

_MAKE: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "count": (query.count, ("column", "weight", "share", "error", "name")),
    "people": (query.people, ("share", "error", "name")),
    "sum": (query.sum, ("column", "weight", "share", "error", "name")),
    "mean": (query.mean, ("column", "weight", "share", "error", "name")),
    "variance": (query.variance, ("column", "sample", "share", "error", "name")),
    "std": (query.std, ("column", "sample", "share", "error", "name")),
    "proportion": (query.proportion, ("condition", "weight", "share", "error", "name")),
    "histogram": (query.histogram, ("column", "edges", "name")),
    "cdf": (query.cdf, ("column", "edges", "name")),
    "quantile": (query.quantile, ("column", "q", "weight", "share", "error", "name")),
    "ratio": (ratio, ("numerator", "denominator", "factor", "error", "name")),
}
"""For each statistic, the function that makes it, and the arguments that it may have."""

NAMES = tuple(_MAKE)
"""The statistics that can be asked."""


def statistic_to_dict(statistic: Statistic) -> dict[str, Any]:
    """Return a statistic, as ``lw.count()`` and so on make it, for JSON."""
    fields: dict[str, Any] = {
        "statistic": statistic.kind,
        "column": statistic.column,
        "condition": statistic.condition,
        "weight": statistic.weight,
        "q": None if statistic.level is None else exact.text(statistic.level),
        "edges": statistic.bins if statistic.edges is None else [exact.text(edge) for edge in statistic.edges],
        "sample": None if statistic.sample else False,
        "share": None if statistic.share is None else exact.text(statistic.share),
        "error": None if statistic.error is None else exact.text(statistic.error),
        "factor": None if statistic.factor == 1 else exact.text(statistic.factor),
        "name": statistic.name,
    }
    if statistic.parts:
        parts = zip(("numerator", "denominator"), statistic.parts, strict=True)
        fields |= {name: statistic_to_dict(part) for name, part in parts}
    return {name: value for name, value in fields.items() if value is not None}


def statistic_of(fields: Any) -> Statistic:
    """Return the statistic that the JSON asks for, checked."""
    allowed = 'an object such as {"statistic": "mean", "column": "cost"}'
    if not isinstance(fields, Mapping):
        raise InvalidParameter(fields, "statistic", allowed)
    name = fields.get("statistic")
    if not isinstance(name, str) or name not in _MAKE:
        raise InvalidParameter(name, "statistic", f"one of {', '.join(NAMES)}")
    make, known = _MAKE[name]
    given = {word: value for word, value in fields.items() if word != "statistic"}
    for word, value in given.items():
        if word not in known:
            raise InvalidParameter(Shown(str(word)[:60]), f"argument of {name}", f"one of {', '.join(known)}")
        if isinstance(value, float):
            raise InvalidParameter(value, word, 'an exact number: write it as a text, such as "0.5"')
    for word in ("numerator", "denominator"):
        if isinstance(part := given.get(word), Mapping) and part.get("statistic") == name:  # however deep it goes on
            raise InvalidParameter(Shown("a ratio"), word, 'a count or sum, such as {"statistic": "count"}')
    given |= {word: statistic_of(given[word]) for word in ("numerator", "denominator") if word in given}
    if isinstance(given.get("q"), list):
        raise InvalidParameter(Shown("a list"), "q", "one number; ask for several quantiles as several statistics")
    try:
        return make(**given)  # type: ignore[no-any-return]
    except TypeError:  # an argument is missing, or of a type that no check expects
        raise InvalidParameter(Shown(name), "statistic", f"given with fitting arguments: {', '.join(known)}") from None


# --- keys, and how ε is split ---


def keys_to_json(by: Keys | None) -> Any:
    """Return what is grouped by, for JSON."""
    if by is None or isinstance(by, str):
        return by
    if isinstance(by, KeySets):
        return {"tables": [list(table) for table in by.tables]}
    if not isinstance(by, Sequence):
        raise InvalidParameter(by, "by", 'the name of a column, such as "ward", or several')
    return [keys_to_json(each) for each in by]


def keys_of(given: Any) -> Keys | None:
    """Return what the JSON groups by."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, list):
        return [_key_of(each) for each in given]
    return _key_of(given)


def _key_of(given: Any) -> str | KeySets:
    if isinstance(given, str):
        return given
    tables = given.get("tables") if isinstance(given, Mapping) and len(given) == 1 else None
    if not isinstance(tables, list) or not all(_is_table(table) for table in tables) or not tables:
        raise InvalidParameter(
            Shown("something else"), "by", 'a column, or {"tables": [["sex", "age"], []]}, or a list of these'
        )
    return sets(*tables)


def _is_table(table: Any) -> bool:
    return isinstance(table, list) and all(isinstance(name, str) for name in table)


def weights_to_json(weights: Mapping[Any, Any] | None) -> list[list[Any]] | None:
    """Return how ε is split, for JSON: pairs of a column, or the columns of a table, and a number."""
    if weights is None:
        return None
    if not isinstance(weights, Mapping):
        raise InvalidParameter(weights, "weights", 'a mapping from columns to numbers, such as {"cost": 3, "age": 1}')
    return [
        [list(name) if isinstance(name, tuple) else name, exact.text(exact.positive(weight, "weight"))]
        for name, weight in weights.items()
    ]


def weights_of(given: Any) -> dict[str | KeyTable, Fraction] | None:
    """Return how ε is split, by columns and by tables."""
    if given is None:
        return None
    pairs = given.items() if isinstance(given, Mapping) else given
    found: dict[str | KeyTable, Fraction] = {}
    try:
        for name, number in pairs:
            if isinstance(number, float) or not (isinstance(name, str) or _is_table(name)):
                raise ValueError
            found[name if isinstance(name, str) else tuple(name)] = exact.positive(number, "weight")
    except (TypeError, ValueError):
        allowed = 'pairs such as [["cost", "3"], [["sex", "age"], "4"]], with exact numbers'
        raise InvalidParameter(Shown("something else"), "weights", allowed) from None
    return found
