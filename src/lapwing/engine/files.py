"""The format of files, by the ending of their name or as declared → what reads them."""

from __future__ import annotations

from glob import has_magic
from pathlib import Path

from ..errors import InvalidSource
from ..question.file import File
from .arrow_files import ArrowFiles
from .compressed import ENDINGS, is_compressed, uncompressed
from .csv_files import CsvFiles
from .duckdb_files import DuckdbFiles
from .given import Files
from .json_lines import JsonLines
from .parquet import ParquetFiles
from .sqlite_files import SqliteFiles
from .survey_files import SasFiles, SpssFiles, StataFiles
from .workbooks import Workbooks

_FORMATS: dict[str, tuple[type[Files], tuple[str, ...]]] = {
    "csv": (CsvFiles, (".csv", ".tsv", ".tab", ".txt", ".dat")),
    "parquet": (ParquetFiles, (".parquet", ".pq")),
    "jsonl": (JsonLines, (".jsonl", ".ndjson")),
    "excel": (Workbooks, (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")),
    "sqlite": (SqliteFiles, (".sqlite", ".sqlite3", ".db")),
    "duckdb": (DuckdbFiles, (".duckdb", ".ddb")),
    "arrow": (ArrowFiles, (".arrow", ".feather", ".ipc")),
    "stata": (StataFiles, (".dta",)),
    "spss": (SpssFiles, (".sav", ".zsav", ".por")),
    "sas": (SasFiles, (".sas7bdat", ".xpt")),
}
_TEXT = ("csv", "jsonl")
"""The formats that may be compressed."""

_ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".rar", ".xz")


def files(path: str, name: str, file: File) -> Files:
    """Return the files of a path, folder or glob; nothing is opened."""
    form = file.format or _format(path, name)
    kind, _ = _FORMATS[form]
    if form not in _TEXT and is_compressed(path):
        raise InvalidSource(
            name,
            f"has a table that is {kind.title}, compressed as a whole",
            "Decompress it: only files of text, CSV and JSON lines, are read compressed.",
        )
    for option in file.describe():
        if option not in ("format", *kind.options):
            raise InvalidSource(
                name,
                f"says {option} about how its table is written, which {kind.title} does not need",
                f"Leave {option} out of [file].",
            )
    return kind(path, file)


def _format(path: str, name: str) -> str:
    """Return the format that the ending of a name says; a folder is one of Parquet files."""
    for form, (_, endings) in _FORMATS.items():
        if (uncompressed(path) if form in _TEXT else path.lower()).endswith(endings):
            return form
    if Path(path).is_dir():
        return "parquet"
    what = "pattern" if has_magic(path) else "name"
    if path.lower().endswith(_ARCHIVES):
        raise InvalidSource(name, "has a table in an archive, which is not unpacked", "Unpack it, and name the file.")
    known = [ending for _, endings in _FORMATS.values() for ending in endings]
    raise InvalidSource(
        name,
        f"has a table whose format the {what} does not tell",
        f'Give it under [file], as format = "csv", or let the {what} end in one of {", ".join(known)}; text also '
        f"compressed, with {', '.join(ENDINGS)}.",
    )
