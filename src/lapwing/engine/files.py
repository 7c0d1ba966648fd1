"""The format of files, by the ending of their name or as declared → what reads them."""

from __future__ import annotations

from glob import has_magic

from ..errors import InvalidSource
from ..question.file import File
from .csv_files import CsvFiles
from .given import Files
from .header import uncompressed
from .parquet import ParquetFiles

_ENDINGS: dict[str, type[Files]] = {
    ".csv": CsvFiles,
    ".tsv": CsvFiles,
    ".txt": CsvFiles,
    ".tab": CsvFiles,
    ".dat": CsvFiles,
    ".parquet": ParquetFiles,
    ".pq": ParquetFiles,
}


def files(path: str, name: str, file: File) -> Files:
    """Return the files of a path or glob; nothing is opened."""
    if file.format == "csv":
        return CsvFiles(path, file)
    for ending, kind in _ENDINGS.items():
        if (uncompressed(path) if kind is CsvFiles else path.lower()).endswith(ending):
            return kind(path, file)
    what = "pattern" if has_magic(path) else "name"
    raise InvalidSource(
        name,
        "has a table that is neither CSV nor Parquet",
        f"The {what} must end in .csv, .tsv, .txt, .tab, .dat (also .gz), .parquet or .pq.",
    )
