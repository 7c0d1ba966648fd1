"""COUNT(DISTINCT person): asked in Python and SQL, refused where it means nothing, and released with error bars."""

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.release.recall import recall


def source_of(folder, k=2, **options):
    """102 people; each is in one, two or four of four groups, with two rows in each."""
    rows = [(p, g) for p in range(102) for g in range(4) if g < (1, 2, 4)[p % 3]]
    frame = pd.DataFrame([each for row in rows for each in (row, row)], columns=["patient", "clinic"])
    described = {"person": "patient", "rows_per_person": k, "columns": {"clinic": lw.keys(0, 1, 2, 3)}} | options
    return lw.Source(frame, name="visits", epsilon=1000, ledger=folder / "l", **described)


@pytest.mark.usefixtures("frozen_noise")
def test_the_number_of_people_is_whole_and_its_noise_does_not_grow_with_rows_per_person(tmp_path):
    source = source_of(tmp_path, k=50)
    plan = source.plan(lw.people(), epsilon=1)
    assert (plan.forecasts[0].sensitivity, plan.forecasts[0].claim) == (1, "P7")
    answer = source.release(lw.people(), epsilon=400)
    assert answer.rows == [{"people": {"value": 102, "low": 102, "high": 102, "noise": "low"}}]


@pytest.mark.usefixtures("frozen_noise")
def test_people_in_many_groups_count_less_in_each(tmp_path):
    answer = source_of(tmp_path).release(lw.people(), by="clinic", epsilon=400)
    assert [row["people"]["value"] for row in answer.rows] == [85, 51, 17, 17]  # 34 + 34 + 34/2, …
    whole = source_of(tmp_path, k=4).release(lw.people(), by="clinic", epsilon=400)
    assert [row["people"]["value"] for row in whole.rows] == [102, 68, 34, 34]


@pytest.mark.usefixtures("frozen_noise")
def test_sql_and_python_are_one_question(tmp_path):
    source = source_of(tmp_path)
    one = source.sql("SELECT clinic, COUNT(DISTINCT Patient) AS n FROM visits GROUP BY clinic", epsilon=1)
    again = source.release(lw.people(name="n"), by="clinic", epsilon=1)
    assert again.repeated
    assert again.rows == one.rows
    assert one.plan.query.text == 'SELECT COUNT(DISTINCT "patient") FROM "visits" GROUP BY "clinic"'
    assert recall(source.schema, source.ledger, one.entry).estimates["n"].value.tolist() == [
        row["n"]["value"] for row in one.rows
    ]


def test_what_cannot_be_counted_is_refused_with_advice(tmp_path):
    source = source_of(tmp_path)
    for text in ("COUNT(DISTINCT clinic)", "COUNT(DISTINCT patient, clinic)"):
        with pytest.raises(errors.UnsupportedQuery, match='COUNT\\(DISTINCT "patient"\\) is the number of people'):
            source.sql(f"SELECT {text} FROM visits", epsilon=1)
    with pytest.raises(errors.UnsupportedQuery):
        source.sql("SELECT SUM(DISTINCT clinic) FROM visits", epsilon=1)
    rows = lw.Source(pd.DataFrame({"x": [1]}), name="t", columns={}, epsilon=1, ledger=tmp_path / "m")
    for ask in (
        lambda: rows.plan(lw.people(), epsilon=1),
        lambda: rows.sql("SELECT COUNT(DISTINCT x) FROM t", epsilon=1),
    ):
        with pytest.raises(errors.UnsupportedQuery, match=r"every row is one person: ask for COUNT\(\*\)"):
            ask()
    assert [*tmp_path.iterdir()] == []  # nothing was charged: a charge would have made a ledger


@pytest.mark.usefixtures("frozen_noise")
def test_people_without_rows_that_count_are_not_counted(tmp_path):
    source = source_of(tmp_path, columns={"clinic": lw.keys(2, 3)})
    answer = source.release(lw.people(), by="clinic", epsilon=400)
    assert [row["people"]["value"] for row in answer.rows] == [34, 34]  # in two groups that are listed: in full
    assert (
        source.declare(clinic=lw.keys(1, 2, 3))
        .release(lw.people(), where="clinic = 1", epsilon=400)
        .rows[0]["people"]["value"]
        == 68
    )
