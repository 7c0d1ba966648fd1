"""All checks, one after the other, and what they found.

Claim C4 (false alarms).  An audit of a correct build fails with probability at most the sum of the false-alarm
probabilities of its findings, which is at most 10^-6: most findings are exact and have none.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

import duckdb
import numpy as np

from .. import __version__
from ..errors import InvalidParameter, UselessParameter
from .checks.bound import bound
from .checks.canary import canary
from .checks.coverage import coverage
from .checks.laws import laws
from .checks.ledgers import ledgers
from .checks.reading import reading
from .checks.replay import replay
from .checks.sampler import sampler
from .checks.sensitivities import sensitivities
from .checks.timing import timing
from .finding import Check, Finding
from .page import page
from .room import Engine, Room
from .tools.engines import engines

MOST_FALSE_ALARMS = 1e-6

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class CheckEntry:
    """A check: the question it answers, about how many seconds it takes, and whether it runs on every engine."""

    check: Check
    asks: str
    seconds: int
    engines: bool = False


CHECKS: dict[str, CheckEntry] = {
    "sampler": CheckEntry(sampler, "does the noise have its exact law, and is it fresh in every call?", 2),
    "laws": CheckEntry(laws, "is every output on neighbors as likely up to e^ε, computed exactly?", 20),
    "reading": CheckEntry(reading, "is every cell, row and name read independently of all others?", 20),
    "sensitivities": CheckEntry(
        sensitivities, "can one person move an answer exactly as far as declared, and no farther?", 15, True
    ),
    "replay": CheckEntry(replay, "with the noise frozen, do neighbors differ in nothing but the numbers?", 10, True),
    "bound": CheckEntry(bound, "is ε, estimated from millions of draws, what was charged?", 8),
    "coverage": CheckEntry(coverage, "do the error bars contain the truth as often as stated?", 15),
    "timing": CheckEntry(timing, "is the time of a draw unrelated to its noise, as far as we can measure?", 3),
    "ledgers": CheckEntry(ledgers, "is it impossible to overspend, reset or secretly edit the budget?", 10),
    "canary": CheckEntry(canary, "do private values stay out of answers, errors and files?", 10),
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
        return CHECKS[self.check].asks

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

    @property
    def passed(self) -> bool:
        """Whether everything was as promised."""
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def false_alarm(self) -> float:
        """The probability with which a correct build would have failed, at most (claim C4)."""
        return sum(finding.false_alarm for verdict in self.verdicts for finding in verdict.findings)

    @property
    def seconds(self) -> float:
        """How long it took."""
        return sum(verdict.seconds for verdict in self.verdicts)

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
    stop: bool = False,
    engine: Sequence[str] = (),
    progress: Progress | None = None,
) -> Audit:
    """Check, on this machine and on made-up tables, that Lapwing keeps what it promises; no data of yours is read.

    Args:
        only: the names of the checks to run, all if none is given.
        deep: draw about ten times as much, over more tables; takes several times as long.
        stop: end at the first finding that fails.
        engine: engines to check besides DuckDB: "spark", or a URL such as postgresql://user@host/database, in which a
            schema is made and dropped again.
        progress: a function that is called with the share that is done, 0 to 1, and the name of the current check.
    """
    for name in only:
        if name not in CHECKS:
            raise InvalidParameter(name, "check", f"one of {', '.join(CHECKS)}")
    chosen = [name for name in CHECKS if not only or name in only]
    total, done, verdicts = sum(CHECKS[name].seconds for name in chosen), 0, []
    named = [engine] if isinstance(engine, str) else engine
    if named and not any(CHECKS[name].engines for name in chosen):
        using = ", ".join(name for name, entry in CHECKS.items() if entry.engines)
        advice = f"Leave it out, or run one of {using}."
        raise UselessParameter("engine", "none of these checks looks at engines", advice)
    with engines(named) as at_hand:
        for name in chosen:
            tell = partial(_tell, progress, name, done, total)
            verdicts.append(_run(name, deep, at_hand, stop, tell))
            done += CHECKS[name].seconds
            if stop and not verdicts[-1].passed:
                break
        date = datetime.now(UTC).isoformat(timespec="seconds")
        return Audit(tuple(verdicts), tuple(each.name for each in at_hand), deep, date)


def _build() -> str:
    """Return the beginning of a hash over all modules of the package, which identifies what was audited."""
    package, digest = Path(__file__).parent.parent, sha256()
    for file in sorted(package.rglob("*.py")):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _tell(progress: Progress | None, name: str, done: int, total: int, seconds: float) -> None:
    """Report the share of all checks that is done, this many seconds into the current one."""
    if progress is not None:
        progress((done + min(seconds, CHECKS[name].seconds)) / total, name)


def _run(name: str, deep: bool, engines: tuple[Engine, ...], stop: bool, tell: Callable[[float], None]) -> Verdict:
    """Run one check in a folder that is removed afterwards; a check that fails to run has failed."""
    start, found = monotonic(), []
    tell(0)
    with tempfile.TemporaryDirectory(prefix="lapwing-audit-", ignore_cleanup_errors=True) as folder:
        try:
            for finding in CHECKS[name].check(Room(Path(folder), deep, engines)):
                found.append(finding)
                tell(monotonic() - start)
                if stop and not finding.passed:
                    break
        except Exception as error:  # the tables are made up, so its text reveals nothing
            found.append(Finding("the check itself", False, f"{type(error).__name__}: {error}"))
    return Verdict(name, tuple(found), monotonic() - start)
