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
    lines = [re.escape(line.strip()).replace("…", ".*") for line in shown.strip().splitlines()]
    whole = r"\s*".join(f"(?s:{line})" if line == ".*" else line for line in lines)
    return re.fullmatch(re.sub(r"(\\ )+", r"\\s+", whole), printed.strip()) is not None


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
