"""What differs between engines in the SQL, in one small table; ``write_sql`` and ``keys`` write everything else once.

The engines of ``RUN`` are run by the tests on real servers, and give the same integers.  For the others the SQL is
written and checked as text, and contains a comment that it was not run here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ..errors import InvalidParameter
from ..question.codes import Kind
from ..question.query import Value, literal

_FINITE = "{x} BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308"
"""False for NaN and infinity, unless an optimizer believes statistics that leave NaN out, as DuckDB's does."""


@dataclass(frozen=True)
class Dialect:
    """One engine's SQL.

    Args:
        name: the engine.
        types: the types of cells by what columns are declared as.
        typed: how a cell of the table gets its type; values that do not have it become NULL.
        finite: a test that is false for NaN and infinity.
        divided: the quotient of two positive integers, rounded down.
        integer: the type of an index of fewer than ``bits`` bits, whose sums do not overflow.
        big: the type of larger ones, and of counts.
        bits: see ``integer``.
        quote: the character around a name.
        weights: how a row gets the number of its person's rows: by a join with a table of people, or by a window.
        tables: how several tables are summed: one by one from rows that are kept, or together by GROUPING SETS.
        limb: how many bits of an integer are summed at once, where a sum of large integers could overflow; 0 for all.
        exact: the type in which sums are multiplied and added; empty if their own is wide enough.
        text: how texts are quoted: by doubling quotes, or with backslashes, which settings may change: then a text
            that needs one is written by its bytes, as is one with $, which may stand for a variable.
        careful: whether an operation on floats fails when its result is too small for one.
        prepared: whether ``source`` has the person and the cells under our names, of their types, from the engine.
        suffix: what makes a literal a double, where a setting could change its type.
        days: the number of days of a date after 1970-01-01.
        day: the date that is so many days after it.
        barrier: what keeps a query from being copied into the one around it.
        ending: what ends a query.
        note: what to know before it is run.
    """

    name: str
    types: Mapping[Kind, str]
    typed: str
    divided: str
    integer: str
    big: str
    bits: int = 31
    finite: str = _FINITE
    quote: str = '"'
    weights: Literal["join", "window"] = "window"
    tables: Literal["union", "sets"] = "sets"
    limb: int = 0
    exact: str = ""
    text: str = ""
    careful: bool = False
    prepared: bool = False
    suffix: str = ""
    days: str = "{d} - DATE '1970-01-01'"
    day: str = "(DATE '1970-01-01' + CAST({n} AS INTEGER))"
    barrier: str = ""
    ending: str = ""
    note: str = ""

    @property
    def remark(self) -> str:
        """A comment that says so, if the SQL is written but was not run here."""
        target = f"{self.name} and checked as text alone{self.note and f'; {self.note}'}"
        return "" if self.name in RUN else f"-- not run here: written for {target}\n"

    def quoted(self, name: str) -> str:
        """Return a name as this engine's SQL writes it."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def literal(self, value: Value | None) -> str:
        """Return a value as this engine's SQL writes it; numbers are of type double."""
        if isinstance(value, str) and self.text and not set("'\\$").isdisjoint(value):
            return self.text.format(hex=value.encode().hex())
        return literal(value, self.double)

    def double(self, value: Fraction) -> str:
        """Return a number as a literal of type double."""
        text = repr(float(value))
        return f"{text if 'e' in text else f'{text}e0'}{self.suffix}"


def _types(text: str, number: str, date: str, boolean: str) -> dict[Kind, str]:
    return {"text": text, "number": number, "integer": number, "date": date, "boolean": boolean}


