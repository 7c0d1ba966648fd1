"""Claim C3: how far the ranks of times and the noise go together by chance."""

import math
from itertools import product

import numpy as np
import pytest

import lapwing as lw
from lapwing.auditing.checks.timing import centred_ranks, compared, size_limit, sizes, timed, zero_limit

LAW = lw.DiscreteLaplace(2)
REACH = 3


def cut_law():
    """Return the outcomes of a draw whose |X| beyond REACH is put at REACH, with their probabilities and u."""
    mass = np.array([LAW.pmf(0), *(2 * LAW.pmf(k) for k in range(1, REACH)), LAW.tail(REACH - 1)])
    assert mass.sum() == pytest.approx(1, abs=1e-15)
    return mass, np.cumsum(mass) - mass / 2 - 0.5


def test_C3_u_has_the_mean_0_and_lies_within_one_half():
    reach = np.arange(-200, 201)
    u, mass = sizes(reach, LAW), np.array([LAW.pmf(k) for k in reach.tolist()])
    assert math.fsum(u * mass) == pytest.approx(0, abs=1e-12)
    assert np.abs(u).max() <= 0.5
    by_the_sum = [0.5 * mass[200], *(mass[200] + 2 * mass[201 : 200 + k].sum() + mass[200 + k] for k in range(1, 50))]
    assert u[200:250] + 0.5 == pytest.approx(np.array(by_the_sum), abs=1e-12)


@pytest.mark.parametrize("times", [[5, 1, 4, 2, 3, 9], [1, 1, 1, 2, 2, 7], [3, 3, 3, 3, 3, 3]])
def test_C3_the_bounds_hold_for_all_outcomes_of_a_small_case(times):
    """Walk through all outcomes of six draws; u of a law that is cut has the mean 0 and its range as well."""
    mass, u = cut_law()
    ranks = centred_ranks(np.array(times))
    outcomes = np.array(list(product(range(REACH + 1), repeat=len(times))))
    chance = mass[outcomes].prod(axis=1)
    size, zero = np.abs(u[outcomes] @ ranks), np.abs(((outcomes == 0) - mass[0]) @ ranks)
    squares = float(ranks @ ranks)
    for alpha in (1, 0.5, 0.1, 0.01, 1e-4, 1e-9):
        assert chance[size >= size_limit(squares, alpha) + 1e-12].sum() <= alpha
        assert chance[zero >= zero_limit(squares, float(mass[0]), alpha) + 1e-12].sum() <= alpha


def test_C3_the_limits_are_those_of_the_bounds():
    for squares, chance, alpha in ((100.0, 0.3, 1e-9), (7.0, 0.01, 0.1)):
        size, zero = size_limit(squares, alpha), zero_limit(squares, chance, alpha)
        assert 2 * math.exp(-2 * size**2 / squares) == pytest.approx(alpha)
        assert 2 * math.exp(-(zero**2) / (2 * chance * (1 - chance) * squares + zero / 3)) == pytest.approx(alpha)


def test_C3_ranks_are_centred_and_equal_times_share_one():
    assert centred_ranks(np.array([30, 10, 20])).tolist() == [0.5, -0.5, 0.0]
    assert centred_ranks(np.array([7, 7, 9, 9])).tolist() == pytest.approx([-1 / 3, -1 / 3, 1 / 3, 1 / 3])
    assert centred_ranks(np.array([4])).tolist() == [-0.5]


@pytest.mark.parametrize("scale", [10, 100])
def test_C3_times_that_drift_but_do_not_depend_on_the_noise_raise_no_alarm(scale):
    rng = np.random.default_rng()
    for shape in ((20_000, 1), (500, 40)):
        noise = lw.discrete_laplace(scale, shape)
        times = (rng.lognormal(8, 0.3, shape[0]) + np.arange(shape[0]) / 10).astype(np.int64)
        assert all(finding.passed for finding in compared("x", times, noise, lw.DiscreteLaplace(scale)))


@pytest.mark.usefixtures("frozen_noise")
def test_C3_a_correlation_of_a_fifth_raises_an_alarm():
    """The time is the size's rank with a fifth of its weight: the correlation is some 0.2 at 20,000 calls."""
    noise, law = lw.discrete_laplace(100, (20_000, 1)), lw.DiscreteLaplace(100)
    other = np.random.default_rng().uniform(-0.5, 0.5, 20_000)
    times = (1e6 * (0.2 * sizes(noise, law)[:, 0] + math.sqrt(1 - 0.2**2) * other)).astype(np.int64)
    size, _ = compared("x", times, noise, law)
    assert not size.passed
    assert size.told.startswith("the correlation is +0.")


def test_C3_what_is_timed_is_returned_with_its_time():
    numbers = iter(range(10_000))
    times, drawn = timed(lambda: next(numbers), 30)
    assert np.diff(drawn[:, 0]).tolist() == [1] * 29
    assert times.shape == (30,)
    assert times.min() >= 0
    assert timed(lambda: np.array([1, 2, 3]), 5)[1].tolist() == [[1, 2, 3]] * 5
