"""CSVW metadata, with the vocabulary CSVW-EO, as a source file: who is protected, bounds, keys, and how CSV is written.

CSVW-EO (w3id.org/csvw-eo, used by Lomas) says what is public about a table: privacyUnit, maxContributions, keyValues,
minimum and maximum.  What it does not say is left to be filled in, as a comment; what cannot be declared is a comment
with the reason.  The metadata of a package describes the table behind the release, and is read likewise.

Text of the metadata is only ever written as a TOML string, or as a comment on one line.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..errors import InvalidSource, RequestError
from ..question.codes import Kind, is_unicode
from ..question.file import file
from ..question.labels import harmless
from ..question.schema import MAX_ROWS_PER_PERSON
from ..report import printable, toml, toml_name
from ..source_file import Draft, declared_column, source_name

ENDINGS = (".json", ".jsonld", ".json-ld")
"""How the names of metadata end; no table is in such a file."""

_CSVW = "http://www.w3.org/ns/csvw"
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("string", "normalizedString", "token", "anyURI", "anyAtomicType", "any"), "text"),
    **dict.fromkeys(
        ("integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
         "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"), "integer"),
    **dict.fromkeys(("decimal", "double", "float", "number"), "number"),
    **dict.fromkeys(("date", "dateTime", "datetime", "dateTimeStamp"), "date"),
    "boolean": "boolean",
}  # fmt: skip

Json = Mapping[str, Any]


def is_metadata(path: str) -> bool:
    """Return whether a path is that of metadata, by its ending."""
    return path.lower().endswith(ENDINGS) and Path(path).is_file()


def draft_of_metadata(
    path: str, folder: Path, *, chosen: Sequence[str] | None = None, name: str | None = None
) -> Draft:
    """Return a source file for the table that metadata describes; the source file will be in this folder."""
    table, released = _table(path, _read(path))
    place = _place(table, path, folder)
    name = name or source_name(_text(table.get("title")) if released else _named(place, path))
    people = _person(table)
    columns = _columns(table, people, path, chosen)
    lines = [
        _HEAD.format(metadata=printable(Path(path).name), name=toml(name)),
        _table_line(table, place),
        "",
        *_person_lines(table, people),
        *_length_lines(table),
        "epsilon = ?                       # the total that may ever be spent on this table",
        f"# ledger = {toml(f'{name}.ledger')}",
        "",
        *_file_lines(table, path),
        _COLUMNS,
        *columns.values(),
    ]  # fmt: skip
    return Draft(name, "\n".join(lines) + "\n", _told(table, columns, people, released=released), list(columns))


# --- JSON ---


def _refused(path: str, problem: str, advice: str = "") -> InvalidSource:
    return InvalidSource(path, problem, advice or "Give CSVW metadata of one table, or the table itself.")


def _read(path: str) -> Any:
    """Return the JSON of a file; numbers are read as they are written."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        found = json.loads(text, parse_float=Decimal, parse_constant=lambda _: None)
        problem = _unfit(found)
    except OSError:
        problem = "could not be read"
    except RecursionError:
        problem = _TOO_DEEP
    except ValueError:
        problem = "is not JSON"
    if problem:
        raise _refused(path, problem)
    return found


_DEEPEST = 50
"""Metadata is about ten levels deep."""

_TOO_DEEP = f"is nested more than {_DEEPEST} levels deep"


def _unfit(found: Any) -> str:
    """Say why JSON cannot be taken for metadata, whatever it describes; nothing if it can."""
    level = [found]
    for _ in range(_DEEPEST):
        if not all(is_unicode(each) for each in level if isinstance(each, str)):
            return "has a text that is not Unicode: half of a surrogate pair"
        level = [
            inner
            for each in level
            for inner in ((*each, *each.values()) if isinstance(each, dict) else each if isinstance(each, list) else ())
        ]
        if not level:
            return ""
    return _TOO_DEEP


def _table(path: str, found: Any) -> tuple[Json, bool]:
    """Return the description of the table, and whether it is that behind a release."""
    known = _local(found) if isinstance(found, dict) else {}
    tables = known.get("tables")
    if isinstance(tables, list):
        if len(tables) != 1 or not isinstance(tables[0], dict):
            raise _refused(path, f"describes {len(tables)} tables", "Keep one of them, in a file of its own.")
        known = {**known, **_local(tables[0])}
    behind = _local(known.get("wasDerivedFrom"))
    if isinstance(behind.get("column"), list):
        return {**behind, "columns": behind["column"]}, True
    schema = _local(known.get("tableSchema"))
    if not isinstance(schema.get("columns"), list):
        raise _refused(path, "is no CSVW metadata: it has no tableSchema with columns")
    return {**known, "columns": schema["columns"], "null": schema.get("null", known.get("null"))}, False


