"""Charts of a release, with Altair: bars and points for groups, a curve with a band for a distribution function."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

from ..measure.measurement import Estimate
from ..plan.plan import Plan
from ..question.codes import written
from .columns import KeyColumn
from .legend import about_key, about_statistic, axis


def chart(altair: Any, plan: Plan, name: str, title: str, columns: Sequence[KeyColumn], estimate: Estimate) -> Any:
    """Return the chart of one statistic of a release."""
    title = _harmless(title)
    ends = [end.tolist() for end in estimate]
    rows = [{"value": value, "low": low, "high": high} for value, low, high in zip(*ends, strict=True)]
    groups = [_texts(columns, at) for at in range(len(plan.query.by))]
    names = [_harmless(axis(each.name, about_key(plan, each.at))) for each in columns if not each.is_label]
    if plan.query.statistics[0].kind == "cdf":
        return _curve(altair, plan, title, names, groups, rows)
    for row, group in zip(rows, product(*groups), strict=True):
        row["group"] = ", ".join(group) or "all"
    base = altair.Chart(altair.Data(values=rows), title=title).encode(
        y=altair.Y("group:N", sort=None, title=", ".join(names) or None)
    )
    statistic = next(each for each in plan.query.statistics if each.name == name)
    scale = altair.Scale(zero=statistic.level is None)
    along = _harmless(axis(name, about_statistic(plan, statistic), titled=False))
    across = altair.X("low:Q", title=along, scale=scale)
    bars = base.mark_rule(strokeWidth=2).encode(x=across, x2="high:Q")
    return bars + base.mark_point(filled=True, size=60, opacity=1).encode(x="value:Q")


def _curve(
    altair: Any, plan: Plan, title: str, names: Sequence[str], groups: Sequence[Sequence[str]], rows: list[Any]
) -> Any:
    """Return a distribution function as a curve with a band, one for each group of the keys before the bins."""
    edges = dict(plan.query.edges)[plan.query.by[-1]]
    for i, (row, group) in enumerate(zip(rows, product(*groups), strict=True)):
        row |= {"x": float(edges[i % (len(edges) - 1) + 1]), "group": ", ".join(group[:-1]) or "all"}
    outer = ", ".join(names[:-1])
    color = altair.Color("group:N", sort=None, title=outer) if outer else altair.Color("group:N", legend=None)
    x = altair.X("x:Q", title=names[-1])
    base = altair.Chart(altair.Data(values=rows), title=title).encode(x=x, color=color)
    band = base.mark_area(opacity=0.25).encode(y=altair.Y("low:Q", title="share of rows below"), y2="high:Q")
    return band + base.mark_line().encode(y="value:Q")


def _texts(columns: Sequence[KeyColumn], at: int) -> list[str]:
    """Return the text of each value of a key: its code, after its label if it has one."""
    codes, *labels = ([_harmless(str(written(value))) for value in each.values] for each in columns if each.at == at)
    if not labels:
        return codes
    return [code if label == code else f"{label} ({code})" for label, code in zip(labels[0], codes, strict=True)]


def _harmless(text: str) -> str:
    """Return a text that cannot end the script of a page: Altair writes charts into one, and does not escape them."""
    return re.sub(r"<(?=[/!])", "<\u200b", text)
