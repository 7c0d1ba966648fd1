"""Bearer tokens: 256 random bits behind a public number; only their hashes are stored.

A token is ``lapwing_``, its number (64 random bits, to find and to revoke it), ``_`` and the secret.  It has one form,
so that programs that look for secrets in files find it, and so that one in a URL is recognised and refused.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from urllib.parse import unquote_plus

from ..noise.entropy import SYSTEM

_TOKEN = re.compile(r"lapwing_([0-9a-f]{16})_[0-9a-f]{64}", re.ASCII)
_PART = re.compile(r"lapwing_[0-9a-f]{16}", re.ASCII | re.IGNORECASE)
_NAMES = re.compile(
    r"(access|id|refresh|api|auth|bearer)?[_-]?(token|key|secret|password)|authorization", re.IGNORECASE
)
_NO_HASH = "0" * 64


def make_token(number: int | None = None) -> str:
    """Return a new token, of a given number if there is one."""
    return f"lapwing_{SYSTEM.bits(64) if number is None else number:016x}_{SYSTEM.bits(256):064x}"


def number_of(token: str) -> str | None:
    """Return the number of a token; None for a text that is no token."""
    found = _TOKEN.fullmatch(token)
    return None if found is None else found[1]


def hash_of(token: str) -> str:
    """Return what is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_token(token: str, stored: str | None) -> bool:
    """Return whether a token has the stored hash, in a time that does not depend on where they differ."""
    same = hmac.compare_digest(hash_of(token), _NO_HASH if stored is None else stored)
    return same and stored is not None


def from_header(header: str | None) -> str | None:
    """Return the token of an Authorization header, if it has the form of one."""
    kind, _, token = (header or "").partition(" ")
    return token if kind.lower() == "bearer" and number_of(token) is not None else None


def in_address(path: str, names: Iterable[str], query: str) -> bool:
    """Return whether an address seems to hold a token: it would be kept in logs and histories."""
    text = unquote_plus(unquote_plus(f"{path}?{query}"))
    return _PART.search(text) is not None or any(_NAMES.fullmatch(name) for name in names)
