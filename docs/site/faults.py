"""Look for what is wrong with a built site: dead links, loads from other hosts, no index to search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {
    "audio": "src",
    "base": "href",
    "embed": "src",
    "form": "action",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "input": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "track": "src",
    "use": "href",
    "video": "src",
}
"""The elements whose attribute a browser loads, or sends something to."""

STYLE = re.compile(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)")
COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*?$", re.DOTALL | re.MULTILINE)
ADDRESS = re.compile(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}[^\s\"'`)]*")
NAMES = ("http://www.w3.org/",)
"""Names that look like addresses and are never loaded: those of SVG, MathML and XHTML."""


class Page(HTMLParser):
    """What a page loads, links to and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.styles: list[str] = []
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag in ("a", "area") and "href" in given:
            self.links.append(given["href"])
        for name in ("href", "xlink:href") if LOADS.get(tag) == "href" else (LOADS.get(tag, ""),):
            if given.get(name):
                self.loads.append(given[name])
        self.loads += [each.split()[0] for each in given.get("srcset", "").split(",") if each.strip()]
        self.styles.append(given.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.styles.append(data)
        elif self._inside == "script":
            self.scripts.append(data)


def faults(site: Path) -> list[str]:
    """Return a sentence for every fault of the site in this folder."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    found = [f"{path.relative_to(site)}: {text}" for path, page in pages.items() for text in _of(path, page, pages)]
    for path in sorted(site.rglob("*.css")):
        found += [f"{path.relative_to(site)}: loads {each}" for each in _styles(path.read_text())]
    for path in sorted(each for each in site.rglob("*.js") if each.name != "searchindex.js"):
        found += [f"{path.relative_to(site)}: names the address {each}" for each in _addresses(path.read_text())]
    index = site / "searchindex.js"
    if not index.exists() or not index.read_text().startswith("Search.setIndex("):
        found.append("searchindex.js: there is no index to search")
    return found


def _of(path: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    """Yield what is wrong on one page."""
    for address in page.loads:
        if _outside(address):
            yield f"loads {address}"
        elif not address.startswith("data:") and not _file(path, address).exists():
            yield f"loads {address}, and there is no such file"
    for text in page.styles:
        yield from (f"loads {each}" for each in _styles(text))
    for text in page.scripts:
        yield from (f"names the address {each}" for each in _addresses(text))
    for link in page.links:
        if urlsplit(link).scheme or link.startswith("//"):
            continue
        target, anchor = _file(path, link), unquote(urlsplit(link).fragment)
        if not target.exists():
            yield f"links to {link}, and there is no such file"
        elif anchor and target in pages and anchor not in pages[target].anchors:
            yield f"links to {link}, and there is no such heading"


def _file(page: Path, address: str) -> Path:
    """Return the file that an address on a page means."""
    name = unquote(urlsplit(address).path)
    return (page.parent / name).resolve() if name else page


def _outside(address: str) -> bool:
    return address.startswith("//") or urlsplit(address).scheme not in ("", "data")


def _styles(text: str) -> list[str]:
    """Return what a style sheet loads from other hosts."""
    return [each for found in STYLE.findall(text) for each in found if each and _outside(each)]


def _addresses(text: str) -> list[str]:
    """Return the addresses of other hosts in a script, without its comments."""
    return [each for each in ADDRESS.findall(COMMENT.sub("", text)) if not each.startswith(NAMES)]
