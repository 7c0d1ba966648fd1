"""The noise that bare mechanisms add: to values of every type, on every grid, with every Δ and ε; and the catalogue.

Nothing here is drawn by chance.  The noise is frozen, so that what two releases differ by is what their values do, and
the privacy loss of neighbors, which are as far apart as Δ allows, follows from the scale of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement
from random import Random
from typing import Any, get_args

import numpy as np

from ...errors import LapwingError
from ...noise.entropy import EntropyForTests
from ...noise.mechanism import LaplaceMechanism, laplace, randomized_response
from ...noise.sampler import discrete_laplace
from ...sensitivity import CATALOGUE, Neighbors, vector
from ..finding import Finding, all_right
from ..room import Room
from ..tools.even import ROUNDING, Even

SEED = 13
_SMALL = Fraction(1, 10**6)
_INT64 = np.iinfo(np.int64)


def added(room: Room) -> Iterator[Finding]:
    """Yield what mechanisms add to values, what neighbors lose by it, and how far the catalogue says they differ."""
    random = Random(SEED)
    tries = 400 if room.deep else 40
    yield _parameters(random, tries)
    yield _whole(random)
    yield _real(random)
    yield _others()
    yield _grids(random, 5 * tries)
    yield _losses(random, tries)
    yield from _responses(random)
    yield from _catalogue(random)
    yield _vector(random)


# --- parameters ---

_EPSILONS = ("1", "0.1", "0.333333333", "2", "17.25", "1000", "0.000000001", "0.05")


def _pair(random: Random, least: Fraction = Fraction(0)) -> tuple[Fraction, Fraction]:
    """Return a sensitivity, at least this, and an ε, both of any size."""
    top = random.choice((1, 3, 7, 10, 255, 10**6, 10**30, random.randrange(1, 10**9)))
    sensitivity = Fraction(top, random.choice((1, 1, 2, 3, 7, 10, 10**5, random.randrange(1, 10**6))))
    epsilons = (*map(Fraction, _EPSILONS), Fraction(random.randrange(1, 10**10), 10**9))
    return max(sensitivity, least), random.choice(epsilons)


def _parameters(random: Random, tries: int) -> Finding:
    """However Δ and ε are written, the noise has the scale Δ/ε, and ε is never taken as more than was written."""
    wrong, number = [], 0
    for _ in range(tries):
        top, epsilon = random.randrange(1, 100), random.randrange(1, 50)
        kinds: tuple[Any, ...] = (int, float, str, Fraction, Decimal, np.int8, np.uint8, np.int16, np.int64, np.float64)
        written: list[tuple[Any, Fraction]] = [(kind(top), Fraction(top)) for kind in kinds]
        written += [(f"{top}/7", Fraction(top, 7)), (f"{top}e-3", Fraction(top, 1000)), (top / 8, Fraction(top, 8))]
        rounded = [kind(top / 7) for kind in (float, np.float32, np.float16)]
        written += [(each, max(Fraction(str(each)), Fraction(float(each)))) for each in rounded]
        budgets: list[tuple[Any, Fraction]] = [(epsilon, Fraction(epsilon)), (str(epsilon), Fraction(epsilon))]
        budgets += [(Fraction(epsilon, 8), Fraction(epsilon, 8)), (epsilon / 7, Fraction(epsilon * 10**9 // 7, 10**9))]
        for given, delta in written:
            for asked, budget in budgets:
                made, number = LaplaceMechanism(given, asked), number + 1
                right = made.scale * budget == delta and made.epsilon == budget
                wrong += [] if right else [f"Δ = {given!r}, ε = {asked!r}: scale {made.scale}"]
    return Finding(f"Δ and ε, however they are written (seed {SEED})", not wrong, all_right(wrong, number))


# --- values ---


def _arrays(kinds: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return arrays of all kinds, in every layout."""
    found: list[Any] = []
    for kind in kinds:
        array = np.array([kind(value) for value in values] * 2, dtype=kind)
        square = array[:4].reshape(2, 2)
        locked = array.copy()
        locked.flags.writeable = False
        found += [array, square, np.asfortranarray(square), square.T, array[::2], array[::-1], locked, array[:0]]
        found += [array.astype(array.dtype.newbyteorder(">")), array[:4].reshape(2, 1, 2), np.array(kind(values[1]))]
    return found


