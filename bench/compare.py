"""Time this checkout against another one, on a table of 10,000,000 rows: `python bench/compare.py OTHER`.

Each release runs in a process of its own, in turns; CPU seconds of the whole release, best of the rounds.  The tables
are a Parquet file and a pandas frame with text keys, for rows and for people.  The command prints a table.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS, PEOPLE, KEYS = 10_000_000, 1_000_000, 3_143

WRITE = """
import duckdb, sys
duckdb.execute("SET enable_progress_bar = false")
duckdb.sql(f"COPY (SELECT hash(range) % {people} AS person, 'key' || (hash(range * 7) % {keys}) AS key, "
           f"(hash(range * 13) % 1000) / 10 AS x FROM range({rows})) TO '{{sys.argv[1]}}' (FORMAT parquet)")
"""
RUN = """
import sys, tempfile, time
import lapwing as lw
form, people, path = sys.argv[1:]
table = path
if form == "pandas":
    import duckdb
    table = duckdb.sql(f"SELECT person::BIGINT AS person, key, x FROM '{{path}}'").df()
person = {{"person": "person", "rows_per_person": 5}} if people == "people" else {{}}
columns = {{"key": lw.keys(f"key{{i}}" for i in range({keys})), "x": lw.number(0, 100)}}
with tempfile.TemporaryDirectory() as folder:
    source = lw.Source(table, name="t", columns=columns, epsilon=9, ledger=f"{{folder}}/l", **person)
    start = time.process_time()
    source.release(lw.count(), lw.mean("x"), by="key", epsilon=1)
    print(time.process_time() - start)
"""


def seconds(checkout: Path, *arguments: str) -> float:
    """Return the CPU seconds of one release by the package of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    code = RUN.format(keys=KEYS)
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Print the seconds of both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="a checkout of another version")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    own = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/t.parquet"
        written = WRITE.format(people=PEOPLE, keys=KEYS, rows=ROWS)
        subprocess.run([sys.executable, "-c", written, path], check=True)
        print(f"{'':16}{'this':>8}{'other':>8}{'ratio':>8}")
        for form in ("parquet", "pandas"):
            for people in ("rows", "people"):
                rounds = [
                    (seconds(own, form, people, path), seconds(asked.other, form, people, path))
                    for _ in range(asked.rounds)
                ]
                this, other = (min(each) for each in zip(*rounds, strict=True))
                print(f"{form + ', ' + people:16}{this:8.2f}{other:8.2f}{this / other:8.2f}", flush=True)


if __name__ == "__main__":
    main()
