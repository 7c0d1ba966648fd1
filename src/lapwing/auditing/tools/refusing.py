"""What must be refused, beside what must not: pairs of calls that differ in the one thing that a rule is about.

A rule without a pair is found too: every ``raise`` of the modules that refuse must run, except those that are named
with a reason.  So a guard that is dropped or weakened, and a new one that nobody tried, are findings that fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ...errors import LapwingError
from ..finding import Finding, all_right, first_of
from .ran import Ran

Call = Callable[[], Any]


@dataclass(frozen=True)
class Rule:
    """A rule in words, calls that keep it, which are accepted, and calls that break it, which are refused."""

    what: str
    right: Sequence[Call]
    wrong: Sequence[Call]


def refusals(
    about: str, rules: Sequence[Rule], modules: Sequence[ModuleType], never: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield whether calls are refused as the rules say, and whether each refusal of the modules was seen.

    ``never`` has the ``raise`` statements that these rules do not reach, by their first line, and why.
    """
    faults: list[str] = []
    with Ran(*modules) as ran:
        for rule in rules:
            right = [
                f"{rule.what}: right call {i}: {said}" for i, call in enumerate(rule.right) if (said := _error(call))
            ]
            wrong = [
                f"{rule.what}: wrong call {i}: {said}" for i, call in enumerate(rule.wrong) if (said := _answer(call))
            ]
            faults += right + wrong
    number = sum(len(rule.right) + len(rule.wrong) for rule in rules)
    yield Finding(f"T16: {about} are refused by the rules, and only by them", not faults, all_right(faults, number))
    missed = [f"{name}, line {line}" for name, (_, lines) in ran.missed().items() for line in lines]
    unseen = [each for each in missed if (text := each.partition(": ")[2]).startswith("raise ") and text not in never]
    told = f"{len(unseen)} are not, 0 may be{first_of(unseen)}"
    yield Finding(f"T16: each refusal of {about} is tried", not unseen, told)


def _error(call: Call) -> str:
    """Return how a call fails that is right, nothing if it is accepted."""
    try:
        call()
    except Exception as error:  # made up, so its text reveals nothing
        return f"{type(error).__name__}: {error}"
    return ""


def _answer(call: Call) -> str:
    """Return how a call that is wrong is not refused in our words, nothing if it is."""
    try:
        made = call()
    except LapwingError:
        return ""
    except Exception as error:
        return f"fails with {type(error).__name__}: {error}"
    return f"accepted: {made!r:.80}"
