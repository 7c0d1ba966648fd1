"""SQLite files: one table of each, every cell with a type of its own.

A file is opened to be read only, nothing in its schema is trusted, and no view, trigger or expression of it runs.  All
rows come from one transaction, so a program that writes at the same time changes nothing, and neither do we.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..report import printable
from .given import CHANGED, Wanted
from .header import LONGEST
from .objects import CHUNK, Columns, ObjectFiles
from .table import DescribedField, Field, Problem

_MAGIC = b"SQLite format 3\0"
_PATIENCE = 10.0
"""Seconds to wait for a program that is writing."""

_COMPUTED = 2
"""What SQLite says about a column that is computed whenever it is read."""


class SqliteFiles(ObjectFiles):
    """A path or glob of SQLite files."""

    title = "an SQLite file"
    options = ("part", "dates", "missing")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._checked: dict[tuple[object, ...], tuple[int, ...]] = {}

    def names(self, file: str) -> list[object]:
        with _opened(file) as base:
            return [name for name, *_ in self._columns(base, file)]

    def described(self) -> list[DescribedField]:
        file = self.paths[0]
        with _opened(file) as base:
            return [DescribedField(name, _affinity(kind)) for name, kind, _ in self._columns(base, file)]

    def check_names(self) -> None:
        """Refuse a file with several tables, and show their names to its owner."""
        for file in self.paths:
            with _opened(file) as base:
                self._table(base, file, owner=True)

    def check(self, wanted: Sequence[Wanted]) -> None:
        """Refuse, before anything is charged, a damaged file, and columns that are computed when they are read."""
        places = [each.place for each in wanted]
        for file, now in self.stamps().items():
            if self._checked.get((file, *places)) == now:
                continue
            with _opened(file) as base:
                columns = self._columns(base, file)
                _check_stored(file, [columns[at] for at in places])
                sizes = [f"max(length({_quoted(columns[at][0])}))" for at in places]
                base.execute(f"SELECT {', '.join(sizes) or 'count(*)'} FROM {self._table(base, file)}").fetchall()
            self._checked[file, *places] = now

    def chunks(self, file: str, wanted: Sequence[Field], places: Sequence[int]) -> Iterator[Columns]:
        with _opened(file) as base:
            columns = self._columns(base, file)
            if [columns[at][0] for at in places if at < len(columns)] != [field.name for field in wanted]:
                raise Problem(*CHANGED)
            _check_stored(file, [columns[at] for at in places])
            chosen = ", ".join(_bounded(_quoted(field.name)) for field in wanted) or "1"
            found = base.execute(f"SELECT {chosen} FROM {self._table(base, file)}")
            while rows := found.fetchmany(CHUNK):
                yield list(zip(*rows, strict=True))

    def check_unchanged(self) -> None:
        """Do nothing: all rows are those of one moment."""

    def _table(self, base: sqlite3.Connection, file: str, owner: bool = False) -> str:
        """Return the table that is meant, quoted; the owner may see the names of the others."""
        name, part = f'cannot be read: the file "{file}"', self.file.part
        query = (
            "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        kinds = dict(base.execute(query).fetchall())
        tables = sorted(table for table, kind in kinds.items() if kind == "table")
        listed = f" It has: {', '.join(map(printable, tables))}." if owner and tables else ""
        if part is None:
            if len(tables) != 1:
                advice = (
                    f"Name the one that is meant: part in [file], or lapwing init --part.{listed}"
                    if tables
                    else "Write it again."
                )
                raise Problem(f"{name} has {len(tables) or 'no'} tables", advice)
            return _quoted(tables[0])
        if part not in kinds:
            raise Problem(f'{name} has no table "{part}"', f"Names are compared exactly.{listed}")
        if kinds[part] != "table":
            raise Problem(
                f'{name} has "{part}" as a view or a virtual table, which would run what is written in the file',
                "Copy it to a table, with CREATE TABLE … AS SELECT * FROM …, and name that.",
            )
        return _quoted(part)

    def _columns(self, base: sqlite3.Connection, file: str) -> list[tuple[str, str, int]]:
        """Return name, declared type, and whether and how it is computed, of each column."""
        table = self._table(base, file)[1:-1].replace('""', '"')
        query = "SELECT name, type, hidden FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid"
        return base.execute(query, (table,)).fetchall()


@contextmanager
def _opened(file: str) -> Iterator[sqlite3.Connection]:
    """Yield a connection to a file in one transaction; turn SQLite's errors, which may quote it, into our own."""
    _check_start(file)
    failed = False
    try:
        with closing(_connected(file)) as base:
            base.execute("BEGIN")
            yield base
    except (sqlite3.Error, OverflowError, UnicodeError, ValueError):
        failed = True
    if failed:
        raise Problem(
            f'cannot be read: the file "{file}" is damaged, uses functions in its schema that SQLite does not trust, '
            "or is being changed by another program",
            "Try again when it is not in use; PRAGMA integrity_check in SQLite tells whether it is damaged.",
        )


