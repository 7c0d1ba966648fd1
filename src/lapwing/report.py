"""How answers and plans are shown as text: tables for the terminal, lines of TOML.  Plain rows in, text out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction

from . import exact


def shown(value: object, width: float | None = None) -> str:
    """Return a cell as text; a float with the digits that are meaningful for an error bar of this width.

    A decimal number is shown with all of its digits.
    """
    if isinstance(value, Decimal):
        return f"{value:,f}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return str(value)
    if not width or not math.isfinite(width):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    places = max(2 - math.ceil(math.log10(width)), 0)
    text = f"{value:,.{places}f}" if places < 20 else f"{value:.6g}"
    return text.removeprefix("-") if not text.strip("-0.,") else text  # -0 is 0


def bar_text(value: float, low: float, high: float) -> str:
    """Return "± 9" for a bar that is even on both sides, else "403 to 421"."""
    width = high - low
    if abs((high - value) - (value - low)) <= (1 if isinstance(value, int) else 0.02 * width):
        half = max(high - value, value - low)
        return f"± {shown(half, None if isinstance(half, int) else width)}"
    return f"{shown(low, width)} to {shown(high, width)}"


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Container[int]) -> str:
    """Return lines with aligned columns, those in ``left`` flush left and the others flush right."""
    lines = [[printable(cell) for cell in line] for line in (heads, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    return "\n".join(
        "  "
        + "   ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def printable(cell: str) -> str:
    """Return a text for one line of a terminal or a comment."""
    return "".join(c if c.isprintable() else "�" for c in cell)


def toml(value: str | int | bool | date | Fraction) -> str:
    """Return a value as TOML writes it; a fraction that is no decimal as a text."""
    if isinstance(value, Fraction):
        value = exact.text(value)
        return value if "/" not in value else f'"{value}"'
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else str(value)


def toml_name(name: str) -> str:
    """Return the name of a column as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)
