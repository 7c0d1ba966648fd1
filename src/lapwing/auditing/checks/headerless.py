"""Files without a header: ``lapwing init`` takes no row for names, so it neither writes nor says a cell (T24).

The first line of every file holds canaries.  Files differ in what tells the line from a header, in the number of rows
and columns, and in how they are written.  A file with a header must be described: what refuses everything shows
nothing.  Texts that never repeat, above texts of another form, cannot be told from names, and are not tried.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from ...errors import EngineError
from ...source_file import added, describe
from ..finding import Finding
from ..room import Room
from ..tools.listening import DAY, NUMBER, PERSON, WORD, Heard, listening

_TELLING: dict[str, tuple[str, Sequence[str]]] = {
    "numbers": (f"{NUMBER}", ("3.5", "4")),
    "whole numbers": (f"{int(NUMBER)}", ("17", "0")),
    "exponents": ("8.123e9", ("2E-3", "1e10")),
    "negative numbers": (f"-{NUMBER:,.2f}", ("-1", "2")),
    "numbers in brackets": ("(8123)", ("(15)", "7")),
    "shares": ("81 %", ("20 %", "5%")),
    "amounts": ("€8,123.45", ("€2", "€3.10")),
    "dates": (f"{DAY}", ("2024-01-02", "2024-02-03")),
    "dates with the day first": (f"{DAY:%d.%m.%Y}", ("02.01.2024", "03.02.2024")),
    "dates with slashes": (f"{DAY:%d/%m/%Y}", ("2/1/2024", "3/2/2024")),
    "dates with names": ("17 May 8713", ("2 Jan 2024", "3 Feb 2024")),
    "moments": (f"{DAY}T10:11:12Z", ("2024-01-02T10:00:00Z", "2024-02-03T11:00:00Z")),
    "times": ("10:11", ("12:30", "13:45")),
    "truth values": ("true", ("false", "false")),
    "missing cells": ("NA", ("x", "y")),
    "addresses": (f"{WORD}@example.org", ("a@example.org", "b@example.org")),
    "numbers of people": ("P-0017", ("P-0018", "Q-0019")),
    "long numbers": ("123e4567-e89b-12d3-a456-426614174000", ("223e4567-e89b-12d3-a456-426614174001", "x")),
    "words that occur again": (WORD, ("b", "c", "d", "e", WORD)),
    "empty cells": ("", ("", "x")),
}
"""What tells a row from a header: the cell of the first line, and those below."""

_SIGNS = (",", ";", "\t", "|")


class _File(NamedTuple):
    """What a file is like, its text, and what its name ends in."""

    what: str
    text: str
    ending: str = "csv"


def headerless(room: Room) -> Finding:
    """Describe files without a header, anew and where a source file is there already; also some with one."""
    files, numbers, known = list(_files()), count(), 0
    with listening(room) as heard:
        for each in files:
            path = room.folder / f"rows{next(numbers)}.{each.ending}"
            path.write_bytes(each.text.encode())
            source = _empty_source(room, path)
            _ask(heard, each.what, lambda: describe(str(path), room.folder))  # noqa: B023
            _ask(heard, f"{each.what}, again", lambda: added(source, str(path)))  # noqa: B023
        for each in _with_header():
            path = room.folder / f"names{next(numbers)}.{each.ending}"
            path.write_bytes(each.text.encode())
            known += list(describe(str(path), room.folder).columns) == ["name", "second"]
    told = f"; {heard.errors} of {2 * len(files)} files were refused, and {known} of {len(_SIGNS)} with a header read"
    as_due = heard.errors == 2 * len(files) and known == len(_SIGNS)
    return heard.finding("T24: init takes no row for a header", as_due, told)


def _ask(heard: Heard, who: str, call: Callable[[], object]) -> None:
    """Record what is returned, or what a user sees of an error; its variables are the owner's, and stay there."""
    try:
        heard.add(who, repr(call()))
    except EngineError as error:
        heard.errors += 1
        heard.add(f"{who}, which failed", *traceback.format_exception(error))


def _empty_source(room: Room, table: Path) -> Path:
    """Write a source file of a table that mentions none of its columns."""
    path = room.folder / f"{table.stem}.toml"
    path.write_text(f'table = "{table.name}"\nepsilon = 1\n', encoding="utf-8")
    return path


def _files() -> Iterator[_File]:
    """Yield files; how they are written goes round, so that each kind is seen in several ways."""
    ways = count()
    for what, (first, below) in _TELLING.items():
        for rows in ([], [*below], [*below] * 4):
            for place in ("alone", "first", "last"):
                way = next(ways)
                if (place == "alone" and not first) or (rows == [] and place == "first"):
                    continue
                lines = [(WORD, first), *((f"p{'abcdefghijklmnopqrst'[i]}", cell) for i, cell in enumerate(rows))]
                if place == "alone":
                    lines = [(cell,) for _, cell in lines]  # type: ignore[misc]
                if place == "first":
                    lines = [(cell, name) for name, cell in lines]
                yield _File(f"{what}, {place}, {len(rows)} rows", _written(lines, way), ("csv", "txt")[way % 2])
    yield _File("one line of texts", f"{WORD},{PERSON}\n")
    yield _File("one text", WORD)


def _with_header() -> Iterator[_File]:
    rows = [("name", "second"), ("ann", "3.5"), ("bob", "4"), ("eve", "x")]
    yield from (_File(f"a header, {sign!r}", _written(rows, way)) for way, sign in enumerate(_SIGNS))


def _written(lines: Sequence[Sequence[str]], way: int) -> str:
    """Return lines as a file has them: with one of the separators, quotes and line ends, and a mark or none."""
    sign, quote = _SIGNS[way % len(_SIGNS)], '"' if way % 3 == 1 else ""
    quote = quote or ('"' if any(sign in cell for line in lines for cell in line) else "")
    mark, end = "\ufeff" if way % 5 == 4 else "", "\r\n" if way % 7 == 6 else "\n"
    return mark + end.join(sign.join(f"{quote}{cell}{quote}" for cell in line) for line in lines) + (end * (way % 2))
