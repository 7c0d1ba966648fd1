"""What the routes of one server share: its settings, people, sources, queue, jobs and log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request

from .access import Access
from .audit_report import AuditReport
from .jobs import Jobs
from .log import Log
from .openid import SignIn
from .permissions import Caller
from .planning import Planning
from .readiness import ReadinessCheck
from .settings import Settings
from .sources import Served
from .work import Work


@dataclass(frozen=True)
class Parts:
    """The parts of a server."""

    settings: Settings
    access: Access
    sources: Mapping[str, Served]
    planning: Planning
    work: Work
    jobs: Jobs
    log: Log
    sign_in: SignIn | None
    audit: AuditReport | None
    readiness: ReadinessCheck


def parts_of(request: Request) -> Parts:
    """Return the parts of the server that got a request."""
    parts: Parts = request.app.state.parts
    return parts


def caller_of(request: Request) -> Caller:
    """Return who calls; the gate and the route have checked it."""
    caller: Caller = request.state.caller
    return caller


def served_of(request: Request) -> Served:
    """Return the source that a request names; the route has checked that the caller may use it."""
    return parts_of(request).sources[request.path_params["source"]]
