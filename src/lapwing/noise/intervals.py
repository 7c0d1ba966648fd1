"""The cost of the noise: errors before a release, intervals after it, and the number of people needed.

Claim A4 (one error).  For Z ~ Lap(λ): E|Z| = λ, √E(Z²) = λ√2, P(|Z| > tλ) = e^(-t)   (Lemma 1.4, part 1).

Claim A5 (d errors).  For d independent ones and M = max |Zᵢ|: E Σ|Zᵢ| = dλ,
    E M = λ(1 + 1/2 + … + 1/d) ≤ λ(ln d + 1),
    P(M > λ(ln d + t)) = 1 - (1 - e^(-t)/d)^d ≤ e^(-t) for t ≥ 0   (Lemma 1.4, part 2).

Claim A6 (Chebyshev).  P(|Z| ≥ k·√2·λ) = e^(-k√2) ≤ 1/k².

Claim A7 (size).  The root mean square error of a proportion of n people is √2/(nε) with real Laplace noise under
change_one and √(e^ε/n)/(e^ε - 1) with randomized response.  ``size_for`` returns the smallest n, and ``epsilon_for``
the smallest ε with nine decimal places, for which it is at most the given error.

Claim A8 (randomized response).  Its estimate is unbiased, has the error of A7 whatever the true bits are, and
lies within √(ln(2/β)/(n·ε·tanh(ε/2))) of the truth with probability at least 1 - β.

Claim A9 (sums).  For independent Laplace draws of different scales b_1, …, b_m:
    P(|Z₁ + … + Z_m| > x) = Σᵢ e^(-x/bᵢ)·Πⱼ bᵢ²/(bᵢ² - bⱼ²)   (the product over j ≠ i);
it grows with every bᵢ, so equal scales may be moved apart upwards.  An integer draw lies within 1 of a real one of the
same scale, if both are computed from the same randomness.

Claim A10 (ratio).  Let cells of true masses m_j ≥ 0 at positions p_j in [0, 1] get independent noise of one scale, with
noisy cells ĉ_j.  The set of all t with |Σ(p_j - t)·ĉ_j| ≤ q(t), q(t) the margin of A9 for the scales |p_j - t|·s,
contains the mean position Σp_j·m_j/Σm_j with the confidence of q.  Where Σĉ_j is above the steepest slope of q the set
is an interval; otherwise the whole range is returned.

Claim A11 (variance, to second order).  For the cells of claim P3 the variance has the error Σ c_j·Z_j + r, with
slopes c = (p₂ - 2v, -p₁/2 - 2v, p₀ - 2v)/N for shares p and variance v; the bar is the margin of A9 for the
estimated slopes plus 2·(ln(1/β)·s/N)² for r.

Proofs: docs/explanation/accuracy.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import exact
from ..errors import InvalidParameter, OutOfReach
from ..exact import NANO, Number
from .distributions import Laplace

Floats = NDArray[np.float64]
Method = Literal["laplace", "randomized_response"]

_EULER = 0.5772156649015329


class Interval(NamedTuple):
    """The ends of an error bar (confidence interval): integers, floats, or arrays of them, like the value."""

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

    The number is public: neighbors are those of change_one (bounded DP).
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

    n is public: neighbors are those of change_one (bounded DP).
    """
    target, n = exact.positive(error, "error"), exact.whole(n, "n")
    if _is_laplace(mechanism):
        nano = _ceil_root(2 * NANO**2 / (target * n) ** 2)
    else:
        nano = _smallest_nano(n * target**2)
    if nano > exact.MAX_EPSILON * NANO:
        raise OutOfReach(error, exact.MAX_EPSILON, f"Ask for a larger error, or for more people than n = {n}.")
    return Fraction(nano, NANO)


def response_rms(epsilon: Fraction, n: int) -> float:
    """Return the root mean square error of a proportion with randomized response (claim A7)."""
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
    """Return whether e^ε/(e^ε - 1)² ≤ variance; the two are never equal, so some precision decides."""
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


# --- error bars of what is computed from several noisy cells ---


def sum_margin(scales: Sequence[Fraction], confidence: Fraction) -> float:
    """Return a margin for the sum of independent Laplace draws of these scales (claim A9), to one part in 10^5."""
    return _sum_margin(tuple(sorted(scale for scale in scales if scale)), confidence)


@lru_cache(maxsize=4096)  # a server plans the same public scales again and again
def _sum_margin(scales: tuple[Fraction, ...], confidence: Fraction) -> float:
    """Return the margin of ``sum_margin``, for scales in increasing order."""
    beyond = 1 - confidence
    parted = _parted(scales)
    if not parted:
        return 0.0
    context = exact.arithmetic(40 + 13 * len(parted) + len(str(int(1 / beyond))))
    largest = parted[-1]
    lengths = [exact.as_decimal(each / largest, context) for each in parted]
    shares = []
    for i, each in enumerate(parted):
        share = Fraction(1)
        for j, other in enumerate(parted):
            if i != j:
                share *= each**2 / (each**2 - other**2)
        shares.append(exact.as_decimal(share, context))
    limit = exact.as_decimal(beyond, context)

    def tail(x: Decimal) -> Decimal:
        total = Decimal(0)
        for share, length in zip(shares, lengths, strict=True):
            total = context.add(total, context.multiply(share, context.exp(context.divide(context.minus(x), length))))
        return total

    low, high = Decimal(0), Decimal(1)
    while tail(high) > limit:
        low, high = high, context.multiply(high, Decimal(2))
    for _ in range(30):
        middle = context.divide(context.add(low, high), Decimal(2))
        low, high = (middle, high) if tail(middle) > limit else (low, middle)
    return float(high) * float(largest)


