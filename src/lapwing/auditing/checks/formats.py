"""Formats of files: one table gives the same integers in each, an odd cell changes no other, and damage costs nothing.

The files are written by Python's library and DuckDB, which are always there; Arrow files if pyarrow is installed.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb

from ...checking import check
from ...question import query
from ...question.file import File
from ...question.query import literal
from ...question.schema import keys, number
from ..finding import Finding
from ..room import Room
from ..tools.asking import Asking, Refused

_NAMES = ("id", "x", "key", "day")
_ROWS = [
    (
        f"p{i % 20}" if i % 13 else None,
        None if i % 5 == 0 else i % 9 + 0.25,
        ("a", "é", None, "c")[i % 4],
        f"2024-02-{i % 28 + 1:02}",
    )
    for i in range(120)
]
_COLUMNS: dict[str, Any] = {"x": number(0, 8), "key": keys("a", "é", other="others"), "day": "date"}
_PART = File(part="t")

_ODD: tuple[Any, ...] = (None, "", "n/a", 5, 2.5, True, 2**53 + 1, "2024-01-01", 10**400, [1], {"a": 1}, "\1x")
_TYPED: tuple[Any, ...] = (5, 5.0, "5", 2.5, "x", True, "2024-03-01", 2**53)


def formats(room: Room) -> Iterator[Finding]:
    """Check files of every format that can be written here."""
    yield _same(room)
    for name, write in (("JSON lines", write_json), ("SQLite", write_sqlite)):
        yield _beside(room, name, write)
        yield _people(room, name, write)
    yield from _each_row(room)
    yield from _rows_left_out(room)
    yield _damaged(room)


# --- how they are written ---


def write_json(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write a file of JSON lines."""
    lines = [json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")


def write_sqlite(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write an SQLite file; what it cannot hold is missing."""
    with closing(sqlite3.connect(path)) as base, base:
        base.execute(f"CREATE TABLE t ({', '.join(names)})")
        readable = [[None if isinstance(cell, list | dict) else _small(cell) for cell in row] for row in rows]
        base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", readable)


def _small(cell: Any) -> Any:
    """Return a cell that SQLite can hold: of whole numbers those of 64 bits."""
    return str(cell) if isinstance(cell, int) and abs(cell) >= 2**63 else cell


def _csv(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([names, *(["" if cell is None else cell for cell in row] for row in rows)])
    return text.getvalue().encode()


def _files(room: Room) -> Iterator[tuple[str, Path]]:
    """Write one table in every format; yield what each is called, and its path."""
    table = {name: [row[i] for row in _ROWS] for i, name in enumerate(_NAMES)}
    whole = Path(room.parquet(table, {"id": "VARCHAR", "x": "DOUBLE", "key": "VARCHAR", "day": "DATE"}))
    yield "Parquet", whole
    folder = room.path("folder")
    folder.mkdir()
    with duckdb.connect() as connection:
        given = f"SELECT * FROM {literal(str(whole))}"
        connection.execute(f"COPY ({given}) TO {literal(str(folder))} (FORMAT parquet, PARTITION_BY (key, day))")
        database = room.path("duckdb")
        connection.execute(f"ATTACH {literal(str(database))} AS made; CREATE TABLE made.t AS {given}; DETACH made")
    yield "a folder with partitions", folder
    yield "DuckDB", database
    for ending, opens in (("csv.gz", gzip.open), ("csv.bz2", bz2.open)):
        packed = room.path(ending)
        with opens(packed, "wb") as file:
            file.write(_csv(_NAMES, _ROWS))
        yield ending, packed
    for ending, write in (("jsonl", write_json), ("sqlite", write_sqlite)):
        path = room.path(ending)
        write(path, _NAMES, _ROWS)
        yield ending, path
    if find_spec("pyarrow"):
        arrow, parquet = import_module("pyarrow.feather"), import_module("pyarrow.parquet")
        path = room.path("arrow")
        arrow.write_feather(parquet.read_table(str(whole)), str(path))
        yield "Arrow", path


def _same(room: Room) -> Finding:
    """Every format gives the integers of Parquet."""
    statistics = (query.count(), query.sum("x"), query.mean("x"))
    asking = Asking(room, _COLUMNS, statistics, "key", "day >= DATE '2024-02-05'", "id")
    found = {name: asking.integers(path) for name, path in _files(room)}
    wrong = [name for name, integers in found.items() if integers != found["Parquet"]]
    told = f"{len(wrong)} of {len(found)} formats give other integers than Parquet, 0 may"
    return Finding("one table in every format", not wrong, "; ".join([told, *wrong]))


# --- cells and people, each by itself ---

Write = Callable[[Path, Sequence[str], Sequence[Sequence[Any]]], None]


_ASKED: dict[str, tuple[Any, Callable[[str], query.Statistic]]] = {
    "number": (number(0, 10), query.sum),
    "text": ("text", lambda name: query.proportion(f"{name} IN ('5', 'x', '1')")),
    "date": ("date", lambda name: query.proportion(f"{name} > DATE '2000-01-01'")),
    "boolean": ("boolean", query.proportion),
}
"""What a column is declared as, and what is asked about it: one row moves the answer, and no row moves it further."""


def _beside(room: Room, name: str, write: Write) -> Finding:
    """An odd cell, before or after, moves no answer by more than one row does; each column has one of its own."""
    names = {f"{kind}{i}": (kind, odd) for kind in _ASKED for i, odd in enumerate(_ODD)}
    columns = {column: _ASKED[kind][0] for column, (kind, _) in names.items()}
    asking = Asking(room, columns, tuple(_ASKED[kind][1](column) for column, (kind, _) in names.items()))
    plain = [[cell] * len(names) for cell in _TYPED]
    odd = [cell for _, cell in names.values()]
    found = []
    for rows in (plain, [odd, *plain], [*plain, odd]):
        path = room.path("jsonl" if write is write_json else "sqlite")
        write(path, list(names), rows)
        found.append(asking.integers(path))
    usual, *others = found
    wrong = []
    for integers in others:
        if isinstance(integers, Refused) or isinstance(usual, Refused):
            wrong.append(f"{usual} or {integers}")
            continue
        far = zip(asking.moved(usual, integers), asking.declared, strict=True)
        wrong += ["an odd cell moves an answer further than one row does" for moved, most in far if moved > most]
    told = f"{len(wrong)} of {2 * len(names)} columns are read in another way with an odd cell added"
    return Finding(f"{name}: cells beside an odd one", not wrong, "; ".join([told, *wrong[:1]]))


def _people(room: Room, name: str, write: Write) -> Finding:
    """People whose numbers, or texts that are not UTF-8, are close to each other are not taken for one."""
    people: list[Any] = [1, "1", "1.0", 2**60, 2**60 + 1, "é", "E"]
    path = room.path("jsonl" if write is write_json else "sqlite")
    write(path, ("id",), [(who,) for who in people])
    if write is write_sqlite:
        with closing(sqlite3.connect(path)) as base, base:
            base.execute("INSERT INTO t VALUES (CAST(x'ff' AS TEXT)), (CAST(x'fe' AS TEXT))")
        people += [b"\xff", b"\xfe"]
    found = Asking(room, {}, person="id").people(path)
    passed = not isinstance(found, Refused) and found == len(people)
    return Finding(f"{name}: people in one column", passed, f"{found} people are counted, of {len(people)}")


_MARK = "\ufeff"
_WORDS = ("n", "N", "s", f"{_MARK}n", "ñ", "[", "PAR1", "", "{", '{"key": "n"}', "-")


def _each_row(room: Room) -> Iterator[Finding]:
    """The integers of a table are the sum of those of its rows, each in a file of its own, and each counts once.

    The rows are made so that one could decide how another is read, or what kind of file it is.
    """
    columns = {"key": keys("n", "s", "N", "ñ", other="others")}
    named = File(names=("key", "x"))
    ways: dict[str, tuple[str, File | None, Callable[[Path, Sequence[str]], None]]] = {
        "JSON lines": ("jsonl", None, lambda path, rows: _write_lines(path, map(_object_of, rows))),
        "odd JSON lines": ("jsonl", None, _write_lines),
        "CSV without a header": ("csv", named, lambda path, rows: _write_lines(path, [f"{row},1" for row in rows])),
        "a DuckDB file with a collation": ("duckdb", None, _write_collated),
    }
    for name, (ending, file, write) in ways.items():
        asking = Asking(room, columns, by="key", file=file)
        words = [word for word in _WORDS if ending != "csv" or '"' not in word]  # a quote in a field refuses the file
        found = []
        for rows in (*([word] for word in words), words, words[::-1]):
            path = room.path(ending)
            write(path, rows)
            found.append(asking.integers(path))
        *each, one, other = [[] if isinstance(integers, Refused) else integers for integers in found]
        right = [[sum(cells) for cells in zip(*parts, strict=True)] for parts in zip(*each, strict=False)]
        told = f"{len(words)} rows are {one} and {other} in one file, and {right} in files of their own"
        once = sum(map(sum, one)) <= len(words)
        yield Finding(f"{name}: each row by itself", one == other == right != [] and once, told)


def _object_of(word: str) -> str:
    return _MARK * (word == "s") + json.dumps({"key": word})


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")


def _write_collated(path: Path, words: Sequence[str]) -> None:
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE t (key VARCHAR COLLATE NOCASE)")
        database.executemany("INSERT INTO t VALUES (?)", [[word] for word in words])


def _rows_left_out(room: Room) -> Iterator[Finding]:
    """Where a row may be left out because of what is in it, the number of rows is private, and the owner is told."""
    for name, ending, text in (("JSON lines", "jsonl", '{"c": 1}\nx\n'), ("CSV", "csv", 'c,d\n1,"2"\n3\n')):
        path = room.path(ending)
        path.write_text(text, encoding="utf-8")
        source = room.source(path, columns={"c": number(0, 1)}, neighbors="change_one")
        scale = source.plan(query.count(), epsilon=1).forecasts[0].scale
        found, told = Asking(room, {"c": number(0, 1)}).people(path), check(source).left_out
        yield Finding(
            f"{name}: the number of rows is private",
            scale > 0 and found == 1 and told == "many",
            f"of 2 lines, one of them no row, {found} are counted, with noise of scale {scale}; left out: {told}",
        )


# --- what cannot be read ---


def _damaged(room: Room) -> Finding:
    """What is damaged, or would run what is written in the file, is refused before anything is charged."""
    asking = Asking(room, {"x": number(0, 8)}, (query.sum("x"),))
    wrong, looked = [], 0
    for name, path in list(_files(room)):
        if path.is_dir() or name == "jsonl":
            continue
        whole = path.read_bytes()
        for size in (0, 3, len(whole) // 2):
            path.write_bytes(whole[:size])
            looked += 1
            found = asking.integers(path)
            if not isinstance(found, Refused) or found.charged:
                how = found if isinstance(found, Refused) else "read"
                wrong.append(f"{name}, of which {size} bytes are left: {how}")
    large = room.path("csv.gz")
    large.write_bytes(gzip.compress(_csv(("id", "x"), [(i * 7919 % 10**6, i % 9) for i in range(3 * 10**5)]), 1)[:-99])
    found = asking.integers(large)
    if not isinstance(found, Refused) or found.charged:
        wrong.append("a large compressed file without its end")
    looked += 2
    if not _refuses_views(room):
        wrong.append("a view of an SQLite file")
    told = f"{len(wrong)} of {looked} files were read, or refused after the charge"
    return Finding("damaged files and views are refused before the charge", not wrong, "; ".join([told, *wrong[:1]]))


def _refuses_views(room: Room) -> bool:
    path = room.path("sqlite")
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE rows (x)")
        base.execute("CREATE VIEW t AS SELECT x FROM rows")
    described: dict[str, Any] = {"columns": {"x": number(0, 8)}, "file": _PART}
    source = room.source(path, **described)
    try:
        source.release(query.sum("x"), epsilon=1)
    except Exception:
        return source.left() == 1000
    return False
