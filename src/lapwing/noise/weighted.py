"""Weighted sums of integer noise: margins that hold, whatever the weights and the scales.

Claim D3 (margin).  Let Y = Σ wᵢXᵢ with independent integer noise of scales sᵢ = 1/aᵢ, V an independent normal variable
of deviation τ, Φ the normal distribution function, and q(x) = P(|Y + V| > x).  For every r > 0, every
0 < t < min aᵢ/|wᵢ|, and every T > x, K and U = Kπ/T:
    P(|Y| > x + r) ≤ q(x)/Φ(r/τ),
    q(x) ≤ 2·e^((tτ)²/2 - tx)·Πᵢ (1 - e^(-aᵢ))²/((1 - e^(-(aᵢ + twᵢ)))·(1 - e^(-(aᵢ - twᵢ))))   (also for V = 0),
    q(x) ≤ 1 - x/T - (2/π)·Σ sin(kπx/T)·φ(kπ/T)/k + q(2T - x) + (2/π)·e^(-(τU)²/2)/(τU)²   (the sum over k = 1 … K),
with φ(u) = e^(-(τu)²/2)·Πᵢ 1/(1 + sin²(wᵢu/2)/sinh²(aᵢ/2)).  ``margins`` and ``margin_of`` return the smallest that
these give.

Proof: docs/explanation/tree.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import exact
from ..exact import Number
from .distributions import DiscreteLaplace

Floats = NDArray[np.float64]

_NUMERIC = 1e-9
"""Below this probability the margin is Chernoff's: floats cannot resolve the exact one."""

_WIDER = 1 + 1e-6
"""By how much margins are widened for the rounding of floats."""

_THETAS = np.arange(1, 32) / 32
_REACH = 2.3
"""The slack of a smoothed margin, in deviations of the smoothing noise: close to optimal for usual confidences."""

_WORK = 1000
"""How fine the smoothing is, divided by the number of different weights: this bounds the time of one margin."""


class EqualDraws(NamedTuple):
    """Independent noisy cells of one scale that enter a sum with the same weight."""

    weight: float
    scale: Fraction
    times: int = 1


def margins(weights: Floats, scale: Number, confidence: Number) -> list[float]:
    """Return, for each column of weights, a margin of the sum of weighted integer noise of one scale (claim D3)."""
    size, share = exact.scale(scale), exact.probability(confidence)
    return [_margin(column, size, share) for column in np.abs(weights).T]


def margin_of(cells: Sequence[EqualDraws], confidence: Fraction, *, smooth: bool = False) -> float:
    """Return a margin of a weighted sum of cells of any scales (claim D3).

    With ``smooth`` it is not the smallest integer where all weights are equal: such margins jump between weights that
    are nearly the same.
    """
    merged: dict[tuple[float, Fraction], int] = {}
    for weight, scale, times in cells:
        if weight and scale and times:
            key = abs(float(weight)), scale
            merged[key] = merged.get(key, 0) + times
    if not merged:
        return 0.0
    if sum(merged.values()) == 1:
        ((weight, scale),) = merged
        return _multiple(DiscreteLaplace(scale).margin(confidence), weight)
    ordered = sorted(merged.items(), key=lambda item: item[0][0] * float(item[0][1]))
    weights, scales = tuple(w for (w, _), _ in ordered), tuple(s for (_, s), _ in ordered)
    return _margin_of_sum(weights, tuple(times for _, times in ordered), scales, confidence, smooth)


def _margin(weights: Floats, scale: Fraction, confidence: Fraction) -> float:
    """Return the margin for nonnegative weights; they are rounded to twelve places, so that many are equal."""
    distinct, times = np.unique(np.rint(weights * 1e12) / 1e12, return_counts=True)
    if distinct[0] == 0:
        distinct, times = distinct[1:], times[1:]
    if not len(distinct):
        return 0.0
    if times.sum() == 1:
        return _multiple(DiscreteLaplace(scale).margin(confidence), float(distinct[0]))
    return _margin_of_sum(
        tuple(distinct.tolist()), tuple(times.tolist()), (scale,) * len(distinct), confidence, smooth=False
    )


