"""A heat map of two keys: the numbers, and beside them how wide their error bars are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InvalidRequest
from .numbers import FLAT, ChartKey, Numbers
from .wording import axis_title

_SIDE = 200
"""How many values of a key are drawn at most."""


def heat_map(altair: Any, numbers: Numbers, width: int) -> Any:
    """Return two panels of one shape: colors for the numbers, and for half of the width of their error bars."""
    if len(numbers.keys) != 2:
        many = {0: "no key", 1: "one key"}.get(len(numbers.keys), f"{len(numbers.keys)} keys")
        raise InvalidRequest(
            f"A heat map shows two keys, and this answer has {many}", "Leave out kind, or choose another."
        )
    sizes = [len(set(key.at)) for key in numbers.keys]
    if max(sizes) > _SIDE:
        raise InvalidRequest(
            f"A heat map of {sizes[0]:,} by {sizes[1]:,} groups could not be read",
            f"Show at most {_SIDE} values of each key, for example with answer.cut(…), or leave out kind.",
        )
    across = _across(numbers.keys, sizes)
    rows = numbers.rows()
    cell = max(min(width // max(len(set(numbers.keys[across].at)), 1), 46), 7)
    size = {"width": altair.Step(cell), "height": altair.Step(max(min(cell, 24), 7))}
    values = [row["value"] for row in rows if row["value"] is not None]
    halves = [row["half"] for row in rows if row["half"] is not None]
    both = any(value < 0 for value in values) and any(value > 0 for value in values)
    scheme = {"scheme": "blueorange", "domainMid": 0} if both else {"scheme": "viridis"}
    panels = [_panel(altair, numbers, rows, across, "value", numbers.along, altair.Scale(**scheme)).properties(**size)]
    notes = []
    if len(set(halves)) == 1 and len(halves) == len(values):
        notes.append(f"All error bars are ± {halves[0]:,.10g}.")
    elif halves:
        width_of = "half of the width of the error bar"
        scale = altair.Scale(scheme="cividis", zero=False)
        panels.append(_panel(altair, numbers, rows, across, "half", width_of, scale).properties(**size))
    chart = altair.hconcat(*panels, data=altair.InlineData(values=rows), spacing=28).resolve_scale(color="independent")
    return chart.properties(title=numbers.heading(altair, *notes), description=numbers.told())


def _across(keys: Sequence[ChartKey], sizes: Sequence[int]) -> int:
    """Return which key goes across: the one with shorter labels, unless it has far more values than the other."""
    longest = [max(map(len, key.used), default=0) for key in keys]
    shorter = 1 if longest[1] <= longest[0] else 0
    return shorter if sizes[shorter] <= max(20, 2 * sizes[1 - shorter]) else 1 - shorter


def _panel(
    altair: Any, numbers: Numbers, rows: list[dict[str, Any]], across: int, field: str, title: str, scale: Any
) -> Any:
    x, y = numbers.keys[across], numbers.keys[1 - across]
    base = altair.Chart().encode(
        x=altair.X(f"k{across}:N", sort=x.used, title=axis_title(x.title), axis=_axis(altair, x)),
        y=altair.Y(f"k{1 - across}:N", sort=y.used, title=axis_title(y.title), axis=_axis(altair, y, upright=False)),
        tooltip=numbers.tooltips(altair),
    )
    legend = altair.Legend(title=axis_title(title), titleLimit=300)
    layers = []
    if any(row[field] is None for row in rows):
        layers.append(base.transform_filter(f"datum.{field} === null").mark_rect(style="missing"))
        layers.append(base.transform_filter(f"datum.{field} === null").mark_text(style="note", text="–"))
    there = base if not layers else base.transform_filter(f"datum.{field} !== null")
    layers.append(there.mark_rect().encode(color=altair.Color(f"{field}:Q", scale=scale, legend=legend)))
    return altair.layer(*layers)


def _axis(altair: Any, key: ChartKey, *, upright: bool = True) -> Any:
    many = len(set(key.at)) > 40
    angle = {"labelAngle": 0 if max(map(len, key.used), default=0) < 4 else -45} if upright else {}
    return altair.Axis(labelExpr=FLAT, labelOverlap="greedy" if many else False, labelLimit=180, grid=False, **angle)
