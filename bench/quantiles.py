"""Measure quantiles: their rank errors beside other roads at equal ε, their error bars, and the time of a release.

Lapwing's side is ``Selection.release`` with exact noise, many tables at once as if they were groups.  The other roads
are short implementations in floating point, on the same tables:

    exponential, ε/m      the exponential mechanism for each quantile, at ε/m, coins e^(-εd/2m) for a distance of d rows
    same, tight           with the reach of claim Q2, 2·max(q, 1 - q), in place of 2
    recursive splitting   Kaplan, Schnapp and Stemmer (2022): the middle quantile first, ε/levels each, coins e^(-εd/2)
    tree, 16 branches     65,536 bins, four levels, least squares; values between edges by interpolation
    flat, 256 bins        a noisy histogram
    `lw.cdf`, 256 bins    the tree that ``make_tree`` picks, read in the same way

The peers themselves run in environments of their own (bench/peers_quantiles.py).
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import fresh
import numpy as np
from engine import PEERS
from noise import install
from page import PAGE, ROOT, busy_seconds, machine, number, replace_section, step, table, used_elsewhere
from peers_quantiles import BAR_RUNS, BAR_SIZES, HIGH, QUANTILES, SIZES, incomes
from simulation import Floats

import lapwing as lw
from lapwing.measure.selection import ValueWeights
from lapwing.measure.tree import Tree, make_tree
from lapwing.noise.entropy import SYSTEM
from lapwing.plan.plan import Plan
from lapwing.plan.planning import make_plan
from lapwing.question.schema import make_schema
from lapwing.question.sql import make_query
from lapwing.release.estimate import estimates

EPSILON = 1
RUNS = {1: 1000, 3: 1000, 9: 1000, 19: 400, 49: 150, 99: 100}
AT_ONCE = 20
SEED = 1
OWN = "Lapwing, values alone"
BARRED = "Lapwing, with bars"
CONFIDENCE = Fraction(19, 20)

TIMED_ROWS, TIMED_KEYS, DISTINCT, ROUNDS = 10_000_000, 100, 1_000_000, 3
TIMED = {"cents": 1000, "wide": DISTINCT}
"""The columns of the large table, and their upper bounds."""


def plan_of(column: Any, levels: Sequence[Fraction], runs: int, intervals: bool) -> Plan:
    """Return the plan of quantiles by a key with a value for each run."""
    schema = make_schema("t", {"x": column, "g": lw.keys(range(runs))}, None, None, "add_remove", None)
    query = make_query(lw.quantile("x", list(levels)), "g", None, schema)
    return make_plan(schema, query, epsilon=EPSILON, intervals=intervals)


def release(plan: Plan, tables: Floats) -> list[list[int]]:
    """Return what one release records of tables, one in each row, which are the groups of the plan."""
    (part,) = plan.parts
    grid = part.measurement.grid
    index = np.floor(tables / float(grid.step) + 0.5).astype(np.int64) - grid.low
    index = np.clip(index, 0, grid.steps) + (grid.steps + 1) * np.arange(len(tables))[:, None]
    places, weights = np.unique(index, return_counts=True)
    spread = ValueWeights(*np.divmod(places, grid.steps + 1), weights)
    return part.measurement.selection(plan.setting(part)).release(spread, len(tables), SYSTEM)


def evenly(m: int) -> list[Fraction]:
    """Return m evenly spaced quantiles."""
    return [Fraction(i + 1, m + 1) for i in range(m)]


# ── rank errors ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Line:
    """The mean |rank error| of every road, and its standard error."""

    n: int
    m: int
    errors: dict[str, tuple[float, float]]

    def beats(self, road: str, other: str) -> bool:
        """Tell whether the one is below the other by more than three standard errors."""
        (one, wide), (two, broad) = self.errors[road], self.errors[other]
        return one + 3 * math.hypot(wide, broad) < two


def lapwing(tables: Floats, m: int, intervals: bool) -> Floats:
    """Return the quantiles of each table, one table in each row."""
    plan = plan_of(lw.number(0, HIGH), evenly(m), len(tables), intervals)
    grid = plan.parts[0].measurement.grid
    return ((np.array(release(plan, tables)[:m], dtype=float) + grid.low) * float(grid.step)).T


def chosen(rows: Floats, low: float, high: float, weights: Floats, draws: np.random.Generator) -> float:
    """Return a value between low and high; between neighboring rows all have the same weight."""
    edges = np.concatenate(([low], rows, [high]))
    gaps = np.diff(edges)
    upto = np.cumsum(gaps * weights)
    if upto[-1] <= 0:
        return low
    gap = min(int(np.searchsorted(upto, draws.random() * upto[-1], side="right")), len(gaps) - 1)
    return float(edges[gap] + draws.random() * gaps[gap])


def coins(n: int, level: float, unit: float) -> Floats:
    """Return e^(-unit·distance) for the gaps between n rows."""
    return np.exp(-unit * np.abs(np.arange(n + 1) - level * n))


def exponential(tables: Floats, m: int, tight: bool, draws: np.random.Generator) -> Floats:
    """Return quantiles by the exponential mechanism at ε/m each."""
    found = np.empty((len(tables), m))
    for i, level in enumerate(map(float, evenly(m))):
        reach = 2 * max(level, 1 - level) if tight else 2
        weights = coins(tables.shape[1], level, EPSILON / m / reach)
        found[:, i] = [chosen(rows, 0, HIGH, weights, draws) for rows in tables]
    return found


def splitting(tables: Floats, m: int, draws: np.random.Generator) -> Floats:
    """Return quantiles by recursive splitting with the exponential mechanism, sensitivity 1."""
    unit = EPSILON / m.bit_length() / 2

    def split(rows: Floats, levels: list[float], low: float, high: float, ends: tuple[float, float]) -> Iterator[float]:
        if not levels:
            return
        middle = len(levels) // 2
        level = (levels[middle] - ends[0]) / (ends[1] - ends[0])
        value = chosen(rows, low, high, coins(len(rows), level, unit), draws)
        at = np.searchsorted(rows, value)
        yield from split(rows[:at], levels[:middle], low, value, (ends[0], levels[middle]))
        yield value
        yield from split(rows[at:], levels[middle + 1 :], value, high, (levels[middle], ends[1]))

    asked = list(map(float, evenly(m)))
    return np.array([list(split(rows, asked, 0.0, float(HIGH), (0.0, 1.0))) for rows in tables])


def read_off(tables: Floats, tree: Tree) -> dict[int, Floats]:
    """Return quantiles for every m from one noisy tree of each table: the cumulative counts, made to rise."""
    found: dict[int, list[Floats]] = {m: [] for m in QUANTILES}
    edges = np.linspace(0, HIGH, tree.bins + 1)
    for start in range(0, len(tables), AT_ONCE):
        some = tables[start : start + AT_ONCE]
        bins = np.minimum((some * (tree.bins / HIGH)).astype(np.int64), tree.bins - 1)
        counts = np.stack([np.bincount(each, minlength=tree.bins) for each in bins], axis=1)
        cells = tree.cells(counts)
        noisy = cells + lw.discrete_laplace(Fraction(tree.mass, EPSILON), size=cells.shape)
        for upto in np.cumsum(tree.consistent(noisy), axis=0).T:
            rising = np.maximum.accumulate(upto) + np.minimum.accumulate(upto[::-1])[::-1]
            rising = np.concatenate(([0], rising / 2))
            for m in QUANTILES:
                found[m].append(np.interp(np.array(evenly(m), dtype=float) * upto[-1], rising, edges))
    return {m: np.array(each) for m, each in found.items()}


def rank_errors() -> list[Line]:
    """Return the errors of all roads."""
    draws = np.random.default_rng(SEED)
    trees = {
        "tree, 16 branches": Tree(2**16, 16, 4),
        "flat, 256 bins": Tree(256, 256, 1),
        "`lw.cdf`, 256 bins": make_tree(256),
    }
    lines = []
    for n in SIZES:
        tables = incomes(n, max(RUNS.values()), draws)
        step(f"trees, {n:,} rows")
        read = {name: read_off(tables[: RUNS[19]], tree) for name, tree in trees.items()}
        for m in QUANTILES:
            step(f"{n:,} rows, {m} quantiles")
            some = tables[: RUNS[m]]
            found = {
                OWN: lapwing(some, m, intervals=False),
                BARRED: lapwing(some, m, intervals=True),
                "exponential, ε/m": exponential(some, m, False, draws),
                "same, tight": exponential(some, m, True, draws),
                "recursive splitting": splitting(some, m, draws),
                **{name: each[m] for name, each in read.items()},
            }
            lines.append(Line(n, m, {road: off(tables, values, m) for road, values in found.items()}))
    return lines


def off(tables: Floats, found: Floats, m: int) -> tuple[float, float]:
    """Return the mean |rank error| of the found values, and its standard error."""
    n = tables.shape[1]
    below = np.array([np.searchsorted(rows, values) for rows, values in zip(tables, found, strict=False)])
    each = np.abs(below - n * np.array(evenly(m), dtype=float)).mean(axis=1)
    return float(each.mean()), float(each.std() / math.sqrt(len(each)))


def error_table(lines: list[Line], peers: dict[str, dict[str, Any]]) -> str:
    """Return a line for every number of rows and quantiles; what is below Lapwing's values alone is bold."""
    head = ["n", "m", "runs", *lines[0].errors, *peers]

    def shown(error: float, bold: bool) -> str:
        return f"**{number(error)}**" if bold else number(error)

    rows = []
    for line in lines:
        cells = [shown(error, line.beats(road, OWN)) for road, (error, _) in line.errors.items()]
        for peer in peers.values():
            error, runs = peer["errors"][f"{line.n} {line.m}"]
            cells.append(f"{number(error)} ({runs})")
        rows.append([f"{line.n:,}", str(line.m), f"{RUNS[line.m]:,}", *cells])
    return table(head, rows)


