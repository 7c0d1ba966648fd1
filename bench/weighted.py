"""How accurate a weighted mean is at equal ε: one measurement against two sums, by mean squared error.

    python bench/weighted.py [--draws 20000]

Drawn with the exact sampler: cells above and below with noise of scale W·M/ε (claim W1), against a centred numerator
and a denominator, and against two plain sums, with ε/2 each.
"""

from __future__ import annotations

import argparse

import numpy as np

import lapwing as lw

MOST, STEPS, EPSILON = 1000, 2**20, 1
"""The largest weight W, the steps M of the value's range, and ε."""


def errors(share: float, weights: int, draws: int) -> tuple[float, float, float]:
    """Return the mean squared errors of the weighted mean, as a share of its range, by the three ways."""

    def noise(scale: float) -> np.ndarray:
        return lw.discrete_laplace(int(scale), draws).astype(float)

    above, below = share * weights * STEPS, (1 - share) * weights * STEPS
    a, b = above + noise(MOST * STEPS / EPSILON), below + noise(MOST * STEPS / EPSILON)
    ours = a / (a + b)
    denominator = weights + noise(2 * MOST / EPSILON)
    centred = 0.5 + ((share - 0.5) * weights * STEPS + noise(MOST * STEPS / EPSILON)) / STEPS / denominator
    plain = (share * weights * STEPS + noise(2 * MOST * STEPS / EPSILON)) / STEPS / denominator
    found = [float(np.mean((each - share) ** 2)) for each in (ours, centred, plain)]
    return found[0], found[1], found[2]


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=20_000)
    draws = parser.parse_args().draws
    print("share  Σw/W   centred/ours   plain/ours")
    for share in (0.1, 0.35, 0.5, 0.8):
        for rows in (100, 1000, 10_000):
            ours, centred, plain = errors(share, rows * MOST, draws)
            print(f"{share:5}  {rows:6}  {centred / ours:10.2f}  {plain / ours:12.2f}")


if __name__ == "__main__":
    main()
