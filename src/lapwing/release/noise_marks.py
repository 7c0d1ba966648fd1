"""The noise of a released number, in a word, from its value and its 95 % error bar alone.

Claim G4 (marks of noise).  With h the longer side of the 95 % bar of a number v, the mark depends on h/(1.96·|v|), the
coefficient of variation of v where the noise is normal; a difference whose bar excludes 0 has no high noise.  It
depends on nothing but what was released, not on the confidence or the view in which the number is shown; a number
whose bar spans its whole public range has no information.
Proof: docs/explanation/comparing.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measure.measurement import Estimate
from ..noise.weighted import Floats
from ..plan.plan import Plan
from ..plan.weighing import public_range
from ..question.noise_levels import NoiseLevels
from ..question.query import Statistic

LOW, MEDIUM, HIGH, NOTHING, UNKNOWN = "low", "medium", "high", "no information", "no bar"
NORMAL = 1.96
"""The margin of a normal variable at 95 %, in deviations."""

Marks = NDArray[Any]


def marks(
    estimate: Estimate, levels: NoiseLevels, low: float = -math.inf, high: float = math.inf, *, difference: bool = False
) -> Marks:
    """Return the mark of each number, from its 95 % bar; the ends are those of its public range."""
    value, bottom, top = (_filled(end) for end in estimate)
    spans = (bottom <= low) & (top >= high) & (top > bottom)
    unbounded = ~(np.isfinite(bottom) & np.isfinite(top))
    with np.errstate(all="ignore"):
        width = np.where(unbounded, np.inf, np.maximum(top - value, value - bottom))
        variation = np.where(width == 0, 0.0, width / (NORMAL * np.abs(value)))
    found = np.full(len(value), HIGH, dtype=object)
    found[(variation <= float(levels.medium)) | (difference & ((bottom > 0) | (top < 0)))] = MEDIUM
    found[variation <= float(levels.low)] = LOW
    found[spans | unbounded] = NOTHING
    return found


def _filled(end: NDArray[Any]) -> Floats:
    filled: Floats = np.ma.filled(np.ma.asarray(end, dtype=float), np.nan)
    return filled


def statistic_range(plan: Plan, statistic: Statistic) -> tuple[float, float]:
    """Return the ends between which a statistic must lie; infinite for counts and sums, whose noise has no ends."""
    column = plan.schema.columns.get(statistic.column or "")
    if statistic.kind == "cdf":
        return 0.0, 1.0
    if column is not None and column.low is not None and column.high is not None:
        low, high = float(column.low), float(column.high)
        if statistic.kind == "quantile":
            return low, high
        if statistic.kind in ("variance", "std"):
            most = (high - low) / 2
            return 0.0, most if statistic.kind == "std" else most**2
    return public_range(plan, statistic)


def as_shown(statistic: Statistic, estimate: Estimate) -> Estimate:
    """Return a number as it is shown: times a constant, and rounded, the ends of its bar away from it."""
    value, low, high = estimate
    if statistic.times != 1:
        top, bottom = float(statistic.times.numerator), float(statistic.times.denominator)
        value, low, high = (np.asanyarray(end, dtype=float) * top / bottom for end in estimate)
        low, high = (high, low) if statistic.times < 0 else (low, high)
    digits = statistic.digits
    if digits is None or (digits >= 0 and value.dtype.kind == "i"):
        return Estimate(value, low, high)
    return Estimate(
        _rounded(value, digits, 0.5, np.floor), _rounded(low, digits, 0, np.floor), _rounded(high, digits, 0, np.ceil)
    )


def _rounded(numbers: NDArray[Any], digits: int, half: float, way: Callable[[Floats], Floats]) -> Floats:
    """Return numbers with so many digits after the point; those that have no more digits stay."""
    unit = 10.0 ** abs(digits)
    many = np.asanyarray(numbers, dtype=float)
    many = many * unit if digits > 0 else many / unit
    whole = np.where(np.abs(many) < 2.0**52, way(many + half), many)
    return whole / unit if digits > 0 else whole * unit


def shown_range(plan: Plan, statistic: Statistic) -> tuple[float, float]:
    """Return the ends between which what is shown of a statistic must lie."""
    ends = (np.array([end]) for end in statistic_range(plan, statistic))
    _, low, high = as_shown(statistic, Estimate(np.zeros(1), *ends))
    return float(low[0]), float(high[0])


def suppressed(estimates: Mapping[str, Estimate], found: Mapping[str, Marks]) -> dict[str, Estimate]:
    """Return the numbers without those whose noise is high, or say nothing: these are masked."""
    left = {}
    for name, estimate in estimates.items():
        out = np.isin(found[name], (HIGH, NOTHING))
        left[name] = Estimate(
            *(np.ma.masked_array(end, np.ma.getmaskarray(np.ma.asarray(end)) | out) for end in estimate)
        )
    return left


def bounded(estimate: Estimate) -> Estimate:
    """Return a number whose ends are masked where there are none."""
    if all(np.isfinite(end).all() for end in estimate):
        return estimate
    return Estimate(*(np.ma.masked_invalid(end) for end in estimate))


def told(levels: NoiseLevels) -> str:
    """Say what the marks mean."""
    low, medium = (f"{float(100 * each):g} %" for each in (levels.low, levels.medium))
    return f"Noise, by its coefficient of variation: low up to {low}, medium up to {medium}, else high."
