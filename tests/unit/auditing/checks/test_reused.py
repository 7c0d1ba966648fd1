"""The check of answers from released tables passes on this build, and fails on builds that get them wrong."""

import pytest

from lapwing.auditing.checks import reused as module
from lapwing.auditing.room import Room
from lapwing.release import reuse


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def failures(found):
    return [each.told for each in found if not each.passed]


def test_this_build_passes(room):
    found = list(module.reused(room))
    assert (len(found), failures(found)) == (4, [])


def test_less_precise_answers_are_found(room, monkeypatch):
    monkeypatch.setattr(reuse, "_as_precise", lambda earlier, plan: True)
    (told, *_) = failures(module.reused(room))
    assert "more ε" in told


def test_answers_about_other_rows_are_found(room, monkeypatch):
    monkeypatch.setattr(reuse, "leaves_out", lambda schema, query, key: False)
    (told,) = failures([module._left_out(room)])
    assert "answered from the record" in told


def test_answers_that_are_never_taken_from_the_record_are_found(room, monkeypatch):
    monkeypatch.setattr(reuse, "shown_of", lambda plan, earlier: None)
    assert "one of its tables is not answered from the record" in failures(module.reused(room))[0]
