"""Folders of files, and what the names of folders say: ``year=2024/region=north`` (Hive's partitions).

The values are texts; %-signs are decoded, and Hive's name for no value is missing.  As Spark and DuckDB do, files and
folders whose names begin with a dot or an underscore are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from ..question.query import literal
from .table import Problem

_NOTHING = "__HIVE_DEFAULT_PARTITION__"
_INDEX = "file_index"
"""The column in which DuckDB says which file a row is from; a column of this name in the files would hide it."""


def files_in(folder: str, endings: tuple[str, ...]) -> list[str]:
    """Return the files with these endings in a folder and those in it, in their order."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        shown = [name for name in files if not _is_hidden(name) and name.lower().endswith(endings)]
        for name in [*folders, *shown]:
            path = Path(place) / name
            if path.is_symlink() or not (path.is_dir() or path.is_file()):
                raise Problem(
                    f'cannot be read: "{path}" in the folder is a symbolic link, or not a regular file',
                    "Put the file itself there, or name the files by a pattern.",
                )
        found += [str(Path(place) / name) for name in shown]
    if not found:
        raise Problem(
            f'cannot be read: the folder "{folder}" has no file whose name ends in {endings[0]}',
            "Only Parquet is read from a folder; for other formats name the files, for example folder/*.csv.",
        )
    return sorted(found)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def named(base: Path, files: Sequence[str]) -> dict[str, list[str | None]]:
    """Return the columns that the folders between ``base`` and the files name, with a value for each file."""
    found = [_parts(base, file) for file in files]
    names = [name for name, _ in found[0]]
    for file, parts in zip(files, found, strict=True):
        if [name for name, _ in parts] != names or len(set(names)) < len(names):
            raise Problem(
                f'has files in folders that name different columns: see "{file}" and "{files[0]}"',
                "The folders of all files must name the same columns, as in year=2024/region=north, each once.",
            )
    return {name: [parts[at][1] for parts in found] for at, name in enumerate(names)}


def _parts(base: Path, file: str) -> list[tuple[str, str | None]]:
    """Return the columns that the folders of a file name, and their values."""
    folders = Path(file).parent.parts[len(base.parts) :]
    pairs = [part.split("=", 1) for part in folders if "=" in part.lstrip("=")]
    return [(unquote(name), None if value == _NOTHING else unquote(value)) for name, value in pairs]


def check_names(named: Mapping[str, object], names: Sequence[str]) -> None:
    """Refuse folders that name a column that is also in the files: it would be open which of the two is meant."""
    for name in named:
        if name in names:
            raise Problem(
                f'has the column "{name}" in its files and in the names of their folders',
                "Write the files without it, or name them by a path in which the folders do not have it.",
            )
    if named and any(name.lower() == _INDEX for name in names):
        raise Problem(f'has a column "{_INDEX}" in files in folders that name columns', "Rename the column.")


def value_sql(values: Sequence[str | None]) -> str:
    """Return the SQL for the value that the folder of a row's file has."""
    if len(set(values)) == 1:
        return f"CAST({_text(values[0])} AS VARCHAR)"
    return f"CAST([{', '.join(map(_text, values))}] AS VARCHAR[])[CAST({_INDEX} AS BIGINT) + 1]"


def _text(value: str | None) -> str:
    return "NULL" if value is None else literal(value)
