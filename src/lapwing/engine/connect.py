"""What a source names as its table → the engine that reads it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..errors import InvalidAddress, InvalidSource
from ..question.file import AS_USUAL, File
from .duckdb import DuckDBTable
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
