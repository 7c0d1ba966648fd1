"""What a source names as its table → the engine that reads it."""

from __future__ import annotations

from typing import Any

from .duckdb import DuckDBTable
from .postgres import PostgresTable
from .spark import SparkTable, is_spark
from .table import Table

_POSTGRES = ("postgresql://", "postgres://")
_SPARK = ("spark:", "sc://")


def connect(given: Any, name: str) -> Table:
    """Return the table; nothing is opened before it is asked."""
    if isinstance(given, str) and given.startswith(_POSTGRES):
        return PostgresTable(given, name)
    if is_spark(given) or (isinstance(given, str) and given.startswith(_SPARK)):
        return SparkTable(given, name)
    return DuckDBTable(given, name)


def is_url(table: str) -> bool:
    """Return whether a table is named by the URL of an engine, and not by a path."""
    return table.startswith(_POSTGRES + _SPARK)
