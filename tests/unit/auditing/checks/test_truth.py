"""The check of releases without noise: it passes as Lapwing is, and fails where the truth or its bar is missed."""

from lapwing.auditing.checks import truth
from lapwing.auditing.room import Room
from lapwing.auditing.tools.pooled import pooled
from lapwing.auditing.tools.running import Running
from lapwing.measure import linear, partition, quantiles
from lapwing.measure.partition import Partition
from lapwing.noise.distributions import DiscreteLaplace


def failed(findings):
    return [finding.what for finding in findings if not finding.passed]


def test_releases_without_noise_are_the_truth(tmp_path):
    found = list(truth.noiseless(Room(tmp_path)))
    assert failed(found) == []
    assert sum(finding.false_alarm for finding in found) == 0


def test_a_missing_cell_without_its_factor_is_found(tmp_path, monkeypatch):
    def cells(self, sums):
        n, present, first, second = sums
        left = (n - present,) if self.missing else ()
        return tuple(self.fine * cell for cell in (*self.own_cells(present, first, second), *left))

    monkeypatch.setattr(Partition, "cells", cells)
    found = failed(truth.noiseless(Room(tmp_path)))
    assert [what for what in found if "without noise" in what], found


def test_bars_that_are_too_narrow_or_too_wide_are_found(tmp_path, monkeypatch):
    bars = "the bars of counts and sums, by the law of their noise"
    whole = DiscreteLaplace.simultaneous_margin
    for factor in (0.8, 1.3):
        monkeypatch.setattr(DiscreteLaplace, "simultaneous_margin", lambda *asked, f=factor: int(f * whole(*asked)))
        assert bars in failed(truth.noiseless(Room(tmp_path)))


def test_bars_of_several_cells_that_are_too_narrow_are_found(tmp_path, monkeypatch):
    whole = linear.sum_margin
    monkeypatch.setattr(linear, "sum_margin", lambda *asked: 0.9 * whole(*asked))
    assert failed(truth.noiseless(Room(tmp_path))) == ["the bars of counts and sums, by the law of their noise"]


def test_a_mean_that_is_moved_is_found(tmp_path, monkeypatch):
    whole = partition.ratio_interval
    monkeypatch.setattr(partition, "ratio_interval", lambda *a, **k: [each + 0.01 for each in whole(*a, **k)])
    bad = failed(truth.noiseless(Room(tmp_path)))
    assert "mean without noise (seed 19)" in bad


def test_a_quantile_of_another_rank_is_found(tmp_path, monkeypatch):
    whole = quantiles.Quantiles.estimate

    def estimate(self, statistic, *asked):
        made = whole(self, statistic, *asked)
        return type(made)(made.low, made.low, made.low)

    monkeypatch.setattr(quantiles.Quantiles, "estimate", estimate)
    with pooled() as root:
        assert not truth._ranks(Running(Room(tmp_path), root)).passed


def test_a_kind_that_is_not_tried_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(truth, "get_args", lambda _: ["count", "mode"])
    assert failed(truth.noiseless(Room(tmp_path))) == ["every statistic is tried without noise"]
