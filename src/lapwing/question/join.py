"""Tables that a source joins to its own: a table of the same people, or a public look-up.

A table of the same people is joined on the person.  A look-up is declared public; it is joined on a declared column,
and has every key once.  Nothing else is joined: rows of different people never meet (claims J1 and J2, engine/joins).

A row without a partner stays, and its joined cells are missing.  A declared column comes from the table of the source,
unless a join lists it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ConflictingParameters, InvalidParameter, InvalidSource, MissingParameter, Shown, suggestion
from .codes import is_unicode
from .file import AS_USUAL, File

if TYPE_CHECKING:
    from .schema import Schema

MOST_JOINS = 20
_MOST_COLUMNS = 10_000

PublicCell = str | float | bool | date | None
"""A cell of a look-up, of its declared type."""


@dataclass(frozen=True, repr=False)
class Content:
    """The rows of a look-up: its keys, and the cells of each declared column, in one order."""

    keys: tuple[PublicCell, ...]
    cells: Mapping[str, tuple[PublicCell, ...]]

    def digest(self, names: Sequence[str]) -> str:
        """Return a digest of the keys and of some columns, which does not depend on the order of the rows."""
        rows = zip(self.keys, *(self.cells[name] for name in names), strict=True)
        written = sorted(json.dumps([str(cell) if isinstance(cell, date) else cell for cell in row]) for row in rows)
        return hashlib.sha256("\n".join(written).encode()).hexdigest()


class Reader(Protocol):
    """What reads a look-up: once, so that the rows of which the ledger has the digest are those that are joined."""

    def content(self, schema: Schema, join: Join) -> Content:
        """Return its rows, by the declarations of the schema; refuse a look-up that has a key twice."""

    def again(self) -> Reader:
        """Return a reader of the same table that has not read it."""


@dataclass(frozen=True)
class Join:
    """A joined table; ``join`` makes one, checked.

    ``columns`` has for each declared column its name in the joined table.  ``person`` is the person column of a table
    of the same people; ``on`` are the declared column and the key of a look-up, in this order.
    """

    columns: tuple[tuple[str, str], ...]
    person: str | None = None
    on: tuple[str, str] | None = None
    file: File = AS_USUAL
    name: str = ""
    """What the table is called in messages: no part of a question."""

    table: Any = field(default=None, compare=False, repr=False)
    """What was given as the table, until the source connects it."""

    reader: Reader | None = field(default=None, compare=False, repr=False)

    def named(self, columns: Sequence[str]) -> list[tuple[str, str]]:
        """Return those of the columns that come from this table, with their names there."""
        return [(declared, there) for declared, there in self.columns if declared in columns]

    def content(self, schema: Schema) -> Content:
        """Return the rows of a look-up."""
        assert self.reader is not None
        return self.reader.content(schema, self)


def join(
    table: Any,
    *,
    columns: Iterable[str] | Mapping[str, str],
    person: str | None = None,
    public: bool = False,
    on: str | Mapping[str, str] | None = None,
    file: File | None = None,
) -> Join:
    """Describe a table that is joined to that of a source: of the same people, or a public look-up.

    Args:
        table: as for ``Source``; a table of the same people is in the same engine as the table of the source.  Of one
            on a server, "#patients" names another table of the same database.
        columns: the columns that it adds, each of which is declared in the columns of the source; a mapping gives for
            a declared name the name in this table, such as {"patient_age": "age"}.
        person: for a table of the same people, the column that identifies the person.
        public: true for a look-up: its content is public, and depends on no row of the table of the source.
        on: for a look-up, the declared column whose value is looked up; as a mapping, {"postcode": "code"} says what
            the column is called in the look-up.
        file: how its files are written, if not as usual: ``lw.file(…)``.
    """
    if not isinstance(public, bool):
        raise InvalidParameter(public, "public", "true or false")
    if file is not None and not isinstance(file, File):
        raise InvalidParameter(file, "file", "lw.file(…)")
    if public and person is not None:
        raise ConflictingParameters("person", "public", "A look-up holds no people; a table of people is not public.")
    if not public and person is None:
        advice = "Name the person column of this table; or say public = true, if it is a look-up that is public."
        raise MissingParameter("person", advice)
    if person is not None and (not isinstance(person, str) or not person):
        raise InvalidParameter(person, "person", "the name of a column")
    if not public and on is not None:
        raise ConflictingParameters("person", "on", "Tables of people are joined on the person alone; leave on out.")
    if public and on is None:
        raise MissingParameter("on", 'Name the declared column that is looked up: on = "postcode".')
    pairs = _pairs(columns, "columns", "a list of columns, or a table from declared names to names in this table")
    keyed = 'a column such as "postcode", or {"postcode": "code"}'
    key = () if on is None else _pairs([on] if isinstance(on, str) else on, "on", keyed)
    if len(key) > 1:
        raise InvalidParameter(Shown(f"{len(key)} columns"), "on", "one column")
    if key and key[0][1] in dict(pairs).values():
        raise InvalidParameter(key[0][1], "columns", "other columns of the look-up than its key")
    return Join(pairs, person, key[0] if key else None, file or AS_USUAL, table=table)


def _pairs(given: Any, what: str, allowed: str) -> tuple[tuple[str, str], ...]:
    """Return (declared name, name in the joined table) of columns."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidParameter(given, what, allowed)
    pairs = tuple(given.items()) if isinstance(given, Mapping) else tuple((name, name) for name in given)
    for name in (name for pair in pairs for name in pair):
        if not isinstance(name, str) or not name or "\0" in name or not is_unicode(name):
            raise InvalidParameter(name, what, allowed)
    if not 0 < len(pairs) <= _MOST_COLUMNS:
        raise InvalidParameter(Shown(f"{len(pairs)} columns"), what, f"{allowed}, at least one")
    for names in zip(*pairs, strict=True):
        if len(set(names)) < len(names):
            raise InvalidParameter(Shown("a column twice"), what, allowed)
    return pairs


