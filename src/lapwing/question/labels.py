"""Labels, units and titles: how columns and their groups are shown.

They are presentation: no part of a question, and free to change.  They are printed in terminals, pages, charts and
spreadsheets, so only texts that are harmless in all of them are accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import ConflictingParameters, InvalidParameter, InvalidRequest

LONGEST = 200
_FORMULA = ("=", "+", "-", "@")
NAME = f"a printable text of at most {LONGEST} characters"
_TEXT = f"a printable text of 1 to {LONGEST} characters, without spaces at its ends"


def is_harmless(text: object) -> bool:
    """Return whether a text may be shown: printable, neither empty nor long, and no formula of a spreadsheet."""
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST or text != text.strip():
        return False
    return text.isprintable() and not text.startswith(_FORMULA)


def is_name(given: object) -> bool:
    """Return whether a number or key may be called this: printable and not long, since ledgers keep it for good."""
    return isinstance(given, str) and bool(given.strip()) and given.isprintable() and len(given) <= LONGEST


def shown_text(given: object, name: str) -> str | None:
    """Return a unit or a title, checked."""
    if given is None:
        return None
    if not is_harmless(given):
        raise InvalidParameter(given, name, f"{_TEXT}, that does not begin with = + - or @")
    return str(given)


def harmless(text: str) -> str:
    """Return a text of a file as a label or title may be: on one line, not too long, and no formula."""
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(printable.split()).lstrip("=+-@ ")[:150].rstrip()


def with_labels(given: Any, labels: object) -> tuple[Any, object]:
    """Return keys and labels; a mapping of keys has both."""
    if not isinstance(given, Mapping):
        return given, labels
    if labels is not None:
        raise ConflictingParameters("labels", "a mapping of keys", "The mapping has the labels.")
    return tuple(given), tuple(given.values())


def checked_labels(given: object, codes: Sequence[Any], other: str | None = None) -> tuple[str, ...] | None:
    """Return a label for each of the codes (keys, or names of bins), or refuse them for their first fault.

    A label is no code of another group, since one of the two would then be misread.
    """
    if given is None:
        return None
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InvalidParameter(given, "labels", 'a list of texts, such as ["men", "women"], one for each group')
    labels = tuple(given)
    if len(labels) != len(codes):
        raise _refused(f"{len(labels):,} labels for {len(codes):,} groups")
    taken = {str(code): place for place, code in enumerate(codes, 1)}
    places: dict[str, int] = {}
    for place, label in enumerate(labels, 1):
        if not is_harmless(label):
            long = isinstance(label, str) and len(label) > LONGEST
            what = f"a text of {len(label):,} characters, too many," if long else "something"
            raise _refused(f"{what} in place {place} that cannot be shown")
        if label in places:
            raise _refused(f"the same label in places {places[label]} and {place}")
        if label == other:
            raise _refused(f"the name of all other keys in place {place}")
        if taken.get(label, place) != place:
            raise _refused(f"the code of another group in place {place}")
        places[label] = place
    return labels


def _refused(fault: str) -> InvalidRequest:
    return InvalidRequest(
        f"The list of labels has {fault}",
        f"Give each group a different label: {_TEXT}, that does not begin with = + - or @.",
    )
