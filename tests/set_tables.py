"""Several tables in one question: what the engine returns, and an independent implementation, row by row."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

from lapwing.engine.connect import connect
from lapwing.engine.write_sql import lower
from lapwing.measure.kinds import measurements
from lapwing.measure.measurement import Sums
from lapwing.measure.weighted import WeightedMean
from lapwing.question.derived import with_derived
from lapwing.question.sql import make_query
from lapwing.release.pipeline import Tally

from .tables import index


def question(schema, statistics, by, where=None):
    """Return the schema, the query and what is measured for it."""
    query = make_query(statistics, by, where, schema)
    schema = with_derived(schema, query.derived)
    return schema, query, measurements(schema, query)


def engine_tables(asked, table, tables=None):
    """Return {table: {cell: cells of each measurement}} from the engine, without cells in which nothing is."""
    schema, query, measured = asked
    wanted = query.tables if tables is None else tables
    found = connect(table, schema.name)
    integers = found.tally_tables(schema, lower(schema, query, measured, found.dialect, wanted))
    plan = SimpleNamespace(measured=list(measured))
    answer = {}
    for name, each in zip(wanted, integers, strict=True):
        tally, cells = Tally(each), {}
        for number, measurement in enumerate(measured):
            groups, columns = measurement.exact_cells(tally.exact(plan, number))
            assert len(set(groups.tolist())) == len(groups)
            for group, *values in zip(groups.tolist(), *(column.tolist() for column in columns), strict=True):
                cells.setdefault(group, [()] * len(measured))[number] = tuple(values)
        answer[tuple(name)] = {group: values for group, values in cells.items() if any(map(any, values))}
    return answer


def python_tables(asked, rows, where=lambda row: True, tables=None, keys=None):
    """Return the same, row by row; ``keys`` gives the keys of computed columns and ``where`` whether a row counts."""
    schema, query, measured = asked
    wanted = query.tables if tables is None else tables
    people = schema.person is not None
    kept = [row for row in rows if where(row) is True and (not people or row.get("person") is not None)]
    of_person = {}
    for row in kept:
        of_person[row.get("person")] = of_person.get(row.get("person"), 0) + 1
    sums = {tuple(table): {} for table in wanted}
    for row in kept:
        numbers = {name: number_of(schema, query, name, row, keys or {}) for name in query.by}
        if None in numbers.values():  # a key that is not declared: in no table, also in those without its column
            continue
        weight = 1
        if people:
            c, k = of_person[row["person"]], schema.rows_per_person
            weight = 2**16 if c <= k else k * 2**16 // c
        for table in wanted:
            cell = 0
            for name in table:
                cell = cell * size_of(schema, query, name) + numbers[name]
            own = sums[tuple(table)].setdefault(cell, [[0, 0, 0, 0] for _ in measured])
            for total, each in zip(own, measured, strict=True):
                for at, value in enumerate(adds(each, row)):
                    total[at] += weight * value
    return {
        table: {
            cell: values
            for cell, own in cells.items()
            if any(map(any, values := [m.cells(Sums(*each)) for m, each in zip(measured, own, strict=True)]))
        }
        for table, cells in sums.items()
    }


def adds(measurement, row):
    """Return what a row of weight 1 adds to the four sums of a measurement."""
    if measurement.condition is not None:
        yes = condition_holds(measurement.condition, row)
        return (1, 1, yes, yes)
    i = index(measurement, row)
    if isinstance(measurement, WeightedMean):
        grid, given = measurement.weight_grid, row.get(measurement.weight)
        v = (
            0
            if given is None
            else round((min(max(Fraction(given), grid.low * grid.step), grid.high * grid.step)) / grid.step)
        )
        return (1, 0 if i is None else v, 0 if i is None else v * i, v)
    return (1, 0, 0, 0) if i is None else (1, 1, i, i * i)


def condition_holds(condition, row):
    """Return 1 where a comparison of one column with a number is true, else 0."""
    value = row.get(condition.column)
    return int(value is not None and math.isfinite(value) and value > condition.value)


def size_of(schema, query, name):
    """Return the number of groups of a key."""
    edges = dict(query.edges).get(name) or schema.columns[name].edges
    return len(schema.columns[name].group_keys) if edges is None else len(edges) - 1


def number_of(schema, query, name, row, keys):
    """Return the number of a row's group, None if it is in none."""
    column = schema.columns[name]
    value = keys[name](row) if name in keys else row.get(name)
    edges = dict(query.edges).get(name) or column.edges
    if edges is not None:
        if value is None or not math.isfinite(value):
            return None
        return sum(value >= edge for edge in edges[1:-1])
    if value is not None and value in column.keys:
        return column.keys.index(value)
    return None if column.other is None else len(column.keys)


def margin(cells, shape, axes, kept):
    """Return the sums of a table over the axes that are not kept, in Python's integers."""
    found = {}
    for cell, values in cells.items():
        digits = []
        for size in reversed(shape):
            cell, digit = divmod(cell, size)
            digits.append(digit)
        at = 0
        for axis, digit, size in zip(axes, reversed(digits), shape, strict=True):
            if axis in kept:
                at = at * size + digit
        own = found.setdefault(at, [tuple(0 for _ in each) for each in values])
        found[at] = [tuple(map(sum, zip(a, b, strict=True))) for a, b in zip(own, values, strict=True)]
    return found


def subsets(columns):
    """Return all tables over some columns."""
    return [some for size in range(len(columns) + 1) for some in itertools.combinations(columns, size)]
