import tracemalloc
from fractions import Fraction as F

import numpy as np
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.noise import sampler


def test_a_single_draw_is_a_python_int():
    assert type(lw.discrete_laplace(10)) is int
    assert type(lw.discrete_laplace("0.5")) is int
    assert type(lw.discrete_laplace(2**200)) is int


@pytest.mark.parametrize(("size", "shape"), [(0, (0,)), (3, (3,)), ((2, 3), (2, 3)), ((), ()), (np.int64(4), (4,))])
def test_an_array_has_the_size_asked_for(size, shape):
    drawn = lw.discrete_laplace(10, size)
    assert (drawn.shape, drawn.dtype) == (shape, np.dtype(np.int64))
    assert sampler.uniform(10, size).shape == shape


@pytest.mark.parametrize("size", [-1, (2, -1), 1.5, "3", True, (True,), [3], 2**63, 2**59])
def test_other_sizes_are_refused(size):
    with pytest.raises(errors.InvalidSize, match="Size"):
        lw.discrete_laplace(10, size)


@pytest.mark.parametrize("scale", [0, -1, "nan", float("inf"), None, True, "abc", 2**1001, F(1, 2**1001)])
def test_T17_other_scales_are_refused(scale):
    with pytest.raises(errors.InvalidScale, match="No noise was drawn"):
        lw.discrete_laplace(scale)


def test_arrays_take_scales_that_int64_can_hold():
    assert lw.discrete_laplace(2**50, 3).dtype == np.int64
    with pytest.raises(errors.InvalidScale, match=r"2\^50 for an array"):
        lw.discrete_laplace(2**50 + 1, 3)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "x"])
def test_threads_are_a_whole_number(threads):
    with pytest.raises(errors.InvalidParameter, match="threads"):
        lw.discrete_laplace(1, 3, threads=threads)


def test_threads_fill_every_cell():
    drawn = lw.discrete_laplace(2**49, 3 * sampler.BLOCK + 7, threads=3)
    assert len(np.unique(drawn)) > drawn.size - 10


@pytest.mark.parametrize("scale", [10, 2**40])
def test_memory_beyond_the_output_is_a_few_blocks(scale):
    n = 4_000_000
    lw.discrete_laplace(scale, 10)
    tracemalloc.start()
    lw.discrete_laplace(scale, n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n + 60 * sampler.BLOCK


def test_memory_of_float_releases_is_the_output_and_a_few_blocks():
    values = np.zeros(4_000_000)
    tracemalloc.start()
    lw.laplace(values, sensitivity=1, epsilon=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * values.size + 80 * sampler.BLOCK


@pytest.mark.parametrize("exponents", [[-1], ["x"], [float("nan")], np.array([0, -1])])
def test_coins_refuse_what_is_no_exponent(exponents):
    with pytest.raises(errors.RequestError, match=r"[Ee]xponent"):
        sampler.coins(exponents)


def test_coins_of_no_exponents_are_none():
    assert sampler.coins([]).shape == (0,)
    assert sampler.coins(np.array([0, 0])).tolist() == [True, True]
    assert sampler.coins(["0", 0.0, 10**9]).tolist() == [True, True, False]


def test_uniform_refuses_what_is_no_range():
    for below in (0, -1, 1.5, "x"):
        with pytest.raises(errors.InvalidParameter, match="below"):
            sampler.uniform(below)
    with pytest.raises(errors.InvalidParameter, match=r"2\^63"):
        sampler.uniform(2**64, 3)
    assert 0 <= sampler.uniform(2**200) < 2**200
    assert sampler.uniform(2**63, 3).min() >= 0
    assert sampler.uniform(1) == 0
