"""Statistics of which a release would say nothing: their error bars would span all that is possible."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from .. import exact, report
from ..measure.linear import root
from ..measure.measurement import rows_assumed
from ..question.query import Statistic
from .weighing import least_denominator, public_range

if TYPE_CHECKING:
    from .plan import Plan

_PART = 10
"""The bar that is worth asking for: the tenth of the range to each side."""


def half_range(plan: Plan, statistic: Statistic) -> float:
    """Return half of the public range of a mean, proportion or ratio; infinite for all others."""
    if statistic.kind not in ("mean", "proportion", "ratio"):
        return math.inf
    low, high = public_range(plan, statistic)
    return (high - low) / 2 * statistic.stretch


def silences(plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each statistic of which nothing would be learned: the ε or the rows that would help."""
    found = []
    for forecast in plan.forecasts:
        if not forecast.says_nothing:
            continue
        statistic, (part, *_) = forecast.statistic, plan.parts
        rows, width = rows_assumed(plan.setting(part)), 2 * half_range(plan, statistic)
        if math.isfinite(width):
            more, aim = _PART * forecast.margin / width, f"an error bar of ± {report.shown(width / _PART)}"
        else:
            more, aim = math.inf, "a denominator that is surely not 0"
        if not math.isfinite(more):
            more = 2 * least_denominator(plan, statistic, root(plan.confidence, 1))
        found.append(
            f"{statistic.name}: no information, if there are {rows}"
            f"{': the denominator may be 0' if statistic.parts else ''}.  For {aim} it takes {_needed(plan, more)}."
        )
    return tuple(found)


def _needed(plan: Plan, times: float) -> str:
    """Return what gives so many times less noise: more ε, or more rows."""
    epsilon = Fraction(f"{float(plan.epsilon) * times * 1.01:.2g}")
    rows = f"{math.ceil(plan.rows * times):,} rows" + (" in a group" if plan.query.by else "")
    return f"about ε = {exact.text(epsilon)}, or {rows}" if epsilon <= exact.MAX_EPSILON else rows
