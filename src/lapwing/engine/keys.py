"""The keys that occur → SQL: for each, how many people have it.

Claim K3 (keys of one person).  Each person counts for at most l different keys, and for each by exactly 1, whatever the
rows.  Which l they are follows from that person's rows alone, so nobody else's counts move.

Without a person column every row is a person, with one key.  A key is missing, by a public rule, when its cell is
NULL, no value of the declared type, or a declared code for missing, is a text of more than 200 characters or with a
control character, a number that is not whole or above 2^53, or a date before the year 1 or after 9999.
Proof: docs/explanation/discover.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..question.codes import Kind
from ..question.query import Condition
from ..question.schema import Schema
from .dialect import DUCKDB, POSTGRES, SPARK, Dialect
from .write_sql import kept

LONGEST_KEY = 200

_LONG = f"length(cell) > {LONGEST_KEY}"
_CONTROL = r"[\p{Cc}\p{Zl}\p{Zp}]"
_UNFIT = {
    DUCKDB.name: rf"{_LONG} OR regexp_matches(cell, '{_CONTROL}')",
    POSTGRES.name: rf"{_LONG} OR cell ~ '[\x01-\x1f\x7f-\x9f\u2028\u2029]'",
    SPARK.name: f"{_LONG} OR NOT is_valid_utf8(cell) OR cell RLIKE {SPARK.literal(_CONTROL)}",
}
"""The texts that are not keys: long ones, and those with control characters or bytes that are not UTF-8."""

_TOLD = "CAST(person AS VARCHAR)"
_DIGITS = "^[-+]?[0-9]{1,27}([.]0*)?$"
_NUMBER = {
    DUCKDB.name: f"""CASE WHEN starts_with({_TOLD}, chr(1) || 'number ')
      THEN TRY_CAST(split_part(substr({_TOLD}, 9), '/', 1) AS DOUBLE)
      / NULLIF(TRY_CAST(split_part({_TOLD}, '/', 2) AS DOUBLE), 0)
      WHEN typeof(person) <> 'VARCHAR' OR regexp_matches({_TOLD}, '{_DIGITS}') THEN TRY_CAST({_TOLD} AS DOUBLE) END""",
    POSTGRES.name: f"""CASE WHEN octet_length(CAST(person AS TEXT)) < 1000 AND CAST(person AS TEXT) ~ '{_DIGITS}'
      THEN CAST(CAST(person AS TEXT) AS DOUBLE PRECISION) END""",
    SPARK.name: f"""CASE WHEN typeof(person) IN ('float', 'double') THEN TRY_CAST(person AS DOUBLE)
      WHEN CAST(person AS STRING) RLIKE '{_DIGITS}'
      THEN TRY_CAST(CAST(person AS STRING) AS DOUBLE) END""",
}
"""A person as a number, in every type the column may have: 1, 1.0 and a Python object of that value are the same."""

_HALF, _MOST = Fraction(2**32), Fraction(10**27)


@dataclass(frozen=True)
class LoweredKeys:
    """The SQL that counts people by key, and the columns it reads."""

    sql: str
    columns: tuple[str, ...]


def lower_keys(
    schema: Schema, column: str, where: Condition | None, keys_per_person: int, to: Dialect = DUCKDB
) -> LoweredKeys:
    """Return the SQL; with people, it takes the first l keys of each person, ordered by a hash of person and key.

    The hash gives every person a different order: one order for all would hide the keys at its end.
    """
    columns, lines = kept(schema, column, where, to)
    key = _key(schema.columns[column].kind, to)
    if schema.person is None:
        lines.append(f"had AS (SELECT {key} AS key FROM kept)")
        lines.append("SELECT key, COUNT(*) AS people FROM had WHERE key IS NOT NULL GROUP BY key")
        return LoweredKeys("\n".join(lines), columns)
    text = to.types["text"]
    lines += [
        f"had AS (SELECT DISTINCT person, {key} AS key FROM kept),",
        f"numbered AS (SELECT person, key, {_NUMBER[to.name]} AS v FROM had WHERE key IS NOT NULL),",
        f"halved AS (SELECT person, key, v, CASE WHEN abs(v) < {to.double(_MOST)}",
        f"  THEN FLOOR(v / {to.double(_HALF)}) END AS h FROM numbered),",
        f"named AS (SELECT person, key, {_who(to)} AS who FROM halved),",
        "placed AS (SELECT key, ROW_NUMBER() OVER (PARTITION BY person",
        f"  ORDER BY md5(who || ' ' || CAST(key AS {text})), key) AS place FROM named)",
        f"SELECT key, COUNT(*) AS people FROM placed WHERE place <= {keys_per_person} GROUP BY key",
    ]
    return LoweredKeys("\n".join(lines), columns)


def _key(kind: Kind, to: Dialect) -> str:
    """Return the key of a cell, NULL if it has none."""
    if kind == "text":
        return f"CASE WHEN NOT ({_UNFIT[to.name]}) THEN cell END"
    if kind == "integer":
        whole = f"CASE WHEN cell = FLOOR(cell) THEN CAST(cell AS {to.big}) END"
        return f"CASE WHEN abs(cell) <= {to.double(Fraction(2**53))} THEN {whole} END"
    if kind == "date":
        return "CASE WHEN cell BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN cell END"
    return "cell"


def _who(to: Dialect) -> str:
    """Return a person as text: a whole number in two halves, which all engines write alike, others as they are."""
    text, low = to.types["text"], f"v - h * {to.double(_HALF)}"
    halves = " || ' ' || ".join(f"CAST(CAST({half} AS {to.big}) AS {text})" for half in ("h", low))
    return f"COALESCE(CASE WHEN {low} = FLOOR({low}) THEN {halves} END, CAST(v AS {text}), CAST(person AS {text}))"
