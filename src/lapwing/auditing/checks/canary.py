"""No single person's value leaks (T24): a table contains canaries, and every output of Lapwing is searched for them.

The canaries are a number far beyond its bounds, and texts and a date that are not public keys: as values, keys, people
and in conditions.  The search covers answers, plans, errors and what they are chained to, logs, warnings, what Python
and the command line print, and every file that is left.  As a control, a public canary is searched for, and found.
"""

from __future__ import annotations

import csv
import json
import logging
import math
import struct
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import duckdb
import numpy as np

from ...checking import check
from ...engine.fit import ColumnCounts, TableCounts
from ...engine.table import Integers
from ...errors import LapwingError
from ...measure.measurement import Exact
from ...noise.entropy import EntropyForTests, Stream
from ...question import query
from ...question.join import join
from ...question.schema import keys, number
from ...question.sets import rollup
from ...release.discover import KeyTally
from ...release.pipeline import Tally
from ...release.rows_per_person import RowsTally
from ...source import Source
from ..finding import Finding, parts
from ..room import Room, Table
from ..tools import others
from ..tools.listening import DAY, NOTE, NUMBER, ODD, PERSON, WORD, Heard, listening, sightings
from .bare import bare
from .formats import write_json, write_sqlite
from .headerless import headerless

MOST = 1e-12
"""The δ with which a key of one person may be found by the command line, whose noise is not frozen."""


def canary(room: Room) -> Iterator[Finding]:
    """Search for canaries in every output about a table that contains them."""
    yield from parts(
        room,
        control=lambda: _control(_inner(room, "control")),
        python=lambda: _python(room),
        commands=lambda: _by_commands(room),
        clamped=lambda: _clamped(_inner(room, "clamped")),
        coarse=lambda: _coarse(_inner(room, "coarse")),
        init=lambda: headerless(_inner(room, "init")),
        bare=lambda: bare(_inner(room, "bare")),
    )


def _python(room: Room) -> Iterator[Finding]:
    private, tables = _inner(room, "private"), _tables(_inner(room, "tables"))
    yield _refusals(private, tables)
    yield _failures(private, tables)
    yield _tallies(private, tables)
    yield _answers(private, tables)
    yield _files("asking", private, {".ledger"})


def _by_commands(room: Room) -> Iterator[Finding]:
    private, tables = _inner(room, "commands"), _tables(_inner(room, "for commands"))
    yield _commands(private, tables)
    handed = {"", ".csv", ".json", ".parquet", ".txt", ".xlsx", ".yaml"}  # "" is the folder
    yield _files("commands", private, {".ledger", ".html", ".toml", *handed})


# --- the tables ---

_TYPES = {"person": "VARCHAR", "x": "DOUBLE", "y": "BIGINT", "key": "VARCHAR", "day": "DATE", "note": "VARCHAR"}
_COLUMNS: dict[str, Any] = {
    "person": "text", "x": number(0, 1), "y": number(0, 10**9, integer=True), "key": keys(["a", "b"]), "day": "date",
}  # fmt: skip
_SOURCE = """
name = "t"
table = {table}
person = "person"
rows_per_person = 2
epsilon = 1000
delta = 0.001
ledger = "command.ledger"
[columns]
person = {{type = "text"}}
x = {{low = 0, high = 1}}
key = {{keys = ["a", "b"]}}
day = {{type = "date"}}
"""


_JOINED = ("x", "y", "key", "day")


class _Joined(NamedTuple):
    """A table of people alone, and a table that is joined to it, with their cells."""

    people: str
    table: Any


@dataclass(frozen=True)
class _Tables:
    """The same people in some forms of a table, in a workspace only for tables."""

    room: Room
    forms: dict[str, Any]
    parquet: Path
    csv: Path
    people: str

    def source(self, room: Room, form: str, **more: Any) -> Source:
        described = {"columns": _COLUMNS, "person": "person", "rows_per_person": 2, "delta": "0.001", **more}
        given = self.forms[form]
        if isinstance(given, _Joined):
            return room.source(given.people, joins=[join(given.table, person="person", columns=_JOINED)], **described)
        return room.source(given, **described)


