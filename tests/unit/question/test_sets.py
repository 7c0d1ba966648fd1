"""Several tables in one question: ROLLUP, CUBE, GROUPING SETS and their Python forms are one question each."""

import itertools
import random

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.question.schema import make_schema
from lapwing.question.sets import canonical, checked_objective, crossed, table_weights
from lapwing.question.sql import make_query, parse
from lapwing.question.statement import make_cut, read

COLUMNS = {
    "a": lw.keys("x", "y"),
    "b": lw.keys("p", "q", "r"),
    "c": lw.keys(1, 2, 3, 4),
    "odd key": lw.keys("u", "v"),
    "x": lw.number(0, 10),
    "w": lw.number(0, 3),
    "y": lw.number(0, 10, integer=True, edges=[0, 5, 10]),
    "day": lw.dates("2020-01-01", "2021-12-31"),
    "note": "text",
}
SCHEMA = make_schema("t", COLUMNS, "who", 2, "add_remove", None)


def asked(group, statistics="COUNT(*)"):
    return parse(f"SELECT {statistics} FROM t GROUP BY {group}", SCHEMA)


def tables(group):
    return [" ".join(table) for table in asked(group).sets]


def test_sql_asks_for_tables():
    assert tables("ROLLUP (a, b)") == ["", "a", "a b"]
    assert tables("CUBE (a, b)") == ["", "a", "b", "a b"]
    assert tables("GROUPING SETS ((a, b), (c), ())") == ["", "c", "a b"]
    assert tables("GROUPING SETS (a, (b))") == ["a", "b"]
    assert tables("ROLLUP (a, (b, c))") == ["", "a", "a b c"]
    assert tables("CUBE ((a, b), c)") == ["", "c", "a b", "c a b"]
    assert tables("GROUPING SETS (ROLLUP (a, b), CUBE (c), GROUPING SETS ((b), ()))") == ["", "a", "b", "c", "a b"]


def test_elements_of_group_by_are_combined_each_with_each():
    assert tables("a, ROLLUP (b, c)") == ["a", "a b", "a b c"]
    assert tables("CUBE (a), CUBE (b)") == ["", "a", "b", "a b"]
    assert tables("c, ROLLUP (a), CUBE (b)") == ["c", "c a", "c b", "c a b"]
    assert tables("(a, b), CUBE (c)") == ["a b", "a b c"]
    assert tables("a, ROLLUP (a, b)") == ["a", "a b"]


def test_with_rollup_and_with_cube_mean_all_keys_before_them():
    assert asked("a, b WITH ROLLUP") == asked("ROLLUP (a, b)")
    assert asked("a, b WITH CUBE") == asked("CUBE (a, b)")
    text = "SELECT a, b, COUNT(*) FROM t GROUP BY ALL WITH ROLLUP"
    assert parse(text, SCHEMA).sets == asked("ROLLUP (a, b)").sets


SAME = [
    ("CUBE (a, b)", lw.cube("a", "b")),
    ("GROUPING SETS ((a, b), (a), (b), ())", lw.sets(("a", "b"), "a", ["b"], ())),
    ("GROUPING SETS ((), (a, b), (b), (a), (b, a))", lw.marginals("a", "b", upto=2)),
    ("ROLLUP (a, b)", lw.rollup("a", "b")),
    ("a, ROLLUP (b, c)", ["a", lw.rollup("b", "c")]),
    ("ROLLUP (a, (b, c))", lw.rollup("a", ("b", "c"))),
    ("GROUPING SETS (ROLLUP (a, b), c)", lw.sets(lw.rollup("a", "b"), "c")),
    ("ROLLUP (YEAR(day), A)", lw.rollup("YEAR(day)", "a")),
    ('CUBE ("odd key", y)', lw.cube("odd key", "y")),
]


@pytest.mark.parametrize(("group", "by"), SAME)
def test_the_same_tables_are_one_question(group, by):
    python = make_query([lw.count()], by, None, SCHEMA)
    assert asked(group) == python
    assert parse(python.text, SCHEMA, recorded=True) == python
    assert parse(python.text, SCHEMA) == python


def test_the_canonical_text_lists_the_tables():
    query = asked('CUBE ("odd key", BIN(x, 0, 5, 10), YEAR(day))', "AVG(x), COUNT(*)")
    assert query.text == (
        'SELECT AVG("x"), COUNT(*) FROM "t" GROUP BY GROUPING SETS ((), ("odd key"), (BIN("x", 0, 5, 10)), '
        '(EXTRACT(YEAR FROM "day")), ("odd key", BIN("x", 0, 5, 10)), ("odd key", EXTRACT(YEAR FROM "day")), '
        '(BIN("x", 0, 5, 10), EXTRACT(YEAR FROM "day")), ("odd key", BIN("x", 0, 5, 10), EXTRACT(YEAR FROM "day")))'
    )
    again = parse(query.text, SCHEMA, recorded=True)
    assert (again.by, again.sets, again.edges, again.derived) == (query.by, query.sets, query.edges, query.derived)


