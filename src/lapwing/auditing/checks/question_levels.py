"""Columns that lie within others: what a declaration makes of them, the levels of a question, and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...question import query
from ...question.conditions import OneOf
from ...question.derivation import recode
from ...question.expression import Recode
from ...question.join import Content, Join
from ...question.query import Compare, Query
from ...question.schema import Schema, keys, number
from ...question.sets import cube, rollup, sets
from ...question.sql import make_query, parse
from ...question.within import Level, check_within, levels
from ..tools.meant import schema_of
from .question_calls import Returned
from .question_limits import CallRule

_MAP = {"region": {"north": ["u", "v"], "south": ["w"]}}
_LANDS = {"land": {"east": ["south"], "west": ["north"]}}


@dataclass(frozen=True)
class _LookUp:
    """A look-up that is known without a file."""

    regions: Mapping[str, str]

    def content(self, schema: Schema, join: Join) -> Content:
        """Return its rows."""
        return Content(tuple(self.regions), {"region": tuple(self.regions.values())})

    def again(self) -> _LookUp:
        """Return the same."""
        return self


def _town(within: Any = _MAP, **more: Any) -> Schema:
    return schema_of({"town": keys("u", "v", "w", within=within), "k": keys("a", "b"), **more})


def _three() -> Schema:
    return schema_of({"town": keys("u", "v", "w", within=_MAP), "region": keys("north", "south", within=_LANDS)})


def _other() -> Schema:
    groups = {"region": {"south": ["w", "rest"], "north": ["v", "u"]}}
    return schema_of({"town": keys("u", "v", "w", other="rest", within=groups), "k": keys("a", "b")})


def _looked_up(regions: Mapping[str, str], declared: Any = None, of: Any = None, on: str = "town") -> Schema:
    column = keys("north", "south") if declared is None else declared
    town = keys("u", "v", "w", within="region") if of is None else of
    made = schema_of({"town": town, "region": column, "k": keys("a", "b")})
    joined = Join((("region", "region"),), on=(on, "key"), reader=_LookUp(regions))
    return replace(made, joins=(joined,))


_FULL = {"u": "south", "v": "north", "w": "south", "x": "far"}


def _recoded(**more: Any) -> Schema:
    """Return columns that are recodes of one: parts of towns, and what they are parts of."""
    part = recode("town", {"u": "one", "v": "two", "w": "three"})
    whole = recode("town", {"u": "all", "v": "all", "w": "rest"})
    return schema_of({"town": keys("u", "v", "w"), "part": part, "whole": whole, **more})


def _levels(schema: Schema, by: Any) -> tuple[Level, ...]:
    return levels(schema, make_query([query.count()], by, None, schema))


def _sets(schema: Schema, by: Any) -> object:
    asked = make_query([query.count()], by, None, schema)
    return asked.by, asked.sets


def _column(schema: Schema, name: str) -> object:
    column = schema.columns[name]
    return column.kind, column.keys, column.other, column.expression


def _binned() -> tuple[Schema, Query]:
    """Return a question for bins of its own, of a column that another one is a recode of."""
    big = recode("n", {1: "a", 2: "a", 3: "b"})
    made = schema_of({"n": number(1, 3, integer=True, keys=[1, 2, 3]), "big": big})
    return made, parse("SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ((BIN(n, 1, 3), big), ())", made)


_REGION = Recode(((OneOf("town", ("u", "v")), "north"), (Compare("town", "=", "w"), "south")), None)
_LAND = Recode(((OneOf("town", ("u", "v")), "west"), (Compare("town", "=", "w"), "east")), None)
_REST = Recode(((OneOf("town", ("u", "v")), "north"), (Compare("town", "=", "w"), "south")), "south")
_TOWN, _UP = ("town",), ("region",)

RETURNED = (
    Returned("a parent is computed", lambda: _column(_town(), "region"), ("text", ("north", "south"), None, _REGION)),
    Returned("a parent has declared keys", lambda: _column(_town(region=keys("south", "far", "north")), "region"),
        ("text", ("south", "far", "north"), None, _REGION)),
    Returned("a parent has the other towns", lambda: _column(_other(), "region"),
        ("text", ("south", "north"), None, _REST)),
    Returned("a parent of a parent", lambda: _column(_three(), "land"), ("text", ("east", "west"), None, _LAND)),
    Returned("codes for missing are not of the parent",
        lambda: _town(region=keys("north", "south", missing=["far"])).columns["region"].missing, ()),
    Returned("a level", lambda: _levels(_town(), rollup("region", "town")), (Level("town", "region", (0, 0, 1)),)),
    Returned("a level in another order", lambda: _levels(_town(region=keys("south", "north")),
        cube("town", "region", "k")), (Level("town", "region", (1, 1, 0)),)),
    Returned("a level with others", lambda: _levels(_other(), rollup("region", "town")),
        (Level("town", "region", (1, 1, 0, 0)),)),
    Returned("three levels", lambda: _levels(_three(), rollup("land", "region", "town")),
        (Level("region", "land", (1, 0)), Level("town", "land", (1, 1, 0)), Level("town", "region", (0, 0, 1)))),
    Returned("no level", lambda: _levels(_town(), cube("region", "k")), ()),
    Returned("no level of another column", lambda: _levels(_town(m=keys(1, 2, 3)), cube("region", "m")), ()),
    Returned("no level of one table", lambda: _levels(_town(), "town"), ()),
    Returned("a level by a look-up", lambda: _levels(_looked_up(_FULL), sets("region", "town")),
        (Level("town", "region", (1, 0, 1)),)),
    Returned("a level by a look-up with others",
        lambda: _levels(_looked_up(_FULL | {"w": "far"}, keys("north", "south", other="else")), sets("region", "town")),
        (Level("town", "region", (1, 0, 2)),)),
    Returned("no level without a declaration",
        lambda: _levels(_looked_up(_FULL, of=keys("u", "v", "w")), sets("region", "town")), ()),
    Returned("levels of recodes", lambda: _levels(_recoded(), sets("whole", "town")),
        (Level("town", "whole", (0, 0, 1)),)),
    Returned("a recode of the same column", lambda: _levels(_recoded(), sets("whole", "part")),
        (Level("part", "whole", (0, 0, 1)),)),
    Returned("bins of a question are no level", lambda: (_binned()[1].sets, levels(*_binned())),
        (((), ("n", "big")), ())),
    Returned("a table without its parent", lambda: _sets(_town(), rollup("region", "town")),
        (("region", "town"), ((), _UP, _TOWN))),
    Returned("equal tables", lambda: _sets(_town(), sets(("region", "town"), "town", "region")),
        (("region", "town"), (_UP, _TOWN))),
    Returned("a parent without its child", lambda: _sets(_town(), cube("region", "k")),
        (("region", "k"), ((), _UP, ("k",), ("region", "k")))),
    Returned("parents and others", lambda: _sets(_town(), sets(("k", "region"), ("k", "region", "town"))),
        (("k", "region", "town"), (("k", "region"), ("k", "town")))),
)  # fmt: skip

RULES = (
    CallRule("columns lie within each other in one direction", "lie within each other", (_three,),
        (lambda: schema_of({"town": keys("u", within={"region": {"north": ["u"]}}),
        "region": keys("north", within={"town": {"u": ["north"]}})}),)),
    CallRule("a column is decided by one other", "two columns that lie within", (_three,),
        (lambda: schema_of({"town": keys("u", within={"region": {"north": ["u"]}}),
        "village": keys("v", within={"region": {"north": ["v"]}})}),)),
    CallRule("a parent has a name of its own", "which is also another column", (_town,),
        (lambda: _town(Region=keys("north", "south")), lambda: _town({"K": {"a": ["u", "v", "w"]}}),
        lambda: _town({"P": {"a": ["u", "v", "w"]}}))),
    CallRule("a parent has keys that are texts", "declared as something else",
        (lambda: _town(region=keys("north", "south")),),
        (lambda: _town(region=keys(1, 2)), lambda: _town(region="text"),
        lambda: _town(region=keys("north", "south", other="rest")), lambda: _town(region=number(0, 1)))),
    CallRule("a parent has all keys of the map", "whose group 2 is not one of its keys",
        (lambda: _town(region=keys("south", "north", "far")),),
        (lambda: _town(region=keys("north")), lambda: _town(region=keys("north", "West")))),
    CallRule("a look-up has the parent", "no look-up on",
        (lambda: check_within(_looked_up(_FULL)), lambda: check_within(_town())),
        (lambda: check_within(_town("region", region=keys("north", "south"))),
        lambda: check_within(_looked_up(_FULL, on="k")),
        lambda: check_within(replace(_looked_up(_FULL),
        joins=(Join((("other", "region"),), on=("town", "key")),))))),
    CallRule("a parent by a look-up has keys", "has no keys of", (lambda: check_within(_looked_up(_FULL)),),
        (lambda: check_within(_looked_up(_FULL, schema_of({"a": "text"}).columns["a"])),
        lambda: check_within(_looked_up(_FULL, number(0, 9, edges=[0, 5, 9]))))),
    CallRule("a look-up has every key", "for key 2", (lambda: _levels(_looked_up(_FULL), sets("region", "town")),),
        (lambda: _levels(_looked_up({"u": "north", "w": "south"}), sets("region", "town")),
        lambda: _levels(_looked_up(_FULL | {"v": "far"}), sets("region", "town")))),
    CallRule("a look-up has no other keys", "for other keys",
        (lambda: _levels(_looked_up(_FULL), sets("region", "town")),),
        (lambda: _levels(_looked_up(_FULL, of=replace(_looked_up(_FULL).columns["town"], other="rest")),
        sets("region", "town")),)),
    CallRule("every group has a child", "has no group of",
        (lambda: _levels(_town(), sets("region", "town")),
        lambda: _levels(_town(region=keys("south", "far", "north")), sets("region", "k"))),
        (lambda: _levels(_town(region=keys("south", "far", "north")), sets("region", "town")),
        lambda: _levels(_looked_up(_FULL | {"v": "south"}), sets("region", "town")))),
    CallRule("a parent has its own table", "only together with",
        (lambda: _sets(_town(), sets(("region", "town"), "region")),),
        (lambda: _sets(_town(), sets(("region", "town"), "k")),
        lambda: _sets(_looked_up(_FULL), sets(("region", "town"), ())))),
)  # fmt: skip
