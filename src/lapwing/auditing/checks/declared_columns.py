"""What the declaration of one column means: its kind, bounds, grid, keys, bins, codes and texts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from ...question import bins
from ...question.codes import Kind, Within
from ...question.schema import Column, Grid, dates, keys, number, plain
from ..tools.meaning import Cases, Denied, F

_NONE: Any = None
_WRONG: Any = object()
_DAY = date(2020, 1, 31)


def columns() -> dict[str, Cases]:
    """Return declarations of columns."""
    return {
        "number": _numbers(),
        "grid": _grids(),
        "bounds": _limits(),
        "bins": [*_bins(), *_equal()],
        "keys": [*_keys(), *_wrong_keys()],
        "keys of a number": _number_keys(),
        "missing": _missing(),
        "texts": _texts(),
        "within": _within(),
        "plain and dates": _plain(),
        "described": _described(),
    }


def _column(low: Any, high: Any, step: Any, ends: tuple[int, int], **more: Any) -> Column:
    kind: Kind = "integer" if more.pop("integer", False) else "number"
    return Column(kind, F(low), F(high), grid=Grid(F(step), *ends), **more)


def _numbers() -> Cases:
    whole = _column(0, 120, 1, (0, 120), integer=True)
    return [
        (lambda: number(0, 120, integer=True), whole),
        (lambda: number("0", 120.0, integer=True), whole),
        (lambda: number(_as(np.int64(0)), Decimal("120.0"), integer=True), whole),
        (lambda: number("-0.5", "120.9", integer=True), whole),
        (lambda: number(-1.5, 2.5, integer=True), _column(-1, 2, 1, (-1, 2), integer=True)),
        (lambda: number(0, 1), _column(0, 1, F(1, 2**20), (0, 2**20))),
        (lambda: number(0.1, 1), _column(F(1, 10), 1, F(1, 10 * 2**17), (2**17, 10 * 2**17))),
        (lambda: number(_as(np.float32("0.1")), 1), _column(F(1, 10), 1, F(1, 10 * 2**17), (2**17, 10 * 2**17))),
        (lambda: number(0, 1, integer=_WRONG), Denied("integer is true or false")),
        (lambda: number(0, 1, integer=_as(1)), Denied("integer = 1")),
        (lambda: number(0), Denied("Bounds 0 to nothing")),
        (lambda: number(high=1), Denied("Bounds nothing to 1")),
        (number, Denied("Bounds nothing to nothing")),
        (lambda: number(1, 1), Denied("low < high")),
        (lambda: number(2, 1), Denied("Bounds 2 to 1")),
        (lambda: number(0, "nan"), Denied('to "nan"')),
        (lambda: number(0, float("inf")), Denied("to inf")),
        (lambda: number(_as(True), 2), Denied("Bounds True")),
    ]


def _grids() -> Cases:
    return [
        (lambda: number(0, "1/3"), _column(0, F(1, 3), F(1, 3 * 2**20), (0, 2**20))),
        (lambda: number("1/3", "1/2"), _column(F(1, 3), F(1, 2), F(1, 6 * 2**20), (2**21, 3 * 2**20))),
        (lambda: number(-1, "1e-7"), _column(-1, F(1, 10**7), F(1, 10**7), (-(10**7), 1))),
        (lambda: number(0, 2**20 - 1), _column(0, 2**20 - 1, F(1, 2), (0, 2**21 - 2))),
        (lambda: number(0, 2**20), _column(0, 2**20, 1, (0, 2**20))),
        (lambda: number(0, 2**31), _column(0, 2**31, 1, (0, 2**31))),
        (lambda: number(-1, 2**31), _column(-1, 2**31, 2, (-1, 2**30))),
        (lambda: number(-3, 2**40), _column(-3, 2**40, 2**10, (-1, 2**30))),
        (lambda: number(0, 2**24, integer=True), _column(0, 2**24, 1, (0, 2**24), integer=True)),
        (lambda: number(0, 2**24 + 1, integer=True), _column(0, 2**24 + 1, 1, (0, 2**24 + 1), integer=True)),
        (lambda: number(0, 2**31, integer=True), _column(0, 2**31, 1, (0, 2**31), integer=True)),
        (lambda: number(-3, 2**31 + 1, integer=True), _column(-3, 2**31 + 1, 2, (-2, 2**30 + 1), integer=True)),
        (lambda: number(0, 2**33, integer=True), _column(0, 2**33, 4, (0, 2**31), integer=True)),
        (lambda: number(0, 2**24, integer=True).grid.steps, 2**24),  # type: ignore[union-attr]
        (lambda: number(-7, 5, integer=True).grid.steps, 12),  # type: ignore[union-attr]
    ]


def _limits() -> Cases:
    wide, narrow = 10**100, F(1, 10**100)
    coarse = Denied("at most 10^100 in size, and at least 10^-100 apart")
    whole = Denied("hold two or more whole numbers, and are at most 2^53 in size")
    return [
        (lambda: _ends(number(-wide, wide)), (F(-wide), F(wide))),
        (lambda: number(-wide - 1, 0), coarse),
        (lambda: number(0, wide + 1), coarse),
        (lambda: _ends(number(0, narrow)), (F(0), narrow)),
        (lambda: number(0, narrow / 2), coarse),
        (lambda: _ends(number(-(2**53), 2**53, integer=True)), (F(-(2**53)), F(2**53))),
        (lambda: number(-(2**53) - 1, 0, integer=True), whole),
        (lambda: number(0, 2**53 + 1, integer=True), whole),
        (lambda: number("0.1", "1.9", integer=True), whole),
        (lambda: number("0.1", "0.9", integer=True), whole),
        (lambda: _ends(number("0.1", 2, integer=True)), (F(1), F(2))),
    ]


def _ends(column: Column) -> tuple[F | None, F | None]:
    return column.low, column.high


def _bins() -> Cases:
    rising = Denied("two or more numbers in rising order, such as 0, 18, 65, 120")
    two = (F(0), F(5), F(10))
    inner = _column(-1, 20, F(1, 2**16), (-(2**16), 20 * 2**16), edges=two)
    return [
        (lambda: number(0, 10, edges=[0, 5, 10]), _column(0, 10, F(1, 2**17), (0, 10 * 2**17), edges=two)),
        (lambda: number(edges=(0, "5", 10.0)), _column(0, 10, F(1, 2**17), (0, 10 * 2**17), edges=two)),
        (lambda: number(edges=_as(np.array([0, 5, 10]))), _column(0, 10, F(1, 2**17), (0, 10 * 2**17), edges=two)),
        (lambda: number(-1, 20, edges=[0, 5, 10]), inner),
        (lambda: number(-1, 20, edges=[0, 5, 10]).group_keys, ("< 5", "≥ 5")),
        (lambda: number(0, 20, edges=[0, 5, 10]).group_keys, ("[0, 5)", "≥ 5")),
        (lambda: number(-1, 10, edges=[0, 5, 10]).group_keys, ("< 5", "[5, 10]")),
        (lambda: number(0, 10, edges=[0, "2.5", 5, 10]).group_keys, ("[0, 2.5)", "[2.5, 5)", "[5, 10]")),
        (lambda: number(0, 10, edges=["1/3", 5, 10]).group_keys, ("< 5", "[5, 10]")),
        (lambda: number(1, 9, edges=[0, 5, 10]).group_keys, ("[0, 5)", "[5, 10]")),
        (lambda: number(0, 10, edges=[0, 10]).group_keys, ("[0, 10]",)),
        (lambda: number(0, 11, edges=[0, 10]).group_keys, ("all",)),
        (lambda: number(-1, 10, edges=[0, 10]).group_keys, ("all",)),
        (lambda: number(0, 10, edges=[0, 5, 10]).groups, 2),
        (lambda: number(0, 10, edges=[0]), rising),
        (lambda: number(edges=[]), Denied("Nothing was given for edges")),
        (lambda: number(edges=[0, 5, 5, 10]), rising),
        (lambda: number(edges=[0, 5, 4, 10]), rising),
        (lambda: number(edges=[5, 4]), Denied("edges = 5, 4")),
        (lambda: number(edges=[5, 4, 3, 2, 1, 0]), Denied("edges = 5, 4, 3, 2, 1 was")),
        (lambda: number(edges=_as("018")), rising),
        (lambda: number(edges=_as(7)), Denied("edges = 7")),
        (lambda: number(edges=_as([0, "x"])), Denied("edge is one finite number")),
        (lambda: number(0, 1, edges=[0, 10**300]).edges, (F(0), F(10**300))),
        (lambda: number(0, 1, edges=[-(10**300), 0]).edges, (F(-(10**300)), F(0))),
        (lambda: number(0, 1, edges=[0, 10**300 + 1]), rising),
        (lambda: number(0, 1, edges=[-(10**300) - 1, 0]), rising),
    ]


def _equal() -> Cases:
    whole, real = number(0, 10, integer=True), number(-1, 2)
    return [
        (lambda: bins.equal_bins(real, 3), (F(-1), F(0), F(1), F(2))),
        (lambda: bins.equal_bins(real, 2), (F(-1), F(1, 2), F(2))),
        (lambda: bins.equal_bins(real, 1), (F(-1), F(2))),
        (lambda: bins.equal_bins(whole, 3), (F(0), F(3), F(7), F(11))),
        (lambda: bins.equal_bins(whole, 11), tuple(map(F, range(12)))),
        (lambda: bins.equal_bins(whole, 12), tuple(map(F, range(12)))),
        (lambda: bins.equal_bins(number(-5, -2, integer=True), 2), (F(-5), F(-3), F(-1))),
    ]


def _keys() -> Cases:
    two = Column("text", keys=("a", "b"))
    return [
        (lambda: keys("a", "b"), two),
        (lambda: keys(["a", "b"]), two),
        (lambda: keys(iter(("a", "b"))), two),
        (lambda: keys(np.array(["a", "b"])), two),
        (lambda: keys("b", "a"), Column("text", keys=("b", "a"))),
        (lambda: keys("ab"), Column("text", keys=("ab",))),
        (lambda: keys(""), Column("text", keys=("",))),
        (lambda: keys({"a": "one", "b": "two"}), Column("text", keys=("a", "b"), labels=("one", "two"))),
        (lambda: keys(1, 2), Column("integer", keys=(1, 2))),
        (lambda: keys(7), Column("integer", keys=(7,))),
        (lambda: keys(np.array([1, 2])), Column("integer", keys=(1, 2))),
        (lambda: keys(range(3)), Column("integer", keys=(0, 1, 2))),
        (lambda: keys(True, False), Column("boolean", keys=(True, False))),
        (lambda: keys(np.array([True, False])), Column("boolean", keys=(True, False))),
        (lambda: keys(_DAY), Column("date", keys=(_DAY,))),
        (lambda: keys(_as(np.array(["2020-01-31"], dtype="datetime64[D]"))), Column("date", keys=(_DAY,))),
        (lambda: keys("a", "b", other="c"), Column("text", keys=("a", "b"), other="c")),
        (lambda: keys(1, 2, other="1"), Column("integer", keys=(1, 2), other="1")),
        (lambda: keys("a", "b", other="c").group_keys, ("a", "b", "c")),
        (lambda: keys("a", "b").group_keys, ("a", "b")),
        (lambda: plain("text").group_keys, None),
        (lambda: number(0, 1).group_keys, None),
        (lambda: keys("a", "b", other="c").groups, 3),
        (lambda: keys("a", "b").groups, 2),
        (lambda: plain("text").groups, 0),
        (lambda: keys(-(2**53), 2**53), Column("integer", keys=(-(2**53), 2**53))),
    ]


def _wrong_keys() -> Cases:
    missing = Denied("a missing key in place 2")
    bytes_ = Denied("something of type bytes in place 1")
    other = Denied("other is a text that is not one of the keys")
    return [
        (keys, Denied("The list of keys has nothing in it")),
        (lambda: keys([]), Denied("nothing in it")),
        (lambda: keys("a", "b", "c", "b"), Denied("the same key in places 2 and 4")),
        (lambda: keys("a", "b", 1), Denied("keys of different types (text in place 1, integer in place 3)")),
        (lambda: keys(1, True), Denied("keys of different types (integer in place 1, boolean in place 2)")),
        (lambda: keys("a", _NONE), missing),
        (lambda: keys("a", _as(float("nan"))), missing),
        (lambda: keys(_DAY, _as(np.datetime64("NaT", "D"))), missing),
        (lambda: keys("a", _as(0.5)), Denied("something of type float in place 2")),
        (lambda: keys(_as(b"a")), bytes_),
        (lambda: keys(_as(bytearray(b"a"))), Denied("something of type bytearray in place 1")),
        (lambda: keys(_as(memoryview(b"a"))), Denied("something of type memoryview in place 1")),
        (lambda: keys(_WRONG), Denied("something of type object in place 1")),
        (lambda: keys(datetime(2020, 1, 31)), Denied("something of type datetime in place 1")),
        (lambda: keys(_as(np.datetime64("2020-01", "M"))), Denied("something of type datetime64 in place 1")),
        (lambda: keys(1, 2**53 + 1), Denied("a number beyond 2^53 in place 2")),
        (lambda: keys(-(2**53) - 1), Denied("a number beyond 2^53 in place 1")),
        (lambda: keys("a", "b\0"), Denied("a text in place 2 that is not Unicode or holds a NUL")),
        (lambda: keys("\ud800"), Denied("a text in place 1 that is not Unicode")),
        (lambda: keys("a", other="a"), other),
        (lambda: keys("a", other=""), other),
        (lambda: keys("a", other=_as(7)), other),
    ]


def _number_keys() -> Cases:
    three = _column(0, 9, 1, (0, 9), integer=True, keys=(1, 2, 3))
    return [
        (lambda: number(0, 9, integer=True, keys=[1, 2, 3]), three),
        (lambda: number(0, 9, integer=True, keys=range(1, 4)), three),
        (
            lambda: number(0, 9, integer=True, keys={1: "one", 2: "two"}),
            _column(0, 9, 1, (0, 9), integer=True, keys=(1, 2), labels=("one", "two")),
        ),
        (lambda: number(0, 9, integer=True, keys=[3, 1]).group_keys, (3, 1)),
        (lambda: number(0, 1, keys=[0, 1]), _column(0, 1, F(1, 2**20), (0, 2**20), keys=(0, 1))),
        (lambda: number(0, 9, integer=True, keys=_as(["1"])), Denied("The keys of a number are of the type text")),
        (lambda: number(0, 9, integer=True, keys=[True]), Denied("are of the type boolean")),
        (lambda: number(0, 9, integer=True, keys=[1], edges=[0, 9]), Denied("keys and edges were both given")),
        (lambda: number(0, 9, integer=True, keys=[1, 1]), Denied("the same key in places 1 and 2")),
        (lambda: number(0, 9, integer=True, keys=[1], missing=[1]), Denied("not among the keys")),
        (lambda: number(0, 9, integer=True, keys=[1], missing=[9]).missing, (F(9),)),
    ]


def _missing() -> Cases:
    listed = Denied("missing is a list of at most 1000 codes of the type")
    return [
        (lambda: number(0, 1, missing=[99, "9.5", 99.0]).missing, (F(19, 2), F(99))),
        (lambda: number(0, 1, integer=True, missing=[-1, "-9"]).missing, (F(-9), F(-1))),
        (lambda: keys("a", missing=["z", "9", "z"]).missing, ("9", "z")),
        (lambda: keys(1, 2, missing=[9, 8]).missing, (F(8), F(9))),
        (lambda: keys(_DAY, missing=[date(1900, 1, 1)]).missing, (date(1900, 1, 1),)),
        (lambda: plain("text", ["", "x"]), Column("text", missing=("", "x"))),
        (lambda: plain("number", [99]), Column("number", missing=(F(99),))),
        (lambda: plain("date", [_DAY]), Column("date", missing=(_DAY,))),
        (lambda: plain("boolean", []), Column("boolean")),
        (lambda: plain("number", [10**300, -(10**300)]).missing, (F(-(10**300)), F(10**300))),
        (lambda: plain("number", [10**300 + 1]), Denied("a number beyond 10^300")),
        (lambda: plain("number", [-(10**300) - 1]), Denied("a number beyond 10^300")),
        (lambda: len(plain("integer", range(1000)).missing), 1000),
        (lambda: plain("integer", range(1001)), Denied("missing = 1001 codes")),
        (lambda: plain("integer", _as(["x"])), Denied("missing is one finite number")),
        (lambda: plain("number", [float("nan")]), Denied("missing is one finite number")),
        (lambda: plain("boolean", [True]), Denied("left out for truth values")),
        (lambda: plain("text", [1]), Denied("a code of type int")),
        (lambda: plain("date", ["1900-01-01"]), Denied("a code of type str")),
        (lambda: plain("date", [datetime(1900, 1, 1)]), Denied("a code of type datetime")),
        (lambda: plain("text", ["\0"]), Denied("a code of type str")),
        (lambda: plain("text", ["\udfff"]), Denied("a code of type str")),
        (lambda: plain("text", _as("NA")), listed),
        (lambda: plain("text", _as(b"NA")), listed),
        (lambda: plain("text", _as(7)), listed),
        (lambda: keys("a", missing=["a"]), Denied("codes that are not among the keys")),
        (lambda: keys(1, missing=[1]), Denied("codes that are not among the keys")),
    ]


def _texts() -> Cases:
    count = Denied("The list of labels has 1 labels for 2 groups")
    harmless = "in place 2 that cannot be shown"
    return [
        (lambda: keys("a", "b", labels=["A", "B"]).labels, ("A", "B")),
        (lambda: keys("a", "b", labels=["a", "B"]).labels, ("a", "B")),
        (lambda: keys("a", "b", other="c", labels=["A", "B"]).group_labels, ("A", "B", "c")),
        (lambda: keys("a", "b", labels=["A", "B"]).group_labels, ("A", "B")),
        (lambda: keys("a", "b").group_labels, None),
        (lambda: keys("a", "b", other="c").group_labels, None),
        (lambda: number(0, 9, edges=[0, 5, 9], labels=["few", "many"]).labels, ("few", "many")),
        (lambda: number(0, 9, integer=True, keys=[1, 2], labels=["few", "many"]).labels, ("few", "many")),
        (lambda: keys("a", "b", labels=["A"]), count),
        (lambda: number(0, 9, edges=[0, 5, 9], labels=["few"]), count),
        (lambda: number(0, 9, labels=["few"]), Denied("labels was given, but the column has neither keys nor edges")),
        (lambda: keys("a", "b", labels=_as("AB")), Denied('labels = "AB"')),
        (lambda: keys("a", "b", labels=_as({"a": 1, "b": 2})), Denied("labels is a list of texts")),
        (lambda: keys("a", labels=_as(1)), Denied("labels = 1")),
        (lambda: keys({"a": "A"}, labels=["A"]), Denied("labels and a mapping of keys were both given")),
        (lambda: keys("a", "b", labels=["A", "A"]), Denied("the same label in places 1 and 2")),
        (lambda: keys("a", "b", labels=["b", "B"]), Denied("the code of another group in place 1")),
        (lambda: keys("a", "b", other="c", labels=["A", "c"]), Denied("the name of all other keys in place 2")),
        *[
            (lambda wrong=wrong: keys("a", "b", labels=["A", wrong]), Denied(harmless))
            for wrong in ("", " B", "B ", "B\n", "=B", "+B", "-B", "@B", "B" * 201, 7)
        ],
        (lambda: keys("a", "b", labels=["A", "B" * 200]).labels, ("A", "B" * 200)),
        (lambda: number(0, 1, unit="h", title="Hours").unit, "h"),
        (lambda: number(0, 1, unit="h", title="Hours").title, "Hours"),
        (lambda: keys("a", unit="h", title="Hours"), Column("text", keys=("a",), unit="h", title="Hours")),
        (lambda: plain("text", unit="h", title="Hours"), Column("text", unit="h", title="Hours")),
        (lambda: number(0, 1, unit=""), Denied('unit = ""')),
        (lambda: number(0, 1, title="=1"), Denied('title = "=1"')),
        (lambda: keys("a", unit=_as(1)), Denied("unit = 1")),
        (lambda: plain("text", title="a\tb"), Denied("title = ")),
    ]


def _within() -> Cases:
    two = (("n", ("a", "b")), ("s", ("c",)))
    shape = Denied("within is a map such as")
    return [
        (lambda: _lying({"r": {"n": ["a", "b"], "s": ["c"]}}), Within("r", two)),
        (lambda: _lying({"r": {"n": np.array(["a", "b"]), "s": iter("c")}}), Within("r", two)),
        (lambda: _lying("r"), Within("r")),
        (lambda: _lying(None), None),
        (
            lambda: keys(1, 2, other="x", within={"r": {"n": [1, 2], "s": ["x"]}}).within,
            Within("r", (("n", (1, 2)), ("s", ("x",)))),
        ),
        (lambda: _lying(""), shape),
        (lambda: _lying(7), shape),
        (lambda: _lying({}), shape),
        (lambda: _lying({"r": {"n": ["a", "b", "c"]}, "q": {"n": ["a", "b", "c"]}}), shape),
        (lambda: _lying({7: {"n": ["a", "b", "c"]}}), shape),
        (lambda: _lying({"": {"n": ["a", "b", "c"]}}), shape),
        (lambda: _lying({"r": ["a", "b", "c"]}), shape),
        (lambda: _lying({"r": {}}), shape),
        (lambda: _lying({"r": {"n": "abc"}}), shape),
        (lambda: _lying({"r": {"n": 7}}), shape),
        (lambda: _lying({"r": {"n": ["a", "b"], 7: ["c"]}}), Denied("something in place 2 that is no text")),
        (lambda: _lying({"r": {"": ["a", "b", "c"]}}), Denied("something in place 1 that is no text")),
        (lambda: _lying({"r": {"\0": ["a", "b", "c"]}}), Denied("something in place 1 that is no text")),
        (lambda: _lying({"r": {"\ud800": ["a", "b", "c"]}}), Denied("something in place 1 that is no text")),
        (lambda: _lying({"r": {"n": ["a", "b"], "s": ["d"]}}), Denied("a key in group 2 that the column does not")),
        (lambda: _lying({"r": {"n": ["a", "b"], "s": [["c"]]}}), Denied("a key in group 2 that the column does not")),
        (lambda: keys(1, 2, within={"r": {"n": [1, True]}}), Denied("a key in group 1 that the column does not have")),
        (lambda: _lying({"r": {"n": ["a", "b"], "s": ["b", "c"]}}), Denied("key 2 of the column twice")),
        (lambda: _lying({"r": {"n": ["a", "a", "b"], "s": ["c"]}}), Denied("key 1 of the column twice")),
        (lambda: _lying({"r": {"n": ["a"]}}), Denied("no group for key 2 of the column")),
        (lambda: keys("a", other="x", within={"r": {"n": ["a"]}}), Denied("no group for key 2 of the column")),
    ]


def _lying(within: Any) -> Within | None:
    return keys("a", "b", "c", within=within).within


def _plain() -> Cases:
    kinds: Mapping[str, Any] = {
        kind: Column(kind) for kind in ("text", "number", "integer", "date", "boolean")
    }  # fmt: skip
    first, last = date(2020, 1, 1), date(2020, 12, 31)
    return [
        *[(lambda kind=kind: plain(kind), column) for kind, column in kinds.items()],
        (lambda: plain("texts"), Denied("type is one of text, number, integer, date, boolean")),
        (lambda: plain(_NONE), Denied("type = nothing")),
        (lambda: dates(first, last), Column("date", first=first, last=last)),
        (lambda: dates("2020-01-01", "2020-12-31"), Column("date", first=first, last=last)),
        (
            lambda: dates(first, last, missing=[_DAY], unit="u", title="t"),
            Column("date", first=first, last=last, missing=(_DAY,), unit="u", title="t"),
        ),
        (lambda: dates(_DAY, date(2020, 2, 1)).last, date(2020, 2, 1)),
        (lambda: dates(_DAY, _DAY), Denied("last = 2020-01-31 was asked; last is a date after the first")),
        (lambda: dates(last, first), Denied("last is a date after the first")),
        (lambda: dates(datetime(2020, 1, 1), last), Denied("first is a date, such as 2020-01-31")),
        (lambda: dates(first, datetime(2020, 1, 2)), Denied("last is a date, such as 2020-01-31")),
        (lambda: dates("2020-13-01", last), Denied('first = "2020-13-01"')),
        (lambda: dates(first, _as(20201231)), Denied("last = 20201231")),
        (lambda: dates(first, _NONE), Denied("last = nothing")),
    ]


def _described() -> Cases:
    return [
        (lambda: plain("text").describe(), {"type": "text"}),
        (lambda: plain("text").read_as(), "text"),
        (lambda: plain("number", [99, "0.5"]).read_as(), {"type": "number", "missing": ["0.5", "99"]}),
        (lambda: number(0, "1/3", missing=[9]).read_as(), {"type": "number", "missing": ["9"]}),
        (lambda: number(0, "2.5").describe(), {"type": "number", "low": "0", "high": "2.5"}),
        (
            lambda: number(0, 9, integer=True, edges=[0, 5, 9], unit="h", missing=[99]).describe(),
            {"type": "integer", "low": "0", "high": "9", "edges": ["0", "5", "9"], "missing": ["99"]},
        ),
        (lambda: keys(_DAY, missing=[date(1900, 1, 1)]).describe(),
         {"type": "date", "keys": ["2020-01-31"], "missing": ["1900-01-01"]}),
        (lambda: keys("a", "b", other="c", labels=["A", "B"]).describe(),
         {"type": "text", "keys": ["a", "b"], "other": "c"}),
        (lambda: dates("2020-01-01", "2020-12-31").describe(),
         {"type": "date", "first": "2020-01-01", "last": "2020-12-31"}),
        (lambda: keys(range(100)).describe(), {"type": "integer", "keys": list(range(100))}),
        (lambda: keys(range(101)).describe(), {"type": "integer", "keys": _DIGEST}),
    ]  # fmt: skip


_DIGEST = "101 keys, SHA-256 e5673c00a60cc9a787faf338218badc3caba075910fc2c47fa00c929a98abd2b"


def _as(value: object) -> Any:
    """Return a value of a type that the declaration does not have."""
    return value
