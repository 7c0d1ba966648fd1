"""A Parquet file of an answer, with its public parameters in the metadata of the file, under the key lapwing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from glob import escape
from pathlib import Path

import duckdb

from ..engine.connection import write_in_step
from ..engine.table import interruptible
from ..question.query import literal
from .described import Answer, ExportColumn, facts_of

KEY = "lapwing"


def write_parquet_with_metadata(answer: Answer, columns: Sequence[ExportColumn], path: Path) -> None:
    """Write the numbers and what they are."""
    plain = path.with_name(f"{path.stem}-plain.parquet")
    answer.to_parquet(plain)
    told = json.dumps({**facts_of(answer), "columns": [_described(each) for each in columns]})
    with duckdb.connect(":memory:") as connection:
        write_in_step(connection)
        source = f"read_parquet({literal(escape(str(plain)))}, hive_partitioning = false)"
        metadata = f"KV_METADATA {{{KEY}: {literal(told)}}}"
        copy = f"COPY (SELECT * FROM {source}) TO {literal(str(path))} (FORMAT parquet, {metadata})"
        interruptible(lambda: connection.execute(copy), lambda: None, connection.interrupt)
    plain.unlink()


def _described(column: ExportColumn) -> dict[str, object]:
    shown = {name: value for name, value in asdict(column).items() if value is not None and name != "values"}
    return {**shown, **(shown.pop("about", None) or {})}
