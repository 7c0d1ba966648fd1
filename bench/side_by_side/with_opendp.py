"""Visits and mean cost by ward with OpenDP: at most 3 visits of a patient count, ε = 1 in all."""

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
wards = pl.LazyFrame({"ward": ["north", "south", "harbour"]})

context = dp.Context.compositor(
    data=pl.scan_csv("visits.csv"),
    privacy_unit=dp.unit_of(contributions=1, identifier="patient"),
    privacy_loss=dp.loss_of(epsilon=1.0),
    split_evenly_over=2,
    margins=[dp.polars.Margin(by=["ward"], max_length=100_000)],
)
counts = context.query().truncate_per_group(3).group_by("ward").agg(dp.len(signed=True)).with_keys(wards)
print(counts.summarize(alpha=0.05))
print(counts.release().collect())

cost = pl.col("cost").fill_nan(0.0).fill_null(0.0).dp.mean((0.0, 500.0))
means = context.query().truncate_per_group(3).group_by("ward").agg(cost).with_keys(wards)
print(means.release().collect())
try:
    context.query().truncate_per_group(3).select(dp.len(signed=True)).release()
except ValueError as refusal:
    print(refusal)
