"""Joins, by brute force: what one person has in two tables moves an answer exactly as far as declared (claim J1).

Look-ups with a key twice, and person columns in which people could look different, are refused before the charge.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, get_args

from ...errors import InvalidSource, LapwingError
from ...plan.plan import Plan
from ...question import query
from ...question.join import Join, join
from ...question.schema import keys, number, plain
from ...release.pipeline import Tally
from ...sensitivity import Neighbors
from ...source import Source
from ..finding import Finding, first_of
from ..room import Room

_K = 2
_COLUMNS = {"x": number(0, 3, integer=True), "y": number(0, 3, integer=True), "code": keys(1, 2), "key": keys("a", "b")}
_TYPES = {"p": "VARCHAR", "x": "BIGINT", "code": "BIGINT"}
_KEYS: dict[str, list[tuple[str, list[Any]]]] = {
    "as they are": [("BIGINT", [1, 2, 1]), ("VARCHAR", ["1", "2", "1"])],
    "as they are read": [("VARCHAR", ["1", "01"]), ("VARCHAR", ["1", " 1.0"]), ("DOUBLE", [2, 1, 2.0])],
}


def joining(room: Room) -> Iterator[Finding]:
    """Yield what one person can move through a join, and what is refused."""
    yield from _moved(room)
    yield _numbers_and_texts(room)
    yield _codes(room)
    if room.engines[0].place is None:
        yield from _look_ups(room)
        yield _same_people(room)


def _source(room: Room, mine: int, there: int, neighbors: str = "add_remove") -> Source:
    """Return a source in which one person has so many rows, and so many in the joined table; two others have some."""
    people = ["q", "r", None, *["one"] * mine]
    main = room.table({"p": people, "x": [3] * len(people), "code": [1, 2, 1, *[1] * mine]}, _TYPES)
    who = ["q", "q", None, "absent", *["one"] * there]
    mates = room.table({"who": who, "v": [3] * len(who)}, {"who": "VARCHAR", "v": "BIGINT"})
    look_up = room.table({"c": [1, 3], "k": ["a", "b"]}, {"c": "BIGINT", "k": "VARCHAR"})
    joins = [
        join(mates, person="who", columns={"y": "v"}),
        join(look_up, public=True, on={"code": "c"}, columns={"key": "k"}),
    ]
    described: dict[str, Any] = {"person": "p", "rows_per_person": _K, "neighbors": neighbors, "columns": _COLUMNS}
    return room.source(main, joins=joins, **described)


def _plan(source: Source) -> Plan:
    return source.plan(query.sum("y"), query.count(), by="key", epsilon=1)


def _cells(source: Source) -> dict[tuple[int, int], int]:
    """Return the exact integers of a sum of joined cells by joined keys."""
    plan = _plan(source)
    tally = Tally(source._table.tally(plan.schema, plan.lowered))
    groups, columns = plan.measured[0].exact_cells(tally.exact(plan, 0))
    return {
        (int(group), place): int(cell)
        for place, column in enumerate(columns)
        for group, cell in zip(groups.tolist(), column.tolist(), strict=True)
    }


def _moved(room: Room) -> Iterator[Finding]:
    found = [(mine, there) for mine in (0, 1, _K) for there in (0, 1, _K, 40)]
    sides = [_cells(_source(room, *each)) for each in found]
    for neighbors in get_args(Neighbors):
        plan = _plan(_source(room, 0, 0, neighbors))
        most = plan.sensitivity(plan.parts[0])
        pairs = (
            combinations(range(len(sides)), 2) if neighbors == "change_one" else ((0, at) for at in range(len(sides)))
        )
        largest, witness = 0, ""
        for one, other in pairs:
            a, b = sides[one], sides[other]
            moved = sum(abs(a.get(at, 0) - b.get(at, 0)) for at in {*a, *b})
            if moved > largest:
                largest, witness = moved, f"{found[one]} or {found[other]} rows in the two tables"
        yield Finding(
            f"J1: {room.engines[0].name}: one person in two tables moves a sum exactly as far as declared, {neighbors}",
            largest == most,
            f"{largest:,} of {most:,} declared; farthest apart: {witness}",
        )


def _numbers_and_texts(room: Room) -> Finding:
    """Numbers in one table and texts in another are no people that can be compared."""
    wrong = []
    for one, other in (("BIGINT", "VARCHAR"), ("VARCHAR", "BIGINT")):
        main = room.table({"p": [1, 2], "x": [1, 2], "code": [1, 2]}, {**_TYPES, "p": one})
        mates = room.table({"who": [1, 2], "v": [1, 2]}, {"who": other, "v": "BIGINT"})
        wrong += _granted(room, main, join(mates, person="who", columns={"y": "v"}), f"{one} and {other}")
    return Finding(
        f"J1: {room.engines[0].name}: people who are numbers in one table and texts in another are refused",
        not wrong,
        f"{len(wrong)} of 2 sources were granted, 0 are right{first_of(wrong)}.",
    )


def _granted(room: Room, main: Any, joined: Join, what: str) -> list[str]:
    """Return what is wrong if a question about a joined column is not refused, or is charged."""
    declared = {name: column for name, column in _COLUMNS.items() if name in {"x", "code", *dict(joined.columns)}}
    source = room.source(main, joins=[joined], person="p", rows_per_person=_K, columns=declared)
    name = joined.columns[0][0]
    try:
        source.release(query.count(name), epsilon=1)
    except InvalidSource:
        return [] if source.make_ledger().spent == 0 else [f"{what}, which was charged"]
    except LapwingError as error:
        return [f"{what}: {error}"]
    return [what]


def _look_ups(room: Room) -> Iterator[Finding]:
    main = room.table({"p": ["a", "b"], "x": [1, 2], "code": [1, 2]}, _TYPES)
    for how, all_keys in _KEYS.items():
        wrong = []
        for kind, some in all_keys:
            for cells in ("aaa", "aab", "baa"):
                table = room.parquet({"c": some, "k": list(cells[: len(some)])}, {"c": kind, "k": "VARCHAR"})
                joined = join(table, public=True, on={"code": "c"}, columns={"key": "k"})
                wrong += _granted(room, main, joined, f"{some} of the type {kind} with the cells {cells}")
        yield Finding(
            f"J2: a look-up in which a key occurs twice, {how}, is refused before anything is charged",
            not wrong,
            f"{len(wrong)} of {3 * len(all_keys)} look-ups were granted, 0 are right{first_of(wrong)}.",
        )
    wrong = []
    for what, text in (("a text of 2,000 characters", "k" * 2000), ("a text with a NUL", "a\0b")):
        table = room.parquet({"c": [1], "k": [text]}, {"c": "BIGINT", "k": "VARCHAR"})
        wrong += _granted(room, main, join(table, public=True, on={"code": "c"}, columns={"key": "k"}), what)
    yield Finding(
        "J2: a look-up that cannot be handed to every engine is refused before anything is charged",
        not wrong,
        f"{len(wrong)} of 2 look-ups were granted, 0 are right{first_of(wrong)}.",
    )


def _codes(room: Room) -> Finding:
    """A code for missing is no value, and has no partner; a row without a partner stays."""
    main = room.table({"code": [1, 9, None, 4]}, {"code": "BIGINT"})
    look_up = room.table({"c": [1, 9, None], "v": [3, 3, 3]}, {"c": "BIGINT", "v": "BIGINT"})
    columns = {"code": plain("integer", [9]), "y": _COLUMNS["y"]}
    joins = [join(look_up, public=True, on={"code": "c"}, columns={"y": "v"})]
    plan = (source := room.source(main, joins=joins, columns=columns)).plan(query.count("y"), query.count(), epsilon=1)
    (_, rows, present, *_) = source._table.tally(plan.schema, plan.lowered).sums
    found = [int(rows[0]), int(present[0])]
    return Finding(
        f"J2: {room.engines[0].name}: every row stays, and a code for missing has no partner",
        found == [4, 1],
        f"{found[1]} of {found[0]} rows have a partner, 1 of 4 is right.",
    )


def _same_people(room: Room) -> Finding:
    """A whole number is one person in every type of number, and in a file of text."""
    ids = [7, 10**15, -3]
    counted = {}
    for one in ("BIGINT", "DECIMAL(38,0)", "DECIMAL(20,2)"):
        main = room.parquet({"p": ids, "x": [1] * 3, "code": [1] * 3}, {**_TYPES, "p": one})
        for other in ("BIGINT", "DECIMAL(30,5)", "CSV"):
            mates: Any = room.path("csv")
            if other == "CSV":
                mates.write_text("who,v\n" + "".join(f"{each},3\n" for each in ids), encoding="utf-8")
            else:
                mates = room.parquet({"who": ids, "v": [3] * 3}, {"who": other, "v": "BIGINT"})
            columns = {"p": plain("integer"), **{name: _COLUMNS[name] for name in ("x", "y", "code")}}
            joins = [join(mates, person="who", columns={"y": "v"})]
            source = room.source(main, joins=joins, person="p", rows_per_person=1, columns=columns)
            plan = source.plan(query.count("y"), epsilon=1)
            tally = Tally(source._table.tally(plan.schema, plan.lowered))
            ((present,),) = plan.measured[0].exact_cells(tally.exact(plan, 0))[1]
            counted[f"{one} and {other}"] = int(present) // 2**16
    wrong = [f"{types}: {found} people have a partner" for types, found in counted.items() if found != len(ids)]
    return Finding(
        "J1: a whole number is the same person in all types of numbers, and in files of text",
        not wrong,
        f"{len(wrong)} of {len(counted)} pairs of types lose people, 0 are right{first_of(wrong)}.",
    )
