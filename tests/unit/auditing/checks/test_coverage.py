"""The check of error bars: it passes as Lapwing is, and fails on bars and noise that are not as promised."""

from fractions import Fraction as F

import numpy as np
import pytest
from scipy import stats as laws

import lapwing as lw
from lapwing.auditing.checks import coverage
from lapwing.auditing.room import Room
from lapwing.auditing.tools import chance
from lapwing.measure import measurement, partition
from lapwing.noise.distributions import DiscreteLaplace

TWO_COLUMNS = [each for each in coverage._ASKED if each.what == "rows and two columns"]


def failed(findings):
    return [finding.what for finding in findings if not finding.passed]


def test_all_bars_hold_in_a_reduced_form(tmp_path, monkeypatch):
    """Some 110 findings at 5·10^-11 each."""
    monkeypatch.setattr(chance, "ALPHA", 5e-11)
    found = list(coverage.coverage(Room(tmp_path), 1_000))
    assert [finding.told for finding in found if not finding.passed] == []
    assert len({finding.what for finding in found}) == len(found) > 100
    assert sum(finding.false_alarm for finding in found) < 3e-8
    assert [f.told for f in found if f.what == "the width of the bar of a count, ε = 1, at 95%"] == [
        "±3 holds with 0.9732, ±2 with 0.9272"
    ]


def test_bars_of_counts_a_tenth_too_narrow_are_found(tmp_path, monkeypatch):
    whole = DiscreteLaplace.simultaneous_margin
    monkeypatch.setattr(DiscreteLaplace, "simultaneous_margin", lambda *asked: int(0.9 * whole(*asked)))
    assert len(failed(coverage._exact_bars(Room(tmp_path)))) == 11  # ±0 stays ±0


def test_bars_of_counts_one_too_wide_are_found(tmp_path, monkeypatch):
    whole = DiscreteLaplace.simultaneous_margin
    monkeypatch.setattr(DiscreteLaplace, "simultaneous_margin", lambda *asked: whole(*asked) + 1)
    assert len(failed(coverage._exact_bars(Room(tmp_path)))) == 12


@pytest.mark.usefixtures("frozen_noise")
def test_bars_of_means_a_tenth_too_narrow_are_found(tmp_path, monkeypatch):
    whole = partition.ratio_interval
    monkeypatch.setattr(
        partition, "ratio_interval", lambda a, b, scale, *rest, **k: whole(a, b, 0.9 * scale, *rest, **k)
    )
    bad = failed(coverage._groups(Room(tmp_path), 20_000, TWO_COLUMNS))
    assert bad
    assert all("mean" in what for what in bad)


@pytest.mark.usefixtures("frozen_noise")
def test_noise_a_fifth_too_large_is_found(tmp_path, monkeypatch):
    whole = measurement.draws
    monkeypatch.setattr(measurement, "draws", lambda scale, *rest: whole(scale * F(6, 5), *rest))
    bad = failed(coverage._groups(Room(tmp_path), 20_000, TWO_COLUMNS))
    assert {f"{name} of rows and two columns, at 95%" for name in ("count", "mean", "mean of y")} <= set(bad)


@pytest.mark.usefixtures("frozen_noise")
def test_a_mean_that_is_moved_is_found(tmp_path, monkeypatch):
    whole = partition.ratio_interval
    monkeypatch.setattr(partition, "ratio_interval", lambda *a, **k: [each + 0.01 for each in whole(*a, **k)])
    bad = failed(coverage._groups(Room(tmp_path), 20_000, TWO_COLUMNS))
    assert "mean of rows and two columns, above and below" in bad
    assert "count of rows and two columns, above and below" not in bad


@pytest.mark.usefixtures("frozen_noise")
def test_counts_that_are_cut_at_0_are_found(tmp_path, monkeypatch):
    whole = measurement.add
    monkeypatch.setattr(measurement, "add", lambda *asked: np.maximum(whole(*asked), 0))
    bad = failed(coverage._empty_groups(Room(tmp_path), 4_000))
    assert {"counts of empty groups, ε = 1", "counts of empty groups, ε = 0.1"} <= set(bad)


@pytest.mark.usefixtures("frozen_noise")
def test_one_noise_value_for_all_cells_is_found(tmp_path, monkeypatch):
    whole = measurement.draws
    monkeypatch.setattr(
        measurement, "draws", lambda scale, size, *rest: np.full(size, 1 + abs(whole(scale, 1, *rest)[0]))
    )
    bad = failed(coverage._empty_groups(Room(tmp_path), 4_000))
    assert {what for what in bad if what.startswith("the noise")} == {
        "the noise of neighboring groups, ε = 1",
        "the noise of neighboring groups, ε = 0.1",
        "the noise of distant groups",
        "the noise of two columns",
        "the noise of two releases",
    }


@pytest.mark.parametrize("scale", [0.5, 1, 10])
def test_the_limit_of_a_mean_is_right_by_the_exact_law_of_a_sum(scale):
    trials, reach = 8, np.arange(-400, 401)
    law = laws.dlaplace.pmf(reach, 1 / scale)
    total = law
    for _ in range(trials - 1):
        total = np.convolve(total, law)
    sums = np.arange(len(total)) - len(total) // 2
    for alpha in (0.5, 0.01, 1e-6):
        beyond = float(total[np.abs(sums) > trials * chance.mean_limit(trials, scale, alpha)].sum())
        assert alpha / 100 < beyond <= alpha


def test_bars_and_values_are_counted():
    assert chance.held("x", np.ones(50, dtype=bool), "0.95").passed
    assert not chance.held("x", np.zeros(50, dtype=bool), "0.5").passed
    assert chance.held("x", np.ones(50, dtype=bool), "0.95").what == "x, at 95%"
    assert chance.centred("x", np.zeros(100)).passed
    assert not chance.centred("x", np.full(100, -1.0)).passed
    assert chance.independent("x", np.tile([1, -1], 50), np.tile([1, 1, -1, -1], 25)).passed
    assert not chance.independent("x", np.arange(100), -np.arange(100)).passed
    assert chance.unbiased("x", lw.discrete_laplace(1, 100) * 0, 1).passed
