"""Small tables about people in every form that a source can take, and an independent implementation of the tally.

``tally`` computes the sums of claim P1 in Python's integers and fractions, row by row, from the rules of
docs/reference/source.md; the engine computes them in SQL.
"""

from __future__ import annotations

import csv
import gzip
import math
import os
from datetime import date
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from lapwing.engine.connect import connect
from lapwing.measure.kinds import KINDS
from lapwing.measure.measurement import Sums
from lapwing.plan.planning import make_plan
from lapwing.question.schema import Schema
from lapwing.question.sql import make_query
from lapwing.release.pipeline import Tally

FORMS = ["csv", "csv.gz", "tsv", "parquet", "two parquets", "pandas", "polars", "arrow", "relation"]

TYPES = {"person": pa.string(), "x": pa.float64(), "y": pa.float64(), "key": pa.string(), "code": pa.int64(),
         "day": pa.date32(), "yes": pa.bool_()}  # fmt: skip


def decided(text, epsilon=1):
    """Return a source file of ``lapwing init`` in which every row is one person, and so much ε may be spent."""
    return text.replace("\nperson = ?\n", "\n").replace("\nepsilon = ?", f"\nepsilon = {epsilon}")


def arrow(rows, names):
    return pa.table({name: pa.array([row.get(name) for row in rows], TYPES[name]) for name in names})


def make(rows, form, folder, names=tuple(TYPES)):
    """Return rows (dicts) as something a source takes."""
    table = arrow(rows, names)
    name = os.urandom(6).hex()
    if form in ("csv", "csv.gz", "tsv"):
        path = folder / f"{name}.{form}"
        with (gzip.open if form.endswith("gz") else open)(path, "wt", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if form == "tsv" else ",")
            writer.writerow(names)
            writer.writerows([["" if row.get(n) is None else row[n] for n in names] for row in rows])
        return str(path)
    if form == "parquet":
        pq.write_table(table, folder / f"{name}.parquet")
        return str(folder / f"{name}.parquet")
    if form == "two parquets":
        half = len(rows) // 2
        for i, part in enumerate((table[:half], table[half:])):
            pq.write_table(part, folder / f"{name}-{i}.parquet")
        return str(folder / f"{name}-*.parquet")
    if form == "pandas":
        columns = {n: [row.get(n) for row in rows] for n in names}
        frame = pd.DataFrame({n: pd.Series(v, dtype=object) for n, v in columns.items()})
        frame["x"] = np.array([np.nan if v is None else v for v in columns["x"]], dtype=float)
        return frame
    if form == "polars":
        return pl.from_arrow(table) if rows else pl.DataFrame(table.to_pydict(), schema=dict.fromkeys(names, pl.String))
    if form == "relation":
        return duckdb.connect().from_arrow(table)
    return table


def engine_tally(schema: Schema, plan, table) -> dict[int, list[tuple[int, ...]]]:
    """Return {group: cells of each measurement} from the engine."""
    asked = connect(table, schema.name)
    tally = Tally(asked.tally(schema, plan.on(asked.dialect).lowered))
    found: dict[int, list[tuple[int, ...]]] = {}
    for number, part in enumerate(plan.parts):
        groups, columns = part.measurement.exact_cells(tally.exact(plan, number))
        for group, *cells in zip(groups.tolist(), *(column.tolist() for column in columns), strict=True):
            found.setdefault(group, [()] * len(plan.parts))[number] = tuple(cells)
    return found


def plan_of(schema: Schema, statistics, by=(), where=None, epsilon=1, intervals=True):
    return make_plan(schema, make_query(statistics, by, where, schema), epsilon=epsilon, intervals=intervals)


# --- the independent tally ---


