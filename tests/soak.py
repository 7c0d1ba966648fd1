"""make soak: repeat the tests that draw at random, to find failures that a single run rarely shows.

What `make test` tries is the same each time, but for the noise; here, every run of a test tries other examples.

Every test of tests/chance.py, and every test whose examples hypothesis generates, is run once, and timed.  Then all are
repeated, several rounds in each run of pytest and several runs at a time, until all rounds are done or the time is
over.  A slow test is repeated less often, so that no test takes more time than another; which tests, and how often, is
printed.

As a plugin of pytest it repeats tests, and records the outcome of each.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import click

from .chance import CHANCES
from .drawn import SEARCH, SEEN, test_of

REPOSITORY = Path(__file__).parent.parent
OUTCOMES, TIMES = "LAPWING_SOAK", "LAPWING_SOAK_TIMES"
"""The variables that name the file to which the plugin writes, and how often each test is run, as JSON."""

_TOGETHER = 10
"""The rounds of one run of pytest: starting it takes as long as many tests."""

_NAMED = 20
"""How many of the tests that are repeated less often are named."""

_NONE_COLLECTED = 5
_running: set[subprocess.Popen[str]] = set()


def pytest_collection_modifyitems(items):
    """Repeat tests, one round after the other; as a plugin of pytest."""
    times = json.loads(os.environ[TIMES])
    found = []
    for number in range(max(times.values())):
        for item in items:
            if number < times[test_of(item.nodeid)]:
                found.append(copy.copy(item))
                found[-1]._initrequest()  # with new fixtures
    items[:] = found


def pytest_runtest_logreport(report):
    """Record a step of a test; as a plugin of pytest."""
    step = {"test": test_of(report.nodeid), "id": report.nodeid, "seconds": report.duration, "when": report.when}
    step |= {"outcome": report.outcome, "text": report.longreprtext if report.failed else ""}
    with Path(os.environ[OUTCOMES]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(step) + "\n")


@dataclass
class Tally:
    """The results so far: the runs, seconds and failures of each test."""

    runs: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    took: float = 0.0
    broken: list[str] = field(default_factory=list)

    def add(self, step: dict) -> None:
        """Count a step of a test; with parameters, each of them is a run.

        Fixtures shared by many tests count for none of them, except engines, which take long to start.
        """
        self.seconds[step["test"]] += step["seconds"] * (step["when"] == "call" or "/engines/" in step["test"])
        self.runs[step["test"]] += step["when"] == "call"
        self.skipped[step["test"]] += step["outcome"] == "skipped"
        if step["outcome"] == "failed":
            self.failures[step["test"]] += 1
            say(f"FAILED {step['id']} ({step['when']})\n{step['text'][-3000:]}")


def end(*_: object) -> NoReturn:
    """Interrupt every process that was started, as from the keyboard, so that it can clean up."""
    say("ended from outside, before it was done")
    for process in list(_running):
        process.send_signal(signal.SIGINT)
    sys.exit(128 + signal.SIGTERM)


def say(text: str) -> None:
    click.echo(f"soak: {text}")


def run(times: dict[str, int], folder: Path) -> tuple[list[dict], float, str]:
    """Run tests this many times, in their own process; return outcomes, the seconds it took, and what went wrong."""
    with tempfile.NamedTemporaryFile(dir=folder) as outcomes:
        start = time.monotonic()
        words = ["-m", "pytest", "-q", "-p", "tests.soak", "-p", "no:cacheprovider", "-p", "no:xdist", *times]
        words += ["--basetemp", f"{outcomes.name}.d"]
        env = {**os.environ, OUTCOMES: outcomes.name, TIMES: json.dumps(times), SEEN: str(folder / "drawn"), SEARCH: ""}
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen([sys.executable, *words], cwd=REPOSITORY, env=env, **piped) as process:
            _running.add(process)
            printed = process.communicate()[0]
            _running.discard(process)
        took = time.monotonic() - start
        shutil.rmtree(f"{outcomes.name}.d", ignore_errors=True)
        steps = [json.loads(line) for line in Path(outcomes.name).read_text(encoding="utf-8").splitlines()]
    explained = process.returncode in (0, _NONE_COLLECTED) or any(each["outcome"] == "failed" for each in steps)
    return steps, took, "" if explained else f"pytest ended with {process.returncode}: {printed[-3000:]}"


def generated(repository: Path) -> Iterator[str]:
    """Yield the ids of the tests whose examples hypothesis generates."""
    for path in sorted(repository.glob("tests/**/test_*.py")):
        for each in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(each, ast.FunctionDef) and any(
                isinstance(made, ast.Call) and ast.unparse(made.func) == "given" for made in each.decorator_list
            ):
                yield f"{path.relative_to(repository)}::{each.name}"


def split(times: dict[str, int], seconds: dict[str, float], jobs: int) -> list[dict[str, int]]:
    """Share tests among processes: the longest first, each to the one with the least work; Spark's stay together."""
    groups: dict[str, list[str]] = defaultdict(list)
    for test in times:
        groups["spark" if "test_spark" in test or "test_same_integers" in test else test].append(test)
    found: list[list[str]] = [[] for _ in range(jobs)]
    weights = [0.0] * jobs
    lengths = {name: sum(times[test] * (seconds[test] + 0.01) for test in group) for name, group in groups.items()}
    for name in sorted(groups, key=lambda name: -lengths[name]):
        least = weights.index(min(weights))
        found[least] += groups[name]
        weights[least] += lengths[name]
    return [{test: times[test] for test in sorted(each)} for each in found if each]


