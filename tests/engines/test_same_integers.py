"""Claims E1 to E3 and K3 on every engine: the same integers, and those of an independent implementation."""

import math
import random
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest

import lapwing as lw
from lapwing.engine.connect import connect
from lapwing.measure.selection import ValueWeights, sorted_values
from lapwing.question.derivation import with_computed
from lapwing.question.schema import Column, make_schema
from lapwing.release.discover import plan_keys
from lapwing.release.rows_per_person import plan_rows_per_person

from ..claims.test_measure import QUERIES
from ..tables import engine_tally, index, make, plan_of, python_tally

NUMBERS = [None, math.nan, math.inf, -math.inf, 1.7976931348623157e308, -1e300, 5e-324, -5e-324, 2.3e-308, -0.0, 0.0,
           2.5, -2.0, 7.0, 6.999999999999999, 1e18, 2.0**53 + 2, -0.5, 100.0]  # fmt: skip
KEYS = [None, "", "a", "A", "a ", "it's", 'say "hi"', "back\\slash", "100%", "%s", "{x}", "é", "e\u0301", "日本", "😀",
        "line\nbreak", "\u2028", "x" * 300, "'; DROP TABLE t; --", "NULL", "nan", "-7",
        "${env:HOME}"]  # fmt: skip
CODES = [None, -7, 0, 3, -(2**62), 2**62, 2**53 + 1]
DAYS = [None, date(2024, 1, 1), date(2023, 12, 31), date(1, 1, 1), date(9999, 12, 31), date(1969, 7, 20)]
PEOPLE = [None, "p", "P", "p ", "", "7", "007", "é", "😀", "o'neil", *(f"q{i}" for i in range(12))]

COLUMNS = {
    "x": lw.number(-2, 7, integer=True),
    "y": lw.number("-0.5", 100),
    "key": lw.keys(
        ["a", "it's", 'say "hi"', "back\\slash", "100%", "%s", "{x}", "é", "日本", "😀", "-7", "${env:HOME}"],
        other="rest",
    ),
    "code": lw.keys([-7, 3, 0]),
    "day": "date",
    "yes": "boolean",
}
GRIDS = {
    "wide": {"y": lw.number(-(10**12), 10**12)},
    "widest": {"y": lw.number(-(10**100), 10**100)},
    "narrow": {"y": lw.number("1e-9", "3e-9")},
    "thirds": {"y": lw.number("1/3", 5)},
    "whole": {"y": lw.number(0, 2**40, integer=True)},
    "money": {"y": lw.number(0, 10**7)},
}
MORE = [
    ((lw.median("x"), lw.quantile("y", [0.1, 0.9]), lw.mean("x")), ("key",), None),
    ((lw.cdf("y", 20),), ("key",), None),
    ((lw.histogram("y", [-0.5, 0, 1, 2.5, 100]),), ("code",), "x IS NOT NULL"),
    ((lw.variance("y"), lw.variance("x")), ("key", "code"), "key IN ('a', 'it''s', 'back\\slash', '100%') OR x < y"),
    ((lw.count(), lw.proportion("key = '${env:HOME}'")), (), "key IN ('${env:HOME}', '😀', '%s', '{x}')"),
    ((lw.count("day"), lw.proportion("key = '日本'")), (), "NOT (day < '2024-01-01') OR code = -7"),
]


def make_rows(number=400, seed=1):
    rng = random.Random(seed)
    return [
        {
            "person": rng.choice(PEOPLE),
            "x": rng.choice(NUMBERS),
            "y": rng.choice([*NUMBERS, *(rng.uniform(-10, 120) for _ in NUMBERS)]),
            "key": rng.choice(KEYS),
            "code": rng.choice(CODES),
            "day": rng.choice(DAYS),
            "yes": rng.choice([True, False, None]),
        }
        for _ in range(number)
    ]


ROWS = make_rows()


def schema_of(people, k=3, neighbors="add_remove", columns=COLUMNS):
    return make_schema("t", columns, "person" if people else None, k if people else None, neighbors, None)


