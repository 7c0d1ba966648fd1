"""Long questions as jobs: started, asked about, cancelled; their answers are in the ledger, and survive a restart.

A job is written down before it begins, and belongs to the server that wrote it for as long as that server lives.  Every
server takes up the jobs of its sources whose server does not live any more: what was charged is completed at no charge.
A job that three servers have begun and not ended is not begun again: it may be what ended them.
A cancelled job is not refunded: its computing ends, and if it was charged, the same question completes it at no charge.
Just before a charge, the record says whether the job is still open, still this server's, and its token valid: several
servers may have one record.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

import sqlalchemy as sa
from starlette.concurrency import run_in_threadpool

from ..engine.table import COMPLETE
from ..errors import EngineError, LapwingError
from ..noise.entropy import SYSTEM
from .access import Access
from .asking import Inquiry, ReleaseBody
from .lease import Lease
from .refusals import Refusal, failed, json_bytes, not_allowed, note, refusal_of
from .sources import Served
from .store import jobs, now_text
from .work import Answered, Stopping, Work

Row = dict[str, Any]

MOST_OPEN = 20
"""How many jobs of one person may be open at once for one source."""

LISTED = 100
"""How many jobs are listed."""

KEPT = 500
"""How many jobs of one person are kept for each source: the oldest that have ended are forgotten before others begin.

