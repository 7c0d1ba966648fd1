"""The page of a release: what it says about protection, from public parameters alone, and the JSON in it."""

import json
import re
from fractions import Fraction as F
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import lapwing as lw
from lapwing.measure.measurement import Measurement
from lapwing.release import account, page

ROOT = Path(__file__).parents[3]
HOSTILE = '</script><script>alert(1)</script> "q" & =1+1'

pytestmark = pytest.mark.usefixtures("frozen_noise")


def source(tmp_path, keys=("a", "b"), **more):
    rows = len(keys) * 60
    frame = pd.DataFrame({"p": range(rows), "k": [*keys] * 60, "l": ["x", "y"] * (rows // 2), "v": [5.0] * rows})
    columns = {"k": lw.keys(list(keys)), "l": lw.keys("x", "y"), "v": lw.number(0, 10, unit="kg", title="Weight")}
    described = {"name": "t", "columns": columns, "epsilon": 9, "ledger": tmp_path / "t.ledger", "version": "3"}
    return lw.Source(frame, **(described | more))


def words(html):
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(script|style).*?</\1>", "", html))))


def embedded(html):
    return json.loads(re.search(r'(?s)id="lapwing-release">(.*?)</script>', html)[1])


def test_a_page_says_who_is_protected_and_how(tmp_path):
    of = source(tmp_path, person="p", rows_per_person=2)
    answer = of.release(lw.count(), lw.mean("v"), by="k", epsilon="0.5")
    told = words(answer.to_html())
    for due in (
        "count and mean_v by k",
        "Protects each person (p), who counts as at most 2 rows",
        "ε = 0.5, δ = 0",
        "e^ε = 1.65",
        "at most 62.3 % likely",
        "ε = 0.5 of 9 is spent",
        "add or remove",
        "claim P2 (docs/explanation/measure.md)",
        "Clamped: values of v below 0 or above 10 count as these bounds.",
        "People with more than 2 rows weigh as 2",
        "Noise, by its coefficient of variation",
        f"chain head {of.open_ledger().head}",
        "ledger entry 2",
        "version of the data 3",
        f"Lapwing version {lw.__version__}",
        "Not promised",
        'SELECT AVG("v"), COUNT(*) FROM "t" GROUP BY "k"',
        "The SQL that the engine ran",
        "mean of v, in kg",
    ):
        assert due in told


def test_a_name_that_needs_quotes_has_them_once(tmp_path):
    frame = pd.DataFrame({"Cost (EUR)": [1.0] * 9, "v": [1.0] * 9})
    columns = {"Cost (EUR)": lw.number(0, 2), "v": lw.number(0, 2)}
    of = lw.Source(frame, name="t", columns=columns, epsilon=9, ledger=tmp_path / "t.ledger")
    told = words(of.release(lw.mean("Cost (EUR)"), lw.sum("v", name="v"), epsilon=1).to_html())
    assert 'mean_Cost (EUR): mean of "Cost (EUR)"; v: total of v.' in told
    told = words(of.sql('SELECT SUM("Cost (EUR)" + v) AS s FROM t', epsilon=1).to_html())
    assert 's: total of "Cost (EUR)" + v.' in told


def test_the_json_inside_is_that_of_the_release(tmp_path):
    for by in ("k", ("k", "l"), lw.cube("k", "l")):
        answer = source(tmp_path).release(lw.count(), lw.mean("v"), by=by, epsilon=1)
        assert embedded(answer.to_html()) == json.loads(json.dumps(answer.to_dict()))
    found = source(tmp_path).release(lw.count(), by="l", epsilon=1).difference(by="l", of="x", to="y")
    assert embedded(found.to_html()) == json.loads(json.dumps(found.to_dict()))


def test_other_relations_are_said_in_words(tmp_path):
    told = words(source(tmp_path, neighbors="change_one").release(lw.mean("v"), epsilon=1).to_html())
    assert "change one: two tables are neighbors if one person has other rows" in told
    assert "Whatever the data of any one row is" in told
    pd.DataFrame({"v": [1.0] * 9}).to_parquet(tmp_path / "t.parquet")
    of = lw.Source(tmp_path / "t.parquet", name="t", neighbors="change_one", columns={"v": lw.number(0, 2)}, epsilon=1)
    public = words(of.release(lw.count(), epsilon=1).to_html())
    assert "Nothing was charged" in public
    assert "The number is exact: it is public." in public


def test_views_say_what_was_done_afterwards(tmp_path):
    answer = source(tmp_path).release(lw.count(), by=("k", "l"), epsilon=1)
    assert "at least 0: these are biased" in words(answer.nonnegative().to_html())
    assert "are left out" in words(answer.suppressed().to_html())
    assert "1 of 4 groups: LIMIT 1" in words(answer.cut(limit=1).to_html())
    assert "none beside the numbers" in words(answer.to_html())


def test_several_tables_are_sections_with_axes_of_their_own(tmp_path):
    html = source(tmp_path).release(lw.count(), by=lw.cube("k", "l"), epsilon=1).to_html()
    assert re.findall(r"<h2>([^<]*)</h2>", html)[:4] == ["Total", "By k", "By l", "By k and l"]
    assert "Each of them has axes of its own." in html
    assert html.count('<table id="lapwing-table-') == 4


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.scripts, self.cells, self.open = 0, [], False

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script" and dict(attrs).get("type") != "application/json"
        self.open = tag in ("td", "th") and "key" in dict(attrs).get("class", "")

    def handle_data(self, data):
        if self.open:
            self.cells.append(data)
            self.open = False


def test_hostile_names_keys_labels_titles_and_units_stay_text(tmp_path):
    frame = pd.DataFrame({HOSTILE: [HOSTILE, "b"] * 50, "v": [1.0] * 100})
    columns = {HOSTILE: lw.keys({HOSTILE: HOSTILE, "b": "<b>"}, title=HOSTILE), "v": lw.number(0, 2, unit=HOSTILE)}
    of = lw.Source(frame, name="t<u>", columns=columns, epsilon=9, ledger=tmp_path / "l")
    answer = of.release(lw.count(name=HOSTILE + "n"), lw.mean("v"), by=HOSTILE, epsilon=1)
    for html in (answer.to_html(), answer._repr_html_(), answer.plan._repr_html_(), of.open_ledger()._repr_html_()):
        reader = Reader()
        reader.feed(html)
        assert reader.scripts == 0
        assert "<b>" not in html
        assert "<u>" not in html
    reader = Reader()
    reader.feed(answer.to_html())
    assert HOSTILE in reader.cells
    assert embedded(answer.to_html())["rows"][0][HOSTILE] == HOSTILE


def test_a_long_table_is_paged_and_says_so_without_scripts(tmp_path, monkeypatch):
    keys = [f"key {i}" for i in range(page.STATIC_ROWS + 1)]
    answer = source(tmp_path, keys).release(lw.count(), by="k", epsilon=1)
    html = answer.to_html()
    assert len(re.findall(r'<tr><th scope="row" class="key">key', html)) == page.PAGE_ROWS
    assert f"the first {page.PAGE_ROWS} of {len(keys)} groups" in words(html)
    assert len(embedded(html)["rows"]) == len(keys)
    monkeypatch.setattr(page, "MOST_EMBEDDED", 10)
    few = answer.to_html()
    assert len(embedded(few)["rows"]) == page.STATIC_ROWS
    assert f"The first {page.STATIC_ROWS} of {len(keys)} groups" in words(few)


def test_what_was_found_is_shown_in_notebooks(tmp_path):
    of = source(
        tmp_path,
        person="p",
        rows_per_person=1,
        delta="1e-5",
        columns={"k": lw.keys("a", "b"), "l": "text", "v": "number"},
    )
    ledger = of.open_ledger
    shown = {
        "Keys of l in t": of.discover("l", epsilon=2, delta="1e-6"),
        "Bounds of v in t": of.bounds("v", epsilon=1),
        "Rows per person in t": of.rows_per_person(epsilon=1),
        "Plan for t": of.plan(lw.count(), by="k", epsilon=1),
        "is spent": ledger(),
    }
    for due, found in shown.items():
        html = found._repr_html_()
        assert due in words(html)
        assert html.startswith('<div class="lapwing cell"><style>')


def test_the_claims_that_pages_name_are_proven_where_they_say():
    def below(kind):
        return {kind, *(each for one in kind.__subclasses__() for each in below(one))}

    claims = {each.claim for each in below(Measurement) if hasattr(each, "claim")} | {"P4", "P5", "G2", "W3", "Q1"}
    for claim in claims:
        name = re.fullmatch(rf"claim {claim} \((docs/explanation/\w+\.md)\)", account.claim_text(claim))[1]
        assert f"## Claim {claim}" in (ROOT / name).read_text()


@pytest.mark.parametrize(("epsilon", "due"), [("0.1", "e^ε = 1.11"), ("3", "95.3 % likely"), ("8", "promises little")])
def test_what_epsilon_means_is_computed(tmp_path, epsilon, due):
    assert due in account.meaning(source(tmp_path).schema, F(epsilon))
