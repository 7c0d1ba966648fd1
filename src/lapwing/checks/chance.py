"""How far chance goes: bounds that are true for every number of trials, and findings by them.

Of n independent trials that each succeed with probability at least p, a share of q < p or less succeeds with a
probability of at most e^(-n·D(q, p)), D(q, p) = q·ln(q/p) + (1 - q)·ln((1 - q)/(1 - p)) (Hoeffding 1963, theorem 1).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .finding import Finding

ALPHA = 1e-9
"""The probability with which a correct build fails one finding."""


def held(what: str, inside: NDArray[np.bool_], confidence: str | Fraction) -> Finding:
    """Return whether at least the stated share of independent bars hold the truth, as far as chance can tell."""
    share, needed = float(np.mean(inside)), least_share(inside.size, float(Fraction(confidence)), ALPHA)
    told = f"{share:.4f} of {inside.size:,} bars hold, of which at least {needed:.4f} must"
    return Finding(f"{what}, at {float(Fraction(confidence)):.0%}", share >= needed, told, ALPHA)


def centred(what: str, off: NDArray[np.float64]) -> Finding:
    """Return whether values lie above the truth in no more than half of the trials, and below it in no more."""
    most = 1 - least_share(off.size, 0.5, ALPHA / 2)
    above, below = float(np.mean(off > 0)), float(np.mean(off < 0))
    told = (
        f"{above:.4f} of {off.size:,} values are above the truth and {below:.4f} below, of which each may be {most:.4f}"
    )
    return Finding(f"{what}, above and below", max(above, below) <= most, told, ALPHA)


def least_share(trials: int, chance: float, alpha: float) -> float:
    """Return the largest q such that a share below q has probability at most α, by the bound above."""
    low, high = 0.0, chance
    for _ in range(60):
        q = (low + high) / 2
        gain = (q * math.log(q / chance) if q else 0.0) + (1 - q) * math.log((1 - q) / (1 - chance))
        low, high = (q, high) if trials * gain >= math.log(1 / alpha) else (low, q)
    return low


def unbiased(what: str, noise: NDArray[Any], scale: float) -> Finding:
    """Return whether the mean of integer noise of this scale is 0, as far as chance can tell."""
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