def _local(value: Any) -> dict[str, Any]:
    """Return an object with its terms by their own names, without prefix; recommendations are no bounds."""
    found: dict[str, Any] = {}
    for term, each in value.items() if isinstance(value, dict) else ():
        own = term.rsplit("#", 1)[-1].rsplit("/", 1)[-1].rsplit(":", 1)[-1]
        group, _, last = own.rpartition(".")
        if group != "rec":
            found.setdefault(last, _plain(each))
    return found


def _plain(value: Any) -> Any:
    """Return a value without JSON-LD's wrapping."""
    if isinstance(value, dict) and "@value" in value:
        return value["@value"]
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    """Return the first text of a natural language property, or nothing."""
    if isinstance(value, str):
        return value
    some = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((text for each in some if (text := _text(each))), "")


# --- the table ---


def _place(table: Json, path: str, folder: Path) -> str | None:
    """Return where the table is, as seen from the source file; None if it is not in the folder of the metadata.

    Whoever wrote the metadata must not choose another file of this machine, or a host: ``..``, ``/``, ``~``, a scheme
    and links that lead out of the folder are not followed.
    """
    url = table.get("url")
    if not isinstance(url, str) or not url.isprintable() or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|~|.*\\", url):
        return None
    home = Path(path).parent
    try:
        inside = home.resolve() in (home / url).resolve().parents
    except (OSError, RuntimeError):
        inside = False
    return os.path.relpath(home / url, folder) if inside else None


def _table_line(table: Json, place: str | None) -> str:
    """Return the line that says where the table is; a comment, if the owner has to say it."""
    if place is not None:
        return f"table = {toml(place)}"
    url = table.get("url")
    if not isinstance(url, str) or not url:
        return "# table = ?                       # the metadata does not say where it is"
    shown = printable(url if len(url) <= 200 else f"{url[:199]}…")
    return f"# table = ?                       # the metadata says {toml(shown)}, which is not in its folder: check it"


def _named(place: str | None, path: str) -> str:
    return place if place is not None else Path(path).name.split(".")[0].removesuffix("-metadata")


def _person(table: Json) -> str | None:
    """Return the column that identifies a person: privacyUnit, or the only one with privacyId."""
    if isinstance(table.get("privacyUnit"), str) and table["privacyUnit"]:
        return str(table["privacyUnit"])
    marked = [_name_of(_local(each)) for each in table["columns"] if _local(each).get("privacyId") is True]
    return marked[0] if len(marked) == 1 else None


def _person_lines(table: Json, person: str | None) -> list[str]:
    most = table.get("maxContributions")
    if person is None:
        return [
            "# Which column identifies a person?  The metadata has no privacyUnit.",
            "# Delete the line if every row is one person: right only if no person has two.",
            "person = ?",
            "# rows_per_person = 1",
        ]
    known = isinstance(most, int) and not isinstance(most, bool) and 0 < most <= MAX_ROWS_PER_PERSON
    rows = f"rows_per_person = {most}" if known else "# rows_per_person = ?"
    why = "maxContributions" if known else "no maxContributions: `lapwing bounds --rows-per-person` finds it privately"
    return [f"person = {toml(person)}", f"{rows:<33} # {why}"]


def _length_lines(table: Json) -> list[str]:
    if table.get("publicLength") is None:
        return ['# neighbors = "add_remove"        # or "change_one", when the number of people is public']
    return ['# neighbors = "change_one"        # the metadata says that the number of rows is public (publicLength)']


def _nulls(given: Any, path: str) -> list[str]:
    """Return the texts that mean that there is no value."""
    texts = [] if given is None else given if isinstance(given, list) else [given]
    if not all(isinstance(each, str) for each in texts):
        raise _refused(path, "has a null that is not a text or a list of texts", 'Write null as ["NA"], for example.')
    return list(texts)


def _code(text: str, kind: Kind | None) -> str | None:
    """Return a code for missing as TOML writes it in a column of this kind; None if it is no value of the kind."""
    if kind == "date":
        return text if _is_day(text) else None
    if kind in ("number", "integer"):
        number = _exact(text)
        return None if number is None else toml(number)
    return None if kind == "boolean" else toml(text)


