"""How a server runs, as a frozen value: every default is the safe one, and what is unsafe is refused at the start.

Settings come from the command line and from a TOML file; the command line wins.  Reading them runs no code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .. import exact
from ..errors import InvalidParameter, InvalidRequest, MissingParameter, Shown, suggestion
from ..ledger.place import user_folder
from .openid_settings import OpenId, openid_of

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Settings:
    """How a server runs.

    Args:
        sources: the source files that it serves.
        host: the address on which it listens.
        port: the port on which it listens.
        certificate: the file of the TLS certificate, with its chain.
        key: the file of its private key.
        behind_proxy: whether a proxy in front of it ends TLS; without it and without a certificate, the server listens
            only to its own machine.
        names: the names by which clients call it, as in the Host header; its own address if none are given.
        access: the record of people and tokens: an SQLite file or a postgresql:// URL.
        epsilon_per_question: the largest ε that one question may ask for.
        requests_per_minute: how many requests one person may make in a minute, by tokens with the same sources.
        at_once: how many questions are computed at the same time.
        waiting: how many more may wait.
        seconds: how long a request waits for its answer before it becomes a job.
        body_bytes: how large a request may be.
        body_seconds: how long a request may take to arrive.
        sources_folder: the folder in which people who may make sources put tables; nobody makes any without it.
        epsilon_per_source: the largest total ε of a source that someone makes there.
        upload_bytes: how large a table may be that they upload.
        upload_seconds: how long it may take to arrive.
        lease_seconds: how long after the last sign of a server others take up its jobs.
        openid: how people sign in by OpenID Connect, if they can.
        audit_report: the file of ``lapwing audit --format json`` that owners and auditors see.
    """

    sources: tuple[str, ...]
    host: str = "127.0.0.1"
    port: int = 8765
    certificate: str | None = None
    key: str | None = None
    behind_proxy: bool = False
    names: tuple[str, ...] = ()
    access: str = field(default="", repr=False)  # a URL may have a password
    epsilon_per_question: Fraction | None = None
    requests_per_minute: int = 600
    at_once: int = 2
    waiting: int = 100
    seconds: int = 60
    body_bytes: int = 1_000_000
    body_seconds: int = 10
    sources_folder: str | None = None
    epsilon_per_source: Fraction = Fraction(10)
    upload_bytes: int = 200_000_000
    upload_seconds: int = 600
    lease_seconds: int = 15
    openid: OpenId | None = None
    audit_report: str | None = None

    @property
    def hosts(self) -> frozenset[str]:
        """The names in the Host header, in lower case and without a port, that the server answers to."""
        own = f"[{self.host}]" if ":" in self.host else self.host
        return frozenset(name.lower() for name in (self.names or (*_LOOPBACK, own)))

    @property
    def encrypted(self) -> bool:
        """Whether clients reach it by TLS."""
        return self.certificate is not None or self.behind_proxy


def settings_of(config: str | None, given: Mapping[str, Any]) -> Settings:
    """Return the settings of a TOML file and of a command line, checked; what is None was not given."""
    said = {} if config is None else _read(config)
    said |= {name: value for name, value in given.items() if value not in (None, (), False)}
    if not said.get("sources") and not said.get("sources_folder"):
        raise MissingParameter("sources", "Name the source files to serve: lapwing serve visits.toml.")
    said["access"] = access_place(said.get("access"))
    said.setdefault("sources", ())
    made = Settings(**{name: _checked(name, value) for name, value in said.items()})
    _refuse_unsafe(made)
    return made


def access_place(named: str | None, config: str | None = None) -> str:
    """Return where the record of people and tokens is: as named, as in a TOML file, or in the user's folder."""
    if named is None and config is not None:
        named = _read(config).get("access")
    if named:
        return named
    folder = user_folder()
    if folder is None:
        raise MissingParameter("access", 'You have no home folder: name a file, access = "…".')
    return str(folder / "access.sqlite")


_KNOWN = {each.name: each.type for each in fields(Settings)}
_PATHS = ("certificate", "key", "access", "sources_folder", "audit_report")


def _read(config: str) -> dict[str, Any]:
    """Return what a TOML file says; paths in it are relative to the file."""
    place = Path(config)
    try:
        said = tomllib.loads(place.read_text(encoding="utf-8"), parse_float=str)  # numbers stay as they are written
    except (OSError, ValueError, RecursionError):
        raise InvalidRequest(
            f'The settings in "{config}" cannot be read', "Give the path of a TOML file: docs/reference/server.md."
        ) from None
    for name in said:
        if name not in _KNOWN:
            known = ", ".join(_KNOWN)
            raise InvalidParameter(name, "setting", f"one of {known}.{suggestion(name, _KNOWN)}".rstrip("."))
    for name in _PATHS:
        if isinstance(said.get(name), str) and "://" not in said[name]:
            said[name] = str(place.parent / said[name])
    if "openid" in said:
        said["openid"] = openid_of(said["openid"], place.parent)
    if isinstance(said.get("sources"), list):
        said["sources"] = [str(place.parent / each) for each in said["sources"] if isinstance(each, str)]
    return said


def _checked(name: str, value: Any) -> Any:
    """Return the value of a setting, of its type."""
    if isinstance(value, OpenId):
        return value
    if name in ("sources", "names"):
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
            raise InvalidParameter(Shown("something else"), name, "a list of texts")
        return tuple(value)
    if name in ("epsilon_per_question", "epsilon_per_source"):
        return exact.epsilon(value)
    if name == "behind_proxy":
        if not isinstance(value, bool):
            raise InvalidParameter(value, name, "true or false")
        return value
    if _KNOWN[name] == "int":
        return exact.whole(value, name, 65535 if name == "port" else 10**9)
    if not isinstance(value, str) or not value:
        raise InvalidParameter(value, name, "a text")
    return value


def _refuse_unsafe(made: Settings) -> None:
    """Refuse settings by which tokens would cross a network unencrypted, or names that anyone could choose."""
    if (made.certificate is None) != (made.key is None):
        raise MissingParameter("certificate" if made.certificate is None else "key", "TLS needs both files.")
    try:
        local = made.host == "localhost" or ip_address(made.host).is_loopback
    except ValueError:
        raise InvalidParameter(made.host, "host", "an IP address, such as 127.0.0.1, or localhost") from None
    if not local and not made.encrypted:
        raise InvalidRequest(
            f"Tokens would cross the network unencrypted on {made.host}",
            "Give --certificate and --key, or say --behind-proxy if a proxy in front of the server ends TLS.",
        )
    if made.openid is not None:
        _refuse_elsewhere(made, made.openid)
    if made.encrypted and not made.names:
        raise MissingParameter(
            "names", "Say by which name clients call the server: --name stats.example. Other names are refused."
        )


def _refuse_elsewhere(made: Settings, openid: OpenId) -> None:
    """Refuse an address to which the provider would send browsers, and which is not this server's."""
    parts = urlsplit(openid.url)
    name = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    if name not in made.hosts or (parts.scheme == "https") != made.encrypted:
        raise InvalidParameter(
            openid.url, "openid.url", "the address of this server: https with TLS, and one of its names"
        )
