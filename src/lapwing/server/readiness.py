"""Whether a server can answer: the record of people and every ledger, looked up once a second, however many ask."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from .access import Access
from .permissions import SERVER
from .refusals import note
from .sources import Served

PATIENCE = 2
"""How many seconds a look may take; a database that is silent for longer does not answer."""

_LASTS = 1
"""For how many seconds what was found holds: nobody needs a token to ask."""


class ReadinessCheck:
    """What every request of a question needs, looked up in one thread of its own."""

    def __init__(self, access: Access, sources: Mapping[str, Served]) -> None:
        self._access, self._sources = access, sources
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="lapwing-ready")
        self._look: asyncio.Future[bool] | None = None
        self._begun = 0.0

    async def holds(self) -> bool:
        """Return whether all of them answer."""
        loop = asyncio.get_running_loop()
        if self._look is None or (self._look.done() and loop.time() - self._begun > _LASTS):
            self._look, self._begun = loop.run_in_executor(self._pool, self._answer), loop.time()
        done, _ = await asyncio.wait({self._look}, timeout=PATIENCE)
        return bool(done) and self._look.result()

    def _answer(self) -> bool:
        try:
            self._access.roles(SERVER)
            return all(each.ledger.head for each in list(self._sources.values()))
        except Exception as error:  # whatever it is, the log alone says so
            note(error)
            return False

    def close(self) -> None:
        """Look no more."""
        self._pool.shutdown(wait=False)