def _parted(scales: Sequence[Fraction]) -> list[Fraction]:
    """Return the scales in increasing order; those within a millionth of each other are moved apart upwards."""
    parted: list[Fraction] = []
    for scale in sorted(scales):
        least = parted[-1] * Fraction(1_000_001, 1_000_000) if parted else scale
        parted.append(max(scale, least))
    return parted


def ratio_interval(
    cells: Floats, positions: Sequence[float], scale: float, beyond: float, slack: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """Return the mass-weighted mean position of noisy cells, and the ends of its error bar (claim A10).

    Args:
        cells: one row for each cell, one column for each group.
        positions: where each cell lies, from 0 to 1.
        scale: the scale of the noise of every cell.
        beyond: the probability β that a bar misses.
        slack: by how much a cell may be off in addition to its noise.
    """
    total = cells.sum(axis=0)
    at = np.asarray(positions)[:, None]
    weighted = (at * cells).sum(axis=0)
    with np.errstate(all="ignore"):
        value = np.clip(np.where(total > 0, weighted / total, 0.5), 0.0, 1.0)
    grid = np.linspace(0.0, 1.0, 1025)
    reach = tail_quantile(np.abs(at - grid) * scale, beyond) + slack * np.abs(at - grid).sum(axis=0)
    steepest = np.abs(np.diff(reach)).max() * 1024 if scale else 0.0
    reach = reach + steepest / 2048  # between two points of the grid
    sure = total > 1.01 * steepest  # else no value can be excluded
    ends = []
    for sign in (1, -1):
        # the lowest t with weighted - t·total ≤ reach(t), the highest with ≥ -reach(t): both sides are monotone in t
        low, high = np.zeros_like(total), np.ones_like(total)
        for _ in range(40):
            middle = (low + high) / 2
            inside = sign * (weighted - middle * total) <= np.interp(middle, grid, reach)
            down = inside if sign == 1 else ~inside
            low, high = np.where(down, low, middle), np.where(down, middle, high)
        ends.append(np.where(sure, low if sign == 1 else high, 0.0 if sign == 1 else 1.0))
    with np.errstate(all="ignore"):  # noise that leads out of [0, 1] must not make the bar look narrow
        half = np.where(sure, np.interp(value, grid, reach) / total, 1.0)
    return value, np.minimum(ends[0], np.maximum(value - half, 0.0)), np.maximum(ends[1], np.minimum(value + half, 1.0))


def variance_interval(cells: Floats, scale: float, beyond: float) -> tuple[Floats, Floats, Floats]:
    """Return the variance of positions in [0, 1] from the three cells of claim P3, with its error bar (claim A11)."""
    total = cells.sum(axis=0)
    with np.errstate(all="ignore"):
        shares = np.where(total > 0, cells / total, 0.0)
    low, middle, high = shares
    value = np.clip(low * high - middle**2 / 4, 0.0, 0.25)
    inside = np.clip(shares, 0.0, 1.0)
    spread = np.clip(inside[0] * inside[2] - inside[1] ** 2 / 4, 0.0, 0.25)
    slopes = np.abs(np.stack([inside[2] - 2 * spread, inside[1] / 2 + 2 * spread, inside[0] - 2 * spread]))
    with np.errstate(all="ignore"):
        noise = np.where(total > 0, scale / total, np.inf)
    widest = -math.log(beyond)
    sure = noise * widest < 0.25
    noise = np.where(sure, noise, 0.0)
    reach = tail_quantile(slopes, beyond) * noise + 2 * (widest * noise) ** 2
    ends = np.maximum(value - reach, 0.0), np.minimum(value + reach, 0.25)
    return value, np.where(sure, ends[0], 0.0), np.where(sure, ends[1], 0.25)


def tail_quantile(scales: Floats, beyond: float) -> Floats:
    """Return, for each column of two or three Laplace scales, the x with P(|sum of draws| > x) = ``beyond``.

    Scales within a thousandth of each other are moved apart, upwards, so the x is at most a few parts in 10³ too large.
    """
    ordered = np.sort(np.asarray(scales, dtype=float), axis=0)
    largest = ordered[-1]
    unit = np.where(largest > 0, largest, 1.0)
    ordered = np.maximum(ordered / unit, 1e-3)
    for i in range(1, len(ordered)):
        ordered[i] = np.maximum(ordered[i], ordered[i - 1] * 1.001)
    squares = ordered**2
    shares = np.ones_like(ordered)
    for i in range(len(ordered)):
        for j in range(len(ordered)):
            if i != j:
                shares[i] *= squares[i] / (squares[i] - squares[j])
    low = np.zeros_like(unit)
    high = np.full_like(unit, 2 * len(ordered) - 2 * math.log(beyond))
    for _ in range(45):
        middle = (low + high) / 2
        above = (shares * np.exp(-middle / ordered)).sum(axis=0) > beyond
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(largest > 0, high * unit, 0.0)
