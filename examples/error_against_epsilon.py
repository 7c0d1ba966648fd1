"""The error to expect against ε, before any data is read: the picture of a plan.

Half the ε is twice the error.  The mark is the ε of the plan; the right panel has the rows.
"""

import pandas as pd

import lapwing as lw

visits = lw.Source(
    pd.DataFrame({"cost": [100.0, 250.0]}),  # a plan does not read it
    name="visits",
    columns={"cost": lw.number(0, 1000, unit="euro")},
)
plan = visits.plan(lw.mean("cost"), epsilon="0.5", rows=2000)
plan.plot().save("error_against_epsilon.svg")
