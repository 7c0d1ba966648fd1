"""A question whose table is read once, by the real engine, and that is then released as often as a check likes.

Neither the engine nor a ledger takes part again: only noise is added, and what was released is estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ...engine.connect import connect
from ...engine.table import Integers, Table
from ...measure.cells import recorded
from ...measure.linear import Noisy
from ...noise.entropy import SYSTEM, Entropy
from ...plan.plan import Plan
from ...release.pipeline import make_release
from ...release.result import Release
from .paper import Paper
from .script import Script, scripted

T = TypeVar("T")


@dataclass(frozen=True)
class Again:
    """A plan and the exact integers of its table, or of several tables."""

    plan: Plan
    integers: tuple[Integers, ...]

    def release(self, entropy: Entropy = SYSTEM) -> Release:
        """Return a new release, with noise of its own."""
        table: Any = _Still(self.plan, self.integers)
        ledger: Any = Paper()
        return make_release(self.plan, table, ledger, entropy=entropy)


def read_once(plan: Plan, table: Any) -> Again:
    """Return the question of a plan about a table: connected, or anything that a source can have."""
    found = table if isinstance(table, Table) else connect(table, plan.schema.name)
    plan = plan.on(found.dialect)
    if plan.several is not None:
        return Again(plan, tuple(found.tally_tables(plan.schema, plan.lowered)))
    return Again(plan, (found.tally(plan.schema, plan.lowered),))


def without_noise(plan: Plan, table: Any) -> Release:
    """Return the release of a plan in which noise is 0, and each choice is the first of the nearest candidates."""
    with scripted(Script(nearest=True)):
        return read_once(plan, table).release()


def with_cells(made: Release, cells: Noisy | Sequence[Sequence[Any]]) -> Release:
    """Return what a release would be if its noisy integers were these."""
    return replace(made, answer={**made.answer, "cells": recorded(cells)})


class _Still:
    """Stands for a table: gives the integers that were read."""

    def __init__(self, plan: Plan, integers: Sequence[Integers]) -> None:
        self.dialect = plan.dialect
        self._integers = integers

    def check(self, *_: object) -> None:
        """Do nothing: the table was checked when it was read."""

    def tally(self, *_: object) -> Integers:
        """Return copies of the integers."""
        return self.tally_tables()[0]

    def tally_tables(self, *_: object) -> list[Integers]:
        """Return copies of the integers of all tables."""
        return [
            Integers([each.copy() for each in sums], [[each.copy() for each in columns] for columns in own])
            for sums, own in self._integers
        ]

    def guarded(self, _what: str, _budget: str, work: Callable[[], T]) -> T:
        """Return what the work returns."""
        return work()
