"""Source files: reads TOML, and for ``lapwing init`` writes it, from the names and types of a table's columns alone.

Reading one runs no code (docs/reference/source.md).
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .engine.connect import connect, is_url, public, title
from .engine.names import folded
from .errors import NOTHING_DRAWN, InvalidParameter, InvalidSource, RequestError, suggestion
from .question.file import File, file
from .question.schema import KINDS, Column, Kind, keys, number, plain
from .report import toml, toml_name

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
            "INT", "INT2", "INT4", "INT8")  # fmt: skip
_REALS = ("FLOAT", "DOUBLE", "DECIMAL", "FLOAT4", "FLOAT8", "NUMERIC")
_TEXTS = ("VARCHAR", "ENUM", "TEXT", "BPCHAR", "NAME", "STRING", "CHAR")
_BOOLEANS = ("BOOLEAN", "BOOL")
_DATES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMP_NTZ")
"""The names of types on all engines, without what is in brackets."""


CSV = "CSV"
"""Used instead of a type: cells of a CSV file are texts, and are read as the declared type of the column."""

FIELDS = ("name", "table", "person", "rows_per_person", "neighbors", "public_rows", "epsilon", "delta", "ledger",
           "version", "file", "columns")  # fmt: skip
FILE_FIELDS = ("format", "delimiter", "quote", "encoding", "header", "names", "decimal", "thousands", "dates",
               "missing", "part")  # fmt: skip
COLUMN_FIELDS = ("low", "high", "integer", "edges", "keys", "other", "type", "missing")
"""The fields of a source file, those of its description of files, and those of one of its columns."""

NO_SECRET = "The URL is written without its password or token: give a password in PGPASSWORD or ~/.pgpass."


def describe(table: str, folder: Path) -> tuple[str, str]:
    """Return a name for the source, and the text of its file, which will be in this folder."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", title(table)).strip("_") or "source"
    opened = connect(table, name)
    opened.check_names()
    place = table
    if is_url(table):
        place = public(opened, table)
    elif not Path(table).is_absolute():
        place = os.path.relpath(table, folder)
    named = {"name": toml(name), "table": toml(place), "ledger": toml(f"{name}.ledger")}
    named["rows"] = "true" if opened.stored else "false"
    parts = [_HEAD.format(**named, note=f"\n# {NO_SECRET}" if is_url(table) and place != table else "")]
    fields = opened.fields()
    times = Counter(folded(field.name) for field in fields)
    for column, kind in dict(fields).items():
        if times[folded(column)] > 1:
            parts.append(_repeated(column))
        else:
            read = [each for each in KINDS if opened.reads(kind, each)]
            parts.append(_column(column, CSV if opened.is_csv else kind, read))
    return name, "\n".join(parts)


_HEAD = """\
# What is public about this table.  See docs/reference/source.md.
# Remove the # from the lines you need, and fill in every ?.
# Take bounds and keys from what the columns mean (a code book, a law, a form), never from the data:
# the largest value in the data is some person's value, and a key that occurs once is one person.

name = {name}
table = {table}{note}

# Which column identifies a person?  With it, each person is protected, however many rows they have.
# Without it every row counts as one person: right only if no person has two.
# person = ?
# rows_per_person = 1             # rows of one person that count in full; people with more are weighted down to it

# neighbors = "add_remove"        # or "change_one", when the number of people is public
# public_rows = {rows}            # with "change_one" and without person: is the number of rows public?
epsilon = 1                       # the total that may ever be spent on this table
# ledger = {ledger}        # where spending is recorded: a file beside this one, or postgresql://...
# delta = 0.000001                # the total δ, to look for keys that are not public; see how-to/unknown-keys.md
# version = "1"                   # change it when the data changes

# A column that is not declared below cannot be named in a query.  Declare one of:
#   low and high (and integer = true)   for sums, means, quantiles; values outside count as the bounds
#   keys = [...]                        to group by it; every key is shown, even if it does not occur
#   edges = [0, 18, 65, 120]            to group a number by bins
#   type = "text" | "number" | "integer" | "date" | "boolean"   for WHERE, COUNT(x), discover and bounds
"""


def _repeated(name: str) -> str:
    return f"# {toml_name(name)} cannot be declared: another column has the same name, up to case\n"


