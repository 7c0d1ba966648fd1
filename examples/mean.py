"""Two ways to release a mean: a noisy sum over a noisy count, as in textbooks, and the two sums that Lapwing measures.

Lapwing measures how far all values are above the lower bound and below the upper one.  One person moves both together
by no more than the range, so ε need not be split.  Here: costs of 0 to 1,000 euro, 20,000 releases for each number.
"""

import altair as alt
import numpy as np
import pandas as pd
from look import save

LOW, HIGH, EPSILON, DRAWS = 0.0, 1000.0, 1.0, 20_000
random = np.random.default_rng(1)  # to look at laws; a release draws exact integers
rows = []
for n in (50, 100, 200, 500, 1000, 2000, 5000):
    values = np.clip(random.normal(500, 120, n), LOW, HIGH)
    noise = random.laplace(0, 1, (4, DRAWS))
    textbook = (values.sum() + noise[0] * HIGH / (EPSILON / 2)) / (n + noise[1] / (EPSILON / 2))
    above, below = ((values - LOW).sum() + noise[2] * HIGH / EPSILON, (HIGH - values).sum() + noise[3] * HIGH / EPSILON)
    both = LOW + (HIGH - LOW) * above / (above + below)
    for name, means in (("a sum and a count, ε/2 each", textbook), ("two sums, ε for both", both)):
        rows.append({"rows": n, "error": np.median(np.abs(means - values.mean())), "how": name})

chart = (
    alt.Chart(pd.DataFrame(rows), width=460, height=240, title="The mean of n costs at ε = 1")
    .mark_line(point=True, strokeWidth=2)
    .encode(
        alt.X("rows:Q", title="rows (n)")
        .scale(type="log", nice=False)
        .axis(values=[50, 100, 200, 500, 1000, 2000, 5000]),
        alt.Y("error:Q", title="median error, euro").scale(type="log").axis(values=[0.2, 0.5, 1, 2, 5, 10, 20, 50]),
        alt.Color("how:N", title=None),
    )
)
save(chart, "mean")
