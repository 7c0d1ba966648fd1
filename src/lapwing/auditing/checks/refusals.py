"""What cannot be answered is refused, in our words and before anything is charged; what can be is accepted.

The parts have rules, each with calls that keep it and calls that break it, and state what an accepted call means.  They
are exact and raise no false alarms.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import Finding, parts
from ..room import Room
from .declarations import declarations
from .phrases import phrases
from .questions import questions


def refusals(room: Room) -> Iterator[Finding]:
    """Check declarations and parameters, questions in SQL, and questions made in Python or read from JSON."""
    yield from parts(
        room,
        declarations=lambda: declarations(room),
        questions=lambda: questions(room),
        phrases=lambda: phrases(room),
    )
