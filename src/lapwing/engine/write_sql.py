"""Query → SQL: the one place that decides what an engine computes.

The SQL reads from ``source``, the table (``joins`` has those that are joined to it), and from ``keys_0``, ``keys_1``,
…, the public keys (key, number) of columns that are grouped by.  It returns one row of integers for each group that
occurs: the number of the group, then what ``measure.Sums`` holds for each measurement.  Quantiles have their own SQL,
with one row for each group and value that occurs: the number of the group, the grid index, and the weight of the rows,
which are multiplied by their own weights if they have any.

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

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..measure.kinds import columns_read
from ..measure.measurement import Measurement
from ..measure.quantiles import Quantiles
from ..measure.weighted import WeightedMean
from ..question.derived import sources_of
from ..question.expression import conditions_of, names_in
from ..question.query import Condition, Query, columns_of, elementary
from ..question.schema import Schema
from .cells import cell_name, without_missing
from .computing import Computation
from .dialect import DUCKDB, Dialect
from .joins import joining
from .set_sql import tables_sql

_FEW_BINS = 16


@dataclass(frozen=True)
class Lowered:
    """The SQL of a query, the columns it reads, and its tables of keys (table, column).

    ``sums`` is None where no sums are needed; ``own`` has the SQL of each measurement that needs its own.  ``tables``
    are the tables that the sums are for, if there are several (``set_sql``).
    """

    sums: str | None
    own: tuple[str, ...]
    columns: tuple[str, ...]
    keys: tuple[tuple[str, str], ...]
    tables: tuple[tuple[str, ...], ...] = ()

    @property
    def sql(self) -> str:
        """All of the SQL."""
        return ";\n".join([*([] if self.sums is None else [self.sums]), *self.own])


def lower(
    schema: Schema,
    query: Query,
    measured: Sequence[Measurement],
    to: Dialect = DUCKDB,
    tables: Sequence[Sequence[str]] | None = None,
) -> Lowered:
    """Return the SQL that measures; with ``tables``, each some of the question's keys, that of all of them at once."""
    summed = [each for each in measured if not each.own_sql]
    own = [each for each in measured if each.own_sql]
    needed = summed or not measured or any(each.counts_rows for each in elementary(query.statistics))
    several = None if tables is None else tuple(tuple(table) for table in tables)
    assert several is None or not own  # the question refuses what does not add up

    def sql(some: Sequence[Measurement]) -> str:
        cells = _computation(schema, query, some, to)
        keys = _keys(query, cells)
        read = _read(query, some, columns_read(schema, query, some), keys, cells)
        tallied = _tallied(schema, some, keys, to)
        last = _sum(tallied, keys, to) if several is None else _sum_tables(tallied, keys, query.by, several, to)
        return "\n".join([*read, *last]) + to.ending

    sums = sql(summed) if needed else None
    keys = _keys(query, _computation(schema, query, (), to))
    looked_up = tuple((key.table, key.column) for key in keys if key.table is not None)
    read = columns_read(schema, query, measured)
    return Lowered(sums, tuple(sql([each]) for each in own), read, looked_up, several or ())


def _computation(schema: Schema, query: Query, measured: Sequence[Measurement], to: Dialect) -> Computation:
    """Return what is computed for each row, beside its cells."""
    named = {*query.by, *(name for each in measured for name in each.columns)}
    conditions = [each for each in (query.where, *(each.condition for each in measured)) if each is not None]
    return Computation(schema, sorted(named), conditions, to)


def _read(
    query: Query, measured: Sequence[Measurement], columns: Sequence[str], keys: Sequence[_Key], cells: Computation
) -> list[str]:
    """Return the steps from a row of the table to its person, keys and indices; rows of people are kept, once."""
    schema, to = cells.schema, cells.to
    people = schema.person is not None
    person = ["person"] if people else []
    grouped = [f"{key.number if people else key.value} AS k{i}" for i, key in enumerate(keys)]
    indices = [f"{_index(each, cells)} AS i{j}" for j, each in _indexed(measured)]
    indices += [f"{_row_weight(each, cells)} AS v{j}" for j, each in _weighted(measured)]
    joins = "".join(f" LEFT JOIN {key.table} ON {key.value} = {key.table}.key" for key in keys if people and key.table)
    bounded = ", ".join([*person, *grouped, *indices]) or "1 AS one"
    kept = "MATERIALIZED " if people and to.weights == "join" else ""
    where = _where(query.where, cells)
    if any(each.counts_people for each in measured):  # one row for each person and group
        bounded = f"DISTINCT {bounded}"
        where += "".join(f" AND {key.number} IS NOT NULL" for key in keys)
    return [
        *_cells(schema, columns, to, _only_indexed(schema, query, measured)),
        *cells.lines,
        f"bounded AS {kept}(SELECT {bounded}",
        f"  FROM {cells.table}{joins}{where}),",
    ]


