"""The audit of formats passes on this build, and sees a reader that is broken on purpose."""

import pytest

from lapwing.auditing.checks.formats import formats
from lapwing.auditing.room import Room
from lapwing.engine import frames, partitions


def failed(folder):
    return [finding.what for finding in formats(Room(folder)) if not finding.passed]


def test_every_format_is_read_alike_here(tmp_path):
    assert failed(tmp_path) == []


@pytest.mark.parametrize(
    ("place", "name", "broken", "seen"),
    [
        (partitions, "value_sql", lambda values: "CAST('a' AS VARCHAR)", "one table in every format"),
        (frames, "converted", lambda column, kind: [None] * len(column), "SQLite: people in one column"),
    ],
)
def test_a_broken_reader_is_seen(place, name, broken, seen, tmp_path, monkeypatch):
    monkeypatch.setattr(place, name, broken)
    assert seen in failed(tmp_path)