@pytest.mark.parametrize(
    ("group", "ordinary"),
    [
        ("GROUPING SETS ((b, a))", "b, a"),
        ("(a, b)", "a, b"),
        ("(a), b", "a, b"),
        ("a, GROUPING SETS (b)", "a, b"),
        ("GROUPING SETS ((a), a)", "a"),
        ("DISTINCT a", "a"),
    ],
)
def test_one_table_is_an_ordinary_question(group, ordinary):
    assert asked(group) == asked(ordinary)
    assert asked(group).sets == ()


def test_the_total_alone_is_an_ordinary_question():
    for group in ("()", "GROUPING SETS (())"):
        assert asked(group) == parse("SELECT COUNT(*) FROM t", SCHEMA)
    assert make_query([lw.count()], lw.sets(()), None, SCHEMA) == parse("SELECT COUNT(*) FROM t", SCHEMA)


def test_numbers_and_names_of_select_stand_for_keys():
    text = "SELECT a AS sex, BIN(x, 0, 5, 10) AS part, COUNT(*) FROM t GROUP BY ROLLUP (1, (part))"
    query = parse(text, SCHEMA)
    assert query.sets == ((), ("a",), ("a", "x"))
    assert query.titles == ("sex", "part")
    inner = "SELECT s, COUNT(*) FROM (SELECT a AS s, b FROM t WHERE x > 1) u GROUP BY GROUPING SETS ((u.s, b), ())"
    assert parse(inner, SCHEMA).sets == ((), ("a", "b"))


def test_grouping_names_columns_of_the_answer():
    statement = read("SELECT a, GROUPING(a) AS g, GROUPING(b, a), COUNT(*) FROM t GROUP BY CUBE (a, b)", SCHEMA)
    assert statement.query.grouping == (("g", ("a",)), ("grouping_b_a", ("b", "a")))
    plain = read("SELECT a, COUNT(*) FROM t GROUP BY CUBE (a, b)", SCHEMA)
    assert statement.query.text == plain.query.text
    same = read("SELECT GROUPING_ID(a, b) AS g, COUNT(*) FROM t GROUP BY CUBE (a, b)", SCHEMA)
    assert same.query.grouping == (("g", ("a", "b")),)


def test_groups_are_those_of_all_tables():
    query = asked("CUBE (a, b, y)")
    assert query.groups(SCHEMA) == 3 * 4 * 3
    assert query.shape(SCHEMA) == (2, 3, 2)
    assert query.shape(SCHEMA, ("b", "y")) == (3, 2)
    assert asked("a, b").groups(SCHEMA) == 6


def independent(elements):
    """Return the sets of columns that a product of ROLLUP and CUBE has, by their definition."""
    found = [frozenset()]
    for kind, columns in elements:
        if kind == "ROLLUP":
            some = [frozenset(columns[:size]) for size in range(len(columns) + 1)]
        elif kind == "CUBE":
            some = [
                frozenset(c for c, on in zip(columns, bits, strict=True) if on)
                for bits in itertools.product([0, 1], repeat=len(columns))
            ]
        else:
            some = [frozenset(columns)]
        found = [one | other for one in found for other in some]
    return set(found)


@pytest.mark.parametrize("seed", range(40))
def test_tables_are_those_of_an_independent_implementation(seed):
    dice = random.Random(seed)
    elements = [
        (dice.choice(["ROLLUP", "CUBE", ""]), dice.sample(["a", "b", "c", "y"], dice.randint(1, 3)))
        for _ in range(dice.randint(1, 3))
    ]
    elements = [each for each in elements if each[0]] or [("CUBE", ["a", "c"])]
    query = asked(", ".join(f"{kind} ({', '.join(columns)})" for kind, columns in elements))
    assert {frozenset(table) for table in query.tables} == independent(elements)
    assert len(query.sets) == len(set(query.sets))


@pytest.mark.parametrize("seed", range(100))
def test_tables_have_one_order_that_gives_the_order_of_columns(seed):
    dice = random.Random(seed)
    columns = "abcdef"
    given = [tuple(dice.sample(columns, dice.randint(0, 6))) for _ in range(dice.randint(1, 9))]
    by, ordered = canonical(given)
    places = {name: place for place, name in enumerate(by)}
    assert by == tuple(dict.fromkeys(name for table in ordered for name in table))
    assert list(ordered) == sorted(ordered, key=lambda table: (len(table), [places[name] for name in table]))
    assert all(list(table) == sorted(table, key=places.__getitem__) for table in ordered)
    assert {frozenset(table) for table in ordered} == {frozenset(table) for table in given}
    assert canonical(ordered) == (by, ordered)


