"""The pages of releases in a real browser: nothing is cut off, nothing is asked of a host, long tables are paged."""

import html
import json
import sys

import numpy as np
import pandas as pd
import pytest

import lapwing as lw
from lapwing.auditing.audit import Audit, Verdict
from lapwing.auditing.finding import Finding
from lapwing.pages.document import escaped

HOSTILE = [
    "</script><script>alert(1)</script>",
    '"quotes" & <b>tags</b> =1+1',
    "مستشفى الشمال ‮ right to left",
    "a ward with a very long name that goes on and on, as names in official statistics often do, and then some more",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2,
    "new\nline",
]


def source(tmp_path, keys, *, cost=(0, 5000), rows=20_000, person=None, sizes=None):
    rng = np.random.default_rng(7)
    weights = np.ones(len(keys)) if sizes is None else np.array(sizes, float)
    low, high = cost
    frame = pd.DataFrame(
        {
            "person": rng.integers(0, rows // 2, rows),
            "ward": rng.choice(np.array(keys, dtype=object), rows, p=weights / weights.sum()),
            "sex": rng.choice(["F", "M"], rows),
            "cost": np.clip(rng.normal((low * 3 + high) / 4, (high - low) / 8, rows), low, high),
        }
    )
    columns = {
        "ward": lw.keys(keys, title="Ward of the stay"),
        "sex": lw.keys({"F": "women", "M": "men"}, title="Sex"),
        "cost": lw.number(low, high, unit="EUR", title="Cost of the stay"),
    }
    more = {} if person is None else {"person": "person", "rows_per_person": 3}
    return lw.Source(frame, name="visits", columns=columns, epsilon=50, ledger=tmp_path / "visits.ledger", **more)


def three(tmp_path):
    of = source(tmp_path, ["north", "south", "harbour"], person="person")
    return of.release(lw.count(name="visits"), lw.mean("cost"), by="ward", epsilon=1)


def many(tmp_path):
    return source(tmp_path, [f"ward {i}" for i in range(300)]).release(lw.count(), by="ward", epsilon=1)


def labels(tmp_path):
    keys = [each.replace("\n", " ") if "\n" in each else each for each in HOSTILE]
    return source(tmp_path, keys).release(lw.count(name="n"), lw.mean("cost"), by="ward", epsilon=1)


def negative(tmp_path):
    of = source(tmp_path, ["a", "b", "c", "d"], cost=(-500, 300), rows=300)
    return of.release(lw.sum("cost"), lw.count(), by="ward", epsilon="0.05")


def cut(tmp_path):
    of = source(tmp_path, ["large", "small", "tiny", "none"], sizes=[1, 0.01, 0.002, 0], cost=(0, 1000))
    return of.release(lw.mean("cost"), lw.median("cost"), by="ward", epsilon=1)


def two(tmp_path):
    of = source(tmp_path, ["north", "south", "harbour", "east"])
    return of.release(lw.count(), lw.mean("cost"), by=("ward", "sex"), epsilon=1)


def cube(tmp_path):
    of = source(tmp_path, ["north", "south", "harbour"])
    return of.release(lw.count(), lw.sum("cost"), by=lw.cube("ward", "sex"), epsilon=1)


def counties(tmp_path):
    of = source(tmp_path, [f"county {i:05}" for i in range(3143)], rows=50_000)
    return of.release(lw.count(), lw.mean("cost"), by="ward", epsilon="0.1")


def large(tmp_path):
    of = source(tmp_path, [f"place {i:06}" for i in range(100_000)], rows=50_000)
    return of.release(lw.count(), by="ward", epsilon=1)


def difference(tmp_path):
    return two(tmp_path).difference(by="sex", of="F", to="M")


MADE = {each.__name__: each for each in (three, many, labels, negative, cut, two, cube, counties, large, difference)}


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize("name", MADE)
def test_a_page_is_whole_in_light_and_dark_wide_and_narrow(browser, tmp_path, name):
    file = tmp_path / "page.html"
    answer = MADE[name](tmp_path)
    answer.to_html(file)
    wrong = browser.look(file, name)
    sys.stdout.write(f"\n{name}: {file.stat().st_size:,} bytes, seconds to open: {browser.seconds}\n")
    assert wrong == []
    embedded = browser.open(file).evaluate("document.getElementById('lapwing-release').textContent")
    assert json.loads(embedded) == json.loads(json.dumps(answer.to_dict()))
    if name == "counties":
        assert file.stat().st_size < 2_000_000
    if name == "cut":
        assert "cut at" in file.read_text()


@pytest.mark.usefixtures("frozen_noise")
def test_every_page_of_a_long_table_shows_odd_texts_as_python_does(browser, tmp_path):
    odd = ["\u202eright to left", "\x1b[31mred", "a\u00a0b\u2028c", "می\u200cخواهم", "\ue000 private", "</script><b>"]
    answer = source(tmp_path, [f"{i}{odd[i % 6]}" for i in range(400)]).release(lw.count(), by="ward", epsilon=1)
    file = tmp_path / "page.html"
    answer.to_html(file)
    page = browser.open(file)
    for start in (0, 100):
        heads = page.evaluate("[...document.querySelectorAll('#lapwing-table-0 tbody th')].map(th => th.textContent)")
        keys = [row["ward"] for row in answer.rows[start : start + 100]]
        assert heads == [html.unescape(escaped(key)) for key in keys]
        page.click("text=Next")
    assert browser.complaints == []


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize("name", ["counties", "large"])
def test_a_long_table_is_paged_and_shows_numbers_as_python_does(browser, tmp_path, name):
    file = tmp_path / "page.html"
    answer = MADE[name](tmp_path)
    answer.to_html(file)
    table = "[...document.querySelectorAll('#lapwing-table-0 tbody tr')].map(row => [...row.cells].map(" \
        "cell => cell.textContent + (cell.querySelector('svg')?.outerHTML ?? '')))"  # fmt: skip
    plain = browser.open(file, scripts=False)
    written = plain.evaluate(table)
    assert "shows the first 100 of" in plain.inner_text("noscript")
    page = browser.open(file)
    assert page.evaluate(table) == written
    assert len(written) == 100
    page.click("text=Next")
    assert page.inner_text("#lapwing-table-0 tbody tr:first-child th") == answer.rows[100]["ward"]
    page.click("text=Last")
    assert page.inner_text("#lapwing-table-0 tbody tr:last-child th") == answer.rows[-1]["ward"]
    assert f"of {len(answer):,}" in page.inner_text("[role=status]")
    wanted = answer.rows[1234]["ward"]
    page.fill("input[type=search]", wanted)
    assert page.evaluate("document.querySelectorAll('#lapwing-table-0 tbody tr').length") == 1
    assert page.inner_text("#lapwing-table-0 tbody tr th") == wanted
    page.fill("input[type=search]", "<nothing>")
    assert page.inner_text("[role=status]") == "No group has this text."
    assert browser.complaints == []


@pytest.mark.usefixtures("frozen_noise")
def test_what_notebooks_show_is_whole_and_leaves_the_rest_of_the_page_alone(browser, tmp_path):
    of = source(tmp_path, ["north", "south"], person="person")
    answer = of.release(lw.count(), lw.mean("cost"), by=("ward", "sex"), epsilon=1)
    shown = [of.plan(lw.count(), by=lw.cube("ward", "sex"), epsilon=1), answer, answer.ratio(by="sex", of="F", to="M")]
    shown += [of.bounds("cost", epsilon=1), of.rows_per_person(epsilon=1), of.open_ledger(), audit()]
    cells = "<hr>".join(each._repr_html_() for each in shown)
    file = tmp_path / "cells.html"
    file.write_text(f"<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>t</title><p id='own'>own</p>{cells}")
    assert browser.look(file, "notebook") == []
    font = "getComputedStyle(document.getElementById('own')).fontFamily"
    bare = tmp_path / "bare.html"
    bare.write_text("<!DOCTYPE html><meta charset='utf-8'><title>t</title><p id='own'>own</p>")
    assert browser.open(file).evaluate(font) == browser.open(bare).evaluate(font)


def test_the_page_of_an_audit_is_whole(browser, tmp_path):
    file = tmp_path / "audit.html"
    file.write_text(audit().to_html())
    assert browser.look(file, "audit") == []


def audit():
    good = Finding("the law of <noise>", True, "as promised")
    bad = Finding("one " + "long" * 40, False, "differs by 0.1 at x = 3", 1e-9)
    return Audit(
        (Verdict("sampler", (good, bad), 1.5), Verdict("laws", (good,), 2.0)), ("DuckDB",), False, "2026-11-16", 4
    )


@pytest.mark.usefixtures("frozen_noise")
def test_on_paper_a_page_is_light_and_has_no_buttons(browser, tmp_path):
    file = tmp_path / "page.html"
    counties(tmp_path).to_html(file)
    page = browser.open(file, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.querySelector('main')).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_visible(".pager button")
    assert len(page.pdf(format="A4")) > 10_000
