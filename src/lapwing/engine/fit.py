"""How well a declaration fits a table → SQL, and the exact numbers: for ``checking``, which shows them in coarse words.

One query counts, over all rows, for every column: values of its type, cells that hold something else, values beyond
each bound, and values that are not whole.  One counts values that are listed keys, and one people by their rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from ..measure.cells import Progress
from ..question.join import joins_read
from ..question.schema import Column, Schema
from .cells import cell_name, given_name, without_codes
from .dialect import DUCKDB, Dialect
from .joins import joining, partner_name
from .table import Lost, Session, T, Table

_COUNTED, _JOINED = 200, 32
"""How many columns one query counts, since servers limit what it returns; and how many tables of keys it joins, since
engines take long to plan many joins."""

ONE_IN = 16
_MANY_ROWS, _ENOUGH_PEOPLE = 2**22, 1000
"""In a table of many rows, one person in ``ONE_IN`` is looked at, chosen by a hash, if those are enough people."""


@dataclass(frozen=True)
class ColumnCounts:
    """The exact numbers of one column, which are private; its repr hides them."""

    values: int
    odd: int
    below: int
    above: int
    broken: int
    listed: int

    def __repr__(self) -> str:
        return "ColumnCounts(hidden)"


@dataclass(frozen=True)
class TableCounts:
    """The exact numbers of a table, which are private; its repr hides them."""

    rows: int
    with_person: int
    people: int
    people_beyond: int
    columns: Mapping[str, ColumnCounts]
    lost: Lost = field(default_factory=Lost)
    one_in: int = 1
    """People are counted among one person in this many."""

    partners: Mapping[int, int] = field(default_factory=dict)
    """How many rows have a partner in each joined table, by the number of the join."""

    def __repr__(self) -> str:
        return "TableCounts(hidden)"


def count_fit(
    table: Table, schema: Schema, columns: Sequence[str], most: int, progress: Progress | None = None
) -> TableCounts:
    """Read the table and count; ``most`` is the number of rows that a person should have at most."""
    keyed = {f"keys_{i}": name for i, name in enumerate(columns) if schema.columns[name].keys is not None}
    to = table.dialect

    def work() -> TableCounts:
        with table.opened(schema, columns, keyed, progress, given=True) as session:
            known: dict[str, int] = {}
            for some in _batched(keyed.items(), _JOINED):
                known |= zip(
                    dict(some).values(), _one_row(session, _keys_sql(schema, columns, dict(some), to)), strict=True
                )
            counted: dict[str, ColumnCounts] = {}
            for names in _batched(columns, _COUNTED) or [[]]:
                found = _one_row(session, _cells_sql(schema, columns, names, to))
                rows, with_person = next(found), next(found)
                counted |= {name: _column(found, known.get(name)) for name in names}
            people = (0, 0, 1)
            if schema.person is not None:
                first, joined = _rows(schema, columns, to)
                sampled = to is DUCKDB and rows > _MANY_ROWS
                people = _people(session, first, joined, most, sampled=sampled)
            partners = _partners(session, schema, columns, to)
            return TableCounts(rows, with_person, *people[:2], counted, table.lost, people[2], partners)

    return table.guarded("failed while it was read", "Nothing was charged.", work)


def _batched(values: Iterable[T], size: int) -> list[list[T]]:
    """Return the values in lists of this size."""
    left = iter(values)
    return list(iter(lambda: list(islice(left, size)), []))


def _one_row(session: Session, sql: str) -> Iterator[int]:
    return iter([int(each[0]) for each in session.integers(sql)])


def _column(found: Iterator[int], listed: int | None) -> ColumnCounts:
    values, odd, below, above, broken = (next(found) for _ in range(5))
    return ColumnCounts(values, odd, below, above, broken, values if listed is None else listed)


def _cells_sql(schema: Schema, all_columns: Sequence[str], columns: Sequence[str], to: Dialect) -> str:
    """Return the query about cells, which has one row: the numbers of rows, of rows with a person, and of columns."""
    read = [] if schema.person is None else ["person"]
    counts = ["COUNT(*)", "COUNT(*)" if schema.person is None else "COUNT(person)"]
    for i, name in enumerate(columns):
        held = given_name(name, to)
        if schema.columns[name].missing:  # a cell with a code for missing holds nothing
            held = f"{held} AND ({cell_name(name, to)} IS NULL OR {without_codes(name, schema, to)} IS NOT NULL)"
        read += [f"{without_codes(name, schema, to)} AS v{i}", f"{held} AS g{i}"]
        counts += _counts(f"v{i}", f"g{i}", schema.columns[name], to)
    first, rows = _rows(schema, all_columns, to)
    cells = f"cells AS (SELECT {', '.join(read) or '1 AS one'} FROM {rows})"
    return f"WITH {first}{cells}\nSELECT {_named(counts)}\n  FROM cells"


def _rows(schema: Schema, columns: Sequence[str], to: Dialect) -> tuple[str, str]:
    """Return the steps that join tables, and where the rows are then."""
    steps, rows = joining(schema, columns, to, given=True)
    return "".join(f"{step},\n" for step in steps), rows


def _partners(session: Session, schema: Schema, columns: Sequence[str], to: Dialect) -> dict[int, int]:
    """Return how many rows have a partner, by the number of the join."""
    numbers = [number for number, _ in joins_read(schema, columns)]
    if not numbers:
        return {}
    first, rows = _rows(schema, columns, to)
    counts = _named([_count_if(partner_name(number)) for number in numbers])
    found = _one_row(session, f"WITH {first}cells AS (SELECT * FROM {rows})\nSELECT {counts}\n  FROM cells")
    return dict(zip(numbers, found, strict=True))


def _counts(value: str, given: str, column: Column, to: Dialect) -> Iterator[str]:
    """Yield what is counted for one column, in the order of ``ColumnCounts``."""
    yield f"COUNT({value})"
    yield _count_if(f"{value} IS NULL AND {given}")
    for end, beyond in ((column.first or column.low, "<"), (column.last or column.high, ">")):
        yield "0" if end is None else _count_if(f"{value} {beyond} {to.literal(end)}")
    most = Fraction(2**53)  # larger floats are whole, and Spark fails where FLOOR is too large for a BIGINT
    small = f"{value} BETWEEN {to.double(-most)} AND {to.double(most)}"
    broken = f"CASE WHEN {small} THEN {value} <> FLOOR({value}) END"
    yield _count_if(broken) if column.kind == "integer" else "0"


def _keys_sql(schema: Schema, columns: Sequence[str], keyed: Mapping[str, str], to: Dialect) -> str:
    """Return the query about keys: for each of their columns, how many cells are listed.

    It is a query of its own: in a join with all the keys, every other column would be carried along.
    """
    read = ", ".join(f"{cell_name(name, to)} AS v_{table}" for table, name in keyed.items())
    joins = "".join(f"\n  LEFT JOIN {table} ON v_{table} = {table}.key" for table in keyed)
    counts = _named([f"COUNT({table}.key)" for table in keyed])
    first, rows = _rows(schema, columns, to)
    return f"WITH {first}cells AS (SELECT {read} FROM {rows})\nSELECT {counts}\n  FROM cells{joins}"


def _people(session: Session, first: str, rows: str, most: int, *, sampled: bool) -> tuple[int, int, int]:
    """Return how many people there are, how many have more than so many rows, and among one in how many people."""
    if sampled:
        people, beyond = _one_row(session, _people_sql(first, rows, most, f" AND hash(person) % {ONE_IN} = 0"))
        if people >= _ENOUGH_PEOPLE:
            return people, beyond, ONE_IN
    people, beyond = _one_row(session, _people_sql(first, rows, most))
    return people, beyond, 1


def _people_sql(first: str, rows: str, most: int, chosen: str = "") -> str:
    """Return the query about people: how many there are, and how many have more than so many rows."""
    found = f"SELECT COUNT(*) AS c FROM {rows} WHERE person IS NOT NULL{chosen} GROUP BY person"
    people = f"WITH {first}people AS ({found})"
    return f"{people}\nSELECT {_named(['COUNT(*)', _count_if(f'c > {most}')])}\n  FROM people"


def _count_if(condition: str) -> str:
    return f"COUNT(CASE WHEN {condition} THEN 1 END)"


def _named(counts: Sequence[str]) -> str:
    return ", ".join(f"{count} AS n{i}" for i, count in enumerate(counts))
