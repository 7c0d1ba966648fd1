"""A data package of frictionless data: the files of the folder, and a table schema of data.csv.

Format: Data Package, version 2 (datapackage.org), which allows properties of one's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .described import Answer, ExportColumn, Type, cell_text, facts_of, identity_of, title_of
from .texts import shielded

TYPES: dict[Type, str] = {
    "text": "string",
    "integer": "integer",
    "number": "number",
    "date": "date",
    "boolean": "boolean",
}
MEDIA_TYPES = {
    "data.csv": ("csv", "text/csv"),
    "data.parquet": ("parquet", "application/vnd.apache.parquet"),
    "data.sdmx.csv": ("csv", "application/vnd.sdmx.data+csv; version=2.0.0"),
    "data.xlsx": ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "report.html": ("html", "text/html"),
}


def data_package(
    answer: Answer, columns: Sequence[ExportColumn], files: Mapping[str, tuple[int, str]], created: str, *, safe: bool
) -> dict[str, Any]:
    """Return the description of the folder; ``files`` has the size and SHA-256 of those that are in it."""
    facts = facts_of(answer)
    name = re.sub(r"[^a-z0-9._-]+", "-", "-".join(identity_of(answer)).lower()).strip("-.")
    resources = [_resource(each, *files[each]) for each in MEDIA_TYPES if each in files]
    for each in resources:
        if each["path"] == "data.csv":
            each |= {"type": "table", "schema": table_schema(columns, safe=safe)}
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": name or "release",
        "title": title_of(answer),
        "description": " ".join(facts["notes"]),
        "created": created,
        "resources": resources,
        "lapwing": facts,
    }


def _resource(path: str, size: int, digest: str) -> dict[str, Any]:
    form, media = MEDIA_TYPES[path]
    name = re.sub(r"[^a-z0-9]+", "-", path)
    found: dict[str, Any] = {"name": name, "path": path, "format": form, "mediatype": media, "hash": f"sha256:{digest}"}
    if form in ("csv", "html"):
        found["encoding"] = "utf-8"
    return found if form == "parquet" else {**found, "bytes": size}  # the tools do not count the bytes of Parquet


def table_schema(columns: Sequence[ExportColumn], *, safe: bool) -> dict[str, Any]:
    """Return the table schema of data.csv."""
    keys = [each for each in columns if each.role == "key"]
    whole = keys and not any(each.totals or "" in each.values for each in keys)
    primary = {"primaryKey": [_name(each, safe=safe) for each in keys]} if whole else {}
    return {"fields": [_field(each, safe=safe) for each in columns], **primary, "missingValues": [""]}


def _name(column: ExportColumn, *, safe: bool) -> str:
    return shielded(column.name) if safe else column.name


def _field(column: ExportColumn, *, safe: bool) -> dict[str, Any]:
    constraints: dict[str, Any] = {}
    if column.required and "" not in column.values:
        constraints["required"] = True
    if column.role in ("key", "label") and column.values:
        texts = [each if isinstance(each, bool | int) else cell_text(each) for each in column.values]
        if column.type == "text":
            texts = [shielded(cell_text(each)) if safe else cell_text(each) for each in column.values]
        constraints["enum"] = list(dict.fromkeys(texts))
    more = {"role": column.role, "of": column.of, "unit": column.unit, **(column.about or {})}
    return {
        "name": _name(column, safe=safe),
        "type": TYPES[column.type],
        **({} if column.title is None else {"title": column.title}),
        "description": column.description,
        **({"constraints": constraints} if constraints else {}),
        "lapwing": {name: value for name, value in more.items() if value is not None},
    }
