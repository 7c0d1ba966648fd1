"""What the error of a question is at many ε: the values of a slider, and the curve over them; no data is read.

All of it follows from plans, so it is public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ... import exact
from ...errors import LapwingError
from ..asking import PlanBody, planned
from ..sources import Served

STEPS = (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(5), Fraction(7))
"""The values of each power of ten that the slider has."""

DECADES = 3
MOST_CURVES = 6
MOST_GROUPS = 2_000
"""A plan for more groups is drawn without a curve: it would take as long as many plans."""

WIDTH, HEIGHT = 300, 120
LEFT, RIGHT, TOP, BOTTOM = 52, 10, 10, 24


def ladder(left: Fraction) -> list[str]:
    """Return the values of ε that the slider has, up to what is left."""
    most = left if left > 0 else Fraction(1)
    first = math.floor(math.log10(float(most))) - DECADES
    values = [step * Fraction(10) ** power for power in range(first, first + DECADES + 1) for step in STEPS]
    some = [value for value in values if most / 10**DECADES <= value < most]
    return [exact.text(value) for value in (*some, most)]


def curves(served: Served, asking: PlanBody, plan: Mapping[str, Any], values: Sequence[str]) -> list[dict[str, Any]]:
    """Return, for each statistic, the curve of its error against ε, to be drawn; none if that would take long.

    ``values`` are the ε at which it is drawn.  The one that is asked is among them, so that the question is on it.
    """
    if plan["groups"] > MOST_GROUPS:
        return []
    names = [each["name"] for each in plan["columns"]][:MOST_CURVES]
    margins: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for value in sorted(set(values), key=Fraction):
        try:
            found = planned(served, asking.model_copy(update={"epsilon": value}))
        except LapwingError:
            continue
        for each in found["columns"]:
            if each["name"] in margins and _is_drawn(each["margin"]):
                margins[each["name"]].append((float(Fraction(value)), float(each["margin"])))
    here = float(Fraction(plan["epsilon"]))
    found_here = {each["name"]: each["margin"] for each in plan["columns"]}
    return [_drawn(name, points, here, found_here[name]) for name, points in margins.items() if len(points) > 1]


def _is_drawn(margin: Any) -> bool:
    return margin is not None and math.isfinite(float(margin)) and float(margin) > 0


def _drawn(name: str, points: Sequence[tuple[float, float]], here: float, margin: Any) -> dict[str, Any]:
    """Return a curve on logarithmic axes: its line, where the question is on it, and its labels."""
    xs, ys = [math.log10(x) for x, _ in points], [math.log10(y) for _, y in points]
    low, high = min(ys), max(max(ys), min(ys) + 0.1)

    def across(x: float) -> float:
        part = (x - xs[0]) / (xs[-1] - xs[0])
        return round(LEFT + min(max(part, 0), 1) * (WIDTH - LEFT - RIGHT), 1)

    def down(y: float) -> float:
        part = (y - low) / (high - low)
        return round(HEIGHT - BOTTOM - min(max(part, 0), 1) * (HEIGHT - TOP - BOTTOM), 1)

    line = " ".join(f"{across(x)},{down(y)}" for x, y in zip(xs, ys, strict=True))
    dot = [across(math.log10(here)), down(math.log10(float(margin)))] if _is_drawn(margin) and here > 0 else None
    return {
        "name": name,
        "line": line,
        "dot": dot,
        "top": short(10**high),
        "bottom": short(10**low),
        "first": short(points[0][0]),
        "last": short(points[-1][0]),
        "sizes": {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM},
    }


def short(value: float) -> str:
    """Return a number with three digits."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
