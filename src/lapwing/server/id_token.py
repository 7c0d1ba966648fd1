"""ID tokens of OpenID Connect: who signed one, for whom, when, and about whom.

Claim of this module: ``Claims`` are returned only if the text is a token of one of the allowed algorithms, signed by a
key that the issuer publishes for it, whose issuer, audience, times and nonce are the expected ones.  All else is a
``BadToken``, whose reason is for the log of the server and quotes nothing.

Signatures are checked by PyJWT.  What the token says about its own key (a key or an address in its header) is not used.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeGuard

from jwt import PyJWK, PyJWS
from jwt.exceptions import PyJWTError

from .gate import Pace
from .openid_settings import ALGORITHMS

SKEW = 60
"""By how many seconds the clocks of the provider and of the server may differ."""

OLDEST = 600
"""How many seconds ago a token may have been made."""

_LARGEST = 16_384
_LONGEST_MEMBER = 2_048
_MOST_KEYS = 100
_KEYS_LAST = 600
_FETCHES_PER_MINUTE = 5
_PUBLIC = ("kty", "n", "e", "crv", "x", "y")


class BadToken(Exception):  # as our other errors
    """BadToken(reason): a token that is not accepted; the reason quotes nothing of it."""


@dataclass(frozen=True)
class Claims:
    """What a verified token says."""

    subject: str
    email: str | None
    verified: bool
    nonce: str | None


@dataclass(frozen=True)
class Expected:
    """Whose tokens are accepted, and for whom; ``nonce`` is None for tokens that have none."""

    issuer: str
    client: str
    algorithms: Sequence[str]
    nonce: str | None


class Keys:
    """The keys that an issuer publishes: kept for ten minutes, and looked for again when an unknown one is named.

    Anyone can name an unknown key, so that is done only so often.  A key that the issuer no longer publishes is
    forgotten at the next look.
    """

    def __init__(self, fetch: Callable[[], Mapping[str, Any]], clock: Callable[[], float] = monotonic) -> None:
        self._fetch, self._clock = fetch, clock
        self._pace = Pace(_FETCHES_PER_MINUTE)
        self._known: list[Mapping[str, Any]] = []
        self._until = float("-inf")

    def key(self, algorithm: str, name: str | None) -> PyJWK:
        """Return the one key that fits an algorithm and a name."""
        if self._clock() < self._until:
            found = self._fitting(algorithm, name)
            if found is not None:
                return found
        if not self._pace.allows("keys", self._clock()):
            raise BadToken("its key is unknown, and the keys were asked for too often")
        said = self._fetch().get("keys")
        self._known = [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []
        if len(self._known) > _MOST_KEYS:
            self._known = []
        self._until = self._clock() + _KEYS_LAST
        found = self._fitting(algorithm, name)
        if found is None:
            raise BadToken("its key is unknown")
        return found

    def _fitting(self, algorithm: str, name: str | None) -> PyJWK | None:
        kind, curve = ALGORITHMS[algorithm]
        fitting = [
            each
            for each in self._known
            if each.get("kty") == kind
            and each.get("use", "sig") == "sig"
            and each.get("alg", algorithm) == algorithm
            and (curve is None or each.get("crv") == curve)
            and (name is None or each.get("kid") == name)
        ]
        if len(fitting) != 1:  # two of one name: which one is not ours to guess
            return None
        parts = {member: fitting[0][member] for member in _PUBLIC if member in fitting[0]}
        if any(not isinstance(part, str) or len(part) > _LONGEST_MEMBER for part in parts.values()):
            return None
        try:
            return PyJWK(parts, algorithm)
        except (PyJWTError, ValueError, TypeError):
            return None


def verified(text: object, keys: Keys, expected: Expected, now: float) -> Claims:
    """Return what a token says, if it is signed and meant for us; else raise ``BadToken``."""
    if not isinstance(text, str) or len(text) > _LARGEST or not text.isascii() or text.count(".") != 2:
        raise BadToken("it has not the form of a token")
    signatures = PyJWS(list(expected.algorithms), {"enforce_minimum_key_length": True})
    try:
        header = signatures.get_unverified_header(text)
        key = keys.key(*_signed_by(header, expected.algorithms))
        payload = signatures.decode_complete(text, key, [key.algorithm_name])["payload"]
    except (PyJWTError, ValueError, TypeError, RecursionError):
        raise BadToken("its signature does not hold") from None
    return _claims(_object(payload), expected, now)


def _signed_by(header: Mapping[str, Any], allowed: Sequence[str]) -> tuple[str, str | None]:
    """Return the algorithm and the name of the key in a header."""
    algorithm, name, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in allowed:
        raise BadToken("its algorithm is not allowed")
    if "crit" in header or "b64" in header or not isinstance(kind, str) or kind.upper() != "JWT":
        raise BadToken("it is a token of another kind")
    return algorithm, name


def _object(payload: bytes) -> dict[str, Any]:
    try:
        said = json.loads(payload.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise BadToken("it holds no JSON object")
    return said


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; one that gives a name twice is refused, since readers differ about it."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _refuse(_: str) -> None:
    raise ValueError


def _claims(said: Mapping[str, Any], expected: Expected, now: float) -> Claims:
    """Return the claims of a signed token, if it is from the issuer, for us, for now, and for this sign-in."""
    if said.get("iss") != expected.issuer:
        raise BadToken("it is from another issuer")
    audience, party = said.get("aud"), said.get("azp")
    meant = [audience] if isinstance(audience, str) else audience
    if not isinstance(meant, list) or expected.client not in meant:
        raise BadToken("it is for another client")
    if ("azp" in said or len(meant) > 1) and party != expected.client:
        raise BadToken("it was given to another client")
    _check_times(said, now)
    nonce = said.get("nonce")
    same = isinstance(nonce, str) and hmac.compare_digest(nonce.encode(), (expected.nonce or "").encode())
    if (expected.nonce is None and "nonce" in said) or (expected.nonce is not None and not same):
        raise BadToken("it was made for another sign-in")
    subject, email = said.get("sub"), said.get("email")
    if not isinstance(subject, str) or not 0 < len(subject) <= 255:
        raise BadToken("it names no subject")
    return Claims(subject, email if isinstance(email, str) else None, said.get("email_verified") is True, nonce)


def _check_times(said: Mapping[str, Any], now: float) -> None:
    ends, made, begins = said.get("exp"), said.get("iat"), said.get("nbf", 0)
    if not _is_time(ends) or not _is_time(made) or not _is_time(begins):
        raise BadToken("it lacks a time")
    if now >= ends + SKEW:
        raise BadToken("it has expired")
    if not now - OLDEST - SKEW <= made <= now + SKEW:
        raise BadToken("it was made too long ago, or in the future")
    if begins > now + SKEW:
        raise BadToken("it is not valid yet")


def _is_time(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53
