"""The application: all routes, behind one gate; it starts only if every route names its permission."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..source import Source
from ..version import __version__
from . import ask_routes, models, owner_routes, request_routes, sign_in_routes
from .access import Access
from .audit_report import audit_report
from .gate import Gate
from .jobs import Jobs
from .log import Line, Log, to_standard_error
from .making import SourceMaker
from .openid import SignIn
from .pages import openid
from .pages import routes as page_routes
from .pages.shell import refused
from .parts import Parts
from .permissions import Permission
from .planning import Planning
from .readiness import ReadinessCheck
from .refusals import Refusal, failed, not_allowed
from .routing import add_routes, check_routes, permission_of
from .settings import Settings
from .sources import open_sources
from .store import AccessStore
from .uploads import Folder
from .work import Work

_ROUTES = [
    *ask_routes.ROUTES,
    *request_routes.ROUTES,
    *owner_routes.ROUTES,
    *sign_in_routes.ROUTES,
    *page_routes.ROUTES,
]

_NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""No trace leaves the process: it would hold what is asked."""


class Application:
    """A server's application, for any ASGI server."""

    def __init__(
        self,
        settings: Settings,
        openers: Iterable[Callable[[], Source]] | None = None,
        write: Callable[[Line], None] = to_standard_error,
    ) -> None:
        self.audit = None if settings.audit_report is None else audit_report(settings.audit_report)
        files = settings.sources if openers is None else ()
        opened = [lambda path=path: Source.open(path) for path in files] if openers is None else openers  # type: ignore[misc]
        self.settings, self.sources, self.log = settings, open_sources(opened), Log(write)
        self.access = Access(AccessStore(settings.access))
        for name, served in self.sources.items():
            self.access.know_source(name, served.identity)
        self.api = FastAPI(
            title="Lapwing", version=__version__, lifespan=self._life, openapi_url=None, docs_url=None, redoc_url=None,
            redirect_slashes=False, telemetry=_NO_TELEMETRY,
        )  # fmt: skip
        for served, file in zip(self.sources.values(), files, strict=False):
            served.opened_from(file)
        routes = list(_ROUTES)
        if settings.sources_folder is not None:
            maker = SourceMaker(Folder(settings.sources_folder), self.access, self.sources, settings.epsilon_per_source)
            maker.serve_made(self.log)
            self.api.state.maker = maker
            routes += page_routes.NEW
        add_routes(self.api, routes, models.RefusalAnswer)
        self.sign_in = None if settings.openid is None else SignIn(settings.openid)
        self.api.state.ways_to_sign_in = [] if self.sign_in is None else [openid.WAY]
        for kind, handler in _HANDLERS.items():
            self.api.add_exception_handler(kind, handler)
        check_routes(self.api)
        self._gate = Gate(self.api, settings, self.access, self.log, public_paths(self.api))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._gate(scope, receive, send)

    @asynccontextmanager
    async def _life(self, api: FastAPI) -> AsyncIterator[None]:
        """Begin with the jobs that nobody runs; end when all that was charged is recorded."""
        settings = self.settings
        planning = Planning()
        work = Work(planning, settings.at_once, settings.waiting, settings.epsilon_per_question)
        jobs = Jobs(self.access, work, self.sources, settings.lease_seconds)
        readiness = ReadinessCheck(self.access, self.sources)
        api.state.parts = Parts(
            settings,
            self.access,
            self.sources,
            planning,
            work,
            jobs,
            self.log,
            self.sign_in,
            self.audit,
            readiness,
        )
        await jobs.open()
        yield
        await jobs.close()
        await work.close()
        await jobs.settle()
        planning.close()
        readiness.close()
        self._gate.close()
        if self.sign_in is not None:
            self.sign_in.close()


def public_paths(api: FastAPI) -> list[re.Pattern[str]]:
    """Return the forms of the addresses that need no token."""
    return [each.path_regex for each in api.routes if permission_of(each) is Permission.PUBLIC]  # type: ignore[attr-defined]


async def _refused(request: Request, error: Exception) -> Response:
    return await refused(request.scope, error if isinstance(error, Refusal) else failed())


async def _no_route(request: Request, error: Exception) -> Response:
    return await refused(request.scope, not_allowed())


_HANDLERS: dict[Any, Any] = {Refusal: _refused, HTTPException: _no_route, Exception: _refused}
