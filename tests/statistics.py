"""Statistical tests, with a false-alarm rate that is computed.

The Dvoretzky-Kiefer-Wolfowitz inequality with Massart's constant holds for every law: the distance between the
empirical and the true distribution function exceeds √(ln(2/α)/2n) with probability at most α.  Every test that draws
real noise takes its α from ``ALPHA``, once for each name in ``TESTS``, so the whole suite raises a false alarm in at
most len(TESTS)·ALPHA + Σ CHECKED < 10^-6 of its runs (tests/claims/test_index.py checks the sum).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

ALPHA = 1e-8

TESTS = {
    "integers at scale 10",
    "integers at scale 10 in two threads",
    "integers at scale 1/3",
    "integers one at a time",
    "split integers at scale 2^40",
    "split integers one at a time",
    "floats on the grid",
    "coins",
    "uniform array",
    "race of runs",
    "race of single candidates",
    "a race with a unit 20 % too large is rejected",
    "randomized response",
    "a scale 4 % too small is rejected",
    "a scale 4 % too large is rejected",
    "independent cells",
    "bars of counts",
    "bars of combined counts",
    "bars of sums",
    "bars of means",
    "bars of means beside a variance",
    "bars of proportions",
    "bars of variances",
    "bars of 1,000 groups at once",
    "noise of a release",
    "bars of quantiles of incomes",
    "bars of quantiles of ages",
    "bars of quantiles of many zeros",
    "bars of quantiles of all equal",
    "bars of quantiles of few",
    "bars of cumulative counts",
    "bars of shares",
    "a scale a quarter too large is rejected by the bars of cumulative counts",
}

CHECKED = {
    "tests/unit/checks/test_coverage.py": 1e-8,
    "tests/unit/checks/test_timing.py": 1e-8,
    "tests/unit/checks/test_mechanisms.py and its page, by claim C1": 4e-8,
    "tests/unit/checks/test_bound.py": 2e-8,
    "tests/unit/checks/test_audit.py": 1e-8,
    "tests/claims/test_timing.py": 1e-8,
}
"""Tests of the audit that draw, and how often they raise a false alarm at most."""


def distance(draws: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the largest distance between the empirical distribution function and ``cdf``, on the integers."""
    values, counts = np.unique(draws, return_counts=True)
    below = np.cumsum(counts) / draws.size
    jump = np.concatenate([[0.0], below[:-1]])
    return float(max(np.abs(below - cdf(values)).max(), np.abs(jump - cdf(values - 1)).max()))


def limit(n: int) -> float:
    return math.sqrt(math.log(2 / ALPHA) / (2 * n))


def assert_law(name: str, draws: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> None:
    assert name in TESTS
    found, allowed = distance(draws, cdf), limit(draws.size)
    assert found <= allowed, f"{name}: distance {found} > {allowed} at n = {draws.size}, α = {ALPHA}"


def assert_covered(name: str, inside: np.ndarray, confidence: float) -> None:
    """Hoeffding: the share of n independent bars that hold is below p - √(ln(1/α)/2n) with probability at most α."""
    assert name in TESTS
    share, slack = float(np.mean(inside)), math.sqrt(math.log(1 / ALPHA) / (2 * inside.size))
    assert share >= confidence - slack, f"{name}: {share} of {inside.size} bars hold, α = {ALPHA}"


def laplace_cdf(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the distribution function of integer Laplace noise."""

    def cdf(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        beyond = np.exp(-np.where(x < 0, -x, x + 1) / scale) / (1 + math.exp(-1 / scale))
        return np.where(x < 0, beyond, 1 - beyond)

    return cdf
