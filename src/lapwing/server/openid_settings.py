"""How people sign in by OpenID Connect, as a frozen value: the table ``[openid]`` of the settings.

The secret of the client comes from a file that its owner alone can read, or from the environment; never from the
command line, and it is in no text of this value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..client.provider import checked_issuer, is_usable
from ..client.token_file import LONGEST, private_text
from ..errors import InvalidParameter, InvalidRequest, MissingParameter, Shown, suggestion

ALGORITHMS: Mapping[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "RS384": ("RSA", None),
    "RS512": ("RSA", None),
    "PS256": ("RSA", None),
    "PS384": ("RSA", None),
    "PS512": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The algorithms that can be allowed, with the kind and the curve of their keys: signatures by private keys alone."""

NAMED_BY = ("email", "sub")
"""Claims that can name a person: an address that the provider has verified, or the provider's own name."""

_LISTS = ("algorithms", "scopes")
_SECRET_FROM = ("client_secret_file", "client_secret_variable")


@dataclass(frozen=True)
class OpenId:
    """How people sign in by OpenID Connect.

    Args:
        issuer: the address of the provider, exactly as it names itself.
        client_id: what the provider calls this server.
        url: the address of this server, as browsers call it: the provider sends them back to it.
        client_secret: the secret of this client, if it has one.
        terminal_client_id: what the provider calls the terminal; a client without a secret, for the device flow.
        person: the claim that names a person.
        algorithms: the algorithms of signatures that are accepted.
        scopes: what the provider is asked for.
    """

    issuer: str
    client_id: str
    url: str
    client_secret: str | None = field(default=None, repr=False)
    terminal_client_id: str | None = None
    person: str = "email"
    algorithms: tuple[str, ...] = ("RS256", "PS256", "ES256")
    scopes: tuple[str, ...] = ("openid", "email")

    @property
    def terminal(self) -> str | None:
        """What the terminal says it is, if it can sign in: a client with a secret is not for others' machines."""
        return self.terminal_client_id or (self.client_id if self.client_secret is None else None)

    @property
    def returns_to(self) -> str:
        """Where the provider sends browsers back."""
        return f"{self.url}/sign-in/openid/return"


_KNOWN = [each.name for each in fields(OpenId) if each.name != "client_secret"] + [*_SECRET_FROM]


def openid_of(said: object, folder: Path, environment: Mapping[str, str] = os.environ) -> OpenId:
    """Return what a table of TOML says, checked; paths are relative to its folder."""
    if not isinstance(said, dict):
        raise InvalidParameter(Shown("something else"), "openid", "a table: [openid]")
    for name in said:
        if name not in _KNOWN:
            known = ", ".join(_KNOWN)
            raise InvalidParameter(name, "setting of openid", f"one of {known}.{suggestion(name, _KNOWN)}".rstrip("."))
    for name in ("issuer", "client_id", "url"):
        if name not in said:
            raise MissingParameter(f"openid.{name}", "docs/reference/server.md says what [openid] needs.")
    given: dict[str, Any] = {name: (_texts if name in _LISTS else _text)(name, value) for name, value in said.items()}
    made: OpenId = OpenId(**{name: value for name, value in given.items() if name not in _SECRET_FROM})
    made = replace(made, client_secret=_secret(given, folder, environment))
    checked_issuer(made.issuer)
    _check(made)
    return made


def _check(made: OpenId) -> None:
    parts = urlsplit(made.url)
    if not is_usable(made.url, True) or parts.path or parts.query:
        raise InvalidParameter(made.url, "openid.url", "the address of this server, such as https://stats.example")
    if made.person not in NAMED_BY:
        raise InvalidParameter(made.person, "openid.person", " or ".join(NAMED_BY))
    unknown = [each for each in made.algorithms if each not in ALGORITHMS]
    if unknown or not made.algorithms:
        raise InvalidParameter(made.algorithms, "openid.algorithms", f"some of {', '.join(ALGORITHMS)}")
    if "openid" not in made.scopes:
        raise MissingParameter("openid.scopes", 'OpenID Connect needs the scope "openid".')


def _secret(given: Mapping[str, Any], folder: Path, environment: Mapping[str, str]) -> str | None:
    """Return the secret of the client, from where the settings say."""
    file, variable = (given.get(name) for name in _SECRET_FROM)
    if file is not None and variable is not None:
        raise InvalidRequest("The secret of the client was given twice", f"Give one of {' and '.join(_SECRET_FROM)}.")
    if file is not None:
        found: str | None = private_text(folder / file, "the secret of the client")
    elif variable is not None:
        found = environment.get(variable, "").strip()
    else:
        return None
    if not found or not found.isascii() or not found.isprintable() or len(found) > LONGEST:
        raise InvalidRequest("The secret of the client is empty or malformed", "Give it as the provider shows it.")
    return found


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable():
        raise InvalidParameter(value, f"openid.{name}", "a text of printable signs")
    return value


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidParameter(Shown("something else"), f"openid.{name}", "a list of texts")
    return tuple(_text(name, each) for each in value)
