"""Query → SQL: the one place that decides what an engine computes.

The SQL reads from ``source``, the table, and from ``keys_0``, ``keys_1``, …, the public keys (key, number) of columns
that are grouped by.  It returns one row of integers for each group that occurs: the number of the group, then what
``measure.Sums`` holds for each measurement.  Quantiles have their own SQL, with one row for each group and value
that occurs: the number of the group, the grid index, and the weight of the rows.

Claim E1 (index).  Whatever a cell holds, its grid index is missing or an integer from 0 to M, and a larger value never
has a smaller index.

Claim E2 (weights).  The weights of one person's rows, over all groups, add up to at most rows_per_person·2^16: each of
c rows that remain after WHERE gets 2^16 if c ≤ k, else floor(k·2^16/c).  Rows without a person have no weight.

Claim E3 (order).  The result is a function of the multiset of rows: sums of integers, in types that they do not
overflow, and nothing else.

Missing is what is NULL, NaN, infinite, no value of the declared type, or a declared code for missing.  Where people
have several rows the rows are read once (MATERIALIZED, or by a window), so that a table that changes meanwhile cannot
break E2.  What differs between engines is in ``dialect``.  Proofs: docs/explanation/measure.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..measure.kinds import columns_read
from ..measure.measurement import Measurement
from ..question.query import All, Condition, Missing, Not, OneOf, Query, Some, columns_of
from ..question.schema import Schema
from .dialect import DUCKDB, Dialect

_FEW_BINS = 16
_LONGEST_NAME = 61


@dataclass(frozen=True)
class Lowered:
    """The SQL of a query, the columns it reads, and its tables of keys (table, column).

    ``sums`` is None where no sums are needed; ``own`` has the SQL of each measurement that needs its own.
    """

    sums: str | None
    own: tuple[str, ...]
    columns: tuple[str, ...]
    keys: tuple[tuple[str, str], ...]

    @property
    def sql(self) -> str:
        """All of the SQL."""
        return ";\n".join([*([] if self.sums is None else [self.sums]), *self.own])


def lower(schema: Schema, query: Query, measured: Sequence[Measurement], to: Dialect = DUCKDB) -> Lowered:
    """Return the SQL that measures."""
    keys = _keys(schema, query, to)
    summed = [each for each in measured if not each.own_sql]
    own = [each for each in measured if each.own_sql]
    needed = summed or not measured or any(statistic.counts_rows for statistic in query.statistics)

    def sql(some: Sequence[Measurement]) -> str:
        read = _read(schema, query, some, columns_read(schema, query, some), keys, to)
        return "\n".join([*read, *_sum(schema, some, keys, to)]) + to.ending

    sums = sql(summed) if needed else None
    tables = tuple((key.table, key.column) for key in keys if key.table is not None)
    return Lowered(sums, tuple(sql([each]) for each in own), columns_read(schema, query, measured), tables)


def _read(
    schema: Schema,
    query: Query,
    measured: Sequence[Measurement],
    columns: Sequence[str],
    keys: Sequence[_Key],
    to: Dialect,
) -> list[str]:
    """Return the steps from a row of the table to its person, keys and indices; rows of people are kept, once."""
    people = schema.person is not None
    person = ["person"] if people else []
    grouped = [f"{key.number if people else key.value} AS k{i}" for i, key in enumerate(keys)]
    indices = [f"{_index(each, to)} AS i{j}" for j, each in _indexed(measured)]
    joins = "".join(f" LEFT JOIN {key.table} ON {key.value} = {key.table}.key" for key in keys if people and key.table)
    bounded = ", ".join([*person, *grouped, *indices]) or "1 AS one"
    kept = "MATERIALIZED " if people and to.weights == "join" else ""
    where = _where(schema, query.where, to)
    if any(each.counts_people for each in measured):  # one row for each person and group
        bounded = f"DISTINCT {bounded}"
        where += "".join(f" AND {key.number} IS NOT NULL" for key in keys)
    return [
        *_cells(schema, columns, to, _only_indexed(query, measured)),
        f"bounded AS {kept}(SELECT {bounded}",
        f"  FROM cleaned{joins}{where}),",
    ]


def _indexed(measured: Sequence[Measurement]) -> Iterator[tuple[int, Measurement]]:
    """Yield the measurements that have an index, with their numbers."""
    return ((j, each) for j, each in enumerate(measured) if each.indexed)


def _only_indexed(query: Query, measured: Sequence[Measurement]) -> set[str]:
    """Return the columns that are read for an index and nothing else; an index is missing by a test of its own."""
    counted = {each.column for each in measured if each.sums == "present"}
    conditions = [each for each in (query.where, *(each.condition for each in measured)) if each is not None]
    elsewhere = {*query.by, *counted, *(name for each in conditions for name in columns_of(each))}
    return {each.column for _, each in _indexed(measured) if each.column is not None} - elsewhere


def _cells(schema: Schema, columns: Sequence[str], to: Dialect, raw: Collection[str] = ()) -> list[str]:
    """Return the steps from the table to ``cleaned``: the person, and cells of the declared types, NULL if missing.

    Numbers of ``raw`` may still be NaN or infinite there: an engine that inlines the steps would otherwise repeat the
    test at every use of the cell.
    """
    person = ["person"] if schema.person is not None else []
    typed = [f"{'person' if to.prepared else to.quoted(schema.person)} AS person"] if schema.person is not None else []
    for name in columns:
        given, type_name = cell_name(name, to) if to.prepared else to.quoted(name), to.types[schema.columns[name].kind]
        typed.append(f"{to.typed.format(x=given, type=type_name)} AS {cell_name(name, to)}")
    raw = {name for name in raw if not schema.columns[name].missing}
    cleaned = [*person, *(cell_name(name, to) if name in raw else _cleaned(name, schema, to) for name in columns)]
    return [
        f"WITH typed AS (SELECT {', '.join(typed) or '1 AS one'} FROM source),",
        f"cleaned AS (SELECT {', '.join(cleaned) or 'one'} FROM typed),",
    ]


def _where(schema: Schema, where: Condition | None, to: Dialect) -> str:
    conditions = [] if where is None else [f"({_condition(where, to)})"]
    conditions += ["person IS NOT NULL"] if schema.person is not None else []
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _sum(schema: Schema, measured: Sequence[Measurement], keys: Sequence[_Key], to: Dialect) -> list[str]:
    """Return the steps from those to the sums of every group: first for each value of the keys, and each weight.

    If rows are kept, keys are looked up for every row, which makes the rows small; otherwise they are looked up after
    grouping.  For quantiles, a group has one sum for each grid index.
    """
    people = schema.person is not None
    alone = [each for each in measured if each.own_sql]
    spread = ["i0"] if any(each.indexed for each in alone) else []
    sums = [_Sum("n", ("COUNT(*)",))] if alone else _sums(measured, to)
    full = alone[0].row_weight(schema) if alone else schema.row_weight
    window = people and to.weights == "window"
    by = [*(f"k{i}" for i in range(len(keys))), *(["c" if window else "w"] if people else []), *spread]
    summed = ", ".join([*by, *(f"{expression} AS {name}" for each in sums for expression, name in each.limbs)])
    lines, rows = _counted(schema, measured, keys, full, to) if people else ([], "bounded")
    lines.append(f"tally AS (SELECT {summed}\n  FROM {rows}{_group_by(by)}){',' if window else ''}")
    if window:
        lines.append(f"weighed AS (SELECT tally.*, {_weight(schema, 'c', full, to)} FROM tally)")
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
    total = ", ".join(each.total(people, to) for each in sums)
    if spread:
        total = f"i0, CAST({total} AS {to.big}) AS weight"
    grouped = _group_by([*([number] if keys else []), *spread])
    lines.append(f"SELECT {number} AS cell, {total}\n  FROM {'weighed' if window else 'tally'}{joins}{where}{grouped}")
    return lines


def _counted(
    schema: Schema, measured: Sequence[Measurement], keys: Sequence[_Key], full: int, to: Dialect
) -> tuple[list[str], str]:
    """Return the steps that give rows their person's number of rows c, or weight w, and where such rows are."""
    if to.weights == "join":
        weight = _weight(schema, "COUNT(*)", full, to)
        people = [f"people AS (SELECT person, {weight}", "  FROM bounded GROUP BY person),"]
        return people, "bounded JOIN people USING (person)"
    kept = [*(f"k{i}" for i in range(len(keys))), *(f"i{j}" for j, _ in _indexed(measured))]
    counted = ", ".join([*kept, "COUNT(*) OVER (PARTITION BY person) AS c"])
    return [f"counted AS (SELECT {counted} FROM bounded),"], "counted"


