"""Where the ledger of a source is kept if none is named: where the table is, not in the working directory.

Next to the source file; else next to the table's files; for data frames and tables on servers, in the user's folder.
The rule, and how names become names of files, is public: docs/reference/source.md.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shlex import quote

from ..errors import InvalidSource, LedgerError
from .store import sync

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]*")
_NAME_ANOTHER = 'Name another place: ledger = "…".'
_ODD = re.compile(r"[^A-Za-z0-9_. -]")


@dataclass(frozen=True)
class Place:
    """Where a ledger is kept: a path or URL.

    ``before`` is where earlier builds kept it, if none is named; ``private`` says that its folder is the user's, and is
    created with the first ledger.
    """

    where: str
    before: Path | None = None
    private: bool = False

    def found(self, source: str) -> str:
        """Return where the ledger is or would be created; refuse to leave one behind in its earlier place."""
        if self.before is None or _exists(Path(self.where)) or not _exists(self.before):
            return self.where
        new, old = Path(self.where).absolute(), self.before.absolute()
        move = f"mv -n {quote(str(old))} {quote(str(new))}"
        if not _exists(new.parent):
            move = f"mkdir -p -m 700 {quote(str(new.parent))} && {move}"
        raise InvalidSource(
            source,
            f'has no ledger at "{new}", where it is kept if none is named, but there is one at "{old}", where it was '
            "kept before",
            f"Move it: `{move}`, or name it: ledger = {str(old)!r}.",
        )

    def make_folder(self) -> None:
        """Create the user's folder for ledgers, readable only by the user; refuse any other that cannot be written."""
        folder = Path(self.where).parent
        if not self.private:
            if self.before is not None and folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
                raise LedgerError(self.where, "cannot be made: its folder cannot be written", _NAME_ANOTHER)
            return
        try:
            for each in reversed([folder, *folder.parents]):
                if not each.exists():
                    each.mkdir(mode=0o700, exist_ok=True)
                    sync(each.parent)
        except OSError:
            raise LedgerError(self.where, f'cannot be made: its folder "{folder}" cannot', _NAME_ANOTHER) from None


def beside(folder: Path, name: str, before: Path) -> Place:
    """Return the place of a ledger in the folder of its source or table."""
    return Place(str(folder / file_name(name)), before)


def default(folder: Path | None, name: str) -> Place:
    """Return the place of the ledger of a table in this folder, or of one that is in no folder."""
    before = Path(f"{name}.ledger")  # in the working directory
    if folder is not None:
        return beside(folder.absolute(), name, before)
    own = user_folder()
    if own is None:
        raise InvalidSource(
            name, "has no place for its ledger, since you have no home folder", 'Name one: ledger = "…".'
        )
    return Place(str(own / file_name(name)), before, private=True)


def user_folder() -> Path | None:
    """Return the user's folder for ledgers: $XDG_DATA_HOME/lapwing, or ~/.local/share/lapwing; None without a home."""
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    try:
        base = given if given.is_absolute() else Path.home() / ".local" / "share"
    except RuntimeError:
        return None
    return base / "lapwing" if base.is_absolute() else None


def file_name(name: str) -> str:
    """Return the name of the ledger's file: <name>.ledger, or if the name is not plain, one with a part of its hash.

    Plain are ASCII letters, digits, _ and, not at the beginning, dots, spaces and hyphens.  No plain name has the =
    before the hash, so two names never share a file, and no name leads out of the folder.
    """
    if _PLAIN.fullmatch(name):
        return f"{name}.ledger"
    start = _ODD.sub("_", name)[:50].strip(" .-") or "_"
    return f"{start}={sha256(name.encode()).hexdigest()[:16]}.ledger"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long, for example
        return False
