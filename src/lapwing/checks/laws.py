"""Exact laws: how likely each output is, computed without drawing a number; no false alarms but where it is said.

Claim C2 (strata).  Let |X| be a function of a uniform U that does not rise as U grows, with a sign of its own.  If the
pairs of sign and U are laid out in the middles of n equal parts, the distribution function of the n values of X
differs from the true one by at most 1/n at every point.

So the words that a release takes as randomness are laid out evenly, and the noise it adds is compared with the law that
its plan declares.  Such noise moves the probabilities of every output on a table and on its neighbor apart by at most
Σ |tally - tally′|/scale in the logarithm, and by just that at some output; this must not exceed ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import exact, query
from ..entropy import EntropyForTests, Stream
from ..mechanism import LaplaceMechanism
from ..noise import discrete_laplace
from ..schema import keys, number, plain
from .finding import Finding
from .neighbors import WHOLE, Moved, placed, questions, whole
from .room import Room

_STRATA = 2**16
_GROUPS = 2**13
"""How many groups a release has whose noise is laid out evenly."""

_ROUNDING = 1e-12
"""Far above the rounding of distribution functions in float64."""

Words = NDArray[np.int64]


def laws(room: Room) -> Iterator[Finding]:
    """Yield the laws of the sampler, of whole releases, of selections and of discovery."""
    yield from _sampler()
    yield from _tails()
    yield from _floats()
    yield from _noise_of_releases(room)
    yield from _ratios(room)
    yield from _selections(room)
    yield from _thresholds(room)


class Even:
    """Randomness for tests: words are laid out evenly, an array at a time, and single words one after the other."""

    private = False

    def __init__(self) -> None:
        self._number = 0
        self._rest = EntropyForTests(1)
        self.filled: list[int] = []

    def bits(self, count: int) -> int:
        """Return the next word, of as many as there are strata; its last bit takes turns, as it may be a sign."""
        if count != 64:
            return self._rest.bits(count)
        self._number += 1
        return (2 * self._number - 1) * (1 << 63) // _STRATA % (1 << 64) | self._number & 1

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
    """Return words in the middles of equal parts of all words, in an order that has nothing to do with their size."""
    places = (np.arange(size) * 40503) % size if size % 3 and size % 23 and size % 587 else np.arange(size)
    return ((places + 0.5) * (2.0**64 / size) - 2.0**63).astype(np.int64)


def _distance(values: NDArray[Any], scale: Fraction) -> float:
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


def _even_law(what: str, values: NDArray[Any], scale: Fraction, slack: float = 0.0) -> Finding:
    """Compare evenly laid out noise with the law of its scale."""
    found, allowed = _distance(values, scale), 1 / values.size + slack + _ROUNDING
    told = f"its distribution function is within {found:.2e} of that of scale {_short(scale)}; {allowed:.2e} is allowed"
    return Finding(what, found <= allowed, told)


def _short(scale: Fraction) -> str:
    text = exact.text(scale)
    return text if len(text) < 13 else f"{float(scale):.6g}"


# --- the sampler ---


def _sampler() -> Iterator[Finding]:
    for scale in (Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(100), Fraction(10**6)):
        drawn = discrete_laplace(scale, _STRATA, entropy=Even())
        yield _even_law(f"an array of noise of scale {scale}", drawn, scale)
    scale, entropy = Fraction(2**40), Even()
    parts = 2.0**-18  # below its 20 leading bits, noise of this scale is not laid out evenly (claim N3)
    yield _even_law("an array of noise of scale 2^40", discrete_laplace(scale, _STRATA, entropy=entropy), scale, parts)
    scale, entropy = Fraction(3), Even()
    one_by_one = np.array([discrete_laplace(scale, entropy=entropy) for _ in range(_STRATA)])
    yield _even_law("noise of scale 3, drawn one by one", one_by_one, scale, 1 / _STRATA)


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
    yield _even_law("the noise of floats", zeros, mechanism.grid(_STRATA).scale, 2.0**-18)


# --- whole releases ---

_RELEASED: tuple[tuple[query.Statistic, ...], ...] = (
    (query.count(),),
    (query.sum("x"),),
    (query.mean("x"), query.count()),
    (query.variance("z"), query.proportion("x > 2")),
    (query.count("x"), query.sum("z")),
)


def _noise_of_releases(room: Room) -> Iterator[Finding]:
    """The noise in every cell of a release on an empty table has the law of the scale that the plan declares."""
    types = {"person": "BIGINT", "x": "DOUBLE", "z": "BIGINT", "group": "BIGINT"}
    nothing = room.table({name: [] for name in types}, types)
    columns = {"x": number(-3, 7), "z": number(-3, 7, integer=True), "group": keys(range(_GROUPS))}
    for statistics in _RELEASED:
        for described in ({}, {"person": "person", "rows_per_person": 3}, {"neighbors": "change_one"}):
            entropy, asked = Even(), room.source(nothing, columns=columns, **described)
            made = asked.release(*statistics, by="group", epsilon=2, entropy=entropy)
            what = f"{', '.join(each.text for each in statistics)}, {_described(described)}"
            drawn = [cell for part in made.cells for cell in part]
            fresh = sum(entropy.filled) >= len(drawn) * _GROUPS
            yield Finding(f"words for {what}", fresh, f"{sum(entropy.filled):,} for {len(drawn) * _GROUPS:,}")
            for part, cells in zip(made.plan.parts, made.cells, strict=True):
                scale = made.plan.scale(part)
                worst = max(cells, key=lambda cell: _distance(cell, scale))
                slack = 2.0**-18 if scale >= 2**30 else 0.0
                yield _even_law(f"noise of {part.measurement.name} in {what}", worst, scale, slack)


def _described(described: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in described.items()) or "rows"


def _ratios(room: Room) -> Iterator[Finding]:
    """Over all neighbors, the largest logarithm of the ratio of probabilities of whole releases is ε."""
    for people in (True, False):
        tables = placed(room, people)
        for question in questions():
            several = len(question.statistics) > 1 and not any(each.level for each in question.statistics)
            if question.people == people and several:
                yield _ratio(tables.moved(question))
    yield _ratio(whole(room, WHOLE))


def _ratio(found: Moved) -> Finding:
    plan = found.plan
    scales = [plan.scale(part) for part in plan.parts]
    about = sum((each / float(scale) for each, scale in zip(found.pairs, scales, strict=True)), np.float64(0))
    nearly = np.unique([each[about >= about.max() * (1 - _ROUNDING)] for each in found.pairs], axis=1).T
    largest = max(sum((int(d) / s for d, s in zip(pair, scales, strict=True)), Fraction(0)) for pair in nearly)
    told = f"the largest log ratio is {exact.text(largest)} of {exact.text(plan.epsilon)}, over {found.number:,} pairs"
    return Finding(f"log ratio of {found.question}", largest <= plan.epsilon, told)


# --- selection and discovery ---

_TRIALS = 6_000


def _selections(room: Room) -> Iterator[Finding]:
    """Medians of all tables of up to three rows over four values: the law of permute-and-flip, by its own formula.

    The law is exact; that releases follow it is seen from thousands of them.
    """
    epsilon, values = Fraction(2), range(4)
    tables = [rows for size in range(4) for rows in combinations_with_replacement(values, size)]
    law = {rows: _median_law(rows, values, epsilon) for rows in tables}
    losses = [
        abs(math.log(one / two))
        for rows in tables
        for i in range(len(rows))
        for one, two in zip(law[rows], law[rows[:i] + rows[i + 1 :]], strict=True)
    ]
    told = f"the largest log ratio is {max(losses):.12f} of {epsilon}, over {len(losses) // 4} pairs of neighbors"
    yield Finding("log ratio of a median", max(losses) <= epsilon * (1 + _ROUNDING), told)
    alpha = 1e-10
    allowed = math.sqrt(math.log(2 * len(values) / alpha) / (2 * _TRIALS))
    types = {"group": "BIGINT", "x": "BIGINT"}
    columns = {"x": number(0, 3, integer=True), "group": keys(range(_TRIALS))}
    for rows in ((0, 3, 3), (1,)):
        cells = {"group": np.repeat(np.arange(_TRIALS), len(rows)).tolist(), "x": list(rows) * _TRIALS}
        asked = room.source(room.table(cells, types), columns=columns)
        made = asked.release(query.median("x"), by="group", epsilon=epsilon, intervals=False)
        shares = np.bincount(np.asarray(made.cells[0][0], dtype=np.int64), minlength=len(values)) / _TRIALS
        off = float(np.abs(shares - law[rows]).max())
        told = f"shares are within {off:.4f} of the law; {allowed:.4f} is allowed"
        yield Finding(f"medians of {rows}, {_TRIALS:,} times", off <= allowed, told, alpha)


def _median_law(rows: Sequence[int], values: Sequence[int], epsilon: Fraction) -> list[float]:
    """Return the probability of each value: coins e^(-εd) are flipped in random order, and the first head wins.

    P(v) = p(v)·Σ over sets S of others of (-1)^|S|/(|S| + 1)·Π p(u), with p = 1 for the least distance d.
    """
    aim = Fraction(len(rows), 2)
    below = [sum(row < v for row in rows) for v in values]
    upto = [sum(row <= v for row in rows) for v in values]
    off = [max(low - aim, aim - high, Fraction(0)) for low, high in zip(below, upto, strict=True)]
    heads = [math.exp(-epsilon * (each - min(off))) for each in off]
    found = []
    for i, own in enumerate(heads):
        others = heads[:i] + heads[i + 1 :]
        sets = [chosen for size in range(len(others) + 1) for chosen in combinations(others, size)]
        found.append(own * math.fsum((-1) ** len(each) / (len(each) + 1) * math.prod(each) for each in sets))
    return found


def _thresholds(room: Room) -> Iterator[Finding]:
    """The probability that the key of one person is shown, found by bisection over all words, is within δ."""
    delta = Fraction(1, 10**6)
    for most, neighbors in ((1, "add_remove"), (3, "add_remove"), (2, "change_one")):
        shown = _shown(room, delta, most, neighbors)
        scale = most * (1 if neighbors == "add_remove" else 2)
        lost, before = (-math.expm1(most * math.log1p(-shown * math.exp(up / scale))) for up in (0, 1))
        passed = lost <= delta * (1 + 1e-6) and before > delta
        told = f"δ = {lost:.4e} of {float(delta):.4e}; with a threshold lower by one it would be {before:.4e}"
        yield Finding(f"keys of one person, {most} each, {neighbors}", passed, told)


def _shown(room: Room, delta: Fraction, most: int, neighbors: Any) -> float:
    """Return the probability that a key of a single person is shown: the share of words that do it."""
    number = 1024
    cells: dict[str, list[Any]] = {"person": list(range(number)), "key": [f"{i:04}" for i in range(number)]}
    table = room.table(cells, {"person": "BIGINT", "key": "VARCHAR"})
    described: dict[str, Any] = {"columns": {"key": plain("text")}, "person": "person", "rows_per_person": most}
    low, high = 1, 2**62
    while high - low > number:
        words = np.linspace(low, high, number).astype(np.int64)  # small words make large noise
        asked = room.source(table, **described, neighbors=neighbors, delta="0.01")
        found = asked.discover("key", epsilon=1, delta=delta, keys_per_person=most, entropy=Given(words))
        last = len(found.keys)
        low, high = int(words[max(last - 1, 0)]), int(words[min(last, number - 1)])
    return low / 2**64
