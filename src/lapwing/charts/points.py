"""Points or bars with error bars, a line for each group; two keys by color where one has few values, else by facets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .numbers import BREAK, FLAT, ROWS, Numbers
from .wording import axis_title, distinct, label

COLORS = 4
"""How many groups are told apart by color."""

FACETS = 24
"""How many panels one statistic has at most."""

_LONG = 60
"""From how many groups on the axis is above them, where it is seen first."""

_TICK = 75
"""How many pixels there are for a number of the axis."""

_LINE, _TEXT = 19, 13
"""The height of a group, and of each further line of its label."""


def points(altair: Any, numbers: Numbers, width: int, *, bars: bool = False) -> Any:
    """Return the chart; ``bars`` begin at 0."""
    numbers = replace(numbers, zero=True) if bars else numbers
    colored = _colored(numbers)
    if colored is not None:
        return _by_color(altair, numbers, width, colored, bars)
    if len(numbers.keys) > 1 and len(numbers.drawn) <= ROWS:
        outer = dict.fromkeys(zip(*(key.at for key in numbers.keys[:-1]), strict=True))
        if len(outer) <= FACETS and len(numbers.drawn) / len(outer) > 1:
            return _by_facet(altair, numbers, width, list(outer), bars)
    numbers = numbers.largest()
    names = ", ".join(key.title for key in numbers.keys)
    lines = numbers.lines()
    y = altair.Y("group:N", sort=lines, axis=_axis(altair, names, above=len(lines) > _LONG))
    drawing = _layers(altair, numbers, y, {}, bars, _heights(lines), width)
    return _framed(altair, drawing, numbers, numbers.rows(), width, altair.Step(_step(lines)))


def _colored(numbers: Numbers) -> int | None:
    """Return which of two keys is told by color: the one with fewer values, if they are few."""
    if len(numbers.keys) != 2 or len(numbers.drawn) > ROWS:
        return None
    sizes = [len(set(key.at)) for key in numbers.keys]
    fewest = 1 if sizes[1] <= sizes[0] else 0
    return fewest if 1 < sizes[fewest] <= COLORS and sizes[1 - fewest] > 1 else None


def _by_color(altair: Any, numbers: Numbers, width: int, colored: int, bars: bool) -> Any:
    key, other = numbers.keys[colored], numbers.keys[1 - colored]
    names = other.used
    above = len(numbers.drawn) > _LONG
    y = altair.Y(
        f"k{1 - colored}:N", sort=_met(numbers, 1 - colored), axis=_axis(altair, other.title, above=above),
        scale=altair.Scale(paddingInner=0.3, paddingOuter=0.15),
    )  # fmt: skip
    order = key.used
    domain = altair.Scale(domain=order)
    legend = altair.Legend(title=axis_title(key.title), labelExpr=FLAT)
    channels = {
        "yOffset": altair.YOffset(f"k{colored}:N", sort=order),
        "color": altair.Color(f"k{colored}:N", scale=domain, legend=legend),
        "shape": altair.Shape(f"k{colored}:N", scale=domain, legend=legend),
    }
    drawing = _layers(altair, numbers, y, channels, bars, 10, width)
    step = max(14, -(-_step(names) // len(order)))
    return _framed(altair, drawing, numbers, numbers.rows(), width, altair.Step(step, **{"for": "offset"}))


def _by_facet(altair: Any, numbers: Numbers, width: int, outer: list[tuple[int, ...]], bars: bool) -> Any:
    """Return a panel for each combination of all keys but the last, on one axis."""
    *keys, inner = numbers.keys
    texts = distinct([label(", ".join(key.texts[i] for key, i in zip(keys, each, strict=True))) for each in outer])
    panel = dict(zip(outer, texts, strict=True))
    rows = numbers.rows()
    for row, at in zip(rows, zip(*(key.at for key in keys), strict=True), strict=True):
        row["panel"] = panel[at]
    place = f"k{len(keys)}"
    y = altair.Y(f"{place}:N", sort=_met(numbers, len(keys)), axis=_axis(altair, inner.title))
    shared = len(numbers.drawn) == len(outer) * len(set(inner.at))
    names = inner.used
    columns = 1 if len(outer) < 4 or len(names) > 12 or max(map(len, names)) > 24 else 2
    wide = width if columns == 1 else width // 2
    drawing = _layers(altair, numbers, y, {}, bars, _heights(names), wide, rows)
    panels = altair.layer(*drawing).properties(width=wide, height=altair.Step(_step(names)))
    header = altair.Header(labelExpr=FLAT, labelAnchor="start", labelPadding=4, labelLimit=wide, titleAnchor="start")
    facet = altair.Facet("panel:N", sort=texts, title=axis_title(", ".join(key.title for key in keys)), header=header)
    chart = panels.facet(facet, columns=columns, data=altair.InlineData(values=rows), spacing={"row": 14, "column": 24})
    chart = chart if shared else chart.resolve_scale(y="independent")
    return chart.properties(
        title=numbers.heading(altair, *numbers.hollow(), *numbers.stopped()), description=numbers.told()
    )


def _layers(
    altair: Any,
    numbers: Numbers,
    y: Any,
    channels: dict[str, Any],
    bars: bool,
    height: int,
    width: int,
    rows: list[dict[str, Any]] | None = None,
) -> list[Any]:
    """Return the layers: bars, error bars, their stops at bounds, the points, and what is missing."""
    rows = numbers.rows() if rows is None else rows
    domain = numbers.domain()
    scale = altair.Scale(zero=numbers.zero) if domain is None else altair.Scale(domain=domain, nice=True)
    title, clip = axis_title(numbers.along), domain is not None
    base = altair.Chart().encode(y=y, tooltip=numbers.tooltips(altair), **_kept(channels, "yOffset", "color"))
    long = len(rows) > _LONG and "panel" not in rows[0]
    ticks = altair.Axis(tickCount=max(width // _TICK, 2), orient="top" if long else "bottom")
    across = altair.X("low:Q", title=title, scale=scale, axis=ticks)
    value = altair.X("value:Q", title=title, scale=scale, axis=ticks, stack=False)
    layers = [altair.Chart().mark_rule(style="zero").encode(x=altair.datum(0))] if _crosses_zero(rows) else []
    if bars:
        layers.append(base.mark_bar(style="length", clip=clip).encode(x=value))
    if any(row["low"] is not None and row["informs"] for row in rows):
        layers.append(_if(base, rows, "informs").mark_rule(style="interval").encode(x=across, x2="high:Q"))
    if any(row["low"] is not None and not row["informs"] for row in rows):
        open_ended = base.transform_filter("!datum.informs")
        layers.append(open_ended.mark_rule(style="open-interval", clip=clip).encode(x=across, x2="high:Q"))
    for end in ("low", "high"):
        if any(row[f"{end}_bound"] for row in rows):
            stops = base.transform_filter(f"datum.{end}_bound").mark_tick(style="bound", size=height, clip=clip)
            layers.append(stops.encode(x=altair.X(f"{end}:Q", title=title, scale=scale, axis=ticks)))
    shaped = _kept(channels, "shape")
    if any(row["usable"] and row["value"] is not None for row in rows):
        layers.append(_if(base, rows, "usable").mark_point(style="value", filled=True).encode(x=value, **shaped))
    if any(not row["usable"] and row["value"] is not None for row in rows):
        hollow = base.transform_filter("!datum.usable").mark_point(style="noisy", filled=False, clip=clip)
        layers.append(hollow.encode(x=value, **shaped))
    if any(row["value"] is None for row in rows):
        gone = base.transform_filter("datum.value === null").encode(**_kept(channels, "yOffset"))
        layers.append(gone.mark_text(style="note", align="left").encode(x=altair.value(4), text="missing:N"))
    if all(row["value"] is None and row["low"] is None for row in rows):
        layers.append(base.mark_point(style="value", filled=True).encode(x=value))
    return layers


def _crosses_zero(rows: list[dict[str, Any]]) -> bool:
    """Return whether there are numbers on both sides of 0, whose line is then drawn."""
    ends = [row[end] for row in rows if row["informs"] for end in ("value", "low", "high") if row[end] is not None]
    return min(ends, default=0) < 0 < max(ends, default=0)


def _if(base: Any, rows: list[dict[str, Any]], name: str) -> Any:
    """Return the chart of the rows of which something is true; of all of them there is nothing to filter."""
    return base if all(row[name] for row in rows) else base.transform_filter(f"datum.{name}")


def _kept(channels: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: channel for name, channel in channels.items() if name in names}


def _framed(
    altair: Any, layers: list[Any], numbers: Numbers, rows: list[dict[str, Any]], width: int, height: Any
) -> Any:
    title, told = numbers.heading(altair, *numbers.hollow(), *numbers.stopped()), numbers.told()
    return altair.layer(*layers, data=altair.InlineData(values=rows)).properties(
        width=width, height=height, title=title, description=told
    )


def _axis(altair: Any, title: str, *, above: bool = False) -> Any:
    """Return the axis of the groups: its title over it, higher if the other axis is above as well.

    Labels of several lines are in the middle of theirs.
    """
    shifts = [{"test": f"length(split(datum.value, '\\n')) == {n}", "value": -_TEXT * (n - 1) / 2} for n in (2, 3)]
    return altair.Axis(
        labelExpr=BREAK, labelOffset={"condition": shifts, "value": 0}, title=axis_title(title) if title else None,
        grid=False, titleAngle=0, titleAlign="right", titleAnchor="end", titleX=-8,
        titleY=-28 if above else -8, titleBaseline="bottom",
    )  # fmt: skip


def _met(numbers: Numbers, at: int) -> list[str]:
    """Return the labels of a key, in the order in which the groups have them."""
    key = numbers.keys[at]
    names = key.names
    return [names[i] for i in dict.fromkeys(key.at)]


def _step(labels: list[str]) -> int:
    """Return the height of a group: that of its longest label."""
    return _LINE + _TEXT * (max((each.count("\n") for each in labels), default=0))


def _heights(labels: list[str]) -> int:
    """Return the height of the stop of a bar."""
    return min(_step(labels) - 6, 14)
