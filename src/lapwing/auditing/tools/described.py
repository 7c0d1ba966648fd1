"""One description of a source, written in every way that a source can be made: Python, ``declare``, a file.

The descriptions together give every parameter of ``Source`` a value that is not its default, and every field of a
source file an example.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from inspect import signature, unwrap
from json import loads
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import duckdb

from ...errors import LapwingError
from ...ledger.entry import Entry
from ...ledger.ledger import Ledger
from ...question.derivation import Derivation, expression, recode
from ...question.file import file
from ...question.join import Join, join
from ...question.noise_levels import noise_levels
from ...question.schema import Column, dates, keys, number, plain
from ...report import toml, toml_name
from ...source import Source
from ...source_file import COLUMN_FIELDS, FIELDS, JOIN_FIELDS
from ..room import Room
from .leaves import leaves
from .others import say

DAYS = [date(2024, 1, 1), date(2024, 2, 29)]
PARTS = {"january": DAYS[:1], "february": DAYS[1:]}

COLUMNS: dict[str, tuple[dict[str, Any], Column]] = {
    "x": ({"low": -2, "high": 7, "missing": [-1.5, 8.5]}, number(-2, 7, missing=["-1.5", "8.5"])),
    "y": ({"low": 0.5, "high": 9, "integer": True}, number("0.5", 9, integer=True)),
    "z": (
        {"type": "integer", "low": 0, "high": 9, "edges": [0, 3, 9], "labels": ["few", "many"], "unit": "days"},
        number(0, 9, integer=True, edges=[0, 3, 9], labels=["few", "many"], unit="days"),
    ),
    "v": ({"edges": [0, 3, 9.5]}, number(edges=[0, 3, "9.5"])),
    "w": (
        {"low": 0, "high": 9, "keys": {"2": "two", "1": "one"}, "missing": [8]},
        number(0, 9, keys={2: "two", 1: "one"}, missing=[8]),
    ),
    "k": (
        {"keys": ["b", "a", 'it\'s "c" \\ %'], "other": "rest", "missing": ["c"]},
        keys("b", "a", 'it\'s "c" \\ %', other="rest", missing=["c"]),
    ),
    "day": (
        {"keys": DAYS, "labels": ["first", "leap"], "title": "Day", "within": {"month": PARTS}},
        keys(DAYS, labels=["first", "leap"], title="Day", within={"month": PARTS}),
    ),
    "til": (
        {"type": "date", "first": DAYS[0], "last": DAYS[1], "title": "Until"},
        dates("2024-01-01", DAYS[1], title="Until"),
    ),
    "u": ({"type": "text"}, plain("text")),
    "b": ({"type": "boolean"}, plain("boolean")),
}
COMPUTED: dict[str, tuple[dict[str, Any], Derivation]] = {
    "xy": (
        {"expression": "x * y", "low": 0, "high": 50, "edges": [0, 10, 50], "labels": ["less", "more"]},
        expression("x * y", low=0, high=50, edges=[0, 10, 50], labels=["less", "more"]),
    ),
    "kk": (
        {"from": "k", "recode": {"a": "one", "b": "two"}, "other": "three", "title": "Kinds"},
        recode("k", {"a": "one", "b": "two"}, other="three", title="Kinds"),
    ),
    "late": ({"expression": "EXTRACT(YEAR FROM til)"}, expression("EXTRACT(YEAR FROM til)")),
}
"""The same for columns that are computed from others."""

EVERY: dict[str, tuple[dict[str, Any], Any]] = {**COLUMNS, **COMPUTED}
"""All of them."""

"""For each column its fields in a source file, and its declaration in Python."""


_TABLES = ("file", "noise_levels")
"""The fields of a source file that are tables."""


@dataclass(frozen=True)
class Described:
    """A source in words: the ending of its table, and the parameters of ``Source``, as a file writes them."""

    what: str
    ending: str
    fields: Mapping[str, Any]

    def python(self, table: Any, folder: Path, columns: Mapping[str, Column] | None = None) -> Source:
        """Return the source as Python makes it; its ledger is in the folder if one is named."""
        declared = {name: column for name, (_, column) in EVERY.items()} if columns is None else columns
        named = {"ledger": folder / self.fields["ledger"]} if "ledger" in self.fields else {}
        told: dict[str, Any] = {"file": file(**self.fields["file"])} if "file" in self.fields else {}
        told |= {"noise_levels": noise_levels(**self.fields["noise_levels"])} if "noise_levels" in self.fields else {}
        joins = [self._join(fields, folder) for fields in self.fields.get("join", ())]
        declared = {**declared, **{name: COLUMNS[name][1] for name in self._joined()}}
        fields = {name: value for name, value in self.fields.items() if name != "join"}
        return Source(table, **{**fields, "columns": declared, "joins": joins, **named, **told})

    def _join(self, fields: Mapping[str, Any], folder: Path) -> Join:
        written = {"file": file(**fields["file"])} if "file" in fields else {}
        return join(**{**fields, "table": str(folder / fields["table"]), **written})

    def _joined(self) -> set[str]:
        """Return the columns that joins name."""
        joins = self.fields.get("join", ())
        return {name for each in joins for name in (*each["columns"], *each.get("on", ()))}

    def file(self, table: str, folder: Path) -> Path:
        """Write a source file into the folder; return its path."""
        lines = [f"{name} = {_toml(value)}" for name, value in self.fields.items() if name not in (*_TABLES, "join")]
        lines.append(f"table = {toml(table)}")
        for name in (name for name in _TABLES if name in self.fields):
            lines += [f"[{name}]", *(f"{field} = {_toml(value)}" for field, value in self.fields[name].items())]
        for each in self.fields.get("join", ()):
            lines += ["[[join]]", *(f"{name} = {_toml(value)}" for name, value in each.items())]
        for name, (fields, _) in EVERY.items():
            lines.append(f"[columns.{toml_name(name)}]")
            lines += [f"{field} = {_toml(value)}" for field, value in fields.items()]
        path = folder / f"{self.fields['name']}.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path


DESCRIBED = (
    Described("people", "parquet", {
        "name": "t", "person": "p", "rows_per_person": 3, "neighbors": "change_one", "epsilon": 5, "delta": 0.01,
        "ledger": "kept.ledger", "version": "2",
    }),
    Described("rows whose number is private", "parquet", {
        "name": "t", "neighbors": "change_one", "public_rows": False, "epsilon": 5, "delta": 0.01,
    }),
    Described("rows whose number is public", "parquet", {
        "name": "a b", "neighbors": "change_one", "public_rows": True, "epsilon": "4.5", "delta": 0.01,
    }),
    Described("rows of a CSV file", "csv", {"name": "t", "neighbors": "change_one", "epsilon": 5, "delta": 0.01}),
    Described("few fields", "parquet", {
        "name": "größe", "epsilon": 5, "delta": 0.01, "noise_levels": {"low": 0.05, "medium": 0.5},
    }),
    Described("rows of a text file in another form", "txt", {
        "name": "t", "epsilon": 5, "delta": 0.01,
        "file": {
            "format": "csv", "delimiter": ";", "quote": "~", "encoding": "latin-1", "decimal": ",", "thousands": ".",
            "dates": "%d.%m.%Y", "missing": ["NA", "."], "header": False, "names": [*"pxyzvwk", "day", "til", "u", "b"],
        },
    }),
    Described("people in two tables, and a look-up", "parquet", {
        "name": "t", "person": "p", "rows_per_person": 3, "epsilon": 5, "delta": 0.01,
        "join": [
            {"table": "mates.txt", "person": "who", "columns": ["y"], "file": {"format": "csv", "delimiter": ";"}},
            {"table": "look_up.csv", "public": True, "on": {"u": "word"}, "columns": {"v": "value"}},
        ],
    }),
)  # fmt: skip


def not_described() -> list[str]:
    """Return the parameters of a source, and the fields of a source file, that no description here has."""
    given = {name for each in DESCRIBED for name in each.fields} | {"self", "table", "columns", "joins"}
    in_joins = {name for each in DESCRIBED for fields in each.fields.get("join", ()) for name in fields}
    in_columns = {name for fields, _ in EVERY.values() for name in fields}
    known = signature(unwrap(Source.__init__)).parameters
    lost = [f"{name} of Source" for name in known if name not in given]
    lost += [f"{name} of a source file" for name in FIELDS if name not in given]
    lost += [f"{name} of a join" for name in JOIN_FIELDS if name not in in_joins]
    return lost + [f"{name} of a column" for name in COLUMN_FIELDS if name not in in_columns]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{toml(name)} = {_toml(each)}' for name, each in value.items())}}}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else toml(value)


TABLE_ROWS = 40


def place(room: Room, ending: str, folder: Path) -> str:
    """Write a table with all columns into the folder; return its name there."""
    n = TABLE_ROWS
    (folder / "mates.txt").write_text("who;y\n" + "".join(f"p{i % 9};{i}\n" for i in range(11)), encoding="utf-8")
    (folder / "look_up.csv").write_text("word,value\nmany,4.5\nfew,2\n", encoding="utf-8")
    sql = f"""SELECT 'p' || (i % 15) AS p, (i % 11) - 1.5 AS x, i % 12 AS y, i % 9 AS z, (i % 19) / 2 AS v, i % 4 AS w,
        ['a', 'b', 'c', 'it''s "c" \\ %'][1 + i % 4] AS k, DATE '2024-01-01' + CAST(i % 3 AS INTEGER) AS day,
        DATE '2024-01-01' + CAST(i % 90 AS INTEGER) AS til,
        ['many', 'some'][1 + i % 2] AS u, i % 3 = 0 AS b FROM range({n}) AS r(i)"""
    if ending == "parquet":
        Path(room.select(sql)).rename(folder / "table.parquet")
    elif ending == "txt":
        with duckdb.connect() as connection:
            rows = connection.execute(sql).fetchall()
        text = "\n".join(";".join(_in_form(cell) for cell in row) for row in rows)
        (folder / "table.txt").write_text(text, encoding="latin-1")
    else:
        with duckdb.connect() as connection:
            connection.sql(sql).write_csv(str(folder / f"table.{ending}"))
    return f"table.{ending}"


def _in_form(cell: Any) -> str:
    """Return a cell as the text file has it, with decimal commas and the day first."""
    if isinstance(cell, date):
        return f"{cell:%d.%m.%Y}"
    return str(cell).replace(".", ",") if not isinstance(cell, str) else f"~{cell}~"


def described(source: Source) -> dict[str, str]:
    """Return everything that a source holds, by its place in it; paths are absolute."""
    found: dict[str, str] = {}
    for name, value in vars(source).items():
        if name != "ledger":
            inside = vars(value) if hasattr(value, "dialect") else value  # its table
            found |= {each: _absolute(text) for each, _, text in leaves(inside, name)}
    return {name: text for name, text in found.items() if not name.endswith("/before")}  # where earlier builds kept it


def _absolute(text: str) -> str:
    kind, _, value = text.partition(" ")
    if " object at 0x" in value:  # what has no text of its own, such as a lock
        return kind
    return f"path {os.path.realpath(value)}" if kind in ("str", "PosixPath", "WindowsPath") and "." in value else text


# --- the same in other processes ---


class Meeting(Ledger):
    """A ledger at whose steps several processes meet: each waits until all have come, or a few seconds have passed."""

    at: Path
    steps: Mapping[str, int]

    def charge(self, *args: Any, **options: Any) -> Entry:
        self._meet("charge")
        return super().charge(*args, **options)

    def record(self, *args: Any, **options: Any) -> Any:
        self._meet("record")
        return super().record(*args, **options)

    def _meet(self, step: str) -> None:
        (self.at / f"{step} {os.getpid()}").touch()
        until = monotonic() + 5
        while len(list(self.at.glob(f"{step} *"))) < self.steps.get(step, 0) and monotonic() < until:
            sleep(0.001)


def opener() -> None:
    """For each line, open a source file from a folder and ask; answer what was given, or why it was refused.

    A line is a mapping: folder, path, call, args, options, and for races ``meet``, the folder where to meet, and the
    number of processes that meet at each step.
    """
    for line in sys.stdin:
        asked = loads(line)
        os.chdir(asked["folder"])
        try:
            source = Source.open(asked["path"])
            if "meet" in asked:
                meeting = Meeting.open(source.make_ledger().where)
                assert isinstance(meeting, Meeting)
                meeting.at, meeting.steps = Path(asked["meet"]), asked["steps"]
                source.ledger = meeting
            made = getattr(source, asked["call"])(*asked["args"], **asked["options"])
            told = {"made": made.to_dict(), "entry": made.entry}
        except LapwingError as error:
            told = {"refused": type(error).__name__, "said": str(error)}
        except Exception as error:  # a build that is broken
            told = {"refused": f"{type(error).__name__} (not one of ours)", "said": str(error)}
        try:
            ledger = Source.open(asked["path"]).make_ledger()
            told |= {"where": os.path.realpath(ledger.where), "spent": str(ledger.spent)}
        except LapwingError as error:
            told |= {"where": None, "spent": str(error)}
        say(told)
