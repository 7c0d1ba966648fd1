"""Long questions as jobs: started, asked about, cancelled; their answers are in the ledger, and survive a restart.

A job is written down before it begins.  When a server starts, it goes on with the jobs that had not ended: what was
charged is completed at no charge.  A cancelled job is not refunded: if it was charged, its answer is still recorded.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from starlette.concurrency import run_in_threadpool

from ..errors import LapwingError
from ..noise.entropy import SYSTEM
from .asking import Inquiry, ReleaseBody
from .permissions import ROLES, Permission, Role
from .refusals import Refusal, failed, json_bytes, not_allowed, refusal_of
from .sources import Served
from .store import AccessStore, jobs, roles
from .work import Answered, Stopping, Work

Row = dict[str, Any]

MOST_OPEN = 20
"""How many jobs of one person may be open at once."""

LISTED = 100
"""How many jobs are listed."""


class Jobs:
    """The jobs of a server."""

    def __init__(self, store: AccessStore, work: Work, sources: dict[str, Served]) -> None:
        self._store, self._work, self._sources = store, work, sources
        self._cancelled: set[str] = set()
        self._open: dict[str, asyncio.Task[None]] = {}

    # --- begin and end ---

    async def start(self, inquiry: Inquiry) -> Row:
        """Write a job down, begin it, and return it."""
        row = await run_in_threadpool(self._add, inquiry)
        self._follow(row["job"], inquiry, self._work.begin(inquiry, self._asks_about(row["job"])))
        return shown(row)

    async def adopt(self, inquiry: Inquiry, task: asyncio.Task[Answered]) -> Row:
        """Make a job of a question that was begun as a request and takes long."""
        row = await run_in_threadpool(self._add, inquiry)
        self._follow(row["job"], inquiry, task)
        return shown(row)

    async def resume(self) -> int:
        """Begin all jobs again that had not ended when the server stopped; return how many."""
        waiting = await run_in_threadpool(self._store.rows, sa.select(jobs).where(jobs.c.state == "open"))
        for row in waiting:
            try:
                inquiry = await run_in_threadpool(self._again, row)
            except Exception as error:  # the source is gone or has changed, or the person may not ask it any more
                await run_in_threadpool(self._end, row["job"], _failure(error))
                continue
            self._follow(row["job"], inquiry, self._work.begin(inquiry, self._asks_about(row["job"])))
        return len(waiting)

    async def settle(self) -> None:
        """Wait until everything that ended is written down."""
        while self._open:
            await asyncio.wait(set(self._open.values()))

    def _asks_about(self, job: str) -> Callable[[], bool]:
        return lambda: job in self._cancelled

    def _follow(self, job: str, inquiry: Inquiry, task: asyncio.Task[Answered]) -> None:
        """Write down how a job ends."""

        async def follow() -> None:
            try:
                try:
                    fields = {"state": "done", "entry": (await task).entry}
                except Stopping:
                    return  # it stays open, and is begun again when the server starts
                except Exception as error:
                    fields = _failure(error, inquiry.served)
                await run_in_threadpool(self._end, job, fields)
            except LapwingError as error:  # as above
                refusal_of(error)
            finally:
                self._cancelled.discard(job)
                self._open.pop(job, None)

        self._open[job] = asyncio.get_running_loop().create_task(follow())

    # --- what is stored ---

    def _add(self, inquiry: Inquiry) -> Row:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = {
            "job": f"{SYSTEM.bits(128):032x}",
            "person": inquiry.person,
            "source": inquiry.served.name,
            "question": inquiry.asking.model_dump_json(),
            "state": "open",
            "entry": None,
            "error": None,
            "message": None,
            "made": now,
            "changed": now,
        }
        mine = sa.select(sa.func.count()).where((jobs.c.person == inquiry.person) & (jobs.c.state == "open"))
        with self._store.transaction(write=True) as connection:
            if (connection.scalar(mine) or 0) >= MOST_OPEN:
                raise Refusal(429, "ServerError", f"You have {MOST_OPEN} open jobs. Wait for one, or cancel one.")
            connection.execute(sa.insert(jobs), row)
        return row

    def _end(self, job: str, fields: Row) -> None:
        """Write down how an open job ended; one that was cancelled stays so."""
        change = sa.update(jobs).where((jobs.c.job == job) & (jobs.c.state == "open"))
        changed = datetime.now(UTC).isoformat(timespec="seconds")
        with self._store.transaction(write=True) as connection:
            connection.execute(change.values(**fields, changed=changed))

    def _again(self, row: Row) -> Inquiry:
        """Return the question of a job, if its person may still ask it."""
        may = (roles.c.person == row["person"]) & (roles.c.source == row["source"])
        found = {Role(each["role"]) for each in self._store.rows(sa.select(roles).where(may))}
        served = self._sources.get(row["source"])
        if served is None or ROLES[Permission.ASK].isdisjoint(found):
            raise not_allowed()
        return Inquiry(served, row["person"], ReleaseBody.model_validate_json(row["question"]))

    # --- what is asked about them ---

    def mine(self, person: str, source: str) -> list[Row]:
        """Return the jobs of a person, the newest first."""
        which = (jobs.c.person == person) & (jobs.c.source == source)
        found = self._store.rows(sa.select(jobs).where(which).order_by(jobs.c.made.desc(), jobs.c.job).limit(LISTED))
        return [shown(row) for row in found]

    def one(self, person: str, source: str, job: str) -> Row:
        """Return a job of a person; refuse what is not there and what is another's in the same way."""
        which = (jobs.c.person == person) & (jobs.c.source == source) & (jobs.c.job == job)
        found = self._store.rows(sa.select(jobs).where(which))
        if not found:
            raise not_allowed()
        return found[0]

    def cancel(self, person: str, source: str, job: str) -> Row:
        """Cancel an open job; what was charged stays charged."""
        row = self.one(person, source, job)
        if row["state"] == "open":
            self._cancelled.add(job)
            self._end(job, {"state": "cancelled"})
        return shown(self.one(person, source, job))

    def result(self, served: Served, row: Row) -> bytes | None:
        """Return the answer of a job that is done, from the ledger alone; None if the ledger has none that fits."""
        inquiry = Inquiry(served, row["person"], ReleaseBody.model_validate_json(row["question"]))
        release = inquiry.known() if inquiry.plan.parts else inquiry.released()  # the public number of rows
        return None if release is None else json_bytes(inquiry.answer(release))


def shown(row: Row) -> Row:
    """Return what a person sees of a job."""
    names = ("job", "source", "state", "entry", "error", "message", "made", "changed")
    return {**{name: row[name] for name in names}, "question": json.loads(row["question"])}


def _failure(error: Exception, served: Served | None = None) -> Row:
    """Return how a job failed, in the words that a request would have been told."""
    if isinstance(error, LapwingError):
        error = refusal_of(error, served)
    if not isinstance(error, Refusal):
        error = failed()
    return {"state": "failed", "error": error.name, "message": error.message}
