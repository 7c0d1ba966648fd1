"""What a call means: the value that it must return, or the words in which it must be refused.

The value is written down beside the call, and both are compared in value and in type, field by field.  A call that must
be refused raises an error of ours, whose text has the words that are expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

from ...errors import LapwingError
from ..finding import Finding, all_right, first_of
from .ran import Ran

Call = Callable[[], Any]

F = Fraction
"""A short name, since tables of cases have many."""


@dataclass(frozen=True)
class Denied:
    """That a call is refused, with these words in the text of its error."""

    words: str


@dataclass(frozen=True)
class Meaning:
    """A call, and what it must return, or ``Denied``."""

    call: Call
    meant: Any


Cases = Sequence[tuple[Call, Any]]
"""Calls, each with what it must return."""


def faults(cases: Cases) -> list[str]:
    """Return which of the calls mean something else, by their places."""
    said = ((place, fault(Meaning(call, meant))) for place, (call, meant) in enumerate(cases, 1))
    return [f"case {place}: {each}" for place, each in said if each]


def fault(case: Meaning) -> str:
    """Return how a call means something else; nothing if it means what it should."""
    meant = case.meant
    try:
        made = case.call()
    except LapwingError as error:
        if isinstance(meant, Denied) and meant.words in str(error):
            return ""
        return f"refused: {type(error).__name__}: {error}"
    except Exception as error:  # made up, so its text reveals nothing
        return f"fails with {type(error).__name__}: {error}"
    if isinstance(meant, Denied):
        return f"accepted: {made!r:.200}"
    if same(made, meant):
        return ""
    return f"is {made!r:.200}, and should be {meant!r:.200}"


def same(made: Any, meant: Any) -> bool:
    """Return whether two values are equal and of the same types, to the last field."""
    return type(made) is type(meant) and bool(made == meant) and repr(made) == repr(meant)


def meanings(
    families: Mapping[str, Mapping[str, Cases]], modules: Sequence[ModuleType], never: Sequence[str] = ()
) -> Iterator[Finding]:
    """Yield for each family of cases whether they mean what they should; then whether each refusal was tried.

    ``never`` has the ``raise`` statements of the modules that the calls do not reach, by their first line.
    """
    findings = []
    with Ran(*modules) as ran:
        for about, cases in families.items():
            wrong = [f"{what}, {each}" for what, some in cases.items() for each in faults(some)]
            told = "; ".join(wrong) + all_right(wrong, sum(map(len, cases.values())))
            findings.append(Finding(f"T16: {about} mean what they say, or are refused", not wrong, told))
    yield from findings
    missed = [f"{name}, line {line}" for name, (_, lines) in ran.missed(never).items() for line in lines]
    unseen = [each for each in missed if each.partition(": ")[2].startswith("raise ")]
    told = f"{len(unseen)} are not, 0 may be{first_of(unseen)}"
    yield Finding("T16: each refusal of these modules is tried", not unseen, told)
