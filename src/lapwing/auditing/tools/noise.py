"""The laws of noise, computed anew: in decimals of many places, or by convolution, not by the product's formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ... import exact

Floats = NDArray[np.float64]

CONTEXT = exact.arithmetic(400)
"""Decimals of so many places that 1 - 10^-300 is not 1."""


def decay_of(value: Fraction) -> Decimal:
    """Return e^value, and 0 where that is too small to matter."""
    return CONTEXT.exp(exact.as_decimal(value, CONTEXT)) if value > -3000 else Decimal(0)


def beyond(scale: Fraction, k: int) -> Decimal:
    """Return P(X ≥ k) for k ≥ 1, by adding up the probabilities of k, k + 1, …: a geometric series."""
    ratio = decay_of(-1 / scale)
    if not ratio:
        return Decimal(0)
    first = mass(scale, k)
    return CONTEXT.divide(first, CONTEXT.subtract(Decimal(1), ratio))


def mass(scale: Fraction, x: int) -> Decimal:
    """Return P(X = x) = tanh(a/2)·e^(-a|x|)."""
    ratio = decay_of(-1 / scale)
    top = CONTEXT.divide(CONTEXT.subtract(Decimal(1), ratio), CONTEXT.add(Decimal(1), ratio))
    return CONTEXT.multiply(top, decay_of(-Fraction(abs(x)) / scale))


def upto(scale: Fraction, x: int) -> Decimal:
    """Return P(X ≤ x)."""
    return beyond(scale, -x) if x < 0 else CONTEXT.subtract(Decimal(1), beyond(scale, x + 1))


def outside(scale: Fraction, m: int) -> Decimal:
    """Return P(|X| > m)."""
    return Decimal(1) if m < 0 else CONTEXT.multiply(Decimal(2), beyond(scale, m + 1))


def all_inside(scale: Fraction, m: int, cells: int) -> Decimal:
    """Return P(|X| ≤ m for all of so many draws)."""
    return CONTEXT.power(CONTEXT.subtract(Decimal(1), outside(scale, m)), cells)


def at_least(scale: Fraction, k: int) -> Decimal:
    """Return P(X ≥ k)."""
    return beyond(scale, k) if k > 0 else CONTEXT.subtract(Decimal(1), beyond(scale, 1 - k))


def real_tail(scales: Sequence[Fraction], x: float) -> float:
    """Return P(|sum of Laplace draws of these scales| > x), by partial fractions in decimals of many places.

    Equal scales are moved apart by 10^-30 of themselves, which changes the sum by about as much.
    """
    context, ordered = CONTEXT, sorted(scale for scale in scales if scale)
    apart = [scale * (1 + Fraction(i, 10**30)) for i, scale in enumerate(ordered)]
    total = Decimal(0)
    for i, scale in enumerate(apart):
        share = Fraction(1)
        for j, other in enumerate(apart):
            share *= 1 if i == j else scale**2 / (scale**2 - other**2)
        decay = context.exp(exact.as_decimal(-Fraction(x) / scale, context)) if x / scale < 3000 else Decimal(0)
        total = context.add(total, context.multiply(exact.as_decimal(share, context), decay))
    return float(total)


def whole_law(scale: Fraction, weights: Sequence[int]) -> Floats:
    """Return the probabilities of a weighted sum of integer noise, around 0 in the middle."""
    reach = int(30 * scale) + 5
    own = np.exp(-np.abs(np.arange(-reach, reach + 1)) / float(scale)) * math.tanh(1 / (2 * float(scale)))
    total = np.ones(1)
    for weight in weights:
        spread = np.zeros(2 * reach * weight + 1)
        spread[::weight] = own
        total = np.convolve(total, spread) if total.size < 4000 else _convolved(total, spread)
    return total


def _convolved(one: Floats, other: Floats) -> Floats:
    size = one.size + other.size - 1
    return np.asarray(np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(other, size), size))
