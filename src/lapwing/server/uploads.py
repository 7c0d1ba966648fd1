"""The folder in which people put tables for new sources: one room for each person, and nothing outside it is reached.

Files that an administrator put into the folder itself are there for everyone who may make sources; what a person
uploads is in a room of their own, which only the server's user can read.  Names are made of few signs, links are not
followed, and a file that is there is never replaced: its rows may belong to a budget that is partly spent.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from filecmp import cmp
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from ..errors import InvalidParameter
from ..noise.entropy import SYSTEM
from .access import checked_person
from .refusals import Refusal, not_allowed

UPLOAD = "/new/upload"
"""Where a table is sent to; the only address that takes more than a usual request."""

MOST_FILES = 50
"""How many files one person may upload."""

_UPLOADED = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}\.csv", re.ASCII)
_NAMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}\.(csv|parquet)", re.ASCII)
_SOURCE = re.compile(r"[a-z][a-z0-9_]{0,59}", re.ASCII)


class Folder:
    """The folder of new sources."""

    def __init__(self, folder: str) -> None:
        self.place = Path(folder).absolute()

    def room(self, person: str) -> Path:
        """Return the room of a person, made if it is not there."""
        room = self.place / checked_person(person)
        room.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not stat.S_ISDIR(room.lstat().st_mode):
            raise not_allowed()
        return room

    def tables(self, person: str) -> list[str]:
        """Return the names of the tables that a person may make a source of."""
        own = _files(self.room(person), _NAMED)
        return sorted({*own, *_files(self.place, _NAMED)})

    def table(self, person: str, name: str) -> Path:
        """Return the place of such a table; a person's own one goes before one for everyone."""
        if not _NAMED.fullmatch(name):
            raise not_allowed()
        for folder in (self.room(person), self.place):
            if name in _files(folder, _NAMED):
                return folder / name
        raise not_allowed()

    def copies(self, person: str, place: Path) -> list[Path]:
        """Return which other tables, of the person or for everyone, have the same bytes as one; not those of others."""
        near = [folder / name for folder in (self.room(person), self.place) for name in _files(folder, _NAMED)]
        return [each for each in near if each != place and cmp(each, place, shallow=False)]

    def sources(self) -> list[Path]:
        """Return the source files that were made here."""
        if not self.place.is_dir():
            return []
        rooms = [each for each in sorted(self.place.iterdir()) if stat.S_ISDIR(each.lstat().st_mode)]
        return [room / name for room in rooms for name in sorted(_files(room, re.compile(r"[a-z][a-z0-9_]*\.toml")))]

    async def keep(self, person: str, name: str, pieces: AsyncIterator[bytes]) -> None:
        """Write a table as it arrives; it has its name only when it is whole."""
        if not _UPLOADED.fullmatch(name):
            allowed = "up to 60 letters, digits, _ and -, and .csv at the end, such as visits.csv"
            raise InvalidParameter(name, "name", allowed)
        room = await run_in_threadpool(self.room, person)
        part = room / f".upload-{SYSTEM.bits(64):016x}"
        file = await run_in_threadpool(_open_new, part)
        try:
            try:
                async for piece in pieces:
                    await run_in_threadpool(_write, file, piece)
                await run_in_threadpool(os.fsync, file)
            finally:
                os.close(file)
            await run_in_threadpool(_name, part, room / name)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()


def checked_source_name(name: str) -> str:
    """Return the name of a new source: it is in addresses, in SQL and the name of a file."""
    if not _SOURCE.fullmatch(name):
        raise InvalidParameter(
            name, "name", "a small letter, then up to 59 small letters, digits and _, such as visits"
        )
    return name


def write_new(place: Path, text: str) -> None:
    """Write a file that only the server's user can read; refuse one that is there."""
    try:
        file = _open_new(place)
    except FileExistsError:
        raise _taken() from None
    try:
        _write(file, text.encode())
        os.fsync(file)
    finally:
        os.close(file)


def _open_new(place: Path) -> int:
    return os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _name(part: Path, place: Path) -> None:
    """Give a whole file its name, if that is free and there are not too many."""
    if len(_files(place.parent, _UPLOADED)) >= MOST_FILES:
        raise Refusal(409, "InvalidRequest", f"You have {MOST_FILES} tables here. Ask who runs the server.")
    try:
        os.link(part, place)
    except FileExistsError:
        raise _taken() from None


def _taken() -> Refusal:
    return Refusal(
        409, "InvalidRequest", "This name is taken: choose another one. A table that is there is never replaced, since "
        "its budget may be partly spent.",
    )  # fmt: skip


def _files(folder: Path, form: re.Pattern[str]) -> list[str]:
    """Return the names of the regular files in a folder; a link is none."""
    if not folder.is_dir():
        return []
    return [each.name for each in folder.iterdir() if form.fullmatch(each.name) and stat.S_ISREG(each.lstat().st_mode)]
