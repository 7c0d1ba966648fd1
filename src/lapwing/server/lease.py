"""Which servers live: each renews a lease in the record of people, and its open jobs are left to it until that ends.

The lease saves work, not ε: a job that two servers ran would be charged once, with one answer (claim L2).  Times are
those of the record's database, since the clocks of several machines differ.
"""

from __future__ import annotations

import threading

import sqlalchemy as sa

from ..errors import LapwingError
from .refusals import note
from .store import AccessStore, jobs, servers

_CLOCKS = {
    "sqlite": "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
    "postgresql": "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
}
"""Milliseconds since 1970, by the database."""


class Lease:
    """The lease of one server; a thread of its own renews it three times before it would end."""

    def __init__(self, store: AccessStore, server: str, seconds: int) -> None:
        self._store, self._server, self._milliseconds = store, server, seconds * 1000
        self._clock: sa.ColumnElement[int] = sa.literal_column(_CLOCKS[store.dialect])
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lapwing-lease", daemon=True)

    @property
    def pause(self) -> float:
        """How many seconds to wait between two renewals."""
        return self._milliseconds / 3000

    @property
    def abandoned(self) -> sa.ColumnElement[bool]:
        """What holds of a job whose server does not live."""
        return jobs.c.server.not_in(sa.select(servers.c.server).where(servers.c.until > self._clock))

    def begin(self) -> None:
        """Begin the lease, and remove those that have ended."""
        with self._store.transaction(write=True) as connection:
            connection.execute(sa.delete(servers).where(servers.c.until <= self._clock))
        self.renew()
        self._thread.start()

    def renew(self) -> None:
        """Move the end of the lease on."""
        until = self._clock + self._milliseconds
        mine = sa.update(servers).where(servers.c.server == self._server).values(until=until)
        with self._store.transaction(write=True) as connection:
            if not connection.execute(mine).rowcount:
                connection.execute(sa.insert(servers).values(server=self._server, until=until))

    def _keep(self) -> None:
        while not self._over.wait(self.pause):
            try:
                self.renew()
            except LapwingError as error:  # another server may take up what is not charged yet
                note(error)

    def end(self) -> None:
        """End the lease: what is still open is for others."""
        self._over.set()
        self._thread.join()
        try:
            with self._store.transaction(write=True) as connection:
                connection.execute(sa.delete(servers).where(servers.c.server == self._server))
        except LapwingError as error:  # it ends by itself
            note(error)
