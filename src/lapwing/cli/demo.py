"""The demo: a table about people, released with error bars until its budget is spent.

The people are invented (and the same on every run), so the truth may be shown next to the release.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
from rich.console import Console

from .. import exact, report
from ..errors import BudgetExceeded
from ..release.result import Release, bar_text
from ..source import Source

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
SECOND = "SELECT MEDIAN(cost) AS usual, QUANTILE_CONT(cost, 0.9) AS high FROM visits WHERE admitted >= '2025-07-01'"
THIRD = "SELECT age, COUNT(*) AS visits FROM visits GROUP BY age"
FOURTH = "SELECT AVG(cost) FROM visits"


def tell(console: Console, folder: Path) -> None:
    """Create the table and the source file in a folder, and run the demo."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("visits.toml", "visits.parquet", "visits.ledger", "visits.ledger-journal"):
        (folder / name).unlink(missing_ok=True)
    rows = make_table(folder / "visits.parquet")
    (folder / "visits.toml").write_text(SOURCE, encoding="utf-8")
    where = folder / "visits.toml"
    visits = Source.open(where)

    def step(title: str, command: str | None = None) -> None:
        console.print(f"\n[bold]{title}[/bold]")
        if command is not None:
            console.print(f"$ {command}", style="dim", markup=False, soft_wrap=True)

    step("1. A table about people, and what is public about it")
    table = where.with_suffix(".parquet")
    console.print(f"   {table}: {rows:,} hospital visits of {PEOPLE:,} invented people.", soft_wrap=True)
    console.print(f"   {where} declares who is protected, bounds, keys and the budget:\n", soft_wrap=True)
    console.print("\n".join(f"   {line}" for line in SOURCE.splitlines()[:8]), markup=False)
    console.print("   …")

    step("2. The error, before any data is read", f'lapwing plan {where} "{FIRST}" --epsilon 1 --rows 10000')
    plan = visits.plan(FIRST, epsilon=1, rows=10000)
    console.print(str(plan), markup=False, soft_wrap=True)

    step(
        "3. The release, next to the truth (otherwise never shown)",
        f'lapwing release {where} "{FIRST}" --epsilon 1',
    )
    answer = visits.sql(FIRST, epsilon=1)
    _beside_truth(console, answer, folder / "visits.parquet")
    console.print(f"   Charged ε = 1 of 2 to visits.ledger.  ε left: {exact.text(visits.ledger.remaining)}")

    step("4. The same question again: the same answer, free")
    again = visits.sql(FIRST, epsilon=1)
    same = "the same numbers" if again.rows == answer.rows else "different numbers"
    console.print(f"   Entry {again.entry} again, {same}.  ε left: {exact.text(visits.ledger.remaining)}")

    step("5. Other questions, within the budget", f'lapwing release {where} "{SECOND}" --epsilon 0.5')
    console.print(str(visits.sql(SECOND, epsilon="0.5")), markup=False, soft_wrap=True)
    console.print(f'$ lapwing release {where} "{THIRD}" --epsilon 0.3', style="dim", markup=False, soft_wrap=True)
    console.print(str(visits.sql(THIRD, epsilon="0.3")), markup=False, soft_wrap=True)

    step("6. When the budget is spent, questions are refused", f'lapwing release {where} "{FOURTH}" --epsilon 1')
    try:
        visits.sql(FOURTH, epsilon=1)
    except BudgetExceeded as refusal:
        console.print(f"lapwing: {refusal}", markup=False, soft_wrap=True)
    console.print(
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


def _beside_truth(console: Console, answer: Release, table: Path) -> None:
    """Print the release with the exact numbers and whether the bars contain them."""
    with duckdb.connect(":memory:") as connection:
        exactly = {
            ward: numbers
            for ward, *numbers in connection.execute(
                f"SELECT ward, COUNT(*), AVG(cost) FROM read_parquet('{table}') GROUP BY ward"  # a path of our own
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
                bar_text(value, low, high),
                report.shown(truth, high - low),
                inside,
            ]
        rows.append(cells)
    heads = ["ward", "visits", "error bar", "truth", "in bar", "cost", "error bar", "truth", "in bar"]
    console.print(report.text_table(heads, rows, {0}), markup=False, soft_wrap=True)
    console.print("   A 95 % error bar (confidence interval) contains the truth at least 19 times in 20.")