Their answers stay in the ledger.  Without this, one person could fill the disk with questions that cost nothing.
"""


MOST_ATTEMPTS = 3
"""How often a job is begun; one that is left open each time has failed, lest it end every server in turn."""

NOBODY = ""
"""The server of an open job that found no room when it was taken up: it is taken up again later."""


class TooManyJobs(Refusal):
    """A person has too many open jobs."""

    def __init__(self) -> None:
        message = f"You have {MOST_OPEN} open jobs for this source. Wait for one, or cancel one."
        super().__init__(429, "ServerError", message)


LOOKED_UP_EVERY = 1.0
"""After how many seconds it is looked up again whether a job was cancelled."""


class Cancelled(EngineError):
    """The computing of a question was ended."""


class Leave:
    """Whether a question may be charged and computed; it gets the number of its job when it becomes one."""

    def __init__(self, jobs: Jobs, inquiry: Inquiry, job: str | None = None) -> None:
        self._jobs, self._inquiry, self.job = jobs, inquiry, job
        self._looked_up = 0.0

    def check(self) -> None:
        """Refuse it if its job was cancelled or taken over, or its person may not ask it any more."""
        self._jobs.check(self._inquiry, self.job)

    def go_on(self, share: float) -> None:
        """End the computing of a job that was cancelled, by whichever server."""
        now = time.monotonic()
        if self.job is None or now - self._looked_up < LOOKED_UP_EVERY:
            return
        self._looked_up = now
        if self._jobs.is_cancelled(self.job):
            raise Cancelled(self._inquiry.served.name, "is not read any more: the job was cancelled", COMPLETE, "")


class Jobs:
    """The jobs of a server; ``server`` tells it from others with the same record of people."""

    def __init__(self, access: Access, work: Work, sources: dict[str, Served], lease_seconds: int = 15) -> None:
        self._access, self._store, self._work, self._sources = access, access.store, work, sources
        self.server = f"{SYSTEM.bits(128):032x}"
        self._lease = Lease(self._store, self.server, lease_seconds)
        self._watch: asyncio.Task[None] | None = None
        self._open: dict[str, asyncio.Task[None]] = {}

    # --- begin and end ---

    async def start(self, inquiry: Inquiry) -> Row:
        """Write a job down, begin it, and return it."""
        row = await run_in_threadpool(self._add, inquiry)
        self._begin(row["job"], inquiry)
        return shown(row)

    def leave(self, inquiry: Inquiry) -> Leave:
        """Return what says, before a question is charged, whether it still may be."""
        return Leave(self, inquiry)

    async def adopt(self, inquiry: Inquiry, leave: Leave, task: asyncio.Task[Answered]) -> Row:
        """Make a job of a question that was begun as a request and takes long."""
        try:
            row = await run_in_threadpool(self._add, inquiry, leave)
        except TooManyJobs:
            raise Refusal(
                429, "ServerError", f"This question takes long, and you have {MOST_OPEN} open jobs, so it did not "
                "become one. It goes on and is charged: ask the same question again later, at no further charge.",
            ) from None  # fmt: skip
        self._follow(row["job"], inquiry, task)
        return shown(row)

    async def open(self) -> None:
        """Begin: take up what servers that do not live any more have left, now and from time to time."""
        await run_in_threadpool(self._lease.begin)
        await self.resume()
        self._watch = asyncio.get_running_loop().create_task(self._take_up())

    async def close(self) -> None:
        """Take up no more."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait({self._watch})

    async def settle(self) -> None:
        """Wait until everything that ended is written down, and leave the rest to others."""
        while self._open:
            await asyncio.wait(set(self._open.values()))
        await run_in_threadpool(self._lease.end)

    async def _take_up(self) -> None:
        while True:
            await asyncio.sleep(self._lease.pause)
            try:
                await self.resume()
            except Exception as error:  # the next time it may go
                note(error)

    async def resume(self) -> int:
        """Begin the open jobs of these sources that no server runs; return how many."""
        which = (jobs.c.state == "open") & jobs.c.source.in_(sorted(self._sources)) & self._lease.abandoned
        waiting = sa.select(jobs).where(which).order_by(jobs.c.made, jobs.c.job).limit(self._work.room)
        taken = 0
        for row in await run_in_threadpool(self._store.rows, waiting):
            if row["job"] in self._open or not await run_in_threadpool(self._take, row):
                continue  # it runs here, another server was first, or it has ended
            taken += 1
            try:
                inquiry = await run_in_threadpool(self._again, row)
            except Exception as error:  # the source has changed, or the person may not ask it any more
                await run_in_threadpool(self._end, row["job"], _failure(error))
                continue
            self._begin(row["job"], inquiry, resumed=True)
        return taken

    def _begin(self, job: str, inquiry: Inquiry, *, resumed: bool = False) -> None:
        task = self._work.begin(inquiry, Leave(self, inquiry, job))
        self._follow(job, inquiry, task, resumed=resumed)

    def _follow(self, job: str, inquiry: Inquiry, task: asyncio.Task[Answered], *, resumed: bool = False) -> None:
        """Write down how a job ends."""

        async def follow() -> None:
            try:
                try:
                    fields: Row = {"state": "done", "entry": (await task).entry}
                except Cancelled:
                    return
                except Stopping:  # it stays open, and is begun again when a server starts
                    fields = {"attempts": jobs.c.attempts - 1}
                except Exception as error:
                    no_room = resumed and isinstance(error, Refusal) and error.status in (429, 503)
                    later = {"server": NOBODY, "attempts": jobs.c.attempts - 1}
                    fields = later if no_room else _failure(error, inquiry.served)
                await run_in_threadpool(self._end, job, fields)
            except Exception as error:  # it stays open, and is taken up when this server lives no more
                note(error)
            finally:
                self._open.pop(job, None)

        self._open[job] = asyncio.get_running_loop().create_task(follow())

    # --- what is stored ---

    def _add(self, inquiry: Inquiry, leave: Leave | None = None) -> Row:
        now = now_text()
        row: Row = {
            "job": f"{SYSTEM.bits(128):032x}",
            "person": inquiry.person,
            "source": inquiry.served.name,
            "token": inquiry.token,
            "server": self.server,
            "question": inquiry.asking.model_dump_json(),
            "state": "open",
            "entry": None,
            "error": None,
            "message": None,
            "made": now,
            "changed": now,
            "attempts": 1,
        }
        of_mine = (jobs.c.person == inquiry.person) & (jobs.c.source == inquiry.served.name)
        mine = sa.select(sa.func.count()).where(of_mine & (jobs.c.state == "open"))
        with self._store.transaction(write=True) as connection:
            if (connection.scalar(mine) or 0) >= MOST_OPEN:
                raise TooManyJobs
            connection.execute(sa.delete(jobs).where(jobs.c.job.in_(_beyond(of_mine))))
            connection.execute(sa.insert(jobs), row)
        if leave is not None:
            leave.job = row["job"]
        return row

    def _end(self, job: str, fields: Row) -> None:
        """Write down how an open job of this server ended; one that was cancelled or taken over stays so."""
        self._change((jobs.c.job == job) & (jobs.c.server == self.server), fields)

    def _take(self, row: Row) -> bool:
        """Take over an open job from a server that does not live; of several that try, one does.

        One that was begun too often is ended instead.
        """
        which = (jobs.c.job == row["job"]) & (jobs.c.server == row["server"]) & self._lease.abandoned
        if row["attempts"] >= MOST_ATTEMPTS:
            self._change(which, _failure(_given_up()))
            return False
        return self._change(which, {"server": self.server, "attempts": jobs.c.attempts + 1})

    def _change(self, which: sa.ColumnElement[bool], fields: Row) -> bool:
        """Change a job if it is open; return whether it was."""
        change = sa.update(jobs).where(which & (jobs.c.state == "open"))
        with self._store.transaction(write=True) as connection:
            return bool(connection.execute(change.values(**fields, changed=now_text())).rowcount)

    def check(self, inquiry: Inquiry, job: str | None) -> None:
        """Refuse a question, just before its charge, that was cancelled or may not be asked any more."""
        if job is not None:
            mine = (jobs.c.job == job) & (jobs.c.state == "open") & (jobs.c.server == self.server)
            if not self._store.rows(sa.select(jobs.c.job).where(mine)):
                raise Refusal(409, "ServerError", "The job was cancelled before it was charged.")
        if not self._access.may_still_ask(inquiry.person, inquiry.token, inquiry.served.name):
            raise not_allowed()

    def is_cancelled(self, job: str) -> bool:
        """Return whether a job was cancelled; False if the record cannot be read now."""
        which = (jobs.c.job == job) & (jobs.c.state == "cancelled")
        with suppress(LapwingError):
            return bool(self._store.rows(sa.select(jobs.c.job).where(which)))
        return False

    def _again(self, row: Row) -> Inquiry:
        """Return the question of a job, if its person may still ask it by the same token."""
        if not self._access.may_still_ask(row["person"], row["token"], row["source"]):
            raise not_allowed()
        asking = ReleaseBody.model_validate_json(row["question"])
        return Inquiry(self._sources[row["source"]], row["person"], asking, row["token"])

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
            self._change(jobs.c.job == job, {"state": "cancelled"})
        return shown(self.one(person, source, job))

    def result(self, served: Served, row: Row) -> bytes | None:
        """Return the answer of a job that is done, from the ledger alone; None if the ledger has none that fits."""
        inquiry = Inquiry(served, row["person"], ReleaseBody.model_validate_json(row["question"]))
        release = inquiry.free()
        return None if release is None else json_bytes(inquiry.answer(release))


def _beyond(which: sa.ColumnElement[bool]) -> sa.Select[tuple[str]]:
    """Return which of these jobs are forgotten before another one is written down."""
    ended = which & (jobs.c.state != "open")
    newest = jobs.c.made.desc(), jobs.c.job
    return sa.select(jobs.c.job).where(ended).order_by(*newest).offset(KEPT - 1)


def shown(row: Row) -> Row:
    """Return what a person sees of a job."""
    names = ("job", "source", "state", "entry", "error", "message", "made", "changed")
    return {**{name: row[name] for name in names}, "question": json.loads(row["question"])}


def _given_up() -> Refusal:
    """Return how a job failed that was begun too often."""
    return Refusal(
        500, "ServerError", f"The job was begun {MOST_ATTEMPTS} times, and each time its server ended first. It "
        f"may be too large for this server; it is not begun again. {COMPLETE}",
    )  # fmt: skip


def _failure(error: Exception, served: Served | None = None) -> Row:
    """Return how a job failed, in the words that a request would have been told."""
    if isinstance(error, LapwingError):
        error = refusal_of(error, served)
    if not isinstance(error, Refusal):
        note(error)
        error = failed()
    return {"state": "failed", "error": error.name, "message": error.message}
