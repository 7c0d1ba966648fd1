"""How answers and plans are shown: text for the terminal, lines of TOML, one self-contained HTML page.

Plain rows in, text out; every cell is escaped.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Container, Sequence
from datetime import date
from fractions import Fraction

from . import exact

Bar = tuple[float, float, float]
HtmlRow = tuple[Sequence[str], Sequence[Bar]]


def shown(value: object, width: float | None = None) -> str:
    """Return a cell as text; a float with the digits that are meaningful for an error bar of this width."""
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


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1b1b1b; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #ddd; text-align: right; vertical-align: middle; }
th { border-bottom: 2px solid #888; } th.key, td.key { text-align: left; }
.range { color: #555; font-size: .85em; white-space: nowrap; } .lapwing svg { vertical-align: middle; }
dl { display: grid; grid-template-columns: max-content auto; gap: .2rem 1rem; } dt { color: #555; } dd { margin: 0; }
pre { background: #f5f5f5; padding: .8rem; white-space: pre-wrap; font-size: .85em; }
""".strip()


def html_table(keys: Sequence[str], names: Sequence[str], rows: Sequence[HtmlRow]) -> str:
    """Return a table with an error bar drawn in every cell; a row is its keys and its (value, low, high)."""
    spans = [_span([row[1][i] for row in rows]) for i in range(len(names))]
    heads = "".join(f'<th class="key">{html.escape(key)}</th>' for key in keys)
    heads += "".join(f'<th>{html.escape(name)}</th><th class="range">error bar</th>' for name in names)
    lines = []
    for texts, numbers in rows:
        cells = "".join(f'<td class="key">{html.escape(text)}</td>' for text in texts)
        for (value, low, high), span in zip(numbers, spans, strict=True):
            width = (high - low) / 2
            ends = f"{shown(low, width)} to {shown(high, width)}"
            cells += f'<td>{shown(value, width)}</td><td class="range">{_bar(value, low, high, span)} {ends}</td>'
        lines.append(f"<tr>{cells}</tr>")
    return f'<table class="lapwing"><thead><tr>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table>'


def _span(numbers: Sequence[Bar]) -> tuple[float, float]:
    low, high = min((n[1] for n in numbers), default=0.0), max((n[2] for n in numbers), default=1.0)
    return (float(low), float(high)) if high > low else (float(low), float(low) + max(1.0, abs(low)))


def _bar(value: float, low: float, high: float, span: tuple[float, float]) -> str:
    """Return a small drawing of an error bar, on the scale that its column shares."""
    at = [4 + 112 * (float(each) - span[0]) / (span[1] - span[0]) for each in (low, value, high)]
    return (
        '<svg width="120" height="14" role="img" aria-label="error bar">'
        f'<line x1="{at[0]:.1f}" x2="{at[2]:.1f}" y1="7" y2="7" stroke="#4269d0" stroke-width="2"/>'
        f'<circle cx="{at[1]:.1f}" cy="7" r="3" fill="#4269d0"/></svg>'
    )


def html_page(title: str, facts: Sequence[tuple[str, str]], table: str, notes: Sequence[str], sql: str) -> str:
    """Return one page with a title, a list of facts, the table, notes and the SQL."""
    return html_document(
        title,
        f"{table}\n{html_lines(notes)}\n{html_facts(facts)}\n<details><summary>The SQL that the engine ran"
        f"</summary>\n<pre>{html.escape(sql)}</pre></details>",
    )


def html_lines(lines: Sequence[str]) -> str:
    """Return a paragraph with these lines."""
    return f"<p>{'<br>'.join(map(html.escape, lines))}</p>"


def html_facts(facts: Sequence[tuple[str, str]]) -> str:
    """Return a list of names and their values."""
    return f"<dl>{''.join(f'<dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd>' for key, value in facts)}</dl>"


def html_document(title: str, body: str) -> str:
    """Return one self-contained page."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>\n{_STYLE}\n</style></head>\n<body><h1>{html.escape(title)}</h1>\n{body}\n</body></html>\n"
    )
