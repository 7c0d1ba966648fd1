"""Measure how many plans and free repeats a server takes a second, and what it adds to the time of a release.

All in one run on loopback, with one server process and with two that share the record of people and the ledger.
Beside them stands the limit: a bare FastAPI route with the same options of uvicorn, which reads a question and
returns an answer as long as a plan.  Every plan is another question; what is repeated was released before.  A release
through the server and one by ``Source.release`` in this process ask the same new question of the same rows, each with
a ledger of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI
from page import PAGE, ROOT, busy_seconds, machine, number, replace_section, step, table, used_elsewhere
from starlette.responses import Response

from lapwing.server.access import Access, invite
from lapwing.server.asking import PlanBody
from lapwing.server.permissions import Role
from lapwing.server.store import AccessStore
from lapwing.source import Source

SEED = 20261118
PEOPLE, CONNECTIONS = 8, 16
REGIONS = [f"r{number}" for number in range(20)]
SOURCE = "visits"
PLANS, REPEATS, SLOWEST = 300, 100, 50
"""What is wanted: so many a second, and at most so many milliseconds more."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    rows: int
    asked: int  # requests of a round
    released: int  # questions that are then repeated
    rounds: int
    pairs: int  # releases that are timed on both sides


FULL = Sizes(500_000, 400, 100, 5, 30)
QUICK = Sizes(10_000, 60, 10, 1, 3)

# ── what is served ───────────────────────────────────────────────────────────────────────────────────────────


