"""Four Laplace densities: with twice the scale λ, half the peak and twice the width.

The noise of a release has this shape.  λ is the sensitivity divided by ε: the mean distance from the truth.
"""

import altair as alt
import numpy as np
import pandas as pd
from look import save

import lapwing as lw

rows = [
    {"noise": x, "density": lw.Laplace(scale).pdf(x), "scale": f"λ = {scale}"}
    for scale in (1, 2, 4, 7)
    for x in np.linspace(-12, 12, 193)
]
chart = (
    alt.Chart(pd.DataFrame(rows), title="Laplace noise of four scales", width=460, height=240)
    .mark_line(strokeWidth=2)
    .encode(
        alt.X("noise:Q", title="noise, in units of the answer"),
        alt.Y("density:Q", title="probability density"),
        alt.Color("scale:N", title=None),
    )
)
save(chart, "densities")
