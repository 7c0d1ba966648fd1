"""Which key columns of a question lie within others, by maps, recodes and look-ups, and which tables need no parent."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ...question.derivation import recode
from ...question.described import described_schema
from ...question.file import AS_USUAL
from ...question.join import Content, Join
from ...question.noise_levels import USUAL
from ...question.query import count
from ...question.schema import Column, Schema, keys, number
from ...question.sql import make_query
from ...question.within import Level, levels, without_parents
from ..tools.meaning import Cases, Denied

_MAP = {"r": {"n": ["a", "b"], "s": ["c"]}}


def columns_within() -> dict[str, Cases]:
    """Return questions about columns that lie within others."""
    return {"by a map": _mapped(), "by a recode": _recoded(), "by a look-up": _looked_up(), "tables": _tables()}


def _schema(**columns: Any) -> Schema:
    return described_schema("t", columns, None, None, "add_remove", None, True, AS_USUAL, USUAL)


def _levels(schema: Schema, *by: str) -> tuple[Level, ...]:
    return levels(schema, make_query([count()], list(by), None, schema))


def _mapped() -> Cases:
    one = _schema(k=keys("a", "b", "c", within=_MAP), m=keys(1, 2))
    turned = _schema(k=keys("a", "b", "c", within=_MAP), r=keys("s", "n"))
    more = _schema(k=keys("a", "b", "c", within=_MAP), r=keys("s", "n", "t"))
    rest = _schema(k=keys("a", "b", other="z", within={"r": {"n": ["a"], "s": ["b", "z"]}}))
    up = _schema(k=keys("a", "b", "c", within=_MAP), r=keys("n", "s", within={"w": {"e": ["s"], "f": ["n"]}}))
    return [
        (partial(_levels, one, "k", "r"), (Level("k", "r", (0, 0, 1)),)),
        (partial(_levels, one, "r", "m", "k"), (Level("k", "r", (0, 0, 1)),)),
        (partial(_levels, one, "k", "m"), ()),
        (partial(_levels, one, "r"), ()),
        (partial(_levels, turned, "k", "r"), (Level("k", "r", (1, 1, 0)),)),
        (partial(_levels, more, "k", "r"), Denied('whose group 3 has no group of "k" in it')),
        (partial(_levels, rest, "k", "r"), (Level("k", "r", (0, 1, 1)),)),
        (
            partial(_levels, up, "k", "r", "w"),
            (Level("k", "r", (0, 0, 1)), Level("k", "w", (1, 1, 0)), Level("r", "w", (1, 0))),
        ),
    ]


def _recoded() -> Cases:
    def made(codes: dict[Any, str], other: str | None = None, *, rest: str | None = None) -> Schema:
        two: Any = {"1": "u", "2": "u", "3": "v"}
        return _schema(k=keys("a", "b", "c", other=rest), i=keys(1, 2, 3), g=recode("k", codes, other=other),
                       h=recode("i", two), l=recode("i", {1: "x"}, other="y"))  # fmt: skip

    whole = {"a": "A", "b": "B", "c": "A"}
    return [
        (partial(_levels, made(whole), "k", "g"), (Level("k", "g", (0, 1, 0)),)),
        (partial(_levels, made({"a": "A"}, "B"), "k", "g"), (Level("k", "g", (0, 1, 1)),)),
        (partial(_levels, made({"a": "A", "b": "B"}), "k", "g"), ()),
        (partial(_levels, made(whole, "B", rest="z"), "k", "g"), (Level("k", "g", (0, 1, 0, 1)),)),
        (partial(_levels, made({**whole, "d": "A"}, "B", rest="z"), "k", "g"), ()),
        (partial(_levels, made(whole, rest="z"), "k", "g"), ()),
        (partial(_levels, made(whole), "k", "h"), ()),
        (partial(_levels, made(whole), "i", "h"), (Level("i", "h", (0, 0, 1)),)),
        (partial(_levels, made(whole), "h", "l"), ()),
    ]


class _Rows:
    """The rows of a look-up: for each key its group."""

    def __init__(self, groups: dict[str, str]) -> None:
        self._groups = groups

    def content(self, schema: Schema, join: Join) -> Content:
        """Return them."""
        return Content(tuple(self._groups), {"r": tuple(self._groups.values())})

    def again(self) -> _Rows:
        """Return the same."""
        return self


def _looked_up() -> Cases:
    def made(rows: dict[str, str], child: Column, parent: Column) -> Schema:
        joined = Join((("r", "r"),), None, ("k", "c"), reader=_Rows(rows))
        return replace(_schema(k=child, r=parent), joins=(joined,))

    child, parent = keys("a", "b", "c", within="r"), keys("n", "s")
    rows = {"c": "s", "a": "n", "b": "n"}
    rest = keys("a", "b", "c", other="z", within="r")
    return [
        (partial(_levels, made(rows, child, parent), "k", "r"), (Level("k", "r", (0, 0, 1)),)),
        (partial(_levels, made(rows, child, keys("s", other="n")), "k", "r"), (Level("k", "r", (1, 1, 0)),)),
        (
            partial(_levels, made({**rows, "b": "q"}, child, keys("s", other="o")), "k", "r"),
            (Level("k", "r", (1, 1, 0)),),
        ),
        (partial(_levels, made({**rows, "b": "q"}, child, parent), "k", "r"), Denied('no declared "r" for key 2')),
        (partial(_levels, made({"a": "n", "b": "s"}, child, parent), "k", "r"), Denied('no declared "r" for key 3')),
        (partial(_levels, made(rows, rest, parent), "k", "r"), Denied('no declared "r" for other keys')),
        (partial(_levels, made(rows, child, keys("n", "s", "t")), "k", "r"), Denied("whose group 3 has no group of")),
        (partial(_levels, made(rows, child, parent), "r"), ()),
    ]


def _tables() -> Cases:
    schema = _schema(k=keys("a", "b", "c", within=_MAP), m=keys(1, 2), x=number(0, 10, edges=[0, 5, 10]))
    alone = Denied('"r" only together with "k", which lies within it')
    return [
        (lambda: without_parents([("k", "r"), ("r",), ()], schema), [("k",), ("r",), ()]),
        (lambda: without_parents([("r", "m", "k"), ("r", "m")], schema), [("m", "k"), ("r", "m")]),
        (lambda: without_parents([("k", "r"), ("k",), ("r",)], schema), [("k",), ("r",)]),
        (lambda: without_parents([("k", "m"), ("r", "x")], schema), [("k", "m"), ("r", "x")]),
        (lambda: without_parents([("k", "r")], schema), alone),
        (lambda: without_parents([("k", "r"), ("m",)], schema), alone),
        (lambda: without_parents([("k", "r")], schema, ["k"]), [("k", "r")]),
        (lambda: without_parents([], schema), []),
    ]
