"""Compare cumulative counts from a tree of noisy counts with those from a flat histogram, at equal ε.

The variances follow from the trees alone (claim D2): noise of scale h/ε in each cell, real Laplace noise of variance
2h²/ε².  A few of them are measured as well, with exact integer noise.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from statistics import median

import numpy as np
from page import PAGE, ROOT, machine, number, replace_section, step, table
from simulation import Floats

import lapwing as lw
from lapwing.measure.tree import Tree, make_tree

BINS = (16, 32, 50, 64, 256, 1024, 4096)
WANTED = {64: 35.0, 256: 71.0, 1024: 121.0}
HEAD = (
    "bins", "branching", "levels", "cells", "flat, average", "tree, average", "flat over tree",
    "flat, worst", "tree, worst", "flat, one bin", "tree, one bin",
)  # fmt: skip
EPSILONS = ("0.1", "0.5", "1", "2", "3")
SEEN = (50, 256, 1024)
RELEASES = 20_000
AT_ONCE = 1_000


@dataclass(frozen=True)
class Line:
    """The variances of one number of bins at ε = 1, from the flat histogram and from the tree."""

    tree: Tree
    flat: float
    average: float
    worst: float
    single: float


# ── by the claim ─────────────────────────────────────────────────────────────────────────────────────────────


def compare(bins: int) -> Line:
    """Return the variances of cumulative counts and of single bins."""
    tree = make_tree(bins)
    flat = Tree(bins, bins, 1)
    noise = 2 * tree.levels**2
    ends = np.arange(bins)
    prefixes = squares(tree, lambda which: ends[:, None] < which + 1)
    singles = squares(tree, lambda which: ends[:, None] == which)
    return Line(
        tree,
        2 * flat.prefix_variance,
        noise * tree.prefix_variance,
        noise * float(prefixes.max()),
        noise * float(singles.mean()),
    )


def squares(tree: Tree, combinations: Callable[[Floats], Floats]) -> Floats:
    """Return the sum of squared weights of each combination of bins."""
    parts = np.array_split(np.arange(tree.bins), -(-tree.bins // AT_ONCE))
    return np.concatenate([(tree.weights(combinations(part)) ** 2).sum(axis=0) for part in parts])


def first_win(epsilon: Fraction | None = None) -> int:
    """Return from how many bins on the tree is better than the flat histogram; with an ε, for integer noise."""

    def variance(tree: Tree) -> float:
        noise = 2.0 * tree.levels**2 if epsilon is None else lw.DiscreteLaplace(tree.levels / epsilon).variance
        return noise * tree.prefix_variance

    flat = [bins for bins in range(1, 513) if variance(make_tree(bins)) >= variance(Tree(bins, bins, 1))]
    return flat[-1] + 1


# ── by drawing noise ─────────────────────────────────────────────────────────────────────────────────────────


def measure(bins: int) -> tuple[float, float]:
    """Return the mean squared error of the cumulative counts, and how often 95 % bars at all edges hold, in percent."""
    tree = make_tree(bins)
    margins = tree.prefix_margins(range(1, bins + 1), tree.mass)
    square, held = 0.0, 0.0
    for _ in range(RELEASES // AT_ONCE):
        noise = lw.discrete_laplace(tree.mass, size=(tree.size, AT_ONCE))
        off = np.cumsum(tree.consistent(noise), axis=0)
        square += float((off**2).mean())
        held += float((np.abs(off) <= margins[:, None]).mean())
    return square * AT_ONCE / RELEASES, 100 * held * AT_ONCE / RELEASES


def seconds(bins: int) -> float:
    """Return how long the margins of all cumulative counts take."""
    tree = make_tree(bins)
    took = []
    for _ in range(5):
        before = time.perf_counter()
        tree.prefix_margins(range(1, bins + 1), tree.mass)
        took.append(time.perf_counter() - before)
    return median(took)


def main() -> int:
    """Compute, measure, print, and write the page."""
    lines = []
    for bins in BINS:
        step(f"{bins} bins")
        lines.append(compare(bins))
    firsts = [f"{first_win(Fraction(each))} at ε = {each}" for each in EPSILONS]
    average = {line.tree.bins: line.average for line in lines}
    met = all(average[bins] <= most for bins, most in WANTED.items())
    wanted = ", ".join(f"{most:.0f} for {bins:,} bins" for bins, most in WANTED.items())
    step("noise")
    seen = [(bins, average[bins], *measure(bins), seconds(bins)) for bins in SEEN]
    text = "\n\n".join(
        [
            "## Cumulative counts",
            "\n".join(
                f"- {name}: {value}"
                for name, value in [
                    ("command", "`python bench/tree.py`"),
                    ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
                    *(fact for fact in machine() if fact[0] in ("processor", "Python", "packages")),
                    ("releases", f"{RELEASES:,} of each that is measured"),
                ]
            ),
            "Variances at ε = 1 when one row more or less is protected, from the flat histogram of noisy bins (noise "
            "of scale 1) and from the tree that `make_tree` picks (scale h for h levels, least squares; claim D2), "
            "with the variance 2h² of real noise. *Average* and *worst* are over all cumulative counts, *one bin* "
            "is the count of a single bin, on average: there the flat histogram is always better.",
            f"A tree of more than one level is chosen for {first_win()} bins or more. With integer noise, whose "
            "variance is below 2h²/ε² when the scale is small, it is better than the flat histogram with at least this "
            "many bins: "
            f"{', '.join(firsts)}.",
            f"Wanted: on average at most {wanted}; {'met' if met else '**not met**'}.",
            table(
                HEAD,
                [
                    [
                        f"{line.tree.bins:,}",
                        str(line.tree.branching),
                        str(line.tree.levels),
                        f"{line.tree.size:,}",
                        number(line.flat),
                        number(line.average),
                        number(line.flat / line.average),
                        f"{2 * line.tree.bins:,}",
                        number(line.worst),
                        "2.00",
                        number(line.single),
                    ]
                    for line in lines
                ],
            ),
            "### With exact integer noise",
            "The mean squared error of all cumulative counts at ε = 1 (standard error about 1 %), how often their 95 % "
            "bars hold (claim D3), on average over the edges, and how long all margins take, the median of five times.",
            table(
                ["bins", "average variance, real noise", "mean squared error", "bars hold, %", "all margins, s"],
                [
                    [f"{bins:,}", number(real), number(found), f"{held:.2f}", number(took)]
                    for bins, real, found, held, took in seen
                ],
            ),
        ]
    )
    print(f"\n{text}\n")
    replace_section(PAGE, "tree", text)
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
