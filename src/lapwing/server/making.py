"""New sources while the server runs: a person who may make them declares a table of the folder, and becomes its owner.

A name, a table and a ledger that are in use are refused, as at the start.  The ledger begins with the declared total,
and the owner gets a cap of all of it.  Servers that use one folder make sources in turns, and each reads the source
files of all rooms before: of those who declare one table at once, one gets a budget.  At the next start the sources are
served again; one that cannot be is left out, so that nobody's table stops the sources of others.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import MutableMapping
from datetime import date
from fractions import Fraction
from pathlib import Path

from starlette.requests import Request

from ..checking import SourceCheck, check
from ..engine.connect import is_url
from ..engine.given import is_named
from ..errors import AccessError, EngineError, InvalidSource, RequestError
from ..source import Source
from ..source_file import FoundTable, find_columns
from .access import Access
from .declaring import Declared
from .log import Log
from .permissions import Caller, Role
from .refusals import Refusal
from .sources import Served, refuse_beside, refuse_total
from .uploads import Folder, write_new

_AS_USUAL = "Write it as CSV in UTF-8: the names of the columns in the first line, and a line for each row below."
_AS_CSV = "Save it as CSV in UTF-8, with the program that wrote it, and send that file."

_OTHER_FORMS = {
    b"PK\x03\x04": "an Excel workbook or another ZIP file",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF file",
}
"""What a file is that begins like this."""


MOST_CHECKS = 20
"""How often a day one person may check declarations of one table; each server counts its own."""


class SourceMaker:
    """Makes new sources of the tables in a folder."""

    def __init__(self, folder: Folder, access: Access, sources: MutableMapping[str, Served], most: Fraction) -> None:
        self.folder, self._access, self._sources, self._most = folder, access, sources, most
        self._checks: Counter[tuple[str, str, date]] = Counter()

    def serve_made(self, log: Log) -> None:
        """Serve what people made before; leave out, and note, what cannot be served beside the others."""
        with self.folder.turn():
            self.folder.clean()
            for place in self.folder.sources():
                try:
                    made = self._opened(place)
                    self._access.know_source(made.name, made.identity)
                except Exception as error:  # whatever is wrong with the table of one person, others go on
                    log.left_out(f"{place.parent.name}/{place.name}", type(error).__name__)
                    continue
                self._sources[made.name] = made

    def columns(self, person: str, table: str) -> FoundTable:
        """Return the columns of a table that a person may make a source of, by their names and types alone."""
        place = self._free(person, table)
        try:
            return find_columns(str(place), place.stem)
        except (RequestError, EngineError) as error:
            raise Refusal(400, "InvalidSource", self._own_text(error, person)) from None

    def check_upload(self, person: str, place: Path, name: str) -> None:
        """Refuse a table that has just arrived and cannot be read, and say why; no cell is in what is said."""
        with place.open("rb") as file:
            begin = file.read(8)
        other = next((form for magic, form in _OTHER_FORMS.items() if begin.startswith(magic)), None)
        if other is not None:
            why = f'The table of "{name}" is {other}, and not CSV. Nothing was charged. {_AS_CSV}'
            raise Refusal(400, "InvalidSource", f"{why} The file was not kept.")
        try:
            find_columns(str(place), place.stem)
        except (RequestError, EngineError) as error:
            why = self._own_text(error, person, place, name)
            raise Refusal(400, "InvalidSource", f"{why} The file was not kept.") from None

    def check(self, person: str, table: str, declared: Declared) -> SourceCheck:
        """Return whether a declaration fits its table: for its owner alone; nothing is charged, no ledger is made.

        It reads without noise, so few checks a day are made of one table: whoever asks often enough reads the cells.
        """
        refuse_total(declared.epsilon, self._most)
        if self._is_taken(person, declared.name):
            raise _taken()
        today = date.today()
        self._checks[person, table, today] += 1
        if self._checks[person, table, today] > MOST_CHECKS:
            raise Refusal(
                429, "ServerError", f"A table is checked at most {MOST_CHECKS} times a day: a check reads it without "
                "noise. Nothing was read and nothing was charged. Serve the source, or check it again tomorrow.",
            )  # fmt: skip
        with self.folder.draft(person, declared.text) as draft:
            try:
                return check(Source.open(draft))
            except (RequestError, EngineError) as error:
                raise Refusal(400, "InvalidSource", self._own_text(error, person, draft, declared.name)) from None

    def add(self, caller: Caller, table: str, declared: Declared) -> Served:
        """Serve a new source from now on; the caller owns it."""
        room = self.folder.room(caller.person)
        place, ledger = room / f"{declared.name}.toml", room / f"{declared.name}.ledger"
        refuse_total(declared.epsilon, self._most)
        with self.folder.turn():
            self._free(caller.person, table)  # again: meanwhile another server may have made a source of it
            if self._is_taken(caller.person, declared.name):
                raise _taken()
            write_new(place, declared.text)
            try:
                made = self._opened(place)
                self._access.know_source(made.name, made.identity)
            except BaseException as error:
                for file in (place, ledger):  # of this call alone: neither was there before
                    file.unlink(missing_ok=True)
                if isinstance(error, (InvalidSource, EngineError)):
                    why = self._own_text(error, caller.person, place, declared.name)
                    raise Refusal(400, "InvalidSource", why) from None
                if isinstance(error, AccessError):
                    raise _taken() from None
                raise
            made.ledger.add_analyst(caller.person, declared.epsilon)
            self._access.add_role(caller.person, made.name, Role.OWNER)
            self._access.extend(caller, made.name)
            self._sources[made.name] = made
        return made

    def _opened(self, place: Path) -> Served:
        made = Served(lambda: Source.open(place))
        made.opened_from(str(place))
        made.most = self._most
        refuse_beside(self._sources, made)
        return made

    def _free(self, person: str, table: str) -> Path:
        """Return the place of a table that no source has yet."""
        place = self.folder.table(person, table)
        same = [place, *self.folder.copies(person, place)]
        served = list(self._sources.values())
        known = {each.file for each in served}
        others = [file for file in self.folder.sources() if str(file) not in known]  # of other servers, or left out
        if any(each.source.holds(one) for each in served for one in same) or any(
            self._may_hold(file, one) for file in others for one in same
        ):
            raise Refusal(
                409, "InvalidRequest", "A source has this table already, and a budget belongs to the people in the "
                "table. Ask that source, or change its declaration.",
            )  # fmt: skip
        return place

    def _may_hold(self, file: Path, table: Path) -> bool:
        """Return whether a source file that is not served here names a table, or cannot be read and might."""
        named = _tables_of(file)
        if named is None:
            return table.parent == file.parent
        return any(each.resolve() in table.resolve().parents or is_named(table, str(each)) for each in named)

    def _is_taken(self, person: str, name: str) -> bool:
        """Return whether a source has this name, or was made with it in any room, by any server."""
        ledger = self.folder.room(person) / f"{name}.ledger"
        return name in self._sources or ledger.exists() or any(file.stem == name for file in self.folder.sources())

    def _own_text(self, error: Exception, person: str, place: Path | None = None, name: str = "") -> str:
        """Return the text of an error about a person's own table.

        The folders of the server are not in it, a file at a place has the name that the person knows, and what the
        person would do in a terminal is said as what a file should be.
        """
        if isinstance(error, EngineError):
            source, what, budget, advice = error.args
            error = EngineError(source, what, budget, _AS_USUAL if "`" in advice else advice)
        if isinstance(error, InvalidSource) and place is not None:  # a long path in it is shortened
            error = InvalidSource(name, *error.args[1:])
        text = str(error)
        for folder in (self.folder.room(person), self.folder.place):
            text = text.replace(f"{folder}/", "")
        if place is not None:
            for each in (place.name, place.stem):
                text = text.replace(each, name)
        return text


def maker_of(request: Request) -> SourceMaker:
    """Return what makes new sources; routes that need it are there only if it is."""
    maker: SourceMaker = request.app.state.maker
    return maker


def _tables_of(file: Path) -> list[Path] | None:
    """Return the files that a source file names as its tables, as they are written; None if it cannot be read."""
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    joined = said.get("join", [])
    parts = [said, *joined] if isinstance(joined, list) else []
    named = [part.get("table") if isinstance(part, dict) else None for part in parts]
    tables = [each for each in named if isinstance(each, str) and "\0" not in each]
    if not parts or len(tables) < len(parts):
        return None
    return [file.parent / each for each in tables if not is_url(each)]


def _taken() -> Refusal:
    return Refusal(409, "InvalidRequest", "This name is taken: choose another one.")
