"""Measure the error of Lapwing's mean and variance beside the usual splits of ε, at equal ε, rows protected.

Lapwing's side is what a release does (bench/simulation.py): plan, engine, exact noise, estimate.  The splits are short
implementations of what the peers do, with NumPy's Laplace noise:

    mid-point split     count at ε/2; Σ(x - mid) at ε/2, sensitivity (U - L)/2; mid + sum/count, cut to [L, U]
    plain split         count at ε/2; Σx at ε/2, sensitivity max(|L|, |U|); sum/count, cut to [L, U]
    three-way split     count, Σ(x - mid) and Σ(x - mid)² at ε/3 each; cut to [0, (U - L)²/4]
    same, centred       as before with Σ((x - mid)² - (U - L)²/8), which halves its sensitivity
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from page import PAGE, ROOT, machine, number, replace_section, step, table
from simulation import DATA, Data, Floats, read, simulate, table_of

import lapwing as lw
from lapwing.plan.planning import make_plan
from lapwing.question.query import Statistic
from lapwing.question.schema import make_schema
from lapwing.question.sql import make_query

REPETITIONS = 100_000
SETS = ("ages", "incomes", "temperature")
SIZES = ((1_000, "1"), (100, "1"), (1_000, "0.1"), (10_000, "0.1"), (100_000, "1"))
WANTED = 1.9
SEED = 1

Peer = Callable[[Data, Floats, float, np.random.Generator], Floats]


@dataclass(frozen=True)
class Line:
    """The mean squared error of every road to one statistic of one data set."""

    data: str
    n: int
    epsilon: str
    truth: float
    errors: dict[str, float]

    def times(self, name: str) -> float:
        """Return another road's mean squared error over Lapwing's."""
        return self.errors[name] / self.errors["Lapwing"]


# ── the roads ────────────────────────────────────────────────────────────────────────────────────────────────


def lapwing(data: Data, values: Floats, epsilon: str, statistic: Statistic) -> Floats:
    """Return what releases of one statistic say."""
    schema = make_schema("people", {"x": data.column}, None, None, "add_remove", None)
    plan = make_plan(schema, make_query([statistic], (), None, schema), epsilon=epsilon)
    (found,) = simulate(plan, read(plan, table_of({"x": values})), REPETITIONS)
    return np.asarray(found.value, dtype=float)


def noisy(value: float, sensitivity: float, epsilon: float, draws: np.random.Generator) -> Floats:
    """Return a number with Laplace noise, many times."""
    return value + draws.laplace(0, sensitivity / epsilon, REPETITIONS)


def ratio(above: Floats, below: Floats) -> Floats:
    """Return a quotient, with a count of at least 1 below."""
    return above / np.maximum(below, 1)


def mid_point_mean(data: Data, values: Floats, epsilon: float, draws: np.random.Generator) -> Floats:
    """Return means by a centred sum and a count."""
    middle, half = (data.low + data.high) / 2, (data.high - data.low) / 2
    total = noisy(float((values - middle).sum()), half, epsilon / 2, draws)
    return np.clip(middle + ratio(total, noisy(len(values), 1, epsilon / 2, draws)), data.low, data.high)


def plain_mean(data: Data, values: Floats, epsilon: float, draws: np.random.Generator) -> Floats:
    """Return means by a sum and a count."""
    total = noisy(float(values.sum()), max(abs(data.low), abs(data.high)), epsilon / 2, draws)
    return np.clip(ratio(total, noisy(len(values), 1, epsilon / 2, draws)), data.low, data.high)


def three_way_variance(data: Data, values: Floats, epsilon: float, draws: np.random.Generator) -> Floats:
    """Return variances by a count and two centred sums."""
    middle, half = (data.low + data.high) / 2, (data.high - data.low) / 2
    count = noisy(len(values), 1, epsilon / 3, draws)
    first = noisy(float((values - middle).sum()), half, epsilon / 3, draws)
    second = noisy(float(((values - middle) ** 2).sum()), half**2, epsilon / 3, draws)
    return np.clip(ratio(second, count) - ratio(first, count) ** 2, 0, half**2)


def centred_variance(data: Data, values: Floats, epsilon: float, draws: np.random.Generator) -> Floats:
    """Return variances by a count, a centred sum, and a sum of squares that is centred too."""
    middle, half = (data.low + data.high) / 2, (data.high - data.low) / 2
    count = noisy(len(values), 1, epsilon / 3, draws)
    first = noisy(float((values - middle).sum()), half, epsilon / 3, draws)
    second = noisy(float(((values - middle) ** 2 - half**2 / 2).sum()), half**2 / 2, epsilon / 3, draws)
    return np.clip(half**2 / 2 + ratio(second, count) - ratio(first, count) ** 2, 0, half**2)


# ── measuring ────────────────────────────────────────────────────────────────────────────────────────────────


def measure(statistic: Statistic, truth: Callable[[Floats], float], peers: dict[str, Peer]) -> list[Line]:
    """Return the errors of Lapwing and of the peers, for all data sets and sizes."""
    draws = np.random.default_rng(SEED)
    lines = []
    for name in SETS:
        step(f"{statistic.kind} of {name}")
        for n, epsilon in SIZES:
            data, values = DATA[name], DATA[name].values(n)
            true = truth(values)
            found = {"Lapwing": lapwing(data, values, epsilon, statistic)}
            found |= {peer: road(data, values, float(epsilon), draws) for peer, road in peers.items()}
            errors = {road: float(((each - true) ** 2).mean()) for road, each in found.items()}
            lines.append(Line(name, n, epsilon, true, errors))
    return lines


def shown(lines: list[Line], peers: dict[str, Peer]) -> str:
    """Return a table of root mean square errors, and of ratios of mean squared errors."""
    head = ["data", "n", "ε", "true", "Lapwing, RMSE", *(f"{peer}, RMSE" for peer in peers)]
    head += [f"{peer}: MSE, times Lapwing's" for peer in peers]
    rows = []
    for line in lines:
        roots = [digits(error**0.5) for error in line.errors.values()]
        ratios = [number(line.times(peer)) for peer in peers]
        rows.append([line.data, f"{line.n:,}", line.epsilon, digits(line.truth), *roots, *ratios])
    return table(head, rows)


def digits(value: float) -> str:
    """Write a number with at least three digits, without an exponent unless it is tiny."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def main() -> int:
    """Measure, print, and write the page."""
    mean_peers: dict[str, Peer] = {"mid-point split": mid_point_mean, "plain split": plain_mean}
    spread_peers: dict[str, Peer] = {"three-way split": three_way_variance, "same, centred": centred_variance}
    means = measure(lw.mean("x"), lambda values: float(values.mean()), mean_peers)
    spreads = measure(lw.variance("x", sample=False), lambda values: float(values.var()), spread_peers)
    least_mean = min(line.times("mid-point split") for line in means)
    least_spread = min(line.times(peer) for line in spreads for peer in spread_peers)
    met = least_mean >= WANTED and least_spread > 1
    text = "\n\n".join(
        [
            "## Accuracy",
            "\n".join(
                f"- {name}: {value}"
                for name, value in [
                    ("command", "`python bench/accuracy.py`"),
                    ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
                    *(fact for fact in machine() if fact[0] in ("Python", "packages")),
                    ("releases", f"{REPETITIONS:,} of each; a ratio's standard error is about 1 %"),
                ]
            ),
            "Mean squared error at equal ε, when one row more or less is protected (`add_remove`). Lapwing's side is "
            "what a release does: a plan, the engine's sums, exact noise, the estimate. The splits are short "
            "implementations of what other libraries do, with NumPy's noise: the *mid-point split* takes ε/2 for "
            "Σ(x - mid) and ε/2 for the count, the *plain split* ε/2 for Σx and ε/2 for the count, the *three-way "
            "split* ε/3 each for the count, Σ(x - mid) and Σ(x - mid)²; *same, centred* subtracts the middle from the "
            "squares as well, which halves their sensitivity. All are cut to the bounds.",
            f"Wanted: the mid-point split's error at least {WANTED} times Lapwing's (claim P2 says 2), both "
            f"three-way splits' above Lapwing's; {'met' if met else '**not met**'}: the least are {least_mean:.2f} and "
            f"{least_spread:.2f}.",
            "### Mean: one A/B measurement",
            shown(means, mean_peers),
            "### Variance (dividing by n): one Bernstein measurement",
            shown(spreads, spread_peers),
        ]
    )
    print(f"\n{text}\n")
    replace_section(PAGE, "accuracy", text)
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