def test_the_order_in_which_columns_are_named_stays_where_it_can():
    assert asked("CUBE (b, a)").by == ("b", "a")
    assert asked("ROLLUP (b, a)").by == ("b", "a")
    assert asked("GROUPING SETS ((a, b), (b))").by == ("b", "a")  # the text names b first


REFUSED = {
    "CUBE (note)": 'GROUP BY "note", which has no keys',
    "ROLLUP (a, note)": 'GROUP BY "note", which has no keys',
    "CUBE (a, a)": "a key twice",
    "GROUPING SETS ((a, a), ())": "a key twice",
    "ROLLUP ()": "of nothing",
    "a GROUPING SETS ((a), ())": "without a comma",
    "GROUPING SETS ((y), (BIN(y, 0, 2, 10)))": 'two ways to group by "y"',
    "CUBE (a) WITH ROLLUP": "WITH ROLLUP or WITH CUBE beside others",
}


@pytest.mark.parametrize("group", REFUSED)
def test_tables_that_cannot_be_released_are_refused(group):
    with pytest.raises(errors.UnsupportedQuery, match=REFUSED[group].replace("(", "\\(")):
        asked(group)


@pytest.mark.parametrize(
    ("statistic", "what"),
    [
        ("MEDIAN(x)", "quantiles"),
        ("MIN(x)", "quantiles"),
        ("COUNT(DISTINCT who)", "COUNT\\(DISTINCT person\\)"),
        ("SUM(x) / SUM(y)", "a ratio of sums"),
        ("SUM(x) / COUNT(*)", "a ratio of sums"),
    ],
)
def test_statistics_that_do_not_add_up_are_refused(statistic, what):
    with pytest.raises(errors.UnsupportedQuery, match=f"{what}.* of several tables"):
        asked("CUBE (a)", statistic)


@pytest.mark.parametrize("statistic", [lw.histogram("x", [0, 5, 10]), lw.cdf("x"), lw.median("x"), lw.people()])
def test_they_are_refused_in_python_too(statistic):
    with pytest.raises(errors.UnsupportedQuery, match="of several tables"):
        make_query([statistic], lw.cube("a"), None, SCHEMA)


@pytest.mark.parametrize(
    "statistic",
    ["COUNT(x)", "SUM(x)", "AVG(x)", "VAR_SAMP(x)", "STDDEV_POP(x)", "AVG(CASE WHEN x > 1 THEN 1 ELSE 0 END)",
     "SUM(w * x) / SUM(w)", "SUM(x * y)", "COUNT(*) FILTER (WHERE x > 1)"],
)  # fmt: skip
def test_statistics_that_are_cells_are_accepted(statistic):
    query = asked("CUBE (a)", statistic)
    assert query.sets == ((), ("a",))
    assert parse(query.text, SCHEMA, recorded=True).text == query.text


@pytest.mark.parametrize("rest", ["HAVING COUNT(*) > 5", "ORDER BY a", "LIMIT 3", "OFFSET 1"])
def test_an_answer_of_several_tables_is_not_cut(rest):
    with pytest.raises(errors.UnsupportedQuery, match="HAVING, ORDER BY or LIMIT"):
        read(f"SELECT a, COUNT(*) FROM t GROUP BY CUBE (a) {rest}", SCHEMA)


def test_a_cut_in_python_is_refused_too():
    query = asked("CUBE (a)")
    assert make_cut(query, SCHEMA).limit is None
    for cut in ({"limit": 3}, {"having": "count > 3"}, {"order_by": "a"}, {"offset": 1}):
        with pytest.raises(errors.UnsupportedQuery, match="HAVING, ORDER BY or LIMIT"):
            make_cut(query, SCHEMA, **cut)


def test_too_many_tables_are_refused_before_they_are_made():
    names = [f"k{i}" for i in range(60)]
    for make in (
        lambda: lw.cube(*names),
        lambda: lw.marginals(*names, upto=3),
        lambda: lw.sets(*itertools.combinations(names, 2)),
        lambda: crossed([lw.cube(*names[:6]).tables, lw.cube(*names[6:12]).tables]),
    ):
        with pytest.raises(errors.TooLarge, match="The number of tables"):
            make()
    assert len(lw.marginals(*names[:14], upto=3).tables) == 470


def test_too_many_cells_are_refused():
    columns = {f"k{i}": lw.keys(list(range(400))) for i in range(3)}
    schema = make_schema("t", columns, None, None, "add_remove", None)
    assert make_query([lw.count()], lw.marginals(*columns, upto=2), None, schema).groups(schema) == 481_201
    with pytest.raises(
        errors.TooLarge, match=r"The number of cells of all tables is 64,481,201, and at most 50,000,000"
    ):
        make_query([lw.count()], lw.cube(*columns), None, schema)


