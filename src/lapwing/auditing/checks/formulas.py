"""Every formula for noise and its error bars, at parameters drawn by a seed, against a separate computation.

Integers (margins, quantiles, thresholds, sizes) must be the smallest that do what they promise: the probability that
they promise is computed in decimals of many places, for them and for the next smaller one.  A formula that this module
has no computation for is a finding that fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from inspect import getmembers, isfunction
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import exact
from ...errors import LapwingError
from ...noise import intervals
from ...noise.distributions import DiscreteLaplace, Laplace
from ...noise.intervals import (
    Error,
    epsilon_for,
    ratio_interval,
    size_for,
    sum_margin,
    tail_quantile,
    variance_interval,
)
from ...noise.mechanism import LaplaceMechanism
from ...noise.weighted import margins
from ..finding import Finding, all_right
from ..room import Room
from ..tools.noise import CONTEXT, all_inside, at_least, decay_of, mass, outside, real_tail, upto, whole_law

SEED = 17
_NEAR = 1e-10
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Case:
    """Where a formula is tried: a scale, a place, a probability, how many draws, a number of scales, a small δ."""

    scale: Fraction
    x: Fraction
    share: Fraction
    cells: int
    t: Fraction
    delta: Fraction


Right = Callable[[Any, _Case], bool]
"""Whether a formula of a law is right at a case."""


def formulas(room: Room) -> Iterator[Finding]:
    """Yield whether every formula has its value, and whether every one was tried."""
    tries = 300 if room.deep else 20
    for kind, known in ((Laplace, _REAL), (DiscreteLaplace, _WHOLE), (Error, _ERROR)):
        yield from _members(kind, known, tries)
    yield from _functions(tries)
    yield _mechanism_intervals(Random(SEED), tries)
    yield _sums_of_whole_noise(Random(SEED), tries // 3)


def _members(kind: type, known: dict[str, Right], tries: int) -> Iterator[Finding]:
    public = [name for name in vars(kind) if not name.startswith("_") and name not in ("scale", "law")]
    for name in public:
        random, wrong = Random(f"{SEED}{name}"), []
        if name not in known:
            yield Finding(f"{kind.__name__}.{name}", False, "this check has no computation of its own for it")
            continue
        for _ in range(tries):
            scale = _scale(random)
            law: Any = Error(Laplace(scale)) if kind is Error else kind(scale)
            case = _case(random, scale)
            wrong += [] if known[name](law, case) else [case]
        yield Finding(f"{kind.__name__}.{name} (seed {SEED})", not wrong, all_right(wrong, tries))


def _scale(random: Random) -> Fraction:
    size = 10 ** random.uniform(-2, 12)
    return Fraction(max(round(size * 997), 1), random.choice((997, 1000, 3 * 331)))


def _case(random: Random, scale: Fraction) -> _Case:
    deltas = (Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**18), Fraction(499, 1000))
    x, t = scale * Fraction(random.randrange(-3000, 3000), 100), Fraction(random.randrange(1, 900), 100)
    return _Case(scale, x, _share(random), random.choice((1, 2, 7, 1000, 1001, 20_000)), t, random.choice(deltas))


def _share(random: Random) -> Fraction:
    """Return a probability: usual, small, or very close to 1."""
    usual = Fraction(random.randrange(1, 1000), 1000)
    return random.choice(
        (usual, usual, Fraction(19, 20), 1 - Fraction(1, 10**9), 1 - Fraction(1, 10**40), Fraction(1, 10**12))
    )


def _is(found: float, due: Decimal | float | Fraction, near: float = _NEAR) -> bool:
    due = float(due)
    return abs(found - due) <= near * abs(due) + 1e-300


# --- laws on the real line ---


def _real_beyond(scale: Fraction, at: float | Fraction) -> Decimal:
    """Return P(|X| > at)."""
    return decay_of(-Fraction(at) / scale)


def _real_cdf(scale: Fraction, at: Fraction) -> Decimal:
    half = CONTEXT.divide(_real_beyond(scale, abs(at)), Decimal(2))
    return half if at < 0 else CONTEXT.subtract(Decimal(1), half)


def _log(value: Fraction) -> float:
    return float(CONTEXT.ln(exact.as_decimal(value, CONTEXT)))


def _is_real_margin(scale: Fraction, margin: float, share: Fraction, cells: int) -> bool:
    root = CONTEXT.exp(CONTEXT.divide(CONTEXT.ln(exact.as_decimal(share, CONTEXT)), Decimal(cells)))
    due = -float(CONTEXT.ln(CONTEXT.subtract(Decimal(1), root))) * float(scale)
    return abs(margin - due) <= 1e-9 * abs(due) + 1e-12 * float(scale)


_REAL: dict[str, Right] = {
    "mean": lambda law, at: law.mean == 0,
    "mean_abs": lambda law, at: _is(law.mean_abs, at.scale),
    "variance": lambda law, at: _is(law.variance, 2 * at.scale**2),
    "std": lambda law, at: _is(law.std**2, 2 * at.scale**2),
    "pdf": lambda law, at: _is(law.pdf(at.x), float(_real_beyond(at.scale, abs(at.x))) / float(2 * at.scale)),
    "cdf": lambda law, at: _is(law.cdf(at.x), _real_cdf(at.scale, at.x)),
    "tail": lambda law, at: _is(law.tail(at.x), min(_real_beyond(at.scale, at.x), Decimal(1))),
    "quantile": lambda law, at: _is_real_quantile(law.quantile(at.share), at.scale, at.share),
    "margin": lambda law, at: _is_real_margin(at.scale, law.margin(at.share), at.share, 1),
    "simultaneous_margin": lambda law, at: _is_real_margin(
        at.scale, law.simultaneous_margin(at.cells, at.share), at.share, at.cells
    ),
}


def _is_real_quantile(found: float, scale: Fraction, share: Fraction) -> bool:
    nearer = 2 * min(share, 1 - share)
    due = -_log(nearer) * float(scale) * (1 if share > Fraction(1, 2) else -1)
    return abs(found - due) <= 1e-9 * float(scale) + 1e-9 * abs(due)


# --- laws on the whole numbers ---


def _is_margin(scale: Fraction, margin: int, share: Fraction, cells: int) -> bool:
    wanted = exact.as_decimal(share, CONTEXT)
    return all_inside(scale, margin, cells) >= wanted and (margin == 0 or all_inside(scale, margin - 1, cells) < wanted)


def _is_quantile(x: int, scale: Fraction, share: Fraction) -> bool:
    wanted = exact.as_decimal(share, CONTEXT)
    return upto(scale, x) >= wanted > upto(scale, x - 1)


def _is_threshold(found: int, at: _Case) -> bool:
    """Return whether the threshold is the smallest that noise on 1 reaches, for any of some keys, with at most δ."""
    kept = CONTEXT.subtract(Decimal(1), exact.as_decimal(at.delta, CONTEXT))
    single = [CONTEXT.subtract(Decimal(1), at_least(at.scale, t - 1)) for t in (found, found - 1)]
    hidden = [CONTEXT.power(each, at.cells) for each in single]
    return hidden[0] >= kept > hidden[1]


def _moment(of: Fraction, power: int) -> float:
    """Return E|X|^power, of a law that is nearly continuous or else has few values, by adding up."""
    scale = float(of)
    if scale > 10**4:
        return math.factorial(power) * scale**power * (1 - (1 / 6 if power == 1 else 1 / 12) / scale**2)
    x = np.arange(1, int(60 * scale) + 60, dtype=float)
    ratio = math.exp(-1 / scale)
    return float(2 * (1 - ratio) / (1 + ratio) * (x**power @ np.exp(-x / scale)))


_WHOLE: dict[str, Right] = {
    "mean": lambda law, at: law.mean == 0,
    "mean_abs": lambda law, at: _is(law.mean_abs, _moment(at.scale, 1), 1e-9),
    "variance": lambda law, at: _is(law.variance, _moment(at.scale, 2), 1e-9),
    "std": lambda law, at: _is(law.std**2, _moment(at.scale, 2), 1e-9),
    "pmf": lambda law, at: _is(law.pmf(round(at.x)), mass(at.scale, round(at.x))) and law.pmf(round(at.x) + 0.5) == 0,
    "cdf": lambda law, at: _is(law.cdf(at.x), upto(at.scale, math.floor(at.x))),
    "tail": lambda law, at: _is(law.tail(at.x), outside(at.scale, math.floor(at.x))),
    "quantile": lambda law, at: _is_quantile(law.quantile(at.share), at.scale, at.share),
    "margin": lambda law, at: _is_margin(at.scale, law.margin(at.share), at.share, 1),
    "simultaneous_margin": lambda law, at: _is_margin(
        at.scale, law.simultaneous_margin(at.cells, at.share), at.share, at.cells
    ),
    "threshold": lambda law, at: _is_threshold(law.threshold(at.delta, at.cells), at),
}


# --- errors ---


def _largest_of(scale: Fraction, d: int) -> float:
    """Return E max of d absolute errors: the sum over k of λ/k, since the k-th smallest gap is exponential."""
    return float(scale) * math.fsum(1 / k for k in range(d, 0, -1))


_ERROR: dict[str, Right] = {
    "mean": lambda error, at: _is(error.mean, at.scale),
    "rms": lambda error, at: _is(error.rms**2, 2 * at.scale**2),
    "tail": lambda error, at: _is(error.tail(at.t), math.exp(-at.t)),
    "quantile": lambda error, at: _is_real_margin(at.scale, error.quantile(at.share), at.share, 1),
    "chebyshev": lambda error, at: _is(error.chebyshev(at.t), min(1.0, float(1 / at.t**2))),
    "total_mean": lambda error, at: _is(error.total_mean(at.cells), at.cells * at.scale),
    "max_mean": lambda error, at: _is(error.max_mean(at.cells), _largest_of(at.scale, at.cells)),
    "max_mean_bound": lambda error, at: _is(error.max_mean_bound(at.cells), float(at.scale) * (1 + math.log(at.cells))),
    "max_tail": lambda error, at: _is(
        error.max_tail(at.cells, at.t), 1 - (1 - math.exp(-at.t) / at.cells) ** at.cells, 1e-6
    ),
}


# --- functions ---


def _functions(tries: int) -> Iterator[Finding]:
    own = {name for name, each in getmembers(intervals, isfunction) if each.__module__ == intervals.__name__}
    public = sorted(name for name in own if not name.startswith("_"))
    for name in public:
        random, wrong = Random(f"{SEED}{name}"), []
        if name not in _FUNCTIONS:
            yield Finding(f"{name}", False, "this check has no computation of its own for it")
            continue
        number = tries if name != "ratio_interval" else tries // 3  # each compares 41 positions
        for _ in range(number):
            wrong += [] if _FUNCTIONS[name](random) else [name]
        yield Finding(f"{name} (seed {SEED})", not wrong, all_right(wrong, number))


def _squared_error(epsilon: Fraction, n: int, mechanism: str) -> Decimal:
    """Return the mean squared error of a proportion of n people."""
    if mechanism == "laplace":
        return exact.as_decimal(2 / (n * epsilon) ** 2, CONTEXT)
    growth = decay_of(epsilon)
    variance = CONTEXT.divide(growth, CONTEXT.power(CONTEXT.subtract(growth, Decimal(1)), 2))
    return CONTEXT.divide(variance, Decimal(n))


def _is_size(random: Random) -> bool:
    error, epsilon = Fraction(random.randrange(1, 1000), 10**4), Fraction(random.randrange(1, 9000), 1000)
    mechanism: Any = random.choice(("laplace", "randomized_response"))
    n, limit = size_for(error, epsilon, mechanism), exact.as_decimal(error**2, CONTEXT)
    return _squared_error(epsilon, n, mechanism) <= limit and (
        n == 1 or _squared_error(epsilon, n - 1, mechanism) > limit
    )


def _is_epsilon(random: Random) -> bool:
    error, n = Fraction(random.randrange(1, 1000), 10**4), random.randrange(100, 10**6)
    mechanism: Any = random.choice(("laplace", "randomized_response"))
    try:
        epsilon = epsilon_for(error, n, mechanism)
    except LapwingError:
        return False
    limit, less = exact.as_decimal(error**2, CONTEXT), epsilon - Fraction(1, 10**9)
    return _squared_error(epsilon, n, mechanism) <= limit and (less <= 0 or _squared_error(less, n, mechanism) > limit)


def _is_response_rms(random: Random) -> bool:
    epsilon, n = Fraction(random.randrange(1, 9000), 1000), random.randrange(1, 10**6)
    return _is(intervals.response_rms(epsilon, n) ** 2, _squared_error(epsilon, n, "randomized_response"), 1e-9)


def _is_response_margin(random: Random) -> bool:
    """Return whether the margin is that of Kearns and Saul's bound for bits of this probability."""
    epsilon, n, share = Fraction(random.randrange(1, 9000), 1000), random.randrange(1, 10**6), _share(random)
    growth = math.exp(epsilon)
    beta = float(CONTEXT.ln(exact.as_decimal(2 / (1 - share), CONTEXT)))
    squared = beta * (growth + 1) / (n * float(epsilon) * (growth - 1))
    return _is(intervals.response_margin(epsilon, n, share) ** 2, squared, 1e-9)


