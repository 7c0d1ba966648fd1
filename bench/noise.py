"""Measure Lapwing's noise beside NumPy, the limits of this machine and the peers.

Everything is measured in alternating rounds of one run, so that all ratios come from the same conditions;
they are ratios of medians.  The results go to the terminal and into docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from pathlib import Path
from statistics import median

import numpy as np
from page import PAGE, ROOT, busy_seconds, machine, number, replace_section, step, table, used_elsewhere

import lapwing as lw
from lapwing.noise.entropy import SYSTEM
from lapwing.noise.sampler import BLOCK

SCALE = 10
SWEEP = (1, 10, 100, 1_000, 10_000, 100_000)
EXTRA_SCALES = {"1": 1, "2^20": 2**20, "2^40": 2**40, "2^50": 2**50}


@dataclass(frozen=True)
class Peer:
    """A library to compare with: its name, and what pip shall install, the first list that works."""

    key: str
    name: str
    attempts: tuple[tuple[str, ...], ...]


PEERS = (
    # OpenDP looks for NumPy in every call, which costs it more where there is none
    Peer("opendp", "OpenDP", (("opendp==0.16.0", "numpy==2.4.6"),)),
    Peer(
        "diffprivlib",
        "diffprivlib",
        # a newer scikit-learn no longer has the names that diffprivlib 0.6.6 imports
        (("diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy==2.4.6", "scipy==1.17.1"),),
    ),
    Peer("pydp", "PyDP", (("python-dp==1.1.5",), ("python-dp",))),
)


@dataclass(frozen=True)
class Row:
    """One line of a table: ``calls`` calls of ``draws`` draws each are timed in every round."""

    key: str
    group: str  # array, one, limit, sweep or peer
    kind: str  # int, float, or any
    what: str
    draws: int
    calls: int
    note: str = ""


@dataclass
class Results:
    """The rows, and for each of them the ns per draw of every round."""

    rows: dict[str, Row] = field(default_factory=dict)
    rounds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Take one more row, not yet measured."""
        self.rows[row.key], self.rounds[row.key] = row, []

    def of(self, group: str) -> list[Row]:
        """Return the rows of a group, in their order."""
        return [row for row in self.rows.values() if row.group == group]

    def best(self, key: str) -> float | None:
        """Return the least ns per draw, or None when there is none."""
        return min(self.rounds[key]) if self.rounds.get(key) else None

    def median(self, key: str) -> float | None:
        """Return the median ns per draw, or None when there is none."""
        return median(self.rounds[key]) if self.rounds.get(key) else None

    def ratio(self, above: str, below: str) -> float | None:
        """Return one median over another."""
        top, bottom = self.median(above), self.median(below)
        return top / bottom if top is not None and bottom is not None else None

    def ratio_range(self, above: str, below: str) -> tuple[float, float] | None:
        """Return the smallest and the largest ratio of a single round."""
        pairs = list(zip(self.rounds.get(above, []), self.rounds.get(below, []), strict=False))
        each = [top / bottom for top, bottom in pairs]
        return (min(each), max(each)) if each else None


Measure = Callable[[], dict[str, float]]


# ── measuring ────────────────────────────────────────────────────────────────────────────────────────────────


def timed(row: Row, run: Callable[[], object]) -> Measure:
    """Return a function that times one round of ``run`` and gives the ns per draw under the row's key."""

    def measure() -> dict[str, float]:
        gc.collect()
        gc.disable()
        start = time.perf_counter_ns()
        for _ in repeat(None, row.calls):
            run()
        taken = time.perf_counter_ns() - start
        gc.enable()
        return {row.key: taken / (row.calls * row.draws)}

    return measure


