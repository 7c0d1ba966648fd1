"""Visits and mean cost by ward with diffprivlib: at most 3 visits of a patient count, ε = 1 in all."""

import csv
from pathlib import Path

from diffprivlib import BudgetAccountant, tools
from diffprivlib.utils import BudgetError

wards = ["north", "south", "harbour"]
accountant = BudgetAccountant(epsilon=1)

kept = {}  # no notion of a person: keep at most 3 rows of each patient, and divide ε by 3
for row in csv.DictReader(Path("visits.csv").read_text().splitlines()):
    kept.setdefault(row["patient"], []).append((wards.index(row["ward"]), float(row["cost"])))
rows = [row for visits in kept.values() for row in visits[:3]]

counts, _ = tools.histogram([ward for ward, _ in rows], epsilon=0.5 / 3, bins=3, range=(0, 3), accountant=accountant)
print(dict(zip(wards, counts.astype(int).tolist(), strict=True)))
for place, ward in enumerate(wards):
    costs = [cost for at, cost in rows if at == place]  # no grouping; the number of costs is used as it is
    print(ward, tools.mean(costs, epsilon=0.5 / 3, bounds=(0, 500), accountant=accountant))
print("spent by its own account", accountant.total(), "left", accountant.remaining())
try:
    tools.mean([cost for _, cost in rows], epsilon=0.5, bounds=(0, 500), accountant=accountant)
except BudgetError as refusal:
    print(refusal)
