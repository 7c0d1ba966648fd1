"""Sums of integers that an engine could not hold: added in parts of few bits, they are the sums that Python has.

DuckDB runs the SQL of engines that need the parts.  Each part of one row has to be as small as is said, since then the
sums of 2^42 rows fit into 64 bits, which no table here could try.
"""

from __future__ import annotations

import re
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
_MOST = (1, 7, 8, 2**21 - 1, 2**21, 2**31 - 1)


def limbs(room: Room) -> Iterator[Finding]:
    """Check the sums in parts, and the size of each part."""
    yield _sums(room)
    yield _parts(room)
    yield _wide(room)


def _with(bits: int) -> Dialect:
    return replace(DUCKDB, limb=bits, exact="DECIMAL(38, 0)" if bits else "")


def _sums(room: Room) -> Finding:
    """Sums and sums of squares, of values and of weighted values, of rows and of people."""
    random, wrong, tried = Random(SEED), [], 0
    for most in _MOST:
        values: list[int | None] = [random.choice((0, 1, most, None, random.randint(0, most))) for _ in range(40)]
        values += [most] * 5
        heavy = [random.choice((0, 1, _heaviest(most), random.randint(0, _heaviest(most)))) for _ in values]
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
                    _spread(source, bits),
                ]
                if found != due:
                    wrong.append(f"up to {most}, {bits} bits, {person}: {found}, and {due} are due")
    return Finding("E3: sums in parts are the sums", not wrong, all_right(wrong, tried))


def _due(rows: Sequence[int], values: Sequence[int | None], heavy: Sequence[int]) -> list[list[int]]:
    """Return the sums: of rows, present, values and squares; of weights, products; and weights by value."""
    some = [(row, z, w) for row, z, w in zip(rows, values, heavy, strict=True) if z is not None]
    squares = [sum(row * z**power for row, z, _ in some) for power in (0, 1, 2)]
    products = [sum(row * w for row, _, w in some), sum(row * z * w for row, z, w in some)]
    spread: dict[int, int] = {}
    for row, z, w in some:
        spread[z] = spread.get(z, 0) + row * w
    weights = [each for pair in sorted(spread.items()) for each in pair]
    return [[sum(rows), *squares], [sum(rows), *products, sum(map(mul, rows, heavy))], weights]


def _summed(source: Source, bits: int, *asked: Statistic) -> list[int]:
    plan = source.plan(*asked, epsilon=1).on(_with(bits))
    _, *found = source._table.tally(plan.schema, plan.lowered).sums
    return [int(each[0]) for each in found]


def _spread(source: Source, bits: int) -> list[int]:
    """Return every value, in their order, with the weights of its rows."""
    plan = source.plan(query.median("z", weight="w"), epsilon=1).on(_with(bits))
    ((_, values, weights),) = source._table.tally(plan.schema, plan.lowered).own
    return [int(each) for pair in sorted(zip(values, weights, strict=True)) for each in pair]


def _parts(room: Room) -> Finding:
    """The parts of one row with the largest value are below 2^bits, and add up to what is summed."""
    wrong, tried = [], 0
    for most in _MOST:
        high = _heaviest(most)
        table = room.parquet({"z": [most], "w": [high]}, {"z": "BIGINT", "w": "BIGINT"})
        source = _source(room, table, most, {})
        for bits in (1, 3, 7, 21):
            squared = [*_digits(most, bits), *_digits(most**2, bits)]
            weighted = [*_digits(high, bits), *_digits(high * most, bits), *_digits(high, bits)]
            for asked, due, counted in (
                ((query.sum("z"), query.variance("z")), squared, 2), ((query.mean("z", weight="w"),), weighted, 1),
            ):  # fmt: skip
                tried += 1
                plan = source.plan(*asked, epsilon=1).on(_with(bits))
                steps = str(plan.lowered.sums).partition("\nSELECT 0 AS cell")[0]
                looked = replace(plan.lowered, sums=f"{steps}\nSELECT * FROM tally")
                found = [int(each[0]) for each in source._table.tally(plan.schema, looked).sums][counted:]
                if found != due:
                    wrong.append(f"{most} has the parts {found}, and {due} are due, in {bits} bits each")
    return Finding("E3: no part is larger than it may be", not wrong, all_right(wrong, tried))


def _wide(room: Room) -> Finding:
    """Parts of 2^42 rows fit into 64 bits, and are of an exact type before they are added."""
    wrong, tried = [], 0
    for dialect in (POSTGRES, SPARK, *WRITTEN.values()):
        for most in _MOST if dialect.limb else ():
            source = _source(room, "none.parquet", most, {"person": "p", "rows_per_person": 2})
            for asked in ((query.sum("z"), query.variance("z")), (query.mean("z", weight="w"),)):
                tried += 1
                text = str(source.plan(*asked, epsilon=1).on(dialect).lowered.sums)
                last = text.partition("SELECT 0 AS cell")[2]
                cast = re.findall(rf"CAST\(([smq]0\w*) AS {re.escape(dialect.exact)}\)", last)
                named = [name for name in re.findall(r"\b[smq]0\w*", last) if f"COUNT(i0) AS {name}" not in text]
                if cast != named or not cast or dialect.limb + 42 > 63:
                    wrong.append(f"{dialect.name}, up to {most}: {last:.200}")
    return Finding(
        "E3: the parts of 2^42 rows fit into 64 bits, and are added as exact numbers",
        not wrong and tried > 20,
        all_right(wrong, tried),
    )


def _digits(value: int, bits: int) -> list[int]:
    """Return the digits of a value to the base 2^bits, the lowest first."""
    return [value >> at & (1 << bits) - 1 for at in range(0, value.bit_length(), bits)]


def _heaviest(most: int) -> int:
    return most // 2 + 1


def _weights(people: Sequence[int]) -> list[int]:
    """Return what the row of each person counts, at most two of them in full."""
    rows = Counter(people)
    return [_FULL if rows[each] <= 2 else 2 * _FULL // rows[each] for each in people]


def _source(room: Room, table: str, most: int, known: dict[str, Any]) -> Source:
    columns = {"z": number(0, most, integer=True), "w": number(0, _heaviest(most), integer=True)}
    return room.source(table, columns=columns, **known)
