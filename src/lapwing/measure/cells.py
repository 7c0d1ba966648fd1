"""Columns of whole numbers: int64 if all of them fit, else Python's own integers; nothing is ever rounded.

An answer with many numbers records a column as text: base64 of zlib of its numbers, each in ``width`` bytes, the fewest
that hold all of them, little-endian and in two's complement (docs/reference/ledger.md).
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..noise.entropy import Entropy
from ..noise.sampler import discrete_laplace

Column = NDArray[Any]
Progress = Callable[[float], None]

READABLE = 100_000
"""An answer with at most this many integers records them as lists of numbers, which people can read."""

_ARRAY_SCALE = 2**50
_AT_ONCE = 2**16
_WORD = 8
_WIDEST = 37
"""In bytes: the 2·10^7 integers that a release may have take less than the 10^9 characters that databases hold."""


def column(values: Sequence[int] | Column) -> Column:
    """Return whole numbers as a column."""
    exactly = np.asarray(values, dtype=object)
    try:
        return exactly.astype(np.int64)
    except OverflowError:
        return exactly


def largest(values: Column) -> int:
    """Return the largest absolute value; 0 for an empty column."""
    return max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0


def add(into: Column, places: NDArray[np.int64], values: Column) -> Column:
    """Return a column with values added at some places, all different; it may be the same column, changed."""
    if object not in (into.dtype, values.dtype) and largest(into) + largest(values) < 2**63:
        into[places] += values
        return into
    exactly = into.astype(object)
    exactly[places] += values.astype(object)
    return exactly


def draws(scale: Fraction, size: int, entropy: Entropy, progress: Progress | None = None) -> Column:
    """Return independent noise as a column; beyond what int64 holds, as Python's integers."""
    if scale <= _ARRAY_SCALE:
        return discrete_laplace(scale, size, entropy=entropy)
    noise = np.empty(size, dtype=object)
    for i in range(size):
        if progress is not None and i % 1000 == 0:
            progress(i / size)
        noise[i] = discrete_laplace(scale, entropy=entropy)
    return noise


def recorded(columns: Sequence[Sequence[Column]]) -> list[list[Any]]:
    """Return columns for JSON: as lists, or packed if there are many numbers."""
    many = sum(each.size for cells in columns for each in cells) > READABLE
    return [[packed(each) if many else each.tolist() for each in cells] for cells in columns]


def packed(values: Column) -> dict[str, Any]:
    """Return a column as a width and a text."""
    ends = [0, 0] if not values.size else [int(values.min()), int(values.max())]
    width = max(-(-(1 + (end if end >= 0 else ~end).bit_length()) // 8) for end in ends)
    if width > _WIDEST:
        raise OverflowError
    packing = zlib.compressobj(1)  # noise hardly gets shorter with more effort
    starts = range(0, values.size, _AT_ONCE)
    pieces = [packing.compress(_as_bytes(values[start : start + _AT_ONCE], width)) for start in starts]
    return {"width": width, "packed": b64encode(b"".join([*pieces, packing.flush()])).decode()}


def unpacked(record: Any, length: int) -> Column:
    """Return a column from its record by ``recorded``; raise ValueError if it is not a column of this length."""
    if isinstance(record, list):
        if len(record) != length or any(type(each) is not int for each in record):
            raise ValueError
        return column(record)
    if not isinstance(record, dict) or set(record) != {"width", "packed"} or not isinstance(record["packed"], str):
        raise ValueError
    width = record["width"]
    if type(width) is not int or not 0 < width <= _WIDEST:
        raise ValueError
    raw = _inflated(record["packed"], width * length)
    if width > _WORD:
        whole = [int.from_bytes(raw[i : i + width], "little", signed=True) for i in range(0, len(raw), width)]
        return np.array(whole, dtype=object)
    numbers = np.zeros(length, dtype="<i8")
    numbers.view(np.uint8).reshape(length, _WORD)[:, _WORD - width :] = np.frombuffer(raw, np.uint8).reshape(-1, width)
    numbers >>= 8 * (_WORD - width)  # from the top down, so that the sign comes along
    return numbers.astype(np.int64, copy=False)


def _as_bytes(values: Column, width: int) -> bytes:
    if width > _WORD:
        return b"".join(int(each).to_bytes(width, "little", signed=True) for each in values.tolist())
    return values.astype("<i8").view(np.uint8).reshape(-1, _WORD)[:, :width].tobytes()


def _inflated(text: str, size: int) -> bytearray:
    """Return the bytes of a packed text, of which there must be ``size``."""
    unpacking, raw = zlib.decompressobj(), bytearray()
    try:
        for start in range(0, len(text), _AT_ONCE):
            raw += unpacking.decompress(b64decode(text[start : start + _AT_ONCE], validate=True))
            if len(raw) > size:
                raise ValueError
    except zlib.error:
        raise ValueError from None
    if len(raw) != size or not unpacking.eof or unpacking.unused_data:
        raise ValueError
    return raw
