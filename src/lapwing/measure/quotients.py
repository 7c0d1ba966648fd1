"""What is computed from noisy cells after the noise: linear combinations of them, and quotients of two of these.

Every count and sum is Σ wᵢcᵢ + offset for exact weights wᵢ and independent noisy cells cᵢ, of one group or of several.
A mean, a proportion, a ratio of two sums and a share of a total are quotients N/D of two such combinations.

Claim G1 (shared cells).  Let N = Σ uᵢcᵢ and D = Σ vᵢcᵢ over the same cells, each of which is named once.  The noise of
αN - βD is Σ (αuᵢ - βvᵢ)Xᵢ: a cell that N and D share enters once, with its combined weight, and the margin of D3 for
these weights and the scales of the cells holds whatever the covariance of N and D is.

Claim G2 (quotient).  Let r(α, β) be that margin.  The set {θ : |N - θD| ≤ r(1, θ)} (Fieller's) holds the true N/D with
the confidence of r.  If |D| > r(0, 1) it is an interval around N/D; otherwise D may be 0, no θ is excluded for sure,
and the whole public range is returned.  r is convex up to the steps of integer noise: its chords between some
directions (α, β), raised by half of the smallest weight, may be taken instead.

Claim G3 (two quotients).  For independent quotients with values a, b and bars (a - p, a + p'), (b - q, b + q'), the
difference a - b has the bar (a - b - c(p, q'), a - b + c(p', q)), where c(p, q) is the larger of √(p² + q²) (MOVER, Zou
and Donner 2008, right for normal noise) and the margin of the sum of two Laplace draws whose own margins are p and q
(right for Laplace noise).  This is approximate; how often it holds is computed and measured.

Proofs: docs/explanation/comparing.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..noise.intervals import tail_quantile
from ..noise.weighted import EqualDraws, Floats, margin_of
from .cells import Column

_DIRECTIONS = 24
"""How many directions of Fieller's set have a margin of their own, besides those in which a cell vanishes."""


class Slot(NamedTuple):
    """Independent noisy cells of one scale: their weights in N and D, how many they are, their sum in each output."""

    top: Fraction
    bottom: Fraction
    scale: Fraction
    times: int
    total: Column


class Bars(NamedTuple):
    """Values with the ends of their bars, before any public range is looked at; ``sure`` where the bar is bounded."""

    value: Floats
    low: Floats
    high: Floats
    sure: np.ndarray


def weighted(slots: Sequence[Slot], offset: Fraction, *, top: bool = True) -> Floats:
    """Return N, or D, of each output."""
    total = np.full(len(slots[0].total) if slots else 1, float(offset))
    for slot in slots:
        weight = float(slot.top if top else slot.bottom)
        if weight:
            total = total + weight * slot.total.astype(float)
    return total


@dataclass(frozen=True, eq=False)
class Fieller:
    """Fieller's set of a quotient: margins of αN - βD in some directions (α, β), half a turn from (0, -1) to (0, 1)."""

    directions: Floats
    margins: Floats

    @property
    def least(self) -> float:
        """The |D| from which on the set is an interval: the margin of D."""
        return float(self.margins[-1] / self.directions[-1, 1])

    def bars(self, top: Floats, bottom: Floats) -> Bars:
        """Return the quotients and their bars (claim G2)."""
        sign = np.where(bottom < 0, -1.0, 1.0)
        top, bottom = top * sign, bottom * sign
        with np.errstate(all="ignore"):
            value = top / bottom
        sure = (bottom > self.least * (1 + 1e-9)) & (bottom > 0)
        with np.errstate(all="ignore"):
            low, high = self._end(top, bottom, 1), self._end(top, bottom, -1)
        return Bars(value, np.where(sure, low, -np.inf), np.where(sure, high, np.inf), sure)

    def _end(self, top: Floats, bottom: Floats, way: int) -> Floats:
        """Return the least θ with N - θD ≤ r(1, θ) (``way`` 1), or the largest with θD - N ≤ r(1, θ) (-1).

        In the direction (α, β) the difference is αN - βD - r; where D is above its margin it changes its sign once.
        """
        directions, margins = (
            (self.directions, self.margins) if way == 1 else (-self.directions[::-1], self.margins[::-1])
        )
        first, last = np.zeros(len(top), dtype=int), np.full(len(top), len(margins) - 1)
        while True:  # the sign changes between first and last: from above r to below it
            middle = (first + last) // 2
            if (middle == first).all():
                break
            above = self._above(directions, margins, middle, top, bottom) > 0
            first, last = np.where(above, middle, first), np.where(above, last, middle)
        before, after = (self._above(directions, margins, each, top, bottom) for each in (first, last))
        share = before / (before - after)
        at = directions[first] + share[:, None] * (directions[last] - directions[first])
        end: Floats = at[:, 1] / at[:, 0]
        return end

    @staticmethod
    def _above(directions: Floats, margins: Floats, at: np.ndarray, top: Floats, bottom: Floats) -> Floats:
        above: Floats = directions[at, 0] * top - directions[at, 1] * bottom - margins[at]
        return above


