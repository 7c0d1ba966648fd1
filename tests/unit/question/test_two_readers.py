"""What only the owner of a source can do is told as such: an analyst of a server reads the same words."""

import re

import pandas as pd
import pytest

import lapwing as lw
from lapwing.errors import LapwingError
from lapwing.release.recorded import age

COLUMNS = {
    "ward": lw.keys("north", "south"),
    "cost": lw.number(0, 500),
    "debt": lw.number(-500, 500),
    "huge": lw.number(0, 2**31, integer=True),
    "far": lw.number(2**53, 2**53 + 1),
    "free": "number",
    "note": "text",
    "seen": "date",
}
ORDERS = re.compile(r"(?:^|[.;:] +)(?:Declare|Add|Give|Fill|Write (?:keys|low|high|other|edges)|`lapwing)")


@pytest.fixture
def source(tmp_path):
    frame = pd.DataFrame({name: [] for name in COLUMNS})
    return lw.Source(frame, name="t", columns=COLUMNS, epsilon=9, ledger=tmp_path / "t.ledger")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t WHERE ward = 'east'",
        "SELECT COUNT(*) FROM t WHERE cost > 501",
        "SELECT COUNT(*) FROM t GROUP BY note",
        "SELECT COUNT(*) FROM t GROUP BY seen",
        "SELECT SUM(free) FROM t",
        "SELECT SUM(note) FROM t",
        "SELECT SUM(free + cost) FROM t",
        "SELECT AVG(far + 1) FROM t",
        "SELECT AVG(seen - DATE '2025-01-01') FROM t",
        "SELECT WEIGHTED_QUANTILE(cost, debt, 0.5) FROM t",
        "SELECT WEIGHTED_QUANTILE(cost, huge, 0.5) FROM t",
        "SELECT COUNT(*) FROM t JOIN u ON t.ward = u.code",
        "SELECT COUNT(*) FROM (SELECT * FROM t JOIN u ON t.ward = u.code) AS v",
    ],
)
def test_a_refusal_tells_nobody_else_to_do_what_the_owner_can(source, sql):
    with pytest.raises(LapwingError) as refused:
        source.plan(sql, epsilon=1)
    assert "owner of the source" in str(refused.value)
    assert not ORDERS.search(str(refused.value))


@pytest.mark.parametrize("modified", [None, "2026-02-02T09:30:00+00:00"])
@pytest.mark.parametrize("recorded", [None, "2026-01-31T09:30:00+00:00"])
def test_so_do_a_recorded_answer_and_a_plan(source, recorded, modified):
    (note,) = source.plan(lw.count(), by="ward", epsilon=1).notes
    for text in (note, age(recorded, modified)):
        assert "owner" in text
        assert not ORDERS.search(text)