def _indexed(measured: Sequence[Measurement]) -> Iterator[tuple[int, Measurement]]:
    """Yield the measurements that have an index, with their numbers."""
    return ((j, each) for j, each in enumerate(measured) if each.indexed)


def _weighted(measured: Sequence[Measurement]) -> Iterator[tuple[int, WeightedMean | Quantiles]]:
    """Yield the measurements with weights of rows, with their numbers."""
    return ((j, each) for j, each in enumerate(measured) if isinstance(each, WeightedMean | Quantiles) and each.weight)


def _only_indexed(schema: Schema, query: Query, measured: Sequence[Measurement]) -> set[str]:
    """Return the columns that are read for an index and nothing else; an index is missing by a test of its own."""
    counted = {name for each in measured if each.sums == "present" for name in each.columns}
    conditions = [each for each in (query.where, *(each.condition for each in measured)) if each is not None]
    elsewhere = {*query.by, *counted, *(name for each in conditions for name in columns_of(each))}
    indexed = {name for _, each in _indexed(measured) for name in each.columns}
    for name in sources_of(schema, {*indexed, *elsewhere}):
        expression = schema.columns[name].expression
        if expression is not None:
            indexed |= set(names_in(expression))
            elsewhere |= {each for condition in conditions_of(expression) for each in columns_of(condition)}
    return {name for name in indexed - elsewhere if not schema.columns[name].is_computed}


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
    cleaned = [
        *person,
        *(cell_name(name, to) if name in raw else without_missing(name, schema, to) for name in columns),
    ]
    joins, rows = joining(schema, columns, to)
    first = "".join(f"{step},\n" for step in joins)
    return [
        f"WITH {first}typed AS (SELECT {', '.join(typed) or '1 AS one'} FROM {rows}),",
        f"cleaned AS (SELECT {', '.join(cleaned) or 'one'} FROM typed),",
    ]


def _where(where: Condition | None, cells: Computation) -> str:
    conditions = [] if where is None else [f"({cells.condition(where)})"]
    conditions += ["person IS NOT NULL"] if cells.schema.person is not None else []
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


@dataclass(frozen=True)
class _Tallied:
    """The steps to the sums for each value of the keys, and each weight; and what is left to do.

    ``rows`` is the last step and what is joined to it, ``known`` what must hold of its rows, ``numbers`` the number of
    each key.  For quantiles, a group has one sum for each grid index, which ``spread`` names.
    """

    lines: list[str]
    rows: str
    known: list[str]
    numbers: list[str]
    sums: list[_Sum]
    people: bool
    spread: list[str]
    wide: bool
    """Whether sums may exceed 64 bits: those of rows with weights."""

    @property
    def where(self) -> str:
        """The condition for rows that count."""
        return f" WHERE {' AND '.join(self.known)}" if self.known else ""


