"""The sampler: its law, seen without drawing; its tails; floats on a public grid; fresh noise in every call."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np

from .. import exact
from ..entropy import EntropyForTests
from ..errors import InvalidValue
from ..mechanism import LaplaceMechanism
from ..noise import discrete_laplace
from .even import SPLIT, Even, Given, even_law
from .finding import Finding
from .room import Room

_STRATA = 2**16


def sampler(room: Room) -> Iterator[Finding]:
    """Yield the law of noise on integers and on floats, and whether it is fresh."""
    yield from _laws()
    yield from _tails()
    yield from _floats()
    yield from _refused()
    yield from _fresh()


def _laws() -> Iterator[Finding]:
    for scale in (Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(100), Fraction(10**6)):
        drawn = discrete_laplace(scale, _STRATA, entropy=Even())
        yield even_law(f"an array of noise of scale {scale}", drawn, scale)
    scale, entropy = Fraction(2**40), Even()
    yield even_law("an array of noise of scale 2^40", discrete_laplace(scale, _STRATA, entropy=entropy), scale, SPLIT)
    scale, entropy = Fraction(3), Even()
    one_by_one = np.array([discrete_laplace(scale, entropy=entropy) for _ in range(_STRATA)])
    yield even_law("noise of scale 3, drawn one by one", one_by_one, scale, 1 / _STRATA)


def _tails() -> Iterator[Finding]:
    """Look at draws of probability down to 2^-63: at a U of so many bits, |X| is the floor of s·(c - ln U)."""
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


def _floor(scale: Fraction, bits: int) -> int:
    """Return floor(s·(c - ln U)) at U = bits/2^63, in decimal arithmetic."""
    context = exact.arithmetic(60)
    s, one = exact.as_decimal(scale, context), Decimal(1)
    decay = context.exp(context.minus(context.divide(one, s)))
    shift = context.ln(context.divide(Decimal(2), context.add(one, decay)))
    depth = context.minus(context.ln(context.divide(Decimal(bits), Decimal(1 << 63))))
    return int(context.multiply(s, context.add(shift, depth)))


def _floats() -> Iterator[Finding]:
    """Floats leave on one public grid, whatever they were, and a neighbor's probabilities are within e^ε."""
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
    """What is not finite is refused before anything is drawn."""
    for value in (math.nan, math.inf, [1.0, math.nan], np.array([-math.inf])):
        entropy = Even()
        try:
            told = f"{LaplaceMechanism(1, 1).release(value, entropy=entropy)} was released"
        except InvalidValue:
            told = "refused"
        passed = told == "refused" and not entropy.filled
        yield Finding(f"the bare mechanism, given {value}", passed, f"{told}; {len(entropy.filled)} draws were made")


def _fresh() -> Iterator[Finding]:
    """Noise of two calls, of threads and of forked processes is never the same, whatever seeds are set."""
    size = 256
    twice = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002  # must not matter
        twice.append(discrete_laplace(100, size).tolist())
    with ThreadPoolExecutor(4) as pool:
        threads = [each.tolist() for each in pool.map(lambda _: discrete_laplace(100, size), range(4))]
    runs = {"calls": twice, "threads": threads}
    if hasattr(os, "fork"):
        runs["forked processes"] = [discrete_laplace(100, size).tolist(), *(_forked(size) for _ in range(2))]
    for what, drawn in runs.items():
        different = len({tuple(each) for each in drawn})
        told = f"{different} of {len(drawn)} arrays of {size} draws are different"
        yield Finding(f"the noise of {what}", different == len(drawn), told, len(drawn) ** 2 * 2.0**-size)


def _forked(size: int) -> list[int]:
    """Return noise that a forked process drew."""
    out, into = os.pipe()
    with warnings.catch_warnings():  # other threads may hold locks, but this needs none
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os.write(into, discrete_laplace(100, size).tobytes())
        os._exit(0)
    os.close(into)
    os.waitpid(child, 0)
    with os.fdopen(out, "rb") as drawn:
        return [int(each) for each in np.frombuffer(drawn.read(), np.int64)]
