"""Quantiles, minimum and maximum of a column: values that ``selection`` chooses, with bars from noisy counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ..exact import text
from ..noise.entropy import Entropy
from ..question.query import Statistic, StatisticKind
from .cells import Column, Progress
from .cells import column as whole_numbers
from .linear import root
from .measurement import Estimate, Exact, Expectation, Measurement, Setting
from .rounding import values_of
from .selection import Selection, sorted_values

WITHOUT = " without intervals"


@dataclass(frozen=True)
class Quantiles(Measurement):
    """The values at some ``levels``, in rising order; ``interval`` says whether error bars are measured too."""

    levels: tuple[Fraction, ...] = ()
    interval: bool = True

    form: ClassVar[str] = "quantiles"
    claim: ClassVar[str] = "Q1"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"quantile"})
    own_sql: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return super().name + ("" if self.interval else WITHOUT)

    @property
    def indexed(self) -> bool:
        return True

    @property
    def names(self) -> tuple[str, ...]:
        """The values, the ends of their bars, and counts between all of these."""
        values = [f"q{level}" for level in self.levels]
        if not self.interval:
            return tuple(values)
        ends = [f"{side} q{level}" for level in self.inner for side in ("low", "high")]
        return (*values, *ends, *(f"cell {i}" for i in range(self.borders + 1)))

    @property
    def has_bars(self) -> bool:
        return self.interval

    @property
    def inner(self) -> tuple[Fraction, ...]:
        """The levels that are neither minimum nor maximum."""
        return tuple(level for level in self.levels if 0 < level < 1)

    @property
    def borders(self) -> int:
        """The number of borders between which rows are counted: four around a quantile, one at an extreme."""
        return 4 * len(self.inner) + len(self.levels) - len(self.inner)

    @property
    def chosen_values(self) -> int:
        return len(self.levels)

    def selection(self, setting: Setting) -> Selection:
        """Return how the values are found."""
        return Selection(self, setting.schema, bool(setting.query.by), setting.epsilon)

    def sensitivity(self, setting: Setting) -> int:
        return self.selection(setting).moved

    def scale(self, setting: Setting) -> Fraction:
        """Return the scale of the noise in the counts for the bars."""
        return self.selection(setting).scale

    def noisy(self, exact: Exact, setting: Setting, entropy: Entropy, progress: Progress | None) -> list[Column]:
        spread = sorted_values(exact.columns)
        columns = self.selection(setting).release(spread, setting.groups, entropy, progress)
        return [whole_numbers(cell) for cell in columns]

    def margin(self, statistic: Statistic, setting: Setting, confidence: Fraction, groups: int) -> float:
        """Return by how many rows the rank is off at most (claim Q4)."""
        return float(math.ceil(self.selection(setting).promise(_level(statistic), confidence, groups)))

    def expect(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> Expectation:
        """Return what to expect; errors are in rows."""
        selection, level, weight = self.selection(setting), _level(statistic), setting.schema.row_weight
        moved = selection.score_range(level, selection.depth == 1) / weight
        return Expectation(self.claim, moved, moved / selection.each, self.assumption(statistic, setting, confidence))

    def assumption(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> str:
        selection, level = self.selection(setting), _level(statistic)
        phrase = f"in rank; usually {math.ceil(selection.usual(level, confidence)):,}"
        if self.interval and 0 < level < 1:
            aside = math.ceil(selection.aside / setting.schema.row_weight)
            phrase += f", with a bar of some {aside:,} to either side"
            if 2 * aside > setting.rows:
                phrase += f", too many for {setting.rows:,} rows"
        return phrase

    def estimate(
        self, statistic: Statistic, noisy: Sequence[Column], setting: Setting, confidence: Fraction, groups: int
    ) -> Estimate:
        """Return a quantile and its bar (claim Q5): the nearest ends that hold it, as the counts show."""
        selection, level = self.selection(setting), _level(statistic)
        cells = np.array([cell.tolist() for cell in noisy], dtype=object)
        value = cells[self.levels.index(level)]
        low, high = np.zeros_like(value), np.full_like(value, self.grid.steps)
        if self.interval:
            points = len(self.levels) + 2 * len(self.inner)
            borders = np.array(selection.borders(list(cells[:points])))
            place = np.argsort(np.argsort(borders, axis=0, kind="stable"), axis=0, kind="stable")
            upto = np.cumsum(cells[points:], axis=0)
            off = np.take_along_axis(upto, place, axis=0) - level * upto[-1]
            lower, upper = selection.sides(level)
            below, which = np.unique(place[[*lower, *upper]] + 1, return_inverse=True)
            margin = np.array(selection.margins(level, root(confidence, groups), below.tolist()))[which]
            margin = margin.reshape(-1, len(value))
            for i, beyond in zip(lower, margin, strict=False):
                low = np.where(off[i] + beyond < 0, borders[i], low)
            for i, beyond in zip(upper, margin[len(lower) :], strict=True):
                high = np.where(off[i] - beyond > 0, borders[i] - 1, high)
            low, high = np.minimum(low, value), np.maximum(high, value)
        return values_of(self, setting.schema, value, low, high)

    def explanation(self, setting: Setting) -> str:
        selection = self.selection(setting)
        levels = ", ".join(map(text, self.levels))
        times = f", {selection.depth} times one after the other" if selection.depth > 1 else ""
        sentence = f"{self.name} ({levels}): values chosen by permute-and-flip (claims Q1 to Q3) at ε = "
        sentence += f"{text(selection.each)}{times}"
        if self.interval:
            scale = text(selection.scale / setting.schema.row_weight)
            sentence += f"; rows counted around them for the bars, noise scale {scale} (claim Q5)"
        return sentence

    def note(self, setting: Setting) -> str:
        if not {0, 1} & set(self.levels):
            return ""
        rows = math.ceil(self.selection(setting).inside / setting.schema.row_weight)
        return f"Minimum and maximum of {self.target} are values some {rows:,} rows inside."


def _level(statistic: Statistic) -> Fraction:
    return statistic.level if statistic.level is not None else Fraction(0)
