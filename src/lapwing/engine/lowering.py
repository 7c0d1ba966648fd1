"""Query → SQL: the one place where it is decided what an engine computes.

The SQL reads from ``source``, the table, and from ``keys_0``, ``keys_1``, …, the public keys (key, number) of columns
that are grouped by.  It returns one row of integers for each group that occurs: the number of the group, then what
``measure.Sums`` holds for each measurement.  Quantiles have an SQL of their own, with one row for each group and value
that occurs: the number of the group, the grid index, and the weight of the rows.

Claim E1 (index).  Whatever a cell holds, its grid index is missing or an integer from 0 to M, and a larger value never
has a smaller index.

Claim E2 (weights).  The weights of one person's rows, over all groups, add up to at most rows_per_person·2^16: each of
c rows that remain after WHERE gets 2^16 if c ≤ k, else floor(k·2^16/c).  Rows without a person have no weight.

Claim E3 (order).  The result is a function of the multiset of rows: sums of integers, in types that they do not
overflow, and nothing else.

Missing is what is NULL, NaN, infinite, or no value of the declared type.  Where people have several rows the rows are
read once (MATERIALIZED), so that a table that changes meanwhile cannot break E2.  Proofs: docs/explanation/measure.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..measure import Measurement, target_of
from ..query import All, Compare, Condition, Missing, Not, OneOf, Query, Some, literal, quoted
from ..schema import Column, Grid, Schema

_FEW_BINS = 16
_TYPES = {"text": "VARCHAR", "number": "DOUBLE", "integer": "DOUBLE", "date": "DATE", "boolean": "BOOLEAN"}


@dataclass(frozen=True)
class Lowered:
    """The SQL of a query, the columns it reads, its tables of keys (table, column), and how many groups there are.

    ``sums`` is None where no sums are needed; ``spreads`` has one SQL for each measurement of quantiles.
    """

    sums: str | None
    spreads: tuple[str, ...]
    columns: tuple[str, ...]
    keys: tuple[tuple[str, str], ...]
    groups: int

    @property
    def sql(self) -> str:
        """All of the SQL."""
        return ";\n".join([*([] if self.sums is None else [self.sums]), *self.spreads])


def key_type(column: Column) -> str:
    """Return the SQL type of the keys of a column."""
    return _TYPES[column.kind]


def lower(schema: Schema, query: Query, measured: Sequence[Measurement]) -> Lowered:
    """Return the SQL that measures."""
    keys = _keys(schema, query)
    summed = [each for each in measured if each.form != "quantiles"]
    spread = [each for each in measured if each.form == "quantiles"]
    needed = summed or not measured or any(target_of(statistic) is None for statistic in query.statistics)

    def sql(some: Sequence[Measurement]) -> str:
        return "\n".join([*_read(schema, query, some, _columns(schema, query, some), keys), *_sum(schema, some, keys)])

    sums = sql(summed) if needed else None
    tables = tuple((key.table, key.column) for key in keys if key.table is not None)
    groups = math.prod(key.size for key in keys)
    columns = tuple(_columns(schema, query, measured))
    return Lowered(sums, tuple(sql([each]) for each in spread), columns, tables, groups)


def _read(
    schema: Schema, query: Query, measured: Sequence[Measurement], columns: Sequence[str], keys: Sequence[_Key]
) -> list[str]:
    """Return the steps from a row of the table to its person, keys and indices; rows of people are kept, once."""
    people = schema.person is not None
    person = ["person"] if people else []
    typed = [f"{quoted(schema.person)} AS person"] if schema.person is not None else []
    typed += [f"TRY_CAST({quoted(name)} AS {_TYPES[schema.columns[name].kind]}) AS {_cell(name)}" for name in columns]
    cleaned = [*person, *(_cleaned(name, schema) for name in columns)]
    grouped = [f"{key.number if people else key.value} AS k{i}" for i, key in enumerate(keys)]
    indices = [f"{_index(each)} AS i{j}" for j, each in enumerate(measured) if each.form not in ("rows", "tree")]
    joins = "".join(f" LEFT JOIN {key.table} ON {key.value} = {key.table}.key" for key in keys if people and key.table)
    conditions = [] if query.where is None else [f"({_condition(query.where)})"]
    conditions += ["person IS NOT NULL"] if people else []
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    bounded = [*person, *grouped, *indices]
    return [
        f"WITH typed AS (SELECT {', '.join(typed) or '1 AS one'} FROM source),",
        f"cleaned AS (SELECT {', '.join(cleaned) or 'one'} FROM typed),",
        f"bounded AS {'MATERIALIZED ' if people else ''}(SELECT {', '.join(bounded) or '1 AS one'}",
        f"  FROM cleaned{joins}{where}),",
    ]


def _sum(schema: Schema, measured: Sequence[Measurement], keys: Sequence[_Key]) -> list[str]:
    """Return the steps from those to the sums of every group: first for each value of the keys (and each weight).

    Keys are looked up on every row where rows are kept, which makes them small, else when they are grouped.  For
    quantiles, a group has one sum for each grid index.
    """
    people = schema.person is not None
    spread = ["i0"] if [each.form for each in measured] == ["quantiles"] else []
    sums = [("COUNT(*)", "n")] if spread else _sums(measured)
    by = [*(f"k{i}" for i in range(len(keys))), *(["w"] if people else []), *spread]
    summed = ", ".join([*by, *(f"{expression} AS {name}" for expression, name in sums)])
    lines = []
    if people:
        k, weight = schema.rows_per_person, schema.weight
        lines += [
            f"people AS (SELECT person, CAST(CASE WHEN COUNT(*) <= {k} THEN {weight} ELSE {k * weight} // COUNT(*) END",
            "  AS INTEGER) AS w FROM bounded GROUP BY person),",
        ]
    rows = "bounded JOIN people USING (person)" if people else "bounded"
    lines.append(f"tally AS (SELECT {summed}\n  FROM {rows}{_group_by(by)})")
    joins, known, cell = "", [f"{each} IS NOT NULL" for each in spread], []
    for i, key in enumerate(keys):
        if people or key.table is None:
            known.append(f"k{i} IS NOT NULL")
            cell.append(f"k{i}")
        else:
            joins += f" {'LEFT JOIN' if key.other else 'JOIN'} {key.table} ON k{i} = {key.table}.key"
            cell.append(key.number)
    number = cell[0] if cell else "0"
    for key, one in zip(keys[1:], cell[1:], strict=True):
        number = f"({number}) * {key.size} + {one}"
    where = f" WHERE {' AND '.join(known)}" if known else ""
    total = ", ".join(f"COALESCE(SUM({'w * ' if people else ''}{name}), 0)" for _, name in sums)
    if spread:
        total = f"i0, CAST({total} AS BIGINT) AS weight"
    grouped = _group_by([*([number] if keys else []), *spread])
    lines.append(f"SELECT {number} AS cell, {total}\n  FROM tally{joins}{where}{grouped}")
    return lines


def _group_by(expressions: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(expressions)}" if expressions else ""


@dataclass(frozen=True)
class _Key:
    """A column that is grouped by: its value on a row, and the number of its group.

    Its table of keys is None for bins, whose value is the number.
    """

    column: str
    size: int
    value: str
    table: str | None = None
    other: bool = False

    @property
    def number(self) -> str:
        """The number of the group, missing for a key that is not listed and not counted under ``other``."""
        if self.table is None:
            return self.value
        return f"COALESCE({self.table}.number, {self.size - 1})" if self.other else f"{self.table}.number"


def _keys(schema: Schema, query: Query) -> list[_Key]:
    bins = dict(query.edges)
    found: list[_Key] = []
    for i, name in enumerate(query.by):
        column = schema.columns[name]
        edges = bins.get(name) or column.edges
        if edges is not None:
            found.append(_Key(name, len(edges) - 1, _bin(name, edges)))
        else:
            size = len(column.labels or ())
            found.append(_Key(name, size, _cell(name), f"keys_{i}", column.other is not None))
    return found


def _columns(schema: Schema, query: Query, measured: Sequence[Measurement]) -> list[str]:
    """Return the declared columns that the query reads, in the order of their declaration."""
    used = {*query.by, *(each.column for each in measured if each.column is not None)}
    for condition in (query.where, *(each.condition for each in measured)):
        if condition is not None:
            used |= _named(condition)
    return [name for name in schema.columns if name in used]


def _named(condition: Condition) -> set[str]:
    if isinstance(condition, All | Some):
        return {name for part in condition.parts for name in _named(part)}
    if isinstance(condition, Not):
        return _named(condition.part)
    found = {condition.column}
    return found | {condition.other} if isinstance(condition, Compare) and condition.other is not None else found


def kept(schema: Schema, column: str, where: Condition | None) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns to read, and the steps from the table to ``kept``: rows that count, with person and cell."""
    named = {column} | (set() if where is None else _named(where))
    columns = tuple(name for name in schema.columns if name in named)
    people = schema.person is not None
    person = ["person"] if people else []
    typed = [f"{quoted(schema.person)} AS person"] if schema.person is not None else []
    typed += [f"TRY_CAST({quoted(name)} AS {_TYPES[schema.columns[name].kind]}) AS {_cell(name)}" for name in columns]
    cleaned = [*person, *(_cleaned(name, schema) for name in columns)]
    conditions = [] if where is None else [f"({_condition(where)})"]
    conditions += ["person IS NOT NULL"] if people else []
    kept = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return columns, [
        f"WITH typed AS (SELECT {', '.join(typed)} FROM source),",
        f"cleaned AS (SELECT {', '.join(cleaned)} FROM typed),",
        f"kept AS (SELECT {', '.join([*person, f'{_cell(column)} AS cell'])} FROM cleaned{kept}),",
    ]


