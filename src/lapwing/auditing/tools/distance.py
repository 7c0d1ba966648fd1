"""The answer of a function, and the distance between two answers.

The distance is the sum of |a - b| over the numbers of two answers, exactly: floats count as the fractions they are.
It is infinite between answers of different forms (length, shape, keys or their order), between a finite number and NaN
or an infinite one, and between numbers and an error or something that is not a number.  Equal answers have distance 0:
two errors of one type, or NaN in the same place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from numbers import Integral, Rational
from typing import Any, Literal

import numpy as np

from ... import exact

Kind = Literal["numbers", "error", "no number"]


@dataclass(frozen=True)
class Answer:
    """One answer: its form, its numbers in order (NaN and infinite ones as text), and the types they had."""

    kind: Kind
    form: Any
    numbers: tuple[Any, ...] = ()
    types: frozenset[str] = frozenset()

    @property
    def finite(self) -> bool:
        """Whether this is a number, or some, and all of them finite."""
        return self.kind == "numbers" and str not in set(map(type, self.numbers))


@dataclass(frozen=True)
class Raised:
    """Stands for the answer of a function that raised an error."""

    error: str
    text: str = ""

    def __repr__(self) -> str:
        text = f": {self.text}" if self.text else ""
        return f"raises {self.error}{text if len(text) <= 80 else text[:79] + '…'}"


def ask(f: Callable[[list[Any]], Any], table: list[Any]) -> Any:
    """Return the answer of f; an error of f is an answer too."""
    try:
        return f(table)
    except Exception as error:  # KeyboardInterrupt is none and passes
        return Raised(type(error).__name__, str(error))


def read(value: Any) -> Answer:
    """Return the answer in numbers."""
    if isinstance(value, Raised):
        return Answer("error", value.error)
    numbers: list[Any] = []
    types: set[str] = set()
    try:
        form = _flatten(value, numbers, types)
    except _NoNumber as found:
        return Answer("no number", found.args[0])
    return Answer("numbers", form, tuple(numbers), frozenset(types))


def distance(one: Answer, other: Answer) -> Fraction | int | float:
    """Return the L1 distance, exactly, or infinity."""
    if one.kind != other.kind or one.form != other.form:
        return math.inf
    if one.numbers == other.numbers:
        return 0
    total: Fraction | int = 0
    for a, b in zip(one.numbers, other.numbers, strict=True):
        if a == b:
            continue
        if isinstance(a, str) or isinstance(b, str):
            return math.inf
        total += abs(a - b)
    return total


class _NoNumber(Exception):
    """Holds the name of a type."""


def _flatten(value: Any, numbers: list[Any], types: set[str]) -> Any:
    """Append the numbers in a value, and return its form."""
    if type(value) in (list, tuple) and set(map(type, value)) == {int}:  # counts, the most common answer: fast
        numbers += value
        types.add("int")
        return (len(value),)
    if type(value) in (int, float):
        return _append(value, numbers, types)
    if callable(getattr(value, "to_dict", None)):  # a pandas Series, whose index is part of the answer
        value = value.to_dict()
    if isinstance(value, Mapping):
        return ("keys", tuple((_key(key), _flatten(part, numbers, types)) for key, part in value.items()))
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind not in "iufO":
            raise _NoNumber(str(array.dtype))
        for number in array.ravel().tolist():
            _append(number, numbers, types)
        return array.shape  # () is the form of a single number
    if isinstance(value, list | tuple):
        forms = tuple(_flatten(part, numbers, types) for part in value)
        return (len(forms),) if not any(forms) else ("list", forms)
    return _append(value, numbers, types)


def _append(value: Any, numbers: list[Any], types: set[str]) -> tuple[()]:
    """Append one number: an int if it is whole, which is faster to compute with."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Rational | float | Decimal | np.number):
        raise _NoNumber(type(value).__name__)
    types.add("int" if isinstance(value, Integral) else type(value).__name__)
    if isinstance(value, Rational):
        top, bottom = int(value.numerator), int(value.denominator)
    else:
        try:
            top, bottom = value.as_integer_ratio()  # type: ignore[union-attr]
        except (OverflowError, ValueError):  # infinite, NaN
            numbers.append(str(float(value)))
            return ()
        except AttributeError:  # complex
            raise _NoNumber(type(value).__name__) from None
    numbers.append(top if bottom == 1 else Fraction(top, bottom))
    return ()


def _key(key: Any) -> Any:
    return (type(key).__name__, repr(key))


def written(number: Fraction | int | float) -> str:
    """Return a distance as text: exact when that is short, else to twelve places."""
    if isinstance(number, float):
        return "infinity"
    if number.denominator < 10**9 and abs(number.numerator) < 10**15:
        return exact.text(Fraction(number))
    try:
        return f"{float(number):.12g}"
    except OverflowError:
        return f"more than 2^{abs(int(number)).bit_length() - 1}"


def shown(value: Any, most: int = 80) -> str:
    """Return a table or an answer as text of bounded length, equal neighbors in a long list as [0] * 27."""
    value = plain(value)
    text = repr(value)
    if len(text) > most and isinstance(value, list):
        runs = [list(equal) for _, equal in groupby(map(repr, value))]
        parts = []
        for short, some in groupby(runs, lambda run: len(run) < 4):
            if short:
                parts.append(f"[{', '.join(cell for run in some for cell in run)}]")
            else:
                parts += [f"[{run[0]}] * {len(run)}" for run in some]
        text = " + ".join(parts)
    return text if len(text) <= most else f"{text[: most - 23]} … {text[-20:]}"


def plain(value: Any) -> Any:
    """Return a value with arrays as lists and NumPy's numbers as Python's."""
    if isinstance(value, np.ndarray | np.generic):
        listed = value.tolist()
        return repr(listed) if isinstance(listed, np.generic) else plain(listed)  # a type that Python lacks
    if callable(getattr(value, "to_dict", None)):
        return plain(value.to_dict())
    if isinstance(value, Mapping):
        return {plain(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        parts = map(plain, value)
        return tuple(parts) if type(value) is tuple else list(parts)
    return value


def as_json(value: Any) -> Any:
    """Return a table or an answer as JSON can hold it; what JSON lacks, as text."""
    value = plain(value)
    if isinstance(value, dict):
        return {key if isinstance(key, str) else repr(key): as_json(part) for key, part in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [as_json(part) for part in value]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return exact.text(value) if isinstance(value, Fraction) else repr(value)
