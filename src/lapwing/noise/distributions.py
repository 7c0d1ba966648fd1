"""The Laplace distribution, on the real line and on the integers.

Claim A1 (integer law).  With a = 1/s, the integer law P(X = x) = tanh(a/2)·e^(-a|x|) has
    P(|X| ≥ k) = 2·e^(-ak)/(1 + e^(-a)) for k ≥ 1,   P(X ≤ -k) = e^(-ak)/(1 + e^(-a)) for k ≥ 1,
    E|X| = 1/sinh(a),   E X² = 1/(2·sinh²(a/2)).

Claim A2 (margin).  The smallest m with P(|X₁| ≤ m, …, |X_d| ≤ m) ≥ p, for d independent draws, is
    m = floor(s·(c - ln β)),   β = 1 - p^(1/d),   c = ln(2/(1 + e^(-a))),
and ``DiscreteLaplace.margin`` and ``simultaneous_margin`` return exactly this integer: s·(c - ln β) is
never an integer itself, and the floor is taken only when an enclosing interval contains none.

Claim A3 (quantile).  ``DiscreteLaplace.quantile(p)`` is the smallest x with P(X ≤ x) ≥ p, found in the same way.

Proofs: docs/explanation/accuracy.md.  Probabilities are floats with a relative error below 1e-12
down to 1e-300; integers are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from .. import exact
from ..errors import InvalidParameter
from ..exact import Number


@dataclass(frozen=True, init=False)
class Laplace:
    """The distribution on the real line with density e^(-|x|/s)/2s and scale s."""

    scale: Fraction

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", exact.scale(scale))

    @property
    def mean(self) -> float:
        """The mean, 0."""
        return 0.0

    @property
    def mean_abs(self) -> float:
        """The mean absolute value, s."""
        return float(self.scale)

    @property
    def variance(self) -> float:
        """The variance, 2s²."""
        return 2 * float(self.scale) * float(self.scale)

    @property
    def std(self) -> float:
        """The standard deviation, s·√2."""
        return math.sqrt(2) * float(self.scale)

    def pdf(self, x: Number) -> float:
        """Return the density at x."""
        return _decay(abs(exact.finite(x, "x")) / self.scale) / (2 * float(self.scale))

    def cdf(self, x: Number) -> float:
        """Return P(X ≤ x)."""
        at = exact.finite(x, "x")
        half = _decay(abs(at) / self.scale) / 2
        return half if at < 0 else 1 - half

    def tail(self, t: Number) -> float:
        """Return P(|X| > t): e^(-t/s), and 1 for t < 0."""
        return _decay(max(exact.finite(t, "t"), Fraction(0)) / self.scale)

    def quantile(self, p: Number) -> float:
        """Return the x with P(X ≤ x) = p."""
        share = exact.probability(p)
        nearer = 2 * min(share, 1 - share)
        distance = -float(self.scale) * math.log(nearer)
        return distance if share > Fraction(1, 2) else -distance

    def margin(self, confidence: Number = Fraction(19, 20)) -> float:
        """Return the m with P(|X| ≤ m) = confidence."""
        return self.simultaneous_margin(1, confidence)

    def simultaneous_margin(self, cells: int, confidence: Number = Fraction(19, 20)) -> float:
        """Return the m that all of ``cells`` independent draws stay within, with the given probability."""
        log_share = _log(exact.probability(confidence)) / exact.whole(cells, "cells")
        return -float(self.scale) * math.log(-math.expm1(log_share))


@dataclass(frozen=True, init=False)
class DiscreteLaplace:
    """The distribution on the integers with P(X = x) = tanh(1/2s)·e^(-|x|/s) and scale s (claim A1)."""

    scale: Fraction

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", exact.scale(scale))

    @property
    def mean(self) -> float:
        """The mean, 0."""
        return 0.0

    @property
    def mean_abs(self) -> float:
        """The mean absolute value, 1/sinh(1/s)."""
        rate = float(1 / self.scale)
        return -2 * math.exp(-rate) / math.expm1(-2 * rate)

    @property
    def variance(self) -> float:
        """The variance, 1/(2·sinh²(1/2s))."""
        return self.std * self.std

    @property
    def std(self) -> float:
        """The standard deviation."""
        rate = float(1 / self.scale)
        return -math.sqrt(2) * math.exp(-rate / 2) / math.expm1(-rate)

    def pmf(self, x: Number) -> float:
        """Return P(X = x), which is 0 between the integers."""
        at = exact.finite(x, "x")
        return math.tanh(float(1 / self.scale) / 2) * _decay(abs(at) / self.scale) if at.denominator == 1 else 0.0

    def cdf(self, x: Number) -> float:
        """Return P(X ≤ x)."""
        at = math.floor(exact.finite(x, "x"))
        return self._beyond(-at) if at < 0 else 1 - self._beyond(at + 1)

    def tail(self, t: Number) -> float:
        """Return P(|X| > t)."""
        at = math.floor(exact.finite(t, "t"))
        return 1.0 if at < 0 else 2 * self._beyond(at + 1)

    def quantile(self, p: Number) -> int:
        """Return the smallest x with P(X ≤ x) ≥ p (claim A3)."""
        share = exact.probability(p)
        nearer = 2 * min(share, 1 - share)

        def depth(context: Context) -> tuple[Decimal, Decimal]:
            value = context.minus(context.ln(exact.as_decimal(nearer, context)))
            return value, value

        distance = _decide(self.scale, depth, nearer)
        return distance if share > Fraction(1, 2) else -distance

    def margin(self, confidence: Number = Fraction(19, 20)) -> int:
        """Return the smallest m with P(|X| ≤ m) ≥ confidence, exactly (claim A2)."""
        return self.simultaneous_margin(1, confidence)

    def simultaneous_margin(self, cells: int, confidence: Number = Fraction(19, 20)) -> int:
        """Return the smallest m that all of ``cells`` independent draws stay within (claim A2)."""
        share, cells = exact.probability(confidence), exact.whole(cells, "cells")

        def depth(context: Context) -> tuple[Decimal, Decimal]:
            root = context.exp(context.divide(context.ln(exact.as_decimal(share, context)), Decimal(cells)))
            beta, slack = context.subtract(Decimal(1), root), exact.unit(context, 8)
            ends = context.add(beta, slack), context.subtract(beta, slack)
            return context.minus(context.ln(ends[0])), context.minus(context.ln(ends[1]))

        return _decide(self.scale, depth, (1 - share) / cells)

    def threshold(self, delta: Number, keys: int = 1) -> int:
        """Return the smallest T that noise lifts any of ``keys`` counts of 1 to with probability ≤ δ (claim K1)."""
        share, keys = exact.probability(delta), exact.whole(keys, "keys")
        if share >= Fraction(1, 2):
            raise InvalidParameter(delta, "δ", "below 1/2")

        def depth(context: Context) -> tuple[Decimal, Decimal]:
            root = context.exp(context.divide(context.ln(exact.as_decimal(1 - share, context)), Decimal(keys)))
            beta, slack = context.subtract(Decimal(1), root), exact.unit(context, 8)
            ends = (
                context.multiply(Decimal(2), each) for each in (context.add(beta, slack), context.subtract(beta, slack))
            )
            low, high = (context.minus(context.ln(end)) for end in ends)
            return low, high

        return _decide(self.scale, depth, share / keys) + 2

    def _beyond(self, k: int) -> float:
        """Return P(X ≥ k) for k ≥ 1."""
        return _decay(k / self.scale) / (1 + _decay(1 / self.scale))


def _decay(exponent: Fraction) -> float:
    """Return e^(-exponent)."""
    return math.exp(-float(exponent)) if exponent < 800 else 0.0


def _log(value: Fraction) -> float:
    """Return ln(value), accurately even when the value is within 1e-16 of 1."""
    return math.log1p(float(value - 1)) if value > Fraction(1, 2) else math.log(value)


def _decide(scale: Fraction, depth: Callable[[Context], tuple[Decimal, Decimal]], least: Fraction) -> int:
    """Return floor(s·(c + depth)); ``least`` is a number that the precision must resolve."""
    digits = starting_digits(scale) + len(str(int(1 / least)))
    while True:
        context = exact.arithmetic(digits)
        found = floor_between(scale, *depth(context), context)
        if found is not None:
            return found
        digits *= 2


def starting_digits(factor: Fraction) -> int:
    """Return a precision that almost always decides the floor of ``factor`` times a logarithm."""
    return 30 + len(str(int(factor)))


def floor_between(scale: Fraction, low: Decimal, high: Decimal, context: Context, step: int = 1) -> int | None:
    """Return floor(s·(c + t)/step) when it is the same for all t from ``low`` to ``high``, else None.

    ``low`` and ``high`` are logarithms correctly rounded in ``context`` (unit of rounding h = 10^(1-digits)).
    Their error is at most 3h(1 + t), that of c at most 6h, and the sum and product below add 3h(1 + t):
    together less than the 16h(1 + t) by which both ends are moved apart.
    """
    offset, factor = _offset(scale, context.prec), exact.as_decimal(scale / step, context)
    slack = context.multiply(exact.unit(context, 16), context.add(Decimal(1), context.abs(high)))
    first = context.multiply(factor, context.add(offset, context.subtract(low, slack)))
    last = context.multiply(factor, context.add(offset, context.add(high, slack)))
    return int(last) if int(first) == int(last) and first >= 0 else None


@lru_cache(maxsize=256)
def _offset(scale: Fraction, digits: int) -> Decimal:
    """Return c = ln(2/(1 + e^(-a))) to ``digits`` places."""
    context = exact.arithmetic(digits)
    decay = context.exp(exact.as_decimal(-1 / scale, context))
    return context.subtract(context.ln(Decimal(2)), context.ln(context.add(Decimal(1), decay)))
