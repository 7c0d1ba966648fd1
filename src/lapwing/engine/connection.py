"""A connection of DuckDB with the settings that claim E0 needs, and a folder for temporary files."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import duckdb

from .table import Problem

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "preserve_insertion_order": "false",
}
_SETTINGS = """
SET pandas_analyze_sample = 0; SET TimeZone = 'UTC'; SET disabled_optimizers = 'statistics_propagation'
"""
"""Statistics of a Parquet file ignore NaN: an optimizer that relies on them would read NaN as a number."""

_SIZE = re.compile(r"[1-9]\d{0,5}(\.\d+)? ?[KMGT]i?B")


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection whose folder for temporary files is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="lapwing-") as spill:
        config: dict[str, Any] = {**_CONFIG, "temp_directory": spill}
        limit = os.environ.get("LAPWING_MEMORY")
        if limit is not None:
            if not _SIZE.fullmatch(limit):
                raise Problem(f'cannot be read with LAPWING_MEMORY = "{limit}"', "Write a size such as 1GB.")
            config["memory_limit"] = limit
        with duckdb.connect(":memory:", config=config) as connection:
            connection.execute(_SETTINGS)
            measure_progress(connection)
            yield connection


def measure_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Let a connection tell how much of a query is done, and print nothing.

    In a notebook DuckDB refuses every setting of its progress if ipywidgets is not installed.  Then it tells nothing.
    """
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")


def write_in_step(connection: duckdb.DuckDBPyConnection) -> None:
    """Let a connection write to files in the threads that make the rows, so that an interrupt always ends it.

    With other threads for input and output, DuckDB 2.0 may wait for ever for what these were to do for a statement that
    was cancelled (duckdb/duckdb#25564).
    """
    connection.execute("SET async_threads = 0")


def spill_folder(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the folder for temporary files of a connection."""
    (folder,) = connection.execute("SELECT current_setting('temp_directory')").fetchall()[0]
    return str(folder)
