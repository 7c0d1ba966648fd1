"""Groups that WHERE excludes are not asked: what is left, by brute force, in every kind of table, and what is said."""

from datetime import date, timedelta
from itertools import product

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.plan.planning import make_plan
from lapwing.question.sql import make_query
from lapwing.release.columns import key_columns
from lapwing.release.pipeline import question
from lapwing.release.recall import recall
from lapwing.source import release_planned

DAYS = [date(2020, 1, 1) + timedelta(days=i) for i in range(2192)]
TOWNS = {"north": ["a", "b"], "south": ["c"]}
COLUMNS = {
    "d": lw.dates("2020-01-01", "2025-12-31"),
    "seen": "date",
    "town": lw.keys("a", "b", "c", within={"region": TOWNS}),
    "code": lw.keys(1, 2, 3, other="rest", labels=["one", "two", "three"]),
    "day": lw.keys(date(2024, 1, 1), date(2024, 1, 2), other="later"),
    "age": lw.number(0, 100),
    "band": lw.number(0, 100, edges=[0, 18, 65, 100]),
    "flag": lw.keys(False, True),
    "old": lw.expression("CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END"),
    "sized": lw.recode("code", {1: "small", 2: "small", 3: "large"}, other="unknown"),
}


def rows():
    """Return rows of all combinations that matter: every value beside every other one of its own column's limits."""
    ages = [None, -1.0, 0.0, 17.9, 18.0, 40.0, 64.0, 65.0, 66.0, 100.0, 130.0]
    codes, towns = [None, 1, 2, 3, 4, -9], [None, "a", "b", "c", "z"]
    days = [None, date(2024, 1, 1), date(2024, 1, 2), date(2023, 5, 5)]
    others = list(zip(days, [None, True, False, True], strict=True))
    found = [
        {"d": None, "town": town, "code": code, "day": day, "age": age, "band": age, "flag": flag}
        for town, code, (day, flag), age in product(towns, codes, others, ages)
    ]
    for i, row in enumerate(found):
        row["d"] = row["seen"] = [None, date(2019, 12, 31), date(2026, 1, 1), *DAYS][i * 7 % (len(DAYS) + 3)]
    return pd.DataFrame(found).astype({"code": "Int64", "flag": "boolean"})


@pytest.fixture(scope="module")
def source():
    return lw.Source(rows(), name="t", columns=COLUMNS)


def counts(source, by, where, **options):
    """Return the keys that are asked for, and the exact number of rows of each."""
    plan = make_plan(source.schema, make_query([lw.count()], by, where, source.schema), epsilon=1, **options)
    groups, found = (each.tolist() for each in source._table.tally(plan.schema, plan.lowered).sums)
    keys = list(product(*(each.values for each in key_columns(plan) if each.is_key)))
    return dict.fromkeys(keys, 0) | {keys[group]: rows for group, rows in zip(groups, found, strict=True)}


