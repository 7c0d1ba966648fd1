"""SQL as people write it: what means the same as a longer form, and what a refusal says to write instead."""

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors

pytestmark = pytest.mark.usefixtures("frozen_noise")

AGES = [(7 * i) % 111 for i in range(400)]
FRAME = pd.DataFrame(
    {
        "ward": ["north", "south"] * 200,
        "age": [*AGES[:-1], None],
        "cost": [float(i % 100) for i in range(400)],
        "day": ["2024-03-01", "2024-04-01"] * 200,
    }
)
COLUMNS = {
    "ward": lw.keys("north", "south"),
    "age": lw.number(0, 110, integer=True),
    "cost": lw.number(0, 100),
    "day": lw.dates("2024-01-01", "2024-12-31"),
    "seen": "date",
}


@pytest.fixture
def source(tmp_path):
    return lw.Source(FRAME, name="t", columns=COLUMNS, epsilon=900, ledger=tmp_path / "t.ledger")


def refusal(source, text):
    with pytest.raises(errors.UnsupportedQuery) as refused:
        source.plan(text, epsilon=1)
    return str(refused.value)


# --- FLOOR(age / 10) * 10 ---

TENS = '10 * FLOOR(0.1 * "age")'


@pytest.mark.parametrize(
    ("select", "group", "canonical"),
    [
        ("FLOOR(age/10)*10 AS g, ", "FLOOR(age/10)*10", TENS),
        ("10*FLOOR(age/10) AS g, ", "g", TENS),
        ("FLOOR(age/10)*10 AS g, ", "1", TENS),
        ("(FLOOR(age * 0.1)) * 10 AS g, ", "10 * FLOOR(age / 10)", TENS),
        ("", "FLOOR(age/10)*10", TENS),
        ("ROUND(age, -1) AS g, ", "g", '10 * ROUND(0.1 * "age")'),
    ],
)
def test_multiples_are_public_keys(source, select, group, canonical):
    answer = source.sql(f"SELECT {select}COUNT(*) AS n FROM t GROUP BY {group}", epsilon=100)
    assert answer.plan.query.text == f'SELECT COUNT(*) FROM "t" GROUP BY {canonical}'
    half = 5 if "ROUND" in canonical else 0
    due = {key: sum((age + half) // 10 * 10 == key for age in AGES[:-1]) for key in range(0, 111, 10)}
    key = "g" if select else answer.keys[0]
    assert {row[key]: row["n"]["value"] for row in answer.rows} == due
    assert answer.flat()[key] == [*range(0, 111, 10)]


def test_multiples_are_the_groups_of_bin_and_one_question_however_they_are_written(source):
    first = source.sql("SELECT FLOOR(cost/20)*20 AS g, AVG(age) AS a FROM t GROUP BY g", epsilon=100)
    again = source.release(lw.mean("age", name="a"), by="20 * FLOOR(cost / 20)", epsilon=100)
    bins = source.sql("SELECT AVG(age) AS a FROM t GROUP BY BIN(cost, 0, 20, 40, 60, 80, 100)", epsilon=100)
    assert again.repeated
    assert first.flat()["g"] == [0, 20, 40, 60, 80, 100]
    assert [round(a) for a in first.flat()["a"]][:5] == [round(a) for a in bins.flat()["a"]]


def test_multiples_stand_in_tables_with_totals_and_are_read_from_the_ledger_again(source):
    from lapwing.release.recall import recall

    text = "SELECT FLOOR(age/50)*50 AS g, ward, COUNT(*) AS n FROM t GROUP BY CUBE (g, ward)"
    answer = source.sql(text, epsilon=100)
    assert answer.table("g").flat()["g"] == [0, 50, 100]
    assert recall(source.schema, source.ledger, answer.entry).flat() == answer.flat()


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("age/10*10", "BIN(age, 0, 10, 20)"),
        ("10*(age/10)", "/ does not round"),
        ("age/10", "GROUP BY BIN(age, 0, 55, 110)"),
        ("FLOOR(cost*10)/10", "GROUP BY BIN(cost, 0, 50, 100)"),
        ("FLOOR(cost/10)*10 + 5", "GROUP BY BIN(cost, 0, 50, 100)"),
        ("FLOOR(cost*100)*10", "GROUP BY BIN(cost, 0, 50, 100)"),
        ("day", "GROUP BY DATE_TRUNC('month', day)"),
        ("seen", "Declare its first and last day, and choose a unit of time: GROUP BY DATE_TRUNC('month', seen)"),
    ],
)
def test_other_keys_are_refused_with_the_bins_to_choose(source, group, said):
    assert said in refusal(source, f"SELECT COUNT(*) FROM t GROUP BY {group}")