def _column(name: str, kind: str, read: Sequence[Kind]) -> str:
    """Return the lines of one column, to be uncommented and filled in."""
    base = re.split("[(<]", kind)[0].upper()  # in brackets there may be values: those of an ENUM
    kind_text = "CSV: as declared" if kind == CSV else "text" if base in _TEXTS else base.lower()
    head = f"# [columns.{toml_name(name)}]                # {kind_text}"
    if not read:
        return f"{head}\n# cannot be read as it is: use a view that converts it\n"
    if base in _NUMBERS:
        body = "# low = ?\n# high = ?\n# integer = true"
    elif base in _REALS:
        body = "# low = ?\n# high = ?"
    elif base in _BOOLEANS:
        body = "# keys = [false, true]"
    elif base in _DATES:
        body = '# type = "date"'
    else:
        body = "# keys = [?]                    # to group by it"
        if "number" in read:
            body += "\n# low = ?                       # or, for numbers\n# high = ?"
    return f"{head}\n{body}\n"


def read(path: str) -> tuple[str, dict[str, Column], dict[str, Any]]:
    """Return what a source file holds: the table, the columns that it declares, and all other fields, unchecked."""
    place = Path(path)
    problem = None
    try:
        fields = tomllib.loads(place.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeError):
        problem = "could not be read", "Make a source file with `lapwing init TABLE`."
    except tomllib.TOMLDecodeError as error:
        advice = "See docs/reference/source.md."
        if place.suffix.lower() != ".toml":
            advice = "A table needs a source file first: `lapwing init TABLE` makes one."
        problem = f"is not TOML: {error}", advice
    except (ValueError, RecursionError):
        problem = "holds a number that is too long, or is nested too deeply", "See docs/reference/source.md."
    if problem is not None:
        raise InvalidSource(path, *problem)
    _refuse_unknown(fields, FIELDS, path, "")
    if "table" not in fields:
        raise InvalidSource(path, "names no table", 'Write table = "visits.csv".')
    columns = fields.pop("columns", {})
    if not isinstance(columns, dict):
        raise InvalidSource(path, "has columns that are not tables", "Write [columns.age] and so on.")
    declared = {str(name): _declared(name, column_fields, path) for name, column_fields in columns.items()}
    if "file" in fields:
        fields["file"] = _file(fields["file"], path)
    table = fields.pop("table")
    if not isinstance(table, str):
        raise InvalidSource(path, "has a table that is not a text", 'Write table = "visits.csv".')
    return table, declared, fields


def _refuse_unknown(fields: Mapping[str, Any], known: Sequence[str], path: str, where: str) -> None:
    for name in fields:
        if name not in known:
            raise InvalidSource(
                path,
                f'has the unknown field "{name}"{where}',
                f"Known fields: {', '.join(known)}.{suggestion(name, known)}",
            )


def _declared(name: str, fields: Any, path: str) -> Column:
    """Return the declaration of one column of a source file."""
    where = f' in column "{name}"'
    if not isinstance(fields, dict):
        raise InvalidSource(path, f'has a column "{name}" that is not a table', f"Write [columns.{name}].")
    _refuse_unknown(fields, COLUMN_FIELDS, path, where)
    missing = fields.get("missing", [])
    try:
        if "keys" in fields and not isinstance(fields["keys"], list):
            raise InvalidParameter(fields["keys"], "keys", "a list")
        if "keys" in fields and not {"low", "high"} & set(fields):
            _refuse_unknown(fields, ("keys", "other", "missing"), path, f"{where}, which has keys")
            return keys(fields["keys"], other=fields.get("other"), missing=missing)
        if {"low", "high", "edges"} & set(fields):
            kind = fields.pop("type", "number")
            if kind not in ("number", "integer") or "other" in fields:
                raise InvalidParameter(kind, "type", "number or integer, for a column with bounds or edges")
            integer = fields.pop("integer", kind == "integer")
            low, high, edges = fields.get("low"), fields.get("high"), fields.get("edges")
            return number(low, high, integer=integer, edges=edges, keys=fields.get("keys"), missing=missing)
        if "type" not in fields:
            raise InvalidSource(
                path, f"declares nothing{where}", "Give it low and high, keys, or only a type for use in WHERE."
            )
        _refuse_unknown(fields, ("type", "missing"), path, f"{where}, which has only a type")
        return plain(fields["type"], missing)
    except InvalidSource:
        raise
    except RequestError as error:
        raise _unfit(path, where, error) from None


def _file(fields: Any, path: str) -> File:
    """Return how a source file says that the files of its table are written."""
    if not isinstance(fields, dict):
        raise InvalidSource(path, "has a file that is not a table", "Write [file], and its fields below.")
    _refuse_unknown(fields, FILE_FIELDS, path, " in [file]")
    try:
        return file(**fields)
    except RequestError as error:
        raise _unfit(path, " in [file]", error) from None


def _unfit(path: str, where: str, error: RequestError) -> InvalidSource:
    why = str(error).replace(f" {NOTHING_DRAWN}", "").rstrip(".")
    return InvalidSource(path, f"is refused{where}: {why}", "Change the declaration.")
