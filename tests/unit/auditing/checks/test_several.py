"""The checks of several tables pass on this build, and fail on builds that get them wrong."""

from dataclasses import replace

import numpy as np
import pytest

from lapwing.auditing.checks import several, totals
from lapwing.auditing.room import Room
from lapwing.auditing.tools.neighbors import placed
from lapwing.measure import adding_up
from lapwing.measure.measurement import Measurement
from lapwing.plan.several import SeveralTables
from lapwing.release import pipeline
from lapwing.release.several import SeveralEstimator


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def failures(found):
    return [each.what for each in found if not each.passed]


def moves(room):
    return several.several_moves(room, {people: placed(room, people) for people in (True, False)})


def test_this_build_passes(room, frozen_noise):
    found = [*moves(room), *several.several_laws(room), *several.several_shown(room), *totals.totals(room)]
    assert failures(found) == []
    assert len(found) == 13 + 48 + 6 + 6
    assert sum(each.false_alarm for each in found) == 0


def test_a_table_that_gets_more_than_its_share_is_found(room, monkeypatch):
    whole = SeveralTables.settings

    def larger(self, part):
        return (replace(each, epsilon=each.epsilon * (3 if not each.query.by else 1)) for each in whole(self, part))

    monkeypatch.setattr(SeveralTables, "settings", larger)
    assert len(failures(moves(room))) == 12
    assert any("the record" in each for each in failures(several.several_laws(room)))


def test_noise_that_tables_share_is_found(room, monkeypatch):
    whole = Measurement.noisy
    kept = {}

    def shared(self, exact, setting, entropy, progress):
        if self.name not in kept:
            kept[self.name] = whole(self, exact, setting, entropy, progress)
        return [np.resize(cell, setting.groups) for cell in kept[self.name]]

    monkeypatch.setattr(Measurement, "noisy", shared)
    assert any("randomness" in each for each in failures(several.several_laws(room)))


def test_tables_that_do_not_add_up_are_found(room, monkeypatch, frozen_noise):
    monkeypatch.setattr(adding_up, "add_up", lambda tables, grid, _=None: adding_up.PublishedTables(grid, dict(tables)))
    assert "several tables add up to the last digit" in failures(several.several_shown(room))


def test_a_record_with_more_than_noisy_integers_is_found(room, monkeypatch):
    whole = pipeline._noisy
    monkeypatch.setattr(pipeline, "_noisy", lambda *given: {**whole(*given), "zeros": [1]})
    assert failures(several.several_laws(room))[0].startswith("the record of several tables")


def test_bars_that_leave_out_the_grid_or_draws_are_found(room, monkeypatch):
    monkeypatch.setattr(
        SeveralTables, "bar", lambda self, one, table, node, _, sure: self.noise_margin(one, table, node, sure)
    )
    assert len(failures(totals.totals(room))) >= 2
    monkeypatch.undo()
    whole = SeveralTables.draws
    monkeypatch.setattr(SeveralTables, "draws", lambda *given: [each._replace(times=1) for each in whole(*given)])
    assert len(failures(totals.totals(room))) == 6


def test_an_estimate_that_looks_at_the_table_is_found(room, monkeypatch, frozen_noise):
    whole = SeveralEstimator.cells

    def looking(self, part):
        return [cell + float(id(self.plan) % 2**20) for cell in whole(self, part)]

    monkeypatch.setattr(SeveralEstimator, "cells", looking)
    assert "several tables are shown from their record alone" in failures(several.several_shown(room))


def test_the_law_of_a_sum_is_that_of_draws():
    """Without weights it is a convolution of the law of N1, computed here by adding up."""
    law = {0: 1.0}
    one = {k: sampler_law(k, 2.0) for k in range(-60, 61)}
    for _ in range(3):
        law = convolved(law, one)
    margin = totals._margins(np.ones(3), np.full(3, 2.0), [0.9])[0]
    inside = [sum(p for k, p in law.items() if abs(k) <= m) for m in (margin, margin - 1)]
    assert inside[1] < 0.9 <= inside[0]


def sampler_law(k, scale):
    return np.tanh(1 / (2 * scale)) * np.exp(-abs(k) / scale)


def convolved(one, other):
    found = {}
    for a, p in one.items():
        for b, q in other.items():
            found[a + b] = found.get(a + b, 0.0) + p * q
    return found
