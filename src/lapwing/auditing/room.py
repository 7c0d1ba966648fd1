"""The workspace of a check: its own folder, and an engine with the tables that the check makes up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from ..question.query import literal, quoted
from ..source import Source

Table = Mapping[str, Sequence[Any]]
"""Columns by name; None is missing, and floats may be NaN or infinite."""

Types = Mapping[str, str]
"""The types of the columns: DOUBLE, BIGINT or VARCHAR."""

_numbers = count()


@dataclass(frozen=True)
class Engine:
    """An available engine: its name, and how a table is put into it; DuckDB reads the Parquet file itself.

    ``ledger`` returns a place for a new ledger, if the engine can hold ledgers too.
    """

    name: str = "DuckDB"
    place: Callable[[str, Table, Types], Any] | None = None
    ledger: Callable[[], str] | None = None


@dataclass(frozen=True)
class Room:
    """A folder that is empty at first and is removed afterwards; ``deep`` asks for the longer form of the check.

    ``minutes`` is how long worlds are drawn for a deep audit, ``seed`` the number of the first world; ``tick`` is
    called by checks that take long, now and then, for the sake of a progress bar.  ``part`` names the one part of the
    check that runs, all of them if it is empty.
    """

    folder: Path
    deep: bool = False
    engines: tuple[Engine, ...] = (Engine(),)
    minutes: float = 5
    seed: int = 0
    tick: Callable[[], None] = lambda: None
    part: str = ""

    def path(self, ending: str) -> Path:
        """Return the path of a new file."""
        return self.folder / f"{next(_numbers)}.{ending}"

    def parquet(self, table: Table, types: Types) -> str:
        """Write a table to a new Parquet file; return its path."""
        given = {name: np.array([_text(cell) for cell in cells], dtype=object) for name, cells in table.items()}
        columns = ", ".join(f"CAST({quoted(name)} AS {types[name]}) AS {quoted(name)}" for name in table)
        return self.select(f"SELECT {columns} FROM given", given)

    def select(self, sql: str, given: Mapping[str, Any] | None = None) -> str:
        """Write what a SELECT returns, from the columns of ``given`` or from nothing, to a new Parquet file."""
        path = self.path("parquet")
        with duckdb.connect() as connection:
            if given is not None:
                connection.register("given", given)
            connection.execute(f"COPY ({sql}) TO {literal(str(path))} (FORMAT parquet)")
        return str(path)

    def table(self, table: Table, types: Types) -> Any:
        """Put a table into the first of the engines; return its address for a source."""
        path, engine = self.parquet(table, types), self.engines[0]
        return path if engine.place is None else engine.place(path, table, types)

    def source(self, table: Any, *, epsilon: int = 1000, **described: Any) -> Source:
        """Return a source with a new ledger, of what ``table`` returned or anything else a source can have."""
        return Source(table, name="t", epsilon=epsilon, ledger=self.path("ledger"), **described)


def _text(cell: Any) -> str | None:
    return None if cell is None else str(cell)
