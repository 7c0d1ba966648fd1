"""Where a client takes its token from: an argument, LAPWING_TOKEN, or a file that only its owner can read."""

from __future__ import annotations

import os
import stat
from os import PathLike
from pathlib import Path

from ..errors import InvalidRequest, MissingParameter

_LONGEST = 1000
_ADVICE = "Give token=…, set LAPWING_TOKEN, or give token_file=… with a file that only you can read."


def found_token(token: str | None, token_file: str | PathLike[str] | None) -> str:
    """Return the token; a file that others can read is refused."""
    if token is not None and token_file is not None:
        raise InvalidRequest("A token and a file with a token were both given", "Give one of them.")
    if token_file is not None:
        token = _read(Path(token_file))
    token = os.environ.get("LAPWING_TOKEN") if token is None else token
    if token is None or not token.strip():
        raise MissingParameter("token", _ADVICE)
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
