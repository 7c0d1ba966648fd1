"""Simulate how often the error bars hold the truth, for every statistic and setting; exit with 1 where too seldom.

Releases are simulated as bench/simulation.py says: by the code that makes a release.  All data lies inside its bounds.
Beside the coverage stands how wide the bars are, over the half-width that the plan forecast.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from page import PAGE, ROOT, machine, replace_section, step, table
from set_coverage import WORKLOADS, covered, section
from simulation import DATA, read, simulate, truths, weights_of

import lapwing as lw
from lapwing.measure.cells import draws, recorded
from lapwing.measure.measurement import Estimate
from lapwing.noise.entropy import SYSTEM
from lapwing.noise.mechanism import NINETY_FIVE
from lapwing.plan.plan import Plan
from lapwing.plan.planning import make_plan
from lapwing.question.query import Statistic
from lapwing.question.schema import Schema, make_schema
from lapwing.question.sql import make_query
from lapwing.release.result import Release
from lapwing.sensitivity import Neighbors

REPETITIONS = 20_000
AGAIN = 100_000
ALL_AT_ONCE = 10_000
GROUPS = 1_000
CHUNK = 50
COMPARED = 10_000
TABLES = 10_000
LEAST, MOST = 0.945, 0.99


# ── what is asked, of whom ───────────────────────────────────────────────────────────────────────────────────

SPREADS = (
    lw.variance("x", name="sample variance"),
    lw.variance("x", sample=False, name="variance"),
    lw.std("x", sample=False, name="std"),
)
EVERYTHING = (*SPREADS, lw.mean("x", name="mean"), lw.sum("x", name="sum"), lw.count("x", name="count(x)"))
QUESTIONS: dict[str, tuple[Statistic, ...]] = {
    "rows": (lw.count(),),
    "count(x)": (lw.count("x", name="count(x)"),),
    "rows, count(x)": (lw.count(), lw.count("x", name="count(x)")),
    "sum alone": (lw.sum("x", name="sum"),),
    "sum, count(x)": (lw.sum("x", name="sum"), lw.count("x", name="count(x)")),
    "mean": (lw.mean("x", name="mean"),),
    "rows, mean, sum": (lw.count(), lw.mean("x", name="mean"), lw.sum("x", name="sum")),
    "proportion": (lw.proportion("x >= 60"),),
    "spread": SPREADS,
    "rows, spread": (lw.count(), *SPREADS),
    "two columns": (lw.count(), lw.mean("x", name="mean"), lw.mean("y", name="mean of y")),
    "two columns, spread": (lw.count(), lw.variance("x", name="sample variance"), lw.sum("y", name="sum of y")),
}


@dataclass(frozen=True)
class Setting:
    """Who is protected: how many rows of a person count (none: rows are people), which neighbors, grouped or not."""

    name: str
    rows_per_person: int | None = None
    neighbors: Neighbors = "add_remove"
    grouped: bool = False

    def schema(self, data: str) -> Schema:
        """Return the declaration of a table with this data."""
        columns = {"x": DATA[data].column, "y": DATA["temperature"].column, "g": lw.keys("all")}
        person = None if self.rows_per_person is None else "person"
        return make_schema("people", columns, person, self.rows_per_person, self.neighbors, None)


ROWS = Setting("rows")
SETTINGS = (
    ROWS,
    Setting("people, 1 row", 1),
    Setting("people, 3 rows", 3),
    Setting("change_one, groups", None, "change_one", grouped=True),
    Setting("change_one, people, 3 rows", 3, "change_one"),
)
WHOLE = Setting("change_one, whole table", None, "change_one")


@dataclass(frozen=True)
class Case:
    """A question, a setting, data, and sizes; ``missing`` is the share of missing values."""

    question: str
    statistics: tuple[Statistic, ...]
    setting: Setting
    data: str
    n: int
    epsilon: str
    missing: float = 0.0

    def plan(self, rows: int = 1) -> Plan:
        """Return the plan of the release, told the number of rows as they count."""
        schema = self.setting.schema(self.data)
        query = make_query(self.statistics, ("g",) if self.setting.grouped else (), None, schema)
        return make_plan(schema, query, epsilon=self.epsilon, rows=rows)

    @property
    def frame(self) -> pd.DataFrame:
        """The table: people have one to five rows, missing values are spread evenly."""
        x, y = DATA[self.data].values(self.n), DATA["temperature"].values(self.n)
        if self.missing:
            x[:: round(1 / self.missing)] = np.nan
            y[1 :: round(2 / self.missing)] = np.nan
        sizes = np.tile(np.arange(1, 6), self.n // 5 + 1)
        person = np.repeat(np.arange(len(sizes)), sizes)[: self.n]
        return pd.DataFrame({"x": x, "y": y, "person": person, "g": "all"})


def cases() -> Iterator[Case]:
    """Yield all cases: all data and sizes for rows, then all settings for some, then the whole-table forms."""
    for data in DATA:
        for n, epsilons in ((20, ("0.1", "1", "3")), (100, ("0.1", "1")), (1_000, ("0.1", "1")), (100_000, ("1",))):
            for epsilon in epsilons:
                yield Case("everything", EVERYTHING, ROWS, data, n, epsilon)
    for data in ("ages", "incomes", "skewed", "half at each bound", "all lowest"):
        for n, epsilon in ((20, "3"), (300, "0.5"), (10_000, "1")):
            yield Case("mean", QUESTIONS["mean"], ROWS, data, n, epsilon)
            yield Case("sum alone", QUESTIONS["sum alone"], ROWS, data, n, epsilon)
    for setting in SETTINGS:
        for question, statistics in QUESTIONS.items():
            for n, epsilon in ((100, "3"), (1_000, "0.5")):
                yield Case(question, statistics, setting, "ages", n, epsilon, missing=0.1)
    asked = (*SPREADS, lw.mean("x", name="mean"), lw.sum("x", name="sum"))
    for data, n, epsilon in (("ages", 20, "3"), ("ages", 1_000, "0.5"), ("half at each bound", 50, "0.5")):
        yield Case("everything", asked, WHOLE, data, n, epsilon, missing=0.1)
    yield Case("proportion", QUESTIONS["proportion"], WHOLE, "ages", 1_000, "1")
    yield Case("rows, proportion", (lw.count(), *QUESTIONS["proportion"]), WHOLE, "ages", 200, "1")
    yield Case("rows, mean", (lw.count(), lw.mean("x", name="mean")), WHOLE, "incomes", 20, "0.1")
    yield Case("two columns", (lw.count("x", name="count(x)"), lw.mean("y", name="mean of y")), WHOLE, "ages", 500, "1")


# ── simulating ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Found:
    """How often the bars of one statistic held the truth; their median half-width, and how often they say nothing."""

    case: Case
    statistic: Statistic
    coverage: float
    forecast: float
    width: float
    wider: float
    silent: float
    cells: int

    @property
    def reason(self) -> str:
        """Why a bar holds the truth more often than needed."""
        if self.forecast == 0:
            return "public, without noise"
        if self.silent > 0.02:
            return "the group is too small to say anything: many bars span everything possible"
        if self.statistic.kind in ("count", "sum"):
            if self.cells > 1:
                return "several integer cells: one unit of slack for each (claim A9), and whole ends"
            return "one integer cell: the law jumps from below 95 % to this at large ε"
        if self.statistic.kind in ("variance", "std"):
            return "the term of second order (claim A11) at small n·ε, or a bar that is cut at the bounds"
        return "a bar that is cut at the bounds"


def run(case: Case, repetitions: int) -> list[Found]:
    """Simulate one case."""
    frame = case.frame
    plan = case.plan(case.n if case.setting is WHOLE else rows_that_count(case.plan().schema, frame))
    estimates = simulate(plan, read(plan, frame), repetitions)
    return [
        found(case, plan, statistic, truth, estimate)
        for statistic, truth, estimate in zip(plan.query.statistics, truths(plan, frame), estimates, strict=True)
    ]


def rows_that_count(schema: Schema, frame: pd.DataFrame) -> int:
    """Return the number of rows with a value, people with many rows weighted down."""
    return round(float(weights_of(schema, frame)[frame["x"].notna()].sum()))


def holds(estimate: Estimate, truth: float | np.ndarray) -> np.ndarray:
    """Return which bars hold the truth, which is known up to a rounding error."""
    slack = 1e-11 * np.maximum(np.abs(truth), 1e-9)
    return (estimate.low <= truth + slack) & (truth - slack <= estimate.high)


def found(case: Case, plan: Plan, statistic: Statistic, truth: float, estimate: Estimate) -> Found:
    """Return what the bars of one statistic did."""
    forecast = plan.margin(statistic, NINETY_FIVE)
    halves = (np.asarray(estimate.high, dtype=float) - np.asarray(estimate.low, dtype=float)) / 2
    parts = plan.answering(statistic)
    linear = statistic.kind in ("count", "sum")
    cells = sum(sum(map(bool, weights)) for _, weights, _ in plan.terms(statistic)) if linear and parts else len(parts)
    return Found(
        case,
        statistic,
        float(holds(estimate, truth).mean()),
        forecast,
        float(np.median(halves)),
        float((halves > forecast * (1 + 1e-9)).mean()),
        0.0 if linear else float((halves >= 0.999 * _most(case, statistic)).mean()),
        cells,
    )


def _most(case: Case, statistic: Statistic) -> float:
    """Return the half-width of a bar that says nothing."""
    data = DATA["temperature"] if statistic.column == "y" else DATA[case.data]
    width = 1.0 if statistic.kind == "proportion" else data.high - data.low
    return {"variance": width**2 / 8, "std": width / 4}.get(statistic.kind, width / 2)


def at_once(repetitions: int, statistics: Sequence[Statistic], epsilon: str) -> tuple[float, float]:
    """Return how often all bars of a release with many groups hold at once; simultaneous ones, and the usual ones."""
    schema = make_schema(
        "people", {"x": DATA["ages"].column, "g": lw.keys(range(GROUPS))}, None, None, "add_remove", None
    )
    plan = make_plan(schema, make_query(statistics, ("g",), None, schema), epsilon=epsilon)
    sizes = 50 + np.arange(GROUPS) % 500
    groups = np.repeat(np.arange(GROUPS), sizes)
    frame = pd.DataFrame({"x": DATA["ages"].values(len(groups)), "g": np.random.default_rng(1).permutation(groups)})
    tally = read(plan, frame)
    each = np.array([truths(plan, part) for _, part in frame.groupby("g")])
    turns = repetitions // CHUNK

    def held(simultaneous: bool) -> float:
        inside = np.ones((CHUNK, GROUPS), dtype=bool)
        for truth, estimate in zip(each.T, simulate(plan, tally, CHUNK, simultaneous=simultaneous), strict=True):
            inside &= holds(estimate, np.tile(truth, CHUNK)).reshape(CHUNK, GROUPS)
        return float(inside.all(axis=1).mean())

    return sum(held(True) for _ in range(turns)) / turns, held(False)


def compared(repetitions: int) -> list[tuple[str, int, str, float, float, float]]:
    """Return how often bars of ratios, differences and shares hold, over a grid of n, ε and shares of two groups.

    Each repetition is a group of its own in one release.
    """
    columns = {"g": lw.keys(range(repetitions)), "s": lw.keys("a", "b"), "x": DATA["ages"].column, "y": lw.number(1, 9)}
    schema = make_schema("people", columns, None, None, "add_remove", None)
    asked = lw.count(name="n"), lw.mean("x", name="mean"), lw.ratio(lw.sum("x"), lw.sum("y"), name="rate")
    query = make_query(asked, ("g", "s"), None, schema)
    found = []
    for n, epsilon, share in product((40, 200, 2_000), ("0.1", "1", "4"), (0.1, 0.5, 0.8)):
        sizes = round(n * share), n - round(n * share)
        x = np.concatenate([DATA["ages"].values(size) for size in sizes])
        y, first = 1 + np.arange(n) % 9, np.arange(n) < sizes[0]
        frame = pd.DataFrame({"s": np.where(first, "a", "b"), "x": x, "y": y})
        plan = make_plan(schema, query, epsilon=epsilon)
        once = make_plan(schema, make_query(asked, ("s",), None, schema), epsilon=epsilon)
        made = again(plan, once, frame, repetitions)
        a, b, rates = float(x[first].mean()), float(x[~first].mean()), float(x.sum() / y.sum())
        pair: dict[str, Any] = {"by": "s", "of": "a", "to": "b"}
        cases = {
            "difference of counts": (made.difference(**pair), "n", sizes[0] - sizes[1]),
            "ratio of counts": (made.ratio(**pair), "n", sizes[0] / sizes[1]),
            "difference of means": (made.difference(**pair), "mean", a - b),
            "ratio of means": (made.ratio(**pair), "mean", a / b),
            "share": (made.share(within="g"), "n", np.tile(sizes, repetitions) / n),
            "ratio of sums": (made.total(over="s"), "rate", rates),
        }
        for what, (comparison, name, truth) in cases.items():
            bar = Estimate(*(np.ma.asarray(end, dtype=float) for end in comparison[name]))
            silent = np.ma.getmaskarray(bar.high)
            held = silent | np.ma.filled(holds(bar, truth), True)
            found.append((what, n, epsilon, share, float(held.mean()), float(silent.mean())))
    return found


def again(plan: Plan, once: Plan, frame: pd.DataFrame, repetitions: int) -> Release:
    """Return a release of so many groups, each of which holds this table, with noise of its own."""
    tally = read(once, frame)
    noisy = []
    for number, part in enumerate(once.parts):
        groups, cells = part.measurement.exact_cells(tally.exact(once, number))
        whole = np.zeros((len(cells), once.groups), dtype=np.int64)
        whole[:, groups] = np.array(cells)
        size = once.groups * repetitions
        noisy.append([np.tile(cell, repetitions) + draws(once.scale(part), size, SYSTEM) for cell in whole])
    return Release(plan, 1, False, {"cells": recorded(noisy)}, None, None)


# ── telling ──────────────────────────────────────────────────────────────────────────────────────────────────


def line(each: Found) -> list[str]:
    """Return the cells of one line of the long table."""
    case = each.case
    ratio = each.width / each.forecast if each.forecast else 0.0
    return [
        f"{case.setting.name}: {case.question}",
        str(each.statistic.name),
        case.data,
        f"{case.n:,}",
        case.epsilon,
        f"{100 * each.coverage:.2f}",
        f"{ratio:.2f}",
        f"{100 * each.wider:.0f}",
        f"{100 * each.silent:.0f}",
    ]


HEAD = ["asked", "statistic", "data", "n", "ε", "held, %", "bar/forecast", "wider, %", "silent, %"]


def summary(results: Sequence[Found]) -> str:
    """Return a table with one line for each setting and statistic."""
    groups: dict[tuple[str, str], list[Found]] = {}
    for each in results:
        groups.setdefault((each.case.setting.name, str(each.statistic.name)), []).append(each)
    rows = []
    for (setting, statistic), members in groups.items():
        held = sorted(each.coverage for each in members)
        above = sum(each > MOST for each in held)
        ratios = [each.width / each.forecast for each in members if each.forecast and each.statistic.kind != "std"]
        ends = [f"{100 * each:.2f}" for each in (held[0], np.median(held), held[-1])]
        widest = f"{max(ratios):.2f}" if ratios else "–"
        rows.append([f"{setting}: {statistic}", str(len(held)), *ends, str(above), widest])
    return table(
        ["setting: statistic", "cases", "least, %", "median, %", "most, %", "above 99 %", "bar/forecast"], rows
    )


def reasons(results: Iterable[Found]) -> str:
    """Return why bars held more often than in 99 % of releases, and in how many cases."""
    members: dict[str, list[Found]] = {}
    for each in results:
        if each.coverage > MOST:
            members.setdefault(each.reason, []).append(each)
    lines = []
    for reason, cases_of in sorted(members.items(), key=lambda item: -len(item[1])):
        kinds = ", ".join(sorted({str(each.statistic.name) for each in cases_of}))
        lines.append(f"- {len(cases_of)}: {reason} ({kinds})")
    return "\n".join(lines) or "- none"


def main() -> int:
    """Simulate, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="simulated releases of each case")
    parser.add_argument("--tables", action="store_true", help="simulate several tables alone")
    arguments = parser.parse_args()
    repetitions, start = arguments.repetitions, time.perf_counter()
    added_up = tables_at_once(min(repetitions, TABLES))
    if arguments.tables:
        return 0 if added_up else 1
    results: list[Found] = []
    for case in cases():
        each = run(case, repetitions)
        if min(found.coverage for found in each) < LEAST:  # by chance, or not
            each = run(case, max(AGAIN, repetitions))
        results += each
    step(f"{len(results)} statistics after {time.perf_counter() - start:.0f} s; now many groups at once")
    after = compared(min(repetitions, COMPARED))
    together = {
        "rows, mean": at_once(ALL_AT_ONCE, QUESTIONS["rows, mean, sum"][:2], "1"),
        "sample variance": at_once(ALL_AT_ONCE // 2, SPREADS[:1], "1"),
    }
    text, good = report(results, together, after, repetitions)
    print(table(HEAD, map(line, results)))
    print(f"\n{text}\n")
    replace_section(PAGE, "coverage", text)
    print(f"wrote {PAGE.relative_to(ROOT)} after {time.perf_counter() - start:.0f} s")
    return 0 if good and added_up else 1


def tables_at_once(repetitions: int) -> bool:
    """Simulate questions for several tables, write their section, and return whether all bars hold."""
    text, good = section([covered(each, repetitions) for each in WORKLOADS], repetitions)
    print(f"{text}\n")
    replace_section(PAGE, "sets", text)
    return good


def report(
    results: Sequence[Found],
    together: dict[str, tuple[float, float]],
    after: Sequence[tuple[str, int, str, float, float, float]],
    repetitions: int,
) -> tuple[str, bool]:
    """Return the section of the page, and whether all bars hold as often as they say."""
    error = 100 * (0.05 * 0.95 / repetitions) ** 0.5
    again = 100 * (0.05 * 0.95 / AGAIN) ** 0.5
    failed = [each for each in results if each.coverage < LEAST]
    off = 3 * (0.05 * 0.95 / (ALL_AT_ONCE // 2)) ** 0.5
    least = 0.95 - 4 * (0.05 * 0.95 / COMPARED) ** 0.5
    seldom = [each for each in after if each[4] < least]
    good = not failed and not seldom and all(held >= 0.95 - off for held, _ in together.values())
    facts = [
        ("command", "`make coverage`"),
        ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
        *(fact for fact in machine() if fact[0] in ("Python", "packages")),
        (
            "releases",
            f"{repetitions:,} of each of {len(results)} cases, standard error at 95 %: {error:.2f} points; "
            f"{AGAIN:,} of those that came below {100 * LEAST:g} %, standard error {again:.2f} points, which decide",
        ),
    ]
    parts = [
        "## Coverage of 95 % error bars",
        "\n".join(f"- {name}: {value}" for name, value in facts),
        "Simulated releases of tables whose values lie inside their bounds: ages, incomes, temperatures, uniform, "
        "skewed and constant data, data at one bound, half at each bound; n from 20 to 100,000, ε from 0.1 to 3; with "
        "missing values; rows and people protected, `add_remove` and `change_one`. What is simulated is what a release "
        "does, from the engine's sums to the ends of the bars.",
        f"Wanted: every bar contains the truth in at least {100 * LEAST:g} % of releases; "
        f"{'**not met**' if failed else 'met'}.",
        summary(results),
        "*bar/forecast*: the median half-width of the bars over that of the plan which knows n; the largest of the "
        "cases, but none of a deviation, whose forecast assumes a quarter of the range.",
    ]
    if failed:
        parts += ["### Too seldom", table(HEAD, map(line, failed))]
    parts += [
        "### More often than in 99 % of releases",
        reasons(results),
        f"### {GROUPS:,} groups at once",
        table(
            ["simultaneous bars", "all held, %", "usual bars: all held, %"],
            [[name, f"{100 * held:.1f}", f"{100 * usual:.1f}"] for name, (held, usual) in together.items()],
        ),
        "### Ratios, differences and shares",
        table(
            ["compared", "n", "ε", "share", "held, %", "silent, %"],
            [
                [what, f"{n:,}", epsilon, f"{share:g}", f"{100 * held:.2f}", f"{100 * silent:.0f}"]
                for what, n, epsilon, share, held, silent in after
            ],
        ),
        f"{COMPARED:,} releases of each; *share*: of the rows, in the first of two groups; *silent*: the denominator "
        "may be 0, and there is no bar. Above 99 %: bars that are cut at the public range, or silent. Wanted: 95 %, "
        f"up to four standard errors; {'**not met**' if seldom else 'met'}.",
        f"{ALL_AT_ONCE:,} releases of rows and mean, {ALL_AT_ONCE // 2:,} of the variance; standard errors 0.2 and 0.3 "
        "points at 95 %.",
    ]
    return "\n\n".join(parts), good


if __name__ == "__main__":
    sys.exit(main())
