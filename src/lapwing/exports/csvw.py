"""CSVW metadata of data.csv: what each column is, and which table of people it was computed from.

CSVW allows no terms of one's own without a prefix that W3C knows, so that parameters are properties of schema.org, and
the table behind the release is described in the vocabulary CSVW-EO, with full names.  ``lapwing init`` reads it.

Format: Metadata Vocabulary for Tabular Data, W3C Recommendation, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .. import exact
from ..question.schema import Column
from .described import Answer, ExportColumn, Type, cell_text, facts_of, plan_of, title_of
from .texts import shielded

EO = "https://w3id.org/csvw-eo#"
"""The vocabulary for the public declaration of tables of people."""

DATATYPES: dict[Type, str] = {
    "text": "string",
    "integer": "integer",
    "number": "double",
    "date": "date",
    "boolean": "boolean",
}
_SHOWN = ("question", "epsilon", "delta", "privacy_unit", "rows_per_person", "neighbors", "protects", "confidence",
          "simultaneous", "suppressed", "view", "comparison", "cut", "entry", "software")  # fmt: skip


def csvw_metadata(answer: Answer, columns: Sequence[ExportColumn], *, safe: bool) -> dict[str, Any]:
    """Return the metadata of data.csv; ``safe`` says that its texts are shielded from spreadsheets."""
    facts = facts_of(answer)
    about = [_property(name, facts[name]) for name in _SHOWN if facts.get(name) is not None]
    if safe:
        said = "an apostrophe stands before what a spreadsheet would take for a formula, also after ; or a line break"
        about.append(_property("safe_csv", said))
    issued = {} if facts["recorded_at"] is None else {"dc:issued": facts["recorded_at"]}
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": "data.csv",
        "dc:title": title_of(answer),
        "dc:description": " ".join(facts["notes"]),
        **issued,
        "schema:additionalProperty": about,
        "prov:wasDerivedFrom": _source(answer),
        "dialect": {"encoding": "utf-8", "delimiter": ",", "header": True, "lineTerminators": ["\n"]},
        "tableSchema": {
            "columns": [_column(number, each, safe=safe) for number, each in enumerate(columns, 1)],
            **_primary_key(columns),
        },
    }


def _property(name: str, value: object) -> dict[str, Any]:
    return {"@type": "schema:PropertyValue", "schema:name": name, "schema:value": value}


def _column(number: int, column: ExportColumn, *, safe: bool) -> dict[str, Any]:
    """Return one column; its name is a number, since CSVW allows few characters in names, and its title is the head."""
    found: dict[str, Any] = {
        "name": f"c{number}",
        "titles": [shielded(column.name) if safe else column.name],
        "datatype": DATATYPES[column.type],
        "required": column.required and "" not in column.values,
        "dc:description": column.description,
    }
    if column.type == "text":
        found["datatype"] = {"base": "string"}
    if column.title is not None:
        found["schema:alternateName"] = column.title
    if column.unit is not None:
        found["schema:unitText"] = column.unit
    about = [_property("role", column.role), *([_property("of", column.of)] if column.of != column.name else [])]
    about += [_property(name, value) for name, value in (column.about or {}).items()]
    found["schema:additionalProperty"] = about
    if column.role == "key":
        found[f"{EO}keyValues"] = [_plain(each) for each in column.values]
    return found


def _plain(key: Any) -> str | int | bool:
    return key if isinstance(key, bool | int | str) else cell_text(key)


def _primary_key(columns: Sequence[ExportColumn]) -> dict[str, Any]:
    """Return the key columns, unless totals have nothing there."""
    keys = [(f"c{number}", each) for number, each in enumerate(columns, 1) if each.role == "key"]
    if not keys or any(each.totals or "" in each.values for _, each in keys):
        return {}
    return {"primaryKey": [name for name, _ in keys]}


def _source(answer: Answer) -> dict[str, Any]:
    """Return the table of people that the numbers were computed from: its declaration, as it was when they were."""
    plan = plan_of(answer)
    schema = plan.schema
    person = {} if schema.person is None else {f"{EO}privacyUnit": schema.person}
    return {
        "@type": "csvw:Table",
        "dc:title": schema.name,
        **person,
        f"{EO}maxContributions": schema.rows_per_person,
        **({"csvw:null": list(schema.file.missing)} if schema.file.missing else {}),
        "csvw:column": [_declared(name, schema.columns[name]) for name in plan.declared],
    }


def _declared(name: str, column: Column) -> dict[str, Any]:
    found: dict[str, Any] = {
        "@type": "csvw:Column",
        "csvw:name": name,
        "csvw:datatype": DATATYPES[column.kind],
    }
    if column.is_computed:
        found["dc:description"] = f"computed: {column.expression}"
    ends = (column.first, column.last) if column.first is not None else (column.low, column.high)
    for term, end in zip(("csvw:minimum", "csvw:maximum"), ends, strict=True):
        if end is not None:
            number = None if column.kind == "date" else float(end)  # type: ignore[arg-type]
            whole = number is not None and column.kind == "integer"
            found[term] = str(end) if number is None else int(number) if whole else number
    if column.keys is not None:
        found[f"{EO}keyValues"] = [_plain(each) for each in column.keys]
    if column.edges is not None:
        found[f"{EO}edges"] = [float(edge) for edge in column.edges]
    if column.missing:
        found["csvw:null"] = [exact.text(x) if isinstance(x, Fraction) else cell_text(x) for x in column.missing]
    if column.title is not None:
        found["schema:alternateName"] = column.title
    if column.unit is not None:
        found["schema:unitText"] = column.unit
    return found
