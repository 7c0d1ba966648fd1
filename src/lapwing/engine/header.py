"""The first line of a CSV file: the names of its columns, or why it cannot be one.

If the file has no header, the line is a row: so messages about it depend only on its shape.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

import numpy as np

from .compressed import uncompressed
from .table import Problem

LONGEST = 2_000_000
"""Bytes of a record, without its line end; a longer one is left out."""

_LF, _QUOTE = b'\n"'
_BOM = b"\xef\xbb\xbf"
_NUMBER = re.compile(r"\s*[-+]?[\d.,:/-]+\s*")
"""Names that look like numbers or dates: if the file had no header, they would be cells of its first row."""

_EXCEL = re.compile(r'"?sep=.?"?', re.IGNORECASE)
_WRITTEN = "Write it with a line of column names first, as UTF-8."
_SEPARATORS = {";": "a semicolon", "\t": "a tab", "|": "a vertical bar", ",": "a comma"}
"""Separators that other programs use in CSV files."""


def first_record(stream: io.BufferedIOBase, file: str) -> tuple[bytes, bytes]:
    """Return the first record of a file with its line end, and the rest of what was read."""
    text = stream.read(2**16).removeprefix(_BOM)
    _check_format(text, file)
    while True:
        data = np.frombuffer(text, np.uint8)
        outside = np.cumsum(data == _QUOTE, dtype=np.uint8) % 2 == 0
        ends = np.flatnonzero((data == _LF) & outside)
        block = b"" if ends.size else stream.read(2**16)
        if not block:
            end = int(ends[0]) + 1 if ends.size else len(text)
            return text[:end], text[end:]
        text += block
        if len(text) > LONGEST:
            raise _refused(file, "has no line end in its first 2 MB", _WRITTEN)


def _check_format(start: bytes, file: str) -> None:
    """Refuse a file whose first bytes show that it is not CSV in UTF-8."""
    if not start:
        raise _refused(file, "is empty", _WRITTEN)
    for signature, (what, advice) in _FORMATS.items():
        if start.startswith(signature):
            raise _refused(file, what, advice)


_UTF16 = ("is in UTF-16, and UTF-8 is needed", "Write it as UTF-8.")
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


def check_line(header: bytes, file: str) -> None:
    """Refuse a header with NULs, or with a stray carriage return: the line end of some other kind of file."""
    line = _line(header)
    if b"\0" in line:
        raise _refused(
            file, "has NUL characters in its first line, as UTF-16 has, and UTF-8 is needed", "Write it as UTF-8."
        )
    if b"\r" in b"".join(line.split(b'"')[::2]):
        what = "in its first line" if header.endswith(b"\n") else "instead of line feeds"
        raise _refused(file, f"has carriage returns {what}", "Write it with line feeds at the ends of lines.")


def names_in(header: bytes, separator: str, file: str) -> list[str]:
    """Return the names in a header whose quotes pair up."""
    text = _line(header).decode("utf-8", "replace")
    try:
        columns = next(csv.reader([text], delimiter=separator), [])
    except csv.Error:
        raise _refused(file, "has a column name of more than 131,072 characters", _WRITTEN) from None
    if _EXCEL.fullmatch(text):
        raise _refused(file, 'begins with a line "sep=" of Excel', "Delete this line.")
    if not any(columns):
        what = "has a first line that is blank" if len(columns) < 2 else "has no names in its first line"
        raise _refused(file, what, _WRITTEN)
    _check_names(columns, file)
    return columns


def _line(header: bytes) -> bytes:
    return header.removesuffix(b"\n").removesuffix(b"\r")


def _check_names(columns: Sequence[str], file: str) -> None:
    """Refuse a first line that may be a row; for that reason the message depends only on its shape.

    Numbers come first: if the line has one, nothing else is said about it, such as which of its cells are empty.
    """
    if any(_NUMBER.fullmatch(name) for name in columns):
        raise _refused(
            file,
            "has a column name that is a number or a date, as if its first line were a row",
            "If it has no column names, put a line with them first. If a column is called 2019, rename it, "
            "for example to y2019.",
        )
    if all(columns):
        return
    if not columns[0]:
        raise _refused(
            file,
            "has an empty column name at the start of its first line, as pandas and R write for the row index",
            "Write it without the index: index=False in pandas, row.names = FALSE in R.",
        )
    if not columns[-1] and all(columns[:-1]):
        raise _refused(
            file,
            "has a first line that ends with a separator, so that the last column has no name",
            "Name the column, or remove the separator from the end of every line.",
        )
    raise _refused(file, "has an empty column name in its first line", "Name every column.")


def _refused(file: str, what: str, advice: str) -> Problem:
    return Problem(f'cannot be read: the file "{file}" {what}', advice)


def separator_of(path: str) -> str:
    """Return the separator of a CSV file, by its name."""
    return "\t" if uncompressed(path).endswith(".tsv") else ","


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


def lacking(path: str, names: Sequence[str]) -> tuple[str, str]:
    """Return why a CSV file may seem to lack a column, from the shape of its header, and what to do."""
    if len(names) == 1:
        for sign, title in _SEPARATORS.items():
            if sign in names[0] and sign != separator_of(path):
                why = f": its table has one column, with {title} in its name"
                advice = f"Is that the separator? Write the file with {_SEPARATORS[separator_of(path)]} as separator"
                ending = {"\t": ", or let its name end in .tsv", ",": ", or let its name end in .csv"}.get(sign, "")
                return why, f"{advice}{ending}."
    if any("\ufffd" in name for name in names):
        return "", "Its first line is not in UTF-8: write the file as UTF-8."
    return "", "Its columns are the names in its first line, compared exactly; `lapwing init` lists them."
