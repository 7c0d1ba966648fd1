"""JSON lines: each line is an object, whose names are the columns; so each row names its own cells.

A line that is not a JSON object, or has more than 2 MB, is left out: what a row says depends on its own line alone.  If
an object has a name twice, the last counts.  A list or an object in a cell is missing, and so is a text with bytes that
are not UTF-8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import duckdb

from ..question.codes import is_unicode
from . import compressed
from .given import Handed, Wanted
from .header import LONGEST
from .objects import CHUNK, Columns, ObjectFiles
from .table import Field, Problem

_BLOCK = 2**20
_MOST_HELD = 2**26
"""Bytes of lines whose cells are held at once."""

_FIRST_ROWS = 1000
"""Rows whose names ``lapwing init`` lists."""

_MOST_DIGITS = 400
_WHITE = b" \t\r\n"
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
"""What Python makes of bytes that are not UTF-8."""

_MARK = b"\xef\xbb\xbf"
"""A byte order mark, which is ignored at the start of every line: the first line of a file is a row like any other."""

_NOT_TEXT = {b"\x1f\x8b": "compressed by gzip", b"\x28\xb5\x2f\xfd": "compressed by Zstandard",
             b"\xff\xfe": "in UTF-16", b"\xfe\xff": "in UTF-16"}  # fmt: skip
_NOT_JSON = {**_NOT_TEXT, b"PAR1": "a Parquet file", b"PK\x03\x04": "a ZIP archive", b"BZh": "compressed by bzip2"}
"""The kinds of files by their first bytes: those that no text in UTF-8 has, and, for the owner, others too."""


class JsonLines(ObjectFiles):
    """A path or glob of files of JSON lines."""

    title = "a file of JSON lines"
    options = ("dates", "missing")
    is_text = True
    stored = False
    named_by_rows = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._checked: dict[str, tuple[int, ...]] = {}

    def fields(self, connection: Any = None) -> list[Field]:
        """Return the names in the first lines: what else a row names is not known, and not needed."""
        names = dict.fromkeys(name for file in self.paths for name in self.names(file))
        return [Field(name, "VARCHAR") for name in names]

    def names(self, file: str) -> list[object]:
        names = dict.fromkeys(name for row, _ in islice(_rows(file), _FIRST_ROWS) for name in row)
        return [name for name in names if is_unicode(name)]

    def check_names(self) -> None:
        """Refuse a file that is probably of another kind, for ``lapwing init``: a row could look like one, too."""
        for file in self.paths:
            with compressed.opened(file) as stream:
                start = stream.peek(8)[:8] if hasattr(stream, "peek") else b""
            _check_start(start, file, _NOT_JSON)
            if not start:
                raise Problem(f'cannot be read: the file "{file}" is empty', "Write one JSON object on each line.")
            if start.removeprefix(_MARK).lstrip(_WHITE).startswith(b"["):
                raise Problem(
                    f'cannot be read: the file "{file}" is one JSON list, not JSON lines',
                    "Write each object on a line of its own, without brackets and commas around them.",
                )
            if not self.names(file):
                raise Problem(
                    f'cannot be read: none of the first lines of the file "{file}" is a JSON object',
                    "Write each object on one line.",
                )

    def check(self, wanted: Sequence[Wanted]) -> None:
        """Refuse, before anything is charged, a file that is not text, or a compressed one that is damaged."""
        for file, now in self.stamps().items():
            if self._checked.get(file) != now:
                with compressed.opened(file) as stream:
                    _check_start(stream.peek(8)[:8] if hasattr(stream, "peek") else b"", file, _NOT_TEXT)
                    while compressed.is_compressed(file) and stream.read(_BLOCK):
                        pass
                self._checked[file] = now

    def cells(self, connection: duckdb.DuckDBPyConnection, wanted: Sequence[Wanted], fields: Sequence[Field]) -> Handed:
        self.left_out = self.unreadable = 0
        return super().cells(connection, wanted, fields)

    def _leave_out(self) -> None:
        self.left_out += 1

    def _cell(self, value: Any) -> Any:
        if isinstance(value, str) and not value.isascii() and _NOT_UTF8.search(value):
            self.unreadable += 1
            return None
        return None if isinstance(value, list | dict) else value

    def chunks(self, file: str, wanted: Sequence[Field], places: Sequence[int]) -> Iterator[Columns]:
        names = [field.name for field in wanted]
        chunk: list[list[Any]] = []
        held = 0
        for row, size in _rows(file, self._leave_out):
            chunk.append([self._cell(row.get(name)) for name in names])
            held += size
            if len(chunk) == CHUNK or held > _MOST_HELD:
                yield _columns(chunk)
                chunk, held = [], 0
        if chunk:
            yield _columns(chunk)


def _check_start(start: bytes, file: str, kinds: Mapping[bytes, str]) -> None:
    for signature, what in kinds.items():
        if start.startswith(signature):
            raise Problem(f'cannot be read: the file "{file}" is {what}, not JSON lines', "Write it as JSON lines.")


def _columns(rows: Sequence[Sequence[Any]]) -> Columns:
    """Return rows as columns; if none is wanted, as one column without values."""
    return list(zip(*rows, strict=True)) or [[None] * len(rows)]


def _rows(file: str, leave_out: Callable[[], None] = lambda: None) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the objects of a file, one of each line, and how many bytes each has; tell which lines have none."""
    with compressed.opened(file) as stream:
        for line in _lines(stream):
            row = _object(line.removeprefix(_MARK))
            if row is not None:
                yield row, len(line)
            elif line.strip():
                leave_out()


def _lines(stream: Any) -> Iterator[bytes]:
    """Yield the lines that are not too long."""
    while line := stream.readline(LONGEST + 1):
        if len(line) <= LONGEST or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(_BLOCK)


def _object(line: bytes) -> dict[str, Any] | None:
    """Return the object on a line, None if there is none."""
    try:
        found = _DECODER.decode(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _whole(digits: str) -> int | float:
    """Return a whole number; one that no float can hold is infinite, and so missing."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


_DECODER = json.JSONDecoder(parse_int=_whole)
