"""The check of formulas: it passes as Lapwing is, and fails on a formula that is a little off or that is new."""

from fractions import Fraction as F
from random import Random

import pytest
from scipy import stats

from lapwing.auditing.checks import formulas
from lapwing.auditing.room import Room
from lapwing.auditing.tools import noise
from lapwing.noise import intervals
from lapwing.noise.distributions import DiscreteLaplace, Laplace
from lapwing.noise.mechanism import LaplaceMechanism


def failed(findings):
    return [finding.what for finding in findings if not finding.passed]


def test_all_formulas_are_right(tmp_path):
    found = list(formulas.formulas(Room(tmp_path)))
    assert failed(found) == []
    assert len({finding.what for finding in found}) == len(found) > 35
    assert sum(finding.false_alarm for finding in found) == 0


@pytest.mark.parametrize("name", ["quantile", "margin", "simultaneous_margin", "threshold"])
@pytest.mark.parametrize("off", [-1, 1])
def test_an_integer_that_is_one_off_is_found(monkeypatch, name, off):
    whole = getattr(DiscreteLaplace, name)
    monkeypatch.setattr(DiscreteLaplace, name, lambda *asked: whole(*asked) + off)
    assert f"DiscreteLaplace.{name} (seed 17)" in failed(formulas._members(DiscreteLaplace, formulas._WHOLE, 20))


@pytest.mark.parametrize("name", ["pdf", "cdf", "tail", "quantile", "margin"])
def test_a_number_that_is_a_millionth_off_is_found(monkeypatch, name):
    whole = getattr(Laplace, name)
    monkeypatch.setattr(Laplace, name, lambda *asked: whole(*asked) * (1 + 1e-6))
    assert f"Laplace.{name} (seed 17)" in failed(formulas._members(Laplace, formulas._REAL, 20))


@pytest.mark.parametrize("name", ["sum_margin", "tail_quantile", "size_for", "epsilon_for"])
@pytest.mark.parametrize("factor", [F(9, 10), F(11, 10)])
def test_a_function_that_is_a_tenth_off_is_found(monkeypatch, name, factor):
    whole = getattr(formulas, name)
    monkeypatch.setattr(
        formulas,
        name,
        lambda *asked: (
            type(made)(made * factor) if (made := whole(*asked)).__class__ in (int, F) else made * float(factor)
        ),
    )
    assert f"{name} (seed 17)" in failed(formulas._functions(20))


@pytest.mark.parametrize("name", ["ratio_interval", "variance_interval"])
def test_bars_that_are_a_fifth_narrower_are_found(monkeypatch, name):
    whole = getattr(formulas, name)

    def narrower(*asked, **named):
        value, low, high = whole(*asked, **named)
        return value, value - 0.8 * (value - low), value + 0.8 * (high - value)

    monkeypatch.setattr(formulas, name, narrower)
    assert f"{name} (seed 17)" in failed(formulas._functions(20))


def test_what_has_no_computation_of_its_own_is_found(monkeypatch):
    monkeypatch.setattr(DiscreteLaplace, "median", lambda self: 0, raising=False)
    new = lambda: None  # noqa: E731
    new.__module__ = intervals.__name__
    monkeypatch.setattr(intervals, "new_margin", new, raising=False)
    assert failed(formulas._members(DiscreteLaplace, formulas._WHOLE, 1)) == ["DiscreteLaplace.median"]
    assert failed(formulas._functions(3)) == ["new_margin"]


def test_intervals_of_mechanisms_that_are_too_narrow_are_found(monkeypatch):
    whole = LaplaceMechanism.interval

    def narrower(self, value, share, **named):
        low, high = whole(self, value, share, **named)
        return low + (high - low) / 50, high - (high - low) / 50

    monkeypatch.setattr(LaplaceMechanism, "interval", narrower)
    assert not formulas._mechanism_intervals(Random(1), 20).passed


def test_margins_of_sums_that_are_too_narrow_are_found(monkeypatch):
    whole = formulas.margins
    monkeypatch.setattr(formulas, "margins", lambda *asked: [0.9 * each - 1 for each in whole(*asked)])
    assert not formulas._sums_of_whole_noise(Random(1), 10).passed


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(17, 2)])
def test_the_laws_of_noise_are_those_of_another_library(scale):
    law = stats.dlaplace(float(1 / scale))
    for x in range(-5, 6):
        assert float(noise.mass(scale, x)) == pytest.approx(law.pmf(x))
        assert float(noise.upto(scale, x)) == pytest.approx(law.cdf(x))
        assert float(noise.at_least(scale, x)) == pytest.approx(law.sf(x - 1))
    assert float(noise.all_inside(scale, 2, 3)) == pytest.approx((law.cdf(2) - law.cdf(-3)) ** 3)
    assert noise.real_tail([scale], 2.0) == pytest.approx(2 * stats.laplace(scale=float(scale)).sf(2))
    assert noise.real_tail([scale, scale], 0.0) == pytest.approx(1)
    assert noise.whole_law(scale, [1, 2]).sum() == pytest.approx(1)
