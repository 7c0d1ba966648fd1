"""Statistical tests, with a false-alarm rate that is computed.

Each is for one name of tests/chance.py and fails on a correct build with probability at most ``ALPHA``, by inequalities
that are true for every law and every number of draws, and no approximations of tails.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .chance import ALPHA, NAMES


def distance(draws: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the largest distance between the empirical distribution function and ``cdf``, on the integers."""
    values, counts = np.unique(draws, return_counts=True)
    below = np.cumsum(counts) / draws.size
    jump = np.concatenate([[0.0], below[:-1]])
    return float(max(np.abs(below - cdf(values)).max(), np.abs(jump - cdf(values - 1)).max()))


def limit(n: int) -> float:
    return math.sqrt(math.log(2 / ALPHA) / (2 * n))


def assert_law(name: str, draws: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> None:
    """Dvoretzky, Kiefer, Wolfowitz, Massart: the distance exceeds √(ln(2/α)/2n) with probability at most α."""
    assert name in NAMES
    found, allowed = distance(draws, cdf), limit(draws.size)
    assert found <= allowed, f"{name}: distance {found} > {allowed} at n = {draws.size}, α = {ALPHA}"


def assert_share(name: str, hits: np.ndarray, expected: float) -> None:
    """Hoeffding: the share of n independent hits is off by more than √(ln(2/α)/2n) with probability at most α."""
    assert name in NAMES
    off, allowed = abs(float(np.mean(hits)) - expected), limit(hits.size)
    assert off <= allowed, f"{name}: the share is off by {off} > {allowed} at n = {hits.size}, α = {ALPHA}"


def assert_uncorrelated(name: str, ranks: np.ndarray, next_ranks: np.ndarray) -> None:
    """Azuma and Hoeffding: the mean of n products of ranks exceeds √(ln(2/α)/8n) with probability at most α.

    Ranks lie within ±1/2.  Each of ``next_ranks`` has the mean 0, whatever the ranks before it are, so that its product
    with such a rank has the mean 0 too, and lies in a range of 1/2.
    """
    assert name in NAMES
    off, allowed = abs(float(np.mean(ranks * next_ranks))), limit(ranks.size) / 2
    assert off <= allowed, f"{name}: the mean product is {off} > {allowed} at n = {ranks.size}, α = {ALPHA}"


def covers(inside: np.ndarray, confidence: float) -> bool:
    """Hoeffding: the share of n independent bars that hold is below p - √(ln(1/α)/2n) with probability at most α."""
    return float(np.mean(inside)) >= confidence - math.sqrt(math.log(1 / ALPHA) / (2 * inside.size))


def assert_covered(name: str, inside: np.ndarray, confidence: float) -> None:
    assert name in NAMES
    assert covers(inside, confidence), f"{name}: {np.mean(inside)} of {inside.size} bars hold, α = {ALPHA}"


def laplace_cdf(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the distribution function of integer Laplace noise."""

    def cdf(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        beyond = np.exp(-np.where(x < 0, -x, x + 1) / scale) / (1 + math.exp(-1 / scale))
        return np.where(x < 0, beyond, 1 - beyond)

    return cdf
