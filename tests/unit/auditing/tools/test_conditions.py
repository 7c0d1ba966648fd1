"""Conditions drawn at random say of every row what DuckDB says."""

from datetime import date
from fractions import Fraction
from random import Random

import duckdb

from lapwing.auditing.tools.conditions import DrawnCondition, draw_condition
from lapwing.question.schema import number, plain

COLUMNS = {
    'a "b': number(0, 9),
    "n": number(0, 9, integer=True),
    "t": plain("text"),
    "d": plain("date"),
    "y": plain("boolean"),
}
CELLS = {
    'a "b': [None, Fraction(0), Fraction(5, 2), Fraction(9)],
    "n": [None, Fraction(1), Fraction(9)],
    "t": [None, "it's", 'q"', "\\"],
    "d": [None, date(2024, 2, 29), date(2024, 3, 1)],
    "y": [None, True, False],
}


def test_conditions_have_the_logic_of_sql():
    random = Random(5)
    types = {'a "b': "DOUBLE", "n": "BIGINT", "t": "VARCHAR", "d": "DATE", "y": "BOOLEAN"}
    rows = [{name: random.choice(cells) for name, cells in CELLS.items()} for _ in range(40)]
    kinds = set()
    with duckdb.connect() as connection:
        declared = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}" {kind}' for name, kind in types.items())
        connection.execute(f"CREATE TABLE t (i INTEGER, {declared})")
        for i, row in enumerate(rows):
            cells = [float(each) if isinstance(each, Fraction) else each for each in row.values()]
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", [i, *cells])
        for _ in range(300):
            condition = draw_condition(random, COLUMNS, CELLS, 3)
            kinds |= _operators(condition)
            found = connection.execute(f"SELECT {condition.text} FROM t ORDER BY i").fetchall()
            assert [value for (value,) in found] == [condition.holds(row) for row in rows], condition.text
    assert kinds >= {"AND", "OR", "NOT", "IS NULL", "IN", "BETWEEN", "=", "<>", "<", "<=", ">", ">="}


def _operators(condition: DrawnCondition) -> set[str]:
    return {condition.operator}.union(*(_operators(part) for part in condition.parts))
