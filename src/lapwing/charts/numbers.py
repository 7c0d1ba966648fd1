"""What a chart of numbers shows: the numbers with their error bars, their keys, and what is said about them.

It has released numbers and public words alone, and no look.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .wording import distinct, harmless, label, title_lines

BREAK, FLAT = "split(datum.label, '\\n')", "replace(datum.label, /\\n/g, ' ')"
"""How an axis shows a label of several lines: as they are, or as one."""

ROWS = 300
"""How many groups are drawn at most, each on a line of its own."""


@dataclass(frozen=True)
class ChartKey:
    """A key of the groups: all of its values as texts in their public order, and which of them each group has.

    ``positions`` are numbers or days where an axis can show them as such; ``ordered`` keys follow one another.
    """

    title: str
    texts: tuple[str, ...]
    at: tuple[int, ...]
    ordered: bool = False
    positions: tuple[float | str, ...] | None = None

    @property
    def names(self) -> list[str]:
        """A distinct label for each value, as the rows have it."""
        return distinct([label(text) for text in self.texts])

    @property
    def used(self) -> list[str]:
        """The labels of the values that occur, in their public order."""
        there = set(self.at)
        return [name for i, name in enumerate(self.names) if i in there]

    @property
    def dates(self) -> bool:
        """Whether the positions are days."""
        return self.positions is not None and isinstance(self.positions[0], str)


@dataclass(frozen=True)
class Drawn:
    """One number: its error bar if it has one, whether it can be used, and whether the bar ends at a bound."""

    value: float | None
    low: float | None
    high: float | None
    usable: bool = True
    informs: bool = True
    missing: str = "no number"
    low_bound: bool = False
    high_bound: bool = False
    noise: str = ""

    @property
    def half(self) -> float | None:
        """Half of the width of the error bar."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True)
class Numbers:
    """A statistic, group by group; ``along`` is the title of its axis, and ``zero`` says that its axis begins at 0."""

    title: str
    about: tuple[str, ...]
    along: str
    keys: tuple[ChartKey, ...]
    drawn: tuple[Drawn, ...]
    zero: bool = True
    whole: bool = True
    """Whether all groups are there, and not a cut of them."""

    def only(self, groups: Sequence[int], *notes: str) -> Numbers:
        """Return some of the groups, in this order, and say so."""
        return replace(
            self,
            about=(*self.about, *notes),
            keys=tuple(replace(key, at=tuple(key.at[i] for i in groups)) for key in self.keys),
            drawn=tuple(self.drawn[i] for i in groups),
            whole=False,
        )

    def largest(self, most: int = ROWS) -> Numbers:
        """Return the largest numbers alone if there are too many to draw, and say so."""
        if len(self.drawn) <= most:
            return self
        order = sorted(range(len(self.drawn)), key=lambda i: _down(self.drawn[i].value))
        note = f"The {most:,} largest of {len(self.drawn):,} groups, the largest first."
        return self.only(order[:most], note)

    def heading(self, altair: Any, *notes: str) -> Any:
        """Return the title of a chart, with what is said about it below."""
        lines = [line for note in (*self.about, *notes) for line in title_lines(note)]
        return altair.TitleParams(text=title_lines(self.title), **({"subtitle": lines} if lines else {}))

    def hollow(self, nothing: str = "; dashed: no information") -> list[str]:
        """Say what hollow points are, if there are any; ``nothing`` is said about numbers without information."""
        noisy = [each for each in self.drawn if each.value is not None and not each.usable]
        dashed = "" if all(each.informs for each in noisy) else nothing
        return [f"Hollow: the noise is high{dashed}."] if noisy else []

    def stopped(self) -> list[str]:
        """Say what the stops of bars are, if there are any."""
        stops = any(each.low_bound or each.high_bound for each in self.drawn)
        return ["A bar with a stop ends at a bound of what is possible."] if stops else []

    def lines(self) -> list[str]:
        """Return a distinct label for each group."""
        texts = zip(*([key.texts[i] for i in key.at] for key in self.keys), strict=True)
        return distinct([label(", ".join(each)) for each in texts]) if self.keys else [label("all")] * len(self.drawn)

    def rows(self) -> list[dict[str, Any]]:
        """Return the data of a chart: a dict for each group, with plain names whatever the keys are called."""
        named = [key.names for key in self.keys]
        found = []
        for i, (each, line) in enumerate(zip(self.drawn, self.lines(), strict=True)):
            row: dict[str, Any] = {"group": line, "value": each.value, "low": each.low, "high": each.high}
            row |= {f"k{j}": texts[key.at[i]] for j, (key, texts) in enumerate(zip(self.keys, named, strict=True))}
            row |= {"half": each.half, "usable": each.usable, "informs": each.informs, "noise": each.noise}
            row |= {"low_bound": each.low_bound, "high_bound": each.high_bound}
            if each.value is None:
                row["missing"] = each.missing
            found.append(row)
        return found

    def tooltips(self, altair: Any) -> list[Any]:
        """Return what is shown when a number is pointed at."""
        titles = distinct([_told_apart(harmless(key.title)) for key in self.keys])
        keys = [altair.Tooltip(field=f"k{j}", type="nominal", title=title) for j, title in enumerate(titles)]
        ends = [altair.Tooltip(field=each, type="quantitative", format=",") for each in ("value", "low", "high")]
        marks = {each.noise for each in self.drawn} - {""}
        return [*keys, *ends, *([altair.Tooltip(field="noise", type="nominal")] if marks else [])]

    def told(self) -> str:
        """Say what the chart shows, for those who do not see it."""
        values = [each.value for each in self.drawn if each.value is not None]
        by = f" by {' and '.join(key.title for key in self.keys)}" if self.keys else ""
        groups = "1 number" if len(self.drawn) == 1 else f"{len(self.drawn):,} numbers"
        ends = f", from {_short(min(values))} to {_short(max(values))}" if values else ""
        return harmless(f"{self.title}{by}: {groups}{ends}.  {'  '.join(self.about)}")

    def domain(self) -> list[float] | None:
        """Return the ends of the axis if some bars span all that is possible and others do not; else none is needed."""
        if all(each.informs for each in self.drawn) or not any(each.informs for each in self.drawn):
            return None
        ends = [e for each in self.drawn if each.informs for e in (each.value, each.low, each.high) if e is not None]
        low, high = min(ends, default=0.0), max(ends, default=0.0)
        low, high = (min(low, 0.0), max(high, 0.0)) if self.zero else (low, high)
        return [low, high] if high > low else None


def _down(value: float | None) -> float:
    return math.inf if value is None else -value


def _short(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _told_apart(title: str) -> str:
    """Return the title of a key in a tooltip, which is none of those that mean something else there.

    Vega's tooltips have one line for each title, and show an image for one that is called so.
    """
    return f"{title}\u200b" if title in ("image", "title", "value", "low", "high", "noise") else title
