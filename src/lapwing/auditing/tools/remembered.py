"""A table whose engine runs each query once: all that Lapwing does around the engine, a hundred times a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from ...engine.dialect import DUCKDB
from ...engine.table import Field, Table
from ...measure.cells import Progress
from ...question.codes import Key
from ...question.schema import Schema


class Remembered(Table):
    """A table that remembers what another one's engine returned; ``opens`` counts how often it was opened."""

    dialect = DUCKDB

    def __init__(self, table: Table) -> None:
        super().__init__(table.name)
        self._table = table
        self._fields: list[Field] | None = None
        self._known: dict[str, Any] = {}
        self.opens = 0
        self.when_read: Callable[[], None] = lambda: None

    def fields(self) -> list[Field]:
        if self._fields is None:
            self._fields = self._table.fields()
        return self._fields

    def tells_apart(self, type_name: str) -> bool:
        return self._table.tells_apart(type_name)

    @contextmanager
    def opened(
        self,
        schema: Schema,
        columns: Sequence[str],
        keys: Mapping[str, str],
        progress: Progress | None,
        given: bool = False,
    ) -> Iterator[_Session]:
        self.opens += 1
        self.when_read()

        def first(sql: str, name: str) -> Any:
            with self._table.opened(schema, columns, keys, None, given) as session:
                return getattr(session, name)(sql)

        yield _Session(self._known, first)


class _Session:
    """Answers queries from what is remembered, and asks the engine for the others."""

    def __init__(self, known: dict[str, Any], first: Callable[[str, str], Any]) -> None:
        self._known = known
        self._first = first

    def integers(self, sql: str) -> list[NDArray[Any]]:
        return [column.copy() for column in self._answer(sql, "integers")]

    def keys(self, sql: str) -> list[tuple[Key, int]]:
        return list(self._answer(sql, "keys"))

    def cells(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self._answer(sql, "cells"))

    def _answer(self, sql: str, name: str) -> Any:
        if sql not in self._known:
            self._known[sql] = self._first(sql, name)
        return self._known[sql]
