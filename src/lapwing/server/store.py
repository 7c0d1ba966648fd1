"""Where people, roles, tokens and jobs are kept: an SQLite file that only its owner can read, or PostgreSQL.

Of a token only the hash is here.  A job holds what was asked; its answer is in the ledger of its source.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from ..errors import AccessError, InvalidAddress
from ..ledger.failure import meaning
from ..ledger.store import WAIT, connect, open_connection

VERSION = 4
"""The version of the format; versions that ``_CHANGES`` names are brought up to it, and an unknown one is refused."""

_CHANGES = {
    2: (
        "ALTER TABLE lapwing_tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'token'",
        "ALTER TABLE lapwing_tokens ADD COLUMN parent TEXT",
    ),
    3: ("ALTER TABLE lapwing_jobs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 1",),
}
"""What a version lacks that the next one has: sessions; how often a job was begun."""

metadata = sa.MetaData()
format_table = sa.Table(
    "lapwing_access", metadata, sa.Column("version", sa.Integer, primary_key=True, autoincrement=False)
)
people = sa.Table(
    "lapwing_people",
    metadata,
    sa.Column("person", sa.Text, primary_key=True),
    sa.Column("made", sa.Text, nullable=False),
)
roles = sa.Table(
    "lapwing_roles",
    metadata,
    sa.Column("person", sa.Text, primary_key=True),
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("role", sa.Text, primary_key=True),
    sa.Column("made", sa.Text, nullable=False),
)
tokens = sa.Table(
    "lapwing_tokens",
    metadata,
    sa.Column("number", sa.Text, primary_key=True),
    sa.Column("person", sa.Text, nullable=False, index=True),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("sources", sa.Text),
    sa.Column("made", sa.Text, nullable=False),
    sa.Column("expires", sa.Text, nullable=False),
    sa.Column("revoked", sa.Text),
    sa.Column("used", sa.Text),
    sa.Column("kind", sa.Text, nullable=False, server_default="token"),
    sa.Column("parent", sa.Text),
)
"""Tokens, and the sessions of browsers: a session was made from its parent, a token, and ends with it."""
sources = sa.Table(
    "lapwing_sources",
    metadata,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("ledger", sa.Text, nullable=False),
)
"""Which ledger a name stands for, by the hash of its first entry: roles, tokens and jobs name sources."""
jobs = sa.Table(
    "lapwing_jobs",
    metadata,
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("server", sa.Text, nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("entry", sa.Integer),
    sa.Column("error", sa.Text),
    sa.Column("message", sa.Text),
    sa.Column("made", sa.Text, nullable=False),
    sa.Column("changed", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="1"),
    sa.Index("lapwing_jobs_person", "person", "source"),
)
servers = sa.Table(
    "lapwing_servers",
    metadata,
    sa.Column("server", sa.Text, primary_key=True),
    sa.Column("until", sa.BigInteger, nullable=False),
)
"""Until when each server that lives has a lease on its jobs: milliseconds since 1970, by the clock of the database."""

forms = sa.Table(
    "lapwing_forms",
    metadata,
    sa.Column("form", sa.Text, primary_key=True),
    sa.Column("made", sa.Text, nullable=False),
)
"""Forms that were sent, by the texts that their pages gave them: see ``once``."""

Row = dict[str, Any]


class AccessStore:
    """The tables of people and tokens; made if there are none."""

    def __init__(self, where: str) -> None:
        try:
            kept = connect(where, Fraction(WAIT))
        except InvalidAddress:
            raise InvalidAddress("record of people and tokens", "Give a path or a postgresql:// URL.") from None
        self.where, self._engine = kept.where, kept.engine
        if kept.file is not None:
            _own_file(kept.file, self.where)
        with self.transaction(write=True) as connection:
            self._make(connection)

    def _make(self, connection: sa.Connection) -> None:
        if connection.dialect.name != "sqlite":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7668)")  # of two that make it, one is first
        metadata.create_all(connection)
        versions = connection.scalars(sa.select(format_table.c.version)).all()
        if not versions:
            connection.execute(sa.insert(format_table), {"version": VERSION})
        elif len(versions) == 1 and versions[0] in _CHANGES:
            for version in range(versions[0], VERSION):
                for change in _CHANGES[version]:
                    connection.exec_driver_sql(change)
            connection.execute(sa.update(format_table).values(version=VERSION))
        elif versions != [VERSION]:
            advice = "Use the version of Lapwing that made it, or make a new one."
            raise AccessError(self.where, "has a format that this version of Lapwing does not know", advice)

    @property
    def dialect(self) -> str:
        """Which database it is: sqlite or postgresql."""
        return self._engine.dialect.name

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[sa.Connection]:
        """Run a block in one transaction; a failure of the database is told in our own words."""
        try:
            with open_connection(self._engine, write=write) as connection, connection.begin():
                yield connection
        except (SQLAlchemyError, OSError) as error:
            what, _ = meaning(error, self._engine)
            raise AccessError(self.where, what, "Try again.") from None

    def rows(self, query: sa.Select[Any]) -> list[Row]:
        """Return what a query finds."""
        with self.transaction() as connection:
            return [dict(row) for row in connection.execute(query).mappings().all()]


def now_text() -> str:
    """Return the time as this record has it."""
    return time_text(datetime.now(UTC))


def time_text(time: datetime) -> str:
    """Return a time as text; later times are larger texts."""
    return time.isoformat(timespec="seconds")


def _own_file(file: Path, where: str) -> None:
    """Make the file, readable by its owner alone; refuse one that others can read or write."""
    try:
        if not file.exists():
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        found = file.stat()
    except FileExistsError:
        found = file.stat()
    except OSError:
        raise AccessError(where, "cannot be made", "Does its folder exist, and can you write to it?") from None
    if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077:
        raise AccessError(where, "can be read by others, or is not a file", "Only its owner may: chmod 600 FILE.")
