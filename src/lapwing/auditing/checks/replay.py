"""Replay: the same question to a table and its neighbor, with the noise frozen.

Everything that can be observed must be the same, except the noisy numbers: which functions run, the SQL, how much
randomness is drawn, the shape of the answer, scales, the ledger, errors.  The integers move by no more than declared.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import numpy as np

from ...errors import LapwingError
from ...noise.entropy import EntropyForTests, Stream
from ...question import query
from ...question.sets import cube
from ...release.result import Release
from ...source import Source
from ..finding import Finding, parts
from ..room import Room
from ..tools.injecting import watching
from ..tools.neighbors import SEED, TYPES, Question, Row, source, together
from ..tools.pooled import sharing

_OTHERS: tuple[Row, ...] = ((1.0, 1, "a"), (2.5, 2, "b"))
_SOMEBODY: tuple[tuple[Row, ...], ...] = (
    ((7.0, 7, "a"), (1e308, 2**62, "b"), (float("nan"), None, None)),
    ((float("inf"), -(2**62), "elsewhere"), (-1e308, 2**62, "a")),
    ((None, None, None),),
    ((0.5, 1, "a"),) * 100,
)

_ASKED = (
    Question((query.count(),)),
    Question((query.count(), query.mean("x")), ("key",), "z < 5 OR x IS NULL"),
    Question((query.sum("x"), query.variance("z")), ("rest",)),
    Question((query.proportion("x > 2"),), people=False),
    Question((query.histogram("x", [-3, 0, 7]),), neighbors="change_one"),
    Question((query.cdf("z", [-3, 0, 3, 7]),)),
    Question((query.median("z"),), ("key",)),
    Question((query.sum("x"),), ("key", "rest"), several=True),
    Question((query.count(),), ("key", "rest"), "z < 5", people=False, neighbors="change_one", several=True),
)


@dataclass
class Trace:
    """What can be observed of one run."""

    functions: list[str] = field(default_factory=list)
    sql: list[str] = field(default_factory=list)
    drawn: list[int] = field(default_factory=list)
    answer: Any = None
    ledger: Any = None
    error: str | None = None

    def differs(self, other: Trace) -> list[str]:
        """Return what differs from another run."""
        return [name for name, value in vars(self).items() if value != vars(other)[name]]


class Recorded(EntropyForTests):
    """Randomness for tests, always the same, that records how much of it is drawn."""

    def __init__(self, drawn: list[int]) -> None:
        super().__init__(SEED)
        self._drawn = drawn

    def bits(self, count: int) -> int:
        self._drawn.append(count)
        return super().bits(count)

    def stream(self) -> Stream:
        return _Noted(super().stream(), self._drawn)


@dataclass(frozen=True)
class _Noted:
    stream: Stream
    drawn: list[int]

    def fill(self, words: Any) -> None:
        self.drawn.append(words.size)
        self.stream.fill(words)


Run = Callable[[Source, EntropyForTests], Any]


@sharing
def replay(room: Room) -> Iterator[Finding]:
    """Yield, for each question, what differed over all neighbors; also for keys, bounds and rows per person."""
    own, people = [replace(room, engines=(engine,)) for engine in room.engines], Question((query.count(),))
    yield from parts(
        room,
        releases=lambda: (_replayed(each, asked, str(asked), _released(asked)) for each in own for asked in _ASKED),
        bounds=lambda: (_replayed(each, people, "the bounds of x", _bounds) for each in own),
        keys=lambda: (_replayed(each, people, "the keys of u", _keys) for each in own),
        rows=lambda: (_replayed(each, people, "the rows per person", _rows) for each in own),
    )


def _released(question: Question) -> Run:
    by = cube(*question.by) if question.several else question.by
    options: dict[str, Any] = {"by": by, "where": question.where, "epsilon": 1}
    return lambda asked, entropy: asked.release(*question.statistics, **options, entropy=entropy)


def _bounds(asked: Source, entropy: EntropyForTests) -> Any:
    return asked.bounds("x", epsilon=1, entropy=entropy).release


def _keys(asked: Source, entropy: EntropyForTests) -> Any:
    return asked.discover("u", epsilon=1, delta="1e-9", entropy=entropy)


def _rows(asked: Source, entropy: EntropyForTests) -> Any:
    return asked.rows_per_person(epsilon=1, entropy=entropy)


def _replayed(room: Room, question: Question, what: str, run: Run) -> Finding:
    """Compare the run on a table with those on its neighbors."""
    before: tuple[Row, ...] = () if question.neighbors == "add_remove" else _SOMEBODY[0]
    most = None if question.people else 1
    tables = [room.table(together([(_OTHERS, own[:most])]), TYPES) for own in (before, *_SOMEBODY)]
    _traced(room, question, tables[0], run)  # fills caches, which hold only public parameters
    first, *others = (_traced(room, question, table, run) for table in tables)
    errors = [trace.error for trace, _ in (first, *others) if trace.error is not None]
    if errors:
        return Finding(f"{room.engines[0].name}: {what}", False, f"a table is refused: {errors[0]}")
    differing = {name for trace, _ in others for name in first[0].differs(trace)}
    told = f"differing over {len(others)} neighbors: {', '.join(sorted(differing)) or 'nothing'}"
    if isinstance(first[1], Release) and not any(each.level for each in question.statistics):
        plan = first[1].plan
        farthest = [max(_moved(first[1], other, i) for _, other in others) for i in range(len(plan.parts))]
        declared = [sum(map(part.measurement.sensitivity, plan.settings(part))) for part in plan.parts]
        told += f"; moved by {farthest} of {declared} declared"
        if any(far > most for far, most in zip(farthest, declared, strict=True)):
            return Finding(f"{room.engines[0].name}: {what}", False, told)
    else:  # the number of candidate values, and of keys that are not shown, changes how much randomness is drawn
        differing -= {"functions", "drawn"}
    return Finding(f"{room.engines[0].name}: {what}", not differing, told)


def _moved(one: Release, other: Release, part: int) -> int:
    """Return how far apart the noisy integers of two runs with the same noise are."""
    return sum(
        int(np.abs(np.asarray(a) - np.asarray(b)).sum())
        for a, b in zip(one.cells[part], other.cells[part], strict=True)
    )


def _traced(room: Room, question: Question, table: Any, run: Run) -> tuple[Trace, Any]:
    """Run, and return what was observed and what was answered."""
    asked, trace, made = source(room, table, question), Trace(), None
    with _watched(trace):
        try:
            made = run(asked, Recorded(trace.drawn))
        except LapwingError as error:
            trace.error = f"{type(error).__name__}: {error}"
    if made is not None:
        trace.answer = _masked(made.to_dict())
    trace.ledger = [
        (entry.kind, entry.epsilon, entry.question, _public(full.answer))
        for entry in asked.make_ledger().entries()
        if (full := asked.make_ledger().entry(entry.number)) is not None
    ]
    return trace, made


def _masked(told: Any) -> Any:
    """Return an answer without its noisy numbers, and without the time, which goes on."""
    if isinstance(told, dict):
        return {
            key: "…" if key in ("value", "low", "high", "recorded_at") else _masked(value)
            for key, value in told.items()
        }
    return [_masked(each) for each in told] if isinstance(told, list) else told


def _public(answer: dict[str, Any] | None) -> list[tuple[str, Any]]:
    """Return what a recorded answer holds besides noisy numbers."""
    noisy = ("cells", "keys", "counts", "people")
    return [(key, None if key in noisy else value) for key, value in (answer or {}).items()]


@contextmanager
def _watched(trace: Trace) -> Iterator[None]:
    """Record which functions of Lapwing run, and the SQL that the engine gets."""

    def note(frame: FrameType, event: str, _: Any) -> None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        if event != "call" or not module.startswith("lapwing.") or module.startswith("lapwing.auditing") or "<" in name:
            return
        if module.startswith("lapwing.engine.") and frame.f_code.co_name in ("integers", "keys"):
            trace.sql.append(frame.f_locals["sql"])
        if threading.current_thread() is threading.main_thread():
            trace.functions.append(f"{module}.{name}")

    with watching(note):
        yield