def own_measures(results: Results, size: int, calls: int) -> list[Measure]:
    """Add Lapwing's and NumPy's rows; return what measures them, Lapwing and NumPy next to each other."""
    measures: list[Measure] = []

    def add(row: Row, run: Callable[[], object]) -> None:
        results.add(row)
        measures.append(timed(row, run))

    unsafe = np.random.default_rng()
    zeros, counts = np.zeros(size), np.zeros(size, np.int64)
    add(
        Row("int", "array", "int", f"`lw.discrete_laplace({SCALE}, n)`", size, 1, "one thread"),
        lambda: lw.discrete_laplace(SCALE, size),
    )
    add(
        Row("int2", "array", "int", f"`lw.discrete_laplace({SCALE}, n, threads=2)`", size, 1, "two threads"),
        lambda: lw.discrete_laplace(SCALE, size, threads=2),
    )
    add(
        Row("numpy", "array", "any", f"NumPy `Generator.laplace(0, {SCALE}, n)`", size, 1, "floats, not private"),
        lambda: unsafe.laplace(0, SCALE, size),
    )
    add(
        Row("float", "array", "float", '`lw.laplace(floats, sensitivity=1, epsilon="0.1")`', size, 1),
        lambda: lw.laplace(zeros, sensitivity=1, epsilon="0.1"),
    )
    add(
        Row("ints", "array", "int", '`lw.laplace(ints, sensitivity=1, epsilon="0.1")`', size, 1),
        lambda: lw.laplace(counts, sensitivity=1, epsilon="0.1"),
    )
    for name, scale in EXTRA_SCALES.items():
        add(
            Row(f"scale {name}", "array", "int", f"`lw.discrete_laplace({name}, n)`", size // 4, 1, "one thread"),
            lambda scale=scale: lw.discrete_laplace(scale, size // 4),
        )

    mechanism = lw.LaplaceMechanism(1, "0.1")
    add(
        Row("one", "one", "int", f"`lw.discrete_laplace({SCALE})`", 1, calls),
        lambda: lw.discrete_laplace(SCALE),
    )
    add(Row("one release", "one", "int", "`mechanism.release(5)`", 1, calls), lambda: mechanism.release(5))
    add(Row("one float", "one", "float", "`mechanism.release(5.0)`", 1, calls), lambda: mechanism.release(5.0))
    add(
        Row("numpy one", "one", "any", f"NumPy `Generator.laplace(0, {SCALE})`", 1, calls, "a float, not private"),
        lambda: unsafe.laplace(0, SCALE),
    )

    for n in SWEEP:
        repeats = max(1, calls // (10 + n // 50))
        add(
            Row(f"int {n}", "sweep", "int", f"`lw.discrete_laplace({SCALE}, {n})`", n, repeats),
            lambda n=n: lw.discrete_laplace(SCALE, n),
        )
        add(
            Row(f"numpy {n}", "sweep", "any", f"NumPy `Generator.laplace(0, {SCALE}, {n})`", n, repeats),
            lambda n=n: unsafe.laplace(0, SCALE, n),
        )
    return measures


def limit_measures(results: Results, size: int) -> list[Measure]:
    """Add the rows of what no sampler on this machine can avoid; return what measures them."""
    blocks = max(32, size // BLOCK)
    longer = 4 * blocks  # blocks per thread of the control, which must last as long as the draws it stands beside
    words, uniforms = np.empty(BLOCK, np.int64), np.random.default_rng().random(BLOCK)
    outs = np.empty(BLOCK), np.empty(BLOCK)
    stream = SYSTEM.stream()

    def logs(out: np.ndarray, times: int) -> None:
        for _ in repeat(None, times):
            np.log(uniforms, out=out)

    def logs_in_two_threads() -> None:
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(logs, out, longer) for out in outs]:
                done.result()

    limits: tuple[tuple[Row, Callable[[], object]], ...] = (
        (
            Row("urandom", "limit", "any", "8 bytes of `os.urandom`, in bulk", size // 8, 1, "no expansion"),
            lambda: os.urandom(size // 8 * 8),
        ),
        (
            Row(
                "aes", "limit", "any", "8 bytes of AES-256-CTR keystream", BLOCK, blocks, "`lapwing.entropy`, one block"
            ),
            lambda: stream.fill(words),
        ),
        (
            Row("log", "limit", "any", "`np.log` of one value", BLOCK, longer * 2, "one block, in the cache"),
            lambda: logs(outs[0], 1),
        ),
        (
            Row("log2", "limit", "any", "`np.log` of one value, two threads", BLOCK * longer * 2, 1, "control"),
            logs_in_two_threads,
        ),
    )
    for row, _ in limits:
        results.add(row)
    return [timed(row, run) for row, run in limits]


def run_rounds(measures: Sequence[Measure], results: Results, rounds: int) -> None:
    """Warm up once, then measure everything in turn, ``rounds`` times."""
    for turn in range(rounds + 1):
        step("warming up" if turn == 0 else f"round {turn} of {rounds}")
        for measure in measures:
            found = measure()
            if turn:
                for key, value in found.items():
                    results.rounds[key].append(value)


def memory_beyond_output(run: Callable[[], np.ndarray]) -> tuple[int, int]:
    """Return the bytes of the output, and the peak of what was allocated beyond it."""
    gc.collect()
    tracemalloc.start()
    try:
        out = run()
        return out.nbytes, tracemalloc.get_traced_memory()[1] - out.nbytes
    finally:
        tracemalloc.stop()


def memory(size: int) -> dict[str, tuple[int, int]]:
    """Return the output and the peak beyond it for each way of making ``size`` draws."""
    zeros, counts, unsafe = np.zeros(size), np.zeros(size, np.int64), np.random.default_rng()
    cases: dict[str, Callable[[], np.ndarray]] = {
        f"`lw.discrete_laplace({SCALE}, n)`": lambda: lw.discrete_laplace(SCALE, size),
        f"`lw.discrete_laplace({SCALE}, n, threads=2)`": lambda: lw.discrete_laplace(SCALE, size, threads=2),
        "`lw.laplace(ints, …)`": lambda: lw.laplace(counts, sensitivity=1, epsilon="0.1"),
        "`lw.laplace(floats, …)`": lambda: lw.laplace(zeros, sensitivity=1, epsilon="0.1"),
        "NumPy `Generator.laplace`": lambda: unsafe.laplace(0, SCALE, size),
    }
    return {what: memory_beyond_output(run) for what, run in cases.items()}


# ── peers ────────────────────────────────────────────────────────────────────────────────────────────────────


class PeerProcess:
    """A running script such as bench/peers.py, which measures one round whenever it is asked to."""

    def __init__(self, peer: Peer, python: Path, script: str = "peers.py", *arguments: str) -> None:
        self.peer = peer
        command = [str(python), "-W", "ignore", str(Path(__file__).with_name(script)), peer.key, *arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.hello = self._answer()

    def _answer(self) -> dict[str, object]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        return json.loads(line) if line else {"error": "it ended without an answer"}

    def measure(self) -> dict[str, float]:
        """Return the ns per draw of each of its cases, or nothing when the process has died."""
        try:
            print("round", file=self._process.stdin, flush=True)
            answer = self._answer()
        except (OSError, ValueError):
            return {}
        return {} if "error" in answer else {f"{self.peer.key} {key}": float(str(answer[key])) for key in answer}

    def close(self) -> None:
        """Let the process end, and wait for it."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def install(peer: Peer) -> Path | None:
    """Return the interpreter of the peer's environment, made when it is not there; None when that fails."""
    home = ROOT / ".venv-peers" / peer.key
    python, ready = home / "bin" / "python", home / ".ready"
    wanted = json.dumps(peer.attempts)
    if ready.exists() and ready.read_text() == wanted:
        return python
    shutil.rmtree(home, ignore_errors=True)
    if not _succeeds([sys.executable, "-m", "venv", str(home)]):
        return None
    for pins in peer.attempts:
        if _succeeds([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins]):
            ready.write_text(wanted)
            return python
    return None


def _succeeds(command: Sequence[str]) -> bool:
    """Run a command; tell whether it worked, and print the end of what it said when it did not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    except subprocess.TimeoutExpired:
        print("    gave up after 240 seconds", flush=True)
        return False
    if done.returncode:
        print("    " + "\n    ".join(done.stderr.strip().splitlines()[-2:]), flush=True)
    return done.returncode == 0


def start_peers(results: Results) -> tuple[list[PeerProcess], dict[str, str]]:
    """Start every peer that can be had; return them, and for each peer its version or what went wrong."""
    running, states = [], {}
    for peer in PEERS:
        step(f"peer {peer.name}: environment")
        python = install(peer)
        if python is None:
            states[peer.key] = "could not be installed"
            continue
        process = PeerProcess(peer, python)
        if "error" in process.hello:
            print(f"    {process.hello['error']}", flush=True)
            process.close()
            states[peer.key] = "could not be run"
            continue
        states[peer.key] = str(process.hello["version"])
        for case in process.hello["cases"]:
            key, kind, draws, calls = f"{peer.key} {case['key']}", case["kind"], case["draws"], case["calls"]
            results.add(Row(key, "peer", kind, f"{peer.name}: {case['what']}", draws, calls, peer.key))
        running.append(process)
    return running, states


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────


def facts(results: Results, states: dict[str, str], rounds: int, elsewhere: str) -> str:
    """Return what was run, when and where."""
    names = {peer.key: peer.name for peer in PEERS}
    peers = ", ".join(f"{names[key]} {state}" for key, state in states.items()) or "left out"
    lines = [
        ("command", " ".join(["`python", "bench/noise.py", *sys.argv[1:]]) + "`"),
        ("date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        *machine(),
        ("peers", peers),
        ("rounds", f"{rounds}, after one to warm up; every line below is measured once in each round"),
        ("background load", f"other processes used {elsewhere} during the rounds"),
        ("n", f"{results.rows['int'].draws:,} draws unless stated otherwise"),
    ]
    return "\n".join(f"- {name}: {text}" for name, text in lines)


def array_table(results: Results) -> str:
    """Return the lines of arrays and limits, in ns per draw."""
    usual = results.rows["int"].draws

    def lines() -> Iterable[Sequence[str]]:
        for row in results.of("array") + results.of("limit"):
            size = f"n = {row.draws:,}" if row.group == "array" and row.draws != usual else ""
            note = "; ".join(each for each in (row.note, size) if each)
            speed = number(results.ratio("numpy", row.key))
            yield row.what, number(results.best(row.key)), number(results.median(row.key)), speed, note

    return table(("what", "ns per draw, best", "median", "× NumPy's speed", "note"), lines())


def one_table(results: Results) -> str:
    """Return the lines of single calls, in µs."""

    def lines() -> Iterable[Sequence[str]]:
        for row in results.of("one"):
            times = [None if ns is None else ns / 1000 for ns in (results.best(row.key), results.median(row.key))]
            yield row.what, *map(number, times), number(results.ratio("numpy one", row.key)), row.note

    return table(("one call", "µs, best", "median", "× NumPy's speed", "note"), lines())


def sweep_table(results: Results) -> str:
    """Return Lapwing beside NumPy for growing arrays."""

    def lines() -> Iterable[Sequence[str]]:
        for n in SWEEP:
            ours, theirs = results.median(f"int {n}"), results.median(f"numpy {n}")
            yield f"{n:,}", number(ours), number(theirs), number(results.ratio(f"numpy {n}", f"int {n}"))

    return table(("draws in the array", "Lapwing, ns per draw", "NumPy", "× NumPy's speed"), lines())


def peer_table(results: Results, states: dict[str, str]) -> str:
    """Return the peers' lines, and how many times quicker Lapwing is in arrays and one by one."""

    def lines() -> Iterable[Sequence[str]]:
        for row in results.of("peer"):
            array, one = ("int", "one") if row.kind == "int" else ("float", "one float")
            times = number(results.best(row.key)), number(results.median(row.key))
            against = number(results.ratio(row.key, array)), number(results.ratio(row.key, one))
            yield row.what, f"{row.draws * row.calls:,}", *times, *against
        for peer in PEERS:
            state = states.get(peer.key, "left out")
            if not any(row.note == peer.key for row in results.of("peer")):
                yield f"{peer.name}: {state}", "", "", "", "", ""

    head = (
        "peer",
        "draws",
        "ns per draw, best",
        "median",
        "Lapwing's array is × quicker",
        "its single call is × quicker",
    )
    return table(head, lines())


def memory_table(found: dict[str, tuple[int, int]], size: int) -> str:
    """Return the peak memory beyond the output."""
    lines = (
        (what, number(output / 1e6), number(extra / 1e6), number(extra / size))
        for what, (output, extra) in found.items()
    )
    return table(("n draws", "output, MB", "peak beyond it, MB", "bytes per draw"), lines)


def promises(results: Results) -> str:
    """Return each promised ratio with its measured value and whether it is met."""
    wanted = (
        ("integers against NumPy", "numpy", "int", "≥", 1.0),
        ("integers against OpenDP's integer vector", "opendp int_vector", "int", "≥", 500.0),
        ("floats against integers", "float", "int", "≤", 3.0),
        ("two threads against one", "int", "int2", "≥", 1.6),
    )

    def lines() -> Iterable[Sequence[str]]:
        for what, above, below, relation, bound in wanted:
            ratio, reach = results.ratio(above, below), results.ratio_range(above, below)
            across = f"{number(reach[0])} … {number(reach[1])}" if reach else ""
            yield what, f"{relation} {bound:g}", number(ratio), across, verdict(ratio, relation, bound)

    return table(("ratio of medians", "wanted", "measured", "single rounds", "met"), lines())


def verdict(ratio: float | None, relation: str, bound: float) -> str:
    """Say whether a promise is met."""
    if ratio is None:
        return "not measured"
    return "yes" if (ratio >= bound if relation == "≥" else ratio <= bound) else "**no**"


def losses(results: Results, memory_found: dict[str, tuple[int, int]], size: int) -> str:
    """Return every measured comparison in which Lapwing is the slower or the larger one."""
    lost = []
    for ours, theirs in contests(results):
        ratio = results.ratio(ours.key, theirs.key)
        if ratio is not None and ratio > 1:
            times = number(results.median(ours.key)), number(results.median(theirs.key))
            lost.append((ratio, f"{ours.what}: {times[0]} ns per draw; {theirs.what}: {times[1]}"))
    lines = [f"- {number(ratio)} × the time: {text}." for ratio, text in sorted(lost, reverse=True)]
    plain = memory_found["NumPy `Generator.laplace`"][1]
    for what, (_, extra) in memory_found.items():
        if extra > 2 * plain and extra > size // 10:
            lines.append(f"- Memory: {what} needs {number(extra / size)} bytes per draw beyond its output.")
    quicker = [n for n in SWEEP if (results.ratio(f"numpy {n}", f"int {n}") or 0) >= 1]
    if quicker:
        lines.append(f"- Of the array sizes measured, {min(quicker):,} is the smallest at which Lapwing is faster.")
    else:
        lines.append("- At none of the array sizes measured is Lapwing quicker.")
    return "\n".join(lines)


def contests(results: Results) -> Iterable[tuple[Row, Row]]:
    """Return the pairs that do the same job: Lapwing's row and the other's."""
    arrays, ones, sweep = results.of("array"), results.of("one"), results.of("sweep")
    vectors = [row for row in results.of("peer") if row.draws > 1]
    singles = [row for row in results.of("peer") if row.draws == 1]
    for rows, others in ((arrays, vectors), (ones, singles)):
        ours = [row for row in rows if row.kind != "any"]
        theirs = [row for row in rows if row.kind == "any"] + others
        yield from ((a, b) for a in ours for b in theirs if b.kind in ("any", a.kind))
    yield from zip(sweep[::2], sweep[1::2], strict=True)


def report(
    results: Results, states: dict[str, str], memory_found: dict[str, tuple[int, int]], rounds: int, elsewhere: str
) -> str:
    """Return the whole section of the page."""
    size = results.rows["int"].draws
    control = number(results.ratio("log", "log2"))
    parts = [
        "## Noise",
        facts(results, states, rounds, elsewhere),
        "### What is promised",
        promises(results),
        f"Control for the threads: `np.log` alone is {control} times as fast in two threads as in one.",
        "### Arrays",
        array_table(results),
        "The limits: each is the cost of one ingredient alone. NumPy's floats are not private: its generator can be "
        "predicted, and its floating-point noise can reveal the value.",
        "### Single calls",
        one_table(results),
        "### Small arrays",
        sweep_table(results),
        "### Peers",
        peer_table(results, states),
        f"All draw noise of scale {SCALE}, each from its own environment. A loop is compared with Lapwing's array as "
        "well, since those libraries have no other way to draw many.",
        "### Memory",
        memory_table(memory_found, size),
        "What Python and NumPy allocate (`tracemalloc`); the input is not counted.",
        "### Where Lapwing loses",
        losses(results, memory_found, size),
    ]
    return "\n\n".join(parts)


def main() -> int:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, no peers, write nothing: to try it out")
    parser.add_argument("--no-peers", action="store_true", help="leave the other libraries out")
    parser.add_argument("--rounds", type=int, default=11, help="how often everything is measured (default 11)")
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error("--rounds must be at least 1")
    size, calls, rounds = (200_000, 500, 3) if asked.quick else (4_000_000, 20_000, asked.rounds)

    results = Results()
    measures = own_measures(results, size, calls) + limit_measures(results, size)
    running, states = ([], {}) if asked.quick or asked.no_peers else start_peers(results)
    before = busy_seconds()
    try:
        run_rounds(measures + [process.measure for process in running], results, rounds)
    finally:
        for process in running:
            process.close()
    elsewhere = used_elsewhere(before)
    step("memory")
    text = report(results, states, memory(size), rounds, elsewhere)
    print(f"\n{text}\n")
    if not asked.quick:
        replace_section(PAGE, "noise", text)
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
