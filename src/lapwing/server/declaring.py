"""What an owner says about a new source in a form → its source file; nothing in it is taken from the cells.

The names and types of columns come from the file, bounds, keys and the person from the owner.  A column about which
nothing is said is left out, and cannot be asked about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from .. import exact
from ..errors import ConflictingParameters, InvalidParameter, MissingParameter, TooLarge
from ..report import toml, toml_name
from ..source_file import FoundColumn, FoundTable
from .uploads import checked_source_name

MOST_COLUMNS = 200
"""How many columns the form shows; more are declared by hand, with ``lapwing init``."""

LONGEST = 20_000
"""How long the list of keys of one column may be."""

ROW = "row"
"""In place of a column: each row is a person."""

_NUMBER = re.compile(r"-?[0-9]{1,16}(\.[0-9]{1,9})?", re.ASCII)
_KEY_TEXT = re.compile(r"[^\x00-\x1f\x7f]{1,200}")

Said = Callable[[str], str]
"""The text of a field of the form, without spaces around it."""


@dataclass(frozen=True)
class Declared:
    """What a form declares: the name of the source, its total ε, and the text of its source file."""

    name: str
    epsilon: str
    text: str


def declared(table: str, found: FoundTable, said: Said) -> Declared:
    """Return what a form says about a table, which is at this place; refuse what is incomplete, and say what."""
    name = checked_source_name(said("name"))
    epsilon = exact.text(exact.epsilon(said("epsilon") or _missing("epsilon", "Say how much ε may ever be spent.")))
    lines = [f"name = {toml(name)}", f"table = {toml(table)}", f"epsilon = {_quoted(epsilon)}"]
    lines += _people(found.columns, said)
    shown = found.columns[:MOST_COLUMNS]
    parts = [_column(number, column, said) for number, column in enumerate(shown) if column.kind is not None]
    columns = [part for part in parts if part]
    if not columns:
        raise MissingParameter("columns", "Give bounds, keys or dates for at least one column.")
    version = said("version")
    if version:
        lines.append(f"version = {toml(_plain(version, 'version'))}")
    file = [found.file] if found.file else []
    return Declared(name, epsilon, "\n\n".join(["\n".join(lines), *file, *columns]) + "\n")


def _quoted(epsilon: str) -> str:
    """Return ε for TOML: a whole number as it is, a fraction as a decimal."""
    return epsilon if "/" not in epsilon else toml(epsilon)


def _people(columns: Sequence[FoundColumn], said: Said) -> list[str]:
    """Return who is protected, in lines."""
    neighbors, person = said("neighbors"), said("person")
    if neighbors not in ("add_remove", "change_one"):
        raise InvalidParameter(neighbors, "neighbors", "add_remove or change_one")
    lines = [f"neighbors = {toml(neighbors)}"]
    if not person:
        _missing("person", "Say which column identifies a person, or that each row is one person.")
    if person == ROW:
        return lines
    column = columns[int(person)] if re.fullmatch("[0-9]{1,6}", person) and int(person) < len(columns) else None
    if column is None or column.kind is None:
        raise InvalidParameter(person, "person", "one of the columns")
    most = exact.whole(said("rows_per_person") or "1", "rows_per_person", 10**6)
    return [*lines, f"person = {toml(column.name)}", f"rows_per_person = {most}"]


def _column(number: int, column: FoundColumn, said: Said) -> str:
    """Return the lines of one column; none if nothing is said about it."""

    def field(name: str) -> str:
        return said(f"{name}-{number}")

    low, high, keys = field("low"), field("high"), field("keys")
    if not (low or high or keys):
        return ""
    if keys and (low or high):
        advice = "Leave one of them empty: bounds are for sums and means, keys to group by."
        raise ConflictingParameters(f"Bounds of {column.name}", "its keys", advice)
    lines = [f"[columns.{toml_name(column.name)}]"]
    if keys:
        lines += _keys(column, keys, field("other"))
    elif column.kind == "date":
        lines += [f"first = {_day(column, low)}", f"last = {_day(column, high)}"]
    else:
        lines += [f"low = {_bound(column, low)}", f"high = {_bound(column, high)}"]
        lines += ["integer = true"] if column.kind == "integer" else []
    for name in ("title", "unit"):
        if field(name):
            lines.append(f"{name} = {toml(_plain(field(name), name))}")
    return "\n".join(lines)


def _keys(column: FoundColumn, text: str, other: str) -> list[str]:
    """Return the keys of a column, one from each line or between commas."""
    if column.kind == "date":
        raise ConflictingParameters(f"keys of {column.name}", "its days", "Give a first and a last day, and no keys.")
    if len(text) > LONGEST:
        size, most = f"{len(text):,} characters", f"{LONGEST:,} characters"
        raise TooLarge(f"The list of keys of {column.name}", size, most, "Write longer ones into the source file.")
    listed = [part.strip() for part in re.split(r"[\n,]", text) if part.strip()]
    for each in listed:
        if not _KEY_TEXT.fullmatch(each):
            raise InvalidParameter(each, f"keys of {column.name}", "texts of at most 200 printable signs")
    if column.kind in ("integer", "boolean"):
        form = r"-?[0-9]{1,15}" if column.kind == "integer" else "true|false"
        values = [each if re.fullmatch(form, each, re.ASCII) else _no_key(column, each) for each in listed]
    else:
        values = [toml(each) for each in listed]
    more = [f"other = {toml(_plain(other, 'other'))}"] if other else []
    return [f"keys = [{', '.join(values)}]", *more]


def _no_key(column: FoundColumn, text: str) -> str:
    kind = "whole numbers" if column.kind == "integer" else "true and false"
    raise InvalidParameter(text, f"keys of {column.name}", f"{kind}, as the column seems to hold")


def _bound(column: FoundColumn, text: str) -> str:
    if not text:
        _missing(f"a bound of {column.name}", "Give both the lowest and the highest value that count.")
    if column.kind not in ("number", "integer") or not _NUMBER.fullmatch(text):
        raise InvalidParameter(text, f"bound of {column.name}", "a number such as 0 or 120.5, for a column of numbers")
    return text


def _day(column: FoundColumn, text: str) -> str:
    try:
        return str(date.fromisoformat(text))
    except ValueError:
        raise InvalidParameter(text, f"bound of {column.name}", "a day such as 2024-01-31") from None


def _plain(text: str, name: str) -> str:
    if not 0 < len(text) <= 200 or not text.isprintable():
        raise InvalidParameter(text, name, "a printable text of at most 200 characters")
    return text


def _missing(name: str, advice: str) -> Any:
    raise MissingParameter(name, advice)


def said_again(values: Mapping[str, str]) -> Said:
    """Return how a template asks for what was said before."""
    return lambda name: values.get(name, "")
