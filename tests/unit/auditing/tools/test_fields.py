"""Questions that differ in one place, made from the parameters of the product."""

from __future__ import annotations

from dataclasses import dataclass

import lapwing as lw
from lapwing.auditing.tools import fields, leaves
from lapwing.question import query
from lapwing.source import Source


def test_every_parameter_of_the_product_has_values():
    assert fields.unknown() == []


def test_a_parameter_that_is_added_is_reported(monkeypatch):
    def mean(column: str, *, trim: float = 0) -> Statistic:  # noqa: F821
        return query.mean(column)

    mean.__module__ = query.__name__
    mean.__annotations__["return"] = "Statistic"
    monkeypatch.setattr(query, "trimmed", mean, raising=False)
    monkeypatch.delitem(fields.SOURCE, "version")
    monkeypatch.delitem(fields.CALLS["discover"], "keys_per_person")
    monkeypatch.delitem(fields.DECLARED["keys"], "other")
    lost = ["version of Source", "keys_per_person of discover", "trim of trimmed", "other of keys"]
    assert fields.unknown() == lost


def test_a_method_that_charges_is_found_by_its_analyst(monkeypatch):
    def scatter(self, column, *, epsilon, analyst=None):
        pass

    monkeypatch.setattr(Source, "scatter", scatter, raising=False)
    assert set(fields.asking()) == {"release", "sql", "discover", "bounds", "rows_per_person", "scatter"}
    assert fields.unknown() == ["column of scatter", "epsilon of scatter"]


def test_questions_have_names_of_their_own_and_differ_from_their_bases():
    asked = list(fields.questions())
    by_name = {each.what: each for each in asked}
    assert len(by_name) > 300
    for each in asked:
        if each.base in by_name:
            base = by_name[each.base]
            assert told(each) != told(base)


def told(asked):
    """Return all that a question is made of; joins are equal whatever tables they name."""
    tables = [join.table for join in asked.described.get("joins", ())]
    return asked.call, asked.args, asked.options, asked.described, tables


@dataclass(frozen=True)
class Inner:
    low: int
    high: int


@dataclass(frozen=True)
class Outer:
    name: str
    parts: tuple[Inner, ...]


def test_the_fields_in_which_two_values_differ():
    one = Outer("a", (Inner(1, 2), Inner(3, 4)))
    assert leaves.differing(one, one) == set()
    assert leaves.differing(one, Outer("b", one.parts)) == {"Outer.name"}
    assert leaves.differing(one, Outer("a", (Inner(1, 2), Inner(3, 5)))) == {"Inner.high"}
    assert "Outer.parts" in leaves.differing(one, Outer("a", one.parts[:1]))
    assert leaves.all_fields(one) == {"Outer.name", "Outer.parts", "Inner.low", "Inner.high"}
    assert leaves.differing(lw.number(0, 1), lw.number(0, "1.0")) == set()


def test_numbers_and_texts_that_look_the_same_differ():
    assert leaves.differing(Outer("1", ()), Outer(1, ())) == {"Outer.name"}
