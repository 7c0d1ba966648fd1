"""A release as a folder that one can hand over: the data in several formats, what they are, and their checksums.

The folder is written beside its place and then renamed: it is there completely, or not at all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import duckdb

from ..errors import InvalidParameter, InvalidRequest, OutputError, Shown, suggestion
from ..release.account import listed, without_noise
from ..release.columns import csv_text, in_files
from ..release.noise_marks import told
from ..release.recorded import entries_text
from ..release.result import Release
from ..report import printable
from .csvw import csvw_metadata
from .datapackage import data_package
from .described import Answer, ExportColumn, export_columns, facts_of, plan_of, release_of, software, title_of
from .parquet import write_parquet_with_metadata
from .registry import registry_record
from .sdmx import SdmxTables
from .texts import json_text, shielded
from .workbook import MOST_ROWS, write_workbook

FIRST_LINE = "A package of released statistics, written by Lapwing."
README = "README.txt"
_HEX = 64
"""The length of a SHA-256 as text."""


@dataclass(frozen=True)
class Packing:
    """What the files of a package are written from."""

    answer: Answer
    safe: bool

    @cached_property
    def columns(self) -> list[ExportColumn]:
        """What each column is."""
        return export_columns(self.answer, next(iter(self.answer.pieces())))

    @property
    def recorded(self) -> str:
        """When the answer was recorded; an answer that was not charged has no time."""
        return release_of(self.answer).recorded_at or "1970-01-01T00:00:00Z"

    @property
    def whole(self) -> set[str]:
        """The names of numbers that add up."""
        return self.answer.adding_up if isinstance(self.answer, Release) else set()

    def pieces(self) -> Iterator[Mapping[str, list[Any]]]:
        """Yield the columns of the answer as files have them, some groups at a time."""
        return (in_files(piece, self.whole) for piece in self.answer.pieces())

    def csv(self, folder: Path) -> None:
        """Write data.csv."""
        whole = {shielded(name) for name in self.whole} if self.safe else self.whole
        with (folder / "data.csv").open("w", encoding="utf-8", newline="") as file:
            for i, piece in enumerate(self.answer.pieces()):
                file.write(csv_text(_shielded(piece) if self.safe else piece, header=i == 0, whole=whole))

    def parquet(self, folder: Path) -> None:
        """Write data.parquet."""
        write_parquet_with_metadata(self.answer, self.columns, folder / "data.parquet")

    def sdmx(self, folder: Path) -> None:
        """Write data.sdmx.csv and its structure."""
        tables = SdmxTables(self.answer, self.columns)
        with (folder / "data.sdmx.csv").open("w", encoding="utf-8", newline="") as file:
            tables.write(file, self.pieces())
        _put(folder / "data.sdmx-structure.json", json_text(tables.structure(self.recorded)))

    def csvw(self, folder: Path) -> None:
        """Write the metadata of data.csv."""
        _put(folder / "data.csv-metadata.json", json_text(csvw_metadata(self.answer, self.columns, safe=self.safe)))

    def registry(self, folder: Path) -> None:
        """Write the record for the registry."""
        _put(folder / "registry.yaml", registry_record(self.answer))

    def xlsx(self, folder: Path) -> None:
        """Write the workbook."""
        self.workbook(folder / "data.xlsx")

    def workbook(self, file: Path) -> None:
        """Write the workbook to a file."""
        write_workbook(self.answer, self.columns, self.pieces(), file)

    def html(self, folder: Path) -> None:
        """Write the report."""
        self.answer.to_html(folder / "report.html")

    def datapackage(self, folder: Path) -> None:
        """Write the data package, which describes the files that are there."""
        files = {file.name: (file.stat().st_size, _digest(file)) for file in folder.iterdir()}
        described = data_package(self.answer, self.columns, files, self.recorded, safe=self.safe)
        _put(folder / "datapackage.json", json_text(described))


@dataclass(frozen=True)
class Format:
    """One format of a package: how it is written, and what its files are."""

    write: Callable[[Packing, Path], None]
    files: Mapping[str, str]
    needs: tuple[str, ...] = ()


FORMATS: dict[str, Format] = {
    "csv": Format(Packing.csv, {"data.csv": "the numbers, as CSV in UTF-8"}),
    "parquet": Format(
        Packing.parquet, {"data.parquet": "the numbers, as Parquet; the metadata is in the file, under the key lapwing"}
    ),
    "sdmx": Format(
        Packing.sdmx,
        {
            "data.sdmx.csv": "the numbers, as SDMX-CSV 2.0: one row for each, with flags",
            "data.sdmx-structure.json": "the structure of data.sdmx.csv, as SDMX-JSON 2.0: code lists and concepts",
        },
    ),
    "csvw": Format(
        Packing.csvw, {"data.csv-metadata.json": "what the columns of data.csv are, as CSVW (CSV on the Web)"}, ("csv",)
    ),
    "xlsx": Format(Packing.xlsx, {"data.xlsx": "the numbers, the columns and notes, as an Excel workbook"}),
    "html": Format(Packing.html, {"report.html": "a report to read in a browser; it needs no network"}),
    "registry": Format(
        Packing.registry,
        {"registry.yaml": "a record for the registry of deployments of differential privacy; complete it first"},
    ),
    "datapackage": Format(
        Packing.datapackage,
        {"datapackage.json": "what the files and the columns of data.csv are, as a frictionless data package"},
        ("csv",),
    ),
}
"""The formats, in the order in which they are written: the data package describes the others."""


def package(
    answer: Answer,
    path: str | os.PathLike[str],
    *,
    only: str | Sequence[str] = (),
    force: bool = False,
    safe_csv: bool = False,
) -> list[str]:
    """Write a folder with the answer in several formats; return the names of its files (docs/reference/package.md)."""
    if isinstance(answer, Release) and answer.evidence:
        raise InvalidRequest(
            f"The answer is combined from {entries_text(answer.entries)}, and a package is about one entry",
            "Write it by to_csv, to_parquet or to_html, or package each answer by itself.",
        )
    wanted = _possible(answer, only)
    place = Path(path)
    check_folder(place, force=force)
    content = Packing(answer, bool(safe_csv))
    try:
        with _in_place_of_folder(place, force=force) as folder:
            for name in wanted:
                FORMATS[name].write(content, folder)
            _put(folder / README, _readme(content, folder))
            written = sorted(file.name for file in folder.iterdir())
    except (OSError, duckdb.Error):
        raise OutputError(path, answer.entry) from None
    return written


def _possible(answer: Answer, only: str | Sequence[str]) -> list[str]:
    """Return the formats to write; one that is impossible is refused if it was named, and left out if it was not."""
    wanted, refusals = _wanted(only), {}
    try:
        check_sheet(len(answer))
    except InvalidRequest as too_many:
        refusals["xlsx"] = too_many
    if answer.entry is None:
        refusals["registry"] = InvalidRequest(
            "The answer is public, without noise: there is nothing to register", "Leave out registry."
        )
    for name, refusal in refusals.items():
        if only and name in wanted:
            raise refusal
    return [name for name in wanted if name not in refusals]


def check_sheet(groups: int) -> None:
    """Refuse a workbook of more groups than a sheet holds."""
    if groups > MOST_ROWS:
        raise InvalidRequest(
            f"A sheet of Excel holds {MOST_ROWS:,} groups, and the answer has {groups:,}",
            "Leave out xlsx, or package some groups: answer.cut(…).",
        )


def names_of(only: str | Sequence[str] = ()) -> list[str]:
    """Return the names of the files that a package would have."""
    return [*(file for name in _wanted(only) for file in FORMATS[name].files), README]


def _wanted(only: str | Sequence[str]) -> list[str]:
    asked = [only] if isinstance(only, str) else list(only)
    for name in asked:
        if name not in FORMATS:
            known = f"one of {', '.join(FORMATS)}.{suggestion(str(name), FORMATS)}"
            raise InvalidParameter(name if isinstance(name, str) else Shown("a format"), "only", known.rstrip("."))
    needed = {each for name in asked for each in (name, *FORMATS[name].needs)}
    return [name for name in FORMATS if not asked or name in needed]


# --- the folder ---


def check_folder(place: Path, *, force: bool) -> None:
    """Refuse a place where something is that a package would replace, unless it is a package and ``force`` is given."""
    if not place.exists() and not place.is_symlink():
        if not place.resolve().parent.is_dir():
            raise InvalidRequest(f"There is no folder {place.resolve().parent}", "Make it first, or give another one.")
        return
    if Path.cwd().is_relative_to(place.resolve()):
        raise InvalidRequest(f"{place} is the folder that you are in", "Give the name of a new folder.")
    if not place.is_dir():
        raise InvalidRequest(f"{place} is not a folder", "Give the name of a new folder.")
    there = sorted(each.name for each in place.iterdir())
    if not there:
        return
    if not force:
        raise InvalidRequest(
            f"{place} is not empty", "Give a new folder; or, if it is a package to be replaced, force (--force)."
        )
    strange = [name for name in there if name not in names_of()]
    sums = _sums(place)
    if strange or sums is None:
        what = f'it has "{printable(strange[0])}"' if strange else f"it has no {README} of a package"
        raise InvalidRequest(
            f"{place} is not a package of Lapwing: {what}", "Only a package is replaced.  Give a new folder."
        )
    for name in there:
        file = place / name
        if file.is_symlink() or not file.is_file() or (name != README and sums.get(name) != _digest(file)):
            raise InvalidRequest(
                f"{file} has changed since the package was written", "Move what you want to keep, or give a new folder."
            )


def _sums(place: Path) -> dict[str, str] | None:
    """Return the checksums that a package says its files have, or None if it is no package."""
    try:
        lines = (place / README).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError):
        return None
    if lines[:1] != [FIRST_LINE]:
        return None
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines) if len(digest) == _HEX}


@contextmanager
def _in_place_of_folder(place: Path, *, force: bool) -> Iterator[Path]:
    """Yield a new folder to write to, which takes its place when the block ends without an error.

    One that is there keeps its mode; a new one has that of the umask.
    """
    target = place.resolve()
    working = Path(mkdtemp(prefix=".lapwing-", dir=target.parent))
    new, old = working / "new", working / "old"
    try:
        new.mkdir()
        yield new
        check_folder(place, force=force)  # again: it may have changed meanwhile
        try:
            if target.exists():
                shutil.copymode(target, new)
                target.rename(old)
            new.rename(target)
        except BaseException:
            if old.exists() and not target.exists():
                old.rename(target)
            raise
    finally:
        if target.exists() or not old.exists():
            shutil.rmtree(working, ignore_errors=True)


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _shielded(piece: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return columns whose texts and names no spreadsheet takes for formulas."""
    return {
        shielded(name): [shielded(cell) if isinstance(cell, str) else cell for cell in cells]
        for name, cells in piece.items()
    }


