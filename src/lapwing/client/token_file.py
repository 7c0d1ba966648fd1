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

_LONGEST = 1000
_ADVICE = "Give token=…, set LAPWING_TOKEN, or give token_file=… with a file that only you can read."
_OR_SIGN_IN = "If the server takes sign-ins of your organisation: lapwing --server URL sign-in."


def found_token(token: str | None, token_file: str | PathLike[str] | None, url: str | None = None) -> str:
    """Return the token; a file that others can read is refused."""
    if token is not None and token_file is not None:
        raise InvalidRequest("A token and a file with a token were both given", "Give one of them.")
    if token_file is not None:
        token = _read(Path(token_file))
    token = os.environ.get("LAPWING_TOKEN") if token is None else token
    if token is None and url is not None:
        signed_in = kept_token(url)
        token = None if signed_in is None else signed_in.token
    if token is None or not token.strip():
        raise MissingParameter("token", f"{_ADVICE} {_OR_SIGN_IN}")
    token = token.strip()
    if not token.isascii() or not token.isprintable() or " " in token or len(token) > _LONGEST:
        raise InvalidRequest("The token is not one", "A token begins with lapwing_, and has no spaces.")
    return token


def _read(file: Path) -> str:
    try:
        with file.open(encoding="ascii") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if not stat.S_ISREG(mode) or mode & 0o077:
                advice = f"Let only yourself read it: chmod 600 {file}. If others could read it, ask for a new token."
                raise InvalidRequest(f'The file "{file}" with a token can be read by others', advice)
            return opened.read(_LONGEST)
    except (OSError, UnicodeError):
        raise InvalidRequest(f'The file "{file}" with a token cannot be read', _ADVICE) from None
