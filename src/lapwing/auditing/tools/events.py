"""Events that may distinguish two inputs: proposed from some draws, and scored by others.

An event is a condition on one reading of the output.  The readings are its numbers (each, their sum, differences of
two), the power of two that divides a number (what floating-point noise leaks), its kind and its text.  The condition
is that a reading is at least or at most a threshold, or is in a set of values, chosen by their likelihood ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .outputs import Array, Outputs, Words

_MOST_PLACES = 32
_MOST_PAIRS = 8
_MOST_VALUES = 50_000
_STEPS = 512
_LONGEST = 100
ZERO = 2000
"""The exponent that is assigned to 0: larger than for any other float."""

Form = Literal["value", "sum", "difference", "power", "kind", "text"]


@dataclass(frozen=True)
class Reading:
    """One way to read outputs: a form, and the positions of the numbers it uses."""

    form: Form
    places: tuple[int, ...] = ()
    alone: bool = False

    def of(self, outputs: Outputs) -> Array:
        """Return the reading of each output; NaN where it has none."""
        if self.form == "kind":
            return outputs.kinds
        if self.form == "text":
            return np.where(outputs.texts < 0, math.nan, outputs.texts)
        if any(place >= outputs.values.shape[1] for place in self.places):
            return np.full(len(outputs), math.nan)
        numbers = [outputs.values[:, place] for place in self.places]
        if self.form == "sum":
            return np.asarray(np.nansum(outputs.values, axis=1, dtype=np.float64))
        if self.form == "difference":
            with np.errstate(invalid="ignore"):
                return numbers[0].astype(np.float64) - numbers[1]
        return power_of_two(numbers[0]) if self.form == "power" else numbers[0]


def power_of_two(values: Array) -> NDArray[np.float64]:
    """Return the largest k for which a value is a multiple of 2^k: ``ZERO`` for 0, NaN for what is not finite."""
    with np.errstate(invalid="ignore"):
        part, exponent = np.frexp(values.astype(np.float64))
        whole = np.where(np.isfinite(part), part * 2.0**53, 0).astype(np.int64)
        lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    found = np.where(whole == 0, float(ZERO), exponent - 53.0 + lowest)
    found[~np.isfinite(part)] = math.nan
    return found


@dataclass(frozen=True, eq=False)
class Event:
    """A reading that is at least, at most, or one of some values."""

    reading: Reading
    relation: Literal["≥", "≤", "="]
    values: Array
    words: str

    @property
    def strangeness(self) -> float:
        """How much more an event must show to be preferred to a simpler one."""
        if self.relation == "=" and self.values.size > 3:
            return 0.01
        return 1e-6 if self.words.startswith("output is of type") else 0.0

    def happens(self, outputs: Outputs) -> NDArray[np.bool_]:
        """Return for each output whether the event happens."""
        found = self.reading.of(outputs)
        if self.relation == "=":
            return _place(self.values, found)[1]
        at = self.values[0]
        return np.asarray(found >= at if self.relation == "≥" else found <= at)


@dataclass(frozen=True)
class Family:
    """Events by number, and how often each happened in the draws on x and on y."""

    event: Callable[[int], Event]
    hits_x: Array
    hits_y: Array


def families(first: tuple[Outputs, Outputs], second: tuple[Outputs, Outputs], words: Words) -> Iterator[Family]:
    """Yield events proposed by the first draws on x and y, with their hits in the second ones."""
    for reading in _readings(*first):
        x, y = (_known(reading.of(outputs)) for outputs in first)
        tried_x, tried_y = (_known(reading.of(outputs)) for outputs in second)
        if not x.size + y.size:
            continue
        if reading.form not in ("kind", "text"):
            yield from _thresholds(reading, np.concatenate([x, y]), tried_x, tried_y)
        if reading.form != "power":
            yield from _sets(reading, x, y, tried_x, tried_y, words)


def _readings(x: Outputs, y: Outputs) -> Iterator[Reading]:
    yield Reading("kind")
    if x.texts.max() >= 0 or y.texts.max() >= 0:
        yield Reading("text")
    width = max(x.values.shape[1], y.values.shape[1])
    if width == 1:
        yield Reading("value", (0,), alone=True)
        yield Reading("power", (0,), alone=True)
        return
    places = _most_moved(x, y, width)
    for place in places:
        yield Reading("value", (place,))
        yield Reading("power", (place,))
    yield Reading("sum")
    pairs = combinations(range(width), 2) if width <= _MOST_PAIRS else pairwise(places)
    yield from (Reading("difference", pair) for pair in pairs)


def _most_moved(x: Outputs, y: Outputs, width: int) -> list[int]:
    """Return the places whose means differ most between the inputs, relative to their spread."""
    if width <= _MOST_PLACES or x.values.shape != y.values.shape:
        return list(range(min(width, _MOST_PLACES)))
    with np.errstate(all="ignore"):
        moved = np.abs(x.values.mean(axis=0) - y.values.mean(axis=0)) / (x.values.std(axis=0) + y.values.std(axis=0))
    return sorted(np.argsort(-np.nan_to_num(moved), kind="stable")[:_MOST_PLACES].tolist())


def _known(found: Array) -> Array:
    return found[~np.isnan(found)] if found.dtype.kind == "f" else found


def _thresholds(reading: Reading, pooled: Array, x: Array, y: Array) -> Iterator[Family]:
    pooled = np.sort(pooled)
    near = np.unique(np.geomspace(1, pooled.size, 64).astype(np.int64)) - 1  # tails count too
    ranks = np.concatenate([np.linspace(0, pooled.size - 1, _STEPS).astype(np.int64), near, pooled.size - 1 - near])
    at = np.unique(pooled[ranks])
    x, y = np.sort(x), np.sort(y)

    def event(relation: Literal["≥", "≤"]) -> Callable[[int], Event]:
        return lambda i: Event(reading, relation, at[i : i + 1], _asked(reading, relation, at[i]))

    yield Family(event("≥"), x.size - np.searchsorted(x, at), y.size - np.searchsorted(y, at))
    yield Family(event("≤"), np.searchsorted(x, at, "right"), np.searchsorted(y, at, "right"))


def _sets(reading: Reading, x: Array, y: Array, tried_x: Array, tried_y: Array, words: Words) -> Iterator[Family]:
    """Yield each value, and the sets of values with the highest and lowest ratio of their shares."""
    values, place = np.unique(np.concatenate([x, y]), return_inverse=True)
    counts = np.bincount(place[: x.size], minlength=values.size), np.bincount(place[x.size :], minlength=values.size)
    kept = np.argsort(-(counts[0] + counts[1]), kind="stable")[:_MOST_VALUES]
    kept = kept[(counts[0] + counts[1])[kept] > 1] if values.size > 1000 else kept
    if not kept.size:
        return
    ratio = (counts[0][kept] + 0.5) / (counts[1][kept] + 0.5)
    for chosen in (values[kept[np.argsort(-ratio, kind="stable")]], values[kept[np.argsort(ratio, kind="stable")]]):
        hits = [_hits(chosen, tried) for tried in (tried_x, tried_y)]
        ends = np.unique(np.linspace(0, chosen.size - 1, _STEPS).astype(np.int64))

        def upto(i: int, chosen: Array = chosen, ends: Array = ends) -> Event:
            return _one_of(reading, chosen[: ends[i] + 1], words)

        yield Family(upto, np.cumsum(hits[0])[ends], np.cumsum(hits[1])[ends])
    yield Family(lambda i: _one_of(reading, chosen[i : i + 1], words), *hits)


def _hits(chosen: Array, tried: Array) -> Array:
    """Return how often each of the values occurs."""
    order = np.argsort(chosen, kind="stable")
    place, known = _place(chosen[order], tried)
    return np.bincount(order[place[known]], minlength=chosen.size)


def _place(values: Array, found: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return where each number would be inserted into sorted values, and whether it is one of them."""
    place = np.minimum(np.searchsorted(values, found), values.size - 1)
    return place, values[place] == found


