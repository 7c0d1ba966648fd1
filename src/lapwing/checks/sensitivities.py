"""Brute-force sensitivity: over all small tables of a nasty domain, one person moves no answer by more than declared.

And some person moves it by just that much, so that no noise is wasted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .. import query
from ..entropy import EntropyForTests
from ..schema import plain
from .finding import Finding
from .neighbors import (
    OTHERS,
    SEED,
    TYPES,
    WHOLE,
    Moved,
    Question,
    Row,
    Tables,
    frozen,
    placed,
    questions,
    source,
    together,
    whole,
)
from .room import Room


def sensitivities(room: Room) -> Iterator[Finding]:
    """Compare the L1 distance of all neighbors with the declared sensitivity, on every engine."""
    for engine in room.engines:
        own = replace(room, engines=(engine,))
        tables = {people: placed(own, people) for people in (True, False)}
        for question in questions():
            yield from _compared(engine.name, tables[question.people].moved(question))
        yield _alone(own, tables[True])
        yield from _compared(engine.name, whole(own, WHOLE))
        yield _keys_of_one(own)
        yield from _rules(own)
        yield from _crowd(own)


def _compared(engine: str, found: Moved) -> Iterator[Finding]:
    for number, part in enumerate(found.plan.parts):
        declared, largest = found.plan.sensitivity(part), found.largest(number)
        told = f"{largest:,} of {declared:,} declared, over {found.number:,} pairs of neighbors"
        told += f"; farthest apart: {found.witness(number)}"
        yield Finding(f"{engine}: {part.measurement.name} in {found.question}", largest == declared, told)


def _alone(room: Room, tables: Tables) -> Finding:
    """Tables that are asked one by one have the integers that they have among all the others."""
    question = Question((query.mean("x"), query.sum("z")), ("key",))
    among, different, owned = tables.moved(question), 0, tables.owned[1 :: len(tables.owned) // 4]
    for own in owned:
        found = [source(room, room.table(together([(OTHERS[1], rows)]), TYPES), question) for rows in (own, ())]
        with_own, without = (frozen(each, question, ()) for each in found)
        for number, cells in enumerate(among.cells):
            moved = cells[1, tables.owned.index(own)] - cells[1, 0]
            alone = np.stack([a - b for a, b in zip(with_own[number], without[number], strict=True)], axis=-1)
            different += not np.array_equal(moved, alone.ravel())
    told = f"{different} of {len(owned) * len(among.cells)} measurements differ when a table is asked alone"
    return Finding(f"{room.engines[0].name}: tables asked one by one", not different, told)


def _keys_of_one(room: Room) -> Finding:
    """Let people with one to six keys come, each with keys that two others have: no more than two counts may rise."""
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


def _rules(room: Room) -> Iterator[Finding]:
    """Pairs of tables that must give the same integers, by the public rules for WHERE and for dirty cells."""
    kept: tuple[Row, ...] = ((1.0, 1, "a"), (2.0, 1, "b"))
    out: tuple[Row, ...] = ((1.0, 9, "a"),) * 5
    yield _same(room, "rows that WHERE leaves out count for nothing", kept, kept + out)
    dirty: tuple[Row, ...] = ((math.nan, 1, "a"), (math.inf, 1, "a"), (-math.inf, 1, "b"))
    yield _same(room, "NaN and infinity are missing", dirty, tuple((None, *row[1:]) for row in dirty))
    beyond: tuple[Row, ...] = ((99.5, 1, "a"), (-1e308, -(2**62), "b"))
    yield _same(room, "what is beyond a bound counts as the bound", beyond, ((7.0, 1, "a"), (-3.0, -3, "b")))
    unknown: tuple[Row, ...] = ((1.0, 1, "elsewhere"), (1.0, 1, None))
    yield _same(room, "rows of keys that are not public are left out", unknown, ())


def _same(room: Room, what: str, one: tuple[Row, ...], other: tuple[Row, ...]) -> Finding:
    question = Question((query.count(), query.mean("x"), query.sum("z")), ("key",), "z < 5")
    found = []
    for rows in (one, other):
        asked = source(room, room.table(together([((), rows)]), TYPES), question)
        options: dict[str, Any] = {"by": question.by, "where": question.where, "epsilon": 1}
        made = asked.release(*question.statistics, **options, entropy=EntropyForTests(SEED))
        found.append([cell.tolist() for part in made.cells for cell in part])
    same = found[0] == found[1]
    told = f"two tables that differ in such rows give {'the same' if same else 'different'} integers"
    return Finding(f"{room.engines[0].name}: {what}", same, told)


def _crowd(room: Room) -> Iterator[Finding]:
    """Beside a hundred thousand others, in any order, one person moves sums of squares as far as alone."""
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
    yield Finding(f"{room.engines[0].name}: one row beside 100,000", moved == [declared] * 2, told)
