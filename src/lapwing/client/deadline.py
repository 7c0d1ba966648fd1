"""HTTP with one deadline for a whole exchange: connection, TLS, request, headers and body.

The timeout of a socket is for one read: a server that sends a byte now and then could hold a client for ever.
"""

from __future__ import annotations

from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from io import BufferedReader, RawIOBase
from socket import socket
from ssl import SSLContext
from time import monotonic
from typing import IO, Any
from urllib.request import HTTPHandler, HTTPSHandler, Request

_PIECE = 2**18


def read_beyond(response: IO[bytes], most: int) -> bytes:
    """Return what a server sends, and of more than ``most`` bytes only one byte too many."""
    pieces, left = [], most + 1
    while left and (piece := response.read(min(left, _PIECE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _left(end: float) -> float:
    """Return the seconds until the deadline."""
    left = end - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _Timed(RawIOBase):
    """The bytes from a socket, until the deadline."""

    def __init__(self, raw: Any, sock: socket, end: float) -> None:
        super().__init__()
        self._raw, self._sock, self._end = raw, sock, end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_left(self._end))
        count: int | None = self._raw.readinto(buffer)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket, *given: Any, end: float, **named: Any) -> None:
        super().__init__(sock, *given, **named)
        opened: Any = self.fp
        self.fp = BufferedReader(_Timed(opened.detach(), sock, end))


class _Connection(HTTPConnection):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._end = monotonic() + float(self.timeout or 0)
        self.response_class: Any = partial(_Response, end=self._end)

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(_left(self._end))


class _SafeConnection(HTTPSConnection, _Connection):
    """With TLS, whose handshake comes after ``_Connection.connect`` and has the time that is left."""


class Http(HTTPHandler):
    """Opens http:// with a deadline."""

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Connection, req)


class Https(HTTPSHandler):
    """Opens https:// with a deadline."""

    def __init__(self, context: SSLContext) -> None:
        super().__init__(context=context)
        self._trusted = context

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_SafeConnection, req, context=self._trusted)
