"""Questions that are computed: few at once, each question once however many ask, and none lost at the end.

The ledger already answers each question once.  Here those who ask the same question at the same time wait for the first
of them, and then get the recorded answer, so that the table is read once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from fractions import Fraction
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool

from ..release.result import Release
from .asking import Inquiry
from .planning import Planning
from .refusals import Refusal, json_bytes


class Answered:
    """An answer, as it is sent, the entry that holds it, and whether that was charged before."""

    def __init__(self, body: bytes, entry: int | None, repeated: bool) -> None:
        self.body, self.entry, self.repeated = body, entry, repeated


class Permit(Protocol):
    """Whether a question may be charged, and whether its computing goes on."""

    def check(self) -> None:
        """Refuse it just before its charge, if it must not be charged any more."""

    def go_on(self, share: float) -> None:
        """Stop its computing, of which this share is done, if nobody wants it any more."""


class Busy(Refusal):
    """Too many questions wait already."""

    def __init__(self) -> None:
        message = "The server is busy or stopping. No row was read and nothing was charged. Ask again later."
        super().__init__(503, "ServerError", message, {"Retry-After": "5"})


class Stopping(Busy):
    """The server stops before a question was charged."""


class Work:
    """A queue of questions, for one event loop."""

    def __init__(self, planning: Planning, at_once: int, waiting: int, most: Fraction | None = None) -> None:
        self._planning = planning
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="lapwing-question")
        self._free = asyncio.Semaphore(at_once)
        self._most_busy = at_once + waiting
        self._most = most
        self._turns: dict[str, list[asyncio.Future[None]]] = {}
        self._busy = 0
        self._closing = False
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def busy(self) -> int:
        """How many questions are computed or wait."""
        return self._busy

    @property
    def room(self) -> int:
        """How many more questions may be computed or wait."""
        return max(self._most_busy - self._busy, 0)

    def computes(self, key: str) -> bool:
        """Return whether a question of this key is computed here, or waits."""
        return key in self._turns

    def begin(self, inquiry: Inquiry, leave: Permit) -> asyncio.Task[Answered]:
        """Begin to answer a question; what was begun goes on, whoever still waits for it, as long as it has leave."""
        task = asyncio.get_running_loop().create_task(self._answer(inquiry, leave))
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # seen, even if nobody waits for it any more

    async def _answer(self, inquiry: Inquiry, leave: Permit) -> Answered:
        """Return the recorded answer; or wait for a turn, and compute one."""
        known = await self._planning.run(inquiry.counted, _known, inquiry, self._most)
        if known is not None:
            return known
        if self._closing:
            raise Stopping
        if not self.room:
            raise Busy
        self._busy += 1
        try:
            async with self._turn(inquiry.key), self._free:
                if self._closing:
                    raise Stopping
                loop = asyncio.get_running_loop()
                return await asyncio.shield(loop.run_in_executor(self._pool, _computed, inquiry, leave))
        finally:
            self._busy -= 1

    @asynccontextmanager
    async def _turn(self, key: str) -> AsyncIterator[None]:
        """Wait for all who asked the same question before."""
        queue = self._turns.setdefault(key, [])
        before = queue[-1] if queue else None
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(mine)
        try:
            if before is not None:
                await asyncio.shield(before)
            yield
        finally:
            mine.set_result(None)
            queue.remove(mine)
            if not queue:
                del self._turns[key]

    async def close(self) -> None:
        """Take no more questions, and wait until those that are computed are answered and recorded.

        Those that wait were not charged; as jobs they are begun again when the server starts.
        """
        self._closing = True
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await run_in_threadpool(self._pool.shutdown)


def _known(inquiry: Inquiry, most: Fraction | None) -> Answered | None:
    """Return the recorded answer; None if there is none yet, and the question may cost what it does."""
    release = inquiry.known()
    if release is not None:
        return _answered(inquiry, release)
    inquiry.check_cost(most)
    return None


def _computed(inquiry: Inquiry, leave: Permit) -> Answered:
    leave.check()
    return _answered(inquiry, inquiry.released(leave.go_on))


def _answered(inquiry: Inquiry, release: Release) -> Answered:
    return Answered(json_bytes(inquiry.answer(release)), release.entry, release.repeated)
