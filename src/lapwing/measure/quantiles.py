"""Quantiles, minimum and maximum of a column: values that ``selection`` chooses, with bars from noisy counts.

Rows may have weights (claim W3): ranks, counts and errors are then weight instead of rows.
"""

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
from ..question.schema import Grid
from ..report import shown
from .cells import Column, Progress
from .cells import column as whole_numbers
from .linear import root
from .measurement import UNIT, Estimate, Exact, Expectation, Measurement, Setting, rows_assumed
from .rounding import values_of
from .selection import Selection, sorted_values

WITHOUT = " without intervals"


@dataclass(frozen=True)
class Quantiles(Measurement):
    """The values at some ``levels``, in rising order; ``interval`` says whether error bars are measured too.

    ``weight`` is the column by which rows are weighted; without it every row has the one step of ``weight_grid``.
    """

    levels: tuple[Fraction, ...] = ()
    interval: bool = True
    weight: str = ""
    weight_grid: Grid = UNIT

    form: ClassVar[str] = "quantiles"
    claim: ClassVar[str] = "Q1"
    kinds: ClassVar[frozenset[StatisticKind]] = frozenset({"quantile"})
    own_sql: ClassVar[bool] = True

    @property
    def target(self) -> str:
        return f"{super().target} by {self.weight}" if self.weight else super().target

    @property
    def columns(self) -> tuple[str, ...]:
        return (*super().columns, self.weight) if self.weight else super().columns

    def answers(self, statistic: Statistic) -> bool:
        return super().answers(statistic) and (statistic.weight_column or "") == self.weight

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
        """The number of borders between which rows or weights are counted: four for a quantile, one for an extreme."""
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
        """Return by how many rows, or how much weight, the rank is off at most (claim Q4)."""
        most = self.selection(setting).promise(_level(statistic), confidence, groups)
        return most if self.weight else float(math.ceil(most))

    def expect(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> Expectation:
        """Return what to expect; errors are in rows, or in weight."""
        selection, claim = self.selection(setting), "W3" if self.weight else self.claim
        moved = selection.score_range(_level(statistic), selection.depth == 1) / selection.one
        return Expectation(claim, moved, moved / selection.each, self.assumption(statistic, setting, confidence))

    def assumption(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> str:
        selection, level = self.selection(setting), _level(statistic)
        phrase = f"in rank; usually {self._amount(selection.usual(level, confidence))}"
        if self.interval and 0 < level < 1:
            aside = float(selection.aside / selection.one)
            phrase += f", with a bar of some {self._amount(aside)} to either side"
            if 2 * aside > setting.rows and not self.weight:
                phrase += f", too many for {setting.rows:,} rows"
            half = self.weight_grid.high * self.weight_grid.step / 2
            if 2 * aside > setting.rows * half and self.weight:
                phrase += f", too much for {rows_assumed(setting)} with half of the largest weight on average"
        return phrase

    def _amount(self, of: float) -> str:
        """Return a number of rows, or a weight, as it is shown."""
        return shown(of) if self.weight else f"{math.ceil(of):,}"

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
        claims = f"claims Q1 to Q3{' and W3' if self.weight else ''}"
        sentence = f"{self.name} ({levels}): values chosen by permute-and-flip ({claims}) at ε = "
        sentence += f"{text(selection.each)}{times}"
        if self.interval:
            counted = "weights summed" if self.weight else "rows counted"
            scale = text(selection.scale / selection.one)
            sentence += f"; {counted} around them for the bars, noise scale {scale} (claim Q5)"
        return sentence

    def note(self, setting: Setting) -> str:
        if self.weight:
            return f"Rows where {self.weight} is missing have the weight 0."
        if not {0, 1} & set(self.levels):
            return ""
        rows = math.ceil(self.selection(setting).inside / self.selection(setting).one)
        return f"Minimum and maximum of {self.target} are values some {rows:,} rows inside."


def _level(statistic: Statistic) -> Fraction:
    return statistic.level if statistic.level is not None else Fraction(0)
