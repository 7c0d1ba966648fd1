"""What a computed column means: its expression, bounds, grid and keys; and columns that lie within others."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

from ...question.derivation import Derivation, expression, recode
from ...question.described import described_schema
from ...question.expression import Apply, Constant, Expression, Extract, Named, Product, Recode, Sum, Truncate
from ...question.file import AS_USUAL
from ...question.noise_levels import USUAL
from ...question.query import Compare, OneOf, Value
from ...question.schema import Column, Grid, Schema, dates, keys, number
from ..tools.meaning import Cases, Denied, F

_N, _X, _D = Named("n"), Named("x"), Named("d")


def expressions() -> dict[str, Cases]:
    """Return computed columns, and the parents of columns."""
    return {
        "expression": _declared(),
        "computed": _computed(),
        "recode": _recoded(),
        "refused": _refused(),
        "names": _names(),
        "within": _parents(),
    }


def _schema(columns: dict[str, Any], person: str | None = "p") -> Schema:
    return described_schema("t", columns, person, None, "add_remove", None, True, AS_USUAL, USUAL)


def _made(made: Derivation, **more: Any) -> Column:
    base = {
        "n": number(0, 10, integer=True), "x": number(-1, "2.5"), "k": keys("a", "b", "c"), "b": "boolean",
        "d": dates("2020-01-01", "2020-03-31"), "i": "integer", "z": number(3, 4, integer=True),
    }  # fmt: skip
    return _schema({**base, **more, "c": made}).columns["c"]


def _declared() -> Cases:
    one = keys(1, 2)
    return [
        (lambda: expression("n"), Derivation("n")),
        (lambda: expression("n", low=0, high="2.5"), Derivation("n", F(0), F(5, 2))),
        (lambda: expression("n", edges=[0, 5]), Derivation("n", edges=(F(0), F(5)))),
        (lambda: expression("n", keys=[1, 2]), Derivation("n", keys=one)),
        (
            lambda: expression("n", keys={1: "A", 2: "B"}),
            Derivation("n", keys=replace(one, labels=("A", "B")), labels=("A", "B")),
        ),
        (lambda: expression("n", keys=_as([date(2020, 1, 1)])), Derivation("n", keys=keys(date(2020, 1, 1)))),
        (
            lambda: expression("n", labels=["A"], unit="h", title="T"),
            Derivation("n", labels=("A",), unit="h", title="T"),
        ),
        (
            lambda: recode("k", {"a": "A", "b": "B"}, other="C", labels=["u"], unit="h", title="T"),
            Derivation(None, origin="k", codes=(("a", "A"), ("b", "B")), other="C", labels=("u",), unit="h", title="T"),
        ),
        *[(lambda each=each: expression(each), Denied("expression is a text such as")) for each in ("", " ", 7, None)],
        (lambda: expression("n", low=1), Denied("low was given, but the other bound is not given")),
        (lambda: expression("n", high=1), Denied("high was given, but the other bound is not given")),
        (lambda: expression("n", low=2, high=1), Denied("low < high")),
        (lambda: expression("n", keys=[1], edges=[0, 1]), Denied("keys and edges were both given")),
        (lambda: expression("n", keys=_as(["a"])), Denied("keys is whole numbers or dates")),
        (lambda: expression("n", keys=[True]), Denied("keys is whole numbers or dates")),
        (lambda: expression("n", edges=[1]), Denied("two or more numbers in rising order")),
        (lambda: recode(_as(7), {"a": "A"}), Denied("from is the name of a declared column")),
        *[
            (lambda each=each: recode("k", each), Denied("recode is a table from values to keys"))
            for each in ({}, {"a": ""}, {"a": "A", "b": 7}, [("a", "A")], None)
        ],
        *[(lambda each=each: recode("k", {"a": "A"}, other=each), Denied("other is a text")) for each in ("", 7)],
    ]


def _whole(low: int, high: int, made: Expression, **more: Any) -> Column:
    listed = more.pop("keys", tuple(range(low, high + 1)))
    return Column("integer", F(low), F(high), listed, grid=Grid(F(1), low, high), expression=made, **more)


def _real(low: F, high: F, step: F, ends: tuple[int, int], made: Expression) -> Column:
    return Column("number", low, high, grid=Grid(step, *ends), expression=made)


def _constant(value: Any) -> Constant:
    return Constant(F(value))


def _computed() -> Cases:
    plus, days = Sum((_constant(1), _N)), tuple(date(2020, month, 1) for month in (1, 2, 3))
    months = Column("date", keys=days, first=days[0], last=days[-1], expression=Truncate("MONTH", _D))
    first = (days[0] - date(1970, 1, 1)).days
    clamp = Apply("CLAMP", (_N, _constant(2), _constant(5)))
    square, step = Product((_X, _X)), F(1, 2**27)
    fraction = Product((_constant(F(1, 4)), _N))
    return [
        (lambda: _made(expression("n + 1")), _whole(1, 11, plus)),
        (lambda: _made(expression(" n+1 ")), _whole(1, 11, plus)),
        (lambda: _made(expression("n")), _whole(0, 10, _N)),
        (
            lambda: _made(expression("n * 2 - 3")),
            _whole(-3, 17, Sum((_constant(-3), Product((_constant(2), _N))))),
        ),
        (lambda: _made(expression("n / 4")), _real(F(0), F(5, 2), F(1, 4), (0, 10), fraction)),
        (lambda: _made(expression("n * 1000")),
         _real(F(0), F(10000), F(1000), (0, 10), Product((_constant(1000), _N)))),
        (lambda: _made(expression("x * x")), _real(F(-5, 2), F(25, 4), step, (-5 * 2**26, 25 * 2**25), square)),
        (lambda: _made(expression("n", low=2, high=5)), _whole(2, 5, clamp)),
        (lambda: _made(expression("n + 1", edges=[0, 5])), _whole(1, 11, plus, keys=None, edges=(F(0), F(5)))),
        (lambda: _made(expression("n + 1", edges=[0, 5], labels=["A"], unit="h", title="T")),
         _whole(1, 11, plus, keys=None, edges=(F(0), F(5)), labels=("A",), unit="h", title="T")),
        (lambda: _made(expression("n + 1", keys=[7, 2])), _whole(1, 11, plus, keys=(7, 2))),
        (lambda: _made(expression("n + 1", keys={7: "A", 2: "B"})),
         _whole(1, 11, plus, keys=(7, 2), labels=("A", "B"))),
        (lambda: _made(expression("z * 0")).grid, Grid(F(1), 0, 1)),
        (lambda: _made(expression("z * 0 + 5")).grid, Grid(F(5), 0, 1)),
        (lambda: _made(expression("z * 0 - 5")).grid, Grid(F(5), -1, 0)),
        (lambda: _made(expression("w"), w=number(0, 999, integer=True)).keys, tuple(range(1000))),
        (lambda: _made(expression("w"), w=number(0, 1000, integer=True)).keys, None),
        (lambda: _made(expression("YEAR(d)")).expression, Extract("YEAR", _D)),
        (lambda: _made(expression("EXTRACT(month FROM d)")).expression, Extract("MONTH", _D)),
        (lambda: replace(_made(expression("DATE_TRUNC('month', d)")), grid=None), months),
        (lambda: _made(expression("DATE_TRUNC('month', d)")).grid, Grid(F(1), first, first + 60)),
        (lambda: _made(expression("DATE_TRUNC('month', d)", keys=_as([days[1]]))).keys, (days[1],)),
        (lambda: _made(expression("CASE WHEN n > 5 THEN 'hi' ELSE 'lo' END")),
         Column("text", keys=("hi", "lo"), expression=Recode(((Compare("n", ">=", F(6)), "hi"),), "lo"))),
        (lambda: _made(expression("CASE WHEN n > 5 THEN 'hi' WHEN n > 3 THEN 'lo' ELSE 'hi' END")).keys, ("hi", "lo")),
        (lambda: _made(expression("CASE WHEN n > 5 THEN 'hi' WHEN n > 3 THEN 'lo' END")).keys, ("hi", "lo")),
    ]  # fmt: skip


def _text(*listed: str, made: Recode, **more: Any) -> Column:
    return Column("text", keys=listed, expression=made, **more)


def _is(column: str, value: Value) -> Compare:
    return Compare(column, "=", value)


def _recoded() -> Cases:
    both = OneOf("k", ("a", "b"))
    two = Recode(((OneOf("i", (F(1), F(3))), "A"), (_is("i", F(2)), "B")), None)
    yes = Recode(((_is("b", True), "yes"), (_is("b", False), "no")), None)
    day = date(2020, 1, 31)
    return [
        (lambda: _made(recode("k", {"b": "A", "a": "A"})), _text("A", made=Recode(((both, "A"),), None))),
        (lambda: _made(recode("K", {"b": "A", "a": "A"})), _text("A", made=Recode(((both, "A"),), None))),
        (lambda: _made(recode("k", {"a": "A"}, other="B")), _text("A", "B", made=Recode(((_is("k", "a"), "A"),), "B"))),
        (lambda: _made(recode("k", {"a": "A"}, other="A")), _text("A", made=Recode(((_is("k", "a"), "A"),), "A"))),
        (lambda: _made(recode("k", {"a": "A"}, other="B", labels=["u", "v"], unit="h", title="T")),
         _text("A", "B", made=Recode(((_is("k", "a"), "A"),), "B"), labels=("u", "v"), unit="h", title="T")),
        (lambda: _made(recode("i", {1: "A", "2": "B", 3: "A"})), _text("A", "B", made=two)),
        (lambda: _made(recode("x", {"0.5": "A", 0.1: "B"})),
         _text("A", "B", made=Recode(((_is("x", F(1, 2)), "A"), (_is("x", F(1, 10)), "B")), None))),
        (lambda: _made(recode("b", {"true": "yes", False: "no"})), _text("yes", "no", made=yes)),
        (lambda: _made(recode("d", {"2020-01-31": "A"})), _text("A", made=Recode(((_is("d", day), "A"),), None))),
        (lambda: _made(recode("d", {day: "A"})), _text("A", made=Recode(((_is("d", day), "A"),), None))),
        (lambda: _made(recode("n", {True: "A"})), _text("A", made=Recode(((_is("n", F(1)), "A"),), None))),
    ]  # fmt: skip


def _refused() -> Cases:
    texts = Denied("by texts with bounds, edges or keys")
    case = "CASE WHEN n > 5 THEN 'hi' ELSE 'lo' END"
    wrong: list[tuple[Derivation, Denied]] = [
        (expression("5"), Denied('computes the column "c" by an expression without a column')),
        (expression("q + 1"), Denied('is refused in column "c": "q" is not a declared column of "t"')),
        (expression("c + 1"), Denied('"c" is not a declared column of "t"')),
        (expression("k + 1"), Denied('by the text "k" in an expression')),
        (expression("n +"), Denied("by a text that is not valid SQL")),
        (expression("i + 1"), Denied('computes the column "c" by')),
        (expression(case, low=1, high=2), texts),
        (expression(case, edges=[0, 1]), texts),
        (expression(case, keys=[1]), texts),
        (expression("n / 4", keys=[1]), Denied("by keys of the type integer")),
        (expression("n", keys=_as([date(2020, 1, 1)])), Denied("by keys of the type date")),
        (expression("n", keys=[1, 2], labels=["A"]), Denied("The list of labels has 1 labels for 2 groups")),
        (expression("x", labels=["A"]), Denied("labels was given, but the column has neither keys nor edges")),
        (expression("n", title="=1"), Denied("title")),
        (expression(f"n * 1{'0' * 100}"), Denied("by")),
        (recode("q", {"a": "A"}), Denied('"q" is not a declared column')),
        (recode("e", {2: "A"}), Denied("by a recode of a computed column")),
        (recode("i", {"x": "A"}), Denied("by a recode of what is no integer")),
        (recode("k", {1: "A"}), Denied("by a recode of what is no text")),
        (recode("b", {"x": "A"}), Denied("by a recode of what is no boolean")),
        (recode("b", {1.5: "A"}), Denied("by a recode of what is no boolean")),
        (recode("d", {"x": "A"}), Denied("by a recode of what is no date")),
        (recode("d", {7: "A"}), Denied("by a recode of what is no date")),
    ]
    return [(partial(_made, made, e=expression("n + 1")), refused) for made, refused in wrong]


def _names() -> Cases:
    base = {"n": number(0, 10, integer=True)}
    chain = {**base, "a": expression("n + 1"), "b": expression("a * 2")}
    return [
        (lambda: list(_schema({"a": expression("n + 1"), **base}).columns), ["n", "a"]),
        (lambda: _schema(chain).columns["b"].high, F(22)),
        (
            lambda: _schema({**base, "b": expression("a * 2"), "a": expression("n + 1")}),
            Denied('"a" is not a declared'),
        ),
        (lambda: _schema({**base, "N": expression("n + 1")}), Denied('computes "N", which is also another column')),
        (lambda: _schema({**base, "P": expression("n + 1")}), Denied('computes "P", which is also another column')),
        (lambda: list(_schema({**base, "P": expression("n + 1")}, None).columns), ["n", "P"]),
        *[
            (lambda name=name: _schema({**base, name: expression("n + 1")}), Denied("column name is a text"))
            for name in ("", "a\0", 7)
        ],
        (lambda: _schema(_as([1])), Denied("columns is a mapping from names to declarations")),
    ]


def _parents() -> Cases:
    county = keys("a", "b", "c", within={"r": {"n": ["a", "b"], "s": ["c"]}})
    rest = keys("a", "b", other="z", within={"r": {"n": ["a"], "s": ["b", "z"]}})
    made = Recode(((OneOf("k", ("a", "b")), "n"), (_is("k", "c"), "s")), None)
    region = _text("n", "s", made=made)
    up = {"k": county, "r": keys("n", "s", within={"w": {"all": ["s", "n"]}})}
    clash = 'says that "k" lies within "r", which is '
    return [
        (lambda: _schema({"k": county}).columns, {"k": county, "r": region}),
        (lambda: _schema({"k": county, "r": keys("s", "n", "t", labels=["S", "N", "T"])}).columns["r"],
         replace(region, keys=("s", "n", "t"), labels=("S", "N", "T"))),
        (lambda: _schema({"k": county, "r": keys("n", "s", missing=["9"])}).columns["r"], region),
        (lambda: _schema({"k": rest}).columns["r"],
         _text("n", "s", made=Recode(((_is("k", "a"), "n"), (_is("k", "b"), "s")), "s"))),
        (lambda: _schema(up).columns["w"], _text("all", made=Recode(((OneOf("k", ("a", "b", "c")), "all"),), None))),
        (lambda: _schema(up).columns["r"].expression, made),
        (lambda: _schema(dict(reversed(up.items()))).columns["w"].expression,
         Recode(((OneOf("k", ("a", "b", "c")), "all"),), None)),
        (lambda: list(_schema({"k": keys("a", within="r")}).columns), ["k"]),
        (lambda: _schema({"k": keys("a", within={"q": {"x": ["a"]}}), "q": keys("x", within={"k": {"a": ["x"]}})}),
         Denied("has columns that lie within each other")),
        (lambda: _schema({"k": county, "l": keys("u", within={"r": {"n": ["u"]}})}),
         Denied('has two columns that lie within "r"')),
        (lambda: _schema({"k": county, "R": "text"}), Denied(clash + "also another column")),
        (lambda: _schema({"k": keys("a", within={"P": {"n": ["a"]}})}), Denied("which is also another column")),
        (lambda: _schema({"k": county, "r": "text"}), Denied(clash + "declared as something else")),
        (lambda: _schema({"k": county, "r": keys(1, 2)}), Denied(clash + "declared as something else")),
        (lambda: _schema({"k": county, "r": keys("n", "s", other="o")}), Denied(clash + "declared as something else")),
        (lambda: _schema({"k": county, "r": keys("n", "t")}), Denied("in a map whose group 2 is not one of its keys")),
        (lambda: _schema({"k": county, "r": keys("s", "t")}), Denied("in a map whose group 1 is not one of its keys")),
    ]  # fmt: skip


def _as(value: object) -> Any:
    return value
