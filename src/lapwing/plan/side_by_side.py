"""Plans of one question that differ in rows_per_person, side by side: what each k costs."""

from __future__ import annotations

from collections.abc import Sequence

from .. import exact, report
from .plan import Plan


def side_by_side(plans: Sequence[Plan]) -> str:
    """Return a table with a line for each k: the ε, and the error bar of every statistic."""
    first = plans[0]
    sure = f"{exact.text(100 * first.confidence)} %"
    heads = ["rows_per_person", "ε", *(str(each.name) for each in first.query.statistics)]
    rows = [
        [
            report.shown(plan.schema.most_rows),
            exact.text(plan.epsilon),
            *(each.bar_text(each.margin) for each in plan.forecasts),
        ]
        for plan in plans
    ]
    return "\n".join(
        [
            f'Plans for "{first.schema.name}" and several rows_per_person: {sure} error bars.  No data was read.',
            report.text_table(heads, rows, ()),
            "A larger number costs noise.  With a smaller one people with more rows are weighted down to it: counts "
            "and sums fall short of those of all rows, and means lean toward people with few rows.",
            "How many people have so many rows: `lapwing bounds SOURCE --rows-per-person --epsilon 0.1`.",
        ]
    )
