"""Build the site from the Markdown pages of this repository into build/site; fail on any warning, dead link or load.

The pages stay as people read them in the repository: no directives, links to files.  A copy is laid out for Sphinx, in
which a room's README.md is its index page, the links on it are the navigation, and links follow the files.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from faults import faults

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

ROOMS = ("tutorial", "how-to", "gallery", "explanation", "reference", "decisions")
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages beside the folder docs that are part of the site."""

LINK = re.compile(r"(?P<code>`+).+?(?P=code)|(?P<before>\]\(|<img\b[^>]*?\ssrc=\")(?P<link>[^)\s\"]+)(?=[)\"])")
"""A link, a picture in Markdown or HTML, or code, in which nothing is a link."""

FENCE = re.compile(r"^\s*(```|~~~)")


class SiteError(Exception):
    """A page cannot be laid out as it is."""


@dataclass
class Layout:
    """Where each page of the repository is in the copy, and which other files the pages link to."""

    root: Path
    pages: dict[Path, Path]
    files: dict[Path, Path] = field(default_factory=dict)

    def place(self, target: Path) -> Path | None:
        """Return the place of a linked file in the copy; None if there is no such file."""
        if target.is_dir():
            target /= "README.md"
        if target == self.root / "README.md":
            return Path("index.md")
        if target in self.pages:
            return self.pages[target]
        if not target.is_file() or self.root not in target.parents:
            return None
        return self.files.setdefault(target, Path("files") / target.relative_to(self.root))


def main() -> int:
    """Build the site; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "site", help="the folder of the site")
    asked = parser.parse_args()
    copy = asked.to.with_name(asked.to.name + "-pages")
    try:
        lay_out(ROOT, copy)
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    shutil.rmtree(asked.to, ignore_errors=True)
    if build(copy, asked.to):
        return 1
    found = faults(asked.to)
    print("\n".join(found) or f"The site is in {os.path.relpath(asked.to)}: open index.html there.")
    return len(found) > 0


def build(copy: Path, site: Path) -> int:
    """Run Sphinx, for which every warning is an error; return its exit status."""
    doctrees = site.with_name(site.name + "-doctrees")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html", "-d", str(doctrees)]
    return subprocess.run([*command, "-c", str(HERE), str(copy), str(site)], check=False).returncode


def lay_out(root: Path, copy: Path) -> None:
    """Write the copy of all pages, with their links, and of the files that they link to."""
    shutil.rmtree(copy, ignore_errors=True)
    layout = Layout(root, dict(_pages(root)))
    for source, place in layout.pages.items():
        text = follow(source.read_text(), _mover(layout, source))
        if source.name == "README.md":
            text += _navigation(layout, source)
        (copy / place).parent.mkdir(parents=True, exist_ok=True)
        (copy / place).write_text(text)
    for source, place in layout.files.items():
        (copy / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy / place)


def _pages(root: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each page and its place in the copy."""
    docs = root / "docs"
    for page in (docs / "README.md", *(page for room in ROOMS for page in sorted((docs / room).glob("*.md")))):
        place = page.relative_to(docs)
        yield page, place.with_name("index.md") if page.name == "README.md" else place
    for name in BESIDE:
        yield root / name, Path(name)


def _mover(layout: Layout, source: Path) -> Callable[[str], str]:
    """Return what turns a link on this page into a link of the copy."""
    here = layout.pages[source].parent

    def move(link: str) -> str:
        path, mark, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return link
        place = layout.place(Path(os.path.normpath(source.parent / path)))
        if place is None:
            raise SiteError(f"{source.relative_to(layout.root)} links to {link}, and there is no such file")
        return Path(os.path.relpath(place, here)).as_posix() + mark + anchor

    return move


def follow(text: str, move: Callable[[str], str]) -> str:
    """Return a page with its links moved; blocks of code stay as they are."""
    lines, code = [], False
    for line in text.splitlines(keepends=True):
        if FENCE.match(line):
            code = not code
        elif not code:
            line = LINK.sub(lambda found: found[0] if found["code"] else found["before"] + move(found["link"]), line)
        lines.append(line)
    return "".join(lines)


def _navigation(layout: Layout, source: Path) -> str:
    """Return the hidden tables of contents of a room: the pages of its folder, in the order of the links to them."""
    if layout.pages[source] == Path("index.md"):
        rooms = [f"{room}/index" for room in ROOMS if (source.parent / room / "README.md").exists()]
        return _tree(rooms) + _tree([Path(name).stem for name in BESIDE])
    linked: dict[str, None] = {}
    follow(source.read_text(), lambda link: linked.setdefault(link.partition("#")[0], None) or link)
    return _tree([Path(link).stem for link in linked if (source.parent / link) in layout.pages and "/" not in link])


def _tree(names: list[str]) -> str:
    """Return one hidden table of contents."""
    return "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


if __name__ == "__main__":
    sys.exit(main())
