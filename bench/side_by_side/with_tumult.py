"""Visits and mean cost by ward with Tumult Analytics: at most 3 visits of a patient count, ε = 1 in all."""

from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

spark = SparkSession.builder.getOrCreate()
session = Session.from_dataframe(
    privacy_budget=PureDPBudget(1),
    source_id="visits",
    dataframe=spark.read.csv("visits.csv", header=True, inferSchema=True),
    protected_change=AddRowsWithID("patient"),
)
wards = KeySet.from_dict({"ward": ["north", "south", "harbour"]})
visits = QueryBuilder("visits").enforce(MaxRowsPerID(3)).groupby(wards)

session.evaluate(visits.count(), PureDPBudget(0.5)).show()
session.evaluate(visits.average("cost", 0, 500), PureDPBudget(0.5)).show()
print("left", session.remaining_privacy_budget)
try:
    session.evaluate(visits.count(), PureDPBudget(0.5))
except RuntimeError as refusal:
    print(refusal)
