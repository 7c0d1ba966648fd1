"""The check of questions in SQL passes on this build, and fails on builds that read them wrongly."""

from fractions import Fraction

import pytest

from lapwing.auditing.checks import questions as module
from lapwing.auditing.room import Room
from lapwing.question import condition, grouping, ratios, rewrite, sql
from lapwing.question.query import variance

REFUSED = "T16: questions in SQL are refused by the rules, and only by them"
MEANT = "L2: a question in SQL means what it says, in every field"


@pytest.fixture
def schema():
    return module.schema_of()


def failures(found):
    return [each.what for each in found if not each.passed]


def test_this_build_passes(tmp_path):
    found = list(module.questions(Room(tmp_path)))
    assert (len(found), failures(found)) == (8, [])


def test_a_comparison_that_is_not_turned_is_found(schema, monkeypatch):
    monkeypatch.setitem(condition.TURNED, "<", "<")
    assert failures([module._meaning(schema)]) == [MEANT]


def test_another_variance_is_found(schema, monkeypatch):
    monkeypatch.setattr(sql.query, "variance", lambda x, sample=True: variance(x, sample=True))
    assert failures([module._meaning(schema)]) == [MEANT]


def test_a_factor_that_is_lost_is_found(schema, monkeypatch):
    read = ratios._factors
    monkeypatch.setattr(ratios, "_factors", lambda node: (*read(node)[:2], Fraction(1)))
    assert failures([module._meaning(schema)]) == [MEANT]


def test_a_name_of_another_table_is_found(schema, monkeypatch):
    monkeypatch.setattr(rewrite, "_check_qualifier", lambda column, rows: None)
    assert failures(module.refusals("questions in SQL", module._text_rules(schema), [rewrite], {}))[0] == REFUSED


def test_a_key_that_is_named_twice_is_found(schema, monkeypatch):
    monkeypatch.setattr(grouping, "_refuse_twice", lambda names: None)
    found = list(module.refusals("questions in SQL", module._text_rules(schema), [grouping], module.NEVER))
    assert failures(found)[0] == REFUSED


def test_what_is_answered_although_it_breaks_a_rule_is_found(tmp_path, monkeypatch, frozen_noise):
    monkeypatch.setattr(module, "TEXT_RULES", [module.TextRule("a rule", "", (), ("SELECT COUNT(*) FROM t",))])
    assert failures([module._free(Room(tmp_path))]) == ["L1: a question in SQL that is refused is not charged"]
