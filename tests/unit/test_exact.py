from decimal import Decimal
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors, exact


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.1, F(1, 10)),
        ("0.1", F(1, 10)),
        (np.float64(0.1), F(1, 10)),
        (np.float32(0.1), F(1, 10)),
        (np.int8(7), F(7)),
        (Decimal("0.1"), F(1, 10)),
        ("1/3", F(1, 3)),
        (" 5 ", F(5)),
        ("1e-3", F(1, 1000)),
        (1e300, F(10) ** 300),
        (F(22, 7), F(22, 7)),
    ],
)
def test_a_number_is_read_as_it_is_written(written, meant):
    assert exact.rational(written) == meant


@pytest.mark.parametrize(
    "written",
    [True, False, None, "abc", "", "1/0", "nan", "inf", float("nan"), float("-inf"), 1j, [1], "1e99999", "٣", b"1"],
)
def test_what_is_no_number_is_refused(written):
    with pytest.raises(ValueError, match="number"):
        exact.rational(written)


LONG = np.longdouble
FLOATS = [
    *(0.1, 0.7, 2.1, 2.0**-60, 2.0**70, np.float64(0.1), np.float32(0.1), np.float32(0.7), np.float32(2.0**70)),
    *(np.float16(0.0654), np.float16(0.7), LONG("0.1"), LONG("0.7"), LONG(2) ** 70),
]


@pytest.mark.parametrize("asked", FLOATS, ids=lambda each: f"{type(each).__name__}-{each}")
def test_T53_what_noise_must_cover_is_read_neither_below_its_text_nor_below_what_the_float_holds(asked):
    held, text = F(*asked.as_integer_ratio()), F(np.format_float_positional(asked))
    larger, other = max(held, text), float(asked) * 2
    assert exact.rational(asked) == text
    assert exact.sensitivity(asked) == exact.scale(asked) == lw.sensitivity.vector(asked) == larger
    assert lw.LaplaceMechanism(asked, 1).scale == lw.DiscreteLaplace(asked).scale == lw.Laplace(asked).scale == larger
    for of in (lw.sensitivity.maximum, lw.sensitivity.sum):
        assert of(0, asked, neighbors="change_one") == of(-asked, 0, neighbors="change_one") == larger
    assert lw.sensitivity.sum(asked, other) == max(F(other), F(repr(other)))
    assert lw.sensitivity.maximum(asked, other) == max(F(other), F(repr(other))) - min(held, text)


@pytest.mark.parametrize("asked", [np.float16(65504), np.float32(123456789), 2.0**59, 3.0, np.float64(10**17)])
def test_T53_a_number_of_rows_is_what_its_float_holds(asked):
    assert exact.whole(asked, "n") == int(asked)
    assert lw.sensitivity.mean(0, 1, asked, neighbors="change_one") == F(1, int(asked))


@pytest.mark.parametrize("low", [0.1, 0.7, np.float32(0.1)])
def test_T16_bounds_of_which_a_float_holds_less_than_it_says_are_still_no_range(low):
    with pytest.raises(errors.InvalidBounds):
        lw.sensitivity.sum(low, low)


@pytest.mark.parametrize("asked", ["0.000000001", 1000, 0.1, F(1, 8)])
def test_epsilon_may_have_nine_places(asked):
    assert exact.epsilon(asked) == exact.rational(asked)


def test_T28_ten_times_a_tenth_is_one():
    assert sum(exact.epsilon(0.1) for _ in range(10)) == 1


@pytest.mark.parametrize(
    ("computed", "read"),
    [
        (0.1 + 0.2, "0.3"),
        (0.3, "0.3"),  # in binary a little less
        (0.1, "0.1"),  # in binary a little more
        (1 / 3, "0.333333333"),
        (2 / 3, "0.666666666"),
        (0.7 / 7, "0.099999999"),  # 0.09999999999999999
        (1.9999999999e-9, "0.000000001"),
        (999.9999999999, "999.999999999"),
        (1000.0000000000001, "1000"),
        (np.float64(0.1) + np.float64(0.2), "0.3"),
        (np.float32(0.1), "0.1"),
        (np.float16(1 / 3), "0.3333"),
    ],
)
def test_T28_a_float_is_rounded_down_to_nine_places(computed, read):
    assert exact.epsilon(computed) == F(read)


@settings(max_examples=500)
@given(st.floats(1e-9, 1000))
def test_T28_no_float_is_rounded_up(asked):
    written = F(repr(asked))
    assert 0 <= written - exact.epsilon(asked) < F(1, 10**9)
    assert exact.epsilon(asked) == written or 10**9 % written.denominator


def test_T28_the_noise_and_the_charge_are_of_the_same_rounded_epsilon(tmp_path):
    source = lw.Source(
        pd.DataFrame({"x": [0.5]}), name="t", columns={"x": lw.number(0, 1)}, epsilon=0.1 + 0.2, ledger=tmp_path / "l"
    )
    plan = source.plan(lw.count(), epsilon=0.1 + 0.2)
    assert (plan.epsilon, plan.scale(plan.parts[0]), source.epsilon) == (F(3, 10), F(10, 3), F(3, 10))
    entry = source.make_ledger().charge("a question", 0.1 + 0.2)
    assert (entry.epsilon, source.ledger.remaining) == (F(3, 10), 0)
    assert lw.Ledger.open(tmp_path / "l", epsilon=0.1 + 0.2).total == F(3, 10)
    assert lw.LaplaceMechanism(1, 0.1 + 0.2).scale == F(10, 3)


@pytest.mark.parametrize(
    "asked",
    [
        *(0, -1, float("nan"), float("inf"), "abc", True, 1e-10, 9.99e-10, 1001, 1e-300, "1/3", None, "1000.000000001"),
        *("0.30000000000000004", Decimal(1) / 3, F(1, 3), 0.0, -0.1, 1000.000001, np.float64("nan")),
    ],
)
def test_T17_other_epsilons_are_refused(asked):
    with pytest.raises(errors.InvalidEpsilon) as caught:
        exact.epsilon(asked)
    assert "0 < ε ≤ 1000" in str(caught.value)
    assert "No noise was drawn and nothing was charged" in str(caught.value)


@pytest.mark.parametrize("asked", [0, -1, "nan", float("inf"), True, None, F(1, 2**901), 2**901])
def test_T16_other_sensitivities_are_refused(asked):
    with pytest.raises(errors.InvalidSensitivity):
        exact.sensitivity(asked)


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (0, float("inf")), ("a", 1), (None, 1), (True, 2)])
def test_T16_bounds_that_are_no_range_are_refused(low, high):
    with pytest.raises(errors.InvalidBounds):
        exact.bounds(low, high)


@pytest.mark.parametrize("asked", [0, 1, -0.1, "x", True, 95])
def test_probabilities_lie_strictly_between_0_and_1(asked):
    with pytest.raises(errors.InvalidConfidence):
        exact.probability(asked)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (F(1, 10), "0.1"),
        (F(300), "300"),
        (F(6, 5), "1.2"),
        (F(1, 3), "1/3"),
        (F(123456789, 10**9), "0.123456789"),
        (F(-1, 4), "-0.25"),
        (F(2) ** 100, str(2**100)),
        (F(1234567890123456789012345678901234, 10), "123456789012345678901234567890123.4"),
    ],
)
def test_text_is_exact(value, shown):
    assert exact.text(value) == shown
    assert F(exact.text(value)) == value
