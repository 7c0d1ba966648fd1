"""The keystream: its words by a separate computation, the bytes it takes from the system, a word for every cell.

While the operating system's generator is replaced by known bytes, everything that is drawn must be a function of these
bytes: of all of them, and of nothing else.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...measure.kinds import KINDS
from ...measure.measurement import Measurement
from ...measure.quantiles import Quantiles
from ...noise.entropy import SYSTEM, Entropy, EntropyForTests, Keystream, Stream
from ...noise.mechanism import LaplaceMechanism, laplace, randomized_response
from ...noise.sampler import BLOCK, coins, discrete_laplace, race, uniform
from ...question import query
from ...question.schema import keys, number, plain
from ...source import Source
from ..finding import Finding, all_right
from ..room import Room
from ..tools.aes import aes256
from ..tools.again import Again, read_once

_KEY_BYTES = 32
_STREAMS = 2**15
_PATTERNS = 16
"""In how many replays signs are flipped: no two words are flipped in the same ones."""

_FIPS_197 = (
    bytes(range(32)),
    bytes.fromhex("00112233445566778899aabbccddeeff"),
    bytes.fromhex("8ea2b7ca516745bfeafc49904b496089"),
)
"""Key, input and output of AES-256, published in FIPS 197, appendix C.3."""

_ZERO_KEY = bytes.fromhex("dc95c078a2408989ad48a21492842087")
"""The block 0 under the key 0, published in NIST's validation suite for AES-256 (KAT, key size 256)."""


def keystream(room: Room) -> Iterator[Finding]:
    """Yield whether the words are AES-256 in counter mode, under fresh keys of the system, and one for every cell."""
    yield _known_answers()
    yield _pieces()
    yield _bytes_of_a_stream()
    yield _bytes_of_bits()
    yield from _doors(room)
    yield _by_threads()
    yield _collisions(10 * _STREAMS if room.deep else _STREAMS)
    yield from _own_words(room)


# --- known answers ---


