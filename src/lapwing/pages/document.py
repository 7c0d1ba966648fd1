"""Pieces of HTML: texts are escaped here, and nowhere else is text made into HTML.

A page stands alone: its policy allows no request to any host, and no script but the one that is written here.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence
from typing import Any, NewType

from .style import PAGE, STYLE

Html = NewType("Html", str)
"""Text that is HTML already."""


_KEPT = "\n\t\u200c\u200d"
"""Characters that have no picture and are kept: those that end lines, and those that join letters, as in Persian."""


def escaped(text: object) -> Html:
    """Return a text of others, such as a name or a label, as HTML; what cannot be shown is replaced."""
    plain = "".join(c if c.isprintable() or c in _KEPT else "�" for c in str(text))
    return Html(html.escape(plain))


def joined(pieces: Iterable[str], between: str = "\n") -> Html:
    """Return pieces of HTML one after the other."""
    return Html(between.join(pieces))


def paragraph(*lines: str, kind: str = "") -> Html:
    """Return a paragraph of these lines; nothing if there are none."""
    attribute = f' class="{kind}"' if kind else ""
    return Html(f"<p{attribute}>{'<br>'.join(map(escaped, lines))}</p>" if lines else "")


def facts(pairs: Sequence[tuple[str, str]]) -> Html:
    """Return a list of names and their values."""
    return Html(f"<dl>{''.join(f'<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>' for name, value in pairs)}</dl>")


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], left: Iterable[int] = (0,)) -> Html:
    """Return a table of texts; the columns in ``left`` are flush left, and the first names its row."""
    texts = set(left)
    kind = [' class="key"' if i in texts else "" for i in range(len(heads))]
    head = "".join(f'<th scope="col"{each}>{escaped(text)}</th>' for each, text in zip(kind, heads, strict=True))
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td{each}>{_cell(cell)}</td>" for each, cell in zip(kind[1:], others, strict=True))
        lines.append(f'<tr><th scope="row"{kind[0]}>{_cell(first)}</th>{cells}</tr>')
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return scrolling(Html(f"<table><caption><span>{escaped(caption)}</span></caption>{body}</table>"), caption)


class Ready(str):
    """A cell that is HTML already."""

    __slots__ = ()


def _cell(text: str) -> str:
    return text if isinstance(text, Ready) else escaped(text)


def scrolling(inner: Html, label: str) -> Html:
    """Return what may be wider than the page, in a box that scrolls, also by keys."""
    return Html(f'<div class="scroll" role="region" tabindex="0" aria-label="{escaped(label)}">{inner}</div>')


def details(summary: str, text: str) -> Html:
    """Return a text, such as SQL, that opens on a click."""
    return Html(f"<details><summary>{escaped(summary)}</summary><pre>{escaped(text)}</pre></details>")


def section(title: str, *pieces: str) -> Html:
    """Return a part of a page, under its title."""
    return Html(f"<section><h2>{escaped(title)}</h2>\n{joined(pieces)}\n</section>")


def data(identifier: str, value: Any) -> Html:
    """Return JSON inside a page, in which no text can end the script."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace").decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{identifier}">{text}</script>')


def cell(*pieces: str) -> Html:
    """Return what a notebook shows; its style is for what is inside only."""
    return Html(f'<div class="lapwing cell"><style>{STYLE}</style>\n{joined(pieces)}\n</div>')


def document(title: str, *pieces: str, script: str = "") -> str:
    """Return one self-contained page; ``script`` is Lapwing's own, and no other runs."""
    style = f"{STYLE}\n{PAGE}"
    policy = f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'"
    policy += f"; script-src '{_digest(script)}'" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" '
        'content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escaped(title)}</title><style>{style}</style></head>\n"
        f'<body><main class="lapwing page">\n{joined(each for each in pieces if each)}\n</main>'
        f"{f'<script>{script}</script>' if script else ''}</body></html>\n"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
