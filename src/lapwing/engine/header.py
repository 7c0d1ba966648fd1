"""How a CSV file is written, and its first line: the names of its columns, or why it cannot be one.

If the file has no header, the line is a row: so messages about it depend only on its shape.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any, NamedTuple

import numpy as np

from ..question.file import File
from .compressed import uncompressed
from .table import Problem

LONGEST = 2_000_000
"""Bytes of a record, without its line end; a longer one is left out."""

_LF = ord("\n")
_BOM = b"\xef\xbb\xbf"
_NUMBER = re.compile(r"\s*[-+]?[\d.,:/-]+\s*")
"""Names that look like numbers or dates: if the file had no header, they would be cells of its first row."""

_EXCEL = re.compile(r'"?sep=.?"?', re.IGNORECASE)
_WRITTEN = "Write it with a line of column names first, as UTF-8."
_SEPARATORS = {";": "a semicolon", "\t": "a tab", "|": "a vertical bar", ",": "a comma"}
"""Separators that other programs use in CSV files."""


@dataclass(frozen=True)
class TextForm:
    """How lines of text are written: what the source says, and by default the ending of the name."""

    separator: str = ","
    quote: str = '"'
    """Empty if no character has this meaning."""

    encoding: str = "utf-8"
    names: tuple[str, ...] | None = None
    """The names of the columns of a file without a header."""


def text_form(path: str, file: File) -> TextForm:
    """Return how the files of a path are written."""
    return TextForm(
        file.delimiter or ("\t" if uncompressed(path).endswith((".tsv", ".tab")) else ","),
        '"' if file.quote is None else file.quote,
        file.encoding or "utf-8",
        file.names,
    )


class Start(NamedTuple):
    """What was read of a file: the header with its line end, empty if there is none, and what follows it."""

    header: bytes
    rest: bytes


def first_record(stream: io.BufferedIOBase, file: str, form: TextForm) -> Start:
    """Return the header of a file and the rest of what was read."""
    text = stream.read(2**16)
    if form.names is not None:  # and then no row begins with a byte order mark
        _check_format(text, file, form)
        return Start(b"", text)
    text = text.removeprefix(_BOM)
    _check_format(text, file, form)
    quote = ord(form.quote) if form.quote else -1
    while True:
        data = np.frombuffer(text, np.uint8)
        outside = np.cumsum(data == quote, dtype=np.uint8) % 2 == 0
        ends = np.flatnonzero((data == _LF) & outside)
        block = b"" if ends.size else stream.read(2**16)
        if not block:
            end = int(ends[0]) + 1 if ends.size else len(text)
            return Start(text[:end], text[end:])
        text += block
        if len(text) > LONGEST:
            raise _refused(file, "has no line end in its first 2 MB", _WRITTEN)


def _check_format(start: bytes, file: str, form: TextForm) -> None:
    """Refuse a file whose first bytes show that it is not text in UTF-8.

    Without a header they are a cell: then it is refused only for bytes with which no text in UTF-8 begins.
    """
    if not start and form.names is None:
        raise _refused(file, "is empty", _WRITTEN)
    for signature, (what, advice) in _FORMATS.items():
        if start.startswith(signature) and (form.names is None or not signature.isascii()):
            raise _refused(file, what, advice)


_UTF16 = ("is in UTF-16", 'Say encoding = "utf-16" in [file].')
_FORMATS = {
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"\x1f\x8b": ("is compressed", "Let its name end in .csv.gz or .tsv.gz."),
    b"BZh": ("is compressed", "Let its name end in .csv.bz2 or .tsv.bz2."),
    b"\x28\xb5\x2f\xfd": ("is compressed", "Let its name end in .csv.zst or .tsv.zst."),
    b"PK\x03\x04": ("is a ZIP archive or an Excel workbook, not a CSV file", "Unpack it, or save it as CSV in UTF-8."),
    b"PAR1\x15": ("is a Parquet file", "Let its name end in .parquet."),
}
"""The kinds of files by their first bytes, and what to do about each."""


def check_line(header: bytes, file: str, quote: str) -> None:
    """Refuse a header with NULs, or with a stray carriage return: the line end of some other kind of file."""
    line = _line(header)
    if b"\0" in line:
        raise _refused(
            file, "has NUL characters in its first line, as UTF-16 has", 'Say encoding = "utf-16le" or "utf-16be".'
        )
    if b"\r" in (b"".join(line.split(quote.encode())[::2]) if quote else line):
        what = "in its first line" if header.endswith(b"\n") else "instead of line feeds"
        raise _refused(file, f"has carriage returns {what}", "Write it with line feeds at the ends of lines.")


def reader(lines: Iterable[str], form: TextForm) -> Any:
    """Return a reader of the records in lines."""
    if not form.quote:
        return csv.reader(lines, delimiter=form.separator, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=form.separator, quotechar=form.quote)


def names_in(header: bytes, form: TextForm, file: str) -> list[str]:
    """Return the names in a header whose quotes pair up; a column without one, such as R's row index, gets one."""
    text = _line(header).decode("utf-8", "replace")
    try:
        columns: list[str] = next(reader([text], form), [])
    except csv.Error:
        raise _refused(file, "has a column name of more than 131,072 characters", _WRITTEN) from None
    if _EXCEL.fullmatch(text):
        raise _refused(file, 'begins with a line "sep=" of Excel', "Delete this line.")
    if not any(columns):
        what = "has a first line that is blank" if len(columns) < 2 else "has no names in its first line"
        raise _refused(file, what, _WRITTEN)
    _check_names(columns, file)
    return [name or f"column{number}" for number, name in enumerate(columns, 1)]


