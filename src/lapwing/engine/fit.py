"""How well a declaration fits a table → SQL, and the exact numbers: for ``checking``, which shows them in coarse words.

One query counts, over all rows, for every column: values of its type, cells that hold something else, values beyond
each bound, values that are not whole, and values that are no listed key.  Another counts people by their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..measure.cells import Progress
from ..question.schema import Schema
from .dialect import Dialect
from .table import Table
from .write_sql import cell_name, given_name


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

    def __repr__(self) -> str:
        return "TableCounts(hidden)"


def count_fit(
    table: Table, schema: Schema, columns: Sequence[str], most: int, progress: Progress | None = None
) -> TableCounts:
    """Read the table and count; ``most`` is the number of rows that a person should have at most."""
    keys = {f"keys_{i}": name for i, name in enumerate(columns) if schema.columns[name].keys is not None}
    cells = _fit_sql(schema, columns, table.dialect)

    def work() -> TableCounts:
        with table.opened(schema, columns, keys, progress, given=True) as session:
            found = iter([int(each[0]) for each in session.integers(cells)])
            people = [0, 0]
            if schema.person is not None:
                people = [int(each[0]) for each in session.integers(_people_sql(most))]
        rows, with_person = next(found), next(found)
        counted = {name: ColumnCounts(*(next(found) for _ in range(6))) for name in columns}
        return TableCounts(rows, with_person, people[0], people[1], counted)

    return table.guarded("failed while it was read", "Nothing was charged.", work)


def _fit_sql(schema: Schema, columns: Sequence[str], to: Dialect) -> str:
    """Return the query, which has one row: the numbers of rows and of rows with a person, then those of the columns."""
    read, joins = [] if schema.person is None else ["person"], ""
    counts = ["COUNT(*)", "COUNT(*)" if schema.person is None else "COUNT(person)"]
    for i, name in enumerate(columns):
        cell = cell_name(name, to)
        if schema.columns[name].kind in ("number", "integer"):
            cell = f"CASE WHEN {to.finite.format(x=cell)} THEN {cell} END"
        read += [f"{cell} AS v{i}", f"{given_name(name, to)} AS g{i}"]
        counts += _counts(i, schema, name, to)
        if schema.columns[name].keys is not None:
            joins += f" LEFT JOIN keys_{i} ON v{i} = keys_{i}.key"
    named = ", ".join(f"{count} AS n{i}" for i, count in enumerate(counts))
    return f"WITH cells AS (SELECT {', '.join(read) or '1 AS one'} FROM source)\nSELECT {named}\n  FROM cells{joins}"


def _counts(i: int, schema: Schema, name: str, to: Dialect) -> Iterator[str]:
    """Yield what is counted for one column, in the order of ``ColumnCounts``."""
    column = schema.columns[name]
    yield f"COUNT(v{i})"
    yield _count_if(f"v{i} IS NULL AND g{i}")
    yield _count_if(f"v{i} < {to.double(column.low)}") if column.low is not None else _NONE
    yield _count_if(f"v{i} > {to.double(column.high)}") if column.high is not None else _NONE
    yield _count_if(f"v{i} <> FLOOR(v{i})") if column.kind == "integer" else _NONE
    yield f"COUNT(v{i})" if column.keys is None else f"COUNT(keys_{i}.key)"


_NONE = "0"


def _count_if(condition: str) -> str:
    return f"COUNT(CASE WHEN {condition} THEN 1 END)"


def _people_sql(most: int) -> str:
    return (
        "WITH people AS (SELECT COUNT(*) AS c FROM source WHERE person IS NOT NULL GROUP BY person)\n"
        f"SELECT COUNT(*) AS n0, {_count_if(f'c > {most}')} AS n1\n  FROM people"
    )
