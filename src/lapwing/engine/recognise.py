"""How a text file is written, recognised from its first lines for ``lapwing init``, which the owner runs.

What is returned comes from fixed lists of marks, encodings, patterns and codes, besides the names of columns; no cell
is part of it.  Where the lines leave several readings open, none is chosen and a doubt says so.  No release uses this.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from ..question.codes import Kind
from ..question.file import File
from ..report import printable
from . import records
from .header import TextForm, reader, text_form
from .recognised import Recognised
from .table import Problem

_LINES = 2**18
_TEXT = 2**26
"""Bytes that are looked at for the lines, and for the encoding."""

_ROWS = 1000
_MOST = 0.8
"""The share of a column's cells that must fit a reading."""

_DELIMITERS = (",", ";", "\t", "|", ":", " ")
_MARKS: tuple[tuple[str, str | None], ...] = (
    (".", None), (",", None), (",", "."), (".", ","), (",", " "), (".", " "), (",", "\u00a0"), (".", "\u00a0"),
    (",", "\u202f"), (".", "\u202f"), (".", "'"), (",", "'"),
)  # fmt: skip
"""Decimal and thousands marks; the first is the usual reading."""

_CODES = ("NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "NaN", "nan", "\\N")
_SHORT_CODES = (".", "-", "--", "?", "None", "none")
"""Codes for missing; the short ones may be values, and are taken as codes only among numbers and dates."""

_ISO = re.compile(r"\d{4}[-/ ]\d{1,2}[-/ ]\d{1,2}([ T].*)?")
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y",
         "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%d%b%Y")  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S")
_BOOLEANS = {"true", "false", "t", "f", "yes", "no", "y", "n"}

Rows = list[list[str]]


def recognise(paths: Sequence[str], pattern: str, file: File, header: bool) -> Recognised:
    """Return how files are written, from the first, and in which encoding; what ``file`` says already is taken."""
    path, found = paths[0], Recognised(file)
    if file.encoding is None:
        _recognise_encoding(paths, found)
    with records.opened(path, TextForm(encoding=found.file.encoding or "utf-8")) as stream:
        data = stream.read(_LINES).removeprefix(b"\xef\xbb\xbf")
        whole = len(data) < _LINES
    if not data.strip():
        return found  # it is refused, or has no rows
    usual = text_form(pattern, file)
    rows = _recognise_signs(data, whole, usual, found)
    if not header:
        width = max(map(len, rows), default=1)
        names = tuple(f"column{number}" for number in range(1, width + 1))
        found.add("the first line is a row: change these names to what the columns are", names=names)
    head, cells = (list(found.file.names or ()), rows) if found.file.names is not None else (rows[0], rows[1:])
    if found.file.names is None:
        _check_width(path, head, cells)
    _recognise_cells(found, head, cells)
    return found


# --- bytes ---


def _recognise_encoding(paths: Sequence[str], found: Recognised) -> None:
    with records.opened(paths[0], TextForm()) as stream:
        start = stream.read(2**12)
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            found.add("it begins with the byte order mark of UTF-16", encoding="utf-16")
            return
        for encoding, zeros in (("utf-16le", start[1::2]), ("utf-16be", start[::2])):
            if len(start) > 3 and zeros.count(0) > len(zeros) * _MOST:
                found.add("every second byte is zero, as in UTF-16", encoding=encoding)
                return
    if all(map(_is_utf8, paths)):
        return
    found.add("it is not in UTF-8; Windows-1252 is its most frequent alternative", encoding="windows-1252")
    found.doubts.append(
        "The encoding: Windows-1252 and Latin-1 differ only in 27 signs such as € and cannot be told apart, and other "
        "encodings look alike. Look at a name with an accent, and change encoding if it is wrong."
    )


def _is_utf8(path: str) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with records.opened(path, TextForm()) as stream:
        try:
            for _ in range(0, _TEXT, 2**20):
                block = stream.read(2**20)
                decoder.decode(block, final=not block)
                if not block:
                    break
        except UnicodeDecodeError:
            return False
    return True


# --- lines ---


