"""Measure releases from tables beside plain DuckDB and the peers, and write docs/reference/benchmarks.md.

Count and mean by key of one large generated table, in alternating rounds of one run, so that all ratios come from the
same conditions; they are ratios of medians.  Then releases in fresh processes: their memory, a table of ten rows, and
many public keys that never occur.  What is generated goes to a temporary folder.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import fresh
import numpy as np
from noise import Peer, PeerProcess, install, verdict
from page import PAGE, ROOT, busy_seconds, machine, number, replace_section, step, table, used_elsewhere

SEED = 20260714
SMALL_ROWS, SMALL_KEYS = 10, 5

PEERS = (
    Peer("table-opendp", "OpenDP", (("opendp[polars]==0.16.0", "numpy==2.4.6"),)),  # it wants a Polars of its own
    Peer("table-pydp", "PyDP", (("python-dp==1.1.5", "polars==2.1.0", "numpy==2.4.6"),)),
    Peer(
        "table-diffprivlib",
        "diffprivlib",
        (("diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy==2.4.6", "scipy==1.17.1", "polars==2.1.0"),),
    ),
)


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    rows: int
    people: int
    keys: int
    empty: int  # public keys that never occur
    rounds: int
    fresh: int  # processes for each case that needs a fresh one


FULL = Sizes(10_000_000, 1_000_000, 3_143, 1_000_000, 5, 3)
QUICK = Sizes(200_000, 20_000, 300, 20_000, 2, 1)


@dataclass
class Line:
    """One thing that is measured in every round: its seconds of the processor and on the clock."""

    what: str
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    peak: float | None = None


Lines = dict[str, Line]
Fresh = dict[str, list[dict[str, Any]]]


# ── the data ─────────────────────────────────────────────────────────────────────────────────────────────────


def generate(folder: Path, sizes: Sizes) -> int:
    """Write the large table, its keys and the small one; return how many rows count when a person has at most five."""
    random = np.random.default_rng(SEED)
    person = np.concatenate([np.arange(sizes.people), random.integers(0, sizes.people, sizes.rows - sizes.people)])
    columns = {
        "person": random.permutation(person),
        "number": (sizes.keys * random.random(sizes.rows) ** 3).astype(np.int32),
        "cost": np.round(np.minimum(random.exponential(120, sizes.rows), fresh.HIGH), 2),
    }
    with duckdb.connect(":memory:") as connection:
        connection.register("columns", columns)
        select = "SELECT person, format('k{:07d}', number) AS key, cost FROM columns"
        connection.execute(f"COPY ({select}) TO '{folder / 'large.parquet'}' (FORMAT parquet)")
        parts = select.replace("cost FROM", "cost, 2019 + person % 6 AS year, 'r' || person % 4 AS region FROM")
        connection.execute(f"COPY ({parts}) TO '{folder / 'parts'}' (FORMAT parquet, PARTITION_BY (year, region))")
    (folder / "keys.txt").write_text("\n".join(fresh.key_names(sizes.keys)))
    small = [f"{i},k{i % SMALL_KEYS:07d},{100 * i}" for i in range(SMALL_ROWS)]
    (folder / "small.csv").write_text("\n".join(["person,key,cost", *small, ""]))
    return int(np.minimum(np.bincount(person), fresh.ROWS_PER_PERSON).sum())


# ── rounds ───────────────────────────────────────────────────────────────────────────────────────────────────


def timed(line: Line, run: Callable[[], object]) -> Callable[[bool], None]:
    """Return a function that runs once and, if it is to be kept, notes the time."""

    def measure(keep: bool) -> None:
        gc.collect()
        clock, processor = time.perf_counter(), time.process_time()
        run()
        taken = time.perf_counter() - clock, time.process_time() - processor
        if keep:
            line.wall.append(taken[0])
            line.cpu.append(taken[1])

    return measure


def own_measures(lines: Lines, folder: Path, sizes: Sizes) -> list[Callable[[bool], None]]:
    """Add plain DuckDB and Lapwing; return what measures them."""
    large = str(folder / "large.parquet")
    plain = f"SELECT key, COUNT(*), AVG(cost) FROM read_parquet('{large}') GROUP BY key"
    kept = duckdb.connect(":memory:")
    lines["plain"] = Line("plain DuckDB: `SELECT key, COUNT(*), AVG(cost) … GROUP BY key`")
    measures = [timed(lines["plain"], lambda: kept.execute(plain).fetchall())]
    parts = f"read_parquet('{folder / 'parts'}/**/*.parquet', hive_partitioning=true)"
    partly = f"SELECT key, COUNT(*), AVG(cost) FROM {parts} WHERE region <> 'r9' GROUP BY key"
    lines["plain folder"] = Line("plain DuckDB, a folder with 24 partitions: `… WHERE region <> 'r9' …`")
    measures.append(timed(lines["plain folder"], lambda: kept.execute(partly).fetchall()))
    people = f"people protected, {fresh.ROWS_PER_PERSON} rows each"
    whats = {
        "rows": "Lapwing, rows protected",
        "people": f"Lapwing, {people}",
        "rows folder": "Lapwing, the folder, rows protected",
        "people folder": f"Lapwing, the folder, {people}",
    }
    for name, what in whats.items():
        case, _, where = name.partition(" ")
        table = str(folder / "parts") if where else large
        source = fresh.source(case, table, sizes.keys, str(folder / f"{name}.ledger"))
        source = source.declare(region="text") if where else source
        turns = count(1)

        def run(case: str = case, source: Any = source, turns: Any = turns, where: str = where) -> None:
            epsilon = f"1.{next(turns):03d}"  # another one each time: a new question for the ledger
            made = fresh.release(case, source, epsilon, "region <> 'r9'" if where else None)
            if made.repeated or len(made.group_keys) != sizes.keys:
                raise RuntimeError("not a new release of all keys")

        lines[name] = Line(what)
        measures.append(timed(lines[name], run))
    return measures


def start_peers(
    lines: Lines, folder: Path, pythons: dict[str, Path | None]
) -> tuple[list[PeerProcess], dict[str, str]]:
    """Start every peer that is installed; return them, and for each peer its version or what went wrong."""
    running, states = [], {}
    for peer in PEERS:
        python = pythons[peer.key]
        if python is None:
            states[peer.key] = "could not be installed"
            continue
        arguments = str(folder / "large.parquet"), str(folder / "keys.txt")
        process = PeerProcess(peer, python, "peers_table.py", *arguments)
        if "error" in process.hello:
            print(f"    {process.hello['error']}", flush=True)
            process.close()
            states[peer.key] = "could not be run"
            continue
        states[peer.key] = str(process.hello["version"])
        cases: Any = process.hello["cases"]
        for case in cases:
            lines[f"{peer.key} {case['key']}"] = Line(f"{peer.name}, {case['what']}")
        running.append(process)
    return running, states


def peer_measure(process: PeerProcess, lines: Lines, keys: int, counted: int) -> Callable[[bool], None]:
    """Return a function that asks a peer for a round and, if it is to be kept, notes the times."""

    def measure(keep: bool) -> None:
        found = process.measure()
        for name in [each.removesuffix(" wall") for each in found if each.endswith(" wall")]:
            if found[f"{name} groups"] != keys or abs(found[f"{name} counted"] / counted - 1) > 0.05:
                raise RuntimeError(f"{name}: not the answer that was asked for")
            if keep:
                lines[name].wall.append(found[f"{name} wall"])
                lines[name].cpu.append(found[f"{name} cpu"])
                lines[name].peak = found[f"{name} peak"]

    return measure


def run_rounds(measures: Sequence[Callable[[bool], None]], rounds: int) -> None:
    """Warm up once, then measure everything in turn, ``rounds`` times."""
    for turn in range(rounds + 1):
        step(f"round {turn} of {rounds}" if turn else "warming up")
        for measure in measures:
            measure(turn > 0)


# ── fresh processes ──────────────────────────────────────────────────────────────────────────────────────────


def run_fresh(folder: Path, sizes: Sizes) -> Fresh:
    """Make each release in processes of its own; return what they say."""
    large, small = str(folder / "large.parquet"), str(folder / "small.csv")
    cases = {
        "rows": (large, sizes.keys),
        "people": (large, sizes.keys),
        "frame": (small, SMALL_KEYS),
        "csv": (small, SMALL_KEYS),
        "keys": (small, sizes.empty),
    }
    found: Fresh = {case: [] for case in cases}
    for turn in range(sizes.fresh):
        step(f"fresh processes {turn + 1} of {sizes.fresh}")
        for case, (path, keys) in cases.items():
            ledger = str(folder / f"fresh {case} {turn}.ledger")
            command = [sys.executable, str(Path(fresh.__file__)), case, path, str(keys), ledger]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode:
                raise RuntimeError(f"fresh process for {case} failed:\n{done.stderr}")
            found[case].append(json.loads(done.stdout))
    return found


def middle(found: Fresh, case: str, name: str) -> float:
    """Return the median over the fresh processes of a case."""
    return median(each[name] for each in found[case])


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────


def ratio(lines: Lines, above: str, below: str, kind: str) -> float | None:
    """Return one median over another."""
    top, bottom = getattr(lines[above], kind), getattr(lines[below], kind)
    return median(top) / median(bottom) if top and bottom else None


def across(lines: Lines, above: str, below: str, kind: str) -> str:
    """Return the smallest and the largest ratio of a single round."""
    pairs = zip(getattr(lines[above], kind), getattr(lines[below], kind), strict=False)
    each = [top / bottom for top, bottom in pairs]
    return f"{number(min(each))} … {number(max(each))}" if each else ""


def best_peer(lines: Lines, random_only: bool = False) -> str | None:
    """Return the peer's way that takes the least time on the clock."""
    known = [key for key, line in lines.items() if key.startswith("table-") and line.wall]
    known = [key for key in known if "sample" in key] if random_only else known
    return min(known, key=lambda key: median(lines[key].wall), default=None)


