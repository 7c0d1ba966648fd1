"""Signing in at a terminal: the device flow of OpenID Connect (RFC 8628), and a token of the server for it.

The provider tells an address and a code; the person opens the address anywhere, signs in and types the code.  Until
then the provider is asked now and then.  The ID token that it gives goes to the server alone, once, and is not kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from time import monotonic
from typing import Any

from ..errors import InvalidRequest, LapwingError, NotSignedIn, ServerError
from .kept import forget_token, keep_token, kept_token
from .link import Link, reading
from .provider import Provider, ProviderLink, is_usable

_SECONDS = 30.0
_USUAL_PAUSE, _LONGEST_PAUSE = 5.0, 60.0
_LONGEST = 1800.0
_LONGEST_CODE = 40
_LONGEST_TEXT = 200
_SILENT = 3
_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_AGAIN = "Nothing was kept. Sign in again: lapwing --server URL sign-in."


@dataclass(frozen=True)
class Prompt:
    """What a person must do: open the address, and type the code there; ``complete`` is an address with the code."""

    address: str
    code: str
    complete: str | None


@dataclass(frozen=True)
class SignedIn:
    """Who signed in, and until when."""

    person: str
    expires: str


def sign_in(url: str, tell: Callable[[Prompt], object], wait: Callable[[float], object] | None = None) -> SignedIn:
    """Sign in to a server, and keep its token; ``tell`` is told once what the person must do."""
    link = Link(url, None, _SECONDS, None)
    with reading():
        way = link.get("sign-in")["openid"]
        client = None if way is None else way["client_id"]
        issuer, scopes = ("", "") if client is None else (str(way["issuer"]), " ".join(way["scopes"]))
    if client is None:
        raise InvalidRequest(
            f"The server {link.url} takes no sign-in from a terminal",
            "Ask its owner for a token, and set LAPWING_TOKEN.",
        )
    provider = ProviderLink(issuer)
    token = _id_token(provider, str(client), scopes, tell, Event().wait if wait is None else wait)
    try:
        made = link.post("sign-in", "openid", body={"id_token": token})
    except NotSignedIn:
        advice = "Has its owner given you a role, by the name that your organisation's provider has for you?"
        raise ServerError("The server did not accept this sign-in", advice) from None
    with reading():
        text, expires = str(made["token"]), str(made["expires"])
    person = str(Link(url, text, _SECONDS, None).get("me")["person"])
    if not all(each.isprintable() and len(each) <= _LONGEST_TEXT for each in (text, expires, person)):
        raise ServerError("The server's answer cannot be read", "Is it a Lapwing server, of the same version?")
    before = kept_token(url, to_end=True)
    keep_token(url, text, expires)
    if before is not None:
        with suppress(LapwingError):  # it ends by itself, too
            _revoke(url, before.token)
    return SignedIn(person, expires)


def sign_out(url: str) -> bool:
    """Revoke the token that was kept for a server, and delete its file; return whether there was one."""
    kept = kept_token(url, to_end=True)
    forget_token(url)
    if kept is None:
        return False
    try:
        _revoke(url, kept.token)
    except NotSignedIn:
        pass  # it was revoked before
    except LapwingError:
        raise ServerError(
            f"The token could not be revoked at {url}", f"It is deleted here, and is valid until {kept.expires}."
        ) from None
    return True


def shadowed() -> bool:
    """Return whether LAPWING_TOKEN is used in place of a sign-in."""
    return "LAPWING_TOKEN" in os.environ


def _revoke(url: str, token: str) -> None:
    Link(url, token, _SECONDS, None).call("DELETE", ("me", "token"))


def _id_token(
    link: ProviderLink, client: str, scopes: str, tell: Callable[[Prompt], object], wait: Callable[[float], object]
) -> str:
    """Return the ID token that the provider gives when the person has signed in."""
    provider = link.discover()
    begun = _begun(link, provider, {"client_id": client, "scope": scopes})
    asked, pause, lasts = _asked(link, begun), _pause(begun), _number(begun.get("expires_in"), _LONGEST)
    tell(asked)
    end, silent = monotonic() + lasts, 0
    form = {"grant_type": _GRANT, "device_code": str(begun["device_code"]), "client_id": client}
    while monotonic() < end:
        wait(pause)
        try:
            status, told = link.post(provider.token, form)
            silent = 0
        except ServerError:
            silent += 1
            if silent > _SILENT:
                raise
            pause = min(2 * pause, _LONGEST_PAUSE)
            continue
        if status == 200:
            return _token(link, told)
        match told.get("error"):
            case "authorization_pending":
                pass
            case "slow_down":
                pause = min(pause + _USUAL_PAUSE, _LONGEST_PAUSE)
            case "access_denied":
                raise ServerError("The sign-in was refused at the provider", _AGAIN)
            case "expired_token":
                break
            case _:
                raise link.odd(f"ended the sign-in with status {status}")
    raise ServerError("The code has expired", _AGAIN)


def _begun(link: ProviderLink, provider: Provider, form: dict[str, str]) -> dict[str, Any]:
    if provider.device is None:
        raise link.odd("does not let terminals sign in")
    if provider.takes_claims:
        form = {**form, "claims": '{"id_token":{"email":null,"email_verified":null}}'}
    status, told = link.post(provider.device, form)
    if status != 200 or not isinstance(told.get("device_code"), str):
        raise link.odd(f"refused to begin a sign-in, with status {status}")
    return told


def _asked(link: ProviderLink, begun: dict[str, Any]) -> Prompt:
    """Return what to tell the person; nothing else that the provider sent gets into a terminal."""
    address, code, complete = (begun.get(f) for f in ("verification_uri", "user_code", "verification_uri_complete"))
    if not isinstance(code, str) or not 0 < len(code) <= _LONGEST_CODE or not code.isascii() or not code.isprintable():
        raise link.odd("gave no code that can be shown")
    if not isinstance(address, str) or not is_usable(address, link.local):
        raise link.odd("gave no address that can be shown")
    usable = isinstance(complete, str) and is_usable(complete, link.local)
    return Prompt(address, code, complete if usable else None)


def _pause(begun: dict[str, Any]) -> float:
    return max(_number(begun.get("interval", _USUAL_PAUSE), _LONGEST_PAUSE), 1.0)


def _number(value: object, most: float) -> float:
    """Return a number of seconds that a provider said, at most so many; ``most`` if it said none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        return most
    return float(min(value, most))


def _token(link: ProviderLink, told: dict[str, Any]) -> str:
    token = told.get("id_token")
    if not isinstance(token, str):
        raise link.odd("gave no ID token")
    return token
