"""Who may do what: roles, permissions, and the one who calls.

A role belongs to a person and a source; those of operators and makers belong to the server.  Every route names one
permission.  What is not allowed here is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

SERVER = ""
"""In place of a source: the server itself."""


class Role(StrEnum):
    """What a person is for a source, or for the server."""

    OWNER = "owner"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    OPERATOR = "operator"
    MAKER = "maker"


class Permission(Enum):
    """What a route needs."""

    PUBLIC = "anyone, also without a token"
    SIGNED_IN = "anyone with a token"
    DESCRIBE = "what is public about a source, its budget and its head"
    ASK = "plan and release, and one's own answers"
    AUDIT = "all entries of the ledger, and its verification"
    MANAGE = "people, tokens, caps and the total of a source"
    OPERATE = "how the server is doing"
    CREATE = "new sources"


ROLES: Mapping[Permission, frozenset[Role]] = {
    Permission.DESCRIBE: frozenset({Role.OWNER, Role.ANALYST, Role.AUDITOR}),
    Permission.ASK: frozenset({Role.OWNER, Role.ANALYST}),
    Permission.AUDIT: frozenset({Role.OWNER, Role.AUDITOR}),
    Permission.MANAGE: frozenset({Role.OWNER}),
    Permission.OPERATE: frozenset({Role.OPERATOR}),
    Permission.CREATE: frozenset({Role.MAKER}),
}
"""For each permission that needs a role, the roles that have it."""

OF_THE_SERVER = frozenset({Role.OPERATOR, Role.MAKER})
"""Roles that belong to no source."""


@dataclass(frozen=True)
class Caller:
    """The person behind a request, by a token: its number, and the roles that it gives, by source.

    ``session`` is the number of the browser's session by which the token is used; None for the token itself.
    ``scope`` has the sources to which the token is limited; None if it is not.
    """

    person: str
    token: str
    roles: Mapping[str, frozenset[Role]]
    expires: str
    session: str | None = None
    scope: tuple[str, ...] | None = None

    @property
    def counted(self) -> str:
        """Under what the requests of this caller are counted: the person, with the sources of a limited token.

        An owner can make a token for anybody, limited to their source: it must not use up what that person may do
        elsewhere.
        """
        return self.person if self.scope is None else " ".join((self.person, *self.scope))

    def may(self, permission: Permission, source: str = SERVER) -> bool:
        """Return whether the caller has a permission for a source, or for the server."""
        if permission in (Permission.PUBLIC, Permission.SIGNED_IN):
            return True
        return not ROLES[permission].isdisjoint(self.roles.get(source, frozenset()))
