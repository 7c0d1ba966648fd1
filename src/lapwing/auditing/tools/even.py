"""Evenly spaced words instead of random ones: the law of what is computed from them is found without drawing.

Claim C2 (strata).  Let |X| be a function of a uniform U that does not rise as U grows, with a sign of its own.  If the
pairs of sign and U are laid out in the middles of n equal parts, the distribution function of the n values of X
differs from the true one by at most 1/n at every point.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import exact
from ...noise.entropy import EntropyForTests, Stream
from ..finding import Finding

ROUNDING = 1e-12
"""Far above the rounding of distribution functions in float64."""

SPLIT = 2.0**-18
"""From scale 2^30 on, noise below its 20 leading bits is not laid out evenly (claim N3)."""

_ONE_BY_ONE = 2**16

Words = NDArray[np.int64]


class Even:
    """Randomness for tests: words are laid out evenly, an array at a time; ``singles`` single words, one by one."""

    private = False

    def __init__(self, singles: int = _ONE_BY_ONE) -> None:
        self._number, self._singles = 0, singles
        self._rest = EntropyForTests(1)
        self.filled: list[int] = []

    def bits(self, count: int) -> int:
        """Return the next word, of as many as there are strata; its last bit alternates, as it may be a sign."""
        if count != 64:
            return self._rest.bits(count)
        self._number += 1
        return (2 * self._number - 1) * (1 << 63) // self._singles % (1 << 64) | self._number & 1

    def stream(self) -> Stream:
        return self

    def fill(self, words: Words) -> None:
        self.filled.append(words.size)
        words[:] = _even(words.size)


class Given(EntropyForTests):
    """Randomness for tests: the first words of every array are these."""

    def __init__(self, words: Words) -> None:
        super().__init__(1)
        self._words = words

    def stream(self) -> Stream:
        return self

    def fill(self, words: Words) -> None:
        words[:] = self._words[: words.size]


def _even(size: int) -> Words:
    """Return words in the middles of equal parts of all words, in an order unrelated to their size."""
    places = (np.arange(size) * 40503) % size if size % 3 and size % 23 and size % 587 else np.arange(size)
    return ((places + 0.5) * (2.0**64 / size) - 2.0**63).astype(np.int64)


def distance(values: NDArray[Any], scale: Fraction) -> float:
    """Return how far the distribution function of values is from that of integer Laplace noise, at most."""
    found, counts = np.unique(values.astype(np.float64), return_counts=True)
    upto = np.cumsum(counts) / values.size
    before = np.concatenate([[0.0], upto[:-1]])
    return float(max(np.abs(upto - _upto(found, scale)).max(), np.abs(before - _upto(found - 1, scale)).max()))


def _upto(x: NDArray[np.float64], scale: Fraction) -> NDArray[np.float64]:
    """Return P(X ≤ x) for whole x, by claim A1."""
    a = float(1 / scale)
    beyond = np.exp(-a * np.where(x < 0, -x, x + 1)) / (1 + math.exp(-a))
    return np.where(x < 0, beyond, 1 - beyond)


def even_law(what: str, values: NDArray[Any], scale: Fraction, slack: float = 0.0) -> Finding:
    """Compare evenly laid out noise with the law of its scale."""
    found, allowed = distance(values, scale), 1 / values.size + slack + ROUNDING
    told = f"its distribution function is within {found:.2e} of that of scale {_short(scale)}; {allowed:.2e} is allowed"
    return Finding(what, found <= allowed, told)


def _short(scale: Fraction) -> str:
    text = exact.text(scale)
    return text if len(text) < 13 else f"{float(scale):.6g}"
