"""What a source names as its table → the engine that reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ..errors import InvalidAddress, InvalidParameter, InvalidSource
from ..question.file import AS_USUAL, File
from ..question.join import Join
from .duckdb import DuckDBTable
from .joins import joined_title
from .look_up import LookUp
from .postgres import PostgresTable, relation_names
from .spark import SparkTable, is_spark
from .table import Table

_POSTGRES = ("postgresql://", "postgres://")
_SPARK = ("spark:", "sc://")
_URL = re.compile(r".*://|postgres(ql)?:|.*\bpassword\s*=", re.IGNORECASE | re.DOTALL)
"""Probably a URL or connection settings: taken as a path, it would be shown, password included."""

_HARMLESS = ("use_ssl", "user_id")
"""The settings of a Spark Connect URL that may be stored."""


def connect(given: Any, name: str, file: File = AS_USUAL) -> Table:
    """Return the table; nothing is opened before the first question."""
    if file != AS_USUAL and (is_spark(given) or (isinstance(given, str) and is_url(given))):
        raise InvalidSource(name, "describes a file, but its table is on a server", "Leave file out.")
    if isinstance(given, str) and given.startswith(_POSTGRES):
        return PostgresTable(given, name)
    if is_spark(given) or (isinstance(given, str) and given.startswith(_SPARK)):
        return SparkTable(given, name)
    if isinstance(given, str) and is_url(given):
        allowed = "the path of a file, or what begins with postgresql://, spark: or sc://"
        raise InvalidAddress("table", f"Give {allowed}.")
    return DuckDBTable(given, name, file)


def connect_joins(table: Table, given: Any, joins: Sequence[Join], name: str) -> tuple[Join, ...]:
    """Return the joins with what reads their look-ups; tables of the same people become known to the table."""
    connected, people = [], {}
    for number, each in enumerate(joins):
        place = each.table
        if isinstance(place, str) and place.startswith("#") and isinstance(given, str) and is_url(given):
            place = given.partition("#")[0] + place  # another table of the same database
        shown = title(fspath(place)) if isinstance(place, str | PathLike) else f"join {number + 1}"
        each = replace(each, table=None, name=shown)
        other = connect(place, joined_title(name, each), each.file)
        if each.on is not None:
            each = replace(each, reader=LookUp(other))
        elif table.joins_with(other):
            people[number] = other
        else:
            what = f'joins "{shown}" as a table of people, which is in another engine, database or session'
            raise InvalidSource(name, what, "Tables of people are joined where they are: put both into one place.")
        connected.append(each)
    table.joined = people
    return tuple(connected)


def is_url(table: str) -> bool:
    """Return whether a table is named by the URL of an engine, and not by a path."""
    return table.startswith(_SPARK) or _URL.match(table) is not None


def title(table: str) -> str:
    """Return the name of a file without its endings, or that of a table without its schema."""
    if table.startswith(_POSTGRES):
        return relation_names(table.partition("#")[2])[-1]
    if table.startswith(_SPARK):
        return re.split(r"[#:.`]", table.rstrip("`"))[-1]
    return Path(table).name.split(".")[0]


def public(table: Table, given: str) -> str:
    """Return how a table is named, without a password or token, to be stored."""
    if isinstance(table, PostgresTable):
        return table.public()
    if not given.startswith("sc://"):
        return given
    where, _, name = given.partition("#")
    server, *settings = where.split(";")
    kept = [each for each in settings if each.partition("=")[0] in _HARMLESS]
    return ";".join([re.sub("^sc://[^/]*@", "sc://", server), *kept]) + f"#{name}"


def public_rows_of(table: Table, said: object, person: object, neighbors: object) -> bool:
    """Return whether the number of rows is public under change_one: as declared, and by default if it is stored."""
    if said is None:
        return table.stored
    if not isinstance(said, bool):
        raise InvalidParameter(said, "public_rows", "true or false")
    if said and table.is_csv:
        raise InvalidSource(
            table.name,
            "says public_rows, but a row of its file may be left out because of what is in it",
            "Use Parquet, or leave public_rows out.",
        )
    if said and (neighbors != "change_one" or person is not None):
        why = "has a person column" if person is not None else 'protects whether a row is there ("add_remove")'
        raise InvalidSource(
            table.name,
            f"says public_rows, but {why}",
            'public_rows needs neighbors = "change_one" and no person column: leave it out.',
        )
    return said
