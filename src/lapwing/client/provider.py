"""An OpenID provider: where its parts are, and requests to it with limits.

A provider is reached by https, or on this machine; one deadline holds for each request, its answer is small, and no
redirect is followed.  Its document must name the issuer that was asked for.  Nothing that it sends is run or shown,
but the address and the code that a person needs to sign in.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, quote_plus, urlencode, urlsplit
from urllib.request import Request

from ..errors import InvalidRequest, ServerError
from ..version import __version__
from .link import LOOPBACK, exchanged, opener

_SECONDS = 10.0
_LARGEST = 2**18
_LONGEST = 2000
_ADVICE = "Try again later, or sign in with a token."
_WELL_KNOWN = "/.well-known/openid-configuration"


@dataclass(frozen=True)
class Provider:
    """What the document of a provider says."""

    issuer: str
    authorization: str | None
    token: str
    keys: str
    device: str | None
    end_session: str | None
    names_itself: bool
    takes_claims: bool
    takes_basic: bool


class ProviderLink:
    """Requests to the provider with this issuer."""

    def __init__(self, issuer: str, seconds: float = _SECONDS) -> None:
        self.issuer, self._seconds = checked_issuer(issuer), seconds
        self.local = _is_local(urlsplit(issuer))
        self._opener = opener(self.local)

    def __repr__(self) -> str:
        return f"ProviderLink({self.issuer!r})"

    def discover(self) -> Provider:
        """Return what the provider says about itself."""
        said = self.get(self.issuer.rstrip("/") + _WELL_KNOWN)
        if said.get("issuer") != self.issuer:
            raise self.odd("names a different issuer from the one that was asked for")
        methods = said.get("token_endpoint_auth_methods_supported")
        found = {name: self._address(said, f"{name}_endpoint") for name in _ENDPOINTS}
        keys, token = self._address(said, "jwks_uri"), found["token"]
        if keys is None or token is None:
            raise self.odd("does not say where its keys and its tokens are")
        return Provider(
            self.issuer,
            found["authorization"],
            token,
            keys,
            found["device_authorization"],
            found["end_session"],
            said.get("authorization_response_iss_parameter_supported") is True,
            said.get("claims_parameter_supported") is True,
            not isinstance(methods, list) or "client_secret_basic" in methods,
        )

    def _address(self, said: Mapping[str, Any], name: str) -> str | None:
        """Return an address of the document, if it has it; one that cannot be used is refused."""
        address = said.get(name)
        if address is not None and not is_usable(address, self.local):
            raise self.odd(f"gives an address that cannot be used as its {name}")
        return address

    def get(self, address: str) -> dict[str, Any]:
        """Return the JSON at an address of the provider."""
        status, told = self._exchanged(Request(address, headers=_HEADERS))
        if status != 200:
            raise self.odd(f"answered with status {status}")
        return told

    def post(
        self, address: str, fields: Mapping[str, str], secret: tuple[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Return the status and the JSON that follow on a form; ``secret`` is the name and the password of a client."""
        headers = {**_HEADERS, "Content-Type": "application/x-www-form-urlencoded"}
        if secret is not None:
            pair = ":".join(map(quote_plus, secret)).encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return self._exchanged(Request(address, urlencode(fields).encode(), headers, method="POST"))

    def _exchanged(self, request: Request) -> tuple[int, dict[str, Any]]:
        who = f"The sign-in provider {self.issuer}"
        status, sent = exchanged(self._opener, request, self._seconds, who, _ADVICE, _LARGEST)
        try:
            told = json.loads(sent) if len(sent) <= _LARGEST else None
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise self.odd(f"answered with status {status}, and not with a JSON object")
        return status, told

    def odd(self, what: str) -> ServerError:
        """Return the error of an answer that cannot be used."""
        return ServerError(f"The sign-in provider {self.issuer} {what}", "Ask whoever runs it.")


_ENDPOINTS = ("authorization", "token", "device_authorization", "end_session")
_HEADERS = {"Accept": "application/json", "User-Agent": f"lapwing/{__version__}"}


def checked_issuer(issuer: object) -> str:
    """Return an issuer that can be used: https, or http on this machine."""
    if not isinstance(issuer, str) or not is_usable(issuer, _is_local(_parts(issuer))) or "?" in issuer:
        raise InvalidRequest(
            "The issuer of OpenID Connect cannot be used",
            "Give its address, such as https://login.example; http:// is for this machine alone.",
        )
    return issuer


def is_usable(address: object, local: bool) -> bool:
    """Return whether an address is an https address, or if ``local``, also one of this machine; and holds no secret."""
    if not isinstance(address, str) or len(address) > _LONGEST or not address.isascii() or not address.isprintable():
        return False
    parts = _parts(address)
    if not parts.netloc or any(sign in address for sign in '@#\\ "<>'):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and local and _is_local(parts))


def _parts(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        return parts if parts.hostname and parts.port != 0 else urlsplit("")
    except ValueError:  # such as a port that is no number
        return urlsplit("")


def _is_local(parts: SplitResult) -> bool:
    return parts.hostname in LOOPBACK
