"""Visits and mean cost by ward with SmartNoise SQL: at most 3 visits of a patient count, ε = 1 in all."""

import pandas as pd
import snsql

metadata = {
    "": {
        "clinic": {
            "visits": {
                "max_ids": 3,
                "censor_dims": False,  # the wards are public
                "patient": {"type": "int", "private_id": True},
                "ward": {"type": "string"},
                "cost": {"type": "float", "lower": 0, "upper": 500},
            }
        }
    }
}
visits = pd.read_csv("visits.csv")
counts = "SELECT ward, COUNT(*) AS n FROM clinic.visits GROUP BY ward"
means = "SELECT ward, AVG(cost) AS cost FROM clinic.visits GROUP BY ward"
for question, epsilon in ((counts, 0.5), (means, 0.25)):  # ε is for each noisy column; a mean is made of two
    reader = snsql.from_df(visits, privacy=snsql.Privacy(epsilon=epsilon), metadata=metadata)
    print("this costs ε, δ =", *reader.get_privacy_cost(question))
    for row in reader.execute(question):
        print(row)
    print("spent by this reader: ε, δ =", *reader.odometer.spent)