MONTH, BINS = "DATE_TRUNC('month', d)", [0, 18, 65, 80]
CASES = [
    (MONTH, "d BETWEEN '2024-02-10' AND '2024-04-01'", 3),
    (MONTH, "d > '2024-02-29' AND d < '2024-04-01'", 1),
    (MONTH, "EXTRACT(YEAR FROM d) IN (2021, 2023) AND age > 3", 24),
    (MONTH, "DATE_TRUNC('quarter', d) = DATE '2024-04-01'", 3),
    (MONTH, f"{MONTH} >= DATE '2025-06-01'", 7),
    (MONTH, "d < '2020-03-01' OR d >= '2025-12-01'", 3),
    (MONTH, "d < '2020-03-01' OR age > 3", 72),
    (MONTH, "NOT (d >= '2020-03-01')", 2),
    (MONTH, "d IS NOT NULL", 72),
    (MONTH, "d - DATE '2020-01-01' < 9", 72),
    ("DATE_TRUNC('week', d)", "d <= '2020-01-05'", 1),
    ("DATE_TRUNC('day', d)", "d <= '2020-01-05'", 5),
    ("EXTRACT(YEAR FROM d)", "d >= '2024-12-31'", 2),
    ("EXTRACT(MONTH FROM d)", "d BETWEEN '2024-12-05' AND '2025-02-03'", 3),
    ("EXTRACT(ISODOW FROM d)", "d IN (DATE '2024-01-01', DATE '2024-01-08', DATE '2024-01-03')", 2),
    ("EXTRACT(MONTH FROM seen)", "EXTRACT(MONTH FROM seen) >= 3", 10),
    ("EXTRACT(MONTH FROM seen)", "seen >= '2021-06-01'", 12),
    ("EXTRACT(ISODOW FROM seen)", "age > 3", 7),
    ("town", "town IN ('a', 'b')", 2),
    ("town", "town = 'a'", 1),
    ("town", "town <> 'a'", 2),
    ("town", "town NOT IN ('a', 'c')", 1),
    ("town", "NOT (town = 'a' OR town = 'b')", 1),
    ("town", "town < 'b'", 3),
    ("town", "region = 'north' AND age > 17", 2),
    ("region", "town <> 'c'", 1),
    ("code", "code IN (1, 3)", 2),
    ("code", "code = 4", 1),
    ("code", "code <> 2", 3),
    ("code", "code > 1", 3),
    ("code", "code >= 1 AND code < 3", 3),
    ("code", "code IS NULL", 1),
    ("code", "code IS NOT NULL AND NOT (code = 1)", 3),
    ("sized", "code = 3 OR code = 2", 2),
    ("code", "sized = 'small'", 2),
    ("sized", "sized <> 'small'", 2),
    ("day", "day = DATE '2024-01-02'", 1),
    ("day", "day > DATE '2024-01-01'", 2),
    ("day", "day < DATE '2024-01-01'", 1),
    ("flag", "flag", 1),
    ("flag", "flag IS NOT NULL", 2),
    ("band", "band >= 65", 1),
    ("band", "band < 18 OR band = 20", 2),
    ("band", "band < 18 OR band > 64", 3),
    ("band", "band <= 18", 2),
    ("old", "age >= 18", 2),
    ("old", "age > 64", 2),
    ("old", "old <> 'old'", 2),
    ("FLOOR(age / 10) * 10", "FLOOR(age / 10) * 10 >= 60", 5),
    ("FLOOR(age / 10)", "age >= 65", 11),
]  # fmt: skip


@pytest.mark.parametrize(("by", "where", "groups"), CASES)
def test_groups_that_a_condition_excludes_are_not_asked_and_all_others_have_the_same_rows(source, by, where, groups):
    every, asked = counts(source, by, where, all_groups=True), counts(source, by, where)
    assert len(asked) == groups
    assert list(asked) == [key for key in every if key in asked]
    assert {key: rows for key, rows in every.items() if key not in asked} == {
        key: 0 for key in every if key not in asked
    }
    assert asked == {key: every[key] for key in asked}


@pytest.mark.parametrize("person", [None, "town"])
def test_groups_of_several_keys_and_of_people_are_narrowed_alike(person):
    people = {} if person is None else {"person": person, "rows_per_person": 3}
    columns = {name: each for name, each in COLUMNS.items() if name != person}
    source = lw.Source(rows(), name="t", columns=columns, **people)
    for by, where, groups in (
        (["code", "band"], "code <> 2 AND band < 18", 3),
        ([MONTH, "code"], "d < '2020-02-01' AND (code = 1 OR age > 3)", 4),
        (["flag", "old"], "age < 65 AND flag", 2),
    ):
        every, asked = counts(source, by, where, all_groups=True), counts(source, by, where)
        assert len(asked) == groups
        assert asked == {key: rows for key, rows in every.items() if key in asked}
        assert sum(asked.values()) == sum(every.values())


