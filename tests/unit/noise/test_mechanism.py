from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.noise.entropy import EntropyForTests


class MaskedInside:
    def __array__(self, dtype=None, copy=None):
        return np.ma.masked_array([1.0, 2.0], [True, False])

    def __repr__(self):
        return "MaskedInside()"


class NoDraws:
    """Fails the test when anything is drawn."""

    private = False

    def bits(self, count):
        raise AssertionError("drawn")

    def stream(self):
        raise AssertionError("drawn")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (5, int),
        (np.int32(5), int),
        (np.uint64(2**63), int),
        (np.array(5), int),
        (5.0, float),
        (np.float32(0.5), float),
        (np.array(5.0), float),
    ],
)
def test_scalars_stay_python_numbers_of_their_kind(value, kind):
    assert type(lw.laplace(value, sensitivity=1, epsilon=1)) is kind


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([1, 2], np.int64),
        ([np.int64(1), 2, np.int8(3)], np.int64),
        ([np.float64(1), 2.0, np.float32(3)], np.float64),
        ((1.0, 2.0), np.float64),
        (np.zeros((2, 3), np.int8), np.int64),
        (np.zeros(3, np.uint32), np.int64),
        (np.zeros(3, np.float16), np.float64),
        (np.zeros(0), np.float64),
        (np.asfortranarray(np.zeros((3, 4))), np.float64),
        (np.zeros((4, 6), np.int64)[::2, ::3], np.int64),
    ],
)
def test_arrays_keep_their_shape(value, dtype):
    out = lw.laplace(value, sensitivity=1, epsilon=1)
    assert (out.shape, out.dtype) == (np.shape(value), np.dtype(dtype))


def test_the_value_given_is_not_changed():
    for value in (np.arange(5), np.linspace(0, 1, 5)):
        before = value.copy()
        lw.laplace(value, sensitivity=1, epsilon=1)
        assert (value == before).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, ">f8", np.int64, np.int16, ">i8"])
@pytest.mark.parametrize(
    "layout",
    [
        lambda x: x,
        np.asfortranarray,
        lambda x: np.ascontiguousarray(x.T).T,
        lambda x: np.ascontiguousarray(x[::-1])[::-1],
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x.reshape(5, 2, 20), 0, 1)), 0, 1).reshape(10, 20),
        lambda x: np.broadcast_to(x, (1, 10, 20))[0],
    ],
)
def test_every_cell_of_every_memory_layout_gets_the_same_noise(layout, dtype):
    """Same bits, same values: the layout in memory must not matter, and least of all leave the noise out."""
    plain = (np.arange(200).reshape(10, 20) * 3).astype(dtype)
    given = layout(plain)
    assert (given == plain).all()
    noisy = lw.laplace(given, sensitivity=1000, epsilon=1, entropy=EntropyForTests(7))
    assert np.array_equal(noisy, lw.laplace(plain.copy(), sensitivity=1000, epsilon=1, entropy=EntropyForTests(7)))
    assert (noisy != plain).mean() > 0.9
    assert np.abs(noisy - plain).max() < 60_000


def test_noise_lands_on_the_right_cells():
    value = np.arange(12.0).reshape(3, 4).T * 10**6
    out = lw.laplace(value, sensitivity=1, epsilon=1000)
    assert 0 < np.abs(out - value).max() < 1
    whole = lw.laplace(value.astype(np.int64), sensitivity=1, epsilon=1000)
    assert (whole == value).all()


def test_T5_lists_of_large_ints_stay_ints():
    for value in ([2**63, -1], [2**70, 5], [np.uint64(2**63 + 1024), np.int64(-1)], [2**63 - 1, 5]):
        out = lw.laplace(value, sensitivity=1, epsilon=1)
        assert out.dtype == np.int64
        assert out[0] > 2**62


def test_T24_the_caller_s_numpy_error_state_makes_no_error():
    with np.errstate(all="raise"):
        for value in (0.0, 1e-310, 1e308, -5e-324):
            lw.laplace(np.array([value, value]), sensitivity=2**40, epsilon=1)
            lw.LaplaceMechanism(2**40, 1).interval(np.array([value]))
        lw.discrete_laplace(F(1, 2**1000), 10_000)
        lw.discrete_laplace(2**50, 10_000)