def _tables(room: Room) -> _Tables:
    table: Table = {
        "person": [f"p{i}" for i in range(60)] + [PERSON] * 3,
        "x": [0.5] * 60 + [NUMBER, -NUMBER, NUMBER],
        "y": [10**9] * 8 + [int(NUMBER) % 10**9] + [0] * 54,  # whose sum is the canary
        "key": ["a", "b"] * 30 + [WORD] * 3,
        "day": ["2024-01-02"] * 60 + [str(DAY)] * 3,
        "note": [NOTE] * 63,
    }
    parquet = room.parquet(table, _TYPES)
    texts = room.parquet({**table, "x": ["0.5"] * 60 + [ODD] * 3}, {**_TYPES, "x": "VARCHAR"})
    lines = room.path("csv")
    with lines.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        writer.writerows([[PERSON, ODD, ODD, ODD, ODD, NOTE], [PERSON, *[ODD] * 9], [PERSON]])
    relation = duckdb.connect().sql(f"SELECT * FROM {query.literal(str(parquet))}")
    forms: dict[str, Any] = {"Parquet": parquet, "CSV": str(lines), "relation": relation, "text for numbers": texts}
    forms |= {"JSON lines": room.path("jsonl"), "SQLite": room.path("sqlite")}
    rows = [*zip(*table.values(), strict=True), [PERSON, *[ODD] * 5]]
    write_json(forms["JSON lines"], list(table), rows)
    write_sqlite(forms["SQLite"], list(table), rows)
    people = room.parquet({"person": [*dict.fromkeys(table["person"])]}, {"person": "VARCHAR"})
    forms |= {f"{form}, joined": _Joined(people, forms[form]) for form in ("Parquet", "CSV", "relation")}
    return _Tables(room, forms, Path(parquet), lines, people)


def _inner(room: Room, name: str) -> Room:
    folder = room.folder / name
    folder.mkdir()
    return Room(folder, room.deep)


# --- the questions ---


def _control(room: Room) -> Finding:
    """The public canary is found in answers, plan, log, warning, print, chained error, ledger and command line."""
    table: Table = {"key": [WORD, "a"] * 20}
    path = room.parquet(table, {"key": "VARCHAR"})
    columns = {"key": keys([WORD, "a"])}
    source = room.source(path, columns=columns)
    with listening(room) as heard:
        heard.ask("a plan", lambda: source.plan(query.count(), by="key", epsilon=1))
        heard.ask("a release", lambda: source.release(query.count(), by="key", epsilon=1))
        heard.ask("an error", lambda: _quote(WORD))
        logging.getLogger("lapwing.engine").debug("%s", WORD)
        warnings.warn(WORD, stacklevel=1)
        print(WORD)  # noqa: T201
    toml = room.folder / "t.toml"
    toml.write_text(
        f'table = {json.dumps(str(path))}\nepsilon = 1\n[columns.key]\nkeys = ["{WORD}", "a"]\n', encoding="utf-8"
    )
    _, printed = others.commands(
        [["release", str(toml), "SELECT key, COUNT(*) FROM t GROUP BY key", "--epsilon", "1"]], room.folder
    )
    heard.add("the command line", printed)
    heard.add("the ledger", *(file.read_bytes() for file in room.folder.glob("*.ledger")))
    spelled: tuple[str | bytes, ...] = (
        f"{NUMBER!r}",
        f"{NUMBER:,.2f}",
        f"{NUMBER:g}",
        f"{NUMBER:e}",
        f"{DAY!r}",
        struct.pack("<d", NUMBER),
    )
    spelled += (WORD.upper(), WORD.encode("utf-16"), WORD.encode().hex())
    heard.add("spellings", *spelled)
    found = {who for who, said in heard.said if sightings(said)}
    missed = _EARS - found | {str(each) for each in spelled if not sightings(each)}
    return Finding(
        "T24: the search finds a canary that is public",
        not missed,
        f"Of {len(_EARS)} kinds of texts and {len(spelled)} spellings it missed {len(missed)}, 0 is allowed"
        f"{': ' + ', '.join(sorted(missed)) if missed else ''}.",
    )


