"""Charts of plans and ledgers, themes, and charts as files."""

import base64
import hashlib
import json
import re
from fractions import Fraction as F
from itertools import combinations

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.charts import picture
from lapwing.charts.theme import THEMES
from lapwing.charts.wording import distinct, harmless, label
from lapwing.ledger.entry import Budget, Entry
from lapwing.ledger.plots import ledger_chart

from .drawing import data, drawn, texts, whole


@pytest.fixture
def visits(tmp_path):
    columns = {
        "ward": lw.keys("north", "</script>"),
        "sex": lw.keys("F", "M"),
        "cost": lw.number(0, 100, unit="euro"),
    }
    table = pd.DataFrame({"ward": ["north"] * 40, "sex": ["F", "M"] * 20, "cost": range(40)})
    return lw.Source(table, name="visits", columns=columns, epsilon=10, ledger=str(tmp_path / "visits.ledger"))


def values(chart, panel):
    """Return the data of a panel, or of a layer of it."""
    return data(chart)[panel["data"]["name"]]


def panels(chart):
    """Return the panels of a chart of a plan, by their titles."""
    found = {}
    for row in chart.to_dict()["vconcat"]:
        for panel in row.get("hconcat", [row]):
            text = panel["title"]["text"]
            found[text if isinstance(text, str) else text[0]] = panel
    return found


def test_the_chart_of_a_plan_has_the_errors_of_other_plans(visits, capfd):
    plan = visits.plan(lw.count(), lw.mean("cost"), lw.median("cost"), by="ward", epsilon=1)
    chart = plan.plot()
    count, mean, _ = (each.bar_text(each.margin) for each in plan.forecasts)
    assert {f"ε = 1: {count}", f"ε = 1: {mean}", f"1,000 rows: {mean}"} <= set(drawn(chart, capfd))
    found = panels(chart)
    assert list(found) == [
        "count: error against ε", "mean_cost: error against ε", "mean_cost: error against the number of rows",
        "median_cost: error against ε", "Share of ε of each measurement",
    ]  # fmt: skip
    for point in values(chart, found["mean_cost: error against ε"]["layer"][0])[::8]:
        epsilon = F(round(point["x"] * 10**9), 10**9)
        other = visits.plan(lw.count(), lw.mean("cost"), lw.median("cost"), by="ward", epsilon=epsilon).forecasts[1]
        expected = None if other.says_nothing else pytest.approx(other.margin)
        assert point["error"] == expected
    for point in values(chart, found["mean_cost: error against the number of rows"]["layer"][0])[::8]:
        rows = int(point["x"])
        other = visits.plan(lw.count(), lw.mean("cost"), lw.median("cost"), by="ward", epsilon=1, rows=rows).forecasts[
            1
        ]
        assert point["error"] == (None if other.says_nothing else pytest.approx(other.margin))
    (marked,) = values(chart, found["mean_cost: error against ε"]["layer"][1])
    assert (marked["x"], marked["error"]) == (1.0, plan.forecasts[1].margin)
    shares = values(chart, found["Share of ε of each measurement"])
    assert sum(row["epsilon"] for row in shares) == pytest.approx(1)


def test_the_chart_of_a_plan_of_several_tables_has_their_shares(visits, capfd):
    plan = visits.plan(lw.count(), by=lw.cube("ward", "sex"), epsilon=2)
    chart = plan.plot(theme="dark", width=600)
    assert drawn(chart, capfd)
    shares = panels(chart).get("Share of ε of each measured table")
    assert (shares is None) == (len(plan.several.strategy.measured) == 1)


def test_a_plan_without_noise_has_no_chart(tmp_path):
    table = pd.DataFrame({"x": [1, 2]})
    source = lw.Source(
        table, name="t", columns={"x": lw.number(0, 9)}, neighbors="change_one", public_rows=True, epsilon=1,
        ledger=str(tmp_path / "t.ledger"),
    )  # fmt: skip
    with pytest.raises(errors.UselessParameter, match="nothing here gets noise"):
        source.plan(lw.count(), epsilon=1).plot()


def entry(number, kind, epsilon, spent, day=1, analyst=None, delta=None):
    time = f"2026-01-{day:02d}T00:00:00+00:00"
    return Entry(number, time, kind, analyst, None, F(epsilon), delta, None, F(spent), "hash")


def test_the_chart_of_a_ledger_has_its_amounts(capfd):
    entries = [
        entry(1, "open", 2, 0, 1, delta=F(0)),
        entry(2, "analyst", 1, 0, 1, "</script>"),
        entry(3, "charge", "1/2", "1/2", 3, delta=F(0)),
        entry(4, "total", 3, "1/2", 5, delta=F(1, 1000)),
        entry(5, "charge", 1, "3/2", 9, "</script>", delta=F(1, 2000)),
    ]
    caps = [Budget("</script>", F(1), F(1)), Budget("b" * 200, F(1, 3), F(0))]
    chart = ledger_chart(entries, caps, "light", None)
    told = drawn(chart, capfd)
    assert {"total 3", "spent 1.5", "left 1.5", "time (UTC)", "ε spent", "1 of 1, left 0"} <= set(told)
    assert "Of ε = 3, 1.5 is spent in 2 charges, and 1.5 is left." in told
    first = values(chart, chart.to_dict()["vconcat"][0])
    assert [(row["spent"], row["total"]) for row in first] == [(0, 2), (0.5, 2), (0.5, 3), (1.5, 3), (1.5, 3)]
    delta = values(chart, chart.to_dict()["vconcat"][1])
    assert [(row["spent"], row["total"]) for row in delta][-1] == (0.0005, 0.001)
    assert "</script" not in whole(chart)
    areas = [layer for layer in chart.to_dict()["vconcat"][0]["layer"] if layer["mark"]["type"] == "area"]
    assert all(layer["encoding"]["y"]["stack"] is False for layer in areas)


