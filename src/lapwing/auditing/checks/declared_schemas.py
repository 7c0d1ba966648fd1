"""What a table's whole declaration means: its columns, people, neighbors and version, and all of it as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import numpy as np

from ...errors import LapwingError
from ...question.derivation import expression, recode
from ...question.described import described_schema
from ...question.file import File, file
from ...question.join import Join
from ...question.noise_levels import NoiseLevels, noise_levels
from ...question.schema import Column, Schema, dates, keys, make_schema, number, plain
from ...question.schema_json import describe, schema_of
from ..tools.meaning import Cases, Denied, F


def _as(value: object) -> Any:
    return value


_COLUMNS: dict[str, Column | str] = {"x": number(0, 1), "K": keys("a", "b"), "d": "date"}
_MADE: dict[str, Column] = {"x": number(0, 1), "K": Column("text", keys=("a", "b")), "d": Column("date")}


def schemas() -> dict[str, Cases]:
    """Return declarations of whole tables."""
    return {
        "schema": _schemas(),
        "people": _people(),
        "columns of a schema": _named(),
        "methods": _methods(),
        "written as JSON": _written(),
        "read from JSON": _read(),
        "wrong JSON": _unreadable(),
        "joins in JSON": _joined(),
    }


def _make(**changed: Any) -> Schema:
    said = {"name": "t", "columns": _COLUMNS, "person": None, "rows_per_person": None, "neighbors": "add_remove"}
    return make_schema(**{**said, "version": None, **changed})


def _schemas() -> Cases:
    name = Denied("name is a printable text of 1 to 100 characters")
    other, thresholds = file(decimal=","), noise_levels(low=0.1)
    cases: list[tuple[Callable[[], Any], Any]] = [
        (
            _make,
            Schema("t", _MADE, None, 1, "add_remove", None, True, File(), NoiseLevels(F(33, 200), F(333, 1000)), ()),
        ),
        (lambda: _make(neighbors="change_one").neighbors, "change_one"),
        (lambda: Schema("t", {}), replace(_make(), columns={})),
        (lambda: _make(version="").version, ""),
        (lambda: _make(version="v" * 200).version, "v" * 200),
        (lambda: _make(every_row_counts=False).every_row_counts, False),
        (lambda: _make(file=other).file, other),
        (lambda: _make(noise_levels=thresholds).noise_levels, thresholds),
        (lambda: _make(columns={}), replace(_make(), columns={})),
        (lambda: _make(columns={"x": "number", "ß": "text"}).columns, {"x": Column("number"), "ß": Column("text")}),
        (lambda: _make(name="a b").name, "a b"),
        (lambda: _make(name="n" * 100).name, "n" * 100),
        (lambda: _make(columns=[]), Denied("columns is a mapping from names to declarations")),
        (lambda: _make(columns={"x": 7}), Denied('column "x" = 7')),
        (lambda: _make(columns={"x": "numbers"}), Denied('type = "numbers"')),
        (lambda: _make(columns={"x": "date", "X": "date"}), Denied("two columns whose names differ only in case")),
        (lambda: _make(neighbors="both"), Denied('neighbors is "add_remove" or "change_one"')),
        (lambda: _make(neighbors=None), Denied("neighbors = nothing")),
        (lambda: _make(version="v" * 201), Denied("version is a text")),
        (lambda: _make(version=1), Denied("version = 1")),
    ]
    cases += [(partial(_make, name=each), name) for each in ("", "n" * 101, " t", "t ", "t\n", 7, None)]
    return cases + [
        (lambda each=each: _make(columns={each: "date"}), Denied("column name is a text"))
        for each in ("", "a\0", "\ud800", 7, None)
    ]


def _people() -> Cases:
    alone = Denied("has rows_per_person but no person")
    most = Denied("rows_per_person is a whole number from 1 to 1,000,000")
    codes = {"p": keys("a", missing=["z"]), "x": "date"}
    return [
        (lambda: _who(_make(person="p")), ("p", None)),
        (lambda: _who(_make(person="p", rows_per_person=1)), ("p", 1)),
        (lambda: _who(_make(person="p", rows_per_person="3")), ("p", 3)),
        (lambda: _who(_make(person="p", rows_per_person=np.int64(3))), ("p", 3)),
        (lambda: _who(_make(person="p", rows_per_person=10**6)), ("p", 10**6)),
        (lambda: _who(_make(person="K", rows_per_person=2)), ("K", 2)),
        (lambda: _who(_make(rows_per_person=1)), (None, 1)),
        (lambda: _make(rows_per_person=2), alone),
        (lambda: _make(rows_per_person=0), alone),
        (lambda: _make(person="p", rows_per_person=0), most),
        (lambda: _make(person="p", rows_per_person=10**6 + 1), most),
        (lambda: _make(person="p", rows_per_person=1.5), most),
        (lambda: _make(person="p", rows_per_person=True), most),
        (lambda: _make(person=""), Denied("person is the name of a column")),
        (lambda: _make(person=7), Denied("person = 7")),
        (lambda: _make(person="p", columns=codes), Denied('codes for missing in the person column "p"')),
        (lambda: _who(_make(person="x", columns=codes)), ("x", None)),
        (lambda: _who(_make(person="p", columns={"p": "integer"})), ("p", None)),
    ]


def _who(schema: Schema) -> tuple[str | None, int | None]:
    return schema.person, schema.rows_per_person


def _named() -> Cases:
    schema = _make(columns={"Age": "number", "ß": "text", "k": "text"})
    mixed = replace(schema, columns={"K": Column("text"), "k": Column("date")})
    computed = _computed()
    return [
        (lambda: schema.column("Age"), ("Age", Column("number"))),
        (lambda: schema.column("AGE"), ("Age", Column("number"))),
        (lambda: schema.column("SS"), ("ß", Column("text"))),
        (lambda: mixed.column("k"), ("k", Column("date"))),
        (lambda: mixed.column("K"), ("K", Column("text"))),
        (lambda: schema.column("Agee"), Denied('"Agee" is not a declared column of "t" (Age, ß, k)')),
        (lambda: schema.column(""), Denied('"" is not a declared column')),
        (lambda: schema.column(_as(7)), Denied("column is the name of a declared column")),
        (lambda: replace(schema, columns={"KK": Column("text"), "kk": Column("date")}).column("Kk"), Denied('"Kk"')),
        (lambda: [computed.is_computed(name) for name in ("s", "S", "a", "g", "G", "no")],
         [True, True, False, False, False, False]),
        (lambda: replace(computed, columns={**computed.columns, "S": Column("text")}).is_computed("S"), False),
        (lambda: replace(computed, columns={**computed.columns, "S": Column("text")}).is_computed("s"), True),
        (lambda: [each.is_computed for each in computed.columns.values()], [False, False, True, True]),
    ]  # fmt: skip


def _computed() -> Schema:
    columns: Any = {"a": number(0, 10, integer=True), "k": keys("x", "y"), "s": expression("a + 1")}
    return _described(columns={**columns, "g": recode("k", {"x": "one", "y": "two"})})


def _methods() -> Cases:
    rows, people, unsaid = _make(), _make(person="p", rows_per_person=3), _make(person="p")
    return [
        (lambda: (rows.row_weight, rows.most_rows, rows.person_l1), (1, 1, 1)),
        (lambda: (people.row_weight, people.most_rows, people.person_l1), (65536, 3, 196608)),
        (lambda: unsaid.row_weight, 65536),
        (lambda: unsaid.most_rows, Denied("names a person column but not rows_per_person")),
        (lambda: unsaid.person_l1, Denied("names a person column but not rows_per_person")),
        (lambda: unsaid.counting(5), replace(people, rows_per_person=5)),
        (lambda: people.counting("1"), replace(people, rows_per_person=1)),
        (lambda: people.counting(0), Denied("rows_per_person is a whole number from 1 to 1,000,000")),
        (lambda: rows.counting(1), Denied("rows_per_person was given, but every row is one person")),
        (lambda: rows.anew() is rows, True),
        (lambda: _read_anew(people), (people, [None, "again"])),
    ]


def _read_anew(schema: Schema) -> tuple[Schema, list[object]]:
    """Return a schema without joins, and what reads its joins the next time."""

    class Reading:
        def again(self) -> object:
            return "again"

    some = (Join((("x", "x"),), "q"), Join((("d", "d"),), None, ("x", "x"), reader=_as(Reading())))
    anew = replace(schema, joins=some).anew()
    return replace(anew, joins=()), [each.reader for each in anew.joins]


# --- as JSON ---


def _described(**changed: Any) -> Schema:
    said: dict[str, Any] = {"name": "t", "columns": _COLUMNS, "person": None, "rows_per_person": None}
    said |= {"neighbors": "add_remove", "version": None, "every_row_counts": True, "file": File()}
    return described_schema(**{**said, "noise_levels": NoiseLevels(), **changed})


_EMPTY: dict[str, Any] = {
    "name": "t", "person": None, "rows_per_person": 1, "neighbors": "add_remove", "version": None,
    "every_row_counts": True, "file": {}, "noise_levels": {"low": "0.165", "medium": "0.333"}, "columns": {},
    "joins": [],
}  # fmt: skip

_DAY, _OLD = date(2020, 1, 31), date(1900, 1, 1)

_PAIRS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (plain("text"), {"type": "text"}),
    (plain("text", ["z", "9"], unit="h", title="T"),
     {"type": "text", "missing": ["9", "z"], "unit": "h", "title": "T"}),
    (plain("number", ["0.5", 99]), {"type": "number", "missing": ["0.5", "99"]}),
    (plain("integer", [99]), {"type": "integer", "missing": ["99"]}),
    (plain("date", [_OLD]), {"type": "date", "missing": ["1900-01-01"]}),
    (number(0, "2.5", unit="h", title="T"), {"type": "number", "low": "0", "high": "2.5", "unit": "h", "title": "T"}),
    (number("-1/3", 1, missing=["1/7"]), {"type": "number", "low": "-1/3", "high": "1", "missing": ["1/7"]}),
    (number(0, 9, integer=True), {"type": "integer", "low": "0", "high": "9"}),
    (number(0, 9, edges=[1, "2.5", 9], labels=["few", "many"]),
     {"type": "number", "low": "0", "high": "9", "edges": ["1", "2.5", "9"], "labels": ["few", "many"]}),
    (number(0, 9, integer=True, keys={1: "one", 2: "two"}),
     {"type": "integer", "low": "0", "high": "9", "keys": [1, 2], "labels": ["one", "two"]}),
    (keys("b", "a", other="c", missing=["z"], labels=["B", "A"], unit="h", title="T"),
     {"type": "text", "keys": ["b", "a"], "missing": ["z"], "labels": ["B", "A"], "unit": "h", "title": "T",
      "other": "c"}),
    (keys(2, 1, missing=[9]), {"type": "integer", "keys": [2, 1], "missing": ["9"]}),
    (keys(False, True), {"type": "boolean", "keys": [False, True]}),
    (keys(_DAY, missing=[_OLD]), {"type": "date", "keys": ["2020-01-31"], "missing": ["1900-01-01"]}),
    (dates(_OLD, _DAY, missing=[date(1899, 1, 1)], unit="h", title="T"),
     {"type": "date", "first": "1900-01-01", "last": "2020-01-31", "missing": ["1899-01-01"], "unit": "h",
      "title": "T"}),
    (keys(1, 2, other="x", within={"up": {"n": [1, "x"], "s": [2]}}),
     {"type": "integer", "keys": [1, 2], "within": {"column": "up", "groups": [["n", [1, "x"]], ["s", [2]]]},
      "other": "x"}),
    (keys(_DAY, within={"up": {"n": [_DAY]}}),
     {"type": "date", "keys": ["2020-01-31"], "within": {"column": "up", "groups": [["n", ["2020-01-31"]]]}}),
    (keys("a", within="up"), {"type": "text", "keys": ["a"], "within": {"column": "up", "groups": []}}),
)  # fmt: skip
"""Columns, and how they are written."""

_BASE: dict[str, Any] = {
    "n": number(0, 10, integer=True),
    "d": dates(_OLD, _DAY),
    "b": plain("boolean"),
    "i": "integer",
}
_BASE_JSON = {
    "n": {"type": "integer", "low": "0", "high": "10"},
    "d": {"type": "date", "first": "1900-01-01", "last": "2020-01-31"},
    "b": {"type": "boolean"}, "i": {"type": "integer"},
}  # fmt: skip

_DERIVED: tuple[tuple[Any, dict[str, Any]], ...] = (
    (expression("n + 1"), {"expression": "n + 1"}),
    (expression("n / 4", low=0, high="1.5", unit="h", title="T"),
     {"expression": "n / 4", "low": "0", "high": "1.5", "unit": "h", "title": "T"}),
    (expression("n * 2", edges=[0, "2.5", 20], labels=["few", "many"]),
     {"expression": "n * 2", "edges": ["0", "2.5", "20"], "labels": ["few", "many"]}),
    (expression("n + 1", keys={1: "one", 3: "three"}),
     {"expression": "n + 1", "type": "integer", "keys": [1, 3], "labels": ["one", "three"]}),
    (expression("DATE_TRUNC('month', d)", keys=_as([date(2020, 1, 1)])),
     {"expression": "DATE_TRUNC('month', d)", "type": "date", "keys": ["2020-01-01"]}),
    (recode("i", {1: "one", 2: "two"}, other="more", labels=["A", "B", "C"], unit="h", title="T"),
     {"from": "i", "recode": [["1", "one"], ["2", "two"]], "labels": ["A", "B", "C"], "unit": "h", "title": "T",
      "other": "more"}),
    (recode("b", {True: "yes", False: "no"}), {"from": "b", "recode": [["true", "yes"], ["false", "no"]]}),
    (recode("d", {_DAY: "late"}, other="else"), {"from": "d", "recode": [["2020-01-31", "late"]], "other": "else"}),
    (recode("n", {"1": "one", 2: "two"}), {"from": "n", "recode": [["1", "one"], ["2", "two"]]}),
)  # fmt: skip
"""Computed columns, and how they are written."""


def _written() -> Cases:
    cases: list[tuple[Callable[[], Any], Any]] = [
        (lambda: describe(_described(columns={}), {}), _EMPTY),
        (
            lambda: describe(
                _described(
                    columns={}, person="p", rows_per_person=2, neighbors="change_one", version="v",
                    every_row_counts=False, file=file(delimiter=";", missing=["b", "a"]),
                    noise_levels=noise_levels(low=0.1),
                ),
                {"x": "date"},
            ),
            {
                **_EMPTY, "person": "p", "rows_per_person": 2, "neighbors": "change_one", "version": "v",
                "every_row_counts": False, "file": {"delimiter": ";", "missing": ["a", "b"]},
                "noise_levels": {"low": "0.1", "medium": "0.333"}, "columns": {"x": {"type": "date"}},
            },
        ),
    ]  # fmt: skip
    pairs = (*_PAIRS, *((column, _with_nothing(fields)) for column, fields in _DERIVED))
    return cases + [
        (lambda column=column: _sorted(describe(_make(), {"c": column})["columns"]["c"]), _sorted(fields))
        for column, fields in pairs
    ]


def _with_nothing(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in fields.items() if each is not None}


def _sorted(fields: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(fields.items())


def _read() -> Cases:
    cases: list[tuple[Callable[[], Any], Any]] = [
        (lambda: schema_of(_EMPTY), _described(columns={})),
        (
            lambda: schema_of({
                **_EMPTY, "person": "p", "rows_per_person": 2, "neighbors": "change_one", "version": "v",
                "every_row_counts": False, "file": {"delimiter": ";", "missing": ["a", "b"]},
                "noise_levels": {"low": "0.1", "medium": "0.333"}, "columns": {"x": {"type": "date"}},
            }),
            Schema("t", {"x": Column("date")}, "p", 2, "change_one", "v", False,
                   File(delimiter=";", missing=("a", "b")), NoiseLevels(F(1, 10), F(333, 1000)), ()),
        ),
        (lambda: schema_of({**_EMPTY, "file": {"names": ["b", "a"]}}).file, File(names=("b", "a"))),
        (lambda: schema_of({**_EMPTY, "person": "p", "rows_per_person": None}).rows_per_person, None),
    ]  # fmt: skip
    cases += [(partial(_column_of, {"c": fields}), column) for column, fields in _PAIRS]
    return cases + [
        (
            lambda fields=fields: schema_of({**_EMPTY, "columns": {**_BASE_JSON, "c": fields}}).columns["c"],
            _described(columns={**_BASE, "c": column}).columns["c"],
        )
        for column, fields in _DERIVED
    ]


def _column_of(columns: dict[str, Any]) -> Column:
    """Return the column c of a table that is described with these columns."""
    return schema_of({**_EMPTY, "columns": columns}).columns["c"]


def _unreadable() -> Cases:
    named, nameless = (
        Denied('Source "t" has a description that cannot'),
        Denied('Source "of the server" has a description'),
    )
    lacking = [{name: each for name, each in _EMPTY.items() if name != left} for left in _EMPTY if left != "name"]
    wrong: list[tuple[Any, Denied]] = [
        *[(fields, named) for fields in lacking],
        ({name: each for name, each in _EMPTY.items() if name != "name"}, nameless),
        ({**_EMPTY, "name": 7, "columns": None}, nameless),
        ([], nameless), (None, nameless), ("t", nameless),
        ({**_EMPTY, "columns": []}, named), ({**_EMPTY, "columns": {"c": None}}, named),
        ({**_EMPTY, "columns": {"c": {}}}, named),
        ({**_EMPTY, "columns": {"c": {"type": "date", "missing": ["x"]}}}, named),
        ({**_EMPTY, "columns": {"c": {"type": "date", "missing": 7}}}, named),
        ({**_EMPTY, "columns": {"c": {"type": "number", "missing": ["x"]}}}, named),
        ({**_EMPTY, "columns": {"c": {"from": "x", "recode": 7}}}, named),
        ({**_EMPTY, "columns": {"c": {"type": "date", "first": "1900-01-01"}}}, named),
        ({**_EMPTY, "noise_levels": {"best": 1}}, named), ({**_EMPTY, "file": {"form": 1}}, named),
        ({**_EMPTY, "joins": [{}]}, named), ({**_EMPTY, "joins": None}, named),
        ({**_EMPTY, "columns": {"c": {"type": "dates"}}}, Denied("type is one of text")),
        ({**_EMPTY, "columns": {"c": {"type": "number", "low": "0"}}}, Denied("Bounds")),
        ({**_EMPTY, "neighbors": "x"}, Denied("neighbors is")), ({**_EMPTY, "version": 1}, Denied("version = 1")),
        ({**_EMPTY, "name": ""}, Denied("name is a printable text")),
        ({**_EMPTY, "columns": {"c": {"from": "x", "recode": [["a", "b"]]}}}, Denied('"x" is not a declared column')),
    ]  # fmt: skip
    return [(partial(schema_of, fields), refused) for fields, refused in wrong]


def _joined() -> Cases:
    people = Join((("x", "v"), ("d", "d")), "q", None, file(decimal=","), table="people.csv")
    public = Join((("K", "K"),), None, ("x", "c"), table="public.csv")
    written: list[dict[str, Any]] = [
        {"columns": {"x": "v", "d": "d"}, "person": "q", "on": None, "file": {"decimal": ","}},
        {"columns": {"K": "K"}, "person": None, "on": ["x", "c"], "file": {}},
    ]
    read = (
        replace(people, name="a joined table", table=None),
        replace(public, name="a joined table", table=None),
    )
    schema = replace(_make(), joins=(people, public))
    fields = {**_EMPTY, "joins": written}
    return [
        (lambda: describe(schema, {})["joins"], written),
        (lambda: schema_of(fields).joins, read),
        (lambda: replace(schema_of(fields), joins=()), _described(columns={})),
        (lambda: [each.table for each in schema_of(fields).joins], [None, None]),
        (lambda: schema_of(fields).anew().joins, read),
        (
            lambda: schema_of(fields).joins[1].content(schema),
            Denied("needs the rows of a look-up, which are not sent"),
        ),
        (lambda: schema_of(fields).anew().joins[1].content(schema), Denied("which are not sent")),
        (lambda: _error({**written[1], "on": ["x"]}), "InvalidSource"),
    ]


def _error(join: dict[str, Any]) -> str:
    try:
        schema_of({**_EMPTY, "joins": [join]})
    except LapwingError as error:
        return type(error).__name__
    return ""
