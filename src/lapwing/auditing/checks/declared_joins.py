"""What a join means, which joins fit the declarations, and which of them a question makes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from hashlib import sha256
from typing import Any

from ...question.file import AS_USUAL, File, file
from ...question.join import (
    Content,
    Join,
    check_joins,
    columns_needed,
    described_joins,
    join,
    joins_read,
    own_columns,
)
from ...question.schema import Column, Schema, keys, number
from ...question.within import check_within
from ..tools.meaning import Cases, Denied


def joins() -> dict[str, Cases]:
    """Return joins, alone and beside the declarations of a source."""
    return {"join": _joins(), "wrong join": _wrong(), "digest": _digests(), "fit": _fitting(), "read": _reading()}


def _joins() -> Cases:
    told = file(decimal=",")
    return [
        (lambda: join("t", columns=["a", "b"], person="p"), Join((("a", "a"), ("b", "b")), "p", None, AS_USUAL, "")),
        (lambda: join("t", columns={"a": "b", "c": "a"}, person="p"), Join((("a", "b"), ("c", "a")), "p")),
        (lambda: join("t", columns=iter("ab"), person="p"), Join((("a", "a"), ("b", "b")), "p")),
        (lambda: join("t", columns=["a"], public=True, on="k"), Join((("a", "a"),), None, ("k", "k"))),
        (lambda: join("t", columns={"a": "v"}, public=True, on={"k": "c"}), Join((("a", "v"),), None, ("k", "c"))),
        (lambda: join("t", columns={"a": "k"}, public=True, on={"k": "c"}), Join((("a", "k"),), None, ("k", "c"))),
        (lambda: join("t", columns=["a"], person="p", file=told), Join((("a", "a"),), "p", None, told)),
        (lambda: join("t", columns=["a"], person="p", file=File()), Join((("a", "a"),), "p", None, AS_USUAL)),
        (lambda: join("t", columns=["a"], person="p").table, "t"),
        (lambda: len(join("t", columns=map(str, range(10_000)), person="p").columns), 10_000),
        (lambda: join("t", columns={"a": "v", "b": "w"}, person="p").named(["b", "c"]), [("b", "w")]),
        (lambda: join("t", columns={"a": "v", "b": "w"}, person="p").named(["b", "a"]), [("a", "v"), ("b", "w")]),
    ]


def _wrong() -> Cases:
    listed, usual = Denied("columns is a list of columns"), {"columns": ["a"], "person": "p"}
    wrong: list[tuple[dict[str, Any], Denied]] = [
        ({**usual, "public": 1}, Denied("public is true or false")),
        ({**usual, "public": None}, Denied("public = nothing")),
        ({**usual, "file": "csv"}, Denied("file is lw.file(…)")),
        ({**usual, "public": True}, Denied("person and public were both given")),
        ({**usual, "public": True, "on": "k"}, Denied("person and public were both given")),
        ({"columns": ["a"]}, Denied("Nothing was given for person")),
        ({"columns": ["a"], "on": "k"}, Denied("Nothing was given for person")),
        ({**usual, "person": ""}, Denied("person is the name of a column")),
        ({**usual, "person": 7}, Denied("person = 7")),
        ({**usual, "on": "k"}, Denied("person and on were both given")),
        ({"columns": ["a"], "public": True}, Denied("Nothing was given for on")),
        ({"columns": ["a"], "public": True, "on": ["k", "l"]}, Denied("on = 2 columns was asked; on is one column")),
        ({"columns": ["a"], "public": True, "on": []}, Denied("on = 0 columns")),
        ({"columns": ["a"], "public": True, "on": ""}, Denied('on = ""')),
        ({"columns": ["a"], "public": True, "on": 7}, Denied("on = 7")),
        (
            {"columns": ["k"], "public": True, "on": "k"},
            Denied("columns is other columns of the look-up than its key"),
        ),
        ({"columns": {"a": "c"}, "public": True, "on": {"k": "c"}}, Denied('columns = "c"')),
        ({**usual, "columns": "a"}, Denied('columns = "a"')),
        ({**usual, "columns": 7}, listed),
        ({**usual, "columns": []}, Denied("columns = 0 columns")),
        ({**usual, "columns": None}, Denied("columns = nothing")),
        ({**usual, "columns": {}}, Denied("at least one")),
        ({**usual, "columns": list(map(str, range(10_001)))}, Denied("columns = 10001 columns")),
        ({**usual, "columns": ["a", "a"]}, Denied("columns = a column twice")),
        ({**usual, "columns": {"a": "v", "b": "v"}}, Denied("columns = a column twice")),
        ({**usual, "columns": ["a", ""]}, listed),
        ({**usual, "columns": ["a", 7]}, Denied("columns = 7")),
        ({**usual, "columns": {"a": 7}}, Denied("columns = 7")),
        ({**usual, "columns": ["a\0"]}, listed),
        ({**usual, "columns": ["\ud800"]}, listed),
    ]
    return [(partial(join, "t", **given), refused) for given, refused in wrong]


def _digests() -> Cases:
    day = date(2020, 1, 31)
    content = Content((2.0, 1.0, None), {"d": (day, None, day), "t": ("x", "y", "ü"), "b": (True, False, None)})
    rows: list[list[Any]] = [[2.0, "2020-01-31", "x"], [1.0, None, "y"], [None, "2020-01-31", "ü"]]
    return [
        (lambda: content.digest(["d", "t"]), _digest(rows)),
        (lambda: content.digest(["t", "d"]), _digest([[key, text, day] for key, day, text in rows])),
        (lambda: content.digest(["b"]), _digest([[2.0, True], [1.0, False], [None, None]])),
        (lambda: content.digest([]), _digest([[2.0], [1.0], [None]])),
    ]


def _digest(rows: list[list[Any]]) -> str:
    return sha256("\n".join(sorted(map(json.dumps, rows))).encode()).hexdigest()


# --- joins and declarations ---

_COLUMNS: dict[str, Column] = {
    "k": Column("text", keys=("a", "b")), "m": Column("integer"), "x": Column("number"), "a": Column("text"),
    "b": Column("text"), "c": Column("text"), "r": Column("text", keys=("n",)), "s": Column("text"),
}  # fmt: skip


def _schema(*some: Join, person: str | None = "p", **columns: Any) -> Schema:
    return Schema("t", {**_COLUMNS, **columns}, person, joins=some)


def _texts(number: int) -> dict[str, Any]:
    return {str(i): Column("text") for i in range(number)}


def _people(*names: str, **other: Any) -> Join:
    return Join(tuple((name, name) for name in names), "q", name="people", **other)


def _look_up(on: str, *names: str, **other: Any) -> Join:
    return Join(tuple((name, f"{name}2") for name in names), None, (on, "c"), name="codes", **other)


def _fitting() -> Cases:
    computed = Column("integer", expression=_as("text"))
    right: list[Schema] = [
        _schema(), _schema(person=None), _schema(_people("a")), _schema(_look_up("k", "a"), person=None),
        _schema(_people("a", "k"), _look_up("k", "b")), _schema(_look_up("k", "b"), _people("a", "k")),
        _schema(_look_up("k", "a"), _look_up("a", "b"), _look_up("b", "c")), _schema(_look_up("m", "a")),
        _schema(*[_people(name) for name in map(str, range(20))], **_texts(20)),
    ]  # fmt: skip
    wrong: list[tuple[Schema, str]] = [
        (_schema(*[_people("a")] * 21), "has 21 joins, and at most 20 are possible"),
        (_schema(_people("a", "z")), 'lists the column "z" in the join of "people", and does not declare it'),
        (_schema(_people("a"), a=computed), 'lists the computed column "a" in the join of "people"'),
        (_schema(_people("a"), _look_up("k", "a")), 'has the column "a" in two joins'),
        (_schema(_people("a"), person=None), 'joins "people" as a table of people, and names no person column itself'),
        (_schema(_look_up("z", "a")), 'looks up the column "z" in "codes", and does not declare it'),
        (_schema(_look_up("m", "a"), m=computed), 'looks up the computed column "m" in "codes"'),
        (_schema(_look_up("a", "b"), _look_up("k", "a")), 'before the look-up that adds "a"'),
        (_schema(_look_up("k", "a"), _look_up("c", "b"), _look_up("b", "c")), 'before the look-up that adds "c"'),
        (_schema(_look_up("x", "a")), 'looks up the column "x", which is declared as a number that need not be whole'),
        (_schema(_look_up("k", "a"), _look_up("x", "b")), 'looks up the column "x", which is declared as a number'),
    ]
    cases: list[tuple[Callable[[], Any], Any]] = [
        *[(lambda each=each: check_joins(each), None) for each in right],
        *[(lambda each=each: check_joins(each), Denied(words)) for each, words in wrong],
    ]
    lying: dict[str, Any] = {"k": keys("a", "b", within="r"), "m": keys(1, within={"r": {"n": [1]}})}
    edges = number(0, 1, edges=[0, 1])
    return [
        *cases,
        (lambda: check_within(_schema(_look_up("k", "s", "r"), **lying)), None),
        (lambda: check_within(_schema(_look_up("k", "s"), _look_up("k", "r"), **lying)), None),
        (lambda: check_within(_schema(_look_up("m", "r"), **lying)), Denied('no look-up on "k" adds "r"')),
        (lambda: check_within(_schema(_people("r"), **lying)), Denied('no look-up on "k" adds "r"')),
        (lambda: check_within(_schema(**lying)), Denied('says that "k" lies within "r", and no look-up')),
        (
            lambda: check_within(_schema(_look_up("k", "r"), **{**lying, "r": Column("text")})),
            Denied('no keys of "r"'),
        ),
        (lambda: check_within(_schema(_look_up("k", "r"), **{**lying, "r": edges})), Denied('has no keys of "r"')),
    ]


def _reading() -> Cases:
    people, mates = _people("a"), _people("b", file=file(decimal=","))
    first, second = _look_up("k", "c", reader=_Rows()), _look_up("c", "r", "s", reader=_Rows())
    schema = _schema(first, people, second, mates)
    whole = replace(schema, columns={**schema.columns, "p": Column("integer")})
    a, b = {"columns": {"a": "a"}, "person": "q"}, {"columns": {}, "person": "q", "file": {"decimal": ","}}
    usual = (people, mates)
    return [
        (lambda: joins_read(_schema(), ["a"]), []),
        (lambda: joins_read(schema, []), [(1, people), (3, mates)]),
        (lambda: joins_read(schema, ["k", "m"]), [(1, people), (3, mates)]),
        (lambda: joins_read(schema, ["c"]), [(1, people), (3, mates), (0, first)]),
        (lambda: joins_read(schema, ["s"]), [(1, people), (3, mates), (0, first), (2, second)]),
        (lambda: columns_needed(schema, ["s", "a"]), ("s", "a", "k", "c")),
        (lambda: columns_needed(schema, ["c", "k"]), ("c", "k")),
        (lambda: columns_needed(_schema(), ["s"]), ("s",)),
        (lambda: own_columns(schema, ["s", "a", "m"]), ("m", "k")),
        (lambda: own_columns(schema, ["m", "a"]), ("m",)),
        (lambda: own_columns(_schema(), ["s", "a"]), ("s", "a")),
        (lambda: described_joins(_schema(*usual), ["a"]), [a, b]),
        (lambda: described_joins(_schema(*usual), ["a", "b"]), [a, {**b, "columns": {"b": "b"}}]),
        (lambda: described_joins(_schema(), ["a"]), []),
        (lambda: described_joins(whole, ["a"])[0], {**a, "type": "integer"}),
        (lambda: described_joins(replace(whole, person="x"), ["a"])[0], a),
        (
            lambda: described_joins(replace(schema, joins=(first, second)), ["s"]),
            [
                {
                    "on": "k",
                    "type": "text",
                    "columns": ["c"],
                    "content": f"SHA-256 {_digest([['u', 'c'], ['v', 'c']])}",
                },
                {
                    "on": "c",
                    "type": "text",
                    "columns": ["s"],
                    "content": f"SHA-256 {_digest([['u', 's'], ['v', 's']])}",
                },
            ],
        ),
        (lambda: [each["on"] for each in described_joins(replace(schema, joins=(first, second)), ["c"])], ["k"]),
    ]


class _Rows:
    """The rows of a look-up: keys u and v, and in each column its name."""

    def content(self, schema: Schema, join: Join) -> Content:
        """Return them."""
        return Content(("u", "v"), {name: (name, name) for name, _ in join.columns})

    def again(self) -> _Rows:
        """Return the same."""
        return self


def _as(value: object) -> Any:
    return value
