"""Brute-force sensitivity: over all small tables of difficult values, no person moves an answer more than declared.

And some person moves it by exactly that much, so that no noise is wasted.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, product
from typing import Any, get_args

import duckdb
import numpy as np

from ...noise.entropy import EntropyForTests
from ...question import query, schema
from ...question.schema import plain
from ...sensitivity import CATALOGUE, Neighbors
from ..finding import Finding, parts
from ..room import Room
from ..tools.neighbors import (
    OTHERS,
    PUBLIC_N,
    SEED,
    TYPES,
    Moved,
    Question,
    Row,
    Tables,
    frozen,
    placed,
    public_n_moves,
    questions,
    source,
    together,
)
from ..tools.pooled import sharing
from .expressions import expressions
from .joining import joining
from .several import several_moves


@sharing
def sensitivities(room: Room) -> Iterator[Finding]:
    """Compare the L1 distance of all neighbors with the declared sensitivity, on every engine."""
    own = [replace(room, engines=(engine,)) for engine in room.engines]
    yield from parts(
        room,
        several=lambda: chain.from_iterable(map(_several, own)),
        neighbors=lambda: chain.from_iterable(map(_neighbors, own)),
        public=lambda: chain.from_iterable(map(_public, own)),
        keys=lambda: chain.from_iterable((_keys_of_one(each), _keys_where(each)) for each in own),
        rules=lambda: chain.from_iterable(map(_rules, own)),
        crowd=lambda: chain.from_iterable(map(_crowd, own)),
        trees=lambda: chain.from_iterable(map(_trees, own)),
        people=lambda: chain.from_iterable(map(_people, own)),
        rows=lambda: chain.from_iterable(map(_rows_of_one, own)),
        expressions=lambda: chain.from_iterable(map(expressions, own)),
        joins=lambda: chain.from_iterable(map(joining, own)),
        forms=lambda: _forms(room),
        lines=lambda: _lines(room),
        catalogue=_catalogue,
    )


def _several(room: Room) -> Iterator[Finding]:
    """Questions for several tables."""
    yield from several_moves(room, {people: placed(room, people) for people in (True, False)})


def _neighbors(room: Room) -> Iterator[Finding]:
    """All questions, asked of all small tables together; some tables are also asked alone."""
    tables = {people: placed(room, people) for people in (True, False)}
    for question in questions():
        yield from _compared(room.engines[0].name, tables[question.people].moved(question))
    yield _alone(room, tables[True])


def _public(room: Room) -> Iterator[Finding]:
    """Whole tables, whose number of rows is public."""
    for rows in (2, 5, 100):
        yield from _compared(f"{room.engines[0].name}, {rows} rows", public_n_moves(room, PUBLIC_N, rows))


def _compared(engine: str, found: Moved) -> Iterator[Finding]:
    for number, part in enumerate(found.plan.parts):
        declared, largest = found.plan.sensitivity(part), found.largest(number)
        told = f"{largest:,} of {declared:,} declared, over {found.number:,} pairs of neighbors"
        told += f"; farthest apart: {found.witness(number)}"
        yield Finding(f"{engine}: {part.measurement.name} in {found.question}", largest == declared, told)


def _alone(room: Room, tables: Tables) -> Finding:
    """A table that is queried alone has the same integers as among all the others."""
    question = Question((query.mean("x"), query.sum("z")), ("key",))
    among, different, owned = tables.moved(question), 0, tables.owned[1 :: len(tables.owned) // 4]
    for own in owned:
        found = [source(room, room.table(together([(OTHERS[1], rows)]), TYPES), question) for rows in (own, ())]
        with_own, without = (frozen(each, question, ()) for each in found)
        for number, cells in enumerate(among.cells):
            moved = cells[1, tables.owned.index(own)] - cells[1, 0]
            alone = np.stack([a - b for a, b in zip(with_own[number], without[number], strict=True)], axis=-1)
            different += not np.array_equal(moved, alone.ravel())
    told = f"{different} of {len(owned) * len(among.cells)} measurements differ when a table is queried alone"
    return Finding(f"{room.engines[0].name}: tables queried one by one", not different, told)


def _keys_of_one(room: Room) -> Finding:
    """Add people with one to six keys, all of which two others have too: no more than two counts may rise."""
    most, people = 2, range(1, 7)
    had = [(f"{i} {j}", f"{i}-{j}") for i in people for j in range(i)]
    others = [(f"{key} {who}", key) for _, key in had for who in "ab"]
    one = [(str(i), f"{i}-{j}") for i in people for j in range(i) for _ in range(j + 1)]
    counts = []
    for rows in (others, [*others, *one, ("1", None), ("7", None)]):
        columns: dict[str, list[str | None]] = {"person": [row[0] for row in rows], "key": [row[1] for row in rows]}
        table = room.table(columns, {"person": "VARCHAR", "key": "VARCHAR"})
        asked = room.source(table, columns={"key": plain("text")}, person="person", rows_per_person=9, delta="0.01")
        found = asked.discover("key", epsilon=1000, delta="0.01", keys_per_person=most, entropy=EntropyForTests(SEED))
        counts.append(dict(zip(found.keys, found.counts, strict=True)))
    rose = {key: counts[1].get(key, 0) - counts[0].get(key, 0) for _, key in had}
    largest = max(sum(abs(rose[f"{i}-{j}"]) for j in range(i)) for i in people)
    ordered = all(list(each) == sorted(each) for each in counts)
    told = f"{largest} of {most} declared, over people with 1 to {people[-1]} keys"
    told += "; keys come in their own order" if ordered else "; keys come in an order of the data"
    return Finding(f"{room.engines[0].name}: keys of one person in discover", largest == most and ordered, told)


def _keys_where(room: Room) -> Finding:
    """Of keys with twenty people each, only those with rows that WHERE keeps are found, with only these people."""
    people = [f"{key} {i}" for key in "ab" for i in range(20)]
    cells: dict[str, list[Any]] = {"person": people, "key": [who[0] for who in people], "z": [*range(20)] * 2}
    table = room.table(cells, {"person": "VARCHAR", "key": "VARCHAR", "z": "BIGINT"})
    columns = {"key": plain("text"), "z": plain("integer")}
    asked = room.source(table, columns=columns, person="person", rows_per_person=1, delta="0.01")
    options: dict[str, Any] = {"where": "key = 'b' AND z < 15", "epsilon": 1000, "delta": "0.01"}
    found = asked.discover("key", **options, entropy=EntropyForTests(SEED))
    told = f"{found.keys} with {found.counts} people, of ('b',) with (15,)"
    passed = found.keys == ("b",) and found.counts == (15,)
    return Finding(f"{room.engines[0].name}: keys of rows that WHERE keeps", passed, told)


def _rules(room: Room) -> Iterator[Finding]:
    """Pairs of tables that must give the same integers, by the public rules for WHERE and for unusable cells."""
    kept: tuple[Row, ...] = ((1.0, 1, "a"), (2.0, 1, "b"))
    out: tuple[Row, ...] = ((1.0, 9, "a"),) * 5
    yield _same(room, "rows that WHERE leaves out count for nothing", kept, kept + out)
    dirty: tuple[Row, ...] = ((math.nan, 1, "a"), (math.inf, 1, "a"), (-math.inf, 1, "b"))
    yield _same(room, "NaN and infinity are missing", dirty, tuple((None, *row[1:]) for row in dirty))
    beyond: tuple[Row, ...] = ((99.5, 1, "a"), (-1e308, -(2**62), "b"))
    yield _same(room, "values beyond a bound count as the bound", beyond, ((7.0, 1, "a"), (-3.0, -3, "b")))
    unknown: tuple[Row, ...] = ((1.0, 1, "elsewhere"), (1.0, 1, None))
    yield _same(room, "rows of keys that are not public are left out", unknown, ())


def _same(room: Room, what: str, one: tuple[Row, ...], other: tuple[Row, ...]) -> Finding:
    question = Question((query.count(), query.mean("x"), query.sum("z")), ("key",), "z < 5")
    found = []
    for rows in (one, other):
        asked = source(room, room.table(together([((), rows)]), TYPES), question)
        found.append([cell.tolist() for part in frozen(asked, question, ()) for cell in part])
    same = found[0] == found[1]
    told = f"two tables that differ in such rows give {'the same' if same else 'different'} integers"
    return Finding(f"{room.engines[0].name}: {what}", same, told)


def _crowd(room: Room) -> Iterator[Finding]:
    """Among a hundred thousand others, in any order, one person moves sums of squares as far as alone."""
    crowd: list[Row] = [(2.3 + i % 3, 1, "a") for i in range(100_000)]
    question = Question((query.variance("x"),), people=False)
    found = []
    for rows in (crowd, [*crowd, (7.0, 1, "a")], [(7.0, 1, "a"), *reversed(crowd)]):
        asked = source(room, room.table(together([((), rows)]), TYPES), question)
        made = asked.release(*question.statistics, epsilon=1, entropy=EntropyForTests(SEED))
        found.append([int(cell[0]) for cell in made.cells[0]])
    declared = made.plan.sensitivity(made.plan.parts[0])
    moved = [sum(abs(a - b) for a, b in zip(found[0], other, strict=True)) for other in found[1:]]
    told = f"{moved[0]:,} of {declared:,} declared, and {moved[1]:,} in another order"
    yield Finding(f"{room.engines[0].name}: one row among 100,000", moved == [declared] * 2, told)


def _trees(room: Room) -> Iterator[Finding]:
    """Of a distribution function with many bins, which has a tree of counts, one person moves all levels."""
    bins = 200
    question = Question((query.cdf("z", range(bins + 1)),))
    for neighbors, first in (("add_remove", []), ("change_one", [(0.0, bins - 1, "a")] * 2)):
        found = []
        for rows in (first, [(0.0, 0, "a")] * 2, [(0.0, 0, "a"), (0.0, bins // 2, "b")] * 9):
            table = room.table(together([(((0.0, 7, "a"),), rows)]), TYPES)
            columns = {"z": schema.number(0, bins, integer=True)}
            described: dict[str, Any] = {
                "columns": columns,
                "person": "person",
                "rows_per_person": 2,
                "neighbors": neighbors,
            }
            made = room.source(table, **described).release(
                *question.statistics, epsilon=1000, entropy=EntropyForTests(SEED)
            )
            found.append(np.array(made.cells[0]).ravel())
        (part,) = made.plan.parts
        declared, levels = made.plan.sensitivity(part), part.measurement.mass
        moved = [int(np.abs(each - found[0]).sum()) for each in found[1:]]
        told = f"{moved[0]:,} and {moved[1]:,} of {declared:,} declared, over {levels} levels"
        passed = levels > 1 and moved[0] == declared and moved[1] <= declared
        yield Finding(f"{room.engines[0].name}: a distribution function of {bins} bins, {neighbors}", passed, told)


_ALIKE = (
    "ann", "Ann", "ANN", "ann ", " ann", "a\u00e9", "ae\u0301", "\u00df", "ss", "1", "01", "1.0", "1e0", "+1",
    str(2**53), str(2**53 + 1), "true", "NaN", "nan", "null",
)  # fmt: skip
_NUMBERS = (0, 1, -1, 2**31, 2**32 + 1, 2**53, 2**53 + 1, 2**62, 2**62 + 1)


def _people(room: Room) -> Iterator[Finding]:
    """People with similar values are different people, each of whom counts; rows without a person count for nothing."""
    for kind, people in (("VARCHAR", _ALIKE), ("BIGINT", _NUMBERS)):
        counts = []
        for some in ((), people):
            rows = [*some, *some, *((None,) * 5)]
            table = room.table({"person": rows, "key": ["a"] * len(rows)}, {"person": kind, "key": "VARCHAR"})
            described: dict[str, Any] = {"columns": {"key": schema.keys("a")}, "person": "person", "rows_per_person": 2}
            asked = room.source(table, **described, delta="0.01")
            made = asked.release(query.count(), epsilon=500, entropy=EntropyForTests(SEED))
            counts.append(int(made.cells[0][0][0]))
        found = asked.discover("key", epsilon=500, delta="0.001", entropy=EntropyForTests(SEED)).counts  # no noise
        counted, due = Fraction(counts[1] - counts[0], asked.schema.row_weight), len(people)
        told = f"{counted} rows and {', '.join(map(str, found))} people are counted, of {2 * due} and {due}"
        passed = counted == 2 * due and found == (due,)
        yield Finding(f"{room.engines[0].name}: people of type {kind} who look alike", passed, told)


def _rows_of_one(room: Room) -> Iterator[Finding]:
    """Whatever number of rows one person has, and whatever k is declared, they are in one bin of rows_per_person."""
    others, numbers = ["a", "a", "b", None], (0, 1, 2, 3, 9, 10, 11, 20, 21, 50, 51, 400)
    for neighbors, declared in (("add_remove", 1), ("change_one", 2)):
        found, scales = [], set()
        for number in numbers:
            table = room.table({"person": [*others, *["one"] * number]}, {"person": "VARCHAR"})
            k = (None, 1, 30)[number % 3]
            asked = room.source(table, columns={}, person="person", rows_per_person=k, neighbors=neighbors)
            made = asked.rows_per_person(epsilon=1000, entropy=EntropyForTests(SEED))
            found.append(made.answer["people"])
            scales.add(made.plan.scale * 1000)
        before = found[:1] if neighbors == "add_remove" else found
        largest = max(sum(abs(a - b) for a, b in zip(one, two, strict=True)) for one in before for two in found)
        told = f"{largest} of {declared} declared, for one person with {numbers[0]} to {numbers[-1]} rows"
        passed = largest == declared and scales == {declared}
        yield Finding(f"{room.engines[0].name}: rows per person, {neighbors}", passed, told)


def _forms(room: Room) -> Iterator[Finding]:
    """A table gives the same integers as Parquet, CSV, a relation, and a data frame of each installed library."""
    rows = [*_ALIKE, *_ALIKE[:9], "ann", "ann"]
    x = [(0.0, 7.0, -40.0, 1e308, 2.3)[i % 5] for i in range(len(rows))]
    cells: dict[str, list[Any]] = {"person": rows, "x": x, "key": ["a", "b", "elsewhere"] * 10 + ["a"]}
    path, lines = room.parquet(cells, {"person": "VARCHAR", "x": "DOUBLE", "key": "VARCHAR"}), room.path("csv")
    with lines.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([cells, *zip(*cells.values(), strict=True)])
    with duckdb.connect() as connection:
        forms = {
            "Parquet": path,
            "CSV": str(lines),
            "a relation": connection.sql(f"SELECT * FROM {query.literal(path)}"),
        }
        if find_spec("pandas"):
            forms["pandas"] = import_module("pandas").DataFrame({name: list(each) for name, each in cells.items()})
        if find_spec("pyarrow"):
            forms["Arrow"] = import_module("pyarrow").table(cells)
        found = {form: _integers(room, table) for form, table in forms.items()}
    other = [form for form, integers in found.items() if integers != found["Parquet"]]
    told = f"{', '.join(other) or 'none'} of {', '.join(forms)} give other integers than Parquet"
    yield Finding("the forms of a table", not other, told)
    if find_spec("pandas"):
        people = [1, "1", "1.0", "1.5", 2**53, 2**53 + 1, str(2**53), b"1"]
        nobody = [None, math.nan, 1.5, True, "\1number 1/1"]
        frame = import_module("pandas").DataFrame({"person": people * 2 + nobody, "x": 1.0, "key": "a"})
        alone = _integers(room, frame)[0] - _integers(room, frame[:0])[0]
        told = f"{alone / schema.WEIGHT:g} rows of people are counted, of {2 * len(people)}"
        yield Finding("people of all types in one column", alone == 2 * len(people) * schema.WEIGHT, told)


def _integers(room: Room, table: Any) -> list[int]:
    """Return the noisy integers of some questions, with frozen noise."""
    columns = {"x": schema.number(-3, 7), "key": schema.keys("a", "b", other="others")}
    asked = room.source(table, columns=columns, person="person", rows_per_person=2)
    options: dict[str, Any] = {"by": "key", "epsilon": 500, "entropy": EntropyForTests(SEED)}
    made = asked.release(query.count(), **options), asked.release(query.mean("x"), where="x <= 7", **options)
    return [int(each) for one in made for part in one.cells for cell in part for each in cell]


def _lines(room: Room) -> Finding:
    """Lines of a CSV file that do not fit are left out, so that the number of its rows is never public."""
    path = room.path("csv")
    path.write_text("x,z\n1,2\n1,2,3,4\n", encoding="utf-8")
    asked = room.source(str(path), columns={"x": schema.number(0, 1)}, neighbors="change_one")
    plans = [asked.plan(each, epsilon=1) for each in (query.count(), query.sum("x"), query.variance("x"))]
    public = sum(plan.counts_publicly or any(part.measurement.public_rows for part in plan.parts) for plan in plans)
    return Finding("lines of a CSV file", not public, f"{public} of {len(plans)} questions take their number as public")


def _catalogue() -> Iterator[Finding]:
    """Every entry of ``lw.sensitivity`` is the largest distance over all tables of up to three rows, and attained."""
    low, high = Fraction(-3), Fraction(2)
    values = (low, Fraction(0), Fraction(1, 2), high)
    for name, entry in CATALOGUE.items():
        bits = name == "proportion"
        rows = (Fraction(0), Fraction(1)) if bits else values
        tables = {n: list(product(rows, repeat=n)) for n in range(4)}
        answers = {table: entry.statistic(table, low, high) for some in tables.values() for table in some}
        wrong = []
        for n in (1, 2, 3):
            needed = {"low": low, "high": high, "n": n}
            for neighbors in get_args(Neighbors):
                if neighbors == "add_remove":
                    pairs = [(t, t[1:]) for size in (1, 2, 3) for t in tables[size]]
                else:
                    pairs = [((one, *t), (two, *t)) for t in tables[n - 1] for one in rows for two in rows]
                largest = max(sum(abs(a - b) for a, b in zip(answers[x], answers[y], strict=True)) for x, y in pairs)
                declared = entry.sensitivity(**{each: needed[each] for each in entry.needs}, neighbors=neighbors)
                if abs(declared - largest) > Fraction(1, 2**40):  # roots are rounded
                    wrong.append(f"{float(declared):g} where {float(largest):g} is right, n = {n}, {neighbors}")
        told = f"wrong: {wrong[0]}" if wrong else "over all tables of up to three rows, no more and no less"
        yield Finding(f"lw.sensitivity.{name}", not wrong, told)
