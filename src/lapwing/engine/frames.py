"""Data frames of pandas and Polars, and Arrow tables: their columns in a form that DuckDB reads (claim E0).

A library chooses the type of a column by all of its cells: one None makes floats of pandas' whole numbers, one text
makes objects of them.  So objects follow, one by one, the rule that ``reading`` has for types.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from importlib import import_module
from numbers import Number
from typing import Any
from uuid import UUID

import numpy as np

from ..schema import Kind
from .reading import EXACT, MARK
from .table import Problem

_NATIVE = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
_MOMENTS = ("datetime64[s]", "datetime64[ms]", "datetime64[us]", "datetime64[ns]")
_MASKED = ("boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64")
"""pandas' types of which DuckDB reads every cell as it is."""

_LARGE = ("Int128", "UInt128", "Float16")
"""Polars' types of numbers that Arrow or DuckDB do not have."""


@dataclass(frozen=True)
class Wanted:
    """A column to read: where it stands in the frame, and what it is declared as; None for the person."""

    place: int
    kind: Kind | None


def library_of(given: Any) -> str | None:
    """Return the library that a data frame or Arrow table is of, which must have been imported to make it."""
    for library, name in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        module = sys.modules.get(library)
        if module is not None and isinstance(given, getattr(module, name)):
            return library
    return None


def labels(frame: Any) -> list[object]:
    """Return the names of the columns, in their order; they may repeat, and pandas' may be no texts."""
    return list(frame.column_names if library_of(frame) == "pyarrow" else frame.columns)


def empty(frame: Any) -> Any:
    """Return the frame without its rows: the types of its columns stay."""
    return frame.slice(0, 0) if library_of(frame) == "pyarrow" else frame.head(0)


def scannable(frame: Any, wanted: Sequence[Wanted]) -> tuple[Any, list[bool]]:
    """Return the columns as c0, c1, … in a form that DuckDB can scan more than once, and which were objects."""
    library = library_of(frame)
    if library == "pandas":
        return _from_pandas([_pandas_column(frame.iloc[:, each.place], each.kind) for each in wanted], len(frame))
    if library == "polars":
        columns = [_polars_column(frame.to_series(each.place), each.kind) for each in wanted]
    else:
        columns = [(frame.column(each.place), False) for each in wanted]
    return _arrow_table([column for column, _ in columns], len(frame)), [objects for _, objects in columns]


# --- pandas ---


def _from_pandas(columns: Sequence[tuple[Any, bool]], rows: int) -> tuple[Any, list[bool]]:
    arrow = any(_is_arrow(column) for column, _ in columns)
    objects = [was for _, was in columns]
    if arrow:
        return _arrow_table([_to_arrow(column) for column, _ in columns], rows), objects
    pandas = sys.modules["pandas"]
    made = pandas.DataFrame({f"c{i}": column for i, (column, _) in enumerate(columns)}, copy=False)
    return (made if columns else pandas.DataFrame({"one": np.ones(rows, dtype=np.int8)})), objects


def _pandas_column(column: Any, kind: Kind | None) -> tuple[Any, bool]:
    """Return a column that DuckDB reads as it is, and whether it was one of objects."""
    name = str(column.dtype)
    if name in (*_NATIVE, *_MOMENTS, *_MASKED) or _is_arrow(column):
        return column.array, False
    if name.startswith("datetime64["):  # with a time zone
        return column.dt.tz_convert("UTC").dt.tz_localize(None).array, False
    if name in ("float16", "float128", "longdouble"):
        return column.astype(np.float64).array, False
    if getattr(column.dtype, "storage", None) == "pyarrow":  # a text type, in which every cell is UTF-8
        return column.array, False
    if name.startswith("complex"):
        return np.where(column.to_numpy().imag == 0, column.to_numpy().real, math.nan), False
    if name.startswith("Sparse"):
        return _pandas_column(column.sparse.to_dense(), kind)
    if name == "category":
        return _categories(column, kind), True
    return np.array(_converted(column.astype(object), kind), dtype=object), True


def _categories(column: Any, kind: Kind | None) -> Any:
    """Return a categorical column with its categories converted; several may become one."""
    texts = _converted(column.cat.categories.astype(object), kind)
    distinct = list(dict.fromkeys(text for text in texts if text is not None))
    places = {text: i for i, text in enumerate(distinct)}
    renamed = np.array([*(-1 if text is None else places[text] for text in texts), -1], dtype=np.int64)
    codes = renamed[column.cat.codes.to_numpy()]  # -1, the code of a missing cell, finds the last
    return sys.modules["pandas"].Categorical.from_codes(codes, categories=np.array(distinct, dtype=object))


