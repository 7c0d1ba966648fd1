"""Data frames of pandas and Polars, and Arrow tables: their columns in a form that DuckDB reads (claim E0).

A library chooses the type of a column from all of its cells: in pandas, one None turns whole numbers into floats, and
one text turns them into objects.  So each object is read by itself, by the rule that ``reading`` has for types.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any
from uuid import UUID

import numpy as np

from ..question.codes import Kind
from .given import Wanted
from .reading import EXACT, MARK
from .table import Problem

_NATIVE = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
_MOMENTS = ("datetime64[s]", "datetime64[ms]", "datetime64[us]", "datetime64[ns]")
_MASKED = ("boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64")
"""pandas types of which DuckDB reads every cell unchanged."""

_LARGE = ("Int128", "UInt128", "Float16")
"""Polars types of numbers that Arrow or DuckDB lack."""


_FRAMES = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("polars", "LazyFrame"), ("pyarrow", "Table"))
_NEARLY = (
    ("pandas", "Series", "a data frame: series.to_frame() makes one"),
    ("polars", "Series", "a data frame: series.to_frame() makes one"),
    ("pyarrow", "RecordBatch", "an Arrow table: pa.Table.from_batches([batch]) makes one"),
    ("pyarrow", "RecordBatchReader", "an Arrow table: reader.read_all() makes one"),
    ("pyarrow.dataset", "Dataset", "an Arrow table: dataset.to_table() makes one"),
)
"""Classes of tables, by their libraries; and classes that are almost tables, with what turns them into tables."""


def maker_of(given: Any) -> str | None:
    """Return the library of a data frame or Arrow table; if it is one, the library has been imported."""
    for library, name in _FRAMES:
        if _is_a(given, library, name):
            return library
    return None


def is_too_old(given: Any) -> bool:
    """Return whether a frame is of a pandas with which claim E0 does not hold: 3.0 is the first that was tested."""
    return maker_of(given) == "pandas" and int(sys.modules["pandas"].__version__.partition(".")[0]) < 3


def remedy(given: Any) -> str | None:
    """Return what to give instead of something that is almost a table."""
    return next((what for library, name, what in _NEARLY if _is_a(given, library, name)), None)


def _is_a(given: Any, library: str, name: str) -> bool:
    """Return whether something is an instance of a class; if so, its library has been imported."""
    return isinstance(given, getattr(sys.modules.get(library), name, ()))


def labels(frame: Any) -> list[object]:
    """Return the names of the columns, in their order; they may repeat, and in pandas they may not be texts."""
    if _is_lazy(frame):
        return list(frame.collect_schema().names())
    return list(frame.column_names if maker_of(frame) == "pyarrow" else frame.columns)


def empty(frame: Any) -> Any:
    """Return the frame without its rows: the types of its columns stay."""
    if _is_lazy(frame):
        return sys.modules["polars"].DataFrame(schema=frame.collect_schema())
    return frame.slice(0, 0) if maker_of(frame) == "pyarrow" else frame.head(0)


def scannable(frame: Any, wanted: Sequence[Wanted]) -> tuple[Any, list[bool]]:
    """Return the columns as c0, c1, … in a form that DuckDB can scan more than once, and which were objects."""
    library = maker_of(frame)
    if _is_lazy(frame):
        frame = _collected(frame, [each.place for each in wanted])
        wanted = [Wanted(place, each.kind) for place, each in enumerate(wanted)]
    if library == "pandas":
        return _from_pandas([_pandas_column(frame.iloc[:, each.place], each.kind) for each in wanted], len(frame))
    if library == "polars":
        columns = [_polars_column(frame.to_series(each.place), each.kind) for each in wanted]
    else:
        columns = [_arrow_column(frame.column(each.place), each.kind) for each in wanted]
    return _arrow_table([column for column, _ in columns], len(frame)), [objects for _, objects in columns]


def has_large_floats(frame: Any, place: int) -> bool:
    """Return whether a column of objects holds a float of 2^53 or more: as people, several would look the same.

    They occur if pandas first turned whole numbers into floats, because one was missing, and then into objects.
    """
    library = maker_of(frame)
    if _is_lazy(frame):
        if str(frame.collect_schema().dtypes()[place]) == "Object":  # nothing is collected before the charge
            raise Problem("is a lazy frame whose person column holds Python objects", "Collect it: df.collect().")
        return False
    if library == "polars":
        column = frame.to_series(place)
        return str(column.dtype) == "Object" and any(map(_is_large_float, column.to_list()))
    if library != "pandas":
        return False
    column = frame.iloc[:, place]
    if str(column.dtype) == "category":
        return any(map(_is_large_float, column.cat.remove_unused_categories().cat.categories.astype(object)))
    return str(column.dtype) == "object" and any(map(_is_large_float, column))


# --- pandas ---


def _from_pandas(columns: Sequence[tuple[Any, bool]], rows: int) -> tuple[Any, list[bool]]:
    objects = [was for _, was in columns]
    if any(_is_arrow(column) for column, _ in columns):
        return _arrow_table([_to_arrow(column) for column, _ in columns], rows), objects
    pandas = sys.modules["pandas"]
    made = pandas.DataFrame({f"c{i}": column for i, (column, _) in enumerate(columns)}, copy=False)
    return (made if columns else pandas.DataFrame({"one": np.ones(rows, dtype=np.int8)})), objects


def _pandas_column(column: Any, kind: Kind | None) -> tuple[Any, bool]:
    """Return a column that DuckDB reads as it is, and whether it was one of objects."""
    name = str(column.dtype)
    if name in _NATIVE:
        return _forward(column.to_numpy()), False
    if name in _MASKED:
        return column.array.copy(), False  # forward, as ``_forward``
    if name.startswith("datetime64["):
        naive = column if name in _MOMENTS else column.dt.tz_convert("UTC").dt.tz_localize(None)
        values = naive.to_numpy()
        return _forward(_seconds(values) if values.dtype == "datetime64[ns]" else values), False
    if name in ("float16", "float128", "longdouble"):
        with np.errstate(all="ignore"):
            return column.to_numpy().astype(np.float64), False
    if name.startswith("complex"):
        values = column.to_numpy()
        return np.where(values.imag == 0, values.real, math.nan).astype(np.float64), False
    if _is_arrow(column):
        made, objects = _arrow_column(column.array.__arrow_array__(), kind)
        return (np.array(made.to_pylist(), dtype=object) if objects else column.array), objects
    if getattr(column.dtype, "storage", None) == "pyarrow":  # a text type, whose cells are all UTF-8
        return column.array, False
    if name.startswith("Sparse"):
        return _pandas_column(column.sparse.to_dense(), kind)
    if name == "category":
        return _categories(column.cat.remove_unused_categories(), kind), True
    return np.array(converted(column.astype(object), kind), dtype=object), True


def _seconds(values: Any) -> Any:
    """Return nanoseconds rounded down to seconds: NumPy's way overflows, and DuckDB reads the ends as infinity."""
    whole = values.view(np.int64)
    seconds = np.floor_divide(whole, 10**9).view("datetime64[s]")
    seconds[np.isnat(values)] = np.datetime64("NaT")
    return seconds


