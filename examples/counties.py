"""A count for each of 3,143 counties at ε = 0.1: most are off by a few, and the worst by about 86.

Noise of scale 10 for each county, drawn as a release draws it.  The typical error does not grow with the number of
counties; the largest one does, by its logarithm.
"""

import altair as alt
import numpy as np
import pandas as pd
from look import save

import lapwing as lw
from lapwing.noise.entropy import EntropyForTests

COUNTIES = 3143
mechanism = lw.LaplaceMechanism(sensitivity=1, epsilon=0.1)
drawn = lw.discrete_laplace(mechanism.scale, COUNTIES, entropy=EntropyForTests(4))  # the same on every run
errors = np.abs(drawn)
counted = pd.DataFrame({"error": np.arange(0, 120, 2)})
counted["counties"] = np.histogram(errors, bins=np.arange(0, 122, 2))[0]
counted["end"] = counted["error"] + 2
marks = pd.DataFrame(
    {
        "error": [mechanism.error.mean, mechanism.error.max_mean(COUNTIES), errors.max()],
        "what": ["mean error, expected", "largest error, expected", "largest error here"],
    }
)
marks["what"] += [f": {value:.0f}" for value in marks["error"]]
bars = alt.Chart(counted).mark_bar(opacity=0.6, binSpacing=0).encode(
    alt.X("error:Q", title="distance of a published count from the truth, people").bin("binned"), x2="end:Q",
    y=alt.Y("counties:Q", title="counties"),
)  # fmt: skip
lines = (
    alt.Chart(marks).mark_rule(strokeWidth=2.5).encode(x="error:Q", color=alt.Color("what:N", title=None, sort=None))
)
chart = (bars + lines).properties(width=460, height=220, title="3,143 counties at ε = 0.1")
save(chart, "counties")
