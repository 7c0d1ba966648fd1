"""A ledger and a book beside it: every call is made on both, and what they say, hold and refuse is compared."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...errors import LapwingError
from ...ledger.entry import Budget, Entry
from ...ledger.ledger import Ledger
from .bookkeeping import Book, DueRefusal, Line, written

_SCALES = {
    **dict.fromkeys(("epsilon", "total", "spent", "cap", "cap_spent"), 10**9),
    **dict.fromkeys(("delta", "total_delta", "spent_delta"), 10**18),
}


class Paired:
    """A ledger in a file and its book; ``faults`` has what differed so far, ``calls`` how many calls were made."""

    def __init__(self, ledger: Ledger, book: Book) -> None:
        self.ledger, self.book = ledger, book
        self.faults: list[str] = []
        self.calls = 0
        if not book.lines[-1].hash:
            first = ledger.entries()[0]
            self._compare(first, book.lines[0], "open")

    @property
    def path(self) -> Path:
        """The file of the ledger."""
        return Path(self.ledger.where)

    def call(self, name: str, *given: Any) -> None:
        """Make one call on both; a record is named by the number of its charge."""
        self.calls += 1
        what, known = f"{name}{given!r:.200}", len(self.book.lines)
        due: Any
        try:
            due = getattr(self.book, name)(*given)
        except DueRefusal as refused:
            due = refused
        try:
            found: Any = getattr(self.ledger, name)(*self._as_given(name, given))
        except Exception as error:  # of made-up amounts, so its text reveals nothing
            found = error
        if isinstance(due, DueRefusal) or isinstance(found, Exception):
            self._compare_refusals(found, due, what)
        elif name == "record":
            self.faults += [] if found == due else [f"{what}: gives {found!r:.80}"]
            if known < len(self.book.lines):
                self._compare(self.ledger.entries()[-1], self.book.lines[-1], what)
        else:
            self._compare(found, due, what, repeated=due.number <= known)

    def _as_given(self, name: str, given: tuple[Any, ...]) -> tuple[Any, ...]:
        if name != "record":
            return given
        return self.ledger.entry(given[0]), *given[1:]

    def _compare_refusals(self, found: Any, due: Any, what: str) -> None:
        if not isinstance(due, DueRefusal):
            self.faults.append(f"{what}: is refused: {found}")
        elif not isinstance(found, LapwingError):
            self.faults.append(f"{what}: is not refused, {due}, but gives {found!r:.80}")
        elif missing := [each for each in due.args if each not in str(found)]:
            self.faults.append(f"{what}: the refusal does not say {missing[0]!r}: {found}")

    def _compare(self, entry: Any, line: Line, what: str, *, repeated: bool = False) -> None:
        """Compare an entry that was made or found with its line; a new one tells the line its time and hash."""
        if not isinstance(entry, Entry):
            self.faults.append(f"{what}: gives {entry!r:.80}")
            return
        if not line.hash:
            line.time, line.hash = entry.time, entry.hash
            if not _is_now(entry.time):
                self.faults.append(f"{what}: its time is {entry.time}")
        self.faults += [f"{what}: {each}" for each in self.unlike(entry, line, repeated=repeated, full=repeated)]

    def unlike(self, entry: Entry, line: Line, *, repeated: bool = False, full: bool) -> Iterator[str]:
        """Yield the fields of an entry that differ from its line; ``full`` is one with its answer."""
        answer = self.book.answer_to(line.number) if full else None
        due = {
            "number": line.number, "time": line.time, "kind": line.kind, "analyst": line.analyst,
            "question": line.question, "epsilon": line.epsilon, "delta": line.delta, "note": line.note,
            "spent": line.spent, "hash": line.hash, "charge": line.charge, "answer": answer and answer.answer,
            "answered": answer is not None, "repeated": repeated, "recorded_at": answer and answer.time,
        }  # fmt: skip
        found = {each.name: getattr(entry, each.name) for each in fields(entry)}
        yield from _unlike(found, due)
        told = {
            "entry": line.number, "time": line.time, "kind": line.kind, "analyst": line.analyst,
            "question": line.question, "epsilon": _text(line.epsilon), "delta": _text(line.delta), "note": line.note,
            "spent": written(line.spent), "charge": line.charge, "answered": answer is not None, "hash": line.hash,
        }  # fmt: skip
        yield from _unlike(entry.to_dict(), told)

    # --- all that is in the ledger ---

    def all_faults(self, *, brief: bool = False) -> list[str]:
        """Return what differed in any call, or differs now in the file and in what the ledger says of itself.

        A brief comparison leaves out what is said of single entries.
        """
        found = [*self.faults]
        for look in (self._in_file, self.said_in_all, *(() if brief else (self._said_of_each, self._said_left))):
            try:
                found += look()
            except Exception as error:  # of made-up amounts, so its text reveals nothing
                found.append(f"{type(error).__name__}: {error}")
        return found

    def _in_file(self) -> Iterator[str]:
        """Yield what differs in the rows of the file."""
        with closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            rows = connection.execute("SELECT * FROM lapwing_entries ORDER BY number").fetchall()
            answers = dict(connection.execute("SELECT number, text FROM lapwing_answers").fetchall())
            heads = [tuple(each) for each in connection.execute("SELECT * FROM lapwing_ledger")]
        lines = self.book.lines
        if heads != [(1, len(lines), lines[-1].hash)] or len(rows) != len(lines):
            yield f"it has the heads {heads}, and {len(rows)} entries where {len(lines)} are due"
        for row, line in zip(rows, lines, strict=False):
            for name in ("number", "time", "kind", "analyst", "charge", "note", "hash", *_SCALES):
                due = getattr(line, name)
                due = due * _SCALES[name] if name in _SCALES and due is not None else due
                if row[name] != due:
                    yield f"entry {line.number}: {name} is {row[name]}, and {due} is due"
            if json.loads(row["question"] or "null") != line.question:
                yield f"entry {line.number}: the question is {row['question']}"
        yield from _written(rows, answers)
        due_answers = {each.number: each.answer for each in lines if each.kind == "answer"}
        if {number: json.loads(text) for number, text in answers.items()} != due_answers:
            yield f"it has {len(answers)} answers, not the {len(due_answers)} that are due"

    def said_in_all(self) -> Iterator[str]:
        """Yield what differs in what the ledger says of its entries together."""
        ledger, lines = self.ledger, self.book.lines
        if ledger.verify(lines[-1].hash) != len(lines) or ledger.head != lines[-1].hash:
            yield f"it says that it has {ledger.verify()} entries and the head {ledger.head}"
        for full in (True, False):
            listed = ledger.entries(answers=full)
            if len(listed) != len(lines):
                yield f"it lists {len(listed)} entries of {len(lines)}"
            for entry, line in zip(listed, lines, strict=False):
                answer = self.book.answer_to(line.number)
                due = answer if full else None
                if (entry.answered, entry.recorded_at, entry.answer) != (
                    answer is not None, answer and answer.time, due and due.answer,
                ):  # fmt: skip
                    yield f"entry {line.number}: its answer is listed as {entry.answered}, {entry.answer!r:.80}"
                if (entry.number, entry.hash, entry.spent) != (line.number, line.hash, line.spent):
                    yield f"entry {line.number} is listed as {entry}"

    def _said_of_each(self) -> Iterator[str]:
        """Yield what differs in what the ledger says of one entry, or one request."""
        ledger, book = self.ledger, self.book
        lines = book.lines
        for line in lines:
            one = ledger.entry(line.number)
            yield from ["is not found"] if one is None else self.unlike(one, line, full=True)
        yield from (f"entry {n} exists" for n in (0, -1, len(lines) + 1, 2**63) if ledger.entry(n) is not None)
        names = [None, *book.caps, "nobody"]
        for name in names:
            found = [{each.name: getattr(one, each.name) for each in fields(one)} for one in ledger.requests(name)]
            due_requests = list(book.requests(name))
            if found != due_requests:
                yield f"requests of {name}: {found}, and due are {due_requests}"
        for told, due_one in zip(ledger.requests(), book.requests(), strict=False):
            number, cap, granted = due_one.pop("number"), due_one.pop("cap"), due_one.pop("granted")
            yield from _unlike(
                told.to_dict(), {"request": number, "cap": _text(cap), "granted": _text(granted), **due_one}
            )

    def _said_left(self) -> Iterator[str]:
        """Yield what differs in what is said to be left."""
        ledger, book = self.ledger, self.book
        whole, delta = Budget(None, book.total, book.spent), Budget(None, book.total_delta, book.spent_delta)
        left = max(book.total - book.spent, Fraction(0))
        told: list[tuple[Any, Any]] = [
            (ledger.budget(), whole), (ledger.delta, delta), (ledger.total, book.total), (ledger.spent, book.spent),
            (ledger.remaining, left), (ledger.delta.remaining, max(book.total_delta - book.spent_delta, Fraction(0))),
            (ledger.budget().to_dict(),
             {"total": written(book.total), "spent": written(book.spent), "remaining": written(left)}),
        ]  # fmt: skip
        mine = [Budget(name, *book.caps[name], left) for name in sorted(book.caps)]
        told.append((ledger.analysts(), mine))
        for each in mine:
            name = str(each.analyst)
            told += [(ledger.budget(name), each), (ledger.budget(name).remaining, book.left(name))]
            amounts = {
                "total": written(each.total),
                "spent": written(each.spent),
                "remaining": written(book.left(name)),
            }
            told.append((ledger.budget(name).to_dict(), {"analyst": name, **amounts}))
        for line in (each for each in book.lines if each.kind == "charge"):
            after, answer = ledger.after(line.number), book.answer_to(line.number)
            told.append((tuple(after), (whole, delta, answer and answer.time, book.lines[-1].hash)))
        for i, (said, due) in enumerate(told):
            if said != due:
                yield f"amount {i} is said to be {said}, and {due} is due"


def _written(rows: Sequence[sqlite3.Row], answers: Mapping[int, str]) -> Iterator[str]:
    """Yield what is not written as the reference of the ledger says: canonical JSON, keys and hashes."""
    previous = "0" * 64
    for row in rows:
        fields = {name: row[name] for name in row.keys() if row[name] is not None and name != "hash"}  # noqa: SIM118
        if row["previous"] != previous or row["hash"] != _hash(_canonical(fields)):
            yield f"entry {row['number']}: its hash, or the one before, is not as it is written"
        previous = row["hash"]
        asked = row["question"]
        if asked is not None and asked != _canonical(json.loads(asked)):
            yield f"entry {row['number']}: its question is no canonical JSON"
        if row["kind"] == "charge" and row["key"] != _hash(f"{row['epsilon']} {row['delta']} {asked}"):
            yield f"entry {row['number']}: its key is {row['key']}"
        if (row["kind"] == "open") != (row["key"] is not None and len(row["key"]) == 32):
            yield f"entry {row['number']}: its key is {row['key']}"
        text = answers.get(row["number"])
        if row["answer"] != (None if text is None else _hash(text)):
            yield f"entry {row['number']}: the hash of its answer is {row['answer']}"
        if text is not None and text != _canonical(json.loads(text)):
            yield f"entry {row['number']}: its answer is no canonical JSON"


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _unlike(found: dict[str, Any], due: dict[str, Any]) -> Iterator[str]:
    if set(found) != set(due):
        yield f"the fields are {', '.join(found)}"
    for name, value in due.items():
        if found.get(name) != value:
            yield f"{name} is {found.get(name)!r:.80}, and {value!r:.80} is due"


def _text(amount: Fraction | None) -> str | None:
    return None if amount is None else written(amount)


def _is_now(time: str) -> bool:
    """Return whether a text is the present time, in UTC and whole seconds; a busy machine may be a minute late."""
    read = datetime.fromisoformat(time)
    late = (datetime.now(UTC) - read).total_seconds()
    return read.isoformat(timespec="seconds") == time and time.endswith("+00:00") and 0 <= late < 60