def _counted(key: bytes, words: int, start: int = 0) -> NDArray[np.int64]:
    """Return so many words of a stream, from an even one on: AES-256 of the block numbers 0, 1, …, block by block."""
    blocks = np.zeros((-(-words // 2), 2), ">u8")
    blocks[:, 1] = start // 2 + np.arange(len(blocks))
    return aes256(key, blocks.view(np.uint8)).reshape(-1).view(np.int64)[:words]


def _known_answers() -> Finding:
    """The cipher has its published answers, and a stream of known keys is made of its blocks."""
    key, given, due = _FIPS_197
    wrong = [] if aes256(key, np.frombuffer(given, np.uint8)[None]).tobytes() == due else ["FIPS 197"]
    wrong += [] if _counted(bytes(32), 2).tobytes() == _ZERO_KEY else ["the zero key"]
    for i in range(8):
        key = hashlib.sha256(b"key %d" % i).digest()
        words = np.empty(64 + i, np.int64)
        Keystream(key).fill(words)
        wrong += [] if np.array_equal(words, _counted(key, words.size)) else [f"stream {i}"]
    return Finding("the words of a stream are AES-256 in counter mode", not wrong, all_right(wrong, 10))


def _pieces() -> Finding:
    """A stream that is taken in pieces, short and longer than its buffer, gives the words of one piece."""
    key, sizes = (
        hashlib.sha256(b"pieces").digest(),
        (1, 1, 2, 3, 8, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3, 5),
    )
    stream, parts = Keystream(key), []
    for size in sizes:
        parts.append(np.empty(size, np.int64))
        stream.fill(parts[-1])
    found, different, near = np.concatenate(parts), 0, 64
    borders = [*np.cumsum(sizes).tolist(), *range(0, found.size, BLOCK // 2)]
    for border in borders:
        start = max(border - near, 0) // 2 * 2
        some = found[start : border + near]
        different += int((some != _counted(key, some.size, start)).sum())
    told = f"{different} words around {len(borders)} places in {found.size:,} differ; 0 are allowed"
    return Finding("a stream in pieces", not different, told)


# --- the bytes of the system ---


class _Spy:
    """Stands for the system's generator: serves known bytes, and records how many were asked for each time."""

    def __init__(self, seed: str = "", flipped: int | None = None) -> None:
        self._seed, self._flipped = seed, flipped
        self.asked: list[int] = []

    def __call__(self, size: int) -> bytes:
        turn = self.asked.count(size)  # what other libraries take, in other sizes, changes nothing for us
        served = bytearray(hashlib.shake_256(f"{self._seed}/{size}/{turn}".encode()).digest(size))
        if self._flipped is not None and not self.asked:
            served[self._flipped // 8] ^= 1 << self._flipped % 8
        self.asked.append(size)
        return bytes(served)


@contextmanager
def _served(spy: _Spy) -> Iterator[_Spy]:
    before = os.urandom
    os.urandom = spy
    try:
        yield spy
    finally:
        os.urandom = before


def _words(stream: Stream, size: int = 4) -> NDArray[np.int64]:
    words = np.empty(size, np.int64)
    stream.fill(words)
    return words


def _bytes_of_a_stream() -> Finding:
    """A stream takes 32 bytes of the system, is the keystream of exactly these, and every one of their bits matters."""
    with _served(_Spy()) as spy:
        words = _words(SYSTEM.stream(), 1000)
    key, bits = _Spy()(_KEY_BYTES), 8 * _KEY_BYTES
    own = np.array_equal(words, _counted(key, words.size))
    found = set()
    for flipped in (None, *range(bits)):
        if spy.asked == [_KEY_BYTES]:
            with _served(_Spy(flipped=flipped)):
                found.add(_words(SYSTEM.stream()).tobytes())
    told = f"{sum(spy.asked)} bytes are taken, of {_KEY_BYTES}; {max(len(found) - 1, 0)} of {bits} bits matter"
    told += "; the words are those of AES-256" if own else "; the words are not those of AES-256 under these bytes"
    return Finding("the key of a stream", own and len(found) == bits + 1, told)


def _bytes_of_bits() -> Finding:
    """Single draws take all their bits from the system, and every one of them matters."""
    wrong, sizes = [], (8, 16, 24, 64, 72, 128, 256, 1000)
    for size in sizes:
        with _served(_Spy()) as spy:
            first = SYSTEM.bits(size)
        found = {first} if sum(spy.asked) == size // 8 and first < 1 << size else set()
        for flipped in range(size if found else 0):
            with _served(_Spy(flipped=flipped)):
                found.add(SYSTEM.bits(size))
        wrong += [] if len(found) == size + 1 else [f"{size} bits, from {sum(spy.asked)} bytes"]
    return Finding("the bits of single draws", not wrong, all_right(wrong, len(sizes)))


def _doors(room: Room) -> Iterator[Finding]:
    """Every way to draw takes new bytes in every call; the same bytes give the same draws, other bytes others."""
    zeros = np.zeros(64, np.int64)
    ways: dict[str, tuple[Callable[[], Any], int]] = {
        "discrete_laplace, one": (lambda: [discrete_laplace(10**12) for _ in range(8)], 8 * 8),
        "discrete_laplace, an array": (lambda: discrete_laplace(1000, 64).tolist(), _KEY_BYTES),
        "discrete_laplace, a large scale": (lambda: discrete_laplace(2**40, 64).tolist(), _KEY_BYTES),
        "laplace, whole numbers": (lambda: laplace(zeros, sensitivity=1, epsilon="0.001").tolist(), _KEY_BYTES),
        "laplace, floats": (lambda: laplace(zeros / 2, sensitivity=1, epsilon=1).tolist(), _KEY_BYTES),
        "laplace, one whole number": (lambda: laplace(0, sensitivity=1, epsilon="1e-9"), 8),
        "laplace, one float": (lambda: laplace(0.5, sensitivity=1, epsilon=1), 8),
        "randomized response": (lambda: randomized_response(zeros, 1).tolist(), _KEY_BYTES),
        "coins": (lambda: coins([1] * 64).tolist(), _KEY_BYTES),
        "uniform, one": (lambda: uniform(2**200), 200 // 8),
        "uniform, an array": (lambda: uniform(10**9, 64).tolist(), _KEY_BYTES),
        "a race": (lambda: race([0, 0], Fraction(1), np.full(2, 10**15)), _KEY_BYTES + 7),
        "a release": (lambda: _released(room), 3 * _KEY_BYTES),
        "discover": (lambda: _few(room).discover("k", epsilon="0.2", delta="0.01").counts, _KEY_BYTES),
        "bounds": (lambda: _bounded(room), _KEY_BYTES),
    }
    for what, (draw, least) in ways.items():
        SYSTEM.stream(), SYSTEM.bits(64)  # what is made once, and is kept, is made here
        found, taken = [], []
        for seed in ("one", "one", "two"):
            with _served(_Spy(seed)) as spy:
                found.append(draw())
            taken.append(sum(spy.asked))
        passed = found[0] == found[1] != found[2] and min(taken) >= least
        told = f"{taken[0]}, {taken[1]} and {taken[2]} bytes in three calls, each {least} or more; the same bytes give "
        told += f"{'the same' if found[0] == found[1] else 'different'} draws, others "
        told += "the same" if found[1] == found[2] else "different"
        yield Finding(f"bytes of the system for {what}", passed, told)


def _few(room: Room) -> Source:
    """Return a source of 40 keys with 200 rows each, with a new ledger."""
    table = room.select("SELECT k, x + k / 7 AS x FROM range(40) AS t(k), range(200) AS v(x)")
    return room.source(table, columns={"x": number(0, 250), "k": plain("integer")}, delta="0.01")


def _released(room: Room) -> Any:
    asked = query.mean("x"), query.count(), query.median("x"), query.proportion("x > 2")
    return [[cell.tolist() for cell in part] for part in _few(room).release(*asked, epsilon="0.001").cells]


def _bounded(room: Room) -> Any:
    return [cell.tolist() for cell in _few(room).bounds("x", epsilon="0.01").release.cells[0]]


def _by_threads() -> Finding:
    """Of an array that threads share, every part has a key of its own."""
    with _served(_Spy()) as spy:
        discrete_laplace(100, 3 * BLOCK, threads=3)
    told = f"{len(spy.asked)} keys of {spy.asked} bytes for 3 threads"
    return Finding("the keys of threads", spy.asked == [_KEY_BYTES] * 3, told)


def _collisions(streams: int) -> Finding:
    """The first words of many streams are different: with n of them two agree with probability below n²/2^65."""
    first = np.array([_words(SYSTEM.stream(), 1)[0] for _ in range(streams)])
    different = len(np.unique(first))
    told = f"{different:,} of {streams:,} first words are different"
    return Finding("the streams of many calls", different == streams, told, streams**2 / 2**65)


# --- a word of its own for every cell ---


class _Flipping(EntropyForTests):
    """Randomness for tests, in which the signs of some words are flipped: half of them, by a number of a pattern."""

    def __init__(self, pattern: int) -> None:
        super().__init__(4)
        self._pattern, self._places = pattern, count()

    def flips(self, place: int) -> bool:
        """Return whether the word at this place is flipped; the pattern 0 flips none."""
        return self._pattern > 0 and bool(hashlib.sha256(b"%d/%d" % (self._pattern, place)).digest()[0] & 1)

    @property
    def drawn(self) -> int:
        """How many words were drawn."""
        return next(self._places)

    def bits(self, count: int) -> int:
        word = super().bits(count)
        return word ^ (count == 64 and self.flips(next(self._places)))

    def stream(self) -> Stream:
        return _FlippingStream(super().stream(), self)

    def flip(self, words: NDArray[np.int64]) -> None:
        """Flip the signs of the next words."""
        flipped = [self.flips(next(self._places)) for _ in range(words.size)]
        words ^= np.where(flipped, np.int64(-(2**63)), np.int64(0))


class _FlippingStream:
    def __init__(self, stream: Stream, entropy: _Flipping) -> None:
        self._stream, self._entropy = stream, entropy

    def fill(self, words: NDArray[np.int64]) -> None:
        self._stream.fill(words)
        self._entropy.flip(words)


Draw = Callable[[Any], list[int]]


def _own_words(room: Room) -> Iterator[Finding]:
    """Every noisy number changes with one word, its own: in no release or array do two share their noise."""
    kinds = set()
    for what, asked in _asked(room).items():
        plan = asked.plan
        kinds |= {type(part.measurement) for part in plan.parts}
        noisy = sum(_noisy_cells(part.measurement) * plan.length(part) for part in plan.parts)
        yield _one_each(f"a release of {what}", partial(_cells, asked), noisy)
    missing = [kind.__name__ for kind in KINDS if kind not in kinds]
    yield Finding("the kinds of measurements whose words are followed", not missing, all_right(missing, len(KINDS)))
    mechanism, huge, many = LaplaceMechanism(10**6, 1), LaplaceMechanism(2**60, 1), 40
    yield _one_each("an array", lambda e: discrete_laplace(10**6, many, entropy=e).tolist(), many)
    yield _one_each("an array of a large scale", lambda e: discrete_laplace(2**45, many, entropy=e).tolist(), many)
    yield _one_each("whole numbers", lambda e: mechanism.release([5] * many, entropy=e).tolist(), many)
    yield _one_each("floats", lambda e: mechanism.release(np.zeros((8, 5)), entropy=e).ravel().tolist(), many)
    yield _one_each("single draws", lambda e: [huge.release(0, entropy=e) for _ in range(many)], many)


def _noisy_cells(measurement: Measurement) -> int:
    """Return how many of the cells of a measurement have noise: of quantiles, the counts between chosen values."""
    return measurement.borders + 1 if isinstance(measurement, Quantiles) else len(measurement.names)


def _cells(asked: Again, entropy: Entropy) -> list[int]:
    """Return all noisy integers of a new release."""
    return [int(each) for part in asked.release(entropy).cells for cell in part for each in cell]


def _asked(room: Room) -> dict[str, Again]:
    """Return questions whose measurements are of all kinds, asked with so small an ε that no noise is 0."""
    types = {"p": "BIGINT", "x": "DOUBLE", "z": "BIGINT", "w": "BIGINT", "k": "VARCHAR"}
    table = room.table(
        {"p": [1, 2, 3], "x": [1.0, None, 6.5], "z": [1, 2, 9], "w": [1, 2, 3], "k": ["a", "b", "a"]}, types
    )
    columns = {"x": number(-3, 7), "z": number(0, 2**40, integer=True), "w": number(0, 9), "k": keys("a", "b", "c")}
    people, change = {"person": "p", "rows_per_person": 2}, {"neighbors": "change_one"}
    asked: dict[str, tuple[Mapping[str, Any], tuple[query.Statistic, ...], str | None]] = {
        "rows": ({}, (query.count(),), "k"),
        "counts, sums and means": ({}, (query.count("x"), query.sum("z"), query.mean("x")), "k"),
        "spreads": ({}, (query.variance("x"), query.count(), query.proportion("x > 2")), "k"),
        "quantiles": ({}, (query.min("x"), *query.quantile("x", ["0.2", "0.9"])), "k"),
        "a distribution function": ({}, (query.cdf("x", 12),), "k"),
        "people": (people, (query.people(), query.count(), query.sum("x")), "k"),
        "a public number of rows": (change, (query.mean("x"), query.sum("z"), query.variance("x")), None),
        "a column": ({}, (query.count("x"), query.sum("z")), None),
        "a weighted mean": ({}, (query.mean("x", weight="w"), query.count(weight="w"), query.count()), "k"),
    }
    found = {}
    for what, (described, statistics, by) in asked.items():
        source = room.source(table, columns=columns, **described)
        found[what] = read_once(source.plan(*statistics, by=by, epsilon="0.000001"), table)
    return found


def _one_each(what: str, draw: Draw, noisy: int) -> Finding:
    """Flip half of the signs, several times; a cell must change exactly when one word does, and no two the same way."""
    patterns = [_Flipping(number) for number in range(_PATTERNS + 1)]
    before, *after = [draw(entropy) for entropy in patterns]
    words = patterns[0].drawn
    known = {tuple(p.flips(place) for p in patterns[1:]) for place in range(words)}
    changed = [tuple(each[i] != before[i] for each in after) for i in range(len(before))]
    own = [each for each in changed if any(each) and each in known]
    foreign = sum(any(each) and each not in known for each in changed)
    different = min(len(set(own)), _sizes(before, after))
    told = f"{different} of {noisy} noisy numbers have a word of their own, of {words:,} that were drawn"
    told += f"; {foreign} depend on several" if foreign else ""
    return Finding(f"the words of {what}", different == noisy and not foreign, told)


def _sizes(before: list[int], after: list[list[int]]) -> int:
    """Return how many different distances numbers were moved by, where they were: twice the size of their noise."""
    moved = [{abs(each[i] - number) for each in after} - {0} for i, number in enumerate(before)]
    return len({distance for distances in moved for distance in distances})
