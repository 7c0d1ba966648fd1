"""All checks, one after the other, and what they found.

Claim C4 (false alarms).  An audit of a correct build fails with probability at most the sum of the false-alarm
probabilities of its findings, which is at most 10^-6: most findings are exact and have none.
"""

from __future__ import annotations

import json
import math
import platform
import secrets
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

import duckdb
import numpy as np

from .. import __version__, exact
from ..errors import InvalidParameter, UselessParameter
from .checks.bound import bound
from .checks.canary import canary
from .checks.coverage import coverage
from .checks.doors import doors
from .checks.failures import failures
from .checks.identity import identity
from .checks.laws import laws
from .checks.ledgers import ledgers
from .checks.reading import reading
from .checks.refusals import refusals
from .checks.replay import replay
from .checks.sampler import sampler
from .checks.sensitivities import sensitivities
from .checks.timing import timing
from .checks.worlds import worlds
from .finding import Check, Finding, NoSuchPart
from .page import cell, page
from .room import Engine, Room
from .tools import others
from .tools.engines import engines

MOST_FALSE_ALARMS = 1e-6
DEEP_MINUTES = 5
_MOST_MINUTES = 10_000
_MOST_JOBS = 64
_MOST_WORLDS = 10**12

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class CheckEntry:
    """A check: the question it answers, the processor seconds it takes (about), and whether it runs on every engine.

    ``alone`` says that nothing else may run at the same time.
    """

    check: Check
    asks: str
    seconds: int
    engines: bool = False
    alone: bool = False


CHECKS: dict[str, CheckEntry] = {
    "sampler": CheckEntry(sampler, "does the noise have its exact law, and is it fresh in every call?", 7),
    "laws": CheckEntry(laws, "is every output on neighbors as likely up to e^ε, computed exactly?", 23),
    "reading": CheckEntry(reading, "is every cell, row and name read independently of all others?", 30),
    "sensitivities": CheckEntry(
        sensitivities, "can one person move an answer exactly as far as declared, and no farther?", 22, True
    ),
    "worlds": CheckEntry(worlds, "in tables and questions drawn at random, is one person worth at most ε?", 62),
    "replay": CheckEntry(replay, "with the noise frozen, do neighbors differ in nothing but the numbers?", 7, True),
    "bound": CheckEntry(bound, "is ε, estimated from millions of draws, what was charged?", 7),
    "coverage": CheckEntry(coverage, "do the error bars contain the truth as often as stated?", 20),
    "timing": CheckEntry(
        timing, "is the time of a draw unrelated to its noise, as far as we can measure?", 3, alone=True
    ),
    "ledgers": CheckEntry(ledgers, "is it impossible to overspend, reset or secretly edit the budget?", 14),
    "doors": CheckEntry(doors, "is every way to make a source and to ask it the same question, charge and answer?", 23),
    "identity": CheckEntry(
        identity, "is everything that an answer depends on part of the question, and nothing else?", 24
    ),
    "refusals": CheckEntry(
        refusals, "is what cannot be answered refused, in our words and before anything is charged?", 15
    ),
    "failures": CheckEntry(failures, "whatever fails, is there one charge and one answer?", 24, True),
    "canary": CheckEntry(canary, "do private values stay out of answers, errors and files?", 17),
}
"""The checks, in the order in which they run."""


