"""Visits and mean cost by ward with PipelineDP: at most 3 visits of a patient count, ε = 1 in all."""

import csv
import operator
from pathlib import Path

import pipeline_dp

lines = csv.DictReader(Path("visits.csv").read_text().splitlines())
rows = [(row["patient"], row["ward"], float(row["cost"])) for row in lines]
accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-10)
engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
extractors = pipeline_dp.DataExtractors(
    privacy_id_extractor=operator.itemgetter(0),
    partition_extractor=operator.itemgetter(1),
    value_extractor=operator.itemgetter(2),
)
params = pipeline_dp.AggregateParams(
    noise_kind=pipeline_dp.NoiseKind.LAPLACE,
    metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.MEAN],
    max_contributions=3,
    min_value=0,
    max_value=500,
)
answer = engine.aggregate(rows, params, extractors, public_partitions=["north", "south", "harbour"])
accountant.compute_budgets()  # divides ε between the metrics; only now can the answer be read
for ward, metrics in answer:
    print(ward, metrics)
try:
    engine.aggregate(rows, params, extractors, public_partitions=["north", "south", "harbour"])
except Exception as refusal:
    print(refusal)
