"""Sums of integers that an engine could not hold: added in parts of few bits, they are the sums that Python has.

DuckDB runs the SQL of engines that need the parts.  Each part of one row has to be as small as is said, since then the
sums of 2^42 rows fit into 64 bits, which no table here could try.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import mul
from random import Random
from typing import Any

from ...engine.dialect import DUCKDB, POSTGRES, SPARK, WRITTEN, Dialect
from ...question import query
from ...question.query import Statistic
from ...question.schema import number
from ...source import Source
from ..finding import Finding, all_right
from ..room import Room

SEED = 43
_FULL = 2**16
_BITS = (0, 3, 21)
_MOST = (1, 7, 8, 2**21 - 1, 2**21, 2**21 + 1, 2**31 - 1)


def limbs(room: Room) -> Iterator[Finding]:
    """Check the sums in parts, and the size of each part."""
    yield _sums(room)
    yield _parts(room)
    sized = [each for each in (POSTGRES, SPARK, *WRITTEN.values()) if each.limb]
    wrong = [each.name for each in sized if each.limb + 42 > 63 or not each.exact]
    yield Finding(
        "E3: the parts of 2^42 rows add up to 64 bits, and then to exact types",
        not wrong and len(sized) >= 3,
        all_right(wrong, len(sized)),
    )


def _with(bits: int) -> Dialect:
    return replace(DUCKDB, limb=bits, exact="DECIMAL(38, 0)" if bits else "")


def _sums(room: Room) -> Finding:
    """Sums and sums of squares, of values and of weighted values, of rows and of people."""
    random, wrong, tried = Random(SEED), [], 0
    for most in _MOST:
        values: list[int | None] = [random.choice((0, 1, most, None, random.randint(0, most))) for _ in range(40)]
        values += [most] * 5
        heavy = [random.choice((0, 1, most, random.randint(0, most))) for _ in values]
        people = [random.randrange(15) for _ in values]
        table = room.parquet({"p": people, "z": values, "w": heavy}, {"p": "BIGINT", "z": "BIGINT", "w": "BIGINT"})
        for person in (None, "p"):
            rows = _weights(people) if person else [1] * len(values)
            known: dict[str, Any] = {"person": person, "rows_per_person": 2} if person else {}
            source = _source(room, table, most, known)
            due = _due(rows, values, heavy)
            for bits in _BITS:
                tried += 1
                found = [
                    _summed(source, bits, query.sum("z"), query.variance("z")),
                    _summed(source, bits, query.mean("z", weight="w")),
                ]
                if found != due:
                    wrong.append(f"up to {most}, {bits} bits, {person}: {found}, and {due} are due")
    return Finding("E3: sums in parts are the sums", not wrong, all_right(wrong, tried))


def _due(rows: Sequence[int], values: Sequence[int | None], heavy: Sequence[int]) -> list[list[int]]:
    """Return the sums: of rows, present, values and squares; and of rows, weights with a value, products, weights."""
    some = [(row, z, w) for row, z, w in zip(rows, values, heavy, strict=True) if z is not None]
    squares = [sum(row * z**power for row, z, _ in some) for power in (0, 1, 2)]
    products = [sum(row * w for row, _, w in some), sum(row * z * w for row, z, w in some)]
    return [[sum(rows), *squares], [sum(rows), *products, sum(map(mul, rows, heavy))]]


def _summed(source: Source, bits: int, *asked: Statistic) -> list[int]:
    plan = source.plan(*asked, epsilon=1).on(_with(bits))
    _, *found = source._table.tally(plan.schema, plan.lowered).sums
    return [int(each[0]) for each in found]


def _parts(room: Room) -> Finding:
    """The parts of one row with the largest value are below 2^bits, and add up to the value and to its square."""
    wrong, tried = [], 0
    for most in _MOST:
        source = _source(room, room.parquet({"z": [most]}, {"z": "BIGINT"}), most, {})
        for bits in (1, 3, 7, 21):
            tried += 1
            plan = source.plan(query.sum("z"), query.variance("z"), epsilon=1).on(_with(bits))
            steps = str(plan.lowered.sums).partition("\nSELECT 0 AS cell")[0]
            looked = replace(plan.lowered, sums=f"{steps}\nSELECT * FROM tally")
            _, _, *found = [int(each[0]) for each in source._table.tally(plan.schema, looked).sums]
            number = [max(-(-value.bit_length() // bits), 1) for value in (most, most**2)]
            due = [*_digits(most, bits, number[0]), *_digits(most**2, bits, number[1])]
            if found != due:
                wrong.append(f"{most} has the parts {found}, and {due} are due, in {bits} bits each")
    return Finding("E3: no part is larger than it may be", not wrong, all_right(wrong, tried))


def _digits(value: int, bits: int, number: int) -> list[int]:
    return [value >> bits * i & (1 << bits) - 1 for i in range(number)]


def _weights(people: Sequence[int]) -> list[int]:
    """Return what the row of each person counts, at most two of them in full."""
    rows = Counter(people)
    return [_FULL if rows[each] <= 2 else 2 * _FULL // rows[each] for each in people]


def _source(room: Room, table: str, most: int, known: dict[str, Any]) -> Source:
    columns = {"z": number(0, most, integer=True), "w": number(0, most, integer=True)}
    return room.source(table, columns=columns, **known)