def facts(sizes: Sizes, states: dict[str, str], elsewhere: str) -> str:
    """Return what was run, when and where."""
    names = {peer.key: peer.name for peer in PEERS}
    threads = duckdb.sql("SELECT current_setting('threads')").fetchall()[0][0]
    told = [
        ("command", " ".join(["`python bench/engine.py", *sys.argv[1:]]) + "`"),
        ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
        *machine(),
        ("engine", f"DuckDB {version('duckdb')}, {threads} threads, for plain DuckDB and for Lapwing"),
        ("peers", ", ".join(f"{names[key]} {state}" for key, state in states.items()) or "left out"),
        (
            "table",
            f"{sizes.rows:,} rows, {sizes.people:,} people, {sizes.keys:,} skewed text keys and a cost, "
            f"in Parquet, generated from seed {SEED}, rows in random order",
        ),
        ("rounds", f"{sizes.rounds}, after one to warm up; every line is measured once in each round; medians"),
        ("fresh processes", f"{sizes.fresh} for each case; medians"),
        ("background load", f"other processes used {elsewhere} during the rounds"),
    ]
    return "\n".join(f"- {name}: {value}" for name, value in told)


def bars(lines: Lines, found: Fresh) -> list[tuple[str, str, float, float | None, str, str]]:
    """Return what is wanted: (what, relation, bound, measured, unit, range of single rounds)."""
    best, fair = best_peer(lines), best_peer(lines, random_only=True)
    peer = ratio(lines, best, "people", "wall") if best else None
    sampled = ratio(lines, fair, "people", "wall") if fair else None
    return [
        ("rows protected, × plain DuckDB, CPU", "≤", 2.5, ratio(lines, "rows", "plain", "cpu"), "",
         across(lines, "rows", "plain", "cpu")),
        ("people protected, × plain DuckDB, CPU", "≤", 15, ratio(lines, "people", "plain", "cpu"), "",
         across(lines, "people", "plain", "cpu")),
        ("rows protected, a folder with partitions, × plain DuckDB, CPU", "≤", 2.5,
         ratio(lines, "rows folder", "plain folder", "cpu"), "", across(lines, "rows folder", "plain folder", "cpu")),
        ("people protected, a folder with partitions, × plain DuckDB, CPU", "≤", 15,
         ratio(lines, "people folder", "plain folder", "cpu"), "",
         across(lines, "people folder", "plain folder", "cpu")),
        ("people protected, peak memory of the process", "≤", 600, middle(found, "people", "peak") / 1e6, " MB", ""),
        ("the quickest peer's time, × people protected, clock", "≥", 5, peer, "",
         across(lines, best, "people", "wall") if best else ""),
        ("the quickest peer with random rows, likewise", "≥", 5, sampled, "",
         across(lines, fair, "people", "wall") if fair else ""),
        (f"first release of {SMALL_ROWS} rows, a pandas frame", "≤", 0.3, middle(found, "frame", "first"), " s", ""),
        (f"first release of {SMALL_ROWS} rows, CSV", "≤", 0.3, middle(found, "csv", "first"), " s", ""),
        ("count of many keys that never occur", "≤", 5, middle(found, "keys", "first"), " s", ""),
    ]  # fmt: skip


