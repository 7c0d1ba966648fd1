"""Whatever fails, one question is one charge and one answer: claims L1 to L4 and R2, with failures injected everywhere.

An error is raised at each step of Lapwing's own code, and at each statement of the ledger, one at a time, while a
release, keys or bounds are asked for.  After it, either an answer was given, and is the one recorded; or an error was,
and reveals nothing.  The question is then asked again, with other noise: there is one answer, and one charge.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...engine.table import Table
from ...errors import LapwingError, LedgerError
from ...ledger.ledger import Ledger
from ...noise.entropy import EntropyForTests
from ...question import query
from ...source import Source
from ..finding import Finding, parts
from ..room import Room
from ..tools.injecting import FAULTS, Failing, Silent, Step, counting, failing_at, wired
from ..tools.listening import NOTE, Heard, listening
from ..tools.pipelines import ANALYST, EPSILON, WAIT, Ask, Pipeline, answer_of, canaries, copied, source_of
from .aftermath import Outcome, Tries, attempted, broken, judged
from .caps import caps
from .durable import durable
from .interleaved import interleaved
from .servers import servers
from .shown import shown

SEED = 16

_ERRORS: tuple[Callable[[str], BaseException], ...] = (
    RuntimeError,
    lambda text: OSError(errno.EIO, text),
    MemoryError,
    KeyboardInterrupt,
)
_ALWAYS = ("ledger", "release")
"""The packages whose steps all fail in turn; of the others, a sample does."""


def failures(room: Room) -> Iterator[Finding]:
    """Check what is charged, shown and kept when steps and statements fail; settings, caps and edited answers."""
    yield from parts(
        room,
        durable=lambda: durable(room),
        caps=lambda: caps(room),
        steps=lambda: _fail(room, "steps", _failing_steps(room)),
        statements=lambda: _fail(room, "statements", _failing_statements(room)),
        interleaved=lambda: interleaved(room),
        shown=lambda: shown(room),
        servers=lambda: servers(room),
    )


def _fail(room: Room, what: str, works: Iterator[Callable[[], Finding]]) -> Iterator[Finding]:
    """Let steps or statements fail, and look at what was charged, answered and said."""
    logs = Heard()
    for work in works:
        with listening(room, "lapwing") as heard, wired(Silent()):
            finding = work()
        logs.said += heard.said
        yield finding
    yield logs.finding(f"T24: what is logged, warned and printed while {what} fail reveals no single person")


def opened(ledger: Ledger) -> Callable[[], Ledger]:
    """Return a function that opens the same ledger anew."""
    return lambda: Ledger.open(ledger.where, wait=WAIT)


def _failing_steps(room: Room) -> Iterator[Callable[[], Finding]]:
    """Yield the checks that let functions fail."""
    with wired(Silent()):
        pipeline, known = Pipeline(room), set[str]()
    for question in pipeline.questions:
        yield partial(_steps, pipeline, question, known, 2000 if room.deep else 8)
    yield partial(_engine_steps, room, 400 if room.deep else 12)


def _failing_statements(room: Room) -> Iterator[Callable[[], Finding]]:
    """Yield the checks that let statements of a ledger fail."""
    with wired(Silent()):
        pipeline = Pipeline(room)
    for question in pipeline.questions if room.deep else pipeline.questions[:1]:
        yield partial(_statements, pipeline, question, room.deep)
    yield partial(_owner_statements, room)
    yield partial(_making, room)


# --- steps ---


def _steps(pipeline: Pipeline, question: Ask, known: set[str], sample: int) -> Finding:
    """Fail at every function of the ledger and of the release that is not known yet, and at some other steps."""
    table, due = pipeline.table, question(pipeline.table, pipeline.ledger(), 1)
    ledger, began = pipeline.ledger(), list[int]()
    with counting() as found:
        table.when_read = lambda: began.append(len(found))
        question(table, ledger, 1)
    table.when_read = lambda: None
    exact = _exact(found, began[0])
    tally = Tries()
    for i in _chosen(found, exact, known, sample):
        step, ledger = found[i], pipeline.ledger()
        error = _ERRORS[i % len(_ERRORS)](NOTE if i in exact else "injected")
        before = table.opens
        with failing_at(step, error) as reached:
            outcome = attempted(lambda: question(table, ledger, 1), lambda: table.opens > before)  # noqa: B023
        again = lambda: question(table, ledger, 2)  # noqa: B023, E731
        fault = judged(lambda: broken(outcome, opened(ledger), again, type(error), due))  # noqa: B023
        tally.add(f"{step} ({type(error).__name__})", bool(reached), fault)
    return tally.finding(f"L3, R2: {question.name} that fails at any step is charged once and has one answer")


def _chosen(found: Sequence[Step], exact: set[int], known: set[str], sample: int) -> list[int]:
    """Return the numbers of steps to fail at, drawn with a fixed seed.

    They are each function of the ledger and the release that is not known yet, once, as it is entered or returns; and
    as many as ``sample`` of the steps with exact integers, and of all others.
    """
    chosen, left = list[int](), {True: sample, False: sample}
    for i in random.Random(SEED).sample(range(len(found)), len(found)):
        name = found[i].path[-1]
        if name not in known and found[i].package in _ALWAYS:
            known.add(name)
            chosen.append(i)
        elif left[i in exact] > 0:
            left[i in exact] -= 1
            chosen.append(i)
    return sorted(chosen)


def _exact(found: Sequence[Step], began: int) -> set[int]:
    """Return the steps from the reading to the noise: there are exact integers, which an error might quote.

    The last of them is the last of the noise before the answer is recorded.
    """
    ends = [i for i, step in enumerate(found) if step.path[-1].endswith(Ledger.record.__qualname__)]
    within = range(began, ends[0] if ends else len(found))
    last = max(i for i in within if found[i].package in ("measure", "noise"))
    return {i for i in within if i <= last and found[i].package in ("engine", "measure", "noise")}


def _engine_steps(room: Room, sample: int) -> Finding:
    """Fail at some steps of the engine itself, asked through a source."""
    path, tally = canaries(room), Tries()
    source_of(room, path).release(query.sum("y"), epsilon=EPSILON, entropy=EntropyForTests(1))
    source = source_of(room, path)
    ledger = source.make_ledger()
    with counting() as found:
        due = _through(source, 1)
    places = [i for i, step in enumerate(found) if step.package == "engine"]
    reads = min(i for i, step in enumerate(found) if step.path[-1].endswith(Table.tally.__qualname__))
    exact = _exact(found, reads + 1)
    for i in sorted(random.Random(SEED).sample(places, min(sample, len(places)))):
        step, source = found[i], source_of(room, path)
        ledger = source.make_ledger()
        error = _ERRORS[i % len(_ERRORS)](NOTE if i in exact else "injected")
        with failing_at(step, error) as reached:
            outcome = attempted(lambda: _through(source, 1), lambda: i > reads)  # noqa: B023
        fault = judged(lambda: broken(outcome, opened(ledger), lambda: _through(source, 2), type(error), due))  # noqa: B023
        tally.add(f"{step} ({type(error).__name__})", bool(reached), fault)
    return tally.finding("L3, R2: a release whose engine fails at any step is charged once and has one answer")


def _through(source: Source, seed: int) -> Any:
    return answer_of(source.release(query.sum("y"), epsilon=EPSILON, analyst=ANALYST, entropy=EntropyForTests(seed)))


# --- statements ---


_WAYS: tuple[dict[str, bool], ...] = ({}, {"after": True}, {"ever": True})
"""A failure before a statement, after it, and before it and all later ones."""


def _ways(number: int, statement: str) -> Iterator[dict[str, bool]]:
    """Yield how a statement fails: before it, once or from then on, and after it if it may change something."""
    if not statement.startswith("PRAGMA"):
        yield _WAYS[2 * (number % 2)]
    if not statement.startswith(("SELECT", "PRAGMA")):
        yield _WAYS[1]


def _statements(pipeline: Pipeline, question: Ask, deep: bool) -> Finding:
    """Fail before, after, and from then on, at each statement that the ledger runs for a question."""
    table, ledger, tally = pipeline.table, pipeline.ledger(), Tries()
    clean = Failing()
    with wired(clean):
        due = question(table, ledger, 1)
    for i, statement in enumerate(clean.heard, 1):
        for way in _WAYS if deep else _ways(i, statement):
            ledger, before = pipeline.ledger(), table.opens
            failing = Failing(i, fault=list(FAULTS)[i % len(FAULTS)], **way)
            with wired(failing):
                outcome = attempted(lambda: question(table, ledger, 1), lambda: table.opens > before)  # noqa: B023
            again = lambda: question(table, ledger, 2)  # noqa: B023, E731
            fault = judged(lambda: broken(outcome, opened(ledger), again, LedgerError, due))  # noqa: B023
            where = f"{statement.split()[0]} (statement {i}, {', '.join(way) or 'before'})"
            tally.add(where, len(failing.heard) >= i, fault)
    return tally.finding(f"L3: {question.name} whose ledger fails at any statement is charged once and has one answer")


def _owner_statements(room: Room) -> Finding:
    """Fail at each statement of what an owner does: an entry is made or it is not, and nothing else changes."""
    tally, owned = Tries(), _owned(room)
    for name, act in _ACTS.items():
        clean = Failing()
        ledger = copied(room, owned)
        with wired(clean):
            act(ledger)
        for i in range(1, len(clean.heard) + 1):
            for after in (False, True) if room.deep else (i % 2 == 0,):
                ledger = copied(room, owned)
                with wired(Failing(i, after=after)):
                    outcome = attempted(lambda: act(ledger), lambda: False)  # noqa: B023
                fault = judged(lambda: _half(outcome, ledger, act))  # noqa: B023
                tally.add(f"{name}, statement {i}", True, fault)
    return tally.finding("L3: an owner's entry whose statements fail is made or is not made")


_ACTS: dict[str, Callable[[Ledger], Any]] = {
    "a new total": lambda ledger: ledger.set_total(5),
    "a new analyst": lambda ledger: ledger.add_analyst("bob", 1),
    "a new cap": lambda ledger: ledger.set_cap("ana", 1),
}


def _owned(room: Room) -> Path:
    """Return a ledger with an analyst and a charge."""
    path = room.path("ledger")
    ledger = Ledger.open(path, 10)
    ledger.add_analyst("ana", 2)
    ledger.charge("q", EPSILON, analyst="ana")
    return path


def _half(outcome: Outcome, ledger: Ledger, act: Callable[[Ledger], Any]) -> str | None:
    """Return what does not hold after an owner's entry failed, None if all holds."""
    fresh = Ledger.open(ledger.where, wait=WAIT)
    made = fresh.verify() - 3
    if outcome.error is None and made != 1:
        return "an entry that was returned is not kept"
    if outcome.error is not None and not isinstance(outcome.error, LedgerError):
        return f"a {type(outcome.error).__name__} was raised"
    if made not in (0, 1) or fresh.spent != EPSILON or fresh.budget("ana").spent != EPSILON:
        return f"{made} entries were made, and ε = {float(fresh.spent)} is spent of 0.5"
    if not made:
        act(ledger)
    return None if ledger.verify() == 4 else "it cannot be done again"


