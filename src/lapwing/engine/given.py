"""What DuckDB is given to read: files of one format, a data frame, or a relation.

Each kind says which columns it has, refuses what cannot be read before anything is charged, and hands the needed cells
over as c0, c1, …, in a form in which one cell does not change how another is read (claim E0).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatch
from glob import glob, has_magic
from itertools import takewhile
from pathlib import Path
from typing import ClassVar

import duckdb

from ..errors import suggestion
from ..question.codes import Kind
from ..question.file import File
from .recognised import Recognised
from .table import DescribedField, Field, Problem


@dataclass(frozen=True)
class Wanted:
    """A column to read: its position in the table, and what it is declared as; None for the person."""

    place: int
    kind: Kind | None


@dataclass(frozen=True)
class Handed:
    """The needed cells: SQL with the columns c0, c1, …, their types, and which were objects, read one by one."""

    sql: str
    types: Sequence[str]
    objects: Sequence[bool]


class Readable(ABC):
    """A table that DuckDB reads."""

    is_text = False
    """Whether a cell has the type that is declared, and a row may be left out because of what is in it."""

    stored = False
    """Whether the rows are kept as they are, and not the result of a filter."""

    left_out = 0
    unreadable = 0
    """How many records were left out when it was read last, and how many cells were missing since their bytes are not
    in the encoding: private numbers, for ``lapwing check``."""

    guesses_encoding = False
    """Whether it is text that is taken for UTF-8, though the source could say its encoding and does not."""

    named_by_rows = False
    """Whether each row names its own cells, so that no declared column can be lacking."""

    folder: Path | None = None
    """The folder of its files."""

    @abstractmethod
    def __repr__(self) -> str: ...

    @abstractmethod
    def fields(self, connection: duckdb.DuckDBPyConnection | None = None) -> list[Field]:
        """Return the names and types of all columns, in their order; the connection is used if one is needed."""

    @abstractmethod
    def cells(self, connection: duckdb.DuckDBPyConnection, wanted: Sequence[Wanted], fields: Sequence[Field]) -> Handed:
        """Return the SQL that reads columns on this connection."""

    def check(self, wanted: Sequence[Wanted]) -> list[str] | None:
        """Refuse, before anything is charged, what cannot be read; return types that are known only now."""
        return None

    def described(self) -> list[DescribedField]:
        """Return what the table says about its columns, for ``lapwing init``."""
        return [DescribedField(name, kind) for name, kind in self.fields()]

    def check_unchanged(self) -> None:  # noqa: B027  # frames and relations need no more than their names and types
        """Refuse files that have changed since they were opened."""

    def check_names(self) -> None:  # noqa: B027  # as above
        """Refuse a table whose names look like cells, before they are written to a file; for ``lapwing init``."""

    def recognised(self, header: bool = True) -> Recognised | None:
        """Return how its files are written as far as it can be recognised, for ``lapwing init``; None if it is told."""
        return None

    def lacking(self, column: str, names: Sequence[object]) -> tuple[str, str]:
        """Return a possible cause if a column is not among the names, and what to do, from public facts."""
        return "", "`lapwing init` lists its columns."

    def holds(self, file: Path) -> bool:
        """Return whether a file is, or if it is made will be, one of the table's."""
        return False

    def shares_rows_with(self, other: Readable) -> bool:
        """Return whether both have a file in common, whatever it is called, or are called the same."""
        return repr(self) == repr(other)

    def modified(self) -> datetime | None:
        """Return when its files were last modified."""
        return None


