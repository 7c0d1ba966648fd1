"""Canaries, and the search for them in everything that is returned, raised, logged or printed.

A canary is a value that must not appear: a number, texts and a day.  Many spellings of it are searched for, in what
calls return and raise, and in what is logged, warned and printed.
"""

from __future__ import annotations

import base64
import io
import json
import logging
import pickle
import re
import struct
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import duckdb

from ..finding import Finding
from ..room import Room

NUMBER = 8123456789.123457
WORD, PERSON, NOTE, ODD = "canary-7f3a", "canary-9b2e", "canary-5d1c", "canary-3e8b"
DAY = date(8713, 5, 17)

_SPELLINGS = re.compile(
    b"|".join(
        [
            rb"canary-[0-9a-f]{4}",
            *(re.escape(each) for word in (WORD, PERSON, NOTE, ODD) for each in (word.encode().hex().encode(),
              base64.b64encode(word.encode())[:12])),
            rb"(?<![0-9a-z.])8[,_ ]?123[,_ ]?456[,_ ]?\d{3}(?![0-9a-z])",  # does not match in a hash, which is longer
            rb"(?<![0-9a-z.])8\.123\d*e\+?0*9",
            *(re.escape(struct.pack(form, NUMBER)) for form in ("<d", ">d")),
            *(re.escape(struct.pack(form, int(NUMBER))) for form in ("<q", ">q")),
            re.escape(int(NUMBER).to_bytes(6, "big")),  # as SQLite writes it
            rb"8713-0?5-17|8713, ?5, ?17|17[./]0?5[./]8713",
            rb"(?<![0-9a-z.])87130517(?![0-9a-z])",  # the hashes of an audit would contain it with probability 3·10^-6
        ]
    ),
    re.IGNORECASE,
)  # fmt: skip


def sightings(said: str | bytes) -> list[str]:
    """Return the canaries that are in a text, a byte string or the content of a file, in any of many spellings."""
    raw = said.encode("utf-8", "backslashreplace") if isinstance(said, str) else said
    wide = raw.replace(b"\0", b"") if b"\0" in raw else b""  # texts of two bytes for each character
    return [found.decode("latin-1") for text in (raw, wide) for found in _SPELLINGS.findall(text)]


@dataclass
class Heard:
    """Everything that was output while it listened, by its source."""

    said: list[tuple[str, str | bytes]] = field(default_factory=list)
    errors: int = 0

    def add(self, who: str, *said: str | bytes) -> None:
        self.said += [(who, each) for each in said]

    def ask(self, who: str, call: Callable[[], Any]) -> None:
        """Record what a question returns, in every form it has, or the error that it raises."""
        try:
            self.add(who, *_forms(call()))
        except Exception as error:
            self.errors += 1
            self.add(f"{who}, which failed", *chain(error))

    def finding(self, what: str, as_due: bool = True, told: str = "", false_alarm: float = 0.0) -> Finding:
        """Return the finding that no canary was seen, and that the rest is as expected."""
        seen = [(who, found[0]) for who, said in self.said if (found := sightings(said))]
        where = f", such as {seen[0][1]!r} in {seen[0][0]}" if seen else ""
        size = sum(len(said) for _, said in self.said)
        line = f"Canaries were seen in {len(seen)} of {len(self.said)} texts ({size:,} characters), 0 may be{where}"
        return Finding(what, not seen and as_due, f"{line}{told}.", false_alarm)


@contextmanager
def listening(room: Room, closely: str = "") -> Iterator[Heard]:
    """Record all logs, warnings and what Python prints; temporary files go to the workspace.

    Loggers whose names begin with ``closely`` log everything, others what they usually do.
    """
    before, tempfile.tempdir = tempfile.tempdir, str(room.folder)
    try:
        with overheard(closely) as heard:
            yield heard
    finally:
        tempfile.tempdir = before


@contextmanager
def overheard(closely: str = "") -> Iterator[Heard]:
    """Record logs, warnings and what Python prints, likewise, wherever temporary files go."""
    heard, printed = Heard(), io.StringIO()
    ear = _Ear(heard)
    known = [each for each in logging.root.manager.loggerDict.values() if isinstance(each, logging.Logger)]
    loggers = [logging.root, *known]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        if logger.name.startswith(closely):
            logger.setLevel(logging.DEBUG)
    for logger in (each for each in loggers if each is logging.root or not each.propagate):
        logger.addHandler(ear)
    try:
        with redirect_stdout(printed), redirect_stderr(printed), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield heard
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
            logger.removeHandler(ear)
        heard.add("what was printed", printed.getvalue())
        heard.add("warnings", *(str(each.message) for each in warned))


class _Ear(logging.Handler):
    """Adds what is logged, with its arguments and its errors, to the record."""

    def __init__(self, heard: Heard) -> None:
        super().__init__(logging.DEBUG)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._heard.add(f"the log {record.name}", self.format(record), repr(record.args), *chain(error))


def _forms(made: Any) -> Iterator[str | bytes]:
    """Yield a plan or an answer in every form it has."""
    yield from (repr(made), str(made))
    for name in ("to_dict", "to_html", "to_csv", "to_toml", "_repr_html_"):
        if hasattr(made, name) and not (name == "to_toml" and getattr(made, "keys", None) == ()):
            form = getattr(made, name)()
            yield form if isinstance(form, str) else json.dumps(form)
    if hasattr(made, "__arrow_c_stream__"):
        read = duckdb.connect().sql("SELECT * FROM made")
        yield f"{read.columns} {read.fetchall()}"
    try:
        yield pickle.dumps(made)
    except (TypeError, pickle.PicklingError, AttributeError):
        yield ""
    if hasattr(made, "plan"):
        yield from _forms(made.plan)


def chain(error: BaseException | None) -> Iterator[str]:
    """Yield the messages of an error and its causes, and the variables of Lapwing's frames, as tools show them."""
    waiting, known = [error], set()
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in known:
            continue
        known.add(id(each))
        waiting += [each.__cause__, each.__context__]
        yield from (str(each), repr(each), repr(each.args), repr(vars(each)))
        yield "".join(traceback.format_exception(each))
        for frame, _ in traceback.walk_tb(each.__traceback__):
            name = str(frame.f_globals.get("__name__"))
            if name.startswith("lapwing.") and not name.startswith("lapwing.auditing."):  # a check knows its canaries
                yield from map(_shown, frame.f_locals.values())


def _shown(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:
        return str(error)