# --- for people ---


def _readme(content: Packing, folder: Path) -> str:
    """Return what each file is, in plain words, with its checksum."""
    answer = content.answer
    facts = facts_of(answer)
    about = {file: what for each in FORMATS.values() for file, what in each.files.items()}
    present = sorted(file.name for file in folder.iterdir())
    width = max(map(len, present), default=0)
    lines = [
        FIRST_LINE,
        "",
        printable(title_of(answer)),
        f"Question: {printable(facts['question'])}",
        f"Protected: {printable(facts['protects'])}.",
        f"Privacy loss: epsilon = {facts['epsilon']}, delta = 0 ({facts['neighbors']}).",
        *(
            []
            if facts["recorded_at"] is None
            else [f"Released: {facts['recorded_at']}, ledger entry {facts['entry']}."]
        ),
        f"Made by: {software()}.",
        "",
        *_about_noise(answer, facts),
        "Use a number with its error bar (columns ..._low and ..._high); ..._noise says how large its noise is.",
        told(plan_of(answer).schema.noise_levels),
        "An empty key means that a row is a total over that key.  An empty number was left out or does not exist.",
        *(printable(note) for note in facts["notes"]),
        *_about_csv(content, present),
        "",
        "Files",
        *(f"  {name:<{width}}  {about[name]}" for name in present),
        *_about_columns(content, present),
        "",
        "SHA-256 of the files; check them with: sha256sum --ignore-missing -c README.txt",
        *(f"{_digest(folder / name)}  {name}" for name in present),
    ]
    return "\n".join(lines) + "\n"


