"""Where exact integers and noise meet (for keys that are not public: ``discover``).

Claim R2 (release).  The order is: charge, aggregate, add noise, record, show.  What is recorded and shown is a function
of the noisy integers and public parameters alone; each measurement's integers get independent noise of scale
sensitivity/ε of its share (P1 to P6, N1), so that a release is ε-differentially private, for people if the source
names a person column, else for rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.table import COMPLETE, Counted, Progress, Table
from ..errors import InvalidParameter, InvalidSource, LedgerError
from ..ledger.ledger import Ledger
from ..measure.cells import Column, add, column, recorded
from ..measure.measurement import WITHOUT, Measurement, Spread, Sums
from ..measure.selection import draws
from ..noise.entropy import SYSTEM, Entropy
from ..plan.plan import Part, Plan
from ..plan.planning import make_plan
from ..question import sql
from ..question.schema import Schema
from .result import Release

_AT_ONCE = 2**16
"""How many groups are held as Python's integers at a time."""


class Tally:
    """The exact sums of every group that occurs; its repr hides them, and only this module reads them."""

    __slots__ = ("_slots", "_spreads", "_sums")

    def __init__(self, plan: Plan, counted: Counted) -> None:
        self._sums = counted.sums
        self._spreads = counted.spreads
        self._slots = _slots(plan)

    def __repr__(self) -> str:
        return "Tally(hidden)"

    __reduce__ = None  # type: ignore[assignment]  # never pickled

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return sum(self._sums[1].tolist()) if self._sums else 0

    def cells(self, part: Part, number: int) -> tuple[NDArray[np.int64], list[Column]]:
        """Return the groups that occur, and their cells of measurement ``number``: a column for each."""
        if not self._sums:
            return np.empty(0, dtype=np.int64), [column([]) for _ in part.measurement.names]
        groups = self._sums[0].astype(np.int64)
        if part.measurement.bins:
            return self._nodes(part.measurement, groups)
        pieces = [self._some(part.measurement, number, i) for i in range(0, max(len(groups), 1), _AT_ONCE)]
        return groups, [np.concatenate(found) for found in zip(*pieces, strict=True)]

    def _some(self, measurement: Measurement, number: int, start: int) -> list[Column]:
        """Return the cells of some groups, computed in Python's integers, so that none can overflow on the way."""
        slots = (1, *self._slots[number])
        own = [self._sums[slot][start : start + _AT_ONCE].astype(object) if slot else 0 for slot in slots]
        return [column(cell) for cell in measurement.cells(Sums(*own))]

    def _nodes(self, measurement: Measurement, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[Column]]:
        """Return the cells of a tree for each group of the keys before the bins."""
        outer, place = np.divmod(groups, measurement.bins)
        found, which = np.unique(outer, return_inverse=True)
        counts = np.zeros((measurement.bins, len(found)), dtype=self._sums[1].dtype)
        counts[place, which] = self._sums[1]
        return found, list(measurement.tree.cells(counts))

    def spread(self, plan: Plan, number: int) -> Spread:
        """Return the weights at each value for measurement ``number``, one of quantiles."""
        return self._spreads[sum(part.measurement.form == "quantiles" for part in plan.parts[:number])]


def _slots(plan: Plan) -> list[tuple[int, int, int]]:
    """Return where present, first and second of each measurement stand in a row of the engine; 0 for nowhere."""
    found, at = [], 2
    for part in plan.parts:
        if part.measurement.form in ("rows", "quantiles", "tree"):
            found.append((0, 0, 0))
            continue
        degree = part.measurement.degree
        found.append((at, at + 1 if degree >= 1 else 0, at + 2 if degree == 2 else 0))
        at += 1 + degree
    return found


