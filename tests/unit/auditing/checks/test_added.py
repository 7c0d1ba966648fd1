"""The check of bare mechanisms and of the catalogue: it passes as Lapwing is, and fails on faults."""

from fractions import Fraction as F
from random import Random

import numpy as np
import pytest

from lapwing.auditing.checks import added
from lapwing.auditing.room import Room
from lapwing.noise import mechanism
from lapwing.noise.mechanism import LaplaceMechanism, OutputGrid
from lapwing.sensitivity import CATALOGUE


def failed(findings):
    return [finding.what for finding in findings if not finding.passed]


def test_mechanisms_are_as_promised(tmp_path):
    found = list(added.added(Room(tmp_path)))
    assert failed(found) == []
    assert sum(finding.false_alarm for finding in found) == 0
    assert len({finding.what for finding in found}) == len(found)


def test_a_grid_that_does_not_count_the_rounding_is_found(monkeypatch):
    whole = mechanism._grid
    monkeypatch.setattr(
        mechanism,
        "_grid",
        lambda *asked: OutputGrid(whole(*asked).exponent, whole(*asked).scale - asked[2] / asked[1]),
    )
    assert not added._grids(Random(1), 20).passed
    assert not added._losses(Random(1), 20).passed


def test_noise_that_is_much_larger_than_needed_is_found(monkeypatch):
    monkeypatch.setattr(LaplaceMechanism, "scale", property(lambda self: 2 * self.sensitivity / self.epsilon))
    assert not added._parameters(Random(1), 1).passed
    assert not added._losses(Random(1), 20).passed


def test_a_list_in_which_truth_values_pass_is_found(monkeypatch):
    monkeypatch.setattr(mechanism, "_NOT_WHOLE", (np.timedelta64,))
    assert not added._others().passed


def test_values_that_wrap_around_are_found(monkeypatch):
    monkeypatch.setattr(mechanism, "_saturating_add", lambda values, others: values + others)
    assert not added._whole(Random(1)).passed


@pytest.mark.parametrize(("name", "factor"), [("response_rms", 0.99), ("response_margin", 0.5)])
def test_a_wrong_estimate_is_found(monkeypatch, name, factor):
    whole = getattr(mechanism, name)
    monkeypatch.setattr(mechanism, name, lambda *asked: factor * whole(*asked))
    assert any("estimates" in what for what in failed(added._responses(Random(1))))


def test_an_entry_of_the_catalogue_that_is_wrong_or_unknown_is_found(monkeypatch):
    entry = CATALOGUE["sum"]
    monkeypatch.setitem(CATALOGUE, "sum", type(entry)(**{**vars(entry), "sensitivity": lambda *_, **__: F(7)}))
    monkeypatch.setitem(CATALOGUE, "mode", entry)
    assert failed(added._catalogue(Random(1))) == [
        "lw.sensitivity.sum, with bounds anywhere",
        "lw.sensitivity.mode, anywhere",
    ]
