"""The budget holds on this machine: claims L1 to L5, and "charge, aggregate, add noise, record, show" of claim R2.

The checks use ``Ledger``, ``Source`` and the command line; they are exact and raise no false alarms.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...errors import BudgetExceeded
from ...ledger.entry import Entry
from ...ledger.ledger import Ledger
from ..finding import Finding, parts
from ..room import Room
from ..tools import others
from ..tools.unsynced import unsynced
from .as_server import as_server
from .backups import backups, written_off
from .cap_requests import cap_requests
from .charging import charged, in_words, refusal
from .ledger_places import ledger_places
from .listed import listed
from .tampering import exchanged, rolled_back, tampered, verifies

TENTH = Fraction(1, 10)


def ledgers(room: Room) -> Iterator[Finding]:
    """Check the ceiling, races, crashes, tampering, refusals, and what is charged when the engine fails."""
    yield from parts(
        room,
        total=lambda: _exact(room),
        one_budget=lambda: _one_budget(room),
        races=lambda: _races(room),
        made_anew=lambda: _made_anew(room),
        half_made=lambda: _half_made(room),
        unnamed=lambda: _unnamed(room),
        killed=lambda: _killed(room),
        edited=lambda: tampered(room),
        older=lambda: rolled_back(room),
        exchanged=lambda: exchanged(room),
        charged=lambda: charged(room),
        cap_requests=lambda: unsynced("requests", lambda: cap_requests(room)),
        ledger_places=lambda: unsynced("places", lambda: ledger_places(room)),
        as_server=lambda: unsynced("a server", lambda: as_server(room)),
        listed=lambda: unsynced("lists", lambda: listed(room)),
        backups=lambda: unsynced("backups", lambda: backups(room)),
        written_off=lambda: unsynced("restoring", lambda: written_off(room)),
    )


def _races(room: Room) -> Iterator[Finding]:
    with others.started(others.racer, 2) as racers:
        yield _raced(room, racers)
        yield _asked_at_once(room, racers)
        yield _made_at_once(room, racers)


# --- the ceiling: L1 ---


def _exact(room: Room) -> Finding:
    """Amounts whose floats do not add up: 0.1 + 0.1 + 0.1 is above 0.3, and 999.999999999 + 10^-9 is not 1000."""
    expected, got = [], []
    for total, epsilon in (("1", "0.1"), ("0.3", "0.1"), ("0.7", 0.1), ("2.1", "0.7"), ("0.000000003", "0.000000001")):
        ledger = Ledger.open(room.path("ledger"), total)
        expected.append(Fraction(total) / Fraction(str(epsilon)))
        got.append(sum(1 for i in range(12) if _granted(ledger, i, epsilon)))
    ledger = Ledger.open(room.path("ledger"), 1000, "1e-6")
    ledger.add_analyst("ana", "0.2")
    steps: tuple[tuple[str, str, str | None], ...] = (
        ("0.1", "0", "ana"), ("0.1", "0", "ana"), ("0.000000001", "0", "ana"), ("0.1", "1e-6", None),
        ("0.1", "1e-18", None), ("999.699999999", "0", None), ("0.000000001", "0", None), ("0.000000001", "0", None),
    )  # fmt: skip
    granted = [_granted(ledger, i, *step) for i, step in enumerate(steps)]
    as_due = granted == [True, True, False, True, False, True, True, False]
    return Finding(
        "L1: what is granted adds up to the total exactly",
        got == expected and as_due and ledger.spent == 1000 and ledger.remaining == 0,
        f"{in_words(got)} charges were granted, {in_words(expected)} fit; of analysts' caps, δ and 10^-9 of ε, "
        f"{sum(granted)} of 8 were granted, 5 fit.",
    )


def _one_budget(room: Room) -> Finding:
    """A second object, a link, another process, a new name and a copy see what was spent; no lost file is replaced."""
    path = room.path("ledger")
    first, second = Ledger.open(path, 1), Ledger.open(path, "1.0")
    spent = [(first.spent, second.remaining)]
    for i, ledger in enumerate((first, second, first)):
        ledger.charge(i, "0.2")
        spent.append((first.spent, second.remaining))
    link, copy, moved = (room.path("ledger") for _ in range(3))
    link.symlink_to(path)
    shutil.copy(path, copy)
    command = [sys.executable, "-P", "-m", "lapwing", "ledger", str(link), "show", "--format", "json"]
    told = subprocess.run(command, env=others.environment(), capture_output=True, check=True, text=True).stdout
    seen = [Fraction(json.loads(told)["epsilon"]["spent"]), Ledger.open(copy, 1).spent, Ledger.open(link).spent]
    path.rename(moved)
    seen.append(Ledger.open(moved, 1).spent)
    refusals = [
        refusal(lambda: first.charge("gone", TENTH)),
        refusal(lambda: Ledger.open(moved, 2)),
        refusal(lambda: Ledger.open(moved).charge("too much", "0.4") and Ledger.open(copy).charge("x", "0.41")),
    ]
    expected = [(i * 2 * TENTH, 1 - i * 2 * TENTH) for i in range(4)]
    return Finding(
        "L1: a second object, process, name or copy does not reset the budget",
        spent == expected and seen == [Fraction(3, 5)] * 4 and None not in refusals and not path.exists(),
        f"Two objects saw {in_words(f'{float(a)} spent and {float(b)} left' for a, b in spent)} of 1; elsewhere "
        f"{in_words(map(float, seen))} was seen as spent, 0.6 was; "
        f"{sum(each is not None for each in refusals)} of 3 ways to more were refused.",
    )


def _made_anew(room: Room) -> Finding:
    """A spent ledger truncated to nothing, and any other existing file, is not replaced, and stays as it is."""
    spent, text, database, folder = (room.path("ledger") for _ in range(4))
    Ledger.open(spent, 1).charge("all of it", 1)
    spent.write_bytes(b"")
    text.write_text("not a ledger")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE visits (x)")
    folder.mkdir()
    places = (spent, text, database, folder)
    before = [_content(place) for place in places]
    refused = [refusal(lambda: Ledger.open(place, 1).charge("more", 1)) is not None for place in places]  # noqa: B023
    same = [_content(place) for place in places] == before
    return Finding(
        "L1: a ledger is created only where nothing exists, not even an empty file",
        all(refused) and same,
        f"{sum(refused)} of {len(refused)} existing files were refused, and "
        f"{'all' if same else 'not all'} of them are unchanged.",
    )


def _half_made(room: Room) -> Finding:
    """If the disk is full after some pages of a new ledger, nothing is left."""
    whole = room.path("ledger")
    Ledger.open(whole, 1)
    sizes = range(0, whole.stat().st_size, 4096)
    made, left = 0, 0
    with others.started(others.cramped) as (maker,):
        for size in sizes:
            place = room.path("ledger")
            others.tell(maker, [str(place), size])
            made += others.answer(maker)
            left += place.exists()
    return Finding(
        "L3: a ledger that cannot be completed is not created",
        made == left == 0 and len(sizes) > 3,
        f"Of {len(sizes)} ledgers for which the disk had no space {made} were created, and {left} left something.",
    )


def _unnamed(room: Room) -> Iterator[Finding]:
    """Query sources that name no ledger, in a process whose home folder is in this workspace, from several folders."""
    here, there, left = (room.path("folder") for _ in range(3))
    for folder in (here, there, left):
        folder.mkdir()
    home, table = room.path("home"), here / "table.parquet"
    Path(room.parquet({"x": [0.5]}, {"x": "DOUBLE"})).rename(table)
    with others.started(others.asker, XDG_DATA_HOME=str(home)) as (asker,):

        def ask(folder: Path, given: str | None, name: str, epsilon: str) -> tuple[Path | None, str]:
            """Return where the ledger is and what is spent, or nothing and the refusal."""
            others.tell(asker, [str(folder), given, name, epsilon])
            place, told = others.answer(asker)
            return place and Path(place), told

        found = [ask(here, None, "t", "0.1"), ask(there, None, "t", "0.2")]
        found += [ask(here, "table.parquet", "t", "0.1"), ask(there, str(table), "t", "0.2")]
        found += [ask(there, "../*/table.parquet", "t", "0.3")]
        own = home / "lapwing" / "t.ledger"
        due = [(own, "1/10"), (own, "3/10"), (here / "t.ledger", "1/10"), (here / "t.ledger", "3/10")]
        due += [(room.folder / "t.ledger", "3/10")]
        kept = sum(each == right for each, right in zip(found, due, strict=True))
        yield Finding(
            "L1: a source that names no ledger has the same one in every working directory",
            kept == len(due),
            f"{kept} of {len(due)} tables and relations had their ledger in the right place, with what was spent from "
            "other folders.",
        )
        odd = ("../x", "..", "a/x", "a_x", "./x", "ä")
        places = [ask(there, None, name, "0.1") for name in odd]
        inside = {place for place, spent in places if place and place.parent == own.parent and spent == "1/10"}
        yield Finding(
            "L1: the name of a source is not a path, and two names are two ledgers",
            len(inside) == len(odd),
            f"{len(inside)} of {len(odd)} names had a ledger of their own in the user's folder.",
        )
        Ledger.open(left / "x.ledger", 1).charge("what was spent before", "0.9")
        refusals = [ask(left, given, "x", "0.2") for given in (None, str(table))]
        refused = sum(place is None and str(left / "x.ledger") in told for place, told in refusals)
        new = [place for place in (own.with_name("x.ledger"), here / "x.ledger") if place.exists()]
        yield Finding(
            "L1: a ledger in its earlier place is not left behind for a new one",
            refused == 2 and not new,
            f"{refused} of 2 sources asked for it to be moved, and {len(new)} created a new one.",
        )


def _content(place: Path) -> bytes | list[str]:
    return sorted(each.name for each in place.iterdir()) if place.is_dir() else place.read_bytes()


def _raced(room: Room, racers: Sequence[others.Process]) -> Finding:
    """Each round is a new ledger with room for three, so that everyone is at its ceiling at the same moment."""
    rounds = 60 if room.deep else 8
    granted, sound = [], 0
    for _ in range(rounds):
        ledger = Ledger.open(room.path("ledger"), "0.3")
        granted.append(sum(race(racers, "charge", ledger.where)))
        sound += ledger.spent == 3 * TENTH and ledger.remaining == 0 and verifies(ledger)
    return Finding(
        "L1: processes and threads that charge concurrently are granted exactly the total",
        granted == [3] * rounds and sound == rounds,
        f"In {rounds} rounds {len(racers) + 1} processes of 3 threads were granted {min(granted)} to {max(granted)} "
        f"charges, 3 fit; {sound} ledgers add up.",
    )


def _asked_at_once(room: Room, racers: Sequence[others.Process]) -> Finding:
    rounds = 20 if room.deep else 4
    wrong = 0
    for _ in range(rounds):
        ledger = Ledger.open(room.path("ledger"), 1)
        answers = [json.dumps(each) for found in race(racers, "ask", ledger.where) for each in found]
        kinds = [entry.kind for entry in ledger.entries()]
        once = len(answers) == 3 * (len(racers) + 1) and len(set(answers)) == 1
        wrong += not once or ledger.spent != TENTH or kinds != ["open", "charge", "answer"] or not verifies(ledger)
    return Finding(
        "L2: concurrent identical questions get one answer for one charge",
        wrong == 0,
        f"{wrong} of {rounds} rounds had more than one charge or answer, 0 are allowed.",
    )


def _made_at_once(room: Room, racers: Sequence[others.Process]) -> Finding:
    rounds = 40 if room.deep else 12
    everyone = 3 * (len(racers) + 1)
    granted, kept = [], 0
    for _ in range(rounds):
        where = room.path("ledger")
        granted.append(sum(race(racers, "make", str(where))))
        ledger = Ledger.open(where, 1)
        kept += ledger.spent == everyone * TENTH and verifies(ledger)
    return Finding(
        "L1: processes that create one ledger concurrently spend one budget",
        granted == [everyone] * rounds and kept == rounds,
        f"In {rounds} rounds {min(granted)} to {max(granted)} of {everyone} could open it and charge, and {kept} "
        "ledgers hold what everyone charged.",
    )


def race(racers: Sequence[others.Process], what: str, where: str) -> list[Any]:
    """Run a race of ``others`` in this process and the other ones at once; return what each of them answers."""
    for i, racer in enumerate(racers):
        others.tell(racer, [what, where, str(i), "0.1", 3])
    mine = others.RACES[what](where, "here", "0.1", 3)
    return [mine, *map(others.answer, racers)]


# --- crashes: L3 ---


def _killed(room: Room) -> Finding:
    """Processes that charge and record are killed at random moments; charges without an answer are then completed."""
    kills = 200 if room.deep else 15
    where = str(room.path("ledger"))
    ledger = Ledger.open(where, 1000)
    ledger.charge(["a charge without an answer"], "0.001")
    before, fell = ledger.spent, 0
    told: list[list[Any]] = []
    with others.started(others.spender) as (spender,):
        for i in range(kills):
            others.tell(spender, [where, str(i)])
            _, victim = others.answer(spender)
            if i == 0:  # once something is reported, however busy the machine is
                told += [others.answer(spender) for _ in range(3)]
            time.sleep(random.uniform(0, 0.05))
            os.kill(victim, signal.SIGKILL)
            told += iter(lambda: others.answer(spender), ["ended"])
            after = Ledger.open(where).spent  # works without any repair, and checks the chain
            fell += after < before
            before = after
    charges = [entry for entry in ledger.entries(answers=True) if entry.kind == "charge"]
    lost = sum(not _has(charges, *line) for line in told)
    open_ones = [entry for entry in charges if not entry.answered]
    completed = [ledger.record(ledger.charge(entry.question, "0.001"), ["late"]) == ["late"] for entry in open_ones]
    due = len(charges) * Fraction(1, 1000)
    free = all(completed) and ledger.spent == due
    return Finding(
        "L3: killing a process un-spends nothing",
        fell == 0 and lost == 0 and free and len(told) > 2 and verifies(ledger),
        f"After {kills} kills {lost} of the {len(told)} reported charges and answers are missing, what is spent "
        f"fell {fell} times; {sum(completed)} of {len(open_ones)} charges without answer were completed, and "
        f"{float(ledger.spent)} is spent of {float(due)} charged.",
    )


def _has(charges: Sequence[Entry], kind: str, question: Any, what: Any) -> bool:
    """Return whether the ledger holds what a process reported."""
    found = [entry for entry in charges if entry.question == question]
    return len(found) == 1 and what == (found[0].number if kind == "granted" else found[0].answer)


# --- what happens when it is asked ---


def _granted(
    ledger: Ledger, question: Any, epsilon: float | str | Fraction, delta: str = "0", analyst: str | None = None
) -> bool:
    try:
        ledger.charge(question, epsilon, delta, analyst)
    except BudgetExceeded:
        return False
    return True
