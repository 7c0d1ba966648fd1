"""The audit of values that the bare mechanism refuses: it passes on this build, and sees one that is shown."""

import pytest

from lapwing.auditing.checks import bare
from lapwing.auditing.room import Room
from lapwing.errors import InvalidValue


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def test_T24_values_that_are_refused_are_not_shown_on_this_build(room):
    assert [each.passed for each in bare.bare(room)] == [True, True]


def test_T24_a_value_in_an_error_is_found(room, monkeypatch):
    def refuse(value, **_):
        raise InvalidValue(f"equal to {value}", "Give another one.")

    monkeypatch.setattr(bare, "laplace", refuse)
    found = next(bare.bare(room))
    assert not found.passed
    assert "canary-7f3a" in found.told


def test_T24_a_value_that_is_not_refused_is_found(room, monkeypatch):
    monkeypatch.setattr(bare, "laplace", lambda value, **_: value)
    assert not next(bare.bare(room)).passed
