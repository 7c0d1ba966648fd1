"""How many rows people have → SQL: for each bin of numbers of rows, how many people are in it.

Every person with a row that counts is in exactly one bin, by the number of that person's rows alone.  What the source
declares as rows_per_person is not read: it is what is looked for (claim K5, ``release/rows_per_person``).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..question.query import Condition
from ..question.schema import Schema
from .dialect import DUCKDB, Dialect
from .write_sql import Lowered, kept


def lower_row_counts(schema: Schema, where: Condition | None, borders: Sequence[int], to: Dialect = DUCKDB) -> Lowered:
    """Return the SQL that counts people by bin: bin i has those with at most ``borders[i]`` rows, the last has more."""
    columns, lines = kept(schema, None, where, to)
    cases = " ".join(f"WHEN c <= {border} THEN {i}" for i, border in enumerate(borders))
    lines += [
        "people AS (SELECT COUNT(*) AS c FROM kept GROUP BY person),",
        f"placed AS (SELECT CASE {cases} ELSE {len(borders)} END AS bin FROM people)",
        "SELECT bin, COUNT(*) AS people FROM placed GROUP BY bin",
    ]
    return Lowered("\n".join(lines), (), columns, ())
