"""Text files as a source describes them: one table in every form has the same integers, and no cell changes another's.

Files are written by Python's csv module in every encoding, with several separators and quotes, with and without a
header.  Numbers, dates and people are spelled in ways that are meant and in ways that are not.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import product
from typing import Any

from ...question import schema
from ...question.file import ENCODINGS, File, file
from ..finding import Finding, first_of
from ..room import Room
from ..tools.asking import Asking, Refused

_CELLS = ("a", "é", "ÿ", "x;y", "x,y", "two\nlines", 'a "b"', "it's", "", "-", "x\ry", "|", "¥")
_CODECS = {"windows-1252": "cp1252", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be"}
_SIGNS = ((",", '"'), (";", '"'), ("\t", "'"), ("|", "~"))
_OTHER = "others"
_TIMES = 3


def written(room: Room) -> Iterator[Finding]:
    """Yield how many cells are not read as they were written, for every encoding, and for every kind of cell."""
    for encoding in ENCODINGS:
        yield _in_encoding(room, encoding)
    yield _without_quotes(room)
    yield from _spelled(room)
    yield _nobody(room)
    yield _damaged(room)


def _in_encoding(room: Room, encoding: str) -> Finding:
    wrong, number = [], 0
    for (i, (separator, quote)), header in product(enumerate(_SIGNS), (True, False)):
        end = "\n" if (i + header) % 2 else "\r\n"
        text = io.StringIO(newline="")
        how = csv.writer(text, delimiter=separator, quotechar=quote, lineterminator=end)
        rows = [(cell, str(i)) for i, cell in enumerate(_CELLS * _TIMES)]
        how.writerows([*([("c", "ï")] if header else []), *rows])
        given: dict[str, Any] = {} if header else {"header": False, "names": ["c", "ï"]}
        told = file(delimiter=separator, quote=quote, encoding=encoding, **given)
        path = room.path("csv")
        path.write_bytes(text.getvalue().encode(_CODECS.get(encoding, encoding)))
        number += 1
        if not _is_right(room, str(path), told):
            wrong.append(f"separator {separator!r}, quote {quote!r}, header {header}, line end {end!r}")
    return Finding(
        f"CSV in {encoding}",
        not wrong,
        f"{len(wrong)} of {number} files have other cells than were written{first_of(wrong)}",
    )


def _is_right(room: Room, path: str, told: File, cells: Sequence[str] = _CELLS, times: int = _TIMES) -> bool:
    """Return whether every cell of the column c is counted as often as it was written, and empty ones as others."""
    keys = [cell for cell in cells if cell]
    found = Asking(room, {"c": schema.keys(keys, other=_OTHER)}, by="c", file=told).integers(path)
    due = [*[times] * len(keys), times * sum(not cell for cell in cells)]
    return not isinstance(found, Refused) and found[0] == due


def _without_quotes(room: Room) -> Finding:
    cells = ('"', '"a', 'b"c', "'", "é")
    path = room.path("txt")
    path.write_text("c;d\n" + "".join(f"{cell};1\n" for cell in cells), encoding="utf-8")
    passed = _is_right(room, str(path), file(delimiter=";", quote=""), cells, 1)
    return Finding(
        "CSV without quotes", passed, f"{len(cells)} cells with quotes in them are read as they are: {passed}"
    )


_NUMBERS: tuple[tuple[File, dict[str, int | None]], ...] = (
    (file(decimal=","), {"2,0": 2, "3": 3, "4.0": None, "1.005,0": None, "1_006": None, "7,5": None}),
    (file(decimal=",", thousands="."), {"1.002": 1002, "1.003,0": 1003, "4.5": None, "0.005": None, "1.06": None}),
    (file(thousands=","), {"1,002": 1002, "3.0": 3, "1,04": None, "0,005": None, "1.006,000": None}),
    (file(missing=["9", "NA"]), {"2": 2, "9": None, "9.0": 9, "NA": None}),
)
_DATES: tuple[tuple[File, dict[str, date | None]], ...] = (
    (file(dates="%d.%m.%Y"), {"03.04.2020": date(2020, 4, 3), "2020-04-05": None, "06.04.2020x": None}),
    (file(dates="%m/%d/%Y"), {"03/04/2020": date(2020, 3, 4), "13/05/2020": None, "2/30/2020": None}),
)
"""Descriptions, and what texts spell with them; None for nothing."""


def _spelled(room: Room) -> Iterator[Finding]:
    for kind, cases in (("number", _NUMBERS), ("date", _DATES)):
        for told, spelled in cases:
            path = room.path("csv")
            path.write_text("c\n" + "".join(f'"{text}"\n' for text in spelled), encoding="utf-8")
            keys: list[Any] = sorted({value for value in spelled.values() if value is not None})
            unspelled = sum(value is None for value in spelled.values())
            due = [*[1] * len(keys), unspelled]
            found = Asking(room, {"c": schema.keys(keys, other=_OTHER)}, by="c", file=told).integers(str(path))
            passed = not isinstance(found, Refused) and found[0] == due
            missing = Asking(room, {"c": kind}, where="c IS NULL", file=told).integers(str(path))
            fractions = sum(text == "7,5" for text in spelled)
            passed = passed and missing == [[unspelled - fractions]]
            yield Finding(
                f"CSV: a {kind} with {', '.join(f'{key} = {each!r}' for key, each in told.describe().items())}",
                passed,
                f"of {len(spelled)} texts, {len(keys)} are {kind}s and {unspelled} others: {passed}",
            )


def _nobody(room: Room) -> Finding:
    """A person with a text for missing is nobody, and not one person with many rows."""
    path = room.path("csv")
    path.write_text("id\na\nb\n" + "NA\n" * 50, encoding="utf-8")
    found = Asking(room, {}, person="id", file=file(missing=["NA"])).people(str(path))
    return Finding("CSV: people who are missing", found == 2, f"{found} people are counted, of 2")


def _damaged(room: Room) -> Finding:
    """UTF-16 with half a character at its end, or without its mark, is refused before the charge."""
    files = (("utf-16", b"c\0\n\0"), ("utf-16le", b"c\0\n\x001\0\n\0x"), ("utf-16be", b"\0c\0\n\x001\0"))
    found = []
    for encoding, data in files:
        path = room.path("csv")
        path.write_bytes(data)
        found.append(Asking(room, {"c": "text"}, file=file(encoding=encoding)).integers(str(path)))
    refused = [isinstance(each, Refused) and not each.charged for each in found]
    told = f"{sum(refused)} of {len(files)} files are refused before the charge"
    return Finding("CSV in UTF-16 that is damaged", all(refused), told)