def _file_lines(table: Json, path: str) -> list[str]:
    """Return how the file is written, as far as the metadata says it and it can be said."""
    dialect = _local(table.get("dialect"))
    names = [_name_of(_local(each)) for each in table["columns"]]
    asked: dict[str, Any] = {}
    for field, term in (("delimiter", "delimiter"), ("quote", "quoteChar"), ("encoding", "encoding")):
        if isinstance(dialect.get(term), str):
            asked[field] = dialect[term].lower() if field == "encoding" else dialect[term]
    if dialect.get("header") is False:
        asked["names"] = names
    missing = _nulls(table.get("null"), path)
    for each in map(_local, table["columns"]):
        missing += [text for text in _nulls(each.get("null"), path) if _code(text, _kind(each)) is None]
    missing = [text for text in dict.fromkeys(missing) if text]
    if missing:
        asked["missing"] = missing
    lines = []
    for field, value in asked.items():
        listed = f"[{', '.join(map(toml, value))}]" if isinstance(value, list) else toml(value)
        written = f"{field} = {listed}"
        given: dict[str, Any] = {field: value, **({"header": False} if field == "names" else {})}
        try:
            file(**given)
        except RequestError:
            lines.append(f"# {printable(written)}")
        else:
            lines += ["header = false", written] if field == "names" else [written]
    return ["# How the files are written.", "[file]", *lines, ""] if lines else []


def _told(table: Json, columns: Mapping[str, str], person: str | None, *, released: bool) -> list[str]:
    """Return what to tell the user."""
    told = ["Bounds and keys are those of the metadata: check that none of them was computed from the data."]
    if released:
        told.insert(0, "The metadata is of a release; this is a source file for a table such as the one behind it.")
    left = [name for name, line in columns.items() if line.startswith("#") and name != person]
    if left:
        told.append(f"To be filled in: {', '.join(map(printable, left))}.")
    if table.get("additionalInformation"):
        told.append("Groups of columns (ColumnGroup) are not used: every combination of keys can be asked.")
    return told


# --- columns ---


def _name_of(column: Json) -> str:
    """Return the name of a column in the table: its title is what the header of a CSV file has."""
    return _text(column.get("titles")) or _text(column.get("name"))


def _columns(table: Json, person: str | None, path: str, chosen: Sequence[str] | None) -> dict[str, str]:
    """Return the line of each column."""
    found: dict[str, str] = {}
    folded: set[str] = set()
    for each in map(_local, table["columns"]):
        name = _name_of(each)
        if not name or "\0" in name or each.get("virtual") is True or (chosen is not None and name not in chosen):
            continue
        if name == person:
            found[name] = f"# {printable(name)} identifies a person, and is not declared"
        elif name.casefold() in folded:
            found[name] = f"# {printable(name)} cannot be declared: another column has the same name, up to case"
        else:
            found[name] = _line(name, each, path)
        folded.add(name.casefold())
    if chosen is not None and (lost := [name for name in chosen if name not in found]):
        raise _refused(path, f'has no column "{printable(lost[0])}"', "Leave out --columns to see all.")
    return found


def _line(name: str, column: Json, path: str) -> str:
    """Return the declaration of a column; as a comment if something has to be filled in, or it is refused."""
    fields = _fields(column, path)
    codes = [code for text in _nulls(column.get("null"), path) if (code := _code(text, _kind(column))) is not None]
    missing = {"missing": f"[{', '.join(dict.fromkeys(codes))}]"} if codes else {}
    shown = {"title": harmless(_described(column)), "unit": harmless(_text(column.get("unitText")))}
    if not isinstance(fields, str):
        fields |= missing | {key: toml(text) for key, text in shown.items() if text}
        body = ", ".join(f"{key} = {value}" for key, value in fields.items())
    else:
        body = ", ".join([fields, *(f"{key} = {value}" for key, value in missing.items())])
    line = f"{toml_name(name)} = {{ {body} }}"
    if isinstance(fields, str):
        return f"# {printable(line)}"
    try:
        declared_column(name, tomllib.loads(line)[name], path)
    except (RequestError, tomllib.TOMLDecodeError) as error:
        return f"# {printable(line)} is refused: {printable(str(error).splitlines()[0])}"
    open_list = "keys" in fields and column.get("exhaustiveKeys") is False
    return f'{line}  # not all keys are listed: others are left out; or add other = "…"' if open_list else line


def _described(column: Json) -> str:
    return next((text for term in ("alternateName", "title", "description") if (text := _text(column.get(term)))), "")


def _datatype(column: Json) -> Json:
    datatype = column.get("datatype")
    return _local(datatype) if isinstance(datatype, dict) else {"base": datatype}


def _kind(column: Json) -> Kind | None:
    """Return the kind of the values of a column; None for a datatype that is not known."""
    return _KINDS.get(str(_datatype(column).get("base") or "string"))


