"""Questions about a table with canaries that take a hundredth of a second each, for many failures and edits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...engine.connect import connect
from ...engine.table import Table
from ...ledger.ledger import Ledger
from ...noise.entropy import Entropy, EntropyForTests
from ...question import query
from ...question.schema import Schema, keys, number
from ...release.bounds import find_bounds, plan_bounds
from ...release.discover import discover
from ...release.pipeline import make_release
from ...release.rows_per_person import find_rows_per_person, plan_rows_per_person
from ...source import Source
from ..room import Room
from .listening import NUMBER, WORD
from .remembered import Remembered

EPSILON = Fraction(1, 2)
"""The ε of each question."""

ANALYST = "ana"
"""Who asks; the cap is below the total."""

WAIT = 1
"""Seconds to wait for a ledger that a failed call left locked."""


@dataclass(frozen=True)
class Ask:
    """A question that can be asked of a table and a ledger, with noise."""

    name: str
    schema: Schema
    ask: Callable[[Table, Ledger, Entropy], Any]

    def __call__(self, table: Table, ledger: Ledger, seed: int) -> Any:
        return answer_of(self.ask(table, ledger, EntropyForTests(seed)))


class Pipeline:
    """A table with canaries whose engine runs once, an empty ledger to copy, and the questions."""

    def __init__(self, room: Room) -> None:
        self._room = room
        path = canaries(room)
        self.source = source_of(room, path)
        self.table = Remembered(connect(path, "t"))
        self._empty = Path(self.source.ledger.where)
        self.plan = self.source.plan(query.sum("y"), query.mean("y"), epsilon=EPSILON)
        self.questions = self._questions()

    def ledger(self) -> Ledger:
        """Return a new ledger, with nothing spent."""
        return copied(self._room, self._empty)

    def _questions(self) -> tuple[Ask, ...]:
        found = self.source.plan_keys("key", epsilon=EPSILON, delta="0.001")
        bounds = plan_bounds(self.source.schema, "y", epsilon=EPSILON)

        def release(table: Table, ledger: Ledger, noise: Entropy) -> Any:
            return make_release(self.plan, table, ledger, analyst=ANALYST, entropy=noise)

        def look_for_keys(table: Table, ledger: Ledger, noise: Entropy) -> Any:
            return discover(found, table, ledger, analyst=ANALYST, entropy=noise)

        def look_for_bounds(table: Table, ledger: Ledger, noise: Entropy) -> Any:
            return find_bounds(bounds, table, ledger, analyst=ANALYST, entropy=noise)

        schema = self.source.schema
        by_key = replace(schema, person="key")
        people = plan_rows_per_person(by_key, epsilon=EPSILON)

        def look_for_rows(table: Table, ledger: Ledger, noise: Entropy) -> Any:
            return find_rows_per_person(people, table, ledger, analyst=ANALYST, entropy=noise)

        return (
            Ask("a release", schema, release),
            Ask("keys", schema, look_for_keys),
            Ask("bounds", schema, look_for_bounds),
            Ask("rows per person", by_key, look_for_rows),
        )


def copied(room: Room, ledger: Path) -> Ledger:
    """Return a copy of a ledger, opened."""
    path = room.path("ledger")
    shutil.copy(ledger, path)
    return Ledger.open(path, wait=WAIT)


def canaries(room: Room) -> str:
    """Return a table whose sum and one key are canaries."""
    column = [10**9] * 8 + [int(NUMBER) % 10**9] + [0] * 54
    key = ["a", "b"] * 30 + [WORD] * 3
    return room.parquet({"y": column, "key": key}, {"y": "BIGINT", "key": "VARCHAR"})


def source_of(room: Room, table: str) -> Source:
    """Return a source of that table, with a new ledger that has an analyst."""
    columns = {"y": number(0, 10**9, integer=True), "key": keys(["a", "b"])}
    source = room.source(table, columns=columns, epsilon=10, delta="0.01")
    source.make_ledger().add_analyst(ANALYST, 2)
    return source


def answer_of(made: Any) -> Any:
    """Return the recorded numbers of an answer, as JSON has them."""
    return json.loads(json.dumps(getattr(made, "release", made).answer))