def _line(header: bytes) -> bytes:
    return header.removesuffix(b"\n").removesuffix(b"\r")


def _check_names(columns: Sequence[str], file: str) -> None:
    """Refuse a first line that may be a row; for that reason the message says nothing else about it."""
    if any(_NUMBER.fullmatch(name) for name in columns):
        raise _refused(
            file,
            "has a column name that is a number or a date, as if its first line were a row",
            "If it has no column names, say header = false and names = [...] in [file] (`lapwing init --no-header` "
            "writes both). If a column is called 2019, rename it, for example to y2019.",
        )


def row_rather_than_names(first: Sequence[str], rows: Iterable[Sequence[str]]) -> str | None:
    """Return why a first line is probably a row and not a header, None if it may be one; no cell is part of it.

    For ``lapwing init``, which writes names to a file: there a file with a strange header is rather refused.
    """
    if any(is_value(cell) for cell in first):
        return "one of its cells is a value or a code, not a name"
    shapes = [shape(cell) for cell in first]
    alike, number = [0] * len(first), 0
    for number, row in enumerate(filter(None, rows), 1):
        if any(map(eq, first, row)):
            return "one of its cells occurs again below"
        for at, cell in enumerate(row[: len(first)]) if number <= _ALIKE else ():
            alike[at] += shape(cell) == shapes[at]
    if not number:
        return "there is no line below it"
    most = [2 * count > min(number, _ALIKE) and "9" in each for count, each in zip(alike, shapes, strict=True)]
    return "its cells are of the same form as those below" if any(most) else None


_ALIKE = 1000
"""The rows whose forms are compared with that of the first line."""

_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_VALUE = re.compile(
    rf"""\s*(
        [-+(<>~]*\s*[€$£¥]?\s*[-+]?\d[\d\s.,:/'’_-]*(e[-+]?\d+)?\s*[%€$£¥°]?\)?  # such as 1.5e10, 15 %, (15), €15
        | \d{{4}}-\d\d-\d\d[T\ ]\d\d:.* | \d{{1,2}}[-.\s]*{_MONTH}[-.,\s]*\d{{2,4}} | {_MONTH}\s\d{{1,2}},?\s\d{{4}}
        | true | false | (?-i: NA | N/A | n/a | \#N/A | <NA> | NULL | null | NaN | nan | \\N )
        | \S+@\S+\.\S+ | https?://.* | [0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}} | (?=.*\d)[0-9a-f]{{16,}}
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)
"""Cells that are no names of columns."""


def is_value(cell: str) -> bool:
    """Return whether a text is a number, a date, a code or an address: then it is no name of a column."""
    return _VALUE.fullmatch(cell.strip("\"'")) is not None  # it may have been divided within quotes


def shape(cell: str) -> str:
    """Return a text with each digit as 9, each small letter as a, and each capital as A."""
    return "".join("9" if c.isdigit() else "a" if c.islower() else "A" if c.isupper() else c for c in cell)


def _refused(file: str, what: str, advice: str) -> Problem:
    return Problem(f'cannot be read: the file "{file}" {what}', advice)


def same_header(files: Sequence[str], heads: Sequence[list[str]]) -> list[str]:
    """Return the names in the headers of CSV files, which must all be the same."""
    for file, head in zip(files, heads, strict=True):
        if head != heads[0]:
            how = _other_header(head, heads[0])
            raise Problem(
                f'has files with different headers: that of "{file}" {how} that of "{files[0]}"',
                "All CSV files of a glob must have the same column names in the same order.",
            )
    return heads[0]


def _other_header(head: Sequence[str], usual: Sequence[str]) -> str:
    """Return how a header differs from the first file's, without showing a name: it may be a row."""
    if len(head) != len(usual):
        return f"has another number of columns ({len(head)}, not {len(usual)}) than"
    if sorted(head) == sorted(usual):
        return "has the columns in another order than"
    number = next(i for i, (name, other) in enumerate(zip(head, usual, strict=True), 1) if name != other)
    return f"has another name for column {number} than"


def lacking(form: TextForm, names: Sequence[str]) -> tuple[str, str]:
    """Return why a CSV file may seem to lack a column, from the shape of its header, and what to do."""
    if form.names is not None:
        return "", "Its columns are those that names lists in [file]."
    if len(names) == 1:
        for sign, title in _SEPARATORS.items():
            if sign in names[0] and sign != form.separator:
                why = f": its table has one column, with {title} in its name"
                shown = {"\t": "\\t"}.get(sign, sign)
                return why, f'Is that the separator? Say delimiter = "{shown}" in [file].'
    if any("\ufffd" in name for name in names):
        return "", 'Its first line is not in UTF-8: say its encoding in [file], for example "windows-1252".'
    return "", "Its columns are the names in its first line, compared exactly; `lapwing init` lists them."
