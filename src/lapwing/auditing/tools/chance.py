"""How much chance can explain: findings by bounds that hold for every number of trials."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..finding import ALPHA, Finding
from .certify import least_share, most_share


def held(what: str, inside: NDArray[np.bool_], confidence: str | Fraction) -> Finding:
    """Return whether at least the stated share of independent bars contain the truth, up to chance."""
    hits, needed = int(inside.sum()), float(Fraction(confidence))
    most = most_share(hits, inside.size, ALPHA)
    told = f"{hits / inside.size:.4f} of {inside.size:,} bars hold; in truth {most:.4f} may, and {needed} must"
    return Finding(f"{what}, at {needed:.0%}", most >= needed, told, ALPHA)


def centred(what: str, off: NDArray[np.float64]) -> Finding:
    """Return whether values lie above the truth in no more than half of the trials, and below it in no more."""
    sides = [int(side.sum()) for side in (off > 0, off < 0)]
    least = max(least_share(hits, off.size, ALPHA / 2) for hits in sides)
    above, below = (hits / off.size for hits in sides)
    told = f"{above:.4f} of {off.size:,} values are above the truth and {below:.4f} below, each at most a half"
    return Finding(f"{what}, above and below", least <= 0.5, told, ALPHA)


def unbiased(what: str, noise: NDArray[Any], scale: float) -> Finding:
    """Return whether the mean of integer noise of this scale is 0, up to chance."""
    mean, limit = float(noise.mean()), mean_limit(noise.size, scale, ALPHA)
    told = f"their mean is {mean:+.4f} over {noise.size:,} groups; by chance within ±{limit:.4f}"
    return Finding(what, abs(mean) <= limit, told, ALPHA)


def mean_limit(trials: int, scale: float, alpha: float) -> float:
    """Return what the mean of integer noise exceeds in absolute value with probability at most α.

    By Chernoff's bound for every θ, with the moments E(e^θX) = (1 - d)²/((1 - d·e^θ)(1 - d·e^-θ)), d = e^(-1/s).
    """
    d, limits = math.exp(-1 / scale), []
    for part in range(1, 400):
        theta = part / (400 * scale)
        moment = 2 * math.log1p(-d) - math.log1p(-d * math.exp(theta)) - math.log1p(-d * math.exp(-theta))
        limits.append((math.log(2 / alpha) / trials + moment) / theta)
    return min(limits)


def independent(what: str, ones: NDArray[Any], others: NDArray[Any]) -> Finding:
    """Return whether the signs of two noises agree as often as not.

    Given the sizes, the signs of symmetric noise are fair coins.  Products along pairs that form no circle are
    independent too, so that Hoeffding's bound holds for their sum.
    """
    products = np.sign(ones.astype(float)) * np.sign(others.astype(float))
    found, limit = float(products.mean()), math.sqrt(2 * math.log(2 / ALPHA) / products.size)
    told = f"their signs correlate by {found:+.4f} over {products.size:,} pairs; by chance within ±{limit:.4f}"
    return Finding(what, abs(found) <= limit, told, ALPHA)
