"""Sign-in by OpenID Connect: the way of a browser to the provider and back, and the check of what comes back.

A sign-in begins with one random secret, which is kept in a cookie of the browser that began it.  The state, the nonce
and the verifier of PKCE are derived from it, so an answer of the provider is of use only in that browser, only once,
and only with a token that was made for it.  The provider says who somebody is; what they may do is in the record of
people, and nobody gets into it by signing in.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from time import monotonic, time
from typing import ParamSpec, TypeVar
from urllib.parse import urlencode

from ..client.provider import Provider, ProviderLink
from ..errors import InvalidParameter, ServerError
from ..noise.entropy import SYSTEM
from .access import checked_person
from .id_token import BadToken, Claims, Expected, Keys, verified
from .openid_settings import OpenId
from .refusals import Refusal, not_signed_in

log = logging.getLogger("lapwing.server")

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

_SECRET = re.compile(r"[0-9a-f]{64}", re.ASCII)
_DOCUMENT_LASTS = 600
_THREADS = 4
_WAITING = 40
_LONGEST_CODE = 4096


class Begun:
    """A sign-in that a browser has begun, by its secret."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    @classmethod
    def anew(cls) -> Begun:
        """Begin a sign-in."""
        return cls(f"{SYSTEM.bits(256):064x}")

    @classmethod
    def of_cookie(cls, cookie: str | None) -> Begun | None:
        """Return the sign-in that a browser has begun, if it has."""
        return cls(cookie) if cookie is not None and _SECRET.fullmatch(cookie) else None

    def _derived(self, purpose: str) -> str:
        made = hmac.digest(bytes.fromhex(self.secret), purpose.encode(), "sha256")
        return urlsafe_b64encode(made).decode().rstrip("=")

    @property
    def state(self) -> str:
        """What the provider sends back, to tell the answer to this sign-in from all others."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """What the ID token must hold."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """What the one who began the sign-in alone knows (PKCE)."""
        return self._derived("verifier")

    @property
    def challenge(self) -> str:
        """The hash of the verifier, which the provider gets first."""
        return urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")


class SignIn:
    """Sign-in by one provider; what waits for it has a few threads of its own."""

    def __init__(self, settings: OpenId, link: ProviderLink | None = None) -> None:
        self.settings = settings
        self._link = ProviderLink(settings.issuer) if link is None else link
        self._document: tuple[float, Provider] | None = None
        self._keys = Keys(lambda: self._link.get(self.provider().keys))
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="lapwing-openid")
        self._waiting = 0

    async def run(self, call: Callable[_Given, _Result], *args: _Given.args, **named: _Given.kwargs) -> _Result:
        """Call what may wait for the provider; whatever is wrong with its answer is told in our own words."""
        if self._waiting >= _WAITING:
            raise _unusable()
        self._waiting += 1
        try:
            work = self._threads.submit(call, *args, **named)
            return await asyncio.wrap_future(work)
        except ServerError as error:
            log.error("OpenID Connect: %s", error)
            raise _unusable() from None
        except BadToken as error:
            log.warning("OpenID Connect: a token was refused: %s", error)
            raise not_signed_in() from None
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Take no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def provider(self) -> Provider:
        """Return what the provider says about itself, asked for at most every ten minutes."""
        kept = self._document
        if kept is None or monotonic() >= kept[0]:
            kept = self._document = monotonic() + _DOCUMENT_LASTS, self._link.discover()
        return kept[1]

    def address(self, begun: Begun) -> str:
        """Return where a browser goes to sign in."""
        provider, settings = self.provider(), self.settings
        if provider.authorization is None:
            raise self._link.odd("does not say where browsers sign in")
        asked = {
            "response_type": "code",
            "client_id": settings.client_id,
            "redirect_uri": settings.returns_to,
            "scope": " ".join(settings.scopes),
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": begun.challenge,
            "code_challenge_method": "S256",
        }
        if provider.takes_claims and settings.person == "email":
            asked["claims"] = '{"id_token":{"email":null,"email_verified":null}}'
        return f"{provider.authorization}{'&' if '?' in provider.authorization else '?'}{urlencode(asked)}"

    def leaving_address(self) -> str | None:
        """Return where a browser can also sign out of the provider, if it can."""
        end = self.provider().end_session
        asked = {"client_id": self.settings.client_id, "post_logout_redirect_uri": f"{self.settings.url}/sign-in"}
        return None if end is None else f"{end}{'&' if '?' in end else '?'}{urlencode(asked)}"

    def person_returning(self, begun: Begun, code: str, issuers: Sequence[str]) -> str:
        """Return who signed in, by the code that the provider gave the browser; ``issuers`` is who says to answer."""
        provider, settings = self.provider(), self.settings
        if [*issuers] != [provider.issuer] and (issuers or provider.names_itself):
            raise BadToken("the answer is from another issuer")
        if not 0 < len(code) <= _LONGEST_CODE:
            raise BadToken("there is no code")
        asked = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": settings.returns_to,
            "code_verifier": begun.verifier,
        }
        secret = None
        if settings.client_secret is None:
            asked["client_id"] = settings.client_id
        elif provider.takes_basic:
            secret = settings.client_id, settings.client_secret
        else:
            asked |= {"client_id": settings.client_id, "client_secret": settings.client_secret}
        status, told = self._link.post(provider.token, asked, secret)
        if status != 200 and told.get("error") == "invalid_grant":
            raise BadToken("the provider did not accept the code")
        if status != 200:
            raise self._link.odd(f"refused this server, with status {status}")
        return self._person(told.get("id_token"), settings.client_id, begun.nonce)

    def person_of(self, token: str) -> str:
        """Return who signed in at a terminal, by an ID token that was made for it."""
        if self.settings.terminal is None:
            raise BadToken("no terminal can sign in")
        return self._person(token, self.settings.terminal, None)

    def _person(self, token: object, client: str, nonce: str | None) -> str:
        settings = self.settings
        expected = Expected(settings.issuer, client, settings.algorithms, nonce)
        with self._lock:  # the keys are looked for once, however many wait for them
            claims = verified(token, self._keys, expected, time())
        return named(claims, settings.person)


def named(claims: Claims, by: str) -> str:
    """Return the name of a person: an address that the provider has verified, in small letters, or its own name."""
    name = claims.subject
    if by == "email":
        if claims.email is None or not claims.verified:
            raise BadToken("it holds no address that the provider has verified")
        name = claims.email.lower() if claims.email.isascii() else claims.email
    try:
        return checked_person(name)
    except InvalidParameter:
        raise BadToken("it names a person as the record of people cannot") from None


def number_once(token: str) -> int:
    """Return the number of the token that is given for an ID token: always the same, so that it is given once.

    It depends on what is signed alone: one text can have several signatures that hold.
    """
    return int.from_bytes(hashlib.sha256(token.rpartition(".")[0].encode()).digest()[:8])


def _unusable() -> Refusal:
    return Refusal(
        503, "ServerError", "The sign-in provider cannot be used now. Nothing was read and nothing was charged. Try "
        "again, or sign in with a token.",
    )  # fmt: skip
