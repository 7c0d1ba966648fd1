"""Claims A1 to A8: the distributions and the planning formulas, each against an independent computation."""

from __future__ import annotations

import itertools
import math
from decimal import localcontext
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import integrate
from scipy import stats as scipy_stats

import lapwing as lw
from lapwing.exact import NANO, arithmetic, as_decimal
from lapwing.noise.intervals import _harmonic, _response_variance, response_margin, response_rms

from ..independent import ERROR, ONE, Thresholds

SCALES = [F(1, 1000), F(1, 3), F(1), F(5, 2), F(10), F(1000), F(10**6, 7)]


@pytest.mark.parametrize("scale", SCALES[1:5], ids=str)
def test_A1_moments_and_tails_are_those_of_the_sum(scale):
    law = lw.DiscreteLaplace(scale)
    reach = range(-int(60 * scale) - 60, int(60 * scale) + 61)
    mass = {x: law.pmf(x) for x in reach}
    assert math.fsum(mass.values()) == pytest.approx(1, rel=1e-13)
    assert law.mean == 0.0
    assert law.mean_abs == pytest.approx(math.fsum(abs(x) * p for x, p in mass.items()), rel=1e-12)
    assert law.variance == pytest.approx(math.fsum(x * x * p for x, p in mass.items()), rel=1e-12)
    assert law.std == pytest.approx(math.sqrt(law.variance))
    for k in (0, 1, 2, 7):
        assert law.tail(k) == pytest.approx(math.fsum(p for x, p in mass.items() if abs(x) > k), rel=1e-12)
        assert law.cdf(-k) == pytest.approx(math.fsum(p for x, p in mass.items() if x <= -k), rel=1e-12)
        assert law.cdf(k) == pytest.approx(math.fsum(p for x, p in mass.items() if x <= k), rel=1e-12)


