"""Claims X1 and X2: expressions, against a second implementation in fractions, on rows of difficult cells."""

import math
from fractions import Fraction as F
from random import Random

import pytest

import lapwing as lw
from lapwing import errors
from lapwing.auditing.tools.evaluating import CELLS, COLUMNS, TYPES, Unsure, draw_expression, draw_row, draw_test
from lapwing.engine.connect import connect
from lapwing.question import sql
from lapwing.question.arithmetic import parse_expression
from lapwing.question.grids import step_of
from lapwing.question.schema import make_schema

from ..tables import plan_of

ROWS = 60


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of difficult cells, each row a group of its own."""
    import duckdb

    random = Random(5)
    rows = [draw_row(random) for _ in range(ROWS)]
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    with duckdb.connect() as connection:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in TYPES.items())
        connection.execute(f"CREATE TABLE rows (t BIGINT, {columns})")
        marks = ", ".join("?" * (1 + len(TYPES)))
        connection.executemany(f"INSERT INTO rows VALUES ({marks})", [[i, *row.values()] for i, row in enumerate(rows)])
        connection.execute(f"COPY rows TO '{path}' (FORMAT parquet)")
    return rows, str(path)


SCHEMA = make_schema("t", {**COLUMNS, "t": lw.keys(range(ROWS))}, None, None, "add_remove", None)


def values(path, text):
    """Return the value of an expression on each row, None where it is missing, with its grid."""
    plan = plan_of(SCHEMA, (lw.mean(text),), "t")
    sums = connect(path, "t").tally(plan.schema, plan.lowered).sums
    grid = plan.measured[0].grid
    found = dict.fromkeys(range(ROWS))
    for group, _, present, first in zip(*(column.tolist() for column in sums), strict=True):
        found[group] = (grid.low + first) * grid.step if present else None
    return found, grid


@pytest.mark.parametrize("seed", range(4))
def test_X1_X2_random_expressions_have_the_value_they_state_within_their_bounds(table, seed):
    rows, path = table
    random, told, asked = Random(100 + seed), 0, 0
    while asked < 20:
        drawn = draw_expression(random, random.choice((1, 2, 3)))
        try:
            found, grid = values(path, drawn.text)
        except errors.RequestError:
            continue
        asked += 1
        for at, row in enumerate(rows):
            got = found[at]
            assert got is None or grid.low * grid.step <= got <= grid.high * grid.step, drawn.text
            try:
                value = drawn.value(row)
            except Unsure:
                continue
            told += 1
            if value is None:
                assert got is None, (drawn.text, row)
            else:
                assert got is not None, (drawn.text, row)
                assert value.low - grid.step / 2 <= got <= value.high + grid.step / 2, (drawn.text, row)
    assert told > 20 * ROWS // 2


def test_X2_conditions_on_expressions_select_the_rows_for_which_they_are_true(table):
    rows, path = table
    random, told = Random(7), 0
    for _ in range(25):
        drawn = draw_test(random, random.choice((0, 1, 2)))
        try:
            plan = plan_of(SCHEMA, (lw.count(),), "t", drawn.text)
        except errors.RequestError:
            continue
        sums = connect(path, "t").tally(plan.schema, plan.lowered).sums
        kept = set(sums[0].tolist()) if sums else set()
        for at, row in enumerate(rows):
            try:
                holds = drawn.holds(row) is True
            except Unsure:
                continue
            told += 1
            assert holds == (at in kept), (drawn.text, row)
    assert told > 10 * ROWS


@pytest.mark.parametrize(
    ("text", "low", "high", "step"),
    [
        ("z * z", -21, 49, 1),
        ("z * c", -27, 63, 1),
        ("-(z * 2)", -14, 6, 2),
        ("z - z", -10, 10, 1),
        ("3 - z / 2", F(-1, 2), F(9, 2), F(1, 2)),
        ("ABS(z)", 0, 7, 1),
        ("ABS(c)", 1, 9, 1),
        ("LEAST(z, c)", -3, 7, 1),
        ("GREATEST(z, c)", 1, 9, 1),
        ("COALESCE(z, 20)", -3, 20, 1),
        ("CASE WHEN b THEN z ELSE c END", -3, 9, 1),
        ("z > c", 0, 1, 1),
        ("b", 0, 1, 1),
        ("FLOOR(x / 2)", -2, 3, 1),
        ("ROUND(x)", -3, 7, 1),
        ("d - e", -367, 369, 1),
        ("EXTRACT(YEAR FROM d)", 2019, 2021, 1),
        ("EXTRACT(ISODOW FROM d)", 1, 7, 1),
        ("c / (c + 1)", F(1, 10), F(9, 2), None),
    ],
)
def test_X1_bounds_and_steps_are_those_of_interval_arithmetic(text, low, high, step):
    grid = step_of(parse_expression(text, SCHEMA), SCHEMA).grid
    if step is None:
        assert abs(grid.low * grid.step - low) <= grid.step
        assert abs(grid.high * grid.step - high) <= grid.step
    else:
        assert (grid.low * grid.step, grid.high * grid.step, grid.step) == (low, high, step)


def steps_in(step):
    yield step
    for part in step.parts:
        yield from steps_in(part)


def test_X1_no_integer_on_the_way_is_beyond_64_bits_whatever_the_bounds():
    columns = {
        "a": lw.number(0, "3.141592653589793"),
        "f": lw.number(-(10**12), 10**12),
        "g": lw.number(0, 2**40, integer=True),
        "h": lw.number("1e-9", "3e-9"),
        "i": lw.number(0, "99999.99"),
    }
    schema = make_schema("t", columns, None, None, "add_remove", None)
    random, computed = Random(3), 0
    for _ in range(300):
        names = [random.choice("afghi") for _ in range(random.choice((2, 3, 4)))]
        text = names[0]
        for name in names[1:]:
            text = f"({text}) {random.choice('+-*')} {name}"
        text = random.choice(("{}", "FLOOR({})", "ROUND({})", "CLAMP(({}) / a, 0, 9)", "ABS({})")).format(text)
        try:
            top = step_of(parse_expression(text, schema), schema)
        except errors.UnsupportedQuery:
            continue
        computed += 1
        for step in steps_in(top):
            assert step.size <= 2**61, text
            assert intermediate(step) <= 2**62, (text, step.operation)
            assert step.operation in ("product", "sum", "floor") or step.grid.steps <= 2**41
    assert computed > 100


def intermediate(step):
    """Return a bound on the integers that an operation makes on the way."""
    sizes, numbers = [part.size for part in step.parts], step.numbers
    if step.operation == "product":
        return math.prod(sizes)
    if step.operation == "sum":
        return sum(abs(n) * size for n, size in zip(numbers, sizes, strict=False)) + abs(numbers[-1])
    if step.operation == "quotient":
        return max(2 * numbers[0] * sizes[0] + numbers[1] * sizes[1], 2 * numbers[1] * sizes[1])
    if step.operation == "floor":
        return numbers[0] * sizes[0] + numbers[1] + (abs(numbers[3]) + 1) * numbers[2]
    if step.operation == "coarser":
        return sizes[0] + 2 ** numbers[0] * (abs(numbers[1]) + 1)
    return max(sizes, default=0)


def test_X2_a_missing_part_makes_the_value_missing_and_a_divisor_of_0_too(table):
    rows, path = table
    for text, names in (("x + z", "xz"), ("x * u - z", "xuz"), ("LEAST(x, z, u)", "xzu"), ("ABS(x) * b", "xb")):
        found, _ = values(path, text)
        for at, row in enumerate(rows):
            gone = any(
                row[name] is None or (isinstance(row[name], float) and not math.isfinite(row[name])) for name in names
            )
            assert (found[at] is None) == gone, (text, row)
    found, _ = values(path, "CLAMP(u / z, -9, 9)")
    assert all(found[at] is None for at, row in enumerate(rows) if row["z"] == 0)
    assert any(found[at] is not None for at in range(ROWS))
    assert {None, 0, 1e308} & {*CELLS["x"]}


def test_the_same_expression_in_another_order_is_the_same_question():
    for one, other in (
        ("a * b", "b * a"), ("a + b - c", "-c + b + a"), ("2 * a * 3", "a * 6"), ("LEAST(a, b)", "LEAST(b, a)"),
        ("a / 4", "0.25 * a"), ("a * 2 > b", "b < 2 * a"), ("-(-a)", "a"), ("(a + b) + c", "a + (c + b)"),
    ):  # fmt: skip
        columns = {name: lw.number(1, 5) for name in "abc"}
        schema = make_schema("t", columns, None, None, "add_remove", None)
        texts = [sql.make_query([lw.sum(each)], None, None, schema).text for each in (one, other)]
        assert texts[0] == texts[1]
        assert sql.parse(texts[0], schema, recorded=True).text == texts[0]


HOSTILE = [
    "+".join(["x"] * 1001), "(" * 40 + "x" + ")" * 40, "x" + " / u" * 600, "-" * 50 + "x", "POWER(x, 2)", "RANDOM()",
    "x * " + "9" * 400, "x + 1e-250", "x / 0", "x / u", "d + e", "d * 2", "k + 1", "SUM(x)", "1 + 1", "x; DROP TABLE t",
    "(SELECT 1)", "CLAMP(x, 5, 1)", "CLAMP(x, z, 1)", "EXTRACT(CENTURY FROM d)", "d + 3000000",
    "DATE_TRUNC('millennium', d)", "CASE WHEN x > 1 THEN 'a' ELSE 0 END", "ROUND(x, 40)", "ABS()", "LEAST()",
    "(x BETWEEN 0 AND 1)" + " BETWEEN 0 AND 1" * 15, "x AS y", "x, z", "*", "unknown * 2", "x ** 2", "x::INT",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_expressions_are_refused_and_charge_nothing(text):
    with pytest.raises(errors.RequestError) as caught:
        plan_of(SCHEMA, (lw.mean(text),))
    assert len(str(caught.value)) < 900
