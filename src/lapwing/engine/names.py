"""Which column of a table a declared name means: one rule for files, frames, relations and servers.

A name matches exactly.  It is refused where something between the table and us could take another column for it:
engines ignore case, file systems and editors change the Unicode form, and DuckDB renames a second ``id`` to ``id_1``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from ..errors import InvalidSource

_NUMBERED = re.compile(r"_\d+$")


def place(source: str, name: str, names: Sequence[object]) -> int | None:
    """Return where the column stands among the raw names of a table, or None; refuse a name that is not clear."""
    if name not in names:
        return None
    own, others = folded(name), _counted(tuple(each for each in names if isinstance(each, str)))
    if others[own] > 1 or any(others[stem] > 1 for stem in _stems(own)):
        raise InvalidSource(
            source,
            f'has a table in which the column "{name}" could be taken for another: names that are read must differ in '
            "more than case, Unicode form, or a number that is added at their end",
            "Rename one of the columns.",
        )
    return list(names).index(name)


@lru_cache(maxsize=4)
def _counted(names: tuple[str, ...]) -> Counter[str]:
    """Return how many columns have each folded name: counted once for a table, of which many columns may be read."""
    return Counter(map(folded, names))


def folded(name: str) -> str:
    """Return what all spellings of a name have in common."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _stems(name: str) -> list[str]:
    """Return the names from which an engine could make this one, by numbers at the end, when it renames."""
    stems = []
    while _NUMBERED.search(name):
        name = _NUMBERED.sub("", name)
        stems.append(name)
    return stems
