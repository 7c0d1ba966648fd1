"""The records of a CSV file, divided so that DuckDB decides neither about quotes nor about line breaks.

A record ends at a line feed outside quotes; a carriage return right before it belongs to the line end.  A field is
quoted if it begins with a quote, and inside "" is one quote.  What a record says depends on nothing but its own bytes:

- plain records have as many fields as the header, and are lines without a quote: DuckDB reads them, in parallel;
- odd records (line breaks, separators or quotes within a field, bytes that are not UTF-8, too many fields) are parsed
  here, and handed over with each cell in hexadecimal;
- records that are too short or too long are left out; a cell with bytes that are not UTF-8 is missing.

A file whose quotes do not pair up has no records: it is refused as a whole.

DuckDB 2.0 reads lines in parallel without loss if each has as many fields as there are columns, none is empty, none
comes near ``max_line_size``, and the buffer is 16 such lines; otherwise lines at the borders of buffers come or go.
"""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..question.query import literal
from . import compressed
from .encodings import Unmarked, as_utf8
from .header import LONGEST, TextForm, check_line, first_record, names_in, reader, row_rather_than_names
from .table import Problem

_BLOCK = 2**21
"""Bytes per read; if all of them are separators, about 70 times as much memory is used."""

_LOOKED_AT = 10_000
"""Rows that are compared with the header, in case it is a row itself."""

_LF, _CR = b"\n\r"
_NO_QUOTE = 256
_HEX = np.frombuffer(bytes(range(256)).hex().encode(), np.uint8).reshape(256, 2)
NO_RECORDS = (
    "has a CSV file in which a quote is never closed, or is in the middle of a field",
    "Write it with a CSV library, which quotes fields that contain quotes and doubles the quotes, or use Parquet.",
)
_CHANGED = ("has a file that was changed while it was read", "Wait until it is completely written, and ask again.")

Positions = NDArray[np.intp]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Checked:
    """A well-formed CSV file, and what one pass over it found."""

    file: str
    form: TextForm
    names: tuple[str, ...]
    """The names in the header; they may repeat."""

    plain: bool
    """Whether its lines are the header and the records, all of them plain and in UTF-8."""

    line_end: str
    stamp: tuple[int, ...]
    """What changes if the file is changed."""


@dataclass(frozen=True)
class Records:
    """The records of one CSV file, in files in which every line is one record and nothing is quoted."""

    plain: str
    """Path of a file of lines."""

    skip: int
    """How many of its lines come before the records."""

    line_end: str
    separator: str
    width: int
    odd: str | None
    """Path of a file of lines in which the needed cells are in hexadecimal."""

    needed: tuple[int, ...]
    """The columns, by position; at least one."""

    left_out: int = 0
    unreadable: int = 0
    """How many records are in neither file, and how many of the needed cells are missing since their bytes are not
    UTF-8: private numbers, for ``lapwing check``."""


def names(file: str, form: TextForm) -> list[str]:
    """Return the names of the columns of a CSV file, from its header if it has one."""
    with opened(file, form) as stream:
        return _names(first_record(stream, file, form).header, form, file)


def begins_with_a_row(file: str, form: TextForm) -> str | None:
    """Return why the first line of a file is probably a row, None if it may be a header."""
    if form.names is not None:
        return None
    with opened(file, form) as stream:
        rows = reader(_text_lines(stream), form)
        header: list[str] = next(rows, [])
        try:
            return row_rather_than_names(header, islice(rows, _LOOKED_AT))
        except csv.Error:  # a cell of more than 2**17 characters
            return None


def _text_lines(stream: io.BufferedIOBase) -> Iterator[str]:
    """Yield the lines of a file, without its mark: a quote that comes after one would be part of the cell."""
    text, block = b"", stream.read(2**16).removeprefix(b"\xef\xbb\xbf")
    while block:
        *lines, text = (text + block).split(b"\n")
        yield from (line.decode("utf-8", "replace") + "\n" for line in lines)
        block = stream.read(2**16)
    yield text.decode("utf-8", "replace")