@pytest.mark.parametrize("scale", SCALES[1:], ids=str)  # scipy overflows at 1/1000
def test_A1_agrees_with_scipy(scale):
    law, other = lw.DiscreteLaplace(scale), scipy_stats.dlaplace(float(1 / scale))
    for x in (-100, -3, -1, 0, 1, 2, 50):
        assert law.pmf(x) == pytest.approx(other.pmf(x), rel=1e-9, abs=1e-300)
        assert law.cdf(x) == pytest.approx(other.cdf(x), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_A1_the_real_law_agrees_with_scipy(scale):
    law, other = lw.Laplace(scale), scipy_stats.laplace(scale=float(scale))
    for x in (-600 * float(scale), -1.5, 0.0, 0.25, 30 * float(scale)):
        assert law.pdf(x) == pytest.approx(other.pdf(x), rel=1e-12)
        assert law.cdf(x) == pytest.approx(other.cdf(x), rel=1e-12)
    for p in ("1e-300", 0.01, 0.5, 0.975):
        assert law.quantile(p) == pytest.approx(other.ppf(float(p)), rel=1e-12, abs=1e-12)
    assert law.tail(float(scale)) == pytest.approx(math.exp(-1))
    assert law.tail(-1) == 1.0
    assert (law.mean, law.mean_abs) == (0.0, float(scale))
    assert (law.variance, law.std) == (pytest.approx(other.var()), pytest.approx(other.std()))
    assert law.margin(0.95) == pytest.approx(other.ppf(0.975), rel=1e-12)


def test_A1_between_the_integers_and_beyond_numbers():
    law = lw.DiscreteLaplace(1)
    assert law.pmf(0.5) == 0
    assert law.cdf(0.5) == law.cdf(0)
    assert law.cdf(-0.5) == law.cdf(-1)
    assert law.tail(0.5) == law.tail(0)
    assert (law.tail(-1), law.pmf(10**400), lw.Laplace(1).cdf(10**400)) == (1.0, 0.0, 1.0)
    for ask in (law.pmf, law.cdf, law.tail, lw.Laplace(1).pdf, lw.Laplace(1).cdf, lw.Laplace(1).tail):
        for x in (float("nan"), float("inf"), "x", [1, 2], np.zeros(3)):
            with pytest.raises(lw.errors.InvalidParameter, match="one finite number"):
                ask(x)


def test_A1_far_tails_are_accurate_to_1e_minus_300():
    law, table = lw.DiscreteLaplace(10), Thresholds(F(10))
    for k in (1000, 2000):  # inside the table's 320 binary places
        assert law.tail(k - 1) == pytest.approx(float(F(table.at(k), ONE)), rel=1e-12)
    assert law.tail(6899) == pytest.approx(2 * math.exp(-690) / (1 + math.exp(-0.1)), rel=1e-12)
    assert 1e-300 < law.tail(6899) < 3e-300
    assert law.pmf(6907) == pytest.approx(math.tanh(0.05) * math.exp(-690.7), rel=1e-12)
    assert law.cdf(-6907) > 0 == lw.DiscreteLaplace(1).pmf(10**6)
    assert lw.Laplace(10).tail(6907) == pytest.approx(math.exp(-690.7), rel=1e-12)


@given(
    st.fractions(min_value=F(1, 50), max_value=200, max_denominator=1000),
    st.sampled_from(["0.5", "0.9", "0.95", "0.999", "0.999999999"]),
    st.integers(1, 5000),
)
def test_A2_the_margin_is_the_smallest_integer_that_covers(scale, confidence, cells):
    margin = lw.DiscreteLaplace(scale).simultaneous_margin(cells, confidence)
    table = Thresholds(scale)
    level = F(confidence)

    def covers(m: int) -> bool:
        """(1 - T(m+1))^d ≥ confidence, by repeated squaring in integers over 2^320."""
        power, base, d = ONE, ONE - table.at(m + 1), cells
        while d:
            power = power * base // ONE if d % 2 else power
            base, d = base * base // ONE, d // 2
        slack = cells * ERROR
        assert abs(power - level * ONE) > slack
        return power > level * ONE

    assert covers(margin)
    assert margin == 0 or not covers(margin - 1)


def test_A2_known_margins():
    assert lw.DiscreteLaplace(1).margin(0.95) == 3
    assert lw.DiscreteLaplace(3).margin("0.95") == 9
    assert lw.DiscreteLaplace(F(1, 1000)).margin() == 0
    assert lw.DiscreteLaplace(2**1000).margin() / 2**1000 == pytest.approx(math.log(20))
    assert lw.DiscreteLaplace(10).simultaneous_margin(1) == lw.DiscreteLaplace(10).margin()


def test_A2_the_exact_simultaneous_margin_is_never_above_the_union_bound():
    for cells in (2, 50, 3143):
        union = lw.DiscreteLaplace(20).margin(1 - F(1, 20) / cells)
        assert lw.DiscreteLaplace(20).simultaneous_margin(cells, 0.95) <= union
    assert lw.DiscreteLaplace(20).simultaneous_margin(3143, 0.95) == 220


@given(st.fractions(min_value=F(1, 20), max_value=100, max_denominator=100), st.fractions(0, 1, max_denominator=10**6))
def test_A3_the_quantile_is_the_smallest_value_that_reaches_p(scale, p):
    if not 0 < p < 1:
        return
    law, table = lw.DiscreteLaplace(scale), Thresholds(scale)

    def reached(x: int) -> bool:
        share = table.at(-x) // 2 if x < 0 else ONE - table.at(x + 1) // 2
        return share >= p * ONE - ERROR

    x = law.quantile(p)
    assert reached(x)
    assert not reached(x - 1)


def test_A3_quantiles_in_the_far_tails():
    assert lw.DiscreteLaplace(20).quantile("1e-300") == -13802
    assert lw.DiscreteLaplace(20).quantile(1 - F(1, 10**300)) == 13802
    assert lw.DiscreteLaplace(20).quantile(0.5) == 0


@pytest.mark.parametrize("scale", [F(1, 2), F(3), F(20)], ids=str)
def test_A4_one_error(scale):
    error, density = lw.LaplaceMechanism(scale, 1).error, scipy_stats.laplace(scale=float(scale)).pdf
    reach = 60 * float(scale)
    assert error.mean == pytest.approx(2 * integrate.quad(lambda z: z * density(z), 0, reach, limit=200)[0], rel=1e-8)
    square = 2 * integrate.quad(lambda z: z * z * density(z), 0, reach, limit=200)[0]
    assert error.rms == pytest.approx(math.sqrt(square), rel=1e-8)
    for t in (0, 0.5, 3):
        beyond = 2 * integrate.quad(density, t * float(scale), reach, limit=200)[0]
        assert error.tail(t) == pytest.approx(beyond, rel=1e-8)
        assert error.tail(t) <= math.exp(-t) * (1 + 1e-15)
    assert error.tail(error.quantile(0.95) / float(scale)) == pytest.approx(0.05)


@pytest.mark.parametrize("d", [1, 2, 10, 3143, 10**6])
def test_A5_d_errors(d):
    error, scale = lw.LaplaceMechanism(2, F(1, 10)).error, 20.0

    def exceeds(x: float) -> float:
        return -math.expm1(d * math.log1p(-math.exp(-x / scale))) if x else 1.0

    by_tails = integrate.quad(exceeds, 0, scale * (math.log(d) + 45), limit=500)[0]
    assert error.max_mean(d) == pytest.approx(by_tails, rel=1e-7)
    assert error.max_mean(d) <= error.max_mean_bound(d) == pytest.approx(scale * (math.log(d) + 1))
    assert error.total_mean(d) == d * error.mean
    for t in (0.1, 1, 5):
        assert error.max_tail(d, t) == pytest.approx(exceeds(scale * (math.log(d) + t)), rel=1e-9)
        assert error.max_tail(d, t) <= math.exp(-t)


def test_A5_harmonic_numbers_meet_at_the_change_of_formula():
    for d in (1000, 1001, 5000):
        assert _harmonic(d) == pytest.approx(float(sum(F(1, k) for k in range(1, d + 1))), rel=1e-14)


@pytest.mark.parametrize("k", [0.5, 1, 2, "7/2", 10])
def test_A6_chebyshev_holds(k):
    error = lw.LaplaceMechanism(3, 1).error
    exact = math.exp(-float(F(k)) * math.sqrt(2))
    assert error.chebyshev(k) == min(1.0, float(1 / F(k) ** 2))
    assert exact <= error.chebyshev(k)


@given(
    st.fractions(min_value=F(1, 1000), max_value=F(1, 2), max_denominator=10**4),
    st.integers(1, 5 * 10**9).map(lambda nano: F(nano, NANO)),
)
@example(F(1, 168), F(1, NANO))  # the exact size is a whole number and 1.2·10^-16
def test_A7_size_for_is_the_smallest_size(error, epsilon):
    if error * epsilon > F(1, 10**7):
        n = lw.size_for(error, epsilon)
        assert (n * epsilon * error) ** 2 >= 2
        assert n == 1 or ((n - 1) * epsilon * error) ** 2 < 2
    n = lw.size_for(error, epsilon, "randomized_response")
    assert _variance_sign(epsilon, n, error) <= 0
    assert n == 1 or _variance_sign(epsilon, n - 1, error) > 0


def _variance_sign(epsilon: F, n: int, error: F) -> int:
    """Return the sign of e^ε/((e^ε - 1)²·n) - error², from its other form 1/(4·sinh²(ε/2))."""
    with localcontext(arithmetic(100)) as context:  # of the operators too
        half = as_decimal(epsilon / 2, context)
        sinh = (half.exp() - (-half).exp()) / 2
        more = 1 / (4 * sinh * sinh * n) - as_decimal(error**2, context)
    return (more > 0) - (more < 0)


@given(st.fractions(min_value=F(1, 1000), max_value=F(1, 2), max_denominator=10**4), st.integers(1, 10**7))
def test_A7_epsilon_for_is_the_smallest_epsilon(error, n):
    one = F(1, NANO)
    epsilon = lw.epsilon_for(error, n) if n * error > F(3, 2000) else None
    if epsilon is not None:
        assert (n * epsilon * error) ** 2 >= 2
        assert epsilon == one or (n * (epsilon - one) * error) ** 2 < 2
    epsilon = lw.epsilon_for(error, n, "randomized_response")
    assert _variance_sign(epsilon, n, error) <= 0
    assert epsilon == one or _variance_sign(epsilon - one, n, error) > 0


def test_A7_epsilon_for_tells_errors_apart_that_differ_in_the_hundredth_place():
    context = arithmetic(200)
    for nano in (1, 123_456_789, 2_477_888_731):
        epsilon = F(nano, NANO)
        needed = F(context.sqrt(_response_variance(epsilon, context)))  # the error that this ε just reaches, for n = 1
        assert lw.epsilon_for(needed * (1 + F(1, 10**100)), 1, "randomized_response") == epsilon
        assert lw.epsilon_for(needed * (1 - F(1, 10**100)), 1, "randomized_response") == epsilon + F(1, NANO)


def test_A7_an_error_that_needs_more_than_the_largest_epsilon_is_refused():
    with pytest.raises(lw.errors.OutOfReach, match="even ε = 1000 does not reach it"):
        lw.epsilon_for("0.0001", 4)


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(3)], ids=str)
@pytest.mark.parametrize("truth", [(0,), (1, 0), (1, 1, 0), (0, 0, 0, 1)])
def test_A8_the_estimate_is_unbiased_with_the_stated_error_and_interval(epsilon, truth):
    """All possible answers, with their probabilities."""
    flip, share, n = 1 / (1 + math.exp(epsilon)), sum(truth) / len(truth), len(truth)
    mean = square = covered = 0.0
    for answer in itertools.product((0, 1), repeat=n):
        chance = math.prod(flip if a != t else 1 - flip for a, t in zip(answer, truth, strict=True))
        estimate = lw.randomized_response.estimate(answer, epsilon)
        mean += chance * estimate.value
        square += chance * (estimate.value - share) ** 2
        covered += chance * (estimate.low <= share <= estimate.high)
    assert mean == pytest.approx(share)
    assert math.sqrt(square) == pytest.approx(response_rms(epsilon, n)) == pytest.approx(estimate.rms)
    assert covered >= 0.95


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(5)], ids=str)
@pytest.mark.parametrize(("n", "ones"), [(10, 3), (100, 0), (100, 50), (1000, 990)])
@pytest.mark.parametrize("level", [F(1, 2), F(19, 20), F(999, 1000)], ids=str)
def test_A8_the_interval_covers_by_the_exact_law_of_the_number_of_ones(epsilon, n, ones, level):
    keep = 1 / (1 + math.exp(-epsilon))
    first = scipy_stats.binom(ones, keep).pmf(np.arange(ones + 1))
    law = np.convolve(first, scipy_stats.binom(n - ones, 1 - keep).pmf(np.arange(n - ones + 1)))
    values = (np.arange(n + 1) / n - 0.5) / math.tanh(float(epsilon) / 2) + 0.5
    covered = law[np.abs(values - ones / n) <= response_margin(epsilon, n, level)].sum()
    assert covered >= level


def test_A8_variance_has_two_equal_formulas():
    for epsilon in (F(1, 10), F(1), F(7)):
        p = 1 / (1 + math.exp(-epsilon))
        assert float(_response_variance(epsilon, arithmetic(40))) == pytest.approx(p * (1 - p) / (2 * p - 1) ** 2)