def _is_sum_margin(random: Random) -> bool:
    base = _scale(random)
    scales = [
        base * Fraction(random.choice((1, 1, 2, 3, 10)), random.choice((1, 1, 7, 1000)))
        for _ in range(random.randrange(1, 5))
    ]
    share = random.choice((Fraction(19, 20), Fraction(1, 2), Fraction(999, 1000), 1 - Fraction(1, 10**9)))
    margin, beyond = sum_margin(scales, share), float(1 - share)
    return real_tail(scales, margin) <= beyond * (1 + 1e-9) and real_tail(scales, margin * (1 - 1e-4)) > beyond


def _is_tail_quantile(random: Random) -> bool:
    rows, beyond = random.choice((2, 3)), random.choice((0.05, 0.5, 0.001))
    scales = [Fraction(random.choice((0, 1, 1, 7, 50, 100)), 100) for _ in range(rows - 1)] + [
        Fraction(random.randrange(1, 200), 100)
    ]
    found = float(tail_quantile(np.array([[float(each)] for each in scales]), beyond)[0])
    return real_tail(scales, found) <= beyond * (1 + 1e-6) and real_tail(scales, found * 0.99) > beyond


def _is_ratio_interval(random: Random) -> bool:
    """Return whether all positions that the noise allows are inside the bar, and hardly any others."""
    positions = random.choice(([1.0, 0.0], [0.0, 0.5, 1.0]))
    scale, beyond, slack = random.uniform(0.5, 3), random.choice((0.05, 0.5)), random.choice((0.0, 1.0))
    cells = np.array([[random.uniform(40, 400)] for _ in positions]) * random.choice((1, 1, 0.01, 100))
    value, low, high = (float(each[0]) for each in ratio_interval(cells, positions, scale, beyond, slack))
    total, weighted = float(cells.sum()), float(np.array(positions) @ cells[:, 0])
    allowed = []
    for t in np.linspace(0, 1, 41):
        scales = [Fraction(abs(p - t) * scale).limit_denominator(10**6) for p in positions]
        extra = slack * sum(abs(p - t) for p in positions)
        off = abs(weighted - t * total) - extra
        if off < 0 or real_tail(scales, off) >= beyond * (1 + 1e-6):
            allowed.append(t)
    inside = all(low - 1e-9 <= t <= high + 1e-9 for t in allowed)
    point = _is(value, min(max(weighted / total, 0.0), 1.0), 1e-9) if total > 0 else True
    if (low, high) == (0.0, 1.0):
        return inside and point
    edges = (max(min(allowed, default=value) - 0.03, 0), min(max(allowed, default=value) + 0.03, 1))
    reach = high - low <= 1.2 * (edges[1] - edges[0])
    return inside and point and low <= value <= high and reach


