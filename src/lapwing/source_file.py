"""Source files: reads TOML, and for ``lapwing init`` writes it, from the names and types of a table's columns alone.

Reading one runs no code (docs/reference/source.md).
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from .engine.connect import connect, is_url, public, title
from .engine.names import folded
from .engine.recognised import Recognised
from .engine.table import DescribedField, Table
from .errors import NOTHING_DRAWN, InvalidParameter, InvalidSource, RequestError, Shown, suggestion
from .question.codes import KINDS, Kind
from .question.derivation import Derivation, expression, recode
from .question.file import AS_USUAL, File, file
from .question.join import MOST_JOINS, Join, join
from .question.labels import harmless
from .question.noise_levels import NoiseLevels, noise_levels
from .question.schema import Column, dates, keys, number, plain
from .report import toml, toml_name

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
            "INT", "INT2", "INT4", "INT8")  # fmt: skip
_REALS = ("FLOAT", "DOUBLE", "DECIMAL", "FLOAT4", "FLOAT8", "NUMERIC", "NUMBER")
_BOOLEANS = ("BOOLEAN", "BOOL")
_DATES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMP_NTZ")
"""The names of types on all engines, without what is in brackets."""

FIELDS = ("name", "table", "person", "rows_per_person", "neighbors", "public_rows", "epsilon", "delta", "ledger",
           "version", "file", "noise_levels", "join", "columns")  # fmt: skip
JOIN_FIELDS = ("table", "columns", "person", "public", "on", "file")
FILE_FIELDS = ("format", "delimiter", "quote", "encoding", "header", "names", "decimal", "thousands", "dates",
               "missing", "part")  # fmt: skip
LEVEL_FIELDS = ("low", "medium")
COLUMN_FIELDS = ("low", "high", "integer", "edges", "keys", "other", "missing", "labels", "unit", "title", "type",
                 "first", "last", "expression", "from", "recode", "within")  # fmt: skip
"""The fields of a source file, of a join, of how files are read, of levels of noise, and of a column."""

NO_SECRET = "The URL is written without its password or token: give a password in PGPASSWORD or ~/.pgpass."


class Draft(NamedTuple):
    """A source file to be filled in: the name of the source, the text, and what to tell about it."""

    name: str
    text: str
    recognised: Sequence[str]
    """What was recognised about the file, and what could not be."""

    columns: Sequence[str]


def describe(
    table: str,
    folder: Path,
    told: File = AS_USUAL,
    *,
    header: bool = True,
    chosen: Sequence[str] | None = None,
    name: str | None = None,
) -> Draft:
    """Return a source file for a table, which will be in this folder.

    ``told`` is what is known about its files, ``header`` whether the first line has the names, and ``chosen`` the
    columns to be written; all if it is None.  Without a name, the source is called as the table is.
    """
    name = name or source_name(table)
    opened = connect(table, name, told)
    found = opened.recognised(header)
    if found is not None:
        opened = connect(table, name, found.file)
    opened.check_names()
    place = table
    if is_url(table):
        place = public(opened, table)
    elif not Path(table).is_absolute():
        place = os.path.relpath(table, folder)
    named = {"name": toml(name), "table": toml(place), "ledger": toml(f"{name}.ledger")}
    named["rows"] = "true" if opened.stored else "false"
    head = _HEAD.format(**named, note=f"\n# {NO_SECRET}" if is_url(table) and place != table else "")
    described = _file_lines(told if found is None else found.file, {} if found is None else found.remarks)
    columns = _columns(opened, {} if found is None else found.types, chosen)
    text = "\n".join(
        [head, *([f"{described}\n"] if described else []), _COLUMNS, *map("# {}".format, columns.values())]
    )
    return Draft(name, f"{text}\n", _recognised(found), list(columns))


class FoundColumn(NamedTuple):
    """A column of a table: its name and what it seems to hold; None if it cannot be read as it is."""

    name: str
    kind: Kind | None


class FoundTable(NamedTuple):
    """What a form about a table starts with: columns, [file] of the source file, and what was recognised."""

    columns: Sequence[FoundColumn]
    file: str
    recognised: Sequence[str]


def find_columns(table: str, name: str) -> FoundTable:
    """Return the columns of a file, by their names and types alone; no cell is in what is returned."""
    opened = connect(table, name)
    found = opened.recognised()
    if found is not None:
        opened = connect(table, name, found.file)
    opened.check_names()
    types = {} if found is None else found.types
    fields = [field for field in opened.described() if isinstance(field.name, str)]
    times = Counter(folded(field.name) for field in fields)
    columns = []
    for field in {field.name: field for field in fields}.values():
        kind = types.get(field.name, "text").upper() if opened.is_csv else field.type
        read = [each for each in KINDS if opened.reads(field.type, each)] if times[folded(field.name)] == 1 else []
        columns.append(FoundColumn(field.name, _kind(kind) if read else None))
    lines = "" if found is None else _file_lines(found.file, found.remarks)
    return FoundTable(columns, lines, _recognised(found))


def _kind(type_name: str) -> Kind:
    base = re.split("[(<]", type_name)[0].upper()
    kinds: tuple[tuple[Sequence[str], Kind], ...] = (
        (_NUMBERS, "integer"), (_REALS, "number"), (_BOOLEANS, "boolean"), (_DATES, "date"),
    )  # fmt: skip
    return next((kind for names, kind in kinds if base in names), "text")


def source_name(table: str) -> str:
    """Return the name of the source of a table, which is also that of its file."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", title(table)).strip("_") or "source"


