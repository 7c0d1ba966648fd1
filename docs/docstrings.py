"""Turn docstrings into Markdown: arguments become lists, indented text stays as it is written."""

from __future__ import annotations

import re
from textwrap import dedent

SECTIONS = ("Args:", "Attributes:", "Returns:", "Raises:", "Yields:")
ITEM = re.compile(r"^( {4})(\*{0,2}\w+(?:, \*{0,2}\w+)*):(?: |$)(.*)")
MARKS = re.compile(r"[*<>\\\[\]]|(?<!\w)_|_(?!\w)")
CODE = re.compile(r"(``.*?``|`.*?`)")


def markdown(text: str) -> str:
    """Return a docstring, as inspect.getdoc gives it, as Markdown."""
    parts = []
    for block in re.split(r"\n\s*\n(?=\S)", text.strip("\n")):
        lines = block.split("\n")
        if lines[0] in SECTIONS:
            parts.append(_section(lines))
        elif lines[0].startswith(">>>"):
            parts.append(f"```pycon\n{block.rstrip()}\n```")
        elif any(line.startswith((" ", "├", "│", "└")) for line in lines):
            parts.append(_mixed(lines))
        else:
            parts.append("\n".join(prose(line) for line in lines))
    return "\n\n".join(parts)


def prose(line: str) -> str:
    """Return a line of text with nothing in it that Markdown or HTML would take for markup, except code."""
    pieces = CODE.split(line)
    pieces[::2] = [MARKS.sub(r"\\\g<0>", each) for each in pieces[::2]]
    return "".join(pieces)


def _section(lines: list[str]) -> str:
    """Return a section of a docstring as a list of its items, or as text where it has none."""
    title, items = lines[0].removesuffix(":"), []
    for line in lines[1:]:
        found = ITEM.match(line)
        if found:
            items.append(f"- `{found[2]}`: {prose(found[3])}".rstrip())
        elif items:
            items.append(f"  {prose(line.strip())}")
        else:
            items.append(prose(line.strip()))
    return f"**{title}**\n\n" + "\n".join(items)


def _mixed(lines: list[str]) -> str:
    """Return text up to the first line that is laid out by hand, and the rest as it is."""
    laid_out = next(place for place, line in enumerate(lines) if line.startswith((" ", "├", "│", "└")))
    if lines[laid_out].startswith(("├", "│", "└")):
        laid_out = 0
    before = "\n".join(prose(line) for line in lines[:laid_out]).rstrip()
    rest = dedent("\n".join(lines[laid_out:])).rstrip()
    return "\n\n".join([*([before] if before else []), f"```text\n{rest}\n```"])
