"""The keys that occur → SQL: for each, how many people have it.

Claim K3 (keys of one person).  Each person counts for at most l different keys, and for each by exactly 1, whatever the
rows.  Which l they are follows from that person's rows alone, so nobody else's counts move.

Without a person column every row is a person, with one key.  A key is missing, by a public rule, when its cell is NULL
or no value of the declared type, is a text of more than 200 characters or with a control character, a number that is
not whole or above 2^53, or a date before the year 1 or after 9999.  Proof: docs/explanation/discover.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..query import Condition
from ..schema import Kind, Schema
from .lowering import kept

LONGEST_KEY = 200

_KEYS: dict[Kind, str] = {
    "text": rf"CASE WHEN length(cell) <= {LONGEST_KEY} AND NOT regexp_matches(cell, '[\p{{Cc}}\p{{Zl}}\p{{Zp}}]') "
    "THEN cell END",
    "integer": f"CASE WHEN cell = floor(cell) AND abs(cell) <= {2**53}e0 THEN CAST(cell AS BIGINT) END",
    "date": "CASE WHEN cell BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN cell END",
    "boolean": "cell",
}


_NUMBER = """TRY_CAST(split_part(substr(CAST(person AS VARCHAR), 9), '/', 1) AS DOUBLE)
  / NULLIF(TRY_CAST(split_part(CAST(person AS VARCHAR), '/', 2) AS DOUBLE), 0)"""
_WHO = f"""COALESCE(CAST(CASE WHEN starts_with(CAST(person AS VARCHAR), chr(1) || 'number ') THEN {_NUMBER}
  ELSE TRY_CAST(person AS DOUBLE) END AS VARCHAR), CAST(person AS VARCHAR))"""
"""A person as text, the same whatever type others make the column have: 1, 1.0 and a Python object of that value."""


@dataclass(frozen=True)
class LoweredKeys:
    """The SQL that counts people by key, and the columns it reads."""

    sql: str
    columns: tuple[str, ...]


def lower_keys(schema: Schema, column: str, where: Condition | None, keys_per_person: int) -> LoweredKeys:
    """Return the SQL; with people, the first l keys of each in an order by a hash of person and key.

    The hash gives every person an order of their own: one order for all would hide the keys at its end.
    """
    columns, lines = kept(schema, column, where)
    key = _KEYS[schema.columns[column].kind]
    if schema.person is None:
        lines.append(f"had AS (SELECT {key} AS key FROM kept)")
        lines.append("SELECT key, COUNT(*) FROM had WHERE key IS NOT NULL GROUP BY key")
        return LoweredKeys("\n".join(lines), columns)
    lines += [
        f"had AS (SELECT DISTINCT person, {key} AS key FROM kept),",
        "placed AS (SELECT key, ROW_NUMBER() OVER (PARTITION BY person",
        "  ORDER BY md5(who || ' ' || CAST(key AS VARCHAR)), key) AS place",
        f"  FROM (SELECT *, {_WHO} AS who FROM had WHERE key IS NOT NULL))",
        f"SELECT key, COUNT(*) FROM placed WHERE place <= {keys_per_person} GROUP BY key",
    ]
    return LoweredKeys("\n".join(lines), columns)