def losses(lines: list[Line], peers: dict[str, dict[str, Any]]) -> str:
    """Return which roads are better than Lapwing's, and where; a peer, if its error is a tenth less."""
    told = []
    for own in (OWN, BARRED):
        for road in (*(each for each in lines[0].errors if each not in (OWN, BARRED)), *peers):
            found = [line for line in lines if better(line, road, own, peers)]
            where = [(n, [str(line.m) for line in found if line.n == n]) for n in SIZES]
            if found:
                listed = "; ".join(f"n = {n:,}, m = {', '.join(some)}" for n, some in where if some)
                told.append(f"- {own}: above *{road}* at {listed}.")
    return "\n".join(told) or "- Nowhere among what is measured here."


def better(line: Line, road: str, own: str, peers: dict[str, dict[str, Any]]) -> bool:
    """Tell whether a road is better than one of Lapwing's."""
    if road in peers:
        return bool(peers[road]["errors"][f"{line.n} {line.m}"][0] < 0.9 * line.errors[own][0])
    return line.beats(road, own)


# ── error bars ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Bars:
    """How often the bars of a quantile hold it, how many rows are in them, and how often an end is a bound, in %."""

    holds: float
    rows: float
    bounds: float


ASKED = ((Fraction(1, 2),), (Fraction(9, 10),), (Fraction(0), Fraction(1, 2), Fraction(1)))
NAMES = ("median", "0.9", "minimum of three", "median of three", "maximum of three")


