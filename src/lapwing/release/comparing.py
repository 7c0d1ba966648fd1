"""Groups of a release compared: differences, ratios, shares and totals, from its noisy integers alone.

Each result is a linear combination of noisy cells or a quotient of two (``measure.quotients``), over one group or many.
A cell that the numerator and the denominator share is one cell: its noise is not counted as if it were independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameter, UselessParameter
from ..measure.cells import Column, largest
from ..measure.linear import as_integers
from ..measure.measurement import Estimate
from ..measure.quotients import Bars, Slot, clipped, difference, fieller, quotient, weighted
from ..noise.weighted import EqualDraws, margin_of
from ..plan.naming import about_statistic
from ..plan.plan import Plan
from ..plan.weighing import Weighing, cannot_be_negative, public_range, weighing
from ..question.codes import Key, written
from ..question.query import Statistic
from .columns import KeyColumn
from .estimate import Estimator
from .noise_marks import as_shown, statistic_range
from .several import SeveralEstimator

_LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class Compared:
    """One statistic compared: its name, what it is, its numbers, and the ends between which they must lie."""

    name: str
    kind: str
    estimate: Estimate
    low: float
    high: float


def about_compared(plan: Plan, compared: Compared) -> dict[str, str]:
    """Return the title and the unit of differences and totals: those of the numbers they are made of."""
    statistic = _alike(plan, compared)
    return {} if statistic is None else about_statistic(plan, statistic)


def as_compared(plan: Plan, compared: Compared) -> Compared:
    """Return differences and totals as the numbers they are made of are shown: times a constant, and rounded."""
    statistic = _alike(plan, compared)
    if statistic is None:
        return compared
    ends = Estimate(*(np.array([end]) for end in (0.0, compared.low, compared.high)))
    _, low, high = as_shown(statistic, ends)
    return replace(compared, estimate=as_shown(statistic, compared.estimate), low=float(low[0]), high=float(high[0]))


def _alike(plan: Plan, compared: Compared) -> Statistic | None:
    """Return the statistic that was compared, if the result is a number of the same kind; ratios and shares are not."""
    (statistic,) = (each for each in plan.query.statistics if each.name == compared.name)
    return statistic if compared.kind in ("difference", statistic.kind) else None


@dataclass(frozen=True, eq=False)
class GroupTables:
    """The noisy cells of a release as tables over its keys, and the confidence of each bar."""

    plan: Plan
    noisy: Sequence[Sequence[Column]]
    shape: tuple[int, ...]
    confidence: Fraction

    def table(self, part: int, cell: int) -> Column:
        """Return a cell for all groups, with an axis for each key; in Python's integers if sums might be too large."""
        found = self.noisy[part][cell]
        return (found.astype(object) if largest(found) * found.size >= _LARGEST else found).reshape(self.shape)

    @property
    def beyond(self) -> float:
        """The probability that a bar misses."""
        return float(1 - self.confidence)


Pick = Callable[[Column], Column]
"""What takes some groups from the table of a cell."""


def _slots(
    groups: GroupTables, made: Weighing, pick: Pick, *, sign: int = 1, swap: bool = False, times: int = 1
) -> list[Slot]:
    """Return the cells of a statistic in the groups that are picked, ``times`` of them summed in each output.

    ``swap`` puts them into the denominator.
    """
    slots = []
    for each in made.cells:
        top, bottom = (each.bottom, sign * each.top) if swap else (sign * each.top, each.bottom)
        table = groups.table(each.part, each.cell)
        picked = np.asarray(pick(table), dtype=table.dtype).reshape(-1)
        slots.append(Slot(top, bottom, each.scale, times, picked))
    return slots


def _bars(
    groups: GroupTables, slots: Sequence[Slot], top: Fraction = Fraction(0), bottom: Fraction = Fraction(0)
) -> Bars:
    """Return the quotients of these cells."""
    return fieller(slots, groups.confidence).bars(weighted(slots, top), weighted(slots, bottom, top=False))


def _linear(groups: GroupTables, statistic: Statistic, slots: Sequence[Slot]) -> Estimate:
    """Return a linear combination of cells, as integers if the statistic is shown so."""
    draws = [EqualDraws(float(each.top), each.scale, each.times) for each in slots]
    total, margin = weighted(slots, Fraction(0)), margin_of(draws, groups.confidence) * (1 + 1e-12)
    far = float(np.abs(total).max(initial=0.0)) + margin
    if groups.plan.is_integer(statistic) and far < _LARGEST:
        return as_integers(total, margin, groups.plan.is_truly_integer(statistic))
    return Estimate(total, total - margin, total + margin)


def _compared(name: str, kind: str, bars: Bars, low: float, high: float) -> Compared:
    return Compared(name, kind, Estimate(*clipped(bars, low, high)[:3]), low, high)


# --- what can be asked ---


def differences(groups: GroupTables, axis: int, of: int, to: int) -> list[Compared]:
    """Return each statistic of one key of an axis, minus that of another."""
    return _both(groups, axis, of, to, "difference")


def ratios(groups: GroupTables, axis: int, of: int, to: int) -> list[Compared]:
    """Return each statistic of one key of an axis, divided by that of another."""
    return _both(groups, axis, of, to, "ratio")