# --- cells ---


def _cell(name: str) -> str:
    """Return the name under which a column goes once it is typed; no name of ours begins so."""
    return quoted(f"c_{name}")


def _cleaned(name: str, schema: Schema) -> str:
    """Return the typed cell, with NaN and infinity missing."""
    cell = _cell(name)
    if schema.columns[name].kind in ("number", "integer"):
        return f"CASE WHEN isfinite({cell}) THEN {cell} END AS {cell}"  # a comparison could be folded by statistics
    return cell


def _index(measurement: Measurement) -> str:
    """Return the grid index of the measured value (claim E1)."""
    if measurement.condition is not None:
        return f"CASE WHEN {_condition(measurement.condition)} THEN 1 ELSE 0 END"
    cell = _cell(measurement.column or "")
    if measurement.form == "count":
        return f"CASE WHEN {cell} IS NOT NULL THEN 0 END"
    grid = measurement.grid
    low, high = _double(grid.low * grid.step), _double(grid.high * grid.step)
    steps = f"FLOOR(({cell} - {low}) * {_double(1 / grid.step)} + 0.5e0)"
    coarse = max(abs(grid.low), abs(grid.high)) > 2**45  # in float64, (v - low) could be off by half a step
    beyond = f" OR {steps} >= {grid.steps}" if coarse else ""
    index = (
        f"CASE WHEN {cell} <= {low} THEN 0 WHEN {cell} >= {high}{beyond} THEN {grid.steps} "
        f"ELSE CAST({steps} AS {_whole_type(grid)}) END"
    )
    return index if measurement.fill is None else f"COALESCE({index}, {measurement.fill})"


