"""The check of reading passes on this build, and fails where one cell, name or line changes how others are read."""

from __future__ import annotations

import pandas as pd
import pytest

from lapwing.auditing.audit import CHECKS
from lapwing.auditing.checks import beside, lines, naming
from lapwing.auditing.checks import reading as module
from lapwing.auditing.room import Room
from lapwing.auditing.tools.asking import Asking, Refused
from lapwing.engine import duckdb as engine
from lapwing.engine import frames, names, parquet, records, table


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


@pytest.fixture
def pandas():
    return next(each for each in beside.libraries() if isinstance(each, beside.Library))


def failing(findings):
    return {finding.what for finding in findings if not finding.passed}


def test_every_cell_row_and_name_is_read_by_itself_on_this_build(room):
    found = list(module.reading(room))
    assert [each for each in found if not each.passed] == []
    assert len({each.what for each in found}) == len(found) == 137
    assert {each.false_alarm for each in found} == {0.0}
    assert CHECKS["reading"].check is module.reading


def test_a_library_that_is_not_installed_is_named_and_not_looked_at(room, monkeypatch):
    for each in (module, beside, naming, lines):
        monkeypatch.setattr(each, "find_spec", lambda name: None)
    for name in ("formats", "written"):  # they have tests of their own
        monkeypatch.setattr(module, name, lambda room: iter(()))
    found = {each.what: each for each in module.reading(room)}
    assert failing(found.values()) == set()
    for library in ("pandas", "polars", "pyarrow"):
        assert found[library].told == f"{library} is not installed here: its frames were not checked"
    assert found["CSV of Polars"].told == "polars is not installed here: its files were not checked"
    assert found["names of Parquet"].told == "pyarrow is not installed here: names of Parquet were not checked"
    assert "names of a relation" in found


def test_polars_without_pyarrow_is_not_looked_at(room, monkeypatch, pandas):
    polars = next(each for each in beside.libraries() if isinstance(each, beside.Library) and each.name == "Polars")
    monkeypatch.setattr(module, "libraries", lambda: iter([polars]))
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    first = next(iter(module.reading(room)))
    assert first.passed
    assert first.told == "pyarrow is not installed here: frames of Polars, which need it, are refused"


def test_cells_that_are_read_by_the_type_of_their_column_are_found(room, monkeypatch, pandas):
    monkeypatch.setattr(beside, "CELLS", {name: beside.CELLS[name] for name in ("truth values", "words")})
    number = frames._number
    monkeypatch.setattr(frames, "_number", lambda value: None if isinstance(value, bool) else number(value))
    found = list(beside.beside(room, pandas))
    assert failing(found) == {"pandas: truth values beside one odd cell"}
    assert "farthest beside None" in found[0].told


def test_cells_that_are_wrong_from_the_start_are_found(room, monkeypatch, pandas):
    wrong = beside.Cells(["a"], ("{text} = 'b'",))
    monkeypatch.setattr(beside, "CELLS", {"words": wrong})
    (found,) = beside.beside(room, pandas)
    assert not found.passed
    assert "0 of 12 rows have their values when they are alone" in found.told


def test_a_frame_that_one_cell_makes_unreadable_is_found(room, monkeypatch, pandas):
    monkeypatch.setattr(beside, "CELLS", {"words": beside.CELLS["words"]})

    def converted(values, kind):
        return [value.upper() for value in values]  # fails for what is no text

    monkeypatch.setattr(frames, "converted", converted)
    (found,) = beside.beside(room, pandas)
    assert not found.passed
    assert found.told.startswith("a frame is refused: ")


def test_people_that_become_one_are_found(room, monkeypatch, pandas):
    monkeypatch.setattr(frames, "_person", lambda value: None if value is None else str(value))
    found = module._people(room, pandas)
    assert not found.passed
    assert "numbers and texts beside" in found.told


def test_people_as_floats_are_found(room, monkeypatch, pandas):
    monkeypatch.setattr(engine.reading, "person", lambda kind, *_, **how: "CAST({x} AS VARCHAR)")
    found = module._missing_person(room, pandas)
    assert not found.passed
    assert found.told.endswith("people are counted, of 128")


def test_a_refusal_after_the_charge_is_told_from_one_before(room, monkeypatch):
    asking = Asking(room, {"x": "text"})
    missing = asking.integers(str(room.path("csv")))
    assert isinstance(missing, Refused)
    assert str(missing) == "refused before the charge"
    monkeypatch.setattr(engine, "_make_source", None)
    monkeypatch.setattr(engine.DuckDBTable, "_try", lambda *_: None)
    late = asking.integers(pd.DataFrame({"x": ["a"]}))
    assert isinstance(late, Refused)
    assert str(late) == "refused after the charge"


def test_names_without_case_are_found(room, monkeypatch):
    def places(source, wanted, listed):
        found = [str(each).lower() for each in listed]
        return [found.index(name.lower()) if name.lower() in found else None for name in wanted]

    monkeypatch.setattr(table, "places", places)
    with engine.duckdb.connect() as connection:
        assert not naming._form(room, "a relation", connection).passed


def test_a_table_that_is_always_refused_is_found(room, monkeypatch):
    monkeypatch.setattr(names, "folded", lambda name: "")
    with engine.duckdb.connect() as connection:
        assert not naming._form(room, "CSV", connection).passed


def test_files_of_a_glob_that_are_not_compared_are_found(room, monkeypatch):
    fields = parquet.parquet_fields
    monkeypatch.setattr(parquet, "parquet_fields", lambda connection, files: fields(connection, files[:1]))
    assert len(failing(naming._globs(room))) >= 3


def test_lines_that_are_taken_for_records_are_found(room, monkeypatch):
    signs = records._signs

    def without_quotes(*given):
        found = signs(*given)
        return found._replace(quoted=found.quoted & False)

    monkeypatch.setattr(records, "_signs", without_quotes)
    assert "CSV: a cell in quotes of 100 lines" in failing(lines._numbers(room))
    assert not lines._large(room).passed


def test_quotes_that_stay_open_are_found(room, monkeypatch):
    monkeypatch.setattr(records, "_check_quotes", lambda *_: None)
    found = lines._refused(room)
    assert not found.passed
