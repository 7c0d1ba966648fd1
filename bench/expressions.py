"""Measure SUM(w * x) and COUNT(*) by key beside plain DuckDB, rows protected, on one generated Parquet file.

Both are run in alternating rounds, so that the ratio comes from the same conditions; it is a ratio of medians.  Seconds
are those of the processors, over all threads.  The command prints a table and writes nothing.
`python bench/expressions.py 1000000` takes fewer rows.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

import duckdb
from check import seconds

import lapwing as lw

ROWS, ROUNDS, KEYS = 10_000_000, 5, 20
MAKE = """COPY (SELECT 'k' || (hash(i) % {keys}) AS k, (hash(i + 1) % 500) / 100 AS w, (hash(i + 2) % 8000) / 100 AS x
  FROM range({rows}) AS r(i)) TO '{path}' (FORMAT parquet)"""
PLAIN = "SELECT k, SUM(w * x), COUNT(*) FROM '{path}' GROUP BY k"
ASKED = "SELECT k, SUM(w * x), COUNT(*) FROM t GROUP BY k"


def main(rows: int) -> int:
    """Print the seconds of both, and the ratio."""
    columns = {"k": lw.keys([f"k{i}" for i in range(KEYS)]), "w": lw.number(0, 5), "x": lw.number(0, 80)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        duckdb.sql(MAKE.format(keys=KEYS, rows=rows, path=path))
        source = lw.Source(path, name="t", columns=columns, epsilon=1000)
        plain, ours = [], []
        for number in range(1, ROUNDS + 1):
            plain.append(seconds(lambda: duckdb.connect().execute(PLAIN.format(path=path)).fetchall()))
            ours.append(seconds(lambda: source.sql(ASKED, epsilon=f"0.{number}")))  # noqa: B023
    print(f"plain DuckDB {median(plain):8.2f} s\nrelease      {median(ours):8.2f} s{median(ours) / median(plain):8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
