"""The page on which people ask: SQL, its plan while they type, what it costs, and the release after a confirmation.

Everything works as plain forms; the script of the page sends the same forms.  Nothing is charged before a form says
``release``, which only the page that names the cost does.  Whatever else a form asks for has an address with the
question in it, unless it is too long: Back, reload and a bookmark show it again.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ... import exact
from ...errors import InvalidRequest, LapwingError
from ...question.advice import FUNCTIONS
from ...question.cut import WHOLE
from ...question.spelling import quoted as quote
from ...question.words import name_in_sql
from ...release.result import Release
from ..ask_routes import answer_or_job, inquiry_of
from ..asking import Inquiry, PlanBody, ReleaseBody
from ..parts import caller_of, parts_of, served_of
from ..permissions import Permission
from ..refusals import Refusal, refusal_of
from ..routing import RouteDeclaration
from ..sessions import Form, form_in_address, form_of
from ..sources import Served
from ..work import Answered
from .answers import VIEWS, answer_page, view_of
from .columns import column_shown, is_grouping, is_number
from .curve import ladder
from .forecast import plan_shown
from .home import EXAMPLE_ROWS, gauges, shown_example
from .shell import MOST_IN_ADDRESS, has_page, moved, render

_PATH = "/sources/{source}/ask"
PATIENCE = 5
"""How many seconds a browser waits for an answer before it is shown a job."""

MOST_COMPLETED = 2000
"""How many keys the page offers to complete."""

STATISTICS = {
    "count": ("number of rows", "COUNT(*)"),
    "sum": ("sum", "SUM({})"),
    "mean": ("mean", "AVG({})"),
    "median": ("median", "MEDIAN({})"),
    "p10": ("10 % quantile", "QUANTILE_CONT({}, 0.1)"),
    "p90": ("90 % quantile", "QUANTILE_CONT({}, 0.9)"),
    "stddev": ("standard deviation", "STDDEV_SAMP({})"),
    "min": ("minimum", "MIN({})"),
    "max": ("maximum", "MAX({})"),
}
"""What can be picked, with its words and its SQL."""


async def show(request: Request) -> Response:
    """Show a question as its address has it: to be written, planned, to be confirmed, or answered."""
    said = form_in_address(request)
    if said.all("sql"):
        return await _look(request, said.one("step", "edit"), _fields(said))
    return await run_in_threadpool(_begin, request)


def _begin(request: Request) -> Response:
    return _page(request, {"sql": _first(served_of(request)), "epsilon": _usual(_left(request))})


async def ask(request: Request) -> Response:
    """Release a question, if the form says so; else go on to where it is planned or confirmed."""
    form = form_of(request)
    step, fields = form.one("step", "plan"), _fields(form)
    if step != "release":
        return moved(_here(request), {**fields, "step": step}) or await _look(request, step, fields)
    try:
        return await _release(request, fields)
    except (Refusal, LapwingError) as error:
        return await _refused(request, fields, error)


async def _look(request: Request, step: str, fields: dict[str, str]) -> Response:
    """Show a question; nothing is charged."""
    if step == "edit":
        return await _form(request, fields)
    try:
        if step == "confirm":
            return await _confirm(request, fields)
        if step == "answer":
            return await _answer(request, fields)
        return await _form(request, fields, plan=await _plan(request, fields))
    except (Refusal, LapwingError) as error:
        return await _refused(request, fields, error)


async def _refused(request: Request, fields: dict[str, str], error: Refusal | LapwingError) -> Response:
    """Show the question again, with why it was refused."""
    refusal = _told(request, error)
    plan = await _plan_of_refused(request, fields) if refusal.name == "BudgetExceeded" else None
    return await _form(request, fields, status=refusal.status, plan=plan, refusal=refusal)


def _here(request: Request) -> str:
    return f"/sources/{served_of(request).name}/ask"


async def follow(request: Request) -> Response:
    """Return the plan of what is typed just now, as a piece of the page."""
    fields = _fields(form_of(request))
    try:
        shown = await _plan(request, fields)
    except (Refusal, LapwingError) as error:
        return await run_in_threadpool(_refused_piece, request, fields, _told(request, error))
    return await run_in_threadpool(lambda: render(request, "plan.html", plan=shown, **_cap(request)))


def _refused_piece(request: Request, fields: dict[str, str], refusal: Refusal) -> Response:
    return render(request, "plan-refused.html", refusal=refusal, **_more_budget(request, fields, refusal))


# --- what is asked ---


def _fields(form: Form) -> dict[str, str]:
    return {name: form.one(name) for name in ("sql", "epsilon", *VIEWS)}


def _asking(fields: dict[str, str]) -> ReleaseBody:
    """Return the question of a form; whatever does not fit is refused."""
    if not fields["sql"]:
        raise InvalidRequest("Nothing is asked", "Write one SELECT, or pick a statistic.")
    if not fields["epsilon"]:
        raise InvalidRequest("ε is missing", "Give a number such as 0.1.")
    try:
        return ReleaseBody.model_validate({"sql": fields["sql"], "epsilon": fields["epsilon"], **view_of(fields)})
    except ValidationError:
        raise InvalidRequest("The question is too long", "A text has at most 100,000 characters.") from None


def _told(request: Request, error: Refusal | LapwingError) -> Refusal:
    return error if isinstance(error, Refusal) else refusal_of(error, served_of(request))


def _first(served: Served) -> str:
    """Return a question to begin with."""
    columns = served.description["columns"]
    number = next((name for name, each in columns.items() if is_number(each)), None)
    key = next((name for name, each in columns.items() if is_grouping(each) and not is_number(each)), None)
    asked = ["COUNT(*) AS n", *([] if number is None else [f"AVG({quoted(number)}) AS mean"])]
    select = ([] if key is None else [quoted(key)]) + asked
    group = "" if key is None else f"\nGROUP BY {quoted(key)}"
    return f"SELECT {', '.join(select)}\nFROM {quoted(served.name)}{group}"


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return quote(name) if name.upper() in FUNCTIONS else name_in_sql(name)


def _left(request: Request) -> Fraction:
    """Return what the caller may still spend; without a cap, what is left of the total."""
    served = served_of(request)
    return (served.cap(caller_of(request).person) or served.ledger.budget()).remaining


def _usual(left: Fraction) -> str:
    """Return an ε to begin with: a tenth of what is left, at most 0.1, with one digit."""
    return next((each for each in reversed(ladder(left)) if Fraction(each) <= min(left / 10, Fraction(1, 10))), "0.1")


# --- plan ---


async def _plan(request: Request, fields: dict[str, str]) -> dict[str, Any]:
    asking = _asking(fields)
    body = PlanBody.model_validate({"sql": asking.sql, "epsilon": asking.epsilon})

    def planned() -> dict[str, Any]:
        return plan_shown(served_of(request), body, _left(request))

    return await parts_of(request).planning.run(caller_of(request).counted, planned)


async def _plan_of_refused(request: Request, fields: dict[str, str]) -> dict[str, Any] | None:
    """Return the plan of a question that costs too much; None if there is none."""
    try:
        return await _plan(request, fields)
    except (Refusal, LapwingError):
        return None


# --- release ---


async def _confirm(request: Request, fields: dict[str, str]) -> Response:
    """Show what a release would cost; what was answered before is shown at once, at no charge."""
    inquiry = await inquiry_of(request, _asking(fields))
    known = await parts_of(request).planning.run(caller_of(request).counted, inquiry.known)
    if known is not None:
        return await _answered(request, inquiry, known, "repeated", fields)
    shown = await _plan(request, fields)
    return await run_in_threadpool(_confirmation, request, inquiry, fields, shown)


def _confirmation(request: Request, inquiry: Inquiry, fields: dict[str, str], shown: dict[str, Any]) -> Response:
    """Show what a release would cost; refuse one that costs more than is left."""
    entry = inquiry.charged
    charged = None if entry is None else entry.number
    if _cap(request)["lacks_cap"] and inquiry.plan.parts:
        return render(request, "confirm.html", 409, fields=fields, plan=shown, charged=charged, **_cap(request))
    if shown["after"] is None and charged is None:
        raise Refusal(
            409, "BudgetExceeded", f"ε = {shown['cost']} was asked, and {shown['left']} is left for you. No row was "
            "read and nothing was charged. Ask for a smaller ε, or ask the owner for more.",
        )  # fmt: skip
    return render(request, "confirm.html", fields=fields, plan=shown, charged=charged, lacks_cap=False, people=None)


async def _release(request: Request, fields: dict[str, str]) -> Response:
    """Release, and show the answer, or the job that it has become."""
    parts = parts_of(request)
    inquiry = await inquiry_of(request, _asking(fields))
    found = await answer_or_job(request, inquiry, min(PATIENCE, parts.settings.seconds))
    if not isinstance(found, Answered):
        return RedirectResponse(f"/sources/{inquiry.served.name}/jobs/{found['job']}", 303)
    release = await parts.planning.run(inquiry.counted, inquiry.free)
    if release is None:
        raise Refusal(409, "InvalidRequest", "The answer is recorded, and cannot be shown now. Ask again: it is free.")
    release = replace(release, repeated=found.repeated)  # it was made just now, and is read from its entry
    return await _answered(request, inquiry, release, "repeated" if found.repeated else "charged", fields)


async def _answered(
    request: Request, inquiry: Inquiry, release: Release, done: str, fields: dict[str, str]
) -> Response:
    """Go on to the page of the entry, or of the question if no entry of the person shows its answer in the same way."""
    mine = await run_in_threadpool(_is_mine, inquiry, release)
    if mine and release.plan.released is None and inquiry.plan.shown == WHOLE:
        views = [name for name in VIEWS if getattr(inquiry.asking, name)]
        query = urlencode({"done": done, **dict.fromkeys(views, "1")})
        return RedirectResponse(f"/sources/{inquiry.served.name}/entries/{release.entry}?{query}", 303)
    there = moved(_here(request), {**fields, "step": "answer", "done": done})
    return there or await _answer_shown(request, inquiry, release, done)


async def _answer(request: Request, fields: dict[str, str]) -> Response:
    """Show the recorded answer to a question."""
    inquiry = await inquiry_of(request, _asking(fields))
    release = await parts_of(request).planning.run(inquiry.counted, inquiry.free)
    if release is None:
        raise Refusal(409, "InvalidRequest", "This question has not been answered yet. Nothing was charged.")
    done = request.query_params.get("done", "")
    return await _answer_shown(request, inquiry, replace(release, repeated=done != "charged"), done)


async def _answer_shown(request: Request, inquiry: Inquiry, release: Release, done: str) -> Response:
    cost = exact.text(inquiry.plan.epsilon) if inquiry.plan.parts and done == "charged" else None
    return await answer_page(request, release, question=inquiry.asking, charged=cost)


def _is_mine(inquiry: Inquiry, release: Release) -> bool:
    """Return whether the person of a question was charged for its answer."""
    entry = None if release.entry is None else inquiry.served.ledger.entry(release.entry)
    return entry is not None and entry.analyst == inquiry.person


# --- the page ---


async def _form(request: Request, fields: dict[str, str], **more: Any) -> Response:
    """Return the page with what was typed, made in a thread that may wait for the ledger."""
    return await run_in_threadpool(_page, request, fields, **more)


def _page(
    request: Request, fields: dict[str, str], *, status: int = 200, plan: Any = None, refusal: Refusal | None = None
) -> Response:
    """Return the page with what was typed."""
    served = served_of(request)
    columns = served.description["columns"]
    shown = [column_shown(name, each) for name, each in columns.items()]
    return render(
        request,
        "ask.html",
        status,
        fields={**dict.fromkeys(VIEWS, ""), **fields},
        view_words=VIEWS,
        most_in_address=MOST_IN_ADDRESS,
        plan=plan,
        refusal=refusal,
        ladder=ladder(_left(request)),
        numbers=[quoted(name) for name, each in columns.items() if is_number(each)],
        groupings=[quoted(name) for name, each in columns.items() if is_grouping(each)],
        statistics=[(sql, words) for words, sql in STATISTICS.values()],
        example=shown_example(served),
        rows=EXAMPLE_ROWS,
        completion={"table": quoted(served.name), "words": _completions(served.name, shown)},
        **_more_budget(request, fields, refusal),
        **_cap(request),
        **gauges(served, caller_of(request)),
    )


def _completions(source: str, columns: list[dict[str, Any]]) -> list[list[str]]:
    """Return what the page completes, each with what it is."""
    found = [[quoted(source), "the source"]]
    found += [[quoted(each["name"]), each["title"] or each["what"]] for each in columns]
    found += [[f"{name}(", "function"] for name in FUNCTIONS]
    keys = [
        ["'" + key["key"].replace("'", "''") + "'", key["label"] or f"key of {each['name']}"]
        for each in columns
        for key in each["keys"]
    ]
    words = ["SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AND", "OR", "NOT", "BETWEEN", "IN"]
    return [*found, *keys[:MOST_COMPLETED], *([word, ""] for word in words)]


def _more_budget(request: Request, fields: dict[str, str], refusal: Refusal | None) -> dict[str, Any]:
    """Return where a higher cap is asked for, or for owners set, if the cap is why a question was refused."""
    served, caller = served_of(request), caller_of(request)
    cap = served.cap(caller.person)
    if refusal is None or refusal.name != "BudgetExceeded" or cap is None:
        return {"more_budget": None, "manages": False}
    people = _cap(request)["people"]
    path = people or f"/sources/{served.name}/requests"
    there = people is not None or has_page(request.scope, "/sources/{source}/requests")
    is_why = exact.rational(fields["epsilon"]) > cap.total - cap.spent
    return {"more_budget": path if is_why and there else None, "manages": people is not None}


def _cap(request: Request) -> dict[str, Any]:
    """Return whether the caller lacks a cap, and where to set one, if that is theirs to do."""
    served, caller, path = served_of(request), caller_of(request), "/sources/{source}/people"
    manages = caller.may(Permission.MANAGE, served.name) and has_page(request.scope, path)
    people = path.replace("{source}", served.name) if manages else None
    return {"lacks_cap": served.cap(caller.person) is None, "people": people}


ROUTES = [
    RouteDeclaration("GET", _PATH, Permission.ASK, show, None, page=True),
    RouteDeclaration("POST", _PATH, Permission.ASK, ask, None, page=True),
    RouteDeclaration("POST", f"{_PATH}/plan", Permission.ASK, follow, None, page=True),
]
