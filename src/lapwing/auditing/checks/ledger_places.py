"""Where ledgers are, what is one and what is none, and what the ledger of a source has to have.

Expected places, totals and refusals are written here by hand; whatever is refused leaves all files as they are.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import string
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

from ...errors import (
    InvalidAddress,
    InvalidParameter,
    InvalidSource,
    InvalidValue,
    LapwingError,
    LedgerError,
    MissingParameter,
    NoLedger,
    UnknownHead,
)
from ...ledger import store
from ...ledger.existing import is_there, open_existing, told_new, told_place
from ...ledger.ledger import Ledger
from ...ledger.place import Place, beside, default, file_name, user_folder
from ...question import query
from ...question.schema import number
from ...source import Source
from ..finding import Finding, all_right
from ..room import Room

_NO_TOTAL = (
    'Source "t" gives no total ε, the ε that may ever be spent: give it, for example by lw.Source(…, epsilon=1) in '
    "Python, or by the line epsilon = 1 in a source file."
)
_DELTA = Fraction(1, 10**6)


def ledger_places(room: Room) -> Iterator[Finding]:
    """Check places, what is there, what is made, and what is refused."""
    yield _names(room)
    yield _folders(room)
    yield _moved(room)
    yield _sources(room)
    yield _opened(room)
    yield _made(room)
    yield _questions(room)


# --- names and folders ---


def _names(room: Room) -> Finding:
    """Plain names are names of files; all others have a part of their hash, and no name leads elsewhere."""
    plain = ("t", "a b", "A.b-c_9", "_x", "9", "a.", "a ", "x" * 80)
    odd = (".", "..", "../t", "a/b", " t", "-t", "ä", "a=b", "a\nb", "t\n", "", "é" * 70, "a:b", "a\\b", "…", "- .")
    wrong = [repr(each) for each in plain if file_name(each) != f"{each}.ledger"]
    kept = set(string.ascii_letters + string.digits + "_. -")
    for name in odd:
        start = "".join(c if c in kept else "_" for c in name)[:50].strip(" .-") or "_"
        due = f"{start}={sha256(name.encode()).hexdigest()[:16]}.ledger"
        wrong += [] if file_name(name) == due else [f"{name!r} becomes {file_name(name)!r}"]
    here = beside(room.folder, "ä", room.folder / "before")
    wrong += [] if here.where == str(room.folder / file_name("ä")) and not here.private else [f"beside: {here}"]
    return Finding("L1: names of sources become names of files, each another one", not wrong,
                   all_right(wrong, len(plain) + len(odd) + 1))  # fmt: skip


def _folders(room: Room) -> Finding:
    """The user's folder is that of XDG_DATA_HOME, if that is a whole path; it is made for the user alone."""
    wrong: list[str] = []
    home, data = room.path("home"), room.path("data")
    for given, due in ((str(data), data), ("some/where", home / ".local" / "share"), (None, home / ".local" / "share")):
        with _environment(HOME=str(home), XDG_DATA_HOME=given):
            own, place = user_folder(), default(None, "t")
        wrong += [] if own == due / "lapwing" else [f"with {given} it is {own}"]
        if (place.where, place.before, place.private) != (str(due / "lapwing" / "t.ledger"), Path("t.ledger"), True):
            wrong.append(f"with {given}: {place}")
        wrong += [f"with {given}, the folder is made before the ledger"] if due.exists() else []
        place.make_folder()
        made = [each for each in (due / "lapwing", *(due / "lapwing").parents) if each.is_relative_to(due)]
        wrong += [f"{each} is open to others" for each in made if stat.S_IMODE(each.stat().st_mode) != 0o700]
        place.make_folder()  # once more: it is there
        due.rename(room.path("away"))
    with _environment(HOME="none", XDG_DATA_HOME=None):
        wrong += [] if user_folder() is None else [f"a home folder that is no whole path: {user_folder()}"]
        wrong += _not_refused(lambda: default(None, "t"), InvalidSource, "no home folder", ["has no place"])
    text = room.path("text")
    text.write_text("no folder")
    with _environment(HOME=str(home), XDG_DATA_HOME=str(text)):
        place = default(None, "t")
        wrong += _not_refused(place.make_folder, LedgerError, "a file for a folder", [str(text / "lapwing")])
    inside = default(room.folder, "t")
    wrong += [] if inside.where == str(room.folder / "t.ledger") and not inside.private else [f"in a folder: {inside}"]
    inside.make_folder()  # of a table: nothing is made
    return Finding("L1: the user's folder for ledgers is found, and made for the user alone", not wrong,
                   all_right(wrong, 10))  # fmt: skip


