"""A recorded answer is shown as it was recorded, or not at all (claims L2 and L4), by every way to see it.

The file of a ledger is edited while it is open, and between two openings: every stored value, every entry, and every
index.  Then all ways to see an answer are tried.  Each refuses, or shows what was recorded; a new answer has a charge.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...errors import LapwingError
from ...ledger.ledger import Ledger
from ...noise.entropy import EntropyForTests
from ...release.recall import clipped, recall
from ..finding import Finding
from ..room import Room
from ..tools.injecting import Silent, wired
from ..tools.pipelines import EPSILON, Pipeline, answer_of
from .tampering import Change, edits

SEED = 1607
_SAMPLE = 15
"""How many edits of entries are tried; those of answers, and of indices, always are."""

Doors = dict[str, Callable[[Ledger], Any]]
"""The ways to see answers, by name."""


class _Noise(EntropyForTests):
    """Noise that is the same in every run, and recorded as if it were not: plans use no histogram that is for tests."""

    private = True


def shown(room: Room) -> Iterator[Finding]:
    """Check that no edit of the file makes any way to see an answer show another one."""
    with wired(Silent()):
        finding = _edited(room)
    yield finding


def _edited(room: Room) -> Finding:
    pipeline = Pipeline(room)
    ledger = pipeline.ledger()
    for question in pipeline.questions:
        question.ask(pipeline.table, ledger, _Noise(1))
    path, doors = Path(ledger.where), _doors(pipeline, ledger)
    raw, due = path.read_bytes(), {name: door(ledger) for name, door in doors.items()}
    looks, spent = _Looks(), ledger.spent
    for change in _changes(path, ledger.verify(), everything=room.deep):
        for again in (False, True) if room.deep or not _is_of_entries(change) else (False,):
            path.write_bytes(raw)
            opened = Ledger.open(path, wait=1)
            _apply(path, change)
            looks.through(lambda: Ledger.open(path, wait=1) if again else opened, doors, due, spent, change)  # noqa: B023
    path.write_bytes(raw)
    return Finding(
        "L4: an answer that was edited in the file is refused, or shown as it was recorded, by every way to see it",
        not looks.wrong and 0 < looks.refused < looks.tried,
        f"{len(looks.wrong)} of {looks.tried} looks at edited ledgers showed something else, 0 may; {looks.refused} "
        f"were refused{'; first ' + looks.wrong[0] if looks.wrong else ''}.",
    )


@dataclass
class _Looks:
    """How often edited ledgers were looked at, how often that was refused, and what was shown instead of an answer."""

    tried: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)

    def through(
        self, opened: Callable[[], Ledger], doors: Doors, due: dict[str, Any], spent: Fraction, change: Change
    ) -> None:
        """Look through all doors, until one of them charges: what it shows then is an answer of its own."""
        try:
            ledger = opened()
        except LapwingError:
            self.tried += 1
            self.refused += 1
            return
        for name, door in doors.items():
            self.tried += 1
            try:
                found = door(ledger)
                if found != due[name] and ledger.spent >= spent + EPSILON:
                    return
            except LapwingError:
                self.refused += 1
                continue
            except Exception as error:
                found = type(error).__name__
            if found != due[name]:
                told = f"{str(found)[:60]} was shown, and {str(due[name])[:60]} recorded"
                self.wrong.append(f"{name} after {change[-1][0]}: {told}")


def _doors(pipeline: Pipeline, ledger: Ledger) -> Doors:
    """Return the ways to see the answers of a ledger: asking, recalling, listing, planning."""
    doors = Doors()
    for question in pipeline.questions:
        doors[f"{question.name}, asked again"] = lambda book, ask=question: ask(pipeline.table, book, 2)  # type: ignore[misc]
    charges = [each for each in ledger.entries() if each.kind == "charge"]
    for question, entry in zip(pipeline.questions, charges, strict=True):
        asked = (entry.question, entry.epsilon or Fraction(0), entry.delta or Fraction(0))
        number = entry.number
        doors |= {
            f"recall({number})": lambda book, i=number, schema=question.schema: answer_of(recall(schema, book, i)),  # type: ignore[misc]
            f"entry({number})": lambda book, i=number: _answer(book.entry(i)),  # type: ignore[misc]
            f"find({number})": lambda book, asked=asked: _answer(book.find(*asked)),  # type: ignore[misc]
            f"charge({number})": lambda book, asked=asked: _answer(book.charge(*asked)),  # type: ignore[misc]
            f"record({number})": lambda book, entry=entry: book.record(entry, {"another": 1}),  # type: ignore[misc]
        }
    doors["entries"] = lambda book: [(each.number, each.answer) for each in book.entries(answers=True)]
    doors["a plan"] = lambda book: str(clipped(pipeline.plan, book))
    return doors


def _answer(entry: Any) -> Any:
    return None if entry is None else entry.answer


# --- the edits ---


def _changes(path: Path, size: int, *, everything: bool) -> list[Change]:
    """Return the edits to try: of answers and of indices all, of entries a sample unless ``everything``."""
    found = list(edits(path, size))
    answers = [each for each in found if not _is_of_entries(each)]
    entries = [each for each in found if _is_of_entries(each)]
    if not everything:
        entries = random.Random(SEED).sample(entries, min(_SAMPLE, len(entries)))
    return [*answers, *_exchanges(path), *_without_index(path), *entries]


def _is_of_entries(change: Change) -> bool:
    """Return whether a change edits entries: those are refused when the ledger is opened, which ``tampered`` checks."""
    return any(table in statement for statement, _ in change for table in ("lapwing_entries", "lapwing_ledger"))


def _exchanges(path: Path) -> Iterator[Change]:
    """Yield edits that give one answer the text of another."""
    with closing(sqlite3.connect(path)) as connection:
        texts = connection.execute("SELECT number, text FROM lapwing_answers").fetchall()
    for (number, _), (_, other) in zip(texts, texts[1:] + texts[:1], strict=True):
        yield [("UPDATE lapwing_answers SET text = ? WHERE number = ?", [other, number])]


def _without_index(path: Path) -> Iterator[Change]:
    """Yield edits that make an index empty while all rows stay: it then lacks everything that is in the table."""
    with closing(sqlite3.connect(path)) as connection:
        select = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name LIKE 'lapwing%'"
        names = [name for (name,) in connection.execute(select).fetchall()]
    for name in names:
        empty = "(SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = 'decoy')"
        yield [
            ("CREATE TABLE decoy (x TEXT UNIQUE)", []),
            ("PRAGMA writable_schema = ON", []),
            (f"UPDATE sqlite_master SET rootpage = {empty} WHERE name = ?", [name]),
        ]


def _apply(path: Path, change: Change) -> None:
    """Change a file."""
    with closing(sqlite3.connect(path)) as connection:
        for statement, values in change:
            connection.execute(statement, values)
        connection.commit()
