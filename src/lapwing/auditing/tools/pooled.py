"""The engine's connections as parts of one database of DuckDB.

To open a database takes about 20 ms, and a small question opens three: longer than all the rest.  Within ``pooled``
each connection is a cursor of one database and has a catalog of its own, so that nothing it makes is seen by another.
The settings that the engine gives a connection are those of the database; the settings that it makes by a statement are
made each time.  A file that the engine attaches is detached with the connection.  Parts that have two of them at once,
or that race in threads, open connections as the engine does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from itertools import count
from typing import Any, ParamSpec

import duckdb

from ...engine import connection as engine
from ...question.query import literal
from .. import room
from ..finding import Finding

P = ParamSpec("P")


def sharing(check: Callable[P, Iterator[Finding]]) -> Callable[P, Iterator[Finding]]:
    """Return a check, or a part of one, that runs within ``pooled``."""

    @wraps(check)
    def run(*given: P.args, **named: P.kwargs) -> Iterator[Finding]:
        with pooled():
            yield from check(*given, **named)

    return run


@contextmanager
def pooled() -> Iterator[duckdb.DuckDBPyConnection]:
    """Let the connections of the engine, and those that write tables, be parts of one database, which is yielded."""
    numbers = count()
    with duckdb.connect(":memory:", config=vars(engine)["_CONFIG"]) as root:

        class Part:
            def __init__(self, spill: str | None) -> None:
                self._number, self._own = next(numbers), root.cursor()
                if spill is not None:
                    self._own.execute(f"SET temp_directory = {literal(spill)}")
                self._own.execute(f"ATTACH ':memory:' AS part{self._number}; USE part{self._number}")

            def __getattr__(self, name: str) -> Any:
                return getattr(self._own, name)

            def __enter__(self) -> Part:
                return self

            def __exit__(self, *_: object) -> None:
                self._own.execute(f"USE memory; DETACH part{self._number}; DETACH DATABASE IF EXISTS attached")
                self._own.close()

        class Pool:
            def __getattr__(self, name: str) -> Any:
                return getattr(duckdb, name)

            def connect(self, where: str = ":memory:", config: Mapping[str, Any] | None = None) -> Part:
                return Part(None if config is None else str(config["temp_directory"]))

        modules = [vars(engine), vars(room)]
        before = [each["duckdb"] for each in modules]
        for each in modules:
            each["duckdb"] = Pool()
        try:
            yield root
        finally:
            for each, own in zip(modules, before, strict=True):
                each["duckdb"] = own
