"""How accurate tables that add up are at ε = 1, and how long the plan, the reconstruction and the rounding take.

    python bench/tables.py

The deviations follow from the strategies alone (claim U2), with real Laplace noise of variance 2/ε² in each measured
cell.  "By itself" is each table measured with an equal share of ε.  The largest workload is reconstructed from random
integers; memory is the most that the process has used so far.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

import numpy as np
from page import PAGE, machine, replace_section, step, table

from lapwing.measure import hierarchy
from lapwing.measure.adding_up import add_up, grid
from lapwing.measure.tables import Axes, draws, reconstruct, table_variances
from lapwing.noise.weighted import EqualDraws, margin_of
from lapwing.plan.strategy import Strategy, choose

LARGE = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
WORKLOADS = (
    ("2 × 17 × 4, all", (2, 17, 4), 3),
    ("2 × 5 × 17 × 4, all", (2, 5, 17, 4), 4),
    ("100 × 50 × 7 × 4 × 2, up to 3", (100, 50, 7, 4, 2), 3),
    ("10 × 9 × 8 × 7 × 6 × 5 × 4, up to 3", (10, 9, 8, 7, 6, 5, 4), 3),
    ("3143 × 18 × 2, all", (3143, 18, 2), 3),
    ("12 columns of 3 keys, up to 2", (3,) * 12, 2),
    ("14 columns, up to 3", LARGE, 3),
)
COUNTIES, REGIONS = 3143, 51
T = TypeVar("T")


def main() -> int:
    """Compute, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="write no page")
    options = parser.parse_args()
    lines = []
    for name, shape, ways in WORKLOADS:
        step(name)
        asked = [axes for size in range(ways + 1) for axes in combinations(range(len(shape)), size)]
        for objective in ("mean", "minimax", "cells"):
            seconds, strategy = timed(lambda shape=shape, asked=asked, to=objective: choose(shape, asked, objective=to))
            found = table_variances(shape, strategy.variances(), asked)
            lines.append(line(name, objective, strategy, [found[each] for each in asked], seconds))
    step("counties within regions")
    levels, note = counties()
    step("the largest workload")
    head = ("workload", "objective", "tables", "by itself", "rms", "worst", "measured", "plan, s")
    facts = [("command", "`python bench/tables.py`"), ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"), *machine()]
    text = "\n\n".join(
        [
            "## Tables that add up",
            "\n".join(f"- {name}: {value}" for name, value in facts),
            "Standard deviations of cells at ε = 1 for all tables together, one row protected: root mean square over "
            "tables (*rms*) and of the worst table. *By itself*: each table asked alone, with an equal share of ε. "
            "*Measured*: how many tables get noise; all others follow. Seconds are of one core.",
            table(head, [*lines, *levels]),
            note,
            large(),
        ]
    )
    print(f"\n{text}\n")
    if not options.dry:
        replace_section(PAGE, "tables", text)
    return 0


def counties() -> tuple[list[list[str]], str]:
    """Return the figures of a hierarchy times two other columns."""
    rng = np.random.default_rng(1)
    within = np.sort(np.concatenate([np.arange(REGIONS), rng.integers(0, REGIONS, COUNTIES - REGIONS)]))
    chain = hierarchy.Chain((0, 1), (tuple(within.tolist()),))
    shape, lines = (REGIONS, COUNTIES, 18, 2), []
    asked = [chain.table(level, others) for level in range(3) for others in ((), (2,), (3,), (2, 3))]
    for objective in ("mean", "minimax"):
        seconds, strategy = timed(lambda to=objective: choose(shape, asked, objective=to, chain=chain))
        spreads = [hierarchy.variance(shape, chain, strategy.variances(), each) for each in asked]
        means = [float(each.mean()) for each in spreads]
        lines.append(line("region > county, × 18 × 2, all", objective, strategy, means, seconds))
    noisy = integers(shape, strategy.measured)
    seconds, found = timed(lambda: hierarchy.reconstruct(shape, chain, noisy, strategy.variances(), asked))
    adding = timed(lambda: add_up(found, 1.0, chain))[0]
    told = f"{COUNTIES:,} counties in {REGIONS} regions: reconstruction {seconds:.2f} s, adding up {adding:.2f} s."
    return lines, told


def large() -> str:
    """Return what the largest workload takes."""
    asked = [axes for size in range(4) for axes in combinations(range(len(LARGE)), size)]
    strategy = choose(LARGE, asked)
    variances = strategy.variances()
    noisy = integers(LARGE, strategy.measured)
    seconds, found = timed(lambda: reconstruct(LARGE, noisy, variances, asked))
    count = sum(cells.size for cells in found.values())
    spreads = table_variances(LARGE, variances, asked)
    finest = grid({each: math.sqrt(spread) for each, spread in spreads.items()})
    adding = timed(lambda: add_up(found, finest))[0]
    scales = dict(zip(strategy.measured, (1 / share for share in strategy.shares), strict=True))

    def margins() -> list[float]:
        return [
            margin_of([EqualDraws(each.weight, scales[each.table], each.times) for each in cells], Fraction(19, 20))
            for cells in (draws(LARGE, variances, each) for each in asked)
        ]

    barred, bars = timed(margins)
    ratios = [bar / math.sqrt(spreads[each]) for each, bar in zip(asked, bars, strict=True)]
    return (
        f"14 columns, {len(asked)} tables, {count:,} cells: reconstruction {seconds:.2f} s, adding up {adding:.2f} s, "
        f"95 % margins of all tables {barred:.1f} s ({min(ratios):.2f} to {max(ratios):.2f} deviations), "
        f"{used():.2f} GB of memory at most."
    )


def line(name: str, objective: str, strategy: Strategy, spreads: list[float], seconds: float) -> list[str]:
    """Return the deviations of one workload."""
    alone = len(spreads) * math.sqrt(2)
    mean, worst = math.sqrt(sum(spreads) / len(spreads)), math.sqrt(max(spreads))
    figures = f"{alone:.1f}", f"{mean:.2f}", f"{worst:.2f}", str(len(strategy.measured)), f"{seconds:.2f}"
    return [name, objective, str(len(spreads)), *figures]


def integers(shape: tuple[int, ...], tables: tuple[Axes, ...]) -> dict[Axes, np.ndarray]:
    """Return random integers in the shape of each table."""
    rng = np.random.default_rng(2)
    return {table: rng.integers(-1000, 1000, [shape[i] for i in table]) for table in tables}


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds of one core that some work took, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def used() -> float:
    """Return the most memory that was in use, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 10**6


if __name__ == "__main__":
    sys.exit(main())
