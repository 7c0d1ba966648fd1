"""Worlds drawn at random: sound builds pass, faults are found with a small witness, and nothing is left out."""

from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from lapwing.auditing.checks import worlds as check
from lapwing.auditing.room import Room
from lapwing.auditing.tools import worlds as tools
from lapwing.auditing.tools.pooled import pooled
from lapwing.auditing.tools.running import Running
from lapwing.auditing.tools.worlds import draw_world
from lapwing.ledger import ledger
from lapwing.measure.measurement import Measurement
from lapwing.release import pipeline


@pytest.fixture
def running(tmp_path):
    with pooled() as root:
        yield Running(Room(tmp_path), root)


def first_broken(running, numbers):
    for number in numbers:
        found = check.examined(running, draw_world(number), check.Examined(), every_form=False)
        if found is not None:
            return draw_world(number), found
    return None


class Hurried(datetime):
    """A clock that is a second later whenever it is read."""

    read = 0

    @classmethod
    def now(cls, tz=None):
        cls.read += 1
        return datetime(2026, 1, 1, tzinfo=tz) + timedelta(seconds=cls.read)


def test_a_sound_build_breaks_no_promise_however_slow_it_is(running, monkeypatch):
    monkeypatch.setattr(ledger, "datetime", Hurried)
    tally = check.Examined()
    assert all(check.examined(running, draw_world(number), tally, number % 4 == 0) is None for number in range(16))
    assert tally.pairs > 30
    assert tally.refused <= 2
    assert tally.largest == 1  # some person costs all of ε, so the worlds are sharp


def test_a_sensitivity_of_half_is_found_with_a_witness_that_is_small(running, monkeypatch):
    whole = Measurement.sensitivity
    monkeypatch.setattr(Measurement, "sensitivity", lambda self, setting: max(whole(self, setting) // 2, 1))
    world, found = first_broken(running, range(8, 80))
    assert found.promise == "cost"
    small, how = check.shrunk(running, world, found)
    assert "costs" in how
    assert len(small.others) + len(small.before) <= 3
    assert f"world {small.seed}" in str(small)


def test_a_log_line_that_depends_on_rows_is_found(running, monkeypatch):
    whole = pipeline.Tally.__init__

    def logged(self, integers):
        whole(self, integers)
        pipeline.__dict__.setdefault("_log", __import__("logging").getLogger("lapwing.rows")).info("%d", self.rows)

    monkeypatch.setattr(pipeline.Tally, "__init__", logged)
    _, found = first_broken(running, range(40))
    assert found.promise == "same"
    assert "the log lapwing.rows" in found.how


def test_a_wrong_number_is_found(running, monkeypatch):
    from lapwing.release.estimate import Estimator

    whole = Estimator.of
    monkeypatch.setattr(
        Estimator, "of", lambda self, groups: [each._replace(value=each.value * 2 + 9) for each in whole(self, groups)]
    )
    _, found = first_broken(running, range(40))
    assert found.promise == "truth"


def test_findings_name_the_first_world_and_what_was_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "WORLDS", 3)
    found = list(check.worlds(Room(tmp_path, seed=40)))
    assert [each.what for each in found] == [*check.PROMISES.values(), "few worlds are refused"]
    assert all(each.passed for each in found)
    assert "3 worlds from number 40 on" in found[0].told


def test_a_deep_audit_draws_worlds_while_there_is_time(tmp_path, monkeypatch):
    times = iter([0.0, *range(10, 90, 10)])
    monkeypatch.setattr(check, "monotonic", lambda: next(times))
    monkeypatch.setattr(check, "WORLDS", 2)
    assert list(check.seeds(Room(tmp_path, deep=True, minutes=0.5, seed=7))) == [7, 8, 9, 10]
    assert list(check.seeds(Room(tmp_path, minutes=0.5, seed=7))) == [7, 8]


def test_a_world_is_the_same_whenever_it_is_drawn():
    for number in range(50):
        assert str(draw_world(number)) == str(draw_world(number))


def test_every_statistic_and_door_has_its_turn():
    drawn = [draw_world(number) for number in range(200)]
    kinds = {each.kind for world in drawn for each in world.question.statistics}
    assert kinds == {
        "count", "sum", "mean", "variance", "std", "proportion", "histogram", "quantile", "cdf", "people",
        "ratio",
    }  # fmt: skip
    assert {world.question.door for world in drawn} == set(tools.DOORS)
    assert {world.described["neighbors"] for world in drawn} == {"add_remove", "change_one"}
    assert {world.form for world in drawn} == set(tools.FORMS)


def test_a_parameter_of_a_statistic_without_values_fails(monkeypatch):
    monkeypatch.delitem(tools._PARAMETERS, "sample")
    with pytest.raises(LookupError, match=r"parameter sample of lw\.(variance|std)"):
        list(map(draw_world, range(200)))


def test_a_key_of_one_person_is_shown_with_the_probability_of_its_noise():
    assert check._seen_by(3, Fraction(1), [3]) == pytest.approx(1 / (1 + 2.718281828459045**-1))
    assert check._seen_by(3, Fraction(1), []) == 0
    assert check._seen_by(2, Fraction(10**9), [1, 1]) == pytest.approx(3 / 4)
