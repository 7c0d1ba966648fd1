"""The Python on the pages about a server runs, against a real one."""

import pytest

from lapwing.source import Source

from ...test_pages import BLOCK, ROOT


def blocks(page):
    return BLOCK.findall((ROOT / "docs" / "how-to" / f"{page}.md").read_text())


@pytest.mark.parametrize("page", ["serve", "ask-a-server"])
def test_an_analyst_asks_in_python_as_the_page_shows(page, live, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(next(text for language, text, _ in blocks("serve") if language == "python"), {})
    Source.open("visits.toml").make_ledger().add_analyst("ana", 1)
    link = live(sources=["visits.toml"])("ana")._link
    (tmp_path / "token.txt").touch(mode=0o600)
    (tmp_path / "token.txt").write_text(link._token)
    shown = [text for _, text, _ in blocks(page) if "lw.connect(" in text and "print(" in text]
    assert len(shown) == 1
    exec(shown[0].replace("https://stats.example", link.url), {})
    assert 'Plan for "visits"' in capsys.readouterr().out
    assert Source.open("visits.toml").ledger.spent * 2 == 1