def draw(kind: str, n: int, runs: int, draws: np.random.Generator) -> tuple[Any, Floats]:
    """Return a column's declaration and tables, one in each row."""
    if kind == "ages":
        return lw.number(0, 120, integer=True), draws.integers(18, 91, (runs, n)).astype(float)
    found = draws.lognormal(math.log(30_000), 0.8, (runs, n)).clip(0, HIGH)
    if kind == "40 % zeros":
        found *= draws.random((runs, n)) >= 0.4
    return lw.number(0, 10**9 if kind == "loose bounds" else HIGH), found


def bars() -> dict[tuple[str, int], list[Bars]]:
    """Return the bars of every kind of data and size, as ``NAMES`` lists them."""
    draws = np.random.default_rng(SEED + 1)
    found: dict[tuple[str, int], list[Bars]] = {}
    for kind in ("incomes", "ages", "40 % zeros", "loose bounds"):
        step(f"bars of {kind}")
        for n in BAR_SIZES:
            column, tables = draw(kind, n, BAR_RUNS, draws)
            found[kind, n] = []
            for levels in ASKED:
                plan = plan_of(column, levels, BAR_RUNS, True)
                made = estimates(plan, [release(plan, tables)], None, CONFIDENCE, False)
                grid = plan.parts[0].measurement.grid
                bounds = float(grid.low * grid.step), float(grid.high * grid.step)
                found[kind, n] += [
                    judged(tables, level, np.array(bar.low, float), np.array(bar.high, float), bounds)
                    for level, bar in zip(levels, made, strict=True)
                ]
    return found