def _recognise_signs(data: bytes, whole: bool, usual: TextForm, found: Recognised) -> Rows:
    """Recognise how lines are divided into fields; return the first rows, with the header."""
    delimiters = (usual.separator, *(each for each in _DELIMITERS if each != usual.separator))
    if found.file.delimiter is not None:
        delimiters = (found.file.delimiter,)
    quotes = ('"', "'", "") if found.file.quote is None else (found.file.quote,)
    best, form, rows = -1.0, usual, [[""]]
    for quote in quotes:
        for delimiter in delimiters:
            if delimiter == quote:
                continue
            tried = replace(usual, separator=delimiter, quote=quote)
            read = _records(data, whole, tried)
            if read is None or (quote == "'" and not _encloses(data, tried)):
                continue
            if not quote and _enclosed(data, delimiter, '"'):  # then a quote that is not closed is damage
                continue
            score = _regularity(read)
            if score > best and (score or quote):
                best, form, rows = score, tried, read
    if best < 0:
        raise Problem(*records.NO_RECORDS)
    if form.separator != usual.separator:
        found.add("fields are divided by it in the first lines", delimiter=form.separator)
    elif best == 0 and found.file.delimiter is None:
        what = "the table seems to have one column"
        if len(rows[0]) > 1:
            what = "many rows have another number of fields than the first line, and those with fewer are left out"
        found.doubts.append(f"The delimiter: {what}. If it is another one, give --delimiter.")
    if form.quote != usual.quote:
        what = "fields are enclosed in it" if form.quote else "quotes in it do not pair up: they are part of cells"
        found.add(what, quote=form.quote)
    return rows


def _records(data: bytes, whole: bool, form: TextForm) -> Rows | None:
    """Return the first records, None if quotes do not pair up; the last is left out if it may be cut off."""
    text = records.whole_records(data, whole, form)
    if text is None:
        return None
    shown = text.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", " ")  # csv refuses one alone
    lines = io.StringIO(shown, newline="\n")
    try:
        rows = list(islice((row for row in reader(lines, form) if row), _ROWS + 1))
    except csv.Error:  # a cell of more than 2**17 characters
        return None
    return rows or None


def _regularity(rows: Rows) -> float:
    """Return how much the records look like rows of one table: the share that has as many fields as the header.

    More columns win between equals.  0 if there is one column.
    """
    width = len(rows[0])
    widths = [len(row) for row in rows[1:]] or [width]
    share = sum({width: 1.0, width + 1: 0.9}.get(each, 0) for each in widths) / len(widths)  # with row names of R
    return 0.0 if width < 2 or share < _MOST else share + (width - 1) / 1e6


def _encloses(data: bytes, form: TextForm) -> bool:
    """Return whether single quotes enclose whole fields, and stand nowhere else but doubled."""
    text = data[: 2**16].decode("utf-8", "replace")
    fields = _enclosed(data, form.separator, "'")
    return len(fields) > 1 and '"' not in text and "".join(fields).count("'") == text.count("'")


def _enclosed(data: bytes, delimiter: str, quote: str) -> list[str]:
    """Return the fields of the first lines that are enclosed in quotes."""
    text, border = data[: 2**16].decode("utf-8", "replace"), re.escape(delimiter)
    pattern = rf"(?:^|{border}){quote}(?:[^{quote}\n]|{quote}{quote})*{quote}(?={border}|\r?$)"
    return re.findall(pattern, text, re.MULTILINE)


def _check_width(path: str, head: Sequence[str], cells: Rows) -> None:
    """Refuse a header that has one name fewer than all rows have fields: every column would have a wrong name."""
    if cells and len(cells) >= 2 and all(len(row) == len(head) + 1 for row in cells):
        raise Problem(
            f'cannot be read: the first line of the file "{path}" has one name fewer than its rows have fields, as '
            "R's write.table writes row names",
            "In R, write.table(…, col.names = NA) or row.names = FALSE; otherwise write a name for the first column.",
        )


# --- cells ---


def _recognise_cells(found: Recognised, head: Sequence[str], rows: Rows) -> None:
    columns = [[row[i] for row in rows if i < len(row) and row[i] != ""] for i in range(len(head))]
    codes = set(_CODES) | set(_SHORT_CODES) | set(found.file.missing)
    kept = [[cell for cell in column if cell not in codes] for column in columns]
    _recognise_marks(found, kept)
    _recognise_dates(found, head, kept)
    kinds = [_kind(column, found.file) for column in kept]
    found.types = {
        name or f"column{i}": kind for i, (name, kind) in enumerate(zip(head, kinds, strict=True), 1) if kind
    }
    if not found.file.missing:
        seen = {cell for column in columns for cell in column} & set(_CODES)
        among = [column for column, kind in zip(columns, kinds, strict=True) if kind not in (None, "text")]
        seen |= {cell for column in among for cell in column} & set(_SHORT_CODES)
        if seen:
            codes_seen = tuple(code for code in (*_CODES, *_SHORT_CODES) if code in seen)
            found.add("known codes for missing cells that occur; remove one that is a value here", missing=codes_seen)


def _numbers(decimal: str, thousands: str | None) -> re.Pattern[str]:
    whole = r"\d+" if thousands is None else rf"(?:\d+|[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+)"
    return re.compile(rf"\s*[-+]?(?:{whole}(?:{re.escape(decimal)}\d*)?|{re.escape(decimal)}\d+)(?:[eE][-+]?\d+)?\s*")


