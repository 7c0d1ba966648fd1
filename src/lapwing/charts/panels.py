"""Which chart fits the keys, and several statistics below each other, each on an axis of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InvalidParameter, InvalidRequest
from ..optional import library
from .heat import heat_map
from .lines import lines
from .numbers import Numbers
from .points import points
from .theme import checked_width, dressed
from .wording import harmless, title_lines

KINDS = "points", "bars", "lines", "heatmap"

_LINE = 4
"""How many places a line has at least, unless it is asked for."""


def altair() -> Any:
    """Return Altair, or say how to install it."""
    return library("altair", "plot")


def chart_of(
    shown: Sequence[Numbers],
    kind: str | None,
    theme: str | None,
    width: int | None,
    title: str,
    about: Sequence[str],
) -> Any:
    """Return a chart of statistics, a panel for each; the title and what is said about all are for several of them."""
    if kind is not None and kind not in KINDS:
        raise InvalidParameter(kind, "kind", f"one of {', '.join(KINDS)}")
    made, wide = altair(), checked_width(width)
    if len(shown) == 1:
        return dressed(panel(made, shown[0], kind, wide), theme)
    panels = [panel(made, each, kind, wide) for each in shown]
    lines = [line for each in about for line in title_lines(each)]
    whole = made.vconcat(*panels, spacing=36).resolve_scale(color="independent", shape="independent")
    heading = made.TitleParams(text=title_lines(title), subtitle=lines, fontSize=19)
    return dressed(whole.properties(title=heading, description=harmless("  ".join([title, *about]))), theme)


def panel(altair: Any, numbers: Numbers, kind: str | None, width: int) -> Any:
    """Return the chart of one statistic, of the kind that was asked for, or of the one that fits its keys."""
    along = _along(numbers)
    if kind == "heatmap":
        return heat_map(altair, numbers, width)
    if kind == "lines" or (kind is None and along is not None and _follows(numbers, along)):
        if along is None and not numbers.keys:
            raise InvalidRequest("A line needs a key to go along, and there is none", 'Leave out kind="lines".')
        return lines(altair, numbers, len(numbers.keys) - 1 if along is None else along, width)
    return points(altair, numbers, width, bars=kind == "bars")


def _along(numbers: Numbers) -> int | None:
    """Return the key along which a line would go: of those that follow one another the one with most values."""
    ordered = [j for j, key in enumerate(numbers.keys) if key.ordered]
    return max(ordered, key=lambda j: (numbers.keys[j].dates, len(set(numbers.keys[j].at)), j), default=None)


def _follows(numbers: Numbers, along: int) -> bool:
    """Return whether a line fits: there are enough places, and no groups were left out or put in another order."""
    key = numbers.keys[along]
    return numbers.whole and (len(key.texts) >= _LINE or (key.positions is not None and not key.dates))