def counted(schema, plan, table):
    """Return everything that the engine counts, in an order of its own."""
    asked = connect(table, "t")
    lowered = plan.on(asked.dialect).lowered
    asked.check(schema, lowered.columns)
    found = asked.tally(schema, lowered)
    return sorted(zip(*(column.tolist() for column in found.sums), strict=True)), [
        [each.tolist() for each in spread] for spread in map(sorted_values, found.own)
    ]


@pytest.fixture
def table(table_of):
    return table_of(ROWS)


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
@pytest.mark.parametrize("neighbors", ["add_remove", "change_one"])
def test_E3_every_statistic_has_the_same_integers_on_every_engine(table, people, neighbors):
    schema = schema_of(people, 3, neighbors)
    reference = make(ROWS, "arrow", None)
    for question in [*QUERIES, *MORE]:
        plan = plan_of(schema, *question)
        assert counted(schema, plan, table) == counted(schema, plan, reference), question


COMPUTED = {**COLUMNS, "day": lw.dates("1969-07-01", "2024-06-30"), "w": lw.expression("ABS(y) / 8", low=0, high=12)}
EXPRESSIONS = [
    "x * y", "y * y * y - x", "-x + code / 3", "CLAMP(y / x, -5, 5)", "y / (ABS(x) + 1)", "FLOOR(y / 7)", "ROUND(y, 1)",
    "LEAST(x, y, code)", "GREATEST(x, 0.3)", "COALESCE(x, y, -2)", "NULLIF(x + 0, code)", "NULLIF(y, 2.5)",
    "ABS(x - y)",
    "CASE WHEN key = 'it''s' OR x * y > 4 THEN y WHEN yes THEN code ELSE -x END", "(x > y) + yes", "yes * w",
    "EXTRACT(YEAR FROM day)", "EXTRACT(QUARTER FROM day) * EXTRACT(MONTH FROM day)", "EXTRACT(DAY FROM day)",
    "EXTRACT(ISODOW FROM day)", "day - DATE '2000-02-29'", "DATE_TRUNC('week', day) - DATE_TRUNC('month', day)",
    "DATE_TRUNC('quarter', day) - DATE_TRUNC('year', day)", "((x + y) IS NULL) * 2",
]  # fmt: skip
DATED = [
    "day > DATE '1970-01-01'", "NOT (day IN ('2024-01-01', '2023-12-31'))", "day IS NULL", "day + 7 > day",
    "DATE_TRUNC('month', day) IS NULL", "day - DATE '2000-01-01' > 3", "CASE WHEN day < '1970-01-01' THEN 1 END = 1",
]  # fmt: skip


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_X2_W1_W3_expressions_and_weights_have_the_same_integers_on_every_engine(table, people):
    declared = {name: each for name, each in COMPUTED.items() if name != "w"}
    schema = with_computed(schema_of(people, columns=declared), {"w": COMPUTED["w"]})
    reference = make(ROWS, "arrow", None)
    questions = [((lw.mean(text),), (), None) for text in EXPRESSIONS]
    questions += [((lw.count(), lw.count("day")), (), condition) for condition in DATED]
    questions += [
        ((lw.count(), lw.mean("x", weight="w"), lw.sum("w")), ("key",), "x * y < 40 OR day - DATE '2000-01-01' > 3"),
        ((lw.variance("x * w"), lw.median("x - y")), ("code",), None),
        ((*lw.quantile("x", [0.2, 0.7], weight="w"), lw.median("y", weight="ABS(x)")), ("key",), None),
        ((lw.median("x * y", weight="2000000000 - ABS(code)"),), (), "yes"),
        ((lw.count(),), ("DATE_TRUNC('year', day)", "EXTRACT(MONTH FROM day)"), None),
        ((lw.count(),), ("code", "DATE_TRUNC('year', day)"), "code <> 3 AND day > '1999-12-31'"),
        ((lw.count(),), ("CASE WHEN x > y THEN 'it''s' WHEN x < 3 THEN '%s' ELSE '\\\\' END", "FLOOR(y / 25)"), None),
        ((lw.count(),), ("FLOOR(y / 25) * 25", "ROUND(x, -1)"), "yes"),
        ((lw.histogram("x * y", [-50, 0, 10, 700]),), (), "(x + y) IS NOT NULL"),
    ]
    for question in questions:
        plan = plan_of(schema, *question)
        assert counted(plan.schema, plan, table) == counted(plan.schema, plan, reference), question


