"""A lower bound on ε from counted events (a statistical lower bound).

Claim C1 (bound).  An event that was chosen independently of the draws counted happened in k of n independent draws of
a mechanism on x, and in l of m on y.  With p the lower end of Clopper and Pearson for k of n and q the upper end for l
of m, each at α/2,
    max(0, ln((p - δ)/q))
is at most the true ε of the mechanism for this pair of inputs (at this δ), with probability at least 1 - α.

The ends are on the safe side in float64 too: an end is returned only if an upper bound of its binomial tail is at most
α.  The bound sums the terms from the outermost one on, adds a geometric series for those that are left, and all that
rounding can have taken away.  Proof: docs/explanation/audit.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from operator import index

import numpy as np

from ...errors import InvalidParameter

_AT_ONCE = 1 << 13
_MOST = 10**9
_UNIT = 2.0**-48
"""The error of ``lgamma``, ``log`` and sums, relative to all terms of a logarithm: 16 rounding errors."""


def least_share(k: int, n: int, alpha: float) -> float:
    """Return the lower end for the probability of what happened k times in n: too high with probability at most α."""
    k, n, alpha = _checked(k, n, alpha)
    if k == 0:
        return 0.0
    low, high = 0.0, k / n  # at k/n the tail is at least 1/2
    while (middle := _between(low, high)) is not None:
        low, high = (middle, high) if _log_tail(k, n, middle) <= math.log(alpha) else (low, middle)
    return low


def most_share(k: int, n: int, alpha: float) -> float:
    """Return the upper end for the probability of what happened k times in n: too low with probability at most α."""
    k, n, alpha = _checked(k, n, alpha)
    if k == n:
        return 1.0
    low, high = k / n, 1.0
    while (middle := _between(low, high)) is not None:
        low, high = (low, middle) if _log_head(k, n, middle) <= math.log(alpha) else (middle, high)
    return high


def certified_epsilon(
    hits_x: int, draws_x: int, hits_y: int, draws_y: int, alpha: float, delta: float | Fraction = 0
) -> float:
    """Return a lower bound on ε from counts of one event on two inputs (claim C1); 0 if they show nothing."""
    if not 0 <= delta < 1:
        raise InvalidParameter(delta, "δ", "a probability from 0 on and below 1")
    p, q = least_share(hits_x, draws_x, alpha / 2), most_share(hits_y, draws_y, alpha / 2)
    above = p - float(delta) * (1 + _UNIT)
    if above <= q:
        return 0.0
    bound = math.log(above / q)
    return max(0.0, bound - _UNIT * (1 + bound))


def _checked(k: int, n: int, alpha: float) -> tuple[int, int, float]:
    if not 0 <= index(n) <= _MOST:
        raise InvalidParameter(n, "number of draws", f"a whole number from 0 to {_MOST:,}")
    if not 0 <= index(k) <= n:
        raise InvalidParameter(k, "number of hits", "a whole number from 0 to that of the draws")
    if not 1e-300 <= alpha <= 0.5:
        raise InvalidParameter(alpha, "α", "from 1e-300 to 1/2")
    return index(k), index(n), float(alpha)


def _between(low: float, high: float) -> float | None:
    """Return a float between two ends, in the middle of their logarithms if far apart; None if they are close."""
    if high - low <= 1e-15 * high:
        return None
    middle = math.sqrt(max(low, 1e-300) * high) if low < high / 2 else low + (high - low) / 2
    return middle if low < middle < high else None


def _log_tail(k: int, n: int, p: float) -> float:
    """Return at least ln P(X ≥ k), for X binomial with n and 0 < p ≤ k/n."""
    return _log_mass(k, n, p) + math.log(_series(k, n, p / (1 - p)))


def _log_head(k: int, n: int, p: float) -> float:
    """Return at least ln P(X ≤ k), for k/n ≤ p < 1."""
    return _log_mass(k, n, p) + math.log(_series(n - k, n, (1 - p) / p))


def _log_mass(k: int, n: int, p: float) -> float:
    """Return at least ln P(X = k)."""
    whole, first, second = math.lgamma(n + 1), math.lgamma(k + 1), math.lgamma(n - k + 1)
    hits, misses = k * math.log(p), (n - k) * math.log1p(-p)
    return whole - first - second + hits + misses + _UNIT * (1 + whole + first + second - hits - misses)


def _series(k: int, n: int, odds: float) -> float:
    """Return at least 1 + r₀ + r₀·r₁ + …, where rᵢ = odds·(n - k - i)/(k + 1 + i) falls and is below 1."""
    total, last, start = 1.0, 1.0, 0
    while start < n - k:
        i = np.arange(start, min(start + _AT_ONCE, n - k), dtype=np.float64)
        start += i.size
        terms = np.cumprod(odds * ((n - k - i) / (k + 1 + i))) * last
        total, last = total + float(terms.sum()), float(terms[-1])
        ratio = odds * (n - k - start) / (k + 1 + start)
        rest = last * ratio / (1 - ratio) if ratio < 1 else math.inf
        if rest <= 1e-12 * total:
            return (total + rest) * (1 + 1e-9)  # some 10^5 factors, each with five errors of 2^-53
    return total * (1 + 1e-9)
