"""How a release is written to files: piece by piece, and under its final name only when it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from shutil import copymode
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
from numpy.typing import NDArray

from ..engine.connection import measure_progress, write_in_step
from ..engine.table import interruptible
from ..measure.cells import Progress
from ..question.query import literal

Piece = Mapping[str, NDArray[Any]]

_COPYING = 1 / 3
"""The share of the time that it takes to make one file of many."""


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder: one that exists, or one that ends in a slash."""
    return os.fspath(path).endswith((os.sep, "/")) or Path(path).is_dir()


@contextmanager
def in_place_of(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a name to write to; the file replaces ``path`` when the block ends without an error.

    A device or a pipe is written to as it is.
    """
    place = Path(path)
    if place.exists() and not place.is_file():
        yield place
        return
    place = place.resolve()
    with TemporaryDirectory(prefix=".lapwing-", dir=place.parent) as folder:
        temporary = Path(folder) / place.name
        yield temporary
        if place.exists():
            copymode(place, temporary)
        temporary.replace(place)


def write_parquet(
    path: str | os.PathLike[str], pieces: Iterator[Piece], number: int, progress: Progress | None = None
) -> None:
    """Write ``number`` pieces of columns to a Parquet file, or to files in a folder, one for each."""

    def report(share: float) -> None:
        if progress is not None:
            progress(share)

    if is_folder(path):
        _write_folder(Path(path), pieces, lambda done: report(done / number))
        return
    with in_place_of(path) as temporary, _connected() as connection:
        if number == 1:
            _write(connection, next(pieces), temporary)
        else:
            with TemporaryDirectory(prefix="parts-", dir=temporary.parent) as folder:
                files = _write_parts(connection, Path(folder), pieces, lambda k: report((1 - _COPYING) * k / number))
                _copy(connection, files, temporary, lambda share: report(1 - _COPYING * (1 - share)))
        report(1.0)


def _write_folder(folder: Path, pieces: Iterator[Piece], report: Callable[[int], None]) -> None:
    """Write all parts to a folder that is new or empty: files in it could belong to a table."""
    new = not folder.exists()
    if not new and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    folder.mkdir(exist_ok=True)
    try:
        with TemporaryDirectory(prefix=".lapwing-", dir=folder) as hidden:
            with _connected() as connection:
                files = _write_parts(connection, Path(hidden), pieces, report)
            for file in files:
                file.replace(folder / file.name)
    except BaseException:
        if new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _write_parts(
    connection: duckdb.DuckDBPyConnection, folder: Path, pieces: Iterator[Piece], report: Callable[[int], None]
) -> list[Path]:
    files: list[Path] = []
    for piece in pieces:
        files.append(folder / f"part-{len(files):05d}.parquet")
        _write(connection, piece, files[-1])
        report(len(files))
    return files


@contextmanager
def _connected() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as connection:
        write_in_step(connection)
        measure_progress(connection)
        yield connection


def _write(connection: duckdb.DuckDBPyConnection, piece: Piece, file: Path) -> None:
    connection.register("released", dict(piece))
    copy = f"COPY (SELECT * FROM released) TO {literal(str(file))} (FORMAT parquet)"
    interruptible(lambda: connection.execute(copy), lambda: None, connection.interrupt)
    connection.unregister("released")


def _copy(connection: duckdb.DuckDBPyConnection, files: list[Path], to: Path, report: Progress) -> None:
    """Make one file of many, in their order."""
    listed = ", ".join(literal(escape(str(file))) for file in files)
    parts = f"read_parquet([{listed}], hive_partitioning = false)"
    interruptible(
        lambda: connection.execute(f"COPY (SELECT * FROM {parts}) TO {literal(str(to))} (FORMAT parquet)"),
        lambda: report(max(connection.query_progress(), 0.0) / 100),
        connection.interrupt,
    )