def test_P7_the_number_of_people_is_the_same_on_every_engine(table):
    for k, by in ((50, ()), (1, ("code",)), (3, ("key", "code"))):
        schema = schema_of(True, k)
        plan = plan_of(schema, (lw.people(),), by)
        occurring = {group: cells for group, cells in engine_tally(schema, plan, table).items() if any(map(any, cells))}
        assert occurring == python_tally(schema, plan, ROWS), by


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_E1_E2_the_integers_are_those_of_a_second_road(table, people):
    schema = schema_of(people)
    for statistics, by in [((lw.count(), lw.mean("x")), ("code",)), ((lw.variance("y"), lw.count("x")), ("key",)),
                           ((lw.sum("y"), lw.sum("x")), ())]:  # fmt: skip
        plan = plan_of(schema, statistics, by)
        assert engine_tally(schema, plan, table) == python_tally(schema, plan, ROWS), statistics


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_E1_quantiles_have_the_weights_of_a_second_road(table, people):
    schema = schema_of(people)
    plan = plan_of(schema, (lw.median("y"),), ("code",))
    asked = connect(table, "t")
    spread = sorted_values(*asked.tally(schema, plan.on(asked.dialect).lowered).own)
    assert spread_of(spread) == python_spread(schema, plan)


def spread_of(spread: ValueWeights):
    return dict(
        zip(zip(spread.groups.tolist(), spread.indices.tolist(), strict=True), spread.weights.tolist(), strict=True)
    )


def python_spread(schema, plan):
    mine = [row for row in ROWS if schema.person is None or row["person"] is not None]
    rows_of = {}
    for row in mine:
        rows_of[row["person"]] = rows_of.get(row["person"], 0) + 1
    found = {}
    for row in mine:
        i = index(plan.parts[0].measurement, row)
        if i is None or row["code"] not in (-7, 3, 0):
            continue
        c, k = rows_of[row["person"]], schema.rows_per_person
        weight = 1 if schema.person is None else 2**16 if c <= k else k * 2**16 // c
        at = (-7, 3, 0).index(row["code"]), i
        found[at] = found.get(at, 0) + weight
    return found


@pytest.mark.parametrize("grid", GRIDS)
def test_E1_every_grid_has_the_same_indices(table_of, grid):
    """Values at, between and beyond the steps: none may fail, underflow or overflow, and all round alike."""
    schema = schema_of(False, columns=GRIDS[grid])
    column = schema.columns["y"]
    low, high, step = float(column.low), float(column.high), float(column.grid.step)
    rng = random.Random(5)
    values = [v for v in NUMBERS if v is not None] + [
        low,
        high,
        (low + high) / 2,
        math.nextafter(low, high),
        math.nextafter(high, low),
    ]
    values += [rng.uniform(low / 2, high / 2) * 2 for _ in range(60)]
    values += [low + step * (rng.randrange(min(column.grid.steps, 2**52)) + 0.5) for _ in range(60)]
    values += [low + 10.0**-e for e in range(0, 320, 8)]
    rows = [{"y": value} for value in values]
    plan = plan_of(schema, (lw.median("y"), lw.variance("y")))
    reference = counted(schema, plan, make(rows, "arrow", None))
    assert counted(schema, plan, table_of(rows)) == reference


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
@pytest.mark.parametrize("column", ["key", "code", "day", "yes"])
def test_K3_the_same_keys_have_the_same_people(table, column, people):
    columns = {"key": "text", "code": "integer", "day": "date", "yes": "boolean"}
    schema = schema_of(people, 2, columns=columns)
    plan = plan_keys(schema, column, epsilon=1, delta="1e-6")

    def counts(asked):
        return sorted(asked.count_keys(schema, plan.on(asked.dialect).lowered), key=repr)

    assert counts(connect(table, "t")) == counts(connect(make(ROWS, "arrow", None), "t"))


def test_K5_the_same_people_are_in_the_same_bins(table):
    schema = schema_of(True, 2)
    for where in (None, "x > 1"):
        plan = plan_rows_per_person(schema, epsilon=1, where=where)

        def bins(asked, plan=plan):
            return sorted(zip(*map(list, asked.tally(schema, plan.on(asked.dialect).lowered).sums), strict=True))

        assert bins(connect(table, "t")) == bins(connect(make(ROWS, "arrow", None), "t"))