def _connected(file: str) -> sqlite3.Connection:
    """Return a connection that can only read.

    A file in the mode of a write-ahead log cannot be opened in a folder that is not writable: if there is no log,
    nothing is being written, and it can be read as a file that does not change.
    """
    path = str(Path(file).resolve())
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        base = sqlite3.connect(f"file:{quote(path)}?{mode}", uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            base.text_factory = _text
            base.execute("PRAGMA trusted_schema = OFF")
            base.execute("PRAGMA query_only = ON")
            base.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except sqlite3.OperationalError:
            base.close()
            if mode != "mode=ro" or Path(f"{path}-wal").exists() or Path(f"{path}-journal").exists():
                raise
        else:
            return base
    raise AssertionError  # the loop returns or raises


def _text(data: bytes) -> str | bytes:
    """Return a text; if it is not UTF-8, its bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _check_start(file: str) -> None:
    """Refuse a file whose first bytes show that it is not SQLite, or that it was cut off."""
    with Path(file).open("rb") as stream:
        start = stream.read(100)
    name = f'cannot be read: the file "{file}"'
    if len(start) < 100 or not start.startswith(_MAGIC):
        raise Problem(f"{name} is not an SQLite file, or it is encrypted", "Look at what `table` names.")
    page = int.from_bytes(start[16:18]) or 1
    size = (65536 if page == 1 else page) * int.from_bytes(start[28:32])
    if (
        start[24:28] == start[92:96]
        and size > Path(file).stat().st_size
        and not Path(f"{Path(file).resolve()}-wal").exists()
    ):
        raise Problem(f"{name} was cut off: it is shorter than it says", "Copy or write it again.")


def _check_stored(file: str, columns: Sequence[tuple[str, str, int]]) -> None:
    for name, _, hidden in columns:
        if hidden == _COMPUTED:
            raise Problem(
                f'cannot be read: the column "{name}" of the file "{file}" is computed when it is read, which a cell '
                "could make fail",
                "Make it a STORED column, or copy the table with CREATE TABLE … AS SELECT * FROM ….",
            )


def _affinity(kind: str) -> str:
    """Return a type for ``lapwing init`` from what a column is declared as, which does not bind its cells."""
    kind = kind.upper()
    for words, name in (
        (("BOOL",), "BOOLEAN"),
        (("DATE", "TIME"), "DATE"),
        (("INT",), "BIGINT"),
        (("REAL", "FLOA", "DOUB", "NUM", "DEC"), "DOUBLE"),
    ):
        if any(word in kind for word in words):
            return name
    return "VARCHAR"


def _bounded(column: str) -> str:
    """Return the SQL for a cell; one that is longer than a record of a CSV file may be is missing."""
    return f"CASE WHEN length(CAST({column} AS BLOB)) <= {LONGEST} THEN {column} END"


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
