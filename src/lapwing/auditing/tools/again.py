"""A question whose table is read once, by the real engine, and that is then released as often as a check likes.

Neither the engine nor a ledger takes part again: only noise is added, and what was released is estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from ...engine.connect import connect
from ...engine.table import Integers
from ...measure import measurement, selection
from ...measure.cells import recorded
from ...measure.linear import Noisy
from ...noise.entropy import SYSTEM, Entropy
from ...plan.plan import Plan
from ...release.pipeline import make_release
from ...release.result import Release
from .paper import Paper

T = TypeVar("T")


@dataclass(frozen=True)
class Again:
    """A plan and the exact integers of its table."""

    plan: Plan
    integers: Integers

    def release(self, entropy: Entropy = SYSTEM) -> Release:
        """Return a new release, with noise of its own."""
        table: Any = _Still(self.plan, self.integers)
        ledger: Any = Paper()
        return make_release(self.plan, table, ledger, entropy=entropy)


def read_once(plan: Plan, table: Any) -> Again:
    """Return the question of a plan about a table, which is anything that a source can have."""
    found = connect(table, plan.schema.name)
    plan = plan.on(found.dialect)
    return Again(plan, found.tally(plan.schema, plan.lowered))


def with_cells(made: Release, cells: Noisy | Sequence[Sequence[Any]]) -> Release:
    """Return what a release would be if its noisy integers were these."""
    return replace(made, answer={**made.answer, "cells": recorded(cells)})


class _Still:
    """Stands for a table: gives the integers that were read."""

    def __init__(self, plan: Plan, integers: Integers) -> None:
        self.dialect = plan.dialect
        self._integers = integers

    def check(self, *_: object) -> None:
        """Do nothing: the table was checked when it was read."""

    def tally(self, *_: object) -> Integers:
        """Return copies of the integers."""
        sums, own = self._integers
        return Integers([each.copy() for each in sums], [[each.copy() for each in columns] for columns in own])

    def guarded(self, _what: str, _budget: str, work: Callable[[], T]) -> T:
        """Return what the work returns."""
        return work()


@contextmanager
def silence() -> Iterator[None]:
    """Within it noise is 0, and a choice takes the nearest candidate, the first of them."""

    def draws(scale: Fraction, size: int, *_: object) -> Any:
        return np.zeros(size, np.int64)

    def race(exponents: Any, unit: Fraction, sizes: Any, *, entropy: Entropy) -> tuple[int, int]:
        nearest = np.where(np.asarray(sizes) > 0, np.asarray(exponents, object), np.inf)
        return int(nearest.argmin()), 0

    replaced = [(measurement, "draws", draws), (selection, "draws", draws), (selection, "race", race)]
    before = [(module, name, vars(module)[name]) for module, name, _ in replaced]
    for module, name, new in replaced:
        vars(module)[name] = new
    try:
        yield
    finally:
        for module, name, old in before:
            vars(module)[name] = old