def added(path: Path, table: str, chosen: Sequence[str] | None = None) -> tuple[str, list[str]] | None:
    """Return lines for columns of a table that a source file does not mention yet, and their names.

    None if the file is not a source of this table.  Nothing that is in the file is changed.
    """
    try:
        place, declared, fields = read(str(path), decided=False)
    except InvalidSource:
        return None
    same = place == table if is_url(table) else (path.parent / place).resolve() == Path(table).resolve()
    if not same:
        return None
    opened = connect(table, path.stem, fields.get("file", AS_USUAL))
    found = opened.recognised()
    opened.check_names()
    if found is not None:  # a line may be a row by its true separator, though not by the one that the source says
        connect(table, path.stem, found.file).check_names()
    columns = _columns(opened, {} if found is None else found.types, chosen)
    mentioned = set(re.findall(_MENTIONED, path.read_text(encoding="utf-8-sig"), re.MULTILINE))
    known = {*declared, fields.get("person")}
    new = [name for name in columns if name not in known and toml_name(name) not in mentioned]
    return "".join(f"\n{_block(name, columns[name])}" for name in new), new


_MENTIONED = r"""^#? ?(?:\[columns\.)?("(?:[^"\\]|\\.)*"|[A-Za-z0-9_-]+)(?:\]| = \{| cannot be )"""
"""A line about a column: declared, to be filled in, or not to be declared."""


def _block(name: str, line: str) -> str:
    """Return the lines of one column in the form that may stand at the end of every source file."""
    fields = re.fullmatch(r".* = \{ (.*) \}", line, re.DOTALL)
    if fields is None:
        return f"# {line}\n"
    return (
        "\n".join([f"# [columns.{toml_name(name)}]", *(f"# {each}" for each in re.split(r", (?=\w+ = )", fields[1]))])
        + "\n"
    )


def _recognised(found: Recognised | None) -> list[str]:
    """Return what was recognised, and what could not be, as lines."""
    if found is None:
        return []
    values = found.file.describe()
    known = [f"Recognised {name} = {_shown(values[name])}: {remark}." for name, remark in found.remarks.items()]
    return [*known, *(f"Not recognised.  {doubt}" for doubt in found.doubts)]


def _file_lines(told: File, remarks: Mapping[str, str]) -> str:
    """Return the description of files as lines, with the reason for each that was recognised."""
    lines = []
    for name, value in told.describe().items():
        line = f"{name} = {_shown(value)}"
        lines += ["header = false"] if name == "names" else []
        lines.append(f"{line:<33} # {remarks[name]}" if name in remarks else line)
    return "\n".join(["# How the files are written.", "[file]", *lines]) if lines else ""


def _shown(value: str | Sequence[str]) -> str:
    return toml(value) if isinstance(value, str) else f"[{', '.join(map(toml, value))}]"


def _columns(opened: Table, types: Mapping[str, Kind], chosen: Sequence[str] | None) -> dict[str, str]:
    """Return the columns of a table, each with its line."""
    fields = [field for field in opened.described() if isinstance(field.name, str)]
    times = Counter(folded(field.name) for field in fields)
    found = {}
    for field in {field.name: field for field in fields}.values():
        name = field.name
        if times[folded(name)] > 1:
            found[name] = f"{toml_name(name)} cannot be declared: another column has the same name, up to case"
        else:
            read = [each for each in KINDS if opened.reads(field.type, each)]
            found[name] = _column(field, types.get(name, "text").upper() if opened.is_csv else field.type, read)
    if chosen is None:
        return found
    for name in chosen:
        if name not in found:
            raise InvalidSource(
                opened.name,
                f'has no column "{name}" in its table',
                f"`lapwing init` lists all.{suggestion(name, found)}",
            )
    return {name: found[name] for name in chosen}


