"""Data frames and DuckDB relations, as tables that DuckDB is given."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from ..errors import suggestion
from ..question.query import literal
from . import frames
from .connection import connected, spill_folder
from .given import Handed, Readable, Wanted
from .table import Field, Problem

_COPIED = re.compile(
    r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)|VARCHAR|FLOAT|DOUBLE|BOOLEAN|BLOB|DATE|DECIMAL.*|TIMESTAMP(_NS)?"
    r"|TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ_NS"
)
_RESTORED = ("HUGEINT", "UHUGEINT")
_MOMENTS = ("TIMESTAMP_S", "TIMESTAMP_MS")
"""Types that a copy in Parquet keeps; types that it stores as text, to be converted back to numbers; and moments whose
range is wider than Parquet's."""


UNKNOWN = ""
"""The type of a column of a data frame, before DuckDB has seen it."""


class Frame(Readable):
    """A data frame of pandas or Polars, or an Arrow table."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __repr__(self) -> str:
        return repr(type(self._frame).__name__)

    def fields(self, connection: duckdb.DuckDBPyConnection | None = None) -> list[Field]:
        return [Field(label, UNKNOWN) for label in frames.labels(self._frame)]

    def check(self, wanted: Sequence[Wanted]) -> list[str]:
        """Refuse columns of types that DuckDB does not know; return the types of the others, unknown for objects."""
        with connected() as connection:
            cells = _registered(connection, frames.empty(self._frame), wanted)
        self._check_people(wanted)
        return [UNKNOWN if objects else kind for kind, objects in zip(cells.types, cells.objects, strict=False)]

    def cells(self, connection: duckdb.DuckDBPyConnection, wanted: Sequence[Wanted], fields: Sequence[Field]) -> Handed:
        self._check_people(wanted)
        return _registered(connection, self._frame, wanted)

    def _check_people(self, wanted: Sequence[Wanted]) -> None:
        """Refuse a person column of objects if a float in it may stand for several people."""
        if any(each.kind is None and frames.has_large_floats(self._frame, each.place) for each in wanted):
            raise Problem(
                "has a person column with floats of 2^53 or more, in which several people look the same",
                'In pandas, a column of whole numbers with a missing cell stays one as "Int64".',
            )

    def lacking(self, column: str, names: Sequence[object]) -> tuple[str, str]:
        library = frames.maker_of(self._frame)
        where = "table.column_names" if library == "pyarrow" else "df.columns"
        advice = f"Names are compared exactly: see {where}.{suggestion(column, map(str, names))}"
        return "", f"{advice} df.reset_index() makes an index a column." if library == "pandas" else advice


def _registered(connection: duckdb.DuckDBPyConnection, frame: Any, wanted: Sequence[Wanted]) -> Handed:
    """Return the columns of a frame, which is registered as ``frame``."""
    made, objects = frames.scannable(frame, wanted)
    connection.register("frame", made)
    types = [str(kind) for _, kind, *_ in connection.execute("DESCRIBE frame").fetchall()]
    return Handed("frame", types, objects)


class Relation(Readable):
    """A relation of DuckDB, evaluated once by its own connection."""

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation
        self._lock = threading.Lock()  # a relation has one connection

    def __repr__(self) -> str:
        return repr(type(self._relation).__name__)

    def fields(self, connection: duckdb.DuckDBPyConnection | None = None) -> list[Field]:
        with self._lock:
            return list(map(Field, self._relation.columns, map(str, self._relation.types)))

    def cells(self, connection: duckdb.DuckDBPyConnection, wanted: Sequence[Wanted], fields: Sequence[Field]) -> Handed:
        places = [each.place for each in wanted]
        types = [fields[at].type for at in places]
        copy = str(Path(spill_folder(connection)) / "relation.parquet")
        with self._lock:
            _copy(self._relation, places, types, copy)
        restored = [f"CAST(c{i} AS {kind}) AS c{i}" for i, kind in enumerate(types) if kind in _RESTORED]
        replaced = f" REPLACE ({', '.join(restored)})" if restored else ""
        sql = f"(SELECT *{replaced} FROM read_parquet({literal(copy)}))"
        return Handed(sql, types, [False] * len(places))

    def lacking(self, column: str, names: Sequence[object]) -> tuple[str, str]:
        return "", f"Names are compared exactly: see relation.columns.{suggestion(column, map(str, names))}"


def _copy(relation: duckdb.DuckDBPyRelation, places: Sequence[int], types: Sequence[str], path: str) -> None:
    """Write columns of a relation to Parquet as c0, c1, …; its own connection evaluates it, once.

    Values for which Parquet has no type, such as the largest integers, are written as text.
    """
    chosen = [duckdb.ConstantExpression(1).alias("one")] if not places else []
    for i, (at, kind) in enumerate(zip(places, types, strict=True)):
        to = None if _COPIED.fullmatch(kind) else "TIMESTAMP" if kind in _MOMENTS else "VARCHAR"
        column = f"#{at + 1}" if to is None else f"TRY_CAST(#{at + 1} AS {to})"
        chosen.append(duckdb.SQLExpression(column).alias(f"c{i}"))
    relation.select(*chosen).write_parquet(path)
