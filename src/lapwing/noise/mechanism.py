"""The mechanisms of the seeds: Laplace noise for numbers, randomized response for bits.

Claim M1 (integers).  If neighbors move an integer answer (or vector) by at most Δ in L1, then the answer plus
independent integer Laplace noise of scale Δ/ε (claim N1) is ε-differentially private.

Claim M2 (floats).  A float is rounded to the grid g·ℤ, g a power of two.  If neighbors move d floats by
at most Δ in L1, their grid indices move by at most floor(Δ/g) + d, and M1 applies to the indices with that
sensitivity.  Every output is g times an integer (rounded to float64 when beyond 2^53), whatever the value.
A Δ that is given as a float is its shortest decimal or what it holds exactly, whichever is larger: two floats that far
apart may else move a step more than is paid for.  With g ≤ Δ/(ε·2^20) and g ≤ Δ/(d·2^10) the grid adds at most one part
in 2^10 to the noise; it is coarser, and costs more, only where d/ε is above 2^39 and the noise would not fit int64.

Claim M3 (randomized response).  Every bit is flipped with probability exactly 1/(1 + e^ε), independently: each
person's bit is ε-differentially private, even against the collector of the answers (local differential privacy).

Claim M4 (interval).  ``interval`` of a whole release covers the true value, of at most ``OutputGrid.limit``, with at
least the stated confidence: integers by the exact margin of claim A2, floats by the margin of the grid's noise plus one
step; ``simultaneous`` for all cells at once.

Values that would overflow are clamped to the range of int64 or float64 after the noise, which is post-processing, or
before it to a very large public bound, which moves neighbors no further apart.  Proofs: docs/explanation/mechanism.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import exact
from ..errors import InvalidValue, MissingParameter, TooLarge
from ..exact import Number
from .distributions import DiscreteLaplace, Laplace
from .entropy import SYSTEM, Entropy
from .intervals import Error, Interval, response_margin, response_rms
from .sampler import BLOCK, discrete_laplace

Array = NDArray[Any]

NINETY_FIVE = Fraction(19, 20)

_WHOLE = 2**53
"""Up to here float64 holds every integer."""

_WHOLE_TYPES = (int, np.integer)
_NOT_WHOLE = (bool, np.timedelta64)
_FLOAT_TYPES = (float, np.float32, np.float16)
_CONVERT = (
    "Noise is added to ints and floats and to arrays of them (signed, at most 64 bits): convert it first, for example "
    "with float() or .astype(np.int64)."
)


@overload
def laplace(value: int, *, sensitivity: Number, epsilon: Number, entropy: Entropy = SYSTEM) -> int: ...
@overload
def laplace(value: float, *, sensitivity: Number, epsilon: Number, entropy: Entropy = SYSTEM) -> float: ...
@overload
def laplace(value: ArrayLike, *, sensitivity: Number, epsilon: Number, entropy: Entropy = SYSTEM) -> Array: ...
def laplace(
    value: int | float | ArrayLike, *, sensitivity: Number, epsilon: Number, entropy: Entropy = SYSTEM
) -> int | float | Array:
    """Return the value with ε-differentially private Laplace noise (claims M1, M2).

    Args:
        value: an int (stays an int), a float, or an array or list of either; its shape is public.
        sensitivity: the most that one person (privacy unit) can move the value, in L1 over all its cells; any upper
            bound is safe.
        epsilon: the privacy loss, a number with at most nine decimal places, 0 < ε ≤ 1000; a float is rounded
            down to nine.
        entropy: the source of randomness; change it only in tests.
    """
    return LaplaceMechanism(sensitivity, epsilon).release(value, entropy=entropy)


@dataclass(frozen=True, init=False)
class LaplaceMechanism:
    """Adds Laplace noise of scale Δ/ε; its error is known before it gets a value."""

    sensitivity: Fraction
    epsilon: Fraction

    def __init__(self, sensitivity: Number, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", exact.epsilon(epsilon))
        object.__setattr__(self, "sensitivity", exact.sensitivity(sensitivity))

    @cached_property
    def scale(self) -> Fraction:
        """The noise scale, Δ/ε."""
        return self.sensitivity / self.epsilon

    @property
    def error(self) -> Error:
        """The error of the real-valued mechanism, as in the seeds."""
        return Error(Laplace(self.scale))

    @property
    def integer_noise(self) -> DiscreteLaplace:
        """The exact distribution of the noise that an integer gets."""
        return DiscreteLaplace(self.scale)

    def grid(self, cells: int = 1) -> OutputGrid:
        """Return the grid on which ``cells`` floats are released (claim M2)."""
        return _grid(self.sensitivity, self.epsilon, exact.whole(cells, "cells"))

    @cached_property
    def _grid_of_one(self) -> OutputGrid:
        return self.grid()

    @overload
    def release(self, value: int, *, entropy: Entropy = SYSTEM) -> int: ...
    @overload
    def release(self, value: float, *, entropy: Entropy = SYSTEM) -> float: ...
    @overload
    def release(self, value: ArrayLike, *, entropy: Entropy = SYSTEM) -> Array: ...
    def release(self, value: int | float | ArrayLike, *, entropy: Entropy = SYSTEM) -> int | float | Array:
        """Return the value with noise; values that cannot be released are refused before anything is drawn."""
        checked = self._checked(value)
        if isinstance(checked, int):
            return checked + discrete_laplace(self.scale, entropy=entropy)
        if isinstance(checked, float):
            return self._grid_of_one.release(checked, entropy)
        if checked.dtype == np.int64:
            return _release_whole(checked, self.scale, entropy)
        return self.grid(max(checked.size, 1)).release_array(checked, entropy)

    def interval(
        self, value: int | float | ArrayLike, confidence: Number = NINETY_FIVE, *, simultaneous: bool = False
    ) -> Interval:
        """Return an error bar (confidence interval) around a released value (claim M4).

        Args:
            value: the whole result of ``release``: an array gets arrays of ends, and a single cell of it would get
                the bar of a release of one number.
            confidence: the probability that the bar covers the true value.
            simultaneous: make it the probability that the bars of all cells cover at once.
        """
        checked = self._checked(value)
        cells = 1 if isinstance(checked, (int, float)) else max(checked.size, 1)
        together = cells if simultaneous else 1
        if isinstance(checked, int) or (not isinstance(checked, float) and checked.dtype == np.int64):
            margin = self.integer_noise.simultaneous_margin(together, confidence)
            if isinstance(checked, int):
                return Interval(checked - margin, checked + margin)
            margin = min(margin, np.iinfo(np.int64).max)
            return Interval(_saturating_add(checked, -margin), _saturating_add(checked, margin))
        grid = self.grid(cells)
        steps = DiscreteLaplace(grid.scale).simultaneous_margin(together, confidence) + 1
        width = float(steps * _power_of_two(grid.exponent))
        with np.errstate(all="ignore"):
            low, high = np.nextafter(checked - width, -np.inf), np.nextafter(checked + width, np.inf)
        return Interval(float(low), float(high)) if isinstance(checked, float) else Interval(low, high)

    def _checked(self, value: object) -> int | float | Array:
        """Return the value in one of the four types that can be released.

        Whether it is whole must not depend on the data: statistics.mean, for example, returns an int when it can.
        A whole answer that moves by less than 1 cannot move, so this is refused as that mistake.
        """
        checked = _plain(value)
        if self.sensitivity < 1 and (isinstance(checked, int) or getattr(checked, "dtype", None) == np.int64):
            raise InvalidValue(
                "whole, with a sensitivity below 1", "Give a float if the answer can be one: the type must be public."
            )
        return checked


@dataclass(frozen=True)
class OutputGrid:
    """The multiples of g = 2^exponent, and the scale of the noise in steps of g."""

    exponent: int
    scale: Fraction

    @property
    def step(self) -> float:
        """The distance g of two neighboring outputs."""
        return math.ldexp(1.0, self.exponent)

    @property
    def limit(self) -> float:
        """The public bound to which floats are clamped, so that indices and outputs stay finite."""
        return math.ldexp(1.0, min(1023, 1020 + self.exponent))

    def release(self, value: float, entropy: Entropy) -> float:
        """Return the value, rounded to the grid, plus noise."""
        index = round(math.ldexp(min(max(value, -self.limit), self.limit), -self.exponent))
        return math.ldexp(float(index + discrete_laplace(self.scale, entropy=entropy)), self.exponent)

    def release_array(self, values: NDArray[np.float64], entropy: Entropy) -> NDArray[np.float64]:
        """Do the same for every cell, in place and in blocks; ``values`` is a C-ordered array of our own.

        The index is an integer-valued float.  Noise below 2^53 is one too, so that a float addition rounds the exact
        sum once: the output is a function of that sum alone, as for ``release``.  Larger noise is added in Python's
        integers.
        """
        with np.errstate(all="ignore"):  # a caller's np.seterr must not turn small values into errors
            for part in _blocks(values):
                np.clip(part, -self.limit, self.limit, out=part)
                np.rint(np.ldexp(part, -self.exponent, out=part), out=part)
                noise = discrete_laplace(self.scale, part.size, entropy=entropy)
                large: Any = ()
                if noise.max() > _WHOLE or noise.min() < -_WHOLE:
                    large = np.flatnonzero((noise > _WHOLE) | (noise < -_WHOLE))
                sums = [float(int(part[i]) + int(noise[i])) for i in large]
                part += noise
                if sums:
                    part[large] = sums
                np.ldexp(part, self.exponent, out=part)
        return values


@lru_cache(maxsize=256)
def _grid(sensitivity: Fraction, epsilon: Fraction, cells: int) -> OutputGrid:
    """Return the coarsest grid that is fine enough, or the finest whose noise an array can hold."""
    finest = min(sensitivity / epsilon / 2**20, sensitivity / (cells * 2**10))
    exponent = finest.numerator.bit_length() - finest.denominator.bit_length() - 1
    exponent += finest >= _power_of_two(exponent + 1)
    if cells > 1 and cells / epsilon > 2**49:
        most = f"2^49·ε = {int(2**49 * epsilon):,}"
        raise TooLarge("The number of floats", f"{cells:,}", most, "Release fewer at once, or with a larger ε.")
    while True:
        scale = (sensitivity // _power_of_two(exponent) + cells) / epsilon
        if cells == 1 or scale <= 2**50:
            return OutputGrid(exponent, scale)
        exponent += 1


def _power_of_two(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _release_whole(values: NDArray[np.int64], scale: Fraction, entropy: Entropy) -> NDArray[np.int64]:
    """Add noise to integers, in place and in blocks; ``values`` is a C-ordered array of our own."""
    for part in _blocks(values):
        part[:] = _saturating_add(part, discrete_laplace(scale, part.size, entropy=entropy))
    return values


def _blocks(array: Array) -> Iterator[Array]:
    """Yield views of a C-ordered array, a block each, through which it can be changed."""
    flat = array.view()
    flat.shape = (array.size,)  # raises where reshape would silently copy
    for start in range(0, flat.size, BLOCK):
        yield flat[start : start + BLOCK]


def _saturating_add(values: NDArray[np.int64], others: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return values + others, clamped to the range of int64 where the sum would wrap around."""
    total = values + np.int64(others) if isinstance(others, int) else values + others
    wrapped = ((values ^ total) & (others ^ total)) < 0
    ends = np.iinfo(np.int64)
    return np.where(wrapped, np.where(values < 0, ends.min, ends.max), total)