def bar_table(lines: Lines, found: Fresh) -> str:
    """Return each bar with its measured value and whether it is met."""

    def rows() -> Iterable[Sequence[str]]:
        for what, relation, bound, measured, unit, reach in bars(lines, found):
            value = number(measured) + (unit if measured is not None else "")
            yield what, f"{relation} {bound:g}{unit}", value, reach, verdict(measured, relation, bound)

    return table(("what", "wanted", "measured", "single rounds", "met"), rows())


def line_table(lines: Lines, states: dict[str, str], found: Fresh) -> str:
    """Return every line of the rounds, against plain DuckDB and against Lapwing with people protected."""

    def rows() -> Iterable[Sequence[str]]:
        for key, line in lines.items():
            if not line.wall:
                yield line.what, *["not measured"] * 2, *[""] * 4
                continue
            memory = middle(found, key, "peak") if key in found else line.peak
            yield (
                line.what,
                number(median(line.cpu)),
                number(median(line.wall)),
                number(ratio(lines, key, "plain", "cpu")),
                number(ratio(lines, key, "plain", "wall")),
                number(ratio(lines, key, "people", "wall")),
                "" if memory is None else number(memory / 1e6),
            )
        for peer in PEERS:
            if peer.key not in " ".join(lines):
                yield f"{peer.name}: {states.get(peer.key, 'left out')}", *[""] * 6

    head = ("count and mean by key", "CPU, s", "clock, s", "× plain, CPU", "× plain, clock", "× Lapwing, clock", "MB")
    return table(head, rows())


