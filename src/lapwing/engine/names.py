"""Which column of a table a declared name means: one rule for files, frames, relations and servers.

A name matches exactly.  It is refused if something between the table and Lapwing could confuse it with another column:
engines ignore case, file systems and editors change the Unicode form, and DuckDB renames a second ``id`` to ``id_1``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from ..errors import InvalidSource

_NUMBERED = re.compile(r"_\d+$")


def places(source: str, wanted: Sequence[str], names: Sequence[object]) -> list[int | None]:
    """Return the positions of columns among the raw names of a table, None if it has no such column.

    Refuse a name that could be confused with another.
    """
    known = {name: at for at, name in enumerate(names) if isinstance(name, str)}
    times = Counter(map(folded, (name for name in names if isinstance(name, str))))
    for name in wanted:
        form = folded(name)
        if name in known and (times[form] > 1 or any(times[stem] > 1 for stem in _stems(form))):
            raise InvalidSource(
                source,
                f'has a table in which the column "{name}" could be taken for another: names that are read must differ '
                "in more than case, Unicode form, or a number that is added at their end",
                "Rename one of the columns.",
            )
    return [known.get(name) for name in wanted]


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