def write_source(folder: Path, rows: int) -> Path:
    """Write a table of visits and its source file, whose ledger is beside it."""
    random = np.random.default_rng(SEED)
    columns = (
        random.integers(0, rows // 2, rows), random.integers(0, len(REGIONS), rows), random.integers(0, 100, rows),
        random.integers(0, 2000, rows),
    )  # fmt: skip
    folder.mkdir()
    lines = (f"{person},r{region},{age},{cost}\n" for person, region, age, cost in zip(*columns, strict=True))
    with (folder / f"{SOURCE}.csv").open("w") as file:
        file.write("person,region,age,cost\n")
        file.writelines(lines)
    file_of_source = folder / f"{SOURCE}.toml"
    file_of_source.write_text(
        f'table = "{SOURCE}.csv"\nperson = "person"\nrows_per_person = 3\nepsilon = 1000\nledger = "{SOURCE}.ledger"\n'
        f"[columns.region]\nkeys = {json.dumps(REGIONS)}\n"
        "[columns.age]\nlow = 0\nhigh = 99\ninteger = true\n[columns.cost]\nlow = 0\nhigh = 2000\n"
    )
    return file_of_source


def sql(number: int) -> str:
    """Return a question that no other number has: count and mean by region of some of the rows."""
    chosen = f"age >= {number % 90} AND cost < {number // 90 + 10}.5"
    return f"SELECT region, COUNT(*) AS n, AVG(cost) AS cost FROM {SOURCE} WHERE {chosen} GROUP BY region"


# ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────


class Server:
    """A server in a process of its own, on a free port."""

    def __init__(self, words: Callable[[int], Sequence[str]], log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._log = log
        with log.open("w") as said:
            self._process = subprocess.Popen([sys.executable, *words(self.port)], stderr=said)

    def wait(self) -> None:
        """Wait until it listens."""
        for _ in range(1200):
            if self._process.poll() is not None:
                raise RuntimeError(f"the server did not start: {self._log.read_text()}")
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError("the server does not listen")

    def cpu(self) -> float:
        """Return the seconds of the processor that it has used."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.wait(60)


@contextmanager
def servers(number: int, words: Callable[[int], Sequence[str]], folder: Path) -> Iterator[list[Server]]:
    """Run so many servers."""
    with ExitStack() as running:
        started = []
        for _ in range(number):
            server = Server(words, folder / f"{next(_NUMBERS)}.log")
            running.callback(server.end)
            started.append(server)
        for server in started:
            server.wait()
        yield started


_NUMBERS = count()


def bare(port: int, length: int) -> None:
    """Serve a bare FastAPI route that reads a question and returns a text as long as a plan: the limit."""
    app, body = FastAPI(), b'"' + b"x" * (length - 2) + b'"'

    async def plan(source: str, asking: PlanBody) -> Response:
        return Response(body, media_type="application/json")

    app.add_api_route("/api/v1/sources/{source}/plan", plan, methods=["POST"], response_model=None)
    uvicorn.run(
        app, port=port, access_log=False, log_config=None, log_level="warning", server_header=False,
        proxy_headers=False, ws="none", limit_concurrency=500, lifespan="on",
    )  # fmt: skip


# ── clients ──────────────────────────────────────────────────────────────────────────────────────────────────


class Link:
    """A connection that stays open; it sends requests that were written before, and costs little itself."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=600)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> bytes:
        """Return the body of the answer, which must be a good one."""
        self._socket.sendall(request)
        got = b""
        while b"\r\n\r\n" not in got:
            got += self._more()
        head, _, body = got.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(got.decode())
        length = next(line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        while len(body) < int(length):
            body += self._more()
        return body

    def _more(self) -> bytes:
        got = self._socket.recv(1 << 16)
        if not got:
            raise RuntimeError("the server closed the connection")
        return got

    def close(self) -> None:
        """Close it."""
        self._socket.close()


def written(route: str, token: str, body: dict[str, Any]) -> bytes:
    """Return a request as it is sent."""
    text = json.dumps(body).encode()
    head = (
        f"POST /api/v1/sources/{SOURCE}/{route} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    )
    return head.encode() + text


@dataclass
class Rates:
    """What was seen of one kind of request in each round: how many a second, and milliseconds of the processor each."""

    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, running: Sequence[Server], requests: Sequence[bytes], keep: bool) -> None:
        """Send all requests, by connections that are spread over the servers, and note how long it took."""
        links = [Link(running[number % len(running)].port) for number in range(CONNECTIONS)]
        shares = [requests[number::CONNECTIONS] for number in range(CONNECTIONS)]
        before = sum(each.cpu() for each in running)

        def send(link: Link, share: Sequence[bytes]) -> None:
            for each in share:
                link.ask(each)

        with ThreadPoolExecutor(CONNECTIONS) as pool:
            start = time.perf_counter()
            list(pool.map(send, links, shares))
            taken = time.perf_counter() - start
        for link in links:
            link.close()
        if keep:
            self.rates.append(len(requests) / taken)
            self.cpu.append((sum(each.cpu() for each in running) - before) / len(requests) * 1000)


@dataclass
class Seen:
    """What was measured with a number of servers."""

    rates: dict[str, Rates] = field(default_factory=lambda: {kind: Rates() for kind in (LIMIT, PLAN, REPEAT)})
    beside: list[float] = field(default_factory=list)  # milliseconds of a release in this process
    through: list[float] = field(default_factory=list)  # of the same through a server


LIMIT, PLAN, REPEAT = "limit: a bare FastAPI route", "plan, each another question", "free repeat of a release"


# ── the measurement ──────────────────────────────────────────────────────────────────────────────────────────


def measure(folder: Path, processes: int, sizes: Sizes) -> Seen:
    """Measure with a number of servers, which share a new ledger and a new record of people."""
    folder.mkdir()
    file, alone = write_source(folder / "served", sizes.rows), Source.open(write_source(folder / "alone", sizes.rows))
    source, access = Source.open(file), str(folder / "access.sqlite")
    ledger, people, tokens = source.make_ledger(), Access(AccessStore(access)), []
    for each in range(PEOPLE):
        ledger.add_analyst(f"a{each}", 1000)
        tokens.append(invite(people, f"a{each}", Role.ANALYST, [SOURCE], 1).text)
    (folder / "settings.toml").write_text("requests_per_minute = 1000000000\n")
    options = ["--access", access, "--config", str(folder / "settings.toml")]
    questions, seen = count(), Seen()

    def requests(route: str, numbers: Sequence[int]) -> list[bytes]:
        """Return requests, spread over the people as over the connections, so that nobody has more than two open."""
        bodies = ({"sql": sql(number), "epsilon": "0.1"} for number in numbers)
        return [written(route, tokens[place % CONNECTIONS % PEOPLE], body) for place, body in enumerate(bodies)]

    def new(number: int) -> list[int]:
        return [next(questions) for _ in range(number)]

    with ExitStack() as running:
        words = ["-m", "lapwing", "serve", str(file), *options]
        real = running.enter_context(servers(processes, lambda port: [*words, "--port", str(port)], folder))
        link = Link(real[0].port)
        length = len(link.ask(requests("plan", new(1))[0]))
        limit = running.enter_context(
            servers(processes, lambda port: [__file__, "--bare", str(port), str(length)], folder)
        )
        link.close()
        link, known = Link(real[0].port), new(sizes.released)
        for each in requests("release", known):
            link.ask(each)
        link.close()
        spent = ledger.spent
        again = [known[place % len(known)] for place in range(sizes.asked)]
        for done in range(sizes.rounds + 1):
            step(f"{processes} server(s), round {done} of {sizes.rounds}" if done else "warming up")
            seen.rates[LIMIT].add(limit, requests("plan", new(sizes.asked)), bool(done))
            seen.rates[PLAN].add(real, requests("plan", new(sizes.asked)), bool(done))
            seen.rates[REPEAT].add(real, requests("release", again), bool(done))
        if ledger.spent != spent:
            raise RuntimeError("plans or repeats were charged")
        step(f"{processes} server(s), {sizes.pairs} pairs of releases")
        for done in range(-len(real), sizes.pairs):  # before the first, one of each server to warm up
            asked = next(questions)
            link = Link(real[done % len(real)].port)  # a server closes those that are not used for some seconds
            runs: list[tuple[list[float], Callable[[], object]]] = [
                (seen.beside, partial(alone.release, sql(asked), epsilon="0.1")),
                (seen.through, partial(link.ask, requests("release", [asked])[0])),
            ]
            for times, run in runs if done % 2 else reversed(runs):
                start = time.perf_counter()
                run()
                if done >= 0:
                    times.append((time.perf_counter() - start) * 1000)
            link.close()
        if ledger.spent != spent + alone.ledger.spent:
            raise RuntimeError("a release through the server was not charged as one beside it")
    return seen


def main() -> int:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", help="where to put the tables and ledgers: a folder on the disk in question")
    parser.add_argument("--quick", action="store_true", help="small, to try it; the page stays as it is")
    parser.add_argument("--bare", nargs=2, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.bare:
        bare(*given.bare)
        return 0
    sizes = QUICK if given.quick else FULL
    before = busy_seconds()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        seen = {processes: measure(Path(place) / str(processes), processes, sizes) for processes in (1, 2)}
    text = report(seen, sizes, used_elsewhere(before))
    print(f"\n{text}\n")
    if not given.quick:
        replace_section(PAGE, "server", text)
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


# ── the page ─────────────────────────────────────────────────────────────────────────────────────────────────


def report(seen: dict[int, Seen], sizes: Sizes, elsewhere: str) -> str:
    """Return the section of the page."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("fastapi", "uvicorn", "sqlglot", "sqlalchemy"))
    facts = [("command", "`python bench/server.py`"), ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"), *machine()]
    facts += [
        ("packages of the server", packages),
        ("background load", f"other processes used {elsewhere}"),
        ("clients", f"{CONNECTIONS} connections of {PEOPLE} people, kept open, on the same cores as the servers"),
        ("kept in", "SQLite files: the record of people and the ledger, which two servers share"),
        ("question", f"count and mean by {len(REGIONS)} regions, with a condition; {sizes.rows:,} rows of CSV"),
        ("rounds", f"{sizes.rounds} of {sizes.asked} requests of each kind, after one to warm up; medians"),
        ("repeats", f"of {sizes.released} recorded releases"),
    ]
    rows, rest = [], []
    for processes, each in seen.items():
        limit = median(each.rates[LIMIT].rates)
        for kind, rates in each.rates.items():
            rate = median(rates.rates)
            rows.append([kind, str(processes), number(rate), number(median(rates.cpu)), number(limit / rate)])
        added = sorted(there - here for there, here in zip(each.through, each.beside, strict=True))
        tail = added[int(len(added) * 0.9)]
        rest.append([str(processes), *map(number, (median(each.beside), median(each.through), median(added), tail))])
    head = ["on 2 cores", "servers", "a second", "ms of processor each", "limit is so many times faster"]
    return "\n\n".join(
        [
            "## Server",
            "\n".join(f"- {name}: {value}" for name, value in facts),
            verdicts(seen),
            table(["requests", *head[1:]], rows),
            f"The same new questions, {sizes.pairs} of them one after the other, in milliseconds; what the server adds "
            "is the difference of each pair:",
            table(["servers", "`Source.release`", "through the server", "added, median", "added, 90 %"], rest),
            "Where it loses: a plan is Python that parses SQL and computes error bars, so one process does not use "
            "more than about one core for it, and more plans a second need more processes. A repeat reads the ledger, "
            "and checks the entry that it shows, each time. A release through the server is planned and looked up in "
            "the ledger before it waits for its turn. The releases share the cores with the background load, and the "
            "difference of a pair varies by much more than its median.",
        ]
    )


def verdicts(seen: dict[int, Seen]) -> str:
    """Say what was wanted, and with how many servers it was met."""
    two = seen[2]
    plans, repeats = (median(two.rates[kind].rates) for kind in (PLAN, REPEAT))
    wanted = [
        (f"at least {PLANS} plans a second with two servers", plans >= PLANS),
        (f"at least {REPEATS} free repeats a second with two servers", repeats >= REPEATS),
    ]
    for processes, each in seen.items():
        added = median(there - here for there, here in zip(each.through, each.beside, strict=True))
        what = f"at most {SLOWEST} ms that the server adds to a release, in the median, with {processes}"
        wanted.append((f"{what} server{'s' if processes > 1 else ''}", added <= SLOWEST))
    return "Wanted:\n\n" + "\n".join(f"- {what}: {'met' if met else '**not met**'}." for what, met in wanted)


if __name__ == "__main__":
    sys.exit(main())
