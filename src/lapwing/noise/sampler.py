"""Integer Laplace noise, drawn exactly, at the speed of one logarithm.

Claim N1 (law).  For every rational scale s > 0, ``discrete_laplace(s)`` returns the integer x with
probability exactly tanh(a/2)·e^(-a|x|), a = 1/s: for U uniform on (0, 1) and an independent fair sign,
    |X| = floor(s·(c - ln U)),   c = ln(2/(1 + e^(-a))),
has P(|X| ≥ k) = P(U ≤ e^(c - ak)) = 2·e^(-ak)/(1 + e^(-a)), which is claim A1.

Claim N2 (decision).  The fast path returns that floor for *every* U that begins with the bits it has seen,
or passes the draw to the slow path.  With w the word read as a signed integer, v = |w|·κ and κ = 2^-63·e^(-c)
in float64, y = -s·ln v differs from s·(c - ln U) by at most
    s·(2^-50 + 1/(|w| - 1)) + y·2^-49,
if the platform's ``log`` is accurate to 4 units in the last place (tests/claims/test_noise.py checks it).

Claim N3 (split).  For s ≥ 2^30, |X| = q·H + R with a power of two q, 2^19 ≤ s/q < 2^20, is drawn in two
parts: H = floor(s/q·(c - ln U)) as above, and R, uniform on 0 … q-1 and kept with probability e^(-aR), which is
halved where H = R = 0.  The law is that of N1, and the fast path decides as often as at scale 2^20.

Claim N4 (coin).  ``coins`` returns True with probability exactly e^(-γ) for each rational γ ≥ 0.

Claim N5 (uniform).  ``uniform(n)`` returns each of 0 … n-1 with probability exactly 1/n.

Claim N6 (race).  Of candidates with exponents γ, the least of them 0, ``race`` returns each with exactly the
probability that permute-and-flip gives it: coins of probability e^(-γ) are flipped in random order, and the first
head wins.  It draws the highest y - γ, with independent exponential variables y.  For a run of m candidates with
the same γ it draws the maximum of their y at once, y = -ln(1 - (1 - V)^(1/m)) for V uniform on (0, 1).  With b the
63 bits of V seen and v = b·2^-63 in float64, y - γ in float64 is off by at most
    2t + 2^-48·(1 + y + γ),   t = (2^-52 + 1/b)/(1 - v),   where t ≤ 1/8,
if ``log1p``, ``expm1`` and ``log`` are accurate to 4 units in the last place.

Only the bits of U seen so far have been drawn: the slow path draws more as needed and decides in decimal
arithmetic of growing precision.  Proofs: docs/explanation/noise.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from operator import index
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .. import exact
from ..errors import InvalidParameter, InvalidSize, InvalidValue
from ..exact import Number
from .distributions import floor_between, starting_digits
from .entropy import SYSTEM, Entropy, Stream

BLOCK = 1 << 18
"""Draws per block: short enough for the cache, long enough that threads rarely wait for the interpreter."""

_ROUND = 1.5 * 2.0**52
"""Adding and subtracting it rounds a float below 2^51 to a whole number, always in the same time."""

_SPLIT = 1 << 30
"""The smallest scale at which |X| is drawn in two parts (claim N3)."""

_ONES = (1 << 16) - 1
"""Sixteen ones: the only first bits of U with which a low part can be rejected."""

_CERTAIN = Fraction(10**100)
"""An exponent with which a coin is tails in float64 and at every precision."""

_SEEN = (1 << 63) - 1
"""The bits of a word below its sign."""

Shape = int | tuple[int, ...]


@overload
def discrete_laplace(scale: Number, size: None = None, *, entropy: Entropy = SYSTEM) -> int: ...
@overload
def discrete_laplace(
    scale: Number, size: Shape, *, threads: int = 1, entropy: Entropy = SYSTEM
) -> NDArray[np.int64]: ...
def discrete_laplace(
    scale: Number, size: Shape | None = None, *, threads: int = 1, entropy: Entropy = SYSTEM
) -> int | NDArray[np.int64]:
    """Draw integer Laplace noise exactly (claim N1).

    Args:
        scale: any positive rational; for arrays at most 2^50, so that int64 holds every draw
            (one beyond 2^62 has probability below e^-4000 and raises OverflowError).
        size: None for one Python int, else the shape of the array.
        threads: how many threads share the work of an array.
        entropy: the source of randomness; change it only in tests.
    """
    law = _law_of(exact.scale(scale, array=size is not None))
    if size is None:
        return _draw_one(law, entropy)
    threads = exact.whole(threads, "threads")
    out = _empty(size)
    flat = out.reshape(-1)
    threads = min(threads, -(-flat.size // BLOCK))
    if threads <= 1:
        _draw_into(flat, law, entropy)
    else:
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(_draw_into, part, law, entropy) for part in np.array_split(flat, threads)]:
                done.result()
    return out


@dataclass(frozen=True)
class _Law:
    """The constants of one scale s; the fast path works at scale s/q."""

    scale: Fraction
    shift: int  # q = 2^shift; 0 below the scale where draws are split
    size: float  # s/q
    factor: float  # κ = 2^-63·(1 + e^(-a))/2
    slack: float  # N2's bound for every |w| ≥ 2^safe
    deepest: float  # y at |w| = 2^safe


def _law_of(scale: Fraction) -> _Law:
    return _law(scale.numerator, scale.denominator)


@lru_cache(maxsize=256)
def _law(numerator: int, denominator: int) -> _Law:
    scale = Fraction(numerator, denominator)
    context = exact.arithmetic(40)
    decay = context.exp(exact.as_decimal(-1 / scale, context))
    factor = math.ldexp(float(context.add(Decimal(1), decay)), -64)
    shift = int(scale).bit_length() - 20 if scale >= _SPLIT else 0
    size = float(scale / (1 << shift))
    safe = min(max(int(size).bit_length() + 24, 36), 44)  # smaller words are looked at one by one; they are rare
    slack = math.ldexp(size, 2 - safe)  # > s/q·(2^-50 + 2^(1-safe) + 20·2^-49)
    return _Law(scale, shift, size, factor, slack, -size * math.log(math.ldexp(factor, safe)))


def _draw_one(law: _Law, entropy: Entropy) -> int:
    """Draw one integer, in steps whose time does not depend on it, as far as Python allows."""
    word = entropy.bits(64)
    bits, sign = word >> 1, 1 - 2 * (word & 1)
    size = _decide_fast(bits, law)
    if law.shift:
        high = _decide_slowly(bits, law, entropy) if size is None else int(size)
        return sign * ((high << law.shift) + _low_part(high, law, entropy))
    if size is None:
        return sign * _decide_slowly(bits, law, entropy)
    return int(sign * size + _ROUND) - int(_ROUND)


def _decide_fast(bits: int, law: _Law) -> float | None:
    """Return |X| (or H, if split) if the first 63 bits of U decide it (claim N2).

    Rounding t - 1/2 is the floor of t unless t is whole, and the ends of the interval are never the true value.
    """
    if bits < 2:
        return None
    seen = float(bits)
    y = -law.size * math.log(seen * law.factor)
    slack = _slack(law.size, y, 1 / (seen - 1))
    size = (y + slack - 0.5 + _ROUND) - _ROUND
    return size if size == (y - slack - 0.5 + _ROUND) - _ROUND else None


@overload
def _slack(size: float, y: float, gap: float) -> float: ...
@overload
def _slack(size: float, y: NDArray[np.float64], gap: NDArray[np.float64]) -> NDArray[np.float64]: ...
def _slack(
    size: float, y: float | NDArray[np.float64], gap: float | NDArray[np.float64]
) -> float | NDArray[np.float64]:
    """Return the error bound of claim N2; ``gap`` is 1/(|w| - 1), for the bits of U that are not drawn yet."""
    return size * (2.0**-50 + gap) + y * 2.0**-49


def _decide_slowly(bits: int, law: _Law, entropy: Entropy) -> int:
    """Return |X| (or H, if split) for a U whose first 63 bits are given, drawing more of its bits."""
    known, digits = 63, starting_digits(law.scale)
    while True:
        bits, known, digits = bits << 64 | entropy.bits(64), known + 64, digits + 20
        if bits:  # else U may still be arbitrarily small
            context = exact.arithmetic(digits)
            size = floor_between(law.scale, *_depth(bits, known, context), context, 1 << law.shift)
            if size is not None:
                return size


def _depth(bits: int, known: int, context: Context) -> tuple[Decimal, Decimal]:
    """Return bounds of -ln U for every U that begins with these bits; they are at most ln(1 + 1/bits) apart."""
    low = context.minus(context.ln(context.divide(Decimal(bits + 1), Decimal(1 << known))))
    return low, context.add(low, context.divide(Decimal(1), Decimal(bits)))


def _low_part(high: int, law: _Law, entropy: Entropy) -> int:
    """Return R of claim N3."""
    while True:
        low, first = uniform(1 << law.shift, entropy=entropy), entropy.bits(16)
        kept = first != _ONES or _happens(first, 16, low / law.scale, entropy)
        if kept and (high or low or uniform(2, entropy=entropy)):
            return low


def _draw_into(out: NDArray[np.int64], law: _Law, entropy: Entropy) -> None:
    """Overwrite a flat array with noise, block by block."""
    stream = entropy.stream()
    block = max(min(BLOCK, out.size), 1)
    words, y = np.empty(block, np.int64), np.empty(block)
    with np.errstate(all="ignore"):  # the word 0 gives ln 0: caught as undecided
        for start in range(0, out.size, block):
            part = out[start : start + block]
            scratch = words[: part.size], y[: part.size], part.view(np.float64)  # the output holds |X| as floats first
            _draw_sizes(stream, law, entropy, *scratch)
            if law.shift:
                _add_low_parts(stream, law, entropy, *scratch, part)
            else:
                np.copysign(scratch[2], scratch[0].view(np.float64), out=scratch[1])
                np.copyto(part, scratch[1], casting="unsafe")


def _draw_sizes(
    stream: Stream,
    law: _Law,
    entropy: Entropy,
    words: NDArray[np.int64],
    y: NDArray[np.float64],
    size: NDArray[np.float64],
) -> None:
    """Fill ``words`` from the stream and ``size`` with |X| (or H); ``y`` is scratch.

    A word's top bit is the sign.  For a negative word the 63 bits are those of -w - 1, hence |w| is the
    integer just above them, and U·2^63 lies within 1 of |w| for both signs.
    """
    stream.fill(words)
    np.multiply(words, law.factor, out=y)
    np.abs(y, out=y)
    np.log(y, out=y)
    np.multiply(y, -law.size, out=y)
    np.floor(y, out=size)
    deepest = np.maximum.reduce(y)
    np.subtract(y, size, out=y)  # exact: what is left of y above its floor
    least, most = np.minimum.reduce(y), np.maximum.reduce(y)
    if not (deepest <= law.deepest and least >= law.slack and most <= 1 - law.slack):  # or a NaN
        _decide_again(law, entropy, words, y, size)


def _decide_again(
    law: _Law, entropy: Entropy, words: NDArray[np.int64], above: NDArray[np.float64], size: NDArray[np.float64]
) -> None:
    """Decide, each with its own error bound, the draws that the common bound left open."""
    y = size + above
    sure = (above >= law.slack) & (above <= 1 - law.slack) & (y <= law.deepest)
    where = np.flatnonzero(~sure)
    word, y = words[where], y[where]
    slack = _slack(law.size, y, 1 / np.maximum(np.abs(word.astype(np.float64)) - 1, 0))
    low, high = np.floor(y - slack), np.floor(y + slack)
    size[where] = high
    for i in np.flatnonzero(~(low == high)):
        drawn = _decide_slowly(_bits(word[i]), law, entropy)
        if drawn >> (62 - law.shift):
            raise OverflowError("a draw of probability below e^-4000 does not fit int64; draw again")
        size[where[i]] = drawn


def _bits(word: np.int64) -> int:
    """Return the 63 bits below the sign of a word."""
    return int(word) if word >= 0 else ~int(word)


def _add_low_parts(
    stream: Stream,
    law: _Law,
    entropy: Entropy,
    words: NDArray[np.int64],
    y: NDArray[np.float64],
    size: NDArray[np.float64],
    out: NDArray[np.int64],
) -> None:
    """Write ±(q·H + R) to ``out``: the low bits of a second word are R, its top 16 bits begin the coin's U.

    A U that does not begin with 16 ones is below 1 - 2^-16 < e^(-aR), since aR < 2^-19: R is kept.
    """
    second = y.view(np.int64)
    stream.fill(second)
    np.copyto(out, size, casting="unsafe")
    np.left_shift(out, law.shift, out=out)
    out |= second & ((1 << law.shift) - 1)
    second >>= 48
    for i in np.flatnonzero((second == -1) | (out == 0)):
        high, low = divmod(int(out[i]), 1 << law.shift)
        kept = second[i] != -1 or _happens(_ONES, 16, low / law.scale, entropy)
        if not kept or not (high or low or uniform(2, entropy=entropy)):
            out[i] = (high << law.shift) + _low_part(high, law, entropy)
    words >>= 63  # -1 where the sign is minus, else 0
    out ^= words
    out -= words


def coins(
    exponents: Sequence[Number] | NDArray[np.int64], unit: Number = 1, *, entropy: Entropy = SYSTEM
) -> NDArray[np.bool_]:
    """Flip one coin for each exponent: True with probability exactly e^(-exponent·unit) (claim N4).

    Args:
        exponents: an array of integers, or a sequence of any rationals, none below 0.
        unit: the unit of the exponents, a positive rational.
        entropy: the source of randomness; change it only in tests.
    """
    step = exact.positive(unit, "unit")
    if isinstance(exponents, np.ndarray) and exponents.dtype.kind == "i":
        given: Sequence[Fraction] | NDArray[np.int64] = exponents
        gamma = exponents * float(min(step, _CERTAIN))
        if np.any(exponents < 0):
            raise InvalidValue("negative", "Exponents are numbers from 0 on.")
    else:
        given = [exact.nonnegative(each, "exponent") for each in exponents]
        gamma = np.array([float(min(each * step, _CERTAIN)) for each in given])
    words = np.empty(len(given), np.int64)
    entropy.stream().fill(words)
    with np.errstate(all="ignore"):  # the word 0 gives ln 0, and an infinite error bound
        seen = np.abs(words.astype(np.float64))
        depth = -np.log(np.ldexp(seen, -63))
        slack = _slack(1, np.abs(depth) + gamma, 1 / np.maximum(seen - 1, 0))
        heads: NDArray[np.bool_] = depth > gamma
        for i in np.flatnonzero(~(np.abs(depth - gamma) > slack)):
            heads[i] = _happens(_bits(words[i]), 63, exact.rational(given[int(i)]) * step, entropy)
    return heads


def _happens(bits: int, known: int, gamma: Fraction, entropy: Entropy) -> bool:
    """Return whether U < e^(-γ) for a U whose first ``known`` bits are given, drawing more of its bits."""
    if gamma == 0:
        return True
    digits = starting_digits(gamma)
    while True:
        bits, known, digits = bits << 64 | entropy.bits(64), known + 64, digits + 20
        if not bits:
            continue
        context = exact.arithmetic(digits)
        low, high = _depth(bits, known, context)
        exponent = exact.as_decimal(gamma, context)
        slack = context.multiply(exact.unit(context, 8), context.add(Decimal(1), exponent))
        if low > context.add(exponent, slack):
            return True
        if high < context.subtract(exponent, slack):
            return False


@overload
def uniform(below: int, size: None = None, *, entropy: Entropy = SYSTEM) -> int: ...
@overload
def uniform(below: int, size: Shape, *, entropy: Entropy = SYSTEM) -> NDArray[np.int64]: ...
def uniform(below: int, size: Shape | None = None, *, entropy: Entropy = SYSTEM) -> int | NDArray[np.int64]:
    """Draw whole numbers from 0 to ``below`` - 1, each with the same probability (claim N5).

    Bits beyond the length of ``below`` are dropped, and numbers that are still too large are drawn again.
    """
    below = exact.whole(below, "below", None)
    length = (below - 1).bit_length()
    if size is None:
        whole_bytes = -(-length // 8) * 8
        while (drawn := entropy.bits(whole_bytes) >> (whole_bytes - length)) >= below:
            pass
        return drawn
    if length > 63:
        raise InvalidParameter(below, "below", "at most 2^63 for an array")
    out = _empty(size)
    flat, stream = out.reshape(-1), entropy.stream()
    where = np.arange(flat.size)
    while where.size:
        words = np.empty(where.size, np.int64)
        stream.fill(words)
        words &= (1 << length) - 1
        flat[where] = words
        where = where[words >= below]
    return out


def race(
    exponents: NDArray[np.int64] | Sequence[int],
    unit: Fraction,
    sizes: NDArray[np.int64],
    *,
    entropy: Entropy = SYSTEM,
) -> tuple[int, int]:
    """Return the winner of permute-and-flip: its run, and its number within the run (claim N6).

    Args:
        exponents: one whole number ≥ 0 for each run; only their differences matter.
        unit: the unit of the exponents, a positive rational.
        sizes: how many candidates each run stands for; 0 for none.
        entropy: the source of randomness; change it only in tests.
    """
    step, given, counts = exact.positive(unit, "unit"), _whole_numbers(exponents), np.asarray(sizes)
    if counts.dtype.kind != "i" or counts.shape != given.shape or counts.min(initial=0) < 0 or not counts.any():
        raise InvalidValue("no list of sizes", "Sizes are whole numbers from 0 on, one for each exponent, not all 0.")
    filled = counts > 0
    least = given.min(where=filled, initial=given[filled.argmax()])
    stream, best = entropy.stream(), -math.inf
    front: list[tuple[float, int, int]] = []  # upper end, run and bits of those that may still win
    for start in range(0, given.size, BLOCK):
        part = slice(start, start + BLOCK)
        words = np.empty(counts[part].size, np.int64)
        stream.fill(words)
        words &= _SEEN
        score, slack = _scores(words, counts[part], _products(np.maximum(given[part], least) - least, step))
        best = max(best, float(np.maximum.reduce(score - slack)))
        score += slack
        ahead = np.flatnonzero(score >= best)
        ahead = ahead[counts[part][ahead] > 0]
        front = [each for each in front if each[0] >= best]
        front += zip(score[ahead].tolist(), (start + ahead).tolist(), words[ahead].tolist(), strict=True)
    winner = front[0][1]
    if len(front) > 1:
        runs = [_Run(j, bits, int(counts[j]), int(given[j] - least) * step) for _, j, bits in front]
        winner = _win_slowly(runs, entropy).number
    return winner, uniform(int(counts[winner]), entropy=entropy)


def _whole_numbers(asked: NDArray[np.int64] | Sequence[int]) -> NDArray[Any]:
    """Return whole numbers ≥ 0 as a flat array, of Python's integers if they were given as such."""
    given: NDArray[Any]
    if isinstance(asked, np.ndarray) and asked.dtype.kind == "i":
        given = asked
    else:
        try:
            given = np.array([index(each) for each in asked if not isinstance(each, bool)], object)
        except TypeError:
            given = np.array([-1])
    if given.shape != (len(asked),) or given.min(initial=0) < 0:
        raise InvalidValue("not a whole number from 0 on", "Exponents are such numbers.")
    return given