def _whole(random: Random) -> Finding:
    """Whole numbers of every type get integer noise of scale Δ/ε, and stay what they were."""
    narrow = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32)
    zoo: list[Any] = [0, 5, -7, 2**31, 2**63, -(2**70), 10**40, -(10**40), [1, 2, 3], (4, -5), [10**30, -(10**30), 7]]
    zoo += [kind(np.iinfo(kind).max) for kind in narrow] + [kind(np.iinfo(kind).min) for kind in narrow]
    zoo += [*_arrays(narrow, (3, 1, 0, 100)), np.array([_INT64.max, _INT64.min, 0, _INT64.max - 5])]
    wrong = []
    for number, value in enumerate(zoo):
        sensitivity, epsilon = _pair(random, Fraction(1))
        if not isinstance(value, int | np.integer):
            sensitivity, epsilon = Fraction(random.randrange(1, 99)), Fraction(random.randrange(1, 99), 10)
        before = np.array(value, object)
        found = laplace(value, sensitivity=sensitivity, epsilon=epsilon, entropy=EntropyForTests(number))
        due = _due(value, sensitivity / epsilon, number)
        same = np.shape(found) == np.shape(due) and np.array_equal(np.array(found, object), np.array(due, object))
        kind = isinstance(found, int) if np.ndim(value) == 0 else found.dtype == np.int64
        wrong += [] if same and kind and np.array_equal(before, np.array(value, object)) else [f"{value!r}"]
    return Finding("whole numbers with noise", not wrong, all_right(wrong, len(zoo)))


def _due(value: Any, scale: Fraction, seed: int) -> Any:
    """Return a whole number, or an array of them, with the noise of a seed, at most as large as int64 allows."""
    if np.ndim(value) == 0:
        return int(value) + discrete_laplace(scale, entropy=EntropyForTests(seed))
    cells = np.array(value, object)
    noise = discrete_laplace(scale, cells.size, entropy=EntropyForTests(seed)).astype(object).reshape(cells.shape)
    clamped = [_clamp(int(cell)) + drawn for cell, drawn in zip(cells.ravel(), noise.ravel(), strict=True)]
    return np.array([_clamp(each) for each in clamped], object).reshape(cells.shape)


def _clamp(value: int) -> int:
    return min(max(value, _INT64.min), _INT64.max)


def _real(random: Random) -> Finding:
    """Floats of every type get noise on the grid, which is the same for all values; the float nearest to the sum."""
    kinds = (np.float16, np.float32, np.float64)
    zoo: list[Any] = [0.0, -0.0, 0.1, -3.75, 1e308, -1e308, 5e-324, 2.0**60, np.float32(0.1), np.float16(0.1)]
    zoo += [[0.5, 1.5, 2.5], (0.1, -0.2), *_arrays(kinds, (0.1, 1.0, -2.5, 60000.0)), np.array([1e308, -1e308, 1e-308])]
    wrong = []
    for number, value in enumerate(zoo):
        mechanism = LaplaceMechanism(*_pair(random))
        before, cells = np.array(value, float), max(np.size(value), 1)
        grid = mechanism.grid(cells)
        found = mechanism.release(value, entropy=EntropyForTests(number))
        one = np.ndim(value) == 0
        same_noise = EntropyForTests(number)
        if one:
            noise = [discrete_laplace(grid.scale, entropy=same_noise)]
        else:
            noise = discrete_laplace(grid.scale, cells, entropy=same_noise).tolist()
        step, limit = Fraction(2) ** grid.exponent, Fraction(grid.limit)
        due = []
        for cell, noise_of in zip(before.ravel().tolist(), noise, strict=False):
            index = round(min(max(Fraction(cell), -limit), limit) / step)
            due.append(_nearest((index + noise_of) * step))
        same = np.shape(found) == np.shape(value) and np.array_equal(np.ravel(found), due)
        kind = isinstance(found, float) if one else found.dtype == np.float64
        wrong += [] if same and kind and np.array_equal(before, np.array(value, float)) else [f"{value!r}"]
    return Finding("floats with noise, on their grid", not wrong, all_right(wrong, len(zoo)))


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _others() -> Finding:
    """Values of other types are refused before anything is drawn, or they get noise like numbers."""
    zoo: list[Any] = [True, np.bool_(True), None, "5", b"5", 1j, math.nan, math.inf, -math.inf, np.float32("nan")]
    zoo += [[1, 2.0], [True, False], [1.0, math.nan], [None], ["1"], {1: 2}, {1, 2}, range(3), object(), [[1, 2], [3]]]
    zoo += [np.array([True]), np.array([1], np.uint64), np.array(["1"]), np.array([1j]), np.array([None], object)]
    zoo += [
        np.ma.masked_array([1, 2], [False, True]),
        np.timedelta64(5),
        np.array([5], "m8[D]"),
        np.array([5], "M8[D]"),
    ]
    zoo += [np.array([1.0, math.inf]), np.array([[1.0, math.nan]]), np.array(math.nan), Decimal(1), Fraction(1, 2)]
    wrong = []
    for value in zoo:
        entropy = Even()
        try:
            LaplaceMechanism(1, 1).release(value, entropy=entropy)
            wrong.append(f"{value!r} was released")
        except LapwingError:
            wrong += [f"{value!r} was drawn for"] if entropy.filled else []
    half: list[Any] = [3, [1, 2], np.array([3])]
    for value in half:
        try:
            laplace(value, sensitivity="0.5", epsilon=1)
            wrong.append(f"{value!r}, which can move by a half, was released as whole")
        except LapwingError:
            pass
    return Finding("values that cannot be released", not wrong, all_right(wrong, len(zoo) + len(half)))