def _is_variance_interval(random: Random) -> bool:
    """Return whether the bar is the value ± what noise moves it to first order, and a little more."""
    cells = np.array([[random.uniform(1000, 9000)] for _ in range(3)])
    scale, beyond = random.uniform(0.5, 20), random.choice((0.05, 0.5))
    value, low, high = (float(each[0]) for each in variance_interval(cells, scale, beyond))
    total = float(cells.sum())

    def variance(c: Floats) -> float:
        shares = c[:, 0] / c.sum()
        return float(shares[0] * shares[2] - shares[1] ** 2 / 4)

    slopes = []
    for i in range(3):
        moved = cells.copy()
        moved[i] += 1e-3
        slopes.append(abs(variance(moved) - variance(cells)) / 1e-3)
    scales = [Fraction(slope * scale).limit_denominator(10**12) for slope in slopes]
    reach = min(high - value, value - low)
    miss = real_tail(scales, reach * (1 - 1e-3)) if any(scales) else 0.0
    more = 2 * (-math.log(beyond) * scale / total) ** 2
    least = real_tail(scales, max(high - value - more, 0) * 0.95) if any(scales) and high < 0.25 else 1.0
    clipped = low == 0 or high == 0.25
    return _is(value, min(max(variance(cells), 0), 0.25), 1e-9) and (
        clipped or (miss <= beyond * 1.01 and least >= beyond)
    )