def judged(tables: Floats, level: Fraction, low: Floats, high: Floats, bounds: tuple[float, float]) -> Bars:
    """Compare bars with the quantiles of the tables; an extreme has only one end that could be another."""
    n = tables.shape[1]
    truth = np.sort(tables, axis=1)[:, max(math.ceil(level * n), 1) - 1]
    inside = ((tables >= low[:, None]) & (tables <= high[:, None])).sum(axis=1)
    lowest, highest = low <= bounds[0], high >= bounds[1]
    ends = highest if level == 0 else lowest if level == 1 else lowest | highest
    held = (low <= truth) & (truth <= high)
    return Bars(100 * float(held.mean()), float(np.median(inside)), 100 * float(ends.mean()))


def bar_tables(found: dict[tuple[str, int], list[Bars]]) -> list[str]:
    """Return three tables: how often bars hold, how wide they are, how often an end is a bound."""

    def one(shown: Callable[[Bars, int], str]) -> str:
        rows = [[kind, f"{n:,}", *(shown(each, n) for each in line)] for (kind, n), line in found.items()]
        return table(("data", "n", *NAMES), rows)

    return [
        "Bars that contain the quantile, in %:",
        one(lambda each, n: f"{each.holds:.1f}"),
        "Rows in a bar, the median, and in % of n:",
        one(lambda each, n: f"{each.rows:,.0f} ({100 * each.rows / n:.1f} %)"),
        "Bars with an end at the column's bound, in % (an extreme's outer end always is, and is not counted):",
        one(lambda each, n: f"{each.bounds:.1f}"),
    ]


def peer_bars(peer: dict[str, Any], own: dict[tuple[str, int], list[Bars]]) -> list[str]:
    """Return PyDP's bars beside Lapwing's, of incomes."""
    rows = []
    for key, (holds, inside) in peer["bars"].items():
        n, level = key.split()
        ours = own["incomes", int(n)][0 if level == "0.5" else 1]
        numbers = [f"{ours.holds:.1f}", f"{holds:.1f}", f"{ours.rows:,.0f}", f"{inside:,.0f}"]
        rows.append([f"{int(n):,}", level, *numbers])
    head = ("n", "quantile", "Lapwing holds, %", "PyDP holds, %", "Lapwing, rows", "PyDP, rows")
    return ["PyDP has error bars too, from its tree; of incomes:", table(head, rows)]


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────


def generate(path: str) -> None:
    """Write the large table: text keys, values in cents, and whole numbers up to a million."""
    draws = np.random.default_rng(SEED)
    columns = {
        "number": draws.integers(0, TIMED_KEYS, TIMED_ROWS, dtype=np.int32),
        "cents": np.round(np.minimum(draws.exponential(120, TIMED_ROWS), TIMED["cents"]), 2),
        "wide": draws.integers(0, DISTINCT, TIMED_ROWS).astype(float),
    }
    with duckdb.connect(":memory:") as connection:
        connection.register("columns", columns)
        select = "SELECT format('k{:07d}', number) AS key, cents, wide FROM columns"
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")


