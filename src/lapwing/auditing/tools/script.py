"""A script instead of chance: noise and choices are given, and everything that was drawn is recorded.

All noise comes from ``discrete_laplace`` and all choices from ``race`` (noise/sampler.py).  Within ``scripted`` every
module that uses them gets the script's functions instead, and whatever else asks for randomness fails.  So it is known,
for every number that is returned, from which draw its noise comes and what the scale of that draw was.

Claim C5 (coupling).  Let the noise of a release on a table be z, and let every number that is returned be an exact
integer plus its own draw.  On a neighbor, the noise z + e - e′ gives the same numbers, where e and e′ are the exact
integers of the two tables.  Its probability is at least that of z times e^(-Σ|e - e′|/s), with s the scale of each
draw; a choice by permute-and-flip costs at most its unit times the width of the interval in which the distances of all
candidates change (claim Q1).  If these add up to at most ε for both directions, and everything else that can be
observed is the same, then the release is ε-differentially private for this pair.

Proof: docs/explanation/audit.md.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...noise import sampler
from ...noise.entropy import Stream

Noise = Callable[[int], int]
"""The noise of each draw, by its number."""

MARK = 1 << 400
"""Draw number i gets the noise (i + 1)·MARK, which is far larger than every exact integer: it identifies the draw."""


class NoOther:
    """Randomness for tests that nothing may use: what is drawn comes from the script."""

    private = False

    def bits(self, count: int) -> int:
        raise RuntimeError("randomness is used that neither discrete_laplace nor race asked for")

    def stream(self) -> Stream:
        raise RuntimeError("randomness is used that neither discrete_laplace nor race asked for")


@dataclass(frozen=True)
class Race:
    """One choice: the distances of runs of candidates, how many each run has, and the unit of the distances."""

    distances: tuple[int, ...]
    sizes: tuple[int, ...]
    unit: Fraction

    def cost(self, other: Race) -> Fraction:
        """Return what the choice costs between two neighbors, at most."""
        one, two = list(accumulate(self.sizes)), list(accumulate(other.sizes))
        if one[-1] != two[-1]:
            raise ValueError("neighbors have different numbers of candidates")
        borders = {*one, *two} - {0}
        moved = [self.distances[bisect_left(one, end)] - other.distances[bisect_left(two, end)] for end in borders]
        return max(self.unit, other.unit) * (max(moved) - min(moved))


def _nothing(number: int) -> int:
    return 0


@dataclass
class Script:
    """What is drawn and chosen: noise by the number of the draw, and the place of the winner of each race.

    Without ``places``, winners are chosen by the seed: mostly one of the nearest, and sometimes any; with ``nearest``,
    the first of the nearest.
    """

    noise: Noise = _nothing
    places: Sequence[int] | None = None
    seed: int = 0
    nearest: bool = False
    scales: list[Fraction] = field(default_factory=list)
    calls: list[tuple[Fraction, int]] = field(default_factory=list)
    races: list[Race] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)

    def draw(self, scale: Any, size: Any = None, *, entropy: Any = None, **_: Any) -> Any:
        """Stand for ``discrete_laplace``."""
        exactly = Fraction(scale)
        if exactly <= 0:
            raise ValueError("the scale of noise is not positive")
        shape = () if size is None else size if isinstance(size, tuple) else (size,)
        number = int(np.prod(shape, dtype=object)) if shape else 1
        first = len(self.scales)
        self.scales += [exactly] * number
        self.calls.append((exactly, number))
        noise = [self.noise(first + i) for i in range(number)]
        if size is None:
            return noise[0]
        small = all(-(2**62) < each < 2**62 for each in noise)
        drawn: NDArray[Any] = np.array(noise, dtype=np.int64 if small else object)
        return drawn.reshape(shape)

    def race(self, exponents: Any, unit: Any, sizes: Any, *, entropy: Any = None) -> tuple[int, int]:
        """Stand for ``race``."""
        counts, distances = [int(each) for each in sizes], [int(each) for each in exponents]
        filled = [i for i, count in enumerate(counts) if count]
        self.races.append(Race(tuple(distances), tuple(counts), Fraction(unit)))
        ends = np.cumsum(np.array(counts, dtype=object))
        place = self._place(distances, counts, filled, ends)
        self.chosen.append(place)
        run = int(np.searchsorted(ends, place, "right"))
        return run, int(place - (ends[run] - counts[run]))

    def _place(self, distances: list[int], counts: list[int], filled: list[int], ends: Any) -> int:
        if self.places is not None:
            return self.places[len(self.chosen)]
        random = Random(f"{self.seed} {len(self.chosen)}")
        least = min(distances[i] for i in filled)
        if self.nearest:
            run = next(i for i in filled if distances[i] == least)
            return int(ends[run] - counts[run])
        run = random.choice([i for i in filled if distances[i] == least] if random.random() < 0.7 else filled)
        return int(ends[run] - counts[run]) + random.randrange(counts[run])


@contextmanager
def scripted(script: Script) -> Iterator[None]:
    """Let the script stand for ``discrete_laplace`` and ``race`` in all modules of the package that use them."""
    instead = {sampler.discrete_laplace: script.draw, sampler.race: script.race}
    changed = _using(len(sys.modules), *instead)
    if any(vars(module)[attribute] is not value for module, attribute, value in changed):  # they were changed since
        _using.cache_clear()
        changed = _using(len(sys.modules), *instead)
    for module, attribute, value in changed:
        setattr(module, attribute, instead[value])
    try:
        yield
    finally:
        for module, attribute, value in changed:
            setattr(module, attribute, value)


@lru_cache(1)
def _using(modules: int, *functions: Callable[..., Any]) -> list[tuple[ModuleType, str, Callable[..., Any]]]:
    """Return where modules of the package use these functions; looked for again if there are more modules."""
    package, found = __name__.partition(".")[0], []
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package and not name.startswith(f"{package}.auditing"):
            found += [(module, at, each) for at, own in vars(module).items() for each in functions if own is each]
    return found
