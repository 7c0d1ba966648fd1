"""What is public about a source, as JSON, and the schema that this JSON describes.

The JSON says what the owner declares, and nothing else: not where the table is, and nothing that was learned from it.
Numbers are exact texts, dates are ISO texts.  Reading it back makes the same schema, checked like any declaration, so
that another program plans the same questions.  Reading runs no code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from typing import Any

from .. import exact
from ..errors import InvalidRequest, InvalidSource, LapwingError
from .codes import written
from .derivation import Derivation, expression, recode
from .described import described_schema
from .file import File, file
from .join import Content, Join
from .noise_levels import noise_levels
from .schema import Column, Schema, dates, keys, number, plain

Declared = Mapping[str, Column | Derivation | str]
"""The columns as a user declares them."""

Fields = dict[str, Any]
"""An object of JSON."""


def describe(schema: Schema, declared: Declared) -> Fields:
    """Return what is declared about a source, for JSON."""
    return {
        "name": schema.name,
        "person": schema.person,
        "rows_per_person": schema.rows_per_person,
        "neighbors": schema.neighbors,
        "version": schema.version,
        "every_row_counts": schema.every_row_counts,
        "file": schema.file.describe(),
        "noise_levels": {name: exact.text(each) for name, each in vars(schema.noise_levels).items()},
        "columns": {name: _described(each) for name, each in declared.items()},
        "joins": [_described_join(each) for each in schema.joins],
    }


def schema_of(fields: Fields) -> Schema:
    """Return the schema that the JSON describes; what does not describe one is refused."""
    try:
        made = described_schema(
            fields["name"],
            {name: _column(each) for name, each in fields["columns"].items()},
            fields["person"],
            fields["rows_per_person"],
            fields["neighbors"],
            fields["version"],
            every_row_counts=bool(fields["every_row_counts"]),
            file=_file(fields["file"]),
            noise_levels=noise_levels(**fields["noise_levels"]),
        )
        joins = tuple(_join(each) for each in fields["joins"])
    except LapwingError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        name = fields.get("name") if isinstance(fields, dict) else None
        raise InvalidSource(
            name if isinstance(name, str) else "of the server",
            "has a description that cannot be read",
            "Is it from a server with another version of Lapwing?",
        ) from None
    return Schema(**{**vars(made), "joins": joins})


# --- columns ---


def _described(column: Column | Derivation | str) -> Fields:
    if isinstance(column, str):
        return {"type": column}
    shown = {"labels": _listed(column.labels), "unit": column.unit, "title": column.title, "other": column.other}
    if isinstance(column, Derivation):
        return _given({**_described_derivation(column), **shown})
    within = column.within
    return _given(
        {
            "type": column.kind,
            "low": _text(column.low),
            "high": _text(column.high),
            "first": written(column.first),
            "last": written(column.last),
            "keys": None if column.keys is None else [written(key) for key in column.keys],
            "edges": None if column.edges is None else [exact.text(edge) for edge in column.edges],
            "missing": [exact.text(x) if isinstance(x, Fraction) else written(x) for x in column.missing] or None,
            "within": within and {
                "column": within.parent,
                "groups": [[group, [written(key) for key in some]] for group, some in within.groups],
            },
            **shown,
        }
    )  # fmt: skip


def _described_derivation(column: Derivation) -> Fields:
    if column.text is None:
        return {"from": column.origin, "recode": [[_code(code), text] for code, text in column.codes]}
    listed = column.keys
    return {
        "expression": column.text,
        "low": _text(column.low),
        "high": _text(column.high),
        "edges": None if column.edges is None else [exact.text(edge) for edge in column.edges],
        "type": None if listed is None else listed.kind,
        "keys": None if listed is None else [written(key) for key in listed.keys or ()],
    }


def _column(fields: Fields) -> Column | Derivation:
    """Return the column that was described."""
    shown = {name: fields.get(name) for name in ("labels", "unit", "title")}
    if "expression" in fields:
        read = _READ.get(fields.get("type", ""), str)
        listed = None if "keys" not in fields else [read(key) for key in fields["keys"]]
        ends = {name: fields.get(name) for name in ("low", "high", "edges")}
        return expression(fields["expression"], keys=listed, **ends, **shown)
    if "recode" in fields:
        return recode(fields["from"], dict(fields["recode"]), other=fields.get("other"), **shown)
    kind, labels = fields["type"], shown.pop("labels")
    read = _READ.get(kind, str)
    missing = [read(code) for code in fields.get("missing", ())]
    if "first" in fields:
        return dates(fields["first"], fields["last"], missing=missing, **shown)
    listed = None if "keys" not in fields else [read(key) for key in fields["keys"]]
    if "low" in fields:
        ends = {name: fields.get(name) for name in ("low", "high", "edges")}
        integer = kind == "integer"
        return number(integer=integer, keys=listed, missing=missing, labels=labels, **ends, **shown)
    if listed is not None:
        within = _within(fields.get("within"), read, fields.get("other"))
        return keys(listed, other=fields.get("other"), missing=missing, labels=labels, within=within, **shown)
    return plain(kind, missing, **shown)


def _within(described: Any, read: Callable[[Any], Any], other: str | None) -> Any:
    """Return in which groups of another column the keys lie, as a declaration gives it."""
    if described is None:
        return None
    groups = {
        group: [key if key == other else read(key) for key in some]  # other is a text, whatever the keys are
        for group, some in described["groups"]
    }
    return {described["column"]: groups} if groups else described["column"]


_READ: dict[str, Callable[[Any], Any]] = {
    "date": date.fromisoformat,
    "integer": lambda code: code if isinstance(code, int) else exact.rational(code),
    "number": lambda code: code if isinstance(code, int) else exact.rational(code),
    "boolean": lambda code: code,
}
"""By the type of a column: what a code in JSON means; a text means itself."""


def _code(code: Any) -> Any:
    """Return a code of a recode as its column reads it."""
    return str(code).lower() if isinstance(code, bool) else str(code)


def _text(value: Fraction | None) -> str | None:
    return None if value is None else exact.text(value)


def _listed(labels: tuple[str, ...] | None) -> list[str] | None:
    return None if labels is None else list(labels)


def _given(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


# --- files and joins ---


def _file(fields: Fields) -> File:
    return file(**fields, header="names" not in fields)


def _described_join(each: Join) -> Fields:
    """Return what is public about a joined table; its rows, and where it is, are not sent."""
    on = None if each.on is None else list(each.on)
    return {"columns": dict(each.columns), "person": each.person, "on": on, "file": each.file.describe()}


def _join(fields: Fields) -> Join:
    on = None if fields["on"] is None else (str(fields["on"][0]), str(fields["on"][1]))
    columns = tuple((str(name), str(there)) for name, there in fields["columns"].items())
    return Join(columns, fields["person"], on, _file(fields["file"]), "a joined table", reader=_Elsewhere())


class _Elsewhere:
    """The rows of a look-up that is not here."""

    def content(self, schema: Schema, join: Join) -> Content:
        raise InvalidRequest(
            "This question needs the rows of a look-up, which are not sent", "Ask for its tables one by one."
        )

    def again(self) -> _Elsewhere:
        return self
