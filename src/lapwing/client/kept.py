"""The tokens of those who signed in at this terminal: a file for each server, which its owner alone can read.

In $XDG_CONFIG_HOME/lapwing/tokens, or ~/.config/lapwing/tokens.  A file is written whole or not at all, and one that
others can read is refused.  An expired token is none.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import InvalidRequest

_LONGEST = 10_000


@dataclass(frozen=True)
class Kept:
    """A token of a server, and when it expires."""

    token: str = field(repr=False)
    expires: str


def keep_token(url: str, token: str, expires: str) -> Path:
    """Keep the token of a server, in place of an earlier one; return the file."""
    file = _file(url)
    text = json.dumps({"server": _plain(url), "token": token, "expires": expires})
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        for folder in (file.parent.parent, file.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as opened:
            opened.write(text)
        new.replace(file)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise InvalidRequest(
            f'The file "{file}" for your token cannot be written, so you are not signed in',
            "Set XDG_CONFIG_HOME to a folder of yours.",
        ) from None
    return file


def kept_token(url: str, *, to_end: bool = False) -> Kept | None:
    """Return the token of a server, if there is one that has not expired.

    A file that others can read is refused, but ``to_end`` the token.
    """
    file = _file(url)
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), encoding="ascii") as opened:
            found, text = os.fstat(opened.fileno()), opened.read(_LONGEST)
    except (OSError, ValueError):
        return None
    own = stat.S_ISREG(found.st_mode) and not found.st_mode & 0o077 and found.st_uid == os.geteuid()
    if not own and not to_end:
        raise InvalidRequest(
            f'The file "{file}" with your token can be read by others',
            "Sign out and in again: lapwing --server URL sign-out.",
        )
    try:
        said = json.loads(text)
        kept = Kept(str(said["token"]), str(said["expires"]))
        lasts = datetime.fromisoformat(kept.expires) > datetime.now(UTC)
    except (ValueError, KeyError, TypeError):  # none of ours
        return None
    return kept if lasts and said["server"] == _plain(url) else None


def forget_token(url: str) -> None:
    """Delete the file with the token of a server."""
    file = _file(url)
    try:
        file.unlink(missing_ok=True)
    except OSError:
        raise InvalidRequest(f'The file "{file}" with your token cannot be deleted', "Delete it yourself.") from None


def _file(url: str) -> Path:
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    base = given if given.is_absolute() else Path("~/.config").expanduser()
    name = sha256(_plain(url).encode()).hexdigest()[:32]
    return base / "lapwing" / "tokens" / f"{name}.json"


def _plain(url: str) -> str:
    """Return an address as it is compared: the name of the host in small letters, no slash at the end."""
    try:
        parts = urlsplit(url)
    except (ValueError, AttributeError):  # no address: the link will refuse it
        return str(url)
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
