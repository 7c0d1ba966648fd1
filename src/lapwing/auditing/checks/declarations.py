"""What a declaration may say, what it then means, and what it must not say.

Each call stands beside the value that it must return, written down field by field, or the words in which it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from ... import exact, sensitivity
from ...measure import cells
from ...question import bins, codes, file, labels, quality
from ..finding import Finding
from ..room import Room
from ..tools.meaning import meanings
from .declared_columns import columns
from .declared_files import files
from .numbers import numbers, packing, sensitivities


def declarations(room: Room) -> Iterator[Finding]:
    """Check numbers, columns, files."""
    families = {
        "numbers": numbers(),
        "sensitivities": sensitivities(),
        "recorded integers": packing(),
        "declarations of columns": columns(),
        "declarations of files": files(),
    }
    yield from meanings(families, _MODULES, _NEVER)


_MODULES = (bins, cells, codes, exact, file, labels, quality, sensitivity)
_NEVER = ()
"""Refusals that no declaration reaches."""
