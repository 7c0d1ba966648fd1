"""Two who ask one ledger at once, without chance: at a step of the one, the other does all of its work (claims L1, L2).

The other asks the same question, with other noise: there is one charge, and both get one answer.  Or the other charges
all that is left: what is granted to both together is never above the total.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from ...errors import BudgetExceeded, LapwingError
from ...ledger.ledger import Ledger
from ..finding import Finding
from ..room import Room
from ..tools.injecting import Silent, Step, acting_at, counting, wired
from ..tools.pipelines import EPSILON, WAIT, Pipeline
from .aftermath import Tries, attempted, judged

SEED = 1608
_MODULES = ("lapwing.ledger.ledger.", "lapwing.release.")
_AT_ONCE = 0.01
"""Seconds that the other waits: what the one has locked stays locked until the other gives up."""


def interleaved(room: Room) -> Iterator[Finding]:
    """Let another ask at steps of a release, for its answer and for the rest of the budget."""
    with wired(Silent()):
        pipeline = Pipeline(room)
        steps = _steps(pipeline, room.deep)
        same, rest = Tries(), Tries()
        for i, step in enumerate(steps):
            if room.deep or i % 2:
                same.add(step, True, judged(_same(pipeline, step)))
            if room.deep or not i % 2:
                rest.add(step, True, judged(_rest(pipeline, step)))
    yield same.finding("L2: when another asks the same at any step, there is one charge and one answer")
    yield rest.finding("L1: when another charges the rest at any step, no more than the total is granted")


def _steps(pipeline: Pipeline, deep: bool) -> list[Step]:
    """Return one step for each function of the ledger and the release, in the order of time; all if ``deep``."""
    ledger, chosen = pipeline.ledger(), dict[str, int]()
    with counting() as found:
        pipeline.questions[0](pipeline.table, ledger, 1)
    own = [i for i, step in enumerate(found) if step.path[-1].startswith(_MODULES)]
    for i in random.Random(SEED).sample(own, len(own)):
        if not found[i].returns:
            chosen.setdefault(found[i].path[-1], i)
    return [found[i] for i in (own if deep else sorted(chosen.values()))]


def _same(pipeline: Pipeline, step: Step) -> Callable[[], str | None]:
    """Return how a question is judged at a step of which another asks the same."""
    question, ledger, theirs = pipeline.questions[0], pipeline.ledger(), list[Any]()

    def act() -> None:
        try:
            theirs.append(question(pipeline.table, Ledger.open(ledger.where, wait=_AT_ONCE), 2))
        except LapwingError:  # the one holds the lock
            return

    def judge() -> str | None:
        with acting_at(step, act):
            outcome = attempted(lambda: question(pipeline.table, ledger, 1), lambda: True)
        fresh = Ledger.open(ledger.where, wait=WAIT)
        recorded = [entry.answer for entry in fresh.entries(answers=True) if entry.kind == "charge"]
        if outcome.error is not None:
            return f"it failed: {type(outcome.error).__name__}"
        if recorded != [outcome.answer] or any(each != outcome.answer for each in theirs):
            return "there are several answers"
        return None if fresh.spent == EPSILON and fresh.verify() == 4 else f"ε = {float(fresh.spent)} is spent of 0.5"

    return judge


def _rest(pipeline: Pipeline, step: Step) -> Callable[[], str | None]:
    """Return how a question is judged at a step of which another charges all that is left."""
    question, ledger, theirs = pipeline.questions[0], pipeline.ledger(), list[Fraction]()

    def act() -> None:
        try:
            other = Ledger.open(ledger.where, wait=_AT_ONCE)
            left = other.remaining
            other.charge("the rest", left)
            theirs.append(left)
        except LapwingError:
            return

    def judge() -> str | None:
        total = ledger.total
        with acting_at(step, act):
            outcome = attempted(lambda: question(pipeline.table, ledger, 1), lambda: True)
        fresh = Ledger.open(ledger.where, wait=WAIT)
        if outcome.error is not None and not (isinstance(outcome.error, BudgetExceeded) and theirs == [total]):
            return f"it failed: {type(outcome.error).__name__}"
        granted = sum(theirs) + (EPSILON if outcome.error is None else 0)
        fresh.verify()
        return None if fresh.spent == granted <= total else f"{float(granted)} was granted of {float(total)}"

    return judge
