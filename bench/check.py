"""Measure ``lw.check`` beside plain DuckDB: a scan of the same columns, and the rows of every person counted.

All are run in alternating rounds on one generated Parquet file, so that the ratios come from the same conditions; they
are ratios of medians.  Seconds are those of the processors, over all threads, which other work on the machine changes
little.  The command prints a table and writes nothing.  `python bench/check.py 1000000` takes fewer rows.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import duckdb

import lapwing as lw

ROWS, PEOPLE, ROUNDS = 10_000_000, 1_000_000, 3
WARDS = [f"ward {i}" for i in range(20)]
COLUMNS = {
    "cost": lw.number(0, 4000),
    "age": lw.number(0, 120, integer=True),
    "ward": lw.keys(WARDS[:-1]),
    "day": "date",
    "paid": "boolean",
}
MAKE = """COPY (SELECT hash(i) % {people} AS person, hash(i + 1) % 500000 / 100 AS cost,
  CAST(hash(i + 2) % 130 AS INTEGER) AS age,
  'ward ' || hash(i + 3) % 20 AS ward, DATE '2020-01-01' + CAST(hash(i + 4) % 2000 AS INTEGER) AS day,
  hash(i + 5) % 3 = 0 AS paid FROM range({rows}) AS r(i)) TO '{path}' (FORMAT parquet)"""
SCAN = """SELECT SUM(cost), SUM(age), SUM(strlen(ward)), SUM(day - DATE '2020-01-01'), SUM(CAST(paid AS INTEGER))
  FROM '{path}'"""
WITH_PERSON = SCAN.replace("SELECT ", "SELECT SUM(person), ", 1)
GROUP = "SELECT COUNT(*), MAX(c) FROM (SELECT COUNT(*) AS c FROM '{path}' GROUP BY person)"


def seconds(work: Callable[[], object]) -> float:
    """Return how many seconds of the processors something takes."""
    before = time.process_time()
    work()
    return time.process_time() - before


def main(rows: int) -> int:
    """Print the seconds of each, and the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        duckdb.sql(MAKE.format(people=rows * PEOPLE // ROWS, rows=rows, path=path))

        def plain(sql: str) -> Callable[[], object]:
            return lambda: duckdb.connect().execute(sql.format(path=path)).fetchall()

        rows_alone = lw.Source(path, name="t", columns=COLUMNS)
        people = lw.Source(path, name="t", columns=COLUMNS, person="person", rows_per_person=20)
        works: dict[str, Callable[[], object]] = {
            "plain scan": plain(SCAN),
            "plain scan with the person": plain(WITH_PERSON),
            "plain count of each person's rows": plain(GROUP),
            "check of rows": lambda: lw.check(rows_alone),
            "check of people": lambda: lw.check(people),
        }
        taken: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(ROUNDS):
            for name, work in works.items():
                taken[name].append(seconds(work))
    middle = {name: median(each) for name, each in taken.items()}
    scan, group = middle["plain scan"], middle["plain count of each person's rows"]
    for name, each in middle.items():
        print(f"{name:<36}{each:8.2f} s{each / scan:8.2f} plain scans")
    same_columns = middle["check of people"] / middle["plain scan with the person"]
    print(f"check of people / scan with person  {same_columns:18.2f}")
    print(f"check of people / (scan and count)  {middle['check of people'] / (scan + group):18.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