def _forward(values: Any) -> Any:
    """Return the values in the order in which they lie in memory: DuckDB fails on a view that runs backward."""
    return values if values.strides[0] > 0 else values.copy()


def _categories(column: Any, kind: Kind | None) -> Any:
    """Return a categorical column with its categories converted; several may become one."""
    texts = converted(column.cat.categories.astype(object), kind)
    distinct = list(dict.fromkeys(text for text in texts if text is not None))
    places = {text: i for i, text in enumerate(distinct)}
    renamed = np.array([*(-1 if text is None else places[text] for text in texts), -1], dtype=np.int64)
    codes = renamed[column.cat.codes.to_numpy()]  # -1, the code of a missing cell, finds the last
    return sys.modules["pandas"].Categorical.from_codes(codes, categories=np.array(distinct, dtype=object))


def _is_arrow(column: Any) -> bool:
    return type(getattr(column, "dtype", None)).__name__ == "ArrowDtype"


# --- Polars ---


def _is_lazy(frame: Any) -> bool:
    return _is_a(frame, "polars", "LazyFrame")


def _collected(frame: Any, places: Sequence[int]) -> Any:
    """Return the data frame of these columns of a lazy one; of no columns, one with as many rows.

    It is collected once for all queries of a release, so they see the same state of it.
    """
    polars = sys.modules["polars"]
    try:
        if places:
            return frame.select(polars.nth(at).alias(f"c{i}") for i, at in enumerate(places)).collect()
        (rows,) = frame.select(polars.len()).collect().row(0)
    except polars.exceptions.PanicException:  # not an Exception, so its message would get out
        pass
    else:
        return polars.DataFrame({"one": np.ones(rows, dtype=np.int8)})
    raise Problem("is a Polars lazy frame that could not be collected", "Collect it: df.collect().")


# --- Arrow ---


def _polars_column(column: Any, kind: Kind | None) -> tuple[Any, bool]:
    polars = sys.modules["polars"]
    name = str(column.dtype)
    if name == "Object":
        return polars.Series(converted(column.to_list(), kind), dtype=polars.String).to_arrow(), True
    if name in _LARGE:
        column = column.cast(polars.String if kind is None and name != "Float16" else polars.Float64)
    try:
        return column.to_arrow(), False
    except ImportError:
        raise Problem("is a Polars data frame, for which pyarrow is needed (pip install pyarrow)") from None


def _arrow_column(column: Any, kind: Kind | None) -> tuple[Any, bool]:
    """Return a column of Arrow, and whether it was read as objects: decimals too wide for DuckDB."""
    arrow = import_module("pyarrow")
    if arrow.types.is_decimal256(column.type):
        return arrow.array(converted(column.to_pylist(), kind), arrow.string()), True
    return column, False


