"""Other processes that run the same Lapwing: for races, crashes and the command line.

A process reads lines of JSON and answers each with lines of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import BudgetExceeded, LapwingError, LedgerError
from ...ledger.ledger import Ledger

Process = subprocess.Popen[str]

_HOME = str(Path(__file__).resolve().parents[3])


def environment(**more: str) -> dict[str, str]:
    """Return an environment in which Python imports the same modules as this process, including this lapwing."""
    path = [os.path.abspath(each) for each in sys.path]  # noqa: PTH100  # an empty one is the working directory
    return {**os.environ, **more, "PYTHONPATH": os.pathsep.join([*([] if _HOME in path else [_HOME]), *path])}


@contextmanager
def started(work: Callable[[], None], number: int = 1, **more: str) -> Iterator[list[Process]]:
    """Start processes that run a function of a module, with more environment variables; end them afterwards."""
    line = f"from {work.__module__} import {work.__name__} as work; work()"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    processes = [
        subprocess.Popen([sys.executable, "-P", "-c", line], text=True, env=environment(**more), **pipes)
        for _ in range(number)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def tell(process: Process, told: Any) -> None:
    """Send a line."""
    assert process.stdin is not None
    process.stdin.write(json.dumps(told) + "\n")
    process.stdin.flush()


def answer(process: Process) -> Any:
    """Return the next line."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.endswith("\n"):
        raise RuntimeError(f"another process of the check ended early, with status {process.wait()}")
    return json.loads(line)


def racer() -> None:
    """Run the function that each line names, one of ``RACES``, with its arguments, and answer what it returns."""
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        say(RACES[name](*arguments))


def charge_together(where: str, name: str, epsilon: str, threads: int) -> int:
    """Charge from many threads at once, each until it is refused; return how many charges were granted."""
    ready, granted = threading.Barrier(threads), []
    try:
        ledger = Ledger.open(where)
    except LedgerError:  # others were granted too much
        return 0

    def ask(thread: int) -> None:
        ready.wait()
        for number in range(100):
            try:
                granted.append(ledger.charge([name, thread, number], epsilon).number)
            except BudgetExceeded:
                return

    _run([threading.Thread(target=ask, args=(thread,)) for thread in range(threads)])
    return len(granted)


def ask_together(where: str, name: str, epsilon: str, threads: int) -> list[Any]:
    """Ask one question from many threads at once; return the answer that each of them was given."""
    ledger, ready, given = Ledger.open(where), threading.Barrier(threads), []

    def ask(thread: int) -> None:
        ready.wait()
        given.append(ledger.record(ledger.charge("how many?", epsilon), [name, thread]))

    _run([threading.Thread(target=ask, args=(thread,)) for thread in range(threads)])
    return given


def make_together(where: str, name: str, epsilon: str, threads: int) -> int:
    """Make one ledger of total 1 from many threads at once, and charge each a little; return how many were granted."""
    ready, granted = threading.Barrier(threads), []

    def make(thread: int) -> None:
        ready.wait()
        try:
            granted.append(Ledger.open(where, 1).charge([name, thread], epsilon).number)
        except LedgerError:
            return

    _run([threading.Thread(target=make, args=(thread,)) for thread in range(threads)])
    return len(granted)


RACES: dict[str, Callable[[str, str, str, int], Any]] = {
    "charge": charge_together,
    "ask": ask_together,
    "make": make_together,
}


def _run(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def asker() -> None:
    """For each line (a folder, a table or null, a name, an ε), ask a source that names no ledger, from that folder.

    Answer where its ledger is and what is spent; or null, and why it is refused.  For null, a relation is queried.
    """
    import duckdb  # here, since the other processes need only the ledger

    from ...question import query, schema
    from ...source import Source

    for line in sys.stdin:
        folder, table, name, epsilon = json.loads(line)
        os.chdir(folder)
        given = duckdb.sql("SELECT 0.5 AS x") if table is None else table
        try:
            source = Source(given, name=name, columns={"x": schema.number(0, 1)}, epsilon=1)
            source.release(query.sum("x"), epsilon=epsilon)
            say([os.path.abspath(source.ledger.where), str(source.ledger.spent)])  # noqa: PTH100
        except LapwingError as error:
            say([None, str(error)])


def cramped() -> None:
    """For each line (a place, a number of bytes), create a ledger while no file may be larger; answer if it succeeded.

    To the process this looks like a full disk.
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    for line in sys.stdin:
        where, size = json.loads(line)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
        try:
            Ledger.open(where, 1)
            say(True)
        except LedgerError:
            say(False)


def spender() -> None:
    """For each line (a ledger, a name), let a new process charge without end; print its process id, then its charges.

    It is forked, which takes no time, and is meant to be killed; the last line is ["ended"].
    """
    for line in sys.stdin:
        where, name = json.loads(line)
        number = os.fork()
        if number == 0:
            _spend(where, name)
        os.waitpid(number, 0)
        say(["ended"])


def _spend(where: str, name: str) -> None:
    try:
        ledger = Ledger.open(where)
        say(["ready", os.getpid()])
        for i in range(10_000):
            entry = ledger.charge([name, i], "0.001")
            say(["granted", [name, i], entry.number])
            say(["shown", [name, i], ledger.record(entry, [i])])
    finally:
        os._exit(0)


def say(told: Any) -> None:
    """Answer with a line."""
    os.write(
        1, (json.dumps(told) + "\n").encode()
    )  # in one write, so that it is complete even if the process is killed


_COMMANDS = """
import json, sys
from lapwing.cli.main import main
statuses = []
for arguments in json.loads(sys.argv[1]):
    try:
        main(arguments, prog_name="lapwing")
    except SystemExit as ended:
        statuses.append(ended.code)
    print(chr(30), flush=True)
print(json.dumps(statuses))
"""
"""What one process runs: many commands, each of which ends with a separator, and finally a line with their statuses."""


def commands(lines: Sequence[Sequence[str]], folder: Path) -> tuple[list[int], bytes]:
    """Run commands of ``lapwing`` in a folder; return their statuses, and everything that was printed."""
    done = each_command(lines, folder)
    return [status for status, _ in done], b"".join(printed for _, printed in done)


def each_command(lines: Sequence[Sequence[str]], folder: Path) -> list[tuple[int, bytes]]:
    """Run commands of ``lapwing`` in a folder; return, for each, its status and what was printed.

    The first is run by ``python -m lapwing``, the others by a single further process, which takes less time.
    """
    first = _printed([sys.executable, "-P", "-m", "lapwing", *lines[0]], folder)
    if len(lines) == 1:
        return [(first.returncode, first.stdout)]
    rest = _printed([sys.executable, "-P", "-c", _COMMANDS, json.dumps(lines[1:])], folder)
    *printed, last = rest.stdout.split(b"\x1e\n")
    return [(first.returncode, first.stdout), *zip(json.loads(last), printed, strict=True)]


def _printed(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    return subprocess.run(command, cwd=folder, env=environment(TMPDIR=str(folder)), check=False, **streams)
