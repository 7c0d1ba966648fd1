"""Claims N1 to N6: the sampler is exact.  Everything above the last section is free of chance."""

from __future__ import annotations

import ast
import math
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

from lapwing.errors import RequestError
from lapwing.exact import arithmetic, as_decimal
from lapwing.noise import sampler
from lapwing.noise.distributions import DiscreteLaplace
from lapwing.noise.entropy import SYSTEM

from .. import statistics as stats
from ..independent import ERROR, ONE, PLACES, WIDE, Racer, ScriptedEntropy, Thresholds, exp_minus, signed

SCALES = [
    *(F(1, 1000), F(1, 7), F(1, 3), F(1, 2), F(1), F(10), F(3, 2), F(100), F(22, 7), F(12345, 678)),
    *(F(2**16), F(2**20 + 1, 3), F(10**9, 7), F(2**30) - F(1, 3), F(2**29)),
    *(F(2**30), F(2**30 + 1), F(10**12, 7), F(2**40), F(2**40 - 1, 3), F(2**50), F(2**50 - 1, 1)),
    *(F(10**15 + 37, 10**3 + 9), F(999999999989, 1000000007), F(1, 999), F(2**49 + 1, 5)),
]


def prefixes(scale: F, step: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return 63-bit prefixes: at random, at the ends, and next to the borders of the cells."""
    table = Thresholds(scale, step)
    deepest = int(44 * scale / step) + 1
    at = {int(k) for k in rng.integers(1, deepest + 1, count // 10)} | set(range(1, min(deepest, 50)))
    near = [(table.at(k) >> (PLACES - 63)) + off for k in at for off in range(-2, 3)]
    ends = [0, 1, 2, 3, 2**63 - 1, 2**63 - 2]
    ends += [2**k + off for k in range(1, 63) for off in (-1, 0, 1)]
    chosen = np.array([m for m in near + ends if 0 <= m < 2**63], dtype=np.int64)
    tiny = rng.integers(0, 2**40, count // 20)
    return np.concatenate([chosen, tiny, rng.integers(0, 2**63, count - chosen.size - tiny.size)])


def test_N2_prefixes_are_a_million_and_more():
    assert len(SCALES) * 40_000 >= 10**6


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_N2_every_prefix_is_decided_rightly_by_both_fast_paths(scale):
    seed = np.random.SeedSequence().entropy
    rng = np.random.default_rng(seed)
    law = sampler._law_of(scale)
    table = Thresholds(scale, 1 << law.shift)
    bits = prefixes(scale, 1 << law.shift, 40_000, rng)
    entropy = ScriptedEntropy(signed(bits, rng.integers(0, 2, bits.size) == 1))
    words, y, size = np.empty(bits.size, np.int64), np.empty(bits.size), np.empty(bits.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        sampler._draw_sizes(entropy.stream(), law, entropy, words, y, size)
    more = entropy.bits(64)
    slow = 0
    for m, drawn in zip(bits.tolist(), size.tolist(), strict=True):
        if not table.cell_holds(int(drawn), m, 63):
            slow += 1  # not decided by 63 bits: then by the scripted bits behind them
            longer = m << 64 | more
            assert table.cell_holds(int(drawn), longer, 127) or table.cell_holds(
                int(drawn), longer << 64 | more, 191
            ), f"{m} gave {drawn} at scale {scale}, seed {seed}"
        alone = sampler._decide_fast(m, law)
        assert alone is None or alone == drawn, f"{m} gave {alone} alone at scale {scale}, seed {seed}"
    assert slow > 0 or scale < F(1, 100)  # the borders were really tried


def test_N2_the_check_sees_a_draw_that_is_wrong_by_one():
    table = Thresholds(F(10))
    border = table.at(7) >> (PLACES - 63)
    assert table.cell_holds(7, border - 1, 63)
    assert not table.cell_holds(6, border - 1, 63)
    assert table.cell_holds(6, border + 1, 63)
    assert not table.cell_holds(7, border, 63)  # the border itself needs more bits


def test_N2_the_platform_log_errs_by_less_than_4_units_in_the_last_place():
    rng = np.random.default_rng()
    u = np.concatenate(
        [
            np.ldexp(rng.integers(2**52, 2**53, 20_000).astype(float), rng.integers(-116, -52, 20_000)),
            1 - np.ldexp(rng.integers(1, 2**30, 3_000).astype(float), -53),  # near 1, where ln is near 0
            np.ldexp(1.0, -np.arange(1, 64)),
            np.array([1.0]),
        ]
    )
    context = arithmetic(40)
    for name, logs in (("numpy", np.log(u)), ("math", [math.log(x) for x in u])):
        worst = 0.0
        for x, log in zip(u.tolist(), logs, strict=True):
            true = context.ln(as_decimal(F(x), context))
            error = float(context.subtract(true, as_decimal(F(float(log)), context)))
            worst = max(worst, abs(error) / math.ulp(float(log)))
        assert worst < 4, f"{name}.log errs by {worst} units in the last place"


def test_N2_slack_of_a_block_covers_every_word_that_is_not_looked_at_by_itself():
    for scale in SCALES:
        law = sampler._law_of(scale)
        safe = round(math.exp(-law.deepest / law.size) / law.factor)
        assert 2**36 <= safe <= 2**44
        assert sampler._slack(law.size, law.deepest, 1 / (safe - 1)) < law.slack


def test_N1_a_draw_that_int64_cannot_hold_is_an_error():
    with pytest.raises(OverflowError, match="draw again"):
        sampler.discrete_laplace(2**50, 3, entropy=Underflow(np.zeros(6, np.int64)))


class Underflow(ScriptedEntropy):
    """Zeros for 100 rounds, then a one: U ≈ 2^(-6,400)."""

    def __init__(self, words: np.ndarray) -> None:
        super().__init__(words)
        self._rounds = 0

    def bits(self, count: int) -> int:
        self._rounds += 1
        return int(self._rounds > 100)


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(5, 2), F(10), F(100), F(1000)], ids=str)
def test_N1_over_all_20_bit_beginnings_every_value_has_its_exact_share(scale):
    """All 2^21 signs and beginnings of U, each once, the later bits at random.

    Of the beginnings of U, 2^20·P(|X| ≥ k) belong to |X| ≥ k, up to the one that holds the border: no chance is left.
    """
    rng = np.random.default_rng()
    beginnings = np.arange(2**20, dtype=np.int64) << 43 | rng.integers(0, 2**43, 2**20)
    words = np.concatenate([beginnings, ~beginnings])
    draws = sampler.discrete_laplace(scale, words.size, entropy=ScriptedEntropy(words))
    assert (draws[: 2**20] == -draws[2**20 :]).all()
    values, counts = np.unique(draws, return_counts=True)
    below = np.cumsum(counts)

    def furthest(law: DiscreteLaplace) -> float:
        return max(abs(n - 2**21 * law.cdf(x)) for x, n in zip(values.tolist(), below.tolist(), strict=True))

    assert furthest(DiscreteLaplace(scale)) <= 1
    assert furthest(DiscreteLaplace(scale * F(10001, 10000))) > 10


@pytest.mark.parametrize("scale", [F(1, 2), F(1), F(10), F(22, 7)], ids=str)
def test_N1_thresholds_give_the_claimed_mass(scale):
    table, a = Thresholds(scale), 1 / scale
    decay = exp_minus(a)
    tanh = ((ONE - decay) << PLACES) // (ONE + decay)
    total = 0
    for k in range(int(200 * scale) + 200):
        size = (ONE if k == 0 else table.at(k)) - table.at(k + 1)  # P(|X| = k)
        claimed = tanh * exp_minus(a * k) >> PLACES
        assert abs(size - (claimed if k == 0 else 2 * claimed)) < 4 * ERROR
        total += size
    assert abs(ONE - total) < ONE >> 200


def test_N1_single_draws_and_arrays_are_the_same_function_of_the_bits():
    rng = np.random.default_rng()
    for scale in SCALES[:15]:
        law = sampler._law_of(scale)
        bits = rng.integers(0, 2**63, 200)
        array = sampler.discrete_laplace(scale, 200, entropy=ScriptedEntropy(bits))
        one = [sampler._draw_one(law, ScriptedEntropy(bits=int(m) << 1)) for m in bits]
        other = [sampler._draw_one(law, ScriptedEntropy(bits=int(m) << 1 | 1)) for m in bits]
        assert array.tolist() == one == [-x for x in other]


def test_N1_the_word_zero_is_drawn_on_until_it_is_decided():
    zeros = ScriptedEntropy(np.zeros(4, np.int64), bits=1 << 40)
    assert sampler.discrete_laplace(1, 4, entropy=zeros).tolist() == [60] * 4  # U ≈ 2^-87: 87·ln 2 + c = 60.3 + 0.38


def test_N1_zero_bits_decide_nothing_however_small_the_scale():
    """U begins with 127 zeros: at scale 1/1000 |X| may still be 0 or not, so more bits are drawn."""
    entropy = Counting([0, 1 << 63])
    assert sampler._decide_slowly(0, sampler._law_of(F(1, 1000)), entropy) == 0
    assert entropy.used == 2


class Counting:
    private = False

    def __init__(self, script: list[int]) -> None:
        self._script, self.used = script, 0

    def bits(self, count: int) -> int:
        self.used += 1
        return self._script[self.used - 1]


@pytest.mark.parametrize("scale", [F(20), F(7, 2), F(64)], ids=str)
@pytest.mark.parametrize("q", [2, 8])
def test_N3_high_and_low_part_multiply_to_the_law(scale, q):
    """P(H = h)·P(R = r | H = h) = P(|X| = qh + r), in integers over 2^320."""
    table, parts = Thresholds(scale), Thresholds(scale, q)
    for h in range(40):
        mass = (ONE if h == 0 else parts.at(h)) - parts.at(h + 1)
        weights = [exp_minus(r / scale) for r in range(q)]
        weights[0] //= 2 if h == 0 else 1
        for r in range(q):
            k = q * h + r
            expected = (ONE if k == 0 else table.at(k)) - table.at(k + 1)
            assert abs(mass * weights[r] // sum(weights) - expected) < 8 * ERROR


def test_N3_the_split_keeps_s_over_q_between_2_to_the_19_and_2_to_the_20():
    for scale in [*SCALES, F(2**1000), F(2**30) * F(4, 3), F(2**31) - F(1, 3)]:
        law = sampler._law_of(scale)
        if scale < 2**30:
            assert law.shift == 0
        else:
            assert 2**19 <= scale / 2**law.shift < 2**20
            assert F(2**law.shift - 1) / scale < F(1, 2**19)  # hence e^(-aR) > 1 - 2^-19 > 1 - 2^-16


@pytest.mark.parametrize("scale", [F(2**30), F(2**40 + 1, 3), F(2**50)], ids=str)
def test_N3_low_parts_are_kept_or_drawn_again_as_the_coin_says(scale):
    law = sampler._law_of(scale)
    q = 1 << law.shift
    first = np.full(4, 2**62, np.int64)  # four times the same H and the sign plus
    top = -1 << 48  # sixteen ones
    low = [5, q - 1, q - 1, q - 1]
    second = np.array([low[0], low[1], top | low[2], top | low[3]], np.int64)
    kept = sampler.discrete_laplace(scale, 4, entropy=ScriptedEntropy(np.concatenate([first, second]), bits=0))
    high = kept[0] >> law.shift
    # after sixteen ones come zeros: U = 1 - 2^-16 < e^(-aR): kept
    assert (kept - (high << law.shift)).tolist() == low
    # after sixteen ones come only ones: U > e^(-aR): R is drawn again, and the script's next R is q - 1 … refused
    # for ever; so let the next 16 bits begin with a zero
    again = sampler.discrete_laplace(scale, 4, entropy=OnesThenZeros(np.concatenate([first, second])))
    assert (again[:2] - (high << law.shift)).tolist() == low[:2]
    assert (again[2:] - (high << law.shift)).tolist() == [0, 0]


class OnesThenZeros(ScriptedEntropy):
    """The coin's U goes on with ones; every low part drawn afterwards is 0 with a coin that keeps it."""

    def bits(self, count: int) -> int:
        return (1 << 64) - 1 if count == 64 else 0


def test_N3_zero_keeps_half_its_weight():
    """H = R = 0 is kept if the fair coin shows 1 and drawn again if it shows 0."""
    scale = F(2**40)
    nearly_one = np.array([2**63 - 1], np.int64)  # U ≈ 1: H = 0
    words = np.concatenate([nearly_one, np.zeros(1, np.int64)])
    assert sampler.discrete_laplace(scale, 1, entropy=Coin(words, [1])).tolist() == [0]
    assert sampler.discrete_laplace(scale, 1, entropy=Coin(words, [0])).tolist() == [3]


class Coin(ScriptedEntropy):
    """``uniform(2)`` is the given bit, and the next low part is 3."""

    def __init__(self, words: np.ndarray, fair: list[int]) -> None:
        super().__init__(words)
        self._fair = fair

    def bits(self, count: int) -> int:
        if count == 8:
            return self._fair[0] << 7
        return 0 if count == 16 else 3 << (count - 21)  # 21 bits of R at scale 2^40, a first bit pattern not all ones


@pytest.mark.parametrize("gamma", [F(1, 10**9), F(1, 3), F(1), F(7, 2), F(20), F(43), F(500)], ids=str)
def test_N4_coins_fall_on_heads_exactly_below_e_to_the_minus_gamma(gamma):
    rng = np.random.default_rng()
    border = exp_minus(gamma)
    near = [(border >> (PLACES - 63)) + off for off in range(-3, 4)]
    bits = np.array([m for m in [0, 1, 2, 2**63 - 1, *near] if 0 <= m < 2**63], np.int64)
    bits = np.concatenate([bits, rng.integers(0, 2**63, 3000)])
    entropy = ScriptedEntropy(signed(bits, rng.integers(0, 2, bits.size) == 1))
    heads = sampler.coins([gamma] * bits.size, entropy=entropy)
    for m, head in zip(bits.tolist(), heads.tolist(), strict=True):
        longer = m << 128 | entropy.bits(64) << 64 | entropy.bits(64)
        low, high = longer << (PLACES - 191), (longer + 1) << (PLACES - 191)
        assert (high <= border + ERROR) if head else (low >= border - ERROR)


def test_N4_whole_exponents_with_a_unit_are_the_same_coins():
    words = np.random.default_rng().integers(-(2**63), 2**63 - 1, 5000, endpoint=True)
    whole = np.arange(5000, dtype=np.int64) % 60
    first = sampler.coins(whole, F(1, 7), entropy=ScriptedEntropy(words))
    second = sampler.coins([F(int(k), 7) for k in whole], entropy=ScriptedEntropy(words))
    assert first.tolist() == second.tolist()
    assert first[whole == 0].all()


def test_N5_single_draws_are_uniform_over_all_bytes():
    for below in (2, 3, 7, 128, 200, 255, 256):
        counts = [0] * below
        for byte in range(256):
            entropy = Counting([byte, 0])
            drawn = sampler.uniform(below, entropy=entropy)
            if entropy.used == 1:  # not drawn again
                counts[drawn] += 1
        assert len(set(counts)) == 1


@pytest.mark.parametrize("below", [1, 2, 3, 100, 1000])
def test_N5_arrays_are_uniform_over_all_residues(below):
    size = 1 << (below - 1).bit_length()
    words = np.concatenate([np.arange(size), np.zeros(size)]).astype(np.int64)  # the refused ones become 0
    drawn = sampler.uniform(below, size, entropy=ScriptedEntropy(words))
    counts = np.bincount(drawn, minlength=below)
    assert counts[1:].tolist() == [1] * (below - 1)
    assert counts[0] == 1 + size - below


MORE = 0x1E3779B97F4A7C15
"""The bits of V behind the word; below half of 2^64, so that ``uniform`` is content with them."""


class Asked(ScriptedEntropy):
    """Counts the 64-bit draws, which only the slow path of a race asks for."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(np.array(words, np.int64), MORE)
        self.slow = 0

    def bits(self, count: int) -> int:
        self.slow += count == 64
        return super().bits(count)


def racer(word: int, size: int, gamma: F) -> Racer:
    seen = word
    for _ in range(4):
        seen = seen << 64 | MORE
    return Racer(seen, 63 + 4 * 64, size, gamma)


def first(racers: list[Racer]) -> int:
    """Return the number of the run that wins, by the independent implementation."""
    best = 0
    for j in range(1, len(racers)):
        if racers[j].beats(racers[best]):
            best = j
    return best


def fate(exponents: list[int], unit: F, sizes: list[int], words: list[int]) -> tuple[bool, int]:
    """Return whether the race is decided rightly, and how many words the slow path took."""
    entropy = Asked(words)
    found = sampler.race(exponents, unit, np.array(sizes), entropy=entropy)[0]
    gammas = [e * unit for e in exponents]
    return found == first([racer(*each) for each in zip(words, sizes, gammas, strict=True)]), entropy.slow


RACE_SIZES = [1, 2, 3, 10, 1000, 2**20 + 7, 10**12, 2**53]
RACE_UNITS = [F(1, 10**9), F(1, 7), F(1), F(22, 7), F(30)]


def test_N6_random_words_are_decided_rightly():
    seed = np.random.SeedSequence().entropy
    rng = np.random.default_rng(seed)
    for unit in RACE_UNITS:
        for _ in range(60):
            runs = int(rng.integers(2, 6))
            words = [int(w) >> int(rng.integers(0, 30)) for w in rng.integers(0, 2**63, runs)]
            words = [w if rng.integers(0, 2) else 2**63 - 1 - w for w in words]
            exponents, sizes = rng.integers(0, 5, runs).tolist(), rng.choice(RACE_SIZES, runs).tolist()
            assert fate(exponents, unit, sizes, words)[0], (seed, exponents, unit, sizes, words)


@pytest.mark.parametrize("seed", [1, None], ids=["the same", "fresh"])
def test_N6_near_ties_are_decided_rightly_and_some_of_them_slowly(seed):
    """The rival's word is that of a tie, moved by up to 2^-30 of itself or by a few units."""
    fresh = seed is None
    seed = np.random.SeedSequence().entropy if fresh else seed
    rng = np.random.default_rng(seed)
    slow = fast = 0
    for unit in RACE_UNITS:
        for _ in range(70):
            word = int(rng.integers(1, 2**63)) >> int(rng.integers(0, 40))
            sizes, exponents = rng.choice(RACE_SIZES, 2).tolist(), [0, int(rng.integers(0, 3))]
            tie = racer(word, sizes[0], F(0)).rival(sizes[1], exponents[1] * unit) >> (WIDE - 63)
            moved = tie + round(tie * math.ldexp(rng.uniform(-1, 1), -int(rng.integers(30, 63))))
            for other in {tie - 1, tie + 1, moved} - {word}:
                if 0 <= other < 2**63:
                    right, asked = fate(exponents, unit, sizes, [word, other])
                    assert right, (seed, exponents, unit, sizes, word, other)
                    right, asked_too = fate(exponents[::-1], unit, sizes[::-1], [other, word])
                    assert right
                    assert asked == asked_too
                    slow, fast = slow + (asked > 0), fast + (asked == 0)
    assert fresh or (slow > 100 and fast > 10)  # how many there are of either kind is chance


@pytest.mark.parametrize("sizes", [[1, 1], [1, 2**53], [2**53, 1], [2**53, 2**53], [3, 1000]], ids=str)
def test_N6_the_ends_of_the_words_are_decided_rightly(sizes):
    ends = [0, 1, 7, 8, 9, 2**20, 2**62, 2**63 - 2**14, 2**63 - 2**9, 2**63 - 2, 2**63 - 1]
    for words in [[a, b] for a in ends for b in ends if a != b]:
        for exponents in ([0, 0], [1, 0], [0, 44]):
            assert fate(exponents, F(1), sizes, words)[0], (exponents, words)


@pytest.mark.parametrize("size", RACE_SIZES)
def test_N6_the_error_bound_holds_for_every_continuation_of_the_word(size):
    rng = np.random.default_rng()
    bits = [int(w) >> int(s) for w, s in zip(rng.integers(1, 2**63, 150), rng.integers(0, 55, 150), strict=True)]
    bits += [2**63 - 1 - b for b in bits] + [8, 9, 10, 16, 2**63 - 2**15, 2**63 - 2**14]
    gamma = rng.uniform(0, 50, len(bits))
    score, slack = sampler._scores(np.array(bits), np.full(len(bits), size), gamma)
    known = 0
    for b, g, s, e in zip(bits, gamma.tolist(), score.tolist(), slack.tolist(), strict=True):
        if e < math.inf:
            known += 1
            lowest, highest = Racer(b, 63, size, F(g)).chance, Racer(b + 1, 63, size, F(g)).chance
            assert lowest >= exp_minus(F(s) + F(e) + F(g), WIDE)
            assert highest <= exp_minus(max(F(s) - F(e) + F(g), F(0)), WIDE)
    assert known > 200


@pytest.mark.parametrize("size", RACE_SIZES)
def test_N6_the_slow_path_knows_how_far_it_has_rounded(size):
    """At 20 bits and 20 digits, where rounding is seen."""
    context = arithmetic(20)
    for bits in [1, 2, 3, 2**20 - 1, *np.random.default_rng().integers(1, 2**20, 30).tolist()]:
        for gamma in (F(0), F(1, 3), F(1000, 7)):
            run, chance = sampler._Run(0, 0, size, gamma), Racer(bits, 20, size, gamma).chance
            low, high = (sampler._end(run, bits, 20, side, context) for side in (-1, 1))
            assert chance < exp_minus(max(F(low) + gamma, F(0)), WIDE)
            assert not high.is_finite() or chance > exp_minus(F(high) + gamma, WIDE)
    run = sampler._Run(0, 0, size, F(5))
    assert sampler._end(run, 0, 20, 1, context).is_infinite()
    assert -5.001 < sampler._end(run, 2**20, 20, -1, context) < -5


def test_N6_ties_of_255_bits_are_drawn_on_until_they_are_decided():
    rng = np.random.default_rng(6)
    for sizes, gamma, off in [((1, 1), F(1), 1), ((2**53, 3), F(1, 7), -1), ((1000, 2**53), F(40), 1)]:
        known = 63 + 4 * 64
        mine = int.from_bytes(rng.bytes(40)) >> 1 | 1 << 310
        tie = Racer(mine, known, sizes[0], F(0)).rival(sizes[1], gamma) >> (WIDE - known)
        other = tie + (off << 40)
        script = [each >> (64 * k) & (2**64 - 1) for k in (3, 2, 1, 0) for each in (mine, other)]
        entropy = Counting([*script, 0])
        runs = [sampler._Run(0, mine >> 256, sizes[0], F(0)), sampler._Run(1, other >> 256, sizes[1], gamma)]
        assert sampler._win_slowly(runs, entropy).number == (0 if off > 0 else 1)
        assert entropy.used == 8


def test_N6_exponents_beyond_every_float_are_compared_exactly():
    low, high = 2**62, 0  # V = 1/2, and a V near 0 that only the slow path can bound
    for far in ([0, 10**400], [7, 10**5000], [10**5000, 10**5000 + 10**4999]):
        assert fate(far, F(1, 3), [1, 2**53], [low, high]) == (True, 2)
        assert fate(far, F(10**200), [1, 2**53], [low, high]) == (True, 2)
        assert fate(far, F(10**200), [1, 2**53], [low, low]) == (True, 0)
    assert fate([5, 6], F(10**200), [2, 2], [low, high]) == (True, 2)
    words = [low, low + low // 2]
    assert fate([10**400, 0], F(1, 10**400), [1, 1], words) == fate([1, 0], F(1), [1, 1], words) == (True, 0)
    assert fate([10**400, 10**400], F(1), [1, 1], [low + 1, low]) == (True, 2)
    assert fate([10**400 + 1, 10**400], F(1), [1, 1], [low - 1, low]) == fate([1, 0], F(1), [1, 1], [low - 1, low])
    array = sampler.race(np.array([5, 6]), F(10**200), np.array([2, 2]), entropy=Asked([low, high]))
    assert array == (0, 0)


def test_N6_blocks_and_kinds_of_exponents_make_no_difference(monkeypatch):
    rng = np.random.default_rng()
    for _ in range(200):
        words, exponents, sizes = rng.integers(0, 2**63, 30), rng.integers(3, 9, 30), rng.integers(0, 3, 30)
        words[5], sizes[7] = 0, 1
        whole = sampler.race(exponents, F(1, 3), sizes, entropy=Asked(words))
        assert sampler.race(exponents.tolist(), F(1, 3), sizes, entropy=Asked(words)) == whole
        assert sampler.race(exponents.astype(object) + 10**30, F(1, 3), sizes, entropy=Asked(words)) == whole
        assert sampler.race(exponents - 3, F(1, 3), sizes, entropy=Asked(words ^ np.int64(-(2**63)))) == whole
        with monkeypatch.context() as blocks:
            blocks.setattr(sampler, "BLOCK", 4)
            assert sampler.race(exponents, F(1, 3), sizes, entropy=Asked(words)) == whole


def test_N6_runs_without_candidates_never_win():
    for word in (0, 1, 2**62, 2**63 - 1):
        entropy = Asked([word, 2**63 - 1, word])
        assert sampler.race([0, 9, 0], F(100), np.array([0, 1, 0]), entropy=entropy) == (1, 0)
        assert entropy.slow == 0
    assert sampler.race([0, 10**400, 4], F(1), np.array([0, 1, 0])) == (1, 0)


@pytest.mark.parametrize(
    ("exponents", "unit", "sizes"),
    [
        ([0, -1], 1, [1, 1]),
        (np.array([0, -1]), 1, [1, 1]),
        ([0, True], 1, [1, 1]),
        ([0, 0.5], 1, [1, 1]),
        (np.array([0.0, 1.0]), 1, [1, 1]),
        (np.zeros((2, 1), int), 1, [1, 1]),
        ([0, 1], 0, [1, 1]),
        ([0, 1], -1, [1, 1]),
        ([0, 1], 1, [1]),
        ([0, 1], 1, [1, 1, 1]),
        ([0, 1], 1, [1, -1]),
        ([0, 1], 1, [0.5, 1.0]),
        ([0, 1], 1, [0, 0]),
        ([], 1, []),
    ],
    ids=str,
)
def test_N6_what_is_no_race_is_refused_before_anything_is_drawn(exponents, unit, sizes):
    with pytest.raises(RequestError, match="No noise was drawn"):
        sampler.race(exponents, F(unit), np.array(sizes), entropy=None)


def test_N6_the_platform_functions_err_by_less_than_4_units_in_the_last_place():
    rng = np.random.default_rng()
    wide = np.ldexp(rng.integers(2**52, 2**53, 6000).astype(float), rng.integers(-179, -52, 6000))
    near = 1 - np.ldexp(rng.integers(1, 2**53, 3000).astype(float), -rng.integers(54, 107, 3000))
    below_one = np.concatenate([wide, near[near < 1], rng.uniform(0, 1, 1000)])
    large = np.concatenate([below_one, rng.uniform(0, 50, 3000)])
    context = arithmetic(100)

    def log(x: float) -> F:
        return F(context.ln(as_decimal(F(x), context)))

    def log_of_rest(x: float) -> F:
        return F(context.ln(as_decimal(1 - F(x), context)))

    def decay(x: float) -> F:
        return F(context.exp(as_decimal(-F(x), context))) - 1

    cases = [(np.log(below_one), log, below_one), (np.log1p(-below_one), log_of_rest, below_one)]
    cases += [(np.expm1(-large), decay, large)]
    for found, exactly, arguments in cases:
        pairs = zip(arguments.tolist(), found.tolist(), strict=True)
        units = [abs(F(y) - exactly(x)) / F(math.ulp(y)) for x, y in pairs]
        assert max(units) < 4, f"{exactly.__name__} errs by {float(max(units))} units in the last place"


def permute_and_flip(chances: list) -> list:
    """Return each candidate's probability to win: that of its head, shared equally with the heads of the others."""
    law = []
    for v, mine in enumerate(chances):
        heads = [1]  # how likely 0, 1, … of the others are heads
        for p in chances[:v] + chances[v + 1 :]:
            heads = [a * (1 - p) + b * p for a, b in zip([*heads, 0], [0, *heads], strict=True)]
        law.append(mine * sum(p / F(n + 1) if isinstance(p, F) else p / (n + 1) for n, p in enumerate(heads)))
    return law


def test_N6_the_highest_exponential_has_the_law_of_permute_and_flip():
    """P(v wins) = p_v·∫ Π(1 - p_u·x) dx over 0 < x < 1, in fractions."""
    rng = np.random.default_rng()
    for _ in range(50):
        chances = [F(1), *(F(int(k), 100) for k in rng.integers(1, 101, 6))]
        law = permute_and_flip(chances)
        assert sum(law) == 1
        for v, mine in enumerate(chances):
            product = [F(1)]
            for p in chances[:v] + chances[v + 1 :]:
                product = [a - b * p for a, b in zip([*product, F(0)], [F(0), *product], strict=True)]
            assert law[v] == mine * sum(a / (n + 1) for n, a in enumerate(product))


def test_T22_the_sampler_knows_no_other_randomness():
    """No module but entropy imports a random number generator."""
    for path in Path(sampler.__file__).parents[1].rglob("*.py"):
        if path.name in ("demo.py", "output.py", "store.py"):  # invented people, and clocks, to show and to wait
            continue
        waits = "client" in path.parts or path.name in (
            "openid.py",
            "id_token.py",
            "jobs.py",
        )  # for others; they draw nothing
        clocks = {"time"} if waits else set()
        if path.name in ("strategy.py", "support.py", "apportion.py"):  # public searches from a fixed seed
            assert "default_rng(SEED)" in path.read_text() or "default_rng(_SEED)" in path.read_text()
            continue
        if "auditing" in path.parts:  # tries of its own; no release can reach it (import-linter)
            continue
        tree = ast.parse(path.read_text())
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not names & {"random", "secrets", "numpy.random", "time"} - clocks
        assert "np.random" not in path.read_text()
        assert ("os.urandom" in path.read_text()) == (path.name == "entropy.py")


# --- statistical: real entropy, false-alarm rate computed in tests/statistics.py ---


def test_N1_real_draws_follow_the_law():
    n = 10**6
    stats.assert_law("integers at scale 10", sampler.discrete_laplace(10, n), stats.laplace_cdf(10))
    two = sampler.discrete_laplace(10, n, threads=2)
    stats.assert_law("integers at scale 10 in two threads", two, stats.laplace_cdf(10))
    stats.assert_law("integers at scale 1/3", sampler.discrete_laplace("1/3", n), stats.laplace_cdf(1 / 3))
    one = np.array([sampler.discrete_laplace(10) for _ in range(10**5)])
    stats.assert_law("integers one at a time", one, stats.laplace_cdf(10))


def test_N3_real_split_draws_follow_the_law():
    many = sampler.discrete_laplace(2**40, 10**6)
    stats.assert_law("split integers at scale 2^40", many, stats.laplace_cdf(2.0**40))
    one = np.array([sampler.discrete_laplace(2**40) for _ in range(10**5)])
    stats.assert_law("split integers one at a time", one, stats.laplace_cdf(2.0**40))


def test_N1_the_statistical_check_rejects_a_wrong_scale():
    """A scale wrong by 4 % moves the distribution function by 0.0072, the limit at 10^6 draws is 0.0031.

    Not to see it the empirical distance would have to fall short by 0.0041: probability below 2·e^(-33).
    """
    draws = sampler.discrete_laplace(10, 10**6)
    assert 2 * math.exp(-2 * 10**6 * (0.0072 - stats.limit(10**6)) ** 2) < stats.ALPHA
    for name, wrong in (("a scale 4 % too small is rejected", 9.6), ("a scale 4 % too large is rejected", 10.4)):
        with pytest.raises(AssertionError, match="distance"):
            stats.assert_law(name, draws, stats.laplace_cdf(wrong))


def test_N4_real_coins_have_their_probability():
    heads = sampler.coins(np.ones(10**6, np.int64), F(1, 2), entropy=SYSTEM)
    stats.assert_share("coins", heads, math.exp(-0.5))


def test_N5_real_uniform_draws_are_uniform():
    stats.assert_law("uniform array", sampler.uniform(1000, 10**6), lambda x: (np.clip(x, -1, 999) + 1) / 1000)


def test_N6_real_races_follow_the_law_of_permute_and_flip():
    """A unit wrong by 20 % moves the distribution function by 0.059, the limit at 20,000 races is 0.022."""
    n, unit = 20_000, F(1, 2)
    exponents, sizes = np.array([4, 1, 2, 0]), np.array([5, 2, 0, 1])
    single = np.repeat(exponents, sizes)

    def law(unit: F) -> np.ndarray:
        return np.cumsum(permute_and_flip(np.exp(-single * float(unit)).tolist()))

    def cdf(sums: np.ndarray):
        return lambda x: np.concatenate([[0.0], sums])[np.asarray(x) + 1]

    starts = np.cumsum(sizes) - sizes
    runs = np.array([starts[j] + k for j, k in (sampler.race(exponents, unit, sizes) for _ in range(n))])
    stats.assert_law("race of runs", runs, cdf(law(unit)))
    ones = np.ones(single.size, np.int64)
    alone = np.array([sampler.race(single, unit, ones)[0] for _ in range(n)])
    stats.assert_law("race of single candidates", alone, cdf(law(unit)))

    wrong = law(unit * F(6, 5))
    moved = np.abs(wrong - law(unit)).max()
    assert 2 * math.exp(-2 * n * (moved - stats.limit(n)) ** 2) < stats.ALPHA
    with pytest.raises(AssertionError, match="distance"):
        stats.assert_law("a race with a unit 20 % too large is rejected", runs, cdf(wrong))