def fresh_table(found: Fresh, sizes: Sizes) -> str:
    """Return how long the first release of a process takes, and what comes before and after it."""
    whats = {
        "frame": f"{SMALL_ROWS} rows, a pandas frame",
        "csv": f"{SMALL_ROWS} rows, CSV",
        "keys": f"{SMALL_ROWS} rows, CSV, {sizes.empty:,} keys that never occur",
        "rows": f"{sizes.rows:,} rows, rows protected",
        "people": f"{sizes.rows:,} rows, people protected",
    }
    names = ("import", "declare", "first", "read the answer", "again")
    memory = ("peak after import", "peak")

    def rows() -> Iterable[Sequence[str]]:
        for case, what in whats.items():
            times = (f"{middle(found, case, name):.3f}" for name in names)
            yield what, *times, *(number(middle(found, case, name) / 1e6) for name in memory)

    return table(("seconds on the clock", *names, "MB after import", "MB at most"), rows())


def part_table(found: Fresh) -> str:
    """Return where the time of the first release goes."""
    cases = list(found)
    parts = list(dict.fromkeys(part for case in cases for each in found[case] for part in each["parts"]))
    parts = [*(part for part in parts if part != "the rest"), "the rest"]

    def spent(case: str, part: str) -> str:
        return f"{1000 * median(each['parts'].get(part, 0.0) for each in found[case]):,.1f}"

    names = {"frame": "10 rows, frame", "csv": "10 rows, CSV", "keys": "empty keys"}
    head = ("ms of the first release", *(names.get(case, case) for case in cases))
    return table(head, ([part, *(spent(case, part) for case in cases)] for part in parts))


