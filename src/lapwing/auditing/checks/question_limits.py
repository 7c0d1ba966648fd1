"""Calls of Python that are refused: more than is possible, and what no question has."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

from ...errors import LapwingError
from ...question import query
from ...question.ratios import ratio
from ...question.schema import Schema, keys, number
from ...question.sets import checked_objective, cube, marginals, rollup, sets, table_weights
from ...question.sql import aimed, make_query, parse, weighted
from ...question.statement import make_cut, read
from ..tools.meant import schema_of
from ..tools.refusing import Call
from .question_calls import counted, plain, quotient, schema, two


@cache
def alone() -> Schema:
    """Return the description of a table in which every row is one person."""
    return schema_of({"x": number(0, 10), "k": keys("a", "b")}, person=None)


@cache
def many() -> Schema:
    """Return the description of a table with many keys."""
    few = {name: keys("a", "b") for name in _names(61)}
    return schema_of({**few, "n": keys(range(5000)), "m": keys(range(9999)), "one": keys(1)})


class CallRule(NamedTuple):
    """A rule in words, what its refusal says, calls that keep it, and calls that break it."""

    what: str
    says: str
    right: tuple[Call, ...]
    wrong: tuple[Call, ...]


def saying(call: Call, says: str) -> Call:
    """Return the call; a refusal that does not say this is no refusal by the rule."""

    def called() -> Any:
        try:
            return call()
        except LapwingError as error:
            if says not in str(error):
                raise ValueError(f"says {error}") from None
            raise

    return called


def _each(call: Callable[[Any], Any], *given: Any) -> tuple[Call, ...]:
    return tuple(lambda one=one: call(one) for one in given)


def _asked(*statistics: Any, by: Any = None, where: Any = None) -> Call:
    return lambda: make_query(statistics, by, where, schema())


def _call(call: Callable[..., Any], *given: Any, **more: Any) -> Call:
    return lambda: call(*given, **more)


def _cut(**parts: Any) -> Call:
    return lambda: make_cut(counted(), schema(), **parts)


def _names(number: int) -> list[str]:
    return [f"c{i}" for i in range(number)]


def _tables(*tables: Any) -> Call:
    return lambda: make_query([query.count()], sets(*tables), None, many())


def _in_sql(text: str) -> Call:
    return lambda: parse(text, many())


_C12 = _names(12)
_GROUPING = "SELECT COUNT(*), GROUPING({}) FROM t GROUP BY GROUPING SETS ({})"
_COUNT = query.count()

SETS = (
    CallRule("tables are given", "Nothing was given for", _each(lambda call: call("a"), cube, rollup, sets),
        _each(lambda call: call(), cube, rollup, sets, lambda: marginals(upto=2))),
    CallRule("tables are of names", "names of columns",
        (lambda: cube("a", ("b", "c")), lambda: sets(["a"], ()), lambda: rollup(["a"])),
        (_call(cube, 1), _call(cube, ("a", 1)), _call(rollup, {"a": 1}), _call(sets, None), _call(sets, {"a"}),
        _call(marginals, "a", 2, upto=1))),
    CallRule("a key is named once", "a key twice",
        (lambda: cube("a", "b"), lambda: sets("a", "a"), lambda: rollup("a", "A")),
        (lambda: cube("a", "a"), lambda: rollup("a", ("b", "a")), lambda: sets(("a", "a")),
        lambda: marginals("a", "b", "a", upto=1), lambda: cube(("a", "a")))),
    CallRule("the number of tables", "The number of tables",
        (lambda: cube(*_names(9)), lambda: rollup(*_names(999)), lambda: sets(*_names(1000)),
        lambda: marginals(*_names(44), upto=2)),
        (lambda: cube(*_names(10)), lambda: rollup(*_names(1000)), lambda: sets(*_names(1001)),
        lambda: marginals(*_names(45), upto=2), lambda: marginals(*_names(60), upto=30))),
    CallRule("all tables of a cube are counted", "1,024", (lambda: cube(*_names(9)),), (lambda: cube(*_names(10)),)),
    CallRule("marginals are counted", "1,036", (lambda: marginals(*_names(44), upto=2),),
        (lambda: marginals(*_names(45), upto=2),)),
    CallRule("numbers of tables that are shown are short", "more than 1,000,000,000", (lambda: cube("a"),),
        (lambda: cube(*_names(30)), lambda: marginals(*_names(60), upto=30))),
    CallRule("how large the marginals are", "upto", (lambda: marginals("a", upto=1),),
        (lambda: marginals("a", upto=0), _call(marginals, "a", upto=1.5), lambda: marginals("a", upto=10**6 + 1),
        _call(marginals, "a", upto="b"))),
    CallRule("the number of cells", "The number of cells of all tables", (_tables(("n", "m"), "n"),),
        (_tables(("n", "m"), "n", ()), _tables(("n", "m", "c1"), ()))),
    CallRule("the number of key columns", "The number of key columns", (_tables(*_names(60)),),
        (_tables(*_names(61)),)),
    CallRule("the number of margins", "The number of tables and of their margins",
        (_tables(_C12[:11], ()), _tables(*combinations(_names(11), 2))),
        (_tables(_C12, ()), _tables(_C12[:11], "one"), _tables(_C12[:11], _C12[1:]))),
    CallRule("GROUPING has 16 columns at most", "GROUPING of more than 16",
        (_in_sql(_GROUPING.format(", ".join(_names(16)), ", ".join(_names(16)))),),
        (_in_sql(_GROUPING.format(", ".join(_names(17)), ", ".join(_names(17)))),)),
    CallRule("the objective is known", '"mean" (all tables alike)',
        _each(checked_objective, "mean", "minimax", "cells"), _each(checked_objective, "max", "", None, "MEAN", 1)),
    CallRule("weights of tables are a mapping", "a mapping from tables to numbers",
        (lambda: table_weights(two(), {"k": 1}),),
        _each(lambda given: table_weights(two(), given), None, [("k", 1)], "k")),
    CallRule("weights are of tables that are asked", "does not ask for it",
        _each(lambda given: table_weights(two(), given), {"k": 1}, {("m", "k"): 1}),
        _each(lambda given: table_weights(two(), given), {"o": 1}, {("k", "o"): 1}, {"count": 1})),
    CallRule("weights of tables are numbers in range", "weight",
        _each(lambda given: table_weights(two(), {"k": given}), 10**15, Fraction(1, 10**15), "1e15"),
        _each(lambda given: table_weights(two(), {"k": given}), 10**15 + 1, Fraction(1, 10**15 + 1), 0, -1, "a",
        None)),
)  # fmt: skip

ASKED = (
    CallRule("statistics are given", "Nothing was given for", (_asked(_COUNT), _asked([_COUNT])),
        (_asked(), _asked([]), _asked((), []))),
    CallRule("statistics are statistics", "what lw.count()", (_asked(_COUNT),),
        (_asked("count"), _asked(_COUNT, 1), _asked([None]))),
    CallRule("there are at most 100 statistics", "The number of statistics", (_asked([_COUNT] * 100),),
        (_asked([_COUNT] * 101), _asked(*[[_COUNT, _COUNT]] * 51))),
    CallRule("keys are names", "by", (_asked(_COUNT, by="k"), _asked(_COUNT, by=["k"]), _asked(_COUNT, by=None)),
        (_asked(_COUNT, by=1), _asked(_COUNT, by={"k"}), _asked(_COUNT, by=0.5))),
    CallRule("keys are names of columns", "column", (_asked(_COUNT, by=("k", cube("m"))),),
        (_asked(_COUNT, by=[1]), _asked(_COUNT, by="unknown"), _asked(_COUNT, by=sets("unknown", "k")))),
    CallRule("a key is named once", "a key twice", (_asked(_COUNT, by=["k", "m"]),),
        (_asked(_COUNT, by=["k", "K"]), _asked(query.histogram("e", [0, 5]), by="e"))),
    CallRule("conditions are texts", "a text of SQL", (_asked(_COUNT, where="x < 2"),),
        (_asked(_COUNT, where=1), _asked(_COUNT, where=["x < 2"]), _asked(_COUNT, where=True))),
    CallRule("conditions are conditions", "cannot be released", (_asked(_COUNT, where="x < 2 AND b"),),
        (_asked(_COUNT, where="x < 2 GROUP BY k"), _asked(_COUNT, where="x"), _asked(_COUNT, where=""),
        _asked(_COUNT, where="x < 2; SELECT 1"))),
    CallRule("a histogram is alone", "together with other statistics", (_asked(query.histogram("x", [0, 5])),),
        (_asked(query.histogram("x", [0, 5]), _COUNT), _asked(query.cdf("x"), query.cdf("y")))),
    CallRule("bins are of numbers", "bins of", (_asked(query.histogram("x", [0, 5])),),
        (_asked(query.histogram("k", [0, 5])), _asked(query.cdf("n", 4)))),
    CallRule("a histogram is of one table", "of several tables", (_asked(query.count(), by=cube("k")),),
        (_asked(query.cdf("x"), by=cube("k")), _asked(query.histogram("x", [0, 5]), by=cube("k")),
        _asked(query.min("x"), by=cube("k")))),
    CallRule("texts are not counted", "texts", (_asked(query.sum("CASE WHEN x < 2 THEN 1 END")),),
        (_asked(query.sum("CASE WHEN x < 2 THEN 'a' END")),
        _asked(query.mean("x", weight="CASE WHEN x < 2 THEN 'a' END")))),
    CallRule("weights are not counted", "a weighted number of values", (_asked(query.count(weight="x")),),
        (_asked(query.count("x", weight="z")),)),
    CallRule("edges are a list", "edges", (lambda: query.histogram("x", [0, 5]), lambda: query.cdf("x", 5)),
        (_call(query.histogram, "x", 5), _call(query.histogram, "x", "0, 5"), lambda: query.cdf("x", 0))),
    CallRule("conditions are not too long", "a text such as 'age >= 65'",
        (_asked(_COUNT, where="x < 2" + " " * 99_979),), (_asked(_COUNT, where="x < 2" + " " * 99_996),)),
    CallRule("people have a column", "in a source that names no person",
        (lambda: make_query([query.people()], None, None, schema()), lambda: make_query([_COUNT], None, None, alone())),
        (lambda: make_query([query.people()], None, None, alone()),
        lambda: read("SELECT COUNT(DISTINCT k) FROM t", alone()))),
    CallRule("columns are declared where every row is one person", "is not a declared column",
        (lambda: read("SELECT COUNT(*) FROM t WHERE x > 1", alone()),),
        (lambda: read("SELECT COUNT(*) FROM t WHERE unknown > 1", alone()),
        lambda: read("SELECT COUNT(*) FROM t WHERE p IS NULL", alone()))),
    CallRule("weights of columns are a mapping", "a mapping from columns to numbers",
        (lambda: weighted(plain(), {"x": 1}, schema()),),
        _each(lambda given: weighted(plain(), given, schema()), None, ["x"], "x")),
    CallRule("weights are about columns of statistics", "no statistic is about that column",
        (lambda: weighted(plain(), {"y": 1}, schema()), lambda: weighted(quotient(), {"z": 1}, schema())),
        (lambda: weighted(plain(), {"z": 1}, schema()), lambda: weighted(plain(), {"x": 1, "k": 1}, schema()))),
    CallRule("a weight for a table has brackets", 'as in brackets: ("k",)',
        (lambda: table_weights(two(), {("k",): 1}),), (lambda: weighted(two(), {"k": 1}, schema()),)),
    CallRule("weights are positive", "weight", (lambda: weighted(plain(), {"x": "1/3"}, schema()),),
        _each(lambda given: weighted(plain(), {"x": given}, schema()), 0, -1, "a", None)),
    CallRule("errors are for statistics", "name of a statistic", (lambda: aimed(plain(), {"m": 1}),),
        (lambda: aimed(plain(), {"y": 1}), lambda: aimed(plain(), {"m": 1, "x": 1}))),
    CallRule("errors are positive", "error", (lambda: aimed(plain(), {"m": "0.5"}),),
        (lambda: aimed(plain(), {"m": 0}), lambda: aimed(plain(), {"m": -1}))),
    CallRule("a ratio is of counts and sums", "a count or sum",
        (lambda: ratio(query.sum("x"), query.count()), lambda: ratio(query.people(), query.sum("x"))),
        (lambda: ratio(query.mean("x"), query.count()), lambda: ratio(query.sum("x"), query.max("x")),
        _call(ratio, "x", _COUNT))),
    CallRule("the factor of a ratio", "factor",
        (lambda: ratio(_COUNT, _COUNT, factor=-(10**100)), lambda: ratio(_COUNT, _COUNT, factor=Fraction(1, 10**100))),
        (lambda: ratio(_COUNT, _COUNT, factor=0), lambda: ratio(_COUNT, _COUNT, factor=10**100 + 1),
        lambda: ratio(_COUNT, _COUNT, factor=Fraction(1, 10**100 + 1)))),
    CallRule("the name and the error of a ratio", "", (lambda: ratio(_COUNT, _COUNT, name="a", error=1),),
        (lambda: ratio(_COUNT, _COUNT, name=""), _call(ratio, _COUNT, _COUNT, name=1),
        lambda: ratio(_COUNT, _COUNT, error=0))),
    CallRule("cuts are texts", "a text such as", (_cut(having="n > 1", order_by=["n"]),),
        (_cut(having=1), _cut(order_by=2), _cut(order_by=["n", 1]), _cut(order_by=None, having=["n > 1"]))),
    CallRule("cuts are parts of SELECT", "cannot be released", (_cut(having="n > 1"),),
        (_cut(having="n > 1 LIMIT 1"), _cut(order_by="n LIMIT 1"), _cut(having="x > 1"),
        _cut(order_by="SUM(x)"), _cut(having="SUM(x) > 1"))),
    CallRule("cuts have whole numbers", "", (_cut(limit=0, offset=0), _cut(limit=10**15)),
        (_cut(limit=-1), _cut(offset=-1), _cut(limit=10**15 + 1), _cut(offset=1.5),
        _cut(limit="a"))),
    CallRule("several tables are whole", "HAVING, ORDER BY or LIMIT with ROLLUP", (lambda: make_cut(two(), schema()),),
        (lambda: make_cut(two(), schema(), having="count > 1"), lambda: make_cut(two(), schema(), order_by="k"),
        lambda: make_cut(two(), schema(), limit=1), lambda: make_cut(two(), schema(), offset=1))),
)  # fmt: skip