def python_tally(schema: Schema, plan, rows, where=lambda row: True) -> dict[int, list[tuple[int, ...]]]:
    """Return {group: cells of each measurement}, row by row; groups that do not occur are left out."""
    kept = [row for row in rows if where(row) is True and (schema.person is None or row.get("person") is not None)]
    counts: dict[object, int] = {}
    for row in kept:
        counts[row.get("person")] = counts.get(row.get("person"), 0) + 1
    sums: dict[int, list[list[int]]] = {}
    for row in kept:
        weight = 1
        if schema.person is not None:
            c, k = counts[row["person"]], schema.rows_per_person
            weight = 2**16 if c <= k else k * 2**16 // c
        group = _group(schema, plan.query, row)
        if group is None:
            continue
        own = sums.setdefault(group, [[0, 0, 0, 0] for _ in plan.parts])
        for total, part in zip(own, plan.parts, strict=True):
            total[0] += weight
            i = index(part.measurement, row)
            if i is not None:
                total[1] += weight
                total[2] += weight * i
                total[3] += weight * i * i
    _count_people(schema, plan, kept, sums)
    if not plan.query.by:
        sums.setdefault(0, [[0, 0, 0, 0] for _ in plan.parts])
    return {
        group: [part.measurement.cells(Sums(*each)) for part, each in zip(plan.parts, own, strict=True)]
        for group, own in sums.items()
    }


def _count_people(schema: Schema, plan, kept, sums) -> None:
    """Count each person once in every group they are in, where the number of people is measured."""
    groups: dict[object, set[int]] = {}
    for row in kept:
        group = _group(schema, plan.query, row)
        if group is not None:
            groups.setdefault(row.get("person"), set()).add(group)
    for number, part in enumerate(plan.parts):
        if part.measurement.form == "people":
            for own in sums.values():
                own[number] = [0, 0, 0, 0]
            full = 2**16 if plan.groups > schema.rows_per_person else 1
            for own in groups.values():
                weight = full if len(own) <= schema.rows_per_person else schema.rows_per_person * full // len(own)
                for group in own:
                    sums[group][number][0] += weight


def measurement_of(form, *values, **named):
    """Return the measurement of this kind."""
    (kind,) = (kind for kind in KINDS if kind.form == form)
    return kind(*values, **named)


def index(measurement, row):
    """Return the grid index of a cell, None if it is missing."""
    if measurement.column is None:
        return 0
    value = row.get(measurement.column)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return measurement.grid.steps // 2 if measurement.public_rows else None
    if measurement.form == "count":
        return 0
    grid = measurement.grid
    inside = min(max(Fraction(value), grid.low * grid.step), grid.high * grid.step)
    return math.floor(inside / grid.step + Fraction(1, 2)) - grid.low


def _group(schema, query, row):
    bins, at = dict(query.edges), 0
    for name in query.by:
        column = schema.columns[name]
        edges = bins.get(name) or column.edges
        value = row.get(name)
        if edges is not None:
            if value is None or not math.isfinite(value):
                return None
            size, number = len(edges) - 1, sum(value >= edge for edge in edges[1:-1])
        else:
            size = len(column.group_keys)
            if value in column.keys and value is not None:
                number = column.keys.index(value)
            elif column.other is not None:
                number = size - 1
            else:
                return None
        at = at * size + number
    return at


def distance(one, two, parts) -> list[int]:
    """Return the L1 distance of two tallies, for each measurement."""
    empty = [tuple(0 for _ in part.measurement.names) for part in parts]
    found = [0] * len(parts)
    for group in {*one, *two}:
        for number in range(len(parts)):
            a, b = (side.get(group, empty)[number] for side in (one, two))
            found[number] += sum(abs(u - v) for u, v in zip(a, b, strict=True))
    return found


NASTY = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    0.0,
    1e308,
    -1e308,
    5e-324,
    1.5,
    2.5,
    -3.0,
    7.0,
    0.1,
    1e12,
    49.999999,
]
KEYS = ["a", "b", "", "A", "a ", "zz", None, "é"]
PERSONS = ["p", "q", "r", "P", None, "1", "01"]
CODES = [1, 2, 3, -1, None, 2**53]
DAYS = [date(2024, 1, 1), date(2024, 2, 29), date(1, 1, 1), None]
