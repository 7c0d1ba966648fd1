"""A table and a ledger that get all questions, and what a question is before it is asked."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from ...errors import LapwingError
from ...ledger.chain import question_key
from ...ledger.entry import atto, canonical_json, nano
from ...ledger.ledger import Ledger
from ...noise.entropy import EntropyForTests
from ...question import query, schema
from ...release.bounds import plan_bounds
from ...release.pipeline import question
from ...release.rows_per_person import plan_rows_per_person
from ...source import Source
from ..room import Room
from .answers import Made, released, told
from .asked_table import TYPES, table
from .fields import USUAL, AskedQuestion
from .join_examples import joined_content, joined_files
from .neighbors import SEED


@dataclass
class Asker:
    """A table, a ledger that gets all questions, and the answers by question."""

    room: Room
    relation: Any
    path: str
    text: str
    database: str
    ledger: Path
    answers: dict[str, tuple[AskedQuestion, Made]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def source(self, asked: AskedQuestion, ledger: Path | None = None) -> Source:
        """Return the source of a question; Parquet where the number of rows may be public by default."""
        given = self.path if asked.described.get("neighbors") == "change_one" else self.relation
        if "file" in asked.described:
            given = self.text if asked.described["file"].part is None else self.database
        joins = [replace(each, table=str(self.room.folder / each.table)) for each in asked.described.get("joins", ())]
        return Source(given, **{**USUAL, "ledger": ledger or self.ledger, **asked.described, "joins": joins})

    @cached_property
    def opened(self) -> Ledger:
        """The ledger of all questions, open."""
        return Ledger.open(self.ledger, USUAL["epsilon"], USUAL["delta"])

    def ask(self, asked: AskedQuestion, ledger: Path | None = None) -> Made | None:
        """Return the answer to a question, from the ledger of all or a new one; None if it is refused."""
        try:
            source = self.source(asked, ledger)
            if ledger is None:
                source.ledger = self.opened
            ask = getattr(source, asked.call)
            return ask(*asked.args, **asked.options, entropy=EntropyForTests(SEED))
        except LapwingError as error:
            self.refused[asked.what] = str(error)
            return None

    def add(self, asked: AskedQuestion) -> Made | None:
        """Ask the ledger of all; if the answer is recorded, compare it with that of a new ledger."""
        if asked.what in self.answers:
            return self.answers[asked.what][1]
        made = self.ask(asked)
        if made is None:
            return None
        self.answers[asked.what] = asked, made
        if released(made).repeated:
            fresh = self.ask(asked, self.room.path("ledger"))
            if fresh is None or told(made) != told(fresh):
                self.wrong.append(f"{asked.what}: {_difference(made, fresh)}")
        return made


@contextmanager
def new_asker(room: Room) -> Iterator[Asker]:
    """Yield an asker of the table of all questions, with a new ledger; its connection is closed afterwards."""
    path = room.parquet(table(), TYPES)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS FROM read_parquet({query.literal(path)})")
        text = str(room.path("csv"))
        connection.table("t").write_csv(text)
        for name, rows in joined_files().items():
            with (room.folder / name).open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(rows)
        database = str(room.path("duckdb"))
        connection.execute(f"ATTACH {query.literal(database)} AS kept")
        connection.execute("CREATE TABLE kept.a AS FROM t; CREATE TABLE kept.b AS FROM t; DETACH kept")
        yield Asker(room, connection.table("t"), path, text, database, room.path("ledger"))


def _difference(made: Made, fresh: Made | None) -> str:
    if fresh is None:
        return "a new ledger refuses it"
    one, other = told(made), told(fresh)
    names = [key for key in one if one[key] != other.get(key)]
    return f"{', '.join(names)} of entry {made.entry} are not its own"


@dataclass(frozen=True)
class PlannedQuestion:
    """A question before it is asked: its key in the ledger, all that its answer depends on, and its values."""

    key: str
    question: str
    content: str
    inside: Any


def planned_question(source: Source, asked: AskedQuestion) -> PlannedQuestion:
    """Return what would be asked; nothing is read, and the source has no ledger."""
    options = dict(asked.options)
    if asked.call == "discover":
        keys = source.plan_keys(**options)
        question_text, delta = canonical_json(keys.question(), "question"), keys.delta
        kinds = [(name, keys.schema.columns[name].kind) for name in sorted(keys.lowered.columns)]
        used = [keys.lowered.sql, keys.scale, keys.threshold, kinds, keys.schema.person]
        used.append(joined_content(keys.schema, keys.lowered.columns))
        inside: Any = [replace(keys, dialect=None)]  # type: ignore[arg-type]
    elif asked.call == "rows_per_person":
        people = plan_rows_per_person(source.schema, **options)
        question_text, delta = canonical_json(people.question(), "question"), Fraction(0)
        kinds = [(name, people.schema.columns[name].kind) for name in sorted(people.lowered.columns)]
        used = [people.lowered.sql, people.scale, kinds, people.schema.person]
        used.append(joined_content(people.schema, people.lowered.columns))
        inside = [replace(people, dialect=None)]  # type: ignore[arg-type]
    else:
        bounds = asked.call == "bounds"
        plan = plan_bounds(source.schema, **options) if bounds else source.plan(*asked.args, **options)
        question_text, delta = canonical_json(question(plan), "question"), Fraction(0)
        kinds = [(name, plan.schema.columns[name].kind) for name in sorted(plan.columns)]
        parts = [(each.measurement, each.epsilon, plan.scales(each)) for each in plan.parts]
        groups = [
            (name, dict(plan.query.edges).get(name), plan.schema.columns[name].group_keys) for name in plan.query.by
        ]
        tables = [_unlabelled(plan.schema.columns[name]) for _, name in plan.lowered.keys]
        used = [plan.lowered.sql, parts, groups, tables, kinds, plan.schema.person, plan.counts_publicly]
        used.append(joined_content(plan.schema, plan.columns))
        inside = [asked.args, plan.schema, plan.query]
    key = question_key(nano(asked.options["epsilon"]), atto(delta), question_text)
    data = [source.schema.name, source.schema.version, asked.options["epsilon"], delta]
    return PlannedQuestion(key, question_text, repr([data, used]), inside)


def _unlabelled(column: schema.Column) -> schema.Column:
    """Return a column without its presentation, and without the map by which another one is computed."""
    return replace(column, labels=None, unit=None, title=None, within=None)