def test_tables_that_add_up_lose_the_groups_on_their_axes(tmp_path, frozen_noise):
    source = lw.Source(rows(), name="t", columns=COLUMNS, epsilon=900, ledger=tmp_path / "l")
    answer = source.sql(
        "SELECT region, town, COUNT(*) FROM t WHERE town IN ('a', 'c') GROUP BY ROLLUP (region, town)", epsilon=90
    )
    keys = [(row["region"], row["town"]) for row in answer.rows]
    assert keys == [(None, None), ("north", None), ("south", None), ("north", "a"), ("south", "c")]
    answer = source.sql(
        "SELECT region, town, COUNT(*) FROM t WHERE region = 'south' GROUP BY CUBE (region, town)", epsilon=90
    )
    assert [(row["region"], row["town"]) for row in answer.rows] == [(None, None), ("south", None), ("south", "c")]
    answer = source.sql(
        "SELECT code, band, COUNT(*) FROM t WHERE code <> 1 AND band >= 18 GROUP BY CUBE (code, band)", epsilon=90
    )
    assert len(answer.rows) == (3 + 1) * (2 + 1)
    assert {row["code_label"] for row in answer.rows} == {None, "two", "three", "rest"}


def test_a_condition_that_leaves_no_group_is_refused(source):
    with pytest.raises(errors.InvalidRequest, match='The condition leaves no group of "town"'):
        source.plan(lw.count(), by="town", where="town = 'a' AND town = 'b'", epsilon=1)


def test_noise_covers_fewer_cells_and_the_plan_says_which_are_asked(source):
    plan = source.plan(lw.count(), by=MONTH, where="d BETWEEN '2024-01-01' AND '2024-12-31'", epsilon=1)
    assert plan.groups == plan.to_dict()["groups"] == 12
    said = "Of DATE_TRUNC('month', d), 12 of 72 groups are asked: the condition leaves no rows for the others."
    assert said in str(plan)
    assert not any("Rows without a value" in each for each in plan.not_counted)
    every = source.plan(lw.count(), by=MONTH, epsilon=1)
    assert plan.forecasts[0].simultaneous_margin < every.forecasts[0].simultaneous_margin


def test_the_record_has_the_groups_and_an_answer_with_all_groups_is_shown_as_it_is(tmp_path, frozen_noise):
    source = lw.Source(rows(), name="t", columns=COLUMNS, epsilon=9, ledger=tmp_path / "l")
    asked = source.plan(lw.count(), by="band", where="band >= 18", epsilon=1)
    assert question(asked)["groups"] == {"band": [1, 2]}
    release_planned(source, make_plan(source.schema, asked.query, epsilon=1, all_groups=True))
    source.release(lw.count(), by="band", where="band >= 18", epsilon=1)
    entries = [entry.number for entry in source.ledger.entries() if entry.kind == "charge"]
    names = [[row["band"] for row in recall(source.schema, source.ledger, entry).rows] for entry in entries]
    assert names == [["[0, 18)", "[18, 65)", "[65, 100]"], ["[18, 65)", "[65, 100]"]]
    assert source.release(lw.count(), by="band", where="band >= 18", epsilon=1).repeated


def test_histograms_are_narrowed_and_distribution_functions_are_not(source):
    assert source.plan(lw.histogram("age", BINS), where="age < 18", epsilon=1).groups == 1
    assert source.plan(lw.cdf("age", BINS), where="age < 18", epsilon=1).groups == 4


def test_keys_of_a_look_up_keep_all_groups():
    look_up = pd.DataFrame({"t": ["a", "b", "c"], "region": ["north", "north", "south"]})
    joined = lw.join(look_up, public=True, on={"town": "t"}, columns=["region"])
    columns = {"town": lw.keys("a", "b", "c", within="region"), "region": lw.keys("north", "south")}
    source = lw.Source(rows(), name="t", columns=columns, joins=[joined])
    plan = source.plan(lw.count(), by=lw.rollup("region", "town"), where="town = 'a'", epsilon=1)
    assert plan.groups == 1 + 2 + 3


def test_bounds_are_searched_in_all_bins_whatever_the_condition(tmp_path, frozen_noise):
    source = lw.Source(rows(), name="t", columns=COLUMNS, epsilon=9, ledger=tmp_path / "l")
    source.bounds("age", where="age > 3", epsilon=1)
    (entry,) = (entry for entry in source.ledger.entries() if entry.kind == "charge")
    assert "groups" not in entry.question
