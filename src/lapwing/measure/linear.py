"""Counts and sums: weighted sums of noisy cells, of one measurement or of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..noise.distributions import DiscreteLaplace
from ..noise.intervals import sum_margin
from ..noise.weighted import Floats
from .cells import Column, largest
from .measurement import Estimate

Noisy = Sequence[Sequence[Column]]
"""For each measurement, for each of its cells, a column with one noisy integer for each group."""

Groups = slice | NDArray[np.int64]
"""Groups by their numbers: some in a row, or any in any order."""

_LARGEST_SHOWN = 2**62
"""Whole numbers up to here are shown as integers, larger ones as floats."""

_GROUPS_AT_ONCE = 2**16


class Term(NamedTuple):
    """What a measurement adds to a count or sum: its number, the weights of its cells, the scale of their noise."""

    part: int
    weights: tuple[Fraction, ...]
    scale: Fraction

    @property
    def variance(self) -> Fraction:
        """The variance of the noise, up to a constant factor."""
        return sum((weight**2 for weight in self.weights), Fraction(0)) * self.scale**2


def combined(terms: Sequence[Term]) -> list[Term]:
    """Return several estimates of one number as one, weighted by their inverse variances."""
    precisions = [1 / term.variance for term in terms]
    total = sum(precisions, Fraction(0))
    return [
        term._replace(weights=tuple(weight * precision / total for weight in term.weights))
        for term, precision in zip(terms, precisions, strict=True)
    ]


def root(confidence: Fraction, groups: int) -> Fraction:
    """Return the confidence of each of so many independent bars that hold at once with ``confidence``, rounded up."""
    if groups == 1:
        return confidence
    beyond = -math.expm1(math.log1p(-float(1 - confidence)) / groups)
    return 1 - Fraction(beyond * (1 - 1e-12))


def linear_margin(terms: Sequence[Term], confidence: Fraction, groups: int) -> float:
    """Return the margin of a weighted sum of noisy cells: exact for one cell, by claim A9 for several."""
    weighted = [(abs(weight), term.scale) for term in terms for weight in term.weights if weight]
    if len(weighted) == 1:
        ((weight, scale),) = weighted
        return float(weight * DiscreteLaplace(scale).simultaneous_margin(groups, confidence))
    scales = [weight * scale for weight, scale in weighted]
    return sum_margin(scales, root(confidence, groups)) + float(sum(weight for weight, _ in weighted))


def integer_margin(margin: float, exactly: bool) -> float:
    """Return the half-width of a bar around a number that is shown as an integer.

    ``exactly`` says that the truth is an integer too.  If it may not be one, rounding to an integer moves the value by
    up to a half.
    """
    return float(math.floor(margin) if exactly else math.ceil(margin + 0.5))


def as_integers(total: Floats, margin: float, exactly: bool) -> Estimate:
    """Return numbers and their bars as integers; ``exactly`` says that the truth is an integer too."""
    shown, half = np.rint(total), integer_margin(margin, exactly)
    low, high = shown - half, shown + half
    if exactly:  # the bar ends at the last integers inside it
        low, high = np.minimum(np.ceil(total - margin), shown), np.maximum(np.floor(total + margin), shown)
    return Estimate(*(each.astype(np.int64) for each in (shown, low, high)))


@dataclass(frozen=True)
class Linear:
    """A count or sum as weighted cells: what is added to them, its margin, and how it is shown.

    ``integer`` says that it is shown as an integer, ``true_integer`` that the truth is one; ``multiple`` that it is an
    integer multiple of one cell, with an integer margin.
    """

    terms: Sequence[Term]
    offset: Fraction
    margin: float
    multiple: bool
    integer: bool
    true_integer: bool

    def estimate(self, noisy: Noisy, groups: Groups) -> Estimate:
        """Return the count or sum of some groups."""
        if self.multiple:
            return self._multiple(noisy[self.terms[0].part][0], groups)
        total = _total(self.terms, self.offset, noisy, groups)
        low, high = total - self.margin, total + self.margin
        if not self.integer:
            return Estimate(total, low, high)
        return as_integers(total, self.margin, self.true_integer)

    def _multiple(self, noisy: Column, groups: Groups) -> Estimate:
        """Return an integer multiple of one cell, in integers that cannot overflow."""
        weight, offset, steps = int(self.terms[0].weights[0]), int(self.offset), int(self.margin)
        cells = noisy[groups]
        fits = max(largest(cells), 1) * abs(weight) + abs(offset) + steps < 2**63
        value = cells.astype(np.int64 if fits else object) * weight + offset
        kind = np.int64 if self.integer else np.float64
        return Estimate(*((value + way * steps).astype(kind) for way in (0, -1, 1)))


def make_linear(
    terms: Sequence[Term],
    offset: Fraction,
    noisy: Noisy,
    confidence: Fraction,
    groups: int,
    counted: bool,
    true_integer: bool,
) -> Linear:
    """Return a count or sum, and what depends on all of its groups; ``counted`` says that an integer is wanted."""
    (part, weights, scale), *others = terms
    if not others and len(weights) == 1 and weights[0].denominator == 1:
        steps = DiscreteLaplace(scale).simultaneous_margin(groups, confidence) * int(weights[0])
        ends = [int(end) * int(weights[0]) + int(offset) for end in (noisy[part][0].min(), noisy[part][0].max())]
        return Linear(terms, offset, steps, True, max(map(abs, ends)) + steps < _LARGEST_SHOWN, true_integer)
    margin = linear_margin(terms, confidence, groups) * (1 + 1e-12)
    integer = counted and _farthest(terms, offset, margin, noisy) < _LARGEST_SHOWN
    return Linear(terms, offset, margin, False, integer, true_integer)


def _farthest(terms: Sequence[Term], offset: Fraction, margin: float, noisy: Noisy) -> float:
    """Return how far the ends of bars are from 0 at most, or a bound on it that is below the largest integer shown."""
    sizes = [abs(float(w)) * largest(cell) for i, by, _ in terms for w, cell in zip(by, noisy[i], strict=True)]
    bound = (sum(sizes) + abs(float(offset)) + margin) * (1 + 1e-9)
    if bound < _LARGEST_SHOWN:
        return bound
    starts = range(0, len(noisy[terms[0].part][0]), _GROUPS_AT_ONCE)
    totals = (_total(terms, offset, noisy, slice(start, start + _GROUPS_AT_ONCE)) for start in starts)
    return max(float(np.abs(total + way * margin).max()) for total in totals for way in (-1, 1))


def _total(terms: Sequence[Term], offset: Fraction, noisy: Noisy, groups: Groups) -> Floats:
    total = np.zeros(len(noisy[terms[0].part][0][groups]))
    for i, weights, _ in terms:
        for weight, cell in zip(weights, noisy[i], strict=True):
            total += float(weight) * cell[groups].astype(float)
    return total + float(offset)
