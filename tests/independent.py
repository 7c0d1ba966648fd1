"""An independent implementation: the law of the noise from its definition, in integers, without logarithms or decimals.

``Thresholds(s, q).at(h)`` is T(h) = 2·e^(-qh/s)/(1 + e^(-1/s)) = P(|X| ≥ q·h) for h ≥ 1, as an integer over 2^320 with
an error below ``ERROR``.  e^(-x) comes from its Taylor series in ``Fraction`` arithmetic on integers.

``Racer`` is a run of claim N6 in integers over 2^640: 1 - (1 - V)^(1/m) comes from Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass
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


WIDE = 640


@dataclass
class Racer:
    """A run of ``size`` candidates with V = seen/2^known, and the chance q = 1 - (1 - V)^(1/size)."""

    seen: int
    known: int
    size: int
    gamma: Fraction

    def __post_init__(self) -> None:
        rest = ((1 << self.known) - self.seen) << (WIDE - self.known)
        self.chance, step = ((1 << WIDE) - rest) // self.size, 1 << WIDE
        while step > 1 << 100:  # from below, closer in each step; what is left is below 2^-540, and q is above 2^-200
            power = fixed_power((1 << WIDE) - self.chance, self.size - 1)
            step = ((power * ((1 << WIDE) - self.chance) >> WIDE) - rest << WIDE) // (self.size * power)
            self.chance += step

    def beats(self, other: Racer) -> bool:
        """Return whether y - γ is the higher one, that is q·e^γ the lower one."""
        ahead = other.gamma - self.gamma
        mine = self.chance * exp_minus(max(ahead, Fraction(0)), WIDE)
        others = other.chance * exp_minus(max(-ahead, Fraction(0)), WIDE)
        assert abs(mine - others) > max(mine, others) >> 310, "the tie is too close to decide here"
        return mine < others

    def rival(self, size: int, gamma: Fraction) -> int:
        """Return the V, over 2^640, with which a run of this size and γ ties with this one."""
        chance = self.chance * exp_minus(gamma - self.gamma, WIDE) >> WIDE
        return (1 << WIDE) - fixed_power((1 << WIDE) - chance, size)


def fixed_power(base: int, exponent: int) -> int:
    """Return (base/2^640)^exponent·2^640."""
    result = 1 << WIDE
    while exponent:
        if exponent & 1:
            result = result * base >> WIDE
        base, exponent = base * base >> WIDE, exponent >> 1
    return result


class ScriptedStream:
    def __init__(self, words: np.ndarray) -> None:
        self._words, self._next = words, 0

    def fill(self, words: np.ndarray) -> None:
        words[:] = self._words[self._next : self._next + words.size]
        self._next += words.size


class ScriptedEntropy:
    """Given streams, and given bits: the same 64 in every call."""

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
