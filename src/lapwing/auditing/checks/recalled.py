"""What is recorded means what it meant: an answer is read back as it was asked, or not at all (claim L2).

The questions are those of ``identity``.  Each answer is recorded once.  Then one field of the source is changed, as an
owner changes it in the source file, and the answer is read back.  That is refused; or what is shown is the question
that was recorded, with the same numbers and bars.
"""

from __future__ import annotations

from typing import Any

from ...errors import LapwingError
from ...release.pipeline import question
from ...release.recall import recall
from ...release.result import Release
from ..finding import Finding, all_right
from ..room import Room
from ..tools.answers import Made, by_statistic, released
from ..tools.asker import Asker, new_asker
from ..tools.fields import AskedQuestion, questions
from ..tools.injecting import Silent, wired

_SHOWN = ("labels", "unit", "title")
"""Fields of a column that only say how it is shown: a change of them refuses nothing."""


def recalled(room: Room) -> Finding:
    """Read answers back under sources that differ in one field."""
    pairs, wrong, refused = _pairs(room.deep), [], 0
    with new_asker(room) as asker, wired(Silent()):
        for first, other in pairs:
            made = asker.add(first)
            fault = f"{first.what} is refused" if made is None else _read_back(asker, made, other)
            refused += fault == ""
            wrong += [f"{other.what}: {fault}"] if fault else []
    return Finding(
        "L2: an answer is read back as it was asked, or refused, whatever field of the source was changed",
        not wrong and len(pairs) // 2 < refused < len(pairs),
        f"{all_right(wrong, len(pairs))}; {refused} are refused",
    )


def _pairs(deep: bool) -> list[tuple[AskedQuestion, AskedQuestion]]:
    """Return questions, and each with one field of the source changed: to one other value, if not deep, or to all."""
    asked = {each.what: each for each in questions()}
    changed = [each for each in asked.values() if _differs_in_source(each, asked.get(each.base))]
    if not deep:
        changed = list({(each.base, each.parameter): each for each in reversed(changed)}.values())[::-1]
    return [(asked[each.base], each) for each in changed]


def _differs_in_source(one: AskedQuestion, base: AskedQuestion | None) -> bool:
    """Return whether a question differs from its base in how the source is described, and in nothing else."""
    if base is None or one.described == base.described:
        return False
    return (one.call, one.args, one.options) == (base.call, base.args, base.options)


def _read_back(asker: Asker, made: Made, other: AskedQuestion) -> str | None:
    """Read an answer back under another source: return what is wrong, nothing ("") if it is refused, None if shown."""
    try:
        shown = recall(asker.source(other, asker.room.path("ledger")).schema, asker.opened, made.entry)
    except LapwingError as error:
        return f"it is refused: {error}" if other.parameter.partition(" of ")[0] in _SHOWN else ""
    entry = asker.opened.entry(made.entry)
    if shown is None or entry is None or _question(shown) != entry.question:
        return "what is shown is not the question that was recorded"
    return None if by_statistic(shown) == by_statistic(made) else "its numbers are others"


def _question(made: Made) -> Any:
    """Return the question that an answer says it answers."""
    plan = released(made).plan
    return question(plan) if isinstance(released(made), Release) else plan.question()