_EARS = {
    "a plan", "a release", "an error, which failed", "the log lapwing.engine", "warnings", "what was printed",
    "the command line", "the ledger", "spellings",
}  # fmt: skip


def _quote(word: str) -> None:
    try:
        raise ValueError(word)
    except ValueError:
        raise LapwingError from None


def _answers(room: Room, tables: _Tables) -> Finding:
    with listening(room) as heard:
        for form in tables.forms:
            source = tables.source(room, form)
            asked = _questions(source)
            for who in asked if room.deep or form == "Parquet" else ("a release", "a condition", "keys", "a check"):
                heard.ask(f"{who} of {form}", asked[who])
            heard.add(form, repr(source), str(source), repr(source.schema), repr(source.ledger))
    told = f"; {heard.errors} questions failed, 0 may"
    return heard.finding("T24: answers, plans, logs and warnings reveal no single person", heard.errors == 0, told)


_CUT = (
    "WITH u AS (SELECT key AS k, x FROM t AS v WHERE v.x > 1) -- a comment\n"
    "SELECT k, COUNT(*) AS n FROM u GROUP BY 1 HAVING n > 0 ORDER BY n DESC LIMIT 3"
)


def _questions(source: Source) -> dict[str, Callable[[], Any]]:
    """Return the questions; noise is frozen, so that no key of one person is found by chance."""
    noise: dict[str, Any] = {"entropy": EntropyForTests(20)}
    means, ends = (query.count(), query.sum("x"), query.mean("x")), (query.min("x"), query.median("x"), query.max("x"))
    rare: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
    return {
        "a plan": lambda: source.plan(*means, by="key", epsilon=1),
        "a release": lambda: source.release(*means, by="key", epsilon=1, **noise),
        "a release at ε = 200": lambda: source.release(*means, by="key", epsilon=200, **noise),
        "the ends at ε = 200": lambda: source.release(*ends, epsilon=200, **noise),
        "a SELECT": lambda: source.sql("SELECT AVG(x) FROM t WHERE key <> 'a' OR x > 1", epsilon=1, **noise),
        "a SELECT as people write it": lambda: source.sql(_CUT, epsilon=1, **noise),
        "several tables": lambda: source.release(*means, by=rollup("key"), epsilon=200, **noise),
        "a table of several": lambda: source.release(*means[:2], by="key", epsilon="0.5", **noise),
        "a condition": lambda: source.release(query.count(), where="day >= '2020-01-01'", epsilon=1, **noise),
        "a plan of keys": lambda: source.plan_keys("key", **rare),
        "keys": lambda: source.discover("key", **rare, **noise),
        "days": lambda: source.discover("day", **rare, **noise),
        "people": lambda: source.discover("person", **rare, **noise),
        "bounds": lambda: source.bounds("x", epsilon=1, **noise),
        "rows per person": lambda: source.rows_per_person(epsilon=1, **noise),
        "a check": lambda: check(source),
    }


class _Mask(list[Any]):
    """Cells instead of a condition, such as a mask; its repr, which tools show with a caller's frame, hides them."""

    def __repr__(self) -> str:
        return "a mask"

    def __str__(self) -> str:
        return f"0    {WORD}\n1    {NUMBER}\nName: x, dtype: object"


class Expression:
    """What an expression of pandas that compares a column with a mask looks like from outside."""

    __module__ = "pandas.api.typing"

    def __str__(self) -> str:
        return f"col('x') > {_Mask()!s}"


