"""From a cell of a table to a typed cell: the step before all others.

Claim E0 (cells).  A typed cell is a function of the cell and of the declaration of its column alone: not of other
rows, of the type that a library chose for the column because of them, of names, or of line breaks.  So is the person
of a row.

The value of a cell counts, not the type that holds it.  5, 5.0, 5+0j, a float32, a Decimal and a nullable 5 are one
number, and true is 1 wherever it is not declared as boolean, as it is once pandas adds a float to the column:

    declared as       a number v                        a truth value   a text               a moment
    number, integer   v, as a 64-bit float              1 or 0          the number it is     missing
    text              its digits, if it is whole and    1 or 0          itself               missing
                      below 2^53; otherwise missing
    boolean           v ≠ 0                             itself          the truth value or   missing
                                                                        number it is
    date              missing                           missing         the date it is       its date, in UTC if it
                                                                                             has a time zone

Everything else is missing: NULL, NaN, infinity, dates before the year 1 or after 9999, lists, bytes that are not UTF-8
(others are text).  A person is a text or a whole number.  From 2^53 on, pandas changes the digits of whole numbers as
soon as one cell of the column is empty: such a number has no text, and a person column with floats is refused.

Where the source says how its files are written (``question.file``), a text of ``missing`` is missing, as a person too;
a text spells a number with the declared decimal mark and groups of three digits, and a date in the declared pattern,
from its first character to its last.

This module has the rule as SQL of DuckDB for every type; ``frames`` has it for Python's objects, ``postgres`` and
``spark`` for the types there.  Proof: docs/explanation/reading.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar, get_args

from ..question.codes import Kind
from ..question.file import AS_USUAL, File
from ..question.query import literal

T = TypeVar("T")

EXACT = 2**53
"""Whole numbers below it are the same in every type of number."""

_SMALL = r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)|FLOAT|DOUBLE|DECIMAL\((\d|1[0-5]),\d+\)"
_LARGE = r"U?HUGEINT|DECIMAL\(\d+,\d+\)"
_TEXT = r"VARCHAR|UUID|JSON|ENUM\(.*\)"
_MOMENT = r"DATE|TIMESTAMP(_S|_MS)?|TIMESTAMP WITH TIME ZONE"
_FINE_MOMENT = r"TIMESTAMP_NS|TIMESTAMPTZ_NS"
"""DuckDB's own conversion does not turn every large number into the nearest float.  It turns moments with nanoseconds
shortly before midnight, before 1970, into the next day, and the largest into nothing."""

_DOUBLE = "CAST({x} AS DOUBLE)"
_VARCHAR = "CAST({x} AS VARCHAR)"
_NEAREST = f"CAST({_VARCHAR} AS DOUBLE)"
_DECODED = "TRY(decode({x}))"
_NANOSECONDS = 86_400 * 10**9
_AFTER_MIDNIGHT = f"((epoch_ns({{x}}) % {_NANOSECONDS}) + {_NANOSECONDS}) % {_NANOSECONDS}"
_DAY_OF_NS = f"TRY(DATE '1970-01-01' + CAST((epoch_ns({{x}}) - {_AFTER_MIDNIGHT}) // {_NANOSECONDS} AS INTEGER))"
_DAY = "CASE WHEN {day} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {day} END"
_TRUTH = "CASE WHEN isfinite({v}) THEN {v} <> 0 END"


def _day(x: str) -> str:
    return _DAY.format(day=f"TRY_CAST({x} AS DATE)")


def _read_number(v: str) -> dict[Kind, str]:
    """Return how a number is read as each kind, from the nearest float."""
    digits = f"CASE WHEN abs({v}) < {EXACT} AND {v} = floor({v}) THEN CAST(CAST({v} AS BIGINT) AS VARCHAR) END"
    return {"number": v, "integer": v, "text": digits, "boolean": _TRUTH.format(v=v)}


def _read_text(x: str, file: File = AS_USUAL) -> dict[Kind, str]:
    """Return how a text is read as each kind."""
    x = _present(x, file)
    number = _number(x, file)
    boolean = f"COALESCE(TRY_CAST({x} AS BOOLEAN), {_TRUTH.format(v=number)})"
    day = (
        _day(x)
        if file.dates is None
        else _day(f"CASE WHEN regexp_matches({x}, '[0-9]') THEN try_strptime({x}, {_fixed(file.dates)}) END")
    )
    return {"text": x, "number": number, "integer": number, "date": day, "boolean": boolean}


def _present(x: str, file: File) -> str:
    """Return a text, NULL if it is one of those that mean that there is no value."""
    if not file.missing:
        return x
    return f"CASE WHEN {x} NOT IN ({', '.join(map(_fixed, file.missing))}) THEN {x} END"


def _number(x: str, file: File) -> str:
    """Return the number that a text spells, with the declared marks and no others."""
    decimal, thousands = file.decimal or ".", file.thousands
    if decimal == "." and thousands is None:
        return f"TRY_CAST({x} AS DOUBLE)"
    whole, point = "[0-9]*", re.escape(decimal)
    digits = x
    if thousands is not None:
        whole = f"([0-9]*|[1-9][0-9]{{0,2}}({re.escape(thousands)}[0-9]{{3}})+)"
        digits = f"replace({digits}, {_fixed(thousands)}, '')"
    if decimal != ".":
        digits = f"replace({digits}, {_fixed(decimal)}, '.')"
    spelled = rf"\s*[-+]?{whole}({point}[0-9]*)?([eE][-+]?[0-9]+)?\s*"
    return f"CASE WHEN regexp_full_match({x}, {_fixed(spelled)}) THEN TRY_CAST({digits} AS DOUBLE) END"


def _fixed(text: str) -> str:
    """Return a text as SQL into which a cell is still to be put."""
    return literal(text).replace("{", "{{").replace("}", "}}")


_TEXTS = {"VARCHAR": "{x}", _TEXT: _VARCHAR, "BLOB": _DECODED}
"""The types of texts, and how a cell becomes one."""

_CELLS: Mapping[str, dict[Kind, str]] = {
    _SMALL: _read_number(_DOUBLE),
    _LARGE: _read_number(_NEAREST),
    "BOOLEAN": {**_read_number(_DOUBLE), "boolean": "{x}"},
    **{pattern: _read_text(text) for pattern, text in _TEXTS.items()},
    _MOMENT: {"date": _day("{x}")},
    _FINE_MOMENT: {"date": _day(_DAY_OF_NS)},
    '"NULL"': dict.fromkeys(get_args(Kind), "{x}"),
}
"""The first type that fits decides how a cell is read; a type has no values of the kinds that are not listed."""

MARK = "\1"
"""The prefix of a person who is not a text, in a column of Python objects (``frames``)."""

_UNMARKED = f"CASE WHEN NOT starts_with({{x}}, chr({ord(MARK)})) THEN {{x}} END"
_PEOPLE = {
    r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)": "{x}",
    r"DECIMAL\(\d+,\d+\)": "CASE WHEN {x} = floor({x}) THEN {x} END",
    "VARCHAR": _UNMARKED,
    _TEXT: _UNMARKED.format(x=_VARCHAR),
    '"NULL"': _VARCHAR,
}
_AS_NUMBER = f"chr({ord(MARK)}) || 'number ' || {{x}} || '/1'"
_LINKED = {
    **_PEOPLE,
    r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)": _AS_NUMBER.format(x=_VARCHAR),
    r"DECIMAL\(\d+,\d+\)": "CASE WHEN {x} = floor({x}) THEN "
    + _AS_NUMBER.format(x="CAST(CAST({x} AS HUGEINT) AS VARCHAR)")
    + " END",
}
_DIGITS = f"CASE WHEN regexp_full_match({{x}}, '0|-?[1-9][0-9]*') THEN {_AS_NUMBER} ELSE {_UNMARKED} END"
"""How the person of a row is read, by itself and where tables are joined.  A text with the mark is nobody, so that
texts and objects never look the same."""


def cell(type_name: str, kind: Kind, file: File = AS_USUAL) -> str | None:
    """Return the SQL that reads a cell ``{x}`` of this type as declared, None if no such cell has a value."""
    texts = {pattern: _read_text(text, file) for pattern, text in _TEXTS.items()} if file != AS_USUAL else {}
    how = _of_type(type_name, {**texts, **{pattern: how for pattern, how in _CELLS.items() if pattern not in texts}})
    return (how or {}).get(kind)


def given(type_name: str, file: File = AS_USUAL) -> str:
    """Return the SQL that says whether a cell ``{x}`` of this type holds anything.

    Blank texts, texts that mean missing, and NaN do not.
    """
    if type_name == "VARCHAR":
        known = "".join(f" AND {{x}} <> {_fixed(text)}" for text in file.missing)
        return f"COALESCE(trim({{x}}) <> ''{known}, FALSE)"
    return "({x} IS NOT NULL AND NOT isnan({x}))" if type_name in ("FLOAT", "DOUBLE") else "({x} IS NOT NULL)"


def person(type_name: str, file: File = AS_USUAL, *, linked: bool = False, digits: bool = False) -> str | None:
    """Return the SQL that reads the person ``{x}`` of a row, None if people could look the same in this type.

    If ``linked`` with other tables, a whole number is written as among objects, in all types alike; with ``digits``, a
    text of digits is that number.
    """
    sql = _DIGITS if digits else _of_type(type_name, _LINKED if linked else _PEOPLE)
    text = _of_type(type_name, _TEXTS)
    if sql is None or text is None or not file.missing:
        return sql
    return f"CASE WHEN {text} NOT IN ({', '.join(map(_fixed, file.missing))}) THEN {sql} END"


def _of_type(type_name: str, how: Mapping[str, T]) -> T | None:
    """Return what the first pattern that fits a type says."""
    return next((each for pattern, each in how.items() if re.fullmatch(pattern, type_name, re.DOTALL)), None)
