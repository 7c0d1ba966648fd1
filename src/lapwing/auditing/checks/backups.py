"""Copies of a ledger that are put back (claim L6): compared, entry by entry, with a second record of both ledgers.

Random histories go on after the copy by themselves, or from another copy; then the copy is put back, with the head
that was kept, with another one or with none, over the ledger or where it has gone.
"""

from __future__ import annotations

import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from ...errors import InvalidRequest, LapwingError, LedgerError, NoLedger
from ...ledger.backup import Restored, back_up, restore
from ...ledger.ledger import Ledger
from ..finding import Finding, all_right
from ..room import Room
from ..tools import histories
from ..tools.bookkeeping import Book, DueRefusal
from ..tools.paired import Paired
from ..tools.restoring import put_back

SEED = 37
_ATTO = Fraction(1, 10**18)


def backups(room: Room) -> Iterator[Finding]:
    """Check what is copied, what is refused, and what is put back after random histories."""
    yield _copied(room)
    yield _refused(room)
    yield _put_back(room, 60 if room.deep else 8)


# --- copies ---


def _copied(room: Room) -> Finding:
    """A copy has every row, nobody may write to it, and nothing is replaced by it; a head has to be in it."""
    wrong: list[str] = []
    paired = histories.new(room, Fraction(5), Fraction(1, 10**6))
    histories.go_on(paired, Random(SEED), 30)
    to, before = room.path("backup"), paired.path.read_bytes()
    with closing(sqlite3.connect(paired.path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")  # another one is about to write
        last = back_up(paired.ledger, to, paired.book.lines[2].hash)
    wrong += paired.unlike(last, paired.book.lines[-1], full=False)
    copy = _opened(to, paired.book)
    wrong += [*paired.faults, *copy.all_faults()]
    if stat.S_IMODE(to.stat().st_mode) != 0o400:
        wrong.append(f"its mode is {stat.S_IMODE(to.stat().st_mode):o}")
    text, folder = room.path("txt"), room.path("folder")
    text.write_text("something")
    folder.mkdir()
    free = room.path("backup")
    for there in (to, text, folder, paired.path):
        wrong += _accepted(lambda: back_up(paired.ledger, there), InvalidRequest, f"a copy over {there.name}")  # noqa: B023
    for head in ("0" * 64, "abc", paired.book.lines[-1].hash[:-1]):
        wrong += _accepted(lambda: back_up(paired.ledger, free, head), LapwingError, f"the head {head}")  # noqa: B023
    wrong += _accepted(lambda: back_up(paired.ledger, "postgresql://h/b"), LapwingError, "a copy on a server")
    wrong += [] if text.read_text() == "something" and not free.exists() else ["a refused copy left something"]
    wrong += [] if paired.path.read_bytes() == before else ["the ledger that was copied has changed"]
    with closing(sqlite3.connect(paired.path)) as connection:
        connection.execute("UPDATE lapwing_answers SET text = '1'")
        connection.commit()
    wrong += _accepted(lambda: back_up(paired.ledger, free), LedgerError, "a copy of a damaged ledger")
    wrong += ["a copy of a damaged ledger is left"] if free.exists() else []
    return Finding("L6: a copy has all that the ledger has, and replaces nothing", not wrong, all_right(wrong, 16))


# --- put back ---


def _put_back(room: Room, times: int) -> Finding:
    wrong: list[str] = []
    tried = 0
    for seed in range(times):
        random = Random(f"{SEED} {seed}")
        paired = histories.new(room, Fraction(5), Fraction(1, 10**6))
        for name in histories.NAMES[: random.randrange(4)]:
            paired.call("add_analyst", name, histories.amount(random, 2))
        histories.go_on(paired, random, 12)
        if random.random() < 0.4:  # the ledger went on from another copy
            first = _copy_of(paired, room)
            histories.go_on(paired, random, 6)
            copy = _copy_of(paired, room)
            shutil.copy(first.path, paired.path)
            paired.path.chmod(0o600)
            paired = Paired(Ledger.open(paired.path), first.book)
        else:
            copy = _copy_of(paired, room)
        histories.go_on(paired, random, random.choice((0, 2, 8, 16)))
        heads = (None, copy.book.lines[-1].hash, copy.book.lines[0].hash, paired.book.lines[-1].hash, "0" * 64, "x")
        gone = random.random() < 0.25
        for head in random.sample(heads, 2):
            tried += 1
            wrong += [f"seed {seed}: {each}" for each in _tried(room, paired, copy, head, random, gone=gone)]
    return Finding(
        "L6: what is put back has the entries of the copy, and what it lacks is written off",
        not wrong,
        all_right(wrong, tried),
    )


def _copy_of(paired: Paired, room: Room) -> Paired:
    to = room.path("backup")
    back_up(paired.ledger, to)
    return _opened(to, paired.book)


def _opened(path: Path, book: Book) -> Paired:
    return Paired(Ledger.open(path), deepcopy(book))


def _tried(
    room: Room, paired: Paired, copy: Paired, head: str | None, random: Random | None, *, gone: bool = False
) -> Iterator[str]:
    """Put a copy back over a copy of a ledger, or where none is, with every right to do so; yield what is wrong."""
    here, raw = room.path("ledger"), None if gone else paired.path.read_bytes()
    if raw is not None:
        here.write_bytes(raw)
    open_before = None if gone else Ledger.open(here)
    due = put_back(copy.book, None if gone else paired.book, head)
    yield from paired.faults
    if due.words:
        try:
            restore(str(here), copy.path, head)
            yield "what is lost is not refused"
            return
        except LedgerError as error:
            yield from [] if due.words in str(error) else [f"the refusal does not say {due.words!r}: {error}"]
        if (here.read_bytes() if here.exists() else None) != raw:
            yield "a refusal changed the ledger"
    try:
        made = restore(str(here), copy.path, head, write_off=bool(due.words))
    except LapwingError as error:
        yield f"it is refused: {error}"
        return
    after = Paired(Ledger.open(here), due.book)
    yield from _compared(made, after, len(due.added))
    yield from after.all_faults(brief=True)
    yield from _forgotten(open_before, paired, copy) if open_before else ()
    if random is not None:
        histories.go_on(after, random, 4)
        yield from after.all_faults()


def _compared(made: Restored, after: Paired, added: int) -> Iterator[str]:
    """Yield what is wrong with what was told; the new lines get their times and hashes from it."""
    lines = after.book.lines[len(after.book.lines) - added :]
    if len(made.written_off) != added:
        yield f"{len(made.written_off)} entries write something off, and {added} are due"
    for entry, line in zip(made.written_off, lines, strict=False):
        line.time, line.hash = entry.time, entry.hash
        yield from after.unlike(entry, line, full=False)
    if (made.entries, made.head) != (len(after.book.lines), after.book.lines[-1].hash):
        yield f"it tells of {made.entries} entries and the head {made.head}"


def _forgotten(opened: Ledger, paired: Paired, copy: Paired) -> Iterator[str]:
    """Yield whether a ledger that was open before does not go on if the entry that it saw is lost."""
    last = paired.book.lines[-1]
    lost = last.hash not in {each.hash for each in copy.book.lines}
    try:
        opened.spent  # noqa: B018
    except LedgerError as error:
        yield from [] if lost else ["a ledger whose entries are all there is refused"]
        yield from (
            [] if f"lacks entry {last.number} as it was seen before" in str(error) else [f"it is refused: {error}"]
        )
    else:
        yield from ["a ledger that saw what is lost goes on"] if lost else []


# --- refused ---


def _refused(room: Room) -> Finding:
    """What is no copy, a damaged one, that of another ledger, or a damaged ledger: all stays as it is."""
    wrong: list[str] = []
    paired, other = (histories.new(room, Fraction(5)) for _ in range(2))
    for each in (paired, other):
        for call in (("charge", "a", Fraction(1)), ("record", 2, {"n": 1}), ("charge", "b", Fraction(1))):
            each.call(*call)
    copy = _copy_of(paired, room).path
    text = room.path("txt")
    text.write_text("no ledger")
    cases: list[tuple[str, Path, Path]] = [("text", paired.path, text), ("another ledger's", other.path, copy)]
    for statement in (
        "UPDATE lapwing_answers SET text = '{}'",
        "DELETE FROM lapwing_answers",
        "UPDATE lapwing_entries SET epsilon = 1 WHERE number = 2",
        "DELETE FROM lapwing_entries WHERE number = 4",
        "DELETE FROM lapwing_ledger",
        "UPDATE lapwing_ledger SET version = 2",
    ):
        edited = room.path("backup")
        edited.write_bytes(copy.read_bytes())
        with closing(sqlite3.connect(edited)) as connection:
            connection.execute(statement)
            connection.commit()
        cases += [(f"{statement} in the copy", paired.path, edited), (f"{statement}, gone", room.path("gone"), edited)]
        if "answers" not in statement:  # whether a ledger may be replaced does not depend on the texts in it
            cases.append((f"{statement} in the ledger", edited, copy))
    head = paired.book.lines[-1].hash
    for what, where, of in cases:
        before = where.read_bytes() if where.exists() else None
        wrong += _accepted(lambda: restore(str(where), of, head, write_off=True), LedgerError, what)  # noqa: B023
        if (where.read_bytes() if where.exists() else None) != before:
            wrong.append(f"{what}: the ledger has changed")
    missing = room.path("backup")
    wrong += _accepted(lambda: restore(str(paired.path), missing, head, write_off=True), NoLedger, "a missing copy")
    wrong += _accepted(lambda: put_back(_copy_of(paired, room).book, other.book, None), DueRefusal, "another book")
    wrong += [*paired.all_faults(), *other.all_faults()]
    return Finding(
        "L6: only a sound copy is put back, and only over a sound ledger that it is a copy of",
        not wrong,
        all_right(wrong, len(cases) + 2),
    )


def _accepted(call: Callable[[], Any], kind: type[Exception], what: str) -> list[str]:
    """Return what is accepted, or refused in another way than by an error of this kind."""
    try:
        call()
    except kind:
        return []
    except Exception as error:
        return [f"{what} fails with {type(error).__name__}: {error}"]
    return [f"{what} is accepted"]


# --- written off ---


def written_off(room: Room) -> Iterator[Finding]:
    """Each amount is lowered on its own: ε, δ, caps that rose or fell meanwhile, and answers that came later."""
    wrong: list[str] = []
    third, tiny = Fraction(1, 3) // Fraction(1, 10**9) * Fraction(1, 10**9), 7 * _ATTO
    later: tuple[tuple[tuple[Any, ...], ...], ...] = (
        (),
        (("charge", "new", third, tiny, "ana"),),
        (("charge", "new", third, Fraction(0), None),),
        (("record", 4, "late"),),
        (("record", 4, "late"), ("charge", "new", third, tiny, "bob"), ("record", 8, "later still")),
        (("set_total", Fraction(3), 40 * _ATTO),),
        (("set_total", Fraction(1), 10 * _ATTO), ("set_cap", "ana", Fraction(1, 5)), ("set_cap", "bob", Fraction(9))),
        (("set_total", Fraction(9), 400 * _ATTO), ("set_cap", "ana", Fraction(9)), ("charge", "n", third, tiny, "ana")),
        (("charge", "new", Fraction(1), 90 * _ATTO, "bob"), ("set_cap", "bob", Fraction(1, 2))),
        (("add_analyst", "cal", Fraction(1)), ("charge", "new", third, Fraction(0), "cal")),
        (("add_analyst", "dan", Fraction(1)), ("add_analyst", "cal", Fraction(1))),
        (("request", "ana", Fraction(2), "more"), ("grant", 7)),
        (("charge", "new", Fraction(7, 5), Fraction(0), None), ("charge", "and", 2 * third, tiny, "bob")),
    )
    for i, calls in enumerate(later):
        paired = histories.new(room, Fraction(2), 100 * _ATTO)
        for call in (
            ("add_analyst", "ana", Fraction(1)), ("add_analyst", "bob", Fraction(1)),
            ("charge", "open", Fraction(1, 10), tiny, "ana"), ("charge", "done", Fraction(1, 5), Fraction(0), None),
            ("record", 5, {"n": 1}),
        ):  # fmt: skip
            paired.call(*call)
        copy = _copy_of(paired, room)
        for call in calls:
            paired.call(*call)
        older, newer = copy, paired
        for head in (None, "f" * 64):
            wrong += [f"case {i}, head {head}: {each}" for each in _tried(room, newer, older, head, None)]
        newest = _copy_of(paired, room)  # put back over the older ledger: nothing is lost
        wrong += [f"case {i}, older: {each}" for each in _tried(room, older, newest, None, None)]
    lines = older.book.lines
    for head in (None, "f" * 64, lines[0].hash, lines[-2].hash, lines[-1].hash, newer.book.lines[-1].hash):
        wrong += [f"gone, head {head}: {each}" for each in _tried(room, newer, older, head, None, gone=True)]
    yield Finding(
        "L6: nothing remains of what was charged or answered after the copy, of ε, of δ and of every cap",
        not wrong,
        all_right(wrong, 3 * len(later) + 6),
    )