def check(file: str, form: TextForm, known: Checked | None = None) -> Checked:
    """Read a CSV file once, and refuse it if it is not well formed; if it is ``known`` and unchanged, do nothing."""
    stamp = _stamp(file)
    if known is not None and (known.file, known.form, known.stamp) == (file, form, stamp):
        return known
    with opened(file, form) as stream:
        header, text = first_record(stream, file, form)
        columns = _names(header, form, file)
        signs = _Form(form, len(columns))
        first = header or text[: text.find(b"\n") + 1]
        line_end = b"\r\n" if first.endswith(b"\r\n") else b"\n"
        plain = _readable_in_place(file, form) and not re.search(rb"[\r\n\0]", header.removesuffix(line_end))
        if plain:
            text = _without_plain_lines(stream, text, signs, line_end)
            plain = not text
        _check_quotes(stream, text, signs)
        marked = isinstance(stream, Unmarked) and stream.found
    return Checked(file, form, tuple(columns), plain and not marked, line_end.decode(), stamp)


def whole_records(text: bytes, ended: bool, form: TextForm) -> bytes | None:
    """Return the whole records of the beginning of a file, None if its quotes do not pair up."""
    signs = _Form(form, 1)
    if not ended:
        at, byte, quoted = _signs(text, signs)
        ends = at[(byte == _LF) & ~quoted]
        text = text[: int(ends[-1]) + 1] if ends.size else b""
    try:
        _check_quotes(io.BytesIO(), text, signs)
    except Problem:
        return None
    return text


def check_unchanged(files: Sequence[Checked]) -> None:
    """Refuse files that have changed since they were checked: DuckDB would have read them as something else."""
    if any(_stamp(each.file) != each.stamp for each in files):
        raise Problem(*_CHANGED)


def prepare(checked: Checked, needed: Sequence[int], folder: str) -> Records:
    """Return the records of a file, with the ``needed`` columns; if they are not plain, write copies to a folder."""
    form = checked.form
    current = check(checked.file, form, checked)
    if current.names != checked.names:
        raise Problem(*_CHANGED)
    width, columns = len(current.names), tuple(sorted(set(needed))) or (0,)
    if current.plain:
        skip = 1 if form.names is None else 0
        return Records(current.file, skip, current.line_end, form.separator, width, None, columns)
    signs = _Form(form, width)
    with opened(current.file, form) as stream, _new(folder) as plain, _new(folder) as odd:
        text = first_record(stream, current.file, form).rest
        plain.write(b"-\n")  # instead of the header, or a byte order mark in the first cell would be dropped
        odd.write(b"-\n")
        left_out = unreadable = 0
        for part in _parts(stream, text, signs):
            lines, records = part.divided(signs)
            plain.write(lines)
            written, broken = _in_hexadecimal(records, signs, columns)
            odd.write(written)
            unreadable += broken
            left_out += part.number - lines.count(b"\n") - written.count(b"\n")
        has_odd = odd.tell() > len(b"-\n")
    if _stamp(current.file) != current.stamp:
        raise Problem(*_CHANGED)
    odd_name = odd.name if has_odd else None
    return Records(plain.name, 1, "\n", form.separator, width, odd_name, columns, left_out, unreadable)


def read_sql(files: Sequence[Records]) -> str:
    """Return the query for the needed columns of files with one header, as texts c0, c3, …; an empty cell is NULL."""
    needed, width, separator = files[0].needed, files[0].width, files[0].separator
    columns = ", ".join(f"c{number}" for number in needed)
    queries = []
    for line_end, skip in product(("\n", "\r\n"), (0, 1)):
        if paths := [file.plain for file in files if (file.line_end, file.skip) == (line_end, skip)]:
            lines = _read_csv(paths, separator, [f"c{i}" for i in range(width)], line_end, LONGEST, skip)
            queries.append(f"SELECT {columns} FROM {lines}")
    if paths := [file.odd for file in files if file.odd is not None]:
        lines = _read_csv(paths, ",", [*(f"c{i}" for i in needed), "line_end"], "\n", 2 * LONGEST)
        decoded = ", ".join(f"decode(unhex(c{i})) AS c{i}" for i in needed)
        queries.append(f"SELECT {decoded} FROM {lines}")
    return " UNION ALL ".join(queries)


