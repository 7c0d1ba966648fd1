"""What a declaration may say, what it then means, and what it must not say.

Each call stands beside the value that it must return, written down field by field, or the words in which it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from ... import exact, sensitivity, source
from ...measure import cells
from ...question import (
    bins,
    codes,
    derivation,
    described,
    file,
    join,
    labels,
    noise_levels,
    schema,
    schema_json,
    within,
)
from ...release import bounds, discover, rows_per_person
from ..finding import Finding
from ..room import Room
from ..tools.meaning import meanings
from .declared_columns import columns
from .declared_expressions import expressions
from .declared_files import files
from .declared_joins import joins
from .declared_levels import columns_within
from .declared_schemas import schemas
from .declared_sources import sources
from .numbers import numbers, packing, sensitivities
from .sought import sought
from .sought_bounds import sought_bounds


def declarations(room: Room) -> Iterator[Finding]:
    """Check numbers, columns, files, joins, computed columns, whole tables and sources, and what is looked for."""
    families = {
        "numbers": numbers(),
        "sensitivities": sensitivities(),
        "recorded integers": packing(),
        "declarations of columns": columns(),
        "declarations of files": files(),
        "declarations of tables": schemas(),
        "computed columns": expressions(),
        "joins": joins(),
        "columns within others": columns_within(),
        "searches for keys and rows per person": sought(room),
        "searches for bounds": sought_bounds(room),
        "sources": sources(room),
    }
    yield from meanings(families, _MODULES, _NEVER)


_MODULES = (
    bins, bounds, cells, codes, derivation, described, discover, exact, file, join, labels, noise_levels,
    rows_per_person, schema, schema_json, sensitivity, source, within,
)  # fmt: skip
_NEVER = ()
"""Refusals that no declaration reaches."""
