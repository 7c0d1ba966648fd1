"""Measure how many charges a ledger takes a second, and write the answer into docs/reference/benchmarks.md.

Every charge is durable before the next one begins.  Beside it stands the limit: SQLite alone, with the same
durability, one small row a transaction; on a connection kept open, and opened and closed each time as a ledger does.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from statistics import median

from page import PAGE, ROOT, busy_seconds, machine, number, replace_section, step, table, used_elsewhere

from lapwing.ledger.ledger import Ledger

CHARGES = 200
ROUNDS = 7


def ledger_charges(where: str) -> Callable[[], None]:
    """Return a function that makes ``CHARGES`` charges."""
    ledger, questions = Ledger.open(where, epsilon=1000), count()

    def run() -> None:
        for _ in range(CHARGES):
            ledger.charge(next(questions), "0.001")

    return run


def ledger_releases(where: str) -> Callable[[], None]:
    """Return a function that charges and records ``CHARGES`` times."""
    ledger, questions = Ledger.open(where, epsilon=1000), count()

    def run() -> None:
        for _ in range(CHARGES):
            ledger.record(ledger.charge(next(questions), "0.001"), {"n": 412})

    return run


def sqlite_rows(path: Path, *, keep_open: bool) -> Callable[[], None]:
    """Return a function that writes ``CHARGES`` rows, each durable."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def write(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO entries (text) VALUES (?)", ("x" * 400,))
        connection.execute("COMMIT")

    first = connect()
    first.execute("PRAGMA journal_mode=WAL")
    first.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, text)")
    if not keep_open:
        first.close()

    def run() -> None:
        for _ in range(CHARGES):
            if keep_open:
                write(first)
            else:
                with closing(connect()) as connection:
                    write(connection)

    return run


def seconds(run: Callable[[], None]) -> float:
    """Return how long a run took."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> int:
    """Measure in alternating rounds, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", help="where to put the ledgers: a folder on the disk in question")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory(dir=folder) as place:
        runs = {
            "`ledger.charge`": ledger_charges(f"{place}/charges.ledger"),
            "`ledger.charge` and `ledger.record`": ledger_releases(f"{place}/releases.ledger"),
            "limit: SQLite alone, connection kept open": sqlite_rows(Path(place) / "kept", keep_open=True),
            "limit: SQLite alone, opened and closed": sqlite_rows(Path(place) / "opened", keep_open=False),
        }
        times: dict[str, list[float]] = {name: [] for name in runs}
        before = busy_seconds()
        for done in range(ROUNDS + 1):
            step(f"round {done} of {ROUNDS}" if done else "warming up")
            for name, run in runs.items():
                taken = seconds(run)
                if done:
                    times[name].append(taken)
    text = report({name: CHARGES / median(each) for name, each in times.items()}, used_elsewhere(before))
    print(f"\n{text}\n")
    replace_section(PAGE, "ledger", text)
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


def report(rates: dict[str, float], elsewhere: str) -> str:
    """Return the section of the page."""
    facts = [("command", "`python bench/ledger.py`"), ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"), *machine()]
    facts += [("background load", f"other processes used {elsewhere} during the rounds")]
    facts += [("rounds", f"{ROUNDS} of {CHARGES}, after one to warm up; medians")]
    first = next(iter(rates.values()))
    rows = [[name, number(rate), number(first / rate)] for name, rate in rates.items()]
    verdict = "met" if first >= 200 else "**not met**"
    return "\n\n".join(
        [
            "## Ledger",
            "\n".join(f"- {name}: {value}" for name, value in facts),
            f"Wanted: at least 200 charges a second on SQLite from one process; {verdict}.",
            table(["one process, one durable transaction after the other", "a second", "charges per such"], rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
