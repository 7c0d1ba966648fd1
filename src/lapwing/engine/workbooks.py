"""Excel and OpenDocument workbooks: the first row of a sheet has the names, and a cell with a formula its last value.

A row without any value is left out wherever it is: after the last row with a value a sheet has none, so whether it was
counted would otherwise depend on the rows below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from ..report import printable
from .apart import Unread, need, told
from .given import Wanted, stamp
from .header import is_value
from .objects import Columns, ObjectFiles
from .table import Field, Problem

_NUMBER = re.compile(r"\s*[-+]?[\d.,:/-]+\s*")


class Workbooks(ObjectFiles):
    """A path or glob of workbooks, of each of which one sheet is the table."""

    title = "an Excel workbook"
    options = ("missing", "part")
    is_text = True
    stored = False

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._known: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {}
        self._read: dict[str, tuple[int, ...]] = {}

    def names(self, file: str) -> list[object]:
        """Return the names without those that are missing at the end: a stray cell beside the table is no column."""
        names = [name or None for name in self._head(file)["names"]]
        return names[: max((at for at, name in enumerate(names, 1) if name is not None), default=0)]

    def check_names(self) -> None:
        """Refuse a sheet whose first row is probably not a header: its cells are values, or occur again."""
        for file in self.paths:
            head = self._head(file, owner=True)
            if head["again"] or any(is_value(str(name)) for name in head["names"] if name):
                raise Problem(
                    f'cannot be read: the first row of the file "{file}" looks like a row of the table, since one of '
                    "its cells is a value or a code, or occurs again below",
                    "Put a row with the names of the columns first.",
                )

    def check(self, wanted: Sequence[Wanted]) -> None:
        """Refuse, before anything is charged, a file that cannot be read to its end."""
        for file, now in self.stamps().items():
            if self._read.get(file) != now:
                for _ in self.chunks(file, [], []):
                    pass
                self._read[file] = now

    def chunks(self, file: str, wanted: Sequence[Field], places: Sequence[int]) -> Iterator[Columns]:
        try:
            for columns in told("workbook rows", str(Path(file).absolute()), self.file.part, list(places)):
                yield [[unpacked(cell) for cell in column] for column in columns]
        except Unread as unread:
            problem = self._refused(file, str(unread), owner=False)
        else:
            return
        raise problem

    def _head(self, file: str, owner: bool = False) -> dict[str, Any]:
        """Return what the first row of a file has; it is read again only if it has changed.

        The owner of a table may see the names of its sheets.
        """
        need("python_calamine", "excel", file)
        now = stamp(file)
        known = self._known.get(file)
        if known is not None and known[0] == now:
            return known[1]
        try:
            (head,) = told("workbook names", str(Path(file).absolute()), self.file.part)
        except Unread as unread:
            problem = self._refused(file, str(unread), owner)
        else:
            _check_names(file, head["names"])
            self._known[file] = (now, head)
            return dict(head)
        raise problem

    def _refused(self, file: str, reason: str, owner: bool) -> Problem:
        why, *sheets = reason.split("\n")
        name = f'cannot be read: the file "{file}"'
        listed = f" It has: {', '.join(map(printable, sheets))}." if owner and sheets else ""
        if why == "password":
            return Problem(f"{name} is protected by a password", "Save it without one.")
        if why == "parts":
            advice = f"Name the one that is meant: part in [file], or lapwing init --part.{listed}"
            return Problem(f"{name} has {len(sheets)} sheets", advice)
        if why == "no part":
            return Problem(f'{name} has no sheet "{self.file.part}"', f"Names are compared exactly.{listed}")
        return Problem(
            f"{name} is damaged, not a workbook, or so large that it takes more than 8 GB of memory",
            "Save it again. If a cell far below or beside the table has a value, delete it; or save the sheet as CSV.",
        )


def unpacked(cell: Any) -> Any:
    """Return a cell as the process of its own wrote it."""
    return date.fromisoformat(cell["day"]) if isinstance(cell, dict) else cell


def _check_names(file: str, names: Sequence[object]) -> None:
    """Refuse a first row that may not be a header; the message depends only on its shape."""
    name = f'cannot be read: the file "{file}"'
    if not any(names):
        raise Problem(f"{name} has no names in the first row of its sheet", "Put the names of the columns there.")
    if not all(isinstance(each, str) and not _NUMBER.fullmatch(each) for each in names if each not in ("", None)):
        raise Problem(
            f"{name} has a column name that is a number or a date, as if its first row were one of the table",
            "If it has no column names, put a row with them first. If a column is called 2019, rename it, for example "
            "to y2019.",
        )
