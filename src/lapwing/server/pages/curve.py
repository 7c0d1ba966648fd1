"""What the error of a question is at many ε: the values of a slider, and the curve over them; no data is read.

All of it follows from plans, so it is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ... import exact
from ...plan.naming import about_statistic
from ...plan.plan import Forecast, Plan

STEPS = (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(5), Fraction(7))
"""The values of each power of ten that the slider has."""

DECADES = 3
MOST_CURVES = 6
MOST_GROUPS = 2_000
"""A plan for more groups is drawn without a curve: it would take as long as many plans."""

WIDTH, HEIGHT = 330, 194
LEFT, RIGHT, TOP, BOTTOM = 64, 18, 26, 48
MOST_TICKS = 5

Ends = tuple[float, float]


def ladder(left: Fraction) -> list[str]:
    """Return the values of ε that the slider has, up to what is left."""
    most = left if left > 0 else Fraction(1)
    first = math.floor(math.log10(float(most))) - DECADES
    values = [step * Fraction(10) ** power for power in range(first, first + DECADES + 1) for step in STEPS]
    some = [value for value in values if most / 10**DECADES <= value < most]
    return [exact.text(value) for value in (*some, most)]


def curves(plan: Plan, values: Sequence[str]) -> list[dict[str, Any]]:
    """Return, for each statistic, the curve of its error against ε, to be drawn; none if that would take long.

    It is drawn at these ``values`` of ε, and at the one that is asked, so that the question is on it; but not where the
    error bar is ± 0, or where nothing is known, which has no place on its axes.
    """
    if plan.groups > MOST_GROUPS:
        return []
    places = sorted({*map(Fraction, values), plan.epsilon})
    ends = float(places[0]), float(places[-1])
    found = []
    for each in plan.forecasts[:MOST_CURVES]:
        points = [(float(at), margin) for at in places if 0 < (margin := _margin_at(plan, each, at)) < math.inf]
        if len(points) > 1:
            found.append(_drawn(plan, each, points, ends))
    return found


def _margin_at(plan: Plan, forecast: Forecast, epsilon: Fraction) -> float:
    """Return the half-width of the error bar at another ε; no bar is wider than what is possible."""
    times = epsilon / plan.epsilon
    parts = tuple(replace(part, epsilon=part.epsilon * times) for part in plan.parts)
    there = plan if times == 1 else replace(plan, epsilon=epsilon, parts=parts)
    return min(there.margin(forecast.statistic, *there.each_confidence(plan.confidence, False)), forecast.most)


def _drawn(plan: Plan, forecast: Forecast, points: Sequence[Ends], wide: Ends) -> dict[str, Any]:
    """Return a curve on logarithmic axes: its line, where the question is on it, its ticks and its words."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    high = min(ys), max(max(ys), min(ys) * 1.25)
    across, down = _place(wide, LEFT, WIDTH - RIGHT), _place(high, HEIGHT - BOTTOM, TOP)
    here = float(plan.epsilon)
    about = about_statistic(plan, forecast.statistic)
    unit = about.get("unit", "") if forecast.statistic.level is None else "rows"
    return {
        "name": str(forecast.statistic.name),
        "unit": unit,
        "line": " ".join(f"{across(x)},{down(y)}" for x, y in points),
        "dot": [across(here), down(ys[xs.index(here)])] if here in xs else None,
        "across": [(across(at), text) for at, text in _ticks(wide)],
        "down": [(down(at), text) for at, text in _ticks(high)],
        "fine_across": [across(at) for at in _fine(wide)],
        "fine_down": [down(at) for at in _fine(high)],
        "top": short(ys[0]),
        "bottom": short(ys[-1]),
        "first": short(xs[0]),
        "last": short(xs[-1]),
        "exact_above": short(xs[-1]) if xs[-1] < wide[1] else "",
        "most": short(forecast.most) if max(ys) >= forecast.most else "",
        "sizes": {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM},
    }


def _place(ends: Ends, first: float, last: float) -> Callable[[float], float]:
    """Return where a number is on a logarithmic axis from one place to another."""
    low, high = map(math.log10, ends)

    def place(number: float) -> float:
        return round(first + (math.log10(number) - low) / (high - low) * (last - first), 1)

    return place


def _ticks(ends: Ends) -> list[tuple[float, str]]:
    """Return round numbers on an axis, with their texts: as many as fit, and at least its ends."""
    for steps, every in (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2), ((1,), 3), ((1,), 5)):
        found = _between(ends, steps, every)
        if len(found) <= MOST_TICKS:
            break
    if len(found) < 2:
        return [(each, short(each)) for each in ends]
    return [(float(each), f"{int(each):,}" if each >= 1 else exact.text(each)) for each in found]


def _fine(ends: Ends) -> list[float]:
    """Return the marks between the round numbers, which stand closer and closer as they do on a logarithmic axis."""
    return [float(each) for each in _between(ends, range(1, 10), 1)]


def _between(ends: Ends, steps: Sequence[int], every: int) -> list[Fraction]:
    """Return the multiples of every so many powers of ten that lie on an axis."""
    powers = range(math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[1])) + 1)
    found = [step * Fraction(10) ** power for power in powers if power % every == 0 for step in steps]
    return [each for each in found if ends[0] <= float(each) <= ends[1]]


def short(value: float) -> str:
    """Return a number with three digits."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