# --- grids and losses ---


def _grids(random: Random, tries: int) -> Finding:
    """On every grid, as many steps as values can move are hidden, and few more: scale·ε is at least Δ/g + cells."""
    wrong = []
    for _ in range(tries):
        sensitivity, epsilon = _pair(random)
        cells = random.choice((1, 1, 2, 3, 10, 1000, 10**6))
        if cells > 1 and cells / epsilon > 2**39:
            continue
        grid = LaplaceMechanism(sensitivity, epsilon).grid(cells)
        step = Fraction(2) ** grid.exponent
        hidden, moved = grid.scale * epsilon, sensitivity // step + cells
        fine = step <= sensitivity / epsilon / 2**20 and Fraction(grid.step) == step
        tight = hidden * step <= sensitivity * (1 + Fraction(1, 2**9))
        fits = cells == 1 or grid.scale <= 2**50
        if not (hidden >= moved and fine and tight and fits):
            wrong.append(f"Δ = {sensitivity}, ε = {epsilon}, {cells} cells: {float(hidden)} steps of 2^{grid.exponent}")
    return Finding("grids of floats", not wrong, all_right(wrong, tries))


def _losses(random: Random, tries: int) -> Finding:
    """Release neighbors that are Δ apart with the same noise: they differ by at most ε times its scale, and almost."""
    worst, least, wrong = Fraction(0), Fraction(1), []
    for number in range(tries):
        sensitivity, epsilon = _pair(random)
        sensitivity = min(max(sensitivity, Fraction(1, 10**6)), Fraction(10**9))
        cells = random.choice((1, 2, 5)) if sensitivity / epsilon < 2**50 else 1
        mechanism = LaplaceMechanism(sensitivity, epsilon)
        grid, whole = mechanism.grid(cells), sensitivity >= 1 and number % 3 == 0
        one, other = _neighbors(random, sensitivity, 2.0**grid.exponent, cells, whole)
        released = [mechanism.release(each, entropy=EntropyForTests(number)) for each in (one, other)]
        step, scale = (Fraction(1), mechanism.scale) if whole else (Fraction(2) ** grid.exponent, grid.scale)
        moved = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(*map(_listed, released), strict=True)) / step
        loss = moved / scale / epsilon
        worst = max(worst, loss)
        least = least if whole and sensitivity.denominator > 1 else min(least, loss)
        wrong += [f"Δ = {sensitivity}, ε = {epsilon}, {one} and {other}"] if loss > 1 else []
    told = f"{all_right(wrong, tries)}; the loss is {float(least):.6f} to {float(worst):.6f} of ε"
    return Finding("the loss of neighbors that are Δ apart", not wrong and least > 1 - Fraction(1, 256), told)


def _listed(released: Any) -> list[Any]:
    return np.ravel(np.array(released, object)).tolist()