def _fields(column: Json, path: str) -> dict[str, str] | str:
    """Return what is declared, or a text with what has to be filled in."""
    kind, about = _kind(column), _datatype(column)
    if kind is None:
        return 'type = "text"'
    if kind == "boolean":
        return {"keys": "[false, true]"}
    low, high = (
        next((each for term in terms for some in (column, about) if (each := some.get(term)) is not None), None)
        for terms in (("minimum", "minInclusive"), ("maximum", "maxInclusive"))
    )
    keys = _keys(column, kind, path)
    if kind == "date":
        days = [str(each)[:10] for each in (low, high) if each is not None]
        if keys:
            return {"keys": f"[{', '.join(keys)}]"}
        ends = {"first": toml(days[0]), "last": toml(days[1])} if len(days) == 2 else {}
        return {"type": '"date"', **ends}
    if kind == "text":
        return {"keys": f"[{', '.join(keys)}]"} if keys else "keys = [?]"
    return _number(kind, _exact(low), _exact(high), keys, _edges(column, path))


def _number(
    kind: Kind, low: Fraction | None, high: Fraction | None, keys: Sequence[str], edges: Sequence[Fraction]
) -> dict[str, str] | str:
    whole = {"integer": "true"} if kind == "integer" else {}
    groups = {"edges": f"[{', '.join(map(toml, edges))}]"} if edges else {}
    if not groups and keys and kind == "integer":
        groups = {"keys": f"[{', '.join(keys)}]"}
    if low is not None and high is not None and low < high:
        if edges and (edges[0] > low or edges[-1] < high):
            low, high = min(low, edges[0]), max(high, edges[-1])
        return {"low": toml(low), "high": toml(high), **whole, **groups}
    if "edges" in groups:
        return {**whole, **groups}
    return groups or f"low = ?, high = ?{', integer = true' if whole else ''}"


def _keys(column: Json, kind: Kind, path: str) -> list[str]:
    """Return the public keys as TOML writes them: keyValues, or the values of partitions."""
    given = column.get("keyValues")
    if not isinstance(given, list):
        given = [_local(_local(each).get("predicate")).get("partitionValue") for each in _partitions(column, path)]
    found = []
    for each in map(_plain, given):
        value = each
        if (
            kind == "integer"
            and isinstance(each, Decimal)
            and each.adjusted() < 20
            and each == each.to_integral_value()
        ):
            value = int(each)
        if kind == "date" and isinstance(each, str):
            found.append(each[:10] if _is_day(each[:10]) else toml(each))
        elif isinstance(value, str if kind == "text" else int) and not isinstance(value, bool):
            found.append(toml(value))
    return list(dict.fromkeys(found))


def _is_day(text: str) -> bool:
    return len(text) == 10 and text[4] == text[7] == "-" and (text[:4] + text[5:7] + text[8:]).isdecimal()


def _edges(column: Json, path: str) -> list[Fraction]:
    """Return the borders of bins that lie side by side, or nothing."""
    if isinstance(column.get("edges"), list):
        found = [_exact(each) for each in column["edges"]]
        return [each for each in found if each is not None] if None not in found else []
    bins = sorted(_bins(column, path))
    if not bins or any(before[1] != after[0] for before, after in pairwise(bins)):
        return []
    return [*(each[0] for each in bins), bins[-1][1]]


def _partitions(column: Json, path: str) -> list[Any]:
    """Return the parts of a column; one alone needs no list, as JSON-LD writes it."""
    parts = column.get("partitions") or column.get("publicPartitions") or []
    if not isinstance(parts, list | dict):
        name = printable(_name_of(column))
        raise _refused(path, f'has partitions of "{name}" that are not a list', "Write the partitions as a list.")
    return parts if isinstance(parts, list) else [parts]


def _bins(column: Json, path: str) -> Iterator[tuple[Fraction, Fraction]]:
    for each in _partitions(column, path):
        predicate = _local(_local(each).get("predicate"))
        ends = _exact(predicate.get("lowerBound")), _exact(predicate.get("upperBound"))
        if ends[0] is not None and ends[1] is not None:
            yield ends[0], ends[1]


def _exact(value: Any) -> Fraction | None:
    """Return a number exactly as it is written; None for what is none, or is out of all bounds."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    try:
        number = Decimal(value)
    except (ArithmeticError, ValueError):
        return None
    return Fraction(number) if number.is_finite() and abs(number.adjusted()) <= 100 and len(str(number)) < 400 else None


_HEAD = """\
# What is public about this table, from the metadata {metadata}.  See docs/reference/source.md.
# Check every bound and key: take them from what the columns mean (a code book, a law, a form), never from the data.
# Programs that draft such metadata often compute bounds and keys from the data, and then they reveal single people.

name = {name}"""

_COLUMNS = """\
# A column that is not declared below cannot be named in a query.  Remove the # from the lines you need, and fill in
# every ?.
[columns]"""
