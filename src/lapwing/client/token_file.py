"""Where a client takes its token from: an argument, a file that only its owner can read, LAPWING_TOKEN, or a sign-in.

The first of these that is given counts.
"""

from __future__ import annotations

import os
import stat
from os import PathLike
from pathlib import Path

from ..errors import InvalidRequest, MissingParameter
from .kept import kept_token

LONGEST = 1000
"""How many characters a secret has at most."""

_ADVICE = "Give token=…, set LAPWING_TOKEN, or give token_file=… with a file that only you can read."
_OR_SIGN_IN = "If the server takes sign-ins of your organisation: lapwing --server URL sign-in."


def found_token(token: str | None, token_file: str | PathLike[str] | None, url: str | None = None) -> str:
    """Return the token; a file that others can read is refused."""
    if token is not None and token_file is not None:
        raise InvalidRequest("A token and a file with a token were both given", "Give one of them.")
    if token_file is not None:
        token = private_text(Path(token_file), "a token")
    token = os.environ.get("LAPWING_TOKEN") if token is None else token
    if token is None and url is not None:
        signed_in = kept_token(url)
        token = None if signed_in is None else signed_in.token
    if token is None or not token.strip():
        raise MissingParameter("token", f"{_ADVICE} {_OR_SIGN_IN}")
    token = token.strip()
    if not token.isascii() or not token.isprintable() or " " in token or len(token) > LONGEST:
        raise InvalidRequest("This is not a token", "A token begins with lapwing_, and has no spaces.")
    return token


def private_text(file: Path, what: str) -> str:
    """Return the text of a file with a secret, cut to a length that no secret has; refuse one that others can read."""
    try:
        with open(file, encoding="ascii", opener=_open_at_once) as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise OSError
            if mode & 0o077:
                advice = f"Let only yourself read it: chmod 600 {file}. Others may have read it: ask for a new one."
                raise InvalidRequest(f'The file "{file}" with {what} can be read by others', advice)
            return opened.read(LONGEST + 2).strip()
    except (OSError, UnicodeError):
        raise InvalidRequest(
            f'The file "{file}" with {what} cannot be read', f"Name a text file that has only {what} in it."
        ) from None


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; do not wait until somebody writes to it, if it is a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)
