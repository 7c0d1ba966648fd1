"""Pieces of HTML: what others wrote stays text, colors can be read, styles stay inside."""

import base64
import hashlib
import json
import re
import sys
import unicodedata

import pytest

from lapwing.pages import document as parts
from lapwing.pages.numbers import KeyHead, NumberHead, NumberTable
from lapwing.pages.paging import SCRIPT
from lapwing.pages.style import DARK, LIGHT, STYLE

HOSTILE = ["<script>alert(1)</script>", "</script><!--", "\"'&<>", "=1+1", "a\nb\x00\x1b[31m", "\u202eabc", "x" * 9999]


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK])
def test_texts_and_bars_stand_out_from_what_is_behind_them(scheme):
    """The measure of WCAG 2.2, success criterion 1.4.3."""
    for text in ("text", "quiet", "link", "bad", "axis", "bar"):
        assert contrast(scheme[text], scheme["back"]) >= 4.5
        assert contrast(scheme[text], scheme["card"]) >= 4.5
    assert contrast(scheme["marked"], scheme["mark"]) >= 4.5


def test_every_rule_of_a_cell_is_for_what_is_inside_it():
    style = re.sub(r"@media[^{]*{", "", STYLE)
    for selectors in re.findall(r"([^{}]+){", style):
        assert all(".lapwing" in each for each in selectors.split(",")), selectors


@pytest.mark.parametrize("text", HOSTILE)
def test_what_others_wrote_stays_text(text):
    numbers = NumberTable(text, [KeyHead(text, text)], [NumberHead(text, text)], [([text], [(1, 0, 2, text)])], text)
    page = parts.document(
        text, parts.paragraph(text), parts.facts([(text, text)]), parts.table(text, [text], [[text]]),
        parts.details(text, text), parts.section(text), numbers.html(), parts.data("d", {text: text}),
    )  # fmt: skip
    assert page.count("<script") == page.count("</script") == 1
    assert "<!--" not in page
    assert "\x00" not in page
    assert "\x1b" not in page
    assert "\u202e" not in re.sub(r"(?s)<script.*?</script>", "", page)
    inside = re.search(r'(?s)<script type="application/json" id="d">(.*?)</script>', page)[1]
    assert json.loads(inside) == {text: text}


def test_a_page_asks_no_host_and_runs_no_script_of_others():
    page = parts.document("t", parts.paragraph("x"), script="let a = 1;")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'")
    assert re.search(r"script-src 'sha256-[^']{44}'$", policy)
    assert "unsafe" not in policy
    assert not re.search(r"(?:src|href)=\"(?!data:,)", page)


@pytest.mark.parametrize("text", HOSTILE)
def test_the_policy_has_the_hashes_of_the_script_and_the_style_of_the_page(text):
    page = parts.document(text, parts.paragraph(text), parts.data("d", text), script=SCRIPT)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    for kind in ("script", "style"):
        inside = re.findall(rf"(?s)<{kind}>(.*?)</{kind}>", page)
        digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in inside]
        assert re.findall(rf"{kind}-src '([^;]*)'", policy) == [f"sha256-{each}" for each in digests]
    assert re.findall(r"(?s)<script>(.*?)</script>", page) == [SCRIPT]


def test_every_page_of_a_long_table_hides_the_characters_that_the_first_one_hides():
    assert r'visible = text => text.replace(/(?![ \n\t\u200c\u200d])[\p{C}\p{Z}]/gu, "\ufffd");' in SCRIPT
    kept = " \n\t\u200c\u200d"
    for character in map(chr, [*range(0x20000), 0xE0001, 0xF0000, sys.maxunicode]):
        hidden = character not in kept and unicodedata.category(character)[0] in "CZ"
        assert hidden == (parts.escaped(character) == "�" != character), hex(ord(character))
    assert SCRIPT.count("visible(") == 2  # what is shown, and what is looked for


def test_joined_letters_are_kept():
    assert parts.escaped("می\u200cخواهم") == "می\u200cخواهم"