def _one_of(reading: Reading, values: Array, words: Words) -> Event:
    values = np.sort(values)
    shown = " or ".join(_asked(reading, "=", value, words) for value in values[:3])
    if values.size > 3:
        shown = f"one of {values.size:,} results: {shown} or …"
    return Event(reading, "=", values, shown)


def _asked(reading: Reading, relation: str, value: Any, words: Words | None = None) -> str:
    if words is not None and reading.form in ("kind", "text"):
        word = words[value]
        return word if len(word) <= _LONGEST else f"{word[:_LONGEST]}…"
    if reading.form == "power" and value == ZERO:
        return f"{_named(reading)} {'=' if relation == '≥' else 'is'} {'0' if relation == '≥' else 'finite'}"
    if reading.form == "power":
        told = f"a multiple of 2^{int(value)}" if relation == "≥" else f"no multiple of 2^{int(value) + 1}"
        return f"{_named(reading)} is {told}"
    if reading.form == "difference" and relation == "=" and value == 0:
        return f"outputs {reading.places[0] + 1} and {reading.places[1] + 1} are equal"
    return f"{_named(reading)} {relation} {int(value) if abs(value) < 1e15 and value == int(value) else value}"


def _named(reading: Reading) -> str:
    if reading.form == "sum":
        return "sum of the outputs"
    return "output" if reading.alone else " - ".join(f"output {place + 1}" for place in reading.places)