_FUNCTIONS: dict[str, Callable[[Random], bool]] = {
    "size_for": _is_size,
    "epsilon_for": _is_epsilon,
    "response_rms": _is_response_rms,
    "response_margin": _is_response_margin,
    "sum_margin": _is_sum_margin,
    "tail_quantile": _is_tail_quantile,
    "ratio_interval": _is_ratio_interval,
    "variance_interval": _is_variance_interval,
}


# --- mechanisms, and sums of whole noise ---


def _mechanism_intervals(random: Random, tries: int) -> Finding:
    """Intervals of ``LaplaceMechanism`` hold with at least their confidence, and are as narrow as they can be."""
    wrong = []
    for _ in range(tries):
        epsilon, share = Fraction(random.randrange(1, 5000), 1000), Fraction(random.randrange(500, 999), 1000)
        mechanism = LaplaceMechanism(Fraction(random.randrange(1, 1000), random.choice((1, 3, 10))), epsilon)
        cells, together = random.choice((1, 3, 20)), random.random() < 0.5
        whole = mechanism.sensitivity >= 1 and random.random() < 0.5
        value: Any = (5 if whole else 0.25) if cells == 1 else np.full(cells, 5 if whole else 0.25)
        low, high = mechanism.interval(value, share, simultaneous=together)
        scale = mechanism.sensitivity / epsilon if whole else mechanism.grid(cells).scale
        step = Fraction(1) if whole else Fraction(2) ** mechanism.grid(cells).exponent
        many = cells if together else 1
        ends = {Fraction(float(end)) for side in (low - value, value - high) for end in np.ravel(side)}
        reach = min(-end for end in ends)
        m = math.floor(reach / step if whole else reach / step - Fraction(1, 2))
        held, narrower = all_inside(scale, m, many), all_inside(scale, m - (1 if whole else 2), many)
        wanted = exact.as_decimal(share, CONTEXT)
        wrong += [] if held >= wanted > narrower else [f"Δ = {mechanism.sensitivity}, ε = {epsilon}, {cells} cells"]
    return Finding(f"intervals of mechanisms (seed {SEED})", not wrong, all_right(wrong, tries))


