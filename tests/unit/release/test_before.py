"""A ledger that an earlier version wrote: it opens, verifies, and its questions get their answers, free and unchanged.

``data/before.sqlite`` and ``data/before.json`` were written before the modules moved into folders, and are not made
again: whoever has such a ledger keeps it.
"""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import lapwing as lw
from lapwing.release.recall import recall

DATA = Path(__file__).parent / "data"
BEFORE = json.loads((DATA / "before.json").read_text())
ASKED = {
    "count mean": lambda s: s.sql("SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward", epsilon=1),
    "sum": lambda s: s.release(lw.sum("cost"), where="cost > 10", epsilon=1),
    "variance": lambda s: s.release(lw.variance("cost"), lw.count("cost"), epsilon=1),
    "share": lambda s: s.release(lw.proportion("cost > 50"), by="ward", epsilon=1),
    "quantiles": lambda s: s.release(*lw.quantile("cost", ["0.25", "0.5"]), lw.max("cost"), epsilon=1),
    "bare quantile": lambda s: s.release(lw.median("cost"), epsilon=1, intervals=False),
    "cdf": lambda s: s.release(lw.cdf("cost", 60), epsilon=1),
    "keys": lambda s: s.discover("code", epsilon=2, delta="1e-5"),
    "bounds": lambda s: s.bounds("cost", epsilon=2),
}
LATER = {"repeated", "answered", "remaining", "remaining_delta"}
"""Fields that may differ: what is left by now, and that it was asked again."""


@pytest.fixture
def source(tmp_path):
    shutil.copy(DATA / "before.sqlite", tmp_path / "l")
    columns = {"ward": lw.keys("north", "south"), "cost": lw.number(0, 100), "code": "integer", "age": "number"}
    described = {"person": "patient", "rows_per_person": 2, "columns": columns, "epsilon": 100, "delta": "1e-3"}
    empty = pd.DataFrame({"patient": [], "ward": [], "cost": [], "code": []})  # nothing is read again
    return lw.Source(empty, name="visits", ledger=tmp_path / "l", **described)


def test_it_verifies(source):
    entries = source.ledger.verify()
    assert entries == len(source.ledger.entries()) == 19
    assert source.ledger.spent == 11


@pytest.mark.parametrize("before", BEFORE, ids=lambda each: each["asked"])
def test_a_question_is_the_same_question_and_its_answer_the_same_answer(source, before):
    again = json.loads(json.dumps(ASKED[before["asked"]](source).to_dict(), default=str))
    assert again["repeated"] is True
    for field in before["json"].keys() - LATER:
        assert same(unmarked(again[field]), before["json"][field]), field
    recalled = recall(source.schema, source.ledger, before["entry"]).to_dict()
    assert recalled["query"] == again["query"]
    assert [numbers(row) for row in recalled.get("rows", ())] == [numbers(row) for row in again.get("rows", ())]
    assert source.ledger.spent == 11


def same(one, other):
    """Return whether two fields are equal; the ends of bars may differ by the rounding of floats."""
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-12, abs=1e-12)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def unmarked(field):
    """Return the rows of an answer without the marks of noise, which earlier builds did not have."""
    rows = isinstance(field, list) and field and isinstance(field[0], dict)
    return [{name: unmarked_cell(cell) for name, cell in row.items()} for row in field] if rows else field


def unmarked_cell(cell):
    """Return a number without its mark; the end of a bar may differ in its last digit, which is rounded."""
    if not isinstance(cell, dict):
        return cell
    return {
        name: pytest.approx(value, rel=1e-14) if isinstance(value, float) else value
        for name, value in cell.items()
        if name != "noise"
    }


def numbers(row):
    """Return the values of a row; a recalled one has other names, and its statistics in the order of their texts."""
    return sorted(tuple(cell.values()) for cell in row.values() if isinstance(cell, dict))