def _plain(value: object) -> int | float | Array:
    """Return a Python int or float, or a new C-ordered int64 or float64 array; refuse everything else by its type.

    The copy is made before the check, so that the checked values cannot change.
    """
    if isinstance(value, _WHOLE_TYPES) and not isinstance(value, _NOT_WHOLE):
        return int(value)
    if isinstance(value, _FLOAT_TYPES):
        return _finite(float(value))
    if isinstance(value, (list, tuple)):
        value = _array_of(value)
    if not hasattr(value, "__array__") or isinstance(value, np.generic):
        raise InvalidValue(f"of type {type(value).__name__}", _CONVERT)
    try:
        given = np.asanyarray(value)
    except (TypeError, ValueError):
        raise InvalidValue(f"of type {type(value).__name__}", _CONVERT) from None
    kind, size = given.dtype.kind, given.dtype.itemsize
    if isinstance(given, np.ma.MaskedArray):
        raise InvalidValue("a masked array", _CONVERT)
    if kind not in "iuf" or size > 8 or (kind == "u" and size == 8):
        raise InvalidValue(f"an array of {given.dtype.type.__name__}", _CONVERT)
    with np.errstate(all="ignore"):
        array = np.array(given, dtype=np.float64 if kind == "f" else np.int64, order="C", subok=False)
        if kind == "f" and array.size:
            _finite(float(array.min()) + 0 * float(array.max()))  # both are NaN if one cell is
    return array if array.ndim else float(array) if kind == "f" else int(array)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise InvalidValue("not finite", "Decide by a public rule what a missing value counts as, then ask again.")
    return value


