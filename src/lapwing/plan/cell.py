"""What a notebook shows of a plan: the error to expect, before any data is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import exact
from ..pages import document as parts
from ..question.cut import WHOLE
from .several import several_line, several_rows
from .silent import silences

if TYPE_CHECKING:
    from .plan import Plan


def plan_cell(plan: Plan) -> str:
    """Return the plan: ε, each statistic with its noise and its error bar, and the rules."""
    groups = "1 group" if plan.groups == 1 else f"{plan.groups:,} groups"
    heads = ("name", "statistic", "sensitivity", "noise scale", f"{exact.text(100 * plan.confidence)} % error bar",
             "all at once", "claim", "if")  # fmt: skip
    return parts.cell(
        parts.paragraph(
            f"Plan for {plan.schema.name}: ε = {exact.text(plan.epsilon)}, {groups}.  No data was read, and nothing "
            "was charged."
        ),
        parts.table("What to expect", heads, plan.forecast_rows, (0, 1, 6, 7)),
        _tables(plan),
        parts.paragraph(*_lines(plan), kind="quiet"),
        parts.details("The SQL that the engine will run", plan.sql),
    )


def _tables(plan: Plan) -> str:
    several = plan.several
    if several is None:
        return ""
    heads, rows, more = several_rows(several)
    words = [*more, several_line(several)]
    return parts.joined([parts.table("The tables", heads, rows), parts.paragraph(*words, kind="quiet")])


def _lines(plan: Plan) -> list[str]:
    shares = ", ".join(f"{name}: {share}" for name, share in plan.split.items())
    cut = [] if plan.shown == WHOLE else [f"Shown of the answer, at no cost: {plan.shown.text}"]
    return [
        *([f"ε is split: {shares}"] if len(plan.parts) > 1 else []),
        *silences(plan),
        *map(str, plan.computed),
        *map(str, plan.clipped),
        *plan.notes,
        *plan.better,
        *cut,
        *([] if plan.lacking is None else [plan.lacking]),
    ]
