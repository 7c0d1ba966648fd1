"""The chart of a ledger: what was spent over time, below the total; and what each analyst spent of a cap."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .. import exact
from ..charts.panels import altair as drawing
from ..charts.theme import checked_width, dressed
from ..charts.wording import distinct, harmless, label, title_lines
from .entry import Budget, Entry

_HEIGHT = 230
_SHORT = timedelta(minutes=2)
"""Entries that were all made in less time are drawn by their numbers."""

_MOST = 2000
"""How many entries are drawn one by one."""


class BudgetChart:
    """The part of a ledger that draws it."""

    where: str

    if TYPE_CHECKING:

        def entries(self, *, answers: bool = False) -> list[Entry]: ...
        def analysts(self) -> list[Budget]: ...

    def plot(self, *, theme: str | None = "light", width: int | None = None) -> Any:
        """Return an Altair chart of the budget over time: spent, total, what is left, and the caps of analysts."""
        return ledger_chart(self.entries(), self.analysts(), theme, width)


def ledger_chart(entries: Sequence[Entry], analysts: Sequence[Budget], theme: str | None, width: int | None) -> Any:
    """Return the charts of a ledger below each other: ε, δ if there is any, and the analysts."""
    altair, wide = drawing(), checked_width(width)
    panels = [_over_time(altair, "ε", _steps(entries, "epsilon"), wide)]
    if any(entry.delta for entry in entries):
        panels.append(_over_time(altair, "δ", _steps(entries, "delta"), wide))
    if analysts:
        panels.append(_caps(altair, analysts, wide))
    spent = entries[-1].spent
    total = next(entry.epsilon for entry in reversed(entries) if entry.kind in ("open", "total")) or Fraction(0)
    left = max(total - spent, Fraction(0))
    charges = sum(entry.kind == "charge" for entry in entries)
    about = (
        f"Of ε = {exact.text(total)}, {exact.text(spent)} is spent in {_many(charges)}, and {exact.text(left)} is left."
    )
    heading = altair.TitleParams(text="Budget over time", subtitle=title_lines(about), fontSize=19)
    chart = altair.vconcat(*panels, spacing=32).properties(title=heading, description=harmless(about))
    return dressed(chart, theme)


def _many(charges: int) -> str:
    return "1 charge" if charges == 1 else f"{charges:,} charges"


def _steps(entries: Sequence[Entry], which: str) -> list[dict[str, Any]]:
    """Return the amounts after each entry that changes one of them; a chart of very many leaves out some."""
    total, spent, found = Fraction(0), Fraction(0), []
    for entry in entries:
        if entry.kind not in ("open", "total", "charge"):
            continue
        amount = getattr(entry, which) or Fraction(0)
        total, spent = (total, spent + amount) if entry.kind == "charge" else (amount, spent)
        found.append({"time": entry.time, "entry": entry.number, "spent": float(spent), "total": float(total)})
        found[-1] |= {"amount": float(amount) if entry.kind == "charge" else None}
    every = -(-len(found) // _MOST)
    return [row for i, row in enumerate(found) if i % every == 0 or i == len(found) - 1]


def _over_time(altair: Any, letter: str, rows: list[dict[str, Any]], width: int) -> Any:
    first, last = (datetime.fromisoformat(rows[i]["time"]) for i in (0, -1))
    timed = last - first >= _SHORT
    end = {**rows[-1], "amount": None, "time": (last + max((last - first) / 25, _SHORT)).isoformat()}
    end["entry"] = rows[-1]["entry"] + max((rows[-1]["entry"] - rows[0]["entry"]) / 25, 0.5)
    x = (
        altair.X("time:T", title="time (UTC)", scale=altair.Scale(type="utc", nice=False), axis=altair.Axis(grid=False))
        if timed
        else altair.X("entry:Q", title="entry", scale=altair.Scale(zero=False, nice=False), axis=_whole(altair))
    )
    tips = [altair.Tooltip("entry:Q"), altair.Tooltip("time:N"), altair.Tooltip("amount:Q", title=f"charged {letter}")]
    tips += [altair.Tooltip("spent:Q"), altair.Tooltip("total:Q")]
    data = altair.InlineData(values=[*rows, end])
    y = altair.Y("spent:Q", title=letter, scale=altair.Scale(zero=True), stack=False)  # two entries of one second
    base = altair.Chart().encode(x=x)
    layers = [
        base.mark_area(style="left", interpolate="step-after").encode(y=y, y2="total:Q"),
        base.mark_area(style="band", interpolate="step-after").encode(y=y),
        base.mark_line(style="curve", interpolate="step-after").encode(y=y),
        base.mark_line(style="limit", interpolate="step-after").encode(y=altair.Y("total:Q", title=letter)),
    ]
    charges = [row for row in rows if row["amount"] is not None]
    if 0 < len(charges) <= 200:
        dots = altair.Chart(altair.InlineData(values=charges)).mark_point(style="value", filled=True, size=30)
        layers.append(dots.encode(x=x, y=y, tooltip=tips))
    layers += _ends(altair, letter, rows, end, x)
    title = altair.TitleParams(text=f"{letter} spent" if letter == "ε" else f"{letter} spent, likewise", fontSize=14)
    return altair.layer(*layers, data=data).properties(width=width, height=_HEIGHT, title=title)


def _ends(altair: Any, letter: str, rows: Sequence[dict[str, Any]], end: dict[str, Any], x: Any) -> list[Any]:
    """Return the words at the end of the lines: the total, what is spent, and what is left between them."""
    spent, total = rows[-1]["spent"], rows[-1]["total"]
    left = max(total - spent, 0.0)
    words = [("limit-text", total, f"total {total:.6g}"), ("amount", spent, f"spent {spent:.6g}")]
    apart = left > 0.12 * max(max(row["total"] for row in rows), spent, 1e-300)
    if apart:
        words.append(("note", (spent + total) / 2, f"left {left:.6g}"))
    else:
        words = [("limit-text", max(total, spent), f"total {total:.6g}, left {left:.6g}")]
    return [
        altair.Chart(altair.InlineData(values=[{**end, "at": at, "text": text}]))
        .mark_text(style=style, align="left", dx=6)
        .encode(x=x, y=altair.Y("at:Q", title=letter), text="text:N")
        for style, at, text in words
    ]


def _whole(altair: Any) -> Any:
    return altair.Axis(format="d", tickMinStep=1, grid=False)


def _caps(altair: Any, analysts: Sequence[Budget], width: int) -> Any:
    """Return what each analyst spent, with a mark at the cap."""
    names = distinct([label(str(each.analyst)) for each in analysts])
    rows = [
        {
            "analyst": name, "spent": float(each.spent), "cap": float(each.total),
            "text": f"{exact.text(each.spent)} of {exact.text(each.total)}, left {exact.text(each.remaining)}",
            "end": float(max(each.spent, each.total)),
        }
        for name, each in zip(names, analysts, strict=True)
    ]  # fmt: skip
    axis = altair.Axis(labelExpr="split(datum.label, '\\n')")
    base = altair.Chart(altair.InlineData(values=rows)).encode(
        y=altair.Y("analyst:N", sort=names, title=None, axis=axis)
    )
    layers = [
        base.mark_bar(style="share").encode(x=altair.X("spent:Q", title="ε", scale=altair.Scale(zero=True))),
        base.mark_tick(style="cap", size=18).encode(x=altair.X("cap:Q", title="ε")),
        base.mark_text(style="amount", align="left", dx=8).encode(x=altair.X("end:Q", title="ε"), text="text:N"),
    ]
    height = altair.Step(26 + 13 * max(name.count("\n") for name in names))
    title = altair.TitleParams(text="Analysts: spent, and the cap", fontSize=14)
    return altair.layer(*layers).properties(width=width, height=height, title=title)
