"""A server of the audit: the real application, called in this process without a network, and all that it tells."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ...server.access import Access, invite
from ...server.app import Application
from ...server.permissions import Role
from ...server.settings import settings_of
from ...server.store import AccessStore

PEOPLE = {"ana": Role.ANALYST, "audrey": Role.AUDITOR, "olga": Role.OWNER}


@dataclass(frozen=True)
class ServerAnswer:
    """What a server sent."""

    status: int
    headers: str
    text: str

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.text)


@dataclass
class AuditedServer:
    """An application that runs, tokens by names, and what it wrote into its log."""

    app: Application
    tokens: dict[str, str]
    said: list[str]
    answers: list[ServerAnswer] = field(default_factory=list)

    async def call(self, method: str, address: str, who: str, body: Mapping[str, Any] | None = None) -> ServerAnswer:
        """Send a request, and return the answer."""
        parts, data = urlsplit(address), b"" if body is None else json.dumps(body).encode()
        given = {"host": "127.0.0.1", "content-type": "application/json", "content-length": str(len(data))}
        given |= {"authorization": f"Bearer {self.tokens[who]}"}
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote(parts.path), "raw_path": parts.path.encode(), "query_string": parts.query.encode(),
            "root_path": "", "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8765), "state": {},
        }  # fmt: skip
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": data, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        headers = " ".join(f"{name.decode()}: {value.decode()}" for name, value in sent[0]["headers"])
        answer = ServerAnswer(sent[0]["status"], headers, b"".join(each.get("body", b"") for each in sent[1:]).decode())
        self.answers.append(answer)
        return answer

    async def ask(self, who: str, body: Mapping[str, Any], route: str = "release", source: str = "t") -> ServerAnswer:
        """Ask a question."""
        return await self.call("POST", f"/api/v1/sources/{source}/{route}", who, body)


def serving(
    folder: Path, files: list[Path], scopes: Mapping[str, list[str]], work: Callable[[AuditedServer], Awaitable[None]]
) -> AuditedServer:
    """Run an application for source files while some work is done with it; the people have roles for all of them.

    ``scopes`` says to which sources the token of a person is limited.
    """
    place = str(folder / "access.sqlite")
    access, names = Access(AccessStore(place)), [file.stem for file in files]
    tokens = {name: invite(access, name, role, names, 1, scopes.get(name)).text for name, role in PEOPLE.items()}
    tokens["oscar"] = invite(access, "oscar", Role.OPERATOR, [], 1).text
    said: list[str] = []
    settings = settings_of(None, {"sources": [str(file) for file in files], "access": place})
    server = AuditedServer(Application(settings, write=lambda line: said.append(json.dumps(line))), tokens, said)
    with ThreadPoolExecutor(1, thread_name_prefix="audited-server") as pool:  # a notebook's thread has a loop already
        pool.submit(asyncio.run, _live(server, work)).result()
    return server


async def _live(server: AuditedServer, work: Callable[[AuditedServer], Awaitable[None]]) -> None:
    """Start the application, do the work, and let the application end."""
    mail: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    heard: asyncio.Queue[Any] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    life = asyncio.ensure_future(server.app(scope, mail.get, heard.put))
    await mail.put({"type": "lifespan.startup"})
    begun = await heard.get()
    if begun["type"] != "lifespan.startup.complete":
        raise RuntimeError("The server did not start.")
    try:
        await work(server)
    finally:
        await mail.put({"type": "lifespan.shutdown"})
        await life
