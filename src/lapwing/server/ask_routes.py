"""Routes for those who ask: what is public about a source, plan, release, history, answers and jobs."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..errors import InvalidParameter
from ..release.bounds import Bounds
from ..release.discover import Discovery
from ..release.recall import recall
from ..release.result import Release
from ..release.rows_per_person import RowsPerPerson
from . import models
from .asking import USUAL, Before, Inquiry, Most, PlanBody, ReleaseBody, entry_number, planned, recorded, with_left
from .jobs import shown
from .parts import caller_of, parts_of, served_of
from .permissions import Caller, Permission
from .refusals import Refusal, json_response, not_allowed
from .routing import RouteDeclaration
from .sources import Served
from .work import Answered

_SOURCE = "/api/v1/sources/{source}"
_LATE = (
    "This plan takes longer than the server allows. No data was read and nothing was charged. Ask for fewer groups, "
    "tables or statistics."
)


def me(request: Request) -> Response:
    """Return who I am."""
    caller = caller_of(request)
    roles = {source: sorted(some) for source, some in sorted(caller.roles.items())}
    return json_response({"person": caller.person, "expires": caller.expires, "roles": roles})


def sign_out(request: Request) -> Response:
    """Revoke the token of this request; of a browser, end the session."""
    caller = caller_of(request)
    return json_response({"changed": parts_of(request).access.revoke(number=caller.session or caller.token)})


def sources(request: Request) -> Response:
    """Return the sources that I may use, and no others."""
    caller, known = caller_of(request), parts_of(request).sources
    mine = [name for name in sorted(known) if caller.may(Permission.DESCRIBE, name)]
    return json_response({"sources": [{"name": name, "roles": sorted(caller.roles[name])} for name in mine]})


def source(request: Request) -> Response:
    """Return what is declared about a source: columns, bounds, keys, who is protected."""
    return json_response(served_of(request).description)


def example(request: Request, rows: int = 10) -> Response:
    """Return invented rows, made of the declarations alone: the table is not read."""
    served = served_of(request)
    made = served.source.example(rows)
    return json_response({"source": served.name, "rows": rows, "columns": made})


def budget(request: Request) -> Response:
    """Return what is left of the total, and of my cap."""
    return json_response(served_of(request).budget(caller_of(request).person))


def head(request: Request) -> Response:
    """Return the hash of the last entry, to keep elsewhere."""
    return json_response({"head": served_of(request).ledger.head})


async def plan(request: Request, asking: PlanBody) -> Response:
    """Return the error and the cost of a question: no data is read, and nothing is charged."""
    parts, counted, served = parts_of(request), caller_of(request).counted, served_of(request)
    seconds = parts.settings.seconds
    return json_response(await parts.planning.run_within(seconds, _LATE, counted, planned, served, asking))


async def release(request: Request, asking: ReleaseBody) -> Response:
    """Release statistics: charge ε, and return noisy numbers with error bars.

    The same question again is free.  A question that takes long becomes a job, which is returned with status 202.
    """
    found = await answer_or_job(request, await inquiry_of(request, asking), parts_of(request).settings.seconds)
    if isinstance(found, Answered):
        return Response(found.body, media_type="application/json")
    return json_response(found, 202)


async def answer_or_job(request: Request, inquiry: Inquiry, seconds: float) -> Answered | dict[str, Any]:
    """Release what is asked and return the answer; or, if it takes longer than this, the job that it has become."""
    parts = parts_of(request)
    leave = parts.jobs.leave(inquiry)
    task = parts.work.begin(inquiry, leave)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    return task.result() if done else await parts.jobs.adopt(inquiry, leave, task)


async def inquiry_of(request: Request, asking: ReleaseBody) -> Inquiry:
    """Return a question of the caller, checked; nothing is charged."""
    caller = caller_of(request)
    planning = parts_of(request).planning
    return await planning.run(
        caller.counted, Inquiry, served_of(request), caller.person, asking, caller.token, caller.counted
    )


def history(request: Request, before: Before = None, most: Most = USUAL) -> Response:
    """Return what I was charged for: the last charges, or the last ones before a number."""
    served = served_of(request)
    mine = served.entries(before, most, charged_to=caller_of(request).person)
    listed = [each.to_dict() for each in mine.entries]
    return json_response({"source": served.name, "entries": listed, "before": mine.before})


async def entry(request: Request, entry: str, record: bool = False) -> Response:
    """Return a recorded answer: mine, or for owners and auditors any; nothing is read or charged."""
    return await parts_of(request).planning.run(caller_of(request).counted, _entry, request, entry, record)


def _entry(request: Request, entry: str, record: bool) -> Response:
    answer = recorded_answer(served_of(request), caller_of(request), entry_number(entry))
    if isinstance(answer, Release):
        answer = with_left(served_of(request), answer, caller_of(request).person)
    if record and isinstance(answer, Release):
        return json_response(recorded(served_of(request), answer))
    return json_response(answer.to_dict())


def recorded_answer(served: Served, caller: Caller, number: int) -> Release | Discovery | Bounds | RowsPerPerson:
    """Return what an entry released: one of the caller's own, or for owners and auditors any."""
    found = served.ledger.entry(number)
    mine = found is not None and found.kind == "charge" and found.analyst == caller.person
    if not served.is_asked_by(found) or not (mine or caller.may(Permission.AUDIT, served.name)):
        raise not_allowed()
    try:
        answer = recall(served.schema.anew(), served.ledger, number)
    except InvalidParameter:
        raise not_allowed() from None
    if answer is None:
        raise Refusal(409, "InvalidRequest", f"Entry {number} has no answer yet: ask the same question, at no charge.")
    return served.source.beside(answer)  # type: ignore[type-var]  # each of them is one


