"""The first page, tutorial, how-to and gallery show what is printed: each is run from top to bottom, in its own folder.

A block of output (```text, or a block without a language) right after a ```python block is compared with what that
block prints, line by line.  In the page … stands for any text, on a line or as a line of its own, so a number that is
noise is written as ….  Lines `$ lapwing …` that are followed by output are run as well.
"""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from lapwing.cli.main import main

ROOT = Path(__file__).parents[1]
PAGES = sorted(p for room in (".", "tutorial", "how-to", "gallery") for p in (ROOT / "docs" / room).glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$(\n\n?(?=```))?", re.DOTALL | re.MULTILINE)


def fits(shown, printed):
    """Say whether what was printed is what a page shows, in which … stands for anything."""
    rows, lines = ([" ".join(each.split()) for each in text.splitlines() if each.strip()] for text in (shown, printed))
    ends = {0}  # after how many printed lines the shown ones may end
    for row in rows:
        if row == "…" and ends:
            ends = set(range(min(ends), len(lines) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(lines) and fits_line(row, lines[end])}
    return len(lines) in ends


def fits_line(shown, printed):
    """Say the same of one line, by taking each piece between two … where it comes first."""
    first, *pieces = shown.split("…")
    if not pieces:
        return shown == printed
    *inner, last = pieces
    at = len(first)
    for piece in inner:
        found = printed.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return printed.startswith(first) and printed.endswith(last) and at + len(last) <= len(printed)


@pytest.mark.parametrize(
    ("shown", "printed", "good"),
    [
        ("a  1", "a 1\n", True),
        ("a 1", "a 2", False),
        ("a …\nb", "a 17\nb\n", True),
        ("a …\nb", "a 17\nc\nb", False),
        ("a\n…\nb", "a\n1\n2\nb", True),
        ("a", "a\nb", False),
        ("± …", "± 3", True),
        ("a … b … c", "a 1 b 2 b 3 c", True),
        ("ab…ba", "aba", False),
        ("…\na\n…", "b\nc", False),
        ("… x\n" * 60 + "y", "1 x\n" * 60 + "z", False),  # at once, too
    ],
)
def test_three_dots_stand_for_what_varies_and_for_nothing_else(shown, printed, good):
    assert fits(shown, printed) == good


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_the_pages_show_what_is_printed(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    names, printed = {}, None
    for language, text, next_to_it in (found.groups() for found in BLOCK.finditer(page.read_text())):
        if language == "python":
            capsys.readouterr()
            exec(compile(text, str(page), "exec"), names)
            printed = capsys.readouterr().out if next_to_it else None
            continue
        if language in ("", "text") and text.startswith("$ lapwing "):
            command, _, shown = text.partition("\n")
            if shown and not shown.startswith("$ ") and "--server" not in command:  # unit/server/test_terminal.py
                assert fits(shown, CliRunner().invoke(main, shlex.split(command)[2:]).output), command
        elif language in ("", "text") and printed is not None:
            assert fits(text, printed), f"{page.name} shows\n{text}and the program prints\n{printed}"
        printed = None
