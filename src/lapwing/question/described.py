"""What a user declares → the schema of a source: its columns, and those that are computed from them."""

from __future__ import annotations

from collections.abc import Mapping

from .derivation import Derivation, with_computed
from .file import File
from .noise_levels import NoiseLevels
from .schema import Column, Schema, make_schema
from .within import with_parents


def described_schema(
    name: str,
    columns: Mapping[str, Column | Derivation | str],
    person: str | None,
    rows_per_person: object,
    neighbors: object,
    version: object,
    every_row_counts: bool,
    file: File,
    noise_levels: NoiseLevels,
) -> Schema:
    """Return the schema, and in it the columns that are computed from others."""
    computed, others = {}, columns
    if isinstance(columns, Mapping):
        computed = {key: each for key, each in columns.items() if isinstance(each, Derivation)}
        others = {key: each for key, each in columns.items() if key not in computed}
    made = make_schema(name, others, person, rows_per_person, neighbors, version, every_row_counts, file, noise_levels)  # type: ignore[arg-type]
    return with_computed(with_parents(made), computed)
