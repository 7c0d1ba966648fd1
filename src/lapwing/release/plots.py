"""Charts of a release, with Altair: bars and points for groups, a curve with a band for a distribution function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..measure.measurement import Estimate
from ..question.query import Query
from ..question.schema import Key, written


def chart(
    altair: Any,
    query: Query,
    name: str,
    title: str,
    keys: Sequence[str],
    labels: Sequence[tuple[Key, ...]],
    estimate: Estimate,
) -> Any:
    """Return the chart of one statistic of a release."""
    ends = [end.tolist() for end in estimate]
    rows = [{"value": value, "low": low, "high": high} for value, low, high in zip(*ends, strict=True)]
    if query.statistics[0].kind == "cdf":
        return _curve(altair, query, title, keys, labels, rows)
    for row, group_labels in zip(rows, labels, strict=True):
        row["group"] = _text(group_labels)
    base = altair.Chart(altair.Data(values=rows), title=title).encode(
        y=altair.Y("group:N", sort=None, title=", ".join(keys) or None)
    )
    level = next(each.level for each in query.statistics if each.name == name)
    scale = altair.Scale(zero=level is None)
    bars = base.mark_rule(strokeWidth=2).encode(x=altair.X("low:Q", title=name, scale=scale), x2="high:Q")
    return bars + base.mark_point(filled=True, size=60, opacity=1).encode(x="value:Q")


def _curve(
    altair: Any, query: Query, title: str, keys: Sequence[str], labels: Sequence[tuple[Key, ...]], rows: list[Any]
) -> Any:
    """Return a distribution function as a curve with a band, one for each group of the keys before the bins."""
    edges = dict(query.edges)[query.by[-1]]
    for i, (row, group_labels) in enumerate(zip(rows, labels, strict=True)):
        row |= {"x": float(edges[i % (len(edges) - 1) + 1]), "group": _text(group_labels[:-1])}
    outer = ", ".join(keys[:-1])
    color = altair.Color("group:N", sort=None, title=outer) if outer else altair.Color("group:N", legend=None)
    x = altair.X("x:Q", title=keys[-1])
    base = altair.Chart(altair.Data(values=rows), title=title).encode(x=x, color=color)
    band = base.mark_area(opacity=0.25).encode(y=altair.Y("low:Q", title="share of rows below"), y2="high:Q")
    return band + base.mark_line().encode(y="value:Q")


def _text(labels: Sequence[Key]) -> str:
    return ", ".join(str(written(label)) for label in labels) or "all"