def _to_arrow(column: Any) -> Any:
    arrow = import_module("pyarrow")
    texts = isinstance(column, np.ndarray) and column.dtype == object
    return arrow.array(column, type=arrow.string() if texts else None)


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
        column = column.cast(arrow.timestamp(kind.unit))  # the moment in UTC
    if arrow.types.is_timestamp(kind) and kind.unit == "ns":
        compute = import_module("pyarrow.compute")
        whole = column.cast(arrow.int64())
        seconds = compute.divide(whole, 10**9)  # toward 0, so one too many if a negative remainder is left
        beyond = compute.less(compute.subtract(whole, compute.multiply(seconds, 10**9)), 0)
        return compute.subtract(seconds, beyond.cast(arrow.int64())).cast(arrow.timestamp("s"))
    return column.cast(arrow.float32()) if arrow.types.is_float16(kind) else column


# --- objects ---


def converted(values: Iterable[Any], kind: Kind | None) -> list[str | None]:
    """Return objects as texts, by a rule that cannot fail, each by itself."""
    convert = _person if kind is None else _OF_KIND[kind]
    return [
        value if kind is not None and type(value) is str and value.isascii() else _safe(convert, value)
        for value in values
    ]


def _safe(convert: Callable[[Any], str | None], value: Any) -> str | None:
    """Return the text of an object; overridden methods are not called: they could return or raise anything."""
    try:
        plain = _plain(value)
        if convert is not _person and isinstance(plain, str | bytes):
            return _text(plain) if isinstance(plain, str) else plain.decode()
        return convert(plain)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a cell never chooses an error
        return None


def _plain(value: Any) -> Any:
    """Return the value of an object as one of Python's own types, None if it is of a kind that is not read."""
    kind = type(value)  # not isinstance, which an object can deceive
    if kind in _OWN:
        return value
    if kind.__module__ == "numpy":
        return _plain_numpy(value)
    for base, plain in _BASES.items():
        if issubclass(kind, base):
            return plain(value) if kind.__module__.split(".")[0] != "pandas" else _plain_pandas(value)
    return None


def _plain_numpy(value: Any) -> Any:
    if isinstance(value, np.timedelta64):
        return None
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[D]").item()
    if isinstance(value, np.longdouble | np.clongdouble):
        return complex(value) if isinstance(value, np.clongdouble) else float(value)
    return value.item() if isinstance(value, np.generic) else None


def _plain_pandas(value: Any) -> Any:
    """Return the day of pandas' own moment, in UTC if it has a time zone; NaT has none."""
    return (value if value.tzinfo is None else value.tz_convert("UTC")).date()


def _plain_moment(value: datetime) -> date:
    return datetime.date(value if value.tzinfo is None else datetime.astimezone(value, UTC))


_OWN = (str, bool, int, float, complex, bytes, Decimal, Fraction, date, UUID, type(None))
_BASES: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    bytes: lambda value: b"".join([value]),
    Decimal: Decimal,
    datetime: _plain_moment,
    date: lambda value: date(value.year, value.month, value.day),
    UUID: lambda value: UUID(UUID.__str__(value)),
}
"""How the value of an object whose class is derived from one of these is taken, by the methods of the base."""


def _is_large_float(value: Any) -> bool:
    kind = type(value)
    return issubclass(kind, float | np.floating) and EXACT <= abs(float.__float__(float(value))) < math.inf


def _person(value: Any) -> str | None:
    """Return a text that two people share if, and only if, they are equal: 1 is 1.0 but not "1".

    Objects other than texts, whole numbers, UUIDs and bytes are nobody, and so are texts that begin with the mark.
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
    number = _whole(value)
    return None if number is None else f"{MARK}number {number}/1"


def _whole(value: Any) -> int | None:
    """Return the whole number that a value is; a float only below 2^53."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float | complex):
        v = _number(value)
        return int(v) if v is not None and v.is_integer() and abs(v) < EXACT else None
    if isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS:
            return None
        return int(value) if value == value.to_integral_value() else None
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else None
    return value if isinstance(value, int) else None


_MOST_DIGITS = 1000


def _text(value: str) -> str:
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


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
    return value.isoformat() if isinstance(value, date) else None


_OF_KIND: dict[Kind, Callable[[Any], str | None]] = {
    "number": _as_number,
    "integer": _as_number,
    "text": _as_text,
    "boolean": _as_boolean,
    "date": _as_date,
}
"""The text from which ``reading`` gets, for this kind, the object's value."""


def _number(value: Any) -> float | None:
    """Return the 64-bit float nearest to a finite real number; a truth value is 1 or 0."""
    if isinstance(value, complex):
        value = value.real if value.imag == 0 else math.nan
    v = float(value) if isinstance(value, int | float | Decimal | Fraction) else math.nan
    return v if math.isfinite(v) else None
