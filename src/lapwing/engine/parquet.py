"""Parquet files: whether a file is one, its columns by raw names, and the SQL that reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

import duckdb

from ..question.file import File
from ..question.query import literal, quoted
from . import partitions
from .connection import connected
from .given import CHANGED, Files, Handed, Wanted
from .table import Field, Problem, short


class ParquetFiles(Files):
    """A path, folder or glob of Parquet files; what their folders say (``year=2024``) are columns of texts."""

    title = "a Parquet file"
    options = ("decimal", "thousands", "dates", "missing")

    def __init__(self, path: str, file: File) -> None:
        super().__init__(path, file)
        self._known: tuple[dict[str, tuple[int, ...]], list[Field]] = ({}, [])

    @property
    def paths(self) -> list[str]:
        return partitions.files_in(self.path, ENDINGS) if Path(self.path).is_dir() else super().paths

    def holds(self, file: Path) -> bool:
        inside = Path(self.path).is_dir() and Path(self.path).resolve() in file.resolve().parents
        return inside or super().holds(file)

    def fields(self, connection: duckdb.DuckDBPyConnection | None = None) -> list[Field]:
        """Return the columns of the files and of their folders; they are looked at again only if one has changed."""
        now = self.stamps()
        known, fields = self._known
        if now != known:
            fields = self._fields(list(now), connection)
            self._known = now, fields
        return fields

    def _fields(self, files: list[str], connection: duckdb.DuckDBPyConnection | None) -> list[Field]:
        for file in files:
            check_parquet(file)
        if connection is not None:
            fields = parquet_fields(connection, files)
        else:
            with connected() as temporary:
                fields = parquet_fields(temporary, files)
        named = partitions.named(self._base, files)
        partitions.check_names(named, [field.name for field in fields])
        return [*fields, *(Field(name, "VARCHAR") for name in named)]

    def cells(self, connection: duckdb.DuckDBPyConnection, wanted: Sequence[Wanted], fields: Sequence[Field]) -> Handed:
        self._stamps = self.stamps()
        if self.fields(connection) != list(fields):
            raise Problem(*CHANGED)
        files, chosen = list(self._stamps), [fields[each.place] for each in wanted]
        named = partitions.named(self._base, files)
        sql = parquet_sql(files, [field.name for field in chosen], named)
        return Handed(sql, [field.type for field in chosen], [False] * len(chosen))

    @property
    def _base(self) -> Path:
        """The folder below which the names of folders are columns."""
        return Path(self.path) if Path(self.path).is_dir() else self.folder


ENDINGS = (".parquet", ".pq")


def _list(files: list[str]) -> str:
    """Return paths as a list of SQL, each taken as it is."""
    return f"[{', '.join(literal(escape(file)) for file in files)}]"


def check_parquet(file: str) -> None:
    """Refuse a file whose first and last bytes show that it is not Parquet."""
    name = f'cannot be read: the file "{file}"'
    with Path(file).open("rb") as stream:
        start = stream.read(4)
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - 4, 4))  # the two may not overlap
        end = stream.read()
    if not start:
        raise Problem(f"{name} is empty, so it is not a Parquet file", "Write it again.")
    if (start, end) == (b"PARE", b"PARE"):
        raise Problem(f"{name} is an encrypted Parquet file", "Write it without encryption.")
    if (start, end) != (b"PAR1", b"PAR1"):
        raise Problem(
            f"{name} is not a Parquet file: it does not begin and end with PAR1",
            "If it is text, let its name end in .csv; if it was cut off, write it again.",
        )


def parquet_sql(files: list[str], names: Sequence[str], named: Mapping[str, Sequence[str | None]]) -> str:
    """Return the SQL that reads the columns of these names from Parquet files, as c0, c1, …."""
    columns = [partitions.value_sql(named[name]) if name in named else quoted(name) for name in names]
    chosen = ", ".join(f"{column} AS c{i}" for i, column in enumerate(columns)) or "1 AS one"
    return f"(SELECT {chosen} FROM read_parquet({_list(files)}, union_by_name=true, hive_partitioning=false))"


def parquet_fields(connection: duckdb.DuckDBPyConnection, files: list[str]) -> list[Field]:
    """Return the columns of Parquet files, by their raw names; refuse files that differ in names or types."""
    query = (
        "SELECT file_name, name, coalesce(num_children, 0), duckdb_type, precision, "
        "concat_ws(' ', type, type_length, converted_type, logical_type, scale, precision) "
        f"FROM parquet_schema({_list(files)}) ORDER BY file_name, column_id"
    )
    elements: dict[str, list[tuple[Any, ...]]] = {}
    for file, *element in connection.execute(query).fetchall():
        elements.setdefault(file, []).append(tuple(element))
    described = [_top(iter(found)) for found in elements.values()]
    paths = list(elements)
    if len({tuple(sorted((name, whole) for name, _, whole in columns)) for columns in described}) > 1:
        raise Problem(
            f"has files with different columns: {_difference(paths, described)}",
            "All files of a glob must have the same columns, of the same types. Rewrite the files, or choose a "
            "pattern that excludes the files that differ.",
        )
    return [Field(name, kind) for name, kind, _ in described[0]]


def _difference(paths: Sequence[str], described: Sequence[Sequence[tuple[str, str, str]]]) -> str:
    """Return how a file differs from the first one; names and types of columns are public in Parquet files."""
    usual = {name: (kind, whole) for name, kind, whole in described[0]}
    for path, columns in zip(paths, described, strict=True):
        one, other = f'"{path}"', f'"{paths[0]}"'
        names = [name for name, *_ in columns]
        for name in usual:
            if name not in names:
                return f'{one} has no column "{name}", which {other} has'
        for name, kind, whole in columns:
            if name not in usual or names.count(name) > 1:
                return f'{one} has a column "{name}" that {other} does not have'
            usual_kind, usual_whole = usual[name]
            if kind != usual_kind:
                return f'the column "{name}" is {short(kind)} in {one} and {short(usual_kind)} in {other}'
            if whole != usual_whole:
                return f'the column "{name}" is stored in {one} in another way than in {other}'
    return "a name occurs more than once"


def _top(elements: Iterator[tuple[Any, ...]]) -> list[tuple[str, str, str]]:
    """Return name, type and full description of the columns, from a schema that lists its elements depth first."""

    def whole(element: tuple[Any, ...]) -> str:
        name, children, _, _, physical = element
        inside = [whole(next(elements)) for _ in range(children)]
        return f"{name!r} {physical} {inside}"

    _, children, *_ = next(elements)
    found = []
    for _ in range(children):
        element = next(elements)
        name, _, kind, precision, _ = element
        wide = precision is not None and precision > 38  # which DuckDB reads as DOUBLE
        found.append((str(name), "DOUBLE" if wide else str(kind), whole(element)))
    return found