def rounds_of(seconds: dict[str, float], rounds: int, budget: float) -> dict[str, int]:
    """Return how often each test is repeated, so that none has more than an equal share of the time."""
    low, high = 0.0, max(budget, 0.0)
    for _ in range(60):
        share = (low + high) / 2
        spent = sum(min(rounds * each, max(share, each)) for each in seconds.values())
        low, high = (share, high) if spent <= budget else (low, share)
    return {test: max(1, min(rounds, int(low / max(each, 1e-9)))) for test, each in seconds.items()}


def turns(times: dict[str, int], rounds: int) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield groups of rounds after the first, and how often each test is run in them, evenly spread."""
    for start in range(1, rounds, _TOGETHER):
        end = min(start + _TOGETHER, rounds)
        due = {test: (end - 1) * own // rounds - (start - 1) * own // rounds for test, own in times.items()}
        yield end, {test: own for test, own in due.items() if own}


@click.command()
@click.option("--rounds", default=200, show_default=True, help="How often each test is run.")
@click.option("--minutes", default=60.0, show_default=True, help="When to end, whatever the round.")
@click.option("--jobs", default=min(os.cpu_count() or 1, 4), show_default=True, help="How many processes at a time.")
@click.option("--only", multiple=True, help="Tests with this text in their id; may be given again.")
@click.option("--without", multiple=True, help="No tests with this text in their id; may be given again.")
def main(rounds: int, minutes: float, jobs: int, only: Sequence[str], without: Sequence[str]) -> None:
    """Run the tests that draw at random repeatedly; end with status 1 if any failed."""
    known = sorted({*CHANCES, *generated(REPOSITORY)})
    tests = [each for each in known if not only or any(text in each for text in only)]
    tests = [each for each in tests if not any(text in each for text in without)]
    if not tests:
        raise click.UsageError("no test has such an id")
    start, tally, done = time.monotonic(), Tally(), 0
    with tempfile.TemporaryDirectory(prefix="lapwing-soak-") as name:
        folder = Path(name)
        say(f"{len(tests)} tests, {rounds} rounds or {minutes:g} minutes, {jobs} at a time")
        some_rounds(dict.fromkeys(tests, 1), dict.fromkeys(tests, 1.0), tally, jobs, folder)
        done, took = 1, time.monotonic() - start
        seconds = {test: float(tally.seconds[test]) for test in tests}
        say(f"the first round took {took:.0f} s; {sum(tally.runs.values()):,} runs of {sum(seconds.values()):.0f} s")
        report_undrawn([each for each in tests if each in CHANCES], tally, folder)
        budget = jobs * 60 * minutes - rounds / _TOGETHER * (tally.took - sum(seconds.values()))
        times = rounds_of(seconds, rounds, budget)
        report_fewer(times, seconds, rounds)
        for number, due in turns(times, rounds):
            if time.monotonic() - start >= 60 * minutes:
                break
            some_rounds(due, seconds, tally, jobs, folder)
            done = number
            say(f"round {done} of {rounds}, {(time.monotonic() - start) / 60:.1f} minutes, {summary(tally)}")
    say(f"{done} rounds of {len(tests)} tests in {(time.monotonic() - start) / 60:.1f} minutes: {summary(tally)}")
    for test, count in tally.failures.most_common():
        say(f"  {test} failed {count:,} times in {tally.runs[test]:,} runs")
    for text in tally.broken:
        say(text)
    sys.exit(1 if tally.failures or tally.broken else 0)


def some_rounds(times: dict[str, int], seconds: dict[str, float], tally: Tally, jobs: int, folder: Path) -> None:
    parts = split(times, seconds, jobs)
    with ThreadPoolExecutor(jobs) as pool:
        for outcomes, took, wrong in pool.map(lambda part: run(part, folder), parts):
            for each in outcomes:
                tally.add(each)
            tally.took += took
            tally.broken += [wrong] if wrong else []


def summary(tally: Tally) -> str:
    return f"{sum(tally.runs.values()):,} runs, {sum(tally.failures.values()):,} failures"


def report_undrawn(tests: Sequence[str], tally: Tally, folder: Path) -> None:
    """Print which tests are in the list and drew nothing: they are skipped here, or need not be in it."""
    drawn = folder / "drawn"
    seen = {line.partition("\t")[0] for line in drawn.read_text().splitlines()} if drawn.exists() else set()
    for test in tests:
        if test not in seen and not tally.failures[test]:
            why = "is skipped here" if tally.skipped[test] else "drew nothing this time"
            say(f"  {test} {why}")


def report_fewer(times: dict[str, int], seconds: dict[str, float], rounds: int) -> None:
    fewer = sorted((test for test, own in times.items() if own < rounds), key=lambda test: times[test])
    if fewer:
        say(f"{len(fewer)} tests take too long for {rounds} rounds in this time, and are repeated less often:")
    for test in fewer[:_NAMED]:
        say(f"  {times[test]:>4} times, {seconds[test]:.1f} s each: {test}")
    if len(fewer) > _NAMED:
        least, most = times[fewer[_NAMED]], times[fewer[-1]]
        say(f"  and {len(fewer) - _NAMED} more, from {least} to {most} times")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    main()
