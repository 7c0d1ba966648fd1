"""What pages, versions and searches tell of a ledger is what is in it, also when an edited index hides some of it.

A second record of the ledger says what each page, version and search has to hold.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from random import Random
from typing import Any

from ...errors import LedgerError
from ...ledger.backup import back_up
from ...ledger.chain import START
from ...ledger.copies import are_copies
from ...ledger.entry import Entry
from ...ledger.ledger import Ledger
from ...ledger.listing import EntryPage, page_of, versions_of
from ...ledger.search import charges_with
from ...ledger.store import Turn, connect
from ..finding import Finding, all_right
from ..room import Room
from ..tools import histories
from ..tools.bookkeeping import Book, Line
from ..tools.paired import Paired

SEED = 41
_LEAST = Fraction(1, 10**9)

Shows = Callable[[Entry], bool]


def listed(room: Room) -> Iterator[Finding]:
    """Check what is listed and found, and which ledgers are taken for copies of one another."""
    paired = _long(room)
    yield _pages(paired)
    yield _found(paired)
    yield _edited(room)
    yield _copies(room)
    yield _tables(paired)


def _long(room: Room) -> Paired:
    """Return a ledger of more entries than are read at once, with all kinds of them."""
    paired = histories.new(room, Fraction(5), Fraction(1, 10**6))
    histories.go_on(paired, Random(SEED), 60)
    paired.call("set_total", Fraction(9))
    odd: Sequence[Any] = (
        {"query": "100%", "version": 2}, {"query": "a_b", "version": "2"}, {"query": 'a"b\\c'}, "a text", ["a", "list"],
        {"query": "é", "version": None}, {"version": "3", "n": 1.5}, {"query": "1000"}, {"query": "axb"}, 7, None,
    )  # fmt: skip
    for question in odd:
        paired.call("charge", question, _LEAST)
    for i in range(280):
        paired.call("charge", {"query": f"SELECT {i}"}, _LEAST, Fraction(0), "ana" if i % 140 == 0 else None)
    first = next(each.number for each in paired.book.lines if each.question == odd[0])
    for number in (first, first + 2, len(paired.book.lines)):
        paired.call("record", number, [number])
    return paired


# --- pages ---


def _pages(paired: Paired) -> Finding:
    """Pages of every size, from every place: those before a number that are shown, and where the next one begins."""
    wrong, tried, last = list(paired.faults), 0, len(paired.book.lines)
    shown: tuple[tuple[Shows, str | None], ...] = (
        (lambda entry: True, None), (lambda entry: entry.kind != "charge", None), (lambda entry: False, None),
        (lambda entry: entry.answered or entry.question == {"query": "SELECT 3"}, None),
        (lambda entry: entry.number <= 2, None), (lambda entry: isinstance(entry.question, str), None),
        (lambda entry: entry.number % 300 == 5, None), (lambda entry: True, "ana"),
        (lambda entry: entry.number % 2 == 0, "ana"), (lambda entry: True, "nobody"),
    )  # fmt: skip
    places = ((None, 1), (None, 1000), (1, 1), (2, 1), (40, 2), (last, 17), (2**70, 2))
    for i, (shows, analyst) in enumerate(shown):
        seen = [each for each in paired.book.lines if _is_shown(paired.book, each, shows)]
        if analyst is not None:
            seen = [each for each in seen if each.kind == "charge" and each.analyst == analyst]
        for before, most in places:
            tried += 1
            page = page_of(paired.ledger, before, most, shows=shows, charged_to=analyst)
            within = [each for each in seen if before is None or each.number < before]
            wrong += [f"rule {i}, before {before}: {each}" for each in _wrong_page(paired.book, page, within, most)]
    return Finding(
        "L4: the pages of a ledger have its entries, those that are shown, and which of them are answered",
        not wrong,
        all_right(wrong, tried),
    )


def _wrong_page(book: Book, page: EntryPage, seen: Sequence[Line], most: int) -> Iterator[str]:
    """Yield what is wrong with a page; ``seen`` are all lines that could be on it."""
    due = seen[-most:]
    if [each.number for each in page.entries] != [each.number for each in due]:
        yield f"it has {len(page.entries)} entries, and {len(due)} are due"
    answered = {each.number: answer.number for each in due if (answer := book.answer_to(each.number))}
    answered = {number: by for number, by in answered.items() if book.lines[number - 1].kind == "charge"}
    if page.answered_by != answered:
        yield f"it says that {page.answered_by} are answered, and {answered} are"
    if page.before != (due[0].number if len(seen) > most else None):
        yield f"the next one is before {page.before}"
    for entry, line in zip(page.entries[:20], due, strict=False):
        if entry.answer is not None or entry.recorded_at is not None or entry.answered != (line.number in answered):
            yield f"entry {line.number} is said to be answered: {entry.answered}"
        if (entry.hash, entry.kind, entry.epsilon, entry.question) != (
            line.hash, line.kind, line.epsilon, line.question,
        ):  # fmt: skip
            yield f"entry {line.number} is {entry!r:.100}"


def _is_shown(book: Book, line: Line, shows: Shows) -> bool:
    """Return whether a line is shown; of an answer, whether its charge is."""
    one = book.lines[line.charge - 1] if line.kind == "answer" and line.charge else line
    given: dict[str, Any] = {name: getattr(one, name) for name in ("number", "time", "kind", "analyst", "question")}
    given |= {name: getattr(one, name) for name in ("epsilon", "delta", "note", "spent", "hash", "charge")}
    return shows(Entry(**given))


# --- versions and searches ---


def _found(paired: Paired) -> Finding:
    wrong: list[str] = []
    book, ledger = paired.book, paired.ledger
    charges = [each for each in book.lines if each.kind == "charge"]
    rules: tuple[Shows, ...] = (
        lambda entry: True, lambda entry: entry.analyst is not None, lambda entry: entry.number > 30,
        lambda entry: False,
    )  # fmt: skip
    for i, shows in enumerate(rules):
        due: dict[str | None, list[Any]] = {}
        for line in charges:
            if _is_shown(book, line, shows):
                version = line.question.get("version") if isinstance(line.question, dict) else None
                due.setdefault(None if version is None else str(version), [line.time, 0])[1] += 1
        found = {each.version: [each.first_seen, each.entries] for each in versions_of(ledger, shows)}
        if list(found.items()) != list(due.items()):
            wrong.append(f"the versions of rule {i} are {found}, and {due} are due")
    parts = ('"query":"SELECT 1', "100%", "a_b", "é", "\\u00e9", '"a"', '\\"b\\\\', "no such text", ":1.5", "%", "_")
    for part in parts:
        texts = [(each, json.dumps(each.question, sort_keys=True, separators=(",", ":"))) for each in charges]
        lines = [each for each, text in texts if part in text][::-1]
        entries = charges_with(ledger, part)
        if [each.number for each in entries] != [each.number for each in lines]:
            wrong.append(f"{part!r} is found in {len(entries)} charges, and is in {len(lines)}")
        for entry, line in zip(entries, lines, strict=False):
            right = entry.answered == (book.answer_to(line.number) is not None) and entry.answer is None
            if not right or (entry.hash, entry.question) != (line.hash, line.question):
                wrong.append(f"{part!r}: entry {line.number} is found as {entry!r:.100}")
    return Finding(
        "L2: versions of a ledger, and charges with a text in their question, are those that it has",
        not wrong,
        all_right(wrong, len(rules) + len(parts)),
    )


# --- edited files ---


def _edited(room: Room) -> Finding:
    """An index that lacks its rows hides nothing, and an entry that was edited is not listed."""
    paired = histories.new(room, Fraction(5))
    for name in ("ana", "bob"):
        paired.call("add_analyst", name, Fraction(1))
        paired.call("charge", {"query": f"SELECT {name}", "version": name}, _LEAST, Fraction(0), name)
        paired.call("record", len(paired.book.lines), [name])
        paired.call("charge", {"query": f"SELECT {name}", "version": "later"}, _LEAST, Fraction(0), name)
    looks: dict[str, Callable[[Ledger], Any]] = {
        "all": lambda one: page_of(one, None, 9), "one": lambda one: page_of(one, 4, 1),
        "of one": lambda one: page_of(one, None, 9, charged_to="ana"),
        "of charges": lambda one: page_of(one, None, 9, shows=lambda entry: entry.kind == "charge"),
        "versions": lambda one: versions_of(one, lambda entry: True),
        "search": lambda one: charges_with(one, "SELECT"), "budget": lambda one: one.budget("ana"),
        "first": lambda one: one.entry(1), "one's": lambda one: one.entry(3),
        "all analysts": lambda one: one.analysts(),
    }  # fmt: skip
    due = {name: look(paired.ledger) for name, look in looks.items()}
    wrong, tried = list(paired.faults), 0
    whole = paired.path.read_bytes()
    with closing(sqlite3.connect(paired.path)) as connection:
        select = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'lapwing_entries'"
        indices = [name for (name,) in connection.execute(select)]
    empty = "(SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = 'decoy')"
    for index in indices:
        _change(
            paired, "CREATE TABLE decoy (x TEXT UNIQUE)", "PRAGMA writable_schema = ON",
            f"UPDATE sqlite_master SET rootpage = {empty} WHERE name = '{index}'",
        )  # fmt: skip
        for name, look in looks.items():
            tried += 1
            try:
                if look(paired.ledger) != due[name]:
                    wrong.append(f"{name}, without the index {index}")
            except LedgerError:
                pass  # it was seen
        paired.path.write_bytes(whole)
    for edit in ("UPDATE lapwing_entries SET note = 'edited', time = '2000'", "DELETE FROM lapwing_entries"):
        _change(paired, edit)
        for name, look in looks.items():
            tried += 1
            try:
                look(paired.ledger)
                wrong.append(f"{name}: it is shown after {edit}")
            except LedgerError:
                pass
        paired.path.write_bytes(whole)
    return Finding("L4: what is listed is read from the table, and checked", not wrong, all_right(wrong, tried))


def _change(paired: Paired, *statements: str) -> None:
    with closing(sqlite3.connect(paired.path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


# --- copies ---


class _EarlierBuild(Ledger):
    """A ledger as earlier builds began one: the first entry has no key, so two of one second are equal."""

    def _fill(self, connection: Any, total: int, total_delta: int) -> None:
        super()._fill(connection, total, total_delta)
        connection.exec_driver_sql("DELETE FROM lapwing_entries")
        connection.exec_driver_sql(f"UPDATE lapwing_ledger SET number = 0, hash = '{START}'")
        amounts = {"epsilon": total, "delta": total_delta, "total": total, "total_delta": total_delta}
        self._append(Turn(connection, {}), kind="open", time="2026-01-01T00:00:00+00:00", **amounts)


def _copies(room: Room) -> Finding:
    """A ledger, its copy and a copy that went on are one; others are not, and early ones only with equal entries."""
    wrong: list[str] = []
    one, other = (Ledger.open(room.path("ledger"), 1) for _ in range(2))
    one.charge("a", "0.1")
    to, on = room.path("backup"), room.path("ledger")
    back_up(one, to)
    on.write_bytes(to.read_bytes())
    went_on = Ledger.open(on)
    went_on.charge("b", "0.1")
    one.charge("c", "0.1")
    early, same, late = (_EarlierBuild.open(room.path("ledger"), 1) for _ in range(3))
    again = _EarlierBuild(connect(early.where, Fraction(1)))
    cases = [
        (one, one, True), (one, Ledger.open(to), True), (one, went_on, True), (Ledger.open(to), went_on, True),
        (one, other, False), (early, same, False), (early, one, False),
    ]  # fmt: skip
    early.add_analyst("ana", "0.5")
    late.add_analyst("ana", "0.6")
    back_up(early, early_copy := room.path("backup"))
    cases += [(early, again, True), (early, Ledger.open(early_copy), True), (early, late, False), (same, late, False)]
    for i, (first, second, due) in enumerate(cases):
        for pair in ((first, second), (second, first)):
            wrong += [] if are_copies(*pair) == due else [f"pair {i} is taken for {'two' if due else 'one'}"]
    return Finding("L6: which ledgers are copies of one another", not wrong, all_right(wrong, 2 * len(cases)))


# --- the tables ---

_COLUMNS = {
    "lapwing_ledger": "version INTEGER!, number INTEGER!, hash TEXT!",
    "lapwing_entries": (
        "number INTEGER!, time TEXT!, kind TEXT!, analyst TEXT, question TEXT, key TEXT, epsilon INTEGER, "
        "delta INTEGER, charge INTEGER, answer TEXT, note TEXT, total INTEGER!, total_delta INTEGER!, "
        "spent INTEGER!, spent_delta INTEGER!, cap INTEGER, cap_spent INTEGER, previous TEXT!, hash TEXT!"
    ),
    "lapwing_answers": "number INTEGER!, text TEXT!",
}
"""The columns of each table, by the reference; those with an exclamation mark are never null."""

_UNIQUE = {"lapwing_ledger": [], "lapwing_entries": ["charge", "key"], "lapwing_answers": []}


def _tables(paired: Paired) -> Finding:
    """The tables are those of version 1, and two entries never have one key, or answer one charge."""
    wrong = []
    with closing(sqlite3.connect(paired.path)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        wrong += [] if names == set(_COLUMNS) else [f"the tables are {names}"]
        for table, due in _COLUMNS.items():
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            found = ", ".join(f"{name} {kind}{'!' if needed else ''}" for _, name, kind, needed, *_ in columns)
            keys = [name for _, name, *_, key in columns if key]
            unique = [
                connection.execute(f"PRAGMA index_info({index})").fetchone()[2]
                for _, index, only, origin, _ in connection.execute(f"PRAGMA index_list({table})").fetchall()
                if only and origin == "u"
            ]
            if (found, sorted(unique), keys) != (due, _UNIQUE[table], [due.partition(" ")[0]]):
                wrong.append(f"{table} has {found}, unique {unique}, and the key {keys}")
    wrong += paired.all_faults(brief=True)
    return Finding("L4: the tables and the hashes of a ledger are those of version 1", not wrong,
                   all_right(wrong, len(_COLUMNS) + len(paired.book.lines)))  # fmt: skip
