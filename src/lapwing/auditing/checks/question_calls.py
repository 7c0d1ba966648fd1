"""Questions and tables that Python asks for: what calls mean, and which of them are refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from ...question import query
from ...question.conditions import All
from ...question.cut import Cut, Order, key_kind
from ...question.expression import Choose, Product, Sum
from ...question.query import Query
from ...question.schema import Schema
from ...question.sets import (
    KeySets,
    canonical,
    checked_objective,
    crossed,
    cube,
    different,
    marginals,
    rollup,
    sets,
    table_text,
    table_weights,
)
from ...question.sql import aimed, make_query, parse, weighted
from ...question.statement import make_cut
from ..tools.meant import ComputedAs, Meant, compare, constant, schema_of, statistic, whole
from .meanings import COUNT, ONE, ZERO, X, Y, Z


@cache
def schema() -> Schema:
    """Return the description of the table that the calls ask about."""
    return schema_of()


_A, _B, _C = ("a",), ("b",), ("c",)
_AB, _AC, _BC, _ABC = ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")


class Returned(NamedTuple):
    """A call, and what it must return."""

    what: str
    call: Callable[[], Any]
    value: object


def _tables(what: str, call: Callable[[], KeySets], *tables: tuple[str, ...]) -> Returned:
    return Returned(what, lambda: call().tables, tables)


TABLES = (
    _tables("cube of one", lambda: cube("a"), _A, ()),
    _tables("cube of two", lambda: cube("a", "b"), _AB, _A, _B, ()),
    _tables("cube of three", lambda: cube("a", "b", "c"), _ABC, _AB, _AC, _BC, _A, _B, _C, ()),
    _tables("cube with two together", lambda: cube("a", ("b", "c")), _ABC, _A, _BC, ()),
    _tables("rollup of one", lambda: rollup("a"), _A, ()),
    _tables("rollup of three", lambda: rollup("a", "b", "c"), _ABC, _AB, _A, ()),
    _tables("rollup with two together", lambda: rollup(["a", "b"], "c"), _ABC, _AB, ()),
    _tables("sets", lambda: sets(("b", "a"), "a", ()), ("b", "a"), _A, ()),
    _tables("sets that are equal", lambda: sets(("b", "a"), ("a", "b"), "a", ["a"]), ("b", "a"), _A),
    _tables("sets of sets", lambda: sets("a", cube("b"), rollup("a", "c")), _A, _B, (), _AC),
    _tables("marginals", lambda: marginals("a", "b", "c", upto=2), (), _A, _B, _C, _AB, _AC, _BC),
    _tables("marginals of one", lambda: marginals("a", "b", upto=1), (), _A, _B),
    _tables("all marginals", lambda: marginals("a", "b", upto=10**6), (), _A, _B, _AB),
    Returned("the largest cube", lambda: len(cube(*map(str, range(9))).tables), 512),
    Returned("the longest rollup", lambda: len(rollup(*map(str, range(999))).tables), 1000),
    Returned("as many sets as possible", lambda: len(sets(*map(str, range(1000))).tables), 1000),
    Returned("as many marginals as possible", lambda: len(marginals(*map(str, range(999)), upto=1).tables), 1000),
    Returned("no product", lambda: crossed([]), [()]),
    Returned("a product", lambda: crossed([[_A], [_B, ()], [_C, _A]]), [_ABC, _AB, _AC, _A]),
    Returned("a product with equal tables", lambda: crossed([[_A, _B], [_B, _A]]), [_AB, _A, _B]),
    Returned("different tables", lambda: different([_AB, ("b", "a"), _A, _AB, ()]), [_AB, _A, ()]),
    Returned("no columns", lambda: canonical([()]), ((), ((),))),
    Returned("tables of one column", lambda: canonical([_B, _A]), (("b", "a"), (_B, _A))),
    Returned("an order that is given", lambda: canonical([_B, _A], ["a"]), (("a", "b"), (_A, _B))),
    Returned("fewer columns first", lambda: canonical([_ABC, _BC, _C, ()]),
        (("c", "b", "a"), ((), _C, ("c", "b"), ("c", "b", "a")))),
    Returned("columns in their order", lambda: canonical([_AC, _BC], "cba"),
        (("c", "b", "a"), (("c", "b"), ("c", "a")))),
    Returned("known columns before new ones", lambda: canonical([_AB, _BC, _AC, _C]),
        (("c", "a", "b"), (_C, ("c", "a"), ("c", "b"), _AB))),
    Returned("the text of the total", lambda: table_text(()), "()"),
    Returned("the text of a table", lambda: table_text(("a b", "c")), "(a b, c)"),
)  # fmt: skip

_SMALL = compare("x", "<", 2)
_SHARE = Choose(((_SMALL, ONE),), ZERO)
_SHARE_TEXT = 'CASE WHEN "x" < 2 THEN 1 ELSE 0 END'
_EDGES = (whole(0), whole(3), whole(7))


def _meant(canonical_text: str, *statistics: Any, **more: Any) -> Meant:
    return Meant((), statistics, canonical_text, **more)


def _asked(*statistics: Any, by: Any = None, where: Any = None) -> Callable[[], Query]:
    return lambda: make_query(statistics, by, where, schema())


ASKED: tuple[tuple[Callable[[], Query], Meant], ...] = (
    (_asked(query.count()), _meant('COUNT(*) FROM "t"', COUNT)),
    (_asked(query.count(), by=()), _meant('COUNT(*) FROM "t"', COUNT)),
    (_asked(query.count(), by="K"), _meant('COUNT(*) FROM "t" GROUP BY "k"', COUNT, by=("k",))),
    (_asked(query.sum("X", share=2, error="0.5", name="s"), by=["k", "m"], where="x < 2 AND z > 3"),
        _meant('SUM("x") FROM "t" WHERE "x" < 2 AND "z" >= 4 GROUP BY "k", "m"',
        statistic("sum", "x", "s", share=whole(2), error=whole(1, 2)), by=("k", "m"),
        where=All((_SMALL, compare("z", ">=", 4))))),
    (_asked(query.mean("x"), where=_SMALL),
        _meant('AVG("x") FROM "t" WHERE "x" < 2', statistic("mean", "x", "mean_x"), where=_SMALL)),
    (_asked(query.people()), _meant('COUNT(DISTINCT "p") FROM "t"', statistic("people", "p", "people"))),
    (_asked(query.quantile("x", [0, "1/3", 1]), query.median("y")),
        _meant('MAX("x"), MEDIAN("y"), MIN("x"), QUANTILE_CONT("x", 1/3) FROM "t"',
        statistic("quantile", "x", "min_x", level=whole(0)),
        statistic("quantile", "x", "q1/3_x", level=whole(1, 3)),
        statistic("quantile", "x", "max_x", level=whole(1)),
        statistic("quantile", "y", "median_y", level=whole(1, 2)))),
    (_asked(query.proportion("2 > x")), _meant(f'AVG({_SHARE_TEXT}) FROM "t"',
        statistic("proportion", None, "proportion", condition=_SMALL))),
    (_asked(query.proportion("x < 2", weight="z")),
        _meant(f'SUM("z" * {_SHARE_TEXT}) / SUM("z") FROM "t"',
        statistic("mean", _SHARE_TEXT, "proportion", weight=Z, expression=_SHARE),
        computed={_SHARE_TEXT: ComputedAs(_SHARE, "integer", whole(0), whole(1), (0, 1))})),
    (_asked(query.mean("y", weight="2 * z")),
        _meant('SUM("y" * "z") / SUM("z") FROM "t"', statistic("mean", "y", "mean_y", weight=Z))),
    (_asked(query.count(weight="z")), _meant('SUM("z") FROM "t"', statistic("sum", "z", "sum_z"))),
    (_asked(query.sum("x", weight="z")), _meant('SUM("x" * "z") FROM "t"',
        statistic("sum", '"x" * "z"', "sum_x_z", expression=Product((X, Z))),
        computed={'"x" * "z"': ComputedAs(Product((X, Z)), "number", whole(0),
        whole(90))})),
    (_asked(query.quantile("y", 0.25, weight="x", error=3)),
        _meant('WEIGHTED_QUANTILE("y", "x", 0.25) FROM "t"',
        statistic("quantile", "y", "q0.25_y", level=whole(1, 4), weight=X, error=whole(3)))),
    (_asked(query.histogram("x", [0, 3, 7], name="h"), by="k"),
        _meant('COUNT(*) FROM "t" GROUP BY "k", BIN("x", 0, 3, 7)', statistic("count", None, "h"), by=("k", "x"),
        edges=(("x", _EDGES),))),
    (_asked(query.histogram("e", (0, 3, 10))), _meant('COUNT(*) FROM "t" GROUP BY "e"', COUNT, by=("e",))),
    (_asked(query.cdf("x", [3, 7])), _meant('CDF("x") FROM "t" GROUP BY BIN("x", 0, 3, 7, 10)',
        statistic("cdf", "x", "cdf_x"), by=("x",),
        edges=(("x", (whole(0), whole(3), whole(7), whole(10))),))),
    (_asked(query.cdf("x", 4)), _meant('CDF("x") FROM "t" GROUP BY BIN("x", 0, 2.5, 5, 7.5, 10)',
        statistic("cdf", "x", "cdf_x"), by=("x",),
        edges=(("x", tuple(Fraction(5 * i, 2) for i in range(5))),))),
    (_asked(query.cdf("z", 256), by="k"),
        _meant('CDF("z") FROM "t" GROUP BY "k", BIN("z", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)',
        statistic("cdf", "z", "cdf_z"), by=("k", "z"),
        edges=(("z", tuple(map(Fraction, range(11)))),))),
    (_asked(query.count(), by=cube("k", "m")),
        _meant('COUNT(*) FROM "t" GROUP BY GROUPING SETS ((), ("k"), ("m"), ("k", "m"))', COUNT,
        by=("k", "m"), sets=((), ("k",), ("m",), ("k", "m")))),
    (_asked(query.count(), by=["k", sets("m", ())]),
        _meant('COUNT(*) FROM "t" GROUP BY GROUPING SETS (("k"), ("k", "m"))', COUNT,
        by=("k", "m"), sets=(("k",), ("k", "m")))),
    (_asked(query.count(), by=sets("K")), _meant('COUNT(*) FROM "t" GROUP BY "k"', COUNT, by=("k",))),
    (_asked(query.count(), by=sets(("region", "town"), "region")),
        _meant('COUNT(*) FROM "t" GROUP BY GROUPING SETS (("region"), ("town"))', COUNT, by=("region", "town"),
        sets=(("region",), ("town",)))),
    (_asked(query.sum("y + x"), by="z + 1"),
        _meant('SUM("x" + "y") FROM "t" GROUP BY 1 + "z"',
        statistic("sum", '"x" + "y"', "sum_x_y", expression=Sum((X, Y))), by=('1 + "z"',), titles=("1 + z",),
        computed={'"x" + "y"': ComputedAs(Sum((X, Y)), "number", whole(-4), whole(20)),
        '1 + "z"': ComputedAs(Sum((constant(1), Z)), "integer", whole(1), whole(10),
        tuple(range(1, 11)))})),
)  # fmt: skip


@cache
def plain() -> Query:
    """Return a question about two columns, by a key."""
    return make_query([query.sum("x"), query.mean("y", name="m")], "k", None, schema())


@cache
def two() -> Query:
    """Return a question for several tables."""
    return make_query([query.count(), query.sum("x")], cube("k", "m"), None, schema())


@cache
def titled() -> Query:
    """Return a question for several tables, with another name of a key."""
    return parse("SELECT k AS kind, COUNT(*) FROM t GROUP BY ROLLUP (k)", schema())


@cache
def quotient() -> Query:
    """Return a question for a ratio."""
    return parse("SELECT SUM(x) / SUM(z) AS r FROM t", schema())


@cache
def counted() -> Query:
    """Return a question for numbers of rows."""
    return make_query([query.count(name="n")], "k", None, schema())


RETURNED = (
    Returned("weights of columns", lambda: [each.share for each in weighted(plain(), {"X": 3, "y": "0.5"},
        schema()).statistics], [3, Fraction(1, 2)]),
    Returned("a weight of one column", lambda: [each.share for each in weighted(plain(), {"y": 2},
        schema()).statistics], [None, 2]),
    Returned("a weight inside a ratio", lambda: [part.share for part in weighted(quotient(), {"z": 2},
        schema()).statistics[0].parts], [None, 2]),
    Returned("errors of statistics", lambda: [each.error for each in aimed(plain(),
        {"M": 2, "sum_x": "1/3"}).statistics], [Fraction(1, 3), 2]),
    Returned("an error of one statistic", lambda: [each.error for each in aimed(plain(), {"m": 2}).statistics],
        [None, 2]),
    Returned("weights of tables", lambda: table_weights(two(), {("M", "k"): 4, "k": "1/2", (): 10**15}),
        {(): 10**15, ("k",): Fraction(1, 2), ("m",): 1, ("k", "m"): 4}),
    Returned("a weight by the title of a key", lambda: table_weights(titled(), {"KIND": Fraction(1, 10**15)}),
        {(): 1, ("k",): Fraction(1, 10**15)}),
    Returned("no weights of tables", lambda: table_weights(two(), {}), {(): 1, ("k",): 1, ("m",): 1, ("k", "m"): 1}),
    Returned("objectives", lambda: [*map(checked_objective, ("mean", "minimax", "cells"))],
        ["mean", "minimax", "cells"]),
    Returned("types of keys", lambda: [key_kind(each) for each in ((1, 2), ("a",), (True,), ("a", 1), ())],
        ["integer", "text", "boolean", "text", "text"]),
    Returned("no cut", lambda: make_cut(counted(), schema()), Cut(None, (), None, 0)),
    Returned("no cut of several tables", lambda: make_cut(two(), schema()), Cut(None, (), None, 0)),
    Returned("a cut by a condition", lambda: make_cut(counted(), schema(), having="n >= 3 AND K = 'a'"),
        Cut(All((compare("k", "=", "a"), compare("n", ">=", 3))), (), None, 0)),
    Returned("a cut by an order", lambda: make_cut(counted(), schema(), order_by="n DESC, k"),
        Cut(None, (Order("n", True), Order("k", False)), None, 0)),
    Returned("a cut by two orders", lambda: make_cut(counted(), schema(), order_by=["k", "COUNT(*) DESC"]),
        Cut(None, (Order("k", False), Order("n", True)), None, 0)),
    Returned("a cut by a number", lambda: make_cut(counted(), schema(), order_by="2"),
        Cut(None, (Order("n", False),), None, 0)),
    Returned("a cut by no order", lambda: make_cut(counted(), schema(), order_by=[]), Cut(None, (), None, 0)),
    Returned("a cut by numbers", lambda: make_cut(counted(), schema(), limit=0, offset=10**15),
        Cut(None, (), 0, 10**15)),
    Returned("a cut as text", lambda: Cut(compare("n", ">", 3), (Order("n", True), Order('a"b', False)), 5, 2).text,
        'HAVING "n" > 3 ORDER BY "n" DESC, "a""b" LIMIT 5 OFFSET 2'),
    Returned("notes of a cut by keys", lambda: Cut(compare("k", "=", "a"), (Order("k", True),), 5, 2).notes(["k"],
        simultaneous=False), []),
    Returned("notes of no cut", lambda: Cut(None, (Order("n", True),), None, 0).notes(["k"], simultaneous=False), []),
    Returned("notes of a condition", lambda: [each[:6] for each in Cut(compare("n", ">", 3), (), None, 0).notes(["k"],
        simultaneous=True)], ["HAVING"]),
    Returned("notes of ranks", lambda: [[each[:5] for each in cut.notes(["k"], simultaneous=False)] for cut in
        (Cut(None, (Order("k", False), Order("n", True)), 5, 0), Cut(None, (Order("n", True),), None, 1))],
        [["Ranks", "For r"]] * 2),
    Returned("no cut as text", lambda: Cut(None, (), None, 0).text, ""),
    Returned("a cut for JSON", lambda: Cut(compare("n", ">", 3), (Order("n", True),), 5, 2).to_dict(),
        {"having": '"n" > 3', "order_by": [{"name": "n", "descending": True}], "limit": 5, "offset": 2}),
    Returned("no cut for JSON", lambda: Cut(None, (), None, 0).to_dict(),
        {"having": None, "order_by": [], "limit": None, "offset": 0}),
)  # fmt: skip
