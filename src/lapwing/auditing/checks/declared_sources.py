"""What ``Source``, a source file and ``declare`` mean; and that what is refused is not charged."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import LapwingError
from ...question.derivation import expression
from ...question.file import AS_USUAL, File, file
from ...question.join import join
from ...question.quality import USUAL, Quality, quality
from ...question.query import count, mean
from ...question.schema import Column, Schema, keys, number, plain
from ...source import Source
from ..room import Room
from ..tools.meaning import Cases, Denied, F

_KEYS = ("a", "b", "a", "b", "a", "a", "b", "a")


def sources(room: Room) -> dict[str, Cases]:
    """Return sources, and calls of them."""
    table = room.parquet(
        {"p": list("qqrrsstt"), "x": range(8), "k": _KEYS, "u": list("vvvvvvvw")},
        {"p": "VARCHAR", "x": "BIGINT", "k": "VARCHAR", "u": "VARCHAR"},
    )
    return {
        "source": _sources(room, table),
        "wrong source": _wrong(room, table),
        "joins of a source": _joins(room, table),
        "source file": _files(room, table),
        "declare": _declared(room, table),
        "rows in common": _shared(room, table),
        "plans": _plans(room, table),
        "refused and not charged": _uncharged(room, table),
        "answered and charged": _charged(room, table),
    }


_COLUMNS: dict[str, Any] = {"x": number(0, 10, integer=True), "k": keys("a", "b"), "u": "text"}
_MADE: dict[str, Column] = {"x": number(0, 10, integer=True), "k": keys("a", "b"), "u": Column("text")}


def _source(room: Room, table: Any, **described: Any) -> Source:
    said = {"name": "t", "columns": _COLUMNS, "epsilon": 10, "delta": "0.5", "ledger": room.path("ledger"), **described}
    return Source(table, **{name: each for name, each in said.items() if each is not _LEFT_OUT})


_LEFT_OUT = object()


def _sources(room: Room, table: str) -> Cases:
    def made(**described: Any) -> Source:
        return _source(room, table, **described)

    usual = Schema("t", _MADE, None, 1, "add_remove", None, True, AS_USUAL, USUAL, ())
    people = {"person": "p", "rows_per_person": 3, "neighbors": "change_one", "version": "v"}
    told = {"quality": quality(good="0.1"), "file": file(missing=["z"])}
    csv = room.path("csv")
    csv.write_text("p,x,k,u\nq,1,a,v\n")
    place = room.path("ledger")
    return [
        (lambda: made().schema, usual),
        (lambda: made(**people).schema, Schema("t", _MADE, "p", 3, "change_one", "v", True)),
        (lambda: made(person="p").schema.rows_per_person, None),
        (
            lambda: _told(_source(room, str(csv), **told).schema),
            (File(missing=("z",)), Quality(F(1, 10), F(333, 1000))),
        ),
        (lambda: _source(room, str(csv)).schema.every_row_counts, False),
        (lambda: made(neighbors="change_one", public_rows=True).schema.every_row_counts, True),
        (lambda: made(neighbors="change_one", public_rows=False).schema.every_row_counts, False),
        (lambda: made(neighbors="change_one", file=file(format="parquet")).schema.every_row_counts, True),
        (lambda: (made().epsilon, made().delta), (F(10), F(1, 2))),
        (lambda: made(epsilon=0.1, delta="1e-8").epsilon, F(1, 10)),
        (lambda: made(epsilon=0.1, delta="1e-8").delta, F(1, 10**8)),
        (lambda: (made(epsilon=None).epsilon, made(delta=_LEFT_OUT).delta), (None, None)),
        (lambda: made(ledger=place).ledger_place(), str(place)),
        (lambda: made(ledger=str(place)).ledger_place(), str(place)),
        (lambda: made(ledger=_LEFT_OUT).ledger_place(), str(Path(table).parent / "t.ledger")),
        (lambda: made(name="a/b", ledger=_LEFT_OUT).ledger_place().startswith(str(Path(table).parent / "a_b=")), True),
        (lambda: made(name="n").name, "n"),
        (lambda: repr(made()).startswith("Source('t', "), True),
        (lambda: made(ledger=place).holds(place), True),
        (lambda: made().holds(Path(table)), True),
        (lambda: made().holds(csv), False),
        (lambda: made().describe()["columns"]["u"], {"type": "text"}),
        (lambda: list(made().example(3)), ["x", "k", "u"]),
        (lambda: [len(each) for each in made(person="p").example(3).values()], [3, 3, 3, 3]),
        (lambda: made().dialect.name, "duckdb"),
    ]


def _told(schema: Schema) -> tuple[File, Quality]:
    return schema.file, schema.quality


def _wrong(room: Room, table: str) -> Cases:
    csv = room.path("csv")
    csv.write_text("p,x,k,u\nq,1,a,v\n")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"quality": "good"}, "quality is lw.quality(…)"),
        ({"quality": None}, "quality = nothing"),
        ({"file": "csv"}, "file is lw.file(…)"),
        ({"file": {}}, "file is lw.file(…)"),
        ({"columns": None}, "columns is a mapping"),
        ({"columns": ["x"]}, "columns is a mapping"),
        ({"columns": {"x": 7}}, 'column "x" = 7'),
        ({"name": ""}, "name is a printable text"),
        ({"neighbors": "both"}, 'neighbors is "add_remove" or "change_one"'),
        ({"person": 7}, "person is the name of a column"),
        ({"rows_per_person": 2}, "has rows_per_person but no person"),
        ({"person": "p", "rows_per_person": 0}, "rows_per_person is a whole number"),
        ({"public_rows": 1}, "public_rows is true or false"),
        ({"public_rows": "yes"}, "public_rows is true or false"),
        ({"public_rows": True}, 'protects whether a row is there ("add_remove")'),
        ({"public_rows": True, "neighbors": "change_one", "person": "p"}, "says public_rows, but has a person column"),
        ({"epsilon": 0}, "ε is a decimal"),
        ({"epsilon": "1/3"}, "ε is a decimal"),
        ({"delta": 1}, "δ is a decimal"),
        ({"delta": -1}, "δ is a decimal"),
        ({"ledger": 7}, "ledger is the path of a file"),
        ({"joins": join("u.csv", columns=["x"], person="q")}, "joins is a list of lw.join(…)"),
        ({"joins": None}, "joins is a list of lw.join(…)"),
        ({"joins": ["u.csv"]}, "joins is a list of lw.join(…)"),
        ({"version": 1}, "version is a text"),
        ({"colums": {}}, "has no argument colums"),
    ]
    return [
        *[(lambda given=given: _source(room, table, **given), Denied(words)) for given, words in wrong],
        (
            lambda: _source(room, str(csv), neighbors="change_one", public_rows=True),
            Denied("a row of its file may be left out"),
        ),
        (lambda: _source(room, "mysql://h/d"), Denied("The address of the table cannot be used")),
        (lambda: _source(room, "spark:t", file=file(decimal=",")), Denied("describes a file, but its table is on a")),
    ]  # fmt: skip


def _joins(room: Room, table: str) -> Cases:
    people = room.parquet({"q": ["q", "r"], "v": [1, 2]}, {"q": "VARCHAR", "v": "BIGINT"})
    codes = room.parquet({"c": ["a", "b"], "r": ["n", "s"]}, {"c": "VARCHAR", "r": "VARCHAR"})
    columns = {**_COLUMNS, "v": number(0, 5), "r": keys("n", "s")}
    lying = {**columns, "k": keys("a", "b", within="r")}
    mates = join(people, columns=["v"], person="q")
    look_up = join(codes, columns=["r"], public=True, on={"k": "c"})
    both = {"columns": columns, "joins": [mates, look_up], "person": "p", "rows_per_person": 2}

    def made(**described: Any) -> Source:
        return _source(room, table, **{**both, **described})

    return [
        (lambda: [each.columns for each in made().schema.joins], [(("v", "v"),), (("r", "r"),)]),
        (
            lambda: [each.name for each in made().schema.joins],
            [Path(each).name.split(".")[0] for each in (people, codes)],
        ),
        (lambda: [each.reader is None for each in made().schema.joins], [True, False]),
        (lambda: made().schema.joins[1].content(made().schema).cells["r"], ("n", "s")),
        (lambda: made(joins=(mates, look_up)).schema == made().schema, True),
        (lambda: made(columns=lying).schema.columns["k"].within == lying["k"].within, True),
        (lambda: made().holds(Path(people)), True),
        (
            lambda: made(joins=[look_up]).shares_rows_with(made(person=None, rows_per_person=None, joins=[look_up])),
            True,
        ),
        (lambda: _source(room, people, columns={}).shares_rows_with(made()), True),
        (lambda: made().shares_rows_with(_source(room, people, columns={})), True),
        (lambda: made().shares_rows_with(_source(room, codes, columns={})), False),
        (lambda: made(columns=lying, joins=[mates]), Denied('no look-up on "k" adds "r"')),
        (lambda: made(columns=_COLUMNS), Denied("does not declare it")),
        (lambda: made(person=None, rows_per_person=None), Denied("names no person column itself")),
    ]


# --- source files ---

_FILE = """\
name = "s"
table = "{table}"
person = "p"
rows_per_person = 2
neighbors = "change_one"
epsilon = 2
delta = 0.25
version = "v"
[file]
missing = ["z"]
[quality]
good = 0.1
[columns]
x = {{ low = 0, high = 10, integer = true, title = "X" }}
k = {{ keys = ["a", "b"], other = "c" }}
u = {{ type = "text" }}
e = {{ expression = "x + 1" }}
"""


def _files(room: Room, table: str) -> Cases:
    folder = room.path("folder")
    folder.mkdir()
    name = os.path.relpath(table, folder)
    csv = folder / "t.csv"
    csv.write_text("p,x,k,u\nq,1,a,v\n")
    usual = _FILE.format(table="t.csv")
    columns = {
        "x": number(0, 10, integer=True, title="X"), "k": keys("a", "b", other="c"), "u": Column("text"),
    }  # fmt: skip

    def opened(text: str, title: str = "mine.toml") -> Source:
        (folder / title).write_text(text)
        return Source.open(folder / title)

    def schema(text: str) -> Schema:
        made = opened(text).schema
        return Schema(**{**vars(made), "columns": {each: made.columns[each] for each in made.columns if each != "e"}})

    parquet = f'table = "{name}"\n'
    linked = parquet + (
        '[[join]]\ntable = "t.csv"\ncolumns = ["y"]\npublic = true\non = "k"\n[columns]\nk = { keys = ["a"] }\n'
        'y = { type = "text" }\n'
    )
    return [
        (
            lambda: schema(usual),
            Schema(
                "s", columns, "p", 2, "change_one", "v", False, File(missing=("z",)), Quality(F(1, 10), F(333, 1000))
            ),
        ),
        (lambda: opened(usual).schema.columns["e"].high, F(11)),
        (lambda: (opened(usual).epsilon, opened(usual).delta), (F(2), F(1, 4))),
        (lambda: opened(usual).ledger_place(), str(folder / "s.ledger")),
        (lambda: opened(parquet).name, "mine"),
        (lambda: opened(parquet).ledger_place(), str(folder / "mine.ledger")),
        (lambda: opened(parquet + 'ledger = "l"\n').ledger_place(), str(folder / "l")),
        (lambda: opened(parquet + f'ledger = "{folder}/m"\n').ledger_place(), f"{folder}/m"),
        (lambda: opened('name = "a/b"\n' + parquet).ledger_place().startswith(str(folder / "a_b=")), True),
        (lambda: Source.open(str(folder / "mine.toml")).name, "a/b"),
        (lambda: opened(parquet).holds(Path(table)), True),
        (lambda: opened(linked).schema.joins[0].on, ("k", "k")),
        (lambda: opened(linked).schema.joins[0].name, "t"),
        (lambda: opened(linked).schema.joins[0].reader is None, False),
        (lambda: opened(""), Denied("names no table")),
        (lambda: opened("table = 7"), Denied("has a table that is not a text")),
        (lambda: opened(parquet + "epsilon = 0"), Denied("ε is a decimal")),
        (lambda: opened(parquet + "ledger = 7"), Denied("ledger is the path of a file")),
        (lambda: opened(parquet + "epsilom = 1"), Denied('has the unknown field "epsilom"')),
        (lambda: opened(parquet + "[columns]\nx = { low = 1 }"), Denied("Bounds 1 to nothing")),
        (lambda: Source.open(folder / "no.toml"), Denied("does not exist")),
    ]


def _declared(room: Room, table: str) -> Cases:
    source = _source(
        room, table, person="p", rows_per_person=2, version="v", neighbors="change_one", quality=quality(good="0.1")
    )
    lying = {"k": keys("a", "b", within="r"), "r": keys("n")}

    def changed(*columns: Any, **more: Any) -> Source:
        return source.declare(*columns, **more)

    def schema(columns: Mapping[str, Column]) -> Schema:
        return Schema("t", columns, "p", 2, "change_one", "v", True, AS_USUAL, Quality(F(1, 10), F(333, 1000)))

    return [
        (lambda: changed().schema, schema(_MADE)),
        (lambda: changed({"u": keys("v")}).schema, schema({**_MADE, "u": keys("v")})),
        (lambda: changed(u=keys("v")).schema, schema({**_MADE, "u": keys("v")})),
        (lambda: changed({"u": "date"}, u=keys("v")).schema, schema({**_MADE, "u": keys("v")})),
        (lambda: changed({"w": "date"}).schema, schema({**_MADE, "w": plain("date")})),
        (lambda: changed(w=expression("x + 1")).schema.columns["w"].high, F(11)),
        (lambda: changed(w=expression("x + 1")).declare(x=number(0, 5, integer=True)).schema.columns["w"].high, F(6)),
        (lambda: changed(u=keys("v")).describe()["columns"]["u"], {"type": "text", "keys": ["v"]}),
        (lambda: changed(u=keys("v")).ledger_place() == source.ledger_place(), True),
        (lambda: (changed(u=keys("v")).schema == source.schema, source.schema.columns["u"]), (False, Column("text"))),
        (lambda: changed(["u"]), Denied("columns is a mapping from names to declarations")),
        (lambda: changed(u=7), Denied('column "u" = 7')),
        (lambda: changed(U="date"), Denied("differ only in case")),
        (lambda: changed(lying), Denied('no look-up on "k" adds "r"')),
        (lambda: changed(x="text").schema.columns["x"], Column("text")),
    ]  # fmt: skip


def _shared(room: Room, table: str) -> Cases:
    other = room.parquet({"x": [1]}, {"x": "BIGINT"})
    return [
        (lambda: _source(room, table).shares_rows_with(_source(room, table, name="u")), True),
        (lambda: _source(room, table).shares_rows_with(_source(room, other)), False),
    ]


# --- what is charged ---


def _plans(room: Room, table: str) -> Cases:
    source = _source(room, table, person="p", rows_per_person=2)
    rows = _source(room, table)
    unsaid = _source(room, table, person="p")
    return [
        (lambda: source.plan(count(), epsilon=1).schema.rows_per_person, 2),
        (lambda: source.plan(count(), epsilon=1, rows_per_person=5).schema.rows_per_person, 5),
        (lambda: unsaid.plan(count(), epsilon=1, rows_per_person=5).schema.rows_per_person, 5),
        (lambda: unsaid.plan(count(), epsilon=1), Denied("names a person column but not rows_per_person")),
        (lambda: source.plan(count(), epsilon=1, rows_per_person=0), Denied("rows_per_person is a whole number")),
        (lambda: rows.plan(count(), epsilon=1, rows_per_person=2), Denied("every row is one person")),
        (lambda: source.plan(count(), epsilon=1).epsilon, F(1)),
        (lambda: source.plan(mean("x"), by="k", where="x > 2", epsilon=1, confidence="0.5").confidence, F(1, 2)),
        (lambda: source.plan(count(), epsilon=1).lacking, None),
        (lambda: "no total" in str(_source(room, table, epsilon=None).plan(count(), epsilon=1).lacking), True),
        (lambda: [source.plan_keys("u", epsilon=1, delta="0.01", keys_per_person=1).keys_per_person], [1]),
        (lambda: source.plan_keys("u", epsilon=1, delta="0.01").keys_per_person, 2),
        (lambda: str(source.plan_keys("u", epsilon=1, delta="0.01", where="x > 2").where), '"x" > 2'),
        (lambda: source.plan_keys("u", epsilon=1, delta="0.01").dialect.name, "duckdb"),
        (lambda: Path(source.ledger_place()).exists(), False),
    ]


def _uncharged(room: Room, table: str) -> Cases:
    """Return wrong questions, each with the ledger that it leaves: none where none was, and an unchanged one."""
    people = {"person": "p", "rows_per_person": 2}
    wrong: list[tuple[Callable[[Any], Any], dict[str, Any]]] = [
        (lambda s: s.discover("no", epsilon=1, delta="0.01"), people),
        (lambda s: s.discover("x", epsilon=1, delta="0.01"), {"columns": {"x": number(0, 1)}}),
        (lambda s: s.discover("u", epsilon=0, delta="0.01"), people),
        (lambda s: s.discover("u", epsilon=1, delta=0), people),
        (lambda s: s.discover("u", epsilon=1, delta="0.02"), people),
        (lambda s: s.discover("u", epsilon=1, delta="0.01", keys_per_person=0), people),
        (lambda s: s.discover("u", epsilon=1, delta="0.01", keys_per_person=2), {}),
        (lambda s: s.discover("u", epsilon=1, delta="0.01", where="no = 1"), people),
        (lambda s: s.discover("u", epsilon=1, delta="0.01", confidence=1), people),
        (lambda s: s.discover("u", epsilon=1, delta="0.01", kind="x"), people),
        (lambda s: s.discover("w", epsilon=1, delta="0.01"), {"columns": {"w": "text"}}),
        (lambda s: s.bounds("u", epsilon=1), people),
        (lambda s: s.bounds("x", epsilon="1/3"), people),
        (lambda s: s.bounds("x", epsilon=1, where="no = 1"), people),
        (lambda s: s.bounds("w", epsilon=1), {"columns": {"w": "number"}}),
        (lambda s: s.bounds("x", epsilon=1), {"person": "p"}),
        (lambda s: s.rows_per_person(epsilon=1), {}),
        (lambda s: s.rows_per_person(epsilon=0), people),
        (lambda s: s.rows_per_person(epsilon=1, share=1), people),
        (lambda s: s.rows_per_person(epsilon=1, share="x"), people),
        (lambda s: s.rows_per_person(epsilon=1, where="no = 1"), people),
        (lambda s: s.rows_per_person(epsilon=1), {"person": "w"}),
        (lambda s: s.release(count(), epsilon=0), people),
        (lambda s: s.release(count(), epsilon=1, by="x"), people),
        (lambda s: s.release(count(), epsilon=1), {"person": "p"}),
        (lambda s: s.sql("SELECT x FROM t", epsilon=1), people),
    ]
    used = _source(room, table)
    used.make_ledger().charge("another", 1, "0.001")
    place, without = Path(used.ledger_place()), _source(room, table, delta=_LEFT_OUT, **people)
    return [
        (lambda: _left(without, lambda s: s.discover("u", epsilon=1, delta="0.01")), True),
        (lambda: without.discover("u", epsilon=1, delta="0.01"), Denied("has no total δ, and to look for keys needs")),
        *[
            (lambda ask=ask, source=source: _left(source, ask), True)
            for ask, described in wrong
            for source in (_source(room, table, **described), _source(room, table, **described, ledger=place))
        ],
    ]


def _left(source: Source, ask: Callable[[Any], Any]) -> bool | str:
    """Return whether a question is refused and leaves the ledger as it was; one that it makes has nothing in it."""
    place = Path(source.ledger_place())
    before = place.read_bytes() if place.exists() else None
    try:
        return f"answered: {ask(source)!r}"
    except LapwingError:
        if before is not None:
            return place.read_bytes() == before
        if not place.exists():
            return True
        made = source.open_ledger()
        return (made.spent, made.delta.spent) == (F(0), F(0))


def _charged(room: Room, table: str) -> Cases:
    """Return questions with noise that is nearly always 0, with the answer and what is charged."""
    people = {"person": "p", "rows_per_person": 2, "epsilon": 1000}

    def answer(ask: Callable[[Any], Any], **changed: Any) -> tuple[Any, F, F]:
        source = _source(room, table, **{**people, **changed})
        found = ask(source)
        return found, source.ledger.spent, source.ledger.delta.spent

    most = F(900)
    return [
        (lambda: answer(lambda s: s.discover("k", epsilon=900, delta="0.01").rows), (
            [{"k": "a", "count": {"value": 4, "low": 4, "high": 4}},
             {"k": "b", "count": {"value": 3, "low": 3, "high": 3}}],
            most, F(1, 100),
        )),
        (lambda: answer(lambda s: s.discover("u", epsilon=900, delta="0.01", where="x >= 2", keys_per_person=1).keys),
         (("v",), most, F(1, 100))),
        (lambda: answer(lambda s: s.discover("u", epsilon=900, delta="0.01", confidence="0.5").confidence),
         (F(1, 2), most, F(1, 100))),
        (lambda: answer(lambda s: s.rows_per_person(epsilon=900).rows_per_person), (2, most, F(0))),
        (lambda: answer(lambda s: s.rows_per_person(epsilon=900, share="0.5", where="x > 0").share),
         (F(1, 2), most, F(0))),
        (lambda: answer(lambda s: s.rows_per_person(epsilon=900, share="0.2", where="x > 0").rows_per_person),
         (1, most, F(0))),
        (lambda: answer(lambda s: (s.bounds("x", epsilon=900).low, s.rows_per_person(epsilon=100).entry)),
         ((F(0), 4), F(1000), F(0))),
        (lambda: answer(lambda s: s.bounds("x", epsilon=900, where="x >= 3").high, person=None, rows_per_person=None),
         (F(10), most, F(0))),
        (lambda: answer(lambda s: [s.left(), s.release(count(), epsilon=900)["count"].value.tolist(), s.left()]),
         ([None, [8], F(100)], most, F(0))),
        (lambda: answer(lambda s: [s.rows_per_person(epsilon=400).repeated, s.rows_per_person(epsilon=400).repeated]),
         ([False, True], F(400), F(0))),
        (lambda: answer(lambda s: s.discover("k", epsilon=900, delta="0.01").new_ledger is not None),
         (True, most, F(1, 100))),
        (lambda: answer(lambda s: [s.make_ledger().total, s.discover("k", epsilon=900, delta="0.01").new_ledger]),
         ([F(1000), None], most, F(1, 100))),
    ]  # fmt: skip