def test_too_many_columns_are_refused():
    columns = {f"k{i}": lw.keys(0, 1) for i in range(61)}
    schema = make_schema("t", columns, None, None, "add_remove", None)
    assert make_query([lw.count()], lw.marginals(*list(columns)[:60], upto=1), None, schema).groups(schema) == 121
    with pytest.raises(errors.TooLarge, match="The number of key columns is 61, and at most 60"):
        make_query([lw.count()], lw.marginals(*columns, upto=1), None, schema)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: lw.cube(), errors.MissingParameter),
        (lambda: lw.sets(), errors.MissingParameter),
        (lambda: lw.cube(3), errors.InvalidParameter),
        (lambda: lw.sets({"a"}), errors.InvalidParameter),
        (lambda: lw.rollup("a", ("a", "b")), errors.UnsupportedQuery),
        (lambda: lw.marginals("a", upto=0), errors.InvalidParameter),
        (lambda: make_query([lw.count()], lw.cube("z"), None, SCHEMA), errors.UnknownColumn),
        (lambda: make_query([lw.count()], [lw.cube("a"), 3], None, SCHEMA), errors.InvalidParameter),
    ],
)
def test_what_is_no_table_is_refused(make, error):
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("objective", ["mean", "minimax", "cells"])
@pytest.mark.parametrize("weight", ["1e400", "1e-400", "1000000000000001", 1e300])
def test_a_weight_of_a_table_that_floats_cannot_hold_is_refused(tmp_path, weight, objective):
    columns = {"a": lw.keys("x", "y"), "b": lw.keys("x", "y")}
    source = lw.Source(tmp_path / "t.csv", name="t", columns=columns, epsilon=1, ledger=tmp_path / "t.ledger")
    asked = {"by": lw.sets(("a", "b"), ()), "epsilon": 1, "objective": objective}
    with pytest.raises(errors.InvalidParameter, match=r"from 10\^-15 to 10\^15, for a table"):
        source.plan(lw.count(), **asked, weights={(): weight})
    assert source.plan(lw.count(), **asked, weights={(): "1e15", ("a", "b"): "1e-15"}).several is not None


def test_tables_can_have_weights():
    query = asked("CUBE (a, b)")
    weights = table_weights(query, {("B", "a"): 4, "a": "0.5", (): 2})
    assert list(map(str, weights.values())) == ["2", "1/2", "1", "4"]
    assert list(weights) == list(query.sets)
    with pytest.raises(errors.UselessParameter, match=r"A weight for the table \(c\) was given"):
        table_weights(query, {"c": 1})
    for wrong in ({"a": 0}, {"a": -1}, {3: 1}, [1, 2]):
        with pytest.raises(errors.RequestError):
            table_weights(query, wrong)


def test_the_objective_is_one_of_three():
    assert [checked_objective(each) for each in ("mean", "minimax", "cells")] == ["mean", "minimax", "cells"]
    for wrong in ("median", None, 3):
        with pytest.raises(errors.InvalidParameter, match="objective"):
            checked_objective(wrong)


def test_GROUPING_of_very_many_columns_is_refused():
    names = [f"c{i}" for i in range(17)]
    schema = make_schema("t", {name: lw.keys(1, 2) for name in names}, None, None, "add_remove", None)
    every = ", ".join(f"({name})" for name in names)
    with pytest.raises(errors.UnsupportedQuery, match="GROUPING of more than 16 columns"):
        parse(f"SELECT COUNT(*), GROUPING({', '.join(names)}) FROM t GROUP BY GROUPING SETS ({every})", schema)


@pytest.mark.parametrize(
    "table", ["c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11", ", ".join(f"c{i}" for i in range(40))]
)
def test_tables_with_very_many_margins_are_refused(table):
    schema = make_schema("t", {f"c{i}": lw.keys(1) for i in range(40)}, None, None, "add_remove", None)
    with pytest.raises(errors.RequestError, match="tables and of their margins"):
        parse(f"SELECT COUNT(*) FROM t GROUP BY GROUPING SETS (({table}), ())", schema)


@pytest.mark.parametrize(
    ("tables", "number"),
    [
        (["abcdefghijkl", "m"], "4,096"),
        (["abcdefghijkl", "bcdefghijklm"], "4,096"),
        (["abcdefghijk", "bcdefghijkl"], "3,072"),
    ],
)
def test_tables_with_too_many_margins_are_refused_with_their_number(tables, number):
    columns = {name: lw.keys("0") for name in "abcdefghijklm"}
    source = lw.Source(pd.DataFrame({"a": ["0"]}), name="t", columns=columns, epsilon=1)
    with pytest.raises(errors.TooLarge, match=f"margins.* is {number}, and at most 2,048 is possible"):
        source.plan(lw.count(), by=lw.sets(*map(tuple, tables)), epsilon=1)
