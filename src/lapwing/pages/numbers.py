"""A table of numbers with their error bars, drawn on one axis for each statistic.

The rows of a long table are drawn by the script in ``paging``; it and this module show a number in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any

from .. import report
from .axis import HEIGHT, WIDTH, Axis, make_axis
from .document import Html, escaped, scrolling

Bar = tuple[Any, Any, Any, str]
"""A value, the ends of its bar (None where there are none), and the mark of its noise."""

Row = tuple[Sequence[Any], Sequence[Bar]]
"""The keys of a group, None where it is summed over one, and its numbers."""

LOW, MEDIUM, HIGH, NOTHING, LEFT_OUT = "low", "medium", "high", "no information", "–"
_MIDDLE = HEIGHT / 2
_FOOT = 15
"""A table with more rows shows its axis at the end, too."""


@dataclass(frozen=True)
class KeyHead:
    """A column of keys or of labels."""

    name: str
    unit: str | None = None


@dataclass(frozen=True)
class NumberHead:
    """A column of numbers: its unit, the public ends that cut its bars, and how its numbers are shown.

    Those that are ``bare`` have no bars; of these, numbers that add up are ``whole``: all of their digits are shown.
    """

    name: str
    unit: str | None = None
    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    bare: bool = False


@dataclass(frozen=True)
class NumberTable:
    """A table of numbers; ``outer`` is how many of its columns belong to the first of several keys.

    ``total`` is what stands where a row is summed over a key, ``sure`` the confidence of the bars in words.
    """

    caption: str
    keys: Sequence[KeyHead]
    statistics: Sequence[NumberHead]
    rows: Sequence[Row]
    sure: str = "95 %"
    outer: int = 0
    total: str = "Total"

    def html(self, most: int | None = None, identifier: str = "") -> Html:
        """Return the table, or its first rows; all of its bars are on the axes of the whole table."""
        axes = self.axes
        rows = self.rows if most is None else self.rows[:most]
        name = f' id="{identifier}"' if identifier else ""
        name += "" if len(self.statistics) > 1 else ' class="one"'
        heads = "".join(f'<th scope="col" class="key">{_title(each)}</th>' for each in self.keys)
        for each, axis in zip(self.statistics, axes, strict=True):
            bars = "no error bars" if each.bare else f"{self.sure} error bar"
            heads += f'<th scope="col">{_title(each)}</th>'
            heads += f'<th scope="col" class="draw">{escaped(bars)}{_unit(each)}{_axis(axis)}</th>'
        body = "".join(f"<tbody>{''.join(lines)}</tbody>" for lines in self._bodies(rows, axes))
        foot = f"<tfoot>{self._foot(axes)}</tfoot>" if len(rows) > _FOOT else ""
        caption = f"<caption><span>{escaped(self.caption)}</span></caption>"
        inner = f"<table{name}>{caption}<thead><tr>{heads}</tr></thead>{body}{foot}</table>"
        return scrolling(Html(inner), self.caption)

    @property
    def axes(self) -> list[Axis]:
        """The axis of each statistic."""
        return [make_axis(_numbers(row[1][i] for row in self.rows)) for i in range(len(self.statistics))]

    def _bodies(self, rows: Sequence[Row], axes: Sequence[Axis]) -> Iterator[list[str]]:
        """Yield the rows of each group of the first key."""
        for _, some in groupby(rows, lambda row: tuple(row[0][: self.outer])):
            yield [self._row(row, axes, again=i > 0) for i, row in enumerate(some)]

    def _row(self, row: Row, axes: Sequence[Axis], *, again: bool) -> str:
        keys, bars = row
        kinds = [*(["again"] if again and self.outer else []), *(["total"] if None in keys else [])]
        cells = ""
        for i, key in enumerate(keys):
            outer = " outer" if i < self.outer else ""
            text = escaped(self.total if key is None else key)
            cells += (
                f'<th scope="row" class="key{outer}">{text}</th>' if i == 0 else f'<td class="key{outer}">{text}</td>'
            )
        for bar, head, axis in zip(bars, self.statistics, axes, strict=True):
            cells += _cells(bar, head, axis)
        kind = f' class="{" ".join(kinds)}"' if kinds else ""
        return f"<tr{kind}>{cells}</tr>"

    def _foot(self, axes: Sequence[Axis]) -> str:
        cells = f'<td colspan="{len(self.keys)}"></td>' if self.keys else ""
        cells += "".join(f'<td></td><td class="draw">{_axis(axis)}</td>' for axis in axes)
        return f"<tr>{cells}</tr>"

    def settings(self) -> list[dict[str, Any]]:
        """Return, for the script, how the numbers of each statistic are shown and drawn."""
        found = []
        for i, (head, axis) in enumerate(zip(self.statistics, self.axes, strict=True)):
            first = next((row[1][i][0] for row in self.rows if row[1][i][0] is not None), 0)
            ends = [end if math.isfinite(end) else None for end in (head.low, head.high)]
            drawn = {"low": axis.low, "high": axis.high, "pad": axis.pad, "grid": _grid(axis), "zero": _zero(axis)}
            kind = {"integer": isinstance(first, int), "whole": head.whole, "bare": head.bare}
            found.append({"name": head.name, "ends": ends, **kind, **drawn})
        return found


def _numbers(bars: Iterator[Bar]) -> Iterator[float]:
    for bar in bars:
        yield from (float(each) for each in bar[:3] if each is not None)


def _title(head: KeyHead | NumberHead) -> str:
    return f"{escaped(head.name)}{_unit(head)}"


def _unit(head: KeyHead | NumberHead) -> str:
    return "" if head.unit is None else f' <span class="unit">in {escaped(head.unit)}</span>'


# --- one number ---


def _cells(bar: Bar, head: NumberHead, axis: Axis) -> str:
    """Return the cells of a number: its value, its error bar in words, and as a drawing."""
    mark, text, told = bar[3], value_text(bar, head), range_text(bar, head)
    named = f"noise: {mark}" if mark in (MEDIUM, HIGH) else mark
    noted = "" if mark == LOW or head.bare or not mark else f'<span class="mark">{escaped(named)}</span>'
    words = " ".join(each for each in (escaped(told), noted) if each)
    drawn = f'{_drawing(bar, head, axis)}<span class="range">{words}</span>'
    return f'<td>{escaped(text)}</td><td class="draw"><div>{drawn}</div></td>'


def value_text(bar: Bar, head: NumberHead) -> str:
    """Return a value as it is shown, with the digits that its bar leaves."""
    value, low, high, mark = bar
    if value is None or (mark == NOTHING and not head.bare):
        return LEFT_OUT
    width = None if low is None or high is None or head.bare else high - low
    return report.shown(Decimal(value) if head.whole else value, width)


def range_text(bar: Bar, head: NumberHead) -> str:
    """Return a bar in words: ± 9, or 403 to 421; and whether a public bound cuts it."""
    value, low, high, mark = bar
    if head.bare:
        return "none"
    if low is None or high is None:
        return ""
    ends = f"{report.shown(low, high - low)} to {report.shown(high, high - low)}"
    if value is None or mark == NOTHING:
        return ends
    cuts = [report.shown(end) for end in (head.low, head.high) if end in (low, high) and low < high]
    return f"{ends}, cut at {' and '.join(cuts)}" if cuts else report.bar_text(value, low, high)


def _drawing(bar: Bar, head: NumberHead, axis: Axis) -> str:
    """Return the bar on the axis; its ends are open triangles where a public bound cuts it."""
    value, low, high, mark = bar
    silent = mark == NOTHING and not head.bare
    if value is None and not silent:
        return _svg(axis, "left out", "")
    inside = ""
    if low is not None and high is not None and not head.bare:
        inside += f'<path class="{"none" if silent else "line"}" d="M{axis.at(low)} {_MIDDLE:g}H{axis.at(high)}"/>'
    if not silent:
        inside += f'<circle class="value" cx="{axis.at(value)}" cy="{_MIDDLE:g}" r="3.5"/>'
        if low is not None and high is not None and low < high and not head.bare:
            inside += _triangle(axis.at(low), 5) if low == head.low else ""
            inside += _triangle(axis.at(high), -5) if high == head.high else ""
    words = [mark] if silent else [value_text(bar, head)]
    if low is not None and high is not None and not head.bare:
        words.append(f"from {report.shown(low, high - low)} to {report.shown(high, high - low)}")
    return _svg(axis, ", ".join(words), inside)


def _triangle(x: float, to: int) -> str:
    return f'<path class="cut" d="M{x} {_MIDDLE:g}l{to} -4v8z"/>'


def _svg(axis: Axis, label: str, inside: str) -> str:
    zero = _zero(axis)
    lines = f'<path class="grid" d="{_grid(axis)}"/>'
    lines += "" if zero is None else f'<path class="zero" d="M{zero} 0V{HEIGHT}"/>'
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg {size} role="img" aria-label="{escaped(label)}">{lines}{inside}</svg>'


def _grid(axis: Axis) -> str:
    return "".join(f"M{axis.at(tick)} 0V{HEIGHT}" for tick in axis.ticks)


def _zero(axis: Axis) -> float | None:
    return axis.at(0.0) if axis.low < 0 < axis.high else None


def _axis(axis: Axis) -> str:
    """Return the drawn axis, with its ticks and their labels."""
    ends = f"from {axis.labels[0]} to {axis.labels[-1]}"
    inside = f'<path class="axis" d="M{axis.at(axis.low)} 21.5H{axis.at(axis.high)}"/>'
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        inside += f'<path class="axis" d="M{axis.at(tick)} 17V22"/>'
        inside += f'<text x="{axis.at(tick)}" y="13" text-anchor="middle">{escaped(label)}</text>'
    return (
        f'<svg width="{WIDTH}" height="22" viewBox="0 0 {WIDTH} 22" role="img" aria-label="axis {ends}">{inside}</svg>'
    )


def as_rows(rows: Sequence[Mapping[str, Any]], keys: Sequence[str], statistics: Sequence[str]) -> list[Row]:
    """Return the rows of the JSON of an answer as those of a table."""
    return [
        (
            [row[name] for name in keys],
            [(*(row[name][end] for end in ("value", "low", "high")), row[name]["noise"]) for name in statistics],
        )
        for row in rows
    ]
