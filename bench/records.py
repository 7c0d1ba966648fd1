"""Measure the reading of CSV files: records divided first and read in parallel, beside DuckDB's reader in one thread.

Four files of the same rows: plain, with a text column in quotes, with a comma within the text of every tenth row, and
in Latin-1 with semicolons.  Each round reads every file both ways, so that all ratios come from the same conditions;
they are ratios of medians.  The pass that checks a file before the charge is also measured alone.  It runs in one
thread, and so does the copying of files that are not plain.  The rest is DuckDB's, in as many threads as there are
cores: a plain file is read at most as many times faster than in one thread as there are cores.
What is generated goes to a temporary folder.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
from page import busy_seconds, machine, number, step, table, used_elsewhere

from lapwing.engine import records
from lapwing.engine.header import TextForm

NAMES = ("person", "age", "ward", "cost")
ROW = "i // 3 AS person, i % 90 AS age, {} AS ward, (i * 104729 % 500000) / 100 AS cost"
FILES = {
    "plain": (ROW.format("'ward ' || i * 7919 % 30"), ""),
    "texts in quotes": (ROW.format("'ward ' || i * 7919 % 30"), ", FORCE_QUOTE (ward)"),
    "10 % odd records": (ROW.format("'ward' || if(i % 10 = 0, ', ', ' ') || i * 7919 % 30"), ""),
}
LATIN = "Latin-1, semicolons"
"""Made from the plain file; its texts have a letter that UTF-8 writes in two bytes."""

QUESTION = "SELECT {2}, count(*), sum(TRY_CAST({1} AS BIGINT)), avg(TRY_CAST({3} AS DOUBLE)) FROM {source} GROUP BY 1"

Seconds = tuple[float, float]
Rows = list[tuple[Any, ...]]


def generate(folder: Path, rows: int) -> dict[str, Path]:
    """Write the files."""
    files = {}
    for number_of, (what, (columns, options)) in enumerate(FILES.items()):
        files[what] = folder / f"{number_of}.csv"
        duckdb.sql(f"COPY (SELECT {columns} FROM range({rows}) AS t(i)) TO '{files[what]}' (FORMAT csv{options})")
    files[LATIN] = folder / "latin.csv"
    with files["plain"].open("rb") as plain, files[LATIN].open("wb") as latin:
        while block := plain.read(2**24):
            latin.write(block.replace(b",", b";").replace(b"ward ", b"w\xe4rd "))
    return files


def form_of(file: Path) -> TextForm:
    """Return how a file is written."""
    return TextForm(";", encoding="latin-1") if file.name == "latin.csv" else TextForm()


def timed(work: Callable[[], Rows]) -> tuple[Rows, Seconds]:
    """Return a result and the seconds that it took, on the clock and of the processor."""
    clock, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, (time.perf_counter() - clock, time.process_time() - cpu)


def in_one_thread(connection: duckdb.DuckDBPyConnection, file: Path) -> Rows:
    """Read a file with DuckDB's own idea of quotes."""
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in NAMES)
    source = (
        f"read_csv('{file}', auto_detect=false, header=true, delim='{form_of(file).separator}', quote='\"', "
        f"escape='\"', encoding='{form_of(file).encoding}', "
        f"columns={{{columns}}}, ignore_errors=true, strict_mode=false, parallel=false)"
    )
    return connection.execute(QUESTION.format(*NAMES, source=source)).fetchall()


def divided(connection: duckdb.DuckDBPyConnection, file: Path) -> Rows:
    """Read a file as Lapwing does: check it, divide its records, and read them in parallel."""
    with tempfile.TemporaryDirectory() as folder:
        found = records.prepare(records.check(str(file), form_of(file)), [1, 2, 3], folder)
        source = f"({records.read_sql([found])})"
        return connection.execute(QUESTION.format("c0", "c1", "c2", "c3", source=source)).fetchall()


def checked(_: duckdb.DuckDBPyConnection, file: Path) -> Rows:
    """Check a file, as is done before the charge."""
    records.check(str(file), form_of(file))
    return []


def main() -> None:
    """Print the seconds and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ways = {"one thread": in_one_thread, "divided": divided, "check": checked}
    before = busy_seconds()
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        step("generating")
        files = generate(Path(folder), options.rows)
        sizes = {what: file.stat().st_size for what, file in files.items()}
        taken: dict[tuple[str, str], list[Seconds]] = {(what, way): [] for what in files for way in ways}
        for turn in range(options.rounds):
            step(f"round {turn + 1} of {options.rounds}")
            for what, file in files.items():
                counts = []
                for way, read in ways.items():
                    rows, seconds = timed(partial(read, connection, file))
                    taken[what, way].append(seconds)
                    counts.append(sorted(row[:3] for row in rows))
                assert counts[0] == counts[1], f"the two ways read different rows of the file: {what}"
    lines = []
    for what in files:
        clock, cpu = ([median(each[kind] for each in taken[what, way]) for way in ways] for kind in (0, 1))
        lines.append(
            (
                what,
                number(sizes[what] / 1e6),
                *map(number, (*clock[:2], clock[1] / clock[0], *cpu, cpu[1] / cpu[0], cpu[2] / cpu[1])),
            )
        )
    head = (
        "file", "MB", "one thread, s", "divided, s", "ratio", "one thread, CPU s", "divided, CPU s", "check, CPU s",
        "ratio of CPU", "share of the check",
    )  # fmt: skip
    print(table(head, lines))
    print(f"{options.rows:,} rows, medians of {options.rounds} rounds; used elsewhere: {used_elsewhere(before)}")
    print("; ".join(f"{what}: {value}" for what, value in (*machine(), ("duckdb", version("duckdb")))))


if __name__ == "__main__":
    main()
