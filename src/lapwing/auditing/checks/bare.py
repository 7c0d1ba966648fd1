"""Values that the bare mechanism refuses: no error, log or output of a command shows them (T24).

Values are private until noise is added to them, also when they are mistyped, of another type, too large or too many.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ...errors import RequestError
from ...noise.mechanism import LaplaceMechanism, laplace, randomized_response
from ..finding import Finding
from ..room import Room
from ..tools import others
from ..tools.listening import DAY, NUMBER, WORD, Heard

_REFUSED: dict[str, Any] = {
    "a text": WORD,
    "a number as a text": f"{NUMBER}",
    "a fraction": Fraction(round(NUMBER * 1000), 1000),
    "a complex number": complex(NUMBER, 1),
    "a date": DAY,
    "a list with a text": [NUMBER, WORD],
    "a list of lists that do not fit": [[NUMBER], [NUMBER, NUMBER]],
    "a mapping": {WORD: NUMBER},
    "an array of objects": np.array([NUMBER, WORD], dtype=object),
    "an array that is not finite": np.array([NUMBER, np.nan]),
    "unsigned numbers": np.array([int(NUMBER)], dtype=np.uint64),
    "bytes": WORD.encode(),
}
_MISTYPED = (f"{NUMBER}x", f"{int(NUMBER)},5", f"€{NUMBER}", f"{int(NUMBER)}-", WORD, f"({NUMBER})", f"--{NUMBER}")


def bare(room: Room) -> Iterator[Finding]:
    """Give values to the functions and the command that add noise, which refuse them."""
    mechanism, heard, refused = LaplaceMechanism(1, 1), Heard(), 0
    for what, value in _REFUSED.items():
        for add in (
            partial(laplace, value, sensitivity=1, epsilon=1),
            partial(mechanism.release, value),
            partial(randomized_response, value, epsilon=1),
        ):
            try:
                add()
            except RequestError as error:  # what it shows, without the variables of the one who calls
                refused += 1
                heard.add(what, "".join(traceback.format_exception(error)), repr(error.__cause__), repr(vars(error)))
    due = 3 * len(_REFUSED)
    told = f"; {refused} of {due} values were refused"
    yield heard.finding("T24: values that the bare mechanism refuses are not shown", refused == due, told)
    yield _mistyped(room)


def _mistyped(room: Room) -> Finding:
    how = ["--sensitivity", "1", "--epsilon", "1"]
    lines = [["noise", "--format", form, *how, "--", "412", value] for form in ("table", "json") for value in _MISTYPED]
    statuses, printed = others.commands(lines, room.folder)
    heard = Heard()
    heard.add("what the commands printed", printed)
    refused = sum(status == 2 for status in statuses)
    told = f"; {refused} of {len(lines)} commands were refused"
    return heard.finding("T24: mistyped values are not echoed", refused == len(lines), told)
