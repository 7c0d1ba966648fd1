"""What a declaration may say, what it then means, and what it must not say.

Each call stands beside the value that it must return, written down field by field, or the words in which it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from ... import exact, sensitivity
from ...measure import cells
from ...question import bins, codes, derivation, described, file, join, labels, quality, schema, schema_json
from ..finding import Finding
from ..room import Room
from ..tools.meaning import meanings
from .declared_columns import columns
from .declared_expressions import expressions
from .declared_files import files
from .declared_joins import joins
from .declared_schemas import schemas
from .sought import sought
from .sought_bounds import sought_bounds
from .numbers import numbers, packing, sensitivities


def declarations(room: Room) -> Iterator[Finding]:
    """Check numbers, columns, files."""
    families = {
        "numbers": numbers(),
        "sensitivities": sensitivities(),
        "recorded integers": packing(),
        "declarations of columns": columns(),
        "declarations of files": files(),
        "declarations of tables": schemas(),
        "computed columns": expressions(),
        "joins": joins(),
        "searches for keys and rows per person": sought(),
        "searches for bounds": sought_bounds(room),
    }
    yield from meanings(families, _MODULES, _NEVER)


_MODULES = (
    bins, cells, codes, derivation, described, exact, file, join, labels, quality, schema, schema_json, sensitivity,
)  # fmt: skip
_NEVER = ()
"""Refusals that no declaration reaches."""
