"""Compressed files of text: a stream of what is in them, which refuses a damaged file, and one made to fill a disk.

The ending of the name tells how a file is compressed.  Zstandard has been in Python's own library since 3.14; before,
its backport is needed (the extra ``zstd``).
"""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import installing
from .table import Problem

MOST = 200
"""A file that becomes more than this many times as large is refused, unless it stays small."""

SMALL = 2**27
"""Bytes up to which a file may become, however small it is."""


def _zstd(file: str) -> Any:
    for library in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(library).open(file)
        except ModuleNotFoundError:
            continue
    raise Problem(
        f'cannot be read: for the file "{file}" the library backports.zstd is needed',
        installing("zstd"),
    )


_OPENED: dict[str, tuple[str, Callable[[str], Any]]] = {
    ".gz": ("gzip", gzip.open),
    ".bz2": ("bzip2", bz2.open),
    ".zst": ("Zstandard", _zstd),
}
ENDINGS = tuple(_OPENED)
"""The endings of compressed files."""


def is_compressed(path: str) -> bool:
    """Return whether the ending of a name says that the file is compressed."""
    return path.lower().endswith(ENDINGS)


def uncompressed(path: str) -> str:
    """Return a path in lower case, without the ending of a compressed file."""
    path = path.lower()
    return path[: path.rfind(".")] if path.endswith(ENDINGS) else path


def opened(file: str) -> io.BufferedIOBase:
    """Return a stream of the bytes of a file, decompressed if its name says that it is compressed."""
    for ending, (title, opens) in _OPENED.items():
        if file.lower().endswith(ending):
            return io.BufferedReader(_Decompressed(file, title, opens(file)), 2**20)
    return Path(file).open("rb")


class _Decompressed(io.RawIOBase):
    """What is in a compressed file."""

    def __init__(self, file: str, title: str, stream: Any) -> None:
        self._file, self._title, self._stream = file, title, stream
        self._left = max(MOST * Path(file).stat().st_size, SMALL)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        damaged = False
        try:
            data = self._stream.read(len(buffer))
        except (EOFError, OSError, zlib.error, ValueError):
            damaged = True
        except Exception as error:  # that of the library for Zstandard, which may not be there
            if type(error).__name__ != "ZstdError":
                raise
            damaged = True
        if damaged:  # outside the handlers, so that the library's own error is not chained to it
            raise Problem(
                f'cannot be read: the file "{self._file}" is damaged or incomplete, or not compressed by {self._title}',
                "Write it again.",
            )
        self._left -= len(data)
        if self._left < 0:
            raise Problem(
                f'cannot be read: the file "{self._file}" becomes more than {MOST} times as large when it is '
                "decompressed",
                "If that is right, decompress it, and name the decompressed file.",
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()
