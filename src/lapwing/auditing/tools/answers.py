"""What an answer says, for comparing it with another answer to the same question."""

from __future__ import annotations

from typing import Any

from ...release.bounds import Bounds
from ...release.result import Release

Made = Any
"""A release, discovered keys, bounds or rows per person."""


def released(made: Made) -> Any:
    """Return what the ledger recorded: for bounds, the release that they are read from."""
    return made.release if isinstance(made, Bounds) else made


def told(made: Made) -> dict[str, Any]:
    """Return everything that an answer says, besides when it was recorded and what is left."""
    passing = ("entry", "repeated", "recorded_at", "modified_at", "remaining", "remaining_delta")
    kept = {key: each for key, each in made.to_dict().items() if key not in passing}
    named = ("names", "order", "titles", "views")  # as they were given when it was recorded
    return {**kept, "answer": {key: each for key, each in released(made).answer.items() if key not in named}}


def by_statistic(made: Made) -> Any:
    """Return the numbers of an answer by what they are, not by their names or places."""
    made = released(made)
    if not isinstance(made, Release):
        return told(made)
    columns = {each["name"]: each for each in made.columns}
    numbers = {}
    for one in made.plan.query.statistics:
        estimate = made.estimates[str(one.name)]
        numbers[one.text] = columns[one.name]["scale"], [each.tolist() for each in estimate]
    return made.answer, made.group_keys, numbers