def _is_arrow(column: Any) -> bool:
    return type(getattr(column, "dtype", None)).__name__ == "ArrowDtype"


# --- Arrow ---


def _polars_column(column: Any, kind: Kind | None) -> tuple[Any, bool]:
    polars = sys.modules["polars"]
    name = str(column.dtype)
    if name == "Object":
        return polars.Series(_converted(column.to_list(), kind), dtype=polars.String).to_arrow(), True
    if name in _LARGE:
        column = column.cast(polars.String if kind is None and name != "Float16" else polars.Float64)
    try:
        return column.to_arrow(), False
    except ImportError:
        raise Problem("is a Polars data frame, for which pyarrow is needed (pip install pyarrow)") from None


def _to_arrow(column: Any) -> Any:
    arrow = import_module("pyarrow")
    if isinstance(column, np.ndarray):
        return arrow.array(column, type=arrow.string())
    return arrow.array(column)


def _arrow_table(columns: Sequence[Any], rows: int) -> Any:
    arrow = import_module("pyarrow")
    if not columns:
        return arrow.table({"one": np.ones(rows, dtype=np.int8)})
    return arrow.table({f"c{i}": _readable(column) for i, column in enumerate(columns)})


def _readable(column: Any) -> Any:
    """Return a column of Arrow with a type that DuckDB reads without a conversion that a cell could make fail."""
    arrow = import_module("pyarrow")
    kind = column.type
    if arrow.types.is_timestamp(kind) and kind.tz is not None:
        return column.cast(arrow.timestamp(kind.unit))  # the moment in UTC
    return column.cast(arrow.float32()) if arrow.types.is_float16(kind) else column


# --- objects ---


def _converted(values: Iterable[Any], kind: Kind | None) -> list[str | None]:
    """Return objects as texts, by a rule that cannot fail, each by itself."""
    convert = person_of if kind is None else _OF_KIND[kind]
    return [
        value if kind is not None and isinstance(value, str) and value.isascii() else _safe(convert, value)
        for value in values
    ]


def _safe(convert: Callable[[Any], str | None], value: Any) -> str | None:
    try:
        if convert is not person_of and isinstance(value, str | bytes):
            return _text(value) if isinstance(value, str) else value.decode()
        return convert(value)
    except Exception:  # a cell never chooses an error
        return None


def person_of(value: Any) -> str | None:
    """Return a text that two people share if, and only if, they are equal: 1 is 1.0 but not "1".

    Nobody is what is no text, number, UUID or bytes, a float that is not whole or not below 2^53, and a text with the
    mark in front.
    """
    if isinstance(value, str):
        text = _text(value)
        if text.startswith(MARK):
            return None
        return text if text == value else f"{MARK}text {value!a}"
    if isinstance(value, bytes):
        return f"{MARK}bytes {value.hex()}"
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bool | np.bool_) or not _is_number(value):
        return None
    if isinstance(value, float | np.floating | complex | np.complexfloating):
        v = _number(value)
        if v is None or not v.is_integer() or abs(v) >= EXACT:
            return None
        value = int(v)
    number = Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)
    return f"{MARK}number {number.numerator}/{number.denominator}"


def _text(value: str) -> str:
    return value if value.isascii() else str(value).encode("utf-8", "replace").decode()


def _as_number(value: Any) -> str | None:
    v = _number(value)
    return None if v is None else repr(v)


def _as_text(value: Any) -> str | None:
    if isinstance(value, UUID):
        return str(value)
    v = _number(value)
    return str(int(v)) if v is not None and v.is_integer() and abs(v) < EXACT else None


def _as_boolean(value: Any) -> str | None:
    v = _number(value)
    return None if v is None else str(v != 0).lower()


def _as_date(value: Any) -> str | None:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]").item()
    if isinstance(value, datetime):
        value = (value if value.tzinfo is None else value.astimezone(UTC)).date()
    return value.isoformat() if isinstance(value, date) and value == value else None  # NaT is not equal to itself


_OF_KIND: dict[Kind, Callable[[Any], str | None]] = {
    "number": _as_number,
    "integer": _as_number,
    "text": _as_text,
    "boolean": _as_boolean,
    "date": _as_date,
}
"""The text that ``reading`` reads, as this kind, as the value that the object has."""


def _number(value: Any) -> float | None:
    """Return the 64-bit float nearest to a finite real number; a truth value is 1 or 0."""
    if not _is_number(value):
        return None
    if isinstance(value, complex | np.complexfloating):
        value = value.real if value.imag == 0 else math.nan
    v = float(value)
    return v if math.isfinite(v) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, Number | np.bool_) and not isinstance(value, np.timedelta64)  # which says it is one
