"""The sampler's decisions: for given bits, each draw is the number that a separate computation finds for them.

The words are not drawn but written: at random, at the borders between two values, and at the ends of their range, for
scales of every size and around every constant of the sampler.  Where 63 bits do not decide, the bits that follow are
written too.  So that no rare branch is left out, the lines of the sampler that ran are recorded, and each must.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import exact
from ...errors import LapwingError
from ...noise import entropy as entropy_module
from ...noise import sampler
from ...noise.entropy import EntropyForTests, Stream, SystemEntropy
from ...noise.sampler import BLOCK, coins, discrete_laplace, race, uniform
from ..finding import Finding, all_right
from ..room import Room
from ..tools.ran import Ran

SEED = 11
_DIGITS = 65
_MOST_ARRAY = 2**50
_SPLIT_BITS = 30
"""From scale 2^30 on, noise is drawn in two parts (claim N3)."""

_FOLLOWING = (1, 2**63 + 12345, 2**64 - 1)
"""The bits that follow a word: few, some and all of them ones."""


def decisions(room: Room) -> Iterator[Finding]:
    """Yield whether draws are what their bits say, and whether every line of the sampler was seen to run."""
    with Ran(sampler, entropy_module) as ran:
        found = list(_written(Random(SEED), 200 if room.deep else 14))
        _other_lines()
    yield from found
    yield _blocks()
    for module, (number, missed) in ran.missed(_NEVER).items():
        told = f"{number} statements ran, {len(missed)} did not" + (f": line {missed[0]}" if missed else "")
        yield Finding(f"every statement of {module} is tried", not missed, told)


def _written(random: Random, number: int) -> Iterator[Finding]:
    """Yield what is found from written bits, at so many scales drawn at random and at all that are special."""
    scales = _scales(random, number)
    yield _arrays(random, [scale for scale in scales if scale <= _MOST_ARRAY])
    yield _singles(random, scales)
    yield from _low_parts()
    yield _overflow()
    yield _coins(random)
    yield _uniform()
    yield from _races(random)
    yield _refused()


_NEVER: tuple[str, ...] = ()
"""Statements that cannot be reached, as they are written; there are none."""


def _scales(random: Random, number: int) -> list[Fraction]:
    """Return scales of every size, and those around each constant of the sampler."""
    found = [Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 40), Fraction(1, 1000), Fraction(2**60, 7)]
    for value in vars(sampler).values():
        if isinstance(value, int | float | Fraction) and not isinstance(value, bool) and 1 < value < 2**60:
            found += [Fraction(value) + way for way in (-1, Fraction(-1, 3), 0, 1)]
    for power in random.sample(range(-12, 51), 6):
        found += [Fraction(2) ** power, Fraction(2) ** power + Fraction(random.choice((-1, 1)), 2**16)]
    for _ in range(number):
        size = 10 ** random.uniform(-3, 15)
        found.append(Fraction(max(round(size * 999), 1), random.choice((997, 999, 1001, 3 * 333))))
    found += [Fraction(2**50), Fraction(2**29), Fraction(2**30), Fraction(2**30 - 1), Fraction(2**31), Fraction(3)]
    return [scale for scale in dict.fromkeys(found) if scale > Fraction(1, 2**40)]


# --- a separate computation ---


@dataclass(frozen=True)
class _Law:
    """The law of one scale, in decimals of many places."""

    scale: Fraction

    @cached_property
    def context(self) -> Context:
        """Arithmetic of many places."""
        return exact.arithmetic(_DIGITS)

    @cached_property
    def split(self) -> int:
        """The power of two q of claim N3, 2^19 ≤ s/q < 2^20; 1 below scale 2^30."""
        q = 1
        while self.scale >= 2**_SPLIT_BITS and self.scale / q >= 2**20:
            q *= 2
        return q

    @cached_property
    def offset(self) -> Decimal:
        """The c of claim N1: ln(2/(1 + e^(-1/s)))."""
        context = self.context
        decay = context.exp(exact.as_decimal(-1 / self.scale, context))
        return context.ln(context.divide(Decimal(2), context.add(Decimal(1), decay)))

    def size(self, bits: int, following: int) -> int:
        """Return floor(s/q·(c - ln U)) for a U that begins with 63 bits, and goes on with 64 equal others."""
        context, whole = self.context, bits
        for _ in range(3):
            whole = whole << 64 | following
        share = context.divide(Decimal(whole), Decimal(1 << (63 + 3 * 64)))
        depth = context.subtract(self.offset, context.ln(share))
        return int(context.multiply(exact.as_decimal(self.scale / self.split, context), depth))

    def border(self, size: int) -> int:
        """Return the 63 bits within which |X| changes from this size to a larger one; 0 if they are too few."""
        context = self.context
        steps = context.divide(Decimal(size + 1), exact.as_decimal(self.scale / self.split, context))
        return int(context.multiply(context.exp(context.subtract(self.offset, steps)), Decimal(1 << 63)))


class _Written:
    """Randomness for tests: the words of arrays and the single bits are written down, in order."""

    private = False

    def __init__(self, words: Sequence[NDArray[np.int64]] = (), bits: Sequence[int] = (), always: int = 0) -> None:
        self._words, self._bits, self._always, self._left = iter(words), iter(bits), always, 200

    def bits(self, count: int) -> int:
        self.count()
        return next(self._bits, self._always) & ((1 << count) - 1)

    def count(self) -> None:
        """End a draw that has no end, whatever bits follow."""
        self._left -= 1
        if not self._left:
            raise RuntimeError("a draw has no end, whatever bits follow")

    def stream(self) -> Stream:
        return self

    def fill(self, words: NDArray[np.int64]) -> None:
        words[:] = next(self._words)[: words.size]


def _tried(random: Random, law: _Law) -> list[int]:
    """Return 63 bits of all sizes, and those around the borders of some values."""
    found = [0, 1, 2, 3, 2**62, 2**63 - 2, 2**63 - 1]
    found += [random.getrandbits(63) >> random.choice((0, 0, 1, 5, 20, 40, 60)) for _ in range(8)]
    sizes = {0, 1, 2, int(law.scale / law.split), *(int(law.scale / law.split * random.uniform(0, 12)) for _ in "123")}
    borders = [law.border(size) for size in sizes]
    return found + [border + off for border in borders for off in (-1, 0, 1) if 0 < border + off < 2**63]


def _arrays(random: Random, scales: Sequence[Fraction]) -> Finding:
    """Draw arrays of written words, of both signs."""
    wrong, number = [], 0
    for scale in scales:
        law = _Law(scale)
        q, tried = law.split, _tried(random, law)
        words = np.array([sign for bits in tried for sign in (bits, ~bits)], np.int64)
        low = np.array([random.randrange(1, q) if q > 1 else 0 for _ in words], np.int64)
        for following in random.sample(_FOLLOWING, 1 if scale.denominator > 1 else 2):
            given = _Written([words, low], always=following)
            drawn = discrete_laplace(scale, words.size, entropy=given).tolist()
            for place, bits in enumerate(tried):
                size = law.size(bits, following)
                due = [q * size + int(low[2 * place]), -(q * size + int(low[2 * place + 1]))]
                number += 2
                if drawn[2 * place : 2 * place + 2] != due:
                    wrong.append(f"scale {exact.text(scale)}, bits {bits}: {drawn[2 * place]:,}, and {due[0]:,} is due")
    return Finding(
        f"arrays of noise at {len(scales)} scales (seed {SEED}), from written bits", not wrong, all_right(wrong, number)
    )


def _singles(random: Random, scales: Sequence[Fraction]) -> Finding:
    """Draw single numbers from written words."""
    wrong, number = [], 0
    for scale in (*scales, Fraction(10**30, 3), Fraction(2) ** 1000, Fraction(2) ** -40):
        law = _Law(scale)
        q = law.split
        for bits in random.sample(_tried(random, law), 6):
            following, low = random.choice(_FOLLOWING), random.randrange(1, q) if q > 1 else 0
            size = law.size(bits, following)
            for sign in (0, 1):
                given = _SingleWords(bits << 1 | sign, following, low, q)
                drawn, due = discrete_laplace(scale, entropy=given), (1 - 2 * sign) * (q * size + low)
                number += 1
                if drawn != due:
                    wrong.append(f"scale {float(scale):.6g}, bits {bits}: {drawn}, and {due} is due")
    return Finding(f"single draws at {len(scales) + 3} scales, from written bits", not wrong, all_right(wrong, number))


class _SingleWords(_Written):
    """Randomness for tests: a word, what follows it, and the low part of a large draw, which is kept."""

    def __init__(self, word: int, following: int, low: int, q: int) -> None:
        super().__init__([], [word], following)
        self._low, self._length, self._parts = low, (q - 1).bit_length(), 0

    def bits(self, count: int) -> int:
        if count == 64:
            return super().bits(count)
        self.count()
        self._parts += 1
        return self._low << (count - self._length) if self._parts == 1 else 0


# --- large noise, in two parts ---


@dataclass(frozen=True)
class _Parts:
    """A large draw in two parts, from written bits: as an array of one number, or as a single one."""

    scale: Fraction
    array: bool

    @property
    def length(self) -> int:
        """How many bits the low part has."""
        return (_Law(self.scale).split - 1).bit_length()

    def drawn(self, bits: int, low: int, top: int, further: Sequence[int]) -> int:
        """Return the draw for the bits of U, the low part, the sixteen bits of its coin, and all that follows.

        What is drawn after these is the low part 7, which is kept.
        """
        length = self.length
        count = -(-length // 8) * 8
        again = [*further, 7 << (count - length), 0]
        if not self.array:
            return discrete_laplace(self.scale, entropy=_Written([], [bits << 1, low << (count - length), top, *again]))
        second = top << 48 | low
        words = [np.array([each], np.int64) for each in (bits, second - (second >> 63 << 64))]
        return int(discrete_laplace(self.scale, 1, entropy=_Written(words, again))[0])


def _low_parts() -> Iterator[Finding]:
    """The low part R is kept with probability e^(-R/s), exactly, which is halved where all of |X| is 0 (claim N3)."""
    large = [(Fraction(2**30), True), (Fraction(3 * 2**33), True), (Fraction(2**50), True)]
    large += [(scale, False) for scale, _ in large] + [(Fraction(10**30, 3), False), (Fraction(2) ** 700, False)]
    zero, some, ones, wrong, number = 2**63 - 2**42, 2**62, 2**16 - 1, [], 0
    for scale, array in large:
        parts, law = _Parts(scale, array), _Law(scale)
        high, context = law.split * law.size(some, 0), law.context
        due = {
            "zero, and the coin is heads": (parts.drawn(zero, 0, 0, [255]), 0),
            "zero, and the coin is tails": (parts.drawn(zero, 0, 0, [0]), 7),
            "zero after sixteen ones, heads": (parts.drawn(zero, 0, ones, [255]), 0),
            "zero after sixteen ones, tails": (parts.drawn(zero, 0, ones, [0]), 7),
            "a low part 0 of a large number": (parts.drawn(some, 0, 0, []), high),
            "a low part 0 after sixteen ones": (parts.drawn(some, 0, ones, []), high),
            "a low part that is kept": (parts.drawn(some, 5, ones - 1, []), high + 5),
            "a low part of zero that is kept": (parts.drawn(zero, 5, 0, [0]), 5),  # no coin is thrown
        }
        for low in (1, 5, law.split // 3, law.split - 1):
            decay = context.exp(exact.as_decimal(-low / scale, context))
            border = int(context.multiply(decay, Decimal(1 << 80))) - (ones << 64)
            for further, kept in (([border - 1], True), ([border + 1], False), ([border, 0], True)):
                if 0 <= further[0] < 2**64:
                    here = parts.drawn(some, low, ones, further)
                    due[f"a low part {low} at its border"] = here, high + (low if kept else 7)
            if 0 <= border < 2**64:
                due[f"a low part {low} above its border"] = parts.drawn(some, low, ones, [border, 2**64 - 1]), high + 7
        number += len(due)
        wrong += [f"{what}, {_how(scale, array)}" for what, (found, right) in due.items() if found != right]
    yield Finding("the low parts of large noise, from written bits", not wrong, all_right(wrong, number))


def _how(scale: Fraction, array: bool) -> str:
    return f"scale {float(scale):.6g}, {'in an array' if array else 'alone'}"


def _overflow() -> Finding:
    """A draw that int64 cannot hold is refused, and never wraps around; the largest that fit are right."""
    scale, found = Fraction(2**50), []
    for zeros in (90, 94):
        words = [np.array([0], np.int64), np.array([1], np.int64)]
        try:
            found.append(int(discrete_laplace(scale, 1, entropy=_Written(words, [0] * zeros, always=1))[0]))
        except OverflowError:
            found.append(0)
    due = [int(2**50 * (63 + 64 * (zeros + 1)) * math.log(2)) for zeros in (90, 94)]
    off = [x for x, y in zip(found, due, strict=True) if abs(x - y) > 2**51 and (x != 0 or y < 2**62)]
    told = f"{len(off)} of {len(found)} are neither right nor refused; the largest is {max(found) / 2**62:.3f} of 2^62"
    return Finding("draws at the end of int64", not off and 0 in found, told)


# --- coins, uniform numbers and races ---


def _coins(random: Random) -> Finding:
    """A coin of exponent γ is heads for the U below e^(-γ), and for no others."""
    context, wrong, number = exact.arithmetic(_DIGITS), [], 0
    exponents = [0, 1, 40, 10**6, *(random.randrange(2, 60) for _ in range(3))]
    for unit in (Fraction(1), Fraction(1, 3), Fraction(random.randrange(1, 10**6), 10**7), Fraction(10**120)):
        for exponent in exponents:
            decay = context.exp(exact.as_decimal(-min(unit * exponent, Fraction(10**5)), context))
            border = int(context.multiply(decay, Decimal(1 << 63)))
            tried = [border + way for way in (-2, -1, 0, 1, 2)] + [0, 1, 2, 2**62, 2**63 - 1, random.getrandbits(63)]
            tried = [bits for bits in tried if 0 <= bits < 2**63]
            words = np.array([sign for bits in tried for sign in (bits, ~bits)], np.int64)
            given = [exponent] * words.size
            for some in (given, np.array(given), [Fraction(each) for each in given]):
                following = random.choice(_FOLLOWING)
                heads = coins(some, unit, entropy=_Written([words], always=following)).tolist()
                due = [_below(bits, following, decay, context) for bits in tried for _ in "+-"]
                number += len(due)
                wrong += [f"γ = {exponent}·{unit}"] if heads != due else []
    return Finding("coins, from written bits", not wrong, all_right(wrong, number))


def _below(bits: int, following: int, share: Decimal, context: Context) -> bool:
    """Return whether a U that begins with 63 bits and goes on with equal others is below a share."""
    whole = ((bits << 64 | following) << 64 | following) << 64 | following
    return Decimal(whole) < context.multiply(share, Decimal(1 << (63 + 3 * 64)))


def _uniform() -> Finding:
    """An array of whole numbers takes the last bits of each word, and draws again what is too large."""
    wrong, tried = [], (1, 2, 3, 6, 7, 8, 200, 255, 256, 257, 1000, 2**40 - 3, 2**62, 2**63 - 1, 2**63)
    for below in tried:
        length = (below - 1).bit_length()
        first = np.arange(min(1 << length, 2048), dtype=np.int64) * max((1 << length) // 2048, 1) + (-1 << length % 63)
        again, last = np.full(first.size, below, np.int64) if below < 2**63 else first, np.zeros(first.size, np.int64)
        found = uniform(below, first.size, entropy=_Written([first, again, last])).tolist()
        due = [each % (1 << length) if each % (1 << length) < below else None for each in first.tolist()]
        left = {value for value, right in zip(found, due, strict=True) if right is None}
        same = all(value == right for value, right in zip(found, due, strict=True) if right is not None)
        wrong += [] if same and left <= {0, below % (1 << length)} and max(found) < below else [below]
    return Finding("arrays of uniform numbers, from written words", not wrong, all_right(wrong, len(tried)))


def _races(random: Random) -> Iterator[Finding]:
    """The winner of a race is the run with the highest -ln U - γ, the maximum over its candidates."""
    context, wrong, tried = exact.arithmetic(60), [], 100
    for _ in range(tried):
        runs, unit = random.randrange(2, 7), Fraction(random.randrange(1, 40), random.randrange(1, 40))
        exponents = [random.randrange(5) + random.choice((0, 0, 10**25)) for _ in range(runs)]
        sizes = [random.choice((0, 1, 1, 2, 1000, 10**12)) for _ in range(runs - 1)] + [3]
        bits = [random.getrandbits(63) for _ in range(runs)]
        least = min(e for e, size in zip(exponents, sizes, strict=True) if size)
        scores = [
            _score(b, size, (e - least) * unit, context) for b, size, e in zip(bits, sizes, exponents, strict=True)
        ]
        ordered = sorted(range(runs), key=lambda i: scores[i])
        given: Any = exponents if max(exponents) > 10**20 or random.random() < 0.5 else np.array(exponents)
        won, place = race(given, unit, np.array(sizes), entropy=_Written([np.array(bits, np.int64)]))
        clear = scores[ordered[-1]] - scores[ordered[-2]] > Decimal("1e-12")
        wrong += [f"{exponents} of {sizes}"] if clear and (won != ordered[-1] or place != 0) else []
    yield Finding("races, from written words", not wrong, all_right(wrong, tried))
    yield _ties()


def _score(bits: int, size: int, gamma: Fraction, context: Context) -> Decimal:
    """Return -ln(1 - (1 - V)^(1/m)) - γ for V = bits/2^63; -∞ for an empty run."""
    if not size:
        return Decimal("-Infinity")
    rest = context.divide(Decimal((1 << 63) - bits), Decimal(1 << 63))
    root = context.exp(context.divide(context.ln(rest), Decimal(size)))
    y = context.minus(context.ln(context.subtract(Decimal(1), root)))
    return context.subtract(y, exact.as_decimal(gamma, context))


def _ties() -> Finding:
    """Where words tie, the next bits decide, for the smaller of two; so do they at the ends of all words."""
    wrong, tried = [], 0
    for word in (2**62, 5, 1, 0, 2**63 - 1, 12345678901234567):
        for size in (1, 1000):
            for further, due in (((5, 9), 0), ((9, 5), 1), ((5, 5, 1, 2), 0), ((5, 5, 2, 1), 1), ((0, 0, 0, 7), 0)):
                words = np.array([word, word, 2**63 - 1 if word < 2**61 else 0][:2], np.int64)
                given = _Written([words], further)
                won, _ = race([3, 3], Fraction(1, 2), np.full(2, size), entropy=given)
                tried += 1
                wrong += [f"{word}, {further}"] if won != due else []
    many = np.full(2 * BLOCK + 7, 2**60, np.int64)
    for winner in (BLOCK - 1, 2 * BLOCK + 6):
        words = many.copy()
        words[winner] = 2**50
        pieces = [words[start : start + BLOCK] for start in range(0, words.size, BLOCK)]
        won, _ = race(
            np.zeros(words.size, np.int64), Fraction(1), np.ones(words.size, np.int64), entropy=_Written(pieces)
        )
        tried += 1
        wrong += [f"run {winner} of {words.size:,}"] if won != winner else []
    return Finding("ties and long races", not wrong, all_right(wrong, tried))


# --- what is refused, and what is left ---


def _refused() -> Finding:
    """What is no scale, size, exponent or list is refused before anything is drawn."""
    one, ints = Fraction(1), np.array([1, 2])
    asked: list[Callable[[Any], Any]] = [
        lambda e: discrete_laplace(0, entropy=e),
        lambda e: discrete_laplace(-1, 3, entropy=e),
        lambda e: discrete_laplace(2**51, 3, entropy=e),
        lambda e: discrete_laplace(2**1001, entropy=e),
        lambda e: discrete_laplace(math.nan, entropy=e),
        lambda e: discrete_laplace(1, -1, entropy=e),
        lambda e: discrete_laplace(1, (2, -1), entropy=e),
        lambda e: discrete_laplace(1, True, entropy=e),
        lambda e: discrete_laplace(1, "3", entropy=e),  # type: ignore[call-overload]
        lambda e: discrete_laplace(1, 3, threads=0, entropy=e),
        lambda e: coins([-1], entropy=e),
        lambda e: coins(np.array([1, -1]), entropy=e),
        lambda e: coins([1], 0, entropy=e),
        lambda e: uniform(0, entropy=e),
        lambda e: uniform(2**63 + 1, 3, entropy=e),
        lambda e: race([0, 1], Fraction(0), ints, entropy=e),
        lambda e: race([0, -1], one, ints, entropy=e),
        lambda e: race([0, 0.5], one, ints, entropy=e),  # type: ignore[list-item]
        lambda e: race([0, True], one, ints, entropy=e),
        lambda e: race([0, 1], one, np.array([0, 0]), entropy=e),
        lambda e: race([0, 1], one, np.array([1, -1]), entropy=e),
        lambda e: race([0, 1], one, np.array([1]), entropy=e),
        lambda e: race([0, 1], one, np.array([0.5, 1]), entropy=e),
    ]
    wrong = []
    for number, ask in enumerate(asked):
        try:
            ask(_Nothing())
            wrong.append(f"request {number + 1} was answered")
        except LapwingError:
            pass
        except _Drawn:
            wrong.append(f"request {number + 1} drew")
    return Finding("requests that no draw can answer", not wrong, all_right(wrong, len(asked)))


class _Drawn(Exception):
    """Something was drawn."""


class _Nothing(_Written):
    """Randomness of which nothing may be taken."""

    def bits(self, count: int) -> int:
        raise _Drawn

    def fill(self, words: NDArray[np.int64]) -> None:
        raise _Drawn


def _other_lines() -> None:
    """Run what no written word reaches: threads, the system's bits, and the randomness for tests."""
    discrete_laplace(3, 2 * BLOCK, threads=2, entropy=EntropyForTests(1))
    discrete_laplace(3, 3, entropy=SystemEntropy())
    discrete_laplace(3, entropy=SystemEntropy())
    repr(EntropyForTests(1))
    EntropyForTests(1).bits(64)
    EntropyForTests(1).stream()


def _blocks() -> Finding:
    """A long array is made of its words in order, whatever blocks they are drawn in."""
    wrong = []
    for scale in (Fraction(100), Fraction(2**33)):
        size = 2 * BLOCK + 3
        whole = discrete_laplace(scale, size, entropy=EntropyForTests(SEED))
        stream, parts = EntropyForTests(SEED).stream(), []
        for start in range(0, size, BLOCK):
            fills = [np.empty(min(BLOCK, size - start), np.int64) for _ in range(2 if scale >= 2**30 else 1)]
            for words in fills:
                stream.fill(words)
            for piece in range(0, fills[0].size, 1 << 16):
                given = [words[piece : piece + (1 << 16)] for words in fills]
                parts.append(discrete_laplace(scale, given[0].size, entropy=_Written(given, always=1)))
        different = int((np.concatenate(parts) != whole).sum())
        wrong += [f"{different:,} of {size:,} numbers differ at scale {scale}"] if different > 20 else []
    return Finding("long arrays, block by block", not wrong, all_right(wrong, 2))