def test_a_check_says_the_same_on_every_engine(table):
    columns = {"x": lw.number(0, 2), "key": lw.keys("a", "b"), "code": lw.number(0, 5, integer=True), "day": "date"}
    described = {"name": "t", "columns": columns, "person": "person", "rows_per_person": 2}
    one, other = (lw.check(lw.Source(each, **described)) for each in (table, make(ROWS, "arrow", None)))
    assert (one.columns, one.nobody, one.beyond, one.wrong) == (other.columns, other.nobody, other.beyond, other.wrong)


def test_E3_no_rows_at_all(table_of):
    for people in (False, True):
        schema = schema_of(people)
        for question in [*QUERIES, *MORE]:
            plan = plan_of(schema, *question)
            assert counted(schema, plan, table_of([])) == counted(schema, plan, make([], "arrow", None))


def test_a_whole_release_on_every_engine(table_of, tmp_path):
    """Through the public interface, at an ε at which the noise is all but nothing."""
    rows = [{"person": f"p{i % 50}", "x": float(i % 5), "key": "ab"[i % 2], "y": 1.0, "yes": True} for i in range(100)]
    source = lw.Source(
        table_of(rows), name="t", person="person", rows_per_person=2, epsilon=500, delta="1e-3",
        ledger=tmp_path / "t.ledger", columns={**COLUMNS, "key": lw.keys(["a", "b", "c"])},
    )  # fmt: skip
    answer = source.release(lw.count(), lw.mean("x"), by="key", epsilon=50)
    assert [row["count"]["value"] for row in answer.rows] == pytest.approx([50, 50, 0], abs=5)  # or the noise is e^-60
    assert source.release(lw.count(), lw.mean("x"), by="key", epsilon=50).repeated
    assert 0 <= source.release(lw.median("x"), epsilon=50).rows[0]["median_x"]["value"] <= 4
    found = source.declare(key="text").discover("key", epsilon=50, delta="1e-4")
    assert [row["key"] for row in found.rows] == ["a", "b"]
    low, high = (source.bounds("x", epsilon=50).to_dict()[end] for end in ("low", "high"))
    assert float(low) <= 1 < float(high)
    assert source.plan(lw.count(), epsilon=1).sql == source.release(lw.count(), epsilon=1).plan.sql


CODED = {
    **COLUMNS,
    "x": lw.number(-2, 7, integer=True, missing=[7, "1e18"]),
    "y": lw.number("-0.5", 100, missing=["2.5", 100, "6.999999999999999"]),
    "key": lw.keys(["a", "é"], other="rest", missing=["it's", "back\\slash", "${env:HOME}", "100%", "日本", "", "%s"]),
    "code": lw.keys([-7, 3], missing=[0]),
    "day": lw.plain("date", [date(9999, 12, 31)]),
}


def without_codes(row):
    """Return the row with the codes of its columns missing."""
    return {name: None if _is_code(CODED.get(name), cell) else cell for name, cell in row.items()}


def _is_code(column, cell):
    codes = [] if column is None or isinstance(column, str) else column.missing
    return cell in [float(code) if isinstance(code, Fraction) else code for code in codes]


@pytest.mark.parametrize("people", [True, False])
def test_codes_are_missing_cells_on_every_engine(table_of, people):
    bare = {name: replace(each, missing=()) if isinstance(each, Column) else each for name, each in CODED.items()}
    asked = [
        ((lw.count(), lw.sum("x"), lw.variance("y"), lw.count("key"), lw.count("day")), ("key", "code"), None),
        ((lw.count(), lw.mean("y")), (), "x IS NULL OR NOT (y > 2) OR day > '2024-01-01'"),
        ((lw.count(), lw.sum("y")), ("code",), "key IN ('a', 'é') OR x >= 6"),
    ]
    for statistics, by, where in asked:
        found = []
        for columns, rows in ((CODED, ROWS), (bare, [without_codes(row) for row in ROWS])):
            schema = schema_of(people, columns=columns)
            plan = plan_of(schema, statistics, by, where)
            found.append(engine_tally(schema, plan, table_of(rows)))
        assert found[0] == found[1]
