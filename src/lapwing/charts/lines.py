"""Lines with bands, for keys that follow one another: days, months, bins; and for distribution functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .numbers import FLAT, Numbers
from .points import COLORS, FACETS
from .wording import axis_title, distinct, label

_DOTS = 60
"""Up to how many places a line has dots."""

_HEIGHT = 280


def lines(altair: Any, numbers: Numbers, along: int, width: int) -> Any:
    """Return the chart, along one of the keys; the others are told by color, or by facets if they are many."""
    numbers, others = _fewer(numbers, along)
    rows, names = _rows(numbers, along, others)
    key = numbers.keys[along]
    facets = len(names) > COLORS
    outer = axis_title(", ".join(numbers.keys[j].title for j in others))
    columns = 1 if not facets else 2 if width < 600 else 3
    wide = max(width // columns, 120)
    base = altair.Chart().encode(x=_x(altair, numbers, along, wide), tooltip=numbers.tooltips(altair))
    if len(names) > 1 and not facets:
        legend = altair.Legend(title=outer, labelExpr=FLAT)
        base = base.encode(color=altair.Color("group:N", scale=altair.Scale(domain=names), legend=legend))
    scale = altair.Scale(zero=numbers.zero)
    y, value = (altair.Y(f"{end}:Q", title=axis_title(numbers.along), scale=scale) for end in ("low", "value"))
    layers = [base.mark_area(style="band").encode(y=y, y2="high:Q"), base.mark_line(style="curve").encode(y=value)]
    dots = (key.dates or key.positions is None) and len(set(key.at)) <= _DOTS
    if dots:
        usable = base if all(row["usable"] for row in rows) else base.transform_filter("datum.usable")
        layers.append(usable.mark_point(style="value", filled=True).encode(y=value))
        if any(not row["usable"] and row["value"] is not None for row in rows):
            noisy = base.transform_filter("!datum.usable").mark_point(style="noisy", filled=False)
            layers.append(noisy.encode(y=value))
    title = numbers.heading(altair, *(numbers.hollow("; left out: no information") if dots else []))
    data = altair.InlineData(values=rows)
    if not facets:
        drawn = altair.layer(*layers, data=data)
        return drawn.properties(width=width, height=_HEIGHT, title=title, description=numbers.told())
    header = altair.Header(labelExpr=FLAT, labelAnchor="start", labelLimit=wide, titleAnchor="start")
    panel = altair.Facet("group:N", sort=names, title=outer, header=header)
    panels = altair.layer(*layers).properties(width=wide, height=_HEIGHT // 2)
    chart = panels.facet(panel, columns=columns, data=data, spacing=18)
    return chart.properties(title=title, description=numbers.told())


def _fewer(numbers: Numbers, along: int) -> tuple[Numbers, list[int]]:
    """Return no more lines than there can be panels, those that reach highest, and which keys tell them apart."""
    others = [j for j in range(len(numbers.keys)) if j != along]
    lines: dict[tuple[int, ...], list[int]] = {}
    for i in range(len(numbers.drawn)):
        lines.setdefault(tuple(numbers.keys[j].at[i] for j in others), []).append(i)
    if len(lines) <= FACETS:
        return numbers, others

    def top(groups: Sequence[int]) -> float:
        values = [value for i in groups if (value := numbers.drawn[i].value) is not None]
        return max(values, default=float("-inf"))

    kept = sorted(lines.values(), key=top, reverse=True)[:FACETS]
    note = f"The {FACETS} lines that reach highest, of {len(lines):,}."
    return numbers.only([i for each in kept for i in each], note), others


def _rows(numbers: Numbers, along: int, others: Sequence[int]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the data, in the order of the key along which the lines go, with gaps where a group is not shown."""
    key, rows = numbers.keys[along], numbers.rows()
    of = [tuple(numbers.keys[j].at[i] for j in others) for i in range(len(rows))]
    found = list(dict.fromkeys(of))
    texts = [label(", ".join(numbers.keys[j].texts[i] for j, i in zip(others, at, strict=True))) for at in found]
    names = distinct(texts) if others else ["all"] * len(found)
    name = dict(zip(found, names, strict=True))
    places = key.names
    used = sorted(set(key.at))
    known = {(at, key.at[i]): rows[i] for i, at in enumerate(of)}
    made, gaps = [], numbers.domain() is not None
    for at in found:
        for place in range(used[0], used[-1] + 1) if used else ():
            row = known.get((at, place))
            if row is None:
                row = {"value": None, "low": None, "high": None, "usable": True, f"k{along}": places[place]}
            if gaps and not row.get("informs", True):
                row = {**row, "value": None, "low": None, "high": None}
            where = {} if key.positions is None else {"x": key.positions[place]}
            made.append({**row, "group": name[at], **where})
    return made, names


def _x(altair: Any, numbers: Numbers, along: int, width: int) -> Any:
    key = numbers.keys[along]
    title = axis_title(key.title)
    if key.dates:
        axis = altair.Axis(labelOverlap="greedy", grid=False, format=_format(key.positions or ()))
        return altair.X("x:T", title=title, scale=altair.Scale(type="utc"), axis=axis)
    if key.positions is not None:
        return altair.X("x:Q", title=title, scale=altair.Scale(zero=False, nice=False))
    names = key.names
    used = [names[i] for i in range(min(key.at), max(key.at) + 1)] if key.at else []
    upright = sum(len(each) for each in used) * 7.5 > width
    axis = altair.Axis(
        labelExpr=FLAT, labelAngle=-45 if upright else 0, labelOverlap="greedy" if len(used) > _DOTS else False,
        labelLimit=160, grid=False,
    )  # fmt: skip
    return altair.X(f"k{along}:O", sort=used, title=title, axis=axis)


def _format(days: Sequence[float | str]) -> str:
    """Return how days are written on the axis: as short as tells them apart."""
    texts = [str(day) for day in days]
    if all(day.endswith("-01-01") for day in texts):
        return "%Y"
    return "%Y-%m" if all(day.endswith("-01") for day in texts) else "%Y-%m-%d"