def test_T8_what_was_checked_cannot_be_changed_afterwards():
    given = np.zeros(3)
    checked = lw.LaplaceMechanism(1, 1)._checked(given)
    given[0] = np.nan
    assert (checked == 0).all()


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -np.inf,
        np.array([1.0, np.nan]),
        [1.0, float("inf")],
        np.float16("nan"),
        None,
        "5",
        True,
        np.bool_(True),
        1j,
        F(1, 2),
        Decimal(1),
        np.array([1, None]),
        np.array([1j]),
        np.array([True]),
        np.array(["a"]),
        np.array([1], np.uint64),
        np.array([1], ">u8"),
        MaskedInside(),
        np.array([1.0], np.longdouble),
        np.longdouble(1),
        np.ma.masked_array([1, 2], [True, False]),
        [1, 2.5],
        [[1, 2], [3, 4]],
        np.timedelta64(5, "D"),
        [np.timedelta64(5, "D")],
        [True, False],
        {"a": 1},
        np.array(["2020-01-01"], "datetime64[D]"),
    ],
    ids=repr,
)
def test_T7_T8_values_that_noise_cannot_protect_are_refused_before_any_draw(value):
    with pytest.raises(errors.InvalidValue, match="No noise was drawn and nothing was charged"):
        lw.laplace(value, sensitivity=1, epsilon=1, entropy=NoDraws())
    with pytest.raises(errors.InvalidValue):
        lw.LaplaceMechanism(1, 1).interval(value)


def test_T24_a_refused_value_is_not_in_the_message():
    for value in (["secret-4711"], np.array([4711, None]), "4711", {"a": 4711}):
        with pytest.raises(errors.InvalidValue) as caught:
            lw.laplace(value, sensitivity=1, epsilon=1)
        assert "4711" not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "abc", True, 1e-10, 1001])
def test_T17_bad_epsilons_draw_nothing(epsilon):
    for ask in (
        lambda: lw.laplace(1, sensitivity=1, epsilon=epsilon, entropy=NoDraws()),
        lambda: lw.LaplaceMechanism(1, epsilon),
        lambda: lw.randomized_response([True], epsilon, entropy=NoDraws()),
        lambda: lw.randomized_response.estimate([True], epsilon),
        lambda: lw.size_for("0.1", epsilon),
    ):
        with pytest.raises(errors.InvalidEpsilon, match="No noise was drawn"):
            ask()


@pytest.mark.parametrize("sensitivity", [0, -1, float("nan"), float("inf"), "abc", True, None])
def test_T16_bad_sensitivities_draw_nothing(sensitivity):
    with pytest.raises(errors.InvalidSensitivity, match="No noise was drawn"):
        lw.laplace(1, sensitivity=sensitivity, epsilon=1, entropy=NoDraws())


def test_a_mechanism_is_a_value():
    m = lw.LaplaceMechanism(sensitivity="0.12", epsilon=0.1)
    assert m == lw.LaplaceMechanism(F(3, 25), "0.1")
    assert hash(m) == hash(lw.LaplaceMechanism(F(3, 25), "0.1"))
    assert (m.sensitivity, m.epsilon, m.scale) == (F(3, 25), F(1, 10), F(6, 5))
    with pytest.raises(AttributeError):
        m.epsilon = 3


def test_a_whole_value_whose_sensitivity_is_below_one_is_refused():
    """statistics.mean([40, 60]) is the int 50: its type would tell that the mean is whole."""
    for value in (50, [50, 60], np.array([50])):
        with pytest.raises(errors.InvalidValue, match="the type must be public"):
            lw.laplace(value, sensitivity="0.12", epsilon=1, entropy=NoDraws())
    assert type(lw.laplace(50.0, sensitivity="0.12", epsilon=1)) is float


def test_laplace_is_the_mechanism():
    m = lw.LaplaceMechanism(1, 1)
    for value in (3, 3.5, [1, 2], [1.5, 2.5]):
        one = lw.laplace(value, sensitivity=1, epsilon=1, entropy=EntropyForTests(2))
        assert np.array_equal(one, m.release(value, entropy=EntropyForTests(2)))


def test_randomized_response_keeps_the_shape_and_takes_only_bits():
    assert lw.randomized_response(np.ones((2, 3), np.int8), 1).shape == (2, 3)
    for bits in ([2], [0.5], ["a"], [None], [float("nan")], [-1], np.ma.masked_array([1, 0], [1, 0])):
        with pytest.raises(errors.InvalidValue, match="not a bit"):
            lw.randomized_response(bits, 1, entropy=NoDraws())
    with pytest.raises(errors.MissingParameter, match="one answer or more"):
        lw.randomized_response.estimate(np.array([], bool), 1)


@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
def test_planning_refuses_errors_that_are_none(mechanism):
    for error in (0, -1, "x", float("nan")):
        with pytest.raises(errors.InvalidParameter, match="error"):
            lw.size_for(error, 1, mechanism)
        with pytest.raises(errors.InvalidParameter, match="error"):
            lw.epsilon_for(error, 10, mechanism)
    with pytest.raises(errors.InvalidParameter, match="mechanism"):
        lw.size_for(1, 1, "gauss")


def test_sensitivities_refuse_what_they_cannot_know():
    s = lw.sensitivity
    with pytest.raises(errors.MissingParameter, match="the number of rows"):
        s.mean(0, 1, neighbors="change_one")
    with pytest.raises(errors.InvalidParameter, match="neighbors"):
        s.count(neighbors="swap")
    with pytest.raises(errors.NoSensitivity, match='Did you mean "median"'):
        s.entry("medain")
    with pytest.raises(errors.InvalidBounds):
        s.sum(5, 5)
