"""The audit on the engines that it names: a part of its findings; `lapwing audit --engine` makes all of them."""

import pytest

import lapwing as lw
from lapwing.auditing.checks.replay import replay
from lapwing.auditing.checks.sensitivities import _alone, _compared, _keys_of_one, _rules
from lapwing.auditing.room import Room
from lapwing.auditing.tools.engines import engines
from lapwing.auditing.tools.neighbors import Question, placed
from lapwing.errors import InvalidAddress
from lapwing.question import query

QUESTIONS = [
    Question((query.count(), query.mean("x"), query.sum("z")), ("key",), "z < 5"),
    Question((query.variance("x"),), neighbors="change_one"),
    Question((query.median("x"),), ("rest",)),
]


@pytest.fixture
def room(postgres, tmp_path):
    """A room whose engine is PostgreSQL."""
    with engines([postgres]) as (_, engine):
        yield Room(tmp_path, engines=(engine,))


def test_one_person_moves_answers_as_far_as_declared(room):
    tables = placed(room, people=True)
    found = [finding for question in QUESTIONS for finding in _compared(room.engines[0].name, tables.moved(question))]
    found += [_alone(room, tables), _keys_of_one(room), *_rules(room)]
    assert len(found) == 10
    assert [each for each in found if not each.passed] == []


def test_nothing_but_the_numbers_differs_between_neighbors(room, monkeypatch):
    monkeypatch.setattr("lapwing.auditing.checks.replay._ASKED", QUESTIONS[:1])
    found = list(replay(room))
    assert len(found) == 4
    assert [each for each in found if not each.passed] == []


def test_one_person_moves_answers_as_far_as_declared_on_spark(spark, tmp_path):
    with engines(["spark"]) as (_, engine):
        room = Room(tmp_path, engines=(engine,))
        found = [*_compared(engine.name, placed(room, people=True).moved(QUESTIONS[0])), _keys_of_one(room)]
    assert len(found) == 3
    assert [each for each in found if not each.passed] == []


def test_the_schema_for_the_tables_is_dropped_again(postgres):
    import psycopg

    with engines([postgres]) as (_, engine):
        assert engine.place is not None
        engine.place("", {"x": [1.5, None]}, {"x": "DOUBLE"})
    with psycopg.connect(postgres) as connection:
        left = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'lapwing_audit%'").fetchone()
    assert left == (0,)


def test_a_server_that_cannot_be_reached_is_refused_without_its_password():
    with pytest.raises(InvalidAddress, match="a server that can be reached") as refused:
        lw.audit("replay", engine="postgresql://u:secret@127.0.0.1:1/d")
    assert "secret" not in str(refused.value)
