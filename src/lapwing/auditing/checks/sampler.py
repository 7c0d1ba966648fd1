"""The sampler: its law, computed without drawing; its tails; floats on a public grid; fresh noise in every call."""

from __future__ import annotations

import math
import os
import random
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import exact
from ...errors import InvalidValue
from ...noise.entropy import EntropyForTests
from ...noise.mechanism import LaplaceMechanism, laplace, randomized_response
from ...noise.sampler import BLOCK, discrete_laplace, uniform
from ..finding import ALPHA, Finding, parts
from ..room import Room
from ..tools.even import ROUNDING, SPLIT, Even, Given, even_law
from .added import added
from .decisions import decisions
from .keystream import keystream

_STRATA, _SINGLES = 2**16, 2**12
_RUN = 256
"""Two runs of this many draws at scale 100, or a sixteenth of it at 2^29, agree with a probability below 2^-256."""


def sampler(room: Room) -> Iterator[Finding]:
    """Yield the law of noise on integers and on floats, and whether it is fresh."""
    yield from parts(
        room,
        laws=_laws,
        tails=_tails,
        borders=_borders,
        low_bits=_low_bits,
        uniform=_uniform,
        mechanisms=_mechanisms,
        floats=_floats,
        refused=_refused,
        fresh=_fresh,
        decisions=lambda: decisions(room),
        added=lambda: added(room),
        keystream=lambda: keystream(room),
    )


def _laws() -> Iterator[Finding]:
    for scale in (Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(100), Fraction(10**6)):
        drawn = discrete_laplace(scale, _STRATA, entropy=Even())
        yield even_law(f"an array of noise of scale {scale}", drawn, scale)
    scale, entropy = Fraction(2**40), Even()
    yield even_law("an array of noise of scale 2^40", discrete_laplace(scale, _STRATA, entropy=entropy), scale, SPLIT)
    scale, entropy = Fraction(3), Even()
    one_by_one = np.array([discrete_laplace(scale, entropy=entropy) for _ in range(_STRATA)])
    yield even_law("noise of scale 3, drawn one by one", one_by_one, scale, 1 / _STRATA)
    scale, entropy = Fraction(2**60), Even(_SINGLES)
    one_by_one = np.array([discrete_laplace(scale, entropy=entropy) for _ in range(_SINGLES)], dtype=object)
    yield even_law("noise of scale 2^60, drawn one by one", one_by_one, scale, 1 / _SINGLES + SPLIT)


