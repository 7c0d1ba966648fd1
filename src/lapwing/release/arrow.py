"""How other libraries read a release: as a stream of Arrow's C data interface, piece by piece.

Everything that knows the protocol can read it: pyarrow, Polars, pandas, DuckDB and others.  DuckDB makes the stream, so
that the others are not needed here, and holds the numbers until they are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ..errors import MissingLibrary
from ..question.query import quoted

_CASTS = {"O": "VARCHAR", "M": "DATE"}
"""By the kind of a NumPy array: the type that DuckDB would otherwise guess from its cells."""


def stream(pieces: Iterable[Mapping[str, NDArray[Any]]], wanted: object = None) -> object:
    """Return a capsule with the columns of all pieces, one after the other; objects are texts, and moments are days.

    Columns are named by numbers until the last step, which quotes their own names.
    """
    connection = duckdb.connect(":memory:")
    names: Sequence[str] = ()
    for number, piece in enumerate(pieces):
        names = tuple(piece)
        columns = {f"c{i}": column for i, column in enumerate(piece.values())}
        read = ", ".join(_read(name, column) for name, column in columns.items())
        connection.register("piece", columns)
        to = "INSERT INTO released" if number else "CREATE TABLE released AS"
        connection.execute(f"{to} SELECT {read} FROM piece")
        connection.unregister("piece")
    shown = ", ".join(f"c{i} AS {quoted(name)}" for i, name in enumerate(names))
    try:
        return connection.sql(f"SELECT {shown} FROM released").__arrow_c_stream__(wanted)
    except ImportError:  # before version 2, DuckDB makes the stream with pyarrow
        raise MissingLibrary("pyarrow") from None


def _read(name: str, column: NDArray[Any]) -> str:
    cast = _CASTS.get(column.dtype.kind)
    return name if cast is None else f"CAST({name} AS {cast}) AS {name}"


def days(dates: Sequence[Any]) -> NDArray[Any]:
    """Return dates as an array that is read as days."""
    return np.array(dates, dtype="datetime64[D]").astype("datetime64[s]")
