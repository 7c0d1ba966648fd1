"""JSON lines: each line is an object, whose names are the columns; so each row names its own cells.

A line that is not a JSON object in UTF-8, or has more than 2 MB, is left out: what a row says depends on its own line
alone.  If an object has a name twice, the last counts.  A list or an object in a cell is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from . import compressed
from .given import Wanted
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
_NOT_JSON = {b"PAR1": "a Parquet file", b"PK\x03\x04": "a ZIP archive", b"\x1f\x8b": "compressed by gzip",
             b"BZh": "compressed by bzip2", b"\x28\xb5\x2f\xfd": "compressed by Zstandard",
             b"\xff\xfe": "in UTF-16", b"\xfe\xff": "in UTF-16"}  # fmt: skip


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
        return list(dict.fromkeys(name for row, _ in islice(_rows(file), _FIRST_ROWS) for name in row))

    def check(self, wanted: Sequence[Wanted]) -> None:
        """Refuse, before anything is charged, a file that is not text, or a compressed one that is damaged."""
        for file, now in self.stamps().items():
            if self._checked.get(file) != now:
                with compressed.opened(file) as stream:
                    _check_start(stream.peek(8)[:8] if hasattr(stream, "peek") else b"", file)
                    while compressed.is_compressed(file) and stream.read(_BLOCK):
                        pass
                self._checked[file] = now

    def chunks(self, file: str, wanted: Sequence[Field], places: Sequence[int]) -> Iterator[Columns]:
        names = [field.name for field in wanted]
        chunk: list[list[Any]] = []
        held = 0
        for row, size in _rows(file):
            chunk.append([_cell(row.get(name)) for name in names])
            held += size
            if len(chunk) == CHUNK or held > _MOST_HELD:
                yield _columns(chunk)
                chunk, held = [], 0
        if chunk:
            yield _columns(chunk)


def _check_start(start: bytes, file: str) -> None:
    for signature, what in _NOT_JSON.items():
        if start.startswith(signature):
            raise Problem(f'cannot be read: the file "{file}" is {what}, not JSON lines', "Write it as JSON lines.")
    if not start:
        raise Problem(f'cannot be read: the file "{file}" is empty', "Write one JSON object on each line.")
    if start.removeprefix(b"\xef\xbb\xbf").lstrip(_WHITE).startswith(b"["):
        raise Problem(
            f'cannot be read: the file "{file}" is one JSON list, not JSON lines',
            "Write each object on a line of its own, without brackets and commas around them.",
        )


def _columns(rows: Sequence[Sequence[Any]]) -> Columns:
    """Return rows as columns; if none is wanted, as one column without values."""
    return list(zip(*rows, strict=True)) or [[None] * len(rows)]


def _rows(file: str) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the objects of a file, one of each line, and how many bytes each has."""
    with compressed.opened(file) as stream:
        first = True
        for line in _lines(stream):
            row = _object(line.removeprefix(b"\xef\xbb\xbf") if first else line)
            first = False
            if row is not None:
                yield row, len(line)


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
        found = _DECODER.decode(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _whole(digits: str) -> int | float:
    """Return a whole number; one that no float can hold is infinite, and so missing."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


_DECODER = json.JSONDecoder(parse_int=_whole)


def _cell(value: Any) -> Any:
    return None if isinstance(value, list | dict) else value
