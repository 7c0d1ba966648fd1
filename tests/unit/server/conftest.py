"""A server for tests: two sources about invented people, one person for each role, and calls without a network."""

import asyncio
import json
import shutil
import threading
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import uvicorn

import lapwing as lw
from lapwing.noise.entropy import EntropyForTests, SystemEntropy
from lapwing.server.access import Access, invite
from lapwing.server.app import Application
from lapwing.server.permissions import Role
from lapwing.server.settings import settings_of
from lapwing.server.store import AccessStore
from lapwing.source import Source

from .processes import Process

CANARY = "987654.321"
"""A value of one person: no answer, header, log or metric may hold it."""

PEOPLE = {"olga": Role.OWNER, "ana": Role.ANALYST, "bob": Role.ANALYST, "audrey": Role.AUDITOR}
ASKED = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"


def write_source(folder: Path, name: str, epsilon: str = "4") -> Path:
    """Write a table of visits and its source file."""
    rows = [f"{name}-{i},{('north', 'south', 'west')[i % 3]},{i % 90},{20 + i % 60}\n" for i in range(300)]
    rows.append(f"{name}-canary-person,north,{CANARY},33\n")
    (folder / f"{name}.csv").write_text("patient,ward,cost,age\n" + "".join(rows))
    file = folder / f"{name}.toml"
    file.write_text(
        f'name = "{name}"\ntable = "{name}.csv"\nperson = "patient"\nrows_per_person = 1\nepsilon = {epsilon}\n'
        '[columns.ward]\nkeys = ["north", "south"]\nother = "elsewhere"\n'
        "[columns.cost]\nlow = 0\nhigh = 100\n[columns.age]\nlow = 0\nhigh = 120\ninteger = true\n"
    )
    return file


class Answer:
    """What a server sent."""

    def __init__(self, status, headers, body, cookies=()):
        self.status, self.headers, self.body, self.cookies = status, headers, body, cookies

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def shape(self):
        """All that a client can see but the time."""
        return self.status, sorted(self.headers.items()), self.body


class Running:
    """An application in an event loop of its own thread, called without a network."""

    def __init__(self, app):
        self.app, self.tokens = app, {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._mail = self._in_loop(self._begin())

    def _in_loop(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _begin(self):
        mail, begun = asyncio.Queue(), asyncio.Event()
        self._ended = asyncio.Event()

        async def send(message):
            assert message["type"] in ("lifespan.startup.complete", "lifespan.shutdown.complete"), message
            (begun if "startup" in message["type"] else self._ended).set()

        await mail.put({"type": "lifespan.startup"})
        self._life = asyncio.ensure_future(self.app({"type": "lifespan", "asgi": {"version": "3.0"}}, mail.get, send))
        await asyncio.wait_for(begun.wait(), 30)
        return mail

    def stop(self):
        async def end():
            await self._mail.put({"type": "lifespan.shutdown"})
            await asyncio.wait_for(self._ended.wait(), 60)
            await self._life

        self._in_loop(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, method, address, who=None, body=None, *, token=None, headers=None, pieces=None, pause=0.0):
        """Send a request; ``who`` is a person whose token is known."""
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        pieces = [data] if pieces is None else pieces
        token = self.tokens[who] if who is not None else token
        given = {"host": "127.0.0.1:8765", "content-type": "application/json"}
        given |= {} if token is None else {"authorization": f"Bearer {token}"}
        given |= {} if pieces != [data] else {"content-length": str(len(data))}
        given |= headers or {}
        parts = urlsplit(address)
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote(parts.path), "raw_path": parts.path.encode(), "query_string": parts.query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items() if value is not None],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8765), "state": {},
        }  # fmt: skip

        async def run():
            left, sent = list(pieces), []

            async def receive():
                await asyncio.sleep(pause)
                if not left:
                    await asyncio.sleep(3600)
                return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

            async def send(message):
                sent.append(message)

            await self.app(scope, receive, send)
            start = sent[0]
            found = {name.decode(): value.decode() for name, value in start["headers"]}
            cookies = [value.decode() for name, value in start["headers"] if name == b"set-cookie"]
            return Answer(start["status"], found, b"".join(each.get("body", b"") for each in sent[1:]), cookies)

        return self._in_loop(run())

    def get(self, address, who=None, **more):
        return self.call("GET", address, who, **more)

    def post(self, address, who=None, body=None, **more):
        return self.call("POST", address, who, body, **more)

    def release(self, who, sql=ASKED, epsilon="0.5", source="visits", **more):
        return self.post(f"/api/v1/sources/{source}/release", who, {"sql": sql, "epsilon": epsilon, **more})

    @property
    def ledger(self):
        return self.app.sources["visits"].ledger


def settings(folder, **more):
    files = [str(folder / f"{name}.toml") for name in ("visits", "secrets")]
    return settings_of(None, {"sources": files, "access": str(folder / "access.sqlite"), **more})


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A folder with the sources, their ledgers with caps, people and their tokens: made once, and copied."""
    folder = tmp_path_factory.mktemp("prepared")
    entropy = EntropyForTests(7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SystemEntropy, "bits", lambda own, count: entropy.bits(count))
        access = Access(AccessStore(str(folder / "access.sqlite")))
        made = {name: invite(access, name, role, ["visits"], 30).text for name, role in PEOPLE.items()}
        made["otto"] = invite(access, "otto", Role.OWNER, ["secrets"], 30).text
        made["eve"] = invite(access, "eve", Role.ANALYST, ["secrets"], 30).text
        made["oscar"] = invite(access, "oscar", Role.OPERATOR, [], 30).text
    for source, names in (("visits", ("olga", "ana", "bob")), ("secrets", ("eve",))):
        ledger = Source.open(write_source(folder, source)).make_ledger()
        for name in names:
            ledger.add_analyst(name, 2)
    (folder / "tokens.json").write_text(json.dumps(made))
    return folder


@pytest.fixture
def folder(prepared, tmp_path):
    return Path(shutil.copytree(prepared, tmp_path / "served"))


@pytest.fixture
def start(folder, frozen_noise):
    """A function that starts the server of a folder, with more settings; all are stopped after the test."""
    begun = []

    def begin(**more):
        lines = []
        running = Running(Application(settings(folder, **more), write=lines.append))
        running.lines = lines
        running.tokens = json.loads((folder / "tokens.json").read_text())
        begun.append(running)
        return running

    yield begin
    for each in begun:
        if each._thread.is_alive():
            each.stop()


@pytest.fixture
def server(start):
    return start()


@pytest.fixture
def serve_in():
    """A function that starts ``lapwing serve`` for a folder; all that still run are killed after the test."""
    begun = []

    def begin(folder, *options, wait=True, **more):
        begun.append(Process(folder, *options, **more))
        return begun[-1].wait() if wait else begun[-1]

    yield begin
    for each in begun:
        each.kill()


@pytest.fixture
def serve(serve_in, folder):
    """The same for the prepared folder."""
    return partial(serve_in, folder)


@pytest.fixture
def live(folder, frozen_noise):
    """A server on a port of this machine, in a thread; its address and the tokens."""
    begun = []

    def begin(**more):
        config = uvicorn.Config(
            Application(settings(folder, **more), write=lambda line: None), port=0, log_config=None, lifespan="on"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        begun.append((server, thread))
        while not server.started:
            threading.Event().wait(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        tokens = json.loads((folder / "tokens.json").read_text())
        return lambda who: lw.connect(f"http://127.0.0.1:{port}", tokens[who])

    yield begin
    for server, thread in begun:
        server.should_exit = True
        thread.join()
