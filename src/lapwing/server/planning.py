"""Work on questions that charges nothing: checks, plans, recorded answers; few at a time for each person.

It has threads of its own, so that no number of plans keeps the server from checking tokens, and no one person takes all
of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, TypeVar

from .refusals import Refusal

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

THREADS = 8
AT_ONCE = 2
"""How many run at the same time for one person, by tokens with the same sources."""

WAITING = 20
"""How many more of one person may wait."""


class _Mine:
    """What one person has running and waiting."""

    def __init__(self) -> None:
        self.free = asyncio.Semaphore(AT_ONCE)
        self.count = 0


class Planning:
    """Threads for plans, for one event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="lapwing-plan")
        self._people: dict[str, _Mine] = {}

    async def run(
        self, counted: str, call: Callable[_Given, _Result], *args: _Given.args, **named: _Given.kwargs
    ) -> _Result:
        """Call a function when it is the turn of a caller, ``counted``; refuse it if too many of theirs wait."""
        mine = self._people.setdefault(counted, _Mine())
        if mine.count >= AT_ONCE + WAITING:
            raise Refusal(
                429, "ServerError", "Too many of your questions are being planned or looked up. Nothing was read and "
                "nothing was charged. Ask again when some of them are answered.", {"Retry-After": "5"},
            )  # fmt: skip
        mine.count += 1
        try:
            await mine.free.acquire()
        except BaseException:
            self._leave(counted, mine)
            raise
        loop = asyncio.get_running_loop()

        def ended(_: object) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._end, counted, mine)

        work = self._pool.submit(call, *args, **named)
        work.add_done_callback(ended)  # not when this is cancelled: a thread cannot be stopped
        return await asyncio.wrap_future(work)

    async def run_within(
        self, seconds: float, late: str, counted: str, call: Callable[_Given, _Result], *args: _Given.args,
        **named: _Given.kwargs,
    ) -> _Result:  # fmt: skip
        """Do the same, and wait so many seconds for it; then refuse it, and say that it is ``late``."""
        task = asyncio.ensure_future(self.run(counted, call, *args, **named))
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            task.cancel()  # if it has begun, its thread goes on, and nobody waits for it
            raise Refusal(503, "ServerError", late)
        return task.result()

    def _end(self, counted: str, mine: _Mine) -> None:
        mine.free.release()
        self._leave(counted, mine)

    def _leave(self, counted: str, mine: _Mine) -> None:
        mine.count -= 1
        if not mine.count:
            self._people.pop(counted, None)

    def close(self) -> None:
        """Take no more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
