"""Claims M1 to M4: privacy and coverage of the mechanisms, on the public interface."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing.noise import mechanism as module
from lapwing.noise.entropy import EntropyForTests
from lapwing.noise.sampler import BLOCK, discrete_laplace

from .. import statistics as stats
from ..independent import ONE, exp_minus


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(3)], ids=str)
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_M1_the_ratio_of_the_laws_is_at_most_e_to_the_epsilon_everywhere(epsilon, sensitivity):
    """P(y | f) ≤ e^ε·P(y | f') for every output y and all |f - f'| ≤ Δ, with equality somewhere."""
    law = lw.LaplaceMechanism(sensitivity, epsilon).integer_noise
    ratios = [law.pmf(y) / law.pmf(y - shift) for shift in range(-sensitivity, sensitivity + 1) for y in range(-60, 61)]
    assert max(ratios) == pytest.approx(math.exp(epsilon), rel=1e-12)


@pytest.mark.parametrize("cells", [2, 3])
def test_M1_vectors_are_protected_by_their_norm(cells):
    epsilon, sensitivity = F(1), 3
    moves = [m for m in itertools.product(range(-3, 4), repeat=cells) if sum(map(abs, m)) <= sensitivity]
    outputs = list(itertools.product(range(-4, 5), repeat=cells))
    law = lw.LaplaceMechanism(sensitivity, epsilon).integer_noise
    worst = max(
        math.prod(law.pmf(y) / law.pmf(y - m) for y, m in zip(output, move, strict=True))
        for output in outputs
        for move in moves
    )
    assert worst == pytest.approx(math.exp(epsilon), rel=1e-12)


def test_M1_the_scale_is_sensitivity_over_epsilon():
    assert lw.LaplaceMechanism(30, "0.1").scale == 300
    assert lw.LaplaceMechanism("0.12", 0.1).scale == F(6, 5)
    seen = lw.laplace(7, sensitivity=3, epsilon="0.3", entropy=EntropyForTests(1))
    assert seen == 7 + discrete_laplace(10, entropy=EntropyForTests(1))


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.lists(st.tuples(finite, finite), min_size=1, max_size=5),
    st.sampled_from([F(1), F(1, 7), F(1000), F(1, 10**12)]),
    st.sampled_from(["0.000000001", "0.1", "1", "1000"]),
)
def test_M2_grid_indices_move_by_no_more_than_is_paid_for(pairs, sensitivity, epsilon):
    """For every two vectors within Δ, the rounded indices stay within floor(Δ/g) + d."""
    d = len(pairs)
    grid = lw.LaplaceMechanism(sensitivity, epsilon).grid(d)
    g = F(2) ** grid.exponent
    paid = grid.scale * F(epsilon)
    one = [x for x, _ in pairs]
    gap = [math.copysign(min(abs(y), float(sensitivity) / d / 2), y) for _, y in pairs]
    other = [x + y for x, y in zip(one, gap, strict=True)]
    if not all(map(math.isfinite, other)):
        return
    moved = sum(abs(F(a) - F(b)) for a, b in zip(one, other, strict=True))
    indices = [[_index(grid, value) for value in vector] for vector in (one, other)]
    steps = sum(abs(a - b) for a, b in zip(*indices, strict=True))
    assert steps <= moved // g + d
    if moved <= sensitivity:
        assert steps <= paid == sensitivity // g + d


FINE = [k * 2.0**-60 for k in range(1, 3000)]


def test_T53_M2_two_floats_as_far_apart_as_a_float_sensitivity_move_no_further_than_is_paid_for():
    """The decimal of 1,271 of these floats is below them by enough to lose a step; of an odd number, one is moved."""
    odd = 0
    for apart in FINE:
        grid = lw.LaplaceMechanism(apart, "0.0001").grid()
        one = grid.step / 2  # halves are rounded to even
        other = one + apart
        assert F(other) - F(one) == F(apart)
        indices = [_index(grid, value) for value in (one, other)]
        assert indices == [round(F(value) / F(grid.step)) for value in (one, other)]
        assert abs(indices[1] - indices[0]) <= grid.scale / 10_000
        assert F(apart) // F(grid.step) + 1 <= grid.scale / 10_000
        odd += indices[1] - indices[0] == grid.scale / 10_000 and F(repr(apart)) < F(apart)
    assert odd > 100


def _index(grid: module.Grid, value: float) -> F:
    """Return the grid index as the array path computes it, from an output without noise."""
    released = grid.release_array(np.array([value]), _Silent())
    return F(float(released[0])) / F(2) ** grid.exponent


class _Silent:
    """Words whose noise is 0: U just below 1."""

    private = False

    def bits(self, count: int) -> int:
        return (1 << count) - 2

    def stream(self):
        self._high = True
        return self

    def fill(self, words: np.ndarray) -> None:
        """Fill with U just below 1, which is H = 0, and (for split draws) with R = 0, in turn."""
        words[:] = 2**63 - 1 if self._high else 0
        self._high = not self._high


def test_M2_the_grid_costs_at_most_a_thousandth():
    for sensitivity, epsilon, cells in itertools.product(
        (F(1), F(3, 7), F(10**6)), (F(1, 10**9), F(1, 10**4), F(1, 10), F(1), F(1000)), (1, 3143, 4_000_000)
    ):
        if cells > 1 and cells / epsilon > 2**39:
            continue
        m = lw.LaplaceMechanism(sensitivity, epsilon)
        grid = m.grid(cells)
        g = F(2) ** grid.exponent
        assert g <= m.scale / 2**20
        assert m.scale <= grid.scale * g + g / epsilon  # floor(Δ/g)·g may lose less than one step
        assert grid.scale * g <= m.scale * (1 + F(1, 2**10))
        assert 2 * g > min(m.scale / 2**20, sensitivity / (cells * 2**10))  # and is no finer than it must be


def test_M2_where_the_noise_would_not_fit_int64_the_grid_is_coarser_or_refused():
    tiny = lw.LaplaceMechanism(1, "0.0000001")
    grid = tiny.grid(10**6)
    assert 2**48 < grid.scale <= 2**50
    assert grid.scale * F(2) ** grid.exponent < 2 * tiny.scale
    with pytest.raises(lw.errors.TooLarge, match="number of floats"):
        lw.laplace(np.zeros(10**6), sensitivity=1, epsilon="0.000000001")


def test_M2_noise_beyond_53_bits_is_added_exactly():
    """The output is the exact integer sum, rounded once, also where the noise alone has no float."""
    m = lw.LaplaceMechanism(1, "0.000001")
    cells = 10**6
    grid = m.grid(cells)
    assert grid.scale > 2**49
    for value in (0.0, grid.step, -3 * grid.step):
        out = grid.release_array(np.full(cells, value), EntropyForTests(4))
        entropy = EntropyForTests(4)
        noise = np.concatenate([discrete_laplace(grid.scale, n, entropy=entropy) for n in _blocks(cells)])
        large = np.flatnonzero(np.abs(noise) > 2**53)
        assert large.size > 100
        index = round(value / grid.step)
        assert [float(x) for x in out[large]] == [
            math.ldexp(float(index + int(n)), grid.exponent) for n in noise[large]
        ]


def _blocks(cells: int) -> list[int]:
    return [min(BLOCK, cells - start) for start in range(0, cells, BLOCK)]


def test_M2_a_single_float_and_an_array_of_one_are_the_same_function():
    m = lw.LaplaceMechanism(1, "0.1")
    for value in (0.0, -0.0, 1.5, -1e-320, 1e300, -1.7e308, 5e-8, 2.0**40 + 0.3):
        one = m.grid().release(value, _Silent())
        many = m.grid().release_array(np.array([value]), _Silent())
        assert one == many[0]
        assert math.copysign(1, one) == math.copysign(1, many[0])


@pytest.mark.parametrize("value", [0.0, 1.0, 2.0**20, -1 / 3, 1e9])
def test_T1_all_outputs_lie_on_one_public_grid(value):
    step = F(lw.LaplaceMechanism(1, 1).grid(1000).step)
    outputs = lw.laplace(np.full(1000, value), sensitivity=1, epsilon=1)
    assert all((F(x) / step).denominator == 1 for x in outputs.tolist())
    one = F(lw.LaplaceMechanism(1, 1).grid().step)
    assert all((F(lw.laplace(value, sensitivity=1, epsilon=1)) / one).denominator == 1 for _ in range(100))


def test_T2_the_output_is_the_value_on_the_grid_plus_the_same_noise():
    """With the same bits, outputs for 0, 1 and 2^20 differ by exactly 1 and 2^20: no low bit tells the value."""
    m = lw.LaplaceMechanism(1, "0.1")
    runs = [m.release(np.full(5000, value), entropy=EntropyForTests(3)) for value in (0.0, 1.0, 2.0**20)]
    assert (runs[1] - runs[0] == 1.0).all()
    assert (runs[2] - runs[0] == 2.0**20).all()
    step = F(m.grid(5000).step)
    odd = [[int(F(x) / step) % 2 for x in run.tolist()] for run in runs]
    assert odd[0] == odd[1] == odd[2]


def test_T2_minus_zero_never_comes_out():
    for value in (0.0, -0.0):
        out = lw.laplace(np.full(1000, value), sensitivity=F(1, 10**6), epsilon=1000)
        assert not np.signbit(out[out == 0]).any()


def test_T5_sums_beyond_int64_stay_at_its_ends():
    ends = np.array([2**63 - 1, -(2**63)], np.int64)
    for _ in range(20):
        high, low = lw.laplace(ends, sensitivity=1, epsilon="0.001")
        assert high > 2**62
        assert low < -(2**62)
    assert lw.laplace(2**100, sensitivity=1, epsilon=1) > 2**99


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(4)], ids=str)
def test_M3_flips_have_the_probability_of_a_positive_draw(epsilon):
    """P(X ≥ 1) at scale 1/ε is e^(-ε)/(1 + e^(-ε)): keeping is e^ε times as likely as flipping, exactly."""
    decay = exp_minus(epsilon)
    flip = (decay * ONE) // (ONE + decay)
    assert abs((ONE - flip) * decay // ONE - flip) < 2**16
    assert lw.DiscreteLaplace(1 / epsilon).cdf(-1) == pytest.approx(1 / (1 + math.exp(epsilon)))


def test_M3_flips_come_from_the_noise():
    bits = np.array([True, False, True, True])
    noise = discrete_laplace(F(1, 2), 4, entropy=EntropyForTests(8))
    assert (lw.randomized_response(bits, 2, entropy=EntropyForTests(8)) == (bits ^ (noise > 0))).all()


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_M4_integer_intervals_cover_and_are_tight(confidence, epsilon):
    m = lw.LaplaceMechanism(1, epsilon)
    low, high = m.interval(100, confidence)
    assert 100 - low == high - 100 == m.integer_noise.margin(confidence)
    assert m.integer_noise.tail(100 - low) <= 1 - float(confidence)
    assert m.integer_noise.tail(100 - low - 1) > 1 - float(confidence)


def test_M4_float_intervals_cover_by_the_law_of_the_grid():
    m = lw.LaplaceMechanism(1, "0.1")
    for cells, simultaneous in ((1, False), (50, False), (50, True)):
        value = np.zeros(cells)
        low, high = m.interval(value, 0.95, simultaneous=simultaneous)
        grid = m.grid(cells)
        steps = math.floor(F(float(high[0])) / F(grid.step) - F(1, 2))  # noise of so many steps is still covered
        alone = 1 - lw.DiscreteLaplace(grid.scale).tail(steps)
        assert (alone**cells if simultaneous else alone) >= 0.95
        assert float(high[0]) == pytest.approx(
            m.error.law.simultaneous_margin(cells if simultaneous else 1, 0.95), rel=2e-3
        )
        assert (low == -high).all()


def test_M4_intervals_of_arrays_are_arrays_and_of_scalars_scalars():
    m = lw.LaplaceMechanism(1, 1)
    assert m.interval(5) == (2, 8)
    low, high = m.interval(np.array([[5, 6]]), simultaneous=True)
    assert low.tolist() == [[1, 2]]
    assert high.tolist() == [[9, 10]]
    assert type(m.interval(5.0).low) is float
    assert m.interval(np.array([2**63 - 1])).high.tolist() == [2**63 - 1]
    assert m.interval(np.array([]), simultaneous=True).low.size == 0


# --- statistical ---


def test_M2_real_floats_follow_the_law_of_the_grid():
    m = lw.LaplaceMechanism(1, 1)
    n = 10**5
    grid = m.grid(n)
    steps = np.rint(m.release(np.full(n, 4.0)) / grid.step - 4.0 / grid.step)
    stats.assert_law("floats on the grid", steps, stats.laplace_cdf(float(grid.scale)))


def test_T20_cells_get_independent_noise():
    """Of 10^5 pairs of cells, the share of equal noises is that of independent draws (Hoeffding's limit)."""
    n = 10**5
    noise = lw.laplace(np.zeros((n, 2), np.int64), sensitivity=1, epsilon=1)
    law = lw.DiscreteLaplace(1)
    expected = math.fsum(law.pmf(x) ** 2 for x in range(-80, 81))
    stats.assert_share("independent cells", noise[:, 0] == noise[:, 1], expected)


def test_M3_real_flips_have_their_share():
    flipped = lw.randomized_response(np.zeros(10**6, bool), 1)
    stats.assert_share("randomized response", flipped, 1 / (1 + math.e))
