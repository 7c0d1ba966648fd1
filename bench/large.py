"""Measure large releases: the seconds and the most memory of a release, of writing it, and of asking again.

Every case runs in a process of its own, over a table of 100,000 rows; the groups are public and most of them empty.
The command prints a table and writes nothing.  `python bench/large.py counts` runs one case.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fresh import peak
from page import machine, number, step, table

CASES = {
    "counts": ("count by 4,000 × 2,500 keys", 4_000, 2_500),
    "people": ("count of people by 4,000 × 2,500 keys, ε = 0.1", 4_000, 2_500),
    "means": ("mean by 2,500 × 1,000 keys", 2_500, 1_000),
    "most": ("count by 5,000 × 4,000 keys", 5_000, 4_000),
}
ROWS = 100_000
HEAD = (
    "what",
    "cells",
    "release, s",
    "write, s",
    "ask again, s",
    "peak, MB",
    "of it before, MB",
    "file, MB",
    "ledger, MB",
)


def run(case: str) -> dict[str, float]:
    """Release, write and ask again, in this process."""
    import numpy as np
    import pandas as pd

    import lapwing as lw

    _, first, second = CASES[case]
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "a": random.integers(0, first, ROWS),
            "b": random.integers(0, second, ROWS),
            "x": random.random(ROWS),
            "person": random.integers(0, ROWS // 4, ROWS),
        }
    )
    columns = {"a": lw.keys(range(first)), "b": lw.keys(range(second)), "x": lw.number(0, 1)}
    people: dict[str, Any] = {"person": "person", "rows_per_person": 5} if case == "people" else {}
    asked, epsilon = lw.mean("x") if case == "means" else lw.count(), "0.1" if case == "people" else 1
    with tempfile.TemporaryDirectory() as folder:
        ledger, file = Path(folder) / "large.ledger", Path(folder) / "large.parquet"
        source = lw.Source(frame, name="large", columns=columns, epsilon=2, ledger=ledger, **people)
        source.release(lw.count(), epsilon=1).to_parquet(file)  # what is imported and made once
        before, clock = peak(), [time.perf_counter()]
        made = source.release(asked, by=["a", "b"], epsilon=epsilon)
        clock.append(time.perf_counter())
        made.to_parquet(file)
        clock.append(time.perf_counter())
        del made
        again = source.release(asked, by=["a", "b"], epsilon=epsilon)
        clock.append(time.perf_counter())
        assert again.repeated
        return {
            "release": clock[1] - clock[0],
            "write": clock[2] - clock[1],
            "again": clock[3] - clock[2],
            "peak": peak() / 1e6,
            "before": before / 1e6,
            "file": file.stat().st_size / 1e6,
            "ledger": ledger.stat().st_size / 1e6,
        }


def main(asked: list[str]) -> int:
    """Run the cases, each in a fresh process, and print the table."""
    if asked[:1] == ["--run"]:
        print(json.dumps(run(asked[1])))
        return 0
    rows = []
    for case in asked or CASES:
        name, first, second = CASES[case]
        step(name)
        done = subprocess.run([sys.executable, __file__, "--run", case], stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout)
        rows.append([name, f"{first * second * (2 if case == 'means' else 1):,}", *map(number, found.values())])
    for fact, told in machine():
        print(f"- {fact}: {told}")
    print(table(HEAD, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
