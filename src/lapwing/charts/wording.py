"""Texts in charts: names and labels that someone else wrote, made harmless, distinct and short enough to read."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

LINE = 40
"""How many characters of a label are on one line."""

_LINES = 3
"""How many lines a label has at most."""

_TITLE_LINE = 76

_NOT_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]+")
"""What XML cannot hold, or what would start a new line."""

_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Marks that change the direction of all text after them."""


def harmless(text: str) -> str:
    """Return a text that SVG can hold, that stays on one line, and that cannot end the script of a page.

    Altair writes charts into a script, and does not escape them.
    """
    return re.sub(r"<(?=[/!])", "<\u200b", _TURNING.sub("", _NOT_TEXT.sub(" ", text)))


def label(text: str) -> str:
    """Return a harmless label with line breaks; a very long one is cut, and ends with three dots."""
    lines = textwrap.wrap(harmless(text), LINE, max_lines=_LINES, placeholder=" …", break_on_hyphens=False)
    return "\n".join(lines) or " "


def title_lines(text: str) -> list[str]:
    """Return a title as lines that fit above a chart."""
    return textwrap.wrap(harmless(text), _TITLE_LINE, max_lines=_LINES, placeholder=" …") or [" "]


def axis_title(text: str) -> str | list[str]:
    """Return the title of an axis or a legend, of several lines if it is long."""
    lines = textwrap.wrap(harmless(text), LINE, max_lines=_LINES, placeholder=" …") or [" "]
    return lines if len(lines) > 1 else lines[0]


def distinct(texts: Sequence[str]) -> list[str]:
    """Return the texts, with a number after those that occur again: equal labels would share a line of the chart."""
    found: dict[str, None] = {}
    times: dict[str, int] = {}
    for text in texts:
        one = text
        while one in found:
            times[text] = times.get(text, 1) + 1
            one = f"{text} #{times[text]}"
        found[one] = None
    return list(found)