@lru_cache(maxsize=4096)
def _margin_of_sum(
    weights: tuple[float, ...],
    times: tuple[int, ...],
    scales: tuple[Fraction, ...],
    confidence: Fraction,
    smooth: bool,
) -> float:
    """Return the margin for several draws, of which so many have each weight; views of a release ask for it again."""
    rates = np.array([1 / float(scale) for scale in scales])
    unit, beyond = weights[-1] * float(scales[-1]), float(1 - confidence)  # so that no size overflows
    law = _Sum(np.array(weights) / unit, np.array(times, dtype=float), rates)
    steps = law.whole(beyond) if len(set(weights)) == 1 and not smooth else None
    return unit * min(law.chernoff(beyond), law.smoothed(beyond)) if steps is None else _multiple(steps, weights[0])


class _Sum(NamedTuple):
    """A sum of independent integer noises of scales 1/rates, ``times`` of them with the weight ``weights``.

    The last has the largest product of weight and scale, which is about 1.
    """

    weights: Floats
    times: Floats
    rates: Floats

    @property
    def reaches(self) -> Floats:
        """The scales of the weighted noises."""
        return self.weights / self.rates

    def chernoff(self, beyond: float, deviation: float = 0.0) -> float:
        """Return a margin by the second inequality of D3, for the best of some t."""
        t = _THETAS / self.reaches[-1]
        by, rates = t * self.reaches[:, None], self.rates[:, None]
        with np.errstate(all="ignore"):
            ends = _log_share(rates * (1 + by)) + _log_share(rates * (1 - by))
            each = np.where(rates < 2**-20, -np.log1p(-(by**2)), 2 * _log_share(rates) - ends)
        # below 2^-20 it is as good as continuous noise, and never smaller: see the proof
        powers = self.times @ each + (t * deviation) ** 2 / 2 + math.log(2 / beyond)
        return float((powers / t).min()) * _WIDER

    def smoothed(self, beyond: float) -> float:
        """Return a margin by the first and the third inequality of D3."""
        if beyond < _NUMERIC:
            return math.inf
        fine = min(max(_WORK / len(self.weights), 40), 1000)
        deviation = math.sqrt(float(self.times @ self.reaches**2)) / fine
        slack = _REACH * deviation
        allowed = beyond * (1 + math.erf(_REACH / math.sqrt(2))) / 2
        high, period = (
            self.chernoff(allowed, deviation),
            self.chernoff(allowed / 1000, deviation),
        )  # q(T) ≤ allowed/1000
        reach = math.sqrt(2 * math.log(1000 / allowed)) / deviation
        terms = math.ceil(reach * period / math.pi)  # what is left out is below allowed/1000: (τU)² ≥ 2·ln(1000) > 2/π
        steps = np.arange(1, terms + 1)
        angles = steps * (math.pi / period)
        sines = np.sin(np.outer(self.weights, angles / 2)) / -np.expm1(-self.rates)[:, None]
        spread = np.log1p(4 * np.exp(-self.rates)[:, None] * sines**2)
        powers = self.times @ spread + (deviation * angles) ** 2 / 2
        shares = 2 / math.pi * np.exp(-powers) / steps
        seen = shares > 1e-13 / terms  # all others together are below 1e-13
        shares, angles = shares[seen], angles[seen]
        low, most = 0.0, allowed * 0.998 - 1e-12
        for _ in range(16):
            middle = (low + high) / 2
            outside = 1 - middle / period - float(shares @ np.sin(angles * middle))
            low, high = (middle, high) if outside > most else (low, middle)
        return (high + slack) * _WIDER

    def whole(self, beyond: float) -> int | None:
        """Return the smallest margin, in steps, if all weights are equal: the sum of the noise is then a whole number.

        If that would take long, or floats cannot resolve it, return None.
        """
        reach = self.chernoff(beyond / 10**6) / float(self.weights[0])
        if reach > 2**18 or beyond < _NUMERIC:
            return None
        length = 2 ** math.ceil(math.log2(2 * reach + 4))
        sines = np.sin(np.arange(length // 2 + 1) * (math.pi / length)) / -np.expm1(-self.rates)[:, None]
        powers = self.times @ np.log1p(4 * np.exp(-self.rates)[:, None] * sines**2)
        law = np.fft.irfft(np.exp(-powers), length)[: length // 2]
        inside = 2 * np.cumsum(law) - law[0]
        return int(np.argmax(1 - inside <= beyond * (1 - 1e-6) - 1e-12))


def _multiple(margin: float, weight: float) -> float:
    """Return the margin of a whole number times a weight, which may be rounded, unless it is 1."""
    return float(margin) if weight == 1 else margin * weight * _WIDER


def _log_share(x: Any) -> Any:
    """Return ln(1 - e^(-x))."""
    return np.log(-np.expm1(-x))
