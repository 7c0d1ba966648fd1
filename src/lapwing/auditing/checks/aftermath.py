"""What must be true after a failure: one charge at most, one answer, nothing private in the error, a sound ledger."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import LapwingError
from ...ledger.ledger import Ledger
from ..finding import Finding
from ..tools.listening import chain, overheard, sightings
from ..tools.pipelines import ANALYST, EPSILON


@dataclass(frozen=True)
class Outcome:
    """What a question returned, or raised, whether rows had been read by then, and what was said meanwhile.

    What is said is all that any logger logs at its lowest level, that is warned and that is printed.
    """

    answer: Any
    error: BaseException | None
    read: bool
    said: tuple[str, ...] = ()


def attempted(ask: Callable[[], Any], read: Callable[[], bool]) -> Outcome:
    """Return what happens."""
    answer, failed = None, None
    with overheard() as heard:
        try:
            answer = ask()
        except BaseException as error:
            failed = error
    return Outcome(answer, failed, read(), tuple(str(said) for _, said in heard.said))


def broken(
    outcome: Outcome,
    opened: Callable[[], Ledger],
    again: Callable[[], Any],
    raised: type[BaseException],
    unrecorded: Any,
) -> str | None:
    """Return which promise does not hold after a failure, None if all hold.

    Args:
        outcome: what the question returned or raised.
        opened: opens its ledger anew.
        again: asks the same with other noise, and returns the answer.
        raised: the type of the error that was raised inside.
        unrecorded: the answer that it would have had, which must be seen only if it is recorded.
    """
    fresh = opened()
    charged, recorded = _charges(fresh)
    error = outcome.error
    if error is None and (charged != 1 or recorded != [outcome.answer]):
        return "an answer was shown that is not recorded"
    if error is not None and not isinstance(error, LapwingError) and type(error) is not raised:
        return f"a {type(error).__name__} was raised"
    if fresh.budget(ANALYST).spent != fresh.spent:
        return f"the analyst who asked has spent {float(fresh.budget(ANALYST).spent)} of {float(fresh.spent)}"
    if charged > 1 or fresh.spent != charged * EPSILON or (outcome.read and not charged):
        return (
            f"ε = {float(fresh.spent)} is charged in {charged} entries, {'' if outcome.read else 'at most '}0.5 is due"
        )
    secret = [] if recorded else _long_numbers(unrecorded)
    texts = {
        "the error shows": [] if error is None else list(chain(error)),
        "a log, a warning or what is printed shows": outcome.said,
        "a file that is left shows": _left(fresh) if secret else [],
    }
    for who, said in texts.items():
        seen = [found for text in said for found in (*sightings(text), *(each for each in secret if each in text))]
        if seen:
            return f"{who} {seen[0]!r}"
    answers = [again(), again()]
    charged, kept = _charges(fresh)
    if answers[0] != answers[1] or kept != answers[:1] or (recorded and kept != recorded):
        return "there are two answers for one charge"
    if charged != 1 or fresh.spent != fresh.budget(ANALYST).spent or fresh.spent != EPSILON or fresh.verify() != 4:
        return f"asked again, ε = {float(fresh.spent)} is charged in {charged} entries, 0.5 in 1 is due"
    return None


def _left(ledger: Ledger) -> list[str]:
    """Return the content of a ledger's file and of the files beside it that have its name, as text."""
    path = Path(ledger.where)
    return [each.read_bytes().decode("latin-1") for each in path.parent.glob(f"{path.name}*")]


def _charges(ledger: Ledger) -> tuple[int, list[Any]]:
    """Return how many charges a ledger has, and the recorded answers."""
    charges = [entry for entry in ledger.entries(answers=True) if entry.kind == "charge"]
    return len(charges), [entry.answer for entry in charges if entry.answered]


def _long_numbers(answer: Any) -> list[str]:
    """Return the integers of an answer that occur in a text only if they are shown."""
    return re.findall(r"\d{7,}", json.dumps(answer))


@dataclass
class Tries:
    """How many failures were tried, how many were reached, and the first that broke a promise."""

    tried: int = 0
    reached: int = 0
    wrong: int = 0
    first: str = ""

    def add(self, where: object, reached: bool, fault: str | None) -> None:
        """Count one failure."""
        self.tried += 1
        self.reached += reached
        if fault is not None:
            self.wrong += 1
            self.first = self.first or f"; first at {where}: {fault}"

    def finding(self, what: str) -> Finding:
        """Return what was found; most of the places must have been reached."""
        told = f"{self.wrong} of {self.tried} failures broke a promise, 0 may; {self.reached} were reached{self.first}."
        return Finding(what, not self.wrong and 2 * self.reached > self.tried > 10, told)


def judged(judge: Callable[[], str | None]) -> str | None:
    """Return what does not hold; an error while it is looked at is a fault too."""
    try:
        return judge()
    except LapwingError as error:
        return f"afterwards: {error}"
    except Exception as error:
        return f"afterwards {type(error).__name__}: {error}"
