"""A guided first source: a table, what is declared about it, whether that fits, and then it is served.

Nothing that is declared is taken from the cells: the owner gives bounds, keys and the person, and confirms before they
become public.  What the check says is shown to the owner alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...checking import PRIVATE, SourceCheck
from ...errors import LapwingError
from ...source_file import source_name
from ..declaring import MOST_COLUMNS, ROW, Declared, declared, said_again
from ..making import SourceMaker, maker_of
from ..parts import caller_of, parts_of
from ..permissions import Permission
from ..refusals import Refusal, json_response, refusal_of
from ..routing import RouteDeclaration
from ..sessions import Form, form_of
from ..uploads import UPLOAD
from .columns import KINDS
from .declaration import declaration_of
from .shell import render

_TABLE = "/new/{table}"

_LATE = (
    "This table takes longer than the server allows. Nothing was charged. If it was being served, that goes on: look "
    "at your sources later."
)
_OTHERS, _MOST = "all others together as", "Rows of one person that count in full"
"""What two fields of the form are called."""

_Result = TypeVar("_Result")


def start_page(request: Request) -> Response:
    """Show the form that takes a table, and the tables that are there."""
    tables = maker_of(request).folder.tables(caller_of(request).person)
    most = parts_of(request).settings.upload_bytes
    return render(request, "new.html", tables=tables, most=most // 1_000_000)


async def upload(request: Request, name: str) -> Response:
    """Take a CSV file as it arrives; one that cannot be read as a table is refused, and nothing of it is kept."""
    maker, person = maker_of(request), caller_of(request).person

    async def check(place: Path) -> None:
        await _waited(request, lambda: maker.check_upload(person, place, name))

    await maker.folder.keep(person, name, request.stream(), check)
    return json_response({"table": name, "next": _TABLE.format(table=name)}, 201)


def choose_table(request: Request) -> Response:
    """Go on with a table that is there."""
    person, name = caller_of(request).person, form_of(request).one("table")
    maker_of(request).folder.table(person, name)
    return RedirectResponse(_TABLE.format(table=name), 303)


async def table_page(request: Request, table: str) -> Response:
    """Show what can be said about a table, with the names and types of its columns."""
    return await _form(request, table, Form([]))


async def check_page(request: Request, table: str) -> Response:
    """Show what would become public, and whether it fits the table; nothing is served or charged yet."""
    form, maker, person = form_of(request), maker_of(request), caller_of(request).person

    def checked() -> dict[str, Any]:
        said = _declared(maker, person, table, form)
        public = declaration_of(said.text)
        check = maker.check(person, table, said)
        return {"declared": said, "public": public, "check": check, "advice": _advice(check)}

    try:
        found = await _waited(request, checked)
    except (Refusal, LapwingError) as error:
        return await _form(request, table, form, _refusal(error))
    fields = [(name, value) for name, value in form.values().items() if name not in ("csrf", "confirmed")]
    return render(request, "new-check.html", table=table, fields=fields, private=PRIVATE, **found)


async def again_page(request: Request, table: str) -> Response:
    """Show the form again, with what was said."""
    return await _form(request, table, form_of(request))


async def serve_page(request: Request, table: str) -> Response:
    """Serve the new source from now on, if the owner confirms what becomes public."""
    form, maker, caller = form_of(request), maker_of(request), caller_of(request)
    if not form.one("confirmed"):
        wrong = Refusal(400, "InvalidRequest", "Confirm first that what is declared may become public.")
        return await _form(request, table, form, wrong)

    def served() -> str:
        return maker.add(caller, table, _declared(maker, caller.person, table, form)).name

    try:
        name = await _waited(request, served)
    except (Refusal, LapwingError) as error:
        return await _form(request, table, form, _refusal(error))
    return RedirectResponse(f"/sources/{name}", 303)


def _declared(maker: SourceMaker, person: str, table: str, form: Form) -> Declared:
    return declared(table, maker.columns(person, table), form.one)


async def _form(request: Request, table: str, form: Form, refusal: Refusal | None = None) -> Response:
    """Show the form of a table, with what was said before, and why that was refused."""
    found = await _waited(request, lambda: maker_of(request).columns(caller_of(request).person, table))
    if refusal is not None and refusal.status == 404:
        raise refusal
    columns = [
        {"number": number, "name": each.name, "kind": each.kind, "called": KINDS.get(each.kind or "", "")}
        for number, each in enumerate(found.columns)
    ]
    values = form.values() or {"name": source_name(table.rpartition(".")[0]).lower(), "epsilon": "1"}
    return render(
        request, "new-table.html", 200 if refusal is None else refusal.status, table=table,
        columns=columns[:MOST_COLUMNS], more=max(len(columns) - MOST_COLUMNS, 0), recognised=found.recognised,
        others=_OTHERS, most_rows=_MOST, said=said_again(values), row=ROW,
        wrong="" if refusal is None else refusal.message,
    )  # fmt: skip


async def _waited(request: Request, work: Callable[[], _Result]) -> _Result:
    """Do something with a table in its turn; give up waiting after the server's time for a request."""
    parts = parts_of(request)
    return await parts.planning.run_within(parts.settings.seconds, _LATE, caller_of(request).counted, work)


def _advice(check: SourceCheck) -> list[dict[str, Any]]:
    """Return what does not fit, in the words of the form: who fills it in has no terminal and no source file."""
    return [
        {"wrong": each.wrong, "column": each.column, "told": _told(f"{each.what}.  {each.todo}")}
        for each in check.advice
    ]


def _told(text: str) -> str:
    sentences = [each for each in text.split("  ") if "`" not in each and "[file]" not in each]
    return (
        " ".join(sentences).replace('Add other = "…"', f'Fill in "{_OTHERS}"').replace("rows_per_person", f'"{_MOST}"')
    )


def _refusal(error: Exception) -> Refusal:
    return error if isinstance(error, Refusal) else refusal_of(error)  # type: ignore[arg-type]


def _page(method: str, path: str, page: Callable[..., Any]) -> RouteDeclaration:
    return RouteDeclaration(method, path, Permission.CREATE, page, None, page=True)


ROUTES = [
    _page("GET", "/new", start_page),
    _page("POST", UPLOAD, upload),
    _page("POST", "/new", choose_table),
    _page("GET", _TABLE, table_page),
    _page("POST", f"{_TABLE}/check", check_page),
    _page("POST", f"{_TABLE}/again", again_page),
    _page("POST", f"{_TABLE}/serve", serve_page),
]
"""Routes of a server that has a folder for new sources."""
