"""Numbers as people read them: a value, its error bar, and the mark of its noise where it is not low."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from .. import report
from ..measure.measurement import Estimate
from .noise_marks import LOW, NOTHING, Marks

LEFT_OUT = "–"
"""What stands for a number that is left out."""


def text_columns(
    estimates: Mapping[str, Estimate],
    marks: Mapping[str, Marks],
    number: int,
    bare: Collection[str] = (),
    whole: Collection[str] = (),
) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the rows of the first numbers; ``bare`` names those that have no bars.

    Of these, those that ``whole`` names have all of their digits, because they add up.  The noise has a column only
    where not that of all numbers of a statistic is low.
    """
    heads: list[str] = []
    rows: list[list[str]] = [[] for _ in range(number)]
    for name, estimate in estimates.items():
        ends, found = [end.tolist() for end in estimate], marks[name][:number].tolist()
        marked = any(mark != LOW for mark in found) and name not in bare
        heads += [name, "error bar", *(["noise"] if marked else [])]
        for row, mark, value, low, high in zip(rows, found, *ends, strict=False):
            row += _cells(value, low, high, mark, name in bare, name in whole)
            row += [mark] if marked else []
    return heads, rows


def _cells(value: Any, low: Any, high: Any, mark: str, bare: bool, whole: bool) -> list[str]:
    """Return a value and its bar."""
    if bare:
        return [report.shown(Decimal(value) if whole else value), "none"]
    if low is None or high is None:
        return [NOTHING if mark == NOTHING else LEFT_OUT, "none" if mark == NOTHING else LEFT_OUT]
    if mark == NOTHING:
        return [NOTHING, f"{report.shown(low, high - low)} to {report.shown(high, high - low)}"]
    return [report.shown(value, high - low), report.bar_text(value, low, high)]
