"""What ``Source``, a source file and ``declare`` mean; and that what is refused is not charged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...question.derivation import expression
from ...question.file import AS_USUAL, File, file
from ...question.join import join
from ...question.noise_levels import USUAL, NoiseLevels, noise_levels
from ...question.schema import Column, Schema, keys, number, plain
from ...source import Source
from ..room import Room
from ..tools.meaning import Cases, Denied, F
from .declared_asking import COLUMNS, LEFT_OUT, asked, make_source

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
        **asked(room, table),
    }


_MADE: dict[str, Column] = {"x": number(0, 10, integer=True), "k": keys("a", "b"), "u": Column("text")}


def _sources(room: Room, table: str) -> Cases:
    def made(**described: Any) -> Source:
        return make_source(room, table, **described)

    usual = Schema("t", _MADE, None, 1, "add_remove", None, True, AS_USUAL, USUAL, ())
    people = {"person": "p", "rows_per_person": 3, "neighbors": "change_one", "version": "v"}
    told = {"noise_levels": noise_levels(low="0.1"), "file": file(missing=["z"])}
    csv = room.path("csv")
    csv.write_text("p,x,k,u\nq,1,a,v\n")
    place = room.path("ledger")
    return [
        (lambda: made().schema, usual),
        (lambda: made(**people).schema, Schema("t", _MADE, "p", 3, "change_one", "v", True)),
        (lambda: made(person="p").schema.rows_per_person, None),
        (
            lambda: _told(make_source(room, str(csv), **told).schema),
            (File(missing=("z",)), NoiseLevels(F(1, 10), F(333, 1000))),
        ),
        (lambda: make_source(room, str(csv)).schema.every_row_counts, False),
        (lambda: made(neighbors="change_one", public_rows=True).schema.every_row_counts, True),
        (lambda: made(neighbors="change_one", public_rows=False).schema.every_row_counts, False),
        (lambda: made(neighbors="change_one", file=file(format="parquet")).schema.every_row_counts, True),
        (lambda: (made().epsilon, made().delta), (F(10), F(1, 2))),
        (lambda: made(epsilon=0.1, delta="1e-8").epsilon, F(1, 10)),
        (lambda: made(epsilon=0.1, delta="1e-8").delta, F(1, 10**8)),
        (lambda: (made(epsilon=None).epsilon, made(delta=LEFT_OUT).delta), (None, None)),
        (lambda: made(ledger=place).ledger_place(), str(place)),
        (lambda: made(ledger=str(place)).ledger_place(), str(place)),
        (lambda: made(ledger=LEFT_OUT).ledger_place(), str(Path(table).parent / "t.ledger")),
        (lambda: made(name="a/b", ledger=LEFT_OUT).ledger_place().startswith(str(Path(table).parent / "a_b=")), True),
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


def _told(schema: Schema) -> tuple[File, NoiseLevels]:
    return schema.file, schema.noise_levels


def _wrong(room: Room, table: str) -> Cases:
    csv = room.path("csv")
    csv.write_text("p,x,k,u\nq,1,a,v\n")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"noise_levels": "low"}, "noise_levels is lw.noise_levels(…)"),
        ({"noise_levels": None}, "noise_levels = nothing"),
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
        *[(lambda given=given: make_source(room, table, **given), Denied(words)) for given, words in wrong],
        (
            lambda: make_source(room, str(csv), neighbors="change_one", public_rows=True),
            Denied("a row of its file may be left out"),
        ),
        (lambda: make_source(room, "mysql://h/d"), Denied("The address of the table cannot be used")),
        (lambda: make_source(room, "spark:t", file=file(decimal=",")), Denied("describes a file, but its table")),
    ]  # fmt: skip


def _joins(room: Room, table: str) -> Cases:
    people = room.parquet({"q": ["q", "r"], "v": [1, 2]}, {"q": "VARCHAR", "v": "BIGINT"})
    codes = room.parquet({"c": ["a", "b"], "r": ["n", "s"]}, {"c": "VARCHAR", "r": "VARCHAR"})
    columns = {**COLUMNS, "v": number(0, 5), "r": keys("n", "s")}
    lying = {**columns, "k": keys("a", "b", within="r")}
    mates = join(people, columns=["v"], person="q")
    look_up = join(codes, columns=["r"], public=True, on={"k": "c"})
    both = {"columns": columns, "joins": [mates, look_up], "person": "p", "rows_per_person": 2}

    def made(**described: Any) -> Source:
        return make_source(room, table, **{**both, **described})

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
        (lambda: make_source(room, people, columns={}).shares_rows_with(made()), True),
        (lambda: made().shares_rows_with(make_source(room, people, columns={})), True),
        (lambda: made().shares_rows_with(make_source(room, codes, columns={})), False),
        (lambda: made(columns=lying, joins=[mates]), Denied('no look-up on "k" adds "r"')),
        (lambda: made(columns=COLUMNS), Denied("does not declare it")),
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
[noise_levels]
low = 0.1
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
    usual, levels = _FILE.format(table="t.csv"), NoiseLevels(F(1, 10), F(333, 1000))
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
            Schema("s", columns, "p", 2, "change_one", "v", False, File(missing=("z",)), levels, guesses_encoding=True),
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
    source = make_source(
        room,
        table,
        person="p",
        rows_per_person=2,
        version="v",
        neighbors="change_one",
        noise_levels=noise_levels(low="0.1"),
    )
    lying = {"k": keys("a", "b", within="r"), "r": keys("n")}

    def changed(*columns: Any, **more: Any) -> Source:
        return source.declare(*columns, **more)

    def schema(columns: Mapping[str, Column]) -> Schema:
        return Schema("t", columns, "p", 2, "change_one", "v", True, AS_USUAL, NoiseLevels(F(1, 10), F(333, 1000)))

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
        (lambda: make_source(room, table).shares_rows_with(make_source(room, table, name="u")), True),
        (lambda: make_source(room, table).shares_rows_with(make_source(room, other)), False),
    ]
