"""Files whose cells are objects of Python, each with a type of its own: every one is read by itself (claim E0).

The objects become texts by the rule of ``frames``, and DuckDB gets these in a table of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import duckdb
import numpy as np

from ..question.codes import Kind
from . import frames
from .given import CHANGED, Files, Handed, Wanted
from .table import Field, Problem

CHUNK = 2**14
"""Rows that are held as objects at once."""

Columns = Sequence[Sequence[object]]


class ObjectFiles(Files):
    """Files whose cells are objects; each column has the same place in all of them."""

    def fields(self, connection: duckdb.DuckDBPyConnection | None = None) -> list[Field]:
        files = self.paths
        names = [self.names(file) for file in files]
        for file, others in zip(files, names, strict=True):
            if others != names[0]:
                raise Problem(
                    f'has files with different columns: "{file}" and "{files[0]}"',
                    "All files of a glob must have the same column names in the same order.",
                )
        return [Field(name, "VARCHAR") for name in names[0]]

    @abstractmethod
    def names(self, file: str) -> list[object]:
        """Return the names of the columns of a file, in their order; None for a column without one."""

    @abstractmethod
    def chunks(self, file: str, wanted: Sequence[Field], places: Sequence[int]) -> Iterator[Columns]:
        """Yield the wanted columns of a file, in chunks of rows; if none is wanted, any column."""

    def cells(self, connection: duckdb.DuckDBPyConnection, wanted: Sequence[Wanted], fields: Sequence[Field]) -> Handed:
        self._stamps = self.stamps()
        if self.fields() != list(fields) and not self.named_by_rows:
            raise Problem(*CHANGED)
        places = [each.place for each in wanted]
        columns = ", ".join(f"c{i} VARCHAR" for i in range(len(wanted))) or "one VARCHAR"
        connection.execute(f"CREATE TABLE objects ({columns})")
        for file in self._stamps:
            for chunk in self.chunks(file, [fields[at] for at in places], places):
                _insert(connection, self._texts(chunk, [each.kind for each in wanted]))
        return Handed("objects", ["VARCHAR"] * len(wanted), [True] * len(wanted))

    def _texts(self, chunk: Columns, kinds: Sequence[Kind | None]) -> list[list[str | None]]:
        """Return the objects of a chunk as texts; those that mean that there is no value are missing."""
        if not kinds:
            return [[None] * len(chunk[0])]
        missing = frozenset(self.file.missing)
        if missing:
            chunk = [[None if type(cell) is str and cell in missing else cell for cell in column] for column in chunk]
        return [frames.converted(column, kind) for column, kind in zip(chunk, kinds, strict=True)]


def _insert(connection: duckdb.DuckDBPyConnection, columns: Sequence[Sequence[str | None]]) -> None:
    connection.register("chunk", {f"c{i}": np.array(column, dtype=object) for i, column in enumerate(columns)})
    connection.execute("INSERT INTO objects SELECT * FROM chunk")
    connection.unregister("chunk")