def _refusals(room: Room, tables: _Tables) -> Finding:
    with listening(room) as heard:
        for form in tables.forms:
            source = tables.source(room, form, epsilon=1)
            asked: dict[str, Callable[[Source], Any]] = {
                "an unknown column": lambda t: t.release(query.sum("note"), epsilon=1),
                "an unknown key column": lambda t: t.release(query.count(), by="note", epsilon=1),
                "an unsupported SELECT": lambda t: t.sql("SELECT person, x FROM t", epsilon=1),
                "a subquery that mixes rows": lambda t: t.sql(
                    "SELECT COUNT(*) FROM (SELECT DISTINCT x FROM t)", epsilon=1
                ),
                "HAVING of an unknown name": lambda t: t.sql("SELECT COUNT(*) FROM t HAVING note > 1", epsilon=1),
                "a mean of texts": lambda t: t.release(query.mean("key"), epsilon=1),
                "too much ε": lambda t: t.release(query.mean("x"), epsilon=2),
                "too much δ": lambda t: t.discover("key", epsilon=1, delta="0.01"),
                "a bad ε": lambda t: t.release(query.mean("x"), epsilon="abc"),
                "bounds of texts": lambda t: t.bounds("key", epsilon=1),
                "rows per person of an unknown column": lambda t: t.rows_per_person(epsilon=1, where="note = 1"),
                "a mask": lambda t: t.release(query.count(), where=_Mask([NUMBER, WORD]), epsilon=1),  # type: ignore[arg-type]
                "an expression": lambda t: t.release(query.count(), where=Expression(), epsilon=1),  # type: ignore[arg-type]
            }
            for who, call in asked.items():
                heard.ask(f"{who} of {form}", partial(call, source))
    due = len(asked) * len(tables.forms)
    told = f"; {heard.errors} of {due} questions were refused"
    return heard.finding("T24: refusals reveal no single person", heard.errors == due, told)


_BINARY = ("xlsx", "duckdb", "arrow", "dta", "sav", "sas7bdat")


