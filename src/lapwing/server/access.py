"""People, their roles and their tokens: who is behind a request, and how the owner changes that.

A token is shown once, when it is made.  It expires, can be revoked, and may be limited to some sources; it never gives
more than the roles that its person has when it is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from .. import exact
from ..errors import AccessError, InvalidParameter
from .permissions import OF_THE_SERVER, ROLES, SERVER, Caller, Permission, Role
from .store import AccessStore, now_text, people, roles, sources, time_text, tokens
from .tokens import hash_of, is_token, make_token, number_of

MOST_DAYS = 366
"""How long a token may last."""

USUAL_DAYS = 90

SESSION_HOURS = 12
"""How long a session of a browser lasts at most."""

MOST_SESSIONS = 50
"""How many sessions of one person, from tokens with the same sources, are kept: the oldest end before others begin."""

TOKEN, SESSION = "token", "session"

SIGNED_IN_LASTS = timedelta(hours=12)
"""How long a token lasts that someone got by signing in elsewhere."""

_PERSON = re.compile(r"[a-z0-9][a-z0-9._+@-]{0,99}", re.ASCII)
_SEEN_EVERY = timedelta(hours=1)
_TOKEN_AND_ROLES = sa.select(tokens, roles.c.source, roles.c.role).select_from(
    tokens.outerjoin(roles, roles.c.person == tokens.c.person)
)
"""A token with each role of its person in turn, or alone if there is none: one query for each request."""


@dataclass(frozen=True)
class NewToken:
    """A token that was just made: its text is known only here and now."""

    text: str
    number: str
    expires: str

    def __repr__(self) -> str:
        return f"NewToken({self.number})"


class Access:
    """The record of people and tokens."""

    def __init__(self, store: AccessStore) -> None:
        self.store = store

    # --- who calls ---

    def caller(self, token: str | None, kind: str = TOKEN) -> Caller | None:
        """Return who is behind a token, or behind a session; None, for whatever reason, if nobody is."""
        given = token or ""
        number = number_of(given)
        now = now_text()
        rows = self.store.rows(_TOKEN_AND_ROLES.where(tokens.c.number == (number or "")))
        row = rows[0] if rows else None
        stored = None if row is None else row["hash"]
        if not is_token(given, stored) or row is None:
            return None
        if row["kind"] != kind or not self._is_valid(row, now):
            return None
        self._mark_used(row, now)
        scope = None if row["sources"] is None else set(json.loads(row["sources"]))
        found: dict[str, set[Role]] = {}
        for each in rows:
            if each["role"] is not None and (scope is None or each["source"] in scope):
                found.setdefault(each["source"], set()).add(Role(each["role"]))
        given_roles = {source: frozenset(some) for source, some in found.items()}
        session = row["number"] if row["kind"] == SESSION else None
        used = row["number"] if session is None else row["parent"] or session
        limited = None if scope is None else tuple(sorted(scope))
        return Caller(row["person"], used, given_roles, row["expires"], session, limited)

    def may_still_ask(self, person: str, number: str, source: str) -> bool:
        """Return whether a person may ask a source now, by a token that was used before."""
        row = self._token(number)
        if row is None or row["person"] != person or not self._is_valid(row, now_text()):
            return False
        if row["sources"] is not None and source not in json.loads(row["sources"]):
            return False
        found = self.store.rows(sa.select(roles).where((roles.c.person == person) & (roles.c.source == source)))
        return not ROLES[Permission.ASK].isdisjoint(Role(each["role"]) for each in found)

    def _is_valid(self, row: dict[str, Any], now: str) -> bool:
        """Return whether a token is neither revoked nor expired, nor the one from which a session was made."""
        if row["revoked"] is not None or row["expires"] <= now:
            return False
        parent = None if row["parent"] is None else self._token(row["parent"])
        return row["parent"] is None or (parent is not None and self._is_valid(parent, now))

    def _token(self, number: str) -> dict[str, Any] | None:
        found = self.store.rows(sa.select(tokens).where(tokens.c.number == number))
        return found[0] if found else None

    def _mark_used(self, row: dict[str, Any], now: str) -> None:
        """Note when a token was used, at most once in an hour."""
        if row["used"] is not None and row["used"] > time_text(_time(now) - _SEEN_EVERY):
            return
        with self.store.transaction(write=True) as connection:
            connection.execute(sa.update(tokens).where(tokens.c.number == row["number"]).values(used=now))

    # --- sources ---

    def know_source(self, name: str, ledger: str) -> None:
        """Note which ledger a name stands for; refuse another one, whose people would be those of the first."""
        with self.store.transaction(write=True) as connection:
            known = connection.scalar(sa.select(sources.c.ledger).where(sources.c.source == name))
            if known is None:
                connection.execute(sa.insert(sources), {"source": name, "ledger": ledger})
        if known not in (None, ledger):
            raise AccessError(
                self.store.where, f'is about another source "{name}", with another ledger',
                "Its roles, tokens and jobs would hold here too. Name another record: --access FILE; or give this "
                "source another name.",
            )  # fmt: skip

    # --- people ---

    def add_role(self, person: str, source: str, role: Role) -> None:
        """Give a person a role for a source, or for the server; a new person is added."""
        person, now = checked_person(person), now_text()
        if (role in OF_THE_SERVER) != (source == SERVER):
            raise InvalidParameter(role.value, "role", "operator or maker for the server, and another one for a source")
        with self.store.transaction(write=True) as connection:
            known = sa.select(people).where(people.c.person == person)
            if not connection.execute(known).all():
                connection.execute(sa.insert(people), {"person": person, "made": now})
            same = (roles.c.person == person) & (roles.c.source == source) & (roles.c.role == role.value)
            if not connection.execute(sa.select(roles).where(same)).all():
                fields = {"person": person, "source": source, "role": role.value, "made": now}
                connection.execute(sa.insert(roles), fields)

    def has_role(self, person: str) -> bool:
        """Return whether a person has any role."""
        return bool(self.store.rows(sa.select(roles.c.role).where(roles.c.person == person).limit(1)))

    def remove_roles(self, person: str, source: str | None = None, *, but: Role | None = None) -> int:
        """Take all roles of a person for one source, or for all, ``but`` one; return how many were taken."""
        which = roles.c.person == person
        which = which if but is None else which & (roles.c.role != but.value)
        which = which if source is None else which & (roles.c.source == source)
        with self.store.transaction(write=True) as connection:
            return int(connection.execute(sa.delete(roles).where(which)).rowcount)

    def roles(self, source: str | None = None) -> list[dict[str, str]]:
        """Return who has which role, for one source or for all."""
        query = sa.select(roles).order_by(roles.c.person, roles.c.source, roles.c.role)
        return self.store.rows(query if source is None else query.where(roles.c.source == source))

    # --- tokens ---

    def make_token(self, person: str, days: object = USUAL_DAYS, sources: Iterable[str] | None = None) -> NewToken:
        """Make a token for a person, limited to some sources if they are given; only its hash is kept."""
        person, lasts = checked_person(person), checked_days(days)
        now = datetime.now(UTC)
        made, fields = _fresh(person, now, time_text(now + timedelta(days=lasts)))
        scope = None if sources is None else json.dumps(sorted(sources))
        with self.store.transaction(write=True) as connection:
            connection.execute(sa.insert(tokens), {**fields, "sources": scope})
        return made

    def make_session(self, person: str, parent: str | None = None, sources: Iterable[str] | None = None) -> NewToken:
        """Make a session for the browser of a person: a fresh token, for at most 12 hours.

        One that is made from a token, by its number, has its sources, and ends with it.
        """
        now = datetime.now(UTC)
        row = None if parent is None else self._token(parent)
        scope = None if sources is None else json.dumps(sorted(sources))
        ends = time_text(now + timedelta(hours=SESSION_HOURS))
        if row is not None:
            scope, ends = row["sources"], min(ends, row["expires"])
        made, fields = _fresh(checked_person(person), now, ends)
        more = {"sources": scope, "kind": SESSION, "parent": parent}
        with self.store.transaction(write=True) as connection:
            old = (tokens.c.kind == SESSION) & (tokens.c.expires <= time_text(now))
            connection.execute(sa.delete(tokens).where(old))
            mine = (tokens.c.kind == SESSION) & (tokens.c.person == person)
            mine &= tokens.c.sources.is_not_distinct_from(scope)
            newest = sa.select(tokens.c.number).where(mine).order_by(tokens.c.made.desc(), tokens.c.number)
            connection.execute(sa.delete(tokens).where(tokens.c.number.in_(newest.offset(MOST_SESSIONS - 1))))
            connection.execute(sa.insert(tokens), {**fields, **more})
        return made

    def sign_in(self, person: str, number: int | None = None) -> NewToken | None:
        """Make a token of 12 hours for someone who has signed in elsewhere.

        None for a person without any role, and if the number was used before.
        """
        now = datetime.now(UTC)
        made, fields = _fresh(person, now, time_text(now + SIGNED_IN_LASTS), number)
        with self.store.transaction(write=True) as connection:
            known = connection.execute(sa.select(roles.c.role).where(roles.c.person == person)).first()
            used = connection.execute(sa.select(tokens.c.number).where(tokens.c.number == made.number)).first()
            if known is None or used is not None:
                return None
            connection.execute(sa.insert(tokens), {**fields, "sources": None})
        return made

    def extend(self, caller: Caller, source: str) -> None:
        """Let a token, and the session by which it is used, also be for a source that its person has just made."""
        numbers = [caller.token, *([] if caller.session is None else [caller.session])]
        with self.store.transaction(write=True) as connection:
            found = connection.execute(sa.select(tokens).where(tokens.c.number.in_(numbers))).mappings().all()
            for row in found:
                if row["sources"] is not None:
                    scope = json.dumps(sorted({*json.loads(row["sources"]), source}))
                    connection.execute(sa.update(tokens).where(tokens.c.number == row["number"]).values(sources=scope))

    def tokens(self, person: str | None = None) -> list[dict[str, Any]]:
        """Return what is known about tokens, but not about sessions; never a hash."""
        hidden = ("hash", "kind", "parent")
        query = sa.select(*(column for column in tokens.c if column.name not in hidden)).where(tokens.c.kind == TOKEN)
        query = query.order_by(tokens.c.person, tokens.c.made)
        found = self.store.rows(query if person is None else query.where(tokens.c.person == person))
        return [{**row, "sources": None if row["sources"] is None else json.loads(row["sources"])} for row in found]

    def revoke(self, *, number: str | None = None, person: str | None = None) -> int:
        """Revoke one token, or all of a person; return how many were not revoked before."""
        which = tokens.c.number == number if person is None else tokens.c.person == person
        change = sa.update(tokens).where(which & tokens.c.revoked.is_(None)).values(revoked=now_text())
        with self.store.transaction(write=True) as connection:
            return int(connection.execute(change).rowcount)


def checked_person(person: object) -> str:
    """Return the name of a person: it is in the ledger, in logs and in addresses, so it is plain."""
    if not isinstance(person, str) or not _PERSON.fullmatch(person):
        allowed = "1 to 100 small letters, digits and . _ - + @, such as ana or ana@example.org"
        raise InvalidParameter(person, "person", allowed)
    return person


def checked_days(days: object) -> int:
    """Return how many days a token lasts, a whole number."""
    return exact.whole(days, "days", MOST_DAYS)


def invite(
    access: Access, person: str, role: Role, sources: Sequence[str], days: object, scope: Iterable[str] | None = None
) -> NewToken:
    """Give a person a role for sources, or for the server if none is named, and make a token."""
    checked_days(days)
    for source in sources or (SERVER,):
        access.add_role(person, source, role)
    return access.make_token(person, days, scope)


def _fresh(person: str, now: datetime, ends: str, number: int | None = None) -> tuple[NewToken, dict[str, str]]:
    """Return a new token, of a given number if there is one, and what is kept of it."""
    text = make_token(number)
    made = NewToken(text, str(number_of(text)), ends)
    kept = {"number": made.number, "person": person, "hash": hash_of(text), "made": time_text(now), "expires": ends}
    return made, kept


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