# --- jobs ---


async def start_job(request: Request, asking: ReleaseBody) -> Response:
    """Start a job: a question that is answered later."""
    return json_response(await parts_of(request).jobs.start(await inquiry_of(request, asking)), 202)


def my_jobs(request: Request) -> Response:
    """Return my jobs, the newest first."""
    mine = parts_of(request).jobs.mine(caller_of(request).person, request.path_params["source"])
    return json_response({"jobs": mine})


def job(request: Request, job: str) -> Response:
    """Return how a job of mine is doing."""
    return json_response(shown(_mine(request, job)))


async def job_result(request: Request, job: str) -> Response:
    """Return the answer of a job of mine that is done, from the ledger, at no charge."""
    return await parts_of(request).planning.run(caller_of(request).counted, _job_result, request, job)


def _job_result(request: Request, job: str) -> Response:
    row = _mine(request, job)
    if row["state"] != "done":
        raise Refusal(409, "InvalidRequest", f"The job has no answer: it is {row['state']}.")
    body = parts_of(request).jobs.result(served_of(request), row)
    if body is None:
        raise Refusal(409, "InvalidRequest", "The source has changed since: the answer is in the ledger, by its entry.")
    return Response(body, media_type="application/json")


def cancel_job(request: Request, job: str) -> Response:
    """Cancel a job of mine; it is not computed any more, and what was charged stays charged."""
    return json_response(parts_of(request).jobs.cancel(caller_of(request).person, request.path_params["source"], job))


def _mine(request: Request, job: str) -> dict[str, Any]:
    return parts_of(request).jobs.one(caller_of(request).person, request.path_params["source"], job)


ROUTES = [
    RouteDeclaration("GET", "/api/v1/me", Permission.SIGNED_IN, me, models.Me),
    RouteDeclaration("DELETE", "/api/v1/me/token", Permission.SIGNED_IN, sign_out, models.Done),
    RouteDeclaration("GET", "/api/v1/sources", Permission.SIGNED_IN, sources, models.Sources),
    RouteDeclaration("GET", _SOURCE, Permission.DESCRIBE, source, models.Description),
    RouteDeclaration("GET", f"{_SOURCE}/example", Permission.DESCRIBE, example, models.Example),
    RouteDeclaration("GET", f"{_SOURCE}/budget", Permission.DESCRIBE, budget, models.BudgetAnswer),
    RouteDeclaration("GET", f"{_SOURCE}/ledger/head", Permission.DESCRIBE, head, models.Head),
    RouteDeclaration("POST", f"{_SOURCE}/plan", Permission.ASK, plan, models.PlanAnswer),
    RouteDeclaration(
        "POST", f"{_SOURCE}/release", Permission.ASK, release, models.ReleaseAnswer, also=((202, models.JobAnswer),)
    ),
    RouteDeclaration("GET", f"{_SOURCE}/history", Permission.ASK, history, models.History),
    RouteDeclaration("GET", f"{_SOURCE}/entries/{{entry}}", Permission.DESCRIBE, entry, models.ReleaseAnswer),
    RouteDeclaration("POST", f"{_SOURCE}/jobs", Permission.ASK, start_job, models.JobAnswer, 202),
    RouteDeclaration("GET", f"{_SOURCE}/jobs", Permission.ASK, my_jobs, models.JobList),
    RouteDeclaration("GET", f"{_SOURCE}/jobs/{{job}}", Permission.ASK, job, models.JobAnswer),
    RouteDeclaration("GET", f"{_SOURCE}/jobs/{{job}}/result", Permission.ASK, job_result, models.ReleaseAnswer),
    RouteDeclaration("DELETE", f"{_SOURCE}/jobs/{{job}}", Permission.ASK, cancel_job, models.JobAnswer),
]