def _tallied(schema: Schema, measured: Sequence[Measurement], keys: Sequence[_Key], to: Dialect) -> _Tallied:
    """Return the steps from those to the sums for each value of the keys, and each weight.

    If rows are kept, keys are looked up for every row, which makes the rows small; otherwise they are looked up after
    grouping.
    """
    people = schema.person is not None
    alone = [each for each in measured if each.own_sql]
    spread = ["i0"] if any(each.indexed for each in alone) else []
    sums = _sums(measured, to)
    full = alone[0].row_weight(schema) if alone else schema.row_weight
    window = people and to.weights == "window"
    by = [*(f"k{i}" for i in range(len(keys))), *(["c" if window else "w"] if people else []), *spread]
    summed = ", ".join([*by, *(f"{expression} AS {name}" for each in sums for expression, name in each.limbs)])
    lines, rows = _counted(schema, measured, keys, full, to) if people else ([], "bounded")
    lines.append(f"tally AS (SELECT {summed}\n  FROM {rows}{_group_by(by)}){',' if window else ''}")
    if window:
        lines.append(f"weighed AS (SELECT tally.*, {_weight(schema, 'c', full, to)} FROM tally)")
    joins, known, numbers = "", [f"{each} IS NOT NULL" for each in spread], []
    for i, key in enumerate(keys):
        if people or key.table is None:
            known.append(f"k{i} IS NOT NULL")
            numbers.append(f"k{i}")
        else:
            joins += f" {'LEFT JOIN' if key.other else 'JOIN'} {key.table} ON k{i} = {key.table}.key"
            numbers.append(key.number)
    return _Tallied(
        lines, f"{'weighed' if window else 'tally'}{joins}", known, numbers, sums, people, spread, any(_weighted(alone))
    )


def _sum(tallied: _Tallied, keys: Sequence[_Key], to: Dialect) -> list[str]:
    """Return the steps to the sums of every group."""
    number = tallied.numbers[0] if keys else "0"
    for key, one in zip(keys[1:], tallied.numbers[1:], strict=True):
        number = f"({number}) * {key.size} + {one}"
    total = ", ".join(each.total(tallied.people, to) for each in tallied.sums)
    if tallied.spread:
        total = f"i0, {total if tallied.wide else f'CAST({total} AS {to.big})'} AS weight"
    grouped = _group_by([*([number] if keys else []), *tallied.spread])
    selected = f"SELECT {number} AS cell, {total}\n  FROM {tallied.rows}{tallied.where}{grouped}"
    return [*tallied.lines, selected]


def _sum_tables(
    tallied: _Tallied, keys: Sequence[_Key], by: Sequence[str], tables: Sequence[Sequence[str]], to: Dialect
) -> list[str]:
    """Return the steps to the sums of every group of each table, of the rows that have all keys (claim U6)."""
    axes = [tuple(by.index(name) for name in table) for table in tables]
    used = sorted({axis for table in axes for axis in table})
    numbers = [f"CAST({tallied.numbers[axis]} AS {to.big})" for axis in used]
    counts = [f"CAST({{}} AS {to.big})" if each.is_count else "{}" for each in tallied.sums]
    totals = [one.format(each.total(tallied.people, to)) for one, each in zip(counts, tallied.sums, strict=True)]
    finest = [f"{number} AS c{axis}" for number, axis in zip(numbers, used, strict=True)]
    finest += [f"{total} AS f{j}" for j, total in enumerate(totals)]
    kept = "MATERIALIZED " if to.tables == "union" else ""
    grouped = _group_by(numbers)
    lines = [*tallied.lines[:-1], f"{tallied.lines[-1]},"]
    lines.append(f"finest AS {kept}(SELECT {', '.join(finest)}\n  FROM {tallied.rows}{tallied.where}{grouped})")
    *steps, last = tables_sql([key.size for key in keys], axes, counts, to)
    lines[-1] += "," * bool(steps)
    return [*lines, *steps, last]


def _counted(
    schema: Schema, measured: Sequence[Measurement], keys: Sequence[_Key], full: int, to: Dialect
) -> tuple[list[str], str]:
    """Return the steps that give rows their person's number of rows c, or weight w, and where such rows are."""
    if to.weights == "join":
        weight = _weight(schema, "COUNT(*)", full, to)
        people = [f"people AS (SELECT person, {weight}", "  FROM bounded GROUP BY person),"]
        return people, "bounded JOIN people USING (person)"
    kept = [*(f"k{i}" for i in range(len(keys))), *(f"i{j}" for j, _ in _indexed(measured))]
    kept += [f"v{j}" for j, _ in _weighted(measured)]
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


