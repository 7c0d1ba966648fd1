"""A survey with weights: part-time workers were asked more often, so each of them stands for fewer people.

Wide strokes are the 95 % error bars of the released weighted means, which contain the true ones 19 times in 20.  The
means without weights are far from them.
"""

import altair as alt
import numpy as np
import pandas as pd
from look import save

import lapwing as lw

random = np.random.default_rng(7)
regions, n = ["coast", "hills", "city", "plain"], 8000
region, part_time = random.choice(4, n), random.random(n) < 0.5
hours = np.where(part_time, random.normal(20, 4, n), random.normal(39, 3, n) + region).clip(0, 80)
weight = np.where(part_time, 100, 400 + 100 * region)  # part-timers were asked more often
asked = pd.DataFrame({"region": np.array(regions)[region], "hours": hours.round(1), "weight": weight})
survey = lw.Source(
    asked, name="survey", epsilon=1, ledger="survey.ledger",
    columns={"region": lw.keys(*regions), "hours": lw.number(0, 80, unit="hours a week"), "weight": lw.number(0, 700)},
)  # fmt: skip
answer = survey.release(lw.mean("hours", weight="weight", name="hours"), by="region", epsilon="0.2")

asked["product"] = asked["hours"] * asked["weight"]
sums = asked.groupby("region")[["product", "weight"]].sum()
kinds = {
    "true weighted mean": sums["product"] / sums["weight"],
    "mean without weights": asked.groupby("region")["hours"].mean(),
}
marks = pd.concat([means.rename("hours").reset_index().assign(kind=kind) for kind, means in kinds.items()])
x = alt.X("hours:Q", title="hours a week").scale(zero=False)
y = alt.Y("region:N", title="region", sort=regions)
bars = alt.Chart(answer.to_pandas()).mark_rule(strokeWidth=14, opacity=0.4).encode(x.copy(), y, x2="hours_high:Q")
bars = bars.encode(alt.X("hours_low:Q", title="hours a week"))
points = alt.Chart(marks).mark_point(filled=True, size=50, opacity=1)
points = points.encode(x, y, color=alt.Color("kind:N", title=None), shape=alt.Shape("kind:N", title=None))
title = alt.Title("Hours of work by region, ε = 0.2", subtitle="Wide strokes: released, 95 % error bars")
save((bars + points).properties(width=460, height=160, title=title), "survey")
