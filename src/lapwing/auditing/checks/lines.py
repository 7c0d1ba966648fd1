"""Records of CSV files: each row that was written is read as one row with its own cells, whatever they contain.

Files are written as other programs write them, with quotes, separators and line breaks in cells.  How often each cell
is read is compared with how often it was written.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any

from ...question import schema
from ..finding import Finding
from ..room import Room
from ..tools.asking import Asking, Refused

_CELLS = (
    "a", "", '"', '""', ",", "\r", "\n", "\r\n", 'x"y', '"x', "x,y", "x\ry", "x\ny", "x\r\ny", "x\r", "\rx", "x\n",
    '",\n"', "\u00e9", "\u6f22\n\u5b57", "\0", "x\0y", "-", "\ufeff",
)  # fmt: skip
_OTHER = "others"
_PLAIN = 20
"""The number of ordinary rows in a file with one odd row."""

Write = Callable[[Sequence[str], Sequence[Sequence[str]], str], bytes]


def lines(room: Room) -> Iterator[Finding]:
    """Yield, for every writer, line end and number of columns, how many cells are not read as they were written."""
    for name, library, write in _WRITERS:
        if library is not None and not find_spec(library):
            yield Finding(f"CSV of {name}", True, f"{library} is not installed here: its files were not checked")
            continue
        for ends, end in (("LF", "\n"), ("CRLF", "\r\n")):
            for columns in (("c",), ("file", "c", "z")):
                what = f"CSV of {name}, lines with {ends}, {len(columns)} column{'s' * (len(columns) > 1)}"
                yield _written(room, what, write, columns, end)
    yield from _numbers(room)
    yield _large(room)
    yield _refused(room)


def _by_csv(names: Sequence[str], rows: Sequence[Sequence[str]], end: str, quoting: Any = csv.QUOTE_MINIMAL) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end, quoting=quoting).writerows([names, *rows])
    return text.getvalue().encode()


def _by_pandas(names: Sequence[str], rows: Sequence[Sequence[str]], end: str) -> bytes:
    frame = import_module("pandas").DataFrame(rows, columns=list(names))
    return bytes(frame.to_csv(index=False, lineterminator=end).encode())


def _by_polars(names: Sequence[str], rows: Sequence[Sequence[str]], end: str) -> bytes:
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return str(import_module("polars").DataFrame(columns).write_csv(line_terminator=end)).encode()


_WRITERS: tuple[tuple[str, str | None, Write], ...] = (
    ("csv.writer", None, _by_csv),
    ("csv.writer, all in quotes", None, partial(_by_csv, quoting=csv.QUOTE_ALL)),
    ("pandas", "pandas", _by_pandas),
    ("Polars", "polars", _by_polars),
)


def _written(room: Room, what: str, write: Write, columns: Sequence[str], end: str) -> Finding:
    """Write a file in which every odd cell follows every other, and files with one odd cell each, as one table."""
    files = [[cell for pair in product(_CELLS, _CELLS) for cell in pair]]
    files += [[*["a"] * (i % _PLAIN), cell, *["a"] * (_PLAIN - i % _PLAIN)] for i, cell in enumerate(_CELLS)]
    folder = room.path("files")
    folder.mkdir()
    due: Counter[tuple[str, ...]] = Counter()
    several = len(columns) > 1
    for i, cells in enumerate(files):
        rows = [(str(i), cell, "z") if several else (cell,) for cell in cells]
        (folder / f"{i}.csv").write_bytes(write(columns, rows, end))
        due.update((*([str(i)] if several else []), _key(cell, several)) for cell in cells)
    keys = [
        key for key in dict.fromkeys([*_CELLS, *(_key(cell, several) for cell in _CELLS)]) if key and "\0" not in key
    ]
    keys.remove(_OTHER)
    declared = {"c": schema.keys(keys, other=_OTHER), "file": schema.keys(list(map(str, range(len(files)))))}
    by = tuple(each for each in columns if each != "z")
    found = Asking(room, {each: declared[each] for each in by}, by=by).integers(str(folder / "*.csv"))
    if isinstance(found, Refused):
        return Finding(what, False, str(found))
    counted: Counter[tuple[str, ...]] = Counter()
    groups = product(*([map(str, range(len(files)))] if several else []), [*keys, _OTHER])
    for (*file, key), number in zip(groups, found[0], strict=True):
        counted[*file, _key(key, several)] += number
    wrong = sum(abs(counted[group] - due[group]) for group in {*counted, *due})
    told = f"{wrong} of {due.total():,} cells in {len(files)} files are not read as they were written"
    return Finding(what, not wrong, told)


def _key(cell: str, several: bool) -> str:
    """Return the cell as which a cell is counted: empty cells, and cells with a NUL, count as one of the others.

    A carriage return at the end of a line belongs to the line end, if the writer put no quotes around it.
    """
    cell = cell if several else cell.removesuffix("\r")
    return _OTHER if not cell or "\0" in cell else cell


def _numbers(room: Room) -> Iterator[Finding]:
    """Yield how many rows are read where one cell could make a thousand of them, or hide as many."""
    asking = Asking(room, {"c": "text"})
    files = {
        "a cell with 1,000 carriage returns, alone in its line": ("c\n" + "a\n" * 10 + "x\r" * 1000 + "x\n", 11),
        "a row `a\\r,\"x\\r\\n\",c` in a file with CRLF": (
            "a,b,c\r\n" + "1,2,3\r\n" * 10 + 'a\r,"x\r\n",c\r\n' + "1,2,3\r\n" * 1000, 1011,
        ),
        "a cell in quotes of 100 lines": ("c,d\n" + "1,2\n" * 10 + '"' + "1,2\n" * 100 + '",2\n' + "1,2\n" * 10, 21),
        "rows that are too short and too long": ("c,d\n1,2\n1\n1,2,3,4\n1,2\n", 3),
    }  # fmt: skip
    for what, (text, rows) in files.items():
        yield _rows(f"CSV: {what}", asking, _file(room, text), rows)


def _large(room: Room) -> Finding:
    """A file that is read in parts, by several threads, with quotes in which lines look like records."""
    line = f"1,{'x' * 995}\n"
    hidden = '1,"' + line * 50 + '"\n'
    number = 17_000
    text = "c,d\n" + (line * number + hidden) * 2 + line * 10
    return _rows(
        f"CSV of {len(text) >> 20} MB, read in parallel",
        Asking(room, {"c": "text"}),
        _file(room, text),
        2 * number + 12,
    )


def _rows(what: str, asking: Asking, path: str, rows: int) -> Finding:
    found = asking.people(path)
    told = str(found) if isinstance(found, Refused) else f"{found:,.0f} rows are read, of {rows:,}"
    return Finding(what, found == rows, told)


def _refused(room: Room) -> Finding:
    """Files whose records cannot be known."""
    asking = Asking(room, {"c": "text"})
    texts = ('c\n1\n"a\n2\n', 'c\n1\na"b\n2\n', 'c\n1\n"a"b\n2\n', 'c,d\n1,"2\n3,4\n', 'c,d\r\n1,2"\r\n3,4\r\n')
    found = [asking.integers(_file(room, text)) for text in texts]
    read = sum(not isinstance(each, Refused) for each in found)
    charged = sum(isinstance(each, Refused) and each.charged for each in found)
    told = f"of {len(texts)} files {read} are read, and {charged} refused after the charge"
    return Finding("CSV with quotes that do not pair up", not read and not charged, told)


def _file(room: Room, text: str) -> str:
    path = room.path("csv")
    path.write_bytes(text.encode())
    return str(path)