def _moved(room: Room) -> Finding:
    """A ledger in the place of earlier builds is used by nobody, and refused with words that move it."""
    wrong: list[str] = []
    new, old = room.path("new"), room.path("old")
    for has_new, has_old in ((False, False), (True, False), (True, True)):
        _only(new, has_new)
        _only(old, has_old)
        where = Place(str(new), old).found("t")
        wrong += [] if where == str(new) else [f"with {has_new} and {has_old} it is {where}"]
    _only(new, False)
    long = room.folder / ("x" * 300)
    within = room.path("folder") / "a b.ledger"
    words = [
        f'has no ledger at "{new}"',
        f'one at "{old}"',
        f"Move it: `mv -n {quote(str(old))} {quote(str(new))}`",
        f"ledger = {str(old)!r}",
    ]
    cases = (
        (new, words), (long, [f'has no ledger at "{long}"']),
        (within, [f"`mkdir -p -m 700 {quote(str(within.parent))} && mv -n {quote(str(old))} {quote(str(within))}`"]),
    )  # fmt: skip
    for place, said in cases:
        wrong += _not_refused(lambda: Place(str(place), old).found("t"), InvalidSource, str(place), said)  # noqa: B023
    for before in (None, long):
        wrong += [] if Place(str(new), before).found("t") == str(new) else [f"before was {before}"]
    access = os.access
    os.access = lambda *_, **__: False
    try:
        for place in (new, within):
            Place(str(place)).make_folder()  # a named one: SQLite will say what it cannot do
        Place(str(within), old).make_folder()  # there is no folder, which is said later
        said = ["cannot be made: its folder cannot be written", "Name another place"]
        wrong += _not_refused(Place(str(new), old).make_folder, LedgerError, "a folder of others", said)
    finally:
        os.access = access
    Place(str(new), old).make_folder()
    wrong += ["a folder was made"] if within.parent.exists() or new.exists() else []
    return Finding("L1: a ledger of earlier builds is moved by whoever owns it, or refused", not wrong,
                   all_right(wrong, 12))  # fmt: skip


def _only(path: Path, there: bool) -> None:
    if there:
        path.write_text("a ledger")
    else:
        path.unlink(missing_ok=True)


# --- the ledger of a source ---


def _sources(room: Room) -> Finding:
    """What only reads makes no ledger; the totals of a source and of its ledger agree, or it is refused."""
    wrong: list[str] = []
    for epsilon, delta in (("2", None), ("2", _DELTA), (None, None)):
        place = room.path("ledger")

        def source(epsilon: Any = epsilon, delta: Any = delta, place: Path = place) -> Source:
            return Source("t.csv", name="t", columns={"x": number(0, 1)}, epsilon=epsilon, delta=delta, ledger=place)

        new, about = source(), f"ε = {epsilon}, δ = {delta}"
        words = [f'"{place}"', f"the first release makes one with ε = {epsilon}" if epsilon else _NO_TOTAL]
        wrong += _not_refused(new.open_ledger, NoLedger, f"{about}: opening none", words)
        wrong += _not_refused(lambda: new.ledger, NoLedger, f"{about}: none", words)  # noqa: B023
        plan = new.plan(query.count(), epsilon=1)
        wrong += [] if plan.lacking == (None if epsilon else _NO_TOTAL) else [f"{about}: a plan lacks {plan.lacking}"]
        wrong += [] if new.left() is None and new.ledger_place() == str(place) else [f"{about}: {new.left()} is left"]
        wrong += [f"{about}: what only reads makes a ledger"] if place.exists() else []
        if epsilon is None:
            wrong += _not_refused(new.make_ledger, NoLedger, f"{about}: making one", words)
            Ledger.open(place, 2)
        made = new.make_ledger()
        if [made.total, made.delta.total, len(made.entries())] != [2, delta or 0, 1]:
            wrong.append(f"{about}: it is made with {made.total} and {made.delta.total}")
        made.charge("a", "0.5")
        for again in (new, source()):
            left = again.left(), again.ledger.spent, again.open_ledger().spent, again.make_ledger().spent
            wrong += [] if left == (Fraction(3, 2), *[Fraction(1, 2)] * 3) else [f"{about}: {left} is left"]
            wrong += [f"{about}: a plan is refused"] if again.plan(query.count(), epsilon=1).lacking else []
        others: list[tuple[Any, Any, Sequence[str]]] = [
            ("3", delta, ("says epsilon = 3, but its ledger has the total 2", "epsilon = 2", "total 3`")),
            ("2", "0.5", (f"says delta = 0.5, but its ledger has the total δ = {'0.000001' if delta else 0}",
                          "total 2 --delta 0.5`")),
        ]  # fmt: skip
        for epsilons, deltas, said in others:
            other = source(epsilons, deltas)
            wrong += _not_refused(lambda: other.ledger, InvalidSource, f"{about}: other totals", said)  # noqa: B023
            lacking = other.plan(query.count(), epsilon=1).lacking or ""
            wrong += [] if all(each in lacking for each in said) else [f"{about}: a plan says {lacking!r}"]
            its = [other.left(), other.open_ledger().spent, other.make_ledger().total]
            if its != [Fraction(3, 2), Fraction(1, 2), 2]:
                wrong.append(f"{about}: with other totals, {other.left()} is left")
        open_before = source()
        open_before.ledger.set_total(9, "0.5")
        if open_before.plan(query.count(), epsilon=1).lacking or open_before.left() != Fraction(17, 2):
            wrong.append(f"{about}: a ledger that was open before is refused")
        wrong += [] if source(None, None).ledger.spent == Fraction(1, 2) else [f"{about}: a source without totals"]
        if [each.kind for each in Ledger.open(place).entries()] != ["open", "charge", "total"]:
            wrong.append(f"{about}: something was written")
    return Finding(
        "L1: the ledger of a source is made with its totals, only to write, and refused with others",
        not wrong,
        all_right(wrong, 3),
    )


