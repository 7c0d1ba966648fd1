"""One axis for all error bars of a statistic: its ends, its ticks, and where a number lies on it.

All bars of a table are drawn on the same axis, so that a number that is larger lies farther to the right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

WIDTH = 220
"""The width of a drawing, in pixels."""

HEIGHT = 18
_DIGIT = 6.4
"""The width of a character of a tick's label, in pixels."""

_APART = 14
"""The least space between two labels."""

_NEAR = 0.6
"""The axis starts at 0 if the smallest number is at most this share of the largest."""

_MOST_TICKS = 6

_SMALLEST = 1e-300
"""Numbers that are no farther apart are drawn at one place."""

_END = 0.4
"""The axis goes on to the next tick if that is no farther than this share of a step."""


@dataclass(frozen=True)
class Axis:
    """The axis of a statistic: the numbers at its ends and at its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]

    @cached_property
    def pad(self) -> float:
        """The space at both ends, in which half a label has room."""
        return max((_DIGIT * len(label) / 2 for label in self.labels), default=0.0) + 2

    def at(self, number: float) -> float:
        """Return where a number lies, in pixels from the left."""
        share = (number / 2 - self.low / 2) / (self.high / 2 - self.low / 2)  # halves: the difference may overflow
        return round(self.pad + (WIDTH - 2 * self.pad) * min(max(share, 0.0), 1.0), 1)


def make_axis(numbers: Iterable[float]) -> Axis:
    """Return the axis on which all of these numbers lie, with as many ticks as have room."""
    found = [float(each) for each in numbers if math.isfinite(each)] or [0.0, 1.0]
    low, high = min(found), max(found)
    if low > 0 and low <= _NEAR * high:
        low = 0.0
    if high < 0 and high >= _NEAR * low:
        high = 0.0
    if high / 2 - low / 2 < _SMALLEST:
        low, high = (min(low, 0.0), max(high, 0.0)) if abs(low) > _SMALLEST else (0.0, 1.0)
    best = None
    for number in range(2, _MOST_TICKS + 1):
        made = _with_ticks(low, high, number)
        room = (WIDTH - 2 * made.pad) / max(len(made.ticks) - 1, 1)
        if best is None or room >= 2 * made.pad - 4 + _APART:
            best = made
    assert best is not None
    return best


def _with_ticks(low: float, high: float, number: int) -> Axis:
    """Return an axis over these numbers with about so many ticks; it ends at a tick if one is near."""
    step = _step((high / number) - (low / number))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if low / step - (first - 1) < _END:
        first -= 1
    if last + 1 - high / step < _END:
        last += 1
    ticks = tuple(i * step for i in range(first, last + 1))
    if len(ticks) < 2 or not all(map(math.isfinite, ticks)) or ticks[0] == ticks[-1]:
        ticks, step = (low, high), high / 100 - low / 100
    ends = min(low, ticks[0]), max(high, ticks[-1])
    return Axis(*ends, ticks, tuple(_label(tick, step) for tick in ticks))


def _step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, … (or their parts) that is no smaller."""
    if least <= 0 or not math.isfinite(least):
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next((times * power for times in (1, 2, 5, 10) if times * power >= least * (1 - 1e-9)), 10 * power)


def _label(tick: float, step: float) -> str:
    if tick == 0:
        return "0"
    if abs(tick) >= 1e9 or step < 1e-5:
        digits = min(max(math.ceil(math.log10(abs(tick)) - math.log10(step)) + 1, 1), 17)
        return f"{tick:.{digits}g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    places = max(-math.floor(math.log10(step) + 1e-9), 0)
    return f"{tick:,.{places}f}"
