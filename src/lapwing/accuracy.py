"""What the noise costs: errors before a release, intervals after it, and the sizes needed.

Claim A4 (one error).  For Z ~ Lap(λ): E|Z| = λ, √E(Z²) = λ√2, P(|Z| > tλ) = e^(-t)   (Lemma 1.4, part 1).

Claim A5 (d errors).  For d independent ones and M = max |Zᵢ|: E Σ|Zᵢ| = dλ,
    E M = λ(1 + 1/2 + … + 1/d) ≤ λ(ln d + 1),
    P(M > λ(ln d + t)) = 1 - (1 - e^(-t)/d)^d ≤ e^(-t) for t ≥ 0   (Lemma 1.4, part 2).

Claim A6 (Chebyshev).  P(|Z| ≥ k·√2·λ) = e^(-k√2) ≤ 1/k².

Claim A7 (size).  The root mean square error of a proportion of n people is √2/(nε) by real Laplace noise under
change_one and √(e^ε/n)/(e^ε - 1) by randomized response.  ``size_for`` returns the smallest n, and ``epsilon_for``
the smallest ε with nine places, for which it is at most the error asked for.

Claim A8 (randomized response).  Its estimate is unbiased, has the error of A7 whatever the true bits are, and
lies within √(ln(2/β)/(n·ε·tanh(ε/2))) of the truth with probability at least 1 - β.

Proofs: docs/explanation/accuracy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from . import exact
from .errors import InvalidParameter
from .exact import NANO, Number
from .laplace import Laplace

Method = Literal["laplace", "randomized_response"]

_EULER = 0.5772156649015329


class Interval(NamedTuple):
    """The ends of an error bar: integers, floats, or arrays of them, as the value is."""

    low: Any
    high: Any


@dataclass(frozen=True)
class Error:
    """The error of real-valued Laplace noise (claims A4 to A6); ``t`` counts scales, ``k`` standard deviations."""

    law: Laplace

    @property
    def mean(self) -> float:
        """The mean absolute error, λ."""
        return self.law.mean_abs

    @property
    def rms(self) -> float:
        """The root mean square error, λ√2."""
        return self.law.std

    def tail(self, t: Number) -> float:
        """Return P(|Z| > tλ)."""
        return math.exp(-float(min(exact.nonnegative(t, "t"), Fraction(10**6))))

    def quantile(self, p: Number) -> float:
        """Return the error that is not exceeded with probability p."""
        return self.law.margin(p)

    def chebyshev(self, k: Number) -> float:
        """Return Chebyshev's bound on P(|Z| ≥ k standard deviations), 1/k² (and at most 1)."""
        deviations = exact.positive(k, "k")
        return float(1 / deviations**2) if deviations > 1 else 1.0

    def total_mean(self, d: int) -> float:
        """Return the mean of the sum of d absolute errors."""
        return exact.whole(d, "d") * self.mean

    def max_mean(self, d: int) -> float:
        """Return the mean of the largest of d absolute errors, exactly."""
        return self.mean * _harmonic(exact.whole(d, "d"))

    def max_mean_bound(self, d: int) -> float:
        """Return the bound of Lemma 1.4 on ``max_mean``: λ(ln d + 1)."""
        return self.mean * (math.log(exact.whole(d, "d")) + 1)

    def max_tail(self, d: int, t: Number) -> float:
        """Return P(the largest of d absolute errors > λ(ln d + t)), exactly; at most e^(-t)."""
        cells = exact.whole(d, "d")
        share = self.tail(t) / cells
        return -math.expm1(cells * math.log1p(-share)) if share < 1 else 1.0


def _harmonic(d: int) -> float:
    """Return 1 + 1/2 + … + 1/d."""
    if d <= 1000:
        return math.fsum(1 / k for k in range(1, d + 1))
    return math.log(d) + _EULER + 1 / (2 * d) - 1 / (12 * d**2)  # what is left out is below 1/(120·d⁴)


def size_for(error: Number, epsilon: Number, mechanism: Method = "laplace") -> int:
    """Return the smallest number of people whose proportion has at most this root mean square error (claim A7).

    The number is public: neighbors are those of change_one.
    """
    target, budget = exact.positive(error, "error"), exact.epsilon(epsilon)
    if _is_laplace(mechanism):
        return _ceil_root(2 / (target * budget) ** 2)
    digits = 40
    while True:
        context = exact.arithmetic(digits)
        needed = context.divide(_response_variance(budget, context), exact.as_decimal(target**2, context))
        slack = context.multiply(needed, exact.unit(context, 10**24))
        low, high = math.ceil(context.subtract(needed, slack)), math.ceil(context.add(needed, slack))
        if low == high:
            return low
        digits *= 2


def epsilon_for(error: Number, n: int, mechanism: Method = "laplace") -> Fraction:
    """Return the smallest ε at which a proportion of n people has at most this root mean square error (claim A7).

    n is public: neighbors are those of change_one.
    """
    target, n = exact.positive(error, "error"), exact.whole(n, "n")
    if _is_laplace(mechanism):
        nano = _ceil_root(2 * NANO**2 / (target * n) ** 2)
    else:
        nano = _smallest_nano(n * target**2)
    if nano > exact.MAX_EPSILON * NANO:
        raise InvalidParameter(error, "error", f"larger, or n: with n = {n} it needs ε above {exact.MAX_EPSILON}")
    return Fraction(nano, NANO)


def response_rms(epsilon: Fraction, n: int) -> float:
    """Return the root mean square error of a proportion by randomized response (claim A7)."""
    return math.sqrt(float(_response_variance(epsilon, exact.arithmetic(40))) / n)


def response_margin(epsilon: Fraction, n: int, confidence: Fraction) -> float:
    """Return the half-width of A8's interval."""
    budget = float(epsilon)
    return math.sqrt(math.log(2 / (1 - confidence)) / (n * budget * math.tanh(budget / 2)))


def _is_laplace(mechanism: str) -> bool:
    if mechanism not in ("laplace", "randomized_response"):
        raise InvalidParameter(mechanism, "mechanism", '"laplace" or "randomized_response"')
    return mechanism == "laplace"


def _ceil_root(square: Fraction) -> int:
    """Return the smallest whole r ≥ 1 with r² ≥ square."""
    return math.isqrt(max(math.ceil(square) - 1, 0)) + 1


def _response_variance(epsilon: Fraction, context: Context) -> Decimal:
    """Return e^ε/(e^ε - 1)², the variance for n = 1."""
    growth = context.exp(exact.as_decimal(epsilon, context))
    return context.divide(growth, context.power(context.subtract(growth, Decimal(1)), 2))


def _smallest_nano(variance: Fraction) -> int:
    """Return the smallest nano-ε with e^ε/(e^ε - 1)² ≤ variance; the left side falls as ε grows."""
    low, high = 0, exact.MAX_EPSILON * NANO + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_enough(Fraction(middle, NANO), variance) else (middle, high)
    return high


def _is_enough(epsilon: Fraction, variance: Fraction) -> bool:
    """Return whether e^ε/(e^ε - 1)² ≤ variance; the two are never equal, so some precision tells them apart."""
    digits = 40
    while True:
        context = exact.arithmetic(digits)
        ratio = context.divide(_response_variance(epsilon, context), exact.as_decimal(variance, context))
        slack = exact.unit(context, 10**24)  # ε may be 10^-9: e^ε - 1 then loses nine digits, its square eighteen
        if context.add(ratio, slack) < 1:
            return True
        if context.subtract(ratio, slack) > 1:
            return False
        digits *= 2
