"""The check of the noise: it passes as things are, and fails when they are not.

A finding of a correct build fails with probability at most 1e-9.  Broken builds are looked at with frozen noise; the
sizes are such that one would pass only eight standard deviations away from what is found on average.
"""

from functools import cached_property

import numpy as np
import pytest

from lapwing.auditing.checks import bound
from lapwing.auditing.room import Room
from lapwing.measure import measurement
from lapwing.noise.sampler import discrete_laplace
from lapwing.question.schema import Schema
from lapwing.release.discover import KeyPlan


def test_real_releases_show_no_more_than_the_epsilon_that_is_charged_and_no_less(tmp_path):
    found = list(bound.findings(Room(tmp_path), 0.1))
    assert [each.told for each in found if not each.passed] == []
    assert [each.what for each in found] == [
        "count, with a row more",
        "sum, with a row more",
        "mean, with a row more at a bound",
        "mean, its two cells together",
        "mean, with a row more in the middle",
        "proportion, with a row more",
        "histogram, with a row in another bin",
        "count of people's rows, with a person more",
        "discover, with a person more",
        "discover, keys of a single person",
        "median, with a row more",
    ]
    assert all(each.false_alarm == 1e-9 for each in found)


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize("factor", [0.85, 1.15])
def test_a_wrong_scale_is_found(factor, tmp_path, monkeypatch):
    def scaled(scale, size, entropy, progress=None):
        return discrete_laplace(scale * int(factor * 100) / 100, size)

    monkeypatch.setattr(measurement, "draws", scaled)
    assert not bound._counts(Room(tmp_path), 50_000).passed


def test_one_noise_for_all_cells_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(measurement, "draws", lambda scale, size, entropy, progress=None: np.full(size, 1))
    assert not bound._counts(Room(tmp_path), 1000).passed


@pytest.mark.usefixtures("frozen_noise")
def test_one_noise_for_the_cells_of_a_measurement_is_found(tmp_path, monkeypatch):
    kept = {}

    def same(scale, size, entropy, progress=None):
        if (scale, size) not in kept:
            kept.clear()
            kept[scale, size] = discrete_laplace(scale, size)
        return kept[scale, size].copy()

    monkeypatch.setattr(measurement, "draws", same)
    found = {each.what: each.passed for each in bound._means(Room(tmp_path), 1000)}
    assert not found["mean, its two cells together"]


@pytest.mark.usefixtures("frozen_noise")
def test_a_sensitivity_forgotten_for_change_one_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(
        measurement.Measurement, "sensitivity", lambda own, setting: setting.schema.person_l1 * own.mass
    )
    assert not bound._moves(Room(tmp_path), 6000).passed
    assert bound._sums(Room(tmp_path), 1000).passed


@pytest.mark.usefixtures("frozen_noise")
def test_a_sensitivity_without_the_rows_of_a_person_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(Schema, "person_l1", property(lambda own: own.row_weight))
    assert not bound._people(Room(tmp_path), 4000).passed


@pytest.mark.usefixtures("frozen_noise")
def test_a_threshold_one_too_low_is_found(tmp_path, monkeypatch):
    right = KeyPlan.threshold.func
    low = cached_property(lambda own: right(own) - 1)
    low.__set_name__(KeyPlan, "threshold")
    monkeypatch.setattr(KeyPlan, "threshold", low)
    assert [each.passed for each in bound._keys(Room(tmp_path), 30_000)] == [True, False]
