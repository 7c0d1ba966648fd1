"""The audit of tables whose keys lie within others: it passes on this build, and sees levels that are wrong."""

from dataclasses import replace

import pytest

from lapwing.auditing.checks import hierarchies
from lapwing.auditing.room import Room
from lapwing.measure import adding_up
from lapwing.plan.several import SeveralTables


@pytest.fixture
def room(tmp_path, frozen_noise):
    return Room(tmp_path)


def failures(room):
    return [each.what for each in hierarchies.hierarchies(room) if not each.passed]


def test_this_build_passes(room):
    found = [*hierarchies.hierarchies(room)]
    assert [each.passed for each in found] == [True] * 6
    assert sum(each.false_alarm for each in found) == 0


def test_a_level_that_is_measured_for_free_is_found(room, monkeypatch):
    whole = SeveralTables.settings

    def larger(self, part):
        return (
            replace(each, epsilon=part.epsilon if each.query.by == ("region",) else each.epsilon)
            for each in whole(self, part)
        )

    monkeypatch.setattr(SeveralTables, "settings", larger)
    assert [each for each in failures(room) if "levels of" in each] == failures(room)[:4]


def test_levels_that_are_rounded_apart_are_found(room, monkeypatch):
    whole = adding_up.add_up
    monkeypatch.setattr(adding_up, "add_up", lambda tables, grid, chain: whole(tables, grid))
    assert failures(room) == ["levels add up to the last digit"]
