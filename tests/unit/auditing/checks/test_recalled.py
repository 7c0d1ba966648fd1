"""The check of answers that are read back passes on this build, and fails on builds that read them in another way."""

from __future__ import annotations

import pytest

from lapwing.auditing.checks import recalled as module
from lapwing.auditing.room import Room
from lapwing.errors import InvalidSource
from lapwing.release import recall as release_recall


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def test_L2_answers_are_read_back_as_they_were_asked_on_this_build(room):
    found = module.recalled(room)
    assert found.passed, found.told


def test_every_kind_of_question_and_every_field_of_a_source_is_changed():
    pairs = module._pairs(deep=False)
    assert {first.call for first, _ in pairs} == {"release", "discover", "bounds", "rows_per_person"}
    changed = {other.parameter for _, other in pairs}
    assert {f"{name} of Source" for name in ("name", "person", "neighbors", "version", "file", "joins")} <= changed
    assert {"low of number", "values of keys", "first of dates", "text of expression", "codes of recode"} <= changed
    assert len(module._pairs(deep=True)) > 2 * len(pairs)


def test_an_answer_that_is_read_whatever_has_changed_is_found(room, monkeypatch):
    monkeypatch.setattr(release_recall, "_refuse_changed", lambda *given: None)
    found = module.recalled(room)
    assert not found.passed
    assert "what is shown is not the question that was recorded" in found.told


def test_a_source_that_may_not_be_shown_in_another_way_is_found(room, monkeypatch):
    def never(schema, ledger, number):
        raise InvalidSource("t", "has changed", "")

    monkeypatch.setattr(module, "recall", never)
    found = module.recalled(room)
    assert not found.passed
    assert "it is refused" in found.told
