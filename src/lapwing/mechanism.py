"""The mechanisms of the seeds: Laplace noise for numbers, randomized response for bits.

Claim M1 (integers).  If neighbors move an integer answer (or vector) by at most Δ in L1, then the answer plus
independent integer Laplace noise of scale Δ/ε (claim N1) is ε-differentially private.

Claim M2 (floats).  A float is put on the grid g·ℤ, g a power of two, by rounding.  If neighbors move d floats by
at most Δ in L1, their grid indices move by at most floor(Δ/g) + d, and M1 applies to the indices with that
sensitivity.  Every output is g times an integer (rounded to float64 when beyond 2^53), whatever the value.
With g ≤ Δ/(ε·2^20) and g ≤ Δ/(d·2^10) the grid adds at most one part in 2^10 to the noise.

Claim M3 (randomized response).  Every bit is flipped with probability exactly 1/(1 + e^ε), independently: each
person's bit is ε-differentially private, even against whoever collects the answers.

Claim M4 (interval).  ``interval`` covers the true value with at least the stated confidence: integers by the exact
margin of claim A2, floats by the margin of the grid's noise plus one step; ``simultaneous`` for all cells at once.

What would overflow is cut at the ends of int64 or float64 after the noise, which is post-processing, or before it
by a public bound far beyond any use, which moves neighbors no further apart.  Proofs: docs/explanation/mechanism.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import exact
from .accuracy import Error, Interval, response_margin, response_rms
from .entropy import SYSTEM, Entropy
from .errors import InvalidNumber, InvalidValue
from .exact import Number
from .laplace import DiscreteLaplace, Laplace
from .noise import BLOCK, discrete_laplace

Array = NDArray[Any]

NINETY_FIVE = Fraction(19, 20)


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
        sensitivity: the most that one person can move the value, in L1 over all its cells; any upper bound will do.
        epsilon: the privacy lost, a decimal with at most nine places, 0 < ε ≤ 1000.
        entropy: leave it alone, except in tests.
    """
    return LaplaceMechanism(sensitivity, epsilon).release(value, entropy=entropy)