def plain(path: str, column: str) -> Callable[[], object]:
    """Return what computes medians by key with DuckDB alone."""
    kept = duckdb.connect(":memory:")
    return lambda: kept.execute(f"SELECT key, median({column}) FROM read_parquet('{path}') GROUP BY key").fetchall()


def private(path: str, column: str, folder: str) -> Callable[[], object]:
    """Return what releases medians by key, each time as a new question."""
    columns = {
        "key": lw.keys(fresh.key_names(TIMED_KEYS)),
        column: lw.number(0, TIMED[column], integer=column == "wide"),
    }
    ledger = str(Path(folder) / f"{column}.ledger")
    source = lw.Source(path, name=column, columns=columns, epsilon=1000, ledger=ledger)
    turns = count(1)
    return lambda: source.release(lw.median(column), by="key", epsilon=f"1.{next(turns):03d}")


def once(road: str, path: str, column: str, folder: str) -> int:
    """Run one road once, in a process of its own; print its memory and where the time went."""
    from lapwing.engine import duckdb as engine
    from lapwing.measure import selection

    clock = fresh.watched()
    clock.watch("sort the values of all keys", engine, "_sorted")
    clock.watch("choose values and ends", selection.Selection, "_points")
    run = plain(path, column) if road == "plain" else private(path, column, folder)
    before, start = fresh.peak(), time.perf_counter()
    run()
    taken = time.perf_counter() - start
    parts = {**clock.seconds, "the rest": taken - sum(clock.seconds.values())}
    print(json.dumps({"before": before, "peak": fresh.peak(), "parts": parts}))
    return 0


def times() -> tuple[str, str]:
    """Return a table of times and memory, and one of where the time goes."""
    roads = ("plain", "private")
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {(road, each): [] for each in TIMED for road in roads}
    told: dict[tuple[str, str], dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="lapwing-bench-") as folder:
        path = str(Path(folder) / "large.parquet")
        step("generating the large table")
        generate(path)
        runs = {
            (road, each): plain(path, each) if road == "plain" else private(path, each, folder) for road, each in taken
        }
        for turn in range(ROUNDS + 1):
            step(f"time, round {turn} of {ROUNDS}" if turn else "warming up")
            for case, run in runs.items():
                gc.collect()
                clock, processor = time.perf_counter(), time.process_time()
                run()
                if turn:
                    taken[case].append((time.perf_counter() - clock, time.process_time() - processor))
        for road, each in taken:
            place = tempfile.mkdtemp(dir=folder)
            command = [sys.executable, __file__, "--once", road, path, each, place]
            done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
            told[road, each] = json.loads(done.stdout)
    whats = {"cents": f"up to {100 * TIMED['cents'] + 1:,} values", "wide": f"{DISTINCT:,} values"}
    rows = []
    for each, what in whats.items():
        wall, cpu = ([median(pair[i] for pair in taken[road, each]) for road in roads] for i in (0, 1))
        single = [own[1] / bare[1] for bare, own in zip(taken["plain", each], taken["private", each], strict=True)]
        memory = [f"{told[road, each]['peak'] / 1e6:,.0f}" for road in roads]
        reach = f"{number(min(single))} … {number(max(single))}"
        ratios = [number(cpu[1] / cpu[0]), reach, number(wall[1] / wall[0])]
        rows.append([what, *(f"{took:.1f}" for took in (*cpu, *wall)), *ratios, *memory])
    head = ("median of x by key", "DuckDB, CPU s", "Lapwing, CPU s", "DuckDB, clock s", "Lapwing, clock s",
            "×, CPU", "single rounds", "×, clock", "DuckDB, MB", "Lapwing, MB")  # fmt: skip
    parts = list(dict.fromkeys(part for each in TIMED for part in told["private", each]["parts"]))
    spent = [[part, *(f"{told['private', each]['parts'].get(part, 0.0):.2f}" for each in TIMED)] for part in parts]
    return table(head, rows), table(("seconds of a first release", *(whats[each] for each in TIMED)), spent)


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────