def make_release(
    plan: Plan,
    table: Table,
    ledger: Ledger | None,
    *,
    analyst: str | None = None,
    progress: Progress | None = None,
    entropy: Entropy = SYSTEM,
) -> Release:
    """Charge, aggregate, add noise, record and return the answer; a repeated question gets its recorded answer."""
    plan = plan.on(table.dialect)
    if ledger is None:  # claim P5: only the public number of rows is asked; it needs neither noise nor ε
        table.check(plan.schema, plan.lowered.columns)
        rows = Tally(plan, table.tally(plan.schema, plan.lowered, progress)).rows
        return Release(plan, None, False, {"cells": [], "rows": rows}, None, None)
    asked = question(plan)
    entry = ledger.find(asked, plan.epsilon)
    if entry is None or not entry.answered:
        table.check(plan.schema, plan.lowered.columns)
        entry = ledger.charge(asked, plan.epsilon, analyst=analyst)
    answer = entry.answer
    if not entry.answered:  # new, or charged before and never answered
        answer = ledger.record(entry, _answer(plan, table, entropy, progress))
    completed = entry.repeated and not entry.answered
    made = Release(plan, entry.number, entry.answered, answer, ledger.remaining, analyst, completed=completed)
    return _fitting(replace(made, recorded_at=entry.recorded_at or ledger.recorded_at(entry.number)), ledger)


def _fitting(made: Release, ledger: Ledger) -> Release:
    """Return the release; refuse a recorded answer that is not one of its question."""
    try:
        made.cells  # noqa: B018  # read from the record now, and kept
    except (AttributeError, KeyError, TypeError, ValueError):
        raise LedgerError(
            ledger.where, "has an answer that does not fit its question", "Ask another version of it."
        ) from None
    return made


def question(plan: Plan) -> dict[str, Any]:
    """Return what the ledger knows the question by: everything public that the noisy integers depend on."""
    schema = plan.schema
    names = sorted(plan.lowered.columns)
    asked: dict[str, Any] = {
        "source": schema.name,
        "query": plan.query.text,
        "neighbors": schema.neighbors,
        "columns": {name: schema.columns[name].describe() for name in names},
        "split": plan.split,
    }
    if schema.neighbors == "change_one" and not schema.every_row_counts:
        asked["every_row_counts"] = False
    if schema.version is not None:
        asked["version"] = schema.version
    if schema.person is not None:
        asked |= {"person": schema.person, "rows_per_person": schema.rows_per_person}
    return asked


def recall(schema: Schema, ledger: Ledger, number: int) -> Release | None:
    """Return the release of an entry of the ledger from its record, or None if it has no answer yet."""
    entry = ledger.entry(number)
    if entry is None or entry.kind != "charge" or not isinstance(entry.question, dict) or "split" not in entry.question:
        raise InvalidParameter(number, "entry", f'the number of a release in ledger "{ledger.where}"')
    asked = entry.question
    query = sql.parse(asked["query"], schema, recorded=True)
    intervals = not any(name.endswith(WITHOUT) for name in asked["split"])
    plan = make_plan(schema, query, epsilon=entry.epsilon, split=asked["split"], intervals=intervals)
    if question(plan) != asked:
        raise InvalidSource(
            schema.name,
            f"has changed since entry {number} was released",
            "Use the source file of that time.",
        )
    if not entry.answered:
        return None
    made = Release(plan, number, True, entry.answer, ledger.remaining, entry.analyst, recorded_at=entry.recorded_at)
    return _fitting(made, ledger)


def _answer(plan: Plan, table: Table, entropy: Entropy, progress: Progress | None) -> dict[str, Any]:
    """Return the integers with noise, as they are recorded; the tally goes no further."""
    tally = Tally(plan, table.tally(plan.schema, plan.lowered, progress))
    return table.guarded("failed while noise was added", COMPLETE, lambda: _noisy(plan, tally, entropy, progress))


def _noisy(plan: Plan, tally: Tally, entropy: Entropy, progress: Progress | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    public = None
    if any(part.measurement.whole for part in plan.parts) or plan.counts_publicly:
        public = answer["rows"] = tally.rows
    found: list[Sequence[Column]] = []
    for number, part in enumerate(plan.parts):
        if part.measurement.form == "quantiles":
            spread = tally.spread(plan, number)
            found.append(
                [column(cell) for cell in plan.selection(part).release(spread, plan.groups, entropy, progress)]
            )
            continue
        scale = plan.scale(part, public)
        noise = [draws(scale, plan.length(part), entropy, progress) for _ in part.measurement.names]
        groups, exactly = tally.cells(part, number)
        found.append([add(cell, groups, value) for cell, value in zip(noise, exactly, strict=True)])
    answer["cells"] = recorded(found)
    if not entropy.private:
        answer["private"] = False
    return answer
