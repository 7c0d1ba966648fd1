"""The check of files without a header passes on this build, and fails on builds whose ``init`` takes a row for one."""

from __future__ import annotations

import pytest

from lapwing.auditing.checks import headerless as module
from lapwing.auditing.room import Room
from lapwing.engine import header, records
from lapwing.engine.csv_files import CsvFiles


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def test_T24_init_takes_no_row_for_a_header_on_this_build(room):
    found = module.headerless(room)
    assert found.passed, found.told


def test_files_are_written_in_many_ways():
    texts = [each.text for each in module._files()]
    assert len(set(texts)) > 100
    for sign in (";", "\t", "|", '"', "\r\n", "\ufeff"):
        assert sum(sign in text for text in texts) > 5


def test_an_init_that_does_not_look_is_found(room, monkeypatch):
    monkeypatch.setattr(CsvFiles, "check_names", lambda self: None)
    found = module.headerless(room)
    assert not found.passed
    assert "canary" in found.told


@pytest.mark.parametrize("lost", ["is_value", "shape"])
def test_a_rule_that_is_lost_is_found(room, monkeypatch, lost):
    monkeypatch.setattr(header, lost, lambda cell: "" if lost == "shape" else False)
    assert not module.headerless(room).passed


def test_an_init_that_refuses_everything_is_found(room, monkeypatch):
    monkeypatch.setattr(records, "begins_with_a_row", lambda file, form: "it is refused")
    with pytest.raises(Exception, match="it is refused"):
        module.headerless(room)
