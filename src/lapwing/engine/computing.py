"""Expressions → SQL: the integers of a row that are computed from its cells, in steps after ``cleaned``.

Claim X2 (arithmetic).  The integers are the same on all engines, and nothing that a cell holds can make the SQL fail:
after the index of a cell on its grid (E1) there are only sums, products and comparisons of 64-bit integers that do not
overflow (X1), divisions of non-negative integers by positive ones, and the year, month and day of dates.

There is one query for each depth, so that the SQL grows with the expression and not with its copies.  PostgreSQL would
copy the parts of a query into the one around it: OFFSET 0 prevents this.  Proof: docs/explanation/expressions.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property

from ..question.derived import step_for
from ..question.expression import Recode, conditions_of
from ..question.grids import GridStep, compared, step_of
from ..question.periods import FIRST_DAY, date_of, day_number
from ..question.query import (
    Against,
    All,
    Condition,
    Missing,
    Not,
    OneOf,
    Some,
    Unknown,
    columns_of,
    expressions_of,
)
from ..question.schema import Grid, Schema
from .cells import cell_name, grid_index, in_range, index_type
from .dialect import Dialect

_SINCE_MONDAY = -day_number(FIRST_DAY)
"""Added to a number of days, it counts from 0001-01-01, a Monday."""

_BEFORE_QUARTER = (0, 90, 181, 273)


class Computation:
    """The values that a question computes for each row: ``lines`` of SQL after ``cleaned``, and where each is found."""

    def __init__(self, schema: Schema, columns: Iterable[str], conditions: Iterable[Condition], to: Dialect) -> None:
        self.schema, self.to = schema, to
        self._layers: list[list[str]] = []
        self._depths: dict[str, int] = {}
        self._names: dict[GridStep, str] = {}
        self._cells: dict[str, str] = {}
        for name in columns:
            self._depth_of(name)
        for condition in conditions:
            self._prepare(condition)

    @cached_property
    def lines(self) -> list[str]:
        """The steps, each with the values of those before it."""
        before = ["cleaned", *(f"computed_{i}" for i in range(1, len(self._layers) + 1))]
        return [
            f"{table} AS (SELECT {last}.*, {', '.join(layer)} FROM {last}{self.to.barrier}),"
            for table, last, layer in zip(before[1:], before, self._layers, strict=False)
        ]

    @property
    def table(self) -> str:
        """The query that has all values."""
        return f"computed_{len(self._layers)}" if self._layers else "cleaned"

    # --- where values are found ---

    def cell(self, name: str) -> str:
        """Return the value of a column: a typed cell of the table, or what was computed."""
        return self._cells[name] if self.schema.columns[name].is_computed else in_range(name, self.schema, self.to)

    def index(self, name: str, grid: Grid) -> str:
        """Return the index of the value of a column on its grid."""
        if not self.schema.columns[name].is_computed:
            return grid_index(self.cell(name), grid, self.to)
        return f"CAST({_plus(self.cell(name), -grid.low)} AS {index_type(grid, self.to)})"

    def key(self, name: str) -> str:
        """Return the value of a column in the type of its keys."""
        cell, column = self.cell(name), self.schema.columns[name]
        if not column.is_computed or column.kind == "text":
            return cell
        if column.kind == "date":
            return self.to.day.format(n=cell)
        step = 1 if column.grid is None else column.grid.step  # 10 of 10 * FLOOR(age / 10)
        return f"CAST({cell if step == 1 else f'{cell} * {step}'} AS {self.to.types[column.kind]})"

    def below(self, name: str, edge: Fraction) -> str:
        """Return the test whether the value of a column is less than an edge."""
        column = self.schema.columns[name]
        if not column.is_computed or column.grid is None:
            return f"{self.cell(name)} < {self.to.double(edge)}"
        grid = column.grid
        return f"{self.cell(name)} < {min(max(math.ceil(edge / grid.step), grid.low), grid.high + 1)}"

    def condition(self, condition: Condition) -> str:
        """Return a condition as SQL."""
        if isinstance(condition, All | Some):
            word = " AND " if isinstance(condition, All) else " OR "
            return word.join(f"({self.condition(part)})" for part in condition.parts)
        if isinstance(condition, Not):
            return f"NOT ({self.condition(condition.part)})"
        if isinstance(condition, Against):
            left, right = (self._add(step) for step in compared(condition, self.schema))
            return f"{left} {condition.operator} {right}"
        if isinstance(condition, Unknown):
            return f"{self._add(step_of(condition.expression, self.schema, calendar=True))} IS NULL"
        cell = self.cell(condition.column)
        if isinstance(condition, Missing):
            return f"{cell} IS NULL"
        if isinstance(condition, OneOf):
            return f"{cell} IN ({', '.join(map(self.to.literal, condition.values))})"
        other = self.to.literal(condition.value) if condition.other is None else self.cell(condition.other)
        return f"{cell} {condition.operator} {other}"

    # --- computing them ---

    def _depth_of(self, name: str) -> int:
        """Return after how many steps the value of a column is there; compute it."""
        column = self.schema.columns[name]
        if column.expression is None:
            return 0
        if name not in self._cells:
            if isinstance(column.expression, Recode):
                depth = max((self._prepare(condition) for condition, _ in column.expression.cases), default=0)
                cases = " ".join(
                    f"WHEN {self.condition(condition)} THEN {self.to.literal(text)}"
                    for condition, text in column.expression.cases
                )
                other = column.expression.otherwise
                ending = "" if other is None else f" ELSE {self.to.literal(other)}"
                self._cells[name] = self._write(f"CASE {cases}{ending} END", depth + 1)
            else:
                self._cells[name] = self._add(step_for(column, self.schema))
        return self._depths.get(self._cells[name], 0)

    def _prepare(self, condition: Condition) -> int:
        """Compute what a condition compares; return after how many steps it is there."""
        depth = max((self._depth_of(name) for name in columns_of(condition)), default=0)
        for expression in expressions_of(condition):
            for inner in conditions_of(expression):
                depth = max(depth, self._prepare(inner))
        for against in _compared(condition):
            steps = (
                compared(against, self.schema)
                if isinstance(against, Against)
                else (step_of(against.expression, self.schema, calendar=True),)
            )
            depth = max(depth, *(self._depths.get(self._add(step), 0) for step in steps))
        return depth

    def _write(self, sql: str, depth: int) -> str:
        """Add a value to the step of this depth; return its name."""
        name = f"x{len(self._depths)}"
        while len(self._layers) < depth:
            self._layers.append([])
        self._layers[depth - 1].append(f"{sql} AS {name}")
        self._depths[name] = depth
        return name

    def _add(self, step: GridStep) -> str:
        """Return where the integer of a step is found, a name or a constant; compute it."""
        if step.operation == "constant":
            return f"CAST({step.numbers[0]} AS {self.to.big})"
        if step not in self._names:
            if step.operation == "computed":
                self._depth_of(step.column)
                self._names[step] = self._cells[step.column]
            elif step.column:
                self._names[step] = self._write(self._read(step), 1)
            else:
                parts = [self._add(part) for part in step.parts]
                depth = max((self._depths.get(part, 0) for part in parts), default=0)
                depth = max([depth, *(self._prepare(condition) for condition in step.conditions)])
                self._names[step] = self._computed(step, parts, depth)
        return self._names[step]

    def _read(self, step: GridStep) -> str:
        """Return the integer of a cell of the table."""
        cell, to = cell_name(step.column, self.to), self.to
        if step.operation == "boolean":
            return f"CASE WHEN {cell} THEN CAST(1 AS {to.big}) WHEN NOT {cell} THEN CAST(0 AS {to.big}) END"
        if step.operation == "key":
            listed = ", ".join(to.double(Fraction(key)) for key in step.numbers)
            return f"CASE WHEN {cell} IN ({listed}) THEN CAST({cell} AS {to.big}) END"
        if step.operation in ("date", "nearest date"):
            low, high = step.grid.low, step.grid.high
            first, last = (to.literal(date_of(end)) for end in (low, high))
            days = f"CAST({to.days.format(d=cell)} AS {to.big})"
            if step.operation == "date":
                return f"CASE WHEN {cell} BETWEEN {first} AND {last} THEN {days} END"
            return f"CASE WHEN {cell} <= {first} THEN {low} WHEN {cell} >= {last} THEN {high} ELSE {days} END"
        return _plus(f"CAST({grid_index(cell, step.grid, to)} AS {to.big})", step.grid.low)

    def _computed(self, step: GridStep, parts: Sequence[str], depth: int) -> str:
        """Write the SQL of an operation on integers; return the name of its result."""
        if step.operation == "quotient":
            return self._quotient(step, parts, depth)
        if step.operation == "case":
            cases = " ".join(
                f"WHEN {self.condition(condition)} THEN {part}"
                for condition, part in zip(step.conditions, parts, strict=False)
            )
            last = f" ELSE {parts[-1]}" if len(parts) > len(step.conditions) else ""
            return self._write(f"CASE {cases}{last} END", depth + 1)
        if step.operation in ("quarter", "to quarter", "to year"):
            return self._period(step, depth)
        return self._write(self._arithmetic(step, parts), depth + 1)

    def _arithmetic(self, step: GridStep, parts: Sequence[str]) -> str:
        numbers, to, x = step.numbers, self.to, parts[0]
        if step.operation == "sum":
            terms = [part if n == 1 else f"{_signed(n)} * {part}" for n, part in zip(numbers, parts, strict=False)]
            return " + ".join([*terms, *([_signed(numbers[-1])] if numbers[-1] else [])])
        if step.operation == "product":
            return f"{x} * {parts[1]}"
        if step.operation == "coarser":
            bits, low = numbers
            return _plus(to.divided.format(a=f"({_plus(x, 2 ** (bits - 1) - low * 2**bits)})", b=2**bits), low)
        if step.operation == "floor":
            a, add, b, low = numbers
            return _plus(to.divided.format(a=f"({_plus(f'{a} * {x}', add - low * b)})", b=b), low)
        if step.operation == "clamp":
            low, high = numbers
            return f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"
        if step.operation in ("least", "greatest"):
            present = " AND ".join(f"{part} IS NOT NULL" for part in parts)
            chosen = f"{step.operation.upper()}({', '.join(parts)})" if len(parts) > 1 else x
            return f"CASE WHEN {present} THEN {chosen} END"
        if step.operation == "coalesce":
            return f"COALESCE({', '.join(parts)})" if len(parts) > 1 else x
        if step.operation == "without":
            return f"CASE WHEN {parts[1]} = {parts[2]} THEN NULL ELSE {x} END"
        if step.operation == "abs":
            return f"ABS({x})"
        monday = f"MOD({x} + {_SINCE_MONDAY}, 7)"
        if step.operation == "isodow":
            return f"{monday} + 1"
        if step.operation == "to week":
            return f"{x} - {monday}"
        part = "day" if step.operation == "to month" else step.operation
        found = f"CAST(EXTRACT({part.upper()} FROM {to.day.format(n=x)}) AS {to.big})"
        return f"{x} - {found} + 1" if step.operation == "to month" else found

    def _quotient(self, step: GridStep, parts: Sequence[str], depth: int) -> str:
        """Write a quotient: its size, rounded to the nearest, then its sign and bounds; it is missing for 0."""
        (top, bottom), (a, b, low, high) = parts, step.numbers
        size = self.to.divided.format(
            a=f"({2 * a} * ABS({top}) + {b} * ABS({bottom}))", b=f"NULLIF({2 * b} * ABS({bottom}), 0)"
        )
        size = self._write(size, depth + 1)
        signed = self._write(f"CASE WHEN ({top} < 0) = ({bottom} < 0) THEN {size} ELSE -{size} END", depth + 2)
        clamped = f"CASE WHEN {signed} < {low} THEN {low} WHEN {signed} > {high} THEN {high} ELSE {signed} END"
        return self._write(clamped, depth + 3)

    def _period(self, step: GridStep, depth: int) -> str:
        """Write the quarter of a date, or the first day of its quarter or year, from its year and month."""
        divided, grid = self.to.divided, Grid(Fraction(1), 1, 9999)
        year, month = (self._add(GridStep(part, grid, step.parts)) for part in ("year", "month"))
        if step.operation == "quarter":
            return self._write(divided.format(a=f"({month} + 2)", b=3), depth + 2)
        leaps = " + ".join(
            f"{sign} * ({divided.format(a=f'({year} - 1)', b=years)})"
            for sign, years in ((1, 4), ("(-1)", 100), (1, 400))
        )
        start = f"365 * ({year} - 1) + {leaps} - {_SINCE_MONDAY}"
        if step.operation == "to year":
            return self._write(start, depth + 2)
        leap = f"MOD({year}, 4) = 0 AND (MOD({year}, 100) <> 0 OR MOD({year}, 400) = 0)"
        cases = " ".join(f"WHEN {month} <= {3 * i + 3} THEN {days}" for i, days in enumerate(_BEFORE_QUARTER[:-1]))
        before = f"CASE {cases} ELSE {_BEFORE_QUARTER[-1]} END + CASE WHEN {month} > 3 AND ({leap}) THEN 1 ELSE 0 END"
        return self._write(f"{start} + {before}", depth + 2)


def _compared(condition: Condition) -> list[Against | Unknown]:
    if isinstance(condition, All | Some):
        return [each for part in condition.parts for each in _compared(part)]
    if isinstance(condition, Not):
        return _compared(condition.part)
    return [condition] if isinstance(condition, Against | Unknown) else []


def _signed(number: int) -> str:
    return f"({number})" if number < 0 else str(number)


def _plus(sql: str, number: int) -> str:
    if not number:
        return sql
    return f"{sql} + {number}" if number > 0 else f"{sql} - {-number}"