def _keys(query: Query, cells: Computation) -> list[_Key]:
    bins = dict(query.edges)
    found: list[_Key] = []
    for i, name in enumerate(query.by):
        column = cells.schema.columns[name]
        edges = bins.get(name) or column.edges
        if edges is not None:
            edges = (*column.asked(edges[:-1]), column.asked(edges[1:])[-1])  # bins that are asked stand together
            found.append(_Key(name, len(edges) - 1, _bin(name, edges, cells)))
        else:
            size = len(column.group_keys or ())
            found.append(_Key(name, size, cells.key(name), f"keys_{i}", column.asked_other is not None))
    return found


def kept(schema: Schema, column: str | None, where: Condition | None, to: Dialect) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns to read, and the steps from the table to ``kept``: rows that count, with person and cell."""
    named = {*([] if column is None else [column]), *(() if where is None else columns_of(where))}
    sources = set(sources_of(schema, named))
    columns = tuple(name for name, each in schema.columns.items() if name in sources and not each.is_computed)
    cells = Computation(schema, sorted(named), [] if where is None else [where], to)
    person = ["person"] if schema.person is not None else []
    chosen = person if column is None else [*person, f"{cells.cell(column)} AS cell"]
    return columns, [
        *_cells(schema, columns, to),
        *cells.lines,
        f"kept AS (SELECT {', '.join(chosen)} FROM {cells.table}{_where(where, cells)}),",
    ]


# --- cells ---


def _index(measurement: Measurement, cells: Computation) -> str:
    """Return the grid index of the measured value (claim E1)."""
    if measurement.condition is not None:
        return f"CASE WHEN {cells.condition(measurement.condition)} THEN 1 ELSE 0 END"
    name = measurement.column or ""
    if measurement.sums == "present":
        return f"CASE WHEN {cells.cell(name)} IS NOT NULL THEN 0 END"
    index = cells.index(name, measurement.grid)
    return index if measurement.fill is None else f"COALESCE({index}, {measurement.fill})"


def _row_weight(measurement: WeightedMean | Quantiles, cells: Computation) -> str:
    """Return the weight of a row, in steps of its column's grid; 0 if it is missing."""
    grid = measurement.weight_grid
    return f"COALESCE(CAST({cells.index(measurement.weight, grid)} AS {cells.to.big}) + {grid.low}, 0)"


def _bin(name: str, edges: Sequence[Fraction], cells: Computation) -> str:
    """Return the number of the bin that a value falls into; the first and the last bin reach to infinity."""

    def among(first: int, last: int) -> str:
        """Return the number of the bin, one of ``first`` to ``last``, by binary search if there are many."""
        if last - first < _FEW_BINS:
            cases = " ".join(f"WHEN {cells.below(name, edges[i + 1])} THEN {i}" for i in range(first, last))
            return f"CASE {cases} ELSE {last} END" if cases else str(last)
        middle = (first + last + 1) // 2
        below, above = among(first, middle - 1), among(middle, last)
        return f"CASE WHEN {cells.below(name, edges[middle])} THEN {below} ELSE {above} END"

    return f"CASE WHEN {cells.cell(name)} IS NOT NULL THEN {among(0, len(edges) - 2)} END"


@dataclass(frozen=True)
class _Sum:
    """A sum: its name, and the expressions of its parts, each worth 2^``bits`` times the one before."""

    name: str
    parts: tuple[str, ...]
    bits: int = 0

    @property
    def is_count(self) -> bool:
        """Whether it counts rows: with weights below 2^17, fewer than 2^46 rows add up to less than 2^63."""
        return len(self.parts) == 1 and self.parts[0].startswith("COUNT")

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
    """Return every sum: the rows, then present, first and second of each measurement; alone, rows or their weights."""
    if any(each.own_sql for each in measured):
        heavy = [each.weight_grid.high for _, each in _weighted(measured)]
        return [_parted("n", "v0", heavy[0], to) if heavy else _Sum("n", ("COUNT(*)",))]
    found = [_Sum("n", ("COUNT(*)",))]
    for j, each in _indexed(measured):
        if isinstance(each, WeightedMean):
            most, steps = each.weight_grid.high, each.grid.steps
            found.append(_parted(f"m{j}", f"CASE WHEN i{j} IS NOT NULL THEN v{j} END", most, to))
            found.append(_parted(f"s{j}", f"v{j} * i{j}", most * steps, to))
            found.append(_parted(f"q{j}", f"v{j}", most, to))
            continue
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
