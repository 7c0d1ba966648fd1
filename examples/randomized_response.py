"""How many people are needed for a wanted error of a share, with a trusted collector and without one.

With the Laplace mechanism the error falls as 1/n.  With randomized response, where people flip their own answers and
nobody ever holds the true ones, it falls as 1/√n.
"""

import altair as alt
import pandas as pd
from look import save

import lapwing as lw

NAMES = {"laplace": "Laplace, a trusted collector", "randomized_response": "randomized response, nobody is trusted"}
rows = [
    {"error": float(error) * 100, "people": lw.size_for(error, 1, method), "method": name}
    for error in ("0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1")
    for method, name in NAMES.items()
]
chart = (
    alt.Chart(pd.DataFrame(rows), width=460, height=240, title="People needed for a share, at ε = 1")
    .mark_line(point=True, strokeWidth=2)
    .encode(
        alt.X("error:Q", title="wanted error (root mean square), percentage points")
        .scale(type="log")
        .axis(values=[0.1, 0.2, 0.5, 1, 2, 5, 10]),
        alt.Y("people:Q", title="people").scale(type="log").axis(values=[10, 100, 1000, 10_000, 100_000, 1_000_000]),
        alt.Color("method:N", title=None),
    )
)
save(chart, "randomized_response")
