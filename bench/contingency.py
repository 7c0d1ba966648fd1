"""Compare tables with margins to OpenDP's contingency tables: the same data, the same ε, the same run.

The data are not part of the repository: give the path of `adult_binned.csv`, the Adult data of the UCI Machine Learning
Repository with every column recoded to 0, 1, 2 …, with `adult_binned_domain.json` beside it, which names the number of
keys of each column.  OpenDP runs in an environment of its own (bench/peers_contingency.py); `--opendp FILE` takes its
releases from a file that was written with it before.

Errors are root mean squares over the runs, over all cells and over all tables (each table counts alike).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from noise import Peer, PeerProcess, install
from page import PAGE, busy_seconds, machine, number, replace_section, step, table, used_elsewhere
from peers_contingency import CASES, asked, counted, known, read, squares

import lapwing as lw
from lapwing.measure.nonnegative import view
from lapwing.measure.tables import Axes, reconstruct
from lapwing.plan.strategy import choose

OPENDP = Peer("opendp-mbi", "OpenDP", (("opendp[mbi]==0.16.0",),))
OBJECTIVES = {"mean": "equal tables", "cells": "equal cells"}
MEASURED = {"asked": "all tables asked", "pairs": "tables of two columns"}
MANY = (
    "age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "capital-gain",
    "hours-per-week", "native-country", "income>50K",
)  # fmt: skip

Measured = dict[str, list[float]]


def noisy_tables(
    rows: Any, shape: tuple[int, ...], shares: dict[Axes, Fraction]
) -> tuple[dict[Axes, Any], dict[Axes, float]]:
    """Return the measured tables with noise for ε = 1 in all, and their variances."""
    noisy, variances = {}, {}
    for axes, share in shares.items():
        exact = counted(rows, shape, axes)
        noisy[axes] = exact + lw.discrete_laplace(1 / share, exact.size).reshape(exact.shape)
        variances[axes] = float(lw.DiscreteLaplace(1 / share).variance)
    return noisy, variances


def run_once(rows: Any, shape: tuple[int, ...], shares: dict[Axes, Fraction]) -> dict[str, float]:
    """Return the squared errors and the seconds of the unbiased tables and of the view."""
    wanted = asked(len(shape))
    start = time.perf_counter()
    noisy, variances = noisy_tables(rows, shape, shares)
    unbiased = reconstruct(shape, noisy, variances, wanted)
    between = time.perf_counter()
    found = view(shape, noisy, variances, wanted)
    plain = found.tables()
    after = time.perf_counter()
    rounded = found.tables(rounded=True)
    end = time.perf_counter()
    answer = {"unbiased seconds": between - start, "view seconds": after - start, "rounded seconds": end - start}
    for name, tables in (("unbiased", unbiased), ("view", plain), ("rounded", rounded)):
        answer[f"{name} cells"], answer[f"{name} tables"] = squares(tables, rows, shape)
    return answer


def compare(
    data: Path, runs: int, peer: PeerProcess | None, releases: list[dict[str, Any]]
) -> tuple[dict[tuple[str, str], Measured], dict[str, float]]:
    """Return what was measured for each case and way, and the seconds of each plan."""
    tables = {case: read(data, columns) for case, columns in CASES.items()}
    plans, seconds = {}, {}
    for case, (_, shape) in tables.items():
        for objective in OBJECTIVES:
            start = time.perf_counter()
            strategy = choose(shape, asked(len(shape)), objective=objective)
            seconds[f"{case}, {OBJECTIVES[objective]}"] = time.perf_counter() - start
            plans[case, objective] = dict(zip(strategy.measured, strategy.shares, strict=True))
    found: dict[tuple[str, str], Measured] = defaultdict(lambda: defaultdict(list))
    for run in range(runs):
        step(f"run {run + 1} of {runs}")
        for (case, objective), shares in plans.items():
            for key, value in run_once(*tables[case], shares).items():
                way, what = key.split()
                found[case, f"Lapwing, {way}, {OBJECTIVES[objective]}"][what].append(value)
        for key, value in (peer.measure() if peer else {}).items():
            _, case, way, what = key.split()
            found[case, f"OpenDP, Fixed, measures {MEASURED[way]}"][what].append(value)
    for each in sorted(releases, key=lambda each: each["way"]):
        for what in ("cells", "tables", "seconds"):
            found[each["case"], f"OpenDP, Fixed, measures {MEASURED[each['way']]}"][what].append(each[what])
    return found, seconds


def lines(found: dict[tuple[str, str], Measured], case: str) -> list[list[str]]:
    """Return the table of one case."""
    shown = []
    for (own, way), measured in found.items():
        if own == case and measured["cells"]:
            over = [number(math.sqrt(sum(measured[what]) / len(measured[what]))) for what in ("cells", "tables")]
            shown.append([way, str(len(measured["cells"])), *over, number(median(measured["seconds"]))])
    return shown


def fewer(found: dict[tuple[str, str], Measured], runs: int) -> str:
    """Return why OpenDP has fewer runs than asked for, if it has."""
    counts = sorted({len(measured["cells"]) for (_, way), measured in found.items() if way.startswith("OpenDP")})
    if not counts or counts[0] >= runs:
        return ""
    return (
        f" OpenDP has {' or '.join(map(str, counts))} runs of {runs}: its releases take half a minute each and were "
        "made before the rest, and these are all that were finished then."
    )


def many_columns(data: Path) -> str:
    """Answer all tables of one and two of twelve columns, which have no joint table that fits in memory."""
    rows, shape = read(data, MANY)
    start = time.perf_counter()
    strategy = choose(shape, asked(len(shape)))
    planned = time.perf_counter() - start
    found = run_once(rows, shape, dict(zip(strategy.measured, strategy.shares, strict=True)))
    shown = []
    for name in ("unbiased", "view", "rounded"):
        over = [number(math.sqrt(found[f"{name} {what}"])) for what in ("cells", "tables")]
        shown.append([name, *over, number(found[f"{name} seconds"])])
    head = ("tables", "error over cells", "error over tables", "seconds")
    return f"The plan took {number(planned)} s.\n\n{table(head, shown)}"


def peer_line(peer: PeerProcess | None, releases: list[dict[str, Any]]) -> str:
    """Return which OpenDP was measured, and when."""
    if releases:
        return f"OpenDP {OPENDP.attempts[0][0].partition('==')[2]}, released on this machine before the rest"
    return f"OpenDP {peer.hello.get('version', 'could not be run')}" if peer else "left out"


def main() -> int:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the path of adult_binned.csv")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--opendp", type=Path, help="take OpenDP's releases from this file")
    parser.add_argument("--no-peers", action="store_true", help="leave OpenDP out")
    parser.add_argument("--dry", action="store_true", help="write no page")
    options = parser.parse_args()
    releases = known(options.opendp) if options.opendp else []
    python = None if options.no_peers or releases else install(OPENDP)
    peer = PeerProcess(OPENDP, python, "peers_contingency.py", str(options.data.resolve())) if python else None
    before = busy_seconds()
    found, seconds = compare(options.data, options.runs, peer, releases)
    if peer:
        peer.close()
    head = ("tables", "runs", "error over cells", "error over tables", "seconds, median")
    facts = [
        (
            "command",
            f"`python bench/contingency.py adult_binned.csv --runs {options.runs}{' --opendp FILE' * bool(releases)}`",
        ),
        ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
        *machine(),
        ("peer", peer_line(peer, releases)),
        ("plans", ", ".join(f"{name}: {number(each)} s" for name, each in seconds.items())),
        ("background load", f"other processes used {used_elsewhere(before)}"),
    ]
    text = "\n\n".join(
        [
            "## Tables with margins, beside OpenDP",
            "\n".join(f"- {name}: {value}" for name, value in facts),
            "All tables of one and of two columns of the Adult data, 48,842 rows, ε = 1 in all, one row protected. "
            "Errors are root mean squares. *View* is without negative numbers; *rounded* is the view in whole numbers. "
            "OpenDP's seconds are those of one release; Lapwing's are without the plan. "
            "OpenDP's algorithm is Fixed, with the measured tables as named and equal shares of ε."
            + fewer(found, options.runs),
            *(
                f"### {case.capitalize()}: {', '.join(columns)}\n\n{table(head, lines(found, case))}"
                for case, columns in CASES.items()
            ),
            f"### Twelve columns\n\nAll tables of one and of two of the columns {', '.join(MANY)}.",
            many_columns(options.data),
        ]
    )  # fmt: skip
    print(f"\n{text}\n")
    if not options.dry:
        replace_section(PAGE, "contingency", text)
    return 0


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    sys.exit(main())