# --- what is there ---


def _opened(room: Room) -> Finding:
    """A ledger is opened by every name of its file, with its own totals; what is no place and no ledger is refused."""
    wrong: list[str] = []
    path, link, empty, folder = (room.path(each) for each in ("ledger", "link", "empty", "folder"))
    made = Ledger.open(path, 2, _DELTA)
    link.symlink_to(path)
    empty.write_bytes(b"")
    folder.mkdir()
    other = room.path("db")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE visits (x)")
    for given in (path, str(path), link):
        for totals in ((), (2,), ("2.0", "1e-6"), (None, _DELTA)):
            again = Ledger.open(given, *totals)
            wrong += [] if again.head == made.head and again.where == str(given) else [f"{given}, {totals}"]
        wrong += [] if is_there(str(given)) and open_existing(str(given)) is not None else [f"{given} is not there"]
    with _environment(HOME=str(room.folder)):
        wrong += [] if Ledger.open(f"~/{path.name}").head == made.head else ["~ is not the home folder"]
    gone, within = room.path("ledger"), path / "in a file"
    for none in (gone, within):
        wrong += [] if not is_there(str(none)) and open_existing(str(none)) is None else [f"{none} is there"]
        wrong += _not_refused(lambda: Ledger.open(none), NoLedger, "none", [f'no ledger at "{none}"'])  # noqa: B023
    refused = [*_bad_ledgers(made, path, gone, empty, folder, other), *_bad_places(path)]
    for i, (call, kind, words) in enumerate(refused):
        wrong += _not_refused(call, kind, f"case {i}", words)
    if (
        find_spec("psycopg") is not None
        and told_place("postgresql://u:secret@h:5/d?sslmode=require") != "postgresql://h/d"
    ):
        wrong.append(f"a server is told as {told_place('postgresql://u:secret@h:5/d')}")
    told = told_new("This release", made)
    due = f"This release began a new ledger, {path}, with the total ε = 2, δ = 0.000001. If there was one before,"
    wrong += [] if told.startswith(due) and told_place(str(path)) == str(path) else [told]
    wrong += [f"{made!r}"] if repr(made) != f"Ledger({str(path)!r})" or made.verify(made.head) != 1 else []
    wrong += ["something is left"] if gone.exists() or empty.read_bytes() or [*folder.iterdir()] else []
    return Finding("L1: what is opened is a ledger with its own totals; all else is refused", not wrong,
                   all_right(wrong, 20 + len(refused)))  # fmt: skip


Case = tuple[Callable[[], Any], type[LapwingError], Sequence[str]]
"""A call that is refused, the error, and words that it has."""