def fieller(slots: Sequence[Slot], confidence: Fraction) -> Fieller:
    """Return Fieller's set for cells with these weights, at a confidence."""

    def margin(top: float, bottom: float) -> float:
        draws = [EqualDraws(top * float(s.top) - bottom * float(s.bottom), s.scale, s.times) for s in slots]
        largest = max((abs(draw.weight) * float(draw.scale) for draw in draws), default=0.0)
        draws = [draw for draw in draws if abs(draw.weight) * float(draw.scale) > 1e-12 * largest]  # the others vanish
        step = min((abs(draw.weight) for draw in draws), default=0.0)
        return margin_of(draws, confidence, smooth=True) + step / 2  # integers: by at most this a chord is too low

    across, along = margin(1.0, 0.0), margin(0.0, 1.0)
    unit = across / along if across and along else 1.0
    angles = {math.pi * (k / _DIRECTIONS - 0.5) for k in range(1, _DIRECTIONS)}
    angles |= {math.atan2(float(s.top), float(s.bottom) * unit) for s in slots if s.top and s.bottom > 0}
    angles |= {math.atan2(-float(s.top), -float(s.bottom) * unit) for s in slots if s.top and s.bottom < 0}
    inner = [(math.cos(angle), unit * math.sin(angle)) for angle in sorted(angles)]
    directions = np.array([(0.0, -unit), *inner, (0.0, unit)])
    return Fieller(directions, np.array([margin(a, b) for a, b in directions.tolist()]))


def clipped(bars: Bars, low: float, high: float) -> Bars:
    """Return bars within a public range; noise that leads out of the range does not make a bar look narrow."""
    if math.isinf(low) and math.isinf(high):
        return bars
    with np.errstate(all="ignore"):
        half = np.where(bars.sure, (bars.high - bars.low) / 2, np.inf)
        middle = (low + high) / 2 if math.isfinite(low) and math.isfinite(high) else np.nan
        value = np.clip(np.where(np.isfinite(bars.value), bars.value, middle), low, high)
        ends = np.minimum(bars.low, value - half), np.maximum(bars.high, value + half)
    return Bars(value, np.clip(ends[0], low, high), np.clip(ends[1], low, high), bars.sure)


# --- two quotients, of different groups ---


def together(first: Floats, second: Floats, beyond: float) -> Floats:
    """Return c(p, q) of claim G3: how far the sum of two independent errors goes, whose own margins are these."""
    one = -math.log(beyond)
    laplace = tail_quantile(np.stack([first, second]) / one, beyond)
    return np.maximum(np.hypot(first, second), laplace)


def difference(first: Bars, second: Bars, beyond: float) -> Bars:
    """Return the bar of the difference of two independent quotients (claim G3)."""
    value, sure = first.value - second.value, first.sure & second.sure
    with np.errstate(all="ignore"):
        down = together(_sized(first.value - first.low, sure), _sized(second.high - second.value, sure), beyond)
        up = together(_sized(first.high - first.value, sure), _sized(second.value - second.low, sure), beyond)
    return Bars(value, np.where(sure, value - down, -np.inf), np.where(sure, value + up, np.inf), sure)


def quotient(first: Bars, second: Bars, beyond: float) -> Bars:
    """Return the bar of the quotient of two independent quotients, neither of which can be negative.

    A ρ is inside where the bar of first - ρ·second holds 0 (claim G3): the set is bounded where ``second`` is above 0.
    """
    with np.errstate(all="ignore"):
        value = first.value / second.value
        sure = first.sure & second.sure & (second.low > 0)
        a, b = _sized(first.value, sure), np.where(sure, second.value, 1.0)
        p, p_up = _sized(first.value - first.low, sure), _sized(first.high - first.value, sure)
        q, q_up = _sized(second.value - second.low, sure), _sized(second.high - second.value, sure)
    most = np.where(sure, (np.abs(a) + p_up) / np.where(sure, second.low, 1.0), 1.0) * 4
    ends = []
    for left, right, up in ((p, q_up, False), (p_up, q, True)):
        low, high = (np.maximum(a / b, 0.0), most) if up else (np.zeros_like(a), np.maximum(a / b, 0.0))
        for _ in range(50):
            middle = (low + high) / 2
            inside = np.abs(a - middle * b) <= together(left, middle * right, beyond)
            low, high = np.where(inside == up, middle, low), np.where(inside == up, high, middle)
        ends.append(high if up else low)
    return Bars(value, np.where(sure, ends[0], -np.inf), np.where(sure, ends[1], np.inf), sure)


def _sized(width: Floats, sure: np.ndarray) -> Floats:
    """Return widths, and 1 where there is no bar, so that nothing overflows."""
    return np.where(sure, width, 1.0)
