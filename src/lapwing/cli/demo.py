"""The demo: attacks on exact averages and on float noise, then a table about people until its budget is spent.

The people are invented (and the same on every run), so the truth may be shown next to the release.  Every number that
is printed is computed while it runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .. import exact, report, sensitivity
from ..errors import BudgetExceeded
from ..noise.distributions import Laplace
from ..noise.mechanism import LaplaceMechanism
from ..release.result import Release
from ..source import Source
from .floats import possible_on_grid, possible_with_numpy

WEIGHTS = {"Alice": 40, "Bob": 60, "Charles": 80, "Doe": 60}
"""The people of the lecture; a weight counts as 30 to 150 kg."""

LOW, HIGH, EPSILON = 30, 150, "0.1"
TRIES = 100
"""How often the attack on NumPy's noise is carried out."""

PEOPLE = 100_000
WARDS = ("surgery", "maternity", "children", "heart", "skin", "eyes")
SHARES = (0.31, 0.22, 0.19, 0.16, 0.11, 0.01)

SOURCE = """\
name = "visits"
table = "visits.parquet"
person = "patient"              # the column that identifies a person (the privacy unit)
rows_per_person = 5             # one person counts for at most five visits
epsilon = 2                     # the total that may ever be spent

[columns.ward]
keys = ["surgery", "maternity", "children", "heart", "skin", "eyes"]

[columns.age]
low = 0
high = 110
integer = true
edges = [0, 18, 40, 65, 110]

[columns.cost]
low = 0
high = 5000

[columns.admitted]
type = "date"                   # may be used in WHERE
"""

FIRST = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward"
SECOND = "SELECT ward, age, COUNT(*) AS visits FROM visits GROUP BY CUBE (ward, age)"
THIRD = "SELECT MEDIAN(cost) AS usual, QUANTILE_CONT(cost, 0.9) AS high FROM visits WHERE admitted >= '2025-07-01'"
FOURTH = "SELECT AVG(cost) FROM visits"

PAUSE = 1.2
"""Seconds between two steps on a terminal."""