def start_peers() -> dict[str, subprocess.Popen[str] | None]:
    """Start every peer that can be installed: their errors do not depend on what else runs."""
    found: dict[str, subprocess.Popen[str] | None] = {}
    for peer in PEERS:
        python = install(peer)
        command = [str(python), "-W", "ignore", str(Path(__file__).with_name("peers_quantiles.py")), peer.key]
        quiet = subprocess.DEVNULL
        found[peer.name] = (
            None if python is None else subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True)
        )
    return found


def finish_peers(started: dict[str, subprocess.Popen[str] | None]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Wait for the peers; return what they say, and for each what was called or what went wrong."""
    found, states = {}, []
    for name, process in started.items():
        said = process.communicate()[0] if process else ""
        answer = json.loads(said) if said else {"error": "could not be run" if process else "could not be installed"}
        if "error" in answer:
            states.append(f"{name}: {answer['error']}")
            continue
        found[name] = answer
        states.append(f"{name} {answer['version']}, {answer['what']}")
    return found, states


def main() -> int:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-peers", action="store_true", help="leave the other libraries out")
    parser.add_argument("--once", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.once:
        return once(*asked.once)
    started = {} if asked.no_peers else start_peers()
    lines = rank_errors()
    barred = bars()
    step("waiting for the peers")
    peers, states = finish_peers(started)
    before = busy_seconds()
    timed, parts = times()
    widest = max(wide / error for line in lines for error, wide in line.errors.values())
    text = "\n\n".join(
        [
            "## Quantiles",
            "\n".join(
                f"- {name}: {value}"
                for name, value in [
                    ("command", " ".join(["`python bench/quantiles.py", *sys.argv[1:]]) + "`"),
                    ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
                    *machine(),
                    ("engine", f"DuckDB {version('duckdb')}"),
                    ("peers", "; ".join(states) or "left out"),
                    ("background load", f"other processes used {used_elsewhere(before)} while time was measured"),
                ]
            ),
            "### Rank errors",
            "The mean of |rows below the value - q·n| over m evenly spaced quantiles, at ε = 1 in all, when one row "
            "more or less is protected; lognormal incomes with the median 30,000 and σ = 0.8, cut to [0, 200,000], "
            "new ones in every run. *Values alone* is `intervals=False`; *with bars* is the default, in which 3/8 of ε "
            "go to the bars. The other methods are short implementations in floats on the same tables: the "
            "*exponential* mechanism at ε/m each, with sensitivity 1 and with that of claim Q2 (*tight*); *recursive "
            "splitting* (Kaplan, Schnapp and Stemmer, 2022) with sensitivity 1; a *tree* of 65,536 bins and four "
            "levels, *flat* bins, and the tree of `lw.cdf`, whose noise does not depend on m "
            f"({RUNS[19]} runs at all m). Standard errors are at most {100 * widest:.0f} %; bold is below Lapwing's "
            "values alone by more than three of them. Peers have their own tables from the same law, and their runs "
            "in brackets.",
            error_table(lines, peers),
            "Where Lapwing loses, by more than three standard errors, and to a peer by more than a tenth:",
            losses(lines, peers),
            "### Error bars",
            f"{BAR_RUNS:,} bars of each at 95 %, ε = 1, standard error 1.0 points at 95 %. *40 % zeros* are incomes of "
            "which some are 0, the lower bound; *loose bounds* are incomes with the bounds 0 and 10⁹; ages are whole "
            "numbers from 18 to 90 with the bounds 0 and 120. *Of three*: minimum, median and maximum in one release.",
            *bar_tables(barred),
            *(peer_bars(peers["PyDP"], barred) if "PyDP" in peers else []),
            "### Time",
            f"`SELECT key, median(x) … GROUP BY key` in DuckDB against a whole release of the median by key with bars, "
            f"rows protected: {TIMED_ROWS:,} rows in Parquet, {TIMED_KEYS} keys; medians of {ROUNDS} rounds after one "
            "to warm up; memory of one run in a process of its own.",
            timed,
            "How the time of a first release is spent:",
            parts,
        ]
    )  # fmt: skip
    print(f"\n{text}\n")
    replace_section(PAGE, "quantiles", text)
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
