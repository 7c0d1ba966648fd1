"""Second roads: the law of the noise from its definition, in integers, without any logarithm or decimal.

``Thresholds(s, q).at(h)`` is T(h) = 2·e^(-qh/s)/(1 + e^(-1/s)) = P(|X| ≥ q·h) for h ≥ 1, as an integer over 2^320 with
an error below ``ERROR``.  e^(-x) comes from its Taylor series in ``Fraction`` arithmetic on integers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

PLACES = 320
ONE = 1 << PLACES
ERROR = 1 << 32


def exp_minus(x: Fraction, places: int = PLACES) -> int:
    """Return e^(-x)·2^places for x ≥ 0, wrong by less than 2^8."""
    if x > 3 * places:
        return 0
    halvings = max(0, (x.numerator // x.denominator).bit_length()) + 10
    wide = places + halvings + 32
    argument = (x.numerator << wide) // (x.denominator << halvings)
    term, total, k = 1 << wide, 0, 0
    while term:
        total += term if k % 2 == 0 else -term
        k += 1
        term = (term * argument >> wide) // k
    for _ in range(halvings):
        total = total * total >> wide
    return total >> (wide - places)


class Thresholds:
    """P(|X| ≥ q·h) for the scale s, by products of e^(-q·16^j·digit/s)."""

    def __init__(self, scale: Fraction, step: int = 1) -> None:
        self._rate = Fraction(step) / scale
        self._powers: dict[tuple[int, int], int] = {}
        self._first = (2 << (2 * PLACES)) // (ONE + exp_minus(1 / scale))

    def at(self, h: int) -> int:
        product, place = self._first, 0
        while h:
            h, digit = divmod(h, 16)
            if digit:
                product = product * self._power(place, digit) >> PLACES
            place += 1
        return product

    def _power(self, place: int, digit: int) -> int:
        if (place, digit) not in self._powers:
            self._powers[place, digit] = exp_minus(self._rate * digit * 16**place)
        return self._powers[place, digit]

    def cell_holds(self, h: int, bits: int, known: int) -> bool:
        """Return whether every U that begins with these bits has T(h+1) < U < T(h), that is |X| = q·h + …"""
        shift = PLACES - known
        below = h == 0 or (bits + 1) << shift <= self.at(h) - ERROR
        return below and bits << shift >= self.at(h + 1) + ERROR


class ScriptedStream:
    def __init__(self, words: np.ndarray) -> None:
        self._words, self._next = words, 0

    def fill(self, words: np.ndarray) -> None:
        words[:] = self._words[self._next : self._next + words.size]
        self._next += words.size


class ScriptedEntropy:
    """Streams and bits as written down beforehand; the bits are the same 64 again and again."""

    private = False

    def __init__(self, words: np.ndarray | None = None, bits: int = 0x9E3779B97F4A7C15) -> None:
        self._words, self._bits = words, bits

    def stream(self) -> ScriptedStream:
        return ScriptedStream(self._words)

    def bits(self, count: int) -> int:
        return self._bits >> (64 - count) if count <= 64 else self._bits << (count - 64)


def signed(words: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """Return the words whose 63 low bits and sign are given: a negative word holds its bits complemented."""
    return np.where(negative, ~words, words)
