"""Measure OpenDP's contingency tables; run by bench/contingency.py with the interpreter of OpenDP's own environment.

The protocol is that of bench/peers.py; a round answers, for each case, with the error over cells, the error over tables
and the seconds of one release.

A release takes OpenDP about a minute.  So the releases can be made before, and be stopped at any time: with
`--file FILE --runs 20` a line for each release is appended to the file, until there are so many of each case and way.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import Counter
from importlib.metadata import version
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from peers import say

EPSILON = 1.0
CASES = {
    "dense": ("age", "workclass", "marital-status", "race", "sex"),
    "sparse": ("occupation", "native-country", "race", "sex", "capital-gain"),
}
WAYS = {"asked": (1, 2), "pairs": (2,)}
"""What OpenDP measures: all tables that are asked, or those of two columns, from which the others follow."""

Table = Any  # an array of numbers
Axes = tuple[int, ...]


def read(data: Path, columns: tuple[str, ...]) -> tuple[Table, tuple[int, ...]]:
    """Return the codes of the rows, and the number of keys of each column, which a file beside the data names."""
    sizes = json.loads(data.with_name(f"{data.stem}_domain.json").read_text())
    with data.open() as file:
        rows = [[int(row[column]) for column in columns] for row in csv.DictReader(file)]
    return np.array(rows), tuple(sizes[column] for column in columns)


def asked(columns: int) -> list[Axes]:
    """Return all tables of one and of two columns."""
    return [axes for size in (1, 2) for axes in combinations(range(columns), size)]


def counted(rows: Table, shape: tuple[int, ...], axes: Axes) -> Table:
    """Count a table."""
    sizes = [shape[axis] for axis in axes]
    cells = np.ravel_multi_index(tuple(rows[:, axis] for axis in axes), sizes)
    return np.bincount(cells, minlength=int(np.prod(sizes))).reshape(sizes)


def squares(found: dict[Axes, Table], rows: Table, shape: tuple[int, ...]) -> tuple[float, float]:
    """Return the mean squared error over all cells, and the mean over tables of that over their cells."""
    errors = [(table - counted(rows, shape, axes)) ** 2 for axes, table in found.items()]
    cells = sum(float(each.sum()) for each in errors) / sum(each.size for each in errors)
    return cells, sum(float(each.mean()) for each in errors) / len(errors)


def release(rows: Table, shape: tuple[int, ...], columns: tuple[str, ...], sizes: tuple[int, ...]) -> dict[Axes, Table]:
    """Return OpenDP's estimates of all tables, from noisy tables of so many columns at ε in all."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.LazyFrame({name: rows[:, i] for i, name in enumerate(columns)}),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=1,
    )
    measured = [dp.mbi.Count(by=each) for size in sizes for each in combinations(columns, size)]
    query = context.query().contingency_table(
        keys={name: list(range(size)) for name, size in zip(columns, shape, strict=True)},
        algorithm=dp.mbi.Fixed(queries=measured),
    )
    table = query.release()
    found = {}
    for axes in asked(len(columns)):
        cells = np.asarray(table.project(tuple(columns[axis] for axis in axes)))
        found[axes] = cells[tuple(slice(shape[axis]) for axis in axes)]  # without the key for missing values
    return found


def measured(rows: Table, shape: tuple[int, ...], case: str, way: str) -> dict[str, float]:
    """Return the errors and the seconds of one release."""
    start = time.perf_counter()
    found = release(rows, shape, CASES[case], WAYS[way])
    seconds = time.perf_counter() - start
    cells, tables = squares(found, rows, shape)
    return {"cells": cells, "tables": tables, "seconds": seconds}


def known(file: Path) -> list[dict[str, Any]]:
    """Return the releases in a file: a line of JSON for each."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def append(file: Path, runs: int, tables: dict[str, tuple[Table, tuple[int, ...]]]) -> None:
    """Append releases to a file, those first of which there are the fewest, until there are enough of each."""
    kinds = list(product(CASES, WAYS))
    while True:
        done = Counter((each["case"], each["way"]) for each in known(file))
        case, way = min(kinds, key=lambda kind: done[kind])
        if done[case, way] >= runs:
            return
        line = {"case": case, "way": way, **measured(*tables[case], case, way)}
        with file.open("a") as out:
            out.write(json.dumps(line) + "\n")


def main() -> int:
    """Say hello, then measure a round for every line; or append releases to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=["opendp-mbi"])
    parser.add_argument("data", type=Path)
    parser.add_argument("--file", type=Path, help="append releases to this file instead")
    parser.add_argument("--runs", type=int, default=20, help="so many releases of each case and way")
    options = parser.parse_args()
    try:
        tables = {case: read(options.data, columns) for case, columns in CASES.items()}
        if options.file:
            append(options.file, options.runs, tables)
            return 0
        say({"version": version("opendp")})
        for _ in sys.stdin:
            answer = {}
            for (case, (rows, shape)), way in product(tables.items(), WAYS):
                one = measured(rows, shape, case, way)
                answer |= {f"{case} {way} {what}": value for what, value in one.items()}
            say(answer)
    except Exception as error:  # whatever a peer raises is reported, so that the other measures go on
        say({"error": f"{type(error).__name__}: {error}"})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
