"""Answers as files to take away, made in a folder of their own that is removed at once."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from ...charts.picture import picture
from ...release.comparison import Comparison
from ...release.result import Release
from ..refusals import json_bytes

Answer = Release | Comparison


@dataclass(frozen=True)
class FileKind:
    """A kind of file: what it is called, its ending, its media type, and how it is made."""

    title: str
    ending: str
    media: str
    make: Callable[[Answer], bytes]


def file_of(answer: Answer, kind: str) -> bytes:
    """Return an answer as a file."""
    return FILES[kind].make(answer)


def files_here() -> dict[str, FileKind]:
    """Return the files that can be made with the libraries that are here."""
    drawn = find_spec("altair") is not None and find_spec("vl_convert") is not None
    return {name: kind for name, kind in FILES.items() if drawn or name not in ("svg", "png")}


def _parquet(answer: Answer) -> bytes:
    with TemporaryDirectory(prefix="lapwing-") as folder:
        file = Path(folder) / "data.parquet"
        answer.to_parquet(file)
        return file.read_bytes()


def _packaged(*only: str) -> Callable[[Answer], bytes]:
    """Return what makes some formats of a package: the only file of one, or a ZIP of all.

    Texts that a spreadsheet would compute are shielded: whoever asked chose the names of an answer that others open.
    """

    def make(answer: Answer) -> bytes:
        with TemporaryDirectory(prefix="lapwing-") as folder:
            place = Path(folder) / "package"
            answer.package(place, only=only, safe_csv=True)
            if only in (("csv",), ("xlsx",)):
                return (place / f"data.{only[0]}").read_bytes()
            return _zipped(place)

    return make


def _zipped(folder: Path) -> bytes:
    """Return the files of a folder as a ZIP, in an order and with times that do not depend on this machine."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.writestr(zipfile.ZipInfo(file.name, (1980, 1, 1, 0, 0, 0)), file.read_bytes())
    return made.getvalue()


def _html(answer: Answer) -> bytes:
    return answer.to_html().encode("utf-8", "backslashreplace")


def _drawn(form: str) -> Callable[[Answer], bytes]:
    return lambda answer: picture(answer.plot(), form)


_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

FILES = {
    "csv": FileKind("CSV", ".csv", "text/csv; charset=utf-8", _packaged("csv")),
    "json": FileKind("JSON", ".json", "application/json", lambda answer: json_bytes(answer.to_dict())),
    "parquet": FileKind("Parquet", ".parquet", "application/vnd.apache.parquet", _parquet),
    "xlsx": FileKind("Excel", ".xlsx", _EXCEL, _packaged("xlsx")),
    "sdmx": FileKind("SDMX", ".sdmx.zip", "application/zip", _packaged("sdmx")),
    "package": FileKind("Package (all formats)", ".zip", "application/zip", _packaged()),
    "html": FileKind("HTML report", ".html", "text/html; charset=utf-8", _html),
    "svg": FileKind("Chart (SVG)", ".svg", "image/svg+xml", _drawn("svg")),
    "png": FileKind("Chart (PNG)", ".png", "image/png", _drawn("png")),
}
"""The files of an answer, in the order of the page."""
