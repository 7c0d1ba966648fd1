"""The check of cuts and of dressed-up questions passes on this build, and fails on builds that get them wrong."""

import pytest

from lapwing.auditing.checks import cuts as module
from lapwing.auditing.room import Room
from lapwing.question import rewrite
from lapwing.question.cut import WHOLE
from lapwing.release import cutting
from lapwing.release.result import Release


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def failures(found):
    return [each.what for each in found if not each.passed]


def test_this_build_passes(room):
    found = list(module.cuts(room))
    assert (len(found), failures(found)) == (3, [])


def test_a_cut_that_shows_everything_is_found(room, monkeypatch):
    monkeypatch.setattr(Release, "showing", lambda self, cut: self._seen(shown=WHOLE))
    assert failures(module.cuts(room)) == ["R3: a cut shows the released rows that it says"]


def test_a_comparison_that_is_off_by_one_is_found(room, monkeypatch):
    monkeypatch.setitem(cutting._OPERATORS, ">=", cutting._OPERATORS[">"])
    assert failures(module.cuts(room)) == ["R3: a cut shows the released rows that it says"]


def test_a_question_that_is_refused_when_it_is_dressed_up_is_found(room, monkeypatch):
    monkeypatch.setattr(rewrite, "_MOST_NODES", 3)
    assert failures([module._in_another_dress(room)]) != []
