"""The outputs of a mechanism, of any type, as columns of numbers.

A number or vector is represented by its values, everything else by its kind (type, length, NaN, an exception) and its
text.  Kinds and texts are numbered in the order in which they first occur.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidRequest

Array = NDArray[Any]

_AT_ONCE = 1 << 14
_STRANGE = (("NaN", math.isnan), ("-inf", (-math.inf).__eq__), ("inf", math.inf.__eq__))
_NUMBER = (Real, Decimal, np.bool_)


@dataclass(frozen=True)
class Outputs:
    """Some outputs: ``values`` has a row for each, NaN where there is no number; the others have a number for each."""

    values: Array
    kinds: Array
    texts: Array

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, part: slice) -> Outputs:
        return Outputs(self.values[part], self.kinds[part], self.texts[part])


def joined(parts: Sequence[Outputs]) -> Outputs:
    """Return concatenated outputs; narrow ones are padded with NaN."""
    width = max(part.values.shape[1] for part in parts)
    values = [part.values if part.values.shape[1] == width else _widened(part.values, width) for part in parts]
    kinds, texts = ([getattr(part, name) for part in parts] for name in ("kinds", "texts"))
    return Outputs(np.concatenate(values), np.concatenate(kinds), np.concatenate(texts))


class Words:
    """The kinds and texts seen so far, each with its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        """Return the number of a word; a new word gets the next number."""
        return self._numbers.setdefault(word, len(self._numbers))

    def __getitem__(self, number: int) -> str:
        return next(islice(self._numbers, int(number), None))


class Draws:
    """Independent outputs of a mechanism on one input, as many as are asked for."""

    def __init__(self, m: Callable[[Any], Any], given: Any, batch: int, words: Words) -> None:
        self._m, self._given, self._batch, self._words = m, given, batch, words
        self._left: Outputs | None = None

    def width(self) -> int:
        """Return how many numbers the next output has."""
        if self._left is None:
            self._left = self._more(1)
        return int(self._left.values.shape[1])

    def take(self, count: int) -> Iterator[Outputs]:
        """Yield the next outputs in pieces, ``count`` of them in all."""
        while count:
            left = self._more(count) if self._left is None else self._left
            self._left = left[count:] if len(left) > count else None
            count -= min(count, len(left))
            yield left[: len(left) - (0 if self._left is None else len(self._left))]

    def _more(self, count: int) -> Outputs:
        if self._batch == 1:
            return _of_list([self._one() for _ in range(min(count, _AT_ONCE))], self._words)
        found = self._m(deepcopy(self._given))  # not the exception of a single output: it goes to the caller
        number = len(found) if hasattr(found, "__len__") else 1
        if number != self._batch:
            outputs = "1 output" if number == 1 else f"{number:,} outputs"
            advice = "Let m return as many, along the first axis, or change batch."
            raise InvalidRequest(f"A call of m returned {outputs}, and batch is {self._batch:,}", advice)
        if isinstance(found, np.ndarray) and found.dtype.kind in "biuf":
            return _of_array(found, found.dtype.name, self._words)
        return _of_list(list(found), self._words)

    def _one(self) -> Any:
        try:
            return self._m(deepcopy(self._given))  # a mechanism that changes its input must not see the change
        except Exception as error:  # any exception is its output
            return _Raised(type(error).__name__)


@dataclass(frozen=True)
class _Raised:
    name: str


def _of_array(found: Array, name: str, words: Words) -> Outputs:
    values = found.reshape(len(found), -1)
    if values.dtype.kind == "f" or values.dtype == np.uint64:
        values = values.astype(np.float64, copy=False)
    else:
        values = values.astype(np.int64, copy=False)
    length = "" if found.ndim == 1 else f", {values.shape[1]} of them"
    kinds = np.full(len(found), words.number(f"output is of type {name}{length}"))
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        for strange, where in (("inf", values == np.inf), ("-inf", values == -np.inf), ("NaN", np.isnan(values))):
            kinds[where.any(axis=1)] = words.number(_holds(strange, length == ""))
    return Outputs(values, kinds, np.full(len(found), -1))


def _of_list(found: list[Any], words: Words) -> Outputs:
    """Read outputs one by one, or at once if all are plain numbers: how one is read does not depend on the others."""
    types = set(map(type, found))
    if len(types) == 1 and types <= {int, float, bool, np.float64, np.int64, np.bool_}:
        with suppress(OverflowError):
            return _of_array(np.array(found, dtype=np.float64), types.pop().__name__, words)
    rows, kinds, texts = zip(*(_read(each) for each in found), strict=True)
    values = np.full((len(found), max([1, *map(len, rows)])), math.nan)
    for i, row in enumerate(rows):
        values[i, : len(row)] = row
    numbers = [-1 if text is None else words.number(text) for text in texts]
    return Outputs(values, np.array([words.number(kind) for kind in kinds]), np.array(numbers))


def _read(output: Any) -> tuple[list[float], str, str | None]:
    """Return the numbers, the kind and the text of one output."""
    if isinstance(output, _Raised):
        return [], f"raises {output.name}", None
    if isinstance(output, _NUMBER):
        value = _float(output)
        if math.isfinite(value):
            return [value], f"output is of type {type(output).__name__}", None
        return [value], _holds("NaN" if math.isnan(value) else str(value), True), None
    told = f"output is of type {type(output).__name__}" if output is not None else "output is None"
    if isinstance(output, list | tuple | np.ndarray):
        flat = list(np.asarray(output).flat) if isinstance(output, np.ndarray) else list(output)
        told += f", {len(flat)} of them"
        if all(isinstance(each, _NUMBER) for each in flat):
            row = [_float(each) for each in flat]
            strange = [name for name, has in _STRANGE if any(map(has, row))]
            return row, _holds(strange[0], False) if strange else told, None
    return [], told, None if output is None else f"output is {output!r}"


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _holds(name: str, alone: bool) -> str:
    return f"output is {name}" if alone else f"output holds {name}"


def _widened(values: Array, width: int) -> Array:
    wide = np.full((len(values), width), math.nan)
    wide[:, : values.shape[1]] = values
    return wide
