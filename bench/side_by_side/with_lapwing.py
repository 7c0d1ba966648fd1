"""Visits and mean cost by ward with Lapwing: at most 3 visits of a patient count, ε = 1 in all."""

import lapwing as lw

visits = lw.Source(
    "visits.csv",
    name="visits",
    person="patient",
    rows_per_person=3,
    epsilon=1,  # the total, kept in a ledger on disk
    columns={"ward": lw.keys("north", "south", "harbour"), "cost": lw.number(0, 500)},
)
print(visits.release(lw.count(), by="ward", epsilon="0.5"))
print(visits.release(lw.mean("cost"), by="ward", epsilon="0.5"))
try:
    visits.release(lw.median("cost"), epsilon="0.5")
except lw.errors.BudgetExceeded as refusal:
    print(refusal)