def losses(lines: Lines, found: Fresh) -> str:
    """Return every bar that is missed, and every peer that is quicker or smaller."""
    told = []
    for what, relation, bound, measured, unit, _ in bars(lines, found):
        if verdict(measured, relation, bound) == "**no**":
            told.append(f"- Missed: {what}: {number(measured)}{unit}, wanted {relation} {bound:g}{unit}.")
    ours = middle(found, "people", "peak")
    for key, line in lines.items():
        if not key.startswith("table-") or not line.wall:
            continue
        for kind, word in (("wall", "clock"), ("cpu", "CPU")):
            against = ratio(lines, "people", key, kind)
            if against is not None and against > 1:
                told.append(f"- {number(against)} × the time ({word}) of: {line.what}.")
        if line.peak is not None and line.peak < ours:
            told.append(f"- {number(ours / line.peak)} × the memory of: {line.what}.")
    return "\n".join(told) or "- Nowhere among what is measured here."


def report(lines: Lines, found: Fresh, states: dict[str, str], sizes: Sizes, elsewhere: str) -> str:
    """Return the whole section of the page."""
    parts = [
        "## Engine: releases from tables",
        facts(sizes, states, elsewhere),
        "### What is wanted",
        bar_table(lines, found),
        "### One large table",
        line_table(lines, states, found),
        "Lapwing's lines are whole calls of `Source.release`, with the ledger on disk and a new question each time. "
        "Plain DuckDB keeps its connection open; Lapwing opens one for each release. "
        "With people protected, Lapwing weighs down the rows of people who have more than five; the peers keep five "
        "rows of each person. The first five in the order of the file are faster to find than five random ones, but "
        "are not a fair sample of a table that is sorted. PyDP and diffprivlib have no tables: Polars bounds and "
        "groups, which is nearly all of their time, and they add the noise. "
        "Lapwing's MB are those of one release in a process of its own; a peer's are those of its process, which runs "
        "all of its lines in turn, so that its largest may stand in all of them.",
        "### Fresh processes",
        fresh_table(found, sizes),
        "*declare* makes the `Source`; *first* is the first `release` of the process, *again* the second, another "
        "question; *read the answer* makes plain columns with error bars. Where pandas is needed, it has been "
        "imported before.",
        part_table(found),
        "### Where Lapwing loses",
        losses(lines, found),
    ]
    return "\n\n".join(parts)


def main() -> int:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, write nothing: to try it out")
    parser.add_argument("--no-peers", action="store_true", help="leave the other libraries out")
    parser.add_argument("--folder", help="where to put the temporary folder: some 300 MB")
    asked = parser.parse_args()
    sizes = QUICK if asked.quick else FULL
    pythons: dict[str, Path | None] = {}
    for peer in () if asked.no_peers else PEERS:
        step(f"peer {peer.name}: environment")
        pythons[peer.key] = install(peer)
    lines: Lines = {}
    with tempfile.TemporaryDirectory(prefix="lapwing-bench-", dir=asked.folder) as place:
        folder = Path(place)
        step("generating the table")
        counted = generate(folder, sizes)
        measures = own_measures(lines, folder, sizes)
        before = busy_seconds()
        running, states = start_peers(lines, folder, pythons) if pythons else ([], {})
        try:
            run_rounds([*measures, *(peer_measure(each, lines, sizes.keys, counted) for each in running)], sizes.rounds)
        finally:
            for process in running:
                process.close()
        elsewhere = used_elsewhere(before)
        found = run_fresh(folder, sizes)
    text = report(lines, found, states, sizes, elsewhere)
    print(f"\n{text}\n")
    if not asked.quick:
        replace_section(PAGE, "engine", text)
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