_HEAD = """\
# What is public about this table.  See docs/reference/source.md.
# Fill in every ?, or delete its line: until then nothing can be asked.  Remove the # from the lines you need.
# Take bounds and keys from what the columns mean (a code book, a law, a form), never from the data:
# the largest value in the data is some person's value, and a key that occurs once is one person.

name = {name}
table = {table}{note}

# Which column identifies a person?  With it, each person is protected, however many rows they have.
# Delete the line if every row is one person: right only if no person has two.
person = ?
# rows_per_person = 1             # rows of one person that count in full; people with more are weighted down to it

# neighbors = "add_remove"        # or "change_one", when the number of people is public
# public_rows = {rows}            # with "change_one" and without person: is the number of rows public?
epsilon = ?                       # the total that may ever be spent on this table
# ledger = {ledger}        # where spending is recorded: a file beside this one, or postgresql://...
# delta = 0.000001                # the total δ, to look for keys that are not public; see how-to/unknown-keys.md
# version = "1"                   # change it when the data changes
"""

_COLUMNS = """\
# A column that is not declared below cannot be named in a query.  Declare one of:
#   low and high (and integer = true)   for sums, means, quantiles; values outside count as the bounds
#   keys = [...]                        to group by it; every key is shown, even if it does not occur
#   keys = {"1" = "men", "2" = "women"}    the same, with a label for each key (type = "integer" for whole numbers)
#   edges = [0, 18, 65, 120]            to group a number by bins
#   type = "text" | "number" | "integer" | "date" | "boolean"   for WHERE, COUNT(x), discover and bounds
#   title = "..." and unit = "..."      what the column is, for people: shown, and no part of a question
# and if it has codes for missing:  missing = [99, 999]
[columns]"""


def _column(column: DescribedField, kind: str, read: Sequence[Kind]) -> str:
    """Return the line of one column, to be uncommented and filled in."""
    base = re.split("[(<]", kind)[0].upper()  # in brackets there may be values: those of an ENUM
    if not read:
        return f"{toml_name(column.name)} cannot be read as it is ({base.lower()}): use a view that converts it"
    if len(column.labels) == 1 and base in (*_NUMBERS, *_REALS):  # a number with a code that means something else
        whole = ", integer = true" * (base in _NUMBERS)
        body = f"low = ?, high = ?{whole}, missing = [{toml(Fraction(str(column.labels[0][0])))}]"
    elif column.labels:
        body = f"keys = {_labelled(column.labels)}"
    elif base in _NUMBERS:
        body = "low = ?, high = ?, integer = true"
    elif base in _REALS:
        body = "low = ?, high = ?"
    elif base in _BOOLEANS:
        body = "keys = [false, true]"
    elif base in _DATES:
        body = 'type = "date"'
    else:
        body = "keys = [?]"
    title = harmless(column.title or "")
    titled = f", title = {toml(title)}" if title else ""
    return f"{toml_name(column.name)} = {{ {body}{titled} }}"


def _labelled(labels: Sequence[tuple[object, str]]) -> str:
    """Return codes with the labels that the table describes them by."""
    found: dict[str, str] = {}
    for code, label in labels:
        name = str(int(code) if isinstance(code, float) and code.is_integer() else code)
        text = harmless(label) or name
        found[name] = f"{text} ({name})" if text in found.values() else text
    return "{" + ", ".join(f"{toml(name)} = {toml(text)}" for name, text in found.items()) + "}"


