"""Charts of a plan: the error to expect against ε and against the number of rows, and how ε is split."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .. import exact
from ..charts.panels import altair as drawing
from ..charts.theme import checked_width, dressed
from ..charts.wording import axis_title, distinct, harmless, label, title_lines
from ..errors import UselessParameter
from ..exact import NANO
from ..measure.measurement import rows_assumed
from .naming import about_statistic, axis

if TYPE_CHECKING:
    from .plan import Forecast, Plan

_STEPS, _STEPS_OF_TABLES = 32, 8
"""How many points a curve has, and how many if several tables are asked, whose margins take longer."""

_SPAN = 100
"""How far a curve goes from what was chosen, to each side."""

_HEIGHT = 170
_SHOWN_TABLES = 40
"""How many measured tables are listed."""

MOST_ROWS = 10**15


def plan_chart(plan: Plan, theme: str | None, width: int | None) -> Any:
    """Return the charts of a plan, below each other: a row for each statistic, and one for the split of ε."""
    altair, wide = drawing(), checked_width(width) * 3 // 4
    noisy = [each for each in plan.forecasts if each.scale > 0]
    if not noisy:
        raise UselessParameter("A chart", "nothing here gets noise: the number of rows is public", "Leave it out.")
    rows, assumed = [], ""
    for forecast in noisy:
        panels = [_against_epsilon(altair, plan, forecast, wide)]
        if _depends_on_rows(plan, forecast):
            panels.append(_against_rows(altair, plan, forecast, wide))
            assumed = f"If there are {rows_assumed(plan.setting(plan.parts[0]))}."
        rows.append(altair.hconcat(*panels, spacing=40))
    rows += [each for each in (_split(altair, plan, wide), _tables(altair, plan, wide)) if each is not None]
    title = f"Plan for {plan.schema.name}"
    about = [f"{_percent(plan)} error bars, ε = {exact.text(plan.epsilon)}.  No data was read.", assumed]
    lines = [line for each in about if each for line in title_lines(each)]
    heading = altair.TitleParams(text=title_lines(title), subtitle=lines, fontSize=19)
    told = harmless(f"{title}: error bars to expect against ε.  {'  '.join(_told(each) for each in noisy)}")
    return dressed(altair.vconcat(*rows, spacing=32).properties(title=heading, description=told), theme)


def _percent(plan: Plan) -> str:
    return f"{exact.text(100 * plan.confidence)} %"


def _told(forecast: Forecast) -> str:
    return f"{forecast.statistic.name}: {forecast.bar_text(forecast.margin)}."


def _against_epsilon(altair: Any, plan: Plan, forecast: Forecast, width: int) -> Any:
    def margin(epsilon: float) -> float:
        times = Fraction(max(round(epsilon * NANO), 1), NANO) / plan.epsilon
        parts = tuple(replace(part, epsilon=part.epsilon * times) for part in plan.parts)
        return _margin(replace(plan, epsilon=plan.epsilon * times, parts=parts), forecast)

    at = float(plan.epsilon)
    places = _around(at, 1e-6, float(exact.MAX_EPSILON), _steps(plan))
    title = f"{forecast.statistic.name}: error against ε"
    return _curve(
        altair, forecast, margin, places, at, ("ε", f"ε = {exact.text(plan.epsilon)}", title), _y(plan, forecast), width
    )


def _against_rows(altair: Any, plan: Plan, forecast: Forecast, width: int) -> Any:
    def margin(rows: float) -> float:
        return _margin(replace(plan, rows=max(round(rows), 1)), forecast)

    places = sorted({float(max(round(each), 1)) for each in _around(plan.rows, 1, MOST_ROWS, _steps(plan))})
    title = f"{forecast.statistic.name}: error against the number of rows"
    where = "rows in a group" if plan.query.by else "rows"
    words = where, f"{plan.rows:,} rows", title
    return _curve(altair, forecast, margin, places, float(plan.rows), words, _y(plan, forecast), width)


def _depends_on_rows(plan: Plan, forecast: Forecast) -> bool:
    """Return whether more rows make a smaller error bar."""
    if not math.isfinite(forecast.margin):
        return True
    more = _margin(replace(plan, rows=min(100 * plan.rows, MOST_ROWS)), forecast)
    return not math.isclose(more, forecast.margin, rel_tol=1e-6)


def _margin(plan: Plan, forecast: Forecast) -> float:
    return plan.margin(forecast.statistic, *plan.each_confidence(plan.confidence, False))


def _steps(plan: Plan) -> int:
    return _STEPS if plan.several is None else _STEPS_OF_TABLES


def _around(chosen: float, least: float, most: float, steps: int) -> list[float]:
    """Return numbers around one, evenly on a logarithmic axis, and that one itself."""
    low, high = max(chosen / _SPAN, least), min(chosen * _SPAN, most)
    found = [low * (high / low) ** (i / steps) for i in range(steps + 1)]
    return sorted({*found, chosen})


def _y(plan: Plan, forecast: Forecast) -> str:
    statistic = forecast.statistic
    if statistic.level is not None:
        return "error bar, ± rows" if statistic.weight is None else "error bar, ± weight"
    unit = about_statistic(plan, statistic).get("unit")
    return axis("error bar, ±", {} if unit is None else {"unit": unit}, titled=False)


def _curve(
    altair: Any,
    forecast: Forecast,
    margin: Callable[[float], float],
    places: Sequence[float],
    chosen: float,
    words: tuple[str, str, str],
    along: str,
    width: int,
) -> Any:
    """Return an error against something, on logarithmic axes, with what was chosen marked."""
    below, marked, title = words
    found = [(place, margin(place)) for place in places]
    rows = [{"x": x, "error": y if 0 < y < forecast.most and math.isfinite(y) else None} for x, y in found]
    here = {"x": chosen, "error": None, "text": f"{marked}: {forecast.bar_text(forecast.margin)}"}
    if any(row["x"] == chosen and row["error"] is not None for row in rows):
        here["error"] = forecast.margin
    ups = _log_axis(altair, [row["error"] for row in rows])
    x = altair.X("x:Q", title=below, scale=altair.Scale(type="log", nice=False), axis=_log_axis(altair, places))
    y = altair.Y("error:Q", title=axis_title(along), scale=altair.Scale(type="log"), axis=ups)
    tips = [altair.Tooltip("x:Q", title=below, format=",.4~g"), altair.Tooltip("error:Q", title="±", format=",.4~g")]
    curve = altair.Chart(altair.InlineData(values=rows)).mark_line(style="curve").encode(x=x, y=y, tooltip=tips)
    one = altair.Chart(altair.InlineData(values=[here]))
    layers = [curve, one.mark_rule(style="chosen").encode(x=x)]
    if here["error"] is not None:
        layers.append(one.mark_point(style="chosen-point", filled=True).encode(x=x, y=y, tooltip=tips))
    words_at = one.mark_text(style="chosen-text", align="left", dx=7, baseline="top", y=4)
    layers.append(words_at.encode(x=x, text="text:N"))
    ends = any(row["error"] is None for row in rows)
    heading = altair.TitleParams(
        text=title_lines(title)[:1], fontSize=14, **({"subtitle": [_why(forecast, found)]} if ends else {})
    )
    return altair.layer(*layers).properties(width=width, height=_HEIGHT, title=heading)


def _why(forecast: Forecast, found: Sequence[tuple[float, float]]) -> str:
    if any(margin >= forecast.most for _, margin in found):
        return "Where the line ends, the bar would span all that is possible."
    return "Where the line ends, the error bar is ± 0."


def _log_axis(altair: Any, values: Sequence[float | None]) -> Any:
    """Return an axis with a line for each power of ten, or for some of them if they are many."""
    there = [math.log10(value) for value in values if value]
    first, last = math.floor(min(there, default=0) - 1e-9), math.ceil(max(there, default=1) + 1e-9)
    every = -(-(last - first) // 8)
    return altair.Axis(format=",~g", values=[10.0**k for k in range(first, last + 1, every)], labelOverlap="greedy")


def _split(altair: Any, plan: Plan, width: int) -> Any:
    """Return the share of ε of each measurement, if there are several."""
    if len(plan.parts) < 2:
        return None
    names = distinct([label(part.measurement.name) for part in plan.parts])
    return _shares(altair, "Share of ε of each measurement", names, [part.epsilon for part in plan.parts], width)


def _tables(altair: Any, plan: Plan, width: int) -> Any:
    """Return the share of ε of each measured table, the largest first, if there are several."""
    several = plan.several
    if several is None or len(several.strategy.measured) < 2:
        return None
    pairs = sorted(zip(several.strategy.shares, several.strategy.measured, strict=True), key=lambda each: -each[0])
    title = "Share of ε of each measured table"
    if len(pairs) > _SHOWN_TABLES:
        title = f"Share of ε of the {_SHOWN_TABLES} measured tables that get most, of {len(pairs):,}"
    shown = pairs[:_SHOWN_TABLES]
    names = distinct([label(several.title(table)) for _, table in shown])
    return _shares(altair, title, names, [plan.epsilon * Fraction(share) for share, _ in shown], width)


def _shares(altair: Any, title: str, names: Sequence[str], amounts: Sequence[Fraction], width: int) -> Any:
    rows = [
        {"name": name, "epsilon": float(amount), "text": f"{float(amount):.4g}"}
        for name, amount in zip(names, amounts, strict=True)
    ]
    base = altair.Chart(altair.InlineData(values=rows)).encode(
        x=altair.X("epsilon:Q", title="ε", scale=altair.Scale(zero=True)),
        y=altair.Y("name:N", sort=list(names), title=None, axis=altair.Axis(labelExpr="split(datum.label, '\\n')")),
    )
    bars = base.mark_bar(style="share") + base.mark_text(style="amount", align="left", dx=5).encode(text="text:N")
    height = altair.Step(22 + 13 * max(name.count("\n") for name in names))
    return bars.properties(width=width, height=height, title=altair.TitleParams(text=title, fontSize=14))
