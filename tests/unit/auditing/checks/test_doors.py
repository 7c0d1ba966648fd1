"""The check of all doors passes on this build, and fails on builds in which one of them is another."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace
from fractions import Fraction as F

import click
import pytest

from lapwing.auditing.checks import commands, doors
from lapwing.auditing.room import Room
from lapwing.auditing.tools.described import DESCRIBED, Meeting, place
from lapwing.cli.main import main
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.place import Place
from lapwing.source import Source


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def failures(found):
    """Return what is found broken; an error is a failure, as for whoever runs the check."""
    failed = []
    try:
        failed += [each.what for each in found if not each.passed]
    except Exception as error:
        failed.append(str(error))
    return failed


def fails(promise, room):
    return bool(failures(promise(room) for _ in range(1)))


def test_every_door_is_the_same_on_this_build(room):
    found = list(doors.doors(room))
    assert [(each.what, each.told) for each in found if not each.passed] == []
    assert len({each.what for each in found}) == len(found)
    assert sum(each.false_alarm for each in found) == 0


@pytest.mark.parametrize(
    ("field", "value", "described"),
    [
        ("every_row_counts", True, 1),
        ("neighbors", "add_remove", 0),
        ("person", None, 0),
        ("rows_per_person", 1, 0),
        ("version", None, 0),
    ],
)
def test_a_declaration_that_loses_a_field_is_found(room, monkeypatch, field, value, described):
    whole = Source.declare

    def losing(self, columns=None, **more):
        other = whole(self, columns, **more)
        other.schema = replace(other.schema, **{field: value})
        return other

    monkeypatch.setattr(Source, "declare", losing)
    assert failures(doors._same_source(room, DESCRIBED[described]))


def test_a_declaration_with_a_budget_of_its_own_is_found(room, monkeypatch):
    def anew(self, columns=None, **more):
        other = copy(self)
        vars(other).pop("ledger", None)
        other._place = Place(str(room.path("ledger")))
        return other

    monkeypatch.setattr(Source, "declare", anew)
    assert len(failures(doors._same_source(room, DESCRIBED[0]))) == 2


def test_a_total_that_a_source_may_raise_is_found(room, monkeypatch, frozen_noise):
    assert not fails(doors._other_total, room)
    monkeypatch.setattr(Source, "ledger", property(Source.open_ledger))
    assert fails(doors._other_total, room)


def test_a_charge_that_is_charged_again_to_be_completed_is_found(room, monkeypatch, frozen_noise):
    whole = Ledger.charge

    def again(self, question, *more):
        found = self.find(question, *more[:2])
        return whole(self, question if found is None or found.answered else {**question, "again": found.number}, *more)

    assert not fails(doors._completed, room)
    monkeypatch.setattr(Ledger, "charge", again)
    assert fails(doors._completed, room)


def test_a_plan_that_makes_a_ledger_is_found(room, monkeypatch):
    whole = Source.plan

    def careless(self, *args, **options):
        self.make_ledger()
        return whole(self, *args, **options)

    monkeypatch.setattr(Source, "plan", careless)
    assert fails(doors._same_plan, room)


def test_processes_meet_at_the_steps_of_a_ledger(tmp_path):
    ledger = Meeting.open(tmp_path / "a.ledger", 1)
    ledger.at, ledger.steps = tmp_path, {"charge": 1}
    ledger.record(ledger.charge("q", F(1, 2)), [1])
    assert sorted(path.name.split()[0] for path in tmp_path.glob("* *")) == ["charge", "record"]


def test_a_door_with_a_ledger_of_its_own_is_found(room):
    folder = room.path("folder")
    folder.mkdir()
    table = str(folder / place(room, "parquet", folder))
    one, same = (DESCRIBED[1].python(table, folder) for _ in range(2))
    other = room.source(table, epsilon=5, delta="0.01", columns=one.schema.columns, neighbors="change_one")
    assert doors._same_answers("one ledger", {"one": one, "same": same}).passed
    assert not doors._same_answers("two ledgers", {"one": one, "other": other}).passed


def test_every_command_and_option_has_an_example():
    assert commands._lost() == []


def test_an_option_that_is_added_is_reported(monkeypatch):
    option = click.Option(["--trim"])
    monkeypatch.setattr(main.commands["release"], "params", [*main.commands["release"].params, option])
    monkeypatch.setitem(main.commands, "scatter", click.Command("scatter"))
    assert commands._lost() == ["scatter", "trim of release"]


def test_a_command_that_charges_no_analyst_is_reported(monkeypatch):
    kept = [each for each in main.commands["bounds"].params if each.name != "analyst"]
    monkeypatch.setattr(main.commands["bounds"], "params", kept)
    assert set(commands._lost()) == {"analyst of bounds, which charges"}


def test_commands_whose_output_is_not_the_record_are_found(room, frozen_noise):
    given = commands.prepared(room)
    source = Source.open(given.file)
    step = given.steps[0]
    made = source.release(step.line[2], **step.options)
    right = [(0, json.dumps(made.to_dict()))]
    assert commands._passed_on(source, [step], right).passed
    wrong = [(0, json.dumps({**made.to_dict(), "rows": []}))]
    assert not commands._passed_on(source, [step], wrong).passed
    assert not commands._passed_on(source, [step], [(1, "Traceback")]).passed


def test_a_ledger_for_every_version_is_found(room, monkeypatch):
    whole = Source.__init__

    def made(self, table, *, version=None, **given):
        whole(self, table, version=version, **given)
        self._place = Place(f"{self._place.where}{version or ''}")

    monkeypatch.setattr(Source, "__init__", made)
    assert fails(doors._one_ledger, room)
