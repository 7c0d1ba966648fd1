"""The budget: an append-only record that lasts, is shared, and cannot be overspent.

Claim L1 (ceiling).  In every order of calls, crashes and processes, no charge is granted that would bring the sum of
all ε above the total, that of an analyst's above the analyst's cap, or that of all δ above the total δ.

Claim L2 (once).  A question at given ε and δ is charged once.  At most one answer is ever recorded for it; everyone
who asks again gets that answer, at no charge.

Claim L3 (charge first).  ``charge`` returns after its entry is durable, ``record`` after the answer is.  Nothing is
ever removed or changed: a crash never un-spends, and a charge without an answer can be completed, at no charge.

Claim L4 (chain).  ``verify`` names the first entry that was edited, removed, inserted or moved by anyone who did not
recompute all later hashes; with a head that was kept elsewhere, it finds a ledger rolled back or rewritten.

Claim L5 (memory).  An open ledger remembers the last entry that any of its calls saw.  A later call that does not find
that entry, because an older copy or another ledger was put in its place, shows nothing and grants nothing.

Every entry carries the totals as they are after it, under its hash, so that a grant needs the last entry alone.
Amounts are integers: ε in 10^-9, δ in 10^-18.  Format, crash table and limits: docs/reference/ledger.md.
Proofs: docs/explanation/ledger.md.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from os import PathLike
from shlex import quote
from typing import Any

import sqlalchemy as sa

from .. import exact
from ..errors import BudgetExceeded, InvalidParameter, LedgerError, NoLedger, UnknownHead
from ..exact import ATTO, NANO, Number
from . import store
from .cell import ledger_cell
from .chain import START, State, checked_head, digest, hidden_answer, question_key, random_key, sha256
from .entry import After, Budget, Entry, atto, canonical_json, delta_budget, entry_of, epsilon_budget, nano, printable
from .failure import plainly, transaction
from .plots import BudgetChart
from .requests import CapRequests
from .store import VERSION, WAIT, Row, Store, Turn


class Ledger(BudgetChart, CapRequests):
    """A ledger in an SQLite file or a PostgreSQL database; create one with ``Ledger.open``."""

    def __init__(self, kept: Store) -> None:
        self._kept, self._engine, self.where = kept, kept.engine, kept.where
        self._seen = (0, START)  # number and hash of the last entry that any call saw
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Ledger({self.where!r})"

    def _repr_html_(self) -> str:
        return ledger_cell(self)

    @classmethod
    def open(
        cls,
        where: str | PathLike[str],
        epsilon: Number | None = None,
        delta: Number | None = None,
        *,
        wait: float = WAIT,
    ) -> Ledger:
        """Open the ledger, and check its chain; create it first if it is new and ε is given.

        Args:
            where: the path of an SQLite file, or a postgresql:// URL.
            epsilon: the total that may ever be spent; for an existing ledger it must be the ledger's total.
            delta: the total δ, likewise; 0 if not given.
            wait: how many seconds to wait for other writers.
        """
        total = None if epsilon is None else nano(epsilon)
        total_delta = None if delta is None else atto(delta)
        patience = min(exact.positive(wait, "wait"), Fraction(10**6))
        ledger = cls(store.connect(where, patience))
        if not ledger._exists():
            if total is None:
                raise NoLedger(ledger.where)
            ledger._create(patience, partial(ledger._fill, total=total, total_delta=total_delta or 0))
            ledger._exists()  # if something else was created there in the meantime, it is refused
        last = ledger._check_chain()
        for asked, has, unit, letter in (
            (total, last["total"], NANO, "ε"),
            (total_delta, last["total_delta"], ATTO, "δ"),
        ):
            if asked is not None and asked != has:
                raise LedgerError(
                    ledger.where, f"was opened with the total {letter} = {exact.text(Fraction(asked, unit))}, "
                    f"but it has {exact.text(Fraction(has, unit))}",
                    f"Change the total with a separate entry: `lapwing ledger {quote(ledger.where)} total`.",
                )  # fmt: skip
        return ledger

    # --- what is left ---

    @property
    def total(self) -> Fraction:
        """The ε that may ever be charged."""
        return self.budget().total

    @property
    def spent(self) -> Fraction:
        """The ε charged so far."""
        return self.budget().spent

    @property
    def remaining(self) -> Fraction:
        """The ε that may still be charged."""
        return self.budget().remaining

    @property
    def delta(self) -> Budget:
        """The δ: total, spent and remaining."""
        with self._turn() as turn:
            return delta_budget(turn.last)

    @property
    def head(self) -> str:
        """The hash of the last entry; keep it elsewhere, and give it to ``verify`` later."""
        with self._turn() as turn:
            return str(turn.last["hash"])

    def budget(self, analyst: str | None = None) -> Budget:
        """Return the whole budget, or an analyst's."""
        with self._turn() as turn:
            if analyst is None:
                return epsilon_budget(turn.last)
            return epsilon_budget(turn.last, self._analyst(turn.connection, analyst))

    def analysts(self) -> list[Budget]:
        """Return the budget of every analyst, by name."""
        with self._turn() as turn:
            names = turn.connection.scalars(store.ANALYSTS)
            return [epsilon_budget(turn.last, self._analyst(turn.connection, name)) for name in sorted(set(names))]

    def entries(self, *, answers: bool = False) -> list[Entry]:
        """Return all entries, in their order; with ``answers``, each charge holds its answer too."""
        with self._turn() as turn:
            rows = list(map(self._sound, store.rows(turn.connection, store.ALL)))
            times = {row["charge"]: row["time"] for row in rows if row["kind"] == "answer"}
            wanted = [row for row in rows if answers and row["number"] in times]
            texts = {row["number"]: self._text(turn.connection, row)[0] for row in wanted}
        listed = [entry_of(row, texts.get(row["number"]), recorded_at=times.get(row["number"])) for row in rows]
        return [replace(entry, answered=entry.number in times) for entry in listed]

    def entry(self, number: int) -> Entry | None:
        """Return one entry, a charge with its answer; None if there is no such number."""
        if not 0 < number < 2**63:
            return None
        with self._turn() as turn:
            found = store.rows(turn.connection, store.BY_NUMBER, number=number)
            return replace(self._found(turn.connection, self._sound(found[0])), repeated=False) if found else None

    def after(self, number: int) -> After:
        """Return what is left, the head, and when the answer of a charge was recorded, None if it has none yet."""
        with self._turn() as turn:
            answers = store.rows(turn.connection, store.BY_CHARGE, charge=number)
            recorded_at = self._sound(answers[0])["time"] if answers else None
        return After(epsilon_budget(turn.last), delta_budget(turn.last), recorded_at, str(turn.last["hash"]))

    # --- spending ---

    def charge(self, question: Any, epsilon: Number, delta: Number = 0, analyst: str | None = None) -> Entry:
        """Charge ε (and δ) for a question, or find that it was charged before.

        Args:
            question: anything that JSON can hold; two questions are the same when their JSON is.
            epsilon: the ε of the release.
            delta: the δ of the release.
            analyst: whose cap it counts against, in addition to the total.

        Returns:
            the entry, durable.  If it is ``answered``, show its answer; else answer it and ``record`` the answer.
        """
        amount, amount_delta, text = nano(epsilon), atto(delta), canonical_json(question, "question")
        analyst = None if analyst is None else printable(analyst, "analyst")
        asked = question_key(amount, amount_delta, text)
        with self._turn(write=True) as turn:
            last = turn.last
            found = store.charge_of(turn.connection, asked)
            if found:
                return self._found(turn.connection, self._sound(found[0]))
            mine = None if analyst is None else self._analyst(turn.connection, analyst)
            self._refuse_beyond(last, mine, amount, amount_delta)
            row = self._append(
                turn,
                kind="charge",
                analyst=analyst,
                question=text,
                key=asked,
                epsilon=amount,
                delta=amount_delta,
                spent=last["spent"] + amount,
                spent_delta=last["spent_delta"] + amount_delta,
                cap=mine and mine["cap"],
                cap_spent=mine and mine["cap_spent"] + amount,
            )
        return entry_of(row)

    def find(self, question: Any, epsilon: Number, delta: Number = 0) -> Entry | None:
        """Return the entry of a question that was charged before, with its answer; None if it was not."""
        asked = question_key(nano(epsilon), atto(delta), canonical_json(question, "question"))
        with self._turn() as turn:
            found = store.charge_of(turn.connection, asked)
            return self._found(turn.connection, self._sound(found[0])) if found else None

    def record(self, entry: Entry, answer: Any) -> Any:
        """Record the answer of a charge and return it; if another was recorded first, return that one."""
        if not isinstance(entry, Entry):
            raise InvalidParameter(entry, "entry", "what `charge` returned")
        text = canonical_json(answer, "answer")
        with self._turn(write=True) as turn:
            found = store.rows(turn.connection, store.BY_HASH, hash=entry.hash)
            if not found or found[0]["kind"] != "charge":
                raise LedgerError(self.where, "has no such charge", "Charge the question again.")
            charge = self._found(turn.connection, self._sound(found[0]))
            if charge.answered:
                return charge.answer
            row = self._append(turn, kind="answer", charge=charge.number, answer=sha256(text))
            turn.connection.execute(store.ADD_ANSWER, {"number": row["number"], "text": text})
            self._text(turn.connection, found[0])
        return json.loads(text)

    # --- the owner's entries ---

    def add_analyst(self, name: str, cap: Number, note: str | None = None) -> Entry:
        """Add an analyst with a cap under the total."""
        return self._set_cap(name, nano(cap), note, new=True)

    def set_cap(self, name: str, cap: Number, note: str | None = None) -> Entry:
        """Set an analyst's cap, higher or lower; below what is spent, nothing is left."""
        return self._set_cap(name, nano(cap), note, new=False)

    def set_total(self, epsilon: Number, delta: Number | None = None, note: str | None = None) -> Entry:
        """Set the total that may ever be spent, by an entry that everyone can see."""
        amount = nano(epsilon)
        with self._turn(write=True) as turn:
            amount_delta = turn.last["total_delta"] if delta is None else atto(delta)
            row = self._append(
                turn, kind="total", epsilon=amount, delta=amount_delta, note=printable(note, "note"),
                total=amount, total_delta=amount_delta,
            )  # fmt: skip
        return entry_of(row)

    def _set_cap(self, name: str, amount: int, note: str | None, *, new: bool) -> Entry:
        name = printable(name, "analyst") or ""
        with self._turn(write=True) as turn:
            known = store.rows(turn.connection, store.OF_ANALYST, analyst=name)
            if new == bool(known):
                raise InvalidParameter(name, "analyst", "a name not in the ledger yet" if new else "one in the ledger")
            spent = self._sound(known[0])["cap_spent"] if known else 0
            row = self._append(
                turn, kind="analyst", analyst=name, epsilon=amount, note=printable(note, "note"),
                cap=amount, cap_spent=spent,
            )  # fmt: skip
        return entry_of(row)

    # --- checking ---

    def verify(self, head: str | None = None) -> int:
        """Check all entries and answers; return the number of entries, or raise LedgerError naming the first bad one.

        Args:
            head: a hash that ``head`` gave earlier; it must still be one of the entries.
        """
        seen, kept = self._seen, head if head is None else checked_head(head)
        with self._transaction() as connection:
            entries = list(self._checked(connection))
            stored = {number for (number,) in connection.execute(sa.select(store.answers.c.number))}
            for row in store.rows(connection, store.ALL.where(store.entries.c.kind == "answer")):
                text = connection.scalar(store.TEXT, {"number": row["number"]})
                if text is None or sha256(text) != row["answer"]:
                    raise self._damaged(f"entry {row['number']}: its answer is not the one recorded")
                stored.discard(row["number"])
            if stored:
                raise self._damaged(f"an answer numbered {min(stored)} belongs to no entry")
        hashes = [row["hash"] for row in entries]
        if kept is not None and kept not in hashes:
            raise UnknownHead(self.where)
        if seen not in [(0, START), *enumerate(hashes, 1)]:
            raise self._other(seen[0])
        self._remember(entries[-1])
        return len(hashes)

    def _check_chain(self) -> Row:
        """Check all entries but not the answers' texts; return the last."""
        with self._transaction() as connection:
            last = list(self._checked(connection))[-1]
        self._remember(last)
        return last

    def _checked(self, connection: sa.Connection) -> Iterator[Row]:
        """Yield every entry in order, each checked against the one before; then check the head.

        The file is checked first: an index that lacks an entry would hide that its question was charged.
        """
        if not store.is_whole(connection):
            raise self._damaged("the file is damaged")
        if store.acts_on_writing(connection):
            what = "has a trigger or a rule, which could change what is written"
            raise LedgerError(self.where, what, "Remove what you did not put there, and verify the ledger.")
        if store.uses_second_file(connection):
            what = "was set to WAL mode, in which a part of it may lie in a second file"
            raise LedgerError(self.where, what, "Close what uses it, and set it back: PRAGMA journal_mode = DELETE.")
        state, number = State(), 0
        for number, result in enumerate(connection.execute(store.ALL), 1):
            row = dict(result._mapping)
            fault = state.fault(row, number)
            if fault:
                raise self._damaged(f"entry {number}: {fault}")
            yield row
        heads = connection.execute(store.HEAD).all()
        if [tuple(each) for each in heads] != [(VERSION, number, state.previous)] or number == 0:
            raise self._damaged(f"its head does not follow from its {number} entries: some were removed or added")

    def _damaged(self, what: str) -> LedgerError:
        return LedgerError(self.where, f"is damaged: {what}", "Restore it from a copy, and compare heads.")

    def _sound(self, row: Row) -> Row:
        """Return the entry if its hash is right."""
        if digest(row) != row["hash"]:
            raise self._damaged(f"entry {row['number']}: does not match its hash")
        return row

    # --- reading and appending, inside a transaction ---

    def _last(self, connection: sa.Connection, *, lock: bool = False) -> Row:
        """Return the last entry, with a lock against other writers; refuse a ledger whose head is not that entry."""
        head = connection.execute(store.LOCKED_HEAD if lock else store.HEAD).all()
        rows = store.rows(connection, store.LAST)
        if not rows or [tuple(each) for each in head] != [(VERSION, rows[0]["number"], rows[0]["hash"])]:
            raise self._damaged("its head is not its last entry")
        return self._sound(rows[0])

    def _analyst(self, connection: sa.Connection, name: str) -> Row:
        """Return the last entry that carries the analyst's cap."""
        rows = store.rows(connection, store.OF_ANALYST, analyst=name)
        if not rows:
            raise InvalidParameter(name, "analyst", f'a name in ledger "{self.where}"')
        return self._sound(rows[0])

    def _found(self, connection: sa.Connection, row: Row) -> Entry:
        """Return an existing entry, with its answer."""
        text, time = self._text(connection, row)
        return entry_of(row, text, repeated=True, recorded_at=time)

    def _text(self, connection: sa.Connection, row: Row) -> tuple[str | None, str | None]:
        """Return the text of the answer of a charge, as it was recorded, and when; None if there is none yet."""
        if row["kind"] != "charge":  # of a request, the entry that names it is a decision
            return None, None
        answers = store.rows(connection, store.BY_CHARGE, charge=row["number"])
        if not answers:
            hidden = hidden_answer(row, store.rows(connection, store.LATER, number=row["number"]))
            if hidden:
                raise self._damaged(hidden)
            return None, None
        text: str | None = connection.scalar(store.TEXT, {"number": answers[0]["number"]})
        if text is None or sha256(text) != self._sound(answers[0])["answer"]:
            raise self._damaged(f"entry {answers[0]['number']}: its answer is not the one recorded")
        return text, answers[0]["time"]

    def _refuse_beyond(self, last: Row, mine: Row | None, amount: int, amount_delta: int) -> None:
        """Refuse a charge beyond what is left, by the tighter of the total and the analyst's cap."""
        all_of_us = f'ledger "{self.where}"'
        limits = [(last["total"] - last["spent"], last["total"], all_of_us)]
        if mine is not None:
            limits.append((mine["cap"] - mine["cap_spent"], mine["cap"], f'analyst "{mine["analyst"]}"'))
        left, total, who = min(limits)
        left_delta = last["total_delta"] - last["spent_delta"]
        if amount > left:
            self._refuse(amount, left, total, NANO, "ε", who)
        if amount_delta > left_delta:
            self._refuse(amount_delta, left_delta, last["total_delta"], ATTO, "δ", all_of_us)

    def _refuse(self, asked: int, left: int, total: int, unit: int, letter: str, who: str) -> None:
        amounts = (exact.text(Fraction(amount, unit)) for amount in (asked, max(left, 0), total))
        raise BudgetExceeded(*amounts, letter, who, self.where)

    def _append(self, turn: Turn, **fields: Any) -> Row:
        """Write the entry after the last and move the head to it."""
        connection, last = turn.connection, turn.last
        row: Row = {column.name: None for column in store.entries.c}
        row |= {name: last.get(name, 0) for name in ("total", "total_delta", "spent", "spent_delta")}
        row |= {"number": last.get("number", 0) + 1, "time": datetime.now(UTC).isoformat(timespec="seconds")}
        row |= {"previous": last.get("hash", START), **fields}
        row["hash"] = digest(row)
        connection.execute(store.ADD_ENTRY, row)
        connection.execute(store.MOVE_HEAD, {"to_number": row["number"], "to_hash": row["hash"]})
        if self._last(connection) != row:  # a trigger or a rule in the database could undo what was written
            raise self._damaged("it does not keep what is written to it")
        turn.last = row
        return row

    # --- creating one ---

    def _exists(self) -> bool:
        """Return whether there is a ledger of a known version; refuse anything else."""
        with plainly(self.where, self._engine):
            if not store.may_be_there(self._kept):
                return False
        server = self._kept.file is None
        with self._transaction(write=server) as connection:
            if server:  # one that is being created has some of its tables, or tables without rows
                store.lock_making(connection, shared=True)
            return self._is_made(connection)

    def _is_made(self, connection: sa.Connection) -> bool:
        names, needed = store.tables(connection), set(store.metadata.tables)
        if not names & needed:
            if self._kept.file is not None:
                raise LedgerError(self.where, "is not a ledger but another database", "Give another path.")
            return False
        if not needed <= names:
            raise self._damaged(f"it has no table {min(needed - names)}")
        versions = connection.scalars(sa.select(store.head.c.version)).all()
        if not versions:
            raise self._damaged("its head is missing")
        if versions != [VERSION]:
            raise LedgerError(
                self.where, f"has a format that this version of Lapwing does not know ({versions})", "Update Lapwing."
            )
        return True

    def _create(self, wait: Fraction, write: Callable[[sa.Connection], None]) -> None:
        """Create a ledger where there is none; of two processes that do this at once, the second finds the first's."""

        def fill(engine: sa.Engine) -> None:
            with Ledger(Store(engine, self.where))._transaction(write=True) as connection:
                write(connection)

        if self._kept.file is not None:
            with plainly(self.where, self._engine):
                store.put_new(self._kept.file, self.where, wait, fill)
            return
        with self._transaction(write=True) as connection:
            store.lock_making(connection, shared=False)
            if not self._is_made(connection):
                write(connection)

    def _fill(self, connection: sa.Connection, total: int, total_delta: int) -> None:
        """Create the tables and the first entry."""
        store.metadata.create_all(connection, checkfirst=False)
        connection.execute(store.ADD_HEAD, {"version": VERSION, "number": 0, "hash": START})
        amounts = {"epsilon": total, "delta": total_delta, "total": total, "total_delta": total_delta}
        self._append(Turn(connection, {}), kind="open", key=random_key(), **amounts)

    # --- transactions, and what the ledger remembers between them: L5 ---

    @contextmanager
    def _turn(self, *, write: bool = False) -> Iterator[Turn]:
        """Run a block in one transaction, if the ledger still has the entry that was seen last; all calls use this.

        The entry to look for is read before the transaction begins: entries that other threads see later need not be in
        this transaction.  Entries that were read are committed; entries that were written count as seen once they are.
        """
        seen = self._seen
        with self._transaction(write=write) as connection:
            turn = Turn(connection, self._last(connection, lock=write))
            self._refuse_other(turn, *seen)
            self._remember(turn.last)
            yield turn
        self._remember(turn.last)

    def _refuse_other(self, turn: Turn, number: int, seen: str) -> None:
        """Refuse a ledger without the entry of this number and hash."""
        if number == 0 or (turn.last["number"], turn.last["hash"]) == (number, seen):
            return
        found = store.rows(turn.connection, store.BY_NUMBER, number=number)
        if not found or digest(found[0]) != seen:
            raise self._other(number)

    def _remember(self, row: Row) -> None:
        with self._lock:
            if row["number"] > self._seen[0]:
                self._seen = row["number"], row["hash"]

    def _other(self, number: int) -> LedgerError:
        return LedgerError(
            self.where,
            f"lacks entry {number} as it was seen before: an older copy or another ledger was put in its place",
            "Put the newer one back: with an older copy, what was spent since would be spent twice.",
        )

    def _transaction(self, *, write: bool = False) -> AbstractContextManager[sa.Connection]:
        """Run a block in one transaction."""
        return transaction(self.where, self._engine, write=write)
