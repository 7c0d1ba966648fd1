"""The check of what a question is passes on this build, and fails on builds that lose a part of it."""

from __future__ import annotations

import pytest

from lapwing import errors
from lapwing.auditing.checks import identity as module
from lapwing.auditing.checks import syntax as syntax_module
from lapwing.auditing.checks.syntax import syntax
from lapwing.auditing.room import Room
from lapwing.auditing.tools import asker as asker_module
from lapwing.measure import kinds
from lapwing.question import conditions as asked_conditions
from lapwing.question import query, sql
from lapwing.question.schema import Column
from lapwing.release import pipeline
from lapwing.release.discover import KeyPlan


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def failures(found):
    return [each.what for each in found if not each.passed]


def told_apart(room):
    """Return what fails of the questions that differ in one place, before any is asked."""
    with module.new_asker(room) as asker:
        found = module._told_apart(asker)
        return failures([next(found), next(found)])


def test_L2_holds_on_this_build(room):
    found = list(module.identity(room))
    assert failures(found) == []
    assert len({each.what for each in found}) == len(found)
    assert sum(each.false_alarm for each in found) == 0


@pytest.mark.parametrize("part", ["query", "columns", "split", "neighbors", "version", "rows_per_person"])
def test_a_part_that_is_not_in_the_question_is_found(room, monkeypatch, part):
    whole = pipeline.question
    monkeypatch.setattr(asker_module, "question", lambda plan: {**whole(plan), part: None})
    assert "L2: questions that read, scale or group in another way are other questions" in told_apart(room)


@pytest.mark.parametrize("part", ["query", "columns", "keys_per_person", "neighbors", "version", "person"])
def test_a_part_that_is_not_in_the_question_for_keys_is_found(room, monkeypatch, part):
    whole = KeyPlan.question
    monkeypatch.setattr(KeyPlan, "question", lambda self: {**whole(self), part: None})
    found = told_apart(room)
    if part == "query":  # the condition; the column is named twice
        assert found
    else:
        assert found or part == "columns"  # the type of a column is seen in its keys


def test_a_field_that_no_question_changes_is_found(room, monkeypatch):
    whole = module.questions
    monkeypatch.setattr(module, "questions", lambda: (each for each in whole() if "sample" not in each.what))
    assert told_apart(room) == ["L2: every field of a question makes another question"]


def test_an_answer_that_is_given_to_another_question_is_found(room, monkeypatch):
    whole = pipeline.question
    monkeypatch.setattr(pipeline, "question", lambda plan: {**whole(plan), "split": {}})
    with module.new_asker(room) as asker:
        for weights in ({"x": 3, "y": 1}, {"x": 1, "y": 3}):
            statistics = (query.sum("x"), query.sum("y"))
            asker.add(module.AskedQuestion(str(weights), "release", statistics, {"epsilon": 1, "weights": weights}))
        assert len(asker.wrong) == 1
        assert "are not its own" in asker.wrong[0]


def test_sums_that_are_swapped_by_the_order_of_the_statistics_are_found(room, monkeypatch):
    monkeypatch.setattr(kinds, "sorted", lambda each, key=None: list(each), raising=False)
    with module.new_asker(room) as asker:
        assert "L2: another order of the statistics is the same question" in failures(module._in_other_words(asker))


def test_conditions_without_brackets_are_found(room, monkeypatch):
    monkeypatch.setattr(asked_conditions, "_inside", str)
    assert "L2: a condition in the ledger is read as it was asked" in failures(module.conditions(room))


def test_conditions_that_are_read_wrongly_are_found(room, monkeypatch):
    monkeypatch.setitem(asked_conditions._OPPOSITE, "<", ">")
    assert "L2: a condition is read as SQL means it" in failures(module.conditions(room))


def test_values_that_cannot_occur_and_are_asked_are_found(room, monkeypatch):
    monkeypatch.setattr(sql, "check_literals", lambda condition, schema: None)
    told = "L2: a condition is refused if a value in it cannot occur by the declaration, and only then"
    assert failures(module.conditions(room)) == [told]


def test_labels_that_are_part_of_a_question_are_found(room, monkeypatch):
    describe = Column.describe
    monkeypatch.setattr(Column, "describe", lambda self: {**describe(self), "labels": self.labels})
    with module.new_asker(room) as asker:
        assert "L2: another presentation is the same question" in failures(module._in_other_words(asker))


def test_a_record_that_shows_another_answer_is_found(tmp_path, monkeypatch):
    whole = module.recall
    with module.new_asker(Room(tmp_path, deep=True)) as asker:
        asker.add(module.AskedQuestion("small", "release", (query.sum("x"),), {"epsilon": 1}))
        asker.add(module.AskedQuestion("large", "release", (query.sum("x"),), {"epsilon": 2}))
        assert module._recorded(asker).passed
        first = next(each.number for each in asker.opened.entries() if each.kind == "charge")
        monkeypatch.setattr(module, "recall", lambda schema, ledger, number: whole(schema, ledger, first))
        assert not module._recorded(asker).passed


def test_a_word_of_sql_that_has_no_effect_is_found(monkeypatch):
    whole = syntax_module.read

    def without_desc(text, schema):
        return whole(text.replace("ORDER BY x DESC", "ORDER BY x"), schema)

    monkeypatch.setattr(syntax_module, "read", without_desc)
    (found,) = syntax()
    assert not found.passed
    assert "ORDER BY x DESC" in found.told


def test_a_question_of_sql_that_is_no_longer_accepted_is_found(monkeypatch):
    def refuse(text, schema):
        raise errors.InvalidRequest("refused", "")

    monkeypatch.setattr(syntax_module, "read", refuse)
    (found,) = syntax()
    assert not found.passed


def test_questions_for_several_tables_are_told_apart_by_their_tables():
    (found,) = syntax_module.tables()
    assert found.passed
    assert "247 choices" in found.told


def test_a_text_that_leaves_out_a_table_is_found(monkeypatch):
    whole = query.Query.text

    def without_total(self):
        return whole.fget(self).replace("GROUPING SETS ((), ", "GROUPING SETS (")

    monkeypatch.setattr(query.Query, "text", property(without_total))
    (found,) = syntax_module.tables()
    assert not found.passed


def test_a_table_that_is_not_asked_is_found(monkeypatch):
    monkeypatch.setattr(sql, "canonical", lambda tables, *_: (("a", "b", "c"), tuple(map(tuple, tables[1:]))))
    (found,) = syntax_module.tables()
    assert not found.passed
