"""The check of plans, private bounds and found keys: it passes as Lapwing is, and fails where they say too much."""

from random import Random

import pytest

from lapwing.auditing.checks import forecasts
from lapwing.auditing.room import Room
from lapwing.measure import public_n, selection
from lapwing.measure.partition import Partition
from lapwing.measure.quantiles import Quantiles
from lapwing.measure.variances import Variance
from lapwing.noise.distributions import DiscreteLaplace
from lapwing.plan import planning
from lapwing.plan.plan import Plan
from lapwing.release import bounds


def failed(findings):
    return [finding.what for finding in findings if not finding.passed]


@pytest.mark.usefixtures("frozen_noise")
def test_plans_bounds_and_keys_are_as_promised(tmp_path):
    found = list(forecasts.forecasts(Room(tmp_path)))
    assert failed(found) == []
    assert sum(finding.false_alarm for finding in found) < 1e-20


@pytest.mark.parametrize("factor", [2, 1 / 2])
def test_a_wanted_error_that_is_doubled_or_halved_is_found(tmp_path, monkeypatch, factor):
    def meets(plan, wanted):
        return all(plan.margin(statistic, plan.confidence) <= factor * target for statistic, target in wanted)

    monkeypatch.setattr(planning, "_meets", meets)
    assert not forecasts._aimed(Room(tmp_path), Random(23), 4).passed


def test_a_plan_that_is_too_hopeful_is_found(tmp_path, monkeypatch):
    whole = Plan.margin
    monkeypatch.setattr(Plan, "margin", lambda *asked: 0.8 * whole(*asked))
    assert len(failed(forecasts._expected(Room(tmp_path)))) == 4


@pytest.mark.parametrize("kind", [Variance, Partition, Quantiles])
def test_an_expected_error_that_is_off_by_a_hundredth_is_found(tmp_path, monkeypatch, kind):
    whole = kind.margin
    monkeypatch.setattr(kind, "margin", lambda *asked: 1.01 * whole(*asked))
    assert not forecasts._by_formula(Room(tmp_path)).passed


def test_a_bar_that_is_narrower_on_one_side_is_found(tmp_path, monkeypatch):
    whole = public_n.PublicSum.estimate

    def estimate(self, *asked):
        made = whole(self, *asked)
        return made._replace(low=(made.low + made.value) / 2)

    monkeypatch.setattr(public_n.PublicSum, "estimate", estimate)
    assert failed(forecasts._expected(Room(tmp_path))) == ["bars are as planned, neighbors change_one"]


def test_bounds_that_noise_occupies_are_found(tmp_path, monkeypatch):
    whole = bounds._margin
    for off in (-1, 1):
        monkeypatch.setattr(bounds, "_margin", lambda plan, off=off: whole(plan) + off)
        assert failed(forecasts._private_bounds(Room(tmp_path), Random(1))) == ["empty bins of private bounds"]


def test_a_bin_that_is_occupied_at_the_margin_is_found(tmp_path, monkeypatch):
    def occupied(self):
        margin = bounds._margin(self.release.plan)
        return [i for i, cell in enumerate(self._cells) if cell >= margin]

    monkeypatch.setattr(bounds.Bounds, "_occupied", property(occupied))
    assert failed(forecasts._private_bounds(Room(tmp_path), Random(1))) == ["empty bins of private bounds"]


@pytest.mark.usefixtures("frozen_noise")
def test_bars_of_keys_that_are_too_narrow_are_found(tmp_path, monkeypatch):
    whole = DiscreteLaplace.margin
    monkeypatch.setattr(DiscreteLaplace, "margin", lambda *asked: whole(*asked) - 1)
    assert not forecasts._found_keys(Room(tmp_path), Random(1)).passed


@pytest.mark.parametrize("factor", [0.7, 1.5])
def test_ends_of_quantiles_that_are_taken_too_early_or_too_late_are_found(tmp_path, monkeypatch, factor):
    whole = selection.Selection.margins
    monkeypatch.setattr(selection.Selection, "margins", lambda *asked: [factor * margin for margin in whole(*asked)])
    assert not forecasts._median_bars(Room(tmp_path)).passed