def _products(exponents: NDArray[Any], step: Fraction) -> NDArray[np.float64]:
    """Return exponent·unit in float64; values far beyond every y may be returned as smaller ones."""
    with suppress(OverflowError):
        return exponents.astype(np.int64, copy=False) * np.float64(min(step, _CERTAIN))
    return np.array([float(min(each * step, _CERTAIN)) for each in exponents])


def _scores(
    bits: NDArray[np.int64], sizes: NDArray[np.int64], gamma: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return y - γ and its error bound (claim N6), infinite where it is not known; y is 0 in a run of size 0."""
    with np.errstate(all="ignore"):  # v = 1 and the size 0 divide by 0
        seen = np.maximum(bits.astype(np.float64), 1)  # with the bits 0 or 1 the bound is infinite anyway
        v = seen * 2.0**-63
        y = -np.log(-np.expm1(np.log1p(-v) / sizes))
        t = (2.0**-52 + 1 / seen) / (1 - v)
        slack = 2 * t + 2.0**-48 * (1 + y + gamma)
        slack[~(t <= 0.125)] = math.inf
    return y - gamma, slack


@dataclass(frozen=True)
class _Run:
    """A run that may win: its number, the bits of V drawn so far, how many candidates it has, and their γ."""

    number: int
    bits: int
    size: int
    gamma: Fraction


def _win_slowly(runs: list[_Run], entropy: Entropy) -> _Run:
    """Return the run with the highest score, drawing more bits of each V."""
    known = 63
    while len(runs) > 1:
        known += 64
        context = exact.arithmetic(known)  # decimals enough for every bit of V
        runs = [replace(run, bits=run.bits << 64 | entropy.bits(64)) for run in runs]
        best = max(_end(run, run.bits + 1, known, -1, context) for run in runs)
        runs = [run for run in runs if _end(run, run.bits, known, 1, context) >= best]
    return runs[0]


def _end(run: _Run, bits: int, known: int, side: int, context: Context) -> Decimal:
    """Return a bound on the score at V = bits/2^known: a lower one if ``side`` is -1, an upper one if it is 1."""
    rest = context.divide(Decimal((1 << known) - bits), Decimal(1 << known))
    root = context.exp(context.divide(context.ln(rest), Decimal(run.size)))
    chance = context.subtract(context.subtract(Decimal(1), root), exact.unit(context, 4 * side))
    y = context.minus(context.ln(max(chance, Decimal(0))))
    gamma = exact.as_decimal(run.gamma, context)
    slack = context.multiply(exact.unit(context, 4 * side), context.add(context.add(Decimal(1), context.abs(y)), gamma))
    return context.add(context.subtract(y, gamma), slack)


def _empty(size: object) -> NDArray[np.int64]:
    """Return an array of this size, a whole number or a tuple of them."""
    sides = size if isinstance(size, tuple) else (size,)
    try:
        shape = tuple(index(side) for side in sides if not isinstance(side, bool))
        if len(shape) == len(sides) and all(side >= 0 for side in shape):
            return np.empty(shape, dtype=np.int64)
    except (TypeError, ValueError, MemoryError):  # no whole numbers, or beyond NumPy's or the machine's largest array
        pass
    raise InvalidSize(size)
