"""Text in other encodings, as UTF-8 on the fly.

Every byte has a meaning, so that no cell can make a file unreadable.  The five bytes that Windows-1252 leaves undefined
are control characters, as in browsers.  Half of a pair in UTF-16 becomes bytes that are not UTF-8, for which
``records`` has a rule.  Only half a character at the end of a file is refused.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable

from .table import Problem

_WINDOWS = "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256))
_MARKS = {b"\xff\xfe": "utf-16le", b"\xfe\xff": "utf-16be"}
_NO_MARK = (
    "has a file that does not begin with a byte order mark, as UTF-16 does",
    'Say which form it has: encoding = "utf-16le" or "utf-16be"; or another encoding.',
)
_HALF = (
    "has a file in UTF-16 with half a character at its end",
    "Write it again: it is damaged, or has another encoding.",
)


def as_utf8(raw: io.BufferedIOBase, encoding: str | None) -> io.BufferedIOBase:
    """Return a stream of the same text in UTF-8."""
    if encoding in (None, "utf-8"):
        return raw
    if encoding in ("latin-1", "windows-1252"):
        table = None if encoding == "latin-1" else _WINDOWS
        return Transcoded(raw, 1, lambda data: codecs.charmap_decode(data, "strict", table)[0])
    if encoding == "utf-16":
        start = raw.read(2)
        if start and start not in _MARKS:
            raw.close()
            raise Problem(*_NO_MARK)
        encoding = _MARKS.get(start)
    codec = "utf-16-be" if encoding == "utf-16be" else "utf-16-le"
    return Transcoded(raw, 2, lambda data: data.decode(codec, "surrogatepass"), big=codec.endswith("be"))


class Transcoded(io.BufferedIOBase):
    """A stream in UTF-8 over one in units of one or two bytes."""

    def __init__(self, raw: io.BufferedIOBase, unit: int, decode: Callable[[bytes], str], big: bool = False) -> None:
        self._raw = raw
        self._unit = unit
        self._decode = decode
        self._high = 0 if big else 1
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Return text of about so many bytes; none only at the end."""
        while True:
            data = self._raw.read(size)
            text = self._rest + data
            whole = self._whole(text) if data else len(text)
            if not data and len(text) % self._unit:
                raise Problem(*_HALF)
            self._rest = text[whole:]
            if whole or not data:
                return self._decode(text[:whole]).encode("utf-8", "surrogatepass")

    def _whole(self, text: bytes) -> int:
        """Return how many bytes are whole characters: what follows the first half of a pair is not known yet."""
        whole = len(text) // self._unit * self._unit
        if self._unit == 2 and whole and 0xD8 <= text[whole - 2 + self._high] <= 0xDB:
            whole -= 2
        return whole

    def close(self) -> None:
        self._raw.close()
        super().close()


_MARKED = b"\n\xef\xbb\xbf"


class Unmarked(io.BufferedIOBase):
    """A stream without the byte order marks that stand at the start of a line.

    The first line of a file without a header is a row: a mark is ignored in all rows, or in none.
    """

    def __init__(self, raw: io.BufferedIOBase) -> None:
        self._raw = raw
        self._rest = b"\n"  # before the first line, and not part of the text
        self._at_start = True
        self.found = False
        """Whether there was a mark in what was read so far."""

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Return text of about so many bytes; none only at the end."""
        while True:
            data = self._raw.read(size)
            text = self._rest + data
            open_end = next((n for n in (3, 2, 1) if data and text.endswith(_MARKED[:n])), 0)
            text, self._rest = text[: len(text) - open_end], text[len(text) - open_end :]
            clean = text.replace(_MARKED, b"\n")
            self.found |= len(clean) < len(text)
            if self._at_start and clean:
                clean, self._at_start = clean[1:], False
            if clean or not data:
                return clean

    def close(self) -> None:
        self._raw.close()
        super().close()
