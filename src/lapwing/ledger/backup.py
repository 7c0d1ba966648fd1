"""Copies of a ledger: taken while others write, and put back so that nothing is spent twice that is known to be spent.

Claim L6 (put back).  A ledger that is there is only replaced by a copy of itself.  Afterwards, no more remains of ε, δ
and every cap than the copy has, less what was charged in the ledger after the last entry that both have, and less every
charge that both have and that was answered after it: its answer is lost, and it may get another one.  Where no ledger
is left to compare with, nothing remains and no charge without an answer gets one, unless the last entry of the copy is
the head that was kept.

A backup is a ledger in an SQLite file that nobody may write to; ``Ledger.verify`` checks it like any other.
Proof: docs/explanation/ledger.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from os import PathLike
from pathlib import Path

import sqlalchemy as sa

from .. import exact
from ..errors import InvalidRequest, LedgerError, NoLedger
from ..exact import ATTO, NANO
from . import store
from .chain import sha256
from .entry import Entry, canonical_json, entry_of
from .existing import open_existing
from .failure import plainly
from .ledger import Ledger
from .store import VERSION, WAIT, Row, Turn

_NOTE = "written off: charged after the backup that was put back"
_UNKNOWN_NOTE = "written off: nobody knows what was charged after the backup that was put back"
_LOST_ANSWER = {"lost": "It may have been given after the backup that was put back."}
"""In place of an answer that nobody knows: it fits no question, so that no other noise is shown for the same charge."""

_ADVICE = (
    "Find a newer copy, or confirm with --write-off: what is lost then counts as spent, and questions whose answers "
    "are lost are charged again."
)


@dataclass(frozen=True)
class Restored:
    """What was put back: the number of entries and the head now, and the entries that write off what is lost."""

    entries: int
    head: str
    written_off: tuple[Entry, ...]


@dataclass(frozen=True)
class _Lost:
    """What the ledger that is there has and the copy lacks: amounts in the units of the ledger, and caps by name."""

    charges: int
    answers: int  # to charges that the copy has
    spent: int
    spent_delta: int
    total: int
    total_delta: int
    entries: int
    caps: dict[str, tuple[int, int]]  # of an analyst: the cap, and what was charged after the last common entry
    missing: tuple[str, ...]


def back_up(ledger: Ledger, to: str | PathLike[str], head: str | None = None) -> Entry:
    """Copy a ledger into a new file while others may write, and check the copy; return its last entry.

    Args:
        ledger: the ledger, in a file or in PostgreSQL.
        to: the path of the new file; nothing may be there.
        head: a head that was kept elsewhere; it must be in the copy.
    """
    kept = store.connect(to, Fraction(WAIT))
    if kept.file is None:
        raise InvalidRequest("A backup is a file", "Give the path of a new one.")
    if kept.file.exists():
        advice = "A backup replaces nothing: give another path."
        raise InvalidRequest(f'There is something at "{kept.where}" already', advice)
    ledger.verify(head)
    copy = Ledger(kept)
    with ledger._turn() as turn:
        last = turn.last
        copy._create(Fraction(WAIT), partial(_copy, turn.connection))
    with plainly(kept.where, kept.engine):
        kept.file.chmod(0o400)
    copy.verify(last["hash"])
    return entry_of(last)


def restore(where: str, backup: str | PathLike[str], head: str | None = None, *, write_off: bool = False) -> Restored:
    """Put a backup where a ledger was or is; what is lost is written off, and refused without ``write_off``.

    Args:
        where: the path or the URL of the ledger.
        backup: the file that ``back_up`` made.
        head: the head that was kept elsewhere after the last answer.  If it is that of the backup, nothing is lost.
        write_off: whether what is lost may be counted as spent.
    """
    copied = open_existing(str(Path(backup)))
    if copied is None:
        raise NoLedger(str(backup))
    copied.verify()
    ledger = Ledger(store.connect(where, Fraction(WAIT)))
    if _is_sound(ledger):
        written_off = _replace(ledger, copied, head, write_off)
    else:
        written_off = _make(ledger, copied, head, write_off)
    restored = Ledger.open(where)
    return Restored(restored.verify(copied.head), restored.head, written_off)


def _is_sound(ledger: Ledger) -> bool:
    """Return whether there is a ledger; refuse one that is damaged, which cannot say what is lost."""
    try:
        if not ledger._exists():
            return False
        ledger._check_chain()
    except LedgerError as error:
        advice = "If it cannot be used, move it away first; what it held then counts as lost."
        raise LedgerError(ledger.where, error.args[1], advice) from None
    return True


def _make(ledger: Ledger, copied: Ledger, head: str | None, write_off: bool) -> tuple[Entry, ...]:
    """Put the copy where no ledger is: whatever it had left may have been spent since."""
    complete = head is not None and head == copied.head
    if not complete and not write_off:
        kept = "the head that was kept is not its last entry" if head else "no head that was kept elsewhere was given"
        raise LedgerError(
            ledger.where, f"was not put back: {kept}, so nobody knows what was charged after the copy was taken",
            f"{_ADVICE} Then nothing remains, until you set a total. If you kept the head, give it: --head HASH.",
        )  # fmt: skip
    entries: list[Entry] = []

    def fill(connection: sa.Connection) -> None:
        store.metadata.create_all(connection, checkfirst=False)
        _fill_from(ledger, copied, connection, None if complete else partial(_write_off_all, ledger, entries))

    ledger._create(Fraction(WAIT), fill)
    return tuple(entries)


def _replace(ledger: Ledger, copied: Ledger, head: str | None, write_off: bool) -> tuple[Entry, ...]:
    """Put the copy in place of a ledger that is there, in one transaction of its database."""
    entries: list[Entry] = []
    with ledger._turn(write=True) as turn:
        lost = _lost(ledger, copied, turn)
        unknown = head is not None and not _holds(copied, head)
        if (lost.entries or unknown) and not write_off:
            raise LedgerError(ledger.where, f"was not replaced: {_told(lost, unknown)}", _ADVICE)
        connection = turn.connection
        for table in (store.answers, store.entries, store.head):
            connection.execute(sa.delete(table))
        finish = partial(_write_off_all, ledger, entries) if unknown else partial(_write_off, ledger, entries, lost)
        turn.last = _fill_from(ledger, copied, connection, finish)
    return tuple(entries)


def _lost(ledger: Ledger, copied: Ledger, turn: Turn) -> _Lost:
    """Return what the ledger has after the last entry that it shares with the copy; refuse the copy of another one."""
    present = store.rows(turn.connection, store.ALL)
    with copied._turn() as copy:
        found = copy.connection.execute(sa.select(store.entries.c.number, store.entries.c.hash))
        hashes: dict[int, str] = {row.number: row.hash for row in found}
        names = set(copy.connection.scalars(store.ANALYSTS))
    if hashes.get(1) != present[0]["hash"]:
        raise LedgerError(
            ledger.where, "was not replaced: the copy is that of another ledger",
            "If no ledger should be here, move this one away first.",
        )  # fmt: skip
    only_here = [row for row in present if hashes.get(row["number"]) != row["hash"]]
    numbers = {row["number"] for row in only_here}
    charges = [row for row in only_here if row["kind"] == "charge"]
    answered = {row["charge"] for row in only_here if row["kind"] == "answer"} - numbers
    again = [row for row in present if row["number"] in answered]  # the copy has another answer, or will get one
    spending = [*charges, *again]
    caps: dict[str, tuple[int, int]] = {}
    for row in present:
        if row["analyst"] is not None:
            caps[row["analyst"]] = row["cap"], 0
    for row in spending:
        if row["analyst"] is not None:
            cap, spent = caps[row["analyst"]]
            caps[row["analyst"]] = cap, spent + row["epsilon"]
    return _Lost(
        len(charges), len(again), sum(row["epsilon"] for row in spending), sum(row["delta"] for row in spending),
        turn.last["total"], turn.last["total_delta"], len(only_here),
        {name: amounts for name, amounts in caps.items() if name in names}, tuple(sorted(set(caps) - names)),
    )  # fmt: skip


def _told(lost: _Lost, unknown: bool) -> str:
    """Return in words what would be lost."""
    parts = []
    if lost.entries:
        amounts = f"ε = {exact.text(Fraction(lost.spent, NANO))}"
        if lost.spent_delta:
            amounts += f", δ = {exact.text(Fraction(lost.spent_delta, ATTO))}"
        kinds = f"{lost.charges} charges"
        if lost.answers:
            kinds += f" and {lost.answers} answers to charges that it has,"
        parts.append(f"the copy lacks {lost.entries} of its entries, with {kinds} of {amounts} in all")
        if lost.missing:
            parts.append(f"it does not know the analysts {', '.join(lost.missing)}")
    if unknown:
        parts.append("the copy lacks the head that was kept elsewhere, so nobody knows what was charged after it")
    return "; ".join(parts)


def _holds(ledger: Ledger, head: str) -> bool:
    with ledger._turn() as turn:
        return bool(store.rows(turn.connection, store.BY_HASH, hash=head))


# --- rows ---


def _copy(origin: sa.Connection, target: sa.Connection) -> None:
    """Make the tables, and copy all rows into them."""
    store.metadata.create_all(target, checkfirst=False)
    _copy_rows(origin, target)


def _copy_rows(origin: sa.Connection, target: sa.Connection) -> None:
    for found in origin.execute(store.ALL):
        target.execute(store.ADD_ENTRY, dict(found._mapping))
    for number in origin.scalars(sa.select(store.answers.c.number).order_by(store.answers.c.number)).all():
        text = origin.scalar(store.TEXT, {"number": number})  # one at a time: they may be large
        target.execute(store.ADD_ANSWER, {"number": number, "text": text})
    last = store.rows(origin, store.LAST)[0]
    target.execute(store.ADD_HEAD, {"version": VERSION, "number": last["number"], "hash": last["hash"]})


def _fill_from(ledger: Ledger, copied: Ledger, connection: sa.Connection, finish: Callable[[Turn], None] | None) -> Row:
    """Copy all rows into empty tables, append what is written off, and return the last entry."""
    with copied._turn() as copy:
        _copy_rows(copy.connection, connection)
    turn = Turn(connection, ledger._last(connection))
    if finish is not None:
        finish(turn)
    return turn.last


def _write_off(ledger: Ledger, entries: list[Entry], lost: _Lost, turn: Turn) -> None:
    """Append entries that leave no more than remained, less what was charged only in the ledger that is replaced."""
    last = turn.last
    total = last["spent"] + max(min(last["total"], lost.total) - last["spent"] - lost.spent, 0)
    left_delta = min(last["total_delta"], lost.total_delta) - last["spent_delta"] - lost.spent_delta
    total_delta = last["spent_delta"] + max(left_delta, 0)
    _lower_total(ledger, entries, turn, total, total_delta, _NOTE)
    for name, (cap, spent) in sorted(lost.caps.items()):
        row = ledger._analyst(turn.connection, name)
        lowered = row["cap_spent"] + max(min(row["cap"], cap) - row["cap_spent"] - spent, 0)
        if lowered < row["cap"]:
            fields = {"analyst": name, "epsilon": lowered, "cap": lowered, "cap_spent": row["cap_spent"]}
            entries.append(entry_of(ledger._append(turn, kind="analyst", note=_NOTE, **fields)))


def _write_off_all(ledger: Ledger, entries: list[Entry], turn: Turn) -> None:
    """Append entries that leave nothing: neither ε, nor a charge that could be answered again."""
    rows = store.rows(turn.connection, store.ALL)
    answered = {row["charge"] for row in rows if row["kind"] == "answer"}
    text = canonical_json(_LOST_ANSWER, "answer")
    for charge in [row["number"] for row in rows if row["kind"] == "charge" and row["number"] not in answered]:
        row = ledger._append(turn, kind="answer", charge=charge, answer=sha256(text), note=_UNKNOWN_NOTE)
        turn.connection.execute(store.ADD_ANSWER, {"number": row["number"], "text": text})
        entries.append(entry_of(row))
    _lower_total(ledger, entries, turn, turn.last["spent"], turn.last["spent_delta"], _UNKNOWN_NOTE)


def _lower_total(ledger: Ledger, entries: list[Entry], turn: Turn, total: int, total_delta: int, note: str) -> None:
    last = turn.last
    total, total_delta = min(total, last["total"]), min(total_delta, last["total_delta"])
    if (total, total_delta) != (last["total"], last["total_delta"]):
        fields = {"epsilon": total, "delta": total_delta, "total": total, "total_delta": total_delta}
        entries.append(entry_of(ledger._append(turn, kind="total", note=note, **fields)))
