"""Make one release in a fresh process: how long it takes, where the time goes, how much memory; for bench/engine.py.

Called with a case, a table, the number of public keys and a place for the ledger; answers with one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.source import Source

CASES = ("rows", "people", "frame", "csv", "keys")
LOW, HIGH = 0, 1000
ROWS_PER_PERSON = 5


def key_names(size: int) -> list[str]:
    """Return the public keys of a table with ``size`` of them."""
    return [f"k{i:07d}" for i in range(size)]


def source(case: str, table: Any, size: int, ledger: str) -> Source:
    """Return the source of a case; every one has a ledger of its own."""
    import lapwing as lw

    given: Any = table
    names = [f"never {i}" for i in range(size)] if case == "keys" else key_names(size)
    if case == "frame":
        given = sys.modules["pandas"].read_csv(table)
    people: dict[str, Any] = {"person": "person", "rows_per_person": ROWS_PER_PERSON} if case == "people" else {}
    columns = {"key": lw.keys(names), "cost": lw.number(LOW, HIGH)}
    return lw.Source(given, name=case, columns=columns, epsilon=1000, ledger=ledger, **people)


def release(case: str, asked: Source, epsilon: str, where: str | None = None) -> Any:
    """Release what the case is about."""
    return asked.release(*statistics(case), by="key", where=where, epsilon=epsilon)


def statistics(case: str) -> tuple[Any, ...]:
    """Return what the case asks."""
    import lapwing as lw

    return (lw.count(),) if case == "keys" else (lw.count(), lw.mean("cost"))


def peak() -> int:
    """Return the most memory this process has had, in bytes.

    The kernel's VmHWM begins anew in every program; ru_maxrss takes over what the parent had before the program began.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Clock:
    """Time spent in named parts, without that in other parts called from them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inner = [0.0]

    def watch(self, name: str, owner: Any, attribute: str) -> None:
        """Let the time in a function or method count for a part."""
        run: Callable[..., Any] = getattr(owner, attribute)
        bound = getattr(run, "__self__", None) is not None  # a class method is bound already

        def watched(*given: Any, **named: Any) -> Any:
            self._inner.append(0.0)
            start = time.perf_counter()
            try:
                return run(*given, **named)
            finally:
                taken = time.perf_counter() - start
                self.seconds[name] = self.seconds.get(name, 0.0) + taken - self._inner.pop()
                self._inner[-1] += taken

        setattr(owner, attribute, staticmethod(watched) if bound else watched)


def watched() -> Clock:
    """Return a clock that is told of every step of a release."""
    from lapwing import source
    from lapwing.engine import duckdb
    from lapwing.ledger import ledger
    from lapwing.release import pipeline

    clock = Clock()
    clock.watch("parse and plan", source, "plan_asked")
    clock.watch("open the ledger", ledger.Ledger, "open")
    clock.watch("look at the table's columns", duckdb.DuckDBTable, "_fields_of")
    clock.watch("describe the question", pipeline, "question")
    clock.watch("charge", ledger.Ledger, "charge")
    clock.watch("give the keys to the engine", duckdb, "_add_keys")
    clock.watch("run the query", duckdb._Session, "_run")
    clock.watch("start the engine", duckdb, "connected")
    clock.watch("fetch, and close the engine", duckdb.DuckDBTable, "tally")
    clock.watch("add noise", pipeline, "_noisy")
    clock.watch("record", ledger.Ledger, "record")
    return clock


def main() -> int:
    """Release once, look, release again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("table")
    parser.add_argument("keys", type=int)
    parser.add_argument("ledger")
    asked = parser.parse_args()
    if asked.case == "frame":
        import pandas  # noqa: F401 - whoever has a frame has imported it

    marks = [time.perf_counter()]

    def lap() -> float:
        marks.append(time.perf_counter())
        return marks[-1] - marks[-2]

    import lapwing.source  # noqa: F401 - its time is measured

    found: dict[str, Any] = {"import": lap(), "peak after import": peak()}
    clock = watched()
    lap()
    table = source(asked.case, asked.table, asked.keys, asked.ledger)
    found["declare"] = lap()
    made = release(asked.case, table, "1")
    found["first"] = lap()
    found["peak"] = peak()
    found["parts"] = {**clock.seconds, "the rest": found["first"] - sum(clock.seconds.values())}
    lap()
    found["groups"] = len(made.flat()["count"])
    found["read the answer"] = lap()
    release(asked.case, table, "1.5")
    found["again"] = lap()
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