@dataclass(frozen=True, init=False)
class LaplaceMechanism:
    """Adds Laplace noise of scale Δ/ε; knows its error before any value is given to it."""

    sensitivity: Fraction
    epsilon: Fraction

    def __init__(self, sensitivity: Number, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", exact.epsilon(epsilon))
        object.__setattr__(self, "sensitivity", exact.sensitivity(sensitivity))

    @property
    def scale(self) -> Fraction:
        """The noise scale, Δ/ε."""
        return self.sensitivity / self.epsilon

    @property
    def error(self) -> Error:
        """The error of the real-valued mechanism, as in the seeds."""
        return Error(Laplace(self.scale))

    @property
    def integer_noise(self) -> DiscreteLaplace:
        """The exact law of the noise that an integer gets."""
        return DiscreteLaplace(self.scale)

    def grid(self, cells: int = 1) -> Grid:
        """Return the grid on which ``cells`` floats are released (claim M2)."""
        cells = max(cells, 1)
        finest = min(self.scale / 2**20, self.sensitivity / (cells * 2**10))
        exponent = finest.numerator.bit_length() - finest.denominator.bit_length() - 1
        exponent += finest >= _power_of_two(exponent + 1)
        return Grid(exponent, (self.sensitivity // _power_of_two(exponent) + cells) / self.epsilon)

    @overload
    def release(self, value: int, *, entropy: Entropy = SYSTEM) -> int: ...
    @overload
    def release(self, value: float, *, entropy: Entropy = SYSTEM) -> float: ...
    @overload
    def release(self, value: ArrayLike, *, entropy: Entropy = SYSTEM) -> Array: ...
    def release(self, value: int | float | ArrayLike, *, entropy: Entropy = SYSTEM) -> int | float | Array:
        """Return the value with noise; what cannot be released is refused before anything is drawn."""
        checked = _checked(value)
        if isinstance(checked, int):
            return checked + discrete_laplace(self.scale, entropy=entropy)
        if isinstance(checked, float):
            return self.grid().release(checked, entropy)
        if checked.dtype == np.int64:
            return _add_noise(checked, self.scale, entropy)
        return self.grid(checked.size).release_array(checked, entropy)

    def interval(
        self, value: int | float | ArrayLike, confidence: Number = NINETY_FIVE, *, simultaneous: bool = False
    ) -> Interval:
        """Return an error bar around a released value (claim M4).

        Args:
            value: what ``release`` returned; an array gets arrays of ends.
            confidence: the probability with which the bar covers the true value.
            simultaneous: make it the probability that the bars of all cells cover at once.
        """
        checked = _checked(value)
        cells = 1 if isinstance(checked, (int, float)) else checked.size
        together = max(cells, 1) if simultaneous else 1
        if isinstance(checked, int) or (not isinstance(checked, float) and checked.dtype == np.int64):
            margin = self.integer_noise.simultaneous_margin(together, confidence)
            if isinstance(checked, int):
                return Interval(checked - margin, checked + margin)
            margin = min(margin, np.iinfo(np.int64).max)
            return Interval(_saturating_add(checked, -margin), _saturating_add(checked, margin))
        grid = self.grid(cells)
        steps = DiscreteLaplace(grid.scale).simultaneous_margin(together, confidence) + 1
        width = float(steps * _power_of_two(grid.exponent))
        low, high = np.nextafter(checked - width, -np.inf), np.nextafter(checked + width, np.inf)
        return Interval(float(low), float(high)) if isinstance(checked, float) else Interval(low, high)


@dataclass(frozen=True)
class Grid:
    """The multiples of g = 2^exponent, and the scale of the noise in steps of g."""

    exponent: int
    scale: Fraction

    @property
    def step(self) -> float:
        """The distance g of two neighboring outputs."""
        return math.ldexp(1.0, self.exponent)

    @property
    def limit(self) -> float:
        """The public bound beyond which floats are cut, so that indices and outputs stay finite."""
        return math.ldexp(1.0, min(1023, 1020 + self.exponent))

    def release(self, value: float, entropy: Entropy) -> float:
        """Return the value, rounded to the grid, plus noise."""
        index = round(math.ldexp(min(max(value, -self.limit), self.limit), -self.exponent))
        return math.ldexp(float(index + discrete_laplace(self.scale, entropy=entropy)), self.exponent)

    def release_array(self, values: NDArray[np.float64], entropy: Entropy) -> NDArray[np.float64]:
        """Do the same for every cell, in blocks.

        The index is an integer-valued float and the noise an integer below 2^53, so one float addition rounds
        their exact sum: a function of that sum alone, as for ``release``.
        """
        out = np.clip(values, -self.limit, self.limit)
        np.ldexp(out, -self.exponent, out=out)
        np.rint(out, out=out)
        flat = out.reshape(-1)
        for start in range(0, flat.size, BLOCK):
            part = flat[start : start + BLOCK]
            part += discrete_laplace(self.scale, part.size, entropy=entropy)
        return np.ldexp(out, self.exponent, out=out)


def _power_of_two(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _add_noise(values: NDArray[np.int64], scale: Fraction, entropy: Entropy) -> NDArray[np.int64]:
    """Return integers plus noise, in one new array."""
    out = discrete_laplace(scale, values.shape, entropy=entropy)
    flat, given = out.reshape(-1), values.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        part = slice(start, start + BLOCK)
        flat[part] = _saturating_add(given[part], flat[part])
    return out


def _saturating_add(values: NDArray[np.int64], others: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Return values + others, cut at the ends of int64 where the sum would wrap around."""
    total = values + np.int64(others) if isinstance(others, int) else values + others
    wrapped = ((values ^ total) & (others ^ total)) < 0
    ends = np.iinfo(np.int64)
    return np.where(wrapped, np.where(values < 0, ends.min, ends.max), total)


def _checked(value: object) -> int | float | Array:
    """Return a Python int or float, or an int64 or float64 array; refuse everything else by its type."""
    if isinstance(value, (bool, np.bool_)):
        raise InvalidValue("a truth value")
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.float32, np.float16)):
        if not math.isfinite(value):
            raise InvalidValue("not finite")
        return float(value)
    if isinstance(value, (list, tuple)):
        kinds = {type(each) for each in value}
        if not (kinds <= {int} or kinds <= {float}):  # NumPy would round a large int beside a float
            raise InvalidValue("a list of other things than only ints or only floats")
    elif not hasattr(value, "__array__"):
        raise InvalidValue(f"of type {type(value).__name__}")
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidValue("a masked array")
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8 or array.dtype == np.uint64:
        raise InvalidValue(f"of dtype {array.dtype}")
    if array.dtype.kind == "f":
        if array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):  # both are NaN if one cell is
            raise InvalidValue("not finite")
        return array.astype(np.float64, copy=False) if array.ndim else float(array)
    return array.astype(np.int64, copy=False) if array.ndim else int(array)


@dataclass(frozen=True)
class Estimate:
    """An estimated proportion, its root mean square error and its interval."""

    value: float
    rms: float
    low: float
    high: float
    confidence: Fraction


class _RandomizedResponse:
    """Flip every bit with probability 1/(1 + e^ε) (claim M3): ``randomized_response(bits, epsilon)``."""

    def __call__(self, bits: ArrayLike, epsilon: Number, *, entropy: Entropy = SYSTEM) -> NDArray[np.bool_]:
        """Return the bits as each person may tell them; shape as given.

        Integer Laplace noise of scale 1/ε is positive with probability e^(-ε)/(1 + e^(-ε)): the flip wanted.
        """
        budget = exact.epsilon(epsilon)
        truth = _bits(bits)
        return truth ^ (discrete_laplace(1 / budget, truth.shape, entropy=entropy) > 0)

    def estimate(self, noisy: ArrayLike, epsilon: Number, confidence: Number = NINETY_FIVE) -> Estimate:
        """Return the share of true bits, freed of the flips' bias (claim A8); it may lie outside [0, 1]."""
        budget, level, answers = exact.epsilon(epsilon), exact.probability(confidence), _bits(noisy)
        if not answers.size:
            raise InvalidNumber(0, "number of answers", "a whole number from 1 on")
        half = float(budget) / 2
        value = (float(answers.mean()) - 0.5) / math.tanh(half) + 0.5
        margin = response_margin(budget, answers.size, level)
        return Estimate(value, response_rms(budget, answers.size), value - margin, value + margin, level)


randomized_response = _RandomizedResponse()


def _bits(given: ArrayLike) -> NDArray[np.bool_]:
    array = np.asarray(given)
    if array.dtype.kind not in "biu" or not ((array == 0) | (array == 1)).all():
        raise InvalidValue("not a bit (False, True, 0 or 1)")
    return array.astype(np.bool_)
