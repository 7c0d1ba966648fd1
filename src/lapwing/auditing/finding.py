"""The results of a check, as frozen values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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


class NoSuchPart(Exception):
    """The check has no part of this name; those that it has."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(", ".join(names))
        self.names = tuple(names)


def parts(room: Room, **named: Callable[[], Finding | Iterable[Finding]]) -> Iterator[Finding]:
    """Run the parts of a check one after the other, or only the one that the room names; none needs another."""
    if room.part and room.part not in named:
        raise NoSuchPart(list(named))
    for name, run in named.items():
        if room.part in ("", name):
            found = run()
            yield from [found] if isinstance(found, Finding) else found


def all_right(wrong: Sequence[object], number: int) -> str:
    """Return how many faults were found in so many cases, where none may be, with the first of them."""
    return f"{len(wrong):,} faults were found in {number:,} cases, 0 are allowed{first_of(wrong)}"


def first_of(wrong: Sequence[object]) -> str:
    """Return the first of some faults, for the end of a sentence; nothing if there is none."""
    return f": {wrong[0]}" if wrong else ""
