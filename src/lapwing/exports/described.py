"""What an export says about an answer: each of its columns, and the public parameters behind it.

All of it comes from the plan, the declaration of the table and the released numbers: nothing here is private.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from .. import exact
from ..plan.plan import Plan
from ..question.codes import Key, written
from ..question.cut import WHOLE
from ..question.query import ENDINGS
from ..question.schema import Column
from ..release.columns import KeyColumn, key_columns
from ..release.comparison import Comparison
from ..release.legend import percent, protects
from ..release.result import Release

Answer = Release | Comparison
Role = Literal["key", "label", "grouping", "value", "low", "high", "noise"]
Type = Literal["text", "integer", "number", "date", "boolean"]

_ROLES: tuple[Role, ...] = ("value", "low", "high", "noise")


@dataclass(frozen=True)
class ExportColumn:
    """One column of the data: its name, what it is, and which values it may have.

    ``of`` is the key that a label belongs to, or the statistic that a number belongs to.  ``values`` are the public
    keys or labels, in their order, without that of totals; ``totals`` says that a total has nothing there.
    """

    name: str
    role: Role
    type: Type
    of: str
    description: str
    title: str | None = None
    unit: str | None = None
    values: tuple[Key, ...] = ()
    totals: bool = False
    about: Mapping[str, Any] | None = None

    @property
    def required(self) -> bool:
        """Whether every row has a value."""
        return self.role in ("key", "label", "grouping", "noise") and not self.totals


def plan_of(answer: Answer) -> Plan:
    """Return the plan of an answer."""
    return answer.plan if isinstance(answer, Release) else answer.release.plan


def release_of(answer: Answer) -> Release:
    """Return the release that an answer is, or was computed from."""
    return answer if isinstance(answer, Release) else answer.release


def title_of(answer: Answer) -> str:
    """Return a title for people."""
    name = plan_of(answer).schema.name
    return f"Release from {name}" if isinstance(answer, Release) else f"{answer.what}, from a release of {name}"


def identity_of(answer: Answer) -> list[str]:
    """Return what tells an answer from others: its source and entry, and for a comparison a digest of what it is."""
    found = [plan_of(answer).schema.name, *([] if answer.entry is None else [str(answer.entry)])]
    if isinstance(answer, Release):
        return found
    return [*found, "compared", hashlib.sha256(answer.what.encode()).hexdigest()[:8]]


def key_columns_of(answer: Answer) -> Sequence[KeyColumn]:
    """Return the columns of keys and labels."""
    return key_columns(answer.plan) if isinstance(answer, Release) else answer.key_columns


def export_columns(answer: Answer, first: Mapping[str, Sequence[Any]]) -> list[ExportColumn]:
    """Return what each column is, in the order of the files; ``first`` are some rows, which show the types of numbers.

    The type depends on what is asked, and not on the values: all numbers of a column have one type.
    """
    about = {str(each["name"]): each for each in answer.columns}
    keys = [_key_column(each, about[each.name], key_columns_of(answer)) for each in key_columns_of(answer)]
    return keys + _number_columns(answer, about, first)


def _key_column(column: KeyColumn, about: Mapping[str, Any], others: Sequence[KeyColumn]) -> ExportColumn:
    role: Role = "label" if column.is_label else "grouping" if column.summed else "key"
    of = column.name
    if role == "label":
        of = next(each.name for each in others if each.at == column.at and each.is_key)
        description = f"label of {of}"
    elif role == "grouping":
        description = f"which of {', '.join(about['of'])} a row is summed over, in binary digits"
    else:
        description = "key of the group"
    totals = None in column.values
    if totals:
        description += "; empty where a row is summed over it"
    values = tuple(column.keys)
    given = about.get("title"), about.get("unit")
    return ExportColumn(column.name, role, _type(values), of, description, *given, values, totals)


def _type(values: Sequence[object]) -> Type:
    """Return the type in which files store keys: if some are texts, all are."""
    if values and all(isinstance(each, bool) for each in values):
        return "boolean"
    if values and all(isinstance(each, int) and not isinstance(each, bool) for each in values):
        return "integer"
    return "date" if values and all(isinstance(each, date) for each in values) else "text"


def _number_columns(
    answer: Answer, about: Mapping[str, Mapping[str, Any]], first: Mapping[str, Sequence[Any]]
) -> list[ExportColumn]:
    texts = {str(each.name): each.shown_text for each in plan_of(answer).query.statistics}
    found = []
    for name in texts:
        if name not in about:  # a comparison leaves out what cannot be compared
            continue
        said = _said(answer, name, texts[name], bars=about[name].get("interval", True))
        more = {key: about[name][key] for key in ("kind", "scale", "claim", "level") if key in about[name]}
        for role, ending in zip(_ROLES, ENDINGS, strict=True):
            cells = first[f"{name}{ending}"]
            whole = any(each is not None for each in cells) and all(isinstance(each, int | None) for each in cells)
            kind: Type = "text" if role == "noise" else "integer" if whole else "number"
            given = (None, None) if role == "noise" else (about[name].get("title"), about[name].get("unit"))
            found.append(ExportColumn(f"{name}{ending}", role, kind, name, said[role], *given, about=more))
    noise_marks = [each for each in found if each.role == "noise"]
    return [*(each for each in found if each.role != "noise"), *noise_marks]


def _said(answer: Answer, name: str, text: str, *, bars: bool) -> dict[Role, str]:
    """Return what the columns of a statistic are: its value, the ends of its error bar, and the mark of its noise."""
    if name in plan_of(answer).without_noise:
        return {
            "value": f"{text}, public and exact",
            "low": f"the same as {name}, which is exact",
            "high": f"the same as {name}, which is exact",
            "noise": f"noise of {name}, which is exact",
        }
    made = "" if isinstance(answer, Release) else f" ({answer.what})"
    bar = f"{percent(answer.confidence)} error bar{' for all cells at once' if answer.simultaneous else ''}"
    return {
        "value": f"{text}{made}, released with noise",
        "low": f"lower end of the {bar} of {name}" if bars else f"no error bar of {name}: its lower bound, or empty",
        "high": f"upper end of the {bar} of {name}" if bars else f"no error bar of {name}: its upper bound, or empty",
        "noise": f"noise of {name}, from its 95 % error bar" if bars else f"noise of {name}, which has no bar",
    }


def software() -> str:
    """Return the name and the version of this program."""
    return f"lapwing {sys.modules[__name__.partition('.')[0]].__version__}"  # imported before this module


def facts_of(answer: Answer) -> dict[str, Any]:
    """Return the public parameters behind the numbers, for JSON."""
    plan, release = plan_of(answer), release_of(answer)
    schema = plan.schema
    found: dict[str, Any] = {
        "source": schema.name,
        "question": plan.query.text,
        "epsilon": exact.text(plan.epsilon) if release.entry is not None else "0",
        "delta": "0",
        "privacy_unit": schema.person or "row",
        "rows_per_person": schema.rows_per_person,
        "neighbors": schema.neighbors,
        "protects": protects(schema),
        "confidence": exact.text(answer.confidence),
        "simultaneous": answer.simultaneous,
        "suppressed": answer.suppress,
        "noise_levels": {name: exact.text(each) for name, each in vars(schema.noise_levels).items()},
        "version": schema.version,
        "entry": release.entry,
        "recorded_at": release.recorded_at,
        "columns_of_the_source": {name: declared(schema.columns[name]) for name in plan.declared},
        "notes": list(answer.notes),
        "software": software(),
    }
    if isinstance(answer, Release):
        found |= {
            "view": answer.view,
            "rounded": answer.rounded,
            "tables": [] if plan.several is None else [list(table) for table in answer.tables],
            "cut": None if answer.shown == WHOLE else answer.shown.text,
        }
    else:
        found["comparison"] = answer.what
    return found if release.private else {**found, "private": False}


def declared(column: Column) -> dict[str, Any]:
    """Return the public declaration of a column of the table, with its title and unit."""
    given = {"title": column.title, "unit": column.unit}
    return {**column.describe(), **{name: text for name, text in given.items() if text is not None}}


def cell_text(value: Key | None) -> str:
    """Return a key as CSV writes it."""
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(written(value))