def _weight(schema: Schema, rows: str, full: int, to: Dialect) -> str:
    """Return the weight w of each of one person's ``rows`` rows; a row in full weighs ``full`` (claim E2)."""
    k = schema.most_rows
    shared = to.divided.format(a=k * full, b=rows)
    return f"CAST(CASE WHEN {rows} <= {k} THEN {full} ELSE {shared} END AS {to.integer}) AS w"


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


def _keys(schema: Schema, query: Query, to: Dialect) -> list[_Key]:
    bins = dict(query.edges)
    found: list[_Key] = []
    for i, name in enumerate(query.by):
        column = schema.columns[name]
        edges = bins.get(name) or column.edges
        if edges is not None:
            found.append(_Key(name, len(edges) - 1, _bin(name, edges, to)))
        else:
            size = len(column.group_keys or ())
            found.append(_Key(name, size, cell_name(name, to), f"keys_{i}", column.other is not None))
    return found


def kept(schema: Schema, column: str | None, where: Condition | None, to: Dialect) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns to read, and the steps from the table to ``kept``: rows that count, with person and cell."""
    named = {column} | (set() if where is None else columns_of(where))
    columns = tuple(name for name in schema.columns if name in named)
    person = ["person"] if schema.person is not None else []
    chosen = person if column is None else [*person, f"{cell_name(column, to)} AS cell"]
    return columns, [
        *_cells(schema, columns, to),
        f"kept AS (SELECT {', '.join(chosen)} FROM cleaned{_where(schema, where, to)}),",
    ]


# --- cells ---


def cell_name(name: str, to: Dialect) -> str:
    """Return the name of a column once it is typed; no other name in the SQL begins with c_.

    PostgreSQL truncates names to 63 bytes, so a longer name is replaced by its digest.
    """
    return to.quoted(f"c_{_short_name(name)}")


def given_name(name: str, to: Dialect) -> str:
    """Return the name of what says whether a cell of the table holds something, whatever that is (``fit``)."""
    return to.quoted(f"g_{_short_name(name)}")


def _short_name(name: str) -> str:
    encoded = name.encode()
    return name if len(encoded) <= _LONGEST_NAME else hashlib.sha256(encoded).hexdigest()[:32]


def without_codes(name: str, schema: Schema, to: Dialect) -> str:
    """Return the typed cell, with NaN, infinity and the codes of its column missing."""
    cell, column = cell_name(name, to), schema.columns[name]
    tests = [to.finite.format(x=cell)] if column.kind in ("number", "integer") else []
    if column.missing:
        tests.append(f"{cell} NOT IN ({', '.join(map(to.literal, column.missing))})")
    return f"CASE WHEN {' AND '.join(tests)} THEN {cell} END" if tests else cell


def _cleaned(name: str, schema: Schema, to: Dialect) -> str:
    """Return the typed cell without its codes, under its name."""
    cell, clean = cell_name(name, to), without_codes(name, schema, to)
    return cell if clean == cell else f"{clean} AS {cell}"


def _index(measurement: Measurement, to: Dialect) -> str:
    """Return the grid index of the measured value (claim E1)."""
    if measurement.condition is not None:
        return f"CASE WHEN {_condition(measurement.condition, to)} THEN 1 ELSE 0 END"
    cell = cell_name(measurement.column or "", to)
    if measurement.sums == "present":
        return f"CASE WHEN {cell} IS NOT NULL THEN 0 END"
    grid = measurement.grid
    low, high = to.double(grid.low * grid.step), to.double(grid.high * grid.step)
    steps = f"FLOOR(({cell} - {low}) * {to.double(1 / grid.step)} + {to.double(Fraction(1, 2))})"
    tiny = (
        f" WHEN {cell} - {low} <= {to.double(Fraction(1, 4))} THEN 0" if to.careful and grid.step > 1 else ""
    )  # the product is smaller
    coarse = max(abs(grid.low), abs(grid.high)) > 2**45  # in float64, (v - low) could be off by half a step
    beyond = f" WHEN {steps} >= {grid.steps} THEN {grid.steps}" if coarse else ""
    whole = to.integer if grid.steps < 2**to.bits else to.big
    index = (
        f"CASE WHEN {to.finite.format(x=cell)} THEN CASE WHEN {cell} <= {low} THEN 0 "
        f"WHEN {cell} >= {high} THEN {grid.steps}{tiny}{beyond} ELSE CAST({steps} AS {whole}) END END"
    )
    return index if measurement.fill is None else f"COALESCE({index}, {measurement.fill})"


def _bin(name: str, edges: Sequence[Fraction], to: Dialect) -> str:
    """Return the number of the bin that a value falls into; the first and the last bin reach to infinity."""
    cell = cell_name(name, to)

    def among(first: int, last: int) -> str:
        """Return the number of the bin, one of ``first`` to ``last``, by binary search if there are many."""
        if last - first < _FEW_BINS:
            cases = " ".join(f"WHEN {cell} < {to.double(edges[i + 1])} THEN {i}" for i in range(first, last))
            return f"CASE {cases} ELSE {last} END" if cases else str(last)
        middle = (first + last + 1) // 2
        below, above = among(first, middle - 1), among(middle, last)
        return f"CASE WHEN {cell} < {to.double(edges[middle])} THEN {below} ELSE {above} END"

    return f"CASE WHEN {cell} IS NOT NULL THEN {among(0, len(edges) - 2)} END"


@dataclass(frozen=True)
class _Sum:
    """A sum: its name, and the expressions of its parts, each worth 2^``bits`` times the one before."""

    name: str
    parts: tuple[str, ...]
    bits: int = 0

    @property
    def limbs(self) -> list[tuple[str, str]]:
        """(expression, name) of each part."""
        names = [self.name] if len(self.parts) == 1 else [f"{self.name}_{i}" for i in range(len(self.parts))]
        return list(zip(self.parts, names, strict=True))

    def total(self, people: bool, to: Dialect) -> str:
        """Return the sum over all keys (and weights) of one group."""
        terms = []
        for i, (expression, name) in enumerate(self.limbs):
            wide = f"CAST({name} AS {to.exact})" if to.exact and not expression.startswith("COUNT") else name
            summed = f"COALESCE(SUM({'w * ' if people else ''}{wide}), 0)"
            terms.append(summed if i == 0 else f"{2 ** (self.bits * i)} * {summed}")
        return " + ".join(terms)


def _sums(measured: Sequence[Measurement], to: Dialect) -> list[_Sum]:
    """Return every sum: the rows, then present, first and second of each measurement."""
    found = [_Sum("n", ("COUNT(*)",))]
    for j, each in _indexed(measured):
        found.append(_Sum(f"m{j}", (f"COUNT(i{j})",)))
        if each.degree >= 1:
            found.append(_parted(f"s{j}", f"i{j}", each.grid.steps, to))
        if each.degree == 2:
            found.append(_parted(f"q{j}", f"CAST(i{j} AS {to.big}) * i{j}", each.grid.steps**2, to))
    return found


def _parted(name: str, value: str, most: int, to: Dialect) -> _Sum:
    """Return the sum of a value from 0 to ``most``, in parts of so few bits that none overflows for 2^42 rows."""
    if not to.limb or most < 2**to.limb:
        return _Sum(name, (f"SUM({value})",))
    size, parts = 2**to.limb, []
    for i in range(-(-most.bit_length() // to.limb)):
        above = value if i == 0 else to.divided.format(a=value, b=size**i)
        parts.append(f"SUM(MOD({above}, {size}))")
    return _Sum(name, tuple(parts), to.limb)


# --- conditions ---


def _condition(condition: Condition, to: Dialect) -> str:
    if isinstance(condition, All | Some):
        word = " AND " if isinstance(condition, All) else " OR "
        return word.join(f"({_condition(part, to)})" for part in condition.parts)
    if isinstance(condition, Not):
        return f"NOT ({_condition(condition.part, to)})"
    cell = cell_name(condition.column, to)
    if isinstance(condition, Missing):
        return f"{cell} IS NULL"
    if isinstance(condition, OneOf):
        return f"{cell} IN ({', '.join(map(to.literal, condition.values))})"
    other = to.literal(condition.value) if condition.other is None else cell_name(condition.other, to)
    return f"{cell} {condition.operator} {other}"