def read(path: str, *, decided: bool = True) -> tuple[str, dict[str, Column | Derivation], dict[str, Any]]:
    """Return what a source file holds: the table, the columns that it declares, and all other fields, unchecked.

    Lines that are not ``decided`` yet refuse it, or are skipped.
    """
    place = Path(path)
    problem, text = None, ""
    try:
        text = place.read_text(encoding="utf-8-sig")
        fields = tomllib.loads(text if decided else re.sub(f"(?m)^{_OPEN}.*$", "", text))
    except (OSError, UnicodeError):
        there = "could not be read" if place.exists() else "does not exist"
        problem = there, "Make a source file with `lapwing init TABLE`."
    except tomllib.TOMLDecodeError as error:
        advice = "See docs/reference/source.md."
        if place.suffix.lower() != ".toml":
            advice = "A table needs a source file first: `lapwing init TABLE` makes one."
        problem = _undecided(text) or (f"is not TOML: {error}", advice)
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
    declared = {str(name): declared_column(name, column_fields, path) for name, column_fields in columns.items()}
    if "file" in fields:
        fields["file"] = _file(fields["file"], path)
    if "noise_levels" in fields:
        fields["noise_levels"] = _noise_levels(fields["noise_levels"], path)
    if "join" in fields:
        fields["join"] = _joins(fields["join"], path)
    table = fields.pop("table")
    if not isinstance(table, str):
        raise InvalidSource(path, "has a table that is not a text", 'Write table = "visits.csv".')
    return table, declared, fields


def _undecided(text: str) -> tuple[str, str] | None:
    """Return which lines still have a ? of ``lapwing init``, and what to do; None if there are none."""
    lines = [(number, re.match(_OPEN, line)) for number, line in enumerate(text.splitlines(), 1)]
    left = [f"line {number} ({found[1].strip()})" for number, found in lines if found]
    if not left:
        return None
    advice = "Put a value in place of each ?, or delete the line if it is not needed."
    if re.search(r"^person\s*=\s*\?", text, re.MULTILINE):
        advice += "  Without the line person, every row counts as one person: right only if no person has two."
    return f"leaves open what only you can decide: {', '.join(left)}", advice


_OPEN = r"([^#=\"'\n]*)=[ \t]*[^#\"'\n]*\?"
"""A line with a ? that is neither in a text nor in a comment."""


def _refuse_unknown(fields: Mapping[str, Any], known: Sequence[str], path: str, where: str) -> None:
    for name in fields:
        if name not in known:
            raise InvalidSource(
                path,
                f'has the unknown field "{name}"{where}',
                f"Known fields: {', '.join(known)}.{suggestion(name, known)}",
            )


def declared_column(name: str, fields: Any, path: str) -> Column | Derivation:
    """Return the declaration of one column of a source file."""
    where = f' in column "{name}"'
    if not isinstance(fields, dict):
        raise InvalidSource(path, f'has a column "{name}" that is not a table', f"Write [columns.{name}].")
    _refuse_unknown(fields, COLUMN_FIELDS, path, where)
    shown = {name: fields.get(name) for name in ("unit", "title")}
    missing = fields.get("missing", [])
    try:
        if {"expression", "from", "recode"} & set(fields):
            return _computed(fields, path, where)
        if {"first", "last"} & set(fields):
            _refuse_unknown(
                fields, ("type", "first", "last", "missing", "unit", "title"), path, f"{where}, which has dates"
            )
            if fields.get("type", "date") != "date":
                raise InvalidParameter(fields["type"], "type", "date, for a column with first and last")
            return dates(fields.get("first"), fields.get("last"), missing=missing, **shown)  # type: ignore[arg-type]
        if "keys" in fields and not isinstance(fields["keys"], list | dict):
            raise InvalidParameter(fields["keys"], "keys", 'a list, or a table such as {"1" = "men", "2" = "women"}')
        if "keys" in fields and not {"low", "high"} & set(fields):
            known = ("keys", "other", "missing", "labels", "unit", "title", "type", "within")
            _refuse_unknown(fields, known, path, f"{where}, which has keys")
            return _keys(fields, {**shown, "missing": missing})
        if {"low", "high", "edges"} & set(fields):
            kind = fields.pop("type", "number")
            if kind not in ("number", "integer") or "other" in fields:
                raise InvalidParameter(kind, "type", "number or integer, for a column with bounds or edges")
            integer = fields.pop("integer", kind == "integer")
            low, high, edges, labels = (fields.get(name) for name in ("low", "high", "edges", "labels"))
            codes = _codes(fields.get("keys"), "integer")
            return number(low, high, integer=integer, edges=edges, keys=codes, labels=labels, missing=missing, **shown)
        if "type" not in fields:
            raise InvalidSource(
                path, f"declares nothing{where}", "Give it low and high, keys, or only a type for use in WHERE."
            )
        _refuse_unknown(fields, ("type", "missing", "unit", "title"), path, f"{where}, which has only a type")
        return plain(fields["type"], missing, **shown)
    except InvalidSource:
        raise
    except RequestError as error:
        raise _unfit(path, where, error) from None