def _both(groups: GroupTables, axis: int, of: int, to: int, kind: str) -> list[Compared]:
    picks = [lambda table, i=i: np.take(table, i, axis=axis) for i in (of, to)]
    found = []
    for statistic in groups.plan.query.statistics:
        made, name = weighing(groups.plan, statistic), str(statistic.name)
        if made is None:
            continue
        low, high = public_range(groups.plan, statistic)
        if not made.divides:
            first = _slots(groups, made, picks[0])
            if kind == "difference":
                estimate = _linear(groups, statistic, [*first, *_slots(groups, made, picks[1], sign=-1)])
                found.append(Compared(name, kind, estimate, -math.inf, math.inf))
            else:
                ends = (0.0, math.inf) if cannot_be_negative(groups.plan, statistic) else (-math.inf, math.inf)
                bars = _bars(groups, [*first, *_slots(groups, made, picks[1], swap=True)])
                found.append(_compared(name, kind, bars, *ends))
            continue
        one, other = (_bars(groups, _slots(groups, made, pick)) for pick in picks)
        if kind == "difference":
            bars = difference(one, other, groups.beyond)
            found.append(_compared(name, kind, bars, low - high, high - low))
        elif low >= 0:
            found.append(_compared(name, kind, quotient(one, other, groups.beyond), 0.0, math.inf))
    return found


def bounded_differences(
    plan: Plan,
    bars: Sequence[Estimate],
    exact: Estimator | SeveralEstimator,
    axis: int,
    of: NDArray[np.int64],
    to: NDArray[np.int64],
) -> list[Compared]:
    """Return each statistic in some groups minus that in others: ``exact`` if it is known, else from two ``bars``.

    If each of the two bars misses with half of a probability, both hold except with this probability: then the
    difference lies between low - high and high - low, whatever their noise has in common (claim G3).
    """
    found = []
    for statistic, each in zip(plan.query.statistics, bars, strict=True):
        low, high = statistic_range(plan, statistic)
        estimate = exact.apart(statistic, axis, of, to) if isinstance(exact, SeveralEstimator) else None
        if estimate is None:
            value, bottom, top = (np.asarray(end, dtype=float) for end in each)
            estimate = Estimate(value[of] - value[to], bottom[of] - top[to], top[of] - bottom[to])
        found.append(Compared(str(statistic.name), "difference", estimate, low - high, high - low))
    return found


def shares(groups: GroupTables, within: Sequence[int]) -> list[Compared]:
    """Return each count and sum as a share of its total over all keys, except those ``within`` which it is taken."""
    axes = tuple(axis for axis in range(len(groups.shape)) if axis not in within)
    others = math.prod(groups.shape[axis] for axis in axes) - 1
    found = []
    for statistic in groups.plan.query.statistics:
        made = weighing(groups.plan, statistic)
        if made is None or made.divides or statistic.kind == "people" or not cannot_be_negative(groups.plan, statistic):
            continue
        slots = []
        for each in made.cells:
            table = groups.table(each.part, each.cell)
            rest = table.sum(axis=axes, keepdims=True) - table
            slots.append(Slot(each.top, each.top, each.scale, 1, table.reshape(-1)))
            slots.append(Slot(Fraction(0), each.top, each.scale, others, rest.reshape(-1)))
        found.append(_compared(str(statistic.name), "share", _bars(groups, slots), 0.0, 1.0))
    return found


def totals(groups: GroupTables, over: Sequence[int]) -> list[Compared]:
    """Return each count, sum, mean, proportion and ratio of all groups of some keys together."""
    times = math.prod(groups.shape[axis] for axis in over)
    found = []
    for statistic in groups.plan.query.statistics:
        made, name = weighing(groups.plan, statistic), str(statistic.name)
        if made is None or any(each.kind == "people" for each in (statistic, *statistic.parts)):
            continue
        slots = _slots(groups, made, lambda table: table.sum(axis=tuple(over)), times=times)
        if made.divides:
            found.append(_compared(name, statistic.kind, _bars(groups, slots), *public_range(groups.plan, statistic)))
        else:
            found.append(Compared(name, statistic.kind, _linear(groups, statistic, slots), -math.inf, math.inf))
    return found


# --- which groups are meant ---


def axis_of(columns: Sequence[KeyColumn], asked: object, parameter: str) -> int:
    """Return which key of the question a name means."""
    names = {each.name: each.at for each in columns if each.is_key}
    for name, at in names.items():
        if isinstance(asked, str) and name.casefold() == asked.casefold():
            return at
    if not names:
        raise UselessParameter(parameter, "the release has no groups", "Release the statistics by a key first.")
    raise InvalidParameter(asked, parameter, f"a key of the release: {', '.join(names)}")


def place_of(columns: Sequence[KeyColumn], axis: int, asked: object, parameter: str) -> int:
    """Return which key of an axis a value means: the key itself, its text or its label."""
    mine = [each.keys for each in columns if each.at == axis]
    for values in mine:
        for i, value in enumerate(values):
            if type(value) is type(asked) and value == asked:
                return i
    for values in mine:
        texts = [_text(value) for value in values]
        text = str(asked) if type(asked) is int else asked  # a code such as 1, where the keys are texts
        if isinstance(text, str) and texts.count(text) == 1:
            return texts.index(text)
    raise InvalidParameter(asked, parameter, f"one of {', '.join(_text(value) for value in mine[0][:20])}")


def _text(value: Key) -> str:
    return str(value).lower() if isinstance(value, bool) else str(written(value))
