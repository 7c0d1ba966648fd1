"""What is asked of a source: the parameters of plans and releases, and what is charged, or refused and not charged."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...errors import LapwingError
from ...noise.entropy import EntropyForTests
from ...plan.asked import plan_asked
from ...plan.plan import Plan
from ...question.derivation import expression
from ...question.join import join
from ...question.query import count, mean, median
from ...question.schema import keys, number
from ...question.sets import marginals
from ...source import Source
from ..room import Room
from ..tools.meaning import Cases, Denied, F
from ..tools.neighbors import SEED

COLUMNS: dict[str, Any] = {"x": number(0, 10, integer=True), "k": keys("a", "b"), "u": "text"}


def make_source(room: Room, table: Any, **described: Any) -> Source:
    """Return a source of a table with the columns x, k and u, and a new ledger."""
    said = {"name": "t", "columns": COLUMNS, "epsilon": 10, "delta": "0.5", "ledger": room.path("ledger"), **described}
    return Source(table, **{name: each for name, each in said.items() if each is not LEFT_OUT})


LEFT_OUT = object()


def asked(room: Room, table: str) -> dict[str, Cases]:
    """Return calls of a source of this table."""
    return {
        "plans": _plans(room, table),
        "parameters of plans and releases": _passed_on(room, table),
        "told beside answers": _said(room, table),
        "refused and not charged": _uncharged(room, table),
        "answered and charged": _charged(room, table),
    }


def _plans(room: Room, table: str) -> Cases:
    source = make_source(room, table, person="p", rows_per_person=2)
    rows = make_source(room, table)
    unsaid = make_source(room, table, person="p")
    return [
        (lambda: source.plan(count(), epsilon=1).schema.rows_per_person, 2),
        (lambda: source.plan(count(), epsilon=1, rows_per_person=5).schema.rows_per_person, 5),
        (lambda: unsaid.plan(count(), epsilon=1, rows_per_person=5).schema.rows_per_person, 5),
        (lambda: unsaid.plan(count(), epsilon=1), Denied("names a person column but not rows_per_person")),
        (lambda: source.plan(count(), epsilon=1, rows_per_person=0), Denied("rows_per_person is a whole number")),
        (lambda: rows.plan(count(), epsilon=1, rows_per_person=2), Denied("every row is one person")),
        (lambda: source.plan(count(), epsilon=1).epsilon, F(1)),
        (lambda: source.plan(mean("x"), by="k", where="x > 2", epsilon=1, confidence="0.5").confidence, F(1, 2)),
        (lambda: source.plan(count(), epsilon=1).lacking, None),
        (lambda: "no total" in str(make_source(room, table, epsilon=None).plan(count(), epsilon=1).lacking), True),
        (lambda: [source.plan_keys("u", epsilon=1, delta="0.01", keys_per_person=1).keys_per_person], [1]),
        (lambda: source.plan_keys("u", epsilon=1, delta="0.01").keys_per_person, 2),
        (lambda: str(source.plan_keys("u", epsilon=1, delta="0.01", where="x > 2").where), '"x" >= 3'),
        (lambda: source.plan_keys("u", epsilon=1, delta="0.01").dialect.name, "duckdb"),
        (lambda: Path(source.ledger_place()).exists(), False),
    ]


def _passed_on(room: Room, table: str) -> Cases:
    """Return plans and releases of a source, each with every parameter as the functions beneath it take them."""
    source = make_source(room, table, person="p", rows_per_person=2, epsilon=1000)
    usual = {"by": None, "where": None, "epsilon": 1, "weights": None, "objective": "mean", "confidence": "0.95"}
    of_plan = {"error": None, "rows": 1000}
    one: tuple[Any, ...] = (count(), mean("x"))
    asked: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        (one, {}), (one, {"by": "k"}), (one, {"where": "x > 2"}), (one, {"epsilon": "0.5"}), ((median("x"),), {}),
        (one, {"weights": {"x": 3}}), (one, {"confidence": "0.5"}), ((median("x"),), {"intervals": False}),
        ((count(),), {"by": marginals("k", "x2", upto=1), "objective": "minimax"}),
        ((count(),), {"by": marginals("k", "x2", upto=1), "objective": "cells"}), (("SELECT COUNT(*) FROM t",), {}),
    ]  # fmt: skip
    other = source.declare(x2=expression("x + 1", edges=[0, 5, 10]))
    cases: list[tuple[Callable[[], Any], Any]] = []
    for statistics, given in asked:
        said = {**usual, "intervals": True, **given}
        planned = _parts_of(plan_asked(other.schema, statistics, **{**of_plan, **said}))
        cases += [
            (partial(_planned, other, statistics, {"epsilon": 1, **given}), planned),
            (partial(_released, other, statistics, {"epsilon": 1, **given}), planned),
        ]
    for given in ({"rows": 50, "epsilon": 1}, {"error": 5}):
        said = {**usual, "intervals": True, **of_plan, "epsilon": None, **given}
        cases.append((partial(_planned, other, one, given), _parts_of(plan_asked(other.schema, one, **said))))
    return cases


def _parts_of(plan: Plan) -> tuple[Any, ...]:
    return plan.query, plan.epsilon, plan.parts, plan.confidence, plan.rows, plan.strategy


def _planned(source: Source, statistics: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    return _parts_of(source.plan(*statistics, **given))


def _released(source: Source, statistics: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    """Return the plan of a release, with the confidence that its bars have."""
    made = source.release(*statistics, **given, entropy=EntropyForTests(SEED))
    return _parts_of(replace(made.plan, confidence=made.confidence))


def _said(room: Room, table: str) -> Cases:
    """Return what is told about a new ledger, and when the tables of a source were modified."""
    people = room.parquet({"q": ["q"], "v": [1]}, {"q": "VARCHAR", "v": "BIGINT"})
    frame = pa.table({"c": ["a", "b"], "r": ["n", "s"]})
    look_up = join(frame, columns=["r"], public=True, on={"k": "c"})
    mates = join(people, columns=["v"], person="q")
    looked_up = {**COLUMNS, "r": keys("n", "s")}
    columns = {**looked_up, "v": number(0, 5)}
    old, new = 3_000_000_000, 4_000_000_000
    os.utime(table, (old, old))
    os.utime(people, (new, new))
    told = {"columns": columns, "person": "p", "rows_per_person": 2}

    def modified(**described: Any) -> Any:
        source = make_source(room, table, **{**told, **described})
        return [source.release(count(), epsilon=1).modified_at for _ in range(2)]

    return [
        (lambda: modified(joins=[mates, look_up]), [None, "2096-10-02T07:06:40+00:00"]),
        (lambda: modified(joins=[look_up], columns=looked_up), [None, "2065-01-24T05:20:00+00:00"]),
        (lambda: make_source(room, table, epsilon=None).make_ledger(), Denied("There is no ledger at")),
        (lambda: "began" in _note(make_source(room, table, epsilon=1), epsilon=2), True),
    ]


def _note(source: Source, **given: Any) -> str:
    """Return the notes of the error of a release that is refused after it made the ledger."""
    try:
        source.release(count(), **given)
    except LapwingError as error:
        return " ".join(getattr(error, "__notes__", ()))
    return "answered"


def _uncharged(room: Room, table: str) -> Cases:
    """Return wrong questions, each with the ledger that it leaves: none where none was, and an unchanged one."""
    people = {"person": "p", "rows_per_person": 2}
    wrong: list[tuple[Callable[[Any], Any], dict[str, Any]]] = [
        (lambda s: s.discover("no", epsilon=1, delta="0.01"), people),
        (lambda s: s.discover("x", epsilon=1, delta="0.01"), {"columns": {"x": number(0, 1)}}),
        (lambda s: s.discover("u", epsilon=0, delta="0.01"), people),
        (lambda s: s.discover("u", epsilon=1, delta=0), people),
        (lambda s: s.discover("u", epsilon=1, delta="0.02"), people),
        (lambda s: s.discover("u", epsilon=1, delta="0.01", keys_per_person=0), people),
        (lambda s: s.discover("u", epsilon=1, delta="0.01", keys_per_person=2), {}),
        (lambda s: s.discover("u", epsilon=1, delta="0.01", where="no = 1"), people),
        (lambda s: s.discover("u", epsilon=1, delta="0.01", confidence=1), people),
        (lambda s: s.discover("u", epsilon=1, delta="0.01", kind="x"), people),
        (lambda s: s.discover("w", epsilon=1, delta="0.01"), {"columns": {"w": "text"}}),
        (lambda s: s.bounds("u", epsilon=1), people),
        (lambda s: s.bounds("x", epsilon="1/3"), people),
        (lambda s: s.bounds("x", epsilon=1, where="no = 1"), people),
        (lambda s: s.bounds("w", epsilon=1), {"columns": {"w": "number"}}),
        (lambda s: s.bounds("x", epsilon=1), {"person": "p"}),
        (lambda s: s.rows_per_person(epsilon=1), {}),
        (lambda s: s.rows_per_person(epsilon=0), people),
        (lambda s: s.rows_per_person(epsilon=1, share=1), people),
        (lambda s: s.rows_per_person(epsilon=1, share="x"), people),
        (lambda s: s.rows_per_person(epsilon=1, where="no = 1"), people),
        (lambda s: s.rows_per_person(epsilon=1), {"person": "w"}),
        (lambda s: s.release(count(), epsilon=0), people),
        (lambda s: s.release(count(), epsilon=1, by="u"), people),
        (lambda s: s.release(count(), epsilon=1), {"person": "p"}),
        (lambda s: s.sql("SELECT x FROM t", epsilon=1), people),
    ]
    used = make_source(room, table)
    used.make_ledger().charge("another", 1, "0.001")
    place, without = Path(used.ledger_place()), make_source(room, table, delta=LEFT_OUT, **people)
    return [
        (lambda: _left(without, lambda s: s.discover("u", epsilon=1, delta="0.01")), True),
        (lambda: without.discover("u", epsilon=1, delta="0.01"), Denied("has no total δ, and to look for keys needs")),
        *[
            (lambda ask=ask, source=source: _left(source, ask), True)
            for ask, described in wrong
            for source in (make_source(room, table, **described), make_source(room, table, **described, ledger=place))
        ],
    ]


def _left(source: Source, ask: Callable[[Any], Any]) -> bool | str:
    """Return whether a question is refused and leaves the ledger as it was; one that it makes has nothing in it."""
    place = Path(source.ledger_place())
    before = place.read_bytes() if place.exists() else None
    try:
        return f"answered: {ask(source)!r}"
    except LapwingError:
        if before is not None:
            return place.read_bytes() == before
        if not place.exists():
            return True
        made = source.open_ledger()
        return (made.spent, made.delta.spent) == (F(0), F(0))


def _charged(room: Room, table: str) -> Cases:
    """Return questions with noise that is nearly always 0, with the answer and what is charged."""
    people = {"person": "p", "rows_per_person": 2, "epsilon": 1000}

    def answer(ask: Callable[[Any], Any], **changed: Any) -> tuple[Any, F, F]:
        source = make_source(room, table, **{**people, **changed})
        found = ask(source)
        return found, source.ledger.spent, source.ledger.delta.spent

    most = F(900)
    return [
        (lambda: answer(lambda s: s.discover("k", epsilon=900, delta="0.01").rows), (
            [{"k": "a", "count": {"value": 4, "low": 4, "high": 4}},
             {"k": "b", "count": {"value": 3, "low": 3, "high": 3}}],
            most, F(1, 100),
        )),
        (lambda: answer(lambda s: s.discover("u", epsilon=900, delta="0.01", where="x >= 2", keys_per_person=1).keys),
         (("v",), most, F(1, 100))),
        (lambda: answer(lambda s: s.discover("u", epsilon=900, delta="0.01", confidence="0.5").confidence),
         (F(1, 2), most, F(1, 100))),
        (lambda: answer(lambda s: s.rows_per_person(epsilon=900).rows_per_person), (2, most, F(0))),
        (lambda: answer(lambda s: s.rows_per_person(epsilon=900, share="0.5", where="x > 0").share),
         (F(1, 2), most, F(0))),
        (lambda: answer(lambda s: s.rows_per_person(epsilon=900, share="0.2", where="x > 0").rows_per_person),
         (1, most, F(0))),
        (lambda: answer(lambda s: (s.bounds("x", epsilon=900).low, s.rows_per_person(epsilon=100).entry)),
         ((F(0), 4), F(1000), F(0))),
        (lambda: answer(lambda s: s.bounds("x", epsilon=900, where="x >= 3").high, person=None, rows_per_person=None),
         (F(10), most, F(0))),
        (lambda: answer(lambda s: [s.left(), s.release(count(), epsilon=900)["count"].value.tolist(), s.left()]),
         ([None, [8], F(100)], most, F(0))),
        (lambda: answer(lambda s: [s.rows_per_person(epsilon=400).repeated, s.rows_per_person(epsilon=400).repeated]),
         ([False, True], F(400), F(0))),
        (lambda: answer(lambda s: s.discover("k", epsilon=900, delta="0.01").new_ledger is not None),
         (True, most, F(1, 100))),
        (lambda: answer(lambda s: [s.make_ledger().total, s.discover("k", epsilon=900, delta="0.01").new_ledger]),
         ([F(1000), None], most, F(1, 100))),
    ]  # fmt: skip