def check_joins(schema: Schema) -> None:
    """Refuse joins that do not fit the declarations, from public facts alone."""
    if len(schema.joins) > MOST_JOINS:
        what = f"has {len(schema.joins)} joins, and at most {MOST_JOINS} are possible"
        raise InvalidSource(schema.name, what, "Join the tables that are asked about.")
    listed: set[str] = set()
    for each in schema.joins:
        for name, _ in each.columns:
            if name not in schema.columns:
                what = f'lists the column "{name}" in the join of "{each.name}", and does not declare it'
                advice = f"Declare it, as [columns.{name}], or leave it out.{suggestion(name, schema.columns)}"
                raise InvalidSource(schema.name, what, advice)
            if schema.columns[name].is_computed:
                what = f'lists the computed column "{name}" in the join of "{each.name}"'
                raise InvalidSource(schema.name, what, "A computed column is in no table: list those it is made of.")
            if name in listed:
                what = f'has the column "{name}" in two joins'
                raise InvalidSource(schema.name, what, 'Give one of them another name: columns = {other = "…"}.')
            listed.add(name)
    known = listed - {name for each in schema.joins if each.on is not None for name, _ in each.columns}
    for each in schema.joins:
        if each.on is None and schema.person is None:
            what = f'joins "{each.name}" as a table of people, and names no person column itself'
            raise InvalidSource(schema.name, what, "Name the person, or declare the joined table public, as a look-up.")
        if each.on is not None:
            _check_key(schema, each, each.on[0], known | (set(schema.columns) - listed))
            known |= {name for name, _ in each.columns}


def _check_key(schema: Schema, each: Join, key: str, known: set[str]) -> None:
    """Refuse a look-up whose key is no declared column of the rows before it, or a number that need not be whole."""
    if key not in schema.columns:
        what = f'looks up the column "{key}" in "{each.name}", and does not declare it'
        raise InvalidSource(schema.name, what, f"Declare it, with its type.{suggestion(key, schema.columns)}")
    if schema.columns[key].is_computed:
        what = f'looks up the computed column "{key}" in "{each.name}"'
        raise InvalidSource(schema.name, what, "Look up a column of a table.")
    if key not in known:
        what = f'looks up the column "{key}" in "{each.name}", before the look-up that adds "{key}"'
        raise InvalidSource(schema.name, what, "Put the joins into the order in which they are made.")
    if schema.columns[key].kind == "number":
        what = f'looks up the column "{key}", which is declared as a number that need not be whole'
        raise InvalidSource(schema.name, what, "Declare it as a text, an integer, a date or a boolean.")


# --- what a question needs ---


def joins_read(schema: Schema, columns: Sequence[str]) -> list[tuple[int, Join]]:
    """Return the joins that a question about these columns makes, with their numbers.

    Tables of people are always joined, since they may multiply rows; look-ups only where one of their columns is read.
    """
    needed, read = set(columns), []
    for number, each in reversed(list(enumerate(schema.joins))):
        if each.on is None:
            read.append((number, each))
        elif needed & {name for name, _ in each.columns}:
            needed.add(each.on[0])
            read.append((number, each))
    return sorted(read, key=lambda pair: (pair[1].on is not None, pair[0]))


def columns_needed(schema: Schema, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns, and the keys of the look-ups that they need."""
    keys = {each.on[0] for _, each in joins_read(schema, columns) if each.on is not None}
    return (*columns, *(name for name in schema.columns if name in keys - set(columns)))


def own_columns(schema: Schema, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that the table of the source itself must have, of all that are needed."""
    if not schema.joins:
        return tuple(columns)
    joined = {name for each in schema.joins for name, _ in each.columns}
    return tuple(name for name in columns_needed(schema, columns) if name not in joined)


def described_joins(schema: Schema, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the answer to a question about these columns depends on in its joins, for JSON."""
    return list(_described(schema, columns))


def _described(schema: Schema, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    needed = columns_needed(schema, columns)
    for _, each in joins_read(schema, columns):
        named = each.named(needed)
        about: dict[str, Any] = {"columns": dict(named)}
        if each.on is None:
            about["person"] = each.person
            declared = schema.columns.get(schema.person or "")
            if declared is not None and declared.kind == "integer":
                about["type"] = "integer"  # what a text of digits is as a person
        else:
            key = each.on[0]
            digest = each.content(schema).digest([name for name, _ in named])
            about = {"on": key, "type": schema.columns[key].read_as(), "columns": [name for name, _ in named]}
            about["content"] = f"SHA-256 {digest}"
        if each.on is None and (described := each.file.describe()):
            about["file"] = described
        yield about
