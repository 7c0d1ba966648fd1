"""Pages about what was asked: my questions and jobs; for owners and auditors, the whole ledger and its verification."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ... import exact
from ...errors import LapwingError, LedgerError
from ...ledger.entry import Entry
from ...ledger.lines import version_of
from ..asking import Inquiry, ReleaseBody, entry_number, key_of
from ..jobs import shown
from ..parts import caller_of, parts_of, served_of
from ..permissions import Permission
from ..refusals import Refusal, refusal_of
from ..routing import RouteDeclaration
from ..sessions import form_of
from ..sources import Served
from .answers import answer_page
from .home import gauge, gauges
from .shell import render, rendered

_SOURCE = "/sources/{source}"
LISTED = 100
"""How many entries a page lists."""


def history(request: Request) -> Response:
    """Show what I asked, the newest first, what it cost, and my jobs."""
    served, caller = served_of(request), caller_of(request)
    mine = served.entries(_before(request), LISTED, charged_to=caller.person)
    rows = parts_of(request).jobs.mine(caller.person, served.name)
    open_jobs = [_job(each) for each in rows if each["state"] in ("open", "failed")]
    states = _states(request, [each for each in mine.entries if not each.answered], rows)
    return render(
        request, "history.html", entries=[{**told(each), **states.get(each.number, {})} for each in mine.entries[::-1]],
        next_page=mine.before, jobs=open_jobs, **gauges(served, caller),
    )  # fmt: skip


def _states(request: Request, unanswered: list[Entry], rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return how charged questions without an answer are doing, and their jobs, by the numbers of their entries."""
    served, work = served_of(request), parts_of(request).work
    ended = [row for row in rows if row["state"] != "done"] if unanswered else []
    jobs = {_charged(served, row): row for row in reversed(ended)}  # the newest one counts
    found = {}
    for each in unanswered:
        row = jobs.get(each.number)
        state = "open" if work.computes(key_of(served, each.epsilon or Fraction(0), each.question)) else ""
        state = state or ("" if row is None else row["state"])
        found[each.number] = {"state": _STATES.get(state, "not answered"), "job": row and row["job"]}
    return found


_STATES = {"open": "running", "cancelled": "cancelled"}


def _charged(served: Served, row: Mapping[str, Any]) -> int | None:
    """Return the number of the entry by which the question of a job was charged; None if it was not."""
    try:
        entry = Inquiry(served, "", ReleaseBody.model_validate(row["question"])).charged
    except (LapwingError, Refusal):  # the source has changed
        return None
    return None if entry is None else entry.number


async def job(request: Request, job: str) -> Response:
    """Show how a job of mine is doing; when it is done, its answer."""
    parts, served, caller = parts_of(request), served_of(request), caller_of(request)
    row = await parts.planning.run(caller.counted, parts.jobs.one, caller.person, served.name, job)
    if row["state"] != "done":
        headers = {"Refresh": "5"} if row["state"] == "open" else {}
        return await rendered(request, "job.html", headers=headers, job=_job(shown(row)))
    asking = ReleaseBody.model_validate_json(row["question"])
    try:
        answer = await parts.planning.run(caller.counted, _answer_of, served, caller.person, asking)
    except LapwingError as error:
        raise refusal_of(error, served) from None
    return await answer_page(request, answer, question=asking, charged=None)


def _answer_of(served: Served, person: str, asking: ReleaseBody) -> Any:
    release = Inquiry(served, person, asking).free()
    if release is None:
        raise Refusal(409, "InvalidRequest", "The source has changed since: the answer is in the ledger, by its entry.")
    return release


def cancel(request: Request, job: str) -> Response:
    """Cancel a job of mine; what was charged stays charged."""
    served = served_of(request)
    parts_of(request).jobs.cancel(caller_of(request).person, served.name, job)
    return RedirectResponse(f"/sources/{served.name}/history", 303)


def _job(row: Mapping[str, Any]) -> dict[str, Any]:
    asked = row["question"]
    return {**row, "sql": asked.get("sql") or "", "epsilon": asked.get("epsilon"), "made": _time(row["made"])}


# --- the ledger ---


def ledger(request: Request) -> Response:
    """Show the ledger: what is left, who spent what, and every entry, the newest first."""
    return _ledger(request)


def verify(request: Request) -> Response:
    """Check all hashes, sums and answers; and that a head which was kept elsewhere is among them."""
    served, head = served_of(request), form_of(request).one("head")
    try:
        count = served.ledger.verify(head or None)
    except LedgerError as error:  # what is wrong is what an auditor asks
        return _ledger(request, {"wrong": served.public_text(str(error)), "kept": head}, 409)
    except LapwingError as error:
        return _ledger(request, {"wrong": refusal_of(error, served).message, "kept": head}, 400)
    return _ledger(request, {"sound": count, "kept": head, "wrong": ""})


def _ledger(request: Request, verified: Mapping[str, Any] | None = None, status: int = 200) -> Response:
    served, caller = served_of(request), caller_of(request)
    kept, page = served.ledger, served.entries(_before(request), LISTED)
    return render(
        request,
        "ledger.html",
        status,
        entries=[told(each) for each in reversed(page.entries)],
        next_page=page.before,
        analysts=[{"name": each.analyst, **gauge(each)} for each in kept.analysts()],
        head=kept.head,
        verified=verified,
        **gauges(served, caller),
    )


def _before(request: Request) -> int | None:
    """Return before which entry those of a page are; None for the last ones."""
    given = request.query_params.get("before", "")
    return entry_number(given) if given else None


KINDS = {
    "open": "ledger opened", "charge": "question", "answer": "answer", "analyst": "cap", "total": "total",
    "request": "request for a higher cap", "grant": "request granted", "decline": "request declined",
    "withdraw": "request withdrawn",
}  # fmt: skip
"""What kinds of entries are called."""


def told(entry: Entry) -> dict[str, Any]:
    """Return an entry for a template."""
    asked = entry.question if isinstance(entry.question, dict) else {}
    return {
        "number": entry.number,
        "time": _time(entry.time),
        "kind": KINDS.get(entry.kind, entry.kind),
        "is_charge": entry.kind == "charge",
        "analyst": entry.analyst or "",
        "query": str(asked.get("query") or _what(asked)),
        "version": version_of(entry),
        "epsilon": "" if entry.epsilon is None else exact.text(entry.epsilon),
        "note": entry.note or "",
        "spent": exact.text(entry.spent),
        "answered": entry.answered,
        "state": "answered",
        "job": None,
        "charge": entry.charge,
        "hash": entry.hash,
    }


def _what(asked: Mapping[str, Any]) -> str:
    """Return what was asked, if it was no query."""
    if "keys_per_person" in asked:
        return "keys that are not public"
    return "rows per person" if "borders" in asked else ""


def _time(text: str) -> str:
    """Return a time to the minute, in UTC."""
    return f"{text[:10]} {text[11:16]}"


ROUTES = [
    RouteDeclaration("GET", f"{_SOURCE}/history", Permission.ASK, history, None, page=True),
    RouteDeclaration("GET", f"{_SOURCE}/jobs/{{job}}", Permission.ASK, job, None, page=True),
    RouteDeclaration("POST", f"{_SOURCE}/jobs/{{job}}/cancel", Permission.ASK, cancel, None, page=True),
    RouteDeclaration("GET", f"{_SOURCE}/ledger", Permission.AUDIT, ledger, None, page=True),
    RouteDeclaration("POST", f"{_SOURCE}/ledger", Permission.AUDIT, verify, None, page=True),
]
