"""The folder in which people put tables for new sources: one room for each person, and nothing outside it is reached.

What a person uploads is in a room of their own, which only the server's user can read; an administrator gives a person
a table by putting it there.  Names are made of few signs, links are not
followed, and a file that is there is never replaced: its rows may belong to a budget that is partly spent.

What is not whole yet has a name with a dot, and is locked by who writes it.  If that process was killed, nobody holds
the lock, and the next one removes the file.  Servers on one machine may share a folder: they change it in turns.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from filecmp import cmp
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from ..errors import InvalidParameter, InvalidRequest
from ..noise.entropy import SYSTEM
from .access import checked_person
from .refusals import Refusal, not_allowed

UPLOAD = "/new/upload"
"""Where a table is sent to; the only address that takes more than a usual request."""

MOST_FILES = 50
"""How many files one person may upload; those that are on their way count."""

MOST_AT_ONCE = 2
"""How many uploads of one person may be on their way."""

LOCK = ".lock"
"""The file in the folder that whoever changes the folder has locked."""

_UPLOADED = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}\.csv", re.ASCII)
_NAMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}\.(csv|parquet)", re.ASCII)
_PART = re.compile(r"\.upload-[0-9a-f]{16}(\.csv)?", re.ASCII)
_UNFINISHED = re.compile(r"\.(upload-[0-9a-f]{16}(\.csv)?|check-[0-9a-f]{16}\.toml)", re.ASCII)
_SOURCE = re.compile(r"[a-z][a-z0-9_]{0,59}", re.ASCII)


class Folder:
    """The folder of new sources."""

    def __init__(self, folder: str) -> None:
        self.place = Path(folder).absolute()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn to change the folder, and hold it: no other thread and no other server changes it then."""
        try:
            self.place.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self.place / LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        except OSError:
            raise InvalidRequest(
                "The folder for new sources cannot be used", "Let the server's user write to it."
            ) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def clean(self) -> None:
        """Remove what was left unfinished by processes that were killed; whoever calls this has the turn."""
        for room in self._rooms():
            _clean(room)

    def room(self, person: str) -> Path:
        """Return the room of a person, made if it is not there."""
        room = self.place / checked_person(person)
        with suppress(FileExistsError):
            room.mkdir(mode=0o700, parents=True)
        if not stat.S_ISDIR(room.lstat().st_mode):
            raise not_allowed()
        return room

    def tables(self, person: str) -> list[str]:
        """Return the names of the tables that a person may make a source of."""
        return sorted(_files(self.room(person), _NAMED))

    def table(self, person: str, name: str) -> Path:
        """Return the place of such a table."""
        if name not in self.tables(person):
            raise not_allowed()
        return self.room(person) / name

    def copies(self, person: str, place: Path) -> list[Path]:
        """Return which other tables of the person have the same bytes as one."""
        near = [self.room(person) / name for name in self.tables(person)]
        return [each for each in near if each != place and cmp(each, place, shallow=False)]

    def sources(self) -> list[Path]:
        """Return the source files that were made here."""
        return [
            room / name for room in self._rooms() for name in sorted(_files(room, re.compile(r"[a-z][a-z0-9_]*\.toml")))
        ]

    def _rooms(self) -> list[Path]:
        if not self.place.is_dir():
            return []
        return [each for each in sorted(self.place.iterdir()) if stat.S_ISDIR(each.lstat().st_mode)]

    @contextmanager
    def draft(self, person: str, text: str) -> Iterator[Path]:
        """Keep a source file in the room of a person for a while; it is not served."""
        room = self.room(person)
        with self.turn():
            place, file = _unfinished(room, "check-{}.toml")
        try:
            _write(file, text.encode())
            yield place
        finally:
            place.unlink()
            os.close(file)

    async def keep(
        self, person: str, name: str, pieces: AsyncIterator[bytes], check: Callable[[Path], Awaitable[object]]
    ) -> None:
        """Write a table as it arrives; it has its name only when it is whole and ``check`` does not refuse it."""
        if not _UPLOADED.fullmatch(name):
            allowed = "up to 60 letters, digits, _ and -, and .csv at the end, such as visits.csv"
            raise InvalidParameter(name, "name", allowed)
        room = await run_in_threadpool(self.room, person)
        part, file = await run_in_threadpool(self._part, room)
        try:
            async for piece in pieces:
                await run_in_threadpool(_write, file, piece)
            await run_in_threadpool(os.fsync, file)
            await check(part)
            await run_in_threadpool(_name, part, room / name)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()
            os.close(file)

    def _part(self, room: Path) -> tuple[Path, int]:
        """Begin an upload, if there are not too many files; those of killed processes do not count."""
        with self.turn():
            _clean(room)
            parts = len(_files(room, _PART))
            if parts >= MOST_AT_ONCE:
                raise Refusal(
                    429, "ServerError", f"You have {parts} uploads on their way. Send this table when one has ended.",
                    {"Retry-After": "60"},
                )  # fmt: skip
            if len(_files(room, _UPLOADED)) + parts >= MOST_FILES:
                raise Refusal(
                    409, "InvalidRequest", f"You have {MOST_FILES} tables here, the most that one person may upload. "
                    "Ask whoever runs the server.",
                )  # fmt: skip
            return _unfinished(room, "upload-{}.csv")


def checked_source_name(name: str) -> str:
    """Return the name of a new source: it is in addresses, in SQL and the name of a file."""
    if not _SOURCE.fullmatch(name):
        raise InvalidParameter(
            name, "name", "a small letter, then up to 59 small letters, digits and _, such as visits"
        )
    return name


def write_new(place: Path, text: str) -> None:
    """Write a file that only the server's user can read, whole or not at all; refuse one that is there."""
    part, file = _unfinished(place.parent, "check-{}.toml")
    try:
        _write(file, text.encode())
        os.fsync(file)
        _name(part, place)
    finally:
        part.unlink()
        os.close(file)


def _unfinished(room: Path, form: str) -> tuple[Path, int]:
    """Return a new file that is locked as long as it is open; whoever calls this has the turn."""
    place = room / f".{form.format(f'{SYSTEM.bits(64):016x}')}"
    file = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    return place, file


def _clean(room: Path) -> None:
    """Remove the unfinished files that nobody has locked."""
    for name in _files(room, _UNFINISHED):
        with suppress(FileNotFoundError):  # it was finished meanwhile
            file = os.open(room / name, os.O_WRONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (room / name).unlink()
            except BlockingIOError:
                pass  # somebody writes it
            finally:
                os.close(file)


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _name(part: Path, place: Path) -> None:
    """Give a whole file its name, if that is free."""
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
