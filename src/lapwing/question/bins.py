"""Bins of a numeric column: their borders and their names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from .. import exact
from ..errors import InvalidParameter, MissingParameter, Shown
from ..exact import Number as NumberLike

if TYPE_CHECKING:
    from .schema import Column


def bin_edges(edges: Sequence[NumberLike]) -> tuple[Fraction, ...]:
    """Return the borders of bins, checked."""
    allowed = "two or more numbers in rising order, such as 0, 18, 65, 120"
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise InvalidParameter(edges, "edges", allowed)
    borders = tuple(exact.finite(edge, "edge") for edge in edges)
    if not borders:
        raise MissingParameter("edges", f"Give {allowed}.")
    if len(borders) < 2 or any(a >= b for a, b in pairwise(borders)) or max(map(abs, borders)) > 10**300:
        listed = Shown(", ".join(map(exact.text, borders[:5])))
        raise InvalidParameter(listed if isinstance(edges, list | tuple) else edges, "edges", allowed)
    return borders


def equal_bins(column: Column, number: int) -> tuple[Fraction, ...]:
    """Return the borders of equally wide bins between the bounds; for whole numbers none is narrower than 1."""
    assert column.low is not None
    assert column.high is not None
    low, high = column.low, column.high
    if column.kind == "integer":
        high += 1  # the last bin holds the upper bound itself
        number = min(number, int(high - low))
        return tuple(low + math.floor(i * (high - low) / number) for i in range(number + 1))
    return tuple(low + i * (high - low) / number for i in range(number + 1))


def limit_names(edges: Sequence[Fraction]) -> tuple[str, ...]:
    """Return the names of the rows of a distribution function: each has the share of what lies below an upper end."""
    *inner, last = map(exact.text, edges[1:])
    return (*(f"below {end}" for end in inner), f"up to {last}")


def bin_names(edges: Sequence[Fraction], column: Column) -> tuple[str, ...]:
    """Return the names of the bins: [a, b) each, and [a, b] for the last.

    The first and the last also hold values beyond the edges; their names say so if the column's bounds reach further.
    """
    texts = [exact.text(edge) for edge in edges]
    names = [f"[{a}, {b})" for a, b in pairwise(texts)]
    names[-1] = f"[{texts[-2]}, {texts[-1]}]"
    below, above = column.low is not None and column.low < edges[0], column.high is not None and column.high > edges[-1]
    if len(names) == 1 and (below or above):
        return ("all",)
    if below:
        names[0] = f"< {texts[1]}"
    if above:
        names[-1] = f"≥ {texts[-2]}"
    return tuple(names)