def _read_csv(
    paths: Sequence[str], separator: str, columns: Sequence[str], line_end: str, longest: int, skip: int = 1
) -> str:
    """Return the SQL that reads files of lines, with buffers so large that no line is lost between two of them."""
    files = ", ".join(literal(escape(path)) for path in paths)
    types = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in columns)
    longest += 64
    return (
        f"read_csv([{files}], auto_detect=false, header=false, skip={skip}, compression='none', "
        f"delim={literal(separator)}, quote='', escape='', comment='', nullstr='', "
        f"new_line={literal(line_end.encode('unicode_escape').decode())}, "
        f"columns={{{types}}}, ignore_errors=true, strict_mode=false, hive_partitioning=false, parallel=true, "
        f"max_line_size={longest}, buffer_size={16 * longest})"
    )


def opened(file: str, form: TextForm) -> io.BufferedIOBase:
    """Return a stream of the text of a file, in UTF-8."""
    stream = as_utf8(compressed.opened(file), form.encoding)
    return stream if form.names is None else Unmarked(stream)


def _readable_in_place(file: str, form: TextForm) -> bool:
    return form.encoding == "utf-8" and not compressed.is_compressed(file)


def _new(folder: str) -> Any:
    return tempfile.NamedTemporaryFile("wb", dir=folder, suffix=".csv", delete=False)


def _stamp(file: str) -> tuple[int, ...]:
    status = Path(file).stat()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _names(header: bytes, form: TextForm, file: str) -> list[str]:
    if form.names is not None:
        return list(form.names)
    check_line(header, file, form.quote)
    _check_quotes(io.BytesIO(), header, _Form(form, 1))
    return names_in(header, form, file)


def _check_quotes(stream: io.BufferedIOBase, text: bytes, form: _Form) -> None:
    """Refuse ``text`` and what follows it in a stream if a quote is not closed, or does not enclose a whole field.

    Every second quote closes; a doubled one looks like one that closes and one that opens.
    """
    before, quoted = _LF, False
    if not form.sign:
        while stream.read(_BLOCK):  # its end may be damaged
            pass
        return
    while True:
        block = stream.read(_BLOCK)
        text += block
        data = np.frombuffer(text + b"\n\n", np.uint8)  # the end of the file is a line end, too
        quotes = np.flatnonzero(data == form.quote)
        opening, closing = (quotes[1::2], quotes[::2]) if quoted else (quotes[::2], quotes[1::2])
        previous = data[opening - 1]
        if opening.size and opening[0] == 0:
            previous[0] = before
        before_line_end = closing[~form.is_border[data[closing + 1]]]
        line_ends = (data[before_line_end + 1] == _CR) & (data[before_line_end + 2] == _LF)
        if not form.is_border[previous].all() or not line_ends.all():
            raise Problem(*NO_RECORDS)
        if not block:
            break
        gone, text = text[:-2], text[-2:]  # what follows the last two is not known yet
        if gone:
            before, quoted = gone[-1], quoted ^ bool(np.searchsorted(quotes, len(gone)) % 2)
    if quoted ^ bool(len(quotes) % 2):
        raise Problem(*NO_RECORDS)


# ── the records ──────────────────────────────────────────────────────────────────────────────────────────────


class _Form:
    """How the records of a file are written."""

    def __init__(self, form: TextForm, width: int) -> None:
        self.separator, self.width = ord(form.separator), width
        self.sign = form.quote.encode()
        self.quote = ord(form.quote) if form.quote else _NO_QUOTE
        signs = bytes([self.separator, _LF, _CR, *self.sign, 0])
        self.blank = re.compile(rb"(?:^|\n)(?:" + re.escape(self.sign * 2) + rb")?\r?\n")
        self.others = bytes(byte for byte in range(256) if byte not in signs)
        self.is_sign = bytes(byte in signs for byte in range(256))
        self.is_border = np.isin(np.arange(256), [self.separator, _LF, self.quote])
        """What may precede an opening quote; a closing one may also be followed by a line end with CR."""

    def ends_inside(self, text: bytes) -> bool:
        """Return whether a text that begins outside quotes ends inside."""
        return bool(self.sign) and text.count(self.sign) % 2 == 1


