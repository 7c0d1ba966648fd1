"""Texts that others wrote, in files that programs read: no formulas in CSV, no markup in Markdown or YAML."""

from __future__ import annotations

import json
import re
from typing import Any

from ..report import printable

_FORMULA = re.compile(r"""(?:\A|(?<=[;\t\r\n]))(?="*['=+\-@])|\A(?=[\t\r\n])""")
"""Where a spreadsheet that opens CSV may find a formula: at the beginning of a text, and where another separator ends a
cell within it.  What is in quotes is one cell only if the quotes begin a cell, so that they do not help."""

_NOT_IN_YAML = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufffe\uffff]")


def shielded(text: str) -> str:
    """Return a text that a spreadsheet shows as it is: an apostrophe stands before all that could be a formula.

    That is the text, or what follows a semicolon, a tab or a line break in it.  One stands before an apostrophe there,
    too, so that those in these places can be taken off again.
    """
    return _FORMULA.sub("'", text)


def code_span(text: str) -> str:
    """Return a text as code in Markdown, in which nothing is markup."""
    shown = printable(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    return f"{fence} {shown} {fence}" if "`" in shown else f"`{shown}`"


def markdown(text: str) -> str:
    """Return a text for Markdown: as it is, or as code if anything in it could be markup."""
    shown = printable(text)
    return code_span(shown) if re.search(r"[\\`*_<>\[\]$#|~&!{}@]|://|www\.", shown) else shown


def yaml_scalar(value: str | int | float | bool) -> str:
    """Return a value as YAML writes it; texts are quoted, on one line."""
    if not isinstance(value, str):
        return json.dumps(value)
    text = json.dumps(value, ensure_ascii=False)
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def json_text(value: Any) -> str:
    """Return JSON for a file, in ASCII: no control character and no mark of direction is in it as such."""
    return json.dumps(value, ensure_ascii=True, indent=1, allow_nan=False) + "\n"


def identifier(text: str, taken: set[str], *, letter: bool = False) -> str:
    """Return an identifier of SDMX that resembles a text, and is not taken; ``taken`` then has it.

    Identifiers of components begin with a letter.
    """
    plain = re.sub(r"[^A-Za-z0-9_\-]+" if not letter else r"[^A-Za-z0-9_]+", "_", text).strip("_")[:40]
    if not plain or (letter and not plain[0].isalpha()):
        plain = f"X_{plain}".rstrip("_")
    if letter:
        plain = plain.upper()
    found, number = plain, 1
    while found.upper() in taken:
        number += 1
        found = f"{plain}_{number}"
    taken.add(found.upper())
    return found