# --- making a ledger ---


def _making(room: Room) -> Finding:
    """Fail at each step and statement of making a ledger: there is none, or a whole one with nothing spent."""
    tally, clean = Tries(), Failing()
    with wired(clean), counting() as found:
        _made(room.path("ledger"))
    known = set[str]()
    for i in _chosen(found, set(), known, 500 if room.deep else 0):
        path, error = room.path("ledger"), _ERRORS[i % len(_ERRORS)]("injected")
        with failing_at(found[i], error) as reached:
            outcome = attempted(lambda: _made(path), lambda: False)  # noqa: B023
        fault = judged(lambda: _half_made(outcome, path, type(error)))  # noqa: B023
        tally.add(f"{found[i]} ({type(error).__name__})", bool(reached), fault)
    for i in range(1, len(clean.heard) + 1):
        path = room.path("ledger")
        with wired(Failing(i, after=i % 2 == 0)):
            outcome = attempted(lambda: _made(path), lambda: False)  # noqa: B023
        tally.add(f"statement {i}", True, judged(lambda: _half_made(outcome, path, LedgerError)))  # noqa: B023
    return tally.finding("L3: a ledger whose making fails at any step is not there, or whole with nothing spent")


def _made(path: Path) -> Ledger:
    return Ledger.open(path, 2, wait=WAIT)


def _half_made(outcome: Outcome, path: Path, raised: type[BaseException]) -> str | None:
    """Return what does not hold after a ledger could not be made, None if all holds."""
    if outcome.error is not None and not isinstance(outcome.error, LapwingError | raised):
        return f"a {type(outcome.error).__name__} was raised"
    if outcome.error is None and not path.exists():
        return "a ledger was opened that is not there"
    before = path.exists()
    ledger = Ledger.open(path, wait=WAIT) if before else _made(path)
    whole = ledger.total == 2 and ledger.spent == 0 and ledger.verify() == 1
    return None if whole else f"it has ε = {float(ledger.spent)} spent of {float(ledger.total)}"
