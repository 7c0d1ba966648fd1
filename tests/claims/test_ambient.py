"""Exact results do not depend on the decimal context of whoever calls."""

from __future__ import annotations

import decimal
from fractions import Fraction as F

import numpy as np
import pytest

import lapwing as lw
from lapwing.exact import rational
from lapwing.noise import intervals, sampler
from lapwing.noise.distributions import _offset

from ..independent import ScriptedEntropy, exp_minus

HOSTILE = decimal.Context(prec=2, rounding=decimal.ROUND_UP, Emin=-3, Emax=3, traps=[decimal.Inexact, decimal.Rounded])


def results() -> list[object]:
    sampler._law.cache_clear()
    _offset.cache_clear()
    law = lw.DiscreteLaplace(10**6)
    wide = lw.DiscreteLaplace(2**100)
    return [
        law.margin(),
        law.simultaneous_margin(3143, "0.99"),
        law.quantile("1e-20"),
        wide.margin(),
        wide.quantile("0.975"),
        lw.size_for("1e-14", "0.1", "randomized_response"),
        lw.epsilon_for("0.01", 1000, "randomized_response"),
        intervals.response_rms(F(1, 10), 7),
        sampler._law_of(F(10)),
        sampler._law_of(F(2**40, 3)),
        [sampler._decide_slowly(k * 2**55, sampler._law_of(F(k, 7)), ScriptedEntropy()) for k in range(1, 200)],
        [sampler._happens(2**62 - 1, 63, F(k, 100), ScriptedEntropy()) for k in range(60, 80)],
        law.std,
    ]


def test_A2_A7_N1_N4_hold_in_a_hostile_decimal_context():
    ordinary = results()
    with decimal.localcontext(HOSTILE):
        hostile = results()
    assert hostile == ordinary


def test_N1_numbers_are_read_the_same_whatever_numpy_s_print_options_are():
    numbers = (np.float64(1234.56789012345678), np.float32(0.1), np.float16(0.1), 0.1 + 0.2)
    ordinary = [rational(number) for number in numbers]
    with np.printoptions(legacy="1.13", precision=2):
        assert [rational(number) for number in numbers] == ordinary
    assert ordinary == [F("1234.567890123457"), F(1, 10), F("0.1"), F("0.30000000000000004")]


def test_A2_A3_margins_at_large_scales_are_those_of_two_thousand_bits():
    """The integer m with T(m+1) ≤ 1/20 < T(m): by the Taylor series at 2,000 binary places."""
    places = 2000
    for power in (80, 95, 100, 300):
        scale = F(2**power)
        margin = lw.DiscreteLaplace(scale).margin("0.95")
        first = (2 << (2 * places)) // ((1 << places) + exp_minus(1 / scale, places))

        def beyond(k: int, scale: F = scale, first: int = first) -> int:
            return first * exp_minus(k / scale, places) >> places

        level = (1 << places) // 20
        assert beyond(margin + 1) < level < beyond(margin)
        assert lw.DiscreteLaplace(scale).quantile("0.975") == margin


@pytest.mark.parametrize("law", [lw.Laplace, lw.DiscreteLaplace])
@pytest.mark.parametrize("scale", [F(1, 2**1000), F(1, 2**600), F(2**600), F(2**1000)], ids=str)
def test_A1_no_allowed_scale_breaks_a_property(law, scale):
    it = law(scale)
    assert all(value >= 0 for value in (it.mean, it.mean_abs, it.variance, it.std, it.margin(), it.tail(1)))
