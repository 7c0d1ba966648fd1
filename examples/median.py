"""The error bar of a median: chosen by rank, it shrinks with more rows; with plain noise it stays as wide as ever.

One person can move a median by the whole range, so plain Laplace noise has that scale whatever the number of rows.
Selection (permute-and-flip) chooses a value whose rank is near the middle instead.
"""

import altair as alt
import numpy as np
import pandas as pd
from look import save

import lapwing as lw
from lapwing.noise.entropy import EntropyForTests

TOP = 200_000
plain = lw.Laplace(lw.LaplaceMechanism(sensitivity=TOP, epsilon=1).scale).margin("0.95")
rows = []
for n in (100, 300, 1000, 3000, 10_000, 30_000):
    incomes = pd.DataFrame({"income": np.random.default_rng(n).lognormal(10.3, 0.6, n)})
    people = lw.Source(incomes, name="people", columns={"income": lw.number(0, TOP)}, epsilon=1, ledger=f"{n}.ledger")
    median = people.release(lw.median("income"), epsilon=1, entropy=EntropyForTests(n))["median_income"]
    rows.append({"rows": n, "bar": (median.high[0] - median.low[0]) / 2, "how": "chosen by rank"})
    rows.append({"rows": n, "bar": plain, "how": "plain noise"})

chart = (
    alt.Chart(pd.DataFrame(rows), width=460, height=240, title="The median of n incomes at ε = 1")
    .mark_line(point=True, strokeWidth=2)
    .encode(
        alt.X("rows:Q", title="rows (n)")
        .scale(type="log", nice=False)
        .axis(values=[100, 300, 1000, 3000, 10_000, 30_000]),
        alt.Y("bar:Q", title="half the 95 % error bar, euro")
        .scale(type="log")
        .axis(values=[100, 1000, 10_000, 100_000, 1_000_000]),
        alt.Color("how:N", title=None),
    )
)
save(chart, "median")