def _computed(fields: Mapping[str, Any], path: str, where: str) -> Derivation:
    """Return a column that is computed from others."""
    if "expression" in fields:
        known = ("expression", "low", "high", "edges", "keys", "labels", "unit", "title")
        _refuse_unknown(fields, known, path, f"{where}, which has an expression")
        given = {name: value for name, value in fields.items() if name not in ("expression", "keys")}
        return expression(fields["expression"], keys=_codes(fields.get("keys"), "integer"), **given)
    fields_of_recode = ("from", "recode", "other", "labels", "unit", "title")
    _refuse_unknown(fields, fields_of_recode, path, f"{where}, which is a recode")
    given = {name: value for name, value in fields.items() if name not in ("from", "recode")}
    return recode(fields.get("from"), fields.get("recode"), **given)  # type: ignore[arg-type]


def _keys(fields: Mapping[str, Any], shown: Mapping[str, Any]) -> Column:
    """Return a column with keys; ``type`` says what the names of a table of keys are, which in TOML are texts."""
    given, kind = fields["keys"], fields.get("type")
    codes = _codes(given, "text" if kind is None else kind)
    other, labels, within = (fields.get(name) for name in ("other", "labels", "within"))
    column = keys(codes, other=other, labels=labels, within=within, **shown)
    if kind not in (None, column.kind):
        raise InvalidParameter(kind, "type", f"{column.kind}, as its keys are")
    return column


def _codes(given: Any, kind: object) -> Any:
    """Return keys as they are; of a table from names to labels, the keys that the names are."""
    if not isinstance(given, dict):
        return given
    try:
        return {_READ_CODES[str(kind)](name): label for name, label in given.items()}
    except (KeyError, ValueError):
        allowed = 'a table from codes of the type of the column to labels, such as {"1" = "men", "2" = "women"}'
        raise InvalidParameter(
            Shown("a table"), "keys", f"{allowed}; the type is text, integer, date or boolean"
        ) from None


def _whole(name: str) -> int:
    if str(int(name)) != name:  # 01 and 1 are one key
        raise ValueError
    return int(name)


def _day(name: str) -> date:
    day = date.fromisoformat(name)
    if str(day) != name:
        raise ValueError
    return day


_READ_CODES: dict[str, Callable[[str], Any]] = {
    "text": str,
    "integer": _whole,
    "date": _day,
    "boolean": {"false": False, "true": True}.__getitem__,
}
"""By the type of a column: what the name of a key in a table means."""


def _file(fields: Any, path: str) -> File:
    """Return how a source file says that the files of its table are written."""
    if not isinstance(fields, dict):
        raise InvalidSource(path, "has a file that is not a table", "Write [file], and its fields below.")
    _refuse_unknown(fields, FILE_FIELDS, path, " in [file]")
    try:
        return file(**fields)
    except RequestError as error:
        raise _unfit(path, " in [file]", error) from None


def _noise_levels(fields: Any, path: str) -> NoiseLevels:
    """Return up to where a source file calls noise low, and up to where medium."""
    if not isinstance(fields, dict):
        raise InvalidSource(path, "has noise_levels that are not a table", "Write low and medium below [noise_levels].")
    _refuse_unknown(fields, LEVEL_FIELDS, path, " in [noise_levels]")
    try:
        return noise_levels(**fields)
    except RequestError as error:
        raise _unfit(path, " in [noise_levels]", error) from None


def _joins(given: Any, path: str) -> list[Join]:
    """Return the joins of a source file."""
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise InvalidSource(path, "has a join that is not a list of tables", "Write [[join]], and its fields below.")
    joins = []
    for place, fields in enumerate(given[: MOST_JOINS + 1], 1):
        where = f" in join {place}"
        _refuse_unknown(fields, JOIN_FIELDS, path, where)
        if not isinstance(fields.get("table"), str) or "columns" not in fields:
            raise InvalidSource(
                path, f"lacks a table or columns{where}", 'Write table = "patients.csv" and columns = ["age"].'
            )
        about = {**fields, "file": _file(fields["file"], path)} if "file" in fields else fields
        try:
            joins.append(join(**about))
        except RequestError as error:
            raise _unfit(path, where, error) from None
    return joins


def _unfit(path: str, where: str, error: RequestError) -> InvalidSource:
    why = str(error).replace(f" {NOTHING_DRAWN}", "").rstrip(".")
    return InvalidSource(path, f"is refused{where}: {why}", "Change the declaration.")
