"""What an answer is, in words: titles and units of its columns, as the source has them now; who is protected."""

from __future__ import annotations

from fractions import Fraction

from .. import exact
from ..plan.left_out import shown_name
from ..plan.plan import Plan
from ..question.query import elementary
from ..question.schema import Schema


def legend(plan: Plan) -> list[str]:
    """Return a line for each column of the question that has a title or a unit."""
    asked = (each.column for each in elementary(plan.query.statistics) if each.kind != "people")
    lines = []
    for name in dict.fromkeys((*(plan.keys or plan.query.by), *(name for name in asked if name is not None))):
        column = plan.schema.columns[name]
        words = [
            *([] if column.title is None else [column.title]),
            *([] if column.unit is None else [f"in {column.unit}"]),
        ]
        if words:
            lines.append(f"{shown_name(name)}: {', '.join(words)}")
    return lines


def protects(schema: Schema) -> str:
    """Say who is protected."""
    if schema.person is None:
        return "each row, taken to be one person"
    rows = "1 row" if schema.rows_per_person == 1 else f"{schema.rows_per_person} rows"
    return f"each person ({schema.person}), who counts as at most {rows}"


def percent(confidence: Fraction) -> str:
    """Return a confidence as a percentage."""
    return f"{exact.text(100 * confidence)} %"