def test_a_ledger_of_one_moment_is_drawn_by_entry(tmp_path, capfd):
    ledger = lw.Ledger.open(tmp_path / "a.ledger", epsilon=1)
    assert "entry" in drawn(ledger.plot(), capfd)
    ledger.charge("a", 1)
    told = drawn(ledger.plot(theme="dark"), capfd)
    assert "total 1, left 0" in told


def test_a_ledger_of_very_many_entries_is_thinned_and_keeps_the_last():
    entries = [entry(1, "open", 10, 0), *(entry(i, "charge", "1/1000", F(i - 1, 1000), 2) for i in range(2, 4500))]
    chart = ledger_chart(entries, [], None, None)
    first = values(chart, chart.to_dict())
    assert len(first) < 2100
    assert first[-1]["spent"] == pytest.approx(4.498)


# --- the look ---


def luminance(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def channels(color):
    return [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def contrast(one, other):
    """Return the contrast of two colors by WCAG 2.2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


# Viénot, Brettel and Mollon (1999): what people without one kind of cones see, of linear red, green and blue.
SEEN = {
    "without red cones": ((0.11238, 0.88762, 0), (0.11238, 0.88762, 0), (0.00401, -0.00401, 1)),
    "without green cones": ((0.29275, 0.70725, 0), (0.29275, 0.70725, 0), (-0.02234, 0.02234, 1)),
    "with all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}


@pytest.mark.parametrize("name", THEMES)
def test_texts_and_marks_stand_out_from_the_background(name):
    theme = THEMES[name]
    assert all(contrast(each, theme.background) >= 4.5 for each in (theme.text, theme.faint, theme.warning))
    assert all(contrast(each, theme.background) >= 3 for each in (theme.accent, *theme.groups))


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("eyes", SEEN)
def test_the_colors_of_groups_differ_for_all_eyes(name, eyes):
    def seen(color):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(color)]
        mixed = [sum(w * c for w, c in zip(row, linear, strict=True)) for row in SEEN[eyes]]
        return [max(c, 0) ** (1 / 2.4) for c in mixed]

    for one, other in combinations(THEMES[name].groups, 2):
        apart = sum((a - b) ** 2 for a, b in zip(seen(one), seen(other), strict=True)) ** 0.5
        assert apart > 0.3, (one, other)


def test_texts_are_made_harmless_short_and_distinct():
    assert harmless("a\nb\x00c\u202ed\ud800</script>") == "a b cd <\u200b/script>"
    assert label("word " * 100).count("\n") == 2
    assert label("word " * 100).endswith("…")
    assert label("\n") == " "
    assert distinct(["a", "a", "a #2", "a"]) == ["a", "a #2", "a #2 #2", "a #3"]


# --- files ---


@pytest.mark.usefixtures("frozen_noise")
def test_a_chart_becomes_a_picture_a_page_and_its_vega_lite(visits):
    chart = visits.release(lw.count(), by="ward", epsilon=1).plot(theme="dark")
    assert picture.picture(chart, "png").startswith(b"\x89PNG")
    assert "</script>".replace("<", "<\u200b") in texts(picture.picture(chart, "svg").decode())
    spec = json.loads(picture.picture(chart, "vega-lite"))
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert spec == json.loads(json.dumps(chart.to_dict()))


@pytest.mark.usefixtures("frozen_noise")
def test_a_page_loads_nothing_and_no_text_ends_its_script(visits):
    page = picture.picture(visits.release(lw.count(), by="ward", epsilon=1).plot(), "page").decode()
    head, _, rest = page.partition("</head>")
    assert "default-src 'none'" in head.replace("&#x27;", "'")
    assert page.count("</script>") == 2
    spec = rest.partition('id="spec">')[2].partition("</script>")[0]
    assert "<" not in spec
    assert "http" not in spec
    assert json.loads(spec)["datasets"]
    assert re.findall(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page.replace(_script(page), "")) == []
    assert "import(" not in _script(page)
    digest = base64.b64encode(hashlib.sha256(_script(page).encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}' 'unsafe-eval';" in head


def _script(page):
    return page.partition('<script type="module">')[2].partition("</script>")[0]


def test_the_name_of_a_file_says_what_it_is():
    assert [picture.form_of(name) for name in ("a.svg", "a.PNG", "a.vl.json", "a.html", "a.json", "svg")] == [
        "svg", "png", "vega-lite", "page", None, None,
    ]  # fmt: skip


def test_a_missing_library_is_named_with_how_to_install_it(monkeypatch):
    import sys

    for name in ("altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(errors.MissingLibrary, match=r"pip install '\.\[plot\]'"):
            picture.check_drawing("svg")
        monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    picture.check_drawing("vega-lite")