def _sums_of_whole_noise(random: Random, tries: int) -> Finding:
    """Margins of weighted sums of integer noise hold by the exact law of the sum, a convolution; and hardly more."""
    wrong = []
    for _ in range(tries):
        scale, number = Fraction(random.randrange(2, 60), random.choice((1, 2, 3))), random.randrange(1, 6)
        weights = [random.choice((1, 1, 2, 3, 5)) for _ in range(number)]
        share = random.choice((Fraction(19, 20), Fraction(1, 2), Fraction(999, 1000)))
        (margin,) = margins(np.array([[float(each)] for each in weights]), scale, share)
        law = whole_law(scale, weights)
        middle = len(law) // 2
        reach = math.floor(margin + 1e-9)
        held = float(law[middle - reach : middle + reach + 1].sum())
        less = math.floor(margin * 0.97 - 1)
        narrower = float(law[middle - less : middle + less + 1].sum()) if less >= 0 else 0.0
        right = held >= share - 1e-9 and (narrower < share or reach < 2 * max(weights))
        wrong += [] if right else [f"weights {weights}, scale {scale}: ±{margin:.2f} holds with {held:.6f} of {share}"]
    return Finding(f"margins of weighted sums of noise (seed {SEED})", not wrong, all_right(wrong, tries))
