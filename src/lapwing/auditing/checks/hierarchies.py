"""Tables whose keys lie within others: what one person moves in all levels together, and what is shown of them.

The table has a column of regions that contradicts the public map of counties, is empty, or names no region.  A row is
in the region of its county, whatever that column holds.  The noise is a script, so that the largest log ratio of the
probabilities of an output on two neighbors is computed exactly, as for other tables (``several``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import exact
from ...plan.plan import Plan
from ...plan.strategy import Strategy
from ...question import query, schema
from ...question.sets import sets
from ..finding import Finding, first_of
from ..room import Room
from ..tools.again import read_once, without_noise
from ..tools.script import Script, scripted

_REGIONS = {"north": ("a", "c", "d"), "south": ("b",)}
_REGION = {county: region for region, counties in _REGIONS.items() for county in counties}
_SEXES = ("f", "m")
_TABLES = sets((), ("region",), ("region", "county"), ("sex",), ("region", "sex"), ("region", "county", "sex"))
_SHARES = tuple(Fraction(share, 32) for share in (1, 2, 5, 8, 4, 12))
_TYPES = {"person": "BIGINT", "county": "VARCHAR", "region": "VARCHAR", "sex": "VARCHAR", "z": "BIGINT"}
_RELEASES = 16
"""So many are looked at: levels that do not add up may do so by chance in one of them."""
_PROTECTED: tuple[dict[str, Any], ...] = ({}, {"person": "person", "rows_per_person": 2})

Row = tuple[str | None, str | None, str | None, int]
"""A county, what the table says of its region, a sex and a number; -3 to 7 is declared."""

_ROWS: tuple[Row, ...] = (
    ("a", "north", "f", 7), ("c", "south", "f", 7), ("b", None, "m", 7), ("b", "north", "f", -9),
    ("x", "north", "f", 7), (None, "south", "m", 7), ("a", "north", None, 7),
)  # fmt: skip


def hierarchies(room: Room) -> Iterator[Finding]:
    """Yield the loss of all levels together for rows and people, and whether what is shown is true and adds up."""
    for described in _PROTECTED:
        yield from _loss(room, described)
    yield from _shown(room)


# --- what one person moves ---


def _loss(room: Room, described: dict[str, Any]) -> Iterator[Finding]:
    """Compare the loss over all tables of one person with ε, for both relations."""
    owned: list[Sequence[Row]] = [(), *((row,) for row in _ROWS)]
    if described:
        owned += [*combinations_with_replacement(_ROWS[:4], 2), *combinations(_ROWS[:4], 3)]
    given = [_table(room, own) for own in owned]
    for neighbors in ("add_remove", "change_one"):
        plan = _plan(room, given[0], {**described, "neighbors": neighbors})
        if neighbors == "add_remove":  # the integers are the same for both; the noise is not
            cells = np.array([_measured(plan, table)[0] for table in given], dtype=object)
        last, scales = _measured(plan, given[-1])
        pairs = [(i, j) for i, j in combinations(range(len(cells)), 2) if (i == 0) == (neighbors == "add_remove")]
        loss = max(sum(np.abs(cells[i] - cells[j]) / scales, Fraction(0)) for i, j in pairs)
        told = f"the largest log ratio is {exact.text(loss)} of 1, over {len(cells)} tables of one person"
        what = f"COUNT(*) and SUM(z) by region, county and sex, {described or 'rows'}, {neighbors}"
        yield Finding(f"all levels of {what}", loss == 1 and np.array_equal(cells[-1], last), told)


def _measured(plan: Plan, table: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return all integers that are measured, one after the other, and the scale of the noise of each."""
    script = Script()
    with scripted(script):
        made = read_once(plan, table).release()
    cells = [int(cell) for part in made.cells for column in part for cell in column]
    drawn, scales = iter(script.calls), []
    for part, columns in zip(plan.parts, made.cells, strict=True):
        calls = [[next(drawn) for _ in columns] for _ in plan.settings(part)]
        scales += [scale for column in zip(*calls, strict=True) for scale, size in column for _ in range(size)]
    return np.array(cells, dtype=object), np.array(scales, dtype=object)


def _table(room: Room, rows: Sequence[Row]) -> Any:
    """Return a table with these rows, all of one person."""
    return room.table({name: [(1, *row)[i] for row in rows] for i, name in enumerate(_TYPES)}, _TYPES)


def _plan(room: Room, table: Any, described: dict[str, Any]) -> Plan:
    """Return a plan that measures all tables."""
    columns = {
        "county": schema.keys(*sorted(_REGION), within={"region": _REGIONS}),
        "sex": schema.keys(*_SEXES),
        "z": schema.number(-3, 7, integer=True),
    }
    source = room.source(table, columns=columns, **described)
    plan = source.plan(query.count(), query.sum("z"), by=_TABLES, epsilon=1)
    assert plan.several is not None
    return replace(plan, strategy=Strategy(plan.several.asked, _SHARES)).on(source.dialect)


# --- what is shown ---


def _shown(room: Room) -> Iterator[Finding]:
    rows = [*_ROWS, *_ROWS[1:4], ("c", "south", "m", 3), ("d", None, "m", 2)]
    table = _table(room, rows)
    plan = _plan(room, table, {})
    kept = [(_REGION[a], a, sex, min(max(z, -3), 7)) for a, _, sex, z in rows if a in _REGION and sex is not None]
    wrong, totals = [], []
    values: dict[tuple[Any, ...], tuple[Fraction, Fraction]] = {}
    for row in without_noise(plan, table).rows:
        keys = row["region"], row["county"], row["sex"]
        own = [each for each in kept if all(key in (None, cell) for key, cell in zip(keys, each, strict=False))]
        values[keys] = Fraction(float(row["count"]["value"])), Fraction(float(row["sum_z"]["value"]))
        if values[keys] != (Fraction(len(own)), Fraction(sum(each[3] for each in own))):
            wrong.append(f"{keys}: {[*map(float, values[keys])]}")
    told = f"{len(wrong)} of {len(values)} groups are not the truth, 0 are right{first_of(wrong)}"
    yield Finding("levels without noise are the truth", not wrong and len(values) == plan.groups, told)
    again = read_once(plan, table)
    for made, name in product([again.release() for _ in range(_RELEASES)], ("count", "sum_z")):
        noisy = {(row["region"], row["county"], row["sex"]): Fraction(float(row[name]["value"])) for row in made.rows}
        totals += [
            f"{name} of {group}"
            for group in noisy
            for parts in _parts(*group)
            if sum(noisy[part] for part in parts) != noisy[group]
        ]
    told = f"{len(totals)} totals differ, 0 are right{first_of(totals)}"
    yield Finding("levels add up to the last digit", not totals, told)


def _parts(region: Any, county: Any, sex: Any) -> Iterator[list[tuple[Any, Any, Any]]]:
    """Yield the groups whose numbers add up to that of a group, in every way."""
    if region is None:
        yield [(each, None, sex) for each in _REGIONS]
    elif county is None:
        yield [(region, each, sex) for each in _REGIONS[region]]
    if sex is None:
        yield [(region, county, each) for each in _SEXES]