def _about_noise(answer: Answer, facts: Mapping[str, Any]) -> list[str]:
    if facts["entry"] is None:
        return ["The number of rows is public here, and has no noise."]
    hidden = "whether any one person is in the data, and " if facts["neighbors"] == "add_remove" else ""
    exactly = without_noise(plan_of(answer))
    which = "The other numbers" if exactly else "The numbers"
    return [
        *([exactly] if exactly else []),
        f"{which} have noise, on purpose: it hides {hidden}what any one person said.",
    ]


_WIDEST = 40
"""Names that are longer do not move what is said beside the others."""


def _about_columns(content: Packing, present: Sequence[str]) -> list[str]:
    """Return a line for each column of the tables: its name, what it is, its title and its unit."""
    tables = [name for name in ("data.csv", "data.parquet", "data.xlsx") if name in present]
    if not tables:
        return []
    safe = content.safe and tables == ["data.csv"]
    names = [printable(shielded(each.name) if safe else each.name) for each in content.columns]
    width = min(max(map(len, names)), _WIDEST)
    lines = []
    for name, column in zip(names, content.columns, strict=True):
        title = column.title if column.role in ("key", "value") else None
        unit = None if column.unit is None else f"in {column.unit}"
        said = "; ".join(text for text in (column.description, title, unit) if text is not None)
        lines.append(f"  {name:<{width}}  {printable(said)}")
    return ["", f"Columns of {listed(tables)}", *lines]


def _about_csv(content: Packing, present: Sequence[str]) -> list[str]:
    if "data.csv" not in present:
        return []
    if content.safe:
        return [
            "In data.csv an apostrophe stands before each text that a spreadsheet could take for a formula, also after "
            "a semicolon, a tab or a line break within a text."
        ]
    risky = [
        each.name
        for each in content.columns
        if shielded(each.name) != each.name or any(isinstance(v, str) and shielded(v) != v for v in each.values)
    ]
    if not risky:
        return []
    instead = "open data.xlsx instead" if "data.xlsx" in present else "import all columns as text"
    return [
        "Some keys or names begin like a formula (= + - @), or do so after a semicolon, a tab or a line break.  A "
        f"spreadsheet that opens data.csv may compute them: {instead}."
    ]
