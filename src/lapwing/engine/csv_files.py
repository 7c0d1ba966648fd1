"""CSV files: lines of text, checked and divided into records before DuckDB reads them."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from ..question.file import File
from . import records
from .connection import spill_folder
from .given import Files, Handed, Wanted
from .header import lacking, same_header, text_form
from .recognise import recognise
from .recognised import Recognised
from .table import Field, Problem


class CsvFiles(Files):
    """A path or glob of CSV files."""

    title = "a CSV file"
    options = ("delimiter", "quote", "encoding", "names", "decimal", "thousands", "dates", "missing")
    is_text = True
    stored = False

    def __init__(self, path: str, file: File) -> None:
        super().__init__(path, file)
        self.form = text_form(path, file)
        self._checked: dict[str, records.Checked] = {}
        self.guesses_encoding = file.encoding is None

    def fields(self, connection: duckdb.DuckDBPyConnection | None = None) -> list[Field]:
        files = self.paths
        heads = [records.names(file, self.form) for file in files]
        return [Field(name, "VARCHAR") for name in same_header(files, heads)]

    def recognised(self, header: bool = True) -> Recognised:
        return recognise(self.paths, self.path, self.file, header)

    def check_names(self) -> None:
        """Refuse a CSV file whose header is probably a row."""
        self.fields()  # refuses a first line as a release does
        file = self.paths[0]
        why = records.begins_with_a_row(file, self.form)
        if why is not None:
            raise Problem(
                f'cannot be read: the first line of the file "{file}" looks like a row, since {why}',
                "If it is one, use `lapwing init --no-header`, and name the columns; if not, put names first.",
            )

    def check(self, wanted: Sequence[Wanted]) -> None:
        """Refuse a file that is not well formed; a file is read again only if it has changed."""
        self._checked = {file: records.check(file, self.form, self._checked.get(file)) for file in self.paths}

    def cells(self, connection: duckdb.DuckDBPyConnection, wanted: Sequence[Wanted], fields: Sequence[Field]) -> Handed:
        self.check(wanted)
        places = [each.place for each in wanted]
        divided = [records.prepare(each, places, spill_folder(connection)) for each in self._checked.values()]
        self.left_out = sum(each.left_out for each in divided)
        self.unreadable = sum(each.unreadable for each in divided)
        chosen = ", ".join(f"c{at} AS c{i}" for i, at in enumerate(places)) or "1 AS one"
        sql = f"(SELECT {chosen} FROM ({records.read_sql(divided)}))"
        return Handed(sql, ["VARCHAR"] * len(places), [False] * len(places))

    def check_unchanged(self) -> None:
        records.check_unchanged(list(self._checked.values()))

    def lacking(self, column: str, names: Sequence[object]) -> tuple[str, str]:
        """Return the cause from the shape of the header; its names are not shown: it may be a row."""
        return lacking(self.form, [str(name) for name in names])
