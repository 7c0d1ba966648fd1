"""What it costs to protect people instead of rows: the error bar of a count grows with the rows of one person.

Protecting rows hides that someone came on one day.  Protecting people hides that they ever came.  Computed by a plan,
before any data is read.
"""

import altair as alt
import pandas as pd
from look import save

import lapwing as lw

table = pd.DataFrame({"patient": ["a", "b"], "cost": [100, 250]})  # a plan does not read it
columns = {"cost": lw.number(0, 1000)}
by_row = lw.Source(table, name="visits", columns=columns)
by_person = lw.Source(table, name="visits", columns=columns, person="patient", rows_per_person=1)
rows = []
for most in range(1, 21):
    for what, plan in (
        ("each row is protected", by_row.plan(lw.count(), epsilon=1)),
        ("each person is protected", by_person.plan(lw.count(), epsilon=1, rows_per_person=most)),
    ):
        rows.append({"most": most, "bar": float(plan.forecasts[0].margin), "what": what})

chart = (
    alt.Chart(pd.DataFrame(rows), width=460, height=240, title="A count of visits at ε = 1")
    .mark_line(point=True, strokeWidth=2)
    .encode(
        alt.X("most:Q", title="visits of one person that count, at most").scale(domain=[1, 20], nice=False),
        alt.Y("bar:Q", title="95 % error bar, ± visits"),
        alt.Color("what:N", title=None),
    )
)
save(chart, "people_or_rows")
