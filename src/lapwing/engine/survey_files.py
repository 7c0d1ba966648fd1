"""Files of Stata, SPSS and SAS, as ReadStat reads them: with the titles of columns and the labels of their values.

What a program marks as missing is missing, and so is a text without characters: these programs do not distinguish it.
Days and moments are numbers in such a file, with a format that is part of its description.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from .apart import Unread, need, told
from .given import Wanted, stamp
from .objects import Columns, ObjectFiles
from .table import DescribedField, Field, Problem
from .workbooks import unpacked

_TYPES = {"text": "VARCHAR", "number": "DOUBLE", "day": "DATE", "moment": "TIMESTAMP"}
_ENCODINGS = {"utf-8": "UTF-8", "latin-1": "ISO-8859-1", "windows-1252": "WINDOWS-1252"}
"""What the columns are called for ``lapwing init``, and the names that ReadStat has for encodings."""


class _Survey(ObjectFiles):
    """A path or glob of files of one program."""

    options = ("missing", "encoding")
    form: str

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._known: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {}
        self._read: dict[tuple[str, ...], tuple[int, ...]] = {}

    def names(self, file: str) -> list[object]:
        return list(self._about(file)["names"])

    def described(self) -> list[DescribedField]:
        about = self._about(self.paths[0])
        columns = list(zip(about["names"], about["kinds"], about["titles"], about["labels"], strict=True))
        whole = dict.fromkeys(self._whole([name for name, kind, *_ in columns if kind == "number"]), "BIGINT")
        return [
            DescribedField(
                name, whole.get(name, _TYPES[kind]), title, [(unpacked(code), label) for code, label in labels]
            )
            for name, kind, title, labels in columns
        ]

    def _whole(self, names: Sequence[str]) -> set[str]:
        """Return which columns have whole numbers alone in the first rows: these programs have floats for all."""
        with closing(self._told(self.paths[0], "rows", list(names))) as rows:
            first: Sequence[Sequence[object]] = next(rows, []) if names else []
        held = {name: [cell for cell in cells if cell is not None] for name, cells in zip(names, first, strict=False)}
        return {name for name, cells in held.items() if cells and all(map(_is_whole, map(unpacked, cells)))}

    def check(self, wanted: Sequence[Wanted]) -> None:
        """Refuse, before anything is charged, a file that cannot be read to its end."""
        fields = self.fields()
        names = list(dict.fromkeys(fields[each.place].name for each in wanted))
        for file, now in self.stamps().items():
            if self._read.get((file, *names)) != now:
                for _ in self._told(file, "rows", names or [fields[0].name]):
                    pass
                self._read[file, *names] = now

    def chunks(self, file: str, wanted: Sequence[Field], places: Sequence[int]) -> Iterator[Columns]:
        names = [field.name for field in wanted] or self.names(file)[:1]
        for columns in self._told(file, "rows", list(dict.fromkeys(names))):
            cells = dict(zip(dict.fromkeys(names), columns, strict=True))
            yield [[unpacked(cell) for cell in cells[name]] for name in names]

    def _about(self, file: str) -> dict[str, Any]:
        """Return how a file describes its columns; it is read again only if it has changed."""
        need("pyreadstat", "statistics", file)
        now = stamp(file)
        known = self._known.get(file)
        if known is not None and known[0] == now:
            return known[1]
        (about,) = self._told(file, "names")
        if not about["names"]:
            raise Problem(f'cannot be read: the file "{file}" has no columns', "Write it again.")
        self._known[file] = (now, about)
        return dict(about)

    def _told(self, file: str, job: str, *of: Any) -> Generator[Any, None, None]:
        encoding = None if self.file.encoding is None else _ENCODINGS.get(self.file.encoding, self.file.encoding)
        try:
            yield from told(f"statistics {job}", str(Path(file).absolute()), self.form, encoding, *of)
        except Unread:
            pass
        else:
            return
        raise Problem(
            f'cannot be read: the file "{file}" is damaged or incomplete, is not {self.title}, or has texts in another '
            "encoding than it says",
            'Write it again, or give its encoding, for example encoding = "windows-1252" under [file].',
        )


def _is_whole(cell: object) -> bool:
    return isinstance(cell, int | float) and float(cell).is_integer()


class StataFiles(_Survey):
    """A path or glob of Stata files."""

    title, form = "a Stata file", "stata"


class SpssFiles(_Survey):
    """A path or glob of SPSS files."""

    title, form = "an SPSS file", "spss"


class SasFiles(_Survey):
    """A path or glob of SAS files.

    Blanks fill up the end of a transport file, so blank rows there cannot be told from none: they are left out
    everywhere, and the number of rows is private.
    """

    title, form = "a SAS file", "sas"
    is_text = True
    stored = False

    def names(self, file: str) -> list[object]:
        if file.lower().endswith(".xpt") and Path(file).stat().st_size % 80:
            raise Problem(
                f'cannot be read: the file "{file}" was cut off: a SAS transport file has records of 80 bytes',
                "Copy or write it again.",
            )
        return super().names(file)