def _neighbors(random: Random, sensitivity: Fraction, step: float, cells: int, whole: bool) -> tuple[Any, Any]:
    """Return two values that are at most Δ apart, and whose rounding to the grid takes them as far apart as it can."""
    if whole:
        start = random.randrange(-100, 100)
        apart = [start, start + int(sensitivity)]
        return (apart[0], apart[1]) if cells == 1 else ([apart[0]] * cells, [apart[1]] + [apart[0]] * (cells - 1))
    tiny = step / 2**12
    one = [step * (random.randrange(-50, 50) + 0.5) - tiny for _ in range(cells)]
    far = math.floor((sensitivity - (cells - 1) * Fraction(2 * tiny)) / Fraction(step)) * step
    left = float(sensitivity - Fraction(far) - (cells - 1) * Fraction(2 * tiny))
    other = [each + 2 * tiny for each in one]
    other[0] = one[0] + far + min(2 * tiny, left / 2)
    apart_by = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(one, other, strict=True))
    if apart_by > sensitivity:
        other[0] = one[0] + far
    return (one[0], other[0]) if cells == 1 else (one, other)


# --- randomized response ---


def _responses(random: Random) -> Iterator[Finding]:
    """Bits are flipped with probability 1/(1 + e^ε), and estimates are unbiased, with the error and bar they state."""
    size, wrong = 2**13, []
    epsilons = [Fraction(each) for each in ("0.001", "0.1", "0.5", "1", "3", "8", "30")]
    epsilons += [Fraction(random.randrange(1, 5 * 10**9), 10**9) for _ in range(3)]
    for epsilon in epsilons:
        due = 1 / (1 + math.exp(epsilon))
        for bits in (np.zeros(size, bool), np.ones((2, size // 2), np.uint8), [1] * size):
            flipped = randomized_response(bits, epsilon, entropy=Even())
            share = float((flipped != np.array(bits, bool)).mean())
            right = abs(share - due) <= 1 / size + ROUNDING and flipped.shape == np.shape(bits)
            wrong += [] if right else [f"{share:.6f} at ε = {epsilon}, where {due:.6f} is due"]
    yield Finding("the share of bits that are flipped", not wrong, all_right(wrong, 3 * len(epsilons)))
    yield _each_bit(random)
    for number, confidence in ((30, Fraction(19, 20)), (60, Fraction(1, 2)), (7, Fraction(99, 100))):
        off, held = 0.0, 1.0
        for epsilon in epsilons[1:6]:
            for true in (0, number // 3, number):
                bias, rms, share = _estimated(number, true, epsilon, confidence)
                off, held = max(off, bias, rms), min(held, share)
        passed = off <= 1e-9 and held >= confidence * (1 - 1e-12)
        told = f"bias and error are off by {off:.1e} at most, 1e-09 is allowed; bars hold with {held:.4f} or more"
        yield Finding(f"estimates from {number} answers, at {float(confidence):.0%}, exactly", passed, told)


def _each_bit(random: Random) -> Finding:
    """Bits of every type and layout are flipped where the noise of their own draw is positive."""
    zoo = [*_arrays((np.bool_, np.uint8, np.int64), (1, 0, 0, 1)), [1, 0, 1], [[True, False], [False, False]]]
    wrong = []
    for number, bits in enumerate(zoo):
        epsilon = random.choice((Fraction(1, 10), Fraction(1), Fraction(5, 2)))
        noise = discrete_laplace(1 / epsilon, np.size(bits), entropy=EntropyForTests(number))
        due = np.array(bits, bool) ^ (noise.reshape(np.shape(bits)) > 0)
        found = randomized_response(bits, epsilon, entropy=EntropyForTests(number))
        wrong += [] if np.array_equal(found, due) else [f"{bits!r}"]
    return Finding("each bit has a draw of its own", not wrong, all_right(wrong, len(zoo)))


def _estimated(number: int, true: int, epsilon: Fraction, confidence: Fraction) -> tuple[float, float, float]:
    """Return the bias, how wrong the stated error is, and the coverage, over all answers of so many people."""
    flip = 1 / (1 + math.exp(epsilon))
    law = np.convolve(_binomial(true, 1 - flip), _binomial(number - true, flip))
    values, inside, rms = [], [], 0.0
    for heads in range(number + 1):
        found = randomized_response.estimate([1] * heads + [0] * (number - heads), epsilon, confidence)
        values.append(found.value)
        inside.append(found.low <= true / number <= found.high)
        rms = found.rms
    off = np.array(values) - true / number
    bias, error = abs(float(law @ off)), math.sqrt(float(law @ off**2))
    return bias, abs(error / rms - 1), float(law @ np.array(inside))


def _binomial(number: int, share: float) -> Any:
    return np.array([math.comb(number, k) * share**k * (1 - share) ** (number - k) for k in range(number + 1)])


# --- the catalogue ---

_STATISTICS: dict[str, Any] = {
    "count": lambda t, low, high: [len(t)],
    "proportion": lambda t, low, high: [Fraction(sum(t)) / len(t) if t else Fraction(1, 2)],
    "sum": lambda t, low, high: [sum(t)],
    "mean": lambda t, low, high: [Fraction(sum(t)) / len(t) if t else (low + high) / 2],
    "variance": lambda t, low, high: [_spread(t)],
    "std": lambda t, low, high: [Fraction(math.sqrt(_spread(t)))],
    "histogram": lambda t, low, high: [t.count(low), t.count(high)],
    "minimum": lambda t, low, high: [min(t, default=low)],
    "maximum": lambda t, low, high: [max(t, default=low)],
    "median": lambda t, low, high: [sorted(t)[(len(t) - 1) // 2] if t else low],
}
"""What each entry of the catalogue measures, written anew."""


def _spread(table: Sequence[Fraction]) -> Fraction:
    n = max(len(table), 1)
    return Fraction(sum(each * each for each in table)) / n - (Fraction(sum(table)) / n) ** 2


def _catalogue(random: Random) -> Iterator[Finding]:
    """For bounds anywhere and any n, an entry is the largest distance of neighbors whose values are at the bounds."""
    low = Fraction(random.randrange(-(10**6), 10**6), 7)
    bounds = [(Fraction(a), Fraction(b)) for a, b in ((2, 7), (-9, -4), (-3, 1), (0, Fraction(1, 3)))]
    bounds.append((low, low + Fraction(random.randrange(1, 10**9), 10**4)))
    for name, entry in CATALOGUE.items():
        if name not in _STATISTICS:
            yield Finding(f"lw.sensitivity.{name}, anywhere", False, "this check has no formula of its own for it")
            continue
        wrong, number = [], 0
        for low, high in bounds:
            ends = (Fraction(0), Fraction(1)) if name == "proportion" else (low, high)
            for n in (1, 2, 7, 100) if (low, high) in (bounds[0], bounds[-1]) else (1, 2, 7):
                for neighbors in get_args(Neighbors):
                    needed = {"low": low, "high": high, "n": n}
                    declared = entry.sensitivity(**{each: needed[each] for each in entry.needs}, neighbors=neighbors)
                    largest, number = _largest(name, ends, n, neighbors == "change_one"), number + 1
                    right = largest * (1 - Fraction(1, 2**50)) <= declared <= largest * (1 + _SMALL)
                    told = f"{float(declared)} where {float(largest)} is right, {low} to {high}, n = {n}"
                    wrong += [] if right else [told]
        yield Finding(f"lw.sensitivity.{name}, with bounds anywhere", not wrong, all_right(wrong, number))


def _vector(random: Random) -> Finding:
    """The sensitivity of several answers together is the sum of theirs."""
    wrong = []
    for _ in range(20):
        parts = [_pair(random)[0] for _ in range(random.randrange(1, 6))]
        wrong += [] if vector(*parts) == sum(parts) else [parts]
    return Finding("lw.sensitivity.vector", not wrong, all_right(wrong, 20))


def _largest(name: str, ends: tuple[Fraction, Fraction], n: int, change_one: bool) -> Fraction:
    """Return the largest L1 distance over tables of n rows, or of up to 4, at the ends and in the middle."""
    low, high = ends
    pairs = []
    if change_one:
        values = (low, (low + high) / 2, high) if n < 10 else (low, high)
        for rest in combinations_with_replacement(values, n - 1):
            pairs += [((one, *rest), (two, *rest)) for one in values for two in values if one < two]
    else:
        values = (low, (low + high) / 2, high)
        for size in range(1, 5):
            pairs += [(t, t[:i] + t[i + 1 :]) for t in combinations_with_replacement(values, size) for i in range(size)]
    ask = _STATISTICS[name]
    found = (sum(abs(a - b) for a, b in zip(ask(x, *ends), ask(y, *ends), strict=True)) for x, y in pairs)
    return Fraction(max(found))