DUCKDB = Dialect(
    "duckdb",
    _types("VARCHAR", "DOUBLE", "DATE", "BOOLEAN"),
    typed="TRY_CAST({x} AS {type})",
    divided="{a} // {b}",
    integer="INTEGER",
    big="BIGINT",
    finite="isfinite({x})",
    weights="join",
    tables="union",
    prepared=True,
)
POSTGRES = Dialect(
    "postgres",
    _types("TEXT", "DOUBLE PRECISION", "DATE", "BOOLEAN"),
    typed="CAST({x} AS {type})",
    divided="{a} / {b}",
    integer="INTEGER",
    big="BIGINT",
    bits=21,
    tables="union",
    exact="NUMERIC",
    barrier=" OFFSET 0",
    careful=True,
    prepared=True,
)
SPARK = Dialect(
    "spark",
    _types("STRING", "DOUBLE", "DATE", "BOOLEAN"),
    typed="TRY_CAST({x} AS {type})",
    divided="{a} DIV {b}",
    integer="INT",
    big="BIGINT",
    finite=_FINITE.replace("e308", "e308D"),
    quote="`",
    limb=21,
    exact="DECIMAL(38, 0)",
    prepared=True,
    suffix="D",
    days="DATEDIFF({d}, DATE '1970-01-01')",
    day="DATE_ADD(DATE '1970-01-01', CAST({n} AS INT))",
    text="decode(unhex('{hex}'), 'UTF-8')",
)
_BIGQUERY = Dialect(
    "bigquery",
    _types("STRING", "FLOAT64", "DATE", "BOOL"),
    typed="SAFE_CAST({x} AS {type})",
    divided="DIV({a}, {b})",
    integer="INT64",
    big="INT64",
    quote="`",
    limb=21,
    exact="BIGNUMERIC",
    text="SAFE_CONVERT_BYTES_TO_STRING(FROM_HEX('{hex}'))",
    days="DATE_DIFF({d}, DATE '1970-01-01', DAY)",
    day="DATE_ADD(DATE '1970-01-01', INTERVAL {n} DAY)",
)
_SNOWFLAKE = Dialect(
    "snowflake",
    _types("VARCHAR", "DOUBLE", "DATE", "BOOLEAN"),
    typed="CAST({x} AS {type})",
    divided="({a} - MOD({a}, {b})) / {b}",  # a plain quotient is rounded to some decimals, and may be rounded up
    integer="NUMBER(38, 0)",
    big="NUMBER(38, 0)",
    text="HEX_DECODE_STRING('{hex}')",
    note="columns must have the declared types: TRY_CAST takes texts alone",
    days="DATEDIFF(day, DATE '1970-01-01', {d})",
    day="DATEADD(day, {n}, DATE '1970-01-01')",
)
_TRINO = Dialect(
    "trino",
    _types("VARCHAR", "DOUBLE", "DATE", "BOOLEAN"),
    typed="TRY_CAST({x} AS {type})",
    divided="{a} / {b}",
    integer="BIGINT",
    big="BIGINT",
    limb=21,
    exact="DECIMAL(38, 0)",
    days="date_diff('day', DATE '1970-01-01', {d})",
    day="date_add('day', {n}, DATE '1970-01-01')",
)
_CLICKHOUSE = Dialect(
    "clickhouse",
    _types("String", "Float64", "Date32", "Bool"),
    typed="accurateCastOrNull({x}, '{type}')",
    divided="intDiv({a}, {b})",
    integer="Nullable(Int64)",
    big="Nullable(Int64)",
    limb=21,
    exact="Nullable(Int256)",
    text="unhex('{hex}')",
    ending="\nSETTINGS join_use_nulls = 1",
    days="dateDiff('day', toDate32('1970-01-01'), {d})",
    day="addDays(toDate32('1970-01-01'), {n})",
)

RUN = {each.name: each for each in (DUCKDB, POSTGRES, SPARK)}
WRITTEN = {each.name: each for each in (_BIGQUERY, _SNOWFLAKE, _TRINO, _CLICKHOUSE)}


def dialect(name: str) -> Dialect:
    """Return the dialect of an engine by its name."""
    known = {**RUN, **WRITTEN}
    if name not in known:
        raise InvalidParameter(name, "engine", f"one of {', '.join(known)}")
    return known[name]
