"""A public look-up, read as a whole before anything is charged.

What was read is what is joined: the rows are handed to the engine that holds the private table, as keys are, and their
digest is part of the question.  So a look-up can be in any file, frame or database, and cannot change in between.
All of it is public, and what is wrong with it may be said; its cells are not shown all the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Any

from ..errors import InvalidSource
from ..question.codes import Kind
from ..question.join import Content, Join, PublicCell
from ..question.schema import Schema
from .cells import cell_name, without_codes
from .joins import look_up_schema
from .table import Table

MOST_ROWS = 10**6
LONGEST_TEXT = 1000

_ALL = "WITH looked_up AS (SELECT * FROM source) SELECT {} FROM looked_up"


class LookUp:
    """The reader of one look-up, which reads it once."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._read: dict[Any, Content] = {}

    def __repr__(self) -> str:
        return "LookUp"

    def again(self) -> LookUp:
        """Return a reader of the same table that has not read it."""
        return LookUp(self.table)

    def content(self, schema: Schema, join: Join) -> Content:
        """Return its rows; the same for every schema that reads the cells in the same way."""
        alone = look_up_schema(schema, join)
        asked = str([(name, column.read_as()) for name, column in alone.columns.items()])
        if asked not in self._read:
            self._read[asked] = self._content(alone, join)
        return self._read[asked]

    def _content(self, alone: Schema, join: Join) -> Content:
        names = list(alone.columns)
        self.table.check(alone, names)
        rows = self.table.guarded("could not be read", "Nothing was charged.", lambda: self._rows(alone, names))
        kinds = [column.kind for column in alone.columns.values()]
        columns = [list(map(_CELLS[kind], cells)) for kind, cells in zip(kinds, zip(*rows, strict=True), strict=False)]
        keys, *others = columns or [[] for _ in names]
        known = [at for at, key in enumerate(keys) if key is not None]
        self._check(alone, [keys[at] for at in known], columns)
        cells = {
            declared: tuple(cells[at] for at in known)
            for (declared, _), cells in zip(join.columns, others, strict=True)
        }
        return Content(tuple(keys[at] for at in known), cells)

    def _rows(self, alone: Schema, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return the rows, once it is known that there are not too many, and that no text is too long."""
        to = self.table.dialect
        texts = [cell_name(name, to) for name in names if alone.columns[name].kind == "text"]
        lengths = ", ".join(
            ["COUNT(*) AS n", *(f"COALESCE(MAX(length({cell})), 0) AS n{i}" for i, cell in enumerate(texts))]
        )
        cells = ", ".join(f"{without_codes(name, alone, to)} AS v{i}" for i, name in enumerate(names))
        with self.table.opened(alone, names, {}, None) as session:
            rows, *longest = (int(each[0]) for each in session.integers(_ALL.format(lengths)))
            if rows > MOST_ROWS:
                what = f"is a look-up of {rows:,} rows, and at most {MOST_ROWS:,} are possible"
                raise InvalidSource(alone.name, what, "Leave out rows that are not needed.")
            if any(length > LONGEST_TEXT for length in longest):
                what = f"is a look-up with a text of more than {LONGEST_TEXT:,} characters"
                raise InvalidSource(alone.name, what, "Shorten it.")
            return session.cells(_ALL.format(cells))

    def _check(self, alone: Schema, keys: Sequence[PublicCell], columns: Sequence[Sequence[PublicCell]]) -> None:
        """Refuse what cannot be joined in the same way everywhere, and keys that occur twice (claim J2)."""
        if any(self.table.lost):
            what = "is a look-up with records that cannot be read"
            raise InvalidSource(alone.name, what, "Look at delimiter, quote and encoding of its file.")
        if any(isinstance(cell, str) and "\0" in cell for cells in columns for cell in cells):
            raise InvalidSource(alone.name, "is a look-up with a NUL in a text", "Leave it out.")
        twice = sum(times > 1 for times in Counter(keys).values())
        if twice:
            what = f"is a look-up in which {twice:,} keys occur more than once, as they are read"
            raise InvalidSource(alone.name, what, "A look-up has one row for each key.")


def _number(cell: Any) -> float | None:
    """Return a number; -0.0 is 0, and what is no number is missing."""
    if cell is None or not math.isfinite(cell):
        return None
    return float(cell) + 0.0


def _same(cell: Any) -> PublicCell:
    found: PublicCell = cell
    return found


_CELLS: dict[Kind, Any] = {"number": _number, "integer": _number, "text": _same, "boolean": _same, "date": _same}
"""How a cell that an engine returns is kept, by the declared type."""


def written_cell(cell: PublicCell) -> str | None:
    """Return a cell as a text from which every engine reads it back as it was."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell) if isinstance(cell, date) else repr(cell)