def _bad_ledgers(made: Ledger, path: Path, gone: Path, empty: Path, folder: Path, other: Path) -> list[Case]:
    """Return calls for what is another ledger, no ledger, and no place; and heads that are not in it."""
    return [
        (lambda: Ledger.open(path, 3), LedgerError, ["with the total ε = 3, but it has 2", "total`"]),
        (lambda: Ledger.open(path, 2, 0), LedgerError, ["with the total δ = 0, but it has 0.000001"]),
        (lambda: Ledger.open(empty, 2), LedgerError, ["is an empty file, not a ledger"]),
        (lambda: Ledger.open(folder, 2), LedgerError, ["is not a file"]),
        (lambda: Ledger.open(other), LedgerError, ["is not a ledger but another database"]),
        (lambda: Ledger.open(other, 2), LedgerError, ["is not a ledger but another database"]),
        (lambda: Ledger.open(gone / "x", 2), LedgerError, [f'there is no folder "{gone}"']),
        (lambda: Ledger.open(f"~no-such-user/{path.name}"), LedgerError, ["there is no such home folder"]),
        (lambda: Ledger.open(""), MissingParameter, ["ledger"]),
        (lambda: Ledger.open(made), InvalidParameter, ["ledger"]),  # type: ignore[arg-type]
        (lambda: Ledger.open(None), InvalidParameter, ["ledger"]),  # type: ignore[arg-type]
        (lambda: made.verify("abc"), InvalidParameter, ["64 hexadecimal digits"]),
        (lambda: made.verify(made.head.upper()), InvalidParameter, ["64 hexadecimal digits"]),
        (lambda: made.verify("0" * 64), UnknownHead, ["not in the ledger"]),
    ]


def _bad_places(path: Path) -> list[Case]:
    """Return calls with addresses that are never shown, paths that no file can have, and waits that are none."""
    addresses: tuple[Any, ...] = (
        b"bytes", "a\0b", "mysql://h/d", "postgres:h", "POSTGRESQL://u:p@h/d", "host=h password = p", "file://x",
        "postgresql://u:p@q@h/d", "postgresql://h/d?service=x",
    )  # fmt: skip
    refused: list[Case] = [(lambda each=each: Ledger.open(each, 2), InvalidAddress, ["ledger"]) for each in addresses]  # type: ignore[misc]
    long = path.with_name("x" * 300)  # longer than file systems bear
    said = [f'"{long}"', "Give another path."]
    refused += [(lambda: Ledger.open(long), LedgerError, said), (lambda: Ledger.open(long, 2), LedgerError, said)]
    refused += [
        (lambda wait=wait: Ledger.open(path, wait=wait), InvalidParameter, ["wait"])  # type: ignore[misc]
        for wait in (0, -1, "soon", None, float("nan"), True)
    ]
    return refused


def _made(room: Room) -> Finding:
    """A new ledger comes at once and alone, behind a link and without hard links too, and never beside a journal."""
    wrong: list[str] = []
    for linked in (True, False):
        folder = room.path("folder")
        folder.mkdir()
        path, link, journal = folder / "a.ledger", folder / "link", folder / "b.ledger-journal"
        link.symlink_to(folder / "c.ledger")
        journal.write_bytes(b"journal")
        with _no_links(linked):
            first, behind = Ledger.open(path, 2, _DELTA), Ledger.open(link, 3)
            wrong += _not_refused(lambda: Ledger.open(folder / "b.ledger", 1), LedgerError, "a journal", [str(journal)])  # noqa: B023
            text = folder / "text"
            text.write_text("something")
            kept = store.connect(text, Fraction(1))
            store.put_new(text, kept.where, Fraction(1), lambda engine: None)  # where something is by now
        totals = first.total, first.delta.total, behind.total
        wrong += [] if totals == (Fraction(2), _DELTA, Fraction(3)) else [f"the totals are {totals}"]
        names = sorted(each.name for each in folder.iterdir())
        if names != ["a.ledger", "b.ledger-journal", "c.ledger", "link", "text"] or text.read_text() != "something":
            wrong.append(f"with links {linked}, the folder has {', '.join(names)}")
        wrong += [] if Ledger.open(folder / "c.ledger").verify() == Ledger.open(path).verify() == 1 else ["entries"]
    return Finding("L3: a new ledger has its name once it is whole, and nothing is left beside it", not wrong,
                   all_right(wrong, 2))  # fmt: skip


# --- questions and answers ---


