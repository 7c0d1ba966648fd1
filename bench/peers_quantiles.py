"""Measure the quantiles of one peer library; run by bench/quantiles.py with that peer's own environment.

Called with the peer; prints one JSON object: its version, what was called, the mean |rank error| of every number of
rows and of quantiles with its number of runs, and for a library that has error bars how often they hold and how many
rows are in them; or {"error": …}.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from peers import say

EPSILON = 1.0
HIGH = 200_000
CANDIDATES = 20_001  # OpenDP wants a list: every tenth of the range 0 to 200,000
SIZES = (1_000, 10_000)
BAR_SIZES = (200, 1_000, 10_000)
QUANTILES = (1, 3, 9, 19, 49, 99)
MOST_RUNS, LEAST_RUNS, BAR_RUNS = 500, 10, 500
CONFIDENCE = 0.95
SEED = 3

Values = Any  # arrays of floats
Run = Callable[[Values], Values]


def incomes(n: int, runs: int, draws: np.random.Generator) -> Values:
    """Return incomes in rising order, one row for each run."""
    return np.sort(draws.lognormal(math.log(30_000), 0.8, (runs, n)).clip(0, HIGH), axis=1)


def levels(m: int) -> list[float]:
    """Return m evenly spaced quantiles."""
    return [(i + 1) / (m + 1) for i in range(m)]


def opendp(m: int) -> Run:
    """Return OpenDP's quantiles at ε/m each; a scale is taken only if its own map says that it costs no more."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    candidates = np.linspace(0, HIGH, CANDIDATES).tolist()
    made = []
    for level in levels(m):
        scale = 2 * max(level, 1 - level) * m / EPSILON * (1 + 1e-9)
        one = dp.m.make_private_quantile(*space, dp.max_divergence(), candidates, level, scale)
        if not 0.999 * EPSILON / m < one.map(1) <= EPSILON / m:
            raise RuntimeError("not the ε that was asked for")
        made.append(one)
    return lambda rows: [one(rows) for one in made]


def diffprivlib(m: int) -> Run:
    """Return diffprivlib's quantiles, which divides ε among them by itself."""
    from diffprivlib.tools import quantile

    asked = levels(m) if m > 1 else levels(m)[0]
    return lambda rows: np.ravel(quantile(rows, asked, epsilon=EPSILON, bounds=(0, HIGH)))


def pydp(m: int) -> Run:
    """Return PyDP's quantiles, from its tree with 16 branches and four levels."""
    return lambda rows: _tree(rows).compute_quantiles(EPSILON, 0.0, 1, 1, levels(m), "laplace")


def _tree(rows: Values) -> Any:
    from pydp.algorithms.quantile_tree import QuantileTree

    tree = QuantileTree(0, HIGH, 4, 16)
    for row in rows.tolist():
        tree.add_entry(row)
    return tree


PEERS = {
    "table-opendp": ("opendp", opendp, f"`make_private_quantile`, {CANDIDATES:,} candidates, ε/m each"),
    "table-diffprivlib": ("diffprivlib", diffprivlib, "`tools.quantile`"),
    "table-pydp": ("python-dp", pydp, "`QuantileTree`, 16 branches, four levels"),
}


def rank_error(make: Callable[[int], Run], n: int, m: int, draws: np.random.Generator) -> tuple[float, int]:
    """Return the mean |rank error|, and the number of runs."""
    runs = max(LEAST_RUNS, min(MOST_RUNS, 3_000_000 // (n * m)))
    found, off = make(m), 0.0
    for rows in incomes(n, runs, draws):
        below = np.searchsorted(rows, found(rows))
        off += float(np.abs(below - n * np.array(levels(m))).mean())
    return off / runs, runs


def pydp_bars(n: int, level: float, draws: np.random.Generator) -> tuple[float, float]:
    """Return how often PyDP's bars hold the quantile, in percent, and the median number of rows in them."""
    held, inside = 0, []
    for rows in incomes(n, BAR_RUNS, draws):
        asked = EPSILON, 0.0, 1, 1, [level], CONFIDENCE, "laplace"
        (bar,) = _tree(rows).compute_quantiles_and_confidence_intervals(*asked)
        held += bool(bar.lower_bound <= rows[math.ceil(level * n) - 1] <= bar.upper_bound)
        inside.append(int(((rows >= bar.lower_bound) & (rows <= bar.upper_bound)).sum()))
    return 100 * held / BAR_RUNS, float(np.median(inside))


def main() -> int:
    """Measure, and say it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=sorted(PEERS), help="the library to measure")
    asked = parser.parse_args().peer
    package, make, what = PEERS[asked]
    draws = np.random.default_rng(SEED)
    try:
        errors = {f"{n} {m}": rank_error(make, n, m, draws) for n in SIZES for m in QUANTILES}
        bars = {}
        if asked == "table-pydp":
            bars = {f"{n} {level}": pydp_bars(n, level, draws) for n in BAR_SIZES for level in (0.5, 0.9)}
    except Exception as error:  # whatever a peer raises is reported, so that the other measures go on
        say({"error": f"{type(error).__name__}: {error}"})
        return 1
    say({"version": version(package), "what": what, "errors": errors, "bars": bars})
    return 0


if __name__ == "__main__":
    sys.exit(main())
