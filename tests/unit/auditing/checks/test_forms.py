"""The check of records and forms: it passes as Lapwing is, and fails where other numbers are recorded or shown."""

from random import Random

import numpy as np
import pytest

from lapwing.auditing.checks import forms
from lapwing.auditing.room import Room
from lapwing.measure import cells
from lapwing.measure.linear import Linear
from lapwing.measure.measurement import Estimate
from lapwing.release import result
from lapwing.release.discover import KeyPlan
from lapwing.release.groups import GroupKeys


def failed(findings):
    return [finding.what for finding in findings if not finding.passed]


@pytest.mark.usefixtures("frozen_noise")
def test_records_and_forms_hold_what_was_released(tmp_path):
    found = list(forms.forms_of_answers(Room(tmp_path)))
    assert failed(found) == []
    assert sum(finding.false_alarm for finding in found) == 0


def test_integers_that_are_cut_in_their_record_are_found(monkeypatch):
    whole = cells._as_bytes
    monkeypatch.setattr(cells, "_as_bytes", lambda values, width: whole(values & 0xFFFFFFFF, width))
    assert not forms._records(Random(1)).passed


def test_sums_that_wrap_around_are_found(monkeypatch):
    monkeypatch.setattr(cells, "largest", lambda values: 0)
    assert not forms._additions(Random(1)).passed


def test_rows_in_another_order_are_found(tmp_path, monkeypatch):
    whole = GroupKeys.places
    monkeypatch.setattr(GroupKeys, "places", lambda self, groups: [each[::-1] for each in whole(self, groups)])
    assert "the forms of an answer" in failed(forms._forms(Room(tmp_path)))


def test_a_file_with_other_numbers_is_found(tmp_path, monkeypatch):
    whole = result.csv_text

    def lower(columns, **named):
        return whole({**columns, "count": columns["count_low"]}, **named)

    monkeypatch.setattr(result, "csv_text", lower)
    assert failed(forms._forms(Room(tmp_path))) == ["the forms of an answer"]


@pytest.mark.usefixtures("frozen_noise")
def test_large_numbers_that_overflow_are_found(tmp_path, monkeypatch):
    def multiple(self, noisy, groups):
        value = noisy[groups].astype(object) * int(self.terms[0].weights[0])
        value = np.array([(int(each) + 2**63) % 2**64 - 2**63 for each in value], np.int64)
        return Estimate(value, value - float(self.margin), value + float(self.margin))

    monkeypatch.setattr(Linear, "_multiple", multiple)
    assert not forms._huge(Room(tmp_path), Random(1)).passed


@pytest.mark.parametrize("name", ["threshold", "surely"])
@pytest.mark.parametrize("off", [-1, 1])
def test_plans_for_keys_that_are_one_off_are_found(tmp_path, monkeypatch, name, off):
    whole = KeyPlan.__dict__[name]
    get = whole.func if name == "threshold" else whole.fget
    monkeypatch.setattr(KeyPlan, name, property(lambda self: get(self) + off))
    assert not forms._key_plans(Room(tmp_path), Random(1), 5).passed