def _array_of(values: list[Any] | tuple[Any, ...]) -> Array:
    """Return a list as an array of a type that does not depend on the values.

    NumPy's own choice would: it turns ints that are beyond int64, or in a list with floats, into rounded floats.  Ints
    beyond int64 are clamped to its range, a public bound that moves no two values further apart.
    """
    ends = np.iinfo(np.int64)
    if all(isinstance(each, _WHOLE_TYPES) and not isinstance(each, _NOT_WHOLE) for each in values):
        return np.array([min(max(int(each), ends.min), ends.max) for each in values], dtype=np.int64)
    if all(isinstance(each, _FLOAT_TYPES) for each in values):
        return np.array([float(each) for each in values], dtype=np.float64)
    raise InvalidValue("a list of other things than only whole numbers or only floats", _CONVERT)


@dataclass(frozen=True)
class ResponseEstimate:
    """An estimated proportion, its root mean square error and its interval."""

    value: float
    rms: float
    low: float
    high: float
    confidence: Fraction


class _RandomizedResponse:
    """Flip every bit with probability 1/(1 + e^ε) (claim M3): ``randomized_response(bits, epsilon)``."""

    def __call__(self, bits: ArrayLike, epsilon: Number, *, entropy: Entropy = SYSTEM) -> NDArray[np.bool_]:
        """Return the bits as each person may report them, in the same shape.

        Integer Laplace noise of scale 1/ε is positive with probability e^(-ε)/(1 + e^(-ε)): the probability of a flip.
        """
        budget = exact.epsilon(epsilon)
        truth = _bits(bits)
        return truth ^ (discrete_laplace(1 / budget, truth.shape, entropy=entropy) > 0)

    def estimate(self, noisy: ArrayLike, epsilon: Number, confidence: Number = NINETY_FIVE) -> ResponseEstimate:
        """Return an unbiased estimate of the share of true bits (claim A8); it may lie outside [0, 1]."""
        budget, level, answers = exact.epsilon(epsilon), exact.probability(confidence), _bits(noisy)
        if not answers.size:
            raise MissingParameter("noisy", "Give one answer or more.")
        half = float(budget) / 2
        value = (float(answers.mean()) - 0.5) / math.tanh(half) + 0.5
        margin = response_margin(budget, answers.size, level)
        return ResponseEstimate(value, response_rms(budget, answers.size), value - margin, value + margin, level)


randomized_response = _RandomizedResponse()


def _bits(given: ArrayLike) -> NDArray[np.bool_]:
    try:
        array = np.array(given, subok=True)
    except ValueError:
        raise InvalidValue("not a bit", "Bits are False and True, or 0 and 1, in an array or a list.") from None
    if not array.size:
        return array.astype(np.bool_)
    masked = isinstance(array, np.ma.MaskedArray)
    if masked or array.dtype.kind not in "biu" or not ((array == 0) | (array == 1)).all():
        raise InvalidValue("not a bit", "Bits are False and True, or 0 and 1, in an array or a list.")
    return array.astype(np.bool_)
