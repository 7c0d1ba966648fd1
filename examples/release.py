"""The picture of a release: a point and a 95 % error bar for each group, drawn by ``answer.plot()``.

Two statistics, each on an axis of its own, with the units of the source.
"""

import numpy as np
import pandas as pd

import lapwing as lw

random = np.random.default_rng(9)
wards = ["surgery", "maternity", "children", "heart", "eyes"]
ward = random.choice(wards, 3000, p=[0.4, 0.25, 0.2, 0.13, 0.02])
visits = lw.Source(
    pd.DataFrame({"ward": ward, "cost": random.gamma(4, 150, 3000).clip(0, 3000)}),
    name="visits",
    columns={"ward": lw.keys(*wards), "cost": lw.number(0, 3000, unit="euro", title="cost of a visit")},
    epsilon=1,
    ledger="release.ledger",
)
answer = visits.release(lw.count(), lw.mean("cost"), by="ward", epsilon="0.5")
answer.plot().save("release.svg")
