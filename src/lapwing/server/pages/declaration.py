"""The page of what an owner has declared about a source, without where the table is, and of its versions."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ...report import toml, toml_name
from ..parts import served_of
from ..permissions import Permission
from ..routing import RouteDeclaration
from .shell import render


def declaration_page(request: Request) -> Response:
    """Show what is declared, as TOML, and to which version recorded answers belong."""
    served = served_of(request)
    return render(
        request, "declaration.html", source=served.name, text=declaration_of(served.file_text),
        versions=served.versions(), version=served.schema.version or "",
    )  # fmt: skip


def declaration_of(text: str) -> str:
    """Return what the text of a source file declares, as TOML, without where the table and the ledger are."""
    fields = tomllib.loads(text, parse_float=Decimal)
    hidden = ("table", "ledger")
    fields = {name: value for name, value in fields.items() if name not in hidden}
    fields["join"] = [
        {name: value for name, value in each.items() if name not in hidden} for each in fields.get("join", [])
    ]
    return "\n".join(_lines({name: value for name, value in fields.items() if value != []}, ()))


def _lines(fields: Mapping[str, Any], where: tuple[str, ...]) -> list[str]:
    """Return fields as lines of TOML: values first, then tables."""
    tables = {name: value for name, value in fields.items() if _is_table(value)}
    lines = [f"{toml_name(name)} = {_value(value)}" for name, value in fields.items() if name not in tables]
    for name, value in tables.items():
        place = (*where, toml_name(name))
        for each in value if isinstance(value, list) else [value]:
            heading = f"[[{'.'.join(place)}]]" if isinstance(value, list) else f"[{'.'.join(place)}]"
            if each and all(_is_table(part) for part in each.values()):
                lines += _lines(each, place)
            else:
                lines += ["", heading, *_lines(each, place)]
    return lines


def _is_table(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, dict) for each in value)
    return isinstance(value, dict)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_name(name)} = {_value(each)}" for name, each in value.items()) + " }"
    return str(value) if isinstance(value, Decimal) else toml(value)


ROUTES = [
    RouteDeclaration("GET", "/sources/{source}/declaration", Permission.MANAGE, declaration_page, None, page=True),
]
