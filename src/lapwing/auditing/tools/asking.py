"""Questions to tables of many forms, with frozen noise that is subtracted again: the exact integers, from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import LapwingError
from ...noise.entropy import EntropyForTests
from ...question.file import File
from ...question.query import Statistic, count
from ...question.schema import Column
from ...release.result import Release
from ...source import Source
from ..room import Room
from .neighbors import SEED

TOTAL = 1000
"""The ε of every source, and of every release."""

Integers = list[list[int]]
"""For each measurement, its cells of all groups."""


@dataclass(frozen=True)
class Refused:
    """A refused table: the message, and whether anything was charged before."""

    said: str
    charged: bool

    def __str__(self) -> str:
        return f"refused {'after' if self.charged else 'before'} the charge"


@dataclass(frozen=True)
class Asking:
    """What is asked, and what is declared; with ``person``, one row of each person counts."""

    room: Room
    columns: Mapping[str, Column | str]
    statistics: tuple[Statistic, ...] = (count(),)
    by: str | tuple[str, ...] = ()
    where: str | None = None
    person: str | None = None
    file: File | None = None

    def source(self, table: Any) -> Source:
        """Return a source of a table, with a new ledger."""
        people: dict[str, Any] = {} if self.person is None else {"person": self.person, "rows_per_person": 1}
        return self.room.source(table, columns=self.columns, epsilon=TOTAL, file=self.file, **people)

    def integers(self, table: Any) -> Integers | Refused:
        """Return the exact integers of a table, or how it was refused."""
        source = self.source(table)
        try:
            made = self.release(source)
        except LapwingError as error:
            return Refused(str(error), source.left() not in (None, TOTAL))
        return [list(map(int, a - b)) for a, b in zip(cells(made), self.noise, strict=True)]

    @property
    def declared(self) -> list[int]:
        """How far one person may move each measurement."""
        return [self._nothing.plan.sensitivity(part) for part in self._nothing.plan.parts]

    def moved(self, one: Integers, other: Integers) -> list[int]:
        """Return how far apart two tables are, in each measurement."""
        return [sum(abs(a - b) for a, b in zip(x, y, strict=True)) for x, y in zip(one, other, strict=True)]

    def people(self, table: Any) -> float | Refused:
        """Return the number that a count of one group finds, in people or rows."""
        found = self.integers(table)
        return found if isinstance(found, Refused) else found[0][0] / self.declared[0]

    def release(self, source: Source) -> Release:
        """Return the noisy answers of a source."""
        options: dict[str, Any] = {"by": self.by, "where": self.where, "epsilon": TOTAL}
        return source.release(*self.statistics, **options, entropy=EntropyForTests(SEED))

    @cached_property
    def _nothing(self) -> Release:
        """What is released of a table without rows."""
        names = [*self.columns, *([] if self.person in (None, *self.columns) else [self.person])]
        empty = self.room.parquet({str(name): [] for name in names}, {str(name): "VARCHAR" for name in names})
        return self.release(replace(self, file=None).source(empty))

    @cached_property
    def noise(self) -> list[Any]:
        """The noise that every release has, for each measurement."""
        return cells(self._nothing)


def cells(made: Release) -> list[Any]:
    """Return the noisy integers of a release, for each measurement."""
    return [np.array([list(map(int, cell)) for cell in part], dtype=object).ravel() for part in made.cells]
