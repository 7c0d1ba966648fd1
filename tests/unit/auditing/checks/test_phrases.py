"""The check of what questions are made of: it passes as things are, and fails when they are not."""

from fractions import Fraction

import pytest

from lapwing.auditing.checks import grids_compared, phrase_rules, phrase_texts, phrases, plan_rules, said_in_json
from lapwing.auditing.room import Room
from lapwing.auditing.tools.refusing import refusals
from lapwing.plan import planning
from lapwing.question import condition, grids, statistic_json
from lapwing.question.schema import Grid


def failed(findings):
    return [each.what for each in findings if not each.passed]


@pytest.mark.usefixtures("frozen_noise")
def test_what_is_said_means_what_it_should(tmp_path):
    found = list(phrases.phrases(Room(tmp_path)))
    assert [each.told for each in found if not each.passed] == []
    assert len({each.what for each in found}) == len(found) == 15
    assert all(each.false_alarm == 0 for each in found)


def test_an_argument_that_is_lost_in_json_is_found(monkeypatch):
    right = statistic_json.statistic_to_dict
    monkeypatch.setattr(
        said_in_json, "statistic_to_dict", lambda each: {k: v for k, v in right(each).items() if k != "share"}
    )
    assert "T16: a statistic in Python and in JSON holds what it states" in failed(said_in_json.said_in_json())


def test_an_argument_that_is_not_checked_is_found(monkeypatch):
    make, known = statistic_json._MAKE["mean"]
    monkeypatch.setitem(statistic_json._MAKE, "mean", (lambda q=None, **given: make(**given), (*known, "q")))
    found = refusals("phrases", said_in_json.json_rules(), [], {})
    assert failed(found) == ["T16: phrases are refused by the rules, and only by them"]


@pytest.mark.parametrize("fault", ["low", "bits"])
def test_a_wrong_grid_is_found(monkeypatch, fault):
    def coarser_by(step, bits):
        low, high = step.grid.low >> bits, -(-step.grid.high >> bits)
        grid = Grid(step.grid.step * 2**bits, low - (fault == "low"), high)
        return grids.GridStep("coarser", grid, (step,), (bits - (fault == "bits" and bits > 1), low))

    monkeypatch.setattr(grids, "_coarser_by", coarser_by)
    assert "X1: grids of expressions, their bounds and integers are right (seed 31)" in failed(
        grids_compared.grids_compared()
    )


def test_an_integer_beyond_64_bits_is_found(monkeypatch):
    monkeypatch.setattr(grids, "_LARGEST", 2**70)
    assert failed(grids_compared.grids_compared())


def test_a_comparison_that_is_turned_is_found(monkeypatch):
    monkeypatch.setitem(condition.TURNED, "<", "<=")
    assert failed(phrase_texts.phrase_texts()) == ["L2: expressions and conditions mean what they state"]


def test_a_literal_that_is_not_checked_is_found(monkeypatch):
    monkeypatch.setattr(condition, "check_literals", lambda *_: None)
    monkeypatch.setattr("lapwing.question.sql.check_literals", lambda *_: None)
    found = refusals("phrases", phrase_rules.phrase_rules(), [], {})
    assert failed(found) == ["T16: phrases are refused by the rules, and only by them"]


def test_shares_that_do_not_add_up_are_found(monkeypatch):
    part = planning.Part
    monkeypatch.setattr(planning, "Part", lambda each, epsilon: part(each, epsilon * Fraction(99, 100)))
    assert "P6: ε is split as it is asked, and adds up exactly" in failed(plan_rules.plans())


def test_more_epsilon_than_an_error_needs_is_found(monkeypatch):
    least = planning._least
    monkeypatch.setattr(planning, "_least", lambda enough: least(enough) + 1)
    assert "A: an error that is wanted gets the smallest ε that meets it" in failed(plan_rules.plans())


@pytest.mark.usefixtures("frozen_noise")
def test_a_parameter_that_is_not_checked_is_found(tmp_path, monkeypatch):
    make = planning.make_plan
    monkeypatch.setattr(
        "lapwing.plan.asked.make_plan", lambda *args, **options: make(*args, **{**options, "intervals": True})
    )
    assert not plan_rules.nothing_charged(Room(tmp_path)).passed