class Files(Readable):
    """A path or glob of files, and how they are written."""

    stored = True

    title: ClassVar[str] = "a file"
    """What one of these files is called."""

    options: ClassVar[tuple[str, ...]] = ()
    """What can be said about how they are written, beside their format."""

    def __init__(self, path: str, file: File) -> None:
        self.path = path
        self.file = file
        self._stamps: dict[str, tuple[int, ...]] = {}

    def __repr__(self) -> str:
        return repr(self.path)

    @property
    def paths(self) -> list[str]:
        """The file of this name, or those that the glob names, in their order."""
        files = matching(self.path)
        for file in files:
            check_regular(file)
        return files

    def stamps(self) -> dict[str, tuple[int, ...]]:
        """Return what changes if a file is changed, by file."""
        return {file: stamp(file) for file in self.paths}

    def check_unchanged(self) -> None:
        if self.stamps() != self._stamps:
            raise Problem(*CHANGED)

    @property
    def folder(self) -> Path:  # type: ignore[override]
        """The folder of the file; for a glob, the folder before its first part with a wildcard."""
        path = Path(self.path)
        if not has_magic(self.path) or path.exists():
            return path.parent
        return Path(*takewhile(lambda part: not has_magic(part), path.parts))

    def holds(self, file: Path) -> bool:
        return is_named(file, self.path) or _identity(file) in self._identities()

    def shares_rows_with(self, other: Readable) -> bool:
        if not isinstance(other, Files):
            return False
        mine, others = self._identities(), other._identities()
        if mine and others:
            return bool(mine & others)
        return self.holds(Path(other.path)) or other.holds(Path(self.path))

    def _identities(self) -> set[tuple[int, int] | None]:
        """Return what its files are, whatever they are called; of those that cannot be reached, nothing."""
        try:
            files = self.paths
        except (OSError, Problem, ValueError):
            files = named_files(self.path)
        return {_identity(Path(file)) for file in files} - {None}

    def modified(self) -> datetime | None:
        try:
            return datetime.fromtimestamp(max(Path(file).stat().st_mtime for file in self.paths), UTC)
        except (OSError, OverflowError, Problem, ValueError):
            return None

    def lacking(self, column: str, names: Sequence[object]) -> tuple[str, str]:
        shown = suggestion(column, map(str, names))
        return "", f"Names are compared exactly; `lapwing init` lists them.{shown}"


CHANGED = ("has a file that was changed while it was read", "Wait until it is completely written, and ask again.")


def is_named(file: Path, path: str) -> bool:
    """Return whether a path or glob names a file, also by another name (a link), or would if it were there."""
    place, wanted, own = str(file.resolve()), str(Path(path).resolve()), _identity(file)
    if place == wanted or (has_magic(path) and fnmatch(place, wanted)):
        return True
    return own is not None and any(own == _identity(Path(each)) for each in named_files(path))


def _identity(file: Path) -> tuple[int, int] | None:
    """Return what a file is, whatever it is called; None if it cannot be reached."""
    try:
        status = file.stat()
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino)


def stamp(file: str) -> tuple[int, ...]:
    """Return what changes if a file is changed."""
    status = Path(file).stat()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def check_regular(file: str) -> None:
    """Refuse what is not a file: to open a pipe waits for ever, and a device has no end."""
    place = Path(file)
    if place.is_dir():
        raise Problem(f'cannot be read: "{file}" is a folder', "Name a file; only Parquet is read from a folder.")
    if place.exists() and not place.is_file():
        raise Problem(f'cannot be read: "{file}" is not a regular file', "Copy what it yields to a file.")


def matching(path: str) -> list[str]:
    """Return the file of this name, or those that the glob names, in their order; refuse a name without a file."""
    files = named_files(path)
    if not files or not Path(files[0]).exists():
        advice = "Look at what `table` names."
        if any(part.startswith("~") for part in Path(path).parts):
            advice = "A ~ is not expanded: write the path in full, or in Python Path(…).expanduser()."
        elif has_magic(path):
            advice = "No file matches this pattern. `*` stands for a part of a name, `**` for any folders."
        raise Problem(f'could not be opened: there is no file "{path}"', advice)
    return files


def named_files(path: str) -> list[str]:
    """Return the file of this name, whether it is there or not, or those that the glob names, in their order."""
    return [path] if Path(path).exists() or not has_magic(path) else sorted(glob(path, recursive=True))  # noqa: PTH207
