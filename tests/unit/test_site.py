"""The site: pages are laid out with their links, and what is wrong with a built site is found."""

import importlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..browser.conftest import CHROMIUM, NO_BROWSER, QUIET

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"


@pytest.fixture
def module(monkeypatch):
    """Return a function that imports a script of docs/site or bench by its name."""

    def load(folder, name):
        monkeypatch.syspath_prepend(str(ROOT / folder))
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    yield load
    for name in ("build", "docstrings", "faults", "side_by_side"):
        sys.modules.pop(name, None)


@pytest.fixture
def pages(tmp_path):
    """Return a small repository with the pages that a site needs."""
    for name, text in {
        "docs/README.md": "# All\n\n[how](how-to/README.md) ![picture](first.svg)\n",
        "docs/first.svg": "<svg/>",
        "docs/how-to/README.md": "# How\n\n- [b](b.md#x), [a](a.md), [b](b.md)\n",
        "docs/how-to/a.md": "# A\n\n[safe](../../SECURITY.md) [self](#a) [out](https://a.io) [home](../README.md)\n",
        "docs/how-to/b.md": "# B\n\n```\n[not a link](nowhere.md)\n```\n\n[code](../../bench/x.py)\n\n"
        '`[x](y)` [![p](../first.svg)](a.md) <img alt="p" src="../first.svg">\n',
        "bench/x.py": "1\n",
        "CHANGELOG.md": "# C\n\n[a](docs/how-to/a.md)\n",
        "CONTRIBUTING.md": "# D\n\n[top](README.md) [room](docs/how-to)\n",
        "SECURITY.md": "# S\n",
        "README.md": "# Top\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_links_follow_their_pages_and_code_stays_as_it_is(module, pages):
    copy = pages / "copy"
    module("docs/site", "build").lay_out(pages, copy)
    assert "[how](how-to/index.md) ![picture](files/docs/first.svg)" in (copy / "index.md").read_text()
    a = (copy / "how-to/a.md").read_text()
    assert "[safe](../SECURITY.md) [self](#a) [out](https://a.io) [home](../index.md)" in a
    b = (copy / "how-to/b.md").read_text()
    assert "[not a link](nowhere.md)" in b
    assert "[code](../files/bench/x.py)" in b
    picture = "../files/docs/first.svg"
    assert f'`[x](y)` [![p]({picture})](a.md) <img alt="p" src="{picture}">' in b
    assert (copy / "files/bench/x.py").read_text() == "1\n"
    assert "[a](how-to/a.md)" in (copy / "CHANGELOG.md").read_text()
    assert "[top](index.md) [room](how-to/index.md)" in (copy / "CONTRIBUTING.md").read_text()


def test_the_navigation_is_the_links_of_a_room_in_their_order(module, pages):
    module("docs/site", "build").lay_out(pages, pages / "copy")
    assert (pages / "copy/how-to/index.md").read_text().endswith("```{toctree}\n:hidden:\n\nb\na\n```\n")
    assert ":hidden:\n\nhow-to/index\n```" in (pages / "copy/index.md").read_text()


@pytest.mark.parametrize("link", ["gone.md", "../../../etc/passwd", "../nothing/README.md"])
def test_a_link_to_no_file_of_the_repository_is_refused(module, pages, link):
    build = module("docs/site", "build")
    (pages / "docs/how-to/a.md").write_text(f"# A\n\n[x]({link})\n")
    with pytest.raises(build.SiteError, match="there is no such file"):
        build.lay_out(pages, pages / "copy")


@pytest.fixture
def site(tmp_path):
    """Return a site without faults."""
    (tmp_path / "index.html").write_text('<h1 id="top">x</h1><a href="#top">y</a><a href="https://example.org">z</a>')
    (tmp_path / "searchindex.js").write_text("Search.setIndex({})")
    return tmp_path


def test_a_site_without_faults_has_none(module, site):
    assert module("docs/site", "faults").faults(site) == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("p.html", '<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ("p.html", '<link rel="stylesheet" href="//fonts.example/x.css">', "loads //fonts.example/x.css"),
        ("p.html", '<img srcset="https://a.example/1.png 1x, index.html 2x">', "loads https://a.example/1.png"),
        ("p.html", '<image xlink:href="http://a.example/1.png"/>', "loads http://a.example/1.png"),
        ("p.html", '<p style="background:url(https://a.example/1.png)">', "loads https://a.example/1.png"),
        ("p.html", "<style>@import 'https://a.example/x.css'</style>", "loads https://a.example/x.css"),
        ("p.html", '<script>fetch("https://a.example/x")</script>', "names the address https://a.example/x"),
        ("p.html", '<form action="https://a.example/x">', "loads https://a.example/x"),
        ("p.html", '<img src="gone.png">', "loads gone.png, and there is no such file"),
        ("p.html", '<a href="gone.html">', "links to gone.html, and there is no such file"),
        ("p.html", '<a href="index.html#gone">', "links to index.html#gone, and there is no such heading"),
        ("p.css", "a { background: url('https://a.example/1.png') }", "loads https://a.example/1.png"),
        ("p.js", 'import("//a.example/x.js")', "names the address //a.example/x.js"),
        ("searchindex.js", "", "there is no index to search"),
    ],
)
def test_every_kind_of_fault_is_found(module, site, name, text, fault):
    (site / name).write_text(text)
    assert module("docs/site", "faults").faults(site) == [f"{name}: {fault}"]