def _tails() -> Iterator[Finding]:
    """Check draws of probability down to 2^-63: for a U of this many bits, |X| is the floor of s·(c - ln U)."""
    words = np.array([sign * ((1 << j) + 1) for j in range(2, 63) for sign in (1, -1)])
    for scale in (Fraction(1), Fraction(10), Fraction(10**6)):
        drawn = discrete_laplace(scale, words.size, entropy=Given(words)).tolist()
        wrong = undecided = 0
        for word, x in zip(words.tolist(), drawn, strict=True):
            low, high = (_floor(scale, bits) for bits in ((word + 1, word) if word > 0 else (-word, -word - 1)))
            undecided += low != high
            wrong += low == high and x != (low if word > 0 else -low)
        told = f"{wrong} of {words.size - undecided} values are wrong, the largest {max(drawn):,}; 0 are allowed"
        yield Finding(f"the tails of noise of scale {scale}", wrong == 0 and undecided < words.size // 2, told)


class _Further(Given):
    """Randomness for tests: the first words of an array are given, and all bits drawn later are equal."""

    def __init__(self, words: NDArray[np.int64], bit: int) -> None:
        super().__init__(words)
        self._bit = bit

    def bits(self, count: int) -> int:
        return self._bit * ((1 << count) - 1)


def _borders() -> Iterator[Finding]:
    """Check words at the border of two values: the next bits of U decide, zeros for the larger |X|."""
    for scale in (Fraction(1), Fraction(100), Fraction(10**6)):
        words, larger = [], []
        for bits in (2**62 // i for i in range(1, 20)):
            size = _floor(scale, bits)
            low, high = 0, bits  # |X| > size at low, and not at high
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _floor(scale, middle) > size else (low, middle)
            words.append(low)
            larger.append(size + 1)
        drawn = [discrete_laplace(scale, len(words), entropy=_Further(np.array(words), bit)) for bit in (0, 1)]
        wrong = int(sum((found != np.array(larger) - bit).sum() for bit, found in enumerate(drawn)))
        told = f"{wrong} of {2 * len(words)} values are wrong, 0 are allowed"
        yield Finding(f"noise of scale {scale} where 63 bits do not decide", wrong == 0, told)


def _low_bits() -> Iterator[Finding]:
    """Noise of a large scale is random down to its last bit, so that it hides the last bits of what it is added to."""
    drawn = {
        "an array of noise of scale 2^40": (discrete_laplace(2**40, _STRATA).tolist(), 20),
        "noise of scale 2^40, drawn one by one": ([discrete_laplace(2**40) for _ in range(4096)], 20),
        "noise of scale 2^60, drawn one by one": ([discrete_laplace(2**60) for _ in range(4096)], 40),
    }
    for what, (noise, places) in drawn.items():
        shares = [sum(abs(x) >> place & 1 for x in noise) / len(noise) for place in range(places)]
        off = max(abs(share - 0.5) for share in shares)
        allowed = math.sqrt(math.log(2 * places / ALPHA) / (2 * len(noise))) + SPLIT
        told = f"each is 1 in half of the draws, within {off:.4f}; {allowed:.4f} is allowed"
        yield Finding(f"the last {places} bits of {what}", off <= allowed, told, ALPHA)


class _All(Given):
    """Randomness for tests: all numbers of some bits, one after the other."""

    def __init__(self, count: int) -> None:
        super().__init__(np.empty(0, np.int64))
        self._left = iter(range(1 << count))

    def bits(self, count: int) -> int:
        return next(self._left)


def _uniform() -> Finding:
    """Over all possible bits, every whole number comes up equally often."""
    wrong, tried = [], {1: 8, 2: 8, 6: 8, 200: 8, 256: 8, 1000: 16}
    for below, bits in tried.items():
        entropy, found = _All(bits), [0] * below
        with suppress(StopIteration):
            while below > 1:
                found[uniform(below, entropy=entropy)] += 1
        wrong += [below] if len(set(found)) > 1 or uniform(1) else []
    told = f"{len(wrong)} of {len(tried)} ranges have numbers that are likelier than others"
    return Finding("uniform whole numbers", not wrong, told)


def _mechanisms() -> Iterator[Finding]:
    """Noise that the mechanisms add to integers has the scale Δ/ε, and bits are flipped with 1/(1 + e^ε)."""
    for sensitivity, epsilon in ((3, "0.5"), (1, 2)):
        scale = sensitivity / Fraction(epsilon)
        zeros, told = np.zeros(_STRATA, np.int64), f"Δ = {sensitivity} and ε = {epsilon}"
        drawn = LaplaceMechanism(sensitivity, epsilon).release(zeros, entropy=Even())
        yield even_law(f"the noise of integers, {told}", drawn, scale)
        entropy = Even(_SINGLES)
        ones = [laplace(0, sensitivity=sensitivity, epsilon=epsilon, entropy=entropy) for _ in range(_SINGLES)]
        yield even_law(f"the noise of single integers, {told}", np.array(ones), scale, 1 / _SINGLES)
        flipped = float(randomized_response(zeros, epsilon, entropy=Even()).mean())
        due, allowed = 1 / (1 + math.exp(Fraction(epsilon))), 1 / _STRATA + ROUNDING
        told = f"{flipped:.6f} of the bits are flipped, {due:.6f} is due, within {allowed:.1e}"
        yield Finding(f"randomized response at ε = {epsilon}", abs(flipped - due) <= allowed, told)


def _floor(scale: Fraction, bits: int) -> int:
    """Return floor(s·(c - ln U)) at U = bits/2^63, in decimal arithmetic."""
    context = exact.arithmetic(60)
    s, one = exact.as_decimal(scale, context), Decimal(1)
    decay = context.exp(context.minus(context.divide(one, s)))
    shift = context.ln(context.divide(Decimal(2), context.add(one, decay)))
    depth = context.minus(context.ln(context.divide(Decimal(bits), Decimal(1 << 63))))
    return int(context.multiply(s, context.add(shift, depth)))


def _floats() -> Iterator[Finding]:
    """Released floats always lie on one public grid, and a neighbor's probabilities are within e^ε."""
    mechanism = LaplaceMechanism(1, 1)
    values = [0.0, 1.0, -1.0, 1 / 3, 0.1 + 0.2, 2.0**20, 1e-300, -0.0, math.pi]
    for cells, told in ((1, "one float"), (_STRATA, "an array of floats")):
        grid = mechanism.grid(cells)
        step = Fraction(2) ** grid.exponent
        noise, off = set(), 0
        for value in values:
            entropy = EntropyForTests(3)
            out = mechanism.release(value if cells == 1 else np.full(cells, value), entropy=entropy)
            index = Fraction(float(np.ravel(out)[-1])) / step
            off += index.denominator != 1
            noise.add(index - round(Fraction(value) / step))
        moved = max(abs(round(Fraction(v + 1) / step) - round(Fraction(v) / step)) for v in values) + cells - 1
        loss = Fraction(moved) / grid.scale
        passed = not off and len(noise) == 1 and loss <= 1
        told_of = f"{off} of {len(values)} outputs are off the grid 2^{grid.exponent}; log ratio {float(loss):.9f} of 1"
        yield Finding(f"{told} on the grid", passed, told_of)
    zeros = mechanism.release(np.zeros(_STRATA), entropy=Even()) / mechanism.grid(_STRATA).step
    yield even_law("the noise of floats", zeros, mechanism.grid(_STRATA).scale, SPLIT)


def _refused() -> Iterator[Finding]:
    """Values that are not finite are refused before anything is drawn."""
    for value in (math.nan, math.inf, [1.0, math.nan], np.array([-math.inf])):
        entropy = Even()
        try:
            told = f"{LaplaceMechanism(1, 1).release(value, entropy=entropy)} was released"
        except InvalidValue:
            told = "refused"
        passed = told == "refused" and not entropy.filled
        yield Finding(f"the bare mechanism, given {value}", passed, f"{told}; {len(entropy.filled)} draws were made")


def _fresh() -> Iterator[Finding]:
    """Noise of calls, threads, forked processes and parts of an array never repeats, even if seeds are set."""
    runs: dict[str, list[Any]] = {}
    for one_by_one, how in ((False, ""), (True, ", drawn one by one")):
        twice = []
        for _ in range(2):
            np.random.seed(1)  # noqa: NPY002  # must not matter
            random.seed(1)
            twice.append(_drawn(one_by_one))
        runs[f"calls{how}"] = twice
        with ThreadPoolExecutor(4) as pool:
            runs[f"threads{how}"] = list(pool.map(_drawn, [one_by_one] * 4))
        if hasattr(os, "fork"):
            discrete_laplace(100)
            runs[f"forked processes{how}"] = [*(_forked(one_by_one) for _ in range(2)), _drawn(one_by_one)]
    long, mechanism = 2 * BLOCK + _RUN, LaplaceMechanism(100, 1)
    runs["parts of an array"] = discrete_laplace(100, long).reshape(-1, _RUN).tolist()
    runs["parts of an array, by threads"] = discrete_laplace(100, long, threads=2).reshape(-1, _RUN).tolist()
    runs["parts of an array of integers"] = mechanism.release(np.zeros(long, np.int64)).reshape(-1, _RUN).tolist()
    runs["parts of an array of floats"] = mechanism.release(np.zeros(long)).reshape(-1, _RUN).tolist()
    for what, drawn in runs.items():
        different = len({tuple(each) for each in drawn})
        told = f"{different:,} of {len(drawn):,} runs of {len(drawn[0])} draws are different"
        yield Finding(f"the noise of {what}", different == len(drawn), told, len(drawn) ** 2 * 2.0**-_RUN)


def _drawn(one_by_one: bool) -> list[int]:
    """Return a run of noise; single draws are few, so that a buffer of randomness would not run out."""
    if one_by_one:
        return [discrete_laplace(2**29) for _ in range(_RUN // 16)]
    return [int(each) for each in discrete_laplace(100, _RUN)]


def _forked(one_by_one: bool) -> list[int]:
    """Return noise that a forked process drew."""
    out, into = os.pipe()
    with warnings.catch_warnings():  # other threads may hold locks, but this needs none
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            os.write(into, np.array(_drawn(one_by_one), np.int64).tobytes())
        finally:
            os._exit(0)  # an error must not let the child go on with the audit
    os.close(into)
    os.waitpid(child, 0)
    with os.fdopen(out, "rb") as drawn:
        found = [int(each) for each in np.frombuffer(drawn.read(), np.int64)]
    if not found:  # two of these would look like repeated noise
        raise RuntimeError("a forked process ended without drawing")
    return found