@dataclass
class Tour:
    """What prints the steps: on a terminal with colors, frames and time to read, elsewhere as plain text."""

    console: Console
    pause: float
    steps: int = 0

    def step(self, title: str) -> None:
        """Begin a step."""
        if self.steps:
            time.sleep(self.pause)
        self.steps += 1
        self.console.print(f"\n[bold]{self.steps}. {title}[/bold]", soft_wrap=True)

    def command(self, words: str) -> None:
        """Print a command that does what comes next."""
        self.console.print(f"$ {words}", style="dim", markup=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """Print a sentence."""
        if self.console.is_terminal:
            self.console.print(Padding(Text(text), (0, 0, 0, 3)))
        else:
            self.console.print(f"   {text}", markup=False, soft_wrap=True)

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> None:
        """Print a table: with a frame on a terminal."""
        if not self.console.is_terminal:
            self.console.print(report.text_table(heads, rows, left), markup=False, soft_wrap=True)
            return
        table = Table(box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=True)
        for i, head in enumerate(heads):
            table.add_column(head, justify="left" if i in left else "right")
        for row in rows:
            table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
        self.console.print(table)

    def bar(self, share: float, width: int = 24) -> str:
        """Return a bar whose length is a share of the width."""
        full, rest = ("█", "░") if self.console.encoding.startswith("utf") else ("#", ".")
        length = min(max(round(share * width), 0), width)
        return full * length + rest * (width - length)


_WIDE = 96
"""How many columns the table of counts and averages needs."""

_STYLES = {"yes": "green", "no": "yellow", "Total": "bold"}


def tell(console: Console, folder: Path, fast: bool = False) -> None:
    """Create the table and the source file in a folder, and run the demo."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("visits.toml", "visits.parquet", "visits.ledger", "visits.ledger-journal", "visits.html"):
        (folder / name).unlink(missing_ok=True)
    tour = Tour(console, 0 if fast or not console.is_terminal else PAUSE)
    subtraction(tour)
    float_noise(tour)
    rows = make_table(folder / "visits.parquet")
    where = folder / "visits.toml"
    where.write_text(SOURCE, encoding="utf-8")
    visits = Source.open(where)
    answer = _release(tour, visits, where, rows)
    _again(tour, visits, answer)
    _adding_up(tour, visits, where)
    _refused(tour, visits, where)
    _report(tour, answer, where)


def subtraction(tour: Tour) -> None:
    """Find the weight of Charles from averages: exact ones give it away, noisy ones do not."""
    tour.step("Three people find the weight of a fourth, unless there is noise")
    known = ", ".join(f"{name} {weight}" for name, weight in WEIGHTS.items() if name != "Charles")
    tour.say(f"{known}: they know their own weights in kg, and the published average of all four.")
    tour.say("They subtract.  With Laplace noise the subtraction fails, even if 999 people try it against one.")
    rng = np.random.default_rng(2026)
    others = [weight for name, weight in WEIGHTS.items() if name != "Charles"]
    crowd = others + [int(each) for each in np.clip(rng.normal(60, 15, 996), LOW, HIGH)]
    rows = []
    for rest in (others, crowd):
        n = len(rest) + 1
        average = (sum(rest) + WEIGHTS["Charles"]) / n
        mechanism = LaplaceMechanism(sensitivity.mean(LOW, HIGH, n, neighbors="change_one"), EPSILON)
        margin = Laplace(mechanism.scale).margin("0.95")
        for published, how, bar in ((average, "exact", ""), (mechanism.release(average), f"ε = {EPSILON}", margin)):
            guess = n * published - sum(rest)
            shown = f"± {report.shown(bar)}" if bar else ""
            rows.append([f"{n:,}", how, f"{published:,.2f}", shown, f"{guess:,.0f}", _right(round(guess))])
    tour.table(["people", "average", "published", "error bar", "Charles, by subtraction", "right"], rows, (1,))


def _right(guess: int) -> str:
    return "yes" if guess == WEIGHTS["Charles"] else "no"


def float_noise(tour: Tour) -> None:
    """Find the weight of Charles from noisy averages, by the floats that the noise can reach."""
    tour.step("Noise from floating-point numbers gives the weight away, too")
    mechanism = LaplaceMechanism(sensitivity.mean(LOW, HIGH, len(WEIGHTS), neighbors="change_one"), EPSILON)
    scale, grid, rng = float(mechanism.scale), mechanism.grid(), np.random.default_rng()
    others = sum(WEIGHTS.values()) - WEIGHTS["Charles"]
    answers = {(others + weight) / len(WEIGHTS): weight for weight in range(LOW, HIGH + 1)}
    truth = sum(WEIGHTS.values()) / len(WEIGHTS)
    ways: dict[str, tuple[Callable[[], float], Callable[[float, Sequence[float]], list[float]]]] = {
        "numpy.random": (
            lambda: float(rng.laplace(truth, scale)),
            lambda output, left: possible_with_numpy(output, left, scale),
        ),
        "lapwing": (
            lambda: mechanism.release(truth),
            lambda output, left: possible_on_grid(output, left, grid),
        ),
    }
    tour.say(f"The average with Laplace noise of scale {scale:g} (ε = {EPSILON}); {len(answers)} weights are possible.")
    tour.say("Each published number rules out those from which it cannot come (Mironov, 2012).")
    rows, outputs = [], 0
    for name, (draw, possible) in ways.items():
        numbers, left = _attack(draw, possible, list(answers), outputs or None)
        outputs = outputs or max(numbers)
        found = sum(each == [truth] for each in left) / TRIES
        after = sum(map(len, left)) / TRIES
        rows.append([name, f"{sum(numbers) / TRIES:.1f}", f"{after:,.4g}", f"{100 * found:.0f} %", tour.bar(found, 12)])
    tour.table(["noise", "numbers seen", "weights left", "found", ""], rows, (0, 4))
    tour.say(f"{TRIES} attacks each.  Lapwing's outputs are multiples of {grid.step:.6f}, whatever the average was.")


def _attack(
    draw: Callable[[], float], possible: Callable[[float, Sequence[float]], list[float]], answers: list[float],
    fixed: int | None,
) -> tuple[list[int], list[list[float]]]:  # fmt: skip
    """Return, for each try, how many outputs were seen and which answers are left; seen until one answer is left."""
    numbers, remaining = [], []
    for _ in range(TRIES):
        left, seen = answers, 0
        while seen < (fixed or 100) and (fixed or len(left) > 1):
            left, seen = possible(draw(), left), seen + 1
        numbers.append(seen)
        remaining.append(left)
    return numbers, remaining


def _release(tour: Tour, visits: Source, where: Path, rows: int) -> Release:
    """Release counts and averages, and show them next to the truth."""
    tour.step("The release, next to the truth (otherwise never shown)")
    tour.say(f"{where.with_suffix('.parquet')}: {rows:,} hospital visits of {PEOPLE:,} invented people.")
    tour.say(f"{where} declares who is protected, the bounds, the keys and the budget.")
    tour.command(f'lapwing release {where} "{FIRST}" --epsilon 1')
    (count, _) = visits.plan(FIRST, epsilon=1, rows=10000).forecasts
    answer = visits.sql(FIRST, epsilon=1)
    _beside_truth(tour, answer, where.with_suffix(".parquet"))
    tour.say("A 95 % error bar (confidence interval) contains the truth at least 19 times in 20.")
    tour.say(f"lapwing plan knew the bar of visits before any data was read: {count.bar_text(count.margin)}.")
    tour.say(f"Charged ε = 1 of 2 to visits.ledger.  ε left: {exact.text(visits.ledger.remaining)}")
    return answer


def _again(tour: Tour, visits: Source, answer: Release) -> None:
    """Ask once more: noise that is drawn anew could be averaged away."""
    tour.step("The same question again: the same answer, free")
    again = visits.sql(FIRST, epsilon=1)
    same = "the same numbers" if again.rows == answer.rows else "different numbers"
    tour.say(f"Entry {again.entry} again, {same}.  ε left: {exact.text(visits.ledger.remaining)}")
    mechanism = LaplaceMechanism(5, 1)
    fresh = mechanism.release(np.zeros(10_000, dtype=np.int64))
    tour.say(
        f"New noise each time could be averaged away: one draw is off by {mechanism.error.mean:.2g} on average, "
        f"the mean of these {fresh.size:,} by {abs(fresh.mean()):.2g}."
    )


def _adding_up(tour: Tour, visits: Source, where: Path) -> None:
    """Release a table with its margins."""
    tour.step("A table with totals, which add up")
    tour.command(f'lapwing release {where} "{SECOND}" --epsilon 0.5')
    answer = visits.sql(SECOND, epsilon="0.5")
    cells = {(row["ward"], row["age"]): row["visits"] for row in answer.rows}
    wards, ages = ([*dict.fromkeys(key[i] for key in cells if key[i] is not None)] for i in (0, 1))
    most = max(cells[ward, None]["value"] for ward in wards)
    rows = []
    for ward in (*wards, None):
        numbers = [f"{cells[ward, age]['value']:,}" for age in (*ages, None)]
        rows.append([ward or "Total", *numbers, tour.bar(cells[ward, None]["value"] / most, 8) if ward else ""])
    tour.table(["ward", *map(str, ages), "Total", ""], rows, (0, len(ages) + 2))
    sums = [sum(cells[ward, age]["value"] for age in ages) == cells[ward, None]["value"] for ward in (*wards, None)]
    sums += [sum(cells[ward, age]["value"] for ward in wards) == cells[None, age]["value"] for age in (*ages, None)]
    cell, total = cells[wards[0], ages[0]], cells[None, None]
    tour.say(
        f"{sum(sums)} of {len(sums)} sums are exact.  95 % error bars: a cell "
        f"{report.bar_text(*(cell[end] for end in ('value', 'low', 'high')))}, the total "
        f"{report.bar_text(*(total[end] for end in ('value', 'low', 'high')))}."
    )


def _refused(tour: Tour, visits: Source, where: Path) -> None:
    """Spend what is left until a question is refused."""
    tour.step("When the budget is spent, questions are refused")
    tour.command(f'lapwing release {where} "{THIRD}" --epsilon 0.3')
    (row,) = visits.sql(THIRD, epsilon="0.3").rows
    for name, title in (("usual", "the median"), ("high", "the 90 % quantile")):
        value, low, high = (row[name][end] for end in ("value", "low", "high"))
        numbers = [report.shown(each, high - low) for each in (value, low, high)]
        tour.say(f"{title} of the cost since July: {numbers[0]}, 95 % error bar {numbers[1]} to {numbers[2]}")
    tour.command(f'lapwing release {where} "{FOURTH}" --epsilon 1')
    try:
        visits.sql(FOURTH, epsilon=1)
    except BudgetExceeded as refusal:
        tour.console.print(f"lapwing: {refusal}", markup=False, soft_wrap=True)
    left, total = visits.ledger.remaining, visits.ledger.total
    spent = 1 - float(left / total)
    tour.say(f"{tour.bar(spent)}  ε spent: {exact.text(total - left)} of {exact.text(total)}")


def _report(tour: Tour, answer: Release, where: Path) -> None:
    """Write the report, and say how to go on."""
    tour.step("The report: one file, which needs no network")
    page = where.with_suffix(".html")
    answer.to_html(page)
    tour.say(f"{page} ({page.stat().st_size / 1000:,.0f} kB): open it in a browser.")
    tour.console.print(
        f"\nNext:  lapwing explain {where} 2     lapwing ledger {where} verify     lapwing init your_table.csv",
        markup=False,
        soft_wrap=True,
    )


def make_table(path: Path) -> int:
    """Write the invented visits as Parquet, the same on every run; return how many there are."""
    random = np.random.default_rng(2026)
    visits = 1 + random.binomial(4, 0.35, PEOPLE)
    patient = np.repeat(np.arange(PEOPLE), visits)
    age = np.repeat(np.clip(random.normal(46, 24, PEOPLE), 0, 104).astype(int), visits)
    ward = random.choice(len(WARDS), patient.size, p=SHARES)
    typical = np.array([1400.0, 900.0, 600.0, 1700.0, 350.0, 500.0])[ward]
    columns = {
        "patient": patient,
        "ward": np.array(WARDS, dtype=object)[ward],
        "age": age,
        "cost": np.round(np.minimum(random.gamma(4, typical / 4), 5000), 2),
        "day": random.integers(0, 365, patient.size),
    }
    with duckdb.connect(":memory:") as connection:
        connection.register("invented", columns)
        dated = "SELECT * EXCLUDE (day), DATE '2025-01-01' + CAST(day AS INTEGER) AS admitted FROM invented"
        connection.sql(dated).write_parquet(str(path))
    return int(patient.size)


def _beside_truth(tour: Tour, answer: Release, table: Path) -> None:
    """Print the release with the exact numbers and whether the bars contain them."""
    with duckdb.connect(":memory:") as connection:
        exactly = {
            ward: numbers
            for ward, *numbers in connection.execute(
                "SELECT ward, COUNT(*), AVG(cost) FROM read_parquet(?) GROUP BY ward", [str(table)]
            ).fetchall()
        }
    rows = []
    for row in answer.rows:
        cells = [str(row["ward"])]
        for name, truth in zip(("visits", "cost"), exactly[row["ward"]], strict=True):
            value, low, high = (row[name][end] for end in ("value", "low", "high"))
            inside = "yes" if low <= truth <= high else "no"
            cells += [
                report.shown(value, high - low),
                report.bar_text(value, low, high),
                report.shown(truth, high - low),
                inside,
            ]
        rows.append(cells)
    heads = ["ward", "visits", "error bar", "truth", "in bar", "cost", "error bar", "truth", "in bar"]
    whole = [range(len(heads))] if tour.console.width >= _WIDE else [range(5), (0, *range(5, 9))]
    for columns in whole:  # side by side, or one below the other
        tour.table([heads[i] for i in columns], [[row[i] for i in columns] for row in rows])
