"""The time of a draw reveals nothing about the noise, as far as a clock in the same process can measure.

Claim C3 (timing).  Let x be n·m independent draws of a known law, m in each of n calls, and r the ranks of the times of
the calls, centred and scaled to [-1/2, 1/2].  With u = P(|X| < |x|) + P(|X| = |x|)/2 - 1/2 and p = P(X = 0), let
    S = Σᵢ rᵢ·Σⱼ u(xᵢⱼ),   Z = Σᵢ rᵢ·Σⱼ (1[xᵢⱼ = 0] - p),   R = m·Σᵢ rᵢ².
If the times do not depend on the noise, then for every t > 0
    P(|S| ≥ t) ≤ 2·e^(-2t²/R),   P(|Z| ≥ t) ≤ 2·e^(-t²/(2p(1 - p)R + t/3)).

``timing`` raises an alarm beyond the t at which these are 10^-9.  For single draws at a scale far above 1 that is a
correlation of √(6·ln(2·10^9)/n): 0.18 at 4,000 calls.  Weaker correlations are not detected, and some are known, since
Python does not take the same time for all integers: a single draw at scale 1 correlates with its time by some 0.1
(SECURITY.md), so that scale is not checked; at larger scales by up to 0.08, which more calls would find.

Proof: docs/explanation/audit.md.
"""

from __future__ import annotations

import gc
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw

from ..finding import ALPHA, Finding, parts
from ..room import Room

Floats = NDArray[np.float64]

ARRAY = 100

_WARM = 500
_TRUTH = 7


def timing(room: Room, calls: int = 4_000) -> Iterator[Finding]:
    """Time calls that draw noise, and compare the ranks of the times with the noise (claim C3)."""
    yield from parts(room, draws=lambda: _draws((10, 100, 1000) if room.deep else (100,), calls))


def _draws(scales: Sequence[int], calls: int) -> Iterator[Finding]:
    for scale in scales:
        for what, draw, number in _calls(scale, calls):
            times, noise = timed(draw, number)
            yield from compared(f"{what} at scale {scale:,}", times, noise, lw.DiscreteLaplace(scale))


def _calls(scale: int, calls: int) -> Iterator[tuple[str, Callable[[], Any], int]]:
    """Yield the ways to draw, and how often each is timed."""
    epsilon = Fraction(1, scale)
    yield "one draw", lambda: lw.discrete_laplace(scale), calls
    yield "an array of one draw", lambda: lw.discrete_laplace(scale, 1), calls
    yield "one number", lambda: lw.laplace(_TRUTH, sensitivity=1, epsilon=epsilon) - _TRUTH, calls
    yield f"an array of {ARRAY:,} draws", lambda: lw.discrete_laplace(scale, ARRAY), calls


def timed(draw: Callable[[], Any], calls: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the time of each call in ns, and its results, one row for each call; garbage collection is off."""
    width = [np.size(draw()) for _ in range(_WARM)][-1]
    times, drawn = array("q", bytes(8 * calls)), np.zeros((calls, width), dtype=np.int64)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for i in range(calls):
            start = perf_counter_ns()
            found = draw()
            end = perf_counter_ns()
            times[i] = end - start
            drawn[i] = found  # copied: integers that are kept would make later calls ask for memory
    finally:
        if collecting:
            gc.enable()
    return np.array(times), drawn


def compared(
    what: str, times: NDArray[np.int64], noise: NDArray[np.int64], law: lw.DiscreteLaplace
) -> Iterator[Finding]:
    """Yield whether S and Z of claim C3 are as small as they must be; ``noise`` has a row for each call."""
    ranks = centred_ranks(times)
    squares, chance = noise.shape[1] * float(ranks @ ranks), law.pmf(0)
    zeros = (noise == 0).sum(axis=1) - noise.shape[1] * chance
    told = f"over {len(times):,} calls"
    for of, found, limit, spread in (
        ("size", ranks @ sizes(noise, law).sum(axis=1), size_limit(squares), 1 / 12),
        ("zeros", ranks @ zeros, zero_limit(squares, chance), chance * (1 - chance)),
    ):
        unit = math.sqrt(squares * spread * len(times))  # S over this is a correlation
        yield Finding(
            f"the time of {what} and its {of}",
            bool(abs(found) < limit),
            f"the correlation is {found / unit:+.4f} {told}; without a leak it is within ±{limit / unit:.4f}",
            ALPHA,
        )


def centred_ranks(times: NDArray[np.int64]) -> Floats:
    """Return the ranks of the times, from -1/2 to 1/2; equal times share the rank in their middle."""
    _, which, counts = np.unique(times, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    return np.asarray(middle[which] / max(len(times) - 1, 1) - 0.5)


def sizes(noise: NDArray[np.int64], law: lw.DiscreteLaplace) -> Floats:
    """Return u of claim C3, which has the mean 0 and lies within ±1/2."""
    size = np.abs(noise)
    beyond = np.array([law.tail(k) for k in range(-1, int(size.max()) + 1)])
    return np.asarray((1 - beyond[:-1] - beyond[1:])[size] / 2)


def size_limit(squares: float, alpha: float = ALPHA) -> float:
    """Return the t at which Hoeffding's bound of P(|S| ≥ t) is α; ``squares`` is R."""
    return math.sqrt(math.log(2 / alpha) * squares / 2)


def zero_limit(squares: float, chance: float, alpha: float = ALPHA) -> float:
    """Return the t at which Bernstein's bound of P(|Z| ≥ t) is α; ``squares`` is R."""
    depth = math.log(2 / alpha)
    return depth / 6 + math.sqrt((depth / 6) ** 2 + 2 * depth * chance * (1 - chance) * squares)
