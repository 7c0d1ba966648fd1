"""Copies of the record of people: taken while servers use it, and put back without making old tokens valid again.

What was revoked or removed after a copy was taken would hold again.  So all tokens of a copy are revoked when it is put
back, unless the owner keeps them; what waits to be computed is cancelled, and those who are signed in are not.
Roles hold again, so that people who sign in elsewhere come back: nothing here knows which roles were taken since.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import sqlalchemy as sa

from ..errors import AccessError, InvalidRequest
from .store import AccessStore, jobs, now_text, people, roles, sources, tokens

_COPIED = (people, roles, tokens, sources, jobs)


def back_up_access(store: AccessStore, to: str | PathLike[str]) -> int:
    """Copy the record into a new file that only its owner can read; return the number of people."""
    if "://" in str(to) or Path(to).exists():
        raise InvalidRequest(f'"{to}" cannot be the backup', "A backup is a new file, and replaces nothing.")
    copy = AccessStore(str(to))
    with store.transaction() as origin, copy.transaction(write=True) as target:
        return _copy(origin, target)


def restore_access(store: AccessStore, backup: str | PathLike[str], *, keep_tokens: bool = False) -> int:
    """Put a copy into a record without people; return the number of people.

    Args:
        store: the record, which knows nobody yet.
        backup: the file that ``back_up_access`` made.
        keep_tokens: whether its tokens hold again, also those that were revoked after the copy was taken.
    """
    if not Path(backup).is_file():
        raise AccessError(str(backup), "is not there", "Give the file that `lapwing access backup` made.")
    if store.rows(sa.select(people).limit(1)):
        raise AccessError(store.where, "knows people already", "Move it away, or name another record: --access FILE.")
    now = now_text()
    with AccessStore(str(backup)).transaction() as origin, store.transaction(write=True) as target:
        for table in _COPIED:  # a server that runs may know its sources already
            target.execute(sa.delete(table))
        count = _copy(origin, target)
        target.execute(sa.update(jobs).where(jobs.c.state == "open").values(state="cancelled", changed=now))
        if not keep_tokens:
            target.execute(sa.update(tokens).where(tokens.c.revoked.is_(None)).values(revoked=now))
    return count


def _copy(origin: sa.Connection, target: sa.Connection) -> int:
    """Copy all rows; return the number of people."""
    for table in _COPIED:
        for found in origin.execute(sa.select(table)):
            target.execute(sa.insert(table), dict(found._mapping))
    return int(target.scalar(sa.select(sa.func.count()).select_from(people)) or 0)
