"""The average weight of 4 and of 1,000 people, both at ε = 0.1 and with the same protection for each of them.

One person moves the average of four by up to 30 kg, and that of a thousand by up to 0.12 kg.  So the published average
of four could be anything, and that of a thousand is within a few kilograms.
"""

import altair as alt
import numpy as np
import pandas as pd
from look import save

import lapwing as lw

TRUTH, LOW, HIGH = 60, 30, 150
rows, bars = [], []
for n in (4, 1000):
    mechanism = lw.LaplaceMechanism(lw.sensitivity.mean(LOW, HIGH, n, neighbors="change_one"), epsilon=0.1)
    noise = lw.Laplace(mechanism.scale)
    people = f"{n:,} people, λ = {float(mechanism.scale):g} kg"
    rows += [{"average": y, "density": noise.pdf(y - TRUTH), "people": people} for y in np.linspace(40, 80, 401)]
    inside = noise.cdf(5) - noise.cdf(-5)
    bars.append({"people": people, "text": f"within 5 kg of the truth: {100 * inside:.1f} %"})

x = alt.X("average:Q", title="published average, kg (the true one is 60)")
curve = alt.Chart(pd.DataFrame(rows)).mark_area(opacity=0.5, line=True).encode(x, alt.Y("density:Q", title="density"))
panels = [
    (curve.transform_filter(alt.datum.people == each["people"])).properties(
        width=460, height=110, title=alt.Title(each["people"], subtitle=each["text"], fontSize=13)
    )
    for each in bars
]
chart = alt.vconcat(*panels, title="The average weight, published at ε = 0.1").resolve_scale(y="shared")
save(chart, "weights")