def _whole_type(grid: Grid) -> str:
    return "INTEGER" if grid.steps < 2**31 else "BIGINT"


def _bin(name: str, edges: Sequence[Fraction]) -> str:
    """Return the number of the bin that a value falls into; the first and the last bin reach to infinity."""
    cell = _cell(name)

    def among(first: int, last: int) -> str:
        """Return the number of the bin, one of ``first`` to ``last``; many are halved, so that few are compared."""
        if last - first < _FEW_BINS:
            cases = " ".join(f"WHEN {cell} < {_double(edges[i + 1])} THEN {i}" for i in range(first, last))
            return f"CASE {cases} ELSE {last} END" if cases else str(last)
        middle = (first + last + 1) // 2
        below, above = among(first, middle - 1), among(middle, last)
        return f"CASE WHEN {cell} < {_double(edges[middle])} THEN {below} ELSE {above} END"

    return f"CASE WHEN {cell} IS NOT NULL THEN {among(0, len(edges) - 2)} END"


def _sums(measured: Sequence[Measurement]) -> list[tuple[str, str]]:
    """Return (expression, name) of every sum: the rows, then present, first and second of each measurement."""
    found = [("COUNT(*)", "n")]
    for j, each in enumerate(measured):
        if each.form in ("rows", "tree"):
            continue
        found.append((f"COUNT(i{j})", f"m{j}"))
        if each.degree >= 1:
            found.append((f"SUM(i{j})", f"s{j}"))
        if each.degree == 2:
            found.append((f"SUM(CAST(i{j} AS BIGINT) * i{j})", f"q{j}"))
    return found


# --- conditions ---


def _condition(condition: Condition) -> str:
    if isinstance(condition, All | Some):
        word = " AND " if isinstance(condition, All) else " OR "
        return word.join(f"({_condition(part)})" for part in condition.parts)
    if isinstance(condition, Not):
        return f"NOT ({_condition(condition.part)})"
    cell = _cell(condition.column)
    if isinstance(condition, Missing):
        return f"{cell} IS NULL"
    if isinstance(condition, OneOf):
        return f"{cell} IN ({', '.join(literal(value, _double) for value in condition.values)})"
    other = literal(condition.value, _double) if condition.other is None else _cell(condition.other)
    return f"{cell} {condition.operator} {other}"


def _double(value: Fraction) -> str:
    """Return a number as a literal of type DOUBLE."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"
