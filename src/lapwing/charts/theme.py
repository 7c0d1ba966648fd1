"""What charts look like, on a light and on a dark background: one place for fonts, sizes and colors.

The colors of groups are as far apart for people without red or green cones as for others, and stand out from the
background.  Charts name styles (``interval``, ``value``, …) and never colors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import InvalidParameter

FONT = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"

WIDTH = 460
"""The width of a panel, without its labels, in pixels."""

WIDTHS = 120, 4000
"""The least and the largest width that can be asked for."""


@dataclass(frozen=True)
class Theme:
    """The colors of charts on a background."""

    background: str
    text: str
    faint: str
    grid: str
    accent: str
    warning: str
    groups: tuple[str, ...]


THEMES = {
    "light": Theme(
        background="#ffffff",
        text="#1b1f24",
        faint="#57606a",
        grid="#e4e7eb",
        accent="#0065a3",
        warning="#b34700",
        groups=("#0065a3", "#c85200", "#222222", "#2f9e44"),
    ),
    "dark": Theme(
        background="#14181d",
        text="#eceff3",
        faint="#a3adb8",
        grid="#2c333b",
        accent="#56b4e9",
        warning="#f2a23c",
        groups=("#56b4e9", "#d55e00", "#ffffff", "#f0e442"),
    ),
}


def dressed(chart: Any, theme: str | None) -> Any:
    """Return a chart in a theme; with None it has no look of its own, and can be a part of another chart."""
    if theme is None:
        return chart
    if not isinstance(theme, str) or theme not in THEMES:
        raise InvalidParameter(theme, "theme", f"one of {', '.join(THEMES)}, or None")
    dressed = chart.copy(deep=False)
    dressed.config = configuration(THEMES[theme])
    return dressed


def checked_width(width: object) -> int:
    """Return the width of a panel in pixels."""
    if width is None:
        return WIDTH
    least, most = WIDTHS
    if not isinstance(width, int) or isinstance(width, bool) or not least <= width <= most:
        raise InvalidParameter(width, "width", f"a whole number of pixels from {least} to {most}")
    return width


def configuration(theme: Theme) -> dict[str, Any]:
    """Return the configuration of Vega-Lite for a theme."""
    words = {"labelColor": theme.text, "titleColor": theme.text, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": theme.background,
        "font": FONT,
        "padding": 16,
        "view": {"stroke": None},
        "mark": {"color": theme.accent},
        "rule": {"color": theme.accent},
        "tick": {"color": theme.accent},
        "text": {"color": theme.text},
        "title": {
            "anchor": "start", "frame": "group", "color": theme.text, "fontSize": 16, "fontWeight": 600, "offset": 14,
            "subtitleColor": theme.faint, "subtitleFontSize": 12, "subtitlePadding": 5, "subtitleLineHeight": 16,
        },
        "axis": {
            **words, "titleFontWeight": "normal", "titlePadding": 10, "labelLimit": 320, "labelLineHeight": 13,
            "domain": False, "ticks": False, "labelPadding": 8, "labelFlush": False, "grid": True,
            "gridColor": theme.grid,
        },
        "axisBand": {"grid": False},
        "header": {
            **words, "titleFontWeight": "normal", "labelFontWeight": 600, "labelLimit": 420, "labelLineHeight": 14,
        },
        "legend": {**words, "titleFontWeight": "normal", "labelLimit": 320, "symbolStrokeWidth": 2, "orient": "top",
                   "gradientLength": 160, "direction": "horizontal", "columns": 4},
        "range": {"category": list(theme.groups)},
        "style": _styles(theme),
    }  # fmt: skip


def _styles(theme: Theme) -> dict[str, Any]:
    """Return what the names of styles mean."""
    return {
        "interval": {"strokeWidth": 2.5, "strokeCap": "round", "opacity": 0.75},
        "open-interval": {"strokeWidth": 1.5, "strokeDash": [4, 3], "opacity": 0.75},
        "bound": {"thickness": 3, "opacity": 1},
        "value": {"size": 62, "opacity": 1},
        "noisy": {"size": 62, "strokeWidth": 2, "opacity": 1, "fill": theme.background},
        "length": {"opacity": 0.35},
        "share": {"opacity": 0.8},
        "band": {"opacity": 0.22},
        "curve": {"strokeWidth": 2.25},
        "zero": {"color": theme.faint, "strokeWidth": 1},
        "limit": {"color": theme.warning, "strokeWidth": 2, "strokeDash": [6, 4]},
        "limit-text": {"color": theme.warning, "fontSize": 12},
        "left": {"color": theme.accent, "opacity": 0.1},
        "note": {"color": theme.faint, "fontSize": 11, "fontStyle": "italic"},
        "amount": {"color": theme.text, "fontSize": 12},
        "chosen": {"color": theme.warning, "strokeWidth": 1.5, "strokeDash": [4, 3]},
        "chosen-point": {"color": theme.warning, "size": 80, "opacity": 1},
        "chosen-text": {"color": theme.warning, "fontSize": 12, "fontWeight": 600},
        "missing": {"color": theme.grid},
        "cap": {"color": theme.warning, "thickness": 3, "opacity": 1},
    }