@dataclass(frozen=True)
class Verdict:
    """What one check found."""

    check: str
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether everything was as promised."""
        return all(finding.passed for finding in self.findings)

    @property
    def asks(self) -> str:
        """What the check asks."""
        return _entry(self.check).asks

    @property
    def failures(self) -> tuple[Finding, ...]:
        """What was not as promised."""
        return tuple(finding for finding in self.findings if not finding.passed)


@dataclass(frozen=True)
class Audit:
    """What all checks found: print it, or take ``passed`` and ``verdicts``."""

    verdicts: tuple[Verdict, ...]
    engines: tuple[str, ...]
    deep: bool
    date: str
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether everything was as promised."""
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def false_alarm(self) -> float:
        """The probability with which a correct build would have failed, at most (claim C4)."""
        return sum(finding.false_alarm for verdict in self.verdicts for finding in verdict.findings)

    @property
    def versions(self) -> dict[str, str]:
        """What was audited, and on what."""
        own = {"lapwing": __version__, "build": _build(), "python": platform.python_version(), "numpy": np.__version__}
        return {**own, "duckdb": duckdb.__version__, "machine": f"{platform.system()} {platform.machine()}"}

    @property
    def summary(self) -> str:
        """The outcome, as a sentence."""
        looked = sum(len(verdict.findings) for verdict in self.verdicts)
        failed = sum(len(verdict.failures) for verdict in self.verdicts)
        outcome = (
            f"All {looked:,} findings are as promised" if not failed else f"{failed:,} of {looked:,} findings FAIL"
        )
        chance = f"with probability at most {self.false_alarm:.1e}" if self.false_alarm else "never"
        left_out = f"  NOT RUN: {', '.join(self.not_run)}." if self.not_run else ""
        return f"{outcome}, in {self.seconds:.0f} s.  A correct build fails {chance}.{left_out}"

    @property
    def not_run(self) -> tuple[str, ...]:
        """The checks that were left out, or not reached."""
        ran = {verdict.check for verdict in self.verdicts}
        return tuple(name for name in CHECKS if name not in ran)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON holds it (docs/reference/json.md)."""
        return {
            "passed": self.passed,
            "false_alarm": self.false_alarm,
            "date": self.date,
            "not_run": list(self.not_run),
            "deep": self.deep,
            "engines": list(self.engines),
            "versions": self.versions,
            "checks": [
                {
                    "check": verdict.check,
                    "passed": verdict.passed,
                    "seconds": round(verdict.seconds, 1),
                    "findings": [vars(finding) for finding in verdict.findings],
                }
                for verdict in self.verdicts
            ],
        }

    def to_html(self) -> str:
        """Return one page with every finding."""
        return page(self)

    def _repr_html_(self) -> str:
        return cell(self)

    def __str__(self) -> str:
        lines = [
            f"{verdict.check:14} {'passed' if verdict.passed else 'FAILED'}   "
            f"{len(verdict.findings):4,} findings   {verdict.seconds:5.1f} s   {verdict.asks}"
            for verdict in self.verdicts
        ]
        failed = [
            f"FAILED in {verdict.check}: {finding.what}\n    {finding.told}"
            for verdict in self.verdicts
            for finding in verdict.failures
        ]
        return "\n".join([*lines, *failed, self.summary])


def audit(
    *only: str,
    deep: bool = False,
    minutes: float | None = None,
    seed: int | None = None,
    stop: bool = False,
    jobs: int = 1,
    engine: Sequence[str] = (),
    progress: Progress | None = None,
) -> Audit:
    """Check, on this machine and on made-up tables, that Lapwing keeps what it promises; no data of yours is read.

    Args:
        only: the names of the checks to run, all if none is given; "reading/lines" runs one part of a check.
        deep: draw about ten times as much, over more tables; takes several times as long.
        minutes: for a deep audit, how long worlds are drawn; 5 if not given.
        seed: the number of the first world; 0 if not given, and for a deep audit a random one, which the finding says.
        stop: end at the first finding that fails.
        jobs: how many checks run at once, each in a process of its own; 1 runs all of them in this process.
        engine: engines to check besides DuckDB: "spark", or a URL such as postgresql://user@host/database, in which a
            schema is made and dropped again.  The checks then run in this process.
        progress: a function that is called with the share that is done, 0 to 1, and the name of the current check.
    """
    for name in only:
        if name.partition("/")[0] not in CHECKS:
            raise InvalidParameter(name, "check", f"one of {', '.join(CHECKS)}")
    if minutes is not None and not (deep and isinstance(minutes, int | float) and 0 < minutes <= _MOST_MINUTES):
        raise InvalidParameter(minutes, "minutes", f"a number above 0, up to {_MOST_MINUTES:,}, for a deep audit")
    exact.whole(jobs, "jobs", _MOST_JOBS)
    chosen = sorted(dict.fromkeys(only or CHECKS), key=_order)
    named = [engine] if isinstance(engine, str) else list(engine)
    if named and not any(_entry(name).engines for name in chosen):
        using = ", ".join(name for name, entry in CHECKS.items() if entry.engines)
        advice = f"Leave it out, or run one of {using}."
        raise UselessParameter("engine", "none of these checks looks at engines", advice)
    drawing = _Drawing(deep, minutes, _first_world(deep, seed), stop)
    start, tell = monotonic(), partial(_tell, progress, chosen, drawing)
    with engines(named) as at_hand:
        if jobs > 1 and not named and len(chosen) > 1 and all(name in CHECKS for name in chosen):
            found = _at_once(chosen, drawing, jobs, tell)
        else:
            found = _in_turn(chosen, drawing, at_hand, tell)
        verdicts = sorted(found, key=lambda verdict: _order(verdict.check))
        date = datetime.now(UTC).isoformat(timespec="seconds")
        return Audit(tuple(verdicts), tuple(each.name for each in at_hand), deep, date, monotonic() - start)


@dataclass(frozen=True)
class _Drawing:
    """How much is drawn, and whether the audit ends at the first failure."""

    deep: bool
    minutes: float | None
    seed: int
    stop: bool

    def seconds(self, name: str) -> float:
        """Return about how long a check takes."""
        entry = _entry(name)
        if not self.deep:
            return entry.seconds
        return 60 * (self.minutes or DEEP_MINUTES) if entry.check is worlds else 5 * entry.seconds


def _entry(name: str) -> CheckEntry:
    """Return the check of this name, or the one that a part belongs to."""
    return CHECKS[name.partition("/")[0]]


def _order(name: str) -> int:
    return list(CHECKS).index(name.partition("/")[0])


def _first_world(deep: bool, seed: int | None) -> int:
    if seed is None:
        return secrets.randbelow(_MOST_WORLDS // 2) if deep else 0
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _MOST_WORLDS:
        raise InvalidParameter(seed, "seed", f"a whole number from 0 on, below {_MOST_WORLDS:,}")
    return seed


def _in_turn(
    chosen: Sequence[str], drawing: _Drawing, engines: tuple[Engine, ...], tell: Callable[[dict[str, float]], None]
) -> list[Verdict]:
    """Run checks one after the other in this process."""
    verdicts: list[Verdict] = []
    for name in chosen:
        done = {verdict.check: math.inf for verdict in verdicts}
        verdicts.append(run_check(name, drawing, engines, lambda seconds: tell({**done, name: seconds})))  # noqa: B023
        if drawing.stop and not verdicts[-1].passed:
            break
    return verdicts


def _at_once(
    chosen: Sequence[str], drawing: _Drawing, jobs: int, tell: Callable[[dict[str, float]], None]
) -> list[Verdict]:
    """Run checks in several processes, the longest first; those that measure time run last, and alone."""
    verdicts: list[Verdict] = []
    waiting = sorted((each for each in chosen if not CHECKS[each].alone), key=drawing.seconds)
    begun: dict[str, float] = {}
    arguments = [drawing.deep, drawing.minutes, drawing.seed, drawing.stop]

    def work(process: others.Process) -> None:
        while waiting:
            name = waiting.pop()
            begun[name] = monotonic()
            others.tell(process, [name, *arguments])
            try:
                found, seconds = others.answer(process)
                verdicts.append(Verdict(name, tuple(Finding(*each) for each in found), seconds))
            except RuntimeError as error:
                verdicts.append(Verdict(name, (Finding("the check itself", False, str(error)),), 0.0))
            begun[name] = -math.inf
            if drawing.stop and not verdicts[-1].passed:
                waiting.clear()

    with others.started(checker, min(jobs, len(waiting))) as processes, ThreadPoolExecutor(jobs) as pool:
        try:
            running = [pool.submit(work, process) for process in processes]
            while wait(running, 0.2).not_done and (not drawing.stop or all(each.passed for each in verdicts)):
                now = monotonic()
                tell({name: now - start for name, start in begun.items()})
        finally:
            waiting.clear()
            for process in processes:
                process.kill()
    if drawing.stop and not all(verdict.passed for verdict in verdicts):
        return verdicts
    alone = [name for name in chosen if CHECKS[name].alone]
    done = dict.fromkeys(begun, math.inf)
    return verdicts + _in_turn(alone, drawing, (Engine(),), lambda seconds: tell({**done, **seconds}))


def checker() -> None:
    """Run the check that each line names, in a process of its own, and answer its findings and its time."""
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        verdict = run_check(name, _Drawing(*arguments), (Engine(),), lambda seconds: None)
        found = [[each.what, bool(each.passed), each.told, float(each.false_alarm)] for each in verdict.findings]
        others.say([found, verdict.seconds])


def _build() -> str:
    """Return the beginning of a hash over all modules of the package, which identifies what was audited."""
    package, digest = Path(__file__).parent.parent, sha256()
    for file in sorted(package.rglob("*.py")):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _tell(progress: Progress | None, chosen: Sequence[str], drawing: _Drawing, took: Mapping[str, float]) -> None:
    """Report the share of all checks that is done: each has taken so many seconds, or infinitely many if it is done."""
    if progress is not None:
        expected = {name: drawing.seconds(name) for name in chosen}
        done = sum(min(took.get(name, 0.0), each) for name, each in expected.items())
        current = [name for name, seconds in took.items() if seconds < math.inf] or list(took)
        progress(done / sum(expected.values()), ", ".join(current))


def run_check(name: str, drawing: _Drawing, engines: tuple[Engine, ...], tell: Callable[[float], None]) -> Verdict:
    """Run one check in a folder that is removed afterwards; a check that fails to run has failed."""
    start, found = monotonic(), []
    check, _, part = name.partition("/")
    tell(0)
    with tempfile.TemporaryDirectory(prefix="lapwing-audit-", ignore_cleanup_errors=True) as folder:
        room = Room(
            Path(folder), drawing.deep, engines, drawing.minutes or DEEP_MINUTES, drawing.seed,
            lambda: tell(monotonic() - start), part,
        )  # fmt: skip
        try:
            for finding in CHECKS[check].check(room):
                found.append(finding)
                room.tick()
                if drawing.stop and not finding.passed:
                    break
        except NoSuchPart as error:
            raise InvalidParameter(part, f"part of {check}", f"one of {', '.join(error.names)}") from None
        except Exception as error:  # the tables are made up, so its text reveals nothing
            found.append(Finding("the check itself", False, f"{type(error).__name__}: {error}"))
    return Verdict(name, tuple(found), monotonic() - start)