def _failures(room: Room, tables: _Tables) -> Finding:
    """Engines that fail while reading, with messages that quote the cell."""
    raw, lines = tables.parquet.read_bytes(), tables.csv.read_text(encoding="utf-8").splitlines()
    end = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    broken: dict[str, Any] = {
        **{
            f"no file of the kind {ending}": _written(tables.room, ending, f"PK\x03\x04{WORD}".encode() * 99)
            for ending in _BINARY
        },
        "a file cut short": _written(tables.room, "parquet", raw[: len(raw) // 2]),
        "a file with zeros for rows": _written(tables.room, "parquet", raw[:4] + bytes(end - 4) + raw[end:]),
        "a file that is no Parquet": _written(tables.room, "parquet", f"PAR1{WORD}PAR1".encode() * 50),
        "a CSV without names": _written(tables.room, "csv", "\n".join(lines[-5:]).encode()),
        "a CSV with a number for a name": _written(tables.room, "csv", f"{NUMBER},{WORD}\n".encode()),
        "a CSV with a quote that nobody closes": _written(
            tables.room, "csv", "\n".join([*lines, f'q,0.5,0,"{WORD},2024-01-02,{NOTE}']).encode()
        ),
        "a compressed CSV that is none": _written(tables.room, "csv.gz", "\n".join(lines).encode()),
        "SQLite cut short": _written(tables.room, "sqlite", Path(tables.forms["SQLite"]).read_bytes()[:-999]),
    }
    failing = {
        "a text that is no number": "CAST(note AS INTEGER)",
        "a number that is too large": "CAST(CAST(x AS VARCHAR) AS TINYINT)",
        "an error of its own": "CASE WHEN x > 1 THEN error(key) ELSE 1 END",
    }
    with listening(room) as heard, duckdb.connect() as connection:
        for who, cell in failing.items():
            broken[who] = connection.sql(f"SELECT * REPLACE ({cell} AS x) FROM {query.literal(str(tables.parquet))}")
            broken[f"{who}, joined"] = _Joined(tables.people, broken[who])
        for who, table in broken.items():
            source = replace(tables, forms={who: table}).source(room, who)
            heard.ask(who, lambda: source.release(query.mean("x"), by="key", epsilon=1))  # noqa: B023
            heard.ask(f"keys of {who}", lambda: source.discover("x", epsilon=1, delta="1e-6"))  # noqa: B023
            if who.removesuffix(", joined") in failing:
                heard.ask(f"a check of {who}", lambda: check(source))  # noqa: B023
    due = 2 * len(broken) + 2 * len(failing)
    told = f"; {heard.errors} of {due} questions failed, as they had to"
    return heard.finding("T24: failures of the engine reveal no single person", heard.errors == due, told)


def _written(room: Room, ending: str, raw: bytes) -> str:
    path = room.path(ending)
    path.write_bytes(raw)
    return str(path)


class _Silence:
    """Entropy that fails: the exact integers are counted, and then there is no noise."""

    private = False

    def bits(self, count: int) -> int:
        raise OSError

    def stream(self) -> Stream:
        raise OSError


def _tallies(room: Room, tables: _Tables) -> Finding:
    """Exact integers are not shown: not by a failure between counting and noise, and not by what holds them."""
    asked: dict[str, Callable[[Source], Any]] = {
        "a sum": lambda t: t.release(query.sum("y"), epsilon=1, entropy=_Silence()),
        "several sums": lambda t: t.release(query.sum("y"), by=rollup("key"), epsilon=1, entropy=_Silence()),
        "a median": lambda t: t.release(query.median("y"), epsilon=1, entropy=_Silence()),
        "keys": lambda t: t.discover("key", epsilon=1, delta="1e-6", entropy=_Silence()),
        "rows per person": lambda t: many.rows_per_person(epsilon=1, entropy=_Silence()),
    }
    many = tables.source(room, "Parquet")
    source = tables.source(room, "Parquet", person=None, rows_per_person=None)  # people would have weights
    with listening(room) as heard:
        for who, call in asked.items():
            heard.ask(who, partial(call, source))
    exactly = [np.array([int(NUMBER)])]
    one, two, three, four = [int(NUMBER)] * 4
    counted = TableCounts(one, two, three, four, {"x": ColumnCounts(*[int(NUMBER)] * 6)})
    tallies = Tally(Integers(exactly, [])), KeyTally([(WORD, 1)]), RowsTally({0: int(NUMBER)}), Exact(exactly)
    for tally in (*tallies, counted, counted.columns["x"]):
        heard.add(type(tally).__name__, repr(tally), str(tally))
    told = f"; {heard.errors} of {len(asked)} questions failed, as they had to"
    return heard.finding("T24: exact numbers are not shown in errors", heard.errors == len(asked), told)


_ROLLUP = "SELECT key, COUNT(*), SUM(x) FROM t GROUP BY ROLLUP (key)"
_SELECT = "SELECT key, COUNT(*), AVG(x) FROM t WHERE day >= '2020-01-01' GROUP BY key"


def _commands(room: Room, tables: _Tables) -> Finding:
    broken = Path(_written(tables.room, "parquet", tables.parquet.read_bytes()[:-9]))
    for name, table in (("t", tables.csv), ("broken", broken)):
        (room.folder / f"{name}.toml").write_text(_SOURCE.format(table=json.dumps(str(table))), encoding="utf-8")
    asked = [_SELECT, "--epsilon", "1"]
    rare = ["--epsilon", "1", "--delta", str(MOST)]
    lines = {
        ("release", "t.toml", *asked): 0,
        ("release", "t.toml", *asked, "--format", "json"): 0,
        ("release", "t.toml", *asked, "--output", "out.html"): 0,
        ("release", "t.toml", "SELECT SUM(x) FROM t", "--epsilon", "200"): 0,
        ("plan", "t.toml", *asked, "--format", "json"): 0,
        ("release", "t.toml", _ROLLUP, "--epsilon", "200"): 0,
        ("explain", "t.toml", "2"): 0,
        ("package", "t.toml", "2", "--to", "handed"): 0,
        ("discover", "t.toml", "key", *rare, "--format", "json"): 0,
        ("bounds", "t.toml", "--rows-per-person", "--epsilon", "200"): 0,
        ("check", "t.toml"): 0,
        ("check", "t.toml", "--format", "json"): 0,
        ("check", "broken.toml"): 1,
        ("ledger", "t.toml"): 0,
        ("ledger", "command.ledger", "show", "--format", "json"): 0,
        ("init", str(tables.csv), "--output", "made.toml"): 0,
        ("init", str(tables.csv), "--output", "made.toml", "--format", "json"): 0,
        ("init", str(tables.csv), "--output", "rows.toml", "--no-header"): 0,
        ("init", str(tables.csv), "--output", "marks.toml", "--decimal", ",", "--thousands", ".", "--quote", ""): 0,
        ("init", str(tables.csv), "--output", "some.toml", "--columns", "no such column"): 2,
        ("release", "t.toml", "SELECT note FROM t", "--epsilon", "1"): 2,
        ("release", "broken.toml", "SELECT SUM(x) FROM t", "--epsilon", "3", "--format", "json"): 1,
        ("init", str(broken), "--output", "made.toml", "--force"): 1,
    }
    statuses, printed = others.commands(list(lines), room.folder)
    heard = Heard()
    heard.add("what the commands printed", printed)
    right = sum(status == due for status, due in zip(statuses, lines.values(), strict=True))
    told = f"; {right} of {len(lines)} commands ended as they had to"
    return heard.finding("T24: the command line reveals no single person", right == len(lines), told, MOST)


def _files(what: str, room: Room, due: set[str]) -> Finding:
    """All files that are left, including ledgers and temporary files."""
    heard = Heard()
    for file in sorted(room.folder.rglob("*")):
        heard.add(file.name, str(file.relative_to(room.folder)), file.read_bytes() if file.is_file() else b"")
        if file.suffix == ".xlsx":
            with ZipFile(file) as sheets:
                heard.add(file.name, *(sheets.read(name) for name in sheets.namelist()))
    kinds = {Path(name).suffix for name, _ in heard.said}
    told = f"; files of the kinds {', '.join(sorted(kinds))}"
    return heard.finding(f"T24: the files that {what} leaves reveal no single person", kinds == due, told)


def _clamped(room: Room) -> Finding:
    """One value of 10^12, and one of -2·10^12, in a column from 0 to 1: at ε = 1000 they count as 1 and 0 (T14)."""
    rows = [0.5] * 100 + [1e12, -2e12]
    path = room.parquet({"x": rows}, {"x": "DOUBLE"})
    lines = _written(room, "csv", "\n".join(["x", *map(str, rows)]).encode())
    asked = {query.sum("x"): 51, query.mean("x"): 0.5, query.max("x"): 0.5}
    worst = 0.0
    with duckdb.connect() as connection:
        for table in (path, lines, connection.sql(f"SELECT * FROM {query.literal(str(path))}")):
            source = room.source(table, columns={"x": number(0, 1)})
            (row,) = source.release(*asked, epsilon=1000, entropy=EntropyForTests(14)).rows
            for answer, due in zip(row.values(), asked.values(), strict=True):
                off = abs(answer["value"] - due)
                worst = math.inf if math.isnan(off) else max(worst, off)
    return Finding(
        "T14: values beyond the bounds count as the bounds",
        worst <= 0.5,  # the largest may be any value from 0.5 on: one row more or less above it is what ε hides
        f"With values of 10^12 in a column from 0 to 1, answers at ε = 1000 are off by {worst:g} at most, 0.5 is "
        "allowed.",
    )


def _coarse(room: Room) -> Finding:
    """Tables with other numbers of odd cells, but the same words for them, get the same check; no ledger is made."""
    said, files = set(), []
    columns: dict[str, Any] = {"x": number(0, 1), "key": keys(["a", "b"]), "day": "date"}
    for odd in (150, 400, 777):
        table: Table = {
            "person": [None] * odd + [f"p{min(i, 900 - odd)}" for i in range(1000 - odd)],
            "x": ["2"] * odd + [WORD] * 120 + ["0.5"] * (880 - odd),
            "key": [WORD] * odd + ["a"] * (1000 - odd),
            "day": [WORD] * odd + ["2024-01-02"] * (1000 - odd),
        }
        path = room.parquet(table, dict.fromkeys(table, "VARCHAR"))
        ledger = room.path("ledger")
        asked = Source(path, name="t", columns=columns, person="person", rows_per_person=1, epsilon=1, ledger=ledger)
        found = check(asked)
        said.add((str(found), json.dumps(found.to_dict()), repr(found)))
        files += [ledger.name] if ledger.exists() else []
    return Finding(
        "T24: a check says no more than its words, and makes no ledger",
        len(said) == 1 and not files,
        f"Of three tables whose words are the same it says {len(said)} things, 1 is right; {len(files)} ledgers were "
        "made, 0 are right.",
    )
