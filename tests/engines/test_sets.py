"""Claim U6 on every engine: several tables of one question are those of an independent implementation."""

import pytest

import lapwing as lw
from lapwing.question.derivation import with_computed
from lapwing.question.within import with_parents

from ..set_tables import engine_tables, margin, python_tables, question
from .test_same_integers import COLUMNS, ROWS, schema_of

SETS = {
    "cube": ((lw.count(),), lw.cube("key", "code", "yes"), None, lambda row: True),
    "rollup": ((lw.count(), lw.mean("x")), lw.rollup("code", "key"), None, lambda row: True),
    "sets": ((lw.variance("y"), lw.count("day")), lw.sets(("key", "code"), "yes"), None, lambda row: True),
    "bins": ((lw.sum("x"), lw.sum("y")), lw.marginals("code", "y", "yes", upto=2), None, lambda row: True),
    "where": ((lw.count(), lw.proportion("y > 2")), lw.cube("code", "yes"), "x > 0", lambda row: _positive(row["x"])),
    "one": ((lw.count(),), lw.sets(("code",), ()), None, lambda row: True),
}
DECLARED = {**COLUMNS, "yes": lw.keys([False, True]), "y": lw.number("-0.5", 100, edges=["-0.5", 0, "2.5", 100])}


def _positive(value):
    """Return whether a cell of whole numbers is above 0, which is to say: 1 or more, also where a cell is 0.5."""
    return value is not None and value == value and value >= 1


@pytest.fixture
def table(table_of):
    return table_of(ROWS)


@pytest.mark.parametrize(("people", "neighbors"), [(False, "change_one"), (True, "add_remove")], ids=["rows", "people"])
def test_U6_tables_are_those_of_an_independent_implementation(table, people, neighbors):
    schema = schema_of(people, 3, neighbors, DECLARED)
    for name, (statistics, by, where, counts) in SETS.items():
        asked = question(schema, statistics, by, where)
        found = engine_tables(asked, table)
        assert found == python_tables(asked, ROWS, _finite(counts, where)), name
        assert any(len(cells) > 1 for cells in found.values())


def _finite(counts, where):
    """An infinite x is missing, so that no comparison with it is true."""
    return counts if where is None else lambda row: counts(row) and row["x"] != float("inf")


def test_U6_tables_that_are_measured_need_not_be_asked(table):
    asked = question(schema_of(True, 2, columns=DECLARED), (lw.count(), lw.sum("x")), lw.cube("key", "code", "yes"))
    measured = [("key", "yes"), ("code",), ("key", "code", "yes")]
    found = engine_tables(asked, table, measured)
    assert found == python_tables(asked, ROWS, tables=measured)
    shape = asked[1].shape(asked[0])
    for kept in ((0, 2), (1,)):
        names = tuple(asked[1].by[axis] for axis in kept)
        assert margin(found["key", "code", "yes"], shape, (0, 1, 2), kept) == found[names]


def test_U6_weights_and_computed_keys(table):
    columns = {**DECLARED, "day": lw.dates("1969-07-01", "2024-06-30")}
    computed = {"w": lw.expression("ABS(x)", low=0, high=8)}
    schema = with_computed(schema_of(False, columns=columns), computed)
    asked = question(schema, (lw.mean("y", weight="w"), lw.count()), lw.rollup("YEAR(day)", "code"))
    found = engine_tables(asked, table)
    whole = found[tuple(asked[1].by)]
    shape = asked[1].shape(asked[0])
    assert margin(whole, shape, (0, 1), (0,)) == found[asked[1].by[:1]]
    assert margin(whole, shape, (0, 1), ()) == found[()]
    assert len(whole) > 3


def test_U6_keys_that_lie_within_others(table):
    """A code decides its sign, by a public map; codes that are not listed are in no table."""
    code = lw.keys([-7, 3, 0], within={"sign": {"minus": [-7], "plus": [0, 3]}})
    schema = with_parents(schema_of(True, 2, columns={**DECLARED, "code": code}))
    asked = question(schema, (lw.count(), lw.sum("x")), [lw.rollup("sign", "code"), lw.cube("yes")])
    assert asked[1].sets == ((), ("sign",), ("code",), ("yes",), ("sign", "yes"), ("code", "yes"))
    signs = {-7: "minus", 0: "plus", 3: "plus"}
    found = engine_tables(asked, table)
    assert found == python_tables(asked, ROWS, keys={"sign": lambda row: signs.get(row["code"])})
    assert len(found["code",]) == 3


def test_U6_no_rows_at_all(table_of):
    for people in (False, True):
        asked = question(schema_of(people, columns=DECLARED), (lw.count(), lw.mean("x")), lw.cube("key", "yes"))
        assert engine_tables(asked, table_of([])) == {table: {} for table in asked[1].sets}