def _recognise_marks(found: Recognised, columns: Sequence[Sequence[str]]) -> None:
    """Recognise decimal and thousands marks: the reading in which most cells of numeric columns are numbers."""
    if found.file.decimal is not None or found.file.thousands is not None:
        return
    scores = []
    for marks in _MARKS:
        number = _numbers(*marks)
        fitting = [sum(number.fullmatch(cell) is not None for cell in column) for column in columns]
        scores.append(sum(n for n, column in zip(fitting, columns, strict=True) if column and n >= _MOST * len(column)))
    best = max(scores)
    if scores[0] == best:
        if any("." in "".join(column) and _share(column, _may_be_thousands) == 1 for column in columns):
            found.doubts.append(
                "The point in numbers: it may be a decimal mark or divide thousands, as in 1.234. If it divides, say "
                'thousands = "." and decimal = ","; until then it is a decimal mark.'
            )
        return
    simplest = [marks for marks, score in zip(_MARKS, scores, strict=True) if score == best]
    decimal, thousands = simplest[0]
    if (",", None) in simplest and (".", ",") in simplest:
        found.doubts.append(
            "The comma in numbers: it may be a decimal mark or divide thousands. Say decimal or thousands; until then "
            "such cells are missing."
        )
        return
    if decimal != "." and not (thousands and all((d, thousands) in simplest for d in ".,")):
        found.add("numbers have decimal commas", decimal=decimal)
    if thousands is not None:
        found.add("it divides the thousands of numbers", thousands=thousands)


def _recognise_dates(found: Recognised, head: Sequence[str], columns: Sequence[Sequence[str]]) -> None:
    """Recognise how dates are written, if not year first; one pattern holds for all columns."""
    if found.file.dates is not None:
        return
    usual, patterns = False, dict[int, list[str]]()
    for i, column in enumerate(columns):
        usual = usual or _share(column, lambda cell: _ISO.fullmatch(cell) is not None) >= _MOST
        if fitting := _patterns(column):
            patterns[i] = fitting
    if not patterns:
        return
    common = [each for each in next(iter(patterns.values())) if all(each in one for one in patterns.values())]
    names = ", ".join(f'"{printable(head[i] or f"column{i + 1}")}"' for i in patterns)
    if usual or not common:
        found.doubts.append(
            f"Dates: those of {names} and of other columns are written in different patterns, and dates holds one "
            "pattern for all columns. Cells in another pattern are missing."
        )
    elif len(common) > 1:
        options = " or ".join(f'"{each}"' for each in common[:2])
        found.doubts.append(
            f"Dates: the first rows of {names} do not show whether the day or the month comes first. Say dates = "
            f"{options}; until then such cells are missing."
        )
    else:
        found.add(f"the dates of {names} are written so", dates=common[0])


def _patterns(column: Sequence[str]) -> list[str]:
    """Return the patterns in which nearly all cells of a column are dates."""
    if _share(column[:50], lambda cell: bool(re.match(r"\s*\d{1,2}[./ -]?(\d{1,2}[./-]|[A-Za-z]{3})", cell))) < _MOST:
        return []
    shares = {}
    for pattern in (day + time for time in _TIMES for day in _DAYS):
        shares[pattern] = sum(_is_date(cell, pattern) for cell in column) / len(column)
    best = max(shares.values())
    fitting = [pattern for pattern, share in shares.items() if share == best >= _MOST]
    return [each for each in fitting if "%B" not in each or each.replace("%B", "%b") not in fitting]


def _is_date(cell: str, pattern: str) -> bool:
    try:
        return datetime.strptime(cell.strip(), pattern).year >= 1000 or "%y" in pattern
    except ValueError:
        return False


def _may_be_thousands(cell: str) -> bool:
    return re.fullmatch(r"\s*[-+]?([1-9]\d{0,2}(\.\d{3})+|\d{1,3})\s*", cell) is not None


def _share(column: Sequence[str], fits: Callable[[str], bool]) -> float:
    return sum(map(fits, column)) / len(column) if column else 0.0


def _kind(column: Sequence[str], file: File) -> Kind | None:
    """Return the type that nearly all cells of a column have; None if it is empty."""
    if not column:
        return None
    number = _numbers(file.decimal or ".", file.thousands)
    if any(re.fullmatch(r"\s*0\d+\s*", cell) for cell in column):  # a code, such as the postcode 01067
        return "text"
    if _share(column, lambda cell: number.fullmatch(cell) is not None) >= _MOST:
        decimal = re.escape(file.decimal or ".")
        whole = _share(column, lambda cell: not re.search(rf"[eE]|{decimal}0*[1-9]", cell)) == 1
        return "integer" if whole else "number"
    if _share(column, lambda cell: cell.strip().lower() in _BOOLEANS) == 1:
        return "boolean"
    if file.dates is None:
        is_date = _share(column, lambda cell: _ISO.fullmatch(cell.strip()) is not None) >= _MOST
    else:
        is_date = _share(column, lambda cell: _is_date(cell, file.dates or "")) >= _MOST
    return "date" if is_date else "text"
