"""The pipeline for releases, keys (``discover``) and bounds: charge → read → noise → record.

Claim R2 (release).  The order is: charge, aggregate, add noise, record, show.  What is recorded and shown is a function
of the noisy integers and public parameters alone; each measurement's integers get independent noise of scale
sensitivity/ε of its share (P1 to P7, N1), so that a release is ε-differentially private, for people if the source
names a person column, else for rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from ..engine.table import COMPLETE, Integers, Table
from ..errors import AnswerLost
from ..ledger.entry import Entry
from ..ledger.ledger import Ledger
from ..measure.cells import Progress, recorded
from ..measure.measurement import Exact
from ..noise.entropy import SYSTEM, Entropy
from ..plan.plan import Plan, view_of
from ..plan.several import described_strategy
from ..question.codes import listed_or_digest
from ..question.join import described_joins
from .result import Release

T = TypeVar("T")


def answered(
    ledger: Ledger,
    question: dict[str, Any],
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    *,
    analyst: str | None,
    check: Callable[[], None],
    noisy: Callable[[], dict[str, Any]],
) -> tuple[Entry, dict[str, Any]]:
    """Return the entry of a question and its answer: charge, then read and add noise, then record.

    A question that was answered before is neither charged nor read.  ``check`` refuses before the charge; ``noisy``
    reads the table and adds noise.
    """
    entry = ledger.find(question, epsilon, delta)
    if entry is None or not entry.answered:
        check()
        entry = ledger.charge(question, epsilon, delta, analyst)
    answer = entry.answer
    if not entry.answered:  # new, or charged before and never answered
        own = entry.analyst == analyst  # names that others give are not those of the one who was charged
        answer = _unseen(lambda: ledger.record(entry, noisy() if own else unnamed(noisy())))
    return entry, answer


def _unseen(work: Callable[[], T]) -> T:
    """Return what ``work`` returns; raise its error without frames and causes.

    They hold noisy integers that may not be recorded: the same question again would get others, for one charge.
    """
    try:
        return work()
    except BaseException as error:
        failure = error
    failure.__cause__ = failure.__context__ = None
    raise failure.with_traceback(None)


def unfit(ledger: Ledger) -> AnswerLost:
    """Return the error for a recorded answer that does not fit its question, or was lost when a copy was put back."""
    return AnswerLost(
        ledger.where, "has an answer that does not fit its question, or that was lost when a backup was put back",
        "What was charged stays charged, and the same question gets no other answer. Ask another version of it.",
    )  # fmt: skip


class Tally:
    """The exact integers of the engine; its repr hides them, and only measurements read them."""

    __slots__ = ("_own", "_sums")

    def __init__(self, integers: Integers) -> None:
        self._sums = integers.sums
        self._own = integers.own

    def __repr__(self) -> str:
        return "Tally(hidden)"

    __reduce__ = None  # type: ignore[assignment]  # never pickled

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return sum(self._sums[1].tolist()) if self._sums else 0

    def exact(self, plan: Plan, number: int) -> Exact:
        """Return the integers of measurement ``number``: from its own SQL, or its columns of the shared SQL."""
        before, measurement = plan.measured[:number], plan.measured[number]
        if measurement.own_sql:
            return Exact(self._own[sum(each.own_sql for each in before)])
        if not self._sums:
            return Exact([])
        start = 2 + sum(1 + each.degree for each in before if each.indexed and not each.own_sql)
        width = 1 + measurement.degree if measurement.indexed else 0
        return Exact([*self._sums[:2], *self._sums[start : start + width]])


def make_release(
    plan: Plan,
    table: Table,
    ledger: Ledger | None,
    *,
    analyst: str | None = None,
    progress: Progress | None = None,
    entropy: Entropy = SYSTEM,
) -> Release:
    """Release what a plan says and return the answer; a repeated question gets its recorded answer."""
    plan = plan.on(table.dialect)

    def check() -> None:
        table.check(plan.schema, plan.columns)

    def tallies() -> list[Tally]:
        if plan.several is not None:
            return [Tally(each) for each in table.tally_tables(plan.schema, plan.lowered, progress)]
        return [Tally(table.tally(plan.schema, plan.lowered, progress))]

    if ledger is None:  # claim P5: only the public number of rows is asked; it needs neither noise nor ε
        check()
        return Release(plan, None, False, {"cells": [], "rows": tallies()[0].rows}, None, None)

    def noisy() -> dict[str, Any]:
        return table.guarded(
            "failed while noise was added", COMPLETE, lambda: _noisy(plan, tallies(), entropy, progress)
        )

    asked = as_recorded(plan, ledger)
    entry, answer = answered(ledger, asked, plan.epsilon, analyst=analyst, check=check, noisy=noisy)
    return released(plan, ledger, replace(entry, answer=answer), analyst)


def released(plan: Plan, ledger: Ledger, entry: Entry, analyst: str | None) -> Release:
    """Return the release of an entry with an answer; refuse an answer that does not fit its question."""
    free, completed = entry.repeated or entry.answered, entry.repeated and not entry.answered
    after = ledger.after(entry.number)
    release = Release(
        plan, entry.number, free, entry.answer, after.epsilon.remaining, analyst,
        completed=completed, recorded_at=after.recorded_at, budget=after.epsilon, head=after.head,
    )  # fmt: skip
    try:
        release.cells  # noqa: B018  # read from the record now, and kept
    except (AttributeError, KeyError, TypeError, ValueError):
        raise unfit(ledger) from None
    return release


def question(plan: Plan) -> dict[str, Any]:
    """Return what identifies the question in the ledger: everything public that the noisy integers depend on."""
    schema = plan.schema
    names = sorted(plan.declared)
    question: dict[str, Any] = {
        "source": schema.name,
        "query": plan.query.text,
        "neighbors": schema.neighbors,
        "columns": {name: schema.columns[name].describe() for name in names},
        "split": plan.split,
    }
    kept = {name: each for name in plan.query.by if (each := schema.columns[name].kept) is not None}
    if fewer := {name: listed_or_digest(each.numbers) for name, each in kept.items() if len(each.numbers) < each.of}:
        question["groups"] = fewer
    if schema.neighbors == "change_one" and not schema.every_row_counts:
        question["every_row_counts"] = False
    if described := schema.file.describe():
        question["file"] = described
    if joins := described_joins(schema, plan.columns):
        question["joins"] = joins
    if plan.strategy is not None:
        question["tables"] = described_strategy(plan.strategy, plan.query.by)
    if schema.version is not None:
        question["version"] = schema.version
    if schema.person is not None:
        question |= {"person": schema.person, "rows_per_person": schema.rows_per_person}
    return question


_MOST_BINS = 6
"""Of how many columns with declared bins the forms of earlier builds are looked for: there are 2^k of them."""


def as_recorded(plan: Plan, ledger: Ledger) -> dict[str, Any]:
    """Return the question; as the ledger has it, if it has it with declared bins written out, as earlier builds did."""
    asked, query = question(plan), plan.query
    declared = [(name, borders) for name in query.by if (borders := plan.schema.columns[name].edges) is not None]
    bins = [pair for pair in declared if pair[0] not in dict(query.edges)]
    if 0 < len(bins) <= _MOST_BINS and ledger.find(asked, plan.epsilon, Fraction(0)) is None:
        for some in (some for number in range(1, len(bins) + 1) for some in combinations(bins, number)):
            other = question(replace(plan, query=replace(query, edges=tuple(sorted([*query.edges, *some])))))
            if ledger.find(other, plan.epsilon, Fraction(0)) is not None:
                return other
    return asked


def _given_names(plan: Plan) -> dict[str, Any]:
    """Return the names, the order and the views that were asked: the question itself has none."""
    query = plan.query
    asked = list(dict.fromkeys(each.text for each in query.statistics))
    order = asked if asked != sorted(asked) else []
    first = {each.text: each for each in reversed(query.statistics)}
    columns = {text: each.name for text, each in first.items() if each.name != each.default_name}
    views = {text: view for text, each in first.items() if (view := view_of(each))}
    titles = {key: title for key, title in zip(query.by, query.titles or query.by, strict=True) if title != key}
    return {name: each for name, each in zip(_GIVEN, (columns, order, titles, views), strict=True) if each}


_GIVEN = ("names", "order", "titles", "views")


def unnamed(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recorded answer without the names, the order and the views of the one who asked, for someone else."""
    return {name: each for name, each in answer.items() if name not in _GIVEN}


def _noisy(plan: Plan, tallies: Sequence[Tally], entropy: Entropy, progress: Progress | None = None) -> dict[str, Any]:
    """Return the integers with noise, as they are recorded; the tallies, one for each table, are not passed on.

    The cells of several tables are one after the other in one column.
    """
    answer = _given_names(plan)
    public = None
    if any(each.public_rows for each in plan.measured) or plan.counts_publicly:
        public = answer["rows"] = tallies[0].rows
    cells = []
    for number, part in enumerate(plan.parts):
        tables = [
            part.measurement.noisy(tally.exact(plan, number), setting, entropy, progress)
            for tally, setting in zip(tallies, plan.settings(part, public), strict=True)
        ]
        cells.append([np.concatenate(some) if len(some) > 1 else some[0] for some in zip(*tables, strict=True)])
    answer["cells"] = recorded(cells)
    if not entropy.private:
        answer["private"] = False
    return answer
