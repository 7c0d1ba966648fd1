"""The audit of declarations: it passes on this build, and sees one that means something else or is not refused."""

from fractions import Fraction

import pytest

from lapwing import exact, source
from lapwing.auditing.checks import declarations, declared_columns, declared_files, numbers, sought
from lapwing.auditing.room import Room
from lapwing.question import schema
from lapwing.release import discover, rows_per_person


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def failing(families, about):
    found = declarations.meanings({about: families}, ())
    return [each.told for each in found if not each.passed]


def test_T16_declarations_mean_what_they_say_on_this_build(room, frozen_noise):
    assert [each.told for each in declarations.declarations(room) if not each.passed] == []


def test_T16_a_bound_that_is_read_as_another_is_found(monkeypatch):
    monkeypatch.setattr(exact, "finite", lambda asked, name: Fraction(str(asked)) + 1)
    (told,) = failing(declared_columns.columns(), "columns")
    assert "should be" in told


def test_T16_a_grid_that_is_too_coarse_is_found(monkeypatch):
    monkeypatch.setattr(schema, "_FINEST", 2**19)
    (told,) = failing(declared_columns.columns(), "columns")
    assert "Grid" in told


def test_T16_a_guard_that_is_dropped_is_found(monkeypatch):
    monkeypatch.setattr(schema, "one_kind", lambda listed: "text")
    (told,) = failing(declared_columns.columns(), "columns")
    assert "faults were found" in told


def test_T16_a_sign_that_cannot_delimit_is_found(monkeypatch):
    monkeypatch.setitem(declared_files.file.__globals__, "_check_signs", lambda delimiter, quote: None)
    (told,) = failing(declared_files.files(), "files")
    assert "accepted" in told


def test_T16_an_epsilon_that_is_rounded_up_is_found(monkeypatch):
    monkeypatch.setattr(exact.math, "floor", exact.math.ceil)
    (told,) = failing(numbers.numbers(), "numbers")
    assert "ε and δ" in told


def test_T16_a_delta_that_is_too_large_is_found(room, monkeypatch):
    monkeypatch.setattr(discover, "MOST_DELTA", Fraction(1, 10))
    (told,) = failing(sought.sought(room), "keys")
    assert "plans of keys" in told


def test_T16_a_margin_of_too_few_bins_is_found(room, monkeypatch):
    monkeypatch.setattr(rows_per_person, "BINS", 25)
    (told,) = failing(sought.sought(room), "rows per person")
    assert "faults were found" in told


def test_T16_a_call_that_charges_before_it_is_refused_is_found(room, monkeypatch, frozen_noise):
    def charging(self, column, *, epsilon, delta, **more):
        self.make_ledger().charge(column, 1)
        return usual(self, column, epsilon=epsilon, delta=delta, **more)

    usual = source.Source.discover
    monkeypatch.setattr(source.Source, "discover", charging)
    (told,) = failing(declarations.sources(room), "sources")
    assert "refused and not charged" in told


def test_T16_a_refusal_that_no_call_reaches_is_found():
    *_, last = declarations.meanings({"nothing": {}}, (schema,))
    assert not last.passed
    assert "lapwing.question.schema, line" in last.told
