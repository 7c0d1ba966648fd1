"""Recorded answers as pages: table and chart with error bars, views and comparisons, files; all at no charge.

An answer is found by its entry, or by its question: whoever asks the same question may see its recorded answer.
Nothing here charges anything.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from markupsafe import Markup
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ... import exact
from ...charts.picture import picture
from ...errors import LapwingError, MissingLibrary
from ...release.account import listed
from ...release.comparison import Comparison
from ...release.page import PageParts, comparison_parts, release_parts
from ...release.result import Release
from ..ask_routes import recorded_answer
from ..asking import Inquiry, ReleaseBody, entry_number, viewed
from ..parts import caller_of, parts_of, served_of
from ..permissions import Caller, Permission
from ..refusals import Refusal, not_allowed, refusal_of
from ..routing import RouteDeclaration
from ..sessions import Form, form_in_address, form_of
from ..sources import Served
from .files import FILES, file_of, files_here
from .shell import moved, rendered

MOST_SHOWN = 20_000
"""A page has all groups of an answer up to this many; files have all of larger ones."""

MOST_DRAWN = 200
"""A chart has at most this many groups: the table has bars for all."""

MOST_CHARTS = 12
"""Charts are offered of so many of several tables."""

CHARTS = ("svg", "png")
VIEWS = {
    "simultaneous": "error bars that hold for all cells at once",
    "nonnegative": "no negative counts (biased)",
    "suppress": "leave out numbers whose noise is high",
}
"""The views of an answer, with their words."""

COMPARISONS = ("difference", "ratio", "share", "total")


async def entry(request: Request, entry: str) -> Response:
    """Show a recorded answer: mine, or for owners and auditors any.

    The address may say which view is shown, and what was done just before: that changes words of the page alone.
    """
    number, said = entry_number(entry), request.query_params
    done, views = said.get("done"), view_of(said)
    answer = await parts_of(request).planning.run(
        caller_of(request).counted, _seen, served_of(request), caller_of(request), number, views
    )
    charged = None
    if isinstance(answer, Release) and done == "charged":
        answer, charged = replace(answer, repeated=False), exact.text(answer.plan.epsilon)
    return await answer_page(
        request, answer, entry=number, charged=charged, views=views, asked_before=done == "repeated"
    )


def _seen(served: Served, caller: Caller, number: int, views: Mapping[str, bool]) -> Any:
    """Return a recorded answer in a view."""
    answer = recorded_answer(served, caller, number)
    return viewed(answer, **views) if isinstance(answer, Release) else answer


async def look_again(request: Request) -> Response:
    """Send an answer as a file, or go on to where it is in another view, or compared."""
    form, served, caller = form_of(request), served_of(request), caller_of(request)
    wanted = form.one("file")
    if wanted:
        return await parts_of(request).planning.run(caller.counted, _file, served, caller, form, wanted)
    fields = {name: form.one(name) for name in ("question", "entry", *VIEWS, "compare", "of", "to", "by")}
    return moved(f"/sources/{served.name}/answer", fields) or await _another_look(request, form)


async def look(request: Request) -> Response:
    """Show an answer as the address says: in a view, or compared."""
    return await _another_look(request, form_in_address(request))


async def _another_look(request: Request, form: Form) -> Response:
    served, caller, planning = served_of(request), caller_of(request), parts_of(request).planning
    try:
        answer, compared, asked, number = await planning.run(caller.counted, _looked_up, served, caller, form)
    except (LapwingError, Refusal) as error:  # a comparison that cannot be made, or no answer: then the next line fails
        refusal = error if isinstance(error, Refusal) else refusal_of(error, served)
        answer, _, asked, number = await planning.run(caller.counted, _looked_up, served, caller, form, compare=False)
        return await answer_page(request, answer, question=asked, entry=number, form=form, refusal=refusal)
    return await answer_page(request, answer, question=asked, entry=number, form=form, compared=compared)


def view_of(fields: Mapping[str, str]) -> dict[str, bool]:
    """Return which views of an answer a form asks for."""
    return {name: bool(fields.get(name)) for name in VIEWS}


# --- which answer ---


def _looked_up(
    served: Served, caller: Caller, form: Form, compare: bool = True
) -> tuple[Any, Comparison | None, ReleaseBody | None, int | None]:
    """Return the answer that a form names in the view that it asks for, and its comparison, if any."""
    views = view_of(form.values())
    text, number = form.one("question"), form.one("entry")
    asked: ReleaseBody | None = None
    if text:
        if not caller.may(Permission.ASK, served.name):
            raise not_allowed()
        asked = _question(text, views)
        answer: Any = Inquiry(served, caller.person, asked, caller.token).free()
        if answer is None:
            raise Refusal(409, "InvalidRequest", "This question has not been answered yet. Nothing was charged.")
    elif not number:
        raise _no_answer()
    else:
        answer = _seen(served, caller, entry_number(number), views)
    compared = _compared(answer, form) if compare and isinstance(answer, Release) else None
    return answer, compared, asked, int(number) if not text else None


def _question(text: str, views: Mapping[str, bool]) -> ReleaseBody:
    try:
        return ReleaseBody.model_validate_json(text).model_copy(update=dict(views))
    except ValidationError:
        raise _no_answer() from None


def _no_answer() -> Refusal:
    return Refusal(400, "InvalidRequest", "The form does not say which answer. Nothing was charged.")


def _compared(release: Release, form: Form) -> Comparison | None:
    """Return the comparison that a form asks for."""
    verb = form.one("compare")
    if verb not in COMPARISONS:
        return None
    if verb in ("share", "total"):
        return release.share() if verb == "share" else release.total(over=form.one("by") or ())
    by, of = _pair(form.one("of"))
    other, to = _pair(form.one("to"))
    if by != other:
        raise Refusal(400, "InvalidRequest", "Compare two keys of the same column. Nothing was charged.")
    made: Comparison = getattr(release, verb)(by=by, of=of, to=to)
    return made


def _pair(text: str) -> tuple[str, str]:
    """Return the column and the key of an option of the form."""
    column, _, key = text.partition("\n")
    return column, key


# --- the page ---


async def answer_page(
    request: Request,
    answer: Any,
    *,
    question: ReleaseBody | None = None,
    entry: int | None = None,
    charged: str | None = None,
    form: Form | None = None,
    views: Mapping[str, bool] | None = None,
    asked_before: bool = False,
    compared: Comparison | None = None,
    refusal: Refusal | None = None,
) -> Response:
    """Return the page of an answer; ``charged`` is what it cost just now, None if nothing."""
    fields = {} if form is None else form.values()
    sql, epsilon = _asked_again(request, answer, question)
    frame: dict[str, Any] = {
        "question": "" if question is None else question.model_dump_json(),
        "entry": entry,
        "sql": sql,
        "epsilon": epsilon,
        "charged": charged,
        "asked_before": asked_before,
        "views": views or view_of(fields if question is None else question.model_dump()),
        "compare": {name: fields.get(name, "") for name in ("compare", "of", "to", "by")},
        "refusal": refusal,
        "left": None,
    }
    if not isinstance(answer, Release):
        return await rendered(request, "found.html", text=answer.to_text(), **frame)
    planning = parts_of(request).planning
    shown = await planning.run(caller_of(request).counted, _shown, answer, compared)
    status = 200 if refusal is None else refusal.status
    frame["left"] = await run_in_threadpool(_left, request)
    return await rendered(request, "answer.html", status, **shown, **frame)


def _asked_again(request: Request, answer: Any, question: ReleaseBody | None) -> tuple[str, str]:
    """Return the SQL and the ε to begin another question with; nothing for those who ask none."""
    if question is not None:
        return question.sql or "", str(question.epsilon)
    if not isinstance(answer, Release) or not caller_of(request).may(Permission.ASK, served_of(request).name):
        return "", ""
    return answer.plan.whole.query.text, exact.text(answer.plan.epsilon)


def _left(request: Request) -> str | None:
    budget = served_of(request).budget(caller_of(request).person)
    return None if budget["mine"] is None else str(budget["mine"]["remaining"])


def _shown(release: Release, compared: Comparison | None) -> dict[str, Any]:
    made: PageParts = release_parts(release, MOST_SHOWN) if compared is None else comparison_parts(compared)
    return {
        "title": made.title,
        "header": Markup(made.header),  # escaped where they were made, as all of these
        "numbers": [Markup(each) for each in made.numbers if each],
        "about": [Markup(each) for each in made.about if each],
        "paged": made.paged,
        "view_words": VIEWS,
        "is_comparison": compared is not None,
        "number": release.entry,
        "repeated": release.repeated,
        **_charts(release if compared is None else compared),
        "keys": _keys(release),
        "several": release.plan.several is not None,
    }


def _keys(release: Release) -> list[dict[str, Any]]:
    """Return the key columns and their keys, to choose what is compared."""
    found = []
    for each in release.key_columns:
        if each.is_key:
            texts = [str(value) for value in each.values]
            found.append({"name": each.name, "keys": [(f"{each.name}\n{text}", text) for text in texts][:500]})
    return found


def _charts(answer: Release | Comparison) -> dict[str, Any]:
    """Return the chart of the page, of which table it is, and the files to take away: a chart for each table."""
    files = [(name, kind.title) for name, kind in files_here().items()]
    if not isinstance(answer, Release) or answer.plan.several is None:
        return {"pictures": _pictures(answer), "pictured": "", "files": files}
    drawn = _drawn_tables(answer)
    made = [
        (f"{name} {place}", f"{FILES[name].title.removesuffix(')')}, {_table_name(answer, place)})")
        for place in drawn[:MOST_CHARTS] for name, _ in files if name in CHARTS
    ]  # fmt: skip
    return {
        "pictures": _pictures(_table(answer, drawn[0])) if drawn else None,
        "pictured": _table_name(answer, drawn[0]) if drawn else "",
        "files": [*((name, title) for name, title in files if name not in CHARTS), *made],
    }


def _drawn_tables(release: Release) -> list[int]:
    """Return which of several tables have groups to draw."""
    return [place for place in range(len(release.tables)) if 1 < len(_table(release, place)) <= MOST_DRAWN]


def _table(release: Release, place: int) -> Release:
    return release.table(*release.tables[place])


def _table_name(release: Release, place: int) -> str:
    return f"by {listed(list(release.tables[place]))}"


def _pictures(answer: Release | Comparison) -> dict[str, str] | None:
    """Return the chart for light and dark pages, as addresses that hold it; None if it cannot be drawn here."""
    if not 1 < len(answer) <= MOST_DRAWN:
        return None
    try:
        drawn = {theme: picture(answer.plot(theme=theme), "svg") for theme in ("light", "dark")}
    except (MissingLibrary, LapwingError):
        return None
    return {theme: f"data:image/svg+xml;base64,{base64.b64encode(data).decode()}" for theme, data in drawn.items()}


def _file(served: Served, caller: Caller, form: Form, wanted: str) -> Response:
    answer, compared, _, _ = _looked_up(served, caller, form)
    kind, _, place = wanted.partition(" ")
    if not isinstance(answer, Release) or kind not in FILES:
        raise _no_file()
    if kind in CHARTS and answer.plan.several is not None and compared is None:
        answer = _charted(answer, place)
    made = file_of(answer if compared is None else compared, kind)
    name = f"{served.name}-{answer.entry or 'rows'}{'-' + form.one('compare') if compared else ''}"
    name += f"-table-{place}" if place else ""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
    headers = {"Content-Disposition": f'attachment; filename="{name}{FILES[kind].ending}"'}
    return Response(made, headers=headers, media_type=FILES[kind].media)


def _charted(release: Release, place: str) -> Release:
    """Return the table of a chart; the first that can be drawn if none is named."""
    drawn = _drawn_tables(release)
    chosen = [each for each in drawn if not place or str(each) == place]
    if not chosen:
        raise _no_file()
    return _table(release, chosen[0])


def _no_file() -> Refusal:
    return Refusal(400, "InvalidRequest", "There is no such file of this answer. Nothing was charged.")


ROUTES = [
    RouteDeclaration("GET", "/sources/{source}/entries/{entry}", Permission.DESCRIBE, entry, None, page=True),
    RouteDeclaration("GET", "/sources/{source}/answer", Permission.DESCRIBE, look, None, page=True),
    RouteDeclaration("POST", "/sources/{source}/answer", Permission.DESCRIBE, look_again, None, page=True),
]
