"""The results of a check, as frozen values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from .room import Room

ALPHA = 1e-9
"""The probability with which a correct build fails one statistical finding."""


@dataclass(frozen=True)
class Finding:
    """One result of a check: what was checked, whether it is as promised, and the numbers that show it.

    ``false_alarm`` is the probability with which a correct build fails here: 0 for exact checks.
    """

    what: str
    passed: bool
    told: str
    false_alarm: float = 0.0


class Check(Protocol):
    """Checks one promise, in its own workspace, and yields findings one by one."""

    def __call__(self, room: Room) -> Iterator[Finding]: ...


def all_right(wrong: Sequence[object], number: int) -> str:
    """Return how many of so many cases are wrong, where none may be, with the first of them."""
    return f"{len(wrong)} of {number:,} are wrong, 0 are allowed{first_of(wrong)}"


def first_of(wrong: Sequence[object]) -> str:
    """Return the first of some faults, for the end of a sentence; nothing if there is none."""
    return f": {wrong[0]}" if wrong else ""
