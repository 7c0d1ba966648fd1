"""``lapwing init``: a source file to fill in, from the names and types of a table's columns and nothing else."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .engine.connect import connect, is_url, public, title
from .engine.names import folded
from .question.schema import KINDS, Kind
from .report import toml, toml_name

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
            "INT", "INT2", "INT4", "INT8")  # fmt: skip
_REALS = ("FLOAT", "DOUBLE", "DECIMAL", "FLOAT4", "FLOAT8", "NUMERIC")
_TEXTS = ("VARCHAR", "ENUM", "TEXT", "BPCHAR", "NAME", "STRING", "CHAR")
_BOOLEANS = ("BOOLEAN", "BOOL")
_DATES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMP_NTZ")
"""The names of types on all engines, of each what is before its brackets."""


CSV = "CSV"
"""In place of a type: cells of a CSV file are texts, and are read as what the column is declared as."""

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
# Take the # from the lines you need, and fill in every ?.
# Take bounds and keys from what the columns mean (a code book, a law, a form), never from the data:
# the largest value in the data is some person's value, and a key that occurs once is one person.

name = {name}
table = {table}{note}

# Which column tells people apart?  Then no person can be seen, however many rows they have.
# Without it every row counts as one person: right only when nobody has two.
# person = ?
# rows_per_person = 1             # rows of one person that count in full; who has more counts as much as that

# neighbors = "add_remove"        # or "change_one", when the number of people is public
# public_rows = {rows}            # with "change_one" and without person: is the number of rows public?
epsilon = 1                       # the total that may ever be spent on this table
# ledger = {ledger}        # where spending is recorded: a file beside this one, or postgresql://...
# delta = 0.000001                # the total δ, to look for keys that are not public; see how-to/unknown-keys.md
# version = "1"                   # change it when the data changes

# A column that is not declared below cannot be named in a query.  Declare one of:
#   low and high (and integer = true)   for sums, means, quantiles; values beyond count as the bounds
#   keys = [...]                        to group by it; every key is shown, even if it does not occur
#   edges = [0, 18, 65, 120]            to group a number by bins
#   type = "text" | "number" | "integer" | "date" | "boolean"   for WHERE, COUNT(x), discover and bounds
"""


def _repeated(name: str) -> str:
    return f"# {toml_name(name)} cannot be declared: another column has the same name, up to case\n"


def _column(name: str, kind: str, read: Sequence[Kind]) -> str:
    """Return the lines of one column, to be uncommented and filled in."""
    base = re.split("[(<]", kind)[0].upper()  # in brackets there may be values: those of an ENUM
    told = "CSV: as declared" if kind == CSV else "text" if base in _TEXTS else base.lower()
    head = f"# [columns.{toml_name(name)}]                # {told}"
    if not read:
        return f"{head}\n# cannot be read as it is: name a view in which it is converted\n"
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