def test_names_and_comments_are_not_loads(module, site):
    (site / "p.html").write_text('<svg xmlns="http://www.w3.org/2000/svg"><img src="data:image/png;base64,AA=="></svg>')
    (site / "p.js").write_text(
        "/* https://a.example */\n// https://b.example/x\nlet x = 'http://www.w3.org/1999/xhtml';"
    )
    assert module("docs/site", "faults").faults(site) == []


def test_the_page_shows_the_snippets_and_what_they_printed(module):
    """Each library's code on the page is the file that was run, and the output is the record of that run."""
    bench = module("bench", "side_by_side")
    text = bench.PAGE.read_text()
    assert bench.page(text, bench.json.loads(bench.RECORD.read_text())) == text
    for name in ("make_visits", "with_lapwing"):
        code = (bench.SNIPPETS / f"{name}.py").read_text().partition('"""\n\n')[2]
        assert f"```python\n{code}```" in text


DOCSTRING = """Ask for "a * b" in [0, 1), <b>not</b> ``x < *y*``.

A tree:

├── leaf   *as it is*

Args:
    table: a path of <name>.csv
        or a frame.
    *more, width: `code`.

    indented: text

>>> 1 + 1
2
"""


def test_docstrings_become_markdown_that_cannot_be_taken_for_markup(module):
    text = module("docs", "docstrings").markdown(DOCSTRING)
    assert r'Ask for "a \* b" in \[0, 1), \<b\>not\</b\> ``x < *y*``.' in text
    assert "```text\n├── leaf   *as it is*\n```" in text
    assert "**Args**\n\n- `table`: a path of \\<name\\>.csv\n  or a frame.\n- `*more, width`: `code`." in text
    assert text.endswith("```pycon\n>>> 1 + 1\n2\n```")


def test_the_picture_of_the_first_page_names_no_other_host():
    picture = (ROOT / "docs/first.svg").read_text()
    assert picture.count("http") == 1
    assert picture.startswith('<svg xmlns="http://www.w3.org/2000/svg"')


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the folder of the built site, and how its build ended."""
    pytest.importorskip("sphinx", reason="the site is built by Sphinx: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("built") / "site"
    command = [sys.executable, str(SITE / "build.py"), "--to", str(folder)]
    return folder, subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_site_is_built_without_warnings_dead_links_or_other_hosts(built):
    folder, done = built
    assert (done.returncode, done.stderr) == (0, "")
    names = ("index", "tutorial/index", "how-to/choose-epsilon", "gallery/index", "reference/glossary")
    more = ("reference/python", "reference/cli", "explanation/noise", "decisions/index", "search", "SECURITY")
    assert all((folder / f"{name}.html").is_file() for name in (*names, *more))
    assert (folder / "searchindex.js").stat().st_size > 100_000


@pytest.mark.parametrize(
    ("word", "page"), [("ledger", "reference/ledger.html"), ("opendp", "coming-from-libraries.html")]
)
def test_the_site_built_is_searched_in_a_browser_without_a_server(built, word, page):
    if CHROMIUM is None or find_spec("playwright") is None:
        pytest.skip(NO_BROWSER)
    from playwright.sync_api import sync_playwright

    address = (built[0] / "search.html").as_uri() + f"?q={word}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        site = browser.new_page()
        site.goto(address)
        site.wait_for_selector(f"#search-results a[href*='{page}']", timeout=120_000)
        browser.close()
