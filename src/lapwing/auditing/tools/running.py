"""Worlds are run: a table is written in its form, the question is asked with a script instead of chance.

Most runs use a ledger on paper, which keeps nothing, and connections of one database (``pooled``).
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np

from ...engine.connect import connect, connect_joins
from ...engine.table import Table
from ...errors import LapwingError
from ...plan.plan import Plan
from ...question.join import Join, join
from ...question.query import literal
from ...release.bounds import Bounds, find_bounds, plan_bounds
from ...release.discover import Discovery, KeyPlan, discover
from ...release.pipeline import make_release
from ...release.result import Release
from ...release.rows_per_person import RowsPerPerson, RowsPlan, find_rows_per_person, plan_rows_per_person
from ...source import Source
from ..room import Room
from .conditions import quoted
from .listening import listening
from .paper import Paper
from .script import NoOther, Script, scripted
from .worlds import Row, World

NAME = "t"
_MATE, _KEY = "the person there", "the key there"
_LIBRARIES = {"pandas": "pandas", "Polars": "polars", "Arrow": "pyarrow"}
_FRAMES = ("pandas", "polars", "arrow")
_CLOCK = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z| UTC)?")

Answer = Release | Bounds | Discovery | RowsPerPerson
Planned = Plan | KeyPlan | RowsPlan


class WorldTables(NamedTuple):
    """The table of a world, and what is joined to it."""

    main: Any
    joins: tuple[Join, ...] = ()


@dataclass(frozen=True)
class Seen:
    """What can be observed of one run: the answer, all that was said, and what was drawn; or the error."""

    answer: Answer | None
    said: tuple[tuple[str, str | bytes], ...]
    script: Script
    error: str | None = None

    @property
    def cells(self) -> list[int]:
        """All numbers that are recorded, in their order."""
        assert self.answer is not None
        release = _release(self.answer)
        if isinstance(release, Discovery):
            return list(release.counts)
        if isinstance(release, RowsPerPerson):
            return list(release.answer["people"])
        return [int(each) for part in release.cells for cell in part for each in cell.tolist()]


def connected(tables: WorldTables) -> Table:
    """Return the table of a world, connected, with what is joined to it."""
    opened = connect(tables.main, NAME)
    connect_joins(opened, tables.main, tables.joins, NAME)
    return opened


@dataclass(frozen=True)
class Running:
    """A workspace in which worlds are run."""

    room: Room
    root: duckdb.DuckDBPyConnection

    # --- tables ---

    def table(self, world: World, rows: Sequence[Row]) -> WorldTables:
        """Return tables with these rows, in the form of the world or, if its library is missing, as Parquet."""
        person = [] if world.person is None else [world.person]
        places = [at for at, name in enumerate(world.fields, 1) if name not in world.joins.names]
        own = [(row[0], *(row[at] for at in places), row[-1]) for row in rows]
        types = {name: field.stored for name, field in world.fields.items()}
        names = [name for name in world.fields if name not in world.joins.names]
        skip = 1 - len(person)
        main = self._table(world.form, [*person, *names], _stored(person, names, types), [row[skip:] for row in own])
        joins = []
        if world.joins.people:
            mates, their = world.joins.mates(list(world.fields), rows), list(world.joins.people)
            table = self._table(world.form, [_MATE, *their], _stored([_MATE], their, types), mates)
            joins.append(join(table, person=_MATE, columns=their))
        if world.joins.column is not None:
            key, column = str(world.joins.key), world.joins.column
            pairs = [(*pair, 1) for pair in world.joins.pairs]
            form = "CSV" if world.form == "CSV" else "Parquet"
            table = self._table(form, [_KEY, column], [types[key], types[column]], pairs)
            joins.append(join(table, public=True, on={key: _KEY}, columns=[column]))
        return WorldTables(main, tuple(joins))

    def _table(self, form: str, names: Sequence[str], types: Sequence[str], rows: Sequence[Row]) -> Any:
        """Return a table of rows, each of which ends in how many times it occurs."""
        library = _LIBRARIES.get(form)
        form = form if library is None or find_spec(library) else "Parquet"
        if form in ("Parquet", "a relation"):
            path = self._parquet(names, types, rows)
            return path if form == "Parquet" else self.root.sql(f"SELECT * FROM read_parquet({literal(path)})")
        plain = [row[:-1] for row in rows for _ in range(row[-1])]
        if form == "CSV":
            path = str(self.room.path("csv"))
            with open(path, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
                csv.writer(file).writerows([names, *plain])
            return path
        columns = {name: [row[i] for row in plain] for i, name in enumerate(names)}
        return _frame(form, columns, types)

    def _parquet(self, names: Sequence[str], types: Sequence[str], rows: Sequence[Row]) -> str:
        path = str(self.room.path("parquet"))
        given: dict[str, Any] = {f"c{i}": [] for i in range(len(names))}
        for row in rows:
            for i, cell in enumerate(row[:-1]):
                given[f"c{i}"].append(None if cell is None else str(cell))
        arrays = {name: np.array(cells, dtype=object) for name, cells in given.items()}
        arrays["times"] = np.array([row[-1] for row in rows], dtype=np.int64)
        chosen = ", ".join(
            f"CAST(c{i} AS {kind}) AS {quoted(name)}" for i, (name, kind) in enumerate(zip(names, types, strict=True))
        )
        connection = self.root.cursor()
        connection.register("given", arrays)
        columns = chosen or "1 AS nothing"
        connection.execute(f"COPY (SELECT {columns} FROM given, range(times)) TO {literal(path)} (FORMAT parquet)")
        connection.close()
        return path

    # --- runs ---

    def _source(self, world: World, tables: WorldTables, folder: Path) -> Source:
        columns = {name: field.declared for name, field in world.fields.items()}
        place = folder / f"{NAME}.ledger"
        described = {"name": NAME, "epsilon": 1000, "delta": "0.5", "ledger": place, **world.described}
        return Source(tables.main, columns=columns, joins=tables.joins, **described)

    def plan(self, world: World, table: WorldTables) -> Planned:
        """Return the plan of the question, checked against the declarations; nothing is read."""
        question, source = world.question, self._source(world, table, self.room.folder)
        options = question.arguments
        if question.door == "discover":
            return source.plan_keys(**options)
        if question.door == "rows_per_person":
            del options["share"]
            return plan_rows_per_person(source.schema, **options)
        if question.door == "bounds":
            return plan_bounds(source.schema, options.pop("column"), **options)
        return source.plan(*question.statistics, **options)

    def ask(self, world: World, table: WorldTables, script: Script) -> tuple[Seen, Source]:
        """Ask the question of a source with a new ledger, as a user does; what is left in its folder is said too.

        Times, hashes (which are of times, too) and the place of the folder differ from run to run, and are left out.
        """
        folder = self.room.path("asked")
        folder.mkdir()
        source = self._source(world, table, folder)
        seen = self.again(world, source, script)
        files = sorted((str(file.relative_to(folder)), file.stat().st_size) for file in folder.rglob("*"))
        entries = source.make_ledger().entries(answers=True)
        own = re.compile("|".join([_CLOCK.pattern, re.escape(str(folder)), *(entry.hash for entry in entries)]))
        said = [(who, own.sub("", str(text))) for who, text in seen.said if "sqlalchemy" not in who]  # addresses
        kept = [replace(entry, time="", hash="", recorded_at=None) for entry in entries]
        return replace(seen, said=(*said, ("the files", str(files)), ("the ledger", str(kept)))), source

    def again(self, world: World, source: Source, script: Script) -> Seen:
        """Ask the question of a source."""
        question = world.question
        call = getattr(source, question.door)
        return self._seen(script, lambda: call(*question.statistics, **question.arguments, entropy=NoOther()), True)

    def answer(self, world: World, plan: Planned, table: WorldTables, script: Script) -> Seen:
        """Answer the question from a table, with a ledger on paper."""
        opened = connected(table)
        return self._seen(script, lambda: _answered(world, plan, opened))

    def _seen(self, script: Script, call: Callable[[], Answer], every_form: bool = False) -> Seen:
        answer, error = None, None
        with listening(self.room) as heard, scripted(script):
            try:
                answer = call()
            except Exception as raised:
                error = f"{type(raised).__name__}: {raised}"
            if answer is not None:
                heard.add("the record", json.dumps(_release(answer).answer), repr(answer))
                if every_form:
                    heard.add("the answer", *forms(answer))
        return Seen(answer, tuple(heard.said), script, error)


def _stored(person: Sequence[str], names: Sequence[str], types: Mapping[str, str]) -> list[str]:
    """Return the types in which a table stores the person, if it has one, and some columns."""
    return [*("VARCHAR" for _ in person), *(types[name] for name in names)]


def _release(answer: Answer) -> Release | Discovery | RowsPerPerson:
    return answer.release if isinstance(answer, Bounds) else answer


def forms(answer: Answer) -> Iterator[str]:
    """Yield the texts that an answer has: those of all its methods ``to_…`` that need no argument and no library."""
    yield from (repr(answer), str(answer))
    for name in sorted(each for each in dir(type(answer)) if each.startswith("to_") and each[3:] not in _FRAMES):
        method = getattr(answer, name)
        if all(each.default is not each.empty for each in signature(method).parameters.values()):
            try:
                yield str(method())
            except LapwingError as error:
                yield str(error)


def _answered(world: World, plan: Planned, table: Table) -> Answer:
    paper: Any = Paper()
    if isinstance(plan, KeyPlan):
        return discover(plan, table, paper, entropy=NoOther())
    if isinstance(plan, RowsPlan):
        return find_rows_per_person(plan, table, paper, entropy=NoOther())
    if world.question.door == "bounds":
        return find_bounds(plan, table, paper, entropy=NoOther())
    return make_release(plan, table, paper if plan.parts else None, entropy=NoOther())


def _frame(form: str, columns: Mapping[str, Sequence[Any]], types: Sequence[str]) -> Any:
    if form == "pandas":
        pandas = import_module("pandas")
        return pandas.DataFrame({name: pandas.Series(list(cells), dtype=object) for name, cells in columns.items()})
    if form == "Polars":
        polars = import_module("polars")
        kinds = {"VARCHAR": polars.String, "DOUBLE": polars.Float64, "BIGINT": polars.Int64}
        kinds |= {"BOOLEAN": polars.Boolean, "DATE": polars.Date}
        return polars.DataFrame(
            {n: polars.Series(n, list(c), dtype=kinds[t]) for (n, c), t in zip(columns.items(), types, strict=True)}
        )
    arrow = import_module("pyarrow")
    kinds = {"VARCHAR": arrow.string(), "DOUBLE": arrow.float64(), "BIGINT": arrow.int64()}
    kinds |= {"BOOLEAN": arrow.bool_(), "DATE": arrow.date32()}
    return arrow.table({n: arrow.array(list(c), kinds[t]) for (n, c), t in zip(columns.items(), types, strict=True)})