class _Signs(NamedTuple):
    """The special bytes of a text: where they are, which they are, and whether what follows is in quotes."""

    at: Positions
    byte: NDArray[np.uint8]
    quoted: Flags


class _Lines(NamedTuple):
    """Plain records, with or without quotes."""

    text: bytes
    line_end: bytes | None
    """That of all of them, if none has quotes."""

    @property
    def number(self) -> int:
        """How many there are."""
        return self.text.count(b"\n")

    def divided(self, form: _Form) -> tuple[bytes, bytes]:
        """Return the plain records without quotes, on lines that end with LF, and the odd ones as they are."""
        return (self.text if self.line_end == b"\n" else self.text.translate(None, form.sign + b"\r")), b""


class _Mixed(NamedTuple):
    """Records of all kinds; if ``passed`` is not 0, the first has this many bytes before the text."""

    text: bytes
    signs: _Signs
    ends: Positions
    """Which of the signs end a record."""

    passed: int

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.ends)

    def divided(self, form: _Form) -> tuple[bytes, bytes]:
        """As ``_Lines.divided``; records that are too short or too long are left out."""
        data, (at, byte, quoted) = np.frombuffer(self.text, np.uint8), self.signs
        stops = at[self.ends]
        starts = np.concatenate([[0], stops[:-1] + 1])

        def counted(chosen: Flags) -> NDArray[np.int32]:
            """Return how many of the chosen signs are in each record."""
            return np.diff(np.cumsum(chosen, dtype=np.int32)[self.ends], prepend=np.int32(0))

        fields = 1 + counted((byte == form.separator) & ~quoted)
        length = stops - starts - (data[stops - 1] == _CR)
        length[0] += self.passed
        left_out = (fields < form.width) | (length > LONGEST)

        opening = np.flatnonzero((byte == form.quote) & quoted)
        returns = np.flatnonzero(byte == _CR)
        strange = quoted | (byte == 0)
        strange[opening] = data[at[opening] - 1] == form.quote  # the second half of a doubled one
        strange[returns] |= data[at[returns] + 1] != _LF
        odd = (counted(strange) > 0) | (fields > form.width)
        odd[np.searchsorted(stops, _not_utf8(self.text))] = True
        if form.width == 1:  # no line may be empty
            odd |= length == counted(byte == form.quote)
        plain = _joined(self.text, starts, stops, ~(odd | left_out)).translate(None, form.sign + b"\r")
        return plain, _joined(self.text, starts, stops, odd & ~left_out)


def _without_plain_lines(stream: io.BufferedIOBase, text: bytes, form: _Form, line_end: bytes) -> bytes:
    """Read ``text`` and what follows it in a stream as long as it is plain; return what was read and is not."""
    while True:
        block = stream.read(_BLOCK)
        text = text + block if block else _ended(text, line_end)
        lines = _lines(text, form)
        if lines is None or lines.line_end != line_end:
            return text
        text = text[len(lines.text) :]


def _parts(stream: io.BufferedIOBase, text: bytes, form: _Form) -> Iterator[_Lines | _Mixed]:
    """Yield the records of ``text`` and what follows it in a stream, which are well formed."""
    passed, quoted = 0, False  # of a record that is already too long: how much is gone, and whether it is in quotes
    while True:
        block = stream.read(_BLOCK)
        text = text + block if block else _ended(text)
        part = (None if passed else _lines(text, form)) or _mixed(text, form, passed, quoted)
        if part is not None:
            yield part
            text, passed, quoted = text[len(part.text) :], 0, False
        if not block:
            return
        if passed + len(text) > LONGEST + 2:
            passed, quoted, text = passed + len(text), quoted ^ form.ends_inside(text), b""


def _ended(text: bytes, line_end: bytes = b"\n") -> bytes:
    """Return the last records of a file with a line end behind them."""
    if not text or text.endswith(b"\n"):
        return text
    return text + (b"\n" if text.endswith(b"\r") else line_end)


