"""Dates beyond the first and last of their column: missing where they name a group, the nearest end in days between.

500 days from 2023-12-01 on; the range is the 52 whole weeks from Monday 2024-01-01 to Sunday 2024-12-29, so that each
of its weekdays has 52 rows, with 31 rows before it and 105 after.
"""

from datetime import date, timedelta

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.question.schema import make_schema
from lapwing.release import account

from ...tables import plan_of

DAYS = [date(2023, 12, 1) + timedelta(days=i) for i in range(500)]
TABLE = pd.DataFrame({"d": DAYS, "e": date(2024, 6, 30)})
YEAR = lw.dates("2024-01-01", "2024-12-29")
COLUMNS = {"d": YEAR, "e": lw.dates("2024-01-01", "2024-12-31")}
SCHEMA = make_schema("t", COLUMNS, None, None, "add_remove", None)


def counts(by=None, where=None, **more):
    """Return the exact number of rows of each group that occurs."""
    source = lw.Source(TABLE, name="t", **{"columns": COLUMNS, **more})
    plan = source.plan(lw.count(), by=by, where=where, epsilon=1)
    groups, rows = (each.tolist() for each in source._table.tally(plan.schema, plan.lowered).sums)
    return [row for _, row in sorted(zip(groups, rows, strict=True))]


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("EXTRACT(ISODOW FROM d)", [52] * 7),
        ("EXTRACT(YEAR FROM d)", [364]),
        ("EXTRACT(MONTH FROM d)", [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 29]),
        ("DATE_TRUNC('week', d)", [7] * 52),
        ("DATE_TRUNC('day', d)", [1] * 364),
        ("DATE_TRUNC('quarter', d)", [91, 91, 92, 90]),
        ("EXTRACT(YEAR FROM d + 2)", [364]),
        ("CASE WHEN d < '2024-07-01' THEN 'early' ELSE 'late or missing' END", [182, 318]),
    ],
)
def test_T51_dates_beyond_their_range_are_in_no_group(by, rows):
    assert counts(by) == rows


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("d >= DATE '2023-01-01'", 364),
        ("NOT (d < DATE '2024-07-01')", 182),
        ("d <> DATE '2024-03-01'", 363),
        ("d IN (DATE '2024-01-01', DATE '2024-12-29')", 2),
        ("d IS NULL", 136),
        ("d = d", 364),
        ("d <= e", 182),
        ("EXTRACT(YEAR FROM d) = 2024", 364),
        ("DATE_TRUNC('year', d) IS NULL", 136),
        ("d + 7 > e", 189),
        ("CASE WHEN d > '2024-12-27' THEN 1 ELSE 0 END = 1", 2),
        ("d - DATE '2024-12-29' = 0", 106),
        ("DATEDIFF('day', d, e) = 181", 32),
    ],
)
def test_T51_dates_beyond_their_range_are_missing_in_conditions_and_the_nearest_in_days_between(where, rows):
    assert sum(counts(where=where)) == rows


def test_T51_a_date_beyond_its_range_counts_under_the_other_of_a_recode():
    columns = {"d": YEAR, "r": lw.recode("d", {date(2024, 1, 1): "new year"}, other="rest")}
    assert counts("r", columns=columns) == [1, 499]


def test_T51_a_date_beyond_its_range_has_no_partner_in_a_look_up():
    holidays = pd.DataFrame({"day": [date(2024, 1, 1), date(2025, 1, 1)], "holiday": ["yes", "yes"]})
    joined = lw.join(holidays, public=True, on={"d": "day"}, columns=["holiday"])
    assert counts("holiday", columns={"d": YEAR, "holiday": lw.keys("yes")}, joins=[joined]) == [1]


def test_what_dates_beyond_their_range_count_as_is_said_by_plan_and_release_and_account(tmp_path, frozen_noise):
    said = (
        "d before 2024-01-01 or after 2024-12-29 counts as missing; in days between two dates, as the nearest of these."
    )
    source = lw.Source(TABLE, name="t", columns=COLUMNS, epsilon=9, ledger=tmp_path / "l")
    for asked in ({"by": "EXTRACT(ISODOW FROM d)"}, {"where": "d > '2024-03-01'"}, {"where": "d - e > 3"}):
        assert said in str(source.plan(lw.count(), **asked, epsilon=1))
        answer = source.release(lw.count(), **asked, epsilon=1)
        assert said in answer.to_text()
        assert said in account.rules(answer)
    assert said not in str(source.plan(lw.count(), epsilon=1))


@pytest.mark.parametrize("asked", [{"where": "d > '2024-03-01'"}, {"by": "EXTRACT(MONTH FROM d)"}])
def test_another_range_of_dates_is_another_question(asked, tmp_path, frozen_noise):
    for left, last in ((8, "2024-12-29"), (8, "2024-12-29"), (7, "2024-12-30")):
        columns = {**COLUMNS, "d": lw.dates("2024-01-01", last)}
        source = lw.Source(TABLE, name="t", columns=columns, epsilon=9, ledger=tmp_path / "l")
        source.release(lw.count(), **asked, epsilon=1)
        assert source.ledger.remaining == left


def test_another_range_of_dates_is_another_question_where_keys_are_searched(tmp_path, frozen_noise):
    table = TABLE.assign(k="a")
    for left, last in ((8, "2024-12-29"), (8, "2024-12-29"), (7, "2024-12-30")):
        columns = {"d": lw.dates("2024-01-01", last), "k": "text"}
        source = lw.Source(table, name="t", columns=columns, epsilon=9, delta="1e-6", ledger=tmp_path / "l")
        source.discover("k", where="d > '2024-03-01'", epsilon=1, delta="1e-7")
        assert source.ledger.remaining == left


@pytest.mark.parametrize("where", ["d = '2025-01-01'", "d <> '2023-12-31'", "d IN ('2024-01-01', '2025-01-01')"])
def test_a_date_that_cannot_occur_is_refused(where):
    with pytest.raises(errors.InvalidRequest, match="which is not from 2024-01-01 to 2024-12-29"):
        plan_of(SCHEMA, (lw.count(),), (), where)


@pytest.mark.parametrize(
    ("last", "above", "what"),
    [
        ("2025-12-31", "none", None),
        ("2024-12-29", "many", "dates beyond first and last count as missing"),
        ("2023-11-30", "all", "every date lies beyond first and last, and counts as missing"),
    ],
)
def test_check_looks_at_dates_beyond_their_range(last, above, what):
    found = lw.check(lw.Source(TABLE, name="t", columns={"d": lw.dates("2023-01-01", last)}, ledger=None))
    (column,) = found.columns
    assert (column.below, column.above) == ("none", above)
    assert [each.what for each in found.advice] == ([] if what is None else [what])
    assert found.wrong == (above == "all")
