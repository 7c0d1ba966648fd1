"""One description of a source, written in every way."""

from __future__ import annotations

import tomllib

import pytest

from lapwing import source_file
from lapwing.auditing.room import Room
from lapwing.auditing.tools import described as module
from lapwing.auditing.tools.described import DESCRIBED, described, not_described, place


def test_every_parameter_and_field_is_used():
    assert not_described() == []


def test_a_field_that_is_added_is_reported(monkeypatch):
    monkeypatch.setattr(module, "FIELDS", (*source_file.FIELDS, "owner"))
    monkeypatch.setattr(module, "COLUMN_FIELDS", (*source_file.COLUMN_FIELDS, "origin"))
    assert not_described() == ["owner of a source file", "origin of a column"]


@pytest.mark.parametrize("each", DESCRIBED, ids=lambda each: each.what)
def test_a_file_holds_what_is_described(each, tmp_path):
    held = tomllib.loads(each.file("table.csv", tmp_path).read_text())
    assert {**held, "columns": None, "table": None} == {**each.fields, "columns": None, "table": None}
    assert held["columns"] == {name: fields for name, (fields, _) in module.EVERY.items()}


def test_what_two_sources_hold_is_compared_by_value(tmp_path):
    table = str(tmp_path / place(Room(tmp_path), "parquet", tmp_path))
    one, same = (DESCRIBED[0].python(table, tmp_path) for _ in range(2))
    other = DESCRIBED[1].python(table, tmp_path)
    assert described(one) == described(same) != described(other)
    assert described(one)["schema/person"] == "str p"
