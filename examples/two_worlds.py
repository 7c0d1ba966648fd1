"""The promise in a picture: one person slides the curve, and at no output does it change by more than e^ε.

Above: the density of the published number if the true count is 60, and if one person more makes it 61.
Below: their ratio, which stays in the band from e^-ε to e^ε and touches its edges.
"""

from math import exp

import altair as alt
import numpy as np
import pandas as pd
from look import save

import lapwing as lw

EPSILON = 0.5
noise = lw.Laplace(lw.LaplaceMechanism(sensitivity=1, epsilon=EPSILON).scale)
outputs = np.linspace(50, 71, 211)
curves = [
    {"output": y, "density": noise.pdf(y - truth), "truth": f"the true count is {truth}"}
    for truth in (60, 61)
    for y in outputs
]
ratios = [{"output": y, "ratio": noise.pdf(y - 60) / noise.pdf(y - 61)} for y in outputs]
band = pd.DataFrame([{"from": outputs[0], "to": outputs[-1], "low": exp(-EPSILON), "high": exp(EPSILON)}])

x = alt.X("output:Q", title="published number").scale(domain=[50, 71])
above = alt.Chart(pd.DataFrame(curves), width=460, height=180).mark_line(strokeWidth=2)
above = above.encode(x, alt.Y("density:Q", title="probability density"), alt.Color("truth:N", title=None))
limits = alt.Chart(band).mark_rect(opacity=0.15)
limits = limits.encode(alt.X("from:Q").scale(domain=[50, 71]), x2="to:Q", y="low:Q", y2="high:Q")
below = alt.Chart(pd.DataFrame(ratios)).mark_line(strokeWidth=2)
below = below.encode(x, alt.Y("ratio:Q", title="ratio of the two densities").scale(domain=[0.4, 1.8]))
title = alt.Title(
    f"One person more or less, at ε = {EPSILON}",
    subtitle=f"Band: e^-ε = {exp(-EPSILON):.2f} to e^ε = {exp(EPSILON):.2f}",
)
save(alt.vconcat(above, (limits + below).properties(width=460, height=140), title=title), "two_worlds")
