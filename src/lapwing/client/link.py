"""HTTP to a server: JSON there and back, TLS verified, the token in a header and nowhere else."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from ..errors import InvalidParameter, InvalidRequest, LapwingError, ServerError, as_told
from ..version import __version__
from .deadline import Http, Https, read_beyond

_MIB = 2**20
_LARGEST = 256 * _MIB
"""How large an answer may be: a million groups, the most that a server sends, with a dozen statistics."""

_LARGEST_REFUSAL = _MIB
_DAY = 86400
_LONGEST_TEXT = 2000
_WHICH = "Is this the address of a Lapwing server, of the same version?"
_AT_NO_CHARGE = "What was charged stays charged; the same question again completes it at no charge."
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The hosts that are reached without a network: http:// is for them alone."""


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would send the token elsewhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Link:
    """A server's address and a token, if there is one; its repr shows only the address."""

    def __init__(self, url: str, token: str | None, seconds: float, certificates: str | None) -> None:
        parts = _split(url)
        local = parts.hostname in LOOPBACK
        if parts.scheme == "http" and not local:
            raise InvalidRequest(
                "The token would cross the network unencrypted", "Use https://; http:// is for this machine alone."
            )
        self.url = url.rstrip("/")
        self._token, self._seconds = token, _checked_seconds(seconds)
        self._opener = opener(local, certificates)

    def __repr__(self) -> str:
        return f"Link({self.url!r})"

    def get(self, *path: str, **query: Any) -> Any:
        """Return what the server answers to GET."""
        return self.call("GET", path, query=query)

    def post(self, *path: str, body: Mapping[str, Any]) -> Any:
        """Return what the server answers to POST."""
        return self.call("POST", path, body)

    def call(
        self,
        method: str,
        path: tuple[str, ...],
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the JSON of an answer; raise the error that the server tells."""
        address = "/".join([self.url, "api/v1", *(quote(part, safe="") for part in path)])
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {"User-Agent": f"lapwing/{__version__}"}
        headers |= {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        headers |= {"Accept": "application/json", **({} if data is None else {"Content-Type": "application/json"})}
        if asked:
            address += f"?{urlencode(asked)}"
        request = Request(address, data, headers, method=method)  # http and https alone
        status, sent = exchanged(
            self._opener, request, self._seconds, f"The server {self.url}", _AT_NO_CHARGE, _LARGEST
        )
        if not 200 <= status < 300:
            raise _told(status, sent)
        if len(sent) > _LARGEST:
            advice = "Ask for fewer groups or statistics at a time; what was charged stays charged."
            raise ServerError(f"The server's answer is larger than {_LARGEST // _MIB} MiB", advice)
        return _json(sent)


def opener(local: bool, certificates: str | None = None) -> OpenerDirector:
    """Return what opens addresses: TLS is verified, one deadline holds, no redirect is followed."""
    try:
        trusted = ssl.create_default_context(cafile=certificates)
    except (OSError, ValueError):  # an error of TLS is an OSError
        raise InvalidRequest(
            "The file of certificates cannot be read", "Give a file of certificates in PEM format: certificates=…"
        ) from None
    handlers: list[Any] = [_NoRedirect, Http, Https(trusted)]
    return build_opener(*handlers, *([ProxyHandler({})] if local else []))


def exchanged(
    opener: OpenerDirector, request: Request, seconds: float, who: str, advice: str, largest: int
) -> tuple[int, bytes]:
    """Return the status and the body of an answer that is there before the deadline; at most one byte too many."""
    try:
        try:
            with opener.open(request, timeout=seconds) as response:
                return response.status, read_beyond(response, largest)
        except HTTPError as refused:
            with refused:
                return refused.code, read_beyond(refused, _LARGEST_REFUSAL)
    except ssl.SSLError:
        raise ServerError(f"{who} cannot be trusted: its certificate is not valid", advice) from None
    except URLError as error:
        if isinstance(error.reason, ssl.SSLError):
            raise ServerError(f"{who} cannot be trusted: its certificate is not valid", advice) from None
        raise ServerError(f"{who} cannot be reached", advice) from None
    except TimeoutError:
        raise ServerError(f"{who} did not answer within {seconds:g} seconds", advice) from None
    except (OSError, HTTPException):
        raise ServerError(f"{who} did not answer", advice) from None


def _split(url: object) -> SplitResult:
    """Return the parts of an address that can be used, and that holds no secret."""
    try:
        parts = urlsplit(url if isinstance(url, str) and url.isprintable() else "")
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and parts.path.isascii()
    except ValueError:  # such as an IPv6 address without its end, or a port that is no number
        usable = False
    if not usable or any(sign in str(url) for sign in "@?# \\"):
        raise InvalidRequest("The address of the server cannot be used", "Give one such as https://stats.example.")
    return parts


def _checked_seconds(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= _DAY:
        raise InvalidParameter(seconds, "seconds", f"a number above 0, and at most {_DAY:,}, a day")
    return float(seconds)


class Told(dict[str, Any]):
    """An object of JSON that a server sent; one that lacks a field is no answer of a Lapwing server."""

    def __missing__(self, name: str) -> Any:
        raise ServerError(f'The server\'s answer lacks "{name}"', _WHICH)


@contextmanager
def reading(what: str = "The server's answer cannot be read") -> Iterator[None]:
    """Turn what an odd answer raises while it is read into one error."""
    try:
        yield
    except LapwingError as error:  # it may quote what the server sent
        raise refusal(type(error).__name__, error) from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise ServerError(what, _WHICH) from None


def _json(body: bytes) -> Told:
    try:
        told = json.loads(body, object_hook=Told)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, Told):
        raise ServerError("The server's answer is not a JSON object", _WHICH)
    return told


def refusal(name: object, message: object) -> Exception:
    """Return the error that a server tells, with a text that is harmless in a terminal: printable, and not long."""
    text = "".join(sign if sign.isprintable() else " " for sign in str(message)[: _LONGEST_TEXT + 1])
    return as_told(str(name), text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…")


def _told(status: int, body: bytes) -> Exception:
    """Return the error that the server tells."""
    try:
        told = json.loads(body)
        return refusal(told["error"], told["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ServerError(f"The server answered with status {status}, and not as Lapwing does", _WHICH)