def _lines(text: bytes, form: _Form) -> _Lines | None:
    """Return the lines of a text if all are plain records; this is far faster than looking at each."""
    text = text[: text.rfind(b"\n") + 1]
    signs = text.translate(None, form.others)
    has_quotes = bool(form.sign) and form.sign in signs
    if has_quotes:
        if form.sign * 3 in signs:  # a doubled quote
            return None
        signs = signs.replace(form.sign * 2, b"")  # fields without special bytes
    line_end = b"\r\n" if text.endswith(b"\r\n") else b"\n"
    line = bytes([form.separator]) * (form.width - 1) + line_end
    count = len(signs) // len(line)
    if not count or signs != line * count or (line_end == b"\r\n" and text.count(line_end) != count):
        return None
    if form.width == 1 and form.blank.search(text):  # DuckDB would sometimes lose an empty line
        return None
    step = LONGEST // 2  # a line that is too long spans a whole step
    if any(text.find(b"\n", start, start + step) < 0 for start in range(0, len(text), step)) or _not_utf8(text).size:
        return None
    return _Lines(text, None if has_quotes else line_end)


def _mixed(text: bytes, form: _Form, passed: int, quoted: bool) -> _Mixed | None:
    """Return the records that end in a text; there may be none."""
    at, byte, in_quotes = _signs(text, form, quoted)
    ends = np.flatnonzero((byte == _LF) & ~in_quotes)
    if not ends.size:
        return None
    count = ends[-1] + 1
    signs = _Signs(at[:count], byte[:count], in_quotes[:count])
    return _Mixed(text[: at[ends[-1]] + 1], signs, ends, passed)


def _signs(text: bytes, form: _Form, quoted: bool = False) -> _Signs:
    """Return the signs of a text that begins inside or outside quotes."""
    at = np.flatnonzero(np.frombuffer(text.translate(form.is_sign), np.bool_))
    byte = np.frombuffer(text.translate(None, form.others), np.uint8)
    odd = (np.cumsum(byte == form.quote, dtype=np.uint8) & 1).view(np.bool_)
    return _Signs(at, byte, ~odd if quoted else odd)


def _not_utf8(text: bytes) -> Positions:
    """Return where the bytes are that are not part of a character in UTF-8."""
    if text.isascii():
        return np.zeros(0, np.intp)
    replaced = text.decode("utf-8", "surrogateescape").encode("utf-8", "replace")  # each becomes one byte, "?"
    if replaced == text:
        return np.zeros(0, np.intp)
    return np.flatnonzero(np.frombuffer(replaced, np.uint8) != np.frombuffer(text, np.uint8))


def _joined(text: bytes, starts: Positions, stops: Positions, chosen: Flags) -> bytes:
    """Return the chosen records; those side by side are copied together."""
    changes = np.flatnonzero(np.diff(chosen, prepend=False, append=False))
    firsts, lasts = starts[changes[::2]], stops[changes[1::2] - 1] + 1
    return b"".join([text[first:last] for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)])


def _in_hexadecimal(text: bytes, form: _Form, needed: Sequence[int]) -> tuple[bytes, int]:
    """Return the needed cells of records in hexadecimal, each followed by a comma, and how many are not UTF-8: empty.

    Each byte becomes two, of which those that are zero are taken out at the end.
    """
    if not text:
        return b"", 0
    data, (at, byte, quoted) = np.frombuffer(text, np.uint8), _signs(text, form)
    is_stop = ((byte == form.separator) | (byte == _LF)) & ~quoted
    stops, is_end = at[is_stop], byte[is_stop] == _LF
    sizes = np.diff(stops, prepend=-1)
    ends = np.flatnonzero(is_end)
    fields = np.diff(ends, prepend=-1)
    column = np.arange(len(stops)) - np.repeat(ends + 1 - fields, fields)
    wanted = np.isin(column, needed)
    unreadable = np.zeros(len(stops), np.bool_)
    unreadable[np.searchsorted(stops, _not_utf8(text))] = True

    cells = _HEX[data]
    doubled = quoted & (data[at - 1] == form.quote)
    cells[at[(byte == form.quote) & ~doubled]] = 0
    line_ends = stops[is_end]
    cells[line_ends[data[line_ends - 1] == _CR] - 1] = 0
    cells[np.repeat(~wanted | unreadable, sizes)] = 0
    cells[stops[wanted]] = ord(","), 0
    cells[line_ends, 1] = _LF
    return cells.tobytes().translate(None, b"\0"), int(np.count_nonzero(unreadable & wanted))