def _questions(room: Room) -> Finding:
    """Questions are the same when their JSON is; what JSON cannot hold is refused, and nothing is charged."""
    wrong: list[str] = []
    ledger, other = (Ledger.open(room.path("ledger"), 5) for _ in range(2))
    same: tuple[tuple[Any, ...], ...] = (
        ({"a": 1, "b": [2, None]}, {"b": (2, None), "a": 1}), ("é", "\u00e9"), ({"1": True}, {1: True}), (0.5, 0.50),
    )  # fmt: skip
    different: tuple[Any, ...] = (1, 1.0, "1", True, [1], None, "", {"a": 1}, {"a": "1"}, "a", "A", "e\u0301")
    entries = [[ledger.charge(each, "0.1") for each in some] for some in same]
    wrong += [f"{some!r}" for some, found in zip(same, entries, strict=True) if len({e.number for e in found}) != 1]
    numbers = {ledger.charge(each, "0.1").number for each in different}
    wrong += [] if len(numbers) == len(different) else ["different questions are taken for one"]
    spent = ledger.spent
    wrong += [] if spent == Fraction(len(same) + len(different), 10) else [f"{spent} is spent"]
    endless: list[Any] = []
    endless.append(endless)
    for bad in (float("nan"), float("inf"), {1, 2}, b"x", Fraction(1), {(1, 2): 3}, endless, object()):
        wrong += _not_refused(lambda: ledger.charge(bad, "0.1"), InvalidValue, "a question", ["The question"])  # noqa: B023
        wrong += _not_refused(lambda: ledger.find(bad, "0.1"), InvalidValue, "a question", ["The question"])  # noqa: B023
        wrong += _not_refused(lambda: ledger.record(entries[0][0], bad), InvalidValue, "an answer", ["The answer"])  # noqa: B023
    foreign = other.charge("of another ledger", "0.1")
    total = ledger.set_total(5)
    for bad_entry, kind in (
        (None, InvalidParameter),
        (2, InvalidParameter),
        (foreign, LedgerError),
        (total, LedgerError),
    ):
        wrong += _not_refused(lambda: ledger.record(bad_entry, 1), kind, f"{bad_entry!r:.40}", [])  # type: ignore[arg-type]  # noqa: B023
    for name in ("", " a", "a ", "a\n", "a\u200b", "x" * 201, 5, None, "\ud800"):
        wrong += _not_refused(lambda: ledger.add_analyst(name, 1), InvalidParameter, f"{name!r}", [])  # type: ignore[arg-type]  # noqa: B023
        if name is not None:
            wrong += _not_refused(lambda: ledger.set_total(5, note=name), InvalidParameter, f"{name!r}", [])  # type: ignore[arg-type]  # noqa: B023
            wrong += _not_refused(lambda: ledger.charge("n", 1, 0, name), InvalidParameter, f"{name!r}", [])  # type: ignore[arg-type]  # noqa: B023
    found, none = ledger.find(same[0][1], "0.1"), ledger.find("never", "0.1")
    if found is None or found.number != entries[0][0].number or none is not None or ledger.find(same[0][1], "0.2"):
        wrong.append("what was charged is not found, or what was not is")
    wrong += [] if ledger.record(entries[0][0], {"b": 1, "a": (2,)}) == {"a": [2], "b": 1} else ["an answer"]
    again = ledger.find(same[0][0], "0.1")
    wrong += (
        [] if again and again.answered and again.repeated and again.answer == {"a": [2], "b": 1} else ["its answer"]
    )
    size = 1 + len(same) + len(different) + 2
    wrong += [] if ledger.spent == spent and ledger.verify() == size else ["what is refused is written"]
    return Finding("L2: equal JSON is one question, and what JSON cannot hold is refused", not wrong,
                   all_right(wrong, 80))  # fmt: skip


# --- what they need ---


def _not_refused(call: Callable[[], Any], kind: type[LapwingError], what: str, words: Sequence[str]) -> Iterator[str]:
    """Yield how a call is not refused by an error of this kind with these words."""
    try:
        made = call()
    except kind as error:
        yield from (f"{what}: the refusal does not say {each!r}: {error}" for each in words if each not in str(error))
    except Exception as error:  # of made-up values, so its text reveals nothing
        yield f"{what}: fails with {type(error).__name__}: {error}"
    else:
        yield f"{what}: accepted, {made!r:.80}"


@contextmanager
def _environment(**given: str | None) -> Iterator[None]:
    """Set some variables of the environment for a while; None is one that is not set."""
    before = {name: os.environ.get(name) for name in given}
    _set(given)
    try:
        yield
    finally:
        _set(before)


def _set(given: dict[str, str | None]) -> None:
    for name, value in given.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def _no_links(linked: bool) -> Iterator[None]:
    """Let the file system have no hard links for a while, unless ``linked``."""
    link = os.link

    def refused(*given: Any, **more: Any) -> None:
        raise PermissionError(1, "there are no hard links")

    os.link = link if linked else refused
    try:
        yield
    finally:
        os.link = link
