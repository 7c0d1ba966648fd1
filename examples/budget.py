"""A budget that runs out: each release is charged before the data is read, and the one that does not fit is refused.

The picture is that of the ledger: what was spent, and what is left of the total.
"""

import pandas as pd

import lapwing as lw

visits = lw.Source(
    pd.DataFrame({"ward": ["north", "south", "harbour"] * 400, "cost": range(1200)}),
    name="visits",
    columns={"ward": lw.keys("north", "south", "harbour"), "cost": lw.number(0, 1200, unit="euro")},
    epsilon=1,
    ledger="budget.ledger",
)
for statistic in (lw.count(), lw.mean("cost"), lw.median("cost"), lw.max("cost")):
    try:
        visits.release(statistic, by="ward", epsilon="0.3")
    except lw.errors.BudgetExceeded as refusal:
        print(refusal)
visits.ledger.plot().save("budget.svg")
