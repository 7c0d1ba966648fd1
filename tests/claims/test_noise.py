"""Claims N1 to N5: the sampler is exact.  Everything above the last section is free of chance."""

from __future__ import annotations

import ast
import math
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

from lapwing import noise
from lapwing.entropy import SYSTEM
from lapwing.exact import arithmetic, as_decimal
from lapwing.laplace import DiscreteLaplace

from .. import statistics as stats
from ..roads import ERROR, ONE, PLACES, ScriptedEntropy, Thresholds, exp_minus, signed

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
    law = noise._law_of(scale)
    table = Thresholds(scale, 1 << law.shift)
    bits = prefixes(scale, 1 << law.shift, 40_000, rng)
    entropy = ScriptedEntropy(signed(bits, rng.integers(0, 2, bits.size) == 1))
    words, y, size = np.empty(bits.size, np.int64), np.empty(bits.size), np.empty(bits.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        noise._draw_sizes(entropy.stream(), law, entropy, words, y, size)
    more = entropy.bits(64)
    slow = 0
    for m, drawn in zip(bits.tolist(), size.tolist(), strict=True):
        if not table.cell_holds(int(drawn), m, 63):
            slow += 1  # not decided by 63 bits: then by the scripted bits behind them
            longer = m << 64 | more
            assert table.cell_holds(int(drawn), longer, 127) or table.cell_holds(
                int(drawn), longer << 64 | more, 191
            ), f"{m} gave {drawn} at scale {scale}, seed {seed}"
        alone = noise._decide_fast(m, law)
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
        law = noise._law_of(scale)
        safe = round(math.exp(-law.deepest / law.size) / law.factor)
        assert 2**36 <= safe <= 2**44
        assert noise._slack(law.size, law.deepest, 1 / (safe - 1)) < law.slack


def test_N1_a_draw_that_int64_cannot_hold_is_an_error():
    with pytest.raises(OverflowError, match="draw again"):
        noise.discrete_laplace(2**50, 3, entropy=Underflow(np.zeros(6, np.int64)))


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
    draws = noise.discrete_laplace(scale, words.size, entropy=ScriptedEntropy(words))
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
        law = noise._law_of(scale)
        bits = rng.integers(0, 2**63, 200)
        array = noise.discrete_laplace(scale, 200, entropy=ScriptedEntropy(bits))
        one = [noise._draw_one(law, ScriptedEntropy(bits=int(m) << 1)) for m in bits]
        other = [noise._draw_one(law, ScriptedEntropy(bits=int(m) << 1 | 1)) for m in bits]
        assert array.tolist() == one == [-x for x in other]


def test_N1_the_word_zero_is_drawn_on_until_it_is_decided():
    zeros = ScriptedEntropy(np.zeros(4, np.int64), bits=1 << 40)
    assert noise.discrete_laplace(1, 4, entropy=zeros).tolist() == [60] * 4  # U ≈ 2^-87: 87·ln 2 + c = 60.3 + 0.38


def test_N1_zero_bits_decide_nothing_however_small_the_scale():
    """U begins with 127 zeros: at scale 1/1000 |X| may still be 0 or not, so more bits are drawn."""
    entropy = Counting([0, 1 << 63])
    assert noise._decide_slowly(0, noise._law_of(F(1, 1000)), entropy) == 0
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
        law = noise._law_of(scale)
        if scale < 2**30:
            assert law.shift == 0
        else:
            assert 2**19 <= scale / 2**law.shift < 2**20
            assert F(2**law.shift - 1) / scale < F(1, 2**19)  # hence e^(-aR) > 1 - 2^-19 > 1 - 2^-16


@pytest.mark.parametrize("scale", [F(2**30), F(2**40 + 1, 3), F(2**50)], ids=str)
def test_N3_low_parts_are_kept_or_drawn_again_as_the_coin_says(scale):
    law = noise._law_of(scale)
    q = 1 << law.shift
    first = np.full(4, 2**62, np.int64)  # four times the same H and the sign plus
    top = -1 << 48  # sixteen ones
    low = [5, q - 1, q - 1, q - 1]
    second = np.array([low[0], low[1], top | low[2], top | low[3]], np.int64)
    kept = noise.discrete_laplace(scale, 4, entropy=ScriptedEntropy(np.concatenate([first, second]), bits=0))
    high = kept[0] >> law.shift
    # after sixteen ones come zeros: U = 1 - 2^-16 < e^(-aR): kept
    assert (kept - (high << law.shift)).tolist() == low
    # after sixteen ones come only ones: U > e^(-aR): R is drawn again, and the script's next R is q - 1 … refused
    # for ever; so let the next 16 bits begin with a zero
    again = noise.discrete_laplace(scale, 4, entropy=OnesThenZeros(np.concatenate([first, second])))
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
    assert noise.discrete_laplace(scale, 1, entropy=Coin(words, [1])).tolist() == [0]
    assert noise.discrete_laplace(scale, 1, entropy=Coin(words, [0])).tolist() == [3]


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
    heads = noise.coins([gamma] * bits.size, entropy=entropy)
    for m, head in zip(bits.tolist(), heads.tolist(), strict=True):
        longer = m << 128 | entropy.bits(64) << 64 | entropy.bits(64)
        low, high = longer << (PLACES - 191), (longer + 1) << (PLACES - 191)
        assert (high <= border + ERROR) if head else (low >= border - ERROR)


def test_N4_whole_exponents_with_a_unit_are_the_same_coins():
    words = np.random.default_rng().integers(-(2**63), 2**63 - 1, 5000, endpoint=True)
    whole = np.arange(5000, dtype=np.int64) % 60
    first = noise.coins(whole, F(1, 7), entropy=ScriptedEntropy(words))
    second = noise.coins([F(int(k), 7) for k in whole], entropy=ScriptedEntropy(words))
    assert first.tolist() == second.tolist()
    assert first[whole == 0].all()


def test_N5_single_draws_are_uniform_over_all_bytes():
    for below in (2, 3, 7, 128, 200, 255, 256):
        counts = [0] * below
        for byte in range(256):
            entropy = Counting([byte, 0])
            drawn = noise.uniform(below, entropy=entropy)
            if entropy.used == 1:  # not drawn again
                counts[drawn] += 1
        assert len(set(counts)) == 1


@pytest.mark.parametrize("below", [1, 2, 3, 100, 1000])
def test_N5_arrays_are_uniform_over_all_residues(below):
    size = 1 << (below - 1).bit_length()
    words = np.concatenate([np.arange(size), np.zeros(size)]).astype(np.int64)  # the refused ones become 0
    drawn = noise.uniform(below, size, entropy=ScriptedEntropy(words))
    counts = np.bincount(drawn, minlength=below)
    assert counts[1:].tolist() == [1] * (below - 1)
    assert counts[0] == 1 + size - below


def test_T22_the_sampler_knows_no_other_randomness():
    """No module but entropy imports a random number generator."""
    for path in Path(noise.__file__).parent.rglob("*.py"):
        if path.name in ("demo.py", "cli_table.py"):  # invented people, and a clock for the progress bar
            continue
        tree = ast.parse(path.read_text())
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not names & {"random", "secrets", "numpy.random", "time"}
        assert "np.random" not in path.read_text()
        assert ("os.urandom" in path.read_text()) == (path.name == "entropy.py")


# --- statistical: real entropy, false-alarm rate computed in tests/statistics.py ---


def test_N1_real_draws_follow_the_law():
    n = 10**6
    stats.assert_law("integers at scale 10", noise.discrete_laplace(10, n), stats.laplace_cdf(10))
    two = noise.discrete_laplace(10, n, threads=2)
    stats.assert_law("integers at scale 10 in two threads", two, stats.laplace_cdf(10))
    stats.assert_law("integers at scale 1/3", noise.discrete_laplace("1/3", n), stats.laplace_cdf(1 / 3))
    one = np.array([noise.discrete_laplace(10) for _ in range(10**5)])
    stats.assert_law("integers one at a time", one, stats.laplace_cdf(10))


def test_N3_real_split_draws_follow_the_law():
    many = noise.discrete_laplace(2**40, 10**6)
    stats.assert_law("split integers at scale 2^40", many, stats.laplace_cdf(2.0**40))
    one = np.array([noise.discrete_laplace(2**40) for _ in range(10**5)])
    stats.assert_law("split integers one at a time", one, stats.laplace_cdf(2.0**40))


def test_N1_the_statistical_check_rejects_a_wrong_scale():
    """A scale wrong by 4 % moves the distribution function by 0.0072, the limit at 10^6 draws is 0.0031.

    Not to see it the empirical distance would have to fall short by 0.0041: probability below 2·e^(-33).
    """
    draws = noise.discrete_laplace(10, 10**6)
    assert 2 * math.exp(-2 * 10**6 * (0.0072 - stats.limit(10**6)) ** 2) < stats.ALPHA
    for name, wrong in (("a scale 4 % too small is rejected", 9.6), ("a scale 4 % too large is rejected", 10.4)):
        with pytest.raises(AssertionError, match="distance"):
            stats.assert_law(name, draws, stats.laplace_cdf(wrong))


def test_N4_real_coins_have_their_probability():
    n = 10**6
    share = noise.coins(np.ones(n, np.int64), F(1, 2), entropy=SYSTEM).mean()
    assert "coins" in stats.TESTS
    assert abs(share - math.exp(-0.5)) <= stats.limit(n)  # Hoeffding's inequality has the same limit


def test_N5_real_uniform_draws_are_uniform():
    stats.assert_law("uniform array", noise.uniform(1000, 10**6), lambda x: (np.clip(x, -1, 999) + 1) / 1000)
