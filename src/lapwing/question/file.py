"""How a file is written: what is public about it beside its columns, so that no reader has to guess.

A description is part of the question: with another delimiter or encoding, the same bytes are other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..errors import ConflictingParameters, InvalidParameter, MissingParameter

ENCODINGS = ("utf-8", "latin-1", "windows-1252", "utf-16", "utf-16le", "utf-16be")
FORMATS = ("csv", "parquet", "jsonl", "excel", "sqlite", "duckdb", "arrow", "stata", "spss", "sas")

_MOST_NAMES = 100_000
_LONGEST_CODE = 200
_DATE_PARTS = "YymdHMSfbBj%"


@dataclass(frozen=True)
class File:
    """How the files of a table are written; None means as usual.  ``file`` makes one, checked."""

    format: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    names: tuple[str, ...] | None = None
    """The names of the columns, if the first line does not have them."""

    decimal: str | None = None
    thousands: str | None = None
    dates: str | None = None
    missing: tuple[str, ...] = ()
    part: str | None = None
    """The sheet or table that is meant, in a file that has several."""

    def describe(self) -> dict[str, Any]:
        """Return what is said about the files, for JSON; nothing if all is as usual."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: value for name, value in said.items() if value is not None and value != ()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


AS_USUAL = File()
"""Files of which nothing is said."""


def file(
    *,
    format: str | None = None,  # noqa: A002  # the word of the command line and of source files
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    names: Sequence[str] | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    dates: str | None = None,
    missing: Sequence[str] = (),
    part: str | None = None,
) -> File:
    """Describe how the files of a table are written.

    Args:
        format: csv, parquet, jsonl, excel, sqlite, duckdb, arrow, stata, spss or sas; by default the ending of the
            name tells.
        delimiter: the character between two fields of a line, for example ";".
        quote: the character around fields, or "" if none has this meaning.
        encoding: utf-8, latin-1, windows-1252, utf-16, utf-16le or utf-16be.
        header: whether the first line has the names of the columns; if not, give ``names``.
        names: the names of the columns of a file without a header, in their order.
        decimal: the decimal mark of numbers: "." or ",".
        thousands: the mark between groups of three digits, for example ".".
        dates: how dates are written, for example "%d.%m.%Y".
        missing: texts that mean that there is no value, for example ["NA", "."].
        part: the sheet or table that is meant, in a file that has several.
    """
    if format is not None and format not in FORMATS:
        raise InvalidParameter(format, "format", f"one of {', '.join(FORMATS)}")
    if encoding is not None and encoding not in ENCODINGS:
        raise InvalidParameter(encoding, "encoding", f"one of {', '.join(ENCODINGS)}")
    _check_signs(delimiter, quote)
    _check_marks(decimal, thousands)
    if not isinstance(header, bool):
        raise InvalidParameter(header, "header", "true or false")
    if header and names is not None:
        raise ConflictingParameters(
            "names", "header", "The first line has the names: leave names out, or say header = false."
        )
    if not header and names is None:
        raise MissingParameter("names", 'Without a header, list the names of the columns: names = ["age", "cost"].')
    return File(
        format,
        delimiter,
        quote,
        encoding,
        None if names is None else _texts(names, "names", 1),
        decimal,
        thousands,
        _date_format(dates),
        tuple(sorted(_texts(missing, "missing", 0))),
        _part(part),
    )


def _check_signs(delimiter: object, quote: object) -> None:
    _check_sign(delimiter, "delimiter", 'one ASCII character that is no letter, digit or line end, such as ";"')
    if quote != "":
        _check_sign(quote, "quote", 'one ASCII character such as "\'", or an empty text if there is none')
    if delimiter is not None and delimiter == ('"' if quote is None else quote):
        raise InvalidParameter(delimiter, "delimiter", "another character than the quote")
    if delimiter is None and quote in (",", "\t"):
        raise MissingParameter("delimiter", "The quote is a usual delimiter: say which character the delimiter is.")


def _check_marks(decimal: object, thousands: object) -> None:
    if decimal not in (None, ".", ","):
        raise InvalidParameter(decimal, "decimal", '"." or ","')
    if thousands not in (None, ".", ",", " ", "'", "\u00a0", "\u202f", "_"):
        raise InvalidParameter(thousands, "thousands", 'one of ".", ",", " ", "\'", "_", or a narrow or hard space')
    if thousands is not None and thousands == (decimal or "."):
        raise InvalidParameter(thousands, "thousands", "another character than the decimal mark")


def _check_sign(sign: object, what: str, allowed: str) -> None:
    if sign is None:
        return
    if not isinstance(sign, str) or len(sign) != 1 or not sign.isascii() or sign.isalnum() or sign in "\0\r\n\\":
        raise InvalidParameter(sign, what, allowed)


def _texts(values: object, what: str, shortest: int) -> tuple[str, ...]:
    allowed = "a list of different texts" + (", none of them empty" if shortest else "")
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) > _MOST_NAMES:
        raise InvalidParameter(values, what, allowed)
    for value in values:
        if not isinstance(value, str) or not _is_code(value, shortest):
            raise InvalidParameter(value, what, allowed)
    if len(set(values)) != len(values):
        raise InvalidParameter(list(values), what, allowed)
    return tuple(values)


def _is_code(value: str, shortest: int) -> bool:
    surrogates = re.search("[\ud800-\udfff]", value)
    return shortest <= len(value) <= _LONGEST_CODE and "\0" not in value and surrogates is None


def _date_format(dates: object) -> str | None:
    if dates is None:
        return None
    allowed = 'a pattern of day, month and year such as "%d.%m.%Y", made of ' + " ".join(
        f"%{part}" for part in _DATE_PARTS[:-1]
    )
    if not isinstance(dates, str) or not dates.isprintable() or len(dates) > 100:
        raise InvalidParameter(dates, "dates", allowed)
    parts = re.findall("%(.?)", dates)
    day = ({"d"} <= set(parts) and set(parts) & set("mbB")) or "j" in parts
    if not set(parts) <= set(_DATE_PARTS) or not day or not set(parts) & set("Yy"):
        raise InvalidParameter(dates, "dates", allowed)
    return dates


def _part(part: object) -> str | None:
    if part is not None and (not isinstance(part, str) or not part or "\0" in part or len(part) > _LONGEST_CODE):
        raise InvalidParameter(part, "part", "the name of a sheet or table")
    return part
